//! Writes a request's rules as the short JSON Schema that is shown to models. Providers of models
//! accept a small part of JSON Schema (no union at the top, no constants, no lists of types, no
//! references), and a schema of a few kilobytes is used better than one of sixty. The outline
//! lists, of each object, the members that have a sentence in the rules; a union of objects becomes
//! one object with the members of all branches.

use tradepost_document::json::{Map, Value};

use super::super::once;
use super::schema::put;
use super::shape::{Format, Node, RuleBook, Type};
use tradepost_document::catalog::Vocabulary;

/// The largest `enum` that an outline lists; a longer one is left out and stays in the whole
/// schema.
const MAX_WORDS: usize = 12;

/// Returns the outline of the shape `name`, or `None` if there is no such shape.
pub(super) fn of_shape(book: &RuleBook, name: &str) -> Option<Value> {
    let outlined = Outline::from_node(book, &book.shape(name)?.node);
    Some(Value::Object(outlined.written(book, None)))
}

/// The collected outline of one value, in the order of the rules.
#[derive(Debug, Default)]
struct Outline<'b> {
    kind: Option<Type>,
    /// The permitted texts, if only these are permitted.
    words: Option<Vec<&'b str>>,
    /// True when the text is a `date-time`.
    moment: bool,
    items: Vec<&'b Node>,
    members: Vec<Described<'b>>,
    required: Vec<&'static str>,
}

/// A described member, with its nodes from one branch or several.
#[derive(Debug)]
struct Described<'b> {
    name: &'static str,
    says: &'static str,
    nodes: Vec<&'b Node>,
}

impl<'b> Outline<'b> {
    fn from_node(book: &'b RuleBook, node: &'b Node) -> Self {
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
        let parts = node.all.iter().map(|part| Self::from_node(book, part));
        let unions = node.any.iter().chain(&node.one);
        let unions = unions.filter_map(|union| Self::from_branches(book, &union.branches));
        parts.chain(unions).fold(own, Self::and)
    }

    /// Outlines a union as one value: of a text or a list of texts the list, of an object or a list
    /// of objects the object, and of several objects one object with the members of all.
    fn from_branches(book: &'b RuleBook, branches: &'b [Node]) -> Option<Self> {
        let mut outlines: Vec<_> =
            branches.iter().map(|branch| Self::from_node(book, branch)).collect();
        let at = |wanted| outlines.iter().position(|outline| outline.kind() == Some(wanted));
        match (at(Type::Array), at(Type::Object)) {
            (Some(_), Some(one)) | (Some(one), None) => Some(outlines.swap_remove(one)),
            (None, _) => outlines.into_iter().reduce(Self::or),
        }
    }

    fn kind(&self) -> Option<Type> {
        if self.members.is_empty() { self.kind } else { Some(Type::Object) }
    }

    /// Combines two outlines that both apply (`allOf`).
    fn and(mut self, other: Self) -> Self {
        self.kind = self.kind.or(other.kind);
        self.words = self.words.or(other.words);
        self.moment |= other.moment;
        self.items.extend(other.items);
        self.members.join(other.members);
        self.required.extend(other.required);
        self
    }

    /// Combines two outlines of which either applies (`anyOf`, `oneOf`).
    fn or(mut self, other: Self) -> Self {
        self.kind = self.kind.or(other.kind);
        self.words = match (self.words, other.words) {
            (Some(mut words), Some(others)) => {
                words.extend(others);
                Some(words)
            }
            // A branch without an `enum` permits any text, so the `enum` of the other is dropped.
            (Some(_) | None, Some(_) | None) => None,
        };
        self.moment &= other.moment;
        self.items.extend(other.items);
        self.members.join(other.members);
        self.required.retain(|name| other.required.contains(name));
        self
    }

    /// Writes the outline as JSON Schema, with `says` as its description.
    fn written(self, book: &'b RuleBook, says: Option<&str>) -> Map {
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
        // Members without a sentence are not listed, and an unlisted member must not be required.
        required.retain(|name| listed.contains(name));
        put(&mut out, "required", Some(required).filter(|names| !names.is_empty()));
        out
    }
}

/// Merges members by name.
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

/// Returns the members of a node that have a sentence.
fn described<'b>(book: &'b RuleBook, node: &'b Node) -> Vec<Described<'b>> {
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

/// Merges the outlines of `nodes` into one schema.
fn one(book: &RuleBook, nodes: &[&Node], says: Option<&str>) -> Value {
    let outlines = nodes.iter().map(|node| Outline::from_node(book, node));
    let outline = outlines.reduce(Outline::or).unwrap_or_default();
    Value::Object(outline.written(book, says))
}

/// Returns the single type shown to a model: the node's first type other than null, or the type of
/// its constant.
fn kind(node: &Node) -> Option<Type> {
    let named = node.types.0.iter().find(|kind| **kind != Type::Null).copied();
    let shown = node.constant.iter().chain(&node.words).next();
    let of_value =
        || Type::ALL.iter().copied().find(|kind| shown.is_some_and(|value| kind.has(value)));
    let of_parts = || {
        let object = node.object.as_ref().map(|_| Type::Object);
        object.or_else(|| node.list.as_ref().map(|_| Type::Array))
    };
    named.or_else(of_value).or_else(of_parts)
}

/// Returns the texts that a node permits, or `None` if it permits anything but listed texts.
fn texts(node: &Node) -> Option<Vec<&str>> {
    let texts: Vec<_> = node.constant.iter().chain(&node.words).map(Value::as_str).collect();
    if texts.is_empty() { None } else { texts.into_iter().collect() }
}
