//! Readers for the server and for dealers; those for rooftops are in [`super::rooftop`].

use std::net::{Ipv4Addr, SocketAddr};

use jiff::SignedDuration;
use tradepost_aap::{Skill, Version};
use tradepost_dealer::import::PricePolicy;
use tradepost_dealer::settings::{DealerSettings as Terms, LeadPolicy, SearchPolicy};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_store::DatabaseUrl;

use super::values::{
    self, duration, line, list, named, path, prose, read_over, read_table, reject, some, whole,
    words,
};
use super::{acme, auth, delivery, feeds, leads, oidc, rooftop};
use crate::config::{
    AuthSettings, CardSigning, ConsoleConfig, DealerConfig, RateLimitConfig, SecondFactorPolicy,
    ServerConfig, WebOrigin,
};

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            operator_listen: None,
            hosting: false,
            directory_hosts: Vec::new(),
            max_running_requests: 512,
            console: None,
            max_body_bytes: 256 * 1024, // E-004
            read_timeout: SignedDuration::from_secs(10),
            request_timeout: SignedDuration::from_secs(5),
            database: None,
            min_free_space: 64 * 1024 * 1024,
            memory_budget: 1024 * 1024 * 1024,
            max_connections: 4096,
            connections_per_address: 256,
            max_pending_bytes: 64 * 1024 * 1024,
            shutdown_grace: SignedDuration::from_secs(20),
            log_json: false,
            log_filter: "info".to_owned(),
            trust_forwarded_for: false,
            web_origins: vec![WebOrigin::Any],
            tls: None,
            acme: None,
        }
    }
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        Self { requests: 120, window: SignedDuration::from_mins(1), http_429: false }
    }
}

/// Reads `[server]`.
pub(super) fn server(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<ServerConfig> {
    let mut ordered = None;
    let mut server = read_over!(value, at, problems, ServerConfig::default(), {
        "listen" => listen: values::socket,
        "operator_listen" => operator_listen: some(values::socket),
        "hosting" => hosting: parse::boolean,
        "directory_hosts" => directory_hosts: list(0, None, values::host),
        "max_running_requests" => max_running_requests: whole(1, 1_000_000),
        "console" => console: some(read_console),
        "max_body_bytes" => max_body_bytes: whole(1_024, 64 * 1_024 * 1_024),
        "read_timeout" => read_timeout: duration("100ms", "5m"),
        "request_timeout" => request_timeout: duration("100ms", "5m"),
        "database" => database: some(read_database),
        "min_free_space" => min_free_space: whole(0, 1 << 50),
        "memory_budget" => memory_budget: whole(0, 1 << 50),
        "max_connections" => max_connections: whole(1, 1_000_000),
        "connections_per_address" => connections_per_address: whole(1, 1_000_000),
        "max_pending_bytes" => max_pending_bytes: whole(1_048_576, 64 * 1_024 * 1_048_576),
        "shutdown_grace" => shutdown_grace: duration("0s", "1h"),
        "log_json" => log_json: parse::boolean,
        "log_filter" => log_filter: values::log_filter,
        "trust_forwarded_for" => trust_forwarded_for: parse::boolean,
        "web_origins" => web_origins: list(0, None, web_origin),
        "tls" => tls: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            let (tls, acme) = acme::tls(v, at, p)?;
            ordered = acme;
            Some(Some(tls))
        },
    });
    server.acme = ordered;
    let is_open = |console: &ConsoleConfig| {
        let proxied = console.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
        !console.listen.ip().is_loopback() && server.tls.is_none() && !proxied
    };
    if server.console.as_ref().is_some_and(is_open) {
        let message = "must be on this machine, such as 127.0.0.1:8090, unless there is [server.tls] or a \
                       proxy with TLS, which public_url names";
        reject(&at.key("console").key("listen"), problems, message);
    }
    Some(server)
}

