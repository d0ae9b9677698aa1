//! Reads TOML files written by people, and reports every mistake at once.
//!
//! The text becomes a JSON value that remembers the origin of each part (`document`), and is then
//! read with the same readers as a request ([`crate::parse`]). A problem becomes a [`TomlMistake`] with
//! its line, in the terms of TOML.

use std::fmt;

use document::{Document, Origin};
use jiff::SignedDuration;

use crate::json::Value;
use crate::problem::{Keyword, Problem, ProblemDetail, Problems};

mod document;

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlMistake {
    /// The line in the file, from 1; `None` for a setting that comes from a variable or is absent.
    pub line: Option<usize>,
    /// The dotted key, such as `dealers[0].rooftops[1].timezone`; empty for the file as a whole.
    pub key: String,
    /// The problem and the permitted values.
    pub message: String,
}

impl fmt::Display for TomlMistake {
    /// Writes `dealers[0].name: …`, without the line, which the caller prints with the file's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// Variables that override settings of a file.
///
/// With the prefix `SHOP_`, `SHOP_SERVER__LISTEN=0.0.0.0:80` sets `server.listen`, and
/// `SHOP_DEALERS__0__NAME=…` the name of the first dealer: two underscores descend one level.
/// Variables without two underscores are ignored.
#[derive(Debug, Clone, Copy, Default)]
pub struct Variables<'a> {
    /// The prefix of the names.
    pub prefix: &'a str,
    /// Names and values.
    pub all: &'a [(String, String)],
}

/// Reads a file's text with `reader`.
///
/// # Errors
///
/// All mistakes, in the order of the file; those of variables come last.
pub fn read<T>(
    text: &str,
    variables: Variables<'_>,
    reader: impl Fn(&Value, &mut Problems) -> Option<T>,
) -> Result<T, Vec<TomlMistake>> {
    let mut document = Document::parse(text)?;
    let mut mistakes = document.apply(variables);
    let mut problems = Problems::new();
    let mut read = reader(&document.value, &mut problems);
    // `+14155550123` and `1.0` are numbers in TOML; if the setting is a text, the variable's value
    // is used as text.
    if document.restore_texts(&problems) {
        problems = Problems::new();
        read = reader(&document.value, &mut problems);
    }
    let unlisted = problems.total() - problems.listed().len();
    mistakes.extend(problems.listed().iter().map(|p| mistake(p, &document)));
    mistakes.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
    if unlisted > 0 {
        mistakes.push(TomlMistake {
            line: None,
            key: String::new(),
            message: format!("{unlisted} further mistakes are not listed; fix these first"),
        });
    }
    read.filter(|_| mistakes.is_empty()).ok_or(mistakes)
}

/// Returns the lines of settings, which are given as JSON Pointers; for an absent setting, the line
/// of the nearest table around it. `None` for a setting from a variable, or if there is no such
/// line.
#[must_use]
pub fn lines_of(text: &str, variables: Variables<'_>, pointers: &[&str]) -> Vec<Option<usize>> {
    let Ok(mut document) = Document::parse(text) else { return vec![None; pointers.len()] };
    document.apply(variables);
    let line = |pointer: &&str| match document.origin(pointer) {
        Some(Origin::Line(line)) => Some(*line),
        Some(Origin::Variable(_)) | None => None,
    };
    pointers.iter().map(line).collect()
}

/// Writes a JSON Pointer as a dotted key, such as `dealers[0].name`.
#[must_use]
pub fn dotted_key(pointer: &str) -> String {
    document::dotted(pointer)
}

/// Converts a problem to a mistake in the terms of TOML.
fn mistake(problem: &Problem, document: &Document) -> TomlMistake {
    let mut key = document::dotted(&problem.pointer);
    let message = match (problem.keyword, &problem.extra) {
        (Keyword::Required, ProblemDetail::Property(name)) => {
            key = document::join(&key, name);
            "is missing; it has no default".to_owned()
        }
        (Keyword::AdditionalProperties, ProblemDetail::Allowed(known)) => {
            // The part after the semicolon is the suggestion, if there is one.
            match problem.message.split_once("; ") {
                Some((_, guess)) => format!("unknown key; {guess}"),
                None => format!("unknown key; the keys here are {}", known.join(", ")),
            }
        }
        (Keyword::Type, ProblemDetail::Expected(name)) => format!("must be {}", toml_type(name)),
        _ => problem.message.clone(),
    };
    let (line, message) = match document.origin(&problem.pointer) {
        Some(Origin::Line(line)) => (Some(*line), message),
        Some(Origin::Variable(name)) => (None, format!("{message} (set by {name})")),
        None => (None, message),
    };
    TomlMistake { line, key, message }
}

fn toml_type(name: &str) -> &str {
    match name {
        "object" => "a table",
        "array" => "a list in [brackets]",
        "string" => "a text in \"quotes\"",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        other => other,
    }
}

/// Reads a duration such as `1h30m`: numbers with the units ms, s, m, h, d and w. A day has 24
/// hours.
#[must_use]
pub fn parse_duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text.trim();
    let mut total = SignedDuration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(unit_at);
        let unit_end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let milliseconds: i64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return None,
        };
        let part = number.parse::<i64>().ok()?.checked_mul(milliseconds)?;
        total = total.checked_add(SignedDuration::from_millis(part))?;
        rest = tail.trim_start();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, seconds) in [
            ("10s", Some(10)),
            ("15m", Some(900)),
            ("1h30m", Some(5400)),
            ("1h 30m", Some(5400)),
            ("90d", Some(7_776_000)),
            ("2w", Some(1_209_600)),
            ("0s", Some(0)),
            ("", None),
            ("10", None),
            ("s", None),
            ("-5s", None),
            ("1.5h", None),
            ("5 s", None),
            ("3months", None),
            ("9999999999999999d", None),
        ] {
            let read = parse_duration(text).map(|duration| duration.as_secs());
            assert_eq!(read, seconds, "{text}");
        }
    }
}
