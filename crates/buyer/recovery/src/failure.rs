//! Failures of a request, by how far it got. Recovery first has to know whether the request was sent, because
//! only then can it have had an effect.

use std::fmt;
use std::time::Duration;

use tradepost_a2a::error::A2aCode;
use tradepost_aap as aap;
use tradepost_adcp as adcp;

use crate::challenge::Challenge;
use crate::refusal::{RefusalForm, SellerRefusal};
use crate::text::{SENTENCE, WORD, plain};

/// Maximum number of bytes of a body that are kept with a failure.
pub const MAX_KEPT: usize = 64 * 1024;

/// Failure of a call.
#[derive(Debug, thiserror::Error)]
pub enum CallFailure {
    /// The request was not sent: the seller knows nothing of it.
    #[error(transparent)]
    Unsent(Unsent),
    /// The request was sent, or may have been, and no answer came: it may have had an effect.
    #[error(transparent)]
    Unanswered(Unanswered),
    /// The answer cannot be understood: the request may have had an effect.
    #[error("{}", .0.defect)]
    Garbled(Box<Garbled>),
    /// The seller understood the request and refused it.
    #[error("{0}")]
    Refused(Box<SellerRefusal>),
}

/// Reason why a request was not sent.
#[derive(Debug)]
pub enum Unsent {
    /// The address cannot be used.
    Address(BadAddress),
    /// No connection could be made.
    Unreachable(String),
    /// The server's certificate is not trusted.
    Certificate {
        /// Host of the request.
        host: String,
        /// Problem of the certificate.
        problem: CertificateProblem,
    },
    /// The proxy did not connect to the server.
    Proxy {
        /// Host and port of the proxy.
        proxy: String,
        /// Problem of the proxy.
        why: ProxyProblem,
    },
    /// The agent cannot be used with AAP.
    // R-CARD-11
    NotAap(NotAap),
    /// The card has no supported interface: JSON-RPC of A2A 1.0 or 0.3, HTTP+JSON or gRPC of 1.0.
    NoInterface,
    /// The agent does not offer this skill.
    // R-CARD-12
    SkillNotOffered {
        /// Skill wanted.
        skill: aap::Skill,
        /// Skills that the agent offers.
        offered: Vec<aap::Skill>,
    },
    /// The request is invalid: every problem found before sending.
    Invalid(Box<aap::AapRefusal>),
    /// The arguments of an AdCP task violate the published rules: the error that the seller would send.
    Arguments(Box<adcp::error::AdcpError>),
    /// The seller does not permit this task of AdCP on the account, by its `authorization`.
    NotPermitted {
        /// Name of the task.
        task: String,
    },
    /// The arguments of an AdCP task contain a credential, at these JSON Pointers.
    //
    Credential(Vec<String>),
    /// The seller's card leads to an origin that the token is not for.
    TokenForOther {
        /// Origin to which the card leads (scheme, host and port).
        endpoint: String,
        /// Origins that the token is for.
        origins: Vec<String>,
    },
    /// This machine cannot send, for example without usable certificates.
    Setup(String),
}

/// An address that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadAddress {
    /// Address, without credentials.
    pub url: String,
    /// True when the seller's card named the address, false when the caller did.
    pub from_card: bool,
    /// Reason why it cannot be used.
    pub why: &'static str,
}

/// Reason why a proxy does not connect to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyProblem {
    /// The proxy requires other credentials than it got, or any at all.
    Credentials,
    /// A proxy for addresses without TLS does not support the HTTP/2 that gRPC needs.
    NoHttp2,
    /// The proxy cannot be reached, or refuses to connect to the server.
    NoTunnel(String),
}

/// Reason why an agent cannot be used with AAP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAap {
    /// The card names no AAP extension: the agent is a generic A2A agent.
    // R-CARD-11
    NoExtension,
    /// The agent does not support the version wanted, or none that is known here.
    OtherVersions {
        /// Version wanted, if one was.
        wanted: Option<aap::Version>,
        /// AAP extensions of the card, as sent.
        offered: Vec<String>,
    },
    /// No interface is JSON-RPC of A2A 1.0.
    NoInterface,
}

