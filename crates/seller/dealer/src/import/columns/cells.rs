//! The cells of a row, and the lists in them.

use memchr::{memchr, memchr_iter};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use super::{CellMeaning, ColumnHeading};

/// Separator of the items of a structured list. It is a control character, so at worst an odd text
/// is split in two.
pub(in crate::import) const ITEM: char = '\u{1e}';
pub(in crate::import) const ITEM_TEXT: &str = "\u{1e}";
const ITEM_BYTE: u8 = 0x1e;

/// Splits a list: at bars when it has one, otherwise at commas.
pub(in crate::import) fn items(text: &str) -> ListItems<'_> {
    let bytes = text.as_bytes();
    // A structured list is not split at characters within its items.
    let separator = [ITEM_BYTE, b'|'].into_iter().find(|one| memchr(*one, bytes).is_some());
    ListItems { rest: Some(text), separator: separator.unwrap_or(b',') }
}

/// Items of a list, trimmed and without empty ones.
#[derive(Debug)]
pub(in crate::import) struct ListItems<'t> {
    rest: Option<&'t str>,
    separator: u8,
}

impl ListItems<'_> {
    /// Returns an upper bound of the number of items, which counts empty ones.
    pub(in crate::import) fn at_most(&self) -> usize {
        let text = self.rest.unwrap_or_default();
        let ends = memchr_iter(self.separator, text.as_bytes()).count();
        ends + usize::from(!text.is_empty() && !text.as_bytes().ends_with(&[self.separator]))
    }
}

impl<'t> Iterator for ListItems<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            let rest = self.rest?;
            let (item, rest) = match memchr(self.separator, rest.as_bytes()) {
                Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at + 1..)),
                None => (rest, None),
            };
            self.rest = rest;
            let item = trim(item);
            if !item.is_empty() {
                return Some(item);
            }
        }
    }
}

/// Trims a text. Most texts need no trimming, which their first and last bytes show.
fn trim(text: &str) -> &str {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if is_word(text.as_bytes().first()) && is_word(text.as_bytes().last()) {
        text
    } else {
        text.trim()
    }
}

/// Placeholders of databases for a missing value.
const PLACEHOLDERS: &[&str] = &["null", "(null)", "nan", "n/a", "#n/a", "nil", "undefined", "\\n"];

/// Length of the longest placeholder in bytes.
const MAX_PLACEHOLDER_LENGTH: usize = "undefined".len();

/// Unwraps `="0123"`, by which exports keep spreadsheets from reading a text as a number.
fn unwrap_formula_text(text: &str) -> &str {
    let inner = text.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text)
}

/// First characters of spreadsheet formulas.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

