//! Failures of calls to a seller, for people and programs: every failure of the buyer's client
//! becomes a [`CommandFailure`] with its exit code.

use tradepost_a2a as a2a;
use tradepost_aap as aap;
use tradepost_aap::error::ReceivedRefusal;
use tradepost_adcp as adcp;
use tradepost_adcp::error::{Recovery, RecoveryRule};
use tradepost_client::card::NotAap;
use tradepost_client::challenge::Challenge;
use tradepost_client::failure::{self, Garbled, ProxyProblem, Unsent};
use tradepost_client::record::of_code;
use tradepost_client::refusal::{Adcp, ProtocolError, RefusalForm, SellerRefusal};
use tradepost_client::text::{SENTENCE, WORD, plain};
use tradepost_client::transport::CertificateProblem;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_document::problem::MAX_LISTED;

use super::{CommandFailure, UNTRUSTED, in_doubt};

const INVALID: u8 = 3;
const NOT_FOUND: u8 = 4;
const CONSENT: u8 = 5;
const CONFLICT: u8 = 6;
const LATER: u8 = 7;
const UNSUPPORTED: u8 = 8;
const OTHER: u8 = 9;
/// Advice for a code from a later version of its catalog.
const NEW_TO_US: &str = "act on the seller's message; this version does not know the code";

/// Exit code when there is no usable answer.
pub const NO_ANSWER: u8 = 10;

/// Returns the exit code of a refusal with this AAP code.
#[must_use]
pub fn exit_of_aap(code: aap::AapCode) -> u8 {
    use aap::error::Remedy;
    match code.remedy() {
        Remedy::Correct => INVALID,
        Remedy::SearchAgain => NOT_FOUND,
        Remedy::AskConsent => CONSENT,
        Remedy::AskTime | Remedy::NewKey => CONFLICT,
        Remedy::SlowDown | Remedy::TryAgain => LATER,
        Remedy::NotOffered => UNSUPPORTED,
    }
}

/// Returns the exit code of a refusal with this code of A2A or JSON-RPC.
#[must_use]
pub fn exit_of_a2a(code: a2a::error::A2aCode) -> u8 {
    use a2a::error::A2aCode;
    match code {
        A2aCode::ParseError | A2aCode::InvalidRequest | A2aCode::InvalidParams => INVALID,
        A2aCode::TaskNotFound => NOT_FOUND,
        A2aCode::InternalError | A2aCode::Unavailable | A2aCode::ResourceExhausted => LATER,
        A2aCode::MethodNotFound
        | A2aCode::PushNotificationNotSupported
        | A2aCode::UnsupportedOperation
        | A2aCode::ContentTypeNotSupported
        | A2aCode::ExtendedAgentCardNotConfigured
        | A2aCode::ExtensionSupportRequired
        | A2aCode::VersionNotSupported => UNSUPPORTED,
        A2aCode::TaskNotCancelable
        | A2aCode::InvalidAgentResponse
        | A2aCode::Unauthenticated
        | A2aCode::PermissionDenied => OTHER,
    }
}

/// Returns the exit code of a refusal with this AdCP code: by its recovery class, then by the rule
/// of the code, then by its name when the requested item does not exist.
#[must_use]
pub fn exit_of_adcp(code: adcp::error::AdcpCode, recovery: Recovery) -> u8 {
    if recovery == Recovery::Transient && code.rule().permits_repeating() {
        return LATER;
    }
    match code.rule() {
        RecoveryRule::Throttled | RecoveryRule::InFlight => LATER,
        RecoveryRule::Reread | RecoveryRule::NewKey | RecoveryRule::Reconcile => CONFLICT,
        RecoveryRule::Credentials
        | RecoveryRule::Renewal
        | RecoveryRule::Permission
        | RecoveryRule::Scope
        | RecoveryRule::Gate
        | RecoveryRule::Misconfigured
        | RecoveryRule::Leak
        | RecoveryRule::Never
        | RecoveryRule::Final
        | RecoveryRule::Seller
        | RecoveryRule::Advisory
        | RecoveryRule::Setup
        | RecoveryRule::Person
        | RecoveryRule::AgentBilling => OTHER,
        RecoveryRule::Class
        | RecoveryRule::Context
        | RecoveryRule::Strip
        | RecoveryRule::Billing
        | RecoveryRule::Action
        | RecoveryRule::Moved => {
            let name = code.name();
            if name.ends_with("_NOT_FOUND") {
                NOT_FOUND
            } else if recovery == Recovery::Terminal {
                OTHER
            } else if name.contains("UNSUPPORTED") || name.contains("NOT_SUPPORTED") {
                UNSUPPORTED
            } else {
                INVALID
            }
        }
    }
}

