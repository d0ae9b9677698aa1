//! The published schemas of UCP, which judge every answer of these tests. Without them this is skipped, and said so.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::Validator;
use tradepost_document::json::Value;

use crate::beside::{published, without};

/// Folder of the published files, with `schemas` in it.
const SPEC: &str = "spec/ucp/2026-04-08";

/// The kinds of documents, with their schemas.
const KINDS: [(&str, &str); 5] = [
    ("search_catalog", "shopping/catalog_search.json#/$defs/search_response"),
    ("lookup_catalog", "shopping/catalog_lookup.json#/$defs/lookup_response"),
    ("get_product", "shopping/catalog_lookup.json#/$defs/get_product_response"),
    ("error", "shopping/types/error_response.json"),
    ("profile", "discovery/profile.json#/$defs/business_profile"),
];

static VALIDATORS: LazyLock<Option<Vec<(&str, Validator)>>> = LazyLock::new(|| {
    let named = std::env::var_os("UCP_SPECIFICATION").map(PathBuf::from);
    let folder = named.filter(|folder| folder.is_dir()).or_else(|| published(SPEC))?;
    let mut found = Vec::new();
    collect(&folder.join("schemas"), &mut found);
    assert!(found.len() > 50, "the schemas are not in {}", folder.display());
    let mut registry = jsonschema::Registry::new();
    for schema in &found {
        registry = registry.add(schema["$id"].as_str().unwrap(), schema.clone()).unwrap();
    }
    let registry = registry.prepare().unwrap();
    let validator = |name: &str| {
        let place = format!("https://ucp.dev/2026-04-08/schemas/{name}");
        let options = jsonschema::options().with_registry(&registry).should_validate_formats(true);
        options.build(&serde_json::json!({"$ref": place})).unwrap()
    };
    Some(KINDS.map(|(kind, name)| (kind, validator(name))).into())
});

/// The documents below a folder.
fn collect(folder: &Path, found: &mut Vec<serde_json::Value>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(serde_json::from_slice(&fs::read(path).unwrap()).unwrap());
        }
    }
}

/// Checks an answer of an operation. One that says of itself that it failed, and every refusal, is an error response.
#[track_caller]
pub(super) fn check(operation: &str, document: &Value) {
    let failed = document["ucp"]["status"] == "error";
    let kind = if failed { "error" } else { operation };
    let Some(validators) = VALIDATORS.as_ref() else {
        without(SPEC);
        return;
    };
    let (_, validator) = validators.iter().find(|(known, _)| *known == kind).unwrap();
    let document: serde_json::Value = document.into();
    let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{document}");
}
