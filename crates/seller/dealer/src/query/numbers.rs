//! Prices, mileages, years and seats in queries: `under 40k`, `2020 or newer`, `7 seater`.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::words;

use super::tokens::{QueryToken, together};
use super::vocabulary::vocabulary;

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
    }
}

impl NumericAttribute {
    /// Describes bounds in terms of the filters.
    pub(crate) fn in_filters(self, bounds: NumberRange) -> String {
        let name = self.name();
        match bounds {
            (Some(min), Some(max)) if min == max => format!("{name} {min}"),
            (Some(min), Some(max)) => format!("{name}_min {min} and {name}_max {max}"),
            (Some(min), None) if matches!(self, Self::Seats | Self::Rows) => {
                format!("{min} or more {name}")
            }
            (Some(min), None) => format!("{name}_min {min}"),
            (None, Some(max)) if matches!(self, Self::Seats | Self::Rows) => {
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
    /// An age of a car, which would need the current date.
    Age,
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

/// Unit before or after a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberUnit {
    Of(NumericAttribute),
    /// Kilometres driven; listings count miles.
    Kilometers,
    /// Years of age.
    Age,
    /// Range of a car with one charge or tank; also a range of prices.
    Range,
    /// `city`, `speed` and the like, which belong to small numbers only.
    Weak,
    Unsearchable,
}

impl NumberUnit {
    /// Returns true when an amount is plausible for the unit. In `under 30k seats 7` the seats
    /// belong to the 7.
    fn fits(self, amount: NumberAmount) -> bool {
        let is_large = amount.is_large || amount.is_money;
        match self {
            Self::Of(NumericAttribute::Seats | NumericAttribute::Rows) => {
                !is_large && amount.value <= 15
            }
            Self::Of(NumericAttribute::Year) => {
                !is_large && (is_likely_year(amount) || amount.value <= 100)
            }
            Self::Age | Self::Weak => !is_large && amount.value < 1000,
            Self::Of(NumericAttribute::Price | NumericAttribute::Mileage)
            | Self::Kilometers
            | Self::Range
            | Self::Unsearchable => true,
        }
    }
}

/// Words before a number that say what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NumberHeading {
    unit: NumberUnit,
    /// True for words that also describe cars without a number, as in `towing under 40k`.
    is_trait: bool,
}

#[derive(Debug, Clone, Copy)]
struct NumberAmount {
    value: u32,
    /// True when written in thousands or with a dollar sign.
    is_large: bool,
    is_money: bool,
}

/// Numbers that may be a model year.
const YEARS: std::ops::RangeInclusive<u32> = 1950..=2035;

/// Reads a phrase with a number from `at` on, and returns the number of its tokens. A number
/// without any hint is none, because it may be a name.
pub(super) fn read(tokens: &[QueryToken], at: usize) -> Option<(usize, NumberPhrase)> {
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
    let is_near = tokens.get(at).is_some_and(|token| token.text == "within");
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
    if let Some(heading) = heading
        && heading.is_trait
        && (first.is_money || first.is_large && bound == Some(BoundWord::Most))
    {
        // The words before the number are read separately, and then the price.
        return None;
    }
    let mut unit = heading.map(|heading| heading.unit).filter(|unit| unit.fits(first));
    // As in `between 20k miles and 30k miles`.
    pass_unit(tokens, &mut at, &mut unit, first);
    let range_word = tokens.get(at).and_then(|token| word(&token.text, "word"));
    let is_range = range_word == Some("and") && bound_allows_range(bound, tokens, at);
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
    unit = match unit {
        // As in `in the 20k range`.
        Some(NumberUnit::Range) => (!is_sum).then_some(NumberUnit::Unsearchable),
        Some(NumberUnit::Weak) => Some(NumberUnit::Unsearchable),
        // `3 years` are an age, `within 50 miles` is a distance to the dealer.
        Some(NumberUnit::Of(NumericAttribute::Year)) if !is_likely_year(largest) => {
            Some(NumberUnit::Age)
        }
        Some(NumberUnit::Of(NumericAttribute::Mileage) | NumberUnit::Kilometers)
            if is_near && !is_sum =>
        {
            Some(NumberUnit::Unsearchable)
        }
        other => other,
    };
    let said = match second {
        Some(second) => between(first, second, unit)?,
        None => single(first, bound, unit)?,
    };
    Some((at - start, said))
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
    let number = match unit {
        Some(NumberUnit::Unsearchable | NumberUnit::Range | NumberUnit::Weak) => {
            return Some(NumberPhrase::Unsearchable);
        }
        Some(NumberUnit::Age) => return Some(NumberPhrase::Age),
        Some(NumberUnit::Of(number)) => number,
        Some(NumberUnit::Kilometers) => NumericAttribute::Mileage,
        None if years && !first.is_money && !second.is_large => NumericAttribute::Year,
        None if high >= 1000 || first.is_money || second.is_money => NumericAttribute::Price,
        None => return None,
    };
    if matches!(number, NumericAttribute::Price | NumericAttribute::Mileage) && high < 1000 {
        low = low.saturating_mul(1000);
        high = high.saturating_mul(1000);
    }
    let bounds = (Some(low.min(high)), Some(low.max(high)));
    Some(NumberPhrase::Range(number, in_miles(bounds, unit)))
}

/// Converts bounds from kilometres to miles, where the unit is kilometres.
fn in_miles(bounds: NumberRange, unit: Option<NumberUnit>) -> NumberRange {
    let (min, max) = bounds;
    if unit != Some(NumberUnit::Kilometers) {
        return (min, max);
    }
    // A mile has 1,609,344 millimetres. Rounded so that a car is within the bounds in both units or
    // in neither.
    let miles = |kilometers: u32, up: u64| {
        let miles = (u64::from(kilometers) * 1_000_000 + up) / 1_609_344;
        u32::try_from(miles).unwrap_or(u32::MAX)
    };
    (min.map(|min| miles(min, 1_609_343)), max.map(|max| miles(max, 0)))
}

fn is_likely_year(amount: NumberAmount) -> bool {
    YEARS.contains(&amount.value)
}

fn single(
    amount: NumberAmount,
    bound: Option<BoundWord>,
    unit: Option<NumberUnit>,
) -> Option<NumberPhrase> {
    let NumberAmount { mut value, is_large, is_money } = amount;
    // 2000 may be a year or a round sum; after `under` the sum is more likely.
    let year = YEARS.contains(&value) && !is_large && value != 2000;
    let number = match (unit, bound) {
        (Some(NumberUnit::Unsearchable | NumberUnit::Range | NumberUnit::Weak), _) => {
            return Some(NumberPhrase::Unsearchable);
        }
        (Some(NumberUnit::Age), _) => return Some(NumberPhrase::Age),
        (Some(NumberUnit::Of(number)), _) => number,
        (Some(NumberUnit::Kilometers), _) => NumericAttribute::Mileage,
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
        // A price or a mileage alone is a maximum.
        None => (None, Some(value)),
    };
    Some(NumberPhrase::Range(number, in_miles(bounds, unit)))
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
    let value = match digits.split_once('.') {
        // In `19.5k` one decimal is enough.
        Some((whole, part)) if thousands || scaled || token.money => {
            let tenths: u32 = part.get(..1)?.parse().ok()?;
            whole.parse::<u32>().ok()?.checked_mul(factor)?.checked_add(tenths * factor / 10)?
        }
        // `2.5` by itself is an engine, with a unit it is an amount.
        Some((whole, _)) => {
            unit_at(tokens, at + 1)?;
            whole.parse().ok()?
        }
        None => {
            // `twenty five` is one number in two words.
            let two = tokens.get(at + 1).map(|next| format!("{digits}{}", next.text));
            if let Some(number) = two.and_then(|two| word(&two, "number")) {
                let scaled = tokens.get(at + 2).and_then(|next| word(&next.text, "unit"));
                let thousands = scaled == Some("thousand");
                let value = number.parse::<u32>().ok()?;
                let value = if thousands { value.checked_mul(1000)? } else { value };
                let amount = NumberAmount { value, is_large: thousands, is_money: false };
                return Some((2 + usize::from(thousands), amount));
            }
            let number = digits.parse::<u32>().ok();
            let number = number.or_else(|| word(digits, "number")?.parse().ok())?;
            number.checked_mul(factor)?
        }
    };
    Some((1 + usize::from(scaled), NumberAmount { value, is_large, is_money: token.money }))
}

/// Returns true when a word is a unit.
pub(super) fn is_unit(text: &str) -> bool {
    word(text, "unit").is_some()
}

/// Reads a unit after a number.
fn unit_at(tokens: &[QueryToken], at: usize) -> Option<(usize, NumberUnit)> {
    let (length, unit) = phrase(tokens, at, "unit")?;
    let unit = match unit {
        "dollars" => NumberUnit::Of(NumericAttribute::Price),
        "miles" | "kilometers" => {
            // As in `300 miles of range`, `30 miles per gallon`, `50 miles from here`.
            if let Some((more, _)) = phrase(tokens, at + length, "distance") {
                return Some((length + more, NumberUnit::Unsearchable));
            }
            if unit == "miles" {
                NumberUnit::Of(NumericAttribute::Mileage)
            } else {
                NumberUnit::Kilometers
            }
        }
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
fn heading_at(tokens: &[QueryToken], at: usize) -> Option<(usize, NumberHeading)> {
    if let Some((length, heading)) = phrase(tokens, at, "heading") {
        let unit = match heading {
            "age" => NumberUnit::Age,
            "range" => NumberUnit::Range,
            _ => NumberUnit::Unsearchable,
        };
        return Some((length, NumberHeading { unit, is_trait: heading == "trait" }));
    }
    let (length, unit) = unit_at(tokens, at)?;
    matches!(unit, NumberUnit::Of(_) | NumberUnit::Kilometers)
        .then_some((length, NumberHeading { unit, is_trait: false }))
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
        if said == NumberUnit::Unsearchable {
            *unit = Some(said);
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
    let is_small =
        |token: &&QueryToken| matches!(token.text.as_str(), "of" | "for" | "the" | "a" | "is");
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
