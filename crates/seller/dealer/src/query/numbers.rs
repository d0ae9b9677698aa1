//! Prices, mileages, years and seats in queries: `under 40k`, `2020 or newer`, `7 seater`.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::words;

use super::tokens::{QueryToken, together};
use super::vocabulary::vocabulary;

mod units;

pub(super) use units::is_unit;
use units::{
    NumberHeading, NumberUnit, counted_by, heading_at, in_stated_unit, uncounted, unit_at,
};

words! {
    /// Numeric attributes.
    pub(crate) enum NumericAttribute {
        /// The out-the-door price.
        Price = "price",
        /// Mileage.
        Mileage = "mileage",
        /// The model year.
        Year = "year",
        /// Seats.
        Seats = "seats",
        /// Rows of seats.
        Rows = "rows of seats",
        /// Doors.
        Doors = "doors",
        /// Miles per gallon in the city.
        CityMpg = "mpg in the city",
        /// Miles per gallon on the highway.
        HighwayMpg = "mpg on the highway",
        /// Miles per gallon, combined from city and highway.
        CombinedMpg = "mpg, combined from city and highway",
        /// Electric range in miles.
        ElectricRange = "miles of electric range",
        /// Towing capacity in pounds.
        Towing = "pounds of towing capacity",
        /// Horsepower.
        Horsepower = "horsepower",
        /// Owners before.
        Owners = "owners",
        /// Accidents.
        Accidents = "accidents",
    }
}

impl NumericAttribute {
    /// Returns true for numbers that a filter of AAP bounds, or could: they are named as it is.
    pub(crate) const fn has_filter(self) -> bool {
        matches!(self, Self::Price | Self::Mileage | Self::Year)
    }

    /// Returns true for numbers that many listings do not state, and that nothing else tells.
    pub(crate) const fn is_seldom_stated(self) -> bool {
        matches!(self, Self::Towing | Self::Horsepower | Self::Owners | Self::Accidents)
    }

    /// Describes bounds in terms of the filters.
    pub(crate) fn in_filters(self, bounds: NumberRange) -> String {
        let name = self.name();
        match bounds {
            (Some(min), Some(max)) if min == max => format!("{name} {min}"),
            (Some(min), Some(max)) if !self.has_filter() => format!("{min} to {max} {name}"),
            (Some(min), Some(max)) => format!("{name}_min {min} and {name}_max {max}"),
            (Some(min), None) if !self.has_filter() => {
                format!("{min} or more {name}")
            }
            (Some(min), None) => format!("{name}_min {min}"),
            (None, Some(max)) if !self.has_filter() => {
                format!("{max} or fewer {name}")
            }
            (None, Some(max)) => format!("{name}_max {max}"),
            (None, None) => name.to_owned(),
        }
    }
}

/// Minimum and maximum, both inclusive.
pub(crate) type NumberRange = (Option<u32>, Option<u32>);

/// Meaning of a phrase with a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NumberPhrase {
    /// A numeric attribute with bounds.
    Range(NumericAttribute, NumberRange),
    /// Something that no listing states.
    Unsearchable,
    /// An age of a car in years, with bounds; both are inclusive.
    Age(NumberRange),
    /// Seats for so many children beside each other.
    ChildSeats(u32),
    /// Money by the month, or a part of a price.
    Payment,
    /// A distance to the dealer.
    Distance,
}

words! {
    /// Meanings of a word before or after a number, as named in the vocabulary.
    enum BoundWord {
        /// At most.
        Most = "most",
        /// At least.
        Least = "least",
        /// More than.
        After = "after",
        /// For a year: this one or a later one.
        Since = "since",
        /// For a year: an earlier one.
        Earlier = "earlier",
        /// For a year: this one or an earlier one.
        Until = "until",
        /// Approximately.
        About = "about",
        /// From this number to the next.
        Between = "between",
    }
}

#[derive(Debug, Clone, Copy)]
struct NumberAmount {
    value: u32,
    /// Digit behind the decimal point, where the unit does not make the amount thousands.
    tenths: u32,
    /// True when written in thousands or with a dollar sign.
    is_large: bool,
    is_money: bool,
}

