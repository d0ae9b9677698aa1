//! Delivers leads from the store to the destinations that a dealer has configured, and messages about a
//! publisher's events to its people.
//!
//! The events of leads are the outbox: they are stored in the transaction of the change that they report.
//! Here each event becomes deliveries. A delivery is begun, sent and recorded, and a failed attempt is
//! retried. Each of the three steps is committed: when a process ends between two of them, the next
//! process sends the delivery, and marks it as sent again where it may have arrived. Bodies are built
//! from the lead when they are sent and are not stored.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use channel::{AttemptFailed, AttemptVerdict, DeliveryCarrier, OutgoingMessage};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tradepost_dealer::delivery::{
    self, DeliveryAudience, DeliveryContent, DeliveryRecord, DeliverySource,
};
use tradepost_dealer::settings;
use tradepost_publisher::staff_event::StaffEventKind;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::outbox::backoff::{RetryDecision, RetrySchedule};
use tradepost_server::outbox::pump::{self, ActiveDelivery, DeliveryQueue};
use tradepost_server::outbox::{ClockAndRandom, OutboxLimits};
use tradepost_server::traces::{self, SpanKind, Tracer};
use tradepost_store::{BlockedPushes, HostedState, Store};

use crate::config::DealerConfig;
use crate::config::delivery::{DeliveryConfig, PublisherDestination, PublisherDestinations};

pub mod channel;
pub(crate) mod http;
mod log;
mod plan;
mod smtp;
pub mod staff;

/// Maximum pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Maximum pause after any failure.
const MAX_PAUSE: Duration = Duration::from_hours(1);

/// Time beyond its timeout after which an attempt counts as lost. Recording the result takes time, too.
const LOST_ATTEMPT_GRACE: SignedDuration = SignedDuration::from_mins(1);

/// Number of steps of an attempt, each of which may take the destination's timeout.
const ATTEMPT_STEPS: u32 = 3;

/// Limits on concurrent deliveries: in all, to one destination, and of one dealer.
const LIMITS: OutboxLimits = OutboxLimits { all: 32, per_host: 2, per_owner: 16 };

/// Time until a delivery is retried whose dealer is in the store but not open in this process.
const CLOSED_DEALER_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// Error of a delivery whose destination is no longer configured.
const DESTINATION_REMOVED: &str = "no such destination is configured any more";

/// Delivers the leads of a process's dealers, and the messages to its publishers' people.
pub struct Deliveries {
    store: Arc<Store>,
    clock: Clock,
    edge: ClockAndRandom,
    /// Maximum pause after the first failure.
    pub first_pause: Duration,
    outlets: RwLock<Arc<[Arc<Outlet>]>>,
    publishers: OnceLock<Arc<[Arc<Outlet>]>>,
    notify: Notify,
    stopping: AtomicBool,
    tracer: OnceLock<Tracer>,
}

/// A dealer or a publisher, with its destinations.
#[derive(Debug)]
struct Outlet {
    source: Source,
    destinations: Vec<DeliveryChannel>,
}

/// Owner of the destinations.
#[derive(Debug)]
enum Source {
    Dealer(Arc<DealerConfig>),
    /// The publisher with this id.
    Publisher(String),
}

impl Outlet {
    fn id(&self) -> &str {
        match &self.source {
            Source::Dealer(dealer) => &dealer.terms.id,
            Source::Publisher(id) => id,
        }
    }

    fn dealer(&self) -> Option<&settings::DealerSettings> {
        match &self.source {
            Source::Dealer(dealer) => Some(&dealer.terms),
            Source::Publisher(_) => None,
        }
    }
}

/// A destination and its carrier.
#[derive(Debug)]
struct DeliveryChannel {
    delivery: DeliveryConfig,
    /// Events of a publisher that the destination wants; empty for all.
    events: Vec<StaffEventKind>,
    carrier: Arc<dyn DeliveryCarrier>,
}

opaque!(Deliveries);

