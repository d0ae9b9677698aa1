//! The agents of a process. On every binding a request passes [`AgentRegistry::perform`] on its way to its
//! agent.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tradepost_document::catalog::Vocabulary as _;

use crate::agent::{AgentOutcome, AgentRequest, Caller, SharedAgent};
use crate::auth::agreement::{CardDisagreements, check_card};
use crate::auth::{AuthRefusal, permit};
use crate::clock::{self, Clock};
use crate::directory::Directory;
use crate::fair_scheduler::{FairScheduler, SchedulerPermit};
use crate::fault::{InternalError, LATE};
use crate::health::{CertificateRemark, Health};
use crate::http::pending::PendingMemory;
use crate::http::settings::HttpSettings;
use crate::memory::MemoryStore;
use crate::metrics::Metrics;
use crate::panics;
use crate::questions::OpenQuestions;
use crate::refusals::RefusalSink;
use crate::tls::ServerIdentity;
use crate::tools::{ToolCall, ToolOutcome, Tools};
use crate::traces::Tracer;

/// The agents of a process, with settings, limits and metrics.
///
/// ```
/// use std::sync::Arc;
/// use tradepost_server::registry::AgentRegistry;
/// # fn show(agent: tradepost_server::agent::SharedAgent) {
/// // One agent that keeps its tasks in memory.
/// let registry = Arc::new(AgentRegistry::from_agent(agent));
/// let app = tradepost_server::http::router(registry);
/// # }
/// ```
#[derive(Debug)]
pub struct AgentRegistry {
    /// Limits and options for requests.
    pub settings: HttpSettings,
    /// Clock.
    pub clock: Clock,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Memory accounting of pending requests.
    pub(crate) pending: PendingMemory,
    /// Questions to persons behind clients of MCP.
    pub(crate) questions: OpenQuestions,
    health: Arc<dyn Health>,
    agents: RwLock<Arc<HostedAgents>>,
    /// Agent whose tools the directory hosts have.
    directory_agent: RwLock<Option<SharedAgent>>,
    scheduler: FairScheduler,
    tracer: OnceLock<Tracer>,
    ledger: OnceLock<Arc<dyn RefusalSink>>,
    certificate: RwLock<Vec<(&'static str, u64)>>,
    /// Signal that streams have to end, because the process stops.
    closing: CancellationToken,
}

/// Agents with their lookup by host.
#[derive(Debug, Default)]
pub(crate) struct HostedAgents {
    all: Vec<SharedAgent>,
    by_host: HashMap<String, SharedAgent>,
    /// The first agent that answers on every host.
    everywhere: Option<SharedAgent>,
    /// True when the card of any agent has an `https` address.
    over_tls: bool,
    /// Directory of the agents, built on first use.
    directory: OnceLock<Directory>,
}

impl HostedAgents {
    /// Indexes the agents by host.
    fn new(all: Vec<SharedAgent>) -> Self {
        let mut by_host = HashMap::with_capacity(all.len());
        let mut everywhere = None;
        for agent in &all {
            match agent.hosts() {
                Some(hosts) => {
                    for host in hosts {
                        let known = by_host.entry(host.to_ascii_lowercase());
                        known.or_insert_with(|| Arc::clone(agent));
                    }
                }
                None => drop(everywhere.get_or_insert_with(|| Arc::clone(agent))),
            }
        }
        let over_tls = all.iter().any(|agent| agent.card().claims.over_tls);
        Self { all, by_host, everywhere, over_tls, directory: OnceLock::new() }
    }

    fn on(&self, host: &str) -> Option<&SharedAgent> {
        let is_lower = !host.bytes().any(|byte| byte.is_ascii_uppercase());
        let host = if is_lower { Cow::Borrowed(host) } else { host.to_ascii_lowercase().into() };
        self.by_host.get(&*host).or(self.everywhere.as_ref())
    }

