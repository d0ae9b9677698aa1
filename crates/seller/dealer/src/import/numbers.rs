//! Numbers as people type them into feeds.

use std::borrow::Cow;

use super::notation::DecimalSign;

/// Meaning of a cell with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberCell {
    /// An empty cell.
    Empty,
    /// A text or sign for a missing number: `Not Priced`, `Call`, `–`, zero.
    Withheld,
    /// A number.
    Is(u32),
    /// An implausible number: a typing error or a placeholder.
    FarOff,
    /// Anything else.
    Unreadable,
}

impl NumberCell {
    pub(super) fn number(self) -> Option<u32> {
        match self {
            Self::Is(number) => Some(number),
            Self::Empty | Self::Withheld | Self::FarOff | Self::Unreadable => None,
        }
    }
}

/// Minimum price in whole US dollars; smaller figures stand for "ask us".
const LEAST_PRICE: u32 = 100;

/// Maximum price in whole US dollars; larger ones are typing errors.
const GREATEST_PRICE: u32 = 5_000_000;

/// Smallest number whose equal digits, as in 999,999, mark it as a placeholder.
const MIN_PLACEHOLDER: u32 = 111_111;

/// Maximum mileage in miles; larger ones are typing errors.
const GREATEST_MILEAGE: u32 = 2_000_000;

/// Reads a price in US dollars. Cents are rounded up, so that a price never promises less than is
/// asked (AAP 1.1, `R-PR-01`).
pub(super) fn price(text: &str, sign: DecimalSign) -> NumberCell {
    if text.is_empty() {
        return NumberCell::Empty;
    }
    let upper = upper(text);
    let bare = strip_unit(&upper, &["USD", "US$", "$"]);
    if !bare.chars().any(|c| c.is_ascii_digit()) {
        // A foreign currency symbol without digits is no price either.
        return NumberCell::Withheld;
    }
    match decimal(bare, sign) {
        Some((whole, fraction)) => match whole.checked_add(u32::from(fraction)) {
            Some(number) if number < LEAST_PRICE => NumberCell::Withheld,
            Some(number) if number > GREATEST_PRICE || is_placeholder(number) => NumberCell::FarOff,
            Some(number) => NumberCell::Is(number),
            None => NumberCell::FarOff,
        },
        None => NumberCell::Unreadable,
    }
}

/// Reads a fee, an add-on or a rebate in US dollars, rounded up like prices. A sign is ignored,
/// because the column determines it.
pub(super) fn amount(text: &str, sign: DecimalSign) -> NumberCell {
    let upper = upper(text);
    let bare = strip_unit(upper.trim().trim_start_matches(['-', '+']), &["USD", "US$", "$"]);
    // A sign may follow the currency.
    let bare = bare.trim_start_matches(['-', '+']);
    if !bare.chars().any(|c| c.is_ascii_digit()) {
        return if bare.is_empty() { NumberCell::Empty } else { NumberCell::Withheld };
    }
    match decimal(bare, sign) {
        Some((0, false)) => NumberCell::Empty,
        Some((whole, fraction)) if whole <= GREATEST_PRICE => {
            NumberCell::Is(whole + u32::from(fraction))
        }
        Some(_) => NumberCell::FarOff,
        None => NumberCell::Unreadable,
    }
}

/// Returns true for a number that people type as a placeholder.
fn is_placeholder(number: u32) -> bool {
    let last = number % 10;
    let mut rest = number;
    while rest % 10 == last && rest > 0 {
        rest /= 10;
    }
    number == 1_234_567 || number == 123_456 || (rest == 0 && number >= MIN_PLACEHOLDER)
}

/// Reads a mileage in miles; also returns true when it was converted from kilometres. `unit`
/// applies when the cell names none.
pub(super) fn mileage(text: &str, unit: &str, sign: DecimalSign) -> (NumberCell, bool) {
    const MILES: &[&str] = &["MILES", "MILE", "MI.", " MI", "MI"];
    const KILOMETRES: &[&str] = &["KILOMETERS", "KILOMETRES", "KMS", "KM", "KMT"];
    if text.is_empty() {
        return (NumberCell::Empty, false);
    }
    let upper = upper(text);
    let in_kilometres = strip_unit(&upper, KILOMETRES);
    let in_miles = strip_unit(&upper, MILES);
    let kilometres = in_kilometres != upper.trim()
        || (in_miles == upper.trim() && KILOMETRES.contains(&unit.to_uppercase().as_str()));
    let bare = if kilometres { in_kilometres } else { in_miles };
    if !bare.chars().any(|c| c.is_ascii_digit()) {
        return (NumberCell::Withheld, false);
    }
    let Some((whole, _)) = decimal(bare, sign) else {
        return (NumberCell::Unreadable, false);
    };
    let miles = if kilometres {
        // One mile is 1.609344 km; rounded to the nearest mile.
        let metres = u64::from(whole) * 1_000_000;
        u32::try_from((metres + 804_672) / 1_609_344).unwrap_or(u32::MAX)
    } else {
        whole
    };
    if miles > GREATEST_MILEAGE {
        return (NumberCell::Unreadable, kilometres);
    }
    (NumberCell::Is(miles), kilometres)
}

