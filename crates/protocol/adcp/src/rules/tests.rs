use tradepost_document::json::{Map, Value, json};

use super::*;
use crate::error::MAX_BYTES;
use tradepost_document::catalog::Vocabulary;

#[test]
fn the_rules_can_be_read() {
    assert_eq!(notation::read(FILES).err().map(|wrong| wrong.to_string()), None);
}

#[test]
fn a_mistake_in_the_notation_is_named_with_its_line() {
    for (file, expected) in [
        ("shape a = object {\n  b: strng\n}", "line 3: \"strng\" is no term"),
        ("shape a = object {\n  b: string", "line 2: ends too early"),
        ("shape a = { b: string b: any }", "line 1: b is there twice"),
        ("shape a = any\nshape a = any", "line 2: a is there twice"),
        ("shape a = @b", "line 1: there is no shape b"),
        ("shape a = number >= x", "line 1: a bound has to be a number"),
        ("shape a = string length 5", "line 1: \"5\" is no range"),
        ("shape a = string format colour", "line 1: colour is no format"),
        ("shape a = then (any)", "line 1: there is no \"if\" before it"),
        ("shape a =", "line 1: needs a term here"),
        ("shape a = string ;", "line 1: cannot be read from \";\" on"),
        ("form a = any", "line 1: needs \"shape\" here"),
        ("shape a = object { `x` as y: any }", "line 1: an example needs a sentence before it"),
    ] {
        let wrong = notation::read(&[file]).err().map(|wrong| wrong.to_string());
        assert_eq!(wrong.as_deref(), Some(expected), "{file}");
    }
}

#[test]
fn every_tool_has_a_shape() {
    for tool in AdcpTool::ALL.iter().copied() {
        assert!(book().shape(tool.request()).is_some(), "{tool}");
        assert!(check(tool, &json!(5), Internals::On).is_err(), "{tool}");
    }
}

/// No shape refers to itself alone, so that a walk ends with the request.
#[test]
fn every_circle_of_shapes_descends_into_the_value() {
    fn walk(book: &shape::RuleBook, node: &shape::Node, names: &mut Vec<&'static str>) {
        if let Some(name) = node.refers {
            assert!(!names.contains(&name), "{names:?} {name}");
            names.push(name);
            walk(book, &book.referred(name).node, names);
            names.pop();
        }
        let unions = node.any.iter().chain(&node.one).flat_map(|union| &union.branches);
        for inner in node.all.iter().chain(unions).chain(node.not.as_deref()) {
            walk(book, inner, names);
        }
        if let Some(condition) = &node.condition {
            walk(book, &condition.when, names);
            for inner in condition.then.iter().chain(&condition.otherwise) {
                walk(book, inner, names);
            }
        }
    }
    for shape in &book().shapes {
        walk(book(), &shape.node, &mut vec![shape.name]);
    }
}

/// I-8: without internals, only the three fields that are required.
#[test]
fn internals_are_there_only_when_they_are_asked_for() {
    let request = json!({"signal_spec": "x", "destinations": [{"type": "agent"}]});
    let issue = |internals| {
        let issues = check(AdcpTool::GetSignals, &request, internals).unwrap_err();
        tradepost_document::json::to_value(&issues.listed()[0]).unwrap()
    };
    let bare = json!({
        "pointer": "/destinations/0/agent_url",
        "message": "\"agent_url\" is required",
        "keyword": "required",
    });
    assert_eq!(issue(Internals::Off), bare);
    let mut full = bare;
    full["schema_id"] = json!("/schemas/3.1.19/core/destination.json");
    full["schemaPath"] = json!("#/oneOf/1/required");
    full["discriminator"] = json!([{"property_name": "type", "value": "agent"}]);
    assert_eq!(issue(Internals::On), full);
}

