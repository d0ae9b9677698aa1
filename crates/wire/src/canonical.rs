//! Canonical JSON: equal documents become equal texts. Members sorted as RFC 8785 sorts them
//! (UTF-16 code units), numbers by value (`2020.0` is `2020`), no white space. Numbers differ from
//! RFC 8785 in one point: whole numbers beyond 2^53 keep every digit.

use serde_json::{Number, Value};

/// The canonical text of a value.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

/// Appends the canonical text of a value.
pub fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => write_members(out, members.iter().collect()),
    }
}

/// Appends the canonical text of an object with these members.
pub fn write_members(out: &mut String, mut members: Vec<(&String, &Value)>) {
    members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    out.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(out, key);
        out.push(':');
        write(out, value);
    }
    out.push('}');
}

fn write_text(out: &mut String, text: &str) {
    // serde_json escapes exactly what RFC 8785 asks for: quote, backslash and control characters,
    // with the short forms where they exist.
    match serde_json::to_string(text) {
        Ok(quoted) => out.push_str(&quoted),
        Err(_) => unreachable!("a string always serialises"),
    }
}

fn write_number(out: &mut String, number: &Number) {
    let text = number.as_str();
    match crate::parse::whole(number) {
        Some(i64::MAX | i64::MIN) => {
            // Saturated: the digits themselves are the value, unless there is an exponent.
            match number.as_f64().filter(|_| text.contains(['.', 'e', 'E'])) {
                Some(float) if float.is_finite() => out.push_str(&format!("{float:e}")),
                Some(_) | None => out.push_str(text),
            }
        }
        Some(whole) => out.push_str(&whole.to_string()),
        None => match number.as_f64() {
            Some(float) if float.is_finite() => out.push_str(&format!("{float:e}")),
            Some(_) | None => out.push_str(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        to_string(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn equal_documents_have_equal_texts() {
        assert_eq!(
            canonical(r#"{"b": [2020.0, 1.50, -0], "a": "\u00e9\n"}"#),
            canonical(r#"{"a":"é\u000a","b":[2020,1.5,0]}"#),
        );
        assert_eq!(canonical(r#"{"b":1,"a":2}"#), r#"{"a":2,"b":1}"#);
        assert_ne!(canonical("9007199254740993"), canonical("9007199254740992"));
        assert_ne!(canonical("1"), canonical("\"1\""));
    }
}
