//! Readers for publishers.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_client::signed::signers::AgentKeys;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_publisher::agent::{AccountRights, AgentStanding, Billing, BuyerAgent};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::{
    AccountReview, FourEyesLimit, Onboarding, PublisherProfile, Signing,
};
use tradepost_publisher::spending::SpendLimit;

use super::values::{
    self, duration, line, list, named, path, prose, read_over, read_table, reject, secret, set,
    some, text_that,
};
use super::{auth, sections};
use crate::config::delivery::ConfigSecret;
use crate::config::{AuthSettings, Front, PublisherConfig, RateLimitConfig, Rates, UpstreamConfig};

mod ad_server;
mod deliveries;
mod signing;

/// Reads `[[publishers]]`.
pub(super) fn publisher(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<PublisherConfig> {
    read_object!(value, at, problems, closed {
        required "id" => id: values::id,
        required "name" => name: line(200),
        required "domain" => domain: values::host,
        optional "hosts" => hosts: list(0, None, values::host),
        optional "public_url" => public_url: values::web_base,
        optional "origins" => origins: list(0, None, values::web_base),
        optional "require_extension" => require_extension: parse::boolean,
        optional "brand_json_url" => brand_json_url: values::web_page,
        optional "description" => description: prose(2_000),
        optional "agent_version" => agent_version: line(64),
        optional "provider" => provider: sections::read_provider,
        optional "documentation_url" => documentation_url: values::web_page,
        optional "catalogue" => catalogue: path(4_000),
        optional "sandbox" => sandbox: parse::boolean,
        optional "billing" => billing: list(1, None, billed),
        optional "payment_terms" => payment_terms: list(1, None, line(64)),
        optional "agents" => agents: list(0, None, buyer),
        optional "onboarding" => onboarding: read_onboarding,
        optional "replay_ttl" => replay_ttl: duration("1h", "7d"),
        optional "spend_limits" => spend_limits: read_limits,
        optional "approvals" => approvals: read_approvals,
        optional "internals" => internals: parse::boolean,
        optional "upstream" => upstream: read_upstream,
        optional "ad_server" => ad_server: ad_server::ad_server,
        optional "rates" => rates: read_rates,
        optional "auth" => auth: auth::auth,
        optional "call_loopback" => call_loopback: parse::boolean,
        optional "webhook_key" => webhook_key: signing::webhook_key,
        optional "governance_key" => governance_key: signing::webhook_key,
        optional "request_signing" => request_signing: signing::request_signing,
        optional "verifiers" => verifiers: list(0, None, verifier),
        optional "deliveries" => deliveries:
            named(0, Some(20), deliveries::destination, str::to_owned,
                "another destination of this publisher has this name already"),
    });
    if request_signing.is_some() && public_url.is_none() && hosts.as_ref().is_none_or(Vec::is_empty)
    {
        let message = "needs public_url or hosts: a signature holds for the address that it was \
                       made for, and without them nobody can tell whether that is this one";
        reject(&at.key("request_signing"), problems, message);
    }
    let buyers = agents.unwrap_or_default();
    reject_shared_credentials(&buyers, &at.key("agents"), problems);
    let signers =
        buyers.iter().filter_map(|buyer| Some((buyer.agent.id.clone(), buyer.keys.clone()?)));
    let signers = signers.collect();
    let name = name?;
    let describe = || format!("{name}: advertising on its own media.");
    let profile = PublisherProfile {
        id: id?,
        domain: domain?,
        sandbox: sandbox.unwrap_or(false),
        billing: billing.unwrap_or_else(|| vec![Billing::Operator]),
        payment_terms: payment_terms.unwrap_or_else(|| vec!["net_30".to_owned()]),
        agents: buyers.into_iter().map(|buyer| Arc::new(buyer.agent)).collect(),
        onboarding: onboarding.unwrap_or_default(),
        replay_ttl: replay_ttl.unwrap_or(SignedDuration::from_hours(24)),
        catalogue: Catalogue::default(),
        spend_limits: spend_limits.unwrap_or_default(),
        four_eyes: approvals.unwrap_or_default(),
        internals: internals.unwrap_or(false),
        signing: Signing { requests: request_signing, ..Signing::default() },
        endpoints: Vec::new(),
        ad_server: None,
        name: name.clone(),
    };
    let front = Front {
        hosts: hosts.unwrap_or_default(),
        origins: origins.unwrap_or_default(),
        // The profile's card declares it as required.
        require_extension: require_extension.unwrap_or(true),
        description: description.unwrap_or_else(describe),
        agent_version: agent_version.unwrap_or_else(|| "1.0.0".to_owned()),
        provider,
        documentation_url,
        // Buyer agents must be identified, so authentication is required by default.
        auth: auth.unwrap_or(AuthSettings {
            required: true,
            api_keys: true,
            ..AuthSettings::default()
        }),
        tokens: Vec::new(),
    };
    Some(PublisherConfig {
        front,
        public_url,
        brand_json_url,
        catalogue,
        upstream,
        ad_server,
        rates: rates.unwrap_or_default(),
        call_loopback: call_loopback.unwrap_or(false),
        webhook_key,
        governance_key,
        signers,
        verifiers: verifiers.unwrap_or_default(),
        deliveries: deliveries.unwrap_or_default(),
        profile,
    })
}

/// Rejects a credential that two agents share, because it identifies the caller.
fn reject_shared_credentials(
    buyers: &[BuyerAgentConfig],
    list: &DocumentPlace<'_>,
    problems: &mut Problems,
) {
    let mut principals = BTreeSet::new();
    for (index, buyer) in buyers.iter().enumerate() {
        if !buyer.agent.principals.iter().all(|name| principals.insert(name)) {
            let message = "the credential of another agent, too";
            reject(&list.index(index).key("credentials"), problems, message);
        }
    }
}

/// Reads a verifier of creatives and the publisher's credential there.
fn verifier(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<(String, ConfigSecret)> {
    let text = line(1_000);
    read_object!(value, at, problems, closed {
        required "url" => url: values::secure_address,
        optional "bearer" => bearer: &text,
        optional "bearer_file" => bearer_file: &text,
    });
    let bearer = secret(value, "bearer", bearer, bearer_file, at, problems);
    if bearer.is_none() {
        reject(&at.key("bearer"), problems, "is missing; give this or bearer_file");
    }
    Some((url?, bearer?))
}

fn billed(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Billing> {
    text_that("must be operator, agent or advertiser", Billing::from_name)(value, at, problems)
}

/// Buyer agent, and the location of its public keys.
struct BuyerAgentConfig {
    agent: BuyerAgent,
    keys: Option<AgentKeys>,
}

fn buyer(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<BuyerAgentConfig> {
    read_table!(value, at, problems, BuyerAgentConfig { agent: BuyerAgent } {
        required "id" => .id: values::id,
        optional "url" => .url: values::web_page,
        optional "keys" => keys: signing::keys,
        optional "credentials" => .principals: set(0, None, line(200)) => BTreeSet::new(),
        optional "standing" => .standing:
            text_that("must be active, suspended or blocked", AgentStanding::from_name)
            => AgentStanding::Active,
        optional "sandbox_only" => .sandbox_only: parse::boolean => false,
        optional "live_only" => .live_only: parse::boolean => false,
        optional "billing" => .billing: set(1, None, billed),
        optional "scope" => .scope: read_scope,
        optional "spend_limits" => .spend_limits: read_limits => Vec::new(),
    } then {
        // By default the keys are where the agent's operator publishes them.
        let keys = keys.or_else(|| url.is_some().then(signing::published));
    })
}

/// Reads `[{ currency = "USD", per_day = 10000 }]`, each currency once.
fn read_limits(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<SpendLimit>> {
    let limits = parse::list(value, at, problems, (1, None), |value, at, problems| {
        read_object!(value, at, problems, closed {
            required "currency" => currency:
                text_that("must be a currency of ISO 4217, such as USD", currency_of),
            required "per_day" => per_day: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
                let amount = v.as_number().and_then(MoneyAmount::from_number);
                let amount = amount.filter(|amount| *amount > MoneyAmount::ZERO);
                if amount.is_none() {
                    reject(at, p, "must be an amount above zero");
                }
                amount
            },
        });
        Some(SpendLimit { currency: currency?, per_day: per_day? })
    })?;
    let mut known = BTreeSet::new();
    for (index, limit) in limits.iter().enumerate() {
        if !known.insert(limit.currency.as_str()) {
            reject(&at.index(index).key("currency"), problems, "limited before, too");
        }
    }
    Some(limits)
}

/// Reads `{ four_eyes_above = [{ currency = "USD", amount = 50000 }] }`, each currency once.
fn read_approvals(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<FourEyesLimit>> {
    read_object!(value, at, problems, closed {
        optional "four_eyes_above" => limits:
            |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
                parse::list(v, at, p, (1, None), read_four_eyes_limit)
            },
    });
    let limits = limits.unwrap_or_default();
    let mut known = BTreeSet::new();
    for (index, limit) in limits.iter().enumerate() {
        if !known.insert(limit.currency.as_str()) {
            let place = at.key("four_eyes_above");
            reject(&place.index(index).key("currency"), problems, "limited before, too");
        }
    }
    Some(limits)
}

fn read_four_eyes_limit(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<FourEyesLimit> {
    read_object!(value, at, problems, closed {
        required "currency" => currency:
            text_that("must be a currency of ISO 4217, such as USD", currency_of),
        required "amount" => above: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            let amount = v.as_number().and_then(MoneyAmount::from_number);
            let amount = amount.filter(|amount| *amount >= MoneyAmount::ZERO);
            if amount.is_none() {
                reject(at, p, "must be zero or an amount above it");
            }
            amount
        },
    });
    Some(FourEyesLimit { currency: currency?, above: above? })
}

fn currency_of(text: &str) -> Option<String> {
    let fits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
    fits.then(|| text.to_owned())
}

fn read_scope(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AccountRights> {
    Some(read_over!(value, at, problems, AccountRights::default(), {
        "tasks" => allowed_tasks: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            let tasks = values::words::<AdcpTool>(v, at, p)?;
            Some(Some(tasks.iter().map(ToString::to_string).collect()))
        },
        "read_only" => read_only: parse::boolean,
    }))
}

fn read_onboarding(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Onboarding> {
    Some(read_over!(value, at, problems, Onboarding::default(), {
        "strangers" => strangers: parse::boolean,
        "implicit" => implicit: parse::boolean,
        "review" => review: some(read_review),
        "operators" => operators: some(set(1, None, values::host)),
        "houses" => houses: set(0, None, values::host),
    }))
}

fn read_review(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AccountReview> {
    read_table!(value, at, problems, AccountReview {
        required "message" => message: line(500),
        optional "url" => url: values::web_page,
    })
}

/// Reads the ad server. By default its responses are fresh for a minute and kept for an hour.
fn read_upstream(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<UpstreamConfig> {
    read_table!(value, at, problems, UpstreamConfig {
        required "url" => url: values::web_page,
        optional "timeout" => timeout: duration("100ms", "30s") => SignedDuration::from_secs(2),
        optional "freshness" => freshness: duration("1s", "24h") => SignedDuration::from_mins(1),
        optional "keep" => keep: duration("1s", "7d") => SignedDuration::from_hours(1),
    })
}

fn read_rates(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Rates> {
    Some(read_over!(value, at, problems, Rates::default(), {
        "read" => read: sections::read_rate_limit,
        "write" => write: sections::read_rate_limit,
        "insert" => insert: sections::read_rate_limit,
    }))
}

impl Default for Rates {
    fn default() -> Self {
        // SEC, rule 8: sustained rates of 60 writes and 300 reads in a second.
        let in_a_minute = |requests| RateLimitConfig {
            requests,
            window: SignedDuration::from_mins(1),
            http_429: false,
        };
        Self { read: in_a_minute(18_000), write: in_a_minute(3_600), insert: in_a_minute(3_600) }
    }
}
