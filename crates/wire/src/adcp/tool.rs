//! The tools that a seller has: one table from which the lists of both bindings, the gates and the
//! checks of requests are made.

use super::task::{Effect, Task};
use crate::catalog::{Vocabulary as _, catalog};

/// What a tool needs an account for (Accounts, "Operations by Account Status").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To know about it.
    Know,
    /// To look at what was bought and made.
    Look,
    /// To find something new.
    Discover,
    /// To change what is there.
    Manage,
    /// To spend.
    Spend,
}

catalog! {
    /// A tool of AdCP, called a task on A2A.
    pub enum Tool {
        /// Its name for people.
        title: &'static str,
        /// The shape of its arguments in [`rules`](super::rules), named like the published schema.
        request: &'static str,
        /// What it needs an account for.
        need: Need,
    }

    /// What this seller can do, and which releases it speaks.
    GetAdcpCapabilities = "get_adcp_capabilities" {
        title: "Capabilities",
        request: "protocol/get-adcp-capabilities-request",
        need: Need::Know,
    }
    /// Products that fit a brief, the whole catalogue, or the next draft of proposals.
    GetProducts = "get_products" {
        title: "Products",
        request: "media-buy/get-products-request",
        need: Need::Discover,
    }
    /// The creative formats that are accepted.
    ListCreativeFormats = "list_creative_formats" {
        title: "Creative formats",
        request: "media-buy/list-creative-formats-request",
        need: Need::Know,
    }
    /// Buys media.
    CreateMediaBuy = "create_media_buy" {
        title: "Create a media buy",
        request: "media-buy/create-media-buy-request",
        need: Need::Spend,
    }
    /// Changes, pauses, resumes or cancels a media buy.
    UpdateMediaBuy = "update_media_buy" {
        title: "Update a media buy",
        request: "media-buy/update-media-buy-request",
        need: Need::Manage,
    }
    /// The media buys of an account.
    GetMediaBuys = "get_media_buys" {
        title: "Media buys",
        request: "media-buy/get-media-buys-request",
        need: Need::Look,
    }
    /// What media buys have delivered.
    GetMediaBuyDelivery = "get_media_buy_delivery" {
        title: "Delivery",
        request: "media-buy/get-media-buy-delivery-request",
        need: Need::Look,
    }
    /// Puts creatives into the library, changes them and assigns them to packages.
    SyncCreatives = "sync_creatives" {
        title: "Sync creatives",
        request: "creative/sync-creatives-request",
        need: Need::Manage,
    }
    /// The creatives of the library.
    ListCreatives = "list_creatives" {
        title: "Creatives",
        request: "creative/list-creatives-request",
        need: Need::Look,
    }
    /// Uploads audiences and changes who belongs to them.
    SyncAudiences = "sync_audiences" {
        title: "Sync audiences",
        request: "media-buy/sync-audiences-request",
        need: Need::Manage,
    }
    /// Sets up where conversion events come from.
    SyncEventSources = "sync_event_sources" {
        title: "Sync event sources",
        request: "media-buy/sync-event-sources-request",
        need: Need::Manage,
    }
    /// Reports conversion events.
    LogEvent = "log_event" {
        title: "Log events",
        request: "media-buy/log-event-request",
        need: Need::Manage,
    }
    /// Opens advertiser accounts and changes how they are billed.
    SyncAccounts = "sync_accounts" {
        title: "Sync accounts",
        request: "account/sync-accounts-request",
        need: Need::Know,
    }
    /// The accounts that the caller may use.
    ListAccounts = "list_accounts" {
        title: "Accounts",
        request: "account/list-accounts-request",
        need: Need::Know,
    }
    /// Names the governance agent of an account.
    SyncGovernance = "sync_governance" {
        title: "Sync governance",
        request: "account/sync-governance-request",
        need: Need::Manage,
    }
    /// Registers campaign plans with the governance role.
    SyncPlans = "sync_plans" {
        title: "Sync plans",
        request: "governance/sync-plans-request",
        need: Need::Manage,
    }
    /// Asks whether an action fits a plan.
    CheckGovernance = "check_governance" {
        title: "Check governance",
        request: "governance/check-governance-request",
        need: Need::Look,
    }
    /// Reports what became of an action under a plan.
    ReportPlanOutcome = "report_plan_outcome" {
        title: "Report an outcome",
        request: "governance/report-plan-outcome-request",
        need: Need::Manage,
    }
    /// What was decided and committed under plans.
    GetPlanAuditLogs = "get_plan_audit_logs" {
        title: "Audit of plans",
        request: "governance/get-plan-audit-logs-request",
        need: Need::Look,
    }
    /// Signals that can be bought for targeting.
    GetSignals = "get_signals" {
        title: "Signals",
        request: "signals/get-signals-request",
        need: Need::Discover,
    }
    /// Activates or deactivates a signal.
    ActivateSignal = "activate_signal" {
        title: "Activate a signal",
        request: "signals/activate-signal-request",
        need: Need::Spend,
    }
    /// What is offered in a sponsored conversation.
    SiGetOffering = "si_get_offering" {
        title: "Sponsored offering",
        request: "sponsored-intelligence/si-get-offering-request",
        need: Need::Discover,
    }
    /// Begins a sponsored conversation.
    SiInitiateSession = "si_initiate_session" {
        title: "Begin a sponsored session",
        request: "sponsored-intelligence/si-initiate-session-request",
        need: Need::Manage,
    }
    /// Says something in a sponsored conversation.
    SiSendMessage = "si_send_message" {
        title: "Send to a sponsored session",
        request: "sponsored-intelligence/si-send-message-request",
        need: Need::Manage,
    }
    /// Ends a sponsored conversation.
    SiTerminateSession = "si_terminate_session" {
        title: "End a sponsored session",
        request: "sponsored-intelligence/si-terminate-session-request",
        need: Need::Manage,
    }
    /// Makes a list of properties.
    CreatePropertyList = "create_property_list" {
        title: "Create a property list",
        request: "property/create-property-list-request",
        need: Need::Manage,
    }
    /// A list of properties.
    GetPropertyList = "get_property_list" {
        title: "Property list",
        request: "property/get-property-list-request",
        need: Need::Look,
    }
    /// The lists of properties of an account.
    ListPropertyLists = "list_property_lists" {
        title: "Property lists",
        request: "property/list-property-lists-request",
        need: Need::Look,
    }
    /// Changes a list of properties.
    UpdatePropertyList = "update_property_list" {
        title: "Update a property list",
        request: "property/update-property-list-request",
        need: Need::Manage,
    }
    /// Deletes a list of properties.
    DeletePropertyList = "delete_property_list" {
        title: "Delete a property list",
        request: "property/delete-property-list-request",
        need: Need::Manage,
    }
    /// Whether delivery stayed within a list of properties.
    ValidatePropertyDelivery = "validate_property_delivery" {
        title: "Validate delivery",
        request: "property/validate-property-delivery-request",
        need: Need::Look,
    }
    /// How far a submitted task is.
    GetTaskStatus = "get_task_status" {
        title: "Task status",
        request: "protocol/get-task-status-request",
        need: Need::Look,
    }
    /// The caller's tasks.
    ListTasks = "list_tasks" {
        title: "Tasks",
        request: "protocol/list-tasks-request",
        need: Need::Look,
    }
    /// Forces states and seeds fixtures in a sandbox; production has no such tool.
    ComplyTestController = "comply_test_controller" {
        title: "Test controller",
        request: "compliance/comply-test-controller-request",
        need: Need::Know,
    }
}

/// Whether AdCP has a task of this name, if not this seller.
#[must_use]
pub fn is_of_others(name: &str) -> bool {
    Tool::of_name(name).is_none() && Task::from_name(name).is_some()
}

impl Tool {
    /// The task that it carries out.
    #[must_use]
    pub fn task(self) -> Task {
        Task::from_name(self.name()).unwrap_or_else(|| unreachable!("each tool is a task of AdCP"))
    }

    /// Whether it changes anything that the seller keeps.
    #[must_use]
    pub fn mutates(self) -> bool {
        self.task().effect() != Effect::Read
    }

    /// The protocol of AdCP that it belongs to (`enums/adcp-protocol.json`).
    #[must_use]
    pub fn protocol(self) -> &'static str {
        self.request().split_once('/').map_or(self.request(), |(protocol, _)| protocol)
    }

    /// Whether a request must have an `idempotency_key`.
    #[must_use]
    pub fn keyed(self) -> bool {
        self.task().effect() == Effect::Keyed
    }

    /// The tool that a request names; `tasks_get` and `tasks_list` are older names.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "tasks_get" => Some(Self::GetTaskStatus),
            "tasks_list" => Some(Self::ListTasks),
            _ => Self::from_name(name),
        }
    }
}
