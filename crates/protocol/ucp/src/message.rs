//! Messages of an answer: errors, warnings and information.

use serde::{Serialize, Serializer};
use tradepost_document::catalog::{Vocabulary as _, words};
use tradepost_document::json::object;

use crate::error::UcpCode;

words! {
    /// Kinds of messages.
    pub enum MessageKind {
        /// A failure.
        Error = "error",
        /// A condition that matters.
        Warning = "warning",
        /// A notice.
        Info = "info",
    }
}

words! {
    /// What a platform can do about an error.
    pub enum Severity {
        /// Change the request and send it again.
        Recoverable = "recoverable",
        /// Nothing; there is no such resource.
        Unrecoverable = "unrecoverable",
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Kind.
    pub kind: MessageKind,
    /// Code; the vocabulary is open.
    pub code: &'static str,
    /// JSONPath of the member that it is about.
    pub path: Option<String>,
    /// Text for people and models.
    pub content: String,
    /// Severity, of errors alone.
    pub severity: Option<Severity>,
}

impl Message {
    /// Creates an error.
    #[must_use]
    pub fn error(code: UcpCode, content: impl Into<String>) -> Self {
        let severity = Some(code.severity());
        let content = content.into();
        Self { kind: MessageKind::Error, code: code.name(), path: None, content, severity }
    }

    /// Creates a warning.
    #[must_use]
    pub fn warning(code: &'static str, content: impl Into<String>) -> Self {
        let content = content.into();
        Self { kind: MessageKind::Warning, code, path: None, content, severity: None }
    }

    /// Creates a notice.
    #[must_use]
    pub fn info(code: &'static str, content: impl Into<String>) -> Self {
        Self { kind: MessageKind::Info, ..Self::warning(code, content) }
    }

    /// Sets the path of the member that it is about.
    #[must_use]
    pub fn at(self, path: String) -> Self {
        Self { path: Some(path), ..self }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kind, code, path, content, severity } = self;
        let message = object!({
            "type": kind.name(),
            "code": code,
            "path"?: path.as_ref(),
            "content": content,
            "severity"?: severity.map(Severity::name),
        });
        message.serialize(serializer)
    }
}
