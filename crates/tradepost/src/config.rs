//! The configuration: who sells, where, on which terms. A `Config` is whole and consistent; how
//! one is read from a file is in [`read`](read::read).

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tradepost_publisher::profile::Profile;
use tradepost_wire::aap::lead::AppointmentType;
use tradepost_wire::aap::{self, Skill, Version};

use crate::adcp::seller::Front;
use crate::adcp::signers::Keys;
use crate::gate::Scopes;
use crate::tls::client::Subject;

pub mod read;

/// Everything that the server needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// The process.
    pub server: Server,
    /// The dealers. There is a dealer or a publisher; ids and hosts are unique.
    pub dealers: Vec<Dealer>,
    /// The publishers.
    pub publishers: Vec<Publisher>,
}

/// How the process behaves.
#[derive(Debug, Clone)]
pub struct Server {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The largest request body in bytes.
    pub max_body_bytes: usize,
    /// How long a request may take to arrive, headers and body each.
    pub read_timeout: SignedDuration,
    /// How many connections may be open at once; more have to wait.
    pub max_connections: usize,
    /// How long requests in progress may take to finish after SIGTERM.
    pub shutdown_grace: SignedDuration,
    /// Whether to log JSON lines instead of text.
    pub log_json: bool,
    /// What to log: a `tracing` filter such as `info` or `tradepost=debug`.
    pub log_filter: String,
    /// Whether the client's address is taken from the last entry of `X-Forwarded-For`.
    pub trust_forwarded_for: bool,
    /// How it speaks TLS; it does not when `None`.
    pub tls: Option<Tls>,
}

impl Server {
    /// What it is reached at when it listens on an address.
    #[must_use]
    pub fn origin(&self, address: SocketAddr) -> Origin {
        Origin { secure: self.tls.is_some(), address }
    }
}

/// Where a process listens. Displayed as the beginning of a web address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Whether over TLS.
    pub secure: bool,
    /// The address and port.
    pub address: SocketAddr,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.address)
    }
}

/// TLS of the process itself. The files are PEM and are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, and after it those between it and the authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities whose client certificates are accepted; nobody is asked for one when
    /// `None`.
    pub client_ca: Option<PathBuf>,
}

/// A dealer or dealer group: one agent, one card.
#[derive(Debug, Clone)]
pub struct Dealer {
    /// The id in the store and on the command line.
    pub id: String,
    /// The host names (without port) that lead to this dealer. Empty only when there is a single
    /// dealer, who then answers on every host.
    pub hosts: Vec<String>,
    /// The absolute base address under which agents reach it, without a slash at the end. When
    /// `None` the card names the first host with https, or the address where the server listens.
    pub public_url: Option<String>,
    /// The name on the card and in `dealer.information`.
    pub name: String,
    /// What the card says about the agent.
    pub description: String,
    /// The agent's own version on the card.
    pub agent_version: String,
    /// Who operates the agent.
    pub provider: Option<(String, String)>,
    /// Documentation for people.
    pub documentation_url: Option<String>,
    /// A greeting in `dealer.information`.
    pub welcome_message: Option<String>,
    /// The AAP versions spoken; at least one, ascending.
    pub versions: Vec<Version>,
    /// The skills switched on; at least one, in catalog order.
    pub skills: Vec<Skill>,
    /// At least one; names are unique.
    pub rooftops: Vec<Rooftop>,
    /// Search limits.
    pub search: SearchPolicy,
    /// Rules for leads.
    pub leads: LeadPolicy,
    /// How often one caller may call.
    pub rate_limit: RateLimit,
    /// For how long a unit that left the offer is remembered (C-23).
    pub tombstone_lifetime: SignedDuration,
    /// Whether a request without `A2A-Version` is refused (C-33).
    pub require_version: bool,
    /// Whether v1.0 is spoken over HTTP+JSON too, which v1.1 has no more.
    pub http_json: bool,
    /// Whether `acceptedOutputModes` without a type of ours is refused (C-26).
    pub strict_output_modes: bool,
    /// How callers say who they are.
    pub auth: Auth,
    /// How its card is signed; it is not when `None` (A2A §8.4).
    pub card_signing: Option<CardSigning>,
}

/// A publisher: one agent, one card.
#[derive(Debug, Clone)]
pub struct Publisher {
    /// Who it is and on which terms it sells; what it has to sell is read when it opens.
    pub profile: Profile,
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
    pub upstream: Option<Upstream>,
    /// How often one caller may call.
    pub rates: Rates,
    /// For development: webhooks and governance agents may be on this machine, also without TLS.
    pub call_loopback: bool,
    /// The private key with which webhooks are signed; one that lasts as long as the process when
    /// `None`.
    pub webhook_key: Option<WebhookKeyFile>,
    /// Where the keys of buyer agents that sign are, by the agents' ids.
    pub signers: BTreeMap<String, Keys>,
}

