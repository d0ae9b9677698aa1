//! Availability at the ad server, and what a caller is told when it cannot be asked: `STALE_RESPONSE`
//! beside an earlier answer, or a failure: `SERVICE_UNAVAILABLE`, or `CONFIGURATION_ERROR` when the ad
//! server is not set up (AdCP 3.1 `error-handling`; `Y-1`, `Y-2`). No text of the ad server reaches a
//! caller.

use jiff::Timestamp;
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::json;

use crate::publisher::Publisher;
use crate::refusals::{self, ToolError};
use crate::services::{Supply, Unavailable};
use crate::store::{StoreRead, kept};

/// Duration of the test controller's `force_upstream_unavailable` in seconds: long enough for the steps of a
/// scenario, and over before the next one.
pub const OUTAGE_SECONDS: i64 = 10;

kept! {
    /// An outage of a service behind the publisher that the test controller simulates
    /// (`force_upstream_unavailable`). It is stored under [`Outage::id`] of the tenant that asked for it, and
    /// holds for that tenant only.
    #[derive(Eq)]
    pub struct Outage: Directive {
        /// Name of the service that cannot be asked, as given to the controller.
        upstream: String,
        /// Tool that the outage affects; `*` for all.
        tool: String,
        /// Start of the outage.
        since: Timestamp,
    }
}

impl Outage {
    /// Returns the record id of a tenant's outage: `upstream:` and the tenant.
    #[must_use]
    pub fn id(tenant: &str) -> String {
        format!("upstream:{tenant}")
    }

    /// Returns the tenant's outage that affects a tool now.
    ///
    /// # Errors
    /// When the store fails.
    pub fn find(
        reader: &dyn StoreRead,
        tenant: &str,
        tool: &str,
        now: Timestamp,
    ) -> Result<Option<Self>, InternalError> {
        let found = reader.find::<Self>(&Self::id(tenant))?.map(|stored| stored.thing);
        Ok(found.filter(|outage| {
            (outage.tool == tool || outage.tool == "*")
                && now.duration_since(outage.since).as_secs() < OUTAGE_SECONDS
        }))
    }

    /// Returns the warning to the caller that the data is from before the outage.
    pub(crate) fn warning(&self, now: Timestamp) -> AdcpError {
        let age = now.duration_since(self.since).as_secs().unsigned_abs();
        stale(&self.upstream, age, None)
    }
}

/// Asks the ad server for its availability.
///
/// # Errors
/// `SERVICE_UNAVAILABLE` when it does not answer, and `CONFIGURATION_ERROR` when it is not set up.
pub(crate) async fn ask(publisher: &Publisher) -> Result<Supply, ToolError> {
    publisher.services.inventory().await.map_err(|why| unavailable(why).into())
}

/// Returns the refusal of a request for which the ad server cannot be asked.
pub(crate) fn unavailable(why: Unavailable) -> AdcpError {
    match why {
        Unavailable::Down { retry_after } => {
            let message = "the seller cannot ask its ad server for the moment; send the same again";
            let error = refusals::error(AdcpCode::ServiceUnavailable, message);
            match retry_after {
                Some(wait) => error.with_wait(wait),
                None => error,
            }
        }
        // The missing setting is for the log, where `Services` has written it.
        Unavailable::Misconfigured { setting: _ } => misconfigured(),
    }
}

/// Returns the refusal of a request that needs an ad server which is not set up for it.
pub(crate) fn misconfigured() -> AdcpError {
    let message = "the seller's ad server is not set up; the seller's operator has to set \
                   it up";
    refusals::error(AdcpCode::ConfigurationError, message)
}

/// Returns the warning about availability from an earlier answer; `None` when it is fresh.
pub(crate) fn warning(supply: &Supply) -> Option<AdcpError> {
    let cause = supply.stale.as_ref()?;
    Some(stale(&cause.upstream, supply.age_seconds, Some(cause.freshness_target_seconds)))
}

/// Returns the warning to the caller when the seller's own store is unavailable.
pub(crate) fn stale_store(age_seconds: u64) -> AdcpError {
    stale("store", age_seconds, None)
}

fn stale(upstream: &str, age_seconds: u64, target_seconds: Option<u64>) -> AdcpError {
    let message = "availability is from an earlier answer, because what knows it cannot be asked";
    let error = refusals::warning(refusals::error(AdcpCode::StaleResponse, message));
    let mut error = error.with("served_from_cache", true).with("cache_age_seconds", age_seconds);
    if let Some(seconds) = target_seconds {
        error = error.with("freshness_target_seconds", seconds);
    }
    error.with("upstream", json!({"name": upstream}))
}
