//! Buying: what cannot be bought, changed or canceled.

use expect_test::expect;
use tradepost_document::json::{Value, json};

use super::{check, usual};
use crate::support::publisher::RequestCase;
use crate::support::with;

/// Idempotency keys.
pub const KEYS: [&str; 8] = [
    "0d5c2a10-0000-4000-8000-000000000000",
    "0d5c2a10-0000-4000-8000-000000000001",
    "0d5c2a10-0000-4000-8000-000000000002",
    "0d5c2a10-0000-4000-8000-000000000003",
    "0d5c2a10-0000-4000-8000-000000000004",
    "0d5c2a10-0000-4000-8000-000000000005",
    "0d5c2a10-0000-4000-8000-000000000006",
    "0d5c2a10-0000-4000-8000-000000000007",
];

/// The account that requests are for.
#[expect(non_snake_case, reason = "it is a constant, but for the allocation")]
pub fn ACCOUNT() -> Value {
    json!({"brand": {"domain": "test.example"}, "operator": "test.example", "sandbox": true})
}

/// A publisher that sells one product.
pub fn sold() -> RequestCase {
    let seed = |scenario: &str, params: Value| json!({"scenario": scenario, "params": params, "account": ACCOUNT()});
    let product = json!({"product_id": "prod_test", "fixture": {
        "delivery_type": "non_guaranteed", "channels": ["display"],
        "format_ids": [{"id": "display_300x250"}]}});
    let price = json!({"product_id": "prod_test", "pricing_option_id": "cpm_test", "fixture": {
        "pricing_model": "cpm", "currency": "USD", "fixed_price": 10, "min_spend_per_package": 500}});
    usual().after("acme", "comply_test_controller", seed("seed_product", product)).after(
        "acme",
        "comply_test_controller",
        seed("seed_pricing_option", price),
    )
}

/// An order of it, changed.
pub fn order(changes: &[(&str, Value)]) -> Value {
    let whole = json!({
        "account": ACCOUNT(), "brand": {"domain": "test.example"},
        "start_time": "2026-06-01T00:00:00Z", "end_time": "2026-07-01T00:00:00Z",
        "packages": [{"product_id": "prod_test", "pricing_option_id": "cpm_test", "budget": 5000}],
        "idempotency_key": KEYS[2],
    });
    with(whole, changes)
}

/// The same publisher, when `acme` has bought.
pub fn buy() -> RequestCase {
    sold().after("acme", "create_media_buy", order(&[]))
}

fn update(members: &[(&str, Value)]) -> Value {
    let update = json!({"account": ACCOUNT(), "media_buy_id": "$2/media_buy_id",
        "idempotency_key": KEYS[6]});
    with(update, members)
}

