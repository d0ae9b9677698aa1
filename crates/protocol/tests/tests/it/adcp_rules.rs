//! The rules of AdCP's requests against the schemas that are published: shape by shape, and by the
//! verdict of a schema validator on requests that were damaged at random.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::error::ValidationErrorKind;
use tradepost_adcp::error::{AdcpError, MAX_BYTES};
use tradepost_adcp::rules::{self, Internals, Issues, MAX_ISSUES};
use tradepost_adcp::task::{AdcpTask, TaskEffect};
use tradepost_adcp::tool::AdcpTool;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::problem::clip;

use crate::mutate::TEXTS;
use crate::published;

mod answers;
mod damage;
mod judge;
mod newer;
mod sample;

use judge::PublishedSchemas;

/// The one shape that is looser than published: it is the answer of any tool, which a test
/// controller is told to give. No request of a buyer has it.
const LOOSE: &str = "core/async-response-data";

/// Annotations of the published schemas, which reject nothing.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "title",
    "description",
    "examples",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "discriminator",
    "notes",
    "errorMessage",
    "enumDescriptions",
    "enumMetadata",
];

/// A schema without what rejects nothing, in one spelling.
fn facts(schema: &Value) -> Value {
    let Some(members) = schema.as_object() else {
        return schema.clone();
    };
    // Draft 7 ignores what stands beside a reference.
    if let Some(reference) = members.get("$ref") {
        return json!({"$ref": reference});
    }
    let mut out = Map::new();
    for (keyword, value) in members {
        if ANNOTATIONS.contains(&keyword.as_str()) || keyword.starts_with("x-") {
            continue;
        }
        let each = |value: &Value| -> Value {
            let members = value.as_object().unwrap().iter();
            members.map(|(name, value)| (name.clone(), facts(value))).collect::<Map>().into()
        };
        let value = match keyword.as_str() {
            "properties" | "patternProperties" => each(value),
            "allOf" | "anyOf" | "oneOf" => value.as_array().unwrap().iter().map(facts).collect(),
            "required" => {
                let names: BTreeSet<_> =
                    value.as_array().unwrap().iter().map(Value::as_str).collect();
                json!(names)
            }
            "const" | "enum" | "dependencies" => value.clone(),
            _ => facts(value),
        };
        // What an absent keyword says already.
        let is_idle = match keyword.as_str() {
            "additionalProperties" => value == json!(true) || value == json!({}),
            "required" => value == json!([]),
            "properties" => value == json!({}),
            "uniqueItems" => value == json!(false),
            _ => false,
        };
        if !is_idle {
            out.insert(keyword.clone(), value);
        }
    }
    out.into()
}

#[test]
fn every_shape_is_the_published_one() {
    let Some(schemas) = judge::published_schemas() else { return };
    let mut proven = 0;
    for name in rules::shapes().filter(|name| *name != LOOSE) {
        let (document, part) = name.split_once('#').map_or((name, None), |(d, p)| (d, Some(p)));
        let schema =
            schemas.document(document).unwrap_or_else(|| panic!("{name} is not published"));
        assert_eq!(schema["$id"], format!("/schemas/{}/{document}.json", rules::VERSION));
        let schema = part.map_or(schema, |part| &schema["$defs"][part]);
        let ours = rules::published(name).unwrap();
        assert_eq!(facts(&ours), facts(schema), "{name}");
        proven += 1;
    }
    assert!(proven > 200, "{proven}");
}

#[test]
fn the_shape_of_a_tool_is_that_of_its_task() {
    for tool in AdcpTool::ALL.iter().copied() {
        let expected = format!("/{}-request", tool.name().replace('_', "-"));
        assert!(tool.request().ends_with(&expected), "{tool}");
    }
}

#[test]
fn the_table_of_tasks_agrees_with_manifest_and_schemas() {
    let Some(schemas) = judge::published_schemas() else { return };
    let Some(newer) = published::json("spec/adcp/3.2/manifest.json") else { return };
    let manifest = schemas.document("manifest").unwrap();
    let published = manifest["tools"].as_object().unwrap();
    let of_newer = newer["tools"].as_object().unwrap();
    let known: BTreeSet<_> = AdcpTask::NAMES.iter().map(|name| (*name).to_owned()).collect();
    let of_manifests: BTreeSet<_> = published.keys().chain(of_newer.keys()).cloned().collect();
    // The two of the Trusted Match Protocol have a document of their own.
    let missing: Vec<_> = known.symmetric_difference(&of_manifests).collect();
    assert_eq!(missing, ["context_match", "identity_match"]);
    for (name, facts) in of_newer.iter().filter(|(name, _)| !published.contains_key(*name)) {
        let expected = match facts["idempotency_requirement"].as_str().unwrap() {
            "required" => TaskEffect::Keyed,
            _ if facts["mutating"] == true => TaskEffect::Once,
            _ => TaskEffect::Read,
        };
        assert_eq!(AdcpTask::from_name(name).unwrap().effect(), expected, "{name}");
    }
    for (name, facts) in published {
        let shape = facts["request_schema"].as_str().unwrap().trim_end_matches(".json");
        let schema = schemas.document(shape).unwrap();
        let required = schema["required"].as_array().into_iter().flatten();
        let keyed = required.into_iter().any(|member| member == "idempotency_key");
        let expected = match (keyed, facts["mutating"].as_bool().unwrap()) {
            (true, true) => TaskEffect::Keyed,
            (false, true) => TaskEffect::Once,
            (_, false) => TaskEffect::Read,
        };
        assert_eq!(AdcpTask::from_name(name).unwrap().effect(), expected, "{name}");
    }
}

