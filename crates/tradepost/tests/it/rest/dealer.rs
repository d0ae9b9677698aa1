//! A dealer on the HTTP+JSON binding: AAP v1.0, with its status table and error body,
//! and only where the configuration says so.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_aap::Version;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{AuthSettings, Config, RateLimitConfig};
use tradepost_runtime::gate::KeyScope;

use super::{check, check_shape, issue, send};
use crate::support::client::{self, Response};
use crate::support::schemas::{self, example};
use crate::support::{TestServer, dealer, envelope, lead, start, start_with, with};

const V1_0: &str = "https://autoagentprotocol.org/extensions/a2a-automotive-retail/v1.0";

fn switched_on(config: &mut Config) {
    config.dealers[0].http_json = true;
}

fn body(payload: &Value) -> String {
    json!({"message": {"messageId": "m-1", "contextId": "c-1", "role": "ROLE_USER",
                       "parts": [{"data": payload}]}})
    .to_string()
}

/// The answer to a payload, checked against v1.0's schemas.
fn call(server: &TestServer, payload: &Value) -> Response {
    let response = send(server, "POST", "/rest/message:send", &body(payload));
    assert_eq!(response.header("a2a-extensions"), Some(V1_0));
    let answer = response.json();
    if let Some(payload) = answer.pointer("/message/parts/0/data") {
        schemas::check("1.0", payload["type"].as_str().unwrap(), payload);
    }
    if let Some(detail) = answer.pointer("/error/details/1") {
        assert_eq!(detail["@type"], "type.googleapis.com/aap.error");
        let mut error = detail.clone();
        error.as_object_mut().unwrap().shift_remove("@type");
        schemas::check("1.0", "aap.error", &error);
    }
    response
}

/// A lead of v1.0.
fn old_lead() -> Value {
    with(
        lead(),
        &[("/source_agent", json!("test-agent")), ("/consent/source_agent", json!("test-agent"))],
    )
}

#[test]
fn unless_switched_on_it_is_like_any_unknown_path() {
    let server = start();
    assert_eq!(server.card().json()["supportedInterfaces"].as_array().unwrap().len(), 1);
    let whole = |method: &str, target: &str| {
        let headers = [("Content-Type", "application/json")];
        let response = client::request(server.address, method, target, &headers, b"{");
        let mut headers = response.headers;
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
        (response.status, headers, response.body)
    };
    for method in ["GET", "POST", "DELETE", "OPTIONS"] {
        let unknown = whole(method, "/nothing");
        for target in ["/rest", "/rest/", "/rest/message:send", "/rest/tasks/t", "/rest/a/tasks"] {
            assert_eq!(whole(method, target), unknown, "{method} {target}");
        }
    }
    let without = start_with(|config| {
        switched_on(config);
        config.dealers[0].terms.versions = vec![Version::V1_1];
    });
    assert_eq!(without.card().json()["supportedInterfaces"].as_array().unwrap().len(), 1);
    let headers = [("Content-Type", "application/json")];
    let response = client::request(without.address, "POST", "/rest/message:send", &headers, b"{}");
    assert_eq!(
        (response.status, response.body),
        (whole("POST", "/nothing").0, whole("POST", "/nothing").2)
    );
}

#[test]
fn the_card_says_when_it_is_switched_on() {
    let server = start_with(switched_on);
    let card = server.card().json();
    assert_eq!(
        card["supportedInterfaces"],
        json!([
            {"url": "https://demo-toyota.example.com/a2a", "protocolBinding": "JSONRPC",
             "protocolVersion": "1.0"},
            {"url": "https://demo-toyota.example.com/rest", "protocolBinding": "HTTP+JSON",
             "protocolVersion": "1.0"},
        ])
    );
    schemas::check("1.0", "card", &card);
}

#[test]
fn the_published_example_is_answered_as_described() {
    let server = start_with(switched_on);
    let Some(request) = example("1.0", "inventory-search-request.rest") else { return };
    let response = send(&server, "POST", "/rest/message:send", &request.to_string());
    assert_eq!(response.status, 200);
    let answer = response.json();
    let members: Vec<_> = answer.as_object().unwrap().keys().collect();
    assert_eq!(members, ["message"]);
    let expected = example("1.0", "inventory-search-response.rest").unwrap();
    let found = &answer["message"];
    let expected = &expected["message"];
    assert_eq!(found["role"], expected["role"]);
    let found = &found["parts"][0];
    let expected = &expected["parts"][0];
    assert_eq!(found["mediaType"], expected["mediaType"]);
    schemas::check("1.0", "inventory.search.response", &found["data"]);
    for member in ["total", "skip", "limit"] {
        assert_eq!(found["data"]["data"][member], expected["data"]["data"][member]);
    }
    for (vehicle, expected) in found["data"]["data"]["vehicles"]
        .as_array()
        .unwrap()
        .iter()
        .zip(expected["data"]["data"]["vehicles"].as_array().unwrap())
    {
        for member in ["vehicle_id", "vin", "stock", "price", "rooftop"] {
            assert_eq!(vehicle[member], expected[member]);
        }
    }
}

