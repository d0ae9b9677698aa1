//! Agent of a dealer: answers each AAP message at once, and keeps no tasks.
//!
//! Checks follow the order of docs/requirements/aap.md, "Which code wins": the rate limit, the skill and its scope, the
//! consent, the rest of the schema, the channel, the idempotency key, and then the dealer's own
//! data.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tradepost_a2a::error::{A2aCode, A2aRefusal as ProtocolRefusal};
use tradepost_a2a::{A2aRequest, Content, Operation, Part, SendMessage};
use tradepost_aap::{
    self as aap, AapReply, AapRequest, DealerInformation, DealerTerms, Search, Skill, Version,
};
use tradepost_client::trust::describe;
use tradepost_dealer::empty_search::EmptySearchText;
use tradepost_dealer::inventory::{CacheKey, CurrentYear};
use tradepost_dealer::lead::{Conversation, LeadAnswer, LeadSubmission, PersonAgreement};
use tradepost_dealer::skills::{self, SkillError};
use tradepost_dealer::week;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_keys::private::SigningKey;
use tradepost_server::agent::{
    Agent, AgentOutcome, AgentRequest, Binding, Caller, EarlyError, INTERNAL_ERROR_RETRY_AFTER,
    ProfileRefusal, RequestMeta, ResponsibleParty,
};
use tradepost_server::auth::permit;
use tradepost_server::auth::{AuthDeps, AuthRefusal, Authenticator};
use tradepost_server::card::{ENDPOINT_PATH, PublishedCard};
use tradepost_server::clock::{self, Clock};
use tradepost_server::fault::{InternalError, LATE};
use tradepost_server::limit::{Limiter, RateLimitExceeded};
use tradepost_server::permission::Permission;
use tradepost_server::signed_text::Seal;
use tradepost_server::tools::Tools;
use tradepost_store::empty_searches::EmptySearch;
use tradepost_store::{OldLeadSelection, Store, StoreTransaction};

use super::answer;
use super::card;
use super::conversation::Conversations;
use super::envelope::{check_envelope, check_named, versions};
use super::inventories::{Inventories, InventoryHandle};
use super::mcp::McpEndpoint;
use super::sender::{evidence, sender};
use super::ucp::UcpEndpoint;
use crate::config::{DealerConfig, ListenOrigin};
use crate::delivery::Deliveries;
use crate::empty_searches::EmptySearchRecorder;
use crate::gate;

/// Agent of a dealer in service.
#[derive(Debug)]
pub struct DealerAgent {
    /// Configuration.
    pub dealer: Arc<DealerConfig>,
    /// Agent card.
    pub card: PublishedCard,
    /// Address of the agent on its card.
    pub base_url: String,
    store: Arc<Store>,
    pub(super) clock: Clock,
    profile: Arc<DealerInformation>,
    /// Vehicles for sale.
    pub inventory: InventoryHandle,
    limiter: Limiter,
    pub(super) conversations: Conversations,
    /// The skills as tools of MCP, unless they are switched off.
    pub(super) mcp: Option<McpEndpoint>,
    /// The catalog of UCP, unless it is switched off.
    pub(super) ucp: Option<UcpEndpoint>,
    deliveries: Arc<Deliveries>,
    empty_searches: Arc<EmptySearchRecorder>,
    /// True when it answers no requests for now. Leads that it has accepted are still processed.
    pub is_suspended: bool,
    /// Authenticates callers.
    pub auth: Authenticator,
}

/// Shared dependencies of dealers.
#[derive(Debug, Clone)]
pub struct DealerDeps {
    /// Store of all dealers.
    pub store: Arc<Store>,
    /// Authentication of callers.
    pub means: AuthDeps,
    /// Address on which the process listens: cards name it when the configuration has no public
    /// address.
    pub origin: ListenOrigin,
    /// Woken when there is a new lead.
    pub deliveries: Arc<Deliveries>,
    /// Cache of inventories.
    pub inventories: Arc<Inventories>,
    /// Key that signs conversation ids.
    pub seal: Arc<Seal>,
    /// Recorder of searches that found nothing.
    pub empty_searches: Arc<EmptySearchRecorder>,
}

/// A call of a skill, on any binding.
pub(super) struct SkillCall<'a> {
    /// Caller.
    pub(super) caller: &'a Caller,
    /// Raw request data.
    pub(super) sent: RequestMeta<'a>,
    /// Conversation that it belongs to. A call that only reads over MCP has none.
    pub(super) conversation: Option<&'a Conversation>,
    /// Version of the profile.
    pub(super) version: Version,
    /// What the person agreed to, for a lead that was agreed to here.
    pub(super) agreed: Option<PersonAgreement>,
}

