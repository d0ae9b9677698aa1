//! Accounts: opening, billing, settings, lists, governance.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tradepost_publisher::account::{Account, Grant};
use tradepost_publisher::profile::{Authorization, Billing, Onboarding, Profile, Review};
use tradepost_wire::adcp::Tool;

use crate::support::{Desk, profile};

/// A request with rows and a key.
fn rows(rows: Value) -> Value {
    json!({"idempotency_key": "4f1c7e52-0000-4000-8000-000000000001", "accounts": rows})
}

/// The same with another key and other members.
fn with(key: u32, members: Value, rows: Value) -> Value {
    let key = format!("4f1c7e52-0000-4000-8000-{key:012}");
    let mut request = json!({"idempotency_key": key, "accounts": rows});
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn spark(billing: &str) -> Value {
    json!({"brand": {"domain": "nova.example", "brand_id": "spark"}, "operator": "pinnacle.example",
        "billing": billing})
}

/// The rows of an answer, without what each may do, which has a test of its own.
fn compare(answer: &Value, expected: &Expect) {
    let mut rows = answer["accounts"].clone();
    for row in rows.as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("authorization");
    }
    let lines: Vec<_> = rows.as_array().unwrap().iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn sync(desk: &Desk, principal: &str, request: Value) -> Value {
    let answer = desk.ask_as(&desk.caller(principal), Tool::SyncAccounts, request);
    assert!(!answer.is_failure(), "{:?}", answer.errors);
    answer.document()
}

#[test]
fn an_account_is_opened_once_and_brought_to_what_is_declared() {
    let desk = Desk::new();
    desk.check(Tool::SyncAccounts, rows(json!([spark("operator")])), &expect![[r#""#]]);
    compare(
        &sync(&desk, "acme", with(2, json!({}), json!([spark("operator")]))),
        &expect![[r#""#]],
    );
    let changed = json!([{
        "brand": {"domain": "nova.example", "brand_id": "spark"}, "operator": "pinnacle.example",
        "billing": "agent", "payment_terms": "net_30",
        "billing_entity": {"legal_name": "Nova GmbH", "bank": {"account_holder": "Nova", "iban": "DE02120300000000202051"}},
    }]);
    compare(&sync(&desk, "acme", with(3, json!({}), changed.clone())), &expect![[r#""#]]);
    compare(&sync(&desk, "acme", with(4, json!({}), changed)), &expect![[r#""#]]);
    // The sandbox is part of the key, and so are the brand and the tenant.
    let others = json!([
        {"brand": {"domain": "nova.example", "brand_id": "spark"}, "operator": "pinnacle.example",
            "billing": "operator", "sandbox": true},
        {"brand": {"domain": "nova.example"}, "operator": "nova.example", "billing": "operator"},
    ]);
    compare(&sync(&desk, "acme", with(5, json!({}), others)), &expect![[r#""#]]);
    compare(&sync(&desk, "nova", rows(json!([spark("operator")]))), &expect![[r#""#]]);
}
