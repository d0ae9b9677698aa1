//! Readers for the server and for dealers; those for rooftops are in [`super::rooftop`].

use std::net::{Ipv4Addr, SocketAddr};

use jiff::SignedDuration;
use serde_json::Value;
use tradepost_wire::aap::{Skill, Version};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::parse::{self, read_object};
use tradepost_wire::problem::{At, Problems};

use super::values::{self, duration, line, prose, reject, whole, words};
use super::{auth, rooftop};
use crate::config::{CardSigning, Dealer, LeadPolicy, RateLimit, SearchPolicy, Server, Tls};

const DAY: i64 = 24;
const NOTHING: (SignedDuration, &str) = (SignedDuration::ZERO, "0s");
const MOMENT: (SignedDuration, &str) = (SignedDuration::from_millis(100), "100ms");
const FIVE_MINUTES: (SignedDuration, &str) = (SignedDuration::from_mins(5), "5m");
const HOUR: (SignedDuration, &str) = (SignedDuration::from_hours(1), "1h");
const ONE_DAY: (SignedDuration, &str) = (SignedDuration::from_hours(DAY), "24h");
const TEN_YEARS: (SignedDuration, &str) = (SignedDuration::from_hours(3650 * DAY), "3650d");

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            max_body_bytes: 256 * 1024, // E-004
            read_timeout: SignedDuration::from_secs(10),
            max_connections: 4096,
            shutdown_grace: SignedDuration::from_secs(20),
            log_json: false,
            log_filter: "info".to_owned(),
            trust_forwarded_for: false,
            tls: None,
        }
    }
}

impl Default for SearchPolicy {
    fn default() -> Self {
        // C-08
        Self { default_limit: 20, max_limit: 100 }
    }
}

impl Default for LeadPolicy {
    fn default() -> Self {
        Self {
            clock_skew: SignedDuration::from_mins(5), // E-071
            consent_lifetime: None,
            test_drive_needs_vehicle: true,                    // E-097
            duplicate_window: SignedDuration::from_hours(DAY), // R-LD-17
            idempotency_lifetime: SignedDuration::from_hours(DAY), // R-LD-15
            strict_appointments: false,                        // C-20
            proposed_times: 3,
        }
    }
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { requests: 120, window: SignedDuration::from_mins(1), http_429: false }
    }
}

