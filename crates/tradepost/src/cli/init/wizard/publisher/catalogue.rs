//! The catalogue: a CSV file, or a first product by questions. Both go through the reader of tables.

use std::path::Path;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, json};

use super::super::draft::Draft;
use super::super::prompt::{Dialogue, Question};
use super::{PUBLISHER, PublisherAnswers};
use crate::cli::output::CommandFailure;
use crate::cli::publisher::catalogue::{CATALOGUE, checked, explain, table_file};
use crate::product_table::merge::{Unnamed, merge};
use crate::product_table::{self, ProductField, ProductTable, TableProblem, TableSettings};

/// Maximum number of problems that are shown at once.
const MAX_SHOWN_PROBLEMS: usize = 20;

/// Question about a member of the first product.
struct ProductQuestion {
    field: ProductField,
    text: &'static str,
    default: &'static str,
}

const QUESTIONS: &[ProductQuestion] = &[
    ProductQuestion { field: ProductField::Name, text: "Name of the product", default: "" },
    ProductQuestion {
        field: ProductField::Description,
        text: "What it is, in a sentence: buyers' agents find it by these words",
        default: "",
    },
    ProductQuestion {
        field: ProductField::Formats,
        text: "Formats, such as 300x250; 728x90 or video 30s or native",
        default: "300x250",
    },
    ProductQuestion {
        field: ProductField::Property,
        text: "Section of your site, such as news (empty: all of it)",
        default: "",
    },
    ProductQuestion {
        field: ProductField::Model,
        text: "What is paid for: cpm, vcpm, cpc, cpcv or flat_rate",
        default: "cpm",
    },
];

const RATE: ProductQuestion =
    ProductQuestion { field: ProductField::Rate, text: "Price", default: "" };

const FLOOR: ProductQuestion =
    ProductQuestion { field: ProductField::Floor, text: "Lowest bid", default: "" };

const MINIMUM: ProductQuestion = ProductQuestion {
    field: ProductField::MinimumSpend,
    text: "Lowest budget of a booking (empty: none)",
    default: "",
};

const PER_DAY: ProductQuestion = ProductQuestion {
    field: ProductField::PerDay,
    text: "Impressions that there are on a day (empty: not counted)",
    default: "",
};

/// Asks for a currency and products, until they can be sold.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask(
    dialogue: &mut Dialogue,
    answers: &mut PublisherAnswers,
    folder: &Path,
) -> Result<(), CommandFailure> {
    answers.currency = ask_currency(dialogue)?;
    let question = Question::new(
        "CSV file with your products (empty: answer questions about the first one, none: later)",
        "`tradepost publisher catalogue import --template` prints a file to begin with",
    );
    let settings = TableSettings {
        domain: answers.draft.text_at(PUBLISHER, "domain").unwrap_or_default().to_owned(),
        currency: Some(answers.currency.clone()),
        ..TableSettings::default()
    };
    loop {
        let answer = dialogue.ask(&question)?;
        if answer.eq_ignore_ascii_case(super::NONE) {
            dialogue.say("  no product yet: `tradepost publisher catalogue import FILE --into tradepost.toml`");
            return Ok(());
        }
        let table = match answer.is_empty() {
            true => {
                Some(ask_product(dialogue, &settings)?).filter(|table| is_sound(dialogue, table))
            }
            false => read(dialogue, &answer, &settings, question.hint),
        };
        let Some(table) = table else { continue };
        if let Some(text) = catalogue(dialogue, &answers.draft, &table)
            && dialogue.confirm("Sell this?", true)?
        {
            let path = folder.join(CATALOGUE).display().to_string();
            answers.draft.set(PUBLISHER, "catalogue", json!(path));
            answers.catalogue = Some(text);
            return Ok(());
        }
    }
}

fn ask_currency(dialogue: &mut Dialogue) -> Result<String, CommandFailure> {
    let question = Question::new("Currency of your prices, in three letters", "such as USD or EUR");
    let question = question.with_default("USD");
    loop {
        let answer = dialogue.ask(&question)?.to_uppercase();
        if product_table::is_currency(&answer) {
            return Ok(answer);
        }
        dialogue.reject(
            &["must be the three letters of a currency in ISO 4217".to_owned()],
            question.hint,
        );
    }
}

/// Reads a file, and shows what was understood and every problem.
fn read(
    dialogue: &Dialogue,
    path: &str,
    settings: &TableSettings,
    hint: &str,
) -> Option<ProductTable> {
    let bytes = match table_file(Path::new(path)) {
        Ok(bytes) => bytes,
        Err(error) => {
            dialogue.reject(&[format!("cannot read {path}: {}", error.kind())], hint);
            return None;
        }
    };
    match product_table::read(&bytes, settings) {
        Err(unreadable) => {
            dialogue.reject(&[unreadable.message], &unreadable.hint);
            None
        }
        Ok(table) if !table.problems.is_empty() => {
            let lines: Vec<String> =
                table.problems.iter().take(MAX_SHOWN_PROBLEMS).map(TableProblem::line).collect();
            dialogue.reject(&lines, "correct these cells, and name the file again");
            if table.problems.len() > MAX_SHOWN_PROBLEMS {
                let more = table.problems.len() - MAX_SHOWN_PROBLEMS;
                dialogue.say(format!(
                    "  and {more} more; `tradepost publisher catalogue import FILE` lists all"
                ));
            }
            None
        }
        Ok(table) => {
            explain(&table, dialogue.output());
            Some(table)
        }
    }
}

