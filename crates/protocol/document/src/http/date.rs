//! Reads and writes HTTP dates (RFC 9110 §5.6.7).

use jiff::Timestamp;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_is_written() {
        const TEXT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(read(TEXT).map(write).as_deref(), Some(TEXT));
    }
}
