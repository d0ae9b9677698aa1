//! Everything that runs: the agents of a process. Whatever the binding, a request passes
//! [`Desk::perform`] on its way to the agent that it is for.

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use futures_util::future::BoxFuture;

use crate::agent::{Incoming, Outcome, SharedAgent};
use crate::clock::Clock;
use crate::fault::Fault;
use crate::http::Settings;
use crate::http::pending::Pending;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::permission;
use crate::tools::{Call, Called, Tools};
use crate::traces::Tracer;

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
    agents: RwLock<Arc<[SharedAgent]>>,
    tracer: OnceLock<Tracer>,
}

/// Whether what agents keep can be trusted with something new.
pub trait Health: fmt::Debug + Send + Sync {
    /// Whether something new can be taken. It answers soon, whatever happens.
    ///
    /// # Errors
    /// Why not, for everybody to read. The cause has been logged.
    fn check(&self) -> BoxFuture<'_, Result<(), &'static str>>;

    /// That what is kept is where it was. To be called now and then, because nobody would notice
    /// where nothing is written.
    ///
    /// # Errors
    /// That it is not.
    fn intact(&self) -> Result<(), Fault>;

    /// What a person should look at some time, by name, with how many there are of it. May wait for
    /// a disk.
    fn remarks(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

impl Desk {
    /// A process with these agents, of which the first that answers on a host is reached there.
    #[must_use]
    pub fn new(
        settings: Settings,
        clock: Clock,
        health: Arc<dyn Health>,
        agents: Vec<SharedAgent>,
    ) -> Self {
        let pending = Pending::new(settings.max_pending_bytes, settings.max_body_bytes);
        let metrics = Arc::default();
        let (agents, tracer) = (RwLock::new(agents.into()), OnceLock::new());
        Self { settings, clock, metrics, pending, health, agents, tracer }
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
        self.agents().iter().find(|agent| agent.answers_on(host)).cloned()
    }

    fn agents(&self) -> Arc<[SharedAgent]> {
        Arc::clone(&self.agents.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other agents in the place of those there are; what they have begun they finish.
    pub fn replace(&self, agents: Vec<SharedAgent>) {
        *self.agents.write().unwrap_or_else(PoisonError::into_inner) = agents.into();
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
        let refreshed: Vec<_> = self.agents().iter().map(|agent| agent.refresh()).collect();
        refreshed.into_iter().collect()
    }

    /// What a person should look at some time. May wait for a disk.
    #[must_use]
    pub fn remarks(&self) -> Vec<(&'static str, u64)> {
        self.health.remarks()
    }

    /// Lets agents do what has come due without anybody asking. To be called every second or so.
    pub async fn tick(&self) {
        for agent in self.agents().iter() {
            agent.tick().await;
        }
    }

    /// Ends streams, which nobody could wait for when the process stops. What else is in progress
    /// goes on.
    pub fn close_streams(&self) {
        for agent in self.agents().iter() {
            agent.close_streams();
        }
    }

    /// Performs a request that was admitted.
    pub async fn perform(&self, agent: &SharedAgent, incoming: Incoming<'_>) -> Outcome {
        let (principal, operation) = (&incoming.caller.principal, incoming.request.operation());
        if let Err(denied) = permission::check(principal, operation, agent.required(operation)) {
            return Outcome::Denied(denied);
        }
        agent.perform(incoming).await
    }

    /// Performs a call of a tool of an agent's, for a caller that was admitted.
    pub async fn call(&self, tools: &dyn Tools, call: Call<'_>) -> Called {
        match permission::permit(&call.caller.principal, tools.required(call.tool)) {
            Ok(()) => tools.call(call).await,
            Err(denied) => Called::Denied(denied),
        }
    }
}

/// A `Host` header without its port.
fn host_name(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    name.trim_end_matches('.')
}
