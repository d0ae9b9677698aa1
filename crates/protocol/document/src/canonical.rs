//! Writes canonical JSON, so that equal documents become equal texts: members sorted as in RFC 8785
//! (by UTF-16 code units), numbers by value (`2020.0` is `2020`), no white space. It differs from
//! RFC 8785 in one point: every digit of a number counts, also where a float would round it.

use crate::json::{Number, Value};

use crate::decimal::Decimal;

/// Returns the canonical text of a value.
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
    // `serde_json` escapes exactly what RFC 8785 demands: quote, backslash and control characters,
    // in the short forms where they exist.
    match crate::json::to_string(text) {
        Ok(quoted) => out.push_str(&quoted),
        Err(_) => unreachable!("a string always serialises"),
    }
}

fn write_number(out: &mut String, number: &Number) {
    let Decimal { negative, digits, exponent, exact } = Decimal::from_text(&number.text());
    if !exact {
        // An exponent of forty digits is kept as written, so other spellings of the number are not
        // recognised as equal.
        out.push_str(&number.text());
        return;
    }
    if negative {
        out.push('-');
    }
    let length = i128::try_from(digits.len()).unwrap_or(i128::MAX / 10);
    // The position of the decimal point, from the first digit (ECMA-262 `Number::toString`).
    let point = length + exponent;
    let zeros = |count: i128| "0".repeat(usize::try_from(count).unwrap_or_default());
    let split = |at: i128| digits.split_at_checked(usize::try_from(at).unwrap_or_default());
    match (point, split(point)) {
        _ if digits.is_empty() => out.push('0'),
        (1..=21, _) if exponent >= 0 => {
            out.push_str(&digits);
            out.push_str(&zeros(exponent));
        }
        (1..=21, Some((whole, fraction))) => out.push_str(&format!("{whole}.{fraction}")),
        (-5..=0, _) => out.push_str(&format!("0.{}{digits}", zeros(-point))),
        _ => {
            let (first, rest) = split(1).unwrap_or((&digits, ""));
            let dot = if rest.is_empty() { "" } else { "." };
            out.push_str(&format!("{first}{dot}{rest}e{:+}", point - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        to_string(&crate::json::from_str(text).unwrap())
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

    #[test]
    fn numbers_are_written_by_value_as_rfc_8785_spells_them() {
        for (text, expected) in [
            ("-0.0", "0"),
            ("1e21", "1e+21"),
            ("100e18", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("10e-8", "1e-7"),
            ("-1.50e0", "-1.5"),
            ("9223372036854775807.0", "9223372036854775807"),
            ("12345678901234567890123", "1.2345678901234567890123e+22"),
            ("1e400", "1e+400"),
            (
                "10e+99999999999999999999999999999999999999999",
                "10e+99999999999999999999999999999999999999999",
            ),
            ("0e99999999999999999999999999999999999999999", "0"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }
}
