//! Exact comparison of numbers, with any spelling and size.

use std::cmp::Ordering;

use tradepost_document::json::Value;

use super::shape::{Bound, Limit};
use tradepost_document::decimal::Decimal;

/// Returns true when a JSON number is whole: `1e2` is, `1.5` is not.
pub(super) fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit()) || Decimal::from_text(text).exponent >= 0
}

/// Returns true when a JSON number satisfies a bound.
pub(super) fn is_within(text: &str, bound: &Bound) -> bool {
    // Nearly all numbers are short and whole.
    let order = match text.parse::<i64>() {
        Ok(number) if bound.value.exponent >= 0 => number.cmp(&bound.near),
        Ok(_) | Err(_) => compare(&Decimal::from_text(text), &bound.value),
    };
    match bound.kind {
        Limit::Minimum => order != Ordering::Less,
        Limit::ExclusiveMinimum => order == Ordering::Greater,
        Limit::Maximum => order != Ordering::Greater,
        Limit::ExclusiveMaximum => order == Ordering::Less,
    }
}

/// Compares two numbers.
pub(super) fn compare(one: &Decimal, other: &Decimal) -> Ordering {
    let sign = |number: &Decimal| match (number.digits.is_empty(), number.negative) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    match sign(one).cmp(&sign(other)) {
        Ordering::Equal if one.negative => magnitude(other, one),
        Ordering::Equal => magnitude(one, other),
        unequal @ (Ordering::Less | Ordering::Greater) => unequal,
    }
}

/// Compares the absolute values of two numbers.
fn magnitude(one: &Decimal, other: &Decimal) -> Ordering {
    // By the position of the first digit, then by the digits. Final zeros are not stored, so the
    // longer of two texts with the same beginning is the greater number.
    let first = |number: &Decimal| {
        let length = i128::try_from(number.digits.len()).unwrap_or(i128::MAX);
        number.exponent.saturating_add(length)
    };
    first(one).cmp(&first(other)).then_with(|| one.digits.cmp(&other.digits))
}

/// Returns true when two values are equal in the sense of JSON Schema: numbers by value, members in
/// any order.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || Decimal::from_text(&one.text()) == Decimal::from_text(&other.text())
        }
        // Constants of the rules are scalars.
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_exactly() {
        let rising = [
            "-1e400",
            "-10.5",
            "-10",
            "-9.99",
            "-1e-400",
            "0",
            "1e-400",
            "0.5",
            "9",
            "9.5",
            "10",
            "99",
            "1e2",
            "100.00000000000000000001",
            "9223372036854775808",
            "1e400",
        ];
        for (n, one) in rising.iter().enumerate() {
            for (m, other) in rising.iter().enumerate() {
                let found = compare(&Decimal::from_text(one), &Decimal::from_text(other));
                assert_eq!(found, n.cmp(&m), "{one} {other}");
            }
        }
    }

    #[test]
    fn whole_numbers_are_whole_in_every_notation() {
        for (text, expected) in [
            ("1e2", true),
            ("1.50e1", true),
            ("-0.0", true),
            ("1.5", false),
            ("1e-1", false),
            ("123456789012345678901234567890", true),
            ("1e400", true),
        ] {
            assert_eq!(is_whole(text), expected, "{text}");
        }
    }
}
