//! Agent of a publisher: authenticates the caller, passes the call to the publisher and returns its
//! answer, which the binding writes.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::request::invalid_param;
use tradepost_a2a::{A2aRequest, Message, Operation, Task};
use tradepost_ad_server::AdServer;
use tradepost_adcp::{AdcpAnswer, AdcpTool};
use tradepost_commands::published::GuardedWeb;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_publisher::agent::BuyerAgent;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::refusals;
use tradepost_publisher::services::{LimitWait, RateClass};
use tradepost_publisher::store::PublisherStore;
use tradepost_publisher::tool_call::{self, AdcpToolCall, Credential};
use tradepost_server::agent::{self, Agent, AgentOutcome, AgentRequest, Caller, PageTokens};
use tradepost_server::auth::{Authenticator, Principal};
use tradepost_server::card::{ENDPOINT_PATH, PublishedCard};
use tradepost_server::clock::Clock;
use tradepost_server::fault::{InternalError, LATE};
use tradepost_server::http::{LoggedResponse, RawRequest, mcp};
use tradepost_server::limit::LimitKey;
use tradepost_server::permission::{Permission, Scopes};
use tradepost_server::refusals::FieldError;
use tradepost_server::tools::{McpListing, Tools};

use super::catalogue_file::{CatalogueFile, CatalogueFileState};
use super::exchanges::Exchanges;
use super::http;
use super::identity::SignatureIdentity;
use super::invocation::{self, InvocationForm, Invoked};
use super::keys;
use super::notices::Notices;
use super::orders::RemoteOrders;
use crate::config::Front;
use crate::config::delivery::DeliveryConfig;

/// Prefix of the principal name of a request signer. No API key and no token has such a name.
const SIGNED: &str = "signed:";

/// Returns the principal of an agent that has signed a request.
#[must_use]
pub fn signer(agent: &BuyerAgent) -> Principal {
    Principal { name: format!("{SIGNED}{}", agent.id), scopes: Scopes::All }
}

/// Interval between two removals of expired data.
const CLEANUP_INTERVAL: Duration = Duration::from_hours(1);

/// Agent of a publisher in service.
#[derive(Debug)]
pub struct PublisherAgent {
    /// Settings, with the catalogue at startup.
    pub profile: Arc<PublisherProfile>,
    /// Publisher; replaced when its catalogue changes.
    pub(super) publisher: RwLock<Publisher>,
    /// Catalogue file.
    pub(super) menu: Option<CatalogueFile>,
    /// Settings by which the steps that bring it online are judged and tested.
    pub set_up: PublisherSetUp,
    /// Its store.
    pub(super) publisher_store: Arc<dyn PublisherStore>,
    /// Hosts, card texts and authentication.
    pub front: Front,
    /// Agent card.
    pub card: PublishedCard,
    /// Authenticates callers.
    pub auth: Authenticator,
    /// MCP tool list, built at first use.
    pub(super) listing: OnceLock<McpListing>,
    /// Verifier of request signatures; `None` when signatures are ignored.
    pub identity: Option<SignatureIdentity>,
    /// Documents by which receivers of webhooks find our keys.
    pub documents: Documents,
    /// Sender of notifications; has to be run by the caller.
    pub notices: Arc<Notices>,
    /// Carrier of its media buys into its ad server, if it has one; has to be run by the caller.
    pub orders: Option<Arc<RemoteOrders>>,
    /// Tools that it has. Every caller gets the same list (AdCP 3.1 `error-handling`, `N-4`).
    pub(super) tools: Vec<AdcpTool>,
    pub(super) exchanges: Exchanges,
    /// Time of the last removal of expired data, in seconds of the monotonic clock.
    pub(super) cleaned_up_at: AtomicU64,
    /// Maximum time for an answer.
    pub(super) timeout: Duration,
    pub(super) clock: Clock,
}

