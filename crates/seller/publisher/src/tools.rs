//! AdCP tools, one module each: the arguments that a tool reads, the changes that it makes and its
//! reply. The tool of test suites is in [`test_controller`].

use tradepost_adcp::AdcpTool;
use tradepost_document::json::Value;
use tradepost_document::typed::Typed as _;

use crate::admit::Admitted;
use crate::forms::{self, products::UncheckedVersions};
use crate::publisher::Publisher;
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::store::StoreTx;
use crate::test_controller::{self, forced_answer::Arm};
use crate::tool_call::AdcpToolCall;
use crate::tool_context::{Prepared, SearchContext, ToolContext, WorkStop, WriteContext};

mod accounts;
mod audiences;
mod buyer_records;
mod buys;
mod capabilities;
mod creatives;
mod delivery;
mod events;
mod formats;
mod page;
pub(crate) mod plans;
mod products;
mod properties;
pub(crate) mod sessions;
mod signals;
mod tasks;

/// Declares the tools: the type of each tool's arguments and the function that handles them, in the transaction that
/// the word before it says ([`reads`], [`changes`] or [`searches`]). `after` names a function that first collects what
/// the tool needs from other services.
macro_rules! tools {
    ($($tool:ident($form:ty) => $access:ident $perform:path $(, after $prepare:path)?;)+) => {
        /// Arguments that the rules of their tool accepted.
        #[derive(Debug, Clone)]
        pub(crate) enum ToolRequest { $($tool(Box<$form>)),+ }

        impl ToolRequest {
            /// Reads the arguments of a tool; `None` when they do not fit. Arguments that were
            /// checked always fit, so that `None` is then an internal error.
            pub(crate) fn read(tool: AdcpTool, arguments: &Value) -> Option<Self> {
                match tool {
                    $(AdcpTool::$tool => <$form>::read(arguments).map(Box::new).map(Self::$tool)),+
                }
            }

            /// Collects what the tool needs from other services, outside of the transaction.
            /// `admitted` is the admission as it was just before.
            pub(crate) async fn prepare(
                &self,
                publisher: &Publisher,
                call: &AdcpToolCall,
                admitted: &Admitted,
            ) -> Result<Prepared, ToolError> {
                $($(if let Self::$tool(form) = self {
                    return $prepare(publisher, call, form, admitted).await;
                })?)+
                Ok(Prepared::default())
            }

            fn perform(
                &self,
                work: &ToolContext<'_>,
                tx: Option<&dyn StoreTx>,
            ) -> Result<ToolReply, WorkStop> {
                match self { $(Self::$tool(form) => $access($perform, work, tx, form)),+ }
            }
        }

        /// Returns the members that a form requires although the schema does not guarantee them.
        #[cfg(test)]
        fn form_gaps() -> Vec<String> {
            use tradepost_adcp::rules::schema_gaps::schema_gaps;
            let found = [$(schema_gaps::<$form>(AdcpTool::$tool.request())),+];
            found.into_iter().flatten().collect()
        }
    };
}

tools! {
    GetAdcpCapabilities(forms::products::GetCapabilities) => reads capabilities::perform;
    GetProducts(forms::products::GetProducts) => searches products::perform, after products::prepare;
    ListCreativeFormats(forms::creatives::ListCreativeFormats) => reads formats::perform;
    CreateMediaBuy(forms::buys::CreateMediaBuy) => changes buys::create, after buys::prepare_purchase;
    UpdateMediaBuy(forms::buys::UpdateMediaBuy) => changes buys::update, after buys::prepare_change;
    GetMediaBuys(forms::buys::GetMediaBuys) => reads buys::list;
    GetMediaBuyDelivery(forms::buys::GetMediaBuyDelivery) => reads delivery::perform;
    SyncCreatives(forms::creatives::SyncCreatives) => changes creatives::sync, after creatives::prepare;
    ListCreatives(forms::creatives::ListCreatives) => reads creatives::list;
    SyncAudiences(forms::audiences::SyncAudiences) => changes audiences::perform;
    SyncEventSources(forms::audiences::SyncEventSources) => changes events::sync_sources;
    LogEvent(forms::audiences::LogEvent) => changes events::log;
    SyncAccounts(forms::accounts::SyncAccounts) => changes accounts::sync_accounts, after accounts::prepare;
    ListAccounts(forms::accounts::ListAccounts) => reads accounts::list_accounts;
    SyncGovernance(forms::accounts::SyncGovernance) => changes accounts::sync_governance;
    SyncPlans(forms::plans::SyncPlans) => changes plans::sync;
    CheckGovernance(forms::plans::CheckGovernance) => changes plans::check;
    ReportPlanOutcome(forms::plans::ReportPlanOutcome) => changes plans::report;
    GetPlanAuditLogs(forms::plans::GetPlanAuditLogs) => reads plans::audit;
    GetSignals(forms::signals::GetSignals) => reads signals::find;
    ActivateSignal(forms::signals::ActivateSignal) => changes signals::activate;
    SiGetOffering(forms::sessions::GetOffering) => reads sessions::show;
    SiInitiateSession(forms::sessions::InitiateSession) => changes sessions::initiate;
    SiSendMessage(forms::sessions::SendMessageForm) => changes sessions::send;
    SiTerminateSession(forms::sessions::TerminateSession) => changes sessions::terminate;
    CreatePropertyList(forms::properties::CreatePropertyList) => changes properties::create;
    GetPropertyList(forms::properties::GetPropertyList) => reads properties::get;
    ListPropertyLists(forms::properties::ListPropertyLists) => reads properties::list;
    UpdatePropertyList(forms::properties::UpdatePropertyList) => changes properties::update;
    DeletePropertyList(forms::properties::DeletePropertyList) => changes properties::delete;
    ValidatePropertyDelivery(forms::properties::ValidatePropertyDelivery) => reads properties::validate;
    GetTaskStatus(forms::tasks::GetTaskStatus) => reads tasks::status;
    ListTasks(forms::tasks::ListTasksForm) => reads tasks::list;
    ComplyTestController(test_controller::arguments::Comply) => changes test_controller::perform;
}

