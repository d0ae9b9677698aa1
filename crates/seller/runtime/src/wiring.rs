//! Sets up the agents of a configuration on one store, behind one registry.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tradepost_admin::Actor;
use tradepost_client::transport::TransportLimits;
use tradepost_client::{HttpTransport, Url};
use tradepost_server::agent::SharedAgent;
use tradepost_server::auth::AuthDeps;
use tradepost_server::auth::jwks::Fetch;
use tradepost_server::auth::key::KeyLookup;
use tradepost_server::auth::key_cache::KnownKeys;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::http::{self, Routes, Site};
use tradepost_server::metrics::Metrics;
use tradepost_server::outbox::ClockAndRandom;
use tradepost_server::registry::AgentRegistry;
use tradepost_server::traces::Tracer;
use tradepost_store::{ChangeNotice, Counted, Store};

use crate::aap::conversation::Conversations;
use crate::aap::directory::DirectoryAgent;
use crate::aap::inventories::Inventories;
use crate::aap::seller::{DealerAgent, DealerDeps};
use crate::aap::ucp;
use crate::adcp;
use crate::adcp::notices::Notices;
use crate::adcp::orders::RemoteOrders;
use crate::adcp::seller::PublisherAgent;
use crate::alerts::watch::AnswerTime;
use crate::config::{Config, PublisherConfig, ServerConfig};
use crate::console_metrics::ConsoleMetrics;
use crate::delivery::Deliveries;
use crate::empty_searches::EmptySearchRecorder;
use crate::feeds::{self, Feeds};
use crate::hosting::dealer_set::Roster;
use crate::hosting::{Fixed, HostedDealers};
use crate::refusals::RefusalRecorder;

/// Minimum time between two summaries of failed sign-ins in the audit log.
const SUMMARY_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// Agents and background work of a process.
#[derive(Debug)]
pub struct Wiring {
    /// Registry of the agents.
    pub registry: Arc<AgentRegistry>,
    /// Senders of the publishers' notifications; each has to be run by the caller.
    pub notices: Vec<Arc<Notices>>,
    /// Carriers of the publishers' media buys into their ad servers; each has to be run by the caller.
    pub orders: Vec<Arc<RemoteOrders>>,
    /// Sender of the dealers' leads; has to be run by the caller.
    pub deliveries: Arc<Deliveries>,
    /// Dealers in service.
    pub sellers: Arc<RunningDealers>,
    /// Publishers in service, in the order of the configuration.
    pub publishers: Vec<Arc<PublisherAgent>>,
    /// Store of all of them.
    pub store: Arc<Store>,
    /// Clock of the process.
    pub clock: Clock,
    /// Feeds of the dealers' inventories; has to be run by the caller.
    pub feeds: Arc<Feeds>,
    /// Recorder of refusals; has to be run by the caller.
    pub refusals: Arc<RefusalRecorder>,
    /// Recorder of searches that found nothing; has to be run by the caller.
    pub empty_searches: Arc<EmptySearchRecorder>,
    deps: DealerDeps,
    /// Current dealers. The lock is held until a change has been applied everywhere.
    roster: Mutex<Roster>,
    /// True when the store has dealers too.
    hosting: bool,
    /// Dealers of the configuration file.
    fixed: RwLock<Arc<Fixed>>,
    counted: Counted,
    /// Counters of the console, if there is one.
    pub console_metrics: ConsoleMetrics,
    /// Time of the last summary of failed sign-ins in the audit log.
    summed_up_at: Mutex<Option<Timestamp>>,
    /// Notified when another process has made a change that has to be applied here.
    changed: Arc<Notify>,
}

/// Dealers in service, which can be replaced at run time.
#[derive(Debug)]
pub struct RunningDealers(RwLock<Vec<Arc<DealerAgent>>>);

