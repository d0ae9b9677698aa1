//! Facts that a running server knows of itself: agents that refuse new requests, deliveries that were
//! given up, stale feeds, free disk space, the end of the certificate. None has data of a customer.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::AuditAction;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::format::rfc3339;
use tradepost_server::registry::AgentRegistry;
use tradepost_server::tls::ServerIdentity;
use tradepost_store::sign_in::AccessCount;
use tradepost_store::staff::WaitingLeads;
use tradepost_store::{OpenProblems, Store, room};

use crate::acme::Orders;
use crate::config::AccessThresholds;

/// Multiple of the space to be kept free below which an alert is raised.
const ALERT_FACTOR: u64 = 2;

tradepost_document::catalog! {
    /// Kind of a problem: the part of its key before the slash.
    pub enum AlertKind {
        /// True when the store counts problems of this kind.
        is_of_store: bool,
        /// Advice for operators.
        hint: &'static str,
    }
    /// The server refuses new requests, because it cannot store new data.
    Store = "store" { is_of_store: false, hint: "see the reason in `/readyz` and the cause in the log" }
    /// The store cannot be read, so that its problems are not counted.
    Reading = "reading" { is_of_store: false, hint: "see the log for the cause" }
    /// Little free space is left on the disk.
    Disk = "disk" { is_of_store: false, hint: "make room on the disk before the server refuses leads" }
    /// The server's certificate could not be ordered.
    Order = "acme" { is_of_store: false, hint: "see the log for the cause and the next order" }
    /// The server's certificate expires soon, or has expired.
    Certificate = "certificate" {
        is_of_store: false, hint: "renew the certificate; a running server reads new files at SIGHUP",
    }
    /// Deliveries of an agent were given up.
    Dead = "dead" {
        is_of_store: true,
        hint: "correct the cause that `tradepost leads deliveries --dead` shows, then send them \
               again",
    }
    /// A feed was not imported for longer than its `stale_after`.
    Stale = "stale" {
        is_of_store: true, hint: "see the last run of the feed with `tradepost feeds list`",
    }
    /// Leads wait for an answer longer than the dealer's `answer_within`.
    Unanswered = "unanswered" {
        is_of_store: true, hint: "list the leads with `tradepost leads list --waiting`, and answer them",
    }
    /// The console refused many sign-ins or actions.
    Access = "access" { is_of_store: true, hint: "see the audit log of the console for who it was" }
}

impl AlertKind {
    /// Returns the kind of the problem with this key.
    fn from_key(key: &str) -> Option<Self> {
        Self::from_name(key.split_once('/').map_or(key, |(kind, _)| kind))
    }

    /// Returns the key of the problem of this kind with one thing.
    fn key_of(self, thing: &str) -> String {
        format!("{}/{thing}", self.name())
    }
}

/// A current problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertProblem {
    /// Key of the problem, the same at each check.
    pub key: String,
    /// Description for people.
    pub what: String,
    /// Size of the problem; a higher level is reported again.
    pub level: u64,
    /// True when it lasts until a person acts; any other problem has to be found twice.
    pub lasts: bool,
}

/// Result of a check.
#[derive(Debug)]
pub struct WatchResult {
    /// All problems that could be seen.
    pub problems: Vec<AlertProblem>,
    /// True when the store was counted. When false, the store's problems may still exist.
    pub is_counted: bool,
}

/// Time within which a dealer's leads have to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerTime {
    /// Id of the dealer.
    pub dealer_id: String,
    /// The time from the receipt of a lead.
    pub within: SignedDuration,
}

/// Sources of the facts.
pub struct AlertWatch {
    /// The agents, for whether they take new requests.
    pub registry: Arc<AgentRegistry>,
    /// The store.
    pub store: Arc<Store>,
    /// Returns the ids of the current agents.
    pub agents: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Returns the dealers whose leads have to be answered in time.
    pub answer_times: Box<dyn Fn() -> Vec<AnswerTime> + Send + Sync>,
    /// Our certificate, if there is one.
    pub identity: Option<Arc<ServerIdentity>>,
    /// Orders of the certificate from an ACME server, if any.
    pub orders: Option<Arc<Orders>>,
    /// The data folder, if there is one, and the number of bytes that have to be free there.
    pub disk: Option<(PathBuf, u64)>,
    /// Limits of the requests that the console refuses.
    pub access: AccessThresholds,
}

opaque!(AlertWatch);

impl AlertProblem {
    /// Returns true when the store counts the problem with this key.
    #[must_use]
    pub fn is_of_store(key: &str) -> bool {
        AlertKind::from_key(key).is_some_and(AlertKind::is_of_store)
    }

    /// Returns true when the level of the problem with this key is a number of things. That of leads
    /// without an answer is the number of the latest one, so that each lead is reported once.
    #[must_use]
    pub fn has_count(key: &str) -> bool {
        AlertKind::from_key(key) != Some(AlertKind::Unanswered)
    }
}

