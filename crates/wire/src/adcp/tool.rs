//! The tools of AdCP that are known here, as a table.

use crate::catalog::{Vocabulary, catalog, words};

words! {
    /// What a tool does to the seller's state.
    pub enum Effect {
        /// Nothing.
        Reads = "reads",
        /// Something that lasts.
        Changes = "changes",
    }
}

words! {
    /// Whether a tool takes an `idempotency_key`.
    pub enum Key {
        /// It has to have one.
        Required = "required",
        /// Its schema names none.
        None = "none",
    }
}

catalog! {
    /// A tool.
    pub enum Tool {
        /// What it is for, in a few words.
        title: &'static str,
        /// What it does to the seller's state.
        effect: Effect,
        /// Whether it takes an idempotency key.
        key: Key,
        /// The shape of its arguments in [`rules`](super::rules).
        request: &'static str,
    }
    /// What this agent can do.
    GetAdcpCapabilities = "get_adcp_capabilities" {
        title: "What this agent can do", effect: Effect::Reads, key: Key::None,
        request: "protocol/get-adcp-capabilities-request",
    }
    /// Find products.
    GetProducts = "get_products" {
        title: "Find products", effect: Effect::Reads, key: Key::None,
        request: "media-buy/get-products-request",
    }
    /// Create a media buy.
    CreateMediaBuy = "create_media_buy" {
        title: "Create a media buy", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/create-media-buy-request",
    }
    /// Change a media buy.
    UpdateMediaBuy = "update_media_buy" {
        title: "Change a media buy", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/update-media-buy-request",
    }
    /// Read media buys.
    GetMediaBuys = "get_media_buys" {
        title: "Read media buys", effect: Effect::Reads, key: Key::None,
        request: "media-buy/get-media-buys-request",
    }
    /// Read the delivery of media buys.
    GetMediaBuyDelivery = "get_media_buy_delivery" {
        title: "Read the delivery of media buys", effect: Effect::Reads, key: Key::None,
        request: "media-buy/get-media-buy-delivery-request",
    }
    /// Set up accounts.
    SyncAccounts = "sync_accounts" {
        title: "Set up accounts", effect: Effect::Changes, key: Key::Required,
        request: "account/sync-accounts-request",
    }
    /// List accounts.
    ListAccounts = "list_accounts" {
        title: "List accounts", effect: Effect::Reads, key: Key::None,
        request: "account/list-accounts-request",
    }
    /// Upload creatives.
    SyncCreatives = "sync_creatives" {
        title: "Upload creatives", effect: Effect::Changes, key: Key::Required,
        request: "creative/sync-creatives-request",
    }
    /// List creatives.
    ListCreatives = "list_creatives" {
        title: "List creatives", effect: Effect::Reads, key: Key::None,
        request: "creative/list-creatives-request",
    }
    /// List creative formats.
    ListCreativeFormats = "list_creative_formats" {
        title: "List creative formats", effect: Effect::Reads, key: Key::None,
        request: "media-buy/list-creative-formats-request",
    }
    /// Register governance agents.
    SyncGovernance = "sync_governance" {
        title: "Register governance agents", effect: Effect::Changes, key: Key::Required,
        request: "account/sync-governance-request",
    }
    /// Read the status of a task.
    GetTaskStatus = "get_task_status" {
        title: "Read the status of a task", effect: Effect::Reads, key: Key::None,
        request: "protocol/get-task-status-request",
    }
    /// List tasks.
    ListTasks = "list_tasks" {
        title: "List tasks", effect: Effect::Reads, key: Key::None,
        request: "protocol/list-tasks-request",
    }
    /// Upload audiences.
    SyncAudiences = "sync_audiences" {
        title: "Upload audiences", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/sync-audiences-request",
    }
    /// Set up event sources.
    SyncEventSources = "sync_event_sources" {
        title: "Set up event sources", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/sync-event-sources-request",
    }
    /// Report events.
    LogEvent = "log_event" {
        title: "Report events", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/log-event-request",
    }
    /// Set the scene for a compliance test.
    ComplyTestController = "comply_test_controller" {
        title: "Set the scene for a compliance test", effect: Effect::Changes, key: Key::None,
        request: "compliance/comply-test-controller-request",
    }
    /// Find signals.
    GetSignals = "get_signals" {
        title: "Find signals", effect: Effect::Reads, key: Key::None,
        request: "signals/get-signals-request",
    }
    /// Activate a signal.
    ActivateSignal = "activate_signal" {
        title: "Activate a signal", effect: Effect::Changes, key: Key::Required,
        request: "signals/activate-signal-request",
    }
    /// Begin a conversation.
    SiInitiateSession = "si_initiate_session" {
        title: "Begin a conversation", effect: Effect::Changes, key: Key::Required,
        request: "sponsored-intelligence/si-initiate-session-request",
    }
    /// Read an offering.
    SiGetOffering = "si_get_offering" {
        title: "Read an offering", effect: Effect::Reads, key: Key::None,
        request: "sponsored-intelligence/si-get-offering-request",
    }
    /// Say something in a conversation.
    SiSendMessage = "si_send_message" {
        title: "Say something in a conversation", effect: Effect::Changes, key: Key::Required,
        request: "sponsored-intelligence/si-send-message-request",
    }
    /// End a conversation.
    SiTerminateSession = "si_terminate_session" {
        title: "End a conversation", effect: Effect::Changes, key: Key::None,
        request: "sponsored-intelligence/si-terminate-session-request",
    }
    /// Register plans.
    SyncPlans = "sync_plans" {
        title: "Register plans", effect: Effect::Changes, key: Key::Required,
        request: "governance/sync-plans-request",
    }
    /// Ask whether a plan permits an action.
    CheckGovernance = "check_governance" {
        title: "Ask whether a plan permits an action", effect: Effect::Reads, key: Key::None,
        request: "governance/check-governance-request",
    }
    /// Report what became of a plan.
    ReportPlanOutcome = "report_plan_outcome" {
        title: "Report what became of a plan", effect: Effect::Changes, key: Key::Required,
        request: "governance/report-plan-outcome-request",
    }
    /// Read the audit log of plans.
    GetPlanAuditLogs = "get_plan_audit_logs" {
        title: "Read the audit log of plans", effect: Effect::Reads, key: Key::None,
        request: "governance/get-plan-audit-logs-request",
    }
    /// Create a property list.
    CreatePropertyList = "create_property_list" {
        title: "Create a property list", effect: Effect::Changes, key: Key::Required,
        request: "property/create-property-list-request",
    }
    /// Read a property list.
    GetPropertyList = "get_property_list" {
        title: "Read a property list", effect: Effect::Reads, key: Key::None,
        request: "property/get-property-list-request",
    }
    /// List property lists.
    ListPropertyLists = "list_property_lists" {
        title: "List property lists", effect: Effect::Reads, key: Key::None,
        request: "property/list-property-lists-request",
    }
    /// Change a property list.
    UpdatePropertyList = "update_property_list" {
        title: "Change a property list", effect: Effect::Changes, key: Key::Required,
        request: "property/update-property-list-request",
    }
    /// Delete a property list.
    DeletePropertyList = "delete_property_list" {
        title: "Delete a property list", effect: Effect::Changes, key: Key::Required,
        request: "property/delete-property-list-request",
    }
    /// Read the delivery of creatives.
    GetCreativeDelivery = "get_creative_delivery" {
        title: "Read the delivery of creatives", effect: Effect::Reads, key: Key::None,
        request: "creative/get-creative-delivery-request",
    }
    /// Preview a creative.
    PreviewCreative = "preview_creative" {
        title: "Preview a creative", effect: Effect::Reads, key: Key::None,
        request: "creative/preview-creative-request",
    }
    /// Make a creative.
    BuildCreative = "build_creative" {
        title: "Make a creative", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/build-creative-request",
    }
    /// Check an input for creatives.
    ValidateInput = "validate_input" {
        title: "Check an input for creatives", effect: Effect::Reads, key: Key::None,
        request: "creative/validate-input-request",
    }
    /// Read the finances of an account.
    GetAccountFinancials = "get_account_financials" {
        title: "Read the finances of an account", effect: Effect::Reads, key: Key::None,
        request: "account/get-account-financials-request",
    }
    /// Report usage.
    ReportUsage = "report_usage" {
        title: "Report usage", effect: Effect::Changes, key: Key::Required,
        request: "account/report-usage-request",
    }
    /// Give feedback on performance.
    ProvidePerformanceFeedback = "provide_performance_feedback" {
        title: "Give feedback on performance", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/provide-performance-feedback-request",
    }
    /// Upload catalogs.
    SyncCatalogs = "sync_catalogs" {
        title: "Upload catalogs", effect: Effect::Changes, key: Key::Required,
        request: "media-buy/sync-catalogs-request",
    }
}

impl Tool {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        self.effect() == Effect::Reads
    }

    /// The tool with this name on the wire.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        <Self as Vocabulary>::from_name(name)
    }
}
