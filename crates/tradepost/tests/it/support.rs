//! What the tests share: a dealer that is always the same, a server for it, a client that adds
//! nothing, and the published schemas, against which every answer is checked.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use expect_test::Expect;
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tradepost_dealer::record::LeadHistory;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::Config;
use tradepost_runtime::wiring::{self, Wiring};
use tradepost_server::clock::{Clock, ManualClock};
use tradepost_server::http;
use tradepost_server::registry::AgentRegistry;
use tradepost_server::tls::ServerIdentity;
use tradepost_store::Store;

use crate::conformance::Profile;

pub mod acme;
pub mod ad_server;
pub mod adcp;
pub mod bindings;
pub mod client;
pub mod conformance;
pub mod connect_proxy;
pub mod dealer;
pub mod grpc;
pub mod h2;
pub mod layout;
pub mod mail;
pub mod models;
pub mod postgres;
pub mod proxy;
pub mod publisher;
pub mod schemas;
pub mod signer;
pub mod stateless;
pub mod tls;
pub mod webhook;

pub use client::Response;

/// The moment at which the tests' clock starts: just after the published examples were written.
pub const NOW: &str = "2026-04-30T12:00:00Z";

/// A running server.
pub struct TestServer {
    pub address: SocketAddr,
    pub hand: ManualClock,
    pub store: Arc<Store>,
    pub directory: TempDir,
    config: Config,
    runtime: Option<tokio::runtime::Runtime>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

/// The usual dealer.
pub fn start() -> TestServer {
    start_with(|_| {})
}

/// The usual dealer, changed.
pub fn start_with(change: impl FnOnce(&mut Config)) -> TestServer {
    let mut config = dealer::config();
    change(&mut config);
    let directory = folder();
    let store = Store::open(directory.path()).unwrap();
    dealer::stock(&store, &config);
    launch_on(Arc::new(store), directory, config, SignedDuration::ZERO, open)
}

/// A folder with an empty store. It is a copy, because making the tables takes longer than most tests.
pub fn folder() -> TempDir {
    static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path()).unwrap());
        let file = folder.path().join("tradepost.sqlite");
        let store = rusqlite::Connection::open(&file).unwrap();
        let whole = "PRAGMA wal_checkpoint(TRUNCATE)";
        let is_busy: bool = store.query_row(whole, [], |row| row.get(0)).unwrap();
        assert!(!is_busy, "a part of it is in another file");
        std::fs::read(file).unwrap()
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tradepost.sqlite"), &*EMPTY).unwrap();
    folder
}

/// A second dealer like the first: they are `one.example` and `two.example`.
pub fn two_dealers(config: &mut Config) {
    let mut second = config.dealers[0].clone();
    config.dealers[0].hosts = vec!["one.example".to_owned()];
    second.terms.id = "second".to_owned();
    second.hosts = vec!["two.example".to_owned()];
    config.dealers.push(second);
}

/// Another process on what this one has left behind: a new store and a new registry in the folder.
pub fn restart(server: TestServer) -> TestServer {
    restart_after(server, SignedDuration::ZERO)
}

/// The same, when some time has passed since [`NOW`].
pub fn restart_after(mut server: TestServer, passed: SignedDuration) -> TestServer {
    let config = server.config.clone();
    let directory = std::mem::replace(&mut server.directory, tempfile::tempdir().unwrap());
    drop(server);
    start_in(directory, config, passed)
}

/// The agent that the official kits are run against.
pub fn start_conformance(profile: Profile) -> TestServer {
    let config = Config { dealers: Vec::new(), ..dealer::config() };
    let directory = folder();
    launch(directory, config, SignedDuration::ZERO, |config, store, clock, address| {
        let agent = conformance::open(profile, &store, &clock, &format!("http://{address}"));
        wiring::registry(&config.server, &store, clock, vec![Arc::new(agent)]).0
    })
}

fn start_in(directory: TempDir, config: Config, passed: SignedDuration) -> TestServer {
    launch(directory, config, passed, open)
}

fn open(
    config: Config,
    store: Arc<Store>,
    clock: Clock,
    address: SocketAddr,
) -> Arc<AgentRegistry> {
    Wiring::open(config, store, clock, address).unwrap().registry
}

fn launch(
    directory: TempDir,
    config: Config,
    passed: SignedDuration,
    open: impl FnOnce(Config, Arc<Store>, Clock, SocketAddr) -> Arc<AgentRegistry>,
) -> TestServer {
    let store = Arc::new(Store::open(directory.path()).unwrap());
    launch_on(store, directory, config, passed, open)
}

/// The usual dealer, on a store that others may have, too.
pub fn start_on(store: Store, config: Config) -> TestServer {
    let directory = tempfile::tempdir().unwrap();
    launch_on(Arc::new(store), directory, config, SignedDuration::ZERO, open)
}

