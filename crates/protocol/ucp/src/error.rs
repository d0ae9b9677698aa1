//! Errors: the codes, and a refusal in the three forms that it has on the wire.
//!
//! UCP tells failures of the transport from business outcomes. A request that is refused is the former: an HTTP status
//! over REST, an error of JSON-RPC over MCP.

use std::time::Duration;

use tradepost_document::catalog::{Vocabulary as _, catalog};
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Value, json, object};
use tradepost_document::problem::Problems;

use crate::message::{Message, Severity};
use crate::{Capability, metadata};

catalog! {
    /// Error codes.
    pub enum UcpCode {
        /// HTTP status.
        http: u16,
        /// Error number of JSON-RPC; 0 for codes of business outcomes, which are results.
        jsonrpc: i32,
        /// What the platform can do about it.
        severity: Severity;
        /// True for failures of discovery and negotiation, whose body over REST is a single error.
        is_negotiation: bool = false,
    }
    /// The address of the platform's profile is missing, or is no https address.
    InvalidProfileUrl = "invalid_profile_url" {
        http: 400, jsonrpc: -32001, severity: Severity::Recoverable; is_negotiation: true,
    }
    /// The platform speaks a version of the protocol that is not spoken here.
    VersionUnsupported = "version_unsupported" {
        http: 422, jsonrpc: -32001, severity: Severity::Unrecoverable; is_negotiation: true,
    }
    /// The request is malformed, or violates its schema.
    InvalidRequest = "invalid_request" {
        http: 400, jsonrpc: -32602, severity: Severity::Recoverable,
    }
    /// The request names more identifiers than are looked up at once.
    RequestTooLarge = "request_too_large" {
        http: 400, jsonrpc: -32602, severity: Severity::Recoverable,
    }
    /// The credential is missing or not valid.
    Unauthorized = "unauthorized" {
        http: 401, jsonrpc: -32000, severity: Severity::Recoverable,
    }
    /// The credential does not permit it.
    InsufficientScope = "insufficient_scope" {
        http: 403, jsonrpc: -32000, severity: Severity::Unrecoverable,
    }
    /// The caller has sent too many requests.
    RateLimited = "rate_limited" {
        http: 429, jsonrpc: -32000, severity: Severity::Recoverable,
    }
    /// The server failed.
    InternalError = "internal_error" {
        http: 500, jsonrpc: -32603, severity: Severity::Unrecoverable,
    }
    /// The server cannot answer now.
    Unavailable = "unavailable" {
        http: 503, jsonrpc: -32000, severity: Severity::Recoverable,
    }
    /// No product has the identifier.
    NotFound = "not_found" {
        http: 200, jsonrpc: 0, severity: Severity::Unrecoverable,
    }
    /// The product is no longer on offer, or is not shown in a catalog.
    ItemUnavailable = "item_unavailable" {
        http: 200, jsonrpc: 0, severity: Severity::Unrecoverable,
    }
}

/// A refused request.
#[derive(Debug, Clone, PartialEq)]
pub struct UcpRefusal {
    /// Error code.
    pub code: UcpCode,
    /// HTTP status, where it is not that of the code.
    pub status: Option<u16>,
    /// Message for people and models.
    pub content: String,
    /// Every problem of the request, with JSON Pointers.
    pub problems: Problems,
    /// Time after which the same request may succeed.
    pub wait: Option<Duration>,
    /// Page on which a person can go on.
    pub continue_url: Option<String>,
}

impl UcpRefusal {
    /// Creates a refusal.
    #[must_use]
    pub fn new(code: UcpCode, content: impl Into<String>) -> Self {
        Self {
            code,
            status: None,
            content: content.into(),
            problems: Problems::new(),
            wait: None,
            continue_url: None,
        }
    }

    /// Creates the refusal of a request with these problems. `too_large` says that one of them is the number of its
    /// identifiers.
    #[must_use]
    pub fn from_problems(problems: Problems, too_large: bool) -> Self {
        let code = if too_large { UcpCode::RequestTooLarge } else { UcpCode::InvalidRequest };
        let content = summary(&problems);
        Self { problems, ..Self::new(code, content) }
    }

    /// Returns the HTTP status.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        self.status.unwrap_or_else(|| self.code.http())
    }

    /// Returns a message for each problem; the content where there is none.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        if self.problems.is_empty() {
            return vec![Message::error(self.code, self.content.clone())];
        }
        let listed = self.problems.listed();
        let of_problem = |problem: &tradepost_document::problem::Problem| {
            let message = Message::error(self.code, problem.message.clone());
            message.at(json_path(&problem.pointer))
        };
        let unlisted = self.problems.total().saturating_sub(listed.len());
        let more =
            (unlisted > 0).then(|| Message::error(self.code, format!("and {unlisted} more")));
        listed.iter().map(of_problem).chain(more).collect()
    }

    /// Returns the body over REST: a single error for a failed negotiation, and otherwise the error response of UCP.
    #[must_use]
    pub fn rest_body(&self, capability: Capability) -> Value {
        if self.code.is_negotiation() {
            return object!({
                "code": self.code.name(),
                "content": self.content,
                "continue_url"?: self.continue_url,
            });
        }
        error_response(capability, &self.messages(), self.continue_url.as_deref())
    }

    /// Returns the data of the error over MCP.
    #[must_use]
    pub fn mcp_data(&self) -> Value {
        let messages = (!self.problems.is_empty()).then(|| json!(self.messages()));
        object!({
            "code": self.code.name(),
            "content": self.content,
            "retry_after"?: self.wait.map(|wait| RetryAfter::new(wait).seconds()),
            "continue_url"?: self.continue_url,
            "messages"?: messages,
        })
    }
}

