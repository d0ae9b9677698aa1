//! Metrics of the writers: queue length and commit times.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tradepost_server::metrics::histogram;

/// Metrics of the writer.
#[derive(Debug, Clone)]
pub(super) struct WriterCounts {
    /// Jobs that are waiting, and those of the batch that is being committed.
    pub(super) queued: Gauge,
    jobs: Counter,
    failed: Counter,
    commits: Histogram,
}

impl Default for WriterCounts {
    fn default() -> Self {
        let queued = Gauge::default();
        let jobs = Counter::default();
        let failed = Counter::default();
        Self { queued, jobs, failed, commits: histogram() }
    }
}

impl WriterCounts {
    /// Counts a batch after its commit succeeded (`well`) or failed.
    pub(super) fn committed(&self, jobs: usize, well: bool, took: Duration) {
        self.queued.dec_by(i64::try_from(jobs).unwrap_or(i64::MAX));
        self.jobs.inc_by(u64::try_from(jobs).unwrap_or(u64::MAX));
        self.commits.observe(took.as_secs_f64());
        if !well {
            self.failed.inc();
        }
    }

    /// Registers the metrics.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("store_queue", "Jobs that wait to be written", self.queued.clone());
        registry.register("store_jobs", "Jobs that were written", self.jobs.clone());
        registry.register("store_failed_commits", "Commits that failed", self.failed.clone());
        registry.register_with_unit(
            "store_commit_duration",
            "How long commits took, each with the jobs in it",
            Unit::Seconds,
            self.commits.clone(),
        );
    }
}
