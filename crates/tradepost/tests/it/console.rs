//! The console over the network: who is let in, what each role sees and may do, and what becomes of it.

mod account;
mod calendar;
mod calendar_feeds;
mod calendar_views;
mod command;
mod failed_sign_ins;
mod feeds;
mod hostile;
mod lead_work;
mod listener;
mod oidc;
mod preview;
mod probe;
mod publisher;
mod refusals;
mod reported;
mod sales;
mod sessions;
mod staff_work;
mod steps;
mod week;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use jiff::SignedDuration;
use tradepost_console::{Console, password};
use tradepost_dealer::import::FeedListing;
use tradepost_dealer::staff::StaffRole;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{Config, ConsoleConfig as Settings, SecondFactorPolicy};
use tradepost_runtime::empty_searches::EmptySearchRecorder;
use tradepost_runtime::wiring::Wiring;
use tradepost_server::clock::{Clock, ManualClock};
use tradepost_server::http;
use tradepost_server::metrics::Metrics;
use tradepost_store::Store;
use tradepost_store::staff::StaffMember;

use crate::support::{self, NOW, Response, TestServer, at, client, dealer, envelope, lead, with};

/// Everybody's password.
const PASSWORD: &str = "correct horse battery";

/// The dealers whose leads there are.
const ONE: &str = dealer::ID;
const TWO: &str = "second";

/// Two dealers with a console.
struct Fixture {
    server: TestServer,
    /// Moves the console's clock.
    hand: ManualClock,
    address: SocketAddr,
    /// What the console's process counts.
    metrics: Arc<Metrics>,
    /// What the console's process remembers of searches.
    searches: Arc<EmptySearchRecorder>,
    runtime: tokio::runtime::Runtime,
}

fn settings() -> Settings {
    Settings {
        listen: "127.0.0.1:0".parse().unwrap(),
        public_url: None,
        session_lifetime: SignedDuration::from_hours(12),
        session_idle: SignedDuration::from_hours(2),
        oidc: None,
        second_factor: SecondFactorPolicy::Optional,
    }
}

fn configured(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = dealer::config();
    config.server.console = Some(settings());
    support::two_dealers(&mut config);
    change(&mut config);
    config
}

