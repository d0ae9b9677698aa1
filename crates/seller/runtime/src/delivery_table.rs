//! Delivery as ad servers export it and programs send it, read as days of packages: [`read()`] reads a table,
//! [`document::read`] a JSON document. Each reports every problem with its row and column.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::Serialize;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::json::object;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::staff::reported::{MAX_ROWS, ReportField, ReportedDay, RowProblem};

use crate::text_table::cells::{self, CellMistake};
use crate::text_table::{
    self, ColumnMapping, RowMistake, TableUnreadable, TextRow, TextTable, TextTableLimits,
};

pub mod document;
mod export;

pub use export::HeadingChoice;

/// Maximum size of a table or document in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of problems that an answer lists.
pub const MAX_LISTED: usize = 1_000;

/// What is read of a file.
const LIMITS: TextTableLimits = TextTableLimits {
    bytes: MAX_BYTES,
    rows: MAX_ROWS,
    headings_hint: "name the columns media_buy_id, package_id, date, impressions, clicks and spend",
};

/// Delivery that was read.
#[derive(Debug, Clone, Default)]
pub struct DeliveryTable {
    /// Rows without a problem, in their order.
    pub days: Vec<ReportedDay>,
    /// Problems of the others and of the headings.
    pub problems: Vec<RowProblem>,
    /// Columns of a table by the field that they fill.
    pub columns: Vec<FieldColumn>,
    /// Headings of the columns that fill no field.
    pub ignored_columns: Vec<String>,
    /// Number of rows with totals, which are left out.
    pub total_rows: usize,
}

/// Column of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldColumn {
    /// Name of the field.
    pub field: &'static str,
    /// Heading in the file.
    pub heading: String,
}

/// Reads a table of delivery. `choices` are headings that are given for fields, and `mapping` is how more can be given.
///
/// # Errors
/// Fails when the file is no table, is too large, or has no headings that are recognised. Problems of rows are in the
/// result.
pub fn read(
    bytes: &[u8],
    choices: &[HeadingChoice],
    mapping: ColumnMapping,
) -> Result<DeliveryTable, TableUnreadable> {
    let table = text_table::read(bytes, &LIMITS, mapping, |cell| export::is_known(cell, choices))?;
    let reader = TableReader::new(&table, choices);
    let mut read = DeliveryTable {
        columns: reader.field_columns(),
        ignored_columns: reader.ignored_columns(),
        problems: reader.heading_problems(choices, mapping),
        ..DeliveryTable::default()
    };
    if !read.problems.is_empty() {
        return Ok(read);
    }
    for row in &table.rows {
        if reader.is_total(row) {
            read.total_rows += 1;
        } else {
            let day = reader.day(row, &mut read.problems);
            read.days.extend(day);
        }
    }
    Ok(read)
}

/// Reads a file with a table or a JSON document. No table begins with a brace or a bracket.
///
/// # Errors
/// Fails when the file is neither, or too large. Problems of rows are in the result.
pub fn read_file(
    bytes: &[u8],
    choices: &[HeadingChoice],
    mapping: ColumnMapping,
) -> Result<DeliveryTable, TableUnreadable> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_document = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    if bytes.len() > MAX_BYTES || !is_document {
        return read(bytes, choices, mapping);
    }
    let rows = document::read_file(text).map_err(|message| TableUnreadable {
        message,
        hint: "send {\"rows\": [...]} with the fields of a row as members".to_owned(),
    })?;
    Ok(DeliveryTable { days: rows.days, problems: rows.problems, ..DeliveryTable::default() })
}

/// Returns problems as JSON, at most a thousand of them, and the number of the others. `columns` are those of the
/// table, if it was one: a problem then names the heading.
#[must_use]
pub fn problem_documents(problems: &[RowProblem], columns: &[FieldColumn]) -> Vec<Value> {
    let document = |problem: &RowProblem| {
        object!({
            "row": problem.row,
            "column"?: problem.field.map(|field| heading_of(field, columns)),
            "error": &problem.message,
            "hint": &problem.hint,
        })
    };
    problems.iter().take(MAX_LISTED).map(document).collect()
}

/// Returns the number of problems that are not listed.
#[must_use]
pub fn problems_not_listed(problems: &[RowProblem]) -> Option<usize> {
    problems.len().checked_sub(MAX_LISTED).filter(|more| *more > 0)
}

