//! Which leads go where, in which words, and what becomes of them when the lead changes.

use jiff::Timestamp;
use std::sync::Arc;
use tradepost_client::receiver::authentic::{Authenticity, DeliveryEnvelope};
use tradepost_dealer::delivery::{ChatStyle, LeadKind};
use tradepost_dealer::record::LeadState;
use tradepost_runtime::config::delivery::ConfigSecret;

use super::*;
use crate::adf::{complaints, validator};
use crate::beside::published;

/// A room that is told of leads.
fn room(url: String, contact: bool) -> DeliveryConfig {
    let form = MessageFormat::Chat { style: ChatStyle::Slack, contact };
    let http = Http { url, media_type: "application/json", bearer: None, hmac_key: None };
    destination("room", form, DeliveryMethod::Http(http))
}

/// Whether our own receiver believes a request.
fn is_believed(notified: &Notified, key: &str, now: Timestamp) -> bool {
    let mut headers = axum::http::HeaderMap::new();
    for (name, value) in &notified.headers {
        let name: axum::http::HeaderName = name.parse().unwrap();
        headers.append(name, value.parse().unwrap());
    }
    let method = axum::http::Method::POST;
    let uri = axum::http::Uri::from_static("/hook");
    let body = notified.body.as_bytes();
    let envelope = DeliveryEnvelope { method: &method, uri: &uri, headers: &headers, body };
    let judge = Authenticity::default().with_hmac(&[key]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(judge.check(&envelope, now)).is_ok()
}

/// What the published schema has against an event.
fn against_schema(event: &Value) -> Vec<String> {
    let Some(path) = published("spec/aap/v1.1/schemas/event.schema.json") else {
        return Vec::new();
    };
    let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    validator.iter_errors(&event.into()).map(|error| error.to_string()).collect()
}

#[test]
fn a_lead_reaches_each_receiver_in_its_own_words() {
    let mut crm_at = Webhook::start();
    let mut hub_at = Webhook::start();
    let mut room_at = Webhook::start();
    let mut other = Webhook::start();
    let mut workshop = DeliveryConfig { ..crm(other.url()) };
    workshop.destination.name = "workshop".into();
    workshop.destination.kinds = vec![LeadKind::Service];
    let mut oakland = DeliveryConfig { ..crm(other.url()) };
    oakland.destination.name = "oakland".into();
    oakland.destination.rooftops = vec!["Demo Honda Oakland".into()];
    let fixture = Fixture::running(vec![
        workshop,
        crm(crm_at.url()),
        hub(hub_at.url()),
        room(room_at.url(), false),
        oakland,
    ]);
    let lead_id = fixture.send(&drive(ELEVEN));
    let kept = fixture.settled(&lead_id, 3);
    let names: Vec<_> = kept.iter().map(|record| record.destination.as_str()).collect();
    assert_eq!(names, ["crm", "hub", "room"]);

    let [adf] = crm_at.wait(1) else { panic!() };
    assert_eq!(adf.header("content-type"), Some("application/xml"));
    assert_eq!(adf.header("authorization"), Some("Bearer seekrit-bearer"));
    assert_eq!(status(adf), "new");
    assert!(adf.body.contains("Lovelace") && adf.body.contains("ada@example.com"));
    if let Some(dtd) = validator() {
        assert_eq!(complaints(&adf.body, &dtd), "", "{}", adf.body);
    }

    let [event] = hub_at.wait(1) else { panic!() };
    assert_eq!(event.header("content-type"), Some("application/json"));
    assert!(is_believed(event, KEY, Clock::system().now()));
    assert!(!is_believed(event, &KEY.replace('0', "9"), Clock::system().now()));
    let body = event.json();
    assert_eq!(against_schema(&body), [""; 0]);
    assert_eq!(body["event_kind"], "lead.status_changed");
    assert_eq!(body["entity_id"], lead_id.as_str());
    assert_eq!(body["payload"]["lead"]["appointment"]["status"], "confirmed");

    let [message] = room_at.wait(1) else { panic!() };
    let text = message.json()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("New lead: test drive") && text.contains(&lead_id), "{text}");
    assert!(text.contains("confirmed for May 1, 11:00 AM PDT"), "{text}");
    for personal in ["Lovelace", "ada@example.com"] {
        assert!(!text.contains(personal), "{text}");
    }
    assert!(other.quiet().is_empty());
}

