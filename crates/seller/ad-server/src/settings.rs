//! Settings of an ad server, and what can be wrong with them.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::tz::TimeZone;
use tradepost_publisher::ad_server::{RemoteId, TargetingKind};

use crate::port::{AdServerError, RefusalReason};

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

impl AdServerSettings {
    /// Returns the advertiser of an account, or the one of accounts that name none.
    pub(crate) fn advertiser_or<'a>(
        &'a self,
        own: Option<&'a RemoteId>,
    ) -> Result<&'a RemoteId, AdServerError> {
        own.or(self.advertiser.as_ref()).ok_or_else(|| AdServerError::Refused {
            reason: RefusalReason::Missing,
            detail: "no advertiser is set for the account or the publisher".to_owned(),
        })
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

/// Error of [`connect`](crate::connect()): every setting that does not fit.
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
