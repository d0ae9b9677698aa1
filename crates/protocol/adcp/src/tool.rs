//! The tools of a seller: one table from which the tool lists of both bindings, the account checks
//! and the request checks are made.

use super::task::{AdcpTask, TaskEffect};
use tradepost_document::catalog::{Vocabulary as _, catalog};

/// The use of an account that a tool needs (Accounts, "Operations by Account Status"), the least
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountNeed {
    /// Knowing of the account.
    Know,
    /// Reading what was bought and made.
    Look,
    /// Searching for products and signals.
    Discover,
    /// Changing what exists.
    Manage,
    /// Spending money.
    Spend,
}

catalog! {
    /// A tool of AdCP, called a task on A2A.
    pub enum AdcpTool {
        /// The name shown to people.
        title: &'static str,
        /// The shape of its arguments in [`rules`](super::rules), by the name of the published
        /// schema.
        request: &'static str,
        /// The use of an account that it needs.
        need: AccountNeed,
    }

    /// What this seller can do, and which releases it speaks.
    GetAdcpCapabilities = "get_adcp_capabilities" {
        title: "Capabilities", need: AccountNeed::Know, request: "protocol/get-adcp-capabilities-request",
    }
    /// Products that fit a brief, the whole catalogue, or the next draft of proposals.
    GetProducts = "get_products" {
        title: "Products", need: AccountNeed::Discover, request: "media-buy/get-products-request",
    }
    /// The creative formats that are accepted.
    ListCreativeFormats = "list_creative_formats" {
        title: "Creative formats", need: AccountNeed::Know,
        request: "media-buy/list-creative-formats-request",
    }
    /// Buys media.
    CreateMediaBuy = "create_media_buy" {
        title: "Create a media buy", need: AccountNeed::Spend,
        request: "media-buy/create-media-buy-request",
    }
    /// Changes, pauses, resumes or cancels a media buy.
    UpdateMediaBuy = "update_media_buy" {
        title: "Update a media buy", need: AccountNeed::Manage,
        request: "media-buy/update-media-buy-request",
    }
    /// The media buys of an account.
    GetMediaBuys = "get_media_buys" {
        title: "Media buys", need: AccountNeed::Look, request: "media-buy/get-media-buys-request",
    }
    /// What media buys have delivered.
    GetMediaBuyDelivery = "get_media_buy_delivery" {
        title: "Delivery", need: AccountNeed::Look, request: "media-buy/get-media-buy-delivery-request",
    }
    /// Puts creatives into the library, changes them and assigns them to packages.
    SyncCreatives = "sync_creatives" {
        title: "Sync creatives", need: AccountNeed::Manage, request: "creative/sync-creatives-request",
    }
    /// The creatives of the library.
    ListCreatives = "list_creatives" {
        title: "Creatives", need: AccountNeed::Look, request: "creative/list-creatives-request",
    }
    /// Uploads audiences and changes who belongs to them.
    SyncAudiences = "sync_audiences" {
        title: "Sync audiences", need: AccountNeed::Manage, request: "media-buy/sync-audiences-request",
    }
    /// Sets up where conversion events come from.
    SyncEventSources = "sync_event_sources" {
        title: "Sync event sources", need: AccountNeed::Manage,
        request: "media-buy/sync-event-sources-request",
    }
    /// Reports conversion events.
    LogEvent = "log_event" {
        title: "Log events", need: AccountNeed::Manage, request: "media-buy/log-event-request",
    }
    /// Opens advertiser accounts and changes how they are billed.
    SyncAccounts = "sync_accounts" {
        title: "Sync accounts", need: AccountNeed::Know, request: "account/sync-accounts-request",
    }
    /// The accounts that the caller may use.
    ListAccounts = "list_accounts" {
        title: "Accounts", need: AccountNeed::Know, request: "account/list-accounts-request",
    }
    /// Names the governance agent of an account.
    SyncGovernance = "sync_governance" {
        title: "Sync governance", need: AccountNeed::Manage, request: "account/sync-governance-request",
    }
    /// Registers campaign plans with the governance role.
    SyncPlans = "sync_plans" {
        title: "Sync plans", need: AccountNeed::Manage, request: "governance/sync-plans-request",
    }
    /// Asks whether an action fits a plan.
    CheckGovernance = "check_governance" {
        title: "Check governance", need: AccountNeed::Look, request: "governance/check-governance-request",
    }
    /// Reports what became of an action under a plan.
    ReportPlanOutcome = "report_plan_outcome" {
        title: "Report an outcome", need: AccountNeed::Manage,
        request: "governance/report-plan-outcome-request",
    }
    /// What was decided and committed under plans.
    GetPlanAuditLogs = "get_plan_audit_logs" {
        title: "Audit of plans", need: AccountNeed::Look,
        request: "governance/get-plan-audit-logs-request",
    }
    /// Signals that can be bought for targeting.
    GetSignals = "get_signals" {
        title: "Signals", need: AccountNeed::Discover, request: "signals/get-signals-request",
    }
    /// Activates or deactivates a signal.
    ActivateSignal = "activate_signal" {
        title: "Activate a signal", need: AccountNeed::Spend, request: "signals/activate-signal-request",
    }
    /// What is offered in a sponsored conversation.
    SiGetOffering = "si_get_offering" {
        title: "Sponsored offering", need: AccountNeed::Discover,
        request: "sponsored-intelligence/si-get-offering-request",
    }
    /// Begins a sponsored conversation.
    SiInitiateSession = "si_initiate_session" {
        title: "Begin a sponsored session", need: AccountNeed::Manage,
        request: "sponsored-intelligence/si-initiate-session-request",
    }
    /// Says something in a sponsored conversation.
    SiSendMessage = "si_send_message" {
        title: "Send to a sponsored session", need: AccountNeed::Manage,
        request: "sponsored-intelligence/si-send-message-request",
    }
    /// Ends a sponsored conversation.
    SiTerminateSession = "si_terminate_session" {
        title: "End a sponsored session", need: AccountNeed::Manage,
        request: "sponsored-intelligence/si-terminate-session-request",
    }
    /// Makes a list of properties.
    CreatePropertyList = "create_property_list" {
        title: "Create a property list", need: AccountNeed::Manage,
        request: "property/create-property-list-request",
    }
    /// A list of properties.
    GetPropertyList = "get_property_list" {
        title: "Property list", need: AccountNeed::Look, request: "property/get-property-list-request",
    }
    /// The lists of properties of an account.
    ListPropertyLists = "list_property_lists" {
        title: "Property lists", need: AccountNeed::Look, request: "property/list-property-lists-request",
    }
    /// Changes a list of properties.
    UpdatePropertyList = "update_property_list" {
        title: "Update a property list", need: AccountNeed::Manage,
        request: "property/update-property-list-request",
    }
    /// Deletes a list of properties.
    DeletePropertyList = "delete_property_list" {
        title: "Delete a property list", need: AccountNeed::Manage,
        request: "property/delete-property-list-request",
    }
    /// Whether delivery stayed within a list of properties.
    ValidatePropertyDelivery = "validate_property_delivery" {
        title: "Validate delivery", need: AccountNeed::Look,
        request: "property/validate-property-delivery-request",
    }
    /// How far a submitted task is.
    GetTaskStatus = "get_task_status" {
        title: "Task status", need: AccountNeed::Look, request: "protocol/get-task-status-request",
    }
    /// The caller's tasks.
    ListTasks = "list_tasks" {
        title: "Tasks", need: AccountNeed::Look, request: "protocol/list-tasks-request",
    }
    /// Forces states and seeds fixtures in a sandbox; production has no such tool.
    ComplyTestController = "comply_test_controller" {
        title: "Test controller", need: AccountNeed::Know,
        request: "compliance/comply-test-controller-request",
    }
}

