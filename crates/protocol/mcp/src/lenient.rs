//! Corrects common mistakes of models whose meaning is certain: a number written as text, a single text in place of a
//! list, a VIN in lower case. The value is read as it was meant, and a note in the result says so.

use tradepost_document::json::{self, Map, Value};

use crate::schema::VIN_PATTERN;

/// Maximum number of notes in a result.
const MAX_NOTES: usize = 20;

/// Maximum length of a text that is read as a number, in bytes.
const MAX_NUMBER: usize = 20;

/// Corrected arguments.
pub struct LenientReading {
    /// Arguments after correction.
    pub arguments: Value,
    /// Sentences about the corrected values, one for each. They repeat no value.
    pub notes: Vec<String>,
}

/// Reads arguments by their whole schema. `may_convert` is called with the JSON Pointer of each value that could be
/// corrected.
#[must_use]
pub fn read(
    schema: &Value,
    arguments: &Value,
    may_convert: impl Fn(&str) -> bool,
) -> LenientReading {
    let mut reader = LenientReader { may_convert, notes: Vec::new() };
    let arguments = reader.read(schema, arguments, "");
    reader.notes.truncate(MAX_NOTES);
    LenientReading { arguments, notes: reader.notes }
}

struct LenientReader<F> {
    may_convert: F,
    notes: Vec<String>,
}

impl<F: Fn(&str) -> bool> LenientReader<F> {
    fn read(&mut self, schema: &Value, value: &Value, at: &str) -> Value {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        match value {
            Value::Object(members) if kind == "object" => self.members(schema, members, at).into(),
            Value::Array(items) if kind == "array" => {
                let schema = schema.get("items").unwrap_or(&Value::Null);
                let item = |(place, item)| self.read(schema, item, &format!("{at}/{place}"));
                items.iter().enumerate().map(item).collect()
            }
            Value::String(text) => self.text(schema, kind, text, at),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.clone(),
        }
    }

    fn members(&mut self, schema: &Value, members: &Map, at: &str) -> Map {
        let known = schema.get("properties");
        let mut out = Map::new();
        for (name, value) in members {
            let value = match known.and_then(|known| known.get(name)) {
                Some(schema) => {
                    let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                    self.read(schema, value, &at)
                }
                None => value.clone(),
            };
            out.insert(name.clone(), value);
        }
        out
    }

    fn text(&mut self, schema: &Value, kind: &str, text: &str, at: &str) -> Value {
        let unchanged = || Value::from(text);
        match kind {
            "array" if (self.may_convert)(at) => {
                let schema = schema.get("items").unwrap_or(&Value::Null);
                let item = self.text_item(schema, text, at);
                self.note(at, "a single value was read as a list of one");
                Value::Array(vec![item])
            }
            "integer" | "number" => match number(text).filter(|_| (self.may_convert)(at)) {
                Some(number) => {
                    self.note(at, "a text was read as a number");
                    number
                }
                None => unchanged(),
            },
            "string" if schema.get("pattern").and_then(Value::as_str) == Some(VIN_PATTERN) => {
                let upper = text.trim().to_ascii_uppercase();
                if upper != text && is_vin(&upper) && (self.may_convert)(at) {
                    self.note(at, "the VIN was read in upper case");
                    return upper.into();
                }
                unchanged()
            }
            _ => unchanged(),
        }
    }

    /// Reads the only item of a list that was written without the list.
    fn text_item(&mut self, schema: &Value, text: &str, at: &str) -> Value {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "array" { Value::from(text) } else { self.text(schema, kind, text, at) }
    }

    fn note(&mut self, at: &str, what: &str) {
        self.notes.push(format!("{at}: {what}"));
    }
}

/// Reads a number from text, in JSON notation or with commas between thousands.
fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | ',');
    if text.len() > MAX_NUMBER || !text.chars().all(is_part) {
        return None;
    }
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
    let digits = whole.replace(',', "");
    let groups_fit = |(place, group): (usize, &str)| match place {
        0 => (1..=3).contains(&group.trim_start_matches('-').len()),
        _ => group.len() == 3,
    };
    if whole.contains(',') && !whole.split(',').enumerate().all(groups_fit) {
        return None;
    }
    let plain = fraction.map_or(digits.clone(), |fraction| format!("{digits}.{fraction}"));
    json::from_str::<Value>(&plain).ok().filter(Value::is_number)
}

fn is_vin(text: &str) -> bool {
    text.len() == 17
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || c.is_ascii_uppercase() && !matches!(c, 'I' | 'O' | 'Q'))
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn only_texts_that_are_numbers_are_read_as_numbers() {
        for (text, expected) in [
            ("40000", json!(40000)),
            (" 40,000 ", json!(40000)),
            ("1,234.5", json!(1234.5)),
            ("-5", json!(-5)),
            ("4,00", json!(null)),
            ("1,0000", json!(null)),
            ("$40", json!(null)),
            ("40k", json!(null)),
            ("007", json!(null)),
            ("", json!(null)),
            ("1e9", json!(null)),
            ("123456789012345678901", json!(null)),
        ] {
            assert_eq!(number(text).unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn what_was_meant_is_read_and_noted_without_the_value() {
        let schema = json!({"type": "object", "properties": {
            "make": {"type": "array", "items": {"type": "string"}},
            "years": {"type": "array", "items": {"type": "integer"}},
            "price": {"type": "integer"}, "shown": {"type": "boolean"},
            "vin": {"type": "string", "pattern": VIN_PATTERN}}});
        let written = json!({"make": "Honda", "years": ["2020"], "price": "30000", "shown": "true",
            "vin": "1hgcv1f30na123456", "other": "5"});
        let reading = read(&schema, &written, |_| true);
        let meant = json!({"make": ["Honda"], "years": [2020], "price": 30000, "shown": "true",
            "vin": "1HGCV1F30NA123456", "other": "5"});
        assert_eq!(reading.arguments, meant);
        let notes = [
            "/make: a single value was read as a list of one",
            "/years/0: a text was read as a number",
            "/price: a text was read as a number",
            "/vin: the VIN was read in upper case",
        ];
        assert_eq!(reading.notes, notes);
        assert_eq!(read(&schema, &written, |_| false).arguments, written);
        assert_eq!(read(&schema, &meant, |_| true).arguments, meant);
    }
}
