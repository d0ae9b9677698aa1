//! `create_media_buy` and `get_media_buys`: what comes about, and every reason not to.

use std::time::Duration;

use expect_test::{Expect, expect};
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::services::{Supply, Unavailable};
use tradepost_publisher::store::EntityKind;

use crate::support::shop::{Shop, errors, package};

/// Asks for buys that cannot come about, one after the other, and compares all errors of each. Nothing
/// is kept of any.
fn refused(shop: &Shop, requests: &[(&str, Value)], expected: &Expect) {
    let before = (
        shop.stored(EntityKind::MediaBuy),
        shop.stored(EntityKind::Account),
        shop.stored(EntityKind::Task),
    );
    let mut transcript = String::new();
    for (title, changes) in requests {
        let answer = shop.create(changes.clone());
        transcript.push_str(&format!("# {title}\n{}", errors(&answer)));
    }
    expected.assert_eq(&transcript);
    let after = (
        shop.stored(EntityKind::MediaBuy),
        shop.stored(EntityKind::Account),
        shop.stored(EntityKind::Task),
    );
    assert_eq!(before, after);
}

/// A buy of one package that is like this.
fn with_package(changes: Value) -> Value {
    json!({"packages": [package(changes)]})
}

#[test]
fn a_new_buy_says_what_can_be_done_with_it() {
    let shop = Shop::new();
    let answer = shop.create(json!({
        "context": {"trace": 1},
        "packages": [
            package(json!({"context": {"buyer_ref": "line-1"}, "bid_price": 3})),
            package(json!({
                "product_id": "auction", "pricing_option_id": "auction", "bid_price": 6.5,
                "budget": 1500.5, "creative_assignments": null, "pacing": "even",
                "targeting_overlay": {"geo_countries": ["US"]},
            })),
        ],
    }));
    expect![[r#"
        {
          "status": "completed",
          "message": "the media buy has been created",
          "media_buy_id": "mb_1",
          "media_buy_status": "pending_creatives",
          "revision": 1,
          "currency": "USD",
          "total_budget": 2500.5,
          "valid_actions": [
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
            "sync_creatives"
          ],
          "available_actions": [
            {
              "action": "pause",
              "mode": "self_serve"
            },
            {
              "action": "cancel",
              "mode": "self_serve"
            },
            {
              "action": "extend_flight",
              "mode": "self_serve"
            },
            {
              "action": "shorten_flight",
              "mode": "self_serve"
            },
            {
              "action": "update_flight_dates",
              "mode": "self_serve"
            },
            {
              "action": "increase_budget",
              "mode": "self_serve"
            },
            {
              "action": "decrease_budget",
              "mode": "self_serve"
            },
            {
              "action": "reallocate_budget",
              "mode": "self_serve"
            },
            {
              "action": "update_targeting",
              "mode": "self_serve"
            },
            {
              "action": "update_pacing",
              "mode": "self_serve"
            },
            {
              "action": "update_frequency_caps",
              "mode": "self_serve"
            },
            {
              "action": "update_creative_assignments",
              "mode": "self_serve"
            },
            {
              "action": "remove_creative",
              "mode": "self_serve"
            },
            {
              "action": "add_packages",
              "mode": "self_serve"
            },
            {
              "action": "remove_packages",
              "mode": "self_serve"
            },
            {
              "action": "sync_creatives",
              "mode": "self_serve"
            }
          ],
          "confirmed_at": "2026-06-01T12:00:00Z",
          "packages": [
            {
              "package_id": "pkg_2",
              "product_id": "display",
              "pricing_option_id": "cpm",
              "budget": 1000,
              "start_time": "2026-07-01T00:00:00Z",
              "end_time": "2026-08-01T00:00:00Z",
              "paused": false,
              "creative_assignments": [
                {
                  "creative_id": "banner"
                }
              ],
              "bid_price": 3,
              "context": {
                "buyer_ref": "line-1"
              }
            },
            {
              "package_id": "pkg_3",
              "product_id": "auction",
              "pricing_option_id": "auction",
              "budget": 1500.5,
              "start_time": "2026-07-01T00:00:00Z",
              "end_time": "2026-08-01T00:00:00Z",
              "paused": false,
              "pacing": "even",
              "bid_price": 6.5,
              "targeting_overlay": {
                "geo_countries": [
                  "US"
                ]
              }
            }
          ],
          "account": {
            "account_id": "acc_acme",
            "name": "acmeoutdoor.example c/o pinnacle.example",
            "status": "active",
            "brand": {
              "domain": "acmeoutdoor.example"
            },
            "operator": "pinnacle.example",
            "billing": "operator",
            "account_scope": "operator_brand",
            "sandbox": false
          },
          "context": {
            "trace": 1
          },
          "replayed": false,
          "adcp_version": "3.1"
        }"#]]
    .assert_eq(&tradepost_document::json::to_string_pretty(&answer).unwrap());
}

#[test]
fn what_a_package_cannot_be_is_said_at_its_place() {
    let shop = Shop::new();
    refused(
        &shop,
        &[
            ("unknown product", with_package(json!({"product_id": "nowhere-to-be-found"}))),
            ("sold out", with_package(json!({"product_id": "gone"}))),
            ("expired", with_package(json!({"product_id": "over"}))),
            ("unknown price", with_package(json!({"pricing_option_id": "vcpm-unknown"}))),
            (
                "bid below the floor",
                with_package(
                    json!({"product_id": "auction", "pricing_option_id": "auction", "bid_price": 4.99}),
                ),
            ),
            ("too little", with_package(json!({"budget": 499.99}))),
            ("nothing", with_package(json!({"budget": 0}))),
            (
                "another format",
                with_package(
                    json!({"format_ids": [{"agent_url": "https://elsewhere.example", "id": "x"}]}),
                ),
            ),
            ("a format option", with_package(json!({"format_kind": "image"}))),
            ("catalogs", with_package(json!({"catalogs": [{"type": "product"}]}))),
            (
                "before the buy",
                with_package(
                    json!({"start_time": "2026-06-30T00:00:00Z", "end_time": "2026-08-02T00:00:00Z"}),
                ),
            ),
            (
                "reversed",
                with_package(
                    json!({"start_time": "2026-07-20T00:00:00Z", "end_time": "2026-07-10T00:00:00Z"}),
                ),
            ),
        ],
        &expect![[r##"
            # unknown product
            {"code":"PRODUCT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"packages[0].product_id","suggestion":"remove the unknown ids, or discover again with get_products"}
            # sold out
            {"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable","field":"packages[0].product_id","suggestion":"choose another product"}
            # expired
            {"code":"PRODUCT_EXPIRED","message":"the product has left the offer; ask get_products for what there is now","recovery":"correctable","field":"packages[0].product_id","suggestion":"discover again with get_products"}
            # unknown price
            {"code":"INVALID_REQUEST","message":"the product has no such price; details.accepted_values lists its prices","recovery":"correctable","field":"packages[0].pricing_option_id","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["cpm"]}}
            # bid below the floor
            {"code":"INVALID_REQUEST","message":"the bid is below the floor of this price, which details.minimum has","recovery":"correctable","field":"packages[0].bid_price","suggestion":"correct what field and issues name and send again","details":{"minimum":5,"currency":"USD"}}
            # too little
            {"code":"BUDGET_TOO_LOW","message":"the budget is below the least that a package of this product may cost","recovery":"correctable","field":"packages[0].budget","suggestion":"raise the budget to the minimum in details","details":{"minimum_budget":500,"currency":"USD"}}
            # nothing
            {"code":"BUDGET_TOO_LOW","message":"the budget is below the least that a package of this product may cost","recovery":"correctable","field":"packages[0].budget","suggestion":"raise the budget to the minimum in details","details":{"minimum_budget":500,"currency":"USD"}}
            # another format
            {"code":"INVALID_REQUEST","message":"the product does not come in this format; its format_ids says in which","recovery":"correctable","field":"packages[0].format_ids[0]","suggestion":"correct what field and issues name and send again"}
            # a format option
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"packages[0].format_kind","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # catalogs
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"packages[0].catalogs","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # before the buy
            {"code":"INVALID_REQUEST","message":"a package runs within the flight of its media buy","recovery":"correctable","field":"packages[0].start_time","suggestion":"correct what field and issues name and send again"}
            {"code":"INVALID_REQUEST","message":"a package runs within the flight of its media buy","recovery":"correctable","field":"packages[0].end_time","suggestion":"correct what field and issues name and send again"}
            # reversed
            {"code":"INVALID_REQUEST","message":"the end is not after the beginning","recovery":"correctable","field":"packages[0].end_time","suggestion":"correct what field and issues name and send again"}
        "##]],
    );
}

#[test]
fn what_a_package_refers_to_has_to_be_the_callers() {
    let shop = Shop::new();
    let aimed = |overlay: Value| with_package(json!({"targeting_overlay": overlay}));
    let shown = |id: &str| with_package(json!({"creative_assignments": [{"creative_id": id}]}));
    let signal = json!({"operator": "all", "groups": [{"operator": "any", "signals": [
        {"signal_ref": {"scope": "product", "signal_id": "nobody"}, "value_type": "binary", "value": true},
    ]}]});
    let list = json!({"agent_url": "https://gazette.example", "list_id": "pl_unknown"});
    refused(
        &shop,
        &[
            ("unknown creative", shown("no-such-creative")),
            ("rejected creative", shown("ugly")),
            ("creative put away", shown("old")),
            (
                "inline creative",
                with_package(json!({"creatives": [{
                    "creative_id": "c", "name": "c", "assets": {},
                    "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
                }]})),
            ),
            ("unknown audience", aimed(json!({"audience_include": ["nobody-at-all"]}))),
            ("unknown signal", aimed(json!({"signal_targeting_groups": signal}))),
            ("unknown list of properties", aimed(json!({"property_list": list}))),
            ("collections", aimed(json!({"collection_list": list}))),
            (
                "targeting that nobody applies",
                aimed(json!({
                    "geo_regions": ["US-CA"], "device_type": ["mobile"],
                    "keyword_targets": [{"keyword": "boots", "match_type": "broad"}],
                })),
            ),
            (
                "contradictions",
                aimed(json!({"geo_countries": ["US"], "geo_countries_exclude": ["US"]})),
            ),
            (
                "one country too many",
                with_package(
                    json!({"product_id": "local", "targeting_overlay": {"geo_countries": ["DE", "US"]}}),
                ),
            ),
            (
                "no country left",
                with_package(
                    json!({"product_id": "local", "targeting_overlay": {"geo_countries_exclude": ["DE"]}}),
                ),
            ),
            (
                "elsewhere",
                with_package(
                    json!({"product_id": "local", "targeting_overlay": {"geo_countries": ["US"]}}),
                ),
            ),
        ],
        &expect![[r##"
            # unknown creative
            {"code":"CREATIVE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"packages[0].creative_assignments[0].creative_id","suggestion":"check creative_id with list_creatives, or register it with sync_creatives"}
            # rejected creative
            {"code":"CREATIVE_REJECTED","message":"the creative was rejected; details.reasons says why; send another one","recovery":"correctable","field":"packages[0].creative_assignments[0].creative_id","suggestion":"revise the creative according to the seller's advertising policies","details":{"reasons":["the image is blurred"]}}
            # creative put away
            {"code":"INVALID_STATE","message":"the creative was put away; bring it back with sync_creatives","recovery":"correctable","field":"packages[0].creative_assignments[0].creative_id","suggestion":"read the current state and choose an operation that it permits"}
            # inline creative
            {"code":"UNSUPPORTED_FEATURE","message":"this seller takes creatives by sync_creatives; send them there, and assign them by creative_id","recovery":"correctable","field":"packages[0].creatives","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # unknown audience
            {"code":"INVALID_REQUEST","message":"an audience in the request does not resolve to one of yours","recovery":"correctable","field":"packages[0].targeting_overlay.audience_include[0]","suggestion":"correct what field and issues name and send again"}
            # unknown signal
            {"code":"INVALID_REQUEST","message":"the product does not offer this signal; its signal_targeting_options lists those that it does","recovery":"correctable","field":"packages[0].targeting_overlay.signal_targeting_groups.groups[0].signals[0].signal_ref","suggestion":"correct what field and issues name and send again"}
            # unknown list of properties
            {"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","suggestion":"check the identifier with the task that lists such entities"}
            # collections
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"packages[0].targeting_overlay.collection_list","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # targeting that nobody applies
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"packages[0].targeting_overlay.geo_regions","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"packages[0].targeting_overlay.device_type","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"packages[0].targeting_overlay.keyword_targets[0].match_type","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # contradictions
            {"code":"INVALID_REQUEST","message":"this contradicts something else in the targeting; leave out one of both","recovery":"correctable","field":"packages[0].targeting_overlay.geo_countries_exclude[0]","suggestion":"correct what field and issues name and send again"}
            # one country too many
            {"code":"INVALID_REQUEST","message":"the product does not run in this country; details.accepted_values has its own","recovery":"correctable","field":"packages[0].targeting_overlay.geo_countries[1]","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["DE"]}}
            # no country left
            {"code":"INVALID_REQUEST","message":"this excludes every country in which the product runs","recovery":"correctable","field":"packages[0].targeting_overlay.geo_countries_exclude","suggestion":"correct what field and issues name and send again"}
            # elsewhere
            {"code":"INVALID_REQUEST","message":"the product does not run in this country; details.accepted_values has its own","recovery":"correctable","field":"packages[0].targeting_overlay.geo_countries[0]","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["DE"]}}
        "##]],
    );
}

#[test]
fn rejected_terms_are_named_with_those_that_are_accepted() {
    let vendor = json!({"domain": "counts.example"});
    let measured = |billing: Value, remedies: Value| {
        with_package(json!({"measurement_terms": {
            "billing_measurement": billing, "makegood_policy": {"available_remedies": remedies},
        }}))
    };
    let standard = |metric: &str, threshold: f64| {
        with_package(json!({"performance_standards": [
            {"metric": metric, "threshold": threshold, "vendor": vendor},
        ]}))
    };
    let goal = |goal: Value| with_package(json!({"optimization_goals": [goal]}));
    let shop = Shop::new();
    refused(
        &shop,
        &[
            (
                "no variance, other remedies",
                measured(
                    json!({"vendor": vendor, "max_variance_percent": 0}),
                    json!(["additional_delivery"]),
                ),
            ),
            ("too viewable", standard("viewability", 0.9)),
            ("too clean", standard("ivt", 0.01)),
            ("attention", standard("attention_score", 0.1)),
            (
                "a metric that is not reported",
                with_package(
                    json!({"committed_metrics": [{"scope": "standard", "metric_id": "reach"}]}),
                ),
            ),
            ("optimized for views", goal(json!({"kind": "metric", "metric": "views"}))),
            (
                "optimized for a vendor's metric",
                goal(json!({"kind": "vendor_metric", "vendor": vendor, "metric_id": "attention"})),
            ),
        ],
        &expect![[r##"
            # no variance, other remedies
            {"code":"TERMS_REJECTED","message":"the counts of two vendors differ by more than that","recovery":"correctable","field":"packages[0].measurement_terms.billing_measurement.max_variance_percent","suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":{"minimum":8}}}
            {"code":"TERMS_REJECTED","message":"the seller makes good in other ways","recovery":"correctable","field":"packages[0].measurement_terms.makegood_policy.available_remedies","suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":["credit"]}}
            # too viewable
            {"code":"TERMS_REJECTED","message":"the product does not promise that; its performance_standards says what it does","recovery":"correctable","field":"packages[0].performance_standards[0]","suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":[{"metric":"viewability","threshold":0.7}]}}
            # too clean
            {"code":"TERMS_REJECTED","message":"the product does not promise that; its performance_standards says what it does","recovery":"correctable","field":"packages[0].performance_standards[0]","suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":[{"metric":"ivt","threshold":0.05}]}}
            # attention
            {"code":"TERMS_REJECTED","message":"the product does not promise that; its performance_standards says what it does","recovery":"correctable","field":"packages[0].performance_standards[0]","suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":[]}}
            # a metric that is not reported
            {"code":"TERMS_REJECTED","message":"the product does not report this metric","recovery":"correctable","field":"packages[0].committed_metrics[0]","suggestion":"adjust the terms, or leave them out for the product's own","details":{"accepted":["impressions","spend","clicks"]}}
            # optimized for views
            {"code":"INVALID_REQUEST","message":"the product cannot be optimized for that; details.accepted_values lists for what","recovery":"correctable","field":"packages[0].optimization_goals[0].metric","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["clicks"]}}
            # optimized for a vendor's metric
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not optimize for metrics of vendors; leave the goal out","recovery":"correctable","field":"packages[0].optimization_goals[0]","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
        "##]],
    );
    // What it does accept holds, and is shown.
    let accepted =
        measured(json!({"vendor": vendor, "max_variance_percent": 10}), json!(["credit"]));
    let answer = shop.create(accepted.clone());
    assert_eq!(
        answer["packages"][0]["measurement_terms"],
        accepted["packages"][0]["measurement_terms"],
    );
    let metrics = json!([{"scope": "standard", "metric_id": "clicks"}]);
    let answer = shop.create(with_package(json!({"committed_metrics": metrics})));
    assert_eq!(
        answer["packages"][0]["committed_metrics"],
        json!([{"scope": "standard", "metric_id": "clicks", "committed_at": "2026-06-01T12:00:00Z"}]),
    );
}

#[test]
fn what_the_whole_buy_cannot_be_is_said_as_well() {
    let shop = Shop::new();
    let euro = json!({"product_id": "euro"});
    refused(
        &shop,
        &[
            ("begins in the past", json!({"start_time": "2020-01-01T00:00:00Z"})),
            (
                "reversed",
                json!({"start_time": "2026-12-31T00:00:00Z", "end_time": "2026-07-01T00:00:00Z"}),
            ),
            ("over", json!({"start_time": "asap", "end_time": "2026-05-01T00:00:00Z"})),
            ("two currencies", json!({"packages": [package(json!({})), package(euro)]})),
            ("dearer than it may be", json!({"total_budget": {"amount": 999, "currency": "USD"}})),
            ("another currency", json!({"total_budget": {"amount": 2000, "currency": "EUR"}})),
            ("no packages", json!({"packages": null})),
            (
                "an industry",
                json!({
                    "advertiser_industry": "food_beverage.alcohol",
                    "packages": [package(json!({"product_id": "dry"}))],
                }),
            ),
            (
                "an unknown proposal",
                json!({
                    "packages": null, "proposal_id": "prop_unknown",
                    "total_budget": {"amount": 1000, "currency": "USD"},
                }),
            ),
            (
                "a webhook for artifacts",
                json!({"artifact_webhook": {
                    "url": "https://buyer.example/artifacts", "delivery_mode": "batched",
                    "batch_frequency": "daily",
                    "authentication": {"schemes": ["Bearer"], "credentials": "0123456789012345678901234567890123"},
                }}),
            ),
            (
                "many things at once",
                json!({
                    "start_time": "2020-01-01T00:00:00Z",
                    "packages": [
                        package(json!({"product_id": "nowhere-to-be-found"})),
                        package(json!({"budget": 1, "creative_assignments": [{"creative_id": "nope"}]})),
                        package(json!({"product_id": "gone"})),
                    ],
                }),
            ),
        ],
        &expect![[r##"
            # begins in the past
            {"code":"INVALID_REQUEST","message":"the beginning is in the past; send one that is to come, or asap","recovery":"correctable","field":"start_time","suggestion":"correct what field and issues name and send again"}
            # reversed
            {"code":"INVALID_REQUEST","message":"the end is not after the beginning","recovery":"correctable","field":"end_time","suggestion":"correct what field and issues name and send again"}
            # over
            {"code":"INVALID_REQUEST","message":"the end is in the past","recovery":"correctable","field":"end_time","suggestion":"correct what field and issues name and send again"}
            # two currencies
            {"code":"INVALID_REQUEST","message":"all packages of a media buy are priced in one currency","recovery":"correctable","field":"packages[1].pricing_option_id","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["USD"]}}
            # dearer than it may be
            {"code":"BUDGET_EXCEEDED","message":"the packages cost more than total_budget; see details","recovery":"correctable","field":"total_budget.amount","suggestion":"ask for less, or allocate more","details":{"requested":1000,"available":999}}
            # another currency
            {"code":"INVALID_REQUEST","message":"the packages are priced in another currency","recovery":"correctable","field":"total_budget.currency","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["USD"]}}
            # no packages
            {"code":"INVALID_REQUEST","message":"a media buy needs packages, or the proposal_id of a committed proposal","recovery":"correctable","field":"packages","suggestion":"correct what field and issues name and send again"}
            # an industry
            {"code":"POLICY_VIOLATION","message":"a product in the request is not sold to this industry; see details","recovery":"correctable","field":"advertiser_industry","suggestion":"read the policy in details and change the request","details":{"policy_id":"advertiser_industry","violated_rules":["the product is closed to the industry"]}}
            # an unknown proposal
            {"code":"PROPOSAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"proposal_id","suggestion":"finalize again with get_products for a current proposal_id"}
            # a webhook for artifacts
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"artifact_webhook","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # many things at once
            {"code":"INVALID_REQUEST","message":"the beginning is in the past; send one that is to come, or asap","recovery":"correctable","field":"start_time","suggestion":"correct what field and issues name and send again"}
            {"code":"PRODUCT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"packages[0].product_id","suggestion":"remove the unknown ids, or discover again with get_products"}
            {"code":"BUDGET_TOO_LOW","message":"the budget is below the least that a package of this product may cost","recovery":"correctable","field":"packages[1].budget","suggestion":"raise the budget to the minimum in details","details":{"minimum_budget":500,"currency":"USD"}}
            {"code":"CREATIVE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"packages[1].creative_assignments[0].creative_id","suggestion":"check creative_id with list_creatives, or register it with sync_creatives"}
            {"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable","field":"packages[2].product_id","suggestion":"choose another product"}
        "##]],
    );
}

#[test]
fn nothing_is_sold_without_the_ad_server() {
    let shop = Shop::new();
    let says = |supply| *shop.harness.services.supply.lock().unwrap() = Some(supply);
    let mut transcript = String::new();
    says(Ok(Supply { sold_out: vec!["display".to_owned()], age_seconds: 0, stale: None }));
    transcript.push_str(&errors(&shop.create(json!({}))));
    says(Err(Unavailable::Down { retry_after: Some(Duration::from_secs(9)) }));
    transcript.push_str(&errors(&shop.create(json!({}))));
    says(Err(Unavailable::Misconfigured { setting: "upstream" }));
    transcript.push_str(&errors(&shop.create(json!({}))));
    expect![[r#"
        {"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable","field":"packages[0].product_id","suggestion":"choose another product"}
        {"code":"SERVICE_UNAVAILABLE","message":"the seller cannot ask its ad server for the moment; send the same again","recovery":"transient","suggestion":"retry the same request later, with backoff","retry_after":9}
        {"code":"CONFIGURATION_ERROR","message":"the seller's ad server is not set up; the seller's operator has to set it up","recovery":"terminal","suggestion":"tell the people who run the seller"}
    "#]].assert_eq(&transcript);
}

#[test]
fn a_buy_is_found_by_id_from_own_accounts_only() {
    let mut shop = Shop::new();
    let id =
        shop.create(json!({"start_time": "asap", "context": {"ref": 1}}))["media_buy_id"].clone();
    shop.wait(1);
    // The account of the request is another one of the caller's, opened by this request.
    let account = json!({"brand": {"domain": "test.example"}, "operator": "test.example"});
    let answer = shop.ask(AdcpTool::GetMediaBuys, json!({
        "account": account, "media_buy_ids": [id], "include_history": 5, "include_snapshot": true,
    }));
    expect![[r#"
        {
          "status": "completed",
          "message": "media buys",
          "media_buys": [
            {
              "media_buy_id": "mb_1",
              "revision": 1,
              "currency": "USD",
              "total_budget": 1000,
              "valid_actions": [
                "pause",
                "cancel",
                "extend_flight",
                "shorten_flight",
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
                "sync_creatives"
              ],
              "available_actions": [
                {
                  "action": "pause",
                  "mode": "self_serve"
                },
                {
                  "action": "cancel",
                  "mode": "self_serve"
                },
                {
                  "action": "extend_flight",
                  "mode": "self_serve"
                },
                {
                  "action": "shorten_flight",
                  "mode": "self_serve"
                },
                {
                  "action": "increase_budget",
                  "mode": "self_serve"
                },
                {
                  "action": "decrease_budget",
                  "mode": "self_serve"
                },
                {
                  "action": "reallocate_budget",
                  "mode": "self_serve"
                },
                {
                  "action": "update_targeting",
                  "mode": "self_serve"
                },
                {
                  "action": "update_pacing",
                  "mode": "self_serve"
                },
                {
                  "action": "update_frequency_caps",
                  "mode": "self_serve"
                },
                {
                  "action": "update_creative_assignments",
                  "mode": "self_serve"
                },
                {
                  "action": "remove_creative",
                  "mode": "self_serve"
                },
                {
                  "action": "add_packages",
                  "mode": "self_serve"
                },
                {
                  "action": "remove_packages",
                  "mode": "self_serve"
                },
                {
                  "action": "sync_creatives",
                  "mode": "self_serve"
                }
              ],
              "status": "active",
              "status_as_of": "2026-06-01T13:00:00Z",
              "confirmed_at": "2026-06-01T12:00:00Z",
              "start_time": "2026-06-01T12:00:00Z",
              "end_time": "2026-08-01T00:00:00Z",
              "created_at": "2026-06-01T12:00:00Z",
              "updated_at": "2026-06-01T12:00:00Z",
              "context": {
                "ref": 1
              },
              "history": [
                {
                  "revision": 1,
                  "timestamp": "2026-06-01T12:00:00Z",
                  "action": "created",
                  "summary": "the buyer created the buy"
                }
              ],
              "health": "ok",
              "packages": [
                {
                  "package_id": "pkg_2",
                  "product_id": "display",
                  "pricing_option_id": "cpm",
                  "budget": 1000,
                  "start_time": "2026-06-01T12:00:00Z",
                  "end_time": "2026-08-01T00:00:00Z",
                  "paused": false,
                  "creative_assignments": [
                    {
                      "creative_id": "banner"
                    }
                  ],
                  "currency": "USD",
                  "creative_approvals": [
                    {
                      "creative_id": "banner",
                      "approval_status": "approved"
                    }
                  ],
                  "snapshot": {
                    "as_of": "2026-06-01T13:00:00Z",
                    "staleness_seconds": 0,
                    "impressions": 0,
                    "spend": 0,
                    "currency": "USD"
                  }
                }
              ],
              "account": {
                "account_id": "acc_acme",
                "name": "acmeoutdoor.example c/o pinnacle.example",
                "status": "active",
                "brand": {
                  "domain": "acmeoutdoor.example"
                },
                "operator": "pinnacle.example",
                "billing": "operator",
                "account_scope": "operator_brand",
                "sandbox": false
              }
            }
          ],
          "pagination": {
            "has_more": false,
            "total_count": 1
          },
          "adcp_version": "3.1"
        }"#]]
    .assert_eq(&tradepost_document::json::to_string_pretty(&answer).unwrap());
    // U-1: another tenant's and nobody's are one answer.
    let foreign = shop.ask_as("nova", AdcpTool::GetMediaBuys, json!({"media_buy_ids": [id]}));
    let absent = shop.ask_as("nova", AdcpTool::GetMediaBuys, json!({"media_buy_ids": ["mb_none"]}));
    assert_eq!(foreign, absent);
    expect![[r#"
        {"code":"MEDIA_BUY_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"media_buy_ids","suggestion":"check media_buy_id with get_media_buys"}
    "#]].assert_eq(&errors(&absent));
}

#[test]
fn buys_are_listed_by_status_and_page_by_page() {
    let mut shop = Shop::new();
    for (start, more) in [
        ("asap", json!({})),
        ("2026-07-01T00:00:00Z", json!({})),
        ("asap", json!({"creative_assignments": null})),
    ] {
        shop.create(json!({"start_time": start, "packages": [package(more)]}));
    }
    shop.create(json!({"start_time": "asap", "paused": true}));
    shop.wait(1);
    let mut transcript = String::new();
    let rows = |answer: &Value| -> Vec<String> {
        let rows = answer["media_buys"].as_array().unwrap().iter();
        rows.map(|row| format!("{}:{}", row["media_buy_id"], row["status"]).replace('"', ""))
            .collect()
    };
    for filter in [
        json!({}),
        json!({"status_filter": "paused"}),
        json!({"status_filter": ["pending_creatives", "pending_start"]}),
        json!({"status_filter": ["active", "paused", "pending_creatives", "pending_start"],
               "pagination": {"max_results": 3}}),
    ] {
        let answer = shop.ask(AdcpTool::GetMediaBuys, filter.clone());
        let mut pagination = answer["pagination"].clone();
        let cursor = pagination.as_object_mut().unwrap().swap_remove("cursor");
        transcript.push_str(&format!("{filter}\n  {:?} {pagination}\n", rows(&answer)));
        if let Some(cursor) = cursor {
            let mut next = filter.clone();
            next["pagination"]["cursor"] = cursor;
            transcript
                .push_str(&format!("  then {:?}\n", rows(&shop.ask(AdcpTool::GetMediaBuys, next))));
        }
    }
    expect![[r#"
        {}
          ["mb_1:active"] {"has_more":false,"total_count":1}
        {"status_filter":"paused"}
          ["mb_7:paused"] {"has_more":false,"total_count":1}
        {"status_filter":["pending_creatives","pending_start"]}
          ["mb_3:pending_start", "mb_5:pending_creatives"] {"has_more":false,"total_count":2}
        {"status_filter":["active","paused","pending_creatives","pending_start"],"pagination":{"max_results":3}}
          ["mb_1:active", "mb_3:pending_start", "mb_5:pending_creatives"] {"has_more":true,"total_count":4}
          then ["mb_7:paused"]
    "#]].assert_eq(&transcript);
}
