//! People and processes that act on one media buy at the same moment, on both stores.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_ad_server::RefusalReason;
use tradepost_admin::audit::{PageRecord, page_record};
use tradepost_admin::decisions::{DecideMatter, DecisionRefusal, decide_matter};
use tradepost_admin::remote_orders::{RetryOrder, retry_order};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::{Catalogue, ProductTerms};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::publisher::Publisher as Seller;
use tradepost_publisher::remote_order::RemotePhase;
use tradepost_publisher::staff::{DecisionError, DecisionStep, DecisionSubject};
use tradepost_runtime::adcp::offline::OfflineServices;
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_store::Store;

use super::ad_server::{AdServerFixture, account, carried};
use crate::process::pause;
use crate::support::ad_server::Made;
use crate::support::postgres::Scratch;
use crate::support::publisher;
use crate::support::{NOW, at};

/// Number of buys that are fought for in each test.
const ROUNDS: u64 = 12;

/// Looks that a process takes at a buy.
const LOOKS: usize = 60;

/// Time that a call of the ad server takes, so that two processes meet in the middle of it.
const PACE: Duration = Duration::from_millis(3);

const PUBLISHER: &str = "gazette";

const PRODUCT: &str = "sports_display_guaranteed";

/// Answer to a person who decides: done, or the earlier decision.
#[derive(Debug, PartialEq, Eq)]
enum DecisionResult {
    Done,
    Decided(String),
}

/// A publisher, as two processes see it.
struct TwoProcesses {
    fixture: AdServerFixture,
    stores: [Arc<Store>; 2],
}

impl TwoProcesses {
    fn on_sqlite(catalogue: &Catalogue) -> Self {
        let fixture = AdServerFixture::new(publisher::start_with(&|config| {
            config.publishers[0].profile.catalogue.clone_from(catalogue);
        }));
        let store = Arc::clone(fixture.publisher.publisher_store().store());
        Self { fixture, stores: [Arc::clone(&store), store] }
    }

    fn on_postgresql(scratch: &Scratch, catalogue: &Catalogue) -> Self {
        let fixture =
            AdServerFixture::new(publisher::start_selling(scratch.store(), catalogue.clone()));
        Self { fixture, stores: [scratch.store(), scratch.store()].map(Arc::new) }
    }

    /// Has two people do something at the same moment, each in a process of their own.
    fn both<T: Send>(&self, act: impl Fn(usize, &Store, &Seller) -> T + Sync) -> [T; 2] {
        let barrier = Barrier::new(2);
        let mut profile =
            tradepost_runtime::config::read::demo_publisher().publishers.remove(0).profile;
        profile.catalogue = carried_catalogue();
        let profile = Arc::new(profile);
        let race = |number: usize, store: &Arc<Store>| {
            let own = SqlPublisherStore::new(Arc::clone(store), PUBLISHER);
            let seller =
                Seller::new(Arc::clone(&profile), Arc::new(own), Arc::new(OfflineServices));
            barrier.wait();
            act(number, store, &seller)
        };
        let [first, second] = &self.stores;
        std::thread::scope(|scope| {
            let one = scope.spawn(|| race(0, first));
            let other = scope.spawn(|| race(1, second));
            [one.join().unwrap(), other.join().unwrap()]
        })
    }

    /// The entries of the audit log about a subject.
    fn entries(&self, subject: &str) -> Vec<String> {
        let context = AdminContext { store: &self.stores[0], dealers: &[], now: at(NOW) };
        let input = PageRecord { chain: PUBLISHER.to_owned(), before: None, limit: 1_000 };
        let entries = page_record(&context, &Actor::operator("cli:test"), input).unwrap();
        let own = entries.iter().filter(|entry| entry.said.subject.as_deref() == Some(subject));
        own.map(|entry| format!("{} {}", entry.said.actor, entry.said.action)).collect()
    }
}

/// The demo's catalogue, all of which the ad server delivers.
fn carried_catalogue() -> Catalogue {
    let mut catalogue = tradepost_demo::publisher::catalogue();
    carried(&mut catalogue);
    catalogue
}

/// The same, with approval of each buy by a person.
fn approved_catalogue() -> Catalogue {
    let mut catalogue = carried_catalogue();
    for product in &mut catalogue.products {
        let terms = ProductTerms { approval: true, ..ProductTerms::clone(&product.terms) };
        product.terms = Arc::new(terms);
    }
    catalogue
}

