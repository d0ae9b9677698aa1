//! Connection of a publisher to its ad server, and the carrier of its media buys.

use std::sync::Arc;
use std::time::Duration;

use tradepost_ad_server::{AdServer, AdServerKind, AdServerSettings};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::profile::{AdServerProfile, PublisherProfile};
use tradepost_publisher::remote_order::wanted::OrderTerms;
use tradepost_server::clock::Clock;
use tradepost_server::outbox::ClockAndRandom;
use tradepost_store::Store;

use super::orders::{RemoteOrderDeps, RemoteOrders};
use super::store::SqlPublisherStore;
use crate::config::AdServerConfig;

/// Number of requests that one step may take at an adapter.
const REQUESTS_OF_A_STEP: u32 = 3;

/// Returns the ad server of a configuration. No request is sent.
///
/// # Errors
/// Says what is wrong with the settings, without any part of the credential.
pub fn connect(config: &AdServerConfig) -> Result<Arc<dyn AdServer>, String> {
    let credential = match config.settings.kind {
        AdServerKind::GoogleAdManager => config.credential.read_document(),
        AdServerKind::Http | AdServerKind::Kevel | AdServerKind::Deals => config.credential.read(),
    };
    let credential = credential.map_err(|why| format!("the credential {why}"))?;
    let settings = AdServerSettings { credential, ..config.settings.clone() };
    let ad_server = tradepost_ad_server::connect(settings);
    ad_server.map(Arc::from).map_err(|error| error.to_string())
}

/// Returns the terms on which orders are made.
#[must_use]
pub fn order_terms(config: &AdServerConfig, catalogue: &Catalogue) -> OrderTerms {
    let terms = OrderTerms {
        advertiser: config.settings.advertiser.clone(),
        test_accounts: config.test_accounts,
        ..OrderTerms::default()
    };
    terms.with_formats(&catalogue.formats)
}

/// Returns what a publisher sells by.
#[must_use]
pub fn profile(config: &AdServerConfig, ad_server: &dyn AdServer) -> AdServerProfile {
    AdServerProfile {
        capabilities: ad_server.capabilities().clone(),
        advertiser: config.settings.advertiser.clone(),
        test_accounts: config.test_accounts,
    }
}

/// Creates the carrier of a publisher's buys; it has to be run by the caller.
pub(super) fn carrier(
    config: &AdServerConfig,
    ad_server: Arc<dyn AdServer>,
    profile: &PublisherProfile,
    publisher_store: &SqlPublisherStore,
    clock: &Clock,
) -> RemoteOrders {
    let shared: Arc<Store> = Arc::clone(publisher_store.store());
    let deps = RemoteOrderDeps {
        publisher_store: Arc::new(publisher_store.clone()),
        notify: publisher_store.notify_orders(),
        clock: clock.clone(),
        edge: ClockAndRandom::system(),
        shared: Some(shared),
        is_sandbox: profile.sandbox,
    };
    let terms = order_terms(config, &profile.catalogue);
    let mut orders = RemoteOrders::new(&profile.id, ad_server, terms, deps);
    let longest = config.settings.timeout.max(config.settings.report_timeout);
    orders.timeout = longest.saturating_mul(REQUESTS_OF_A_STEP).max(Duration::from_secs(1));
    orders.report_every = config.report_every;
    orders.zone = profile.catalogue.inventory.time_zone.clone();
    orders
}
