//! `comply_test_controller`.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::profile::PublisherProfile;

use crate::support::script::{Script, banner};
use crate::support::{Harness, profile};

const CONTROLLER: AdcpTool = AdcpTool::ComplyTestController;

fn run(scenario: &str, params: Value) -> Value {
    json!({"scenario": scenario, "params": params})
}

/// An account for tests.
fn sandbox() -> Value {
    json!({
        "brand": {"domain": "test.example"}, "operator": "test.example", "sandbox": true,
    })
}

#[test]
fn what_is_listed_is_what_there_is() {
    let mut script = Script::new();
    let listed = script.note("listed", CONTROLLER, json!({"scenario": "list_scenarios"}));
    for scenario in listed["scenarios"].as_array().unwrap() {
        let answer = script.ask(CONTROLLER, run(scenario.as_str().unwrap(), json!({})));
        assert_eq!(answer["error"], "INVALID_PARAMS", "{scenario}: {answer}");
    }
    script.check(&expect![[r##"
        # listed
        {
          "status": "completed",
          "message": "what the sandbox can be made to do",
          "success": true,
          "scenarios": [
            "force_account_status",
            "force_creative_status",
            "force_media_buy_status",
            "force_session_status",
            "force_create_media_buy_arm",
            "force_get_products_arm",
            "force_get_signals_arm",
            "force_task_completion",
            "force_upstream_unavailable",
            "simulate_delivery",
            "simulate_budget_spend",
            "query_provenance_audit_observations",
            "seed_account",
            "seed_product",
            "seed_pricing_option",
            "seed_creative",
            "seed_creative_format",
            "seed_media_buy",
            "seed_plan"
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn a_refusal_stands_inside_an_answer_that_is_completed() {
    let mut script = Script::new();
    script.note("no such scenario", CONTROLLER, run("make_coffee", json!({})));
    script.note("nothing said", CONTROLLER, run("force_creative_status", json!({})));
    script.note(
        "not there",
        CONTROLLER,
        run(
            "force_creative_status",
            json!({
                "creative_id": "nobody", "status": "approved",
            }),
        ),
    );
    let mut live =
        run("force_creative_status", json!({"creative_id": "one", "status": "approved"}));
    script.note_as("live", "a caller of live accounts", CONTROLLER, live.clone());
    script.note_as("live", "its list", CONTROLLER, json!({"scenario": "list_scenarios"}));
    live["account"] = json!({
        "brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example",
    });
    live["account"]["sandbox"] = json!(true);
    script.note("an account for tests", CONTROLLER, live.clone());
    live["account"]["sandbox"] = json!(false);
    script.note("a live account", CONTROLLER, live);
    script.check(&expect![[r##"
        # no such scenario
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "UNKNOWN_SCENARIO",
          "error_detail": "list_scenarios says what there is",
          "adcp_version": "3.1"
        }
        # nothing said
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "INVALID_PARAMS",
          "error_detail": "these members do not fit the schema: /params/status, /params/creative_id",
          "adcp_version": "3.1"
        }
        # not there
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "NOT_FOUND",
          "error_detail": "an identifier in params does not resolve to anything of yours",
          "adcp_version": "3.1"
        }
        # a caller of live accounts
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "FORBIDDEN",
          "error_detail": "the caller works with live accounts alone",
          "adcp_version": "3.1"
        }
        # its list
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "FORBIDDEN",
          "error_detail": "the caller works with live accounts alone",
          "adcp_version": "3.1"
        }
        # an account for tests
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "NOT_FOUND",
          "error_detail": "an identifier in params does not resolve to anything of yours",
          "adcp_version": "3.1"
        }
        # a live account
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "FORBIDDEN",
          "error_detail": "the account is a live one; name one for tests",
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn without_a_sandbox_there_is_no_controller() {
    let harness = Harness::from_profile(PublisherProfile { sandbox: false, ..profile() });
    harness.check(CONTROLLER, json!({
        "scenario": "list_scenarios", "account": {"sandbox": true},
    }), &expect![[r#"
        {
          "status": "failed",
          "message": "this seller does not have that task; get_adcp_capabilities says what it has",
          "adcp_error": {
            "code": "UNSUPPORTED_FEATURE",
            "message": "this seller does not have that task; get_adcp_capabilities says what it has",
            "recovery": "correctable",
            "suggestion": "read get_adcp_capabilities and leave out what is not supported"
          },
          "errors": [
            {
              "code": "UNSUPPORTED_FEATURE",
              "message": "this seller does not have that task; get_adcp_capabilities says what it has",
              "recovery": "correctable",
              "suggestion": "read get_adcp_capabilities and leave out what is not supported"
            }
          ],
          "adcp_version": "3.1"
        }"#]]);
    assert!(!harness.publisher.tools().contains(&CONTROLLER));
}

#[test]
fn accounts_creatives_and_conversations_are_moved_as_published() {
    let mut script = Script::new();
    script.ask(AdcpTool::SyncCreatives, banner("one"));
    script.ask(AdcpTool::SyncCreatives, banner("two"));
    let accounts = script.ask(AdcpTool::ListAccounts, json!({}));
    let live = accounts["accounts"][0]["account_id"].clone();
    let refused = script.ask(
        CONTROLLER,
        run("force_account_status", json!({"account_id": live, "status": "suspended"})),
    );
    assert_eq!(refused["error"], "FORBIDDEN", "a live account is not moved");
    let row = json!({
        "brand": {"domain": "trial.example"}, "operator": "trial.example", "billing": "operator",
        "sandbox": true,
    });
    let synced = json!({"accounts": [row], "idempotency_key": "key-of-the-trial-account"});
    let account = script.ask(AdcpTool::SyncAccounts, synced)["accounts"][0]["account_id"].clone();
    let opened = script.ask(
        AdcpTool::SiInitiateSession,
        json!({
            "intent": "news", "identity": {"consent_granted": false},
        }),
    );
    let session = opened["session_id"].clone();
    let steps = [
        ("account", "suspended", "active>suspended"),
        ("account", "suspended", "suspended>suspended"),
        ("account", "payment_required", "INVALID_TRANSITION suspended"),
        ("account", "active", "suspended>active"),
        ("account", "payment_required", "active>payment_required"),
        ("account", "active", "payment_required>active"),
        ("account", "asleep", "INVALID_PARAMS"),
        ("one", "approved", "approved>approved"),
        ("one", "archived", "approved>archived"),
        ("one", "processing", "INVALID_TRANSITION archived"),
        ("two", "rejected", "approved>rejected"),
        ("two", "approved", "INVALID_TRANSITION rejected"),
        ("session", "terminated", "active>terminated"),
        ("session", "complete", "INVALID_TRANSITION terminated"),
        ("session", "active", "INVALID_PARAMS"),
    ];
    for (what, status, expected) in steps {
        let (scenario, mut params) = match what {
            "account" => ("force_account_status", json!({"account_id": account})),
            "session" => ("force_session_status", json!({"session_id": session})),
            id => {
                ("force_creative_status", json!({"creative_id": id, "rejection_reason": "Ugly."}))
            }
        };
        params["status"] = json!(status);
        let request = run(scenario, params);
        // To another caller none of this is there.
        let other_caller_answer = script.ask_as("nova", CONTROLLER, request.clone());
        assert!(
            ["NOT_FOUND", "INVALID_PARAMS"]
                .contains(&other_caller_answer["error"].as_str().unwrap()),
            "{other_caller_answer}"
        );
        let answer = script.ask(CONTROLLER, request);
        let said = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        let found = if answer["success"] == true {
            format!("{}>{}", said("previous_state"), said("current_state"))
        } else {
            format!("{} {}", said("error"), said("current_state")).trim_end().to_owned()
        };
        assert_eq!(found, expected, "{what} to {status}");
    }
    script.note(
        "seen in the library",
        AdcpTool::ListCreatives,
        json!({
            "filters": {"statuses": ["rejected", "archived"]}, "fields": ["creative_id"],
        }),
    );
    script.note(
        "a conversation that is over",
        AdcpTool::SiSendMessage,
        json!({
            "session_id": session, "message": "hello",
        }),
    );
    let forced = json!({"account_id": account, "status": "suspended"});
    script.ask(CONTROLLER, run("force_account_status", forced));
    let mut third = banner("three");
    third["account"] = json!({"account_id": account});
    script.note("an account that is suspended", AdcpTool::SyncCreatives, third);
    script.check(&expect![[r##"
        # seen in the library
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 2,
            "returned": 2,
            "filters_applied": [
              "statuses"
            ],
            "sort_applied": {
              "field": "created_date",
              "direction": "desc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 2
          },
          "creatives": [
            {
              "creative_id": "two",
              "name": "A banner",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "rejected",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z",
              "rejection_reason": "Ugly."
            },
            {
              "creative_id": "one",
              "name": "A banner",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "archived",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z"
            }
          ],
          "status_summary": {
            "archived": 1,
            "rejected": 1
          },
          "format_summary": {
            "display_300x250": 2
          },
          "adcp_version": "3.1"
        }
        # a conversation that is over
        {
          "status": "failed",
          "message": "the conversation has ended; open another with si_initiate_session",
          "adcp_error": {
            "code": "SESSION_TERMINATED",
            "message": "the conversation has ended; open another with si_initiate_session",
            "recovery": "correctable",
            "field": "session_id",
            "suggestion": "begin a session with si_initiate_session"
          },
          "errors": [
            {
              "code": "SESSION_TERMINATED",
              "message": "the conversation has ended; open another with si_initiate_session",
              "recovery": "correctable",
              "field": "session_id",
              "suggestion": "begin a session with si_initiate_session"
            }
          ],
          "adcp_version": "3.1"
        }
        # an account that is suspended
        {
          "status": "failed",
          "message": "the account is suspended; a person has to settle it with the seller",
          "adcp_error": {
            "code": "ACCOUNT_SUSPENDED",
            "message": "the account is suspended; a person has to settle it with the seller",
            "recovery": "terminal",
            "suggestion": "ask the seller to lift the suspension"
          },
          "errors": [
            {
              "code": "ACCOUNT_SUSPENDED",
              "message": "the account is suspended; a person has to settle it with the seller",
              "recovery": "terminal",
              "suggestion": "ask the seller to lift the suspension"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn a_media_buy_is_seeded_moved_delivered_and_spent() {
    let mut script = Script::new();
    let with = |mut request: Value| {
        request["account"] = sandbox();
        request
    };
    let fixture = json!({
        "status": "pending_start", "currency": "USD",
        "start_time": "2026-07-01T00:00:00Z", "end_time": "2026-08-01T00:00:00Z",
        "packages": [{
            "package_id": "p1", "product_id": "news_display", "pricing_option_id": "cpm", "budget": 200.0,
        }],
    });
    let seed = with(run("seed_media_buy", json!({"media_buy_id": "mb", "fixture": fixture})));
    script.note("seeded", CONTROLLER, seed.clone());
    script.note("seeded again", CONTROLLER, seed.clone());
    let mut other = seed;
    other["params"]["fixture"]["currency"] = json!("EUR");
    script.note("seeded otherwise", CONTROLLER, other);
    let status = |status: &str| {
        run(
            "force_media_buy_status",
            json!({
                "media_buy_id": "mb", "status": status,
            }),
        )
    };
    script.note("active", CONTROLLER, status("active"));
    let delivery = json!({
        "media_buy_id": "mb", "impressions": 1000, "clicks": 15,
        "reported_spend": {"amount": 15.5, "currency": "USD"},
    });
    script.note("delivered", CONTROLLER, run("simulate_delivery", delivery.clone()));
    script.note("delivered more", CONTROLLER, run("simulate_delivery", delivery));
    let spend = |share: f64| {
        run(
            "simulate_budget_spend",
            json!({
                "media_buy_id": "mb", "spend_percentage": share,
            }),
        )
    };
    script.note("spent", CONTROLLER, spend(95.0));
    script.note("spent otherwise", CONTROLLER, spend(50.0));
    script.note("completed", CONTROLLER, status("completed"));
    script.note("active again", CONTROLLER, status("active"));
    script.note_as("nova", "another's", CONTROLLER, status("completed"));
    script.note(
        "no such task",
        CONTROLLER,
        run(
            "force_task_completion",
            json!({
                "task_id": "task_nowhere", "result": {"media_buy_id": "mb"},
            }),
        ),
    );
    script.note(
        "an arm",
        CONTROLLER,
        run(
            "force_create_media_buy_arm",
            json!({
                "arm": "submitted", "task_id": "task_1", "message": "a person looks at it",
            }),
        ),
    );
    script.note(
        "an arm without a task",
        CONTROLLER,
        run(
            "force_create_media_buy_arm",
            json!({
                "arm": "submitted",
            }),
        ),
    );
    script.check(&expect![[r##"
        # seeded
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "adcp_version": "3.1"
        }
        # seeded again
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "adcp_version": "3.1"
        }
        # seeded otherwise
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "INVALID_PARAMS",
          "error_detail": "it was put there with other values of currency",
          "adcp_version": "3.1"
        }
        # active
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "previous_state": "pending_start",
          "current_state": "active",
          "adcp_version": "3.1"
        }
        # delivered
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "simulated": {
            "reported_spend": {
              "amount": 15.5,
              "currency": "USD"
            },
            "impressions": 1000,
            "clicks": 15
          },
          "cumulative": {
            "impressions": 1000,
            "spend": 15.5,
            "clicks": 15,
            "ctr": 0.015,
            "cpm": 15.5,
            "cost_per_click": 1.033333
          },
          "adcp_version": "3.1"
        }
        # delivered more
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "simulated": {
            "reported_spend": {
              "amount": 15.5,
              "currency": "USD"
            },
            "impressions": 1000,
            "clicks": 15
          },
          "cumulative": {
            "impressions": 2000,
            "spend": 31,
            "clicks": 30,
            "ctr": 0.015,
            "cpm": 15.5,
            "cost_per_click": 1.033333
          },
          "adcp_version": "3.1"
        }
        # spent
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "simulated": {
            "spend_percentage": 95,
            "computed_spend": 190,
            "budget": 200
          },
          "adcp_version": "3.1"
        }
        # spent otherwise
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "simulated": {
            "spend_percentage": 50,
            "computed_spend": 100,
            "budget": 200
          },
          "adcp_version": "3.1"
        }
        # completed
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "previous_state": "active",
          "current_state": "completed",
          "adcp_version": "3.1"
        }
        # active again
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "INVALID_TRANSITION",
          "error_detail": "no published transition leads from the current state to this one",
          "current_state": "completed",
          "adcp_version": "3.1"
        }
        # another's
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "NOT_FOUND",
          "error_detail": "an identifier in params does not resolve to anything of yours",
          "adcp_version": "3.1"
        }
        # no such task
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "NOT_FOUND",
          "error_detail": "an identifier in params does not resolve to anything of yours",
          "adcp_version": "3.1"
        }
        # an arm
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "forced": {
            "arm": "submitted",
            "task_id": "task_1"
          },
          "adcp_version": "3.1"
        }
        # an arm without a task
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "INVALID_PARAMS",
          "error_detail": "these members do not fit the schema: /params/task_id",
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn what_is_seeded_is_there() {
    let mut script = Script::new();
    let seed = |script: &mut Script, scenario: &str, params: Value| {
        let mut request = run(scenario, params);
        request["account"] = sandbox();
        let answer = script.ask(CONTROLLER, request);
        assert_eq!(answer["success"], true, "{scenario}: {answer}");
    };
    seed(
        &mut script,
        "seed_product",
        json!({"product_id": "test-product", "fixture": {
            "delivery_type": "non_guaranteed", "channels": ["display"], "format_ids": [{"id": "display_300x250"}],
        }}),
    );
    seed(
        &mut script,
        "seed_pricing_option",
        json!({
            "product_id": "test-product", "pricing_option_id": "test-pricing",
            "fixture": {"pricing_model": "cpm", "currency": "USD", "floor_price": 1.0},
        }),
    );
    seed(&mut script, "seed_creative_format", json!({"format_id": "hologram"}));
    seed(
        &mut script,
        "seed_creative",
        json!({"creative_id": "seeded", "fixture": {
            "name": "Seeded", "format_id": {"agent_url": "https://ads.gazette.example", "id": "hologram"},
            "status": "rejected", "rejection_reason": "Blurred.",
        }}),
    );
    seed(
        &mut script,
        "seed_account",
        json!({"account_id": "acct-seeded", "fixture": {
            "brand": {"domain": "seeded.example"}, "name": "Seeded", "status": "payment_required",
        }}),
    );
    seed(
        &mut script,
        "seed_plan",
        json!({"plan_id": "plan-seeded", "fixture": {
            "budget": {"total": 10.0, "currency": "USD"},
        }}),
    );
    let missing =
        run("seed_pricing_option", json!({"product_id": "nothing", "pricing_option_id": "x"}));
    script.note("a price of nothing", CONTROLLER, missing);
    script.note("the creative", AdcpTool::ListCreatives, json!({"account": sandbox()}));
    script.note("the account", AdcpTool::SyncCreatives, {
        let mut request = banner("x");
        request["account"] = json!({"account_id": "acct-seeded"});
        request
    });
    script.note(
        "the plan",
        AdcpTool::CheckGovernance,
        json!({
            "plan_id": "plan-seeded", "caller": "https://buyer.example", "tool": "create_media_buy",
            "payload": {"packages": [{"budget": 11.0}]},
        }),
    );
    let offered = script.ask(AdcpTool::GetProducts, json!({"buying_mode": "wholesale"}));
    let products = offered["products"].as_array().unwrap();
    let product = products.iter().find(|product| product["product_id"] == "test-product").unwrap();
    let prices = product["pricing_options"].as_array().unwrap().iter();
    let prices: Vec<&str> =
        prices.map(|price| price["pricing_option_id"].as_str().unwrap()).collect();
    // Who buys without having asked for prices names the second one.
    assert_eq!(prices, ["test-pricing", "default"]);
    script.note(
        "an outage",
        CONTROLLER,
        run(
            "force_upstream_unavailable",
            json!({
                "tool": "get_products", "upstream_name": "inventory-service",
            }),
        ),
    );
    script.note(
        "an outage elsewhere",
        CONTROLLER,
        run(
            "force_upstream_unavailable",
            json!({
                "tool": "list_creatives",
            }),
        ),
    );
    script.check(&expect![[r##"
        # a price of nothing
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "NOT_FOUND",
          "error_detail": "an identifier in params does not resolve to anything of yours",
          "adcp_version": "3.1"
        }
        # the creative
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 1,
            "returned": 1,
            "filters_applied": [],
            "sort_applied": {
              "field": "created_date",
              "direction": "desc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 1
          },
          "creatives": [
            {
              "creative_id": "seeded",
              "name": "Seeded",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "hologram"
              },
              "status": "rejected",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z",
              "rejection_reason": "Blurred.",
              "account": {
                "account_id": "acc_1",
                "name": "test.example",
                "status": "active",
                "brand": {
                  "domain": "test.example"
                },
                "operator": "test.example",
                "billing": "operator",
                "payment_terms": "net_30",
                "account_scope": "brand",
                "sandbox": true
              },
              "assets": {},
              "assignments": {
                "assignment_count": 0,
                "assigned_packages": []
              }
            }
          ],
          "status_summary": {
            "rejected": 1
          },
          "format_summary": {
            "hologram": 1
          },
          "adcp_version": "3.1"
        }
        # the account
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "x",
              "action": "created",
              "status": "approved"
            }
          ],
          "sandbox": true,
          "replayed": false,
          "adcp_version": "3.1"
        }
        # the plan
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_2",
          "verdict": "denied",
          "plan_id": "plan-seeded",
          "explanation": "the amount is above the 10 that the plan allows for it",
          "categories_evaluated": [
            "budget_authority"
          ],
          "mode": "enforce",
          "findings": [
            {
              "category_id": "budget_authority",
              "severity": "critical",
              "explanation": "the amount is above the 10 that the plan allows for it"
            }
          ],
          "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"plan-seeded\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_3\",\"phase\":\"intent\",\"caller\":\"https://buyer.example\",\"check_id\":\"chk_2\",\"plan_hash\":\"EyijClinfndqSKK4QuG4cVjwri-1YbI7OV2lbEbnQaY\",\"policy_decision_hash\":\"c211edc075938e92dd44e6d09f68244016410223230e4fa90ae6b310f0ba8845\",\"verdict\":\"denied\"}",
          "adcp_version": "3.1"
        }
        # an outage
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "previous_state": "available",
          "current_state": "unavailable",
          "adcp_version": "3.1"
        }
        # an outage elsewhere
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "INVALID_PARAMS",
          "error_detail": "no other tool than get_products asks anything behind the publisher",
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn simulated_delivery_lies_on_the_day_it_names() {
    let mut script = Script::new();
    let fixture = json!({
        "status": "active", "currency": "USD",
        "start_time": "2026-01-01T00:00:00Z", "end_time": "2099-12-31T00:00:00Z",
        "packages": [{
            "package_id": "p1", "product_id": "news_display", "pricing_option_id": "cpm", "budget": 200.0,
        }],
    });
    let mut control = |scenario: &str, params: Value| {
        let mut request = run(scenario, params);
        request["account"] = sandbox();
        script.ask(CONTROLLER, request)
    };
    let seeded = control("seed_media_buy", json!({"media_buy_id": "mb", "fixture": fixture}));
    assert_eq!(seeded["success"], true, "{seeded}");
    for (day, impressions) in [("2026-04-16", 400), ("2026-04-01", 100), ("2026-04-15", 200)] {
        let batch = json!({"media_buy_id": "mb", "delivery_date": day, "impressions": impressions});
        let answer = control("simulate_delivery", batch);
        assert_eq!(answer["success"], true, "{answer}");
    }
    let nonsense = json!({"media_buy_id": "mb", "delivery_date": "2026-02-30", "impressions": 1});
    let answer = control("simulate_delivery", nonsense);
    assert_eq!(answer["error"], "INVALID_PARAMS", "{answer}");
    let asked = json!({
        "account": sandbox(), "media_buy_ids": ["mb"], "start_date": "2026-04-01",
        "end_date": "2026-04-16",
    });
    let answer = script.ask(AdcpTool::GetMediaBuyDelivery, asked);
    let delivery = &answer["media_buy_deliveries"][0];
    assert_eq!(delivery["totals"]["impressions"], 300, "{answer}");
    let days = delivery["daily_breakdown"].as_array().cloned().unwrap_or_default();
    let days: Vec<_> = days.iter().map(|day| day["date"].as_str().unwrap_or_default()).collect();
    assert_eq!(days, ["2026-04-01", "2026-04-15"], "{answer}");
}