/// Numbers that may be a model year.
const YEARS: std::ops::RangeInclusive<u32> = 1950..=2099;

/// Reads a phrase with a number from `at` on, and returns the number of its tokens. A number
/// without any hint is none, because it may be a name.
pub(super) fn read(tokens: &[QueryToken], at: usize) -> Option<(usize, NumberPhrase)> {
    if !may_start(tokens.get(at)?) {
        return None;
    }
    let start = at;
    let mut at = at;
    let mut heading = None;
    // As in `mileage under 40k`, `budget of 20k`, `seats 7`.
    if let Some((length, said)) = heading_at(tokens, at) {
        let next = skip(tokens, at + length);
        if bound_at(tokens, next, "before").is_some() || amount_at(tokens, next).is_some() {
            at = next;
            heading = Some(said);
        }
    }
    let bound = bound_at(tokens, at, "before");
    let is_near = tokens.get(at).is_some_and(|token| word(&token.text, "near").is_some());
    let is_strict = bound.is_some_and(|(length, _)| is_strict(tokens, at, length));
    if let Some((length, _)) = bound {
        at = skip(tokens, at + length);
        // As in `under the price of 20k`.
        if let Some((length, said)) = heading_at(tokens, at) {
            let next = skip(tokens, at + length);
            if amount_at(tokens, next).is_some() {
                at = next;
                heading = Some(said);
            }
        }
    }
    let bound = bound.map(|(_, bound)| bound);
    let (length, first) = amount_at(tokens, at)?;
    at += length;
    if is_postal_code(tokens, at - 1) {
        return Some((at - start, NumberPhrase::Distance));
    }
    if let Some(heading) = heading
        && heading.is_trait
        && (first.is_money || is_price_after(heading, first) && bound == Some(BoundWord::Most))
    {
        // The words before the number are read separately, and then the price.
        return None;
    }
    let mut unit = heading.map(|heading| heading.unit).filter(|unit| unit.fits(first));
    // As in `between 20k miles and 30k miles`.
    pass_unit(tokens, &mut at, &mut unit, first);
    let range_word = tokens.get(at).and_then(|token| word(&token.text, "word"));
    let is_range = range_word == Some("and") && bound_allows_range(bound, tokens, at)
        || range_word == Some("or") && bound.is_none() && counts_seats(tokens, at + 1, unit);
    let second = match amount_at(tokens, at + usize::from(is_range)) {
        Some((length, second)) if is_range || tokens.get(at).is_some_and(|token| token.joined) => {
            at += length + usize::from(is_range);
            Some(second)
        }
        _ => None,
    };
    if let Some(second) = second {
        pass_unit(tokens, &mut at, &mut unit, second);
    }
    // In `a 1500 max 40k` the word belongs to the next number.
    let belongs_to_next = bound_at(tokens, at, "before")
        .is_some_and(|(length, _)| amount_at(tokens, skip(tokens, at + length)).is_some());
    let after = bound_at(tokens, at, "after").filter(|_| second.is_none() && !belongs_to_next);
    // As in `2020+` and `40k+`.
    let plus = tokens.get(at.wrapping_sub(1)).is_some_and(|token| token.plus);
    let bound = match (bound, after) {
        (None, Some((length, after))) => {
            at += length;
            Some(after)
        }
        (None, None) if plus => Some(BoundWord::Least),
        (bound, _) => bound,
    };
    pass_unit(tokens, &mut at, &mut unit, second.unwrap_or(first));
    let largest = second.unwrap_or(first);
    let is_sum = largest.is_large || largest.is_money || largest.value >= 1000;
    let is_towing =
        heading.is_some_and(|heading| heading.unit == NumberUnit::Of(NumericAttribute::Towing));
    unit = match unit {
        // As in `in the 20k range`.
        Some(NumberUnit::Range) => {
            (!is_sum).then_some(NumberUnit::Of(NumericAttribute::ElectricRange))
        }
        Some(NumberUnit::Weak) => Some(NumberUnit::Unsearchable),
        Some(NumberUnit::Pounds) if is_towing => Some(NumberUnit::Of(NumericAttribute::Towing)),
        Some(NumberUnit::Kilograms) if is_towing => Some(NumberUnit::TowingKilograms),
        Some(NumberUnit::Pounds | NumberUnit::Kilograms) => Some(NumberUnit::Unsearchable),
        // `3 years` are an age, `within 50 miles` is a distance to the dealer.
        Some(NumberUnit::Of(NumericAttribute::Year)) if !is_likely_year(largest) => {
            Some(NumberUnit::Age)
        }
        Some(NumberUnit::Of(NumericAttribute::Mileage) | NumberUnit::Kilometers)
            if is_near && !is_sum =>
        {
            Some(NumberUnit::Distance)
        }
        other => other,
    };
    // The second row is a row, `third row` a number of rows.
    let is_ordinal = tokens.get(start).is_some_and(|token| word(&token.text, "ordinal").is_some());
    if is_ordinal && unit == Some(NumberUnit::Of(NumericAttribute::Rows)) {
        return Some((at - start, NumberPhrase::Unsearchable));
    }
    let phrase = match second {
        Some(second) => between(first, second, unit)?,
        None => single(first, bound, unit)?,
    };
    // `under 3 years` ends before the third one, `up to 3 years` with it.
    let phrase = match phrase {
        NumberPhrase::Age((None, Some(most))) if is_strict => {
            NumberPhrase::Age((None, Some(most.saturating_sub(1))))
        }
        NumberPhrase::Age((Some(least), None)) if is_strict => {
            NumberPhrase::Age((Some(least.saturating_add(1)), None))
        }
        NumberPhrase::Age(_)
        | NumberPhrase::Range(..)
        | NumberPhrase::Unsearchable
        | NumberPhrase::ChildSeats(_)
        | NumberPhrase::Payment
        | NumberPhrase::Distance => phrase,
    };
    Some((at - start, phrase))
}

