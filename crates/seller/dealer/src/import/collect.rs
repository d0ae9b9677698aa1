//! Collection of a feed's rows by dealer.

use std::collections::HashMap;

use jiff::Timestamp;

use super::columns::{ColumnHeading, RowCells, is_silent};
use super::dealer_match::{RowOwner, TargetNames};
use super::listing_keys::ListingKeys;
use super::mapping::{Mapping, PriceRule, SpelledHeading};
use super::notation::Notation;
use super::preset::{self, Preset};
use super::remembered::RowCaches;
use super::report::{ColumnUse, FeedReport, PresetUse, RowWarning, SkipReason};
use super::text::quote;
use super::{FeedError, FeedTarget, PackedListings, SortedFeed, table};
use collector::Collector;

mod collector;

/// Maximum number of different headings that are counted; a table with more is not a feed.
const MAX_HEADINGS: usize = 1_000;

/// Assigns the rows of a file to their dealers.
pub(super) struct RowSorter<'a> {
    targets: &'a [FeedTarget],
    /// Mapping of the headings: the caller's, or the one that the headings suggest.
    pub(super) mapping: Option<Mapping>,
    names: TargetNames,
    collectors: Vec<Collector<'a>>,
    /// Rows that could not be assigned to a dealer. With one target, they are in its report too.
    unplaced: FeedReport,
    headings: Vec<(ColumnUse, ColumnHeading)>,
    /// Headings as written; the report shortens them.
    spelled: Vec<String>,
    places: HashMap<String, usize>,
    /// Number of rows that each constant of the mapping filled.
    constants: Vec<usize>,
    /// True when the file ends too early, so that columns may be missing.
    is_truncated: bool,
}

impl<'a> RowSorter<'a> {
    pub(super) fn new(
        targets: &'a [FeedTarget],
        mapping: Option<&Mapping>,
        now: Timestamp,
        encoding: &'static str,
    ) -> Self {
        let report = FeedReport { encoding, ..FeedReport::default() };
        let collector = |target| Collector {
            target,
            now,
            price: PriceRule::default(),
            notation: Notation::default(),
            offers_unbuilt: false,
            takes_without_prices: false,
            listings: PackedListings::default(),
            heads: ListingKeys::default(),
            remembered: RowCaches::default(),
            report: report.clone(),
        };
        let mut sorter = Self {
            targets,
            mapping: None,
            names: TargetNames::new(targets, &[]),
            collectors: targets.iter().map(collector).collect(),
            unplaced: report.clone(),
            headings: Vec::new(),
            spelled: Vec::new(),
            places: HashMap::new(),
            constants: Vec::new(),
            is_truncated: false,
        };
        if let Some(mapping) = mapping {
            sorter.settle(mapping.clone());
        }
        sorter
    }

