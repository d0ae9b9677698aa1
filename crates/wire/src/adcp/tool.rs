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
        /// The published schema of its request, below `/schemas/{release}/`.
        schema: &'static str,
    }

    /// What this seller can do, and which releases it speaks.
    GetAdcpCapabilities = "get_adcp_capabilities" {
        title: "Capabilities", mutates: false, keyed: false,
        schema: "protocol/get-adcp-capabilities-request.json",
    }
    /// Products that fit a brief, the whole catalogue, or the next draft of proposals.
    GetProducts = "get_products" {
        title: "Products", mutates: false, keyed: false,
        schema: "media-buy/get-products-request.json",
    }
    /// The creative formats that are accepted.
    ListCreativeFormats = "list_creative_formats" {
        title: "Creative formats", mutates: false, keyed: false,
        schema: "media-buy/list-creative-formats-request.json",
    }
    /// Buys media.
    CreateMediaBuy = "create_media_buy" {
        title: "Create a media buy", mutates: true, keyed: true,
        schema: "media-buy/create-media-buy-request.json",
    }
    /// Changes, pauses, resumes or cancels a media buy.
    UpdateMediaBuy = "update_media_buy" {
        title: "Update a media buy", mutates: true, keyed: true,
        schema: "media-buy/update-media-buy-request.json",
    }
    /// The media buys of an account.
    GetMediaBuys = "get_media_buys" {
        title: "Media buys", mutates: false, keyed: false,
        schema: "media-buy/get-media-buys-request.json",
    }
    /// What media buys have delivered.
    GetMediaBuyDelivery = "get_media_buy_delivery" {
        title: "Delivery", mutates: false, keyed: false,
        schema: "media-buy/get-media-buy-delivery-request.json",
    }
    /// Puts creatives into the library, changes them and assigns them to packages.
    SyncCreatives = "sync_creatives" {
        title: "Sync creatives", mutates: true, keyed: true,
        schema: "creative/sync-creatives-request.json",
    }
    /// The creatives of the library.
    ListCreatives = "list_creatives" {
        title: "Creatives", mutates: false, keyed: false,
        schema: "creative/list-creatives-request.json",
    }
    /// Uploads audiences and changes who belongs to them.
    SyncAudiences = "sync_audiences" {
        title: "Sync audiences", mutates: true, keyed: true,
        schema: "media-buy/sync-audiences-request.json",
    }
    /// Sets up where conversion events come from.
    SyncEventSources = "sync_event_sources" {
        title: "Sync event sources", mutates: true, keyed: true,
        schema: "media-buy/sync-event-sources-request.json",
    }
    /// Reports conversion events.
    LogEvent = "log_event" {
        title: "Log events", mutates: true, keyed: true,
        schema: "media-buy/log-event-request.json",
    }
    /// Opens advertiser accounts and changes how they are billed.
    SyncAccounts = "sync_accounts" {
        title: "Sync accounts", mutates: true, keyed: true,
        schema: "account/sync-accounts-request.json",
    }
    /// The accounts that the caller may use.
    ListAccounts = "list_accounts" {
        title: "Accounts", mutates: false, keyed: false,
        schema: "account/list-accounts-request.json",
    }
    /// Names the governance agent of an account.
    SyncGovernance = "sync_governance" {
        title: "Sync governance", mutates: true, keyed: true,
        schema: "account/sync-governance-request.json",
    }
    /// Registers campaign plans with the governance role.
    SyncPlans = "sync_plans" {
        title: "Sync plans", mutates: true, keyed: true,
        schema: "governance/sync-plans-request.json",
    }
    /// Asks whether an action fits a plan.
    CheckGovernance = "check_governance" {
        title: "Check governance", mutates: false, keyed: false,
        schema: "governance/check-governance-request.json",
    }
    /// Signals that can be bought for targeting.
    GetSignals = "get_signals" {
        title: "Signals", mutates: false, keyed: false,
        schema: "signals/get-signals-request.json",
    }
    /// Activates or deactivates a signal.
    ActivateSignal = "activate_signal" {
        title: "Activate a signal", mutates: true, keyed: true,
        schema: "signals/activate-signal-request.json",
    }
    /// What is offered in a sponsored conversation.
    SiGetOffering = "si_get_offering" {
        title: "Sponsored offering", mutates: false, keyed: false,
        schema: "sponsored-intelligence/si-get-offering-request.json",
    }
    /// Begins a sponsored conversation.
    SiInitiateSession = "si_initiate_session" {
        title: "Begin a sponsored session", mutates: true, keyed: true,
        schema: "sponsored-intelligence/si-initiate-session-request.json",
    }
    /// Says something in a sponsored conversation.
    SiSendMessage = "si_send_message" {
        title: "Send to a sponsored session", mutates: true, keyed: true,
        schema: "sponsored-intelligence/si-send-message-request.json",
    }
    /// Ends a sponsored conversation.
    SiTerminateSession = "si_terminate_session" {
        title: "End a sponsored session", mutates: true, keyed: false,
        schema: "sponsored-intelligence/si-terminate-session-request.json",
    }
    /// Makes a list of properties.
    CreatePropertyList = "create_property_list" {
        title: "Create a property list", mutates: true, keyed: true,
        schema: "property/create-property-list-request.json",
    }
    /// A list of properties.
    GetPropertyList = "get_property_list" {
        title: "Property list", mutates: false, keyed: false,
        schema: "property/get-property-list-request.json",
    }
    /// The lists of properties of an account.
    ListPropertyLists = "list_property_lists" {
        title: "Property lists", mutates: false, keyed: false,
        schema: "property/list-property-lists-request.json",
    }
    /// Changes a list of properties.
    UpdatePropertyList = "update_property_list" {
        title: "Update a property list", mutates: true, keyed: true,
        schema: "property/update-property-list-request.json",
    }
    /// Deletes a list of properties.
    DeletePropertyList = "delete_property_list" {
        title: "Delete a property list", mutates: true, keyed: true,
        schema: "property/delete-property-list-request.json",
    }
    /// How far a submitted task is.
    GetTaskStatus = "get_task_status" {
        title: "Task status", mutates: false, keyed: false,
        schema: "protocol/get-task-status-request.json",
    }
    /// The caller's tasks.
    ListTasks = "list_tasks" {
        title: "Tasks", mutates: false, keyed: false,
        schema: "protocol/list-tasks-request.json",
    }
    /// Forces states and seeds fixtures in a sandbox; production has no such tool.
    ComplyTestController = "comply_test_controller" {
        title: "Test controller", mutates: true, keyed: false,
        schema: "compliance/comply-test-controller-request.json",
    }
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
