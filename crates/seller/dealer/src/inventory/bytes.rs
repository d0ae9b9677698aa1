//! Serialisation of numbers and texts to bytes and back. Input is not trusted: memory is allocated
//! only for bytes that are present.

use std::io;

use sha2::{Digest as _, Sha256};

use super::codes::RowCodes;
use super::snapshot::SnapshotError;
use super::texts::Texts;

/// Error for truncated data.
const SHORT: SnapshotError = SnapshotError("it is cut off");

/// Destination of bytes.
pub(super) trait ByteSink {
    fn put(&mut self, bytes: &[u8]);
}

impl ByteSink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl ByteSink for Sha256 {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

/// A file or similar. Errors are reported at the end.
#[derive(Debug)]
pub(super) struct FileSink<W> {
    pub(super) to: W,
    pub(super) done: io::Result<()>,
}

impl<W: io::Write> ByteSink for FileSink<W> {
    fn put(&mut self, bytes: &[u8]) {
        if self.done.is_ok() {
            self.done = self.to.write_all(bytes);
        }
    }
}

/// Writer of little-endian values.
#[derive(Debug, Default)]
pub(super) struct ByteWriter<S>(pub(super) S);

impl<S: ByteSink> ByteWriter<S> {
    pub(super) fn u8(&mut self, number: u8) {
        self.0.put(&[number]);
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.0.put(&number.to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.0.put(&number.to_le_bytes());
    }

    pub(super) fn size(&mut self, size: usize) {
        self.u64(size as u64);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.size(bytes.len());
        self.0.put(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn maybe_text(&mut self, text: Option<&str>) {
        self.u8(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    pub(super) fn u32s(&mut self, numbers: &[u32]) {
        self.size(numbers.len());
        numbers.iter().for_each(|number| self.u32(*number));
    }

    pub(super) fn texts(&mut self, texts: &Texts) {
        self.text(&texts.all);
        self.u32s(&texts.ends);
    }

    pub(super) fn codes(&mut self, codes: &RowCodes) {
        match codes {
            RowCodes::One(codes) => self.0.put(codes),
            RowCodes::Two(codes) => codes.iter().for_each(|code| self.0.put(&code.to_le_bytes())),
            RowCodes::Four(codes) => codes.iter().for_each(|code| self.u32(*code)),
        }
    }
}

/// Reader over the remaining bytes.
#[derive(Debug)]
pub(super) struct ByteReader<'b>(pub(super) &'b [u8]);

impl<'b> ByteReader<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], SnapshotError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Reads one byte that tells the kind of the next value.
    pub(super) fn kind(&mut self) -> Result<u8, SnapshotError> {
        self.array().map(|[kind]| kind)
    }

    pub(super) fn u32(&mut self) -> Result<u32, SnapshotError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, SnapshotError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, SnapshotError> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn size(&mut self) -> Result<usize, SnapshotError> {
        self.u64().and_then(|size| usize::try_from(size).map_err(|_| SHORT))
    }

    pub(super) fn bytes(&mut self) -> Result<&'b [u8], SnapshotError> {
        let size = self.size()?;
        self.take(size)
    }

    pub(super) fn text(&mut self) -> Result<&'b str, SnapshotError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| SnapshotError("a text is none"))
    }

    pub(super) fn maybe_text(&mut self) -> Result<Option<&'b str>, SnapshotError> {
        match self.array()? {
            [0] => Ok(None),
            [_] => self.text().map(Some),
        }
    }

    pub(super) fn u32s(&mut self) -> Result<Vec<u32>, SnapshotError> {
        let count = self.size()?;
        self.wide(count)
    }

    fn wide(&mut self, count: usize) -> Result<Vec<u32>, SnapshotError> {
        let bytes = self.take(count.checked_mul(4).ok_or(SHORT)?)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    pub(super) fn texts(&mut self) -> Result<Texts, SnapshotError> {
        let all = self.text()?.to_owned();
        let ends = self.u32s()?;
        Texts::from_parts(all, ends).ok_or(SnapshotError("texts end where they cannot"))
    }

    /// Reads the codes of this many rows, each below `distinct` or absent.
    pub(super) fn codes(
        &mut self,
        rows: usize,
        distinct: usize,
    ) -> Result<RowCodes, SnapshotError> {
        // Every distinct value occurs in some row.
        if distinct > rows {
            return Err(SnapshotError("a column has more values than rows"));
        }
        // The width of codes is not written: it follows from the number of values, as in
        // `RowCodes::new`.
        let codes = if distinct <= usize::from(u8::MAX) {
            RowCodes::One(self.take(rows)?.to_vec())
        } else if distinct <= usize::from(u16::MAX) {
            let bytes = self.take(rows.checked_mul(2).ok_or(SHORT)?)?;
            let codes = bytes.as_chunks().0.iter();
            RowCodes::Two(codes.map(|bytes| u16::from_le_bytes(*bytes)).collect())
        } else {
            RowCodes::Four(self.wide(rows)?)
        };
        if codes.are_below(distinct) {
            Ok(codes)
        } else {
            Err(SnapshotError("a code stands for nothing"))
        }
    }
}
