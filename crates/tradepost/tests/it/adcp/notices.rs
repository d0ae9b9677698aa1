//! Notifications of a publisher, delivered to real receivers: our own buyer believes them, failures
//! are tried again, and nothing that is due is lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use tokio::sync::Notify;
use tradepost_client::receiver::authentic::{Authenticity, DeliveryEnvelope, TrustedWebhooks};
use tradepost_client::signed::signers::{AgentKeys, KeyLocation, Signers, SigningAgent};
use tradepost_commands::published::GuardedWeb;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_keys::http_signature::TargetUri;
use tradepost_publisher::services::BoxFuture;
use tradepost_publisher::store::{
    Job, New, PublisherStore, Query, ReadExtent, StoreRead, StoreTx, Stored,
};
use tradepost_publisher::task::QueuedNotification;
use tradepost_runtime::adcp::keys::WebhookKey;
use tradepost_runtime::adcp::notices::{Notices, NotificationDeps};
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::outbox::ClockAndRandom;
use tradepost_server::outbox::backoff::RetrySchedule;
use tradepost_server::outbox::sender::HttpSender;
use tradepost_store::Store;

const BODY: &str =
    r#"{"idempotency_key":"whk_0123456789abcdef","task_id":"t","status":"completed"}"#;
const SECRET: &str = "a secret of at least thirty-two characters";

/// What a receiver answers: a status, and what it says in `WWW-Authenticate`.
type ReceiverAnswer = (u16, &'static str);

/// A receiver that writes down what comes, judges it, and answers as it was told; afterwards it
/// says 200 to what it believes and 401 to everything else.
#[derive(Clone)]
struct Receiver {
    judge: Arc<Authenticity>,
    answers: Arc<Mutex<VecDeque<ReceiverAnswer>>>,
    seen: Arc<Mutex<Vec<(HeaderMap, String, bool)>>>,
}

impl Receiver {
    fn seen(&self) -> Vec<(HeaderMap, String, bool)> {
        self.seen.lock().unwrap().clone()
    }
}

async fn receive(State(receiver): State<Receiver>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 100_000).await.unwrap();
    let envelope = DeliveryEnvelope {
        method: &parts.method,
        uri: &parts.uri,
        headers: &parts.headers,
        body: &body,
    };
    let now = Clock::system().now();
    let believed = receiver.judge.check(&envelope, now).await.is_ok();
    let text = String::from_utf8(body.to_vec()).unwrap();
    receiver.seen.lock().unwrap().push((parts.headers.clone(), text, believed));
    let usual = if believed { (200, "") } else { (401, "") };
    let (status, challenge) = receiver.answers.lock().unwrap().pop_front().unwrap_or(usual);
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if !challenge.is_empty() {
        let value = HeaderValue::from_static(challenge);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

/// A publisher's notifications and one receiver.
struct Fixture {
    publisher_store: SqlPublisherStore,
    key: Arc<WebhookKey>,
    receiver: Receiver,
    url: String,
    runtime: tokio::runtime::Runtime,
    _directory: tempfile::TempDir,
}

impl Fixture {
    /// With a receiver that believes our signatures.
    fn new(answers: &[ReceiverAnswer]) -> Self {
        Self::judged(answers, None)
    }

    /// With a receiver that judges in this way.
    fn judged(answers: &[ReceiverAnswer], judge: Option<Authenticity>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(directory.path()).unwrap());
        let publisher_store = SqlPublisherStore::new(store, "gazette");
        let key = Arc::new(WebhookKey::generate().unwrap());
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/hooks/a%2Fb?op=1", listener.local_addr().unwrap());
        let file = directory.path().join("jwks.json");
        std::fs::write(&file, tradepost_runtime::adcp::keys::jwks(&[key.public()]).to_string())
            .unwrap();
        let keys = AgentKeys { source: KeyLocation::File(file), revoked: Vec::new(), cap: 100 };
        let seller =
            SigningAgent { whose: "gazette".into(), id: "gazette".to_owned(), url: None, keys };
        let web = Arc::new(GuardedWeb::new(Egress::new(Resolver::system(), true), Clock::system()));
        let sellers =
            Signers::open(web, vec![seller], |path| std::fs::read_to_string(path)).unwrap();
        let webhooks = TrustedWebhooks::new(sellers, Some(TargetUri::read(&url).unwrap()));
        let receiver = Receiver {
            judge: Arc::new(
                judge.unwrap_or_else(|| Authenticity::default().with_webhooks(webhooks)),
            ),
            answers: Arc::new(Mutex::new(answers.iter().copied().collect())),
            seen: Arc::default(),
        };
        let router = Router::new().fallback(receive).with_state(receiver.clone());
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { publisher_store, key, receiver, url, runtime, _directory: directory }
    }

    /// Something is to be told.
    fn owe(&self, id: &'static str, url: &str, authentication: Option<Value>) {
        let now = Clock::system().now();
        let notice = QueuedNotification::new(url, authentication.as_ref(), Value::Null, now);
        let notice = QueuedNotification { body: BODY.to_owned(), ..notice };
        let job = move |tx: &dyn StoreTx| {
            tx.add(New { id, owner: "o", account: None, state: "due", now }, &notice)?;
            Ok::<_, InternalError>(())
        };
        let publisher_store: &dyn PublisherStore = &self.publisher_store;
        self.runtime.block_on(publisher_store.act(job)).unwrap();
    }

    /// A process that delivers, from what this store says.
    fn process(
        &self,
        publisher_store: Arc<dyn PublisherStore>,
        loopback: bool,
    ) -> tokio::task::JoinHandle<()> {
        let egress = Egress::new(Resolver::system(), loopback);
        let deps = NotificationDeps {
            publisher_store,
            notify: self.publisher_store.notify(),
            sender: HttpSender::new(egress, Duration::from_secs(5)),
            clock: Clock::system(),
            edge: ClockAndRandom::system(),
            shared: None,
        };
        let mut notices = Notices::new("gazette", Arc::clone(&self.key), deps);
        let first = Duration::from_millis(10);
        notices.schedule = RetrySchedule { attempts: 4, first, longest: first };
        let run = Arc::new(notices).run(std::future::pending(), Duration::ZERO);
        self.runtime.spawn(run)
    }

    fn run(&self) {
        self.process(Arc::new(self.publisher_store.clone()), true);
    }

    fn notice(&self, id: &str) -> Stored<QueuedNotification> {
        let publisher_store: &dyn PublisherStore = &self.publisher_store;
        publisher_store.look(|reader| reader.find::<QueuedNotification>(id)).unwrap().unwrap()
    }

    /// Waits until a notification is in another state than due, and says which, and after how many
    /// attempts.
    fn end(&self, id: &str) -> (String, u32) {
        for _ in 0..2_000 {
            let notice = self.notice(id);
            if notice.record.state != "due" {
                return (notice.record.state, notice.thing.attempts);
            }
            self.pause();
        }
        panic!("{id} stays due: {:?}", self.receiver.seen());
    }

    fn pause(&self) {
        self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(5)).await });
    }
}