impl From<failure::CallFailure> for CommandFailure {
    fn from(failure: failure::CallFailure) -> Self {
        let doubt = in_doubt(failure.in_doubt());
        let message = failure.to_string();
        let (kind, out) = match failure {
            failure::CallFailure::Unsent(unsent) => ("unsent", from_unsent(message, unsent)),
            failure::CallFailure::Unanswered(_) => {
                let hint = "try again, or allow more time with --timeout";
                ("unanswered", Self::new(NO_ANSWER, message).hint(hint))
            }
            failure::CallFailure::Garbled(garbled) => ("garbled", from_garbled(message, &garbled)),
            failure::CallFailure::Refused(refused) => ("refused", from_refused(message, &refused)),
        };
        let more = out.data.clone().unwrap_or_else(|| json!({}));
        out.data(json!({"kind": kind})).with_facts(doubt).with_facts(more)
    }
}

fn from_unsent(message: String, unsent: Unsent) -> CommandFailure {
    match unsent {
        Unsent::Address(bad) if bad.from_card => CommandFailure::new(NO_ANSWER, message)
            .hint("tell the seller that its agent card names a URL that is not safe to use"),
        Unsent::Address(_) => CommandFailure::usage(message)
            .hint("give the base address of an agent, such as https://dealer.example"),
        Unsent::Unreachable(_) => CommandFailure::new(NO_ANSWER, message)
            .hint("check the address, and whether the agent is running"),
        Unsent::Certificate { problem, .. } => {
            CommandFailure::new(NO_ANSWER, message).hint(of_certificate(problem))
        }
        Unsent::Proxy { why, .. } => CommandFailure::new(NO_ANSWER, message).hint(of_proxy(&why)),
        Unsent::NotAap(not_aap) => from_not_aap(message, &not_aap),
        Unsent::NoInterface => CommandFailure::new(NO_ANSWER, message)
            .hint("run tradepost discover for the agent's interfaces"),
        Unsent::SkillNotOffered { offered, .. } => {
            let offered: Vec<_> = offered.iter().map(|skill| skill.name()).collect();
            let hint = match offered.join(", ").as_str() {
                "" => "its card lists no AAP skill; send the request anyway with --no-check".into(),
                offered => format!("its card lists {offered}; send anyway with --no-check"),
            };
            CommandFailure::new(UNSUPPORTED, message).hint(hint).data(json!({"offered": offered}))
        }
        Unsent::Invalid(refusal) => {
            let hint = if refusal.problems.is_empty() {
                format!("{}; or send anyway with --no-check", refusal.code.hint())
            } else {
                "correct every problem listed, or send anyway with --no-check".to_owned()
            };
            let problems = refusal.problems.listed().iter();
            let mut lines: Vec<_> =
                problems.map(|p| problem_line(&p.pointer, p.keyword.name(), &p.message)).collect();
            push_more(&mut lines, refusal.problems.total());
            // Under the same member as in a seller's refusal.
            let mut details = refusal.details;
            if !refusal.problems.is_empty() {
                details.insert("errors".into(), json!(refusal.problems.listed()));
            }
            let data = json!({"code": refusal.code.name(), "details": details});
            CommandFailure::usage(message).hint(hint).lines(lines).data(data)
        }
        Unsent::Arguments(error) => {
            let issues = error.issues.iter();
            let lines = issues
                .map(|issue| problem_line(&issue.pointer, &issue.keyword, &issue.message));
            CommandFailure::usage(message)
                .hint("correct every problem listed, or send anyway with --no-check")
                .lines(lines.collect())
                .data(json!({"code": error.code.name(), "error": error}))
        }
        Unsent::NotPermitted { .. } => {
            CommandFailure::new(OTHER, message).hint("ask the seller's operator for the scope")
        }
        Unsent::Credential(_) => {
            CommandFailure::usage(message).hint("give the credential with --token, never as an argument")
        }
        Unsent::TokenForOther { endpoint, .. } => CommandFailure::new(UNTRUSTED, message).hint(format!(
            "if the token is for it, add --token-for {endpoint} (or, if the command has --keys, give the key that signed the card)"
        )),
        Unsent::Setup(_) => CommandFailure::new(1, message),
    }
}

/// Returns the advice for a certificate that is not trusted.
fn of_certificate(problem: CertificateProblem) -> &'static str {
    match problem {
        CertificateProblem::UnknownIssuer => {
            "if you trust its issuer (a private authority, or a proxy that reads TLS), give the issuer's \
             certificate with --ca FILE; otherwise do not use the address"
        }
        CertificateProblem::Expired => {
            "tell the seller to renew it; check that the clock of this machine is right"
        }
        CertificateProblem::NotYetValid => "check that the clock of this machine is right",
        CertificateProblem::OtherName => {
            "check that the address is right; if it is, the seller's certificate must name its host"
        }
        CertificateProblem::Revoked => "do not use the address; tell the seller",
        CertificateProblem::Unusable => "tell the seller to replace its certificate",
    }
}

