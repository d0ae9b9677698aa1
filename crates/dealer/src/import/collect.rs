//! The rows of a feed taken together: whose they are, duplicates, and models that other rows
//! explain.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use tradepost_wire::aap::Vehicle;

use super::columns::{Cells, Column, Heading, is_silent};
use super::map::{Mapped, Mapper};
use super::mapping::{Mapping, PriceRule};
use super::preset::{self, Preset};
use super::remembered::Remembered;
use super::report::{ColumnUse, MAX_COLUMNS, PresetUse, Reason, Report, Warning, quote};
use super::whose::{Names, Whose};
use super::words::fold;
use super::{Feed, Sorted, Target, Unit, fields};

/// How many different headings are counted; a table of more is no feed of vehicles.
const MAX_HEADINGS: usize = 1_000;

/// Takes the rows of a file, and gives each to the dealer whose it is.
pub(super) struct Sorter<'a> {
    targets: &'a [Target],
    /// How the headings are understood: as the caller says, or once they are known.
    mapping: Option<Mapping>,
    names: Names,
    collectors: Vec<Collector<'a>>,
    /// The rows of nobody. With one target they are in its report, too.
    unplaced: Report,
    headings: Vec<(ColumnUse, Heading)>,
    /// The headings as they came, which the report shortens.
    spelled: Vec<String>,
    places: HashMap<String, usize>,
}

impl<'a> Sorter<'a> {
    pub(super) fn new(
        targets: &'a [Target],
        mapping: Option<&Mapping>,
        now: Timestamp,
        encoding: &'static str,
    ) -> Self {
        let report = Report { encoding, ..Report::default() };
        let collector = |target| Collector {
            target,
            now,
            price: PriceRule::default(),
            offers_unbuilt: false,
            units: Vec::new(),
            origins: Vec::new(),
            remembered: Remembered::default(),
            report: report.clone(),
        };
        let mut sorter = Self {
            targets,
            mapping: None,
            names: Names::of(targets, &[]),
            collectors: targets.iter().map(collector).collect(),
            unplaced: report.clone(),
            headings: Vec::new(),
            spelled: Vec::new(),
            places: HashMap::new(),
        };
        if let Some(mapping) = mapping {
            sorter.settle(mapping.clone());
        }
        sorter
    }

    /// The mapping that the caller named, or that was found out.
    pub(super) fn mapping(&self) -> Option<&Mapping> {
        self.mapping.as_ref()
    }

    /// Unless the caller has named a mapping, takes the one of the format that has such headings.
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

    /// Unless the caller has named a mapping, takes that of a preset.
    pub(super) fn assume(&mut self, preset: Preset) {
        if self.mapping.is_none() {
            self.settle(Mapping::of(preset));
        }
    }

