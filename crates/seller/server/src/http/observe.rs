//! The request log: one entry per request, except for excess refusals of an address, which are
//! counted instead. Bodies, header values, queries and customers' contact values are never logged;
//! of an error only code and id.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::SignedDuration;
use tower::Service as _;
use tradepost_document::http::trace::{TRACEPARENT, Trace};

use super::compress::NoCompression;
use super::exchange::LogFields;
use super::head::check_single_host;
use super::site::{Site, known_path};
use super::{intake, mcp, plain};
use crate::agent::SharedAgent;
use crate::card::{ENDPOINT_PATH, HTTP_JSON_PATH};
use crate::clock::Clock;
use crate::limit::{LimitKey, Limiter, RateLimit};
use crate::metrics::{CallerKind, Metrics, RequestLabels};
use crate::panics;
use crate::refusals::RefusedRequest;
use crate::registry::AgentRegistry;
use crate::traces::{self, ActiveSpan, SpanKind, Tracer};

/// Rate limit of logged refusals per address.
const WRITTEN: RateLimit = RateLimit { requests: 60, window: SignedDuration::from_mins(1) };

/// Interval of the entries that count the other refusals.
pub(super) const SUMMARIES: Duration = Duration::from_secs(10);

/// Refusals that are logged, and counts of the others.
#[derive(Debug)]
pub(super) struct RefusalLog {
    /// True when the client's address is taken from the last entry of `X-Forwarded-For`.
    trust_forwarded_for: bool,
    written: Limiter,
    /// Counts by agent and code.
    unwritten: Mutex<BTreeMap<(String, &'static str), u64>>,
}

impl RefusalLog {
    pub(super) fn new(trust_forwarded_for: bool, clock: Clock) -> Self {
        let written = Limiter::new(WRITTEN, clock);
        Self { trust_forwarded_for, written, unwritten: Mutex::default() }
    }

    /// Returns true when a refusal is logged. Refusals for rate limits never are, because callers
    /// can cause any number of them.
    fn is_written(&self, caller: &LimitKey, agent: &str, stamp: &LogFields) -> bool {
        if !stamp.too_often && self.written.admit(caller).is_ok() {
            return true;
        }
        let code = stamp.code;
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        // Agents and codes are ours, so the table stays small.
        *unwritten.entry((agent.to_owned(), code)).or_default() += 1;
        false
    }

