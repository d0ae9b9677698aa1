//! Pauses that one side asks of the other, read and written in all forms that the protocols have. They are
//! rounded up everywhere, so that whoever keeps to one is never too early.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::date;

/// A pause before the next attempt.
///
/// ```
/// use std::time::Duration;
/// use tradepost_document::http::RetryAfter;
///
/// let wait = RetryAfter::new(Duration::from_millis(1_200));
/// assert_eq!(wait.seconds(), 2);
/// assert_eq!(wait.protobuf(), "1.200s");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryAfter(Duration);

impl RetryAfter {
    /// Creates a pause of this length.
    #[must_use]
    pub const fn new(wait: Duration) -> Self {
        Self(wait)
    }

    /// Reads a number of milliseconds, rounded up to a whole one; `None` for what is no length of time.
    #[must_use]
    pub fn from_milliseconds(number: f64) -> Option<Self> {
        let is_length = number.is_finite() && number >= 0.0;
        // The conversion saturates.
        is_length.then(|| Self(Duration::from_millis(number.ceil() as u64)))
    }

    /// Reads a number of seconds, rounded up to whole milliseconds; `None` for what is no length of time.
    #[must_use]
    pub fn from_seconds(number: f64) -> Option<Self> {
        let is_finite = number.is_finite();
        is_finite.then(|| Self::from_milliseconds((number * 1000.0).min(f64::MAX))).flatten()
    }

    /// Reads a duration in the JSON form of protobuf, such as `"3.5s"` of `google.rpc.RetryInfo`.
    #[must_use]
    pub fn from_protobuf(text: &str) -> Option<Self> {
        Self::from_seconds(text.strip_suffix('s')?.parse().ok()?)
    }

    /// Reads a `Retry-After` header (RFC 9110 §10.2.3): seconds, or a date. A date is compared with
    /// `answered`, the response's own `Date`, so that no clock is needed and the clocks of the two sides need
    /// not agree.
    #[must_use]
    pub fn from_header(header: &str, answered: Option<Timestamp>) -> Option<Self> {
        if let Some(wait) = whole_seconds(header) {
            return Some(Self(wait));
        }
        let wait: SignedDuration = answered?.duration_until(date::read(header)?);
        // A past date means no wait.
        Some(Self(Duration::try_from(wait).unwrap_or_default()))
    }

    /// Reads `Retry-After` with the response's `Date` and `Age`. The time that the response spent in a cache
    /// is subtracted.
    #[must_use]
    pub fn from_headers<S: AsRef<str>>(header: impl Fn(&str) -> Option<S>) -> Option<Self> {
        // Most responses have none, and need nothing of the rest.
        let stated = header("retry-after")?;
        let answered = header("date").and_then(|text| date::read(text.as_ref()));
        let age = header("age").map(|text| age(text.as_ref()));
        let stated = Self::from_header(stated.as_ref(), answered)?;
        Some(Self(stated.0.saturating_sub(age.unwrap_or_default())))
    }

    /// Returns the pause as it was given.
    #[must_use]
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// Returns whole seconds, rounded up and at least one: 0 would invite a repetition without a pause.
    #[must_use]
    pub fn seconds(self) -> u64 {
        let begun = u64::from(self.0.subsec_nanos() > 0);
        self.0.as_secs().saturating_add(begun).max(1)
    }

    /// Returns whole milliseconds, rounded up.
    #[must_use]
    pub fn milliseconds(self) -> u64 {
        u64::try_from(self.0.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns the JSON form of protobuf, rounded up to milliseconds: `"2s"` or `"1.500s"`.
    #[must_use]
    pub fn protobuf(self) -> String {
        let millis = self.milliseconds();
        let seconds = millis / 1_000;
        match millis % 1_000 {
            0 => format!("{seconds}s"),
            part => format!("{seconds}.{part:03}s"),
        }
    }
}

/// Reads an `Age` header (RFC 9111 §5.1): how long ago a cache received the response. Zero without a
/// readable number; the first of several values counts.
fn age(header: &str) -> Duration {
    header.split(',').next().and_then(whole_seconds).unwrap_or_default()
}

/// Reads a whole number of seconds; the largest duration where it is too large.
fn whole_seconds(text: &str) -> Option<Duration> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    #[test]
    fn every_form_is_rounded_up() {
        for (nanos, seconds, milliseconds, protobuf) in [
            (0, 1, 0, "0s"),
            (1, 1, 1, "0.001s"),
            (1_000_000_000, 1, 1_000, "1s"),
            (1_000_000_001, 2, 1_001, "1.001s"),
            (1_000_400_000, 2, 1_001, "1.001s"),
            (1_500_000_000, 2, 1_500, "1.500s"),
            (2_000_000_000, 2, 2_000, "2s"),
        ] {
            let wait = RetryAfter::new(Duration::from_nanos(nanos));
            assert_eq!(wait.seconds(), seconds, "{nanos}");
            assert_eq!(wait.milliseconds(), milliseconds, "{nanos}");
            assert_eq!(wait.protobuf(), protobuf, "{nanos}");
        }
        let forever = RetryAfter::new(Duration::MAX);
        assert_eq!((forever.seconds(), forever.milliseconds()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn numbers_are_read_when_they_are_lengths_of_time() {
        let seconds = |number| RetryAfter::from_seconds(number).map(RetryAfter::milliseconds);
        assert_eq!(seconds(2.0), Some(2_000));
        assert_eq!(seconds(0.000_1), Some(1));
        assert_eq!(seconds(1e308), Some(u64::MAX));
        for senseless in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(seconds(senseless), None, "{senseless}");
        }
        let protobuf = |text| RetryAfter::from_protobuf(text).map(RetryAfter::milliseconds);
        assert_eq!(protobuf("3.5s"), Some(3_500));
        for senseless in ["3.5", "s", "-1s", "soon", ""] {
            assert_eq!(protobuf(senseless), None, "{senseless}");
        }
    }

    #[test]
    fn a_header_has_seconds_or_a_moment() {
        let seconds = |header, answered: Option<&str>| {
            let wait = RetryAfter::from_header(header, answered.and_then(date::read));
            wait.map(|wait| wait.duration().as_secs())
        };
        assert_eq!(seconds(" 120 ", None), Some(120));
        assert_eq!(seconds("99999999999999999999999", None), Some(u64::MAX));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:39 GMT", Some(AT)), Some(2));
        assert_eq!(seconds("Sun Nov  6 08:49:30 1994", Some(AT)), Some(0), "it is over");
        for senseless in ["", "-1", "1.5", "soon", AT] {
            assert_eq!(seconds(senseless, None), None, "{senseless}");
        }
    }

    #[test]
    fn time_spent_in_a_cache_is_subtracted() {
        for (stated, age, expected) in [
            ("120", None, 120),
            ("120", Some("50"), 70),
            ("120", Some(" 50 , 7"), 70),
            ("120", Some("200"), 0),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some("50"), 10),
            ("120", Some("-50"), 120),
            ("120", Some("soon"), 120),
            ("120", Some("99999999999999999999999"), 0),
        ] {
            let wait = RetryAfter::from_headers(|name| match name {
                "retry-after" => Some(stated),
                "date" => Some(AT),
                "age" => age,
                _ => None,
            });
            assert_eq!(wait, Some(RetryAfter(Duration::from_secs(expected))), "{stated} {age:?}");
        }
        assert_eq!(RetryAfter::from_headers(|_| None::<&str>), None);
    }
}