fn nonce(headers: &HeaderMap) -> String {
    let input = headers["signature-input"].to_str().unwrap();
    input.split(";nonce=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn w_4_our_buyer_believes_what_the_publisher_sends() {
    let fixture = Fixture::new(&[]);
    fixture.run();
    fixture.owe("n-1", &fixture.url.clone(), None);
    assert_eq!(fixture.end("n-1"), ("done".to_owned(), 1));
    let seen = fixture.receiver.seen();
    let [(headers, body, believed)] = &seen[..] else { panic!("{seen:?}") };
    assert!(believed, "{headers:?}");
    assert_eq!(body, BODY);
    assert_eq!(headers["content-type"], "application/json");
    assert!(headers.get("authorization").is_none());
}

/// Covers W-5 too.
#[test]
fn w_4_untaken_bytes_come_again_with_another_signature() {
    let fixture = Fixture::new(&[(503, ""), (401, ""), (401, "Bearer")]);
    fixture.owe("n-1", &fixture.url.clone(), None);
    fixture.run();
    assert_eq!(fixture.end("n-1"), ("done".to_owned(), 4));
    let seen = fixture.receiver.seen();
    assert!(seen.iter().all(|(_, body, believed)| body == BODY && *believed));
    let mut nonces: Vec<_> = seen.iter().map(|(headers, ..)| nonce(headers)).collect();
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 4);
}

