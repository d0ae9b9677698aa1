//! Requests as types. A tool is handed its form and never looks into the arguments: what it reads of
//! them stands in the form once, and a test proves that the rules see to it. Only what is repeated
//! or kept as it was sent is JSON.

use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::rules::typed::Typed;
use tradepost_wire::form;
use tradepost_wire::json::Value;

use crate::money::Amount;

pub(crate) mod accounts;
pub(crate) mod audiences;
pub(crate) mod buys;
pub(crate) mod controller;
pub(crate) mod creatives;
pub(crate) mod plans;
pub(crate) mod products;
pub(crate) mod properties;
pub(crate) mod sessions;
pub(crate) mod signals;
pub(crate) mod tasks;

/// Declares the request of each tool.
macro_rules! requests {
    ($($tool:ident($form:ty)),+ $(,)?) => {
        /// A request that its tool's rules accepted.
        #[derive(Debug, Clone)]
        pub(crate) enum Request { $($tool(Box<$form>)),+ }

        impl Request {
            /// Reads the arguments of a tool. That they cannot be read is a fault of ours, unless
            /// nobody has checked them.
            pub(crate) fn read(tool: Tool, arguments: &Value) -> Option<Self> {
                match tool {
                    $(Tool::$tool => <$form>::read(arguments).map(|it| Self::$tool(Box::new(it)))),+
                }
            }
        }

        /// Where the form of a tool asks for what its rules do not guarantee.
        #[cfg(test)]
        fn misfits() -> Vec<String> {
            use tradepost_wire::adcp::rules::typed::misfits;
            let found = [$(misfits::<$form>(Tool::$tool.request())),+];
            found.into_iter().flatten().collect()
        }
    };
}

requests! {
    GetAdcpCapabilities(products::GetCapabilities),
    GetProducts(products::GetProducts),
    ListCreativeFormats(creatives::ListCreativeFormats),
    CreateMediaBuy(buys::CreateMediaBuy),
    UpdateMediaBuy(buys::UpdateMediaBuy),
    GetMediaBuys(buys::GetMediaBuys),
    GetMediaBuyDelivery(buys::GetMediaBuyDelivery),
    SyncCreatives(creatives::SyncCreatives),
    ListCreatives(creatives::ListCreatives),
    SyncAudiences(audiences::SyncAudiences),
    SyncEventSources(audiences::SyncEventSources),
    LogEvent(audiences::LogEvent),
    SyncAccounts(accounts::SyncAccounts),
    ListAccounts(accounts::ListAccounts),
    SyncGovernance(accounts::SyncGovernance),
    SyncPlans(plans::SyncPlans),
    CheckGovernance(plans::CheckGovernance),
    ReportPlanOutcome(plans::ReportPlanOutcome),
    GetPlanAuditLogs(plans::GetPlanAuditLogs),
    GetSignals(signals::GetSignals),
    ActivateSignal(signals::ActivateSignal),
    SiGetOffering(sessions::GetOffering),
    SiInitiateSession(sessions::InitiateSession),
    SiSendMessage(sessions::SendMessage),
    SiTerminateSession(sessions::TerminateSession),
    CreatePropertyList(properties::CreatePropertyList),
    GetPropertyList(properties::GetPropertyList),
    ListPropertyLists(properties::ListPropertyLists),
    UpdatePropertyList(properties::UpdatePropertyList),
    DeletePropertyList(properties::DeletePropertyList),
    ValidatePropertyDelivery(properties::ValidatePropertyDelivery),
    GetTaskStatus(tasks::GetTaskStatus),
    ListTasks(tasks::ListTasks),
    ComplyTestController(controller::Comply),
}

form! {
    /// Which page of a list (`core/pagination-request.json`).
    pub(crate) struct Pagination {
        max_results: Option<u64>,
        cursor: Option<String>,
    }

    /// An amount with its currency (ISO 4217).
    pub(crate) struct Money {
        amount: Amount,
        currency: String,
    }
}

tradepost_wire::words! {
    /// In which direction a list is sorted (`enums/sort-direction.json`).
    pub(crate) enum Direction {
        /// The least first.
        Asc = "asc",
        /// The most first.
        Desc = "desc",
    }
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
