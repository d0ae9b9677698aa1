//! The governance role: `sync_plans`, `check_governance`, `report_plan_outcome`,
//! `get_plan_audit_logs`.

use jiff::Timestamp;
use tradepost_document::json::{Map, Value};
use tradepost_document::typed::{Typed, ValueKind};
use tradepost_document::typed_struct;

use crate::money::MoneyAmount;
use crate::plan::Reported;

typed_struct! {
    /// `governance/sync-plans-request.json`.
    pub(crate) struct SyncPlans {
        plans: Vec<GivenPlan>,
    }

    /// Plan as it is sent.
    pub(crate) struct GivenPlan {
        plan_id: String,
        flight: GivenFlight,
        budget: GivenBudget;
        whole sent
    }

    /// Flight dates of a plan as it is sent.
    pub(crate) struct GivenFlight {
        start: Timestamp,
        end: Timestamp,
    }

    /// Budget of a plan as it is sent.
    pub(crate) struct GivenBudget {
        total: MoneyAmount,
    }

    /// Plan as it is stored. A fixture of a sandbox may lack any member.
    pub(crate) struct KeptPlan {
        budget: Option<PlanBudget>,
        flight: Option<PlanFlight>,
        countries: Option<Vec<String>>,
        channels: Option<Channels>,
        approved_sellers: Option<Vec<String>>,
        delegations: Option<Vec<Delegation>>,
        human_review_required: Option<bool>,
        custom_policies: Option<Vec<PlanPolicy>>,
        portfolio: Option<PlanPortfolio>;
        whole given
    }

    /// Custom policy of a plan (`governance/policy-entry.json`).
    pub(crate) struct PlanPolicy {
        policy_id: String,
        enforcement: Option<Enforcement>,
        policy: Option<String>,
    }

    /// Member plans of a portfolio plan.
    pub(crate) struct PlanPortfolio {
        member_plan_ids: Option<Vec<String>>,
    }

    /// Budget of a plan.
    pub(crate) struct PlanBudget {
        total: Option<MoneyAmount>,
        currency: Option<String>,
        per_seller_max_pct: Option<MoneyAmount>,
        /// Amount above which a person decides.
        reallocation_threshold: Option<MoneyAmount>,
        allocations: Option<Allocations>,
    }

    /// Budget allocations by purchase type (`enums/purchase-type.json`).
    pub(crate) struct Allocations {
        ;
        whole by_purchase
    }

    /// Budget allocation of one purchase type.
    pub(crate) struct BudgetAllocation {
        amount: Option<MoneyAmount>,
        max_pct: Option<MoneyAmount>,
    }

    /// Flight dates of a plan.
    pub(crate) struct PlanFlight {
        start: Option<Timestamp>,
        end: Option<Timestamp>,
    }

    /// Channels that a plan allows.
    pub(crate) struct Channels {
        allowed: Option<Vec<String>>,
    }

    /// Delegation to an agent that may act for the buyer.
    pub(crate) struct Delegation {
        agent_url: Option<String>,
        expires_at: Option<Timestamp>,
    }

    /// `governance/check-governance-request.json`.
    pub(crate) struct CheckGovernance {
        plan_id: String,
        caller: String,
        purchase_type: Option<String>,
        tool: Option<String>,
        payload: Option<Payload>,
        planned_delivery: Option<PlannedDelivery>,
        delivery_metrics: Option<DeliveryMetrics>,
        phase: Option<GovernancePhase>,
        governance_context: Option<String>,
        /// Seller that the check is about; not in the schema.
        target_agent: Option<String>,
        /// Seller's id of the media buy; not in the schema.
        media_buy_id: Option<String>,
        ext: Option<CheckExt>,
    }

    /// Extension members of a check.
    pub(crate) struct CheckExt {
        human_approval: Option<HumanApproval>,
    }

    /// Approval of an action by a person.
    pub(crate) struct HumanApproval {
        approved_by: String,
        approved_at: Timestamp,
    }

    /// `governance/report-plan-outcome-request.json`.
    pub(crate) struct ReportPlanOutcome {
        plan_id: String,
        check_id: Option<String>,
        purchase_type: Option<String>,
        outcome: Reported,
        seller_response: Option<SellerResponse>,
        delivery: Option<ReportedDelivery>,
        error: Option<Map>,
        governance_context: String,
    }

    /// Seller's answer.
    pub(crate) struct SellerResponse {
        seller_reference: Option<String>,
        committed_budget: Option<MoneyAmount>,
        packages: Option<Vec<ConfirmedPackage>>,
        planned_delivery: Option<PlannedDelivery>,
    }

    /// A package that the seller confirmed.
    pub(crate) struct ConfirmedPackage {
        budget: Option<MoneyAmount>,
    }

    /// Delivery as the buyer reports it.
    pub(crate) struct ReportedDelivery {
        spend: Option<MoneyAmount>,
    }

    /// `governance/get-plan-audit-logs-request.json`.
    pub(crate) struct GetPlanAuditLogs {
        plan_ids: Option<Vec<String>>,
        portfolio_plan_ids: Option<Vec<String>>,
        governance_contexts: Option<Vec<String>>,
        purchase_types: Option<Vec<String>>,
        include_entries: bool,
    }

    /// Request that the buyer intends to send. It may be for any tool, so that the schema says
    /// nothing about it.
    pub(crate) struct Payload {
        total_budget: Option<TotalBudget>,
        currency: Option<Value>,
        packages: Option<Vec<Option<PayloadPackage>>>,
        countries: Option<Vec<Value>>,
        channels: Option<Vec<Value>>,
        start_time: Option<Timestamp>,
        end_time: Option<Timestamp>,
    }

    /// Package in a payload.
    pub(crate) struct PayloadPackage {
        budget: Option<MoneyAmount>,
        targeting_overlay: Option<PayloadTargeting>,
    }

    /// Targeting of a package in a payload.
    pub(crate) struct PayloadTargeting {
        geo_countries: Option<Vec<Value>>,
    }

    /// Amount with its currency.
    struct InCurrency {
        amount: Option<MoneyAmount>,
        currency: Option<Value>,
    }

    /// `core/planned-delivery.json`.
    pub(crate) struct PlannedDelivery {
        geo: Option<PlanGeo>,
        channels: Option<Vec<Value>>,
        start_time: Option<Timestamp>,
        end_time: Option<Timestamp>,
        total_budget: Option<MoneyAmount>,
        currency: Option<Value>,
    }

    /// Planned geography.
    pub(crate) struct PlanGeo {
        countries: Option<Vec<Value>>,
    }

    /// Delivery metrics.
    pub(crate) struct DeliveryMetrics {
        cumulative_spend: Option<MoneyAmount>,
        /// Shares in percent, by country.
        geo_distribution: Map,
        /// Shares in percent, by channel.
        channel_distribution: Map,
        pacing: Option<Pacing>,
    }
}

