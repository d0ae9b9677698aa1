//! `comply_test_controller`: what a sandbox can be made to do, so that tests meet what in a real
//! publisher only time, people and accidents bring about. It has an error vocabulary of its own,
//! inside an answer that is completed; and what it moves, it moves by the published state machines.

use std::borrow::Cow;

use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::rules::{self, Internals};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Value, json};

use crate::forms::controller::{Comply, Params};
use crate::refuse::Stop;
use crate::reply::Reply;
use crate::work::Work;

mod buys;
mod force;
mod seed;

tradepost_wire::words! {
    /// What can be brought about. Exactly what `list_scenarios` lists.
    enum Scenario {
        /// An account stands as wanted.
        ForceAccountStatus = "force_account_status",
        /// A creative stands as wanted.
        ForceCreativeStatus = "force_creative_status",
        /// A media buy stands as wanted.
        ForceMediaBuyStatus = "force_media_buy_status",
        /// A sponsored conversation stands as wanted.
        ForceSessionStatus = "force_session_status",
        /// The next purchase is answered as wanted.
        ForceCreateMediaBuyArm = "force_create_media_buy_arm",
        /// The next search for products is answered as wanted.
        ForceGetProductsArm = "force_get_products_arm",
        /// The next search for signals is answered as wanted.
        ForceGetSignalsArm = "force_get_signals_arm",
        /// A task ends.
        ForceTaskCompletion = "force_task_completion",
        /// The ad server is away.
        ForceUpstreamUnavailable = "force_upstream_unavailable",
        /// Something was delivered.
        SimulateDelivery = "simulate_delivery",
        /// Money was spent.
        SimulateBudgetSpend = "simulate_budget_spend",
        /// What a verifier has noted about a creative is told.
        QueryProvenanceAuditObservations = "query_provenance_audit_observations",
        /// An account is there.
        SeedAccount = "seed_account",
        /// A product is there.
        SeedProduct = "seed_product",
        /// A product has a price.
        SeedPricingOption = "seed_pricing_option",
        /// A creative is there.
        SeedCreative = "seed_creative",
        /// A format is there.
        SeedCreativeFormat = "seed_creative_format",
        /// A media buy is there.
        SeedMediaBuy = "seed_media_buy",
        /// A plan is there.
        SeedPlan = "seed_plan",
    }
}

tradepost_wire::words! {
    /// Why nothing was brought about, in the words of the controller.
    enum Complaint {
        /// No published way leads there.
        InvalidTransition = "INVALID_TRANSITION",
        /// There is nothing like that.
        NotFound = "NOT_FOUND",
        /// This is no scenario of ours.
        UnknownScenario = "UNKNOWN_SCENARIO",
        /// Something about the parameters.
        InvalidParams = "INVALID_PARAMS",
        /// The caller, or the account, is not for tests.
        Forbidden = "FORBIDDEN",
    }
}

/// The names of what can be brought about.
pub(super) fn scenarios() -> Vec<&'static str> {
    Scenario::NAMES.to_vec()
}

/// The scenario that tells the others.
const LIST: &str = "list_scenarios";

/// What was brought about.
enum Done {
    /// Something stands differently now, or as it stood.
    Moved { before: String, after: String },
    /// Figures were put in.
    Simulated { simulated: Value, cumulative: Option<Value> },
    /// The next request is answered in this way.
    Forced(Value),
    /// This is what was noted about a creative.
    Observed { creative_id: String, observations: Vec<Value> },
    /// Something lies there.
    Seeded,
}

