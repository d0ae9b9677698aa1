//! The server's own certificate, ordered from a certificate authority and renewed before it ends (ACME,
//! RFC 8555).
//!
//! The certificate is written to a file, which the listener loads like any other ([`ServerIdentity`]): a
//! failed order changes nothing. Names are validated on the serving port (`tls-alpn-01`, RFC 8737), so
//! that no second port is needed.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use failure::{AcmeError, AcmeErrorCode};
use folder::AcmeFolder;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tradepost_document::backoff::{Backoff, drawn};
use tradepost_document::format::rfc3339;
use tradepost_server::clock::Clock;
use tradepost_server::outbox::ClockAndRandom;
use tradepost_server::tls::challenge::Challenges;
use tradepost_server::tls::{self, LoadedFiles, PemFiles, ServerIdentity, peer};

use crate::config::acme::{Acme, CERTIFICATE};

pub mod failure;
mod folder;
mod order;
mod web;

pub use folder::OrderHistory;

/// Maximum interval between two checks for a due order, also when the clock was changed since.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(600);

/// Pause while another process orders.
const OTHER_PROCESS_PAUSE: Duration = Duration::from_secs(60);

/// Maximum duration of an order.
const DEADLINE: Duration = Duration::from_secs(15 * 60);

/// Minimum time between two certificates.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// Backoff after failures that authorities count: Let's Encrypt allows five in an hour.
const COUNTED_FAILURE_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(15 * 60), longest: Duration::from_secs(12 * 3600) };

/// Backoff after failures that authorities do not count: of the folder, the connection or the time.
const UNCOUNTED_FAILURE_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(60), longest: Duration::from_secs(3600) };

/// Maximum delay that is accepted from an authority.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);

/// Message of a failed order.
const ORDER_FAILED: &str = "no certificate could be had";

/// Number of failures in a row from which on an alert is raised.
const ALERT_AFTER_FAILURES: u32 = 3;

/// Orders and renews the certificate.
pub struct Orders {
    settings: Acme,
    folder: AcmeFolder,
    clock: Clock,
    edge: ClockAndRandom,
    /// Random share by which renewals are spread: processes that got certificates at the same time do not
    /// renew at the same time.
    spread: f64,
    history: RwLock<OrderHistory>,
    /// True when `history` is newer than the file.
    is_unwritten: AtomicBool,
    retry_now: Notify,
}

impl fmt::Debug for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orders").field("domains", &self.settings.domains).finish_non_exhaustive()
    }
}

/// Returns the challenges with which the authority validates the names.
#[must_use]
pub fn challenges(settings: &Acme) -> Challenges {
    Challenges::new(settings.folder.clone(), settings.domains.clone())
}

/// Reads the history of the orders of all processes.
#[must_use]
pub fn history(settings: &Acme) -> OrderHistory {
    AcmeFolder::new(settings.folder.clone()).history(&wanted(settings)).unwrap_or_default()
}

/// Checks that the client for the authority can be created.
///
/// # Errors
/// When the file with its root certificates cannot be used.
pub fn check(settings: &Acme) -> Result<(), AcmeError> {
    web::AcmeClient::open(settings).map(drop)
}

/// Describes the wanted certificate in one line: failures count only for the same description.
fn wanted(settings: &Acme) -> String {
    format!("{} from {}", settings.domains.join(" "), settings.directory)
}

impl Orders {
    /// Creates the orders without starting them.
    #[must_use]
    pub fn new(settings: Acme, clock: Clock, edge: ClockAndRandom) -> Self {
        let folder = AcmeFolder::new(settings.folder.clone());
        let history = RwLock::new(folder.history(&wanted(&settings)).unwrap_or_default());
        let spread = (edge.random)();
        Self {
            settings,
            folder,
            clock,
            edge,
            spread,
            history,
            is_unwritten: AtomicBool::new(false),
            retry_now: Notify::new(),
        }
    }

    /// Orders a certificate whenever one is due, until the process ends.
    pub async fn run(&self, identity: &ServerIdentity) {
        loop {
            let pause = self.step(identity).await;
            tokio::select! {
                () = (self.edge.sleep)(pause) => {}
                () = self.retry_now.notified() => {}
            }
        }
    }

    /// Ends the pause after a failed order, because an operator has corrected the cause.
    pub fn retry_now(&self) {
        let mut history = self.current();
        // The authority's own limit still holds.
        let is_asked = history.code == Some(AcmeErrorCode::Limited);
        if history.next_at.is_some() && history.failures > 0 && !is_asked {
            history.next_at = None;
            self.keep(history);
        }
        self.retry_now.notify_one();
    }

