//! A publisher on a loopback address, and requests to it on every binding.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use expect_test::Expect;
use jiff::SignedDuration;
use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::agent::{AgentStanding, BuyerAgent};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::store::{PublisherStore, StoreTx};
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_runtime::config::Config;
use tradepost_runtime::config::read::demo_publisher;
use tradepost_runtime::gate::Scopes;
use tradepost_runtime::wiring::{self, Wiring};
use tradepost_server::auth::Principal;
use tradepost_server::clock::{Clock, ManualClock};
use tradepost_server::http;
use tradepost_server::registry::AgentRegistry;
use tradepost_store::Store;

use super::{NOW, Response, at, client, folder, layout};

/// The extension that callers of A2A 1.0 activate.
pub const EXTENSION: &str = "https://adcontextprotocol.org/extensions/adcp/v3";

/// The credentials: whose they are, and the token.
const TOKENS: [(&str, &str); 6] = [
    ("acme", "token-of-acme"),
    ("nova", "token-of-nova"),
    ("paused", "token-of-paused"),
    ("banned", "token-of-banned"),
    ("tester", "token-of-tester"),
    ("stranger", "token-of-stranger"),
];

/// A running publisher.
pub struct Publisher {
    pub address: SocketAddr,
    /// Where its operators ask.
    pub operators: SocketAddr,
    /// What runs.
    pub registry: Arc<AgentRegistry>,
    pub hand: ManualClock,
    config: Config,
    directory: tempfile::TempDir,
    publisher_store: SqlPublisherStore,
    runtime: Option<tokio::runtime::Runtime>,
}

/// The usual publisher.
pub fn start() -> Publisher {
    start_with(&|_| {})
}

/// The usual publisher, changed.
pub fn start_with(change: &dyn Fn(&mut Config)) -> Publisher {
    start_in(folder(), changed(change))
}

fn changed(change: &dyn Fn(&mut Config)) -> Config {
    let mut config = usual();
    let token = |(name, text): &(&'static str, &'static str)| {
        (*text, Principal { name: (*name).to_owned(), scopes: Scopes::All })
    };
    config.publishers[0].front.tokens = TOKENS.iter().map(token).collect();
    change(&mut config);
    config
}

/// The usual publisher, changed, whose card names the address at which it is reached.
pub fn start_here(change: &dyn Fn(&mut Config)) -> Publisher {
    launch(folder(), changed(change), None)
}

/// The usual publisher, who sells something, on a store that others may have, too.
pub fn start_sharing(store: Store) -> Publisher {
    start_selling(store, tradepost_demo::publisher::catalogue())
}

/// The usual publisher with this catalogue, on a store that others may have, too.
pub fn start_selling(store: Store, catalogue: Catalogue) -> Publisher {
    let named = Some("127.0.0.1:8080".parse().unwrap());
    let config = changed(&|config| config.publishers[0].profile.catalogue.clone_from(&catalogue));
    launch_on(store, tempfile::tempdir().unwrap(), config, named)
}

fn start_in(directory: tempfile::TempDir, config: Config) -> Publisher {
    // The card names a fixed address, so that it can be compared.
    launch(directory, config, Some("127.0.0.1:8080".parse().unwrap()))
}

fn launch(directory: tempfile::TempDir, config: Config, named: Option<SocketAddr>) -> Publisher {
    launch_on(Store::open(directory.path()).unwrap(), directory, config, named)
}

