//! The dealer's trouble: receivers that are down for a day, take their time or lose what they took, and a
//! disk that takes nothing. No lead is lost, and none comes twice unmarked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use tradepost_dealer::delivery::NewDelivery;

use super::mail::mailbox;
use super::*;
use crate::support::mail::{MailBehavior, MailServer, Secured};
use crate::support::{NOW, at};

/// A change of the database that has it take no delivery in this state.
fn full(state: &str) -> String {
    format!(
        "CREATE TRIGGER is_full BEFORE UPDATE ON lead_deliveries WHEN NEW.state = '{state}'
         BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
}

#[test]
fn after_a_day_of_failures_the_lead_arrives_once() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let answers = move |_| if well.load(Ordering::SeqCst) { yes() } else { answer("500 Oops") };
    let mut receiver = Webhook::answering(answers);
    let mut fixture = Fixture::new(vec![DeliveryConfig { attempts: 100, ..crm(receiver.url()) }]);
    let (clock, hand) = Clock::manual(at(NOW));
    fixture.run_by(clock);
    let lead_id = fixture.send(&lead());
    let mut attempts = 0;
    for _ in 0..24 {
        fixture.wake();
        let waits = |kept: &[DeliveryRecord]| {
            kept.iter().any(|delivery| {
                delivery.state == DeliveryState::Due && delivery.attempts > attempts
            })
        };
        attempts = fixture.until(&lead_id, waits)[0].attempts;
        hand.advance(SignedDuration::from_hours(1));
    }
    is_well.store(true, Ordering::SeqCst);
    fixture.wake();
    let kept = fixture.settled(&lead_id, 1);
    assert_eq!((kept[0].state, kept[0].may_have_arrived), (DELIVERED, false));
    let seen = receiver.wait(kept[0].attempts as usize);
    assert!(seen.len() > 24 && seen.iter().all(|one| status(one) == "new"), "none was taken");
}

#[test]
fn a_slow_receiver_holds_up_nobody_else() {
    let (go, may_go) = channel();
    let may_go = Mutex::new(may_go);
    let mut slow = Webhook::answering(move |_| {
        may_go.lock().unwrap().recv().unwrap();
        yes()
    });
    let fast = Webhook::start();
    let fixture = Fixture::running(vec![crm(slow.url()), hub(fast.url())]);
    let lead_id = fixture.send(&lead());
    let fast_is_done =
        |kept: &[DeliveryRecord]| kept.iter().any(|delivery| delivery.state == DELIVERED);
    let kept = fixture.until(&lead_id, fast_is_done);
    let expected = [("crm", DeliveryState::Sending, 1, ""), ("hub", DELIVERED, 1, "taken")];
    assert_eq!(outline(&kept), expected);
    go.send(()).unwrap();
    let kept = fixture.settled(&lead_id, 2);
    assert_eq!(outline(&kept)[0], ("crm", DELIVERED, 1, "taken"));
    assert_eq!(slow.quiet().len(), 1);
}

#[test]
fn an_absent_mail_server_gets_the_lead_when_back() {
    let mut server = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let mut delivery = mailbox(&server);
    let place = crate::support::webhook::Reserved::new();
    if let DeliveryMethod::Smtp(smtp) = &mut delivery.by {
        smtp.port = place.address().port();
    }
    let mut fixture = Fixture::new(vec![DeliveryConfig { attempts: 2, ..delivery }]);
    fixture.run();
    let lead_id = fixture.send(&lead());
    let kept = fixture.settled(&lead_id, 1);
    assert_eq!(outline(&kept), [("mail", DEAD, 2, "no connection")]);

    // Who asks for it again is not told that it may be there.
    let mut dealers = fixture.server.config().dealers.clone();
    dealers[0].deliveries = vec![mailbox(&server)];
    let dealers: Vec<_> = dealers.into_iter().map(Arc::new).collect();
    fixture.deliveries.as_ref().unwrap().replace(&dealers).unwrap();
    again(&fixture, &kept[0]);
    fixture.settled(&lead_id, 2);
    assert!(server.wait(1)[0].body().contains("<prospect status=\"new\">"));
}

/// Has a delivery made again, as `leads resend` does.
fn again(fixture: &Fixture, delivery: &DeliveryRecord) {
    let wanted = NewDelivery {
        dealer_id: delivery.dealer_id.clone(),
        lead_id: delivery.lead_id.clone(),
        destination: delivery.destination.clone(),
        event: delivery.event,
    };
    fixture.server.store.deliver_again(vec![wanted], Clock::system().now()).unwrap();
    fixture.wake();
}

#[test]
fn what_a_receiver_lost_comes_again_only_when_asked_for() {
    let mut server = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let fixture = Fixture::running(vec![mailbox(&server)]);
    let lead_id = fixture.send(&lead());
    let kept = fixture.settled(&lead_id, 1);
    assert_eq!(outline(&kept), [("mail", DELIVERED, 1, "SMTP 250")]);
    again(&fixture, &kept[0]);
    let kept = fixture.settled(&lead_id, 2);
    assert_eq!(outline(&kept)[1], ("mail", DELIVERED, 1, "SMTP 250"));
    let said: Vec<_> =
        server.wait(2).iter().map(|mail| mail.body().contains("status=\"resend\"")).collect();
    assert_eq!(said, [false, true]);
}

#[test]
fn on_a_full_disk_deliveries_wait_or_become_resends() {
    for state in ["sending", "delivered"] {
        let mut receiver = Webhook::start();
        let mut fixture = Fixture::new(vec![crm(receiver.url())]);
        let lead_id = fixture.send(&lead());
        let path = fixture.server.directory.path().join("tradepost.sqlite");
        let database = rusqlite::Connection::open(path).unwrap();
        database.execute_batch(&full(state)).unwrap();
        let (clock, hand) = Clock::manual(at(NOW));
        fixture.run_by(clock);
        // Until it is sure that nobody is sending it any more.
        let later = || {
            hand.advance(SignedDuration::from_mins(10));
            fixture.wake();
        };
        if state == "sending" {
            fixture.until(&lead_id, |kept| {
                kept.iter().any(|delivery| delivery.state == DeliveryState::Due)
            });
        } else {
            receiver.wait(1);
            later();
            receiver.wait(2);
        }
        database.execute_batch("DROP TRIGGER is_full").unwrap();
        later();
        let kept = fixture.settled(&lead_id, 1);
        assert_eq!(
            (kept[0].state, kept[0].may_have_arrived),
            (DELIVERED, state == "delivered"),
            "{state}"
        );
        let said: Vec<_> = receiver.quiet().iter().map(status).collect();
        assert_eq!(said[0], "new");
        assert!(said[1..].iter().all(|said| *said == "resend"), "{said:?}");
        assert_eq!(said.len() > 1, state == "delivered", "{said:?}");
    }
}
