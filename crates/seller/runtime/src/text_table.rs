//! Tables as text, as spreadsheets and other programs export them: the encoding, the separator, and the row of
//! headings are found out. What the headings mean is for those who read the table.

use csv::{ReaderBuilder, StringRecord};

pub mod cells;

/// Separators that are tried.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Number of rows among which the headings are looked for: a title and a date may stand above them.
const HEADING_SEARCH_ROWS: usize = 20;

/// Maximum number of columns.
const MAX_COLUMNS: usize = 256;

/// Maximum length of a heading in characters.
const MAX_HEADING_LENGTH: usize = 200;

/// Number of known headings that a row of headings has at least: one known word is any sentence.
const MIN_KNOWN_HEADINGS: usize = 2;

/// Reason why a file cannot be read as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUnreadable {
    /// Description: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// What is read of a file.
#[derive(Debug, Clone, Copy)]
pub struct TextTableLimits {
    /// Maximum size in bytes.
    pub bytes: usize,
    /// Maximum number of rows below the headings.
    pub rows: usize,
    /// What to do when there is no row of headings.
    pub headings_hint: &'static str,
}

/// How somebody who hands a table over can say which column holds a field, so that hints name the way they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnMapping {
    /// By the option `--column` of the command line.
    CommandLine,
    /// In the field of the console's form.
    Form,
    /// Not at all, so that headings have to be changed.
    Headings,
}

impl ColumnMapping {
    /// Returns what to do for a column to hold `field`. `heading` is its heading, or a word that stands for it.
    pub fn hint(self, field: &str, heading: &str) -> String {
        match self {
            Self::CommandLine => format!("--column \"{field}={heading}\""),
            Self::Form => {
                format!("\"{field}={heading}\" under \"Columns that are not recognised\"")
            }
            Self::Headings => format!("make {field:?} the heading of one column alone"),
        }
    }

    /// Returns what can be done beside naming columns by their known headings, as the end of a sentence.
    pub fn alternative(self) -> &'static str {
        match self {
            Self::CommandLine => ", or map them with --column FIELD=HEADING",
            Self::Form => {
                ", or map them with FIELD=HEADING under \"Columns that are not recognised\""
            }
            Self::Headings => "",
        }
    }

    /// Returns where a heading was chosen, for the message about one that the table lacks.
    fn chooser(self) -> &'static str {
        match self {
            Self::CommandLine => "--column",
            Self::Form => "the form",
            Self::Headings => "a choice",
        }
    }
}

