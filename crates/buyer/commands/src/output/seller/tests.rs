use std::time::Duration;

use expect_test::{Expect, expect};
use tradepost_client::failure::{Defect, KeptResponse, Unanswered};
use tradepost_client::refusal;
use tradepost_client::text::escape_json;

use super::*;

fn check(failure: failure::CallFailure, expected: &Expect) {
    let CommandFailure { exit, message, hint, lines, data, already_shown: _ } = failure.into();
    let hint = hint.unwrap_or_default();
    let lines = lines.iter().map(|line| format!("  {line}\n")).collect::<String>();
    // As the printer writes it.
    let data = escape_json(&data.unwrap().to_string());
    expected.assert_eq(&format!("{exit} {message}\n{lines}hint: {hint}\n{data}\n"));
}

fn refused(error: &Value) -> failure::CallFailure {
    let kept = KeptResponse::new(200, None, b"");
    let delay = Some(Duration::from_secs(2));
    failure::CallFailure::Refused(Box::new(refusal::read(error, delay, kept).unwrap()))
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
fn an_adcp_error_shows_the_fault_and_whether_to_retry() {
    let error = json!({"code": -32000, "message": "x", "data": {"adcp_error": {
        "code": "VALIDATION_ERROR", "message": "2 \u{202e}problems", "recovery": "correctable",
        "field": "packages[0].budget", "suggestion": "send\na number", "retry_after": 5,
        "issues": [{"pointer": "/packages/0/budget", "keyword": "type", "message": "no number"}],
        "details": {"accepted_values": ["a", "b"]}}}});
    check(
        refused(&error),
        &expect![[r#"
            3 VALIDATION_ERROR: 2 problems
              Values of the request are wrong, or violate a business rule.
              /packages/0/budget: no number (type)
              details.accepted_values: a, b
              the seller suggests: send a number
              retry: no, the same request would be refused again
            hint: correct every entry of issues and send again
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"VALIDATION_ERROR","recovery":"correctable","jsonrpc_code":-32000,"sentence":"Values of the request are wrong, or violate a business rule.","error":{"code":"VALIDATION_ERROR","message":"2 \u202eproblems","recovery":"correctable","field":"packages[0].budget","suggestion":"send\na number","retry_after":5,"issues":[{"pointer":"/packages/0/budget","message":"no number","keyword":"type"}],"details":{"accepted_values":["a","b"]}},"retryable":false,"retry_after_ms":5000,"http_status":200}
        "#]],
    );
    let hasty = json!({"code": -32000, "message": "x", "data": {"adcp_error": {
        "code": "CONFIGURATION_ERROR", "message": "no upstream", "recovery": "transient"}}});
    check(
        refused(&hasty),
        &expect![[r#"
            9 CONFIGURATION_ERROR: no upstream
              The seller's configuration is wrong; neither waiting nor changing the request helps.
              retry: no, the same request would be refused again
            hint: tell the people who run the seller
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"CONFIGURATION_ERROR","recovery":"transient","jsonrpc_code":-32000,"sentence":"The seller's configuration is wrong; neither waiting nor changing the request helps.","error":{"code":"CONFIGURATION_ERROR","message":"no upstream","recovery":"transient"},"retryable":false,"retry_after_ms":2000,"http_status":200}
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
            hint: act on the seller's message; this version does not know the code
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"X_ACME_NEW","recovery":"transient","jsonrpc_code":-32000,"sentence":"The seller cannot do this at the moment.","error":{"code":"X_ACME_NEW","message":"later"},"retryable":true,"retry_after_ms":2000,"http_status":200}
        "#]],
    );
}

#[test]
fn a_refusal_in_words_is_not_worth_a_retry() {
    let text = "Sorry\u{1b}, no.".to_owned();
    let malformed = Some(tradepost_adcp::error::ErrorFormatError::TooLarge);
    let retry_after = None;
    let kept = KeptResponse::new(200, None, b"");
    let by = RefusalForm::Words { text, malformed };
    let refused = SellerRefusal { by, retry_after, kept };
    check(
        failure::CallFailure::Refused(Box::new(refused)),
        &expect![[r#"
            9 the seller failed: Sorry, no.
              the error object is larger than 4096 bytes
              retry: no, the same request would be refused again
            hint: act on the seller's message
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"retryable":false,"http_status":200}
        "#]],
    );
    let by = RefusalForm::Grpc { code: 14, message: "down".into() };
    let refused = SellerRefusal { by, retry_after, kept: KeptResponse::default() };
    check(
        failure::CallFailure::Refused(Box::new(refused)),
        &expect![[r#"
            7 the server answers with gRPC status 14: down
              retry: the same request may succeed later
            hint: act on the seller's message
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
            hint: act on the seller's message; this version does not know the code
            {"kind":"refused","in_doubt":false,"may_have_acted":false,"code":"CREDIT_DECLINED","jsonrpc_code":-32000,"error_id":"","retryable":true,"retry_after_ms":2000,"http_status":200}
        "#]],
    );
}

#[test]
fn a_request_that_was_not_sent_shows_every_problem() {
    let refusal = aap::identify(&json!({"type": 5}), aap::Skill::ALL).unwrap_err();
    let unsent = Unsent::Invalid(Box::new(refusal));
    check(
        failure::CallFailure::Unsent(unsent),
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
    let kept = KeptResponse::new(200, Some("text/html".into()), b"<html>\x1b[2J\r\n hello");
    check(
        failure::CallFailure::garbled(Defect::NotJson, kept),
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
        failure::CallFailure::Unanswered(timed_out),
        &expect![[r#"
            10 no answer within 1.5 s
            hint: try again, or allow more time with --timeout
            {"kind":"unanswered","in_doubt":true,"may_have_acted":true}
        "#]],
    );
}

#[test]
fn every_code_of_both_catalogs_has_an_exit_code() {
    let exits = aap::AapCode::ALL.iter().map(|code| exit_of_aap(*code));
    let exits = exits.chain(a2a::error::A2aCode::ALL.iter().map(|code| exit_of_a2a(*code)));
    for exit in exits {
        assert!((INVALID..=OTHER).contains(&exit), "{exit}");
    }
}
