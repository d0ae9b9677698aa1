//! HTTP/1.1 server of the sandbox. Unlike the main server it can close connections in the middle, for which its
//! service must be able to fail.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tradepost_server::http::Peer;

use super::Sandbox;

/// Maximum time for the head of a request to arrive.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum time for open answers when the sandbox stops.
const GRACE: Duration = Duration::from_secs(2);

/// Maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 256;

/// Serves until `stop` resolves, then finishes open answers for at most two seconds.
pub async fn serve(listener: TcpListener, sandbox: Arc<Sandbox>, stop: impl Future<Output = ()>) {
    // Every connection holds a receiver until it has ended.
    let (stopping, stopped) = watch::channel(());
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    tokio::pin!(stop);
    loop {
        let accept = async {
            // A permit is acquired first: further clients wait in the accept queue of the system.
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accept => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            // Most likely out of file descriptors: wait for other connections to end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let sandbox = Arc::clone(&sandbox);
        let stopped = stopped.clone();
        tokio::spawn(async move {
            connection(stream, Peer(peer), sandbox, stopped).await;
            drop(place);
        });
    }
    // Dropped, because this receiver would keep the channel open.
    drop((listener, stopped));
    stopping.send_replace(());
    let _ = tokio::time::timeout(GRACE, stopping.closed()).await;
}

async fn connection(
    stream: TcpStream,
    peer: Peer,
    sandbox: Arc<Sandbox>,
    mut stopping: watch::Receiver<()>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let sandbox = Arc::clone(&sandbox);
        async move { sandbox.answer(request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut stopped = false;
    loop {
        tokio::select! {
            biased;
            // Errors are ignored: the sandbox breaks connections on purpose.
            _ = connection.as_mut() => return,
            _ = stopping.changed(), if !stopped => {
                stopped = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
