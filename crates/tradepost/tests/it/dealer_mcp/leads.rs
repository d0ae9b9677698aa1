//! Leads over MCP: nothing is sent before the person has agreed, and once they have, it is sent once.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_document::json::{Value, json};

use super::{call, call_of, post, post_later, rpc, text};
use crate::auth;
use crate::support::dealer::LISTED_VIN;
use crate::support::layout;
use crate::support::{Response, TestServer, start, start_with, with};

pub(super) const TOOL: &str = "aap_lead_submit";

/// What a model sends.
pub(super) fn arguments() -> Value {
    json!({
        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com"},
        "consent": {"allowed_channels": ["email"]}, "vehicle_of_interest": {"vin": LISTED_VIN},
    })
}

/// The same with the confirmation of a first call.
pub(super) fn confirmed(arguments: Value, first: &Value) -> Value {
    let confirmation = first["structuredContent"]["confirmation"].clone();
    assert!(confirmation.is_string(), "{first}");
    let shown = ("/consent_shown_to_user", json!(true));
    with(arguments, &[("/confirmation", confirmation), shown])
}

pub(super) fn leads(server: &TestServer) -> usize {
    server.store.leads(None).unwrap().len()
}

/// The code and the reason of a failed call.
pub(super) fn refusal(result: &Value) -> (&str, &str) {
    assert_eq!(result["isError"], true, "{result}");
    let error = &result["structuredContent"];
    let reason = error["details"]["reason"].as_str().unwrap_or_default();
    (error["code"].as_str().unwrap(), reason)
}

