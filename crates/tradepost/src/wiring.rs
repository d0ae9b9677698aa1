//! What a configuration sets up: its agents on one store, behind one desk.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tradepost_buyer::transport::TransportLimits;
use tradepost_buyer::{HttpTransport, Url};
use tradepost_server::agent::SharedAgent;
use tradepost_server::auth::AuthDeps;
use tradepost_server::auth::jwks::Fetch;
use tradepost_server::auth::key::KeyLookup;
use tradepost_server::auth::known::KnownKeys;
use tradepost_server::clock::Clock;
use tradepost_server::desk::AgentRegistry;
use tradepost_server::fault::InternalError;
use tradepost_server::http::{self, Site};
use tradepost_server::metrics::Metrics;
use tradepost_server::outbox::ClockAndRandom;
use tradepost_server::traces::Tracer;
use tradepost_store::{ChangeNotice, Counted, Store};

use crate::aap::conversation::Conversations;
use crate::aap::inventories::Inventories;
use crate::aap::seller::{DealerAgent, DealerDeps};
use crate::adcp;
use crate::adcp::notices::Notices;
use crate::config::{Config, PublisherConfig, ServerConfig};
use crate::console::metrics::ConsoleMetrics;
use crate::delivery::Deliveries;
use crate::feeds::{self, Feeds};
use crate::hosting::roster::Roster;
use crate::hosting::{Fixed, House};
use crate::refusals::RefusalRecorder;

pub mod demo;

/// How often failed sign-ins are summed up for the record.
const SUMMED_UP: SignedDuration = SignedDuration::from_mins(1);

/// A process that was set up.
#[derive(Debug)]
pub struct Wiring {
    /// Its agents.
    pub desk: Arc<AgentRegistry>,
    /// What delivers the notifications of its publishers, once somebody runs it.
    pub notices: Vec<Arc<Notices>>,
    /// What delivers the leads of its dealers, once somebody runs it.
    pub deliveries: Arc<Deliveries>,
    /// Its dealers at work.
    pub sellers: Arc<RunningDealers>,
    /// What they keep.
    pub store: Arc<Store>,
    /// What time it is.
    pub clock: Clock,
    /// What brings the inventories of its dealers, once somebody runs it.
    pub feeds: Arc<Feeds>,
    /// What remembers refusals, once somebody runs it.
    pub refusals: Arc<RefusalRecorder>,
    publishers: Vec<SharedAgent>,
    ground: DealerDeps,
    /// Who the dealers are. Whoever changes that holds it while everything takes it over.
    roster: Mutex<Roster>,
    /// Whether the store has dealers, too.
    hosting: bool,
    /// What the file says.
    fixed: RwLock<Arc<Fixed>>,
    counted: Counted,
    /// What its console counts, where there is one.
    pub console_metrics: ConsoleMetrics,
    /// When failed sign-ins were last summed up for the record.
    summed_up_at: Mutex<Option<Timestamp>>,
    /// Told when another process has changed something that is to be taken over.
    changed: Arc<Notify>,
}

/// The dealers of a process at work, who can be replaced while it runs.
#[derive(Debug)]
pub struct RunningDealers(RwLock<Vec<Arc<DealerAgent>>>);