/// Returns true if AdCP has a task of this name that this seller does not offer.
#[must_use]
pub fn is_unsupported_task(name: &str) -> bool {
    AdcpTool::from_any_name(name).is_none() && AdcpTask::from_name(name).is_some()
}

impl AdcpTool {
    /// The task that the tool carries out.
    #[must_use]
    pub fn task(self) -> AdcpTask {
        AdcpTask::from_name(self.name())
            .unwrap_or_else(|| unreachable!("each tool is a task of AdCP"))
    }

    /// Returns true if the tool changes data of the seller.
    #[must_use]
    pub fn mutates(self) -> bool {
        self.task().effect() != TaskEffect::Read
    }

    /// The AdCP protocol that the tool belongs to (`enums/adcp-protocol.json`).
    #[must_use]
    pub fn protocol(self) -> &'static str {
        self.request().split_once('/').map_or(self.request(), |(protocol, _)| protocol)
    }

    /// Returns true if a request must have an `idempotency_key`.
    #[must_use]
    pub fn keyed(self) -> bool {
        self.task().effect() == TaskEffect::Keyed
    }

    /// Returns the tool of this name; `tasks_get` and `tasks_list` are older names.
    #[must_use]
    pub fn from_any_name(name: &str) -> Option<Self> {
        match name {
            "tasks_get" => Some(Self::GetTaskStatus),
            "tasks_list" => Some(Self::ListTasks),
            _ => Self::from_name(name),
        }
    }
}
