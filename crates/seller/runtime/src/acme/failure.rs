//! Errors of orders, with what to do about them. They contain nothing of a key or a token, and texts of
//! an authority only in a cleaned and shortened form.

use std::fmt;
use std::time::Duration;

use instant_acme::{Error, Problem};
use tradepost_client::text::plain;
use tradepost_client::transport::innermost;
use tradepost_document::words;

/// Maximum length of an authority's text that is repeated, in characters.
const MAX_TEXT_LENGTH: usize = 400;

/// Prefix of the types of an authority's problems (RFC 8555 §6.7).
const PROBLEM_TYPE_PREFIX: &str = "urn:ietf:params:acme:error:";

words! {
    /// Reason why there is no new certificate.
    pub enum AcmeErrorCode {
        /// The folder, or a file in it, cannot be used.
        Folder = "ACME_FOLDER_UNUSABLE",
        /// The certificate authority cannot be reached, or the address is not that of an ACME server.
        Unreachable = "ACME_UNREACHABLE",
        /// The order was not completed in time.
        Slow = "ACME_TOO_SLOW",
        /// The authority refuses the order because of its rate limit.
        Limited = "ACME_RATE_LIMITED",
        /// The authority refused the order.
        Refused = "ACME_REFUSED",
        /// The authority could not verify that a domain name leads to this server.
        Unproven = "ACME_NAME_UNPROVEN",
        /// The issued certificate cannot be used.
        Unusable = "ACME_CERTIFICATE_UNUSABLE",
    }
}

impl AcmeErrorCode {
    /// Returns the action for the operator.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Folder => {
                "check that server.tls.acme.folder is writable and that only the server can access it; a \
                 damaged file there can be removed, and the server orders or creates it again"
            }
            Self::Unreachable => {
                "check that server.tls.acme.directory is the address of an authority, that this machine \
                 reaches it, and that the machine or server.tls.acme.ca_file trusts its certificate"
            }
            Self::Slow => "nothing to do: the server tries again",
            Self::Limited => {
                "nothing to do: the server tries again when the authority permits it; check the \
                 authority's limits if this continues"
            }
            Self::Refused => "correct what the authority names; the server tries again",
            Self::Unproven => {
                "check that each of server.tls.acme.domains leads to this server, and that connections to \
                 its port 443 arrive here with TLS unchanged"
            }
            Self::Unusable => {
                "check this machine's clock, and ask the authority; the server tries again"
            }
        }
    }
}

/// Error of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcmeError {
    /// Reason.
    pub code: AcmeErrorCode,
    /// Messages of all that was wrong.
    pub says: Vec<String>,
    /// Delay that the authority asks for.
    pub wait: Option<Duration>,
    /// True when the authority issued a certificate, or may have: those count against its limits, too.
    pub is_spent: bool,
}

impl AcmeError {
    /// Creates an error with one message.
    pub(super) fn new(code: AcmeErrorCode, says: impl fmt::Display) -> Self {
        Self::all(code, vec![says.to_string()])
    }

    /// Creates an error with several messages.
    pub(super) fn all(code: AcmeErrorCode, says: Vec<String>) -> Self {
        let says = says.iter().map(|text| plain(text, MAX_TEXT_LENGTH)).collect();
        Self { code, says, wait: None, is_spent: false }
    }

    /// Marks the error as one of an order that the authority has completed, or may have.
    pub(super) fn of_a_spent_order(self) -> Self {
        Self { is_spent: true, ..self }
    }

    /// Creates an error about one of our files.
    pub(super) fn from_file(name: &str, why: impl fmt::Display) -> Self {
        Self::new(AcmeErrorCode::Folder, format_args!("{name}: {why}"))
    }

    /// Creates an error from an authority's problem.
    pub(super) fn from_problem(problem: &Problem) -> Self {
        let kind = kind(problem);
        let code = match kind.as_str() {
            "rateLimited" => AcmeErrorCode::Limited,
            "serverInternal" => AcmeErrorCode::Unreachable,
            "caa" | "connection" | "dns" | "incorrectResponse" | "tls" => AcmeErrorCode::Unproven,
            _ => AcmeErrorCode::Refused,
        };
        Self::all(code, words(problem))
    }

