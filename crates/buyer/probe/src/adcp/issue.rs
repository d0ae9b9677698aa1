//! Fields and issues of an error: the places and reasons of what is invalid.
// Covers O-4, O-5 and I-1 to I-7.

use tradepost_adcp::error::path;
use tradepost_document::json::Value;

use super::capability::is_release;
use super::error::{each, each_error};
use crate::check::{Check, CheckResult, checks};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, items, member, text};

const WHY: &str = "A buyer agent fixes its request by field and issues, and by nothing else.";
const WHY_SCHEMA: &str = "A buyer looks the schema up by it, and finds nothing or another one.";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.field.format", End, Must, ["O-4"], "AdCP error object, field",
    "field is a path such as packages[0].budget, and no JSON Pointer", WHY,
    "write names with dots and indices in brackets" => field();
    "adcp.field.issues", End, Must, ["O-4"], "AdCP error object, field",
    "Where there are issues, field is the first one's pointer as a path", WHY,
    "translate issues[0].pointer" => field_of_issues();
    "adcp.issues.members", End, Must, ["O-5"], "AdCP error object, issues",
    "Every issue has a pointer, a message and a keyword", WHY,
    "fill in the three" => members();
    "adcp.issues.pointer", End, Must, ["O-5"], "RFC 6901 §3",
    "The pointer is a JSON Pointer", WHY, "write /packages/0/budget" => pointer();
    "adcp.issues.keyword", End, Must, ["I-7"], "AdCP error object, issues",
    "The keyword is one of JSON Schema's", "Buyers know no other.",
    "use the validator's own keyword" => keyword();
    "adcp.issues.schema-id", End, Must, ["I-1", "I-5"], "AdCP errors, validator internals",
    "schema_id is one that is published, in a release that is spoken", WHY_SCHEMA,
    "leave it out where the schema is your own, or of another release" => schema_id();
    "adcp.issues.discriminator", End, Must, ["I-3"], "AdCP errors, validator internals",
    "A discriminator lists names with plain values, and is left out where it is empty", WHY,
    "leave it out unless a variant was chosen by a constant" => discriminator();
    "adcp.issues.details", End, Must, ["O-6"], "AdCP error object, issues",
    "What is in details.issues is in issues too", "New buyers read issues alone.",
    "fill in issues; details.issues is for older buyers" => mirrored();
];

/// Keywords of JSON Schema, draft-07 and 2020-12.
const KEYWORDS: &[&str] = &[
    "$dynamicRef",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// Returns true for a path in AdCP's notation.
fn is_path(path: &str) -> bool {
    let name = |name: &str| {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@');
        !name.is_empty() && name != "$" && name.chars().all(fits)
    };
    let index = |text: &str| {
        let digits = text.strip_suffix(']').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    path.split('.').all(|segment| {
        let mut parts = segment.split('[');
        parts.next().is_some_and(name) && parts.all(index)
    })
}

async fn field(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let Some(field) = error.get("field") else { return };
        // A path translated from a pointer may contain any name.
        let first = items(error, "issues").next().and_then(|issue| text(issue, "pointer"));
        let translated = first.is_some_and(|pointer| field.as_str() == Some(&path(pointer)));
        let fine = translated || field.as_str().is_some_and(is_path);
        wrong.unless(fine, format!("{place} has the field {field}"));
    })
}

async fn field_of_issues(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let first = items(error, "issues").next().and_then(|issue| text(issue, "pointer"));
        let Some(expected) = first.map(path) else { return };
        let field = member(error, "field");
        wrong.unless(
            field == expected,
            format!("{place} has the field {field:?}, and its first issue is at {expected:?}"),
        );
    })
}

fn each_issue(run: &mut ProbeRun, look: impl Fn(&Value, &str, &mut ShapeProblems)) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let listed = error.get("issues").is_none_or(Value::is_array);
        wrong.unless(listed, format!("the issues of {place} are no list"));
        for issue in items(error, "issues") {
            look(issue, place, wrong);
        }
    })
}

