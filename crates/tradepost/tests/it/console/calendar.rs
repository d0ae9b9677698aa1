//! One calendar: what the agent books by is what the dealer's people see and change.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tradepost_dealer::delivery::{DeliveryState, LeadKind};
use tradepost_dealer::record::AppointmentState;
use tradepost_dealer::settings::RooftopSettings;
use tradepost_runtime::delivery::Deliveries;
use tradepost_server::outbox::ClockAndRandom;

use super::*;
use crate::delivery::{crm, hub};
use crate::support::dealer::LISTED_VIN;
use crate::support::postgres::Scratch;
use crate::support::webhook::{Notified, Webhook};

/// The slots of Friday, May 1 that the story is about: 11:00 to 13:00 in San Francisco.
const SLOTS: [&str; 5] = [
    "2026-05-01T18:00:00Z",
    "2026-05-01T18:30:00Z",
    "2026-05-01T19:00:00Z",
    "2026-05-01T19:30:00Z",
    "2026-05-01T20:00:00Z",
];

const PAGE: &str = "/console/appointments?from=2026-05-01";

/// A dealer with one place at a time whose agent names every free time when it is asked.
pub(super) fn one_place(config: &mut Config) {
    let terms = &mut config.dealers[0].terms;
    terms.rooftops[0].appointments.capacity = 1;
    terms.leads.proposed_times = 100;
    terms.leads.confirmations.per_vehicle = 100;
    terms.leads.confirmations.per_address = 100;
}

pub(super) fn drive(name: &str, at: &str) -> Value {
    let appointment = json!({"appointment_type": "test_drive", "appointment_at": at});
    let vehicle = json!({"vin": LISTED_VIN});
    with(customer(name), &[("/vehicle_of_interest", vehicle), ("/appointment", appointment)])
}

/// The story: the fixture, its receivers, and the conversation of whoever asks what is free.
struct Story<'w> {
    fixture: &'w Fixture,
    asking: String,
}

impl<'w> Story<'w> {
    fn new(fixture: &'w Fixture) -> Self {
        Self { fixture, asking: begin_conversation(fixture) }
    }

    /// Has an agent book; what it answers.
    fn book(&self, conversation: &str, payload: &Value) -> Value {
        let answer = say(self.fixture, Some(conversation), payload).payload();
        assert!(answer["data"]["lead_id"].is_string(), "{answer}");
        answer["data"].clone()
    }

    /// The slots that the agent does not offer.
    fn refused(&self) -> BTreeSet<String> {
        // Before the opening: every free time is proposed.
        let early = json!({"appointment_type": "sales", "appointment_at": "2026-05-01T15:00:00Z"});
        let submission = with(customer("Curious"), &[("/appointment", early)]);
        let answer = self.book(&self.asking, &submission);
        let offered = answer["appointment"]["proposed_times"].as_array().unwrap().clone();
        let is_refused = |slot: &&&str| !offered.contains(&json!(slot));
        SLOTS.iter().filter(is_refused).map(|slot| (*slot).to_owned()).collect()
    }

