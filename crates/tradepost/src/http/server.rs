//! Listening, serving and stopping: connections in, requests to the router, and on the way out
//! everything that has begun is finished.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::Peer;
use super::observe::observe;
use crate::config::Server;

/// The largest head of a request: request line and headers together.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// Serves until `stop` resolves, and then until every request in progress is answered, at most
/// `shutdown_grace` long.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    server: &Server,
    stop: impl Future<Output = ()>,
) {
    let mut builder = http1::Builder::new();
    let patience = Duration::try_from(server.read_timeout).unwrap_or(Duration::MAX);
    builder.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(MAX_HEAD_BYTES);
    let connections = GracefulShutdown::new();
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
        let router = router.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer));
            observe(router.clone(), request)
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(place);
        });
    }
    drop(listener);
    let grace = Duration::try_from(server.shutdown_grace).unwrap_or(Duration::MAX);
    if tokio::time::timeout(grace, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests were still running when the grace period ended");
    }
}
