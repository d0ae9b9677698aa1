//! The compiled rules: what [`notation`](super::notation) makes of the files. Names and texts are
//! slices of the files, so that nothing is copied.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::super::once;
use super::pattern::Pattern;
use crate::decimal::Decimal;
use crate::json::Value;

/// All shapes.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// In the order of the files.
    pub(super) shapes: Vec<Shape>,
    /// Where each shape is, by name.
    pub(super) places: HashMap<&'static str, usize>,
}

/// A named shape: `core/budget`, or `core/budget#part` for a definition within it.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// What it is for, where those who refer to it do not say it.
    pub(super) says: Option<&'static str>,
    pub(super) node: Node,
}

/// What a value has to satisfy. The fields are the keywords of JSON Schema, by the type that they
/// are about; a value of another type satisfies them.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Nothing satisfies it.
    pub(super) never: bool,
    /// The name of the shape that it stands for; then it says nothing else.
    pub(super) refers: Option<&'static str>,
    pub(super) types: Types,
    pub(super) constant: Option<Value>,
    pub(super) words: Vec<Value>,
    pub(super) bounds: Vec<Bound>,
    pub(super) text: Option<Box<Text>>,
    pub(super) list: Option<Box<List>>,
    pub(super) object: Option<Box<Object>>,
    pub(super) all: Vec<Self>,
    pub(super) any: Option<Box<Union>>,
    pub(super) one: Option<Box<Union>>,
    pub(super) not: Option<Box<Self>>,
    pub(super) condition: Option<Box<Condition>>,
}

/// JSON types; none named means all.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Types(pub(super) Vec<Type>);

crate::catalog::words! {
    /// A JSON type, as schemas name them.
    pub enum Type {
        /// `null`
        Null = "null",
        /// `true` or `false`
        Boolean = "boolean",
        /// A number without a fraction, in whatever notation.
        Integer = "integer",
        /// A number.
        Number = "number",
        /// A text.
        String = "string",
        /// An array.
        Array = "array",
        /// An object.
        Object = "object",
    }
}

impl Type {
    /// Whether a value has this type.
    pub(super) fn has(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => {
                value.as_number().is_some_and(|number| super::number::is_whole(&number.text()))
            }
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// A bound of a number.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) kind: Limit,
    /// As written.
    pub(super) text: &'static str,
    /// Exactly.
    pub(super) value: Decimal,
    /// The same, for quick comparisons.
    pub(super) near: i64,
}

crate::catalog::catalog! {
    /// On which side of a bound a number has to be.
    pub enum Limit {
        /// The sign in the notation.
        sign: &'static str,
        /// In words.
        words: &'static str,
    }
    /// At or above.
    Minimum = "minimum" { sign: ">=", words: "at least" }
    /// Above.
    ExclusiveMinimum = "exclusiveMinimum" { sign: ">", words: "greater than" }
    /// At or below.
    Maximum = "maximum" { sign: "<=", words: "at most" }
    /// Below.
    ExclusiveMaximum = "exclusiveMaximum" { sign: "<", words: "less than" }
}

/// At least and at most so many.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
}

/// What is asked of texts.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) length: Count,
    pub(super) pattern: Option<Pattern>,
    pub(super) format: Option<Format>,
}

crate::catalog::catalog! {
    /// A format of texts.
    pub enum Format {
        /// In words, to follow "must be".
        words: &'static str,
    }
    /// A moment of RFC 3339.
    DateTime = "date-time" { words: "a date and time of RFC 3339 with an offset, such as 2026-05-01T12:00:00Z" }
    /// A day of RFC 3339.
    Date = "date" { words: "a date, such as 2026-05-01" }
    /// An absolute address of RFC 3986.
    Uri = "uri" { words: "an absolute URI, such as https://example.com/" }
    /// An address with variables, of RFC 6570.
    UriTemplate = "uri-template" { words: "a URI template of RFC 6570" }
    /// An e-mail address.
    Email = "email" { words: "an e-mail address" }
}

/// What is asked of arrays.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) count: Count,
    pub(super) unique: bool,
    pub(super) items: Option<Node>,
    pub(super) contains: Option<Node>,
}

