//! What people are told when something is amiss: once, also after a start, and when it is over.

use jiff::Timestamp;
use tradepost_dealer::delivery::ChatStyle;
use tradepost_dealer::staff::StaffStage;
use tradepost_runtime::alerts::AlertSender;
use tradepost_runtime::alerts::watch::{AlertWatch, AnswerTime};
use tradepost_runtime::config;
use tradepost_runtime::config::delivery::{Smtp, SmtpTls};
use tradepost_runtime::wiring;
use tradepost_server::clock::ManualClock;
use tradepost_store::staff::{LeadFilter, NewStage, WaitingFor};
use tradepost_store::{Store, StoreTransaction};

use super::*;
use crate::support::mail::{MailBehavior, MailServer, Secured};

/// The people of a server, and the hand of their clock.
fn alerts(
    fixture: &Fixture,
    hand: SignedDuration,
    to: Vec<DeliveryConfig>,
) -> (AlertSender, ManualClock) {
    alerts_on(&fixture.server.store, fixture.server.config(), hand, to)
}

fn alerts_on(
    store: &Arc<Store>,
    config: &config::Config,
    passed: SignedDuration,
    destinations: Vec<DeliveryConfig>,
) -> (AlertSender, ManualClock) {
    let now = Clock::system().now() + passed;
    alerts_within(store, config, now, destinations, None)
}

/// The same at a moment, for a dealer whose leads have to be answered in time.
fn alerts_within(
    store: &Arc<Store>,
    config: &config::Config,
    now: Timestamp,
    destinations: Vec<DeliveryConfig>,
    answer_within: Option<SignedDuration>,
) -> (AlertSender, ManualClock) {
    let (clock, hand) = Clock::manual(now);
    let agents = vec![config.dealers[0].terms.id.clone()];
    let dealer_id = config.dealers[0].terms.id.clone();
    let answer_times: Vec<_> = answer_within
        .into_iter()
        .map(|within| AnswerTime { dealer_id: dealer_id.clone(), within })
        .collect();
    let watch = AlertWatch {
        registry: wiring::registry(&config.server, store, clock.clone(), Vec::new()).0,
        store: Arc::clone(store),
        agents: Box::new(move || agents.clone()),
        answer_times: Box::new(move || answer_times.clone()),
        identity: None,
        orders: None,
        disk: None,
        access: config::AccessThresholds::default(),
    };
    let every = SignedDuration::from_mins(15);
    let remind = SignedDuration::from_hours(24);
    let access = config::AccessThresholds::default();
    let settings = config::AlertConfig { every, remind, destinations, access };
    (AlertSender::open(settings, watch, Arc::clone(store), clock).unwrap(), hand)
}

fn ops(url: String) -> DeliveryConfig {
    DeliveryConfig {
        destination: LeadDestination { name: "ops".into(), ..hub(url.clone()).destination },
        ..hub(url)
    }
}

