//! The ad server is asked before something is sold, and what it cannot do is neither claimed nor sold.

use std::time::Duration;

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::{
    AdServerCapabilities, Availability, LineItemPricing, PackageProblem, TargetingKind,
};
use tradepost_publisher::catalogue::{AdServerTerms, Catalogue, ProductTerms, TargetingSupport};
use tradepost_publisher::profile::{AdServerProfile, PublisherProfile};
use tradepost_publisher::services::{OrderAnswer, OrderQuestion, Unavailable};
use tradepost_publisher::store::EntityKind;

use crate::support::profile;
use crate::support::shop::{Shop, errors, fixed, package, product};

/// An ad server that applies some targeting and bills some prices.
fn ad_server() -> AdServerProfile {
    AdServerProfile {
        capabilities: AdServerCapabilities {
            pricing: [LineItemPricing::Cpm].into(),
            targeting: [TargetingKind::Countries, TargetingKind::FrequencyCap].into(),
            line_items: true,
            forecasts: true,
            ..AdServerCapabilities::default()
        },
        ..AdServerProfile::default()
    }
}

/// `carried` and `promised`, which is guaranteed, are delivered by the ad server; `odd` too, at a price that no
/// line item has; `manual` is set up by people.
fn catalogue() -> Catalogue {
    let terms = |inventory: &str| ProductTerms {
        ad_server: Some(AdServerTerms { inventory: vec![inventory.to_owned()], deal: None }),
        ..ProductTerms::default()
    };
    let guaranteed = json!({"delivery_type": "guaranteed"});
    let point = json!({
        "pricing_option_id": "cpm", "pricing_model": "cpp", "currency": "USD", "fixed_price": 8,
        "parameters": {"demographic": "P18-49"},
    });
    let products = vec![
        product("carried", fixed(8.0, "USD"), json!({}), terms("unit-1")),
        product("promised", fixed(8.0, "USD"), guaranteed, terms("unit-2")),
        product("odd", point, json!({}), terms("unit-3")),
        product("manual", fixed(8.0, "USD"), json!({}), ProductTerms::default()),
    ];
    let targeting = TargetingSupport {
        geo_regions: true,
        frequency_cap: true,
        languages: true,
        ..TargetingSupport::default()
    };
    Catalogue { products, targeting, ..Catalogue::default() }
}

fn shop() -> Shop {
    let ad_server = Some(ad_server());
    Shop::selling(PublisherProfile { catalogue: catalogue(), ad_server, ..profile() }, |_| {})
}

fn carried(id: &str, changes: Value) -> Value {
    let mut changes = changes;
    changes.as_object_mut().unwrap().insert("product_id".to_owned(), id.into());
    package(changes)
}

impl Shop {
    /// What the ad server was asked since the last look.
    fn questions(&self) -> Vec<OrderQuestion> {
        std::mem::take(&mut self.harness.services.order_questions.lock().unwrap())
    }

    fn will_answer(&self, answer: Result<OrderAnswer, Unavailable>) {
        self.harness.services.order_answers.lock().unwrap().push(answer);
    }

    fn buy_of(&self, packages: Value) -> Value {
        self.create(json!({"packages": packages}))
    }
}

fn problem(package: &str, field: &str) -> PackageProblem {
    let package_id = package.to_owned();
    PackageProblem { package_id, field: field.to_owned(), message: "It cannot.".to_owned() }
}

fn available(packages: &[(&str, u64)]) -> Result<OrderAnswer, Unavailable> {
    let known = packages.iter().map(|(package, available)| {
        ((*package).to_owned(), Availability { matched: 1_000_000, available: *available })
    });
    Ok(OrderAnswer { problems: Vec::new(), availability: known.collect() })
}

#[test]
fn capabilities_claim_what_the_ad_server_applies_and_bills() {
    let shop = shop();
    let answer = shop.ask(AdcpTool::GetAdcpCapabilities, json!({}));
    let section = &answer["media_buy"];
    assert_eq!(section["execution"]["targeting"], json!({"geo_countries": true}));
    assert_eq!(section["frequency_capping"], json!({}));
    assert_eq!(section["supported_pricing_models"], json!(["cpm"]));
}

