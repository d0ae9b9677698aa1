//! Carries the media buys of a publisher into its ad server, from a queue in its store: what a buy wants is
//! compared with what the ad server has, the next step is stored as begun, done, and its result stored. A
//! process that is killed in between finds the step begun, and looks up what it has made before it repeats
//! it. Only one process works at a time; another one that takes over waits until the step of the first has
//! ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tradepost_ad_server::{AdServer, AdServerError};
use tradepost_document::backoff::Backoff;
use tradepost_publisher::remote_order::progress::{REPORT_EVERY, StepError, TOLD_FAILURES};
use tradepost_publisher::remote_order::steps::next_steps;
use tradepost_publisher::remote_order::wanted::{OrderTerms, WantedOrder, read_wanted};
use tradepost_publisher::remote_order::{
    BegunStep, ProblemKind, RemoteOrder, RemotePhase, RemoteStep,
};
use tradepost_publisher::staff_event::StaffEventRecorder;
use tradepost_publisher::store::{Changes, PublisherStore, Query, StoreRead, StoreTx, Stored};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::outbox::pump::{self, ActiveDelivery, DeliveryQueue};
use tradepost_server::outbox::{ClockAndRandom, OutboxLimits};
use tradepost_store::{BlockedPushes, Store};

pub mod calls;
mod reports;

/// Maximum number of steps of one buy before others get their turn.
const STEPS_IN_A_ROW: usize = 100;

/// Page size when due orders are searched for some that may be worked on.
const PAGE_SIZE: usize = 128;

/// Time after which the queue is looked at again, whatever it says: reports become due without a change.
const POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(30);

/// Pauses after failures.
const FAILURE_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(2), longest: Duration::from_mins(10) };

/// Step that is reported while the ad server does not answer.
const NO_ANSWER: &str = "the ad server has not answered for a while; it is tried again";

/// Carrier of one publisher's media buys.
#[derive(Debug)]
pub struct RemoteOrders {
    publisher: String,
    ad_server: Arc<dyn AdServer>,
    terms: OrderTerms,
    deps: RemoteOrderDeps,
    /// Pauses after failures.
    pub pauses: Backoff,
    /// Maximum time for a step; a step that another process has begun counts as ended after it.
    pub timeout: Duration,
    /// Time between two requests for the delivery of an order.
    pub report_every: SignedDuration,
    /// Time zone of the publisher's days.
    pub zone: TimeZone,
    stopping: AtomicBool,
    /// Held while a creative is made: two buys may show the same one.
    making: tokio::sync::Mutex<()>,
}

/// Dependencies of [`RemoteOrders`].
#[derive(Debug)]
pub struct RemoteOrderDeps {
    /// Store of the publisher.
    pub publisher_store: Arc<dyn PublisherStore>,
    /// Notified when something has changed.
    pub notify: Arc<Notify>,
    /// Clock.
    pub clock: Clock,
    /// Timers and random numbers.
    pub edge: ClockAndRandom,
    /// Store that other processes may share; it decides which of them works.
    pub shared: Option<Arc<Store>>,
    /// True when the publisher is a sandbox.
    pub is_sandbox: bool,
}

/// A buy with its record, and what it wants of the ad server.
struct OrderWork {
    remote: RemoteOrder,
    wanted: Option<WantedOrder>,
}

impl RemoteOrders {
    /// Creates the carrier of a publisher's buys to an ad server.
    #[must_use]
    pub fn new(
        publisher: &str,
        ad_server: Arc<dyn AdServer>,
        terms: OrderTerms,
        deps: RemoteOrderDeps,
    ) -> Self {
        Self {
            publisher: publisher.to_owned(),
            ad_server,
            terms,
            deps,
            pauses: FAILURE_BACKOFF,
            timeout: Duration::from_secs(30),
            report_every: REPORT_EVERY,
            zone: TimeZone::UTC,
            stopping: AtomicBool::new(false),
            making: tokio::sync::Mutex::default(),
        }
    }

