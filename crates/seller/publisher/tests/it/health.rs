//! Whether what a buy depends on is there, and what may be done to it only with a person's agreement.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::support::script::{Script, banner};

fn creative(script: &mut Script, id: &str) {
    let answer = script.ask(AdcpTool::SyncCreatives, banner(id));
    assert_eq!(answer["creatives"][0]["action"], "created", "{answer}");
    force(script, id, "approved");
}

fn force(script: &mut Script, id: &str, status: &str) {
    let params = json!({
        "creative_id": id, "status": status, "rejection_reason": "seen again, and not liked",
    });
    script.control("force_creative_status", params);
}

/// Buys a product with these creatives. Returns the whole answer.
fn buy(script: &mut Script, product: &str, creatives: &[&str]) -> Value {
    let assigned: Vec<_> = creatives.iter().map(|id| json!({"creative_id": id})).collect();
    let answer = script.ask(
        AdcpTool::CreateMediaBuy,
        json!({
            "brand": {"domain": "acmeoutdoor.example"},
            "start_time": "asap", "end_time": "2026-08-01T00:00:00Z",
            "packages": [{
                "product_id": product, "pricing_option_id": "fixed", "budget": 1000,
                "creative_assignments": assigned,
            }],
        }),
    );
    assert!(answer["media_buy_id"].is_string(), "{answer}");
    answer
}

fn shop() -> Script {
    let mut script = Script::new();
    let actions = json!([
        {"action": "increase_budget", "modes": ["self_serve"], "sla": {"response_max": "PT5M"}},
        {"action": "cancel", "modes": ["requires_approval"], "terms_ref": "terms://cancel"},
        {"action": "decrease_budget", "modes": ["self_serve"], "allowed_statuses": ["paused"]},
    ]);
    for (id, fixture) in [("plain", json!({})), ("strict", json!({"allowed_actions": actions}))] {
        script.seed_product(id, fixture);
    }
    script
}

/// How a buy is, and what it lacks.
fn state(script: &mut Script, buy: &Value) -> String {
    let request = json!({"media_buy_ids": [buy["media_buy_id"]]});
    let answer = script.ask(AdcpTool::GetMediaBuys, request);
    let buy = &answer["media_buys"][0];
    json!([buy["health"], buy["impairments"]]).to_string()
}

#[test]
fn a_buy_suffers_when_nothing_is_left_to_show() {
    let mut script = shop();
    creative(&mut script, "one");
    creative(&mut script, "two");
    let bought = buy(&mut script, "plain", &["one", "two"]);
    assert_eq!(state(&mut script, &bought), r#"["ok",null]"#);
    force(&mut script, "one", "rejected");
    assert_eq!(state(&mut script, &bought), r#"["ok",null]"#, "the other one is shown");
    force(&mut script, "two", "suspended");
    let both = state(&mut script, &bought);
    expect![[r#"["impaired",[{"impairment_id":"4:3:mb_2one2026-06-01T12:00:00Z","resource_type":"creative","resource_id":"one","package_ids":["pkg_3"],"transition":{"to":"rejected"},"reason_code":"content_rejected","observed_at":"2026-06-01T12:00:00Z","remediation":"assign another creative to these packages","reason":"seen again, and not liked"},{"impairment_id":"4:3:mb_2two2026-06-01T12:00:00Z","resource_type":"creative","resource_id":"two","package_ids":["pkg_3"],"transition":{"to":"suspended"},"reason_code":"seller_removed","observed_at":"2026-06-01T12:00:00Z","remediation":"assign another creative to these packages"}]]"#]].assert_eq(&both);
    assert_eq!(state(&mut script, &bought), both, "it is the same as long as nothing changes");
    force(&mut script, "two", "approved");
    assert_eq!(state(&mut script, &bought), r#"["ok",null]"#);
}

#[test]
fn reason_and_time_of_a_creatives_loss_stay_as_said() {
    let mut script = shop();
    creative(&mut script, "post");
    let bought = buy(&mut script, "plain", &["post"]);
    script.control(
        "force_creative_status",
        json!({"creative_id": "post", "status": "suspended", "reason_code": "source_private"}),
    );
    let since = script.harness.now.to_string();
    script.harness.now += jiff::SignedDuration::from_hours(2);
    // What changes the record later has nothing to do with it.
    let package = bought["packages"][0]["package_id"].clone();
    let mut again = banner("post");
    again["assignments"] = json!([{"creative_id": "post", "package_id": package}]);
    script.ask(AdcpTool::SyncCreatives, again);
    let request = json!({"media_buy_ids": [bought["media_buy_id"]]});
    let answer = script.ask(AdcpTool::GetMediaBuys, request);
    let impairment = &answer["media_buys"][0]["impairments"][0];
    assert_eq!(impairment["reason_code"], "source_private", "{answer}");
    assert_eq!(impairment["observed_at"], since, "{answer}");
}

#[test]
fn what_needs_a_person_is_offered_and_not_done() {
    let mut script = shop();
    creative(&mut script, "one");
    let bought = buy(&mut script, "strict", &["one"]);
    let offered = json!([bought["valid_actions"], bought["available_actions"]]);
    expect![[r#"[["increase_budget"],[{"action":"cancel","mode":"requires_approval","terms_ref":"terms://cancel"},{"action":"increase_budget","mode":"self_serve","sla":{"response_max":"PT5M"}}]]"#]].assert_eq(&offered.to_string());
    let id = &bought["media_buy_id"];
    let package = &bought["packages"][0]["package_id"];
    let more = json!({"media_buy_id": id, "packages": [{"package_id": package, "budget": 1200}]});
    assert_eq!(script.ask(AdcpTool::UpdateMediaBuy, more)["revision"], 2);
    let mut refused = |change: Value| {
        let mut request = json!({"media_buy_id": id});
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = script.ask(AdcpTool::UpdateMediaBuy, request);
        let error = &answer["errors"][0];
        let parts = [&error["code"], &error["recovery"], &error["details"]["reason"]];
        parts.map(|part| part.as_str().unwrap().to_owned()).join(" ")
    };
    assert_eq!(refused(json!({"canceled": true})), "ACTION_NOT_ALLOWED correctable mode_mismatch");
    assert_eq!(
        refused(json!({"packages": [{"package_id": package, "budget": 1100}]})),
        "ACTION_NOT_ALLOWED correctable wrong_status"
    );
    assert_eq!(
        refused(json!({"paused": true})),
        "ACTION_NOT_ALLOWED terminal not_supported_on_product"
    );
}
