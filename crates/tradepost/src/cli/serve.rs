//! `tradepost serve`: serves one or more dealers or publishers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lock::lock;
use reload::Reload;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tradepost_demo::dealer as dealer_demo;
use tradepost_runtime::acme::{self, Orders};
use tradepost_runtime::alerts::AlertSender;
use tradepost_runtime::alerts::watch::AlertWatch;
use tradepost_runtime::config::acme::Acme;
use tradepost_runtime::config::{self, Config, ServerConfig};
use tradepost_runtime::hosting;
use tradepost_runtime::traces;
use tradepost_runtime::wiring::Wiring;
use tradepost_server::background::{keep_going, piece};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::http;
use tradepost_server::outbox::ClockAndRandom;
use tradepost_server::tls::ServerIdentity;
use tradepost_server::traces::Tracer;
use tradepost_store::Store;

use super::context::runtime;
use super::listening::{bind, ignore_user_signals, start_log, stop_signal};
use super::output::CommandFailure;
use super::store_location::{self, StoreOptions};
use super::{Context, Outcome, check_config, dealers};

mod console;
mod demo;
pub(super) mod lock;
mod reload;

/// Interval at which the server checks for inventories that `tradepost import` has replaced, and
/// for new certificates.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Seed of the demo inventory, which is the same everywhere.
const DEMO_SEED: u64 = 20_260_401;

/// Arguments of `tradepost serve`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    dealers: dealers::ConfigSource,
    /// Number of vehicles that the demo dealer offers.
    #[arg(long, value_name = "N", default_value_t = 300, requires = "demo")]
    demo_size: usize,
    #[command(flatten)]
    publisher: demo::DemoPublisher,
    /// Address to listen on, instead of the configured address; port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Memory limit for inventories in MiB, instead of the configured limit. The inventory that was
    /// not queried for the longest time is unloaded first.
    #[arg(long, value_name = "MIB")]
    memory_budget: Option<u32>,
    #[command(flatten)]
    place: StoreOptions,
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let demo = arguments.publisher.config();
    let source = demo.is_none();
    let mut config = match demo {
        Some(config) => config,
        None => arguments.dealers.load(&arguments.place, context)?,
    };
    let configured = config.server.clone();
    if let Some(listen) = arguments.listen {
        config.server.listen = listen;
    }
    if let Some(mebibytes) = arguments.memory_budget {
        config.server.memory_budget = u64::from(mebibytes) << 20;
    }
    check_config::check_keys(&config)?;
    check_config::load_catalogues(&mut config)?;
    // Dropped last, so that the final lines are written.
    let log = Arc::new(start_log(&config.server.log_filter, config.server.log_json)?);
    if source {
        for warning in check_config::warnings(&config) {
            let warning = warning.message;
            tracing::warn!(warning, "the configuration has something that will be regretted");
        }
    }
    let runtime = runtime(Builder::new_multi_thread())?;
    // Before anything slow, because until then the signal would end the process.
    let hangups = {
        let _entered = runtime.enter();
        ignore_user_signals()?;
        signal(SignalKind::hangup()).map_err(CommandFailure::fault)?
    };
    let clock = Clock::system();
    let tls = identity(&config.server, &clock)?.map(Arc::new);
    let order =
        |acme: &Acme| Arc::new(Orders::new(acme.clone(), clock.clone(), ClockAndRandom::system()));
    let orders = config.server.acme.as_ref().map(order);
    // Held until the process ends, and taken before the migration: another server may be running.
    let database = arguments.place.database(Some(&config), context)?;
    let _lock = database.is_none().then(|| lock(&arguments.place)).transpose()?;
    let keys = arguments.place.keys(Some(&config), context)?;
    let store = arguments.place.migrate(database.as_ref())?;
    // A migration to another database must not run while this process writes.
    store.enter()?;
    if store_location::unlock(&store, &keys, true)? {
        tracing::info!(key = keys.ids().first(), "personal data is encrypted");
    }
    if arguments.dealers.demo {
        stock_demo(&config, &store, &clock, arguments.demo_size)?;
    }
    let reload = Reload {
        config_path: (source && !arguments.dealers.demo)
            .then(|| arguments.place.config_path().to_owned()),
        is_demo: source && arguments.dealers.demo,
        environment: context.environment.clone(),
        server: configured,
        key_file: config.privacy.key_file.clone(),
        alerts: config.alerts.clone(),
        traces: config.traces.clone(),
        tls: tls.clone(),
        orders,
        log,
    };
    let data = database.is_none().then(|| arguments.place.data.clone());
    runtime.block_on(serve(config, store, clock, reload, hangups, data, context))
}