    /// Works until `stop` resolves, then waits up to `grace` for steps in progress.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>, grace: Duration) {
        pump::run(self, stop, grace).await;
    }

    /// Checks the queue again: another process may have added to it.
    pub fn wake(&self) {
        self.deps.notify.notify_one();
    }

    /// Does what is due for one buy, step by step.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn carry(&self, id: &str) -> Result<(), InternalError> {
        for _ in 0..STEPS_IN_A_ROW {
            if self.stopping.load(Ordering::SeqCst) || !self.advance(id).await? {
                break;
            }
        }
        self.report(id).await
    }

    /// Does the next step of a buy. Returns true when there may be another one at once.
    async fn advance(&self, id: &str) -> Result<bool, InternalError> {
        let now = self.deps.clock.now();
        let read = |reader: &dyn StoreRead| {
            let found = reader.find::<RemoteOrder>(id)?;
            let Some(kept) = found.filter(|kept| kept.thing.has_steps(now)) else {
                return Ok(None);
            };
            let wanted = read_wanted(reader, &kept.thing, &self.terms, now)?;
            Ok::<_, InternalError>(Some(OrderWork { remote: kept.thing, wanted }))
        };
        let Some(work) = self.deps.publisher_store.look(read)? else { return Ok(false) };
        let remote = work.remote;
        if let Some(begun) = remote.begun.clone() {
            return self.clear(id, &remote, begun, now).await;
        }
        let marks = remote.marks;
        let wanted = work.wanted;
        let next = wanted.iter().flat_map(|wanted| next_steps(wanted, &remote)).next();
        let Some(step) = next else {
            // A flight may have ended since, for which nothing was decided.
            let rest = move |order: &mut RemoteOrder, _| order.rest(marks, wanted.as_ref(), now);
            let rested = self.store(id, rest).await?;
            // A change that came meanwhile is worked on at once.
            return Ok(rested == Some(false));
        };
        self.take(id, remote, step, now).await
    }

    /// Does a step that was decided on at a moment: stores that it is begun, does it, and stores its result.
    async fn take(
        &self,
        id: &str,
        remote: RemoteOrder,
        step: RemoteStep,
        at: Timestamp,
    ) -> Result<bool, InternalError> {
        if step.acts() {
            let begun = step.clone();
            let read = remote.clone();
            let begin = move |order: &mut RemoteOrder, _| {
                // A change since it was read may want something else, and another process may have done it.
                *order == read && order.begin(&begun, at)
            };
            match self.store(id, begin).await? {
                Some(true) => {}
                Some(false) => return Ok(true),
                None => return Ok(false),
            }
        }
        let done = self.execute(&remote, &step).await;
        if let Err(error) = &done {
            self.log_failed_step(id, &step, error);
        }
        let done = done.map_err(step_error);
        let pauses = self.pauses;
        let finished = move |order: &mut RemoteOrder, now: Timestamp| {
            // Another process may have taken over, and looked it up.
            if !order.has_begun(&step, at) {
                return;
            }
            // What was looked at may be older than what another process has done since.
            if !step.acts() && *order != remote {
                return;
            }
            match done.clone() {
                Ok(result) => order.finish(&step, result, now),
                Err(error) => order.fail(&step, error, pause(pauses), now),
            }
        };
        Ok(self.store(id, finished).await?.is_some())
    }

    /// Looks up what a step in doubt has made. A step that another process has begun may still be under way.
    async fn clear(
        &self,
        id: &str,
        remote: &RemoteOrder,
        begun: BegunStep,
        looked_at: Timestamp,
    ) -> Result<bool, InternalError> {
        let timeout = SignedDuration::try_from(self.timeout).unwrap_or(SignedDuration::MAX);
        let ends = begun.at.checked_add(timeout).unwrap_or(Timestamp::MAX);
        if !begun.ended && self.deps.clock.now() < ends {
            let wait = move |order: &mut RemoteOrder, _| {
                // It may have ended meanwhile.
                if order.has_begun(&begun.step, begun.at) {
                    order.due_at = Some(ends);
                }
            };
            self.store(id, wait).await?;
            return Ok(false);
        }
        let found = self.look_up(remote, &begun.step).await;
        if let Err(error) = &found {
            self.log_failed_step(id, &begun.step, error);
        }
        let found = found.map_err(step_error);
        let pauses = self.pauses;
        let cleared = move |order: &mut RemoteOrder, now: Timestamp| {
            if !order.has_begun(&begun.step, begun.at) {
                return;
            }
            match found.clone() {
                Ok(found) => order.resolve(&begun.step, found, now),
                // Whatever the look-up came to: what was begun is still in doubt.
                Err(StepError::Refused { kind, detail }) => {
                    order.note_ends(looked_at);
                    order.stop(kind, begun.step.name(), detail, now);
                }
                Err(StepError::Conflict { detail }) => {
                    order.note_ends(looked_at);
                    order.stop(ProblemKind::Refused, begun.step.name(), detail, now);
                }
                Err(StepError::Missing { .. }) => order.resolve(&begun.step, None, now),
                Err(StepError::Repeat { .. } | StepError::InDoubt) => {
                    order.fail(&begun.step, StepError::InDoubt, pause(pauses), now);
                }
            }
        };
        Ok(self.store(id, cleared).await?.is_some())
    }

    /// Changes the record of a buy, and tells people of a problem that is new. Returns `None` when there is
    /// no such record.
    async fn store<T: Send + 'static>(
        &self,
        id: &str,
        change: impl Fn(&mut RemoteOrder, Timestamp) -> T + Send + 'static,
    ) -> Result<Option<T>, InternalError> {
        let id = id.to_owned();
        let now = self.deps.clock.now();
        let is_sandbox = self.deps.is_sandbox;
        let job = move |tx: &dyn StoreTx| {
            let Some(mut kept) = tx.find::<RemoteOrder>(&id)? else { return Ok(None) };
            let before = kept.thing.clone();
            let done = change(&mut kept.thing, now);
            if before == kept.thing {
                return Ok(Some(done));
            }
            tx.change(&mut kept, now)?;
            let events = StaffEventRecorder { tx, is_sandbox, now };
            if let Some(problem) = kept.thing.problem.clone()
                && Some(&problem) != before.problem.as_ref()
            {
                let text = format!("{}: {}", problem.step, problem.detail);
                events.note_remote_problem(&kept, &text, problem.kind.remedy())?;
            } else if kept.thing.failures == TOLD_FAILURES && before.failures < TOLD_FAILURES {
                let remedy = "see whether the ad server is up";
                events.note_remote_problem(&kept, NO_ANSWER, remedy)?;
            }
            Ok(Some(done))
        };
        let done = self.deps.publisher_store.act::<_, InternalError>(job).await;
        done.map_err(InternalError::on("storing a step at the ad server"))
    }

    /// Logs a step that has failed at the ad server.
    fn log_failed_step(&self, id: &str, step: &RemoteStep, error: &AdServerError) {
        let publisher = &self.publisher;
        let step = step.name();
        // The ad server's own text is stored for people, and is not for the log.
        let why = if let AdServerError::Refused { reason, .. } = error {
            format!("refused ({reason:?})")
        } else {
            error.to_string()
        };
        tracing::warn!(%publisher, media_buy = id, step, why, "a step at the ad server did not succeed");
    }
}

