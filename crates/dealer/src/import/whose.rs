//! Whose row it is: what a row says of dealer and rooftop is compared with what is configured.
//! A row that names somebody else is never taken silently.

use std::collections::HashMap;

use super::Target;
use super::columns::{Cells, Column, ITEM};
use super::remembered::Known;
use super::report::Reason;
use super::text::quote;
use super::words::fold;

/// Where a row belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whose {
    /// To a target.
    Ours {
        /// Its place among the targets.
        target: usize,
        /// The rooftop that the row names, if it does.
        rooftop: Option<usize>,
        /// What else it names that is not configured.
        odd: Option<String>,
    },
    /// To none that is known.
    Nobodys(Reason, String),
}

/// What one name stands for: a target, and one of its rooftops when the name is a rooftop's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claim {
    target: usize,
    rooftop: Option<usize>,
}

/// The names of the targets and their rooftops.
#[derive(Debug, Clone)]
pub(super) struct Names {
    claims: HashMap<String, Vec<Claim>>,
    /// How many rooftops each target has.
    rooftops: Vec<usize>,
    /// What was said before, and what it came to.
    known: Known<Whose>,
}

/// Where rows say whose they are, and whether by a name for people.
const LABELS: [(Column, bool); 3] =
    [(Column::Rooftop, true), (Column::DealerName, true), (Column::DealerId, false)];

impl Names {
    /// With what a mapping says that feeds call them besides.
    pub(super) fn of(targets: &[Target], aliases: &[(String, String)]) -> Self {
        let mut claims: HashMap<String, Vec<Claim>> = HashMap::new();
        for (target, dealer) in targets.iter().enumerate() {
            let own = [&dealer.dealer_id, &dealer.name].map(|name| (name, None));
            let rooftops = dealer.rooftops.iter().enumerate().flat_map(|(place, rooftop)| {
                std::iter::once(&rooftop.name)
                    .chain(&rooftop.feed_names)
                    .map(move |name| (name, Some(place)))
            });
            for (name, rooftop) in rooftops.chain(own) {
                let claims = claims.entry(fold(name)).or_default();
                // A rooftop that is called like its dealer is the more exact statement.
                if claims.iter().all(|claim| claim.target != target) {
                    claims.push(Claim { target, rooftop });
                }
            }
        }
        for (theirs, ours) in aliases {
            let meant = claims.get(&fold(ours)).cloned().unwrap_or_default();
            claims.entry(fold(theirs)).or_default().extend(meant);
        }
        let rooftops = targets.iter().map(|target| target.rooftops.len()).collect();
        Self { claims, rooftops, known: Known::default() }
    }

    /// Whether it is the name of a target or of one of its rooftops.
    pub(super) fn has(&self, name: &str) -> bool {
        self.claims.contains_key(&fold(name))
    }

    /// Whose row it is. Most rows say it as others before them.
    pub(super) fn whose(&mut self, cells: &Cells) -> Whose {
        let mut said = String::new();
        for (column, _) in LABELS {
            said.push_str(cells.get(column));
            said.push(ITEM);
        }
        let Self { claims, rooftops, known } = self;
        // With several stores it could not be told where one cell ends.
        if said.matches(ITEM).count() > LABELS.len() {
            return find(claims, rooftops, cells);
        }
        known.or_read(&said, |_| find(claims, rooftops, cells))
    }
}

/// How many names of a row are told.
const MOST_TOLD: usize = 5;

/// What a cell says about whose a row is.
struct Label<'c> {
    /// Whether it has a name for people.
    is_name: bool,
    /// One, or several where a vehicle is offered in several stores.
    stores: Vec<NamedStore<'c>>,
}

/// What a row calls a dealer or a rooftop, and whom that stands for.
struct NamedStore<'c> {
    name: &'c str,
    claims: &'c [Claim],
}

impl<'c> Label<'c> {
    fn new(cell: &'c str, is_name: bool, claims: &'c HashMap<String, Vec<Claim>>) -> Self {
        let names = cell.split(ITEM).filter(|name| !name.is_empty());
        let store = |name| NamedStore {
            name,
            claims: claims.get(&fold(name)).map_or(&[][..], Vec::as_slice),
        };
        Self { is_name, stores: names.map(store).collect() }
    }

    /// What the first of the stores stands for that is one of a target.
    fn claim_of(&self, target: usize) -> Option<Claim> {
        let of_target = |store: &NamedStore<'_>| {
            store.claims.iter().find(|claim| claim.target == target).copied()
        };
        self.stores.iter().find_map(of_target)
    }
}

/// Whose row it is, by everything that it says about it.
fn find(claims: &HashMap<String, Vec<Claim>>, rooftops: &[usize], cells: &Cells) -> Whose {
    let cells: Vec<Label<'_>> = LABELS
        .iter()
        .map(|(column, is_name)| Label::new(cells.get(*column), *is_name, claims))
        .filter(|label| !label.stores.is_empty())
        .collect();
    if cells.is_empty() {
        return if rooftops.len() == 1 {
            Whose::Ours { target: 0, rooftop: None, odd: None }
        } else {
            let message = "the row names neither dealer nor rooftop".to_owned();
            Whose::Nobodys(Reason::NoDealer, message)
        };
    }
    let stores = || cells.iter().flat_map(|label| &label.stores);
    let mut candidates: Vec<usize> =
        stores().flat_map(|store| store.claims.iter().map(|claim| claim.target)).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let mut ours: Vec<Whose> = candidates
        .into_iter()
        .filter_map(|target| {
            let has_several = rooftops.get(target).is_some_and(|count| *count > 1);
            of_target(target, has_several, &cells)
        })
        .collect();
    // Who is meant by every name is meant rather than who is meant by some.
    if ours.len() > 1 {
        ours.retain(|whose| matches!(whose, Whose::Ours { odd: None, .. }));
    }
    if let (1, Some(whose)) = (ours.len(), ours.pop()) {
        return whose;
    }
    let names: Vec<String> =
        stores().take(MOST_TOLD).map(|store| format!("\"{}\"", quote(store.name))).collect();
    let message = format!(
        "{} is not a dealer or rooftop of ours; a rooftop's feed_names say what feeds call it",
        names.join(", ")
    );
    Whose::Nobodys(Reason::AnotherDealer, message)
}

/// Whether a row with these labels is a target's, which may have several rooftops.
fn of_target(target: usize, has_several: bool, labels: &[Label<'_>]) -> Option<Whose> {
    let mut rooftop: Option<usize> = None;
    let mut odd: Option<(&str, bool)> = None;
    for label in labels {
        match label.claim_of(target) {
            Some(Claim { rooftop: Some(place), .. }) => match rooftop {
                // It cannot stand at two rooftops.
                Some(other) if other != place => return None,
                Some(_) | None => rooftop = Some(place),
            },
            Some(Claim { rooftop: None, .. }) => {}
            None => {
                let first = label.stores.first().map(|store| (store.name, label.is_name));
                odd = odd.or(first);
            }
        }
    }
    // The dealer's id beside the name of a rooftop that it does not have: the row is of another. So is a
    // store's code that none of several rooftops has: none of them may get what is not there.
    if rooftop.is_none() && odd.is_some_and(|(_, is_name)| is_name || has_several) {
        return None;
    }
    let odd = odd.map(|(label, _)| quote(label));
    Some(Whose::Ours { target, rooftop, odd })
}