/// Returns the TLS certificate: from files, or ordered from an authority.
fn identity(
    server: &ServerConfig,
    clock: &Clock,
) -> Result<Option<ServerIdentity>, CommandFailure> {
    let Some(files) = server.tls.clone() else { return Ok(None) };
    let opened = match &server.acme {
        Some(acme) => ServerIdentity::open_ordered(files, acme::challenges(acme), clock),
        None => ServerIdentity::open(files, clock),
    };
    opened.map(Some).map_err(|mistakes| check_config::unusable_tls(&mistakes))
}

/// Stores the inventory of the demo dealer.
fn stock_demo(
    config: &Config,
    store: &Store,
    clock: &Clock,
    size: usize,
) -> Result<(), InternalError> {
    let now = clock.now();
    for dealer in &config.dealers {
        let listings = dealer_demo::listings(size, DEMO_SEED, now);
        store.replace_inventory(&dealer.terms.id, &listings, now, false)?;
    }
    Ok(())
}

async fn serve(
    config: Config,
    store: Store,
    clock: Clock,
    reload: Reload,
    hangups: Signal,
    data: Option<PathBuf>,
    context: &Context,
) -> Outcome {
    // Before the agents are set up: their cards name the address.
    let (listener, address) = bind(config.server.listen).await?;
    let operators = match config.server.operator_listen {
        Some(wanted) => Some(bind(wanted).await?),
        None => None,
    };
    let server = config.server.clone();
    let alerts = config.alerts.clone();
    let traces = config.traces.clone();
    let dealers = config.dealers.len();
    let publishers = config.publishers.len();
    let wiring = Wiring::open(config, Arc::new(store), clock, address)?;
    let console = console::open(&wiring, &server, reload.is_demo, address).await?;
    let registry = Arc::clone(&wiring.registry);
    let wiring = Arc::new(wiring);
    let stop = stop_signal()?;
    let tls = reload.tls.clone();
    keep_watch(&wiring, alerts, traces, data, &server, reload, hangups)?;
    let grace = Duration::try_from(server.shutdown_grace).unwrap_or_default();
    let (stop_deliveries, mut deliveries) = deliver(&wiring, grace);
    tracing::info!(%address, dealers, publishers, "started");
    // Scripts wait for this line.
    context.output.line(format!("listening on {}", server.origin(address)));
    let console = console.map(|console| console.serve(&server, tls.clone(), context));
    let listener = match tls {
        Some(identity) => http::server::Listener::with_tls(listener, identity),
        None => listener.into(),
    };
    let stop = {
        let registry = Arc::clone(&registry);
        async move {
            stop.await;
            // Subscribers of a task would keep the process from ending.
            registry.close_streams();
        }
    };
    // Ends with the process: operators can still connect while the last requests are answered.
    let watched = operators.map(|(listener, address)| {
        tracing::info!(%address, "listening for operators");
        let server = for_operators(&server);
        let mut router = http::operator_router(Arc::clone(&registry));
        if let Some(api) = hosting::api::router(&wiring, &server) {
            router = router.merge(api);
        }
        tokio::spawn(async move {
            http::server::serve(listener, router, &server.http(), std::future::pending()).await;
        })
    });
    http::server::serve(listener, wiring.site(), &server.http(), stop).await;
    for watched in watched.into_iter().chain(console) {
        watched.abort();
    }
    // Stopped after the last request, so that its leads and refusals are still seen.
    drop(stop_deliveries);
    while deliveries.join_next().await.is_some() {}
    tracing::info!("stopped");
    Ok(())
}

/// Starts the background tasks for the server itself: traces, alerts, certificates, and reloads.
fn keep_watch(
    wiring: &Arc<Wiring>,
    alerts: Option<config::AlertConfig>,
    traces: Option<config::Traces>,
    data: Option<PathBuf>,
    server: &ServerConfig,
    reload: Reload,
    hangups: Signal,
) -> Result<(), CommandFailure> {
    let tls = reload.tls.clone();
    let orders = reload.orders.clone();
    if let Some(settings) = traces {
        let percent = settings.percent;
        let (queue, exporter) = traces::open(settings)?;
        tokio::spawn(exporter.run());
        wiring.trace_with(&Tracer::new(Arc::new(queue), percent, wiring.clock.clone()));
    }
    if let Some(settings) = alerts {
        let alerts = alarm(settings, wiring, tls.clone(), orders.clone(), data, server)?;
        let run = move || {
            let alerts = Arc::clone(&alerts);
            async move { alerts.run().await }
        };
        tokio::spawn(keep_going("alerts", run));
    }
    tokio::spawn(keep_fresh(Arc::clone(wiring), tls.clone(), orders.clone()));
    if let Some((orders, identity)) = orders.zip(tls.clone()) {
        let run = move || {
            let orders = Arc::clone(&orders);
            let identity = Arc::clone(&identity);
            async move { orders.run(&identity).await }
        };
        tokio::spawn(keep_going("orders of certificates", run));
    }
    tokio::spawn(reload::follow(hangups, Arc::new(reload), Arc::clone(wiring)));
    Ok(())
}