fn one_person_decides(processes: &TwoProcesses) {
    for number in 0..ROUNDS {
        let package =
            json!({"product_id": PRODUCT, "pricing_option_id": "cpm_fixed", "budget": 10_000});
        let asked = processes.fixture.call(
            "create_media_buy",
            json!({
                "account": account(), "idempotency_key": format!("buy-to-be-decided-{number}"),
                "brand": {"domain": "acmeoutdoor.example"},
                "start_time": "2031-07-01T00:00:00Z", "end_time": "2031-08-01T00:00:00Z",
                "packages": [package],
            }),
        );
        let task = asked["task_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
        // Either approves or declines, in every combination.
        let steps = match number % 3 {
            0 => [DecisionStep::Approve, DecisionStep::Decline],
            1 => [DecisionStep::Decline, DecisionStep::Approve],
            _ => [DecisionStep::Decline, DecisionStep::Decline],
        };
        let results = processes.both(|person, store, seller| {
            let context = AdminContext { store, dealers: &[], now: at(NOW) };
            let input = DecideMatter {
                publisher: seller,
                matter: DecisionSubject::Task,
                id: task.clone(),
                account: None,
                step: steps[person],
                reason: (steps[person] == DecisionStep::Decline).then(|| "no shoes".to_owned()),
                why: None,
                code: None,
                seen: None,
            };
            let actor = Actor::operator(["amy", "ben"][person]);
            match decide_matter(&context, &actor, input) {
                Ok(change) if change.is_changed => DecisionResult::Done,
                // The same as what was decided: who it was is told.
                Ok(change) => {
                    assert!(change.decided.is_some(), "{change:?}");
                    DecisionResult::Decided(change.after)
                }
                Err(AdminError::Refused(DecisionRefusal::Undecided(
                    DecisionError::Impossible { from, .. },
                ))) => DecisionResult::Decided(from),
                Err(other) => panic!("{other:?}"),
            }
        });
        let winner = results.iter().position(|result| *result == DecisionResult::Done);
        let winner = winner.unwrap_or_else(|| panic!("nobody has decided: {results:?}"));
        let is_approved = steps[winner] == DecisionStep::Approve;
        let after = if is_approved { "completed" } else { "failed" };
        assert_eq!(results[1 - winner], DecisionResult::Decided(after.to_owned()), "{steps:?}");
        let entries = processes.entries(&task);
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert!(entries[0].starts_with(["amy", "ben"][winner]), "{entries:?}");
        let shown = processes.fixture.call("get_task_status", json!({"task_id": task}));
        assert_eq!(shown["status"], after, "{shown}");
    }
}

#[test]
fn one_of_two_people_decides_on_sqlite() {
    one_person_decides(&TwoProcesses::on_sqlite(&approved_catalogue()));
}

#[test]
fn one_of_two_people_decides_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    one_person_decides(&TwoProcesses::on_postgresql(&scratch, &approved_catalogue()));
}

/// Two people have an order that was undone made anew: it is made anew once.
fn two_retries_make_one_order(processes: &TwoProcesses) {
    let fixture = &processes.fixture;
    for number in 0..ROUNDS {
        fixture.ad_server.refuse("create_line_item", Some(RefusalReason::NoInventory));
        let (id, packages) = fixture.buy(number);
        assert_eq!(fixture.settle(&id).phase, RemotePhase::Stopped);
        fixture.ad_server.refuse("create_line_item", None);
        let before = processes.both(|person, store, seller| {
            let context = AdminContext { store, dealers: &[], now: fixture.clock.now() };
            let input = RetryOrder { publisher: seller, media_buy_id: id.clone() };
            retry_order(&context, &Actor::operator(["amy", "ben"][person]), input).unwrap()
        });
        // The second finds what the first has begun.
        let mut phases = before.map(|phase| phase.to_string());
        phases.sort();
        assert_eq!(phases, ["due", "stopped"]);
        assert_eq!(processes.entries(&id).len(), 2);
        let order = fixture.settle(&id);
        assert_eq!(order.phase, RemotePhase::Settled, "{order:#?}");
        assert_eq!(order.generation, 2);
        fixture.ad_server.with(|made| {
            assert_eq!(made.orders_named(&format!("{id}.2")).len(), 1);
            assert_eq!(made.orders_named(&format!("{id}.3")).len(), 0);
            for package in &packages {
                assert_eq!(made.line_items_of(package).len(), 1, "{made:#?}");
            }
        });
    }
}

