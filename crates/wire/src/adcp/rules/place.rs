//! Where a problem is: in the request, and in the published schemas. Both places are lists on the
//! stack, which are written out only when there is a problem to report.

use std::fmt::Write as _;

use crate::json::Value;

use super::shape::{Node, Shape};
use crate::adcp::error::Issue;
use crate::problem::clip;

/// The longest JSON Pointer that is written, in bytes. What lies deeper is reported at its
/// ancestor: names of a caller's own must not fill the answer.
const MAX_POINTER: usize = 512;

/// A place in the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
    /// Its rank among its siblings, for sorting: what is absent comes first, then the problems of
    /// the whole, then the members as they were sent.
    rank: usize,
    /// How many steps it is away from the root.
    pub(super) depth: usize,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Root,
    Member(&'a str),
    Item(usize),
}

const ABSENT: usize = 0;
const WHOLE: usize = 1;
const FIRST: usize = 2;

impl<'a> At<'a> {
    /// The request itself.
    pub(super) const ROOT: Self = Self { parent: None, step: Step::Root, rank: 0, depth: 0 };

    fn below(&'a self, step: Step<'a>, rank: usize) -> Self {
        Self { parent: Some(self), step, rank, depth: self.depth + 1 }
    }

    /// The member that stands at `order` in the object that is here.
    pub(super) fn member(&'a self, name: &'a str, order: usize) -> Self {
        self.below(Step::Member(name), FIRST + order)
    }

    /// A member that the object here lacks.
    pub(super) fn absent(&'a self, name: &'a str) -> Self {
        self.below(Step::Member(name), ABSENT)
    }

    /// An item of the array that is here.
    pub(super) fn item(&'a self, index: usize) -> Self {
        self.below(Step::Item(index), FIRST + index)
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

    /// The JSON Pointer; `false` when it ends early.
    fn write(&self, out: &mut String) -> bool {
        if !self.parent.is_none_or(|parent| parent.write(out)) {
            return false;
        }
        let before = out.len();
        match self.step {
            Step::Root => {}
            Step::Member(name) => {
                out.push('/');
                out.push_str(&clip(name).replace('~', "~0").replace('/', "~1"));
            }
            Step::Item(index) => {
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

/// A place in the schemas.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'a> {
    /// Nobody asks.
    Nowhere,
    /// The root of a shape, and where it was referred to.
    Shape(&'a Shape, &'a Self),
    /// Somewhere below.
    Step(&'a Self, Part<'a>),
    /// In the branch of a union that was chosen by the constants of these members of the value.
    Variant(&'a Self, &'a [&'static str], &'a Value),
}

/// A step into a schema.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    /// The items of an array.
    Items,
    /// A declared member.
    Property(&'static str),
    /// Members by the pattern of their names.
    Pattern(&'static str),
    /// All other members.
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

impl<'a> Path<'a> {
    pub(super) fn step(&'a self, part: Part<'a>) -> Self {
        Self::Step(self, part)
    }

    pub(super) fn variant(&'a self, tags: &'a [&'static str], value: &'a Value) -> Self {
        Self::Variant(self, tags, value)
    }

    /// The published `$id` of the nearest shape, and the place within it; then what chose the
    /// branch, if a union did and the rejecting rule belongs to the branch.
    fn internals(&self, keyword: &str) -> Option<Internals> {
        let mut steps = Vec::new();
        let mut pairs: Option<Vec<(String, Value)>> = None;
        let mut shape: Option<&Shape> = None;
        let mut path = *self;
        loop {
            match path {
                Path::Nowhere => break,
                Path::Shape(found, parent) => {
                    shape = shape.or(Some(found));
                    if pairs.is_some() {
                        break;
                    }
                    path = *parent;
                }
                Path::Step(parent, part) => {
                    if shape.is_none() {
                        steps.push(part);
                    } else if part.leaves_the_value() {
                        // The shape was entered below the branch: it rejects, not the union.
                        break;
                    }
                    path = *parent;
                }
                Path::Variant(parent, tags, value) => {
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
        let is_whole = matches!(steps.first(), Some(Part::Union(_) | Part::Never));
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

    /// Why a rule is in force, where that depends on the request: to follow its sentence.
    pub(super) fn because(&self) -> String {
        let mut path = *self;
        loop {
            path = match path {
                Path::Nowhere | Path::Shape(..) => return String::new(),
                Path::Step(_, Part::Conditional("then", when)) => return super::say::when(when),
                Path::Step(parent, _) | Path::Variant(parent, ..) => *parent,
            };
        }
    }
}

impl Part<'_> {
    /// Whether what follows is about another value.
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
    /// The published `$id` of the document that a shape is in, and its place within that.
    pub(super) fn published(&self) -> (String, String) {
        let id = |name: &str| format!("/schemas/{}/{name}.json", super::VERSION);
        match self.name.split_once('#') {
            Some((document, part)) => (id(document), format!("#/$defs/{part}")),
            None => (id(self.name), "#".to_owned()),
        }
    }
}

/// A problem, before it is put in order.
#[derive(Debug)]
pub(super) struct Found {
    keyword: &'static str,
    pointer: String,
    ranks: Vec<usize>,
    message: String,
    internals: Option<Internals>,
}

/// Where in the published schemas a problem lies.
#[derive(Debug)]
struct Internals {
    id: String,
    place: String,
    pairs: Vec<(String, Value)>,
}

impl Found {
    pub(super) fn new(
        keyword: &'static str,
        at: &At<'_>,
        path: &Path<'_>,
        internals: bool,
        message: impl FnOnce() -> String,
    ) -> Self {
        let mut pointer = String::new();
        at.write(&mut pointer);
        let internals = internals.then(|| path.internals(keyword)).flatten();
        Self { keyword, pointer, ranks: at.ranks(), message: message(), internals }
    }

    /// The keyword that rejected.
    #[cfg(test)]
    pub(super) fn keyword(&self) -> &'static str {
        self.keyword
    }

    /// Whether both say the same to a caller.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.keyword == other.keyword
            && self.pointer == other.pointer
            && self.message == other.message
    }

    /// By this, problems are in the order of the request.
    pub(super) fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// As an issue without the fields that are optional, and those.
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
