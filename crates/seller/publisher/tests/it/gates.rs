//! The order in which a request is looked at, and whole answers for every code of the gates.

use std::sync::Arc;

use expect_test::{Expect, expect};
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{Account, AccountGrant, AccountStatus};
use tradepost_publisher::agent::{AccountRights, AgentStanding, Billing, BuyerAgent};
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::services::RateClass;
use tradepost_publisher::store::{EntityKind, KeyRow, own_id};

use crate::support::shop::{ACCOUNT, Shop};
use crate::support::{Harness, profile, shop};

const KEY: &str = "5a1c7e52-0000-4000-8000-000000000001";

fn scope(tasks: &[&str], fields: &[(&str, &[&str])], read_only: bool) -> AccountRights {
    let tasks = tasks.iter().map(|task| (*task).to_owned());
    let fields = fields.iter().map(|(task, fields)| {
        ((*task).to_owned(), fields.iter().map(|field| (*field).to_owned()).collect())
    });
    AccountRights {
        allowed_tasks: Some(tasks.collect()),
        field_scopes: fields.collect(),
        scope_name: None,
        read_only,
    }
}

fn agent(profile: &PublisherProfile, id: &str) -> BuyerAgent {
    let mut agent = (*profile.agents[0]).clone();
    agent.id = id.to_owned();
    agent.principals = [id.to_owned()].into();
    agent
}

/// What can be wrong with a request, in the order in which it is said, with the requirement.
const ORDER: [&str; 13] = [
    "release (D-6)",
    "credential in the arguments (A-7)",
    "schema (SEC idempotency, rule 1)",
    "rate (H-5)",
    "standing (G-1)",
    "account (U-1)",
    "provisioning of the agent (G-1)",
    "task (R-4)",
    "reading alone (R-11)",
    "fields (R-1)",
    "key of another request (SEC idempotency, rule 5)",
    "how the account stands",
    "the work",
];