/// Starts the background deliveries, until the returned sender is dropped.
fn deliver(wiring: &Wiring, grace: Duration) -> (watch::Sender<()>, JoinSet<()>) {
    let (stop, deliveries_stopped) = watch::channel(());
    let stopped = move || {
        let mut stopped = deliveries_stopped.clone();
        async move {
            let _ = stopped.changed().await;
        }
    };
    let mut deliveries = JoinSet::new();
    let leads = Arc::clone(&wiring.deliveries);
    let until = stopped.clone();
    deliveries.spawn(keep_going("leads", move || Arc::clone(&leads).run(until(), grace)));
    let feeds = Arc::clone(&wiring.feeds);
    let until = stopped.clone();
    deliveries.spawn(keep_going("feeds", move || Arc::clone(&feeds).run(until())));
    let refusals = Arc::clone(&wiring.refusals);
    let until = stopped.clone();
    deliveries.spawn(keep_going("refusals", move || Arc::clone(&refusals).run(until())));
    let searches = Arc::clone(&wiring.empty_searches);
    let until = stopped.clone();
    deliveries.spawn(keep_going("empty searches", move || Arc::clone(&searches).run(until())));
    for notices in &wiring.notices {
        let notices = Arc::clone(notices);
        let until = stopped.clone();
        let run = move || Arc::clone(&notices).run(until(), grace);
        deliveries.spawn(keep_going("notifications", run));
    }
    for orders in &wiring.orders {
        let orders = Arc::clone(orders);
        let until = stopped.clone();
        let run = move || Arc::clone(&orders).run(until(), grace);
        deliveries.spawn(keep_going("orders of the ad server", run));
    }
    (stop, deliveries)
}

/// Creates the sender of alerts.
fn alarm(
    settings: config::AlertConfig,
    wiring: &Arc<Wiring>,
    identity: Option<Arc<ServerIdentity>>,
    orders: Option<Arc<Orders>>,
    data: Option<PathBuf>,
    server: &ServerConfig,
) -> Result<Arc<AlertSender>, CommandFailure> {
    let store = Arc::clone(&wiring.store);
    let clock = wiring.clock.clone();
    let of = Arc::clone(wiring);
    let answering = Arc::clone(wiring);
    let watch = AlertWatch {
        registry: Arc::clone(&wiring.registry),
        store: Arc::clone(&store),
        agents: Box::new(move || of.agent_ids()),
        answer_times: Box::new(move || answering.answer_times()),
        identity,
        orders,
        disk: data.map(|folder| (folder, server.min_free_space)),
        access: settings.access,
    };
    Ok(Arc::new(AlertSender::open(settings, watch, store, clock)?))
}

/// Returns the settings of the operators' and the console's listeners: fewer connections than for
/// buyers, and a limit for each address, so that one cannot lock the others out.
pub(super) fn for_operators(server: &ServerConfig) -> ServerConfig {
    const CONNECTIONS: usize = 512;
    const OF_ONE_ADDRESS: usize = 64;
    ServerConfig {
        max_connections: CONNECTIONS,
        connections_per_address: OF_ONE_ADDRESS,
        ..server.clone()
    }
}

async fn keep_fresh(
    wiring: Arc<Wiring>,
    tls: Option<Arc<ServerIdentity>>,
    orders: Option<Arc<Orders>>,
) {
    keep_going("what comes due by itself", || async {
        loop {
            tokio::select! {
                () = tokio::time::sleep(REFRESH_INTERVAL) => {}
                () = wiring.feeds.taken() => {}
                () = wiring.changed() => {}
            }
            let fresh = Arc::clone(&wiring);
            let tls = tls.clone();
            let orders = orders.clone();
            // Building an index takes a while; requests must not wait for it.
            let refreshed = piece("taking over inventories", move || {
                if let Some(identity) = tls {
                    identity.refresh();
                    let failures = orders.map(|orders| orders.failures());
                    fresh.registry.record_certificate(&identity, failures);
                }
                // A failure of one must not keep the other from its work.
                let followed = fresh.follow();
                let refreshed = fresh.refresh();
                fresh.tidy();
                if let Err(fault) = &followed {
                    tracing::error!(cause = %fault.chain(), "changes of dealers could not be taken over");
                }
                refreshed
            });
            if let Some(Err(fault)) = refreshed.await {
                tracing::error!(cause = %fault.chain(), "what others have changed could not be taken over");
            }
            wiring.registry.tick().await;
        }
    })
    .await;
}
