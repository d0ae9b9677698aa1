//! Keeps the place of a problem: in the request ([`RequestPlace`]) and in the published schemas ([`SchemaPath`]).
//! Both are linked lists on the stack and are written out only when there is a problem to report.

use std::fmt::Write as _;

use tradepost_document::json::Value;

use super::shape::{Node, Shape};
use crate::error::Issue;
use tradepost_document::problem::clip;

/// The longest JSON Pointer that is written, in bytes. A deeper problem is reported at an ancestor,
/// so that names chosen by the caller cannot fill the answer.
const MAX_POINTER: usize = 512;

/// A place in the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestPlace<'a> {
    parent: Option<&'a Self>,
    step: RequestStep<'a>,
    /// The rank among siblings, for sorting: absent members first, then problems of the value as a
    /// whole, then members in the order in which they were sent.
    rank: usize,
    /// The number of steps from the root.
    pub(super) depth: usize,
}

#[derive(Debug, Clone, Copy)]
enum RequestStep<'a> {
    Root,
    Member(&'a str),
    Item(usize),
}

const ABSENT: usize = 0;
const WHOLE: usize = 1;
const FIRST: usize = 2;

impl<'a> RequestPlace<'a> {
    /// The root of the request.
    pub(super) const ROOT: Self = Self { parent: None, step: RequestStep::Root, rank: 0, depth: 0 };

    fn below(&'a self, step: RequestStep<'a>, rank: usize) -> Self {
        Self { parent: Some(self), step, rank, depth: self.depth + 1 }
    }

    /// The member `name`, at position `order` of this object.
    pub(super) fn member(&'a self, name: &'a str, order: usize) -> Self {
        self.below(RequestStep::Member(name), FIRST + order)
    }

    /// The member `name`, which this object lacks.
    pub(super) fn absent(&'a self, name: &'a str) -> Self {
        self.below(RequestStep::Member(name), ABSENT)
    }

    /// The item `index` of this array.
    pub(super) fn item(&'a self, index: usize) -> Self {
        self.below(RequestStep::Item(index), FIRST + index)
    }

    fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![WHOLE];
        let mut at = Some(self);
        while let Some(place) = at {
            ranks.push(place.rank);
            at = place.parent;
        }
        ranks.reverse();
        ranks
    }

    /// Appends the JSON Pointer. Returns `false` if it was cut at [`MAX_POINTER`].
    fn write(&self, out: &mut String) -> bool {
        if !self.parent.is_none_or(|parent| parent.write(out)) {
            return false;
        }
        let before = out.len();
        match self.step {
            RequestStep::Root => {}
            RequestStep::Member(name) => {
                out.push('/');
                out.push_str(&clip(name).replace('~', "~0").replace('/', "~1"));
            }
            RequestStep::Item(index) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "/{index}");
            }
        }
        if out.len() > MAX_POINTER {
            out.truncate(before);
            return false;
        }
        true
    }
}

/// A place in the published schemas.
#[derive(Debug, Clone, Copy)]
pub(super) enum SchemaPath<'a> {
    /// Not recorded.
    Nowhere,
    /// The root of a shape, and the place that referred to it.
    Shape(&'a Shape, &'a Self),
    /// A step below another place.
    Step(&'a Self, SchemaStep<'a>),
    /// The branch of a union that was chosen by the value's constants in these members.
    Variant(&'a Self, &'a [&'static str], &'a Value),
}

