//! The governance role: `sync_plans`, `check_governance`, `report_plan_outcome`,
//! `get_plan_audit_logs`.

use jiff::Timestamp;
use tradepost_wire::adcp::rules::typed::{Typed, ValueKind};
use tradepost_wire::form;
use tradepost_wire::json::{Map, Value};

use crate::money::MoneyAmount;
use crate::plan::Reported;

form! {
    /// `governance/sync-plans-request.json`.
    pub(crate) struct SyncPlans {
        plans: Vec<GivenPlan>,
    }

    /// A plan as it is given.
    pub(crate) struct GivenPlan {
        plan_id: String,
        flight: GivenFlight,
        budget: GivenBudget;
        whole sent
    }

    /// From when until when.
    pub(crate) struct GivenFlight {
        start: Timestamp,
        end: Timestamp,
    }

    /// What may be spent.
    pub(crate) struct GivenBudget {
        total: MoneyAmount,
    }

    /// A plan as it is kept. A fixture of a sandbox may leave any of it out.
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

    /// A policy of the plan's own (`governance/policy-entry.json`).
    pub(crate) struct PlanPolicy {
        policy_id: String,
        enforcement: Option<Enforcement>,
        policy: Option<String>,
    }

    /// Plans that a plan stands for.
    pub(crate) struct PlanPortfolio {
        member_plan_ids: Option<Vec<String>>,
    }

    /// What may be spent.
    pub(crate) struct PlanBudget {
        total: Option<MoneyAmount>,
        currency: Option<String>,
        per_seller_max_pct: Option<MoneyAmount>,
        /// Above this a person decides.
        reallocation_threshold: Option<MoneyAmount>,
        allocations: Option<Allocations>,
    }

    /// What is set apart for each kind of purchase (`enums/purchase-type.json`).
    pub(crate) struct Allocations {
        ;
        whole by_purchase
    }

    /// What is set apart for one of them.
    pub(crate) struct BudgetAllocation {
        amount: Option<MoneyAmount>,
        max_pct: Option<MoneyAmount>,
    }

    /// From when until when.
    pub(crate) struct PlanFlight {
        start: Option<Timestamp>,
        end: Option<Timestamp>,
    }

    /// Where it may run.
    pub(crate) struct Channels {
        allowed: Option<Vec<String>>,
    }

    /// Who may act for the buyer.
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
        /// The seller that is meant; no member of the schema.
        target_agent: Option<String>,
        /// What the seller calls the buy; no member of the schema.
        media_buy_id: Option<String>,
        ext: Option<CheckExt>,
    }

    /// What is beside the schema.
    pub(crate) struct CheckExt {
        human_approval: Option<HumanApproval>,
    }

    /// Who has approved an action, and when.
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

    /// What the seller answered.
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

    /// What was delivered, as a buyer reports it.
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

    /// The request that is to be sent: of whatever tool, so that the rules say nothing about it.
    pub(crate) struct Payload {
        total_budget: Option<TotalBudget>,
        currency: Option<Value>,
        packages: Option<Vec<Option<PayloadPackage>>>,
        countries: Option<Vec<Value>>,
        channels: Option<Vec<Value>>,
        start_time: Option<Timestamp>,
        end_time: Option<Timestamp>,
    }

    /// A package of such a request.
    pub(crate) struct PayloadPackage {
        budget: Option<MoneyAmount>,
        targeting_overlay: Option<PayloadTargeting>,
    }

    /// At whom such a package is aimed.
    pub(crate) struct PayloadTargeting {
        geo_countries: Option<Vec<Value>>,
    }

    /// An amount in an object.
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

    /// Where.
    pub(crate) struct PlanGeo {
        countries: Option<Vec<Value>>,
    }

    /// What was delivered.
    pub(crate) struct DeliveryMetrics {
        cumulative_spend: Option<MoneyAmount>,
        /// Shares in percent by country.
        geo_distribution: Map,
        /// And by channel.
        channel_distribution: Map,
        pacing: Option<Pacing>,
    }
}

tradepost_wire::words! {
    /// When an action is checked (`enums/governance-phase.json`).
    pub(crate) enum GovernancePhase {
        /// Before it is bought.
        Purchase = "purchase",
        /// Before it is changed.
        Modification = "modification",
        /// While it runs.
        Delivery = "delivery",
    }

    /// Whether delivery is as fast as planned.
    pub(crate) enum Pacing {
        /// Faster.
        Ahead = "ahead",
        /// As planned.
        OnTrack = "on_track",
        /// Slower.
        Behind = "behind",
    }

    /// How strict a policy is (`enums/policy-enforcement.json`).
    pub(crate) enum Enforcement {
        /// Whoever breaks it is refused.
        Must = "must",
        /// Whoever breaks it is warned.
        Should = "should",
        /// It is noted.
        May = "may",
    }
}

/// The budget of a payload: a number, or an amount with its currency.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TotalBudget {
    pub(crate) amount: Option<MoneyAmount>,
    pub(crate) currency: Option<Value>,
    /// Where in the payload the amount stands.
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
        let (amount, currency) = object.map_or((None, None), |it| (it.amount, it.currency));
        Some(Self { amount: amount.or_else(|| MoneyAmount::read(value)), currency, member })
    }
}