/// Settings by which the steps that bring a publisher online are judged and tested.
#[derive(Debug)]
pub struct PublisherSetUp {
    /// Address of the agent.
    pub base_url: String,
    /// Destinations of messages to the staff.
    pub destinations: Vec<DeliveryConfig>,
    /// True when an ad server says what is sold out.
    pub has_upstream: bool,
    /// Ad server that media buys are carried into.
    pub ad_server: Option<Arc<dyn AdServer>>,
    /// Client for documents of others.
    pub web: GuardedWeb,
}

impl PublisherSetUp {
    /// Returns true when an ad server of any kind is configured.
    #[must_use]
    pub fn has_ad_server(&self) -> bool {
        self.has_upstream || self.ad_server.is_some()
    }
}

/// Documents by which receivers of webhooks find our keys.
#[derive(Debug)]
pub struct Documents {
    /// Key set.
    pub jwks: String,
    /// `brand.json`.
    pub brand: String,
}

impl Documents {
    /// Builds the documents of a publisher with this name and these public keys.
    #[must_use]
    pub fn new(name: &str, shown: &[Value], base_url: &str) -> Self {
        let endpoints = [("mcp", mcp::PATH), ("a2a", ENDPOINT_PATH)];
        let brand = keys::brand_json(name, base_url, &endpoints);
        Self { jwks: keys::jwks(shown).to_string(), brand: brand.to_string() }
    }
}

impl PublisherAgent {
    /// Returns the current publisher. A request uses the same one throughout.
    #[must_use]
    pub fn publisher(&self) -> Publisher {
        self.publisher.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns its store, for what its staff looks through.
    #[must_use]
    pub fn publisher_store(&self) -> &dyn PublisherStore {
        &*self.publisher_store
    }

    /// Returns the mistakes in the catalogue file as it is now; it is not used while it has any.
    #[must_use]
    pub fn catalogue_mistakes(&self) -> Vec<String> {
        self.menu.as_ref().map(CatalogueFile::mistakes).unwrap_or_default()
    }

    /// Applies the catalogue file when it has changed.
    fn look_at_the_menu(&self) {
        let Some(menu) = &self.menu else { return };
        let publisher = self.id();
        match menu.look() {
            CatalogueFileState::Same => {}
            CatalogueFileState::Read(catalogue) => {
                let now = self.publisher();
                // The file was touched but says the same: everything derived from it stays.
                if *catalogue == now.profile.catalogue {
                    return;
                }
                let products = catalogue.products.len();
                let next = now.selling(*catalogue);
                *self.publisher.write().unwrap_or_else(PoisonError::into_inner) = next;
                tracing::info!(publisher, products, "the catalogue was read again");
            }
            CatalogueFileState::Unusable(mistakes) => {
                tracing::error!(
                    publisher,
                    "the catalogue cannot be used; what was sold before still is"
                );
                for mistake in mistakes {
                    tracing::error!(publisher, mistake, "in the catalogue");
                }
            }
        }
    }

    /// Returns the tool with this name, if this publisher has it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<AdcpTool> {
        AdcpTool::from_any_name(name).filter(|tool| self.tools.contains(tool))
    }

    async fn do_what_is_due(&self) {
        let now = self.clock.now();
        self.publisher().tick(now).await;
        // Decisions that staff make in another process are announced by this one.
        self.notices.wake();
        self.orders.iter().for_each(|orders| orders.wake());
        let running = self.clock.elapsed().as_secs();
        let due =
            self.cleaned_up_at.load(Ordering::Relaxed).saturating_add(CLEANUP_INTERVAL.as_secs());
        if due <= running {
            self.cleaned_up_at.store(running, Ordering::Relaxed);
            self.publisher().tidy(now).await;
        }
    }

    /// Counts a request that reaches no tool against the rate limit.
    ///
    /// # Errors
    /// Returns the time until the next request is permitted.
    pub fn admit(&self, caller: &Caller) -> Result<(), LimitWait> {
        self.publisher().services.admit(&name(caller), RateClass::Read)
    }

