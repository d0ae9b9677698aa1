//! Alerts: sends each destination one message about all current problems, at most one per interval, also
//! when problems are over.
//!
//! Every 30 seconds the server's facts about itself are gathered ([`watch`]). The store keeps the
//! problems that each destination was told, so that a restart repeats nothing. They are stored after a
//! message was accepted, so that none is lost; a message that arrives twice has the same id. While the
//! store cannot be written, they are kept in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_document::backoff::Backoff;
use tradepost_document::breaker::CircuitBreaker;
use tradepost_document::format::hex;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{AlertNotice, Store};

use crate::config::AlertConfig as Settings;
use crate::config::delivery::DeliveryConfig;
use crate::delivery::channel::{self, DeliveryCarrier, OutgoingMessage};

mod message;
pub mod watch;

pub use message::AlertMessage;
use watch::{AlertProblem, AlertWatch, WatchResult};

/// Interval at which the facts are gathered.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// First pause after a message was not accepted; it doubles up to the usual interval.
const FIRST_PAUSE: Duration = Duration::from_mins(1);

/// Sends alerts to their destinations.
pub struct AlertSender {
    settings: Settings,
    watch: AlertWatch,
    store: Arc<Store>,
    clock: Clock,
    destinations: Vec<AlertChannel>,
    /// Problems of the last check, and the time at which each began.
    seen: Mutex<BTreeMap<String, Timestamp>>,
}

/// A destination and its carrier.
struct AlertChannel {
    delivery: DeliveryConfig,
    carrier: Arc<dyn DeliveryCarrier>,
    /// State after the last message that this process sent; `None` before the first.
    state: Mutex<Option<DestinationState>>,
    /// Holds messages back after one that was not accepted.
    breaker: Mutex<CircuitBreaker>,
}

opaque!(AlertSender);

/// State of a destination: the problems that it was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DestinationState {
    /// Problems that it knows of, by key.
    pub noticed: BTreeMap<String, AlertNotice>,
    /// Time of the last message.
    pub last: Option<Timestamp>,
}

impl DestinationState {
    fn from_rows(rows: Vec<AlertNotice>) -> Self {
        // A row without a key holds the time of the last message, which is kept when there are no problems.
        let (marks, noticed): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.key.is_empty());
        let noticed = noticed.into_iter().map(|row| (row.key.clone(), row)).collect();
        Self { noticed, last: marks.first().map(|mark| mark.noticed_at) }
    }

    fn rows(&self) -> Vec<AlertNotice> {
        let mark = |at: Timestamp| AlertNotice {
            key: String::new(),
            what: String::new(),
            level: 0,
            since: at,
            noticed_at: at,
        };
        self.noticed.values().cloned().chain(self.last.map(mark)).collect()
    }

    /// Adds the problems that the store counts, as the destination knows them. Used when the store could
    /// not be counted, because they may still exist.
    fn uncounted(
        &self,
        mut problems: Vec<(AlertProblem, Timestamp)>,
    ) -> Vec<(AlertProblem, Timestamp)> {
        for row in self.noticed.values().filter(|row| AlertProblem::is_of_store(&row.key)) {
            let AlertNotice { key, what, level, since, .. } = row.clone();
            problems.push((AlertProblem { key, what, level, lasts: true }, since));
        }
        problems
    }

    /// Returns the message that is due, if any, and the state of the destination once it has accepted it.
    #[must_use]
    pub fn due(
        &self,
        problems: &[(AlertProblem, Timestamp)],
        settings: &Settings,
        now: Timestamp,
    ) -> Option<(AlertMessage, Self)> {
        let mut message = AlertMessage { at: now, ..AlertMessage::default() };
        let mut noticed = BTreeMap::new();
        for (problem, since) in problems {
            let before = self.noticed.get(&problem.key);
            let row = AlertNotice {
                key: problem.key.clone(),
                what: problem.what.clone(),
                level: problem.level,
                since: before.map_or(*since, |before| before.since),
                noticed_at: now,
            };
            // A lower level than before is not reported.
            let is_known = before.is_some_and(|before| problem.level <= before.level);
            if is_known { &mut message.goes_on } else { &mut message.new }.push(row.clone());
            noticed.insert(problem.key.clone(), row);
        }
        let is_over = |row: &&AlertNotice| !noticed.contains_key(&row.key);
        message.over = self.noticed.values().filter(is_over).cloned().collect();
        let passed = self.last.map(|last| now.duration_since(last));
        let is_news = !message.new.is_empty() || !message.over.is_empty();
        let may = passed.is_none_or(|passed| passed >= settings.every);
        let reminds = passed.is_some_and(|passed| passed >= settings.remind);
        let is_due = may && (is_news || !message.goes_on.is_empty() && reminds);
        is_due.then_some((message, Self { noticed, last: Some(now) }))
    }

    /// Returns the id of the message that follows this state: the same for the same content.
    fn id(&self, destination: &str, message: &AlertMessage) -> String {
        let mut hasher = Sha256::new();
        let last = self.last.map(|last| last.as_millisecond()).unwrap_or_default();
        hasher.update(format!("tradepost alert 1\n{destination}\n{last}\n"));
        for row in message.new.iter().chain(&message.goes_on).chain(&message.over) {
            hasher.update(format!("{}\n{}\n", row.key, row.level));
        }
        hex(hasher.finalize().iter().take(16))
    }
}

