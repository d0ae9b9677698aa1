//! The configuration of a process: its server settings, dealers and publishers. A `Config` is
//! complete and consistent; [`read`](read::read) builds one from a file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_aap::Version;
use tradepost_ad_server::AdServerSettings;
use tradepost_admin::DealerScope;
use tradepost_client::signed::signers::AgentKeys;
use tradepost_document::words;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_server::auth::Principal;
pub use tradepost_server::auth::{AuthSettings, JwtSettings, KeySource, KnownCertificate};
pub use tradepost_server::card::ListenOrigin;
use tradepost_server::http;
pub use tradepost_server::http::WebOrigin;
use tradepost_server::limit;
pub use tradepost_server::tls::PemFiles as Tls;
use tradepost_store::DatabaseUrl;

use delivery::{ConfigSecret, DeliveryConfig, PublisherDestination, PublisherDestinations};

pub mod acme;
pub mod delivery;
pub mod feeds;
pub mod oidc;
pub mod read;

/// Configuration file of a dealer: every key with its default or an example.
pub const TEMPLATE: &str = include_str!("config/template.toml");

/// Configuration of a process.
#[derive(Debug, Clone)]
pub struct Config {
    /// Settings of the process.
    pub server: ServerConfig,
    /// Dealers. There is at least one dealer or publisher; ids and hosts are unique.
    pub dealers: Vec<DealerConfig>,
    /// Publishers.
    pub publishers: Vec<PublisherConfig>,
    /// Encryption and retention of personal data.
    pub privacy: Privacy,
    /// Alerts to the operators; none are sent when `None`.
    pub alerts: Option<AlertConfig>,
    /// Destination of traces; none are recorded when `None`.
    pub traces: Option<Traces>,
}

/// Encryption and retention of personal data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Privacy {
    /// File with the key that encrypts it in the store; nothing is encrypted when `None`.
    pub key_file: Option<PathBuf>,
    /// Time that a lead is kept after its last change, unless its dealer sets another; no limit
    /// when `None`.
    pub retention: Option<SignedDuration>,
}

/// Destination of traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// Address of a collector that accepts OTLP in JSON, with its path.
    pub endpoint: String,
    /// Percentage of traces that are recorded.
    pub percent: u8,
    /// Service name in the traces.
    pub service: String,
    /// Bearer token.
    pub bearer: Option<ConfigSecret>,
}

/// Recipients and frequency of alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertConfig {
    /// Minimum time between two messages to one destination.
    pub every: SignedDuration,
    /// Time after which a problem that persists is reported again.
    pub remind: SignedDuration,
    /// Destinations of alerts; names are unique.
    pub destinations: Vec<DeliveryConfig>,
    /// Numbers of console refusals that are worth a message.
    pub access: AccessThresholds,
}

/// Numbers of console refusals in an hour that lead to an alert; 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessThresholds {
    /// Failed sign-ins.
    pub failed_sign_ins: u64,
    /// Names, browsers and addresses that are locked out because too many sign-ins failed.
    pub locked_sign_ins: u64,
    /// Requests for actions that the role does not permit.
    pub refused_actions: u64,
}

impl Default for AccessThresholds {
    fn default() -> Self {
        Self { failed_sign_ins: 30, locked_sign_ins: 3, refused_actions: 30 }
    }
}

