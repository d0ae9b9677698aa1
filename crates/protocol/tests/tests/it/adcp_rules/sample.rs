//! Requests made at random from schemas: most are valid, and none is trusted to be.

use std::cell::RefCell;
use std::collections::HashMap;

use jsonschema::Validator;
use tradepost_document::json::{Map, Value, json};

use super::judge::{self, PublishedSchemas};

/// A sequence that is the same every time (SplitMix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    pub(super) fn pick<'p, T>(&mut self, from: &'p [T]) -> &'p T {
        &from[self.below(from.len())]
    }
}

/// Returns the valid published examples, and random valid requests until there are `count`, if enough are found.
pub(super) fn valid(
    schemas: &PublishedSchemas,
    name: &str,
    validator: &Validator,
    count: usize,
    random: &mut Random,
) -> Vec<Value> {
    let schema = schemas.document(name).unwrap();
    let published = schema["examples"].as_array().into_iter().flatten();
    let published = published.map(|example| example.get("data").unwrap_or(example));
    let mut found: Vec<Value> =
        published.filter(|example| validator.is_valid(&(*example).into())).cloned().collect();
    for round in 0..count * 20 {
        if found.len() >= count {
            break;
        }
        let sampler = Sampler { schemas: Some(schemas), richness: round % 5 };
        let mut request = sampler.value(schema, schema, 0, random);
        for _ in 0..6 {
            let foreign = (&request).into();
            let errors = validator.iter_errors(&foreign);
            let places: Vec<_> =
                errors.map(|error| error.instance_path().as_str().to_owned()).collect();
            places.iter().for_each(|place| remove(&mut request, place));
        }
        if validator.is_valid(&(&request).into()) {
            found.push(request);
        }
    }
    found
}

/// Removes the value at a pointer.
fn remove(document: &mut Value, place: &str) {
    let Some((parent, name)) = place.rsplit_once('/') else { return };
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.shift_remove(&name.replace("~1", "/").replace("~0", "~"));
        }
        Some(Value::Array(items)) => {
            let index = name.parse().unwrap();
            if index < items.len() {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// Makes a random request by a schema that contains its definitions; it need not be valid.
pub(super) fn of_rules(schema: &Value, random: &mut Random) -> Value {
    let richness = random.below(4);
    Sampler { schemas: None, richness }.value(schema, schema, 0, random)
}

struct Sampler<'s> {
    /// Schemas that have the other documents; `None` when one schema contains all.
    schemas: Option<&'s PublishedSchemas>,
    /// Share of the optional members that are added, in fifths at the root and less below it.
    richness: usize,
}

impl<'s> Sampler<'s> {
    /// Returns the document of a reference and its target in it.
    fn referred(&self, document: &'s Value, reference: &str) -> (&'s Value, &'s Value) {
        match (reference.strip_prefix('#'), self.schemas) {
            (None, Some(schemas)) => {
                let target = schemas.referred(document, reference);
                (target, target)
            }
            (pointer, _) => {
                let pointer = pointer.unwrap();
                (document, document.pointer(pointer).unwrap())
            }
        }
    }

    fn value(
        &self,
        document: &'s Value,
        schema: &'s Value,
        depth: usize,
        random: &mut Random,
    ) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let (document, target) = self.referred(document, reference);
            return self.value(document, target, depth, random);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(words) = schema["enum"].as_array() {
            return random.pick(words).clone();
        }
        let mut made: Option<Value> = None;
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let Some(branches) = schema[keyword].as_array() else { continue };
            let one = std::slice::from_ref(random.pick(branches));
            let chosen = if keyword == "allOf" { branches.as_slice() } else { one };
            for branch in chosen {
                let part = self.value(document, branch, depth + 1, random);
                made = Some(merged(made, part));
            }
        }
        if let Some(then) = schema.get("then").filter(|_| random.below(3) == 0) {
            made = Some(merged(made, self.value(document, &schema["if"], depth + 1, random)));
            made = Some(merged(made, self.value(document, then, depth + 1, random)));
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => random.pick(kinds).as_str(),
            kind => kind.as_str(),
        };
        let is_object = schema.get("properties").is_some() || schema.get("required").is_some();
        let own = match kind {
            Some("object") => Some(self.object(document, schema, depth, random)),
            Some("array") => Some(self.array(document, schema, depth, random)),
            Some("boolean") => Some(Value::Bool(random.below(2) == 0)),
            Some("null") => Some(Value::Null),
            Some(_) => Some(leaf(schema, random)),
            None if is_object => Some(self.object(document, schema, depth, random)),
            None => None,
        };
        match (own, made) {
            (Some(own), made) => merged(made, own),
            (None, Some(made)) => made,
            (None, None) => json!({}),
        }
    }

    fn object(
        &self,
        document: &'s Value,
        schema: &'s Value,
        depth: usize,
        random: &mut Random,
    ) -> Value {
        let required: Vec<_> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut out = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let is_wanted = depth < 7 && random.below(5 + depth) < self.richness;
            if required.contains(&name.as_str()) || is_wanted {
                out.insert(name.clone(), self.value(document, member, depth + 1, random));
            }
        }
        for name in required {
            if !out.contains_key(name) && schema["properties"].get(name).is_none() {
                out.insert(name.to_owned(), json!("x"));
            }
        }
        if let Some(rest) = schema.get("additionalProperties").filter(|rest| rest.is_object()) {
            let name = leaf(&schema["propertyNames"], random);
            let name = name.as_str().unwrap_or("extra").to_owned();
            out.insert(name, self.value(document, rest, depth + 1, random));
        }
        for (_, member) in schema["patternProperties"].as_object().into_iter().flatten() {
            out.insert("hero".to_owned(), self.value(document, member, depth + 1, random));
        }
        out.into()
    }

    fn array(
        &self,
        document: &'s Value,
        schema: &'s Value,
        depth: usize,
        random: &mut Random,
    ) -> Value {
        let count = |name: &str| schema[name].as_u64().and_then(|n| usize::try_from(n).ok());
        let least = count("minItems").unwrap_or(0);
        let extra = if depth < 7 { random.below(3) } else { 0 };
        let length = (least + extra).min(count("maxItems").unwrap_or(usize::MAX));
        let Some(items) = schema.get("items") else {
            return json!(vec![0; length]);
        };
        let mut out: Vec<Value> = Vec::new();
        for _ in 0..length {
            let item = self.value(document, items, depth + 1, random);
            if schema["uniqueItems"] != json!(true) || !out.contains(&item) {
                out.push(item);
            }
        }
        out.into()
    }
}