impl RunningDealers {
    /// Returns all dealers in the order of the configuration.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<DealerAgent>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Wiring {
    /// Sets up the agents of a configuration. `address` is where the process listens: agent cards
    /// name it when the configuration has no public address.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub fn open(
        config: Config,
        store: Arc<Store>,
        clock: Clock,
        address: SocketAddr,
    ) -> Result<Self, InternalError> {
        let fixed = Arc::new(Fixed::from_config(&config));
        let Config { server, dealers, publishers, privacy: _, alerts: _, traces: _ } = config;
        let origin = server.origin(address);
        store.keep_free(server.min_free_space);
        let means = means(&store, &clock);
        let timeout = server.http().request_timeout;
        let destinations: Vec<_> = publishers.iter().map(PublisherConfig::destinations).collect();
        let open = |publisher| adcp::open(publisher, &store, &means, origin, timeout);
        let publishers = publishers.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let notices = publishers.iter().map(|publisher| Arc::clone(&publisher.notices)).collect();
        let orders = publishers.iter().filter_map(|publisher| publisher.orders.clone()).collect();
        let publishers = publishers.into_iter().map(Arc::new).collect();
        // Without dealers for now: they are opened on these, and `take_over` adds them.
        let deliveries =
            Deliveries::new(Arc::clone(&store), clock.clone(), ClockAndRandom::system());
        // Registered before a publisher can sell anything.
        deliveries.add_publishers(&destinations)?;
        let deliveries = Arc::new(deliveries);
        let feeds = Arc::new(Feeds::new(Arc::clone(&store), clock.clone()));
        let empty_searches = Arc::new(EmptySearchRecorder::new(Arc::clone(&store), clock.clone()));
        let deps = DealerDeps {
            inventories: Inventories::new(&store, &clock, server.memory_budget),
            seal: Conversations::seal(&store)?,
            store: Arc::clone(&store),
            means,
            origin,
            deliveries: Arc::clone(&deliveries),
            empty_searches: Arc::clone(&empty_searches),
        };
        let mut roster = Roster::open(Arc::clone(&fixed), dealers, &deps)?;
        if server.hosting
            && let Some(more) = roster.follow(&deps)?
        {
            roster = more;
        }
        let console_metrics = ConsoleMetrics::default();
        let register = |registry: &mut Registry| console_metrics.register(registry);
        let (registry, counted) =
            registry_counting(&server, &store, clock.clone(), Vec::new(), register);
        let refusals = Arc::new(RefusalRecorder::new(Arc::clone(&store), clock.clone()));
        registry.set_refusal_sink(Arc::clone(&refusals) as _);
        let sellers = Arc::new(RunningDealers(RwLock::default()));
        let wiring = Self {
            registry,
            notices,
            orders,
            deliveries,
            feeds,
            refusals,
            empty_searches,
            sellers,
            publishers,
            store,
            clock,
            deps,
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

    /// Subscribes to changes by other processes, so that they are seen before the next poll.
    fn listen(&self) -> Result<(), InternalError> {
        let deliveries = Arc::downgrade(&self.deliveries);
        let changed = Arc::clone(&self.changed);
        let notices: Vec<_> = self.notices.iter().map(Arc::downgrade).collect();
        let deliver = move || {
            deliveries.upgrade().iter().for_each(|deliveries| deliveries.wake());
            notices.iter().filter_map(Weak::upgrade).for_each(|notices| notices.wake());
        };
        self.store.on_change(move |change| match change {
            ChangeNotice::Appended { .. } => {}
            ChangeNotice::Due => deliver(),
            ChangeNotice::Changed => changed.notify_one(),
            ChangeNotice::Any => {
                deliver();
                changed.notify_one();
            }
        })
    }

    /// Resolves when another process has changed an inventory or the set of dealers. Only one
    /// caller at a time may wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the ids of the current agents.
    #[must_use]
    pub fn agent_ids(&self) -> Vec<String> {
        self.counted.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the dealers whose leads have to be answered in time.
    #[must_use]
    pub fn answer_times(&self) -> Vec<AnswerTime> {
        let sellers = self.sellers.all();
        let times = sellers.iter().filter_map(|seller| {
            let terms = &seller.dealer.terms;
            let within = terms.leads.answer_within?;
            Some(AnswerTime { dealer_id: terms.id.clone(), within })
        });
        times.collect()
    }

    /// Makes requests and deliveries part of traces. Call it once, before any arrive.
    pub fn trace_with(&self, tracer: &Tracer) {
        self.registry.trace_with(tracer.clone());
        self.deliveries.trace_with(tracer.clone());
    }

    /// Returns all routes of the process.
    #[must_use]
    pub fn site(&self) -> Site {
        let mut routes = routes();
        routes.router = routes.router.merge(feeds::routes(Arc::clone(&self.feeds)));
        http::site(Arc::clone(&self.registry), routes)
    }

    /// Replaces the dealers of the configuration file; requests in progress finish on the old ones.
    /// Publishers stay, because their replay protection and tasks are in memory.
    ///
    /// # Errors
    /// Fails when a dealer cannot be set up, or conflicts with one that is hosted; then nothing
    /// changes.
    pub fn replace_dealers(&self, config: Config) -> Result<(), InternalError> {
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        let fixed = Arc::new(Fixed::from_config(&config));
        let fresh = roster.replace_file(Arc::clone(&fixed), config.dealers, &self.deps)?;
        // Stored last: when applying fails, the old roster is still the one in service.
        self.take_over(&fresh)?;
        *self.fixed.write().unwrap_or_else(PoisonError::into_inner) = fixed;
        *roster = fresh;
        Ok(())
    }

    /// Applies changes of dealers in the store, by whatever process. Blocks on the disk.
    ///
    /// # Errors
    /// Fails when the store fails; then nothing changes.
    pub fn follow(&self) -> Result<(), InternalError> {
        if !self.hosting {
            return Ok(());
        }
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fresh) = roster.follow(&self.deps)? {
            self.take_over(&fresh)?;
            *roster = fresh;
            tracing::info!(hosted = roster.hosted(), "hosted dealers have changed");
        }
        Ok(())
    }

    /// Lets every agent apply changes in the store and around it. Blocks on the disk.
    ///
    /// # Errors
    /// Fails when one of them fails; the others have applied their changes.
    pub fn refresh(&self) -> Result<(), InternalError> {
        // A publisher may have sold something, or its staff decided in another process.
        self.deliveries.wake();
        let _round = self.deps.inventories.round()?;
        self.registry.refresh()
    }

    /// Erases old leads of removed dealers, and records the failed sign-ins of past hours. Blocks
    /// on the disk.
    pub fn tidy(&self) {
        self.sum_up_failures();
        let roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner).clone();
        roster.tidy(&self.deps);
    }

    /// Records the failed sign-ins of past hours, at most once a minute.
    fn sum_up_failures(&self) {
        let now = self.clock.now();
        let mut last = self.summed_up_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.duration_since(last) >= SUMMARY_INTERVAL);
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

    /// Returns true when a hosted dealer is stored but could not be opened yet.
    #[must_use]
    pub fn waits(&self, id: &str) -> bool {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner).waits(id)
    }

    /// Returns true when the configuration enables the hosting of dealers.
    #[must_use]
    pub const fn hosts_dealers(&self) -> bool {
        self.hosting
    }

    /// Returns the hosting of dealers over the API, for a person; `None` unless the configuration enables
    /// it.
    #[must_use]
    pub fn hosted_dealers(&self, actor: Actor) -> Option<HostedDealers> {
        if !self.hosting {
            return None;
        }
        let fixed = Arc::clone(&self.fixed.read().unwrap_or_else(PoisonError::into_inner));
        let store = Arc::clone(&self.store);
        let clock = self.clock.clone();
        Some(HostedDealers { store, fixed, clock, actor, is_local: false })
    }

    /// Returns the authentication of administrators.
    #[must_use]
    pub const fn means(&self) -> &AuthDeps {
        &self.deps.means
    }

    /// Puts a roster into service. A suspended dealer gets no feeds; leads that it has accepted are
    /// still delivered.
    fn take_over(&self, roster: &Roster) -> Result<(), InternalError> {
        let sellers = roster.all();
        let dealers: Vec<_> = sellers.iter().map(|seller| Arc::clone(&seller.dealer)).collect();
        let at_work = sellers.iter().filter(|seller| !seller.is_suspended);
        let at_work: Vec<_> = at_work.map(|seller| Arc::clone(&seller.dealer)).collect();
        // A dealer may answer only when its leads can be delivered. Steps that can fail come before
        // those that change something.
        let sources = self.feeds.sources_of(&at_work)?;
        self.deliveries.replace(&dealers)?;
        self.feeds.replace(sources);
        // Dealers before publishers: the first agent that answers on a host gets its requests.
        let agents = sellers.iter().map(|seller| Arc::clone(seller) as SharedAgent);
        let publishers = self.publishers.iter();
        let publishers = publishers.map(|publisher| Arc::clone(publisher) as SharedAgent);
        let agents: Vec<_> = agents.chain(publishers).collect();
        let ids = agents.iter().map(|agent| agent.id().to_owned()).collect();
        *self.counted.write().unwrap_or_else(PoisonError::into_inner) = ids;
        self.registry.replace(agents);
        let hosts = &self.registry.settings.directory_hosts;
        let directory = DirectoryAgent::open(hosts, &sellers, &self.deps);
        self.registry.set_directory_agent(directory.map(|agent| Arc::new(agent) as SharedAgent));
        *self.sellers.0.write().unwrap_or_else(PoisonError::into_inner) = sellers;
        Ok(())
    }
}