/// Settings of the process.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address on which it listens.
    pub listen: SocketAddr,
    /// Additional address for the operators' endpoints.
    pub operator_listen: Option<SocketAddr>,
    /// True when the store has dealers too, which can be added and removed at run time. Then every
    /// seller needs hosts, and the file may name no seller.
    pub hosting: bool,
    /// Host names of the directory of all sellers, and of MCP over all listed dealers, which no seller has.
    pub directory_hosts: Vec<String>,
    /// Maximum number of requests in progress; beyond it, fair scheduling shares the places among
    /// the sellers.
    pub max_running_requests: usize,
    /// Console for the dealers' staff; there is none when `None`.
    pub console: Option<ConsoleConfig>,
    /// Maximum request body in bytes.
    pub max_body_bytes: usize,
    /// Maximum time for a request to arrive, for its headers and its body each.
    pub read_timeout: SignedDuration,
    /// Maximum time for the response once the request has arrived.
    pub request_timeout: SignedDuration,
    /// PostgreSQL database that replaces the database file in the data folder.
    pub database: Option<DatabaseUrl>,
    /// Bytes that must be free on the disk for leads to be accepted.
    pub min_free_space: u64,
    /// Bytes of memory for inventories; beyond it the least recently used one is unloaded, and
    /// loaded again on demand.
    pub memory_budget: u64,
    /// Maximum number of open connections.
    pub max_connections: usize,
    /// Maximum number of connections from one address, or from one IPv6 /64 network.
    pub connections_per_address: usize,
    /// Maximum total bytes of requests that are not answered yet.
    pub max_pending_bytes: usize,
    /// Time that requests in progress get to finish after SIGTERM.
    pub shutdown_grace: SignedDuration,
    /// True when the log has JSON lines instead of text.
    pub log_json: bool,
    /// Log filter of `tracing`, such as `info` or `tradepost=debug`.
    pub log_filter: String,
    /// True when the client's address is taken from the last entry of `X-Forwarded-For`.
    pub trust_forwarded_for: bool,
    /// Web origins that browsers may call from (CORS).
    pub web_origins: Vec<WebOrigin>,
    /// TLS settings; plain HTTP when `None`.
    pub tls: Option<Tls>,
    /// Certificate authority from which the server orders the TLS files, if it does.
    pub acme: Option<acme::Acme>,
}

impl ServerConfig {
    /// Returns the keys that differ from `other` and take effect only after a restart.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let keys = [
            ("server.listen", self.listen != other.listen),
            ("server.operator_listen", self.operator_listen != other.operator_listen),
            ("server.hosting", self.hosting != other.hosting),
            ("server.directory_hosts", self.directory_hosts != other.directory_hosts),
            (
                "server.max_running_requests",
                self.max_running_requests != other.max_running_requests,
            ),
            ("server.console", self.console != other.console),
            ("server.max_body_bytes", self.max_body_bytes != other.max_body_bytes),
            ("server.read_timeout", self.read_timeout != other.read_timeout),
            ("server.request_timeout", self.request_timeout != other.request_timeout),
            ("server.database", self.database != other.database),
            ("server.min_free_space", self.min_free_space != other.min_free_space),
            ("server.memory_budget", self.memory_budget != other.memory_budget),
            ("server.max_connections", self.max_connections != other.max_connections),
            (
                "server.connections_per_address",
                self.connections_per_address != other.connections_per_address,
            ),
            ("server.max_pending_bytes", self.max_pending_bytes != other.max_pending_bytes),
            ("server.shutdown_grace", self.shutdown_grace != other.shutdown_grace),
            ("server.log_json", self.log_json != other.log_json),
            ("server.trust_forwarded_for", self.trust_forwarded_for != other.trust_forwarded_for),
            ("server.web_origins", self.web_origins != other.web_origins),
            ("server.tls", self.tls != other.tls || self.acme != other.acme),
        ];
        // The log filter is not among them: a running process applies a new one.
        keys.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
    }

    /// Returns the settings of the HTTP server.
    #[must_use]
    pub fn http(&self) -> http::HttpSettings {
        http::HttpSettings {
            max_body_bytes: self.max_body_bytes,
            read_timeout: std_duration(self.read_timeout),
            request_timeout: std_duration(self.request_timeout),
            max_connections: self.max_connections,
            connections_per_address: self.connections_per_address,
            max_pending_bytes: self.max_pending_bytes,
            max_running_requests: self.max_running_requests,
            directory_hosts: self.directory_hosts.clone(),
            shutdown_grace: std_duration(self.shutdown_grace),
            trust_forwarded_for: self.trust_forwarded_for,
            web_origins: self.web_origins.clone(),
        }
    }

    /// Returns the server's origin when it listens on `address`.
    #[must_use]
    pub fn origin(&self, address: SocketAddr) -> ListenOrigin {
        ListenOrigin { secure: self.tls.is_some(), address }
    }
}

/// Console for the dealers' staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleConfig {
    /// Address on which it listens: on this machine, unless it speaks TLS or is behind a proxy that
    /// does.
    pub listen: SocketAddr,
    /// Absolute base address for browsers, without a slash at the end, when it is behind a proxy.
    pub public_url: Option<String>,
    /// Maximum lifetime of a session.
    pub session_lifetime: SignedDuration,
    /// Maximum time without a request before a session ends.
    pub session_idle: SignedDuration,
    /// OpenID provider as an additional way to sign in.
    pub oidc: Option<oidc::Oidc>,
    /// Rule for second factors of people who sign in with a password.
    pub second_factor: SecondFactorPolicy,
}

