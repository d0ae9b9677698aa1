//! Details of one record for people: its plain members as names and values, and its lists as tables
//! below.

use std::collections::BTreeSet;

use tradepost_document::format;
use tradepost_document::json::{Map, Value};

use crate::cli::Context;
use crate::cli::output::table::{self, TableColumn, TableWidth};

/// Writes the document: unchanged for programs.
pub(super) fn write(document: &Value, context: &Context) {
    if context.output.is_json() {
        context.output.document(document);
        return;
    }
    if let Some(members) = document.as_object() {
        context.output.line(text(members));
    }
}

/// Formats a document for people.
fn text(document: &Map) -> String {
    let mut pairs = Vec::new();
    let mut sections = Vec::new();
    for (name, value) in document {
        match items_of(value) {
            Some(items) => sections.push(section(name, &items)),
            None => flatten(&heading(name), value, &mut pairs),
        }
    }
    let mut parts = vec![table::pairs(TableWidth::Terminal, &pairs)];
    parts.extend(sections);
    parts.join("\n\n")
}

/// Returns the items of a list that has only objects.
fn items_of(value: &Value) -> Option<Vec<&Map>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    items.iter().map(Value::as_object).collect()
}

/// Formats items below a heading: as a table when all their values are plain, or else one by one.
fn section(name: &str, items: &[&Map]) -> String {
    let rows: Vec<Vec<(String, String)>> = items
        .iter()
        .map(|item| {
            let mut pairs = Vec::new();
            for (name, value) in *item {
                flatten(&heading(name), value, &mut pairs);
            }
            pairs
        })
        .collect();
    let is_plain = items.iter().all(|item| item.values().all(is_plain));
    let name = heading(name);
    if is_plain {
        return format!("{name}:\n{}", as_table(&rows));
    }
    let blocks = rows.iter().enumerate().map(|(index, pairs)| {
        format!("{name} {}:\n{}", index + 1, table::pairs(TableWidth::Terminal, pairs))
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

fn as_table(rows: &[Vec<(String, String)>]) -> String {
    let mut names: Vec<&String> = Vec::new();
    let mut known = BTreeSet::new();
    for (name, _) in rows.iter().flatten() {
        if known.insert(name) {
            names.push(name);
        }
    }
    let cells = rows.iter().map(|row| {
        let cell = |name: &&String| {
            let found = row.iter().find(|(known, _)| known == *name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        names.iter().map(cell).collect::<Vec<_>>()
    });
    let columns: Vec<_> = names.iter().map(|name| TableColumn::Text(name)).collect();
    table::rows(TableWidth::Terminal, &columns, &cells.collect::<Vec<_>>())
}

/// Returns true when a value fits into a cell.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items.iter().all(|item| !item.is_object() && !item.is_array()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Adds a value under its name: the members of an object one by one, and nothing for an empty
/// value.
fn flatten(name: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                flatten(&format!("{name} {}", heading(member)), value, pairs);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let text = one_line(value);
            if !text.is_empty() {
                pairs.push((name.to_owned(), text));
            }
        }
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => match format::timestamp(text) {
            Some(moment) => format::rfc3339(moment),
            None => text.clone(),
        },
        Value::Array(items) => items.iter().map(one_line).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let mut pairs = Vec::new();
            for (name, value) in members {
                flatten(&heading(name), value, &mut pairs);
            }
            let texts = pairs.iter().map(|(name, value)| format!("{name} {value}"));
            format!("({})", texts.collect::<Vec<_>>().join(", "))
        }
    }
}

fn heading(name: &str) -> String {
    name.replace('_', " ")
}
