//! Logs every request once, except for refusals of callers who come too often: of those is said how
//! many there were. What is never logged: bodies, header values, queries, addresses of customers; of
//! an error only its code and id.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::SignedDuration;
use tower::Service as _;
use tradepost_wire::http::trace::{TRACEPARENT, Trace};

use super::compress::AsItIs;
use super::exchange::Stamp;
use super::head::name_one_host;
use super::site::{Site, known_path};
use super::{intake, mcp, plain};
use crate::card::{ENDPOINT_PATH, HTTP_JSON_PATH};
use crate::clock::Clock;
use crate::desk::Desk;
use crate::limit::{Key, Limiter, RateLimit};
use crate::metrics::{Asked, Kind, Metrics};
use crate::panics;
use crate::refusals::Refused;
use crate::traces::{self, Begun, Side, Tracer};

/// How many refusals of one address are written, each in a line of its own.
const WRITTEN: RateLimit = RateLimit { requests: 60, window: SignedDuration::from_mins(1) };

/// How often is said how many were not.
pub(super) const SUMMARIES: Duration = Duration::from_secs(10);

/// Which refusals are written, and how many were not.
#[derive(Debug)]
pub(super) struct Refusals {
    /// Whether the client's address is taken from the last entry of `X-Forwarded-For`.
    trust_forwarded_for: bool,
    written: Limiter,
    /// By agent and code.
    unwritten: Mutex<BTreeMap<(String, &'static str), u64>>,
}

impl Refusals {
    pub(super) fn new(trust_forwarded_for: bool, clock: Clock) -> Self {
        let written = Limiter::new(WRITTEN, clock);
        Self { trust_forwarded_for, written, unwritten: Mutex::default() }
    }

    /// Whether a refusal is written. One for coming too often never is: callers can have any number
    /// of them for nothing.
    fn is_written(&self, caller: &Key, agent: &str, stamp: &Stamp) -> bool {
        if !stamp.too_often && self.written.admit(caller).is_ok() {
            return true;
        }
        let code = stamp.code;
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        // Agents and codes are ours, so that this stays small whoever calls.
        *unwritten.entry((agent.to_owned(), code)).or_default() += 1;
        false
    }

    /// Says how many were not written since it was said last.
    pub(super) fn summarize(&self) {
        self.written.tidy();
        let unwritten =
            std::mem::take(&mut *self.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
        for ((agent, code), requests) in unwritten {
            tracing::info!(agent, code, requests, "refused, and not written one by one");
        }
    }
}

/// Has a request answered and logs it. This is a function around the router and no layer in it:
/// axum keeps a layer behind two boxes for each request.
pub(super) async fn observe(
    mut site: Site,
    request: Request,
    refusals: &Refusals,
) -> Result<Response, Infallible> {
    let started = tokio::time::Instant::now();
    let method = request.method().clone();
    let path = known_path(request.uri().path(), site.paths);
    let path = path.as_ref();
    let desk = site.desk.take();
    let counted = desk.as_ref().map(|desk| &desk.metrics);
    let _in_flight = counted.map(|metrics| metrics.begin());
    let (headers, extensions) = (request.headers(), request.extensions());
    let caller = intake::address_of(refusals.trust_forwarded_for, headers, extensions);
    let tracer = desk.as_ref().and_then(|desk| desk.tracer());
    let begun = tracer.and_then(|tracer| tracer.begin(caller_trace(headers)));
    // Before everything else, because every route depends on the host.
    let mut response = match name_one_host(&request) {
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
    let stamp = response.extensions_mut().remove::<Stamp>();
    if let Some(metrics) = counted {
        count(metrics, path, status, stamp.as_ref(), took);
    }
    let sampled = begun.as_ref().filter(|begun| begun.trace.is_sampled);
    if let (Some(tracer), Some(begun)) = (tracer, sampled) {
        trace(tracer, begun, (method.as_str(), path), status, stamp.as_ref());
    }
    match stamp {
        Some(stamp) => {
            let agent = stamp.agent.as_ref().map_or("", |agent| agent.id_or_none());
            let (code, skill) = (stamp.code, stamp.skill.unwrap_or_default());
            let error_id = stamp.error_id.as_deref().unwrap_or_default();
            if code == "OK" {
                tracing::debug!(%method, path, status, micros, agent, code, skill, "answered");
            } else {
                response.extensions_mut().insert(AsItIs);
                let is_written = refusals.is_written(&Key::address(caller), agent, &stamp);
                if is_written {
                    tracing::info!(%method, path, status, micros, agent, code, error_id, "refused");
                }
                if let Some(desk) = &desk {
                    note(desk, stamp, is_written);
                }
            }
        }
        None => tracing::debug!(%method, path, status, micros, "answered"),
    }
    Ok(response)
}

/// Has a refusal remembered; one of a flood only counts.
fn note(desk: &Desk, stamp: Stamp, is_written: bool) {
    if let (Some(ledger), Some(agent)) = (desk.ledger(), &stamp.agent) {
        ledger.note(Refused {
            agent: agent.id_or_none().to_owned(),
            at: desk.clock.now(),
            code: stamp.code,
            error_id: stamp.error_id.filter(|_| is_written),
            operation: stamp.skill.or(stamp.operation),
            caller: stamp.caller,
            misfits: stamp.misfits,
        });
    }
}

/// In which trace a caller is, as it says. More than one header is none.
fn caller_trace(headers: &HeaderMap) -> Option<Trace> {
    let mut said = headers.get_all(TRACEPARENT).iter();
    let (first, second) = (said.next()?, said.next());
    Trace::read(first.to_str().ok()?).filter(|_| second.is_none())
}

/// Ends the part of a trace that a request is, with what the log says of it.
fn trace(
    tracer: &Tracer,
    begun: &Begun,
    (method, path): (&str, &str),
    status: u16,
    stamp: Option<&Stamp>,
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
    tracer.end(begun, Side::Server, name, attributes, failed);
}

/// Whether a code says that we broke.
fn is_ours(code: &str) -> bool {
    matches!(code, "FAILED" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE" | "UNAVAILABLE")
}

/// Counts a request that was answered.
fn count(metrics: &Metrics, path: &str, status: u16, stamp: Option<&Stamp>, took: Duration) {
    const BAD_REQUEST: u16 = 400;
    let agent = stamp.and_then(|stamp| stamp.agent.as_ref()).map_or("", |agent| agent.id_or_none());
    let operation = stamp.and_then(|stamp| stamp.skill.or(stamp.operation)).unwrap_or_default();
    let code = match stamp {
        Some(stamp) => stamp.code,
        // What is outside of every binding has no code of its own.
        None if status < BAD_REQUEST => "OK",
        None => "HTTP_ERROR",
    };
    let asked = Asked { agent: metrics.name(agent), binding: binding(path), operation };
    if stamp.is_some_and(|stamp| stamp.too_often) {
        metrics.limited(&asked);
    }
    metrics.ended(asked, stamp.map_or(Kind::Unproven, |stamp| stamp.caller), code, took);
}

/// The binding of a path as the log names it.
fn binding(path: &str) -> &'static str {
    match path {
        ENDPOINT_PATH => "jsonrpc",
        mcp::PATH => "mcp",
        _ if path.starts_with(HTTP_JSON_PATH) => "http_json",
        _ if path.starts_with("/lf.a2a.") => "grpc",
        _ => "http",
    }
}