/// A step into a schema.
#[derive(Debug, Clone, Copy)]
pub(super) enum SchemaStep<'a> {
    /// The items of an array.
    Items,
    /// A declared member.
    Property(&'static str),
    /// The members whose names match a pattern.
    Pattern(&'static str),
    /// The members that no rule names.
    Rest,
    /// One of several nodes of a keyword.
    Branch(&'static str, usize),
    /// All nodes of a keyword.
    Union(&'static str),
    /// The branch of a condition.
    Conditional(&'static str, &'a Node),
    /// The schema `false`, which has no keyword.
    Never,
}

impl<'a> SchemaPath<'a> {
    pub(super) fn step(&'a self, part: SchemaStep<'a>) -> Self {
        Self::Step(self, part)
    }

    pub(super) fn variant(&'a self, tags: &'a [&'static str], value: &'a Value) -> Self {
        Self::Variant(self, tags, value)
    }

    /// Returns the published `$id` of the nearest shape and the place within it, with the members
    /// and constants that chose the branch, if the rejecting rule belongs to a branch of a union.
    fn internals(&self, keyword: &str) -> Option<Internals> {
        let mut steps = Vec::new();
        let mut pairs: Option<Vec<(String, Value)>> = None;
        let mut shape: Option<&Shape> = None;
        let mut path = *self;
        loop {
            match path {
                SchemaPath::Nowhere => break,
                SchemaPath::Shape(found, parent) => {
                    shape = shape.or(Some(found));
                    if pairs.is_some() {
                        break;
                    }
                    path = *parent;
                }
                SchemaPath::Step(parent, part) => {
                    if shape.is_none() {
                        steps.push(part);
                    } else if part.leaves_the_value() {
                        // The shape was entered below the branch, so the shape rejected and not the
                        // union.
                        break;
                    }
                    path = *parent;
                }
                SchemaPath::Variant(parent, tags, value) => {
                    let sent = |name: &&'static str| {
                        let value = value.get(*name)?;
                        let is_scalar = !value.is_object() && !value.is_array();
                        is_scalar.then(|| ((*name).to_owned(), value.clone()))
                    };
                    pairs.get_or_insert_with(|| tags.iter().filter_map(sent).collect());
                    if shape.is_some() {
                        break;
                    }
                    path = *parent;
                }
            }
        }
        let shape = shape?;
        let is_whole = matches!(steps.first(), Some(SchemaStep::Union(_) | SchemaStep::Never));
        let (id, mut place) = shape.published();
        for part in steps.iter().rev() {
            part.write(&mut place);
        }
        if !is_whole {
            place.push('/');
            place.push_str(keyword);
        }
        Some(Internals { id, place, pairs: pairs.unwrap_or_default() })
    }

    /// Returns the reason why a conditional rule applies, to be appended to its sentence; empty for
    /// other rules.
    pub(super) fn because(&self) -> String {
        let mut path = *self;
        loop {
            path = match path {
                SchemaPath::Nowhere | SchemaPath::Shape(..) => return String::new(),
                SchemaPath::Step(_, SchemaStep::Conditional("then", when)) => {
                    return super::say::when(when);
                }
                SchemaPath::Step(parent, _) | SchemaPath::Variant(parent, ..) => *parent,
            };
        }
    }
}

impl SchemaStep<'_> {
    /// Returns true if the step leads to another value.
    fn leaves_the_value(self) -> bool {
        match self {
            Self::Items | Self::Property(_) | Self::Pattern(_) | Self::Rest => true,
            Self::Branch(..) | Self::Union(_) | Self::Conditional(..) | Self::Never => false,
        }
    }

    fn write(self, out: &mut String) {
        let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
        // Writing to a String cannot fail.
        let _ = match self {
            Self::Items => write!(out, "/items"),
            Self::Property(name) => write!(out, "/properties/{}", escaped(name)),
            Self::Pattern(source) => write!(out, "/patternProperties/{}", escaped(source)),
            Self::Rest => write!(out, "/additionalProperties"),
            Self::Branch(keyword, index) => write!(out, "/{keyword}/{index}"),
            Self::Union(keyword) => write!(out, "/{keyword}"),
            Self::Conditional(name, _) => write!(out, "/{name}"),
            Self::Never => Ok(()),
        };
    }
}

impl Shape {
    /// Returns the published `$id` of the document that has this shape, and the place within it.
    pub(super) fn published(&self) -> (String, String) {
        let id = |name: &str| format!("/schemas/{}/{name}.json", super::VERSION);
        match self.name.split_once('#') {
            Some((document, part)) => (id(document), format!("#/$defs/{part}")),
            None => (id(self.name), "#".to_owned()),
        }
    }
}

/// A problem before sorting.
#[derive(Debug)]
pub(super) struct FoundProblem {
    keyword: &'static str,
    pointer: String,
    ranks: Vec<usize>,
    message: String,
    internals: Option<Internals>,
}

/// The place of a problem in the published schemas.
#[derive(Debug)]
struct Internals {
    id: String,
    place: String,
    pairs: Vec<(String, Value)>,
}

impl FoundProblem {
    pub(super) fn new(
        keyword: &'static str,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
        internals: bool,
        message: impl FnOnce() -> String,
    ) -> Self {
        let mut pointer = String::new();
        at.write(&mut pointer);
        let internals = internals.then(|| path.internals(keyword)).flatten();
        Self { keyword, pointer, ranks: at.ranks(), message: message(), internals }
    }

    /// The keyword that rejected the value.
    #[cfg(test)]
    pub(super) fn keyword(&self) -> &'static str {
        self.keyword
    }

    /// Returns true if two problems tell the caller the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.keyword == other.keyword
            && self.pointer == other.pointer
            && self.message == other.message
    }

    /// The sort key that puts problems into the order of the request.
    pub(super) fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Converts the problem to an issue without the optional fields, and a function that adds
    /// these.
    pub(super) fn into_issue(self) -> (Issue, impl FnOnce(&mut Issue)) {
        let issue = Issue {
            pointer: self.pointer,
            message: self.message,
            keyword: self.keyword.to_owned(),
            ..Issue::default()
        };
        let internals = self.internals;
        let fill = move |issue: &mut Issue| {
            if let Some(Internals { id, place, pairs }) = internals {
                issue.schema_id = Some(id);
                issue.schema_path = Some(place);
                issue.discriminator = pairs;
            }
        };
        (issue, fill)
    }
}
