//! Listening, serving and stopping: connections in, requests to the router, and on the way out
//! everything that has begun is finished.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::Peer;
use crate::config::Server;
use connection::Protocol;

mod connection;

/// Serves until `stop` resolves, and then until every request in progress is answered, at most
/// `shutdown_grace` long. HTTP/1.1 and HTTP/2 are spoken on the same port.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    server: &Server,
    stop: impl Future<Output = ()>,
) {
    let protocol = Protocol::new(Duration::try_from(server.read_timeout).unwrap_or(Duration::MAX));
    // Every connection holds a receiver until it has ended.
    let (stopping, told) = watch::channel(());
    let room = Arc::new(Semaphore::new(server.max_connections));
    tokio::pin!(stop);
    loop {
        // Without room the next connection waits in the system's queue.
        let accept = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accept => accepted,
        };
        let (stream, peer) = match accepted {
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
        let (protocol, router, told) = (protocol.clone(), router.clone(), told.clone());
        tokio::spawn(async move {
            protocol.serve(stream, Peer(peer), router, told).await;
            drop(place);
        });
    }
    drop((listener, told));
    let grace = Duration::try_from(server.shutdown_grace).unwrap_or(Duration::MAX);
    stopping.send_replace(());
    if tokio::time::timeout(grace, stopping.closed()).await.is_err() {
        tracing::warn!("some requests were still running when the grace period ended");
    }
}
