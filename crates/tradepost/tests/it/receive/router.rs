//! The router by itself: what happens when the inbox fails, and signatures that are sent again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use tower::ServiceExt as _;
use tradepost_client::receiver::authentic::{Authenticity, Signatures, WebhookKeys};
use tradepost_client::receiver::delivery::{KnownTask, PushDelivery};
use tradepost_client::receiver::metrics::{MetricsSnapshot, ReceiverMetrics};
use tradepost_client::receiver::{self, DeliveryNotKept, Inbox, Put, Receiver};
use tradepost_document::json::json;

use super::update;
use crate::support::{NOW, at};

/// An inbox that can be broken.
#[derive(Debug, Default)]
struct Breakable {
    broken: AtomicBool,
    kept: Mutex<Vec<String>>,
}

impl Inbox for Breakable {
    fn put(&self, delivery: &PushDelivery) -> Result<Put, DeliveryNotKept> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(DeliveryNotKept("the disk is full".to_owned()));
        }
        let mut kept = self.kept.lock().unwrap();
        if kept.contains(&delivery.id) {
            return Ok(Put::Duplicate);
        }
        kept.push(delivery.id.clone());
        Ok(Put::New)
    }

    fn known(&self, _: &str, _: &str) -> Result<KnownTask, DeliveryNotKept> {
        Ok(KnownTask::default())
    }
}

fn key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[3; 32]).unwrap()
}

/// A receiver of signed deliveries; its inbox, its numbers, and how often it told of news.
fn start() -> (axum::Router, Arc<Breakable>, Arc<ReceiverMetrics>) {
    let inbox = Arc::new(Breakable::default());
    let metrics = Arc::new(ReceiverMetrics::default());
    let x = URL_SAFE_NO_PAD.encode(key().public_key().as_ref());
    let keys = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x});
    let signatures = Signatures {
        keys: WebhookKeys::read(&keys).unwrap(),
        url: Some(Uri::from_static("https://buyer.example/hook")),
        tag: None,
    };
    let receiver = Receiver {
        inbox: Arc::clone(&inbox) as Arc<dyn Inbox>,
        authenticity: Authenticity::default().with_signatures(signatures),
        max_body: 10_000,
        patience: Duration::from_secs(20),
        now: Box::new(|| at(NOW)),
        metrics: Arc::clone(&metrics),
        kept: Box::new(|| {}),
        refused: Box::new(|_| {}),
    };
    (receiver::router("/hook", Arc::new(receiver)), inbox, metrics)
}

/// A signed delivery.
fn signed(nonce: &str, body: &str) -> Request<Body> {
    let digest = format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, body.as_bytes())));
    let input = format!(
        r#"("@method" "@target-uri" "content-type" "content-digest");created={};nonce="{nonce}";keyid="k""#,
        at(NOW).as_second()
    );
    let base = format!(
        "\"@method\": POST\n\"@target-uri\": https://buyer.example/hook\n\
         \"content-type\": application/a2a+json\n\"content-digest\": {digest}\n\
         \"@signature-params\": {input}"
    );
    let signature = STANDARD.encode(key().sign(base.as_bytes()));
    Request::post("/hook")
        .header("content-type", "application/a2a+json")
        .header("content-digest", digest)
        .header("signature-input", format!("sig1={input}"))
        .header("signature", format!("sig1=:{signature}:"))
        .body(Body::from(body.to_owned()))
        .unwrap()
}

#[test]
fn what_cannot_be_kept_is_not_acknowledged_but_sent_again() {
    let (router, inbox, metrics) = start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let send = |nonce: &str, body: &str| {
        let response = runtime.block_on(router.clone().oneshot(signed(nonce, body))).unwrap();
        response.status().as_u16()
    };
    let one = update("t", "WORKING", 1);
    inbox.broken.store(true, Ordering::SeqCst);
    assert_eq!(send("a", &one), 503);
    assert!(inbox.kept.lock().unwrap().is_empty());
    inbox.broken.store(false, Ordering::SeqCst);
    assert_eq!(send("a", &one), 200, "a signature is not used up by what was not kept");
    assert_eq!(send("a", &one), 401, "a replay");
    assert_eq!(send("b", &one), 200, "a retry, signed again");
    assert_eq!(inbox.kept.lock().unwrap().len(), 1);
    let expected = MetricsSnapshot {
        kept: 1,
        duplicates: 1,
        unauthentic: 1,
        unkept: 1,
        ..MetricsSnapshot::default()
    };
    assert_eq!(metrics.snapshot(), expected);
}
