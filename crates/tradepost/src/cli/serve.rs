//! `tradepost serve`: put one or more dealers online.

use std::fs::{File, TryLockError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::output::Failure;
use super::{Context, Outcome, check_config, dealers};
use crate::aap::demo as dealer_demo;
use crate::clock::Clock;
use crate::config::{Config, Server, read};
use crate::conformance::{Conformance, Profile};
use crate::desk::Desk;
use crate::egress::{Egress, Resolver};
use crate::fault::Fault;
use crate::http;
use crate::outbox::backoff::Schedule;
use crate::outbox::{Edge, Outbox, Settings};
use crate::signing::key::SigningKey;
use crate::store::Store;
use crate::tls::Identity;

mod demo;

/// How often the server looks for inventories that `tradepost import` has replaced, and for new
/// certificates.
const REFRESH: Duration = Duration::from_secs(1);

/// What a server locks in its data folder.
const LOCK: &str = "tradepost.lock";

/// The demo inventory is the same everywhere.
const DEMO_SEED: u64 = 20_260_401;

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    dealers: dealers::Source,
    /// How many vehicles the demo dealer offers.
    #[arg(long, value_name = "N", default_value_t = 300, requires = "demo")]
    demo_size: usize,
    #[command(flatten)]
    publisher: demo::DemoPublisher,
    /// The agent that the official conformance kits of A2A are run against, in place of dealers.
    #[arg(long, value_name = "PROFILE", num_args = 0..=1, default_missing_value = "streaming",
          conflicts_with_all = ["demo", "config"])]
    conformance: Option<Profile>,
    #[command(flatten)]
    push: PushArguments,
    /// Lets the conformance agent answer requests that name no version of the protocol.
    #[arg(long, requires = "conformance")]
    lenient: bool,
    /// The private key with which the conformance agent signs its cards.
    #[arg(long, value_name = "FILE", requires = "conformance")]
    signing_key: Option<PathBuf>,
    /// Where to listen, instead of the configured address; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The folder that holds all state.
    #[arg(long, value_name = "DIR", default_value = dealers::DATA)]
    data: PathBuf,
}

/// How webhooks are called. Dealers have none, so this is the conformance agent's.
#[derive(Debug, clap::Args)]
struct PushArguments {
    /// Development only: let webhooks call this machine, also without TLS, and take names that do
    /// not resolve.
    #[arg(long, requires = "conformance")]
    push_allow_loopback: bool,
    /// How long a webhook may take to answer.
    #[arg(long, value_name = "DURATION", default_value = "15s", requires = "conformance",
          value_parser = push_timeout)]
    push_timeout: Duration,
    /// After how many failures in a row a webhook is given up.
    #[arg(long, value_name = "N", default_value_t = 12, requires = "conformance",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    push_attempts: u32,
}

impl PushArguments {
    fn settings(&self) -> Settings {
        let default = Settings::default();
        let schedule = Schedule { attempts: self.push_attempts, ..default.schedule };
        Settings { timeout: self.push_timeout, schedule, ..default }
    }
}

fn push_timeout(text: &str) -> Result<Duration, String> {
    let read = read::parse_duration(text).and_then(|duration| Duration::try_from(duration).ok());
    read.filter(|duration| (1..=60).contains(&duration.as_secs()))
        .ok_or_else(|| "write a duration from 1s to 60s, such as 15s".to_owned())
}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let mut config = match arguments.conformance {
        // Its limits are the demo's; it has no dealers.
        Some(_) => Config { dealers: Vec::new(), publishers: Vec::new(), ..read::demo() },
        None => match arguments.publisher.config() {
            Some(config) => config,
            None => arguments.dealers.load(&context.environment)?,
        },
    };
    if let Some(listen) = arguments.listen {
        config.server.listen = listen;
    }
    check_config::check_keys(&config)?;
    check_config::load_catalogues(&mut config)?;
    start_log(&config.server)?;
    let clock = Clock::system();
    let tls = config.server.tls.clone().map(|files| Identity::open(files, &clock)).transpose();
    let tls = tls.map_err(|mistakes| check_config::unusable_tls(&mistakes))?.map(Arc::new);
    let store = dealers::open(&arguments.data)?;
    // Held until the process ends.
    let _lock = lock(&arguments.data)?;
    if arguments.dealers.demo {
        stock_demo(&config, &store, &clock, arguments.demo_size)
            .map_err(|fault| Failure::fault(&fault))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::fault(&error))?;
    let fixture = arguments.conformance.map(|profile| Fixture {
        profile,
        lenient: arguments.lenient,
        signing_key: arguments.signing_key,
        push: arguments.push,
    });
    runtime.block_on(serve(config, fixture, store, clock, tls, context))
}

/// What the conformance agent is to be like.
struct Fixture {
    profile: Profile,
    lenient: bool,
    signing_key: Option<PathBuf>,
    push: PushArguments,
}

/// Keeps other servers away from the folder: each would count requests for itself.
fn lock(data: &Path) -> Result<Option<File>, Failure> {
    let opened = File::options().create(true).truncate(false).write(true).open(data.join(LOCK));
    let file = opened.map_err(|error| {
        Failure::new(1, format!("cannot use the data folder {}: {error}", data.display()))
            .hint("name a folder that you may write with --data")
    })?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another server uses the data folder {}", data.display());
            Err(Failure::new(1, message).hint("stop it, or name another folder with --data"))
        }
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) => {
            tracing::warn!(%error, "the data folder could not be locked");
            Ok(None)
        }
    }
}

