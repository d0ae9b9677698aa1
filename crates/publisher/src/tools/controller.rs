//! `comply_test_controller`: what a sandbox can be made to do, so that tests meet what in a real
//! publisher only time, people and accidents bring about. It has an error vocabulary of its own,
//! inside an answer that is completed; and what it moves, it moves by the published state machines.

use std::borrow::Cow;

use tradepost_wire::adcp::AdcpTool;
use tradepost_wire::adcp::rules::{self, Internals};
use tradepost_wire::catalog::Vocabulary;
use tradepost_wire::fault::InternalError;
use tradepost_wire::json::{Map, Value, json};

use crate::account::Account;
use crate::forms::controller::{Comply, Params};
use crate::refuse::ToolError;
use crate::reply::ToolReply;
use crate::shelf::Stored;
use crate::task::end::TaskFinisher;
use crate::work::ToolContext;

mod buys;
mod force;
mod seed;

tradepost_wire::catalog! {
    /// What can be brought about. Exactly what `list_scenarios` lists.
    enum Scenario {
        /// How it is brought about.
        run: ScenarioRun,
    }
    /// An account stands as wanted.
    ForceAccountStatus = "force_account_status" { run: ScenarioRun::Now(force::account) }
    /// A creative stands as wanted.
    ForceCreativeStatus = "force_creative_status" { run: ScenarioRun::Now(force::creative) }
    /// A media buy stands as wanted.
    ForceMediaBuyStatus = "force_media_buy_status" { run: ScenarioRun::Now(buys::status) }
    /// A sponsored conversation stands as wanted.
    ForceSessionStatus = "force_session_status" { run: ScenarioRun::Now(force::session) }
    /// The next purchase is answered as wanted.
    ForceCreateMediaBuyArm = "force_create_media_buy_arm" { run: ScenarioRun::Arm(AdcpTool::CreateMediaBuy) }
    /// The next search for products is answered as wanted.
    ForceGetProductsArm = "force_get_products_arm" { run: ScenarioRun::Arm(AdcpTool::GetProducts) }
    /// The next search for signals is answered as wanted.
    ForceGetSignalsArm = "force_get_signals_arm" { run: ScenarioRun::Arm(AdcpTool::GetSignals) }
    /// A task ends.
    ForceTaskCompletion = "force_task_completion" { run: ScenarioRun::Now(buys::task) }
    /// The ad server is away.
    ForceUpstreamUnavailable = "force_upstream_unavailable" { run: ScenarioRun::Now(force::upstream) }
    /// Something was delivered.
    SimulateDelivery = "simulate_delivery" { run: ScenarioRun::Now(buys::delivery) }
    /// Money was spent.
    SimulateBudgetSpend = "simulate_budget_spend" { run: ScenarioRun::Now(buys::spend) }
    /// What a verifier has noted about a creative is told.
    QueryProvenanceAuditObservations = "query_provenance_audit_observations" {
        run: ScenarioRun::Now(force::observations)
    }
    /// An account is there.
    SeedAccount = "seed_account" { run: ScenarioRun::Seed(seed::account) }
    /// A product is there.
    SeedProduct = "seed_product" { run: ScenarioRun::Stock(seed::product) }
    /// A product has a price.
    SeedPricingOption = "seed_pricing_option" { run: ScenarioRun::Stock(seed::price) }
    /// A creative is there.
    SeedCreative = "seed_creative" { run: ScenarioRun::Seed(seed::creative) }
    /// A format is there.
    SeedCreativeFormat = "seed_creative_format" { run: ScenarioRun::Stock(seed::format) }
    /// A media buy is there.
    SeedMediaBuy = "seed_media_buy" { run: ScenarioRun::Seed(buys::seed) }
    /// A plan is there.
    SeedPlan = "seed_plan" { run: ScenarioRun::Seed(seed::plan) }
}