    /// Returns the directory. It is built on first use, which takes a while for thousands of
    /// agents.
    pub(crate) fn directory(&self) -> &Directory {
        self.directory.get_or_init(|| Directory::new(&self.all))
    }
}

impl AgentRegistry {
    /// Creates a process with these agents. A host leads to the first agent that names it, and any
    /// other host to the first agent without host names.
    #[must_use]
    pub fn new(
        settings: HttpSettings,
        clock: Clock,
        health: Arc<dyn Health>,
        among: Vec<SharedAgent>,
    ) -> Self {
        let registry = Self {
            pending: PendingMemory::new(settings.max_pending_bytes, settings.max_body_bytes),
            questions: OpenQuestions::default(),
            scheduler: FairScheduler::new(settings.max_running_requests),
            settings,
            clock,
            metrics: Arc::default(),
            health,
            agents: RwLock::default(),
            directory_agent: RwLock::default(),
            tracer: OnceLock::new(),
            ledger: OnceLock::new(),
            certificate: RwLock::default(),
            closing: CancellationToken::new(),
        };
        registry.replace(among);
        registry
    }

    /// Returns the process with these metrics.
    #[must_use]
    pub fn counting(self, metrics: Metrics) -> Self {
        Self { metrics: Arc::new(metrics), ..self }
    }

    /// Sets the tracer. Call it once, before the first request.
    pub fn trace_with(&self, tracer: Tracer) {
        // A second tracer is ignored.
        let _ = self.tracer.set(tracer);
    }

    /// Returns the tracer, if there is one.
    #[must_use]
    pub fn tracer(&self) -> Option<&Tracer> {
        self.tracer.get()
    }

    /// Sets the recorder of refusals. Call it once, before the first request.
    pub fn set_refusal_sink(&self, ledger: Arc<dyn RefusalSink>) {
        // A second recorder is ignored.
        let _ = self.ledger.set(ledger);
    }

    /// Returns the recorder of refusals, if there is one.
    #[must_use]
    pub fn ledger(&self) -> Option<&dyn RefusalSink> {
        self.ledger.get().map(|ledger| &**ledger)
    }

    /// Creates a process with one agent that keeps everything in memory, for small machines.
    #[must_use]
    pub fn from_agent(agent: SharedAgent) -> Self {
        let health = Arc::new(MemoryStore::default());
        Self::new(HttpSettings::default(), Clock::system(), health, vec![agent])
    }

    /// Returns the agent for a `Host` header.
    #[must_use]
    pub fn agent(&self, host: Option<&str>) -> Option<SharedAgent> {
        let host = host.map(host_name).unwrap_or_default();
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        agents.on(host).cloned()
    }

    /// Sets the agent whose tools, page for people and documents the directory hosts have
    /// ([`HttpSettings::directory_hosts`]). It answers on no other binding, and its card is not published. `None` takes it
    /// away.
    pub fn set_directory_agent(&self, agent: Option<SharedAgent>) {
        *self.directory_agent.write().unwrap_or_else(PoisonError::into_inner) = agent;
    }

    /// Returns the agent of the directory for a `Host` header of a directory.
    pub(crate) fn directory_agent(&self, host: Option<&str>) -> Option<SharedAgent> {
        let name = host.map(host_name).unwrap_or_default();
        let hosts = &self.settings.directory_hosts;
        if !hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return None;
        }
        self.directory_agent.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the agent whose tools are at a `Host` header: that of the host, or that of the directory.
    pub(crate) fn tools_agent(&self, host: Option<&str>) -> Option<SharedAgent> {
        self.agent(host).or_else(|| self.directory_agent(host))
    }

    /// Returns the id of the agent for a `Host` header, when there are several agents.
    pub(crate) fn agent_of_host(&self, host: Option<&str>) -> Option<String> {
        let host = host.map(host_name).unwrap_or_default();
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        if agents.all.len() < 2 {
            return None;
        }
        agents.on(host).map(|agent| agent.id().to_owned())
    }