#[test]
fn what_is_invalid_is_said_before_what_is_not_supported() {
    let shop = shop();
    let signals = json!({"operator": "all", "groups": [{"operator": "any", "signals": [
        {"signal_ref": {"scope": "product", "signal_id": "nobody"}, "value_type": "binary", "value": true},
    ]}]});
    let overlay = json!({"targeting_overlay": {"signal_targeting_groups": signals}});
    let codes = |refused: &Value| -> Vec<String> {
        let errors = refused["errors"].as_array().unwrap_or_else(|| panic!("{refused}")).iter();
        errors.map(|error| error["code"].as_str().unwrap().to_owned()).collect()
    };
    let refused = shop.buy_of(json!([carried("carried", overlay.clone())]));
    assert_eq!(codes(&refused), ["INVALID_REQUEST", "UNSUPPORTED_FEATURE"], "{refused}");
    let made = shop.buy_of(json!([carried("manual", json!({}))]));
    let buy = made["media_buy_id"].as_str().unwrap_or_else(|| panic!("{made}"));
    let refused = shop.update(buy, json!({"new_packages": [carried("carried", overlay)]}));
    assert_eq!(codes(&refused), ["INVALID_REQUEST", "UNSUPPORTED_FEATURE"], "{refused}");
}

#[test]
fn targeting_that_the_ad_server_lacks_is_refused_everywhere() {
    let shop = shop();
    let overlay = json!({
        "geo_countries": ["US"], "geo_regions": ["US-CA"], "language": ["en"],
        "frequency_cap": {"suppress": {"interval": 60, "unit": "minutes"}},
    });
    for id in ["carried", "manual"] {
        let answer = shop.buy_of(json!([carried(id, json!({"targeting_overlay": overlay}))]));
        let fields = answer["errors"].as_array().unwrap().iter();
        let fields: Vec<String> =
            fields.map(|error| format!("{} {}", error["code"], error["field"])).collect();
        assert_eq!(
            fields,
            [
                r#""UNSUPPORTED_FEATURE" "packages[0].targeting_overlay.geo_regions""#,
                r#""UNSUPPORTED_FEATURE" "packages[0].targeting_overlay.language""#,
            ]
        );
    }
    assert_eq!(shop.questions(), [], "nobody is asked about what is refused anyway");
}

#[test]
fn only_packages_with_inventory_there_are_asked_about() {
    let shop = shop();
    assert_eq!(shop.buy_of(json!([carried("manual", json!({}))]))["status"], "completed");
    assert_eq!(shop.questions(), []);
    let packages = json!([carried("manual", json!({})), carried("promised", json!({}))]);
    assert_eq!(shop.buy_of(packages)["status"], "completed");
    let asked = shop.questions();
    let [question] = asked.as_slice() else { panic!("{asked:#?}") };
    assert_eq!(question.order.budget.to_string(), "1000");
    let [line_item] = question.line_items.as_slice() else { panic!("{asked:#?}") };
    assert_eq!(line_item.inventory, ["unit-2"]);
    assert_eq!(line_item.goal.unwrap().amount, 125_000);
    assert_eq!(question.forecast, [line_item.package_id.clone()].into());
}

#[test]
fn buys_of_test_accounts_are_not_asked_about_unless_carried() {
    let at = |test_accounts: bool| {
        let ad_server = Some(AdServerProfile { test_accounts, ..ad_server() });
        let profile = PublisherProfile { catalogue: catalogue(), ad_server, ..profile() };
        let shop = Shop::selling(profile, |account| account.sandbox = true);
        shop.buy_of(json!([carried("carried", json!({}))]));
        shop.questions().len()
    };
    assert_eq!(at(false), 0);
    assert_eq!(at(true), 1);
}