#[test]
fn two_calls_with_the_consent_text_send_one_lead() {
    let server = start();
    let first = call(&server, TOOL, &arguments());
    assert_eq!(leads(&server), 0, "the first call sends nothing");
    let document = &first["structuredContent"];
    let consent_text = "I agree that the car dealer \"Demo Auto Group\" at demo-toyota.example.com receives my name \
                        and my e-mail address ada@example.com and may contact me by e-mail about my request (VIN \
                        1HGCY2F57RA000001). I permit nothing else.";
    assert_eq!(document["status"], "confirmation_required");
    assert_eq!(document["consent_text"], consent_text);
    assert!(text(&first).contains(consent_text), "{first}");
    let second = call(&server, TOOL, &confirmed(arguments(), &first));
    let mut receipt = second["structuredContent"].clone();
    layout::redact(&mut receipt);
    expect![[r#"
        {"type":"lead.submit.response","data":{"lead_id":"lead_<id>","status":"received","dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
          "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel."}"#]].assert_eq(&layout::lay_out(&receipt));
    assert!(text(&second).contains("conversation: "), "{second}");
    // Once more, later, the receipt is repeated.
    server.advance(SignedDuration::from_mins(5));
    let third = call(&server, TOOL, &confirmed(arguments(), &first));
    assert_eq!(third["structuredContent"], second["structuredContent"]);
    assert_eq!(leads(&server), 1);
    let history = server.history(&second["structuredContent"]["data"]["lead_id"]);
    let mut payload = history.lead.submission.payload.clone();
    payload.as_object_mut().unwrap().shift_remove("idempotency_key");
    expect![[r#"
        {"type":"lead.submit.request","customer":{"first_name":"Ada","last_name":"Lovelace","email":"ada@example.com"},
          "consent":{"allowed_channels":["email"],"granted_at":"2026-04-30T12:00:00Z",
            "consent_text":"I agree that the car dealer \"Demo Auto Group\" at demo-toyota.example.com receives my name and my e-mail address ada@example.com and may contact me by e-mail about my request (VIN 1HGCY2F57RA000001). I permit nothing else.",
            "scope":["lead_submission"]},"vehicle_of_interest":{"vin":"1HGCY2F57RA000001"},"source_agent":{"name":"MCP client"},
          "submitted_at":"2026-04-30T12:00:00Z"}"#]].assert_eq(&layout::lay_out(&payload));
}

#[test]
fn a_repeated_call_reaches_another_process() {
    let server = start();
    let first = call(&server, TOOL, &arguments());
    let server = crate::support::restart(server);
    let second = call(&server, TOOL, &confirmed(arguments(), &first));
    let server = crate::support::restart_after(server, SignedDuration::from_mins(1));
    let third = call(&server, TOOL, &confirmed(arguments(), &first));
    assert_eq!(third["structuredContent"], second["structuredContent"]);
    assert_eq!(leads(&server), 1);
}

#[test]
fn a_confirmation_fits_only_its_own_lead_and_time() {
    let server = start();
    let first = call(&server, TOOL, &arguments());
    let changed = [
        ("/message", json!("Call my neighbour.")),
        ("/customer/email", json!("eve@example.com")),
        ("/consent/allowed_channels", json!(["email", "sms"])),
        ("/vehicle_of_interest/vin", json!("1G1FY6S07N4100001")),
        ("/source_agent", json!({"name": "Somebody else"})),
        ("/consent/expires_at", json!("2027-04-30T12:00:00Z")),
        ("/idempotency_key", json!("another")),
    ];
    for change in changed {
        let result = call(&server, TOOL, &confirmed(with(arguments(), &[change]), &first));
        assert_eq!(refusal(&result), ("INVALID_CONSENT", "confirmation_invalid"));
    }
    let made_up = with(confirmed(arguments(), &first), &[("/confirmation", json!("AAAA"))]);
    let result = call(&server, TOOL, &made_up);
    assert_eq!(refusal(&result), ("INVALID_CONSENT", "confirmation_invalid"));
    server.advance(SignedDuration::from_mins(31));
    let result = call(&server, TOOL, &confirmed(arguments(), &first));
    assert_eq!(refusal(&result), ("INVALID_CONSENT", "confirmation_expired"));
    assert_eq!(leads(&server), 0);
}

#[test]
fn a_sent_lead_is_repeated_however_old_its_confirmation() {
    let server = start();
    let first = call(&server, TOOL, &arguments());
    let second = call(&server, TOOL, &confirmed(arguments(), &first));
    let server = crate::support::restart_after(server, SignedDuration::from_hours(2));
    let third = call(&server, TOOL, &confirmed(arguments(), &first));
    assert_eq!(third["structuredContent"], second["structuredContent"], "{third}");
    assert_eq!(leads(&server), 1);
}

#[test]
fn a_confirmation_fits_only_its_own_caller() {
    let server = start_with(auth::keys(true));
    let keys = ["acme", "other"].map(|name| auth::issue(&server, name, |_| {}));
    let [ours, theirs] = keys.map(|key| format!("Bearer {key}"));
    let send = |authorization: &str, arguments: &Value| {
        let headers = [("Authorization", authorization)];
        post(&server, &headers, &call_of(TOOL, arguments)).json()["result"].clone()
    };
    let first = send(&ours, &arguments());
    let result = send(&theirs, &confirmed(arguments(), &first));
    assert_eq!(refusal(&result), ("INVALID_CONSENT", "confirmation_invalid"));
    let result = send(&ours, &confirmed(arguments(), &first));
    assert_eq!(result["structuredContent"]["data"]["status"], "received");
}

#[test]
fn a_model_cannot_agree_for_the_user() {
    let server = start();
    let first = call(&server, TOOL, &arguments());
    for change in [json!(false), Value::Null] {
        let sent = with(confirmed(arguments(), &first), &[("/consent_shown_to_user", change)]);
        let result = call(&server, TOOL, &sent);
        assert_eq!(refusal(&result).0, "SCHEMA_VALIDATION_FAILED");
        let problem = &result["structuredContent"]["details"]["errors"][0];
        assert_eq!(problem["instanceLocation"], "/consent_shown_to_user");
    }
    // A consent that the model claims is no agreement.
    let claimed = json!({
        "granted_at": "2026-04-30T11:00:00Z", "allowed_channels": ["email"],
        "consent_text": "Yes.", "scope": ["lead_submission"],
    });
    let result = call(&server, TOOL, &with(arguments(), &[("/consent", claimed)]));
    assert_eq!(result["structuredContent"]["status"], "confirmation_required");
    assert_eq!(leads(&server), 0);
}

/// A call of a client that shows forms, with the state and the person's answer.
fn by_form(server: &TestServer, more: &[(&str, Value)]) -> Response {
    let capabilities = json!({"elicitation": {"form": {}}});
    post_later(server, TOOL, &arguments(), &capabilities, more)
}

fn answered(state: &Value, answer: Value) -> Vec<(&'static str, Value)> {
    vec![("requestState", state.clone()), ("inputResponses", json!({"person": answer}))]
}

#[test]
fn a_form_of_the_client_asks_the_person() {
    let server = start();
    let asked = by_form(&server, &[]).json();
    let mut shown = asked.clone();
    shown["result"]["requestState"] = "(state)".into();
    expect![[r#"
        {"jsonrpc":"2.0","id":1,
          "result":{"resultType":"input_required",
            "inputRequests":{"person":{"method":"elicitation/create",
                "params":{"message":"I agree that the car dealer \"Demo Auto Group\" at demo-toyota.example.com receives my name and my e-mail address ada@example.com and may contact me by e-mail about my request (VIN 1HGCY2F57RA000001). I permit nothing else.\n\nThis would be sent to \"Demo Auto Group\":\n- customer.first_name: \"Ada\"\n- customer.last_name: \"Lovelace\"\n- customer.email: \"ada@example.com\"\n- vehicle_of_interest.vin: \"1HGCY2F57RA000001\"\n",
                  "requestedSchema":{"type":"object",
                    "properties":{"agree":{"type":"boolean","title":"I agree","description":"Without this nothing is sent.","default":false}},
                    "required":["agree"]}}}},"requestState":"(state)"}}"#]].assert_eq(&layout::lay_out(&shown));
    let state = &asked["result"]["requestState"];
    let agreed = json!({"action": "accept", "content": {"agree": true}});
    let sent = by_form(&server, &answered(state, agreed.clone())).json();
    assert_eq!(sent["result"]["structuredContent"]["data"]["status"], "received", "{sent}");
    let again = by_form(&server, &answered(state, agreed)).json();
    assert_eq!(again["result"]["structuredContent"], sent["result"]["structuredContent"]);
    let history = server.history(&sent["result"]["structuredContent"]["data"]["lead_id"]);
    assert_eq!(history.lead.submission.payload["source_agent"]["name"], "Later 2 (MCP)");
    assert_eq!(leads(&server), 1);
}

#[test]
fn who_declines_or_closes_the_form_sends_nothing() {
    let server = start();
    let agreed = json!({"action": "accept", "content": {"agree": true}});
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {"agree": false}}),
    ] {
        let asked = by_form(&server, &[]).json();
        let state = &asked["result"]["requestState"];
        server.advance(SignedDuration::from_secs(1));
        let result = by_form(&server, &answered(state, answer)).json()["result"].clone();
        assert_eq!(refusal(&result), ("CONTACT_CONSENT_REQUIRED", "declined"));
        // The refusal is final for this form.
        let result = by_form(&server, &answered(state, agreed.clone())).json()["result"].clone();
        assert_eq!(refusal(&result), ("CONTACT_CONSENT_REQUIRED", "declined"));
    }
    let asked = by_form(&server, &[]).json();
    let state = &asked["result"]["requestState"];
    let misfit = json!({"action": "accept", "content": {"agree": "yes"}});
    let result = by_form(&server, &answered(state, misfit)).json()["result"].clone();
    assert_eq!(refusal(&result), ("CONTACT_CONSENT_REQUIRED", "answer_invalid"));
    assert_eq!(leads(&server), 0);
}

#[test]
fn a_refusal_holds_in_every_process() {
    let server = start();
    let asked = by_form(&server, &[]).json();
    let state = &asked["result"]["requestState"];
    let declined = json!({"action": "decline"});
    let result = by_form(&server, &answered(state, declined)).json()["result"].clone();
    assert_eq!(refusal(&result), ("CONTACT_CONSENT_REQUIRED", "declined"));
    let server = crate::support::restart(server);
    let agreed = json!({"action": "accept", "content": {"agree": true}});
    let result = by_form(&server, &answered(state, agreed.clone())).json()["result"].clone();
    assert_eq!(refusal(&result), ("CONTACT_CONSENT_REQUIRED", "declined"));
    assert_eq!(leads(&server), 0);
    // Another form of the same lead is another question.
    server.advance(SignedDuration::from_secs(1));
    let asked = by_form(&server, &[]).json();
    let state = &asked["result"]["requestState"];
    let sent = by_form(&server, &answered(state, agreed)).json();
    assert_eq!(sent["result"]["structuredContent"]["data"]["status"], "received", "{sent}");
}

#[test]
fn a_refusal_does_not_undo_what_was_sent() {
    let server = start();
    let asked = by_form(&server, &[]).json();
    let state = &asked["result"]["requestState"];
    let agreed = json!({"action": "accept", "content": {"agree": true}});
    let sent = by_form(&server, &answered(state, agreed.clone())).json();
    by_form(&server, &answered(state, json!({"action": "decline"})));
    let again = by_form(&server, &answered(state, agreed)).json();
    assert_eq!(again["result"]["structuredContent"], sent["result"]["structuredContent"]);
    assert_eq!(leads(&server), 1);
}

#[test]
fn a_token_of_two_calls_answers_no_form() {
    let server = start();
    let first = call(&server, TOOL, &arguments());
    let token = &first["structuredContent"]["confirmation"];
    let agreed = json!({"action": "accept", "content": {"agree": true}});
    let result = by_form(&server, &answered(token, agreed)).json()["result"].clone();
    assert_eq!(refusal(&result), ("INVALID_CONSENT", "confirmation_invalid"));
    assert_eq!(leads(&server), 0);
}

#[test]
fn the_lead_names_the_client_of_the_handshake() {
    let server = start();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "Assistant", "version": "7"}});
    let greeted = post(&server, &[], &rpc("initialize", &hello));
    let session = greeted.header("mcp-session-id").unwrap();
    let headers = [("Mcp-Session-Id", session), ("User-Agent", "assistant-http/1")];
    let send = |arguments: &Value| {
        post(&server, &headers, &call_of(TOOL, arguments)).json()["result"].clone()
    };
    let first = send(&arguments());
    let second = send(&confirmed(arguments(), &first));
    let lead_id = &second["structuredContent"]["data"]["lead_id"];
    let history = server.history(lead_id);
    assert_eq!(history.lead.submission.payload["source_agent"]["name"], "Assistant 7 (MCP)");
    let database =
        rusqlite::Connection::open(server.directory.path().join("tradepost.sqlite")).unwrap();
    let agent: String = database
        .query_row("SELECT user_agent FROM consent_evidence", [], |row| row.get(0))
        .unwrap();
    assert_eq!(agent, "MCP, asked in two calls; client Assistant 7; assistant-http/1");
}

#[test]
fn a_conversation_recognises_the_customer() {
    let server = start();
    let first = call(&server, TOOL, &arguments());
    let second = call(&server, TOOL, &confirmed(arguments(), &first));
    let conversation = text(&second).lines().find_map(|line| line.strip_prefix("- conversation: "));
    let more = with(
        arguments(),
        &[("/message", json!("And again.")), ("/conversation", json!(conversation.unwrap()))],
    );
    let first = call(&server, TOOL, &more);
    let again = call(&server, TOOL, &confirmed(more, &first));
    assert_eq!(again["structuredContent"]["data"]["status"], "duplicate");
}
