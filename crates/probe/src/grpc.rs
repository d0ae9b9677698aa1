//! gRPC (A2A §10), as far as a prober needs it: messages in their frames, and how a call ended.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use reqwest::Url;
use tradepost_buyer::card::Interface;
use tradepost_buyer::discover::endpoint;
use tradepost_buyer::failure::Failure;
use tradepost_wire::a2a::Operation;
use tradepost_wire::a2a::status::Status;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};
use tradepost_wire::protobuf::{self, Field, Kind, Rule, schema};

use super::exchange::Got;

/// Where the paths of the methods begin: package and service, as published.
const SERVICE: &str = "lf.a2a.v1.A2AService";

/// What stands before a message: whether it is compressed, and how long it is.
const PREFIX: usize = 5;

/// The address of an interface, which for gRPC is a host and a port (A2A §4.4.6): with TLS, unless
/// the card came without.
///
/// # Errors
/// When it cannot be used, as for other interfaces.
pub(super) fn address(card: &Url, interface: &Interface) -> Result<Url, Failure> {
    if interface.url.contains("://") {
        return endpoint(card, interface);
    }
    let url = format!("{}://{}", card.scheme(), interface.url);
    endpoint(card, &Interface { url, ..interface.clone() })
}

/// Where a method is.
pub(super) fn method(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("/{SERVICE}/{name}"));
    url
}

/// A message with its prefix.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(message);
    out
}

/// The messages of a body; `None` where one is compressed, which we did not ask for, or is cut off.
pub(super) fn messages(mut body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let (prefix, rest) = body.split_first_chunk::<PREFIX>()?;
        let [0, length @ ..] = *prefix else { return None };
        let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
        let (message, rest) = rest.split_at_checked(length)?;
        messages.push(message);
        body = rest;
    }
    Some(messages)
}

/// The messages of an answer as the JSON that they stand for; null where one is none.
pub(super) fn documents(operation: Operation, body: &[u8]) -> Option<Vec<Value>> {
    let message = schema::answer(operation);
    let read = |bytes: &&[u8]| {
        let mut value = protobuf::read(message, bytes).unwrap_or_default();
        if operation == Operation::ListTasks {
            fill(message.fields, &mut value);
        }
        value
    };
    Some(messages(body)?.iter().map(read).collect())
}

/// Adds the defaults that protocol buffers leave away. A page has all of its members, also where
/// they are zero or empty (A2A §3.1.4); elsewhere what is away is absent.
fn fill(fields: &[Field], value: &mut Value) {
    let Some(members) = value.as_object_mut() else { return };
    for field in fields {
        let default = match (field.rule, field.kind) {
            (Rule::Repeated, _) => json!([]),
            (Rule::Implicit, Kind::Text) => json!(""),
            (Rule::Implicit, Kind::Int32) => json!(0),
            (Rule::Implicit | Rule::Explicit | Rule::Oneof(_) | Rule::Map, _) => continue,
        };
        members.entry(field.name).or_insert(default);
    }
}

/// How a call ended.
#[derive(Debug, Clone)]
pub(crate) struct End {
    /// The number, as sent.
    pub(crate) number: i64,
    /// `grpc-message`, decoded.
    pub(crate) message: String,
    /// `grpc-status-details-bin` as JSON: absent, or unreadable.
    pub(crate) details: Option<Result<Value, ()>>,
}

impl End {
    /// Reads it from the trailers, or from the header where there is nothing but a status.
    pub(crate) fn of(got: &Got) -> Option<Self> {
        let number = got.metadata("grpc-status")?.trim().parse().ok()?;
        let message = decoded(got.metadata("grpc-message").unwrap_or_default());
        let details = got.metadata("grpc-status-details-bin").map(|text| {
            let bytes = STANDARD_NO_PAD.decode(text.trim().trim_end_matches('=')).map_err(drop)?;
            protobuf::read(&schema::STATUS, &bytes).map_err(drop)
        });
        Some(Self { number, message, details })
    }

