//! `check_governance`: whether an action is within its plan. The answer is a decision and no error
//! (`K-1`): approved, denied with what was found, or conditions under which it would be approved.

use jiff::SignedDuration;
use tradepost_wire::adcp::error::Code;
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use crate::forms::plans::{Allocation, CheckGovernance, Delegation, KeptPlan};
use crate::money::Amount;
use crate::plan::{CATEGORIES, Plan, UNJUDGED};
use crate::refuse::{self, Stop};
use crate::reply::Reply;
use crate::shelf::own_id;
use crate::work::Work;

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
    plan: KeptPlan,
    form: &'a CheckGovernance,
    found: Vec<Finding>,
}

pub(in crate::tools) fn perform(work: &Work<'_>, form: &CheckGovernance) -> Result<Reply, Stop> {
    let id = form.plan_id.as_str();
    let reach = &work.admitted.reach;
    let place = own_id(&reach.tenant, "", id);
    let kept = reach.require::<Plan>(work.shelf, &place, Code::PlanNotFound, Some("plan_id"))?;
    let request = form.tool.is_some() && form.payload.is_some();
    if !(request || form.planned_delivery.is_some() || form.delivery_metrics.is_some()) {
        let message = "send what is to be checked: tool with payload, planned_delivery, or \
                       delivery_metrics";
        return Err(refuse::invalid("payload", message).into());
    }
    let unread = || Fault::new("reading a plan", "it is not in the form that it has");
    let plan = KeptPlan::read(&kept.thing.given.into()).ok_or_else(unread)?;
    let mut check = Check { plan, form, found: Vec::new() };
    check.authority(work);
    check.money();
    check.time();
    check.places();
    check.channels();
    Ok(Reply::completed("the decision", check.decide(work, id)))
}