/// Gives the demo dealer its inventory.
fn stock_demo(config: &Config, store: &Store, clock: &Clock, size: usize) -> Result<(), Fault> {
    let now = clock.now();
    for dealer in &config.dealers {
        store.replace_inventory(
            &dealer.id,
            &dealer_demo::units(size, DEMO_SEED, now),
            now,
            false,
        )?;
    }
    Ok(())
}

async fn serve(
    config: Config,
    conformance: Option<Fixture>,
    store: Store,
    clock: Clock,
    tls: Option<Arc<Identity>>,
    context: &Context,
) -> Outcome {
    let (listener, address) = bind(config.server.listen).await?;
    let server = config.server.clone();
    let (dealers, publishers) = (config.dealers.len(), config.publishers.len());
    let (desk, outbox) = open(config, conformance, Arc::new(store), clock, address)
        .map_err(|fault| Failure::fault(&fault))?;
    let desk = Arc::new(desk);
    let stop = stop_signal().map_err(|error| Failure::fault(&error))?;
    tokio::spawn(keep_fresh(Arc::clone(&desk), tls.clone()));
    // Dropped when deliveries are to stop.
    let (stop_deliveries, deliveries_stopped) = tokio::sync::watch::channel(());
    let grace = Duration::try_from(server.shutdown_grace).unwrap_or_default();
    let stopped = || {
        let mut stopped = deliveries_stopped.clone();
        async move {
            let _ = stopped.changed().await;
        }
    };
    let mut deliveries = tokio::task::JoinSet::new();
    if let Some(outbox) = outbox {
        deliveries.spawn(outbox.run(stopped(), grace));
    }
    for notices in desk.notices() {
        deliveries.spawn(notices.run(stopped(), grace));
    }
    tracing::info!(%address, dealers, publishers, "started");
    // Scripts wait for this line.
    context.output.line(format!("listening on {}", server.origin(address)));
    let listener = match tls {
        Some(identity) => http::server::Listener::over_tls(listener, identity),
        None => listener.into(),
    };
    let stop = {
        let desk = Arc::clone(&desk);
        async move {
            stop.await;
            desk.close_streams();
        }
    };
    http::server::serve(listener, http::router(desk), &server, stop).await;
    drop(stop_deliveries);
    while deliveries.join_next().await.is_some() {}
    tracing::info!("stopped");
    Ok(())
}

fn open(
    config: Config,
    conformance: Option<Fixture>,
    store: Arc<Store>,
    clock: Clock,
    address: SocketAddr,
) -> Result<(Desk, Option<Arc<Outbox>>), Fault> {
    let Some(fixture) = conformance else {
        return Ok((Desk::open(config, store, clock, address)?, None));
    };
    let base_url = config.server.origin(address).to_string();
    let egress = Egress::new(Resolver::system(), fixture.push.push_allow_loopback);
    let mut agent = Conformance::open(fixture.profile, &store, &clock, &base_url)?.calling(egress);
    if fixture.lenient {
        agent = agent.lenient();
    }
    if let Some(file) = &fixture.signing_key {
        let key = SigningKey::load(file, None)
            .map_err(|why| Fault::new("reading the signing key", why.to_string()))?;
        agent = agent.signed(key, clock.now())?;
    }
    let outbox = agent.outbox(fixture.push.settings(), Edge::system());
    Ok((Desk::open_conformance(config.server, store, clock, agent), outbox))
}

async fn keep_fresh(desk: Arc<Desk>, tls: Option<Arc<Identity>>) {
    loop {
        tokio::time::sleep(REFRESH).await;
        desk.tick().await;
        let (desk, tls) = (Arc::clone(&desk), tls.clone());
        // Building an index takes a while; requests must not wait for it.
        let refreshed = tokio::task::spawn_blocking(move || {
            if let Some(identity) = tls {
                identity.refresh();
            }
            desk.refresh()
        })
        .await;
        if let Ok(Err(fault)) = refreshed {
            tracing::error!(cause = %fault.chain(), "the inventories could not be refreshed");
        }
    }
}

/// Takes an address; with port 0 the one that it got.
///
/// # Errors
/// That it cannot be had.
pub(super) async fn bind(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind(wanted).await.map_err(|error| {
        Failure::new(1, format!("cannot listen on {wanted}: {error}"))
            .hint("choose another address with --listen")
    })?;
    let address = listener.local_addr().map_err(|error| Failure::fault(&error))?;
    Ok((listener, address))
}

/// Resolves when the process is asked to stop.
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    })
}

/// Logs to standard error, so that standard output stays data.
pub(super) fn start_log(server: &Server) -> Result<(), Failure> {
    let filter = tracing_subscriber::EnvFilter::try_new(&server.log_filter)
        .map_err(|error| Failure::usage(format!("server.log_filter: {error}")))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started =
        if server.log_json { log.json().flatten_event(true).try_init() } else { log.try_init() };
    started.map_err(|error| Failure::new(1, format!("starting the log: {error}")))?;
    // A panic's message may quote what a caller sent, so only its place is logged.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panicked");
    }));
    Ok(())
}