#[test]
fn what_is_not_taken_or_not_believed_is_given_up() {
    let fixture = Fixture::new(&[(503, ""); 4]);
    fixture.run();
    fixture.owe("n-1", &fixture.url.clone(), None);
    assert_eq!(fixture.end("n-1"), ("dead".to_owned(), 4));
    *fixture.receiver.answers.lock().unwrap() =
        [(401, "Signature error=\"webhook_signature_invalid\"")].into();
    fixture.owe("n-2", &fixture.url.clone(), None);
    assert_eq!(fixture.end("n-2"), ("dead".to_owned(), 1), "it would never be believed");
    *fixture.receiver.answers.lock().unwrap() = [(409, "")].into();
    fixture.owe("n-3", &fixture.url.clone(), None);
    assert_eq!(fixture.end("n-3"), ("dead".to_owned(), 1), "its key was used for something else");
    assert_eq!(fixture.receiver.seen().len(), 6);
}

#[test]
fn whoever_asked_for_a_secret_gets_it_and_no_signature() {
    for scheme in ["HMAC-SHA256", "Bearer"] {
        let judge = Authenticity::default();
        let judge = match scheme {
            "Bearer" => judge.with_tokens(&[SECRET]).unwrap(),
            _ => judge.with_hmac(&[SECRET]).unwrap(),
        };
        let fixture = Fixture::judged(&[], Some(judge));
        fixture.run();
        let asked = json!({"schemes": [scheme], "credentials": SECRET});
        fixture.owe("n-1", &fixture.url.clone(), Some(asked));
        assert_eq!(fixture.end("n-1"), ("done".to_owned(), 1), "{scheme}");
        let (headers, _, believed) = fixture.receiver.seen().remove(0);
        assert!(believed && headers.get("signature").is_none(), "{scheme}");
    }
}

#[test]
fn w_5_nothing_is_sent_where_the_guard_forbids_it() {
    let fixture = Fixture::new(&[]);
    let process = fixture.process(Arc::new(fixture.publisher_store.clone()), false);
    fixture.owe("n-1", &fixture.url.clone(), None);
    fixture.owe("n-2", "https://10.0.0.1/hook", None);
    fixture.owe("n-3", "nowhere", None);
    fixture.owe("n-4", "https://user:secret@buyer.example/", None);
    for id in ["n-1", "n-2", "n-3", "n-4"] {
        assert_eq!(fixture.end(id), ("dead".to_owned(), 1), "{id}");
    }
    assert!(fixture.receiver.seen().is_empty());
    process.abort();
}

/// A store whose disk stands still while something is written.
#[derive(Debug)]
struct StuckStore(SqlPublisherStore, Arc<Notify>);

impl PublisherStore for StuckStore {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.0.read(extent, job)
    }

    fn write(&self, _: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        self.1.notify_one();
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_delivery_not_noted_before_a_kill_is_repeated() {
    let fixture = Fixture::new(&[]);
    fixture.owe("n-1", &fixture.url.clone(), None);
    let stuck = Arc::new(Notify::new());
    let killed = fixture
        .process(Arc::new(StuckStore(fixture.publisher_store.clone(), Arc::clone(&stuck))), true);
    fixture.runtime.block_on(stuck.notified());
    killed.abort();
    assert_eq!(fixture.notice("n-1").record.state, "due");
    assert_eq!(fixture.receiver.seen().len(), 1, "it was sent, and nobody knows");
    fixture.run();
    assert_eq!(fixture.end("n-1"), ("done".to_owned(), 1));
    let bodies: Vec<_> = fixture.receiver.seen().into_iter().map(|(_, body, _)| body).collect();
    assert_eq!(bodies, [BODY, BODY], "at least once, with one key to know it by");
}

#[test]
fn one_receiver_that_fails_delays_no_other() {
    let failing = Fixture::new(&[(503, ""); 100]);
    let fixture = Fixture::new(&[]);
    fixture.owe("n-1", &failing.url, None);
    fixture.run();
    fixture.owe("n-2", &fixture.url.clone(), None);
    assert_eq!(fixture.end("n-2"), ("done".to_owned(), 1));
    assert_eq!(fixture.end("n-1"), ("dead".to_owned(), 4));
    let listed = (&fixture.publisher_store as &dyn PublisherStore)
        .look(|reader| reader.all::<QueuedNotification>(&Query::default()));
    assert_eq!(listed.unwrap().len(), 2, "what became of each is kept");
}
