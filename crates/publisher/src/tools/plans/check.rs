//! `check_governance`: whether an action is within its plan. The answer is a decision and no error
//! (`K-1`): approved, denied with what was found, or conditions under which it would be approved.

use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::json::{Map, Value, json};

use super::decision::{CheckedAction, DecisionDraft, PlanFinding};
use super::{committed_lately, history, read, require};
use crate::forms::plans::{BudgetAllocation, CheckGovernance, Delegation, Enforcement, Pacing};
use crate::money::MoneyAmount;
use crate::plan;
use crate::refuse::{self, ToolError};
use crate::reply::ToolReply;
use crate::work::ToolContext;

pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &CheckGovernance,
) -> Result<ToolReply, ToolError> {
    let id = form.plan_id.as_str();
    let kept = require(work, id, "plan_id")?;
    let request = form.tool.is_some() && form.payload.is_some();
    if !(request || form.planned_delivery.is_some() || form.delivery_metrics.is_some()) {
        let message = "send what is to be checked: tool with payload, planned_delivery, or \
                       delivery_metrics";
        return Err(refuse::invalid("payload", message).into());
    }
    let (checks, outcomes) = history(work, id)?;
    let action = CheckedAction::of(work, form, &checks);
    // What the action itself has committed before is replaced and does not count twice.
    let others = outcomes.iter().filter(|kept| kept.thing.action != action.id);
    let committed: MoneyAmount = others.map(|kept| kept.thing.committed).sum();
    let lately = committed_lately(work, &action.id, kept.thing.currency())?;
    let (plan, plan_hash) = (read(&kept)?, kept.thing.hash());
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
    /// Who asks, and whether a machine may decide at all. What the plan demands of every decision is
    /// a person at the agent that decides; the word of the caller is none.
    fn authority(&mut self, work: &ToolContext<'_>) {
        if self.plan.human_review_required == Some(true) {
            let text = "the plan demands that a person decides, and no person decides here";
            self.forbid("human_review", text);
        }
        let caller = self.form.caller.trim_end_matches('/');
        let is_caller = |url: &String| url.trim_end_matches('/') == caller;
        // What a seller has planned is checked by the seller, everything else by a buyer.
        if self.form.planned_delivery.is_some() {
            if self.plan.approved_sellers.as_ref().is_some_and(|all| !all.iter().any(is_caller)) {
                let text = "the caller is none of the plan's approved sellers";
                self.forbid("delegation_authority", text);
            }
            return;
        }
        // What a buyer intends to call is checked by whom it would call, where the request says so.
        if let (Some(target), Some(approved)) =
            (&self.form.target_agent, &self.plan.approved_sellers)
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
                && delegation.expires_at.is_none_or(|end| work.ask.now < end)
        };
        if !delegations.iter().any(holds) {
            let text = "the plan delegates nothing to the caller at this time";
            self.forbid("delegation_authority", text);
        }
    }

    /// What the action costs, beside what is committed under the plan already.
    fn money(&mut self, committed: MoneyAmount) {
        let CheckGovernance { payload, planned_delivery, delivery_metrics, .. } = self.form;
        let (amount, named, cure) = if let Some(planned) = planned_delivery {
            (planned.total_budget, planned.currency.as_ref(), None)
        } else if let Some(total) = payload.as_ref().and_then(|it| it.total_budget.as_ref()) {
            (total.amount, total.currency.as_ref(), Some(total.member))
        // Budgets of packages have no cure: no single value of a single
        // member would bring their sum down.
        } else if let Some(payload) = payload {
            let packages = payload.packages.iter().flatten().flatten();
            let budgets = packages.filter_map(|package| package.budget);
            (Some(budgets.sum()), payload.currency.as_ref(), None)
        } else {
            (delivery_metrics.as_ref().and_then(|it| it.cumulative_spend), None, None)
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
            // Where nothing is left, no amount would be approved.
            let cure = cure.filter(|_| left > MoneyAmount::ZERO);
            self.found.push(match cure {
                Some(member) => finding.cured_by(member, Some(json!(left))),
                None => finding,
            });
        }
    }

    /// What is so large that a person decides: the action together with all that was committed
    /// lately, unless the plan does not permit it at all. Whoever keeps the plan could raise its threshold as well, so that its word for a
    /// person's approval is taken; the seller's is not.
    fn person(&mut self, lately: MoneyAmount) {
        let budget = self.plan.budget.as_ref();
        let threshold = budget.and_then(|budget| budget.reallocation_threshold);
        let (Some(threshold), Some(amount)) = (threshold, self.amount) else {
            return;
        };
        // Delivery commits nothing more.
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

    /// The most that an action may cost: the plan's total, what is set apart for its kind, and one
    /// seller's share.
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
            self.forbid("geo_compliance", "it reaches countries that are not in the plan");
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
            self.forbid("channel_compliance", "it uses channels that are not in the plan");
        }
    }

    /// Whether delivery is as fast as planned.
    fn pace(&mut self) {
        let pacing = self.form.delivery_metrics.as_ref().and_then(|it| it.pacing);
        let text = match pacing {
            Some(Pacing::Ahead) => "the budget is spent faster than planned",
            Some(Pacing::Behind) => "the budget is spent slower than planned",
            Some(Pacing::OnTrack) | None => return,
        };
        self.found.push(PlanFinding::warning("budget_drift", text));
    }

    /// The plan's own policies: words that no machine here judges. What must hold becomes a
    /// condition, which whoever acts has to keep; the rest is said.
    fn policies(&mut self) {
        for policy in self.plan.custom_policies.iter().flatten() {
            let (id, words) = (&policy.policy_id, policy.policy.as_deref().unwrap_or_default());
            let said =
                |finding: PlanFinding| PlanFinding { policy_id: Some(id.clone()), ..finding };
            self.found.push(said(match policy.enforcement.unwrap_or(Enforcement::Must) {
                Enforcement::Must => {
                    let text = format!("the policy {id} holds for this action: {words}");
                    PlanFinding::warning("policy_compliance", text)
                        .cured_by(self.form.subject(), None)
                }
                Enforcement::Should | Enforcement::May => {
                    let text = format!("the policy {id} is recommended: {words}");
                    PlanFinding::info("policy_compliance", text)
                }
            }));
        }
    }
}

/// Where delivery has really gone: what has a share.
fn shares(distribution: &Map) -> Vec<Value> {
    let some =
        |share: &Value| MoneyAmount::read(share).is_some_and(|share| share > MoneyAmount::ZERO);
    distribution.iter().filter(|(_, share)| some(share)).map(|(key, _)| json!(key)).collect()
}

impl CheckGovernance {
    /// The member that says what is to be done.
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
