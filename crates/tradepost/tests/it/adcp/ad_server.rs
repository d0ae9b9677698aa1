//! Media buys that are carried into an ad server, which fails in every way, by processes that die at every
//! step, on both stores.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_ad_server::RefusalReason;
use tradepost_document::backoff::Backoff;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::{RemoteDelivery, RemoteId, RemoteState};
use tradepost_publisher::catalogue::{AdServerTerms, ProductTerms};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::remote_order::wanted::OrderTerms;
use tradepost_publisher::remote_order::{ProblemKind, RemoteOrder, RemotePhase};
use tradepost_publisher::staff_event::{StaffEvent, StaffEventSubject};
use tradepost_publisher::store::{PublisherStore, Query};
use tradepost_runtime::adcp::orders::{RemoteOrderDeps, RemoteOrders};
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_server::clock::{Clock, ManualClock};
use tradepost_server::outbox::ClockAndRandom;

use crate::support::ad_server::{Fault, ScriptedAdServer};
use crate::support::postgres::Scratch;
use crate::support::publisher::{self, Binding, Publisher};
use crate::support::{NOW, at};

/// Number of buys of the test that kills processes.
const BUYS: u64 = 100;

/// Looks that a buy may take until the ad server has it.
const LOOKS: usize = 400;

/// A publisher, its ad server, and the clock of the process that carries buys from one to the other.
pub(super) struct AdServerFixture {
    pub(super) publisher: Publisher,
    pub(super) ad_server: ScriptedAdServer,
    pub(super) clock: Clock,
    pub(super) hand: ManualClock,
    pub(super) runtime: tokio::runtime::Runtime,
}

impl AdServerFixture {
    pub(super) fn new(publisher: Publisher) -> Self {
        let (clock, hand) = Clock::manual(at(NOW));
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
        Self { publisher, ad_server: ScriptedAdServer::default(), clock, hand, runtime }
    }

    pub(super) fn on_sqlite() -> Self {
        Self::new(publisher::start_with(&|config| {
            let profile = &mut config.publishers[0].profile;
            profile.catalogue = tradepost_demo::publisher::catalogue();
            carried(&mut profile.catalogue);
        }))
    }

    pub(super) fn call(&self, tool: &str, arguments: Value) -> Value {
        let response = self.publisher.call(Binding::Mcp, "acme", tool, &arguments);
        response.json()["result"]["structuredContent"].clone()
    }

