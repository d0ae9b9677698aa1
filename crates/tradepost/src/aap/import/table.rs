//! Tables: HomeNet-style exports separated by comma, pipe, tab or semicolon.

use csv::StringRecord;

use super::collect::Collector;
use super::columns::{Cells, Column, is_silent};
use super::map::Source;
use super::report::{Reason, Warning, quote};
use super::{MAX_CELL, Unreadable};

const DELIMITERS: [(u8, &str); 4] =
    [(b',', "comma"), (b'|', "pipe"), (b'\t', "tab"), (b';', "semicolon")];

/// How often progress is told, in rows.
const TELL_EVERY: usize = 256;

/// Reads a table.
pub(super) fn read(
    text: &str,
    collector: &mut Collector<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(), Unreadable> {
    collector.report.format = "table";
    let (preamble, body) = without_separator_line(text);
    let (delimiter, name, heading) = heading(body)?;
    collector.report.delimiter = Some(name);
    let columns: Vec<Option<Column>> = heading.iter().map(|name| Column::named(name)).collect();
    for (column, name) in columns.iter().zip(&heading) {
        if column.is_none() && !is_silent(name) {
            collector.report.ignore(name);
        }
    }

    let mut lines = Lines::new(body, 1 + preamble.matches('\n').count());
    let mut reader = reader(body, delimiter);
    let mut record = StringRecord::new();
    let mut cells = Cells::new();
    let mut is_heading = true;
    let mut rows = 0;
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let line = lines.of(error.position());
                let message = "the row cannot be read".to_owned();
                collector.skip(line, Reason::Malformed, message);
                continue;
            }
        }
        if std::mem::take(&mut is_heading) {
            continue;
        }
        if record.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        rows += 1;
        if rows % TELL_EVERY == 0 {
            progress(preamble.len() + reader.position().byte() as usize, text.len());
        }
        let line = lines.of(record.position());
        let is_last = reader.position().byte() as usize >= body.len();
        let cut_off = is_last && !text.ends_with(['\n', '\r']);
        if let Err((reason, message)) = check(&record, columns.len(), cut_off) {
            collector.skip(line, reason, message);
            continue;
        }
        if record.len() < columns.len() {
            let message = format!("{} cells for {} columns", record.len(), columns.len());
            collector.report.warn(Warning::FewCells, Some(line), message);
        }
        cells.clear();
        for (column, cell) in columns.iter().zip(&record) {
            if let Some(column) = column {
                cells.fill(*column, cell);
            }
        }
        collector.take(line, &cells, Source::Table);
    }
    progress(text.len(), text.len());
    Ok(())
}

/// Tells the lines of rows, as editors count them. The reader's own count is one short where lines
/// end with `\r\n`, because it ends a row at the `\r`.
struct Lines<'t> {
    text: &'t [u8],
    /// Up to where lines have been counted; never between a `\r` and its `\n`.
    at: usize,
    line: usize,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str, first: usize) -> Self {
        Self { text: text.as_bytes(), at: 0, line: first }
    }

    /// The line on which the row at a position begins. Positions have to ascend.
    fn of(&mut self, position: Option<&csv::Position>) -> usize {
        let is_break = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
        // The position is before the line breaks and empty lines that precede the row.
        let start = position.map_or(self.at, |at| (at.byte() as usize).max(self.at));
        let gap = self.text.get(start..).unwrap_or_default().iter().take_while(is_break).count();
        let passed = self.text.get(self.at..start + gap).unwrap_or_default();
        let newlines = passed.iter().filter(|byte| **byte == b'\n').count();
        let pairs = passed.windows(2).filter(|pair| *pair == b"\r\n").count();
        let returns = passed.iter().filter(|byte| **byte == b'\r').count();
        self.line += newlines + returns - pairs;
        self.at = start + gap;
        self.line
    }
}

/// Whether a row's cells can be trusted to stand under their headings.
fn check(record: &StringRecord, columns: usize, cut_off: bool) -> Result<(), (Reason, String)> {
    if record.iter().any(|cell| cell.len() > MAX_CELL) {
        let message = format!(
            "a cell has more than {} KiB; look for a quotation mark that is not closed",
            MAX_CELL >> 10
        );
        return Err((Reason::OversizedCell, message));
    }
    let surplus = record.iter().skip(columns).any(|cell| !cell.trim().is_empty());
    if surplus {
        let message = format!(
            "{} cells for {columns} columns; put cells that contain the delimiter in quotes",
            record.len()
        );
        return Err((Reason::TooManyCells, message));
    }
    if cut_off && record.len() < columns {
        let message = "the last row is incomplete; was the upload interrupted?".to_owned();
        return Err((Reason::Truncated, message));
    }
    Ok(())
}

/// Splits off the `sep=;` line that spreadsheet programs put first.
fn without_separator_line(text: &str) -> (&str, &str) {
    let end = text.find('\n').map_or(text.len(), |end| end + 1);
    let (line, rest) = text.split_at(end);
    let line = line.trim_matches(['"', '\r', '\n']);
    if line.len() <= 5 && line.to_ascii_lowercase().starts_with("sep=") {
        (text.get(..end).unwrap_or_default(), rest)
    } else {
        ("", text)
    }
}

/// The delimiter with which most headings are understood, its name, and the headings.
fn heading(text: &str) -> Result<(u8, &'static str, Vec<String>), Unreadable> {
    const HINT: &str = "start the table with a heading such as Type,Stock,VIN,Year,Make,Model";
    let mut best: Option<(usize, usize, u8, &'static str, Vec<String>)> = None;
    for (delimiter, name) in DELIMITERS {
        let mut record = StringRecord::new();
        if !matches!(reader(text, delimiter).read_record(&mut record), Ok(true)) {
            continue;
        }
        let headings: Vec<String> = record.iter().map(str::to_owned).collect();
        let known = headings.iter().filter_map(|h| Column::named(h)).count();
        let better = best.as_ref().is_none_or(|(k, n, ..)| (known, headings.len()) > (*k, *n));
        if better {
            best = Some((known, headings.len(), delimiter, name, headings));
        }
    }
    let Some((_, _, delimiter, name, headings)) = best else {
        return Err(Unreadable::new("the table has no heading", HINT));
    };
    if headings.iter().filter_map(|h| Column::named(h)).any(Column::identifies) {
        return Ok((delimiter, name, headings));
    }
    let found: Vec<String> = headings.iter().take(8).map(|h| quote(h)).collect();
    let message = format!(
        "the heading has no column VIN, Stock or vehicle_id; it begins with: {}",
        found.join(", ")
    );
    Err(Unreadable::new(message, HINT))
}

fn reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text.as_bytes())
}
