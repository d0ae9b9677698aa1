//! tonic as a client for calls as they should be, and HTTP/2 without it for those that no client of
//! good will would make.

use std::time::Duration;

use axum::http;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::{Buf as _, BufMut as _, Bytes};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{KeyAndValueRef, MetadataMap};
use tonic::transport::Channel;
use tradepost_a2a::Operation;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use crate::support::conformance::versioned;
use crate::support::layout;

pub const SERVICE: &str = "/lf.a2a.v1.A2AService";

/// Messages as bytes.
#[derive(Default)]
pub struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = tonic::Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = tonic::Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, tonic::Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// A connection and what drives it.
pub struct Client {
    pub runtime: tokio::runtime::Runtime,
    pub channel: Channel,
    address: std::net::SocketAddr,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: RpcStatus,
    pub message: String,
    /// `google.rpc.RpcStatus`, or null.
    pub details: Value,
    pub messages: Vec<Value>,
    /// What came with it, except the time and the status itself.
    pub metadata: Vec<(String, String)>,
}

impl Answer {
    /// The one message that it brought.
    #[track_caller]
    pub fn one(&self) -> &Value {
        assert_eq!((self.status, self.messages.len()), (RpcStatus::Ok, 1), "{self:?}");
        &self.messages[0]
    }

    pub fn metadata(&self, name: &str) -> Option<&str> {
        let found = self.metadata.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The reason in the details.
    pub fn reason(&self) -> &str {
        self.details["details"][0]["reason"].as_str().unwrap_or_default()
    }

    /// All that was said, with what differs from run to run replaced.
    pub fn snapshot(&self) -> String {
        let mut out = format!("{}\n{}\n", self.status, self.message);
        for value in self.messages.iter().chain(self.details.get("details")) {
            let mut value = value.clone();
            redact(&mut value);
            out.push_str(&layout::lay_out(&value));
            out.push('\n');
        }
        out
    }
}

/// Ids differ from run to run.
fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => members.values_mut().for_each(redact),
        Value::String(text) if uuid::Uuid::parse_str(text).is_ok() => *text = "<id>".to_owned(),
        Value::String(text) if text.starts_with("err_") => *text = "err_<id>".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Client {
    pub fn connect(address: std::net::SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let channel = runtime.block_on(async {
            let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
            endpoint.timeout(Duration::from_secs(60)).connect().await.unwrap()
        });
        Self { runtime, channel, address }
    }

    /// A call with these parameters, in the JSON that they stand for.
    pub fn call(&self, headers: &[(&str, &str)], method: &str, params: &Value) -> Answer {
        let operation = Operation::from_name(method).unwrap();
        let request = protobuf::write(schema::request(operation), params).unwrap();
        self.bytes(headers, method, request)
    }

    /// The same without metadata.
    pub fn ask(&self, method: &str, params: &Value) -> Answer {
        self.call(&[], method, params)
    }

    /// A call with this message.
    pub fn bytes(&self, headers: &[(&str, &str)], method: &str, message: Vec<u8>) -> Answer {
        let mut request = tonic::Request::new(message);
        put(request.metadata_mut(), &versioned(headers));
        let path = format!("{SERVICE}/{method}").parse().unwrap();
        let streams = Operation::from_name(method).is_some_and(Operation::streams);
        self.runtime.block_on(async {
            let mut client = tonic::client::Grpc::new(self.channel.clone());
            client.ready().await.unwrap();
            if !streams {
                return match client.unary(request, path, Raw).await {
                    Ok(response) => {
                        let (metadata, message, _) = response.into_parts();
                        ended(method, Ok(()), vec![message], &metadata)
                    }
                    Err(status) => ended(method, Err(&status), Vec::new(), status.metadata()),
                };
            }
            let response = match client.server_streaming(request, path, Raw).await {
                Ok(response) => response,
                Err(status) => return ended(method, Err(&status), Vec::new(), status.metadata()),
            };
            let (metadata, mut stream, _) = response.into_parts();
            let mut messages = Vec::new();
            loop {
                match stream.message().await {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => return ended(method, Ok(()), messages, &metadata),
                    Err(status) => return ended(method, Err(&status), messages, &metadata),
                }
            }
        })
    }

    /// A stream that is read as it comes.
    pub fn stream(&self, method: &str, params: &Value) -> tonic::Streaming<Bytes> {
        let operation = Operation::from_name(method).unwrap();
        let request = protobuf::write(schema::request(operation), params).unwrap();
        let path = format!("{SERVICE}/{method}").parse().unwrap();
        self.runtime.block_on(async {
            let mut client = tonic::client::Grpc::new(self.channel.clone());
            client.ready().await.unwrap();
            let mut request = tonic::Request::new(request);
            put(request.metadata_mut(), &versioned(&[]));
            client.server_streaming(request, path, Raw).await.unwrap().into_inner()
        })
    }

    /// The next event of a stream.
    pub fn next(&self, stream: &mut tonic::Streaming<Bytes>) -> Option<Value> {
        self.runtime.block_on(stream.message()).unwrap().map(|message| event(&message))
    }

    /// HTTP/2 as it is, on a connection of its own: the status, the headers with the trailers, and
    /// the body.
    pub fn http(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (u16, Vec<(String, String)>, Bytes) {
        let uri = format!("http://{}{path}", self.address);
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        self.runtime.block_on(async {
            let stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
            let (mut sender, connection) =
                http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
            let body = body.collect().await.unwrap();
            let trailers = body.trailers().cloned().unwrap_or_default();
            let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
            let both = parts.headers.iter().chain(&trailers);
            let headers = both.filter(|(name, _)| *name != "date");
            let headers = headers.map(|(name, value)| (name.to_string(), text(value)));
            (parts.status.as_u16(), headers.collect(), body.to_bytes())
        })
    }
}

/// A body of one message with this flag, however long it says that it is.
pub fn framed(flag: u8, length: u32, message: &[u8]) -> Vec<u8> {
    [&[flag][..], &length.to_be_bytes(), message].concat()
}

/// A message of a stream.
pub fn event(message: &[u8]) -> Value {
    protobuf::read(&schema::STREAM_RESPONSE, message).unwrap()
}

fn put(metadata: &mut MetadataMap, headers: &[(&str, &str)]) {
    for (name, value) in headers {
        let name: tonic::metadata::MetadataKey<_> = name.to_lowercase().parse().unwrap();
        metadata.append(name, value.parse().unwrap());
    }
}

fn ended(
    method: &str,
    outcome: Result<(), &tonic::Status>,
    messages: Vec<Bytes>,
    metadata: &MetadataMap,
) -> Answer {
    let messages = messages.iter().map(|message| {
        let operation = Operation::from_name(method).unwrap();
        protobuf::read(schema::answer(operation), message).unwrap()
    });
    let (code, message, details) = outcome.map_or_else(
        |status| (status.code() as i32, status.message(), status.details()),
        |()| (0, "", &[][..]),
    );
    let status = RpcStatus::ALL.iter().copied().find(|status| status.number() == code).unwrap();
    let details = if details.is_empty() {
        Value::Null
    } else {
        let details = protobuf::read(&schema::STATUS, details).unwrap();
        // What is true of every error: E-01, E-02, E-04.
        assert_eq!((&details["code"], &details["message"]), (&json!(code), &json!(message)));
        let info = &details["details"][0];
        assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
        assert_eq!(info["domain"], "a2a-protocol.org");
        details
    };
    let metadata = metadata.iter().map(|entry| match entry {
        KeyAndValueRef::Ascii(name, value) => {
            (name.to_string(), value.to_str().unwrap().to_owned())
        }
        KeyAndValueRef::Binary(name, value) => {
            (name.to_string(), STANDARD_NO_PAD.encode(value.to_bytes().unwrap()))
        }
    });
    Answer {
        status,
        message: message.to_owned(),
        details,
        messages: messages.collect(),
        metadata: metadata.filter(|(name, _)| name != "date").collect(),
    }
}
