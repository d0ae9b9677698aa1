//! The demo dealer, as the sandbox plays it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use jiff::Timestamp;
use tradepost_dealer::demo::DEALER_ID;
use tradepost_dealer::import::Unit;
use tradepost_sandbox::Dealer;
use tradepost_server::clock::Clock;
use tradepost_server::desk::Desk;
use tradepost_server::fault::Fault;
use tradepost_store::Store;

use super::{Wiring, site};
use crate::config::read;

/// The demo dealer, who has nothing to sell yet.
#[derive(Debug)]
pub struct DemoDealer {
    store: Arc<Store>,
    desk: Arc<Desk>,
}

impl DemoDealer {
    /// Sets it up in an empty folder. `address` is where the process listens.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(folder: &Path, clock: Clock, address: SocketAddr) -> Result<Self, Fault> {
        let mut config = read::demo();
        for dealer in &mut config.dealers {
            dealer.rate_limit.requests = 0;
            dealer.public_url = Some(format!("http://{address}"));
        }
        let store = Arc::new(Store::open(folder)?);
        let desk = Wiring::open(config, Arc::clone(&store), clock, address)?.desk;
        Ok(Self { store, desk })
    }
}

impl Dealer for DemoDealer {
    fn router(&self) -> Router {
        site(Arc::clone(&self.desk)).into()
    }

    fn offer(&self, units: &[Unit], now: Timestamp) -> Result<(), Fault> {
        self.store.replace_inventory(DEALER_ID, units, now, false)?;
        self.desk.refresh()
    }
}
