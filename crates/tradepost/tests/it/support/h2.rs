//! A client that speaks HTTP/2 and nothing else: one connection, many requests.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;

use super::Response;

/// A connection.
pub struct Connection {
    runtime: Runtime,
    sender: SendRequest<Full<Bytes>>,
    /// What a request names when it names nobody else.
    authority: String,
}

impl Connection {
    /// Connects by prior knowledge, in clear text (RFC 9113 §3.3).
    pub fn open(address: SocketAddr) -> Self {
        Self::over(address.to_string(), async move {
            tokio::net::TcpStream::connect(address).await.unwrap()
        })
    }

    /// Speaks over what `connect` gives.
    pub fn over<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        authority: String,
        connect: impl Future<Output = S>,
    ) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let sender = runtime.block_on(async {
            let stream = TokioIo::new(connect.await);
            let (sender, connection) = handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            sender
        });
        Self { runtime, sender, authority }
    }

    /// Sends a request and reads its answer to the end.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response {
        let target = format!("http://{}{path}", self.authority);
        self.send(method, &target, headers, body.into()).unwrap()
    }

    /// The same for any URI, which becomes `:scheme`, `:authority` and `:path`.
    pub fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> hyper::Result<Response> {
        let request = request(method, target, headers, body);
        self.runtime.block_on(answer(self.sender.clone(), request))
    }

    /// Sends many requests before it reads the first answer.
    pub fn send_all(&self, requests: Vec<Request<Full<Bytes>>>) -> Vec<Response> {
        let answers = requests
            .into_iter()
            .map(|request| self.runtime.spawn(answer(self.sender.clone(), request)));
        let answers: Vec<_> = answers.collect();
        let all = answers.into_iter().map(|answer| self.runtime.block_on(answer).unwrap().unwrap());
        all.collect()
    }
}

/// A request in HTTP/2.
pub fn request(
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Request<Full<Bytes>> {
    let uri: Uri = target.parse().unwrap();
    let mut request = Request::builder().method(method).uri(uri).version(Version::HTTP_2);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body)).unwrap()
}

async fn answer(
    mut sender: SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> hyper::Result<Response> {
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    assert_eq!(response.version(), Version::HTTP_2);
    let (parts, body) = response.into_parts();
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let headers = headers.collect();
    let body = body.collect().await?.to_bytes().to_vec();
    Ok(Response { status: parts.status.as_u16(), headers, body })
}