fn launch_on(
    store: Store,
    directory: tempfile::TempDir,
    config: Config,
    named: Option<SocketAddr>,
) -> Publisher {
    let same = config.clone();
    let store = Arc::new(store);
    let (clock, hand) = Clock::manual(at(NOW));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let server = config.server.clone();
    let publisher_store =
        SqlPublisherStore::new(Arc::clone(&store), &config.publishers[0].profile.id);
    let entered = runtime.enter();
    let named = named.unwrap_or(address);
    let registry = Wiring::open(config, Arc::clone(&store), clock, named).unwrap().registry;
    drop(entered);
    let watch = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let operators = watch.local_addr().unwrap();
    let router = http::operator_router(Arc::clone(&registry));
    let settings = server.http();
    runtime.spawn(async move {
        http::server::serve(watch, router, &settings, std::future::pending()).await;
    });
    let site = wiring::site(Arc::clone(&registry));
    runtime.spawn(async move {
        http::server::serve(listener, site, &server.http(), std::future::pending()).await;
    });
    Publisher {
        address,
        operators,
        registry,
        hand,
        config: same,
        directory,
        publisher_store,
        runtime: Some(runtime),
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The demo publisher with the agents of the tests. Whoever has a token of a name that no agent has
/// is a stranger.
fn usual() -> Config {
    let mut config = demo_publisher();
    let server = super::dealer::config().server;
    config.server.max_body_bytes = server.max_body_bytes;
    config.server.read_timeout = server.read_timeout;
    config.publishers[0].front.require_extension = true;
    let profile = &mut config.publishers[0].profile;
    profile.internals = false;
    let like = BuyerAgent::clone(&profile.agents[0]);
    let agent = |id: &str, standing, sandbox_only| {
        let principals = [id.to_owned()].into();
        Arc::new(BuyerAgent {
            id: id.to_owned(),
            principals,
            standing,
            sandbox_only,
            ..like.clone()
        })
    };
    profile.agents = vec![
        agent("acme", AgentStanding::Active, false),
        agent("nova", AgentStanding::Active, false),
        agent("paused", AgentStanding::Suspended, false),
        agent("banned", AgentStanding::Blocked, false),
        agent("tester", AgentStanding::Active, true),
    ];
    config
}

/// The token of somebody; `None` for nobody, and the name itself when it is none of ours.
pub fn token(who: &str) -> Option<String> {
    if who == "nobody" {
        return None;
    }
    let known = TOKENS.iter().find(|(name, _)| *name == who);
    Some(known.map_or(who, |(_, token)| token).to_owned())
}

impl Publisher {
    /// The folder with what it keeps.
    pub fn data(&self) -> &Path {
        self.directory.path()
    }

    /// Another process on what this one has left behind.
    pub fn restart(mut self) -> Self {
        let config = self.config.clone();
        let directory = std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap());
        drop(self);
        start_in(directory, config)
    }

    /// Posts a body as somebody, with these headers besides.
    pub fn post(&self, who: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let bearer = token(who).map(|token| format!("Bearer {token}"));
        let bearer = bearer.as_deref().map(|bearer| ("Authorization", bearer));
        let has_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let usual = (!has_type).then_some(("Content-Type", "application/json"));
        let headers: Vec<_> =
            usual.into_iter().chain(bearer).chain(headers.iter().copied()).collect();
        client::request(self.address, "POST", path, &headers, body.as_bytes())
    }

    /// What it keeps.
    pub fn publisher_store(&self) -> &SqlPublisherStore {
        &self.publisher_store
    }

    /// Does something in its store, as its operator would.
    fn change_store(&self, job: StoreChange) {
        let publisher_store: &dyn PublisherStore = &self.publisher_store;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(publisher_store.act(move |tx| job(tx))).unwrap();
    }

    /// Breaks its store.
    pub fn damage(&self, statement: &str) {
        let file = self.directory.path().join("tradepost.sqlite");
        assert!(file.exists(), "{file:?}");
        rusqlite::Connection::open(file).unwrap().execute_batch(statement).unwrap();
    }

    /// A request over MCP.
    pub fn mcp(&self, who: &str, method: &str, params: &Value) -> Response {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(who, "/mcp", &[], &body.to_string())
    }

    /// A request over A2A 1.0.
    pub fn a2a(&self, who: &str, method: &str, params: &Value) -> Response {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = [("A2A-Version", "1.0"), ("A2A-Extensions", EXTENSION)];
        self.post(who, "/a2a", &headers, &body.to_string())
    }

    /// A request over A2A 0.3.
    pub fn older(&self, who: &str, method: &str, params: &Value) -> Response {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(who, "/a2a", &[], &body.to_string())
    }

    /// A call of a tool on a binding.
    pub fn call(&self, binding: Binding, who: &str, tool: &str, arguments: &Value) -> Response {
        match binding {
            Binding::Mcp => {
                self.mcp(who, "tools/call", &json!({"name": tool, "arguments": arguments}))
            }
            Binding::A2a => self.a2a(who, "SendMessage", &message(tool, arguments)),
            Binding::Older => self.older(who, "message/send", &older_message(tool, arguments)),
        }
    }
}

/// A message of A2A 1.0 that calls a task.
pub fn message(task: &str, input: &Value) -> Value {
    let part = json!({"data": {"skill": task, "input": input}});
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [part]}})
}

