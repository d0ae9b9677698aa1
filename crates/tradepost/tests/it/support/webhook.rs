//! A receiver of notifications on the loopback address: it remembers what came, in order, and
//! answers as it is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tradepost_document::json::Value;

/// A notification.
#[derive(Debug, Clone)]
pub struct Notified {
    /// The request line.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Notified {
    pub fn json(&self) -> Value {
        tradepost_document::json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The state that the notification tells.
    pub fn state(&self) -> Option<String> {
        let body = self.json();
        let status = ["/task/status/state", "/statusUpdate/status/state"];
        let found = status.iter().find_map(|path| body.pointer(path)).and_then(Value::as_str);
        found.map(str::to_owned)
    }
}

/// What the receiver answers to its nth notification: a whole answer, or nothing at all when it
/// is empty.
type Answers = dyn Fn(usize) -> String + Send + Sync;

/// The receiver.
pub struct Webhook {
    pub address: SocketAddr,
    arrivals: Receiver<Notified>,
    seen: Vec<Notified>,
}

/// An answer that says yes.
pub fn yes() -> String {
    answer("200 OK")
}

/// An answer with a status.
pub fn answer(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
}

impl Webhook {
    /// One that takes everything.
    pub fn start() -> Self {
        Self::answering(|_| yes())
    }

    /// One that answers as it is told.
    pub fn answering(answers: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    /// The same where somebody listens already.
    pub fn on(
        listener: TcpListener,
        answers: impl Fn(usize) -> String + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let (sender, arrivals) = channel();
        let answers: Arc<Answers> = Arc::new(answers);
        let count = Arc::new(Mutex::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { break };
                let sender = sender.clone();
                let answers = Arc::clone(&answers);
                let count = Arc::clone(&count);
                std::thread::spawn(move || serve(stream, &sender, &*answers, &count));
            }
        });
        Self { address, arrivals, seen: Vec::new() }
    }

    /// Its address on the web.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Waits until there are so many in all.
    pub fn wait(&mut self, count: usize) -> &[Notified] {
        while self.seen.len() < count {
            match self.arrivals.recv_timeout(Duration::from_secs(30)) {
                Ok(notified) => self.seen.push(notified),
                Err(error) => panic!("{error} after {:?}", self.seen),
            }
        }
        &self.seen
    }

    /// Waits until the task has been told to be in this state.
    pub fn wait_for(&mut self, state: &str) -> &[Notified] {
        let mut count = 0;
        loop {
            count += 1;
            if self.wait(count)[count - 1].state().as_deref() == Some(state) {
                return &self.seen[..count];
            }
        }
    }

    /// What has come by now, when nothing more is expected.
    pub fn quiet(&mut self) -> &[Notified] {
        while let Ok(notified) = self.arrivals.recv_timeout(Duration::from_millis(200)) {
            self.seen.push(notified);
        }
        &self.seen
    }
}

fn serve(
    stream: TcpStream,
    sender: &Sender<Notified>,
    answers: &Answers,
    count: &Mutex<usize>,
) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            (reader.read_line(&mut head).ok()? > 0).then_some(())?;
        }
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next()?.to_owned();
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        // A request without a length has no body.
        let length = length.map_or("0", |(_, value)| value);
        let mut body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        let number = {
            let mut count = count.lock().unwrap();
            *count += 1;
            *count - 1
        };
        sender.send(Notified { line, headers, body }).ok()?;
        let answer = answers(number);
        if answer.is_empty() {
            // It is never answered: the other side has to give up.
            let mut rest = Vec::new();
            reader.read_to_end(&mut rest).ok()?;
            return None;
        }
        writer.write_all(answer.as_bytes()).ok()?;
    }
}

/// A loopback address that is taken, and at which nobody listens yet.
pub struct Reserved(tokio::net::TcpSocket);

impl Reserved {
    pub fn new() -> Self {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket)
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub fn listen(self) -> TcpListener {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let listener = runtime.block_on(async { self.0.listen(64).unwrap().into_std().unwrap() });
        listener.set_nonblocking(false).unwrap();
        listener
    }
}
