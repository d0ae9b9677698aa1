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
/// agree.
#[must_use]
pub fn retry_after(header: &str, answered: Option<Timestamp>) -> Option<Duration> {
    let header = header.trim();
    if !header.is_empty() && header.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(header.parse().unwrap_or(u64::MAX)));
    }
    let wait: SignedDuration = answered?.duration_until(read(header)?);
    // A past date means no wait.
    Some(Duration::try_from(wait).unwrap_or_default())
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
    fn a_wait_is_seconds_or_a_moment_after_the_answers_own() {
        const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        let seconds = |header, date: Option<&str>| {
            retry_after(header, date.and_then(read)).map(|wait| wait.as_secs())
        };
        assert_eq!(seconds(" 120 ", None), Some(120));
        assert_eq!(seconds("99999999999999999999999", None), Some(u64::MAX));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:39 GMT", Some(AT)), Some(2));
        assert_eq!(seconds("Sun Nov  6 08:49:30 1994", Some(AT)), Some(0), "it is over");
        for senseless in ["", "-1", "1.5", "soon", AT] {
            assert_eq!(seconds(senseless, None), None, "{senseless}");
        }
    }
}