impl RunningDealers {
    /// All of them, in the order of the configuration.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<DealerAgent>> {
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
    ) -> Result<Self, InternalError> {
        let fixed = Arc::new(Fixed::of(&config));
        let Config { server, dealers, publishers, privacy: _, alerts: _, traces: _ } = config;
        let origin = server.origin(address);
        store.keep_free(server.min_free_space);
        let means = means(&store, &clock);
        let patience = server.http().request_timeout;
        let destinations: Vec<_> = publishers.iter().map(PublisherConfig::destinations).collect();
        let open = |publisher| adcp::open(publisher, &store, &means, origin, patience);
        let publishers = publishers.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let notices = publishers.iter().map(|publisher| Arc::clone(&publisher.notices)).collect();
        let shared = |publisher| Arc::new(publisher) as SharedAgent;
        let publishers: Vec<_> = publishers.into_iter().map(shared).collect();
        // Of no dealer yet: dealers are opened on these, and `take_over` brings them in.
        let deliveries =
            Deliveries::new(Arc::clone(&store), clock.clone(), ClockAndRandom::system());
        // Before a publisher can sell anything.
        deliveries.add_publishers(&destinations)?;
        let deliveries = Arc::new(deliveries);
        let feeds = Arc::new(Feeds::new(Arc::clone(&store), clock.clone()));
        let ground = DealerDeps {
            inventories: Inventories::new(&store, &clock, server.memory_budget),
            seal: Conversations::seal(&store)?,
            store: Arc::clone(&store),
            means,
            origin,
            deliveries: Arc::clone(&deliveries),
        };
        let mut roster = Roster::open(Arc::clone(&fixed), dealers, &ground)?;
        if server.hosting
            && let Some(more) = roster.follow(&ground)?
        {
            roster = more;
        }
        let console_metrics = ConsoleMetrics::default();
        let register = |registry: &mut Registry| console_metrics.register(registry);
        let (desk, counted) = desk_counting(&server, &store, clock.clone(), Vec::new(), register);
        let refusals = Arc::new(RefusalRecorder::new(Arc::clone(&store), clock.clone()));
        desk.set_refusal_sink(Arc::clone(&refusals) as _);
        let sellers = Arc::new(RunningDealers(RwLock::default()));
        let wiring = Self {
            desk,
            notices,
            deliveries,
            feeds,
            refusals,
            sellers,
            store,
            clock,
            publishers,
            ground,
            roster: Mutex::new(roster),
            hosting: server.hosting,
            fixed: RwLock::new(fixed),
            counted,
            console_metrics,
            summed_up_at: Mutex::default(),
            changed: Arc::default(),
        };
        wiring.listen()?;
        let roster = wiring.roster.lock().unwrap_or_else(PoisonError::into_inner);
        wiring.take_over(&roster)?;
        drop(roster);
        Ok(wiring)
    }

    /// Has what other processes do noticed at once, and not only when it is looked for.
    fn listen(&self) -> Result<(), InternalError> {
        let (deliveries, changed) = (Arc::downgrade(&self.deliveries), Arc::clone(&self.changed));
        let notices: Vec<_> = self.notices.iter().map(Arc::downgrade).collect();
        let deliver = move || {
            deliveries.upgrade().iter().for_each(|deliveries| deliveries.wake());
            notices.iter().filter_map(Weak::upgrade).for_each(|notices| notices.wake());
        };
        self.store.hear(move |news| match news {
            ChangeNotice::Appended { .. } => {}
            ChangeNotice::Due => deliver(),
            ChangeNotice::Changed => changed.notify_one(),
            ChangeNotice::Any => {
                deliver();
                changed.notify_one();
            }
        })
    }

    /// Resolves when another process has changed an inventory, or which dealers there are. One at a
    /// time may wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The ids of its agents at the moment.
    #[must_use]
    pub fn agent_ids(&self) -> Vec<String> {
        self.counted.read().unwrap_or_else(PoisonError::into_inner).clone()
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

    /// Puts other dealers in the place of those of the configuration file; what they have begun they
    /// finish. Publishers stay: what they remember of signatures and tasks is in memory.
    ///
    /// # Errors
    /// When a dealer cannot be set up, or contradicts one that is hosted; then everything stays.
    pub fn replace_dealers(&self, config: Config) -> Result<(), InternalError> {
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        let fixed = Arc::new(Fixed::of(&config));
        let fresh = roster.replace_file(Arc::clone(&fixed), config.dealers, &self.ground)?;
        // The roster comes last: where taking over fails, it still says who answers.
        self.take_over(&fresh)?;
        *self.fixed.write().unwrap_or_else(PoisonError::into_inner) = fixed;
        *roster = fresh;
        Ok(())
    }

    /// Takes over what has changed in the store: dealers that came, changed or went, by whatever process.
    /// It waits for the disk.
    ///
    /// # Errors
    /// When the store fails; then everything stays.
    pub fn follow(&self) -> Result<(), InternalError> {
        if !self.hosting {
            return Ok(());
        }
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fresh) = roster.follow(&self.ground)? {
            self.take_over(&fresh)?;
            *roster = fresh;
            tracing::info!(hosted = roster.hosted(), "hosted dealers have changed");
        }
        Ok(())
    }

    /// Has every agent take over what has changed in the store and around it. It waits for the disk.
    ///
    /// # Errors
    /// When something fails; the others have taken over what is theirs.
    pub fn refresh(&self) -> Result<(), InternalError> {
        // What a publisher has sold, and what its people have decided in a process of their own.
        self.deliveries.wake();
        let _round = self.ground.inventories.round()?;
        self.desk.refresh()
    }

    /// Erases old leads of dealers that were removed, and records how many sign-ins failed in the hours
    /// that are over. It waits for the disk, and nobody for it.
    pub fn tidy(&self) {
        self.sum_up_failures();
        let roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner).clone();
        roster.tidy(&self.ground);
    }

    /// Records how many sign-ins failed in the hours that are over, at most once a minute.
    fn sum_up_failures(&self) {
        let now = self.clock.now();
        let mut last = self.summed_up_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.duration_since(last) >= SUMMED_UP);
        if !is_due {
            return;
        }
        *last = Some(now);
        drop(last);
        let summed_up = self.store.write_blocking(move |tx| tx.sum_up_failures(now));
        let forgotten = self.store.write_blocking(move |tx| tx.forget_failures(now));
        if let Err(fault) = summed_up.and(forgotten) {
            tracing::warn!(cause = %fault.chain(), "failed sign-ins could not be summed up");
        }
    }

    /// Whether a hosted dealer should be served as it is kept, and could not be opened yet.
    #[must_use]
    pub fn waits(&self, id: &str) -> bool {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner).waits(id)
    }

    /// Where dealers are taken in from far away; nowhere, unless the configuration wants it.
    #[must_use]
    pub fn house(&self) -> Option<House> {
        if !self.hosting {
            return None;
        }
        let fixed = Arc::clone(&self.fixed.read().unwrap_or_else(PoisonError::into_inner));
        let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
        Some(House { store, fixed, clock, is_local: false })
    }

    /// What administrators' credentials are judged with.
    #[must_use]
    pub const fn means(&self) -> &AuthDeps {
        &self.ground.means
    }

    /// Has everything go by a roster. A dealer that is suspended gets no feeds; what it has taken is
    /// still delivered.
    fn take_over(&self, roster: &Roster) -> Result<(), InternalError> {
        let sellers = roster.all();
        let dealers: Vec<_> = sellers.iter().map(|it| Arc::clone(&it.dealer)).collect();
        let at_work = sellers.iter().filter(|seller| !seller.is_suspended);
        let at_work: Vec<_> = at_work.map(|it| Arc::clone(&it.dealer)).collect();
        // A dealer answers only when its leads have somewhere to go.
        // What can fail stands before what changes something.
        let sources = self.feeds.sources_of(&at_work)?;
        self.deliveries.replace(&dealers)?;
        self.feeds.replace(sources);
        // Dealers before publishers: the first that answers on a host is reached there.
        let agents = sellers.iter().map(|seller| Arc::clone(seller) as SharedAgent);
        let agents: Vec<_> = agents.chain(self.publishers.iter().cloned()).collect();
        let ids = agents.iter().map(|agent| agent.id().to_owned()).collect();
        *self.counted.write().unwrap_or_else(PoisonError::into_inner) = ids;
        self.desk.replace(agents);
        *self.sellers.0.write().unwrap_or_else(PoisonError::into_inner) = sellers;
        Ok(())
    }
}