    /// Buys two packages, and returns the id of the buy and those of its packages.
    pub(super) fn buy(&self, number: u64) -> (String, Vec<String>) {
        let package = |budget: u32| json!({"product_id": PRODUCT, "pricing_option_id": PRICE, "budget": budget});
        let made = self.call(
            "create_media_buy",
            json!({
                "account": account(), "idempotency_key": format!("buy-for-the-ad-server-{number}"),
                "brand": {"domain": "acmeoutdoor.example"},
                "start_time": "2031-07-01T00:00:00Z", "end_time": "2031-08-01T00:00:00Z",
                "packages": [package(10_000), package(20_000)],
            }),
        );
        let id = made["media_buy_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        let packages = made["packages"].as_array().unwrap().iter();
        (id, packages.map(|one| one["package_id"].as_str().unwrap().to_owned()).collect())
    }

    /// Sends a creative, and assigns it to packages.
    pub(super) fn assign(&self, number: u64, packages: &[String]) {
        let assignments = packages.iter();
        let assignments: Vec<Value> = assignments
            .map(|package| json!({"creative_id": "banner", "package_id": package}))
            .collect();
        let sent = self.call(
            "sync_creatives",
            json!({
                "idempotency_key": format!("send-the-banner-{number:06}"), "account": account(),
                "creatives": [creative()], "assignments": assignments,
            }),
        );
        let action = sent["creatives"][0]["action"].as_str();
        assert!(matches!(action, Some("created" | "updated" | "unchanged")), "{sent}");
    }

    /// A process that carries buys.
    pub(super) fn worker(&self) -> RemoteOrders {
        self.worker_on(self.publisher.publisher_store())
    }

    /// A process that carries buys, with a store of its own.
    pub(super) fn worker_on(&self, publisher_store: &SqlPublisherStore) -> RemoteOrders {
        let deps = RemoteOrderDeps {
            publisher_store: Arc::new(publisher_store.clone()),
            notify: publisher_store.notify_orders(),
            clock: self.clock.clone(),
            edge: ClockAndRandom::system(),
            shared: None,
            is_sandbox: false,
        };
        let terms = OrderTerms { test_accounts: true, ..OrderTerms::default() };
        let ad_server = Arc::new(self.ad_server.clone());
        let mut worker = RemoteOrders::new("gazette", ad_server, terms, deps);
        worker.pauses = Backoff::constant(Duration::from_secs(2));
        worker
    }

    pub(super) fn order(&self, id: &str) -> RemoteOrder {
        let publisher_store: &dyn PublisherStore = self.publisher.publisher_store();
        let found = publisher_store.look(|reader| reader.find::<RemoteOrder>(id)).unwrap();
        found.expect("a buy that the ad server is to have").thing
    }

    /// Lets a process work on a buy until it rests or dies.
    pub(super) fn turn(&self, id: &str) {
        let worker = self.worker();
        self.runtime.block_on(async {
            tokio::select! {
                done = worker.carry(id) => done.unwrap(),
                () = self.ad_server.crashed() => {}
            }
        });
    }

    /// Lets processes work on a buy, one after the other, until nothing is to be done now.
    pub(super) fn settle(&self, id: &str) -> RemoteOrder {
        for _ in 0..LOOKS {
            let order = self.order(id);
            let is_due = order.has_steps(self.clock.now());
            if !is_due && matches!(order.phase, RemotePhase::Settled | RemotePhase::Stopped) {
                return order;
            }
            let due = (!is_due).then(|| order.due_at.expect("a time at which it goes on"));
            let due = due.unwrap_or_else(|| self.clock.now());
            let wait = due.duration_since(self.clock.now()).max(SignedDuration::ZERO);
            self.hand.advance(wait);
            self.turn(id);
        }
        panic!("{:#?}\n{:#?}", self.order(id), self.ad_server);
    }

    /// Lets a process work on a buy until it has made so many line items.
    fn turn_until_line_items(&self, id: &str, count: usize) {
        let crashes = std::iter::repeat_n(Fault::None, count).chain([Fault::CrashAfter]);
        self.ad_server.fail(crashes);
        self.turn(id);
        assert_eq!(self.ad_server.with(|made| made.line_items.len()), count);
    }

    /// Has a buy worked on again, as a person does.
    pub(super) fn retry(&self, id: &str) {
        let publisher_store: &dyn PublisherStore = self.publisher.publisher_store();
        let id = id.to_owned();
        let now = self.clock.now();
        let retry = publisher_store.act::<(), InternalError>(move |tx| {
            let mut order = tx.find::<RemoteOrder>(&id)?.unwrap();
            order.thing.retry(now);
            tx.change(&mut order, now)
        });
        self.runtime.block_on(retry).unwrap();
    }

    /// Events for people about orders.
    pub(super) fn events(&self) -> Vec<StaffEvent> {
        let publisher_store: &dyn PublisherStore = self.publisher.publisher_store();
        let all = publisher_store.look(|reader| reader.all::<StaffEvent>(&Query::default()));
        let all = all.unwrap().into_iter().map(|kept| kept.thing);
        all.filter(|event| event.subject == StaffEventSubject::AdServerOrder).collect()
    }

    /// Checks that the ad server has a buy once, whole, and approved.
    pub(super) fn has_once(&self, id: &str, packages: &[String], shows: usize) {
        self.ad_server.with(|made| {
            let orders = made.orders_named(id);
            let [(order_id, order)] = orders[..] else { panic!("{id}: {orders:#?}") };
            assert_eq!(order.state, RemoteState::Ready, "{id}");
            for package in packages {
                let items = made.line_items_of(package);
                let [item] = items[..] else { panic!("{package}: {items:#?}") };
                assert_eq!(item.order, *order_id);
                assert_eq!(item.creatives.len(), shows, "{package}");
            }
            let mut names: Vec<_> = made.creatives.values().map(|one| &one.external_id).collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "no creative is there twice");
        });
    }
}

