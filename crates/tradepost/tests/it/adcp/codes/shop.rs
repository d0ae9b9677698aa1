//! A publisher with the demo catalogue and some products more, and what cannot be bought there:
//! products, audiences, terms, and what goes beyond a budget.

use expect_test::{Expect, expect};
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::{Catalogue, Product, ProductTerms};

use super::buys::{ACCOUNT, KEYS};
use super::{check, usual};
use crate::support::publisher::RequestCase;
use crate::support::with;

/// A product, with what only the publisher knows of it.
fn product(id: &str, terms: ProductTerms) -> Product {
    let published = json!({
        "product_id": id, "name": id, "description": "A product.",
        "publisher_properties": [{"publisher_domain": "gazette.example", "selection_type": "all"}],
        "channels": ["display"], "delivery_type": "non_guaranteed",
        "format_ids": [{"agent_url": "https://ads.gazette.example", "id": "display_300x250"}],
        "pricing_options": [{"pricing_option_id": "cpm", "pricing_model": "cpm", "currency": "USD",
            "fixed_price": 8, "min_spend_per_package": 500}],
        "reporting_capabilities": {"available_reporting_frequencies": ["daily"],
            "expected_delay_minutes": 60, "timezone": "UTC", "supports_webhooks": false,
            "available_metrics": ["impressions", "spend"], "date_range_support": "date_range"},
    });
    Product::new(published.as_object().unwrap().clone(), terms)
}

/// What is sold.
pub fn catalogue() -> Catalogue {
    let mut catalogue = demo::catalogue();
    let usual = ProductTerms::default;
    let past = Some("2026-04-01T00:00:00Z".parse().unwrap());
    let actions = json!([{"action": "pause", "modes": ["self_serve"]}]);
    let strict = product("strict", usual()).with("allowed_actions", actions);
    catalogue.products.extend([
        product("plain", usual()),
        strict,
        product("gone", ProductTerms { sold_out: true, ..usual() }),
        product("over", ProductTerms { expires_at: past, ..usual() }),
        product("early", ProductTerms { creative_lead_hours: Some(48), ..usual() }),
        product(
            "dry",
            ProductTerms {
                refused_industries: vec!["food_beverage.alcohol".to_owned()],
                ..usual()
            },
        ),
    ]);
    catalogue.audiences.minimum_size = 100;
    catalogue
}

/// A publisher that sells it.
pub fn shop() -> RequestCase {
    usual().at(|config| config.publishers[0].profile.catalogue = catalogue())
}

/// An order of a product, changed.
fn order(product: &str, changes: &[(&str, Value)]) -> Value {
    let whole = json!({
        "account": ACCOUNT(), "brand": {"domain": "test.example"},
        "start_time": "2026-06-01T00:00:00Z", "end_time": "2026-07-01T00:00:00Z",
        "packages": [{"product_id": product, "pricing_option_id": "cpm", "budget": 5000}],
        "idempotency_key": KEYS[2],
    });
    with(whole, changes)
}

#[track_caller]
fn refused(product: &str, changes: &[(&str, Value)], code: &str, expected: Expect) {
    check(&shop(), "create_media_buy", order(product, changes), code, expected);
}

