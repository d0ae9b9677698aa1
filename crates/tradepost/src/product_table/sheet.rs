//! The rows of a table: its encoding, its separator, its row of headings, and the columns that are recognised.

use csv::{ReaderBuilder, StringRecord};
use tradepost_document::catalog::Vocabulary as _;

use super::field::{HeadingMeaning, ProductField, meaning, normalised};
use super::{ColumnChoice, MAX_BYTES, MAX_ROWS, TableProblem, TableUnreadable};

/// Separators that are tried.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Number of rows among which the headings are looked for: a title and a date may stand above them.
const HEAD: usize = 20;

/// A table with its columns.
pub(super) struct Sheet {
    /// Row of the headings, as spreadsheets number it.
    pub(super) heading_row: usize,
    /// All columns, from the left.
    pub(super) columns: Vec<SheetColumn>,
    /// Rows below the headings that have something in them.
    pub(super) rows: Vec<SheetRow>,
    /// Problems of headings and of rows as a whole.
    pub(super) problems: Vec<TableProblem>,
}

/// Column of a table.
pub(super) struct SheetColumn {
    pub(super) heading: String,
    /// Its meaning, when it is recognised and no other column has the same.
    pub(super) meaning: Option<HeadingMeaning>,
}

/// Row of a table.
pub(super) struct SheetRow {
    /// Number as spreadsheets show it, from 1.
    pub(super) number: usize,
    pub(super) cells: Vec<String>,
}

/// Reads the rows of a table.
pub(super) fn read(bytes: &[u8], choices: &[ColumnChoice]) -> Result<Sheet, TableUnreadable> {
    let text = decoded(bytes)?;
    let mut best: Option<FoundHeadings> = None;
    for separator in SEPARATORS {
        let rows = rows(&text, separator);
        let known =
            |row: &SheetRow| row.cells.iter().filter(|cell| is_known(cell, choices)).count();
        for (index, row) in rows.iter().take(HEAD).enumerate() {
            let count = known(row);
            if count > best.as_ref().map_or(0, |best| best.count) {
                best = Some(FoundHeadings { count, index, separator });
            }
        }
    }
    // One known word is any sentence; a table of products has at least a name and a price.
    let Some(FoundHeadings { index, separator, .. }) = best.filter(|best| best.count >= 2) else {
        // The headings may be inside of an open cell.
        return Err(open_row(&text, b',').map_or_else(no_headings, open_cell));
    };
    if let Some(row) = open_row(&text, separator) {
        return Err(open_cell(row));
    }
    let mut rows = rows(&text, separator);
    let below = rows.split_off(index + 1);
    let Some(headings) = rows.pop() else { return Err(no_headings()) };
    let mut sheet = Sheet {
        heading_row: headings.number,
        columns: Vec::new(),
        rows: below,
        problems: Vec::new(),
    };
    sheet.rows.retain(|row| row.cells.iter().any(|cell| !cell.is_empty()));
    if sheet.rows.len() > MAX_ROWS {
        let message =
            format!("the table has {} rows, and at most {MAX_ROWS} are read", sheet.rows.len());
        return Err(TableUnreadable { message, hint: "split it into several files".to_owned() });
    }
    sheet.recognise(headings.cells, choices);
    let width = sheet.columns.len();
    for row in &sheet.rows {
        if row.cells.iter().skip(width).any(|cell| !cell.is_empty()) {
            sheet.problems.push(TableProblem {
                row: row.number,
                column: None,
                message: format!("has {} cells for {width} headings", row.cells.len()),
                hint: "put cells that contain the separator in \"quotation marks\"".to_owned(),
            });
        }
    }
    Ok(sheet)
}

/// Row that may be the headings.
struct FoundHeadings {
    /// Number of headings that are recognised.
    count: usize,
    index: usize,
    separator: u8,
}

fn no_headings() -> TableUnreadable {
    TableUnreadable {
        message: format!("none of the first {HEAD} rows has headings that are recognised"),
        hint: "name the columns as in the template, which `tradepost publisher catalogue import --template` prints, \
               or map them with --column FIELD=HEADING"
            .to_owned(),
    }
}

fn open_cell(row: usize) -> TableUnreadable {
    TableUnreadable {
        message: format!("a cell of row {row} begins with a quotation mark and does not end with one"),
        hint: "remove the mark or close the cell; inside of such a cell a mark is written twice: \"12\"\" tablet\"".to_owned(),
    }
}

fn is_known(cell: &str, choices: &[ColumnChoice]) -> bool {
    let chosen = choices.iter().any(|choice| normalised(&choice.heading) == normalised(cell));
    !cell.is_empty() && (chosen || meaning(cell).is_some())
}