const PRODUCT: &str = "sports_display_guaranteed";
const PRICE: &str = "cpm_fixed";

/// Has every product of a catalogue delivered by the ad server.
pub(super) fn carried(catalogue: &mut tradepost_publisher::catalogue::Catalogue) {
    for product in &mut catalogue.products {
        let inventory = vec![format!("unit-of-{}", product.id())];
        let terms = ProductTerms {
            ad_server: Some(AdServerTerms { inventory, deal: None }),
            ..ProductTerms::clone(&product.terms)
        };
        product.terms = Arc::new(terms);
    }
}

pub(super) fn account() -> Value {
    json!({"brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example"})
}

fn creative() -> Value {
    json!({
        "creative_id": "banner", "name": "Banner",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {
            "image": {
                "asset_type": "image", "url": "https://cdn.acmeoutdoor.example/banner.png",
                "width": 300, "height": 250,
            },
            "click_url": {
                "asset_type": "url", "url": "https://acmeoutdoor.example/",
                "url_type": "clickthrough",
            },
        },
    })
}

/// Draws faults, at most two of which are false results: more of them in a row are a problem for people.
fn faults(random: &mut fastrand::Rng, count: usize) -> Vec<Fault> {
    let mut false_results = 2;
    let draw = |_| {
        if random.f32() < 0.4 {
            return Fault::None;
        }
        if false_results > 0 && random.f32() < 0.15 {
            false_results -= 1;
            return Fault::Nothing;
        }
        Fault::PASSING[random.usize(..Fault::PASSING.len())]
    };
    (0..count).map(draw).collect()
}

/// Kills processes at every step of many buys, with an ad server that fails at random.
fn is_carried_once(fixture: &AdServerFixture) {
    let mut random = fastrand::Rng::with_seed(32);
    for number in 0..BUYS {
        let (id, packages) = fixture.buy(number);
        fixture.ad_server.fail(faults(&mut random, 20));
        if random.bool() {
            // Before anything was made, or after.
            fixture.settle(&id);
        }
        fixture.assign(number, &packages);
        let order = fixture.settle(&id);
        assert_eq!(order.phase, RemotePhase::Settled, "{order:#?}");
        fixture.ad_server.fail([]);
        fixture.has_once(&id, &packages, 1);
    }
    let made = fixture.ad_server.with(|made| (made.orders.len(), made.line_items.len()));
    assert_eq!(made, (100, 200));
    assert_eq!(
        fixture.ad_server.with(|made| made.creatives.len()),
        1,
        "all buys show one creative"
    );
    assert_eq!(fixture.events().len(), 0, "nobody has to do anything");
}

#[test]
fn a_buy_is_carried_once_by_dying_processes_on_sqlite() {
    is_carried_once(&AdServerFixture::on_sqlite());
}

#[test]
fn a_buy_is_carried_once_by_dying_processes_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    let mut catalogue = tradepost_demo::publisher::catalogue();
    carried(&mut catalogue);
    is_carried_once(&AdServerFixture::new(publisher::start_selling(scratch.store(), catalogue)));
}

/// Dies before and after each single call, once, and nothing else goes wrong.
#[test]
fn a_process_may_die_at_each_step() {
    let fixture = AdServerFixture::on_sqlite();
    let mut number = 0;
    for fault in [
        Fault::CrashBefore,
        Fault::CrashAfter,
        Fault::DoneAnswer,
        Fault::LostAnswer,
        Fault::Nothing,
    ] {
        for step in 0..7 {
            number += 1;
            let (id, packages) = fixture.buy(number);
            fixture.assign(number, &packages);
            let faults = std::iter::repeat_n(Fault::None, step).chain([fault]);
            fixture.ad_server.fail(faults);
            let order = fixture.settle(&id);
            assert_eq!(order.phase, RemotePhase::Settled, "{fault:?} at {step}: {order:#?}");
            fixture.ad_server.fail([]);
            fixture.has_once(&id, &packages, 1);
        }
    }
}

