//! Writes the rules as JSON Schema.

use std::collections::BTreeSet;

use tradepost_document::json::{Map, Value, json};

use super::shape::{CountRange, ListRules, MemberRules, Node, ObjectRules, RuleBook, TextRules};
use tradepost_document::catalog::Vocabulary;

/// The JSON Schema draft to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Draft {
    /// Draft 7, as published.
    Seven,
    /// Draft 2020-12, with the other shapes as definitions.
    Current,
}

/// Writes a shape and every shape that it refers to as one schema of draft 2020-12.
pub(super) fn with_definitions(book: &RuleBook, name: &str) -> Option<Value> {
    let shape = book.shape(name)?;
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.extend(write(&shape.node, Draft::Current));
    // Readers of tool lists expect a `type` at the top.
    schema.entry("type").or_insert_with(|| "object".into());
    let mut wanted = BTreeSet::new();
    references(book, &shape.node, &mut wanted);
    let definition = |name: &&'static str| {
        let shape = book.referred(name);
        let mut definition = write(&shape.node, Draft::Current);
        put(&mut definition, "description", shape.says);
        (local(name), Value::Object(definition))
    };
    let definitions: Map = wanted.iter().map(definition).collect();
    put(&mut schema, "$defs", Some(definitions).filter(|all| !all.is_empty()));
    Some(Value::Object(schema))
}

/// Writes one shape as it is published: draft 7, with references to the others.
pub(super) fn published(book: &RuleBook, name: &str) -> Option<Value> {
    Some(Value::Object(write(&book.shape(name)?.node, Draft::Seven)))
}

/// Collects the names of all shapes that a node refers to, directly or not.
fn references(book: &RuleBook, node: &Node, found: &mut BTreeSet<&'static str>) {
    if let Some(name) = node.refers
        && found.insert(name)
    {
        // Each name once, because shapes may refer to each other.
        references(book, &book.referred(name).node, found);
    }
    children(node, &mut |child| references(book, child, found));
}

/// Visits the direct children of a node.
fn children<'n>(node: &'n Node, visit: &mut dyn FnMut(&'n Node)) {
    let list = node.list.iter().flat_map(|list| list.items.iter().chain(&list.contains));
    list.for_each(&mut *visit);
    if let Some(object) = &node.object {
        object.members.iter().for_each(|member| visit(&member.node));
        object.patterns.iter().for_each(|(_, node)| visit(node));
        object.rest.iter().chain(&object.names).for_each(&mut *visit);
    }
    node.all.iter().for_each(&mut *visit);
    let unions = node.any.iter().chain(&node.one);
    unions.flat_map(|union| &union.branches).for_each(&mut *visit);
    node.not.iter().for_each(|inner| visit(inner));
    if let Some(condition) = &node.condition {
        visit(&condition.when);
        condition.then.iter().chain(&condition.otherwise).for_each(&mut *visit);
    }
}

fn write(node: &Node, draft: Draft) -> Map {
    let mut out = Map::new();
    let nested = |node: &Node| value(node, draft);
    let all = |nodes: &[Node]| nodes.iter().map(nested).collect::<Vec<_>>();
    if let Some(name) = node.refers {
        // A reference stands alone, because draft 7 ignores its siblings.
        out.insert("$ref".into(), reference(name, draft).into());
        return out;
    }
    let types: Option<Value> = match node.types.0.as_slice() {
        [] => None,
        [only] => Some(only.name().into()),
        several => Some(several.iter().map(|kind| kind.name()).collect()),
    };
    put(&mut out, "type", types);
    put(&mut out, "const", node.constant.clone());
    put(&mut out, "enum", Some(node.words.clone()).filter(|words| !words.is_empty()));
    for bound in &node.bounds {
        let number: Value = tradepost_document::json::from_str(bound.text)
            .expect("the bounds were read as numbers");
        out.insert(bound.kind.name().into(), number);
    }
    node.text.iter().for_each(|rules| text(rules, &mut out));
    node.list.iter().for_each(|rules| list(rules, draft, &mut out));
    node.object.iter().for_each(|rules| object(rules, draft, &mut out));
    put(&mut out, "allOf", (!node.all.is_empty()).then(|| all(&node.all)));
    for (keyword, union) in [("anyOf", &node.any), ("oneOf", &node.one)] {
        put(&mut out, keyword, union.as_ref().map(|union| all(&union.branches)));
    }
    put(&mut out, "not", node.not.as_deref().map(nested));
    if let Some(condition) = &node.condition {
        put(&mut out, "if", Some(nested(&condition.when)));
        put(&mut out, "then", condition.then.as_ref().map(nested));
        put(&mut out, "else", condition.otherwise.as_ref().map(nested));
    }
    out
}