#[test]
fn refusals_have_the_status_table_and_the_second_detail() {
    let server = start_with(switched_on);
    check(
        "AAP 1.0: 404",
        &call(&server, &json!({"type": "lead.withdraw.request"})),
        &expect![[r#"
        404
        {"error":{"code":404,"status":"UNIMPLEMENTED","message":"this agent does not implement lead.withdraw.request",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_SKILL","domain":"autoagentprotocol.org",
                "metadata":{"error_id":"err_<id>","retryable":"false"}},
              {"@type":"type.googleapis.com/aap.error","type":"aap.error","error_id":"err_<id>","code":"UNSUPPORTED_SKILL",
                "message":"this agent does not implement lead.withdraw.request","retryable":false,
                "details":{"requested_type":"lead.withdraw.request",
                  "supported_types":[
                    "dealer.information.request",
                    "inventory.facets.request",
                    "inventory.search.request",
                    "inventory.vehicle.request",
                    "lead.submit.request"]},"created_at":"2026-04-30T12:00:00Z"}]}}
    "#]],
    );
    let wrong = json!({"type": "inventory.search.request", "filters": {"year_min": "x"}, "zip": 1});
    check(
        "AAP 1.0: 422",
        &call(&server, &wrong),
        &expect![[r#"
        422
        {"error":{"code":422,"status":"INVALID_ARGUMENT",
            "message":"the request failed validation: /filters/year_min: must be integer; /zip: unknown property \"zip\"",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SCHEMA_VALIDATION_FAILED","domain":"autoagentprotocol.org",
                "metadata":{"error_id":"err_<id>","retryable":"false"}},
              {"@type":"type.googleapis.com/aap.error","type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                "message":"the request failed validation: /filters/year_min: must be integer; /zip: unknown property \"zip\"","retryable":false,
                "details":{"instancePath":"/filters/year_min",
                  "errors":[
                    {"instanceLocation":"/filters/year_min","keyword":"type","error":"must be integer","expected":"integer"},
                    {"instanceLocation":"/zip","keyword":"additionalProperties","error":"unknown property \"zip\"",
                      "allowed":["type","filters","pagination","sort","privacy"]}]},"created_at":"2026-04-30T12:00:00Z"}]}}
    "#]],
    );
    let missing = with(old_lead(), &[("/source_agent", Value::Null)]);
    check(
        "AAP 1.0: 422",
        &call(&server, &missing),
        &expect![[r#"
        422
        {"error":{"code":422,"status":"INVALID_ARGUMENT","message":"missing required property \"source_agent\"",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"MISSING_REQUIRED_FIELD","domain":"autoagentprotocol.org",
                "metadata":{"error_id":"err_<id>","retryable":"false"}},
              {"@type":"type.googleapis.com/aap.error","type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD",
                "message":"missing required property \"source_agent\"","retryable":false,
                "details":{"instancePath":"",
                  "errors":[{"instanceLocation":"","keyword":"required","error":"missing required property \"source_agent\"","property":"source_agent"}]},
                "created_at":"2026-04-30T12:00:00Z"}]}}
    "#]],
    );
    let condition = with(old_lead(), &[("/vehicle_of_interest", json!({"condition": "good"}))]);
    assert_eq!(call(&server, &condition).status, 422);
    let unknown = json!({"type": "inventory.vehicle.request", "vin": "1M8GDM9AXKP042788"});
    check(
        "AAP 1.0: 404",
        &call(&server, &unknown),
        &expect![[r#"
        404
        {"error":{"code":404,"status":"NOT_FOUND","message":"no listing of this dealer matches",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VEHICLE_NOT_FOUND","domain":"autoagentprotocol.org",
                "metadata":{"error_id":"err_<id>","retryable":"false"}},
              {"@type":"type.googleapis.com/aap.error","type":"aap.error","error_id":"err_<id>","code":"VEHICLE_NOT_FOUND",
                "message":"no listing of this dealer matches","retryable":false,
                "details":{"vin":"1M8GDM9AXKP042788","dealer_id":"demo-auto-group","suggestion":"inventory.search"},"created_at":"2026-04-30T12:00:00Z"}]}}
    "#]],
    );
    let sold = json!({"type": "inventory.vehicle.request", "vin": "5YJ3E1EA7KF000316"});
    assert_eq!(call(&server, &sold).status, 409);
    let consent = with(old_lead(), &[("/consent", Value::Null)]);
    check(
        "AAP 1.0: 403",
        &call(&server, &consent),
        &expect![[r#"
        403
        {"error":{"code":403,"status":"PERMISSION_DENIED","message":"no consent: add a consent grant with scope [\"lead_submission\"]",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTACT_CONSENT_REQUIRED","domain":"autoagentprotocol.org",
                "metadata":{"error_id":"err_<id>","retryable":"false"}},
              {"@type":"type.googleapis.com/aap.error","type":"aap.error","error_id":"err_<id>","code":"CONTACT_CONSENT_REQUIRED",
                "message":"no consent: add a consent grant with scope [\"lead_submission\"]","retryable":false,
                "details":{"missing":"consent","expected_scope":"lead_submission","instancePath":"",
                  "errors":[{"instanceLocation":"","keyword":"required","error":"missing required property \"consent\"","property":"consent"}]},
                "created_at":"2026-04-30T12:00:00Z"}]}}
    "#]],
    );
    let expired = with(old_lead(), &[("/consent/expires_at", json!("2026-04-30T11:30:00Z"))]);
    let expired = call(&server, &expired);
    assert_eq!(expired.status, 403);
    assert_eq!(expired.json()["error"]["details"][0]["reason"], "INVALID_CONSENT");
    let key = |message: &str| {
        with(
            old_lead(),
            &[("/idempotency_key", json!("k-123456789")), ("/message", json!(message))],
        )
    };
    assert_eq!(call(&server, &key("one")).status, 200);
    let conflict = call(&server, &key("two"));
    assert_eq!(
        (conflict.status, &conflict.json()["error"]["status"]),
        (409, &json!("ALREADY_EXISTS"))
    );
}

