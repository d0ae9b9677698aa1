//! Where nothing may go (P-04), at create and at connect, and what nobody may see.

use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tradepost_document::json::json;
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::outbox::sender::{
    FailureReason, HttpSender, Notification, NotificationSender as _,
};
use tradepost_server::outbox::{ClockAndRandom, OutboxSettings};

use super::{hook, strict};
use crate::support::conformance::start_pushing;
use crate::support::webhook::Webhook;

const CREATE: &str = "CreateTaskPushNotificationConfig";

#[test]
fn p_04_addresses_not_public_are_refused_when_named() {
    let server = strict();
    let id = server.task("tck-input-required")["id"].clone();
    let mut webhook = Webhook::start();
    let port = webhook.address.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://2130706433:{port}/"),
        format!("https://0x7f.1:{port}/"),
        format!("https://0177.0.0.1:{port}/"),
        format!("https://[::1]:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        format!("https://127.0.0.1.:{port}/"),
        "https://0.0.0.0/".to_owned(),
        "https://10.1.2.3/".to_owned(),
        "https://100.64.0.1/".to_owned(),
        "https://169.254.169.254/latest/meta-data/".to_owned(),
        "https://[fd00:ec2::254]/".to_owned(),
        "https://metadata.google.internal/".to_owned(),
        "https://user@buyer.example.com/".to_owned(),
        "http://buyer.example.com/".to_owned(),
        "https://unknown.example.com/".to_owned(),
    ] {
        let answer = server.ask(&[], CREATE, &hook(&id, "x", &url));
        let text = String::from_utf8(answer.body.clone()).unwrap();
        let error = &answer.json()["error"];
        assert_eq!((answer.status, &error["code"]), (200, &json!(-32602)), "{url}: {text}");
        assert_eq!(error["data"][1]["fieldViolations"][0]["field"], "url", "{url}: {text}");
        assert!(!text.contains("127.0.0.1") && !text.contains("169.254"), "no echo: {text}");
    }
    assert!(webhook.quiet().is_empty());
}

/// A name that is public when it is named and leads to this machine when it is called.
fn rebinding(calls: Arc<AtomicUsize>) -> Resolver {
    Resolver::new(move |_| {
        let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { "8.8.8.8" } else { "127.0.0.1" };
        Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
    })
}

#[test]
fn p_04_a_name_that_changed_meanwhile_leads_nowhere() {
    let mut webhook = Webhook::start();
    let calls = Arc::new(AtomicUsize::new(0));
    let egress = Egress::new(rebinding(Arc::clone(&calls)), false);
    let server = start_pushing(egress, OutboxSettings::default(), ClockAndRandom::system());
    let id = server.task("tck-input-required")["id"].clone();
    let url = format!("https://buyer.example.com:{}/hook", webhook.address.port());
    let kept = server.result(CREATE, &hook(&id, "x", &url));
    assert_eq!(kept["url"], url.as_str(), "it was public then");
    let outbox = server.outbox.as_ref().unwrap();
    for _ in 0..500 {
        if outbox.counts().failed() > 0 {
            break;
        }
        let (_sender, receiver) = std::sync::mpsc::channel::<()>();
        let _ = receiver.recv_timeout(Duration::from_millis(20));
    }
    let failing = server.store.push_troubled(true).unwrap();
    let why = FailureReason::Forbidden.to_string();
    assert_eq!(failing[0].failure.as_deref(), Some(why.as_str()));
    assert!(calls.load(Ordering::SeqCst) >= 2, "it was resolved again");
    assert!(webhook.quiet().is_empty(), "nobody was called");
}

fn notification(url: String) -> Notification {
    Notification {
        url,
        authorization: Some("Bearer seekrit".to_owned()),
        token: Some("seekrit".to_owned()),
        id: "t-1".to_owned(),
        body: "{}".to_owned(),
    }
}

