//! Reads and writes HTTP dates, and reads `Retry-After` (RFC 9110 §5.6.7, §10.2.3).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Reads a date in any of the three HTTP forms.
#[must_use]
pub fn read(text: &str) -> Option<Timestamp> {
    httpdate::parse_http_date(text.trim()).ok()?.try_into().ok()
}

/// Writes a date in the preferred HTTP form.
#[must_use]
pub fn write(moment: Timestamp) -> String {
    httpdate::fmt_http_date(moment.into())
}

/// Reads a `Retry-After` header: seconds, or a date. A date is compared with `answered`, the
/// response's own `Date`, so that no clock is needed and the clocks of the two sides need not
/// agree. `age` is how long ago the response was made, by its [`age`], and is subtracted.
#[must_use]
pub fn retry_after(header: &str, answered: Option<Timestamp>, age: Duration) -> Option<Duration> {
    let wait = match seconds(header) {
        Some(wait) => wait,
        None => {
            let wait: SignedDuration = answered?.duration_until(read(header)?);
            // A past date means no wait.
            Duration::try_from(wait).unwrap_or_default()
        }
    };
    Some(wait.saturating_sub(age))
}

/// Reads an `Age` header (RFC 9111 §5.1): how long ago a cache received the response. Zero without a
/// readable header; the first of several values counts.
#[must_use]
pub fn age(header: Option<&str>) -> Duration {
    let first = header.and_then(|values| values.split(',').next());
    first.and_then(seconds).unwrap_or_default()
}

/// Reads a whole number of seconds; the largest duration where it is too large.
fn seconds(text: &str) -> Option<Duration> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_is_written() {
        const TEXT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(read(TEXT).map(write).as_deref(), Some(TEXT));
    }

    #[test]
    fn a_wait_is_seconds_or_a_moment_after_the_answers() {
        const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        let seconds = |header, date: Option<&str>| {
            let wait = retry_after(header, date.and_then(read), Duration::ZERO);
            wait.map(|wait| wait.as_secs())
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
    fn what_a_cache_has_waited_already_is_subtracted() {
        const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (header, stated, expected) in [
            ("120", None, 120),
            ("120", Some("50"), 70),
            ("120", Some(" 50 , 7"), 70),
            ("120", Some("200"), 0),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some("50"), 10),
            ("120", Some("-50"), 120),
            ("120", Some("soon"), 120),
            ("120", Some("99999999999999999999999"), 0),
        ] {
            let wait = retry_after(header, read(AT), age(stated));
            assert_eq!(wait, Some(Duration::from_secs(expected)), "{header} {stated:?}");
        }
    }
}