/// Returns true for a token that a phrase with a number may begin with.
fn may_start(token: &QueryToken) -> bool {
    let word = token.text.strip_suffix('k').unwrap_or(&token.text);
    word.starts_with(|c: char| c.is_ascii_digit()) || vocabulary().may_start_number(word)
}

/// Returns true when a maximum after a trait is more likely a price: `good ground clearance up to
/// 40,000`. A truck may tow as many pounds.
fn is_price_after(heading: NumberHeading, amount: NumberAmount) -> bool {
    /// No weight or measure of a car in the units of this trade is as large.
    const LEAST_PRICE: u32 = 15_000;
    amount.is_large || heading.unit == NumberUnit::Unsearchable && amount.value >= LEAST_PRICE
}

/// Returns true when the number at a token counts seats, as in `seats 7 or 8` and `12 or 15
/// passengers`.
fn counts_seats(tokens: &[QueryToken], at: usize, unit: Option<NumberUnit>) -> bool {
    let Some((length, amount)) = amount_at(tokens, at) else { return false };
    let seats = NumberUnit::Of(NumericAttribute::Seats);
    let after = unit_at(tokens, at + length).map(|(_, unit)| unit);
    seats.fits(amount) && after.or(unit) == Some(seats)
}

/// Returns true when a second number may follow: `from 2018 to 2020` is a range, `over 20k to 30k
/// miles` is not.
fn bound_allows_range(bound: Option<BoundWord>, tokens: &[QueryToken], at: usize) -> bool {
    let is_and = tokens.get(at).is_some_and(|token| token.text == "and");
    match bound {
        Some(BoundWord::Between) => true,
        Some(BoundWord::Since | BoundWord::Least) | None => !is_and,
        Some(
            BoundWord::Most
            | BoundWord::After
            | BoundWord::Earlier
            | BoundWord::Until
            | BoundWord::About,
        ) => false,
    }
}

/// Returns true for a number that is more likely a postal code than a price: `near 90210`.
fn is_postal_code(tokens: &[QueryToken], at: usize) -> bool {
    let place = at.checked_sub(1).and_then(|before| tokens.get(before));
    let is_after_place = place.is_some_and(|token| word(&token.text, "postal").is_some());
    let Some(token) = tokens.get(at).filter(|token| is_after_place && !token.money) else {
        return false;
    };
    let is_round = token.text.parse::<u32>().is_ok_and(|number| number.is_multiple_of(500));
    token.text.len() == 5 && token.text.bytes().all(|b| b.is_ascii_digit()) && !is_round
}

