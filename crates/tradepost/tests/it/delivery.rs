//! Leads that reach somebody: real receivers, which take, refuse, are slow and lie; and everything
//! that can happen to a lead on its way.

mod alerts;
mod commands;
mod killed;
mod kills;
mod leads;
pub mod mail;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_dealer::adf::AdfOptions;
use tradepost_dealer::delivery::{DeliveryRecord, DeliveryState, LeadDestination, MessageFormat};
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::delivery::{ConfigSecret, DeliveryConfig, DeliveryMethod, Http};
use tradepost_runtime::delivery::Deliveries;
use tradepost_server::clock::Clock;
use tradepost_server::outbox::ClockAndRandom;

use crate::support::dealer::LISTED_VIN;
use crate::support::webhook::{Notified, Webhook, answer, yes};
use crate::support::{TestServer, lead, start_with, with};

/// The key of a webhook.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A destination of this name that is told of everything.
fn destination(name: &str, form: MessageFormat, by: DeliveryMethod) -> DeliveryConfig {
    DeliveryConfig {
        destination: LeadDestination {
            name: name.to_owned(),
            rooftops: Vec::new(),
            kinds: Vec::new(),
            form,
            handles_leads: false,
        },
        by,
        attempts: 4,
        give_up_after: SignedDuration::from_hours(24),
        timeout: Duration::from_secs(20),
    }
}

/// One that takes ADF by POST.
pub fn crm(url: String) -> DeliveryConfig {
    let media_type = "application/xml";
    let bearer = Some(ConfigSecret::Text("seekrit-bearer".into()));
    let http = Http { url, media_type, bearer, hmac_key: None };
    destination("crm", MessageFormat::Adf(AdfOptions::default()), DeliveryMethod::Http(http))
}

/// One that takes signed events.
pub fn hub(url: String) -> DeliveryConfig {
    let hmac_key = Some(ConfigSecret::Text(KEY.into()));
    let http = Http { url, media_type: "application/json", bearer: None, hmac_key };
    destination("hub", MessageFormat::Event, DeliveryMethod::Http(http))
}

/// A dealer, and what delivers its leads.
struct Fixture {
    server: TestServer,
    deliveries: Option<Arc<Deliveries>>,
    runtime: tokio::runtime::Runtime,
}

impl Fixture {
    /// A dealer with these destinations. Nothing is delivered yet.
    fn new(destinations: Vec<DeliveryConfig>) -> Self {
        let server = start_with(|config| config.dealers[0].deliveries = destinations);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        Self { server, deliveries: None, runtime }
    }

    /// The same, delivering.
    fn running(destinations: Vec<DeliveryConfig>) -> Self {
        let mut fixture = Self::new(destinations);
        fixture.run();
        fixture
    }

    /// Begins to deliver.
    fn run(&mut self) {
        self.run_by(Clock::system());
    }

    /// The same by this clock.
    fn run_by(&mut self, clock: Clock) {
        let store = Arc::clone(&self.server.store);
        let dealers = self.server.config().dealers.iter().cloned().map(Arc::new);
        let dealers: Vec<_> = dealers.collect();
        let mut deliveries = Deliveries::new(store, clock, ClockAndRandom::system());
        deliveries.first_pause = Duration::from_millis(10);
        deliveries.replace(&dealers).unwrap();
        let deliveries = Arc::new(deliveries);
        let run = Arc::clone(&deliveries).run(std::future::pending(), Duration::ZERO);
        self.runtime.spawn(run);
        self.deliveries = Some(deliveries);
    }

    /// Sends a lead and has it delivered. Returns its id.
    fn send(&self, payload: &Value) -> String {
        self.send_in(&self.server.conversation(), payload)
    }

