//! A server of HTTP/2 that passes calls of gRPC on to another, and changes what comes back.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

/// The answer to a call.
#[derive(Debug, Clone, Default)]
pub struct Called {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, String)>,
}

impl Called {
    /// Where its status is: behind the body, or in the header where there is nothing else.
    pub fn place(&mut self) -> &mut Vec<(String, String)> {
        if self.trailers.is_empty() { &mut self.headers } else { &mut self.trailers }
    }

    pub fn metadata(&self, name: &str) -> Option<&str> {
        let mut all = self.trailers.iter().chain(&self.headers);
        all.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn set(&mut self, name: &str, value: &str) {
        let place = self.place();
        place.retain(|(known, _)| known != name);
        place.push((name.to_owned(), value.to_owned()));
    }

    pub fn binary(&self, name: &str) -> Option<Vec<u8>> {
        self.metadata(name).map(|text| STANDARD_NO_PAD.decode(text).unwrap())
    }

    pub fn set_binary(&mut self, name: &str, bytes: &[u8]) {
        self.set(name, &STANDARD_NO_PAD.encode(bytes));
    }
}

type Change = dyn Fn(&str, &mut Called) + Send + Sync;

/// Starts it in front of a server; its address. `change` gets the path of the call.
pub fn start(
    server: SocketAddr,
    change: impl Fn(&str, &mut Called) + Send + Sync + 'static,
) -> SocketAddr {
    let change: Arc<Change> = Arc::new(change);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let change = Arc::clone(&change);
                tokio::spawn(async move {
                    let service = service_fn(|request| pass(server, Arc::clone(&change), request));
                    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
    });
    address
}

async fn pass(
    server: SocketAddr,
    change: Arc<Change>,
    request: Request<Incoming>,
) -> hyper::Result<Response<BoxBody<Bytes, hyper::Error>>> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    head.uri = format!("http://{server}{path}").parse().unwrap();
    let body = body.collect().await?.to_bytes();
    let stream = TcpStream::connect(server).await.unwrap();
    // Otherwise a frame is held back until the one before is acknowledged, which takes 40 ms.
    stream.set_nodelay(true).unwrap();
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await?;
    tokio::spawn(connection);
    let answer = sender.send_request(Request::from_parts(head, Full::new(body))).await?;
    if path.ends_with("/SubscribeToTask") {
        // It may go on for ever.
        return Ok(answer.map(|body| body.boxed()));
    }
    let (head, body) = answer.into_parts();
    let body = body.collect().await?;
    let trailers = body.trailers().map(listed).unwrap_or_default();
    let body = body.to_bytes().to_vec();
    let mut called = Called { headers: listed(&head.headers), body, trailers };
    change(&path, &mut called);
    let data = (!called.body.is_empty()).then(|| Frame::data(Bytes::from(called.body)));
    let trailers = (!called.trailers.is_empty()).then(|| Frame::trailers(map(&called.trailers)));
    let frames = data.into_iter().chain(trailers).map(Ok::<_, Infallible>).collect::<Vec<_>>();
    let body = StreamBody::new(stream::iter(frames)).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    *response.status_mut() = head.status;
    *response.headers_mut() = map(&called.headers);
    Ok(response)
}

fn listed(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

fn map(headers: &[(String, String)]) -> HeaderMap {
    let pair = |(name, value): &(String, String)| {
        (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
    };
    headers.iter().map(pair).collect()
}
