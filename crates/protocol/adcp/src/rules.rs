//! Validation of AdCP requests against the published schemas: every violated constraint at once,
//! with a JSON Pointer, the JSON Schema keyword and a message that never repeats a value.
//!
//! The rules are data in our own notation (`rules/*.rules`; `notation` explains it): the
//! constraints of the published schemas [`VERSION`] without their text. Tests prove them
//! equivalent. Members without a rule are accepted exactly where the schemas accept them.
// Issues are those of AdCP 3.1, "Error handling" (I-1 to I-8).

use std::sync::LazyLock;

use tradepost_document::json::Value;

use super::error::{AdcpCode, AdcpError, Issue, path};
use super::tool::AdcpTool;

mod notation;
mod number;
mod outline;
mod pattern;
mod place;
mod say;
mod schema;
pub mod schema_gaps;
mod shape;
mod union;
mod unique;
mod walk;

pub use shape::{Format, Limit, Type};

/// Patch release of the schemas, as in their `$id`.
pub const VERSION: &str = "3.1.19";

/// Maximum number of issues in an answer.
pub const MAX_ISSUES: usize = 20;

/// Maximum size of the issues of an answer in bytes of JSON, so that their error object stays
/// within [`MAX_BYTES`](super::error::MAX_BYTES).
const MAX_ISSUE_BYTES: usize = 3000;

/// Setting for naming the violated schema in issues.
// The three members may be left out in production (AdCP 3.1, "Error handling"; I-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Internals {
    /// Issues have `pointer`, `message` and `keyword`.
    Off,
    /// Issues also have `schema_id`, `schemaPath` and, where constants decide a union,
    /// `discriminator`, as far as there is room.
    On,
}

/// Problems of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Issues {
    listed: Vec<Issue>,
    total: usize,
}

impl Issues {
    /// Returns the issues in the order of the request; missing members of an object come before
    /// problems within it. At most [`MAX_ISSUES`], and no more than fit into an error object.
    #[must_use]
    pub fn listed(&self) -> &[Issue] {
        &self.listed
    }

    /// Returns the number of all issues; for a request with hundreds, a lower bound.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns the number of issues that are not listed.
    #[must_use]
    pub fn unlisted(&self) -> usize {
        self.total.saturating_sub(self.listed.len())
    }

    /// Converts the issues to the error object `VALIDATION_ERROR`, which fits into
    /// [`MAX_BYTES`](super::error::MAX_BYTES).
    #[must_use]
    pub fn into_error(self) -> AdcpError {
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
        AdcpError {
            field,
            issues: self.listed,
            ..AdcpError::new(AdcpCode::ValidationError, message)
        }
    }
}

/// Checks the arguments of a tool.
///
/// # Errors
/// Every violated constraint.
pub fn check(tool: AdcpTool, arguments: &Value, internals: Internals) -> Result<(), Issues> {
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
    let mut walk = walk::RuleWalk::new(book, internals == Internals::On);
    let nowhere = place::SchemaPath::Nowhere;
    if walk.node(
        &shape.node,
        value,
        &place::RequestPlace::ROOT,
        &place::SchemaPath::Shape(shape, &nowhere),
    ) {
        return Ok(());
    }
    let walk::RuleWalk { mut found, total, .. } = walk;
    found.sort_by(|one, other| one.ranks().cmp(other.ranks()));
    Err(Issues { listed: listed(found), total })
}

/// Iterates over the names of all shapes.
pub fn shapes() -> impl Iterator<Item = &'static str> {
    book().shapes.iter().map(|shape| shape.name)
}

/// Returns the JSON Schema (2020-12) of a tool's request, with the definitions it refers to.
#[must_use]
pub fn json_schema(tool: AdcpTool) -> Value {
    schema::with_definitions(book(), tool.request())
        .expect("a test looks up the shape of every tool")
}

/// Returns a short schema of a tool's request for language models: the members that most callers
/// use, each with a description, in the subset of JSON Schema that every model provider supports.
/// It has fewer constraints than [`json_schema`], and accepts every variant of a union.
#[must_use]
pub fn outline(tool: AdcpTool) -> Value {
    outline::of_shape(book(), tool.request()).expect("a test looks up the shape of every tool")
}

/// Returns a shape in its published form: JSON Schema draft 7, with references to others by their
/// `$id`, without annotations. `None` for an unknown shape.
#[must_use]
pub fn published(name: &str) -> Option<Value> {
    schema::published(book(), name)
}

/// Selects as many issues as fit, and adds the violated schema as far as there is room.
fn listed(found: Vec<place::FoundProblem>) -> Vec<Issue> {
    let size = |issue: &Issue| {
        tradepost_document::json::to_string(issue).map_or(usize::MAX, |text| text.len())
    };
    let mut room = MAX_ISSUE_BYTES;
    let mut listed = Vec::new();
    for found in found.into_iter().take(MAX_ISSUES) {
        let (issue, internals) = found.into_issue();
        // With the comma that separates it from the next one.
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

fn book() -> &'static shape::RuleBook {
    static BOOK: LazyLock<shape::RuleBook> = LazyLock::new(|| match notation::read(FILES) {
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
