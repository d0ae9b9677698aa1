//! Random damage to a request: what a careless or hostile buyer sends.

use proptest::prelude::*;
use tradepost_document::json::{Map, Value, json};

/// One change, chosen when the document is at hand.
#[derive(Debug, Clone)]
pub(crate) struct Mutation {
    kind: Kind,
    /// Chooses the place.
    place: usize,
    /// Chooses the value.
    value: usize,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Drop,
    Replace,
    ReplaceLikely,
    Rename,
    AddUnknown,
    AddKnown,
    AddMany,
    Lengthen,
    EmptyArray,
    RepeatItem,
    AddItem,
}

/// One to four changes.
pub(crate) fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let kind = prop_oneof![
        3 => Just(Kind::Drop),
        2 => Just(Kind::Replace),
        6 => Just(Kind::ReplaceLikely),
        2 => Just(Kind::Rename),
        2 => Just(Kind::AddUnknown),
        3 => Just(Kind::AddKnown),
        1 => Just(Kind::AddMany),
        2 => Just(Kind::Lengthen),
        1 => Just(Kind::EmptyArray),
        2 => Just(Kind::RepeatItem),
        2 => Just(Kind::AddItem),
    ];
    let mutation = (kind, 0..10_000_usize, 0..10_000_usize)
        .prop_map(|(kind, place, value)| Mutation { kind, place, value });
    prop::collection::vec(mutation, 1..=4)
}

/// Applies a change. A place that does not suit it leaves the document as it is.
pub(crate) fn apply(document: &mut Value, mutation: &Mutation) {
    let Mutation { kind, place, value } = *mutation;
    let any = |_: &Value| true;
    match kind {
        Kind::Drop => with(document, place, is_full_object, |target| {
            let members = target.as_object_mut().unwrap();
            let key = members.keys().nth(value % members.len()).unwrap().clone();
            members.shift_remove(&key);
        }),
        Kind::Replace => with(document, place, any, |target| *target = garbage(value)),
        Kind::ReplaceLikely => with(
            document,
            place,
            |v| !v.is_object(),
            |target| {
                *target = likely(target, value);
            },
        ),
        Kind::Rename => with(document, place, is_full_object, |target| {
            let members = target.as_object_mut().unwrap();
            let index = value % members.len();
            let renamed = |key: &String| match value % 3 {
                0 => format!("{key}s"),
                1 => key.to_uppercase(),
                _ => key.chars().rev().collect(),
            };
            let rename = |(n, (key, member)): (usize, (&String, &Value))| {
                let key = if n == index { renamed(key) } else { key.clone() };
                (key, member.clone())
            };
            *members = members.iter().enumerate().map(rename).collect::<Map>();
        }),
        Kind::AddUnknown => with(document, place, Value::is_object, |target| {
            target[UNKNOWN[value % UNKNOWN.len()]] = garbage(value / UNKNOWN.len());
        }),
        Kind::AddKnown => with(document, place, Value::is_object, |target| {
            target[KNOWN[value % KNOWN.len()]] = garbage(value / KNOWN.len());
        }),
        Kind::AddMany => with(document, place, Value::is_object, |target| {
            for n in 0..value % 90 {
                target[format!("extra{n}")] = Value::Null;
            }
        }),
        Kind::Lengthen => with(document, place, Value::is_string, |target| {
            let lengths = [0, 1, 128, 129, 200, 201, 2000, 2001, 4000, 4001];
            *target = json!("é".repeat(lengths[value % lengths.len()]));
        }),
        Kind::EmptyArray => with(document, place, Value::is_array, |target| *target = json!([])),
        Kind::RepeatItem => with(document, place, Value::is_array, |target| {
            let items = target.as_array_mut().unwrap();
            if !items.is_empty() {
                let item = items[value % items.len()].clone();
                items.push(item);
            }
        }),
        Kind::AddItem => with(document, place, Value::is_array, |target| {
            target.as_array_mut().unwrap().push(garbage(value));
        }),
    }
}

/// Changes the `place`th value that suits.
fn with(
    document: &mut Value,
    place: usize,
    suits: impl Fn(&Value) -> bool,
    change: impl FnOnce(&mut Value),
) {
    let mut places = Vec::new();
    collect(document, &mut String::new(), &mut places);
    places.retain(|pointer| document.pointer(pointer).is_some_and(&suits));
    if !places.is_empty() {
        let pointer = &places[place % places.len()];
        change(document.pointer_mut(pointer).unwrap());
    }
}

fn collect(value: &Value, pointer: &mut String, places: &mut Vec<String>) {
    places.push(pointer.clone());
    let length = pointer.len();
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    for (key, member) in members {
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        collect(member, pointer, places);
        pointer.truncate(length);
    }
}

fn is_full_object(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}

const UNKNOWN: &[&str] = &[
    "maek",
    "page",
    "",
    "a/b~c",
    "ключ",
    "$ref",
    "__proto__",
    "street",
    "0",
    "extra0",
    "a-key-that-is-far-longer-than-any-key-has-a-right-to-be-and-then-a-little-longer",
];

