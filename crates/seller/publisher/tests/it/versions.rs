//! The releases that are spoken: what is said otherwise in each, and what is refused. That every answer
//! of every test fits the schemas of all of them is seen in `leaks`.

use expect_test::{Expect, expect};
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_adcp::signing::DigestRule;
use tradepost_document::json::{Value, json};
use tradepost_publisher::profile::{PublisherProfile, RequestSigning, Signing};
use tradepost_publisher::store::EntityKind;

use crate::support::script::Script;
use crate::support::shop::{Shop, errors, package};
use crate::support::{Harness, profile, schemas};

/// Members of an answer, in a line.
fn members(answer: &Value, names: &[&str]) -> String {
    let shown = names.iter().map(|name| format!("{name}: {}", answer[*name]));
    shown.collect::<Vec<_>>().join("\n")
}

fn check(found: &str, expected: &Expect) {
    expected.assert_eq(found);
}

#[test]
fn buys_are_told_to_3_0_in_its_words() {
    let shop = Shop::new();
    let made = shop.create(json!({"adcp_version": "3.0"}));
    let seen = ["status", "media_buy_status", "valid_actions", "adcp_version"];
    check(
        &members(&made, &seen),
        &expect![[r#"
        status: "pending_start"
        media_buy_status: null
        valid_actions: ["pause","cancel","add_packages","sync_creatives","update_budget","update_dates","update_packages"]
        adcp_version: "3.0""#]],
    );
    let id = made["media_buy_id"].as_str().unwrap();
    let paused = shop.update(id, json!({"paused": true, "adcp_version": "3.0"}));
    check(
        &members(&paused, &seen),
        &expect![[r#"
        status: "pending_start"
        media_buy_status: null
        valid_actions: ["resume","cancel","add_packages","sync_creatives","update_budget","update_dates","update_packages"]
        adcp_version: "3.0""#]],
    );
    // The same buy in our own release, and the same reply to the same key.
    let again = shop.ask(AdcpTool::GetMediaBuys, json!({"media_buy_ids": [id]}));
    check(&again["media_buys"][0]["status"].to_string(), &expect![[r#""pending_start""#]]);
}

#[test]
fn tasks_of_3_0_end_in_its_words() {
    let mut shop = Shop::new();
    let submitted = shop.create(json!({
        "adcp_version": "3.0", "packages": [package(json!({"product_id": "soon"}))],
        "push_notification_config": {"url": "https://buyer.example/hooks", "operation_id": "op-1"},
    }));
    assert_eq!(submitted["status"], "submitted");
    shop.wait(1);
    assert_eq!(shop.tick(), 1);
    let notices = shop.stored(EntityKind::Notice);
    let body: Value =
        tradepost_document::json::from_str(notices[0]["body"].as_str().unwrap()).unwrap();
    let name = "core/mcp-webhook-payload.json";
    assert_eq!(schemas::against(AdcpRelease::V3_0, name, &body), Vec::<String>::new());
    check(
        &members(&body["result"], &["status", "media_buy_status"]),
        &expect![[r#"
        status: "pending_start"
        media_buy_status: null"#]],
    );
    let id = &submitted["task_id"];
    let status = json!({"task_id": id, "include_result": true, "adcp_version": "3.0"});
    let status_shown = shop.ask(AdcpTool::GetTaskStatus, status);
    check(
        &members(&status_shown["result"], &["status", "media_buy_status"]),
        &expect![[r#"
        status: "pending_start"
        media_buy_status: null"#]],
    );
}

#[test]
fn the_version_of_a_feed_says_nothing_in_3_0() {
    let mut script = Script::new();
    let feed = json!({"buying_mode": "wholesale"});
    let seen = script.ask(AdcpTool::GetProducts, feed);
    let version = &seen["wholesale_feed_version"];
    let again = |release: &str| {
        let known = json!(version);
        json!({"buying_mode": "wholesale", "adcp_version": release, "if_wholesale_feed_version": known})
    };
    let now = again("3.1");
    let before = again("3.0");
    assert_eq!(script.ask(AdcpTool::GetProducts, now)["unchanged"], true);
    let answer = script.ask(AdcpTool::GetProducts, before);
    assert_eq!(answer["products"], seen["products"]);
}

#[test]
fn a_release_is_answered_in_itself_or_its_lines_highest() {
    let harness = Harness::new();
    let served = |harness: &Harness, release: &str| {
        let answer = harness.ask(AdcpTool::GetAdcpCapabilities, json!({"adcp_version": release}));
        let document = answer.document();
        format!(
            "{release}: {} of {}",
            document["adcp_version"], document["adcp"]["supported_versions"]
        )
    };
    let all = |harness: &Harness| {
        ["3.0", "3.1", "3.1-rc.1", "3.2", "3.9"].map(|release| served(harness, release)).join("\n")
    };
    check(
        &all(&harness),
        &expect![[r#"
        3.0: "3.0" of ["3.1","3.2","3.0"]
        3.1: "3.1" of ["3.1","3.2","3.0"]
        3.1-rc.1: "3.1" of ["3.1","3.2","3.0"]
        3.2: "3.2" of ["3.1","3.2","3.0"]
        3.9: "3.2" of ["3.1","3.2","3.0"]"#]],
    );
    // Who verifies signatures that leave the body out speaks no 3.2, whoever asks for it.
    let signing = |digest| {
        let requests = Some(RequestSigning { digest, ..RequestSigning::default() });
        Harness::from_profile(PublisherProfile {
            signing: Signing { requests, ..Signing::default() },
            ..profile()
        })
    };
    check(
        &all(&signing(DigestRule::Either)),
        &expect![[r#"
        3.0: "3.0" of ["3.1","3.0"]
        3.1: "3.1" of ["3.1","3.0"]
        3.1-rc.1: "3.1" of ["3.1","3.0"]
        3.2: "3.1" of ["3.1","3.0"]
        3.9: "3.1" of ["3.1","3.0"]"#]],
    );
    check(
        &served(&signing(DigestRule::Required), "3.2"),
        &expect![[r#"3.2: "3.2" of ["3.1","3.2","3.0"]"#]],
    );
}

#[test]
fn unsupported_additions_of_3_2_are_refused_and_not_ignored() {
    let shop = Shop::new();
    let mut daily = json!({
        "daily_budget_cap": {"amount": 10}, "account": {"account_id": "acc_acme", "currency": "USD"},
        "packages": [package(json!({})), package(json!({"bidding": {"strategy": "x"}}))],
    });
    let mut newer = daily.clone();
    newer["adcp_version"] = json!("3.2");
    check(
        &errors(&shop.create(newer)),
        &expect![[r#"
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do this yet; leave it out","recovery":"correctable","field":"daily_budget_cap","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do this yet; leave it out","recovery":"correctable","field":"packages[1].bidding","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do this yet; leave it out","recovery":"correctable","field":"account.currency","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
        "#]],
    );
    // To 3.1 these are members that nobody knows, and where it allows those they say nothing.
    daily["account"] = json!({"account_id": "acc_acme"});
    let made = shop.create(daily);
    assert_eq!(made["status"], "completed", "{made}");
}

#[test]
fn defaults_of_3_2_are_no_request() {
    let shop = Shop::new();
    let plan = |mode: &str| {
        json!({"plans": [{
            "plan_id": "p", "brand": {"domain": "acmeoutdoor.example", "countries": ["US"]},
            "objectives": "o", "flight": {"start": "2026-06-01T00:00:00Z", "end": "2026-07-01T00:00:00Z"},
            "budget": {"total": 1, "currency": "USD", "reallocation_unlimited": true, "accounting_mode": mode},
        }]})
    };
    let creatives = |projection: &str, limit: u32| json!({"assignment_projection": projection, "assignment_limit": limit});
    let accounts = |activity: bool, limit: u32| json!({"include_webhook_activity": activity, "webhook_activity_limit": limit});
    let table = [
        (AdcpTool::SyncPlans, plan("gross_commitment"), "completed"),
        (AdcpTool::SyncPlans, plan("verified_net_cost"), "plans[0].budget.accounting_mode"),
        (AdcpTool::ListCreatives, creatives("all", 50), "completed"),
        (AdcpTool::ListCreatives, creatives("matching", 50), "assignment_projection"),
        (AdcpTool::ListCreatives, creatives("all", 49), "assignment_limit"),
        (AdcpTool::ListAccounts, accounts(false, 50), "completed"),
        (AdcpTool::ListAccounts, accounts(true, 50), "include_webhook_activity"),
    ];
    for (tool, mut arguments, expected) in table {
        arguments["adcp_version"] = json!("3.2");
        let answer = shop.ask_as("nova", tool, arguments.clone());
        let found = match answer.get("adcp_error") {
            Some(error) => {
                assert_eq!(error["code"], "UNSUPPORTED_FEATURE", "{tool} {arguments}");
                &error["field"]
            }
            None => &answer["status"],
        };
        assert_eq!(found, expected, "{tool} {arguments}");
    }
}