    /// Returns true when the authority no longer knows the account.
    pub(super) fn is_of_a_lost_account(error: &Error) -> bool {
        matches!(error, Error::Api(problem) if kind(problem) == "accountDoesNotExist")
    }
}

impl From<Error> for AcmeError {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(problem) => Self::from_problem(&problem),
            Error::Timeout(_) => {
                Self::new(AcmeErrorCode::Slow, "the order was not decided in time")
            }
            Error::Crypto | Error::KeyRejected => {
                Self::from_file("the account", "its key cannot be used")
            }
            // The messages of these are the library's own, and contain no body.
            Error::Json(_) | Error::Http(_) | Error::InvalidUri(_) => Self::new(
                AcmeErrorCode::Unreachable,
                "what was answered is not what an ACME server says",
            ),
            Error::Unsupported(what) | Error::Str(what) => {
                Self::new(AcmeErrorCode::Unreachable, what)
            }
            Error::Other(error) => Self::new(AcmeErrorCode::Unreachable, innermost(error.as_ref())),
            other => Self::new(AcmeErrorCode::Unreachable, innermost(&other)),
        }
    }
}

impl fmt::Display for AcmeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says.join("; "))
    }
}

/// Lists the messages of a problem: those of its subproblems, each with its name, or its own.
pub(super) fn words(problem: &Problem) -> Vec<String> {
    let text = |kind: String, detail: Option<&str>| match detail {
        Some(detail) => format!("{kind}: {detail}"),
        None => kind,
    };
    if problem.subproblems.is_empty() {
        return vec![text(kind(problem), problem.detail.as_deref())];
    }
    let parts = problem.subproblems.iter().map(|part| {
        let kind = short(part.r#type.as_deref());
        let message = text(kind, part.detail.as_deref());
        match &part.identifier {
            Some(name) => format!("{}: {message}", name.authorized(false)),
            None => message,
        }
    });
    parts.collect()
}

fn kind(problem: &Problem) -> String {
    short(problem.r#type.as_deref())
}

fn short(kind: Option<&str>) -> String {
    let kind = kind.unwrap_or("without a type");
    kind.strip_prefix(PROBLEM_TYPE_PREFIX).unwrap_or(kind).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> AcmeError {
        AcmeError::from_problem(&tradepost_document::json::from_str(text).unwrap())
    }

    #[test]
    fn what_an_authority_says_is_sorted_and_made_harmless() {
        for (kind, code) in [
            ("rateLimited", AcmeErrorCode::Limited),
            ("serverInternal", AcmeErrorCode::Unreachable),
            ("connection", AcmeErrorCode::Unproven),
            ("caa", AcmeErrorCode::Unproven),
            ("rejectedIdentifier", AcmeErrorCode::Refused),
            ("somethingNew", AcmeErrorCode::Refused),
        ] {
            let text =
                format!(r#"{{"type": "{PROBLEM_TYPE_PREFIX}{kind}", "detail": "a\u001b[2J\nb"}}"#);
            let error = problem(&text);
            assert_eq!((error.code, error.says), (code, vec![format!("{kind}: a[2J b")]));
        }
        let long = format!(r#"{{"detail": "{}"}}"#, "x".repeat(10_000));
        assert!(problem(&long).says[0].chars().count() <= MAX_TEXT_LENGTH + 1);
    }

    #[test]
    fn all_parts_of_a_problem_are_told() {
        let error = problem(
            r#"{"type": "urn:ietf:params:acme:error:compound", "detail": "several", "subproblems": [
                {"type": "urn:ietf:params:acme:error:dns", "detail": "nowhere",
                 "identifier": {"type": "dns", "value": "a.example"}},
                {"type": "urn:ietf:params:acme:error:caa"}]}"#,
        );
        assert_eq!(error.says, ["a.example: dns: nowhere", "caa"]);
    }
}