/// A desk with these agents on a store, and the ids of those whose rows are counted.
#[must_use]
pub fn desk(
    server: &ServerConfig,
    store: &Arc<Store>,
    clock: Clock,
    agents: Vec<SharedAgent>,
) -> (Arc<AgentRegistry>, Counted) {
    desk_counting(server, store, clock, agents, |_| {})
}

/// The same, with metrics that `register` adds.
fn desk_counting(
    server: &ServerConfig,
    store: &Arc<Store>,
    clock: Clock,
    agents: Vec<SharedAgent>,
    register: impl FnOnce(&mut Registry),
) -> (Arc<AgentRegistry>, Counted) {
    let mut metrics = Metrics::default();
    register(metrics.registry());
    let ids = agents.iter().map(|agent| agent.id().to_owned()).collect();
    let counted: Counted = Arc::new(RwLock::new(ids));
    store.count_in(metrics.registry(), Arc::clone(&counted));
    let desk = AgentRegistry::new(server.http(), clock, Arc::clone(store) as _, agents);
    (Arc::new(desk.counting(metrics)), counted)
}

/// Everything that can be asked of a process.
#[must_use]
pub fn site(desk: Arc<AgentRegistry>) -> Site {
    http::site(desk, adcp::http::routes())
}

/// What credentials are judged with: keys of the store, and issuers on the web.
#[must_use]
pub fn means(store: &Arc<Store>, clock: &Clock) -> AuthDeps {
    let web = Arc::new(Issuers(HttpTransport::new(LIMITS)));
    let keys: Arc<dyn KeyLookup> = Arc::clone(store) as _;
    // A file does not go away for a while.
    let keys = match store.is_shared() {
        true => Arc::new(KnownKeys::of(keys, clock.clone())),
        false => keys,
    };
    AuthDeps { keys, web, clock: clock.clone() }
}

/// What fetching an issuer's keys may cost.
const LIMITS: TransportLimits = TransportLimits {
    timeout: Duration::from_secs(5),
    connect: Duration::from_secs(3),
    max_body: 256 * 1024,
};

/// Fetches what the issuers of tokens publish.
#[derive(Debug)]
struct Issuers(HttpTransport);

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
