//! Units that are counted here: quantities, bookings, what is left, and the books.

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::{
    Catalogue, InventoryTerms, PricingOption, Product, ProductCapacity, ProductTerms,
};
use tradepost_publisher::decision::{DecisionStep, DecisionSubject};
use tradepost_publisher::inventory::audit::{self, BookDifference};
use tradepost_publisher::inventory::{PackageQuantity, PoolMonth};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::{Onboarding, PublisherProfile};
use tradepost_publisher::staff::StaffView;
use tradepost_publisher::staff::inventory::{self, InventoryFilter};
use tradepost_publisher::staff::list::{self, Filter, Page, Subject};
use tradepost_publisher::store::{EntityKind, Query};

use crate::staff::{decide, decision};
use crate::support::script::Script;
use crate::support::shop::{fixed, product};
use crate::support::{Harness, profile, schemas};

mod model;

/// Terms of a product with a capacity.
fn counted(capacity: Value) -> ProductTerms {
    let capacity: ProductCapacity =
        tradepost_document::json::from_str(&capacity.to_string()).unwrap();
    ProductTerms { capacity: Some(capacity), ..ProductTerms::default() }
}

/// Products of one pool of 100,000 impressions a day: `news` and `sport`, and `cover`, which a person approves.
fn pool_products() -> Vec<Product> {
    let guaranteed = || json!({"delivery_type": "guaranteed"});
    let terms = counted(json!({"per_day": 100_000}));
    let other = || counted(json!({"pool": "news"}));
    let approval = ProductTerms { approval: true, ..other() };
    vec![
        product("news", fixed(10.0, "USD"), guaranteed(), terms),
        product("sport", fixed(20.0, "USD"), guaranteed(), other()),
        product("cover", fixed(10.0, "USD"), guaranteed(), approval),
    ]
}

/// A publisher with these products, which makes proposals.
fn script_of(products: Vec<Product>, inventory: InventoryTerms) -> Script {
    let catalogue = Catalogue { products, inventory, ..demo::catalogue() };
    let onboarding = Onboarding { implicit: true, ..Onboarding::default() };
    Script::at(Harness::from_profile(PublisherProfile { catalogue, onboarding, ..profile() }))
}

fn script() -> Script {
    script_of(pool_products(), InventoryTerms::default())
}