    /// Returns the problem to report: several failed orders, or a failed order without a valid
    /// certificate. The second value is true when no valid certificate is left.
    #[must_use]
    pub fn problem(&self, identity: &ServerIdentity) -> Option<(String, bool)> {
        let history = self.history.read().unwrap_or_else(PoisonError::into_inner).clone();
        let now = self.clock.now();
        let unserved = identity.expires_at().is_none_or(|end| end <= now);
        let code = history.code.filter(|_| history.failures >= ALERT_AFTER_FAILURES || unserved)?;
        let next = history
            .next_at
            .map_or_else(String::new, |at| format!("; the next attempt is on {}", rfc3339(at)));
        let times = if history.failures == 1 { "once" } else { "several times in a row" };
        Some((
            format!("ordering a certificate failed {times} ({code}): {}{next}", code.hint()),
            unserved,
        ))
    }

    /// Returns the number of failed orders in a row.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.history.read().unwrap_or_else(PoisonError::into_inner).failures
    }

    /// Returns the history of orders, including those of other processes.
    fn current(&self) -> OrderHistory {
        let known = self.history.read().unwrap_or_else(PoisonError::into_inner).clone();
        // A history that could not be written is only in memory, and a file that cannot be read is ignored.
        if self.is_unwritten.load(Ordering::Relaxed) {
            return known;
        }
        let Ok(mut history) = self.folder.history(&wanted(&self.settings)) else { return known };
        // A time that was computed before the clock was corrected must not block orders for years.
        let latest = SignedDuration::try_from(MAX_RETRY_AFTER).ok();
        let latest = latest.and_then(|wait| self.clock.now().checked_add(wait).ok());
        history.next_at = history.next_at.filter(|at| latest.is_none_or(|latest| *at <= latest));
        *self.history.write().unwrap_or_else(PoisonError::into_inner) = history.clone();
        history
    }

    fn keep(&self, history: OrderHistory) {
        let kept = self.folder.store_history(&history);
        self.is_unwritten.store(kept.is_err(), Ordering::Relaxed);
        if let Err(error) = kept {
            tracing::error!(cause = %error, "how an order went could not be written down");
        }
        *self.history.write().unwrap_or_else(PoisonError::into_inner) = history;
    }

    /// Orders a certificate if one is due. Returns the pause until the next check.
    async fn step(&self, identity: &ServerIdentity) -> Duration {
        let history = self.current();
        let now = self.clock.now();
        let at = self.due(&history, now).max(history.next_at.unwrap_or(Timestamp::MIN));
        if at > now {
            let pause = Duration::try_from(at.duration_since(now)).unwrap_or_default();
            return pause.min(MAX_CHECK_INTERVAL);
        }
        let locked = self.folder.prepare().and_then(|()| self.folder.lock());
        let _lock = match locked {
            Ok(Some(lock)) => lock,
            Ok(None) => return OTHER_PROCESS_PAUSE,
            Err(error) => return self.failed(history, error, identity),
        };
        // Another process may have ordered before this one had the lock.
        let history = self.current();
        if self.due(&history, now) > now || history.next_at.is_some_and(|next| next > now) {
            return Duration::ZERO;
        }
        let names = self.settings.domains.join(" ");
        tracing::info!(names, "a certificate is ordered");
        let ordered = tokio::time::timeout(DEADLINE, self.order(identity)).await;
        let ordered = ordered.unwrap_or_else(|_| {
            let minutes = DEADLINE.as_secs() / 60;
            Err(AcmeError::new(
                AcmeErrorCode::Slow,
                format_args!("it took more than {minutes} minutes"),
            ))
        });
        match ordered {
            Ok(end) => {
                tracing::info!(names, expires_at = %end, "a certificate was issued");
                self.keep(OrderHistory {
                    issued_by: Some(self.settings.directory.clone()),
                    next_at: now.checked_add(MIN_INTERVAL).ok(),
                    wanted: history.wanted,
                    ..OrderHistory::default()
                });
                Duration::ZERO
            }
            Err(error) => self.failed(history, error, identity),
        }
    }

    /// Records a failed order. Returns the pause until the next check.
    fn failed(
        &self,
        history: OrderHistory,
        error: AcmeError,
        identity: &ServerIdentity,
    ) -> Duration {
        let backoff = match error.code {
            _ if error.is_spent => COUNTED_FAILURE_BACKOFF,
            AcmeErrorCode::Folder | AcmeErrorCode::Unreachable | AcmeErrorCode::Slow => {
                UNCOUNTED_FAILURE_BACKOFF
            }
            AcmeErrorCode::Limited
            | AcmeErrorCode::Refused
            | AcmeErrorCode::Unproven
            | AcmeErrorCode::Unusable => COUNTED_FAILURE_BACKOFF,
        };
        let pause = backoff.pause(history.failures);
        let pause = drawn(pause / 2, pause, (self.edge.random)());
        let pause = pause.max(error.wait.unwrap_or_default().min(MAX_RETRY_AFTER));
        let now = self.clock.now();
        let next_at = SignedDuration::try_from(pause)
            .ok()
            .and_then(|duration| now.checked_add(duration).ok());
        let code = error.code.to_string();
        let hint = error.code.hint();
        let cause = error.to_string();
        let next = next_at.map(rfc3339);
        if identity.expires_at().is_none_or(|end| end <= now) {
            tracing::error!(code, cause, hint, next, "{ORDER_FAILED}; nobody is served");
        } else {
            tracing::warn!(code, cause, hint, next, "{ORDER_FAILED}; the old one stays");
        }
        self.keep(OrderHistory {
            failures: history.failures.saturating_add(1),
            next_at,
            code: Some(error.code),
            says: error.says,
            ..history
        });
        pause.min(MAX_CHECK_INTERVAL)
    }

    /// Returns the time of the next order: now, unless there is a certificate for all names, from the
    /// configured authority, with more than a third of its lifetime left.
    fn due(&self, history: &OrderHistory, now: Timestamp) -> Timestamp {
        let held = held(&self.settings.file(), &self.settings.domains).ok();
        let by_it = history.issued_by.as_deref() == Some(self.settings.directory.as_str());
        let Some((begin, end)) = held.filter(|_| by_it) else { return now };
        let life = Duration::try_from(end.duration_since(begin)).unwrap_or_default();
        // Up to a tenth of the lifetime earlier, at random.
        let early = drawn(life / 3, life / 3 + life / 10, self.spread);
        end.checked_sub(early).unwrap_or(now)
    }

    /// Orders a certificate, and installs it if it can be used. Returns its end.
    async fn order(&self, identity: &ServerIdentity) -> Result<Timestamp, AcmeError> {
        let web = web::AcmeClient::open(&self.settings)?;
        let pem = order::obtain(&self.settings, &self.folder, &web).await;
        let pem = pem.map_err(|error| AcmeError { wait: web.wait(), ..error })?;
        let half = self.folder.write_half(CERTIFICATE, pem.as_bytes());
        let half = half.map_err(AcmeError::of_a_spent_order)?;
        let (_, end) = held(&half, &self.settings.domains)
            .and_then(|(begin, end)| {
                let good = end > self.clock.now();
                good.then_some((begin, end)).ok_or_else(|| vec!["it has ended already".to_owned()])
            })
            .map_err(|says| {
                let _ = std::fs::remove_file(&half);
                AcmeError::all(AcmeErrorCode::Unusable, says)
            })?;
        let put = self.folder.put_in_place(&half, CERTIFICATE);
        put.map_err(AcmeError::of_a_spent_order)?;
        // Otherwise the listener would load it only at its next check of the files.
        identity.refresh();
        Ok(end)
    }
}

/// Returns begin and end of the certificate in a file if it is valid for all names, or everything that is
/// wrong with it.
fn held(file: &Path, names: &[String]) -> Result<(Timestamp, Timestamp), Vec<String>> {
    let files = PemFiles { certificate: file.to_owned(), key: file.to_owned(), client_ca: None };
    let loaded = tls::load(&files).map_err(|mistakes| {
        mistakes.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>()
    })?;
    let LoadedFiles { certificate, begins_at, expires_at, .. } = loaded;
    let covers = |name: &&String| certificate.as_ref().is_some_and(|leaf| peer::is_for(leaf, name));
    let missing = names.iter().filter(|name| !covers(name));
    let missing: Vec<_> = missing.map(|name| format!("it is not for {name}")).collect();
    match begins_at.zip(expires_at) {
        Some(validity) if missing.is_empty() => Ok(validity),
        Some(_) => Err(missing),
        None => Err(vec!["it does not say when it ends".to_owned()]),
    }
}
