//! Reader for tables: HomeNet-style exports separated by comma, bar, tab or semicolon.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use csv::StringRecord;

use super::collect::RowSorter;
use super::columns::{CellMeaning, ColumnHeading, RowCells};
use super::mapping::Mapping;
use super::preset;
use super::report::{RowWarning, SkipReason};
use super::text::quote;
use super::{FeedError, MAX_CELL, MAX_ROW};
use chunk::TableRow;
use workers::TableItem;

mod chunk;
mod workers;

/// Name of the format in a report.
pub(super) const FORMAT: &str = "table";

const DELIMITERS: [(u8, &str); 4] =
    [(b',', "comma"), (b'|', "pipe"), (b'\t', "tab"), (b';', "semicolon")];

/// Number of bytes that are searched for the heading.
const MAX_HEADING_SEARCH: u64 = 256 * 1024;

/// Marker row appended to the text. If it is not read back as a row, a quotation mark is open.
const END_MARKER: &str = "\n\u{1e}end\n";

/// Reads a table.
pub(super) fn read(mut text: impl Read, sorter: &mut RowSorter<'_>) -> Result<(), FeedError> {
    let mut head = Vec::new();
    text.by_ref()
        .take(MAX_HEADING_SEARCH)
        .read_to_end(&mut head)
        .map_err(super::decode::unreadable)?;
    let preamble = separator_line(&head);
    let first = heading(head.get(preamble..).unwrap_or_default(), sorter.mapping.as_ref())?;
    let FirstRow { delimiter, name, headings, is_heading } = first;
    sorter.format(FORMAT, Some(name));
    sorter.guess(headings.iter().map(String::as_str));
    let columns: Vec<ColumnHeading> =
        headings.iter().map(|heading| sorter.heading(heading)).collect();
    sorter.check_mapping()?;

    let lines = Rc::new(RefCell::new(Lines::new(usize::from(preamble > 0))));
    let mut head = Cursor::new(head);
    head.set_position(preamble as u64);
    let numbered = LineCountingReader { text: head.chain(text), lines: Rc::clone(&lines) };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        // Rows of another length are checked one by one and do not end the reading.
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(super::decode::CHUNK)
        .from_reader(numbered.chain(END_MARKER.as_bytes()));
    // The heading is skipped here and not by the reader, because the mapping may have the headings
    // instead.
    let mut is_heading = is_heading;
    let unclosed = workers::sort(&columns, sorter, |record| {
        loop {
            lines.borrow_mut().row_starts();
            match reader.read_record(record) {
                Ok(true) => {}
                // The marker row is inside the last row.
                Ok(false) => return Ok(TableItem::Unclosed),
                Err(error) => {
                    let position = error.position().or_else(|| record.position());
                    let line = lines.borrow_mut().line_of(position);
                    if matches!(error.kind(), csv::ErrorKind::Io(_)) {
                        return Err(endless(line, &error));
                    }
                    return Ok(TableItem::NoRow(line));
                }
            }
            if std::mem::take(&mut is_heading) {
                continue;
            }
            if record.len() == 1 && record.get(0) == Some(END_MARKER.trim_matches('\n')) {
                return Ok(TableItem::End { is_cut_off: !lines.borrow().is_start });
            }
            if record.iter().any(|cell| !cell.trim().is_empty()) {
                return Ok(TableItem::Row(lines.borrow_mut().line_of(record.position())));
            }
        }
    })?;
    if let Some(line) = unclosed {
        let message = "a quotation mark opens in this row and is not closed; whatever follows it \
                       is lost";
        sorter.skip(line, SkipReason::OpenQuote, message.to_owned());
        let seen = format!("the quotation mark that opens in line {line} is never closed");
        sorter.truncated(seen);
    }
    Ok(())
}

/// Takes a row, unless its cells may not match their headings.
fn sort_row(
    row: &TableRow,
    columns: &[ColumnHeading],
    cells: &mut RowCells,
    sorter: &mut RowSorter<'_>,
) {
    let line = row.line;
    if row.is_cut_off && row.cells.len() < columns.len() {
        sorter.truncated(format!("the file ends in the middle of line {line}"));
    }
    if let Err((reason, message)) = check(row, columns.len()) {
        return sorter.skip(line, reason, message);
    }
    if row.cells.len() < columns.len() {
        let message = format!("{} cells for {} columns", row.cells.len(), columns.len());
        sorter.warn(RowWarning::FewCells, line, message);
    }
    cells.clear();
    for (heading, cell) in columns.iter().zip(row.cells.iter()) {
        cells.fill(heading, cell);
    }
    sorter.take(line, cells);
}

/// Checks that a row's cells match their headings.
fn check(row: &TableRow, columns: usize) -> Result<(), (SkipReason, String)> {
    if row.cells.iter().any(|cell| cell.len() > MAX_CELL) {
        let message = format!(
            "a cell has more than {} KiB; look for a quotation mark that is not closed",
            MAX_CELL >> 10
        );
        return Err((SkipReason::OversizedCell, message));
    }
    // Some exports end a row with empty cells.
    let has_extra_cells = row.cells.iter().skip(columns).any(|cell| !cell.trim().is_empty());
    if has_extra_cells {
        let message = format!(
            "{} cells for {columns} columns; put cells that contain the delimiter in quotes",
            row.cells.len()
        );
        return Err((SkipReason::TooManyCells, message));
    }
    if row.is_cut_off && row.cells.len() < columns {
        let message = "the last row is incomplete; was the upload interrupted?".to_owned();
        return Err((SkipReason::Truncated, message));
    }
    Ok(())
}