#[test]
fn each_change_is_told_in_order_and_as_a_resend() {
    // The first attempt fails, and the change must not overtake it.
    let mut receiver =
        Webhook::answering(|number| if number == 0 { answer("503 Later") } else { yes() });
    let mut fixture = Fixture::new(vec![crm(receiver.url())]);
    let conversation = fixture.server.conversation();
    let lead_id = fixture.send_in(&conversation, &drive(ELEVEN));
    assert_eq!(fixture.send_in(&conversation, &drive("2026-05-02T18:00:00Z")), lead_id);
    fixture.run();
    let kept = fixture.settled(&lead_id, 2);
    assert_eq!(outline(&kept), [("crm", DELIVERED, 2, "taken"), ("crm", DELIVERED, 1, "taken")]);
    let seen = receiver.wait(3).to_vec();
    assert_eq!(seen.iter().map(status).collect::<Vec<_>>(), ["new", "new", "resend"]);
    for (notified, day) in seen.iter().zip(["05-01", "05-01", "05-02"]) {
        let start = format!("status confirmed, from 2026-{day}T11:00:00-07:00");
        assert!(notified.body.contains(&start), "{start}: {}", notified.body);
    }
    if let Some(dtd) = validator() {
        assert_eq!(complaints(&seen[2].body, &dtd), "");
    }
}

#[test]
fn what_is_held_back_is_told_when_it_is_released() {
    let mut receiver = Webhook::start();
    let server = |config: &mut tradepost_runtime::config::Config| {
        config.dealers[0].terms.leads.agents.deny = vec!["test-agent".into()];
        config.dealers[0].deliveries = vec![hub(receiver.url())];
    };
    let mut fixture = Fixture::new(Vec::new());
    fixture.server = start_with(server);
    fixture.run();
    let lead_id = fixture.send(&lead());
    let events = || fixture.server.store.unplanned_events(crate::support::dealer::ID, 10).unwrap();
    fixture.until(&lead_id, |_| events().is_empty());
    assert!(fixture.kept(&lead_id).is_empty());
    let now = Clock::system().now();
    assert!(fixture.server.store.release_lead(lead_id.clone(), now).unwrap());
    fixture.wake();
    fixture.settled(&lead_id, 1);
    let [post] = receiver.wait(1) else { panic!() };
    let body = post.json();
    assert_eq!(
        (&body["status"], &body["payload"]["delivery"]["resend"]),
        (&json!("received"), &json!(false))
    );
    assert_eq!(body["payload"]["lead"]["event"], "released");
}

#[test]
fn a_lead_is_received_while_its_delivery_fails() {
    let failing = Webhook::answering(|_| answer("503 Down"));
    let fixture = Fixture::running(vec![crm(failing.url())]);
    let lead_id = fixture.send(&lead());
    fixture.until(&lead_id, |kept| kept.iter().any(|record| record.answer.is_some()));
    let next = with(lead(), &[("/customer/email", json!("grace@example.com"))]);
    assert_eq!(fixture.server.payload(&next)["data"]["status"], "received", "E-109");
}

#[test]
fn a_withdrawal_is_told_only_to_who_has_the_lead() {
    let mut taking = Webhook::start();
    let mut failing = Webhook::answering(|_| answer("429 Later\r\nRetry-After: 3000"));
    let fixture = Fixture::running(vec![hub(taking.url()), crm(failing.url())]);
    let lead_id = fixture.send(&lead());
    fixture.until(&lead_id, |kept| {
        kept.len() == 2 && kept.iter().all(|record| record.answer.is_some())
    });
    let now = Clock::system().now();
    assert!(fixture.server.store.revoke_consent(lead_id.clone(), now).unwrap());
    fixture.wake();
    let kept = fixture.settled(&lead_id, 3);
    let expected = [
        ("hub", DELIVERED, 1, "taken"),
        ("crm", ENDED, 1, "HTTP 429"),
        ("hub", DELIVERED, 1, "taken"),
    ];
    assert_eq!(outline(&kept), expected);
    let last = taking.wait(2)[1].json();
    assert_eq!(against_schema(&last), [""; 0]);
    assert_eq!(
        (&last["status"], &last["payload"]["lead"]["state"]),
        (&json!("lost"), &json!("revoked"))
    );
    assert_eq!(last["payload"]["lead"]["permitted"], json!([]));
    assert!(!last.to_string().contains("ada@example.com"), "nobody may contact them");
    assert_eq!(failing.quiet().len(), 1);
}

