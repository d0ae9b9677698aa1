//! Collection of the rows of one dealer: removes duplicates, and separates trims from models with
//! the help of other rows.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use jiff::Timestamp;

use crate::import::columns::{CellMeaning, RowCells};
use crate::import::listing_keys::{ListingKeys, NoPrice, RowHead, RowTexts};
use crate::import::map::{ListedRow, RowMapper, SkippedRow};
use crate::import::mapping::PriceRule;
use crate::import::notation::Notation;
use crate::import::remembered::RowCaches;
use crate::import::report::{
    ColumnUse, FeedReport, MAX_COLUMNS, OtherPrice, RowWarning, SkipReason,
};
use crate::import::{DealerFeed, FeedListing, FeedTarget, PackedListings, fields};

/// Collects the rows of one dealer.
pub(super) struct Collector<'a> {
    pub(super) target: &'a FeedTarget,
    pub(super) now: Timestamp,
    pub(super) price: PriceRule,
    pub(super) notation: Notation,
    pub(super) offers_unbuilt: bool,
    /// True when listings priced in another currency are offered without a price.
    pub(super) takes_without_prices: bool,
    /// The usable listings.
    pub(super) listings: PackedListings,
    /// Data about each listing that is needed once all rows are there.
    pub(super) heads: ListingKeys,
    pub(super) remembered: RowCaches,
    pub(super) report: FeedReport,
}

