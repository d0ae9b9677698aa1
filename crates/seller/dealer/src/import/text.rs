//! Texts of feeds: quoting in messages, and recognition of web addresses.

use tradepost_document::format;

/// Maximum number of characters of a feed's value in a message.
const MAX_QUOTED: usize = 40;

/// Maximum length of an address in bytes.
const MAX_ADDRESS: usize = 2_000;

/// Quotes a value of the feed for a message: shortened, and without control characters.
pub(super) fn quote(value: &str) -> String {
    let mut characters = value.trim().chars();
    let mut out: String = characters
        .by_ref()
        .take(MAX_QUOTED)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns true for an absolute http(s) address with a host.
pub(super) fn is_web_address(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        let head = text.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then(|| text.get(scheme.len()..))?
    });
    // An address of unreserved characters needs no full parse. No early exit, so that the compiler
    // can vectorise the loop.
    let is_plain = |rest: &str| {
        let fits = |b: u8| (b'-'..=b'9').contains(&b) | b.is_ascii_alphabetic() | (b == b'_');
        rest.bytes().fold(true, |so_far, byte| so_far & fits(byte))
    };
    text.len() <= MAX_ADDRESS
        && rest.is_some_and(|rest| {
            !rest.is_empty()
                && !rest.starts_with(['/', '?', '#', ':'])
                && (is_plain(rest) || format::is_uri(text))
        })
}