/// Merges two objects; otherwise keeps one of the values.
fn merged(one: Option<Value>, other: Value) -> Value {
    match (one, other) {
        (Some(Value::Object(mut one)), Value::Object(other)) => {
            for (name, value) in other {
                let value = merged(one.swap_remove(&name), value);
                one.insert(name, value);
            }
            one.into()
        }
        (Some(one), Value::Object(other)) if other.is_empty() => one,
        (Some(Value::String(one)), Value::String(other)) if other == "x" => one.into(),
        (Some(one), _) if !one.is_object() => one,
        (_, other) => other,
    }
}

/// A text or number that satisfies a schema, from the pool.
fn leaf(schema: &Value, random: &mut Random) -> Value {
    thread_local! {
        static VALUES_BY_SCHEMA: RefCell<HashMap<String, Vec<Value>>> = RefCell::default();
    }
    let mut facts = schema.clone();
    if let Some(facts) = facts.as_object_mut() {
        facts.retain(|name, _| !name.contains("Of") && !name.starts_with('$'));
    }
    VALUES_BY_SCHEMA.with_borrow_mut(|values_by_schema| {
        let fits = values_by_schema.entry(facts.to_string()).or_insert_with(|| {
            let facts = if facts.is_object() { facts.clone() } else { json!({"type": "string"}) };
            let validator = judge::options().build(&(&facts).into()).unwrap();
            pool().into_iter().filter(|value| validator.is_valid(&value.into())).collect()
        });
        if fits.is_empty() { json!("nothing fits") } else { random.pick(fits).clone() }
    })
}

/// Texts and numbers of every kind.
pub(super) fn pool() -> Vec<Value> {
    let numbers = [
        "0", "1", "1.0", "2", "1e2", "0.5", "13", "24", "60", "99", "100", "300", "1000", "-1",
        "-90.5", "1e30",
    ];
    let numbers = numbers.iter().map(|text| tradepost_document::json::from_str(text).unwrap());
    let hex = "0123456789abcdef".repeat(4);
    let texts = [
        "x",
        "a",
        "",
        "display",
        "brand",
        "en",
        "US",
        "US-CA",
        "USD",
        "DE89370400440532013000",
        "DEUTDEFF",
        "DE123456789",
        "example.com",
        "seller.example",
        "https://example.com/a",
        "https://example.com/{id}",
        "http://example.com",
        "ada@example.com",
        "2026-05-01",
        "2026-05-01T12:00:00Z",
        "2026-06-01T12:00:00+02:00",
        "key-0123456789abcdef",
        "PT1H",
        "P1D",
        "P",
        "3.1",
        "3.1.0-rc.1",
        "1.2",
        "16:9",
        "12345678",
        "#a0B1c2",
        "00:01:02",
        "50%",
        "age:18",
        "a_b",
        "credentials-that-are-long-enough-to-be-some",
        "urn:uuid:1",
        "hero",
        "10",
        "é",
        "line\nbreak",
    ];
    let texts = texts.iter().map(|text| json!(text));
    let long = [json!(hex), json!(format!("sha256:{hex}")), json!("long ".repeat(120))];
    numbers.chain(texts).chain(long).collect()
}
