//! Governance decisions: findings, verdict, storage and token.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::format::hex;
use tradepost_document::json::{Value, json, object};

use crate::forms::plans::{CheckGovernance, GovernancePhase, KeptPlan};
use crate::money::MoneyAmount;
use crate::plan::{CATEGORIES, GovernanceCheck, PlanVerdict, UNJUDGED};
use crate::store::Stored;
use crate::tool_context::{ToolContext, WriteContext};

/// Lifetime of a decision.
const LIFE: SignedDuration = SignedDuration::from_mins(15);

/// Time until the seller's next report of delivery.
const REPORT_AFTER: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Maximum length of a token (`core/protocol-envelope.json`, `governance_context`).
const LONGEST: usize = 4096;

tradepost_document::words! {
    /// Severity of a finding (`enums/escalation-severity.json`).
    pub(super) enum Severity {
        /// Information only.
        Info = "info",
        /// Does not forbid the action.
        Warning = "warning",
        /// Forbids the action.
        Critical = "critical",
    }
}

/// Finding about an action under its plan.
pub(super) struct PlanFinding {
    pub category: &'static str,
    pub severity: Severity,
    pub explanation: String,
    pub policy_id: Option<String>,
    /// Member that would have to change, and its allowed value if there is one.
    pub cure: Option<(String, Option<Value>)>,
}

impl PlanFinding {
    /// Creates a finding that forbids the action.
    pub(super) fn new(category: &'static str, explanation: impl Into<String>) -> Self {
        let severity = Severity::Critical;
        let explanation = explanation.into();
        Self { category, severity, explanation, policy_id: None, cure: None }
    }

    /// Creates a finding that does not forbid the action by itself.
    pub(super) fn warning(category: &'static str, explanation: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::new(category, explanation) }
    }

    /// Creates a finding that only informs.
    pub(super) fn info(category: &'static str, explanation: impl Into<String>) -> Self {
        Self { severity: Severity::Info, ..Self::new(category, explanation) }
    }

    /// Adds the condition that would resolve the finding: a member, and its value if there is one.
    pub(super) fn cured_by(self, member: &str, value: Option<Value>) -> Self {
        Self { cure: Some((member.to_owned(), value)), ..self }
    }

    pub(super) fn show(&self) -> Value {
        object!({
            "category_id": self.category,
            "policy_id"?: self.policy_id,
            "severity": self.severity,
            "explanation": self.explanation,
        })
    }

    fn forbids(&self) -> bool {
        self.severity == Severity::Critical
    }

    fn condition(&self) -> Option<Value> {
        let (field, value) = self.cure.as_ref()?;
        Some(object!({"field": field, "required_value"?: value, "reason": self.explanation}))
    }
}

/// Action that a check is about. The token links it to earlier checks.
pub(super) struct CheckedAction {
    /// Id of the action's first check, which may be the new one.
    pub id: String,
    /// Id of this check.
    check_id: String,
    /// Approval by a person: `None` without one, otherwise the maximum amount if it is limited.
    approved: Option<Option<MoneyAmount>>,
}

impl CheckedAction {
    pub(super) fn new(
        work: &ToolContext<'_>,
        form: &CheckGovernance,
        checks: &[Stored<GovernanceCheck>],
    ) -> Self {
        let check_id = work.publisher.services.fresh_id("chk");
        let token = form.governance_context.as_ref();
        let earlier = token.and_then(|token| {
            checks
                .iter()
                .rev()
                .find(|stored| stored.thing.governance_context.as_ref() == Some(token))
        });
        let earlier = earlier.map(|stored| &stored.thing);
        let approval = form.ext.as_ref().and_then(|ext| ext.human_approval.as_ref());
        let own = approval
            // With a planned delivery the caller is the seller, whose statement of a person's
            // approval does not count.
            .filter(|approval| form.planned_delivery.is_none() && !approval.approved_by.is_empty());
        // An approval covers later checks with its token, up to the amount that was approved.
        let before = earlier.filter(|check| check.reviewed).map(|check| check.amount);
        Self {
            id: earlier.map_or_else(|| check_id.clone(), |check| check.action.clone()),
            check_id,
            approved: own.map(|_| None).or(before),
        }
    }

    /// Returns true when a person has approved this amount.
    pub(super) fn reviewed(&self, amount: MoneyAmount) -> bool {
        self.approved.is_some_and(|most| most.is_none_or(|most| amount <= most))
    }
}

/// Decision before it is stored.
pub(super) struct DecisionDraft<'a> {
    pub plan: KeptPlan,
    pub plan_hash: String,
    pub form: &'a CheckGovernance,
    /// Action that the decision is about.
    pub action: CheckedAction,
    /// Cost of the action, if known.
    pub amount: Option<MoneyAmount>,
    pub found: Vec<PlanFinding>,
}