    fn note_preset<'h>(
        &mut self,
        mapping: Option<&Mapping>,
        guessed: bool,
        headings: impl Iterator<Item = &'h str> + Clone,
    ) {
        let Some((preset, mapping)) = mapping.and_then(|m| Some((m.preset()?, m))) else { return };
        let known = headings.clone().filter(|heading| mapping.rule(heading).is_some()).count();
        let preset = PresetUse { name: preset, guessed, known, of: headings.count() };
        self.each(|report| report.preset = Some(preset));
    }

    fn settle(&mut self, mapping: Mapping) {
        self.names = Names::of(self.targets, mapping.names());
        let lost: Vec<String> = mapping
            .names()
            .iter()
            .filter(|(_, ours)| !self.names.has(ours))
            .map(|(_, ours)| quote(ours))
            .collect();
        for ours in lost {
            let message = format!("\"{ours}\" is neither a dealer nor a rooftop here");
            self.warn_of_file(Warning::UnknownName, &message);
        }
        for collector in &mut self.collectors {
            collector.price = mapping.price;
            collector.offers_unbuilt = mapping.offers_unbuilt();
        }
        self.mapping = Some(mapping);
    }

    /// Says what kind of file it is.
    pub(super) fn format(&mut self, format: &'static str, delimiter: Option<&'static str>) {
        self.each(|report| (report.format, report.delimiter) = (format, delimiter));
    }

    /// Says that the file is not whole.
    pub(super) fn truncated(&mut self, seen: String) {
        self.each(|report| report.doubts.push(seen.clone()));
    }

    /// Says what is odd about the whole file.
    pub(super) fn warn_of_file(&mut self, kind: Warning, message: &str) {
        self.each(|report| report.warn(kind, None, message.to_owned()));
    }

    /// Whether a row was taken that can be in the inventory.
    pub(super) fn has_units(&self) -> bool {
        self.collectors.iter().any(|collector| !collector.units.is_empty())
    }

    /// A heading as it is understood. Beyond all measure they share a place.
    pub(super) fn heading(&mut self, name: &str) -> Heading {
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
        let heading = Heading { place, column: rule.column, transform: rule.transform };
        if place < MAX_HEADINGS {
            self.headings.push((ColumnUse { column: quote(name), filled: 0 }, heading.clone()));
            self.spelled.push(name.to_owned());
            self.places.insert(name.to_owned(), place);
        }
        heading
    }

    /// Takes a row.
    pub(super) fn take(&mut self, line: usize, cells: &mut Cells) {
        // Before it is asked whose the row is: a constant may be what names the dealer.
        for (column, text) in self.mapping.iter().flat_map(|mapping| mapping.constants()) {
            cells.fill_constant(*column, text);
        }
        for place in cells.filled() {
            if let Some((column, _)) = self.headings.get_mut(*place) {
                column.filled += 1;
            }
        }
        match self.names.whose(cells) {
            Whose::Ours { target, rooftop, odd } => {
                let Some(collector) = self.collectors.get_mut(target) else {
                    return;
                };
                if let Some(odd) = odd {
                    let message = format!("\"{odd}\" is not configured");
                    collector.report.warn(Warning::AlsoAnother, Some(line), message);
                }
                collector.take(line, cells, rooftop);
            }
            Whose::Nobodys(reason, message) => self.skip(line, reason, message),
        }
    }

    /// Another one who understands everything alike, and has taken nothing. What it takes comes back
    /// with [`hand_over`](Self::hand_over) and [`join`](Self::join).
    pub(super) fn part(&self) -> Self {
        let collector = |of: &Collector<'a>| Collector {
            target: of.target,
            now: of.now,
            price: of.price,
            offers_unbuilt: of.offers_unbuilt,
            units: Vec::new(),
            origins: Vec::new(),
            remembered: Remembered::default(),
            report: Report::default(),
        };
        let unfilled = |(used, heading): &(ColumnUse, Heading)| {
            (ColumnUse { filled: 0, ..used.clone() }, heading.clone())
        };
        Self {
            targets: self.targets,
            mapping: self.mapping.clone(),
            names: self.names.clone(),
            collectors: self.collectors.iter().map(collector).collect(),
            unplaced: Report::default(),
            headings: self.headings.iter().map(unfilled).collect(),
            spelled: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Gives away what was taken since the last time.
    pub(super) fn hand_over(&mut self) -> Harvest {
        let of = |collector: &mut Collector<'_>| Sheaf {
            units: replaced(&mut collector.units),
            origins: replaced(&mut collector.origins),
            report: std::mem::take(&mut collector.report),
        };
        Harvest {
            sheaves: self.collectors.iter_mut().map(of).collect(),
            unplaced: std::mem::take(&mut self.unplaced),
            filled: self
                .headings
                .iter_mut()
                .map(|(it, _)| std::mem::take(&mut it.filled))
                .collect(),
        }
    }

    /// Takes what a part has taken, behind what there is.
    pub(super) fn join(&mut self, harvest: Harvest) {
        for (collector, mut sheaf) in self.collectors.iter_mut().zip(harvest.sheaves) {
            collector.units.append(&mut sheaf.units);
            collector.origins.append(&mut sheaf.origins);
            collector.report.join(sheaf.report);
        }
        self.unplaced.join(harvest.unplaced);
        for ((used, _), filled) in self.headings.iter_mut().zip(harvest.filled) {
            used.filled += filled;
        }
    }

    /// Records a row of which it is not known whose it is.
    pub(super) fn skip(&mut self, line: usize, reason: Reason, message: String) {
        match self.collectors.as_mut_slice() {
            [only] => only.skip(line, reason, message),
            _ => {
                self.unplaced.rows += 1;
                self.unplaced.skip(line, reason, message);
            }
        }
    }

    /// Notes what is odd about a row before it is known whose it is.
    pub(super) fn warn(&mut self, kind: Warning, line: usize, message: String) {
        let report = match self.collectors.as_mut_slice() {
            [only] => &mut only.report,
            _ => &mut self.unplaced,
        };
        report.warn(kind, Some(line), message);
    }

    /// Settles what only all rows together can tell.
    pub(super) fn finish(mut self) -> Sorted {
        self.unplaced.sort();
        let columns = self.headings.into_iter().map(|(used, heading)| (used, heading.column));
        let columns: Vec<_> = columns.collect();
        let feeds = self.collectors.into_iter().map(|collector| collector.finish(&columns));
        let mapping = self.mapping.unwrap_or_default().spelled_out(self.spelled);
        Sorted { feeds: feeds.collect(), unplaced: self.unplaced, mapping }
    }

    fn each(&mut self, mut note: impl FnMut(&mut Report)) {
        for collector in &mut self.collectors {
            note(&mut collector.report);
        }
        note(&mut self.unplaced);
    }
}

