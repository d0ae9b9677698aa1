//! Export of traces to a collector: OTLP over HTTP in JSON, as OpenTelemetry publishes it (OTLP
//! 1.x, "OTLP/HTTP"), in batches and by a task of its own. Requests never wait for it: spans that
//! find the queue full, or that the collector does not accept, are dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tradepost_document::format::hex;
use tradepost_document::json::{Value, json};
use tradepost_server::egress::client;
use tradepost_server::fault::InternalError;
use tradepost_server::traces::{Span, SpanKind, Spans};

use crate::config::Traces as Settings;
use crate::delivery::http::bearer;

/// Maximum number of queued spans.
const MAX_QUEUED_SPANS: usize = 4_096;

/// Maximum number of spans in a batch.
const MAX_BATCH_SPANS: usize = 512;

/// Maximum time that a span waits for others.
const MAX_BATCH_DELAY: Duration = Duration::from_secs(2);

/// Maximum time for a response of the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Queue of spans for the exporter.
pub struct TraceQueue {
    sender: Sender<Span>,
    lost: Arc<AtomicU64>,
}

opaque!(TraceQueue);

impl Spans for TraceQueue {
    fn take(&self, span: Span) {
        if self.sender.try_send(span).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sender of spans to a collector.
pub struct Exporter {
    settings: Settings,
    bearer: Option<HeaderValue>,
    client: Client,
    receiver: Receiver<Span>,
    lost: Arc<AtomicU64>,
}

opaque!(Exporter);

/// Creates a queue, and the exporter that has to be run to empty it.
///
/// # Errors
/// Fails when the secret cannot be read, or the machine's certificates cannot be read.
pub fn open(settings: Settings) -> Result<(TraceQueue, Exporter), InternalError> {
    const CONTEXT: &str = "setting up traces";
    let header = settings.bearer.as_ref().map(|secret| {
        let token = secret.read().map_err(|why| format!("traces.bearer: {why}"))?;
        bearer(&token).map_err(|why| format!("traces.{why}"))
    });
    let bearer = header.transpose().map_err(InternalError::on(CONTEXT))?;
    let client = client::without_guard(EXPORT_TIMEOUT, settings.endpoint.starts_with("https://"))?;
    let (sender, receiver) = channel(MAX_QUEUED_SPANS);
    let lost = Arc::new(AtomicU64::new(0));
    let queue = TraceQueue { sender, lost: Arc::clone(&lost) };
    Ok((queue, Exporter { settings, bearer, client, receiver, lost }))
}

impl Exporter {
    /// Sends spans until all senders of the queue are dropped.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(MAX_BATCH_SPANS);
        while self.receiver.recv_many(&mut batch, MAX_BATCH_SPANS).await > 0 {
            // More spans follow soon; a full batch is sent at once.
            let gather = async {
                while batch.len() < MAX_BATCH_SPANS {
                    match self.receiver.recv().await {
                        Some(span) => batch.push(span),
                        None => break,
                    }
                }
            };
            let _ = tokio::time::timeout(MAX_BATCH_DELAY, gather).await;
            let number = u64::try_from(batch.len()).unwrap_or_default();
            if let Err(why) = self.send(&batch).await {
                self.lost.fetch_add(number, Ordering::Relaxed);
                let spans = self.lost.load(Ordering::Relaxed);
                tracing::warn!(why, spans, "traces could not be sent; spans are lost so far");
            }
            batch.clear();
        }
    }

    async fn send(&self, batch: &[Span]) -> Result<(), String> {
        let body = document(&self.settings.service, batch).to_string();
        let mut request = self.client.post(&self.settings.endpoint).body(body);
        request = request.header(CONTENT_TYPE, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(reqwest::header::AUTHORIZATION, bearer.clone());
        }
        let sent = request.send().await.map_err(|error| error.without_url().to_string())?;
        let status = sent.status();
        if status.is_success() { Ok(()) } else { Err(format!("HTTP {}", status.as_u16())) }
    }
}

/// Returns an `ExportTraceServiceRequest`.
fn document(service: &str, batch: &[Span]) -> Value {
    let resource = [
        attribute("service.name", service),
        attribute("service.version", env!("CARGO_PKG_VERSION")),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{
            "scope": {"name": "tradepost"},
            "spans": batch.iter().map(span).collect::<Vec<_>>(),
        }],
    }]})
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn span(span: &Span) -> Value {
    let began = span.began.as_nanosecond();
    let took = i128::try_from(span.took.as_nanos()).unwrap_or_default();
    let attributes = span.attributes.iter().map(|(key, value)| attribute(key, value));
    json!({
        "traceId": hex(&span.trace.id),
        "spanId": hex(&span.trace.span),
        "parentSpanId": span.parent.map(|parent| hex(&parent)).unwrap_or_default(),
        // Sampled. Numbers are OTLP's enum values, and times are strings, as protocol buffers write
        // 64-bit integers in JSON.
        "flags": 1,
        "name": span.name,
        "kind": match span.side {
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": began.saturating_add(took).to_string(),
        "attributes": attributes.collect::<Vec<_>>(),
        "status": {"code": if span.failed { 2 } else { 0 }},
    })
}
