//! Units of numbers in queries, and the words before a number that say what it counts.

use super::super::tokens::QueryToken;
use super::{
    NumberAmount, NumberPhrase, NumberRange, NumericAttribute, is_likely_year, phrase, word,
};

/// Unit before or after a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberUnit {
    Of(NumericAttribute),
    /// Kilometres driven; listings count miles.
    Kilometers,
    /// Kilometres of electric range.
    RangeKilometers,
    /// Litres for 100 kilometres, in tenths; listings state miles per gallon.
    Consumption,
    /// Kilowatts; listings state horsepower.
    Kilowatts,
    /// Kilograms of towing capacity; listings state pounds.
    TowingKilograms,
    /// Pounds of something that the words before say.
    Pounds,
    /// Kilograms of something that the words before say.
    Kilograms,
    /// Seats for children.
    ChildSeats,
    /// Years of age.
    Age,
    /// Range of a car with one charge or tank; also a range of prices.
    Range,
    /// `speed` and the like, which belong to small numbers only.
    Weak,
    /// Money by the month.
    Payment,
    /// Distance to the dealer.
    Distance,
    Unsearchable,
}

impl NumberUnit {
    /// Returns true when an amount is plausible for the unit. In `under 30k seats 7` the seats
    /// belong to the 7.
    pub(super) fn fits(self, amount: NumberAmount) -> bool {
        let is_large = amount.is_large || amount.is_money;
        match self {
            Self::Of(NumericAttribute::Seats | NumericAttribute::Rows) => {
                !is_large && amount.value <= 15
            }
            Self::Of(NumericAttribute::Year) => {
                !is_large && (is_likely_year(amount) || amount.value <= 100)
            }
            Self::Of(
                NumericAttribute::CityMpg
                | NumericAttribute::HighwayMpg
                | NumericAttribute::CombinedMpg,
            ) => !is_large && amount.value <= 200,
            Self::Of(
                NumericAttribute::Doors | NumericAttribute::Owners | NumericAttribute::Accidents,
            ) => !is_large && amount.value <= 15,
            Self::ChildSeats => !is_large && amount.value <= 8,
            Self::Age | Self::Weak => !is_large && amount.value < 1000,
            Self::Of(
                NumericAttribute::Price
                | NumericAttribute::Mileage
                | NumericAttribute::ElectricRange
                | NumericAttribute::Towing
                | NumericAttribute::Horsepower,
            )
            | Self::Kilometers
            | Self::RangeKilometers
            | Self::Consumption
            | Self::Kilowatts
            | Self::TowingKilograms
            | Self::Pounds
            | Self::Kilograms
            | Self::Range
            | Self::Payment
            | Self::Distance
            | Self::Unsearchable => true,
        }
    }
}

/// Words before a number that say what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberHeading {
    pub(super) unit: NumberUnit,
    /// True for words that also describe cars without a number, as in `towing under 40k`.
    pub(super) is_trait: bool,
}

/// Returns the attribute that a unit counts, if it is one.
pub(super) fn counted_by(unit: NumberUnit) -> Option<NumericAttribute> {
    match unit {
        NumberUnit::Of(number) => Some(number),
        NumberUnit::Kilometers => Some(NumericAttribute::Mileage),
        NumberUnit::RangeKilometers => Some(NumericAttribute::ElectricRange),
        NumberUnit::Consumption => Some(NumericAttribute::CombinedMpg),
        NumberUnit::Kilowatts => Some(NumericAttribute::Horsepower),
        NumberUnit::TowingKilograms => Some(NumericAttribute::Towing),
        NumberUnit::Age
        | NumberUnit::ChildSeats
        | NumberUnit::Range
        | NumberUnit::Weak
        | NumberUnit::Pounds
        | NumberUnit::Kilograms
        | NumberUnit::Payment
        | NumberUnit::Distance
        | NumberUnit::Unsearchable => None,
    }
}

/// Returns the phrase of a unit that no attribute of a car is counted in.
pub(super) fn uncounted(unit: NumberUnit) -> NumberPhrase {
    match unit {
        NumberUnit::Payment => NumberPhrase::Payment,
        NumberUnit::Distance => NumberPhrase::Distance,
        NumberUnit::Of(_)
        | NumberUnit::Kilometers
        | NumberUnit::RangeKilometers
        | NumberUnit::Consumption
        | NumberUnit::Kilowatts
        | NumberUnit::TowingKilograms
        | NumberUnit::Pounds
        | NumberUnit::Kilograms
        | NumberUnit::ChildSeats
        | NumberUnit::Age
        | NumberUnit::Range
        | NumberUnit::Weak
        | NumberUnit::Unsearchable => NumberPhrase::Unsearchable,
    }
}

