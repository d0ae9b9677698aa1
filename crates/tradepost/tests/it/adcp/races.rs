//! Buyers who want the same at the same moment, on both stores.

use std::sync::{Arc, Barrier};

use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::{Catalogue, ProductCapacity, ProductTerms};

use crate::support::postgres::Scratch;
use crate::support::publisher::{self, Binding, Publisher};

/// How many requests are sent at once.
const RACERS: usize = 12;

/// Has buyers send requests at the same moment, in turns over several processes on one store.
fn race(publishers: &[Publisher], request: &(dyn Fn(usize) -> Value + Sync)) -> Vec<String> {
    let barrier = Barrier::new(RACERS);
    std::thread::scope(|scope| {
        let racers: Vec<_> = (0..RACERS)
            .map(|number| {
                let publisher = &publishers[number % publishers.len()];
                let barrier = &barrier;
                scope.spawn(move || {
                    let buyer = if number % 3 == 0 { "nova" } else { "acme" };
                    let arguments = request(number);
                    barrier.wait();
                    let answer =
                        publisher.call(Binding::Mcp, buyer, "create_media_buy", &arguments).json();
                    let body = &answer["result"]["structuredContent"];
                    let code = body["errors"][0]["code"].as_str();
                    code.or(body["status"].as_str()).unwrap_or("nothing").to_owned()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    })
}

fn count(outcomes: &[String], wanted: &str) -> usize {
    outcomes.iter().filter(|outcome| *outcome == wanted).count()
}

/// Requests of the same exclusive product for one day, under keys of their own.
fn letter(number: usize) -> Value {
    json!({
        "account": {"brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example"},
        "idempotency_key": format!("race-for-the-letter-{number}"),
        "brand": {"domain": "acmeoutdoor.example"},
        "start_time": "2031-07-01T00:00:00Z", "end_time": "2031-07-02T00:00:00Z",
        "packages": [
            {"product_id": "morning_letter", "pricing_option_id": "cpm_letter", "budget": 1000},
        ],
    })
}

/// A committed proposal of `acme`'s.
fn committed_proposal(publisher: &Publisher) -> String {
    let ask = |arguments: Value| {
        let answer = publisher.call(Binding::Mcp, "acme", "get_products", &arguments).json();
        answer["result"]["structuredContent"].clone()
    };
    let account =
        json!({"brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example"});
    let brief = "Premium video and display across outdoor lifestyle and sports, $50K";
    let found = ask(json!({"account": account, "buying_mode": "brief", "brief": brief}));
    let id = found["proposals"][0]["proposal_id"].as_str().expect("a proposal").to_owned();
    let entry = json!({"scope": "proposal", "proposal_id": id, "action": "finalize"});
    let done = ask(json!({"account": account, "buying_mode": "refine", "refine": [entry]}));
    assert_eq!(done["proposals"][0]["proposal_status"], "committed", "{done}");
    id
}

fn one_buyer_gets_it(publishers: &[Publisher]) {
    let outcomes = race(publishers, &letter);
    assert_eq!(count(&outcomes, "completed"), 1, "{outcomes:?}");
    assert_eq!(count(&outcomes, "PRODUCT_UNAVAILABLE"), RACERS - 1, "{outcomes:?}");

    let id = committed_proposal(&publishers[0]);
    let outcomes = race(publishers, &|number| {
        json!({
            "account": {"brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example"},
            "idempotency_key": format!("race-for-the-proposal-{number}"),
            "brand": {"domain": "acmeoutdoor.example"}, "proposal_id": id,
            "start_time": "2031-07-01T00:00:00Z", "end_time": "2031-08-01T00:00:00Z",
            "total_budget": {"amount": 50_000, "currency": "USD"},
        })
    });
    assert_eq!(count(&outcomes, "completed"), 1, "{outcomes:?}");
    // A third of the racers are another tenant, which does not see the proposal.
    assert_eq!(count(&outcomes, "INVALID_STATE"), RACERS - RACERS / 3 - 1, "{outcomes:?}");
    assert_eq!(count(&outcomes, "PROPOSAL_NOT_FOUND"), RACERS / 3, "{outcomes:?}");
}

/// Impressions of a counted product on a day.
const CAPACITY: u64 = 1_000_000;

/// The demo's catalogue, with this many impressions of a product that nobody has to approve.
fn counted_catalogue() -> Catalogue {
    let mut catalogue = tradepost_demo::publisher::catalogue();
    let letter = catalogue.products.iter_mut().find(|one| one.id() == "morning_letter").unwrap();
    let mut terms = ProductTerms::clone(&letter.terms);
    terms.capacity =
        Some(ProductCapacity { per_day: Some(CAPACITY), ..ProductCapacity::default() });
    letter.terms = Arc::new(terms);
    // Shared, so that only the units are in the way.
    *letter = letter.with("exclusivity", "none");
    catalogue
}

/// Requests for a part of the units of one day.
fn part(day: u32, budget: u32) -> impl Fn(usize) -> Value + Sync {
    move |number| {
        let mut request = letter(number);
        request["idempotency_key"] = json!(format!("race-for-units-{day}-{number:03}"));
        request["start_time"] = json!(format!("2031-08-{day:02}T00:00:00Z"));
        request["end_time"] = json!(format!("2031-08-{:02}T00:00:00Z", day + 1));
        request["packages"][0]["budget"] = json!(budget);
        request
    }
}

fn no_units_are_sold_twice(publishers: &[Publisher]) {
    // All units of a day cost 18,000 USD.
    for (day, budget, winners) in [(1, 16_200, 1), (2, 5_400, 3), (3, 3_600, 5)] {
        let outcomes = race(publishers, &part(day, budget));
        assert_eq!(count(&outcomes, "completed"), winners, "{outcomes:?}");
        assert_eq!(count(&outcomes, "PRODUCT_UNAVAILABLE"), RACERS - winners, "{outcomes:?}");
    }
}

#[test]
fn racing_buyers_on_sqlite_get_the_last_units_once() {
    no_units_are_sold_twice(&[publisher::start_with(&|config| {
        config.publishers[0].profile.catalogue = counted_catalogue();
    })]);
}

#[test]
fn racing_buyers_on_postgresql_get_the_last_units_once() {
    let Some(scratch) = Scratch::new() else { return };
    let start = || publisher::start_selling(scratch.store(), counted_catalogue());
    no_units_are_sold_twice(&[start(), start()]);
}

#[test]
fn racing_buyers_on_sqlite_sell_nothing_twice() {
    one_buyer_gets_it(&[publisher::start_with(&|config| {
        config.publishers[0].profile.catalogue = tradepost_demo::publisher::catalogue();
    })]);
}

#[test]
fn racing_buyers_on_postgresql_sell_nothing_twice() {
    let Some(scratch) = Scratch::new() else { return };
    let publishers =
        [publisher::start_sharing(scratch.store()), publisher::start_sharing(scratch.store())];
    one_buyer_gets_it(&publishers);
}