/// Reads a plain number such as miles per gallon.
pub(super) fn plain(text: &str, greatest: u32, sign: DecimalSign) -> NumberCell {
    if text.is_empty() {
        return NumberCell::Empty;
    }
    if !text.chars().any(|c| c.is_ascii_digit()) {
        return NumberCell::Withheld;
    }
    let upper = upper(text);
    match decimal(strip_unit(&upper, &["MILES", "MPG", "MI"]), sign) {
        Some((0, _)) => NumberCell::Withheld,
        Some((whole, _)) if whole <= greatest => NumberCell::Is(whole),
        Some(_) | None => NumberCell::Unreadable,
    }
}

/// Reads a model year in the range of the schema.
pub(super) fn year(text: &str, sign: DecimalSign) -> Option<u16> {
    let (year, _) = decimal(text, sign)?;
    u16::try_from(year).ok().filter(|year| (1900..=2100).contains(year))
}

/// Reads the number at the start of a text, such as `5` in `5 passengers`.
pub(super) fn count(text: &str, greatest: u32) -> NumberCell {
    if text.is_empty() {
        return NumberCell::Empty;
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits).unwrap_or_default();
    let rest = rest.strip_prefix(".0").unwrap_or(rest);
    match number.parse::<u32>() {
        Ok(0) => NumberCell::Withheld,
        Ok(number) if number <= greatest && !rest.starts_with(['.', ',', '-']) => {
            NumberCell::Is(number)
        }
        Ok(_) | Err(_) => NumberCell::Unreadable,
    }
}

/// Reads an engine displacement in litres.
pub(super) fn litres(text: &str, sign: DecimalSign) -> Option<f64> {
    let text = text.trim_end_matches(['L', 'l', ' ']);
    let text = match sign {
        DecimalSign::Point => Cow::Borrowed(text),
        DecimalSign::Comma => Cow::Owned(text.replace(',', ".")),
    };
    text.parse::<f64>().ok().filter(|litres| (0.1..30.0).contains(litres))
}

/// Returns true when a text is a unit of distance.
pub(super) fn is_unit_of_distance(text: &str) -> bool {
    let (amount, _) = mileage(&format!("1 {text}"), "", DecimalSign::Point);
    amount.number().is_some() && !text.is_empty()
}

/// Converts to upper case, without a copy when nothing changes.
fn upper(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_lowercase()) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_uppercase())
    }
}

/// Removes a unit before or after a number.
fn strip_unit<'t>(text: &'t str, units: &[&str]) -> &'t str {
    let text = text.trim();
    for unit in units {
        if let Some(rest) = text.strip_prefix(unit).or_else(|| text.strip_suffix(unit)) {
            return rest.trim();
        }
    }
    text
}

