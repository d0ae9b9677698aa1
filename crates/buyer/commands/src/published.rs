//! Fetches what agents and their operators publish, from addresses that the egress guard permits.

use std::sync::OnceLock;
use std::time::Duration;

use tradepost_adcp::signing;
use tradepost_client::signed::signers::{DocumentUnread, Fetching, MAX_DOCUMENT, PublishedKeys};
use tradepost_client::transport::{HttpTransport, TransportLimits};
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, client};
use tradepost_server::fault::InternalError;

/// Maximum time for a fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// HTTP client behind the egress guard.
#[derive(Debug)]
pub struct GuardedWeb {
    egress: Egress,
    clock: Clock,
    plain: OnceLock<HttpTransport>,
    secure: OnceLock<HttpTransport>,
}

impl GuardedWeb {
    /// Creates a client for the addresses that `egress` permits.
    #[must_use]
    pub fn new(egress: Egress, clock: Clock) -> Self {
        Self { egress, clock, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    /// Created at first use: a machine without root certificates can still call itself.
    fn transport(&self, secure: bool) -> Result<&HttpTransport, InternalError> {
        let slot = if secure { &self.secure } else { &self.plain };
        if let Some(transport) = slot.get() {
            return Ok(transport);
        }
        let client = client::build(&self.egress, FETCH_TIMEOUT, secure)?;
        let limits = TransportLimits {
            timeout: FETCH_TIMEOUT,
            connect: FETCH_TIMEOUT,
            max_body: MAX_DOCUMENT,
        };
        // When two are created at once the first one stays, so that one pool has all connections.
        Ok(slot.get_or_init(|| HttpTransport::with_clients(client.clone(), client, limits)))
    }

    async fn fetch(&self, url: &str) -> Result<Vec<u8>, DocumentUnread> {
        let url = self.egress.read(url).map_err(|_| DocumentUnread::Forbidden)?.url;
        let transport =
            self.transport(url.scheme() == "https").map_err(|_| DocumentUnread::Unreached)?;
        let response = transport.get(&url, None).await.map_err(|_| DocumentUnread::Unreached)?;
        match response.status {
            404 => Err(DocumentUnread::Absent),
            _ if response.is_success() => Ok(response.body),
            _ => Err(DocumentUnread::Unreached),
        }
    }
}

impl PublishedKeys for GuardedWeb {
    fn get<'a>(&'a self, url: &'a str) -> Fetching<'a> {
        Box::pin(self.fetch(url))
    }

    fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    fn failed(&self, agent: &str, why: signing::SignatureError) {
        tracing::warn!(%agent, %why, "a signer's keys could not be fetched");
    }
}
