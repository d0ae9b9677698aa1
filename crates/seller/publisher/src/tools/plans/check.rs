//! `check_governance`: checks an action against its plan. The answer is a decision and never an
//! error (AdCP 3.1 `error-handling`, `K-1`): approved, denied with findings, or approved on
//! conditions.

use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed::Typed as _;

use super::decision::{CheckedAction, DecisionDraft, PlanFinding};
use super::{committed_lately, history, read, require};
use crate::forms::plans::{BudgetAllocation, CheckGovernance, Delegation, Enforcement, Pacing};
use crate::money::MoneyAmount;
use crate::plan;
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::tool_context::{ToolContext, WriteContext};

pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &CheckGovernance,
) -> Result<ToolReply, ToolError> {
    let id = form.plan_id.as_str();
    let stored = require(work, id, "plan_id")?;
    let request = form.tool.is_some() && form.payload.is_some();
    if !(request || form.planned_delivery.is_some() || form.delivery_metrics.is_some()) {
        let message = "send what is to be checked: tool with payload, planned_delivery, or \
                       delivery_metrics";
        return Err(refusals::invalid("payload", message).into());
    }
    let (checks, outcomes) = history(work, id)?;
    let action = CheckedAction::new(work, form, &checks);
    // Earlier commitments of the same action are replaced and do not count twice.
    let others = outcomes.iter().filter(|stored| stored.thing.action != action.id);
    let committed: MoneyAmount = others.map(|stored| stored.thing.committed).sum();
    let lately = committed_lately(work, &action.id, stored.thing.currency())?;
    let plan = read(&stored)?;
    let plan_hash = stored.thing.hash();
    let mut check =
        DecisionDraft { plan, plan_hash, form, action, amount: None, found: Vec::new() };
    check.authority(work);
    check.money(committed);
    check.person(lately);
    check.time();
    check.places();
    check.channels();
    check.pace();
    check.policies();
    Ok(ToolReply::completed("the decision", check.keep(work)?))
}

