//! The part of JSON Schema in which tool arguments are shown to models. Each model provider accepts a different part,
//! and some refuse a tool because of one unknown keyword. So only the keywords that all accept are shown (`type`,
//! `properties`, `required`, `items`, `enum`, `description`, `minimum`, `maximum`), and the rest becomes sentences.
//! Whoever reads the arguments still checks everything.

use tradepost_document::json::{Map, Value, json};

/// Maximum depth of a schema; the arguments object is the first level.
const MAX_LEVELS: usize = 5;

/// Formats, each with the sentence that replaces it in the description.
const FORMATS: [(&str, &str); 4] = [
    ("date-time", "A date and time with its offset (RFC 3339)."),
    ("date", "A date: YYYY-MM-DD."),
    ("email", "An e-mail address."),
    ("uri", "An absolute address, such as https://example.com/x."),
];

/// Pattern of a vehicle identification number in the schemas of AAP.
pub(crate) const VIN_PATTERN: &str = "^[A-HJ-NPR-Z0-9]{17}$";

/// Reduces the schema of a tool's arguments to the part that is shown to models.
#[must_use]
pub fn portable(schema: &Map) -> Map {
    shown(schema, 1).unwrap_or_default()
}

/// Reduces a schema at this level. `None` when the level for its content is missing: some providers refuse lists
/// without `items` and objects without `properties`.
fn shown(schema: &Map, level: usize) -> Option<Map> {
    let kind = kind(schema);
    let mut words = words(schema);
    let mut inner = Map::new();
    match kind {
        Some("array") => {
            let items = schema.get("items").and_then(Value::as_object);
            let items =
                items.filter(|_| level < MAX_LEVELS).and_then(|items| shown(items, level + 1))?;
            inner.insert("items".to_owned(), items.into());
        }
        Some("object") => {
            let members = schema.get("properties").and_then(Value::as_object);
            let (properties, mut left_out) = match members {
                Some(members) if level < MAX_LEVELS => shown_members(members, level + 1),
                Some(_) | None => (Map::new(), Vec::new()),
            };
            if properties.is_empty() && level > 1 {
                return None;
            }
            words.append(&mut left_out);
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let required = required
                .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)));
            let required: Vec<Value> = required.cloned().collect();
            inner.insert("properties".to_owned(), properties.into());
            // Always present at the top level, because one SDK turns an absent list into `null`.
            if !required.is_empty() || level == 1 {
                inner.insert("required".to_owned(), required.into());
            }
        }
        Some(_) | None => {}
    }
    let mut out = Map::new();
    if let Some(kind) = kind {
        out.insert("type".to_owned(), kind.into());
    }
    let own = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let description: Vec<String> = own.into_iter().chain(words).collect();
    if !description.is_empty() {
        out.insert("description".to_owned(), description.join(" ").into());
    }
    let texts =
        |value: &Value| value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    if let Some(names) = schema.get("enum").filter(|names| texts(names)) {
        out.insert("enum".to_owned(), names.clone());
    } else if let Some(constant) = schema.get("const").filter(|constant| constant.is_string()) {
        out.insert("enum".to_owned(), json!([constant]));
    }
    for bound in ["minimum", "maximum"] {
        if let Some(limit) = schema.get(bound).filter(|limit| limit.is_number()) {
            out.insert(bound.to_owned(), limit.clone());
        }
    }
    out.extend(inner);
    Some(out)
}

/// Reduces the members that can be shown at this level, and describes each other one in a sentence.
fn shown_members(members: &Map, level: usize) -> (Map, Vec<String>) {
    let mut properties = Map::new();
    let mut left_out = Vec::new();
    for (name, member) in members {
        match member.as_object().and_then(|member| shown(member, level)) {
            Some(member) => drop(properties.insert(name.clone(), member.into())),
            None => left_out.extend(member_sentence(name, member)),
        }
    }
    (properties, left_out)
}

/// Describes a member that is not shown in a sentence.
fn member_sentence(name: &str, member: &Value) -> Option<String> {
    Some(format!("It may have {}.", phrase(name, member.as_object()?)))
}

/// Describes a member that is not shown, with its own members.
fn phrase(name: &str, member: &Map) -> String {
    let items = member.get("items").and_then(Value::as_object);
    let within = items.unwrap_or(member).get("properties").and_then(Value::as_object);
    let kind = match kind(member) {
        Some("array") if within.is_some() => "a list of objects",
        Some("array") => "a list",
        Some("object") => "an object",
        Some("string") => "a text",
        Some("boolean") => "true or false",
        Some(_) => "a number",
        None => "a value",
    };
    let says = member.get("description").and_then(Value::as_str);
    let says = says.map(|says| format!(": {}", says.trim_end_matches('.'))).unwrap_or_default();
    let within = within.into_iter().flatten();
    let within = within.filter_map(|(name, member)| Some(phrase(name, member.as_object()?)));
    match within.collect::<Vec<_>>().join("; ").as_str() {
        "" => format!("{name}, {kind}{says}"),
        within => format!("{name}, {kind}{says} ({within})"),
    }
}

