//! SIGHUP: reloads certificates, the log filter and dealers. Settings that need a restart are named
//! in the log; no mistake ends the process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::signal::unix::Signal;
use tradepost_commands::log::Log;
use tradepost_runtime::acme::Orders;
use tradepost_runtime::config::{AlertConfig, ServerConfig, Traces};
use tradepost_runtime::wiring::Wiring;
use tradepost_server::background::{keep_going, piece};
use tradepost_server::fault::chain;
use tradepost_server::tls::ServerIdentity;

use crate::cli::check_config;
use crate::cli::output::CommandFailure;

/// State that can be reloaded.
pub(super) struct Reload {
    /// Path of the configuration file; `None` when there is none.
    pub(super) config_path: Option<PathBuf>,
    /// True when the demo dealer is served.
    pub(super) is_demo: bool,
    pub(super) environment: Vec<(String, String)>,
    /// Settings of the process.
    pub(super) server: ServerConfig,
    /// File with the key of personal data.
    pub(super) key_file: Option<PathBuf>,
    /// Alerts to the operators.
    pub(super) alerts: Option<AlertConfig>,
    /// Destination of traces.
    pub(super) traces: Option<Traces>,
    pub(super) tls: Option<Arc<ServerIdentity>>,
    /// Orders of its certificate, if it is ordered.
    pub(super) orders: Option<Arc<Orders>>,
    pub(super) log: Arc<Log>,
}

/// Reloads on each signal.
pub(super) async fn follow(hangups: Signal, reload: Arc<Reload>, wiring: Arc<Wiring>) {
    // Behind a lock, because the task is restarted with the same signals after a panic.
    let hangups = tokio::sync::Mutex::new(hangups);
    keep_going("reloading", || async {
        while hangups.lock().await.recv().await.is_some() {
            let reload = Arc::clone(&reload);
            let wiring = Arc::clone(&wiring);
            piece("reloading", move || reload.run(&wiring)).await;
        }
    })
    .await;
}

impl Reload {
    fn run(&self, wiring: &Wiring) {
        if let Some(identity) = &self.tls {
            identity.reload();
        }
        if let Some(orders) = &self.orders {
            orders.retry_now();
        }
        let Some(config_path) = &self.config_path else {
            tracing::info!("there is no configuration file to read again");
            return;
        };
        if let Err(failure) = self.configure(config_path, wiring) {
            let cause = [[failure.message].as_slice(), &failure.lines].concat().join("; ");
            tracing::error!(cause, "the configuration stays as it was");
        }
    }

    fn configure(&self, config_path: &Path, wiring: &Wiring) -> Result<(), CommandFailure> {
        let config = check_config::load(config_path, &self.environment)?;
        check_config::check_keys(&config)?;
        let mut later = self.server.differences(&config.server);
        let others = [
            ("privacy.key_file", config.privacy.key_file != self.key_file),
            ("alerts", config.alerts != self.alerts),
            ("traces", config.traces != self.traces),
            ("publishers", !config.publishers.is_empty()),
        ];
        later.extend(others.into_iter().filter_map(|(key, differs)| differs.then_some(key)));
        let dealers = config.dealers.len();
        let log_filter = config.server.log_filter.clone();
        wiring.replace_dealers(config)?;
        self.log.filter(&log_filter).map_err(|error| CommandFailure::new(1, chain(&*error)))?;
        tracing::info!(dealers, "configuration read again");
        if !later.is_empty() {
            let keys = later.join(", ");
            tracing::warn!(keys, "these are read when the process starts; what is new there waits");
        }
        Ok(())
    }
}