const KNOWN: &[&str] = &[
    "type",
    "filters",
    "pagination",
    "sort",
    "privacy",
    "customer",
    "consent",
    "source_agent",
    "vehicle_of_interest",
    "trade_in",
    "appointment",
    "message",
    "submitted_at",
    "idempotency_key",
    "vin",
    "stock",
    "vehicle_id",
    "zip",
    "offered_price",
    "condition",
    "status",
    "rooftop",
    "year",
    "price",
    "photos",
    "features",
    "vdp_url",
    "inventory_date",
    "updated_at",
    "electric_range_mi",
    "email",
    "phone",
    "preferred_contact",
    "address",
    "expires_at",
    "granted_at",
    "scope",
    "allowed_channels",
    "consent_text",
    "appointment_at",
    "duration_minutes",
    "notes",
    "name",
    "url",
    "year_min",
    "query",
    "limit",
    "skip",
    "field",
    "order",
    "anonymous",
    "make",
];

/// Something of any type.
fn garbage(choice: usize) -> Value {
    let fixed = [
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!(""),
        json!("text"),
        json!([null, 5]),
        json!(["a", "a"]),
        json!([5, 5.0]),
        json!({"a": {"b": [{"c": null}]}}),
        json!([["x"]]),
        json!({"type": "lead.submit.request", "vin": 5}),
    ];
    let numbers = numbers();
    let texts = TEXTS;
    match choice % (fixed.len() + numbers.len() + texts.len()) {
        n if n < fixed.len() => fixed[n].clone(),
        n if n < fixed.len() + numbers.len() => numbers[n - fixed.len()].clone(),
        n => json!(texts[n - fixed.len() - numbers.len()]),
    }
}

/// Something of the same type, so that the deeper rules are reached.
fn likely(value: &Value, choice: usize) -> Value {
    match value {
        Value::Number(_) => {
            let numbers = numbers();
            numbers[choice % numbers.len()].clone()
        }
        Value::String(_) => json!(TEXTS[choice % TEXTS.len()]),
        Value::Bool(flag) => json!(!flag),
        Value::Null | Value::Array(_) | Value::Object(_) => garbage(choice),
    }
}

fn numbers() -> Vec<Value> {
    let texts = [
        "0",
        "-0",
        "-0.0",
        "-1",
        "-0.5",
        "1",
        "14",
        "14.999",
        "15.0",
        "1.5e1",
        "150e-1",
        "999.5",
        "1e3",
        "1001",
        "1899",
        "1900.0",
        "2100",
        "2101",
        "2020.5",
        "2.02e3",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "1e21",
        "1e30",
        "123456789012345678901234567890",
        "1e308",
        "0.1",
        "1e-7",
    ];
    texts.iter().map(|text| tradepost_document::json::from_str(text).unwrap()).collect()
}

pub(crate) const TEXTS: &[&str] = &[
    // Words of every vocabulary, and none.
    "new",
    "used",
    "cpo",
    "good",
    "poor",
    "excellent",
    "mint",
    "NEW",
    "email",
    "phone",
    "sms",
    "any",
    "fax",
    "lead_submission",
    "marketing",
    "sales",
    "service",
    "test_drive",
    "trade_in",
    "visit",
    "available",
    "pending",
    "sold",
    "price",
    "offered_price",
    "asc",
    "up",
    "inventory.search.request",
    "lead.submit.request",
    // Blank and nearly.
    "",
    " ",
    "\u{a0}\t\n",
    "\u{0}",
    "\u{1f697}",
    // Moments.
    "2026-04-30T11:05:00Z",
    "2026-05-01T12:04:59Z",
    "2026-05-01T12:05:01Z",
    "2030-01-01T00:00:00Z",
    "2026-05-01T12:00:00Z",
    "2020-01-01T00:00:00+05:30",
    "2026-04-30t11:05:00.123z",
    "2016-12-31T23:59:60Z",
    "2016-12-31T22:59:60Z",
    "2016-12-31T15:59:60-08:00",
    "2026-04-30T11:05:00",
    "2026-04-30 11:05:00Z",
    "2026-04-30T11:05:00+0530",
    "2026-04-30",
    "2026-02-29T00:00:00Z",
    "2024-02-29",
    "2026-02-29",
    "2026-13-01",
    "26-01-01",
    "2026-4-3",
    "2026-04-30T24:00:00Z",
    "2026-04-30T11:60:00Z",
    "2026-04-30T11:05:00.Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2026-04-30T11:05:00+24:00",
    "2026-04-30T11:05:00-00:00",
    "2026-04-30T11:05:00.1234567890123Z",
    "２０２６-04-30T11:05:00Z",
    "+2026-04-30T11:05:00Z",
    // Addresses and numbers.
    "ada@example.com",
    "a@b",
    "John <a@b.com>",
    ".a@b.com",
    "a..b@c.com",
    "a@-b.com",
    "a@b_c.com",
    "é@b.com",
    "a@é.com",
    "\"a b\"@c.com",
    "user@[127.0.0.1]",
    "o'neil+x@sub.example.co",
    "a@b.c.",
    "+14155550123",
    "+1",
    "+12",
    "+0123",
    "14155550123",
    "+1234567890123456",
    "(415) 555-0123",
    "+١٢٣",
    "1HGCV1F30NA123456",
    "1hgcv1f30na123456",
    "1HGCV1F30NA12345",
    "1HGCV1F30NA12345I",
    "1HGCV1F30NA123456\n",
    "94107",
    "94107-1234",
    "9410",
    "94107-12",
    "٩٤١٠٧",
    // Addresses of pages.
    "https://example.com/a?b#c",
    "http://",
    "javascript:alert(1)",
    "mailto:a@b.c",
    "urn:isbn:1",
    "/relative",
    "https://exa mple.com",
    "http://example.com:99999/",
    "https://é.com",
    "//x",
    "http://[::1]/",
    "http://%zz/",
    "https://example.com/%",
    "a:b",
    ":",
    "https:///x",
];