    /// Passes a tool call to the publisher and returns its answer.
    pub async fn answer(&self, caller: &Caller, tool: AdcpTool, arguments: Map) -> AdcpAnswer {
        let credential = caller.credential.as_ref().map(|own| Credential::new(own.as_str()));
        let now = self.clock.now();
        let caller = self.caller(caller);
        let elapsed = self.clock.elapsed();
        let call = AdcpToolCall { tool, arguments, caller, credential, now, elapsed };
        let context = call.arguments.get("context").cloned();
        // A panic in a tool is an internal error like any other: the caller gets an error id.
        let publisher = self.publisher();
        let answered = AssertUnwindSafe(publisher.answer(call)).catch_unwind();
        let broken = match tokio::time::timeout(self.timeout, answered).await {
            Ok(Ok(answer)) => return answer,
            Ok(Err(_)) => InternalError::new("answering a request", "a tool panicked"),
            Err(_) => InternalError::new("answering a request", LATE),
        };
        let error_id = publisher.services.report(&broken);
        let error = refusals::internal_error().with("error_id", error_id);
        let context = context.filter(tool_call::may_be_repeated);
        AdcpAnswer { context, ..AdcpAnswer::failed(error, Vec::new()) }
    }

    /// Returns the answer to an AdCP task that the publisher does not have.
    #[must_use]
    pub fn lacking(&self, caller: &Caller, task: &str, arguments: &Map) -> AdcpAnswer {
        self.publisher().lacking(task, &self.caller(caller), arguments)
    }

    /// Returns the caller as the publisher knows it: the buyer agent that owns the credential or
    /// has signed the request, if one does. Only such an identity counts as established (AdCP 3.1
    /// `error-handling`; `B-2`, `G-2`).
    fn caller(&self, caller: &Caller) -> tool_call::BuyerCaller {
        let principal = name(caller);
        let signed = caller.principal.name.strip_prefix(SIGNED);
        let is = |agent: &&Arc<BuyerAgent>| match signed {
            Some(id) => agent.id == id,
            None => agent.principals.contains(&principal),
        };
        let agent = self.profile.agents.iter().find(is).cloned();
        tool_call::BuyerCaller { principal, agent }
    }

    /// Answers an A2A message.
    ///
    /// # Errors
    /// Returns the protocol's refusal of a message that calls no task.
    pub async fn send(
        &self,
        caller: &Caller,
        message: &Message,
        form: InvocationForm,
    ) -> Result<Task, A2aRefusal> {
        let tenant = self.caller(caller).tenant();
        // Every task here has ended, and such a task takes no message (A2A 1.0 §3.1.1, `E-17`). An
        // unknown one is never created (A2A 1.0 §3.4.2, `E-18`).
        if let Some(id) = message.task_id.as_deref().filter(|id| !id.is_empty()) {
            self.task(caller, id)?;
            let ended = "this task has ended; leave taskId out";
            return Err(A2aRefusal::new(A2aCode::UnsupportedOperation, ended));
        }
        let invocation = invocation::read(message, form, &self.tools)?;
        let now = self.clock.now();
        let answer = match invocation.task {
            Invoked::Here(tool) => self.answer(caller, tool, invocation.input).await,
            Invoked::Foreign(task) => self.lacking(caller, &task, &invocation.input),
        };
        let fresh = || uuid::Uuid::now_v7().to_string();
        let context_id = message.context_id.clone().filter(|id| !id.is_empty());
        let id = fresh();
        let context_id = context_id.unwrap_or_else(fresh);
        let document = answer.document();
        let size = document.to_string().len();
        let task = invocation::task(now, &answer, document, id, context_id);
        self.exchanges.keep(&tenant, task.clone(), size);
        Ok(task)
    }

    /// Returns a task of the caller.
    ///
    /// # Errors
    /// Returns `TASK_NOT_FOUND`, also for another caller's task.
    pub fn task(&self, caller: &Caller, id: &str) -> Result<Task, A2aRefusal> {
        let found = self.exchanges.get(&self.caller(caller).tenant(), id);
        found.ok_or_else(|| plain(A2aCode::TaskNotFound))
    }