/// Summarises the first problems, for clients over MCP that drop the data of an error.
fn summary(problems: &Problems) -> String {
    const MAX_SENTENCES: usize = 10;
    let listed = problems.listed().iter().take(MAX_SENTENCES);
    let sentences =
        listed.map(|problem| format!("{}: {}", json_path(&problem.pointer), problem.message));
    let more = problems.total().saturating_sub(MAX_SENTENCES);
    let more = (more > 0).then(|| format!("and {more} more"));
    sentences.chain(more).collect::<Vec<_>>().join("; ")
}

/// Returns an error response.
#[must_use]
pub fn error_response(
    capability: Capability,
    messages: &[Message],
    continue_url: Option<&str>,
) -> Value {
    object!({
        "ucp": metadata(capability, "error"),
        "messages": messages,
        "continue_url"?: continue_url,
    })
}

/// Converts a JSON Pointer to a JSONPath (RFC 9535): `/ids/3` is `$.ids[3]`.
#[must_use]
pub fn json_path(pointer: &str) -> String {
    let mut out = "$".to_owned();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.starts_with(|first: char| !first.is_ascii_digit());
        if is_index {
            out.push_str(&format!("[{name}]"));
        } else if is_word {
            out.push_str(&format!(".{name}"));
        } else {
            let escaped = |letter: char| match letter {
                '\'' | '\\' => format!("\\{letter}"),
                letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
                letter => letter.to_string(),
            };
            let name: String = name.chars().map(escaped).collect();
            out.push_str(&format!("['{name}']"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tradepost_document::parse;
    use tradepost_document::problem::DocumentPlace;

    use super::*;

    #[test]
    fn places_are_paths() {
        for (pointer, path) in [
            ("", "$"),
            ("/ids/3", "$.ids[3]"),
            ("/filters/price/max", "$.filters.price.max"),
            ("/signals/dev.ucp.buyer_ip", "$.signals['dev.ucp.buyer_ip']"),
            ("/signals/it's~1a~0b", "$.signals['it\\'s/a~b']"),
            ("/signals/a\nb", "$.signals['a\\u000ab']"),
            ("/signals/", "$.signals['']"),
        ] {
            assert_eq!(json_path(pointer), path);
        }
    }

    #[test]
    fn a_refusal_has_a_message_for_each_problem() {
        let mut problems = Problems::new();
        parse::missing(&DocumentPlace::Root, &mut problems, "ids");
        parse::wrong_type(&DocumentPlace::Root.key("context"), &mut problems, "object");
        let refusal = UcpRefusal::from_problems(problems, false);
        expect![[r#"{"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.lookup":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"invalid_request","path":"$","content":"missing required property \"ids\"","severity":"recoverable"},{"type":"error","code":"invalid_request","path":"$.context","content":"must be object","severity":"recoverable"}]}"#]]
        .assert_eq(&refusal.rest_body(Capability::Lookup).to_string());
        expect![[r#"{"code":"invalid_request","content":"$: missing required property \"ids\"; $.context: must be object","messages":[{"type":"error","code":"invalid_request","path":"$","content":"missing required property \"ids\"","severity":"recoverable"},{"type":"error","code":"invalid_request","path":"$.context","content":"must be object","severity":"recoverable"}]}"#]]
        .assert_eq(&refusal.mcp_data().to_string());
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        let mut problems = Problems::new();
        for index in 0..60 {
            parse::wrong_type(&DocumentPlace::Root.index(index), &mut problems, "string");
        }
        let messages = UcpRefusal::from_problems(problems, true).messages();
        assert_eq!(messages.len(), 51);
        assert_eq!(messages[50].content, "and 10 more");
        assert_eq!(messages[50].code, "request_too_large");
    }

    #[test]
    fn the_documentation_has_every_code() {
        let page = include_str!("../../../../docs/ucp.md");
        for code in UcpCode::ALL {
            let number = match code.jsonrpc() {
                0 => "result".to_owned(),
                number => number.to_string(),
            };
            let row = format!("\n| `{code}` | {} | {number} | ", code.http());
            assert!(page.contains(&row), "docs/ucp.md has no row for {code}");
        }
    }

    #[test]
    fn codes_of_outcomes_have_no_number() {
        for code in UcpCode::ALL {
            assert_eq!(code.http() == 200, code.jsonrpc() == 0, "{code}");
        }
    }
}
