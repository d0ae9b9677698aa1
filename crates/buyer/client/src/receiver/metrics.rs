//! Counters of a receiver.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counter, which only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts one.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the count.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! metrics {
    ($( $(#[doc = $doc:literal])+ $name:ident )*) => {
        /// Counts since the start.
        #[derive(Debug, Default)]
        pub struct ReceiverMetrics { $( $(#[doc = $doc])+ pub $name: Counter, )* }

        /// Counts at one moment.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct MetricsSnapshot { $( $(#[doc = $doc])+ pub $name: u64, )* }

        impl ReceiverMetrics {
            /// Returns the current counts.
            #[must_use]
            pub fn snapshot(&self) -> MetricsSnapshot {
                MetricsSnapshot { $( $name: self.$name.get(), )* }
            }
        }

        impl MetricsSnapshot {
            /// Returns the counts in the text format of Prometheus.
            #[must_use]
            pub fn text(&self) -> String {
                let mut out = String::new();
                $({
                    let name = concat!("tradepost_receiver_", stringify!($name), "_total");
                    let help = concat!($($doc),+).trim();
                    let _ = writeln!(out, "# HELP {name} {help}");
                    let _ = writeln!(out, "# TYPE {name} counter");
                    let _ = writeln!(out, "{name} {}", self.$name);
                })*
                out
            }
        }
    };
}

metrics! {
    /// Deliveries kept.
    kept
    /// Deliveries that had been kept before.
    duplicates
    /// Requests whose sender was not believed.
    unauthentic
    /// Authentic requests that were no delivery: too large, of another type, or not readable.
    unreadable
    /// Deliveries whose sender had used their key for something else.
    conflicts
    /// Deliveries that could not be kept and were not acknowledged.
    unkept
    /// Questions for a task because its deliveries stayed away.
    polls
    /// Questions that got no usable answer.
    poll_failures
    /// Deliveries found by asking, which had been missed.
    missed
    /// Deliveries handled.
    handled
    /// Attempts to handle a delivery that failed.
    handling_failures
    /// Deliveries given up.
    dead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_a_metric_with_help_and_type() {
        let metrics = ReceiverMetrics::default();
        metrics.kept.add();
        metrics.kept.add();
        let snapshot = metrics.snapshot();
        assert_eq!(snapshot, MetricsSnapshot { kept: 2, ..MetricsSnapshot::default() });
        let text = snapshot.text();
        assert_eq!(text.lines().count(), 3 * 12);
        assert!(text.starts_with(
            "# HELP tradepost_receiver_kept_total Deliveries kept.\n\
             # TYPE tradepost_receiver_kept_total counter\ntradepost_receiver_kept_total 2\n"
        ));
    }
}
