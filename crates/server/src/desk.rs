//! Everything that runs: the agents of a process. Whatever the binding, a request passes
//! [`Desk::perform`] on its way to the agent that it is for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::agent::{Caller, Incoming, Outcome, SharedAgent};
use crate::auth::{Denied, permit};
use crate::clock::{self, Clock};
use crate::directory::Directory;
use crate::fault::{Fault, LATE};
use crate::health::Health;
use crate::http::pending::Pending;
use crate::http::settings::Settings;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::panics;
use crate::refusals::Ledger;
use crate::tls::Identity;
use crate::tools::{Call, Called, Tools};
use crate::traces::Tracer;
use crate::turns::{Turn, Turns};

/// Everything that runs.
#[derive(Debug)]
pub struct Desk {
    /// How requests are taken.
    pub settings: Settings,
    /// The time.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What is kept of requests that are not yet answered.
    pub(crate) pending: Pending,
    health: Arc<dyn Health>,
    agents: RwLock<Arc<Agents>>,
    turns: Turns,
    tracer: OnceLock<Tracer>,
    ledger: OnceLock<Arc<dyn Ledger>>,
    certificate: RwLock<Vec<(&'static str, u64)>>,
}

/// The agents of a process, and how they are found.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    all: Vec<SharedAgent>,
    by_host: HashMap<String, SharedAgent>,
    /// The first that answers on every host.
    everywhere: Option<SharedAgent>,
    /// Whether the card of any names its address with `https`.
    over_tls: bool,
    /// What buyers are told of all of them, once somebody asks.
    directory: OnceLock<Directory>,
}

impl Agents {
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

    /// What buyers are told of them. It is written when it is first asked for, and takes a while where
    /// there are thousands.
    pub(crate) fn directory(&self) -> &Directory {
        self.directory.get_or_init(|| Directory::of(&self.all))
    }
}

impl Desk {
    /// A process with these agents, of which the first with a host is reached there; on hosts that none
    /// names, the first that answers on every one.
    #[must_use]
    pub fn new(
        settings: Settings,
        clock: Clock,
        health: Arc<dyn Health>,
        among: Vec<SharedAgent>,
    ) -> Self {
        let desk = Self {
            pending: Pending::new(settings.max_pending_bytes, settings.max_body_bytes),
            turns: Turns::new(settings.max_running_requests),
            settings,
            clock,
            metrics: Arc::default(),
            health,
            agents: RwLock::default(),
            tracer: OnceLock::new(),
            ledger: OnceLock::new(),
            certificate: RwLock::default(),
        };
        desk.replace(among);
        desk
    }

    /// The same, which counts with these.
    #[must_use]
    pub fn counting(self, metrics: Metrics) -> Self {
        Self { metrics: Arc::new(metrics), ..self }
    }

    /// Has requests be parts of traces from now on. To be done once, before any comes.
    pub fn trace_with(&self, tracer: Tracer) {
        // Whoever comes second is not heard.
        let _ = self.tracer.set(tracer);
    }

    /// What makes requests parts of traces, if anything does.
    #[must_use]
    pub fn tracer(&self) -> Option<&Tracer> {
        self.tracer.get()
    }

    /// Has somebody remember what is refused from now on. To be done once, before any request comes.
    pub fn remember_with(&self, ledger: Arc<dyn Ledger>) {
        // Whoever comes second is not heard.
        let _ = self.ledger.set(ledger);
    }

    /// Who remembers what is refused, if anybody does.
    #[must_use]
    pub fn ledger(&self) -> Option<&dyn Ledger> {
        self.ledger.get().map(|ledger| &**ledger)
    }

    /// A process with one agent, as small machines have it, whose agent keeps everything in memory.
    #[must_use]
    pub fn of(agent: SharedAgent) -> Self {
        let health = Arc::new(Memory::default());
        Self::new(Settings::default(), Clock::system(), health, vec![agent])
    }

    /// The agent that a `Host` header leads to.
    #[must_use]
    pub fn agent(&self, host: Option<&str>) -> Option<SharedAgent> {
        let host = host.map(host_name).unwrap_or_default();
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        agents.on(host).cloned()
    }

    /// The id of the agent that a `Host` header leads to, where there are several.
    pub(crate) fn one_of_several(&self, host: Option<&str>) -> Option<String> {
        let host = host.map(host_name).unwrap_or_default();
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        if agents.all.len() < 2 {
            return None;
        }
        agents.on(host).map(|agent| agent.id().to_owned())
    }

    /// Whether the agent that a `Host` header leads to is published with `https`. A host that nobody
    /// has is like one that somebody has, so that it cannot be told from an unknown path.
    pub(crate) fn is_published_over_tls(&self, host: Option<&str>) -> bool {
        let host = host.map(host_name).unwrap_or_default();
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        let Some(agent) = agents.on(host) else { return agents.over_tls };
        // Here a panic of the agent only leaves a header out; the request itself answers for it.
        let claimed = panics::catch_now("reading an agent's card", || agent.card().claims.over_tls);
        claimed.unwrap_or_default()
    }