/// The private key of webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookKeyFile {
    /// The private key: PKCS#8 in PEM, or a JWK.
    pub key_file: PathBuf,
    /// The key's name; that of the JWK or the thumbprint when `None`.
    pub kid: Option<String>,
}

/// The ad server behind a publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
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
    pub read: RateLimit,
    /// What changes something.
    pub write: RateLimit,
    /// New idempotency keys.
    pub insert: RateLimit,
}

impl Dealer {
    /// Whether there is an HTTP+JSON binding: v1.0 is the only version that has one.
    #[must_use]
    pub fn speaks_http_json(&self) -> bool {
        self.http_json && self.versions.contains(&Version::V1_0)
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

/// How callers say who they are. The default is an agent that asks nobody (C-36).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Auth {
    /// Whether callers without a credential are refused. Then there is at least one scheme.
    pub required: bool,
    /// Whether keys made with `tradepost keys create` are accepted.
    pub api_keys: bool,
    /// Whose access tokens are accepted.
    pub jwt: Option<Jwt>,
    /// Whose client certificates are accepted; the first that fits counts. They are asked for
    /// when the process has a `client_ca`.
    pub certificates: Vec<KnownCertificate>,
}

impl Auth {
    /// Whether a credential in the header `Authorization` can be good.
    #[must_use]
    pub fn takes_bearer(&self) -> bool {
        self.api_keys || self.jwt.is_some()
    }
}

/// A client certificate, or those of one client, by what is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCertificate {
    /// The client's name.
    pub name: String,
    /// Which certificate.
    pub subject: Subject,
    /// What it permits.
    pub scopes: Scopes,
}

/// Access tokens of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    /// The claim `iss`, exactly.
    pub issuer: String,
    /// What the claim `aud` must contain.
    pub audience: String,
    /// Where the issuer's public keys are.
    pub keys: KeySource,
    /// The claim that lists a token's scopes. When `None` a token has every scope.
    pub scope_claim: Option<String>,
}

/// Where a JSON Web Key Set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In a file, which is read again when it changes.
    File(PathBuf),
    /// On the web, over TLS except on this machine.
    Url(String),
}

/// A physical store.
#[derive(Debug, Clone)]
pub struct Rooftop {
    /// What `dealer.information` tells about it. Opening hours by department are in
    /// `profile.schedules`, named `sales` and `service`.
    pub profile: aap::dealer::Rooftop,
    /// The time zone that `profile.timezone` names; UTC when it names none.
    pub time_zone: TimeZone,
    /// Fees that every buyer pays, whole US dollars; the importer adds them to the advertised
    /// price (`R-PR-01`).
    pub fees: Vec<Fee>,
    /// How it takes appointments.
    pub appointments: Appointments,
}

/// A mandatory fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fee {
    /// Such as `Documentation`.
    pub name: String,
    /// Whole US dollars.
    pub amount: u32,
}

/// How a rooftop takes appointments.
#[derive(Debug, Clone)]
pub struct Appointments {
    /// What it offers; may be empty.
    pub types: Vec<AppointmentType>,
    /// How long one takes when the customer does not say, and the step between proposed times.
    pub slot_minutes: u32,
    /// How many can run at the same time, for each department.
    pub capacity: u32,
    /// How long before its start one must be requested.
    pub notice: SignedDuration,
    /// How far ahead one can be.
    pub horizon_days: u32,
    /// Days on which the rooftop is closed.
    pub closed_on: Vec<Date>,
}

/// Search limits (C-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchPolicy {
    /// The page size when the buyer names none.
    pub default_limit: u32,
    /// The largest page, 1 to 1000; larger requests are clamped.
    pub max_limit: u32,
}

/// Rules for leads.
#[derive(Debug, Clone)]
pub struct LeadPolicy {
    /// How far a consent may lie in the future.
    pub clock_skew: SignedDuration,
    /// How long a consent without `expires_at` holds; for ever when `None` (`R-LD-07`).
    pub consent_lifetime: Option<SignedDuration>,
    /// Whether a test drive needs a vehicle of interest (`R-LD-25`).
    pub test_drive_needs_vehicle: bool,
    /// For how long equivalent leads count as duplicates (C-19).
    pub duplicate_window: SignedDuration,
    /// For how long idempotency keys are remembered; at least 24 hours (`R-LD-15`).
    pub idempotency_lifetime: SignedDuration,
    /// Whether an appointment that can be neither confirmed nor proposed is an error (C-20).
    pub strict_appointments: bool,
    /// How many times to propose.
    pub proposed_times: usize,
}

/// How often one caller may call: `requests` in `window`, refilled evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// How many at once; 0 switches the limit off.
    pub requests: u32,
    /// In how much time.
    pub window: SignedDuration,
    /// Whether a refusal is HTTP 429 instead of 200. Off, because one official SDK throws the body
    /// of every other status away (C-30).
    pub http_429: bool,
}
