//! Field errors of a refused request as they are recorded: pointers and keywords, and nothing that
//! the caller wrote.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_adcp::{AdcpTool, rules};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_server::refusals::FieldError;

/// Placeholder for a name that the caller invented.
const INVENTED_NAME: &str = "*";

/// Keyword of any other constraint.
const OTHER: &str = "other";

/// Keywords of JSON Schema.
const KEYWORDS: [&str; 24] = [
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "additionalProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "oneOf",
    "anyOf",
    "not",
];

/// Returns an id for a refusal whose answer has none: it is in the log and in the list of refusals.
#[must_use]
pub fn fresh_id() -> String {
    format!("err_{}", uuid::Uuid::now_v7().simple())
}

/// Returns the field errors of a request. An error without schema locations has its field, with its
/// code in place of a keyword.
#[must_use]
pub fn of_errors(errors: &[AdcpError]) -> Vec<FieldError> {
    errors.iter().flat_map(of_error).collect()
}

/// Returns the same from the errors of a serialized answer.
#[must_use]
pub fn of_document(document: &Value) -> Vec<FieldError> {
    let errors = document.get("errors").map(AdcpError::read_list).unwrap_or_default();
    of_errors(&errors)
}

fn of_error(error: &AdcpError) -> Vec<FieldError> {
    let issue = |pointer: &str, keyword: &str| {
        let known = KEYWORDS.iter().find(|known| **known == keyword);
        FieldError { pointer: masked(pointer.split('/').skip(1)), keyword: known.unwrap_or(&OTHER) }
    };
    if !error.issues.is_empty() {
        return error.issues.iter().map(|found| issue(&found.pointer, &found.keyword)).collect();
    }
    let Some(field) = &error.field else { return Vec::new() };
    // `packages[0].budget`
    let steps = field.split(['.', '[', ']']).filter(|step| !step.is_empty());
    let keyword = error.code.known().map_or(OTHER, AdcpCode::name);
    vec![FieldError { pointer: masked(steps), keyword }]
}

/// Returns a JSON Pointer of these steps, without names that the caller invented.
fn masked<'s>(steps: impl Iterator<Item = &'s str>) -> String {
    let shown = |step: &'s str| {
        let is_place = step.bytes().all(|byte| byte.is_ascii_digit());
        if is_place || names().contains(step) { step } else { INVENTED_NAME }
    };
    steps.map(|step| format!("/{}", shown(step))).collect()
}

/// Returns the names of all members that requests can have.
fn names() -> &'static BTreeSet<String> {
    static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = BTreeSet::new();
        for tool in AdcpTool::ALL {
            add_names(&rules::json_schema(*tool), &mut names);
        }
        names
    })
}

fn add_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                if name == "properties"
                    && let Value::Object(properties) = value
                {
                    names.extend(properties.keys().cloned());
                }
                add_names(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_names(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use tradepost_adcp::error::Issue;

    use super::*;

    #[test]
    fn names_that_the_caller_made_up_are_masked() {
        let issue = |pointer: &str, keyword: &str| Issue {
            pointer: pointer.to_owned(),
            keyword: keyword.to_owned(),
            ..Issue::default()
        };
        let error = |field: &str| AdcpError {
            field: Some(field.to_owned()),
            ..tradepost_publisher::refusals::error(AdcpCode::UnsupportedFeature, "no")
        };
        let with_issues = AdcpError {
            issues: vec![
                issue("/packages/0/budget", "minimum"),
                issue("/planted.name@mail.example", "additionalProperties"),
                issue("", "planted"),
            ],
            ..error("packages[0].budget")
        };
        let found = of_errors(&[with_issues, error("packages[12].targeting_overlay.planted")]);
        let found: Vec<_> = found
            .iter()
            .map(|field_error| format!("{} {}", field_error.pointer, field_error.keyword))
            .collect();
        assert_eq!(
            found,
            [
                "/packages/0/budget minimum",
                "/* additionalProperties",
                " other",
                "/packages/12/targeting_overlay/* UNSUPPORTED_FEATURE",
            ]
        );
    }
}
