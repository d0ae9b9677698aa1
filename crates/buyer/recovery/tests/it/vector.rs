//! A vector, its file, and the schema of both.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tradepost_document::json::{self, Map, Value, json, object};
use tradepost_recovery::advise_document;

use crate::beside;

/// Vector before it is written.
#[derive(Debug)]
pub(crate) struct Vector {
    id: String,
    source: String,
    about: Option<&'static str>,
    input: Value,
    decoded: Option<Value>,
    expect: Value,
}

impl Vector {
    /// Creates a vector that comes to what the engine says.
    pub(crate) fn new(id: impl Into<String>, source: impl Into<String>, input: Value) -> Self {
        let expect = advise_document(&input);
        let id = id.into();
        assert!(expect.get("failure").is_some(), "{id}: {expect}");
        Self { id, source: source.into(), about: None, input, decoded: None, expect }
    }

    /// Adds a sentence on the case.
    pub(crate) fn about(self, about: &'static str) -> Self {
        Self { about: Some(about), ..self }
    }

    /// Adds what is in a header that people cannot read.
    pub(crate) fn decoded(self, decoded: Value) -> Self {
        Self { decoded: Some(decoded), ..self }
    }

    /// Requires this next step: `retry`, `retry:renew_credential`, `fix:request`, `ask:consent`, `stop:final`, or
    /// `none` for an answer that is no failure.
    pub(crate) fn requires(self, next: &str) -> Self {
        assert_eq!(self.next(), next, "{}: {}", self.id, self.expect);
        self
    }

    /// Requires that the retry begins after this many milliseconds at the earliest.
    pub(crate) fn requires_wait(self, milliseconds: u64) -> Self {
        let at_least = self.expect.pointer("/advice/wait_ms/at_least");
        assert_eq!(at_least, Some(&json!(milliseconds)), "{}: {}", self.id, self.expect);
        self
    }

    /// Requires a text or flag of the failure, such as its code.
    pub(crate) fn requires_failure(self, member: &str, value: impl Into<Value>) -> Self {
        let found = self.expect.get("failure").and_then(|failure| failure.get(member));
        assert_eq!(found, Some(&value.into()), "{}: {}", self.id, self.expect);
        self
    }

    /// Returns true when the advice names an address to a person.
    pub(crate) fn shows_address(&self) -> bool {
        self.expect.pointer("/advice/address").is_some()
    }

    /// Returns the next step in a word or two.
    pub(crate) fn next(&self) -> String {
        let Some(advice) = self.expect.get("advice").filter(|advice| advice.is_object()) else {
            return "none".to_owned();
        };
        let text = |name: &str| advice.get(name).and_then(Value::as_str);
        let action = text("action").unwrap();
        let detail = text("first").or_else(|| text("change")).or_else(|| text("reason"));
        detail.map_or_else(|| action.to_owned(), |detail| format!("{action}:{detail}"))
    }

    fn document(&self) -> Value {
        object!({
            "id": self.id, "source": self.source, "about"?: self.about, "input": self.input.clone(),
            "decoded"?: self.decoded.as_ref(), "expect": self.expect.clone(),
        })
    }
}

/// Returns the text of a file of vectors, with one member of a vector in each line.
pub(crate) fn file(protocol: &str, about: &str, vectors: &[Vector]) -> String {
    let ids: BTreeSet<_> = vectors.iter().map(|vector| vector.id.as_str()).collect();
    assert_eq!(ids.len(), vectors.len(), "an id is given twice");
    let mut text = format!(
        "{{\n\"$schema\": \"vector.schema.json\",\n\"protocol\": {},\n\"about\": {},\n\"vectors\": [\n",
        json!(protocol),
        json!(about)
    );
    for (index, vector) in vectors.iter().enumerate() {
        let document = vector.document();
        let members: &Map = document.as_object().unwrap();
        let members: Vec<_> =
            members.iter().map(|(name, value)| format!("{}: {value}", json!(name))).collect();
        let separator = if index == 0 { "" } else { ",\n" };
        text.push_str(&format!("{separator}{{{}}}", members.join(",\n ")));
    }
    text.push_str("\n]\n}\n");
    // A reader's editor would show what follows in the other direction.
    let text = text.replace('\u{202e}', "\\u202e");
    check_schema(&text);
    text
}

fn folder() -> PathBuf {
    beside::workspace().join("vectors")
}

/// Checks a file against the public schema.
fn check_schema(text: &str) {
    let schema = std::fs::read_to_string(folder().join("vector.schema.json")).unwrap();
    let schema: Value = json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&(&schema).into()).unwrap();
    let document: Value = json::from_str(text).unwrap();
    let document = (&document).into();
    let problems: Vec<_> = validator
        .iter_errors(&document)
        .map(|problem| format!("{}: {problem}", problem.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Returns the vectors of a file.
pub(crate) fn read(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let document: Value = json::from_str(&text).unwrap();
    document["vectors"].as_array().unwrap().clone()
}

#[test]
fn the_written_vectors_come_to_what_they_say() {
    let mut checked = 0;
    for name in ["a2a.json", "aap.json", "adcp.json"] {
        for vector in read(name) {
            let found = advise_document(&vector["input"]);
            assert_eq!(found, vector["expect"], "{name} {}", vector["id"]);
            checked += 1;
        }
    }
    assert!(checked > 400, "only {checked} vectors were found");
}

#[test]
fn the_schema_refuses_what_is_no_vector() {
    let schema = std::fs::read_to_string(folder().join("vector.schema.json")).unwrap();
    let schema: Value = json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&(&schema).into()).unwrap();
    let file = |vector: Value| json!({"protocol": "a2a", "about": "x", "vectors": [vector]});
    let good = json!({"id": "x", "source": "x", "input": {"binding": "text", "body": ""},
        "expect": advise_document(&json!({"binding": "text", "body": ""}))});
    assert!(validator.is_valid(&(&file(good.clone())).into()));
    for (pointer, value) in [
        ("/input/binding", json!("soap")),
        ("/expect/advice/action", json!("pray")),
        ("/expect/failure/class", json!("eternal")),
        ("/expect/advice/text", json!(1)),
        ("/source", json!("")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert!(!validator.is_valid(&(&file(bad)).into()), "{pointer}");
    }
}