impl Collector<'_> {
    pub(super) fn take(&mut self, line: usize, cells: &RowCells, rooftop: Option<usize>) {
        if cells.is_blank() {
            let message = "nothing in the row is understood".to_owned();
            self.skip(line, SkipReason::NoIdentifier, message);
            return;
        }
        if let Some(field) = cells.formula() {
            let message = format!("the {field} begins like a formula of a spreadsheet");
            self.skip(line, SkipReason::Formula, message);
            return;
        }
        let mapper = RowMapper {
            target: self.target,
            rooftop,
            now: self.now,
            price: self.price,
            notation: &self.notation,
            offers_unbuilt: self.offers_unbuilt,
            line,
            cells,
            remembered: &mut self.remembered,
            report: &mut self.report,
        };
        let ListedRow { vehicle, sold, is_in_other_currency } = match mapper.map() {
            Ok(listed) => listed,
            Err(SkippedRow { reason, message }) => return self.skip(line, reason, message),
        };
        self.report.rows += 1;
        // A text such as `Call` is the dealer's choice, not a sign of a misread column.
        let is_price_withheld = vehicle.price.is_none() && {
            let text = match cells.get(CellMeaning::OutTheDoor) {
                "" => cells.first(CellMeaning::PRICES),
                text => text,
            };
            !text.is_empty() && !text.bytes().any(|byte| byte.is_ascii_digit())
        };
        let no_price = match (is_in_other_currency, is_price_withheld) {
            (true, _) => Some(NoPrice::OtherCurrency),
            (false, true) => Some(NoPrice::Withheld),
            (false, false) => None,
        };
        self.heads.push(line, &vehicle, sold, no_price);
        self.listings.push(&FeedListing { vehicle, sold });
    }

    /// Records a row that cannot be offered.
    pub(super) fn skip(&mut self, line: usize, reason: SkipReason, message: String) {
        self.report.rows += 1;
        self.report.skip(line, reason, message);
    }

    pub(super) fn finish(mut self, headings: &[(ColumnUse, Option<CellMeaning>)]) -> DealerFeed {
        let splits = self.separate_trims();
        let mut lost = vec![false; self.listings.len()];
        // VIN first, the most reliable identifier: a row dropped by its VIN takes no stock number
        // from another.
        self.drop_duplicates(&mut lost, SkipReason::DuplicateVin, |names| {
            names.vin.map(ListingIdentifier::new)
        });
        self.drop_duplicates(&mut lost, SkipReason::DuplicateStock, |names| {
            Some(ListingIdentifier { rooftop: names.rooftop.unwrap_or_default(), id: names.stock? })
        });
        self.drop_duplicates(&mut lost, SkipReason::DuplicateId, |names| {
            names.vehicle_id.map(ListingIdentifier::new)
        });
        let Self { mut listings, heads, mut report, takes_without_prices, .. } = self;
        let is_lost = |place: usize| lost.get(place).copied().unwrap_or_default();
        let kept = || {
            let kept = heads.iter().enumerate().filter(|(place, _)| !is_lost(*place));
            kept.map(|(_, (head, _))| head)
        };
        let offered = || kept().filter(|head| !head.sold);
        let without_price = offered().filter(|head| head.no_price.is_some()).count();
        let of_other_currency =
            offered().filter(|head| head.no_price == Some(NoPrice::OtherCurrency)).count();
        report.accepted = offered().count();
        report.sold = kept().count() - report.accepted;
        report.fields = fields::uses(offered().map(|head| head.has), headings);
        if !splits.is_empty() || lost.contains(&true) {
            let is_changed = |place: usize| is_lost(place) || splits.contains_key(&place);
            listings = listings.changed(is_changed, |place, listing| match splits.get(&place) {
                _ if is_lost(place) => None,
                Some(split) => Some(split.separate(listing)),
                None => Some(listing),
            });
        }
        let doubts = fields::doubts(&report.fields, report.accepted, without_price);
        report.doubts.extend(doubts.all);
        report.photo_doubt = doubts.of_photos;
        if of_other_currency * 2 > report.accepted
            && !takes_without_prices
            && let Some(OtherPrice { currency, shown }) = &report.other_currency
        {
            report.currency_doubt = Some(format!(
                "{of_other_currency} of {} units have a price in {currency}, such as \"{shown}\", and \
                 AAP's prices are US dollars",
                report.accepted
            ));
        }
        let unused = headings.iter().filter(|(_, column)| column.is_none());
        report.unused_columns =
            unused.map(|(column, _)| column.clone()).take(MAX_COLUMNS).collect();
        report.sort();
        DealerFeed { listings, report }
    }

    /// Drops all but one of the rows that share an identifier. A sold one is kept first, because
    /// the more restrictive statement wins (`R-ER-10`); else the most complete one; else the last
    /// one.
    fn drop_duplicates(
        &mut self,
        lost: &mut [bool],
        reason: SkipReason,
        key: impl Fn(RowTexts<'_>) -> Option<ListingIdentifier<'_>>,
    ) {
        let Self { heads, report, .. } = self;
        // Few rows share an identifier, so hashes are sorted instead of a table of all identifiers.
        let state = RandomState::new();
        let mut hashes: Vec<u64> =
            heads.iter().filter_map(|(_, names)| Some(state.hash_one(key(names)?))).collect();
        hashes.sort_unstable();
        let twice = |pair: &[u64]| pair.first().filter(|one| pair.last() == Some(one)).copied();
        let mut shared: Vec<u64> = hashes.windows(2).filter_map(twice).collect();
        shared.dedup();
        drop(hashes);
        if shared.is_empty() {
            return;
        }
        let mut places: HashMap<ListingIdentifier<'_>, (usize, RowHead)> = HashMap::new();
        for (place, (head, names)) in heads.iter().enumerate() {
            let Some(key) = key(names) else { continue };
            let is_lost = lost.get(place).copied().unwrap_or_default();
            if is_lost || shared.binary_search(&state.hash_one(&key)).is_err() {
                continue;
            }
            let mut earlier = match places.entry(key) {
                Entry::Vacant(free) => {
                    free.insert((place, head));
                    continue;
                }
                Entry::Occupied(earlier) => earlier,
            };
            let (first, first_head) = *earlier.get();
            let (gone, loser, winner) = if rank(&first_head) > rank(&head) {
                (place, head.line, first_head.line)
            } else {
                earlier.insert((place, head));
                (first, first_head.line, head.line)
            };
            if let Some(lost) = lost.get_mut(gone) {
                *lost = true;
            }
            let message = format!("rows {loser} and {winner} are the same; row {winner} is kept");
            report.skip(loser, reason, message);
        }
    }

    /// Separates `CR-V EX` in the model column when other rows of the same make show that `CR-V` is
    /// a model and `EX` one of its trims. Without such rows nothing is guessed. Returns the splits
    /// by the place of the listing.
    fn separate_trims(&mut self) -> HashMap<usize, ModelEnd> {
        let Self { heads, report, .. } = self;
        let mut seen: HashSet<(&str, &str, Option<&str>)> = HashSet::new();
        let mut models: HashMap<(String, String), HashSet<String>> = HashMap::new();
        for (_, names) in heads.iter() {
            if let Some(make) = names.make
                && let Some(model) = names.model
                && seen.insert((make, model, names.trim))
            {
                let trims = models.entry((make.to_lowercase(), model.to_lowercase())).or_default();
                trims.extend(names.trim.map(str::to_lowercase));
            }
        }
        drop(seen);
        let mut splits = HashMap::new();
        for (place, (head, names)) in heads.iter().enumerate() {
            let Some(make) = names.make else { continue };
            let Some(model) = names.model else { continue };
            if !model.contains(' ') {
                continue;
            }
            let make = make.to_lowercase();
            let own = names.trim.map(str::to_lowercase);
            let split = model
                .match_indices(' ')
                .filter_map(|(at, _)| Some((model.get(..at)?, model.get(at + 1..)?)))
                .filter(|(_, trim)| own.as_ref().is_none_or(|own| *own == trim.to_lowercase()))
                // Searched from the back, so that the longest model name wins.
                .rfind(|(model, trim)| {
                    models
                        .get(&(make.clone(), model.to_lowercase()))
                        .is_some_and(|trims| trims.contains(&trim.to_lowercase()))
                });
            if let Some((model, trim)) = split {
                let message = format!("separated into \"{model}\" and \"{trim}\"");
                report.warn(RowWarning::ModelAndTrim, Some(head.line), message);
                splits.insert(place, ModelEnd(model.len()));
            }
        }
        if !splits.is_empty() {
            for (place, head) in heads.iter_mut().enumerate() {
                if splits.contains_key(&place) {
                    head.has = head.has.with("trim");
                }
            }
        }
        splits
    }
}

/// Byte at which a model ends; a space and the trim follow.
#[derive(Debug, Clone, Copy)]
struct ModelEnd(usize);

impl ModelEnd {
    fn separate(self, mut listing: FeedListing) -> FeedListing {
        let vehicle = &mut listing.vehicle;
        let whole = vehicle.model.take().unwrap_or_default();
        let (model, rest) = whole.split_at_checked(self.0).unwrap_or((&whole, ""));
        let trim = rest.strip_prefix(' ').unwrap_or(rest);
        vehicle.trim.get_or_insert_with(|| trim.to_owned());
        vehicle.model = Some(model.to_owned());
        listing
    }
}

/// An identifier of a listing.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ListingIdentifier<'h> {
    /// The rooftop within which it is unique; empty when it is unique everywhere.
    rooftop: &'h str,
    id: &'h str,
}

impl<'h> ListingIdentifier<'h> {
    fn new(id: &'h str) -> Self {
        Self { rooftop: "", id }
    }
}

/// Ranks rows about the same listing: the greatest is kept.
fn rank(head: &RowHead) -> (bool, u32) {
    (head.sold, head.has.len())
}
