//! Certificates that the server orders: from an authority of ours that fails when it is told to, and from
//! Pebble, which is Let's Encrypt's own for tests.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tradepost_runtime::acme::{self, Orders, failure::AcmeErrorCode};
use tradepost_runtime::config::acme::Acme;
use tradepost_runtime::config::{ServerConfig, Tls};
use tradepost_server::clock::{Clock, ManualClock};
use tradepost_server::http::server::{Listener, serve};
use tradepost_server::outbox::ClockAndRandom;
use tradepost_server::tls::ServerIdentity;

use crate::beside::without;
use crate::process::Process;
use crate::support::acme::{Authority, AuthorityBehavior};
use crate::support::tls;

const NAMES: [&str; 2] = ["cars.example", "trucks.example"];

/// A server, what orders its certificate, and the authority.
struct Fixture {
    authority: Authority,
    settings: Acme,
    address: SocketAddr,
    identity: Arc<ServerIdentity>,
    orders: Arc<Orders>,
    clock: Clock,
    hand: ManualClock,
    runtime: Option<tokio::runtime::Runtime>,
    folder: tempfile::TempDir,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A server that has begun to order, from an authority that behaves so.
fn fixture(behavior: impl FnOnce(&mut AuthorityBehavior)) -> Fixture {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let authority = Authority::start(&runtime);
    let folder = tempfile::tempdir().unwrap();
    let settings = Acme {
        domains: NAMES.map(str::to_owned).to_vec(),
        contact: vec!["it@cars.example".to_owned()],
        directory: authority.directory(),
        folder: folder.path().join("acme"),
        ca_file: None,
    };
    let (clock, hand) = Clock::manual("2026-02-01T00:00:00Z".parse().unwrap());
    let files = Tls { certificate: settings.file(), key: settings.file(), client_ca: None };
    let identity =
        ServerIdentity::open_ordered(files, acme::challenges(&settings), &clock).unwrap();
    let identity = Arc::new(identity);
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let shown = Listener::with_tls(listener, Arc::clone(&identity));
    let router = axum::Router::new().fallback(async || "here");
    runtime.spawn(async move {
        serve(shown, router, &ServerConfig::default().http(), std::future::pending()).await;
    });
    authority.behavior().looks_at = Some(address);
    behavior(&mut authority.behavior());
    let orders = Arc::new(Orders::new(settings.clone(), clock.clone(), edge()));
    let fixture = Fixture {
        authority,
        settings,
        address,
        identity,
        orders,
        clock,
        hand,
        runtime: Some(runtime),
        folder,
    };
    fixture.run(&fixture.orders);
    fixture
}

/// Looks all the time, and draws the middle.
fn edge() -> ClockAndRandom {
    ClockAndRandom {
        sleep: Arc::new(|wait| Box::pin(tokio::time::sleep(wait.min(tls::MOMENT)))),
        random: Arc::new(|| 0.5),
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    until_or_show(what, condition, String::new);
}

/// Waits for `condition`; what `logs` returns is in the message of the panic.
fn until_or_show(what: &str, condition: impl Fn() -> bool, logs: impl FnOnce() -> String) {
    for _ in 0..3_000 {
        if condition() {
            return;
        }
        std::sync::mpsc::channel::<()>().1.recv_timeout(tls::MOMENT).unwrap_err();
    }
    panic!("{what} did not happen within a minute\n{}", logs());
}

impl Fixture {
    fn run(&self, orders: &Arc<Orders>) {
        let orders = Arc::clone(orders);
        let identity = Arc::clone(&self.identity);
        self.runtime.as_ref().unwrap().spawn(async move { orders.run(&identity).await });
    }

    fn until_issued(&self, number: u32) {
        until("a certificate", || {
            self.authority.behavior().issued == number && self.history().failures == 0
        });
        until("it is shown", || self.identity.expires_at().is_some());
    }

    fn until_failed(&self, number: u32) -> acme::OrderHistory {
        // It is on disk before it is in memory.
        let failures = || (self.history().failures, self.orders.failures());
        until("a failure", || failures() == (number, number));
        self.history()
    }

    fn history(&self) -> acme::OrderHistory {
        acme::history(&self.settings)
    }

    /// What a client gets that trusts the authority.
    fn visit(&self, name: &str) -> Result<(), String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.pem.as_bytes()).unwrap()).unwrap();
        visit(self.address, name, roots, &[])
    }

    fn texts(&self) -> String {
        let files = std::fs::read_dir(&self.settings.folder).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap() + " ").collect()
    }
}