impl DecisionDraft<'_> {
    /// Checks the caller's authority, and that no person has to decide. A plan that requires human
    /// review requires a person at the deciding agent; the caller's statement does not count.
    fn authority(&mut self, work: &ToolContext<'_>) {
        if self.plan.human_review_required == Some(true) {
            let text = "the plan demands that a person decides, and no person decides here";
            self.forbid("human_review", text);
        }
        let caller = self.form.caller.trim_end_matches('/');
        let is_caller = |url: &String| url.trim_end_matches('/') == caller;
        // A planned delivery is checked by its seller, everything else by a buyer.
        if self.form.planned_delivery.is_some() {
            if self.plan.approved_sellers.as_ref().is_some_and(|all| !all.iter().any(is_caller)) {
                let text = "the caller is none of the plan's approved sellers";
                self.forbid("delegation_authority", text);
            }
            return;
        }
        // An intended call is checked for the seller that would be called, if the request names it.
        if let Some(target) = &self.form.target_agent
            && let Some(approved) = &self.plan.approved_sellers
        {
            let target = target.trim_end_matches('/');
            if !approved.iter().any(|url| url.trim_end_matches('/') == target) {
                let text = "the agent that is to be called is none of the plan's approved sellers";
                self.forbid("delegation_authority", text);
            }
        }
        let Some(delegations) = &self.plan.delegations else {
            return;
        };
        let holds = |delegation: &Delegation| {
            delegation.agent_url.as_ref().is_some_and(is_caller)
                && delegation.expires_at.is_none_or(|end| work.call.now < end)
        };
        if !delegations.iter().any(holds) {
            let text = "the plan delegates nothing to the caller at this time";
            self.forbid("delegation_authority", text);
        }
    }

    /// Checks the cost of the action together with the amount already committed under the plan.
    fn money(&mut self, committed: MoneyAmount) {
        let CheckGovernance { payload, planned_delivery, delivery_metrics, .. } = self.form;
        let (amount, named, cure) = if let Some(planned) = planned_delivery {
            (planned.total_budget, planned.currency.as_ref(), None)
        } else if let Some(total) =
            payload.as_ref().and_then(|payload| payload.total_budget.as_ref())
        {
            (total.amount, total.currency.as_ref(), Some(total.member))
        // A sum of package budgets has no cure: no single member would reduce it.
        } else if let Some(payload) = payload {
            let packages = payload.packages.iter().flatten().flatten();
            let budgets = packages.filter_map(|package| package.budget);
            (Some(budgets.sum()), payload.currency.as_ref(), None)
        } else {
            let spent = delivery_metrics.as_ref().and_then(|metrics| metrics.cumulative_spend);
            (spent, None, None)
        };
        self.amount = amount;
        let Some(limit) = self.limit() else {
            return;
        };
        let left = if committed < limit { limit - committed } else { MoneyAmount::ZERO };
        let currency = self.plan.budget.as_ref().and_then(|budget| budget.currency.as_deref());
        if named.is_some_and(|named| currency.is_none_or(|currency| named != currency)) {
            self.forbid("budget_authority", "the money is not in the currency of the plan");
        } else if amount.is_some_and(|amount| amount > left) {
            let text = format!("the amount is above the {left} that the plan allows for it");
            let finding = PlanFinding::new("budget_authority", text);
            // Without money left, no amount would be approved.
            let cure = cure.filter(|_| left > MoneyAmount::ZERO);
            self.found.push(match cure {
                Some(member) => finding.cured_by(member, Some(json!(left))),
                None => finding,
            });
        }
    }

    /// Requires a person's approval for amounts above the threshold, counting what was committed recently, unless the
    /// plan's budget forbids the action anyway. The buyer's statement of an approval is accepted, because the buyer
    /// could raise the threshold as well; the seller's is not.
    fn person(&mut self, lately: MoneyAmount) {
        let budget = self.plan.budget.as_ref();
        let threshold = budget.and_then(|budget| budget.reallocation_threshold);
        let Some(threshold) = threshold else { return };
        let Some(amount) = self.amount else { return };
        // Delivery commits no further money.
        let commits = self.form.delivery_metrics.is_none();
        let permitted = !self.found.iter().any(|finding| finding.category == "budget_authority");
        if commits && permitted && !self.action.reviewed(amount) && lately + amount > threshold {
            let text = format!(
                "the plan lets a person decide about more than {threshold} within {} days, and \
                 nobody has approved it",
                plan::WINDOW_DAYS,
            );
            self.forbid("human_review", text);
        }
    }

    /// Returns the maximum cost of an action: the least of the plan's total, the allocation of its
    /// purchase type and one seller's share.
    fn limit(&self) -> Option<MoneyAmount> {
        let budget = self.plan.budget.as_ref()?;
        let total = budget.total?;
        let kind = self.form.purchase_type.as_deref().unwrap_or("media_buy");
        let all = budget.allocations.as_ref();
        let apart = all.and_then(|all| BudgetAllocation::read(all.by_purchase.get(kind)?));
        let share = |percent| total.percent(percent);
        let limits = [
            apart.as_ref().and_then(|apart| apart.amount),
            apart.as_ref().and_then(|apart| apart.max_pct).map(share),
            budget.per_seller_max_pct.map(share),
        ];
        Some(limits.into_iter().flatten().fold(total, Ord::min))
    }

    /// Adds findings for a start before the plan's flight, and for an end after it.
    fn time(&mut self) {
        let flight = self.plan.flight.as_ref();
        let first = flight.and_then(|flight| flight.start);
        let last = flight.and_then(|flight| flight.end);
        let (of, start, end) = match (&self.form.planned_delivery, &self.form.payload) {
            (Some(planned), _) => ("planned_delivery", planned.start_time, planned.end_time),
            (None, Some(payload)) => ("payload", payload.start_time, payload.end_time),
            (None, None) => return,
        };
        let early = first.filter(|first| start.is_some_and(|start| start < *first));
        let late = last.filter(|last| end.is_some_and(|end| end > *last));
        for (name, bound) in [("start_time", early), ("end_time", late)] {
            if let Some(bound) = bound {
                let text = format!("{name} is outside the plan's flight");
                let finding = PlanFinding::new("flight_compliance", text);
                self.found.push(finding.cured_by(&format!("{of}.{name}"), Some(json!(bound))));
            }
        }
    }

    /// Adds a finding if countries are reached that the plan does not allow.
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
        let metrics = form.delivery_metrics.as_ref();
        let delivered = metrics.map(|metrics| shares(&metrics.geo_distribution));
        let mut named = planned
            .and_then(|geo| geo.countries.as_ref())
            .into_iter()
            .chain(payload.filter_map(|payload| payload.countries.as_ref()))
            .chain(aimed.filter_map(|aimed| aimed.geo_countries.as_ref()))
            .chain(&delivered)
            .flatten();
        if named.any(|country| !allowed.iter().any(|known| country == known)) {
            self.forbid("geo_compliance", "it reaches countries that are not in the plan");
        }
    }

    fn channels(&mut self) {
        let channels = self.plan.channels.as_ref();
        let Some(allowed) = channels.and_then(|channels| channels.allowed.as_ref()) else {
            return;
        };
        let form = self.form;
        let metrics = form.delivery_metrics.as_ref();
        let delivered = metrics.map(|metrics| shares(&metrics.channel_distribution));
        let planned = form.planned_delivery.as_ref().and_then(|planned| planned.channels.as_ref());
        let payload = form.payload.as_ref().and_then(|payload| payload.channels.as_ref());
        let mut named = delivered.iter().chain(planned).chain(payload).flatten();
        if named.any(|channel| !allowed.iter().any(|known| channel == known)) {
            self.forbid("channel_compliance", "it uses channels that are not in the plan");
        }
    }

    /// Warns when delivery is faster or slower than planned.
    fn pace(&mut self) {
        let pacing = self.form.delivery_metrics.as_ref().and_then(|metrics| metrics.pacing);
        let text = match pacing {
            Some(Pacing::Ahead) => "the budget is spent faster than planned",
            Some(Pacing::Behind) => "the budget is spent slower than planned",
            Some(Pacing::OnTrack) | None => return,
        };
        self.found.push(PlanFinding::warning("budget_drift", text));
    }

    /// Adds findings for the plan's own policies, which no machine here evaluates. A mandatory one
    /// becomes a condition for the caller; the others are only mentioned.
    fn policies(&mut self) {
        for policy in self.plan.custom_policies.iter().flatten() {
            let id = &policy.policy_id;
            let rule = policy.policy.as_deref().unwrap_or_default();
            let of_policy =
                |finding: PlanFinding| PlanFinding { policy_id: Some(id.clone()), ..finding };
            self.found.push(of_policy(match policy.enforcement.unwrap_or(Enforcement::Must) {
                Enforcement::Must => {
                    let text = format!("the policy {id} holds for this action: {rule}");
                    PlanFinding::warning("policy_compliance", text)
                        .cured_by(self.form.subject(), None)
                }
                Enforcement::Should | Enforcement::May => {
                    let text = format!("the policy {id} is recommended: {rule}");
                    PlanFinding::info("policy_compliance", text)
                }
            }));
        }
    }
}

/// Returns the keys with a share above zero.
fn shares(distribution: &Map) -> Vec<Value> {
    let some =
        |share: &Value| MoneyAmount::read(share).is_some_and(|share| share > MoneyAmount::ZERO);
    distribution.iter().filter(|(_, share)| some(share)).map(|(key, _)| json!(key)).collect()
}

impl CheckGovernance {
    /// Returns the member that describes the action.
    fn subject(&self) -> &'static str {
        if self.planned_delivery.is_some() {
            "planned_delivery"
        } else if self.delivery_metrics.is_some() {
            "delivery_metrics"
        } else {
            "payload"
        }
    }
}
