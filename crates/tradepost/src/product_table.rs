//! Tables of products, as ad operations keep them in a spreadsheet, read as products of a catalogue.
//!
//! Nothing here reads or writes files: [`read`] makes products of the bytes of a table and reports every problem with
//! its row and column, and [`merge()`] puts them into a catalogue.

use std::collections::BTreeSet;

use serde::Serialize;
use tradepost_document::json::{Map, Value};
use tradepost_publisher::money::CURRENCIES;
use tradepost_runtime::text_table::cells::{self, CellAmount, CellMistake};
use tradepost_runtime::text_table::{ColumnMapping, RowMistake};

pub mod field;
mod formats;
pub mod merge;
mod product;
mod sheet;
mod words;

pub use field::ProductField;
pub use merge::{MergedCatalogue, merge};

pub use tradepost_runtime::text_table::TableUnreadable;

/// Maximum size of a table in bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// How headings are given: tables of products are imported by the command line alone.
const MAPPING: ColumnMapping = ColumnMapping::CommandLine;

/// Maximum number of rows of a table.
pub const MAX_ROWS: usize = 20_000;

/// What the reader of a table has to know of the publisher.
#[derive(Debug, Clone, Default)]
pub struct TableSettings {
    /// Domain whose media are sold, for cells that name none.
    pub domain: String,
    /// Currency of prices that name none.
    pub currency: Option<String>,
    /// Headings that are given for fields, before any is recognised.
    pub columns: Vec<ColumnChoice>,
    /// Ids of the formats that the catalogue has already.
    pub known_formats: BTreeSet<String>,
}

/// Heading that is given for a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnChoice {
    /// The field.
    pub field: ProductField,
    /// The heading, as in the file.
    pub heading: String,
}

/// A table that was read.
#[derive(Debug, Clone, Default)]
pub struct ProductTable {
    /// Products without a problem, in the order of their first rows.
    pub products: Vec<TableProduct>,
    /// Creative formats that the products name and the catalogue lacks.
    pub formats: Vec<Map>,
    /// Columns by the field that they fill.
    pub columns: Vec<ProductColumnUse>,
    /// Headings of the columns that fill no field.
    pub ignored_columns: Vec<String>,
    /// Number of rows below the headings.
    pub rows: usize,
    /// Every problem, in the order of the rows.
    pub problems: Vec<TableProblem>,
}

/// Column of a field.
#[derive(Debug, Clone, Serialize)]
pub struct ProductColumnUse {
    /// Name of the field.
    pub field: &'static str,
    /// Heading in the file.
    pub heading: String,
    /// Number of rows with something in the column.
    pub filled: usize,
    /// First text in the column.
    pub example: String,
}

/// Problem of a cell, a row or the headings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableProblem {
    /// Row as spreadsheets number it, from 1.
    pub row: usize,
    /// Heading of the column, unless the row as a whole is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Description: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl TableProblem {
    /// Creates the problem of a whole row.
    pub(crate) fn from_row(row: usize, mistake: RowMistake) -> Self {
        let RowMistake { message, hint } = mistake;
        Self { row, column: None, message, hint }
    }

    /// Returns the problem as a line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { row, column, message, hint } = self;
        let column = column.as_ref().map(|heading| format!(", column {heading:?}"));
        format!("row {row}{}: {message}; {hint}", column.unwrap_or_default())
    }
}

/// Product of a table, as far as the table says.
#[derive(Debug, Clone, PartialEq)]
pub struct TableProduct {
    /// Its first row.
    pub row: usize,
    /// Its id.
    pub id: String,
    /// Members of the published product that the table sets.
    pub published: Map,
    /// Members of its `terms` that the table sets.
    pub terms: Map,
    /// Members that it gets only when the catalogue does not have it yet.
    pub initial: Map,
    /// Fields whose column is there, and whose cell is empty.
    pub cleared: Vec<ProductField>,
}

/// Mistake in an amount of money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmountMistake {
    /// Description: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Reads a table of products.
///
/// # Errors
/// Fails when the file is no table, or has no headings that are recognised. Problems of rows are in the result.
pub fn read(bytes: &[u8], settings: &TableSettings) -> Result<ProductTable, TableUnreadable> {
    let sheet = sheet::read(bytes, &settings.columns)?;
    Ok(product::products(&sheet, settings))
}

/// Reads an amount of money as the cells of prices are read. One that names a currency has to name `currency`.
///
/// # Errors
/// Fails when it is no amount, can be read in two ways, or is in another currency.
pub fn amount(text: &str, currency: &str) -> Result<Value, AmountMistake> {
    let CellAmount { number, currency: named } = cells::amount(text)
        .map_err(|CellMistake { message, hint }| AmountMistake { message, hint })?;
    match named.filter(|named| named != currency) {
        None => Ok(number),
        Some(other) => Err(AmountMistake {
            message: format!("is in {other}, and has to be in {currency}"),
            hint: "write the number alone".to_owned(),
        }),
    }
}

/// Returns true for a code of ISO 4217 in capital letters.
#[must_use]
pub fn is_currency(code: &str) -> bool {
    CURRENCIES.contains(&code)
}

/// Returns a table with every column and two examples, to begin with.
#[must_use]
pub fn template() -> String {
    field::template()
}
