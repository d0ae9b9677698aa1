//! The conformance agent on a loopback address, and a client that reads streams as slowly as it is
//! told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::conformance::{Conformance, Profile};
use tradepost_document::json::{Value, json};
use tradepost_keys::private::SigningKey;
use tradepost_runtime::wiring;
use tradepost_server::auth::key::NewApiKey;
use tradepost_server::clock::{Clock, ManualClock};
use tradepost_server::egress::Egress;
use tradepost_server::http;
use tradepost_server::outbox::{ClockAndRandom, Outbox, OutboxSettings, SleepFuture};
use tradepost_server::permission::Permission;
use tradepost_server::registry::AgentRegistry;
use tradepost_store::{ApiKey, Store};

use super::{NOW, Response, at, client, folder};

/// A running conformance agent.
pub struct ConformanceServer {
    pub address: SocketAddr,
    pub hand: ManualClock,
    pub store: Arc<Store>,
    pub registry: Arc<AgentRegistry>,
    /// What delivers to webhooks.
    pub outbox: Option<Arc<Outbox>>,
    directory: Option<tempfile::TempDir>,
    profile: Profile,
    runtime: Option<tokio::runtime::Runtime>,
}

/// The conformance agent on a store.
pub fn open(profile: Profile, store: &Arc<Store>, clock: &Clock, base_url: &str) -> Conformance {
    let means = wiring::means(store, clock);
    Conformance::open(profile, Arc::clone(store) as _, &means, base_url).unwrap()
}

/// The conformance agent on an empty store.
pub fn start_conformance(profile: Profile) -> ConformanceServer {
    start_in(folder(), profile, |agent| agent)
}

/// The conformance agent with webhooks, which go where `egress` permits, and an outbox.
pub fn start_pushing(
    egress: Egress,
    settings: OutboxSettings,
    edge: ClockAndRandom,
) -> ConformanceServer {
    let calling = |agent: Conformance| agent.calling(egress);
    launch(folder(), Profile::Push, calling, |_| Some((settings, edge)))
}

/// The same, with an outbox for which waiting is moving the clock.
pub fn start_pushing_in_virtual_time(
    egress: Egress,
    settings: OutboxSettings,
) -> ConformanceServer {
    let calling = |agent: Conformance| agent.calling(egress);
    launch(folder(), Profile::Push, calling, |hand| {
        let sleep = move |duration: Duration| -> SleepFuture {
            hand.advance(jiff::SignedDuration::try_from(duration).unwrap());
            Box::pin(tokio::task::yield_now())
        };
        Some((settings, ClockAndRandom { sleep: Arc::new(sleep), random: Arc::new(|| 1.0) }))
    })
}

/// The same for clients that name no version.
pub fn start_lenient(profile: Profile) -> ConformanceServer {
    start_in(folder(), profile, Conformance::lenient)
}

/// The same with cards that this key signs.
pub fn start_signed(profile: Profile, key: SigningKey) -> ConformanceServer {
    let sign = move |agent: Conformance| agent.signed(key, at(NOW)).unwrap();
    start_in(folder(), profile, sign)
}

/// The conformance agent on a store that others may have, too.
pub fn start_sharing(store: Store) -> ConformanceServer {
    launch_on(store, None, Profile::Streaming, |agent| agent, |_| None)
}

fn start_in(
    directory: tempfile::TempDir,
    profile: Profile,
    settle: impl FnOnce(Conformance) -> Conformance,
) -> ConformanceServer {
    launch(directory, profile, settle, |_| None)
}

fn launch(
    directory: tempfile::TempDir,
    profile: Profile,
    settle: impl FnOnce(Conformance) -> Conformance,
    outbox: impl FnOnce(ManualClock) -> Option<(OutboxSettings, ClockAndRandom)>,
) -> ConformanceServer {
    launch_on(Store::open(directory.path()).unwrap(), Some(directory), profile, settle, outbox)
}

fn launch_on(
    store: Store,
    directory: Option<tempfile::TempDir>,
    profile: Profile,
    settle: impl FnOnce(Conformance) -> Conformance,
    outbox: impl FnOnce(ManualClock) -> Option<(OutboxSettings, ClockAndRandom)>,
) -> ConformanceServer {
    let store = Arc::new(store);
    let (clock, hand) = Clock::manual(at(NOW));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let agent = settle(open(profile, &store, &clock, &format!("http://{address}")));
    let outbox = outbox(hand.clone()).and_then(|(settings, edge)| agent.outbox(settings, edge));
    let server = super::dealer::config().server;
    let (registry, _) = wiring::registry(&server, &store, clock, vec![Arc::new(agent)]);
    let site = wiring::site(Arc::clone(&registry));
    runtime.spawn(async move {
        http::server::serve(listener, site, &server.http(), std::future::pending()).await;
    });
    if let Some(outbox) = &outbox {
        runtime.spawn(Arc::clone(outbox).run(std::future::pending(), Duration::ZERO));
    }
    let runtime = Some(runtime);
    ConformanceServer { address, hand, store, registry, outbox, directory, profile, runtime }
}

impl Drop for ConformanceServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

impl ConformanceServer {
    /// Another process on what this one has left behind.
    pub fn restart(mut self) -> Self {
        let directory = self.directory.take().unwrap();
        let profile = self.profile;
        drop(self);
        start_in(directory, profile, |agent| agent)
    }

    /// The whole answer to a request with these headers besides.
    pub fn ask(&self, headers: &[(&str, &str)], method: &str, params: &Value) -> Response {
        ask(self.address, headers, method, params)
    }

    /// The public card.
    pub fn card(&self) -> Value {
        let target = "/.well-known/agent-card.json";
        client::request(self.address, "GET", target, &[], b"").json()
    }