#[test]
fn a_budget_changed_while_the_line_item_is_made_wins() {
    let fixture = AdServerFixture::on_sqlite();
    let (id, packages) = fixture.buy(1);
    // The order is made; the process dies while it makes the first line item.
    fixture.ad_server.fail([Fault::None, Fault::CrashAfter]);
    fixture.turn(&id);
    assert_eq!(fixture.ad_server.with(|made| made.line_items.len()), 1);
    let changed = fixture.call(
        "update_media_buy",
        json!({
            "account": account(), "media_buy_id": id, "idempotency_key": "a-larger-budget-1",
            "packages": [{"package_id": packages[0], "budget": 15_000}],
        }),
    );
    assert_eq!(changed["status"], "completed", "{changed}");
    let order = fixture.settle(&id);
    assert_eq!(order.phase, RemotePhase::Settled);
    fixture.has_once(&id, &packages, 0);
    fixture.ad_server.with(|made| {
        let item = made.line_items_of(&packages[0])[0];
        assert_eq!(item.spec.budget, MoneyAmount::whole(15_000));
        assert_eq!(item.spec.goal.unwrap().amount, 1_250_000);
        assert_eq!(made.orders_named(&id)[0].1.spec.budget, MoneyAmount::whole(35_000));
    });
}

#[test]
fn a_forbidden_approval_waits_for_people_and_is_not_repeated() {
    let fixture = AdServerFixture::on_sqlite();
    fixture.ad_server.refuse("approve_order", Some(RefusalReason::Permission));
    let (id, packages) = fixture.buy(1);
    let order = fixture.settle(&id);
    assert_eq!(order.phase, RemotePhase::Stopped);
    assert_eq!(order.problem.as_ref().unwrap().kind, ProblemKind::Permission);
    let asked = || {
        let is_approval = |call: &&String| call.starts_with("approve_order");
        fixture.ad_server.with(|made| made.calls.iter().filter(is_approval).count())
    };
    for _ in 0..5 {
        fixture.hand.advance(SignedDuration::from_hours(1));
        fixture.turn(&id);
    }
    assert_eq!(asked(), 1);
    let events = fixture.events();
    let [event] = &events[..] else { panic!("{events:#?}") };
    assert_eq!(event.id, id);
    assert_eq!(event.problem.as_deref(), Some("approve_order: Permission says the ad server"));
    assert!(event.remedy.as_deref().unwrap().starts_with("give the credential the right"));
    // A person has given it the right.
    fixture.ad_server.refuse("approve_order", None);
    fixture.retry(&id);
    assert_eq!(fixture.settle(&id).phase, RemotePhase::Settled);
    fixture.has_once(&id, &packages, 0);
}

#[test]
fn an_order_refused_in_part_is_undone_and_made_anew() {
    let fixture = AdServerFixture::on_sqlite();
    let (id, packages) = fixture.buy(1);
    fixture.turn_until_line_items(&id, 1);
    fixture.ad_server.refuse("create_line_item", Some(RefusalReason::NoInventory));
    let order = fixture.settle(&id);
    assert_eq!(order.phase, RemotePhase::Stopped);
    assert_eq!(order.problem.as_ref().unwrap().kind, ProblemKind::Refused);
    let state = fixture.ad_server.with(|made| made.orders_named(&id)[0].1.state);
    assert_eq!(state, RemoteState::Canceled, "no draft stays behind");
    assert_eq!(fixture.events().len(), 1);
    // The buy stands: it was confirmed.
    let shown =
        fixture.call("get_media_buys", json!({"account": account(), "media_buy_ids": [id]}));
    assert_eq!(shown["media_buys"][0]["status"], "pending_creatives", "{shown}");
    fixture.ad_server.refuse("create_line_item", None);
    fixture.retry(&id);
    assert_eq!(fixture.settle(&id).phase, RemotePhase::Settled);
    fixture.ad_server.with(|made| {
        let again = made.orders_named(&format!("{id}.2"));
        let [(order, made_again)] = again[..] else { panic!("{again:#?}") };
        assert_eq!(made_again.state, RemoteState::Ready);
        let items = made.line_items.values().filter(|item| item.order == *order);
        assert_eq!(items.count(), packages.len());
    });
}

