//! The tools, each in a module of its own: what it reads, what it changes and what it replies.

use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::json::Value;

use crate::admit::Admitted;
use crate::arm::Arm;
use crate::ask::Ask;
use crate::forms::Request;
use crate::forms::products::UncheckedVersions;
use crate::publisher::Publisher;
use crate::refuse::{self, Refusal, Stop};
use crate::reply::Reply;
use crate::work::{Prepared, Work};

mod accounts;
mod audiences;
mod buys;
mod capabilities;
mod controller;
mod creatives;
mod delivery;
mod events;
mod formats;
mod page;
mod plans;
mod products;
mod properties;
mod sessions;
mod signals;
mod tasks;

/// Finds out outside what a tool needs. `admitted` is what held a moment ago.
pub(crate) async fn prepare(
    publisher: &Publisher,
    ask: &Ask,
    request: &Request,
    admitted: &Admitted,
) -> Result<Prepared, Stop> {
    match request {
        Request::GetProducts(_) => products::prepare(publisher).await,
        Request::CreateMediaBuy(form) => {
            buys::prepare_purchase(publisher, ask, form, admitted).await
        }
        Request::SyncAccounts(form) => accounts::prepare(publisher, form, admitted).await,
        Request::SyncCreatives(form) => creatives::prepare(publisher, form, admitted).await,
        Request::UpdateMediaBuy(form) => buys::prepare_change(publisher, ask, form, admitted).await,
        Request::GetAdcpCapabilities(_)
        | Request::ListCreativeFormats(_)
        | Request::GetMediaBuys(_)
        | Request::GetMediaBuyDelivery(_)
        | Request::ListCreatives(_)
        | Request::SyncAudiences(_)
        | Request::SyncEventSources(_)
        | Request::LogEvent(_)
        | Request::ListAccounts(_)
        | Request::SyncGovernance(_)
        | Request::SyncPlans(_)
        | Request::CheckGovernance(_)
        | Request::ReportPlanOutcome(_)
        | Request::GetPlanAuditLogs(_)
        | Request::GetSignals(_)
        | Request::ActivateSignal(_)
        | Request::SiGetOffering(_)
        | Request::SiInitiateSession(_)
        | Request::SiSendMessage(_)
        | Request::SiTerminateSession(_)
        | Request::CreatePropertyList(_)
        | Request::GetPropertyList(_)
        | Request::ListPropertyLists(_)
        | Request::UpdatePropertyList(_)
        | Request::DeletePropertyList(_)
        | Request::ValidatePropertyDelivery(_)
        | Request::GetTaskStatus(_)
        | Request::ListTasks(_)
        | Request::ComplyTestController(_) => Ok(Prepared::default()),
    }
}

/// The rules that name a code of their own for what the schema would refuse otherwise.
///
/// # Errors
/// The refusal.
pub(crate) fn before_schema(tool: Tool, arguments: &Value) -> Result<(), Refusal> {
    if tool == Tool::GetProducts {
        products::exclusive(arguments)?;
    }
    if matches!(tool, Tool::GetProducts | Tool::GetSignals) { versions(arguments) } else { Ok(()) }
}

/// That a version of prices says nothing without that of what they are for.
fn versions(arguments: &Value) -> Result<(), Refusal> {
    let known = UncheckedVersions::read(arguments);
    if known
        .is_some_and(|it| it.if_pricing_version.is_some() && it.if_wholesale_feed_version.is_none())
    {
        let message = "a version of prices goes with the version of what they are for; send \
                       if_wholesale_feed_version too";
        return Err(refuse::invalid("if_pricing_version", message).into());
    }
    Ok(())
}

/// Does the work.
pub(crate) fn perform(work: &Work<'_>, request: &Request) -> Result<Reply, Stop> {
    if work.publisher.profile.sandbox
        && work.ask.searches()
        && let Some(arm) = Arm::take(work.shelf, &work.admitted.reach.tenant, work.ask.tool)?
    {
        return arm.submit(work);
    }
    match request {
        Request::GetAdcpCapabilities(form) => capabilities::perform(work, form),
        Request::GetProducts(form) => products::perform(work, form),
        Request::ListCreativeFormats(form) => formats::perform(work, form),
        Request::CreateMediaBuy(form) => buys::create(work, form),
        Request::UpdateMediaBuy(form) => buys::update(work, form),
        Request::GetMediaBuys(form) => buys::list(work, form),
        Request::GetMediaBuyDelivery(form) => delivery::perform(work, form),
        Request::SyncCreatives(form) => creatives::sync(work, form),
        Request::ListCreatives(form) => creatives::list(work, form),
        Request::SyncAudiences(form) => audiences::perform(work, form),
        Request::SyncEventSources(form) => events::sync_sources(work, form),
        Request::LogEvent(form) => events::log(work, form),
        Request::SyncAccounts(form) => accounts::sync_accounts(work, form),
        Request::ListAccounts(form) => accounts::list_accounts(work, form),
        Request::SyncGovernance(form) => accounts::sync_governance(work, form),
        Request::SyncPlans(form) => plans::sync(work, form),
        Request::CheckGovernance(form) => plans::check(work, form),
        Request::ReportPlanOutcome(form) => plans::report(work, form),
        Request::GetPlanAuditLogs(form) => plans::audit(work, form),
        Request::GetSignals(form) => signals::find(work, form),
        Request::ActivateSignal(form) => signals::activate(work, form),
        Request::SiGetOffering(form) => sessions::show(work, form),
        Request::SiInitiateSession(form) => sessions::initiate(work, form),
        Request::SiSendMessage(form) => sessions::send(work, form),
        Request::SiTerminateSession(form) => sessions::terminate(work, form),
        Request::CreatePropertyList(form) => properties::create(work, form),
        Request::GetPropertyList(form) => properties::get(work, form),
        Request::ListPropertyLists(form) => properties::list(work, form),
        Request::UpdatePropertyList(form) => properties::update(work, form),
        Request::DeletePropertyList(form) => properties::delete(work, form),
        Request::ValidatePropertyDelivery(form) => properties::validate(work, form),
        Request::GetTaskStatus(form) => tasks::status(work, form),
        Request::ListTasks(form) => tasks::list(work, form),
        Request::ComplyTestController(form) => controller::perform(work, form),
    }
}