    /// Selects the mapping of the preset with such headings, unless the caller has given one.
    pub(super) fn guess<'h>(&mut self, headings: impl Iterator<Item = &'h str> + Clone) {
        if self.mapping.is_none() {
            let guessed = preset::guess(headings.clone());
            self.note_preset(guessed.as_ref(), true, headings);
            self.settle(guessed.unwrap_or_default());
        } else {
            let mapping = self.mapping.clone();
            self.note_preset(mapping.as_ref(), false, headings);
        }
    }

    /// Uses a preset for what the caller's mapping does not define, unless that is based on another
    /// preset.
    pub(super) fn assume(&mut self, preset: Preset) {
        match self.mapping.take() {
            None => self.settle(Mapping::from_preset(preset)),
            Some(own) if own.preset().is_none() => self.settle(own.based_on(preset)),
            Some(own) => self.mapping = Some(own),
        }
    }

    fn note_preset<'h>(
        &mut self,
        mapping: Option<&Mapping>,
        guessed: bool,
        headings: impl Iterator<Item = &'h str> + Clone,
    ) {
        let Some(mapping) = mapping else { return };
        let Some(preset) = mapping.preset() else { return };
        // AAP's members are named like the fields, so its mapping has hardly any rules.
        if preset == Preset::AapJson {
            return;
        }
        let known = headings.clone().filter(|heading| mapping.rule(heading).is_some()).count();
        let preset = PresetUse { name: preset, guessed, known, of: headings.count() };
        self.each(|report| report.preset = Some(preset));
    }

    fn settle(&mut self, mapping: Mapping) {
        self.names = TargetNames::new(self.targets, &mapping.names);
        let lost: Vec<String> = mapping
            .names
            .iter()
            .filter(|(_, ours)| !self.names.has(ours))
            .map(|(_, ours)| quote(ours))
            .collect();
        for ours in lost {
            let message = format!("\"{ours}\" is neither a dealer nor a rooftop here");
            self.warn_of_file(RowWarning::UnknownName, &message);
        }
        for collector in &mut self.collectors {
            collector.price = mapping.price;
            collector.notation = mapping.notation.clone();
            collector.takes_without_prices = mapping.takes_without_prices();
            collector.offers_unbuilt = mapping.offers_unbuilt();
        }
        self.constants = vec![0; mapping.constants.len()];
        self.mapping = Some(mapping);
    }

    /// Records the file format.
    pub(super) fn format(&mut self, format: &'static str, delimiter: Option<&'static str>) {
        self.each(|report| (report.format, report.delimiter) = (format, delimiter));
    }

    /// Records that the file is incomplete.
    pub(super) fn truncated(&mut self, seen: String) {
        self.is_truncated = true;
        self.each(|report| report.doubts.push(seen.clone()));
    }

    /// Records a warning about the whole file.
    pub(super) fn warn_of_file(&mut self, kind: RowWarning, message: &str) {
        self.each(|report| report.warn(kind, None, message.to_owned()));
    }

    /// Returns true when a usable row was taken.
    pub(super) fn has_listings(&self) -> bool {
        self.collectors.iter().any(|collector| !collector.listings.is_empty())
    }

    /// Returns a heading with its meaning. Headings beyond the maximum share one place.
    pub(super) fn heading(&mut self, name: &str) -> ColumnHeading {
        if let Some((_, heading)) = self.places.get(name).and_then(|at| self.headings.get(*at)) {
            return heading.clone();
        }
        let known = self.mapping.as_ref().and_then(|mapping| mapping.rule(name)).cloned();
        let is_ruled = known.is_some();
        let rule = known.unwrap_or_else(|| Mapping::default().understand(name));
        if rule.column.is_none() && !is_ruled && !is_silent(name) {
            self.each(|report| report.ignore(name));
        }
        let place = self.headings.len().min(MAX_HEADINGS);
        let heading = ColumnHeading { place, column: rule.column, transform: rule.transform };
        if place < MAX_HEADINGS {
            self.headings.push((ColumnUse { column: quote(name), filled: 0 }, heading.clone()));
            self.spelled.push(name.to_owned());
            self.places.insert(name.to_owned(), place);
        }
        heading
    }

    /// Takes a row.
    pub(super) fn take(&mut self, line: usize, cells: &mut RowCells) {
        // Constants are filled in first, because one may name the dealer of the row.
        let constants = self.mapping.iter().flat_map(|mapping| &mapping.constants);
        for ((column, text), filled) in constants.zip(&mut self.constants) {
            *filled += usize::from(cells.fill_constant(*column, text));
        }
        for place in &cells.filled {
            if let Some((column, _)) = self.headings.get_mut(*place) {
                column.filled += 1;
            }
        }
        match self.names.owner_of(cells) {
            RowOwner::Known { target, rooftop, unknown_name } => {
                let Some(collector) = self.collectors.get_mut(target) else {
                    return;
                };
                if let Some(unknown_name) = unknown_name {
                    let message = format!("\"{unknown_name}\" is not configured");
                    collector.report.warn(RowWarning::AlsoAnother, Some(line), message);
                }
                collector.take(line, cells, rooftop);
            }
            RowOwner::Unknown(reason, message) => self.skip(line, reason, message),
        }
    }

    /// Creates a sorter with the same mapping and no rows, for another thread. Its rows come back
    /// through [`hand_over`](Self::hand_over) and [`join`](Self::join).
    pub(super) fn part(&self) -> Self {
        let collector = |of: &Collector<'a>| Collector {
            target: of.target,
            now: of.now,
            price: of.price,
            notation: of.notation.clone(),
            offers_unbuilt: of.offers_unbuilt,
            takes_without_prices: of.takes_without_prices,
            listings: PackedListings::default(),
            heads: ListingKeys::default(),
            remembered: RowCaches::default(),
            report: FeedReport::default(),
        };
        let unfilled = |(used, heading): &(ColumnUse, ColumnHeading)| {
            (ColumnUse { filled: 0, ..used.clone() }, heading.clone())
        };
        Self {
            targets: self.targets,
            mapping: self.mapping.clone(),
            names: self.names.clone(),
            collectors: self.collectors.iter().map(collector).collect(),
            unplaced: FeedReport::default(),
            headings: self.headings.iter().map(unfilled).collect(),
            spelled: Vec::new(),
            places: HashMap::new(),
            constants: vec![0; self.constants.len()],
            is_truncated: false,
        }
    }

    /// Returns what was taken since the last call.
    pub(super) fn hand_over(&mut self) -> ParsedRows {
        let of = |collector: &mut Collector<'_>| DealerRows {
            listings: std::mem::take(&mut collector.listings).settled(),
            heads: std::mem::take(&mut collector.heads),
            report: std::mem::take(&mut collector.report),
        };
        ParsedRows {
            by_dealer: self.collectors.iter_mut().map(of).collect(),
            unplaced: std::mem::take(&mut self.unplaced),
            filled: self
                .headings
                .iter_mut()
                .map(|(column, _)| std::mem::take(&mut column.filled))
                .collect(),
            constants: self.constants.iter_mut().map(std::mem::take).collect(),
            is_truncated: std::mem::take(&mut self.is_truncated),
        }
    }

    /// Appends the rows of a part.
    pub(super) fn join(&mut self, rows: ParsedRows) {
        for (collector, dealer_rows) in self.collectors.iter_mut().zip(rows.by_dealer) {
            collector.listings.append(dealer_rows.listings);
            collector.heads.append(dealer_rows.heads);
            collector.report.join(dealer_rows.report);
        }
        self.unplaced.join(rows.unplaced);
        for ((used, _), filled) in self.headings.iter_mut().zip(rows.filled) {
            used.filled += filled;
        }
        for (used, filled) in self.constants.iter_mut().zip(rows.constants) {
            *used += filled;
        }
        self.is_truncated |= rows.is_truncated;
    }

    /// Records a skipped row whose dealer is unknown.
    pub(super) fn skip(&mut self, line: usize, reason: SkipReason, message: String) {
        match self.collectors.as_mut_slice() {
            [only] => only.skip(line, reason, message),
            _ => {
                self.unplaced.rows += 1;
                self.unplaced.skip(line, reason, message);
            }
        }
    }

    /// Records a warning about a row whose dealer is not known yet.
    pub(super) fn warn(&mut self, kind: RowWarning, line: usize, message: String) {
        let report = match self.collectors.as_mut_slice() {
            [only] => &mut only.report,
            _ => &mut self.unplaced,
        };
        report.warn(kind, Some(line), message);
    }

    /// Compares the mapping with the headings of the file.
    ///
    /// # Errors
    /// When a line of the mapping matches no column.
    pub(super) fn check_mapping(&self) -> Result<(), FeedError> {
        let headings = self.spelled.iter().map(String::as_str);
        let is_known = !self.spelled.is_empty() && self.spelled.len() < MAX_HEADINGS;
        let mapping = self.mapping.as_ref().filter(|_| is_known && !self.is_truncated);
        mapping.and_then(|mapping| mapping.unmatched(headings)).map_or(Ok(()), Err)
    }

    /// Finishes the work that needs all rows together.
    ///
    /// # Errors
    /// When a line of the mapping matches no column.
    pub(super) fn finish(mut self) -> Result<SortedFeed, FeedError> {
        self.check_mapping()?;
        self.unplaced.sort();
        let mapping = self.mapping.unwrap_or_default();
        let is_table = self.unplaced.format == table::FORMAT;
        let rows: usize = self.collectors.iter().map(|collector| collector.report.rows).sum();
        let rows = rows + self.unplaced.rows;
        let spelled = self.spelled.into_iter().zip(&self.headings);
        // A table has all of its columns in every row; a JSON member may be missing in some
        // vehicles.
        let spelled: Vec<SpelledHeading> = spelled
            .map(|(heading, (used, _))| SpelledHeading {
                heading,
                is_optional: !is_table && used.filled < rows,
            })
            .collect();
        let columns = self.headings.into_iter().map(|(used, heading)| (used, heading.column));
        let constants = mapping.constants.iter().zip(self.constants).map(|(constant, filled)| {
            let (column, text) = constant;
            let name = format!("constant \"{}\"", quote(text));
            (ColumnUse { column: name, filled }, Some(*column))
        });
        let columns: Vec<_> = columns.chain(constants).collect();
        let feeds = self.collectors.into_iter().map(|collector| collector.finish(&columns));
        let feeds = feeds.collect();
        Ok(SortedFeed { feeds, unplaced: self.unplaced, mapping: mapping.expanded(spelled) })
    }

    fn each(&mut self, mut note: impl FnMut(&mut FeedReport)) {
        for collector in &mut self.collectors {
            note(&mut collector.report);
        }
        note(&mut self.unplaced);
    }
}

/// Parsed rows of a part of the file.
#[derive(Debug)]
pub(super) struct ParsedRows {
    /// Rows by dealer.
    by_dealer: Vec<DealerRows>,
    unplaced: FeedReport,
    /// Number of rows in which each heading's column has content.
    filled: Vec<usize>,
    /// Number of rows that each constant filled.
    constants: Vec<usize>,
    is_truncated: bool,
}

/// Parsed rows of a part of the file for one dealer.
#[derive(Debug)]
struct DealerRows {
    listings: PackedListings,
    heads: ListingKeys,
    report: FeedReport,
}