#[test]
fn the_schemas_that_are_shown_judge_as_the_rules_do() {
    let mut random = sample::Random::new(3);
    for tool in AdcpTool::ALL.iter().copied() {
        let schema = rules::json_schema(tool);
        let validator = judge::options().build(&(&schema).into()).unwrap();
        for _ in 0..20 {
            let mut request = sample::of_rules(&schema, &mut random);
            for _ in 0..2 {
                let ours = rules::check(tool, &request, Internals::Off);
                let theirs = validator.is_valid(&(&request).into());
                assert_eq!(ours.is_ok(), theirs, "{tool} {request:#}\n{ours:#?}");
                damage::damage(&mut request, &[], &mut random);
            }
        }
    }
}

/// Texts that are nearly in a format, by shapes that ask for one.
#[test]
fn formats_are_those_of_the_validator() {
    const TEMPLATES: &[&str] = &[
        "https://a.example/{x}",
        "{x}",
        "{+x,y}",
        "{#x*}",
        "{x:3}",
        "{x:0}",
        "{x:12345}",
        "{x:}",
        "{}",
        "{x",
        "x}",
        "{x}}",
        "{{x}}",
        "{x y}",
        "{x-y}",
        "{x.y}",
        "{.x}",
        "{x..y}",
        "{%41}",
        "{%4}",
        "%",
        "%4",
        "%41",
        "a b",
        "é",
        "{é}",
        "{x,}",
        "{,x}",
        "{=x}",
        "{|x}",
        "{$x}",
        "<",
        "\"",
        "'",
        "^",
        "`",
        "\\",
        "{x*:3}",
        "{?x,y*}",
        "${MACRO}",
        "[MACRO]",
        "%%MACRO%%",
        "",
    ];
    let value = |format: &str, text: &str| match format {
        "date" => json!({"start": text, "end": "2026-05-01"}),
        "date-time" => json!({"start": text, "end": "2026-05-01T00:00:00Z"}),
        "uri" => json!({"type": "agent", "agent_url": text}),
        _ => json!({"asset_type": "url", "url": text}),
    };
    for (format, shape) in [
        ("date", "core/date-range"),
        ("date-time", "core/datetime-range"),
        ("uri", "core/destination"),
        ("uri-template", "core/assets/url-asset"),
    ] {
        let schema = json!({"format": format});
        let validator = judge::options().build(&(&schema).into()).unwrap();
        let mut verdicts = BTreeSet::new();
        for text in TEXTS.iter().chain(TEMPLATES) {
            let theirs = validator.is_valid(&(*text).into());
            let ours = rules::check_shape(shape, &value(format, text), Internals::Off).is_ok();
            assert_eq!(ours, theirs, "{format} {text:?}");
            verdicts.insert(ours);
        }
        assert_eq!(verdicts.len(), 2, "{format}");
    }
}

/// The shapes of the requests of all tools, those included that no seller of ours has.
fn requests() -> impl Iterator<Item = &'static str> {
    let is_part =
        |name: &str| matches!(name, "core/pagination-request" | "media-buy/package-request");
    rules::shapes().filter(move |name| name.ends_with("-request") && !is_part(name))
}

/// How often each verdict was reached.
#[derive(Default)]
struct Tally {
    valid: usize,
    invalid: usize,
}

#[test]
fn damaged_requests_get_the_verdict_of_the_published_schemas() {
    let Some(schemas) = judge::published_schemas() else { return };
    let mut random = sample::Random::new(2026);
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for tool in requests() {
        let validator =
            schemas.validator(tool).unwrap_or_else(|| panic!("{tool} is not published"));
        let names = schemas.names();
        let tally = tallies.entry(tool).or_default();
        let seeds = sample::valid(schemas, tool, &validator, 16, &mut random);
        assert!(!seeds.is_empty(), "{tool}: {} valid requests", seeds.len());
        for case in 0..400 {
            let mut request = seeds[case % seeds.len()].clone();
            let damages = if case < seeds.len() { 0 } else { 1 + random.below(3) };
            for _ in 0..damages {
                damage::damage(&mut request, names, &mut random);
            }
            let ours = rules::check_shape(tool, &request, Internals::On);
            let theirs = validator.is_valid(&(&request).into());
            assert_eq!(ours.is_ok(), theirs, "{tool} {request:#}\n{ours:#?}");
            match ours {
                Ok(()) => tally.valid += 1,
                Err(issues) => {
                    tally.invalid += 1;
                    is_sound(schemas, &issues, &request);
                    is_complete(&validator, &issues, &request);
                }
            }
        }
    }
    for (tool, Tally { valid, invalid }) in tallies {
        println!("{tool}: {valid} valid, {invalid} not");
        assert!(valid > 10 && invalid > 50, "{tool}: {valid} {invalid}");
    }
}

