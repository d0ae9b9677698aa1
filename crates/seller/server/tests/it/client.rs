//! A client of all three bindings that knows nothing but HTTP/2 and the published messages.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_server::a2a::Operation;
use tradepost_server::agent::Binding;

/// A connection.
pub struct Client {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

/// The head of an answer, its body and its trailers.
pub type FullResponse = (Response<()>, Bytes, Option<hyper::HeaderMap>);

/// What came back: the events of a stream or the one answer, or the error as this binding calls it.
pub type Answer = Result<Vec<Value>, String>;

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let (sender, connection) = handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        Self { address, sender }
    }

    /// Asks in the words of A2A 0.3, which names no version.
    pub async fn older(&self, method: &str, params: Value) -> Vec<Value> {
        events(self.older_begun(method, params).await).await
    }

    /// The same, as soon as the answer begins.
    pub async fn older_begun(&self, method: &str, params: Value) -> Response<Incoming> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.begin(&[], Method::POST, "/a2a", "application/json", body.to_string()).await
    }

    /// Asks for an operation in the words of a binding.
    pub async fn ask(&self, binding: Binding, operation: Operation, params: Value) -> Answer {
        match binding {
            Binding::JsonRpc => self.json_rpc(operation, params).await,
            Binding::HttpJson => self.http_json(operation, params).await,
            Binding::Grpc => self.grpc(operation, params).await,
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        media_type: &str,
        body: impl Into<Bytes>,
    ) -> FullResponse {
        self.send_as(&[("a2a-version", "1.0")], method, path, media_type, body).await
    }

    /// Sends a request with these headers.
    pub async fn send_as(
        &self,
        headers: &[(&str, &str)],
        method: Method,
        path: &str,
        media_type: &str,
        body: impl Into<Bytes>,
    ) -> FullResponse {
        let response = self.begin(headers, method, path, media_type, body).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap();
        let trailers = body.trailers().cloned();
        (Response::from_parts(parts, ()), body.to_bytes(), trailers)
    }

    /// Sends a request, and returns as soon as the answer begins.
    pub async fn begin(
        &self,
        headers: &[(&str, &str)],
        method: Method,
        path: &str,
        media_type: &str,
        body: impl Into<Bytes>,
    ) -> Response<Incoming> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("content-type", media_type)
            .header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        self.sender.clone().send_request(request).await.unwrap()
    }

    /// A document of this address.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        let (head, body, _) = self.send(Method::GET, path, "application/json", "").await;
        (head.status().as_u16(), tradepost_document::json::from_slice(&body).unwrap())
    }

    /// Asks for an operation in the words of a binding, and returns all that comes back.
    pub async fn ask_full(
        &self,
        binding: Binding,
        operation: Operation,
        params: Value,
    ) -> FullResponse {
        match binding {
            Binding::JsonRpc => self.send_json_rpc(operation.name(), params).await,
            Binding::HttpJson => self.send_http_json(operation, params).await,
            Binding::Grpc => {
                let message = protobuf::write(schema::request(operation), &params).unwrap();
                self.send_grpc(operation.name(), &message).await
            }
        }
    }

    /// Calls a method of JSON-RPC.
    pub async fn send_json_rpc(&self, method: &str, params: Value) -> FullResponse {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.send(Method::POST, "/a2a", "application/json", body.to_string()).await
    }

    /// Calls a method of gRPC with a message.
    pub async fn send_grpc(&self, method: &str, message: &[u8]) -> FullResponse {
        self.send_grpc_to(&format!("/lf.a2a.v1.A2AService/{method}"), message).await
    }

    /// Calls a method of any service of gRPC, by its path.
    pub async fn send_grpc_to(&self, path: &str, message: &[u8]) -> FullResponse {
        let framed = framed(message);
        self.send(Method::POST, path, "application/grpc", framed).await
    }

    async fn send_http_json(&self, operation: Operation, params: Value) -> FullResponse {
        let id = params.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let sends = params.get("message").is_some();
        let query = || {
            let members = params.as_object().into_iter().flatten();
            let texts = members.map(|(name, value)| match value.as_str() {
                Some(text) => format!("{name}={text}"),
                None => format!("{name}={value}"),
            });
            texts.collect::<Vec<_>>().join("&")
        };
        let (method, path) = match operation.name() {
            "SendMessage" => (Method::POST, "/rest/message:send".to_owned()),
            "SendStreamingMessage" => (Method::POST, "/rest/message:stream".to_owned()),
            "GetTask" => (Method::GET, format!("/rest/tasks/{id}")),
            "ListTasks" => (Method::GET, format!("/rest/tasks?{}", query())),
            "CancelTask" => (Method::POST, format!("/rest/tasks/{id}:cancel")),
            other => panic!("{other} is not asked for here"),
        };
        let body = if sends { params.to_string() } else { String::new() };
        self.send(method, &path, "application/a2a+json", body).await
    }

    async fn json_rpc(&self, operation: Operation, params: Value) -> Answer {
        let (head, bytes, _) = self.send_json_rpc(operation.name(), params).await;
        documents(&head, &bytes)
            .into_iter()
            .map(|answer| match answer.get("error") {
                Some(error) => Err(error["code"].to_string()),
                None => Ok(answer["result"].clone()),
            })
            .collect()
    }

    async fn http_json(&self, operation: Operation, params: Value) -> Answer {
        let (head, bytes, _) = self.send_http_json(operation, params).await;
        if head.status() != 200 {
            let error: Value = tradepost_document::json::from_slice(&bytes).unwrap();
            return Err(error["error"]["code"].to_string());
        }
        Ok(documents(&head, &bytes))
    }

    async fn grpc(&self, operation: Operation, params: Value) -> Answer {
        let message = protobuf::write(schema::request(operation), &params).unwrap();
        let (head, bytes, trailers) = self.send_grpc(operation.name(), &message).await;
        let status = trailers.as_ref().unwrap_or(head.headers())["grpc-status"].to_str().unwrap();
        if status != "0" {
            return Err(status.to_owned());
        }
        let mut rest = &bytes[..];
        let mut answers = Vec::new();
        while let Some((prefix, after)) = rest.split_first_chunk::<5>() {
            let [_, length @ ..] = *prefix;
            let (message, others) = after.split_at(u32::from_be_bytes(length) as usize);
            answers.push(protobuf::read(schema::answer(operation), message).unwrap());
            rest = others;
        }
        Ok(answers)
    }
}

