//! Assignment of rows to dealers: the names in a row are compared with the configuration. A row
//! that names another dealer is never taken silently.

use std::collections::HashMap;

use super::FeedTarget;
use super::columns::{CellMeaning, ITEM, RowCells};
use super::remembered::MeaningCache;
use super::report::SkipReason;
use super::text::quote;
use super::words::fold;

/// Owner of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowOwner {
    /// A target.
    Known {
        /// Index of the target.
        target: usize,
        /// Index of the rooftop that the row names.
        rooftop: Option<usize>,
        /// Another name in the row that is not configured.
        unknown_name: Option<String>,
    },
    /// No configured dealer.
    Unknown(SkipReason, String),
}

/// Meaning of a name: a target, and one of its rooftops when the name is a rooftop's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NameMeaning {
    target: usize,
    rooftop: Option<usize>,
}

/// Names of the targets and their rooftops.
#[derive(Debug, Clone)]
pub(super) struct TargetNames {
    claims: HashMap<String, Vec<NameMeaning>>,
    /// Number of rooftops of each target.
    rooftops: Vec<usize>,
    /// Cache of owners by the names of a row.
    known: MeaningCache<RowOwner>,
}

/// Columns that name the owner of a row, and true for those with names for people.
const LABELS: [(CellMeaning, bool); 3] =
    [(CellMeaning::Rooftop, true), (CellMeaning::DealerName, true), (CellMeaning::DealerId, false)];

impl TargetNames {
    /// Collects the names of the targets, with a mapping's aliases.
    pub(super) fn new(targets: &[FeedTarget], aliases: &[(String, String)]) -> Self {
        let mut claims: HashMap<String, Vec<NameMeaning>> = HashMap::new();
        for (target, dealer) in targets.iter().enumerate() {
            let own = [&dealer.dealer_id, &dealer.name].map(|name| (name, None));
            let rooftops = dealer.rooftops.iter().enumerate().flat_map(|(place, rooftop)| {
                std::iter::once(&rooftop.name)
                    .chain(&rooftop.feed_names)
                    .map(move |name| (name, Some(place)))
            });
            for (name, rooftop) in rooftops.chain(own) {
                let claims = claims.entry(fold(name)).or_default();
                // A rooftop with the name of its dealer is the more precise meaning.
                if claims.iter().all(|claim| claim.target != target) {
                    claims.push(NameMeaning { target, rooftop });
                }
            }
        }
        for (feed_name, own_name) in aliases {
            let meanings = claims.get(&fold(own_name)).cloned().unwrap_or_default();
            claims.entry(fold(feed_name)).or_default().extend(meanings);
        }
        let rooftops = targets.iter().map(|target| target.rooftops.len()).collect();
        Self { claims, rooftops, known: MeaningCache::default() }
    }

    /// Returns true for the name of a target or of one of its rooftops.
    pub(super) fn has(&self, name: &str) -> bool {
        self.claims.contains_key(&fold(name))
    }

    /// Finds the owner of a row. Most rows have the same names as earlier ones.
    pub(super) fn owner_of(&mut self, cells: &RowCells) -> RowOwner {
        let mut names = String::new();
        for (column, _) in LABELS {
            names.push_str(cells.get(column));
            names.push(ITEM);
        }
        let Self { claims, rooftops, known } = self;
        // With several stores, the end of a cell would be ambiguous in the cache key.
        if names.matches(ITEM).count() > LABELS.len() {
            return find(claims, rooftops, cells);
        }
        known.or_read(&names, |_| find(claims, rooftops, cells))
    }
}

/// Maximum number of names in a message.
const MAX_NAMES: usize = 5;

/// Names in a cell.
struct CellNames<'c> {
    /// True for a column with names for people.
    is_name: bool,
    /// One store, or several where a vehicle is offered in several.
    stores: Vec<NamedStore<'c>>,
}

/// A name of a dealer or rooftop in a row, with its meanings.
struct NamedStore<'c> {
    name: &'c str,
    claims: &'c [NameMeaning],
}

