//! The agent as a process: where it listens, what it keeps, and how it stops.

use std::error::Error;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tradepost_server::agent::SharedAgent;
use tradepost_server::auth::AuthDeps;
use tradepost_server::auth::key::KeyLookup;
use tradepost_server::background::{keep_going, piece};
use tradepost_server::card::SigningKey;
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::health::Health;
use tradepost_server::http;
use tradepost_server::outbox::backoff::RetrySchedule;
use tradepost_server::outbox::{ClockAndRandom, OutboxSettings};
use tradepost_server::registry::AgentRegistry;
use tradepost_server::tasks::log::TaskLog;

use super::{Conformance, Profile};

/// Interval at which the agent is refreshed with the changes of other processes.
const REFRESH: Duration = Duration::from_secs(1);

/// The agent that the official conformance kits of A2A are run against.
#[derive(Debug, clap::Parser)]
pub(crate) struct Arguments {
    /// What it claims.
    #[arg(default_value = "streaming")]
    profile: Profile,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Answers requests that name no version of the protocol.
    #[arg(long)]
    lenient: bool,
    /// The private key with which the cards are signed.
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// Lets webhooks call this machine, also without TLS, and takes names that do not resolve.
    #[arg(long)]
    push_allow_loopback: bool,
    /// How long a webhook may take to answer.
    #[arg(long, value_name = "DURATION", default_value = "15s")]
    push_timeout: SignedDuration,
    /// After how many failures in a row a webhook is given up.
    #[arg(long, value_name = "N", default_value_t = 12)]
    push_attempts: u32,
}

impl Arguments {
    fn agent(
        &self,
        log: Arc<dyn TaskLog>,
        deps: &AuthDeps,
        base_url: &str,
    ) -> Result<Conformance, Box<dyn Error>> {
        let egress = Egress::new(Resolver::system(), self.push_allow_loopback);
        let mut agent = Conformance::open(self.profile, log, deps, base_url)?.calling(egress);
        if self.lenient {
            agent = agent.lenient();
        }
        if let Some(file) = &self.signing_key {
            agent = agent.signed(SigningKey::load(file, None)?, deps.clock.now())?;
        }
        Ok(agent)
    }

    fn settings(&self) -> Result<OutboxSettings, Box<dyn Error>> {
        let default = OutboxSettings::default();
        let schedule = RetrySchedule { attempts: self.push_attempts, ..default.schedule };
        Ok(OutboxSettings { timeout: self.push_timeout.try_into()?, schedule, ..default })
    }
}

/// Storage of tasks and keys, and its health.
pub(crate) struct Stores {
    tasks: Arc<dyn TaskLog>,
    keys: Arc<dyn KeyLookup>,
    health: Arc<dyn Health>,
}

impl Stores {
    /// Uses one store for tasks, keys and health.
    pub(crate) fn from_store(store: impl TaskLog + KeyLookup + Health + 'static) -> Self {
        let store = Arc::new(store);
        Self { tasks: Arc::clone(&store) as _, keys: Arc::clone(&store) as _, health: store }
    }
}

/// Serves until the process is asked to stop, and then until what was asked is answered.
///
/// # Errors
/// When it cannot begin.
pub(crate) async fn run(arguments: Arguments, stores: Stores) -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    // Before anything that takes time, because until then the signal would end the process.
    let stop = stop_signal()?;
    let listener = TcpListener::bind(arguments.listen).await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    let clock = Clock::system();
    let deps = AuthDeps::offline(stores.keys, clock.clone());
    let agent = arguments.agent(stores.tasks, &deps, &base_url)?;
    let outbox = agent.outbox(arguments.settings()?, ClockAndRandom::system());
    let agent: SharedAgent = Arc::new(agent);
    tokio::spawn(keep_fresh(Arc::clone(&agent)));
    let registry =
        AgentRegistry::new(http::HttpSettings::default(), clock, stores.health, vec![agent]);
    let grace = registry.settings.shutdown_grace;
    // Dropped when deliveries are to stop.
    let (stop_deliveries, stopped) = watch::channel(());
    let deliveries = outbox.map(|outbox| {
        let mut stopped = stopped;
        tokio::spawn(outbox.run(async move { drop(stopped.changed().await) }, grace))
    });
    // Scripts wait for this line.
    writeln!(io::stdout(), "listening on {base_url}")?;
    let served = http::serve(listener, registry, stop).await;
    drop(stop_deliveries);
    if let Some(deliveries) = deliveries {
        deliveries.await?;
    }
    served?;
    tracing::info!("stopped");
    Ok(())
}

async fn keep_fresh(agent: SharedAgent) {
    keep_going("what others have changed", || async {
        loop {
            tokio::time::sleep(REFRESH).await;
            let agent = Arc::clone(&agent);
            if let Some(Err(fault)) = piece("refreshing", move || agent.refresh()).await {
                tracing::error!(cause = %fault.chain(), "the agent could not be refreshed");
            }
        }
    })
    .await;
}

/// Resolves when the process is asked to stop.
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
