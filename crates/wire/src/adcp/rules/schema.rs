//! The rules as JSON Schema.

use std::collections::BTreeSet;

use crate::json::{Map, Value, json};

use super::shape::{Book, Count, List, Member, Node, Object, Text};
use crate::catalog::Vocabulary;

/// Which draft is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Draft {
    /// As published.
    Seven,
    /// 2020-12, with the other shapes as definitions.
    Current,
}

/// A shape and whatever it refers to, as one schema of JSON Schema 2020-12.
pub(super) fn whole(book: &Book, name: &str) -> Option<Value> {
    let shape = book.shape(name)?;
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.extend(write(&shape.node, Draft::Current));
    // What lists tools wants to read this without looking into the parts.
    schema.entry("type").or_insert_with(|| "object".into());
    let mut wanted = BTreeSet::new();
    references(book, &shape.node, &mut wanted);
    let definition = |name: &&'static str| {
        let shape = book.referred(name);
        let mut definition = write(&shape.node, Draft::Current);
        if let Some(says) = shape.says {
            definition.insert("description".into(), says.into());
        }
        (local(name), Value::Object(definition))
    };
    let definitions: Map = wanted.iter().map(definition).collect();
    if !definitions.is_empty() {
        schema.insert("$defs".into(), definitions.into());
    }
    Some(Value::Object(schema))
}

/// One shape as it is published: draft 7, with references to the others.
pub(super) fn published(book: &Book, name: &str) -> Option<Value> {
    Some(Value::Object(write(&book.shape(name)?.node, Draft::Seven)))
}

/// Gathers the names of all shapes that a node refers to.
fn references(book: &Book, node: &Node, found: &mut BTreeSet<&'static str>) {
    if let Some(name) = node.refers
        && found.insert(name)
    {
        // Once for each name: shapes that refer to each other would never end.
        references(book, &book.referred(name).node, found);
    }
    children(node, &mut |child| references(book, child, found));
}

/// Visits the nodes directly within a node.
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
        // Alone, because draft 7 ignores whatever stands beside a reference.
        out.insert("$ref".into(), reference(name, draft).into());
        return out;
    }
    match node.types.0.as_slice() {
        [] => {}
        [only] => drop(out.insert("type".into(), only.name().into())),
        several => {
            let names: Vec<_> = several.iter().map(|kind| kind.name()).collect();
            out.insert("type".into(), names.into());
        }
    }
    if let Some(constant) = &node.constant {
        out.insert("const".into(), constant.clone());
    }
    if !node.words.is_empty() {
        out.insert("enum".into(), node.words.clone().into());
    }
    for bound in &node.bounds {
        let number: Value =
            crate::json::from_str(bound.text).expect("the bounds were read as numbers");
        out.insert(bound.kind.name().into(), number);
    }
    node.text.iter().for_each(|rules| text(rules, &mut out));
    node.list.iter().for_each(|rules| list(rules, draft, &mut out));
    node.object.iter().for_each(|rules| object(rules, draft, &mut out));
    if !node.all.is_empty() {
        out.insert("allOf".into(), all(&node.all).into());
    }
    for (keyword, union) in [("anyOf", &node.any), ("oneOf", &node.one)] {
        if let Some(union) = union {
            out.insert(keyword.into(), all(&union.branches).into());
        }
    }
    if let Some(inner) = &node.not {
        out.insert("not".into(), nested(inner));
    }
    if let Some(condition) = &node.condition {
        out.insert("if".into(), nested(&condition.when));
        for (keyword, branch) in [("then", &condition.then), ("else", &condition.otherwise)] {
            if let Some(branch) = branch {
                out.insert(keyword.into(), nested(branch));
            }
        }
    }
    out
}

fn value(node: &Node, draft: Draft) -> Value {
    if node.never { Value::Bool(false) } else { Value::Object(write(node, draft)) }
}

/// A member; what is published says it in words that are not ours.
fn described(member: &Member, draft: Draft) -> Value {
    let mut schema = value(&member.node, draft);
    if let (Draft::Current, Some(says), Some(members)) =
        (draft, member.says, schema.as_object_mut())
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

/// The name of a shape as one that needs no escape in a reference.
fn local(name: &str) -> String {
    name.replace(['/', '#'], ".")
}

fn count(count: Count, least: &str, most: &str, out: &mut Map) {
    for (keyword, bound) in [(least, count.min), (most, count.max)] {
        if let Some(bound) = bound {
            out.insert(keyword.into(), bound.into());
        }
    }
}

fn text(rules: &Text, out: &mut Map) {
    count(rules.length, "minLength", "maxLength", out);
    if let Some(pattern) = &rules.pattern {
        out.insert("pattern".into(), pattern.source.into());
    }
    if let Some(format) = rules.format {
        out.insert("format".into(), format.name().into());
    }
}

fn list(rules: &List, draft: Draft, out: &mut Map) {
    count(rules.count, "minItems", "maxItems", out);
    if rules.unique {
        out.insert("uniqueItems".into(), true.into());
    }
    for (keyword, node) in [("items", &rules.items), ("contains", &rules.contains)] {
        if let Some(node) = node {
            out.insert(keyword.into(), value(node, draft));
        }
    }
}

fn object(rules: &Object, draft: Draft, out: &mut Map) {
    let members = rules.members.iter();
    let properties: Map =
        members.map(|member| (member.name.to_owned(), described(member, draft))).collect();
    if !properties.is_empty() {
        out.insert("properties".into(), properties.into());
    }
    let required: Vec<_> = rules.required().collect();
    if !required.is_empty() {
        out.insert("required".into(), required.into());
    }
    let patterns = rules.patterns.iter();
    let patterns: Map =
        patterns.map(|(pattern, node)| (pattern.source.to_owned(), value(node, draft))).collect();
    if !patterns.is_empty() {
        out.insert("patternProperties".into(), patterns.into());
    }
    if rules.closed {
        out.insert("additionalProperties".into(), false.into());
    } else if let Some(rest) = &rules.rest {
        out.insert("additionalProperties".into(), value(rest, draft));
    }
    if let Some(names) = &rules.names {
        out.insert("propertyNames".into(), value(names, draft));
    }
    count(rules.count, "minProperties", "maxProperties", out);
    if !rules.together.is_empty() {
        // Later drafts have two keywords for what was one, and this is the one of names.
        let keyword = match draft {
            Draft::Seven => "dependencies",
            Draft::Current => "dependentRequired",
        };
        let pairs = rules.together.iter();
        let pairs: Map = pairs.map(|(name, others)| ((*name).to_owned(), json!(others))).collect();
        out.insert(keyword.into(), pairs.into());
    }
}
