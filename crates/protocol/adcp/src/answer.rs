//! Answers of a seller, in one form for all bindings: on MCP it is `structuredContent`, on A2A the
//! data part of the artifact. A failure is in both layers, the envelope's `adcp_error` and the
//! payload's `errors[]`; a warning is in `errors[]` only.
// Both layers carry a failure, and only the payload a warning (AdCP 3.1, "Error handling"; T-1 to
// T-3).

use std::sync::Arc;

use serde::Serialize;

use super::error::{AdcpError, AdcpRelease};
use super::{AdcpTaskStatus, AdcpTool, release};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{JsonPieces, Map, SharedJson, Value, literal, to_string};

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AdcpAnswer {
    /// Status of the task; `failed` exactly when [`errors`](Self::errors) are failures.
    pub standing: AdcpTaskStatus,
    /// Message for people.
    pub message: String,
    /// Members of the payload that are already serialised; they come first.
    pub written: Vec<(&'static str, JsonPieces)>,
    /// Other members of the payload. A member wins over one of the envelope with the same name.
    pub body: Map,
    /// Failures of a failed task, at least one; warnings of any other task.
    pub errors: Vec<AdcpError>,
    /// The caller's `context`, unchanged.
    // The context is echoed on success and on error (AdCP 3.1, "Error handling"; X-2).
    pub context: Option<Value>,
    /// True when an earlier answer to the same key is repeated; `None` for tools without keys.
    pub replayed: Option<bool>,
    /// Release of the answer (`adcp_version`).
    pub release: AdcpRelease,
    /// Serialised members that do not depend on the request, if [`begun`](Self::begun) has produced
    /// them. The members above are not used then.
    pub beginning: Option<Arc<SharedJson>>,
}

impl AdcpAnswer {
    /// Creates a failed task, with the first error also in the envelope.
    #[must_use]
    pub fn failed(first: AdcpError, others: Vec<AdcpError>) -> Self {
        let message = first.message.clone();
        let mut errors = vec![first];
        errors.extend(others);
        Self {
            standing: AdcpTaskStatus::Failed,
            message,
            written: Vec::new(),
            body: Map::new(),
            errors,
            context: None,
            replayed: None,
            release: AdcpRelease::V3_1,
            beginning: None,
        }
    }

    /// Returns true when the transport shows a failure: `isError` in MCP, the failed state in A2A.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.standing == AdcpTaskStatus::Failed
    }

    /// Converts the answer for a caller pinned to a release: newer error codes become their
    /// equivalents, where there are any.
    // A code from the pinned release is preferred where an equivalent exists (AdCP 3.1, "Error
    // handling"; D-6).
    #[must_use]
    pub fn pinned(mut self, release: AdcpRelease) -> Self {
        self.release = release;
        for error in &mut self.errors {
            error.pin(release);
        }
        self
    }

    /// Converts the answer of a tool for a caller of a release, including members that differ in
    /// it.
    #[must_use]
    pub fn spoken(self, tool: AdcpTool, release: AdcpRelease) -> Self {
        let mut answer = self.pinned(release);
        if release::differs(tool, release) {
            answer.body = members(std::mem::take(&mut answer.written), answer.body);
        }
        release::translate(tool, release, &mut answer.body);
        answer
    }

    /// Returns the answer with its request-independent members serialised, for reuse; `None` when a
    /// member that belongs to one request would not come last.
    #[must_use]
    pub fn begun(&self) -> Option<Self> {
        let lasting = self.lasting();
        if lasting.iter().any(|(name, _)| LAST.contains(name)) {
            return None;
        }
        let mut text = JsonPieces::new();
        write(lasting, "{", &mut text);
        Some(Self {
            standing: self.standing,
            message: self.message.clone(),
            written: Vec::new(),
            body: Map::new(),
            errors: self.errors.clone(),
            context: None,
            replayed: None,
            release: self.release,
            beginning: Some(text.joined()),
        })
    }

    /// Returns the answer as a flat JSON document.
    #[must_use]
    pub fn document(&self) -> Value {
        if self.beginning.is_some() {
            return read(&self.text());
        }
        let members = self.members().into_iter();
        Value::Object(members.map(|(name, member)| (name.to_owned(), member.value())).collect())
    }

    /// Serialises [`document`](Self::document).
    #[must_use]
    pub fn text(&self) -> JsonPieces {
        /// Typical maximum size of a refusal in bytes.
        const INITIAL_CAPACITY: usize = 2 * 1024;
        let mut text = JsonPieces::new();
        match &self.beginning {
            Some(beginning) => {
                text.keep(beginning);
                write(self.last(), ",", &mut text);
            }
            None => {
                text = String::with_capacity(INITIAL_CAPACITY).into();
                write(self.members(), "{", &mut text);
            }
        }
        text.push("}");
        text
    }

    /// Returns the members of the document in their order.
    fn members(&self) -> Vec<(&str, Member<'_>)> {
        let mut members = self.lasting();
        self.last().into_iter().for_each(|(name, member)| put(&mut members, name, member));
        members
    }

    /// Returns the members that do not depend on the request.
    fn lasting(&self) -> Vec<(&str, Member<'_>)> {
        let mut members = Vec::with_capacity(self.written.len() + self.body.len() + 7);
        members.push(("status", Member::Text(self.standing.name())));
        if !self.message.is_empty() {
            members.push(("message", Member::Text(&self.message)));
        }
        if self.is_failure()
            && let Some(first) = self.errors.first()
        {
            members.push(("adcp_error", Member::Error(first)));
        }
        let envelope = members.len();
        let written = self.written.iter().map(|(name, pieces)| (*name, Member::Written(pieces)));
        let body = self.body.iter().map(|(name, value)| (name.as_str(), Member::Value(value)));
        for (name, member) in written.chain(body) {
            // Only among those of the envelope, because the payload has each name once.
            match members.iter_mut().take(envelope).find(|(known, _)| *known == name) {
                Some((_, earlier)) => *earlier = member,
                None => members.push((name, member)),
            }
        }
        if !self.errors.is_empty() {
            put(&mut members, "errors", Member::Errors(&self.errors));
        }
        members
    }

    /// Returns the members that belong to one request, which come last.
    fn last(&self) -> Vec<(&'static str, Member<'_>)> {
        let [context, replayed, release] = LAST;
        let mut members = Vec::with_capacity(LAST.len());
        members.extend(self.context.as_ref().map(|value| (context, Member::Value(value))));
        members.extend(self.replayed.map(|flag| (replayed, Member::Flag(flag))));
        members.push((release, Member::Text(self.release.name())));
        members
    }
}