/// Returns true for a table without problems, and says those that there are.
fn is_sound(dialogue: &Dialogue, table: &ProductTable) -> bool {
    let lines: Vec<String> = table.problems.iter().map(TableProblem::line).collect();
    if !lines.is_empty() {
        dialogue.reject(&lines, "answer the questions again");
    }
    lines.is_empty()
}

/// Returns the text of the catalogue that a table makes.
fn catalogue(dialogue: &Dialogue, draft: &Draft, table: &ProductTable) -> Option<String> {
    let domain = draft.text_at(PUBLISHER, "domain").unwrap_or_default();
    let public = draft.text_at(PUBLISHER, "public_url").map(str::to_owned);
    let agent_url = public.unwrap_or_else(|| format!("https://{domain}"));
    let merged = merge(Map::new(), table, &agent_url, Unnamed::Stay);
    match checked(&merged, table) {
        Ok(text) => Some(text),
        Err(failure) => {
            dialogue.reject(&failure.lines, "correct the products");
            None
        }
    }
}

/// Row of the first product, as far as it is known.
#[derive(Debug, Clone, Default)]
struct FirstRow {
    cells: Vec<FirstCell>,
}

/// Cell of the first product.
#[derive(Debug, Clone)]
struct FirstCell {
    field: ProductField,
    text: String,
}

impl FirstRow {
    /// Reads the row as a table of one product.
    fn table(&self, settings: &TableSettings) -> ProductTable {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // A table has two columns at least, and the first question makes one.
        let keywords = ProductField::Keywords.name();
        let headings = self.cells.iter().map(|cell| cell.field.name()).chain([keywords]);
        let texts = self.cells.iter().map(|cell| cell.text.as_str()).chain([""]);
        // Into memory, with as many cells as headings.
        let _ = writer.write_record(headings);
        let _ = writer.write_record(texts);
        let bytes = writer.into_inner().unwrap_or_default();
        product_table::read(&bytes, settings).unwrap_or_default()
    }

    /// Returns the problems of a field.
    fn mistakes(&self, field: ProductField, settings: &TableSettings) -> Vec<String> {
        let problems = self.table(settings).problems;
        let of_field =
            problems.into_iter().filter(|one| one.column.as_deref() == Some(field.name()));
        of_field.map(|problem| format!("{}; {}", problem.message, problem.hint)).collect()
    }
}

fn ask_product(
    dialogue: &mut Dialogue,
    settings: &TableSettings,
) -> Result<ProductTable, CommandFailure> {
    let mut row = FirstRow::default();
    for question in QUESTIONS {
        ask_cell(dialogue, &mut row, question, settings)?;
    }
    let is_fixed = dialogue.confirm("Is the price fixed? (no: buyers bid)", true)?;
    ask_cell(dialogue, &mut row, if is_fixed { &RATE } else { &FLOOR }, settings)?;
    if is_fixed {
        let is_guaranteed = dialogue.confirm("Is the delivery guaranteed?", true)?;
        let text = if is_guaranteed { "guaranteed" } else { "non_guaranteed" };
        row.cells.push(FirstCell { field: ProductField::Delivery, text: text.to_owned() });
    }
    ask_cell(dialogue, &mut row, &MINIMUM, settings)?;
    ask_cell(dialogue, &mut row, &PER_DAY, settings)?;
    Ok(row.table(settings))
}

/// Asks for a cell until the reader of tables accepts it.
fn ask_cell(
    dialogue: &mut Dialogue,
    row: &mut FirstRow,
    question: &ProductQuestion,
    settings: &TableSettings,
) -> Result<(), CommandFailure> {
    let is_price = matches!(question.field, ProductField::Rate | ProductField::Floor);
    let currency = settings.currency.as_deref().unwrap_or_default();
    let text = match is_price {
        true => format!("{} in {currency}", question.text),
        false => question.text.to_owned(),
    };
    let asked = Question::new(&text, "").with_default(question.default);
    loop {
        let mut candidate = row.clone();
        candidate.cells.push(FirstCell { field: question.field, text: dialogue.ask(&asked)? });
        let mut mistakes = candidate.mistakes(question.field, settings);
        let is_empty = candidate.cells.last().is_some_and(|cell| cell.text.is_empty());
        if is_price && is_empty {
            mistakes.push("is needed; write a number such as 12.50".to_owned());
        }
        if mistakes.is_empty() {
            *row = candidate;
            return Ok(());
        }
        dialogue.reject(&mistakes, "");
    }
}