impl Sheet {
    /// Gives each column its meaning, and reports fields with several columns.
    fn recognise(&mut self, headings: Vec<String>, choices: &[ColumnChoice]) {
        let mut headings = headings;
        while headings.last().is_some_and(String::is_empty) {
            headings.pop();
        }
        for choice in choices {
            if !headings.iter().any(|heading| normalised(heading) == normalised(&choice.heading)) {
                self.problems.push(TableProblem {
                    row: self.heading_row,
                    column: None,
                    message: format!(
                        "there is no column {:?}, which --column names",
                        choice.heading
                    ),
                    hint: format!("the headings are {}", headings.join(", ")),
                });
            }
        }
        for heading in headings {
            let found = self.meaning_of(&heading, choices);
            self.columns.push(SheetColumn { heading, meaning: found });
        }
        for field in ProductField::ALL {
            let is_it = |column: &&SheetColumn| {
                column.meaning.as_ref().is_some_and(|meaning| meaning.field == *field)
            };
            let named: Vec<String> =
                self.columns.iter().filter(is_it).map(|column| column.heading.clone()).collect();
            if let [first, _, ..] = named.as_slice() {
                let listed: Vec<String> = named.iter().map(|name| format!("{name:?}")).collect();
                self.problems.push(TableProblem {
                    row: self.heading_row,
                    column: None,
                    message: format!("the columns {} all hold {}", listed.join(", "), field.name()),
                    hint: format!("say which one counts: --column \"{}={first}\"", field.name()),
                });
            }
        }
    }

    /// Returns the meaning of a heading: the chosen one, or the recognised one unless another column is chosen for it.
    fn meaning_of(&self, heading: &str, choices: &[ColumnChoice]) -> Option<HeadingMeaning> {
        let is_chosen = |choice: &&ColumnChoice| normalised(&choice.heading) == normalised(heading);
        let recognised = meaning(heading);
        if let Some(choice) = choices.iter().find(is_chosen) {
            let same = recognised.filter(|meaning| meaning.field == choice.field);
            let plain = HeadingMeaning { field: choice.field, model: None, currency: None };
            return Some(same.unwrap_or(plain));
        }
        recognised.filter(|meaning| choices.iter().all(|choice| choice.field != meaning.field))
    }
}

/// Returns the number of the first row with a cell that begins with a quotation mark and does not end with one. The
/// reader of CSV takes what follows, up to the next mark or the end, as part of that cell.
fn open_row(text: &str, separator: u8) -> Option<usize> {
    let separator = char::from(separator);
    let mut row = 1;
    let mut is_beginning = true;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '"' || !is_beginning {
            row += usize::from(letter == '\n');
            is_beginning = letter == '\n' || letter == separator;
            continue;
        }
        loop {
            match letters.next() {
                None => return Some(row),
                // A mark that is written twice is a part of the cell.
                Some('"') if letters.next_if_eq(&'"').is_none() => break,
                Some(_) => {}
            }
        }
        while letters.next_if_eq(&' ').is_some() {}
        if letters.peek().is_some_and(|next| *next != separator && *next != '\n') {
            return Some(row);
        }
        is_beginning = false;
    }
    None
}

/// Returns all rows of a text. Empty lines count, as in spreadsheets, but are left out.
fn rows(text: &str, separator: u8) -> Vec<SheetRow> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    let mut record = StringRecord::new();
    let mut number = 0;
    let mut line = 1;
    while reader.read_record(&mut record).unwrap_or(false) {
        let breaks: usize = record.iter().map(|cell| cell.matches('\n').count()).sum();
        // The reader skips empty lines without a word.
        let next = usize::try_from(reader.position().line()).unwrap_or(usize::MAX);
        number += next.saturating_sub(line).saturating_sub(breaks).max(1);
        line = next;
        let cells = record.iter().map(|cell| cell.trim().to_owned()).collect();
        rows.push(SheetRow { number, cells });
        if rows.len() > MAX_ROWS + HEAD {
            break;
        }
    }
    rows
}

/// Returns the text of a file, with line breaks of one character and one at the end.
fn decoded(bytes: &[u8]) -> Result<String, TableUnreadable> {
    let refused = |message: &str, hint: &str| {
        Err(TableUnreadable { message: message.to_owned(), hint: hint.to_owned() })
    };
    const SAVE: &str = "in the spreadsheet, choose \"Save as\" and \"CSV UTF-8\"";
    if bytes.len() > MAX_BYTES {
        return refused("the file has more than 16 MiB", "split it into several files");
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        return refused("the file is a workbook of a spreadsheet program", SAVE);
    }
    let text = if let Some(wide) = bytes.strip_prefix(&[0xff, 0xfe]) {
        wide_text(wide, u16::from_le_bytes)
    } else if let Some(wide) = bytes.strip_prefix(&[0xfe, 0xff]) {
        wide_text(wide, u16::from_be_bytes)
    } else {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        String::from_utf8(bytes.to_vec()).ok()
    };
    let Some(text) = text.filter(|text| !text.contains('\0')) else {
        return refused("the file is no text in UTF-8 or UTF-16", SAVE);
    };
    let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
    // The line by which a spreadsheet program is told the separator; a line stays, for the numbers of the rows.
    if let Some(rest) = text.strip_prefix("sep=") {
        text = rest.split_once('\n').map_or_else(String::new, |(_, rest)| format!("\n{rest}"));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn wide_text(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()
}