/// The hash of [`PASSWORD`], made once: it is made to cost.
fn hashed() -> &'static str {
    static HASHED: LazyLock<String> = LazyLock::new(|| password::hash(PASSWORD).unwrap());
    &HASHED
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::from_server(support::start_with(|config| *config = configured(change)))
    }

    fn on(store: Store) -> Self {
        Self::on_with(store, |_| {})
    }

    /// The same, with another offer of the first dealer.
    fn on_with(store: Store, change: impl FnOnce(&mut Vec<FeedListing>)) -> Self {
        let config = configured(|_| {});
        dealer::stock(&store, &config);
        let mut listings = dealer::listings(false);
        change(&mut listings);
        store.replace_inventory(ONE, &listings, at(NOW), false).unwrap();
        Self::from_server(support::start_on(store, config))
    }

    fn from_server(server: TestServer) -> Self {
        let fixture = Self::serve(server);
        fixture.add_people();
        fixture
    }

    /// A console on a store, in which its people may be already.
    fn serve(server: TestServer) -> Self {
        let (clock, hand) = Clock::manual(at(NOW));
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        let config = server.config().clone();
        let of = config.server.clone();
        let settings = config.server.console.clone().unwrap();
        let entered = runtime.enter();
        let store = Arc::clone(&server.store);
        let wiring = Wiring::open(config, store, clock, server.address).unwrap();
        drop(entered);
        let metrics = Arc::clone(&wiring.registry.metrics);
        let searches = Arc::clone(&wiring.empty_searches);
        let router = Console::open(&wiring, &settings, &of).unwrap().router();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            http::server::serve(listener, router, &of.http(), std::future::pending()).await;
        });
        Self { server, hand, address, metrics, searches, runtime }
    }

    fn add_people(&self) {
        for (name, role, dealer_id) in [
            ("dora", StaffRole::Desk, Some(ONE)),
            ("maria", StaffRole::Manager, Some(ONE)),
            ("egon", StaffRole::Engineer, Some(ONE)),
            ("other", StaffRole::Manager, Some(TWO)),
            ("group", StaffRole::Manager, None),
        ] {
            self.add(name, role, dealer_id);
        }
    }

    fn add(&self, name: &str, role: StaffRole, dealer_id: Option<&str>) {
        let member = StaffMember {
            name: name.to_owned(),
            dealer_id: dealer_id.map(str::to_owned),
            role,
            password: hashed().to_owned(),
            created_at: at(NOW),
        };
        assert!(self.server.store.write_blocking(move |tx| tx.add_member(&member)).unwrap());
    }

    /// Sends a lead to a dealer. Returns its id.
    fn lead(&self, host: &str, payload: &Value) -> String {
        let headers = [("Host", host), ("Content-Type", "application/json")];
        let body = envelope(payload).to_string();
        let answer =
            client::request(self.server.address, "POST", "/a2a", &headers, body.as_bytes());
        let payload = answer.payload();
        payload["data"]["lead_id"].as_str().unwrap_or_else(|| panic!("{payload}")).to_owned()
    }

    /// Asks for a page without having signed in.
    fn get(&self, path: &str) -> Response {
        client::request(self.address, "GET", path, &[], b"")
    }

    /// Asks for a page with a cookie.
    fn get_with(&self, path: &str, cookie: &str) -> Response {
        client::request(self.address, "GET", path, &[("Cookie", cookie)], b"")
    }

    /// A browser in which somebody has signed in.
    fn enter(&self, name: &str) -> Browser<'_> {
        let (answer, _) = self.try_to_enter(name, PASSWORD);
        assert_eq!(answer.status, 303, "{}", text(&answer));
        let cookie = cookie(&answer, "tradepost-console").unwrap();
        let browser = Browser { fixture: self, cookie, proof: String::new() };
        let proof = proof(&browser.get("/console/people"));
        Browser { proof, ..browser }
    }

    /// Signs in; the answer, and the form's cookie.
    fn try_to_enter(&self, name: &str, password: &str) -> (Response, String) {
        let page = self.get("/console/sign-in");
        let form = cookie(&page, "tradepost-form").unwrap();
        let fields =
            [("proof", proof(&page)), ("name", name.into()), ("password", password.into())];
        let answer = self.send("/console/sign-in", &form, &[], &fields);
        (answer, form)
    }

    fn send(
        &self,
        path: &str,
        cookie: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, String)],
    ) -> Response {
        let mut all =
            vec![("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", cookie)];
        all.extend(headers);
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        client::request(self.address, "POST", path, &all, form.finish().as_bytes())
    }

    /// Sends a form with a file, as browsers do; a file input without a choice has neither name nor content.
    fn send_file(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
        file: Option<(&str, &[u8])>,
    ) -> Response {
        const BOUNDARY: &str = "----WebKitFormBoundary7MA4YWxk";
        let mut body = Vec::new();
        for (name, value) in fields {
            let part = format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
            body.extend_from_slice(part.as_bytes());
        }
        let (name, content) = file.unwrap_or_default();
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
        let mut all = vec![("Content-Type", media_type.as_str())];
        all.extend(headers);
        client::request(self.address, "POST", path, &all, &body)
    }

    /// What is recorded of a dealer, the first entry first: who, what, and more about it.
    fn record(&self, chain: &str) -> Vec<(String, String, Option<String>)> {
        let entries = self.server.store.entries(chain, i64::MAX, 1_000).unwrap();
        let said = entries.into_iter().rev().map(|entry| entry.said);
        said.map(|said| (said.actor, said.action.to_string(), said.detail)).collect()
    }
}

/// Somebody at work.
struct Browser<'w> {
    fixture: &'w Fixture,
    cookie: String,
    proof: String,
}

impl Browser<'_> {
    fn get(&self, path: &str) -> Response {
        client::request(self.fixture.address, "GET", path, &[("Cookie", &self.cookie)], b"")
    }

    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let mut all = vec![("proof", self.proof.clone())];
        all.extend(fields.iter().map(|(name, value)| (*name, (*value).to_owned())));
        self.fixture.send(path, &self.cookie, &[], &all)
    }

    /// Sends a form with a file.
    fn upload(&self, path: &str, fields: &[(&str, &str)], file: Option<(&str, &[u8])>) -> Response {
        let mut all = vec![("proof", self.proof.as_str())];
        all.extend(fields);
        self.fixture.send_file(path, &[("Cookie", &self.cookie)], &all, file)
    }

    /// Does something that leads back to a page, which says so.
    #[track_caller]
    fn do_it(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.post(path, fields);
        assert_eq!(answer.status, 303, "{}", text(&answer));
        let location = answer.header("location").unwrap();
        location.rsplit_once("done=").map(|(_, done)| done).unwrap_or(location).to_owned()
    }
}

fn text(answer: &Response) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// `name=value` of a cookie that an answer sets.
fn cookie(answer: &Response, name: &str) -> Option<String> {
    let set = answer.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case("set-cookie"));
    let pairs = set.filter_map(|(_, value)| value.split(';').next());
    let mut found = pairs.filter(|pair| pair.split_once('=').is_some_and(|(key, _)| key == name));
    found.next().map(str::to_owned)
}

/// What proves the forms of a page.
#[track_caller]
fn proof(page: &Response) -> String {
    let page = text(page);
    let (_, rest) = page.split_once("name=\"proof\" value=\"").unwrap_or_else(|| panic!("{page}"));
    rest.split('"').next().unwrap().to_owned()
}

/// A lead of a customer of this name.
fn customer(name: &str) -> Value {
    let email = format!("{}@example.com", name.to_lowercase());
    with(lead(), &[("/customer/first_name", json!(name)), ("/customer/email", json!(email))])
}
