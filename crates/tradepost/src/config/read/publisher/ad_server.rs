//! Reader for the ad server that media buys are carried into.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tradepost_ad_server::{AdServerKind, AdServerSettings};
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_publisher::ad_server::{RemoteId, TargetingKind};
use tradepost_publisher::remote_order::progress::REPORT_EVERY;

use super::super::values::{self, duration, line, reject, secret};
use crate::config::AdServerConfig;

/// Reads `[publishers.ad_server]`.
pub(super) fn ad_server(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AdServerConfig> {
    let text = line(1_000);
    read_object!(value, at, problems, closed {
        required "adapter" => kind: parse::word::<AdServerKind>,
        required "url" => url: values::web_page,
        optional "credential" => credential: &text,
        optional "credential_file" => credential_file: &text,
        optional "network" => network: line(200),
        optional "advertiser" => advertiser: line(200),
        optional "trafficker" => trafficker: line(200),
        optional "priority" => priority: values::whole::<u32>(1, 1_000_000_000),
        optional "targeting" => targeting: values::words::<TargetingKind>,
        optional "timezone" => timezone: values::time_zone,
        optional "timeout" => timeout: duration("100ms", "60s"),
        optional "report_timeout" => report_timeout: duration("1s", "10m"),
        optional "report_every" => report_every: duration("1m", "24h"),
        optional "test_accounts" => test_accounts: parse::boolean,
    });
    let credential = secret(value, "credential", credential, credential_file, at, problems);
    if credential.is_none() {
        reject(&at.key("credential"), problems, "is missing; give this or credential_file");
    }
    let span = |set: Option<SignedDuration>| set.and_then(|set| set.try_into().ok());
    // The credential is read when it is used.
    let defaults = AdServerSettings::new(kind?, url?, "");
    let settings = AdServerSettings {
        network,
        advertiser: advertiser.map(RemoteId),
        trafficker: trafficker.map(RemoteId),
        priority,
        targeting: targeting.unwrap_or_default().into_iter().collect(),
        time_zone: timezone.map_or(TimeZone::UTC, |named| named.1),
        timeout: span(timeout).unwrap_or(defaults.timeout),
        report_timeout: span(report_timeout).unwrap_or(defaults.report_timeout),
        ..defaults
    };
    Some(AdServerConfig {
        settings,
        credential: credential?,
        report_every: report_every.unwrap_or(REPORT_EVERY),
        test_accounts: test_accounts.unwrap_or(false),
    })
}
