//! gRPC (A2A §10): frames of messages and addresses of methods. The rest of a call is HTTP/2, and its status.

use reqwest::Url;
pub use tradepost_recovery::grpc_status::{GrpcEnd, GrpcUnreadable};

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

#[cfg(test)]
mod tests {
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
