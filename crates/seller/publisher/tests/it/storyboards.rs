//! What the official judge asks of somebody who sells, one storyboard after the other, with the accounts
//! that it really names: a buy is made on one, and read and changed from another.

use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::support::script::Script;

fn test_account() -> Value {
    json!({"brand": {"domain": "test.example"}, "operator": "test.example", "sandbox": true})
}

fn acme() -> Value {
    json!({"brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle-agency.example"})
}

fn acme_sandbox() -> Value {
    let mut account = acme();
    account["sandbox"] = true.into();
    account
}

/// The answer to a request that has to succeed.
fn done(script: &mut Script, tool: AdcpTool, arguments: Value) -> Value {
    let answer = script.ask(tool, arguments.clone());
    assert_ne!(answer["status"], "failed", "{tool} {arguments:#}\n{answer:#}");
    answer
}

/// The code of a request that has to fail.
fn code(script: &mut Script, tool: AdcpTool, arguments: Value) -> String {
    let answer = script.ask(tool, arguments);
    answer["adcp_error"]["code"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}

fn seed(script: &mut Script, scenario: &str, params: Value) {
    let arguments = json!({"account": test_account(), "scenario": scenario, "params": params});
    let answer = done(script, AdcpTool::ComplyTestController, arguments);
    assert_eq!(answer["success"], true, "{answer:#}");
}

fn seed_product(script: &mut Script, id: &str, fixture: Value, option: &str, price: Value) {
    seed(script, "seed_product", json!({"product_id": id, "fixture": fixture}));
    let params = json!({"product_id": id, "pricing_option_id": option, "fixture": price});
    seed(script, "seed_pricing_option", params);
}

fn seed_test_product(script: &mut Script) {
    let fixture = json!({
        "delivery_type": "non_guaranteed", "channels": ["display"], "format_ids": [{"id": "display_300x250"}],
    });
    let price = json!({"pricing_model": "cpm", "currency": "USD", "floor_price": 1});
    seed_product(script, "test-product", fixture, "test-pricing", price);
}

/// A request for one package, with the account and the brand that the judge names.
fn order(account: Value, packages: Value) -> Value {
    json!({
        "account": account, "brand": {"domain": "test.example"}, "packages": packages,
        "start_time": "asap", "end_time": "2099-06-30T23:59:59Z",
    })
}

fn brief(script: &mut Script, text: &str, filters: Value) -> Value {
    let arguments = json!({
        "buying_mode": "brief", "brief": text, "filters": filters, "account": acme(),
        "brand": {"domain": "test.example"},
    });
    done(script, AdcpTool::GetProducts, arguments)
}

#[test]
fn sales_non_guaranteed() {
    let mut script = Script::new();
    for (id, channel, format, floor) in [
        ("sports_display_auction", "display", "display_300x250", 5),
        ("outdoor_video_auction", "video", "video_30s", 15),
    ] {
        let fixture = json!({
            "delivery_type": "non_guaranteed", "channels": [channel], "format_ids": [{"id": format}],
        });
        let price = json!({
            "pricing_model": "cpm", "currency": "USD", "floor_price": floor,
            "price_guidance": {"p50": floor + 1, "p75": floor + 2},
        });
        seed_product(&mut script, id, fixture, "cpm_auction", price);
    }
    let text = "Display and video inventory across sports and outdoor lifestyle sites. Q2 flight, $25K \
                budget. Adults 25-54, US. Auction-based, looking for competitive CPMs.";
    let filters = json!({"delivery_type": "non_guaranteed", "is_fixed_price": false});
    let found = brief(&mut script, text, filters);
    let option = |place: usize| found["products"][place]["pricing_options"][0].clone();
    let package = |place: usize, budget: u32, creative: &str| {
        json!({
            "product_id": found["products"][place]["product_id"], "budget": budget,
            "bid_price": option(place)["price_guidance"]["p50"],
            "pricing_option_id": option(place)["pricing_option_id"],
            "creative_assignments": [{"creative_id": creative}],
        })
    };
    let packages = json!([
        package(0, 10000, "display_trail_pro_300x250"),
        package(1, 15000, "video_30s_trail_pro"),
    ]);
    let bought = done(&mut script, AdcpTool::CreateMediaBuy, order(test_account(), packages));
    assert_eq!(bought["media_buy_status"], "active");
    let ids = json!([bought["media_buy_id"]]);
    let read = json!({"account": acme_sandbox(), "media_buy_ids": ids});
    let read = done(&mut script, AdcpTool::GetMediaBuys, read);
    assert_eq!(read["media_buys"][0]["status"], "active");
    let change = |place: usize, budget: u32| {
        json!({
            "package_id": bought["packages"][place]["package_id"], "budget": budget,
            "bid_price": option(place)["price_guidance"]["p75"],
        })
    };
    let updated = done(
        &mut script,
        AdcpTool::UpdateMediaBuy,
        json!({
            "account": test_account(), "media_buy_id": bought["media_buy_id"],
            "packages": [change(0, 12000), change(1, 13000)],
        }),
    );
    assert_eq!(updated["affected_packages"][0]["budget"], 12000);
    assert_eq!(updated["affected_packages"][1]["bid_price"], option(1)["price_guidance"]["p75"]);
    let delivery = json!({
        "account": acme_sandbox(), "media_buy_ids": ids, "include_package_daily_breakdown": true,
    });
    done(&mut script, AdcpTool::GetMediaBuyDelivery, delivery);
}

#[test]
fn delivery_reporting() {
    let mut script = Script::new();
    for (id, channel, format, option, model, price, more) in [
        ("outdoor_display_q2", "display", "display_300x250", "cpm_standard", "cpm", 8, json!({})),
        ("outdoor_video_q2", "video", "video_15s", "cpm_standard", "cpm", 12, json!({})),
        (
            "video_viewability_q2",
            "video",
            "video_15s",
            "vcpm_standard",
            "vcpm",
            14,
            json!({"metric_optimization": {"supported_metrics": ["viewed_seconds"]}}),
        ),
    ] {
        let mut fixture = json!({
            "delivery_type": "guaranteed", "channels": [channel], "format_ids": [{"id": format}],
        });
        fixture.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let price = json!({"pricing_model": model, "currency": "USD", "fixed_price": price});
        seed_product(&mut script, id, fixture, option, price);
    }
    let text = "Display and video inventory on outdoor lifestyle content. Q2 flight, $25K budget. Adults \
                25-54, US.";
    let found = brief(&mut script, text, json!({}));
    let package = |place: usize, budget: u32| {
        let product = &found["products"][place];
        json!({
            "product_id": product["product_id"], "budget": budget,
            "pricing_option_id": product["pricing_options"][0]["pricing_option_id"],
        })
    };
    let packages = json!([package(0, 15000), package(1, 10000)]);
    let bought = done(&mut script, AdcpTool::CreateMediaBuy, order(acme(), packages));
    seed(
        &mut script,
        "simulate_delivery",
        json!({
            "media_buy_id": bought["media_buy_id"], "impressions": 5000, "clicks": 150,
            "reported_spend": {"amount": 250, "currency": "USD"},
        }),
    );
    let delivered = |id: &Value| {
        json!({
            "account": acme_sandbox(), "media_buy_ids": [id], "include_package_daily_breakdown": true,
        })
    };
    let shown =
        done(&mut script, AdcpTool::GetMediaBuyDelivery, delivered(&bought["media_buy_id"]));
    assert_eq!(shown["media_buy_deliveries"][0]["totals"]["impressions"], 5000);
    let mut third = package(2, 20000);
    third["optimization_goals"] = json!([{
        "kind": "metric", "metric": "viewed_seconds", "priority": 1,
        "target": {"kind": "threshold_rate", "value": 3},
    }]);
    let bought = done(&mut script, AdcpTool::CreateMediaBuy, order(acme(), json!([third])));
    let viewability = json!({
        "measurable_impressions": 74000, "viewable_impressions": 59200, "viewable_rate": 0.8,
        "viewed_seconds": 4.3, "standard": "mrc",
    });
    seed(
        &mut script,
        "simulate_delivery",
        json!({
            "media_buy_id": bought["media_buy_id"], "impressions": 80000, "viewability": viewability,
            "reported_spend": {"amount": 1030, "currency": "USD"},
        }),
    );
    let shown =
        done(&mut script, AdcpTool::GetMediaBuyDelivery, delivered(&bought["media_buy_id"]));
    assert_eq!(shown["media_buy_deliveries"][0]["totals"]["viewability"], viewability);
}

#[test]
fn invalid_transitions() {
    let mut script = Script::new();
    let unknown = json!({"account": acme(), "media_buy_id": "does-not-exist-v1", "paused": true});
    assert_eq!(code(&mut script, AdcpTool::UpdateMediaBuy, unknown), "MEDIA_BUY_NOT_FOUND");
    let text = "Display inventory on outdoor lifestyle content. Q3 flight.";
    let found = brief(&mut script, text, json!({"is_fixed_price": true}));
    let product = &found["products"][0];
    let option = &product["pricing_options"][0];
    let package = json!({
        "product_id": product["product_id"], "budget": 5000, "bid_price": 7.5,
        "pricing_option_id": option["pricing_option_id"],
    });
    let bought =
        done(&mut script, AdcpTool::CreateMediaBuy, order(test_account(), json!([package])));
    let id = &bought["media_buy_id"];
    let packages = json!([{"package_id": "does-not-exist-package-v1", "budget": 5001}]);
    let unknown = json!({"account": acme(), "media_buy_id": id, "packages": packages});
    assert_eq!(code(&mut script, AdcpTool::UpdateMediaBuy, unknown), "PACKAGE_NOT_FOUND");
    let cancel = |account: Value| {
        json!({
            "account": account, "media_buy_id": id, "canceled": true, "cancellation_reason": "a test",
        })
    };
    done(&mut script, AdcpTool::UpdateMediaBuy, cancel(test_account()));
    assert_eq!(code(&mut script, AdcpTool::UpdateMediaBuy, cancel(acme())), "NOT_CANCELLABLE");
}

#[test]
fn measurement_terms_rejected() {
    let mut script = Script::new();
    let text = "Premium video inventory with measurement guarantees. Q3 flight, $50K.";
    let found = brief(&mut script, text, json!({"is_fixed_price": true}));
    let product = &found["products"][0];
    let package = |window: &str, variance: u32, remedies: Value| {
        json!([{
            "product_id": product["product_id"], "budget": 25000,
            "pricing_option_id": product["pricing_options"][0]["pricing_option_id"],
            "measurement_terms": {
                "billing_measurement": {
                    "vendor": {"domain": "videoamp.example"}, "measurement_window": window,
                    "max_variance_percent": variance,
                },
                "makegood_policy": {"available_remedies": remedies},
            },
        }])
    };
    let aggressive = order(acme(), package("c28", 0, json!(["credit"])));
    assert_eq!(code(&mut script, AdcpTool::CreateMediaBuy, aggressive), "TERMS_REJECTED");
    let relaxed = package("c7", 10, json!(["additional_delivery", "credit"]));
    done(&mut script, AdcpTool::CreateMediaBuy, order(test_account(), relaxed));
}

#[test]
fn proposal_finalize() {
    let mut script = Script::new();
    let text = "Premium video and display across outdoor lifestyle and sports. Q2 flight, $50K budget. \
                Adults 25-54, US and Canada.";
    let found = brief(&mut script, text, json!({}));
    let id = &found["proposals"][0]["proposal_id"];
    let refine =
        |entries: Value| json!({"buying_mode": "refine", "refine": entries, "account": acme()});
    done(
        &mut script,
        AdcpTool::GetProducts,
        refine(json!([
            {"scope": "proposal", "proposal_id": id,
             "ask": "Shift 60% of budget to CTV. Drop the display product and redistribute that budget to video."},
            {"scope": "request", "ask": "All products must support frequency capping at 3 per day."},
        ])),
    );
    let finalize = json!([{"scope": "proposal", "proposal_id": id, "action": "finalize"}]);
    let firm = done(&mut script, AdcpTool::GetProducts, refine(finalize));
    let order = |id: &Value| {
        json!({
            "brand": {"domain": "acmeoutdoor.example"}, "account": acme_sandbox(), "proposal_id": id,
            "total_budget": {"amount": 50000, "currency": "USD"},
            "start_time": "asap", "end_time": "2099-06-30T23:59:59Z",
            "io_acceptance": {
                "io_id": firm["proposals"][0]["insertion_order"]["io_id"],
                "accepted_at": "2026-03-15T14:30:00Z", "signatory": "ops@acmeoutdoor.example",
            },
        })
    };
    let bought = done(&mut script, AdcpTool::CreateMediaBuy, order(id));
    assert_eq!(bought["proposal_id"], *id);
    let mut unknown = order(&json!("prop_unknown_proposal_not_found"));
    unknown.as_object_mut().unwrap().shift_remove("io_acceptance");
    let answer = script.ask(AdcpTool::CreateMediaBuy, unknown);
    assert_eq!(answer["adcp_error"]["code"], "PROPOSAL_NOT_FOUND");
    assert_eq!(answer["adcp_error"]["field"], "proposal_id");
}

#[test]
fn deterministic_testing() {
    let mut script = Script::new();
    seed_test_product(&mut script);
    let bought = |script: &mut Script, budget: u32| {
        let package = json!([{
            "product_id": "test-product", "budget": budget, "pricing_option_id": "test-pricing",
        }]);
        done(script, AdcpTool::CreateMediaBuy, order(acme(), package))["media_buy_id"].clone()
    };
    let force = |id: &Value, status: &str| {
        json!({
            "account": acme_sandbox(), "brand": {"domain": "acmeoutdoor.example"},
            "scenario": "force_media_buy_status", "params": {"media_buy_id": id, "status": status},
        })
    };
    let id = bought(&mut script, 5000);
    for status in ["active", "completed"] {
        let answer = done(&mut script, AdcpTool::ComplyTestController, force(&id, status));
        assert_eq!((&answer["success"], &answer["current_state"]), (&json!(true), &json!(status)));
        let read = json!({"account": acme_sandbox(), "media_buy_ids": [id]});
        let read = done(&mut script, AdcpTool::GetMediaBuys, read);
        assert_eq!(read["media_buys"][0]["status"], status);
    }
    let answer = script.ask(AdcpTool::ComplyTestController, force(&id, "active"));
    assert_eq!(
        (&answer["success"], &answer["error"]),
        (&json!(false), &json!("INVALID_TRANSITION"))
    );
    let id = bought(&mut script, 10000);
    for share in [95, 100] {
        seed(
            &mut script,
            "simulate_budget_spend",
            json!({"media_buy_id": id, "spend_percentage": share}),
        );
    }
}

#[test]
fn webhook_emission() {
    let mut script = Script::new();
    seed_test_product(&mut script);
    seed(
        &mut script,
        "force_create_media_buy_arm",
        json!({"arm": "submitted", "task_id": "task-of-the-judge"}),
    );
    let package = json!([{"product_id": "test-product", "budget": 5000, "pricing_option_id": "test-pricing"}]);
    let mut order = order(test_account(), package);
    order["push_notification_config"] = json!({
        "url": "https://receiver.example/hooks/1", "operation_id": "op_webhook_presence_explicit",
    });
    let answer = done(&mut script, AdcpTool::CreateMediaBuy, order);
    assert_eq!(
        (&answer["status"], &answer["task_id"]),
        (&json!("submitted"), &json!("task-of-the-judge"))
    );
    seed(
        &mut script,
        "force_task_completion",
        json!({
            "task_id": "task-of-the-judge", "result": {"media_buy_id": "mb_of_the_judge", "packages": []},
        }),
    );
    let asked =
        json!({"account": test_account(), "task_id": "task-of-the-judge", "include_result": true});
    let polled = done(&mut script, AdcpTool::GetTaskStatus, asked);
    assert_eq!(polled["result"]["media_buy_id"], "mb_of_the_judge");
}