impl DeliveryQueue for RemoteOrders {
    type Turn = Stored<RemoteOrder>;

    fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }

    fn edge(&self) -> &ClockAndRandom {
        &self.deps.edge
    }

    fn limits(&self) -> OutboxLimits {
        OutboxLimits::default()
    }

    fn due(
        &self,
        now: Timestamp,
        busy: &BlockedPushes,
        room: usize,
    ) -> Result<Vec<Stored<RemoteOrder>>, InternalError> {
        let is_courier = self.deps.shared.as_ref().map_or(Ok(true), |store| store.is_courier())?;
        if !is_courier || self.stopping.load(Ordering::SeqCst) {
            return Ok(Vec::new());
        }
        let mut due = Vec::new();
        let changes = Some(Changes::By(now));
        let mut query = Query { changes, limit: PAGE_SIZE, ..Query::default() };
        loop {
            let page = self.deps.publisher_store.look(|reader| reader.all::<RemoteOrder>(&query));
            let page = page.map_err(InternalError::on("reading due orders"))?;
            let is_last = page.len() < PAGE_SIZE;
            due.extend(page.into_iter().filter(|order| {
                let who = Self::who(order);
                // The index may be older than the rules of when a record is due.
                order.thing.next_at().is_some_and(|at| at <= now)
                    && !busy.keys.contains(&who.key)
                    && !busy.owners.contains(&who.owner)
            }));
            if is_last || due.len() >= room {
                break;
            }
            query.skip += PAGE_SIZE;
        }
        due.truncate(room);
        Ok(due)
    }

    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, InternalError> {
        let states = RemoteOrder::OPEN.map(|phase: RemotePhase| phase.to_string()).into();
        let query = Query { states, changes: Some(Changes::After(now)), ..Query::default() };
        let found = self.deps.publisher_store.look(|reader| reader.all::<RemoteOrder>(&query));
        let found = found.map_err(InternalError::on("reading due orders"))?;
        let next = found.iter().filter_map(|order| order.thing.next_at()).min();
        let again = now.checked_add(POLL_INTERVAL).unwrap_or(Timestamp::MAX);
        Ok(Some(next.map_or(again, |next| next.min(again))))
    }

    fn who(order: &Stored<RemoteOrder>) -> ActiveDelivery {
        let key = i64::try_from(order.record.place).unwrap_or(i64::MAX);
        // All go to one ad server, and each at its own pace: a host has no limit of its own.
        ActiveDelivery { key, host: order.record.id.clone(), owner: order.record.owner.clone() }
    }

    async fn work(self: Arc<Self>, order: Stored<RemoteOrder>) -> Result<(), InternalError> {
        self.carry(&order.record.id).await
    }

    async fn woken(&self) {
        self.deps.notify.notified().await;
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

/// Returns the pause after a number of failures.
fn pause(pauses: Backoff) -> impl Fn(u32) -> Duration {
    move |failures| pauses.pause(failures.saturating_sub(1))
}

/// Returns what an error of the ad server means for a step.
fn step_error(error: AdServerError) -> StepError {
    use tradepost_ad_server::RefusalReason;
    match error {
        AdServerError::Unsent => StepError::Repeat { retry_after: None, is_failure: true },
        AdServerError::NotYet { retry_after } => {
            StepError::Repeat { retry_after, is_failure: false }
        }
        AdServerError::Unanswered | AdServerError::Garbled { .. } => StepError::InDoubt,
        AdServerError::Refused { reason, detail } => match reason {
            RefusalReason::Missing => StepError::Missing { detail },
            RefusalReason::Credential => {
                StepError::Refused { kind: ProblemKind::Credential, detail }
            }
            RefusalReason::Permission => {
                StepError::Refused { kind: ProblemKind::Permission, detail }
            }
            RefusalReason::Conflict => StepError::Conflict { detail },
            RefusalReason::NoInventory | RefusalReason::Invalid | RefusalReason::Unsupported => {
                StepError::Refused { kind: ProblemKind::Refused, detail }
            }
        },
    }
}
