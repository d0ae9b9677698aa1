//! How much a lead may hold. The published schema gives most of its texts no greatest length, and
//! whoever stores what strangers send needs one: a name of 240 KB is no name. What is refused here is
//! refused in the schema's own terms, `maxLength` and `maxItems`.
// C-51

use crate::json::Value;

use crate::parse;
use crate::problem::{At, Keyword, Problems};

/// Names, and the lines of an address, in characters.
pub const NAME: usize = 200;

/// Any other text, in characters.
pub const TEXT: usize = 2_000;

/// What people read in full: the consent's text, a vehicle's description and notes.
pub const PROSE: usize = 10_000;

/// Items of a list, and members of an object.
pub const ITEMS: usize = 200;

/// A number, in characters.
pub const NUMBER: usize = 64;

/// Members whose size the schema or their format limits.
const LIMITED: &[&str] =
    &["type", "message", "appointment", "idempotency_key", "submitted_at", "email", "phone"];

/// Notes what of a lead's member is too large. `name` is the member's.
pub(super) fn check(name: &str, value: &Value, at: &At<'_>, problems: &mut Problems) {
    let limit = match name {
        "customer" | "source_agent" => NAME,
        _ => TEXT,
    };
    member(name, value, at, problems, limit);
}

fn member(name: &str, value: &Value, at: &At<'_>, problems: &mut Problems, limit: usize) {
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

fn walk(value: &Value, at: &At<'_>, problems: &mut Problems, limit: usize) {
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

fn too_long(at: &At<'_>, problems: &mut Problems, limit: usize) {
    let message = format!("must have at most {limit} characters");
    parse::push(at, problems, Keyword::MaxLength, message, parse::limit(limit));
}

fn too_many(at: &At<'_>, problems: &mut Problems, what: &str) {
    let message = format!("must have at most {ITEMS} {what}");
    parse::push(at, problems, Keyword::MaxItems, message, parse::limit(ITEMS));
}
