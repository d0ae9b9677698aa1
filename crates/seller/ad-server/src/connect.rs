//! Makes the adapter that settings name, or lists what is wrong with them.

use tradepost_server::clock::Clock;
use tradepost_server::egress::client;

use crate::deals::DealServer;
use crate::google_ad_manager::{GoogleAdManager, ServiceAccount, is_secure};
use crate::http_contract::HttpAdServer;
use crate::kevel::KevelAdServer;
use crate::port::AdServer;
use crate::settings::{AdServerKind, AdServerSettings, ConnectError, SettingProblem};

/// Makes the adapter for an ad server. No request is sent. Its client follows no redirects, because a redirect
/// would carry the credential elsewhere.
///
/// # Errors
/// Lists every setting that does not fit the adapter.
pub fn connect(settings: AdServerSettings) -> Result<Box<dyn AdServer>, ConnectError> {
    let problems = problems(&settings);
    if !problems.is_empty() {
        return Err(ConnectError(problems));
    }
    let is_secure = scheme(&settings.url).as_deref() == Some("https");
    let longest = settings.timeout.max(settings.report_timeout);
    let client = client::without_guard(longest, is_secure).map_err(|_| {
        let message =
            "https needs the certificates of authorities, and those of this machine cannot be read";
        ConnectError(vec![SettingProblem { setting: "url", message }])
    })?;
    Ok(match settings.kind {
        AdServerKind::Http => Box::new(HttpAdServer::new(settings, client)?),
        AdServerKind::Kevel => Box::new(KevelAdServer::new(settings, client)?),
        AdServerKind::GoogleAdManager => {
            Box::new(GoogleAdManager::new(settings, client, Clock::system())?)
        }
        AdServerKind::Deals => Box::new(DealServer::new(settings, client)?),
    })
}

/// Finds what does not fit in settings, apart from what only the adapter reads.
fn problems(settings: &AdServerSettings) -> Vec<SettingProblem> {
    let mut problems = Vec::new();
    let mut require = |is_met: bool, setting: &'static str, message: &'static str| {
        if !is_met {
            problems.push(SettingProblem { setting, message });
        }
    };
    require(
        is_plain_address(&settings.url),
        "url",
        "give an address with http or https, without user, query and fragment",
    );
    require(!settings.credential.is_empty(), "credential", "give the credential of the ad server");
    match settings.kind {
        AdServerKind::Http => {
            require(settings.network.is_some(), "network", "name the network at the ad server");
        }
        AdServerKind::Kevel => {
            let advertiser = settings.advertiser.as_ref();
            require(
                advertiser.is_none_or(|id| id.0.parse::<u32>().is_ok()),
                "advertiser",
                "give the number of an advertiser at Kevel",
            );
            require(
                settings.priority.is_some(),
                "priority",
                "give the number of a priority at Kevel",
            );
        }
        AdServerKind::GoogleAdManager => google_problems(settings, &mut require),
        AdServerKind::Deals => {
            require(
                settings.network.is_some(),
                "network",
                "give the domain of the system that receives bids for the deals",
            );
        }
    }
    problems
}

/// Finds what does not fit in the settings of Google Ad Manager.
fn google_problems(
    settings: &AdServerSettings,
    require: &mut impl FnMut(bool, &'static str, &'static str),
) {
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    require(
        settings.network.as_deref().is_some_and(is_number),
        "network",
        "give the code of the network at Google, which is a number",
    );
    require(
        settings.trafficker.as_ref().is_some_and(|id| is_number(&id.0)),
        "trafficker",
        "give the number of the user at Google who is responsible for orders",
    );
    require(
        settings.advertiser.as_ref().is_none_or(|id| is_number(&id.0)),
        "advertiser",
        "give the number of an advertiser at Google",
    );
    let has_version = settings.soap_url.rsplit('/').next().is_some_and(|last| {
        last.strip_prefix('v').is_some_and(|version| version.len() == 6 && is_number(version))
    });
    require(
        is_plain_address(&settings.soap_url) && has_version,
        "soap_url",
        "give an address that ends with a version, such as /v202511",
    );
    require(
        is_secure(&settings.url) && is_secure(&settings.soap_url),
        "url",
        "tokens of Google's are sent to addresses with https alone",
    );
    let mut addresses = vec![settings.url.clone(), settings.soap_url.clone()];
    if !settings.credential.is_empty() {
        match ServiceAccount::read(&settings.credential) {
            Ok(account) => addresses.push(account.token_uri().to_owned()),
            Err(message) => require(false, "credential", message),
        }
    }
    if addresses.iter().all(|url| is_secure(url)) {
        // One client serves all of them, and speaks TLS or does not.
        require(
            addresses.iter().all(|url| scheme(url) == scheme(&settings.url)),
            "url",
            "give url, soap_url and the token_uri of the key file one scheme: https, or http for all on this machine",
        );
    }
}

/// Returns the scheme of an address.
fn scheme(url: &str) -> Option<String> {
    reqwest::Url::parse(url).ok().map(|url| url.scheme().to_owned())
}

/// Returns true for an address to which paths can be added.
fn is_plain_address(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    })
}
