//! The first steps on the checklist: their buttons, and results that stay.

use std::thread;
use std::time::Duration;

use tradepost_admin::steps::{CloseTestLead, StepRefusal, close_test_lead};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_dealer::record::LeadState;

use super::probe::leading;
use super::*;
use crate::delivery::mail::mailbox;
use crate::support::mail::{MailBehavior, MailServer, Secured};

/// Looks until no step is being tested.
fn done(browser: &Browser<'_>) -> String {
    for _ in 0..3_000 {
        let shown = text(&browser.get("/console/checklist"));
        if !shown.contains("Testing …") {
            return shown;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
    panic!("it did not end within a minute");
}

#[test]
fn a_step_is_tested_by_a_button_and_its_result_stays() {
    let mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let (url, target) = leading();
    let fixture = Fixture::with(|config| {
        config.dealers[0].hosts.clear();
        config.dealers[0].public_url = Some(url.clone());
        config.dealers[0].deliveries = vec![mailbox(&mail)];
    });
    target.set(fixture.server.address).unwrap();
    let egon = fixture.enter("egon");
    let before = text(&egon.get("/console/checklist"));
    assert_eq!(before.matches("Not tested yet.").count(), 3, "{before}");
    let card = format!("The card is at {url}, which only this machine reaches");
    for (step, says) in
        [("delivery", "A sample was taken by mail (SMTP 250)."), ("card", card.as_str())]
    {
        let form = [("dealer", ONE), ("step", step)];
        assert_eq!(egon.do_it("/console/checklist/test", &form), "tested");
        let shown = done(&egon);
        assert!(shown.contains(says) && shown.contains("Tested by egon, <time"), "{shown}");
    }
    // The results are in the store, for whoever looks later.
    let maria = fixture.enter("maria");
    let shown = text(&maria.get("/console/checklist"));
    assert!(shown.contains("SMTP 250") && shown.contains(&card), "{shown}");
    assert!(fixture.record(ONE).contains(&(
        "egon".to_owned(),
        "step_tested".to_owned(),
        Some("card passed".to_owned())
    )));
    let other = fixture.enter("other");
    let form = [("dealer", ONE), ("step", "card")];
    assert_eq!(other.post("/console/checklist/test", &form).status, 404);
    // A step that only settings decide has no test.
    let form = [("dealer", ONE), ("step", "hours")];
    assert_eq!(egon.post("/console/checklist/test", &form).status, 404);
}

#[test]
fn a_test_lead_is_the_testers_own_and_is_erased() {
    let (url, target) = leading();
    let fixture = Fixture::with(|config| {
        config.dealers[0].hosts.clear();
        config.dealers[0].public_url = Some(url);
    });
    target.set(fixture.server.address).unwrap();
    let egon = fixture.enter("egon");
    let without = [("dealer", ONE), ("step", "test-lead")];
    assert_eq!(egon.post("/console/checklist/test", &without).status, 422);
    let states = || {
        let leads = fixture.server.store.leads(Some(ONE)).unwrap();
        leads.iter().map(|lead| lead.state).collect::<Vec<_>>()
    };
    let before = states();
    let form = [&without[..], &[("email", "egon@dealer.example")]].concat();
    assert_eq!(egon.do_it("/console/checklist/test", &form), "tested");
    let shown = done(&egon);
    assert!(shown.contains("The lead was taken, and no destination is configured"), "{shown}");
    assert!(!shown.contains("egon@dealer.example"), "{shown}");
    let after = states();
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(after.iter().filter(|state| **state == LeadState::Erased).count(), 1);
}

#[test]
fn a_customers_lead_is_never_erased_as_a_test() {
    let server = support::start();
    let receipt = server.payload(&lead());
    let lead_id = receipt["data"]["lead_id"].clone();
    let context = AdminContext { store: &server.store, dealers: &[], now: at(NOW) };
    let close = CloseTestLead { lead_id: lead_id.as_str().unwrap().to_owned() };
    let refused = close_test_lead(&context, &Actor::operator("cli:egon"), close);
    assert!(matches!(refused, Err(AdminError::Refused(StepRefusal::NoTestLead(_)))));
    assert_eq!(server.history(&lead_id).lead.state, LeadState::Received);
}
