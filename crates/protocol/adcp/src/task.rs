//! The tasks of AdCP up to 3.2, of sellers and others: what a buyer must know before it sends a
//! task again. The tasks that our seller offers are in [`tool`](super::tool).

use tradepost_document::catalog::catalog;

/// The effect of carrying out a task, which decides whether it can be sent again in doubt
/// (`manifest.json`, `mutating`; each request schema's `idempotency_key`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEffect {
    /// No change: it can be sent any number of times.
    Read,
    /// A change that happens once for each `idempotency_key`, which the request must have.
    Keyed,
    /// A change each time it is sent, because the request has no `idempotency_key`.
    Once,
}

catalog! {
    /// A task of AdCP, called a tool on MCP.
    pub enum AdcpTask {
        /// The effect of carrying it out.
        effect: TaskEffect,
    }

    /// Accepts a committed proposal.
    AcceptProposal = "accept_proposal" { effect: TaskEffect::Keyed }
    /// Takes a licence to use a brand's rights.
    AcquireRights = "acquire_rights" { effect: TaskEffect::Keyed }
    /// Activates or deactivates a signal.
    ActivateSignal = "activate_signal" { effect: TaskEffect::Keyed }
    /// Has a creative made.
    BuildCreative = "build_creative" { effect: TaskEffect::Keyed }
    /// Buys published products.
    BuyProducts = "buy_products" { effect: TaskEffect::Keyed }
    /// Asks how content standards judge a piece of content.
    CalibrateContent = "calibrate_content" { effect: TaskEffect::Keyed }
    /// Asks whether an action fits a plan.
    CheckGovernance = "check_governance" { effect: TaskEffect::Read }
    /// Forces states and seeds fixtures in a sandbox; production has no such tool.
    ComplyTestController = "comply_test_controller" { effect: TaskEffect::Once }
    /// Asks which packages fit a context.
    ContextMatch = "context_match" { effect: TaskEffect::Read }
    /// Renames, pauses, resumes, cancels or adjusts a media buy.
    ControlMediaBuy = "control_media_buy" { effect: TaskEffect::Keyed }
    /// Makes a list of collections.
    CreateCollectionList = "create_collection_list" { effect: TaskEffect::Keyed }
    /// Makes content standards.
    CreateContentStandards = "create_content_standards" { effect: TaskEffect::Keyed }
    /// Buys media.
    CreateMediaBuy = "create_media_buy" { effect: TaskEffect::Keyed }
    /// Makes a list of properties.
    CreatePropertyList = "create_property_list" { effect: TaskEffect::Keyed }
    /// Asks the owner of rights to approve a creative.
    CreativeApproval = "creative_approval" { effect: TaskEffect::Keyed }
    /// Declines proposals, with the reason.
    DeclineProposals = "decline_proposals" { effect: TaskEffect::Keyed }
    /// Deletes a list of collections.
    DeleteCollectionList = "delete_collection_list" { effect: TaskEffect::Keyed }
    /// Deletes a list of properties.
    DeletePropertyList = "delete_property_list" { effect: TaskEffect::Keyed }
    /// Returns the finances of an account.
    GetAccountFinancials = "get_account_financials" { effect: TaskEffect::Read }
    /// Returns the seller's capabilities and the releases it supports.
    GetAdcpCapabilities = "get_adcp_capabilities" { effect: TaskEffect::Read }
    /// Returns a brand's description of itself.
    GetBrandIdentity = "get_brand_identity" { effect: TaskEffect::Read }
    /// Returns a list of collections.
    GetCollectionList = "get_collection_list" { effect: TaskEffect::Read }
    /// Returns content standards.
    GetContentStandards = "get_content_standards" { effect: TaskEffect::Read }
    /// Returns the delivery of creatives.
    GetCreativeDelivery = "get_creative_delivery" { effect: TaskEffect::Read }
    /// Returns the findings of an evaluation of a creative.
    GetCreativeFeatures = "get_creative_features" { effect: TaskEffect::Read }
    /// Returns the pieces of content beside which a media buy ran.
    GetMediaBuyArtifacts = "get_media_buy_artifacts" { effect: TaskEffect::Read }
    /// Returns the delivery of media buys.
    GetMediaBuyDelivery = "get_media_buy_delivery" { effect: TaskEffect::Read }
    /// Returns the media buys of an account.
    GetMediaBuys = "get_media_buys" { effect: TaskEffect::Read }
    /// Returns the decisions about a plan.
    GetPlanAuditLogs = "get_plan_audit_logs" { effect: TaskEffect::Read }
    /// Returns a seller's record of the caller.
    GetPrincipal = "get_principal" { effect: TaskEffect::Read }
    /// Returns products that fit a brief, the whole catalogue, or the next draft of proposals.
    GetProducts = "get_products" { effect: TaskEffect::Read }
    /// Returns a list of properties.
    GetPropertyList = "get_property_list" { effect: TaskEffect::Read }
    /// Returns the state of a media buy's reporting.
    GetReportingStatus = "get_reporting_status" { effect: TaskEffect::Read }
    /// Returns the rights that can be licensed.
    GetRights = "get_rights" { effect: TaskEffect::Read }
    /// Returns the signals that can be bought for targeting.
    GetSignals = "get_signals" { effect: TaskEffect::Read }
    /// Returns the progress of a submitted task.
    GetTaskStatus = "get_task_status" { effect: TaskEffect::Read }
    /// Asks which packages a user may see.
    IdentityMatch = "identity_match" { effect: TaskEffect::Read }
    /// Returns the changes of an account.
    ListAccountChanges = "list_account_changes" { effect: TaskEffect::Read }
    /// Returns the accounts that the caller may use.
    ListAccounts = "list_accounts" { effect: TaskEffect::Read }
    /// Returns the lists of collections of an account.
    ListCollectionLists = "list_collection_lists" { effect: TaskEffect::Read }
    /// Returns the content standards of an account.
    ListContentStandards = "list_content_standards" { effect: TaskEffect::Read }
    /// Returns the accepted creative formats.
    ListCreativeFormats = "list_creative_formats" { effect: TaskEffect::Read }
    /// Returns the creatives of the library.
    ListCreatives = "list_creatives" { effect: TaskEffect::Read }
    /// Returns products that fit criteria.
    ListProducts = "list_products" { effect: TaskEffect::Read }
    /// Returns the lists of properties of an account.
    ListPropertyLists = "list_property_lists" { effect: TaskEffect::Read }
    /// Returns the caller's tasks.
    ListTasks = "list_tasks" { effect: TaskEffect::Read }
    /// Returns what `build_creative` can build.
    ListTransformers = "list_transformers" { effect: TaskEffect::Read }
    /// Reports conversion events.
    LogEvent = "log_event" { effect: TaskEffect::Keyed }
    /// Renders a preview of a creative.
    PreviewCreative = "preview_creative" { effect: TaskEffect::Read }
    /// Reports how well a media buy performs.
    ProvidePerformanceFeedback = "provide_performance_feedback" { effect: TaskEffect::Keyed }
    /// Changes draft proposals, or commits them.
    RefineProposals = "refine_proposals" { effect: TaskEffect::Keyed }
    /// Reports a change of a plan to the governance agent.
    ReportPlanAdjustment = "report_plan_adjustment" { effect: TaskEffect::Keyed }
    /// Reports the outcome of an action to the governance agent.
    ReportPlanOutcome = "report_plan_outcome" { effect: TaskEffect::Keyed }
    /// Reports the use of signals and rights.
    ReportUsage = "report_usage" { effect: TaskEffect::Keyed }
    /// Asks for draft proposals for a brief.
    RequestProposals = "request_proposals" { effect: TaskEffect::Keyed }
    /// Searches for brands.
    SearchBrands = "search_brands" { effect: TaskEffect::Read }
    /// Returns the offering of a sponsored conversation.
    SiGetOffering = "si_get_offering" { effect: TaskEffect::Read }
    /// Begins a sponsored conversation.
    SiInitiateSession = "si_initiate_session" { effect: TaskEffect::Keyed }
    /// Sends a message in a sponsored conversation.
    SiSendMessage = "si_send_message" { effect: TaskEffect::Keyed }
    /// Ends a sponsored conversation.
    SiTerminateSession = "si_terminate_session" { effect: TaskEffect::Once }
    /// Opens advertiser accounts and changes how they are billed.
    SyncAccounts = "sync_accounts" { effect: TaskEffect::Keyed }
    /// Sets the addresses for notifications about an agent.
    SyncAgentNotificationConfigs = "sync_agent_notification_configs" { effect: TaskEffect::Keyed }
    /// Uploads audiences and changes who belongs to them.
    SyncAudiences = "sync_audiences" { effect: TaskEffect::Keyed }
    /// Uploads catalogs of what an advertiser sells.
    SyncCatalogs = "sync_catalogs" { effect: TaskEffect::Keyed }
    /// Puts creatives into the library, changes them and assigns them to packages.
    SyncCreatives = "sync_creatives" { effect: TaskEffect::Keyed }
    /// Sets up the sources of conversion events.
    SyncEventSources = "sync_event_sources" { effect: TaskEffect::Keyed }
    /// Names the governance agent of an account.
    SyncGovernance = "sync_governance" { effect: TaskEffect::Keyed }
    /// Registers campaign plans with the governance role.
    SyncPlans = "sync_plans" { effect: TaskEffect::Keyed }
    /// Sets the addresses for the caller's notifications and reports.
    SyncPrincipal = "sync_principal" { effect: TaskEffect::Keyed }
    /// Reports which reports were received, and their totals.
    SyncReportingReceipts = "sync_reporting_receipts" { effect: TaskEffect::Keyed }
    /// Reports missing or wrong reports.
    SyncReportingStatus = "sync_reporting_status" { effect: TaskEffect::Keyed }
    /// Changes a list of collections.
    UpdateCollectionList = "update_collection_list" { effect: TaskEffect::Keyed }
    /// Changes content standards.
    UpdateContentStandards = "update_content_standards" { effect: TaskEffect::Keyed }
    /// Changes, pauses, resumes or cancels a media buy.
    UpdateMediaBuy = "update_media_buy" { effect: TaskEffect::Keyed }
    /// Changes a list of properties.
    UpdatePropertyList = "update_property_list" { effect: TaskEffect::Keyed }
    /// Changes a licence.
    UpdateRights = "update_rights" { effect: TaskEffect::Keyed }
    /// Judges where a media buy ran by content standards.
    ValidateContentDelivery = "validate_content_delivery" { effect: TaskEffect::Read }
    /// Checks an input without doing anything with it.
    ValidateInput = "validate_input" { effect: TaskEffect::Read }
    /// Judges where a media buy ran by a list of properties.
    ValidatePropertyDelivery = "validate_property_delivery" { effect: TaskEffect::Read }
    /// Asks a brand to confirm a claim.
    VerifyBrandClaim = "verify_brand_claim" { effect: TaskEffect::Once }
    /// Asks a brand to confirm several claims.
    VerifyBrandClaims = "verify_brand_claims" { effect: TaskEffect::Once }
}
