//! What a signature of an agent card covers (A2A §8.4.1): the card without `signatures`, with the
//! presence rules of its protobuf messages applied, in the canonical form of RFC 8785.
//!
//! Two points that the specification leaves open are decided for safety. A member that the
//! messages do not declare is part of what is signed, just as it came, so that nobody can add one.
//! And a number that a double does not hold, such as 9007199254740993, has no signing form:
//! RFC 8785 would sign its neighbour, and a reader that keeps digits would trust a number that was
//! never signed. All other numbers are spelled by [`canonical`] exactly as RFC 8785 spells them.

use fields::{CARD, Kind, Message, Presence};

use crate::canonical;
use crate::decimal::Decimal;
use crate::json::{Map, Number, Value};
use crate::parse::push;
use crate::problem::{At, Extra, Keyword, Problems};

mod fields;

/// The text that is signed.
///
/// # Errors
/// Why the card has no signing form: every number and every null that stands in its way.
pub fn signing_payload(card: &Value) -> Result<String, Problems> {
    let mut problems = Problems::new();
    let Value::Object(members) = card else {
        let message = "an agent card must be an object";
        push(&At::Root, &mut problems, Keyword::Type, message, Extra::Expected("object"));
        return Err(problems);
    };
    // A message never declares `signatures`, so only the card's own is taken out.
    let members = members.iter().filter(|(name, _)| *name != "signatures");
    let content = Value::Object(message(members, CARD, &At::Root, &mut problems));
    check_numbers(&content, &At::Root, &mut problems);
    problems.into_result(Some(canonical::to_string(&content)))
}

/// The members of a message that are written.
fn message<'a>(
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    declared: Message,
    at: &At<'_>,
    problems: &mut Problems,
) -> Map {
    let mut written = Map::new();
    for (name, value) in members {
        let at = at.key(name);
        let Some(field) = declared.iter().find(|field| field.name == name) else {
            written.insert(name.clone(), value.clone());
            continue;
        };
        match field.presence {
            // ProtoJSON reads null as "not set".
            Presence::Required if value.is_null() => {
                let message = "must not be null: it is required, and null means that it is not set";
                push(&at, problems, Keyword::Type, message, Extra::None);
            }
            Presence::Explicit | Presence::Implicit if value.is_null() => {}
            Presence::Implicit if field.kind.is_default(value) => {}
            Presence::Required | Presence::Explicit | Presence::Implicit => {
                written.insert(name.clone(), content(value, field.kind, &at, problems));
            }
        }
    }
    written
}

/// A value with the messages inside it reduced. What does not have the declared type stays as it
/// is: it cannot be read as something else, and is signed like everything else.
fn content(value: &Value, kind: Kind, at: &At<'_>, problems: &mut Problems) -> Value {
    match (kind, value) {
        (Kind::Message(declared), Value::Object(members)) => {
            Value::Object(message(members.iter(), declared, at, problems))
        }
        (Kind::Messages(declared), Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(index, item)| content(item, Kind::Message(declared), &at.index(index), problems))
            .collect(),
        (Kind::MessageMap(declared), Value::Object(entries)) => entries
            .iter()
            .map(|(name, entry)| {
                let value = content(entry, Kind::Message(declared), &at.key(name), problems);
                (name.clone(), value)
            })
            .collect(),
        (
            Kind::Text
            | Kind::Flag
            | Kind::Texts
            | Kind::TextMap
            | Kind::Free
            | Kind::Message(_)
            | Kind::Messages(_)
            | Kind::MessageMap(_),
            _,
        ) => value.clone(),
    }
}

fn check_numbers(value: &Value, at: &At<'_>, problems: &mut Problems) {
    match value {
        Value::Number(number) if !is_double(number) => {
            let message = "must be a number that a double holds exactly as it is written; write \
                           it as a text, or with at most 15 digits";
            push(at, problems, Keyword::Format, message, Extra::None);
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_numbers(item, &at.index(index), problems);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                check_numbers(member, &at.key(name), problems);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether the number is the shortest decimal of the double nearest to it, up to spelling. The
/// digits that RFC 8785 writes are then the digits of the number itself.
fn is_double(number: &Number) -> bool {
    let text = number.text();
    // Beyond `i128` an exponent is not held exactly, and no double has one.
    let written = Decimal::of(&text);
    let double = text.parse::<f64>().ok().filter(|double| double.is_finite());
    written.exact && double.is_some_and(|double| Decimal::of(&format!("{double:e}")) == written)
}

#[cfg(test)]
mod tests;