/// A handshake, with what is offered to be spoken.
fn visit(
    address: SocketAddr,
    name: &str,
    roots: RootCertStore,
    offered: &[&str],
) -> Result<(), String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let mut config = builder
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    while client.is_handshaking() {
        client.complete_io(&mut stream).map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[test]
fn a_certificate_is_ordered_shown_kept_and_renewed() {
    let fixture = fixture(|_| {});
    fixture.until_issued(1);
    for name in NAMES {
        fixture.visit(name).unwrap();
    }
    let refused = fixture.visit("other.example").unwrap_err();
    assert!(refused.contains("not valid for name"), "{refused}");
    {
        let behavior = fixture.authority.behavior();
        assert_eq!(
            (behavior.accounts, &behavior.contact[0]),
            (1, &"mailto:it@cars.example".into())
        );
        let orders = behavior.asked.iter().filter(|path| *path == "new-order").count();
        assert_eq!(orders, 1, "{:?}", behavior.asked);
    }
    // Everything is its owner's alone, and nothing is left of what the authority was shown.
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.settings.folder), 0o700);
    for file in std::fs::read_dir(&fixture.settings.folder).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert!(!fixture.texts().contains("challenge") && !fixture.texts().contains(".new"));

    // Of three years one is left when it is renewed, and half of a tenth of them by what is drawn here.
    let wait = |days: i64| {
        fixture.hand.advance(SignedDuration::from_hours(24 * days));
        std::sync::mpsc::channel::<()>().1.recv_timeout(10 * tls::MOMENT).unwrap_err();
    };
    wait(600);
    assert_eq!(fixture.authority.behavior().issued, 1, "not yet");
    fixture.authority.behavior().years = (2027, 2030);
    wait(100);
    fixture.until_issued(2);
    let end: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    until("the new one is shown", || fixture.identity.expires_at() == Some(end));
    assert_eq!(fixture.authority.behavior().accounts, 1, "the account is the same");

    // Another process finds all that.
    let again = Arc::new(Orders::new(fixture.settings.clone(), fixture.clock.clone(), edge()));
    fixture.run(&again);
    wait(1);
    assert_eq!(fixture.authority.behavior().issued, 2);
}

#[test]
fn a_nonce_that_is_refused_is_no_failure() {
    let fixture = fixture(|behavior| behavior.bad_nonces = 2);
    fixture.until_issued(1);
    assert_eq!(fixture.authority.behavior().bad_nonces, 0);
    assert_eq!(fixture.history().failures, 0);
    fixture.visit(NAMES[0]).unwrap();
}

#[test]
fn names_that_lead_elsewhere_are_told_and_nobody_served() {
    let fixture = fixture(|behavior| behavior.looks_at = None);
    let history = fixture.until_failed(1);
    assert_eq!(history.code, Some(AcmeErrorCode::Unproven));
    assert_eq!(
        history.says,
        NAMES.map(|name| format!("{name}: connection: nobody is there")),
        "every name, and why"
    );
    let refused = fixture.visit(NAMES[0]).unwrap_err();
    assert!(refused.contains("AccessDenied"), "{refused}");
    let (what, is_bad) = fixture.orders.problem(&fixture.identity).unwrap();
    assert!(is_bad && what.contains("ACME_NAME_UNPROVEN") && what.contains("443"), "{what}");
    // Nothing is tried again before its time, also after a start; then it is, later each time.
    let now = fixture.clock.now();
    let first = history.next_at.unwrap().duration_since(now);
    assert_eq!(first, SignedDuration::from_secs(15 * 60 * 3 / 4));
    let again = Arc::new(Orders::new(fixture.settings.clone(), fixture.clock.clone(), edge()));
    assert_eq!(again.failures(), 1);
    fixture.hand.advance(first);
    let second = fixture.until_failed(2).next_at.unwrap().duration_since(fixture.clock.now());
    assert_eq!(second, first * 2);
    // Who has mended it need not wait.
    fixture.authority.behavior().looks_at = Some(fixture.address);
    fixture.orders.retry_now();
    fixture.until_issued(1);
    assert_eq!(fixture.orders.problem(&fixture.identity), None);
    fixture.visit(NAMES[1]).unwrap();
}