/// A message of gRPC with its prefix.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

/// The documents of an answer: the data of its events, when it is a stream.
fn documents(head: &Response<()>, bytes: &[u8]) -> Vec<Value> {
    if head.headers()["content-type"] != "text/event-stream" {
        return vec![tradepost_document::json::from_slice(bytes).unwrap()];
    }
    let text = std::str::from_utf8(bytes).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|json| tradepost_document::json::from_str(json).unwrap()).collect()
}

/// An answer as a snapshot shows it: the status, the headers that say what to do next, and the body, or the
/// details of a gRPC status. Ids that differ from run to run are replaced.
pub fn shown(response: &FullResponse) -> String {
    let (head, bytes, trailers) = response;
    let mut lines = Vec::new();
    let ended = trailers.as_ref().unwrap_or(head.headers());
    match ended.get("grpc-status") {
        Some(status) => {
            let message = ended.get("grpc-message").map_or("", |text| text.to_str().unwrap());
            lines.push(format!("grpc {} {message}", status.to_str().unwrap()));
        }
        None => lines.push(head.status().as_u16().to_string()),
    }
    for name in ["www-authenticate", "retry-after"] {
        if let Some(value) = head.headers().get(name) {
            lines.push(format!("{name}: {}", value.to_str().unwrap()));
        }
    }
    match ended.get("grpc-status-details-bin") {
        Some(details) => {
            let bytes = STANDARD_NO_PAD.decode(details.as_bytes()).unwrap();
            let status = protobuf::read(&schema::STATUS, &bytes).unwrap();
            lines.push(status["details"].to_string());
        }
        None => lines.push(String::from_utf8_lossy(bytes).into_owned()),
    }
    without_ids(&lines.join("\n"))
}

/// A text in which ids of errors and UUIDs are replaced.
pub fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("err_") {
        let (before, id) = rest.split_at(start + "err_".len());
        let end = id.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(id.len());
        out.push_str(before);
        out.push_str("<id>");
        rest = &id[end..];
    }
    out.push_str(rest);
    out
}

/// The documents of an answer that has begun.
pub async fn events(answer: Response<Incoming>) -> Vec<Value> {
    let (parts, body) = answer.into_parts();
    documents(&Response::from_parts(parts, ()), &body.collect().await.unwrap().to_bytes())
}
