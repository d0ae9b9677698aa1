//! Demo dealer and demo publisher of the sandbox.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use jiff::Timestamp;
use tradepost_dealer::import::FeedListing;
use tradepost_demo::dealer::DEALER_ID;
use tradepost_demo::publisher as demo;
use tradepost_runtime::config::{Config, read};
use tradepost_runtime::gate::Scopes;
use tradepost_runtime::wiring::{Wiring, site};
use tradepost_sandbox::buyer::Place;
use tradepost_sandbox::{SellerFactory, TruthfulDealer};
use tradepost_server::auth::Principal;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::registry::AgentRegistry;
use tradepost_store::Store;

/// Credentials of the demo publisher, which are public, each with the name of its buyer.
pub const TOKENS: [(&str, &str); 4] = [
    ("demo-acme-outdoor-v1", "acme-outdoor"),
    ("demo-acme-outdoor-live-v1", "acme-outdoor-live"),
    ("demo-nova-motors-v1", "nova-motors"),
    ("demo-billing-passthrough-v1", "billing-passthrough"),
];

/// Payment terms of the demo publisher, the default first.
const TERMS: [&str; 3] = ["net_30", "net_45", "net_60"];

/// Returns the demo publisher with its credentials and its products.
#[must_use]
pub fn publisher() -> Config {
    let mut config = read::demo_publisher();
    let token = |(text, name): &(&'static str, &str)| {
        (*text, Principal { name: (*name).to_owned(), scopes: Scopes::All })
    };
    for publisher in &mut config.publishers {
        publisher.front.tokens = TOKENS.iter().map(token).collect();
        let profile = &mut publisher.profile;
        profile.payment_terms = TERMS.map(ToOwned::to_owned).to_vec();
        profile.catalogue = demo::catalogue();
        profile.catalogue.products.push(demo::trial());
    }
    config
}

/// Sellers that a sandbox script needs; each buyer gets a folder of its own.
#[derive(Debug)]
pub struct DemoSellerFactory {
    /// Parent of the buyers' folders.
    pub folder: PathBuf,
    /// Clock of the process.
    pub clock: Clock,
    /// Address on which the process listens.
    pub address: SocketAddr,
}

impl DemoSellerFactory {
    fn open(
        &self,
        place: &Place,
        config: Config,
    ) -> Result<(Arc<Store>, Arc<AgentRegistry>), InternalError> {
        let folder = self.folder.join(place.folder());
        std::fs::create_dir_all(&folder)
            .map_err(InternalError::on("making the folder of a buyer"))?;
        let store = Arc::new(Store::open(&folder)?);
        let wiring = Wiring::open(config, Arc::clone(&store), self.clock.clone(), self.address)?;
        Ok((store, wiring.registry))
    }
}

impl SellerFactory for DemoSellerFactory {
    fn dealer(&self, place: &Place) -> Result<Arc<dyn TruthfulDealer>, InternalError> {
        let mut config = read::demo();
        for dealer in &mut config.dealers {
            dealer.rate_limit.requests = 0;
            dealer.public_url = Some(place.base_url.clone());
        }
        let (store, registry) = self.open(place, config)?;
        Ok(Arc::new(DemoDealer { store, registry }))
    }

    fn publisher(&self, place: &Place) -> Result<Router, InternalError> {
        let mut config = publisher();
        for publisher in &mut config.publishers {
            publisher.public_url = Some(place.base_url.clone());
            let rates = &mut publisher.rates;
            for rate in [&mut rates.read, &mut rates.write, &mut rates.insert] {
                rate.requests = 0;
            }
        }
        Ok(site(self.open(place, config)?.1).into())
    }
}

/// Demo dealer, which has no vehicles yet.
#[derive(Debug)]
struct DemoDealer {
    store: Arc<Store>,
    registry: Arc<AgentRegistry>,
}

impl TruthfulDealer for DemoDealer {
    fn router(&self) -> Router {
        site(Arc::clone(&self.registry)).into()
    }

    fn offer(&self, listings: &[FeedListing], now: Timestamp) -> Result<(), InternalError> {
        self.store.replace_inventory(DEALER_ID, listings, now, false)?;
        self.registry.refresh()
    }
}