    /// The same in a conversation, by which its caller is known again.
    fn send_in(&self, conversation: &str, payload: &Value) -> String {
        let answer = self.server.payload_in(conversation, payload);
        self.wake();
        answer["data"]["lead_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn wake(&self) {
        if let Some(deliveries) = &self.deliveries {
            deliveries.wake();
        }
    }

    /// What is kept of a lead's deliveries, the first one first.
    fn kept(&self, lead_id: &str) -> Vec<DeliveryRecord> {
        let mut kept = self.server.store.deliveries(None, Some(lead_id), None).unwrap();
        kept.reverse();
        kept
    }

    /// Waits until a lead has so many deliveries and none of them is on its way.
    fn settled(&self, lead_id: &str, count: usize) -> Vec<DeliveryRecord> {
        self.until(lead_id, |kept| {
            kept.len() == count
                && kept.iter().all(|record| {
                    !matches!(record.state, DeliveryState::Due | DeliveryState::Sending)
                })
        })
    }

    /// Waits until what is kept of a lead's deliveries is as it should be.
    fn until(
        &self,
        lead_id: &str,
        is_so: impl Fn(&[DeliveryRecord]) -> bool,
    ) -> Vec<DeliveryRecord> {
        for _ in 0..4_000 {
            let kept = self.kept(lead_id);
            if is_so(&kept) {
                return kept;
            }
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(5)).await });
        }
        panic!("not within 20 seconds: {:?}", self.kept(lead_id));
    }
}

/// What is told of deliveries: destination, state, attempts and last answer.
fn outline(kept: &[DeliveryRecord]) -> Vec<(&str, DeliveryState, u32, &str)> {
    let row = |record: &'_ DeliveryRecord| (record.state, record.attempts);
    kept.iter()
        .map(|record| {
            let (state, attempts) = row(record);
            let answer = record.answer.as_deref().unwrap_or_default();
            (record.destination.as_str(), state, attempts, answer)
        })
        .collect()
}

/// Whether an ADF document says that the receiver may have the lead.
fn status(notified: &Notified) -> &'static str {
    let statuses = ["new", "resend"];
    let is = |status: &&str| notified.body.contains(&format!("<prospect status=\"{status}\">"));
    statuses.into_iter().find(is).unwrap_or_else(|| panic!("{}", notified.body))
}

/// A test drive at this time.
fn drive(at: &str) -> Value {
    let appointment = json!({"appointment_type": "test_drive", "appointment_at": at});
    let vehicle = json!({"vin": LISTED_VIN});
    with(lead(), &[("/vehicle_of_interest", vehicle), ("/appointment", appointment)])
}

const ELEVEN: &str = "2026-05-01T18:00:00Z";
const DELIVERED: DeliveryState = DeliveryState::Delivered;
const DEAD: DeliveryState = DeliveryState::Dead;
const ENDED: DeliveryState = DeliveryState::Ended;