#[test]
fn an_order_that_stays_a_draft_ends_with_its_flight() {
    for fault in [Fault::None, Fault::CrashBefore, Fault::CrashAfter, Fault::LostAnswer] {
        let fixture = AdServerFixture::on_sqlite();
        fixture.ad_server.refuse("approve_order", Some(RefusalReason::Permission));
        let (id, _) = fixture.buy(1);
        fixture.settle(&id);
        fixture.hand.advance(SignedDuration::from_hours(24 * 365 * 8));
        fixture.ad_server.fail([fault]);
        fixture.turn(&id);
        fixture.settle(&id);
        let state = fixture.ad_server.with(|made| made.orders_named(&id)[0].1.state);
        assert_eq!(state, RemoteState::Canceled, "{fault:?}");
    }
}

#[test]
fn an_order_approved_by_a_person_there_is_followed() {
    let fixture = AdServerFixture::on_sqlite();
    fixture.ad_server.approve_to(RemoteState::PendingApproval);
    let (id, packages) = fixture.buy(1);
    fixture.turn(&id);
    let order = fixture.order(&id);
    assert_eq!(order.phase, RemotePhase::Waits);
    fixture.ad_server.with(|made| {
        for order in made.orders.values_mut() {
            order.state = RemoteState::Ready;
        }
    });
    assert_eq!(fixture.settle(&id).phase, RemotePhase::Settled);
    fixture.has_once(&id, &packages, 0);
    // Another one is declined there.
    let (id, _) = fixture.buy(2);
    fixture.turn(&id);
    fixture.ad_server.with(|made| {
        for order in made.orders.values_mut() {
            order.state = RemoteState::Rejected;
        }
    });
    let order = fixture.settle(&id);
    assert_eq!(order.phase, RemotePhase::Stopped);
    assert_eq!(order.problem.unwrap().kind, ProblemKind::Declined);
}

#[test]
fn changes_of_a_buyer_reach_the_ad_server() {
    let fixture = AdServerFixture::on_sqlite();
    let (id, packages) = fixture.buy(1);
    fixture.assign(1, &packages);
    fixture.settle(&id);
    let update = |key: &str, change: Value| {
        let mut arguments = json!({
            "account": account(), "media_buy_id": id, "idempotency_key": format!("change-it-{key}-1"),
        });
        let members = arguments.as_object_mut().unwrap();
        members.extend(change.as_object().unwrap().clone());
        let changed = fixture.call("update_media_buy", arguments);
        assert_eq!(changed["status"], "completed", "{changed}");
        fixture.settle(&id);
    };
    let states = || {
        fixture.ad_server.with(|made| {
            let item = |package: &String| made.line_items_of(package)[0].state;
            packages.iter().map(item).collect::<Vec<_>>()
        })
    };
    update("pause", json!({"paused": true}));
    assert_eq!(states(), [RemoteState::Paused, RemoteState::Paused]);
    update("resume", json!({"paused": false}));
    assert_eq!(states(), [RemoteState::Delivering, RemoteState::Delivering]);
    update("package", json!({"packages": [{"package_id": packages[0], "paused": true}]}));
    assert_eq!(states(), [RemoteState::Paused, RemoteState::Delivering]);
    update("dates", json!({"end_time": "2031-09-01T00:00:00Z"}));
    fixture.ad_server.with(|made| {
        let item = made.line_items_of(&packages[1])[0];
        assert_eq!(item.spec.end_time.to_string(), "2031-09-01T00:00:00Z");
    });
    update("cancel", json!({"canceled": true}));
    let state = fixture.ad_server.with(|made| made.orders_named(&id)[0].1.state);
    assert_eq!(state, RemoteState::Canceled);
    assert_eq!(fixture.order(&id).phase, RemotePhase::Settled);
}