/// Returns true when the number itself is not within a bound.
fn is_strict(tokens: &[QueryToken], at: usize, length: usize) -> bool {
    tokens.get(at..at + length).is_some_and(|run| word(&together(run), "strict").is_some())
}

/// Interprets two amounts as the ends of a range, in either order. Returns `None` when neither a unit nor their size
/// says what they count.
fn between(
    first: NumberAmount,
    second: NumberAmount,
    unit: Option<NumberUnit>,
) -> Option<NumberPhrase> {
    let mut low = first.value;
    let mut high = second.value;
    // As in `20 to 30k`.
    if second.is_large && !first.is_large && low < 1000 && high >= 1000 {
        low = low.saturating_mul(1000);
    }
    let years = YEARS.contains(&low) && YEARS.contains(&high);
    if unit == Some(NumberUnit::Age) {
        return Some(NumberPhrase::Age((Some(low.min(high)), Some(low.max(high)))));
    }
    if unit == Some(NumberUnit::Consumption) {
        low = low.saturating_mul(10).saturating_add(first.tenths);
        high = high.saturating_mul(10).saturating_add(second.tenths);
    }
    let number = match unit {
        Some(unit) => match counted_by(unit) {
            Some(number) => number,
            None => return Some(uncounted(unit)),
        },
        None if years && !first.is_money && !second.is_large => NumericAttribute::Year,
        None if high >= 1000 || first.is_money || second.is_money => NumericAttribute::Price,
        None => return None,
    };
    if matches!(number, NumericAttribute::Price | NumericAttribute::Mileage) && high < 1000 {
        low = low.saturating_mul(1000);
        high = high.saturating_mul(1000);
    }
    let bounds = (Some(low.min(high)), Some(low.max(high)));
    Some(NumberPhrase::Range(number, in_stated_unit(bounds, unit)))
}

fn is_likely_year(amount: NumberAmount) -> bool {
    YEARS.contains(&amount.value)
}

/// Interprets one amount with its bound word and its unit, if it has them.
fn single(
    amount: NumberAmount,
    bound: Option<BoundWord>,
    unit: Option<NumberUnit>,
) -> Option<NumberPhrase> {
    let NumberAmount { mut value, tenths, is_large, is_money } = amount;
    if unit == Some(NumberUnit::Age) {
        return Some(NumberPhrase::Age(age_bounds(value, bound)));
    }
    if unit == Some(NumberUnit::ChildSeats) {
        return Some(NumberPhrase::ChildSeats(value));
    }
    if unit == Some(NumberUnit::Consumption) {
        value = value.saturating_mul(10).saturating_add(tenths);
    }
    // 2000 may be a year or a round sum; after `under` the sum is more likely.
    let year = YEARS.contains(&value) && !is_large && value != 2000;
    let number = match (unit, bound) {
        (Some(unit), _) => match counted_by(unit) {
            Some(number) => number,
            None => return Some(uncounted(unit)),
        },
        (
            None,
            Some(BoundWord::After | BoundWord::Since | BoundWord::Earlier | BoundWord::Until),
        ) if !is_large => YEARS.contains(&value).then_some(NumericAttribute::Year)?,
        (None, Some(_)) if year => NumericAttribute::Year,
        (None, Some(_)) if value >= 5 => NumericAttribute::Price,
        (None, None) if is_large => NumericAttribute::Price,
        (None, Some(_) | None) => return None,
    };
    // No car costs 30 dollars, so small numbers are thousands.
    let in_thousands =
        matches!(number, NumericAttribute::Price | NumericAttribute::Mileage) && value <= 250;
    if in_thousands && !is_money {
        value = value.saturating_mul(1000);
    }
    let counted = matches!(number, NumericAttribute::Seats | NumericAttribute::Rows);
    let bounds = match bound {
        Some(BoundWord::Most) => (None, Some(value)),
        Some(BoundWord::Least | BoundWord::Since | BoundWord::Between) => (Some(value), None),
        Some(BoundWord::After) => (Some(value.saturating_add(1)), None),
        Some(BoundWord::Earlier) => (None, Some(value.saturating_sub(1))),
        Some(BoundWord::Until) => (None, Some(value)),
        Some(BoundWord::About) if number == NumericAttribute::Year => {
            (Some(value.saturating_sub(1)), Some(value.saturating_add(1)))
        }
        Some(BoundWord::About) => {
            (Some(value - value / 10), Some(value.saturating_add(value / 10)))
        }
        None if number == NumericAttribute::Year => (Some(value), Some(value)),
        // Seven seats also fit into eight; for two, five are not wanted.
        None if counted && value > 2 => (Some(value), None),
        None if counted => (Some(value), Some(value)),
        None => bounds_of_bare(number, value, unit),
    };
    Some(NumberPhrase::Range(number, in_stated_unit(bounds, unit)))
}

