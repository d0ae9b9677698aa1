//! The tasks of AdCP up to 3.2, whoever has them: what a buyer has to know of a task before it sends one
//! again. Those that our own seller has are in [`tool`](super::tool).

use crate::catalog::catalog;

/// What carrying out a task may have changed, and so whether it can be sent again in doubt
/// (`manifest.json`, `mutating`; each request schema's `idempotency_key`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it can be sent as often as one likes.
    Read,
    /// Something, once for each `idempotency_key`, which the request must have.
    Keyed,
    /// Something, each time that it is sent: the request has no `idempotency_key`.
    Once,
}

catalog! {
    /// A task of AdCP. It is called a tool on MCP.
    pub enum Task {
        /// What carrying it out may change.
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
    /// How an account stands financially.
    GetAccountFinancials = "get_account_financials" { effect: Effect::Read }
    /// What this seller can do, and which releases it speaks.
    GetAdcpCapabilities = "get_adcp_capabilities" { effect: Effect::Read }
    /// What a brand says of itself.
    GetBrandIdentity = "get_brand_identity" { effect: Effect::Read }
    /// A list of collections.
    GetCollectionList = "get_collection_list" { effect: Effect::Read }
    /// Content standards.
    GetContentStandards = "get_content_standards" { effect: Effect::Read }
    /// What creatives have delivered.
    GetCreativeDelivery = "get_creative_delivery" { effect: Effect::Read }
    /// What an evaluation finds in a creative.
    GetCreativeFeatures = "get_creative_features" { effect: Effect::Read }
    /// The pieces of content beside which a media buy ran.
    GetMediaBuyArtifacts = "get_media_buy_artifacts" { effect: Effect::Read }
    /// What media buys have delivered.
    GetMediaBuyDelivery = "get_media_buy_delivery" { effect: Effect::Read }
    /// The media buys of an account.
    GetMediaBuys = "get_media_buys" { effect: Effect::Read }
    /// What was decided about a plan.
    GetPlanAuditLogs = "get_plan_audit_logs" { effect: Effect::Read }
    /// What a seller knows of the caller itself.
    GetPrincipal = "get_principal" { effect: Effect::Read }
    /// Products that fit a brief, the whole catalogue, or the next draft of proposals.
    GetProducts = "get_products" { effect: Effect::Read }
    /// A list of properties.
    GetPropertyList = "get_property_list" { effect: Effect::Read }
    /// How the reporting of a media buy stands.
    GetReportingStatus = "get_reporting_status" { effect: Effect::Read }
    /// The rights that can be licensed.
    GetRights = "get_rights" { effect: Effect::Read }
    /// Signals that can be bought for targeting.
    GetSignals = "get_signals" { effect: Effect::Read }
    /// How far a submitted task is.
    GetTaskStatus = "get_task_status" { effect: Effect::Read }
    /// Asks which packages a user may see.
    IdentityMatch = "identity_match" { effect: Effect::Read }
    /// What has changed in an account.
    ListAccountChanges = "list_account_changes" { effect: Effect::Read }
    /// The accounts that the caller may use.
    ListAccounts = "list_accounts" { effect: Effect::Read }
    /// The lists of collections of an account.
    ListCollectionLists = "list_collection_lists" { effect: Effect::Read }
    /// The content standards of an account.
    ListContentStandards = "list_content_standards" { effect: Effect::Read }
    /// The creative formats that are accepted.
    ListCreativeFormats = "list_creative_formats" { effect: Effect::Read }
    /// The creatives of the library.
    ListCreatives = "list_creatives" { effect: Effect::Read }
    /// Products that fit criteria.
    ListProducts = "list_products" { effect: Effect::Read }
    /// The lists of properties of an account.
    ListPropertyLists = "list_property_lists" { effect: Effect::Read }
    /// The caller's tasks.
    ListTasks = "list_tasks" { effect: Effect::Read }
    /// What can be built by `build_creative`.
    ListTransformers = "list_transformers" { effect: Effect::Read }
    /// Reports conversion events.
    LogEvent = "log_event" { effect: Effect::Keyed }
    /// Shows how a creative will look.
    PreviewCreative = "preview_creative" { effect: Effect::Read }
    /// Tells how well a media buy performs.
    ProvidePerformanceFeedback = "provide_performance_feedback" { effect: Effect::Keyed }
    /// Changes draft proposals, or commits them.
    RefineProposals = "refine_proposals" { effect: Effect::Keyed }
    /// Tells the governance agent of a change to a plan.
    ReportPlanAdjustment = "report_plan_adjustment" { effect: Effect::Keyed }
    /// Tells the governance agent what came of an action.
    ReportPlanOutcome = "report_plan_outcome" { effect: Effect::Keyed }
    /// Tells what was used of signals and rights.
    ReportUsage = "report_usage" { effect: Effect::Keyed }
    /// Asks for draft proposals for a brief.
    RequestProposals = "request_proposals" { effect: Effect::Keyed }
    /// Looks for brands.
    SearchBrands = "search_brands" { effect: Effect::Read }
    /// What is offered in a sponsored conversation.
    SiGetOffering = "si_get_offering" { effect: Effect::Read }
    /// Begins a sponsored conversation.
    SiInitiateSession = "si_initiate_session" { effect: Effect::Keyed }
    /// Says something in a sponsored conversation.
    SiSendMessage = "si_send_message" { effect: Effect::Keyed }
    /// Ends a sponsored conversation.
    SiTerminateSession = "si_terminate_session" { effect: Effect::Once }
    /// Opens advertiser accounts and changes how they are billed.
    SyncAccounts = "sync_accounts" { effect: Effect::Keyed }
    /// Says where notifications about an agent go.
    SyncAgentNotificationConfigs = "sync_agent_notification_configs" { effect: Effect::Keyed }
    /// Uploads audiences and changes who belongs to them.
    SyncAudiences = "sync_audiences" { effect: Effect::Keyed }
    /// Uploads catalogs of what an advertiser sells.
    SyncCatalogs = "sync_catalogs" { effect: Effect::Keyed }
    /// Puts creatives into the library, changes them and assigns them to packages.
    SyncCreatives = "sync_creatives" { effect: Effect::Keyed }
    /// Sets up where conversion events come from.
    SyncEventSources = "sync_event_sources" { effect: Effect::Keyed }
    /// Names the governance agent of an account.
    SyncGovernance = "sync_governance" { effect: Effect::Keyed }
    /// Registers campaign plans with the governance role.
    SyncPlans = "sync_plans" { effect: Effect::Keyed }
    /// Says where notifications and reports for the caller go.
    SyncPrincipal = "sync_principal" { effect: Effect::Keyed }
    /// Says which reports have come, and what they came to.
    SyncReportingReceipts = "sync_reporting_receipts" { effect: Effect::Keyed }
    /// Says which reports are missing or wrong.
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