fn order(product_id: &str, budget: u32, start: &str, end: &str) -> Value {
    json!({
        "brand": {"domain": "acmeoutdoor.example"},
        "start_time": format!("{start}T00:00:00Z"), "end_time": format!("{end}T00:00:00Z"),
        "packages": [{"product_id": product_id, "pricing_option_id": "cpm", "budget": budget}],
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

fn id(answer: &Value) -> String {
    answer["media_buy_id"].as_str().unwrap_or_default().to_owned()
}

/// Booked, held and left units of `news` by day, in short; days with nothing are left out.
fn booked(script: &Script) -> String {
    let rows = rows(&script.harness, "news", "2026-06-01", "2026-08-31");
    let line = |row: &Value| {
        let unit = |name: &str| row[name].as_u64().unwrap();
        let date = row["date"].as_str().unwrap();
        (unit("booked") + unit("held") > 0)
            .then(|| format!("{} {}+{} ", &date[5..], unit("booked"), unit("held")))
    };
    rows.iter().filter_map(line).collect::<String>().trim_end().to_owned()
}

fn rows(harness: &Harness, product: &str, from: &str, until: &str) -> Vec<Value> {
    let filter = InventoryFilter {
        product: Some(product.to_owned()),
        from: Some(from.parse().unwrap()),
        until: Some(until.parse().unwrap()),
        is_sandbox: false,
    };
    let publisher = &harness.publisher;
    let now = harness.now;
    let listed =
        harness.store.look(|reader| inventory::list(StaffView { publisher, reader, now }, &filter));
    listed.unwrap_or_else(|error| panic!("{error:?}"))
}

/// What differs between the books and the buys.
fn differences(harness: &Harness) -> Vec<BookDifference> {
    let publisher = &harness.publisher;
    harness.store.look(|reader| audit::check(publisher, reader, harness.now)).unwrap()
}

/// Checks that the books are right.
fn check_books(harness: &Harness) {
    assert_eq!(differences(harness), []);
}

#[test]
fn a_price_decides_how_many_units_a_package_takes() {
    let quantity = |capacity: Value, unit: &str, price: Value, bid: Option<u32>, budget: u32| {
        let mut price = price;
        price["pricing_option_id"] = json!("p");
        price["currency"] = json!("USD");
        let product = product("p", price.clone(), json!({}), counted(capacity));
        let price: PricingOption = tradepost_document::json::from_str(&price.to_string()).unwrap();
        let bid = bid.map(MoneyAmount::whole);
        match product.quantity(unit, &price, bid, MoneyAmount::whole(budget)) {
            PackageQuantity::Uncounted => "-".to_owned(),
            PackageQuantity::Total(units) => units.to_string(),
            PackageQuantity::PerDay(units) => format!("{units} a day"),
        }
    };
    let plain = || json!({"per_day": 9});
    let declared = || json!({"per_day": 9, "units_per_day": 3});
    let auctions = || json!({"per_day": 9, "auctions": true});
    let price = |model: &str, amount: f64| json!({"pricing_model": model, "fixed_price": amount});
    let bidding = |model: &str, floor: f64| json!({"pricing_model": model, "floor_price": floor});
    let table = [
        (plain(), "impressions", price("cpm", 10.0), None, 1000, "100000"),
        (plain(), "impressions", price("vcpm", 8.0), None, 1000, "125000"),
        // Rounded up: what is sold may all be delivered.
        (plain(), "impressions", price("cpm", 7.0), None, 1000, "142858"),
        (plain(), "impressions", price("cpc", 0.5), None, 1000, "-"),
        (plain(), "clicks", price("cpc", 0.5), None, 1000, "2000"),
        (plain(), "completed_views", price("cpcv", 0.03), None, 1000, "33334"),
        (plain(), "views", price("cpv", 0.01), None, 1000, "100000"),
        (plain(), "grps", price("cpp", 300.0), None, 1000, "4"),
        (plain(), "conversions", price("cpa", 20.0), None, 1000, "50"),
        (plain(), "impressions", price("flat_rate", 1000.0), None, 1000, "-"),
        (declared(), "impressions", price("flat_rate", 1000.0), None, 1000, "3 a day"),
        (declared(), "impressions", price("time", 1000.0), None, 1000, "3 a day"),
        // A price that counts decides, whatever the product declares for the others.
        (declared(), "impressions", price("cpm", 10.0), None, 1000, "100000"),
        (declared(), "impressions", price("cpm", 0.0), None, 1000, "3 a day"),
        (plain(), "impressions", bidding("cpm", 2.0), Some(4), 1000, "-"),
        (auctions(), "impressions", bidding("cpm", 2.0), Some(4), 1000, "250000"),
        (auctions(), "impressions", bidding("cpm", 2.0), None, 1000, "500000"),
        (auctions(), "impressions", json!({"pricing_model": "cpm"}), None, 1000, "-"),
    ];
    for (capacity, unit, price, bid, budget, expected) in table {
        let case = format!("{capacity} {unit} {price} {bid:?}");
        assert_eq!(quantity(capacity, unit, price, bid, budget), expected, "{case}");
    }
}

#[test]
fn units_are_spread_over_the_days_of_a_flight() {
    let capacity = json!({
        "per_day": 90_000, "weekdays": {"sunday": 0}, "dates": {"2026-07-04": 0, "2026-07-12": 500},
    });
    let terms = counted(capacity);
    let products = vec![product("news", fixed(10.0, "USD"), json!({}), terms)];
    // Days with nothing to sell are skipped, and the first days have what does not come out even.
    let table = [
        ("2026-07-01T00:00:00Z", "2026-07-03T00:00:00Z", "07-01 50000+0 07-02 50000+0"),
        (
            "2026-07-01T00:00:00Z",
            "2026-07-03T00:00:01Z",
            "07-01 33334+0 07-02 33333+0 07-03 33333+0",
        ),
        ("2026-07-03T00:00:00Z", "2026-07-07T00:00:00Z", "07-03 50000+0 07-06 50000+0"),
        ("2026-07-01T23:00:00Z", "2026-07-02T01:00:00Z", "07-01 50000+0 07-02 50000+0"),
    ];
    for (start, end, expected) in table {
        let mut script = script_of(products.clone(), InventoryTerms::default());
        let mut order = order("news", 1000, "2026-07-01", "2026-07-02");
        order["start_time"] = json!(start);
        order["end_time"] = json!(end);
        let answer = script.ask(AdcpTool::CreateMediaBuy, order);
        assert_eq!(outcome(&answer), "completed", "{answer:#}");
        assert_eq!(booked(&script), expected, "{start}");
        check_books(&script.harness);
    }
    // The same moments in another time zone are other days.
    let zone = tradepost_document::json::from_str(r#"{"time_zone": "America/New_York"}"#).unwrap();
    let mut script = script_of(products, zone);
    let answer =
        script.ask(AdcpTool::CreateMediaBuy, order("news", 1000, "2026-07-02", "2026-07-03"));
    assert_eq!(outcome(&answer), "completed");
    assert_eq!(booked(&script), "07-01 50000+0 07-02 50000+0");
}

#[test]
fn no_buyer_gets_more_than_is_left() {
    let mut script = script();
    // 100,000 units on one day each.
    let first =
        script.ask(AdcpTool::CreateMediaBuy, order("news", 600, "2026-07-01", "2026-07-02"));
    assert_eq!(outcome(&first), "completed");
    let refused = script.ask_as(
        "nova",
        AdcpTool::CreateMediaBuy,
        order("sport", 900, "2026-07-01", "2026-07-02"),
    );
    expect![[r#"
        {
          "code": "PRODUCT_UNAVAILABLE",
          "message": "too little of the product is left on some of these days; details.days says how much; buy less, or choose other days or another product",
          "recovery": "correctable",
          "field": "packages[0].product_id",
          "suggestion": "choose another product",
          "details": {
            "product_id": "sport",
            "unit": "impressions",
            "days": [
              {
                "date": "2026-07-01",
                "requested": 45000,
                "available": 40000
              }
            ],
            "short_days": 1
          }
        }"#]]
    .assert_eq(&tradepost_document::json::to_string_pretty(&refused["errors"][0]).unwrap());
    let fits = order("sport", 800, "2026-07-01", "2026-07-02");
    assert_eq!(outcome(&script.ask_as("nova", AdcpTool::CreateMediaBuy, fits)), "completed");
    assert_eq!(booked(&script), "07-01 100000+0");
    // Two packages of one request count together.
    let mut two = order("news", 600, "2026-07-05", "2026-07-06");
    two["packages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"product_id": "sport", "pricing_option_id": "cpm", "budget": 1000}));
    let answer = script.ask(AdcpTool::CreateMediaBuy, two);
    assert_eq!(outcome(&answer), "PRODUCT_UNAVAILABLE packages[1].product_id");
    let too_long = order("news", 1000, "2026-07-10", "2027-07-12");
    let answer = script.ask(AdcpTool::CreateMediaBuy, too_long);
    assert_eq!(outcome(&answer), "INVALID_REQUEST packages[0].product_id");
    check_books(&script.harness);
}

#[test]
fn changes_of_a_buy_are_counted_anew() {
    let mut script = script();
    let buy = script.ask(AdcpTool::CreateMediaBuy, order("news", 1000, "2026-07-01", "2026-07-03"));
    let other =
        script.ask(AdcpTool::CreateMediaBuy, order("news", 500, "2026-07-02", "2026-07-03"));
    assert_eq!(booked(&script), "07-01 50000+0 07-02 100000+0");
    let package = buy["packages"][0]["package_id"].clone();
    let mut change = |changes: Value| {
        let mut request = changes;
        request["media_buy_id"] = json!(id(&buy));
        let answer = script.ask(AdcpTool::UpdateMediaBuy, request);
        check_books(&script.harness);
        format!("{}; {}", outcome(&answer), booked(&script))
    };
    let budget = |budget: u32| json!({"packages": [{"package_id": package, "budget": budget}]});
    let same = "07-01 50000+0 07-02 100000+0";
    assert_eq!(change(budget(1002)), format!("PRODUCT_UNAVAILABLE packages[0].budget; {same}"));
    assert_eq!(change(json!({"paused": true})), format!("completed; {same}"));
    assert_eq!(change(json!({"paused": false})), format!("completed; {same}"));
    assert_eq!(change(budget(800)), "completed; 07-01 40000+0 07-02 90000+0");
    let longer = json!({"end_time": "2026-07-05T00:00:00Z"});
    let spread = "07-01 20000+0 07-02 70000+0 07-03 20000+0 07-04 20000+0";
    assert_eq!(change(longer), format!("completed; {spread}"));
    let shorter = json!({"end_time": "2026-07-02T00:00:00Z"});
    assert_eq!(change(shorter), "completed; 07-01 80000+0 07-02 50000+0");
    let moved = json!({"start_time": "2026-07-02T00:00:00Z", "end_time": "2026-07-03T00:00:00Z"});
    let refused = "PRODUCT_UNAVAILABLE end_time; 07-01 80000+0 07-02 50000+0";
    assert_eq!(change(moved), refused);
    assert_eq!(change(json!({"canceled": true})), "completed; 07-02 50000+0");
    let cancel = json!({"media_buy_id": id(&other), "canceled": true});
    assert_eq!(outcome(&script.ask(AdcpTool::UpdateMediaBuy, cancel)), "completed");
    assert_eq!(booked(&script), "");
    check_books(&script.harness);
}

#[test]
fn what_has_run_stays_when_a_buy_ends_early() {
    let mut script = script();
    let buy = script.ask(AdcpTool::CreateMediaBuy, order("news", 1000, "2026-07-01", "2026-07-05"));
    assert_eq!(booked(&script), "07-01 25000+0 07-02 25000+0 07-03 25000+0 07-04 25000+0");
    script.harness.now = "2026-07-03T09:00:00Z".parse().unwrap();
    let package = buy["packages"][0]["package_id"].clone();
    let raise = json!({
        "media_buy_id": id(&buy), "packages": [{"package_id": package, "budget": 1500}],
    });
    assert_eq!(outcome(&script.ask(AdcpTool::UpdateMediaBuy, raise)), "completed");
    // The rest of the units is for the days that are left.
    assert_eq!(booked(&script), "07-01 25000+0 07-02 25000+0 07-03 50000+0 07-04 50000+0");
    check_books(&script.harness);
    let cancel = json!({"media_buy_id": id(&buy), "canceled": true});
    assert_eq!(outcome(&script.ask(AdcpTool::UpdateMediaBuy, cancel)), "completed");
    assert_eq!(booked(&script), "07-01 25000+0 07-02 25000+0");
    check_books(&script.harness);
}

#[test]
fn a_buy_that_waits_for_approval_is_counted() {
    let mut script = script();
    let order = || order("cover", 1000, "2026-07-01", "2026-07-02");
    let first = script.ask(AdcpTool::CreateMediaBuy, order());
    assert_eq!(outcome(&first), "submitted");
    assert_eq!(booked(&script), "07-01 100000+0");
    let refused = script.ask_as("nova", AdcpTool::CreateMediaBuy, order());
    assert_eq!(outcome(&refused), "PRODUCT_UNAVAILABLE packages[0].product_id");
    let task = first["task_id"].as_str().unwrap();
    let declined = decision(DecisionSubject::Task, task, DecisionStep::Decline);
    decide(&script.harness, &declined).unwrap();
    assert_eq!(booked(&script), "");
    check_books(&script.harness);
    let second = script.ask_as("nova", AdcpTool::CreateMediaBuy, order());
    assert_eq!(outcome(&second), "submitted");
    let task = second["task_id"].as_str().unwrap();
    let approved = decision(DecisionSubject::Task, task, DecisionStep::Approve);
    decide(&script.harness, &approved).unwrap();
    assert_eq!(booked(&script), "07-01 100000+0");
    check_books(&script.harness);
}

#[test]
fn a_late_approval_cannot_squeeze_units_into_fewer_days() {
    let mut script = script();
    let waits =
        script.ask(AdcpTool::CreateMediaBuy, order("cover", 1200, "2026-07-01", "2026-07-03"));
    assert_eq!(booked(&script), "07-01 60000+0 07-02 60000+0");
    script.harness.now = "2026-07-02T12:00:00Z".parse().unwrap();
    check_books(&script.harness);
    let task = waits["task_id"].as_str().unwrap();
    let approved = decision(DecisionSubject::Task, task, DecisionStep::Approve);
    let denied = format!("{:?}", decide(&script.harness, &approved).unwrap_err());
    assert!(denied.contains("ProductUnavailable"), "{denied}");
    check_books(&script.harness);
}

/// Asks for a proposal of 1,000 USD in July and commits it. Returns its id.
fn commit(script: &mut Script, budget: u32) -> Value {
    let brief = json!({
        "buying_mode": "brief", "brief": format!("news display, ${budget}"),
        "filters": {"start_date": "2026-07-01", "end_date": "2026-07-02"},
    });
    let found = script.ask(AdcpTool::GetProducts, brief);
    let id = found["proposals"][0]["proposal_id"].clone();
    let entry = json!({"scope": "proposal", "proposal_id": id, "action": "finalize"});
    let refine = json!({"buying_mode": "refine", "refine": [entry]});
    script.ask(AdcpTool::GetProducts, refine)
}

#[test]
fn a_committed_proposal_holds_units_until_it_expires() {
    let mut products = pool_products();
    products.truncate(1);
    let mut script = script_of(products, InventoryTerms::default());
    let committed = commit(&mut script, 1600);
    let proposal = &committed["proposals"][0];
    assert_eq!(proposal["proposal_status"], "committed", "{committed:#}");
    assert_eq!(booked(&script), "07-01 0+80000 07-02 0+80000");
    check_books(&script.harness);
    let refused = script.ask_as(
        "nova",
        AdcpTool::CreateMediaBuy,
        order("news", 500, "2026-07-01", "2026-07-02"),
    );
    assert_eq!(outcome(&refused), "PRODUCT_UNAVAILABLE packages[0].product_id");
    let second = commit(&mut script, 1500);
    assert_eq!(outcome(&second), "PRODUCT_UNAVAILABLE refine[0].proposal_id");
    // Its buyer gets what is held, and no more than that is taken.
    let purchase = json!({
        "brand": {"domain": "acmeoutdoor.example"}, "proposal_id": proposal["proposal_id"],
        "start_time": "2026-07-01T00:00:00Z", "end_time": "2026-07-03T00:00:00Z",
        "total_budget": {"amount": 1600, "currency": "USD"},
    });
    let bought = script.ask(AdcpTool::CreateMediaBuy, purchase);
    assert_eq!(outcome(&bought), "completed", "{bought:#}");
    assert_eq!(booked(&script), "07-01 80000+0 07-02 80000+0");
    check_books(&script.harness);
    // What is left is held, and let go when the time is over.
    let third = commit(&mut script, 600);
    assert_eq!(outcome(&third), "PRODUCT_UNAVAILABLE refine[0].proposal_id");
    let cancel = json!({"media_buy_id": id(&bought), "canceled": true});
    assert_eq!(outcome(&script.ask(AdcpTool::UpdateMediaBuy, cancel)), "completed");
    let fourth = commit(&mut script, 600);
    assert_eq!(fourth["proposals"][0]["proposal_status"], "committed", "{fourth:#}");
    assert_eq!(booked(&script), "07-01 0+30000 07-02 0+30000");
    script.harness.now += SignedDuration::from_hours(24 * 8);
    assert_eq!(booked(&script), "");
    check_books(&script.harness);
    let all = order("news", 1000, "2026-07-01", "2026-07-02");
    assert_eq!(outcome(&script.ask(AdcpTool::CreateMediaBuy, all)), "completed");
    check_books(&script.harness);
}

/// Searches in a release, and compares the products' ids and forecasts.
fn check_forecast(script: &mut Script, filters: Value, expected: &Expect) {
    let mut arguments = json!({"buying_mode": "wholesale", "fields": ["forecast"]});
    if filters != json!({}) {
        arguments["filters"] = filters;
    }
    let found = script.ask(AdcpTool::GetProducts, arguments);
    for release in [AdcpRelease::V3_0, AdcpRelease::V3_1] {
        let named = if release == AdcpRelease::V3_0 { "3.0" } else { "3.1" };
        let request = json!({"buying_mode": "wholesale", "adcp_version": named});
        let answer = script.ask(AdcpTool::GetProducts, request);
        let violations = schemas::violations(release, AdcpTool::GetProducts, &answer);
        assert_eq!(violations, Vec::<String>::new(), "{answer:#}");
    }
    let line = |product: &Value| format!("{} {}\n", product["product_id"], product["forecast"]);
    let lines = found["products"].as_array().unwrap().iter().map(line);
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn searches_say_what_is_left() {
    let mut script = script();
    let july = || json!({"start_date": "2026-07-01", "end_date": "2026-07-02"});
    check_forecast(
        &mut script,
        json!({}),
        &expect![[r#"
            "news" {"points":[{"label":"2026-06-01 to 2026-06-30","metrics":{"impressions":{"mid":3000000},"spend":{"mid":30000}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
            "sport" {"points":[{"label":"2026-06-01 to 2026-06-30","metrics":{"impressions":{"mid":3000000},"spend":{"mid":60000}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
            "cover" {"points":[{"label":"2026-06-01 to 2026-06-30","metrics":{"impressions":{"mid":3000000},"spend":{"mid":30000}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
        "#]],
    );
    let buy = script.ask(AdcpTool::CreateMediaBuy, order("news", 1000, "2026-07-01", "2026-07-02"));
    assert_eq!(outcome(&buy), "completed");
    check_forecast(
        &mut script,
        july(),
        &expect![[r#"
            "news" {"points":[{"label":"2026-07-01 to 2026-07-02","metrics":{"impressions":{"mid":100000},"spend":{"mid":1000}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
            "sport" {"points":[{"label":"2026-07-01 to 2026-07-02","metrics":{"impressions":{"mid":100000},"spend":{"mid":2000}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
            "cover" {"points":[{"label":"2026-07-01 to 2026-07-02","metrics":{"impressions":{"mid":100000},"spend":{"mid":1000}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
        "#]],
    );
    // Days on which nothing is left have no products; a test account has inventory of its own.
    check_forecast(
        &mut script,
        json!({"start_date": "2026-07-01", "end_date": "2026-07-01"}),
        &expect![[""]],
    );
    // Three quarters of what was booked were delivered.
    script.control(
        "simulate_delivery",
        json!({"media_buy_id": id(&buy), "impressions": 75_000, "delivery_date": "2026-07-01"}),
    );
    script.harness.now = "2026-07-02T06:00:00Z".parse().unwrap();
    check_forecast(
        &mut script,
        july(),
        &expect![[r#"
            "news" {"points":[{"label":"2026-07-02 to 2026-07-02","metrics":{"impressions":{"mid":75000,"high":100000},"spend":{"mid":750}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
            "sport" {"points":[{"label":"2026-07-02 to 2026-07-02","metrics":{"impressions":{"mid":75000,"high":100000},"spend":{"mid":1500}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
            "cover" {"points":[{"label":"2026-07-02 to 2026-07-02","metrics":{"impressions":{"mid":75000,"high":100000},"spend":{"mid":750}}}],"forecast_range_unit":"availability","method":"estimate","currency":"USD"}
        "#]],
    );
    expect![[r#"{"publisher":"gazette","product":"news","pool":"news","unit":"impressions","date":"2026-07-01","capacity":100000,"booked":100000,"held":0,"left":0,"oversold":0,"delivered":75000,"sandbox":false}"#]]
    .assert_eq(&rows(&script.harness, "news", "2026-07-01", "2026-07-02")[0].to_string());
}

#[test]
fn the_books_are_compared_with_the_buys_and_repaired() {
    let mut script = script();
    let buy = script.ask(AdcpTool::CreateMediaBuy, order("news", 1000, "2026-07-01", "2026-07-03"));
    let holder = id(&buy);
    check_books(&script.harness);
    let right = booked(&script);
    script.harness.put(move |tx| {
        let mut month = tx.find::<PoolMonth>("live:2026-07:news")?.unwrap();
        month.thing.booked.insert("2026-07-02".parse().unwrap(), 7);
        tx.change(&mut month, "2026-06-01T12:00:00Z".parse().unwrap())?;
        tx.remove(EntityKind::InventoryBooking, &holder)?;
        Ok(())
    });
    let line = |one: &BookDifference| {
        let day = one.day.map(|day| day.to_string()).unwrap_or_default();
        format!("{} {} {day} {} {}\n", one.subject, one.id, one.counted, one.expected)
    };
    let found = differences(&script.harness);
    expect![[r#"
        media_buy mb_2  0 100000
        booked news 2026-07-02 7 50000
    "#]]
    .assert_eq(&found.iter().map(line).collect::<String>());
    let publisher = script.harness.publisher.clone();
    let now = script.harness.now;
    script.harness.put(move |tx| audit::repair(&publisher, tx, now).map(|_| ()));
    check_books(&script.harness);
    assert_eq!(booked(&script), right);
}

#[test]
fn wrong_capacities_are_named_with_their_places() {
    let mut products = Vec::new();
    let mut add = |id: &str, price: Value, capacity: Value| {
        let product = product(id, price, json!({}), ProductTerms::default());
        let mut document = tradepost_document::json::to_value(&product).unwrap();
        let mut document = document["published"].take();
        document["terms"] = json!({"capacity": capacity});
        products.push(document);
    };
    let flat = || {
        json!({
            "pricing_option_id": "flat", "pricing_model": "flat_rate", "currency": "USD",
            "fixed_price": 900,
        })
    };
    let cpm = || fixed(10.0, "USD");
    add(
        "right",
        cpm(),
        json!({"per_day": 10, "weekdays": {"monday": 0}, "dates": {"2026-12-24": 5}}),
    );
    add("also_right", cpm(), json!({"pool": "right"}));
    add("no_number", cpm(), json!({}));
    add("no_pool", cpm(), json!({"pool": "nowhere", "unit": "clicks", "weekdays": {"friday": 1}}));
    add("other", cpm(), json!({"pool": "right", "per_day": 11}));
    add("flat", flat(), json!({"per_day": 10}));
    add("much", flat(), json!({"per_day": 10, "units_per_day": 11, "unit": "Spots!"}));
    add("huge", cpm(), json!({"per_day": 2_000_000_000_000_u64, "pool": ""}));
    add("day", cpm(), json!({"per_day": 1, "weekdays": {"caturday": 1}}));
    add("date", cpm(), json!({"per_day": 1, "dates": {"2026-02-30": 1}}));
    add("minus", cpm(), json!({"per_day": -1}));
    add("word", cpm(), json!({"per_hour": 1}));
    let catalogue = json!({
        "agent_url": "https://ads.gazette.example", "inventory": {"time_zone": "Mars/Olympus"},
        "formats": [{
            "format_id": {"id": "display_300x250"}, "name": "Banner",
            "renders": [{"role": "primary", "dimensions": {"width": 300, "height": 250, "unit": "px"}}],
        }],
        "products": products,
    });
    let mistakes = Catalogue::parse(&catalogue.to_string()).unwrap_err();
    expect![[r#"
        /inventory: time_zone must be a time zone of the IANA database such as America/New_York
        /products/8/terms/capacity/weekdays/caturday: is no day; days are monday, tuesday, wednesday, thursday, friday, saturday, sunday
        /products/9/terms/capacity: parsed date is not valid: parameter 'day' for `2026-02` is invalid, must be in range `1..=28`
        /products/10/terms/capacity: invalid value: integer `-1`, expected u64
        /products/11/terms/capacity: unknown field `per_hour`, expected one of `pool`, `unit`, `per_day`, `weekdays`, `dates`, `units_per_day`, `auctions`
        /products/2/terms/capacity: must have per_day: the units on a day
        /products/3/terms/capacity/unit: is for the product of the pool that has per_day
        /products/3/terms/capacity/weekdays: is for the product of the pool that has per_day
        /products/3/terms/capacity: must have per_day, because no other product of the pool has it
        /products/4/terms/capacity: is not what another product of the pool says; name the capacity of a pool once
        /products/5/terms/capacity: must have units_per_day, because price flat counts no impressions
        /products/6/terms/capacity/unit: must be the name of a metric such as impressions, plays or spots
        /products/6/terms/capacity/units_per_day: is more than the pool has on a day
        /products/7/terms/capacity/pool: must be a name of 1 to 64 characters
        /products/7/terms/capacity/per_day: must be at most 1000000000000
    "#]]
        .assert_eq(&mistakes.iter().map(|mistake| format!("{mistake}\n")).collect::<String>());
}

#[test]
fn the_pace_compares_what_was_expected_with_what_was_delivered() {
    let mut script = script();
    let mut order = order("news", 1000, "2026-07-01", "2026-07-05");
    order["packages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"product_id": "sport", "pricing_option_id": "cpm", "budget": 1000}));
    let buy = script.ask(AdcpTool::CreateMediaBuy, order);
    assert_eq!(outcome(&buy), "completed", "{buy:#}");
    let report = json!({
        "media_buy_id": id(&buy), "impressions": 60_000, "delivery_date": "2026-07-01",
        "reported_spend": {"amount": 450, "currency": "USD"},
    });
    script.control("simulate_delivery", report);
    script.harness.now = "2026-07-03T09:00:00Z".parse().unwrap();
    let publisher = &script.harness.publisher;
    let now = script.harness.now;
    let mut found = String::new();
    for subject in [Subject::Packages, Subject::Delivery] {
        let listing = script.harness.store.look(|reader| {
            let page = Page { after: None, limit: 10 };
            let view = StaffView { publisher, reader, now };
            list::list(view, subject, &Filter::default(), page)
        });
        for row in listing.unwrap_or_else(|error| panic!("{error:?}")).rows {
            for name in
                ["id", "units", "expected_units", "delivered_units", "expected_spend", "pace"]
            {
                found.push_str(&format!("{name} {} ", row.document[name]));
            }
            found.push('\n');
        }
    }
    expect![[r#"
        id "pkg_3" units 100000 expected_units 50000 delivered_units 30000 expected_spend 500 pace 60 
        id "pkg_4" units 50000 expected_units 25000 delivered_units 30000 expected_spend 500 pace 120 
        id "mb_2" units 150000 expected_units 75000 delivered_units 60000 expected_spend 1000 pace 80 
    "#]].assert_eq(&found);
}

#[test]
fn a_purchase_costs_the_same_whatever_was_sold() {
    let mut script = script();
    let size = |script: &Script| {
        let find = |kind| {
            let records = script.harness.store.look(|reader| reader.list(kind, &Query::default()));
            let records: Result<_, tradepost_document::fault::InternalError> = records;
            records.unwrap()
        };
        let months = find(EntityKind::InventoryMonth);
        months.iter().map(|record| record.body.to_string().len()).sum::<usize>()
    };
    let mut sizes = Vec::new();
    for _ in 0..20 {
        let buy = order("news", 500, "2026-07-01", "2026-07-31");
        let answer = script.ask(AdcpTool::CreateMediaBuy, buy);
        assert_eq!(outcome(&answer), "completed");
        sizes.push(size(&script));
    }
    let grown = sizes.last().unwrap() - sizes.first().unwrap();
    // Only the numbers have more digits.
    assert!(grown <= 60, "{sizes:?}");
    let booking = script.harness.store.look(|reader| {
        reader.list(EntityKind::InventoryBooking, &Query::default()).map(|found| found.len())
    });
    let booking: Result<usize, tradepost_document::fault::InternalError> = booking;
    assert_eq!(booking.unwrap(), 20);
}
