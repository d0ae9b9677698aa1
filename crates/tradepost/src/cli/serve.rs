//! `tradepost serve`: put one or more dealers online.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::output::Failure;
use super::{Context, Outcome, check_config, dealers};
use crate::aap::demo;
use crate::clock::Clock;
use crate::config::{Config, Server};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::http;
use crate::store::Store;

/// How often the server looks for inventories that `tradepost import` has replaced.
const REFRESH: Duration = Duration::from_secs(1);

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
    /// Where to listen, instead of the configured address; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The folder that holds all state.
    #[arg(long, value_name = "DIR", default_value = dealers::DATA)]
    data: PathBuf,
}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let mut config = arguments.dealers.load(&context.environment)?;
    if let Some(listen) = arguments.listen {
        config.server.listen = listen;
    }
    check_config::check_keys(&config)?;
    start_log(&config.server)?;
    let clock = Clock::system();
    let store = Store::open(&arguments.data).map_err(|fault| Failure::fault(&fault))?;
    if arguments.dealers.demo {
        stock_demo(&config, &store, &clock, arguments.demo_size)
            .map_err(|fault| Failure::fault(&fault))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::fault(&error))?;
    runtime.block_on(serve(config, store, clock, context))
}

/// Gives the demo dealer its inventory.
fn stock_demo(config: &Config, store: &Store, clock: &Clock, size: usize) -> Result<(), Fault> {
    let now = clock.now();
    for dealer in &config.dealers {
        store.replace_inventory(&dealer.id, &demo::units(size, DEMO_SEED, now), now, false)?;
    }
    Ok(())
}

async fn serve(config: Config, store: Store, clock: Clock, context: &Context) -> Outcome {
    let wanted = config.server.listen;
    let listener = TcpListener::bind(wanted).await.map_err(|error| {
        Failure::new(1, format!("cannot listen on {wanted}: {error}"))
            .hint("choose another address with --listen")
    })?;
    let address = listener.local_addr().map_err(|error| Failure::fault(&error))?;
    let server = config.server.clone();
    let desk = Desk::open(config, Arc::new(store), clock, address)
        .map_err(|fault| Failure::fault(&fault))?;
    let desk = Arc::new(desk);
    let stop = stop_signal().map_err(|error| Failure::fault(&error))?;
    tokio::spawn(keep_fresh(Arc::clone(&desk)));
    // Scripts wait for this line.
    context.output.line(format!("listening on http://{address}"));
    http::server::serve(listener, http::router(desk), &server, stop).await;
    tracing::info!("stopped");
    Ok(())
}

async fn keep_fresh(desk: Arc<Desk>) {
    loop {
        tokio::time::sleep(REFRESH).await;
        let desk = Arc::clone(&desk);
        // Building an index takes a while; requests must not wait for it.
        let refreshed = tokio::task::spawn_blocking(move || desk.refresh()).await;
        if let Ok(Err(fault)) = refreshed {
            tracing::error!(cause = %fault.chain(), "the inventories could not be refreshed");
        }
    }
}

/// Resolves when the process is asked to stop.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
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
fn start_log(server: &Server) -> Result<(), Failure> {
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
