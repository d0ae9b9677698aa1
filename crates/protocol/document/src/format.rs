//! Checks the text formats of the published schemas, which the schemas only annotate, and writes
//! times and bytes.
// A violated format is an error, although JSON Schema leaves that open (C-14).

use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit, civil};

/// Writes bytes as hexadecimal digits in lower case.
#[must_use]
pub fn hex<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut digits, byte| {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Reads 32 bytes in hexadecimal digits, such as a hash that [`hex`] wrote.
#[must_use]
pub fn bytes_from_hex(text: &str) -> Option<[u8; 32]> {
    let text = text.trim();
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    bytes?.try_into().ok()
}

/// Returns true if a text is a VIN: `^[A-HJ-NPR-Z0-9]{17}$`.
#[must_use]
pub fn is_vin(text: &str) -> bool {
    text.len() == 17
        && text.bytes().all(|b| {
            b.is_ascii_digit() || (b.is_ascii_uppercase() && !matches!(b, b'I' | b'O' | b'Q'))
        })
}

/// Returns true if a VIN's ninth character is its check digit (ISO 3779). Only North American VINs
/// have one, so a mismatch is a warning and never an error.
// A wrong check digit is accepted (C-44).
#[must_use]
pub fn has_vin_check_digit(vin: &str) -> bool {
    vin_check_digit(vin).is_some_and(|digit| vin.as_bytes().get(8) == Some(&digit))
}

/// Returns the check digit that belongs to a VIN, whatever its ninth character is.
#[must_use]
pub fn vin_check_digit(vin: &str) -> Option<u8> {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    if !is_vin(vin) {
        return None;
    }
    let sum: u32 = vin.bytes().zip(WEIGHTS).map(|(byte, weight)| vin_value(byte) * weight).sum();
    Some(match sum % 11 {
        10 => b'X',
        digit => b'0' + u8::try_from(digit).unwrap_or(0),
    })
}

fn vin_value(byte: u8) -> u32 {
    // ISO 3779: A-H 1-8, J-R 1-9 without O and Q, S-Z 2-9.
    u32::from(match byte {
        b'0'..=b'9' => byte - b'0',
        b'A'..=b'H' => byte - b'A' + 1,
        b'J'..=b'R' => byte - b'J' + 1,
        b'S'..=b'Z' => byte - b'S' + 2,
        _ => 0,
    })
}

/// Returns true if a text is an E.164 telephone number: `^\+[1-9]\d{1,14}$`.
#[must_use]
pub fn is_e164(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (2..=15).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.starts_with('0')
    })
}

/// Returns true if a text is a time of day: `^([01]\d|2[0-3]):[0-5]\d$`.
#[must_use]
pub fn is_time_of_day(text: &str) -> bool {
    text.len() == 5
        && text.split_once(':').is_some_and(|(hour, minute)| {
            digits(hour).is_some_and(|h| hour.len() == 2 && h < 24)
                && digits(minute).is_some_and(|m| m < 60)
        })
}

/// Returns true if a text has the form of an AAP payload's `type`: `^[a-z_]+(\.[a-z_]+){1,2}$`.
#[must_use]
pub fn is_payload_type(text: &str) -> bool {
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    (2..=3).contains(&text.split('.').count()) && text.split('.').all(is_word)
}

/// Returns true if a text is an e-mail address, by the pattern of ajv-formats and the length limits
/// of RFC 5321: a dot-atom, `@` and a host name of at least two labels.
// E-mail addresses are checked as ajv-formats does (C-14).
#[must_use]
pub fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let atom = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&b))
    };
    let label = |part: &str| {
        (1..=63).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= 254
        && local.len() <= 64
        && local.split('.').all(atom)
        && domain.contains('.')
        && domain.split('.').all(label)
}

/// Returns true if a text is an absolute URI (RFC 3986), with or without a fragment.
#[must_use]
pub fn is_uri(text: &str) -> bool {
    fluent_uri::Uri::parse(text).is_ok()
}

/// Decodes base64 in either alphabet, with or without padding, as ProtoJSON permits; `None` if the
/// text is not base64.
#[must_use]
pub fn base64(text: &str) -> Option<Vec<u8>> {
    const READER: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    if text.contains(['-', '_']) {
        READER.decode(text.replace('-', "+").replace('_', "/")).ok()
    } else {
        READER.decode(text).ok()
    }
}

/// Returns true if a text is a full-date (RFC 3339).
#[must_use]
pub fn is_date(text: &str) -> bool {
    text.len() == 10 && civil_date(text).is_some()
}

fn civil_date(text: &str) -> Option<civil::Date> {
    let year = text.get(..4)?;
    let rest = text.get(4..)?;
    let month = rest.strip_prefix('-')?.get(..2)?;
    let day = rest.get(3..)?;
    let day = day.strip_prefix('-').filter(|day| day.len() == 2)?;
    civil::Date::new(
        i16::try_from(digits(year)?).ok()?,
        i8::try_from(digits(month)?).ok()?,
        i8::try_from(digits(day)?).ok()?,
    )
    .ok()
}

