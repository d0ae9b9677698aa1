//! Amounts of money, counts and shares. They are read from the text of a JSON number and counted in
//! millionths, so that nothing is lost by adding them up, in any order.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use tradepost_document::json::{Number, Value};
use tradepost_document::typed::{Typed, ValueKind};

pub(crate) mod currency;

pub use currency::CODES as CURRENCIES;

/// Number of decimals: two more than the currency with the smallest unit has (ISO 4217).
const PLACES: u32 = 6;

/// One, in millionths.
const MILLION: i128 = 10_i128.pow(PLACES);

/// Smallest number of millionths that is too large for an amount.
const TOO_LARGE: i128 = 10_i128.pow(30);

/// An amount of money in the unit of its currency, a count, or a share, exact to a millionth.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoneyAmount(i128);

impl MoneyAmount {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Smallest positive amount.
    pub const MILLIONTH: Self = Self(1);

    /// A hundredth: one cent.
    pub const CENT: Self = Self(MILLION / 100);

    /// Creates an amount from a whole number.
    #[must_use]
    pub const fn whole(count: u32) -> Self {
        Self(count as i128 * MILLION)
    }

    /// Creates an amount from a count of units.
    #[must_use]
    pub const fn from_count(count: u64) -> Self {
        Self(count as i128 * MILLION)
    }

    /// Returns it as a count of units, without its fraction; zero below zero.
    #[must_use]
    pub fn to_count(self) -> u64 {
        u64::try_from((self.0 / MILLION).max(0)).unwrap_or(u64::MAX)
    }

    /// Rounds a number to a millionth; returns `None` from 10²⁴ on.
    #[must_use]
    pub fn from_number(number: &Number) -> Option<Self> {
        number.scaled(PLACES).filter(|millionths| millionths.abs() < TOO_LARGE).map(Self)
    }

    /// Returns the part of it that one amount is of another, in multiples of `grain`; a half is rounded away
    /// from zero. Returns zero when the other is not above zero.
    #[must_use]
    pub fn portion(self, part: Self, of: Self, grain: Self) -> Self {
        let mut part = part.0;
        let mut of = of.0;
        let product = loop {
            match self.0.checked_mul(part) {
                Some(product) => break product,
                // Amounts as large as this do not occur, so an approximate part will do.
                None => (part, of) = (part / 2, of / 2),
            }
        };
        match of.checked_mul(grain.0) {
            Some(divisor) if divisor > 0 => Self(divided(product, divisor).saturating_mul(grain.0)),
            Some(_) | None => Self::ZERO,
        }
    }

    /// Returns the part of it that one amount is of another.
    #[must_use]
    pub fn share(self, part: Self, of: Self) -> Self {
        self.portion(part, of, Self::MILLIONTH)
    }

    /// Returns this percentage of it.
    #[must_use]
    pub fn percent(self, percent: Self) -> Self {
        self.share(percent, Self::whole(100))
    }

    /// Rounds it up to a whole number.
    #[must_use]
    pub fn ceil(self) -> Self {
        Self((self.0.saturating_add(MILLION - 1)).div_euclid(MILLION) * MILLION)
    }

    /// Returns it as a count, rounded down; `None` when it is negative or too large for one.
    #[must_use]
    pub fn count(self) -> Option<u64> {
        u64::try_from(self.0.div_euclid(MILLION)).ok()
    }

    /// Returns the mean of amounts, each with its weight; `None` when the weights add up to nothing.
    #[must_use]
    pub fn mean(weighted: impl IntoIterator<Item = (Self, Self)>) -> Option<Self> {
        let add = |(sum, weights): (i128, i128), (one, weight): (Self, Self)| {
            (sum.saturating_add(one.0.saturating_mul(weight.0)), weights.saturating_add(weight.0))
        };
        let (sum, weights) = weighted.into_iter().fold((0, 0), add);
        (weights > 0).then(|| Self(divided(sum, weights)))
    }
}

/// Returns true if two values are one amount, however it is written (`2`, `2.0`).
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    let of = |value: &Value| value.as_number().and_then(MoneyAmount::from_number);
    of(one).is_some_and(|one| of(other) == Some(one))
}

/// Divides by a number above zero; a half is rounded away from zero.
fn divided(number: i128, by: i128) -> i128 {
    let half = by / 2;
    number.saturating_add(if number < 0 { -half } else { half }) / by
}

