//! What happens without a person: how much is confirmed, and what is held back (line by line, a
//! decision table each).

use jiff::SignedDuration;
use tradepost_dealer::record::{HeldFor, LeadEventKind, LeadState};
use tradepost_dealer::settings::{AgentPolicy, ConfirmationLimit, LeadPolicy, LeadRateLimit};
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::TEMPLATE;
use tradepost_runtime::config::{AuthSettings, read};

use crate::auth::{bearer, issue};
use crate::support::dealer::LISTED_VIN;
use crate::support::{NOW, TestServer, at, envelope_in, lead, start_with, with};

const MANY: u32 = 1_000;

/// A dealer behind a proxy with room for everybody.
fn dealer_with(change: impl FnOnce(&mut LeadPolicy)) -> TestServer {
    start_with(|config| {
        config.server.trust_forwarded_for = true;
        let dealer = &mut config.dealers[0];
        dealer.auth = AuthSettings { api_keys: true, ..AuthSettings::default() };
        dealer.terms.rooftops[0].appointments.capacity = MANY;
        let confirmations = ConfirmationLimit {
            per_address: MANY,
            per_contact: MANY,
            per_vehicle: MANY,
            all: MANY,
        };
        let window = SignedDuration::from_hours(1);
        let velocity = LeadRateLimit { window, per_address: MANY, per_contact: MANY, all: MANY };
        dealer.terms.leads = LeadPolicy { confirmations, velocity, ..dealer.terms.leads.clone() };
        change(&mut dealer.terms.leads);
    })
}

/// A test drive of a customer.
fn drive(customer: usize) -> Value {
    let appointment =
        json!({"appointment_type": "test_drive", "appointment_at": "2026-05-01T18:00:00Z"});
    let changes = [
        ("/customer/email", json!(format!("customer{customer}@example.com"))),
        ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
        ("/appointment", appointment),
    ];
    with(lead(), &changes)
}

/// What is answered to a lead from an address.
fn send_from(server: &TestServer, from: &str, payload: &Value) -> Value {
    let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", from)];
    server.post_with(&headers, envelope_in(None, payload).to_string()).payload()
}

fn status(answer: &Value) -> (&str, &str) {
    let of = |pointer| answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    (of("/data/status"), of("/data/appointment/status"))
}

/// How many of these drives are booked, and how many are left to people.
fn count(answers: &[Value]) -> (usize, usize) {
    let of = |wanted: &str| {
        answers.iter().filter(|answer| status(answer) == ("received", wanted)).count()
    };
    (of("confirmed"), of("requested"))
}

#[test]
fn with_what_init_writes_a_test_drive_is_requested() {
    let server = start_with(|config| *config = read::read(TEMPLATE, &[]).unwrap());
    let answer = server.payload(&drive(1));
    assert_eq!(status(&answer), ("received", "requested"));
    let said = "My Dealership received the lead and will follow up on a permitted channel. No time \
                is booked yet; an advisor will arrange one.";
    assert_eq!(answer["message"], said);
}

