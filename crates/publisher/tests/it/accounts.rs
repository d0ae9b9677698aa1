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
    desk.check(
        Tool::SyncAccounts,
        rows(json!([spark("operator")])),
        &expect![[r#"
        {
          "status": "completed",
          "message": "1 created",
          "accounts": [
            {
              "account_id": "acc_1",
              "name": "spark (nova.example) c/o pinnacle.example",
              "status": "active",
              "brand": {
                "domain": "nova.example",
                "brand_id": "spark"
              },
              "operator": "pinnacle.example",
              "billing": "operator",
              "payment_terms": "net_30",
              "account_scope": "operator_brand",
              "sandbox": false,
              "authorization": {
                "allowed_tasks": [
                  "get_adcp_capabilities",
                  "get_products",
                  "list_creative_formats",
                  "create_media_buy",
                  "update_media_buy",
                  "get_media_buys",
                  "get_media_buy_delivery",
                  "sync_creatives",
                  "list_creatives",
                  "sync_audiences",
                  "sync_event_sources",
                  "log_event",
                  "sync_accounts",
                  "list_accounts",
                  "sync_governance",
                  "sync_plans",
                  "check_governance",
                  "get_signals",
                  "activate_signal",
                  "si_get_offering",
                  "si_initiate_session",
                  "si_send_message",
                  "si_terminate_session",
                  "create_property_list",
                  "get_property_list",
                  "list_property_lists",
                  "update_property_list",
                  "delete_property_list",
                  "get_task_status",
                  "list_tasks",
                  "comply_test_controller"
                ]
              },
              "action": "created"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }"#]],
    );
    compare(
        &sync(&desk, "acme", with(2, json!({}), json!([spark("operator")]))),
        &expect![[
            r#"{"account_id":"acc_1","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,"action":"unchanged"}"#
        ]],
    );
    let changed = json!([{
        "brand": {"domain": "nova.example", "brand_id": "spark"}, "operator": "pinnacle.example",
        "billing": "agent", "payment_terms": "net_30",
        "billing_entity": {"legal_name": "Nova GmbH", "bank": {"account_holder": "Nova", "iban": "DE02120300000000202051"}},
    }]);
    compare(
        &sync(&desk, "acme", with(3, json!({}), changed.clone())),
        &expect![[
            r#"{"account_id":"acc_1","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"agent","billing_entity":{"legal_name":"Nova GmbH"},"payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,"action":"updated"}"#
        ]],
    );
    compare(
        &sync(&desk, "acme", with(4, json!({}), changed)),
        &expect![[
            r#"{"account_id":"acc_1","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"agent","billing_entity":{"legal_name":"Nova GmbH"},"payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,"action":"unchanged"}"#
        ]],
    );
    // The sandbox is part of the key, and so are the brand and the tenant.
    let others = json!([
        {"brand": {"domain": "nova.example", "brand_id": "spark"}, "operator": "pinnacle.example",
            "billing": "operator", "sandbox": true},
        {"brand": {"domain": "nova.example"}, "operator": "nova.example", "billing": "operator"},
    ]);
    compare(
        &sync(&desk, "acme", with(5, json!({}), others)),
        &expect![[r#"
        {"account_id":"acc_2","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","sandbox":true,"action":"created"}
        {"account_id":"acc_3","name":"nova.example","status":"active","brand":{"domain":"nova.example"},"operator":"nova.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"created"}"#]],
    );
    compare(
        &sync(&desk, "nova", rows(json!([spark("operator")]))),
        &expect![[
            r#"{"account_id":"acc_4","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,"action":"created"}"#
        ]],
    );
}