impl Add for MoneyAmount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for MoneyAmount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Neg for MoneyAmount {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sub for MoneyAmount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for MoneyAmount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// Writes an amount in the fewest digits: `5000`, `-1.5`.
impl fmt::Display for MoneyAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ones = self.0.unsigned_abs() / MILLION as u128;
        let rest = self.0.unsigned_abs() % MILLION as u128;
        if rest == 0 {
            return write!(f, "{sign}{ones}");
        }
        let rest = format!("{rest:06}");
        write!(f, "{sign}{ones}.{}", rest.trim_end_matches('0'))
    }
}

impl fmt::Debug for MoneyAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<MoneyAmount> for Value {
    fn from(amount: MoneyAmount) -> Self {
        amount.to_string().parse().map_or(Self::Null, Self::Number)
    }
}

impl Serialize for MoneyAmount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::from(*self).serialize(serializer)
    }
}

/// Reads any stored number: the largest amount stands for those beyond it.
impl<'de> Deserialize<'de> for MoneyAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        let most = Self(TOO_LARGE - 1);
        let limit = if number.text().starts_with('-') { -most } else { most };
        Ok(Self::from_number(&number).unwrap_or(limit))
    }
}

/// Reads a number; one beyond the largest amount counts as zero, so that it buys nothing.
impl Typed for MoneyAmount {
    fn kind() -> ValueKind {
        ValueKind::Number
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_number().map(|number| Self::from_number(number).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amount(text: &str) -> MoneyAmount {
        MoneyAmount::from_number(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn amounts_are_written_in_the_fewest_digits() {
        for (text, written) in [
            ("5000.00", "5000"),
            ("-1.50", "-1.5"),
            ("1e-6", "0.000001"),
            ("0.0000004", "0"),
            ("-0.05", "-0.05"),
            ("12345678901234567890.25", "12345678901234567890.25"),
        ] {
            assert_eq!(Value::from(amount(text)).to_string(), written);
        }
        assert_eq!((amount("0.1") + amount("0.2")).to_string(), "0.3");
        assert_eq!(MoneyAmount::from_number(&"1e24".parse().unwrap()), None);
        assert_eq!(MoneyAmount::read(&Value::from("1")), None);
        // As earlier versions kept them.
        let most = tradepost_document::json::from_str::<MoneyAmount>("-1e300").unwrap();
        assert_eq!(most.to_string(), "-999999999999999999999999.999999");
        assert_eq!(
            tradepost_document::json::from_str::<MoneyAmount>("5000.0").unwrap(),
            MoneyAmount::whole(5000)
        );
    }

    #[test]
    fn halves_round_away_from_zero_and_nothing_divides_by_zero() {
        let share = |of: &str, part: &str, whole: &str| {
            amount(of).portion(amount(part), amount(whole), MoneyAmount::CENT).to_string()
        };
        assert_eq!(share("100", "1", "3"), "33.33");
        assert_eq!(share("0.25", "1", "10"), "0.03");
        assert_eq!(share("-0.25", "1", "10"), "-0.03");
        assert_eq!(share("1", "1", "0"), "0");
        let most = amount("999999999999999999999999");
        assert_eq!(most.share(most, most).ceil(), most);
        assert_eq!((amount("2.000001").ceil(), amount("-2.5").ceil()), (amount("3"), amount("-2")));
    }

    proptest! {
        /// The sum is that of whole millionths, in any order and any spelling of the numbers.
        #[test]
        fn sums_are_exact_and_know_no_order(
            millionths in prop::collection::vec(-10_i64.pow(15)..10_i64.pow(15), 0..40),
            swaps in prop::collection::vec((0..40_usize, 0..40_usize), 0..40),
        ) {
            let spelled = |number: &i64| {
                let sign = if *number < 0 { "-" } else { "" };
                let ones = number.unsigned_abs() / 1_000_000;
                let rest = number.unsigned_abs() % 1_000_000;
                amount(&format!("{sign}{ones}.{rest:06}"))
            };
            let mut amounts: Vec<MoneyAmount> = millionths.iter().map(spelled).collect();
            let sum: i128 = millionths.iter().map(|number| i128::from(*number)).sum();
            prop_assert_eq!(amounts.iter().copied().sum::<MoneyAmount>(), MoneyAmount(sum));
            for (one, other) in swaps {
                if one < amounts.len() && other < amounts.len() {
                    amounts.swap(one, other);
                }
            }
            let shuffled: MoneyAmount = amounts.iter().copied().sum();
            prop_assert_eq!(shuffled, MoneyAmount(sum));
            // And it comes back from its text as it was.
            let text = Value::from(shuffled).to_string();
            prop_assert_eq!(amount(&text), shuffled);
        }
    }
}
