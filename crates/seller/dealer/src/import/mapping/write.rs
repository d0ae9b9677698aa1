//! Writing of a mapping as TOML.

use std::fmt::Write as _;

use super::{ColumnRule, IGNORE, Mapping, MappingLine, Transform};
use crate::import::notation::DateForm;
use tradepost_document::catalog::Vocabulary as _;

impl Mapping {
    /// Writes TOML that parses to the same mapping.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::from(
            "# How the columns of a feed are understood; see docs/feeds.md. A heading counts by its\n\
             # letters and digits, and \"ignore\" leaves a column alone.\n",
        );
        if let Some(preset) = self.preset {
            line(&mut out, "preset", &quoted(preset.name()));
        }
        if !self.positions.is_empty() {
            line(&mut out, "headings", &list(&self.positions));
        }
        if let Some(unbuilt) = self.unbuilt {
            line(&mut out, "in_production", &quoted(unbuilt.name()));
        }
        if let Some(without_prices) = self.without_prices {
            line(&mut out, "without_prices", &without_prices.to_string());
        }
        // The other lines come from the preset.
        let own: Vec<&MappingLine> = self.columns.values().filter(|line| line.is_own).collect();
        if !own.is_empty() {
            out.push_str("\n[columns]\n");
        }
        for MappingLine { heading, rule, is_optional, .. } in own {
            line(&mut out, &quoted(heading), &written(rule, *is_optional));
        }
        if !self.constants.is_empty() {
            out.push_str("\n[constants]\n");
        }
        for (column, text) in &self.constants {
            line(&mut out, column.name(), &quoted(text));
        }
        if !self.names.is_empty() {
            out.push_str("\n[names]\n");
        }
        for (theirs, ours) in &self.names {
            line(&mut out, &quoted(theirs), &quoted(ours));
        }
        let formats = [
            ("decimal", self.notation.decimal.map(|sign| sign.name())),
            ("distance", self.notation.distance.map(|unit| unit.name())),
            ("date", self.notation.date.as_ref().map(DateForm::as_str)),
        ];
        if formats.iter().any(|(_, text)| text.is_some()) {
            out.push_str("\n[format]\n");
        }
        for (name, text) in formats {
            if let Some(text) = text {
                line(&mut out, name, &quoted(text));
            }
        }
        let parts = [
            ("fees", self.price.fees),
            ("add_ons", self.price.add_ons),
            ("rebates", self.price.rebates),
        ];
        if parts.iter().any(|(_, part)| part.is_some()) {
            out.push_str("\n[price]\n");
        }
        for (name, part) in parts {
            if let Some(part) = part {
                line(&mut out, name, &quoted(part.name()));
            }
        }
        out
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

/// Writes the rule of a column in TOML.
fn written(rule: &ColumnRule, is_optional: bool) -> String {
    let field = quoted(rule.column.map_or(IGNORE, |column| column.name()));
    if rule.transform.is_none() && !is_optional {
        return field;
    }
    let transform = rule.transform.as_deref().cloned().unwrap_or_default();
    let Transform { words, split, remove, date, prepend, append } = &transform;
    let mut parts = vec![format!("field = {field}")];
    if !words.is_empty() {
        let words =
            words.iter().map(|(word, meaning)| format!("{} = {}", quoted(word), quoted(meaning)));
        parts.push(format!("words = {{ {} }}", words.collect::<Vec<_>>().join(", ")));
    }
    if !remove.is_empty() {
        parts.push(format!("remove = {}", list(remove)));
    }
    for (key, text) in [("split", split), ("prepend", prepend), ("append", append)] {
        parts.extend(text.as_ref().map(|text| format!("{key} = {}", quoted(text))));
    }
    parts.extend(date.as_ref().map(|form| format!("date = {}", quoted(form.as_str()))));
    parts.extend(is_optional.then(|| "optional = true".to_owned()));
    format!("{{ {} }}", parts.join(", "))
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// Writes a basic string (TOML 1.0, "String").
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}