/// Reason why a message gets no reply.
pub(super) enum MessageRefused {
    /// Refused by the profile.
    Profile(aap::AapRefusal),
    /// Not permitted to the caller.
    Denied(AuthRefusal),
    /// Internal error.
    Broken(InternalError),
}

impl From<aap::AapRefusal> for MessageRefused {
    fn from(refusal: aap::AapRefusal) -> Self {
        Self::Profile(refusal)
    }
}

impl From<AuthRefusal> for MessageRefused {
    fn from(refusal: AuthRefusal) -> Self {
        Self::Denied(refusal)
    }
}

impl From<InternalError> for MessageRefused {
    fn from(error: InternalError) -> Self {
        Self::Broken(error)
    }
}

impl From<SkillError> for MessageRefused {
    fn from(error: SkillError) -> Self {
        match error {
            SkillError::Refused(refusal) => Self::Profile(refusal),
            SkillError::Broken(error) => Self::Broken(error),
        }
    }
}

impl DealerAgent {
    /// Opens a dealer, which may be suspended.
    ///
    /// # Errors
    /// Fails when the store fails, or a key file cannot be used.
    pub fn open(
        dealer: &Arc<DealerConfig>,
        is_suspended: bool,
        deps: &DealerDeps,
    ) -> Result<Self, InternalError> {
        let DealerDeps { store, means, origin, deliveries, inventories, seal, empty_searches } =
            deps;
        let clock = &means.clock;
        let base_url = card::base_url(dealer, *origin);
        let card = card::publish(dealer, &base_url, |hash| {
            let fresh = uuid::Uuid::now_v7().to_string();
            store.card_identity(&dealer.terms.id, hash, fresh, clock.now())
        })?;
        // Signed once: a signature for every request would cost more than the request.
        let card = match &dealer.card_signing {
            None => card,
            Some(signing) => {
                const CONTEXT: &str = "signing the agent card";
                let key = SigningKey::load(&signing.key_file, signing.kid.as_deref());
                let key = key.map_err(|why| InternalError::new(CONTEXT, why.to_string()))?;
                let signed = card.sign(&key, signing.jku.as_deref(), clock.now());
                signed.map_err(|problems| {
                    InternalError::new(CONTEXT, describe(&problems).join("; "))
                })?
            }
        };
        let inventory = inventories.handle(&dealer.terms.id, dealer.terms.tombstone_lifetime);
        Ok(Self {
            card,
            store: Arc::clone(store),
            clock: clock.clone(),
            profile: Arc::new(skills::profile(&dealer.terms)),
            inventory,
            limiter: Limiter::new(dealer.rate_limit.limit(), clock.clone())
                .among(&dealer.terms.id, store.permits()),
            conversations: Conversations::new(seal, &dealer.terms.id),
            mcp: dealer.mcp.then(|| McpEndpoint::new(dealer, &base_url, seal)),
            ucp: UcpEndpoint::open(dealer, &base_url, seal),
            auth: Authenticator::open(&dealer.terms.id, dealer.auth.clone(), means)?,
            dealer: Arc::clone(dealer),
            is_suspended,
            deliveries: Arc::clone(deliveries),
            empty_searches: Arc::clone(empty_searches),
            base_url,
        })
    }

    /// Answers a message in one of the dealer's versions, within a time. `activated` are the
    /// extensions that the transport names. A write in progress when the time ends is completed: a
    /// retry gets its result.
    async fn answer(&self, incoming: &AgentRequest<'_>, request: &SendMessage) -> AgentOutcome {
        let AgentRequest { caller, sent, activated, patience, .. } = *incoming;
        let versions = versions(&self.dealer, incoming.binding);
        if let Err(refusal) = check_envelope(&self.dealer, request) {
            return AgentOutcome::Protocol(refusal);
        }
        let data: Vec<&Value> = request
            .message
            .parts
            .iter()
            .filter_map(|part| match &part.content {
                Content::Data(data) => Some(data),
                Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
            })
            .collect();
        let named = [activated, &request.message.extensions];
        if let Err(refusal) = check_named(versions, named) {
            return AgentOutcome::Protocol(refusal);
        }
        let version = Version::choose(versions, named, data.first().copied());
        let named = request.message.context_id.as_deref();
        let conversation = self.conversations.named_or_new(named);
        let of_message = Some(&conversation);
        let call = SkillCall { caller, sent, conversation: of_message, version, agreed: None };
        let handled = within(patience, self.handle(&call, &data)).await;
        match handled {
            Ok(reply) => {
                AgentOutcome::Answer(Box::new(answer::message(version, conversation.id, reply)))
            }
            Err(MessageRefused::Profile(refusal)) => {
                let called = data.first();
                let called =
                    called.and_then(|data| aap::identify(data, &self.dealer.terms.skills).ok());
                let mut refusal = self.refuse(version, refusal, ResponsibleParty::Caller);
                refusal.skill = called.map(Skill::name);
                AgentOutcome::Profile(Box::new(refusal))
            }
            Err(MessageRefused::Denied(denied)) => AgentOutcome::Denied(denied),
            Err(MessageRefused::Broken(fault)) => {
                AgentOutcome::Profile(Box::new(self.internal_error(version, &fault)))
            }
        }
    }

