//! Every code of AdCP's error page, by a request that really comes to it: the whole document, the
//! same on MCP, on A2A 1.0 and on A2A 0.3, and what each binding says around it.

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};

use crate::support::publisher::{Binding, RequestCase, start_with};

mod accounts;
mod behind;
mod buys;
mod complete;
mod creatives;
mod lookups;
mod proposals;
mod scopes;
mod shop;

#[track_caller]
fn check(case: &RequestCase, tool: &str, arguments: Value, code: &str, expected: Expect) {
    case.check(tool, &arguments, code, &expected);
}

fn usual() -> RequestCase {
    RequestCase::default()
}

#[test]
fn auth_missing() {
    check(
        &usual().by("nobody"),
        "list_creatives",
        json!({"context": {"n": 1}}),
        "AUTH_MISSING",
        expect![[r#"
        401 error -32028 | 401 error -32028 | 401 error -32028
        {"adcp_error":{"code":"AUTH_MISSING","message":"this needs a credential; send one in the Authorization header","recovery":"correctable",
            "suggestion":"send a credential in the Authorization header"},"context":{"n":1}}
    "#]],
    );
}

#[test]
fn auth_required_for_a_caller_pinned_to_3_0() {
    let pinned = json!({"adcp_version": "3.0"});
    check(
        &usual().by("nobody"),
        "list_creatives",
        pinned,
        "AUTH_REQUIRED",
        expect![[r#"
        401 error -32028 | 401 error -32028 | 401 error -32028
        {"adcp_error":{"code":"AUTH_REQUIRED","message":"this needs a credential; send one in the Authorization header","recovery":"correctable",
            "suggestion":"send a credential in the Authorization header"}}
    "#]],
    );
}

#[test]
fn auth_required_for_nobodys_credential_of_a_3_0_caller() {
    check(
        &usual().by("a-token-of-nobody"),
        "list_creatives",
        json!({"adcp_version": "3.0"}),
        "AUTH_REQUIRED",
        expect![[r#"
            401 error -32000 | 401 error -32000 | 401 error -32000
            {"adcp_error":{"code":"AUTH_REQUIRED","message":"the credential is not accepted; ask the seller for a valid one","recovery":"terminal",
                "suggestion":"renew an expired token once; otherwise have the credential replaced by a person"}}
        "#]],
    );
}

#[test]
fn auth_invalid() {
    check(
        &usual().by("a-token-of-nobody"),
        "get_products",
        json!({}),
        "AUTH_INVALID",
        expect![[r#"
            401 error -32000 | 401 error -32000 | 401 error -32000
            {"adcp_error":{"code":"AUTH_INVALID","message":"the credential is not accepted; ask the seller for a valid one","recovery":"terminal",
                "suggestion":"renew an expired token once; otherwise have the credential replaced by a person"}}
        "#]],
    );
}

#[test]
fn version_unsupported() {
    let asked = json!({"adcp_version": "9.0", "context": {"n": 1}});
    check(
        &usual(),
        "get_adcp_capabilities",
        asked,
        "VERSION_UNSUPPORTED",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
              "adcp_error":{"code":"VERSION_UNSUPPORTED",
                "message":"this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version","recovery":"correctable",
                "suggestion":"pin one of details.supported_versions","details":{"supported_versions":["3.1","3.2","3.0"],"supported_majors":[3]}},
              "errors":[
                {"code":"VERSION_UNSUPPORTED","message":"this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
                  "recovery":"correctable","suggestion":"pin one of details.supported_versions",
                  "details":{"supported_versions":["3.1","3.2","3.0"],"supported_majors":[3]}}],"context":{"n":1},"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn a_later_release_is_answered_in_the_last_spoken() {
    let asked = json!({"adcp_version": "3.99", "session_id": "sis_unknown", "message": "hello?",
        "idempotency_key": buys::KEYS[0]});
    check(
        &usual(),
        "si_send_message",
        asked,
        "SESSION_NOT_FOUND",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
              "adcp_error":{"code":"SESSION_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
                "field":"session_id","suggestion":"begin a session with si_initiate_session"},
              "errors":[
                {"code":"SESSION_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
                  "field":"session_id","suggestion":"begin a session with si_initiate_session"}],"adcp_version":"3.2"}
        "#]],
    );
}

/// Another caller's credential is a text like any other: who knows it has leaked nothing of their own.
#[test]
fn the_callers_own_credential_is_refused_wherever_it_stands() {
    let publisher = start_with(&|_| {});
    for (brief, is_refused) in [("I am token-of-acme", true), ("I am token-of-nova", false)] {
        let sent = json!({"buying_mode": "brief", "brief": brief, "context": {"note": brief}});
        for binding in [Binding::Mcp, Binding::A2a, Binding::Older] {
            let answer = publisher.call(binding, "acme", "get_products", &sent).json().to_string();
            assert_eq!(answer.contains("CREDENTIAL_IN_ARGS"), is_refused, "{answer}");
            assert_eq!(answer.contains(brief), !is_refused, "the context comes back: {answer}");
        }
    }
}

#[test]
fn credential_in_args() {
    let leaked = json!({"buying_mode": "wholesale", "ext": {"deep": [{"api_key": "sk-hidden"}]}});
    check(
        &usual(),
        "get_products",
        leaked,
        "CREDENTIAL_IN_ARGS",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
          "adcp_error":{"code":"CREDENTIAL_IN_ARGS",
            "message":"a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
            "recovery":"terminal","field":"ext.deep[0].api_key","suggestion":"send it on the transport instead, and replace it: it may have been logged",
            "issues":[{"pointer":"/ext/deep/0/api_key","message":"a member of this name holds a credential","keyword":"not"}]},
          "errors":[
            {"code":"CREDENTIAL_IN_ARGS",
              "message":"a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
              "recovery":"terminal","field":"ext.deep[0].api_key","suggestion":"send it on the transport instead, and replace it: it may have been logged",
              "issues":[{"pointer":"/ext/deep/0/api_key","message":"a member of this name holds a credential","keyword":"not"}]}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn validation_error() {
    let wrong = json!({"buying_mode": "barter", "context": {"n": 1}});
    check(
        &usual(),
        "get_products",
        wrong,
        "VALIDATION_ERROR",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"The arguments have 1 problem; correct it and send the request again.",
          "adcp_error":{"code":"VALIDATION_ERROR","message":"The arguments have 1 problem; correct it and send the request again.","recovery":"correctable",
            "field":"buying_mode","suggestion":"correct every entry of issues and send again",
            "issues":[{"pointer":"/buying_mode","message":"must be one of brief, wholesale, refine","keyword":"enum"}]},
          "errors":[
            {"code":"VALIDATION_ERROR","message":"The arguments have 1 problem; correct it and send the request again.","recovery":"correctable",
              "field":"buying_mode","suggestion":"correct every entry of issues and send again",
              "issues":[{"pointer":"/buying_mode","message":"must be one of brief, wholesale, refine","keyword":"enum"}]}],"context":{"n":1},
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn rate_limited() {
    let strict = |config: &mut tradepost_runtime::config::Config| {
        config.publishers[0].rates.read.requests = 1;
    };
    let case = usual().at(strict).after("acme", "get_adcp_capabilities", json!({}));
    check(
        &case,
        "get_adcp_capabilities",
        json!({"context": {"n": 1}}),
        "RATE_LIMITED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"too many requests; wait and send the same again",
          "adcp_error":{"code":"RATE_LIMITED","message":"too many requests; wait and send the same again","recovery":"transient",
            "suggestion":"wait for retry_after seconds and send the same request again","retry_after":60,
            "details":{"limit":1,"remaining":0,"window_seconds":60,"scope":"account"}},
          "errors":[
            {"code":"RATE_LIMITED","message":"too many requests; wait and send the same again","recovery":"transient",
              "suggestion":"wait for retry_after seconds and send the same request again","retry_after":60,
              "details":{"limit":1,"remaining":0,"window_seconds":60,"scope":"account"}}],"context":{"n":1},"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn rate_limited_for_whoever_tries_credentials_out() {
    check(
        &usual().by("a-token-of-nobody").tried(10, "a-token-of-nobody"),
        "get_products",
        json!({"context": {"n": 1}}),
        "RATE_LIMITED",
        expect![[r#"
            429 error -32029 | 429 error -32029 | 429 error -32029
            {"adcp_error":{"code":"RATE_LIMITED","message":"too many attempts with credentials that are not accepted; wait and send a valid one",
                "recovery":"transient","suggestion":"wait for retry_after seconds and send the same request again","retry_after":6},"context":{"n":1}}
        "#]],
    );
}

#[test]
fn account_not_found() {
    let unknown = json!({"buying_mode": "wholesale", "account": {"account_id": "acc_unknown"}});
    check(
        &usual(),
        "get_products",
        unknown,
        "ACCOUNT_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal",
            "field":"account","suggestion":"check it with list_accounts, or ask the seller"},
          "errors":[
            {"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account",
              "suggestion":"check it with list_accounts, or ask the seller"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn agent_suspended() {
    check(
        &usual().by("paused"),
        "get_products",
        json!({"buying_mode": "wholesale"}),
        "AGENT_SUSPENDED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"this buyer agent's relationship with the seller is suspended; a person has to settle it with the seller",
          "adcp_error":{"code":"AGENT_SUSPENDED",
            "message":"this buyer agent's relationship with the seller is suspended; a person has to settle it with the seller","recovery":"terminal",
            "suggestion":"have a person settle it with the seller"},
          "errors":[
            {"code":"AGENT_SUSPENDED","message":"this buyer agent's relationship with the seller is suspended; a person has to settle it with the seller",
              "recovery":"terminal","suggestion":"have a person settle it with the seller"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn agent_blocked() {
    check(
        &usual().by("banned"),
        "get_products",
        json!({"buying_mode": "wholesale"}),
        "AGENT_BLOCKED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"this buyer agent's relationship with the seller has been ended; a person has to settle it with the seller",
          "adcp_error":{"code":"AGENT_BLOCKED",
            "message":"this buyer agent's relationship with the seller has been ended; a person has to settle it with the seller","recovery":"terminal",
            "suggestion":"have a person settle it with the seller"},
          "errors":[
            {"code":"AGENT_BLOCKED","message":"this buyer agent's relationship with the seller has been ended; a person has to settle it with the seller",
              "recovery":"terminal","suggestion":"have a person settle it with the seller"}],"adcp_version":"3.1"}
    "#]],
    );
}
