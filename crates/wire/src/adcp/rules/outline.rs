//! The rules as models are told them. Providers of models take a small part of JSON Schema: no
//! unions at the top, no constants, no lists of types, no references; and a model reads a few
//! kilobytes and not sixty. So a request is outlined: of each object the members that have a
//! sentence in the rules, with unions of objects made one object that has the members of all.

use crate::json::{Map, Value};

use super::super::once;
use super::schema::put;
use super::shape::{Book, Format, Node, Type};
use crate::catalog::Vocabulary;

/// How many words a member may list; who needs the others finds them in the whole schema.
const MAX_WORDS: usize = 12;

/// The outline of a shape.
pub(super) fn of(book: &Book, name: &str) -> Option<Value> {
    let outlined = Outline::of(book, &book.shape(name)?.node);
    Some(Value::Object(outlined.written(book, None)))
}

/// What a model is told of a value, in the order of the rules.
#[derive(Debug, Default)]
struct Outline<'b> {
    kind: Option<Type>,
    /// The words that are permitted, where there are no others.
    words: Option<Vec<&'b str>>,
    /// Whether it is a moment.
    moment: bool,
    items: Vec<&'b Node>,
    members: Vec<Described<'b>>,
    required: Vec<&'static str>,
}

/// A member, of one node or of several.
#[derive(Debug)]
struct Described<'b> {
    name: &'static str,
    says: &'static str,
    nodes: Vec<&'b Node>,
}

impl<'b> Outline<'b> {
    fn of(book: &'b Book, node: &'b Node) -> Self {
        let node = book.resolved(node);
        let format = node.text.as_ref().and_then(|text| text.format);
        let own = Self {
            kind: kind(node),
            words: texts(node),
            moment: format == Some(Format::DateTime),
            items: node.list.iter().filter_map(|list| list.items.as_ref()).collect(),
            members: described(book, node),
            required: node.object.iter().flat_map(|object| object.required()).collect(),
        };
        let parts = node.all.iter().map(|part| Self::of(book, part));
        let unions = node.any.iter().chain(&node.one);
        let unions = unions.filter_map(|union| Self::of_any(book, &union.branches));
        parts.chain(unions).fold(own, Self::and)
    }

    /// One of several: of a text or a list of texts the list, of an object or a list of objects the
    /// object, of several objects one that has the members of all.
    fn of_any(book: &'b Book, branches: &'b [Node]) -> Option<Self> {
        let mut outlines: Vec<_> = branches.iter().map(|branch| Self::of(book, branch)).collect();
        let at = |wanted| outlines.iter().position(|outline| outline.kind() == Some(wanted));
        match (at(Type::Array), at(Type::Object)) {
            (Some(_), Some(one)) | (Some(one), None) => Some(outlines.swap_remove(one)),
            (None, _) => outlines.into_iter().reduce(Self::or),
        }
    }

    fn kind(&self) -> Option<Type> {
        if self.members.is_empty() { self.kind } else { Some(Type::Object) }
    }

    /// Both.
    fn and(mut self, other: Self) -> Self {
        self.kind = self.kind.or(other.kind);
        self.words = self.words.or(other.words);
        self.moment |= other.moment;
        self.items.extend(other.items);
        self.members.join(other.members);
        self.required.extend(other.required);
        self
    }

    /// Either.
    fn or(mut self, other: Self) -> Self {
        self.kind = self.kind.or(other.kind);
        self.words = match (self.words, other.words) {
            (Some(mut words), Some(others)) => {
                words.extend(others);
                Some(words)
            }
            // A branch without words permits any, so that a list of the others' would be a lie.
            (Some(_) | None, Some(_) | None) => None,
        };
        self.moment &= other.moment;
        self.items.extend(other.items);
        self.members.join(other.members);
        self.required.retain(|name| other.required.contains(name));
        self
    }

    /// As JSON Schema, with what it is for.
    fn written(self, book: &'b Book, says: Option<&str>) -> Map {
        let mut out = Map::new();
        let kind = self.kind();
        out.insert("type".into(), kind.unwrap_or(Type::String).name().into());
        put(&mut out, "description", says);
        let words = once(self.words.unwrap_or_default());
        put(&mut out, "enum", Some(words).filter(|words| (1..=MAX_WORDS).contains(&words.len())));
        put(&mut out, "format", self.moment.then(|| Format::DateTime.name()));
        let items = kind.filter(|kind| *kind == Type::Array);
        put(&mut out, "items", items.map(|_| one(book, &self.items, None)));
        if kind != Some(Type::Object) {
            return out;
        }
        let listed: Vec<_> = self.members.iter().map(|member| member.name).collect();
        let written = |member: &Described<'_>| {
            (member.name.to_owned(), one(book, &member.nodes, Some(member.says)))
        };
        let properties: Map = self.members.iter().map(written).collect();
        out.insert("properties".into(), properties.into());
        let mut required = once(self.required);
        // Members without a sentence are not listed, and what is not listed cannot be required.
        required.retain(|name| listed.contains(name));
        put(&mut out, "required", Some(required).filter(|names| !names.is_empty()));
        out
    }
}

/// Gathering members by their names.
trait Join {
    fn join(&mut self, others: Self);
}

impl Join for Vec<Described<'_>> {
    fn join(&mut self, others: Self) {
        for other in others {
            match self.iter_mut().find(|member| member.name == other.name) {
                Some(known) => known.nodes.extend(other.nodes),
                None => self.push(other),
            }
        }
    }
}

/// The members of a node that have a sentence.
fn described<'b>(book: &'b Book, node: &'b Node) -> Vec<Described<'b>> {
    let Some(object) = &node.object else { return Vec::new() };
    let members = object.members.iter().filter(|member| !member.node.never);
    let members = members.filter_map(|member| {
        let says = book.sentence(member)?;
        Some(Described { name: member.name, says, nodes: vec![&member.node] })
    });
    let examples = object.examples.iter().filter_map(|(place, name, says)| {
        let (_, node) = object.patterns.get(*place)?;
        Some(Described { name, says, nodes: vec![node] })
    });
    members.chain(examples).collect()
}

/// What all of these permit, as one schema.
fn one(book: &Book, nodes: &[&Node], says: Option<&str>) -> Value {
    let outlines = nodes.iter().map(|node| Outline::of(book, node));
    let outline = outlines.reduce(Outline::or).unwrap_or_default();
    Value::Object(outline.written(book, says))
}

/// The one type that a model is told: that of the node, or of the constant that it is.
fn kind(node: &Node) -> Option<Type> {
    let named = node.types.0.iter().find(|kind| **kind != Type::Null).copied();
    let shown = node.constant.iter().chain(&node.words).next();
    let of_value = || Type::ALL.iter().copied().find(|kind| shown.is_some_and(|it| kind.has(it)));
    let of_parts = || {
        let object = node.object.as_ref().map(|_| Type::Object);
        object.or_else(|| node.list.as_ref().map(|_| Type::Array))
    };
    named.or_else(of_value).or_else(of_parts)
}

/// The texts that a node permits, when it permits nothing else.
fn texts(node: &Node) -> Option<Vec<&str>> {
    let texts: Vec<_> = node.constant.iter().chain(&node.words).map(Value::as_str).collect();
    if texts.is_empty() { None } else { texts.into_iter().collect() }
}
