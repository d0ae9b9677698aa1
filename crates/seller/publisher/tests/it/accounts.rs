//! Accounts: opening, billing, settings, lists, governance.

use expect_test::{Expect, expect};
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{Account, AccountGrant};
use tradepost_publisher::agent::{AccountRights, Billing};
use tradepost_publisher::profile::{AccountReview, Onboarding, PublisherProfile};

use crate::support::{Harness, profile};

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
        row.as_object_mut().unwrap().swap_remove("authorization");
    }
    let lines: Vec<_> = rows.as_array().unwrap().iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn sync(harness: &Harness, principal: &str, request: Value) -> Value {
    let answer = harness.ask_as(&harness.caller(principal), AdcpTool::SyncAccounts, request);
    assert!(!answer.is_failure(), "{:?}", answer.errors);
    answer.document()
}

#[test]
fn an_account_is_opened_once_and_then_follows_its_declaration() {
    let harness = Harness::new();
    harness.check(
        AdcpTool::SyncAccounts,
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
                      "report_plan_outcome",
                      "get_plan_audit_logs",
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
                      "validate_property_delivery",
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
        &sync(&harness, "acme", with(2, json!({}), json!([spark("operator")]))),
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
        &sync(&harness, "acme", with(3, json!({}), changed.clone())),
        &expect![[
            r#"{"account_id":"acc_1","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"agent","billing_entity":{"legal_name":"Nova GmbH"},"payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,"action":"updated"}"#
        ]],
    );
    compare(
        &sync(&harness, "acme", with(4, json!({}), changed)),
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
        &sync(&harness, "acme", with(5, json!({}), others)),
        &expect![[r#"
        {"account_id":"acc_2","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","sandbox":true,"action":"created"}
        {"account_id":"acc_3","name":"nova.example","status":"active","brand":{"domain":"nova.example"},"operator":"nova.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"created"}"#]],
    );
    compare(
        &sync(&harness, "nova", rows(json!([spark("operator")]))),
        &expect![[
            r#"{"account_id":"acc_4","name":"spark (nova.example) c/o pinnacle.example","status":"active","brand":{"domain":"nova.example","brand_id":"spark"},"operator":"pinnacle.example","billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,"action":"created"}"#
        ]],
    );
}

/// A row of brand and operator with these members.
fn row(domain: &str, operator: &str, members: Value) -> Value {
    let mut row = json!({"brand": {"domain": domain}, "operator": operator, "billing": "operator"});
    for (name, value) in members.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

/// A publisher that bills operators and agents, operators only when it knows them, and has agents of
/// three kinds besides: `pass` is no payer, `payer` pays for itself alone, `poor` may do neither.
fn billing() -> PublisherProfile {
    let mut profile = profile();
    for (id, billings) in [
        ("pass", vec![Billing::Operator, Billing::Advertiser]),
        ("payer", vec![Billing::Agent]),
        ("poor", vec![Billing::Advertiser]),
    ] {
        let mut agent = (*profile.agents[0]).clone();
        agent.id = id.to_owned();
        agent.principals = [id.to_owned()].into();
        agent.billing = Some(billings.into_iter().collect());
        profile.agents.push(agent.into());
    }
    profile.onboarding.operators =
        Some(["pinnacle.example".to_owned(), "nova.example".to_owned()].into());
    profile.onboarding.houses = ["nova.example".to_owned()].into();
    profile
}

#[test]
fn every_billing_gate_says_only_what_the_caller_may_know() {
    let harness = Harness::from_profile(billing());
    // Who asks, for which billing, of which operator, and the errors of the row (B-1 to B-4).
    let table = [
        ("acme", "advertiser", "pinnacle.example"),
        ("stranger", "advertiser", "pinnacle.example"),
        ("acme", "agent", "unknown.example"),
        ("acme", "operator", "unknown.example"),
        ("stranger", "operator", "unknown.example"),
        ("stranger", "agent", "pinnacle.example"),
        ("stranger", "operator", "pinnacle.example"),
        ("pass", "agent", "pinnacle.example"),
        ("pass", "agent", "unknown.example"),
        ("pass", "operator", "pinnacle.example"),
        ("payer", "operator", "pinnacle.example"),
        ("payer", "operator", "unknown.example"),
        ("poor", "agent", "pinnacle.example"),
    ];
    let mut lines = String::new();
    for (place, (principal, billing, operator)) in table.into_iter().enumerate() {
        let members = json!({"billing": billing, "sandbox": true});
        let request =
            with(100 + place as u32, json!({}), json!([row("a.example", operator, members)]));
        let answer = sync(&harness, principal, request);
        let row = &answer["accounts"][0];
        let errors = match row["errors"].as_array() {
            Some(errors) => errors
                .iter()
                .map(|error| format!("{} {}", error["code"].as_str().unwrap(), error["details"]))
                .collect::<Vec<_>>()
                .join(", "),
            None => String::new(),
        };
        lines += &format!(
            "{principal:8} {billing:10} {operator:16} {} {} {errors}\n",
            row["action"].as_str().unwrap(),
            row["status"].as_str().unwrap(),
        );
    }
    expect![[r#"
        acme     advertiser pinnacle.example failed rejected BILLING_NOT_SUPPORTED {"scope":"capability","supported_billing":["operator","agent"]}
        stranger advertiser pinnacle.example failed rejected BILLING_NOT_SUPPORTED {"scope":"capability","supported_billing":["operator","agent"]}
        acme     agent      unknown.example  created active 
        acme     operator   unknown.example  failed rejected BILLING_NOT_SUPPORTED {"scope":"account"}
        stranger operator   unknown.example  failed rejected BILLING_NOT_SUPPORTED null
        stranger agent      pinnacle.example failed rejected BILLING_NOT_SUPPORTED null
        stranger operator   pinnacle.example created active 
        pass     agent      pinnacle.example failed rejected BILLING_NOT_PERMITTED_FOR_AGENT {"rejected_billing":"agent","suggested_billing":"operator"}
        pass     agent      unknown.example  failed rejected BILLING_NOT_PERMITTED_FOR_AGENT {"rejected_billing":"agent"}
        pass     operator   pinnacle.example created active 
        payer    operator   pinnacle.example failed rejected BILLING_NOT_PERMITTED_FOR_AGENT {"rejected_billing":"operator","suggested_billing":"agent"}
        payer    operator   unknown.example  failed rejected BILLING_NOT_PERMITTED_FOR_AGENT {"rejected_billing":"operator","suggested_billing":"agent"}
        poor     agent      pinnacle.example failed rejected BILLING_NOT_PERMITTED_FOR_AGENT {"rejected_billing":"agent"}
    "#]].assert_eq(&lines);
}

#[test]
fn a_failed_row_says_all_its_faults_and_others_succeed() {
    let harness = Harness::from_profile(billing());
    let request = with(
        1,
        json!({"context": {"c": 1}}),
        json!([
            row(
                "nova.example",
                "unknown.example",
                json!({
                    "payment_terms": "prepay",
                    "notification_configs": [
                        {"subscriber_id": "one", "url": "https://b.example/a", "event_types": ["creative.purged", "final"], "active": false},
                        {"subscriber_id": "one", "url": "https://10.0.0.1/a", "event_types": ["creative.purged"]},
                    ],
                })
            ),
            row("a.example", "pinnacle.example", json!({})),
            row("a.example", "pinnacle.example", json!({"billing": "agent"})),
            row("a.example", "pinnacle.example", json!({"billing": "agent"})),
        ]),
    );
    compare(
        &sync(&harness, "acme", request),
        &expect![[r#"
            {"brand":{"domain":"nova.example"},"operator":"unknown.example","action":"failed","status":"rejected","errors":[{"code":"PAYMENT_TERMS_NOT_SUPPORTED","message":"the seller does not accept these payment terms; leave them out to be offered the usual ones","recovery":"correctable","field":"payment_terms","suggestion":"leave payment_terms out, or choose others"},{"code":"INVALID_REQUEST","message":"this event belongs to a media buy; ask for it in the media buy's push_notification_config or reporting_webhook","recovery":"correctable","field":"notification_configs[0].event_types[1]","suggestion":"correct what field and issues name and send again"},{"code":"INVALID_REQUEST","message":"this subscriber stands in the list before; name each once","recovery":"correctable","field":"notification_configs[1].subscriber_id","suggestion":"correct what field and issues name and send again"},{"code":"INVALID_REQUEST","message":"the address must be https with a public host name, and without a user","recovery":"correctable","field":"notification_configs[1].url","suggestion":"correct what field and issues name and send again"},{"code":"BRAND_REQUIRED","message":"this domain houses several brands; name one in brand.brand_id","recovery":"correctable","field":"brand.brand_id","suggestion":"add brand with its domain"},{"code":"BILLING_NOT_SUPPORTED","message":"the seller does not bill that party; ask for another one in billing","recovery":"correctable","field":"billing","suggestion":"choose a value of supported_billing, or leave billing out","details":{"scope":"account"}}]}
            {"account_id":"acc_1","name":"a.example c/o pinnacle.example","status":"active","brand":{"domain":"a.example"},"operator":"pinnacle.example","billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,"action":"created"}
            {"brand":{"domain":"a.example"},"operator":"pinnacle.example","action":"failed","status":"rejected","errors":[{"code":"INVALID_REQUEST","message":"this account stands in the request twice; name it once","recovery":"correctable","suggestion":"correct what field and issues name and send again"}]}
            {"brand":{"domain":"a.example"},"operator":"pinnacle.example","action":"failed","status":"rejected","errors":[{"code":"INVALID_REQUEST","message":"this account stands in the request twice; name it once","recovery":"correctable","suggestion":"correct what field and issues name and send again"}]}"#]],
    );
}

#[test]
fn codes_of_rows_are_those_of_the_callers_release() {
    let harness = Harness::from_profile(billing());
    let request = with(
        1,
        json!({"adcp_version": "3.0"}),
        json!([row("a.example", "unknown.example", json!({}))]),
    );
    compare(
        &sync(&harness, "acme", request),
        &expect![[
            r#"{"brand":{"domain":"a.example"},"operator":"unknown.example","action":"failed","status":"rejected","errors":[{"code":"UNSUPPORTED_FEATURE","message":"the seller does not bill that party; ask for another one in billing","recovery":"correctable","field":"billing","suggestion":"choose a value of supported_billing, or leave billing out","details":{"scope":"account"}}]}"#
        ]],
    );
}

#[test]
fn a_dry_run_says_what_would_happen_and_nothing_does() {
    let harness = Harness::new();
    sync(&harness, "acme", rows(json!([row("a.example", "a.example", json!({}))])));
    let request = with(
        2,
        json!({"dry_run": true, "delete_missing": true}),
        json!([row("b.example", "b.example", json!({})), row("b.example", "b.example", json!({}))]),
    );
    let answer = sync(&harness, "acme", request);
    assert_eq!(answer["dry_run"], true);
    compare(
        &answer,
        &expect![[r#"
        {"name":"b.example","status":"active","brand":{"domain":"b.example"},"operator":"b.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"created"}
        {"brand":{"domain":"b.example"},"operator":"b.example","action":"failed","status":"rejected","errors":[{"code":"INVALID_REQUEST","message":"this account stands in the request twice; name it once","recovery":"correctable","suggestion":"correct what field and issues name and send again"}]}
        {"account_id":"acc_1","name":"a.example","status":"closed","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"updated"}"#]],
    );
    let list = harness.ask(AdcpTool::ListAccounts, json!({})).document();
    compare(
        &list,
        &expect![[
            r#"{"account_id":"acc_1","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false}"#
        ]],
    );
}

#[test]
fn missing_accounts_are_closed_on_request_and_may_open_anew() {
    let harness = Harness::new();
    let a = row("a.example", "a.example", json!({}));
    let b = row("b.example", "b.example", json!({}));
    sync(&harness, "acme", rows(json!([a, b])));
    sync(&harness, "nova", rows(json!([a])));
    let only = with(2, json!({"delete_missing": true}), json!([b]));
    compare(
        &sync(&harness, "acme", only),
        &expect![[r#"
        {"account_id":"acc_2","name":"b.example","status":"active","brand":{"domain":"b.example"},"operator":"b.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"unchanged"}
        {"account_id":"acc_1","name":"a.example","status":"closed","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"updated"}"#]],
    );
    // It is over: as if it were not there, except in the list.
    let request = json!({"account": {"account_id": "acc_1"}});
    harness.check(
        AdcpTool::GetMediaBuys,
        request,
        &expect![[r#"
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "ACCOUNT_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "terminal",
            "field": "account",
            "suggestion": "check it with list_accounts, or ask the seller"
          },
          "errors": [
            {
              "code": "ACCOUNT_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "terminal",
              "field": "account",
              "suggestion": "check it with list_accounts, or ask the seller"
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    compare(
        &sync(&harness, "acme", with(3, json!({}), json!([a]))),
        &expect![[
            r#"{"account_id":"acc_4","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"created"}"#
        ]],
    );
    let closed = harness.ask(AdcpTool::ListAccounts, json!({"status": "closed"})).document();
    compare(
        &closed,
        &expect![[
            r#"{"account_id":"acc_1","name":"a.example","status":"closed","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false}"#
        ]],
    );
    // Those of others are nobody else's business.
    let others =
        harness.ask_as(&harness.caller("nova"), AdcpTool::ListAccounts, json!({})).document();
    compare(
        &others,
        &expect![[
            r#"{"account_id":"acc_3","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false}"#
        ]],
    );
}

#[test]
fn settings_change_an_account_and_never_open_one() {
    let harness = Harness::new();
    sync(&harness, "acme", rows(json!([row("a.example", "a.example", json!({}))])));
    sync(&harness, "nova", rows(json!([row("a.example", "a.example", json!({}))])));
    let config = json!({"subscriber_id": "one", "url": "https://b.example/a",
        "event_types": ["creative.purged"], "active": false,
        "authentication": {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"}});
    let settings = json!([
        {"account": {"account_id": "acc_1"}, "notification_configs": [config]},
        {"account": {"brand": {"domain": "c.example"}, "operator": "c.example"}, "payment_terms": "net_30"},
        {"account": {"brand": {"domain": "a.example"}, "operator": "a.example"}, "payment_terms": "prepay"},
    ]);
    compare(
        &sync(&harness, "acme", with(2, json!({}), settings)),
        &expect![[r#"
        {"account_id":"acc_1","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"notification_configs":[{"subscriber_id":"one","url":"https://b.example/a","event_types":["creative.purged"],"active":false,"authentication":{"schemes":["Bearer"]}}],"action":"updated"}
        {"brand":{"domain":"c.example"},"operator":"c.example","action":"failed","status":"rejected","errors":[{"code":"UNSUPPORTED_PROVISIONING","message":"no account of yours fits, and a row with account opens none; open it with brand, operator and billing","recovery":"correctable","field":"account","suggestion":"send the entry in the form that the seller supports"}]}
        {"brand":{"domain":"a.example"},"operator":"a.example","sandbox":false,"action":"failed","status":"rejected","errors":[{"code":"PAYMENT_TERMS_NOT_SUPPORTED","message":"the seller does not accept these payment terms; leave them out to be offered the usual ones","recovery":"correctable","field":"payment_terms","suggestion":"leave payment_terms out, or choose others"}]}"#]],
    );
    // Left out, they stay; given, they are all there are.
    let none = json!([{"account": {"account_id": "acc_1"}}]);
    compare(
        &sync(&harness, "acme", with(3, json!({}), none)),
        &expect![[
            r#"{"account_id":"acc_1","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"notification_configs":[{"subscriber_id":"one","url":"https://b.example/a","event_types":["creative.purged"],"active":false,"authentication":{"schemes":["Bearer"]}}],"action":"unchanged"}"#
        ]],
    );
    let emptied = json!([{"account": {"account_id": "acc_1"}, "notification_configs": []}]);
    compare(
        &sync(&harness, "acme", with(4, json!({}), emptied)),
        &expect![[
            r#"{"account_id":"acc_1","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"notification_configs":[],"action":"updated"}"#
        ]],
    );
    // An id without an account has no row: nothing of the request is done.
    let foreign = json!([
        {"account": {"account_id": "acc_1"}, "billing_entity": {"legal_name": "A"}},
        {"account": {"account_id": "acc_2"}},
        {"account": {"account_id": "acc_9"}},
    ]);
    harness.check(
        AdcpTool::SyncAccounts,
        with(5, json!({}), foreign),
        &expect![[r#"
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "ACCOUNT_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "terminal",
            "field": "accounts[1].account",
            "suggestion": "check it with list_accounts, or ask the seller"
          },
          "errors": [
            {
              "code": "ACCOUNT_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "terminal",
              "field": "accounts[1].account",
              "suggestion": "check it with list_accounts, or ask the seller"
            },
            {
              "code": "ACCOUNT_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "terminal",
              "field": "accounts[2].account",
              "suggestion": "check it with list_accounts, or ask the seller"
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    let list = harness.ask(AdcpTool::ListAccounts, json!({})).document();
    compare(
        &list,
        &expect![[
            r#"{"account_id":"acc_1","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"notification_configs":[]}"#
        ]],
    );
}

#[test]
fn accounts_are_listed_by_page_and_by_kind() {
    let harness = Harness::new();
    let opened: Vec<_> = ["a", "b", "c"]
        .map(|name| row(&format!("{name}.example"), "op.example", json!({"sandbox": name == "b"})))
        .into();
    sync(&harness, "acme", rows(json!(opened)));
    let ids = |request: Value| {
        let answer = harness.ask(AdcpTool::ListAccounts, request).document();
        let ids: Vec<_> = answer["accounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["account_id"].as_str().unwrap().to_owned())
            .collect();
        format!("{} {}", ids.join(" "), answer["pagination"])
    };
    let check = |request: Value, expected: Expect| expected.assert_eq(&ids(request));
    check(json!({}), expect![[r#"acc_1 acc_2 acc_3 {"has_more":false,"total_count":3}"#]]);
    check(
        json!({"pagination": {"max_results": 2}}),
        expect![[
            r#"acc_1 acc_2 {"has_more":true,"cursor":"a062dd4952b935e4.1780315200000000.2","total_count":3}"#
        ]],
    );
    let first = json!({"pagination": {"max_results": 2}});
    let first = harness.ask(AdcpTool::ListAccounts, first).document();
    let cursor = &first["pagination"]["cursor"];
    check(
        json!({"pagination": {"max_results": 2, "cursor": cursor}}),
        expect![[r#"acc_3 {"has_more":false,"total_count":3}"#]],
    );
    check(json!({"sandbox": true}), expect![[r#"acc_2 {"has_more":false,"total_count":1}"#]]);
    check(
        json!({"sandbox": false, "status": "active"}),
        expect![[r#"acc_1 acc_3 {"has_more":false,"total_count":2}"#]],
    );
    check(json!({"status": "suspended"}), expect![[r#" {"has_more":false,"total_count":0}"#]]);
    check(
        json!({"account": {"account_id": "acc_3"}}),
        expect![[r#"acc_3 {"has_more":false,"total_count":1}"#]],
    );
    check(
        json!({"account": {"account_id": "acc_99"}}),
        expect![[r#" {"has_more":false,"total_count":0}"#]],
    );
    let key = json!({"brand": {"domain": "c.example"}, "operator": "op.example"});
    check(json!({"account": key}), expect![[r#"acc_3 {"has_more":false,"total_count":1}"#]]);
    let foreign = json!({"pagination": {"cursor": "acc_7"}});
    harness.check(
        AdcpTool::ListAccounts,
        foreign,
        &expect![[r#"
            {
              "status": "failed",
              "message": "this cursor is none of this list; begin without one",
              "adcp_error": {
                "code": "INVALID_REQUEST",
                "message": "this cursor is none of this list; begin without one",
                "recovery": "correctable",
                "field": "pagination.cursor",
                "suggestion": "correct what field and issues name and send again"
              },
              "errors": [
                {
                  "code": "INVALID_REQUEST",
                  "message": "this cursor is none of this list; begin without one",
                  "recovery": "correctable",
                  "field": "pagination.cursor",
                  "suggestion": "correct what field and issues name and send again"
                }
              ],
              "adcp_version": "3.1"
            }"#]],
    );
}

#[test]
fn a_new_account_waits_for_review_unless_for_tests() {
    let mut profile = profile();
    let review = AccountReview {
        message: "apply for credit".to_owned(),
        url: Some("https://gazette.example/apply".to_owned()),
    };
    profile.onboarding = Onboarding { review: Some(review), ..Onboarding::default() };
    let harness = Harness::from_profile(profile);
    let opened = json!([
        row("a.example", "a.example", json!({})),
        row("a.example", "a.example", json!({"sandbox": true})),
    ]);
    let push = json!({"push_notification_config": {"url": "https://b.example/hook"}});
    compare(
        &sync(&harness, "acme", with(1, push, opened)),
        &expect![[r#"
        {"account_id":"acc_1","name":"a.example","status":"pending_approval","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","setup":{"url":"https://gazette.example/apply","message":"apply for credit"},"sandbox":false,"action":"created"}
        {"account_id":"acc_2","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":true,"action":"created"}"#]],
    );
    let request = json!({"account": {"brand": {"domain": "a.example"}, "operator": "a.example"}});
    harness.check(
        AdcpTool::GetMediaBuys,
        request,
        &expect![[r#"
        {
          "status": "failed",
          "message": "the account has to be set up before it can be used; see details",
          "adcp_error": {
            "code": "ACCOUNT_SETUP_REQUIRED",
            "message": "the account has to be set up before it can be used; see details",
            "recovery": "correctable",
            "suggestion": "have a person complete the setup that details describe",
            "details": {
              "setup_url": "https://gazette.example/apply",
              "setup_steps": [
                "apply for credit"
              ]
            }
          },
          "errors": [
            {
              "code": "ACCOUNT_SETUP_REQUIRED",
              "message": "the account has to be set up before it can be used; see details",
              "recovery": "correctable",
              "suggestion": "have a person complete the setup that details describe",
              "details": {
                "setup_url": "https://gazette.example/apply",
                "setup_steps": [
                  "apply for credit"
                ]
              }
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
}

#[test]
fn permissions_on_an_account_are_shown_as_they_are_enforced() {
    let mut profile = profile();
    let mut agent = (*profile.agents[0]).clone();
    agent.id = "verifier".to_owned();
    agent.principals = ["verifier".to_owned()].into();
    agent.scope = Some(AccountRights {
        allowed_tasks: Some(["get_media_buys".to_owned(), "update_media_buy".to_owned()].into()),
        field_scopes: [("update_media_buy".to_owned(), ["reporting_webhook".to_owned()].into())]
            .into(),
        scope_name: Some("attestation_verifier".to_owned()),
        read_only: false,
    });
    profile.agents.push(agent.into());
    let harness = Harness::from_profile(profile);
    sync(&harness, "acme", rows(json!([row("a.example", "a.example", json!({}))])));
    let now = harness.now;
    harness.put(move |tx| {
        Account::new("acc_v", json!({"domain": "v.example"}), "v.example", Billing::Operator)
            .open(tx, "agent:verifier", now)?;
        let reader = AccountRights {
            allowed_tasks: Some(
                ["get_media_buys".to_owned(), "create_media_buy".to_owned()].into(),
            ),
            read_only: true,
            ..AccountRights::default()
        };
        AccountGrant { account_id: "acc_1".to_owned(), authorization: reader }.put(
            tx,
            "agent:nova",
            now,
        )
    });
    let shown = |principal: &str| {
        let answer = harness
            .ask_as(&harness.caller(principal), AdcpTool::ListAccounts, json!({}))
            .document();
        let rows = answer["accounts"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| format!("{} {}\n", row["account_id"], row["authorization"]))
            .collect::<String>()
    };
    expect![[r#"
        "acc_v" {"allowed_tasks":["get_adcp_capabilities","update_media_buy","get_media_buys","list_accounts"],"field_scopes":{"update_media_buy":["reporting_webhook"]},"scope_name":"attestation_verifier"}
    "#]].assert_eq(&shown("verifier"));
    expect![[r#"
        "acc_1" {"allowed_tasks":["get_adcp_capabilities","create_media_buy","get_media_buys","list_accounts"],"read_only":true}
    "#]].assert_eq(&shown("nova"));
    // A change shows at once (R-11).
    harness.put(move |tx| {
        let all = AccountRights { read_only: true, ..AccountRights::default() };
        AccountGrant { account_id: "acc_1".to_owned(), authorization: all }.put(
            tx,
            "agent:nova",
            now,
        )
    });
    assert!(shown("nova").contains("activate_signal"));
    // It cannot grant itself more.
    let request = with(
        7,
        json!({}),
        json!([{"account": {"account_id": "acc_1"}, "payment_terms": "net_30"}]),
    );
    compare(
        &sync(&harness, "nova", request),
        &expect![[
            r#"{"brand":{"domain":"a.example"},"operator":"a.example","sandbox":false,"action":"failed","status":"rejected","errors":[{"code":"READ_ONLY_SCOPE","message":"the caller may read this account and change nothing","recovery":"correctable","suggestion":"have write access granted, or use a task that only reads"}]}"#
        ]],
    );
}

#[test]
fn governance_is_kept_per_account_and_its_credential_never_shown() {
    let harness = Harness::new();
    sync(&harness, "acme", rows(json!([row("a.example", "a.example", json!({}))])));
    sync(&harness, "nova", rows(json!([row("a.example", "a.example", json!({}))])));
    let agent = |url: &str| {
        json!([{"url": url, "authentication":
        {"schemes": ["Bearer"], "credentials": "gov-token-0123456789abcdef0123456789"}}])
    };
    let request = with(
        11,
        json!({}),
        json!([
            {"account": {"account_id": "acc_1"}, "governance_agents": agent("https://gov.example/mcp")},
            {"account": {"brand": {"domain": "a.example"}, "operator": "a.example"}, "governance_agents": agent("https://other.example")},
            {"account": {"account_id": "acc_2"}, "governance_agents": agent("https://gov.example/mcp")},
            {"account": {"account_id": "acc_9"}, "governance_agents": agent("https://gov.example/mcp")},
        ]),
    );
    harness.check(
        AdcpTool::SyncGovernance,
        request,
        &expect![[r#"
            {
              "status": "completed",
              "message": "1 synced, 3 failed",
              "accounts": [
                {
                  "account": {
                    "account_id": "acc_1"
                  },
                  "status": "synced",
                  "governance_agents": [
                    {
                      "url": "https://gov.example/mcp"
                    }
                  ]
                },
                {
                  "account": {
                    "brand": {
                      "domain": "a.example"
                    },
                    "operator": "a.example"
                  },
                  "status": "failed",
                  "errors": [
                    {
                      "code": "INVALID_REQUEST",
                      "message": "this account stands in the request twice; name it once",
                      "recovery": "correctable",
                      "field": "account",
                      "suggestion": "correct what field and issues name and send again"
                    }
                  ]
                },
                {
                  "account": {
                    "account_id": "acc_2"
                  },
                  "status": "failed",
                  "errors": [
                    {
                      "code": "ACCOUNT_NOT_FOUND",
                      "message": "an identifier in the request does not resolve to anything of yours",
                      "recovery": "terminal",
                      "field": "account",
                      "suggestion": "check it with list_accounts, or ask the seller"
                    }
                  ]
                },
                {
                  "account": {
                    "account_id": "acc_9"
                  },
                  "status": "failed",
                  "errors": [
                    {
                      "code": "ACCOUNT_NOT_FOUND",
                      "message": "an identifier in the request does not resolve to anything of yours",
                      "recovery": "terminal",
                      "field": "account",
                      "suggestion": "check it with list_accounts, or ask the seller"
                    }
                  ]
                }
              ],
              "replayed": false,
              "adcp_version": "3.1"
            }"#]],
    );
    let list = harness.ask(AdcpTool::ListAccounts, json!({})).document();
    compare(
        &list,
        &expect![[
            r#"{"account_id":"acc_1","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","governance_agents":[{"url":"https://gov.example/mcp"}],"sandbox":false}"#
        ]],
    );
    let mut two = agent("https://gov.example/mcp");
    two.as_array_mut().unwrap().push(agent("https://second.example")[0].clone());
    let request =
        with(2, json!({}), json!([{"account": {"account_id": "acc_1"}, "governance_agents": two}]));
    harness.check(
        AdcpTool::SyncGovernance,
        request,
        &expect![[r#"
        {
          "status": "failed",
          "message": "The arguments have 1 problem; correct it and send the request again.",
          "adcp_error": {
            "code": "VALIDATION_ERROR",
            "message": "The arguments have 1 problem; correct it and send the request again.",
            "recovery": "correctable",
            "field": "accounts[0].governance_agents",
            "suggestion": "correct every entry of issues and send again",
            "issues": [
              {
                "pointer": "/accounts/0/governance_agents",
                "message": "must have at most 1 item",
                "keyword": "maxItems"
              }
            ]
          },
          "errors": [
            {
              "code": "VALIDATION_ERROR",
              "message": "The arguments have 1 problem; correct it and send the request again.",
              "recovery": "correctable",
              "field": "accounts[0].governance_agents",
              "suggestion": "correct every entry of issues and send again",
              "issues": [
                {
                  "pointer": "/accounts/0/governance_agents",
                  "message": "must have at most 1 item",
                  "keyword": "maxItems"
                }
              ]
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
}

#[test]
fn an_undeclared_account_is_there_where_that_is_the_policy() {
    let mut profile = profile();
    profile.onboarding.implicit = true;
    let mut harness = Harness::from_profile(profile);
    let reference = json!({"brand": {"domain": "new.example"}, "operator": "op.example"});
    let governance = |key| {
        with(
            key,
            json!({}),
            json!([{"account": reference, "governance_agents": [
        {"url": "https://gov.example", "authentication": {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"}}]}]),
        )
    };
    let list = |harness: &Harness| harness.ask(AdcpTool::ListAccounts, json!({})).document();
    // Looking opens nothing; an id is no name of an account to come; nor is a stranger somebody.
    harness.ask(AdcpTool::GetMediaBuys, json!({"account": reference}));
    assert_eq!(list(&harness)["accounts"], json!([]));
    let by_id = json!({"account": {"account_id": "acc_new"}});
    assert_eq!(
        harness.ask(AdcpTool::GetMediaBuys, by_id).document()["adcp_error"]["code"],
        "ACCOUNT_NOT_FOUND"
    );
    let other_caller = harness
        .ask_as(&harness.caller("stranger"), AdcpTool::SyncGovernance, governance(1))
        .document();
    assert_eq!(other_caller["accounts"][0]["errors"][0]["code"], "ACCOUNT_NOT_FOUND");
    harness.ask(AdcpTool::SyncGovernance, governance(1));
    compare(
        &list(&harness),
        &expect![[
            r#"{"account_id":"acc_1","name":"new.example c/o op.example","status":"active","brand":{"domain":"new.example"},"operator":"op.example","billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","governance_agents":[{"url":"https://gov.example"}],"sandbox":false}"#
        ]],
    );
    // What is declared later is that account, and is no longer implicit: it can go missing.
    let declared = json!([row("new.example", "op.example", json!({"billing": "agent"}))]);
    compare(
        &sync(&harness, "acme", with(2, json!({}), declared)),
        &expect![[
            r#"{"account_id":"acc_1","name":"new.example c/o op.example","status":"active","brand":{"domain":"new.example"},"operator":"op.example","billing":"agent","payment_terms":"net_30","account_scope":"operator_brand","governance_agents":[{"url":"https://gov.example"}],"sandbox":false,"action":"updated"}"#
        ]],
    );
    harness.now = "2026-06-02T12:00:00Z".parse().unwrap();
    compare(
        &sync(&harness, "acme", with(3, json!({"delete_missing": true}), json!([]))),
        &expect![[
            r#"{"account_id":"acc_1","name":"new.example c/o op.example","status":"closed","brand":{"domain":"new.example"},"operator":"op.example","billing":"agent","payment_terms":"net_30","account_scope":"operator_brand","governance_agents":[{"url":"https://gov.example"}],"sandbox":false,"action":"updated"}"#
        ]],
    );
}

#[test]
fn nothing_is_opened_for_a_request_that_is_refused() {
    let mut profile = profile();
    profile.onboarding.implicit = true;
    let mut agent = (*profile.agents[0]).clone();
    agent.id = "narrow".to_owned();
    agent.principals = ["narrow".to_owned()].into();
    agent.scope = Some(AccountRights {
        allowed_tasks: Some(["get_media_buys".to_owned()].into()),
        ..AccountRights::default()
    });
    profile.agents.push(agent.into());
    let harness = Harness::from_profile(profile);
    let reference = json!({"brand": {"domain": "new.example"}, "operator": "op.example"});
    let row = json!({"account": reference, "governance_agents": [{"url": "https://gov.example",
        "authentication": {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"}}]});
    // An agent for tests alone means a live account by this key.
    let refused = harness.ask_as(
        &harness.caller("tester"),
        AdcpTool::SyncGovernance,
        with(1, json!({}), json!([row])),
    );
    assert_eq!(refused.document()["accounts"][0]["errors"][0]["code"], "PERMISSION_DENIED");
    // An account that is not open has no id to hint at.
    let pause = json!({"idempotency_key": "4f1c7e52-0000-4000-8000-000000000002",
        "account": reference, "media_buy_id": "mb", "paused": true});
    let refused =
        harness.ask_as(&harness.caller("narrow"), AdcpTool::UpdateMediaBuy, pause).document();
    assert_eq!(
        refused["adcp_error"]["details"],
        json!({"introspection_hint": {"task": "list_accounts"}})
    );
    for principal in ["tester", "narrow"] {
        let list = harness
            .ask_as(&harness.caller(principal), AdcpTool::ListAccounts, json!({}))
            .document();
        assert_eq!(list["accounts"], json!([]), "{principal}");
    }
}