/// What is asked of objects.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) members: Vec<Member>,
    /// Required members that are declared elsewhere.
    pub(super) needs: Vec<&'static str>,
    /// Members by the pattern of their names.
    pub(super) patterns: Vec<(Pattern, Node)>,
    /// For models, which want names: of the pattern at this place one that it permits, and what for.
    pub(super) examples: Vec<(usize, &'static str, &'static str)>,
    /// All other members.
    pub(super) rest: Option<Node>,
    /// No other members.
    pub(super) closed: bool,
    pub(super) names: Option<Node>,
    pub(super) count: Count,
    /// A member, and those that have to come with it.
    pub(super) together: Vec<(&'static str, Vec<&'static str>)>,
}

/// A declared member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    /// What it is for.
    pub(super) says: Option<&'static str>,
    pub(super) required: bool,
    pub(super) node: Node,
}

impl Object {
    /// The required members, in the order of the declaration.
    pub(super) fn required(&self) -> impl Iterator<Item = &'static str> {
        let declared = self.members.iter().filter(|member| member.required);
        declared.map(|member| member.name).chain(self.needs.iter().copied())
    }

    /// The declaration of a member.
    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// Alternatives.
#[derive(Debug, Default)]
pub(super) struct Union {
    pub(super) branches: Vec<Node>,
    /// The members by whose constants the branches are told apart; found when first asked for.
    pub(super) tags: OnceLock<Vec<&'static str>>,
}

/// `then` where `when` is satisfied, `otherwise` elsewhere.
#[derive(Debug, Default)]
pub(super) struct Condition {
    pub(super) when: Node,
    pub(super) then: Option<Node>,
    pub(super) otherwise: Option<Node>,
}

impl Book {
    /// The shape with this name.
    pub(super) fn shape(&self, name: &str) -> Option<&Shape> {
        self.shapes.get(*self.places.get(name)?)
    }

    /// The shape that a node stands for.
    pub(super) fn referred(&self, name: &str) -> &Shape {
        self.shape(name).expect("every reference was resolved when the rules were read")
    }

    /// What a member is for: in its own words, or in those of the shape that it stands for.
    pub(super) fn sentence(&self, member: &Member) -> Option<&'static str> {
        let mut node = &member.node;
        let mut says = member.says;
        while let (None, Some(name)) = (says, node.refers) {
            let shape = self.referred(name);
            (says, node) = (shape.says, &shape.node);
        }
        says
    }

    /// What a node is after all references, which are shapes that stand for shapes.
    pub(super) fn resolved<'b>(&'b self, mut node: &'b Node) -> &'b Node {
        // It ends: no circle of shapes is made of references alone, which a test sees to.
        while let Some(name) = node.refers {
            node = &self.referred(name).node;
        }
        node
    }

    /// The declaration of a member that is always in force: that of the node itself, or of a part
    /// that it has to satisfy.
    pub(super) fn declared<'b>(&'b self, node: &'b Node, name: &str) -> Option<&'b Member> {
        let node = self.resolved(node);
        let own = node.object.as_ref().and_then(|object| object.member(name));
        own.or_else(|| node.all.iter().find_map(|part| self.declared(part, name)))
    }

    /// The members that a node requires, those of its parts included.
    pub(super) fn required(&self, node: &Node) -> Vec<&'static str> {
        let node = self.resolved(node);
        let own = node.object.iter().flat_map(|object| object.required());
        let parts = node.all.iter().flat_map(|part| self.required(part));
        own.chain(parts).collect()
    }

    /// The constant that a node asks of a member.
    pub(super) fn constant<'b>(&'b self, node: &'b Node, name: &str) -> Option<&'b Value> {
        self.resolved(&self.declared(node, name)?.node).constant.as_ref()
    }

    /// The members by whose constants the branches of a union are told apart, in the order of
    /// their declaration; the first is one that every branch has. None, where there is no such.
    pub(super) fn tags<'b>(&'b self, union: &'b Union) -> &'b [&'static str] {
        union.tags.get_or_init(|| {
            let branches = union.branches.iter();
            let objects = branches.filter_map(|branch| self.resolved(branch).object.as_ref());
            let members = objects.flat_map(|object| &object.members);
            let mut names = once(members.map(|member| member.name));
            let constants = |name: &str| {
                let branches = union.branches.iter();
                branches.filter_map(|branch| self.constant(branch, name)).collect::<Vec<_>>()
            };
            names.retain(|name| {
                let found = constants(name);
                // A constant that all branches share tells none of them from another.
                found.first().is_some_and(|first| found.iter().any(|other| other != first))
            });
            let in_all = |name: &&str| constants(name).len() == union.branches.len();
            if names.iter().any(in_all) { names } else { Vec::new() }
        })
    }
}