impl Deliveries {
    /// Creates deliveries without any dealer.
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Clock, edge: ClockAndRandom) -> Self {
        Self {
            store,
            clock,
            edge,
            first_pause: FIRST_PAUSE,
            outlets: RwLock::default(),
            publishers: OnceLock::new(),
            notify: Notify::new(),
            stopping: AtomicBool::new(false),
            tracer: OnceLock::new(),
        }
    }

    /// Replaces the destinations, for new and for waiting deliveries. Dealers whose configuration is the
    /// same object keep their carriers.
    ///
    /// # Errors
    /// When a carrier cannot be created, because a secret or a certificate is missing, or the store
    /// fails; then nothing changes.
    pub fn replace(&self, dealers: &[Arc<DealerConfig>]) -> Result<(), InternalError> {
        let before = self.outlets();
        let outlets = outlets(dealers, &before, &self.clock)?;
        let known: HashSet<_> = before.iter().map(Arc::as_ptr).collect();
        place(&self.store, outlets.iter().filter(|outlet| !known.contains(&Arc::as_ptr(outlet))))?;
        *self.outlets.write().unwrap_or_else(PoisonError::into_inner) = outlets;
        self.wake();
        Ok(())
    }

    /// Adds the destinations of publishers. Call it once, before anything is sold. The events of a
    /// publisher without destinations appear only in the log.
    ///
    /// # Errors
    /// When a carrier cannot be created, because a secret or a certificate is missing, or the store fails.
    pub fn add_publishers(
        &self,
        publishers: &[PublisherDestinations],
    ) -> Result<(), InternalError> {
        let outlet = |of: &PublisherDestinations| {
            let why = |why| InternalError::new("setting up a destination of a publisher", why);
            let destinations = open_publisher_channels(of, &self.clock).map_err(why)?;
            let source = Source::Publisher(of.publisher_id.clone());
            Ok(Arc::new(Outlet { source, destinations }))
        };
        let outlets = publishers.iter().map(outlet).collect::<Result<Arc<[_]>, InternalError>>()?;
        let ids: Vec<_> = outlets.iter().map(|outlet| outlet.id().to_owned()).collect();
        self.store
            .write_blocking(move |tx| ids.iter().try_for_each(|id| tx.place_staff_events(id)))?;
        // Later calls are ignored.
        let _ = self.publishers.set(outlets);
        Ok(())
    }

    /// Gives each attempt a trace of its own: the request that submitted the lead was answered long before.
    pub fn trace_with(&self, tracer: Tracer) {
        // Later calls are ignored.
        let _ = self.tracer.set(tracer);
    }

    /// Looks for due deliveries at once; another process may have added some.
    pub fn wake(&self) {
        self.notify.notify_one();
    }

    /// Delivers until `stop` resolves, and then waits at most `grace` for the attempts in progress. The
    /// next process delivers what remains.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>, grace: Duration) {
        let now = self.clock.now();
        // With a data folder, the process that was sending has ended, because one process at a time
        // serves it. With a shared database another process may be sending, so that this does nothing:
        // attempts without a result become due by themselves.
        if let Err(fault) = self.store.write(move |tx| tx.resume_deliveries(now)).await {
            tracing::error!(cause = %fault.chain(), "deliveries could not be resumed");
        }
        pump::run(self, stop, grace).await;
    }

    fn outlets(&self) -> Arc<[Arc<Outlet>]> {
        Arc::clone(&self.outlets.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publishers(&self) -> Arc<[Arc<Outlet>]> {
        self.publishers.get().map(Arc::clone).unwrap_or_default()
    }

    /// Reads the store on a thread that may block.
    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Store) -> Result<T, InternalError> + Send + 'static,
    ) -> Result<T, InternalError> {
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || job(&store));
        read.await.map_err(InternalError::on("reading a lead"))?
    }

    /// Makes one attempt at one delivery, and records the result.
    async fn attempt(self: &Arc<Self>, due: DeliveryRecord) -> Result<(), InternalError> {
        let outlets = match due.source {
            DeliverySource::Lead => self.outlets(),
            DeliverySource::Publisher => self.publishers(),
        };
        let Some((outlet, channel)) = find(&outlets, &due.dealer_id, &due.destination) else {
            let is_open = outlets.iter().any(|outlet| outlet.id() == due.dealer_id);
            // The dealer may be open in another process, or open here later, so the lead is not given up.
            if !is_open && self.is_hosted(&due.dealer_id).await? {
                return self.postpone(&due).await;
            }
            return self.give_up(&due, DESTINATION_REMOVED).await;
        };
        let key = due.key;
        // The carrier limits each step itself; this limit is for one that does not.
        let most = channel.delivery.timeout.saturating_mul(ATTEMPT_STEPS);
        let max_duration = SignedDuration::try_from(most).unwrap_or(LOST_ATTEMPT_GRACE);
        let now = self.clock.now();
        let lost_at = later(now, max_duration + LOST_ATTEMPT_GRACE);
        let begun = self.store.write(move |tx| tx.begin_delivery(key, now, lost_at)).await?;
        // Another process has begun the delivery, or it has ended.
        let Some(record) = begun else { return Ok(()) };
        let Some(outgoing) = self.outgoing(&record, outlet, channel).await? else {
            let now = self.clock.now();
            return self.store.write(move |tx| tx.end_delivery(key, now)).await;
        };
        let tracer = self.tracer.get();
        let begun = tracer.and_then(|tracer| tracer.begin(None));
        let sent = match outgoing {
            Ok(outgoing) => {
                let carried = traces::within(begun.as_ref(), channel.carrier.carry(outgoing));
                let sent = tokio::time::timeout(most, carried).await;
                // The message may have arrived.
                sent.unwrap_or_else(|_| Err(AttemptVerdict::InDoubt.failure("no answer in time")))
            }
            Err(failed) => Err(failed),
        };
        let sampled = begun.as_ref().filter(|begun| begun.trace.is_sampled);
        if let Some(tracer) = tracer
            && let Some(begun) = sampled
        {
            let answer = sent.as_ref().unwrap_or_else(|failed| &failed.answer);
            let attributes = vec![
                ("tradepost.agent", record.dealer_id.clone()),
                ("tradepost.destination", record.destination.clone()),
                ("tradepost.delivery", record.id()),
                ("tradepost.attempt", record.attempts.to_string()),
                ("tradepost.answer", answer.clone()),
            ];
            let name = match record.source {
                DeliverySource::Lead => "deliver lead",
                DeliverySource::Publisher => "tell people",
            };
            tracer.end(begun, SpanKind::Client, name, attributes, sent.is_err());
        }
        match sent {
            Ok(answer) => {
                let handles_lead = channel.delivery.destination.handles_leads;
                self.taken(&record, answer, handles_lead).await
            }
            Err(failed) => self.failed(&record, &channel.delivery, failed).await,
        }
    }

    /// Builds the message, or an error when it cannot be built. Returns `None` when the event has no
    /// recipient any more.
    async fn outgoing(
        self: &Arc<Self>,
        record: &DeliveryRecord,
        outlet: &Outlet,
        channel: &DeliveryChannel,
    ) -> Result<Option<Result<OutgoingMessage, AttemptFailed>>, InternalError> {
        let Some(dealer) = outlet.dealer() else {
            let publisher = record.dealer_id.clone();
            let event = record.event;
            let kept = self.read(move |store| store.staff_event(&publisher, event)).await?;
            let form = &channel.delivery.destination.form;
            return Ok(kept.map(|kept| Ok(staff::outgoing(record, &kept, form))));
        };
        let lead_id = record.lead_id.clone();
        let Some(history) = self.read(move |store| store.lead_history(&lead_id)).await? else {
            return Ok(None);
        };
        let Some((event, lead)) = delivery::as_of(&history, record.event) else {
            return Ok(None);
        };
        match delivery::audience(&history.lead, event) {
            DeliveryAudience::All | DeliveryAudience::Informed => {}
            DeliveryAudience::Nobody => return Ok(None),
        }
        // The key that decrypts it may be configured again later.
        if let Some(why) = &lead.submission.unreadable {
            return Ok(Some(Err(AttemptVerdict::Later.failure(why.clone()))));
        }
        let id = record.id();
        let content = DeliveryContent {
            lead: &lead,
            event,
            same_person: &history.same_person,
            id: &id,
            attempt: record.attempts,
            is_resent: record.may_have_arrived,
            is_test: false,
            now: self.clock.now(),
        };
        Ok(Some(Ok(OutgoingMessage::new(&content, &channel.delivery.destination.form, dealer))))
    }

    /// Records that a destination has accepted a delivery; one that handles leads has the lead then.
    async fn taken(
        &self,
        record: &DeliveryRecord,
        answer: String,
        handles_lead: bool,
    ) -> Result<(), InternalError> {
        let key = record.key;
        let now = self.clock.now();
        let handles_lead = handles_lead && record.source == DeliverySource::Lead;
        self.store.write(move |tx| tx.delivered_to(key, &answer, now, handles_lead)).await?;
        log::log_success(record);
        Ok(())
    }

    async fn failed(
        &self,
        record: &DeliveryRecord,
        delivery: &DeliveryConfig,
        failed: AttemptFailed,
    ) -> Result<(), InternalError> {
        let key = record.key;
        let now = self.clock.now();
        let next = self.next(record, delivery, &failed, now);
        let answer = failed.answer.clone();
        let is_doubtful = failed.verdict == AttemptVerdict::InDoubt;
        self.store.write(move |tx| tx.delivery_failed(key, &answer, is_doubtful, next)).await?;
        log::log_failure(record, &failed.answer, next.is_err());
        Ok(())
    }

    /// Returns the time of the next attempt, or the present as an error when the delivery is given up.
    fn next(
        &self,
        record: &DeliveryRecord,
        delivery: &DeliveryConfig,
        failed: &AttemptFailed,
        now: Timestamp,
    ) -> Result<Timestamp, Timestamp> {
        if failed.verdict == AttemptVerdict::Refused {
            return Err(now);
        }
        let schedule = RetrySchedule {
            attempts: delivery.attempts,
            first: self.first_pause,
            longest: MAX_PAUSE,
        };
        let advice = schedule.advise(record.attempts, failed.retry_after, (self.edge.random)());
        match advice {
            RetryDecision::GiveUp => Err(now),
            RetryDecision::Again(pause) => {
                // At least a millisecond ahead, so that the queue waits for it.
                let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
                let again = later(now, pause.max(SignedDuration::from_millis(1)));
                let is_late = again > later(record.created_at, delivery.give_up_after);
                if is_late { Err(now) } else { Ok(again) }
            }
        }
    }

    /// Returns true when the store has this dealer and it was not removed, also when it is not open in
    /// this process.
    async fn is_hosted(self: &Arc<Self>, dealer_id: &str) -> Result<bool, InternalError> {
        let id = dealer_id.to_owned();
        let known = self.read(move |store| store.hosted(&id)).await?;
        Ok(known.is_some_and(|known| known.state != HostedState::Removed))
    }

    /// Postpones a delivery without an attempt.
    async fn postpone(&self, due: &DeliveryRecord) -> Result<(), InternalError> {
        let key = due.key;
        let now = self.clock.now();
        let again = later(now, CLOSED_DEALER_PAUSE);
        self.store.write(move |tx| tx.postpone_delivery(key, now, again)).await
    }

    /// Gives up a delivery without an attempt.
    async fn give_up(&self, due: &DeliveryRecord, why: &'static str) -> Result<(), InternalError> {
        let key = due.key;
        let now = self.clock.now();
        self.store
            // Begun like an attempt, which only one process can do, so that it is given up once.
            .write(move |tx| match tx.begin_delivery(key, now, now)? {
                Some(_) => tx.delivery_failed(key, why, false, Err(now)),
                None => Ok(()),
            })
            .await?;
        log::log_failure(due, why, true);
        Ok(())
    }
}

