//! What went wrong with a seller, for people and programs: every failure of the buyer's client
//! becomes a [`Failure`] with its exit code.

use std::time::Duration;

use tradepost_buyer::card::NotAap;
use tradepost_buyer::failure::{self, Garbled, Unsent};
use tradepost_buyer::record::of_code;
use tradepost_buyer::refusal::{Adcp, By, ProtocolError, Refused};
use tradepost_buyer::text::{SENTENCE, WORD, plain};
use tradepost_wire::aap::error::Received;
use tradepost_wire::adcp::error::{Recovery, Rule};
use tradepost_wire::catalog::Vocabulary;
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::problem::MAX_LISTED;
use tradepost_wire::{a2a, aap, adcp};

use super::{Failure, UNTRUSTED, in_doubt};

const INVALID: u8 = 3;
const NOT_FOUND: u8 = 4;
const CONSENT: u8 = 5;
const CONFLICT: u8 = 6;
const LATER: u8 = 7;
const UNSUPPORTED: u8 = 8;
const OTHER: u8 = 9;
/// What is said of a code that a later version of its catalog has.
const NEW_TO_US: &str = "act on what the seller says; the code is new to us";

/// No usable answer.
pub const NO_ANSWER: u8 = 10;

/// The exit code of a refusal with this AAP code.
#[must_use]
pub fn exit_of_aap(code: aap::Code) -> u8 {
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

/// The exit code of a refusal with this code of A2A or JSON-RPC.
#[must_use]
pub fn exit_of_a2a(code: a2a::error::Code) -> u8 {
    use a2a::error::Code;
    match code {
        Code::ParseError | Code::InvalidRequest | Code::InvalidParams => INVALID,
        Code::TaskNotFound => NOT_FOUND,
        Code::InternalError | Code::Unavailable | Code::ResourceExhausted => LATER,
        Code::MethodNotFound
        | Code::PushNotificationNotSupported
        | Code::UnsupportedOperation
        | Code::ContentTypeNotSupported
        | Code::ExtendedAgentCardNotConfigured
        | Code::ExtensionSupportRequired
        | Code::VersionNotSupported => UNSUPPORTED,
        Code::TaskNotCancelable
        | Code::InvalidAgentResponse
        | Code::Unauthenticated
        | Code::PermissionDenied => OTHER,
    }
}

/// The exit code of a refusal with this AdCP code: by how one recovers, then by the rule of the
/// code, then by its name where what was asked for is not there.
#[must_use]
pub fn exit_of_adcp(code: adcp::error::Code, recovery: Recovery) -> u8 {
    if recovery == Recovery::Transient && code.rule().permits_repeating() {
        return LATER;
    }
    match code.rule() {
        Rule::Throttled | Rule::InFlight => LATER,
        Rule::Reread | Rule::NewKey | Rule::Reconcile => CONFLICT,
        Rule::Credentials
        | Rule::Renewal
        | Rule::Permission
        | Rule::Scope
        | Rule::Gate
        | Rule::Misconfigured
        | Rule::Leak
        | Rule::Never
        | Rule::Final
        | Rule::Seller
        | Rule::Advisory
        | Rule::Setup
        | Rule::Person
        | Rule::AgentBilling => OTHER,
        Rule::Class | Rule::Context | Rule::Strip | Rule::Billing | Rule::Action | Rule::Moved => {
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

impl From<failure::Failure> for Failure {
    fn from(failure: failure::Failure) -> Self {
        let doubt = in_doubt(failure.in_doubt());
        let message = failure.to_string();
        let (kind, out) = match failure {
            failure::Failure::Unsent(unsent) => ("unsent", from_unsent(message, unsent)),
            failure::Failure::Unanswered(_) => {
                let hint = "try again, or allow more time with --timeout";
                ("unanswered", Self::new(NO_ANSWER, message).hint(hint))
            }
            failure::Failure::Garbled(garbled) => ("garbled", from_garbled(message, &garbled)),
            failure::Failure::Refused(refused) => ("refused", from_refused(message, &refused)),
        };
        let more = out.data.clone().unwrap_or_else(|| json!({}));
        out.data(json!({"kind": kind})).with_facts(doubt).with_facts(more)
    }
}

fn from_unsent(message: String, unsent: Unsent) -> Failure {
    match unsent {
        Unsent::Address(bad) if bad.from_card => Failure::new(NO_ANSWER, message)
            .hint("tell the seller; its agent card leads to an address that is not safe to use"),
        Unsent::Address(_) => Failure::usage(message)
            .hint("give the base address of an agent, such as https://dealer.example"),
        Unsent::Unreachable(_) => Failure::new(NO_ANSWER, message)
            .hint("check the address, and whether the agent is running"),
        Unsent::NotAap(not_aap) => from_not_aap(message, &not_aap),
        Unsent::NoInterface => Failure::new(NO_ANSWER, message)
            .hint("run tradepost discover for the agent's interfaces"),
        Unsent::SkillNotOffered { offered, .. } => {
            let offered: Vec<_> = offered.iter().map(|skill| skill.name()).collect();
            let hint = match offered.join(", ").as_str() {
                "" => "its card lists no AAP skill; send the request anyway with --no-check".into(),
                offered => format!("its card lists {offered}; send anyway with --no-check"),
            };
            Failure::new(UNSUPPORTED, message).hint(hint).data(json!({"offered": offered}))
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
            // In the place where a seller's refusal has them.
            let mut details = refusal.details;
            if !refusal.problems.is_empty() {
                details.insert("errors".into(), json!(refusal.problems.listed()));
            }
            let data = json!({"code": refusal.code.name(), "details": details});
            Failure::usage(message).hint(hint).lines(lines).data(data)
        }
        Unsent::Arguments(error) => {
            let issues = error.issues.iter();
            let lines = issues.map(|it| problem_line(&it.pointer, &it.keyword, &it.message));
            Failure::usage(message)
                .hint("correct every problem listed, or send anyway with --no-check")
                .lines(lines.collect())
                .data(json!({"code": error.code.name(), "error": error}))
        }
        Unsent::NotPermitted { .. } => {
            Failure::new(OTHER, message).hint("ask the seller's operator for the scope")
        }
        Unsent::Credential(_) => {
            Failure::usage(message).hint("give the credential with --token, never as an argument")
        }
        Unsent::TokenForOther { endpoint, .. } => Failure::new(UNTRUSTED, message).hint(format!(
            "if the token is for it, say so: --token-for {endpoint}; a card that a key of --keys has signed may lead there, too"
        )),
        Unsent::Setup(_) => Failure::new(1, message),
    }
}

fn from_not_aap(message: String, not_aap: &NotAap) -> Failure {
    let (exit, hint) = match not_aap {
        NotAap::NoExtension => (NO_ANSWER, "say what you want in words, with --text"),
        NotAap::OtherVersions { .. } => {
            (UNSUPPORTED, "run tradepost discover for what the agent speaks")
        }
        NotAap::NoInterface => (NO_ANSWER, "run tradepost discover for the agent's interfaces"),
    };
    Failure::new(exit, message).hint(hint)
}

fn from_garbled(message: String, garbled: &Garbled) -> Failure {
    // Enough to see what answered there: the whole body may be megabytes of a web page.
    let beginning: Vec<u8> = garbled.kept.body.iter().take(2_000).copied().collect();
    let beginning = plain(&String::from_utf8_lossy(&beginning), 2 * WORD);
    let mut lines = vec![garbled.kept.summary()];
    if !beginning.is_empty() {
        lines.push(format!("begins: {beginning}"));
    }
    Failure::new(NO_ANSWER, message)
        .hint("check that the address is that of an A2A v1.0 agent")
        .lines(lines)
        .data(json!({"http_status": garbled.kept.status}))
}

fn from_refused(message: String, refused: &Refused) -> Failure {
    let mut out = match &refused.by {
        By::Aap { jsonrpc, error } => from_received(message, *jsonrpc, error, refused),
        By::Protocol(error) => from_protocol(message, error, refused),
        By::Adcp(error) => from_adcp(message, error),
        By::Grpc { code, .. } => {
            let failure = Failure::new(family_of_unknown(refused), message);
            failure.hint("act on what the seller says").data(json!({"grpc_status": code}))
        }
        By::Http(status) => from_status(message, *status),
        By::Words { malformed, .. } => {
            let why = malformed.map(|why| format!("the error object {}", why.why()));
            let failure = Failure::new(OTHER, message).hint("act on what the seller says");
            failure.lines(why.into_iter().collect()).data(json!({}))
        }
    };
    let waiting = refused.retry_after.map(|delay| format!("{} s", delay.as_secs_f64()));
    out.lines.push(match (refused.is_retryable(), waiting) {
        (true, Some(delay)) => format!("retry: the same request may succeed after {delay}"),
        (true, None) => "retry: the same request may succeed later".to_owned(),
        (false, _) => "retry: no, the same request would be refused again".to_owned(),
    });
    let milliseconds = |delay: Duration| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    out.with_facts(json!({
        "retryable": refused.is_retryable(),
        "retry_after_ms"?: refused.retry_after.map(milliseconds),
        "http_status"?: Some(refused.kept.status).filter(|status| *status != 0),
    }))
}

fn from_received(message: String, jsonrpc: i64, error: &Received, refused: &Refused) -> Failure {
    let problems = error.problems().take(MAX_LISTED);
    let mut lines: Vec<_> =
        problems.map(|(pointer, word, text)| problem_line(pointer, word.name(), text)).collect();
    push_more(&mut lines, error.problems().count());
    for (name, value) in error.details.as_object().into_iter().flatten().take(MAX_LISTED) {
        // The problems are listed above, and the delay is the advice below.
        if !matches!(name.as_str(), "errors" | "retry_after_ms" | "retry_after_seconds") {
            lines.push(format!("details.{}: {}", plain(name, WORD), detail(value)));
        }
    }
    if !error.error_id.is_empty() {
        lines.push(format!("error id: {}", plain(&error.error_id, WORD)));
    }
    let data = json!({
        "code": error.code.name(), "jsonrpc_code": jsonrpc, "error_id": error.error_id,
        "details"?: Some(&error.details).filter(|details| !details.is_null()),
    });
    let (exit, hint) = match error.code.known() {
        Some(code) => (exit_of_aap(code), code.hint()),
        None => (family_of_unknown(refused), NEW_TO_US),
    };
    Failure::new(exit, message).hint(hint).lines(lines).data(data)
}

fn from_adcp(message: String, adcp: &Adcp) -> Failure {
    let error = &adcp.error;
    // The first line for people: what the seller says may be in no language of theirs.
    let mut lines = vec![of_code(error)];
    let issues = error.issues.iter().take(MAX_LISTED);
    lines.extend(issues.map(|it| problem_line(&it.pointer, &it.keyword, &it.message)));
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
    Failure::new(exit, message).hint(hint).lines(lines).data(data)
}

fn from_protocol(message: String, error: &ProtocolError, refused: &Refused) -> Failure {
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
    Failure::new(exit, message).hint(hint).lines(lines).data(data)
}

fn family_of_unknown(refused: &Refused) -> u8 {
    if refused.is_retryable() { LATER } else { OTHER }
}

/// A bare status says little: a wrong path must not look like a vehicle that is gone.
fn from_status(message: String, status: u16) -> Failure {
    let (exit, hint) = match status {
        401 | 403 | 407 => (OTHER, "give a token that the seller accepts with --token"),
        408 | 425 | 429 | 500 | 502 | 503 | 504 => (LATER, "try again later"),
        404 | 410 => (NO_ANSWER, "check the address; no agent answers there"),
        _ => (NO_ANSWER, "check that the address is that of an A2A v1.0 agent"),
    };
    Failure::new(exit, message).hint(hint).data(json!({}))
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
mod tests {
    use expect_test::{Expect, expect};
    use tradepost_buyer::failure::{Defect, Kept, Unanswered};
    use tradepost_buyer::refusal;
    use tradepost_buyer::text::escape_json;

    use super::*;

    fn check(failure: failure::Failure, expected: &Expect) {
        let Failure { exit, message, hint, lines, data, already_shown: _ } = failure.into();
        let hint = hint.unwrap_or_default();
        let lines = lines.iter().map(|line| format!("  {line}\n")).collect::<String>();
        // As the printer writes it.
        let data = escape_json(&data.unwrap().to_string());
        expected.assert_eq(&format!("{exit} {message}\n{lines}hint: {hint}\n{data}\n"));
    }

    fn refused(error: &Value) -> failure::Failure {
        let kept = Kept::new(200, None, b"");
        let delay = Some(Duration::from_secs(2));
        failure::Failure::Refused(Box::new(refusal::read(error, delay, kept).unwrap()))
    }

    #[test]
    fn an_aap_error_shows_every_problem_and_what_to_do() {
        let error = json!({"code": -32602, "message": "SCHEMA_VALIDATION_FAILED: 2 errors", "data": {
            "type": "aap.error", "error_id": "err_1", "code": "SCHEMA_VALIDATION_FAILED",
            "message": "2 errors", "retryable": false, "details": {"errors": [
                {"instanceLocation": "/filters/make", "keyword": "type", "error": "must be array"},
                {"instanceLocation": "", "keyword": "new\u{1b}", "error": "\u{202e}bad\r\nline"},
            ], "allowed": ["a", "b"], "total": 2}}});
        check(
            refused(&error),
            &expect![[r#"
                3 SCHEMA_VALIDATION_FAILED: 2 errors
                  /filters/make: must be array (type)
                  the request: bad line (new)
                  details.allowed: a, b
                  details.total: 2
                  error id: err_1
                  retry: no, the same request would be refused again
                hint: correct every entry of details.errors and send again
                {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"SCHEMA_VALIDATION_FAILED","jsonrpc_code":-32602,"error_id":"err_1","details":{"errors":[{"instanceLocation":"/filters/make","keyword":"type","error":"must be array"},{"instanceLocation":"","keyword":"new\u001b","error":"\u202ebad\r\nline"}],"allowed":["a","b"],"total":2},"retryable":false,"retry_after_ms":2000,"http_status":200}
            "#]],
        );
    }

    #[test]
    fn an_adcp_error_shows_what_is_wrong_and_whether_to_come_back() {
        let error = json!({"code": -32000, "message": "x", "data": {"adcp_error": {
            "code": "VALIDATION_ERROR", "message": "2 \u{202e}problems", "recovery": "correctable",
            "field": "packages[0].budget", "suggestion": "send\na number", "retry_after": 5,
            "issues": [{"pointer": "/packages/0/budget", "keyword": "type", "message": "no number"}],
            "details": {"accepted_values": ["a", "b"]}}}});
        check(
            refused(&error),
            &expect![[r#"
            3 VALIDATION_ERROR: 2 problems
              Values of the request are wrong, or break a rule of the business.
              /packages/0/budget: no number (type)
              details.accepted_values: a, b
              the seller suggests: send a number
              retry: no, the same request would be refused again
            hint: correct every entry of issues and send again
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"VALIDATION_ERROR","recovery":"correctable","jsonrpc_code":-32000,"sentence":"Values of the request are wrong, or break a rule of the business.","error":{"code":"VALIDATION_ERROR","message":"2 \u202eproblems","recovery":"correctable","field":"packages[0].budget","suggestion":"send\na number","retry_after":5,"issues":[{"pointer":"/packages/0/budget","message":"no number","keyword":"type"}],"details":{"accepted_values":["a","b"]}},"retryable":false,"retry_after_ms":5000,"http_status":200}
        "#]],
        );
        let hasty = json!({"code": -32000, "message": "x", "data": {"adcp_error": {
            "code": "CONFIGURATION_ERROR", "message": "no upstream", "recovery": "transient"}}});
        check(
            refused(&hasty),
            &expect![[r#"
            9 CONFIGURATION_ERROR: no upstream
              The seller is set up wrongly; neither waiting nor another request helps.
              retry: no, the same request would be refused again
            hint: tell the people who run the seller
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"CONFIGURATION_ERROR","recovery":"transient","jsonrpc_code":-32000,"sentence":"The seller is set up wrongly; neither waiting nor another request helps.","error":{"code":"CONFIGURATION_ERROR","message":"no upstream","recovery":"transient"},"retryable":false,"retry_after_ms":2000,"http_status":200}
        "#]],
        );
        let unknown = json!({"code": -32000, "message": "x", "data": {"adcp_error": {
            "code": "X_ACME_NEW", "message": "later"}}});
        check(
            refused(&unknown),
            &expect![[r#"
            7 X_ACME_NEW: later
              The seller cannot do this at the moment.
              retry: the same request may succeed after 2 s
            hint: act on what the seller says; the code is new to us
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"X_ACME_NEW","recovery":"transient","jsonrpc_code":-32000,"sentence":"The seller cannot do this at the moment.","error":{"code":"X_ACME_NEW","message":"later"},"retryable":true,"retry_after_ms":2000,"http_status":200}
        "#]],
        );
    }

    #[test]
    fn what_is_said_in_words_is_no_reason_to_come_back() {
        let text = "Sorry\u{1b}, no.".to_owned();
        let malformed = Some(tradepost_wire::adcp::error::Malformed::TooLarge);
        let (retry_after, kept) = (None, Kept::new(200, None, b""));
        let by = By::Words { text, malformed };
        let refused = Refused { by, retry_after, kept };
        check(
            failure::Failure::Refused(Box::new(refused)),
            &expect![[r#"
            9 the seller failed: Sorry, no.
              the error object is larger than 4096 bytes
              retry: no, the same request would be refused again
            hint: act on what the seller says
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"retryable":false,"http_status":200}
        "#]],
        );
        let by = By::Grpc { code: 14, message: "down".into() };
        let refused = Refused { by, retry_after, kept: Kept::default() };
        check(
            failure::Failure::Refused(Box::new(refused)),
            &expect![[r#"
                7 the server answers with gRPC status 14: down
                  retry: the same request may succeed later
                hint: act on what the seller says
                {"kind":"refused","in_doubt":true,"may_have_acted":true,"grpc_status":14,"retryable":true}
            "#]],
        );
    }

    #[test]
    fn a_protocol_error_shows_its_fields() {
        let error = json!({"code": -32602, "message": "Invalid parameters", "data": [
            {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [
                {"field": "message.parts", "description": "must have at least 1 item"}]}]});
        check(
            refused(&error),
            &expect![[r#"
            3 INVALID_PARAMS: Invalid parameters
              message.parts: must have at least 1 item
              retry: no, the same request would be refused again
            hint: correct every field listed and send again
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"INVALID_PARAMS","jsonrpc_code":-32602,"reason":null,"metadata":{},"violations":[{"field":"message.parts","description":"must have at least 1 item"}],"retryable":false,"retry_after_ms":2000,"http_status":200}
        "#]],
        );
    }

    #[test]
    fn an_unknown_code_is_shown_as_it_came() {
        let error = json!({"code": -32000, "message": "x", "data": {
            "type": "aap.error", "code": "CREDIT_DECLINED", "message": "sorry", "retryable": true}});
        check(
            refused(&error),
            &expect![[r#"
            7 CREDIT_DECLINED: sorry
              retry: the same request may succeed after 2 s
            hint: act on what the seller says; the code is new to us
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"CREDIT_DECLINED","jsonrpc_code":-32000,"error_id":"","retryable":true,"retry_after_ms":2000,"http_status":200}
        "#]],
        );
    }

    #[test]
    fn a_request_that_was_not_sent_shows_every_problem() {
        let refusal = aap::identify(&json!({"type": 5}), aap::Skill::ALL).unwrap_err();
        let unsent = Unsent::Invalid(Box::new(refusal));
        check(
            failure::Failure::Unsent(unsent),
            &expect![[r#"
                2 not sent: SCHEMA_VALIDATION_FAILED: the request failed validation: /type: must be string
                  /type: must be string (type)
                hint: correct every problem listed, or send anyway with --no-check
                {"kind":"unsent","in_doubt":false,"may_have_acted":false,"code":"SCHEMA_VALIDATION_FAILED","details":{"errors":[{"instanceLocation":"/type","keyword":"type","error":"must be string","expected":"string"}]}}
            "#]],
        );
    }

    #[test]
    fn an_answer_that_is_none_shows_its_beginning() {
        let kept = Kept::new(200, Some("text/html".into()), b"<html>\x1b[2J\r\n hello");
        check(
            failure::Failure::garbled(Defect::NotJson, kept),
            &expect![[r#"
            10 the answer is not valid JSON
              HTTP 200, text/html, 18 bytes
              begins: <html>[2J hello
            hint: check that the address is that of an A2A v1.0 agent
            {"kind":"garbled","in_doubt":true,"may_have_acted":true,"http_status":200}
        "#]],
        );
        let timed_out = Unanswered::TimedOut(Duration::from_millis(1500));
        check(
            failure::Failure::Unanswered(timed_out),
            &expect![[r#"
            10 no answer within 1.5 s
            hint: try again, or allow more time with --timeout
            {"kind":"unanswered","in_doubt":true,"may_have_acted":true}
        "#]],
        );
    }

    #[test]
    fn every_code_of_both_catalogs_has_an_exit_code_of_the_table() {
        let exits = aap::Code::ALL.iter().map(|code| exit_of_aap(*code));
        let exits = exits.chain(a2a::error::Code::ALL.iter().map(|code| exit_of_a2a(*code)));
        for exit in exits {
            assert!((INVALID..=OTHER).contains(&exit), "{exit}");
        }
    }
}
