//! `update_media_buy`: what changes, and every reason not to.

use std::time::Duration;

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};
use tradepost_publisher::services::{Supply, Unavailable};
use tradepost_publisher::store::EntityKind;

use crate::support::shop::{Shop, errors, package};

/// A shop with one buy of two packages in July, and its id.
fn shop() -> (Shop, String) {
    let shop = Shop::new();
    let id = bought(&shop, &[package(json!({})), package(json!({"budget": 2000}))]);
    (shop, id)
}

fn bought(shop: &Shop, packages: &[Value]) -> String {
    let answer = shop.create(json!({"packages": packages}));
    answer["media_buy_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The id of a package of a buy, by its place.
fn part(shop: &Shop, id: &str, place: usize) -> String {
    shop.buy(id).thing.packages[place].package_id.clone()
}

/// The change of one package.
fn one(shop: &Shop, id: &str, place: usize, changes: Value) -> Value {
    let mut change = changes;
    change["package_id"] = part(shop, id, place).into();
    json!({"packages": [change]})
}

/// Asks for changes that are refused, one after the other, and compares all errors of each. Nothing
/// changes by any.
fn refused(shop: &Shop, id: &str, requests: &[(&str, Value)], expected: &Expect) {
    let before = (shop.stored(EntityKind::MediaBuy), shop.stored(EntityKind::Account));
    let mut transcript = String::new();
    for (title, changes) in requests {
        let answer = shop.update(id, changes.clone());
        transcript.push_str(&format!("# {title}\n{}", errors(&answer)));
    }
    expected.assert_eq(&transcript);
    assert_eq!(before, (shop.stored(EntityKind::MediaBuy), shop.stored(EntityKind::Account)));
}

/// What an update has done: the line of an answer.
fn line(answer: &Value) -> String {
    if answer["status"] != "completed" {
        return errors(answer);
    }
    let affected = answer["affected_packages"].as_array().unwrap();
    let budgets: Vec<_> = affected.iter().map(|package| package["budget"].to_string()).collect();
    format!(
        "revision {} {} {} of {:?}\n",
        answer["revision"], answer["media_buy_status"], answer["total_budget"], budgets,
    )
}

#[test]
fn every_change_is_one_revision_and_shows_what_it_changed() {
    let (mut shop, id) = shop();
    let mut transcript = String::new();
    let package_of = |changes| one(&shop, &id, 0, changes);
    let steps = [
        ("another budget", package_of(json!({"budget": 1500}))),
        ("the same budget", package_of(json!({"budget": 1500}))),
        ("a bid and pacing", package_of(json!({"bid_price": 9, "pacing": "asap"}))),
        ("aimed elsewhere", package_of(json!({"targeting_overlay": {"geo_countries": ["CA"]}}))),
        (
            "a word",
            package_of(
                json!({"keyword_targets_add": [{"keyword": "boots", "match_type": "exact"}]}),
            ),
        ),
        (
            "no word",
            package_of(
                json!({"keyword_targets_remove": [{"keyword": "boots", "match_type": "exact"}]}),
            ),
        ),
        ("creatives", package_of(json!({"creative_assignments": [{"creative_id": "banner-2"}]}))),
        ("a hold", json!({"paused": true})),
        ("no hold", json!({"paused": false})),
        ("later", json!({"end_time": "2026-09-01T00:00:00Z"})),
        ("begins later", json!({"start_time": "2026-07-02T00:00:00Z", "revision": 10})),
        ("one more", json!({"new_packages": [package(json!({"budget": 700}))]})),
        ("one less", package_of(json!({"canceled": true, "cancellation_reason": "dear"}))),
    ];
    for (title, step) in &steps {
        transcript.push_str(&format!("{title}: {}", line(&shop.update(&id, step.clone()))));
    }
    shop.wait(24 * 40);
    transcript
        .push_str(&format!("canceled: {}", line(&shop.update(&id, json!({"canceled": true})))));
    expect![[r#"
        another budget: revision 2 "pending_start" 3500 of ["1500"]
        the same budget: revision 2 "pending_start" 3500 of ["1500"]
        a bid and pacing: revision 3 "pending_start" 3500 of ["1500"]
        aimed elsewhere: revision 4 "pending_start" 3500 of ["1500"]
        a word: revision 5 "pending_start" 3500 of ["1500"]
        no word: revision 6 "pending_start" 3500 of ["1500"]
        creatives: revision 7 "pending_start" 3500 of ["1500"]
        a hold: revision 8 "pending_start" 3500 of []
        no hold: revision 9 "pending_start" 3500 of []
        later: revision 10 "pending_start" 3500 of []
        begins later: revision 11 "pending_start" 3500 of []
        one more: revision 12 "pending_start" 4200 of ["700"]
        one less: revision 13 "pending_start" 2700 of ["1500"]
        canceled: revision 14 "canceled" 2700 of []
    "#]]
    .assert_eq(&transcript);
    let buy = shop.buy(&id).thing;
    let history: Vec<_> =
        buy.history.iter().map(|entry| format!("{} {:?}", entry.revision, entry.summary)).collect();
    expect![[r#"
        [
            "1 \"the buyer created the buy\"",
            "2 \"increase_budget\"",
            "3 \"update_pacing\"",
            "4 \"update_targeting\"",
            "5 \"update_targeting\"",
            "6 \"update_targeting\"",
            "7 \"update_creative_assignments\"",
            "8 \"pause\"",
            "9 \"resume\"",
            "10 \"extend_flight\"",
            "11 \"update_flight_dates\"",
            "12 \"add_packages\"",
            "13 \"remove_packages\"",
            "14 \"cancel\"",
        ]
    "#]]
    .assert_debug_eq(&history);
    expect![[r#"{"package_id":"pkg_2","product_id":"display","pricing_option_id":"cpm","budget":1500,"start_time":"2026-07-02T00:00:00Z","end_time":"2026-09-01T00:00:00Z","paused":false,"creative_assignments":[{"creative_id":"banner-2"}],"canceled":true,"cancellation":{"canceled_at":"2026-06-01T12:00:00Z","canceled_by":"buyer","reason":"dear"},"bid_price":9,"pacing":"asap","targeting_overlay":{"geo_countries":["CA"]}}"#]].assert_eq(&buy.packages[0].published(&buy).to_string());
}

#[test]
fn what_is_over_is_neither_changed_nor_canceled() {
    let (shop, id) = shop();
    let update = one(&shop, &id, 0, json!({"budget": 1200}));
    let canceled = shop.update(&id, json!({"canceled": true, "cancellation_reason": "no need"}));
    assert_eq!(canceled["media_buy_status"], "canceled");
    refused(
        &shop,
        &id,
        &[
            ("canceled again", json!({"canceled": true})),
            ("resumed", json!({"paused": false})),
            ("changed", update),
        ],
        &expect![[r##"
            # canceled again
            {"code":"NOT_CANCELLABLE","message":"the media buy is over and cannot be canceled; details.status says how it stands","recovery":"correctable","field":"canceled","suggestion":"read the seller's cancellation policy, or ask the seller","details":{"status":"canceled"}}
            # resumed
            {"code":"INVALID_STATE","message":"the media buy is over and cannot be changed; details.status says how it stands","recovery":"correctable","suggestion":"read the current state and choose an operation that it permits","details":{"status":"canceled"}}
            # changed
            {"code":"INVALID_STATE","message":"the media buy is over and cannot be changed; details.status says how it stands","recovery":"correctable","suggestion":"read the current state and choose an operation that it permits","details":{"status":"canceled"}}
        "##]],
    );
    let shown = shop.buy(&id).thing.cancellation.unwrap();
    expect![[r#"{"canceled_at":"2026-06-01T12:00:00Z","canceled_by":"buyer","reason":"no need"}"#]]
        .assert_eq(&json!(shown).to_string());
}

/// JSON Schema has `2.0` and `2e0` be integers, so that they lock as `2` does.
#[test]
fn a_revision_counts_in_whatever_notation_it_is_written() {
    let (shop, id) = shop();
    let change = |revision: &str| {
        let revision: Value = tradepost_document::json::from_str(revision).unwrap();
        shop.update(&id, json!({"paused": true, "revision": revision}))
    };
    for other in ["7", "7.0", "7e0"] {
        let answer = change(other);
        assert_eq!(answer["adcp_error"]["code"], "CONFLICT", "{other} {answer}");
    }
    let answer = change("1.0");
    assert_eq!(answer["revision"], 2, "{answer}");
}

#[test]
fn what_cannot_be_changed_is_said_at_its_place() {
    let (shop, id) = shop();
    let package_of = |changes| one(&shop, &id, 0, changes);
    let twice = json!({"packages": [
        package_of(json!({"budget": 900}))["packages"][0], package_of(json!({"budget": 901}))["packages"][0],
    ]});
    refused(
        &shop,
        &id,
        &[
            ("nothing", json!({})),
            ("an older revision", json!({"revision": 7, "paused": true})),
            (
                "an unknown package",
                json!({"packages": [{"package_id": "pkg_nobody", "budget": 900}]}),
            ),
            ("one package twice", twice),
            ("resumed while it runs", json!({"paused": false})),
            ("canceled and changed", json!({"canceled": true, "paused": true})),
            ("too little", package_of(json!({"budget": 1}))),
            ("reversed", json!({"end_time": "2026-06-15T00:00:00Z"})),
            ("over already", json!({"end_time": "2026-05-15T00:00:00Z"})),
            ("in the past", json!({"start_time": "2026-05-15T00:00:00Z"})),
            ("outside of the buy", package_of(json!({"end_time": "2026-08-02T00:00:00Z"}))),
            (
                "an unknown creative",
                package_of(json!({"creative_assignments": [{"creative_id": "nobody"}]})),
            ),
            ("other terms", package_of(json!({"measurement_terms": {}}))),
            ("another invoice", json!({"invoice_recipient": {"legal_name": "Somebody Else Ltd"}})),
            (
                "an unknown product",
                json!({"new_packages": [package(json!({"product_id": "nobody-sells-it"}))]}),
            ),
            ("another currency", json!({"new_packages": [package(json!({"product_id": "euro"}))]})),
            (
                "many things at once",
                json!({
                    "paused": false,
                    "end_time": "2026-05-15T00:00:00Z",
                    "packages": [{"package_id": "pkg_nobody"}, package_of(json!({"budget": 1}))["packages"][0]],
                    "new_packages": [package(json!({"product_id": "gone"}))],
                }),
            ),
        ],
        &expect![[r##"
            # nothing
            {"code":"INVALID_REQUEST","message":"the request names nothing to change","recovery":"correctable","suggestion":"correct what field and issues name and send again","details":{"accepted_fields":["paused","canceled","start_time","end_time","packages","new_packages","reporting_webhook"]}}
            # an older revision
            {"code":"CONFLICT","message":"the media buy has changed since that revision; read it again and send the change anew","recovery":"transient","field":"revision","suggestion":"read the resource again and send the change against its current state","details":{"resource_id":"mb_1","expected_version":7,"current_version":1}}
            # an unknown package
            {"code":"PACKAGE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"packages[0].package_id","suggestion":"check package_id with get_media_buys"}
            # one package twice
            {"code":"INVALID_REQUEST","message":"the request names this package twice","recovery":"correctable","field":"packages[1].package_id","suggestion":"correct what field and issues name and send again"}
            # resumed while it runs
            {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"correctable","field":"paused","suggestion":"read details.reason and currently_available_actions","details":{"attempted_action":"resume","reason":"wrong_status","currently_available_actions":[{"action":"pause","mode":"self_serve"},{"action":"cancel","mode":"self_serve"},{"action":"extend_flight","mode":"self_serve"},{"action":"shorten_flight","mode":"self_serve"},{"action":"update_flight_dates","mode":"self_serve"},{"action":"increase_budget","mode":"self_serve"},{"action":"decrease_budget","mode":"self_serve"},{"action":"reallocate_budget","mode":"self_serve"},{"action":"update_targeting","mode":"self_serve"},{"action":"update_pacing","mode":"self_serve"},{"action":"update_frequency_caps","mode":"self_serve"},{"action":"update_creative_assignments","mode":"self_serve"},{"action":"remove_creative","mode":"self_serve"},{"action":"add_packages","mode":"self_serve"},{"action":"remove_packages","mode":"self_serve"},{"action":"sync_creatives","mode":"self_serve"}]}}
            # canceled and changed
            {"code":"INVALID_REQUEST","message":"what is canceled is not changed besides; leave this out","recovery":"correctable","field":"paused","suggestion":"correct what field and issues name and send again"}
            # too little
            {"code":"BUDGET_TOO_LOW","message":"the budget is below the least that a package of this product may cost","recovery":"correctable","field":"packages[0].budget","suggestion":"raise the budget to the minimum in details","details":{"minimum_budget":500,"currency":"USD"}}
            # reversed
            {"code":"INVALID_REQUEST","message":"the end is not after the beginning","recovery":"correctable","field":"end_time","suggestion":"correct what field and issues name and send again"}
            # over already
            {"code":"INVALID_REQUEST","message":"the end is in the past","recovery":"correctable","field":"end_time","suggestion":"correct what field and issues name and send again"}
            # in the past
            {"code":"INVALID_REQUEST","message":"the beginning is in the past; send one that is to come, or asap","recovery":"correctable","field":"start_time","suggestion":"correct what field and issues name and send again"}
            # outside of the buy
            {"code":"INVALID_REQUEST","message":"a package runs within the flight of its media buy","recovery":"correctable","field":"packages[0].end_time","suggestion":"correct what field and issues name and send again"}
            # an unknown creative
            {"code":"CREATIVE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"packages[0].creative_assignments[0].creative_id","suggestion":"check creative_id with list_creatives, or register it with sync_creatives"}
            # other terms
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"packages[0].measurement_terms","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # another invoice
            {"code":"UNSUPPORTED_FEATURE","message":"this seller does not do that; leave the field out","recovery":"correctable","field":"invoice_recipient","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
            # an unknown product
            {"code":"PRODUCT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"new_packages[0].product_id","suggestion":"remove the unknown ids, or discover again with get_products"}
            # another currency
            {"code":"INVALID_REQUEST","message":"the media buy is priced in another currency; details.accepted_values has it","recovery":"correctable","field":"new_packages","suggestion":"correct what field and issues name and send again","details":{"accepted_values":["USD"]}}
            # many things at once
            {"code":"INVALID_REQUEST","message":"the end is in the past","recovery":"correctable","field":"end_time","suggestion":"correct what field and issues name and send again"}
            {"code":"PACKAGE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"packages[0].package_id","suggestion":"check package_id with get_media_buys"}
            {"code":"BUDGET_TOO_LOW","message":"the budget is below the least that a package of this product may cost","recovery":"correctable","field":"packages[1].budget","suggestion":"raise the budget to the minimum in details","details":{"minimum_budget":500,"currency":"USD"}}
            {"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable","field":"new_packages[0].product_id","suggestion":"choose another product"}
            {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"correctable","field":"paused","suggestion":"read details.reason and currently_available_actions","details":{"attempted_action":"resume","reason":"wrong_status","currently_available_actions":[{"action":"pause","mode":"self_serve"},{"action":"cancel","mode":"self_serve"},{"action":"extend_flight","mode":"self_serve"},{"action":"shorten_flight","mode":"self_serve"},{"action":"update_flight_dates","mode":"self_serve"},{"action":"increase_budget","mode":"self_serve"},{"action":"decrease_budget","mode":"self_serve"},{"action":"reallocate_budget","mode":"self_serve"},{"action":"update_targeting","mode":"self_serve"},{"action":"update_pacing","mode":"self_serve"},{"action":"update_frequency_caps","mode":"self_serve"},{"action":"update_creative_assignments","mode":"self_serve"},{"action":"remove_creative","mode":"self_serve"},{"action":"add_packages","mode":"self_serve"},{"action":"remove_packages","mode":"self_serve"},{"action":"sync_creatives","mode":"self_serve"}]}}
        "##]],
    );
}

#[test]
fn nothing_is_added_to_a_buy_without_the_ad_server() {
    let (shop, id) = shop();
    let says = |supply| *shop.harness.services.supply.lock().unwrap() = Some(supply);
    let more = || json!({"new_packages": [package(json!({}))]});
    says(Ok(Supply { sold_out: vec!["display".to_owned()], age_seconds: 0, stale: None }));
    refused(
        &shop,
        &id,
        &[("sold out", more())],
        &expect![[r##"
            # sold out
            {"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable","field":"new_packages[0].product_id","suggestion":"choose another product"}
        "##]],
    );
    says(Err(Unavailable::Down { retry_after: Some(Duration::from_secs(9)) }));
    refused(
        &shop,
        &id,
        &[("nobody to ask", more())],
        &expect![[r##"
            # nobody to ask
            {"code":"SERVICE_UNAVAILABLE","message":"the seller cannot ask its ad server for the moment; send the same again","recovery":"transient","suggestion":"retry the same request later, with backoff","retry_after":9}
        "##]],
    );
    // What buys nothing new goes on without it.
    assert_eq!(shop.update(&id, json!({"paused": true}))["revision"], 2);
}

#[test]
fn absent_and_anothers_are_one_answer() {
    let (shop, id) = shop();
    let change = |id: &str| {
        let update =
            json!({"media_buy_id": id, "paused": true, "idempotency_key": "one-key-for-both-1"});
        shop.ask_as("nova", tradepost_adcp::AdcpTool::UpdateMediaBuy, update)
    };
    let foreign = change(&id);
    let absent = change("mb_none");
    assert_eq!(foreign, absent);
    expect![[r#"
        {"code":"MEDIA_BUY_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"media_buy_id","suggestion":"check media_buy_id with get_media_buys"}
    "#]].assert_eq(&errors(&absent));
    // An unknown package, and one of another's buy.
    let own = shop.ask_as(
        "nova",
        tradepost_adcp::AdcpTool::CreateMediaBuy,
        Shop::order(json!({
            "brand": {"domain": "novamotors.example"},
            "packages": [package(json!({"creative_assignments": null}))],
        })),
    );
    let own = own["media_buy_id"].as_str().unwrap();
    let change = |package: &str| {
        let update =
            json!({"media_buy_id": own, "packages": [{"package_id": package, "budget": 900}]});
        shop.ask_as("nova", tradepost_adcp::AdcpTool::UpdateMediaBuy, update)
    };
    assert_eq!(change(&part(&shop, &id, 0)), change("pkg_nobody"));
}

#[test]
fn a_product_says_what_can_be_done_with_its_buys() {
    let shop = Shop::new();
    let id = bought(&shop, &[package(json!({"product_id": "strict"}))]);
    let package_of = |changes| one(&shop, &id, 0, changes);
    refused(
        &shop,
        &id,
        &[
            ("canceled", json!({"canceled": true})),
            ("the package canceled", package_of(json!({"canceled": true}))),
            ("more before it runs", package_of(json!({"budget": 1200}))),
            ("less", package_of(json!({"budget": 800}))),
            (
                "aimed elsewhere",
                package_of(json!({"targeting_overlay": {"geo_countries": ["CA"]}})),
            ),
            ("later", json!({"end_time": "2026-09-01T00:00:00Z"})),
        ],
        &expect![[r##"
            # canceled
            {"code":"NOT_CANCELLABLE","message":"the terms of what was bought have no cancellation; ask the seller","recovery":"correctable","field":"canceled","suggestion":"read the seller's cancellation policy, or ask the seller"}
            # the package canceled
            {"code":"NOT_CANCELLABLE","message":"the terms of what was bought have no cancellation; ask the seller","recovery":"correctable","field":"packages[0].canceled","suggestion":"read the seller's cancellation policy, or ask the seller"}
            # more before it runs
            {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"correctable","field":"packages[0].budget","suggestion":"read details.reason and currently_available_actions","details":{"attempted_action":"increase_budget","reason":"wrong_status","currently_available_actions":[{"action":"pause","mode":"self_serve"},{"action":"update_targeting","mode":"requires_approval"}]}}
            # less
            {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"terminal","field":"packages[0].budget","suggestion":"read details.reason and currently_available_actions","details":{"attempted_action":"decrease_budget","reason":"not_supported_on_product","currently_available_actions":[{"action":"pause","mode":"self_serve"},{"action":"update_targeting","mode":"requires_approval"}]}}
            # aimed elsewhere
            {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"correctable","field":"packages[0].targeting_overlay","suggestion":"read details.reason and currently_available_actions","details":{"attempted_action":"update_targeting","reason":"mode_mismatch","currently_available_actions":[{"action":"pause","mode":"self_serve"},{"action":"update_targeting","mode":"requires_approval"}]}}
            # later
            {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"terminal","field":"end_time","suggestion":"read details.reason and currently_available_actions","details":{"attempted_action":"extend_flight","reason":"not_supported_on_product","currently_available_actions":[{"action":"pause","mode":"self_serve"},{"action":"update_targeting","mode":"requires_approval"}]}}
        "##]],
    );
    assert_eq!(shop.update(&id, json!({"paused": true}))["revision"], 2);
}

#[test]
fn creatives_are_changed_until_their_deadline() {
    let mut shop = Shop::new();
    let id = bought(&shop, &[package(json!({"product_id": "early"}))]);
    let change = |shop: &Shop, creative: &str| {
        one(shop, &id, 0, json!({"creative_assignments": [{"creative_id": creative}]}))
    };
    let answer = shop.update(&id, change(&shop, "banner-2"));
    assert_eq!(answer["affected_packages"][0]["creative_deadline"], "2026-06-29T00:00:00Z");
    shop.wait(24 * 29);
    let changes = change(&shop, "banner");
    refused(
        &shop,
        &id,
        &[("too late", changes)],
        &expect![[r##"
        # too late
        {"code":"CREATIVE_DEADLINE_EXCEEDED","message":"the creatives of this package could be changed until its creative_deadline","recovery":"correctable","field":"packages[0].creative_assignments","suggestion":"negotiate a later deadline with the seller"}
    "##]],
    );
}

#[test]
fn a_flight_that_runs_is_not_begun_anew() {
    let mut shop = Shop::new();
    let id =
        shop.create(json!({"start_time": "asap"}))["media_buy_id"].as_str().unwrap().to_owned();
    shop.wait(1);
    refused(
        &shop,
        &id,
        &[("begins later", json!({"start_time": "2026-07-15T00:00:00Z"}))],
        &expect![[r##"
            # begins later
            {"code":"ACTION_NOT_ALLOWED","message":"the media buy does not permit this now; details say why, and what it permits","recovery":"correctable","field":"start_time","suggestion":"read details.reason and currently_available_actions","details":{"attempted_action":"update_flight_dates","reason":"wrong_status","currently_available_actions":[{"action":"pause","mode":"self_serve"},{"action":"cancel","mode":"self_serve"},{"action":"extend_flight","mode":"self_serve"},{"action":"shorten_flight","mode":"self_serve"},{"action":"increase_budget","mode":"self_serve"},{"action":"decrease_budget","mode":"self_serve"},{"action":"reallocate_budget","mode":"self_serve"},{"action":"update_targeting","mode":"self_serve"},{"action":"update_pacing","mode":"self_serve"},{"action":"update_frequency_caps","mode":"self_serve"},{"action":"update_creative_assignments","mode":"self_serve"},{"action":"remove_creative","mode":"self_serve"},{"action":"add_packages","mode":"self_serve"},{"action":"remove_packages","mode":"self_serve"},{"action":"sync_creatives","mode":"self_serve"}]}}
        "##]],
    );
}