    /// Logs the counts since the last call.
    pub(super) fn summarize(&self) {
        self.written.tidy();
        let unwritten =
            std::mem::take(&mut *self.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
        for ((agent, code), requests) in unwritten {
            tracing::info!(agent, code, requests, "refused, and not written one by one");
        }
    }
}

/// Runs a request and logs it. A function around the router instead of a layer, which would cost
/// two allocations per request.
pub(super) async fn observe(
    mut site: Site,
    request: Request,
    refusals: &RefusalLog,
) -> Result<Response, Infallible> {
    let started = tokio::time::Instant::now();
    let method = request.method().clone();
    let path = known_path(request.uri().path(), site.paths);
    let path = path.as_ref();
    let registry = site.registry.take();
    let counted = registry.as_ref().map(|registry| &registry.metrics);
    let _in_flight = counted.map(|metrics| metrics.begin());
    let headers = request.headers();
    let extensions = request.extensions();
    let caller = intake::address_of(refusals.trust_forwarded_for, headers, extensions);
    let tracer = registry.as_ref().and_then(|registry| registry.tracer());
    let begun = tracer.and_then(|tracer| tracer.begin(caller_trace(headers)));
    // First, because every route depends on the host.
    let mut response = match check_single_host(&request) {
        Ok(()) => {
            let answered = traces::within(begun.as_ref(), site.router.call(request));
            match panics::catch("answering a request", answered).await {
                Ok(answered) => answered?,
                Err(fault) => plain::failed(&fault),
            }
        }
        Err(refused) => *refused,
    };
    let status = response.status().as_u16();
    let took = started.elapsed();
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let stamp = response.extensions_mut().remove::<LogFields>();
    if let Some(metrics) = counted {
        count(metrics, path, status, stamp.as_ref(), took);
    }
    let sampled = begun.as_ref().filter(|begun| begun.trace.is_sampled);
    if let Some(tracer) = tracer
        && let Some(begun) = sampled
    {
        trace(tracer, begun, method.as_str(), path, status, stamp.as_ref());
    }
    match stamp {
        Some(stamp) => {
            let agent = stamp.agent.as_ref().map_or("", |agent| agent.id_or_none());
            let code = stamp.code;
            let skill = stamp.skill.unwrap_or_default();
            let error_id = stamp.error_id.as_deref().unwrap_or_default();
            if code == "OK" {
                tracing::debug!(%method, path, status, micros, agent, code, skill, "answered");
            } else {
                response.extensions_mut().insert(NoCompression);
                let is_written = refusals.is_written(&LimitKey::address(caller), agent, &stamp);
                if is_written {
                    tracing::info!(%method, path, status, micros, agent, code, error_id, "refused");
                }
                if let Some(registry) = &registry {
                    note(registry, stamp, is_written);
                }
            }
        }
        None => tracing::debug!(%method, path, status, micros, "answered"),
    }
    Ok(response)
}

/// Logs the end of a call whose answer is a stream: the request was logged when the stream began. There are as many of
/// them as open questions, so each is written.
pub(super) fn log_end(
    registry: &AgentRegistry,
    status: StatusCode,
    took: Duration,
    stamp: LogFields,
) {
    let status = status.as_u16();
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let agent = stamp.agent.as_ref().map_or("", |agent| agent.id_or_none());
    let code = stamp.code;
    let skill = stamp.skill.unwrap_or_default();
    if code == "OK" {
        tracing::debug!(
            path = mcp::PATH,
            status,
            micros,
            agent,
            code,
            skill,
            "answered after a question"
        );
        return;
    }
    let error_id = stamp.error_id.as_deref().unwrap_or_default();
    tracing::info!(
        path = mcp::PATH,
        status,
        micros,
        agent,
        code,
        error_id,
        "refused after a question"
    );
    note(registry, stamp, true);
}

/// A call that an agent has taken from another.
#[derive(Debug)]
pub struct PassedCall {
    /// Time that it took.
    pub took: Duration,
    /// What the log and the metrics have of it.
    pub fields: LogFields,
}

/// Logs and counts a call that an agent has taken from another of the process, as if it had come by itself. The request
/// is logged by itself, so the call is not logged as one.
pub fn record_passed(registry: &AgentRegistry, agent: &SharedAgent, call: PassedCall) {
    let PassedCall { took, fields } = call;
    let stamp = LogFields { agent: Some(Arc::clone(agent)), ..fields };
    count(&registry.metrics, mcp::PATH, StatusCode::OK.as_u16(), Some(&stamp), took);
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let agent = stamp.agent.as_ref().map_or("", |agent| agent.id_or_none());
    let code = stamp.code;
    let skill = stamp.skill.unwrap_or_default();
    let error_id = stamp.error_id.as_deref().unwrap_or_default();
    tracing::debug!(
        path = mcp::PATH,
        micros,
        agent,
        code,
        skill,
        error_id,
        "answered another agent"
    );
    if code != "OK" {
        // Callers can cause any number of refusals for rate limits.
        let is_written = !stamp.too_often;
        note(registry, stamp, is_written);
    }
}

/// Records a refusal; excess ones only as a count.
fn note(registry: &AgentRegistry, stamp: LogFields, is_written: bool) {
    if let Some(ledger) = registry.ledger()
        && let Some(agent) = &stamp.agent
    {
        ledger.note(RefusedRequest {
            agent: agent.id_or_none().to_owned(),
            at: registry.clock.now(),
            code: stamp.code,
            error_id: stamp.error_id.filter(|_| is_written),
            operation: stamp.skill.or(stamp.operation),
            caller: stamp.caller,
            misfits: stamp.misfits,
        });
    }
}

/// Returns the trace of the caller. A repeated header is ignored.
fn caller_trace(headers: &HeaderMap) -> Option<Trace> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let first = values.next()?;
    let second = values.next();
    Trace::read(first.to_str().ok()?).filter(|_| second.is_none())
}

/// Ends the span of a request, with the log fields.
fn trace(
    tracer: &Tracer,
    begun: &ActiveSpan,
    method: &str,
    path: &str,
    status: u16,
    stamp: Option<&LogFields>,
) {
    let mut attributes = vec![
        ("http.request.method", method.to_owned()),
        ("url.path", path.to_owned()),
        ("http.response.status_code", status.to_string()),
        ("tradepost.binding", binding(path).to_owned()),
    ];
    let mut name = format!("{method} {path}");
    if let Some(stamp) = stamp {
        if let Some(operation) = stamp.skill.or(stamp.operation) {
            operation.clone_into(&mut name);
            attributes.push(("tradepost.operation", operation.to_owned()));
        }
        let agent = stamp.agent.as_ref().map(|agent| agent.id_or_none().to_owned());
        attributes.extend(agent.map(|agent| ("tradepost.agent", agent)));
        attributes.push(("tradepost.code", stamp.code.to_owned()));
        let id = stamp.error_id.clone();
        attributes.extend(id.map(|id| ("tradepost.error_id", id)));
    }
    let failed = status >= 500 || stamp.is_some_and(|stamp| is_ours(stamp.code));
    tracer.end(begun, SpanKind::Server, name, attributes, failed);
}

/// Returns true for codes of internal errors.
fn is_ours(code: &str) -> bool {
    matches!(code, "FAILED" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE" | "UNAVAILABLE")
}

/// Counts a request in the metrics.
fn count(metrics: &Metrics, path: &str, status: u16, stamp: Option<&LogFields>, took: Duration) {
    const BAD_REQUEST: u16 = 400;
    let agent = stamp.and_then(|stamp| stamp.agent.as_ref()).map_or("", |agent| agent.id_or_none());
    let operation = stamp.and_then(|stamp| stamp.skill.or(stamp.operation)).unwrap_or_default();
    let code = match stamp {
        Some(stamp) => stamp.code,
        // Answers outside every binding have no error code.
        None if status < BAD_REQUEST => "OK",
        None => "HTTP_ERROR",
    };
    let asked = RequestLabels { agent: metrics.name(agent), binding: binding(path), operation };
    if stamp.is_some_and(|stamp| stamp.too_often) {
        metrics.limited(&asked);
    }
    metrics.ended(asked, stamp.map_or(CallerKind::Unproven, |stamp| stamp.caller), code, took);
}

/// Returns the binding of a path for the log.
fn binding(path: &str) -> &'static str {
    match path {
        ENDPOINT_PATH => "jsonrpc",
        mcp::PATH => "mcp",
        _ if path.starts_with(HTTP_JSON_PATH) => "http_json",
        _ if path.starts_with("/lf.a2a.") => "grpc",
        _ => "http",
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use futures_util::future::BoxFuture;
    use tradepost_a2a::error::{A2aCode, A2aRefusal};

    use super::*;
    use crate::agent::{Agent, AgentOutcome, AgentRequest};
    use crate::auth::Authenticator;
    use crate::card::{self, PublishedCard};
    use crate::refusals::RefusalSink;

    #[derive(Debug)]
    struct Plain {
        card: PublishedCard,
        auth: Authenticator,
    }

    impl Agent for Plain {
        fn card(&self) -> &PublishedCard {
            &self.card
        }

        fn auth(&self) -> &Authenticator {
            &self.auth
        }

        fn perform<'a>(&'a self, _: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
            let code = A2aCode::UnsupportedOperation;
            Box::pin(ready(AgentOutcome::Protocol(A2aRefusal::new(code, code.title()))))
        }
    }

    #[derive(Debug, Default)]
    struct CollectedRefusals(Mutex<Vec<Option<String>>>);

    impl RefusalSink for CollectedRefusals {
        fn note(&self, refused: RefusedRequest) {
            self.0.lock().unwrap().push(refused.error_id);
        }
    }

    #[test]
    fn passed_calls_over_a_rate_limit_are_only_counted() {
        let clock = Clock::system();
        let card = card::describe("plain", "An agent.", "http://127.0.0.1");
        let card = PublishedCard::from_card(&card, clock.now());
        let agent: SharedAgent =
            Arc::new(Plain { card, auth: Authenticator::open_to_all("plain") });
        let registry = AgentRegistry::from_agent(Arc::clone(&agent));
        let collected = Arc::new(CollectedRefusals::default());
        registry.set_refusal_sink(Arc::clone(&collected) as _);
        for too_often in [true, false] {
            let error_id = Some("err_1".to_owned());
            let fields = LogFields { code: "REFUSED", too_often, error_id, ..LogFields::default() };
            record_passed(&registry, &agent, PassedCall { took: Duration::ZERO, fields });
        }
        assert_eq!(*collected.0.lock().unwrap(), [None, Some("err_1".to_owned())]);
    }
}