#[test]
fn a_refused_creative_holds_up_nothing_else() {
    let fixture = AdServerFixture::on_sqlite();
    fixture.ad_server.refuse("create_creative", Some(RefusalReason::Invalid));
    let (id, packages) = fixture.buy(1);
    fixture.assign(1, &packages);
    let order = fixture.settle(&id);
    assert_eq!(order.phase, RemotePhase::Settled);
    assert_eq!(order.problem.as_ref().unwrap().step, "create_creative");
    fixture.has_once(&id, &packages, 0);
    assert_eq!(fixture.events().len(), 1);
    fixture.ad_server.refuse("create_creative", None);
    fixture.retry(&id);
    fixture.settle(&id);
    fixture.has_once(&id, &packages, 1);
}

#[test]
fn an_ad_server_that_loses_everything_is_for_people() {
    let fixture = AdServerFixture::on_sqlite();
    let (id, _) = fixture.buy(1);
    fixture.ad_server.fail([Fault::Nothing; 60]);
    let order = fixture.settle(&id);
    assert_eq!(order.phase, RemotePhase::Stopped, "{order:#?}");
    assert_eq!(order.problem.unwrap().kind, ProblemKind::Vanished);
    assert_eq!(fixture.events().len(), 1);
}

#[test]
fn delivery_is_requested_from_flight_start_at_the_configured_interval() {
    let fixture = AdServerFixture::on_sqlite();
    let (id, _) = fixture.buy(1);
    let order = fixture.settle(&id);
    let begins = order.order.unwrap().sent.start_time;
    assert_eq!(order.report_due_at, Some(begins));
    fixture.hand.advance(begins.duration_since(fixture.clock.now()));
    let mut worker = fixture.worker();
    worker.report_every = SignedDuration::from_mins(7);
    fixture.runtime.block_on(worker.carry(&id)).unwrap();
    let order = fixture.order(&id);
    let asked_at = order.reported_at.expect("a report");
    assert_eq!(order.report_due_at, Some(asked_at + SignedDuration::from_mins(7)));
}

#[test]
fn delivery_is_stored_by_day_and_never_counted_twice() {
    let fixture = AdServerFixture::on_sqlite();
    let (id, packages) = fixture.buy(1);
    let order = fixture.settle(&id);
    let row = |package: &String, day: &str, impressions: u64, spend: u32| RemoteDelivery {
        line_item: order.line_items[package].id.clone(),
        day: day.parse().unwrap(),
        impressions,
        clicks: 1,
        completed_views: None,
        spend: MoneyAmount::whole(spend),
        is_final: false,
    };
    let unknown_line_item = RemoteDelivery {
        line_item: RemoteId("l-of-somebody".to_owned()),
        ..row(&packages[0], "2031-07-01", 9, 9)
    };
    let total = |fixture: &AdServerFixture| {
        let shown = fixture
            .call("get_media_buy_delivery", json!({"account": account(), "media_buy_ids": [id]}));
        let row = &shown["media_buy_deliveries"][0];
        let spends = row["by_package"].as_array().unwrap().iter();
        let spends: Vec<_> = spends.map(|one| one["spend"].clone()).collect();
        json!([row["totals"]["impressions"], row["totals"]["spend"], spends])
    };
    let report = |rows: Vec<RemoteDelivery>| {
        fixture.ad_server.with(|made| made.delivery = rows);
        let due = fixture.order(&id).report_due_at.expect("a time of the next report");
        fixture.hand.advance(due.duration_since(fixture.clock.now()).max(SignedDuration::ZERO));
        fixture.turn(&id);
    };
    fixture.hand.advance(at("2031-07-02T12:00:00Z").duration_since(fixture.clock.now()));
    report(vec![
        row(&packages[0], "2031-07-01", 1_000, 12),
        row(&packages[1], "2031-07-01", 500, 6),
        unknown_line_item,
    ]);
    assert_eq!(total(&fixture), json!([1_500, 18, [12, 6]]));
    // The same day again with more, and another one with less than before.
    report(vec![
        row(&packages[0], "2031-07-01", 1_200, 14),
        row(&packages[1], "2031-07-01", 400, 5),
    ]);
    assert_eq!(total(&fixture), json!([1_600, 19, [14, 5]]));
    report(vec![row(&packages[0], "2031-07-02", 100, 1)]);
    assert_eq!(total(&fixture), json!([1_700, 20, [15, 5]]));
}
