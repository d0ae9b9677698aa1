//! `Or` between phrases of different attributes: `Honda Civic or Toyota Camry`, `hybrid or under
//! 20k`.
//!
//! The left side is the run of adjacent conditions before the `or`, from the first that is of the
//! same kind as the first on the right; without such a condition, the whole run. The right side is
//! its first condition, and the adjacent ones after it of kinds that the left side has as well.
//! Everything else counts for both sides: in `used Honda Civic or Toyota Camry under 25k`, both are
//! used and under 25k.

use super::super::lexicon::Attribute;
use super::super::numbers::NumericAttribute;
use super::super::{Predicate, RequiredPhrase};
use super::Interpreter;
use super::negation::PhraseLink;

/// Maximum number of sides of an `or`.
const MAX_SIDES: usize = 32;

/// Kind of a condition; sides are compared by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConditionKind {
    /// A make or a model.
    Name,
    Attribute(Attribute),
    Number(NumericAttribute),
    Other,
}

/// A side of an `or`.
#[derive(Debug, Default)]
struct Side {
    /// Conditions, each with its alternatives.
    groups: Vec<Vec<Predicate>>,
    kinds: Vec<ConditionKind>,
    labels: Vec<String>,
    /// Attribute of the last condition.
    last: Option<Attribute>,
}

/// Sides of an `or` whose last side may go on.
#[derive(Debug)]
pub(super) struct OpenSides {
    /// Kinds of the conditions of the left side.
    left: Vec<ConditionKind>,
    closed: Vec<Predicate>,
    closed_labels: Vec<String>,
    side: Side,
}

impl Side {
    fn add(&mut self, want: RequiredPhrase) {
        self.kinds.push(kind(&want));
        self.last = want.attribute;
        self.groups.push(want.any);
        self.labels.push(want.label);
    }

    fn predicates(&self) -> Vec<Predicate> {
        match self.groups.as_slice() {
            [group] => group.clone(),
            groups => vec![Predicate::All(groups.to_vec())],
        }
    }

    fn label(&self) -> String {
        match self.labels.as_slice() {
            [label] => label.clone(),
            labels => format!("({})", labels.join(" and ")),
        }
    }
}

impl OpenSides {
    fn phrase(&self) -> RequiredPhrase {
        let mut any = self.closed.clone();
        any.extend(self.side.predicates());
        let mut labels = self.closed_labels.clone();
        labels.push(self.side.label());
        RequiredPhrase { any, negated: false, attribute: None, label: labels.join(" or ") }
    }

    fn close_side(&mut self) {
        self.closed.extend(self.side.predicates());
        self.closed_labels.push(self.side.label());
        self.side = Side::default();
    }
}

fn kind(want: &RequiredPhrase) -> ConditionKind {
    match (want.attribute, want.any.as_slice()) {
        (Some(Attribute::Make | Attribute::Model), _) => ConditionKind::Name,
        (None, [Predicate::Number(number, _)]) => ConditionKind::Number(*number),
        (None, [Predicate::Pair { .. }, ..]) => ConditionKind::Name,
        // A make or model that is not on offer.
        (None, []) => ConditionKind::Name,
        (Some(attribute), _) => ConditionKind::Attribute(attribute),
        (None, _) => ConditionKind::Other,
    }
}

impl Interpreter<'_> {
    /// Adds a condition to the open sides of an `or`. Returns the condition when it is none of
    /// them.
    pub(super) fn join_sides(
        &mut self,
        want: RequiredPhrase,
        link: PhraseLink,
    ) -> Option<RequiredPhrase> {
        let Some(mut sides) = self.sides.take() else { return Some(want) };
        if want.negated {
            return Some(want);
        }
        let kind = kind(&want);
        match link {
            PhraseLink::Or if sides.side.last == want.attribute && want.attribute.is_some() => {
                // As in `a Ford truck or a Jeep SUV or wagon`.
                let Some(group) = sides.side.groups.last_mut() else { return Some(want) };
                group.extend(want.any);
                if let Some(label) = sides.side.labels.last_mut() {
                    *label = format!("{label} or {}", want.label);
                }
            }
            PhraseLink::Or if sides.closed_labels.len() < MAX_SIDES => {
                sides.close_side();
                sides.side.add(want);
            }
            PhraseLink::Nothing if sides.takes(kind, &want) => sides.side.add(want),
            PhraseLink::Nothing | PhraseLink::And | PhraseLink::Comma | PhraseLink::Or => {
                return Some(want);
            }
        }
        if let Some(last) = self.understood.wants.last_mut() {
            *last = sides.phrase();
        }
        self.sides = Some(sides);
        None
    }

    /// Begins the sides of an `or` between the last conditions and this one. Returns false when
    /// there is no left side.
    pub(super) fn open_sides(&mut self, want: &RequiredPhrase) -> bool {
        let wants = &self.understood.wants;
        if want.negated || wants.last().is_none_or(|last| last.negated) {
            return false;
        }
        let is_adjacent = |place: &usize| {
            self.links.get(place + 1) == Some(&PhraseLink::Nothing)
                && wants.get(*place).is_some_and(|want| !want.negated)
        };
        let end = wants.len() - 1;
        let run = (0..end).rev().take_while(is_adjacent).last().unwrap_or(end);
        let wanted = kind(want);
        let is_same = |place: &usize| wants.get(*place).is_some_and(|want| kind(want) == wanted);
        let same = (run..=end).rev().find(is_same);
        // A make and its model are one name.
        let start = same.map(|same| (run..=same).rev().take_while(is_same).last().unwrap_or(same));
        let start = start.unwrap_or(run);
        let mut left = Side::default();
        for want in self.understood.wants.split_off(start) {
            left.add(want);
        }
        let link = self.links.get(start).copied().unwrap_or_default();
        self.links.truncate(start);
        let mut sides = OpenSides {
            left: left.kinds.clone(),
            closed: Vec::new(),
            closed_labels: Vec::new(),
            side: left,
        };
        sides.close_side();
        sides.side.add(want.clone());
        self.understood.wants.push(sides.phrase());
        self.links.push(link);
        self.sides = Some(sides);
        true
    }

    /// Joins the conditions before the last that commas separate from it: `red, blue or white`.
    pub(super) fn join_enumeration(&mut self) {
        while self.links.last() == Some(&PhraseLink::Comma)
            && let [.., before, last] = self.understood.wants.as_slice()
            && before.attribute == last.attribute
            && before.negated == last.negated
        {
            let Some(last) = self.understood.wants.pop() else { return };
            self.links.pop();
            if let Some(before) = self.understood.wants.last_mut() {
                before.any.extend(last.any);
                before.label = format!("{} or {}", before.label, last.label);
            }
        }
    }

    /// Returns true for a model that is none of the make before: `Honda Civic or Camry`.
    pub(super) fn is_other_name(&self, want: &RequiredPhrase) -> bool {
        let [.., make, model] = self.understood.wants.as_slice() else { return false };
        let is_name = make.attribute == Some(Attribute::Make)
            && model.attribute == Some(Attribute::Model)
            && want.attribute == Some(Attribute::Model);
        is_name && !self.inventory.has_both(make, want)
    }
}

impl OpenSides {
    /// Returns true when a condition that follows the last side belongs to it.
    fn takes(&self, kind: ConditionKind, want: &RequiredPhrase) -> bool {
        let is_model =
            self.side.last == Some(Attribute::Make) && want.attribute == Some(Attribute::Model);
        is_model || self.left.contains(&kind) && !self.side.kinds.contains(&kind)
    }
}
