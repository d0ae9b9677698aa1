//! The exact value of a JSON number, whatever its spelling: `2020`, `2020.0` and `2.02e3` are one
//! number. Works on the text, so that no digit is lost and no exponent overflows.

/// `±digits × 10^exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// Whether it is below zero; never set for zero.
    pub(crate) negative: bool,
    /// Without zeros at either end; empty for zero.
    pub(crate) digits: String,
    /// The power of ten of the last digit; 0 for zero.
    pub(crate) exponent: i128,
}

impl Decimal {
    /// Reads the text of a JSON number. An exponent beyond `i128` saturates at a tenth of it, so
    /// that callers can add the length of any text.
    pub(crate) fn of(text: &str) -> Self {
        let (negative, magnitude) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = format!("{whole}{fraction}");
        let written = digits.len();
        digits.truncate(digits.trim_end_matches('0').len());
        let dropped = written - digits.len();
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Self {
                negative: false,
                digits,
                exponent: 0,
            };
        }
        let limit = i128::MAX / 10;
        let beyond = if exponent.starts_with('-') {
            -limit
        } else {
            limit
        };
        let exponent = exponent
            .parse::<i128>()
            .map_or(beyond, |exponent| exponent.clamp(-limit, limit));
        let length = |n: usize| i128::try_from(n).unwrap_or(limit);
        Self {
            negative,
            digits,
            exponent: exponent - length(fraction.len()) + length(dropped),
        }
    }

    /// The whole number that this is, saturating at the bounds of `i64`; `None` with a fraction.
    pub(crate) fn whole(&self) -> Option<i64> {
        if self.exponent < 0 {
            return None;
        }
        let power = u32::try_from(self.exponent).ok().filter(|e| *e <= 19);
        let magnitude = self.digits.parse::<i128>().ok();
        let value = if self.digits.is_empty() {
            Some(0)
        } else {
            magnitude
                .zip(power)
                .and_then(|(m, power)| m.checked_mul(10_i128.pow(power)))
        };
        let saturated = if self.negative { i64::MIN } else { i64::MAX };
        let value = value.map(|n| if self.negative { -n } else { n });
        Some(
            value
                .and_then(|n| i64::try_from(n).ok())
                .unwrap_or(saturated),
        )
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
            (
                "123456789012345678901234567890",
                "1.2345678901234567890123456789e29",
            ),
        ] {
            assert_eq!(Decimal::of(one), Decimal::of(other), "{one} {other}");
        }
        assert_ne!(Decimal::of("1e400"), Decimal::of("-1e400"));
    }

    #[test]
    fn exponents_at_the_edge_of_every_integer_type_do_not_overflow() {
        for (text, expected) in [
            ("1.5e-9223372036854775808", None),
            ("10e9223372036854775807", Some(i64::MAX)),
            ("-10e9223372036854775807", Some(i64::MIN)),
            ("1.5e-170141183460469231731687303715884105728", None),
            ("10e170141183460469231731687303715884105727", Some(i64::MAX)),
            (
                "10e999999999999999999999999999999999999999999",
                Some(i64::MAX),
            ),
            ("1e-999999999999999999999999999999999999999999", None),
        ] {
            assert_eq!(Decimal::of(text).whole(), expected, "{text}");
        }
    }
}
