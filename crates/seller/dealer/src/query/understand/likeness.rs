//! Cars that are named and not asked for: comparisons and trade-ins.
//!
//! Comparisons: `something like a Honda CR-V`, `similar to a BMW X5, other makes`. Similar are cars
//! of the same body, about as many seats and about the same price.

use super::super::lexicon::Attribute;
use super::super::numbers::NumericAttribute;
use super::super::vocabulary::vocabulary;
use super::super::{Predicate, QueryRemark, RequiredPhrase};
use super::Interpreter;
use super::negation::PhraseLink;

/// A comparison whose car is being named.
#[derive(Debug, Default)]
pub(super) struct Likeness {
    /// Names of the car.
    names: Vec<RequiredPhrase>,
    /// Words that announce a trade-in, whose car is not looked up.
    trade_in: Option<String>,
    /// True when cars of other makes are wanted.
    other_makes: bool,
    /// True when the car has been looked up.
    is_known: bool,
}

impl Interpreter<'_> {
    /// Returns true when the `like` at a token compares: `an SUV like a RAV4`. `I would like` does
    /// not.
    pub(super) fn is_comparison(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return true };
        let Some(token) = self.tokens.get(before) else { return true };
        let singular = token.text.strip_suffix('s').unwrap_or(&token.text);
        let is_body = |key: &str| vocabulary().meaning_of("body", key).is_some();
        is_body(&token.text)
            || is_body(singular)
            || vocabulary().meaning_of("compared", &token.text).is_some()
    }

    /// Begins a comparison.
    pub(super) fn begin_likeness(&mut self) {
        self.finish_likeness();
        self.likeness = Some(Likeness::default());
    }

    /// Begins the description of a car that the shopper gives in payment.
    pub(super) fn begin_trade_in(&mut self, text: String) {
        self.finish_likeness();
        self.likeness = Some(Likeness { trade_in: Some(text), ..Likeness::default() });
    }

    /// Records the wish for other makes than the one of the comparison.
    pub(super) fn ask_for_other_makes(&mut self, at: usize, length: usize) {
        match &mut self.likeness {
            Some(likeness) => likeness.other_makes = true,
            None => {
                let text = self.shown(at, length);
                self.leave_out(text, at + length);
            }
        }
    }

    /// Takes a name of the car that is compared with. Returns the condition when it is none.
    pub(super) fn compare_with(&mut self, want: RequiredPhrase) -> Option<RequiredPhrase> {
        let is_alternative = self.negation.link() == PhraseLink::Or;
        let is_next = self.negation.link() == PhraseLink::Nothing;
        let is_negated = self.is_negated();
        let between = self.tokens.get(self.negation.phrase_end()..self.at).unwrap_or_default();
        let is_beside =
            between.is_empty() && !self.tokens.get(self.at).is_some_and(|token| token.after_pause);
        let is_exchange =
            between.iter().any(|token| vocabulary().meaning_of("exchange", &token.text).is_some());
        let known = self.likeness.as_mut();
        let Some(likeness) = known.filter(|likeness| !likeness.is_known && !is_negated) else {
            return Some(want);
        };
        let is_pair = matches!(want.any.as_slice(), [Predicate::Pair { .. }, ..]);
        let is_year = matches!(
            want.any.as_slice(),
            [Predicate::Number(NumericAttribute::Year | NumericAttribute::Mileage, _)]
        );
        let is_name = is_pair
            || is_year && likeness.trade_in.is_some()
            || matches!(want.attribute, Some(Attribute::Make | Attribute::Model | Attribute::Trim))
            // A car that is not on offer has a name too.
            || want.any.is_empty() && want.attribute.is_none();
        let is_given = likeness.trade_in.is_some();
        let is_end = is_given && !likeness.names.is_empty() && (!is_next || is_exchange);
        // As in `my red 2015 Accord sedan`: the words beside each other describe one car.
        let is_beside = is_given && (likeness.names.is_empty() || is_beside);
        if (is_name || is_beside) && !is_end {
            let last = likeness.names.last_mut().filter(|_| is_alternative);
            match last.filter(|last| last.attribute == want.attribute) {
                Some(last) => {
                    last.any.extend(want.any);
                    last.label = format!("{} or {}", last.label, want.label);
                }
                None => likeness.names.push(want),
            }
            // The link belongs to the names.
            self.negation.forget_link();
            return None;
        }
        self.resolve_likeness();
        Some(want)
    }

    /// Adds the conditions of a comparison.
    fn resolve_likeness(&mut self) {
        let Some(likeness) = self.likeness.as_mut() else { return };
        likeness.is_known = true;
        if let Some(text) = &likeness.trade_in {
            let names: Vec<&str> = likeness.names.iter().map(|want| want.label.as_str()).collect();
            let text = format!("{text} {}", names.join(" "));
            self.remark(QueryRemark::TradeIn(text.trim_end().to_owned()));
            return;
        }
        if likeness.names.is_empty() {
            return;
        }
        let names: Vec<&str> = likeness.names.iter().map(|want| want.label.as_str()).collect();
        let label = names.join(" ");
        let Some(resemblance) = self.inventory.resemblance(&likeness.names) else { return };
        self.remark(QueryRemark::Similar(label));
        if !resemblance.bodies.is_empty() {
            let label = format!("{} {}", Attribute::Body, resemblance.body_names.join(" or "));
            let body = RequiredPhrase::values(resemblance.bodies, Some(Attribute::Body), label);
            self.add(body);
        }
        if let Some(seats) = resemblance.seats {
            let bounds = (Some(seats.saturating_sub(1)), Some(seats.saturating_add(1)));
            self.add(RequiredPhrase::number(NumericAttribute::Seats, bounds));
        }
        if let Some(price) = resemblance.price {
            let third = price / 10 * 3;
            let bounds = (Some(price.saturating_sub(third)), Some(price.saturating_add(third)));
            self.add(RequiredPhrase::number(NumericAttribute::Price, bounds));
        }
    }

    fn add(&mut self, want: RequiredPhrase) {
        if !self.understood.wants.contains(&want) {
            self.understood.wants.push(want);
            self.links.push(PhraseLink::And);
        }
    }

    /// Ends a comparison, and excludes its make where other makes are wanted.
    pub(super) fn finish_likeness(&mut self) {
        if self.likeness.as_ref().is_some_and(|likeness| !likeness.is_known) {
            self.resolve_likeness();
        }
        let Some(likeness) = self.likeness.take().filter(|likeness| likeness.other_makes) else {
            return;
        };
        let makes = self.inventory.makes(&likeness.names);
        if !makes.is_empty() {
            let names: Vec<&str> = makes.iter().map(|make| self.lexicon.name(*make)).collect();
            let label = format!("{} {}", Attribute::Make, names.join(" or "));
            let mut want = RequiredPhrase::values(makes, Some(Attribute::Make), label);
            want.negated = true;
            self.add(want);
        }
    }
}