impl fmt::Display for NotAap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoExtension => {
                f.write_str("the card lists no AAP extension: a generic A2A agent")
            }
            Self::OtherVersions { wanted, offered } => {
                let offered: Vec<_> = offered.iter().map(|uri| plain(uri, 2 * WORD)).collect();
                match wanted {
                    Some(version) => write!(f, "the agent does not speak AAP {version}")?,
                    None => f.write_str("the agent speaks no version of AAP that we know")?,
                }
                write!(f, "; its card lists {}", offered.join(", "))
            }
            Self::NoInterface => f.write_str("the card has no JSONRPC interface of A2A 1.0"),
        }
    }
}

impl std::error::Error for NotAap {}

/// Reason why the certificate of a server is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateProblem {
    /// No authority that is trusted here has issued it.
    UnknownIssuer,
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate is for other hosts.
    OtherName,
    /// The issuer has revoked the certificate.
    Revoked,
    /// Anything else: the certificate is damaged, or not meant for servers.
    Unusable,
}

impl fmt::Display for CertificateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownIssuer => "nobody that is trusted here has issued it",
            Self::Expired => "it has expired",
            Self::NotYetValid => "it is not valid yet",
            Self::OtherName => "it is for another host",
            Self::Revoked => "its issuer has revoked it",
            Self::Unusable => "it cannot be used for a server",
        })
    }
}

impl ProxyProblem {
    /// Maps the error of a connection to the proxy.
    #[must_use]
    pub fn from_reason(why: String) -> Self {
        let refuses = why.ends_with("proxy authorization required");
        if refuses { Self::Credentials } else { Self::NoTunnel(why) }
    }
}

impl fmt::Display for ProxyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credentials => f.write_str("it wants a user and a password"),
            Self::NoHttp2 => f.write_str("gRPC without TLS cannot go through a proxy"),
            Self::NoTunnel(why) => f.write_str(&plain(why, SENTENCE)),
        }
    }
}

/// Reason why no answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unanswered {
    /// The time limit passed.
    TimedOut(Duration),
    /// The connection broke before an answer began.
    Broken(String),
    /// The caller stopped while waiting for the answer.
    Stopped,
}

/// Answer that cannot be understood.
#[derive(Debug)]
#[non_exhaustive]
pub struct Garbled {
    /// Defect of the answer.
    pub defect: Defect,
    /// Answer.
    pub kept: KeptResponse,
}

