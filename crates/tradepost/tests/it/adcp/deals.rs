//! Packages that are sold as deals: sent to a receiver that fails in every way, by processes that die at every
//! step, on both stores.

use std::sync::Arc;

use jiff::SignedDuration;
use tradepost_ad_server::RefusalReason;
use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::{DealAuction, RemoteState};
use tradepost_publisher::catalogue::{AdServerTerms, Catalogue, DealTerms, ProductTerms};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::remote_order::{DealState, ProblemKind, RemotePhase};

use super::ad_server::{AdServerFixture, account};
use crate::support::ad_server::{Fault, MadeDeal};
use crate::support::postgres::Scratch;
use crate::support::publisher;

/// Number of buys of the test that kills processes.
const BUYS: u64 = 40;

const PRODUCT: &str = "outdoor_display";

/// The demo's catalogue, one product of which is sold as a deal.
fn dealt() -> Catalogue {
    let mut catalogue = tradepost_demo::publisher::catalogue();
    let product = catalogue.products.iter_mut().find(|one| one.id() == PRODUCT).unwrap();
    let deal =
        DealTerms { auction: Some(DealAuction::SecondPrice), seats: vec!["seat-7".to_owned()] };
    let ad_server = Some(AdServerTerms { inventory: Vec::new(), deal: Some(deal) });
    let terms = ProductTerms { ad_server, ..ProductTerms::clone(&product.terms) };
    product.terms = Arc::new(terms);
    catalogue
}

fn on_sqlite() -> AdServerFixture {
    AdServerFixture::new(publisher::start_with(&|config| {
        config.publishers[0].profile.catalogue = dealt();
    }))
}

/// A buy of two packages.
struct DealBuy {
    id: String,
    packages: Vec<String>,
    /// Deal ids, as the buyer reads them.
    deals: Vec<String>,
}

impl DealBuy {
    /// Whether a deal is one of a package, by whatever id the receiver has it.
    fn has(&self, deal: &MadeDeal) -> bool {
        self.packages.iter().any(|package| deal.spec.name.ends_with(package))
    }
}

impl AdServerFixture {
    fn buy_deals(&self, number: u64) -> DealBuy {
        let package = || {
            json!({
                "product_id": PRODUCT, "pricing_option_id": "cpm_auction", "bid_price": 6, "budget": 5000,
            })
        };
        let made = self.call(
            "create_media_buy",
            json!({
                "account": account(), "idempotency_key": format!("buy-of-two-deals-{number}"),
                "brand": {"domain": "acmeoutdoor.example"},
                "start_time": "2031-07-01T00:00:00Z", "end_time": "2031-08-01T00:00:00Z",
                "packages": [package(), package()],
            }),
        );
        let texts = |pointer: &str| -> Vec<String> {
            let packages = made["packages"].as_array().unwrap_or_else(|| panic!("{made}")).iter();
            packages.map(|one| one.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect()
        };
        DealBuy {
            id: made["media_buy_id"].as_str().unwrap().to_owned(),
            packages: texts("/package_id"),
            deals: texts("/ext/tradepost/deal_id"),
        }
    }

    fn change(&self, buy: &DealBuy, key: &str, change: Value) {
        let mut arguments = json!({
            "account": account(), "media_buy_id": buy.id,
            "idempotency_key": format!("change-{}-{key}", buy.id),
        });
        arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let changed = self.call("update_media_buy", arguments);
        assert_eq!(changed["status"], "completed", "{changed}");
    }

    /// Checks that the receiver has one deal for each package, and how each stands.
    fn has_deals(&self, buy: &DealBuy, is_closed: bool) {
        self.ad_server.with(|made| {
            let of_buy = made.deals.iter().filter(|(_, deal)| buy.has(deal));
            let ids: Vec<&String> = of_buy.clone().map(|(id, _)| id).collect();
            let mut expected: Vec<&String> = buy.deals.iter().collect();
            expected.sort();
            assert_eq!(ids, expected, "{}", buy.id);
            assert!(of_buy.clone().all(|(_, deal)| deal.is_closed == is_closed), "{made:#?}");
            assert!(made.orders.is_empty() && made.line_items.is_empty(), "{made:#?}");
        });
    }
}

/// Draws faults; a receiver that confirms and does nothing cannot be found out.
fn faults(random: &mut fastrand::Rng, count: usize) -> Vec<Fault> {
    let draw = |_| {
        if random.f32() < 0.4 {
            return Fault::None;
        }
        Fault::PASSING[random.usize(..Fault::PASSING.len())]
    };
    (0..count).map(draw).collect()
}

/// Kills processes at every step of many buys, which change and end meanwhile.
fn is_dealt_once(fixture: &AdServerFixture) {
    let mut random = fastrand::Rng::with_seed(41);
    let mut closed = 0;
    for number in 0..BUYS {
        let buy = fixture.buy_deals(number);
        fixture.ad_server.fail(faults(&mut random, 12));
        if random.bool() {
            // Before anything was sent, in the middle, or after.
            fixture.turn(&buy.id);
        }
        fixture.change(&buy, "dates", json!({"end_time": "2031-09-01T00:00:00Z"}));
        if random.bool() {
            fixture.turn(&buy.id);
        }
        let is_canceled = number % 3 == 0;
        if is_canceled {
            fixture.change(&buy, "cancel", json!({"canceled": true}));
        }
        let order = fixture.settle(&buy.id);
        assert_eq!(order.phase, RemotePhase::Settled, "{order:#?}");
        fixture.ad_server.fail([]);
        if is_canceled {
            // What was never sent needs no end; what may have been sent was closed.
            fixture.ad_server.with(|made| {
                let made = made.deals.iter().filter(|(_, deal)| buy.has(deal));
                assert!(made.clone().all(|(_, deal)| deal.is_closed), "{order:#?}");
                closed += made.count();
            });
            continue;
        }
        fixture.has_deals(&buy, false);
        fixture.ad_server.with(|made| {
            let ends = buy.deals.iter().map(|id| made.deals[id].spec.end_time.to_string());
            assert!({ ends }.all(|end| end == "2031-09-01T00:00:00Z"), "{made:#?}");
        });
    }
    assert!(closed > 0, "some were made before their buy was canceled");
    assert_eq!(fixture.events().len(), 0, "nobody has to do anything");
}

#[test]
fn deals_are_sent_once_by_dying_processes_on_sqlite() {
    is_dealt_once(&on_sqlite());
}

#[test]
fn deals_are_sent_once_by_dying_processes_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    is_dealt_once(&AdServerFixture::new(publisher::start_selling(scratch.store(), dealt())));
}

