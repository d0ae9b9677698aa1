//! The compiled rules, as [`notation`](super::notation) builds them from the files. Names and texts
//! are slices of the files, so nothing is copied.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::super::once;
use super::pattern::Pattern;
use tradepost_document::decimal::Decimal;
use tradepost_document::json::Value;

/// All shapes.
#[derive(Debug, Default)]
pub(super) struct RuleBook {
    /// The shapes in the order of the files.
    pub(super) shapes: Vec<Shape>,
    /// The index of each shape by name.
    pub(super) places: HashMap<&'static str, usize>,
}

/// A named shape: `core/budget`, or `core/budget#part` for a definition within it.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// The description for members that refer to this shape without one of their own.
    pub(super) says: Option<&'static str>,
    pub(super) node: Node,
}

/// The rules for one value. The fields are the keywords of JSON Schema, grouped by the type that
/// they constrain; a value of another type satisfies them.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// True when no value satisfies the node (`false`).
    pub(super) never: bool,
    /// The name of the shape that the node refers to; then all other fields are empty.
    pub(super) refers: Option<&'static str>,
    pub(super) types: Types,
    pub(super) constant: Option<Value>,
    pub(super) words: Vec<Value>,
    pub(super) bounds: Vec<Bound>,
    pub(super) text: Option<Box<TextRules>>,
    pub(super) list: Option<Box<ListRules>>,
    pub(super) object: Option<Box<ObjectRules>>,
    pub(super) all: Vec<Self>,
    pub(super) any: Option<Box<Union>>,
    pub(super) one: Option<Box<Union>>,
    pub(super) not: Option<Box<Self>>,
    pub(super) condition: Option<Box<ConditionRules>>,
}

/// The permitted JSON types; empty means all.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Types(pub(super) Vec<Type>);

