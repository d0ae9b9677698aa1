//! Outlines of JSON for models and people: what a request would send, and texts of others in lists and tables of
//! Markdown.

use tradepost_document::display::{MAX_ITEMS, text};
use tradepost_document::json::{Map, Value};
use tradepost_document::text::{SENTENCE, WORD, plain};

use crate::sanitize::quoted;

/// Maximum number of lines with which a form lists what would be sent.
const MAX_LINES: usize = 60;

/// Maximum length of each text in a form, in characters.
const MAX_SHOWN: usize = 300;

/// Maximum length of a link, in characters.
const MAX_LINK: usize = 300;

/// Maximum length of a member's name in a form, in characters.
const MAX_MEMBER: usize = 40;

/// Notice in the first call's text about a form that was not answered.
pub const FORM_UNANSWERED: &str = "The client said that it can show a form, and gave no answer to one: the \
                                          person is asked by you instead, in two calls.";

/// Maximum length of a word without quotation marks.
const MAX_BARE_WORD: usize = 24;

/// Lists what would be sent, one line for each member, and says so when not everything is shown.
#[must_use]
pub fn lines(parts: &Map) -> String {
    let members = members(parts);
    let mut out = String::new();
    for (name, value) in members.iter().take(MAX_LINES) {
        let name = quoted(name, MAX_SHOWN);
        let value = quoted(value, MAX_SHOWN);
        out.push_str(&format!("- {name}: \"{value}\"\n"));
    }
    if let Some(more) = members.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        out.push_str(&format!("- and {more} more\n"));
    }
    if !is_whole(parts) {
        out.push_str("Not all of what would be sent is shown here.\n");
    }
    out
}

/// Returns true when [`lines`] shows all of this, from the first to the last character.
#[must_use]
pub fn is_whole(parts: &Map) -> bool {
    parts.iter().all(|(name, value)| is_legible(name, MAX_MEMBER) && is_shown(value))
        && members(parts).len() <= MAX_LINES
}

/// Renders the first result of a tool that needs the user's consent: what the model has to show, and how it calls the
/// tool again with the token.
#[must_use]
pub fn question(tool: &str, consent_text: &str, parts: &Map, token: &str) -> String {
    let mut out = format!(
        "Nothing has been sent yet. Show the user this text, word for word:\n\n> {consent_text}\n\n\
         and what would be sent:\n\n"
    );
    for (name, value) in members(parts) {
        out.push_str(&format!("- {name}: {value}\n"));
    }
    out.push_str(&format!(
        "\nThen ask whether they agree. Only when they do, call {tool} again with exactly \
         the same arguments and, in addition, consent_shown_to_user true and confirmation \
         {token}"
    ));
    out
}

/// Lists the members of an object and of those within it, each with its path and its text.
#[must_use]
pub fn members(parts: &Map) -> Vec<(String, String)> {
    fn walk(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (member, value) in members {
                    walk(&format!("{name}.{}", plain(member, MAX_MEMBER)), value, out);
                }
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                for (place, item) in items.iter().enumerate() {
                    walk(&format!("{name}.{place}"), item, out);
                }
            }
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => out.push((name.to_owned(), text(Some(value)))),
        }
    }
    let mut out = Vec::new();
    for (name, value) in parts {
        walk(&plain(name, MAX_MEMBER), value, &mut out);
    }
    out
}

/// Appends a line of a list, unless the value is empty.
pub fn line(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        out.push_str(&format!("- {name}: {value}\n"));
    }
}

/// Returns another party's value in quotation marks, unless it is a number or a single plain word, which cannot be
/// read as an instruction.
#[must_use]
pub fn said(value: Option<&Value>) -> String {
    let shown = text(value);
    match value {
        Some(Value::String(_) | Value::Array(_) | Value::Object(_)) => said_text(&shown),
        Some(_) | None => shown,
    }
}

/// Returns another party's text in quotation marks, unless it is a single plain word.
#[must_use]
pub fn said_text(shown: &str) -> String {
    let is_word =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.');
    if shown.len() <= MAX_BARE_WORD && shown.chars().all(is_word) {
        return shown.to_owned();
    }
    format!("\"{}\"", quoted(shown, SENTENCE))
}

/// Returns the link to a vehicle's page, if it is one that a model may pass on, or else nothing.
#[must_use]
pub fn link(url: &str) -> &str {
    let is_safe = |c: char| {
        c.is_ascii_graphic() && !matches!(c, '|' | '<' | '>' | '"' | '`' | '(' | ')' | '[' | ']')
    };
    let is_link = url.starts_with("https://") && url.len() <= MAX_LINK && url.chars().all(is_safe);
    if is_link { url } else { "" }
}

/// Renders a table of Markdown.
#[must_use]
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = table_head(header);
    for row in rows {
        out.push_str(&table_row(row));
    }
    out
}

/// Renders the first two lines of a table of Markdown.
#[must_use]
pub fn table_head(header: &[&str]) -> String {
    format!("| {} |\n|{}\n", header.join(" | "), " --- |".repeat(header.len()))
}

/// Renders a row of a table of Markdown, with its line break.
#[must_use]
pub fn table_row(cells: &[String]) -> String {
    // Escaped, because a bar in a dealer's text would begin a new cell.
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn is_shown(value: &Value) -> bool {
    let is_short = |text: &str| is_legible(text, MAX_SHOWN);
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number.text().len() <= WORD,
        Value::String(text) => is_short(text),
        // Lists of plain values are shown on one line.
        Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.len() <= MAX_ITEMS && is_short(&value.to_string())
        }
        Value::Array(items) => items.iter().all(is_shown),
        Value::Object(members) => {
            let mut members = members.iter();
            members.all(|(name, value)| is_legible(name, MAX_MEMBER) && is_shown(value))
        }
    }
}

/// Returns true when every character of a text is shown; the amount of white space does not matter.
fn is_legible(text: &str, max: usize) -> bool {
    let shown = plain(text, max);
    text.chars().count() <= max && text.split_whitespace().eq(shown.split_whitespace())
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn what_a_form_cuts_is_told() {
        let is_cut = |value: Value| {
            let parts = Map::from_iter([("it".to_owned(), value)]);
            let says = lines(&parts).contains("Not all of what would be sent is shown");
            assert_eq!(says, !is_whole(&parts), "{parts:?}");
            says
        };
        assert!(!is_cut(json!({"a": "x".repeat(MAX_SHOWN), "b": vec!["yes"; MAX_ITEMS], "c": 5})));
        assert!(!is_cut(json!(vec![json!({"a": 1}); MAX_LINES])));
        for cut in [
            json!([{"a": "x".repeat(MAX_SHOWN + 1)}]),
            json!(vec!["no"; MAX_ITEMS + 1]),
            json!("to\u{200b}tal"),
            json!(["x".repeat(200), "y".repeat(200)]),
            json!({"x".repeat(MAX_MEMBER + 1): 1}),
            json!(vec![json!({"a": 1}); MAX_LINES + 1]),
        ] {
            assert!(is_cut(cut));
        }
    }
}