/// Checks the rules with an error code of their own that the schema would otherwise refuse under
/// another code.
///
/// # Errors
/// The refusal.
pub(crate) fn before_schema(tool: AdcpTool, arguments: &Value) -> Result<(), AdcpRefusal> {
    if tool == AdcpTool::GetProducts {
        products::exclusive(arguments)?;
    }
    let searches = matches!(tool, AdcpTool::GetProducts | AdcpTool::GetSignals);
    let known = searches.then(|| UncheckedVersions::read(arguments)).flatten();
    // A pricing version is meaningless without the version of the feed that it prices.
    if let Some(UncheckedVersions {
        if_pricing_version: Some(_),
        if_wholesale_feed_version: None,
    }) = known
    {
        let message = "a version of prices goes with the version of what they are for; send \
                       if_wholesale_feed_version too";
        return Err(refusals::invalid("if_pricing_version", message).into());
    }
    Ok(())
}

/// Handles a tool call inside a transaction; without `tx` it is a read-only one.
///
/// # Errors
/// The error of the tool, or that it needs `tx`.
pub(crate) fn perform(
    work: &ToolContext<'_>,
    tx: Option<&dyn StoreTx>,
    request: &ToolRequest,
) -> Result<ToolReply, WorkStop> {
    let tenant = &work.admitted.reach.tenant;
    if work.publisher.profile.sandbox
        && work.call.searches()
        && let Some(arm) = Arm::find(work.reader, tenant, work.call.tool)?
    {
        let writing = SearchContext::new(work, tx).writing()?;
        Arm::remove(writing.tx, tenant, work.call.tool)?;
        return Ok(arm.submit(&writing)?);
    }
    request.perform(work, tx)
}

/// Handles a tool that reads.
fn reads<F>(
    perform: impl FnOnce(&ToolContext<'_>, &F) -> Result<ToolReply, ToolError>,
    work: &ToolContext<'_>,
    _: Option<&dyn StoreTx>,
    form: &F,
) -> Result<ToolReply, WorkStop> {
    Ok(perform(work, form)?)
}

/// Handles a tool that changes something, or may.
fn changes<F>(
    perform: impl FnOnce(&WriteContext<'_>, &F) -> Result<ToolReply, ToolError>,
    work: &ToolContext<'_>,
    tx: Option<&dyn StoreTx>,
    form: &F,
) -> Result<ToolReply, WorkStop> {
    Ok(perform(&SearchContext::new(work, tx).writing()?, form)?)
}

/// Handles a search, which asks for a transaction once it has something to change.
fn searches<F>(
    perform: impl FnOnce(&SearchContext<'_>, &F) -> Result<ToolReply, WorkStop>,
    work: &ToolContext<'_>,
    tx: Option<&dyn StoreTx>,
    form: &F,
) -> Result<ToolReply, WorkStop> {
    perform(&SearchContext::new(work, tx), form)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::form_gaps;

    /// Forms rely only on what the schema guarantees. The exceptions listed here are read as optional:
    /// members that occur only in the text of AdCP or come from older senders, terms that are always
    /// refused, and the payload, which is the request of any tool.
    #[test]
    fn forms_ask_for_nothing_that_the_rules_do_not_guarantee() {
        expect![[r#"
            media-buy/create-media-buy-request.governance_context: is not in the rules
            media-buy/create-media-buy-request.packages[].targeting_overlay.signal_targeting_groups.groups[].signals[].signal_id: is not in the rules
            media-buy/create-media-buy-request.packages[].targeting_overlay.signal_targeting[].signal_agent_segment_id: is not in the rules
            media-buy/update-media-buy-request.packages[].targeting_overlay.signal_targeting_groups.groups[].signals[].signal_id: is not in the rules
            media-buy/update-media-buy-request.packages[].targeting_overlay.signal_targeting[].signal_agent_segment_id: is not in the rules
            media-buy/update-media-buy-request.packages[].measurement_terms: is not in the rules
            media-buy/update-media-buy-request.packages[].performance_standards: is not in the rules
            media-buy/update-media-buy-request.packages[].committed_metrics: is not in the rules
            media-buy/update-media-buy-request.new_packages[].targeting_overlay.signal_targeting_groups.groups[].signals[].signal_id: is not in the rules
            media-buy/update-media-buy-request.new_packages[].targeting_overlay.signal_targeting[].signal_agent_segment_id: is not in the rules
            media-buy/update-media-buy-request.governance_context: is not in the rules
            media-buy/log-event-request.events[].custom_data.order_total: is not in the rules
            governance/check-governance-request.payload.total_budget: is not in the rules
            governance/check-governance-request.payload.currency: is not in the rules
            governance/check-governance-request.payload.packages: is not in the rules
            governance/check-governance-request.payload.countries: is not in the rules
            governance/check-governance-request.payload.channels: is not in the rules
            governance/check-governance-request.payload.start_time: is not in the rules
            governance/check-governance-request.payload.end_time: is not in the rules
            governance/check-governance-request.target_agent: is not in the rules
            governance/check-governance-request.media_buy_id: is not in the rules
            governance/check-governance-request.ext.human_approval: is not in the rules
            property/create-property-list-request.webhook_url: is not in the rules"#]].assert_eq(&form_gaps().join("\n"));
    }
}