tradepost_document::words! {
    /// Phase in which an action is checked (`enums/governance-phase.json`).
    pub(crate) enum GovernancePhase {
        /// Before the purchase.
        Purchase = "purchase",
        /// Before a change.
        Modification = "modification",
        /// During delivery.
        Delivery = "delivery",
    }

    /// Pace of delivery, compared with the plan.
    pub(crate) enum Pacing {
        /// Faster.
        Ahead = "ahead",
        /// As planned.
        OnTrack = "on_track",
        /// Slower.
        Behind = "behind",
    }

    /// Enforcement level of a policy (`enums/policy-enforcement.json`).
    pub(crate) enum Enforcement {
        /// A violation is refused.
        Must = "must",
        /// A violation is a warning.
        Should = "should",
        /// A violation is only recorded.
        May = "may",
    }
}

/// Budget of a payload: a number, or an amount with its currency.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TotalBudget {
    pub(crate) amount: Option<MoneyAmount>,
    pub(crate) currency: Option<Value>,
    /// Path of the amount in the request.
    pub(crate) member: &'static str,
}

impl Typed for TotalBudget {
    fn kind() -> ValueKind {
        ValueKind::Any
    }

    fn read(value: &Value) -> Option<Self> {
        let object = InCurrency::read(value);
        let member =
            if object.is_some() { "payload.total_budget.amount" } else { "payload.total_budget" };
        let amount = object.as_ref().and_then(|total| total.amount);
        let currency = object.and_then(|total| total.currency);
        Some(Self { amount: amount.or_else(|| MoneyAmount::read(value)), currency, member })
    }
}