#[test]
fn budget_too_low() {
    let low = order(&[("/packages/0/budget", json!(5))]);
    check(
        &sold(),
        "create_media_buy",
        low,
        "BUDGET_TOO_LOW",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the budget is below the least that a package of this product may cost",
          "adcp_error":{"code":"BUDGET_TOO_LOW","message":"the budget is below the least that a package of this product may cost","recovery":"correctable",
            "field":"packages[0].budget","suggestion":"raise the budget to the minimum in details","details":{"minimum_budget":500,"currency":"USD"}},
          "errors":[
            {"code":"BUDGET_TOO_LOW","message":"the budget is below the least that a package of this product may cost","recovery":"correctable",
              "field":"packages[0].budget","suggestion":"raise the budget to the minimum in details","details":{"minimum_budget":500,"currency":"USD"}}],
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn invalid_request_for_a_flight_that_ends_before_it_begins() {
    let reversed = order(&[("/end_time", json!("2026-05-15T00:00:00Z"))]);
    check(
        &sold(),
        "create_media_buy",
        reversed,
        "INVALID_REQUEST",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the end is not after the beginning",
          "adcp_error":{"code":"INVALID_REQUEST","message":"the end is not after the beginning","recovery":"correctable","field":"end_time",
            "suggestion":"correct what field and issues name and send again"},
          "errors":[
            {"code":"INVALID_REQUEST","message":"the end is not after the beginning","recovery":"correctable","field":"end_time",
              "suggestion":"correct what field and issues name and send again"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn conflict() {
    let stale = update(&[("/revision", json!(7)), ("/paused", json!(true))]);
    check(
        &buy(),
        "update_media_buy",
        stale,
        "CONFLICT",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"the media buy has changed since that revision; read it again and send the change anew",
              "adcp_error":{"code":"CONFLICT","message":"the media buy has changed since that revision; read it again and send the change anew",
                "recovery":"transient","field":"revision","suggestion":"read the resource again and send the change against its current state",
                "details":{"resource_id":"mb_<id>","expected_version":7,"current_version":1}},
              "errors":[
                {"code":"CONFLICT","message":"the media buy has changed since that revision; read it again and send the change anew","recovery":"transient",
                  "field":"revision","suggestion":"read the resource again and send the change against its current state",
                  "details":{"resource_id":"mb_<id>","expected_version":7,"current_version":1}}],"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn not_cancellable() {
    let canceled = update(&[("/canceled", json!(true))]);
    let again = update(&[("/canceled", json!(true)), ("/idempotency_key", json!(KEYS[7]))]);
    let case = buy().after("acme", "update_media_buy", canceled);
    check(
        &case,
        "update_media_buy",
        again,
        "NOT_CANCELLABLE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the media buy is over and cannot be canceled; details.status says how it stands",
          "adcp_error":{"code":"NOT_CANCELLABLE","message":"the media buy is over and cannot be canceled; details.status says how it stands",
            "recovery":"correctable","field":"canceled","suggestion":"read the seller's cancellation policy, or ask the seller",
            "details":{"status":"canceled"}},
          "errors":[
            {"code":"NOT_CANCELLABLE","message":"the media buy is over and cannot be canceled; details.status says how it stands","recovery":"correctable",
              "field":"canceled","suggestion":"read the seller's cancellation policy, or ask the seller","details":{"status":"canceled"}}],
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn stale_response() {
    let outage = json!({"scenario": "force_upstream_unavailable", "account": ACCOUNT(), "params": {"tool": "get_products"}});
    let case = sold().after("acme", "comply_test_controller", outage);
    let all = json!({"buying_mode": "wholesale", "account": ACCOUNT()});
    check(
        &case,
        "get_products",
        all,
        "STALE_RESPONSE",
        expect![[r#"
            200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
            {"status":"completed","message":"1 product fits",
              "products":[
                {"product_id":"prod_test","name":"Prod test","description":"Prod test, for tests.",
                  "publisher_properties":[{"publisher_domain":"gazette.example","selection_type":"all"}],"delivery_type":"non_guaranteed",
                  "pricing_options":[{"pricing_option_id":"cpm_test","pricing_model":"cpm","currency":"USD","fixed_price":10,"min_spend_per_package":500}],
                  "reporting_capabilities":{"available_reporting_frequencies":["daily"],"expected_delay_minutes":60,"timezone":"UTC","supports_webhooks":false,
                    "available_metrics":["impressions","spend","clicks"],"date_range_support":"date_range"},"channels":["display"],
                  "format_ids":[{"id":"display_300x250","agent_url":"http://127.0.0.1:8080"}]}],"pagination":{"has_more":false,"total_count":1},
              "cache_scope":"public","wholesale_feed_version":"138c6b080df8b999","sandbox":true,
              "errors":[
                {"code":"STALE_RESPONSE","message":"availability is from an earlier answer, because what knows it cannot be asked","recovery":"transient",
                  "suggestion":"use the answer, or ask again later for a fresh one",
                  "details":{"served_from_cache":true,"cache_age_seconds":0,"upstream":{"name":"ad server"}},"severity":"warning"}],"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn format_declaration_divergent() {
    let format = |id: &str| json!({"agent_url": "https://formats.example", "id": id});
    let fixture = json!({
        "format_ids": [format("older")],
        "format_options": [{"format_kind": "image", "v1_format_ref": [format("newer")], "params": {}}],
    });
    let seed = |scenario: &str, params: Value| json!({"scenario": scenario, "params": params, "account": ACCOUNT()});
    let product = json!({"product_id": "prod_two", "fixture": fixture});
    let price = json!({"product_id": "prod_two", "pricing_option_id": "cpm_two", "fixture": {"fixed_price": 10}});
    let case = usual()
        .after("acme", "comply_test_controller", seed("seed_product", product))
        .after("acme", "comply_test_controller", seed("seed_pricing_option", price));
    let all = json!({"buying_mode": "wholesale", "account": ACCOUNT(), "fields": ["name"]});
    check(
        &case,
        "get_products",
        all,
        "FORMAT_DECLARATION_DIVERGENT",
        expect![[r#"
            200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
            {"status":"completed","message":"1 product fits",
              "products":[
                {"product_id":"prod_two","name":"Prod two","description":"Prod two, for tests.",
                  "publisher_properties":[{"publisher_domain":"gazette.example","selection_type":"all"}],"delivery_type":"non_guaranteed",
                  "pricing_options":[{"pricing_option_id":"cpm_two","pricing_model":"cpm","currency":"USD","fixed_price":10}],
                  "reporting_capabilities":{"available_reporting_frequencies":["daily"],"expected_delay_minutes":60,"timezone":"UTC","supports_webhooks":false,
                    "available_metrics":["impressions","spend","clicks"],"date_range_support":"date_range"},
                  "format_ids":[{"agent_url":"https://formats.example","id":"older"}],
                  "format_options":[{"format_kind":"image","v1_format_ref":[{"agent_url":"https://formats.example","id":"newer"}],"params":{}}]}],
              "pagination":{"has_more":false,"total_count":1},"cache_scope":"public","wholesale_feed_version":"45d50840d462d223","sandbox":true,
              "errors":[
                {"code":"FORMAT_DECLARATION_DIVERGENT",
                  "message":"format_ids and v1_format_ref of format_options name different formats; trust format_options, and tell the seller",
                  "recovery":"correctable","field":"products[0].format_options","suggestion":"prefer format_options and tell the seller","source":"producer",
                  "severity":"warning"}],"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn a_buy_comes_about_alike_on_every_binding() {
    check(
        &sold(),
        "create_media_buy",
        order(&[]),
        "",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"the media buy has been created","media_buy_id":"mb_<id>","media_buy_status":"pending_creatives","revision":1,
          "currency":"USD","total_budget":5000,
          "valid_actions":[
            "pause",
            "cancel",
            "extend_flight",
            "shorten_flight",
            "update_flight_dates",
            "increase_budget",
            "decrease_budget",
            "reallocate_budget",
            "update_targeting",
            "update_pacing",
            "update_frequency_caps",
            "update_creative_assignments",
            "remove_creative",
            "add_packages",
            "remove_packages",
            "sync_creatives"],
          "available_actions":[
            {"action":"pause","mode":"self_serve"},
            {"action":"cancel","mode":"self_serve"},
            {"action":"extend_flight","mode":"self_serve"},
            {"action":"shorten_flight","mode":"self_serve"},
            {"action":"update_flight_dates","mode":"self_serve"},
            {"action":"increase_budget","mode":"self_serve"},
            {"action":"decrease_budget","mode":"self_serve"},
            {"action":"reallocate_budget","mode":"self_serve"},
            {"action":"update_targeting","mode":"self_serve"},
            {"action":"update_pacing","mode":"self_serve"},
            {"action":"update_frequency_caps","mode":"self_serve"},
            {"action":"update_creative_assignments","mode":"self_serve"},
            {"action":"remove_creative","mode":"self_serve"},
            {"action":"add_packages","mode":"self_serve"},
            {"action":"remove_packages","mode":"self_serve"},
            {"action":"sync_creatives","mode":"self_serve"}],"confirmed_at":"2026-04-30T12:00:00Z",
          "packages":[
            {"package_id":"pkg_<id>","product_id":"prod_test","pricing_option_id":"cpm_test","budget":5000,"start_time":"2026-06-01T00:00:00Z",
              "end_time":"2026-07-01T00:00:00Z","paused":false}],
          "account":{"account_id":"acc_<id>","name":"test.example","status":"active","brand":{"domain":"test.example"},"operator":"test.example",
            "billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":true},"sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}
