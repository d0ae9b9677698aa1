//! A proxy that breaks a server on purpose: it passes requests on and changes what it is told to.
//! The bytes that a client sees are those of a broken server, and the product needs no switches.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tradepost_document::json::Value;

/// A request or an answer on its way.
#[derive(Debug, Clone, Default)]
pub struct Passing {
    /// `POST /a2a HTTP/1.1` or `HTTP/1.1 200 OK`.
    pub first: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What is done to a request.
pub type ChangeRequest = Arc<dyn Fn(&mut Passing) + Send + Sync>;

/// What is done to the answer to a request.
pub type ChangeAnswer = Arc<dyn Fn(&Passing, &mut Passing) + Send + Sync>;

/// What is done to the events of a stream that answers a message.
pub type ChangeEvents = Arc<dyn Fn(&mut Vec<Value>) + Send + Sync>;

impl Passing {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn drop_header(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    pub fn set_header(&mut self, name: &str, value: &str) {
        self.drop_header(name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// The status of an answer.
    pub fn status(&self) -> u16 {
        self.first.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    pub fn set_status(&mut self, status: u16) {
        self.first = format!("HTTP/1.1 {status} Changed");
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Changes the body, where it is JSON.
    pub fn json(&mut self, change: impl FnOnce(&mut Value)) {
        if let Ok(mut body) = tradepost_document::json::from_slice::<Value>(&self.body) {
            change(&mut body);
            self.body = body.to_string().into_bytes();
        }
    }

    /// The target of a request.
    pub fn target(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }

    pub fn read(reader: &mut impl std::io::BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let mut passing = Self { first: line.trim_end().to_owned(), ..Self::default() };
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end().split_once(':') {
                Some((name, value)) => {
                    passing.headers.push((name.to_owned(), value.trim().to_owned()));
                }
                None => return Some(passing),
            }
        }
    }

    pub fn read_body(&mut self, reader: &mut impl std::io::Read) -> Option<()> {
        let length = self.header("content-length").and_then(|text| text.parse().ok());
        self.body = vec![0; length.unwrap_or_default()];
        reader.read_exact(&mut self.body).ok()
    }

    /// Whether it is a stream of events.
    fn streams(&self) -> bool {
        self.header("content-type")
            .is_some_and(|media_type| media_type.starts_with("text/event-stream"))
            && self.header("transfer-encoding").is_some()
    }

    /// Reads a stream to its end and changes its events.
    fn read_stream(
        &mut self,
        reader: &mut impl std::io::BufRead,
        change: &ChangeEvents,
    ) -> Option<()> {
        let mut text = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            // A chunk is followed by the end of its line.
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            text.extend_from_slice(&chunk[..size]);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut events: Vec<Value> =
            data.map(|data| tradepost_document::json::from_str(data.trim()).unwrap()).collect();
        change(&mut events);
        let lines = events.iter().map(|event| format!("data: {event}\n\n"));
        self.body = lines.collect::<String>().into_bytes();
        self.drop_header("transfer-encoding");
        Some(())
    }

    pub fn write(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut head = format!("{}\r\n", self.first);
        for (name, value) in &self.headers {
            let framing = ["content-length", "connection"];
            if !framing.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        if self.header("transfer-encoding").is_none() {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("connection: close\r\n\r\n");
        // In one piece: the second would wait until the first is acknowledged.
        stream.write_all(&[head.as_bytes(), &self.body].concat())
    }
}

/// Starts a proxy in front of a server; its address. Wherever the card names one of `named`, it
/// names the proxy.
pub fn start(
    server: SocketAddr,
    named: &'static [&'static str],
    request: ChangeRequest,
    answer: ChangeAnswer,
) -> String {
    start_with_events(server, named, request, answer, None)
}

/// The same, which changes the events of streams, too. A stream that answers a message is then passed on
/// when it is over.
pub fn start_with_events(
    server: SocketAddr,
    named: &'static [&'static str],
    request: ChangeRequest,
    answer: ChangeAnswer,
    events: Option<ChangeEvents>,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let base = address.clone();
    let pass = Arc::new(move |mut client: TcpStream| {
        let mut reader = BufReader::new(client.try_clone().unwrap());
        let mut asked = Passing::read(&mut reader)?;
        asked.read_body(&mut reader)?;
        let original = asked.clone();
        request(&mut asked);
        let mut upstream = TcpStream::connect(server).ok()?;
        upstream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        // A server that refuses early may close before it has read everything.
        let _ = asked.write(&mut upstream);
        let mut upstream = BufReader::new(upstream);
        let mut reply = Passing::read(&mut upstream)?;
        let answers_message = original.text().contains("SendStreamingMessage")
            || original.target().ends_with(":stream");
        if let Some(events) = events.as_ref().filter(|_| answers_message && reply.streams()) {
            reply.read_stream(&mut upstream, events)?;
            return reply.write(&mut client).ok();
        }
        if reply.header("transfer-encoding").is_some() {
            reply.write(&mut client).ok()?;
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = upstream.read(&mut buffer) {
                client.write_all(&buffer[..count]).ok()?;
            }
            return Some(());
        }
        reply.read_body(&mut upstream)?;
        if original.target() == "/.well-known/agent-card.json" {
            let mut text = reply.text().replace(&format!("http://{server}"), &base);
            for name in named {
                text = text.replace(name, &base);
            }
            reply.body = text.into_bytes();
        }
        answer(&original, &mut reply);
        reply.write(&mut client).ok()
    });
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let pass = Arc::clone(&pass);
            std::thread::spawn(move || pass(client));
        }
    });
    address
}