impl AlertSender {
    /// Creates the carriers for the destinations of a configuration.
    ///
    /// # Errors
    /// When a carrier cannot be created, because a secret or a certificate is missing.
    pub fn open(
        settings: Settings,
        watch: AlertWatch,
        store: Arc<Store>,
        clock: Clock,
    ) -> Result<Self, InternalError> {
        let every = Duration::try_from(settings.every).unwrap_or_default();
        let pauses = Backoff { first: FIRST_PAUSE, longest: every };
        let open = |delivery: &DeliveryConfig| {
            let carrier = channel::open(delivery, &clock)
                .map_err(|why| InternalError::new("setting up a destination of alerts", why))?;
            let state = Mutex::default();
            let breaker = Mutex::new(CircuitBreaker::new(pauses));
            Ok(AlertChannel { delivery: delivery.clone(), carrier, state, breaker })
        };
        let destinations =
            settings.destinations.iter().map(open).collect::<Result<_, InternalError>>()?;
        Ok(Self { settings, watch, store, clock, destinations, seen: Mutex::default() })
    }

    /// Checks and sends alerts until the process ends.
    pub async fn run(&self) {
        loop {
            self.look().await;
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Gathers the facts once and sends the messages that are due.
    pub async fn look(&self) {
        let now = self.clock.now();
        let found = self.watch.problems(now).await;
        let is_counted = found.is_counted;
        let problems = self.remember(found, now);
        // Of several processes on one database one sends; while the database is lost, each sends its own.
        let store = Arc::clone(&self.store);
        let courier = tokio::task::spawn_blocking(move || store.is_courier()).await;
        if matches!(courier, Ok(Ok(false))) {
            return;
        }
        let notify = self
            .destinations
            .iter()
            .map(|channel| self.notify(channel, &problems, is_counted, now));
        futures_util::future::join_all(notify).await;
    }

    /// Adds the time at which each problem began, and omits temporary problems that were not there at the
    /// check before.
    fn remember(&self, found: WatchResult, now: Timestamp) -> Vec<(AlertProblem, Timestamp)> {
        let WatchResult { problems, is_counted } = found;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |key: &str| seen.get(key).copied();
        let known: Vec<_> =
            problems.into_iter().map(|problem| (since(&problem.key), problem)).collect();
        seen.retain(|key, _| !is_counted && AlertProblem::is_of_store(key));
        seen.extend(
            known.iter().map(|(since, problem)| (problem.key.clone(), since.unwrap_or(now))),
        );
        let lasting = known.into_iter().filter(|(since, problem)| problem.lasts || since.is_some());
        lasting.map(|(since, problem)| (problem, since.unwrap_or(now))).collect()
    }

    /// Sends the message that is due at a destination, unless its circuit breaker is open.
    async fn notify(
        &self,
        channel: &AlertChannel,
        problems: &[(AlertProblem, Timestamp)],
        is_counted: bool,
        now: Timestamp,
    ) {
        let name = &channel.delivery.destination.name;
        let elapsed = self.clock.elapsed();
        if lock(&channel.breaker).wait(elapsed).is_some() {
            return;
        }
        let state = self.state(channel).await;
        let uncounted;
        let problems = if is_counted {
            problems
        } else {
            uncounted = state.uncounted(problems.to_vec());
            &uncounted
        };
        let Some((message, after)) = state.due(problems, &self.settings, now) else { return };
        let id = state.id(name, &message);
        let written = message.write(&channel.delivery, &id);
        let outgoing = OutgoingMessage { id, attempt: 1, written };
        let most = channel.delivery.timeout.saturating_mul(3);
        let sent = tokio::time::timeout(most, channel.carrier.carry(outgoing)).await;
        let why = match sent {
            Ok(Ok(_)) => None,
            Ok(Err(failed)) => Some(failed.answer),
            Err(_) => Some("no answer in time".to_owned()),
        };
        if let Some(answer) = why {
            lock(&channel.breaker).failed(elapsed, ());
            tracing::warn!(destination = %name, answer, "an alert was not taken");
            return;
        }
        lock(&channel.breaker).succeeded();
        *lock(&channel.state) = Some(after.clone());
        let destination = name.clone();
        let rows = after.rows();
        let noted = self.store.write(move |tx| tx.note_alerts(&destination, &rows)).await;
        if let Err(fault) = noted {
            tracing::warn!(cause = %fault.chain(), "an alert was sent and could not be noted");
        }
    }

    /// Returns the state of a destination: from the store, because another process may have sent a
    /// message, or from memory while the store cannot be read.
    async fn state(&self, channel: &AlertChannel) -> DestinationState {
        let store = Arc::clone(&self.store);
        let name = channel.delivery.destination.name.clone();
        let read = tokio::task::spawn_blocking(move || store.noticed_alerts(&name)).await;
        let kept = read.ok().and_then(Result::ok).map(DestinationState::from_rows);
        let own = lock(&channel.state).clone();
        match (kept, own) {
            // A message that was sent and could not be stored is newer than the store's.
            (Some(kept), Some(own)) if kept.last < own.last => own,
            (Some(kept), _) => kept,
            (None, own) => own.unwrap_or_default(),
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use jiff::SignedDuration;

    use super::*;
    use crate::config::AccessThresholds;

    fn settings() -> Settings {
        let every = SignedDuration::from_mins(15);
        let remind = SignedDuration::from_hours(24);
        let access = AccessThresholds::default();
        Settings { every, remind, destinations: Vec::new(), access }
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_mins(minutes)).unwrap()
    }

    fn problem(key: &str, level: u64) -> (AlertProblem, Timestamp) {
        (
            AlertProblem { key: key.into(), what: format!("{key} {level}"), level, lasts: true },
            at(0),
        )
    }

    /// Returns the message for a state, as the keys of new, ongoing and past problems.
    fn noticed(
        state: &mut DestinationState,
        minutes: i64,
        problems: &[(AlertProblem, Timestamp)],
    ) -> Option<String> {
        let (message, after) = state.due(problems, &settings(), at(minutes))?;
        *state = DestinationState::from_rows(after.rows());
        let keys = |rows: &[AlertNotice]| {
            rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>().join(",")
        };
        let AlertMessage { new, goes_on, over, .. } = &message;
        Some(format!("{}/{}/{}", keys(new), keys(goes_on), keys(over)))
    }

    #[test]
    fn problems_and_their_end_are_told_together_and_seldom() {
        let mut state = DestinationState::default();
        assert_eq!(noticed(&mut state, 0, &[]), None, "all is well from the start");
        let dead = problem("dead", 1);
        let full = problem("full", 0);
        assert_eq!(noticed(&mut state, 1, from_ref(&dead)).as_deref(), Some("dead//"), "at once");
        assert_eq!(noticed(&mut state, 2, from_ref(&dead)), None, "once");
        let both = [problem("dead", 2), full.clone(), problem("stale", 0)];
        assert_eq!(noticed(&mut state, 3, &both), None, "not within the period");
        assert_eq!(
            noticed(&mut state, 16, &both).as_deref(),
            Some("dead,full,stale//"),
            "more of it is new"
        );
        assert_eq!(noticed(&mut state, 40, &both), None);
        assert_eq!(noticed(&mut state, 41, from_ref(&full)).as_deref(), Some("/full/dead,stale"));
        assert_eq!(noticed(&mut state, 100, from_ref(&full)), None);
        assert_eq!(
            noticed(&mut state, 41 + 24 * 60, &[full]).as_deref(),
            Some("/full/"),
            "a reminder"
        );
        assert_eq!(noticed(&mut state, 2_000, &[]).as_deref(), Some("//full"));
        assert_eq!(noticed(&mut state, 9_000, &[]), None);
        assert_eq!(noticed(&mut state, 9_001, &[dead]).as_deref(), Some("dead//"));
    }

    #[test]
    fn what_could_not_be_counted_is_not_over() {
        let mut state = DestinationState::default();
        let dead = problem("dead/one", 2);
        let stale = problem("stale/one/lot", 0);
        let all = [dead.clone(), problem("disk", 0), stale];
        assert_eq!(noticed(&mut state, 1, &all).as_deref(), Some("dead/one,disk,stale/one/lot//"));
        let problems = state.uncounted(vec![problem("reading", 0)]);
        assert_eq!(
            noticed(&mut state, 20, &problems).as_deref(),
            Some("reading/dead/one,stale/one/lot/disk"),
            "they go on, and the disk was looked at"
        );
        let problems = state.uncounted(vec![problem("reading", 0)]);
        assert_eq!(noticed(&mut state, 40, &problems), None, "nothing is told twice");
        assert_eq!(
            noticed(&mut state, 60, &[dead]).as_deref(),
            Some("/dead/one/reading,stale/one/lot")
        );
    }

    #[test]
    fn a_problem_that_comes_and_goes_is_no_flood() {
        let mut state = DestinationState::default();
        let minutes = 0..240;
        let one = [problem("flaps", 0)];
        let messages = minutes.filter(|minute| {
            let problems = if minute % 2 == 0 { &one[..] } else { &[] };
            noticed(&mut state, *minute, problems).is_some()
        });
        assert_eq!(messages.count(), 240 / 15);
    }

    #[test]
    fn a_message_that_was_not_noted_keeps_its_id() {
        let state = DestinationState::default();
        let id = |minutes, problems: &[(AlertProblem, Timestamp)]| {
            let (message, _) = state.due(problems, &settings(), at(minutes)).unwrap();
            state.id("ops", &message)
        };
        let one = [problem("dead", 1)];
        assert_eq!(id(1, &one), id(7, &one));
        assert_ne!(id(1, &one), id(1, &[problem("dead", 2)]));
    }
}
