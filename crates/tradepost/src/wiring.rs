//! What a configuration sets up: its agents on one store, behind one desk.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tradepost_buyer::transport::Limits;
use tradepost_buyer::{Transport, Url};
use tradepost_server::agent::SharedAgent;
use tradepost_server::auth::Means;
use tradepost_server::auth::jwks::Fetch;
use tradepost_server::clock::Clock;
use tradepost_server::desk::Desk;
use tradepost_server::fault::Fault;
use tradepost_server::http::{self, Site};
use tradepost_server::metrics::Metrics;
use tradepost_server::outbox::Edge;
use tradepost_server::traces::Tracer;
use tradepost_store::Store;

use crate::aap::inventories::Inventories;
use crate::aap::seller::Seller;
use crate::adcp;
use crate::adcp::notices::Notices;
use crate::config::{Config, Dealer, Origin, Server};
use crate::delivery::Deliveries;
use crate::feeds::{self, Feeds};

pub mod demo;

/// A process that was set up.
#[derive(Debug)]
pub struct Wiring {
    /// Its agents.
    pub desk: Arc<Desk>,
    /// What delivers the notifications of its publishers, once somebody runs it.
    pub notices: Vec<Arc<Notices>>,
    /// What delivers the leads of its dealers, once somebody runs it.
    pub deliveries: Arc<Deliveries>,
    /// Its dealers at work.
    pub sellers: Arc<Sellers>,
    /// What they keep.
    pub store: Arc<Store>,
    /// What time it is.
    pub clock: Clock,
    inventories: Arc<Inventories>,
    /// What brings the inventories of its dealers, once somebody runs it.
    pub feeds: Arc<Feeds>,
    publishers: Vec<SharedAgent>,
    means: Means,
    /// Where it listens, as cards name it.
    origin: Origin,
}

/// The dealers of a process at work, who can be replaced while it runs.
#[derive(Debug)]
pub struct Sellers(RwLock<Vec<Arc<Seller>>>);

impl Sellers {
    /// All of them, in the order of the configuration.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Seller>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Wiring {
    /// Sets the agents of a configuration up. `address` is where the process listens: cards name it
    /// when the configuration names no public address.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(
        config: Config,
        store: Arc<Store>,
        clock: Clock,
        address: SocketAddr,
    ) -> Result<Self, Fault> {
        let Config { server, dealers, publishers, privacy: _, alerts: _, traces: _ } = config;
        let origin = server.origin(address);
        store.keep_free(server.min_free_space);
        let means = means(&store, &clock);
        let patience = server.http().request_timeout;
        let open = |publisher| adcp::open(publisher, &store, &means, origin, patience);
        let publishers = publishers.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let notices = publishers.iter().filter_map(|publisher| publisher.notices.clone()).collect();
        let shared = |publisher| Arc::new(publisher) as SharedAgent;
        let publishers: Vec<_> = publishers.into_iter().map(shared).collect();
        let deliveries =
            Deliveries::open(&dealers, Arc::clone(&store), clock.clone(), Edge::system())?;
        let deliveries = Arc::new(deliveries);
        let inventories = Inventories::new(&store, &clock, server.memory_budget);
        let feeds = Arc::new(Feeds::open(&dealers, Arc::clone(&store), clock.clone())?);
        let ground = Ground {
            store: &store,
            means: &means,
            origin,
            deliveries: &deliveries,
            inventories: &inventories,
        };
        let sellers = sellers(dealers, &ground)?;
        let desk = desk(&server, &store, clock.clone(), agents(&sellers, &publishers));
        let sellers = Arc::new(Sellers(RwLock::new(sellers)));
        Ok(Self {
            desk,
            notices,
            deliveries,
            feeds,
            sellers,
            store,
            clock,
            inventories,
            publishers,
            means,
            origin,
        })
    }

    /// The ids of its agents at the moment.
    #[must_use]
    pub fn agent_ids(&self) -> Vec<String> {
        let agents = agents(&self.sellers.all(), &self.publishers);
        agents.iter().map(|agent| agent.id().to_owned()).collect()
    }

    /// Has requests and deliveries be parts of traces. To be done once, before any comes.
    pub fn trace_with(&self, tracer: &Tracer) {
        self.desk.trace_with(tracer.clone());
        self.deliveries.trace_with(tracer.clone());
    }

    /// Everything that can be asked of it.
    #[must_use]
    pub fn site(&self) -> Site {
        let mut routes = adcp::http::routes();
        routes.router = routes.router.merge(feeds::routes(Arc::clone(&self.feeds)));
        http::site(Arc::clone(&self.desk), routes)
    }

    /// Puts other dealers in the place of those there are; what they have begun they finish.
    /// Publishers stay: what they remember of signatures and tasks is in memory.
    ///
    /// # Errors
    /// When a dealer cannot be set up; then everything stays.
    pub fn replace_dealers(&self, dealers: Vec<Dealer>) -> Result<(), Fault> {
        let (store, means, deliveries) = (&self.store, &self.means, &self.deliveries);
        let inventories = &self.inventories;
        let ground = Ground { store, means, origin: self.origin, deliveries, inventories };
        let settings = dealers.clone();
        let sellers = sellers(dealers, &ground)?;
        deliveries.replace(&settings)?;
        self.feeds.replace(&settings)?;
        self.desk.replace(agents(&sellers, &self.publishers));
        *self.sellers.0.write().unwrap_or_else(PoisonError::into_inner) = sellers;
        Ok(())
    }
}

