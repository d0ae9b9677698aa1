//! Products that are sold as deals: what the catalogue has to say, what a deal cannot be, and what the buyer
//! learns.

use std::collections::BTreeSet;

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::{AdServerCapabilities, DealAuction, ExternalId};
use tradepost_publisher::catalogue::{
    AdServerTerms, Catalogue, DealTerms, ProductTerms, TargetingSupport,
};
use tradepost_publisher::profile::{AdServerProfile, PublisherProfile};
use tradepost_publisher::staff::StaffView;
use tradepost_publisher::staff::spent_deals::list_spent_deals;
use tradepost_publisher::store::EntityKind;

use crate::creatives::banner;
use crate::reported::{report, rows};
use crate::support::profile;
use crate::support::shop::{Shop, errors, fixed, package, product};

/// A publisher that sells `dealt` as a deal, `promised` too, although it is guaranteed, and `clicked` at a price
/// that no deal has.
fn shop(ad_server: Option<AdServerCapabilities>) -> Shop {
    let deal = DealTerms { auction: None, seats: vec!["seat-7".to_owned()] };
    let terms = || ProductTerms {
        ad_server: Some(AdServerTerms { inventory: Vec::new(), deal: Some(deal.clone()) }),
        ..ProductTerms::default()
    };
    let clicked = json!({
        "pricing_option_id": "cpc", "pricing_model": "cpc", "currency": "USD", "fixed_price": 1,
    });
    let products = vec![
        product("dealt", fixed(8.0, "USD"), json!({}), terms()),
        product("promised", fixed(8.0, "USD"), json!({"delivery_type": "guaranteed"}), terms()),
        product("clicked", clicked, json!({}), terms()),
    ];
    let targeting = TargetingSupport { frequency_cap: true, ..TargetingSupport::default() };
    let catalogue = Catalogue { products, targeting, ..Catalogue::default() };
    let ad_server = ad_server
        .map(|capabilities| AdServerProfile { capabilities, ..AdServerProfile::default() });
    Shop::selling(PublisherProfile { catalogue, ad_server, ..profile() }, |_| {})
}

fn deals() -> AdServerCapabilities {
    AdServerCapabilities { deals: true, ..AdServerCapabilities::default() }
}

/// A package without creatives; what `changes` has wins.
fn deal_package(changes: Value) -> Value {
    let mut all = json!({"product_id": "dealt", "creative_assignments": null});
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    package(all)
}

#[test]
fn a_deal_is_sold_with_an_id_and_without_creatives() {
    let shop = shop(Some(deals()));
    let made = shop.create(json!({"packages": [deal_package(json!({})), deal_package(json!({}))]}));
    assert_eq!(made["media_buy_status"], "pending_start", "{made}");
    let buy = made["media_buy_id"].as_str().unwrap();
    let packages = made["packages"].as_array().unwrap();
    for package in packages {
        let id = ExternalId::from_deal(buy, package["package_id"].as_str().unwrap());
        assert_eq!(package["ext"], json!({"tradepost": {"deal_id": id}}), "{package}");
    }
    // A package that is added later is named in the same way.
    let added = shop.update(buy, json!({"new_packages": [deal_package(json!({}))]}));
    let added = &added["affected_packages"][0];
    let id = ExternalId::from_deal(buy, added["package_id"].as_str().unwrap_or_default());
    assert_eq!(added["ext"]["tradepost"]["deal_id"], json!(id), "{added}");
    let listed = shop.ask(AdcpTool::GetMediaBuys, json!({"media_buy_ids": [buy]}));
    let listed = &listed["media_buys"][0]["packages"];
    assert_eq!(listed[0]["ext"], packages[0]["ext"], "{listed}");
    let orders = shop.stored(EntityKind::RemoteOrder);
    assert_eq!(orders.len(), 1, "{orders:#?}");
    assert!(shop.harness.services.order_questions.lock().unwrap().is_empty(), "nothing to ask");
    let capabilities = shop.ask(AdcpTool::GetAdcpCapabilities, json!({}));
    assert_eq!(capabilities["media_buy"]["supported_pricing_models"], json!(["cpm"]));
    assert!(capabilities["media_buy"]["frequency_capping"].is_null(), "{capabilities}");
}