/// Mistake in the headings, or in a row as a whole.
#[derive(Debug)]
pub struct RowMistake {
    /// Description: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// A table.
#[derive(Debug)]
pub struct TextTable {
    /// Row of the headings, as spreadsheets number it.
    pub heading_row: usize,
    /// Headings from the left, without empty ones at the end.
    pub headings: Vec<String>,
    /// Rows below the headings that have something in them.
    pub rows: Vec<TextRow>,
}

/// Row of a table.
#[derive(Debug)]
pub struct TextRow {
    /// Number as spreadsheets show it, from 1.
    pub number: usize,
    /// Cells from the left, without space around them.
    pub cells: Vec<String>,
}

impl TextRow {
    /// Returns the mistake of a row with something to the right of the last heading.
    pub fn wider_than(&self, headings: usize) -> Option<RowMistake> {
        let is_wider = self.cells.iter().skip(headings).any(|cell| !cell.is_empty());
        is_wider.then(|| RowMistake {
            message: format!("has {} cells for {headings} headings", self.cells.len()),
            hint: "put cells that contain the separator in \"quotation marks\"".to_owned(),
        })
    }
}

/// Returns the mistake of a heading that is chosen for a field and is not in the table.
pub fn absent(chosen: &str, headings: &[String], mapping: ColumnMapping) -> Option<RowMistake> {
    let is_there = headings.iter().any(|heading| normalised(heading) == normalised(chosen));
    (!is_there).then(|| RowMistake {
        message: format!("there is no column {chosen:?}, which {} names", mapping.chooser()),
        hint: format!("the headings are {}", headings.join(", ")),
    })
}

/// Returns the mistake of several headings for one field.
pub fn repeated(field: &str, headings: &[&str], mapping: ColumnMapping) -> Option<RowMistake> {
    let [first, _, ..] = headings else { return None };
    let listed: Vec<String> = headings.iter().map(|heading| format!("{heading:?}")).collect();
    Some(RowMistake {
        message: format!("the columns {} all hold {field}", listed.join(", ")),
        hint: format!("say which one counts: {}", mapping.hint(field, first)),
    })
}

/// Row that may be the headings.
struct FoundHeadings {
    /// Number of headings that are recognised.
    count: usize,
    index: usize,
    separator: u8,
}

/// Reads a table. `is_known` says which headings are recognised.
///
/// # Errors
/// Fails when the file is no text, too large, or has no row of headings.
pub fn read(
    bytes: &[u8],
    limits: &TextTableLimits,
    mapping: ColumnMapping,
    is_known: impl Fn(&str) -> bool,
) -> Result<TextTable, TableUnreadable> {
    let text = decoded(bytes, limits.bytes)?;
    // One more than is permitted, so that a longer table is noticed.
    let most = limits.rows + HEADING_SEARCH_ROWS + 1;
    let mut best: Option<FoundHeadings> = None;
    for separator in SEPARATORS {
        let rows = rows(&text, separator, HEADING_SEARCH_ROWS);
        for (index, row) in rows.iter().enumerate() {
            let count = row.cells.iter().filter(|cell| is_known(cell)).count();
            if count > best.as_ref().map_or(0, |best| best.count) {
                best = Some(FoundHeadings { count, index, separator });
            }
        }
    }
    let found = best.filter(|best| best.count >= MIN_KNOWN_HEADINGS);
    let Some(FoundHeadings { index, separator, .. }) = found else {
        // The headings may be inside of an open cell.
        let no_headings = || TableUnreadable {
            message: format!(
                "none of the first {HEADING_SEARCH_ROWS} rows has headings that are recognised"
            ),
            hint: format!("{}{}", limits.headings_hint, mapping.alternative()),
        };
        return Err(open_row(&text, b',').map_or_else(no_headings, open_cell));
    };
    if let Some(row) = open_row(&text, separator) {
        return Err(open_cell(row));
    }
    let mut all = rows(&text, separator, most);
    let mut below = all.split_off(index + 1);
    let (heading_row, mut headings) =
        all.pop().map(|row| (row.number, row.cells)).unwrap_or_default();
    while headings.last().is_some_and(String::is_empty) {
        headings.pop();
    }
    if headings.len() > MAX_COLUMNS {
        let message = format!("the table has more than {MAX_COLUMNS} columns");
        return Err(TableUnreadable { message, hint: "export fewer columns".to_owned() });
    }
    if headings.iter().any(|heading| heading.chars().count() > MAX_HEADING_LENGTH) {
        let message =
            format!("a heading of row {heading_row} has more than {MAX_HEADING_LENGTH} characters");
        return Err(TableUnreadable { message, hint: "shorten it".to_owned() });
    }
    below.retain(|row| row.cells.iter().any(|cell| !cell.is_empty()));
    if below.len() > limits.rows {
        let message = format!("the table has more than {} rows", limits.rows);
        return Err(TableUnreadable { message, hint: "split it into several files".to_owned() });
    }
    Ok(TextTable { heading_row, headings, rows: below })
}

/// Returns a heading in small letters and digits, with single spaces.
pub fn normalised(heading: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { ' ' };
    let plain: String = heading.chars().map(plain).collect();
    plain.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn open_cell(row: usize) -> TableUnreadable {
    TableUnreadable {
        message: format!("a cell of row {row} begins with a quotation mark and does not end with one"),
        hint: "remove the mark or close the cell; inside of such a cell a mark is written twice: \"12\"\" tablet\"".to_owned(),
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

/// Returns the first rows of a text. Empty lines count, as in spreadsheets, but are left out. To the right of
/// [`MAX_COLUMNS`] cells, the first one with something in it stands for all of them.
fn rows(text: &str, separator: u8, most: usize) -> Vec<TextRow> {
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
        let mut trimmed = record.iter().map(str::trim);
        let mut cells: Vec<String> =
            trimmed.by_ref().take(MAX_COLUMNS).map(str::to_owned).collect();
        cells.extend(trimmed.find(|cell| !cell.is_empty()).map(str::to_owned));
        rows.push(TextRow { number, cells });
        if rows.len() >= most {
            break;
        }
    }
    rows
}

/// Returns the text of a file, with line breaks of one character and one at the end.
fn decoded(bytes: &[u8], most: usize) -> Result<String, TableUnreadable> {
    let refused = |message: &str, hint: &str| {
        Err(TableUnreadable { message: message.to_owned(), hint: hint.to_owned() })
    };
    const SAVE: &str = "in the spreadsheet, choose \"Save as\" and \"CSV UTF-8\"";
    if bytes.len() > most {
        let message = format!("the file has more than {} MiB", most / (1024 * 1024));
        return refused(&message, "split it into several files");
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
