//! What the measuring programs share: a connection to a server's MCP binding that reads whole answers.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Result of a measuring program.
pub type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A connection to the MCP binding of a server on this machine.
pub struct McpConnection {
    stream: TcpStream,
    host: String,
    buffer: Vec<u8>,
}

impl McpConnection {
    /// Connects to a host and port; answers are awaited for at most `patience`.
    ///
    /// # Errors
    /// When nothing listens there, or the address is not of this machine.
    pub fn open(host: &str, patience: Duration) -> Fallible<Self> {
        let stream = TcpStream::connect(host)?;
        if !stream.peer_addr()?.ip().is_loopback() {
            return Err("only loopback addresses can be measured".into());
        }
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Self { stream, host: host.to_owned(), buffer: Vec::new() })
    }

    /// Returns the bytes of a call of a tool.
    #[must_use]
    pub fn call(&self, token: &str, tool: &str, arguments: &Value) -> Vec<u8> {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let body = body.to_string();
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        )
        .into_bytes()
    }

    /// Sends a request and reads its whole answer; returns how long that took.
    ///
    /// # Errors
    /// When the connection ends within the answer.
    pub fn send(&mut self, request: &[u8]) -> Fallible<Duration> {
        self.buffer.clear();
        let mut piece = [0; 64 * 1024];
        let mut end = None;
        let sent = Instant::now();
        self.stream.write_all(request)?;
        while end.is_none_or(|end| self.buffer.len() < end) {
            let read = self.stream.read(&mut piece)?;
            if read == 0 {
                return Err("the connection ended within an answer".into());
            }
            self.buffer.extend_from_slice(piece.get(..read).unwrap_or_default());
            end = end.or_else(|| end_of_answer(&self.buffer));
        }
        Ok(sent.elapsed())
    }

    /// Returns the text of the last answer, with its status line and headers.
    ///
    /// # Errors
    /// When it is no UTF-8.
    pub fn answer(&self) -> Fallible<&str> {
        Ok(std::str::from_utf8(&self.buffer)?)
    }

    /// Returns the JSON body of the last answer.
    ///
    /// # Errors
    /// When it is no JSON.
    pub fn body(&self) -> Fallible<Value> {
        let (_, body) = self.answer()?.split_once("\r\n\r\n").ok_or("no body")?;
        Ok(serde_json::from_str(body)?)
    }
}

/// Returns the length of an answer, once its headers are there.
fn end_of_answer(buffer: &[u8]) -> Option<usize> {
    let end = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(buffer.get(..end)?).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    Some(end + 4 + length?)
}