#[test]
fn deal_ids_are_short_and_each_package_has_its_own() {
    let random = |prefix: &str, number: u64| format!("{prefix}_{number:032x}");
    let ids: BTreeSet<String> = (0..1_000)
        .map(|number| ExternalId::from_deal(&random("mb", number / 10), &random("pkg", number)).0)
        .collect();
    assert_eq!(ids.len(), 1_000);
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    for id in ids {
        assert!(id.len() == 26 && id.chars().all(is_plain), "{id}");
        // Nothing that is taken for a digit, or the other way round.
        assert!(!id.contains(['i', 'l', 'o', 'u']), "{id}");
    }
    expect!["tp-69xwy-c48w6-m73j6-7verq"].assert_eq(&ExternalId::from_deal("mb", "p1").0);
}

#[test]
fn people_are_told_when_a_deal_has_spent_its_budget() {
    let mut shop = shop(Some(deals()));
    let made = shop.create(json!({"packages": [deal_package(json!({"budget": 1000}))]}));
    let package = made["packages"][0].clone();
    let deal_events = |shop: &Shop| -> Vec<Value> {
        let events = shop.stored(EntityKind::StaffEvent).into_iter();
        events.filter(|event| event["subject"] == "deal").collect()
    };
    shop.harness.now = "2026-07-10T12:00:00Z".parse().unwrap();
    let running = |shop: &Shop| -> Vec<String> {
        let publisher = &shop.harness.publisher;
        let now = shop.harness.now;
        let deals = shop
            .harness
            .store
            .look(|reader| list_spent_deals(StaffView { publisher, reader, now }));
        deals.unwrap().into_iter().map(|deal| deal.deal_id.0).collect()
    };
    assert_eq!(running(&shop), Vec::<String>::new());
    let mut spend = |day: &str, spend: u64| {
        shop.wait(1);
        let row = json!({"package": package["package_id"], "day": day, "spend": spend});
        report(&shop, &rows(&[row])).unwrap();
        deal_events(&shop).len()
    };
    assert_eq!(spend("2026-07-01", 999), 0);
    assert_eq!(spend("2026-07-02", 1), 1);
    assert_eq!(spend("2026-07-03", 100), 1, "once");
    assert_eq!(spend("2026-07-01", 500), 1, "a correction");
    assert_eq!(spend("2026-07-04", 400), 2, "spent again");
    let event = deal_events(&shop).remove(0);
    let id = package["ext"]["tradepost"]["deal_id"].as_str().unwrap();
    let problem = format!(
        "The deal {id} of the package {} has spent 1000 of 1000 USD.",
        package["package_id"].as_str().unwrap()
    );
    assert_eq!(event["problem"], problem, "{event}");
    assert_eq!((&event["event"], &event["id"]), (&json!("waits"), &made["media_buy_id"]));
    assert!(event["remedy"].as_str().unwrap().starts_with("Pause the deal"), "{event}");
    // It is on the list until it is paused, or may spend more.
    assert_eq!(running(&shop), [id]);
    let buy = made["media_buy_id"].as_str().unwrap();
    assert_eq!(shop.update(buy, json!({"paused": true}))["status"], "completed");
    assert_eq!(running(&shop), Vec::<String>::new());
    let package = |budget: u64| json!([{"package_id": package["package_id"], "budget": budget}]);
    let more = shop.update(buy, json!({"paused": false, "packages": package(1100)}));
    assert_eq!(more["status"], "completed", "{more}");
    assert_eq!(running(&shop), Vec::<String>::new());
}

