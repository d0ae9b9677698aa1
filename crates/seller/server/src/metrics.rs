//! Metrics for operators: number, result and duration of requests, in the text format of
//! OpenMetrics, which Prometheus reads.
//!
//! Labels have values of ours only: codes, operations, tools, bindings and ids of configured
//! agents. Nothing that a caller sends becomes a label, so the number of series is bounded, and
//! none contains personal data.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeLabelValue, EncodeMetric as _, LabelValueEncoder,
};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;

use crate::agent::Caller;

/// Media type of [`Metrics::write`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Prefix of every name.
const PREFIX: &str = "tradepost";

/// Bounds of the histograms in seconds: a search takes a fraction of a millisecond, and no answer
/// may take more than a few seconds.
pub const SECONDS: [f64; 12] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0];

/// Metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<AnswerLabels, Counter>,
    limited: Family<RequestLabels, Counter>,
    seconds: Family<RequestLabels, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    panics: Family<AgentLabel, Counter>,
    certificate: Certificate,
    /// Interned label values, so that a request needs no copy.
    names: RwLock<HashSet<LabelValue>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let requests = Family::default();
        let limited = Family::default();
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        let in_flight = Gauge::default();
        let help = "Requests that were answered, by how they ended";
        registry.register("requests", help, requests.clone());
        let help = "Requests that were refused because their sender comes too often";
        registry.register("rate_limited_requests", help, limited.clone());
        let help = "How long answers took until their head was there";
        registry.register_with_unit("request_duration", help, Unit::Seconds, seconds.clone());
        registry.register("requests_in_flight", "Requests being answered", in_flight.clone());
        let panics = Family::default();
        let help = "Panics of an agent's own code, each of which failed one request or task";
        registry.register("agent_panics", help, panics.clone());
        let certificate = Certificate::default();
        let names = RwLock::default();
        registry.register_collector(Box::new(certificate.clone()));
        Self { registry, requests, limited, seconds, in_flight, panics, certificate, names }
    }
}

/// Creates a histogram of durations.
#[must_use]
pub fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

catalog! {
    /// Kinds of callers.
    pub enum CallerKind {}
    /// Authenticated by a credential.
    Known = "key" {}
    /// Without a credential.
    Anonymous = "anonymous" {}
    /// Not authenticated, or refused.
    Unproven = "unproven" {}
}

impl CallerKind {
    /// Returns the kind of an authenticated caller.
    #[must_use]
    pub fn from_caller(caller: &Caller) -> Self {
        if caller.principal.is_anonymous() { Self::Anonymous } else { Self::Known }
    }
}

impl EncodeLabelValue for CallerKind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        EncodeLabelValue::encode(&self.name(), encoder)
    }
}

/// Labels of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    /// Id of the agent; empty without one.
    pub(crate) agent: LabelValue,
    pub(crate) binding: &'static str,
    /// Skill or tool, or else an operation of the protocol; empty when unknown.
    pub(crate) operation: &'static str,
}

/// Label of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AgentLabel {
    agent: LabelValue,
}

/// Labels of an answered request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    #[prometheus(flatten)]
    asked: RequestLabels,
    caller: CallerKind,
    code: &'static str,
}

/// An interned label value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LabelValue(Arc<str>);

impl EncodeLabelValue for LabelValue {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        EncodeLabelValue::encode(&&*self.0, encoder)
    }
}