/// Opens the destinations of dealers, and reuses those whose configuration is unchanged.
fn outlets(
    dealers: &[Arc<DealerConfig>],
    before: &[Arc<Outlet>],
    clock: &Clock,
) -> Result<Arc<[Arc<Outlet>]>, InternalError> {
    let before: HashMap<_, _> =
        // By pointer: `before` keeps the old ones alive, so no pointer can belong to another dealer.
        before.iter().filter_map(|outlet| match &outlet.source {
            Source::Dealer(dealer) => Some((Arc::as_ptr(dealer), outlet)),
            Source::Publisher(_) => None,
        }).collect();
    let outlet = |dealer: &Arc<DealerConfig>| match before.get(&Arc::as_ptr(dealer)) {
        Some(same) => Ok(Arc::clone(same)),
        None => Ok(Arc::new(Outlet {
            destinations: open_channels(dealer, clock)
                .map_err(|why| InternalError::new("setting up a destination of leads", why))?,
            source: Source::Dealer(Arc::clone(dealer)),
        })),
    };
    dealers.iter().map(outlet).collect()
}

/// Returns errors of a dealer's destinations that cannot be opened, with their indices.
#[must_use]
pub fn unusable(dealer: &DealerConfig) -> Vec<(usize, String)> {
    let clock = Clock::system();
    let why_not = |(place, delivery)| Some((place, channel::open(delivery, &clock).err()?));
    dealer.deliveries.iter().enumerate().filter_map(why_not).collect()
}