#[test]
fn two_people_who_retry_an_order_make_one_on_sqlite() {
    two_retries_make_one_order(&TwoProcesses::on_sqlite(&carried_catalogue()));
}

#[test]
fn two_people_who_retry_an_order_make_one_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    two_retries_make_one_order(&TwoProcesses::on_postgresql(&scratch, &carried_catalogue()));
}

impl TwoProcesses {
    /// Lets two processes work on a buy at the same time, until both find nothing to do; `meanwhile` happens in
    /// the middle of it.
    fn work(&self, id: &str, meanwhile: impl FnOnce() + Send) {
        let fixture = &self.fixture;
        fixture.ad_server.with(|made| made.pace = PACE);
        let barrier = Barrier::new(3);
        let carry = |store: &Arc<Store>| {
            let worker = fixture.worker_on(&SqlPublisherStore::new(Arc::clone(store), PUBLISHER));
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            barrier.wait();
            for _ in 0..LOOKS {
                runtime.block_on(worker.carry(id)).unwrap();
            }
        };
        let [first, second] = &self.stores;
        std::thread::scope(|scope| {
            scope.spawn(|| carry(first));
            scope.spawn(|| carry(second));
            barrier.wait();
            pause(PACE * 2);
            meanwhile();
        });
        fixture.ad_server.with(|made| made.pace = Duration::ZERO);
    }
}

fn two_processes_make_one_order(processes: &TwoProcesses) {
    let fixture = &processes.fixture;
    for number in 0..ROUNDS {
        let (id, packages) = fixture.buy(number);
        fixture.assign(number, &packages);
        processes.work(&id, || {});
        let order = fixture.settle(&id);
        assert_eq!(order.phase, RemotePhase::Settled, "{order:#?}");
        fixture.has_once(&id, &packages, 1);
        assert_eq!(order.failures, 0);
    }
    assert_eq!(
        fixture.ad_server.with(|made| made.creatives.len()),
        1,
        "all buys show one creative"
    );
}

#[test]
fn two_processes_on_one_order_make_it_once_on_sqlite() {
    two_processes_make_one_order(&TwoProcesses::on_sqlite(&carried_catalogue()));
}

#[test]
fn two_processes_on_one_order_make_it_once_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    two_processes_make_one_order(&TwoProcesses::on_postgresql(&scratch, &carried_catalogue()));
}

/// A budget changes while the order is being made: what the ad server has in the end is what was sold.
fn a_changed_budget_wins(processes: &TwoProcesses) {
    let fixture = &processes.fixture;
    for number in 0..ROUNDS {
        let (id, packages) = fixture.buy(number);
        let budget = 15_000 + u32::try_from(number).unwrap();
        processes.work(&id, || {
            let change = json!({"package_id": packages[0], "budget": budget});
            let changed = fixture.call(
                "update_media_buy",
                json!({
                    "account": account(), "media_buy_id": id, "packages": [change],
                    "idempotency_key": format!("change-in-the-middle-{number}"),
                }),
            );
            assert_eq!(changed["status"], Value::from("completed"), "{changed}");
        });
        fixture.hand.advance(SignedDuration::from_secs(1));
        let order = fixture.settle(&id);
        assert_eq!(order.phase, RemotePhase::Settled, "{order:#?}");
        fixture.has_once(&id, &packages, 0);
        fixture.ad_server.with(|made| {
            let item = made.line_items_of(&packages[0])[0];
            assert_eq!(item.spec.budget, MoneyAmount::whole(budget));
            let total = made.orders_named(&id)[0].1.spec.budget;
            assert_eq!(total, MoneyAmount::whole(budget + 20_000));
        });
    }
    let is_changed = |made: &mut Made| made.calls.iter().any(|call| call.starts_with("change_"));
    assert!(fixture.ad_server.with(is_changed), "a change has come in the middle of the work");
}

#[test]
fn a_budget_changed_in_the_middle_wins_on_sqlite() {
    a_changed_budget_wins(&TwoProcesses::on_sqlite(&carried_catalogue()));
}

#[test]
fn a_budget_changed_in_the_middle_wins_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    a_changed_budget_wins(&TwoProcesses::on_postgresql(&scratch, &carried_catalogue()));
}