tradepost_document::catalog::words! {
    /// A JSON type, by its name in schemas.
    pub enum Type {
        /// `null`
        Null = "null",
        /// `true` or `false`
        Boolean = "boolean",
        /// A number without a fraction, in any notation.
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
    /// Returns true if `value` has this type.
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
    /// The bound as written.
    pub(super) text: &'static str,
    /// The exact value.
    pub(super) value: Decimal,
    /// The value as an integer, for quick comparisons.
    pub(super) near: i64,
}

tradepost_document::catalog::catalog! {
    /// The side of a bound on which a number must be.
    pub enum Limit {
        /// The sign in the notation.
        sign: &'static str,
        /// The words of messages.
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

/// A least and a greatest count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountRange {
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
}

/// The rules for texts.
#[derive(Debug, Default)]
pub(super) struct TextRules {
    pub(super) length: CountRange,
    pub(super) pattern: Option<Pattern>,
    pub(super) format: Option<Format>,
}

tradepost_document::catalog::catalog! {
    /// A format of texts.
    pub enum Format {
        /// The words of messages, to follow "must be".
        words: &'static str,
    }
    /// A date and time (RFC 3339).
    DateTime = "date-time" { words: "a date and time of RFC 3339 with an offset, such as 2026-05-01T12:00:00Z" }
    /// A date (RFC 3339).
    Date = "date" { words: "a date, such as 2026-05-01" }
    /// An absolute URI (RFC 3986).
    Uri = "uri" { words: "an absolute URI, such as https://example.com/" }
    /// A URI template (RFC 6570).
    UriTemplate = "uri-template" { words: "a URI template of RFC 6570" }
    /// An e-mail address.
    Email = "email" { words: "an e-mail address" }
}

/// The rules for arrays.
#[derive(Debug, Default)]
pub(super) struct ListRules {
    pub(super) count: CountRange,
    pub(super) unique: bool,
    pub(super) items: Option<Node>,
    pub(super) contains: Option<Node>,
}

/// The rules for objects.
#[derive(Debug, Default)]
pub(super) struct ObjectRules {
    pub(super) members: Vec<MemberRules>,
    /// Required members that are declared elsewhere.
    pub(super) needs: Vec<&'static str>,
    /// The rules for members whose names match a pattern.
    pub(super) patterns: Vec<(Pattern, Node)>,
    /// Example members for models: the index of a pattern, a name that matches it, and its
    /// description.
    pub(super) examples: Vec<(usize, &'static str, &'static str)>,
    /// The rules for all other members.
    pub(super) rest: Option<Node>,
    /// True when other members are forbidden.
    pub(super) closed: bool,
    pub(super) names: Option<Node>,
    pub(super) count: CountRange,
    /// Members with the members that must accompany them.
    pub(super) together: Vec<(&'static str, Vec<&'static str>)>,
}

/// A declared member.
#[derive(Debug)]
pub(super) struct MemberRules {
    pub(super) name: &'static str,
    /// The description.
    pub(super) says: Option<&'static str>,
    pub(super) required: bool,
    pub(super) node: Node,
}

impl ObjectRules {
    /// Returns the required members in the order of declaration.
    pub(super) fn required(&self) -> impl Iterator<Item = &'static str> {
        let declared = self.members.iter().filter(|member| member.required);
        declared.map(|member| member.name).chain(self.needs.iter().copied())
    }

    /// Returns the declaration of a member.
    pub(super) fn member(&self, name: &str) -> Option<&MemberRules> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// Alternatives (`anyOf`, `oneOf`).
#[derive(Debug, Default)]
pub(super) struct Union {
    pub(super) branches: Vec<Node>,
    /// The members whose constants identify the branch; computed on first use.
    pub(super) tags: OnceLock<Vec<&'static str>>,
}

/// A condition: `then` applies if `when` is satisfied, `otherwise` if not.
#[derive(Debug, Default)]
pub(super) struct ConditionRules {
    pub(super) when: Node,
    pub(super) then: Option<Node>,
    pub(super) otherwise: Option<Node>,
}

impl RuleBook {
    /// Returns the shape with this name.
    pub(super) fn shape(&self, name: &str) -> Option<&Shape> {
        self.shapes.get(*self.places.get(name)?)
    }

    /// Returns the shape that a node refers to.
    pub(super) fn referred(&self, name: &str) -> &Shape {
        self.shape(name).expect("every reference was resolved when the rules were read")
    }

    /// Returns the description of a member: its own, or that of the shape that it refers to.
    pub(super) fn sentence(&self, member: &MemberRules) -> Option<&'static str> {
        let mut node = &member.node;
        let mut says = member.says;
        while says.is_none()
            && let Some(name) = node.refers
        {
            let shape = self.referred(name);
            says = shape.says;
            node = &shape.node;
        }
        says
    }

    /// Follows all references from a node.
    pub(super) fn resolved<'b>(&'b self, mut node: &'b Node) -> &'b Node {
        // This ends because no cycle consists of references alone; a test checks that.
        while let Some(name) = node.refers {
            node = &self.referred(name).node;
        }
        node
    }

    /// Returns the declaration of a member that always applies: in the node itself or in a part of
    /// its `allOf`.
    pub(super) fn declared<'b>(&'b self, node: &'b Node, name: &str) -> Option<&'b MemberRules> {
        let node = self.resolved(node);
        let own = node.object.as_ref().and_then(|object| object.member(name));
        own.or_else(|| node.all.iter().find_map(|part| self.declared(part, name)))
    }

    /// Returns the members that a node requires, including those of its `allOf`.
    pub(super) fn required(&self, node: &Node) -> Vec<&'static str> {
        let node = self.resolved(node);
        let own = node.object.iter().flat_map(|object| object.required());
        let parts = node.all.iter().flat_map(|part| self.required(part));
        own.chain(parts).collect()
    }

    /// Returns the constant that a node demands of a member.
    pub(super) fn constant<'b>(&'b self, node: &'b Node, name: &str) -> Option<&'b Value> {
        self.resolved(&self.declared(node, name)?.node).constant.as_ref()
    }

    /// Returns the members whose constants identify the branch of a union, in the order of
    /// declaration; the first is one that every branch has. Empty if there is none.
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
                // A constant that all branches share identifies none of them.
                found.first().is_some_and(|first| found.iter().any(|other| other != first))
            });
            let in_all = |name: &&str| constants(name).len() == union.branches.len();
            if names.iter().any(in_all) { names } else { Vec::new() }
        })
    }
}