async fn members(run: &mut ProbeRun) -> CheckResult {
    each_issue(run, |issue, place, wrong| {
        let place = format!("an issue of {place}");
        // Empty is valid: it is the pointer of the whole document.
        wrong.unless(text(issue, "pointer").is_some(), format!("{place} has no pointer"));
        wrong.text(issue, "message", &place);
        wrong.text(issue, "keyword", &place);
    })
}

async fn pointer(run: &mut ProbeRun) -> CheckResult {
    each_issue(run, |issue, place, wrong| {
        let pointer = member(issue, "pointer");
        let escapes = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        let fine = pointer.is_empty() || pointer.starts_with('/') && escapes;
        wrong.unless(fine, format!("an issue of {place} has the pointer {pointer:?}"));
    })
}

async fn keyword(run: &mut ProbeRun) -> CheckResult {
    each_issue(run, |issue, place, wrong| {
        let keyword = member(issue, "keyword");
        let known = keyword.is_empty() || KEYWORDS.contains(&keyword);
        wrong.unless(known, format!("an issue of {place} has the keyword {keyword:?}"));
    })
}

/// Returns the release of a published `$id`: `3.1` of `/schemas/3.1.19/core/error.json`.
fn release_of(id: &str) -> Option<String> {
    let id = id.strip_prefix("https://adcontextprotocol.org").unwrap_or(id);
    let (version, rest) = id.strip_prefix("/schemas/")?.split_once('/')?;
    let mut numbers = version.splitn(3, '.');
    let release = format!("{}.{}", numbers.next()?, numbers.next()?);
    let is_file = rest.split('#').next().is_some_and(|file| file.ends_with(".json"));
    (is_release(&release) && is_file).then_some(release)
}

async fn schema_id(run: &mut ProbeRun) -> CheckResult {
    let mut releases = run.releases().await?;
    for release in &mut releases {
        release.truncate(release.find('-').unwrap_or(release.len()));
    }
    each_issue(run, |issue, place, wrong| {
        let Some(id) = issue.get("schema_id") else { return };
        let release = id.as_str().and_then(release_of);
        let spoken =
            release.is_some_and(|release| releases.is_empty() || releases.contains(&release));
        wrong.unless(spoken, format!("an issue of {place} has the schema_id {id}"));
    })
}

async fn discriminator(run: &mut ProbeRun) -> CheckResult {
    each_issue(run, |issue, place, wrong| {
        let Some(pairs) = issue.get("discriminator") else { return };
        let pairs = pairs.as_array().map(Vec::as_slice).unwrap_or_default();
        let plain = |pair: &Value| {
            let value = pair.get("value");
            text(pair, "property_name").is_some()
                && value.is_some_and(|value| !value.is_object() && !value.is_array())
        };
        let holds = !pairs.is_empty() && pairs.iter().all(plain);
        wrong.unless(holds, format!("an issue of {place} has a discriminator that is none"));
    })
}

async fn mirrored(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        for error in seen.answer.errors() {
            let older = error.pointer("/details/issues").is_some();
            let fine = !older || error.get("issues").is_some();
            wrong.unless(fine, format!("{}: issues are in details alone", seen.tool));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_pointers() {
        for path in ["buying_mode", "packages[0].budget", "a[0][12].b-c", "ext.x$y"] {
            assert!(is_path(path), "{path}");
        }
        for path in ["", "/buying_mode", "$.a", "$", "a.", "a[]", "a[x]", "a[0", "a b", "a..b"] {
            assert!(!is_path(path), "{path}");
        }
    }

    #[test]
    fn the_release_of_a_schema_is_in_its_id() {
        for (id, release) in [
            ("/schemas/3.1.19/core/error.json", Some("3.1")),
            ("https://adcontextprotocol.org/schemas/3.2.4/core/error.json#/a", Some("3.2")),
            ("https://seller.example/schemas/3.1.0/core/error.json", None),
            ("/schemas/latest/core/error.json", None),
            ("#/properties/a", None),
        ] {
            assert_eq!(release_of(id).as_deref(), release, "{id}");
        }
    }
}