impl Borrow<str> for LabelValue {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Metrics {
    /// Returns the registry, for further metrics.
    pub fn registry(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Counts a request as in flight until the returned value is dropped.
    pub(crate) fn begin(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Returns the label of a configured agent.
    pub(crate) fn name(&self, id: &str) -> LabelValue {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(id) {
            return known.clone();
        }
        // Released first, because taking the write lock while holding the read lock would deadlock.
        drop(names);
        let name = LabelValue(id.into());
        self.names.write().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        name
    }

    /// Counts an answered request.
    pub(crate) fn ended(
        &self,
        asked: RequestLabels,
        caller: CallerKind,
        code: &'static str,
        took: Duration,
    ) {
        self.seconds.get_or_create(&asked).observe(took.as_secs_f64());
        self.requests.get_or_create(&AnswerLabels { asked, caller, code }).inc();
    }

    /// Counts a request refused by a rate limit.
    pub(crate) fn limited(&self, asked: &RequestLabels) {
        self.limited.get_or_create(asked).inc();
    }

    /// Counts a panic of the code of a configured agent.
    pub(crate) fn count_panic(&self, agent_id: &str) {
        self.panics.get_or_create(&AgentLabel { agent: self.name(agent_id) }).inc();
    }

    /// Sets the state of our certificate.
    pub(crate) fn certificate(&self, end: Option<Timestamp>, failed_orders: Option<u32>) {
        *self.certificate.0.lock().unwrap_or_else(PoisonError::into_inner) =
            (end.map(Timestamp::as_second), failed_orders.map(i64::from));
    }

    /// Writes all metrics. May query a store and block.
    ///
    /// # Errors
    /// When a metric cannot be written.
    pub fn write(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

/// End of our certificate, and number of failed orders, where it is ordered automatically. Without
/// a certificate both are left out, because no number would be true.
#[derive(Debug, Clone, Default)]
struct Certificate(Arc<Mutex<(Option<i64>, Option<i64>)>>);

impl Collector for Certificate {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (end, failed) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, help, number) in [
            (
                "certificate_expiry_timestamp_seconds",
                "When the certificate of server.tls ends, in seconds since 1970",
                end,
            ),
            (
                "certificate_orders_failed",
                "How many orders of a certificate have failed since one that did not",
                failed,
            ),
        ] {
            let Some(number) = number else { continue };
            let gauge = ConstGauge::new(number);
            let described = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            gauge.encode(described)?;
        }
        Ok(())
    }
}

/// A request in flight; it also ends when its client disconnects.
#[derive(Debug)]
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_under_labels_of_ours() {
        let metrics = Metrics::default();
        let asked = |operation| {
            let agent = metrics.name("larkspur");
            RequestLabels { agent, binding: "jsonrpc", operation }
        };
        let took = Duration::from_micros(300);
        metrics.ended(asked("GetTask"), CallerKind::Known, "OK", took);
        metrics.ended(asked("GetTask"), CallerKind::Known, "OK", took);
        metrics.ended(asked("GetTask"), CallerKind::Anonymous, "TASK_NOT_FOUND", took);
        metrics.limited(&asked("SendMessage"));
        let one = metrics.begin();
        let two = metrics.begin();
        drop(one);
        let text = metrics.write().unwrap();
        for line in [
            r#"tradepost_requests_total{agent="larkspur",binding="jsonrpc",operation="GetTask",caller="key",code="OK"} 2"#,
            r#"tradepost_requests_total{agent="larkspur",binding="jsonrpc",operation="GetTask",caller="anonymous",code="TASK_NOT_FOUND"} 1"#,
            r#"tradepost_rate_limited_requests_total{agent="larkspur",binding="jsonrpc",operation="SendMessage"} 1"#,
            r#"tradepost_request_duration_seconds_bucket{le="0.00025",agent="larkspur",binding="jsonrpc",operation="GetTask"} 0"#,
            r#"tradepost_request_duration_seconds_bucket{le="0.0005",agent="larkspur",binding="jsonrpc",operation="GetTask"} 3"#,
            "tradepost_requests_in_flight 1",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
        assert_eq!(metrics.names.read().unwrap().len(), 1);
        assert!(!text.contains("certificate"), "{text}");
        let end = "2026-04-30T12:00:00Z".parse().unwrap();
        metrics.certificate(Some(end), Some(2));
        let text = metrics.write().unwrap();
        for line in [
            "tradepost_certificate_expiry_timestamp_seconds 1777550400",
            "tradepost_certificate_orders_failed 2",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
        drop(two);
        assert!(metrics.write().unwrap().contains("tradepost_requests_in_flight 0\n"));
    }
}
