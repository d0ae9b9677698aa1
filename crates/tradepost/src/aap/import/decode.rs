//! From bytes to text, and from text to the kind of feed it is.

use std::borrow::Cow;

use super::Unreadable;

/// The text of a feed.
#[derive(Debug)]
pub(super) struct Decoded<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) encoding: &'static str,
    /// How many byte sequences could not be read.
    pub(super) replaced: usize,
}

/// Finds out the encoding. Without a byte order mark it is UTF-8, or Windows-1252 when what looks
/// like UTF-8 in it is rarer than what does not.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, Unreadable> {
    refuse_containers(bytes)?;
    if let Some((encoding, mark)) = encoding_rs::Encoding::for_bom(bytes) {
        let (text, had_errors) =
            encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default());
        let replaced = if had_errors { replacements(&text) } else { 0 };
        return checked(text, encoding.name(), replaced);
    }
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    if bad == 0 || good > bad {
        return checked(String::from_utf8_lossy(bytes), "UTF-8", bad);
    }
    let encoding = encoding_rs::WINDOWS_1252;
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    checked(text, encoding.name(), 0)
}

fn checked<'a>(
    text: Cow<'a, str>,
    encoding: &'static str,
    replaced: usize,
) -> Result<Decoded<'a>, Unreadable> {
    const HINT: &str = "give a HomeNet-style table with a heading, or AAP JSON";
    let start = text.trim_start();
    if start.is_empty() {
        return Err(Unreadable::new("the feed is empty", HINT));
    }
    if start.starts_with('<') {
        return Err(Unreadable::new("the file is HTML or XML, not a feed", HINT));
    }
    Ok(Decoded { text, encoding, replaced })
}

fn replacements(text: &str) -> usize {
    text.matches('\u{FFFD}').count().max(1)
}

fn refuse_containers(bytes: &[u8]) -> Result<(), Unreadable> {
    let zip = bytes.starts_with(b"PK\x03\x04");
    if zip || bytes.starts_with(b"\x1f\x8b") {
        return Err(Unreadable::new(
            "the file is compressed, or a spreadsheet",
            "unpack it, or export the sheet as CSV",
        ));
    }
    Ok(())
}

/// Whether a text is JSON rather than a table.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{'])
}
