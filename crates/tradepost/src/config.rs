//! The configuration: who sells, where, on which terms. A `Config` is whole and consistent; how
//! one is read from a file is in [`read`](read::read).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_buyer::signed::signers::AgentKeys;
use tradepost_publisher::profile::PublisherProfile;
pub use tradepost_server::auth::{AuthSettings, JwtSettings, KeySource, KnownCertificate};
pub use tradepost_server::card::ListenOrigin;
use tradepost_server::http;
pub use tradepost_server::http::WebOrigin;
use tradepost_server::limit;
pub use tradepost_server::tls::PemFiles as Tls;
use tradepost_store::DatabaseUrl;
use tradepost_wire::aap::Version;
use tradepost_wire::words;

use crate::adcp::seller::Front;
use delivery::{ConfigSecret, DeliveryConfig, PublisherDestination, PublisherDestinations};

pub mod acme;
pub mod delivery;
pub mod feeds;
pub mod oidc;
pub mod read;

/// Everything that the server needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// The process.
    pub server: ServerConfig,
    /// The dealers. There is a dealer or a publisher; ids and hosts are unique.
    pub dealers: Vec<DealerConfig>,
    /// The publishers.
    pub publishers: Vec<PublisherConfig>,
    /// What becomes of personal data.
    pub privacy: Privacy,
    /// Whom to tell what is amiss; nobody when `None`.
    pub alerts: Option<AlertConfig>,
    /// Where traces go; there are none when `None`.
    pub traces: Option<Traces>,
}

/// What becomes of personal data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Privacy {
    /// The file with the key that encrypts it in the store; nothing is encrypted when `None`.
    pub key_file: Option<PathBuf>,
    /// For how long a lead is kept after its last change, where its dealer says nothing else; for ever
    /// when `None`.
    pub retention: Option<SignedDuration>,
}

/// Where traces go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// The address of a collector that takes OTLP in JSON, with its path.
    pub endpoint: String,
    /// How many of a hundred are written down.
    pub percent: u8,
    /// What the server is called there.
    pub service: String,
    /// The bearer token.
    pub bearer: Option<ConfigSecret>,
}

/// Who is told what is amiss, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertConfig {
    /// How much time there is at least between two messages to one destination.
    pub every: SignedDuration,
    /// After how long what goes on is told again.
    pub remind: SignedDuration,
    /// Who is told; names are unique.
    pub destinations: Vec<DeliveryConfig>,
    /// How much of what the console refuses is worth a message.
    pub access: AccessThresholds,
}

/// How often the console refuses people in an hour before somebody is told; 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessThresholds {
    /// Failed sign-ins.
    pub failed_sign_ins: u64,
    /// Names, browsers and addresses that are locked for a while because too many sign-ins failed.
    pub locked_sign_ins: u64,
    /// Requests for what a role does not permit.
    pub refused_actions: u64,
}

impl Default for AccessThresholds {
    fn default() -> Self {
        Self { failed_sign_ins: 30, locked_sign_ins: 3, refused_actions: 30 }
    }
}

/// How the process behaves.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where it answers the people who run it, besides.
    pub operator_listen: Option<SocketAddr>,
    /// Whether there are dealers beside those of the file, which the store has and which come and go
    /// while the process runs. Then every seller needs hosts, and the file need name none.
    pub hosting: bool,
    /// The host names on which the directory of all sellers is, and nothing else.
    pub directory_hosts: Vec<String>,
    /// How many requests may be at work at once; beyond it sellers take turns.
    pub max_running_requests: usize,
    /// The console for the dealers' people, which there is none of when `None`.
    pub console: Option<ConsoleConfig>,
    /// The largest request body in bytes.
    pub max_body_bytes: usize,
    /// How long a request may take to arrive, headers and body each.
    pub read_timeout: SignedDuration,
    /// How long an answer may take, once the request has arrived.
    pub request_timeout: SignedDuration,
    /// The PostgreSQL that keeps everything, in place of a file in the data folder.
    pub database: Option<DatabaseUrl>,
    /// How many bytes have to be free on the disk for leads to be taken.
    pub min_free_space: u64,
    /// How many bytes of memory inventories may take; beyond it the one that was not asked for the
    /// longest time is given up and loaded again when it is.
    pub memory_budget: u64,
    /// How many connections may be open at once.
    pub max_connections: usize,
    /// How many of them one address may have, or one IPv6 network of 64 bits.
    pub connections_per_address: usize,
    /// How many bytes of unanswered requests are kept at once.
    pub max_pending_bytes: usize,
    /// How long requests in progress may take to finish after SIGTERM.
    pub shutdown_grace: SignedDuration,
    /// Whether to log JSON lines instead of text.
    pub log_json: bool,
    /// What to log: a `tracing` filter such as `info` or `tradepost=debug`.
    pub log_filter: String,
    /// Whether the client's address is taken from the last entry of `X-Forwarded-For`.
    pub trust_forwarded_for: bool,
    /// The web pages whose visitors' browsers may call.
    pub web_origins: Vec<WebOrigin>,
    /// How it speaks TLS; it does not when `None`.
    pub tls: Option<Tls>,
    /// Where the files of it come from, when the server orders them.
    pub acme: Option<acme::Acme>,
}