#[test]
fn an_erased_lead_is_told_no_more() {
    let mut receiver = Webhook::answering(|_| answer("429 Later\r\nRetry-After: 3000"));
    let fixture = Fixture::running(vec![crm(receiver.url())]);
    let lead_id = fixture.send(&lead());
    fixture.until(&lead_id, |kept| kept.iter().any(|record| record.answer.is_some()));
    let now = Clock::system().now();
    fixture.server.store.erase_customer(None, "email:ada@example.com", "cli:test", now).unwrap();
    fixture.wake();
    let kept = fixture.settled(&lead_id, 1);
    assert_eq!(outline(&kept), [("crm", ENDED, 1, "HTTP 429")]);
    assert_eq!(fixture.server.history(&json!(lead_id)).lead.state, LeadState::Erased);
    let events = || fixture.server.store.unplanned_events(crate::support::dealer::ID, 10).unwrap();
    fixture.until(&lead_id, |_| events().is_empty());
    assert_eq!(fixture.kept(&lead_id).len(), 1, "nobody is told of the erasure");
    assert_eq!(receiver.quiet().len(), 1);
}

#[test]
fn a_later_destination_hears_no_past_and_gone_ones_end() {
    let mut receiver = Webhook::answering(|_| answer("429 Later\r\nRetry-After: 1"));
    let fixture = Fixture::running(Vec::new());
    let early = fixture.send(&lead());
    let events = || fixture.server.store.unplanned_events(crate::support::dealer::ID, 10).unwrap();
    fixture.until(&early, |_| events().is_empty());
    let mut dealers = fixture.server.config().dealers.clone();
    dealers[0].deliveries = vec![crm(receiver.url())];
    let deliveries = fixture.deliveries.as_ref().unwrap();
    deliveries.replace(&dealers.iter().cloned().map(Arc::new).collect::<Vec<_>>()).unwrap();
    let late = fixture.send(&with(lead(), &[("/customer/email", json!("grace@example.com"))]));
    fixture.until(&late, |kept| kept.iter().any(|record| record.answer.is_some()));
    assert!(fixture.kept(&early).is_empty());
    assert!(receiver.wait(1)[0].body.contains("grace@example.com"));
    dealers[0].deliveries = Vec::new();
    deliveries.replace(&dealers.iter().cloned().map(Arc::new).collect::<Vec<_>>()).unwrap();
    let kept = fixture.settled(&late, 1);
    let why = "no such destination is configured any more";
    assert_eq!((kept[0].state, kept[0].answer.as_deref()), (DEAD, Some(why)));
}

#[test]
fn an_unreadable_secret_is_said_without_the_secret() {
    let mut without = hub("http://127.0.0.1:9/".into());
    if let DeliveryMethod::Http(http) = &mut without.by {
        http.hmac_key = Some(ConfigSecret::Text("short-and-seekrit".into()));
    }
    let mut missing = crm("http://127.0.0.1:9/".into());
    if let DeliveryMethod::Http(http) = &mut missing.by {
        http.bearer = Some(ConfigSecret::File("no/such/file".into()));
    }
    let clock = Clock::system();
    let why = |delivery: &DeliveryConfig| {
        tradepost_runtime::delivery::channel::open(delivery, &clock).err().unwrap()
    };
    assert_eq!(why(&without), "hmac_key: must have 32 characters or more");
    assert_eq!(why(&missing), "bearer: cannot read no/such/file: entity not found");
    let shown = format!("{without:?} {missing:?}");
    assert!(!shown.contains("seekrit"), "{shown}");
}