#[test]
fn p_04_the_judged_address_is_connected_and_host_named() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut webhook = Webhook::start();
    // Only `localhost` may lead here; what it leads to is said by the resolver alone.
    let here = Resolver::new(|_| Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap()]) }));
    let sender = HttpSender::new(Egress::new(here, true), Duration::from_secs(5));
    let port = webhook.address.port();
    let send = |url: String| runtime.block_on(sender.send(notification(url)));
    assert_eq!(send(format!("http://localhost:{port}/a?b=c#d")), Ok(()));
    let post = webhook.wait(1)[0].clone();
    let host = format!("localhost:{port}");
    assert_eq!(post.header("host"), Some(host.as_str()));
    assert_eq!(post.line, "POST /a?b=c HTTP/1.1");
    let why =
        |sent: Result<(), tradepost_server::outbox::sender::AttemptError>| sent.unwrap_err().why;
    let name = why(send(format!("https://buyer.example.com:{port}/")));
    assert_eq!(name, FailureReason::Forbidden, "the switch is for names of this machine");
    assert_eq!(why(send(format!("http://buyer.example.com:{port}/"))), FailureReason::NotPermitted);
    assert_eq!(why(send("https://10.0.0.1/".to_owned())), FailureReason::NotPermitted);
    let away = Resolver::new(|_| Box::pin(async { Ok(vec!["10.0.0.1".parse().unwrap()]) }));
    let strict = HttpSender::new(Egress::new(away, false), Duration::from_secs(5));
    let strictly = |url: String| why(runtime.block_on(strict.send(notification(url))));
    assert_eq!(
        strictly(format!("http://localhost:{port}/")),
        FailureReason::NotPermitted,
        "switched off"
    );
    assert_eq!(strictly(format!("http://127.0.0.1:{port}/")), FailureReason::NotPermitted);
    assert_eq!(strictly("https://buyer.example.com/".to_owned()), FailureReason::Forbidden);
    assert_eq!(webhook.quiet().len(), 1);
}

#[test]
fn p_04_tls_is_spoken_with_the_named_host() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let hello = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 2048];
        let count = stream.read(&mut bytes).unwrap();
        bytes[..count].to_vec()
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let here = Resolver::new(|_| Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap()]) }));
    let sender = HttpSender::new(Egress::new(here, true), Duration::from_secs(5));
    let sent = runtime.block_on(sender.send(notification(format!("https://localhost:{port}/"))));
    assert!(!sent.unwrap_err().why.is_final(), "nobody answers in TLS");
    let hello = hello.join().unwrap();
    assert_eq!(hello[0], 22, "a TLS handshake");
    assert!(hello.windows(9).any(|bytes| bytes == b"localhost"), "with the name, for SNI");
    assert!(!hello.windows(7).any(|bytes| bytes == b"seekrit"));
}

/// Where a log goes that is compared.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn e_15_secrets_are_in_no_debug_text_or_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let mut webhook = Webhook::start();
    let port = webhook.address.port();
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!("it is logged");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let sender = HttpSender::new(Egress::new(Resolver::system(), true), Duration::from_secs(5));
        let send = |url: String| runtime.block_on(sender.send(notification(url)));
        assert_eq!(send(format!("http://127.0.0.1:{port}/seekrit")), Ok(()));
        assert!(send("http://127.0.0.1:1/seekrit".to_owned()).is_err());
        assert!(send("https://seekrit@10.0.0.1/".to_owned()).is_err());
    });
    let post = webhook.wait(1)[0].clone();
    assert_eq!(post.header("authorization"), Some("Bearer seekrit"));
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("it is logged") && !text.contains("seekrit"), "{text}");
    let text = format!("{:?}", notification("https://buyer.example.com/seekrit".to_owned()));
    assert!(!text.contains("seekrit"), "{text}");
    let config: tradepost_a2a::PushConfig = tradepost_document::json::from_value(json!({
        "url": "https://seekrit.example.com/", "token": "seekrit",
        "authentication": {"scheme": "Bearer", "credentials": "seekrit"},
    }))
    .unwrap();
    assert!(!format!("{config:?} {:?}", config.authentication).contains("seekrit"));
}