/// Reads a date and time (RFC 3339): `T` between date and time, an offset (`Z` or `+hh:mm`), leap
/// seconds only where one can occur. A time beyond the calendar's end saturates.
#[must_use]
pub fn timestamp(text: &str) -> Option<Timestamp> {
    let date = civil_date(text.get(..10)?)?;
    let time = text.get(10..)?.strip_prefix(['T', 't'])?;
    let hms = time.get(..8)?;
    let rest = time.get(8..)?;
    let hour = hms.get(..2)?;
    let minute = hms.get(2..5)?;
    let second = hms.get(5..)?;
    let hour = digits(hour).filter(|h| *h < 24)?;
    let minute = digits(minute.strip_prefix(':')?).filter(|m| *m < 60)?;
    let second = digits(second.strip_prefix(':')?).filter(|s| *s <= 60)?;
    let (nanos, offset) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            let (fraction, offset) = rest.split_at_checked(end).filter(|(f, _)| !f.is_empty())?;
            // Use nine digits of the fraction: pad fewer, truncate more.
            (digits(&format!("{:0<9.9}", fraction))?, offset)
        }
        None => (0, rest),
    };
    let offset = offset_minutes(offset)?;
    let minute_of_day = i64::from(hour) * 60 + i64::from(minute) - offset;
    if second == 60 && minute_of_day.rem_euclid(24 * 60) != 23 * 60 + 59 {
        return None;
    }
    let days = i64::from(date.since(civil::date(1970, 1, 1)).ok()?.get_days());
    // A leap second becomes the second before it, because Unix time has none.
    let seconds = days * 86_400 + minute_of_day * 60 + i64::from(second.min(59));
    let saturated = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Some(Timestamp::new(seconds, i32::try_from(nanos).ok()?).unwrap_or(saturated))
}

fn offset_minutes(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':').filter(|(h, m)| h.len() == 2 && m.len() == 2)?;
    let hours = digits(hours).filter(|h| *h < 24)?;
    let minutes = digits(minutes).filter(|m| *m < 60)?;
    Some(sign * (i64::from(hours) * 60 + i64::from(minutes)))
}

fn digits(text: &str) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Writes a time in RFC 3339, in UTC and whole seconds (`2026-04-30T10:15:30Z`).
#[must_use]
pub fn rfc3339(moment: Timestamp) -> String {
    whole_second(moment).to_string()
}

/// Cuts a time to the whole second. It is not rounded up, because the time of a past event would
/// then lie in the reader's future.
#[must_use]
pub fn whole_second(moment: Timestamp) -> Timestamp {
    let down = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Floor);
    moment.round(down).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_moment_is_written_as_a_later_one() {
        for (text, expected) in [
            ("2026-04-30T10:15:30.999Z", "2026-04-30T10:15:30Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(text.parse().unwrap()), expected);
        }
    }

    #[test]
    fn moments_follow_rfc_3339_strictly() {
        for (text, expected) in [
            ("2026-05-03T11:00:00-07:00", Some("2026-05-03T18:00:00Z")),
            ("2026-05-03t11:00:00.5z", Some("2026-05-03T11:00:00.5Z")),
            ("2016-12-31T23:59:60Z", Some("2016-12-31T23:59:59Z")),
            ("2016-12-31T15:59:60-08:00", Some("2016-12-31T23:59:59Z")),
            ("9999-12-31T23:59:59-23:59", Some("9999-12-30T22:00:00.999999999Z")),
            ("2016-12-31T22:59:60Z", None),
            ("2026-05-03 11:00:00Z", None),
            ("2026-05-03T11:00:00", None),
            ("2026-05-03T11:00:00+0530", None),
            ("2026-02-29T11:00:00Z", None),
            ("2026-05-03T24:00:00Z", None),
            ("2026-05-03T11:00:00.Z", None),
            ("2026-05-03", None),
            ("२०२६-05-03T11:00:00Z", None),
            ("", None),
        ] {
            assert_eq!(timestamp(text).map(|t| t.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn addresses_follow_the_resolution_of_c_14() {
        for good in ["ada@example.com", "a.b+c@sub.example.co", "o'neil@example.ie"] {
            assert!(is_email(good), "{good}");
        }
        let long = format!("{}@example.com", "a".repeat(65));
        for bad in [
            "a@b",
            "John <a@b.com>",
            "a@@b.com",
            ".a@b.com",
            "a@b..com",
            "a b@c.de",
            "é@b.com",
            &long,
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }

    #[test]
    fn check_digits_are_those_of_iso_3779() {
        assert!(has_vin_check_digit("1M8GDM9AXKP042788"));
        assert!(has_vin_check_digit("11111111111111111"));
        assert!(!has_vin_check_digit("1M8GDM9A1KP042788"));
        assert!(!has_vin_check_digit("short"));
    }
}