/// Creates the carriers of a dealer's destinations.
fn open_channels(dealer: &DealerConfig, clock: &Clock) -> Result<Vec<DeliveryChannel>, String> {
    let open = |delivery: &DeliveryConfig| {
        let carrier = channel::open(delivery, clock)?;
        Ok(DeliveryChannel { delivery: delivery.clone(), events: Vec::new(), carrier })
    };
    dealer.deliveries.iter().map(open).collect()
}

/// Creates the carriers of the destinations of a publisher's events.
fn open_publisher_channels(
    of: &PublisherDestinations,
    clock: &Clock,
) -> Result<Vec<DeliveryChannel>, String> {
    let open = |wanted: &PublisherDestination| {
        let PublisherDestination { delivery, events } = wanted;
        let carrier = channel::open(delivery, clock)?;
        Ok(DeliveryChannel { delivery: delivery.clone(), events: events.clone(), carrier })
    };
    of.destinations.iter().map(open).collect()
}

/// Records from which event on dealers' leads are delivered. Call it before more leads can arrive.
fn place<'o>(
    store: &Store,
    outlets: impl Iterator<Item = &'o Arc<Outlet>>,
) -> Result<(), InternalError> {
    let of = |outlet: &Arc<Outlet>| (outlet.id().to_owned(), !outlet.destinations.is_empty());
    let dealers: Vec<_> = outlets.map(of).collect();
    if dealers.is_empty() {
        return Ok(());
    }
    store.write_blocking(move |tx| {
        dealers.iter().try_for_each(|(dealer, has_some)| tx.place_deliveries(dealer, *has_some))
    })
}

