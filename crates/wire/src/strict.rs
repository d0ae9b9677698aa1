//! Reading JSON of others. Two readers of one text must see one document, so what parsers read
//! differently is refused: a member that is there twice, of which some take the first and some the
//! last. [`read`] is for what a signature covers: names that our own parser gives a meaning of
//! their own stay plain names. `Once` is for requests, in which there are no such names.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
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

/// Records that the member here is there a second time.
pub(crate) fn twice(at: &At<'_>, problems: &mut Problems) {
    reject(at, problems, "is there twice; readers differ in which they take");
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
                    twice(&at, problems);
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

/// Reads a value in one pass and records every member that is there twice. For texts without
/// [reserved names](crate::jsonrpc::RESERVED), because that is how the parser hands numbers over.
pub(crate) struct Once<'a> {
    pub(crate) at: &'a At<'a>,
    pub(crate) problems: &'a mut Problems,
}

impl<'de> DeserializeSeed<'de> for Once<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == NUMBER {
                let number = map.next_value::<String>()?.parse();
                return number.map(Value::Number).map_err(serde::de::Error::custom);
            }
            let at = self.at.key(&name);
            let value = map.next_value_seed(Once { at: &at, problems: &mut *self.problems })?;
            match members.entry(name) {
                Entry::Vacant(free) => {
                    free.insert(value);
                }
                Entry::Occupied(taken) => twice(&self.at.key(taken.key()), self.problems),
            }
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        loop {
            let at = self.at.index(values.len());
            let item = Once { at: &at, problems: &mut *self.problems };
            let Some(value) = items.next_element_seed(item)? else {
                return Ok(Value::Array(values));
            };
            values.push(value);
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(truth.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

/// How serde_json hands a number whose text matters to a visitor: as a map with this member.
pub(crate) const NUMBER: &str = "$serde_json::private::Number";

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
            let plain = serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(read(text).unwrap(), plain, "{text}");
            assert_eq!(once(text), (plain.to_string(), vec![]), "{text}");
        }
    }

    /// What is read in one pass, as text, and where there is something twice.
    fn once(text: &str) -> (String, Vec<String>) {
        let mut problems = Problems::new();
        let seed = Once { at: &At::Root, problems: &mut problems };
        let value = seed.deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap();
        (value.to_string(), problems.into_iter().map(|problem| problem.pointer).collect())
    }

    #[test]
    fn what_readers_would_read_differently_is_refused() {
        let text = r#"{"a":1,"b":[{"x":1,"\u0078":2}],"a":1}"#;
        assert_eq!(
            problems(text),
            [
                "/b/0/x: is there twice; readers differ in which they take",
                "/a: is there twice; readers differ in which they take"
            ]
        );
        assert_eq!(once(text).1, ["/b/0/x", "/a"]);
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
