//! Leads on their way out: from the store to the destinations that a dealer has named; and what a
//! publisher's people are told, in the same way.
//!
//! The events of leads are the outbox; they are in the store with what they tell, by one transaction.
//! Here they are turned into deliveries, each is begun, sent and noted, and what was not taken is
//! tried again. The three steps are on disk one by one: a process that ends between any two of
//! them leaves a delivery that is sent by the next one, and marked, where it may have arrived.
//! Bodies are built from the lead when they are sent and kept nowhere.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use carrier::{AttemptFailed, AttemptVerdict, DeliveryCarrier, Letter};
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

pub mod carrier;
pub(crate) mod http;
mod plan;
mod smtp;
pub mod staff;

/// The longest pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// The longest pause at all.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// How long beyond its time an attempt is waited for before it counts as lost: noting it takes a
/// while, too.
const GRACE: SignedDuration = SignedDuration::from_mins(1);

/// How many steps an attempt has that may take its time each.
const STEPS: u32 = 3;

/// How many deliveries run at once: in all, to one destination, and of one dealer.
const LIMITS: OutboxLimits = OutboxLimits { all: 32, per_host: 2, per_owner: 16 };

/// When to look again for a dealer that the store has and that is not open here.
const UNTIL_OPEN: SignedDuration = SignedDuration::from_secs(10);

/// What is said of a destination that is not there any more.
const NOWHERE: &str = "no such destination is configured any more";

/// Delivers the leads of a process's dealers, and what its publishers' people are told.
pub struct Deliveries {
    store: Arc<Store>,
    clock: Clock,
    edge: ClockAndRandom,
    /// The longest pause after the first failure.
    pub first_pause: Duration,
    outlets: RwLock<Arc<[Arc<Outlet>]>>,
    publishers: OnceLock<Arc<[Arc<Outlet>]>>,
    stir: Notify,
    stopping: AtomicBool,
    tracer: OnceLock<Tracer>,
}

/// A dealer, and where its leads go; or a publisher, and who is told of its events.
#[derive(Debug)]
struct Outlet {
    source: Source,
    destinations: Vec<DeliveryChannel>,
}

/// Whose destinations they are.
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

/// A destination and the way to it.
#[derive(Debug)]
struct DeliveryChannel {
    delivery: DeliveryConfig,
    /// Of a publisher's events, what it is told of; everything when empty.
    events: Vec<StaffEventKind>,
    carrier: Arc<dyn DeliveryCarrier>,
}

opaque!(Deliveries);

