//! Seller for tests, which answers each connection with the next canned reply, and a clock of virtual time.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::retry::RetryClock;
use crate::transport::{HttpTransport, TransportLimits};

/// Time limit of the tests' client: long enough for a busy machine.
pub(crate) const STALLED: Duration = Duration::from_secs(2);

/// Largest answer that the client reads, in bytes: small, so that a larger one is sent quickly.
pub(crate) const MAX_BODY: usize = 64 * 1024;

/// Canned reply. `{id}` in it is replaced by the id of the request.
pub(crate) enum CannedReply {
    /// These bytes, after which the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, after which the connection is held open until the client gives up.
    Stall(Vec<u8>),
    /// No reply; the listener is closed before the connection.
    GoDown,
}

impl CannedReply {
    pub(crate) fn http(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Self::Bytes([head.as_bytes(), body.as_ref()].concat())
    }
}

/// Seller on a port of its own.
pub(crate) struct Fake {
    pub(crate) url: String,
    requests: Receiver<String>,
}

impl Fake {
    pub(crate) fn start(replies: Vec<CannedReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        if !replies.is_empty() {
            std::thread::spawn(move || {
                let mut listener = Some(listener);
                for reply in replies {
                    let Some(Ok((stream, _))) = listener.as_ref().map(TcpListener::accept) else {
                        return;
                    };
                    answer(stream, reply, &mut listener, &sender);
                }
            });
        }
        Self { url, requests }
    }

    /// Runs a future to its end.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(future)
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

/// Creates a transport with a short time limit.
pub(crate) fn transport() -> HttpTransport {
    HttpTransport::new(TransportLimits {
        timeout: STALLED,
        max_body: MAX_BODY,
        ..TransportLimits::default()
    })
}

fn answer(
    mut stream: TcpStream,
    reply: CannedReply,
    listener: &mut Option<TcpListener>,
    requests: &Sender<String>,
) {
    let request = read_request(&mut stream);
    let id = request.split_once("\"id\":\"").and_then(|(_, rest)| rest.split_once('"'));
    let id = id.map(|(id, _)| id.to_owned()).unwrap_or_default();
    let _ = requests.send(request);
    let (bytes, stall) = match reply {
        CannedReply::Bytes(bytes) => (bytes, false),
        CannedReply::Stall(bytes) => (bytes, true),
        CannedReply::GoDown => {
            drop(listener.take());
            (Vec::new(), false)
        }
    };
    let _ = stream.write_all(&fill_in(bytes, &id));
    let _ = stream.flush();
    if !stall {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    // Reads until the client closes, so that no reset overtakes the answer.
    let mut rest = [0; 1024];
    while matches!(stream.read(&mut rest), Ok(1..)) {}
}

fn fill_in(bytes: Vec<u8>, id: &str) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text.replace("{id}", id).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text.into_owned();
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            Ok(0) | Err(_) => return String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// Clock of virtual time, whose random draws are all the same.
#[derive(Debug, Clone)]
pub(crate) struct Virtual {
    state: Arc<Mutex<(Duration, Vec<Duration>)>>,
    draw: f64,
    /// True when the caller stops every sleep.
    stops: bool,
}

impl Virtual {
    pub(crate) fn new(draw: f64) -> Self {
        Self { state: Arc::default(), draw, stops: false }
    }

    pub(crate) fn stopping(self) -> Self {
        Self { stops: true, ..self }
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.state.lock().unwrap().0 += time;
    }

    pub(crate) fn sleeps(&self) -> Vec<f64> {
        self.state.lock().unwrap().1.iter().map(Duration::as_secs_f64).collect()
    }
}

impl RetryClock for Virtual {
    fn now(&self) -> Duration {
        self.state.lock().unwrap().0
    }

    async fn stopped(&self) {
        if !self.stops {
            std::future::pending().await
        }
    }

    async fn sleep(&self, time: Duration) {
        if self.stops {
            std::future::pending().await
        }
        let mut state = self.state.lock().unwrap();
        state.0 += time;
        state.1.push(time);
    }

    async fn within<F>(&self, time: Duration, work: F) -> Option<F::Output>
    where
        F: Future<Output: Send> + Send,
    {
        let begun = self.now();
        let done = work.await;
        let mut state = self.state.lock().unwrap();
        if state.0 <= begun + time {
            return Some(done);
        }
        state.0 = begun + time;
        None
    }

    fn draw(&self) -> f64 {
        self.draw
    }
}