impl Check<'_> {
    /// Who asks, and whether a machine may decide at all.
    fn authority(&mut self, work: &Work<'_>) {
        if self.plan.human_review_required == Some(true) {
            let text = "the plan demands that a person decides, and no person decides here";
            self.found.push(Finding::new("human_review", text));
        }
        let caller = self.form.caller.trim_end_matches('/');
        let is_caller = |url: &String| url.trim_end_matches('/') == caller;
        // What a seller has planned is checked by the seller, everything else by a buyer.
        if self.form.planned_delivery.is_some() {
            if self.plan.approved_sellers.as_ref().is_some_and(|all| !all.iter().any(is_caller)) {
                let text = "the caller is none of the plan's approved sellers";
                self.found.push(Finding::new("delegation_authority", text));
            }
            return;
        }
        let Some(delegations) = &self.plan.delegations else {
            return;
        };
        let holds = |delegation: &Delegation| {
            delegation.agent_url.as_ref().is_some_and(is_caller)
                && delegation.expires_at.is_none_or(|end| work.ask.now < end)
        };
        if !delegations.iter().any(holds) {
            let text = "the plan delegates nothing to the caller at this time";
            self.found.push(Finding::new("delegation_authority", text));
        }
    }

    fn money(&mut self) {
        let Some(limit) = self.limit() else {
            return;
        };
        let CheckGovernance { payload, planned_delivery, delivery_metrics, .. } = self.form;
        let (amount, named, cure) = if let Some(planned) = planned_delivery {
            (planned.total_budget, planned.currency.as_ref(), None)
        } else if let Some(total) = payload.as_ref().and_then(|it| it.total_budget.as_ref()) {
            let cure = Some((total.member.to_owned(), json!(limit)));
            (total.amount, total.currency.as_ref(), cure)
        } else if let Some(payload) = payload {
            let packages = payload.packages.iter().flatten().flatten();
            let budgets = packages.filter_map(|package| package.budget);
            (Some(budgets.sum()), payload.currency.as_ref(), None)
        } else {
            (delivery_metrics.as_ref().and_then(|it| it.cumulative_spend), None, None)
        };
        let currency = self.plan.budget.as_ref().and_then(|budget| budget.currency.as_deref());
        if named.is_some_and(|named| currency.is_none_or(|currency| named != currency)) {
            let text = "the money is not in the currency of the plan";
            self.found.push(Finding::new("budget_authority", text));
        } else if amount.is_some_and(|amount| amount > limit) {
            let text = format!("the amount is above the {limit} that the plan allows for it");
            let cure = cure.filter(|_| limit > Amount::ZERO);
            self.found.push(Finding { cure, ..Finding::new("budget_authority", text) });
        }
    }

    /// The most that an action may cost: the plan's total, what is set apart for its kind, and one
    /// seller's share.
    fn limit(&self) -> Option<Amount> {
        let budget = self.plan.budget.as_ref()?;
        let total = budget.total?;
        let kind = self.form.purchase_type.as_deref().unwrap_or("media_buy");
        let all = budget.allocations.as_ref();
        let apart = all.and_then(|all| Allocation::read(all.by_purchase.get(kind)?));
        let share = |percent| total.percent(percent);
        let limits = [
            apart.as_ref().and_then(|apart| apart.amount),
            apart.as_ref().and_then(|apart| apart.max_pct).map(share),
            budget.per_seller_max_pct.map(share),
        ];
        Some(limits.into_iter().flatten().fold(total, Ord::min))
    }

    fn time(&mut self) {
        let flight = self.plan.flight.as_ref();
        let first = flight.and_then(|flight| flight.start);
        let last = flight.and_then(|flight| flight.end);
        let (of, start, end) = match (&self.form.planned_delivery, &self.form.payload) {
            (Some(planned), _) => ("planned_delivery", planned.start_time, planned.end_time),
            (None, Some(payload)) => ("payload", payload.start_time, payload.end_time),
            (None, None) => return,
        };
        let early = start.zip(first).is_some_and(|(start, first)| start < first);
        let late = end.zip(last).is_some_and(|(end, last)| end > last);
        for (name, outside, bound) in [("start_time", early, first), ("end_time", late, last)] {
            if outside {
                let text = format!("{name} is outside the plan's flight");
                let cure = bound.map(|bound| (format!("{of}.{name}"), json!(bound)));
                self.found.push(Finding { cure, ..Finding::new("flight_compliance", text) });
            }
        }
    }

    fn places(&mut self) {
        let Some(allowed) = &self.plan.countries else {
            return;
        };
        let form = self.form;
        let planned = form.planned_delivery.as_ref().and_then(|planned| planned.geo.as_ref());
        let payload = form.payload.iter();
        let packages =
            payload.clone().flat_map(|payload| payload.packages.iter().flatten().flatten());
        let aimed = packages.filter_map(|package| package.targeting_overlay.as_ref());
        let delivered = form.delivery_metrics.as_ref().map(|it| shares(&it.geo_distribution));
        let mut named = planned
            .and_then(|geo| geo.countries.as_ref())
            .into_iter()
            .chain(payload.filter_map(|payload| payload.countries.as_ref()))
            .chain(aimed.filter_map(|aimed| aimed.geo_countries.as_ref()))
            .chain(&delivered)
            .flatten();
        if named.any(|country| !allowed.iter().any(|known| country == known)) {
            let text = "it reaches countries that are not in the plan";
            self.found.push(Finding::new("geo_compliance", text));
        }
    }

    fn channels(&mut self) {
        let Some(allowed) = self.plan.channels.as_ref().and_then(|it| it.allowed.as_ref()) else {
            return;
        };
        let form = self.form;
        let delivered = form.delivery_metrics.as_ref().map(|it| shares(&it.channel_distribution));
        let planned = form.planned_delivery.as_ref().and_then(|it| it.channels.as_ref());
        let payload = form.payload.as_ref().and_then(|it| it.channels.as_ref());
        let mut named = delivered.iter().chain(planned).chain(payload).flatten();
        if named.any(|channel| !allowed.iter().any(|known| channel == known)) {
            let text = "it uses channels that are not in the plan";
            self.found.push(Finding::new("channel_compliance", text));
        }
    }

    fn decide(self, work: &Work<'_>, plan_id: &str) -> Value {
        let demanded = |(_, member): &&(&str, &str)| self.plan.given.contains_key(*member);
        let judged: Vec<_> = CATEGORIES.iter().filter(demanded).map(|(name, _)| *name).collect();
        let intent = self.form.payload.is_some() && self.form.planned_delivery.is_none();
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

/// Where delivery has really gone: what has a share.
fn shares(distribution: &Map) -> Vec<Value> {
    let some = |share: &Value| Amount::read(share).is_some_and(|share| share > Amount::ZERO);
    distribution.iter().filter(|(_, share)| some(share)).map(|(key, _)| json!(key)).collect()
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