    /// Converts a refusal of the profile, with its identity.
    pub(super) fn refuse(
        &self,
        version: Version,
        refusal: aap::AapRefusal,
        blame: ResponsibleParty,
    ) -> ProfileRefusal {
        let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
        let error = refusal.stamp(version, error_id, self.clock.now());
        answer::refusal(version, error, self.dealer.rate_limit.http_429, blame)
    }

    /// Converts an internal error, whose cause is only in the log.
    pub(super) fn internal_error(&self, version: Version, fault: &InternalError) -> ProfileRefusal {
        let blame = if fault.is_transient() {
            ResponsibleParty::ServerTemporarily
        } else {
            ResponsibleParty::Server
        };
        let refusal = self.refuse(
            version,
            aap::AapRefusal::internal_error(INTERNAL_ERROR_RETRY_AFTER),
            blame,
        );
        tracing::error!(
            agent = %self.dealer.terms.id,
            error_id = refusal.error_id.as_deref().unwrap_or_default(),
            cause = %fault.chain(),
            "a message could not be answered"
        );
        refusal
    }

    async fn handle(
        &self,
        call: &SkillCall<'_>,
        data: &[&Value],
    ) -> Result<AapReply, MessageRefused> {
        self.admit(call.caller)?;
        let &[data] = data else {
            return Err(aap::data_part_problem(data.len()).into());
        };
        let now = self.clock.now();
        let request = self.read(call, data, now)?;
        self.act(call, request, now).await
    }

    /// Counts a call against the rate limit of its caller.
    pub(super) fn admit(&self, caller: &Caller) -> Result<(), MessageRefused> {
        Ok(self.limiter.admit(&caller.limit_key()).map_err(rate_limited)?)
    }

    /// Reads the payload of a call that its caller may make.
    pub(super) fn read(
        &self,
        call: &SkillCall<'_>,
        data: &Value,
        now: Timestamp,
    ) -> Result<AapRequest, MessageRefused> {
        let terms = &self.dealer.terms;
        let skill = aap::identify(data, &terms.skills)?;
        let needed = Some(gate::of_skill(skill).into());
        permit::check(&call.caller.principal, Operation::SendMessage, needed)?;
        let clock_skew = terms.leads.clock_skew;
        let consent_lifetime = terms.leads.consent_lifetime;
        let terms = DealerTerms { now, clock_skew, consent_lifetime };
        Ok(aap::parse(skill, call.version, data, &terms)?)
    }

