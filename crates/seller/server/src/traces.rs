//! Distributed tracing (W3C Trace Context, OpenTelemetry): begins and ends spans, and tracks the
//! current trace of a task. The program decides where spans are sent.
//!
//! A span has a name, a duration, and attributes of our own: nothing of a caller's text is in it
//! except the random trace id.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use jiff::Timestamp;
use tokio::time::Instant;
use tradepost_document::http::trace::Trace;

use crate::clock::Clock;

/// Kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that we received.
    Server,
    /// A request that we sent.
    Client,
}

/// A finished span.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Ids of the trace and the span.
    pub trace: Trace,
    /// Id of the parent span.
    pub parent: Option<[u8; 8]>,
    /// Kind.
    pub side: SpanKind,
    /// Name.
    pub name: String,
    /// Start.
    pub began: Timestamp,
    /// Duration.
    pub took: Duration,
    /// Attributes: names and values of our own.
    pub attributes: Vec<(&'static str, String)>,
    /// True when we, or the server we called, failed.
    pub failed: bool,
}

/// Receiver of finished spans. Must not block.
pub trait Spans: fmt::Debug + Send + Sync {
    /// Takes a span, or drops it when there are too many.
    fn take(&self, span: Span);
}

/// Begins and ends spans.
#[derive(Debug, Clone)]
pub struct Tracer {
    spans: Arc<dyn Spans>,
    /// Percentage of traces that are recorded.
    percent: u8,
    clock: Clock,
}

/// A span in progress.
#[derive(Debug, Clone, Copy)]
pub struct ActiveSpan {
    /// Ids of the trace and the span.
    pub trace: Trace,
    parent: Option<[u8; 8]>,
    at: Timestamp,
    since: Instant,
}

tokio::task_local! {
    static CURRENT: Trace;
}

/// Returns the trace of the current task.
#[must_use]
pub fn current() -> Option<Trace> {
    CURRENT.try_with(|trace| *trace).ok()
}

/// Runs work in a span, if there is one.
pub fn within<T>(
    begun: Option<&ActiveSpan>,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    match begun {
        Some(begun) => Either::Left(CURRENT.scope(begun.trace, work)),
        None => Either::Right(work),
    }
}

impl Tracer {
    /// Creates a tracer that records a percentage of traces.
    #[must_use]
    pub fn new(spans: Arc<dyn Spans>, percent: u8, clock: Clock) -> Self {
        Self { spans, percent, clock }
    }

    /// Begins a span: of the caller's trace, or of a new one. `None` when this machine has no
    /// random source.
    ///
    /// A caller can prevent the recording of a trace, but not force it: the trace id decides, so
    /// that servers with the same percentage record the same traces. A caller may choose the id to
    /// that end.
    #[must_use]
    pub fn begin(&self, caller: Option<Trace>) -> Option<ActiveSpan> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        let (fresh, span) = random.split_at(16);
        let fresh: [u8; 16] = fresh.try_into().ok()?;
        let id = caller.map_or(fresh, |caller| caller.id);
        let is_wanted = caller.is_none_or(|caller| caller.is_sampled);
        let is_sampled = is_wanted && u64::from(self.percent) > share(&id);
        let trace = Trace { id, span: span.try_into().ok()?, is_sampled };
        let parent = caller.map(|caller| caller.span);
        Some(ActiveSpan { trace, parent, at: self.clock.now(), since: Instant::now() })
    }

    /// Ends a span.
    pub fn end(
        &self,
        begun: &ActiveSpan,
        side: SpanKind,
        name: impl Into<String>,
        attributes: Vec<(&'static str, String)>,
        failed: bool,
    ) {
        if !begun.trace.is_sampled {
            return;
        }
        self.spans.take(Span {
            trace: begun.trace,
            parent: begun.parent,
            side,
            name: name.into(),
            began: begun.at,
            took: begun.since.elapsed(),
            attributes,
            failed,
        });
    }
}

/// Maps the random part of a trace id to a percentage (Trace Context 2 §3.2.2.3).
fn share(id: &[u8; 16]) -> u64 {
    id.iter().skip(9).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) % 100
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct CollectedSpans(Mutex<Vec<Span>>);

    impl Spans for CollectedSpans {
        fn take(&self, span: Span) {
            self.0.lock().unwrap().push(span);
        }
    }

    fn caller(is_sampled: bool) -> Trace {
        Trace { id: [7; 16], span: [1; 8], is_sampled }
    }

    #[tokio::test]
    async fn a_span_joins_its_callers_trace_and_is_known_inside() {
        let collected = Arc::new(CollectedSpans::default());
        let tracer = Tracer::new(Arc::clone(&collected) as _, 100, Clock::system());
        let begun = tracer.begin(Some(caller(true))).unwrap();
        assert_eq!(current(), None);
        let seen = within(Some(&begun), async { current() }).await;
        assert_eq!(seen, Some(begun.trace));
        assert_eq!(begun.trace.id, [7; 16]);
        assert_ne!(begun.trace.span, [1; 8]);
        tracer.end(&begun, SpanKind::Server, "work", Vec::new(), false);
        let spans = collected.0.lock().unwrap();
        assert_eq!((spans.len(), spans[0].parent), (1, Some([1; 8])));
    }

    #[test]
    fn a_caller_can_prevent_a_trace_and_cannot_demand_one() {
        let collected = Arc::new(CollectedSpans::default());
        let all = Tracer::new(Arc::clone(&collected) as _, 100, Clock::system());
        let none = Tracer::new(Arc::clone(&collected) as _, 0, Clock::system());
        for (tracer, by) in
            [(&all, Some(caller(false))), (&none, Some(caller(true))), (&none, None)]
        {
            let begun = tracer.begin(by).unwrap();
            assert!(!begun.trace.is_sampled);
            tracer.end(&begun, SpanKind::Server, "work", Vec::new(), false);
        }
        assert!(collected.0.lock().unwrap().is_empty());
        let half = Tracer::new(collected, 50, Clock::system());
        let sampled = (0..1_000).filter(|_| half.begin(None).unwrap().trace.is_sampled).count();
        assert!((300..700).contains(&sampled), "{sampled}");
    }
}
