//! One connection, in HTTP/1.1 or HTTP/2.
//!
//! The first bytes tell the version: HTTP/2 begins with a preface that no HTTP/1.1 request has (RFC
//! 9113 §3.4). Over TLS a client that negotiated `h2` sends the same preface.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{Request, Response, header};
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::arrival::ArrivingBody;
use super::places::{ConnectionSlot, RequestCounts, RequestInProgress};
use crate::http::HSTS;
use crate::http::compress;
use crate::http::head::Peer;
use crate::http::observe::{RefusalLog, observe};
use crate::http::site::Site;
use crate::tls::client::ClientCertificate;

/// Maximum size in bytes of the head of a request: request line or pseudo-headers, and headers.
const MAX_HEAD_BYTES: u32 = 32 * 1024;

/// Maximum number of concurrent requests of an HTTP/2 connection; the minimum that RFC 9113 §6.5.2
/// recommends.
const MAX_STREAMS: u32 = 100;

/// Number of unread body bytes that an HTTP/2 connection may send: the protocol's initial value
/// (RFC 9113 §6.9.2), because these bytes are not counted as pending.
const WINDOW: u32 = 65_535;

/// Maximum number of unsent bytes of an HTTP/2 answer for a slow client.
const MAX_UNSENT: usize = 256 * 1024;

/// Time of silence after which an HTTP/2 connection gets a ping, and maximum time for its answer.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Idle time of an HTTP/2 connection. In HTTP/1.1 it is the maximum time for a head.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The client of a connection.
#[derive(Debug)]
pub(super) struct ConnectionClient {
    pub peer: Peer,
    /// True over TLS.
    pub secure: bool,
    /// Verified client certificate.
    pub certificate: Option<ClientCertificate>,
}

/// Protocol settings of connections.
#[derive(Debug, Clone)]
pub(super) struct ProtocolSettings {
    builder: auto::Builder<TokioExecutor>,
    /// Maximum time for the head of a request.
    pub(super) head_timeout: Duration,
}

impl ProtocolSettings {
    /// Creates settings; `head_timeout` is the maximum time for the head of a request.
    pub(super) fn new(head_timeout: Duration) -> Self {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .max_buf_size(MAX_HEAD_BYTES as usize);
        // The rest are hyper's defaults: frames of 16 KiB, and a connection that resets streams too
        // fast is closed (CVE-2023-44487).
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(MAX_HEAD_BYTES)
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_send_buf_size(MAX_UNSENT)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_INTERVAL);
        Self { builder, head_timeout }
    }

    /// Serves a connection until it ends. When `stopping` changes, when it is idle for too long, or
    /// when its place is needed, no new request is accepted and those in progress are finished.
    pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        client: ConnectionClient,
        site: Site,
        refusals: Arc<RefusalLog>,
        place: ConnectionSlot,
        mut stopping: watch::Receiver<()>,
    ) {
        let requests = Arc::clone(&place.requests);
        let counted = Arc::clone(&requests);
        let service = service_fn(move |request: Request<Incoming>| {
            let begun = Arc::clone(&counted).begin();
            let mut request = request.map(|body| match body.is_end_stream() {
                true => Body::new(body),
                false => Body::new(ArrivingBody::new(body, begun.progress())),
            });
            request.extensions_mut().insert(client.peer);
            if let Some(certificate) = &client.certificate {
                request.extensions_mut().insert(certificate.clone());
            }
            let site = site.clone();
            let refusals = Arc::clone(&refusals);
            answer(site, request, refusals, client.secure, begun)
        });
        let connection = self.builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut idle =
            Idle { requests: Arc::clone(&requests), seen: 0, head_timeout: self.head_timeout };
        let mut ending = false;
        let mut stopped = false;
        let mut dismissed = false;
        loop {
            tokio::select! {
                // In this order an answer that is ready is sent before the connection ends.
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended badly");
                    }
                    return;
                }
                // Never fails: the sender is dropped only after it has announced the change.
                _ = stopping.changed(), if !stopped => {
                    stopped = true;
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = place.needed(), if !dismissed => {
                    dismissed = true;
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                    // A last request is answered; otherwise only the closing message is sent.
                    if !requests.is_busy() {
                        poll_fn(|context| {
                            let _ = connection.as_mut().poll(context);
                            Poll::Ready(())
                        })
                        .await;
                        return;
                    }
                }
                () = idle.wait() => {
                    // The client was told to close, and has not done so in another idle time.
                    if ending {
                        return;
                    }
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Answers a request, which is in progress until its answer has been sent.
async fn answer(
    site: Site,
    request: Request<Body>,
    refusals: Arc<RefusalLog>,
    secure: bool,
    begun: RequestInProgress,
) -> Result<Response<CountedBody>, Infallible> {
    let wanted = compress::is_wanted(request.headers());
    // Before the router consumes the request.
    let secure = secure || site.is_published_over_tls(&request);
    let response = observe(site, request, &refusals).await?;
    let mut response = if wanted { compress::compress(response).await } else { response };
    compress::vary(&mut response);
    if secure {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    Ok(response.map(|body| CountedBody { body, _begun: begun }))
}

/// Detects idle connections. hyper limits the time for heads in HTTP/1.1, but not for the first
/// bytes that tell the version, and not in HTTP/2.
#[derive(Debug)]
struct Idle {
    requests: Arc<RequestCounts>,
    /// Number of requests that had begun when the last wait ended.
    seen: u64,
    head_timeout: Duration,
}

impl Idle {
    /// Resolves after a wait in which no request began and at whose end none is in progress.
    /// Requests during a wait postpone the end by a whole one.
    async fn wait(&mut self) {
        loop {
            // Before the first request the time limit of a head applies, after it the idle time.
            let limit = if self.seen == 0 { self.head_timeout } else { IDLE_TIMEOUT };
            tokio::time::sleep(limit).await;
            let begun = self.requests.begun.load(Ordering::Relaxed);
            // A request with a stalled body is ended by the limits on bodies instead.
            if !self.requests.has_open() && begun == self.seen {
                return;
            }
            self.seen = begun;
        }
    }
}

/// The body of an answer; the request is in progress as long as it exists.
struct CountedBody {
    body: Body,
    _begun: RequestInProgress,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
