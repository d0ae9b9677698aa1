//! The published schemas: every answer of every test is validated against the schema of its
//! version. Without the specification's folder beside the repository this is skipped, and said so.

use std::collections::HashMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use tradepost_document::json::Value;

use super::Response;
use crate::beside::{published, without};

/// The published specifications.
const SPEC: &str = "spec/aap";

/// A published example.
pub fn example(version: &str, name: &str) -> Option<Value> {
    let path = published(&format!("{SPEC}/v{version}/examples/{name}.example.json"))?;
    Some(tradepost_document::json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

type Validators = HashMap<(&'static str, &'static str), Validator>;

static VALIDATORS: LazyLock<Option<Validators>> = LazyLock::new(|| {
    let spec = published(SPEC)?;
    let mut validators = HashMap::new();
    for version in ["1.0", "1.1"] {
        let folder = spec.join(format!("v{version}/schemas"));
        let mut resources = Vec::new();
        for directory in [folder.clone(), folder.join("_primitives")] {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "json") {
                    let schema: serde_json::Value =
                        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
                    resources.push((schema["$id"].as_str().unwrap().to_owned(), schema));
                }
            }
        }
        let mut registry = jsonschema::Registry::new();
        for (id, schema) in &resources {
            registry = registry.add(id.clone(), schema.clone()).unwrap();
        }
        let registry = registry.prepare().unwrap();
        for (kind, name) in KINDS {
            let id = format!("https://autoagentprotocol.org/v{version}/schemas/{name}.schema.json");
            let schema = &resources.iter().find(|(known, _)| *known == id).unwrap().1;
            let validator = jsonschema::options()
                .with_registry(&registry)
                .should_validate_formats(true)
                .build(schema)
                .unwrap();
            validators.insert((version, *kind), validator);
        }
    }
    Some(validators)
});

const KINDS: &[(&str, &str)] = &[
    ("dealer.information.response", "dealer-information-response"),
    ("inventory.facets.response", "inventory-facets-response"),
    ("inventory.search.response", "inventory-search-response"),
    ("inventory.vehicle.response", "vehicle-detail-response"),
    ("lead.submit.response", "lead-submit-response"),
    ("aap.error", "error"),
    ("card", "agent-card"),
];

/// Checks a document of a kind against a version's schema.
pub fn check(version: &str, kind: &str, document: &Value) {
    let Some(validators) = VALIDATORS.as_ref() else {
        without(SPEC);
        return;
    };
    let (_, validator) = validators
        .iter()
        .find(|((v, k), _)| *v == version && *k == kind)
        .unwrap_or_else(|| panic!("no schema for {kind} of {version}"));
    let errors: Vec<_> = validator
        .iter_errors(&document.into())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{kind} of {version}: {errors:#?}\n{document:#}");
}

/// Checks an answer of the endpoint: the envelope by hand, the payload against its schema.
pub fn check_answer(response: &Response) {
    let Ok(body) = tradepost_document::json::from_slice::<Value>(&response.body) else {
        return;
    };
    if body.get("jsonrpc").is_none() {
        return;
    }
    let members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(matches!(members.as_slice(), ["jsonrpc", "id", "result" | "error"]), "{body}");
    assert_eq!(response.header("content-type"), Some("application/json"));
    let version = match response.header("a2a-extensions") {
        Some(uri) if uri.ends_with("/v1.0") => "1.0",
        _ => "1.1",
    };
    if let Some(message) = body.pointer("/result/message") {
        assert_eq!(message["role"], "ROLE_AGENT");
        assert!(message["contextId"].is_string() && message["messageId"].is_string());
        let payload = &message["parts"][0]["data"];
        check(version, payload["type"].as_str().unwrap(), payload);
    }
    match body.pointer("/error/data") {
        // A2A's own details: every item has a type.
        Some(Value::Array(details)) => {
            assert!(!details.is_empty() && details.iter().all(|item| item["@type"].is_string()));
        }
        Some(data) => {
            check(version, "aap.error", data);
            let message = body.pointer("/error/message").and_then(Value::as_str).unwrap();
            let code = data["code"].as_str().unwrap();
            assert!(message.starts_with(&format!("{code}: ")), "{message}");
        }
        None => {}
    }
}