#[test]
fn what_each_answer_makes_of_a_delivery() {
    // What is answered one after the other; how the delivery ends, after how many attempts, with
    // which last answer; and what the documents say.
    let refused = |status: &str| vec![answer(status)];
    for (answers, state, last, statuses) in [
        (vec![], DELIVERED, "taken", &["new"][..]),
        (refused("400 Bad Request"), DEAD, "HTTP 400", &["new"]),
        (refused("401 Unauthorized"), DELIVERED, "taken", &["new", "new"]),
        (refused("404 Not Found"), DEAD, "HTTP 404", &["new"]),
        (refused("410 Gone"), DEAD, "HTTP 410", &["new"]),
        (refused("302 Found"), DEAD, "HTTP 302", &["new"]),
        (refused("408 Request Timeout"), DELIVERED, "taken", &["new", "new"]),
        (refused("425 Too Early"), DELIVERED, "taken", &["new", "new"]),
        (refused("503 Unavailable"), DELIVERED, "taken", &["new", "new"]),
        (refused("504 Gateway Timeout"), DELIVERED, "taken", &["new", "resend"]),
        (vec![answer("500 Oops"); 9], DEAD, "HTTP 500", &["new"; 4]),
        (vec!["nonsense\r\n\r\n".to_owned()], DELIVERED, "taken", &["new", "resend"]),
    ] {
        let what = answers.concat();
        let mut receiver =
            Webhook::answering(move |number| answers.get(number).cloned().unwrap_or_else(yes));
        let fixture = Fixture::running(vec![crm(receiver.url())]);
        let lead_id = fixture.send(&lead());
        let kept = fixture.settled(&lead_id, 1);
        let attempts = u32::try_from(statuses.len()).unwrap();
        assert_eq!(outline(&kept), [("crm", state, attempts, last)], "{what}");
        let seen = receiver.wait(statuses.len());
        let said: Vec<_> = seen.iter().map(status).collect();
        assert_eq!(said, statuses, "{what}");
        let ids: Vec<_> = seen.iter().map(|one| one.header("idempotency-key")).collect();
        assert!(ids.iter().all(|id| *id == Some(kept[0].id().as_str())), "{ids:?}");
        let numbers: Vec<_> =
            seen.iter().filter_map(|one| one.header("tradepost-attempt")).collect();
        let expected: Vec<_> = (1..=attempts).map(|number| number.to_string()).collect();
        assert_eq!(numbers, expected);
        assert_eq!(fixture.server.store.dead_deliveries().unwrap(), u64::from(state == DEAD));
    }
}

#[test]
fn a_receiver_that_asks_for_time_gets_it() {
    let busy = "HTTP/1.1 429 Busy\r\nRetry-After: 1800\r\nContent-Length: 0\r\n\r\n";
    let receiver = Webhook::answering(move |_| busy.to_owned());
    let fixture = Fixture::running(vec![crm(receiver.url())]);
    let lead_id = fixture.send(&lead());
    let kept = fixture.until(&lead_id, |kept| kept.iter().any(|record| record.answer.is_some()));
    assert_eq!(outline(&kept), [("crm", DeliveryState::Due, 1, "HTTP 429")]);
    let wait = kept[0].created_at.duration_until(kept[0].due_at.unwrap());
    assert!(wait >= SignedDuration::from_secs(1800), "{wait}");
}

#[test]
fn what_is_too_old_is_given_up() {
    let receiver = Webhook::answering(|_| answer("503 Unavailable"));
    let give_up_after = SignedDuration::ZERO;
    let fixture = Fixture::running(vec![DeliveryConfig { give_up_after, ..crm(receiver.url()) }]);
    let kept = fixture.settled(&fixture.send(&lead()), 1);
    assert_eq!(outline(&kept), [("crm", DEAD, 1, "HTTP 503")]);
}

#[test]
fn an_absent_receiver_and_one_that_never_answers() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut silent = Webhook::answering(|number| if number == 0 { String::new() } else { yes() });
    let timeout = Duration::from_millis(300);
    let nowhere = DeliveryConfig { attempts: 2, ..crm(format!("http://{port}/leads")) };
    let fixture = Fixture::running(vec![nowhere, DeliveryConfig { timeout, ..hub(silent.url()) }]);
    let lead_id = fixture.send(&lead());
    let kept = fixture.settled(&lead_id, 2);
    let expected = [("crm", DEAD, 2, "no connection"), ("hub", DELIVERED, 2, "taken")];
    assert_eq!(outline(&kept), expected);
    let said: Vec<_> = silent
        .wait(2)
        .iter()
        .map(|one| one.json().pointer("/payload/delivery").cloned().unwrap())
        .collect();
    let id = kept[1].id();
    assert_eq!(
        said,
        [
            json!({"id": id, "attempt": 1, "resend": false}),
            json!({"id": id, "attempt": 2, "resend": true}),
        ],
        "nobody knows whether the first one arrived"
    );
    assert!(kept[1].may_have_arrived && !kept[0].may_have_arrived);
}