impl AlertWatch {
    /// Returns all current problems.
    pub async fn problems(&self, now: Timestamp) -> WatchResult {
        let mut problems = Vec::new();
        if let Err(why) = self.registry.check().await {
            // It may be over at the next check, for example when the database restarts.
            let what = format!("the server refuses new requests: {why}");
            problems.push(AlertProblem {
                key: AlertKind::Store.to_string(),
                what,
                level: 0,
                lasts: false,
            });
        }
        let store = Arc::clone(&self.store);
        let agents = (self.agents)();
        let answer_times = (self.answer_times)();
        let counted = tokio::task::spawn_blocking(move || {
            Ok(StoreFacts {
                open_problems: store.open_problems(&agents)?,
                refused: store.access_counts(now)?,
                unanswered: unanswered(&store, &answer_times, now)?,
            })
        });
        let counted = counted.await;
        let counted = counted
            .unwrap_or_else(|error| Err(InternalError::new("counting what is amiss", error)));
        let is_counted = counted.is_ok();
        match counted {
            Ok(StoreFacts { open_problems, refused, unanswered }) => {
                problems.extend(waiting(open_problems));
                problems.extend(unanswered);
                problems.extend(refused.iter().filter_map(|count| self.refused_often(count)));
            }
            Err(fault) => {
                tracing::warn!(cause = %fault.chain(), "what is amiss could not be counted");
                let what = "the store cannot be read".to_owned();
                problems.push(AlertProblem {
                    key: AlertKind::Reading.to_string(),
                    what,
                    level: 0,
                    lasts: false,
                });
            }
        }
        problems.extend(self.little_room());
        problems.extend(self.certificate(now));
        problems.extend(self.orders());
        WatchResult { problems, is_counted }
    }

    /// Returns a problem when the console has refused more in about an hour than the limit.
    fn refused_often(&self, count: &AccessCount) -> Option<AlertProblem> {
        let AccessThresholds { failed_sign_ins, locked_sign_ins, refused_actions } = self.access;
        let number = count.happened;
        let kinds = [
            (AuditAction::SignInFailed, failed_sign_ins, "failed sign-ins to the console"),
            (
                AuditAction::SignInLocked,
                locked_sign_ins,
                "sign-in locks of the console after failures",
            ),
            (
                AuditAction::AccessRefused,
                refused_actions,
                "requests to the console that the role does not permit",
            ),
        ];
        let kind = kinds.into_iter().find(|(action, ..)| *action == count.action);
        let (_, threshold, what) = kind?;
        // The level rises only when the number doubles.
        let level = number.checked_div(threshold)?.checked_ilog2()?;
        Some(AlertProblem {
            key: AlertKind::Access.key_of(count.action.name()),
            what: format!("{number} {what} in the last hour; the console's audit has the details"),
            level: level.into(),
            lasts: true,
        })
    }

    fn little_room(&self) -> Option<AlertProblem> {
        let (folder, least) = self.disk.as_ref()?;
        let free = room(folder).ok()?.free;
        let is_full = free < *least;
        (free < least.saturating_mul(ALERT_FACTOR)).then(|| AlertProblem {
            key: AlertKind::Disk.to_string(),
            what: format!(
                "{} MiB are free on the disk; below {} MiB the server refuses leads",
                free >> 20,
                least >> 20
            ),
            // The level rises when leads begin to be refused.
            level: is_full.into(),
            lasts: true,
        })
    }

    fn orders(&self) -> Option<AlertProblem> {
        let orders = self.orders.as_ref()?;
        let identity = self.identity.as_ref()?;
        let (what, is_bad) = orders.problem(identity)?;
        Some(AlertProblem {
            key: AlertKind::Order.to_string(),
            what,
            level: is_bad.into(),
            lasts: true,
        })
    }

    fn certificate(&self, now: Timestamp) -> Option<AlertProblem> {
        let end = self.identity.as_ref()?.expiry_warning(now)?;
        let has_ended = end <= now;
        let word = if has_ended { "expired" } else { "expires" };
        Some(AlertProblem {
            key: AlertKind::Certificate.to_string(),
            what: format!("the certificate of server.tls {word} on {}", rfc3339(end)),
            level: has_ended.into(),
            lasts: true,
        })
    }
}

/// Facts that the store knows.
struct StoreFacts {
    open_problems: OpenProblems,
    refused: Vec<AccessCount>,
    unanswered: Vec<AlertProblem>,
}

/// Returns a problem for each dealer with leads that wait too long for an answer.
fn unanswered(
    store: &Store,
    answer_times: &[AnswerTime],
    now: Timestamp,
) -> Result<Vec<AlertProblem>, InternalError> {
    let mut problems = Vec::new();
    for AnswerTime { dealer_id, within } in answer_times {
        let received_before = now.saturating_sub(*within).unwrap_or(Timestamp::MIN);
        let WaitingLeads { number, oldest, latest } =
            store.waiting_leads(dealer_id, received_before)?;
        let Some(oldest) = oldest else { continue };
        let leads = if number == 1 { "lead waits" } else { "leads wait" };
        problems.push(AlertProblem {
            key: AlertKind::Unanswered.key_of(dealer_id),
            what: format!(
                "{dealer_id}: {number} {leads} longer than {within:#} for an answer, the oldest since {}",
                rfc3339(oldest)
            ),
            level: u64::try_from(latest).unwrap_or_default(),
            lasts: true,
        });
    }
    Ok(problems)
}

/// Returns deliveries that were given up, and stale feeds.
fn waiting(open_problems: OpenProblems) -> Vec<AlertProblem> {
    let OpenProblems { dead, stale } = open_problems;
    let dead = dead.into_iter().map(|(agent, number)| AlertProblem {
        what: match number {
            1 => format!("{agent}: 1 delivery was given up"),
            _ => format!("{agent}: {number} deliveries were given up"),
        },
        key: AlertKind::Dead.key_of(&agent),
        level: number,
        lasts: true,
    });
    let stale = stale.into_iter().map(|(agent, feed, taken_at)| AlertProblem {
        what: match taken_at {
            Some(at) => format!(
                "{agent}: the feed {feed} is stale; it was last imported on {}",
                rfc3339(at)
            ),
            None => format!("{agent}: the feed {feed} is stale; it was never imported"),
        },
        key: AlertKind::Stale.key_of(&format!("{agent}/{feed}")),
        level: 0,
        lasts: true,
    });
    dead.chain(stale).collect()
}