#[test]
fn a_lead_given_up_is_told_once_and_when_over() {
    let refusing = Webhook::answering(|number| if number == 0 { answer("400 No") } else { yes() });
    let mut pager = Webhook::answering(|number| if number == 0 { answer("500 No") } else { yes() });
    let fixture = Fixture::running(vec![crm(refusing.url())]);
    let lead_id = fixture.send(&lead());
    fixture.settled(&lead_id, 1);

    let now = SignedDuration::ZERO;
    let (first, hand) = alerts(&fixture, now, vec![ops(pager.url())]);
    let look = |alerts: &AlertSender| fixture.runtime.block_on(alerts.look());
    look(&first);
    look(&first);
    assert_eq!(pager.wait(1).len(), 1, "what was not taken is not sent again at once");
    hand.advance(SignedDuration::from_mins(1));
    look(&first);
    let posts = pager.wait(2).to_vec();
    assert_eq!(posts[0].header("idempotency-key"), posts[1].header("idempotency-key"));
    let alert = posts[1].json();
    assert_eq!(alert["type"], "tradepost.alert");
    assert_eq!(alert["all_well"], false);
    let dealer = &fixture.server.config().dealers[0].terms.id;
    assert_eq!(alert["new"][0]["message"], format!("{dealer}: 1 delivery was given up"));
    let signature = posts[1].header("x-tradepost-signature").unwrap();
    let seconds = signature.split_once("t=").unwrap().1.split(',').next().unwrap();
    let digits = tradepost_keys::hmac::SharedKey::new(KEY).sign(seconds, posts[1].body.as_bytes());
    assert_eq!(signature, format!("t={seconds},v1={digits}"));
    assert!(!posts[1].body.contains(&lead_id) && !posts[1].body.contains("example.com"));

    // Another process on the same store knows what was told.
    let (second, hand) = alerts(&fixture, SignedDuration::from_mins(20), vec![ops(pager.url())]);
    look(&second);
    assert_eq!(pager.quiet().len(), 2, "nothing is repeated at a start");
    let again = fixture.server.store.deliveries(None, Some(&lead_id), None).unwrap();
    let wanted = tradepost_dealer::delivery::NewDelivery {
        dealer_id: dealer.clone(),
        lead_id: lead_id.clone(),
        destination: "crm".into(),
        event: again[0].event,
    };
    fixture.server.store.deliver_again(vec![wanted], Clock::system().now()).unwrap();
    fixture.wake();
    fixture.until(&lead_id, |kept| {
        kept.iter().any(|delivery| delivery.state == DeliveryState::Delivered)
    });
    look(&second);
    let over = pager.wait(3)[2].json();
    assert_eq!(over["all_well"], true);
    assert_eq!(over["over"][0]["key"], format!("dead/{dealer}"));
    hand.advance(SignedDuration::from_hours(48));
    look(&second);
    assert_eq!(pager.quiet().len(), 3);
}

#[test]
fn people_read_alerts_as_mail_and_in_a_chat() {
    let refusing = Webhook::answering(|_| answer("400 No"));
    let mut mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let mut room = Webhook::start();
    let fixture = Fixture::running(vec![crm(refusing.url())]);
    let lead_id = fixture.send(&lead());
    fixture.settled(&lead_id, 1);
    let smtp = Smtp {
        host: "127.0.0.1".into(),
        port: mail.address.port(),
        tls: SmtpTls::None,
        ca_file: None,
        login: None,
        from: "tradepost@dealer.example".into(),
        to: vec!["ops@dealer.example".into()],
    };
    let by_mail = destination(
        "mail",
        MessageFormat::Adf(AdfOptions::default()),
        DeliveryMethod::Smtp(Box::new(smtp)),
    );
    let form = MessageFormat::Chat { style: ChatStyle::Slack, contact: false };
    let http =
        Http { url: room.url(), media_type: "application/json", bearer: None, hmac_key: None };
    let (alerts, _hand) = alerts(
        &fixture,
        SignedDuration::ZERO,
        vec![by_mail, destination("room", form, DeliveryMethod::Http(http))],
    );
    fixture.runtime.block_on(alerts.look());
    let mail = &mail.wait(1)[0];
    assert_eq!(mail.header("Subject"), Some("Tradepost: 1 problem"));
    assert!(mail.body().contains("New:\n- "), "{}", mail.body());
    assert!(mail.body().contains("1 delivery was given up"), "{}", mail.body());
    let said = room.wait(1)[0].json();
    let said = said["text"].as_str().unwrap();
    assert!(said.starts_with("Tradepost: 1 problem\nNew: "), "{said}");
}

