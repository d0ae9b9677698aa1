//! Reading JSON that a signature covers. Two readers of one text must see one document, so what
//! parsers read differently is refused: a member that is there twice, of which some take the first
//! and some the last. Names that our own parser gives a meaning of their own stay plain names.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::problem::{At, Extra, Keyword, Problems};

/// Brackets may nest this deep: an agent card needs ten.
pub const MAX_DEPTH: usize = 64;

/// Reads a text.
///
/// # Errors
/// Every problem; one at the root when the text is not JSON at all.
pub fn read(text: &str) -> Result<Value, Problems> {
    let mut problems = Problems::new();
    let value = match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => walk(raw, &At::Root, &mut problems, 0),
        Err(error) => {
            let place = format!("line {} column {}", error.line(), error.column());
            reject(&At::Root, &mut problems, format!("is not JSON at {place}"));
            None
        }
    };
    problems.into_result(value)
}

fn reject(at: &At<'_>, problems: &mut Problems, message: impl Into<String>) {
    crate::parse::push(at, problems, Keyword::Format, message, Extra::None);
}

fn walk(raw: &RawValue, at: &At<'_>, problems: &mut Problems, depth: usize) -> Option<Value> {
    let text = raw.get();
    if depth >= MAX_DEPTH && text.starts_with(['{', '[']) {
        reject(at, problems, format!("nests deeper than {MAX_DEPTH} levels"));
        return None;
    }
    let read = match text.bytes().next() {
        Some(b'{') => serde_json::from_str(text).map(|Members(members)| {
            let mut object = Map::new();
            for (name, raw) in members {
                let at = at.key(&name);
                let value = walk(raw, &at, problems, depth + 1);
                if object.contains_key(&name) {
                    reject(&at, problems, "is there twice; readers differ in which they take");
                }
                object.insert(name, value.unwrap_or_default());
            }
            Value::Object(object)
        }),
        Some(b'[') => serde_json::from_str(text).map(|items: Vec<&RawValue>| {
            let items = items.into_iter().enumerate();
            let read = items.map(|(index, raw)| {
                walk(raw, &at.index(index), problems, depth + 1).unwrap_or_default()
            });
            Value::Array(read.collect())
        }),
        Some(_) | None => serde_json::from_str(text),
    };
    if read.is_err() {
        // The syntax is right, so it is a text with half of a surrogate pair.
        reject(at, problems, "holds text that is not Unicode");
    }
    read.ok()
}

/// The members of an object in their order, also those that are there twice.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let problems = read(text).unwrap_err();
        problems.into_iter().map(|p| format!("{}: {}", p.pointer, p.message)).collect()
    }

    #[test]
    fn a_document_is_read_as_it_is_written() {
        for text in [
            r#"{"b":[1.0,-0,1e400,{"a":null}],"a":"\u00e9\n","":{},"x":[],"y":[true,false]}"#,
            "5",
            "\"x\"",
            " [ ] ",
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn what_readers_would_read_differently_is_refused() {
        assert_eq!(
            problems(r#"{"a":1,"b":[{"x":1,"\u0078":2}],"a":1}"#),
            [
                "/b/0/x: is there twice; readers differ in which they take",
                "/a: is there twice; readers differ in which they take"
            ]
        );
        assert_eq!(problems(r#"{"a":"\ud800"}"#), ["/a: holds text that is not Unicode"]);
        assert_eq!(problems(r#"{"\ud800":1}"#), [": holds text that is not Unicode"]);
        for text in ["", "{", "{} x", "\u{feff}{}", "NaN", "[1,]", "'x'"] {
            assert!(problems(text)[0].starts_with(": is not JSON at "), "{text}");
        }
    }

    #[test]
    fn names_that_the_parser_reserves_are_plain_names() {
        let text = r#"{"a":{"$serde_json::private::Number":"5"},
            "b":{"$serde_json::private::RawValue":"[1]"}}"#;
        let value = read(text).unwrap();
        assert_eq!(value["a"].as_object().unwrap()["$serde_json::private::Number"], "5");
        assert_eq!(value["b"].as_object().unwrap()["$serde_json::private::RawValue"], "[1]");
    }

    #[test]
    fn depth_is_bounded_without_overflowing_the_stack() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(problems(&nested(MAX_DEPTH + 1)).len(), 1);
        assert_eq!(problems(&nested(200_000)).len(), 1);
    }
}
