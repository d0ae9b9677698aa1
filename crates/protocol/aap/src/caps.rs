//! Maximum sizes of a lead. The published schema has no maximum length for most strings, but a
//! dealer that stores data of strangers needs one. Violations are reported in the schema's terms,
//! `maxLength` and `maxItems`.
// Valid leads that are too large to keep are refused for every caller (C-51).

use tradepost_document::json::Value;

use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Keyword, Problems};

/// Maximum length of names and address lines in characters.
pub const NAME: usize = 200;

/// Maximum length of other strings in characters.
pub const TEXT: usize = 2_000;

/// Maximum length of long texts in characters: the consent's text, a vehicle's description and
/// notes.
pub const PROSE: usize = 10_000;

/// Maximum number of items of a list, and of members of an object.
pub const ITEMS: usize = 200;

/// Maximum length of a number in characters.
pub const NUMBER: usize = 64;

/// Members whose size is limited by the schema or by their format.
const LIMITED: &[&str] =
    &["type", "message", "appointment", "idempotency_key", "submitted_at", "email", "phone"];

/// Records every value of a lead's member that is too large.
pub(super) fn check(name: &str, value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) {
    let limit = match name {
        "customer" | "source_agent" => NAME,
        _ => TEXT,
    };
    member(name, value, at, problems, limit);
}

fn member(
    name: &str,
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    limit: usize,
) {
    if LIMITED.contains(&name) {
        return;
    }
    let limit = match name {
        "consent_text" | "description" | "notes" => PROSE,
        "url" | "agent_card_url" => TEXT,
        _ => limit,
    };
    walk(value, at, problems, limit);
}

fn walk(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems, limit: usize) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) if number.text().len() <= NUMBER => {}
        Value::Number(_) => too_long(at, problems, NUMBER),
        Value::String(text) => {
            if text.chars().nth(limit).is_some() {
                too_long(at, problems, limit);
            }
        }
        Value::Array(items) => {
            if items.len() > ITEMS {
                return too_many(at, problems, "items");
            }
            for (index, item) in items.iter().enumerate() {
                walk(item, &at.index(index), problems, limit);
            }
        }
        Value::Object(members) => {
            if members.len() > ITEMS {
                return too_many(at, problems, "members");
            }
            for (name, value) in members {
                member(name, value, &at.key(name), problems, limit);
            }
        }
    }
}

fn too_long(at: &DocumentPlace<'_>, problems: &mut Problems, limit: usize) {
    let message = format!("must have at most {limit} characters");
    parse::push(at, problems, Keyword::MaxLength, message, parse::limit(limit));
}

fn too_many(at: &DocumentPlace<'_>, problems: &mut Problems, what: &str) {
    let message = format!("must have at most {ITEMS} {what}");
    parse::push(at, problems, Keyword::MaxItems, message, parse::limit(ITEMS));
}