    /// Carries out a valid request.
    pub(super) async fn act(
        &self,
        call: &SkillCall<'_>,
        request: AapRequest,
        now: Timestamp,
    ) -> Result<AapReply, MessageRefused> {
        let terms = &self.dealer.terms;
        match request {
            // Needs no inventory, so it is answered while none can be loaded.
            AapRequest::DealerInformation => Ok(skills::dealer_information(&self.profile)),
            AapRequest::InventoryFacets(filters) => {
                self.repeat(CacheKey::Facets(filters, CurrentYear::from_timestamp(now)), now).await
            }
            AapRequest::InventorySearch(search) => {
                let year = CurrentYear::from_timestamp(now);
                self.repeat(CacheKey::Search(search, terms.search, year), now).await
            }
            AapRequest::InventoryVehicle(query) => {
                let inventory = self.inventory.inventory().await?;
                Ok(skills::vehicle(terms, &inventory, &query, now)?)
            }
            AapRequest::LeadSubmit(lead) => {
                let inventory = self.inventory.inventory().await?;
                let dealer = Arc::clone(&self.dealer);
                let new = || self.conversations.named_or_new(None);
                let conversation = call.conversation.cloned().unwrap_or_else(new);
                let evidence = evidence(call.caller, call.sent, uuid::Uuid::now_v7());
                let caller = sender(call.caller);
                let agreed = call.agreed.clone();
                let job = move |tx: &StoreTransaction<'_>| {
                    LeadSubmission {
                        dealer: &dealer.terms,
                        inventory: &inventory,
                        caller: &caller,
                        conversation: &conversation,
                        evidence: &evidence,
                        now,
                        lead: &lead,
                        agreed: agreed.as_ref(),
                        fresh_id: uuid::Uuid::now_v7,
                    }
                    .submit(tx)
                };
                let taken = self.store.take(job).await?;
                // After the commit: a delivery that is woken before finds nothing.
                self.deliveries.wake();
                match taken {
                    LeadAnswer::Taken(reply) => Ok(reply),
                    LeadAnswer::Refused(refusal) => Err(refusal.into()),
                }
            }
        }
    }

    /// Stores that a person has refused what they were asked about.
    pub(super) async fn refuse_agreement(
        &self,
        refused: PersonAgreement,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        let dealer = Arc::clone(&self.dealer);
        self.store.write(move |tx| refused.refuse(tx, &dealer.terms, now)).await
    }

    async fn repeat(&self, question: CacheKey, now: Timestamp) -> Result<AapReply, MessageRefused> {
        let inventory = self.inventory.inventory().await?;
        let reply = skills::repeat(&inventory, &question);
        let reply = reply.map_err(InternalError::on(skills::LOOKING))?;
        if let Some(reading) = &reply.nothing_found {
            self.note_empty_search(&question, reading, now);
        }
        Ok(reply)
    }

    /// Remembers a search that found nothing, with how it was read, apart from the request.
    pub(super) fn note_empty_search(&self, question: &CacheKey, reading: &str, now: Timestamp) {
        let (CacheKey::Search(Search { filters, .. }, ..) | CacheKey::Facets(filters, _)) =
            question;
        let Some(text) = EmptySearchText::from_filters(filters) else { return };
        let reading = EmptySearchText::from_reading(reading);
        let zone = self.dealer.terms.time_zone();
        let day = week::beginning(now.to_zoned(zone.clone()).date(), &zone);
        self.empty_searches.note(&self.dealer.terms.id, day, EmptySearch { text, reading });
    }
}

