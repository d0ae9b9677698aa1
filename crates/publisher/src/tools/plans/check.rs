//! `check_governance`: whether an action is within its plan. The answer is a decision and no error
//! (`K-1`): approved, denied with what was found, or conditions under which it would be approved.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::Code;

use super::flight;
use crate::plan::{CATEGORIES, Plan, UNJUDGED};
use crate::refuse::{self, Stop};
use crate::shelf::own_id;
use crate::tools::{Reply, Work};

/// For how long a decision holds.
const LIFE: SignedDuration = SignedDuration::from_mins(15);

/// Something about an action that the plan does not allow.
struct Finding {
    category: &'static str,
    explanation: String,
    /// The member with which it would be allowed, and its value.
    cure: Option<(String, Value)>,
}

impl Finding {
    fn new(category: &'static str, explanation: impl Into<String>) -> Self {
        Self { category, explanation: explanation.into(), cure: None }
    }
}

/// A check at work.
struct Check<'a> {
    plan: &'a Map<String, Value>,
    arguments: &'a Map<String, Value>,
    found: Vec<Finding>,
}

pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    let arguments = &work.ask.arguments;
    let id = arguments.get("plan_id").and_then(Value::as_str).unwrap_or_default();
    let reach = &work.admitted.reach;
    let place = own_id(&reach.tenant, "", id);
    let kept = reach.require::<Plan>(work.shelf, &place, Code::PlanNotFound, Some("plan_id"))?;
    let has = |name: &str| arguments.contains_key(name);
    if !(has("tool") && has("payload") || has("planned_delivery") || has("delivery_metrics")) {
        let message = "send what is to be checked: tool with payload, planned_delivery, or \
                       delivery_metrics";
        return Err(refuse::invalid("payload", message).into());
    }
    let mut check = Check { plan: &kept.thing.given, arguments, found: Vec::new() };
    check.authority(work);
    check.money();
    check.time();
    check.places();
    check.channels();
    Ok(Reply::completed("the decision", check.decide(work, id)))
}