/// Returns the bounds of a number without a bound word.
fn bounds_of_bare(number: NumericAttribute, value: u32, unit: Option<NumberUnit>) -> NumberRange {
    match number {
        // Feeds count the tailgate of some cars as a door.
        NumericAttribute::Doors if value > 1 => {
            let even = value - value % 2;
            (Some(even), Some(even + 1))
        }
        NumericAttribute::Doors | NumericAttribute::Owners | NumericAttribute::Accidents => {
            (Some(value), Some(value))
        }
        // Six litres are wanted at most, which is a minimum of miles per gallon.
        NumericAttribute::CombinedMpg if unit == Some(NumberUnit::Consumption) => {
            (None, Some(value))
        }
        NumericAttribute::CityMpg
        | NumericAttribute::HighwayMpg
        | NumericAttribute::CombinedMpg
        | NumericAttribute::ElectricRange
        | NumericAttribute::Towing
        | NumericAttribute::Horsepower => (Some(value), None),
        // A price or a mileage alone is a maximum.
        NumericAttribute::Price
        | NumericAttribute::Mileage
        | NumericAttribute::Year
        | NumericAttribute::Seats
        | NumericAttribute::Rows => (None, Some(value)),
    }
}

/// Returns the bounds of an age in years.
fn age_bounds(value: u32, bound: Option<BoundWord>) -> NumberRange {
    match bound {
        Some(BoundWord::Most | BoundWord::Since | BoundWord::Until) => (None, Some(value)),
        Some(BoundWord::Least | BoundWord::Between | BoundWord::Earlier) => (Some(value), None),
        Some(BoundWord::After) => (None, Some(value)),
        Some(BoundWord::About) => (Some(value.saturating_sub(1)), Some(value.saturating_add(1))),
        None => (Some(value), Some(value)),
    }
}

/// Interprets a number without context that is no name: a year, or a maximum price.
pub(super) fn bare_number(token: &QueryToken) -> Option<(NumericAttribute, NumberRange)> {
    let value = token.text.parse().ok()?;
    if YEARS.contains(&value) {
        return Some((NumericAttribute::Year, (Some(value), Some(value))));
    }
    // A smaller number is more likely part of a name, and a larger one is no car's price.
    (3_000..=500_000).contains(&value).then_some((NumericAttribute::Price, (None, Some(value))))
}

/// Returns true when a token may be a model year.
pub(super) fn is_year(token: &QueryToken) -> bool {
    token.text.parse().is_ok_and(|value| YEARS.contains(&value))
}