/// Returns a registry with these agents on a store, and the ids of those whose rows are counted.
#[must_use]
pub fn registry(
    server: &ServerConfig,
    store: &Arc<Store>,
    clock: Clock,
    agents: Vec<SharedAgent>,
) -> (Arc<AgentRegistry>, Counted) {
    registry_counting(server, store, clock, agents, |_| {})
}

/// Does the same, with the additional metrics of `register`.
fn registry_counting(
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
    let registry = AgentRegistry::new(server.http(), clock, Arc::clone(store) as _, agents);
    (Arc::new(registry.counting(metrics)), counted)
}

/// Returns all routes of a process.
#[must_use]
pub fn site(registry: Arc<AgentRegistry>) -> Site {
    http::site(registry, routes())
}

/// Returns the routes of the protocols beside A2A and MCP.
fn routes() -> Routes {
    /// Paths of all of them, with their names in the log.
    static PATHS: LazyLock<Vec<(&'static str, &'static str)>> =
        LazyLock::new(|| [adcp::http::routes().paths, ucp::routes().paths].concat());
    let router = adcp::http::routes().router.merge(ucp::routes().router);
    Routes { router, paths: &PATHS }
}

/// Returns the authentication of callers: API keys of the store, and token issuers on the web.
#[must_use]
pub fn means(store: &Arc<Store>, clock: &Clock) -> AuthDeps {
    let web = Arc::new(Issuers(HttpTransport::new(LIMITS)));
    let keys: Arc<dyn KeyLookup> = Arc::clone(store) as _;
    // A database server may be unavailable for a while, so its keys are cached; a file is not.
    let keys = match store.is_shared() {
        true => Arc::new(KnownKeys::new(keys, clock.clone())),
        false => keys,
    };
    AuthDeps { keys, web, clock: clock.clone() }
}

/// Limits for fetching an issuer's keys.
const LIMITS: TransportLimits = TransportLimits {
    timeout: Duration::from_secs(5),
    connect: Duration::from_secs(3),
    max_body: 256 * 1024,
};

/// Fetches the keys of token issuers.
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