#[test]
fn an_alert_that_cannot_be_noted_is_still_told() {
    let mut pager = Webhook::start();
    let server = start_with(|_| {});
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (alerts, hand) =
        alerts_on(&server.store, server.config(), SignedDuration::ZERO, vec![ops(pager.url())]);
    runtime.block_on(alerts.look());
    std::fs::remove_file(server.directory.path().join("tradepost.sqlite")).unwrap();
    // An answer of the store is as good as a new one for a second.
    for _ in 0..25 {
        hand.advance(SignedDuration::from_secs(30));
        runtime.block_on(alerts.look());
        pager.quiet();
    }
    let alert = pager.quiet();
    assert_eq!(alert.len(), 1, "{alert:?}");
    let message = alert[0].json()["new"][0]["message"].to_string();
    assert!(message.contains("the database was deleted or replaced"), "{message}");
}

#[test]
fn a_lead_that_waits_too_long_is_told_once() {
    let mut pager = Webhook::start();
    let fixture = Fixture::running(Vec::new());
    let lead_id = fixture.send(&lead());
    let store = &fixture.server.store;
    let kept = store.lead_history(&lead_id).unwrap().unwrap().lead;
    let minutes = SignedDuration::from_mins;
    let watching = |after: SignedDuration| {
        let now = kept.received_at + after;
        let to = vec![ops(pager.url())];
        alerts_within(store, fixture.server.config(), now, to, Some(minutes(15)))
    };
    let (first, hand) = watching(minutes(14));
    let (second, later) = watching(minutes(40));
    let look = |alerts: &AlertSender| fixture.runtime.block_on(alerts.look());
    look(&first);
    assert_eq!(pager.quiet().len(), 0, "it has time left");
    hand.advance(minutes(2));
    look(&first);
    let dealer = &fixture.server.config().dealers[0].terms.id;
    let sent_alert = pager.wait(1)[0].json();
    assert_eq!(sent_alert["new"][0]["key"], format!("unanswered/{dealer}"));
    assert_eq!(sent_alert["new"][0]["count"], Value::Null);
    let message = sent_alert["new"][0]["message"].as_str().unwrap();
    let expected =
        format!("{dealer}: 1 lead waits longer than 15m for an answer, the oldest since");
    assert!(message.starts_with(&expected), "{message}");
    // Another process on the same store knows what was told.
    look(&second);
    assert_eq!(pager.quiet().len(), 1, "nothing is repeated at a start");
    let wanted = NewStage { stage: StaffStage::Working, lost_reason: None };
    let lead = kept.clone();
    let answered =
        move |tx: &StoreTransaction<'_>| tx.set_stage(&lead, wanted, "dora", lead.received_at);
    assert!(store.write_blocking(answered).unwrap());
    later.advance(minutes(30));
    look(&second);
    assert_eq!(pager.wait(2)[1].json()["all_well"], true);
}

#[test]
fn a_lead_that_the_crm_has_waits_for_nobody_here() {
    let handled = |destination: DeliveryConfig| DeliveryConfig {
        destination: LeadDestination { handles_leads: true, ..destination.destination },
        ..destination
    };
    let taking = Webhook::start();
    let fixture = Fixture::running(vec![handled(crm(taking.url()))]);
    let lead_id = fixture.send(&lead());
    fixture.settled(&lead_id, 1);
    let store = &fixture.server.store;
    let waiting = LeadFilter { waiting: Some(WaitingFor::Anything), ..LeadFilter::default() };
    assert_eq!(store.count_leads(&waiting).unwrap(), 0);
    let progress = store.lead_work(&lead_id).unwrap().0;
    assert_eq!((progress.stage, progress.handled_by.as_deref()), (StaffStage::New, Some("crm")));

    let refusing = Webhook::answering(|_| answer("400 No"));
    let fixture = Fixture::running(vec![handled(crm(refusing.url()))]);
    let lead_id = fixture.send(&lead());
    fixture.settled(&lead_id, 1);
    let store = &fixture.server.store;
    assert_eq!(store.count_leads(&waiting).unwrap(), 1, "nobody has it");
    assert_eq!(store.lead_work(&lead_id).unwrap().0.handled_by, None);
}