/// Writes a keyword if it has a value.
pub(super) fn put(out: &mut Map, keyword: &str, value: Option<impl Into<Value>>) {
    out.extend(value.map(|value| (keyword.to_owned(), value.into())));
}

fn value(node: &Node, draft: Draft) -> Value {
    if node.never { Value::Bool(false) } else { Value::Object(write(node, draft)) }
}

/// Writes a member with its sentence. The published schemas (draft 7) have other descriptions, so
/// none is written there.
fn described(member: &MemberRules, draft: Draft) -> Value {
    let mut schema = value(&member.node, draft);
    if draft == Draft::Current
        && let Some(says) = member.says
        && let Some(members) = schema.as_object_mut()
    {
        members.insert("description".into(), says.into());
    }
    schema
}

fn reference(name: &str, draft: Draft) -> String {
    match (draft, name.split_once('#')) {
        (Draft::Current, _) => format!("#/$defs/{}", local(name)),
        (Draft::Seven, Some((_, part))) => format!("#/$defs/{part}"),
        (Draft::Seven, None) => format!("/schemas/{}/{name}.json", super::VERSION),
    }
}

/// Rewrites the name of a shape so that a reference needs no escapes.
fn local(name: &str) -> String {
    name.replace(['/', '#'], ".")
}

fn count(count: CountRange, least: &str, most: &str, out: &mut Map) {
    put(out, least, count.min);
    put(out, most, count.max);
}

fn text(rules: &TextRules, out: &mut Map) {
    count(rules.length, "minLength", "maxLength", out);
    put(out, "pattern", rules.pattern.as_ref().map(|pattern| pattern.source));
    put(out, "format", rules.format.map(Vocabulary::name));
}

fn list(rules: &ListRules, draft: Draft, out: &mut Map) {
    count(rules.count, "minItems", "maxItems", out);
    put(out, "uniqueItems", rules.unique.then_some(true));
    put(out, "items", rules.items.as_ref().map(|node| value(node, draft)));
    put(out, "contains", rules.contains.as_ref().map(|node| value(node, draft)));
}

fn object(rules: &ObjectRules, draft: Draft, out: &mut Map) {
    let there = |members: Map| Some(members).filter(|members| !members.is_empty());
    let members = rules.members.iter();
    let properties = members.map(|member| (member.name.to_owned(), described(member, draft)));
    put(out, "properties", there(properties.collect()));
    let required: Vec<_> = rules.required().collect();
    put(out, "required", Some(required).filter(|names| !names.is_empty()));
    let patterns = rules.patterns.iter();
    let patterns = patterns.map(|(pattern, node)| (pattern.source.to_owned(), value(node, draft)));
    put(out, "patternProperties", there(patterns.collect()));
    let rest = rules.rest.as_ref().map(|rest| value(rest, draft));
    put(out, "additionalProperties", if rules.closed { Some(Value::Bool(false)) } else { rest });
    put(out, "propertyNames", rules.names.as_ref().map(|names| value(names, draft)));
    count(rules.count, "minProperties", "maxProperties", out);
    // Later drafts split `dependencies` in two; the rules use only the part with names.
    let keyword = match draft {
        Draft::Seven => "dependencies",
        Draft::Current => "dependentRequired",
    };
    let pairs = rules.together.iter();
    let pairs = pairs.map(|(name, others)| ((*name).to_owned(), json!(others)));
    put(out, keyword, there(pairs.collect()));
}
