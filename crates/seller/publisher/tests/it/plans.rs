//! The governance role.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::support::script::Script;

fn plan(id: &str) -> Value {
    json!({
        "plan_id": id, "brand": {"domain": "acmeoutdoor.example"}, "objectives": "Sell tents.",
        "budget": {
            "total": 1000.0, "currency": "USD", "reallocation_threshold": 1000.0,
            "allocations": {"signal_activation": {"max_pct": 10.0}},
        },
        "flight": {"start": "2026-06-01T00:00:00Z", "end": "2026-07-01T00:00:00Z"},
        "countries": ["US", "CA"],
        "channels": {"allowed": ["display", "olv"]},
    })
}

fn payload(budget: f64) -> Value {
    json!({"tool": "create_media_buy", "payload": {
        "total_budget": {"amount": budget, "currency": "USD"},
        "start_time": "2026-06-02T00:00:00Z", "end_time": "2026-06-30T00:00:00Z",
        "packages": [{"budget": budget, "targeting_overlay": {"geo_countries": ["US"]}}],
    }})
}

fn check(script: &mut Script, title: &str, plan_id: &str, what: Value) -> Value {
    let mut arguments = json!({"plan_id": plan_id, "caller": "https://buyer.example/agent"});
    arguments.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    script.note(title, AdcpTool::CheckGovernance, arguments)
}

