//! From bytes to text, and from text to the kind of feed it is.

use std::io::{self, BufRead, Read};

use encoding_rs::{CoderResult, Decoder, DecoderResult, Encoding, UTF_8, WINDOWS_1252};

use super::Unreadable;

/// How many bytes are decoded at once.
pub(super) const CHUNK: usize = 64 * 1024;

/// What a first look at a whole file tells.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) encoding: &'static Encoding,
    /// How many byte sequences cannot be read.
    pub(super) replaced: usize,
    /// What it is.
    pub(super) kind: Kind,
}

/// What kind of text a feed is, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Xml,
    Table,
}

/// Finds out the encoding. Without a byte order mark it is UTF-8, or Windows-1252 when what looks
/// like UTF-8 in it is rarer than what does not.
pub(super) fn survey(source: &mut impl BufRead) -> Result<Survey, Unreadable> {
    let start = source.fill_buf().map_err(unreadable)?;
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"\x1f\x8b") {
        return Err(Unreadable::new(
            "the file is packed more than once, or a spreadsheet",
            "pack it once, or export the sheet as CSV",
        ));
    }
    let marked = Encoding::for_bom(start).map(|(encoding, _)| encoding);
    let encoding = marked.unwrap_or(UTF_8);
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = vec![0; CHUNK];
    let (mut good, mut bad, mut first) = (0usize, 0usize, None);
    let mut ascii = Ascii::default();
    loop {
        let mut input = source.fill_buf().map_err(unreadable)?;
        let (size, last) = (input.len(), input.is_empty());
        if first.is_some() && ascii.passes(encoding, input) {
            source.consume(size);
            continue;
        }
        loop {
            let (result, read, written) =
                decoder.decode_to_utf8_without_replacement(input, &mut text, last);
            let decoded = text.get(..written).unwrap_or_default();
            // Every character outside of ASCII begins with one such byte.
            good += decoded.iter().filter(|byte| **byte >= 0xC0).count();
            first =
                first.or_else(|| decoded.iter().copied().find(|byte| !byte.is_ascii_whitespace()));
            input = input.get(read..).unwrap_or_default();
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(_, _) => bad += 1,
            }
        }
        source.consume(size);
        if last {
            break;
        }
    }
    const HINT: &str = "give a table with a heading, AAP JSON, or XML of a format that is known";
    let kind = match first {
        None if bad == 0 => return Err(Unreadable::new("the feed is empty", HINT)),
        Some(b'<') => Kind::Xml,
        Some(b'[' | b'{') => Kind::Json,
        Some(_) | None => Kind::Table,
    };
    // A mark is believed, whatever follows it.
    if marked.is_some() || bad == 0 || good > bad {
        Ok(Survey { encoding, replaced: bad, kind })
    } else {
        // There every byte is a character.
        Ok(Survey { encoding: WINDOWS_1252, replaced: 0, kind })
    }
}

/// Tells what is text as it stands, which most of most feeds is.
#[derive(Debug, Default)]
struct Ascii {
    /// Whether the decoder has been given something, and waits for nothing.
    is_between: bool,
}

impl Ascii {
    /// Whether the next bytes need no decoder. The first ones do, because of a byte order mark.
    fn passes(&mut self, encoding: &'static Encoding, bytes: &[u8]) -> bool {
        let was_between = std::mem::replace(
            &mut self.is_between,
            encoding == UTF_8 && bytes.last().is_some_and(u8::is_ascii),
        );
        was_between && !bytes.is_empty() && Encoding::ascii_valid_up_to(bytes) == bytes.len()
    }
}

/// A file that cannot be read to its end.
pub(super) fn unreadable(error: io::Error) -> Unreadable {
    Unreadable::new(format!("the feed cannot be read: {error}"), "look whether the file is whole")
}

/// The text of a feed as UTF-8, without a byte order mark.
pub(super) struct Utf8<R> {
    source: R,
    decoder: Decoder,
    text: Vec<u8>,
    /// What of `text` has not been handed out.
    rest: std::ops::Range<usize>,
    encoding: &'static Encoding,
    ascii: Ascii,
    is_over: bool,
}

impl<R: BufRead> Utf8<R> {
    pub(super) fn new(source: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        let (text, ascii) = (vec![0; CHUNK], Ascii::default());
        Self { source, decoder, text, rest: 0..0, encoding, ascii, is_over: false }
    }
}

impl<R: BufRead> Read for Utf8<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.is_over {
            let input = self.source.fill_buf()?;
            let last = input.is_empty();
            if self.ascii.passes(self.encoding, input) {
                let count = (&*input).read(out)?;
                self.source.consume(count);
                return Ok(count);
            }
            let (result, read, written, _) =
                self.decoder.decode_to_utf8(input, &mut self.text, last);
            self.source.consume(read);
            // What is left of these bytes is the decoder's.
            self.ascii.is_between &= result == CoderResult::InputEmpty;
            self.rest = 0..written;
            self.is_over = last && result == CoderResult::InputEmpty;
        }
        let mut ready = self.text.get(self.rest.clone()).unwrap_or_default();
        let count = ready.read(out)?;
        self.rest.start += count;
        Ok(count)
    }
}