/// The same as clients of 0.3 send it.
pub fn older_message(task: &str, parameters: &Value) -> Value {
    let part = json!({"kind": "data", "data": {"skill": task, "parameters": parameters}});
    let message = json!({"kind": "message", "messageId": "m-1", "role": "user", "parts": [part]});
    json!({"message": message})
}

/// How a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    Mcp,
    A2a,
    Older,
}

/// What a binding says around a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The HTTP status, and what the binding calls the state.
    pub around: String,
    pub document: Value,
}

impl Outcome {
    /// The document of an answer, with its identifiers.
    pub fn raw(binding: Binding, response: &Response) -> Value {
        let body = response.json();
        let result = &body["result"];
        let found = match binding {
            Binding::Mcp => result.get("structuredContent"),
            Binding::A2a => result.pointer("/task/artifacts/0/parts/1/data"),
            Binding::Older => result.pointer("/artifacts/0/parts/1/data"),
        };
        found.unwrap_or_else(|| panic!("{body}")).clone()
    }

    /// Reads an answer to a call.
    pub fn read(binding: Binding, response: &Response) -> Self {
        let body = response.json();
        if let Some(error) = body.get("error") {
            let mut document = error.get("data").cloned().unwrap_or_default();
            redact(&mut document);
            let around = format!("{} error {}", response.status, error["code"]);
            return Self { around, document };
        }
        let result = &body["result"];
        let (state, document) = match binding {
            Binding::Mcp => {
                let text = result["content"][0]["text"].as_str().unwrap();
                assert_eq!(text, result["structuredContent"].to_string(), "one document, twice");
                assert_eq!(result["content"].as_array().unwrap().len(), 2);
                (format!("isError {}", result["isError"]), &result["structuredContent"])
            }
            Binding::A2a | Binding::Older => {
                let task = result.get("task").unwrap_or(result);
                let artifacts = task["artifacts"].as_array().unwrap();
                assert_eq!(artifacts.len(), 1, "{task}");
                let parts = artifacts[0]["parts"].as_array().unwrap();
                let data: Vec<_> = parts.iter().filter_map(|part| part.get("data")).collect();
                assert_eq!((parts.len(), data.len()), (2, 1), "{task}");
                let name = artifacts[0]["artifactId"].as_str().unwrap();
                let state = task["status"]["state"].as_str().unwrap();
                (format!("{state} {name}"), data[0])
            }
        };
        let mut document = document.clone();
        redact(&mut document);
        Self { around: format!("{} {state}", response.status), document }
    }
}

/// Change of a publisher's store.
type StoreChange = Arc<dyn Fn(&dyn StoreTx) -> Result<(), InternalError> + Send + Sync>;