    /// The result.
    pub fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.ask(&[], method, params).json();
        answer.get("result").cloned().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// The code of the error.
    pub fn code(&self, method: &str, params: &Value) -> i64 {
        let answer = self.ask(&[], method, params).json();
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// The task that comes of a message with this id, when it has settled.
    pub fn task(&self, message_id: &str) -> Value {
        self.result("SendMessage", &message(message_id))["task"].clone()
    }

    /// The task that comes of a message with this id, as it begins.
    pub fn begin(&self, message_id: &str) -> Value {
        self.result("SendMessage", &at_once(message_id))["task"].clone()
    }

    /// The task as it stands.
    pub fn get(&self, id: &Value) -> Value {
        self.result("GetTask", &json!({"id": id}))
    }

    /// A stream.
    pub fn stream(&self, headers: &[(&str, &str)], method: &str, params: &Value) -> Stream {
        Stream::open(self.address, headers, method, params)
    }

    /// Gives a caller a key; the value of its `Authorization`.
    pub fn caller(&self, name: &str, scopes: Option<&[Permission]>) -> String {
        let fresh = NewApiKey::generate().unwrap();
        let key = ApiKey {
            id: fresh.id,
            agent_id: Conformance::ID.to_owned(),
            name: name.to_owned(),
            hash: fresh.hash,
            scopes: scopes.map(|scopes| scopes.iter().cloned().collect()),
            created_at: at(NOW),
            expires_at: None,
            revoked_at: None,
            last_used_on: None,
        };
        assert!(self.store.add_api_key(key, false).unwrap());
        format!("Bearer {}", fresh.text)
    }

    /// Waits until the process remembers no task.
    pub fn forgets(&self) {
        let forgotten = (0..500).any(|_| {
            let (_sender, receiver) = std::sync::mpsc::channel::<()>();
            self.live() == 0 || receiver.recv_timeout(Duration::from_millis(20)).is_ok()
        });
        assert!(forgotten, "{} tasks are still remembered", self.live());
    }

    /// Where the store is.
    pub fn database(&self) -> std::path::PathBuf {
        self.directory.as_ref().unwrap().path().join("tradepost.sqlite")
    }

    /// How many tasks the process remembers.
    pub fn live(&self) -> usize {
        let agent: Arc<dyn std::any::Any + Send + Sync> = self.registry.agent(None).unwrap();
        agent.downcast_ref::<Conformance>().expect("the conformance agent").service.tasks().live()
    }
}

/// The whole answer to a request.
pub fn ask(
    address: SocketAddr,
    headers: &[(&str, &str)],
    method: &str,
    params: &Value,
) -> Response {
    let headers = &versioned(headers);
    let headers = [&[("Content-Type", "application/json")], headers.as_slice()].concat();
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    client::request(address, "POST", "/a2a", &headers, body.to_string().as_bytes())
}

/// These headers with the version of the protocol, unless they name one (V-01).
pub fn versioned<'a>(headers: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    const VERSION: (&str, &str) = ("A2A-Version", "1.0");
    let named = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(VERSION.0));
    let version = (!named).then_some(VERSION);
    headers.iter().copied().chain(version).collect()
}

/// The parameters of a message with this id.
pub fn message(id: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]}})
}

/// The same for somebody who does not wait.
pub fn at_once(id: &str) -> Value {
    super::with(message(id), &[("/configuration", json!({"returnImmediately": true}))])
}

/// The same for a task that has begun.
pub fn follow_up(id: &str, task_id: &Value) -> Value {
    super::with(message(id), &[("/message/taskId", task_id.clone())])
}

/// A stream that is being read. It waits 30 seconds for an event at most.
pub struct Stream {
    reader: BufReader<TcpStream>,
    pub head: String,
    text: String,
    /// Whether all of it has come.
    whole: bool,
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: i64,
    pub result: Value,
}

impl Event {
    /// The state that a task or an update tells.
    pub fn state(&self) -> Option<&str> {
        let status = ["/task/status/state", "/statusUpdate/status/state"];
        status.iter().find_map(|path| self.result.pointer(path)).and_then(Value::as_str)
    }
}

impl Stream {
    /// Sends the request and reads the head of the answer.
    pub fn open(
        address: SocketAddr,
        headers: &[(&str, &str)],
        method: &str,
        params: &Value,
    ) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": "s", "method": method, "params": params});
        let body = body.to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let more: String =
            versioned(headers).iter().map(|(n, value)| format!("{n}: {value}\r\n")).collect();
        let request = format!(
            "POST /a2a HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::with_capacity(4096, stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let lower = head.to_lowercase();
        assert!(lower.contains("content-type: text/event-stream"), "{method}: {head}");
        let mut text = String::new();
        let whole = lower.contains("content-length:");
        if whole {
            reader.read_to_string(&mut text).unwrap();
        }
        Self { reader, head, text, whole }
    }

    /// The next event; `None` when the stream has been closed as it should.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let lines: Vec<_> = event.lines().filter_map(|l| l.split_once(": ")).collect();
                let field = |name| lines.iter().find(|(known, _)| *known == name).map(|l| l.1);
                let found = field("data").map(|data| {
                    let answer: Value = tradepost_document::json::from_str(data).unwrap();
                    assert_eq!(answer["id"], "s");
                    let id = field("id").map_or(0, |id| id.parse().unwrap());
                    Event { id, result: answer["result"].clone() }
                });
                self.text = rest.to_owned();
                match found {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            self.whole = self.whole || !self.read_chunk();
            if self.whole {
                assert_eq!(self.text, "");
                return None;
            }
        }
    }

    fn read_chunk(&mut self) -> bool {
        let mut size = String::new();
        self.reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).unwrap();
        self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        size > 0
    }

    /// Everything that is left.
    pub fn rest(mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next()).collect()
    }
}
