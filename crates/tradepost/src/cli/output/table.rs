//! Tables for people. Every cell goes through [`plain`], so that nothing that a seller wrote can
//! disturb the terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use tradepost_buyer::text::{SENTENCE, WORD, plain};

/// How wide a table may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// As wide as the terminal; of any width when there is none.
    Terminal,
    /// Of any width.
    Unbounded,
}

/// A column: its heading, and whether its values are numbers.
#[derive(Debug, Clone, Copy)]
pub enum Column {
    /// Aligned to the left.
    Text(&'static str),
    /// Aligned to the right.
    Number(&'static str),
}

/// How many characters of a value are shown where it has a line of its own.
const LONG: usize = 8 * SENTENCE;

/// A table with headings.
#[must_use]
pub fn rows(fit: Fit, columns: &[Column], rows: &[Vec<String>]) -> String {
    let mut table = start(fit);
    table.set_header(columns.iter().map(|column| match column {
        Column::Text(heading) | Column::Number(heading) => heading.to_uppercase(),
    }));
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell, SENTENCE)));
    }
    for (index, column) in columns.iter().enumerate() {
        if let (Column::Number(_), Some(column)) = (column, table.column_mut(index)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    finish(&table)
}

/// Names and values, without headings.
#[must_use]
pub fn pairs(fit: Fit, pairs: &[(String, String)]) -> String {
    let mut table = start(fit);
    for (name, value) in pairs {
        table.add_row([plain(name, WORD), plain(value, LONG)]);
    }
    finish(&table)
}

fn start(fit: Fit) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if fit == Fit::Unbounded {
        table.force_no_tty();
    }
    table
}

fn finish(table: &Table) -> String {
    // Without borders every line would begin with the cell's padding.
    let lines = table.lines().map(|line| {
        let line = line.trim_end();
        line.strip_prefix(' ').unwrap_or(line).to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
