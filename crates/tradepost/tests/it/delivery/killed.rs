//! Processes that end at each step of a delivery: what is on disk then is enough for the next one.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use tradepost_dealer::delivery::NewDelivery;
use tradepost_store::Store;

use super::*;
use crate::process::{Process, data};
use crate::support::webhook::Reserved;

/// How far a process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Stored,
    Planned,
    Begun,
    Noted,
}

/// Takes a lead's delivery as far as that, and no further.
fn go_to(fixture: &Fixture, lead_id: &str, step: Step) {
    let events = fixture.server.store.unplanned_events(crate::support::dealer::ID, 10).unwrap();
    let [(event, _)] = events.as_slice() else { panic!("{events:?}") };
    let now = Clock::system().now();
    let planned = NewDelivery {
        dealer_id: crate::support::dealer::ID.to_owned(),
        lead_id: lead_id.to_owned(),
        destination: "crm".to_owned(),
        event: *event,
    };
    let event = *event;
    let job = move |tx: &tradepost_store::StoreTransaction<'_>| {
        if step == Step::Stored {
            return Ok(());
        }
        tx.plan_deliveries(&planned.dealer_id, event, std::slice::from_ref(&planned), now)?;
        if step == Step::Planned {
            return Ok(());
        }
        let key = 1;
        let later = now + SignedDuration::from_hours(1);
        assert!(tx.begin_delivery(key, later, later)?.is_some());
        if step == Step::Noted {
            tx.delivered(key, "taken", now)?;
        }
        Ok(())
    };
    fixture.server.store.write_blocking(job).unwrap();
}

#[test]
fn the_lead_arrives_marked_whatever_step_a_process_ended_at() {
    for (step, attempts, arrived) in [
        (Step::Stored, 1, &["new"][..]),
        (Step::Planned, 1, &["new"]),
        (Step::Begun, 2, &["resend"]),
        (Step::Noted, 1, &[]),
    ] {
        let mut receiver = Webhook::start();
        let mut fixture = Fixture::new(vec![crm(receiver.url())]);
        let lead_id = fixture.send(&lead());
        go_to(&fixture, &lead_id, step);
        fixture.run();
        let kept = fixture.settled(&lead_id, 1);
        assert_eq!(outline(&kept), [("crm", DELIVERED, attempts, "taken")], "{step:?}");
        let said: Vec<_> = receiver.quiet().iter().map(status).collect();
        assert_eq!(said, arrived, "{step:?}");
    }
}

/// A dealer whose leads go there.
fn config(url: &str) -> String {
    format!(
        r#"
        [server]
        listen = "127.0.0.1:0"
        [[dealers]]
        id = "bare"
        name = "Bare Motors"
        rate_limit = {{ requests = 0 }}
        [[dealers.deliveries]]
        name = "crm"
        by = "https"
        url = "{url}"
        [[dealers.rooftops]]
        name = "Bare Motors Downtown"
        "#
    )
}

/// A lead that is in force now.
fn lead_of_now() -> Value {
    let granted_at = format!("{:.0}", Clock::system().now());
    with(lead(), &[("/consent/granted_at", json!(granted_at))])
}

fn lead_id_of(process: &Process) -> String {
    let answer = process.call(&lead_of_now());
    let id = answer.pointer("/result/message/parts/0/data/data/lead_id");
    id.and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn state_of(folder: &std::path::Path, lead_id: &str) -> Option<(DeliveryState, u32)> {
    let store = Store::attach(&data(folder)).unwrap();
    let kept = store.deliveries(None, Some(lead_id), None).unwrap();
    kept.first().map(|record| (record.state, record.attempts))
}

#[test]
fn a_server_killed_while_sending_sends_again_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // The answer to the first attempt waits until the server is dead.
    let (arrive, arrived) = channel();
    let (go, may_go) = channel();
    let may_go = Mutex::new(may_go);
    let mut receiver = Webhook::answering(move |number| {
        if number == 0 {
            arrive.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        }
        yes()
    });
    let config = config(&receiver.url());
    let process = Process::configured(folder.path(), &config);
    let lead_id = lead_id_of(&process);
    arrived.recv().unwrap();
    process.signal("KILL");
    process.end();
    assert_eq!(state_of(folder.path(), &lead_id), Some((DeliveryState::Sending, 1)));
    go.send(()).unwrap();

    let process = Process::configured(folder.path(), &config);
    process.until("it is delivered", || state_of(folder.path(), &lead_id) == Some((DELIVERED, 2)));
    let seen = receiver.wait(2);
    assert_eq!(seen.iter().map(status).collect::<Vec<_>>(), ["new", "resend"]);
    let ids: Vec<_> = seen.iter().map(|one| one.header("idempotency-key").unwrap()).collect();
    assert_eq!(ids[0], ids[1]);

    // What was taken and noted is not sent again.
    process.signal("KILL");
    process.end();
    let process = Process::configured(folder.path(), &config);
    let other = lead_id_of(&process);
    process.until("the next one is delivered", || {
        state_of(folder.path(), &other) == Some((DELIVERED, 1))
    });
    assert_eq!(receiver.quiet().len(), 3);
}

#[test]
fn a_server_killed_while_nobody_takes_leads_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = Reserved::new();
    let config = config(&format!("http://{}/leads", place.address()));
    let process = Process::configured(folder.path(), &config);
    let lead_id = lead_id_of(&process);
    process.until("it was tried", || {
        state_of(folder.path(), &lead_id)
            .is_some_and(|(state, attempts)| state == DeliveryState::Due && attempts > 0)
    });
    process.signal("KILL");
    process.end();
    let mut receiver = Webhook::on(place.listen(), |_| yes());
    let process = Process::configured(folder.path(), &config);
    assert_eq!(receiver.wait(1).iter().map(status).collect::<Vec<_>>(), ["new"]);
    process.until("it is delivered", || {
        state_of(folder.path(), &lead_id).is_some_and(|(state, _)| state == DELIVERED)
    });
    assert!(process.log().contains("a lead was not taken"), "{}", process.log());
    for personal in ["Lovelace", "ada@example.com", "/leads"] {
        assert!(!process.log().contains(personal), "{personal} is in the log");
    }
}