fn find<'a>(
    outlets: &'a [Arc<Outlet>],
    dealer_id: &str,
    destination: &str,
) -> Option<(&'a Outlet, &'a DeliveryChannel)> {
    let outlet = outlets.iter().find(|outlet| outlet.id() == dealer_id)?;
    let named = |channel: &&DeliveryChannel| channel.delivery.destination.name == destination;
    Some((outlet, outlet.destinations.iter().find(named)?))
}

fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

impl DeliveryQueue for Deliveries {
    type Turn = DeliveryRecord;

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn edge(&self) -> &ClockAndRandom {
        &self.edge
    }

    fn limits(&self) -> OutboxLimits {
        LIMITS
    }

    fn due(
        &self,
        now: Timestamp,
        busy: &BlockedPushes,
        room: usize,
    ) -> Result<Vec<DeliveryRecord>, InternalError> {
        if self.stopping.load(Ordering::SeqCst) {
            return Ok(Vec::new());
        }
        // Planned here and not when a lead is stored, so that leads of other processes are delivered as
        // well.
        let unplanned = self.store.dealers_with_unplanned()?;
        for outlet in self.outlets().iter().filter(|outlet| unplanned.contains(outlet.id())) {
            plan::plan(&self.store, outlet, now)?;
        }
        let untold = self.store.publishers_with_unplanned()?;
        for outlet in self.publishers().iter().filter(|outlet| untold.contains(outlet.id())) {
            staff::plan(&self.store, outlet, now)?;
        }
        self.store.deliveries_due(now, busy, room)
    }

    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, InternalError> {
        self.store.deliveries_next_due(now)
    }

    fn who(due: &DeliveryRecord) -> ActiveDelivery {
        let host = format!("{}/{}", due.dealer_id, due.destination);
        ActiveDelivery { key: due.key, host, owner: due.dealer_id.clone() }
    }

    async fn work(self: Arc<Self>, due: DeliveryRecord) -> Result<(), InternalError> {
        self.attempt(due).await
    }

    async fn woken(&self) {
        self.notify.notified().await;
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}
