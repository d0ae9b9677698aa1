//! Some rows of a table, as they came, to be read by whoever has time.

use csv::StringRecord;

/// How many rows and bytes are read at once. A row is taken whole, so that there may be more bytes.
const ROWS: usize = 512;
const BYTES: usize = 512 * 1024;

/// Rows one after another, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    text: String,
    /// Where each cell ends in the text.
    ends: Vec<usize>,
    rows: Vec<Row>,
}

/// A row.
#[derive(Debug, Clone, Copy)]
struct Row {
    line: usize,
    /// How many cells and bytes there are before it.
    cells: usize,
    bytes: usize,
    /// Whether the file ends in the middle of it.
    is_cut_off: bool,
}

/// A row of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut<'c> {
    /// The line on which it begins.
    pub(super) line: usize,
    /// Whether the file ends without a break behind it.
    pub(super) is_cut_off: bool,
    text: &'c str,
    begin: usize,
    ends: &'c [usize],
}

impl Chunk {
    /// Whether it is time to read what is there.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= ROWS || self.text.len() >= BYTES
    }

    pub(super) fn push(&mut self, line: usize, record: &StringRecord) {
        let (cells, bytes) = (self.ends.len(), self.text.len());
        self.rows.push(Row { line, cells, bytes, is_cut_off: false });
        for cell in record {
            self.text.push_str(cell);
            self.ends.push(self.text.len());
        }
    }

    /// Takes the last row out again; its line.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let row = self.rows.pop()?;
        self.ends.truncate(row.cells);
        self.text.truncate(row.bytes);
        Some(row.line)
    }

    /// Notes that the file ends without a break behind the last row.
    pub(super) fn cut_off(&mut self) {
        if let Some(last) = self.rows.last_mut() {
            last.is_cut_off = true;
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Cut<'_>> {
        let next = self.rows.iter().skip(1).map(|row| row.cells).chain([self.ends.len()]);
        self.rows.iter().zip(next).map(|(row, end)| Cut {
            line: row.line,
            is_cut_off: row.is_cut_off,
            text: &self.text,
            begin: row.bytes,
            ends: self.ends.get(row.cells..end).unwrap_or_default(),
        })
    }

    /// An empty one in the same room, unless an enormous row has made that large.
    pub(super) fn emptied(mut self) -> Self {
        if self.text.capacity() > 4 * BYTES || self.ends.capacity() > BYTES {
            return Self::default();
        }
        self.text.clear();
        self.ends.clear();
        self.rows.clear();
        self
    }
}

impl<'c> Cut<'c> {
    pub(super) const fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn cells(self) -> impl Iterator<Item = &'c str> {
        let begins = std::iter::once(self.begin).chain(self.ends.iter().copied());
        let text = self.text;
        begins.zip(self.ends).map(|(begin, end)| text.get(begin..*end).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = [vec!["a", "", "ü"], vec![], vec!["", "b"], vec!["last"]];
        let mut chunk = Chunk::default();
        for round in 0..2 {
            for (line, row) in rows.iter().enumerate() {
                chunk.push(line, &StringRecord::from(row.clone()));
            }
            assert_eq!(chunk.pop(), Some(3));
            chunk.cut_off();
            let found: Vec<_> = chunk
                .rows()
                .map(|row| {
                    let cells: Vec<&str> = row.cells().collect();
                    assert_eq!(cells.len(), row.len());
                    (row.line, row.is_cut_off, cells)
                })
                .collect();
            let expected = rows[..3].iter().enumerate();
            let expected: Vec<_> = expected.map(|(at, row)| (at, at == 2, row.clone())).collect();
            assert_eq!(found, expected, "{round}");
            chunk = chunk.emptied();
            assert_eq!(chunk.rows().count(), 0);
        }
    }

    #[test]
    fn room_of_an_enormous_row_is_given_back() {
        let mut chunk = Chunk::default();
        chunk.push(1, &StringRecord::from(vec!["x".repeat(5 * BYTES)]));
        assert!(chunk.is_full());
        assert_eq!(chunk.emptied().text.capacity(), 0);
    }
}