/// How something is brought about.
#[derive(Clone, Copy)]
enum ScenarioRun {
    /// By this.
    Now(fn(&ScenarioContext<'_>) -> Result<Value, ScenarioFailed>),
    /// By the next request for a tool.
    Arm(AdcpTool),
    /// By laying something of the tenant's there, once.
    Seed(fn(&ScenarioContext<'_>, &Map) -> Result<(), ScenarioFailed>),
    /// By laying something of the publisher's there, once.
    Stock(fn(&ScenarioContext<'_>, &Map) -> Result<(), ScenarioFailed>),
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
pub(super) fn scenarios() -> &'static [&'static str] {
    Scenario::NAMES
}

/// The scenario that tells the others.
const LIST: &str = "list_scenarios";

/// Why nothing was brought about.
enum ScenarioFailed {
    /// This and this speaks against it; with how something stands that cannot go there.
    Refused(Complaint, Cow<'static, str>, Option<&'static str>),
    /// We broke.
    Broken(InternalError),
}

impl From<InternalError> for ScenarioFailed {
    fn from(broken: InternalError) -> Self {
        Self::Broken(broken)
    }
}

/// Does the work.
pub(super) fn perform(work: &ToolContext<'_>, form: &Comply) -> Result<ToolReply, ToolError> {
    if form.scenario.as_deref() == Some(LIST) && forbidden(work).is_none() {
        let body = json!({"success": true, "scenarios": scenarios()});
        return Ok(ToolReply::completed("what the sandbox can be made to do", body));
    }
    match bring_about(work, form) {
        Ok(body) => Ok(ToolReply::completed("the sandbox did it", body)),
        // A refusal inside an answer that is completed.
        Err(ScenarioFailed::Refused(error, detail, state)) => {
            let body = json!({
                "success": false, "error": error, "error_detail": detail, "current_state"?: state,
            });
            Ok(ToolReply::completed("the sandbox did nothing", body))
        }
        Err(ScenarioFailed::Broken(broken)) => Err(broken.into()),
    }
}

/// Something stands differently now, or as it stood.
fn moved(before: impl Vocabulary, after: impl Vocabulary) -> Value {
    json!({"success": true, "previous_state": before.name(), "current_state": after.name()})
}

/// No published way leads from how something stands.
fn no_way_from(state: impl Vocabulary) -> ScenarioFailed {
    let detail = "no published transition leads from the current state to this one";
    ScenarioFailed::Refused(Complaint::InvalidTransition, detail.into(), Some(state.name()))
}

/// There is nothing like that, or it is not the caller's.
fn not_found() -> ScenarioFailed {
    let detail = "an identifier in params does not resolve to anything of yours";
    ScenarioFailed::Refused(Complaint::NotFound, detail.into(), None)
}

/// Something about the parameters.
fn invalid(detail: impl Into<Cow<'static, str>>) -> ScenarioFailed {
    ScenarioFailed::Refused(Complaint::InvalidParams, detail.into(), None)
}

/// The caller, or the account, is not for tests.
fn not_for_tests(detail: &'static str) -> ScenarioFailed {
    ScenarioFailed::Refused(Complaint::Forbidden, detail.into(), None)
}

/// Why the caller may not do this here. What counts is what the publisher knows of caller and account,
/// not what the request says about them.
fn forbidden(work: &ToolContext<'_>) -> Option<ScenarioFailed> {
    if work.ask.caller.agent.as_ref().is_some_and(|agent| agent.live_only) {
        return Some(not_for_tests("the caller works with live accounts alone"));
    }
    let live = work.admitted.account.as_ref().is_some_and(|account| !account.thing.sandbox);
    live.then(|| not_for_tests("the account is a live one; name one for tests"))
}

fn bring_about(work: &ToolContext<'_>, form: &Comply) -> Result<Value, ScenarioFailed> {
    // Before the scenario is looked at: who may not test here hears nothing of what there is.
    if let Some(fault) = forbidden(work) {
        return Err(fault);
    }
    let scenario = form.scenario.as_deref().and_then(Scenario::from_name);
    let unknown = "list_scenarios says what there is";
    let unknown = || ScenarioFailed::Refused(Complaint::UnknownScenario, unknown.into(), None);
    let scenario = scenario.ok_or_else(unknown)?;
    let whole = Value::Object(work.ask.arguments.clone());
    // Checked here and not with all other requests, because the controller says in
    // words of its own what is wrong.
    if let Err(issues) = rules::check(AdcpTool::ComplyTestController, &whole, Internals::Off) {
        let pointers: Vec<_> = issues.listed().iter().map(|it| it.pointer.as_str()).collect();
        let pointers = pointers.join(", ");
        return Err(invalid(format!("these members do not fit the schema: {pointers}")));
    }
    let absent = || invalid("params is missing");
    let at = ScenarioContext { work, params: form.params.as_ref().ok_or_else(absent)? };
    match scenario.run() {
        ScenarioRun::Now(run) => run(&at),
        ScenarioRun::Arm(tool) => buys::arm(&at, tool),
        ScenarioRun::Seed(lay) => seed::put(&at, at.tenant(), scenario, lay),
        ScenarioRun::Stock(lay) => seed::put(&at, "", scenario, lay),
    }
}

/// A scenario at work.
struct ScenarioContext<'a> {
    work: &'a ToolContext<'a>,
    params: &'a Params,
}

impl ScenarioContext<'_> {
    fn tenant(&self) -> &str {
        &self.work.admitted.reach.tenant
    }

    /// What changes what the publisher has, and not the caller.
    fn office(&self) -> TaskFinisher<'_> {
        let work = self.work;
        TaskFinisher { publisher: work.publisher, shelf: work.shelf, now: work.ask.now }
    }

    /// The account that is named.
    fn account(&self) -> Result<&Stored<Account>, ScenarioFailed> {
        let account = self.work.admitted.account.as_ref();
        account.ok_or_else(|| invalid("account has to name one for tests"))
    }
}

/// A parameter of this name that the scenario cannot do without.
fn need<'a>(name: &str, param: &'a Option<String>) -> Result<&'a str, ScenarioFailed> {
    let missing = || invalid(format!("params.{name} is missing"));
    param.as_deref().ok_or_else(missing)
}

/// Whether it is the caller's or another's is not said.
fn taken() -> ScenarioFailed {
    invalid("this id cannot be used; choose another one")
}