    /// Returns the refusal to cancel a task of the caller: every task has ended.
    pub fn cancel(&self, caller: &Caller, id: &str) -> A2aRefusal {
        self.task(caller, id).err().unwrap_or_else(|| plain(A2aCode::TaskNotCancelable))
    }

    /// Performs an A2A request.
    async fn answer_request(&self, incoming: AgentRequest<'_>) -> AgentOutcome {
        let caller = incoming.caller;
        let performed = match &incoming.request {
            A2aRequest::SendMessage(send) => {
                let form = InvocationForm::new(incoming.release, incoming.activated);
                let sent = self.send(caller, &send.message, form).await;
                sent.map(agent::AgentAnswer::Begun)
            }
            A2aRequest::GetTask { id, .. } => self.task(caller, id).map(agent::AgentAnswer::Task),
            A2aRequest::ListTasks(query) => {
                let page = self.exchanges.list(&self.caller(caller).tenant(), query);
                let unknown = || invalid_param("pageToken", "is none that this agent has given");
                page.ok_or_else(unknown).map(agent::AgentAnswer::Tasks)
            }
            A2aRequest::CancelTask { id } => Err(self.cancel(caller, id)),
            A2aRequest::SendStreamingMessage(_)
            | A2aRequest::SubscribeToTask { .. }
            | A2aRequest::CreatePushConfig(_)
            | A2aRequest::GetPushConfig { .. }
            | A2aRequest::ListPushConfigs { .. }
            | A2aRequest::DeletePushConfig { .. }
            | A2aRequest::GetExtendedAgentCard => Err(plain(A2aCode::UnsupportedOperation)),
        };
        performed.into()
    }
}

impl Agent for PublisherAgent {
    fn id(&self) -> &str {
        &self.profile.id
    }

    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        Box::pin(self.answer_request(incoming))
    }

    fn hosts(&self) -> Option<&[String]> {
        Some(self.front.hosts.as_slice()).filter(|hosts| !hosts.is_empty())
    }

    /// Returns false: the method's name tells the releases of A2A apart.
    fn requires_version(&self) -> bool {
        false
    }

    /// Returns `None`: permissions of a credential depend on the account (AdCP R-4).
    fn required(&self, _: Operation) -> Option<Permission> {
        None
    }

    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        Some(&self.exchanges)
    }

    fn other_media_type(&self) -> A2aCode {
        A2aCode::InvalidRequest
    }

    fn code_of(&self, answer: &agent::AgentAnswer) -> &'static str {
        if let agent::AgentAnswer::Begun(task) = answer { invocation::code_of(task) } else { "OK" }
    }

    fn misfits_of(&self, answer: &agent::AgentAnswer) -> Vec<FieldError> {
        if let agent::AgentAnswer::Begun(task) = answer {
            invocation::field_errors_of(task)
        } else {
            Vec::new()
        }
    }

    fn tools(&self) -> Option<&dyn Tools> {
        Some(self)
    }

    fn posted<'a>(&'a self, posted: RawRequest<'a>) -> Option<BoxFuture<'a, LoggedResponse>> {
        Some(Box::pin(http::a2a::answer(self, posted)))
    }

    fn example(&self, base_url: &str) -> Option<(String, String)> {
        let params = json!({"name": AdcpTool::GetAdcpCapabilities.name(), "arguments": {}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        Some((format!("{base_url}{}", mcp::PATH), call.to_string()))
    }

    fn refresh(&self) -> Result<(), InternalError> {
        self.auth.tidy();
        if let Some(identity) = &self.identity {
            identity.tidy(self.clock.now());
        }
        self.look_at_the_menu();
        Ok(())
    }

    fn tick(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.do_what_is_due())
    }
}

/// Returns a refusal with the title of its code.
fn plain(code: A2aCode) -> A2aRefusal {
    A2aRefusal::new(code, code.title())
}

/// Returns the name under which a caller is rate limited: its address when it has no credential.
fn name(caller: &Caller) -> String {
    match caller.limit_key() {
        LimitKey::Credential(name) => name,
        LimitKey::Address(address) => format!("{}@{address}", tradepost_server::auth::ANONYMOUS),
    }
}