/// Dies before and after each single call, once, while deals are made and while they are closed.
#[test]
fn a_process_may_die_at_each_step_of_a_deal() {
    let fixture = on_sqlite();
    let mut number = 0;
    for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::DoneAnswer, Fault::LostAnswer] {
        for step in 0..4 {
            number += 1;
            let buy = fixture.buy_deals(number);
            let faults = std::iter::repeat_n(Fault::None, step).chain([fault]);
            fixture.ad_server.fail(faults);
            let order = fixture.settle(&buy.id);
            assert_eq!(order.phase, RemotePhase::Settled, "{fault:?} at {step}: {order:#?}");
            fixture.has_deals(&buy, false);
            fixture.change(&buy, "cancel", json!({"canceled": true}));
            let order = fixture.settle(&buy.id);
            assert_eq!(order.phase, RemotePhase::Settled, "{fault:?} at {step}: {order:#?}");
            fixture.ad_server.fail([]);
            fixture.has_deals(&buy, true);
        }
    }
}

#[test]
fn a_deal_has_what_the_package_and_the_product_say() {
    let fixture = on_sqlite();
    let buy = fixture.buy_deals(1);
    fixture.settle(&buy.id);
    fixture.ad_server.with(|made| {
        let spec = &made.deals[&buy.deals[0]].spec;
        assert_eq!(spec.price, MoneyAmount::whole(4), "the floor, and not the buyer's bid");
        assert_eq!((spec.currency.as_str(), spec.auction_type), ("USD", 2));
        assert_eq!(spec.seats, ["seat-7"]);
        assert_eq!(spec.advertiser_domains, ["acmeoutdoor.example"]);
        assert_eq!(spec.end_time.to_string(), "2031-08-01T00:00:00Z");
    });
}

#[test]
fn changes_of_a_buyer_reach_the_receiver() {
    let fixture = on_sqlite();
    let buy = fixture.buy_deals(1);
    fixture.settle(&buy.id);
    let seen = || {
        fixture.ad_server.with(|made| {
            let deals = buy.deals.iter().map(|id| &made.deals[id]);
            deals.map(|deal| (deal.spec.is_paused, deal.is_closed)).collect::<Vec<_>>()
        })
    };
    let calls = || fixture.ad_server.with(|made| made.calls.len());
    fixture.change(&buy, "pause", json!({"paused": true}));
    fixture.settle(&buy.id);
    assert_eq!(seen(), [(true, false), (true, false)]);
    assert_eq!(fixture.order(&buy.id).deals[&buy.packages[0]].shown_state(), DealState::Paused);
    fixture.change(&buy, "resume", json!({"paused": false}));
    fixture.settle(&buy.id);
    let change = json!({"packages": [{"package_id": buy.packages[1], "canceled": true}]});
    fixture.change(&buy, "package", change);
    fixture.settle(&buy.id);
    assert_eq!(seen(), [(false, false), (false, true)]);
    // A budget is no term of a deal.
    let before = calls();
    let change = json!({"packages": [{"package_id": buy.packages[0], "budget": 9000}]});
    fixture.change(&buy, "budget", change);
    fixture.settle(&buy.id);
    assert_eq!(calls(), before);
}

