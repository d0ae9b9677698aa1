//! What customers may ask for, and what is erased by itself.

use jiff::SignedDuration;
use std::sync::Arc;
use tradepost_dealer::delivery::{DeliveryState, NewDelivery};
use tradepost_dealer::record::LeadState;
use tradepost_runtime::wiring::Wiring;
use tradepost_server::clock::Clock;
use tradepost_store::staff_events::NewStaffDelivery;
use tradepost_store::{HostedState, NewHosted, OldLeadSelection};

use super::*;

#[test]
fn a_customer_gets_everything_and_is_then_in_no_file() {
    for key in ["", FIRST] {
        let folder = tempfile::tempdir().unwrap();
        let place = ["--data", folder.path().to_str().unwrap()];
        let server = serve(folder.path(), key);
        let ada = send(&server, &customer_lead("Ada@Example.com", "+14155550123"));
        let bob = send(&server, &customer_lead("bob@example.com", "+14155550199"));
        let note = tradepost_dealer::staff::LeadNote {
            at: at(NOW),
            author: "dora".to_owned(),
            text: Some("Has a sister.".to_owned()),
        };
        add_note(&server, &ada, note);

        let who = ["--email", "ADA@example.com", "--phone", "+1 415 555 0123"];
        let export = said(key, &[&["privacy", "export"][..], &who, &place].concat());
        let document: Value = tradepost_document::json::from_str(&export).unwrap();
        let leads = document["leads"].as_array().unwrap();
        assert_eq!(leads.len(), 1, "once, though both of the addresses name it");
        assert_eq!(leads[0]["lead"]["lead_id"], ada);
        assert_eq!(leads[0]["submissions"][0]["payload"]["customer"]["last_name"], "Winterberg");
        assert_eq!(leads[0]["notes"][0]["text"], "Has a sister.");
        assert_eq!(leads[0]["record"][0]["action"], "note_added");
        assert_eq!(leads[0]["record"][1]["action"], "lead_exported");
        assert_eq!(leads[0]["record"][1]["actor"], "cli:ana");
        let file = folder.path().join("ada.html");
        let html = ["privacy", "export", "--format=html", "--out", file.to_str().unwrap()];
        said(key, &[&html[..], &who, &place].concat());
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.contains("Quarzhausen") && !page.contains("bob@example.com"));
        let (code, why) = complaint(key, &[&html[..], &who, &place].concat());
        assert!(code == 2 && why.contains("exists already"), "{why}");
        std::fs::remove_file(file).unwrap();

        let erased = |leads: Value| format!("{:#}\n", json!({"erased": leads, "unreadable": []}));
        let erase = [&["--json", "privacy", "erase"][..], &who, &place].concat();
        assert_eq!(said(key, &erase), erased(json!([ada])));
        assert_eq!(said(key, &erase), erased(json!([])));
        assert_eq!(found(folder.path(), &["ada@example", "14155550123", "has a sister"]), [""; 0]);
        let not_found = said(key, &[&["privacy", "export"][..], &who, &place].concat());
        assert!(not_found.contains("\"leads\": []"), "{not_found}");
        assert_eq!(server.history(&json!(bob)).lead.state, LeadState::Received);
        let verified = said(key, &[&["--json", "audit", "verify"][..], &place].concat());
        assert!(verified.contains("\"intact\": true"), "{verified}");
        let listed = said(key, &[&["audit", "list", "--lead", &ada][..], &place].concat());
        assert!(listed.contains("lead_erased") && listed.contains("cli:ana"), "{listed}");
    }
}

