//! The published schemas of AdCP, and the validators that are compiled from them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use jsonschema::{Retrieve, Uri, ValidationOptions, Validator};
use tradepost_adcp::rules;
use tradepost_document::json::Value;

use crate::{oracle, published};

/// The keywords of draft 7 and 2020-12 that can reject (I-7).
pub(super) const KEYWORDS: &[&str] = &[
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "format",
    "items",
    "additionalItems",
    "maxItems",
    "minItems",
    "uniqueItems",
    "contains",
    "maxProperties",
    "minProperties",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "dependencies",
    "propertyNames",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "dependentRequired",
];

/// Published documents by name.
pub(super) struct PublishedSchemas {
    documents: BTreeMap<String, Value>,
    names: Vec<String>,
}

/// Reads the documents once; `None` where they are absent.
pub(super) fn published_schemas() -> Option<&'static PublishedSchemas> {
    static PUBLISHED: OnceLock<Option<PublishedSchemas>> = OnceLock::new();
    PUBLISHED.get_or_init(PublishedSchemas::read).as_ref()
}

/// A validator as strict as we are about formats: C-14 says what an e-mail address is.
pub(super) fn options() -> ValidationOptions<'static> {
    jsonschema::options().should_validate_formats(true).with_format("email", oracle::email())
}

impl PublishedSchemas {
    fn read() -> Option<Self> {
        let root = published::path("spec/adcp/3.1")?;
        let mut documents = BTreeMap::new();
        gather(&root, &root, &mut documents);
        documents.insert(super::LOOSE.to_owned(), Value::Bool(true));
        let mut names = BTreeSet::new();
        documents.values().for_each(|schema| properties(schema, &mut names));
        Some(Self { documents, names: names.into_iter().collect() })
    }

    /// A document, such as `core/budget`.
    pub(super) fn document(&self, name: &str) -> Option<&Value> {
        self.documents.get(name)
    }

    /// The names of all members of all documents.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Compiles a document; `None` when it, or one that it refers to, is absent.
    pub(super) fn validator(&self, name: &str) -> Option<Validator> {
        let mut wanted = vec![name.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(name) = wanted.pop() {
            if seen.insert(name.clone()) {
                references(self.document(&name)?, &mut wanted);
            }
        }
        let all =
            Documents(seen.into_iter().map(|n| (n.clone(), self.documents[&n].clone())).collect());
        Some(options().with_retriever(all).build(&self.document(name)?.into()).unwrap())
    }

    /// What a reference leads to.
    pub(super) fn referred<'j>(&'j self, document: &'j Value, reference: &str) -> &'j Value {
        match reference.strip_prefix('#') {
            Some(pointer) => document.pointer(pointer).unwrap(),
            None => self.document(&name_of(reference)).unwrap(),
        }
    }
}

/// The name in a reference such as `/schemas/3.1.19/core/budget.json`.
fn name_of(reference: &str) -> String {
    let (_, rest) = reference.split_once(&format!("/schemas/{}/", rules::VERSION)).unwrap();
    rest.strip_suffix(".json").unwrap().to_owned()
}

fn gather(root: &Path, folder: &Path, documents: &mut BTreeMap<String, Value>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(root, &path, documents);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.strip_prefix(root).unwrap().with_extension("");
            let text = fs::read_to_string(&path).unwrap();
            documents.insert(
                name.to_str().unwrap().to_owned(),
                tradepost_document::json::from_str(&text).unwrap(),
            );
        }
    }
}

fn properties(schema: &Value, names: &mut BTreeSet<String>) {
    if let Some(members) = schema["properties"].as_object() {
        names.extend(members.keys().cloned());
    }
    let nested: Vec<&Value> = match schema {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    nested.into_iter().for_each(|value| properties(value, names));
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            found.extend(reference.filter(|text| !text.starts_with('#')).map(name_of));
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

struct Documents(BTreeMap<String, Value>);

impl Retrieve for Documents {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<serde_json::Value, Box<dyn Error + Send + Sync>> {
        self.0.get(&name_of(uri.as_str())).map(Into::into).ok_or_else(|| "not published".into())
    }
}
