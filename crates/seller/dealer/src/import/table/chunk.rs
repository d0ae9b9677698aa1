//! Chunks of unparsed rows, to be processed by any thread.

use csv::StringRecord;

/// Number of rows and bytes in a full chunk. Rows are not split, so a chunk may have more bytes.
const ROWS: usize = 512;
const BYTES: usize = 512 * 1024;

/// Maximum size in bytes of a row whose allocation is reused.
const REUSED: usize = 4 * 1024;

/// Rows in the order of the file.
#[derive(Debug, Default)]
pub(super) struct RowChunk {
    /// Rows, followed by allocations for more.
    rows: Vec<TableRow>,
    used: usize,
    bytes: usize,
}

/// A row of a table.
#[derive(Debug, Default)]
pub(super) struct TableRow {
    /// Line on which it begins.
    pub(super) line: usize,
    /// Its cells.
    pub(super) cells: StringRecord,
    /// True when the file ends without a line break after it.
    pub(super) is_cut_off: bool,
}

impl RowChunk {
    /// Returns true when the chunk should be processed.
    pub(super) fn is_full(&self) -> bool {
        self.used >= ROWS || self.bytes >= BYTES
    }

    /// Takes a row, and leaves an allocation for another one in its place.
    pub(super) fn push(&mut self, line: usize, cells: &mut StringRecord) {
        if self.used == self.rows.len() {
            self.rows.push(TableRow::default());
        }
        self.bytes += cells.as_slice().len();
        if let Some(row) = self.rows.get_mut(self.used) {
            row.line = line;
            row.is_cut_off = false;
            std::mem::swap(&mut row.cells, cells);
        }
        self.used += 1;
    }

    /// Removes the last row and returns its line.
    pub(super) fn pop(&mut self) -> Option<usize> {
        self.used = self.used.checked_sub(1)?;
        self.rows.get(self.used).map(|row| row.line)
    }

    /// Records that the file ends without a line break after the last row.
    pub(super) fn cut_off(&mut self) {
        let last = self.used.checked_sub(1).and_then(|last| self.rows.get_mut(last));
        if let Some(last) = last {
            last.is_cut_off = true;
        }
    }

    pub(super) fn rows(&self) -> &[TableRow] {
        self.rows.get(..self.used).unwrap_or_default()
    }

    /// Empties the chunk for reuse, without the allocations of very large rows.
    pub(super) fn emptied(mut self) -> Self {
        self.rows.retain(|row| row.cells.as_slice().len() <= REUSED);
        Self { rows: self.rows, used: 0, bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = [vec!["a", "", "ü"], vec![], vec!["", "b"], vec!["last"]];
        let mut chunk = RowChunk::default();
        for round in 0..2 {
            for (line, row) in rows.iter().enumerate() {
                chunk.push(line, &mut StringRecord::from(row.clone()));
            }
            assert_eq!(chunk.pop(), Some(3));
            chunk.cut_off();
            let found = chunk.rows().iter();
            let found: Vec<_> = found
                .map(|row| (row.line, row.is_cut_off, row.cells.iter().collect::<Vec<_>>()))
                .collect();
            let expected = rows[..3].iter().enumerate();
            let expected: Vec<_> = expected.map(|(at, row)| (at, at == 2, row.clone())).collect();
            assert_eq!(found, expected, "{round}");
            chunk = chunk.emptied();
            assert!(chunk.rows().is_empty());
        }
    }

    #[test]
    fn room_of_enormous_rows_is_given_back() {
        let mut chunk = RowChunk::default();
        let mut room = StringRecord::new();
        for size in [REUSED, REUSED + 1, 1] {
            let mut row = StringRecord::from(vec!["x".repeat(size)]);
            chunk.push(1, &mut row);
            room = row;
        }
        assert!(room.is_empty() && !chunk.is_full());
        chunk.push(1, &mut StringRecord::from(vec!["x".repeat(BYTES)]));
        assert!(chunk.is_full());
        assert_eq!(chunk.emptied().rows.len(), 2);
    }
}