fn launch_on(
    store: Arc<Store>,
    directory: TempDir,
    config: Config,
    passed: SignedDuration,
    open: impl FnOnce(Config, Arc<Store>, Clock, SocketAddr) -> Arc<AgentRegistry>,
) -> TestServer {
    let (clock, hand) = Clock::manual(at(NOW) + passed);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = config.server.clone();
    let same = config.clone();
    let (address, listener) = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        (listener.local_addr().unwrap(), listener)
    });
    // The card names a fixed address, so that it can be compared.
    let named = "127.0.0.1:8080".parse().unwrap();
    let entered = runtime.enter();
    let identity = server.tls.clone().map(|files| ServerIdentity::open(files, &clock).unwrap());
    let registry = open(config, Arc::clone(&store), clock, named);
    drop(entered);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    runtime.spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        let listener = match identity {
            Some(identity) => http::server::Listener::with_tls(listener, Arc::new(identity)),
            None => listener.into(),
        };
        http::server::serve(listener, wiring::site(registry), &server.http(), stopped).await;
    });
    let runtime = Some(runtime);
    let stop = Some(stop);
    TestServer { address, hand, store, directory, config: same, runtime, stop }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl TestServer {
    /// What the server was started with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sends a body to the endpoint.
    pub fn post(&self, body: impl AsRef<[u8]>) -> Response {
        self.post_with(&[("Content-Type", "application/json")], body)
    }

    /// Sends a body with these headers to the endpoint.
    pub fn post_with(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Response {
        let response = client::request(self.address, "POST", "/a2a", headers, body.as_ref());
        schemas::check_answer(&response);
        response
    }

    /// Sends a payload in the usual envelope.
    pub fn call(&self, payload: &Value) -> Response {
        self.post(envelope(payload).to_string())
    }

    /// The payload that answers a payload.
    pub fn payload(&self, payload: &Value) -> Value {
        self.call(payload).payload()
    }

    /// A conversation that the dealer has begun with nobody in particular.
    pub fn conversation(&self) -> String {
        let question = json!({"type": "dealer.information.request"});
        self.post(envelope_in(None, &question).to_string()).context_id()
    }

    /// The payload that answers a payload in a conversation.
    pub fn payload_in(&self, conversation: &str, payload: &Value) -> Value {
        let response = self.post(envelope_in(Some(conversation), payload).to_string());
        assert_eq!(response.context_id(), conversation);
        response.payload()
    }

    /// A lead with all that is known of it.
    pub fn history(&self, lead_id: &Value) -> LeadHistory {
        self.store.lead_history(lead_id.as_str().unwrap()).unwrap().unwrap()
    }

    /// The error object that answers a payload.
    pub fn error(&self, payload: &Value) -> Value {
        let answer = self.call(payload).json();
        answer.pointer("/error/data").cloned().unwrap_or_else(|| panic!("{answer}"))
    }

    /// Compares the whole answer to a payload: a row of the decision table.
    pub fn check(&self, row: &str, payload: &Value, expected: &Expect) {
        self.check_body(row, envelope(payload).to_string(), expected);
    }

    /// Compares the whole answer to a body.
    pub fn check_body(&self, row: &str, body: impl AsRef<[u8]>, expected: &Expect) {
        compare(row, &self.post(body), expected);
    }

    /// The card.
    pub fn card(&self) -> Response {
        client::request(self.address, "GET", "/.well-known/agent-card.json", &[], b"")
    }

    /// Moves the clock.
    pub fn advance(&self, by: SignedDuration) {
        self.hand.advance(by);
    }
}

/// Compares a whole answer. `row` names the requirement, and shows in a failure.
pub fn compare(row: &str, response: &Response, expected: &Expect) {
    assert!(!row.is_empty());
    expected.assert_eq(&response.snapshot());
}

/// A `SendMessage` request with one data part, in a conversation that the caller made up.
pub fn envelope(payload: &Value) -> Value {
    envelope_in(Some("c-1"), payload)
}

/// The same in any conversation, or in none.
pub fn envelope_in(conversation: Option<&str>, payload: &Value) -> Value {
    let message = json!({
        "messageId": "m-1", "contextId": conversation, "role": "ROLE_USER",
        "parts": [{"data": payload}],
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
}

/// A moment.
pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A lead that is accepted; the tests change it.
pub fn lead() -> Value {
    json!({
        "type": "lead.submit.request",
        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com"},
        "consent": {
            "granted_at": "2026-04-30T11:00:00Z", "allowed_channels": ["email"],
            "consent_text": "You may answer me by e-mail.", "scope": ["lead_submission"],
        },
        "source_agent": {"name": "test-agent"},
    })
}

/// A value with members replaced or, where the new value is null, removed. Paths are JSON
/// Pointers; a null that is meant goes through [`with_null`].
pub fn with(mut value: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, change) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = value.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if change.is_null() {
            parent.shift_remove(name);
        } else {
            parent.insert(name.to_owned(), change.clone());
        }
    }
    value
}

/// A value with a member set to null.
pub fn with_null(mut value: Value, pointer: &str) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = value.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    parent.insert(name.to_owned(), Value::Null);
    value
}