#[test]
fn what_a_deal_cannot_be_is_refused_at_its_field() {
    // An ad server that makes line items, too, applies targeting to those alone.
    let targeting = [tradepost_publisher::ad_server::TargetingKind::FrequencyCap].into();
    let shop = shop(Some(AdServerCapabilities { line_items: true, targeting, ..deals() }));
    let cap = json!({"frequency_cap": {"suppress": {"interval": 60, "unit": "minutes"}}});
    let assigned = json!([{"creative_id": "banner"}]);
    let refused = shop.create(json!({"packages": [
        deal_package(json!({"creative_assignments": assigned, "impressions": 1000})),
    ]}));
    expect![[r#"
        {"code":"UNSUPPORTED_FEATURE","message":"the package is sold as a deal, whose creatives your bidder serves; leave them out","recovery":"correctable","field":"packages[0].creative_assignments","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
        {"code":"UNSUPPORTED_FEATURE","message":"the package is sold as a deal, which promises no impressions; leave them out","recovery":"correctable","field":"packages[0].impressions","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
    "#]].assert_eq(&errors(&refused));
    // Whatever the ad server is, if there is one yet.
    for shop in [&shop, &self::shop(None)] {
        let refused =
            shop.create(json!({"packages": [deal_package(json!({"targeting_overlay": cap}))]}));
        expect![[r#"
            {"code":"UNSUPPORTED_FEATURE","message":"the package is sold as a deal, whose targeting your bidder applies; leave it out","recovery":"correctable","field":"packages[0].targeting_overlay.frequency_cap","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
        "#]].assert_eq(&errors(&refused));
    }
    let refused = shop.create(json!({"packages": [
        deal_package(json!({"product_id": "promised"})),
        deal_package(json!({"product_id": "clicked", "pricing_option_id": "cpc"})),
    ]}));
    expect![[r#"
        {"code":"PRODUCT_UNAVAILABLE","message":"the seller's ad server cannot deliver this product now; choose another one","recovery":"correctable","field":"packages[0].product_id","suggestion":"choose another product","details":{"product_id":"promised"}}
        {"code":"UNSUPPORTED_FEATURE","message":"the seller's ad server does not do this; details.reason says what; leave it out, or choose something else","recovery":"correctable","field":"packages[1].pricing_option_id","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"reason":"A deal has a price for a thousand impressions."}}
    "#]].assert_eq(&errors(&refused));
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
    let made = shop.create(json!({"packages": [deal_package(json!({}))]}));
    let buy = made["media_buy_id"].as_str().unwrap();
    let id = &made["packages"][0]["package_id"];
    for (change, field) in [
        (json!({"creative_assignments": assigned}), "packages[0].creative_assignments"),
        (json!({"targeting_overlay": cap}), "packages[0].targeting_overlay.frequency_cap"),
    ] {
        let mut change = change;
        change["package_id"] = id.clone();
        let answer = shop.update(buy, json!({"packages": [change]}));
        assert_eq!(answer["errors"][0]["code"], "UNSUPPORTED_FEATURE", "{answer}");
        assert_eq!(answer["errors"][0]["field"], field, "{answer}");
    }
    let assignment = json!({"creative_id": "banner", "package_id": id});
    let sync = json!({
        "creatives": [banner("new")], "validation_mode": "lenient", "assignments": [assignment],
    });
    let answer = shop.ask(AdcpTool::SyncCreatives, sync);
    assert!(answer.to_string().contains("whose creatives your bidder serves"), "{answer}");
    // Pauses and dates are what a deal has.
    assert_eq!(shop.update(buy, json!({"paused": true}))["status"], "completed");
    let longer = shop.update(buy, json!({"end_time": "2026-09-01T00:00:00Z"}));
    assert_eq!(longer["status"], "completed", "{longer}");
}

#[test]
fn an_ad_server_without_deals_sells_none() {
    let shop = shop(Some(AdServerCapabilities { line_items: true, ..Default::default() }));
    let answer = shop.create(json!({"packages": [deal_package(json!({}))]}));
    assert_eq!(answer["errors"][0]["code"], "PRODUCT_UNAVAILABLE", "{answer}");
    assert_eq!(answer["errors"][0]["field"], "packages[0].product_id", "{answer}");
}

/// The mistakes of a catalogue whose only product has these members and these terms of a deal.
fn mistakes(published: Value, deal: &Value) -> Vec<String> {
    let mut product = json!({
        "product_id": "dealt", "name": "Dealt", "description": "A deal.",
        "publisher_properties": [{"publisher_domain": "gazette.example", "selection_type": "all"}],
        "channels": ["display"], "delivery_type": "non_guaranteed",
        "format_ids": [{"id": "display_300x250"}],
        "pricing_options": [fixed(8.0, "USD")],
        "reporting_capabilities": {
            "available_reporting_frequencies": ["daily"], "expected_delay_minutes": 60,
            "timezone": "UTC", "supports_webhooks": false, "available_metrics": ["impressions"],
            "date_range_support": "date_range",
        },
        "terms": {"ad_server": {"deal": deal}},
    });
    product.as_object_mut().unwrap().extend(published.as_object().unwrap().clone());
    let document = json!({
        "agent_url": "https://ads.gazette.example",
        "formats": [{
            "format_id": {"id": "display_300x250"}, "name": "Banner",
            "renders": [{"role": "primary", "dimensions": {"width": 300, "height": 250, "unit": "px"}}],
            "assets": [{
                "item_type": "individual", "asset_id": "image", "asset_type": "image", "required": true,
            }],
        }],
        "products": [product],
    });
    match Catalogue::parse(&document.to_string()) {
        Ok(catalogue) => {
            let terms = catalogue.products[0].terms.ad_server.as_ref().unwrap();
            assert!(terms.deal.is_some());
            Vec::new()
        }
        Err(mistakes) => mistakes.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_catalogue_says_what_its_deals_are() {
    let floor = json!({
        "pricing_option_id": "floor", "pricing_model": "cpm", "currency": "USD", "floor_price": 5,
    });
    let clicked = json!({
        "pricing_option_id": "cpc", "pricing_model": "cpc", "currency": "USD", "fixed_price": 1,
    });
    assert_eq!(mistakes(json!({}), &json!({})), [""; 0]);
    let first = DealAuction::FirstPrice;
    let deal = json!({"auction": first, "seats": ["seat-7"]});
    assert_eq!(mistakes(json!({"pricing_options": [floor]}), &deal), [""; 0]);
    let found = mistakes(
        json!({"delivery_type": "guaranteed", "pricing_options": [floor, clicked]}),
        &json!({"auction": "fixed_price", "seats": [" "]}),
    );
    expect![[r#"
        [
            "/products/0/terms/ad_server/deal/seats: has a seat that is empty",
            "/products/0/delivery_type: must be non_guaranteed: a deal promises no impressions",
            "/products/0/terms/ad_server/deal: is for prices by cpm alone, and not by cpc",
            "/products/0/terms/ad_server/deal/auction: must not be fixed_price where a price of the product is a floor",
        ]
    "#]]
    .assert_debug_eq(&found);
}

fn spend(shop: &mut Shop, made: &Value, spend: u64) {
    shop.wait(1);
    let buy = &made["media_buy_id"];
    let row = json!({"buy": buy, "package": null, "day": "2026-07-01", "spend": spend});
    report(shop, &rows(&[row])).unwrap();
}

#[test]
fn staff_hear_of_spent_budgets_until_the_deal_is_over() {
    let mut shop = shop(Some(deals()));
    let long = shop.create(json!({"packages": [deal_package(json!({"budget": 1000}))]}));
    let short = json!({"budget": 1000, "end_time": "2026-07-08T00:00:00Z"});
    let others: Vec<Value> =
        (0..3).map(|_| shop.create(json!({"packages": [deal_package(short.clone())]}))).collect();
    let deal_events = |shop: &Shop| -> usize {
        let events = shop.stored(EntityKind::StaffEvent).into_iter();
        events.filter(|event| event["subject"] == "deal").count()
    };
    shop.harness.now = "2026-07-05T12:00:00Z".parse().unwrap();
    for other in &others {
        spend(&mut shop, other, 1000);
    }
    spend(&mut shop, &long, 600);
    assert_eq!(deal_events(&shop), 3);
    let buy = long["media_buy_id"].as_str().unwrap();
    let lower =
        json!({"packages": [{"package_id": long["packages"][0]["package_id"], "budget": 600}]});
    let lowered = shop.update(buy, lower);
    assert_eq!(lowered["status"], "completed", "{lowered}");
    assert_eq!(deal_events(&shop), 4);
    spend(&mut shop, &long, 650);
    assert_eq!(deal_events(&shop), 4, "once");
    let listed = |shop: &Shop, now: &str| -> usize {
        let publisher = &shop.harness.publisher;
        let now = now.parse().unwrap();
        let listed = shop
            .harness
            .store
            .look(|reader| list_spent_deals(StaffView { publisher, reader, now }));
        listed.unwrap().len()
    };
    assert_eq!(listed(&shop, "2026-07-06T00:00:00Z"), 4);
    assert_eq!(listed(&shop, "2026-07-09T00:00:00Z"), 1);
    // Nobody has to pause what is over.
    shop.harness.now = "2026-07-09T12:00:00Z".parse().unwrap();
    spend(&mut shop, others.first().unwrap(), 900);
    spend(&mut shop, others.first().unwrap(), 1000);
    assert_eq!(deal_events(&shop), 4);
}