#[test]
fn a_decision_follows_from_the_plan() {
    let mut script = Script::new();
    let script = &mut script;
    let mut strict = plan("strict");
    strict["human_review_required"] = json!(true);
    strict["delegations"] = json!([{
        "agent_url": "https://buyer.example/agent/", "authority": "full", "expires_at": "2026-06-01T00:00:00Z",
    }]);
    strict["custom_policies"] =
        json!([{"policy_id": "p", "enforcement": "must", "policy": "Be kind."}]);
    script.note("plans", AdcpTool::SyncPlans, json!({"plans": [plan("plan"), strict]}));
    script.note("again", AdcpTool::SyncPlans, json!({"plans": [plan("plan")]}));
    check(script, "within", "plan", payload(1000.0));
    check(script, "above the budget", "plan", payload(1000.5));
    let mut late = payload(1.0);
    late["payload"]["end_time"] = json!("2026-08-01T00:00:00Z");
    check(script, "after the flight", "plan", late);
    let mut abroad = payload(5000.0);
    abroad["payload"]["packages"][0]["targeting_overlay"]["geo_countries"] = json!(["US", "FR"]);
    check(script, "too much, and abroad", "plan", abroad);
    let mut share = payload(101.0);
    share["purchase_type"] = json!("signal_activation");
    check(script, "above the share of its kind", "plan", share);
    check(
        script,
        "planned elsewhere and otherwise",
        "plan",
        json!({"planned_delivery": {
            "geo": {"countries": ["FR"]}, "channels": ["ctv"], "total_budget": 10.0, "currency": "EUR",
            "end_time": "2026-07-02T00:00:00Z",
        }}),
    );
    check(
        script,
        "delivered",
        "plan",
        json!({"phase": "delivery", "delivery_metrics": {
            "reporting_period": {"start": "2026-06-01T00:00:00Z", "end": "2026-06-08T00:00:00Z"},
            "cumulative_spend": 100.0, "geo_distribution": {"US": 100.0, "FR": 0.0},
            "channel_distribution": {"display": 100.0},
        }}),
    );
    check(script, "what no machine may decide", "strict", payload(1.0));
    script.check(&expect![[r##"
        # plans
        {
          "status": "completed",
          "message": "the plans are there",
          "plans": [
            {
              "plan_id": "plan",
              "status": "active",
              "version": 1,
              "categories": [
                {
                  "category_id": "budget_authority",
                  "status": "active"
                },
                {
                  "category_id": "flight_compliance",
                  "status": "active"
                },
                {
                  "category_id": "geo_compliance",
                  "status": "active"
                },
                {
                  "category_id": "channel_compliance",
                  "status": "active"
                }
              ]
            },
            {
              "plan_id": "strict",
              "status": "active",
              "version": 1,
              "categories": [
                {
                  "category_id": "budget_authority",
                  "status": "active"
                },
                {
                  "category_id": "flight_compliance",
                  "status": "active"
                },
                {
                  "category_id": "geo_compliance",
                  "status": "active"
                },
                {
                  "category_id": "channel_compliance",
                  "status": "active"
                },
                {
                  "category_id": "delegation_authority",
                  "status": "active"
                },
                {
                  "category_id": "policy_compliance",
                  "status": "inactive"
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # again
        {
          "status": "completed",
          "message": "the plans are there",
          "plans": [
            {
              "plan_id": "plan",
              "status": "active",
              "version": 2,
              "categories": [
                {
                  "category_id": "budget_authority",
                  "status": "active"
                },
                {
                  "category_id": "flight_compliance",
                  "status": "active"
                },
                {
                  "category_id": "geo_compliance",
                  "status": "active"
                },
                {
                  "category_id": "channel_compliance",
                  "status": "active"
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # within
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_1",
          "verdict": "approved",
          "plan_id": "plan",
          "explanation": "the action is within the plan",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance"
          ],
          "mode": "enforce",
          "expires_at": "2026-06-01T12:15:00Z",
          "governance_context": " {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"plan\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_2\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_1\",\"plan_hash\":\"QNLTYodihlVbBC3xi9pDEUNnrBHwhhQPxyrvk9wry0c\",\"policy_decision_hash\":\"c53393b6086419fdf0afa9e97f80143ab64773e260c94432922e0e85432dd67e\"}",
          "adcp_version": "3.1"
        }
        # above the budget
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_3",
          "verdict": "conditions",
          "plan_id": "plan",
          "explanation": "the action would be within the plan under the conditions",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance"
          ],
          "mode": "enforce",
          "findings": [
            {
              "category_id": "budget_authority",
              "severity": "critical",
              "explanation": "the amount is above the 1000 that the plan allows for it"
            }
          ],
          "conditions": [
            {
              "field": "payload.total_budget.amount",
              "required_value": 1000,
              "reason": "the amount is above the 1000 that the plan allows for it"
            }
          ],
          "expires_at": "2026-06-01T12:15:00Z",
          "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"plan\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_4\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_3\",\"plan_hash\":\"QNLTYodihlVbBC3xi9pDEUNnrBHwhhQPxyrvk9wry0c\",\"policy_decision_hash\":\"2accc70bfced0f702f735305cf6736055a9967b535db1aa0ed93d2340f1beb4a\",\"verdict\":\"conditions\"}",
          "adcp_version": "3.1"
        }
        # after the flight
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_5",
          "verdict": "conditions",
          "plan_id": "plan",
          "explanation": "the action would be within the plan under the conditions",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance"
          ],
          "mode": "enforce",
          "findings": [
            {
              "category_id": "flight_compliance",
              "severity": "critical",
              "explanation": "end_time is outside the plan's flight"
            }
          ],
          "conditions": [
            {
              "field": "payload.end_time",
              "required_value": "2026-07-01T00:00:00Z",
              "reason": "end_time is outside the plan's flight"
            }
          ],
          "expires_at": "2026-06-01T12:15:00Z",
          "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"plan\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_6\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_5\",\"plan_hash\":\"QNLTYodihlVbBC3xi9pDEUNnrBHwhhQPxyrvk9wry0c\",\"policy_decision_hash\":\"78eaa95fd03b7faebb6aac75bd3aaa2a3f64f3e4246bb1f162f379a2ee95832d\",\"verdict\":\"conditions\"}",
          "adcp_version": "3.1"
        }
        # too much, and abroad
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_7",
          "verdict": "denied",
          "plan_id": "plan",
          "explanation": "the amount is above the 1000 that the plan allows for it; it reaches countries that are not in the plan",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance"
          ],
          "mode": "enforce",
          "findings": [
            {
              "category_id": "budget_authority",
              "severity": "critical",
              "explanation": "the amount is above the 1000 that the plan allows for it"
            },
            {
              "category_id": "geo_compliance",
              "severity": "critical",
              "explanation": "it reaches countries that are not in the plan"
            }
          ],
          "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"plan\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_8\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_7\",\"plan_hash\":\"QNLTYodihlVbBC3xi9pDEUNnrBHwhhQPxyrvk9wry0c\",\"policy_decision_hash\":\"965082a9d9c51843c5d1609c999010b0286edc2b2651d86b73b69ee690d435a2\",\"verdict\":\"denied\"}",
          "adcp_version": "3.1"
        }
        # above the share of its kind
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_9",
          "verdict": "conditions",
          "plan_id": "plan",
          "explanation": "the action would be within the plan under the conditions",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance"
          ],
          "mode": "enforce",
          "findings": [
            {
              "category_id": "budget_authority",
              "severity": "critical",
              "explanation": "the amount is above the 100 that the plan allows for it"
            }
          ],
          "conditions": [
            {
              "field": "payload.total_budget.amount",
              "required_value": 100,
              "reason": "the amount is above the 100 that the plan allows for it"
            }
          ],
          "expires_at": "2026-06-01T12:15:00Z",
          "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"plan\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_10\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_9\",\"plan_hash\":\"QNLTYodihlVbBC3xi9pDEUNnrBHwhhQPxyrvk9wry0c\",\"policy_decision_hash\":\"ab346b41cb8a410341113492a8459c747fd94284cd1e7e8ec917237653fe6c5e\",\"verdict\":\"conditions\"}",
          "adcp_version": "3.1"
        }
        # planned elsewhere and otherwise
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_11",
          "verdict": "denied",
          "plan_id": "plan",
          "explanation": "the money is not in the currency of the plan; end_time is outside the plan's flight; it reaches countries that are not in the plan; it uses channels that are not in the plan",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance"
          ],
          "mode": "enforce",
          "findings": [
            {
              "category_id": "budget_authority",
              "severity": "critical",
              "explanation": "the money is not in the currency of the plan"
            },
            {
              "category_id": "flight_compliance",
              "severity": "critical",
              "explanation": "end_time is outside the plan's flight"
            },
            {
              "category_id": "geo_compliance",
              "severity": "critical",
              "explanation": "it reaches countries that are not in the plan"
            },
            {
              "category_id": "channel_compliance",
              "severity": "critical",
              "explanation": "it uses channels that are not in the plan"
            }
          ],
          "adcp_version": "3.1"
        }
        # delivered
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_12",
          "verdict": "approved",
          "plan_id": "plan",
          "explanation": "the action is within the plan",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance"
          ],
          "mode": "enforce",
          "expires_at": "2026-06-01T12:15:00Z",
          "next_check": "2026-06-08T12:00:00Z",
          "adcp_version": "3.1"
        }
        # what no machine may decide
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_13",
          "verdict": "denied",
          "plan_id": "strict",
          "explanation": "the plan demands that a person decides, and no person decides here; the plan delegates nothing to the caller at this time",
          "categories_evaluated": [
            "budget_authority",
            "flight_compliance",
            "geo_compliance",
            "channel_compliance",
            "delegation_authority"
          ],
          "policies_evaluated": [
            "p"
          ],
          "mode": "enforce",
          "findings": [
            {
              "category_id": "human_review",
              "severity": "critical",
              "explanation": "the plan demands that a person decides, and no person decides here"
            },
            {
              "category_id": "delegation_authority",
              "severity": "critical",
              "explanation": "the plan delegates nothing to the caller at this time"
            },
            {
              "category_id": "policy_compliance",
              "policy_id": "p",
              "severity": "warning",
              "explanation": "the policy p holds for this action: Be kind."
            }
          ],
          "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"strict\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_14\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_13\",\"plan_hash\":\"asxZDN7Wnt5MxPj9tOOhQ2gPxBn2VTxWwhv3RVSlD0A\",\"policy_decision_hash\":\"7bb5f62a4cc58eb6a363fb2e40a437dad71377366a0116a198c81428757c5337\",\"verdict\":\"denied\"}",
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn protocol_errors_are_no_decisions() {
    let mut script = Script::new();
    let script = &mut script;
    script.ask(AdcpTool::SyncPlans, json!({"plans": [plan("mine")]}));
    let not_found = check(script, "no such plan", "nowhere", payload(1.0));
    let mut arguments = json!({"plan_id": "mine", "caller": "https://buyer.example/agent"});
    arguments.as_object_mut().unwrap().extend(payload(1.0).as_object().unwrap().clone());
    // Another's is nobody's (`U-1`).
    assert_eq!(not_found, script.ask_as("nova", AdcpTool::CheckGovernance, arguments));
    check(script, "nothing to decide", "mine", json!({}));
    let mut backwards = plan("backwards");
    backwards["flight"]["end"] = json!("2026-05-01T00:00:00Z");
    backwards["budget"]["total"] = json!(-1.0);
    script.note(
        "bad plans",
        AdcpTool::SyncPlans,
        json!({"plans": [plan("a"), backwards, plan("a")]}),
    );
    script.check(&expect![[r##"
        # no such plan
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "PLAN_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "plan_id",
            "suggestion": "register the plan with sync_plans first"
          },
          "errors": [
            {
              "code": "PLAN_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "plan_id",
              "suggestion": "register the plan with sync_plans first"
            }
          ],
          "adcp_version": "3.1"
        }
        # nothing to decide
        {
          "status": "failed",
          "message": "send what is to be checked: tool with payload, planned_delivery, or delivery_metrics",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "send what is to be checked: tool with payload, planned_delivery, or delivery_metrics",
            "recovery": "correctable",
            "field": "payload",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "send what is to be checked: tool with payload, planned_delivery, or delivery_metrics",
              "recovery": "correctable",
              "field": "payload",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
        # bad plans
        {
          "status": "failed",
          "message": "the flight ends before it begins",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "the flight ends before it begins",
            "recovery": "correctable",
            "field": "plans[1].flight.end",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "the flight ends before it begins",
              "recovery": "correctable",
              "field": "plans[1].flight.end",
              "suggestion": "correct what field and issues name and send again"
            },
            {
              "code": "INVALID_REQUEST",
              "message": "a budget is not less than nothing",
              "recovery": "correctable",
              "field": "plans[1].budget.total",
              "suggestion": "correct what field and issues name and send again"
            },
            {
              "code": "INVALID_REQUEST",
              "message": "the same plan stands in the request twice",
              "recovery": "correctable",
              "field": "plans[2].plan_id",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

/// A plan that lets a person decide about more than 400, with a policy of its own.
fn watched() -> Value {
    let mut watched = plan("watched");
    watched["budget"]["reallocation_threshold"] = json!(400.0);
    watched["custom_policies"] = json!([
        {"policy_id": "weekly", "enforcement": "must", "policy": "Report every week."},
        {"policy_id": "local", "enforcement": "should", "policy": "Prefer local papers."},
    ]);
    watched
}

/// What a check decided, without what is in its token.
fn decided(script: &mut Script, what: Value) -> (String, Value) {
    let mut arguments = json!({"plan_id": "watched", "caller": "https://buyer.example/agent"});
    arguments.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    let answer = script.ask(AdcpTool::CheckGovernance, arguments);
    let list = |name: &str, member: &str| {
        let rows = answer[name].as_array().into_iter().flatten();
        rows.filter_map(|row| row[member].as_str()).collect::<Vec<_>>().join(", ")
    };
    let found = list("findings", "category_id");
    let cures = list("conditions", "field");
    let verdict = answer["verdict"].as_str().unwrap();
    (format!("{verdict}: {found} [{cures}]"), answer.clone())
}

fn report(script: &mut Script, title: &str, what: Value) -> Value {
    let mut arguments = json!({"plan_id": "watched"});
    arguments.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    script.note(title, AdcpTool::ReportPlanOutcome, arguments)
}

#[test]
fn what_was_committed_counts_in_the_next_decision() {
    let mut script = Script::new();
    let script = &mut script;
    script.ask(AdcpTool::SyncPlans, json!({"plans": [watched()]}));
    // The policies hold for every action; nobody here can tell whether they are kept.
    let (small, first) = decided(script, payload(300.0));
    assert_eq!(small, "conditions: policy_compliance, policy_compliance [payload]");
    // A person decides about more, and is told of by whoever keeps the plan.
    let (large, _) = decided(script, payload(500.0));
    assert_eq!(large, "denied: human_review, policy_compliance, policy_compliance []");
    let mut approved = payload(500.0);
    approved["ext"] = json!({"human_approval": {
        "approved_by": "Jo", "approved_at": "2026-06-01T11:00:00Z", "approval_reference": "r-1",
    }});
    let (large, second) = decided(script, approved);
    assert_eq!(large, "conditions: policy_compliance, policy_compliance [payload]");
    // The seller's question about the same action needs no other person, and no larger one.
    let planned = |budget: f64| {
        json!({"governance_context": second["governance_context"], "media_buy_id": "mb_1",
            "planned_delivery": {"total_budget": budget, "currency": "USD"}})
    };
    assert!(decided(script, planned(500.0)).0.starts_with("conditions: "));
    assert!(decided(script, planned(600.0)).0.starts_with("denied: human_review"));
    report(
        script,
        "bought",
        json!({"check_id": first["check_id"], "governance_context": first["governance_context"],
            "outcome": "completed", "seller_response": {"seller_reference": "mb_1", "committed_budget": 300}}),
    );
    // 300 and 101 are more than 400.
    assert!(decided(script, payload(101.0)).0.starts_with("denied: human_review"));
    assert!(decided(script, payload(100.0)).0.starts_with("conditions: "));
    report(
        script,
        "bought without being asked about, and more than there is",
        json!({"governance_context": "elsewhere", "outcome": "completed",
            "seller_response": {"packages": [{"budget": 500}, {"budget": 250.5}]}}),
    );
    report(
        script,
        "what was bought first has failed",
        json!({"governance_context": first["governance_context"], "outcome": "failed",
            "error": {"code": "PRODUCT_UNAVAILABLE"}}),
    );
    report(script, "nothing is said", json!({"governance_context": "t", "outcome": "delivery"}));
    let nowhere =
        json!({"check_id": "chk_0", "governance_context": "t", "outcome": "failed", "error": {}});
    report(script, "no such check", nowhere);
    script.check(&expect![[r##"
        # bought
        {
          "status": "completed",
          "message": "the outcome is noted",
          "outcome_id": "out_11",
          "outcome_state": "accepted",
          "committed_budget": 300,
          "plan_summary": {
            "total_committed": 300,
            "budget_remaining": 700
          },
          "replayed": false,
          "adcp_version": "3.1"
        }
        # bought without being asked about, and more than there is
        {
          "status": "completed",
          "message": "the outcome is noted",
          "outcome_id": "out_16",
          "outcome_state": "findings",
          "committed_budget": 750.5,
          "findings": [
            {
              "category_id": "authorization",
              "severity": "critical",
              "explanation": "no check under this plan issued the token of this action"
            },
            {
              "category_id": "budget_authority",
              "severity": "critical",
              "explanation": "more is committed than the plan's budget"
            }
          ],
          "plan_summary": {
            "total_committed": 1050.5,
            "budget_remaining": 0
          },
          "replayed": false,
          "adcp_version": "3.1"
        }
        # what was bought first has failed
        {
          "status": "completed",
          "message": "the outcome is noted",
          "outcome_id": "out_17",
          "outcome_state": "accepted",
          "committed_budget": 0,
          "plan_summary": {
            "total_committed": 750.5,
            "budget_remaining": 249.5
          },
          "replayed": false,
          "adcp_version": "3.1"
        }
        # nothing is said
        {
          "status": "failed",
          "message": "this part says what happened, and is required for this outcome",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "this part says what happened, and is required for this outcome",
            "recovery": "correctable",
            "field": "delivery",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "this part says what happened, and is required for this outcome",
              "recovery": "correctable",
              "field": "delivery",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
        # no such check
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "REFERENCE_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "suggestion": "check the identifier with the task that lists such entities"
          },
          "errors": [
            {
              "code": "REFERENCE_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "suggestion": "check the identifier with the task that lists such entities"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn what_was_committed_in_another_currency_is_not_added() {
    let mut script = Script::new();
    let mut euro = plan("euro");
    euro["budget"]["currency"] = json!("EUR");
    script.ask(AdcpTool::SyncPlans, json!({"plans": [watched(), plan("dollar"), euro]}));
    let mut commit = |id: &str| {
        let outcome = json!({"plan_id": id, "governance_context": "elsewhere",
            "outcome": "completed", "seller_response": {"committed_budget": 300}});
        script.ask(AdcpTool::ReportPlanOutcome, outcome);
        decided(&mut script, payload(300.0)).0
    };
    assert!(commit("euro").starts_with("conditions: "));
    assert!(commit("dollar").starts_with("denied: human_review"));
}

#[test]
fn the_audit_has_every_decision_and_what_became_of_it() {
    let mut script = Script::new();
    let script = &mut script;
    script.ask(AdcpTool::SyncPlans, json!({"plans": [watched(), plan("quiet")]}));
    script.ask(AdcpTool::SyncPlans, json!({"plans": [watched()]}));
    let (_, first) = decided(script, payload(300.0));
    report(
        script,
        "bought",
        json!({"governance_context": first["governance_context"], "outcome": "completed",
            "seller_response": {"seller_reference": "mb_1", "packages": [{"budget": 300}]}}),
    );
    let audit = AdcpTool::GetPlanAuditLogs;
    script.note("all", audit, json!({"plan_ids": ["watched", "quiet"], "include_entries": true}));
    script.note("one action", audit, json!({"governance_contexts": [first["governance_context"]]}));
    script.note(
        "another kind",
        audit,
        json!({"plan_ids": ["watched"], "purchase_types": ["rights_license"]}),
    );
    let not_found = script.note("no such plan", audit, json!({"plan_ids": ["nowhere"]}));
    assert_eq!(not_found, script.ask_as("nova", audit, json!({"plan_ids": ["watched"]})));
    script.check(&expect![[r##"
        # bought
        {
          "status": "completed",
          "message": "the outcome is noted",
          "outcome_id": "out_3",
          "outcome_state": "accepted",
          "committed_budget": 300,
          "plan_summary": {
            "total_committed": 300,
            "budget_remaining": 700
          },
          "replayed": false,
          "adcp_version": "3.1"
        }
        # all
        {
          "status": "completed",
          "message": "the audit of the plans",
          "plans": [
            {
              "plan_id": "watched",
              "plan_version": 2,
              "status": "active",
              "budget": {
                "authorized": 1000,
                "committed": 300,
                "remaining": 700,
                "utilization_pct": 30
              },
              "governed_actions": [
                {
                  "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"watched\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_2\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_1\",\"plan_hash\":\"t2Ai_BfbbUlf1h6clpg_dZat89N6snv_Z8rRsDE3Fsc\",\"policy_decision_hash\":\"bbc23c438d28e609241698f44bd81fe22b66729308bd3a62826536a688fddb22\",\"verdict\":\"conditions\"}",
                  "purchase_type": "media_buy",
                  "status": "active",
                  "committed": 300,
                  "check_count": 1,
                  "seller_reference": "mb_1"
                }
              ],
              "summary": {
                "checks_performed": 1,
                "outcomes_reported": 1,
                "statuses": {
                  "approved": 0,
                  "denied": 0,
                  "conditions": 1,
                  "human_reviewed": 0
                },
                "findings_count": 2
              },
              "entries": [
                {
                  "id": "chk_1",
                  "type": "check",
                  "timestamp": "2026-06-01T12:00:00Z",
                  "plan_id": "watched",
                  "caller": "https://buyer.example/agent",
                  "tool": "create_media_buy",
                  "check_type": "intent",
                  "mode": "enforce",
                  "purchase_type": "media_buy",
                  "verdict": "conditions",
                  "explanation": "the action would be within the plan under the conditions",
                  "categories_evaluated": [
                    "budget_authority",
                    "flight_compliance",
                    "geo_compliance",
                    "channel_compliance"
                  ],
                  "policies_evaluated": [
                    "weekly",
                    "local"
                  ],
                  "findings": [
                    {
                      "category_id": "policy_compliance",
                      "policy_id": "weekly",
                      "severity": "warning",
                      "explanation": "the policy weekly holds for this action: Report every week."
                    },
                    {
                      "category_id": "policy_compliance",
                      "policy_id": "local",
                      "severity": "info",
                      "explanation": "the policy local is recommended: Prefer local papers."
                    }
                  ],
                  "plan_hash": "t2Ai_BfbbUlf1h6clpg_dZat89N6snv_Z8rRsDE3Fsc",
                  "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"watched\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_2\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_1\",\"plan_hash\":\"t2Ai_BfbbUlf1h6clpg_dZat89N6snv_Z8rRsDE3Fsc\",\"policy_decision_hash\":\"bbc23c438d28e609241698f44bd81fe22b66729308bd3a62826536a688fddb22\",\"verdict\":\"conditions\"}"
                },
                {
                  "id": "out_3",
                  "type": "outcome",
                  "timestamp": "2026-06-01T12:00:00Z",
                  "plan_id": "watched",
                  "purchase_type": "media_buy",
                  "outcome": "completed",
                  "outcome_status": "accepted",
                  "committed_budget": 300,
                  "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"watched\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_2\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_1\",\"plan_hash\":\"t2Ai_BfbbUlf1h6clpg_dZat89N6snv_Z8rRsDE3Fsc\",\"policy_decision_hash\":\"bbc23c438d28e609241698f44bd81fe22b66729308bd3a62826536a688fddb22\",\"verdict\":\"conditions\"}"
                }
              ]
            },
            {
              "plan_id": "quiet",
              "plan_version": 1,
              "status": "active",
              "budget": {
                "authorized": 1000,
                "committed": 0,
                "remaining": 1000,
                "utilization_pct": 0
              },
              "governed_actions": [],
              "summary": {
                "checks_performed": 0,
                "outcomes_reported": 0,
                "statuses": {
                  "approved": 0,
                  "denied": 0,
                  "conditions": 0,
                  "human_reviewed": 0
                },
                "findings_count": 0
              },
              "entries": []
            }
          ],
          "adcp_version": "3.1"
        }
        # one action
        {
          "status": "completed",
          "message": "the audit of the plans",
          "plans": [
            {
              "plan_id": "watched",
              "plan_version": 2,
              "status": "active",
              "budget": {
                "authorized": 1000,
                "committed": 300,
                "remaining": 700,
                "utilization_pct": 30
              },
              "governed_actions": [
                {
                  "governance_context": "verdict {\"iss\":\"https://gazette.example/mcp\",\"sub\":\"watched\",\"aud\":\"https://gazette.example/mcp\",\"iat\":1780315200,\"exp\":1780316100,\"jti\":\"gov_2\",\"phase\":\"intent\",\"caller\":\"https://buyer.example/agent\",\"check_id\":\"chk_1\",\"plan_hash\":\"t2Ai_BfbbUlf1h6clpg_dZat89N6snv_Z8rRsDE3Fsc\",\"policy_decision_hash\":\"bbc23c438d28e609241698f44bd81fe22b66729308bd3a62826536a688fddb22\",\"verdict\":\"conditions\"}",
                  "purchase_type": "media_buy",
                  "status": "active",
                  "committed": 300,
                  "check_count": 1,
                  "seller_reference": "mb_1"
                }
              ],
              "summary": {
                "checks_performed": 1,
                "outcomes_reported": 1,
                "statuses": {
                  "approved": 0,
                  "denied": 0,
                  "conditions": 1,
                  "human_reviewed": 0
                },
                "findings_count": 2
              }
            }
          ],
          "adcp_version": "3.1"
        }
        # another kind
        {
          "status": "completed",
          "message": "the audit of the plans",
          "plans": [
            {
              "plan_id": "watched",
              "plan_version": 2,
              "status": "active",
              "budget": {
                "authorized": 1000,
                "committed": 300,
                "remaining": 700,
                "utilization_pct": 30
              },
              "governed_actions": [],
              "summary": {
                "checks_performed": 0,
                "outcomes_reported": 0,
                "statuses": {
                  "approved": 0,
                  "denied": 0,
                  "conditions": 0,
                  "human_reviewed": 0
                },
                "findings_count": 0
              }
            }
          ],
          "adcp_version": "3.1"
        }
        # no such plan
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "PLAN_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "plan_ids",
            "suggestion": "register the plan with sync_plans first"
          },
          "errors": [
            {
              "code": "PLAN_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "plan_ids",
              "suggestion": "register the plan with sync_plans first"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}
