//! The governance agent of an account has the last word on what is committed (`K-1`, `Y-7`).

use expect_test::expect;
use tradepost_document::json::{Map, Value, json};
use tradepost_publisher::services::CallError;
use tradepost_publisher::store::EntityKind;

use crate::support::shop::{Shop, errors};

fn says(shop: &Shop, answer: Value) {
    let answer = answer.as_object().cloned().unwrap();
    shop.harness.services.governance.lock().unwrap().push(Ok(answer));
}

fn asked(shop: &Shop) -> Vec<Map> {
    std::mem::take(&mut *shop.harness.services.asked.lock().unwrap())
}

fn governed(more: Value) -> Value {
    let mut order = json!({"plan_id": "plan_7", "governance_context": "token-of-the-plan"});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

fn approval() -> Value {
    json!({
        "check_id": "check_1", "verdict": "approved", "plan_id": "plan_7", "explanation": "fits",
        "expires_at": "2026-06-02T00:00:00Z", "governance_context": "next-token",
    })
}

#[test]
fn an_approved_buy_comes_about_and_hands_the_token_on() {
    let shop = Shop::governed();
    says(&shop, approval());
    let answer = shop.create(governed(json!({})));
    assert_eq!(answer["status"], "completed", "{answer}");
    assert_eq!(answer["governance_context"], "next-token");
    expect![[r#"[{"plan_id":"plan_7","caller":"https://gazette.example","purchase_type":"media_buy","governance_context":"token-of-the-plan","phase":"purchase","planned_delivery":{"start_time":"2026-07-01T00:00:00Z","end_time":"2026-08-01T00:00:00Z","total_budget":1000,"currency":"USD","channels":["display"]}}]"#]].assert_eq(&json!(asked(&shop)).to_string());
    // A change of what is committed is asked about with the token that was kept.
    let id = answer["media_buy_id"].as_str().unwrap();
    says(&shop, approval());
    let update = shop.update(id, json!({"end_time": "2026-09-01T00:00:00Z"}));
    assert_eq!(update["revision"], 2, "{update}");
    expect![[r#"[{"plan_id":"plan_7","caller":"https://gazette.example","purchase_type":"media_buy","governance_context":"next-token","phase":"modification","planned_delivery":{"media_buy_id":"mb_1","start_time":"2026-07-01T00:00:00Z","end_time":"2026-09-01T00:00:00Z","total_budget":1000,"currency":"USD","channels":["display"]},"modification_summary":"the buyer changes budget, flight, targeting or packages"}]"#]].assert_eq(&json!(asked(&shop)).to_string());
    // A pause commits nothing.
    assert_eq!(shop.update(id, json!({"paused": true}))["revision"], 3);
    assert_eq!(asked(&shop).len(), 0);
    // A silent agent stops the next change, and nothing changes.
    let before = shop.stored(EntityKind::MediaBuy);
    let refused = shop.update(id, json!({"end_time": "2026-10-01T00:00:00Z"}));
    expect![[r#"
        {"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done","recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"}
    "#]].assert_eq(&errors(&refused));
    assert_eq!(before, shop.stored(EntityKind::MediaBuy));
}

#[test]
fn without_its_consent_nothing_comes_about() {
    let shop = Shop::governed();
    let refused = |code: &str| Err(CallError::Refused(code.to_owned()));
    let decides = |decision: Value| {
        let mut answer = approval();
        answer.as_object_mut().unwrap().extend(decision.as_object().unwrap().clone());
        Ok(answer.as_object().cloned().unwrap())
    };
    let finding =
        json!({"category_id": "budget", "severity": "critical", "explanation": "Jane Doe said no"});
    let condition = |value: Value| {
        json!({"verdict": "conditions", "conditions": [
            {"field": "packages[0].budget", "required_value": value, "reason": "the plan has no more"},
        ]})
    };
    let table = [
        ("denied", decides(json!({"verdict": "denied", "findings": [finding]}))),
        ("on a condition that is not met", decides(condition(json!(500)))),
        ("on a condition that is", decides(condition(json!(1000)))),
        ("expired", decides(json!({"expires_at": "2026-05-01T00:00:00Z"}))),
        ("about another plan", decides(json!({"plan_id": "plan_8"}))),
        ("no decision", decides(json!({"verdict": "maybe"}))),
        ("silent", Err(CallError::NoAnswer)),
        ("no such plan", refused("PLAN_NOT_FOUND")),
        ("suspended", refused("CAMPAIGN_SUSPENDED")),
        ("a bad token", refused("PERMISSION_DENIED")),
        ("anything else", refused("AUTH_INVALID")),
    ];
    let mut transcript = String::new();
    for (title, decision) in table {
        shop.harness.services.governance.lock().unwrap().push(decision);
        transcript.push_str(&format!("# {title}\n{}", errors(&shop.create(governed(json!({}))))));
    }
    expect![[r##"
        # denied
        {"code":"GOVERNANCE_DENIED","message":"the account's governance agent denied this; details.findings says on what grounds","recovery":"correctable","suggestion":"restructure the buy, or ask a person who may approve it","details":{"findings":[{"category_id":"budget","severity":"critical"}]}}
        # on a condition that is not met
        {"code":"GOVERNANCE_DENIED","message":"the account's governance agent agrees on conditions that the request does not meet; details.conditions names the fields","recovery":"correctable","suggestion":"restructure the buy, or ask a person who may approve it","details":{"conditions":["packages[0].budget"]}}
        # on a condition that is
        "completed"
        # expired
        {"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done","recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"}
        # about another plan
        {"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done","recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"}
        # no decision
        {"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done","recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"}
        # silent
        {"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done","recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"}
        # no such plan
        {"code":"PLAN_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"plan_id","suggestion":"register the plan with sync_plans first"}
        # suspended
        {"code":"CAMPAIGN_SUSPENDED","message":"the plan waits for a person to look at it; try again later","recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"}
        # a bad token
        {"code":"PERMISSION_DENIED","message":"the governance agent does not accept the token of the request","recovery":"correctable","field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"}
        # anything else
        {"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done","recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"}
    "##]].assert_eq(&transcript);
    assert_eq!(shop.stored(EntityKind::MediaBuy).len(), 1);
}

#[test]
fn what_would_be_refused_anyway_is_not_asked_about() {
    let shop = Shop::governed();
    let mut transcript = String::new();
    for order in [
        json!({}),
        json!({"plan_id": "plan_7"}),
        governed(json!({"end_time": "2026-05-01T00:00:00Z"})),
    ] {
        transcript.push_str(&format!("{}\n", errors(&shop.create(order))));
    }
    expect![[r#"
        {"code":"PERMISSION_DENIED","message":"the account's governance agent has to be asked with its token; send the governance_context of its approval","recovery":"correctable","field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"}
        {"code":"INVALID_REQUEST","message":"the account has a governance agent; name the plan that the buy belongs to","recovery":"correctable","field":"plan_id","suggestion":"correct what field and issues name and send again"}

        {"code":"PERMISSION_DENIED","message":"the account's governance agent has to be asked with its token; send the governance_context of its approval","recovery":"correctable","field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"}

        {"code":"INVALID_REQUEST","message":"the end is in the past","recovery":"correctable","field":"end_time","suggestion":"correct what field and issues name and send again"}

    "#]].assert_eq(&transcript);
    assert_eq!(asked(&shop).len(), 0);
}

/// Since 3.2 the token alone binds a buy to its plan.
#[test]
fn a_buyer_of_3_2_sends_only_the_token() {
    let shop = Shop::governed();
    let token = json!({"governance_context": "token-of-the-plan"});
    let newer = json!({"governance_context": "token-of-the-plan", "adcp_version": "3.2"});
    // Without a token nothing is asked, in no release; without a plan nothing is in 3.1.
    let refused = [json!({"adcp_version": "3.2"}), token].map(|order| errors(&shop.create(order)));
    expect![[r#"
        {"code":"PERMISSION_DENIED","message":"the account's governance agent has to be asked with its token; send the governance_context of its approval","recovery":"correctable","field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"}
        {"code":"INVALID_REQUEST","message":"the account has a governance agent; name the plan that the buy belongs to","recovery":"correctable","field":"plan_id","suggestion":"correct what field and issues name and send again"}
    "#]].assert_eq(&refused.concat());
    assert_eq!(asked(&shop).len(), 0);
    let mut decision = approval();
    decision.as_object_mut().unwrap().shift_remove("plan_id");
    says(&shop, decision.clone());
    let made = shop.create(newer);
    assert_eq!(made["status"], "completed", "{made}");
    let question = &asked(&shop)[0];
    assert!(!question.contains_key("plan_id"));
    assert_eq!(question["governance_context"], "token-of-the-plan");
    assert!(question["planned_delivery"].get("media_buy_id").is_none());
    // What was bought that way is changed that way, also in 3.1; a change says which buy it is.
    let id = made["media_buy_id"].as_str().unwrap();
    says(&shop, decision);
    let changed = shop.update(id, json!({"end_time": "2026-09-01T00:00:00Z"}));
    assert_eq!(changed["revision"], 2, "{changed}");
    let question = &asked(&shop)[0];
    assert_eq!(question["governance_context"], "next-token");
    assert_eq!(question["planned_delivery"]["media_buy_id"], id);
}