/// Checks a value with a shape of the test's own.
fn verdict(rules: &'static str, value: &str) -> Vec<&'static str> {
    let file: &'static str = Box::leak(format!("shape s = {rules}").into_boxed_str());
    let book: &'static shape::RuleBook = Box::leak(Box::new(notation::read(&[file]).unwrap()));
    let mut walk = walk::RuleWalk::new(book, false);
    let node = &book.shape("s").unwrap().node;
    let value: Value = tradepost_document::json::from_str(value).unwrap();
    let is_valid = walk.node(node, &value, &place::RequestPlace::ROOT, &place::SchemaPath::Nowhere);
    assert_eq!(is_valid, walk.found.is_empty());
    walk.found.iter().map(place::FoundProblem::keyword).collect()
}

#[test]
fn every_keyword_rejects_what_it_should() {
    for (rules, value, expected) in [
        ("integer", "1e2", &[][..]),
        ("integer", "1.50e1", &[]),
        ("integer", "0.1", &["type"]),
        ("integer", "1e-400", &["type"]),
        ("number >= 0 <= 100", "1e2", &[]),
        ("number >= 0 <= 100", "100.000000000000000000000000001", &["maximum"]),
        ("number >= 0", "-1e-400", &["minimum"]),
        ("number > 0", "0.0", &["exclusiveMinimum"]),
        ("number < 0.5", "5e-1", &["exclusiveMaximum"]),
        ("number <= 9007199254740992", "9007199254740993", &["maximum"]),
        ("= 8", "8.0", &[]),
        ("in (8 10)", "1e1", &[]),
        ("in (8 10)", "\"8\"", &["enum"]),
        ("= true", "\"true\"", &["const"]),
        ("string length 2..3", "\"éé\"", &[]),
        ("string length 2..3", "\"é\"", &["minLength"]),
        ("string length 2..3", "\"éééé\"", &["maxLength"]),
        ("string `^P(?!$)(\\d+Y)?$`", "\"P\"", &["pattern"]),
        ("string `^P(?!$)(\\d+Y)?$`", "\"P1Y\"", &[]),
        ("string `^P(?!$)(\\d+Y)?$`", "\"P1X\"", &["pattern"]),
        ("string `^[a-z]+$`", "\"ab\\n\"", &["pattern"]),
        ("string `^\\d+$`", "\"٣\"", &["pattern"]),
        ("string format uri-template", "\"https://a/{+x,y:3*}\"", &[]),
        ("string format uri-template", "\"https://a/{x\"", &["format"]),
        ("array unique", "[1, 1.0]", &["uniqueItems"]),
        ("array unique", "[{\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1}]", &["uniqueItems"]),
        ("array unique", "[\"a\", \"b\"]", &[]),
        ("array contains (= a)", "[\"b\"]", &["contains"]),
        ("{ a: never }", "{\"a\": 1}", &["not"]),
        ("{ *: integer }", "{\"a\": 1, \"b\": \"x\"}", &["type"]),
        ("{ `^a`: integer } closed", "{\"ab\": 1, \"b\": 2}", &["additionalProperties"]),
        ("names (`^a`)", "{\"ab\": 1, \"b\": 2}", &["propertyNames"]),
        ("members 1..1", "{\"a\": 1, \"b\": 2}", &["maxProperties"]),
        ("when a needs (b)", "{\"a\": 1}", &["dependencies"]),
        ("when a needs (b)", "5", &[]),
        ("one-of (integer | number)", "1", &["oneOf"]),
        ("one-of (integer | string)", "true", &["oneOf"]),
        ("any-of (needs (a) | needs (b))", "{}", &["anyOf"]),
        ("not (needs (a))", "{\"a\": 1}", &["not"]),
        ("if (needs (a)) then (needs (b)) else (needs (c))", "{\"a\": 1}", &["required"]),
        ("if (needs (a)) then (needs (b)) else (needs (c))", "{\"c\": 1}", &[]),
    ] {
        assert_eq!(verdict(rules, value), expected, "{rules} {value}");
    }
}

/// The error of a request of any size stays small, and so does the work.
#[test]
fn hostile_requests_get_small_answers() {
    let long = "x".repeat(100_000);
    let names: Map = (0..20_000).map(|n| (format!("{n}{long:.100}"), json!(1))).collect();
    let accounts: Vec<Value> = (0..20_000).map(|n| json!({"account": {"zz": n}})).collect();
    for (tool, request) in [
        (AdcpTool::GetProducts, json!({"buying_mode": long, "account": names})),
        (AdcpTool::GetProducts, json!({"brand": {"domain": "a-".repeat(50_000)}})),
        (AdcpTool::SyncAccounts, json!({"idempotency_key": long, "accounts": accounts})),
        (AdcpTool::CreateMediaBuy, json!({"packages": vec![json!([]); 20_000]})),
        (AdcpTool::GetMediaBuys, json!({"media_buy_ids": vec![json!({"a": []}); 20_000]})),
    ] {
        let issues = check(tool, &request, Internals::On).unwrap_err();
        assert!(issues.listed().len() <= MAX_ISSUES);
        let size = tradepost_document::json::to_string(&issues.into_error()).unwrap().len();
        assert!(size <= MAX_BYTES, "{tool}: {size}");
    }
}

#[test]
fn no_schema_that_is_shown_refers_to_another_document() {
    for tool in AdcpTool::ALL.iter().copied() {
        let schema = json_schema(tool);
        assert_eq!(schema["type"], "object", "{tool}");
        let text = schema.to_string();
        for reference in text.split("\"$ref\":\"").skip(1) {
            let reference = reference.split('"').next().unwrap_or_default();
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(schema.pointer(pointer).is_some(), "{tool} {reference}");
        }
    }
}

/// Unions become one object, and members without a sentence are left out.
#[test]
fn a_model_is_told_what_has_a_sentence() {
    let file = r#"
        shape a = object {
          "Which."
          id!: string `^[a-z]+$`
          silent!: string
          "By whom."
          by: one-of (string = me | string = you)
          "When."
          at: one-of (string = now | string format date-time)
          "Until when."
          until: string format date-time not (= never)
          "How it stands."
          states: one-of (@state | array count 1.. [@state])
          owner: @owner
          "What it is made of."
          parts: object {
            "A part."
            `^[a-z]+$` as wheel: one-of (@part | array [@part])
          }
          "Which colour."
          colour: in (a b c d e f g h i j k l m)
        } all (@more)
        shape state = string in (up down)
        "Whose it is."
        shape owner = object {
          "A name."
          name: string/null
          deep: object { deeper: string }
        }
        shape part = one-of (
          | object {
            "What it is."
            kind!: string = round
            "How wide."
            width!: number
          }
          | object {
            "What it is."
            kind!: string = square
          }
        )
        shape more = object {
          "What else."
          note!: string
        }
    "#;
    let book = notation::read(&[file]).unwrap();
    assert_eq!(outline::of_shape(&book, "b"), None);
    let expected = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Which."},
            "by": {"type": "string", "description": "By whom.", "enum": ["me", "you"]},
            "at": {"type": "string", "description": "When."},
            "until": {"type": "string", "description": "Until when.", "format": "date-time"},
            "states": {
                "type": "array", "description": "How it stands.",
                "items": {"type": "string", "enum": ["up", "down"]},
            },
            "owner": {
                "type": "object", "description": "Whose it is.",
                "properties": {"name": {"type": "string", "description": "A name."}},
            },
            "parts": {
                "type": "object", "description": "What it is made of.",
                "properties": {"wheel": {
                    "type": "object", "description": "A part.",
                    "properties": {
                        "kind": {
                            "type": "string", "description": "What it is.",
                            "enum": ["round", "square"],
                        },
                        "width": {"type": "number", "description": "How wide."},
                    },
                    "required": ["kind"],
                }},
            },
            "colour": {"type": "string", "description": "Which colour."},
            "note": {"type": "string", "description": "What else."},
        },
        "required": ["id", "note"],
    });
    assert_eq!(outline::of_shape(&book, "a"), Some(expected));
    let schema = schema::with_definitions(&book, "a").unwrap();
    assert_eq!(schema["properties"]["id"]["description"], "Which.");
    assert_eq!(schema["$defs"]["owner"]["description"], "Whose it is.");
}
