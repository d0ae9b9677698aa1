//! The signed content of an agent card (A2A 1.0 §8.4.1): the card without `signatures`, with the
//! presence rules of its protobuf messages applied, in the canonical form of RFC 8785.
//!
//! Two points that the specification leaves open are decided for safety. A member that the messages do not declare is
//! signed unchanged, so that none can be added. And a number that a double cannot represent, such as 9007199254740993,
//! has no canonical form: RFC 8785 would sign its neighbour, and a reader that keeps all digits would trust a number
//! that was never signed. All other numbers are written by [`canonical`] exactly as RFC 8785 requires.

use crate::protobuf::{
    FieldDescriptor, FieldLabel, FieldType, MessageDescriptor, is_default, schema,
};
use tradepost_document::canonical;
use tradepost_document::decimal::Decimal;
use tradepost_document::json::{Map, Number, Value};
use tradepost_document::parse::push;
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

/// Members that `a2a.proto` marks as `REQUIRED`, which are always written.
static REQUIRED: &[(&MessageDescriptor, &[&str])] = &[
    (
        &schema::AGENT_CARD,
        &[
            "name",
            "description",
            "supportedInterfaces",
            "version",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
        ],
    ),
    (&schema::AGENT_INTERFACE, &["url", "protocolBinding", "protocolVersion"]),
    (&schema::AGENT_PROVIDER, &["url", "organization"]),
    (&schema::AGENT_SKILL, &["id", "name", "description", "tags"]),
    (&schema::API_KEY_SECURITY_SCHEME, &["location", "name"]),
    (&schema::HTTP_AUTH_SECURITY_SCHEME, &["scheme"]),
    (&schema::O_AUTH2_SECURITY_SCHEME, &["flows"]),
    (&schema::OPEN_ID_CONNECT_SECURITY_SCHEME, &["openIdConnectUrl"]),
    (&schema::AUTHORIZATION_CODE_O_AUTH_FLOW, &["authorizationUrl", "tokenUrl", "scopes"]),
    (&schema::CLIENT_CREDENTIALS_O_AUTH_FLOW, &["tokenUrl", "scopes"]),
    (&schema::DEVICE_CODE_O_AUTH_FLOW, &["deviceAuthorizationUrl", "tokenUrl", "scopes"]),
];

/// Returns the signed text.
///
/// # Errors
/// Every number and every null because of which the card has no canonical form.
pub fn signing_payload(card: &Value) -> Result<String, Problems> {
    let mut problems = Problems::new();
    let Value::Object(members) = card else {
        let message = "an agent card must be an object";
        push(
            &DocumentPlace::Root,
            &mut problems,
            Keyword::Type,
            message,
            ProblemDetail::Expected("object"),
        );
        return Err(problems);
    };
    // Only at the top level: elsewhere `signatures` is a member like any other.
    let members = members.iter().filter(|(name, _)| *name != "signatures");
    let content =
        Value::Object(message(members, &schema::AGENT_CARD, &DocumentPlace::Root, &mut problems));
    check_numbers(&content, &DocumentPlace::Root, &mut problems);
    problems.into_result(Some(canonical::to_string(&content)))
}

/// Returns the members of a message that are written.
fn message<'a>(
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    declared: &'static MessageDescriptor,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Map {
    let required = REQUIRED.iter().find(|(message, _)| std::ptr::eq(*message, declared));
    let mut written = Map::new();
    for (name, value) in members {
        let at = at.key(name);
        let Some(field) = declared.fields.iter().find(|field| field.name == name) else {
            written.insert(name.clone(), value.clone());
            continue;
        };
        let is_required = required.is_some_and(|(_, names)| names.contains(&name.as_str()));
        // ProtoJSON reads null as "not set".
        if is_required && value.is_null() {
            let message = "must not be null: it is required, and null means that it is not set";
            push(&at, problems, Keyword::Type, message, ProblemDetail::None);
        } else if is_required || !value.is_null() && !is_unset(field, value) {
            written.insert(name.clone(), content(value, field, &at, problems));
        }
    }
    written
}

/// Returns true when a value is the default of its member. A message has no default: it is present
/// or absent.
fn is_unset(field: &FieldDescriptor, value: &Value) -> bool {
    match field.rule {
        FieldLabel::Repeated => value.as_array().is_some_and(Vec::is_empty),
        FieldLabel::Map => value.as_object().is_some_and(Map::is_empty),
        FieldLabel::Implicit => is_default(field.kind, value),
        FieldLabel::Explicit | FieldLabel::Oneof(_) => false,
    }
}

/// Returns a value with the messages inside it reduced. A value without the declared type stays
/// unchanged, because it cannot be read as another value.
fn content(
    value: &Value,
    field: &FieldDescriptor,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Value {
    let mut reduced = |value: &Value, at: &DocumentPlace<'_>| match (field.kind, value) {
        (FieldType::Message(declared), Value::Object(members)) => {
            Value::Object(message(members.iter(), declared, at, problems))
        }
        (_, value) => value.clone(),
    };
    match (field.rule, value) {
        (FieldLabel::Repeated, Value::Array(items)) => {
            items.iter().enumerate().map(|(index, item)| reduced(item, &at.index(index))).collect()
        }
        (FieldLabel::Map, Value::Object(entries)) => entries
            .iter()
            .map(|(name, entry)| (name.clone(), reduced(entry, &at.key(name))))
            .collect(),
        (FieldLabel::Repeated | FieldLabel::Map, _) => value.clone(),
        (FieldLabel::Implicit | FieldLabel::Explicit | FieldLabel::Oneof(_), _) => {
            reduced(value, at)
        }
    }
}

fn check_numbers(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) {
    match value {
        Value::Number(number) if !is_double(number) => {
            let message = "must be a number that a double holds exactly as it is written; write \
                           it as a text, or with at most 15 digits";
            push(at, problems, Keyword::Format, message, ProblemDetail::None);
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

/// Returns true when the number is the shortest decimal of the double nearest to it, up to
/// spelling. The digits that RFC 8785 writes are then the digits of the number itself.
fn is_double(number: &Number) -> bool {
    let text = number.text();
    // An exponent beyond `i128` is not stored exactly, and no double has one.
    let written = Decimal::from_text(&text);
    let double = text.parse::<f64>().ok().filter(|double| double.is_finite());
    written.exact
        && double.is_some_and(|double| Decimal::from_text(&format!("{double:e}")) == written)
}

#[cfg(test)]
mod tests;