/// `[server]`
pub(super) fn server(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Server> {
    read_object!(value, at, problems, closed {
        optional "listen" => listen: values::socket,
        optional "max_body_bytes" => max_body_bytes: whole(1_024, 64 * 1_024 * 1_024),
        optional "read_timeout" => read_timeout: duration(MOMENT, FIVE_MINUTES),
        optional "max_connections" => max_connections: whole(1, 1_000_000),
        optional "shutdown_grace" => shutdown_grace: duration(NOTHING, HOUR),
        optional "log_json" => log_json: parse::boolean,
        optional "log_filter" => log_filter: values::log_filter,
        optional "trust_forwarded_for" => trust_forwarded_for: parse::boolean,
        optional "tls" => tls: read_tls,
    });
    let default = Server::default();
    Some(Server {
        listen: listen.unwrap_or(default.listen),
        max_body_bytes: max_body_bytes.unwrap_or(default.max_body_bytes),
        read_timeout: read_timeout.unwrap_or(default.read_timeout),
        max_connections: max_connections.unwrap_or(default.max_connections),
        shutdown_grace: shutdown_grace.unwrap_or(default.shutdown_grace),
        log_json: log_json.unwrap_or(default.log_json),
        log_filter: log_filter.unwrap_or(default.log_filter),
        trust_forwarded_for: trust_forwarded_for.unwrap_or(default.trust_forwarded_for),
        tls,
    })
}

/// `[server.tls]`
fn read_tls(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Tls> {
    let file = line(4_000);
    read_object!(value, at, problems, closed {
        required "certificate" => certificate: &file,
        required "key" => key: &file,
        optional "client_ca" => client_ca: &file,
    });
    Some(Tls {
        certificate: certificate?.into(),
        key: key?.into(),
        client_ca: client_ca.map(Into::into),
    })
}

/// `[[dealers]]`
pub(super) fn dealers(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Vec<Dealer>> {
    parse::list(value, at, problems, (1, None), dealer)
}

fn dealer(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Dealer> {
    read_object!(value, at, problems, closed {
        required "id" => id: values::id,
        required "name" => name: line(200),
        optional "hosts" => hosts: |v: &Value, at: &At<'_>, p: &mut Problems| {
            parse::list(v, at, p, (0, None), values::host)
        },
        optional "public_url" => public_url: values::web_base,
        optional "description" => description: prose(2_000),
        optional "agent_version" => agent_version: line(64),
        optional "provider" => provider: read_provider,
        optional "documentation_url" => documentation_url: values::web_page,
        optional "welcome_message" => welcome_message: prose(2_000),
        optional "versions" => versions: words::<Version>,
        optional "skills" => skills: words::<Skill>,
        required "rooftops" => rooftops: rooftop::rooftops,
        optional "search" => search: read_search,
        optional "leads" => leads: read_leads,
        optional "rate_limit" => rate_limit: read_rate_limit,
        optional "tombstone_lifetime" => tombstone_lifetime: duration(NOTHING, TEN_YEARS),
        optional "require_version" => require_version: parse::boolean,
        optional "http_json" => http_json: parse::boolean,
        optional "strict_output_modes" => strict_output_modes: parse::boolean,
        optional "auth" => auth: auth::auth,
        optional "card_signing" => card_signing: read_card_signing,
    });
    let speaks = |version| versions.as_ref().is_none_or(|versions| versions.contains(&version));
    if http_json == Some(true) && !speaks(Version::V1_0) {
        let message = "needs \"1.0\" among the versions; later ones have no HTTP+JSON binding";
        reject(&at.key("http_json"), problems, message);
    }
    let name = name?;
    let describe = || format!("{name}: vehicles on offer, opening hours and contact requests.");
    Some(Dealer {
        id: id?,
        hosts: hosts.unwrap_or_default(),
        public_url,
        description: description.unwrap_or_else(describe),
        agent_version: agent_version.unwrap_or_else(|| "1.0.0".to_owned()),
        provider,
        documentation_url,
        welcome_message,
        versions: versions.unwrap_or_else(|| Version::ALL.to_vec()),
        skills: skills.unwrap_or_else(|| Skill::ALL.to_vec()),
        rooftops: rooftops?,
        search: search.unwrap_or_default(),
        leads: leads.unwrap_or_default(),
        rate_limit: rate_limit.unwrap_or_default(),
        // C-23
        tombstone_lifetime: tombstone_lifetime.unwrap_or(SignedDuration::from_hours(90 * DAY)),
        require_version: require_version.unwrap_or(false), // C-33
        http_json: http_json.unwrap_or(false),
        strict_output_modes: strict_output_modes.unwrap_or(false), // C-26
        auth: auth.unwrap_or_default(),
        card_signing,
        name,
    })
}

pub(super) fn read_provider(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(String, String)> {
    read_object!(value, at, problems, closed {
        required "organization" => organization: line(200),
        required "url" => url: values::web_page,
    });
    Some((organization?, url?))
}

fn read_search(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<SearchPolicy> {
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
        default_limit: default_limit.unwrap_or(default.default_limit.min(max_limit)),
        max_limit,
    })
}

fn read_leads(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<LeadPolicy> {
    read_object!(value, at, problems, closed {
        optional "clock_skew" => clock_skew: duration(NOTHING, HOUR),
        optional "consent_lifetime" => consent_lifetime: lifetime,
        optional "test_drive_needs_vehicle" => test_drive_needs_vehicle: parse::boolean,
        optional "duplicate_window" => duplicate_window: duration(NOTHING, TEN_YEARS),
        optional "idempotency_lifetime" => idempotency_lifetime: duration(ONE_DAY, TEN_YEARS),
        optional "strict_appointments" => strict_appointments: parse::boolean,
        optional "proposed_times" => proposed_times: whole(1, 20),
    });
    let default = LeadPolicy::default();
    Some(LeadPolicy {
        clock_skew: clock_skew.unwrap_or(default.clock_skew),
        consent_lifetime: consent_lifetime.unwrap_or(default.consent_lifetime),
        test_drive_needs_vehicle: test_drive_needs_vehicle
            .unwrap_or(default.test_drive_needs_vehicle),
        duplicate_window: duplicate_window.unwrap_or(default.duplicate_window),
        idempotency_lifetime: idempotency_lifetime.unwrap_or(default.idempotency_lifetime),
        strict_appointments: strict_appointments.unwrap_or(default.strict_appointments),
        proposed_times: proposed_times.unwrap_or(default.proposed_times),
    })
}

/// A duration, or `never` for no end.
fn lifetime(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Option<SignedDuration>> {
    if value.as_str() == Some("never") {
        return Some(None);
    }
    duration(HOUR, TEN_YEARS)(value, at, problems).map(Some)
}

fn read_card_signing(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<CardSigning> {
    read_object!(value, at, problems, closed {
        required "key_file" => key_file: line(1_000),
        optional "kid" => kid: line(200),
        optional "jku" => jku: values::web_page,
    });
    Some(CardSigning { key_file: key_file?.into(), kid, jku })
}

pub(super) fn read_rate_limit(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<RateLimit> {
    read_object!(value, at, problems, closed {
        optional "requests" => requests: whole(0, 1_000_000),
        optional "window" => window: duration(MOMENT, ONE_DAY),
        optional "http_429" => http_429: parse::boolean,
    });
    let default = RateLimit::default();
    Some(RateLimit {
        requests: requests.unwrap_or(default.requests),
        window: window.unwrap_or(default.window),
        http_429: http_429.unwrap_or(default.http_429),
    })
}
