//! Tables for people. Every cell goes through [`plain`], so that no text of a seller can disturb
//! the terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use tradepost_client::text::{SENTENCE, WORD, plain};

/// Maximum width of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableWidth {
    /// Width of the terminal; unlimited when there is none.
    Terminal,
    /// Unlimited.
    Unbounded,
}

impl TableWidth {
    fn room(self) -> Option<u16> {
        match self {
            Self::Terminal => usable(Table::new().width()),
            Self::Unbounded => None,
        }
    }
}

/// Returns the width of a terminal. Some, such as those of build servers, report 0, which counts as
/// none.
fn usable(width: Option<u16>) -> Option<u16> {
    width.filter(|width| *width > 0)
}

/// Column with its heading; the variant sets the alignment.
#[derive(Debug, Clone, Copy)]
pub enum TableColumn<'h> {
    /// Left-aligned text.
    Text(&'h str),
    /// Right-aligned numbers.
    Number(&'h str),
}

/// Column of a table of items, and the function that returns its cell for an item.
pub type Cells<'c, T> = (TableColumn<'c>, &'c dyn Fn(&T) -> String);

/// Maximum characters of a value that has a line of its own.
const LONG: usize = 8 * SENTENCE;

/// Maximum width of a word that must not be broken: ids have to fit.
const WORD_WIDTH: usize = 40;

/// Formats a table with a row for each item.
#[must_use]
pub fn items<T>(fit: TableWidth, things: &[T], columns: &[Cells<'_, T>]) -> String {
    let headings: Vec<_> = columns.iter().map(|(column, _)| *column).collect();
    let row = |thing: &T| columns.iter().map(|(_, cell)| cell(thing)).collect();
    rows(fit, &headings, &things.iter().map(row).collect::<Vec<Vec<_>>>())
}

/// Formats a table with headings. When the terminal has no room for whole words each row becomes a
/// block, because broken ids cannot be copied.
#[must_use]
pub fn rows(fit: TableWidth, columns: &[TableColumn<'_>], rows: &[Vec<String>]) -> String {
    rows_within(fit.room(), columns, rows)
}

fn rows_within(room: Option<u16>, columns: &[TableColumn<'_>], rows: &[Vec<String>]) -> String {
    let headings: Vec<_> = columns
        .iter()
        .map(|column| match column {
            TableColumn::Text(heading) | TableColumn::Number(heading) => heading.to_uppercase(),
        })
        .collect();
    let cells: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| plain(cell, SENTENCE)).collect()).collect();
    let widest_word = |index: usize| {
        let column = cells.iter().filter_map(|row| row.get(index)).chain(headings.get(index));
        let words = column.flat_map(|cell| cell.split_whitespace());
        words.map(|word| word.chars().count().min(WORD_WIDTH)).max().unwrap_or_default()
    };
    // Two more for the padding.
    let needed: Vec<u16> = (0..columns.len())
        .map(|index| u16::try_from(widest_word(index) + 2).unwrap_or(u16::MAX))
        .collect();
    if room.is_some_and(|room| {
        needed.iter().map(|width| u32::from(*width)).sum::<u32>() > u32::from(room)
    }) {
        return blocks(room, columns, &cells);
    }
    let mut table = start(room);
    table.set_header(headings);
    table.add_rows(cells);
    for ((index, column), needed) in columns.iter().enumerate().zip(needed) {
        let Some(shown) = table.column_mut(index) else { continue };
        if room.is_some() {
            shown.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(needed)));
        }
        if let TableColumn::Number(_) = column {
            shown.set_cell_alignment(CellAlignment::Right);
        }
    }
    finish(&table)
}

/// Formats each row as names and values.
fn blocks(room: Option<u16>, columns: &[TableColumn<'_>], rows: &[Vec<String>]) -> String {
    let blocks = rows.iter().map(|row| {
        let mut table = start(room);
        for (column, cell) in columns.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            let (TableColumn::Text(heading) | TableColumn::Number(heading)) = column;
            table.add_row([*heading, cell.as_str()]);
        }
        finish(&table)
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// Formats names and values, without headings.
#[must_use]
pub fn pairs<N: AsRef<str>>(fit: TableWidth, pairs: &[(N, String)]) -> String {
    let mut table = start(fit.room());
    for (name, value) in pairs {
        table.add_row([plain(name.as_ref(), WORD), plain(value, LONG)]);
    }
    finish(&table)
}

fn start(room: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    match room {
        Some(room) => table.set_width(room),
        None => table.force_no_tty(),
    };
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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const COLUMNS: [TableColumn<'static>; 3] =
        [TableColumn::Text("id"), TableColumn::Number("price"), TableColumn::Text("details")];

    fn shown(room: u16) -> String {
        let row =
            |id: &str, details: &str| vec![id.to_owned(), "$1".to_owned(), details.to_owned()];
        let rows = [row("lead_0123456789", "a word or two more"), row("lead_2", "")];
        rows_within(Some(room), &COLUMNS, &rows)
    }

    #[test]
    fn a_terminal_without_a_width_gets_lines_of_any_width() {
        let rows =
            [vec!["lead_0123456789".to_owned(), "$1".to_owned(), "a word or two".to_owned()]];
        let shown = |width| rows_within(usable(width), &COLUMNS, &rows);
        assert_eq!(shown(Some(0)), shown(None));
        assert!(shown(Some(0)).ends_with("lead_0123456789     $1  a word or two"));
        assert_ne!(shown(Some(20)), shown(None));
    }

    #[test]
    fn narrow_terminals_wrap_between_words_and_narrower_ones_get_blocks() {
        expect![[r#"
            ID               PRICE  DETAILS
            lead_0123456789     $1  a word or
                                    two more
            lead_2              $1"#]]
        .assert_eq(&shown(36));
        expect![[r#"
            id       lead_0123456789
            price    $1
            details  a word or two
                     more

            id     lead_2
            price  $1"#]]
        .assert_eq(&shown(26));
    }
}
