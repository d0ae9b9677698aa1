//! `comply_test_controller`, the tool of AdCP by which a test suite puts what a buyer has at a sandbox into
//! states that would otherwise take days, people or failures: a rejected creative, a buy that has delivered, a
//! task that is decided. It also seeds what a test begins with. It changes states along the published state
//! machines alone, and its refusals are codes of its own inside a completed reply. The table of scenarios, the
//! order in which a call is checked, and the refusals are here. Why it is no crate of its own:
//! `docs/decisions/0180-the-test-controller-stays-with-the-publisher.md`.
//!
//! # Who can call it
//!
//! A publisher has this tool only where its profile says `sandbox` (`Publisher::has`): any other does not list
//! it, and refuses it as it refuses a tool that it does not know. That protects production data. In a
//! sandbox every caller may use it whom admission lets in, apart from agents that are `live_only`, for accounts
//! for tests or for none: a request for a live account is refused, and so is the forced status of one.
//! Identifiers in the parameters find what the caller reaches, on its live accounts too, and nothing of others;
//! nothing is sold in a sandbox. Products, prices and formats that it seeds are the publisher's, so that every
//! caller sees them.
//!
//! # Files
//!
//! - `arguments`: the arguments of the tool, and the members of fixtures.
//! - `statuses`: scenarios about accounts, creatives, sponsored conversations and the ad server.
//! - `buys`: scenarios about media buys and tasks, and the prepared answers.
//! - `seed`: scenarios that store a fixture once.
//! - `fixture`: products, prices and formats of which a fixture has only some members.
//! - [`forced_answer`]: the prepared answer to the next request for a tool.
//! - [`forced_buy`]: status, delivery and spend of a media buy, and a media buy that was not bought.
//!
//! # What of it the rest of the crate knows
//!
//! - `tools` has its row in the table of tools, and gives a search its prepared answer.
//! - `tools/buys/create` gives a purchase its prepared answer.
//! - `tools/capabilities` lists the scenarios.
//!
//! Nothing else uses this code. Some rules exist because of it: a request for it may say "sandbox" in place of an
//! account (`admit`), `order` leaves the check of its arguments to it, `idempotency` stores none of its replies, a
//! search in a sandbox may store something (`tool_call`), a submitted task may have a chosen id (`tool_context`),
//! `task/finish` ends a task as told (`TaskFinisher::force`), `availability` warns of a simulated outage (`Outage`),
//! and `catalogue/offer` shows what is stored beside the catalogue.

use std::borrow::Cow;

use tradepost_adcp::AdcpTool;
use tradepost_adcp::rules::{self, Internals};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json, object};

use crate::account::Account;
use crate::refusals::ToolError;
use crate::reply::ToolReply;
use crate::store::Stored;
use crate::task::finish::TaskFinisher;
use crate::tool_context::{ToolContext, WriteContext};

pub(crate) mod arguments;
pub mod forced_answer;
pub mod forced_buy;

mod buys;
mod fixture;
mod seed;
mod statuses;

use arguments::{Comply, Params};

