//! `comply_test_controller`: what a sandbox can be made to do, so that tests meet what in a real
//! publisher only time, people and accidents bring about. It has an error vocabulary of its own,
//! inside an answer that is completed; and what it moves, it moves by the published state machines.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::rules::{self, Internals};

use super::{Reply, Work};
use crate::refuse::Stop;
use crate::shelf::Broken;

mod buys;
mod force;
mod seed;

/// What can be brought about. Exactly what `list_scenarios` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    ForceAccountStatus,
    ForceCreativeStatus,
    ForceMediaBuyStatus,
    ForceSessionStatus,
    ForceCreateMediaBuyArm,
    ForceTaskCompletion,
    ForceUpstreamUnavailable,
    SimulateDelivery,
    SimulateBudgetSpend,
    SeedAccount,
    SeedProduct,
    SeedPricingOption,
    SeedCreative,
    SeedCreativeFormat,
    SeedMediaBuy,
    SeedPlan,
}

impl Scenario {
    const ALL: [Self; 16] = [
        Self::ForceAccountStatus,
        Self::ForceCreativeStatus,
        Self::ForceMediaBuyStatus,
        Self::ForceSessionStatus,
        Self::ForceCreateMediaBuyArm,
        Self::ForceTaskCompletion,
        Self::ForceUpstreamUnavailable,
        Self::SimulateDelivery,
        Self::SimulateBudgetSpend,
        Self::SeedAccount,
        Self::SeedProduct,
        Self::SeedPricingOption,
        Self::SeedCreative,
        Self::SeedCreativeFormat,
        Self::SeedMediaBuy,
        Self::SeedPlan,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::ForceAccountStatus => "force_account_status",
            Self::ForceCreativeStatus => "force_creative_status",
            Self::ForceMediaBuyStatus => "force_media_buy_status",
            Self::ForceSessionStatus => "force_session_status",
            Self::ForceCreateMediaBuyArm => "force_create_media_buy_arm",
            Self::ForceTaskCompletion => "force_task_completion",
            Self::ForceUpstreamUnavailable => "force_upstream_unavailable",
            Self::SimulateDelivery => "simulate_delivery",
            Self::SimulateBudgetSpend => "simulate_budget_spend",
            Self::SeedAccount => "seed_account",
            Self::SeedProduct => "seed_product",
            Self::SeedPricingOption => "seed_pricing_option",
            Self::SeedCreative => "seed_creative",
            Self::SeedCreativeFormat => "seed_creative_format",
            Self::SeedMediaBuy => "seed_media_buy",
            Self::SeedPlan => "seed_plan",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }
}

/// The names of what can be brought about.
pub(super) fn scenarios() -> Vec<&'static str> {
    Scenario::ALL.into_iter().map(Scenario::name).collect()
}

/// What was brought about.
enum Done {
    /// Something stands differently now, or as it stood.
    Moved { before: String, after: String },
    /// Figures were put in.
    Simulated { simulated: Value, cumulative: Option<Value> },
    /// The next request is answered in this way.
    Forced(Value),
    /// Something lies there.
    Seeded,
}

/// Why nothing was brought about, in the controller's own vocabulary.
enum Fault {
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
    Broken(Broken),
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// Does the work.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    if work.ask.arguments.get("scenario").and_then(Value::as_str) == Some("list_scenarios")
        && forbidden(work).is_none()
    {
        let body = json!({"success": true, "scenarios": scenarios()});
        return Ok(Reply::completed("what the sandbox can be made to do", body));
    }
    let body = match bring_about(work) {
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
        Ok(Done::Seeded) => json!({"success": true}),
        Err(fault) => return refused(fault),
    };
    Ok(Reply::completed("the sandbox did it", body))
}

/// A refusal inside an answer that is completed.
fn refused(fault: Fault) -> Result<Reply, Stop> {
    let (error, detail, state): (_, Cow<'static, str>, _) = match fault {
        Fault::InvalidTransition(state) => {
            let detail = "no published transition leads from the current state to this one";
            ("INVALID_TRANSITION", detail.into(), Some(state))
        }
        Fault::NotFound => (
            "NOT_FOUND",
            "an identifier in params does not resolve to anything of yours".into(),
            None,
        ),
        Fault::UnknownScenario => {
            ("UNKNOWN_SCENARIO", "list_scenarios says what there is".into(), None)
        }
        Fault::InvalidParams(detail) => ("INVALID_PARAMS", detail, None),
        Fault::Forbidden(detail) => ("FORBIDDEN", detail.into(), None),
        Fault::Broken(broken) => return Err(broken.into()),
    };
    let mut body = json!({"success": false, "error": error, "error_detail": detail});
    if let (Some(members), Some(state)) = (body.as_object_mut(), state) {
        members.insert("current_state".to_owned(), state.into());
    }
    Ok(Reply::completed("the sandbox did nothing", body))
}

/// Why the caller may not do this here. What counts is what the publisher knows of caller and account,
/// not what the request says about them.
fn forbidden(work: &Work<'_>) -> Option<Fault> {
    if work.ask.caller.agent.as_ref().is_some_and(|agent| agent.live_only) {
        return Some(Fault::Forbidden("the caller works with live accounts alone"));
    }
    let live = work.admitted.account.as_ref().is_some_and(|account| !account.thing.sandbox);
    live.then_some(Fault::Forbidden("the account is a live one; name one for tests"))
}

fn bring_about(work: &Work<'_>) -> Result<Done, Fault> {
    if let Some(fault) = forbidden(work) {
        return Err(fault);
    }
    let arguments = &work.ask.arguments;
    let name = arguments.get("scenario").and_then(Value::as_str).unwrap_or_default();
    let scenario = Scenario::from_name(name).ok_or(Fault::UnknownScenario)?;
    let whole = Value::Object(arguments.clone());
    if let Err(issues) = rules::check(Tool::ComplyTestController, &whole, Internals::Off) {
        let pointers: Vec<_> = issues.listed().iter().map(|it| it.pointer.as_str()).collect();
        let detail = format!("these members do not fit the schema: {}", pointers.join(", "));
        return Err(Fault::InvalidParams(detail.into()));
    }
    let none = Map::new();
    let params = arguments.get("params").and_then(Value::as_object).unwrap_or(&none);
    let at = At { work, params };
    match scenario {
        Scenario::ForceAccountStatus => force::account(&at),
        Scenario::ForceCreativeStatus => force::creative(&at),
        Scenario::ForceSessionStatus => force::session(&at),
        Scenario::ForceUpstreamUnavailable => force::upstream(&at),
        Scenario::ForceMediaBuyStatus => buys::status(&at),
        Scenario::ForceCreateMediaBuyArm => buys::arm(&at),
        Scenario::ForceTaskCompletion => buys::task(&at),
        Scenario::SimulateDelivery => buys::delivery(&at),
        Scenario::SimulateBudgetSpend => buys::spend(&at),
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
    params: &'a Map<String, Value>,
}

impl At<'_> {
    /// A text of the parameters.
    fn text(&self, name: &str) -> Result<&str, Fault> {
        let text = self.params.get(name).and_then(Value::as_str);
        text.ok_or_else(|| Fault::InvalidParams(format!("params.{name} is missing").into()))
    }

    /// What a fixture says; nothing when there is none.
    fn fixture(&self) -> Map<String, Value> {
        self.params.get("fixture").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    fn tenant(&self) -> &str {
        &self.work.admitted.reach.tenant
    }
}
