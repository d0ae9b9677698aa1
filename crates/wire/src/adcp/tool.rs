//! The tools that a seller has: one table from which the lists of both bindings, the gates and the
//! checks of requests are made.

use crate::catalog::{Vocabulary as _, catalog};

catalog! {
    /// A tool of AdCP, called a task on A2A.
    pub enum Tool {
        /// Its name for people.
        title: &'static str,
        /// Whether it changes anything that the seller keeps.
        mutates: bool,
        /// Whether a request must have an `idempotency_key`.
        keyed: bool,
        /// The shape of its arguments in [`rules`](super::rules), named like the published schema.
        request: &'static str,
    }

    /// What this seller can do, and which releases it speaks.
    GetAdcpCapabilities = "get_adcp_capabilities" {
        title: "Capabilities", mutates: false, keyed: false,
        request: "protocol/get-adcp-capabilities-request",
    }
    /// Products that fit a brief, the whole catalogue, or the next draft of proposals.
    GetProducts = "get_products" {
        title: "Products", mutates: false, keyed: false,
        request: "media-buy/get-products-request",
    }
    /// The creative formats that are accepted.
    ListCreativeFormats = "list_creative_formats" {
        title: "Creative formats", mutates: false, keyed: false,
        request: "media-buy/list-creative-formats-request",
    }
    /// Buys media.
    CreateMediaBuy = "create_media_buy" {
        title: "Create a media buy", mutates: true, keyed: true,
        request: "media-buy/create-media-buy-request",
    }
    /// Changes, pauses, resumes or cancels a media buy.
    UpdateMediaBuy = "update_media_buy" {
        title: "Update a media buy", mutates: true, keyed: true,
        request: "media-buy/update-media-buy-request",
    }
    /// The media buys of an account.
    GetMediaBuys = "get_media_buys" {
        title: "Media buys", mutates: false, keyed: false,
        request: "media-buy/get-media-buys-request",
    }
    /// What media buys have delivered.
    GetMediaBuyDelivery = "get_media_buy_delivery" {
        title: "Delivery", mutates: false, keyed: false,
        request: "media-buy/get-media-buy-delivery-request",
    }
    /// Puts creatives into the library, changes them and assigns them to packages.
    SyncCreatives = "sync_creatives" {
        title: "Sync creatives", mutates: true, keyed: true,
        request: "creative/sync-creatives-request",
    }
    /// The creatives of the library.
    ListCreatives = "list_creatives" {
        title: "Creatives", mutates: false, keyed: false,
        request: "creative/list-creatives-request",
    }
    /// Uploads audiences and changes who belongs to them.
    SyncAudiences = "sync_audiences" {
        title: "Sync audiences", mutates: true, keyed: true,
        request: "media-buy/sync-audiences-request",
    }
    /// Sets up where conversion events come from.
    SyncEventSources = "sync_event_sources" {
        title: "Sync event sources", mutates: true, keyed: true,
        request: "media-buy/sync-event-sources-request",
    }
    /// Reports conversion events.
    LogEvent = "log_event" {
        title: "Log events", mutates: true, keyed: true,
        request: "media-buy/log-event-request",
    }
    /// Opens advertiser accounts and changes how they are billed.
    SyncAccounts = "sync_accounts" {
        title: "Sync accounts", mutates: true, keyed: true,
        request: "account/sync-accounts-request",
    }
    /// The accounts that the caller may use.
    ListAccounts = "list_accounts" {
        title: "Accounts", mutates: false, keyed: false,
        request: "account/list-accounts-request",
    }
    /// Names the governance agent of an account.
    SyncGovernance = "sync_governance" {
        title: "Sync governance", mutates: true, keyed: true,
        request: "account/sync-governance-request",
    }
    /// Registers campaign plans with the governance role.
    SyncPlans = "sync_plans" {
        title: "Sync plans", mutates: true, keyed: true,
        request: "governance/sync-plans-request",
    }
    /// Asks whether an action fits a plan.
    CheckGovernance = "check_governance" {
        title: "Check governance", mutates: false, keyed: false,
        request: "governance/check-governance-request",
    }
    /// Signals that can be bought for targeting.
    GetSignals = "get_signals" {
        title: "Signals", mutates: false, keyed: false,
        request: "signals/get-signals-request",
    }
    /// Activates or deactivates a signal.
    ActivateSignal = "activate_signal" {
        title: "Activate a signal", mutates: true, keyed: true,
        request: "signals/activate-signal-request",
    }
    /// What is offered in a sponsored conversation.
    SiGetOffering = "si_get_offering" {
        title: "Sponsored offering", mutates: false, keyed: false,
        request: "sponsored-intelligence/si-get-offering-request",
    }
    /// Begins a sponsored conversation.
    SiInitiateSession = "si_initiate_session" {
        title: "Begin a sponsored session", mutates: true, keyed: true,
        request: "sponsored-intelligence/si-initiate-session-request",
    }
    /// Says something in a sponsored conversation.
    SiSendMessage = "si_send_message" {
        title: "Send to a sponsored session", mutates: true, keyed: true,
        request: "sponsored-intelligence/si-send-message-request",
    }
    /// Ends a sponsored conversation.
    SiTerminateSession = "si_terminate_session" {
        title: "End a sponsored session", mutates: true, keyed: false,
        request: "sponsored-intelligence/si-terminate-session-request",
    }
    /// Makes a list of properties.
    CreatePropertyList = "create_property_list" {
        title: "Create a property list", mutates: true, keyed: true,
        request: "property/create-property-list-request",
    }
    /// A list of properties.
    GetPropertyList = "get_property_list" {
        title: "Property list", mutates: false, keyed: false,
        request: "property/get-property-list-request",
    }
    /// The lists of properties of an account.
    ListPropertyLists = "list_property_lists" {
        title: "Property lists", mutates: false, keyed: false,
        request: "property/list-property-lists-request",
    }
    /// Changes a list of properties.
    UpdatePropertyList = "update_property_list" {
        title: "Update a property list", mutates: true, keyed: true,
        request: "property/update-property-list-request",
    }
    /// Deletes a list of properties.
    DeletePropertyList = "delete_property_list" {
        title: "Delete a property list", mutates: true, keyed: true,
        request: "property/delete-property-list-request",
    }
    /// How far a submitted task is.
    GetTaskStatus = "get_task_status" {
        title: "Task status", mutates: false, keyed: false,
        request: "protocol/get-task-status-request",
    }
    /// The caller's tasks.
    ListTasks = "list_tasks" {
        title: "Tasks", mutates: false, keyed: false,
        request: "protocol/list-tasks-request",
    }
    /// Forces states and seeds fixtures in a sandbox; production has no such tool.
    ComplyTestController = "comply_test_controller" {
        title: "Test controller", mutates: true, keyed: false,
        request: "compliance/comply-test-controller-request",
    }
}

/// The tasks of AdCP 3.1 that other agents have: whoever asks for one is told so in AdCP's words.
const OF_OTHERS: &[&str] = &[
    "acquire_rights",
    "build_creative",
    "calibrate_content",
    "context_match",
    "create_collection_list",
    "create_content_standards",
    "creative_approval",
    "delete_collection_list",
    "get_account_financials",
    "get_brand_identity",
    "get_collection_list",
    "get_content_standards",
    "get_creative_delivery",
    "get_creative_features",
    "get_media_buy_artifacts",
    "get_plan_audit_logs",
    "get_rights",
    "identity_match",
    "list_collection_lists",
    "list_content_standards",
    "list_transformers",
    "preview_creative",
    "provide_performance_feedback",
    "report_plan_outcome",
    "report_usage",
    "search_brands",
    "sync_catalogs",
    "update_collection_list",
    "update_content_standards",
    "update_rights",
    "validate_content_delivery",
    "validate_input",
    "validate_property_delivery",
    "verify_brand_claim",
    "verify_brand_claims",
];

/// Whether AdCP has a task of this name, if not this seller.
#[must_use]
pub fn is_of_others(name: &str) -> bool {
    OF_OTHERS.contains(&name)
}

impl Tool {
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
