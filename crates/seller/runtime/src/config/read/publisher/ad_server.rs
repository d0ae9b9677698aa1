//! Reader for the ad server that media buys are carried into.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tradepost_ad_server::{AdServerKind, AdServerSettings, GOOGLE_URL};
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
        optional "url" => url: values::web_page,
        optional "soap_url" => soap_url: values::web_page,
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
    let is_google = kind == Some(AdServerKind::GoogleAdManager);
    let is_line = is_google && value.get("credential").is_some();
    if is_line {
        let message = "is a line, and Google's key file is none; give credential_file only";
        reject(&at.key("credential"), problems, message);
    }
    // Google's address is everybody's; those of the others are not.
    let usual = is_google.then(|| GOOGLE_URL.to_owned());
    if value.get("url").is_none() && usual.is_none() {
        parse::missing(at, problems, "url");
    }
    let url = if value.get("url").is_none() { usual } else { url };
    let span = |set: Option<SignedDuration>| set.and_then(|set| set.try_into().ok());
    // The credential is read when it is used.
    let defaults = AdServerSettings::new(kind?, url?, "");
    let settings = AdServerSettings {
        soap_url: soap_url.unwrap_or_else(|| defaults.soap_url.clone()),
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
        credential: credential.filter(|_| !is_line)?,
        report_every: report_every.unwrap_or(REPORT_EVERY),
        test_accounts: test_accounts.unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use tradepost_ad_server::GOOGLE_SOAP_URL;
    use tradepost_document::json::json;

    use super::*;

    /// Returns the addresses that settings have, or what is wrong with them.
    fn addresses(value: &Value) -> Vec<String> {
        let mut problems = Problems::new();
        let read = ad_server(value, &DocumentPlace::Root, &mut problems);
        let wrong = problems.listed().iter().map(|problem| problem.message.clone()).collect();
        read.map_or(wrong, |read| vec![read.settings.url, read.settings.soap_url])
    }

    #[test]
    fn only_google_has_an_address_of_its_own() {
        let google = json!({"adapter": "google_ad_manager", "credential_file": "key.json"});
        assert_eq!(addresses(&google), [GOOGLE_URL, GOOGLE_SOAP_URL]);
        let later = "https://ads.google.com/apis/ads/publisher/v202611";
        let url = "http://127.0.0.1:1";
        let own = json!({"adapter": "google_ad_manager", "credential_file": "key.json", "url": url, "soap_url": later});
        assert_eq!(addresses(&own), [url, later]);
        let text = json!({"adapter": "google_ad_manager", "credential": "x"});
        assert_eq!(
            addresses(&text),
            ["is a line, and Google's key file is none; give credential_file only"]
        );
        let kevel = json!({"adapter": "kevel", "credential": "x"});
        assert_eq!(addresses(&kevel), ["missing required property \"url\""]);
    }
}
