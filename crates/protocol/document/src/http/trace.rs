//! Reads and writes `traceparent`, which joins the work of several systems for one request (W3C
//! Trace Context §3.2).

use std::fmt;

use crate::format::hex;

/// The name of the header.
pub const TRACEPARENT: &str = "traceparent";

/// A position in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// The trace id.
    pub id: [u8; 16],
    /// The id of the current span.
    pub span: [u8; 8],
    /// True when the caller records the trace.
    pub is_sampled: bool,
}

impl Trace {
    /// Reads a header. `None` if it is invalid, which is to be treated like an absent one.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let [version] = digits(parts.next()?)?;
        let id = digits(parts.next()?)?;
        let span = digits(parts.next()?)?;
        let [flags] = digits(parts.next()?)?;
        // Later versions may append fields; version 0 may not, and version 255 is invalid.
        let has_more = parts.next().is_some();
        let is_known = version != 0xff && !(version == 0 && has_more);
        let is_nobody = id == [0; 16] || span == [0; 8];
        (is_known && !is_nobody).then_some(Self { id, span, is_sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(f, "00-{}-{}-{flags:02x}", hex(&self.id), hex(&self.span))
    }
}

/// Reads bytes in lower-case hexadecimal digits.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if text.len() != 2 * N || !is_hex {
        return None;
    }
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_read_is_written_again() {
        let trace = Trace::read(PUBLISHED).unwrap();
        assert!(trace.is_sampled);
        assert_eq!(trace.to_string(), PUBLISHED);
        let silent = PUBLISHED.replace("-01", "-00");
        assert_eq!(Trace::read(&silent).unwrap().to_string(), silent);
        let later = format!("{}-what-comes", PUBLISHED.replace("00-4", "cc-4"));
        assert_eq!(Trace::read(&later), Some(trace), "a later version");
    }

    #[test]
    fn what_is_no_trace_is_none() {
        for text in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47é6-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Trace::read(text), None, "{text}");
        }
    }
}