/// Returns the one type that is shown: the first that is not null.
fn kind(schema: &Map) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null")
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => None,
        // A text constant without a type is shown as a string.
        None => schema.get("const").filter(|constant| constant.is_string()).map(|_| "string"),
    }
}

/// Describes the keywords that are not shown.
fn words(schema: &Map) -> Vec<String> {
    let number = |name: &str| schema.get(name).and_then(Value::as_u64);
    let mut words = Vec::new();
    let format = schema.get("format").and_then(Value::as_str);
    words.extend(
        FORMATS
            .iter()
            .filter(|(name, _)| format == Some(*name))
            .map(|(_, says)| (*says).to_owned()),
    );
    match schema.get("pattern").and_then(Value::as_str) {
        Some(VIN_PATTERN) => {
            words.push("17 letters and digits, without I, O and Q.".to_owned());
        }
        Some(pattern) => words.push(format!("It matches {pattern}.")),
        None => {}
    }
    match (number("minLength"), number("maxLength")) {
        (None | Some(0), Some(max)) => words.push(format!("At most {max} characters.")),
        (Some(min), Some(max)) => words.push(format!("{min} to {max} characters.")),
        (Some(1), None) => words.push("Not empty.".to_owned()),
        (Some(min), None) if min > 1 => words.push(format!("At least {min} characters.")),
        (Some(_) | None, None) => {}
    }
    match (number("minItems"), number("maxItems")) {
        (Some(min), Some(max)) if min == max => words.push(format!("Exactly {min}.")),
        (Some(min), max) if min > 0 => {
            let at_most = max.map(|max| format!(" and at most {max}")).unwrap_or_default();
            words.push(format!("At least {min}{at_most}."));
        }
        (Some(_) | None, Some(max)) => words.push(format!("At most {max}.")),
        (Some(_) | None, None) => {}
    }
    if schema.get("uniqueItems").and_then(Value::as_bool) == Some(true) {
        words.push("Each once.".to_owned());
    }
    if let Some(default) = schema.get("default") {
        words.push(format!("{default} when left out."));
    }
    let types = schema.get("type").and_then(Value::as_array);
    if types.is_some_and(|types| types.iter().any(|kind| kind.as_str() == Some("null"))) {
        words.push("May be left out.".to_owned());
    }
    let either = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let either = either.filter_map(|one| one.pointer("/required/0").and_then(Value::as_str));
    let either: Vec<_> = either.collect();
    if !either.is_empty() {
        words.push(format!("At least one of {} is needed.", either.join(", ")));
    }
    if schema.get("additionalProperties").and_then(Value::as_bool) == Some(false) {
        words.push("No other members.".to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_said_in_words() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["kind", "deep"],
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {
            "kind": {"const": "x"},
            "n": {"type": ["integer", "null"], "minimum": 1, "default": 3},
            "vin": {"type": "string", "pattern": VIN_PATTERN},
            "list": {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 1, "maxItems": 2,
                "uniqueItems": true, "description": "A list."},
            "deep": {"type": "object", "properties": {"3": {"type": "object", "properties": {
                "plain": {"type": "boolean"},
                "4": {"type": "array", "items": {"type": "object", "properties": {
                    "6": {"type": "string"}}}},
                "list": {"type": "object", "properties": {"5": {"type": "array", "items": {"type": "string"},
                    "description": "The fifth."}}}}}}}}});
        let shown = Value::Object(portable(schema.as_object().unwrap()));
        let expected = json!({"type": "object",
            "description": "At least one of a, b is needed. No other members.", "properties": {
            "kind": {"type": "string", "enum": ["x"]},
            "n": {"type": "integer", "description": "3 when left out. May be left out.", "minimum": 1},
            "vin": {"type": "string", "description": "17 letters and digits, without I, O and Q."},
            "list": {"type": "array", "description": "A list. At least 1 and at most 2. Each once.",
                "items": {"type": "string", "description": "A date: YYYY-MM-DD."}},
            "deep": {"type": "object", "properties": {"3": {"type": "object", "description":
                "It may have 4, a list of objects (6, a text). It may have list, an object (5, a list: The fifth).",
                "properties": {"plain": {"type": "boolean"}}}}}},
            "required": ["kind", "deep"]});
        assert_eq!(shown, expected);
    }
}
