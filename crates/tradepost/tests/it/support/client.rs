//! An HTTP client that sends what it is told and hides nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tradepost_document::json::Value;

use super::layout;

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        tradepost_document::json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The payload of the message.
    pub fn payload(&self) -> Value {
        let answer = self.json();
        let payload = answer.pointer("/result/message/parts/0/data");
        payload.cloned().unwrap_or_else(|| panic!("{answer}"))
    }

    /// The conversation that the message belongs to.
    pub fn context_id(&self) -> String {
        let answer = self.json();
        let id = answer.pointer("/result/message/contextId").and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The status and the whole body, with what differs from run to run replaced.
    pub fn snapshot(&self) -> String {
        let body = match tradepost_document::json::from_slice::<Value>(&self.body) {
            Ok(mut body) => {
                layout::redact(&mut body);
                layout::lay_out(&body)
            }
            Err(_) => String::from_utf8_lossy(&self.body).into_owned(),
        };
        format!("{}\n{body}\n", self.status)
    }
}

/// Sends a request on a connection of its own and reads the answer to the end.
pub fn request(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let bytes = bytes(&address.to_string(), method, target, headers, body);
    raw(address, &bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// A request after whose answer the connection is closed.
pub fn bytes(
    host: &str,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str(&format!("Host: {host}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends bytes and reads an answer to the end.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Response> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    exchange(stream, bytes)
}

/// The same on a connection that there is.
pub fn exchange(mut stream: impl Read + Write, bytes: &[u8]) -> std::io::Result<Response> {
    // A server that refuses early may close before it has read everything.
    let sent = stream.write_all(bytes);
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    match parse(&answer) {
        Some(response) => Ok(response),
        None => {
            sent?;
            read?;
            Err(std::io::Error::other(format!("no answer in {} bytes", answer.len())))
        }
    }
}

/// An answer as it came.
pub fn parse(answer: &[u8]) -> Option<Response> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    Some(Response { status, headers, body: answer[end + 4..].to_vec() })
}