/// Returns the advice for a proxy that lets nothing through.
fn of_proxy(why: &ProxyProblem) -> &'static str {
    match why {
        ProxyProblem::Credentials => {
            "put its user and password into the variable that names it: http://USER:PASSWORD@HOST:PORT"
        }
        ProxyProblem::NoHttp2 => "name the host in NO_PROXY, or use another binding than GRPC",
        ProxyProblem::NoTunnel(_) => {
            "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or ask the operator of the proxy"
        }
    }
}

fn from_not_aap(message: String, not_aap: &NotAap) -> CommandFailure {
    let (exit, hint) = match not_aap {
        NotAap::NoExtension => (NO_ANSWER, "describe your request in words, with --text"),
        NotAap::OtherVersions { .. } => {
            (UNSUPPORTED, "run tradepost discover for the protocols that the agent supports")
        }
        NotAap::NoInterface => (NO_ANSWER, "run tradepost discover for the agent's interfaces"),
    };
    CommandFailure::new(exit, message).hint(hint)
}

fn from_garbled(message: String, garbled: &Garbled) -> CommandFailure {
    // Enough to recognise the response: the whole body may be megabytes of a web page.
    let beginning: Vec<u8> = garbled.kept.body.iter().take(2_000).copied().collect();
    let beginning = plain(&String::from_utf8_lossy(&beginning), 2 * WORD);
    let mut lines = vec![garbled.kept.summary()];
    if !beginning.is_empty() {
        lines.push(format!("begins: {beginning}"));
    }
    CommandFailure::new(NO_ANSWER, message)
        .hint("check that the address is that of an A2A v1.0 agent")
        .lines(lines)
        .data(json!({"http_status": garbled.kept.status}))
}

fn from_refused(message: String, refused: &SellerRefusal) -> CommandFailure {
    let mut out = match &refused.by {
        RefusalForm::Aap { jsonrpc, error } => from_received(message, *jsonrpc, error, refused),
        RefusalForm::Protocol(error) => from_protocol(message, error, refused),
        RefusalForm::Adcp(error) => from_adcp(message, error),
        RefusalForm::Grpc { code, .. } => {
            let failure = CommandFailure::new(family_of_unknown(refused), message);
            failure.hint("act on the seller's message").data(json!({"grpc_status": code}))
        }
        RefusalForm::Http(status) => from_status(message, *status),
        RefusalForm::Words { malformed, .. } => {
            let why = malformed.map(|why| format!("the error object {}", why.why()));
            let failure = CommandFailure::new(OTHER, message).hint("act on the seller's message");
            failure.lines(why.into_iter().collect()).data(json!({}))
        }
    };
    let challenges = refused.challenges();
    for challenge in &challenges {
        out.lines.push(format!("required authentication: {challenge}"));
    }
    let challenges: Vec<_> = challenges.iter().map(Challenge::document).collect();
    let waiting = refused.retry_after.map(|delay| format!("{} s", delay.as_secs_f64()));
    out.lines.push(match (refused.is_retryable(), waiting) {
        (true, Some(delay)) => format!("retry: the same request may succeed after {delay}"),
        (true, None) => "retry: the same request may succeed later".to_owned(),
        (false, _) => "retry: no, the same request would be refused again".to_owned(),
    });
    out.with_facts(object!({
        "retryable": refused.is_retryable(),
        "retry_after_ms"?: refused.retry_after.map(|delay| RetryAfter::new(delay).milliseconds()),
        "challenges"?: Some(challenges).filter(|challenges| !challenges.is_empty()),
        "http_status"?: Some(refused.kept.status).filter(|status| *status != 0),
    }))
}

fn from_received(
    message: String,
    jsonrpc: i64,
    error: &ReceivedRefusal,
    refused: &SellerRefusal,
) -> CommandFailure {
    let problems = error.problems().take(MAX_LISTED);
    let mut lines: Vec<_> =
        problems.map(|(pointer, word, text)| problem_line(pointer, word.name(), text)).collect();
    push_more(&mut lines, error.problems().count());
    for (name, value) in error.details.as_object().into_iter().flatten().take(MAX_LISTED) {
        // The problems are listed above, and the delay is in the hint below.
        if !matches!(name.as_str(), "errors" | "retry_after_ms" | "retry_after_seconds") {
            lines.push(format!("details.{}: {}", plain(name, WORD), detail(value)));
        }
    }
    if !error.error_id.is_empty() {
        lines.push(format!("error id: {}", plain(&error.error_id, WORD)));
    }
    let data = object!({
        "code": error.code.name(), "jsonrpc_code": jsonrpc, "error_id": error.error_id,
        "details"?: Some(&error.details).filter(|details| !details.is_null()),
    });
    let (exit, hint) = match error.code.known() {
        Some(code) => (exit_of_aap(code), code.hint()),
        None => (family_of_unknown(refused), NEW_TO_US),
    };
    CommandFailure::new(exit, message).hint(hint).lines(lines).data(data)
}