words! {
    /// Rule for second factors of people who sign in to the console with a password.
    pub enum SecondFactorPolicy {
        /// Each person decides.
        Optional = "optional",
        /// Whoever has none is led to set one up, and can do nothing else before.
        Required = "required",
    }
}

impl ConsoleConfig {
    /// Returns the base address for browsers, without a slash at the end.
    #[must_use]
    pub fn base(&self, server: &ServerConfig) -> String {
        let scheme = if server.tls.is_some() { "https" } else { "http" };
        self.public_url.clone().unwrap_or_else(|| format!("{scheme}://{}", self.listen))
    }
}

/// Dealer or dealer group: one agent with one agent card.
#[derive(Debug, Clone)]
pub struct DealerConfig {
    /// Identity and terms of sale.
    pub terms: tradepost_dealer::settings::DealerSettings,
    /// Host names (without port) that lead to this dealer. Empty only when it is the only dealer,
    /// which then answers on every host.
    pub hosts: Vec<String>,
    /// Absolute base address for agents, without a slash at the end. When `None` the card names the
    /// first host with https, or the address on which the server listens.
    pub public_url: Option<String>,
    /// True when the directory of the process lists it.
    pub listed: bool,
    /// Description of the agent on its card.
    pub description: String,
    /// Version of the agent on its card.
    pub agent_version: String,
    /// Operator of the agent: name and URL.
    pub provider: Option<(String, String)>,
    /// Documentation for people.
    pub documentation_url: Option<String>,
    /// Rate limit of one caller.
    pub rate_limit: RateLimitConfig,
    /// True when a request without `A2A-Version` is refused. False by default, because AAP's own
    /// examples send none (docs/requirements, C-33).
    pub require_version: bool,
    /// True when the skills are also tools of MCP, under `/mcp`.
    pub mcp: bool,
    /// True when the inventory is also a catalog of UCP, under `/ucp`.
    pub ucp: bool,
    /// True when v1.0 is served over HTTP+JSON too; v1.1 has no such binding.
    pub http_json: bool,
    /// True when `acceptedOutputModes` without a type of ours is refused. False by default, because
    /// AAP defines no error for it (docs/requirements, C-26).
    pub strict_output_modes: bool,
    /// Authentication of callers.
    pub auth: AuthSettings,
    /// Signing of its card; the card is unsigned when `None` (A2A §8.4).
    pub card_signing: Option<CardSigning>,
    /// Destinations of its leads; names are unique.
    pub deliveries: Vec<DeliveryConfig>,
    /// Feeds that update its inventory; names are unique.
    pub feeds: Vec<feeds::FeedConfig>,
}

