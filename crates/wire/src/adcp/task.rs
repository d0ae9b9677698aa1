//! The tasks of AdCP up to 3.2, of sellers and others: what a buyer must know before it sends a
//! task again. The tasks that our seller offers are in [`tool`](super::tool).

use crate::catalog::catalog;

/// The effect of carrying out a task, which decides whether it can be sent again in doubt
/// (`manifest.json`, `mutating`; each request schema's `idempotency_key`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// No change: it can be sent any number of times.
    Read,
    /// A change that happens once for each `idempotency_key`, which the request must have.
    Keyed,
    /// A change each time it is sent, because the request has no `idempotency_key`.
    Once,
}

catalog! {
    /// A task of AdCP, called a tool on MCP.
    pub enum Task {
        /// The effect of carrying it out.
        effect: Effect,
    }

    /// Accepts a committed proposal.
    AcceptProposal = "accept_proposal" { effect: Effect::Keyed }
    /// Takes a licence to use a brand's rights.
    AcquireRights = "acquire_rights" { effect: Effect::Keyed }
    /// Activates or deactivates a signal.
    ActivateSignal = "activate_signal" { effect: Effect::Keyed }
    /// Has a creative made.
    BuildCreative = "build_creative" { effect: Effect::Keyed }
    /// Buys published products.
    BuyProducts = "buy_products" { effect: Effect::Keyed }
    /// Asks how content standards judge a piece of content.
    CalibrateContent = "calibrate_content" { effect: Effect::Keyed }
    /// Asks whether an action fits a plan.
    CheckGovernance = "check_governance" { effect: Effect::Read }
    /// Forces states and seeds fixtures in a sandbox; production has no such tool.
    ComplyTestController = "comply_test_controller" { effect: Effect::Once }
    /// Asks which packages fit a context.
    ContextMatch = "context_match" { effect: Effect::Read }
    /// Renames, pauses, resumes, cancels or adjusts a media buy.
    ControlMediaBuy = "control_media_buy" { effect: Effect::Keyed }
    /// Makes a list of collections.
    CreateCollectionList = "create_collection_list" { effect: Effect::Keyed }
    /// Makes content standards.
    CreateContentStandards = "create_content_standards" { effect: Effect::Keyed }
    /// Buys media.
    CreateMediaBuy = "create_media_buy" { effect: Effect::Keyed }
    /// Makes a list of properties.
    CreatePropertyList = "create_property_list" { effect: Effect::Keyed }
    /// Asks the owner of rights to approve a creative.
    CreativeApproval = "creative_approval" { effect: Effect::Keyed }
    /// Declines proposals, with the reason.
    DeclineProposals = "decline_proposals" { effect: Effect::Keyed }
    /// Deletes a list of collections.
    DeleteCollectionList = "delete_collection_list" { effect: Effect::Keyed }
    /// Deletes a list of properties.
    DeletePropertyList = "delete_property_list" { effect: Effect::Keyed }
    /// Returns the finances of an account.
    GetAccountFinancials = "get_account_financials" { effect: Effect::Read }
    /// Returns the seller's capabilities and the releases it supports.
    GetAdcpCapabilities = "get_adcp_capabilities" { effect: Effect::Read }
    /// Returns a brand's description of itself.
    GetBrandIdentity = "get_brand_identity" { effect: Effect::Read }
    /// Returns a list of collections.
    GetCollectionList = "get_collection_list" { effect: Effect::Read }
    /// Returns content standards.
    GetContentStandards = "get_content_standards" { effect: Effect::Read }
    /// Returns the delivery of creatives.
    GetCreativeDelivery = "get_creative_delivery" { effect: Effect::Read }
    /// Returns the findings of an evaluation of a creative.
    GetCreativeFeatures = "get_creative_features" { effect: Effect::Read }
    /// Returns the pieces of content beside which a media buy ran.
    GetMediaBuyArtifacts = "get_media_buy_artifacts" { effect: Effect::Read }
    /// Returns the delivery of media buys.
    GetMediaBuyDelivery = "get_media_buy_delivery" { effect: Effect::Read }
    /// Returns the media buys of an account.
    GetMediaBuys = "get_media_buys" { effect: Effect::Read }
    /// Returns the decisions about a plan.
    GetPlanAuditLogs = "get_plan_audit_logs" { effect: Effect::Read }
    /// Returns a seller's record of the caller.
    GetPrincipal = "get_principal" { effect: Effect::Read }
    /// Returns products that fit a brief, the whole catalogue, or the next draft of proposals.
    GetProducts = "get_products" { effect: Effect::Read }
    /// Returns a list of properties.
    GetPropertyList = "get_property_list" { effect: Effect::Read }
    /// Returns the state of a media buy's reporting.
    GetReportingStatus = "get_reporting_status" { effect: Effect::Read }
    /// Returns the rights that can be licensed.
    GetRights = "get_rights" { effect: Effect::Read }
    /// Returns the signals that can be bought for targeting.
    GetSignals = "get_signals" { effect: Effect::Read }
    /// Returns the progress of a submitted task.
    GetTaskStatus = "get_task_status" { effect: Effect::Read }
    /// Asks which packages a user may see.
    IdentityMatch = "identity_match" { effect: Effect::Read }
    /// Returns the changes of an account.
    ListAccountChanges = "list_account_changes" { effect: Effect::Read }
    /// Returns the accounts that the caller may use.
    ListAccounts = "list_accounts" { effect: Effect::Read }
    /// Returns the lists of collections of an account.
    ListCollectionLists = "list_collection_lists" { effect: Effect::Read }
    /// Returns the content standards of an account.
    ListContentStandards = "list_content_standards" { effect: Effect::Read }
    /// Returns the accepted creative formats.
    ListCreativeFormats = "list_creative_formats" { effect: Effect::Read }
    /// Returns the creatives of the library.
    ListCreatives = "list_creatives" { effect: Effect::Read }
    /// Returns products that fit criteria.
    ListProducts = "list_products" { effect: Effect::Read }
    /// Returns the lists of properties of an account.
    ListPropertyLists = "list_property_lists" { effect: Effect::Read }
    /// Returns the caller's tasks.
    ListTasks = "list_tasks" { effect: Effect::Read }
    /// Returns what `build_creative` can build.
    ListTransformers = "list_transformers" { effect: Effect::Read }
    /// Reports conversion events.
    LogEvent = "log_event" { effect: Effect::Keyed }
    /// Renders a preview of a creative.
    PreviewCreative = "preview_creative" { effect: Effect::Read }
    /// Reports how well a media buy performs.
    ProvidePerformanceFeedback = "provide_performance_feedback" { effect: Effect::Keyed }
    /// Changes draft proposals, or commits them.
    RefineProposals = "refine_proposals" { effect: Effect::Keyed }
    /// Reports a change of a plan to the governance agent.
    ReportPlanAdjustment = "report_plan_adjustment" { effect: Effect::Keyed }
    /// Reports the outcome of an action to the governance agent.
    ReportPlanOutcome = "report_plan_outcome" { effect: Effect::Keyed }
    /// Reports the use of signals and rights.
    ReportUsage = "report_usage" { effect: Effect::Keyed }
    /// Asks for draft proposals for a brief.
    RequestProposals = "request_proposals" { effect: Effect::Keyed }
    /// Searches for brands.
    SearchBrands = "search_brands" { effect: Effect::Read }
    /// Returns the offering of a sponsored conversation.
    SiGetOffering = "si_get_offering" { effect: Effect::Read }
    /// Begins a sponsored conversation.
    SiInitiateSession = "si_initiate_session" { effect: Effect::Keyed }
    /// Sends a message in a sponsored conversation.
    SiSendMessage = "si_send_message" { effect: Effect::Keyed }
    /// Ends a sponsored conversation.
    SiTerminateSession = "si_terminate_session" { effect: Effect::Once }
    /// Opens advertiser accounts and changes how they are billed.
    SyncAccounts = "sync_accounts" { effect: Effect::Keyed }
    /// Sets the addresses for notifications about an agent.
    SyncAgentNotificationConfigs = "sync_agent_notification_configs" { effect: Effect::Keyed }
    /// Uploads audiences and changes who belongs to them.
    SyncAudiences = "sync_audiences" { effect: Effect::Keyed }
    /// Uploads catalogs of what an advertiser sells.
    SyncCatalogs = "sync_catalogs" { effect: Effect::Keyed }
    /// Puts creatives into the library, changes them and assigns them to packages.
    SyncCreatives = "sync_creatives" { effect: Effect::Keyed }
    /// Sets up the sources of conversion events.
    SyncEventSources = "sync_event_sources" { effect: Effect::Keyed }
    /// Names the governance agent of an account.
    SyncGovernance = "sync_governance" { effect: Effect::Keyed }
    /// Registers campaign plans with the governance role.
    SyncPlans = "sync_plans" { effect: Effect::Keyed }
    /// Sets the addresses for the caller's notifications and reports.
    SyncPrincipal = "sync_principal" { effect: Effect::Keyed }
    /// Reports which reports were received, and their totals.
    SyncReportingReceipts = "sync_reporting_receipts" { effect: Effect::Keyed }
    /// Reports missing or wrong reports.
    SyncReportingStatus = "sync_reporting_status" { effect: Effect::Keyed }
    /// Changes a list of collections.
    UpdateCollectionList = "update_collection_list" { effect: Effect::Keyed }
    /// Changes content standards.
    UpdateContentStandards = "update_content_standards" { effect: Effect::Keyed }
    /// Changes, pauses, resumes or cancels a media buy.
    UpdateMediaBuy = "update_media_buy" { effect: Effect::Keyed }
    /// Changes a list of properties.
    UpdatePropertyList = "update_property_list" { effect: Effect::Keyed }
    /// Changes a licence.
    UpdateRights = "update_rights" { effect: Effect::Keyed }
    /// Judges where a media buy ran by content standards.
    ValidateContentDelivery = "validate_content_delivery" { effect: Effect::Read }
    /// Checks an input without doing anything with it.
    ValidateInput = "validate_input" { effect: Effect::Read }
    /// Judges where a media buy ran by a list of properties.
    ValidatePropertyDelivery = "validate_property_delivery" { effect: Effect::Read }
    /// Asks a brand to confirm a claim.
    VerifyBrandClaim = "verify_brand_claim" { effect: Effect::Once }
    /// Asks a brand to confirm several claims.
    VerifyBrandClaims = "verify_brand_claims" { effect: Effect::Once }
}