tradepost_document::catalog! {
    /// Test scenario; `list_scenarios` lists exactly these.
    enum Scenario {
        /// Implementation of the scenario.
        run: ScenarioRun,
    }
    /// Sets the status of an account.
    ForceAccountStatus = "force_account_status" { run: ScenarioRun::Now(statuses::account) }
    /// Sets the status of a creative.
    ForceCreativeStatus = "force_creative_status" { run: ScenarioRun::Now(statuses::creative) }
    /// Sets the status of a media buy.
    ForceMediaBuyStatus = "force_media_buy_status" { run: ScenarioRun::Now(buys::status) }
    /// Sets the status of a sponsored conversation.
    ForceSessionStatus = "force_session_status" { run: ScenarioRun::Now(statuses::session) }
    /// Prepares the answer to the next purchase.
    ForceCreateMediaBuyArm = "force_create_media_buy_arm" { run: ScenarioRun::Arm(AdcpTool::CreateMediaBuy) }
    /// Prepares the answer to the next product search.
    ForceGetProductsArm = "force_get_products_arm" { run: ScenarioRun::Arm(AdcpTool::GetProducts) }
    /// Prepares the answer to the next signal search.
    ForceGetSignalsArm = "force_get_signals_arm" { run: ScenarioRun::Arm(AdcpTool::GetSignals) }
    /// Completes a task.
    ForceTaskCompletion = "force_task_completion" { run: ScenarioRun::Now(buys::task) }
    /// Makes the ad server unavailable.
    ForceUpstreamUnavailable = "force_upstream_unavailable" { run: ScenarioRun::Now(statuses::upstream) }
    /// Adds delivery.
    SimulateDelivery = "simulate_delivery" { run: ScenarioRun::Now(buys::delivery) }
    /// Sets the amount spent.
    SimulateBudgetSpend = "simulate_budget_spend" { run: ScenarioRun::Now(buys::spend) }
    /// Returns the audit observations of a creative.
    QueryProvenanceAuditObservations = "query_provenance_audit_observations" {
        run: ScenarioRun::Now(statuses::observations)
    }
    /// Creates an account.
    SeedAccount = "seed_account" { run: ScenarioRun::Seed(seed::account) }
    /// Creates a product.
    SeedProduct = "seed_product" { run: ScenarioRun::Stock(seed::product) }
    /// Adds a price to a product.
    SeedPricingOption = "seed_pricing_option" { run: ScenarioRun::Stock(seed::price) }
    /// Creates a creative.
    SeedCreative = "seed_creative" { run: ScenarioRun::Seed(seed::creative) }
    /// Creates a creative format.
    SeedCreativeFormat = "seed_creative_format" { run: ScenarioRun::Stock(seed::format) }
    /// Creates a media buy.
    SeedMediaBuy = "seed_media_buy" { run: ScenarioRun::Seed(buys::seed) }
    /// Creates a plan.
    SeedPlan = "seed_plan" { run: ScenarioRun::Seed(seed::plan) }
}