/// Converts bounds to the unit that listings state.
pub(super) fn in_stated_unit(bounds: NumberRange, unit: Option<NumberUnit>) -> NumberRange {
    let (min, max) = bounds;
    let scaled = |factor: f64| {
        // Rounded to the nearest, because the amounts of such questions are round.
        let scale = |number: u32| (f64::from(number) * factor).round() as u32;
        (min.map(scale), max.map(scale))
    };
    match unit {
        Some(NumberUnit::Kilometers | NumberUnit::RangeKilometers) => in_miles(bounds),
        Some(NumberUnit::Kilowatts) => scaled(1.341),
        Some(NumberUnit::TowingKilograms) => scaled(2.204_62),
        // Few litres are many miles, so the bounds change places. The litres are tenths.
        Some(NumberUnit::Consumption) => {
            let mpg = |tenths: u32| (2352.15 / f64::from(tenths.max(1))).round() as u32;
            (max.map(mpg), min.map(mpg))
        }
        Some(
            NumberUnit::Of(_)
            | NumberUnit::Pounds
            | NumberUnit::Kilograms
            | NumberUnit::ChildSeats
            | NumberUnit::Age
            | NumberUnit::Range
            | NumberUnit::Weak
            | NumberUnit::Payment
            | NumberUnit::Distance
            | NumberUnit::Unsearchable,
        )
        | None => bounds,
    }
}

/// Converts bounds from kilometres to miles.
fn in_miles(bounds: NumberRange) -> NumberRange {
    let (min, max) = bounds;
    // A mile has 1,609,344 millimetres. Rounded so that a car is within the bounds in both units or
    // in neither.
    let miles = |kilometers: u32, up: u64| {
        let miles = (u64::from(kilometers) * 1_000_000 + up) / 1_609_344;
        u32::try_from(miles).unwrap_or(u32::MAX)
    };
    (min.map(|min| miles(min, 1_609_343)), max.map(|max| miles(max, 0)))
}

/// Returns true when a word is a unit.
pub(in crate::query) fn is_unit(text: &str) -> bool {
    word(text, "unit").is_some()
}

/// Reads a unit after a number.
pub(super) fn unit_at(tokens: &[QueryToken], at: usize) -> Option<(usize, NumberUnit)> {
    let (length, unit) = phrase(tokens, at, "unit")?;
    let unit = match unit {
        "dollars" => NumberUnit::Of(NumericAttribute::Price),
        "miles" | "kilometers" => {
            let is_miles = unit == "miles";
            // As in `300 miles of range`, `30 miles per gallon`, `50 miles from here`.
            if let Some((more, kind)) = phrase(tokens, at + length, "distance") {
                let unit = match kind {
                    "range" if is_miles => NumberUnit::Of(NumericAttribute::ElectricRange),
                    "range" => NumberUnit::RangeKilometers,
                    "economy" if is_miles => NumberUnit::Of(NumericAttribute::CombinedMpg),
                    "place" => NumberUnit::Distance,
                    _ => NumberUnit::Unsearchable,
                };
                return Some((length + more, unit));
            }
            if is_miles {
                NumberUnit::Of(NumericAttribute::Mileage)
            } else {
                NumberUnit::Kilometers
            }
        }
        "mpg" => NumberUnit::Of(NumericAttribute::CombinedMpg),
        "citympg" => NumberUnit::Of(NumericAttribute::CityMpg),
        "highwaympg" => NumberUnit::Of(NumericAttribute::HighwayMpg),
        "consumption" => NumberUnit::Consumption,
        "doors" => NumberUnit::Of(NumericAttribute::Doors),
        "horsepower" => NumberUnit::Of(NumericAttribute::Horsepower),
        "kilowatts" => NumberUnit::Kilowatts,
        "towing" => NumberUnit::Of(NumericAttribute::Towing),
        "kilogramstowing" => NumberUnit::TowingKilograms,
        "childseats" => NumberUnit::ChildSeats,
        "pounds" => NumberUnit::Pounds,
        "kilograms" => NumberUnit::Kilograms,
        "owners" => NumberUnit::Of(NumericAttribute::Owners),
        "payment" => NumberUnit::Payment,
        "seats" => NumberUnit::Of(NumericAttribute::Seats),
        "years" => NumberUnit::Of(NumericAttribute::Year),
        "age" => NumberUnit::Age,
        // As in `under 40k Range Rover`.
        "range" if tokens.get(at + length).is_some_and(|next| next.text == "rover") => return None,
        "range" => NumberUnit::Range,
        "weak" => NumberUnit::Weak,
        "unsearchable" => NumberUnit::Unsearchable,
        "rows" => {
            // `3rd row seating` is one phrase.
            let (more, _) = phrase(tokens, at + length, "unit")
                .filter(|(_, unit)| *unit == "seats")
                .unwrap_or_default();
            return Some((length + more, NumberUnit::Of(NumericAttribute::Rows)));
        }
        _ => return None,
    };
    Some((length, unit))
}

/// Reads words before a number that say what it counts.
pub(super) fn heading_at(tokens: &[QueryToken], at: usize) -> Option<(usize, NumberHeading)> {
    if let Some((length, heading)) = phrase(tokens, at, "heading") {
        let unit = match heading {
            "age" => NumberUnit::Age,
            "range" => NumberUnit::Range,
            "towing" => NumberUnit::Of(NumericAttribute::Towing),
            "mpg" => NumberUnit::Of(NumericAttribute::CombinedMpg),
            "payment" => NumberUnit::Payment,
            "place" => NumberUnit::Distance,
            _ => NumberUnit::Unsearchable,
        };
        return Some((
            length,
            NumberHeading { unit, is_trait: matches!(heading, "trait" | "towing") },
        ));
    }
    let (length, unit) = unit_at(tokens, at)?;
    matches!(unit, NumberUnit::Of(_) | NumberUnit::Kilometers)
        .then_some((length, NumberHeading { unit, is_trait: false }))
}
