//! Money: what an account can pay for, and sums that hold whatever is asked.

use std::sync::Arc;

use expect_test::expect;
use tradepost_document::json::{Number, Value, from_value, json};
use tradepost_publisher::agent::BuyerAgent;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::spending::SpendLimit;
use tradepost_publisher::staff::{DecisionStep, DecisionSubject};
use tradepost_publisher::store::EntityKind;

use crate::support::shop::{Shop, errors, package};

fn committed(shop: &Shop) -> MoneyAmount {
    from_value(shop.stored(EntityKind::Account)[0]["funds"]["committed"].clone()).unwrap()
}

#[test]
fn an_account_pays_for_what_it_can() {
    let shop = Shop::funded(3000, 1000);
    let mut transcript = String::new();
    let answer = shop.create(json!({"packages": [package(json!({"budget": 2000.01}))]}));
    transcript.push_str(&errors(&answer));
    let answer = shop.create(json!({"packages": [package(json!({"product_id": "euro"}))]}));
    transcript.push_str(&errors(&answer));
    let id = shop.create(json!({}))["media_buy_id"].as_str().unwrap().to_owned();
    assert_eq!(committed(&shop), MoneyAmount::whole(2000));
    let package = shop.buy(&id).thing.packages[0].package_id.clone();
    let budget = |budget: f64| json!({"packages": [{"package_id": package, "budget": budget}]});
    transcript.push_str(&errors(&shop.update(&id, budget(2500.0))));
    transcript.push_str(&errors(&shop.update(&id, budget(2000.0))));
    assert_eq!(committed(&shop), MoneyAmount::whole(3000));
    transcript.push_str(&errors(&shop.create(json!({}))));
    transcript.push_str(&errors(&shop.update(&id, json!({"canceled": true}))));
    assert_eq!(committed(&shop), MoneyAmount::whole(1000));
    expect![[r#"
        {"code":"BUDGET_EXCEEDED","message":"the account has less left to spend than this costs; see details","recovery":"correctable","field":"packages","suggestion":"ask for less, or allocate more","details":{"requested":2000.01,"available":2000,"currency":"USD"}}
        {"code":"INVALID_REQUEST","message":"the account is kept in another currency; details.accepted_values has it","recovery":"correctable","field":"packages","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["USD"]}}
        {"code":"BUDGET_EXCEEDED","message":"the account has less left to spend than this costs; see details","recovery":"correctable","field":"packages[0].budget","suggestion":"ask for less, or allocate more","details":{"requested":1500,"available":1000,"currency":"USD"}}
        "completed"
        {"code":"BUDGET_EXHAUSTED","message":"the account has nothing left to spend; the buyer has to add funds","recovery":"terminal","field":"packages","suggestion":"have funds added or the cap raised"}
        "completed"
    "#]].assert_eq(&transcript);
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A change of a buy, sensible or not.
fn change(random: &mut Random, packages: &[String], revision: u64) -> Value {
    let creatives = ["banner", "banner-2", "ugly", "nobody"];
    let budget = |random: &mut Random| random.below(300_000) as f64 / 100.0;
    let mut changes = json!({});
    for _ in 0..=random.below(3) {
        let id = &packages[random.below(packages.len() as u64) as usize];
        let creative = creatives[random.below(4) as usize];
        let days = 1 + random.below(28);
        let one = match random.below(11) {
            0 => json!({"paused": random.below(2) == 0}),
            1 => json!({"end_time": format!("2026-08-{days:02}T00:00:00Z")}),
            2 => json!({"start_time": format!("2026-07-{days:02}T00:00:00Z")}),
            3 => json!({"new_packages": [package(json!({"budget": budget(random)}))]}),
            4 => json!({"packages": [{"package_id": id, "canceled": true}]}),
            5 => {
                json!({"packages": [{"package_id": id, "creative_assignments": [{"creative_id": creative}]}]})
            }
            6 => {
                json!({"packages": [{"package_id": id, "targeting_overlay": {"geo_countries": ["US"]}}]})
            }
            7 => json!({"revision": revision + random.below(2)}),
            8 if random.below(12) == 0 => json!({"canceled": true}),
            _ => json!({"packages": [{"package_id": id, "budget": budget(random)}]}),
        };
        changes.as_object_mut().unwrap().extend(one.as_object().unwrap().clone());
    }
    changes
}

#[test]
fn sums_hold_after_any_change_and_refusals_change_nothing() {
    let mut done = 0;
    let mut refused = 0;
    let mut same = 0;
    for seed in 1..=16_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let shop = Shop::funded(9000, 0);
        let answer = shop
            .create(json!({"packages": [package(json!({})), package(json!({"budget": 2000}))]}));
        let id = answer["media_buy_id"].as_str().unwrap().to_owned();
        for _ in 0..25 {
            let before = shop.buy(&id);
            let mut packages: Vec<_> =
                before.thing.packages.iter().map(|package| package.package_id.clone()).collect();
            packages.push("pkg_nobody".to_owned());
            let changes = change(&mut random, &packages, before.record.revision);
            let paid = committed(&shop);
            let answer = shop.update(&id, changes.clone());
            let after = shop.buy(&id);
            let buy = &after.thing;
            if answer["status"] == "failed" {
                refused += 1;
                assert_eq!(after, before, "{changes}");
                assert_eq!(committed(&shop), paid);
                continue;
            }
            assert_eq!(answer["revision"], after.record.revision);
            if buy == &before.thing {
                same += 1;
                assert_eq!(after.record.revision, before.record.revision, "{changes}");
            } else {
                done += 1;
                assert_eq!(after.record.revision, before.record.revision + 1, "{changes}");
                assert_eq!(buy.history.len() as u64, after.record.revision);
            }
            let live = buy.packages.iter().filter(|package| package.is_live());
            let sum = live.map(|package| package.budget).sum();
            assert_eq!(buy.total_budget, sum, "{changes}");
            let bound =
                if buy.cancellation.is_some() { MoneyAmount::ZERO } else { buy.total_budget };
            assert_eq!(committed(&shop), bound, "{changes}");
            assert!(committed(&shop) <= MoneyAmount::whole(9000));
            assert!(buy.start_time < buy.end_time);
            for package in &buy.packages {
                assert!(!package.is_live() || package.budget >= MoneyAmount::whole(500));
                let was = before.thing.package(&package.package_id);
                assert!(was.is_none_or(|was| was.is_live() || was == package), "{changes}");
            }
        }
    }
    // Enough of each, so that the test says something.
    assert!(done > 50 && refused > 50 && same > 0, "{done} {refused} {same}");
}

/// Budgets of which no sum is exact in binary fractions.
#[test]
fn costs_add_up_to_the_last_millionth_in_any_order() {
    let budgets = ["1000.1", "700.2", "500.3", "600.000001"];
    for turn in 0..budgets.len() {
        let shop = Shop::funded(9000, 0);
        let mut given =
            budgets.map(|text| package(json!({"budget": text.parse::<Number>().unwrap()})));
        given.rotate_left(turn);
        let answer = shop.create(json!({"packages": given.to_vec()}));
        assert_eq!(answer["total_budget"].to_string(), "2800.600001");
        assert_eq!(committed(&shop).to_string(), "2800.600001");
        let id = answer["media_buy_id"].as_str().unwrap();
        shop.update(id, json!({"canceled": true}));
        assert_eq!(committed(&shop), MoneyAmount::ZERO);
    }
}

/// A shop that lets an account commit so much a day, and `acme` less.
fn limited(publisher: u32, acme: u32) -> Shop {
    let mut shop = Shop::new();
    let limit =
        |per_day| SpendLimit { currency: "USD".to_owned(), per_day: MoneyAmount::whole(per_day) };
    let mut profile = PublisherProfile::clone(&shop.harness.publisher.profile);
    profile.spend_limits = vec![limit(publisher)];
    let agents = profile.agents.iter().map(|agent| {
        let own = (agent.id == "acme").then(|| limit(acme));
        Arc::new(BuyerAgent { spend_limits: own.into_iter().collect(), ..BuyerAgent::clone(agent) })
    });
    profile.agents = agents.collect();
    shop.harness.publisher.profile = Arc::new(profile);
    shop
}

#[test]
fn a_daily_limit_holds_and_cancellation_frees_its_share() {
    let mut shop = limited(9000, 2500);
    let order = |budget: u32| json!({"packages": [package(json!({"budget": budget}))]});
    let first = shop.create(order(1500));
    assert_eq!(first["status"], "completed", "{first}");
    expect![[r#"
        {"code":"BUDGET_EXCEEDED","message":"this is more than may be committed on the account today (UTC); see details","recovery":"correctable","field":"packages","suggestion":"ask for less, or allocate more","details":{"requested":1001,"available":1000,"limit":2500,"currency":"USD","window":"day"}}
    "#]].assert_eq(&errors(&shop.create(order(1001))));
    // To the cent what is left, by a change.
    let id = first["media_buy_id"].as_str().unwrap();
    let packages = |budget: Value| json!({"packages": [{"package_id": first["packages"][0]["package_id"], "budget": budget}]});
    expect![[r#"
        {"code":"BUDGET_EXCEEDED","message":"this is more than may be committed on the account today (UTC); see details","recovery":"correctable","field":"packages[0].budget","suggestion":"ask for less, or allocate more","details":{"requested":1000.01,"available":1000,"limit":2500,"currency":"USD","window":"day"}}
    "#]].assert_eq(&errors(&shop.update(id, packages(json!(2500.01)))));
    let raised = shop.update(id, packages(json!(2500)));
    assert_eq!(raised["status"], "completed", "{raised}");
    assert_eq!(errors(&shop.create(order(1000))).matches("BUDGET_EXCEEDED").count(), 1);
    // What is canceled on the same day can be committed again.
    let canceled = shop.update(id, json!({"canceled": true}));
    assert_eq!(canceled["status"], "completed", "{canceled}");
    let second = shop.create(order(2500));
    assert_eq!(second["status"], "completed", "{second}");
    // The next day is another one, and what was committed before gives it no room.
    shop.wait(24);
    let third = shop.create(order(2000));
    assert_eq!(third["status"], "completed", "{third}");
    let id = second["media_buy_id"].as_str().unwrap();
    let canceled = shop.update(id, json!({"canceled": true}));
    assert_eq!(canceled["status"], "completed", "{canceled}");
    expect![[r#"
        {"code":"BUDGET_EXCEEDED","message":"this is more than may be committed on the account today (UTC); see details","recovery":"correctable","field":"packages","suggestion":"ask for less, or allocate more","details":{"requested":1000,"available":500,"limit":2500,"currency":"USD","window":"day"}}
    "#]].assert_eq(&errors(&shop.create(order(1000))));
}

#[test]
fn a_waiting_buy_holds_its_daily_share_until_declined() {
    let mut shop = limited(1000, 9000);
    let waits = json!({"packages": [package(json!({"product_id": "soon"}))]});
    assert_eq!(shop.create(waits.clone())["status"], "submitted");
    assert_eq!(errors(&shop.create(waits.clone())).matches("BUDGET_EXCEEDED").count(), 1);
    let task = shop.stored(EntityKind::Task)[0]["task_id"].as_str().unwrap().to_owned();
    crate::staff::decide(
        &shop.harness,
        &crate::staff::decision(DecisionSubject::Task, &task, DecisionStep::Decline),
    )
    .unwrap();
    shop.wait(1);
    assert_eq!(shop.create(waits)["status"], "submitted");
}