impl Check<'_> {
    fn part(&self, name: &str) -> Option<&Value> {
        self.arguments.get(name)
    }

    /// Who asks, and whether a machine may decide at all.
    fn authority(&mut self, work: &Work<'_>) {
        if self.plan.get("human_review_required").and_then(Value::as_bool) == Some(true) {
            let text = "the plan demands that a person decides, and no person decides here";
            self.found.push(Finding::new("human_review", text));
        }
        let caller = self.part("caller").and_then(Value::as_str).unwrap_or_default();
        let same = |url: &Value| {
            url.as_str()
                .is_some_and(|url| url.trim_end_matches('/') == caller.trim_end_matches('/'))
        };
        // What a seller has planned is checked by the seller, everything else by a buyer.
        if self.part("planned_delivery").is_some() {
            let sellers = self.plan.get("approved_sellers").and_then(Value::as_array);
            if sellers.is_some_and(|sellers| !sellers.iter().any(same)) {
                let text = "the caller is none of the plan's approved sellers";
                self.found.push(Finding::new("delegation_authority", text));
            }
            return;
        }
        let Some(delegations) = self.plan.get("delegations").and_then(Value::as_array) else {
            return;
        };
        let holds = |delegation: &&Value| {
            let end = delegation.get("expires_at").and_then(Value::as_str);
            let end = end.and_then(|end| end.parse::<jiff::Timestamp>().ok());
            delegation.get("agent_url").is_some_and(same)
                && end.is_none_or(|end| work.ask.now < end)
        };
        if !delegations.iter().any(|delegation| holds(&delegation)) {
            let text = "the plan delegates nothing to the caller at this time";
            self.found.push(Finding::new("delegation_authority", text));
        }
    }

    fn money(&mut self) {
        let Some(limit) = self.limit() else {
            return;
        };
        let currency = self.plan.get("budget").and_then(|budget| budget.get("currency")).cloned();
        let (payload, planned) = (self.part("payload"), self.part("planned_delivery"));
        let total = payload.and_then(|payload| payload.get("total_budget"));
        let (amount, named, cure) = if let Some(planned) = planned {
            (planned.get("total_budget").and_then(Value::as_f64), planned.get("currency"), None)
        } else if let Some(total) = total {
            let amount = total.get("amount").or(Some(total)).and_then(Value::as_f64);
            let member = if total.is_object() {
                "payload.total_budget.amount"
            } else {
                "payload.total_budget"
            };
            (amount, total.get("currency"), Some((member.to_owned(), json!(limit))))
        } else if let Some(payload) = payload {
            let packages = payload.get("packages").and_then(Value::as_array);
            let budgets = packages
                .into_iter()
                .flatten()
                .filter_map(|package| package.get("budget").and_then(Value::as_f64));
            let sum: f64 = budgets.sum();
            (Some(sum), payload.get("currency"), None)
        } else {
            let metrics = self.part("delivery_metrics");
            let spent = metrics.and_then(|metrics| metrics.get("cumulative_spend"));
            (spent.and_then(Value::as_f64), None, None)
        };
        if named.is_some() && named != currency.as_ref() {
            let text = "the money is not in the currency of the plan";
            self.found.push(Finding::new("budget_authority", text));
        } else if amount.is_some_and(|amount| amount > limit) {
            let text = format!("the amount is above the {limit} that the plan allows for it");
            let cure = cure.filter(|_| limit > 0.0);
            self.found.push(Finding { cure, ..Finding::new("budget_authority", text) });
        }
    }

    /// The most that an action may cost: the plan's total, what is set apart for its kind, and one
    /// seller's share.
    fn limit(&self) -> Option<f64> {
        let budget = self.plan.get("budget")?;
        let total = budget.get("total").and_then(Value::as_f64)?;
        let kind = self.part("purchase_type").and_then(Value::as_str).unwrap_or("media_buy");
        let apart = budget.get("allocations").and_then(|all| all.get(kind));
        let number =
            |of: Option<&Value>, name: &str| of.and_then(|of| of.get(name)).and_then(Value::as_f64);
        let share = |percent: f64| total * percent / 100.0;
        let limits = [
            number(apart, "amount"),
            number(apart, "max_pct").map(share),
            number(Some(budget), "per_seller_max_pct").map(share),
        ];
        Some(limits.into_iter().flatten().fold(total, f64::min))
    }

    fn time(&mut self) {
        let (start, end) = (flight(self.plan, "start"), flight(self.plan, "end"));
        let planned = self.part("planned_delivery").is_some();
        let of = if planned { "planned_delivery" } else { "payload" };
        let read = |name: &str| -> Option<jiff::Timestamp> {
            self.part(of)?.get(name)?.as_str()?.parse().ok()
        };
        let mut found = Vec::new();
        for (name, outside, bound) in [
            (
                "start_time",
                read("start_time").zip(start).is_some_and(|(at, start)| at < start),
                start,
            ),
            ("end_time", read("end_time").zip(end).is_some_and(|(at, end)| at > end), end),
        ] {
            if outside {
                let text = format!("{name} is outside the plan's flight");
                let cure = bound.map(|bound| (format!("{of}.{name}"), json!(bound)));
                found.push(Finding { cure, ..Finding::new("flight_compliance", text) });
            }
        }
        self.found.extend(found);
    }

    fn places(&mut self) {
        let Some(allowed) = self.plan.get("countries").and_then(Value::as_array) else {
            return;
        };
        let list = |of: Option<&Value>, name: &str| -> Vec<Value> {
            let list = of.and_then(|of| of.get(name)).and_then(Value::as_array);
            list.cloned().unwrap_or_default()
        };
        let payload = self.part("payload");
        let mut named =
            list(self.part("planned_delivery").and_then(|it| it.get("geo")), "countries");
        named.extend(list(payload, "countries"));
        for package in list(payload, "packages") {
            named.extend(list(package.get("targeting_overlay"), "geo_countries"));
        }
        named.extend(self.shares("geo_distribution"));
        if named.iter().any(|country| !allowed.contains(country)) {
            let text = "it reaches countries that are not in the plan";
            self.found.push(Finding::new("geo_compliance", text));
        }
    }

    fn channels(&mut self) {
        let channels = self.plan.get("channels");
        let Some(allowed) = channels.and_then(|it| it.get("allowed")).and_then(Value::as_array)
        else {
            return;
        };
        let mut named = self.shares("channel_distribution");
        for of in ["planned_delivery", "payload"] {
            let list = self.part(of).and_then(|of| of.get("channels")).and_then(Value::as_array);
            named.extend(list.cloned().unwrap_or_default());
        }
        if named.iter().any(|channel| !allowed.contains(channel)) {
            let text = "it uses channels that are not in the plan";
            self.found.push(Finding::new("channel_compliance", text));
        }
    }

    /// Where delivery has really gone: the keys that have a share.
    fn shares(&self, name: &str) -> Vec<Value> {
        let metrics = self.part("delivery_metrics").and_then(|metrics| metrics.get(name));
        let shares = metrics.and_then(Value::as_object).into_iter().flatten();
        let some = shares.filter(|(_, share)| share.as_f64().is_some_and(|share| share > 0.0));
        some.map(|(key, _)| json!(key)).collect()
    }

    fn decide(self, work: &Work<'_>, plan_id: &str) -> Value {
        let demanded = |(_, member): &&(&str, &str)| self.plan.contains_key(*member);
        let judged: Vec<_> = CATEGORIES.iter().filter(demanded).map(|(name, _)| *name).collect();
        let intent = self.part("payload").is_some() && self.part("planned_delivery").is_none();
        let curable = intent && self.found.iter().all(|finding| finding.cure.is_some());
        let (verdict, explanation) = match (self.found.is_empty(), curable) {
            (true, _) => ("approved", "the action is within the plan".to_owned()),
            (false, true) => {
                let text = "the action would be within the plan under the conditions";
                ("conditions", text.to_owned())
            }
            (false, false) => {
                let texts: Vec<_> = self.found.iter().map(|it| it.explanation.clone()).collect();
                ("denied", texts.join("; "))
            }
        };
        let mut findings: Vec<Value> = self.found.iter().map(Finding::show).collect();
        let unjudged = UNJUDGED.iter().filter(demanded);
        findings.extend(unjudged.map(|(name, member)| {
            json!({
                "category_id": name,
                "severity": "info",
                "explanation": format!("the plan's {member} are not judged here"),
            })
        }));
        let mut body = json!({
            "check_id": work.publisher.world.fresh_id("chk"),
            "verdict": verdict,
            "plan_id": plan_id,
            "explanation": explanation,
            "categories_evaluated": judged,
            "mode": "enforce",
        });
        if let Some(members) = body.as_object_mut() {
            if !findings.is_empty() {
                members.insert("findings".to_owned(), json!(findings));
            }
            if verdict == "conditions" {
                let conditions: Vec<_> = self.found.iter().filter_map(Finding::condition).collect();
                members.insert("conditions".to_owned(), json!(conditions));
            }
            if verdict != "denied" {
                let until = work.ask.now.checked_add(LIFE).unwrap_or(work.ask.now);
                members.insert("expires_at".to_owned(), json!(until));
            }
        }
        body
    }
}

impl Finding {
    fn show(&self) -> Value {
        json!({
            "category_id": self.category, "severity": "critical", "explanation": self.explanation,
        })
    }

    fn condition(&self) -> Option<Value> {
        let (field, value) = self.cure.as_ref()?;
        Some(json!({"field": field, "required_value": value, "reason": self.explanation}))
    }
}