impl Agent for DealerAgent {
    fn id(&self) -> &str {
        &self.dealer.terms.id
    }

    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        Box::pin(async move {
            // AAP has only `SendMessage` (`R-ENV-02`).
            let A2aRequest::SendMessage(send) = &incoming.request else {
                let code = A2aCode::UnsupportedOperation;
                return AgentOutcome::Protocol(ProtocolRefusal::new(code, code.title()));
            };
            self.answer(&incoming, send).await
        })
    }

    fn hosts(&self) -> Option<&[String]> {
        // No host leads here then, so that it looks like a dealer that does not exist (`E-111`);
        // `None` would be every host.
        if self.is_suspended {
            return Some(&[]);
        }
        Some(self.dealer.hosts.as_slice()).filter(|hosts| !hosts.is_empty())
    }

    fn is_listed(&self) -> bool {
        self.dealer.listed && !self.is_suspended
    }

    /// Returns false: AAP has only `SendMessage` (`R-ENV-02`).
    fn keeps_tasks(&self) -> bool {
        false
    }

    fn requires_version(&self) -> bool {
        self.dealer.require_version
    }

    fn extensions(&self, binding: Binding) -> Vec<&str> {
        versions(&self.dealer, binding).iter().map(|version| version.uri()).collect()
    }

    fn required(&self, operation: Operation) -> Option<Permission> {
        let sends = matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage);
        // The skill of a message is known only when it has been read, and is checked there.
        (!sends).then(|| gate::of_operation(operation))
    }

    /// Returns true for parts that are read or ignored. Text is ignored, whatever its type (AAP 1.1
    /// `a2a-profile`, `R-ENV-06`). Any other part needs a JSON type or none (docs/requirements,
    /// C-25): a file of another type is refused, because it would be dropped without notice to the
    /// buyer (`E-034`). A file without a type is ignored beside the data (C-27).
    fn accepts_part(&self, part: &Part) -> bool {
        match part.content {
            Content::Text(_) => true,
            Content::Data(_) | Content::Raw(_) | Content::Url(_) => {
                aap::accepts_media_type(part.media_type.as_deref().unwrap_or_default())
            }
        }
    }

    /// Returns -32600, AAP's code for a body that is not JSON; the HTTP status is 415
    /// (docs/requirements, `E-005`).
    fn other_media_type(&self) -> A2aCode {
        A2aCode::InvalidRequest
    }

    /// Answers in the highest version, because the request has not been read yet (C-34).
    fn refusal(&self, binding: Binding, error: &EarlyError<'_>) -> Option<ProfileRefusal> {
        let version = versions(&self.dealer, binding).last().copied()?;
        Some(match error {
            EarlyError::TooOften(exceeded) => {
                self.refuse(version, rate_limited(*exceeded), ResponsibleParty::TooOften)
            }
            EarlyError::Broken(fault) => self.internal_error(version, fault),
        })
    }

    fn tools(&self) -> Option<&dyn Tools> {
        self.mcp.is_some().then_some(self as &dyn Tools)
    }

    fn tools_at<'a>(&'a self, path: &str) -> Option<Box<dyn Tools + 'a>> {
        self.catalog_tools(path)
    }

    fn example(&self, base_url: &str) -> Option<(String, String)> {
        let skill =
            WITHOUT_ARGUMENTS.iter().find(|skill| self.dealer.terms.skills.contains(skill))?;
        let part = json!({"data": {"type": skill.request_type()}});
        let message = json!({"messageId": "1", "role": "ROLE_USER", "parts": [part]});
        let params = json!({"message": message});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        Some((format!("{base_url}{ENDPOINT_PATH}"), call.to_string()))
    }

    /// Applies an inventory that another process has replaced, and drops expired callers. What was
    /// loaded before stays in use when the store fails.
    fn refresh(&self) -> Result<(), InternalError> {
        self.limiter.tidy();
        self.auth.tidy();
        let terms = &self.dealer.terms;
        let now = self.clock.now();
        let anyway = terms.leads.erase_undelivered;
        let erased = erase_old(&self.store, terms, anyway, None, now);
        if let Err(fault) = erased {
            tracing::error!(dealer = %terms.id, cause = %fault.chain(), "old leads could not be erased");
        }
        self.inventory.refresh()
    }

    /// Wakes the deliveries, because other processes release leads and withdraw consents.
    fn tick(&self) -> BoxFuture<'_, ()> {
        self.deliveries.wake();
        Box::pin(std::future::ready(()))
    }
}

/// Erases leads that a dealer retains no longer; with `anyway` also those that still have to be
/// delivered. For a removed dealer nothing is erased when it has come back since `removed_by`.
///
/// # Errors
/// Fails when the store fails.
pub fn erase_old(
    store: &Store,
    dealer: &tradepost_dealer::settings::DealerSettings,
    anyway: bool,
    removed_by: Option<i64>,
    now: Timestamp,
) -> Result<(), InternalError> {
    let Some(retention) = dealer.leads.retention else { return Ok(()) };
    let old = OldLeadSelection {
        dealer_id: dealer.id.clone(),
        unchanged_since: now.saturating_sub(retention).unwrap_or(Timestamp::MIN),
        with_undelivered: anyway,
        removed_by,
    };
    let erased = store.erase_old_leads(old, now)?;
    if erased > 0 {
        tracing::info!(dealer = %dealer.id, erased, "old leads erased");
    }
    Ok(())
}

/// Skills without required arguments, the most informative first.
const WITHOUT_ARGUMENTS: [Skill; 3] =
    [Skill::DealerInformation, Skill::InventorySearch, Skill::InventoryFacets];

/// Runs a skill within a time. A panic in it is an internal error like any other, so that the caller
/// gets an error id.
pub(super) fn within<T, E: From<InternalError>>(
    patience: Duration,
    skill: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, E>> {
    const CONTEXT: &str = "answering a message";
    let caught = AssertUnwindSafe(skill).catch_unwind();
    clock::within(patience, caught).map(|done| match done {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(InternalError::new(CONTEXT, "a skill panicked").into()),
        Err(_) => Err(InternalError::new(CONTEXT, LATE).transient().into()),
    })
}

fn rate_limited(RateLimitExceeded { wait, limit }: RateLimitExceeded) -> aap::AapRefusal {
    let window = Duration::try_from(limit.window).unwrap_or_default();
    // At least a millisecond, so that no caller is told to retry at once.
    aap::AapRefusal::rate_limited(wait.max(Duration::from_millis(1)), limit.requests, window)
}