/// Names of the members that belong to one request, in their order.
const LAST: [&str; 3] = ["context", "replayed", "adcp_version"];

/// Replaces the member with a name, or appends it.
fn put<'a>(members: &mut Vec<(&'a str, Member<'a>)>, name: &'a str, member: Member<'a>) {
    match members.iter_mut().find(|(known, _)| *known == name) {
        Some((_, earlier)) => *earlier = member,
        None => members.push((name, member)),
    }
}

/// Serialises members, the first one after `before` and the others after commas.
fn write(members: Vec<(&str, Member<'_>)>, before: &str, text: &mut JsonPieces) {
    // The first error is written twice: in the envelope and as the first item of the list.
    let mut first: Option<String> = None;
    for (index, (name, member)) in members.into_iter().enumerate() {
        text.push(if index == 0 { before } else { "," });
        // A plain name needs no escaping.
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            ["\"", name, "\":"].iter().for_each(|part| text.push(part));
        } else {
            text.write(name);
            text.push(":");
        }
        match member {
            Member::Written(pieces) => text.append(pieces.clone()),
            Member::Error(error) => text.push(first.insert(written(error))),
            Member::Errors(errors) => {
                for (index, error) in errors.iter().enumerate() {
                    text.push(if index == 0 { "[" } else { "," });
                    match first.take() {
                        Some(first) => text.push(&first),
                        None => text.write(error),
                    }
                }
                text.push("]");
            }
            Member::Text(_) | Member::Flag(_) | Member::Value(_) => text.write(&member),
        }
    }
}

/// A member of the document.
#[derive(Serialize)]
#[serde(untagged)]
enum Member<'a> {
    Text(&'a str),
    Flag(bool),
    #[serde(skip)]
    Written(&'a JsonPieces),
    Value(&'a Value),
    Error(&'a AdcpError),
    Errors(&'a [AdcpError]),
}

impl Member<'_> {
    fn value(&self) -> Value {
        match self {
            Self::Written(pieces) => read(pieces),
            Self::Value(value) => Value::clone(value),
            Self::Text(_) | Self::Flag(_) | Self::Error(_) | Self::Errors(_) => literal(self),
        }
    }
}

/// Returns all members of a payload, parsing the serialised ones.
#[must_use]
pub fn members(written: Vec<(&'static str, JsonPieces)>, body: Map) -> Map {
    let written = written.into_iter().map(|(name, pieces)| (name.to_owned(), read(&pieces)));
    written.chain(body).collect()
}

fn written<T: Serialize + ?Sized>(value: &T) -> String {
    to_string(value).unwrap_or_else(|_| unreachable!("our own have text keys and finite numbers"))
}

fn read(pieces: &JsonPieces) -> Value {
    pieces.read().unwrap_or_else(|| unreachable!("a member that was written is JSON"))
}