#[test]
fn product_unavailable() {
    refused(
        "gone",
        &[],
        "PRODUCT_UNAVAILABLE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the product is sold out; choose another one",
          "adcp_error":{"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable",
            "field":"packages[0].product_id","suggestion":"choose another product"},
          "errors":[
            {"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable","field":"packages[0].product_id",
              "suggestion":"choose another product"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn product_expired() {
    refused(
        "over",
        &[],
        "PRODUCT_EXPIRED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the product has left the offer; ask get_products for what there is now",
          "adcp_error":{"code":"PRODUCT_EXPIRED","message":"the product has left the offer; ask get_products for what there is now","recovery":"correctable",
            "field":"packages[0].product_id","suggestion":"discover again with get_products"},
          "errors":[
            {"code":"PRODUCT_EXPIRED","message":"the product has left the offer; ask get_products for what there is now","recovery":"correctable",
              "field":"packages[0].product_id","suggestion":"discover again with get_products"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn policy_violation_of_a_brief() {
    let brief = json!({"buying_mode": "brief", "brief": "Video for our new cigarettes"});
    check(
        &shop(),
        "get_products",
        brief,
        "POLICY_VIOLATION",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"what is to be advertised is against the seller's advertising policy; see details",
          "adcp_error":{"code":"POLICY_VIOLATION","message":"what is to be advertised is against the seller's advertising policy; see details",
            "recovery":"correctable","field":"brief","suggestion":"read the policy in details and change the request",
            "details":{"policy_id":"tobacco","policy_url":"https://gazette.example/advertising/policy#tobacco",
              "violated_rules":["Tobacco, cigarettes and vaping are not advertised."]}},
          "errors":[
            {"code":"POLICY_VIOLATION","message":"what is to be advertised is against the seller's advertising policy; see details","recovery":"correctable",
              "field":"brief","suggestion":"read the policy in details and change the request",
              "details":{"policy_id":"tobacco","policy_url":"https://gazette.example/advertising/policy#tobacco",
                "violated_rules":["Tobacco, cigarettes and vaping are not advertised."]}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn policy_violation_of_an_industry() {
    let beer = json!("food_beverage.alcohol");
    refused(
        "dry",
        &[("/advertiser_industry", beer)],
        "POLICY_VIOLATION",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"a product in the request is not sold to this industry; see details",
          "adcp_error":{"code":"POLICY_VIOLATION","message":"a product in the request is not sold to this industry; see details","recovery":"correctable",
            "field":"advertiser_industry","suggestion":"read the policy in details and change the request",
            "details":{"policy_id":"advertiser_industry","violated_rules":["the product is closed to the industry"]}},
          "errors":[
            {"code":"POLICY_VIOLATION","message":"a product in the request is not sold to this industry; see details","recovery":"correctable",
              "field":"advertiser_industry","suggestion":"read the policy in details and change the request",
              "details":{"policy_id":"advertiser_industry","violated_rules":["the product is closed to the industry"]}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn terms_rejected() {
    let terms = json!({"billing_measurement": {"vendor": {"domain": "counts.example"},
        "max_variance_percent": 1}});
    refused(
        "plain",
        &[("/packages/0/measurement_terms", terms)],
        "TERMS_REJECTED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the counts of two vendors differ by more than that",
          "adcp_error":{"code":"TERMS_REJECTED","message":"the counts of two vendors differ by more than that","recovery":"correctable",
            "field":"packages[0].measurement_terms.billing_measurement.max_variance_percent",
            "suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":{"minimum":5}}},
          "errors":[
            {"code":"TERMS_REJECTED","message":"the counts of two vendors differ by more than that","recovery":"correctable",
              "field":"packages[0].measurement_terms.billing_measurement.max_variance_percent",
              "suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":{"minimum":5}}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn unsupported_feature() {
    let aim = json!({"axe_include_segment": "seg"});
    let code = [("/packages/0/targeting_overlay", aim)];
    refused(
        "plain",
        &code,
        "UNSUPPORTED_FEATURE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"this seller does not do that; leave the field out",
          "adcp_error":{"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable",
            "field":"packages[0].targeting_overlay.axe_include_segment","suggestion":"read get_adcp_capabilities and leave out what is not supported"},
          "errors":[
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable",
              "field":"packages[0].targeting_overlay.axe_include_segment","suggestion":"read get_adcp_capabilities and leave out what is not supported"}],
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn signal_not_found_where_it_is_aimed_at() {
    let signal = json!({"value_type": "binary", "signal_ref": {"scope": "signal_source",
        "signal_source_url": "https://ads.gazette.example", "signal_id": "seg_unknown"}, "value": true});
    let groups = json!({"operator": "all", "groups": [{"operator": "any", "signals": [signal]}]});
    let aim = json!({"signal_targeting_groups": groups});
    let changes = [("/packages/0/targeting_overlay", aim)];
    refused(
        "plain",
        &changes,
        "SIGNAL_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"SIGNAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"packages[0].targeting_overlay.signal_targeting_groups.groups[0].signals[0]","suggestion":"check the signal with get_signals"},
          "errors":[
            {"code":"SIGNAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"packages[0].targeting_overlay.signal_targeting_groups.groups[0].signals[0]","suggestion":"check the signal with get_signals"}],
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn audience_too_small() {
    let member = json!({"external_id": "crm-1", "hashed_email": "1".repeat(64)});
    let audience = json!({"audience_id": "loyal", "name": "Loyal", "add": [member]});
    let sync = json!({"account": ACCOUNT(), "idempotency_key": KEYS[1], "audiences": [audience]});
    let case = shop().after("acme", "sync_audiences", sync);
    let aim = json!({"audience_include": ["loyal"]});
    let asked = order("plain", &[("/packages/0/targeting_overlay", aim)]);
    check(
        &case,
        "create_media_buy",
        asked,
        "AUDIENCE_TOO_SMALL",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the audience is smaller than what can be aimed at; add to it",
          "adcp_error":{"code":"AUDIENCE_TOO_SMALL","message":"the audience is smaller than what can be aimed at; add to it","recovery":"correctable",
            "field":"packages[0].targeting_overlay.audience_include[0]","suggestion":"broaden the targeting or add members",
            "details":{"minimum_size":100,"current_size":1}},
          "errors":[
            {"code":"AUDIENCE_TOO_SMALL","message":"the audience is smaller than what can be aimed at; add to it","recovery":"correctable",
              "field":"packages[0].targeting_overlay.audience_include[0]","suggestion":"broaden the targeting or add members",
              "details":{"minimum_size":100,"current_size":1}}],"adcp_version":"3.1"}
    "#]],
    );
}

/// A buy of a product, as the first thing that was done.
fn bought(product: &str) -> RequestCase {
    shop().after("acme", "create_media_buy", order(product, &[]))
}

fn update(members: &[(&str, Value)]) -> Value {
    let update = json!({"account": ACCOUNT(), "media_buy_id": "$0/media_buy_id",
        "idempotency_key": KEYS[5]});
    with(update, members)
}

#[test]
fn action_not_allowed() {
    let longer = update(&[("/end_time", json!("2026-08-01T00:00:00Z"))]);
    check(
        &bought("strict"),
        "update_media_buy",
        longer,
        "ACTION_NOT_ALLOWED",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"the media buy does not permit this now; details say why, and what it permits",
              "adcp_error":{"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits",
                "recovery":"terminal","field":"end_time","suggestion":"read details.reason and currently_available_actions",
                "details":{"attempted_action":"extend_flight","reason":"not_supported_on_product",
                  "currently_available_actions":[{"action":"pause","mode":"self_serve"}]}},
              "errors":[
                {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"terminal",
                  "field":"end_time","suggestion":"read details.reason and currently_available_actions",
                  "details":{"attempted_action":"extend_flight","reason":"not_supported_on_product",
                    "currently_available_actions":[{"action":"pause","mode":"self_serve"}]}}],"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn not_cancellable_by_what_was_sold() {
    let canceled = update(&[("/canceled", json!(true))]);
    check(
        &bought("strict"),
        "update_media_buy",
        canceled,
        "NOT_CANCELLABLE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the terms of what was bought have no cancellation; ask the seller",
          "adcp_error":{"code":"NOT_CANCELLABLE","message":"the terms of what was bought have no cancellation; ask the seller","recovery":"correctable",
            "field":"canceled","suggestion":"read the seller's cancellation policy, or ask the seller"},
          "errors":[
            {"code":"NOT_CANCELLABLE","message":"the terms of what was bought have no cancellation; ask the seller","recovery":"correctable",
              "field":"canceled","suggestion":"read the seller's cancellation policy, or ask the seller"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn invalid_state_of_a_buy_that_is_over() {
    let canceled = update(&[("/canceled", json!(true)), ("/idempotency_key", json!(KEYS[6]))]);
    let case = bought("plain").after("acme", "update_media_buy", canceled);
    let paused = update(&[("/paused", json!(true))]);
    check(
        &case,
        "update_media_buy",
        paused,
        "INVALID_STATE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the media buy is over and cannot be changed; details.status says how it stands",
          "adcp_error":{"code":"INVALID_STATE","message":"the media buy is over and cannot be changed; details.status says how it stands",
            "recovery":"correctable","suggestion":"read the current state and choose an operation that it permits","details":{"status":"canceled"}},
          "errors":[
            {"code":"INVALID_STATE","message":"the media buy is over and cannot be changed; details.status says how it stands","recovery":"correctable",
              "suggestion":"read the current state and choose an operation that it permits","details":{"status":"canceled"}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn creative_deadline_exceeded() {
    // The flight begins on June 1st; creatives were to be there two days before.
    let case = bought("early").later(31 * 24 * 3600);
    let sample = json!([{"creative_id": "display_trail_pro_300x250"}]);
    let package = json!({"package_id": "$0/packages/0/package_id", "creative_assignments": sample});
    let asked = update(&[("/packages", json!([package]))]);
    check(
        &case,
        "update_media_buy",
        asked,
        "CREATIVE_DEADLINE_EXCEEDED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the creatives of this package could be changed until its creative_deadline",
          "adcp_error":{"code":"CREATIVE_DEADLINE_EXCEEDED","message":"the creatives of this package could be changed until its creative_deadline",
            "recovery":"correctable","field":"packages[0].creative_assignments","suggestion":"negotiate a later deadline with the seller"},
          "errors":[
            {"code":"CREATIVE_DEADLINE_EXCEEDED","message":"the creatives of this package could be changed until its creative_deadline",
              "recovery":"correctable","field":"packages[0].creative_assignments","suggestion":"negotiate a later deadline with the seller"}],
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn unsupported_granularity() {
    let hourly = json!({"account": ACCOUNT(), "media_buy_ids": ["$0/media_buy_id"],
        "time_granularity": "hourly"});
    check(
        &bought("plain"),
        "get_media_buy_delivery",
        hourly,
        "UNSUPPORTED_GRANULARITY",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"these media buys are not reported in such windows",
          "adcp_error":{"code":"UNSUPPORTED_GRANULARITY","message":"these media buys are not reported in such windows","recovery":"correctable",
            "field":"time_granularity","suggestion":"choose a granularity that the product declares, or leave it out","details":{"accepted_values":[]}},
          "errors":[
            {"code":"UNSUPPORTED_GRANULARITY","message":"these media buys are not reported in such windows","recovery":"correctable",
              "field":"time_granularity","suggestion":"choose a granularity that the product declares, or leave it out","details":{"accepted_values":[]}}],
          "adcp_version":"3.1"}
    "#]],
    );
}

/// A publisher at which an account for tests has a limit, and whose product is a plain one.
fn funded(limit: u32, committed: u32) -> (RequestCase, Value) {
    let funds = json!({"limit": limit, "committed": committed, "currency": "USD"});
    let seed = json!({"scenario": "seed_account", "account": ACCOUNT(), "params": {"account_id": "acc_test",
        "fixture": {"funds": funds, "brand": {"domain": "funds.example"}, "operator": "funds.example"}}});
    let account = json!({"account_id": "acc_test"});
    let case = shop().after("acme", "comply_test_controller", seed);
    (case, order("plain", &[("/account", account)]))
}

#[test]
fn budget_exhausted() {
    let (case, order) = funded(10000, 10000);
    check(
        &case,
        "create_media_buy",
        order,
        "BUDGET_EXHAUSTED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account has nothing left to spend; the buyer has to add funds",
          "adcp_error":{"code":"BUDGET_EXHAUSTED","message":"the account has nothing left to spend; the buyer has to add funds","recovery":"terminal",
            "field":"packages","suggestion":"have funds added or the cap raised"},
          "errors":[
            {"code":"BUDGET_EXHAUSTED","message":"the account has nothing left to spend; the buyer has to add funds","recovery":"terminal","field":"packages",
              "suggestion":"have funds added or the cap raised"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn budget_exceeded() {
    let (case, order) = funded(10000, 9000);
    check(
        &case,
        "create_media_buy",
        order,
        "BUDGET_EXCEEDED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account has less left to spend than this costs; see details",
          "adcp_error":{"code":"BUDGET_EXCEEDED","message":"the account has less left to spend than this costs; see details","recovery":"correctable",
            "field":"packages","suggestion":"ask for less, or allocate more","details":{"requested":5000,"available":1000,"currency":"USD"}},
          "errors":[
            {"code":"BUDGET_EXCEEDED","message":"the account has less left to spend than this costs; see details","recovery":"correctable","field":"packages",
              "suggestion":"ask for less, or allocate more","details":{"requested":5000,"available":1000,"currency":"USD"}}],"adcp_version":"3.1"}
    "#]],
    );
}