/// Hosts of a publisher, and authentication of its callers.
#[derive(Debug, Clone, Default)]
pub struct Front {
    /// Host names (without port) that lead to it; every host when empty.
    pub hosts: Vec<String>,
    /// Web origins that may call it over MCP, such as `https://example.com`.
    pub origins: Vec<String>,
    /// True when A2A 1.0 requires callers to name the profile's extension, as the card then says.
    pub require_extension: bool,
    /// Description of the agent on its card.
    pub description: String,
    /// Version of the agent on its card.
    pub agent_version: String,
    /// Operator of the agent: name and site.
    pub provider: Option<(String, String)>,
    /// Documentation for people.
    pub documentation_url: Option<String>,
    /// Authentication of callers.
    pub auth: AuthSettings,
    /// Additional public credentials, for a demonstration that has nothing to protect.
    pub tokens: Vec<(&'static str, Principal)>,
}

/// Publisher: one agent with one agent card.
#[derive(Debug, Clone)]
pub struct PublisherConfig {
    /// Identity and terms of sale; the catalogue is read when the publisher is opened.
    pub profile: PublisherProfile,
    /// Hosts and authentication of callers.
    pub front: Front,
    /// Absolute base address for agents, without a slash at the end. When `None` the card names the
    /// first host with https, or the address on which the server listens.
    pub public_url: Option<String>,
    /// Address of its `brand.json`, with https, when it is not served beside the agent.
    pub brand_json_url: Option<String>,
    /// File with its products; there are none when `None`.
    pub catalogue: Option<PathBuf>,
    /// Ad server that knows what is sold out; only the catalogue is used when `None`.
    pub upstream: Option<UpstreamConfig>,
    /// Ad server that its media buys are carried into; they are set up by hand when `None`.
    pub ad_server: Option<AdServerConfig>,
    /// Rate limits of one caller.
    pub rates: Rates,
    /// For development: allows webhooks and governance agents on this machine, also without TLS.
    pub call_loopback: bool,
    /// Private key that signs webhooks; generated anew for each process when `None`.
    pub webhook_key: Option<WebhookKeyFile>,
    /// Private key that signs decisions about plans; generated anew for each process when `None`.
    pub governance_key: Option<WebhookKeyFile>,
    /// Locations of the public keys of buyer agents that sign requests, by agent id.
    pub signers: BTreeMap<String, AgentKeys>,
    /// Addresses of creative verifiers, each with the credential of the publisher there.
    pub verifiers: Vec<(String, ConfigSecret)>,
    /// Destinations of messages to its staff about sales and pending decisions.
    pub deliveries: Vec<PublisherDestination>,
}

impl PublisherConfig {
    /// Returns the destinations of messages to its staff, with the publisher's id.
    #[must_use]
    pub fn destinations(&self) -> PublisherDestinations {
        let publisher_id = self.profile.id.clone();
        let destinations = self.deliveries.clone();
        PublisherDestinations { publisher_id, destinations }
    }
}

/// Private key of the publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookKeyFile {
    /// File of the private key: PKCS#8 in PEM, or a JWK.
    pub key_file: PathBuf,
    /// Key id; that of the JWK, or the thumbprint, when `None`.
    pub kid: Option<String>,
}

/// Ad server that media buys are carried into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdServerConfig {
    /// Adapter, address and names there; the credential is read when it is used.
    pub settings: AdServerSettings,
    /// Credential.
    pub credential: ConfigSecret,
    /// Time between two requests for the delivery of an order.
    pub report_every: SignedDuration,
    /// True if buys of test accounts are carried into it, too.
    pub test_accounts: bool,
}

/// Address at which a publisher asks what is sold out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// Address with http or https.
    pub url: String,
    /// Maximum time for its response.
    pub timeout: SignedDuration,
    /// Time that a cached response counts as fresh.
    pub freshness: SignedDuration,
    /// Time that a cached response is served when no new one can be fetched.
    pub keep: SignedDuration,
}

/// Rate limits of one caller of a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Calls that only read.
    pub read: RateLimitConfig,
    /// Calls that change something.
    pub write: RateLimitConfig,
    /// New idempotency keys.
    pub insert: RateLimitConfig,
}

/// Converts a time that a configuration never has negative.
fn std_duration(time: SignedDuration) -> Duration {
    Duration::try_from(time).unwrap_or(Duration::MAX)
}

impl RateLimitConfig {
    /// Returns the rate limit.
    #[must_use]
    pub fn limit(&self) -> limit::RateLimit {
        limit::RateLimit { requests: self.requests, window: self.window }
    }
}

impl DealerConfig {
    /// Returns true when there is an HTTP+JSON binding, which only v1.0 has.
    #[must_use]
    pub fn speaks_http_json(&self) -> bool {
        self.http_json && self.terms.versions.contains(&Version::V1_0)
    }

    /// Returns what operations of staff need to know of the dealer.
    #[must_use]
    pub fn scope(&self) -> DealerScope<'_> {
        let destinations = self.deliveries.iter().map(|delivery| &delivery.destination);
        DealerScope { settings: &self.terms, destinations: destinations.collect() }
    }
}

/// Signing of an agent card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSigning {
    /// File of the private key: PKCS#8 in PEM, or a JWK.
    pub key_file: PathBuf,
    /// Key id; that of the JWK, or the thumbprint, when `None`.
    pub kid: Option<String>,
    /// Address where the dealer publishes its public keys.
    pub jku: Option<String>,
}

/// Rate limit of one caller: `requests` in `window`, refilled evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitConfig {
    /// Number of requests; 0 switches the limit off.
    pub requests: u32,
    /// Time in which the requests are refilled.
    pub window: SignedDuration,
    /// True when a refusal is HTTP 429 instead of 200. False by default, because one official SDK
    /// discards the body of every other status (C-30).
    pub http_429: bool,
}