#[test]
fn a_deal_is_closed_at_the_end_of_its_flight() {
    // The receiver is down for a while, or our process dies.
    for faults in [
        vec![Fault::Unsent, Fault::LostAnswer],
        vec![Fault::CrashBefore],
        vec![Fault::CrashAfter],
        vec![Fault::None, Fault::CrashBefore],
        vec![Fault::None, Fault::CrashAfter],
    ] {
        let fixture = on_sqlite();
        let buy = fixture.buy_deals(1);
        let order = fixture.settle(&buy.id);
        let end = order.ends_at;
        fixture
            .hand
            .advance(end.duration_since(fixture.clock.now()) - SignedDuration::from_secs(1));
        fixture.turn(&buy.id);
        fixture.has_deals(&buy, false);
        fixture.hand.advance(SignedDuration::from_secs(1));
        fixture.ad_server.fail(faults.clone());
        fixture.turn(&buy.id);
        assert!(fixture.order(&buy.id).next_at().is_some(), "{faults:?}");
        fixture.settle(&buy.id);
        fixture.has_deals(&buy, true);
        assert_eq!(fixture.order(&buy.id).next_at(), None, "{faults:?}");
    }
}

#[test]
fn a_close_that_is_refused_waits_for_people() {
    let fixture = on_sqlite();
    let buy = fixture.buy_deals(1);
    fixture.settle(&buy.id);
    fixture.ad_server.refuse("close_deal", Some(RefusalReason::Invalid));
    fixture.change(&buy, "cancel", json!({"canceled": true}));
    let order = fixture.settle(&buy.id);
    assert_eq!(order.phase, RemotePhase::Stopped);
    assert_eq!(order.problem.as_ref().unwrap().step, "close_deal");
    let closes = || {
        let is_close = |call: &&String| call.starts_with("close_deal");
        fixture.ad_server.with(|made| made.calls.iter().filter(is_close).count())
    };
    assert_eq!(closes(), 2, "each is tried, whatever becomes of the other");
    fixture.hand.advance(SignedDuration::from_hours(24 * 365 * 8));
    fixture.settle(&buy.id);
    assert_eq!(closes(), 2);
    fixture.ad_server.refuse("close_deal", None);
    fixture.retry(&buy.id);
    assert_eq!(fixture.settle(&buy.id).phase, RemotePhase::Settled);
    fixture.has_deals(&buy, true);
}

#[test]
fn a_refused_deal_is_sent_again_by_people_under_its_id() {
    let fixture = on_sqlite();
    let buy = fixture.buy_deals(1);
    fixture.ad_server.refuse("put_deal", Some(RefusalReason::Invalid));
    let order = fixture.settle(&buy.id);
    assert_eq!(order.phase, RemotePhase::Stopped);
    assert_eq!(order.problem.as_ref().unwrap().kind, ProblemKind::Refused);
    assert_eq!(order.deals[&buy.packages[0]].shown_state(), DealState::Refused);
    assert_eq!(fixture.events().len(), 1, "{:#?}", fixture.events());
    let asked = fixture.ad_server.with(|made| made.calls.len());
    fixture.turn(&buy.id);
    assert_eq!(
        fixture.ad_server.with(|made| made.calls.len()),
        asked,
        "it is not repeated by itself"
    );
    fixture.ad_server.refuse("put_deal", None);
    fixture.retry(&buy.id);
    assert_eq!(fixture.settle(&buy.id).phase, RemotePhase::Settled);
    fixture.has_deals(&buy, false);
}

#[test]
fn a_refused_credential_waits_for_people() {
    let fixture = on_sqlite();
    let buy = fixture.buy_deals(1);
    fixture.ad_server.refuse("put_deal", Some(RefusalReason::Credential));
    let order = fixture.settle(&buy.id);
    assert_eq!(order.problem.as_ref().unwrap().kind, ProblemKind::Credential);
    assert_eq!(fixture.ad_server.with(|made| made.calls.len()), 1, "the second is not even tried");
    fixture.ad_server.refuse("put_deal", None);
    fixture.retry(&buy.id);
    assert_eq!(fixture.settle(&buy.id).phase, RemotePhase::Settled);
    fixture.has_deals(&buy, false);
}

#[test]
fn a_deal_that_the_buyers_people_approve_is_followed() {
    let fixture = on_sqlite();
    fixture.ad_server.with(|made| made.deal_state = Some(RemoteState::PendingApproval));
    let buy = fixture.buy_deals(1);
    fixture.turn(&buy.id);
    assert_eq!(fixture.order(&buy.id).phase, RemotePhase::Waits);
    fixture.ad_server.with(|made| made.deal_state = Some(RemoteState::Ready));
    let order = fixture.settle(&buy.id);
    assert_eq!(order.phase, RemotePhase::Settled);
    assert_eq!(order.deals[&buy.packages[1]].shown_state(), DealState::Ready);
    fixture.has_deals(&buy, false);
    // Another one is declined.
    fixture.ad_server.with(|made| made.deal_state = Some(RemoteState::Rejected));
    let buy = fixture.buy_deals(2);
    let order = fixture.settle(&buy.id);
    assert_eq!(order.phase, RemotePhase::Stopped);
    assert_eq!(order.problem.unwrap().kind, ProblemKind::Declined);
    assert_eq!(fixture.events().len(), 1, "{:#?}", fixture.events());
}
