//! Decoding of a feed's bytes to UTF-8, and detection of its kind.

use std::io::{self, BufRead, Read};

use encoding_rs::{CoderResult, Decoder, DecoderResult, Encoding, UTF_8, WINDOWS_1252};

use super::FeedError;

/// Number of bytes decoded at once.
pub(super) const CHUNK: usize = 64 * 1024;

/// Result of the first pass over a file.
#[derive(Debug)]
pub(super) struct FirstPass {
    pub(super) encoding: &'static Encoding,
    /// Number of byte sequences that cannot be decoded.
    pub(super) replaced: usize,
    /// Kind of feed.
    pub(super) kind: FeedKind,
}

/// Kind of feed, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeedKind {
    Json,
    Xml,
    Table,
}

/// Detects encoding and kind. Without a byte order mark the encoding is UTF-8, or Windows-1252 when
/// invalid UTF-8 sequences are at least as frequent as valid ones.
pub(super) fn detect(source: &mut impl BufRead) -> Result<FirstPass, FeedError> {
    let start = source.fill_buf().map_err(unreadable)?;
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"\x1f\x8b") {
        return Err(FeedError::new(
            "the file is packed more than once, or a spreadsheet",
            "pack it once, or export the sheet as CSV",
        ));
    }
    let marked = Encoding::for_bom(start).map(|(encoding, _)| encoding);
    let encoding = marked.unwrap_or(UTF_8);
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = vec![0; CHUNK];
    let mut good = 0usize;
    let mut bad = 0usize;
    let mut first = None;
    let mut ascii = Ascii::default();
    loop {
        let mut input = source.fill_buf().map_err(unreadable)?;
        let size = input.len();
        let last = input.is_empty();
        if first.is_some() && ascii.passes(encoding, input) {
            source.consume(size);
            continue;
        }
        loop {
            let (result, read, written) =
                decoder.decode_to_utf8_without_replacement(input, &mut text, last);
            let decoded = text.get(..written).unwrap_or_default();
            // Every non-ASCII character begins with one such byte.
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
        None if bad == 0 => return Err(FeedError::new("the feed is empty", HINT)),
        Some(b'<') => FeedKind::Xml,
        Some(b'[' | b'{') => FeedKind::Json,
        Some(_) | None => FeedKind::Table,
    };
    // A byte order mark wins over the content.
    if marked.is_some() || bad == 0 || good > bad {
        Ok(FirstPass { encoding, replaced: bad, kind })
    } else {
        // In Windows-1252 every byte is a character.
        Ok(FirstPass { encoding: WINDOWS_1252, replaced: 0, kind })
    }
}

/// Detects ASCII chunks, which need no decoding.
#[derive(Debug, Default)]
struct Ascii {
    /// True when the decoder has started and holds no incomplete character.
    is_between: bool,
}

impl Ascii {
    /// Returns true when the next bytes need no decoder. The first ones do, because of a byte order
    /// mark.
    fn passes(&mut self, encoding: &'static Encoding, bytes: &[u8]) -> bool {
        let was_between = std::mem::replace(
            &mut self.is_between,
            encoding == UTF_8 && bytes.last().is_some_and(u8::is_ascii),
        );
        was_between && !bytes.is_empty() && Encoding::ascii_valid_up_to(bytes) == bytes.len()
    }
}

/// Returns the error for a file that cannot be read to its end.
pub(super) fn unreadable(error: io::Error) -> FeedError {
    FeedError::new(format!("the feed cannot be read: {error}"), "look whether the file is whole")
}

/// Decodes a feed to UTF-8, without a byte order mark.
pub(super) struct Utf8<R> {
    source: R,
    decoder: Decoder,
    text: Vec<u8>,
    /// Range of `text` that has not been read.
    rest: std::ops::Range<usize>,
    encoding: &'static Encoding,
    ascii: Ascii,
    is_over: bool,
}

impl<R: BufRead> Utf8<R> {
    pub(super) fn new(source: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        let text = vec![0; CHUNK];
        let ascii = Ascii::default();
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
            // Bytes left over belong to the decoder.
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