impl ServerConfig {
    /// The keys by which two differ that hold for as long as a process runs.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        macro_rules! keys {
            ($one:ident $other:ident $($key:ident)*) => {
                [$((concat!("server.", stringify!($key)), $one.$key != $other.$key)),*]
            };
        }
        let keys = keys![self other listen operator_listen hosting directory_hosts
            max_running_requests console max_body_bytes read_timeout request_timeout database
            min_free_space memory_budget max_connections connections_per_address max_pending_bytes
            shutdown_grace log_json trust_forwarded_for web_origins];
        let tls = ("server.tls", self.tls != other.tls || self.acme != other.acme);
        // The filter of the log is not among them: a running process takes a new one over.
        keys.into_iter().chain([tls]).filter_map(|(key, differs)| differs.then_some(key)).collect()
    }

    /// What the HTTP server takes of it.
    #[must_use]
    pub fn http(&self) -> http::HttpSettings {
        http::HttpSettings {
            max_body_bytes: self.max_body_bytes,
            read_timeout: lasting(self.read_timeout),
            request_timeout: lasting(self.request_timeout),
            max_connections: self.max_connections,
            connections_per_address: self.connections_per_address,
            max_pending_bytes: self.max_pending_bytes,
            max_running_requests: self.max_running_requests,
            directory_hosts: self.directory_hosts.clone(),
            shutdown_grace: lasting(self.shutdown_grace),
            trust_forwarded_for: self.trust_forwarded_for,
            web_origins: self.web_origins.clone(),
        }
    }

    /// What it is reached at when it listens on an address.
    #[must_use]
    pub fn origin(&self, address: SocketAddr) -> ListenOrigin {
        ListenOrigin { secure: self.tls.is_some(), address }
    }
}

/// The console for the dealers' people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleConfig {
    /// Where it listens: on this machine, unless TLS is spoken or a proxy speaks it.
    pub listen: SocketAddr,
    /// The absolute base address under which browsers reach it, without a slash at the end, where a
    /// proxy stands before it.
    pub public_url: Option<String>,
    /// For how long somebody stays signed in.
    pub session_lifetime: SignedDuration,
    /// For how long of these somebody may do nothing.
    pub session_idle: SignedDuration,
    /// The provider with which people may sign in besides.
    pub oidc: Option<oidc::Oidc>,
    /// Whether people who sign in with a password need a second factor.
    pub second_factor: SecondFactorPolicy,
}

words! {
    /// Whether people who sign in to the console with a password need a second factor.
    pub enum SecondFactorPolicy {
        /// Each person decides.
        Optional = "optional",
        /// Whoever has none is led to set one up, and can do nothing else before.
        Required = "required",
    }
}

impl ConsoleConfig {
    /// Where browsers reach it, without a slash at the end.
    #[must_use]
    pub fn base(&self, server: &ServerConfig) -> String {
        let scheme = if server.tls.is_some() { "https" } else { "http" };
        self.public_url.clone().unwrap_or_else(|| format!("{scheme}://{}", self.listen))
    }
}

/// A dealer or dealer group: one agent, one card.
#[derive(Debug, Clone)]
pub struct DealerConfig {
    /// Who it is, and on which terms it sells.
    pub terms: tradepost_dealer::settings::DealerSettings,
    /// The host names (without port) that lead to this dealer. Empty only when there is a single
    /// dealer, who then answers on every host.
    pub hosts: Vec<String>,
    /// The absolute base address under which agents reach it, without a slash at the end. When
    /// `None` the card names the first host with https, or the address where the server listens.
    pub public_url: Option<String>,
    /// Whether the directory of the process names it.
    pub listed: bool,
    /// What the card says about the agent.
    pub description: String,
    /// The agent's own version on the card.
    pub agent_version: String,
    /// Who operates the agent.
    pub provider: Option<(String, String)>,
    /// Documentation for people.
    pub documentation_url: Option<String>,
    /// How often one caller may call.
    pub rate_limit: RateLimitConfig,
    /// Whether a request without `A2A-Version` is refused (C-33).
    pub require_version: bool,
    /// Whether v1.0 is spoken over HTTP+JSON too, which v1.1 has no more.
    pub http_json: bool,
    /// Whether `acceptedOutputModes` without a type of ours is refused (C-26).
    pub strict_output_modes: bool,
    /// How callers say who they are.
    pub auth: AuthSettings,
    /// How its card is signed; it is not when `None` (A2A §8.4).
    pub card_signing: Option<CardSigning>,
    /// Where its leads are delivered to; names are unique.
    pub deliveries: Vec<DeliveryConfig>,
    /// Where its inventory comes from by itself; names are unique.
    pub feeds: Vec<feeds::FeedConfig>,
}

