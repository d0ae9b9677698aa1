//! Catalog of the AdCP error codes: 45 of 3.0, 47 of 3.1 and 28 of 3.2. The vocabulary is open; an
//! unknown code is a value.
// The source is AdCP 3.1, "Error Handling", and the published `error-code.json`.

use AdcpRelease::{V3_0, V3_1, V3_2};
use Recovery::{Correctable, Terminal, Transient};
use RecoveryRule::{
    Action, Advisory, AgentBilling, Billing, Class, Context, Credentials, Final, Gate, InFlight,
    Leak, Misconfigured, Moved, Never, NewKey, Permission, Person, Reconcile, Renewal, Reread,
    Scope, Seller, Setup, Strip, Throttled,
};

use crate::error::{AdcpRelease, Recovery, RecoveryRule};
use tradepost_document::catalog::catalog;

catalog! {
/// Error codes of AdCP.
pub enum AdcpCode {
    /// Recovery class, unless the error states another one.
    // The error's own class wins over the catalog's (AdCP 3.1, "Error handling"; D-2).
    recovery: Recovery,
    /// First release with the code.
    since: AdcpRelease,
    /// Advice for the buyer.
    hint: &'static str;
    /// Rule for the buyer beyond the recovery class.
    rule: RecoveryRule = Class,
    /// JSON-RPC code for refusals by infrastructure before a task is dispatched.
    jsonrpc: Option<i32> = None,
    /// Replacement of a deprecated code.
    retired: Option<&'static str> = None,
    /// Equivalent code in earlier releases, only where the meaning is the same: a caller that gets
    /// an unknown code can still use its recovery class.
    // A code from the pinned release is preferred where an equivalent exists (AdCP 3.1, "Error
    // handling"; D-6).
    before: Option<AdcpCode> = None,
}
/// The request is malformed, lacks something required or violates its schema.
InvalidRequest = "INVALID_REQUEST" { recovery: Correctable, since: V3_0,
    hint: "correct what field and issues name and send again"; rule: Context }
/// Credentials are missing, or those presented were rejected; only the caller knows which.
AuthRequired = "AUTH_REQUIRED" { recovery: Correctable, since: V3_0,
    hint: "give a credential if none was sent; otherwise have it replaced by a person";
    rule: Credentials, retired: Some("AUTH_MISSING or AUTH_INVALID") }
/// The request carried no credential.
AuthMissing = "AUTH_MISSING" { recovery: Correctable, since: V3_1,
    hint: "send a credential in the Authorization header";
    rule: Credentials, jsonrpc: Some(-32028), before: Some(AdcpCode::AuthRequired) }
/// The presented credential was rejected: it is revoked, has expired, or has a wrong signature.
AuthInvalid = "AUTH_INVALID" { recovery: Terminal, since: V3_1,
    hint: "renew an expired token once; otherwise have the credential replaced by a person";
    rule: Renewal, before: Some(AdcpCode::AuthRequired) }
/// A platform behind the seller still has to be connected, or has to give its permission.
AuthorizationRequired = "AUTHORIZATION_REQUIRED" { recovery: Correctable, since: V3_1,
    hint: "have the owner complete what details name, then send again"; rule: Person }
/// The caller has sent too many requests.
RateLimited = "RATE_LIMITED" { recovery: Transient, since: V3_0,
    hint: "wait for retry_after seconds and send the same request again";
    rule: Throttled, jsonrpc: Some(-32029) }
/// The seller is temporarily unavailable.
ServiceUnavailable = "SERVICE_UNAVAILABLE" { recovery: Transient, since: V3_0,
    hint: "retry the same request later, with backoff"; jsonrpc: Some(-32027) }
/// The seller's configuration is wrong; neither waiting nor changing the request helps.
ConfigurationError = "CONFIGURATION_ERROR" { recovery: Terminal, since: V3_1,
    hint: "tell the people who run the seller";
    rule: Misconfigured, before: Some(AdcpCode::ServiceUnavailable) }
/// The request violates the seller's content or advertising policies.
PolicyViolation = "POLICY_VIOLATION" { recovery: Correctable, since: V3_0,
    hint: "read the policy in details and change the request" }
/// A product id is unknown or has expired.
ProductNotFound = "PRODUCT_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "remove the unknown ids, or discover again with get_products" }
/// The product is sold out or no longer on offer.
ProductUnavailable = "PRODUCT_UNAVAILABLE" { recovery: Correctable, since: V3_0,
    hint: "choose another product" }
/// The proposal has expired.
ProposalExpired = "PROPOSAL_EXPIRED" { recovery: Correctable, since: V3_0,
    hint: "get a fresh proposal with get_products" }
/// The budget is below the seller's minimum.
BudgetTooLow = "BUDGET_TOO_LOW" { recovery: Correctable, since: V3_0,
    hint: "raise the budget to the minimum in details" }
/// The creative did not pass the content review.
CreativeRejected = "CREATIVE_REJECTED" { recovery: Correctable, since: V3_0,
    hint: "revise the creative according to the seller's advertising policies" }
/// A text asset has a value that the format does not list.
CreativeValueNotAllowed = "CREATIVE_VALUE_NOT_ALLOWED" { recovery: Correctable, since: V3_1,
    hint: "pick a value that the format lists" }
/// The seller does not support a feature or a field of the request.
UnsupportedFeature = "UNSUPPORTED_FEATURE" { recovery: Correctable, since: V3_0,
    hint: "read get_adcp_capabilities and leave out what is not supported" }
/// No pricing option covers the output format that a build asks for.
UnpriceableOutput = "UNPRICEABLE_OUTPUT" { recovery: Correctable, since: V3_1,
    hint: "ask for an output format that has a price" }
/// The product does not report in windows of this size.
UnsupportedGranularity = "UNSUPPORTED_GRANULARITY" { recovery: Correctable, since: V3_1,
    hint: "choose a granularity that the product declares, or leave it out" }
/// The seller does not set up accounts in the way that this entry requests.
UnsupportedProvisioning = "UNSUPPORTED_PROVISIONING" { recovery: Correctable, since: V3_1,
    hint: "send the entry in the form that the seller supports" }
/// The audience has too few members to be targeted.
AudienceTooSmall = "AUDIENCE_TOO_SMALL" { recovery: Correctable, since: V3_0,
    hint: "broaden the targeting or add members" }
/// The account is unknown, or the caller may not see it.
AccountNotFound = "ACCOUNT_NOT_FOUND" { recovery: Terminal, since: V3_0,
    hint: "check it with list_accounts, or ask the seller" }
/// The account exists, but has to be set up before it can be used.
AccountSetupRequired = "ACCOUNT_SETUP_REQUIRED" { recovery: Correctable, since: V3_0,
    hint: "have a person complete the setup that details describe"; rule: Setup }
/// Several accounts match the description.
AccountAmbiguous = "ACCOUNT_AMBIGUOUS" { recovery: Correctable, since: V3_0,
    hint: "name one by account_id" }
/// The account owes money and cannot buy until it is paid.
AccountPaymentRequired = "ACCOUNT_PAYMENT_REQUIRED" { recovery: Terminal, since: V3_0,
    hint: "have the outstanding balance paid" }
/// The account is suspended.
AccountSuspended = "ACCOUNT_SUSPENDED" { recovery: Terminal, since: V3_0,
    hint: "ask the seller to lift the suspension" }
/// The format cannot show a disclosure that the brief requires.
ComplianceUnsatisfied = "COMPLIANCE_UNSATISFIED" { recovery: Correctable, since: V3_0,
    hint: "choose a format that supports the disclosure" }
/// A governance agent rejected the transaction.
GovernanceDenied = "GOVERNANCE_DENIED" { recovery: Correctable, since: V3_0,
    hint: "restructure the buy, or ask a person who may approve it" }
/// The budget of the account or campaign is spent.
BudgetExhausted = "BUDGET_EXHAUSTED" { recovery: Terminal, since: V3_0,
    hint: "have funds added or the cap raised" }
/// The operation would spend more than is allocated.
BudgetExceeded = "BUDGET_EXCEEDED" { recovery: Correctable, since: V3_0,
    hint: "ask for less, or allocate more" }
/// The first item alone would cost more than max_spend.
BudgetCapReached = "BUDGET_CAP_REACHED" { recovery: Correctable, since: V3_1,
    hint: "raise max_spend, or ask for fewer items" }
/// Another party changed the resource between the read and the write.
Conflict = "CONFLICT" { recovery: Transient, since: V3_0,
    hint: "read the resource again and send the change against its current state"; rule: Reread }
/// The idempotency key was used before with another payload.
IdempotencyConflict = "IDEMPOTENCY_CONFLICT" { recovery: Correctable, since: V3_0,
    hint: "use a fresh key for a new request, or repeat the original exactly"; rule: NewKey }
/// The idempotency key was used so long ago that the seller no longer has the answer.
IdempotencyExpired = "IDEMPOTENCY_EXPIRED" { recovery: Correctable, since: V3_0,
    hint: "find out whether the first request succeeded before using a fresh key"; rule: Reconcile }
/// A request with this idempotency key is still in progress.
IdempotencyInFlight = "IDEMPOTENCY_IN_FLIGHT" { recovery: Transient, since: V3_1,
    hint: "wait and send the same request with the same key, never a fresh one"; rule: InFlight }
/// The creative arrived after the package's deadline.
CreativeDeadlineExceeded = "CREATIVE_DEADLINE_EXCEEDED" { recovery: Correctable, since: V3_0,
    hint: "negotiate a later deadline with the seller" }
/// The agent could not fetch an asset of the creative.
CreativeInaccessible = "CREATIVE_INACCESSIBLE" { recovery: Correctable, since: V3_1,
    hint: "make the asset's URL readable without a credential" }
/// The resource is in a state that does not permit the operation.
InvalidState = "INVALID_STATE" { recovery: Correctable, since: V3_0,
    hint: "read the current state and choose an operation that it permits" }
/// The media buy is unknown, or the caller may not see it.
MediaBuyNotFound = "MEDIA_BUY_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "check media_buy_id with get_media_buys" }
/// The media buy or package cannot be canceled now.
NotCancellable = "NOT_CANCELLABLE" { recovery: Correctable, since: V3_0,
    hint: "read the seller's cancellation policy, or ask the seller" }
/// The media buy has no such package.
PackageNotFound = "PACKAGE_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "check package_id with get_media_buys" }
/// The creative library has no such creative.
CreativeNotFound = "CREATIVE_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "check creative_id with list_creatives, or register it with sync_creatives" }
/// The agent's catalog has no such signal.
SignalNotFound = "SIGNAL_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "check the signal with get_signals" }
/// The creative was built for a signal that the package does not target.
SignalTargetingIncompatible = "SIGNAL_TARGETING_INCOMPATIBLE" { recovery: Correctable, since: V3_1,
    hint: "assign it to a package with the same signal, or build it again" }
/// The session is unknown or has ended.
SessionNotFound = "SESSION_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "begin a session with si_initiate_session" }
/// The governance plan is unknown, or the caller may not see it.
PlanNotFound = "PLAN_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "register the plan with sync_plans first" }
/// An entity that the request refers to is unknown, or the caller may not see it.
ReferenceNotFound = "REFERENCE_NOT_FOUND" { recovery: Correctable, since: V3_0,
    hint: "check the identifier with the task that lists such entities" }
/// The session has ended and accepts no more messages.
SessionTerminated = "SESSION_TERMINATED" { recovery: Correctable, since: V3_0,
    hint: "begin a session with si_initiate_session" }
/// Values of the request are wrong, or violate a business rule.
ValidationError = "VALIDATION_ERROR" { recovery: Correctable, since: V3_0,
    hint: "correct every entry of issues and send again" }
/// The offer of a product has expired.
ProductExpired = "PRODUCT_EXPIRED" { recovery: Correctable, since: V3_0,
    hint: "discover again with get_products" }
/// The proposal is a draft and cannot be bought yet.
ProposalNotCommitted = "PROPOSAL_NOT_COMMITTED" { recovery: Correctable, since: V3_0,
    hint: "finalize it with get_products first" }
/// The proposal is unknown, or the seller no longer has it.
ProposalNotFound = "PROPOSAL_NOT_FOUND" { recovery: Correctable, since: V3_1,
    hint: "finalize again with get_products for a current proposal_id";
    before: Some(AdcpCode::ReferenceNotFound) }
/// The seller cannot finalize several proposals in one request.
MultiFinalizeUnsupported = "MULTI_FINALIZE_UNSUPPORTED" { recovery: Correctable, since: V3_1,
    hint: "finalize one proposal in each get_products call" }
/// The proposal needs a signed insertion order.
IoRequired = "IO_REQUIRED" { recovery: Correctable, since: V3_0,
    hint: "have a person who may sign accept the terms, and send io_acceptance"; rule: Person }
/// The seller does not accept the proposed measurement terms.
TermsRejected = "TERMS_REJECTED" { recovery: Correctable, since: V3_0,
    hint: "adjust the terms, or leave them out for the product's own" }
/// The change goes beyond the terms of the quoted price.
RequoteRequired = "REQUOTE_REQUIRED" { recovery: Correctable, since: V3_0,
    hint: "stay within the quote, or get a new one with get_products" }
/// The seller does not support the requested version of AdCP.
VersionUnsupported = "VERSION_UNSUPPORTED" { recovery: Correctable, since: V3_0,
    hint: "pin one of details.supported_versions" }
/// The campaign is on hold until a person has reviewed it.
CampaignSuspended = "CAMPAIGN_SUSPENDED" { recovery: Transient, since: V3_0,
    hint: "try again later; ask the plan's operator if it persists" }
/// A governance agent cannot be reached.
GovernanceUnavailable = "GOVERNANCE_UNAVAILABLE" { recovery: Transient, since: V3_0,
    hint: "try again later; ask the plan's operator if it persists" }
/// The caller may not do this, or a signed token that it needs is missing or wrong.
PermissionDenied = "PERMISSION_DENIED" { recovery: Correctable, since: V3_0,
    hint: "get a token with check_governance, or ask the seller"; rule: Permission }
/// The caller's scope on this account does not include the task.
ScopeInsufficient = "SCOPE_INSUFFICIENT" { recovery: Correctable, since: V3_1,
    hint: "have a broader scope granted, or use a task that is permitted";
    rule: Scope, before: Some(AdcpCode::PermissionDenied) }
/// The caller has read-only access to this account.
ReadOnlyScope = "READ_ONLY_SCOPE" { recovery: Correctable, since: V3_1,
    hint: "have write access granted, or use a task that only reads";
    rule: Scope, before: Some(AdcpCode::PermissionDenied) }
/// The caller may not set a field of the request.
FieldNotPermitted = "FIELD_NOT_PERMITTED" { recovery: Correctable, since: V3_1,
    hint: "leave the field out and send again"; rule: Strip, before: Some(AdcpCode::PermissionDenied) }
/// The creative has no provenance, and the seller requires it.
ProvenanceRequired = "PROVENANCE_REQUIRED" { recovery: Correctable, since: V3_1,
    hint: "add a provenance object" }
/// The provenance lacks the digital source type.
ProvenanceDigitalSourceTypeMissing = "PROVENANCE_DIGITAL_SOURCE_TYPE_MISSING" {
    recovery: Correctable, since: V3_1,
    hint: "set provenance.digital_source_type" }
/// The provenance does not say whether a disclosure is required, or where.
ProvenanceDisclosureMissing = "PROVENANCE_DISCLOSURE_MISSING" { recovery: Correctable, since: V3_1,
    hint: "set provenance.disclosure, with its jurisdictions" }
/// The provenance is not embedded in the creative itself.
ProvenanceEmbeddedMissing = "PROVENANCE_EMBEDDED_MISSING" { recovery: Correctable, since: V3_1,
    hint: "embed the provenance with a provider that the seller accepts" }
/// The seller does not accept the verifier that the provenance names.
ProvenanceVerifierNotAccepted = "PROVENANCE_VERIFIER_NOT_ACCEPTED" {
    recovery: Correctable, since: V3_1,
    hint: "use a verifier of the seller's accepted_verifiers" }
/// A verifier's result contradicts the claim of the provenance.
ProvenanceClaimContradicted = "PROVENANCE_CLAIM_CONTRADICTED" { recovery: Correctable, since: V3_1,
    hint: "correct the claim or replace the creative" }
/// The seller does not accept the evaluator that the request names.
EvaluatorAgentNotAccepted = "EVALUATOR_AGENT_NOT_ACCEPTED" { recovery: Correctable, since: V3_1,
    hint: "name an accepted evaluator, or none" }
/// The seller does not support this billing model, or not for this account.
BillingNotSupported = "BILLING_NOT_SUPPORTED" { recovery: Correctable, since: V3_1,
    hint: "choose a value of supported_billing, or leave billing out";
    rule: Billing, before: Some(AdcpCode::UnsupportedFeature) }
/// The seller supports this billing model, but not for this agent.
BillingNotPermittedForAgent = "BILLING_NOT_PERMITTED_FOR_AGENT" {
    recovery: Correctable, since: V3_1,
    hint: "use details.suggested_billing once; without it a person has to arrange it"; rule: AgentBilling }
/// The account is billed outside of AdCP, so the seller accepts no usage reports for it.
BillingOutOfBand = "BILLING_OUT_OF_BAND" { recovery: Terminal, since: V3_1,
    hint: "do not report usage for this account; reconcile outside of AdCP"; rule: Final }
/// The seller does not accept these payment terms.
PaymentTermsNotSupported = "PAYMENT_TERMS_NOT_SUPPORTED" { recovery: Correctable, since: V3_1,
    hint: "leave payment_terms out, or choose others"; before: Some(AdcpCode::UnsupportedFeature) }
/// The request costs money and names no brand.
BrandRequired = "BRAND_REQUIRED" { recovery: Correctable, since: V3_1,
    hint: "add brand with its domain" }
/// The seller has suspended its relationship with this agent.
AgentSuspended = "AGENT_SUSPENDED" { recovery: Terminal, since: V3_1,
    hint: "have a person settle it with the seller"; rule: Gate }
/// The seller has ended its relationship with this agent.
AgentBlocked = "AGENT_BLOCKED" { recovery: Terminal, since: V3_1,
    hint: "have a person settle it with the seller"; rule: Gate }
/// The arguments of the request contain a credential or key material.
CredentialInArgs = "CREDENTIAL_IN_ARGS" { recovery: Terminal, since: V3_1,
    hint: "send it on the transport instead, and replace it: it may have been logged"; rule: Leak }
/// The media buy does not permit this action, or not at this time.
ActionNotAllowed = "ACTION_NOT_ALLOWED" { recovery: Correctable, since: V3_1,
    hint: "read details.reason and currently_available_actions"; rule: Action }
/// The seller shows private fields in a public placement.
PrivateFieldInPublicPlacement = "PRIVATE_FIELD_IN_PUBLIC_PLACEMENT" {
    recovery: Correctable, since: V3_1,
    hint: "drop the placement and tell the seller"; rule: Seller }
/// A legacy format has no canonical form; the product itself is valid.
FormatProjectionFailed = "FORMAT_PROJECTION_FAILED" { recovery: Correctable, since: V3_1,
    hint: "use the legacy name; ask the seller to declare the canonical form"; rule: Seller }
/// A product declares its formats twice, and the two declarations disagree.
FormatDeclarationDivergent = "FORMAT_DECLARATION_DIVERGENT" { recovery: Correctable, since: V3_1,
    hint: "prefer format_options and tell the seller"; rule: Seller }
/// A format cannot be mapped to one legacy name.
FormatDeclarationV1Ambiguous = "FORMAT_DECLARATION_V1_AMBIGUOUS" {
    recovery: Correctable, since: V3_1,
    hint: "ask the seller to declare v1_format_ref"; rule: Seller }
/// A placement refers to a format option that is not declared.
FormatOptionUnresolved = "FORMAT_OPTION_UNRESOLVED" { recovery: Correctable, since: V3_1,
    hint: "drop the format from the placement and tell the publisher"; rule: Seller }
/// Only some sizes of a format have a legacy name.
FormatDeclarationV1LossyMultiSize = "FORMAT_DECLARATION_V1_LOSSY_MULTI_SIZE" {
    recovery: Correctable, since: V3_1,
    hint: "use the sizes that have one; ask the seller for the others"; rule: Seller }
/// The agent cannot build the target format.
FormatNotSupported = "FORMAT_NOT_SUPPORTED" { recovery: Correctable, since: V3_1,
    hint: "choose a format that get_adcp_capabilities lists" }
/// A tracker was sent in an older form that carries less information.
PixelTrackerLossyDowngrade = "PIXEL_TRACKER_LOSSY_DOWNGRADE" { recovery: Correctable, since: V3_1,
    hint: "accept the loss, or choose a seller that knows the newer form"; rule: Advisory }
/// A tracker's measurement was inferred from its name.
PixelTrackerUpgradeInferred = "PIXEL_TRACKER_UPGRADE_INFERRED" { recovery: Correctable, since: V3_1,
    hint: "check the inference in details if precision matters"; rule: Advisory }
/// The answer comes from a stale cache entry, because a source could not be reached.
StaleResponse = "STALE_RESPONSE" { recovery: Transient, since: V3_1,
    hint: "use the answer, or ask again later for a fresh one" }
/// The seller could not fetch the catalog feed.
FeedFetchFailed = "FEED_FETCH_FAILED" { recovery: Correctable, since: V3_1,
    hint: "check the feed's address, access and format" }
/// The feed is not in the format that was declared.
InvalidFeedFormat = "INVALID_FEED_FORMAT" { recovery: Correctable, since: V3_1,
    hint: "declare the format that the feed has" }
/// Items of the catalog are invalid.
ItemValidationFailed = "ITEM_VALIDATION_FAILED" { recovery: Correctable, since: V3_1,
    hint: "correct the items that item_issues names" }
/// The account has reached its maximum number of catalogs.
CatalogLimitExceeded = "CATALOG_LIMIT_EXCEEDED" { recovery: Correctable, since: V3_1,
    hint: "remove a catalog, or ask the seller for more" }
/// The creative has no variant in a language that the format accepts.
CreativeLocaleNotAccepted = "CREATIVE_LOCALE_NOT_ACCEPTED" { recovery: Correctable, since: V3_2,
    hint: "supply a variant in an accepted language" }
/// Neither the request nor the entities that it refers to identify the account.
AccountRequired = "ACCOUNT_REQUIRED" { recovery: Correctable, since: V3_2,
    hint: "pass account" }
/// The account's natural key has changed.
AccountMoved = "ACCOUNT_MOVED" { recovery: Correctable, since: V3_2,
    hint: "use details.current_account and a fresh idempotency key"; rule: Moved }
/// Another account has the requested identity.
AccountIdentityConflict = "ACCOUNT_IDENTITY_CONFLICT" { recovery: Correctable, since: V3_2,
    hint: "choose another identity, or keep the current one" }
/// A place that a package targets no longer exists in the catalog.
PlaceTargetUnavailable = "PLACE_TARGET_UNAVAILABLE" { recovery: Correctable, since: V3_2,
    hint: "choose its replacement and update the package" }
/// The bidding settings of the media buy and of its packages conflict at the provider.
BiddingPlacementConflict = "BIDDING_PLACEMENT_CONFLICT" { recovery: Correctable, since: V3_2,
    hint: "align the two, or choose another budget mode" }
/// A package has both the new and the old form of a bidding policy.
AmbiguousBiddingPolicy = "AMBIGUOUS_BIDDING_POLICY" { recovery: Correctable, since: V3_2,
    hint: "keep one of the two" }
/// Several selectors of a package select different formats.
ConflictingSelectors = "CONFLICTING_SELECTORS" { recovery: Correctable, since: V3_2,
    hint: "keep one selector, or make them agree" }
/// The provenance does not say whether it depicts something synthetic.
ProvenanceSyntheticDepictionMissing = "PROVENANCE_SYNTHETIC_DEPICTION_MISSING" {
    recovery: Correctable, since: V3_2,
    hint: "set provenance.synthetic_depiction" }
/// The product has no such pricing option.
InvalidPricingOption = "INVALID_PRICING_OPTION" { recovery: Correctable, since: V3_2,
    hint: "choose one of the product's pricing_options" }
/// A usage record lacks a value or has a wrong one.
InvalidUsageData = "INVALID_USAGE_DATA" { recovery: Correctable, since: V3_2,
    hint: "correct the record that field names" }
/// A signed answer has expired.
SignedResponseEnvelopeExpired = "SIGNED_RESPONSE_ENVELOPE_EXPIRED" {
    recovery: Transient, since: V3_2,
    hint: "request a newly signed answer" }
/// A signed answer belongs to another request.
SignedResponseRequestHashMismatch = "SIGNED_RESPONSE_REQUEST_HASH_MISMATCH" {
    recovery: Correctable, since: V3_2,
    hint: "send the intended request again" }
/// A signed answer was signed for another brand.
SignedResponseTenantMismatch = "SIGNED_RESPONSE_TENANT_MISMATCH" {
    recovery: Correctable, since: V3_2,
    hint: "check the brand's domain and the agent's address" }
/// The VAST document cannot be read.
VastParseFailed = "VAST_PARSE_FAILED" { recovery: Correctable, since: V3_2,
    hint: "correct the document as details.reason says" }
/// The VAST document's version is not the declared one, or is not accepted.
VastVersionMismatch = "VAST_VERSION_MISMATCH" { recovery: Correctable, since: V3_2,
    hint: "use a version of details.supported_versions" }
/// The chain of VAST wrappers is too long, circular or broken.
VastWrapperDepthExceeded = "VAST_WRAPPER_DEPTH_EXCEEDED" { recovery: Correctable, since: V3_2,
    hint: "shorten the chain" }
/// The creative does not have the required size.
CreativeSizeMismatch = "CREATIVE_SIZE_MISMATCH" { recovery: Correctable, since: V3_2,
    hint: "supply the creative in the required size" }
/// The creative has no click URL.
CreativeMissingClickUrl = "CREATIVE_MISSING_CLICK_URL" { recovery: Correctable, since: V3_2,
    hint: "add the click URL" }
/// The creative is invalid, and no other code describes the problem.
CreativeValidationFailedGeneric = "CREATIVE_VALIDATION_FAILED_GENERIC" {
    recovery: Correctable, since: V3_2,
    hint: "correct the creative as the message says" }
/// The same revision of a creative was sent with different content.
CreativeRevisionContentMismatch = "CREATIVE_REVISION_CONTENT_MISMATCH" {
    recovery: Correctable, since: V3_2,
    hint: "give changed content a new revision" }
/// The write succeeded, and the resource that it created has been removed since.
CommittedResourcePurged = "COMMITTED_RESOURCE_PURGED" { recovery: Terminal, since: V3_2,
    hint: "do not send the request again: the write has taken effect"; rule: Never }
/// The cursor of a list has expired.
CursorExpired = "CURSOR_EXPIRED" { recovery: Correctable, since: V3_2,
    hint: "start the list again" }
/// The seller does not accept the governance agent for this account.
GovernanceAgentNotAccepted = "GOVERNANCE_AGENT_NOT_ACCEPTED" { recovery: Correctable, since: V3_2,
    hint: "name a governance agent that the seller accepts" }
/// A custom format has become a canonical one; both are accepted during a transition.
FormatShapePromoted = "FORMAT_SHAPE_PROMOTED" { recovery: Correctable, since: V3_2,
    hint: "move to the canonical form in details before the transition ends"; rule: Advisory }
/// A source that the request names could not be read.
SourceAccessFailed = "SOURCE_ACCESS_FAILED" { recovery: Correctable, since: V3_2,
    hint: "make the source readable, or name another" }
/// The agent cannot determine the intended representation of the creative.
CreativeRepresentationUnresolved = "CREATIVE_REPRESENTATION_UNRESOLVED" {
    recovery: Correctable, since: V3_2,
    hint: "name one representation" }
/// A macro could not be resolved.
MacroResolutionFailed = "MACRO_RESOLUTION_FAILED" { recovery: Correctable, since: V3_2,
    hint: "correct the macro, or leave it out" }
}
