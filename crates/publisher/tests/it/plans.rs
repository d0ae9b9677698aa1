//! The governance role.

use expect_test::expect;
use tradepost_wire::adcp::Tool;
use tradepost_wire::json::{Value, json};

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
    script.note(title, Tool::CheckGovernance, arguments)
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
    script.note("plans", Tool::SyncPlans, json!({"plans": [plan("plan"), strict]}));
    script.note("again", Tool::SyncPlans, json!({"plans": [plan("plan")]}));
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
          "adcp_version": "3.1"
        }
        # above the budget
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_2",
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
          "adcp_version": "3.1"
        }
        # after the flight
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
          "adcp_version": "3.1"
        }
        # too much, and abroad
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_4",
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
          "adcp_version": "3.1"
        }
        # above the share of its kind
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
          "adcp_version": "3.1"
        }
        # planned elsewhere and otherwise
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_6",
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
          "check_id": "chk_7",
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
          "adcp_version": "3.1"
        }
        # what no machine may decide
        {
          "status": "completed",
          "message": "the decision",
          "check_id": "chk_8",
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
              "severity": "info",
              "explanation": "the plan's custom_policies are not judged here"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn protocol_errors_are_no_decisions() {
    let mut script = Script::new();
    let script = &mut script;
    script.ask(Tool::SyncPlans, json!({"plans": [plan("mine")]}));
    let nobody = check(script, "no such plan", "nowhere", payload(1.0));
    let mut arguments = json!({"plan_id": "mine", "caller": "https://buyer.example/agent"});
    arguments.as_object_mut().unwrap().extend(payload(1.0).as_object().unwrap().clone());
    // Another's is nobody's (`U-1`).
    assert_eq!(nobody, script.ask_as("nova", Tool::CheckGovernance, arguments));
    check(script, "nothing to decide", "mine", json!({}));
    let mut backwards = plan("backwards");
    backwards["flight"]["end"] = json!("2026-05-01T00:00:00Z");
    backwards["budget"]["total"] = json!(-1.0);
    script.note("bad plans", Tool::SyncPlans, json!({"plans": [plan("a"), backwards, plan("a")]}));
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
