//! Traces: what was done for one thing that somebody asked for, also by others (W3C Trace Context,
//! OpenTelemetry). Here is when a part of a trace begins and ends, and in which one a task is; whoever
//! runs a server says where they go.
//!
//! A part has a name, how long it took, and attributes that are ours: nothing that a caller wrote is in
//! it but the trace's id, which is as good as random.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tradepost_wire::http::trace::Trace;

use crate::clock::Clock;

/// On whose side a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Somebody asked us.
    Server,
    /// We asked somebody.
    Client,
}

/// A part of a trace, which has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace and the part.
    pub trace: Trace,
    /// The part that it belongs to.
    pub parent: Option<[u8; 8]>,
    /// On whose side.
    pub side: Side,
    /// What was done.
    pub name: String,
    /// When it began.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// More about it: names that are ours, and values that are ours.
    pub attributes: Vec<(&'static str, String)>,
    /// Whether we, or whoever we asked, broke.
    pub failed: bool,
}

/// Takes the parts that have ended. Nobody waits for it.
pub trait Spans: fmt::Debug + Send + Sync {
    /// Takes one, or leaves it when there are too many.
    fn take(&self, span: Span);
}

/// Begins and ends parts.
#[derive(Debug, Clone)]
pub struct Tracer {
    spans: Arc<dyn Spans>,
    /// How many of a hundred traces are written down.
    percent: u8,
    clock: Clock,
}

/// A part that has begun.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// Where it is.
    pub trace: Trace,
    parent: Option<[u8; 8]>,
    at: Timestamp,
    since: Instant,
}

tokio::task_local! {
    static CURRENT: Trace;
}

/// The part of a trace in which this task is.
#[must_use]
pub fn current() -> Option<Trace> {
    CURRENT.try_with(|trace| *trace).ok()
}

/// Has something done in a part of a trace, if there is one.
pub async fn within<T>(begun: Option<&Begun>, work: impl Future<Output = T>) -> T {
    match begun {
        Some(begun) => CURRENT.scope(begun.trace, work).await,
        None => work.await,
    }
}

impl Tracer {
    /// One that hands so many of a hundred traces to somebody.
    #[must_use]
    pub fn new(spans: Arc<dyn Spans>, percent: u8, clock: Clock) -> Self {
        Self { spans, percent, clock }
    }

    /// Begins a part: of the trace that a caller is in, or of a new one. `None` when this machine has no
    /// random numbers.
    ///
    /// A caller can say that a trace is not written down, and not that it is: everybody who has the same
    /// share comes to the same end by the trace's id, which a caller may have chosen to that end.
    #[must_use]
    pub fn begin(&self, caller: Option<Trace>) -> Option<Begun> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        let (fresh, span) = random.split_at(16);
        let fresh: [u8; 16] = fresh.try_into().ok()?;
        let id = caller.map_or(fresh, |caller| caller.id);
        let is_wanted = caller.is_none_or(|caller| caller.is_sampled);
        let is_sampled = is_wanted && u64::from(self.percent) > share(&id);
        let trace = Trace { id, span: span.try_into().ok()?, is_sampled };
        let parent = caller.map(|caller| caller.span);
        Some(Begun { trace, parent, at: self.clock.now(), since: Instant::now() })
    }

    /// Ends a part.
    pub fn end(
        &self,
        begun: &Begun,
        side: Side,
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

/// Where a trace stands among a hundred, by the part of its id that is random (Trace Context 2 §3.2.2.3).
fn share(id: &[u8; 16]) -> u64 {
    id.iter().skip(9).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) % 100
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Kept(Mutex<Vec<Span>>);

    impl Spans for Kept {
        fn take(&self, span: Span) {
            self.0.lock().unwrap().push(span);
        }
    }

    fn caller(is_sampled: bool) -> Trace {
        Trace { id: [7; 16], span: [1; 8], is_sampled }
    }

    #[tokio::test]
    async fn a_part_belongs_to_its_callers_trace_and_is_known_to_what_runs_in_it() {
        let kept = Arc::new(Kept::default());
        let tracer = Tracer::new(Arc::clone(&kept) as _, 100, Clock::system());
        let begun = tracer.begin(Some(caller(true))).unwrap();
        assert_eq!(current(), None);
        let seen = within(Some(&begun), async { current() }).await;
        assert_eq!(seen, Some(begun.trace));
        assert_eq!(begun.trace.id, [7; 16]);
        assert_ne!(begun.trace.span, [1; 8]);
        tracer.end(&begun, Side::Server, "work", Vec::new(), false);
        let spans = kept.0.lock().unwrap();
        assert_eq!((spans.len(), spans[0].parent), (1, Some([1; 8])));
    }

    #[test]
    fn a_caller_can_keep_a_trace_from_being_written_down_and_cannot_have_it_done() {
        let kept = Arc::new(Kept::default());
        let all = Tracer::new(Arc::clone(&kept) as _, 100, Clock::system());
        let none = Tracer::new(Arc::clone(&kept) as _, 0, Clock::system());
        for (tracer, by) in
            [(&all, Some(caller(false))), (&none, Some(caller(true))), (&none, None)]
        {
            let begun = tracer.begin(by).unwrap();
            assert!(!begun.trace.is_sampled);
            tracer.end(&begun, Side::Server, "work", Vec::new(), false);
        }
        assert!(kept.0.lock().unwrap().is_empty());
        let half = Tracer::new(kept, 50, Clock::system());
        let sampled = (0..1_000).filter(|_| half.begin(None).unwrap().trace.is_sampled).count();
        assert!((300..700).contains(&sampled), "{sampled}");
    }
}
