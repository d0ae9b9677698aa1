//! What is sold once: committed proposals, and the days of exclusive products.

use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::{Catalogue, ProductTerms};
use tradepost_publisher::profile::{Onboarding, PublisherProfile};

use crate::support::script::Script;
use crate::support::shop::{fixed, product};
use crate::support::{Harness, profile};

/// A publisher with an exclusive product that nobody has to approve, and one that somebody has to.
fn script() -> Script {
    let exclusive = |id: &str, approval: bool| {
        let terms = ProductTerms { approval, ..ProductTerms::default() };
        product(id, fixed(10.0, "USD"), json!({"exclusivity": "exclusive"}), terms)
    };
    let shared = product("shared", fixed(10.0, "USD"), json!({}), ProductTerms::default());
    let products = vec![exclusive("cover", false), exclusive("gala", true), shared];
    let catalogue = Catalogue { products, ..demo::catalogue() };
    let onboarding = Onboarding { implicit: true, ..Onboarding::default() };
    Script::at(Harness::from_profile(PublisherProfile { catalogue, onboarding, ..profile() }))
}

fn order(product_id: &str, start: &str, end: &str) -> Value {
    json!({
        "brand": {"domain": "acmeoutdoor.example"}, "start_time": start, "end_time": end,
        "packages": [{"product_id": product_id, "pricing_option_id": "cpm", "budget": 1000}],
    })
}

/// The code and field of the first error, or the status.
fn outcome(answer: &Value) -> String {
    match answer["errors"].as_array().and_then(|errors| errors.first()) {
        Some(error) => {
            format!("{} {}", error["code"].as_str().unwrap(), error["field"].as_str().unwrap_or(""))
        }
        None => answer["status"].as_str().unwrap_or_default().to_owned(),
    }
}

const TAKEN: &str = "PRODUCT_UNAVAILABLE packages[0].product_id";

#[test]
fn an_exclusive_product_has_one_buyer_a_day() {
    let mut script = script();
    let mut buy = |principal: &str, start: &str, end: &str| {
        let answer = script.ask_as(principal, AdcpTool::CreateMediaBuy, order("cover", start, end));
        (outcome(&answer), answer["media_buy_id"].as_str().unwrap_or_default().to_owned())
    };
    let first = buy("acme", "2026-07-01T06:00:00Z", "2026-07-03T00:00:00Z");
    assert_eq!(first.0, "completed");
    let same_day = buy("nova", "2026-07-02T12:00:00Z", "2026-07-04T00:00:00Z");
    assert_eq!(same_day.0, TAKEN, "another tenant, on a day that is taken");
    assert_eq!(buy("acme", "2026-07-02T00:00:00Z", "2026-07-03T00:00:00Z").0, TAKEN);
    let next_day = buy("nova", "2026-07-03T00:00:00Z", "2026-07-04T00:00:00Z");
    assert_eq!(next_day.0, "completed", "the end of a flight is not part of it");
    // Neither can grow over the other, and what is canceled is free again.
    let grow = json!({"media_buy_id": first.1, "end_time": "2026-07-04T00:00:00Z"});
    let grown = script.ask_as("acme", AdcpTool::UpdateMediaBuy, grow);
    assert_eq!(outcome(&grown), "PRODUCT_UNAVAILABLE end_time");
    let cancel = json!({"media_buy_id": next_day.1, "canceled": true});
    assert_eq!(outcome(&script.ask_as("nova", AdcpTool::UpdateMediaBuy, cancel)), "completed");
    let grow = json!({"media_buy_id": first.1, "end_time": "2026-07-04T00:00:00Z"});
    assert_eq!(outcome(&script.ask_as("acme", AdcpTool::UpdateMediaBuy, grow)), "completed");
    let last = order("cover", "2026-07-03T00:00:00Z", "2026-07-04T00:00:00Z");
    assert_eq!(outcome(&script.ask_as("nova", AdcpTool::CreateMediaBuy, last)), TAKEN);
}

#[test]
fn days_that_wait_for_approval_are_taken() {
    let mut script = script();
    let gala = || order("gala", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z");
    let first = script.ask_as("acme", AdcpTool::CreateMediaBuy, gala());
    assert_eq!(outcome(&first), "submitted");
    assert_eq!(outcome(&script.ask_as("nova", AdcpTool::CreateMediaBuy, gala())), TAKEN);
}

#[test]
fn a_committed_proposal_is_bought_once() {
    let mut script = script();
    let brief = json!({
        "buying_mode": "brief", "brief": "display, $5,000",
        "filters": {"start_date": "2026-07-01", "end_date": "2026-07-31"},
    });
    let found = script.ask(AdcpTool::GetProducts, brief);
    let id = found["proposals"][0]["proposal_id"].as_str().unwrap().to_owned();
    let finalize = json!({
        "buying_mode": "refine",
        "refine": [{"scope": "proposal", "proposal_id": id, "action": "finalize"}],
    });
    let committed = script.ask(AdcpTool::GetProducts, finalize);
    assert_eq!(committed["proposals"][0]["proposal_status"], "committed", "{committed}");
    // What the proposal holds, nobody else can buy.
    let held = order("cover", "2026-07-10T00:00:00Z", "2026-07-11T00:00:00Z");
    assert_eq!(outcome(&script.ask_as("nova", AdcpTool::CreateMediaBuy, held)), TAKEN);
    let purchase = || {
        json!({
            "brand": {"domain": "acmeoutdoor.example"}, "proposal_id": id,
            "start_time": "2026-07-01T00:00:00Z", "end_time": "2026-08-01T00:00:00Z",
            "total_budget": {"amount": 5000, "currency": "USD"},
        })
    };
    let bought = script.ask(AdcpTool::CreateMediaBuy, purchase());
    assert_eq!(outcome(&bought), "completed", "{bought}");
    let again = script.ask(AdcpTool::CreateMediaBuy, purchase());
    assert_eq!(outcome(&again), "INVALID_STATE proposal_id");
    assert_eq!(again["errors"][0]["details"]["media_buy_id"], bought["media_buy_id"]);
}