/// A publisher: one agent, one card.
#[derive(Debug, Clone)]
pub struct PublisherConfig {
    /// Who it is and on which terms it sells; what it has to sell is read when it opens.
    pub profile: PublisherProfile,
    /// How it is reached, and who may call.
    pub front: Front,
    /// The absolute base address under which agents reach it, without a slash at the end. When
    /// `None` the card names the first host with https, or the address where the server listens.
    pub public_url: Option<String>,
    /// Where its `brand.json` is, when not beside the agent itself; with https.
    pub brand_json_url: Option<String>,
    /// The file with what it sells; it sells nothing when `None`.
    pub catalogue: Option<PathBuf>,
    /// The ad server that knows what is sold out; the catalogue is all there is when `None`.
    pub upstream: Option<UpstreamConfig>,
    /// How often one caller may call.
    pub rates: Rates,
    /// For development: webhooks and governance agents may be on this machine, also without TLS.
    pub call_loopback: bool,
    /// The private key with which webhooks are signed; one that lasts as long as the process when
    /// `None`.
    pub webhook_key: Option<WebhookKeyFile>,
    /// The private key with which decisions about plans are signed; one that lasts as long as the
    /// process when `None`.
    pub governance_key: Option<WebhookKeyFile>,
    /// Where the keys of buyer agents that sign are, by the agents' ids.
    pub signers: BTreeMap<String, AgentKeys>,
    /// With what verifiers of creatives know the publisher, by their addresses.
    pub verifiers: Vec<(String, ConfigSecret)>,
    /// Where its people are told of what was sold and what waits for them.
    pub deliveries: Vec<PublisherDestination>,
}

impl PublisherConfig {
    /// Where its people are told of events, with its id.
    #[must_use]
    pub fn destinations(&self) -> PublisherDestinations {
        let (publisher_id, destinations) = (self.profile.id.clone(), self.deliveries.clone());
        PublisherDestinations { publisher_id, destinations }
    }
}

/// A private key of the publisher's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookKeyFile {
    /// The private key: PKCS#8 in PEM, or a JWK.
    pub key_file: PathBuf,
    /// The key's name; that of the JWK or the thumbprint when `None`.
    pub kid: Option<String>,
}

/// The ad server behind a publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// Where it is asked: an address with http or https.
    pub url: String,
    /// How long it may take.
    pub timeout: SignedDuration,
    /// For how long an answer is as good as a new one.
    pub freshness: SignedDuration,
    /// For how long an answer is served when there is no new one.
    pub keep: SignedDuration,
}

/// How often one caller may call a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// What changes nothing.
    pub read: RateLimitConfig,
    /// What changes something.
    pub write: RateLimitConfig,
    /// New idempotency keys.
    pub insert: RateLimitConfig,
}

/// A time that is never negative where it stands in a configuration.
fn lasting(time: SignedDuration) -> Duration {
    Duration::try_from(time).unwrap_or(Duration::MAX)
}

impl RateLimitConfig {
    /// The limit itself.
    #[must_use]
    pub fn limit(&self) -> limit::RateLimit {
        limit::RateLimit { requests: self.requests, window: self.window }
    }
}

impl DealerConfig {
    /// Whether there is an HTTP+JSON binding: v1.0 is the only version that has one.
    #[must_use]
    pub fn speaks_http_json(&self) -> bool {
        self.http_json && self.terms.versions.contains(&Version::V1_0)
    }
}

/// How a card is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSigning {
    /// The private key: PKCS#8 in PEM, or a JWK.
    pub key_file: PathBuf,
    /// The key's name; that of the JWK or the thumbprint when `None`.
    pub kid: Option<String>,
    /// Where the dealer publishes its public keys.
    pub jku: Option<String>,
}

/// How often one caller may call: `requests` in `window`, refilled evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitConfig {
    /// How many at once; 0 switches the limit off.
    pub requests: u32,
    /// In how much time.
    pub window: SignedDuration,
    /// Whether a refusal is HTTP 429 instead of 200. Off, because one official SDK throws the body
    /// of every other status away (C-30).
    pub http_429: bool,
}