#[test]
fn many_drives_from_one_address_book_only_the_cap() {
    let server = start_with(|config| {
        config.dealers[0].terms.rooftops[0].appointments.capacity = MANY;
        config.dealers[0].terms.leads.velocity = LeadRateLimit::default();
    });
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let server = &server;
        let threads: Vec<_> =
            (0..74).map(|n| scope.spawn(move || server.payload(&drive(n)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // By the defaults: 4 a vehicle, and the 61st lead from one address is held back.
    assert_eq!(count(&answers), (4, 70));
    let leads = server.store.leads(None).unwrap();
    let held = leads.iter().filter(|lead| lead.held_for == Some(HeldFor::Velocity)).count();
    assert_eq!((leads.len(), held), (74, 14), "nothing is lost");
}

#[test]
fn each_cap_turns_what_is_beyond_it_into_a_request() {
    let many =
        ConfirmationLimit { per_address: MANY, per_contact: MANY, per_vehicle: MANY, all: MANY };
    let other_car = json!({"vehicle_id": "veh_dt_2451"});
    // Ten drives each; what they have in common is capped at three, or is not.
    for (name, caps, same_address, same_contact, same_vehicle, booked) in [
        ("address", ConfirmationLimit { per_address: 3, ..many }, true, false, true, 3),
        ("another address", ConfirmationLimit { per_address: 3, ..many }, false, false, true, 10),
        ("contact", ConfirmationLimit { per_contact: 3, ..many }, false, true, true, 3),
        ("another contact", ConfirmationLimit { per_contact: 3, ..many }, true, false, true, 10),
        ("vehicle", ConfirmationLimit { per_vehicle: 3, ..many }, false, false, true, 3),
        ("another vehicle", ConfirmationLimit { per_vehicle: 3, ..many }, false, false, false, 6),
        ("all", ConfirmationLimit { all: 3, ..many }, false, false, false, 3),
        ("none", ConfirmationLimit { all: 0, ..many }, false, false, false, 0),
    ] {
        let server = dealer_with(|leads| leads.confirmations = caps);
        let answers: Vec<_> = (0..10)
            .map(|n| {
                let from = format!("203.0.113.{}", if same_address { 1 } else { n + 1 });
                let mut payload = drive(if same_contact { 1 } else { n });
                if !same_vehicle && n % 2 == 1 {
                    payload["vehicle_of_interest"] = other_car.clone();
                }
                send_from(&server, &from, &payload)
            })
            .collect();
        assert_eq!(count(&answers), (booked, 10 - booked), "{name}");
        // A day later there is room again, for whoever wants to come after that.
        server.advance(SignedDuration::from_hours(24));
        let at = json!("2026-05-04T18:00:00Z");
        let later = with(drive(1), &[("/appointment/appointment_at", at)]);
        let again = send_from(&server, "203.0.113.1", &later);
        let expected = if name == "none" { "requested" } else { "confirmed" };
        assert_eq!(status(&again), ("received", expected), "{name}");
    }
}

#[test]
fn moving_is_no_second_appointment_and_credentials_have_no_cap() {
    let server = dealer_with(|leads| {
        leads.confirmations = ConfirmationLimit { all: 1, ..leads.confirmations };
    });
    let conversation = server.conversation();
    for hour in [18, 19, 20] {
        let at = json!(format!("2026-05-01T{hour}:00:00Z"));
        let moved = with(drive(1), &[("/appointment/appointment_at", at)]);
        assert_eq!(status(&server.payload_in(&conversation, &moved)).1, "confirmed");
    }
    assert_eq!(status(&server.payload(&drive(2))), ("received", "requested"));
    let token = issue(&server, "acme", |_| {});
    for customer in 3..6 {
        let answer = bearer(&server, &token, &drive(customer)).payload();
        assert_eq!(status(&answer), ("received", "confirmed"));
    }
    // What they have booked does not count either.
    server.advance(SignedDuration::from_hours(24));
    let at = json!("2026-05-04T18:00:00Z");
    let later = with(drive(7), &[("/appointment/appointment_at", at)]);
    assert_eq!(status(&server.payload(&later)), ("received", "confirmed"));
}

#[test]
fn what_is_held_back_is_kept_apart_and_honestly_answered() {
    let agent = |name: &str| ("/source_agent/name", json!(name));
    let agents = |allow: &[&str], deny: &[&str], quota| {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
        AgentPolicy { allow: names(allow), deny: names(deny), quota }
    };
    let velocity = |per_address, per_contact, all| {
        let window = SignedDuration::from_hours(1);
        (agents(&[], &[], None), LeadRateLimit { window, per_address, per_contact, all })
    };
    let named = |agents: AgentPolicy| (agents, velocity(MANY, MANY, MANY).1);
    let kept = "Demo Toyota San Francisco received the lead and keeps it for a person to look at \
                before anybody follows up; to be sure, the customer can call. No time is booked \
                yet; an advisor will arrange one.";
    let denied = "Demo Toyota San Francisco takes no leads from this agent. Nobody will follow up \
                  on this one unless a person there decides otherwise; the customer can call. No \
                  appointment is booked.";
    // The agent of the third lead after two of `test-agent` from this address for other customers.
    for (name, (agents, velocity), third, held_for) in [
        ("no rule", velocity(MANY, MANY, MANY), "test-agent", None),
        ("address", velocity(2, MANY, MANY), "test-agent", Some(HeldFor::Velocity)),
        ("contact", velocity(MANY, 2, MANY), "test-agent", None),
        ("all", velocity(MANY, MANY, 2), "test-agent", Some(HeldFor::Velocity)),
        ("allowed", named(agents(&["Other", "Test-Agent "], &[], None)), "test-agent", None),
        ("unlisted", named(agents(&["test-agent"], &[], None)), "x", Some(HeldFor::UnlistedAgent)),
        ("denied", named(agents(&[], &["SPAM"], None)), " Spam", Some(HeldFor::DeniedAgent)),
        ("both", named(agents(&["spam"], &["spam"], None)), "spam", Some(HeldFor::DeniedAgent)),
        ("quota", named(agents(&[], &[], Some(2))), "Test-agent", Some(HeldFor::Quota)),
        ("another's quota", named(agents(&[], &[], Some(2))), "other", None),
    ] {
        let server = dealer_with(|leads| *leads = LeadPolicy { agents, velocity, ..leads.clone() });
        if name != "both" {
            (0..2).for_each(|n| drop(send_from(&server, "203.0.113.1", &drive(n))));
        }
        let answer = send_from(&server, "203.0.113.1", &with(drive(2), &[agent(third)]));
        let record = server.history(&answer["data"]["lead_id"]).lead;
        assert_eq!(record.held_for, held_for, "{name}");
        let (expected, state) = match held_for {
            None => (("received", "confirmed"), LeadState::Received),
            Some(HeldFor::DeniedAgent) => (("rejected", "rejected"), LeadState::Held),
            Some(_) => (("received", "requested"), LeadState::Held),
        };
        assert_eq!((status(&answer), record.state), (expected, state), "{name}");
        match held_for {
            None => assert!(!answer["message"].as_str().unwrap().contains("person"), "{name}"),
            Some(HeldFor::DeniedAgent) => assert_eq!(answer["message"], denied, "{name}"),
            Some(_) => assert_eq!(answer["message"], kept, "{name}"),
        }
    }
}

#[test]
fn what_is_held_back_moves_nothing_until_it_is_released() {
    let server = dealer_with(|leads| leads.velocity.per_contact = 1);
    let first = server.post(envelope_in(None, &drive(1)).to_string());
    let conversation = first.context_id();
    let booked = first.payload()["data"]["lead_id"].clone();
    // Proven, and too many: a lead of its own.
    let held = server.payload_in(&conversation, &drive(1));
    assert_eq!(status(&held), ("received", "requested"));
    assert_ne!(held["data"]["lead_id"], booked);
    assert_eq!(server.history(&booked).events.len(), 1);
    assert_eq!(server.history(&booked).same_person, [held["data"]["lead_id"].as_str().unwrap()]);
    // An hour later it counts no more, and the caller is known to the first lead.
    server.advance(SignedDuration::from_hours(1));
    let again = server.payload_in(&conversation, &drive(1));
    assert_eq!((status(&again), &again["data"]["lead_id"]), (("duplicate", "confirmed"), &booked));
    let id = held["data"]["lead_id"].as_str().unwrap().to_owned();
    assert!(server.store.release_lead(id.clone(), at(NOW)).unwrap());
    assert!(!server.store.release_lead(id.clone(), at(NOW)).unwrap(), "it is held no more");
    let history = server.history(&json!(id));
    let kinds: Vec<_> = history.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [LeadEventKind::Received, LeadEventKind::Released]);
    assert_eq!(history.lead.state, LeadState::Received);
}

#[test]
fn a_lead_held_back_stays_so_when_sent_again() {
    let server = dealer_with(|leads| leads.agents.allow = vec!["known".to_owned()]);
    let conversation = server.conversation();
    let first = server.payload_in(&conversation, &drive(1));
    let mut known = drive(1);
    known["source_agent"]["name"] = json!("known");
    let again = server.payload_in(&conversation, &known);
    assert_eq!(again["data"]["lead_id"], first["data"]["lead_id"]);
    assert_eq!(status(&again), ("duplicate", "requested"));
    assert_eq!(server.history(&first["data"]["lead_id"]).lead.state, LeadState::Held);
}

#[test]
fn quotas_and_lists_mean_the_credentials_name_alone() {
    let server = dealer_with(|leads| {
        let deny = vec!["spam".to_owned()];
        leads.agents = AgentPolicy { allow: vec!["acme".to_owned()], deny, quota: Some(2) };
    });
    let token = issue(&server, "acme", |_| {});
    let send = |n: usize, agent: &str| {
        let payload = with(drive(n), &[("/source_agent/name", json!(agent))]);
        let answer = bearer(&server, &token, &payload).payload();
        server.history(&answer["data"]["lead_id"]).lead.held_for
    };
    assert_eq!([send(1, "one"), send(2, "two")], [None, None]);
    assert_eq!(send(3, "three"), Some(HeldFor::Quota));
    assert_eq!(send(4, "spam"), Some(HeldFor::DeniedAgent));
}
