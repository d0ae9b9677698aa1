//! Requests of AdCP checked as published: every violated constraint at once, with a JSON Pointer,
//! the JSON Schema keyword and a sentence that never repeats a value.
//!
//! The rules are data, in a notation of our own (`rules/*.rules`; `notation` explains it): the
//! facts of the published schemas [`VERSION`], and none of their text. Tests prove them equal.
//! Members that no rule names are accepted exactly where the schemas accept them.
// I-1 to I-8

use std::sync::LazyLock;

use crate::json::Value;

use super::error::{Code, Error, Issue, path};
use super::tool::Tool;

mod notation;
mod number;
mod outline;
mod pattern;
mod place;
mod say;
mod schema;
mod shape;
pub mod typed;
mod union;
mod unique;
mod walk;

pub use shape::{Format, Limit, Type};

/// The release whose schemas the rules are, at patch precision, as in their `$id`.
pub const VERSION: &str = "3.1.19";

/// How many issues one answer lists.
pub const MAX_ISSUES: usize = 20;

/// How many bytes of JSON the issues of one answer may take, so that the error object that they
/// are in stays within [`MAX_BYTES`](super::error::MAX_BYTES).
const MAX_ISSUE_BYTES: usize = 3000;

/// Whether issues name the place in the published schemas that rejected.
// I-8
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Internals {
    /// They have `pointer`, `message` and `keyword`.
    Off,
    /// They also have `schema_id`, `schemaPath` and, where a union is decided by constants,
    /// `discriminator`, as far as there is room.
    On,
}

/// What is wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Issues {
    listed: Vec<Issue>,
    total: usize,
}

impl Issues {
    /// The issues in the order of the request; what an object lacks comes before what is wrong
    /// within it. At most [`MAX_ISSUES`], and no more than an error object has room for.
    #[must_use]
    pub fn listed(&self) -> &[Issue] {
        &self.listed
    }

    /// How many there are in all; of a request with hundreds, at least so many.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// How many are not listed.
    #[must_use]
    pub fn unlisted(&self) -> usize {
        self.total.saturating_sub(self.listed.len())
    }

    /// The error object that says all this: `VALIDATION_ERROR`. It fits
    /// into [`MAX_BYTES`](super::error::MAX_BYTES).
    // requirements §1.11, 9
    #[must_use]
    pub fn into_error(self) -> Error {
        let mut message = match self.total {
            1 => "The arguments have 1 problem; correct it and send the request again.".to_owned(),
            total => format!(
                "The arguments have {total} problems; correct them and send the request again."
            ),
        };
        let unlisted = self.unlisted();
        if unlisted > 0 {
            message.push_str(&format!(" {unlisted} of them are not listed."));
        }
        let field = self.listed.first().map(|issue| path(&issue.pointer));
        Error { field, issues: self.listed, ..Error::new(Code::ValidationError, message) }
    }
}

/// Checks the arguments of a tool.
///
/// # Errors
/// Every violated constraint.
pub fn check(tool: Tool, arguments: &Value, internals: Internals) -> Result<(), Issues> {
    check_shape(tool.request(), arguments, internals)
}

/// Checks a value against a shape, such as `creative/list-creative-formats-request`.
///
/// # Panics
/// When there is no such shape: [`shapes`] lists them.
///
/// # Errors
/// Every violated constraint.
pub fn check_shape(name: &str, value: &Value, internals: Internals) -> Result<(), Issues> {
    let book = book();
    let shape = book.shape(name).expect("callers name shapes that the rules have");
    let mut walk = walk::Walk::new(book, internals == Internals::On);
    let nowhere = place::Path::Nowhere;
    if walk.node(&shape.node, value, &place::At::ROOT, &place::Path::Shape(shape, &nowhere)) {
        return Ok(());
    }
    let walk::Walk { mut found, total, .. } = walk;
    found.sort_by(|one, other| one.ranks().cmp(other.ranks()));
    Err(Issues { listed: listed(found), total })
}

/// The names of all shapes.
pub fn shapes() -> impl Iterator<Item = &'static str> {
    book().shapes.iter().map(|shape| shape.name)
}

/// The JSON Schema (2020-12) of a tool's request, with definitions for whatever it refers to.
#[must_use]
pub fn json_schema(tool: Tool) -> Value {
    schema::whole(book(), tool.request()).expect("a test looks up the shape of every tool")
}

/// What a model needs in order to call a tool: of its request the members that most callers use,
/// each with a sentence, in the words of JSON Schema that every provider of models takes. It says
/// less than [`json_schema`], and never refuses what that accepts for being a union.
#[must_use]
pub fn outline(tool: Tool) -> Value {
    outline::of(book(), tool.request()).expect("a test looks up the shape of every tool")
}

/// One shape in the form in which it is published: JSON Schema draft 7, with references to the
/// others by their `$id`, without what is no rule. `None` when there is no such shape.
#[must_use]
pub fn published(name: &str) -> Option<Value> {
    schema::published(book(), name)
}

/// As many issues as fit; then, as far as there is room, where in the schemas they lie.
fn listed(found: Vec<place::Found>) -> Vec<Issue> {
    let size = |issue: &Issue| crate::json::to_string(issue).map_or(usize::MAX, |text| text.len());
    let mut room = MAX_ISSUE_BYTES;
    let mut listed = Vec::new();
    for found in found.into_iter().take(MAX_ISSUES) {
        let (issue, internals) = found.into_issue();
        // With the comma that parts it from the next one.
        let Some(left) = room.checked_sub(size(&issue) + 1) else { break };
        room = left;
        listed.push((issue, internals));
    }
    let fill = |(mut issue, internals): (Issue, _)| {
        let bare = issue.clone();
        let fill: Box<dyn FnOnce(&mut Issue)> = Box::new(internals);
        fill(&mut issue);
        match room.checked_sub(size(&issue).saturating_sub(size(&bare))) {
            Some(left) => {
                room = left;
                issue
            }
            None => bare,
        }
    };
    listed.into_iter().map(fill).collect()
}

fn book() -> &'static shape::Book {
    static BOOK: LazyLock<shape::Book> = LazyLock::new(|| match notation::read(FILES) {
        Ok(book) => book,
        Err(wrong) => {
            unreachable!("a test reads the rules, and they are part of the program: {wrong}")
        }
    });
    &BOOK
}

const FILES: &[&str] = &[
    include_str!("rules/account.rules"),
    include_str!("rules/assets.rules"),
    include_str!("rules/compliance.rules"),
    include_str!("rules/content-standards.rules"),
    include_str!("rules/core.rules"),
    include_str!("rules/creative.rules"),
    include_str!("rules/enums.rules"),
    include_str!("rules/governance.rules"),
    include_str!("rules/media-buy.rules"),
    include_str!("rules/property.rules"),
    include_str!("rules/protocol.rules"),
    include_str!("rules/signals.rules"),
    include_str!("rules/sponsored-intelligence.rules"),
];

#[cfg(test)]
mod tests;
