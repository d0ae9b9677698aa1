//! Approvals by two persons, media buys that the publisher stops, and what waits for a person.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::{FourEyesLimit, PublisherProfile};
use tradepost_publisher::staff::waiting::{WaitingPage, waiting};
use tradepost_publisher::staff::{
    DecisionError, DecisionStep, DecisionSubject, SeenVersion, StaffDecision, StaffView,
    StateChange,
};
use tradepost_publisher::store::EntityKind;

use crate::staff::{decide, decision};
use crate::support::profile;
use crate::support::shop::{Shop, errors, package};

/// A shop whose people approve buys above 5,000 dollars together.
fn shop_with_four_eyes() -> Shop {
    let four_eyes =
        vec![FourEyesLimit { currency: "USD".to_owned(), above: MoneyAmount::whole(5_000) }];
    Shop::from_profile(PublisherProfile { four_eyes, ..profile() }, |_| {})
}

/// A decision of somebody who has signed in.
fn of(person: &str, matter: DecisionSubject, id: &str, step: DecisionStep) -> StaffDecision {
    StaffDecision {
        by: Some(person.to_owned()),
        person: Some(person.to_owned()),
        ..decision(matter, id, step)
    }
}

fn approve(shop: &Shop, person: &str, task: &str) -> Result<StateChange, DecisionError> {
    decide(&shop.harness, &of(person, DecisionSubject::Task, task, DecisionStep::Approve))
}