fn endless(line: usize, error: &csv::Error) -> FeedError {
    FeedError::new(
        format!("the row in line {line} cannot be read to its end: {error}"),
        "look for a quotation mark that is not closed",
    )
}

/// A reader that counts lines.
struct LineCountingReader<R> {
    text: R,
    lines: Rc<RefCell<Lines>>,
}

impl<R: Read> Read for LineCountingReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut lines = self.lines.borrow_mut();
        if lines.at - lines.row > MAX_ROW {
            let message = format!("it has more than {} MiB", MAX_ROW >> 20);
            return Err(io::Error::other(message));
        }
        let count = self.text.read(out)?;
        lines.pass(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Line numbers of rows, as editors count them. The CSV reader's own count is one short where lines
/// end with `\r\n`, because it ends a row at the `\r`, and its positions lie before line breaks and
/// empty lines that precede a row.
struct Lines {
    /// Positions and numbers of non-empty lines, without those of rows already read.
    starts: VecDeque<(u64, usize)>,
    at: u64,
    line: usize,
    /// True when the last byte ended a line.
    is_start: bool,
    after_return: bool,
    /// Position at which the current row was requested.
    row: u64,
}

impl Lines {
    fn new(before: usize) -> Self {
        let starts = VecDeque::new();
        Self { starts, at: 0, line: before + 1, is_start: true, after_return: false, row: 0 }
    }

    fn pass(&mut self, bytes: &[u8]) {
        let begun = self.at;
        let mut passed = 0;
        for found in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            self.skip_words(begun + passed as u64, found - passed);
            match bytes.get(found) {
                Some(b'\n') if std::mem::take(&mut self.after_return) => {}
                byte => {
                    self.line += 1;
                    self.is_start = true;
                    self.after_return = byte == Some(&b'\r');
                }
            }
            passed = found + 1;
        }
        self.skip_words(begun + passed as u64, bytes.len() - passed);
        self.at = begun + bytes.len() as u64;
    }

    /// Passes bytes without a line break.
    fn skip_words(&mut self, at: u64, count: usize) {
        if count > 0 {
            if std::mem::take(&mut self.is_start) {
                self.starts.push_back((at, self.line));
            }
            self.after_return = false;
        }
    }

    fn row_starts(&mut self) {
        self.row = self.at;
    }

    /// Returns the line on which the row at a position begins. Positions have to ascend.
    fn line_of(&mut self, position: Option<&csv::Position>) -> usize {
        let position = position.map_or(0, csv::Position::byte);
        while self.starts.front().is_some_and(|(at, _)| *at < position) {
            self.starts.pop_front();
        }
        self.starts.front().map_or(self.line, |(_, line)| *line)
    }
}

/// Returns the length of the `sep=;` line that spreadsheet programs write first; 0 when there is
/// none.
fn separator_line(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let line = text.get(..end).unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let line = line.trim_matches(['"', '\r', '\n']);
    let is_one = line.len() <= 5 && line.to_ascii_lowercase().starts_with("sep=");
    if is_one { end } else { 0 }
}

/// Interpretation of the first row of a table.
struct FirstRow {
    delimiter: u8,
    /// Name of the delimiter.
    name: &'static str,
    headings: Vec<String>,
    /// True when the row is a heading; otherwise the mapping has the headings, and the row is data.
    is_heading: bool,
}

/// Finds the delimiter with which most headings are known, and the headings.
fn heading(text: &[u8], mapping: Option<&Mapping>) -> Result<FirstRow, FeedError> {
    const HINT: &str = "start the table with a heading such as Type,Stock,VIN,Year,Make,Model, or \
                        name its columns in the headings of a mapping file";
    let mut best: Option<(usize, bool, FirstRow)> = None;
    for (delimiter, name) in DELIMITERS {
        let mut record = StringRecord::new();
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(text);
        if !matches!(reader.read_record(&mut record), Ok(true)) {
            continue;
        }
        let headings: Vec<String> = record.iter().map(str::to_owned).collect();
        let guessed = match mapping {
            Some(_) => None,
            None => preset::guess(headings.iter().map(String::as_str)),
        };
        let column = |heading: &String| match mapping.or(guessed.as_ref()) {
            Some(mapping) => mapping.understand(heading).column,
            None => CellMeaning::from_heading(heading),
        };
        let known = headings.iter().filter_map(column).count();
        let identifies = headings.iter().filter_map(column).any(CellMeaning::identifies);
        // When equally many are known, the delimiter that occurs most wins.
        let better = best
            .as_ref()
            .is_none_or(|(most, _, first)| (known, headings.len()) > (*most, first.headings.len()));
        if better {
            best =
                Some((known, identifies, FirstRow { delimiter, name, headings, is_heading: true }));
        }
    }
    let Some((_, identifies, first)) = best else {
        return Err(FeedError::new("the table has no heading", HINT));
    };
    if identifies {
        return Ok(first);
    }
    let positions = mapping.map(|mapping| mapping.positions.clone()).unwrap_or_default();
    if !positions.is_empty() {
        return Ok(FirstRow { headings: positions, is_heading: false, ..first });
    }
    let unmatched =
        mapping.and_then(|mapping| mapping.unmatched(first.headings.iter().map(String::as_str)));
    if let Some(unmatched) = unmatched {
        return Err(unmatched);
    }
    let found: Vec<String> = first.headings.iter().take(8).map(|h| quote(h)).collect();
    let message = format!(
        "the heading has no column VIN, Stock or vehicle_id; it begins with: {}",
        found.join(", ")
    );
    Err(FeedError::new(message, HINT))
}