impl<'c> CellNames<'c> {
    fn new(cell: &'c str, is_name: bool, claims: &'c HashMap<String, Vec<NameMeaning>>) -> Self {
        let names = cell.split(ITEM).filter(|name| !name.is_empty());
        let store = |name| NamedStore {
            name,
            claims: claims.get(&fold(name)).map_or(&[][..], Vec::as_slice),
        };
        Self { is_name, stores: names.map(store).collect() }
    }

    /// Returns the meaning of the first store that belongs to a target.
    fn claim_of(&self, target: usize) -> Option<NameMeaning> {
        let of_target = |store: &NamedStore<'_>| {
            store.claims.iter().find(|claim| claim.target == target).copied()
        };
        self.stores.iter().find_map(of_target)
    }
}

/// Finds the owner of a row by all of its names.
fn find(
    claims: &HashMap<String, Vec<NameMeaning>>,
    rooftops: &[usize],
    cells: &RowCells,
) -> RowOwner {
    let cells: Vec<CellNames<'_>> = LABELS
        .iter()
        .map(|(column, is_name)| CellNames::new(cells.get(*column), *is_name, claims))
        .filter(|label| !label.stores.is_empty())
        .collect();
    if cells.is_empty() {
        return if rooftops.len() == 1 {
            RowOwner::Known { target: 0, rooftop: None, unknown_name: None }
        } else {
            let message = "the row names neither dealer nor rooftop".to_owned();
            RowOwner::Unknown(SkipReason::NoDealer, message)
        };
    }
    let stores = || cells.iter().flat_map(|label| &label.stores);
    let mut candidates: Vec<usize> =
        stores().flat_map(|store| store.claims.iter().map(|claim| claim.target)).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let mut owners: Vec<RowOwner> = candidates
        .into_iter()
        .filter_map(|target| {
            let has_several = rooftops.get(target).is_some_and(|count| *count > 1);
            of_target(target, has_several, &cells)
        })
        .collect();
    // A target that matches every name wins over targets that match some.
    if owners.len() > 1 {
        owners.retain(|owner| matches!(owner, RowOwner::Known { unknown_name: None, .. }));
    }
    if owners.len() == 1
        && let Some(owner) = owners.pop()
    {
        return owner;
    }
    let names: Vec<String> =
        stores().take(MAX_NAMES).map(|store| format!("\"{}\"", quote(store.name))).collect();
    let message = format!(
        "{} is not a dealer or rooftop of ours; a rooftop's feed_names say what feeds call it",
        names.join(", ")
    );
    RowOwner::Unknown(SkipReason::AnotherDealer, message)
}

/// Returns the owner when a row with these labels belongs to a target, which may have several
/// rooftops.
fn of_target(target: usize, has_several: bool, labels: &[CellNames<'_>]) -> Option<RowOwner> {
    let mut rooftop: Option<usize> = None;
    let mut unknown_name: Option<(&str, bool)> = None;
    for label in labels {
        match label.claim_of(target) {
            Some(NameMeaning { rooftop: Some(place), .. }) => match rooftop {
                // A vehicle cannot be at two rooftops.
                Some(other) if other != place => return None,
                Some(_) | None => rooftop = Some(place),
            },
            Some(NameMeaning { rooftop: None, .. }) => {}
            None => {
                let first = label.stores.first().map(|store| (store.name, label.is_name));
                unknown_name = unknown_name.or(first);
            }
        }
    }
    // The dealer's id beside the name of an unknown rooftop means another dealer. So does a store
    // code that none of several rooftops has: no rooftop may get a vehicle that is elsewhere.
    if rooftop.is_none() && unknown_name.is_some_and(|(_, is_name)| is_name || has_several) {
        return None;
    }
    let unknown_name = unknown_name.map(|(label, _)| quote(label));
    Some(RowOwner::Known { target, rooftop, unknown_name })
}
