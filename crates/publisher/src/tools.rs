//! The tools, each in a module of its own: what it reads, what it changes and what it replies.

use tradepost_wire::adcp::AdcpTool;
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::json::Value;

use crate::admit::Admitted;
use crate::arm::Arm;
use crate::ask::ToolCall;
use crate::forms::{self, products::UncheckedVersions};
use crate::publisher::Publisher;
use crate::refuse::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::work::{Prepared, ToolContext};

mod accounts;
mod audiences;
mod buys;
mod capabilities;
mod controller;
mod creatives;
mod delivery;
mod events;
mod formats;
mod own;
mod page;
mod plans;
mod products;
mod properties;
mod sessions;
mod signals;
mod tasks;

/// Declares the tools: the request of each as a form, and who does its work; with `after`, who finds out
/// before that what it needs from outside.
macro_rules! tools {
    ($($tool:ident($form:ty) => $perform:path $(, after $prepare:path)?;)+) => {
        /// A request that its tool's rules accepted.
        #[derive(Debug, Clone)]
        pub(crate) enum ToolRequest { $($tool(Box<$form>)),+ }

        impl ToolRequest {
            /// Reads the arguments of a tool. That they cannot be read is a fault of ours, unless
            /// nobody has checked them.
            pub(crate) fn read(tool: AdcpTool, arguments: &Value) -> Option<Self> {
                match tool {
                    $(AdcpTool::$tool => <$form>::read(arguments).map(|it| Self::$tool(Box::new(it)))),+
                }
            }

            /// Finds out outside what the tool needs. `admitted` is what held a moment ago.
            pub(crate) async fn prepare(
                &self,
                publisher: &Publisher,
                ask: &ToolCall,
                admitted: &Admitted,
            ) -> Result<Prepared, ToolError> {
                $($(if let Self::$tool(form) = self {
                    return $prepare(publisher, ask, form, admitted).await;
                })?)+
                Ok(Prepared::default())
            }

            fn perform(&self, work: &ToolContext<'_>) -> Result<ToolReply, ToolError> {
                match self { $(Self::$tool(form) => $perform(work, form)),+ }
            }
        }

        /// Where the form of a tool asks for what its rules do not guarantee.
        #[cfg(test)]
        fn misfits() -> Vec<String> {
            use tradepost_wire::adcp::rules::typed::misfits;
            let found = [$(misfits::<$form>(AdcpTool::$tool.request())),+];
            found.into_iter().flatten().collect()
        }
    };
}

tools! {
    GetAdcpCapabilities(forms::products::GetCapabilities) => capabilities::perform;
    GetProducts(forms::products::GetProducts) => products::perform, after products::prepare;
    ListCreativeFormats(forms::creatives::ListCreativeFormats) => formats::perform;
    CreateMediaBuy(forms::buys::CreateMediaBuy) => buys::create, after buys::prepare_purchase;
    UpdateMediaBuy(forms::buys::UpdateMediaBuy) => buys::update, after buys::prepare_change;
    GetMediaBuys(forms::buys::GetMediaBuys) => buys::list;
    GetMediaBuyDelivery(forms::buys::GetMediaBuyDelivery) => delivery::perform;
    SyncCreatives(forms::creatives::SyncCreatives) => creatives::sync, after creatives::prepare;
    ListCreatives(forms::creatives::ListCreatives) => creatives::list;
    SyncAudiences(forms::audiences::SyncAudiences) => audiences::perform;
    SyncEventSources(forms::audiences::SyncEventSources) => events::sync_sources;
    LogEvent(forms::audiences::LogEvent) => events::log;
    SyncAccounts(forms::accounts::SyncAccounts) => accounts::sync_accounts, after accounts::prepare;
    ListAccounts(forms::accounts::ListAccounts) => accounts::list_accounts;
    SyncGovernance(forms::accounts::SyncGovernance) => accounts::sync_governance;
    SyncPlans(forms::plans::SyncPlans) => plans::sync;
    CheckGovernance(forms::plans::CheckGovernance) => plans::check;
    ReportPlanOutcome(forms::plans::ReportPlanOutcome) => plans::report;
    GetPlanAuditLogs(forms::plans::GetPlanAuditLogs) => plans::audit;
    GetSignals(forms::signals::GetSignals) => signals::find;
    ActivateSignal(forms::signals::ActivateSignal) => signals::activate;
    SiGetOffering(forms::sessions::GetOffering) => sessions::show;
    SiInitiateSession(forms::sessions::InitiateSession) => sessions::initiate;
    SiSendMessage(forms::sessions::SendMessageForm) => sessions::send;
    SiTerminateSession(forms::sessions::TerminateSession) => sessions::terminate;
    CreatePropertyList(forms::properties::CreatePropertyList) => properties::create;
    GetPropertyList(forms::properties::GetPropertyList) => properties::get;
    ListPropertyLists(forms::properties::ListPropertyLists) => properties::list;
    UpdatePropertyList(forms::properties::UpdatePropertyList) => properties::update;
    DeletePropertyList(forms::properties::DeletePropertyList) => properties::delete;
    ValidatePropertyDelivery(forms::properties::ValidatePropertyDelivery) => properties::validate;
    GetTaskStatus(forms::tasks::GetTaskStatus) => tasks::status;
    ListTasks(forms::tasks::ListTasksForm) => tasks::list;
    ComplyTestController(forms::controller::Comply) => controller::perform;
}

/// The rules that name a code of their own for what the schema would refuse otherwise.
///
/// # Errors
/// The refusal.
pub(crate) fn before_schema(tool: AdcpTool, arguments: &Value) -> Result<(), AdcpRefusal> {
    if tool == AdcpTool::GetProducts {
        products::exclusive(arguments)?;
    }
    let searches = matches!(tool, AdcpTool::GetProducts | AdcpTool::GetSignals);
    let known = searches.then(|| UncheckedVersions::read(arguments)).flatten();
    // A version of prices says nothing without that of what they are for.
    if let Some(UncheckedVersions {
        if_pricing_version: Some(_),
        if_wholesale_feed_version: None,
    }) = known
    {
        let message = "a version of prices goes with the version of what they are for; send \
                       if_wholesale_feed_version too";
        return Err(refuse::invalid("if_pricing_version", message).into());
    }
    Ok(())
}

/// Does the work.
pub(crate) fn perform(
    work: &ToolContext<'_>,
    request: &ToolRequest,
) -> Result<ToolReply, ToolError> {
    if work.publisher.profile.sandbox
        && work.ask.searches()
        && let Some(arm) = Arm::take(work.shelf, &work.admitted.reach.tenant, work.ask.tool)?
    {
        return arm.submit(work);
    }
    request.perform(work)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::misfits;

    /// Reading a form only takes what the rules have seen to. The exceptions are read as if they could
    /// be anything: members that only the text of AdCP or older senders have, terms that are refused
    /// wherever they are sent, and the payload, which is the request of whatever tool.
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
            property/create-property-list-request.webhook_url: is not in the rules"#]].assert_eq(&misfits().join("\n"));
    }
}