impl Deliveries {
    /// Delivers the leads of no dealer yet.
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Clock, edge: ClockAndRandom) -> Self {
        Self {
            store,
            clock,
            edge,
            first_pause: FIRST_PAUSE,
            outlets: RwLock::default(),
            publishers: OnceLock::new(),
            stir: Notify::new(),
            stopping: AtomicBool::new(false),
            tracer: OnceLock::new(),
        }
    }

    /// Delivers to other destinations from now on: what comes and what was left. Dealers that are the
    /// same keep their ways.
    ///
    /// # Errors
    /// When a way cannot be set up, for want of a secret or of a certificate, or the store fails; then
    /// everything stays.
    pub fn replace(&self, dealers: &[Arc<DealerConfig>]) -> Result<(), InternalError> {
        let before = self.outlets();
        let outlets = outlets(dealers, &before, &self.clock)?;
        let known: HashSet<_> = before.iter().map(Arc::as_ptr).collect();
        place(&self.store, outlets.iter().filter(|outlet| !known.contains(&Arc::as_ptr(outlet))))?;
        *self.outlets.write().unwrap_or_else(PoisonError::into_inner) = outlets;
        self.wake();
        Ok(())
    }

    /// Tells the people of these publishers of events, too, from now on. To be done once, before anything
    /// is sold. Of a publisher without destinations only the log says them.
    ///
    /// # Errors
    /// When a way cannot be set up, for want of a secret or of a certificate, or the store fails.
    pub fn add_publishers(
        &self,
        publishers: &[PublisherDestinations],
    ) -> Result<(), InternalError> {
        let outlet = |of: &PublisherDestinations| {
            let why = |why| InternalError::new("setting up a destination of a publisher", why);
            let destinations = publisher_ways(of, &self.clock).map_err(why)?;
            let source = Source::Publisher(of.publisher_id.clone());
            Ok(Arc::new(Outlet { source, destinations }))
        };
        let outlets = publishers.iter().map(outlet).collect::<Result<Arc<[_]>, InternalError>>()?;
        let ids: Vec<_> = outlets.iter().map(|outlet| outlet.id().to_owned()).collect();
        self.store
            .write_blocking(move |tx| ids.iter().try_for_each(|id| tx.place_staff_events(id)))?;
        // Whoever comes second is not heard.
        let _ = self.publishers.set(outlets);
        Ok(())
    }

    /// Has attempts be traces of their own: a lead is answered long before.
    pub fn trace_with(&self, tracer: Tracer) {
        // Whoever comes second is not heard.
        let _ = self.tracer.set(tracer);
    }

    /// Looks again: there may be something new, also from another process.
    pub fn wake(&self) {
        self.stir.notify_one();
    }

    /// Delivers until `stop` resolves, and then lets the attempts that are under way end, at most
    /// `grace` long. What is left is delivered by the next process.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>, grace: Duration) {
        let now = self.clock.now();
        // Whoever was sending is gone: one process at a time serves a data folder. Of several on one
        // database another may be sending, and the store leaves alone what is not lost yet.
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

    /// Reads the store where nobody else has to wait for it.
    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Store) -> Result<T, InternalError> + Send + 'static,
    ) -> Result<T, InternalError> {
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || job(&store));
        read.await.map_err(InternalError::on("reading a lead"))?
    }

    /// One attempt at one delivery, from beginning to note.
    async fn attempt(self: &Arc<Self>, due: DeliveryRecord) -> Result<(), InternalError> {
        let outlets = match due.source {
            DeliverySource::Lead => self.outlets(),
            DeliverySource::Publisher => self.publishers(),
        };
        let Some((outlet, way)) = find(&outlets, &due.dealer_id, &due.destination) else {
            let is_open = outlets.iter().any(|outlet| outlet.id() == due.dealer_id);
            // A dealer who is not open here yet, or not at the moment, is
            // no reason to give a lead up.
            if !is_open && self.is_hosted(&due.dealer_id).await? {
                return self.postpone(&due).await;
            }
            return self.bury(&due, NOWHERE).await;
        };
        let key = due.key;
        // The way keeps to its time step by step; this is for one that does not.
        let most = way.delivery.timeout.saturating_mul(STEPS);
        let patience = SignedDuration::try_from(most).unwrap_or(GRACE);
        let now = self.clock.now();
        let lost_at = later(now, patience + GRACE);
        let begun = self.store.write(move |tx| tx.begin_delivery(key, now, lost_at)).await?;
        // Another process has begun it, or it is settled by now.
        let Some(record) = begun else { return Ok(()) };
        let Some(letter) = self.letter(&record, outlet, way).await? else {
            let now = self.clock.now();
            return self.store.write(move |tx| tx.end_delivery(key, now)).await;
        };
        let tracer = self.tracer.get();
        let begun = tracer.and_then(|tracer| tracer.begin(None));
        let sent = match letter {
            Ok(letter) => {
                let carried = traces::within(begun.as_ref(), way.carrier.carry(letter));
                let sent = tokio::time::timeout(most, carried).await;
                // Nobody knows how far it came.
                sent.unwrap_or_else(|_| Err(AttemptVerdict::Doubtful.of("no answer in time")))
            }
            Err(failed) => Err(failed),
        };
        let sampled = begun.as_ref().filter(|begun| begun.trace.is_sampled);
        if let (Some(tracer), Some(begun)) = (tracer, sampled) {
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
            Ok(answer) => self.taken(&record, answer).await,
            Err(failed) => self.failed(&record, &way.delivery, failed).await,
        }
    }

    /// What is sent, or why it cannot be; `None` when nobody is to be told of it any more.
    async fn letter(
        self: &Arc<Self>,
        record: &DeliveryRecord,
        outlet: &Outlet,
        way: &DeliveryChannel,
    ) -> Result<Option<Result<Letter, AttemptFailed>>, InternalError> {
        let Some(dealer) = outlet.dealer() else {
            let (publisher, event) = (record.dealer_id.clone(), record.event);
            let kept = self.read(move |store| store.staff_event(&publisher, event)).await?;
            let form = &way.delivery.destination.form;
            return Ok(kept.map(|kept| Ok(staff::letter(record, &kept, form))));
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
        // Its key may be found again.
        if let Some(why) = &lead.submission.unreadable {
            return Ok(Some(Err(AttemptVerdict::Later.of(why.clone()))));
        }
        let id = record.id();
        let parcel = DeliveryContent {
            lead: &lead,
            event,
            same_person: &history.same_person,
            id: &id,
            attempt: record.attempts,
            is_resent: record.may_have,
            is_test: false,
            now: self.clock.now(),
        };
        Ok(Some(Ok(Letter::of(&parcel, &way.delivery.destination.form, dealer))))
    }

    async fn taken(&self, record: &DeliveryRecord, answer: String) -> Result<(), InternalError> {
        let (key, now) = (record.key, self.clock.now());
        let (lead, destination, attempts) = (&record.lead_id, &record.destination, record.attempts);
        self.store.write(move |tx| tx.delivered(key, &answer, now)).await?;
        match record.source {
            DeliverySource::Lead => {
                tracing::debug!(%lead, %destination, attempts, "a lead was delivered");
            }
            DeliverySource::Publisher => {
                let publisher = &record.dealer_id;
                tracing::debug!(%publisher, delivery = key, %destination, attempts, "told people");
            }
        }
        Ok(())
    }

    async fn failed(
        &self,
        record: &DeliveryRecord,
        delivery: &DeliveryConfig,
        failed: AttemptFailed,
    ) -> Result<(), InternalError> {
        let (key, now) = (record.key, self.clock.now());
        let next = self.next(record, delivery, &failed, now);
        let (answer, is_doubtful) =
            (failed.answer.clone(), failed.verdict == AttemptVerdict::Doubtful);
        self.store.write(move |tx| tx.delivery_failed(key, &answer, is_doubtful, next)).await?;
        tell(record, &failed.answer, next.is_err());
        Ok(())
    }

    /// When to try again, or that it is given up.
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
            longest: LONGEST_PAUSE,
        };
        let advice = schedule.advise(record.attempts, failed.retry_after, (self.edge.random)());
        match advice {
            RetryDecision::GiveUp => Err(now),
            RetryDecision::Again(pause) => {
                // A moment that is still to come, so that it is waited for.
                let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
                let again = later(now, pause.max(SignedDuration::from_millis(1)));
                let is_late = again > later(record.created_at, delivery.give_up_after);
                if is_late { Err(now) } else { Ok(again) }
            }
        }
    }

    /// Whether the store has a dealer that was not removed, although it may not be open here, or not yet.
    async fn is_hosted(self: &Arc<Self>, dealer_id: &str) -> Result<bool, InternalError> {
        let id = dealer_id.to_owned();
        let known = self.read(move |store| store.hosted(&id)).await?;
        Ok(known.is_some_and(|known| known.state != HostedState::Removed))
    }

    /// Leaves a delivery for later, without having tried.
    async fn postpone(&self, due: &DeliveryRecord) -> Result<(), InternalError> {
        let (key, now) = (due.key, self.clock.now());
        let again = later(now, UNTIL_OPEN);
        self.store.write(move |tx| tx.postpone_delivery(key, now, again)).await
    }

    /// Gives up what leads nowhere.
    async fn bury(&self, due: &DeliveryRecord, why: &'static str) -> Result<(), InternalError> {
        let (key, now) = (due.key, self.clock.now());
        self.store
            // Begun like an attempt, which only one process can, so that it is given up once.
            .write(move |tx| match tx.begin_delivery(key, now, now)? {
                Some(_) => tx.delivery_failed(key, why, false, Err(now)),
                None => Ok(()),
            })
            .await?;
        tell(due, why, true);
        Ok(())
    }
}

