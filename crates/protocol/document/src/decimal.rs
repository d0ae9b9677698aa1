//! The exact value of a JSON number in any spelling: `2020`, `2020.0` and `2.02e3` are one number.
//! It works on the text, so that no digit is lost and no exponent overflows.

/// A decimal number, `±digits × 10^exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    /// True when the number is below zero; never set for zero.
    pub negative: bool,
    /// The digits without zeros at either end; empty for zero.
    pub digits: String,
    /// The power of ten of the last digit; 0 for zero.
    pub exponent: i128,
    /// True when the exponent is the written one and not the nearest that fits.
    pub exact: bool,
}

impl Decimal {
    /// Reads the text of a JSON number. An exponent beyond `i128` saturates at a tenth of its
    /// bounds, so that callers can add the length of any text.
    pub fn from_text(text: &str) -> Self {
        let (negative, magnitude) =
            text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = format!("{whole}{fraction}");
        let written = digits.len();
        digits.truncate(digits.trim_end_matches('0').len());
        let dropped = written - digits.len();
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0, exact: true };
        }
        let limit = i128::MAX / 10;
        let written = exponent.parse::<i128>().ok().filter(|e| (-limit..=limit).contains(e));
        let beyond = if exponent.starts_with('-') { -limit } else { limit };
        let length = |n: usize| i128::try_from(n).unwrap_or(limit);
        Self {
            negative,
            digits,
            exponent: written.unwrap_or(beyond) - length(fraction.len()) + length(dropped),
            exact: written.is_some(),
        }
    }

    /// The value as an integer, saturating at the bounds of `i64`; `None` if it has a fraction.
    pub(crate) fn to_i64(&self) -> Option<i64> {
        (self.exponent >= 0).then(|| self.neighbours().0)
    }

    /// The nearest integers below and above (or equal), saturating at the bounds of `i64`.
    pub fn neighbours(&self) -> (i64, i64) {
        let saturated = if self.negative { i64::MIN } else { i64::MAX };
        let truncated = self
            .cut(0)
            .map(|(whole, _)| if self.negative { -whole } else { whole })
            .and_then(|n| i64::try_from(n).ok())
            .unwrap_or(saturated);
        if self.exponent >= 0 {
            (truncated, truncated)
        } else if self.negative {
            (truncated.saturating_sub(1), truncated)
        } else {
            (truncated, truncated.saturating_add(1))
        }
    }

    /// The number in units of `10^-places`, rounded half away from zero; `None` beyond `i128`.
    pub(crate) fn scaled(&self, places: u32) -> Option<i128> {
        let (digits, dropped) = self.cut(places)?;
        let up = dropped.bytes().next().is_some_and(|digit| digit >= b'5');
        let magnitude = digits.checked_add(i128::from(up))?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Splits the digits at `places` after the decimal point. The second part is empty if it starts
    /// with zeros. `None` if the first part exceeds `i128`.
    fn cut(&self, places: u32) -> Option<(i128, &str)> {
        let exponent = self.exponent + i128::from(places);
        let length = i128::try_from(self.digits.len()).ok()?;
        let Ok(kept) = usize::try_from(length + exponent.min(0)) else {
            return Some((0, ""));
        };
        let (kept, dropped) = self.digits.split_at_checked(kept)?;
        if kept.is_empty() {
            return Some((0, dropped));
        }
        let zeros = u32::try_from(exponent.max(0)).ok()?;
        let whole = kept.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(zeros)?)?;
        Some((whole, dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_number_are_one_decimal() {
        for (one, other) in [
            ("2020", "2.02e3"),
            ("-0", "0e99999999999999999999999999999999999999999999"),
            ("0.10", "1e-1"),
            ("9223372036854775807", "9223372036854775807.0"),
            ("123456789012345678901234567890", "1.2345678901234567890123456789e29"),
        ] {
            assert_eq!(Decimal::from_text(one), Decimal::from_text(other), "{one} {other}");
        }
        assert_ne!(Decimal::from_text("1e400"), Decimal::from_text("-1e400"));
    }

    #[test]
    fn exponents_at_the_edge_of_integer_types_do_not_overflow() {
        for (text, expected) in [
            ("1.5e-9223372036854775808", None),
            ("10e9223372036854775807", Some(i64::MAX)),
            ("-10e9223372036854775807", Some(i64::MIN)),
            ("1.5e-170141183460469231731687303715884105728", None),
            ("10e170141183460469231731687303715884105727", Some(i64::MAX)),
            ("10e999999999999999999999999999999999999999999", Some(i64::MAX)),
            ("1e-999999999999999999999999999999999999999999", None),
        ] {
            assert_eq!(Decimal::from_text(text).to_i64(), expected, "{text}");
        }
    }

    #[test]
    fn fractions_lie_between_their_neighbours() {
        for (text, expected) in [
            ("2020.5", (2020, 2021)),
            ("-0.5", (-1, 0)),
            ("1e-400", (0, 1)),
            ("-1e-400", (-1, 0)),
            ("2100.00000000000000000000001", (2100, 2101)),
            ("7", (7, 7)),
            ("-1e400", (i64::MIN, i64::MIN)),
            ("9223372036854775807.5", (i64::MAX, i64::MAX)),
        ] {
            assert_eq!(Decimal::from_text(text).neighbours(), expected, "{text}");
        }
    }
    #[test]
    fn a_number_in_millionths_is_rounded_once() {
        for (text, expected) in [
            ("1", Some(1_000_000)),
            ("0.1", Some(100_000)),
            ("-1.5e0", Some(-1_500_000)),
            ("2.5E-6", Some(3)),
            ("-0.0000005", Some(-1)),
            ("0.00000049999999", Some(0)),
            ("5e-8", Some(0)),
            ("1e-400", Some(0)),
            ("1e31", Some(10_i128.pow(37))),
            ("1e33", None),
            ("0", Some(0)),
        ] {
            assert_eq!(Decimal::from_text(text).scaled(6), expected, "{text}");
        }
    }
}