/// Defect of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// The body is empty.
    Empty,
    /// The body ended early.
    Truncated,
    /// The body was not complete within this time.
    Stalled(Duration),
    /// The body is larger than this limit, in bytes.
    TooLarge(usize),
    /// The answer is a redirect, which is never followed, because a request may hold personal data.
    Redirect {
        /// Target of the redirect, as sent.
        location: Option<String>,
    },
    /// The body is not UTF-8.
    NotUtf8,
    /// The body is not JSON, or is nested too deeply.
    NotJson,
    /// The document is no agent card.
    NotACard(&'static str),
    /// The document is no directory of agents.
    NotADirectory(&'static str),
    /// The body is JSON but no JSON-RPC answer.
    NotJsonRpc(&'static str),
    /// The answer has the id of another request.
    WrongId,
    /// The JSON-RPC result lacks what AAP requires.
    NotAap(&'static str),
    /// The result lacks what AdCP requires.
    NotAdcp(&'static str),
    /// The result is not one of A2A.
    NotA2a(&'static str),
}

/// Answer kept with a failure, for the diagnosis; the body is cut at [`MAX_KEPT`].
#[derive(Clone, Default)]
pub struct KeptResponse {
    /// HTTP status.
    pub status: u16,
    /// Media type, as sent.
    pub content_type: Option<String>,
    /// Beginning of the body.
    pub body: Vec<u8>,
    /// Total number of bytes that were read.
    pub length: usize,
    /// Authentication challenges of the server.
    pub challenges: Vec<Challenge>,
    /// True when the answer is to a step before the request, such as a handshake, so that the request itself
    /// was not sent.
    pub is_before_request: bool,
}

impl KeptResponse {
    /// Keeps the beginning of a body.
    #[must_use]
    pub fn new(status: u16, content_type: Option<String>, body: &[u8]) -> Self {
        Self {
            status,
            content_type,
            body: body.iter().take(MAX_KEPT).copied().collect(),
            length: body.len(),
            challenges: Vec::new(),
            is_before_request: false,
        }
    }

    /// Returns status, media type and size in a few words.
    #[must_use]
    pub fn summary(&self) -> String {
        let kind = match &self.content_type {
            Some(kind) => plain(kind, WORD),
            None => "no media type".to_owned(),
        };
        format!("HTTP {}, {kind}, {} bytes", self.status, self.length)
    }
}

// A body may hold personal data, which has no place in a log.
impl fmt::Debug for KeptResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())
    }
}

impl CallFailure {
    /// Creates the failure of an answer that cannot be understood.
    #[must_use]
    pub fn garbled(defect: Defect, kept: KeptResponse) -> Self {
        Self::Garbled(Box::new(Garbled { defect, kept }))
    }

    /// Creates the failure of an address that the caller gave and that cannot be used.
    #[must_use]
    pub fn address(url: &str, why: &'static str) -> Self {
        Self::Unsent(Unsent::Address(BadAddress { url: url.to_owned(), from_card: false, why }))
    }

    /// Returns the AdCP error object, when the seller sent one.
    #[must_use]
    pub fn adcp(&self) -> Option<&adcp::error::AdcpError> {
        let Self::Refused(refused) = self else { return None };
        let RefusalForm::Adcp(adcp) = &refused.by else { return None };
        Some(&adcp.error)
    }

    /// Returns true when the seller may have acted on the request.
    #[must_use]
    pub fn in_doubt(&self) -> bool {
        match self {
            Self::Unsent(_) => false,
            Self::Refused(refused) if refused.kept.is_before_request => false,
            Self::Garbled(garbled) if garbled.kept.is_before_request => false,
            Self::Refused(refused) => match &refused.by {
                // A gateway answers so when it has lost the connection to the seller. A server that does not
                // implement the request or its version (501, 505), or a network that requires a sign-in
                // (511), has not acted.
                RefusalForm::Http(status) => *status >= 500 && !matches!(status, 501 | 505 | 511),
                // UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE and DATA_LOSS.
                RefusalForm::Grpc { code, .. } => matches!(code, 2 | 4 | 13 | 14 | 15),
                // The seller failed while working on the request, and may have done part of it.
                RefusalForm::Protocol(error) => {
                    let ours = [A2aCode::InternalError, A2aCode::Unavailable];
                    error.code.known().is_some_and(|code| ours.contains(&code))
                }
                // The lead itself may have been received although the appointment failed (AAP 1.1,
                // "Errors").
                RefusalForm::Aap { error, .. } => {
                    error.code.known() == Some(aap::AapCode::AppointmentTimeUnavailable)
                }
                // AdCP has its own error codes for an unknown outcome.
                RefusalForm::Adcp(_) | RefusalForm::Words { .. } => false,
            },
            Self::Unanswered(_) | Self::Garbled(_) => true,
        }
    }
}

impl std::error::Error for Unsent {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let Self::Invalid(refusal) = self else { return None };
        refusal.problems.as_cause()
    }
}

impl std::error::Error for Unanswered {}

impl std::error::Error for Defect {}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(bad) => {
                let whose = if bad.from_card { "the card's address" } else { "the address" };
                write!(f, "{whose} {} {}", plain(&bad.url, 2 * WORD), bad.why)
            }
            Self::Unreachable(why) => write!(f, "cannot connect: {}", plain(why, SENTENCE)),
            Self::Certificate { host, problem } => {
                let host = plain(host, 2 * WORD);
                write!(f, "cannot connect: the certificate of {host} is not trusted: {problem}")
            }
            Self::Proxy { proxy, why } => {
                write!(f, "cannot connect through the proxy {}: {why}", plain(proxy, 2 * WORD))
            }
            Self::NotAap(not_aap) => not_aap.fmt(f),
            Self::NoInterface => f.write_str(
                "the card has no interface that we speak: JSONRPC of A2A 1.0 or 0.3, HTTP+JSON or \
                 GRPC of 1.0",
            ),
            Self::SkillNotOffered { skill, .. } => write!(f, "the agent does not offer {skill}"),
            Self::Invalid(refusal) => write!(f, "not sent: {}: {}", refusal.code, refusal.message),
            Self::NotPermitted { task } => {
                let task = plain(task, WORD);
                write!(f, "not sent: the seller does not permit {task} on the account")
            }
            Self::Arguments(error) => write!(f, "not sent: {}: {}", error.code, error.message),
            Self::Credential(places) => {
                let places: Vec<_> = places.iter().map(|place| plain(place, 2 * WORD)).collect();
                write!(f, "not sent: a credential stands at {}", places.join(", "))
            }
            Self::TokenForOther { endpoint, origins } => {
                let origins = origins.join(" and ");
                write!(
                    f,
                    "not sent: the token is for {origins}, and the request would go to {endpoint}"
                )
            }
            Self::Setup(why) => write!(f, "cannot send: {}", plain(why, SENTENCE)),
        }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(limit) => write!(f, "no answer within {} s", limit.as_secs_f64()),
            Self::Broken(why) => {
                write!(f, "the connection broke before an answer: {}", plain(why, SENTENCE))
            }
            Self::Stopped => f.write_str("stopped before an answer"),
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the answer is empty"),
            Self::Truncated => f.write_str("the answer ended early"),
            Self::Stalled(limit) => {
                write!(f, "the answer was not complete within {} s", limit.as_secs_f64())
            }
            Self::TooLarge(limit) => write!(f, "the answer is larger than {limit} bytes"),
            Self::Redirect { location } => {
                f.write_str("the answer is a redirect, which is not followed")?;
                match location {
                    Some(location) => write!(f, ": {}", plain(location, 2 * WORD)),
                    None => Ok(()),
                }
            }
            Self::NotUtf8 => f.write_str("the answer is not valid UTF-8"),
            Self::NotJson => f.write_str("the answer is not valid JSON"),
            Self::NotACard(why) => write!(f, "the answer is no agent card: {why}"),
            Self::NotADirectory(why) => write!(f, "the answer is no directory of agents: {why}"),
            Self::NotJsonRpc(why) => write!(f, "the answer is not JSON-RPC 2.0: {why}"),
            Self::WrongId => f.write_str("the answer has the id of another request"),
            Self::NotAap(why) => write!(f, "the answer is not AAP: {why}"),
            Self::NotAdcp(why) => write!(f, "the answer is not AdCP: {why}"),
            Self::NotA2a(why) => write!(f, "the answer is not A2A: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_beginning_of_answers_is_kept_and_never_logged() {
        let body = b"ada@example.com ".repeat(10_000);
        let kept = KeptResponse::new(200, Some("text/\u{1b}html".into()), &body);
        assert_eq!((kept.body.len(), kept.length), (MAX_KEPT, 160_000));
        let garbled = CallFailure::garbled(Defect::NotJson, kept);
        assert!(!format!("{garbled:?} {garbled}").contains("ada@"));
        assert!(format!("{garbled:?}").contains("HTTP 200, text/html, 160000 bytes"));
    }

    #[test]
    fn only_what_left_the_building_may_have_had_an_effect() {
        let unsent = CallFailure::address("ftp://x", "is no web address");
        let timed_out = CallFailure::Unanswered(Unanswered::TimedOut(Duration::from_secs(1)));
        let refused = |status| {
            let by = RefusalForm::Http(status);
            let retry_after = None;
            let kept = KeptResponse::default();
            CallFailure::Refused(Box::new(SellerRefusal { by, retry_after, kept }))
        };
        assert!(refused(504).in_doubt());
        assert!(![501, 505, 511].iter().any(|status| refused(*status).in_doubt()));
        assert!(!refused(401).in_doubt());
        assert!(!unsent.in_doubt());
        assert!(timed_out.in_doubt());
        assert_eq!(timed_out.to_string(), "no answer within 1 s");
    }
}