/// Why nothing was brought about, in the controller's own vocabulary.
enum Failed {
    /// No published way leads there; with how it stands.
    InvalidTransition(String),
    /// There is nothing like that, or it is not the caller's.
    NotFound,
    /// This is no scenario of ours.
    UnknownScenario,
    /// Something about the parameters.
    InvalidParams(Cow<'static, str>),
    /// The caller, or the account, is not for tests.
    Forbidden(&'static str),
    /// We broke.
    Broken(Fault),
}

impl From<Fault> for Failed {
    fn from(broken: Fault) -> Self {
        Self::Broken(broken)
    }
}

/// Does the work.
pub(super) fn perform(work: &Work<'_>, form: &Comply) -> Result<Reply, Stop> {
    if form.scenario.as_deref() == Some(LIST) && forbidden(work).is_none() {
        let body = json!({"success": true, "scenarios": scenarios()});
        return Ok(Reply::completed("what the sandbox can be made to do", body));
    }
    let body = match bring_about(work, form) {
        Ok(Done::Moved { before, after }) => {
            json!({"success": true, "previous_state": before, "current_state": after})
        }
        Ok(Done::Simulated { simulated, cumulative }) => {
            let mut body = json!({"success": true, "simulated": simulated});
            if let (Some(members), Some(cumulative)) = (body.as_object_mut(), cumulative) {
                members.insert("cumulative".to_owned(), cumulative);
            }
            body
        }
        Ok(Done::Forced(forced)) => json!({"success": true, "forced": forced}),
        Ok(Done::Observed { creative_id, observations }) => json!({
            "success": true, "creative_id": creative_id, "audit_observations": observations,
        }),
        Ok(Done::Seeded) => json!({"success": true}),
        Err(fault) => return refused(fault),
    };
    Ok(Reply::completed("the sandbox did it", body))
}

/// A refusal inside an answer that is completed.
fn refused(fault: Failed) -> Result<Reply, Stop> {
    let (error, detail, state): (_, Cow<'static, str>, _) = match fault {
        Failed::InvalidTransition(state) => {
            let detail = "no published transition leads from the current state to this one";
            (Complaint::InvalidTransition, detail.into(), Some(state))
        }
        Failed::NotFound => (
            Complaint::NotFound,
            "an identifier in params does not resolve to anything of yours".into(),
            None,
        ),
        Failed::UnknownScenario => {
            (Complaint::UnknownScenario, "list_scenarios says what there is".into(), None)
        }
        Failed::InvalidParams(detail) => (Complaint::InvalidParams, detail, None),
        Failed::Forbidden(detail) => (Complaint::Forbidden, detail.into(), None),
        Failed::Broken(broken) => return Err(broken.into()),
    };
    let mut body = json!({"success": false, "error": error, "error_detail": detail});
    if let (Some(members), Some(state)) = (body.as_object_mut(), state) {
        members.insert("current_state".to_owned(), state.into());
    }
    Ok(Reply::completed("the sandbox did nothing", body))
}

/// Why the caller may not do this here. What counts is what the publisher knows of caller and account,
/// not what the request says about them.
fn forbidden(work: &Work<'_>) -> Option<Failed> {
    if work.ask.caller.agent.as_ref().is_some_and(|agent| agent.live_only) {
        return Some(Failed::Forbidden("the caller works with live accounts alone"));
    }
    let live = work.admitted.account.as_ref().is_some_and(|account| !account.thing.sandbox);
    live.then_some(Failed::Forbidden("the account is a live one; name one for tests"))
}

fn bring_about(work: &Work<'_>, form: &Comply) -> Result<Done, Failed> {
    // Before the scenario is looked at: who may not test here hears nothing of what there is.
    if let Some(fault) = forbidden(work) {
        return Err(fault);
    }
    let scenario = form.scenario.as_deref().and_then(Scenario::from_name);
    let scenario = scenario.ok_or(Failed::UnknownScenario)?;
    let whole = Value::Object(work.ask.arguments.clone());
    // Checked here and not with all other requests, because the controller says in
    // words of its own what is wrong.
    if let Err(issues) = rules::check(Tool::ComplyTestController, &whole, Internals::Off) {
        let pointers: Vec<_> = issues.listed().iter().map(|it| it.pointer.as_str()).collect();
        let detail = format!("these members do not fit the schema: {}", pointers.join(", "));
        return Err(Failed::InvalidParams(detail.into()));
    }
    let absent = || Failed::InvalidParams("params is missing".into());
    let at = At { work, params: form.params.as_ref().ok_or_else(absent)? };
    match scenario {
        Scenario::ForceAccountStatus => force::account(&at),
        Scenario::ForceCreativeStatus => force::creative(&at),
        Scenario::ForceSessionStatus => force::session(&at),
        Scenario::ForceUpstreamUnavailable => force::upstream(&at),
        Scenario::ForceMediaBuyStatus => buys::status(&at),
        Scenario::ForceCreateMediaBuyArm => buys::arm(&at, Tool::CreateMediaBuy),
        Scenario::ForceGetProductsArm => buys::arm(&at, Tool::GetProducts),
        Scenario::ForceGetSignalsArm => buys::arm(&at, Tool::GetSignals),
        Scenario::ForceTaskCompletion => buys::task(&at),
        Scenario::SimulateDelivery => buys::delivery(&at),
        Scenario::SimulateBudgetSpend => buys::spend(&at),
        Scenario::QueryProvenanceAuditObservations => force::observations(&at),
        Scenario::SeedAccount
        | Scenario::SeedProduct
        | Scenario::SeedPricingOption
        | Scenario::SeedCreative
        | Scenario::SeedCreativeFormat
        | Scenario::SeedMediaBuy
        | Scenario::SeedPlan => seed::put(&at, scenario),
    }
}

/// A scenario at work.
struct At<'a> {
    work: &'a Work<'a>,
    params: &'a Params,
}

impl At<'_> {
    fn tenant(&self) -> &str {
        &self.work.admitted.reach.tenant
    }
}

/// A parameter of this name that the scenario cannot do without.
fn need<'a>(name: &str, param: &'a Option<String>) -> Result<&'a str, Failed> {
    let missing = || Failed::InvalidParams(format!("params.{name} is missing").into());
    param.as_deref().ok_or_else(missing)
}

/// Whether it is the caller's or another's is not said.
fn taken() -> Failed {
    Failed::InvalidParams("this id cannot be used; choose another one".into())
}