#[test]
fn answers_are_in_v1_0_and_other_versions_are_refused() {
    let server = start_with(switched_on);
    let new = with(lead(), &[("/consent/source_agent", json!("test-agent"))]);
    let new = call(&server, &new);
    assert_eq!(new.status, 422, "a lead of v1.1 is none of v1.0");
    let headers = [
        ("Content-Type", "application/json"),
        ("A2A-Extensions", "https://autoagentprotocol.org/extensions/aap/v1.1"),
    ];
    let payload = body(&json!({"type": "dealer.information.request"}));
    let target = "/rest/message:send";
    let response = client::request(server.address, "POST", target, &headers, payload.as_bytes());
    assert_eq!((response.status, response.header("a2a-extensions")), (400, None));
    let info = &response.json()["error"]["details"][0];
    assert_eq!(info["reason"], "EXTENSION_SUPPORT_REQUIRED");
    assert_eq!(info["metadata"]["supportedExtensions"], V1_0);
    assert_eq!(call(&server, &old_lead()).status, 200);
    let response = server.call(&json!({"type": "dealer.information.request"}));
    assert!(response.header("a2a-extensions").unwrap().ends_with("v1.1"), "JSON-RPC is as before");
}

#[test]
fn what_a_dealer_cannot_do_is_the_protocols_error() {
    let server = start_with(switched_on);
    for (method, target, reason) in [
        ("GET", "/rest/tasks", "UNSUPPORTED_OPERATION"),
        ("GET", "/rest/tasks/t", "TASK_NOT_FOUND"),
        ("POST", "/rest/tasks/t:cancel", "TASK_NOT_FOUND"),
        ("GET", "/rest/tasks/t:subscribe", "UNSUPPORTED_OPERATION"),
        ("GET", "/rest/tasks/t/pushNotificationConfigs", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        ("GET", "/rest/extendedAgentCard", "UNSUPPORTED_OPERATION"),
    ] {
        let response = send(&server, method, target, "");
        let error = &response.json()["error"];
        assert_eq!(error["details"][0]["reason"], reason, "{method} {target}");
        assert_eq!(error["details"][0]["domain"], "a2a-protocol.org");
    }
}

#[test]
fn whoever_comes_too_often_or_unknown_is_told_so() {
    let server = start_with(|config| {
        switched_on(config);
        let window = SignedDuration::from_mins(1);
        config.dealers[0].rate_limit = RateLimitConfig { requests: 1, window, http_429: false };
    });
    let payload = json!({"type": "dealer.information.request"});
    assert_eq!(call(&server, &payload).status, 200);
    let limited = call(&server, &payload);
    assert_eq!(limited.header("retry-after"), Some("60"));
    check(
        "AAP 1.0: 429",
        &limited,
        &expect![[r#"
            429
            {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"the request rate is above the dealer's limit",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMITED","domain":"autoagentprotocol.org",
                    "metadata":{"error_id":"err_<id>","retryable":"true"}},
                  {"@type":"type.googleapis.com/aap.error","type":"aap.error","error_id":"err_<id>","code":"RATE_LIMITED",
                    "message":"the request rate is above the dealer's limit","retryable":true,
                    "details":{"retry_after_ms":60000,"retry_after_seconds":60,"limit":1,"window_ms":60000},"created_at":"2026-04-30T12:00:00Z"},
                  {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"60s"}]}}
        "#]],
    );

    let closed = start_with(|config| {
        switched_on(config);
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    });
    let response = send(&closed, "POST", "/rest/message:send", &body(&payload));
    check_shape(&response);
    assert_eq!(response.header("www-authenticate"), Some("Bearer realm=\"demo-auto-group\""));
    let key = issue(&closed, dealer::ID, "acme", Some(vec![KeyScope::InventoryRead]));
    let headers = [("Content-Type", "application/json"), ("Authorization", key.as_str())];
    let target = "/rest/message:send";
    let payload = body(&payload);
    let lacking = client::request(closed.address, "POST", target, &headers, payload.as_bytes());
    check_shape(&lacking);
    let challenge = lacking.header("www-authenticate").unwrap();
    assert!(challenge.ends_with("error=\"insufficient_scope\", scope=\"dealer:read\""));
    check(
        "A-03",
        &lacking,
        &expect![[r#"
            403
            {"error":{"code":403,"status":"PERMISSION_DENIED","message":"the credential lacks the scope dealer:read",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org",
                    "metadata":{"scope":"dealer:read","challenge":"Bearer realm=\"demo-auto-group\", error=\"insufficient_scope\", scope=\"dealer:read\""}}]}}
        "#]],
    );
    check(
        "A-01",
        &response,
        &expect![[r#"
            401
            {"error":{"code":401,"status":"UNAUTHENTICATED",
                "message":"this agent requires a credential; send one of a scheme that its card declares, in the header Authorization",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"demo-auto-group\""}}]}}
        "#]],
    );
}