#[test]
fn the_gates_are_asked_in_one_order() {
    let mut profile = profile();
    for level in 0..ORDER.len() {
        let mut agent = agent(&profile, &format!("level{level}"));
        if level <= 4 {
            agent.standing = AgentStanding::Suspended;
        }
        agent.sandbox_only = level <= 6;
        let tasks: &[&str] = if level <= 7 { &["get_media_buys"] } else { &["update_media_buy"] };
        let fields: &[(&str, &[&str])] =
            if level <= 9 { &[("update_media_buy", &["end_time"])] } else { &[] };
        agent.scope = Some(scope(tasks, fields, level <= 8));
        profile.agents.push(Arc::new(agent));
    }
    let harness = Harness::from_profile(profile);
    let now = harness.now;
    harness.put(move |tx| {
        for level in 0..ORDER.len() {
            let id = format!("acc_level{level}");
            let owner = format!("agent:level{level}");
            let mut account =
                Account::new(&id, json!({"domain": "a.example"}), "a.example", Billing::Operator);
            account.sandbox = level > 6;
            account.status =
                if level <= 11 { AccountStatus::Suspended } else { AccountStatus::Active };
            account.open(tx, &owner, now)?;
            if level <= 10 {
                let row = KeyRow { hash: [0; 32], reply: json!({}), used_at: now };
                tx.remember(&own_id(&owner, "", ""), KEY, row)?;
            }
        }
        Ok(())
    });
    // A request with every fault from one on.
    let request = |level: usize| {
        let account =
            if level <= 5 { "acc_nowhere".to_owned() } else { format!("acc_level{level}") };
        let mut request = json!({
            "account": {"account_id": account}, "media_buy_id": "mb_nowhere", "paused": true,
            "idempotency_key": KEY,
        });
        if level == 0 {
            request["adcp_version"] = json!("9.9");
        }
        if level <= 1 {
            request["ext"] = json!({"api_key": "x"});
        }
        if level <= 2 {
            request["paused"] = json!("yes");
        }
        request
    };
    let mut lines = String::new();
    for (level, fault) in ORDER.into_iter().enumerate() {
        *harness.services.full.lock().unwrap() = (level <= 3).then_some(RateClass::Write);
        let caller = harness.caller(&format!("level{level}"));
        let answer = harness.ask_as(&caller, AdcpTool::UpdateMediaBuy, request(level)).document();
        lines += &format!("{fault}: {}\n", answer["adcp_error"]["code"].as_str().unwrap_or("done"));
    }
    expect![[r#"
        release (D-6): VERSION_UNSUPPORTED
        credential in the arguments (A-7): CREDENTIAL_IN_ARGS
        schema (SEC idempotency, rule 1): VALIDATION_ERROR
        rate (H-5): RATE_LIMITED
        standing (G-1): AGENT_SUSPENDED
        account (U-1): ACCOUNT_NOT_FOUND
        provisioning of the agent (G-1): PERMISSION_DENIED
        task (R-4): SCOPE_INSUFFICIENT
        reading alone (R-11): READ_ONLY_SCOPE
        fields (R-1): FIELD_NOT_PERMITTED
        key of another request (SEC idempotency, rule 5): IDEMPOTENCY_CONFLICT
        how the account stands: ACCOUNT_SUSPENDED
        the work: MEDIA_BUY_NOT_FOUND
    "#]]
    .assert_eq(&lines);
}

/// A publisher with agents that may do little, and accounts that stand in every way.
fn harness() -> Harness {
    let mut profile = profile();
    let mut reader = agent(&profile, "reader");
    reader.scope = Some(scope(&["get_media_buys", "update_media_buy"], &[], true));
    let mut narrow = agent(&profile, "narrow");
    let fields: &[(&str, &[&str])] = &[("update_media_buy", &["reporting_webhook"])];
    narrow.scope = Some(scope(&["update_media_buy", "get_media_buys"], fields, false));
    profile.agents.extend([Arc::new(reader), Arc::new(narrow)]);
    let harness = Harness::from_profile(profile);
    let now = harness.now;
    harness.put(move |tx| {
        let open = |id: &str, owner: &str, status: AccountStatus, sandbox: bool| {
            let brand = json!({"domain": "a.example"});
            let mut account = Account::new(id, brand, "op.example", Billing::Operator);
            account.status = status;
            account.sandbox = sandbox;
            account.open(tx, owner, now).map(drop)
        };
        open("acc_live", "agent:acme", AccountStatus::Active, false)?;
        open("acc_due", "agent:acme", AccountStatus::PaymentRequired, true)?;
        open("acc_idle", "agent:nova", AccountStatus::Suspended, true)?;
        open("acc_test", "agent:tester", AccountStatus::Active, false)?;
        open("acc_read", "agent:reader", AccountStatus::Active, true)?;
        open("acc_narrow", "agent:narrow", AccountStatus::Active, true)?;
        open("acc_lent", "agent:nova", AccountStatus::Active, false)?;
        let lent = scope(&["get_media_buys"], &[], false);
        AccountGrant { account_id: "acc_lent".to_owned(), authorization: lent }.put(
            tx,
            "agent:acme",
            now,
        )
    });
    harness
}

fn update(account: &str, members: Value) -> Value {
    let mut request = json!({"account": {"account_id": account}, "media_buy_id": "mb_nowhere",
        "idempotency_key": KEY, "context": {"c": 1}});
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn check(harness: &Harness, principal: &str, tool: AdcpTool, request: Value, expected: Expect) {
    // One layer is shown; that the other is the same is inspected in every answer.
    let mut answer = harness.ask_as(&harness.caller(principal), tool, request).document();
    answer.as_object_mut().unwrap().shift_remove("adcp_error");
    expected.assert_eq(&answer.to_string());
}

#[test]
fn an_agent_that_may_not_deal_is_told_only_that() {
    let harness = harness();
    let list = json!({"account": {"account_id": "acc_live"}});
    check(
        &harness,
        "paused",
        AdcpTool::GetMediaBuys,
        list.clone(),
        expect![[
            r#"{"status":"failed","message":"this buyer agent's relationship with the seller is suspended; a person has to settle it with the seller","errors":[{"code":"AGENT_SUSPENDED","message":"this buyer agent's relationship with the seller is suspended; a person has to settle it with the seller","recovery":"terminal","suggestion":"have a person settle it with the seller"}],"adcp_version":"3.1"}"#
        ]],
    );
    check(
        &harness,
        "banned",
        AdcpTool::GetMediaBuys,
        list.clone(),
        expect![[
            r#"{"status":"failed","message":"this buyer agent's relationship with the seller has been ended; a person has to settle it with the seller","errors":[{"code":"AGENT_BLOCKED","message":"this buyer agent's relationship with the seller has been ended; a person has to settle it with the seller","recovery":"terminal","suggestion":"have a person settle it with the seller"}],"adcp_version":"3.1"}"#
        ]],
    );
    check(
        &harness,
        "tester",
        AdcpTool::GetMediaBuys,
        json!({"account": {"account_id": "acc_test"}}),
        expect![[
            r#"{"status":"failed","message":"this buyer agent is provisioned for sandbox accounts alone","errors":[{"code":"PERMISSION_DENIED","message":"this buyer agent is provisioned for sandbox accounts alone","recovery":"correctable","suggestion":"have a person settle it with the seller","details":{"scope":"agent","reason":"sandbox_only"}}],"adcp_version":"3.1"}"#
        ]],
    );
    // What the seller can do is no secret.
    for principal in ["paused", "banned"] {
        let answer =
            harness.ask_as(&harness.caller(principal), AdcpTool::GetAdcpCapabilities, json!({}));
        assert!(!answer.is_failure());
    }
}

#[test]
fn strangers_are_refused_without_a_hint_where_they_may_nothing() {
    let mut profile = profile();
    profile.onboarding.strangers = false;
    let harness = Harness::from_profile(profile);
    check(
        &harness,
        "stranger",
        AdcpTool::ListAccounts,
        json!({}),
        expect![[
            r#"{"status":"failed","message":"the seller does not permit this; a person has to settle it with the seller","errors":[{"code":"PERMISSION_DENIED","message":"the seller does not permit this; a person has to settle it with the seller","recovery":"correctable","suggestion":"have a person settle it with the seller"}],"adcp_version":"3.1"}"#
        ]],
    );
    assert!(
        !harness
            .ask_as(&harness.caller("stranger"), AdcpTool::GetAdcpCapabilities, json!({}))
            .is_failure()
    );
    assert!(!harness.ask(AdcpTool::ListAccounts, json!({})).is_failure());
}

#[test]
fn an_account_is_found_or_not_and_its_standing_holds() {
    let harness = harness();
    let buys = |account: Value| json!({"account": account});
    let by_id = |id: &str| buys(json!({"account_id": id}));
    // Another's, and nobody's (U-1).
    check(
        &harness,
        "acme",
        AdcpTool::GetMediaBuys,
        by_id("acc_read"),
        expect![[
            r#"{"status":"failed","message":"an identifier in the request does not resolve to anything of yours","errors":[{"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}],"adcp_version":"3.1"}"#
        ]],
    );
    check(
        &harness,
        "acme",
        AdcpTool::GetMediaBuys,
        by_id("acc_none"),
        expect![[
            r#"{"status":"failed","message":"an identifier in the request does not resolve to anything of yours","errors":[{"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}],"adcp_version":"3.1"}"#
        ]],
    );
    let key = json!({"brand": {"domain": "a.example"}, "operator": "nowhere.example"});
    check(
        &harness,
        "acme",
        AdcpTool::GetMediaBuys,
        buys(key),
        expect![[
            r#"{"status":"failed","message":"an identifier in the request does not resolve to anything of yours","errors":[{"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}],"adcp_version":"3.1"}"#
        ]],
    );
    // One's own and one that was lent.
    let key = json!({"brand": {"domain": "a.example"}, "operator": "op.example"});
    check(
        &harness,
        "acme",
        AdcpTool::GetMediaBuys,
        buys(key),
        expect![[
            r#"{"status":"failed","message":"several accounts fit; name one by its account_id","errors":[{"code":"ACCOUNT_AMBIGUOUS","message":"several accounts fit; name one by its account_id","recovery":"correctable","field":"account","suggestion":"name one by account_id"}],"adcp_version":"3.1"}"#
        ]],
    );
    let update = |account: &str| {
        update(
            account,
            json!({"new_packages": [
        {"product_id": "p", "budget": 1, "pricing_option_id": "o"}]}),
        )
    };
    check(
        &harness,
        "acme",
        AdcpTool::UpdateMediaBuy,
        update("acc_due"),
        expect![[
            r#"{"status":"failed","message":"the account has an outstanding balance; the buyer has to settle it","errors":[{"code":"ACCOUNT_PAYMENT_REQUIRED","message":"the account has an outstanding balance; the buyer has to settle it","recovery":"terminal","suggestion":"have the outstanding balance paid"}],"context":{"c":1},"adcp_version":"3.1"}"#
        ]],
    );
    check(
        &harness,
        "nova",
        AdcpTool::UpdateMediaBuy,
        update("acc_idle"),
        expect![[
            r#"{"status":"failed","message":"the account is suspended; a person has to settle it with the seller","errors":[{"code":"ACCOUNT_SUSPENDED","message":"the account is suspended; a person has to settle it with the seller","recovery":"terminal","suggestion":"ask the seller to lift the suspension"}],"context":{"c":1},"adcp_version":"3.1"}"#
        ]],
    );
}

#[test]
fn what_is_not_granted_is_refused_by_task_and_field() {
    let harness = harness();
    let paused = json!({"paused": true});
    check(
        &harness,
        "acme",
        AdcpTool::UpdateMediaBuy,
        update("acc_lent", paused.clone()),
        expect![[
            r#"{"status":"failed","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","errors":[{"code":"SCOPE_INSUFFICIENT","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","recovery":"correctable","suggestion":"have a broader scope granted, or use a task that is permitted","details":{"introspection_hint":{"task":"list_accounts","account":{"account_id":"acc_lent"}}}}],"context":{"c":1},"adcp_version":"3.1"}"#
        ]],
    );
    // Without an account there is none to hint at (R-2).
    check(
        &harness,
        "reader",
        AdcpTool::SyncAccounts,
        json!({"idempotency_key": KEY, "accounts": []}),
        expect![[
            r#"{"status":"failed","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","errors":[{"code":"SCOPE_INSUFFICIENT","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","recovery":"correctable","suggestion":"have a broader scope granted, or use a task that is permitted","details":{"introspection_hint":{"task":"list_accounts"}}}],"adcp_version":"3.1"}"#
        ]],
    );
    check(
        &harness,
        "reader",
        AdcpTool::UpdateMediaBuy,
        update("acc_read", paused),
        expect![[
            r#"{"status":"failed","message":"the caller may read this account and change nothing","errors":[{"code":"READ_ONLY_SCOPE","message":"the caller may read this account and change nothing","recovery":"correctable","suggestion":"have write access granted, or use a task that only reads"}],"context":{"c":1},"adcp_version":"3.1"}"#
        ]],
    );
    let fields = json!({"paused": true, "reporting_webhook": {"url": "https://b.example/hook",
        "authentication": {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"},
        "reporting_frequency": "daily"},
        "packages": [{"package_id": "p", "budget": 5}]});
    check(
        &harness,
        "narrow",
        AdcpTool::UpdateMediaBuy,
        update("acc_narrow", fields),
        expect![[
            r#"{"status":"failed","message":"the caller may not set this field for this account; leave it out","errors":[{"code":"FIELD_NOT_PERMITTED","message":"the caller may not set this field for this account; leave it out","recovery":"correctable","field":"paused","suggestion":"leave the field out and send again","details":{"task":"update_media_buy","permitted_fields":["reporting_webhook"]}},{"code":"FIELD_NOT_PERMITTED","message":"the caller may not set this field for this account; leave it out","recovery":"correctable","field":"packages[0].budget","suggestion":"leave the field out and send again","details":{"task":"update_media_buy","permitted_fields":["reporting_webhook"]}}],"context":{"c":1},"adcp_version":"3.1"}"#
        ]],
    );
    // Whoever may little may always find out how little.
    assert!(
        !harness.ask_as(&harness.caller("narrow"), AdcpTool::ListAccounts, json!({})).is_failure()
    );
}

#[test]
fn a_missing_task_is_refused_by_scope_where_not_granted() {
    let mut harness_profile = profile();
    harness_profile.sandbox = false;
    let mut narrow = agent(&harness_profile, "narrow");
    narrow.scope = Some(scope(&["get_media_buys"], &[], false));
    harness_profile.agents.push(Arc::new(narrow));
    let harness = Harness::from_profile(harness_profile);
    let account =
        json!({"brand": {"domain": "a.example"}, "operator": "a.example", "sandbox": true});
    let request = json!({"scenario": "list_scenarios", "account": account});
    check(
        &harness,
        "narrow",
        AdcpTool::ComplyTestController,
        request.clone(),
        expect![[
            r#"{"status":"failed","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","errors":[{"code":"SCOPE_INSUFFICIENT","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","recovery":"correctable","suggestion":"have a broader scope granted, or use a task that is permitted","details":{"introspection_hint":{"task":"list_accounts"}}}],"adcp_version":"3.1"}"#
        ]],
    );
    check(
        &harness,
        "acme",
        AdcpTool::ComplyTestController,
        request,
        expect![[
            r#"{"status":"failed","message":"this seller does not have that task; get_adcp_capabilities says what it has","errors":[{"code":"UNSUPPORTED_FEATURE","message":"this seller does not have that task; get_adcp_capabilities says what it has","recovery":"correctable","suggestion":"read get_adcp_capabilities and leave out what is not supported"}],"adcp_version":"3.1"}"#
        ]],
    );
}

#[test]
fn a_caller_of_the_release_before_gets_its_codes() {
    let harness = harness();
    let mut request = update("acc_read", json!({"paused": true}));
    request["adcp_version"] = json!("3.0");
    check(
        &harness,
        "reader",
        AdcpTool::UpdateMediaBuy,
        request,
        expect![[
            r#"{"status":"failed","message":"the caller may read this account and change nothing","errors":[{"code":"PERMISSION_DENIED","message":"the caller may read this account and change nothing","recovery":"correctable","suggestion":"have write access granted, or use a task that only reads"}],"context":{"c":1},"adcp_version":"3.0"}"#
        ]],
    );
}

/// A shop in which `nova` has two accounts and lends one of them, and `acme` has one of its own.
fn harness_with_lent_account(rights: AccountRights) -> Harness {
    let harness =
        Harness::from_profile(PublisherProfile { catalogue: shop::catalogue(), ..profile() });
    let now = harness.now;
    harness.put(move |tx| {
        for (id, owner) in [("acc_lent", "nova"), ("acc_kept", "nova"), ("acc_own", "acme")] {
            let brand = json!({"domain": format!("{id}.example").replace('_', "-")});
            Account::new(id, brand, "op.example", Billing::Operator).open(
                tx,
                &format!("agent:{owner}"),
                now,
            )?;
        }
        AccountGrant { account_id: "acc_lent".to_owned(), authorization: rights }.put(
            tx,
            "agent:acme",
            now,
        )
    });
    harness
}

/// Buys something; says the id of the buy, or the code of the refusal.
fn buy(harness: &Harness, principal: &str, account: &str, key: &str) -> String {
    let domain = format!("{account}.example").replace('_', "-");
    let request = json!({"idempotency_key": format!("{key}-0000-4000-8000-000000000001"),
        "account": {"account_id": account}, "brand": {"domain": domain}, "start_time": "asap",
        "end_time": "2026-12-01T00:00:00Z",
        "packages": [shop::package(json!({"creative_assignments": null}))]});
    outcome(
        &harness.ask_as(&harness.caller(principal), AdcpTool::CreateMediaBuy, request).document(),
    )
}

fn outcome(answer: &Value) -> String {
    let replayed = if answer["replayed"] == true { " replayed" } else { "" };
    let member = answer["adcp_error"]["code"].as_str().or(answer["media_buy_id"].as_str());
    format!("{}{replayed}", member.unwrap_or("done"))
}

fn pause(harness: &Harness, principal: &str, account: &str, id: &str, key: u32) -> String {
    let key = format!("11111111-0000-4000-8000-{key:012}");
    let request = json!({"idempotency_key": key, "account": {"account_id": account},
        "media_buy_id": id, "paused": true});
    outcome(
        &harness.ask_as(&harness.caller(principal), AdcpTool::UpdateMediaBuy, request).document(),
    )
}

fn buys(harness: &Harness, principal: &str) -> String {
    let request = json!({"status_filter": ["pending_creatives", "active", "paused"]});
    let answer =
        harness.ask_as(&harness.caller(principal), AdcpTool::GetMediaBuys, request).document();
    let rows = answer["media_buys"].as_array().unwrap().clone();
    rows.iter().map(|row| row["media_buy_id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn both_see_what_is_bought_on_a_lent_account() {
    let harness = harness_with_lent_account(AccountRights::default());
    let made = [
        buy(&harness, "nova", "acc_kept", "aaaaaaaa"),
        buy(&harness, "nova", "acc_lent", "bbbbbbbb"),
        buy(&harness, "acme", "acc_lent", "cccccccc"),
        buy(&harness, "acme", "acc_own", "dddddddd"),
        buy(&harness, "acme", "acc_kept", "eeeeeeee"),
    ];
    expect![["mb_1 mb_3 mb_5 mb_7 ACCOUNT_NOT_FOUND"]].assert_eq(&made.join(" "));
    expect!["mb_1 mb_3 mb_5"].assert_eq(&buys(&harness, "nova"));
    expect!["mb_3 mb_5 mb_7"].assert_eq(&buys(&harness, "acme"));
    // Another account in the request is no way around, and none in the way (WANTS 1.2).
    let paused = [
        pause(&harness, "acme", "acc_own", &made[1], 1),
        pause(&harness, "acme", "acc_own", &made[0], 2),
        pause(&harness, "nova", "acc_kept", &made[2], 3),
        pause(&harness, "nova", "acc_kept", &made[3], 4),
    ];
    expect!["mb_3 MEDIA_BUY_NOT_FOUND mb_5 MEDIA_BUY_NOT_FOUND"].assert_eq(&paused.join(" "));
}

#[test]
fn a_lent_account_serves_only_what_it_was_lent_for() {
    let harness =
        harness_with_lent_account(scope(&["get_media_buys", "update_media_buy"], &[], true));
    let made = buy(&harness, "nova", "acc_lent", "bbbbbbbb");
    assert_eq!(buys(&harness, "acme"), made);
    let tried = [
        buy(&harness, "acme", "acc_lent", "cccccccc"),
        pause(&harness, "acme", "acc_lent", &made, 1),
        // By way of an account with which it may do anything: it is not there.
        pause(&harness, "acme", "acc_own", &made, 2),
        pause(&harness, "acme", "acc_own", "mb_none", 3),
    ];
    expect!["SCOPE_INSUFFICIENT READ_ONLY_SCOPE MEDIA_BUY_NOT_FOUND MEDIA_BUY_NOT_FOUND"]
        .assert_eq(&tried.join(" "));
    // And without the reading, it is not seen either.
    let harness = harness_with_lent_account(scope(&["create_media_buy"], &[], false));
    buy(&harness, "nova", "acc_lent", "bbbbbbbb");
    assert_eq!(buys(&harness, "acme"), "");
}

#[test]
fn an_account_that_stands_badly_permits_only_replays_and_reading() {
    let harness = harness_with_lent_account(AccountRights::default());
    let made = buy(&harness, "acme", "acc_own", "aaaaaaaa");
    let now = harness.now;
    harness.put(move |tx| {
        let mut account = tx.find::<Account>("acc_own")?.unwrap();
        account.thing.status = AccountStatus::Suspended;
        tx.change(&mut account, now)
    });
    let said = [
        buy(&harness, "acme", "acc_own", "aaaaaaaa"),
        buy(&harness, "acme", "acc_own", "bbbbbbbb"),
        pause(&harness, "acme", "acc_own", &made, 1),
        // Another account that stands well is no way around.
        pause(&harness, "acme", "acc_lent", &made, 2),
        buys(&harness, "acme"),
    ];
    expect![[r#"
        mb_1 replayed
        ACCOUNT_SUSPENDED
        ACCOUNT_SUSPENDED
        ACCOUNT_SUSPENDED
        mb_1"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn what_is_bought_is_for_the_brand_of_the_account() {
    let live = PublisherProfile { sandbox: false, ..profile() };
    let shop = Shop::from_profile(live, |account| {
        let brand = json!({"domain": "acmeoutdoor.example", "brand_id": "tents"});
        *account = Account::new(ACCOUNT, brand, "pinnacle.example", Billing::Operator);
    });
    let products = |brand: Value| {
        let account = json!({"account_id": ACCOUNT});
        (
            AdcpTool::GetProducts,
            json!({"buying_mode": "wholesale", "account": account, "brand": brand}),
        )
    };
    let buy = |brand: Value| (AdcpTool::CreateMediaBuy, Shop::order(json!({"brand": brand})));
    let own = json!({"domain": "acmeoutdoor.example", "brand_id": "tents"});
    let parent_brand = json!({"domain": "acmeoutdoor.example"});
    let sibling_brand = json!({"domain": "acmeoutdoor.example", "brand_id": "boats"});
    let other = json!({"domain": "novamotors.example"});
    let table = [
        (products(own.clone()), "completed"),
        (products(parent_brand.clone()), "completed"),
        (products(sibling_brand.clone()), "completed"),
        (products(other.clone()), "completed"),
        (buy(own), "completed"),
        (buy(parent_brand), "completed"),
        (buy(sibling_brand), "INVALID_REQUEST brand.brand_id"),
        (buy(other), "INVALID_REQUEST brand.domain"),
    ];
    for ((tool, arguments), expected) in table {
        let answer = shop.ask(tool, arguments.clone());
        let found = match answer.get("adcp_error") {
            Some(error) => ["code", "field"].map(|name| error[name].as_str().unwrap()).join(" "),
            None => answer["status"].as_str().unwrap().to_owned(),
        };
        assert_eq!(found, expected, "{tool} {arguments}");
    }
    assert_eq!(shop.stored(EntityKind::MediaBuy).len(), 2);
}