    /// Whether there is a directory on a host: where an agent is, and where nothing else is to be.
    pub(crate) fn has_directory(&self, host: Option<&str>) -> bool {
        let name = host.map(host_name).unwrap_or_default();
        let hosts = &self.settings.directory_hosts;
        hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) || self.agent(host).is_some()
    }

    pub(crate) fn agents(&self) -> Arc<Agents> {
        Arc::clone(&self.agents.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other agents in the place of those there are; what they have begun they finish.
    pub fn replace(&self, agents: Vec<SharedAgent>) {
        self.turns.among(agents.iter().map(|agent| agent.id()));
        let agents = Arc::new(Agents::new(agents));
        *self.agents.write().unwrap_or_else(PoisonError::into_inner) = agents;
    }

    /// Whether requests can be answered.
    ///
    /// # Errors
    /// Why not.
    pub async fn check(&self) -> Result<(), &'static str> {
        self.health.check().await
    }

    /// Lets every agent take over what other processes have changed. To be called now and then, and
    /// not where requests are answered: it waits for the disk.
    ///
    /// # Errors
    /// When the store fails, with the first failure. What was loaded before stays in use, and one
    /// agent's failure keeps no other from being refreshed.
    pub fn refresh(&self) -> Result<(), Fault> {
        self.health.intact()?;
        // All are asked before the first failure is looked at.
        let refresh = |agent: &SharedAgent| {
            let refreshed = panics::catch_now("refreshing an agent", || agent.refresh());
            refreshed.unwrap_or_else(|fault| {
                self.metrics.count_panic(agent.id_or_none());
                Err(fault)
            })
        };
        let refreshed: Vec<_> = self.agents().all.iter().map(refresh).collect();
        refreshed.into_iter().collect()
    }

    /// What a person should look at some time. May wait for a disk.
    #[must_use]
    pub fn remarks(&self) -> Vec<(&'static str, u64)> {
        let mut remarks = self.health.remarks();
        remarks.extend(&*self.certificate.read().unwrap_or_else(PoisonError::into_inner));
        remarks
    }

    /// Notes how our certificate stands, and how many orders of one have failed in a row where it is
    /// ordered.
    pub fn note_certificate(&self, identity: &Identity, failed_orders: Option<u32>) {
        let end = identity.expires_at();
        self.metrics.certificate(end, failed_orders);
        let remarks = vec![
            ("certificate_ends_soon", identity.ends_soon(self.clock.now()).is_some().into()),
            ("certificate_missing", (failed_orders.is_some() && end.is_none()).into()),
            ("failed_certificate_orders", failed_orders.unwrap_or_default().into()),
        ];
        *self.certificate.write().unwrap_or_else(PoisonError::into_inner) = remarks;
    }

    /// Lets agents do what has come due without anybody asking. To be called every second or so.
    pub async fn tick(&self) {
        for agent in &self.agents().all {
            let ticked = self.guard(agent, "doing what has come due", async { agent.tick().await });
            if let Err(fault) = ticked.await {
                tracing::error!(agent = %agent.id_or_none(), cause = %fault.chain(), "an agent's tick failed");
            }
        }
    }

    /// Ends streams, which nobody could wait for when the process stops. What else is in progress
    /// goes on.
    pub fn close_streams(&self) {
        for agent in &self.agents().all {
            let closed = panics::catch_now("closing streams", || agent.close_streams());
            if let Err(fault) = closed {
                self.metrics.count_panic(agent.id_or_none());
                tracing::error!(agent = %agent.id_or_none(), cause = %fault.chain(), "streams stay open");
            }
        }
    }

    /// Waits until it is the turn of a request of this caller for this agent. Who may not do it takes
    /// nobody's place.
    async fn turn<'a>(
        &'a self,
        agent: &'a SharedAgent,
        caller: &Caller,
        permitted: Result<(), Denied>,
    ) -> Result<Turn<'a>, Denied> {
        permitted?;
        let turn = self.turns.turn(agent.id(), caller.limit_key());
        let late = |_| Denied::unavailable(Fault::new("waiting for others", LATE));
        clock::within(self.settings.request_timeout, turn).await.map_err(late)
    }

    /// Runs work in which an agent's own code takes part. A panic is counted, and fails this work alone.
    ///
    /// # Errors
    /// That the work panicked.
    pub(crate) async fn guard<T>(
        &self,
        agent: &SharedAgent,
        what: &'static str,
        work: impl Future<Output = T>,
    ) -> Result<T, Fault> {
        let done = panics::catch(what, work).await;
        if done.is_err() {
            self.metrics.count_panic(agent.id_or_none());
        }
        done
    }

    /// Performs a request that was admitted, when it is its turn.
    pub async fn perform(&self, agent: &SharedAgent, incoming: Incoming<'_>) -> Outcome {
        let (principal, operation) = (&incoming.caller.principal, incoming.request.operation());
        let permitted = permit::check(principal, operation, agent.required(operation));
        match self.turn(agent, incoming.caller, permitted).await {
            Ok(_turn) => {
                // Inside of the guard: a method may panic before it returns its future.
                let work = async { agent.perform(incoming).await };
                let performed = self.guard(agent, "performing a request", work).await;
                performed.unwrap_or_else(Outcome::Broken)
            }
            Err(denied) => Outcome::Denied(denied),
        }
    }

    /// Performs a call of a tool of an agent's, for a caller that was admitted, when it is its turn.
    pub async fn call(&self, agent: &SharedAgent, tools: &dyn Tools, call: Call<'_>) -> Called {
        let permitted = permit::permit(&call.caller.principal, tools.required(call.tool));
        match self.turn(agent, call.caller, permitted).await {
            Ok(_turn) => {
                let work = async { tools.call(call).await };
                let called = self.guard(agent, "calling a tool", work).await;
                called.unwrap_or_else(Called::Broken)
            }
            Err(denied) => Called::Denied(denied),
        }
    }
}

/// A `Host` header without its port.
fn host_name(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        // An IPv6 address has colons of its own, but a bracket after the last.
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    // `example.com.` is the same host, written in full.
    name.trim_end_matches('.')
}