impl DecisionDraft<'_> {
    /// Adds a finding that forbids the action.
    pub(super) fn forbid(&mut self, category: &'static str, explanation: impl Into<String>) {
        self.found.push(PlanFinding::new(category, explanation));
    }

    /// Returns the verdict: denied when a finding forbids the action without a cure. A seller's
    /// plan has no cures.
    fn verdict(&self) -> PlanVerdict {
        let intent = self.form.payload.is_some() && self.form.planned_delivery.is_none();
        let mut forbidding = self.found.iter().filter(|finding| finding.forbids());
        if forbidding.any(|finding| !intent || finding.cure.is_none()) {
            PlanVerdict::Denied
        } else if self.found.iter().any(|finding| finding.cure.is_some()) {
            PlanVerdict::Conditions
        } else {
            PlanVerdict::Approved
        }
    }

    fn explanation(&self, verdict: PlanVerdict) -> String {
        match verdict {
            PlanVerdict::Approved => "the action is within the plan".to_owned(),
            PlanVerdict::Conditions => {
                "the action would be within the plan under the conditions".to_owned()
            }
            PlanVerdict::Denied => {
                let forbidding = self.found.iter().filter(|finding| finding.forbids());
                forbidding.map(|finding| &*finding.explanation).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Stores the decision for audits and returns the reply.
    pub(super) fn keep(self, work: &WriteContext<'_>) -> Result<Value, InternalError> {
        let verdict = self.verdict();
        let now = work.call.now;
        let after = |wait| now.checked_add(wait).unwrap_or(now);
        let demanded = |(_, member): &&(&str, &str)| self.plan.given.contains_key(*member);
        let evaluated = CATEGORIES.iter().filter(demanded).map(|(name, _)| (*name).to_owned());
        // The plan's own policies have findings of their own.
        let unjudged = UNJUDGED.iter().filter(|(_, member)| *member != "custom_policies");
        let unjudged = unjudged.filter(demanded).map(|(name, member)| {
            PlanFinding::info(name, format!("the plan's {member} are not judged here")).show()
        });
        let conditions: Vec<_> = self.found.iter().filter_map(PlanFinding::condition).collect();
        let findings: Vec<Value> =
            self.found.iter().map(PlanFinding::show).chain(unjudged).collect();
        let policies = self.found.iter().filter_map(|finding| finding.policy_id.clone()).collect();
        let runs = self.form.planned_delivery.is_some() || self.form.delivery_metrics.is_some();
        let reported = runs && verdict != PlanVerdict::Denied;
        let kind = self.form.purchase_type.as_deref();
        let mut check = GovernanceCheck {
            check_id: self.action.check_id.clone(),
            action: self.action.id.clone(),
            caller: self.form.caller.clone(),
            tool: self.form.tool.clone(),
            purchase_type: kind.unwrap_or("media_buy").to_owned(),
            verdict,
            explanation: self.explanation(verdict),
            findings,
            categories: evaluated.collect(),
            policies,
            amount: self.amount,
            reviewed: self.action.approved.is_some(),
            plan_hash: self.plan_hash.clone(),
            governance_context: None,
        };
        check.governance_context = self.attest(work, &check, after(LIFE));
        let owner = (work.admitted.reach.tenant.as_str(), None);
        work.add(&check.check_id, owner, &self.form.plan_id, &check)?;
        let has_conditions = verdict == PlanVerdict::Conditions && !conditions.is_empty();
        Ok(object!({
            "check_id": check.check_id,
            "verdict": verdict,
            "plan_id": self.form.plan_id,
            "explanation": check.explanation,
            "categories_evaluated": check.categories,
            "policies_evaluated"?: (!check.policies.is_empty()).then_some(check.policies),
            "mode": "enforce",
            "findings"?: (!check.findings.is_empty()).then_some(check.findings),
            "conditions"?: has_conditions.then_some(conditions),
            "expires_at"?: (verdict != PlanVerdict::Denied).then(|| after(LIFE)),
            "next_check"?: reported.then(|| after(REPORT_AFTER)),
            "governance_context"?: check.governance_context,
        }))
    }

    /// Signs the token of the decision. Unless it is an unconditional approval, the verdict is a
    /// critical claim, which every reader has to understand, so that it is not mistaken for one.
    fn attest(
        &self,
        work: &ToolContext<'_>,
        check: &GovernanceCheck,
        until: Timestamp,
    ) -> Option<String> {
        let publisher = work.publisher;
        let issuer = &publisher.profile.endpoints.first()?.url;
        let form = self.form;
        let phase = match form.phase {
            _ if form.payload.is_some() && form.planned_delivery.is_none() => "intent",
            Some(phase) => phase.name(),
            None if form.delivery_metrics.is_some() => GovernancePhase::Delivery.name(),
            None => GovernancePhase::Purchase.name(),
        };
        // A token beyond the intent is bound to one media buy, whose id only the seller knows.
        if phase != "intent" && form.media_buy_id.is_none() {
            return None;
        }
        let sellers = self.plan.approved_sellers.as_deref().unwrap_or_default();
        let seller = match (&form.planned_delivery, &form.target_agent, sellers) {
            (Some(_), _, _) => &form.caller,
            (None, Some(seller), _) => seller,
            (None, None, [only]) => only,
            // A caller that asks a seller without naming another means that seller.
            (None, None, _) => issuer,
        };
        let log = json!({"verdict": check.verdict, "findings": check.findings});
        // Sellers see the token but not the findings, so that it contains only their digest.
        let log = hex(&Sha256::digest(canonical::to_string(&log)));
        let qualified = check.verdict != PlanVerdict::Approved;
        let claims = object!({
            "iss": issuer,
            "sub": form.plan_id,
            "aud": seller,
            "iat": work.call.now.as_second(),
            "exp": until.as_second(),
            "jti": publisher.services.fresh_id("gov"),
            "phase": phase,
            "caller": form.caller,
            "check_id": check.check_id,
            "media_buy_id"?: form.media_buy_id.as_ref().filter(|_| phase != "intent"),
            "plan_hash": check.plan_hash,
            "policy_decision_hash": log,
            "verdict"?: qualified.then_some(check.verdict),
        });
        let critical: &[&str] = if qualified { &["verdict"] } else { &[] };
        publisher.services.attest(&claims, critical).filter(|token| token.len() <= LONGEST)
    }
}