/// Says what became of an attempt, without anything of the customer.
fn tell(record: &DeliveryRecord, answer: &str, is_dead: bool) {
    let (lead, destination, attempts) = (&record.lead_id, &record.destination, record.attempts);
    let dealer = &record.dealer_id;
    if record.source == DeliverySource::Publisher {
        return log_staff_failure(record, answer, is_dead);
    }
    if is_dead {
        tracing::warn!(
            %dealer, %lead, %destination, attempts, answer,
            "a lead was not delivered and is given up; tradepost leads resend sends it again"
        );
    } else {
        tracing::info!(%dealer, %lead, %destination, attempts, answer, "a lead was not taken");
    }
}

/// The same of a message to a publisher's people, without what buyers have named.
fn log_staff_failure(record: &DeliveryRecord, answer: &str, is_dead: bool) {
    let (delivery, destination, attempts) = (record.key, &record.destination, record.attempts);
    let publisher = &record.dealer_id;
    if is_dead {
        tracing::warn!(
            %publisher, delivery, %destination, attempts, answer,
            "a message to people was given up; tradepost publisher resend sends it again"
        );
    } else {
        tracing::info!(
            %publisher, delivery, %destination, attempts, answer,
            "a message to people was not taken"
        );
    }
}

/// Where the leads of dealers go; what is the same as before is kept.
fn outlets(
    dealers: &[Arc<DealerConfig>],
    before: &[Arc<Outlet>],
    clock: &Clock,
) -> Result<Arc<[Arc<Outlet>]>, InternalError> {
    let before: HashMap<_, _> =
        // By identity: the old ones are alive here, so that no address
        // stands for another dealer by now.
        before.iter().filter_map(|outlet| match &outlet.source {
            Source::Dealer(dealer) => Some((Arc::as_ptr(dealer), outlet)),
            Source::Publisher(_) => None,
        }).collect();
    let outlet = |dealer: &Arc<DealerConfig>| match before.get(&Arc::as_ptr(dealer)) {
        Some(same) => Ok(Arc::clone(same)),
        None => Ok(Arc::new(Outlet {
            destinations: ways(dealer, clock)
                .map_err(|why| InternalError::new("setting up a destination of leads", why))?,
            source: Source::Dealer(Arc::clone(dealer)),
        })),
    };
    dealers.iter().map(outlet).collect()
}

