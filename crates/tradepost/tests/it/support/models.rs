//! What providers of models take of JSON Schema in the parameters of a tool: what OpenAI, Anthropic
//! and Google have in common.

use std::fmt::Write as _;

use tradepost_document::json::Value;

/// Keywords that one of them refuses wherever they stand.
const UNSUPPORTED_KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "$schema",
    "allOf",
    "const",
    "dependentRequired",
    "else",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "then",
];

/// Keywords that one of them refuses at the top.
const UNSUPPORTED_AT_ROOT: &[&str] = &["anyOf", "enum"];

/// Everything in the parameters of a tool that one of them does not take, a line each.
pub fn unsupported_constructs(tool: &Value) -> String {
    let name = tool["name"].as_str().unwrap();
    let schema = &tool["inputSchema"];
    let mut found = String::new();
    if schema["type"] != "object" {
        writeln!(found, "{name}: is no object").unwrap();
    }
    for keyword in UNSUPPORTED_AT_ROOT.iter().filter(|keyword| schema.get(keyword).is_some()) {
        writeln!(found, "{name}: {keyword} at the top").unwrap();
    }
    if tool["description"].as_str().is_none_or(|text| text.len() < 10) {
        writeln!(found, "{name}: has no description").unwrap();
    }
    walk(name, schema, &mut found);
    found
}

fn walk(at: &str, schema: &Value, found: &mut String) {
    let mut wrong = |what: &str| writeln!(found, "{at}: {what}").unwrap();
    for keyword in UNSUPPORTED_KEYWORDS.iter().filter(|keyword| schema.get(keyword).is_some()) {
        wrong(keyword);
    }
    let branches = schema["anyOf"].as_array();
    match schema["type"].as_str() {
        Some("string" | "number" | "integer" | "boolean" | "null") => {}
        Some("object") => {
            let members = schema["properties"].as_object();
            if members.is_none_or(tradepost_document::json::Map::is_empty) {
                wrong("an object without properties");
            }
            let absent = |name: &&Value| {
                members.is_none_or(|properties| !properties.contains_key(name.as_str().unwrap()))
            };
            for name in schema["required"].as_array().into_iter().flatten().filter(absent) {
                wrong(&format!("{name} is required and not there"));
            }
            for (name, member) in members.into_iter().flatten() {
                let at = format!("{at}.{name}");
                if member["description"].as_str().is_none_or(str::is_empty) {
                    writeln!(found, "{at}: has no description").unwrap();
                }
                walk(&at, member, found);
            }
        }
        Some("array") if schema["items"].is_object() => {
            walk(&format!("{at}[]"), &schema["items"], found);
        }
        Some(_) => wrong("its type"),
        // What has alternatives has a type in each.
        None if branches
            .is_some_and(|branches| branches.iter().all(|branch| branch["type"].is_string())) => {}
        None => wrong("has not one type"),
    }
}
