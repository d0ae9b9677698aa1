//! What a seller answers, in the one form that every binding carries: on MCP it is
//! `structuredContent`, on A2A the data part of the artifact. A failure stands in both layers, the
//! envelope's `adcp_error` and the payload's `errors[]`; a warning in `errors[]` alone (`T-1` to
//! `T-3`; requirements §1.11 rows 2 and 3).

use serde_json::{Map, Value};

use super::Standing;
use super::error::{Error, Release};
use crate::catalog::Vocabulary as _;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How far the task is; `failed` exactly when [`errors`](Self::errors) are failures.
    pub standing: Standing,
    /// One sentence for people.
    pub message: String,
    /// The members of the payload. A member of this name wins over one of the envelope.
    pub body: Map<String, Value>,
    /// The failures of a failed task, at least one; the warnings of any other.
    pub errors: Vec<Error>,
    /// The caller's `context`, as it came (`X-2`).
    pub context: Option<Value>,
    /// Whether an earlier answer to the same key is repeated; `None` where keys are not taken.
    pub replayed: Option<bool>,
    /// The release in which it is answered (`adcp_version`).
    pub release: Release,
}

impl Answer {
    /// A failed task, with the error that stands in the envelope first.
    #[must_use]
    pub fn failed(first: Error, others: Vec<Error>) -> Self {
        let message = first.message.clone();
        let mut errors = vec![first];
        errors.extend(others);
        Self {
            standing: Standing::Failed,
            message,
            body: Map::new(),
            errors,
            context: None,
            replayed: None,
            release: Release::V3_1,
        }
    }

    /// Whether the transport shows a failure: `isError` of MCP, the failed state of A2A.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.standing == Standing::Failed
    }

    /// The same answer for a caller that is pinned to a release, which it then names: codes that
    /// came later become their equivalents, where there are any (`D-6`).
    #[must_use]
    pub fn pinned(mut self, release: Release) -> Self {
        self.release = release;
        for error in &mut self.errors {
            error.pin(release);
        }
        self
    }

    /// The answer's document, flat.
    #[must_use]
    pub fn document(&self) -> Value {
        let mut document = Map::new();
        document.insert("status".to_owned(), self.standing.name().into());
        if !self.message.is_empty() {
            document.insert("message".to_owned(), self.message.clone().into());
        }
        let json = |error: &Error| {
            serde_json::to_value(error)
                .unwrap_or_else(|_| unreachable!("errors have text keys and finite numbers"))
        };
        if let (true, Some(first)) = (self.is_failure(), self.errors.first()) {
            document.insert("adcp_error".to_owned(), json(first));
        }
        for (name, value) in &self.body {
            document.insert(name.clone(), value.clone());
        }
        if !self.errors.is_empty() {
            document.insert("errors".to_owned(), self.errors.iter().map(json).collect());
        }
        if let Some(context) = &self.context {
            document.insert("context".to_owned(), context.clone());
        }
        if let Some(replayed) = self.replayed {
            document.insert("replayed".to_owned(), replayed.into());
        }
        document.insert("adcp_version".to_owned(), self.release.name().into());
        Value::Object(document)
    }
}
