//! The decision table of a dealer that knows its callers, on HTTP+JSON: who asks for what, and
//! what is answered (A-01 to A-05, E-28). What the gate says precedes
//! whatever is wrong with the payload, and what the protocol says precedes the gate.

use tradepost_document::json::{Value, json};
use tradepost_runtime::config::AuthSettings;
use tradepost_runtime::gate::KeyScope;

use super::{ask, issue};
use crate::support::{TestServer, dealer, lead, start_with, with};

/// Who asks.
#[derive(Debug, Clone, Copy)]
enum Who {
    Nobody,
    Wrong,
    Holder(&'static [KeyScope]),
}

use KeyScope::{DealerRead, InventoryRead, LeadWrite, TasksRead};
use Who::{Holder, Nobody, Wrong};

const EVERYBODY_BUT: [Who; 2] = [Nobody, Wrong];

fn closed() -> TestServer {
    start_with(|config| {
        config.dealers[0].http_json = true;
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    })
}

fn message(payload: &Value) -> String {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": payload}]}})
        .to_string()
}

/// A lead of v1.0, the version of this binding.
fn old_lead() -> Value {
    let agent = json!("test-agent");
    with(lead(), &[("/source_agent", agent.clone()), ("/consent/source_agent", agent)])
}

/// What the answer is: status and reason, and the scope that is missing.
fn answer(server: &TestServer, who: Who, method: &str, target: &str, body: &str) -> String {
    let credential = match who {
        Nobody => None,
        Wrong => Some(format!("Bearer tp_{}_{}", "0".repeat(16), "0".repeat(64))),
        Holder(scopes) => {
            let name = format!("k-{}", uuid::Uuid::now_v7().simple());
            Some(issue(server, dealer::ID, &name, Some(scopes.to_vec())))
        }
    };
    let mut headers: Vec<_> =
        credential.iter().map(|text| ("Authorization", text.as_str())).collect();
    if !body.is_empty() {
        headers.push(super::JSON);
    }
    let response = ask(server, &headers, method, target, body);
    let challenged = response.header("www-authenticate").is_some();
    assert_eq!(challenged, [401, 403].contains(&response.status), "A-02");
    let body = response.json();
    let info = &body["error"]["details"][0];
    let reason = info["reason"].as_str().unwrap_or("OK");
    let scope = info["metadata"]["scope"].as_str().unwrap_or_default();
    format!("{} {reason} {scope}", response.status).trim_end().to_owned()
}

#[test]
fn every_skill_asks_for_its_scope_by_name() {
    let dealer_information = json!({"type": "dealer.information.request"});
    let facets = json!({"type": "inventory.facets.request"});
    let search = json!({"type": "inventory.search.request", "pagination": {"limit": 1}});
    let vehicle = json!({"type": "inventory.vehicle.request", "vin": "1ZZZZZZZZZZZZZZZZ"});
    let broken = json!({"type": "inventory.search.request", "pagination": {"limit": -1}});
    let no_skill = json!({"type": "unheard.of"});
    for (payload, who, expected) in [
        (&dealer_information, Holder(&[DealerRead]), "200 OK"),
        (&dealer_information, Holder(&[InventoryRead]), "403 PERMISSION_DENIED dealer:read"),
        (&facets, Holder(&[InventoryRead]), "200 OK"),
        (&facets, Holder(&[LeadWrite]), "403 PERMISSION_DENIED inventory:read"),
        (&search, Holder(&[InventoryRead]), "200 OK"),
        (&search, Holder(&[]), "403 PERMISSION_DENIED inventory:read"),
        (&vehicle, Holder(&[InventoryRead]), "404 VEHICLE_NOT_FOUND"),
        // E-28: whoever may not look hears nothing of what is there.
        (&vehicle, Holder(&[DealerRead]), "403 PERMISSION_DENIED inventory:read"),
        (&old_lead(), Holder(&[LeadWrite]), "200 OK"),
        (&old_lead(), Holder(&[InventoryRead]), "403 PERMISSION_DENIED lead:write"),
        // What is wrong with the payload is for those who may send it.
        (&broken, Holder(&[InventoryRead]), "422 SCHEMA_VALIDATION_FAILED"),
        (&broken, Holder(&[DealerRead]), "403 PERMISSION_DENIED inventory:read"),
        // What calls no skill reaches nothing that needs protection.
        (&no_skill, Holder(&[TasksRead]), "422 SCHEMA_VALIDATION_FAILED"),
    ] {
        let server = closed();
        let found = answer(&server, who, "POST", "/rest/message:send", &message(payload));
        assert_eq!(found, expected, "{payload} by {who:?}");
        for who in EVERYBODY_BUT {
            let found = answer(&server, who, "POST", "/rest/message:send", &message(payload));
            assert_eq!(found, "401 UNAUTHENTICATED", "A-01: {payload} by {who:?}");
        }
    }
}

#[test]
fn what_is_not_offered_is_said_to_callers_alone() {
    let tasks: &[KeyScope] = &[TasksRead];
    for (method, target, body, expected) in [
        ("POST", "/rest/message:stream", message(&json!({})), "400 UNSUPPORTED_OPERATION"),
        ("GET", "/rest/tasks", String::new(), "400 UNSUPPORTED_OPERATION"),
        ("GET", "/rest/tasks/t", String::new(), "404 TASK_NOT_FOUND"),
        ("POST", "/rest/tasks/t:cancel", String::new(), "404 TASK_NOT_FOUND"),
        ("GET", "/rest/extendedAgentCard", String::new(), "400 UNSUPPORTED_OPERATION"),
        ("POST", "/rest/message:send", "{".to_owned(), "400 PARSE_ERROR"),
        ("POST", "/rest/message:send", "{}".to_owned(), "400 INVALID_PARAMS"),
    ] {
        let server = closed();
        let found = answer(&server, Holder(tasks), method, target, &body);
        assert_eq!(found, expected, "{method} {target}");
        for who in EVERYBODY_BUT {
            let found = answer(&server, who, method, target, &body);
            assert_eq!(found, "401 UNAUTHENTICATED", "A-01: {method} {target} by {who:?}");
        }
    }
    // Which paths there are is public: it stands in the specification.
    for who in [Nobody, Wrong, Holder(tasks)] {
        let server = closed();
        let unknown = answer(&server, who, "GET", "/rest/nothing", "");
        assert_eq!(unknown, "404 METHOD_NOT_FOUND", "E-09");
        let wrong = answer(&server, who, "PUT", "/rest/tasks/t", "");
        assert_eq!(wrong, "405 METHOD_NOT_FOUND", "E-09");
    }
}