/// Why destinations of a dealer cannot be reached, by their places.
#[must_use]
pub fn unusable(dealer: &DealerConfig) -> Vec<(usize, String)> {
    let clock = Clock::system();
    let why_not = |(place, delivery)| Some((place, carrier::open(delivery, &clock).err()?));
    dealer.deliveries.iter().enumerate().filter_map(why_not).collect()
}

/// The ways to a dealer's destinations.
fn ways(dealer: &DealerConfig, clock: &Clock) -> Result<Vec<DeliveryChannel>, String> {
    let way = |delivery: &DeliveryConfig| {
        let carrier = carrier::open(delivery, clock)?;
        Ok(DeliveryChannel { delivery: delivery.clone(), events: Vec::new(), carrier })
    };
    dealer.deliveries.iter().map(way).collect()
}

/// The ways to those who are told of a publisher's events.
fn publisher_ways(
    of: &PublisherDestinations,
    clock: &Clock,
) -> Result<Vec<DeliveryChannel>, String> {
    let way = |wanted: &PublisherDestination| {
        let PublisherDestination { delivery, events } = wanted;
        let carrier = carrier::open(delivery, clock)?;
        Ok(DeliveryChannel { delivery: delivery.clone(), events: events.clone(), carrier })
    };
    of.destinations.iter().map(way).collect()
}

/// From where on dealers' leads are told. To be done before any more of them can come.
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
    let named = |way: &&DeliveryChannel| way.delivery.destination.name == destination;
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
        // Here and not when a lead is taken, so that leads of other
        // processes become deliveries as well.
        let unplanned = self.store.dealers_with_unplanned()?;
        for outlet in self.outlets().iter().filter(|it| unplanned.contains(it.id())) {
            plan::plan(&self.store, outlet, now)?;
        }
        let untold = self.store.publishers_with_unplanned()?;
        for outlet in self.publishers().iter().filter(|it| untold.contains(it.id())) {
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

    async fn stirred(&self) {
        self.stir.notified().await;
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}
