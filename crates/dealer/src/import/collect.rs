//! The rows of a feed taken together: whose they are, duplicates, and models that other rows
//! explain.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use jiff::Timestamp;

use super::columns::{Cells, Column, Heading, is_silent};
use super::heads::{Head, Heads, Named};
use super::map::{Mapped, Mapper};
use super::mapping::{Mapping, PriceRule};
use super::preset::{self, Preset};
use super::remembered::Remembered;
use super::report::{ColumnUse, MAX_COLUMNS, PresetUse, Reason, Report, Warning, quote};
use super::whose::{Names, Whose};
use super::{Feed, Sorted, Target, Unit, Units, fields};

/// How many different headings are counted; a table of more is no feed of vehicles.
const MAX_HEADINGS: usize = 1_000;

/// Takes the rows of a file, and gives each to the dealer whose it is.
pub(super) struct Sorter<'a> {
    targets: &'a [Target],
    /// How the headings are understood: as the caller says, or once they are known.
    pub(super) mapping: Option<Mapping>,
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
            units: Units::default(),
            heads: Heads::default(),
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
        self.names = Names::of(self.targets, &mapping.names);
        let lost: Vec<String> = mapping
            .names
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
        for (column, text) in self.mapping.iter().flat_map(|mapping| &mapping.constants) {
            cells.fill_constant(*column, text);
        }
        for place in &cells.filled {
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
            units: Units::default(),
            heads: Heads::default(),
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
            units: std::mem::take(&mut collector.units).settled(),
            heads: std::mem::take(&mut collector.heads),
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
        for (collector, sheaf) in self.collectors.iter_mut().zip(harvest.sheaves) {
            collector.units.append(sheaf.units);
            collector.heads.append(sheaf.heads);
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
    units: Units,
    heads: Heads,
    report: Report,
}

/// Takes the rows of one dealer.
struct Collector<'a> {
    target: &'a Target,
    now: Timestamp,
    price: PriceRule,
    offers_unbuilt: bool,
    /// The units that can be in the inventory.
    units: Units,
    /// What is to be known of each of them when all rows are there.
    heads: Heads,
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
        self.heads.push(line, &vehicle, sold, is_price_withheld);
        self.units.push(&Unit { vehicle, sold });
    }

    /// Records a row that cannot be in the inventory.
    fn skip(&mut self, line: usize, reason: Reason, message: String) {
        self.report.rows += 1;
        self.report.skip(line, reason, message);
    }

    fn finish(mut self, headings: &[(ColumnUse, Option<Column>)]) -> Feed {
        let splits = self.separate_trims();
        let mut lost = vec![false; self.units.len()];
        // The surest first: a row that is gone by its VIN takes no stock number from another.
        self.drop_duplicates(&mut lost, Reason::DuplicateVin, |names| names.vin.map(Key::of));
        self.drop_duplicates(&mut lost, Reason::DuplicateStock, |names| {
            Some(Key { rooftop: names.rooftop.unwrap_or_default(), id: names.stock? })
        });
        self.drop_duplicates(&mut lost, Reason::DuplicateId, |names| names.vehicle_id.map(Key::of));
        let Self { mut units, heads, mut report, .. } = self;
        let is_lost = |place: usize| lost.get(place).copied().unwrap_or_default();
        let kept = || {
            let kept = heads.iter().enumerate().filter(|(place, _)| !is_lost(*place));
            kept.map(|(_, (head, _))| head)
        };
        let offered = || kept().filter(|head| !head.sold);
        let withheld = offered().filter(|head| head.is_price_withheld).count();
        report.accepted = offered().count();
        report.sold = kept().count() - report.accepted;
        report.fields = fields::uses(offered().map(|head| head.has), headings);
        if !splits.is_empty() || lost.contains(&true) {
            let is_changed = |place: usize| is_lost(place) || splits.contains_key(&place);
            units = units.changed(is_changed, |place, unit| match splits.get(&place) {
                _ if is_lost(place) => None,
                Some(split) => Some(split.of(unit)),
                None => Some(unit),
            });
        }
        report.doubts.extend(fields::doubts(&report.fields, report.accepted, withheld));
        let unused = headings.iter().filter(|(_, column)| column.is_none());
        report.unused_columns =
            unused.map(|(column, _)| column.clone()).take(MAX_COLUMNS).collect();
        report.sort();
        Feed { units, report }
    }

    /// Loses all but one row of those that share an identifier: a sold one stays first, because the more
    /// restrictive statement wins (`R-ER-10`); else the most complete one; else the last one.
    fn drop_duplicates(
        &mut self,
        lost: &mut [bool],
        reason: Reason,
        key: impl Fn(Named<'_>) -> Option<Key<'_>>,
    ) {
        let Self { heads, report, .. } = self;
        // Hardly any row shares anything, and a table of all identifiers would be larger than they are.
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
        let mut places: HashMap<Key<'_>, (usize, Head)> = HashMap::new();
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

    /// `CR-V EX` in the column of the model is separated when other rows of the same make show
    /// that `CR-V` is a model and `EX` one of its trims. Without such rows nothing is guessed. Returns
    /// what becomes of the units at some places.
    fn separate_trims(&mut self) -> HashMap<usize, Split> {
        let Self { heads, report, .. } = self;
        let mut seen: HashSet<(&str, &str, Option<&str>)> = HashSet::new();
        let mut models: HashMap<(String, String), HashSet<String>> = HashMap::new();
        for (_, names) in heads.iter() {
            if let (Some(make), Some(model)) = (names.make, names.model)
                && seen.insert((make, model, names.trim))
            {
                let trims = models.entry((make.to_lowercase(), model.to_lowercase())).or_default();
                trims.extend(names.trim.map(str::to_lowercase));
            }
        }
        drop(seen);
        let mut splits = HashMap::new();
        for (place, (head, names)) in heads.iter().enumerate() {
            let (Some(make), Some(model)) = (names.make, names.model) else {
                continue;
            };
            if !model.contains(' ') {
                continue;
            }
            let make = make.to_lowercase();
            let own = names.trim.map(str::to_lowercase);
            let split = model
                .match_indices(' ')
                .filter_map(|(at, _)| Some((model.get(..at)?, model.get(at + 1..)?)))
                .filter(|(_, trim)| own.as_ref().is_none_or(|own| *own == trim.to_lowercase()))
                // From the back, so that the longest name of a model counts.
                .rfind(|(model, trim)| {
                    models
                        .get(&(make.clone(), model.to_lowercase()))
                        .is_some_and(|trims| trims.contains(&trim.to_lowercase()))
                });
            if let Some((model, trim)) = split {
                let message = format!("separated into \"{model}\" and \"{trim}\"");
                report.warn(Warning::ModelAndTrim, Some(head.line), message);
                splits.insert(place, Split(model.len()));
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

/// At which byte a model ends, where a space and its trim are behind it.
#[derive(Debug, Clone, Copy)]
struct Split(usize);

impl Split {
    fn of(self, mut unit: Unit) -> Unit {
        let vehicle = &mut unit.vehicle;
        let whole = vehicle.model.take().unwrap_or_default();
        let (model, rest) = whole.split_at_checked(self.0).unwrap_or((&whole, ""));
        let trim = rest.strip_prefix(' ').unwrap_or(rest);
        vehicle.trim.get_or_insert_with(|| trim.to_owned());
        vehicle.model = Some(model.to_owned());
        unit
    }
}

/// What a unit is told apart by.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key<'h> {
    /// The rooftop within which it counts, where it does.
    rooftop: &'h str,
    id: &'h str,
}

impl<'h> Key<'h> {
    fn of(id: &'h str) -> Self {
        Self { rooftop: "", id }
    }
}

/// Which of two rows about the same unit to keep: the greater one.
fn rank(head: &Head) -> (bool, u32) {
    (head.sold, head.has.len())
}