/// Reads `[server.console]`.
fn read_console(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<ConsoleConfig> {
    read_table!(value, at, problems, ConsoleConfig {
        required "listen" => listen: values::socket,
        optional "public_url" => public_url: values::web_base,
        optional "session_lifetime" => session_lifetime: duration("5m", "30d") => SignedDuration::from_hours(12),
        optional "session_idle" => session_idle: duration("5m", "30d") => SignedDuration::from_mins(30),
        optional "oidc" => oidc: oidc::oidc,
        optional "second_factor" => second_factor: parse::word::<SecondFactorPolicy>
            => SecondFactorPolicy::Optional,
    })
}

/// Reads a database's URL. Messages repeat nothing of it, because it may hold a password.
fn read_database(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<DatabaseUrl> {
    let text = line(4_000)(value, at, problems)?;
    text.parse().map_err(|why| reject(at, problems, why)).ok()
}

/// Reads `*`, or an origin: a scheme and a host without a path.
fn web_origin(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<WebOrigin> {
    const HINT: &str = "must be \"*\" or an origin such as https://www.example.com";
    if value.as_str() == Some("*") {
        return Some(WebOrigin::Any);
    }
    let base = values::web_base(value, at, problems)?;
    // The two slashes after the scheme; a third one would begin a path.
    let is_origin = base.matches('/').count() == 2;
    if !is_origin {
        reject(at, problems, HINT);
    }
    is_origin.then(|| WebOrigin::Named(base.to_ascii_lowercase()))
}

/// Reads `[[dealers]]`, or a dealer that is a document of its own.
pub(super) fn dealer(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<DealerConfig> {
    read_table!(value, at, problems, DealerConfig { terms: Terms } {
        required "id" => .id: values::id,
        required "name" => .name: line(200),
        optional "hosts" => hosts: list(0, None, values::host) => Vec::new(),
        optional "public_url" => public_url: values::web_base,
        optional "listed" => listed: parse::boolean => true,
        optional "description" => description: prose(2_000)
            => format!("{name}: vehicles on offer, opening hours and contact requests."),
        optional "agent_version" => agent_version: line(64) => "1.0.0".to_owned(),
        optional "provider" => provider: read_provider,
        optional "documentation_url" => documentation_url: values::web_page,
        optional "welcome_message" => .welcome_message: prose(2_000),
        optional "versions" => .versions: words::<Version> => Version::ALL.to_vec(),
        optional "skills" => .skills: words::<Skill> => Skill::ALL.to_vec(),
        // Buyers' filters compare names case-insensitively, so the names must differ in more than
        // case.
        required "rooftops" => .rooftops:
            named(1, None, rooftop::rooftop, |name: &str| name.trim().to_lowercase(),
                "another rooftop of this dealer has this name already"),
        optional "search" => .search: read_search => SearchPolicy::default(),
        optional "leads" => .leads: leads::leads => LeadPolicy::default(),
        optional "rate_limit" => rate_limit: read_rate_limit => RateLimitConfig::default(),
        // Removed vehicles are answered with VEHICLE_UNAVAILABLE for this long (C-23).
        optional "tombstone_lifetime" => .tombstone_lifetime: duration("0s", "3650d")
            => SignedDuration::from_hours(90 * 24),
        optional "price_truth" => .price_truth: parse::word::<PricePolicy> => PricePolicy::Warn,
        // AAP's examples send no A2A-Version, so it is optional by default (C-33).
        optional "require_version" => require_version: parse::boolean => false,
        optional "mcp" => mcp: parse::boolean => true,
        optional "ucp" => ucp: parse::boolean => true,
        optional "http_json" => http_json: parse::boolean => false,
        // AAP defines no error for it, so the check is off by default (C-26).
        optional "strict_output_modes" => strict_output_modes: parse::boolean => false,
        optional "auth" => auth: auth::auth => AuthSettings::default(),
        optional "card_signing" => card_signing: read_card_signing,
        optional "deliveries" => deliveries:
            named(0, None, delivery::delivery, str::to_owned,
                "another destination of this dealer has this name already") => Vec::new(),
        optional "feeds" => feeds:
            named(0, Some(50), feeds::feed, str::to_owned,
                "another feed of this dealer has this name already") => Vec::new(),
    } then {
        delivery::check_rooftops(value, at, problems);
        feeds::check_uploads(value, at, problems);
        let speaks = |version| versions.as_ref().is_none_or(|versions| versions.contains(&version));
        if http_json == Some(true) && !speaks(Version::V1_0) {
            let message = "needs \"1.0\" among the versions; later ones have no HTTP+JSON binding";
            reject(&at.key("http_json"), problems, message);
        }
    })
}

pub(super) fn read_provider(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<(String, String)> {
    read_object!(value, at, problems, closed {
        required "organization" => organization: line(200),
        required "url" => url: values::web_page,
    });
    Some((organization?, url?))
}

fn read_search(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<SearchPolicy> {
    read_object!(value, at, problems, closed {
        optional "default_limit" => default_limit: whole(1, 1_000),
        optional "max_limit" => max_limit: whole(1, 1_000),
    });
    let default = SearchPolicy::default();
    let max_limit = max_limit.unwrap_or(default.max_limit);
    if default_limit.is_some_and(|limit| limit > max_limit) {
        let message = format!("must be at most max_limit, which is {max_limit}");
        reject(&at.key("default_limit"), problems, message);
    }
    Some(SearchPolicy {
        // A lowered maximum also lowers the default limit.
        default_limit: default_limit.unwrap_or(default.default_limit.min(max_limit)),
        max_limit,
    })
}

fn read_card_signing(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<CardSigning> {
    read_table!(value, at, problems, CardSigning {
        required "key_file" => key_file: path(1_000),
        optional "kid" => kid: line(200),
        optional "jku" => jku: values::web_page,
    })
}

pub(super) fn read_rate_limit(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<RateLimitConfig> {
    Some(read_over!(value, at, problems, RateLimitConfig::default(), {
        "requests" => requests: whole(0, 1_000_000),
        "window" => window: duration("100ms", "24h"),
        "http_429" => http_429: parse::boolean,
    }))
}