#[test]
fn an_unreachable_key_store_is_unavailable_and_not_broken() {
    let server = start_with(|config| {
        switched_on(config);
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    });
    let key = issue(&server, dealer::ID, "acme", None);
    let path = server.directory.path().join("tradepost.sqlite");
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("ALTER TABLE api_keys RENAME TO mislaid").unwrap();
    let headers = [("Content-Type", "application/json"), ("Authorization", key.as_str())];
    let payload = body(&json!({"type": "dealer.information.request"}));
    let ask = || {
        let target = "/rest/message:send";
        client::request(server.address, "POST", target, &headers, payload.as_bytes())
    };
    let response = ask();
    check_shape(&response);
    check(
        "E-14",
        &response,
        &expect![[r#"
            503
            {"error":{"code":503,"status":"UNAVAILABLE","message":"the dealer's agent failed to answer; try again later",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"autoagentprotocol.org",
                    "metadata":{"error_id":"err_<id>","retryable":"true"}},
                  {"@type":"type.googleapis.com/aap.error","type":"aap.error","error_id":"err_<id>","code":"INTERNAL_ERROR",
                    "message":"the dealer's agent failed to answer; try again later","retryable":true,"details":{"retry_after_ms":5000,"retry_after_seconds":5},
                    "created_at":"2026-04-30T12:00:00Z"},
                  {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"5s"}]}}
        "#]],
    );
    assert_eq!(response.header("retry-after"), Some("5"));
    let envelope = envelope(&json!({"type": "dealer.information.request"})).to_string();
    let json_rpc = server.post_with(&headers, envelope);
    assert_eq!((json_rpc.status, json_rpc.header("retry-after")), (200, Some("5")));
    assert_eq!(json_rpc.json()["error"]["code"], -32603);
    database.execute_batch("ALTER TABLE mislaid RENAME TO api_keys").unwrap();
    assert_eq!(ask().status, 200);
}