fn from_adcp(message: String, adcp: &Adcp) -> CommandFailure {
    let error = &adcp.error;
    // Our own line first: the seller's message may be in a language the reader does not know.
    let mut lines = vec![of_code(error)];
    let issues = error.issues.iter().take(MAX_LISTED);
    lines.extend(issues.map(|issue| problem_line(&issue.pointer, &issue.keyword, &issue.message)));
    push_more(&mut lines, error.issues.len());
    // The issues name their fields themselves.
    let field = error.field.as_deref().filter(|_| error.issues.is_empty());
    lines.extend(field.map(|field| format!("field: {}", plain(field, 2 * WORD))));
    for (name, value) in error.details.iter().take(MAX_LISTED) {
        lines.push(format!("details.{}: {}", plain(name, WORD), detail(value)));
    }
    let suggestion = error.suggestion.as_deref();
    lines.extend(suggestion.map(|text| format!("the seller suggests: {}", plain(text, SENTENCE))));
    let data = json!({
        "code": error.code.name(), "recovery": error.class().name(), "jsonrpc_code": adcp.jsonrpc,
        "sentence": of_code(error), "error": error,
    });
    let (exit, hint) = match error.code.known() {
        Some(code) => (exit_of_adcp(code, error.class()), code.hint()),
        None if error.class() == Recovery::Transient => (LATER, NEW_TO_US),
        None => (OTHER, NEW_TO_US),
    };
    CommandFailure::new(exit, message).hint(hint).lines(lines).data(data)
}

fn from_protocol(
    message: String,
    error: &ProtocolError,
    refused: &SellerRefusal,
) -> CommandFailure {
    let mut lines = Vec::new();
    for violation in error.violations.iter().take(MAX_LISTED) {
        let field = plain(&violation.field, 2 * WORD);
        lines.push(format!("{field}: {}", plain(&violation.description, SENTENCE)));
    }
    push_more(&mut lines, error.violations.len());
    for (name, value) in error.metadata.iter().take(MAX_LISTED) {
        lines.push(format!("{}: {}", plain(name, WORD), plain(value, SENTENCE)));
    }
    let violations = error.violations.iter();
    let violations = violations.map(|v| json!({"field": v.field, "description": v.description}));
    let violations: Vec<_> = violations.collect();
    let metadata: Map =
        error.metadata.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let data = json!({
        "code": error.code.name(), "jsonrpc_code": error.jsonrpc, "reason": error.reason,
        "metadata": metadata, "violations": violations,
    });
    let (exit, hint) = match error.code.known() {
        Some(code) => (exit_of_a2a(code), code.hint()),
        None => (family_of_unknown(refused), NEW_TO_US),
    };
    CommandFailure::new(exit, message).hint(hint).lines(lines).data(data)
}

fn family_of_unknown(refused: &SellerRefusal) -> u8 {
    if refused.is_retryable() { LATER } else { OTHER }
}

/// Converts a bare HTTP status: a wrong path must not look like a vehicle that was removed.
fn from_status(message: String, status: u16) -> CommandFailure {
    let (exit, hint) = match status {
        401 | 403 | 407 => (OTHER, "give a token that the seller accepts with --token"),
        408 | 425 | 429 | 500 | 502 | 503 | 504 => (LATER, "try again later"),
        404 | 405 | 410 => (NO_ANSWER, "check the address; no agent answers there"),
        _ => (NO_ANSWER, "check that the address is that of an A2A v1.0 agent"),
    };
    CommandFailure::new(exit, message).hint(hint).data(json!({}))
}

fn problem_line(pointer: &str, keyword: &str, text: &str) -> String {
    let pointer = plain(pointer, 2 * WORD);
    let place = if pointer.is_empty() { "the request" } else { pointer.as_str() };
    format!("{place}: {} ({})", plain(text, SENTENCE), plain(keyword, WORD))
}

fn push_more(lines: &mut Vec<String>, total: usize) {
    if total > MAX_LISTED {
        lines.push(format!("and {} more", total - MAX_LISTED));
    }
}

fn detail(value: &Value) -> String {
    let items = value.as_array().map(Vec::as_slice);
    let text = match (value.as_str(), items) {
        (Some(text), _) => text.to_owned(),
        (None, Some(items)) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        (None, _) => value.to_string(),
    };
    plain(&text, SENTENCE)
}

#[cfg(test)]
mod tests;
