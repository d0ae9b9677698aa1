//! Validity of a certificate (RFC 5280 §4.1.2.5), which neither rustls nor webpki returns.
//! Certificates read here have been verified, or are our own.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the end of a certificate's validity, when it has the form that RFC 5280 requires.
pub(super) fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    validity(certificate).map(|(_, end)| end)
}

/// Returns the start and the end of a certificate's validity.
pub(super) fn validity(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate, _) = element(certificate)?;
    let (_, fields, _) = element(certificate)?;
    // The version is optional; serialNumber, signature and issuer follow it.
    let (tag, _, rest) = element(fields)?;
    let mut fields = if tag == VERSION { rest } else { fields };
    for _ in 0..3 {
        (_, _, fields) = element(fields)?;
    }
    let (tag, validity, _) = element(fields)?;
    let (begin_tag, begin, rest) = element(validity).filter(|_| tag == SEQUENCE)?;
    let (end_tag, end, _) = element(rest)?;
    let read = |tag, text| time(tag, std::str::from_utf8(text).ok()?);
    Some((read(begin_tag, begin)?, read(end_tag, end)?))
}

/// Returns the first element: its tag, its content, and the bytes after it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..0x80 => (usize::from(first), rest),
        // Three bytes are enough for the length of any certificate.
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        0x80 | 0x84.. => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Parses a time of ASN.1.
fn time(tag: u8, text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix('Z')?;
    let full = match tag {
        // A year of two digits means 1950 to 2049.
        UTC_TIME if digits.get(..2)? < "50" => format!("20{digits}"),
        UTC_TIME => format!("19{digits}"),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let when = DateTime::strptime("%Y%m%d%H%M%S", &full).ok()?;
    when.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    static VALID_CERTIFICATE: LazyLock<Vec<u8>> = LazyLock::new(|| certificate(2030));

    fn certificate(year: i32) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 3, 2);
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_end_is_read_from_either_form_of_time() {
        for (year, end) in [
            (1975, "1975-03-02T00:00:00Z"),
            (2049, "2049-03-02T00:00:00Z"),
            (2050, "2050-03-02T00:00:00Z"),
            (4096, "4096-03-02T00:00:00Z"),
        ] {
            assert_eq!(not_after(&certificate(year)), Some(end.parse().unwrap()));
        }
    }

    #[test]
    fn the_beginning_is_read_beside_the_end() {
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2029, 12, 3);
        params.not_after = rcgen::date_time_ymd(2051, 3, 2);
        let key = rcgen::KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap().der().to_vec();
        let begin = "2029-12-03T00:00:00Z";
        let end = "2051-03-02T00:00:00Z";
        assert_eq!(validity(&der), Some((begin.parse().unwrap(), end.parse().unwrap())));
    }

    proptest! {
        #[test]
        fn damage_is_survived(at in 0..400_usize, byte: u8, cut in 0..400_usize) {
            let mut bytes = VALID_CERTIFICATE.clone();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = not_after(&bytes);
            let _ = not_after(&bytes[..cut.min(bytes.len())]);
        }
    }
}