    /// What the command line says of all dealers.
    fn command(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
        command.args(arguments).arg("--data").arg(self.fixture.server.directory.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let said = self.command(arguments);
        let document: Value = tradepost_document::json::from_str(&said).unwrap();
        document.as_array().unwrap().clone()
    }

    /// The slots that are taken, which everybody has to agree on: the agent, the page, the lists of
    /// appointments and of leads, and the calendar file.
    #[track_caller]
    fn taken(&self, staff: &Browser<'_>) -> BTreeSet<String> {
        let by_agent = self.refused();
        let listed = self.json(&["appointments", "list", "--all", "--json"]);
        let is_block = |row: &Value| row["status"] == "blocked";
        let holds = |row: &Value, slot: &str| {
            let from = row["starts_at"].as_str().unwrap_or_default();
            let until = row["ends_at"].as_str().unwrap_or_default();
            (is_block(row) || row["occupies"] == json!(true)) && from <= slot && slot < until
        };
        let by_list: BTreeSet<String> = SLOTS
            .iter()
            .filter(|slot| listed.iter().any(|row| holds(row, slot)))
            .map(|slot| (*slot).to_owned())
            .collect();
        assert_eq!(by_agent, by_list, "the agent and `appointments list`");

        let booked: BTreeSet<String> = listed
            .iter()
            .filter(|row| row["occupies"] == json!(true))
            .map(|row| row["starts_at"].as_str().unwrap().to_owned())
            .collect();
        let leads = self.json(&["leads", "list", "--state", "all", "--json"]);
        let by_leads: BTreeSet<String> = leads
            .iter()
            .filter(|lead| lead["appointment"]["status"] == "confirmed")
            .map(|lead| lead["appointment"]["starts_at"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(booked, by_leads, "`appointments list` and `leads list`");

        let page = text(&staff.get(PAGE));
        for slot in SLOTS {
            let shown = page.contains(&format!("<time datetime=\"{slot}\">"));
            assert_eq!(shown, booked.contains(slot), "{slot} on the page: {page}");
        }
        let places = format!("{} of 20 places taken", by_agent.len());
        assert!(page.contains(&places), "{places}: {page}");

        let ics = self.command(&["appointments", "list", "--all", "--format", "ics"]);
        for slot in SLOTS {
            let start = format!("DTSTART:{}\r\n", slot.replace(['-', ':'], ""));
            let events = ics.split("BEGIN:VEVENT").filter(|event| event.contains(&start));
            let is_booked = events
                .filter(|event| !event.contains("SUMMARY:Blocked"))
                .any(|event| event.contains("STATUS:CONFIRMED"));
            assert_eq!(is_booked, booked.contains(slot), "{slot} in {ics}");
        }
        by_agent
    }

    /// Waits until every delivery of a lead is made, as many as there have to be.
    #[track_caller]
    fn delivered(&self, lead_id: &Value, count: usize) {
        let lead_id = lead_id.as_str().unwrap();
        for _ in 0..4_000 {
            let kept = self.fixture.server.store.deliveries(None, Some(lead_id), None).unwrap();
            let done = kept.iter().filter(|one| one.state == DeliveryState::Delivered).count();
            assert!(kept.len() <= count, "more than {count}: {kept:?}");
            if done == count {
                return;
            }
            let pause = async { tokio::time::sleep(Duration::from_millis(5)).await };
            self.fixture.runtime.block_on(pause);
        }
        panic!("not {count} deliveries of {lead_id} within 20 seconds");
    }

    /// The version and the id of a lead's appointment.
    fn appointment(&self, lead_id: &Value) -> (String, i64) {
        let history = self.fixture.server.history(lead_id);
        let current = history.lead.appointment.unwrap();
        (current.appointment_id, current.version)
    }
}

/// Sends something to the agent of the first dealer.
fn say(fixture: &Fixture, conversation: Option<&str>, payload: &Value) -> Response {
    let headers = [("Host", "one.example"), ("Content-Type", "application/json")];
    let body = support::envelope_in(conversation, payload).to_string();
    client::request(fixture.server.address, "POST", "/a2a", &headers, body.as_bytes())
}

/// A conversation that the agent has begun, by which a caller is known again.
fn begin_conversation(fixture: &Fixture) -> String {
    say(fixture, None, &json!({"type": "dealer.information.request"})).context_id()
}

fn slots(numbers: &[usize]) -> BTreeSet<String> {
    numbers.iter().map(|number| SLOTS[*number].to_owned()).collect()
}

/// The last document that a receiver got, of so many.
fn last(receiver: &mut Webhook, count: usize) -> Notified {
    receiver.wait(count).last().unwrap().clone()
}

#[test]
fn agent_pages_lists_and_deliveries_agree_at_each_step() {
    let mut crm_at = Webhook::start();
    let mut hub_at = Webhook::start();
    let mut destinations = vec![crm(crm_at.url()), hub(hub_at.url())];
    for delivery in &mut destinations {
        delivery.destination.kinds = vec![LeadKind::TestDrive];
    }
    let fixture = Fixture::with(|config| {
        one_place(config);
        config.dealers[0].deliveries = destinations;
    });
    let dealers: Vec<_> = fixture.server.config().dealers.iter().cloned().map(Arc::new).collect();
    let store = Arc::clone(&fixture.server.store);
    let mut deliveries = Deliveries::new(store, Clock::system(), ClockAndRandom::system());
    deliveries.first_pause = Duration::from_millis(10);
    deliveries.replace(&dealers).unwrap();
    let running = Arc::new(deliveries);
    let run = Arc::clone(&running).run(std::future::pending(), Duration::ZERO);
    fixture.runtime.spawn(run);

    let story = Story::new(&fixture);
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    let mut ids = Vec::new();
    for (name, slot) in [("Ada", SLOTS[0]), ("Bob", SLOTS[1]), ("Cyril", SLOTS[2])] {
        let answer = story.book(&begin_conversation(&fixture), &drive(name, slot));
        assert_eq!(answer["appointment"]["status"], "confirmed");
        running.wake();
        ids.push(answer["lead_id"].clone());
    }
    ids.iter().for_each(|id| story.delivered(id, 2));
    assert_eq!(story.taken(&dora), slots(&[0, 1, 2]));
    let of = |id: &Value, rest: &str| format!("/console/leads/{}{rest}", id.as_str().unwrap());
    let [ada, bob, cyril] = ids.as_slice() else { panic!() };

    // Who has withdrawn the consent keeps the appointment, which is marked.
    assert_eq!(maria.do_it(&of(ada, "/revoke"), &[]), "revoked");
    running.wake();
    story.delivered(ada, 4);
    assert_eq!(story.taken(&dora), slots(&[0, 1, 2]));
    let page = text(&dora.get(PAGE));
    assert!(page.contains("Ada Lovelace</strong></a> <span class=\"chip bad\">consent withdrawn"));
    assert!(page.contains("Time zone: America/Los_Angeles") && page.contains("11:00 AM PDT"));
    let adf = last(&mut crm_at, 4).body;
    assert!(
        adf.contains("<prospect status=\"resend\">") && adf.contains("do not contact"),
        "{adf}"
    );
    assert!(adf.contains("status confirmed, from 2026-05-01T11:00:00-07:00"), "{adf}");

    // Erasing frees the time, and tells those who have the appointment, without the customer.
    assert_eq!(maria.do_it(&of(bob, "/erase"), &[("sure", "yes")]), "erased");
    running.wake();
    story.delivered(bob, 4);
    assert_eq!(story.taken(&dora), slots(&[0, 2]));
    let adf = last(&mut crm_at, 5).body;
    assert!(adf.contains("<prospect status=\"resend\">"), "{adf}");
    assert!(adf.contains("status cancelled, from 2026-05-01T11:30:00-07:00"), "{adf}");
    assert!(!adf.contains("Bob") && !adf.contains("bob@example.com"), "{adf}");
    let event = last(&mut hub_at, 5).json();
    let (bobs, _) = story.appointment(bob);
    let said = ["event_kind", "entity_id", "status"].map(|name| event[name].clone());
    assert_eq!(said, ["appointment.status_changed", &bobs, "rejected"].map(|text| json!(text)));
    assert_eq!(event["payload"]["lead"]["event"], "appointment_cancelled");

    // So does marking a lead lost.
    assert_eq!(
        dora.do_it(&of(cyril, "/stage"), &[("stage", "lost"), ("reason", "no_answer")]),
        "stage"
    );
    running.wake();
    story.delivered(cyril, 4);
    assert_eq!(story.taken(&dora), slots(&[0]));
    let adf = last(&mut crm_at, 6).body;
    assert!(adf.contains("<prospect status=\"resend\">"), "{adf}");
    assert!(adf.contains("status cancelled, from 2026-05-01T12:00:00-07:00"), "{adf}");

    // Somebody else takes the time that is free, and is moved.
    let conversation = begin_conversation(&fixture);
    let keyed = with(drive("Dan", SLOTS[2]), &[("/idempotency_key", json!("dan-1"))]);
    let answer = story.book(&conversation, &keyed);
    assert_eq!(answer["appointment"]["status"], "confirmed");
    running.wake();
    let dan = &answer["lead_id"];
    story.delivered(dan, 2);
    assert_eq!(story.taken(&dora), slots(&[0, 2]));
    let (id, version) = story.appointment(dan);
    let path = format!("/console/appointments/{id}/move");
    let version = version.to_string();
    let fields = [("version", version.as_str()), ("at", "2026-05-01T11:30"), ("in_view", "list")];
    assert_eq!(dora.do_it(&path, &fields), "moved");
    running.wake();
    story.delivered(dan, 4);
    assert_eq!(story.taken(&dora), slots(&[0, 1]));
    let adf = last(&mut crm_at, 8).body;
    assert!(adf.contains("<prospect status=\"resend\">"), "{adf}");
    assert!(adf.contains("status confirmed, from 2026-05-01T11:30:00-07:00"), "{adf}");
    let event = last(&mut hub_at, 8).json();
    assert_eq!(event["payload"]["lead"]["event"], "appointment_moved");
    assert_eq!(event["payload"]["lead"]["appointment"]["starts_at"], SLOTS[1]);

    // The agent hears so when it asks again, by its key and in its conversation.
    for again in [&keyed, &drive("Dan", SLOTS[2])] {
        let booking = story.book(&conversation, again);
        assert_eq!(booking["lead_id"], *dan);
        let receipt = &booking["appointment"];
        assert_eq!(receipt["status"], "confirmed", "{booking}");
        assert_eq!(receipt["confirmed_at"], SLOTS[1], "{booking}");
    }
    running.wake();
    assert_eq!(story.taken(&dora), slots(&[0, 1]), "asking again moves nothing back");

    // A blocked time can neither be booked nor moved to.
    let block = [
        ("dealer", ONE),
        ("rooftop", "Demo Toyota San Francisco"),
        ("department", "sales"),
        ("starts", "2026-05-01T12:00"),
        ("ends", "2026-05-01T13:00"),
        ("reason", "Training"),
    ];
    assert_eq!(dora.post("/console/blocked-times", &block).status, 403);
    assert_eq!(maria.do_it("/console/blocked-times", &block), "blocked");
    assert_eq!(story.taken(&dora), slots(&[0, 1, 2, 3]));
    assert!(text(&dora.get(PAGE)).contains("Training"));
    let refused = story.book(&begin_conversation(&fixture), &drive("Eve", SLOTS[2]));
    assert_eq!(refused["appointment"]["status"], "proposed");
    let (id, version) = story.appointment(dan);
    let version = version.to_string();
    let fields = [("version", version.as_str()), ("at", "2026-05-01T12:00")];
    let stopped = dora.post(&format!("/console/appointments/{id}/move"), &fields);
    let said = text(&stopped);
    assert_eq!(stopped.status, 409);
    assert!(said.contains("Every place is taken then. Free near it: "), "{said}");
    assert!(said.contains("Friday May 1, 1:00 PM PDT"), "{said}");
    assert_eq!(story.taken(&dora), slots(&[0, 1, 2, 3]));

    // A booking under a block stays promised: the block is refused.
    let over = [
        ("dealer", ONE),
        ("rooftop", "Demo Toyota San Francisco"),
        ("department", "sales"),
        ("starts", "2026-05-01T11:00"),
        ("ends", "2026-05-01T12:00"),
        ("reason", "Training"),
    ];
    let stopped = maria.post("/console/blocked-times", &over);
    assert_eq!(stopped.status, 409);
    assert!(text(&stopped).contains(&id), "{}", text(&stopped));

    let list = story.json(&["appointments", "list", "--all", "--json"]);
    let block_id = list.iter().find_map(|row| row["block_id"].as_str()).unwrap();
    let remove = format!("/console/blocked-times/{block_id}/remove");
    assert_eq!(maria.do_it(&remove, &[]), "unblocked");
    assert_eq!(maria.post(&remove, &[]).status, 404);
    assert_eq!(story.taken(&dora), slots(&[0, 1]));

    let kinds = [
        "consent_revoked",
        "lead_erased",
        "stage_changed",
        "appointment_moved",
        "time_blocked",
        "time_unblocked",
    ];
    let recorded: Vec<_> = fixture
        .record(ONE)
        .into_iter()
        .filter(|(_, what, _)| kinds.contains(&what.as_str()))
        .map(|(who, what, _)| format!("{who} {what}"))
        .collect();
    let expected = [
        "maria consent_revoked",
        "maria lead_erased",
        "dora stage_changed",
        "dora appointment_moved",
        "maria time_blocked",
        "maria time_unblocked",
    ];
    assert_eq!(recorded, expected);
    let checks = fixture.server.store.check_records().unwrap();
    assert!(checks.iter().all(|check| check.faults.is_empty()));
}

/// What becomes of the forms of an appointment, on whichever store.
fn changes(fixture: &Fixture) {
    let story = Story::new(fixture);
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    let conversation = begin_conversation(fixture);
    let answer = story.book(&conversation, &drive("Ada", SLOTS[0]));
    let lead_id = &answer["lead_id"];
    let (id, _) = story.appointment(lead_id);
    let path = |what: &str| format!("/console/appointments/{id}/{what}");
    let state = || fixture.server.history(lead_id).lead.appointment.unwrap().state;

    // Both have the page of the first version open; the second one is told, and nothing is lost.
    let form = |at: &'static str, version: &'static str| [("version", version), ("at", at)];
    assert_eq!(dora.do_it(&path("move"), &form("2026-05-01T11:30", "1")), "moved");
    let late = maria.post(&path("move"), &form("2026-05-01T12:00", "1"));
    assert_eq!(late.status, 409);
    let said = text(&late);
    assert!(said.contains("Somebody else has changed this appointment meanwhile"), "{said}");
    assert!(said.contains("Friday May 1, 11:30 AM PDT"), "{said}");
    let stands = fixture.server.history(lead_id).lead.appointment.unwrap();
    assert_eq!((stands.starts_at, stands.version), (Some(at(SLOTS[1])), 2));

    // Outside of the hours only where somebody says so.
    let evening = [("version", "2"), ("at", "2026-05-01T19:30")];
    let stopped = text(&dora.post(&path("move"), &evening));
    assert!(stopped.contains("The department is closed then"), "{stopped}");
    let outside = [("version", "2"), ("at", "2026-05-01T19:30"), ("outside_hours", "yes")];
    assert_eq!(dora.do_it(&path("move"), &outside), "moved");

    assert_eq!(dora.post(&path("no-show"), &[("version", "3")]).status, 409, "not begun");
    assert_eq!(dora.do_it(&path("cancel"), &[("version", "3")]), "cancelled");
    assert_eq!(state(), AppointmentState::Cancelled);
    assert_eq!(dora.post(&path("cancel"), &[("version", "4")]).status, 409);
    // The agent hears so, and can ask for another time.
    let booking = story.book(&conversation, &drive("Ada", SLOTS[0]));
    assert_eq!(booking["appointment"]["status"], "rejected", "{booking}");
    assert!(booking["appointment"].get("confirmed_at").is_none());
    assert_eq!(dora.do_it(&path("confirm"), &form("2026-05-01T11:00", "4")), "confirmed");
    fixture.hand.advance(SignedDuration::from_hours(48));
    // Everybody's session has ended meanwhile.
    let dora = fixture.enter("dora");
    assert_eq!(dora.do_it(&path("no-show"), &[("version", "5")]), "missed");
    assert_eq!(state(), AppointmentState::NoShow);

    let other = fixture.enter("other");
    assert_eq!(other.post(&path("cancel"), &[("version", "6")]).status, 404);
    let recorded: Vec<_> = fixture
        .record(ONE)
        .into_iter()
        .filter(|(_, what, _)| what.starts_with("appointment_"))
        .map(|(who, what, detail)| {
            format!("{who} {what} {}", detail.unwrap_or_default().replace(&id, "ID"))
        })
        .collect();
    expect_test::expect![[r#"
        dora appointment_moved ID: 2026-05-01T18:00:00Z -> 2026-05-01T18:30:00Z
        dora appointment_moved ID: 2026-05-01T18:30:00Z -> 2026-05-02T02:30:00Z
        dora appointment_cancelled ID: 2026-05-02T02:30:00Z -> cancelled
        dora appointment_confirmed ID: cancelled -> 2026-05-01T18:00:00Z
        dora appointment_no_show ID: 2026-05-01T18:00:00Z -> no_show"#]]
    .assert_eq(&recorded.join("\n"));
    let kinds: Vec<_> = fixture
        .server
        .history(lead_id)
        .events
        .into_iter()
        .map(|event| {
            let starts_at = event.appointment.and_then(|one| one.starts_at);
            format!("{} {}", event.kind, starts_at.map(|at| at.to_string()).unwrap_or_default())
        })
        .collect();
    expect_test::expect![[r#"
        received 2026-05-01T18:00:00Z
        appointment_moved 2026-05-01T18:30:00Z
        appointment_moved 2026-05-02T02:30:00Z
        appointment_cancelled 2026-05-02T02:30:00Z
        resubmitted 2026-05-02T02:30:00Z
        appointment_confirmed 2026-05-01T18:00:00Z
        appointment_no_show 2026-05-01T18:00:00Z"#]]
    .assert_eq(&kinds.join("\n"));
}

#[test]
fn staff_change_appointments_and_conflicts_lose_nothing() {
    changes(&Fixture::with(one_place));
}

#[test]
fn staff_change_appointments_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    changes(&Fixture::on(scratch.store()));
}

/// A booking, and a console in whose configuration its rooftop is another.
struct Reconfigured {
    /// Has the folder of the store.
    _before: Fixture,
    fixture: Fixture,
    lead_id: String,
    appointment_id: String,
}

impl Reconfigured {
    fn new(change: impl FnOnce(&mut RooftopSettings)) -> Self {
        let before = Fixture::with(one_place);
        let lead_id = before.lead("one.example", &drive("Ada", SLOTS[0]));
        let booked = before.server.history(&json!(lead_id)).lead.appointment.unwrap();
        let mut config = before.server.config().clone();
        change(&mut config.dealers[0].terms.rooftops[0]);
        let store = Store::open(before.server.directory.path()).unwrap();
        let fixture = Fixture::serve(support::start_on(store, config));
        Self { _before: before, fixture, lead_id, appointment_id: booked.appointment_id }
    }
}

#[test]
fn forms_show_times_in_the_zone_they_read() {
    let changed = Reconfigured::new(|rooftop| {
        rooftop.time_zone = jiff::tz::TimeZone::get("America/New_York").unwrap();
    });
    let dora = changed.fixture.enter("dora");
    for path in [&format!("/console/leads/{}", changed.lead_id), PAGE] {
        let page = text(&dora.get(path));
        assert!(page.contains("value=\"2026-05-01T14:00\""), "{path}: {page}");
        assert!(!page.contains("value=\"2026-05-01T11:00\""), "{path}: {page}");
    }
}

#[test]
fn an_appointment_at_a_removed_rooftop_can_only_be_cancelled() {
    let changed = Reconfigured::new(|rooftop| rooftop.profile.name = "Renamed".to_owned());
    let dora = changed.fixture.enter("dora");
    let path = |what: &str| format!("/console/appointments/{}/{what}", changed.appointment_id);
    let page = text(&dora.get(&format!("/console/leads/{}", changed.lead_id)));
    assert!(!page.contains(&path("move")), "{page}");
    assert!(page.contains(&path("cancel")), "{page}");
    // A page that was loaded before still has the form.
    let fields = [("version", "1"), ("at", "2026-05-01T11:30")];
    let stopped = dora.post(&path("move"), &fields);
    assert_eq!(stopped.status, 409);
    let said = text(&stopped);
    assert!(said.contains("The configuration has no rooftop with the name"), "{said}");
    assert_eq!(changed.fixture.enter("other").post(&path("move"), &fields).status, 404);
    assert_eq!(dora.do_it(&path("cancel"), &[("version", "1")]), "cancelled");
}

#[test]
fn a_rooftop_whose_name_changes_case_keeps_its_calendar() {
    let changed = Reconfigured::new(|rooftop| {
        rooftop.profile.name = rooftop.profile.name.to_uppercase();
    });
    let page = text(&changed.fixture.enter("dora").get(PAGE));
    assert!(page.contains("1 of 20 places taken"), "{page}");
    assert!(!page.contains("no longer configured"), "{page}");
}