    /// The status, where it is one of gRPC's.
    pub(crate) fn status(&self) -> Option<Status> {
        Status::ALL.iter().copied().find(|status| i64::from(status.number()) == self.number)
    }

    /// How long the agent asks us to wait, by its RetryInfo: seconds with a fraction, and an `s`.
    pub(crate) fn retry_delay(&self) -> Option<Duration> {
        let error = self.as_error();
        let details = error.get("details")?.as_array()?;
        let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
        let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// As an error of the other bindings is: code, status, message and details.
    pub(crate) fn as_error(&self) -> Value {
        let details = self.details.clone().and_then(Result::ok);
        let details = details.and_then(|status| status.get("details").cloned());
        let status = self.status().map(Status::name);
        let mut error = json!({"code": self.number, "status": status, "message": self.message});
        if let (Some(members), Some(details)) = (error.as_object_mut(), details) {
            members.insert("details".to_owned(), details);
        }
        error
    }
}

/// What a report shows of an answer: its messages and its end as JSON.
pub(super) fn readable(operation: Option<Operation>, got: &Got) -> String {
    let documents = operation.and_then(|operation| documents(operation, &got.body));
    let mut lines: Vec<String> =
        documents.into_iter().flatten().map(|document| document.to_string()).collect();
    lines.extend(End::of(got).map(|end| end.as_error().to_string()));
    if lines.is_empty() {
        return String::from_utf8_lossy(&got.body).into_owned();
    }
    lines.join("\n")
}

/// Text that is percent-encoded, as `grpc-message` is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = (*first == b'%').then(|| after.split_first_chunk::<2>()).flatten();
        let read = pair.and_then(|(pair, after)| {
            let digits = std::str::from_utf8(pair).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = read.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_out_of_their_frames() {
        let body = [framed(b"one"), framed(b"")].concat();
        assert_eq!(messages(&body), Some(vec![b"one".as_slice(), b"".as_slice()]));
        assert_eq!(messages(b""), Some(vec![]));
        for broken in [b"\x01\0\0\0\0".as_slice(), b"\0\0\0\0\x02x", b"\0\0"] {
            assert_eq!(messages(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn an_end_is_read_from_trailers_and_shown_as_an_error() {
        let status = json!({"code": 5, "message": "50 % of it", "details": []});
        let details = STANDARD_NO_PAD.encode(protobuf::write(&schema::STATUS, &status).unwrap());
        let trailers = [
            ("grpc-status", "5".to_owned()),
            ("grpc-message", "50 %25 of it%zz%".to_owned()),
            ("grpc-status-details-bin", format!("{details}==")),
        ];
        let mut got = Got::nothing();
        got.trailers = trailers.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let end = End::of(&got).unwrap();
        assert_eq!(end.status(), Some(Status::NotFound));
        assert_eq!(end.message, "50 % of it%zz%");
        assert_eq!(end.details.unwrap().unwrap()["message"], "50 % of it");
        assert!(End::of(&Got::nothing()).is_none());
    }

    #[test]
    fn the_address_is_a_host_and_a_port_by_the_scheme_of_the_card() {
        let interface = |url: &str| Interface {
            url: url.to_owned(),
            binding: "GRPC".to_owned(),
            protocol_version: "1.0".to_owned(),
            tenant: None,
        };
        let card = |text| Url::parse(text).unwrap();
        let secure = card("https://a.example/.well-known/agent-card.json");
        let found = address(&secure, &interface("b.example:443")).unwrap();
        assert_eq!(
            method(&found, "GetTask").as_str(),
            "https://b.example/lf.a2a.v1.A2AService/GetTask"
        );
        let local = card("http://127.0.0.1:8080/");
        assert_eq!(
            address(&local, &interface("127.0.0.1:9090")).unwrap().as_str(),
            "http://127.0.0.1:9090/"
        );
        assert!(address(&secure, &interface("127.0.0.1:9090")).is_err());
        assert!(address(&secure, &interface("http://b.example")).is_err());
    }
}
