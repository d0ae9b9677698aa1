//! The columns of a table of products: which heading means which field.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_runtime::text_table::{self, TextTableLimits, normalised};

use super::field::{HeadingMeaning, ProductField, meaning};
use super::{ColumnChoice, MAPPING, MAX_BYTES, MAX_ROWS, TableProblem, TableUnreadable};

/// A table with its columns.
pub(super) struct Sheet {
    /// Row of the headings, as spreadsheets number it.
    pub(super) heading_row: usize,
    /// All columns, from the left.
    pub(super) columns: Vec<SheetColumn>,
    /// Rows below the headings that have something in them.
    pub(super) rows: Vec<text_table::TextRow>,
    /// Problems of headings and of rows as a whole.
    pub(super) problems: Vec<TableProblem>,
}

/// Column of a table.
pub(super) struct SheetColumn {
    pub(super) heading: String,
    /// Its meaning, when it is recognised and no other column has the same.
    pub(super) meaning: Option<HeadingMeaning>,
}

/// What is read of a file.
const LIMITS: TextTableLimits = TextTableLimits {
    bytes: MAX_BYTES,
    rows: MAX_ROWS,
    headings_hint: "name the columns as in the template, which `tradepost publisher catalogue import --template` \
                    prints",
};

/// Reads the rows of a table.
pub(super) fn read(bytes: &[u8], choices: &[ColumnChoice]) -> Result<Sheet, TableUnreadable> {
    let table = text_table::read(bytes, &LIMITS, MAPPING, |cell| is_known(cell, choices))?;
    let mut sheet = Sheet {
        heading_row: table.heading_row,
        columns: Vec::new(),
        rows: table.rows,
        problems: Vec::new(),
    };
    sheet.recognise(table.headings, choices);
    let width = sheet.columns.len();
    for row in &sheet.rows {
        let mistake = row.wider_than(width);
        sheet.problems.extend(mistake.map(|mistake| TableProblem::from_row(row.number, mistake)));
    }
    Ok(sheet)
}

fn is_known(cell: &str, choices: &[ColumnChoice]) -> bool {
    let chosen = choices.iter().any(|choice| normalised(&choice.heading) == normalised(cell));
    !cell.is_empty() && (chosen || meaning(cell).is_some())
}

impl Sheet {
    /// Gives each column its meaning, and reports fields with several columns.
    fn recognise(&mut self, headings: Vec<String>, choices: &[ColumnChoice]) {
        let row = self.heading_row;
        for choice in choices {
            let mistake = text_table::absent(&choice.heading, &headings, MAPPING);
            self.problems.extend(mistake.map(|mistake| TableProblem::from_row(row, mistake)));
        }
        for heading in headings {
            let found = self.meaning_of(&heading, choices);
            self.columns.push(SheetColumn { heading, meaning: found });
        }
        for field in ProductField::ALL {
            let is_it = |column: &&SheetColumn| {
                column.meaning.as_ref().is_some_and(|meaning| meaning.field == *field)
            };
            let named = self.columns.iter().filter(is_it).map(|column| column.heading.as_str());
            let mistake = text_table::repeated(field.name(), &named.collect::<Vec<_>>(), MAPPING);
            self.problems.extend(mistake.map(|mistake| TableProblem::from_row(row, mistake)));
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