/// What dealers stand on.
struct Ground<'a> {
    store: &'a Arc<Store>,
    means: &'a Means,
    origin: Origin,
    deliveries: &'a Arc<Deliveries>,
    inventories: &'a Arc<Inventories>,
}

fn sellers(dealers: Vec<Dealer>, ground: &Ground<'_>) -> Result<Vec<Arc<Seller>>, Fault> {
    let Ground { store, means, origin, deliveries, inventories } = *ground;
    let open =
        |dealer| Seller::open(dealer, store, means, origin, deliveries, inventories).map(Arc::new);
    dealers.into_iter().map(open).collect()
}

/// Dealers before publishers: the first that answers on a host is reached there.
fn agents(sellers: &[Arc<Seller>], publishers: &[SharedAgent]) -> Vec<SharedAgent> {
    let sellers = sellers.iter().map(|seller| Arc::clone(seller) as SharedAgent);
    sellers.chain(publishers.iter().cloned()).collect()
}

/// A desk with these agents on a store.
#[must_use]
pub fn desk(
    server: &Server,
    store: &Arc<Store>,
    clock: Clock,
    agents: Vec<SharedAgent>,
) -> Arc<Desk> {
    let mut metrics = Metrics::default();
    let ids = agents.iter().map(|agent| agent.id().to_owned()).collect();
    store.count_in(metrics.registry(), ids);
    let desk = Desk::new(server.http(), clock, Arc::clone(store) as _, agents);
    Arc::new(desk.counting(metrics))
}

/// Everything that can be asked of a process.
#[must_use]
pub fn site(desk: Arc<Desk>) -> Site {
    http::site(desk, adcp::http::routes())
}

/// What credentials are judged with: keys of the store, and issuers on the web.
#[must_use]
pub fn means(store: &Arc<Store>, clock: &Clock) -> Means {
    let web = Arc::new(Issuers(Transport::new(LIMITS)));
    Means { keys: Arc::clone(store) as _, web, clock: clock.clone() }
}

/// What fetching an issuer's keys may cost.
const LIMITS: Limits = Limits {
    timeout: Duration::from_secs(5),
    connect: Duration::from_secs(3),
    max_body: 256 * 1024,
};

/// Fetches what the issuers of tokens publish.
#[derive(Debug)]
struct Issuers(Transport);

impl Fetch for Issuers {
    fn fetch(&self, url: Url) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let response = self.0.get(&url, None).await.map_err(|failure| failure.to_string())?;
            if !response.is_success() {
                return Err(format!("the answer has the status {}", response.status));
            }
            Ok(response.body.to_vec())
        })
    }
}