/// Reads the amount that begins at a token. Returns the number of its tokens with it.
fn amount_at(tokens: &[QueryToken], at: usize) -> Option<(usize, NumberAmount)> {
    let token = tokens.get(at)?;
    let (digits, thousands) = match token.text.strip_suffix('k') {
        Some(digits) => (digits, true),
        None => (token.text.as_str(), false),
    };
    let follows = tokens.get(at + 1).and_then(|next| word(&next.text, "unit"));
    let scaled = !thousands && follows == Some("thousand");
    let is_large = thousands || scaled || token.money;
    let factor = if thousands || scaled { 1000 } else { 1 };
    let mut tenths = 0;
    let value = match digits.split_once('.') {
        // In `19.5k` one decimal is enough.
        Some((whole, part)) if thousands || scaled || token.money => {
            let tenths: u32 = part.get(..1)?.parse().ok()?;
            whole.parse::<u32>().ok()?.checked_mul(factor)?.checked_add(tenths * factor / 10)?
        }
        // `2.5` by itself is an engine, with a unit it is an amount.
        Some((whole, part)) => {
            unit_at(tokens, at + 1)?;
            tenths = part.get(..1)?.parse().ok()?;
            whole.parse().ok()?
        }
        None => {
            // `twenty five` is one number in two words.
            let is_word = !digits.starts_with(|c: char| c.is_ascii_digit());
            let next = tokens.get(at + 1).filter(|_| is_word);
            let two = next.map(|next| format!("{digits}{}", next.text));
            if let Some(number) = two.and_then(|two| word(&two, "number")) {
                let scaled = tokens.get(at + 2).and_then(|next| word(&next.text, "unit"));
                let thousands = scaled == Some("thousand");
                let value = number.parse::<u32>().ok()?;
                let value = if thousands { value.checked_mul(1000)? } else { value };
                let amount =
                    NumberAmount { value, tenths: 0, is_large: thousands, is_money: false };
                return Some((2 + usize::from(thousands), amount));
            }
            let number = digits.parse::<u32>().ok();
            let number = number.or_else(|| word(digits, "number")?.parse().ok())?;
            number.checked_mul(factor)?
        }
    };
    Some((1 + usize::from(scaled), NumberAmount { value, tenths, is_large, is_money: token.money }))
}

/// Skips a unit that fits the amount before it, if there is one. The first unit counts; a rate such
/// as `a month` counts in any case.
fn pass_unit(
    tokens: &[QueryToken],
    at: &mut usize,
    unit: &mut Option<NumberUnit>,
    amount: NumberAmount,
) {
    // As in `2019, miles under 30k`.
    let is_next = tokens.get(*at).is_some_and(|token| !token.after_pause);
    if let Some((length, said)) = unit_at(tokens, *at).filter(|_| is_next)
        && said.fits(amount)
    {
        *at += length;
        // A rate decides, and so does what is more exact than the words before the number.
        let decides = matches!(
            said,
            NumberUnit::Unsearchable
                | NumberUnit::Payment
                | NumberUnit::Distance
                | NumberUnit::RangeKilometers
                | NumberUnit::Pounds
                | NumberUnit::Kilograms
                | NumberUnit::Of(
                    NumericAttribute::CityMpg
                        | NumericAttribute::HighwayMpg
                        | NumericAttribute::CombinedMpg
                        | NumericAttribute::ElectricRange
                )
        );
        if decides || *unit == Some(NumberUnit::Range) && said == NumberUnit::Kilometers {
            *unit = Some(if said == NumberUnit::Kilometers {
                NumberUnit::RangeKilometers
            } else {
                said
            });
        }
        unit.get_or_insert(said);
    }
}

fn bound_at(tokens: &[QueryToken], at: usize, kind: &str) -> Option<(usize, BoundWord)> {
    let (length, bound) = phrase(tokens, at, kind)?;
    Some((length, BoundWord::from_name(bound)?))
}

/// Skips articles and prepositions, as in `seating for 7`.
fn skip(tokens: &[QueryToken], at: usize) -> usize {
    let is_small = |token: &&QueryToken| word(&token.text, "small").is_some();
    at + tokens.iter().skip(at).take_while(is_small).count()
}

/// Returns the longest phrase of a kind that begins at `at`.
fn phrase(tokens: &[QueryToken], at: usize, kind: &str) -> Option<(usize, &'static str)> {
    (1..=4)
        .rev()
        .find_map(|length| Some((length, word(&together(tokens.get(at..at + length)?), kind)?)))
}

fn word(text: &str, kind: &str) -> Option<&'static str> {
    vocabulary().meaning_of(kind, text)
}

#[cfg(test)]
mod tests;
