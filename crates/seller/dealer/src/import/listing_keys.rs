//! Data about each row that is needed until all rows are read: identifiers, and how complete the
//! row is. The texts of many rows share one allocation, because a large feed has many rows.

use tradepost_aap::Vehicle;

use super::fields;
use super::words::fold;
use crate::inventory::texts::Texts;

/// Number of rows that share their allocations.
const ROWS: usize = 512;

/// Heads of rows, in the order of their listings.
#[derive(Debug, Default)]
pub(super) struct ListingKeys {
    parts: Vec<Part>,
}

#[derive(Debug, Default)]
struct Part {
    rows: Vec<RowHead>,
    /// Texts of the rows, one row after another.
    texts: Texts,
}

/// Data about a single row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowHead {
    /// Line in the file.
    pub(super) line: usize,
    /// Set of the fields that the listing has.
    pub(super) has: fields::FieldSet,
    /// Bit set of the texts that are present.
    present: u8,
    pub(super) sold: bool,
    /// Reason why it has no price, where the column was read correctly.
    pub(super) no_price: Option<NoPrice>,
}

/// Reasons for a missing price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPrice {
    /// A text such as `Call`.
    Withheld,
    /// A price in a currency other than US dollars.
    OtherCurrency,
}

/// Texts of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowTexts<'h> {
    pub(super) vin: Option<&'h str>,
    /// Folded, so that different spellings of a stock number are equal.
    pub(super) stock: Option<&'h str>,
    pub(super) vehicle_id: Option<&'h str>,
    pub(super) rooftop: Option<&'h str>,
    pub(super) make: Option<&'h str>,
    pub(super) model: Option<&'h str>,
    pub(super) trim: Option<&'h str>,
}

/// Number of texts of a row.
const TEXTS: usize = 7;

impl ListingKeys {
    pub(super) fn push(
        &mut self,
        line: usize,
        vehicle: &Vehicle,
        sold: bool,
        no_price: Option<NoPrice>,
    ) {
        if self.parts.last().is_none_or(|part| part.rows.len() >= ROWS) {
            self.parts.push(Part::default());
        }
        let Some(part) = self.parts.last_mut() else { return };
        let stock = vehicle.stock.as_deref().map(fold);
        let texts: [Option<&str>; TEXTS] = [
            vehicle.vin.as_deref(),
            stock.as_deref(),
            vehicle.vehicle_id.as_deref(),
            vehicle.rooftop.as_deref(),
            vehicle.make.as_deref(),
            vehicle.model.as_deref(),
            vehicle.trim.as_deref(),
        ];
        let mut present = 0;
        for (text, bit) in texts.iter().zip(0..) {
            part.texts.push(text.unwrap_or_default());
            present |= u8::from(text.is_some()) << bit;
        }
        let has = fields::FieldSet::from_vehicle(vehicle);
        part.rows.push(RowHead { line, has, present, sold, no_price });
    }

    /// Appends other heads.
    pub(super) fn append(&mut self, other: Self) {
        for mut part in other.parts {
            match self.parts.last_mut() {
                Some(last) if last.rows.len() + part.rows.len() <= ROWS => {
                    last.rows.append(&mut part.rows);
                    part.texts.iter().for_each(|text| last.texts.push(text));
                }
                Some(_) | None => {
                    part.rows.shrink_to_fit();
                    part.texts.shrink();
                    self.parts.push(part);
                }
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RowHead, RowTexts<'_>)> {
        self.parts.iter().flat_map(|part| {
            (0..).zip(&part.rows).map(|(row, head)| (*head, part.names(row, head.present)))
        })
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut RowHead> {
        self.parts.iter_mut().flat_map(|part| &mut part.rows)
    }
}

impl Part {
    fn names(&self, row: usize, present: u8) -> RowTexts<'_> {
        let text = |number: usize| {
            (present >> number & 1 == 1).then(|| self.texts.get(row * TEXTS + number))
        };
        let [vin, stock, vehicle_id, rooftop, make, model, trim] = std::array::from_fn(text);
        RowTexts { vin, stock, vehicle_id, rooftop, make, model, trim }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back_unchanged_however_they_were_put_together() {
        let vehicle = |number: usize| {
            let text = |of: &str| {
                (!number.is_multiple_of(of.len())).then(|| format!("{of}-\u{e9}{number}"))
            };
            Vehicle {
                vin: text("vin"),
                stock: text("S0"),
                vehicle_id: (!number.is_multiple_of(4)).then(String::new),
                rooftop: text("rooftop"),
                make: text("make"),
                model: text("model"),
                trim: text("trim2"),
                ..Vehicle::default()
            }
        };
        let no_price = |number: usize| match number % 3 {
            0 => Some(NoPrice::Withheld),
            1 => Some(NoPrice::OtherCurrency),
            _ => None,
        };
        for size in [1, 5, 300, 512, 2000] {
            let mut all = ListingKeys::default();
            let numbers: Vec<usize> = (0..1500).collect();
            for numbers in numbers.chunks(size) {
                let mut part = ListingKeys::default();
                for number in numbers {
                    part.push(*number, &vehicle(*number), number % 7 == 0, no_price(*number));
                }
                all.append(part);
            }
            let mut count = 0;
            for (number, (head, names)) in all.iter().enumerate() {
                let expected = vehicle(number);
                assert_eq!((head.line, head.sold), (number, number % 7 == 0));
                assert_eq!(head.no_price, no_price(number));
                assert_eq!(head.has, fields::FieldSet::from_vehicle(&expected));
                assert_eq!(names.vin, expected.vin.as_deref());
                assert_eq!(names.stock.map(str::to_owned), expected.stock.as_deref().map(fold));
                assert_eq!(names.vehicle_id, expected.vehicle_id.as_deref());
                assert_eq!(names.rooftop, expected.rooftop.as_deref());
                assert_eq!(names.make, expected.make.as_deref());
                assert_eq!(names.model, expected.model.as_deref());
                assert_eq!(names.trim, expected.trim.as_deref());
                count += 1;
            }
            assert_eq!(count, 1500, "{size}");
        }
    }
}