/// Returns a problem as a line for people.
#[must_use]
pub fn problem_line(problem: &RowProblem, columns: &[FieldColumn]) -> String {
    let RowProblem { row, field, message, hint } = problem;
    let column = field.map(|field| format!(", column {:?}", heading_of(field, columns)));
    format!("row {row}{}: {message}; {hint}", column.unwrap_or_default())
}

/// Returns the heading of a field's column, or the field's name.
#[must_use]
pub fn heading_of(field: ReportField, columns: &[FieldColumn]) -> String {
    let column = columns.iter().find(|column| column.field == field.name());
    column.map_or_else(|| field.name().to_owned(), |column| column.heading.clone())
}

/// Reads the rows of a table.
struct TableReader<'t> {
    table: &'t TextTable,
    /// Meaning of each column, from the left.
    meanings: Vec<Option<export::ColumnMeaning>>,
    /// Place of the first column of each field, by the field's name.
    places: BTreeMap<&'static str, usize>,
    dates: export::DateOrder,
    decimal_mark: Option<char>,
}

impl<'t> TableReader<'t> {
    fn new(table: &'t TextTable, choices: &[HeadingChoice]) -> Self {
        let meanings: Vec<_> =
            table.headings.iter().map(|heading| export::meaning_of(heading, choices)).collect();
        let mut places = BTreeMap::new();
        for (place, meaning) in meanings.iter().enumerate() {
            if let Some(meaning) = meaning {
                places.entry(meaning.field.name()).or_insert(place);
            }
        }
        let dates = export::DateOrder::Unknown;
        let mut reader = Self { table, meanings, places, dates, decimal_mark: None };
        let data: Vec<&TextRow> = table.rows.iter().filter(|row| !reader.is_total(row)).collect();
        let dates = data.iter().filter_map(|row| reader.cell(row, ReportField::Date));
        let order = export::DateOrder::from_cells(dates);
        let amounts = data.iter().filter_map(|row| reader.cell(row, ReportField::Spend));
        let mark = export::decimal_mark(amounts);
        reader.dates = order;
        reader.decimal_mark = mark;
        reader
    }

    fn field_columns(&self) -> Vec<FieldColumn> {
        let columns = self.table.headings.iter().zip(&self.meanings);
        let columns = columns.filter_map(|(heading, meaning)| {
            let field = meaning.as_ref()?.field.name();
            Some(FieldColumn { field, heading: heading.clone() })
        });
        columns.collect()
    }

    fn ignored_columns(&self) -> Vec<String> {
        let columns = self.table.headings.iter().zip(&self.meanings);
        let ignored = columns.filter(|(heading, meaning)| meaning.is_none() && !heading.is_empty());
        ignored.map(|(heading, _)| heading.clone()).collect()
    }

    /// Returns the problems of the headings: fields that are missing, and fields with several columns.
    fn heading_problems(
        &self,
        choices: &[HeadingChoice],
        mapping: ColumnMapping,
    ) -> Vec<RowProblem> {
        let row = self.table.heading_row;
        let mut problems = Vec::new();
        let columns = self.field_columns();
        let of = |field: ReportField| -> Vec<&str> {
            let own = columns.iter().filter(|column| column.field == field.name());
            own.map(|column| column.heading.as_str()).collect()
        };
        for choice in choices {
            let mistake = text_table::absent(&choice.heading, &self.table.headings, mapping);
            problems.extend(mistake.map(|mistake| row_problem(row, &mistake)));
        }
        for field in ReportField::ALL.iter().copied() {
            let mistake = text_table::repeated(field.name(), &of(field), mapping);
            problems.extend(mistake.map(|mistake| row_problem(row, &mistake)));
        }
        for field in [ReportField::Date, ReportField::Impressions, ReportField::Spend] {
            if of(field).is_empty() {
                let message = format!("no column holds {field}");
                let hint = format!("name it: {}", mapping.hint(field.name(), "HEADING"));
                problems.push(RowProblem::from_row(row, &message, &hint));
            }
        }
        let names = [ReportField::MediaBuy, ReportField::Package, ReportField::LineItem];
        if names.into_iter().all(|field| of(field).is_empty()) {
            let hint = "add a column media_buy_id, package_id or line_item_id";
            problems.push(RowProblem::from_row(
                row,
                "no column names a media buy or line item",
                hint,
            ));
        }
        problems
    }

