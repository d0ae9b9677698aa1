//! What the publisher's people look through: lists with filters and pages, and everything about one thing.

use std::collections::BTreeSet;

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};
use tradepost_publisher::creative::Creative;
use tradepost_publisher::proposal::Proposal;
use tradepost_publisher::staff::StaffView;
use tradepost_publisher::staff::list::{self, Cursor, Filter, Listing, Page, Subject};
use tradepost_publisher::staff::show::{self, NotShown};
use tradepost_publisher::staff::{DecisionError, DecisionStep, DecisionSubject, StaffDecision};
use tradepost_publisher::store::{EntityKind, EntityRecord, New, Query, own_id};
use tradepost_publisher::task::SubmittedTask;
use tradepost_publisher::task::finish::record_id;
use tradepost_publisher::test_controller::forced_buy;

use crate::staff::{decide, decision};
use crate::support::shop::{ACCOUNT, Shop, package};

fn page(
    shop: &Shop,
    subject: Subject,
    filter: &Filter,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Listing, DecisionError> {
    let publisher = &shop.harness.publisher;
    let now = shop.harness.now;
    shop.harness.store.look(|reader| {
        let view = StaffView { publisher, reader, now };
        list::list(view, subject, filter, Page { after, limit })
    })
}

/// The ids that a filter finds, the newest first.
fn ids(shop: &Shop, subject: Subject, filter: &Filter) -> String {
    match page(shop, subject, filter, None, 1000) {
        Ok(listing) => {
            let ids = listing.rows.iter().map(|row| row.document["id"].as_str().unwrap());
            ids.collect::<Vec<_>>().join(" ")
        }
        Err(DecisionError::Invalid(wrong)) => wrong.join("; "),
        Err(other) => panic!("{other:?}"),
    }
}

fn show(shop: &Shop, subject: Subject, id: &str, account: Option<&str>) -> Result<Value, NotShown> {
    let publisher = &shop.harness.publisher;
    let now = shop.harness.now;
    shop.harness
        .store
        .look(|reader| show::show(StaffView { publisher, reader, now }, subject, id, account))
}

fn shown(shop: &Shop, subject: Subject, id: &str) -> Value {
    show(shop, subject, id, None).unwrap()
}

fn pretty(value: &Value) -> String {
    tradepost_document::json::to_string_pretty(value).unwrap()
}

/// A decision of a person who is known by name.
fn by(name: &str, id: &str, step: DecisionStep) -> StaffDecision {
    StaffDecision { by: Some(name.to_owned()), ..decision(DecisionSubject::Task, id, step) }
}

/// The task of a buy of a product that has to be approved.
fn waiting(shop: &Shop, product: &str) -> String {
    let answer = shop.create(json!({"packages": [package(json!({"product_id": product}))]}));
    answer["task_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn bought(shop: &Shop, changes: Value) -> String {
    let answer = shop.create(changes);
    answer["media_buy_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// A shop in which something was sold, asked for and decided, an hour apart.
fn busy() -> Shop {
    let mut shop = Shop::new();
    let later = |shop: &mut Shop| shop.wait(1);
    let packages = [package(json!({})), package(json!({"product_id": "early", "budget": 700}))];
    bought(&shop, json!({"packages": packages}));
    later(&mut shop);
    bought(&shop, json!({"start_time": "asap", "packages": [package(json!({"budget": 900}))]}));
    later(&mut shop);
    bought(&shop, json!({"packages": [package(json!({"creative_assignments": null}))]}));
    later(&mut shop);
    waiting(&shop, "person");
    let approved = waiting(&shop, "person");
    let declined = waiting(&shop, "person");
    waiting(&shop, "soon");
    later(&mut shop);
    decide(&shop.harness, &by("ada", &approved, DecisionStep::Approve)).unwrap();
    decide(&shop.harness, &by("ben", &declined, DecisionStep::Decline)).unwrap();
    assert_eq!(shop.tick(), 1);
    shop.ask(AdcpTool::UpdateMediaBuy, json!({"media_buy_id": "mb_4", "paused": true}));
    put_proposals(&shop);
    shop
}

/// Puts a proposal there in each state.
fn put_proposals(shop: &Shop) {
    let now = shop.harness.now;
    shop.harness.put(move |tx| {
        for (id, status, expires_at, bought_as) in [
            ("prop_draft", "draft", "2026-06-30T00:00:00Z", None),
            ("prop_committed", "committed", "2026-06-30T00:00:00Z", None),
            ("prop_expired", "draft", "2026-06-01T00:00:00Z", None),
            ("prop_bought", "committed", "2026-06-01T00:00:00Z", Some("mb_1")),
        ] {
            let allocation = json!({
                "product_id": "early", "pricing_option_id": "cpm", "percentage": 100, "rationale": "",
            });
            let proposal = object!({
                "proposal_id": id, "name": id, "description": "", "status": status,
                "expires_at": expires_at, "allocations": [allocation],
                "envelope": {"currency": "USD"}, "bought_as"?: bought_as,
            });
            let proposal: Proposal = tradepost_document::json::from_value(proposal).unwrap();
            let owner = "agent:acme";
            let account = Some(ACCOUNT);
            tx.add(New { id, owner, account, state: status, now }, &proposal)?;
        }
        Ok(())
    });
}

#[test]
fn lists_are_the_newest_first_and_filtered() {
    let shop = busy();
    let mut lines = String::new();
    let mut row = |subject: Subject, filter: Filter| {
        let mut conditions = Vec::new();
        let named = [
            ("state", &filter.state),
            ("account", &filter.account),
            ("agent", &filter.agent),
            ("product", &filter.product),
        ];
        conditions.extend(
            named.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?))),
        );
        conditions.extend(filter.from.map(|from| format!("from {from}")));
        conditions.extend(filter.until.map(|until| format!("until {until}")));
        lines.push_str(&format!(
            "{subject} {}: {}\n",
            conditions.join(", "),
            ids(&shop, subject, &filter)
        ));
    };
    let text = |text: &str| Some(text.to_owned());
    for subject in Subject::ALL.iter().copied() {
        row(subject, Filter::default());
        for state in subject.states() {
            row(subject, Filter { state: text(state), ..Filter::default() });
        }
        row(subject, Filter { account: text("acc_nova"), ..Filter::default() });
        row(subject, Filter { agent: text("nova"), ..Filter::default() });
        row(subject, Filter { agent: text("agent:acme"), ..Filter::default() });
        row(subject, Filter { product: text("early"), ..Filter::default() });
        let one = "2026-06-01T13:00:00Z".parse().ok();
        let three = "2026-06-01T15:00:00Z".parse().ok();
        row(subject, Filter { from: one, ..Filter::default() });
        row(subject, Filter { until: one, ..Filter::default() });
        row(subject, Filter { from: one, until: three, ..Filter::default() });
        row(subject, Filter { from: three, until: one, state: text("new"), ..Filter::default() });
    }
    expect![[r#"
        buys : mb_17 mb_11 mb_6 mb_4 mb_1
        buys state pending_creatives: mb_6
        buys state pending_start: mb_17 mb_11 mb_1
        buys state active: 
        buys state paused: mb_4
        buys state completed: 
        buys state rejected: 
        buys state canceled: 
        buys account acc_nova: 
        buys agent nova: 
        buys agent agent:acme: mb_17 mb_11 mb_6 mb_4 mb_1
        buys product early: mb_1
        buys from 2026-06-01T13:00:00Z: mb_17 mb_11 mb_6 mb_4
        buys until 2026-06-01T13:00:00Z: mb_1
        buys from 2026-06-01T13:00:00Z, until 2026-06-01T15:00:00Z: mb_6 mb_4
        buys state new, from 2026-06-01T15:00:00Z, until 2026-06-01T13:00:00Z: no media buy is ever new; use one of: pending_creatives, pending_start, active, paused, completed, rejected, canceled; the period ends before it begins
        packages : pkg_18 pkg_12 pkg_7 pkg_5 pkg_2 pkg_3
        packages state pending_creatives: pkg_7
        packages state pending_start: pkg_18 pkg_12 pkg_2 pkg_3
        packages state active: 
        packages state paused: pkg_5
        packages state completed: 
        packages state rejected: 
        packages state canceled: 
        packages account acc_nova: 
        packages agent nova: 
        packages agent agent:acme: pkg_18 pkg_12 pkg_7 pkg_5 pkg_2 pkg_3
        packages product early: pkg_3
        packages from 2026-06-01T13:00:00Z: pkg_18 pkg_12 pkg_7 pkg_5
        packages until 2026-06-01T13:00:00Z: pkg_2 pkg_3
        packages from 2026-06-01T13:00:00Z, until 2026-06-01T15:00:00Z: pkg_7 pkg_5
        packages state new, from 2026-06-01T15:00:00Z, until 2026-06-01T13:00:00Z: no package is ever new; use one of: pending_creatives, pending_start, active, paused, completed, rejected, canceled; the period ends before it begins
        creatives : old ugly banner-2 banner
        creatives state processing: 
        creatives state pending_review: banner-2
        creatives state approved: banner
        creatives state suspended: 
        creatives state rejected: ugly
        creatives state archived: old
        creatives account acc_nova: 
        creatives agent nova: 
        creatives agent agent:acme: old ugly banner-2 banner
        creatives product early: creatives are of no product; leave the product out
        creatives from 2026-06-01T13:00:00Z: 
        creatives until 2026-06-01T13:00:00Z: old ugly banner-2 banner
        creatives from 2026-06-01T13:00:00Z, until 2026-06-01T15:00:00Z: 
        creatives state new, from 2026-06-01T15:00:00Z, until 2026-06-01T13:00:00Z: no creative is ever new; use one of: processing, pending_review, approved, suspended, rejected, archived; the period ends before it begins
        proposals : prop_bought prop_expired prop_committed prop_draft
        proposals state draft: prop_draft
        proposals state committed: prop_committed
        proposals state expired: prop_expired
        proposals state bought: prop_bought
        proposals account acc_nova: 
        proposals agent nova: 
        proposals agent agent:acme: prop_bought prop_expired prop_committed prop_draft
        proposals product early: prop_bought prop_expired prop_committed prop_draft
        proposals from 2026-06-01T13:00:00Z: prop_bought prop_expired prop_committed prop_draft
        proposals until 2026-06-01T13:00:00Z: 
        proposals from 2026-06-01T13:00:00Z, until 2026-06-01T15:00:00Z: 
        proposals state new, from 2026-06-01T15:00:00Z, until 2026-06-01T13:00:00Z: no proposal is ever new; use one of: draft, committed, expired, bought; the period ends before it begins
        accounts : acc_nova acc_acme
        accounts state pending_approval: 
        accounts state active: acc_nova acc_acme
        accounts state payment_required: 
        accounts state suspended: 
        accounts state rejected: 
        accounts state closed: 
        accounts account acc_nova: acc_nova
        accounts agent nova: acc_nova
        accounts agent agent:acme: acc_acme
        accounts product early: accounts are of no product; leave the product out
        accounts from 2026-06-01T13:00:00Z: 
        accounts until 2026-06-01T13:00:00Z: acc_nova acc_acme
        accounts from 2026-06-01T13:00:00Z, until 2026-06-01T15:00:00Z: 
        accounts state new, from 2026-06-01T15:00:00Z, until 2026-06-01T13:00:00Z: no account is ever new; use one of: pending_approval, active, payment_required, suspended, rejected, closed; the period ends before it begins
        tasks : task_19 task_16 task_13 task_10
        tasks state submitted: task_10
        tasks state working: 
        tasks state input-required: 
        tasks state completed: task_19 task_13
        tasks state failed: task_16
        tasks state rejected: 
        tasks state canceled: 
        tasks account acc_nova: 
        tasks agent nova: 
        tasks agent agent:acme: task_19 task_16 task_13 task_10
        tasks product early: 
        tasks from 2026-06-01T13:00:00Z: task_19 task_16 task_13 task_10
        tasks until 2026-06-01T13:00:00Z: 
        tasks from 2026-06-01T13:00:00Z, until 2026-06-01T15:00:00Z: 
        tasks state new, from 2026-06-01T15:00:00Z, until 2026-06-01T13:00:00Z: no task is ever new; use one of: submitted, working, input-required, completed, failed, rejected, canceled; the period ends before it begins
        delivery : mb_17 mb_11 mb_6 mb_4 mb_1
        delivery state pending_creatives: mb_6
        delivery state pending_start: mb_17 mb_11 mb_1
        delivery state active: 
        delivery state paused: mb_4
        delivery state completed: 
        delivery state rejected: 
        delivery state canceled: 
        delivery account acc_nova: 
        delivery agent nova: 
        delivery agent agent:acme: mb_17 mb_11 mb_6 mb_4 mb_1
        delivery product early: mb_1
        delivery from 2026-06-01T13:00:00Z: mb_17 mb_11 mb_6 mb_4 mb_1
        delivery until 2026-06-01T13:00:00Z: 
        delivery from 2026-06-01T13:00:00Z, until 2026-06-01T15:00:00Z: mb_4
        delivery state new, from 2026-06-01T15:00:00Z, until 2026-06-01T13:00:00Z: no media buy is ever new; use one of: pending_creatives, pending_start, active, paused, completed, rejected, canceled; the period ends before it begins
    "#]].assert_eq(&lines);
}

#[test]
fn pages_have_every_row_once_whatever_their_size() {
    let shop = busy();
    for subject in Subject::ALL.iter().copied() {
        let all = page(&shop, subject, &Filter::default(), None, 1000).unwrap();
        assert_eq!(all.next, None);
        for limit in 1..=all.rows.len() + 1 {
            let mut rows = Vec::new();
            let mut after = None;
            loop {
                let part = page(&shop, subject, &Filter::default(), after, limit).unwrap();
                assert!(part.rows.len() <= limit);
                rows.extend(part.rows);
                after = part.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(rows, all.rows, "{subject} by {limit}");
            // Each row says where it stands, so that a list can go on behind any of them.
            for (index, row) in rows.iter().enumerate() {
                let cursor = row.cursor.to_string().parse().unwrap();
                let rest = page(&shop, subject, &Filter::default(), Some(cursor), 1000).unwrap();
                assert_eq!(rest.rows, all.rows[index + 1..], "{subject} behind {cursor}");
            }
        }
    }
    for text in
        ["", "0", "x", "1.", "1.x", "-1", "1.2.", "1.2.x", "1.2.3.4", "9223372036854775807.1"]
    {
        assert!(text.parse::<Cursor>().is_err(), "{text:?}");
    }
}

/// Puts so many buys of another product before and behind the buy that there is.
fn add_other_buys(shop: &Shop, id: &str, count: usize) {
    let buy = shop.buy(id);
    shop.harness.put(move |tx| {
        for number in 0..count {
            let mut thing = buy.thing.clone();
            thing.media_buy_id = format!("mb_of_the_crowd_{number}");
            for package in &mut thing.packages {
                "crowd".clone_into(&mut package.product_id);
            }
            let EntityRecord { owner, account, created_at, .. } = &buy.record;
            let new = New {
                id: &thing.media_buy_id,
                owner,
                account: account.as_deref(),
                state: "pending_start",
                now: *created_at,
            };
            tx.add(new, &thing)?;
        }
        Ok(())
    });
}

#[test]
fn a_search_for_what_is_rare_stops_and_goes_on() {
    let shop = Shop::new();
    let id = bought(&shop, json!({}));
    add_other_buys(&shop, &id, 2_500);
    let filter = Filter { product: Some("display".to_owned()), ..Filter::default() };
    let first = page(&shop, Subject::Buys, &filter, None, 10).unwrap();
    assert_eq!(first.rows, Vec::new(), "it has looked at enough");
    let second = page(&shop, Subject::Buys, &filter, first.next, 10).unwrap();
    assert_eq!((second.rows.len(), second.next), (1, None));
}

#[test]
fn a_rare_state_is_found_without_looking_at_the_rest() {
    let shop = Shop::new();
    let active = bought(&shop, json!({"start_time": "asap"}));
    let waiting = bought(&shop, json!({}));
    add_other_buys(&shop, &waiting, 2_500);
    let filter = Filter { state: Some("active".to_owned()), ..Filter::default() };
    for subject in [Subject::Buys, Subject::Packages, Subject::Delivery] {
        let found = page(&shop, subject, &filter, None, 10).unwrap();
        assert_eq!((found.rows.len(), found.next), (1, None), "{subject}");
    }
    assert_eq!(ids(&shop, Subject::Buys, &filter), active);
}

#[test]
fn a_period_is_found_without_what_is_newer() {
    let mut shop = Shop::new();
    let first = bought(&shop, json!({}));
    shop.wait(24);
    let second = bought(&shop, json!({}));
    add_other_buys(&shop, &second, 2_500);
    let until = Some("2026-06-02T00:00:00Z".parse().unwrap());
    let filter = Filter { until, ..Filter::default() };
    let found = page(&shop, Subject::Buys, &filter, None, 10).unwrap();
    assert_eq!((found.rows.len(), found.next), (1, None), "nothing newer was looked at");
    assert_eq!(found.rows[0].document["id"], json!(first));
}

#[test]
fn a_task_keeps_request_and_decision_and_who_decided() {
    let mut shop = Shop::with(|account| account.sandbox = true);
    let approved = waiting(&shop, "person");
    let declined = waiting(&shop, "person");
    let by_time = waiting(&shop, "soon");
    let refused_by_time = waiting(&shop, "never");
    let forced = waiting(&shop, "person");
    shop.wait(1);
    decide(&shop.harness, &by("ada", &approved, DecisionStep::Approve)).unwrap();
    decide(&shop.harness, &by("ben", &declined, DecisionStep::Decline)).unwrap();
    assert_eq!(shop.tick(), 2);
    let params =
        json!({"task_id": forced, "result": {"media_buy_id": "mb_forced", "packages": []}});
    let answer = shop.ask(
        AdcpTool::ComplyTestController,
        json!({
            "scenario": "force_task_completion", "params": params,
            "account": {"account_id": ACCOUNT, "sandbox": true},
        }),
    );
    assert_eq!(answer["success"], true, "{answer}");
    let mut lines = String::new();
    for id in [&approved, &declined, &by_time, &refused_by_time, &forced] {
        let task = shown(&shop, Subject::Tasks, id);
        let stored = [
            "state",
            "asked_by",
            "budget",
            "products",
            "decided",
            "decided_at",
            "decider",
            "decided_by",
            "reason",
            "media_buy",
        ];
        let stored = stored.map(|name| task[name].to_string());
        assert_eq!(task["packages"].as_array().unwrap().len(), 1);
        assert_eq!(task["request"]["packages"][0]["budget"], 1000);
        lines.push_str(&format!("{}\n", stored.join(" ")));
    }
    expect![[r#"
        "completed" "acme" 1000 ["person"] "approved" "2026-06-01T13:00:00Z" "person" "ada" null "mb_1"
        "failed" "acme" 1000 ["person"] "declined" "2026-06-01T13:00:00Z" "person" "ben" "the logo is another's" null
        "completed" "acme" 1000 ["soon"] "approved" "2026-06-01T13:00:00Z" "publisher" null null "mb_7"
        "failed" "acme" 1000 ["never"] "declined" "2026-06-01T13:00:00Z" "publisher" null "the seller has declined the buy; choose another product or ask the seller" null
        "completed" "acme" 1000 ["person"] "approved" "2026-06-01T13:00:00Z" "test" null null "mb_forced"
    "#]].assert_eq(&lines);
}

#[test]
fn a_task_kept_before_there_were_decisions_is_shown() {
    let shop = Shop::new();
    let id = bought(&shop, json!({}));
    let now = shop.harness.now;
    let task = json!({
        "task_id": "task_old", "task_type": "create_media_buy", "status": "completed",
        "subject": id, "completed_at": "2026-06-01T12:30:00Z",
        "history": [{"timestamp": "2026-06-01T12:00:00Z", "type": "request", "data": {"po_number": "7"}}],
    });
    let task: SubmittedTask = tradepost_document::json::from_value(task).unwrap();
    shop.harness.put(move |tx| {
        let owner = "agent:acme";
        let account = Some(ACCOUNT);
        let record = record_id(owner, &task.task_id);
        tx.add(New { id: &record, owner, account, state: "completed", now }, &task)
    });
    let task = shown(&shop, Subject::Tasks, "task_old");
    assert_eq!(task["budget"], 1000, "that of the buy that came of it");
    assert_eq!((&task["decided"], &task["decided_by"]), (&Value::Null, &Value::Null));
    expect![[r#"
        [
          {
            "at": "2026-06-01T12:00:00Z",
            "what": "asked",
            "by": "acme",
            "summary": "create_media_buy became task task_old"
          },
          {
            "at": "2026-06-01T12:30:00Z",
            "what": "completed",
            "by": null
          }
        ]"#]]
    .assert_eq(&pretty(&task["history"]));
}

#[test]
fn everything_about_a_media_buy_is_shown() {
    let mut shop = Shop::new();
    let targeting = json!({"geo_countries": ["DE"]});
    let answer = shop.create(json!({
        "po_number": "PO-7",
        "packages": [
            package(json!({"product_id": "person", "targeting_overlay": targeting})),
            package(json!({"creative_assignments": [{"creative_id": "banner-2"}, {"creative_id": "banner"}]})),
        ],
    }));
    let task = answer["task_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
    shop.wait(1);
    decide(&shop.harness, &by("ada", task, DecisionStep::Approve)).unwrap();
    shop.wait(1);
    let task = shown(&shop, Subject::Tasks, task);
    let id = task["media_buy"].as_str().unwrap();
    let changed = shop.update(id, json!({"paused": true}));
    assert_eq!(changed["status"], "completed", "{changed}");
    let buy = shop.buy(id);
    let now = shop.harness.now;
    shop.harness.put(move |tx| {
        let figures = json!({"impressions": 5000, "clicks": 7, "reported_spend": {"amount": 40, "currency": "USD"}});
        forced_buy::deliver(tx, &buy, figures.as_object().unwrap(), now).map(|_| ())
    });
    expect![[r#"
        {
          "publisher": "gazette",
          "id": "mb_1",
          "state": "pending_start",
          "paused": true,
          "account": "acc_acme",
          "agent": "acme",
          "products": [
            "display",
            "person"
          ],
          "currency": "USD",
          "budget": 2000,
          "spent": 40,
          "start_time": "2026-07-01T00:00:00Z",
          "end_time": "2026-08-01T00:00:00Z",
          "packages": [
            {
              "id": "pkg_2",
              "state": "pending_start",
              "product": "person",
              "pricing_option": "cpm",
              "currency": "USD",
              "budget": 1000,
              "start_time": "2026-07-01T00:00:00Z",
              "end_time": "2026-08-01T00:00:00Z",
              "paused": false,
              "creatives": [
                {
                  "id": "banner",
                  "name": "",
                  "state": "approved",
                  "reason": null
                }
              ],
              "targeting": {
                "geo_countries": [
                  "DE"
                ]
              },
              "price": {
                "pricing_option_id": "cpm",
                "pricing_model": "cpm",
                "currency": "USD",
                "fixed_price": 8.0,
                "min_spend_per_package": 500
              },
              "terms": {
                "targeting_overlay": {
                  "geo_countries": [
                    "DE"
                  ]
                }
              },
              "units": null,
              "expected_units": null,
              "delivered_units": null,
              "expected_spend": 0,
              "pace": null,
              "product_name": "person",
              "delivery": {
                "impressions": 2500,
                "spend": 20,
                "clicks": 4,
                "ctr": 0.0016,
                "cpm": 8,
                "cost_per_click": 5
              }
            },
            {
              "id": "pkg_3",
              "state": "pending_start",
              "product": "display",
              "pricing_option": "cpm",
              "currency": "USD",
              "budget": 1000,
              "start_time": "2026-07-01T00:00:00Z",
              "end_time": "2026-08-01T00:00:00Z",
              "paused": false,
              "creatives": [
                {
                  "id": "banner-2",
                  "name": "",
                  "state": "pending_review",
                  "reason": null
                },
                {
                  "id": "banner",
                  "name": "",
                  "state": "approved",
                  "reason": null
                }
              ],
              "targeting": null,
              "price": {
                "pricing_option_id": "cpm",
                "pricing_model": "cpm",
                "currency": "USD",
                "fixed_price": 8.0,
                "min_spend_per_package": 500
              },
              "terms": {},
              "units": null,
              "expected_units": null,
              "delivered_units": null,
              "expected_spend": 0,
              "pace": null,
              "product_name": "display",
              "delivery": {
                "impressions": 2500,
                "spend": 20,
                "clicks": 3,
                "ctr": 0.0012,
                "cpm": 8,
                "cost_per_click": 6.666667
              }
            }
          ],
          "proposal": null,
          "task": "task_4",
          "confirmed_at": "2026-06-01T13:00:00Z",
          "revision": 2,
          "created_at": "2026-06-01T13:00:00Z",
          "updated_at": "2026-06-01T14:00:00Z",
          "account_name": "acmeoutdoor.example c/o pinnacle.example",
          "terms": {
            "po_number": "PO-7",
            "brand": {
              "domain": "acmeoutdoor.example"
            }
          },
          "impairments": [],
          "delivery": {
            "impressions": 5000,
            "spend": 40,
            "clicks": 7,
            "ctr": 0.0014,
            "cpm": 8,
            "cost_per_click": 5.714286,
            "reports": 1,
            "last_report_at": "2026-06-01T14:00:00Z"
          },
          "days": [
            {
              "date": "2026-06-01",
              "impressions": 5000,
              "spend": 40
            }
          ],
          "history": [
            {
              "at": "2026-06-01T12:00:00Z",
              "what": "asked",
              "by": "acme",
              "summary": "create_media_buy became task task_4"
            },
            {
              "at": "2026-06-01T13:00:00Z",
              "what": "approved",
              "by": "ada",
              "decider": "person",
              "reason": null
            },
            {
              "at": "2026-06-01T13:00:00Z",
              "what": "created",
              "by": "ada",
              "summary": "the seller approved the buy",
              "revision": 1
            },
            {
              "at": "2026-06-01T14:00:00Z",
              "what": "pause",
              "by": "acme",
              "summary": "pause",
              "revision": 2
            }
          ]
        }"#]]
    .assert_eq(&pretty(&shown(&shop, Subject::Buys, id)));
    let package = shown(&shop, Subject::Buys, id)["packages"][1]["id"].clone();
    let package = shown(&shop, Subject::Packages, package.as_str().unwrap());
    assert_eq!((&package["buy"], &package["buy_state"]), (&json!(id), &json!("pending_start")));
    assert_eq!(package["creatives"].as_array().unwrap().len(), 2);
    assert_eq!(package["history"].as_array().unwrap().len(), 4);
    expect![[r#"
        {
          "publisher": "gazette",
          "id": "mb_1",
          "state": "pending_start",
          "account": "acc_acme",
          "agent": "acme",
          "currency": "USD",
          "budget": 2000,
          "spent": 40,
          "start_time": "2026-07-01T00:00:00Z",
          "end_time": "2026-08-01T00:00:00Z",
          "reports": 1,
          "last_report_at": "2026-06-01T14:00:00Z",
          "final_reports": 0,
          "pushed_reports": 0,
          "impressions": 5000,
          "spend": 40,
          "clicks": 7,
          "ctr": 0.0014,
          "cpm": 8,
          "cost_per_click": 5.714286,
          "units": null,
          "expected_units": null,
          "delivered_units": null,
          "expected_spend": 0,
          "pace": null,
          "packages": [
            {
              "id": "pkg_2",
              "product": "person",
              "budget": 1000,
              "state": "pending_start",
              "impressions": 2500,
              "spend": 20,
              "clicks": 4,
              "ctr": 0.0016,
              "cpm": 8,
              "cost_per_click": 5
            },
            {
              "id": "pkg_3",
              "product": "display",
              "budget": 1000,
              "state": "pending_start",
              "impressions": 2500,
              "spend": 20,
              "clicks": 3,
              "ctr": 0.0012,
              "cpm": 8,
              "cost_per_click": 6.666667
            }
          ],
          "days": [
            {
              "date": "2026-06-01",
              "impressions": 5000,
              "spend": 40
            }
          ]
        }"#]]
    .assert_eq(&pretty(&shown(&shop, Subject::Delivery, id)));
}

#[test]
fn buyers_are_shown_nobody_who_decided() {
    let shop = busy();
    let buys = shop.ask(
        AdcpTool::GetMediaBuys,
        json!({"status_filter": ["pending_start", "active", "paused", "pending_creatives"], "include_history": 10}),
    );
    let tasks = shop.stored(EntityKind::Task);
    assert_eq!(buys["media_buys"][1]["history"].as_array().unwrap().len(), 2, "{buys}");
    let mut answers = buys.to_string();
    for task in &tasks {
        let asked =
            json!({"task_id": task["task_id"], "include_result": true, "include_history": true});
        answers.push_str(&shop.ask(AdcpTool::GetTaskStatus, asked).to_string());
    }
    let shows = |word: &str| answers.contains(word);
    assert!(tasks.iter().any(|task| task["decided"]["by"] == "ada"));
    let leaked: Vec<_> = ["ada", "\"ben\"", "decider", "asked_by", "\"by\""]
        .into_iter()
        .filter(|word| shows(word))
        .collect();
    assert_eq!(leaked, Vec::<&str>::new(), "{answers}");
}

#[test]
fn what_is_absent_or_ambiguous_is_said_to_be_so() {
    let shop = busy();
    for subject in Subject::ALL.iter().copied() {
        assert!(matches!(show(&shop, subject, "none", None), Err(NotShown::Absent)), "{subject}");
    }
    let foreign = show(&shop, Subject::Buys, "mb_1", Some("acc_nova"));
    assert!(matches!(foreign, Err(NotShown::Absent)));
    let now = shop.harness.now;
    let buy = shop.buy("mb_1");
    shop.harness.put(move |tx| {
        let banner = tx.all::<Creative>(&Query::default())?.remove(0).thing;
        let owner = "agent:nova";
        let account = "acc_nova";
        let id = own_id(owner, account, "banner");
        tx.add(New { id: &id, owner, account: Some(account), state: "", now }, &banner)?;
        let mut copy = buy.thing.clone();
        copy.media_buy_id = "mb_twin".to_owned();
        let new = New {
            id: "mb_twin",
            owner: "agent:acme",
            account: Some(ACCOUNT),
            state: "pending_start",
            now,
        };
        tx.add(new, &copy)
    });
    match show(&shop, Subject::Creatives, "banner", None) {
        Err(NotShown::SeveralAccounts(accounts)) => assert_eq!(accounts, [ACCOUNT, "acc_nova"]),
        other => panic!("{other:?}"),
    }
    let named = show(&shop, Subject::Creatives, "banner", Some("acc_nova")).unwrap();
    assert_eq!(named["agent"], "nova");
    let package = shop.buy("mb_1").thing.packages[0].package_id.clone();
    match show(&shop, Subject::Packages, &package, None) {
        Err(NotShown::SeveralBuys(buys)) => {
            assert_eq!(
                buys.into_iter().collect::<BTreeSet<_>>(),
                ["mb_1", "mb_twin"].map(String::from).into()
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_account_is_shown_without_its_secrets() {
    let shop = Shop::with(|account| {
        account.billing_entity = Some(json!({"legal_name": "Acme", "bank": {"iban": "DE00"}}));
        account.push = Some(json!({"url": "https://a.example", "token": "push-token"}));
        account.notification_configs = Some(vec![json!({
            "subscriber_id": "s", "url": "https://a.example", "event_types": ["creative.status_changed"],
            "authentication": {"schemes": ["Bearer"], "credentials": "hook-secret"},
        })]);
        account.governance = Some(tradepost_publisher::account::AccountGovernance {
            url: "https://governance.example".to_owned(),
            credential: Some("governance-secret".to_owned()),
        });
    });
    let account = shown(&shop, Subject::Accounts, ACCOUNT).to_string();
    for secret in ["DE00", "push-token", "hook-secret", "governance-secret"] {
        assert!(!account.contains(secret), "{secret}: {account}");
    }
    assert!(
        account.contains("https://governance.example") && account.contains("Acme"),
        "{account}"
    );
}
