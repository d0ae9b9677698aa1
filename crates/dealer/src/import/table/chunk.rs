//! Some rows of a table, as they came, to be read by whoever has time.

use csv::StringRecord;

/// How many rows and bytes are read at once. A row is taken whole, so that there may be more bytes.
const ROWS: usize = 512;
const BYTES: usize = 512 * 1024;

/// How large a row may be whose room is used again, in bytes.
const REUSED: usize = 4 * 1024;

/// Rows one after another, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// The rows, and behind them room for more.
    rows: Vec<Row>,
    used: usize,
    bytes: usize,
}

/// A row.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The line on which it begins.
    pub(super) line: usize,
    /// Its cells.
    pub(super) cells: StringRecord,
    /// Whether the file ends without a break behind it.
    pub(super) is_cut_off: bool,
}

impl Chunk {
    /// Whether it is time to read what is there.
    pub(super) fn is_full(&self) -> bool {
        self.used >= ROWS || self.bytes >= BYTES
    }

    /// Takes a row, and leaves room for another one in its place.
    pub(super) fn push(&mut self, line: usize, cells: &mut StringRecord) {
        if self.used == self.rows.len() {
            self.rows.push(Row::default());
        }
        self.bytes += cells.as_slice().len();
        if let Some(row) = self.rows.get_mut(self.used) {
            (row.line, row.is_cut_off) = (line, false);
            std::mem::swap(&mut row.cells, cells);
        }
        self.used += 1;
    }

    /// Takes the last row out again; its line.
    pub(super) fn pop(&mut self) -> Option<usize> {
        self.used = self.used.checked_sub(1)?;
        self.rows.get(self.used).map(|row| row.line)
    }

    /// Notes that the file ends without a break behind the last row.
    pub(super) fn cut_off(&mut self) {
        let last = self.used.checked_sub(1).and_then(|last| self.rows.get_mut(last));
        if let Some(last) = last {
            last.is_cut_off = true;
        }
    }

    pub(super) fn rows(&self) -> &[Row] {
        self.rows.get(..self.used).unwrap_or_default()
    }

    /// An empty one in the same room, without that of enormous rows.
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
        let mut chunk = Chunk::default();
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
        let mut chunk = Chunk::default();
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
