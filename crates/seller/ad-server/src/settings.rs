//! Settings of an ad server, and the adapter that they name.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::tz::TimeZone;
use tradepost_publisher::ad_server::{RemoteId, TargetingKind};
use tradepost_server::clock::Clock;
use tradepost_server::egress::client;

use crate::AdServer;
use crate::deals::DealServer;
use crate::google_ad_manager::{GoogleAdManager, ServiceAccount, is_secure};
use crate::http_contract::HttpAdServer;
use crate::kevel::KevelAdServer;

tradepost_document::words! {
    /// Adapter: the interface that an ad server speaks.
    pub enum AdServerKind {
        /// The contract for an ad server of one's own (docs/ad-server.md).
        Http = "http",
        /// Kevel's management API.
        Kevel = "kevel",
        /// Google Ad Manager: REST v1, and SOAP for what only it does.
        GoogleAdManager = "google_ad_manager",
        /// A receiver of deals (IAB Tech Lab Deals API 1.0): a DSP, or an SSP for one.
        Deals = "deals",
    }
}

/// Address of Google Ad Manager's REST interface.
pub const GOOGLE_URL: &str = "https://admanager.googleapis.com";

/// Address of Google Ad Manager's SOAP interface, with its version.
pub const GOOGLE_SOAP_URL: &str = "https://ads.google.com/apis/ads/publisher/v202511";

/// Settings of an ad server.
#[derive(Clone, PartialEq, Eq)]
pub struct AdServerSettings {
    /// Adapter.
    pub kind: AdServerKind,
    /// Base address, such as `https://api.kevel.co`; with `deals` the address that deals are sent to.
    pub url: String,
    /// Address of Google's SOAP interface; its last part is the version.
    pub soap_url: String,
    /// Credential. It is sent to this address alone, and shown nowhere. With `google_ad_manager` the key file of a
    /// service account, whose text never leaves this machine.
    pub credential: String,
    /// Network at the ad server. With `deals` the domain of the system that receives bids (`origin`).
    pub network: Option<String>,
    /// Advertiser of accounts that name none of their own.
    pub advertiser: Option<RemoteId>,
    /// Person at the ad server who is responsible for orders.
    pub trafficker: Option<RemoteId>,
    /// Kevel's priority (`PriorityId`) of the flights.
    pub priority: Option<u32>,
    /// Targeting that an ad server of one's own applies (`http`); the other adapters know it themselves.
    pub targeting: BTreeSet<TargetingKind>,
    /// Time zone of the publisher: the days of reports are days of it.
    pub time_zone: TimeZone,
    /// Maximum time of a request.
    pub timeout: Duration,
    /// Maximum time of a request for a report.
    pub report_timeout: Duration,
}

impl AdServerSettings {
    /// Creates settings with an address and a credential; the rest has defaults: 10 seconds for a request, a
    /// minute for a report, and days of UTC.
    #[must_use]
    pub fn new(kind: AdServerKind, url: impl Into<String>, credential: impl Into<String>) -> Self {
        Self {
            kind,
            url: url.into(),
            soap_url: GOOGLE_SOAP_URL.to_owned(),
            credential: credential.into(),
            network: None,
            advertiser: None,
            trafficker: None,
            priority: None,
            targeting: BTreeSet::new(),
            time_zone: TimeZone::UTC,
            timeout: Duration::from_secs(10),
            report_timeout: Duration::from_mins(1),
        }
    }
}

impl fmt::Debug for AdServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdServerSettings")
            .field("kind", &self.kind)
            .field("url", &self.url)
            .field("network", &self.network)
            .field("advertiser", &self.advertiser)
            .finish_non_exhaustive()
    }
}

/// Setting that does not fit, with a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// Name of the setting in `[publishers.ad_server]`.
    pub setting: &'static str,
    /// What is wrong with it.
    pub message: &'static str,
}

/// Error of [`connect`]: every setting that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectError(pub Vec<SettingProblem>);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index > 0 { "; " } else { "" };
            write!(f, "{separator}{}: {}", problem.setting, problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConnectError {}

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
        let message = "https needs trusted certificates, and this machine has none";
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
