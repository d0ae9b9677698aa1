//! Network settings of commands that act for a buyer: proxies of the environment, the machine's
//! root certificates and those of `--ca`, and with `--verbose` a trace of the requests.

use std::path::PathBuf;
use std::time::Duration;

use tradepost_client::transport::{HttpTransport, Network, TrafficLog, TransportLimits};

use super::Context;
use super::output::{CommandFailure, unreadable};

/// Network options of the commands that call agents.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct NetworkArguments {
    /// Trust certificates of the authorities in this file (PEM), in addition to those that this
    /// machine trusts.
    #[arg(long, value_name = "FILE", help_heading = "Network")]
    ca: Option<PathBuf>,
    /// Show each request and answer on standard error. Secrets are hidden; personal data is shown.
    #[arg(long, help_heading = "Network")]
    verbose: bool,
}

impl NetworkArguments {
    /// Returns the network of a command, with the proxies of `HTTPS_PROXY`, `HTTP_PROXY`,
    /// `ALL_PROXY` and `NO_PROXY`.
    ///
    /// # Errors
    /// Fails when a variable is not a valid proxy, or the file has no certificates.
    pub(super) fn network(&self, context: &Context) -> Result<Network, CommandFailure> {
        let network = Network::default().with_proxies(|name| context.variable(name));
        let mut network = network.map_err(|bad| {
            CommandFailure::usage(bad.to_string()).hint(
                "write http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT if the proxy requires a password",
            )
        })?;
        if let Some(path) = &self.ca {
            let pem = std::fs::read(path).map_err(unreadable(path))?;
            network = network.with_authorities(&pem).map_err(|bad| {
                CommandFailure::usage(format!("{} {bad}", path.display()))
                    .hint("give the certificate (PEM) of the authority that issued the server's")
            })?;
        }
        if self.verbose {
            let output = context.output;
            network = network.with_traffic_log(TrafficLog::new(move |text| output.talk(text)));
        }
        Ok(network)
    }

    /// Returns the transport of a command with a timeout in seconds.
    ///
    /// # Errors
    /// Fails as [`Self::network`] does.
    pub(super) fn transport(
        &self,
        context: &Context,
        seconds: u64,
    ) -> Result<HttpTransport, CommandFailure> {
        let limits =
            TransportLimits { timeout: Duration::from_secs(seconds), ..TransportLimits::default() };
        Ok(HttpTransport::with_network(self.network(context)?, limits))
    }
}
