//! `get_media_buy_delivery`: exactly what was reported, in every sum.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_publisher::buy::MediaBuyStatus;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::test_controller::forced_buy;

use crate::support::shop::{Shop, errors, package};

/// Reports delivery of a buy, as the test controller does.
fn report(shop: &Shop, id: &str, figures: Value) {
    let buy = shop.buy(id);
    let now = shop.harness.now;
    shop.harness.put(move |tx| {
        forced_buy::deliver(tx, &buy, figures.as_object().unwrap(), now).map(|_| ())
    });
}

fn spend(shop: &Shop, id: &str, percentage: u32) {
    let percentage = MoneyAmount::whole(percentage);
    let buy = shop.buy(id);
    let now = shop.harness.now;
    shop.harness.put(move |tx| forced_buy::spend(tx, &buy, percentage, now).map(|_| ()));
}

/// A buy of two packages that runs.
fn running(shop: &Shop) -> String {
    let packages = [package(json!({})), package(json!({"budget": 2000}))];
    let answer = shop.create(json!({"start_time": "asap", "packages": packages}));
    answer["media_buy_id"].as_str().unwrap().to_owned()
}

fn deliveries(shop: &Shop, asked: Value) -> Value {
    shop.ask(AdcpTool::GetMediaBuyDelivery, asked)
}