    /// Returns what a row has in the column of a field, if anything.
    fn cell<'r>(&self, row: &'r TextRow, field: ReportField) -> Option<&'r str> {
        let place = *self.places.get(field.name())?;
        row.cells.get(place).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// Returns true for a row that adds others up: its first cell with something in it says so, and it has no date.
    fn is_total(&self, row: &TextRow) -> bool {
        let first = row.cells.iter().find(|cell| !cell.is_empty());
        let date = self.cell(row, ReportField::Date);
        let has_date = date.is_some_and(|cell| cell.bytes().any(|byte| byte.is_ascii_digit()));
        !has_date && first.is_some_and(|cell| export::is_total(cell))
    }

    /// Reads a row, or lists its problems.
    fn day(&self, row: &TextRow, problems: &mut Vec<RowProblem>) -> Option<ReportedDay> {
        let before = problems.len();
        if let Some(mistake) = row.wider_than(self.table.headings.len()) {
            problems.push(row_problem(row.number, &mistake));
            return None;
        }
        let mut reading = RowCells { reader: self, row, problems };
        let day = reading.required(ReportField::Date, |text| self.dates.read(text));
        let impressions = reading.required(ReportField::Impressions, export::count);
        let clicks = reading.optional(ReportField::Clicks, export::count);
        let completed_views = reading.optional(ReportField::CompletedViews, export::count);
        let spend =
            reading.required(ReportField::Spend, |text| export::amount(text, self.decimal_mark));
        let currency = reading.optional(ReportField::Currency, cells::currency);
        let is_final = reading.optional(ReportField::Final, export::finality);
        let is_correction = reading.optional(ReportField::Correction, cells::truth);
        let text = |field| self.cell(row, field).map(str::to_owned);
        if problems.len() > before {
            return None;
        }
        let export::SpentAmount { amount, currency: signed } = spend?;
        let spend_meaning = self.meanings.iter().flatten();
        let mut spend_meaning = spend_meaning.filter(|meaning| meaning.field == ReportField::Spend);
        let of_heading = spend_meaning.find_map(|meaning| meaning.currency.clone());
        let named: BTreeSet<String> =
            [signed, currency, of_heading].into_iter().flatten().collect();
        if named.len() > 1 {
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            let message = format!("the row names several currencies: {}", named.join(", "));
            let hint = "name the currency of the spend, once";
            problems.push(RowProblem::new(row.number, ReportField::Currency, &message, hint));
            return None;
        }
        Some(ReportedDay {
            row: row.number,
            media_buy_id: text(ReportField::MediaBuy),
            package_id: text(ReportField::Package),
            line_item_id: text(ReportField::LineItem),
            day: day?,
            impressions: impressions?,
            clicks,
            completed_views,
            spend: amount,
            currency: named.into_iter().next(),
            is_final: is_final.unwrap_or_default(),
            is_correction: is_correction.unwrap_or_default(),
        })
    }
}

/// Cells of a row, whose mistakes are listed.
struct RowCells<'a> {
    reader: &'a TableReader<'a>,
    row: &'a TextRow,
    problems: &'a mut Vec<RowProblem>,
}

impl RowCells<'_> {
    fn optional<T>(
        &mut self,
        field: ReportField,
        read: impl FnOnce(&str) -> Result<T, CellMistake>,
    ) -> Option<T> {
        let text = self.reader.cell(self.row, field)?;
        match read(text) {
            Ok(value) => Some(value),
            Err(CellMistake { message, hint }) => {
                self.problems.push(RowProblem::new(self.row.number, field, &message, &hint));
                None
            }
        }
    }

    fn required<T>(
        &mut self,
        field: ReportField,
        read: impl FnOnce(&str) -> Result<T, CellMistake>,
    ) -> Option<T> {
        if self.reader.cell(self.row, field).is_none() {
            let hint = "fill the cell, or leave the row out";
            self.problems.push(RowProblem::new(self.row.number, field, "is empty", hint));
            return None;
        }
        self.optional(field, read)
    }
}

/// Returns the problem of a row as a whole.
fn row_problem(row: usize, mistake: &RowMistake) -> RowProblem {
    RowProblem::from_row(row, &mistake.message, &mistake.hint)
}

/// Returns a date from its parts; `None` for a day that there is not.
fn date(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

/// Returns an amount from the text of a number.
fn money(value: &Value) -> Option<MoneyAmount> {
    value.as_number().and_then(MoneyAmount::from_number)
}

#[cfg(test)]
mod tests;