fn task_of(answer: &Value) -> String {
    answer["task_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn order(product: &str, budget: u32) -> Value {
    json!({"packages": [package(json!({"product_id": product, "budget": budget}))]})
}

#[test]
fn a_buy_above_the_amount_needs_two_different_people() {
    let mut shop = shop_with_four_eyes();
    assert_eq!(shop.create(order("display", 5_000))["status"], "completed");
    // Of a product that nobody approves, and of one that the time would approve.
    for product in ["display", "soon"] {
        let task = task_of(&shop.create(order(product, 5_001)));
        shop.wait(2);
        shop.tick();
        let unnamed = StaffDecision {
            person: None,
            ..of("cli:root", DecisionSubject::Task, &task, DecisionStep::Approve)
        };
        let refused = decide(&shop.harness, &unnamed);
        assert!(matches!(refused, Err(DecisionError::Invalid(_))), "{refused:?}");
        let first = approve(&shop, "amy", &task).unwrap();
        assert!(first.awaits_second && first.after == "submitted", "{first:?}");
        let again = approve(&shop, "amy", &task);
        assert!(matches!(again, Err(DecisionError::SamePerson(one)) if one.by == "amy"));
        let buys = shop.stored(EntityKind::MediaBuy).len();
        let second = approve(&shop, "sam", &task).unwrap();
        assert_eq!((second.after.as_str(), second.awaits_second), ("completed", false));
        assert_eq!(shop.stored(EntityKind::MediaBuy).len(), buys + 1);
        // Whoever comes third is told who decided.
        let third = approve(&shop, "zoe", &task).unwrap();
        assert_eq!(third.decided.unwrap().by, "sam");
    }
}

#[test]
fn one_person_declines_what_two_would_have_to_approve() {
    let shop = shop_with_four_eyes();
    let task = task_of(&shop.create(order("display", 9_000)));
    approve(&shop, "amy", &task).unwrap();
    let decline = of("sam", DecisionSubject::Task, &task, DecisionStep::Decline);
    assert_eq!(decide(&shop.harness, &decline).unwrap().after, "failed");
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
}

#[test]
fn a_small_buy_cannot_be_raised_above_the_amount() {
    let shop = shop_with_four_eyes();
    let bought = shop.create(order("display", 1_000));
    let id = bought["media_buy_id"].as_str().unwrap();
    let package = &bought["packages"][0]["package_id"];
    let raise = |budget: u32| {
        shop.update(id, json!({"packages": [{"package_id": package, "budget": budget}]}))
    };
    assert_eq!(errors(&raise(5_000)), "\"completed\"\n");
    let refused = raise(5_001);
    assert_eq!(refused["errors"][0]["code"], "ACTION_NOT_ALLOWED", "{refused}");
    assert_eq!(refused["errors"][0]["details"]["reason"], "mode_mismatch", "{refused}");
    let more = json!({"new_packages": [crate::support::shop::package(json!({"budget": 600}))]});
    let refused = shop.update(id, more);
    assert_eq!(refused["errors"][0]["code"], "ACTION_NOT_ALLOWED", "{refused}");
}

#[test]
fn nothing_that_a_buyer_sends_decides_its_own_approval() {
    let shop = shop_with_four_eyes();
    let task = task_of(&shop.create(order("display", 9_000)));
    let ids = ["mb_1", task.as_str()];
    for id in ids {
        for change in [
            json!({"paused": false}),
            json!({"status": "completed", "approved": true, "paused": true}),
            json!({"end_time": "2026-09-01T00:00:00Z"}),
        ] {
            let refused = shop.update(id, change);
            assert_eq!(refused["errors"][0]["code"], "MEDIA_BUY_NOT_FOUND", "{refused}");
        }
    }
    let given = json!({"creatives": [{
        "creative_id": "banner-2", "name": "Banner", "status": "approved", "decision": {"by": "amy"},
        "format_id": {"agent_url": "https://gazette.example", "id": "display_300x250"}, "assets": {},
    }]});
    shop.ask(AdcpTool::SyncCreatives, given);
    let creatives = shop.stored(EntityKind::Creative);
    let banner = creatives.iter().find(|one| one["creative_id"] == "banner-2").unwrap();
    assert_eq!(banner["status"], "pending_review", "{banner}");
    let task = shop.stored(EntityKind::Task).pop().unwrap();
    assert_eq!((&task["status"], task.get("approvals")), (&json!("submitted"), None), "{task}");
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
}

#[test]
fn a_decision_about_an_earlier_version_is_refused() {
    let shop = shop_with_four_eyes();
    let task = task_of(&shop.create(order("display", 9_000)));
    let seen = |person: &str, revision| StaffDecision {
        seen: Some(SeenVersion::Revision(revision)),
        ..of(person, DecisionSubject::Task, &task, DecisionStep::Approve)
    };
    decide(&shop.harness, &seen("amy", 1)).unwrap();
    let late = decide(&shop.harness, &seen("sam", 1));
    let Err(DecisionError::Changed { from, decided: Some(decided) }) = late else {
        unreachable!("{late:?}")
    };
    assert_eq!((from.as_str(), decided.by.as_str()), ("submitted", "amy"));
    assert_eq!(decide(&shop.harness, &seen("sam", 2)).unwrap().after, "completed");
}

#[test]
fn a_seller_pauses_resumes_and_cancels_what_it_sold() {
    let mut shop = Shop::new();
    let bought = shop.create(json!({"start_time": "asap"}));
    let id = bought["media_buy_id"].as_str().unwrap().to_owned();
    let step = |step, reason: Option<&str>| StaffDecision {
        reason: reason.map(str::to_owned),
        ..of("amy", DecisionSubject::Buy, &id, step)
    };
    let mut lines = String::new();
    let mut act = |shop: &Shop, wanted: StaffDecision| {
        let name = wanted.step.name();
        let line = match decide(&shop.harness, &wanted) {
            Ok(done) => format!("{name}: {} -> {}\n", done.before, done.after),
            Err(DecisionError::Impossible { from, possible, .. }) => {
                let possible: Vec<_> = possible.iter().map(|step| step.name()).collect();
                format!("{name}: {from}, only {}\n", possible.join(", "))
            }
            Err(DecisionError::Invalid(wrong)) => format!("{name}: {}\n", wrong.join("; ")),
            Err(other) => panic!("{other:?}"),
        };
        lines.push_str(&line);
    };
    shop.wait(1);
    act(&shop, step(DecisionStep::Resume, None));
    act(&shop, step(DecisionStep::Pause, Some("a complaint about the landing page")));
    act(&shop, step(DecisionStep::Pause, None));
    // The buyer does not end what the seller began.
    let resumed = shop.update(&id, json!({"paused": false}));
    assert_eq!(resumed["errors"][0]["code"], "ACTION_NOT_ALLOWED", "{resumed}");
    let shown = shop.ask(AdcpTool::GetMediaBuys, json!({"media_buy_ids": [id]}));
    assert_eq!(shown["media_buys"][0]["status"], "paused", "{shown}");
    act(&shop, step(DecisionStep::Suspend, None));
    act(&shop, step(DecisionStep::Resume, None));
    act(&shop, step(DecisionStep::Cancel, None));
    act(&shop, step(DecisionStep::Cancel, Some("the inventory is withdrawn")));
    act(&shop, step(DecisionStep::Resume, None));
    expect![[r#"
        resume: active -> active
        pause: active -> paused
        pause: paused -> paused
        suspend: paused, only resume, cancel
        resume: paused -> active
        cancel: a media buy is canceled with a reason, which its buyer reads
        cancel: active -> canceled
        resume: canceled, only 
    "#]]
    .assert_eq(&lines);
    let shown = shop.ask(
        AdcpTool::GetMediaBuys,
        json!({"media_buy_ids": [id], "include_history": 5, "status_filter": ["canceled"]}),
    );
    let buy = &shown["media_buys"][0];
    assert_eq!(buy["cancellation"]["canceled_by"], "seller", "{shown}");
    assert_eq!(buy["cancellation"]["reason"], "the inventory is withdrawn", "{shown}");
    let stored = shop.buy(&id).thing;
    let history: Vec<_> = stored.history.iter().map(|change| change.summary.as_str()).collect();
    expect![[r#"
        [
            "the buyer created the buy",
            "the seller paused the buy: a complaint about the landing page",
            "the seller resumed the buy",
            "the seller canceled the buy: the inventory is withdrawn",
        ]
    "#]]
    .assert_debug_eq(&history);
}

#[test]
fn money_of_a_canceled_buy_can_be_committed_again() {
    let shop = Shop::funded(1_000, 0);
    let bought = shop.create(json!({}));
    let id = bought["media_buy_id"].as_str().unwrap();
    let refused = shop.create(json!({}));
    assert_eq!(refused["status"], "failed", "{refused}");
    let reason = Some("the page is gone".to_owned());
    let cancel = of("amy", DecisionSubject::Buy, id, DecisionStep::Cancel);
    decide(&shop.harness, &StaffDecision { reason, ..cancel }).unwrap();
    assert_eq!(shop.create(json!({}))["status"], "completed");
}

fn page(
    shop: &Shop,
    after: Option<tradepost_publisher::staff::waiting::WaitingCursor>,
) -> WaitingPage {
    let publisher = &shop.harness.publisher;
    let now = shop.harness.now;
    let read =
        shop.harness.store.look(|reader| waiting(StaffView { publisher, reader, now }, after, 2));
    let read: Result<_, tradepost_document::fault::InternalError> = read;
    read.unwrap()
}

#[test]
fn what_waits_is_listed_by_age_in_pages() {
    let mut shop = shop_with_four_eyes();
    // The creative `banner-2` has waited since the beginning.
    for (product, budget) in [("person", 600), ("soon", 600), ("display", 9_000), ("person", 700)] {
        shop.wait(1);
        shop.create(order(product, budget));
    }
    let mut lines = String::new();
    let mut after = None;
    loop {
        let found = page(&shop, after);
        for item in &found.items {
            let document = &item.document;
            lines.push_str(&format!("{} {} {}\n", item.matter, item.since, document["budget"]));
        }
        lines.push_str("--\n");
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    expect![[r#"
        creative 2026-06-01T12:00:00Z null
        task 2026-06-01T13:00:00Z 600
        --
        task 2026-06-01T15:00:00Z 9000
        task 2026-06-01T16:00:00Z 700
        --
    "#]]
    .assert_eq(&lines);
}
