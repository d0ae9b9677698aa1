//! gRPC (A2A §10): frames of messages, addresses of methods, and the status at the end of a call. The rest of
//! a call is HTTP/2.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use reqwest::Url;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Value, object};

use crate::card::SellerInterface;
use crate::discover::endpoint;
use crate::failure::CallFailure;

/// Package and service, as published, with which the paths of the methods begin.
const SERVICE: &str = "lf.a2a.v1.A2AService";

/// Length of the prefix of a message, in bytes: a compression flag and the length of the message.
const PREFIX: usize = 5;

/// Returns the address of an interface, which for gRPC is a host and a port (A2A §4.4.6). It has TLS unless
/// the card came without TLS.
///
/// # Errors
/// When the address cannot be used, as for other interfaces.
pub fn address(card: &Url, interface: &SellerInterface) -> Result<Url, CallFailure> {
    if interface.url.contains("://") {
        return endpoint(card, interface);
    }
    let url = format!("{}://{}", card.scheme(), interface.url);
    endpoint(card, &SellerInterface { url, ..interface.clone() })
}

/// Returns the address of a method.
#[must_use]
pub fn method(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("/{SERVICE}/{name}"));
    url
}

/// Adds the prefix to a message.
#[must_use]
pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(message);
    out
}

/// Reason why no message can be taken from a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMessage {
    /// The message is not complete yet.
    Cut,
    /// The message is compressed, although no compression was offered.
    Compressed,
}

/// Splits the first message off a body.
///
/// # Errors
/// The reason why there is no message.
pub fn split(body: &[u8]) -> Result<(&[u8], &[u8]), NoMessage> {
    let (prefix, rest) = body.split_first_chunk::<PREFIX>().ok_or(NoMessage::Cut)?;
    let [0, length @ ..] = *prefix else { return Err(NoMessage::Compressed) };
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    rest.split_at_checked(length).ok_or(NoMessage::Cut)
}

/// Returns all messages of a complete body.
///
/// # Errors
/// The defect of the first message that cannot be read.
pub fn messages(mut body: &[u8]) -> Result<Vec<&[u8]>, NoMessage> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let (message, rest) = split(body)?;
        messages.push(message);
        body = rest;
    }
    Ok(messages)
}

/// Status details that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrpcUnreadable;

/// Status at the end of a call.
#[derive(Debug, Clone)]
pub struct GrpcEnd {
    /// Number of the status, as sent.
    pub number: i64,
    /// Decoded `grpc-message`.
    pub message: String,
    /// `grpc-status-details-bin` as JSON, if it was sent; an error when it cannot be read.
    pub details: Option<Result<Value, GrpcUnreadable>>,
}

impl GrpcEnd {
    /// Reads the status from the trailers, or from the headers of an answer without a body; `None` where
    /// neither has one.
    #[must_use]
    pub fn from_metadata<'m>(metadata: impl Fn(&str) -> Option<&'m str>) -> Option<Self> {
        let number = metadata("grpc-status")?.trim().parse().ok()?;
        let message = decoded(metadata("grpc-message").unwrap_or_default());
        let details = metadata("grpc-status-details-bin").map(|text| {
            // Senders may leave out the padding.
            let bytes = STANDARD_NO_PAD
                .decode(text.trim().trim_end_matches('='))
                .map_err(|_| GrpcUnreadable)?;
            protobuf::read(&schema::STATUS, &bytes).map_err(|_| GrpcUnreadable)
        });
        Some(Self { number, message, details })
    }

    /// Returns the status, if its number is one of gRPC's.
    #[must_use]
    pub fn status(&self) -> Option<RpcStatus> {
        RpcStatus::ALL.iter().copied().find(|status| i64::from(status.number()) == self.number)
    }

    /// Returns the delay of a `RetryInfo`, which is a number of seconds followed by `s`.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        let delay = self
            .listed()?
            .as_array()?
            .iter()
            .find_map(|detail| detail.get("retryDelay")?.as_str())?;
        RetryAfter::from_protobuf(delay).map(RetryAfter::duration)
    }

    /// Returns the status in the form of the other bindings' errors: code, status, message and details.
    #[must_use]
    pub fn as_error(&self) -> Value {
        let status = self.status().map(RpcStatus::name);
        object!({"code": self.number, "status": status, "message": self.message,
            "details"?: self.listed()})
    }

    /// Returns the list of typed details, if they can be read.
    #[must_use]
    pub fn listed(&self) -> Option<&Value> {
        self.details.as_ref()?.as_ref().ok()?.get("details")
    }
}

/// Decodes percent-encoded text, such as `grpc-message`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = (*first == b'%').then(|| after.split_first_chunk::<2>()).flatten();
        let read = pair.and_then(|(pair, after)| {
            let digits = std::str::from_utf8(pair).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        // An invalid escape stays as it is, because the text is for people.
        let (byte, after) = read.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn messages_are_taken_out_of_their_frames() {
        let body = [framed(b"one"), framed(b"")].concat();
        assert_eq!(messages(&body), Ok(vec![b"one".as_slice(), b"".as_slice()]));
        assert_eq!(messages(b""), Ok(vec![]));
        assert_eq!(messages(b"\x01\0\0\0\0"), Err(NoMessage::Compressed));
        for cut in [b"\0\0\0\0\x02x".as_slice(), b"\0\0", b"\0\xff\xff\xff\xffx"] {
            assert_eq!(messages(cut), Err(NoMessage::Cut), "{cut:?}");
        }
    }

    #[test]
    fn an_end_is_read_from_trailers_as_an_error() {
        let status = json!({"code": 5, "message": "50 % of it", "details": []});
        let details = STANDARD_NO_PAD.encode(protobuf::write(&schema::STATUS, &status).unwrap());
        let details = format!("{details}==");
        let end = GrpcEnd::from_metadata(|name| match name {
            "grpc-status" => Some("5"),
            "grpc-message" => Some("50 %25 of it%zz%"),
            "grpc-status-details-bin" => Some(&details),
            _ => None,
        });
        let end = end.unwrap();
        assert_eq!(end.status(), Some(RpcStatus::NotFound));
        assert_eq!(end.message, "50 % of it%zz%");
        assert_eq!(end.details.unwrap().unwrap()["message"], "50 % of it");
        assert!(GrpcEnd::from_metadata(|_| None).is_none());
    }

    #[test]
    fn the_address_is_host_and_port_by_the_cards_scheme() {
        let interface = |url: &str| SellerInterface {
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