/// What a part of the rows has come to.
#[derive(Debug)]
pub(super) struct Harvest {
    /// By dealer.
    sheaves: Vec<Sheaf>,
    unplaced: Report,
    /// In how many of the rows each heading's column holds something.
    filled: Vec<usize>,
}

/// What a part of the rows has come to for one dealer.
#[derive(Debug)]
struct Sheaf {
    units: Vec<Unit>,
    origins: Vec<Origin>,
    report: Report,
}

/// What is to be known of a unit's row when all rows are there.
#[derive(Debug)]
struct Origin {
    line: usize,
    /// Whether it has a word such as `Call` for a price.
    is_price_withheld: bool,
}

/// Takes the rows of one dealer.
struct Collector<'a> {
    target: &'a Target,
    now: Timestamp,
    price: PriceRule,
    offers_unbuilt: bool,
    /// The units that can be in the inventory.
    units: Vec<Unit>,
    /// Where each of them comes from.
    origins: Vec<Origin>,
    remembered: Remembered,
    report: Report,
}

impl Collector<'_> {
    fn take(&mut self, line: usize, cells: &Cells, rooftop: Option<usize>) {
        if cells.is_blank() {
            let message = "nothing in the row is understood".to_owned();
            self.skip(line, Reason::NoIdentifier, message);
            return;
        }
        if let Some(field) = cells.formula() {
            let message = format!("the {field} begins like a formula of a spreadsheet");
            self.skip(line, Reason::Formula, message);
            return;
        }
        let mapper = Mapper {
            target: self.target,
            rooftop,
            now: self.now,
            price: self.price,
            offers_unbuilt: self.offers_unbuilt,
            line,
            cells,
            remembered: &mut self.remembered,
            report: &mut self.report,
        };
        let (vehicle, sold) = match mapper.map() {
            Mapped::Offered(vehicle) => (vehicle, false),
            Mapped::Sold(vehicle) => (vehicle, true),
            Mapped::Skipped(reason, message) => return self.skip(line, reason, message),
        };
        self.report.rows += 1;
        // A word such as `Call` is what the dealer wants said, and no
        // sign of a column that is misread.
        let is_price_withheld = vehicle.price.is_none() && {
            let text = match cells.get(Column::OutTheDoor) {
                "" => cells.first(Column::PRICES),
                text => text,
            };
            !text.is_empty() && !text.bytes().any(|byte| byte.is_ascii_digit())
        };
        self.units.push(Unit { vehicle, sold });
        self.origins.push(Origin { line, is_price_withheld });
    }

    /// Records a row that cannot be in the inventory.
    fn skip(&mut self, line: usize, reason: Reason, message: String) {
        self.report.rows += 1;
        self.report.skip(line, reason, message);
    }

    fn finish(mut self, headings: &[(ColumnUse, Option<Column>)]) -> Feed {
        self.separate_trims();
        // The surest first: a row that is gone by its VIN takes no stock number from another.
        self.drop_duplicates(Reason::DuplicateVin, |vehicle| vehicle.vin.as_deref().map(Key::of));
        self.drop_duplicates(Reason::DuplicateStock, |vehicle| {
            let stock = fold(vehicle.stock.as_deref()?);
            let rooftop = vehicle.rooftop.as_deref().unwrap_or_default();
            Some(Key { rooftop, id: Cow::Owned(stock) })
        });
        self.drop_duplicates(Reason::DuplicateId, |vehicle| {
            vehicle.vehicle_id.as_deref().map(Key::of)
        });
        let Self { units, origins, mut report, .. } = self;
        let pairs = units.iter().zip(&origins);
        let withheld = pairs.filter(|(unit, from)| from.is_price_withheld && !unit.sold).count();
        report.sold = units.iter().filter(|unit| unit.sold).count();
        report.accepted = units.len() - report.sold;
        report.fields = fields::uses(&units, headings);
        report.doubts.extend(fields::doubts(&report.fields, report.accepted, withheld));
        let unused = headings.iter().filter(|(_, column)| column.is_none());
        report.unused_columns =
            unused.map(|(column, _)| column.clone()).take(MAX_COLUMNS).collect();
        report.sort();
        Feed { units, report }
    }

    /// Keeps one row of those that share an identifier: a sold one first, because the more
    /// restrictive statement wins (`R-ER-10`); else the most complete one; else the last one.
    fn drop_duplicates(&mut self, reason: Reason, key: impl Fn(&Vehicle) -> Option<Key<'_>>) {
        let Self { units, origins, report, .. } = self;
        let mut places: HashMap<Key<'_>, (usize, usize)> = HashMap::with_capacity(units.len());
        let mut lost: HashSet<usize> = HashSet::new();
        for (place, (unit, origin)) in units.iter().zip(origins.iter()).enumerate() {
            let Some(key) = key(&unit.vehicle) else {
                continue;
            };
            let mut earlier = match places.entry(key) {
                Entry::Vacant(free) => {
                    free.insert((place, origin.line));
                    continue;
                }
                Entry::Occupied(earlier) => earlier,
            };
            let (first, first_line) = *earlier.get();
            let is_better = units.get(first).is_some_and(|first| rank(first) > rank(unit));
            let (loser, winner) = if is_better {
                lost.insert(place);
                (origin.line, first_line)
            } else {
                lost.insert(first);
                earlier.insert((place, origin.line));
                (first_line, origin.line)
            };
            let message = format!("rows {loser} and {winner} are the same; row {winner} is kept");
            report.skip(loser, reason, message);
        }
        drop(places);
        if !lost.is_empty() {
            retain(units, &lost);
            retain(origins, &lost);
        }
    }

    /// `CR-V EX` in the column of the model is separated when other rows of the same make show
    /// that `CR-V` is a model and `EX` one of its trims. Without such rows nothing is guessed.
    fn separate_trims(&mut self) {
        let mut seen: HashSet<(&str, &str, Option<&str>)> = HashSet::new();
        let mut models: HashMap<(String, String), HashSet<String>> = HashMap::new();
        for Unit { vehicle, .. } in &self.units {
            if let (Some(make), Some(model)) = (&vehicle.make, &vehicle.model)
                && seen.insert((make, model, vehicle.trim.as_deref()))
            {
                let trims = models.entry((make.to_lowercase(), model.to_lowercase())).or_default();
                trims.extend(vehicle.trim.as_ref().map(|trim| trim.to_lowercase()));
            }
        }
        for (unit, origin) in self.units.iter_mut().zip(&self.origins) {
            let vehicle = &mut unit.vehicle;
            let (Some(make), Some(model)) = (&vehicle.make, &vehicle.model) else {
                continue;
            };
            if !model.contains(' ') {
                continue;
            }
            let make = make.to_lowercase();
            let own = vehicle.trim.as_ref().map(|trim| trim.to_lowercase());
            let split = model
                .match_indices(' ')
                .filter_map(|(at, _)| Some((model.get(..at)?, model.get(at + 1..)?)))
                .filter(|(_, trim)| own.as_ref().is_none_or(|own| *own == trim.to_lowercase()))
                // From the back, so that the longest name of a model counts.
                .rfind(|(model, trim)| {
                    models
                        .get(&(make.clone(), model.to_lowercase()))
                        .is_some_and(|trims| trims.contains(&trim.to_lowercase()))
                })
                .map(|(model, trim)| (model.to_owned(), trim.to_owned()));
            if let Some((model, trim)) = split {
                let message = format!("separated into \"{model}\" and \"{trim}\"");
                let line = Some(origin.line);
                self.report.warn(Warning::ModelAndTrim, line, message);
                vehicle.model = Some(model);
                vehicle.trim.get_or_insert(trim);
            }
        }
    }
}

/// What a unit is told apart by.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key<'a> {
    /// The rooftop within which it counts, where it does.
    rooftop: &'a str,
    id: Cow<'a, str>,
}

impl<'a> Key<'a> {
    fn of(id: &'a str) -> Self {
        Self { rooftop: "", id: Cow::Borrowed(id) }
    }
}

/// What is there; in its place comes room for as much.
fn replaced<T>(all: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(all.len());
    std::mem::replace(all, room)
}

/// Without what stands in some places.
fn retain<T>(all: &mut Vec<T>, lost: &HashSet<usize>) {
    let mut place = 0;
    all.retain(|_| {
        place += 1;
        !lost.contains(&(place - 1))
    });
}

/// Which of two rows about the same unit to keep: the greater one.
fn rank(unit: &Unit) -> (bool, usize) {
    (unit.sold, fields::filled(&unit.vehicle))
}