#[test]
fn what_the_ad_server_cannot_do_is_refused_at_its_field() {
    let shop = shop();
    let problems = [
        "targeting_overlay.frequency_cap",
        "pricing_option_id",
        "product_id",
        "budget",
        "end_time",
        "account",
    ];
    let problems = problems.map(|field| problem("new-1", field)).into();
    shop.will_answer(Ok(OrderAnswer { problems, ..OrderAnswer::default() }));
    let packages = json!([carried("carried", json!({})), carried("promised", json!({}))]);
    let answer = shop.buy_of(packages);
    expect![[r#"
        {"code":"UNSUPPORTED_FEATURE","message":"the seller's ad server does not do this; details.reason says what; leave it out, or choose something else","recovery":"correctable","field":"packages[1].targeting_overlay.frequency_cap","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"reason":"It cannot."}}
        {"code":"UNSUPPORTED_FEATURE","message":"the seller's ad server does not do this; details.reason says what; leave it out, or choose something else","recovery":"correctable","field":"packages[1].pricing_option_id","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"reason":"It cannot."}}
        {"code":"PRODUCT_UNAVAILABLE","message":"the seller's ad server cannot deliver this product now; choose another one","recovery":"correctable","field":"packages[1].product_id","suggestion":"choose another product","details":{"product_id":"promised"}}
        {"code":"INVALID_REQUEST","message":"the seller's ad server does not accept this value; details.reason says why","recovery":"correctable","field":"packages[1].budget","suggestion":"correct what field and issues name and send again","details":{"reason":"It cannot."}}
        {"code":"INVALID_REQUEST","message":"the seller's ad server does not accept this value; details.reason says why","recovery":"correctable","field":"packages[1].end_time","suggestion":"correct what field and issues name and send again","details":{"reason":"It cannot."}}
        {"code":"CONFIGURATION_ERROR","message":"the seller's ad server is not set up; the seller's operator has to set it up","recovery":"terminal","suggestion":"tell the people who run the seller"}
    "#]].assert_eq(&errors(&answer));
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
    let answer = shop.buy_of(json!([carried("odd", json!({}))]));
    expect![[r#"
        {"code":"UNSUPPORTED_FEATURE","message":"the seller's ad server does not do this; details.reason says what; leave it out, or choose something else","recovery":"correctable","field":"packages[0].pricing_option_id","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"reason":"The ad server has no line items with this pricing model."}}
    "#]].assert_eq(&errors(&answer));
}

#[test]
fn a_failed_order_check_sells_nothing_and_can_be_repeated() {
    let shop = shop();
    let order = json!({"idempotency_key": "try-it-once-more-1", "packages": [carried("carried", json!({}))]});
    let retry_after = Some(Duration::from_secs(5));
    shop.will_answer(Err(Unavailable::Down { retry_after }));
    expect![[r#"
        {"code":"SERVICE_UNAVAILABLE","message":"the seller cannot ask its ad server for the moment; send the same again","recovery":"transient","suggestion":"retry the same request later, with backoff","retry_after":5}
    "#]].assert_eq(&errors(&shop.create(order.clone())));
    shop.will_answer(Err(Unavailable::Misconfigured { setting: "publishers.ad_server" }));
    expect![[r#"
        {"code":"CONFIGURATION_ERROR","message":"the seller's ad server is not set up; the seller's operator has to set it up","recovery":"terminal","suggestion":"tell the people who run the seller"}
    "#]].assert_eq(&errors(&shop.create(order.clone())));
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
    assert_eq!(shop.create(order)["status"], "completed");
}

#[test]
fn guaranteed_packages_are_sold_as_far_as_there_is_something_left() {
    let shop = shop();
    // 1000 dollars are 125,000 impressions.
    shop.will_answer(available(&[("new-0", 124_999)]));
    let answer = shop.buy_of(json!([carried("promised", json!({}))]));
    expect![[r#"
        {"code":"PRODUCT_UNAVAILABLE","message":"the seller's ad server has too little left for these days and this targeting; details.available says how much; buy less, or choose other days or another product","recovery":"correctable","field":"packages[0].product_id","suggestion":"choose another product","details":{"product_id":"promised","unit":"impressions","requested":125000,"available":124999}}
    "#]].assert_eq(&errors(&answer));
    shop.will_answer(available(&[("new-0", 125_000)]));
    assert_eq!(shop.buy_of(json!([carried("promised", json!({}))]))["status"], "completed");
    // Two packages of the same inventory take from the same impressions.
    let both = || json!([carried("promised", json!({})), carried("promised", json!({}))]);
    shop.will_answer(available(&[("new-0", 249_999), ("new-1", 249_999)]));
    let answer = shop.buy_of(both());
    let fields = answer["errors"].as_array().unwrap().iter();
    let fields: Vec<&Value> = fields.map(|error| &error["field"]).collect();
    assert_eq!(fields, ["packages[0].product_id", "packages[1].product_id"]);
    shop.will_answer(available(&[("new-0", 250_000), ("new-1", 250_000)]));
    assert_eq!(shop.buy_of(both())["status"], "completed");
}

#[test]
fn the_ad_server_is_asked_only_what_a_change_adds() {
    let shop = shop();
    let made = shop.buy_of(json!([carried("promised", json!({})), carried("manual", json!({}))]));
    let buy = made["media_buy_id"].as_str().unwrap();
    let package_id = made["packages"][0]["package_id"].as_str().unwrap();
    shop.questions();
    let change = |changes: Value| {
        let mut changes = changes;
        changes.as_object_mut().unwrap().insert("package_id".to_owned(), package_id.into());
        shop.update(buy, json!({"packages": [changes]}))
    };
    for untouched in [
        shop.update(buy, json!({"paused": true})),
        shop.update(buy, json!({"paused": false})),
        change(json!({"creative_assignments": []})),
    ] {
        assert_eq!(untouched["status"], "completed", "{untouched}");
        assert_eq!(shop.questions(), []);
    }
    // Twice the budget: only what is added has to be there.
    shop.will_answer(available(&[(package_id, 124_999)]));
    expect![[r#"
        {"code":"PRODUCT_UNAVAILABLE","message":"the seller's ad server has too little left for these days and this targeting; details.available says how much; buy less, or choose other days or another product","recovery":"correctable","field":"packages[0].budget","suggestion":"choose another product","details":{"product_id":"promised","unit":"impressions","requested":125000,"available":124999}}
    "#]]
        .assert_eq(&errors(&change(json!({"budget": 2000}))).replace(package_id, "PACKAGE"));
    shop.will_answer(available(&[(package_id, 125_000)]));
    assert_eq!(change(json!({"budget": 2000}))["status"], "completed");
    assert_eq!(shop.questions().len(), 2);
    // A lower one needs none, and what the ad server has against what was bought before is no reason.
    let old = ["product_id", "account", "pricing_option_id", "targeting_overlay.geo_countries"];
    let problems = old.map(|field| problem(package_id, field)).into();
    shop.will_answer(Ok(OrderAnswer { problems, ..OrderAnswer::default() }));
    assert_eq!(change(json!({"budget": 1500}))["status"], "completed");
    let asked = shop.questions();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].forecast.is_empty());
    let cap = json!({"frequency_cap": {"suppress": {"interval": 60, "unit": "minutes"}}});
    let problems = vec![problem(package_id, "targeting_overlay.frequency_cap")];
    shop.will_answer(Ok(OrderAnswer { problems, ..OrderAnswer::default() }));
    let answer = change(json!({"targeting_overlay": cap}));
    assert_eq!(answer["errors"][0]["field"], "packages[0].targeting_overlay.frequency_cap");
    // A longer flight changes a package that the request does not name.
    let problems = vec![problem(package_id, "end_time")];
    shop.will_answer(Ok(OrderAnswer { problems, ..OrderAnswer::default() }));
    let answer = shop.update(buy, json!({"end_time": "2026-09-01T00:00:00Z"}));
    assert_eq!(answer["errors"][0]["field"], "end_time");
    let problems = vec![problem("new-2", "product_id")];
    shop.will_answer(Ok(OrderAnswer { problems, ..OrderAnswer::default() }));
    let answer = shop.update(buy, json!({"new_packages": [carried("carried", json!({}))]}));
    assert_eq!(answer["errors"][0]["field"], "new_packages[0].product_id");
    shop.questions();
    assert_eq!(shop.update(buy, json!({"canceled": true}))["status"], "completed");
    assert_eq!(shop.questions(), []);
}