/// What holds of every list of issues.
fn is_sound(schemas: &PublishedSchemas, issues: &Issues, request: &Value) {
    assert!(!issues.listed().is_empty() && issues.listed().len() <= MAX_ISSUES);
    assert!(issues.total() >= issues.listed().len());
    for issue in issues.listed() {
        assert!(judge::KEYWORDS.contains(&issue.keyword.as_str()), "{issue:?}");
        assert!(!issue.message.contains(damage::MARK), "{issue:?}");
        // The place is there, or for what is absent, the place that lacks it.
        let is_absent = matches!(issue.keyword.as_str(), "required" | "dependencies");
        if is_absent {
            let (parent, name) = issue.pointer.rsplit_once('/').unwrap();
            let parent = request.pointer(parent).unwrap().as_object().unwrap();
            assert!(!parent.contains_key(&name.replace("~1", "/").replace("~0", "~")), "{issue:?}");
        } else if issue.pointer.split('/').all(|name| name.chars().count() < 64) {
            assert!(request.pointer(&issue.pointer).is_some(), "{issue:?}");
        }
        // The schema is published, and has such a place (I-1, I-2).
        let Some(id) = &issue.schema_id else {
            continue;
        };
        let Some(place) = &issue.schema_path else {
            continue;
        };
        let name = id.strip_prefix(&format!("/schemas/{}/", rules::VERSION)).unwrap();
        let Some(schema) = schemas.document(name.strip_suffix(".json").unwrap()) else {
            continue;
        };
        let found = schema.pointer(place.strip_prefix('#').unwrap());
        assert!(found.is_some(), "{id} {place}: {issue:?}");
        for (property, value) in &issue.discriminator {
            assert!(!value.is_object() && !value.is_array(), "{issue:?}");
            assert!(!value.to_string().contains(damage::MARK), "{issue:?}");
            // It is what was sent, at the place or around it (I-3).
            let mut around = issue.pointer.match_indices('/').map(|(end, _)| &issue.pointer[..end]);
            let mut sent =
                around.any(|at| request.pointer(at).unwrap().get(property) == Some(value));
            sent |=
                request.pointer(&issue.pointer).is_some_and(|at| at.get(property) == Some(value));
            assert!(sent, "{issue:?}");
        }
    }
    let error = issues.clone().into_error();
    let text = tradepost_document::json::to_string(&error).unwrap();
    assert!(text.len() <= MAX_BYTES, "{text}");
    assert_eq!(AdcpError::read(&tradepost_document::json::from_str(&text).unwrap()), Ok(error));
}

/// Every problem that the validator finds outside of unions is listed, as far as there is room.
fn is_complete(validator: &jsonschema::Validator, issues: &Issues, request: &Value) {
    if issues.unlisted() > 0 {
        return;
    }
    let listed: BTreeSet<_> = issues
        .listed()
        .iter()
        .map(|issue| (issue.pointer.as_str(), issue.keyword.as_str()))
        .collect();
    let below =
        |at: &str, name: &str| format!("{at}/{}", clip(name).replace('~', "~0").replace('/', "~1"));
    for error in validator.iter_errors(&request.into()) {
        // Long names are clipped.
        let at =
            error.instance_path().as_str().split('/').skip(1).fold(String::new(), |at, name| {
                below(&at, &name.replace("~1", "/").replace("~0", "~"))
            });
        let at = at.as_str();
        let keyword = error.kind().keyword();
        let places = match error.kind() {
            // By which branch it should have been satisfied is ours to say.
            ValidationErrorKind::AnyOf { .. }
            | ValidationErrorKind::OneOfNotValid { .. }
            | ValidationErrorKind::FalseSchema
            | ValidationErrorKind::PropertyNames { .. } => continue,
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.iter().map(|name| (below(at, name), keyword)).collect()
            }
            ValidationErrorKind::Required { property } => {
                let at = below(at, property.as_str().unwrap());
                // The validator reports what `dependencies` asks for so, too.
                let keyword = if listed.contains(&(at.as_str(), "dependencies")) {
                    "dependencies"
                } else {
                    keyword
                };
                vec![(at, keyword)]
            }
            _ => vec![(at.to_owned(), keyword)],
        };
        for (at, keyword) in places {
            // Of a value of another type, nothing is said that only objects could mend.
            let is_alien = listed.contains(&(at.as_str(), "type"));
            let is_combined = matches!(keyword, "oneOf" | "not" | "contains");
            let is_listed = listed.contains(&(at.as_str(), keyword)) || (is_alien && is_combined);
            assert!(is_listed, "{at} {keyword}: {request:#}\n{issues:#?}");
        }
    }
}