#[test]
fn what_is_old_is_erased_unless_somebody_is_untold() {
    for anyway in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let server = serve(folder.path(), FIRST);
        let [delivered, undelivered] =
            [("ada@example.com", "+14155550123"), ("bob@example.com", "+14155550199")]
                .map(|(email, phone)| send(&server, &customer_lead(email, phone)));
        let delivery = |lead_id: &str| NewDelivery {
            dealer_id: dealer::ID.to_owned(),
            lead_id: lead_id.to_owned(),
            destination: "crm".to_owned(),
            event: 1,
        };
        let wanted = vec![delivery(&delivered), delivery(&undelivered)];
        server.store.deliver_again(wanted, at(NOW)).unwrap();
        let due = server.store.deliveries(None, Some(&delivered), None).unwrap()[0].key;
        server
            .store
            .write_blocking(move |tx| {
                tx.begin_delivery(due, at(NOW), at(NOW))?;
                tx.delivered(due, "taken", at(NOW))
            })
            .unwrap();
        let mut config = server.config().clone();
        config.dealers[0].terms.leads.retention = Some(SignedDuration::from_hours(24 * 30));
        config.dealers[0].terms.leads.erase_undelivered = anyway;
        let (clock, hand) = Clock::manual(at(NOW));
        let opened = Wiring::open(config, Arc::clone(&server.store), clock, server.address);
        let registry = opened.unwrap().registry;
        hand.advance(SignedDuration::from_hours(24 * 31));
        registry.refresh().unwrap();
        let state = |id: &str| server.history(&json!(id)).lead.state;
        assert_eq!(state(&delivered), LeadState::Erased);
        let expected = if anyway { LeadState::Erased } else { LeadState::Received };
        assert_eq!(state(&undelivered), expected);
        let who: Vec<String> = server
            .store
            .entries_about(&delivered)
            .unwrap()
            .into_iter()
            .map(|(entry, _)| format!("{} {}", entry.said.actor, entry.said.action))
            .collect();
        assert_eq!(who, ["delivery lead_delivered", "retention lead_erased"]);
        assert_eq!(server.store.check_consents(None, None).unwrap()[0].faults, []);
    }
}

#[test]
fn messages_to_a_publishers_people_keep_no_lead_from_erasure() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "");
    let lead = send(&server, &customer_lead("ada@example.com", "+14155550123"));
    let store = &server.store;
    // Both are told of by one outbox, and by the same id, where it comes to the worst.
    let planned =
        NewStaffDelivery { subject: lead.clone(), destination: "desk".to_owned(), place: 1 };
    let plan = move |tx: &tradepost_store::StoreTransaction<'_>| {
        tx.place_staff_events("gazette")?;
        tx.plan_staff_events("gazette", 1, std::slice::from_ref(&planned), at(NOW))
    };
    assert!(store.write_blocking(plan).unwrap());
    let old = || OldLeadSelection {
        dealer_id: dealer::ID.to_owned(),
        unchanged_since: at(NOW) + SignedDuration::from_hours(1),
        with_undelivered: false,
        removed_by: None,
    };
    assert_eq!(store.erase_old_leads(old(), at(NOW)).unwrap(), 1);
    assert_eq!(server.history(&json!(lead)).lead.state, LeadState::Erased);
    let deliveries = store.publisher_deliveries(Some("gazette"), Some(&lead), None).unwrap();
    let states: Vec<_> = deliveries.iter().map(|delivery| delivery.state).collect();
    assert_eq!(states, [DeliveryState::Due], "it is still told");
}

#[test]
fn a_removed_dealers_old_leads_stay_once_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), FIRST);
    let lead = send(&server, &customer_lead("ada@example.com", "+14155550123"));
    let store = &server.store;
    let hosted = || NewHosted {
        dealer_id: dealer::ID.to_owned(),
        document: "{}".to_owned(),
        hosts: Vec::new(),
    };
    let host = |again: bool| {
        let added = store.decide(move |tx| tx.host_dealers(&[hosted()], again, at(NOW)));
        added.unwrap();
    };
    host(false);
    let remove = || {
        let removed =
            store.decide(|tx| tx.set_hosted_state(dealer::ID, HostedState::Removed, None, at(NOW)));
        removed.unwrap().expect("the dealer was there")
    };
    let old = |revision| OldLeadSelection {
        dealer_id: dealer::ID.to_owned(),
        unchanged_since: at(NOW) + SignedDuration::from_hours(1),
        with_undelivered: true,
        removed_by: Some(revision),
    };
    let first = remove();
    host(true);
    assert_eq!(store.erase_old_leads(old(first), at(NOW)).unwrap(), 0);
    let second = remove();
    assert_eq!(store.erase_old_leads(old(first), at(NOW)).unwrap(), 0, "that was another time");
    assert_eq!(server.history(&json!(lead)).lead.state, LeadState::Received);
    assert_eq!(store.erase_old_leads(old(second), at(NOW)).unwrap(), 1);
    assert_eq!(server.history(&json!(lead)).lead.state, LeadState::Erased);
}
