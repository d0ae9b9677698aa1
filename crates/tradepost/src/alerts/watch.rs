//! The facts that a running server knows of itself: whether anything new can be taken, what was given up,
//! which feeds are stale, how much room there is, when the certificate ends. None says anything of a
//! customer.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tradepost_dealer::staff::AuditAction;
use tradepost_server::desk::AgentRegistry;
use tradepost_server::tls::ServerIdentity;
use tradepost_store::sign_in::AccessCount;
use tradepost_store::{Amiss, Store, room};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::InternalError;
use tradepost_wire::format::rfc3339;

use crate::acme::Orders;
use crate::config::AccessThresholds;

/// How many times the space that is kept free has to be left.
const AMPLE: u64 = 2;

/// How the keys begin of what was given up.
const DEAD: &str = "dead/";

/// How the keys begin of stale feeds.
const STALE: &str = "stale/";

/// How the keys begin of what the console refuses too often.
const ACCESS: &str = "access/";

/// Something that is amiss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertProblem {
    /// By which it is known.
    pub key: String,
    /// What it is, in words.
    pub what: String,
    /// How much of it there is: more is news.
    pub level: u64,
    /// Whether it goes on until somebody does something; what does not has to be there twice.
    pub lasts: bool,
}

/// What was found in a look.
#[derive(Debug)]
pub struct WatchResult {
    /// Everything that is amiss, as far as it could be seen.
    pub problems: Vec<AlertProblem>,
    /// Whether what the store counts was counted. Where it was not, nobody knows what is over.
    pub is_counted: bool,
}

/// What is looked at.
pub struct AlertWatch {
    /// Whether anything new can be taken.
    pub desk: Arc<AgentRegistry>,
    /// What is kept.
    pub store: Arc<Store>,
    /// Whose it is, at the moment.
    pub agents: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Our certificate, where there is one.
    pub identity: Option<Arc<ServerIdentity>>,
    /// What orders it, when something does.
    pub orders: Option<Arc<Orders>>,
    /// The data folder, where there is one, and how many bytes have to be free there.
    pub disk: Option<(PathBuf, u64)>,
    /// How much of what the console refuses is too much.
    pub access: AccessThresholds,
}

opaque!(AlertWatch);

impl AlertProblem {
    /// Whether what is known by this key is counted by the store.
    #[must_use]
    pub fn is_of_store(key: &str) -> bool {
        [DEAD, STALE, ACCESS].iter().any(|prefix| key.starts_with(prefix))
    }
}

impl AlertWatch {
    /// Everything that is amiss.
    pub async fn problems(&self, now: Timestamp) -> WatchResult {
        let mut problems = Vec::new();
        if let Err(why) = self.desk.check().await {
            // It may be over at the next look, as when the database starts again.
            let what = format!("nothing new is taken: {why}");
            problems.push(AlertProblem { key: "store".into(), what, level: 0, lasts: false });
        }
        let (store, agents) = (Arc::clone(&self.store), (self.agents)());
        let counted = tokio::task::spawn_blocking(move || {
            let amiss = store.amiss(&agents)?;
            let refused = store.access_counts(now)?;
            Ok((amiss, refused))
        });
        let counted = counted.await;
        let counted = counted
            .unwrap_or_else(|error| Err(InternalError::new("counting what is amiss", error)));
        let is_counted = counted.is_ok();
        match counted {
            Ok((amiss, refused)) => {
                problems.extend(waiting(amiss));
                problems.extend(refused.iter().filter_map(|count| self.refused_often(count)));
            }
            Err(fault) => {
                tracing::warn!(cause = %fault.chain(), "what is amiss could not be counted");
                let what = "the store cannot be read".to_owned();
                problems.push(AlertProblem { key: "reading".into(), what, level: 0, lasts: false });
            }
        }
        problems.extend(self.little_room());
        problems.extend(self.certificate(now));
        problems.extend(self.orders());
        WatchResult { problems, is_counted }
    }

    /// What the console has refused, where it is more in about an hour than it should be.
    fn refused_often(&self, count: &AccessCount) -> Option<AlertProblem> {
        let AccessThresholds { failed_sign_ins, locked_sign_ins, refused_actions } = self.access;
        let number = count.happened;
        let kinds = [
            (AuditAction::SignInFailed, failed_sign_ins, "sign-ins to the console that failed"),
            (
                AuditAction::SignInLocked,
                locked_sign_ins,
                "locks of the console's sign-in after failures",
            ),
            (
                AuditAction::AccessRefused,
                refused_actions,
                "requests to the console beyond the role",
            ),
        ];
        let kind = kinds.into_iter().find(|(action, ..)| *action == count.action);
        let (_, threshold, what) = kind?;
        // Twice as much is news, and one more is not.
        let level = number.checked_div(threshold)?.checked_ilog2()?;
        Some(AlertProblem {
            key: format!("{ACCESS}{}", count.action.name()),
            what: format!("{number} {what} in the last hour; the console's audit says more"),
            level: level.into(),
            lasts: true,
        })
    }

    fn little_room(&self) -> Option<AlertProblem> {
        let (folder, least) = self.disk.as_ref()?;
        let free = room(folder).ok()?.free;
        let is_full = free < *least;
        (free < least.saturating_mul(AMPLE)).then(|| AlertProblem {
            key: "disk".into(),
            what: format!(
                "{} MiB are free on the disk; below {} leads are refused",
                free >> 20,
                least >> 20
            ),
            // That leads are refused from now on is news for those who know that there is little
            // room.
            level: is_full.into(),
            lasts: true,
        })
    }

    fn orders(&self) -> Option<AlertProblem> {
        let (orders, identity) = self.orders.as_ref().zip(self.identity.as_ref())?;
        let (what, is_bad) = orders.amiss(identity)?;
        Some(AlertProblem { key: "acme".into(), what, level: is_bad.into(), lasts: true })
    }

    fn certificate(&self, now: Timestamp) -> Option<AlertProblem> {
        let end = self.identity.as_ref()?.expiry_warning(now)?;
        let has_ended = end <= now;
        let word = if has_ended { "has ended" } else { "ends" };
        Some(AlertProblem {
            key: "certificate".into(),
            what: format!("the certificate of server.tls {word} on {}", rfc3339(end)),
            level: has_ended.into(),
            lasts: true,
        })
    }
}

/// What was given up, and what is stale.
fn waiting(amiss: Amiss) -> Vec<AlertProblem> {
    let Amiss { dead, stale } = amiss;
    let dead = dead.into_iter().map(|(agent, number)| AlertProblem {
        what: match number {
            1 => format!("{agent}: 1 delivery was given up"),
            _ => format!("{agent}: {number} deliveries were given up"),
        },
        key: format!("{DEAD}{agent}"),
        level: number,
        lasts: true,
    });
    let stale = stale.into_iter().map(|(agent, feed, taken_at)| AlertProblem {
        what: match taken_at {
            Some(at) => format!("{agent}: the feed {feed} is stale, taken last on {}", rfc3339(at)),
            None => format!("{agent}: the feed {feed} is stale, and was never taken"),
        },
        key: format!("{STALE}{agent}/{feed}"),
        level: 0,
        lasts: true,
    });
    dead.chain(stale).collect()
}
