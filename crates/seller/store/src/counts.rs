//! Metrics of a store: those of its writers, and rows that operators have to watch.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tradepost_document::fault::InternalError;

use super::Store;
use super::tables::counts::AgentRowCounts;

impl Store {
    /// Registers the metrics of the store. Rows are counted when the metrics are read, for the agents whose ids are in
    /// `agents` then.
    pub fn count_in(self: &Arc<Self>, registry: &mut Registry, agents: Counted) {
        self.writer.counts().register(registry);
        let collector =
            RowCountCollector { store: Arc::clone(self), agents, is_counting: Arc::default() };
        registry.register_collector(Box::new(collector));
    }
}

/// Problems that a person has to resolve, by agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenProblems {
    /// Numbers of leads, webhooks and notifications that were given up.
    pub dead: Vec<(String, u64)>,
    /// Feeds that are older than they may be, with the time when each was last the inventory.
    pub stale: Vec<(String, String, Option<Timestamp>)>,
}

impl Store {
    /// Returns the problems that a person has to resolve at these agents.
    ///
    /// # Errors
    /// When the database fails.
    pub fn open_problems(&self, agents: &[String]) -> Result<OpenProblems, InternalError> {
        let AgentRowCounts { dead, feeds, .. } = self.read(|database| database.waiting(agents))?;
        let number = |(agent, number): (String, i64)| (agent, u64::try_from(number).unwrap_or(0));
        let dead = dead.into_iter().map(number).filter(|(_, number)| *number > 0).collect();
        let stale = feeds.into_iter().filter(|(.., is_stale)| *is_stale);
        let taken = |at: i64| Timestamp::from_second(at).ok().filter(|_| at > 0);
        let stale = stale.map(|(agent, feed, at, _)| (agent, feed, taken(at))).collect();
        Ok(OpenProblems { dead, stale })
    }
}
/// Ids of the agents whose rows are counted; agents may be added and removed.
pub type Counted = Arc<RwLock<Vec<String>>>;

/// Time limit for counting rows. A request for metrics waits no longer than this and then gets the others without them.
const COUNT_TIMEOUT: Duration = Duration::from_secs(1);

/// Collector of the row counts.
#[derive(Debug)]
struct RowCountCollector {
    store: Arc<Store>,
    agents: Counted,
    /// True while the database is counting; a second request meanwhile does not start another count.
    is_counting: Arc<AtomicBool>,
}

/// Sets a flag to `false` when it is dropped, so that a panic does not leave it set forever.
struct ResetOnDrop(Arc<AtomicBool>);

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl RowCountCollector {
    /// Counts rows on a thread of its own, because the database may not answer for long. Returns `None` when it fails
    /// or takes too long; a failure is logged once for each count.
    fn count(&self) -> Option<AgentRowCounts> {
        if self.is_counting.swap(true, Ordering::AcqRel) {
            return None;
        }
        // Copied so that adding an agent does not wait for the database.
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner).clone();
        let store = Arc::clone(&self.store);
        let is_counting = Arc::clone(&self.is_counting);
        let (sender, receiver) = sync_channel(1);
        let counting =
            std::thread::Builder::new().name("store-counts".to_owned()).spawn(move || {
                let counting = ResetOnDrop(is_counting);
                let rows = store.read(|database| database.rows(&agents));
                drop(counting);
                let rows = rows.map_err(|fault: InternalError| {
                    tracing::warn!(cause = %fault.chain(), "what is kept could not be counted");
                });
                // The receiver is gone when the request has timed out.
                let _ = sender.send(rows.ok());
            });
        if counting.is_err() {
            self.is_counting.store(false, Ordering::Release);
            return None;
        }
        receiver.recv_timeout(COUNT_TIMEOUT).ok().flatten()
    }
}

impl Collector for RowCountCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // An older count would be wrong now, so none is reported.
        let Some(rows) = self.count() else { return Ok(()) };
        let AgentRowCounts { tasks, pending, dead, feeds } = rows;
        let by_state = tasks.iter().map(|(agent, state, number)| {
            ([("agent", agent.as_str()), ("state", state.as_str())], *number)
        });
        write(&mut encoder, "tasks", "Tasks that are kept.", by_state)?;
        for (name, help, rows) in [
            ("deliveries_pending", "Leads, webhooks and notifications to deliver.", pending),
            ("deliveries_dead", "Those that were given up and are kept.", dead),
        ] {
            let rows = rows.iter().map(|(agent, number)| ([("agent", agent.as_str())], *number));
            write(&mut encoder, name, help, rows)?;
        }
        let by_feed = |read: fn(i64, bool) -> i64| {
            feeds.iter().map(move |(agent, feed, at, stale)| {
                ([("agent", agent.as_str()), ("feed", feed.as_str())], read(*at, *stale))
            })
        };
        let help = "When feeds last were the inventory, in seconds since 1970; 0 for never.";
        write(&mut encoder, "feed_taken_timestamp_seconds", help, by_feed(|at, _| at))?;
        let help = "Whether feeds are older than they may be.";
        write(&mut encoder, "feed_stale", help, by_feed(|_, stale| i64::from(stale)))?;
        Ok(())
    }
}

/// Writes a metric with one value for each set of labels; a metric without values is left out.
fn write<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: impl Iterator<Item = (L, i64)>,
) -> fmt::Result {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, number) in rows {
        ConstGauge::new(number).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_counting_resets_the_flag() {
        let is_counting = Arc::new(AtomicBool::new(true));
        let flag = Arc::clone(&is_counting);
        let counting = std::thread::spawn(move || {
            let _counting = ResetOnDrop(flag);
            std::panic::resume_unwind(Box::new("the database panicked"));
        });
        assert!(counting.join().is_err());
        assert!(!is_counting.load(Ordering::Acquire));
    }
}