/// Implementation of a scenario.
#[derive(Clone, Copy)]
enum ScenarioRun {
    /// Runs immediately.
    Now(fn(&ScenarioContext<'_>) -> Result<Value, ScenarioFailed>),
    /// Takes effect on the next call of a tool.
    Arm(AdcpTool),
    /// Creates a record of the tenant, once.
    Seed(fn(&ScenarioContext<'_>, &Map) -> Result<(), ScenarioFailed>),
    /// Creates a record of the publisher, once.
    Stock(fn(&ScenarioContext<'_>, &Map) -> Result<(), ScenarioFailed>),
}

tradepost_document::words! {
    /// Error codes of the controller.
    enum Complaint {
        /// No published transition leads there.
        InvalidTransition = "INVALID_TRANSITION",
        /// No such record.
        NotFound = "NOT_FOUND",
        /// Unknown scenario.
        UnknownScenario = "UNKNOWN_SCENARIO",
        /// Invalid parameters.
        InvalidParams = "INVALID_PARAMS",
        /// The caller or the account is not for tests.
        Forbidden = "FORBIDDEN",
    }
}

/// Returns the names of the scenarios.
pub(crate) fn scenarios() -> &'static [&'static str] {
    Scenario::NAMES
}

/// Scenario that lists the others.
const LIST: &str = "list_scenarios";

/// Failure of a scenario.
enum ScenarioFailed {
    /// Refusal with code, explanation and, for an invalid transition, the current state.
    Refused(Complaint, Cow<'static, str>, Option<&'static str>),
    /// Internal error.
    Broken(InternalError),
}

impl From<InternalError> for ScenarioFailed {
    fn from(broken: InternalError) -> Self {
        Self::Broken(broken)
    }
}

/// Handles `comply_test_controller`.
pub(crate) fn perform(work: &WriteContext<'_>, form: &Comply) -> Result<ToolReply, ToolError> {
    if form.scenario.as_deref() == Some(LIST) && forbidden(work).is_none() {
        let body = json!({"success": true, "scenarios": scenarios()});
        return Ok(ToolReply::completed("what the sandbox can be made to do", body));
    }
    match bring_about(work, form) {
        Ok(body) => Ok(ToolReply::completed("the sandbox did it", body)),
        // Refusals are part of a completed reply.
        Err(ScenarioFailed::Refused(error, detail, state)) => {
            let body = object!({
                "success": false, "error": error, "error_detail": detail, "current_state"?: state,
            });
            Ok(ToolReply::completed("the sandbox did nothing", body))
        }
        Err(ScenarioFailed::Broken(broken)) => Err(broken.into()),
    }
}

/// Returns the result of a status change.
fn moved(before: impl Vocabulary, after: impl Vocabulary) -> Value {
    json!({"success": true, "previous_state": before.name(), "current_state": after.name()})
}

/// Refuses a transition that the state machine does not have.
fn no_way_from(state: impl Vocabulary) -> ScenarioFailed {
    let detail = "no published transition leads from the current state to this one";
    ScenarioFailed::Refused(Complaint::InvalidTransition, detail.into(), Some(state.name()))
}

/// Refuses an unknown record, or one that is not the caller's.
fn not_found() -> ScenarioFailed {
    let detail = "an identifier in params does not resolve to anything of yours";
    ScenarioFailed::Refused(Complaint::NotFound, detail.into(), None)
}

/// Refuses invalid parameters.
fn invalid(detail: impl Into<Cow<'static, str>>) -> ScenarioFailed {
    ScenarioFailed::Refused(Complaint::InvalidParams, detail.into(), None)
}

/// Refuses a caller or an account that is not for tests.
fn not_for_tests(detail: &'static str) -> ScenarioFailed {
    ScenarioFailed::Refused(Complaint::Forbidden, detail.into(), None)
}

/// Returns the refusal when the caller may not test here. Only the publisher's own records of caller
/// and account count, not the request.
fn forbidden(work: &ToolContext<'_>) -> Option<ScenarioFailed> {
    if work.call.caller.agent.as_ref().is_some_and(|agent| agent.live_only) {
        return Some(not_for_tests("the caller works with live accounts alone"));
    }
    let live = work.admitted.account.as_ref().is_some_and(|account| !account.thing.sandbox);
    live.then(|| not_for_tests("the account is a live one; name one for tests"))
}

fn bring_about(work: &WriteContext<'_>, form: &Comply) -> Result<Value, ScenarioFailed> {
    // Checked first: a caller who may not test learns nothing about existing records.
    if let Some(fault) = forbidden(work) {
        return Err(fault);
    }
    let scenario = form.scenario.as_deref().and_then(Scenario::from_name);
    let unknown = "list_scenarios says what there is";
    let unknown = || ScenarioFailed::Refused(Complaint::UnknownScenario, unknown.into(), None);
    let scenario = scenario.ok_or_else(unknown)?;
    let whole = Value::Object(work.call.arguments.clone());
    // Not checked with all other requests, because the controller reports schema errors in its own
    // codes.
    if let Err(issues) = rules::check(AdcpTool::ComplyTestController, &whole, Internals::Off) {
        let pointers: Vec<_> = issues.listed().iter().map(|issue| issue.pointer.as_str()).collect();
        let pointers = pointers.join(", ");
        return Err(invalid(format!("these members do not fit the schema: {pointers}")));
    }
    let absent = || invalid("params is missing");
    let at = ScenarioContext { work, params: form.params.as_ref().ok_or_else(absent)? };
    match scenario.run() {
        ScenarioRun::Now(run) => run(&at),
        ScenarioRun::Arm(tool) => buys::arm(&at, tool),
        ScenarioRun::Seed(create) => seed::put(&at, at.tenant(), scenario, create),
        ScenarioRun::Stock(create) => seed::put(&at, "", scenario, create),
    }
}

/// Context of a running scenario.
struct ScenarioContext<'a> {
    work: &'a WriteContext<'a>,
    params: &'a Params,
}

impl ScenarioContext<'_> {
    fn tenant(&self) -> &str {
        &self.work.admitted.reach.tenant
    }

    /// Returns the finisher, which acts for the publisher and not for the caller.
    fn finisher(&self) -> TaskFinisher<'_> {
        let work = self.work;
        TaskFinisher { publisher: work.publisher, tx: work.tx, now: work.call.now }
    }

    /// Returns the account that the request names.
    fn account(&self) -> Result<&Stored<Account>, ScenarioFailed> {
        let account = self.work.admitted.account.as_ref();
        account.ok_or_else(|| invalid("account has to name one for tests"))
    }
}

/// Returns a required parameter.
fn need<'a>(name: &str, param: &'a Option<String>) -> Result<&'a str, ScenarioFailed> {
    let missing = || invalid(format!("params.{name} is missing"));
    param.as_deref().ok_or_else(missing)
}

/// Refuses an id that is in use, without saying whose it is.
fn taken() -> ScenarioFailed {
    invalid("this id cannot be used; choose another one")
}
