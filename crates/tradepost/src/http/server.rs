//! Listening, serving and stopping: connections in, requests to the router, and on the way out
//! everything that has begun is finished.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::Peer;
use crate::config::Server;
use crate::tls::Identity;
use connection::{Client, Protocol};

mod connection;
mod handshake;

/// How many TLS handshakes may be going on at once; more have to wait.
const HANDSHAKES: usize = 1024;

/// Where connections come from.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    identity: Option<Arc<Identity>>,
}

impl Listener {
    /// Connections over TLS.
    #[must_use]
    pub fn over_tls(tcp: TcpListener, identity: Arc<Identity>) -> Self {
        Self { tcp, identity: Some(identity) }
    }
}

impl From<TcpListener> for Listener {
    /// Connections in clear text.
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, identity: None }
    }
}

/// Serves until `stop` resolves, and then until every request in progress is answered, at most
/// `shutdown_grace` long. HTTP/1.1 and HTTP/2 are spoken on the same port.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    server: &Server,
    stop: impl Future<Output = ()>,
) {
    let Listener { tcp, identity } = listener.into();
    // Every connection holds a receiver until it has ended.
    let (stopping, told) = watch::channel(());
    let host = Host {
        protocol: Protocol::new(Duration::try_from(server.read_timeout).unwrap_or(Duration::MAX)),
        router,
        room: Arc::new(Semaphore::new(server.max_connections)),
    };
    // Somebody who only begins a handshake takes nobody's room.
    let entrance = match &identity {
        Some(_) => Arc::new(Semaphore::new(HANDSHAKES)),
        None => Arc::clone(&host.room),
    };
    tokio::pin!(stop);
    loop {
        // Without room the next connection waits in the system's queue.
        let accept = async {
            let place = Arc::clone(&entrance).acquire_owned().await;
            (place, tcp.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accept => accepted,
        };
        let Ok(place) = place else { unreachable!("nobody closes the entrance") };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely: others have to finish first.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Answers are small and complete; waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let (host, told) = (host.clone(), told.clone());
        match identity.clone() {
            None => tokio::spawn(host.welcome(stream, address, place, told)),
            Some(identity) => {
                tokio::spawn(host.welcome_over_tls(stream, address, place, told, identity))
            }
        };
    }
    drop((tcp, told));
    let grace = Duration::try_from(server.shutdown_grace).unwrap_or(Duration::MAX);
    stopping.send_replace(());
    if tokio::time::timeout(grace, stopping.closed()).await.is_err() {
        tracing::warn!("some requests were still running when the grace period ended");
    }
}

/// What serves a connection.
#[derive(Debug, Clone)]
struct Host {
    protocol: Protocol,
    router: Router,
    room: Arc<Semaphore>,
}

impl Host {
    async fn welcome(
        self,
        stream: TcpStream,
        address: SocketAddr,
        place: OwnedSemaphorePermit,
        told: watch::Receiver<()>,
    ) {
        let client = Client { peer: Peer(address), secure: false, certificate: None };
        self.protocol.serve(stream, client, self.router, told).await;
        drop(place);
    }

    async fn welcome_over_tls(
        self,
        stream: TcpStream,
        address: SocketAddr,
        entrance: OwnedSemaphorePermit,
        mut told: watch::Receiver<()>,
        identity: Arc<Identity>,
    ) {
        let peer = Peer(address);
        let enter = async {
            let shaken = handshake::shake(stream, peer, &identity, self.protocol.patience).await?;
            let place = Arc::clone(&self.room).acquire_owned().await.ok()?;
            Some((shaken, place))
        };
        // Nothing has been asked yet, so that nothing is lost when the server stops.
        let entered = tokio::select! {
            _ = told.changed() => None,
            entered = enter => entered,
        };
        drop(entrance);
        if let Some(((stream, certificate), place)) = entered {
            let client = Client { peer, secure: true, certificate };
            self.protocol.serve(stream, client, self.router, told).await;
            drop(place);
        }
    }
}