/// Reads a number as its whole part, and true when it has a fraction. The other sign may group
/// thousands. A fraction of exactly three digits is rejected, because `32.450` may mean either.
fn decimal(text: &str, sign: DecimalSign) -> Option<(u32, bool)> {
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !text.is_empty() && all_digits(text) {
        return Some((text.parse().ok()?, false));
    }
    let (before_fraction, between_groups) = match sign {
        DecimalSign::Point => ('.', ','),
        DecimalSign::Comma => (',', '.'),
    };
    let (whole, fraction) = text.trim().split_once(before_fraction).unwrap_or((text.trim(), ""));
    if !all_digits(fraction) || fraction.len() == 3 {
        return None;
    }
    let mut groups = whole.split(between_groups);
    let first = groups.next()?;
    let mut digits = Cow::Borrowed(first);
    let mut grouped = false;
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        digits.to_mut().push_str(group);
        grouped = true;
    }
    // `1234,567` is not a valid grouping.
    let short = !grouped || (1..=3).contains(&first.len());
    if digits.is_empty() || !all_digits(&digits) || !short {
        return None;
    }
    Some((digits.parse().ok()?, fraction.bytes().any(|b| b != b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_whole_dollars_or_left_out() {
        for (text, expected) in [
            ("27995", NumberCell::Is(27_995)),
            ("$27,995", NumberCell::Is(27_995)),
            ("27,995.01 USD", NumberCell::Is(27_996)),
            ("USD 27995.00", NumberCell::Is(27_995)),
            ("1,234,568", NumberCell::Is(1_234_568)),
            ("1,234,567", NumberCell::FarOff),
            ("9,999,999", NumberCell::FarOff),
            ("999999", NumberCell::FarOff),
            ("99,999", NumberCell::Is(99_999)),
            ("5,000,001", NumberCell::FarOff),
            ("", NumberCell::Empty),
            ("0", NumberCell::Withheld),
            ("$0.00", NumberCell::Withheld),
            ("1", NumberCell::Withheld),
            ("Not Priced", NumberCell::Withheld),
            ("Call", NumberCell::Withheld),
            ("–", NumberCell::Withheld),
            ("27.995", NumberCell::Unreadable),
            ("27,99", NumberCell::Unreadable),
            ("-5000", NumberCell::Unreadable),
            ("27995 EUR", NumberCell::Unreadable),
            ("1e5", NumberCell::Unreadable),
            ("99999999999999999999", NumberCell::Unreadable),
        ] {
            assert_eq!(price(text, DecimalSign::Point), expected, "{text}");
        }
    }

    #[test]
    fn mileages_may_have_commas_and_units() {
        for (text, unit, expected) in [
            ("52,777 miles", "", (NumberCell::Is(52_777), false)),
            ("52777", "", (NumberCell::Is(52_777), false)),
            ("52777 mi", "km", (NumberCell::Is(52_777), false)),
            ("84,937 km", "", (NumberCell::Is(52_777), true)),
            ("84937", "KM", (NumberCell::Is(52_777), true)),
            ("0", "", (NumberCell::Is(0), false)),
            ("–", "", (NumberCell::Withheld, false)),
            ("", "km", (NumberCell::Empty, false)),
            ("52k", "", (NumberCell::Unreadable, false)),
            ("4294967295 km", "", (NumberCell::Unreadable, true)),
        ] {
            assert_eq!(mileage(text, unit, DecimalSign::Point), expected, "{text} {unit}");
        }
    }

    #[test]
    fn a_decimal_comma_is_read_where_it_is_said() {
        for (text, expected) in [
            ("9.000,00", NumberCell::Is(9_000)),
            ("9.000,01 USD", NumberCell::Is(9_001)),
            ("$ 12.655", NumberCell::Is(12_655)),
            ("1.234.567,5", NumberCell::Is(1_234_568)),
            ("12655", NumberCell::Is(12_655)),
            ("9,000.00", NumberCell::Unreadable),
            ("9.00", NumberCell::Unreadable),
            ("9,000", NumberCell::Unreadable),
        ] {
            assert_eq!(price(text, DecimalSign::Comma), expected, "{text}");
        }
        assert_eq!(mileage("17.555", "km", DecimalSign::Comma), (NumberCell::Is(10_908), true));
        assert_eq!(plain("7,8", 100, DecimalSign::Comma), NumberCell::Is(7));
    }

    #[test]
    fn a_count_is_the_number_that_a_text_begins_with() {
        for (text, expected) in [
            ("5", NumberCell::Is(5)),
            ("5 passengers", NumberCell::Is(5)),
            ("4dr", NumberCell::Is(4)),
            ("7.0", NumberCell::Is(7)),
            ("0", NumberCell::Withheld),
            ("", NumberCell::Empty),
            ("5-7", NumberCell::Unreadable),
            ("many", NumberCell::Unreadable),
            ("4000", NumberCell::Unreadable),
        ] {
            assert_eq!(count(text, 100), expected, "{text}");
        }
        for (text, expected) in
            [("km", true), ("Miles", true), ("KMT", true), ("", false), ("l", false)]
        {
            assert_eq!(is_unit_of_distance(text), expected, "{text}");
        }
    }

    #[test]
    fn a_model_year_is_a_year_of_the_schema() {
        assert_eq!(year("2024", DecimalSign::Point), Some(2024));
        assert_eq!(year("2024.0", DecimalSign::Point), Some(2024));
        assert_eq!(year("24", DecimalSign::Point), None);
    }
}