    /// Returns true when the agent for a `Host` header is published with `https`. An unknown host
    /// is treated like a known one, so that it cannot be distinguished from an unknown path.
    pub(crate) fn is_published_over_tls(&self, host: Option<&str>) -> bool {
        let host = host.map(host_name).unwrap_or_default();
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        let Some(agent) = agents.on(host) else { return agents.over_tls };
        // A panic of the agent only omits a header here; the request itself reports it.
        let claimed = panics::catch_now("reading an agent's card", || agent.card().claims.over_tls);
        claimed.unwrap_or_default()
    }

    /// Returns true when a host has the directory: a directory host, or a host of an agent.
    pub(crate) fn has_directory(&self, host: Option<&str>) -> bool {
        let name = host.map(host_name).unwrap_or_default();
        let hosts = &self.settings.directory_hosts;
        hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) || self.agent(host).is_some()
    }

    pub(crate) fn agents(&self) -> Arc<HostedAgents> {
        Arc::clone(&self.agents.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the agents; the previous ones finish their requests.
    pub fn replace(&self, agents: Vec<SharedAgent>) {
        self.scheduler.set_agents(agents.iter().map(|agent| agent.id()));
        let agents = Arc::new(HostedAgents::new(agents));
        *self.agents.write().unwrap_or_else(PoisonError::into_inner) = agents;
    }

    /// Checks that the card of each agent declares the security schemes that the agent accepts, no others, and the
    /// requirement that it enforces. [`http::serve`](crate::http::serve) calls it; a program with a router of its own
    /// calls it before it serves.
    ///
    /// # Errors
    /// Every difference of the first agent that has any.
    pub fn check_cards(&self) -> Result<(), CardDisagreements> {
        self.agents().all.iter().try_for_each(|agent| check_card(agent.card(), agent.auth()))
    }

    /// Checks that new data can be stored.
    ///
    /// # Errors
    /// The reason why not.
    pub async fn check(&self) -> Result<(), &'static str> {
        self.health.check().await
    }

    /// Lets every agent load changes made by other processes. Call it periodically, on a thread
    /// that may block on the disk.
    ///
    /// # Errors
    /// When the store fails, with the first failure. Loaded data stays in use, and the failure of
    /// one agent does not affect the others.
    pub fn refresh(&self) -> Result<(), InternalError> {
        self.health.intact()?;
        // All agents are refreshed before the first failure is returned.
        let refresh = |agent: &SharedAgent| {
            let refreshed = panics::catch_now("refreshing an agent", || agent.refresh());
            refreshed.unwrap_or_else(|fault| {
                self.metrics.count_panic(agent.id_or_none());
                Err(fault)
            })
        };
        let directory = self.directory_agent.read().unwrap_or_else(PoisonError::into_inner).clone();
        let agents = self.agents();
        let refreshed: Vec<_> = agents.all.iter().chain(&directory).map(refresh).collect();
        refreshed.into_iter().collect()
    }

    /// Returns warnings for operators. May block on a disk.
    #[must_use]
    pub fn remarks(&self) -> Vec<(&'static str, u64)> {
        let mut remarks = self.health.remarks();
        remarks.extend(&*self.certificate.read().unwrap_or_else(PoisonError::into_inner));
        remarks
    }

    /// Records the state of our certificate, and the number of consecutive failed orders where it
    /// is ordered automatically.
    pub fn record_certificate(&self, identity: &ServerIdentity, failed_orders: Option<u32>) {
        let end = identity.expires_at();
        self.metrics.certificate(end, failed_orders);
        let remarks = vec![
            (
                CertificateRemark::EndsSoon.name(),
                identity.expiry_warning(self.clock.now()).is_some().into(),
            ),
            (CertificateRemark::Missing.name(), (failed_orders.is_some() && end.is_none()).into()),
            (CertificateRemark::FailedOrders.name(), failed_orders.unwrap_or_default().into()),
        ];
        *self.certificate.write().unwrap_or_else(PoisonError::into_inner) = remarks;
    }

    /// Lets agents run their periodic work. Call it about every second.
    pub async fn tick(&self) {
        for agent in &self.agents().all {
            let ticked = self.guard(agent, "doing what has come due", async { agent.tick().await });
            if let Err(fault) = ticked.await {
                tracing::error!(agent = %agent.id_or_none(), cause = %fault.chain(), "an agent's tick failed");
            }
        }
    }

    /// Ends all streams, because a stopping process cannot serve them. Other requests continue.
    pub fn close_streams(&self) {
        self.closing.cancel();
        self.questions.close();
        for agent in &self.agents().all {
            let closed = panics::catch_now("closing streams", || agent.close_streams());
            if let Err(fault) = closed {
                self.metrics.count_panic(agent.id_or_none());
                tracing::error!(agent = %agent.id_or_none(), cause = %fault.chain(), "streams stay open");
            }
        }
    }

    /// Returns the signal that streams have to end.
    #[cfg(feature = "grpc")]
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Waits for the turn of a caller's request (fair scheduling). A caller without permission does
    /// not enter the queue.
    async fn turn<'a>(
        &'a self,
        agent: &'a SharedAgent,
        caller: &Caller,
        permitted: Result<(), AuthRefusal>,
    ) -> Result<SchedulerPermit<'a>, AuthRefusal> {
        permitted?;
        let turn = self.scheduler.turn(agent.id(), caller.limit_key());
        let late = |_| AuthRefusal::unavailable(InternalError::new("waiting for others", LATE));
        clock::within(self.settings.request_timeout, turn).await.map_err(late)
    }

    /// Runs work with an agent's own code. A panic is counted, and fails only this work.
    ///
    /// # Errors
    /// When the work panicked.
    pub(crate) fn guard<T>(
        &self,
        agent: &SharedAgent,
        what: &'static str,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, InternalError>> {
        panics::catch(what, work).map(|done| {
            if done.is_err() {
                self.metrics.count_panic(agent.id_or_none());
            }
            done
        })
    }

    /// Performs an authenticated request when it is its turn.
    pub async fn perform(&self, agent: &SharedAgent, incoming: AgentRequest<'_>) -> AgentOutcome {
        let principal = &incoming.caller.principal;
        let operation = incoming.request.operation();
        let permitted = permit::check(principal, operation, agent.required(operation));
        match self.turn(agent, incoming.caller, permitted).await {
            Ok(_turn) => {
                // Inside the guard, because a method may panic before it returns its future.
                let work = async { agent.perform(incoming).await };
                let performed = self.guard(agent, "performing a request", work).await;
                performed.unwrap_or_else(AgentOutcome::Broken)
            }
            Err(denied) => AgentOutcome::Denied(denied),
        }
    }

    /// Calls a tool of an agent for an authenticated caller when it is its turn.
    pub async fn call(
        &self,
        agent: &SharedAgent,
        tools: &dyn Tools,
        call: ToolCall<'_>,
    ) -> ToolOutcome {
        let permitted = permit::permit(&call.caller.principal, tools.required(call.tool));
        let turn = match (tools.passes_on(), permitted) {
            (true, permitted) => permitted.map(|()| None),
            (false, permitted) => self.turn(agent, call.caller, permitted).await.map(Some),
        };
        match turn {
            Ok(_turn) => {
                let work = async { tools.call(call).await };
                let called = self.guard(agent, "calling a tool", work).await;
                called.unwrap_or_else(ToolOutcome::Broken)
            }
            Err(denied) => ToolOutcome::Denied(denied),
        }
    }
}

impl AgentRegistry {
    /// Runs work of an agent on a call that another agent passes on, when it is the caller's turn there.
    ///
    /// # Errors
    /// When the turn does not come in time, or the work panicked.
    pub async fn pass_on<T>(
        &self,
        agent: &SharedAgent,
        caller: &Caller,
        work: impl Future<Output = T>,
    ) -> Result<T, AuthRefusal> {
        let _turn = self.turn(agent, caller, Ok(())).await?;
        let done = self.guard(agent, "answering a call of another agent", work).await;
        done.map_err(AuthRefusal::unavailable)
    }
}

/// Returns a `Host` header without its port.
fn host_name(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        // An IPv6 address has colons of its own, with a bracket after the last.
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    // `example.com.` is the fully qualified form of the same host.
    name.trim_end_matches('.')
}
