//! Listening. Unlike the server proper this one ends connections in their middle, which takes a
//! service that can fail; it speaks HTTP/1.1 alone.

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

/// How long the head of a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long answers may still take when the sandbox is to stop.
const GRACE: Duration = Duration::from_secs(2);

/// How many connections there may be at once.
const MAX_CONNECTIONS: usize = 256;

/// Serves until `stop` resolves, and then until what has been answered is sent.
pub async fn serve(listener: TcpListener, sandbox: Arc<Sandbox>, stop: impl Future<Output = ()>) {
    // Every connection holds a receiver until it has ended.
    let (stopping, stopped) = watch::channel(());
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    tokio::pin!(stop);
    loop {
        let accept = async {
            // A place first: whoever cannot be served yet waits outside, in the system's queue.
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accept => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            // Out of descriptors, most likely: others have to finish first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (sandbox, stopped) = (Arc::clone(&sandbox), stopped.clone());
        tokio::spawn(async move {
            connection(stream, Peer(peer), sandbox, stopped).await;
            drop(place);
        });
    }
    // Nobody new comes in, and this receiver would keep the channel open.
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
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut stopped = false;
    loop {
        tokio::select! {
            biased;
            // Many of these end badly; that is what they are for.
            _ = connection.as_mut() => return,
            _ = stopping.changed(), if !stopped => {
                stopped = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
