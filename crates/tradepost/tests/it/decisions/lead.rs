//! Leads that do not satisfy the schema or the consent rules: rows E-065 to E-096.

use expect_test::{Expect, expect};
use tradepost_aap::Version;
use tradepost_document::json::{Value, json};

use crate::support::{TestServer, lead, start, start_with, with, with_null};

fn check(server: &TestServer, row: &str, changes: &[(&str, Value)], expected: Expect) {
    server.check(row, &with(lead(), changes), &expected);
}

/// A server of v1.1 alone, where nothing is taken for v1.0.
fn start_v1_1() -> TestServer {
    start_with(|config| config.dealers[0].terms.versions = vec![Version::V1_1])
}

#[test]
fn without_consent_nothing_else_decides() {
    let server = start();
    server.check("E-065", &json!({"type": "lead.submit.request"}), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"CONTACT_CONSENT_REQUIRED: no consent: add a consent grant with scope [\"lead_submission\"]",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"CONTACT_CONSENT_REQUIRED",
              "message":"no consent: add a consent grant with scope [\"lead_submission\"]","retryable":false,
              "details":{"missing":"consent","expected_scope":"lead_submission",
                "errors":[
                  {"instanceLocation":"","keyword":"required","error":"missing required property \"customer\"","property":"customer"},
                  {"instanceLocation":"","keyword":"required","error":"missing required property \"consent\"","property":"consent"},
                  {"instanceLocation":"","keyword":"required","error":"missing required property \"source_agent\"","property":"source_agent"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    check(
        &server,
        "E-066",
        &[("/consent", Value::Null)],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"CONTACT_CONSENT_REQUIRED: no consent: add a consent grant with scope [\"lead_submission\"]",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"CONTACT_CONSENT_REQUIRED",
              "message":"no consent: add a consent grant with scope [\"lead_submission\"]","retryable":false,
              "details":{"missing":"consent","expected_scope":"lead_submission",
                "errors":[{"instanceLocation":"","keyword":"required","error":"missing required property \"consent\"","property":"consent"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
}

#[test]
fn a_malformed_consent_is_invalid_whatever_else_is_wrong() {
    let server = start_v1_1();
    server.check("E-067", &with_null(lead(), "/consent"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent: must be object",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT","message":"the consent grant is malformed: /consent: must be object",
              "retryable":false,
              "details":{"reason":"malformed","errors":[{"instanceLocation":"/consent","keyword":"type","error":"must be object","expected":"object"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    check(
        &server,
        "E-067",
        &[("/consent", json!("yes"))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent: must be object",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT","message":"the consent grant is malformed: /consent: must be object",
                  "retryable":false,
                  "details":{"reason":"malformed","errors":[{"instanceLocation":"/consent","keyword":"type","error":"must be object","expected":"object"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let scope = |scope: Value| vec![("/consent/scope", scope)];
    check(
        &server,
        "E-068",
        &scope(json!(["marketing"])),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/scope/0: must be one of lead_submission",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/scope/0: must be one of lead_submission","retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[{"instanceLocation":"/consent/scope/0","keyword":"enum","error":"must be one of lead_submission","allowed":["lead_submission"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-068",
        &scope(json!([])),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/scope: must have at least 1 item",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/scope: must have at least 1 item","retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[{"instanceLocation":"/consent/scope","keyword":"minItems","error":"must have at least 1 item","limit":1}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-068",
        &scope(json!(["lead_submission", "marketing"])),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,
                "message":"INVALID_CONSENT: the consent grant is malformed: /consent/scope: must have at most 1 item; /consent/scope/1: must be one of lead_submission",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/scope: must have at most 1 item; /consent/scope/1: must be one of lead_submission",
                  "retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[
                      {"instanceLocation":"/consent/scope","keyword":"maxItems","error":"must have at most 1 item","limit":1},
                      {"instanceLocation":"/consent/scope/1","keyword":"enum","error":"must be one of lead_submission","allowed":["lead_submission"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-068",
        &scope(json!("lead_submission")),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/scope: must be array",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/scope: must be array","retryable":false,
                  "details":{"reason":"malformed","errors":[{"instanceLocation":"/consent/scope","keyword":"type","error":"must be array","expected":"array"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let channels = |channels: Value| vec![("/consent/allowed_channels", channels)];
    check(
        &server,
        "E-069",
        &channels(json!([])),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/allowed_channels: must have at least 1 item",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/allowed_channels: must have at least 1 item","retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[{"instanceLocation":"/consent/allowed_channels","keyword":"minItems","error":"must have at least 1 item","limit":1}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-069",
        &channels(json!(["fax"])),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/allowed_channels/0: must be one of email, phone, sms",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/allowed_channels/0: must be one of email, phone, sms","retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[
                      {"instanceLocation":"/consent/allowed_channels/0","keyword":"enum","error":"must be one of email, phone, sms",
                        "allowed":["email","phone","sms"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-069",
        &channels(json!(["email", "email"])),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/allowed_channels: must not repeat an item",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/allowed_channels: must not repeat an item","retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[{"instanceLocation":"/consent/allowed_channels","keyword":"uniqueItems","error":"must not repeat an item"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-070",
        &[("/consent/consent_text", json!(""))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/consent_text: must not be empty",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/consent_text: must not be empty","retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[{"instanceLocation":"/consent/consent_text","keyword":"minLength","error":"must not be empty","limit":1}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-070",
        &[("/consent/consent_text", json!(" \n"))],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"INVALID_CONSENT: consent.consent_text is blank; send the text that the user saw",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
              "message":"consent.consent_text is blank; send the text that the user saw","retryable":false,"details":{"reason":"blank_consent_text"},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    let granted = |at: Value| vec![("/consent/granted_at", at)];
    check(
        &server,
        "E-071",
        &granted(json!("2026-04-30T11:00:00")),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,
                "message":"INVALID_CONSENT: the consent grant is malformed: /consent/granted_at: must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/granted_at: must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00",
                  "retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[
                      {"instanceLocation":"/consent/granted_at","keyword":"format",
                        "error":"must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00","format":"date-time"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-071",
        &granted(json!(1_777_546_800)),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent grant is malformed: /consent/granted_at: must be string",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/granted_at: must be string","retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[{"instanceLocation":"/consent/granted_at","keyword":"type","error":"must be string","expected":"string"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-071",
        &granted(json!("2026-04-30T12:05:01Z")),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"INVALID_CONSENT: consent.granted_at is in the future",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT","message":"consent.granted_at is in the future","retryable":false,
              "details":{"reason":"granted_in_future"},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    let expires = |at: &str| vec![("/consent/expires_at", json!(at))];
    check(
        &server,
        "E-072",
        &expires("2026-04-30T11:59:59Z"),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"INVALID_CONSENT: the consent has expired",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT","message":"the consent has expired","retryable":false,
              "details":{"reason":"expired","expires_at":"2026-04-30T11:59:59Z"},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        &server,
        "E-072",
        &expires("2026-04-30T11:00:00Z"),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"INVALID_CONSENT: the consent has expired",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT","message":"the consent has expired","retryable":false,
                  "details":{"reason":"expired","expires_at":"2026-04-30T11:00:00Z"},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-073",
        &[("/consent/source_agent", json!("agent"))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,
                "message":"INVALID_CONSENT: the consent grant is malformed: /consent/source_agent: unknown property \"source_agent\"; in v1.1 it is an object at the top level",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/source_agent: unknown property \"source_agent\"; in v1.1 it is an object at the top level",
                  "retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[
                      {"instanceLocation":"/consent/source_agent","keyword":"additionalProperties",
                        "error":"unknown property \"source_agent\"; in v1.1 it is an object at the top level",
                        "allowed":["granted_at","allowed_channels","consent_text","scope","expires_at"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let several =
        [("/consent/scope", json!(["marketing"])), ("/customer/phone", json!("(415) 555-0123"))];
    check(
        &server,
        "E-068",
        &several,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,
                "message":"INVALID_CONSENT: the consent grant is malformed: /consent/scope/0: must be one of lead_submission; /customer/phone: must be E.164, e.g. +14155550123",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONSENT",
                  "message":"the consent grant is malformed: /consent/scope/0: must be one of lead_submission; /customer/phone: must be E.164, e.g. +14155550123",
                  "retryable":false,
                  "details":{"reason":"malformed",
                    "errors":[
                      {"instanceLocation":"/consent/scope/0","keyword":"enum","error":"must be one of lead_submission","allowed":["lead_submission"]},
                      {"instanceLocation":"/customer/phone","keyword":"pattern","error":"must be E.164, e.g. +14155550123","pattern":"^\\+[1-9]\\d{1,14}$"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
}

#[test]
fn a_consent_holds_up_to_its_last_second() {
    let server = start();
    for change in [
        ("/consent/granted_at", json!("2026-04-30T12:05:00Z")),
        ("/consent/expires_at", json!("2026-04-30T12:00:01Z")),
        ("/consent/granted_at", json!("2025-04-30T12:00:01Z")),
    ] {
        let answer = server.call(&with(lead(), std::slice::from_ref(&change))).json();
        assert!(answer.get("result").is_some(), "E-072 {change:?} {answer}");
    }
    // A consent without expires_at holds as long as the dealer says (R-LD-07).
    let old = with(lead(), &[("/consent/granted_at", json!("2025-04-30T12:00:00Z"))]);
    assert_eq!(server.error(&old)["details"]["reason"], "expired");
}

#[test]
fn customers_are_complete_and_reachable() {
    let server = start();
    check(
        &server,
        "E-074",
        &[("/customer", Value::Null)],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: missing required property \"customer\"",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD","message":"missing required property \"customer\"",
              "retryable":false,
              "details":{"errors":[{"instanceLocation":"","keyword":"required","error":"missing required property \"customer\"","property":"customer"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    server.check("E-075", &with_null(lead(), "/customer"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /customer: must be object",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
              "message":"the request failed validation: /customer: must be object","retryable":false,
              "details":{"errors":[{"instanceLocation":"/customer","keyword":"type","error":"must be object","expected":"object"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    let nameless = [("/customer/first_name", Value::Null), ("/customer/last_name", Value::Null)];
    check(
        &server,
        "E-076",
        &nameless,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"MISSING_REQUIRED_FIELD: /customer: missing required property \"first_name\"; /customer: missing required property \"last_name\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD",
                  "message":"/customer: missing required property \"first_name\"; /customer: missing required property \"last_name\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/customer","keyword":"required","error":"missing required property \"first_name\"","property":"first_name"},
                      {"instanceLocation":"/customer","keyword":"required","error":"missing required property \"last_name\"","property":"last_name"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-077",
        &[("/customer/email", Value::Null)],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: /customer: at least one of email, phone is required",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD","message":"/customer: at least one of email, phone is required",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/customer","keyword":"anyOf","error":"at least one of email, phone is required","anyOf":["email","phone"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    for email in ["ada", "a@b", "", "ada@example.com "] {
        let error = server.error(&with(lead(), &[("/customer/email", json!(email))]));
        assert_eq!(error["details"]["errors"][0]["keyword"], "format", "E-078 {email}");
    }
    check(
        &server,
        "E-078",
        &[("/customer/email", json!("John <a@b.com>"))],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,
            "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /customer/email: must be an e-mail address such as name@example.com",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
              "message":"the request failed validation: /customer/email: must be an e-mail address such as name@example.com","retryable":false,
              "details":{"errors":[
                  {"instanceLocation":"/customer/email","keyword":"format","error":"must be an e-mail address such as name@example.com","format":"email"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        &server,
        "E-079",
        &[("/customer/phone", json!("(415) 555-0123"))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /customer/phone: must be E.164, e.g. +14155550123",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /customer/phone: must be E.164, e.g. +14155550123","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/customer/phone","keyword":"pattern","error":"must be E.164, e.g. +14155550123","pattern":"^\\+[1-9]\\d{1,14}$"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-080",
        &[("/customer/preferred_contact", json!("fax"))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /customer/preferred_contact: must be one of email, phone, sms, any",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /customer/preferred_contact: must be one of email, phone, sms, any","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/customer/preferred_contact","keyword":"enum","error":"must be one of email, phone, sms, any",
                        "allowed":["email","phone","sms","any"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-081",
        &[("/customer/address", json!({"street": "x"}))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /customer/address/street: unknown property \"street\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /customer/address/street: unknown property \"street\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/customer/address/street","keyword":"additionalProperties","error":"unknown property \"street\"",
                        "allowed":["country","state","city","address_line_1","address_line_2","zip"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
}

#[test]
fn the_channel_is_one_that_the_consent_permits() {
    let server = start();
    check(
        &server,
        "E-082",
        &[("/customer/preferred_contact", json!("sms"))],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"CONTACT_CONSENT_REQUIRED: the consent does not permit contact by sms; it permits email",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"CONTACT_CONSENT_REQUIRED",
              "message":"the consent does not permit contact by sms; it permits email","retryable":false,
              "details":{"channel":"sms","allowed_channels":["email"],"reason":"channel_not_permitted"},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        &server,
        "E-083",
        &[("/consent/allowed_channels", json!(["sms"]))],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"CONTACT_CONSENT_REQUIRED: the consent permits sms, and the customer has no such address",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"CONTACT_CONSENT_REQUIRED",
              "message":"the consent permits sms, and the customer has no such address","retryable":false,
              "details":{"allowed_channels":["sms"],"reason":"channel_not_permitted"},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    let any = with(lead(), &[("/customer/preferred_contact", json!("any"))]);
    assert!(server.call(&any).json().get("result").is_some(), "C-05");
}

#[test]
fn the_source_agent_has_a_name() {
    let server = start_v1_1();
    check(
        &server,
        "E-084",
        &[("/source_agent", Value::Null)],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: missing required property \"source_agent\"",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD","message":"missing required property \"source_agent\"",
              "retryable":false,
              "details":{"errors":[
                  {"instanceLocation":"","keyword":"required","error":"missing required property \"source_agent\"","property":"source_agent"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        &server,
        "E-085",
        &[("/source_agent", json!("test-agent"))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /source_agent: must be object; in v1.1 it has a name and may have url and agent_card_url",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /source_agent: must be object; in v1.1 it has a name and may have url and agent_card_url",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/source_agent","keyword":"type","error":"must be object; in v1.1 it has a name and may have url and agent_card_url",
                        "expected":"object"}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-086",
        &[("/source_agent", json!({}))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: /source_agent: missing required property \"name\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD","message":"/source_agent: missing required property \"name\"",
                  "retryable":false,
                  "details":{"errors":[{"instanceLocation":"/source_agent","keyword":"required","error":"missing required property \"name\"","property":"name"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-086",
        &[("/source_agent", json!({"name": ""}))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /source_agent/name: must not be empty",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /source_agent/name: must not be empty","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/source_agent/name","keyword":"minLength","error":"must not be empty","limit":1}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
}

#[test]
fn conditions_come_from_the_vocabulary_of_their_place() {
    let server = start();
    let interest = ("/vehicle_of_interest", json!({"condition": "good"}));
    let trade_in = ("/trade_in", json!({"condition": "used"}));
    check(
        &server,
        "E-087",
        std::slice::from_ref(&interest),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"INVALID_CONDITION: vehicle_of_interest.condition is from the trade_in vocabulary; use one of new, used, cpo",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONDITION",
              "message":"vehicle_of_interest.condition is from the trade_in vocabulary; use one of new, used, cpo","retryable":false,
              "details":{"field":"vehicle_of_interest.condition","value_vocabulary":"trade_in","allowed":["new","used","cpo"],
                "errors":[
                  {"instanceLocation":"/vehicle_of_interest/condition","keyword":"enum","error":"must be one of new, used, cpo","allowed":["new","used","cpo"]}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        &server,
        "E-088",
        std::slice::from_ref(&trade_in),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"INVALID_CONDITION: trade_in.condition is from the sale vocabulary; use one of excellent, good, fair, poor",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONDITION",
              "message":"trade_in.condition is from the sale vocabulary; use one of excellent, good, fair, poor","retryable":false,
              "details":{"field":"trade_in.condition","value_vocabulary":"sale","allowed":["excellent","good","fair","poor"],
                "errors":[
                  {"instanceLocation":"/trade_in/condition","keyword":"enum","error":"must be one of excellent, good, fair, poor",
                    "allowed":["excellent","good","fair","poor"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    let mint = ("/vehicle_of_interest", json!({"condition": "mint"}));
    check(
        &server,
        "E-089",
        &[mint],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /vehicle_of_interest/condition: must be one of new, used, cpo",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /vehicle_of_interest/condition: must be one of new, used, cpo","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/vehicle_of_interest/condition","keyword":"enum","error":"must be one of new, used, cpo","allowed":["new","used","cpo"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-090",
        &[interest.clone(), trade_in],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"INVALID_CONDITION: vehicle_of_interest.condition is from the trade_in vocabulary; use one of new, used, cpo",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INVALID_CONDITION",
              "message":"vehicle_of_interest.condition is from the trade_in vocabulary; use one of new, used, cpo","retryable":false,
              "details":{"field":"vehicle_of_interest.condition","value_vocabulary":"trade_in","allowed":["new","used","cpo"],
                "errors":[
                  {"instanceLocation":"/vehicle_of_interest/condition","keyword":"enum","error":"must be one of new, used, cpo","allowed":["new","used","cpo"]},
                  {"instanceLocation":"/trade_in/condition","keyword":"enum","error":"must be one of excellent, good, fair, poor",
                    "allowed":["excellent","good","fair","poor"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    let phone = ("/customer/phone", json!("555"));
    check(
        &server,
        "E-091",
        &[interest, phone],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /customer/phone: must be E.164, e.g. +14155550123; /vehicle_of_interest/condition: must be one of new, used, cpo",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /customer/phone: must be E.164, e.g. +14155550123; /vehicle_of_interest/condition: must be one of new, used, cpo",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/customer/phone","keyword":"pattern","error":"must be E.164, e.g. +14155550123","pattern":"^\\+[1-9]\\d{1,14}$"},
                      {"instanceLocation":"/vehicle_of_interest/condition","keyword":"enum","error":"must be one of new, used, cpo","allowed":["new","used","cpo"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
}

#[test]
fn everything_else_is_checked_too() {
    let server = start();
    let vehicle = json!({"year": "2022", "vin": "1HGCY2F57RA00000", "photos": ["not a uri"]});
    check(
        &server,
        "E-092",
        &[("/vehicle_of_interest", vehicle)],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /vehicle_of_interest/year: must be integer; /vehicle_of_interest/vin: must be 17 characters A-Z and 0-9 without I, O and Q; use upper case; /vehicle_of_interest/photos/0: must be an absolute URI such as https://example.com/page",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /vehicle_of_interest/year: must be integer; /vehicle_of_interest/vin: must be 17 characters A-Z and 0-9 without I, O and Q; use upper case; /vehicle_of_interest/photos/0: must be an absolute URI such as https://example.com/page",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/vehicle_of_interest/year","keyword":"type","error":"must be integer","expected":"integer"},
                      {"instanceLocation":"/vehicle_of_interest/vin","keyword":"pattern",
                        "error":"must be 17 characters A-Z and 0-9 without I, O and Q; use upper case","pattern":"^[A-HJ-NPR-Z0-9]{17}$"},
                      {"instanceLocation":"/vehicle_of_interest/photos/0","keyword":"format","error":"must be an absolute URI such as https://example.com/page",
                        "format":"uri"}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-093",
        &[("/appointment", json!({}))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: /appointment: missing required property \"appointment_type\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD",
                  "message":"/appointment: missing required property \"appointment_type\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/appointment","keyword":"required","error":"missing required property \"appointment_type\"",
                        "property":"appointment_type"}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let visit = json!({"appointment_type": "visit"});
    check(
        &server,
        "E-093",
        &[("/appointment", visit)],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /appointment/appointment_type: must be one of sales, service, test_drive, trade_in",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /appointment/appointment_type: must be one of sales, service, test_drive, trade_in","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/appointment/appointment_type","keyword":"enum","error":"must be one of sales, service, test_drive, trade_in",
                        "allowed":["sales","service","test_drive","trade_in"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let floating = json!({"appointment_type": "sales", "appointment_at": "2026-05-03T11:00:00"});
    check(
        &server,
        "E-094",
        &[("/appointment", floating)],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /appointment/appointment_at: must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /appointment/appointment_at: must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/appointment/appointment_at","keyword":"format",
                        "error":"must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00","format":"date-time"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let long = json!({
        "appointment_type": "sales", "duration_minutes": 10, "notes": "n".repeat(2001),
    });
    let changes = [
        ("/appointment", long),
        ("/message", json!("m".repeat(4001))),
        ("/idempotency_key", json!("k".repeat(129))),
    ];
    check(
        &server,
        "E-095",
        &changes,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /appointment/duration_minutes: must be >= 15; /appointment/notes: must have at most 2000 characters; /message: must have at most 4000 characters; /idempotency_key: must have at most 128 characters",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /appointment/duration_minutes: must be >= 15; /appointment/notes: must have at most 2000 characters; /message: must have at most 4000 characters; /idempotency_key: must have at most 128 characters",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/appointment/duration_minutes","keyword":"minimum","error":"must be >= 15","limit":15},
                      {"instanceLocation":"/appointment/notes","keyword":"maxLength","error":"must have at most 2000 characters","limit":2000},
                      {"instanceLocation":"/message","keyword":"maxLength","error":"must have at most 4000 characters","limit":4000},
                      {"instanceLocation":"/idempotency_key","keyword":"maxLength","error":"must have at most 128 characters","limit":128}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        &server,
        "E-096",
        &[("/priority", json!("high"))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /priority: unknown property \"priority\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /priority: unknown property \"priority\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/priority","keyword":"additionalProperties","error":"unknown property \"priority\"",
                        "allowed":[
                          "type",
                          "customer",
                          "consent",
                          "vehicle_of_interest",
                          "trade_in",
                          "appointment",
                          "message",
                          "source_agent",
                          "submitted_at",
                          "idempotency_key"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
}
