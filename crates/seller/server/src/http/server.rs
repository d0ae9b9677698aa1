//! Listening, serving and graceful shutdown.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, StatusCode, header};
use connection::{ConnectionClient, ProtocolSettings};
use places::{ConnectionSlot, ConnectionSlots};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::head::Peer;
use super::observe::{RefusalLog, SUMMARIES};
use super::plain::plain_error_body;
use super::settings::HttpSettings;
use super::site::Site;
use crate::background::keep_going;
use crate::clock::Clock;
use crate::tls::ServerIdentity;

mod arrival;
mod connection;
mod handshake;
mod places;

/// Source of connections.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    identity: Option<Arc<ServerIdentity>>,
}

impl Listener {
    /// Listens for TLS connections.
    #[must_use]
    pub fn with_tls(tcp: TcpListener, identity: Arc<ServerIdentity>) -> Self {
        Self { tcp, identity: Some(identity) }
    }
}

impl From<TcpListener> for Listener {
    /// Listens for unencrypted connections.
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, identity: None }
    }
}

/// Serves until `stop` resolves, and then until every request in progress is answered, at most for
/// `shutdown_grace`. HTTP/1.1 and HTTP/2 share the port.
pub async fn serve(
    listener: impl Into<Listener>,
    site: impl Into<Site>,
    settings: &HttpSettings,
    stop: impl Future<Output = ()>,
) {
    let Listener { tcp, identity } = listener.into();
    // Every connection holds a receiver until it has ended.
    let (stopping, stopped) = watch::channel(());
    let host = ConnectionDeps {
        protocol: ProtocolSettings::new(settings.read_timeout),
        site: site.into(),
        refusals: Arc::new(RefusalLog::new(settings.trust_forwarded_for, Clock::system())),
    };
    let refusals = Arc::clone(&host.refusals);
    let summaries = tokio::spawn(keep_going("summaries of the log", move || {
        let refusals = Arc::clone(&refusals);
        async move {
            loop {
                tokio::time::sleep(SUMMARIES).await;
                refusals.summarize();
            }
        }
    }));
    let room = ConnectionSlots::new(settings);
    tokio::pin!(stop);
    loop {
        // When all places are taken by busy connections, the next one waits in the system's queue.
        let accept = async {
            let (stream, address) = tcp.accept().await?;
            let place = room.enter(address.ip()).await;
            Ok::<_, std::io::Error>((stream, address, place))
        };
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept => accepted,
        };
        let (stream, address, place) = match accepted {
            Ok((stream, address, Some(place))) => (stream, address, place),
            Ok((stream, _, None)) => {
                // Over TLS no answer is possible before the handshake, which would need a place.
                if identity.is_none() {
                    reject_connection(&stream);
                }
                continue;
            }
            Err(error) => {
                // Usually out of file descriptors, until other connections end.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Answers are small and complete; waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let host = host.clone();
        let stopped = stopped.clone();
        match identity.clone() {
            None => tokio::spawn(host.accept(stream, address, place, stopped)),
            Some(identity) => {
                tokio::spawn(host.accept_tls(stream, address, place, stopped, identity))
            }
        };
    }
    // The system accepts no more connections from here on, and the remaining receivers belong to
    // open connections.
    drop((tcp, stopped));
    stopping.send_replace(());
    if tokio::time::timeout(settings.shutdown_grace, stopping.closed()).await.is_err() {
        tracing::warn!("some requests were still running when the grace period ended");
    }
    summaries.abort();
    host.refusals.summarize();
}

/// Tells an address that is busy on all its connections why it gets no more, as far as that is
/// possible without waiting.
fn reject_connection(stream: &TcpStream) {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let message = "your address has all the connections that one may have; use those";
    let body = plain_error_body(status, "RESOURCE_EXHAUSTED", message);
    let _ =
        stream.try_write(closing_answer(status, &[(header::RETRY_AFTER, "1")], &body).as_bytes());
}

/// Writes an answer by hand, after which the connection is closed.
fn closing_answer(status: StatusCode, more: &[(HeaderName, &str)], body: &str) -> String {
    let more: String = more.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "HTTP/1.1 {status}\r\n{}: application/json\r\n{}: {}\r\n{}: close\r\n{more}\r\n{body}",
        header::CONTENT_TYPE,
        header::CONTENT_LENGTH,
        body.len(),
        header::CONNECTION,
    )
}

/// Dependencies of a connection.
#[derive(Debug, Clone)]
struct ConnectionDeps {
    protocol: ProtocolSettings,
    site: Site,
    refusals: Arc<RefusalLog>,
}

impl ConnectionDeps {
    async fn accept(
        self,
        stream: TcpStream,
        address: SocketAddr,
        place: ConnectionSlot,
        stopped: watch::Receiver<()>,
    ) {
        let client = ConnectionClient { peer: Peer(address), secure: false, certificate: None };
        self.protocol.serve(stream, client, self.site, self.refusals, place, stopped).await;
    }

    /// Separate from the unencrypted variant, whose futures would otherwise be a kilobyte larger.
    async fn accept_tls(
        self,
        stream: TcpStream,
        address: SocketAddr,
        place: ConnectionSlot,
        mut stopped: watch::Receiver<()>,
        identity: Arc<ServerIdentity>,
    ) {
        let peer = Peer(address);
        // No request has begun, so nothing is lost when the server stops or another connection
        // needs the place.
        let tls = tokio::select! {
            _ = stopped.changed() => None,
            () = place.needed() => None,
            tls = handshake::negotiate(stream, peer, &identity, self.protocol.head_timeout) => tls,
        };
        if let Some((stream, certificate)) = tls {
            let client = ConnectionClient { peer, secure: true, certificate };
            self.protocol.serve(stream, client, self.site, self.refusals, place, stopped).await;
        }
    }
}