#[test]
fn a_failure_leaves_the_certificate_that_is_there() {
    let fixture = fixture(|_| {});
    fixture.until_issued(1);
    fixture.authority.behavior().looks_at = None;
    let limited = |detail: &str| {
        format!(r#"{{"type": "urn:ietf:params:acme:error:rateLimited", "detail": "{detail}"}}"#)
    };
    fixture.authority.behavior().refuses = Some((429, Some("108000"), limited("too many")));
    fixture.hand.advance(SignedDuration::from_hours(24 * 700));
    let history = fixture.until_failed(1);
    assert_eq!(
        (history.code, history.says),
        (Some(AcmeErrorCode::Limited), vec!["rateLimited: too many".to_owned()])
    );
    let wait = history.next_at.unwrap().duration_since(fixture.clock.now());
    assert_eq!(wait, SignedDuration::from_hours(30), "as long as the authority wants");
    assert_eq!(fixture.orders.problem(&fixture.identity), None, "there is time");
    fixture.visit(NAMES[0]).unwrap();

    // What stands in the place of an authority is not repeated.
    let page = "<html>it was eyJhbGciOi</html>".to_owned();
    fixture.authority.behavior().refuses = Some((503, None, page));
    fixture.hand.advance(wait);
    let history = fixture.until_failed(2);
    assert_eq!(history.code, Some(AcmeErrorCode::Unreachable));
    assert_eq!(history.says, ["the answer has the status 503"]);
    fixture.authority.behavior().refuses = None;
    fixture.orders.retry_now();
    let history = fixture.until_failed(3);
    assert_eq!(history.code, Some(AcmeErrorCode::Unproven));
    let (what, is_bad) = fixture.orders.problem(&fixture.identity).unwrap();
    assert!(!is_bad && what.contains("several times"), "{what}");
    fixture.visit(NAMES[0]).unwrap();

    // A certificate that is for somebody else is not put in place.
    fixture.authority.behavior().looks_at = Some(fixture.address);
    fixture.authority.behavior().issues_for = Some(vec![NAMES[0].to_owned()]);
    fixture.orders.retry_now();
    let history = fixture.until_failed(4);
    assert_eq!(history.code, Some(AcmeErrorCode::Unusable));
    assert_eq!(history.says, [format!("it is not for {}", NAMES[1])]);
    fixture.visit(NAMES[1]).unwrap();
    let log = std::fs::read_to_string(fixture.settings.folder.join("orders.json")).unwrap();
    assert!(!log.contains("token") && !log.contains("PRIVATE"), "{log}");
    fixture.authority.behavior().issues_for = None;
    fixture.authority.behavior().years = (2027, 2030);
    fixture.orders.retry_now();
    fixture.until_issued(3);
}

#[test]
fn an_account_that_its_authority_has_forgotten_is_made_anew() {
    let fixture = fixture(|_| {});
    fixture.until_issued(1);
    fixture.authority.behavior().forgets_accounts = true;
    fixture.hand.advance(SignedDuration::from_hours(24 * 700));
    fixture.until_issued(2);
    assert_eq!(fixture.authority.behavior().accounts, 2);
}

#[test]
fn another_authority_and_other_names_are_ordered_at_once() {
    let fixture = fixture(|_| {});
    fixture.until_issued(1);
    let other = Authority::start(fixture.runtime.as_ref().unwrap());
    other.behavior().looks_at = Some(fixture.address);
    let settings = Acme {
        directory: other.directory(),
        contact: vec!["new@cars.example".to_owned()],
        ..fixture.settings.clone()
    };
    let orders = Arc::new(Orders::new(settings.clone(), fixture.clock.clone(), edge()));
    fixture.hand.advance(SignedDuration::from_mins(11));
    fixture.run(&orders);
    until("an order with the other", || other.behavior().issued == 1);
    until("it is noted", || {
        acme::history(&settings).issued_by.as_deref() == Some(settings.directory.as_str())
    });
    assert_eq!(other.behavior().contact[0], "mailto:new@cars.example");
}

#[test]
fn only_an_authority_during_an_order_sees_a_challenge() {
    let fixture = fixture(|_| {});
    fixture.until_issued(1);
    let none = || RootCertStore::empty();
    for name in [NAMES[0], "other.example", "localhost"] {
        let refused = visit(fixture.address, name, none(), &["acme-tls/1"]).unwrap_err();
        assert!(refused.contains("NoApplicationProtocol"), "{name}: {refused}");
    }
    let folder = &fixture.settings.folder;
    let challenges = acme::challenges(&fixture.settings);
    assert_eq!(challenges.file("../orders"), None);
    assert_eq!(challenges.file("CARS.example"), Some(folder.join("challenge-cars.example.pem")));
    // While there is one, other clients get the certificate.
    let mine = tls::Authority::new("ourselves").server();
    std::fs::write(challenges.file(NAMES[0]).unwrap(), format!("{}{}", mine.key, mine.certificate))
        .unwrap();
    let refused = visit(fixture.address, NAMES[0], none(), &["acme-tls/1"]).unwrap_err();
    assert!(refused.contains("UnknownIssuer"), "it is shown: {refused}");
    fixture.visit(NAMES[0]).unwrap();
    let mixed = visit(fixture.address, NAMES[0], none(), &["acme-tls/1", "h2"]).unwrap_err();
    assert!(mixed.contains("UnknownIssuer"), "the usual certificate: {mixed}");
}

#[test]
fn an_unusable_folder_and_a_damaged_account_are_said() {
    let fixture = fixture(|behavior| behavior.looks_at = None);
    fixture.until_failed(1);
    let account = fixture.texts();
    let account = account.split(' ').find(|name| name.starts_with("account-")).unwrap();
    std::fs::write(fixture.settings.folder.join(account), "damaged").unwrap();
    fixture.orders.retry_now();
    let history = fixture.until_failed(2);
    assert_eq!(history.code, Some(AcmeErrorCode::Folder));
    assert_eq!(history.says, [format!("{account}: cannot be read")]);
    let file = fixture.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let settings = Acme { folder: file.join("acme"), ..fixture.settings.clone() };
    let orders = Arc::new(Orders::new(settings, fixture.clock.clone(), edge()));
    let problem = || orders.problem(&fixture.identity).map(|(what, _)| what);
    fixture.run(&orders);
    until("it is said", || problem().is_some_and(|what| what.contains("ACME_FOLDER_UNUSABLE")));
}

/// A Pebble that runs, until it is dropped.
struct Pebble(Child);

impl Drop for Pebble {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn pebble_issues_a_certificate_to_the_binary() {
    if Command::new("pebble").arg("--help").output().is_err() {
        without("pebble (Debian: pebble)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ours = free_port();
    let api = free_port();
    let management = free_port();
    let own = tls::Authority::new("of Pebble's own address");
    let pair = own.server();
    let files = pair.write(folder);
    std::fs::write(folder.join("ca.pem"), &own.pem).unwrap();
    let pebble = folder.join("pebble.json");
    let text = tradepost_document::json::json!({"pebble": {
        "listenAddress": format!("127.0.0.1:{api}"),
        "managementListenAddress": format!("127.0.0.1:{management}"),
        "certificate": files.certificate, "privateKey": files.key,
        "httpPort": 1, "tlsPort": ours, "ocspResponderURL": "",
        "externalAccountBindingRequired": false,
    }});
    std::fs::write(&pebble, text.to_string()).unwrap();
    // Some of its nonces are refused, as by its own default. The library gives up after three
    // refusals of one request: with a fifth of the nonces refused, one order in ten failed.
    let log = std::fs::File::create(folder.join("pebble.log")).unwrap();
    let child = Command::new("pebble")
        .args(["-strict", "-config", pebble.to_str().unwrap()])
        .envs([("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_WFE_NONCEREJECT", "5")])
        .stdout(log.try_clone().unwrap())
        .stderr(Stdio::from(log))
        .spawn()
        .unwrap();
    let _pebble = Pebble(child);
    until("Pebble listens", || TcpStream::connect(("127.0.0.1", api)).is_ok());
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:{ours}\"\n[server.tls.acme]\ndomains = [\"localhost\"]\n\
         contact = [\"it@example.com\"]\nterms_agreed = true\nfolder = \"{0}/acme\"\n\
         directory = \"https://localhost:{api}/dir\"\nca_file = \"{0}/ca.pem\"\n\
         [[dealers]]\nid = \"bare\"\nname = \"Bare Motors\"\n\
         [[dealers.rooftops]]\nname = \"Bare Motors Downtown\"\n",
        folder.display()
    );
    let process = Process::configured(folder, &config);
    let path = folder.join("acme/certificate.pem");
    until_or_show(
        "a certificate",
        || path.exists(),
        || {
            let pebble = std::fs::read_to_string(folder.join("pebble.log")).unwrap_or_default();
            format!("Pebble:\n{pebble}\nTradepost:\n{}", process.log())
        },
    );
    let chain = std::fs::read(&path).unwrap();
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&chain).map(Result::unwrap).collect();
    assert!(chain.len() > 1, "with the one between it and the authority");
    let mut roots = RootCertStore::empty();
    roots.add(chain[1].clone()).unwrap();
    until("it is shown", || visit(process.address, "localhost", roots.clone(), &["h2"]).is_ok());
    assert!(process.log().contains("a certificate was issued"), "{}", process.log());
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}