#[test]
fn reports_are_shown_as_sent_by_day_and_by_package() {
    let mut shop = Shop::new();
    let id = running(&shop);
    report(
        &shop,
        &id,
        json!({
            "impressions": 10000, "clicks": 151, "reported_spend": {"amount": 100.01, "currency": "USD"},
        }),
    );
    shop.wait(24);
    report(
        &shop,
        &id,
        json!({"impressions": 5000, "conversions": 3, "reported_spend": {"amount": 50, "currency": "USD"}}),
    );
    shop.wait(1);
    let asked = json!({"media_buy_ids": [id], "include_package_daily_breakdown": true});
    expect![[r#"
        {
          "status": "completed",
          "message": "what was delivered, as far as it has been reported",
          "reporting_period": {
            "start": "2026-06-01T12:00:00Z",
            "end": "2026-06-02T13:00:00Z"
          },
          "currency": "USD",
          "media_buy_deliveries": [
            {
              "media_buy_id": "mb_1",
              "status": "active",
              "totals": {
                "impressions": 15000,
                "spend": 150.01,
                "clicks": 151,
                "conversions": 3,
                "ctr": 0.010067,
                "cpm": 10.000667,
                "cost_per_click": 0.993444,
                "cost_per_acquisition": 50.003333
              },
              "by_package": [
                {
                  "package_id": "pkg_2",
                  "pricing_model": "cpm",
                  "rate": 8,
                  "currency": "USD",
                  "paused": false,
                  "impressions": 5000,
                  "spend": 50.01,
                  "clicks": 50,
                  "conversions": 1,
                  "ctr": 0.01,
                  "cpm": 10.002,
                  "cost_per_click": 1.0002,
                  "cost_per_acquisition": 50.01,
                  "delivery_status": "delivering",
                  "daily_breakdown": [
                    {
                      "date": "2026-06-01",
                      "impressions": 3333,
                      "spend": 33.34
                    },
                    {
                      "date": "2026-06-02",
                      "impressions": 1667,
                      "spend": 16.67
                    }
                  ]
                },
                {
                  "package_id": "pkg_3",
                  "pricing_model": "cpm",
                  "rate": 8,
                  "currency": "USD",
                  "paused": false,
                  "impressions": 10000,
                  "spend": 100,
                  "clicks": 101,
                  "conversions": 2,
                  "ctr": 0.0101,
                  "cpm": 10,
                  "cost_per_click": 0.990099,
                  "cost_per_acquisition": 50,
                  "delivery_status": "delivering",
                  "daily_breakdown": [
                    {
                      "date": "2026-06-01",
                      "impressions": 6667,
                      "spend": 66.67
                    },
                    {
                      "date": "2026-06-02",
                      "impressions": 3333,
                      "spend": 33.33
                    }
                  ]
                }
              ],
              "daily_breakdown": [
                {
                  "date": "2026-06-01",
                  "impressions": 10000,
                  "spend": 100.01
                },
                {
                  "date": "2026-06-02",
                  "impressions": 5000,
                  "spend": 50
                }
              ],
              "pricing_model": "cpm"
            }
          ],
          "aggregated_totals": {
            "impressions": 15000,
            "spend": 150.01,
            "clicks": 151,
            "conversions": 3,
            "media_buy_count": 1
          },
          "adcp_version": "3.1"
        }"#]]
    .assert_eq(&tradepost_document::json::to_string_pretty(&deliveries(&shop, asked)).unwrap());
    // The end of a range is not in it.
    let mut transcript = String::new();
    for (start, end) in
        [("2026-06-01", "2026-06-02"), ("2026-06-02", "2026-06-03"), ("2026-05-01", "2026-06-01")]
    {
        let answer =
            deliveries(&shop, json!({"media_buy_ids": [id], "start_date": start, "end_date": end}));
        transcript
            .push_str(&format!("{} {}\n", answer["reporting_period"], answer["aggregated_totals"]));
    }
    expect![[r#"
        {"start":"2026-06-01T00:00:00Z","end":"2026-06-02T00:00:00Z"} {"impressions":10000,"spend":100.01,"clicks":151,"media_buy_count":1}
        {"start":"2026-06-02T00:00:00Z","end":"2026-06-03T00:00:00Z"} {"impressions":5000,"spend":50,"conversions":3,"media_buy_count":1}
        {"start":"2026-05-01T00:00:00Z","end":"2026-06-01T00:00:00Z"} {"impressions":0,"spend":0,"media_buy_count":1}
    "#]].assert_eq(&transcript);
}

#[test]
fn viewability_adds_up_over_what_could_be_measured() {
    let shop = Shop::new();
    let id = running(&shop);
    report(
        &shop,
        &id,
        json!({"impressions": 80000, "viewability": {
            "measurable_impressions": 74000, "viewable_impressions": 59200, "viewable_rate": 0.8,
            "viewed_seconds": 4.3, "standard": "mrc",
        }}),
    );
    let shown = |shop: &Shop| {
        let answer = deliveries(shop, json!({"media_buy_ids": [id]}));
        answer["media_buy_deliveries"][0]["totals"]["viewability"].to_string()
    };
    expect![[r#"{"measurable_impressions":74000,"viewable_impressions":59200,"viewable_rate":0.8,"viewed_seconds":4.3,"standard":"mrc"}"#]].assert_eq(&shown(&shop));
    report(
        &shop,
        &id,
        json!({"impressions": 26000, "viewability": {
            "measurable_impressions": 26000, "viewable_impressions": 5200, "viewed_seconds": 1, "standard": "mrc",
        }}),
    );
    expect![[r#"{"measurable_impressions":100000,"viewable_impressions":64400,"viewable_rate":0.644,"viewed_seconds":3.442,"standard":"mrc"}"#]].assert_eq(&shown(&shop));
}

#[test]
fn reach_is_shown_as_it_was_reported_last() {
    let shop = Shop::new();
    let id = running(&shop);
    let window = json!({"kind": "cumulative"});
    report(
        &shop,
        &id,
        json!({"impressions": 9, "reach": 3, "frequency": 3, "reach_window": window}),
    );
    report(&shop, &id, json!({"impressions": 6, "reach": 5, "frequency": 3, "completed_views": 3}));
    let totals =
        &deliveries(&shop, json!({"media_buy_ids": [id]}))["media_buy_deliveries"][0]["totals"];
    expect![[r#"{"impressions":15,"spend":0,"completed_views":3,"completion_rate":0.2,"cpm":0,"cost_per_completed_view":0,"reach":5,"frequency":3,"reach_unit":"individuals"}"#]].assert_eq(&totals.to_string());
}

#[test]
fn what_vendors_measure_is_shown_as_it_was_reported_last() {
    let shop = Shop::new();
    let id = running(&shop);
    let row = |value: f64, measurable: u32| {
        json!([{"vendor": {"domain": "vendor.example"}, "metric_id": "attention_units",
            "value": value, "unit": "score", "measurable_impressions": measurable}])
    };
    report(&shop, &id, json!({"impressions": 80000, "vendor_metric_values": row(4.0, 1000)}));
    report(&shop, &id, json!({"impressions": 40000, "vendor_metric_values": row(4.2, 30000)}));
    let answer = deliveries(&shop, json!({"media_buy_ids": [id]}));
    let delivery = &answer["media_buy_deliveries"][0];
    let shown = |row: &Value| {
        let row = &row["vendor_metric_values"][0];
        format!("{} {}", row["value"], row["measurable_impressions"])
    };
    assert_eq!(shown(&delivery["totals"]), "4.2 30000");
    // Each package has its part of what could be measured, and the score of all.
    let packages = delivery["by_package"].as_array().unwrap();
    let parts: Vec<_> = packages.iter().map(shown).collect();
    assert_eq!(parts.join(", "), "4.2 10000, 4.2 20000");
}

#[test]
fn what_cannot_be_reported_is_refused() {
    let shop = Shop::new();
    let id = running(&shop);
    let mut transcript = String::new();
    for asked in [
        json!({"media_buy_ids": [id, "mb_none"]}),
        json!({"media_buy_ids": [id], "start_date": "2026-06-05", "end_date": "2026-06-05"}),
        json!({"media_buy_ids": [id], "start_date": "2026-02-30"}),
        json!({"media_buy_ids": [id], "time_granularity": "hourly"}),
    ] {
        transcript.push_str(&errors(&deliveries(&shop, asked)));
    }
    expect![[r#"
        {"code":"MEDIA_BUY_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"media_buy_ids","suggestion":"check media_buy_id with get_media_buys"}
        {"code":"INVALID_REQUEST","message":"end_date is not in the range any more; it has to lie after start_date","recovery":"correctable","field":"end_date","suggestion":"correct what field and issues name and send again"}
        {"code":"INVALID_REQUEST","message":"there is no such day","recovery":"correctable","field":"start_date","suggestion":"correct what field and issues name and send again"}
        {"code":"UNSUPPORTED_GRANULARITY","message":"these media buys are not reported in such windows","recovery":"correctable","field":"time_granularity","suggestion":"choose a granularity that the product declares, or leave it out","details":{"accepted_values":[]}}
    "#]].assert_eq(&transcript);
    // U-1: another tenant's and nobody's are one answer.
    let ask = |id: &str| {
        shop.ask_as("nova", AdcpTool::GetMediaBuyDelivery, json!({"media_buy_ids": [id]}))
    };
    assert_eq!(ask(&id), ask("mb_none"));
    let nothing = shop.ask_as("nova", AdcpTool::GetMediaBuyDelivery, json!({}));
    expect![[r#"{"status":"completed","message":"what was delivered, as far as it has been reported","reporting_period":{"start":"2026-06-01T12:00:00Z","end":"2026-06-01T12:00:00Z"},"currency":"USD","media_buy_deliveries":[],"aggregated_totals":{"impressions":0,"spend":0,"media_buy_count":0},"adcp_version":"3.1"}"#]].assert_eq(&nothing.to_string());
}

#[test]
fn what_is_spent_bounds_what_can_be_changed() {
    let shop = Shop::new();
    let id = running(&shop);
    let first = shop.buy(&id).thing.packages[0].package_id.clone();
    shop.update(&id, json!({"paused": true}));
    spend(&shop, &id, 95);
    let mut transcript = String::new();
    let mut update = |changes: Value| transcript.push_str(&errors(&shop.update(&id, changes)));
    update(json!({"packages": [{"package_id": first, "budget": 600}]}));
    spend(&shop, &id, 100);
    update(json!({"paused": false}));
    update(json!({"end_time": "2026-09-01T00:00:00Z"}));
    update(json!({"paused": false, "packages": [{"package_id": first, "budget": 1500}]}));
    expect![[r#"
        {"code":"BUDGET_EXCEEDED","message":"more than that has been spent already; see details","recovery":"correctable","field":"packages[0].budget","suggestion":"ask for less, or allocate more","details":{"requested":2600,"spent":2850}}
        {"code":"BUDGET_EXHAUSTED","message":"the budget has been spent; raise it in the same request","recovery":"terminal","field":"paused","suggestion":"have funds added or the cap raised"}
        {"code":"BUDGET_EXHAUSTED","message":"the budget has been spent; raise it in the same request","recovery":"terminal","field":"end_time","suggestion":"have funds added or the cap raised"}
        "completed"
    "#]].assert_eq(&transcript);
    let row = &deliveries(&shop, json!({"media_buy_ids": [id]}))["media_buy_deliveries"][0];
    assert_eq!(row["by_package"][0]["delivery_status"], "delivering");
}

#[test]
fn a_sandbox_forces_a_buy_along_the_published_ways_alone() {
    use MediaBuyStatus::{
        Active, Canceled, Completed, Paused, PendingCreatives, PendingStart, Rejected,
    };
    let mut transcript = String::new();
    for from in [PendingCreatives, PendingStart, Active, Paused, Completed, Rejected, Canceled] {
        let mut ways = Vec::new();
        for to in MediaBuyStatus::ALL.iter().copied() {
            let shop = Shop::new();
            let creatives = if from == PendingCreatives {
                Value::Null
            } else {
                json!([{"creative_id": "banner"}])
            };
            let answer = shop
                .create(json!({"packages": [package(json!({"creative_assignments": creatives}))]}));
            let id = answer["media_buy_id"].as_str().unwrap().to_owned();
            let now = shop.harness.now;
            let move_to = |status: MediaBuyStatus, expected: bool| {
                let mut buy = shop.buy(&id);
                shop.harness.put(move |tx| {
                    let done = forced_buy::status(tx, &mut buy, status, None, now)?;
                    let moved = matches!(done, forced_buy::Forced::Done(_));
                    assert!(moved || !expected, "{status:?}");
                    Ok(())
                });
            };
            if from != PendingCreatives {
                move_to(from, true);
            }
            let before = shop.buy(&id);
            assert_eq!(before.thing.status_at(now), from);
            move_to(to, false);
            let after = shop.buy(&id);
            let stands = after.thing.status_at(now);
            assert!(stands == to || after == before);
            if stands == to && to != from {
                ways.push(to.name());
            }
        }
        transcript.push_str(&format!("{}: {ways:?}\n", from.name()));
    }
    expect![[r#"
        pending_creatives: ["pending_start", "active", "paused", "completed", "rejected", "canceled"]
        pending_start: ["active", "paused", "completed", "rejected", "canceled"]
        active: ["paused", "completed", "canceled"]
        paused: ["active", "completed", "canceled"]
        completed: []
        rejected: []
        canceled: []
    "#]].assert_eq(&transcript);
}