/// Something that leads up to a request.
enum Step {
    /// Somebody calls a tool, and it works.
    Call(&'static str, &'static str, Value),
    /// Time passes.
    Wait(SignedDuration),
    /// The store is changed.
    ChangeStore(StoreChange),
    /// The store breaks, by this statement.
    Damage(&'static str),
    /// Somebody calls so many times, and is refused.
    Try(usize, &'static str),
    /// Somebody calls a tool, which is at work until the request has been answered.
    Begin(&'static str, &'static str, Value, Arc<Hold>),
}

/// How a test holds something up that a server is waiting for.
pub struct Hold {
    /// Says that the server has come to wait.
    pub waits: Mutex<Receiver<()>>,
    /// Lets it go on.
    pub release: Mutex<Sender<()>>,
}

/// Caller, configuration and preceding steps of a request. Each binding gets its own server, because
/// requests change the store.
pub struct RequestCase {
    who: &'static str,
    change: Box<dyn Fn(&mut Config)>,
    before: Vec<Step>,
}

impl Default for RequestCase {
    fn default() -> Self {
        Self { who: "acme", change: Box::new(|_| {}), before: Vec::new() }
    }
}

impl RequestCase {
    /// Who asks; `acme` when it is not said.
    pub fn by(self, who: &'static str) -> Self {
        Self { who, ..self }
    }

    /// Another publisher.
    pub fn at(self, change: impl Fn(&mut Config) + 'static) -> Self {
        Self { change: Box::new(change), ..self }
    }

    /// What was done before, and worked.
    pub fn after(mut self, who: &'static str, tool: &'static str, arguments: Value) -> Self {
        self.before.push(Step::Call(who, tool, arguments));
        self
    }

    /// So many seconds pass.
    pub fn later(mut self, seconds: i64) -> Self {
        self.before.push(Step::Wait(SignedDuration::from_secs(seconds)));
        self
    }

    /// Changes the store before the request.
    pub fn with_store_change(
        mut self,
        job: impl Fn(&dyn StoreTx) -> Result<(), InternalError> + Send + Sync + 'static,
    ) -> Self {
        self.before.push(Step::ChangeStore(Arc::new(job)));
        self
    }

    /// The store breaks, by this statement.
    pub fn damaged(mut self, statement: &'static str) -> Self {
        self.before.push(Step::Damage(statement));
        self
    }

    /// Somebody calls so many times before, and is refused.
    pub fn tried(mut self, times: usize, who: &'static str) -> Self {
        self.before.push(Step::Try(times, who));
        self
    }

    /// Somebody calls a tool, and the server is at work at it until the request has been answered.
    pub fn during(
        mut self,
        who: &'static str,
        tool: &'static str,
        arguments: Value,
        hold: Hold,
    ) -> Self {
        self.before.push(Step::Begin(who, tool, arguments, Arc::new(hold)));
        self
    }

    /// Asks on every binding, and compares: what each says around the document, and the document,
    /// which is the same on all.
    #[track_caller]
    pub fn check(&self, tool: &str, arguments: &Value, code: &str, expected: &Expect) {
        let outcomes: Vec<_> = [Binding::Mcp, Binding::A2a, Binding::Older]
            .into_iter()
            .map(|binding| {
                let publisher = Arc::new(start_with(&*self.change));
                let mut seen = Vec::new();
                let mut begun = Vec::new();
                for step in &self.before {
                    let (who, tool, arguments) = match step {
                        Step::Call(who, tool, arguments) => (who, tool, arguments),
                        Step::Wait(time) => {
                            publisher.hand.advance(*time);
                            continue;
                        }
                        Step::ChangeStore(job) => {
                            publisher.change_store(Arc::clone(job));
                            continue;
                        }
                        Step::Begin(who, tool, arguments, hold) => {
                            let at = Arc::clone(&publisher);
                            let who = *who;
                            let tool = *tool;
                            let arguments = filled(arguments, &seen);
                            let call = move || at.call(binding, who, tool, &arguments);
                            begun.push((std::thread::spawn(call), hold));
                            hold.waits.lock().unwrap().recv().unwrap();
                            continue;
                        }
                        Step::Try(times, who) => {
                            for _ in 0..*times {
                                let answer =
                                    publisher.call(binding, who, "get_products", &json!({}));
                                assert_ne!(answer.status, 200);
                            }
                            continue;
                        }
                        Step::Damage(statement) => {
                            publisher.damage(statement);
                            continue;
                        }
                    };
                    let arguments = filled(arguments, &seen);
                    let answer = publisher.call(binding, who, tool, &arguments);
                    seen.push(Outcome::raw(binding, &answer));
                    let last = &seen[seen.len() - 1];
                    let failed = last.get("adcp_error").is_some() || last["success"] == false;
                    assert!(!failed, "{tool}: {last}");
                }
                let arguments = filled(arguments, &seen);
                let outcome =
                    Outcome::read(binding, &publisher.call(binding, self.who, tool, &arguments));
                for (call, hold) in begun {
                    hold.release.lock().unwrap().send(()).unwrap();
                    let first = Outcome::raw(binding, &call.join().unwrap());
                    assert_eq!(first["status"], "completed", "{first}");
                }
                outcome
            })
            .collect();
        assert_eq!(outcomes[0].document, outcomes[1].document, "MCP and A2A");
        assert_eq!(outcomes[0].document, outcomes[2].document, "MCP and A2A 0.3");
        let document = &outcomes[0].document;
        if let Some(envelope) = document.get("adcp_error")
            && let Some(errors) = document.get("errors")
        {
            assert_eq!(*envelope, errors[0], "both layers say the same");
        }
        if let Some(error) = document.get("adcp_error") {
            check_safe(error);
        }
        let found = [
            "/adcp_error/code",
            "/errors/0/code",
            "/accounts/0/errors/0/code",
            "/creatives/0/errors/0/code",
        ];
        let found = found.iter().find_map(|path| document.pointer(path)).and_then(Value::as_str);
        assert_eq!(found.unwrap_or_default(), code, "{document}");
        let around: Vec<_> = outcomes.iter().map(|outcome| outcome.around.as_str()).collect();
        let document = layout::lay_out(&outcomes[0].document);
        expected.assert_eq(&format!("{}\n{document}\n", around.join(" | ")));
    }
}

/// What stands behind the publishers of the tests, and what callers have sent: none of it is said.
const PRIVATE: [&str; 9] = [
    "127.0.0.1",
    "Jane",
    "SELECT",
    "TABLE",
    "_unknown",
    "publisher_things",
    "sk-",
    "token-of",
    "/tmp",
];

/// An error recovers as its code says, and says nothing that is nobody's business.
#[track_caller]
fn check_safe(error: &Value) {
    let name = error["code"].as_str().unwrap();
    let code = AdcpCode::ALL.iter().find(|code| code.name() == name).expect(name);
    // What a product never permits is not to be asked for again (`action-not-allowed-reason`).
    let never = error["details"]["reason"] == "not_supported_on_product";
    if never {
        assert_eq!((*code, &error["recovery"]), (AdcpCode::ActionNotAllowed, &json!("terminal")));
    }
    // Whoever is pinned to 3.0 is told with the older code what the newer one says.
    if *code != AdcpCode::AuthRequired && !never {
        assert_eq!(error["recovery"], json!(code.recovery()), "{error}");
    }
    let text = error.to_string();
    let said: Vec<_> = PRIVATE.into_iter().filter(|word| text.contains(word)).collect();
    assert_eq!(said, Vec::<&str>::new(), "{error}");
}

/// Replaces what differs from run to run by what it is: `mb_` and 32 hex digits by `mb_<id>`.
pub fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => members.values_mut().for_each(redact),
        Value::String(text) => {
            let found = text.rsplit_once('_').filter(|(_, id)| uuid::Uuid::parse_str(id).is_ok());
            if let Some((prefix, _)) = found {
                *text = format!("{prefix}_<id>");
            } else if uuid::Uuid::parse_str(text).is_ok() {
                *text = "<id>".to_owned();
            } else if let Some(rest) = text.strip_prefix("http://127.0.0.1:")
                && let Some((port, path)) = rest.split_once('/')
                && port != "8080"
            {
                *text = format!("http://127.0.0.1:<port>/{path}");
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Puts in what earlier answers have said: `$0/accounts/0/account_id` is from the first one.
fn filled(value: &Value, seen: &[Value]) -> Value {
    match value {
        Value::String(text) => {
            let named = text.strip_prefix('$').and_then(|rest| rest.split_once('/'));
            let Some((index, path)) = named else { return value.clone() };
            let answer = &seen[index.parse::<usize>().unwrap()];
            let found = answer.pointer(&format!("/{path}"));
            found.unwrap_or_else(|| panic!("{text} is not in {answer}")).clone()
        }
        Value::Array(items) => items.iter().map(|item| filled(item, seen)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), filled(value, seen))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