/// Returns true for characters that are removed from the start of a text.
fn is_removed(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// Returns true for a text that a spreadsheet would run: anything after `=`, and calls after the
/// other formula characters. A dash before words is harmless.
fn is_formula(text: &str) -> bool {
    let mut characters = text.trim_start_matches(is_removed).chars();
    match characters.next() {
        Some('=') => characters.any(|c| !matches!(c, '=' | ' ')),
        Some('+' | '-' | '@') => {
            let rest = characters.as_str();
            let name = rest.chars().take_while(char::is_ascii_alphabetic).count();
            let calls = name > 0 && rest.get(name..).is_some_and(|rest| rest.starts_with('('));
            calls || rest.contains("|'") || rest.contains("cmd|")
        }
        Some(_) | None => false,
    }
}

fn is_placeholder(text: &str) -> bool {
    text.is_empty()
        || (text.len() <= MAX_PLACEHOLDER_LENGTH
            && PLACEHOLDERS.iter().any(|placeholder| text.eq_ignore_ascii_case(placeholder)))
}

/// Returns the items of a JSON list: strings, or objects with a `url` or a `value`, as some
/// catalogues write many photos or features into one cell. `None` when the text is not JSON.
fn items_of_json(text: &str) -> Option<Vec<String>> {
    let whole = tradepost_document::json::read(text).ok()?;
    let items = whole.as_array().map_or(std::slice::from_ref(&whole), Vec::as_slice);
    let text = |item: &Value| {
        let inner = || item.get("url").or_else(|| item.get("value"))?.as_str();
        item.as_str().or_else(inner).map(str::to_owned)
    };
    Some(items.iter().filter_map(text).collect())
}

/// Returns amount and unit of a cell with both as JSON: `{"value": 19880, "unit": "MI"}`.
fn amount_of_json(text: &str) -> Option<(String, String)> {
    let amount = tradepost_document::json::read(text).ok()?;
    let member = |name: &str| match amount.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Some((member("value")?, member("unit").unwrap_or_default()))
}

/// Cells of a row by column.
#[derive(Debug)]
pub(in crate::import) struct RowCells {
    texts: Vec<String>,
    /// Indices of the headings whose column has content in this row.
    pub(in crate::import) filled: Vec<usize>,
    /// True when a cell begins like a formula.
    is_suspect: bool,
}

impl RowCells {
    pub(in crate::import) fn new() -> Self {
        let texts = vec![String::new(); CellMeaning::ALL.len()];
        Self { texts, filled: Vec::new(), is_suspect: false }
    }

    /// Clears every cell for the next row.
    pub(in crate::import) fn clear(&mut self) {
        self.texts.iter_mut().for_each(String::clear);
        self.filled.clear();
        self.is_suspect = false;
    }

    /// Fills a cell from the column of a heading, unless another column with the same meaning
    /// already has; lists and sums of several columns are combined.
    pub(in crate::import) fn fill(&mut self, heading: &ColumnHeading, text: &str) {
        let text = unwrap_formula_text(trim(text));
        if is_placeholder(text) {
            return;
        }
        // Columns without a meaning are counted too, because the report says how full they are.
        self.filled.push(heading.place);
        let Some(column) = heading.column else {
            return;
        };
        match &heading.transform {
            Some(transform) => self.put(column, trim(&transform.apply(text))),
            None => self.put(column, text),
        }
    }

    /// Fills a cell that no column of the row has filled. Returns true when it did.
    pub(in crate::import) fn fill_constant(&mut self, column: CellMeaning, text: &str) -> bool {
        let is_empty = self.get(column).is_empty();
        if is_empty {
            self.put(column, text);
        }
        is_empty
    }

    /// Adds a text to the cell of a column. Placeholders for a missing value are ignored. A cell for one value keeps its
    /// first text.
    fn put(&mut self, column: CellMeaning, text: &str) {
        if is_placeholder(text) {
            return;
        }
        if column == CellMeaning::Mileage
            && text.starts_with('{')
            && let Some((value, unit)) = amount_of_json(text)
        {
            // The unit belongs to the amount that is kept.
            if self.get(CellMeaning::Mileage).is_empty() {
                self.put(CellMeaning::MileageUnit, &unit);
            }
            return self.put(CellMeaning::Mileage, &value);
        }
        let Some(cell) = self.texts.get_mut(column as usize) else {
            return;
        };
        // A text of several parts may contain a formula in any part.
        self.is_suspect |= text.trim_start_matches(is_removed).starts_with(FORMULA)
            || text.starts_with('[')
            || memchr(ITEM_BYTE, text.as_bytes()).is_some();
        let nested = match text.starts_with(['[', '{']) && column.is_list() {
            true => items_of_json(text),
            false => None,
        };
        let is_suspect = &mut self.is_suspect;
        let mut add = |item: &str| {
            *is_suspect |= item.trim_start_matches(is_removed).starts_with(FORMULA);
            cell.push_str(item);
            cell.push(ITEM);
        };
        if let Some(nested) = nested {
            // A JSON item may itself contain the item separator.
            let parts = nested.iter().flat_map(|item| item.split(ITEM)).map(trim);
            parts.filter(|item| !item.is_empty()).for_each(add);
        } else if column.is_list() {
            items(text).for_each(add);
        } else if column.is_sum() {
            add(text);
        } else if column == CellMeaning::DealerId && cell.is_empty() {
            // A vehicle may belong to several stores.
            let stores = text.split(ITEM).map(trim).filter(|store| !store.is_empty());
            cell.push_str(&stores.collect::<Vec<_>>().join(ITEM_TEXT));
        } else if cell.is_empty() {
            cell.push_str(text);
        }
    }

    /// Returns the trimmed text of a cell.
    pub(in crate::import) fn get(&self, column: CellMeaning) -> &str {
        self.texts.get(column as usize).map_or("", String::as_str)
    }

    /// Returns the text of the first of some cells that is not empty.
    pub(in crate::import) fn first(&self, columns: &[CellMeaning]) -> &str {
        columns
            .iter()
            .map(|column| self.get(*column))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// Returns the name of a column whose cell a spreadsheet would run as a formula.
    pub(in crate::import) fn formula(&self) -> Option<&'static str> {
        if !self.is_suspect {
            return None;
        }
        let cells = self.texts.iter().zip(CellMeaning::NAMES);
        let is_one = |text: &str| match memchr(ITEM_BYTE, text.as_bytes()).is_some() {
            true => text.split(ITEM).any(is_formula),
            false => is_formula(text),
        };
        cells.filter(|(text, _)| !text.is_empty()).find(|(text, _)| is_one(text)).map(|(_, n)| *n)
    }

    /// Returns true when every cell is empty.
    pub(in crate::import) fn is_blank(&self) -> bool {
        self.texts.iter().all(String::is_empty)
    }
}
