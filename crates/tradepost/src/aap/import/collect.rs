//! The rows of a feed taken together: duplicates, and models that other rows explain.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use tradepost_wire::aap::Vehicle;

use super::columns::Cells;
use super::map::{Mapped, Mapper, Source};
use super::report::{Reason, Report, Warning};
use super::words::fold;
use super::{Feed, Target, Unit};

/// A row that could be in the inventory.
#[derive(Debug)]
struct Candidate {
    line: usize,
    unit: Unit,
}

/// Takes rows one by one.
pub(super) struct Collector<'a> {
    target: &'a Target,
    now: Timestamp,
    candidates: Vec<Candidate>,
    pub(super) report: Report,
}

impl<'a> Collector<'a> {
    pub(super) fn new(target: &'a Target, now: Timestamp, encoding: &'static str) -> Self {
        Self {
            target,
            now,
            candidates: Vec::new(),
            report: Report { encoding, ..Report::default() },
        }
    }

    /// Takes a row.
    pub(super) fn take(&mut self, line: usize, cells: &Cells, source: Source) {
        if cells.is_blank() {
            let message = "nothing in the row is understood".to_owned();
            self.skip(line, Reason::NoIdentifier, message);
            return;
        }
        let mapper = Mapper {
            target: self.target,
            now: self.now,
            source,
            line,
            cells,
            report: &mut self.report,
        };
        let (vehicle, sold) = match mapper.map() {
            Mapped::Offered(vehicle) => (vehicle, false),
            Mapped::Sold(vehicle) => (vehicle, true),
            Mapped::Skipped(reason, message) => return self.skip(line, reason, message),
        };
        self.report.rows += 1;
        let unit = Unit { vehicle, sold };
        self.candidates.push(Candidate { line, unit });
    }

    /// Records a row that cannot be in the inventory.
    pub(super) fn skip(&mut self, line: usize, reason: Reason, message: String) {
        self.report.rows += 1;
        self.report.skip(line, reason, message);
    }

    /// Settles what only all rows together can tell.
    pub(super) fn finish(mut self) -> Feed {
        self.separate_trims();
        self.drop_duplicates(Reason::DuplicateVin, |vehicle| vehicle.vin.clone());
        self.drop_duplicates(Reason::DuplicateStock, |vehicle| {
            let stock = fold(vehicle.stock.as_deref()?);
            Some(format!("{}\n{stock}", vehicle.rooftop.as_deref().unwrap_or_default()))
        });
        self.drop_duplicates(Reason::DuplicateId, |vehicle| vehicle.vehicle_id.clone());
        let units: Vec<Unit> = self.candidates.into_iter().map(|c| c.unit).collect();
        self.report.sold = units.iter().filter(|unit| unit.sold).count();
        self.report.accepted = units.len() - self.report.sold;
        self.report.sort();
        Feed { units, report: self.report }
    }

    /// Keeps one row of those that share an identifier: a sold one first, because the more
    /// restrictive statement wins (`R-ER-10`); else the most complete one; else the last one.
    fn drop_duplicates(&mut self, reason: Reason, key: fn(&Vehicle) -> Option<String>) {
        let mut kept: Vec<Option<Candidate>> = Vec::with_capacity(self.candidates.len());
        let mut places: HashMap<String, usize> = HashMap::new();
        for candidate in std::mem::take(&mut self.candidates) {
            let Some(key) = key(&candidate.unit.vehicle) else {
                kept.push(Some(candidate));
                continue;
            };
            let earlier = places.get(&key).copied();
            let Some(earlier) = earlier.and_then(|place| kept.get_mut(place)) else {
                places.insert(key, kept.len());
                kept.push(Some(candidate));
                continue;
            };
            let loser = match earlier.take() {
                Some(first) if rank(&first.unit) > rank(&candidate.unit) => {
                    let (loser, winner) = (candidate.line, first.line);
                    *earlier = Some(first);
                    (loser, winner)
                }
                Some(first) => {
                    let (loser, winner) = (first.line, candidate.line);
                    places.insert(key, kept.len());
                    kept.push(Some(candidate));
                    (loser, winner)
                }
                None => {
                    kept.push(Some(candidate));
                    continue;
                }
            };
            let (line, winner) = loser;
            let message = format!("rows {line} and {winner} are the same; row {winner} is kept");
            self.report.skip(line, reason, message);
        }
        self.candidates = kept.into_iter().flatten().collect();
    }

    /// `CR-V EX` in the column of the model is separated when other rows of the same make show
    /// that `CR-V` is a model and `EX` one of its trims. Without such rows nothing is guessed.
    fn separate_trims(&mut self) {
        let mut models: HashMap<(String, String), HashSet<String>> = HashMap::new();
        for candidate in &self.candidates {
            let vehicle = &candidate.unit.vehicle;
            if let (Some(make), Some(model)) = (&vehicle.make, &vehicle.model) {
                let trims = models.entry((make.to_lowercase(), model.to_lowercase())).or_default();
                trims.extend(vehicle.trim.as_ref().map(|trim| trim.to_lowercase()));
            }
        }
        for candidate in &mut self.candidates {
            let vehicle = &mut candidate.unit.vehicle;
            let (Some(make), Some(model)) = (&vehicle.make, &vehicle.model) else {
                continue;
            };
            let make = make.to_lowercase();
            let own = vehicle.trim.as_ref().map(|trim| trim.to_lowercase());
            let split = model
                .match_indices(' ')
                .filter_map(|(at, _)| Some((model.get(..at)?, model.get(at + 1..)?)))
                .filter(|(_, trim)| own.as_ref().is_none_or(|own| *own == trim.to_lowercase()))
                .rfind(|(model, trim)| {
                    models
                        .get(&(make.clone(), model.to_lowercase()))
                        .is_some_and(|trims| trims.contains(&trim.to_lowercase()))
                })
                .map(|(model, trim)| (model.to_owned(), trim.to_owned()));
            if let Some((model, trim)) = split {
                let message = format!("separated into \"{model}\" and \"{trim}\"");
                let line = Some(candidate.line);
                self.report.warn(Warning::ModelAndTrim, line, message);
                vehicle.model = Some(model);
                vehicle.trim.get_or_insert(trim);
            }
        }
    }
}

/// Which of two rows about the same unit to keep: the greater one.
fn rank(unit: &Unit) -> (bool, usize) {
    let v = &unit.vehicle;
    let filled = [
        v.vin.is_some(),
        v.stock.is_some(),
        v.year.is_some(),
        v.make.is_some(),
        v.model.is_some(),
        v.trim.is_some(),
        v.body.is_some(),
        v.condition.is_some(),
        v.msrp.is_some(),
        v.list_price.is_some(),
        v.price.is_some(),
        v.mileage.is_some(),
        v.transmission.is_some(),
        v.driveline.is_some(),
        v.engine.is_some(),
        v.fuel.is_some(),
        v.city_mpg.is_some(),
        v.highway_mpg.is_some(),
        v.electric_range_mi.is_some(),
        v.exterior_color.is_some(),
        v.interior_color.is_some(),
        !v.features.is_empty(),
        !v.photos.is_empty(),
        v.vdp_url.is_some(),
        v.description.is_some(),
        v.notes.is_some(),
        v.inventory_date.is_some(),
    ];
    (unit.sold, filled.into_iter().filter(|filled| *filled).count())
}
