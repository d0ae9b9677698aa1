//! Numbers with the digits as written.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use super::Value;
use crate::decimal::Decimal;

/// A JSON number as written: `1.0` differs from `1`, and no digit is lost.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(NumberText);

/// The stored form. Each text has exactly one, so that equal texts are equal numbers.
#[derive(Clone, PartialEq, Eq, Hash)]
enum NumberText {
    /// A whole number in its usual spelling.
    Signed(i64),
    /// A whole number in its usual spelling, too large for `i64`.
    Unsigned(u64),
    /// Any other text.
    Other(Box<str>),
}

impl Number {
    /// Creates a number from its text; the caller has checked the JSON grammar.
    pub(super) fn from_text(text: &str) -> Self {
        // Only these texts can be integers in their usual spelling.
        let plain = text.len() <= 20
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            && text != "-0";
        let whole = || {
            let signed = text.parse().map(NumberText::Signed);
            signed.or_else(|_| text.parse().map(NumberText::Unsigned)).ok()
        };
        let written = if plain { whole() } else { None };
        Self(written.unwrap_or_else(|| NumberText::Other(text.into())))
    }

    /// Writes `number` with the fewest digits that denote it; `None` if it is not finite.
    #[must_use]
    pub fn from_f64(number: f64) -> Option<Self> {
        let text = serde_json::to_string(&number).ok().filter(|_| number.is_finite())?;
        Some(Self::from_text(&text))
    }

    /// The number's text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            NumberText::Signed(number) => Cow::Owned(number.to_string()),
            NumberText::Unsigned(number) => Cow::Owned(number.to_string()),
            NumberText::Other(text) => Cow::Borrowed(text),
        }
    }

    /// The value, if it is written as a whole number and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            NumberText::Signed(number) => Some(*number),
            NumberText::Unsigned(_) => None,
            NumberText::Other(text) => text.parse().ok(),
        }
    }

    /// The value, if it is written as a whole number, fits and is not negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            NumberText::Signed(number) => u64::try_from(*number).ok(),
            NumberText::Unsigned(number) => Some(*number),
            NumberText::Other(text) => text.parse().ok(),
        }
    }

    /// The nearest float; `None` if it is out of range.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.text().parse::<f64>().ok().filter(|number| number.is_finite())
    }

    /// The number in units of `10^-places`, rounded half away from zero: `1.5` in cents (2) is 150.
    /// `None` if it does not fit.
    #[must_use]
    pub fn scaled(&self, places: u32) -> Option<i128> {
        Decimal::from_text(&self.text()).scaled(places)
    }
}

impl FromStr for Number {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            NumberText::Signed(number) => serializer.serialize_i64(*number),
            NumberText::Unsigned(number) => serializer.serialize_u64(*number),
            // Raw text is the only form that keeps every digit.
            NumberText::Other(text) => serde_json::from_str::<&RawValue>(text)
                .map_err(S::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Value::Number(number) = value {
            return Ok(number);
        }
        Err(serde::de::Error::invalid_type(value.unexpected(), &"a JSON number"))
    }
}

macro_rules! whole {
    ($($type:ty)*) => { $(
        impl From<$type> for Number {
            fn from(number: $type) -> Self {
                Self(match i64::try_from(number) {
                    Ok(number) => NumberText::Signed(number),
                    // Only a `u64` or `usize` exceeds `i64`, and both fit into `u64`.
                    Err(_) => NumberText::Unsigned(number as u64),
                })
            }
        }
    )* };
}

whole!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
