//! The vectors have every error that is published.

use std::collections::BTreeSet;
use std::fs;

use tradepost_document::json::{self, Value};

use crate::beside;
use crate::vector::read;

/// Returns the codes of the failures of a binding.
fn codes(vectors: &[Value], binding: Option<&str>) -> BTreeSet<String> {
    let is_of = |vector: &&Value| {
        binding.is_none_or(|binding| vector["input"]["binding"] == json::json!(binding))
    };
    let found = vectors.iter().filter(is_of);
    found
        .filter_map(|vector| Some(vector.pointer("/expect/failure/code")?.as_str()?.to_owned()))
        .collect()
}

#[test]
fn every_published_code_of_aap_has_vectors() {
    let vectors = read("aap.json");
    for version in ["v1.0", "v1.1"] {
        let path = format!("spec/aap/{version}/schemas/error.schema.json");
        let Some(path) = beside::published(&path) else { return };
        let schema: Value = json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let published = schema.pointer("/properties/code/enum").and_then(Value::as_array).unwrap();
        assert!(!published.is_empty(), "{version}");
        for binding in ["jsonrpc", "http_json", "grpc"] {
            let known = codes(&vectors, Some(binding));
            for code in published {
                assert!(known.contains(code.as_str().unwrap()), "{version} {binding} {code}");
            }
        }
    }
}

#[test]
fn every_published_code_of_adcp_has_vectors() {
    let vectors = read("adcp.json");
    for release in ["3.0", "3.1", "3.2"] {
        let path = format!("spec/adcp/{release}/enums/error-code.json");
        let Some(path) = beside::published(&path) else { return };
        let schema: Value = json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let published = schema.get("enum").and_then(Value::as_array).unwrap();
        assert!(published.len() >= 40, "{release}");
        for binding in ["mcp_tool", "jsonrpc"] {
            let known = codes(&vectors, Some(binding));
            for code in published {
                assert!(known.contains(code.as_str().unwrap()), "{release} {binding} {code}");
            }
        }
    }
}

#[test]
fn every_named_error_of_a2a_has_vectors_on_each_binding() {
    let Some(path) = beside::published("seeds/a2a-section-3.3.2-error-handling.txt") else {
        return;
    };
    let text = fs::read_to_string(path).unwrap();
    let vectors = read("a2a.json");
    // `TaskNotFoundError` is `TASK_NOT_FOUND` in an ErrorInfo.
    let mut published = BTreeSet::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let Some(name) = word.strip_suffix("Error").filter(|name| !name.is_empty()) else {
            continue;
        };
        let mut code = String::new();
        for c in name.chars() {
            if c.is_ascii_uppercase() && !code.is_empty() {
                code.push('_');
            }
            code.push(c.to_ascii_uppercase());
        }
        published.insert(code);
    }
    assert!(published.len() >= 9, "{published:?}");
    for binding in ["jsonrpc", "http_json", "grpc"] {
        let known = codes(&vectors, Some(binding));
        for code in &published {
            assert!(known.contains(code), "{binding} {code}");
        }
    }
}
