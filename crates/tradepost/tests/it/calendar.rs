//! The calendar under pressure, and from the command line.

use std::process::{Command, Output};
use std::sync::Arc;

use jiff::{SignedDuration, ToSpan as _};
use tradepost_admin::appointments::{ChangeAppointment, change_appointment};
use tradepost_admin::{Actor, AdminContext, AdminError, DealerScope};
use tradepost_dealer::appointment::change::{AppointmentChange, CalendarRefusal, WantedTime};
use tradepost_dealer::calendar::Visit;
use tradepost_dealer::record::AppointmentState;
use tradepost_dealer::settings::DealerSettings as Terms;
use tradepost_dealer::staff::{LostReason, StaffStage};
use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;
use tradepost_store::Store;
use tradepost_store::staff::NewStage;

use crate::support::dealer::{self, LISTED_VIN};
use crate::support::postgres::Scratch;
use crate::support::{NOW, TestServer, at, lead, start_on, start_with, with};

/// The slot that everybody wants.
const WANTED: &str = "2026-05-01T18:00:00Z";

/// How many want it on each side.
const EACH: usize = 6;

fn drive(name: &str, at: &str) -> Value {
    let appointment = json!({"appointment_type": "test_drive", "appointment_at": at});
    let email = format!("{name}@example.com");
    let changes = [
        ("/customer/email", json!(email)),
        ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
        ("/appointment", appointment),
    ];
    with(lead(), &changes)
}

fn uncapped(config: &mut tradepost_runtime::config::Config) {
    let caps = &mut config.dealers[0].terms.leads.confirmations;
    caps.per_address = 1_000;
    caps.per_contact = 1_000;
    caps.per_vehicle = 1_000;
    caps.all = 1_000;
}

/// Changes an appointment as somebody of the staff does.
fn change(
    store: &Store,
    terms: &Terms,
    input: ChangeAppointment,
) -> Result<Visit, CalendarRefusal> {
    let dealers = [DealerScope { settings: terms, destinations: Vec::new() }];
    let context = AdminContext { store, dealers: &dealers, now: at(NOW) };
    change_appointment(&context, &Actor::operator("dora"), input).map_err(|error| match error {
        AdminError::Refused(refused) => refused.refusal,
        AdminError::Forbidden(_) | AdminError::Broken(_) => panic!("{error:?}"),
    })
}

fn moved_to(store: &Store, terms: &Terms, id: &str, to: &str) -> Result<(), CalendarRefusal> {
    let to = WantedTime::parse(to).unwrap();
    let change_to = AppointmentChange::Move { to, outside_hours: false };
    let appointment_id = id.to_owned();
    let input = ChangeAppointment { appointment_id, seen_version: None, change: change_to };
    change(store, terms, input).map(drop)
}

/// Agents book a slot while staff move appointments there. However it ends, no slot has more than it can.
fn race(servers: &[TestServer]) {
    let terms = servers[0].config().dealers[0].terms.clone();
    let capacity = usize::try_from(terms.rooftops[0].appointments.capacity).unwrap();
    let mut ids = Vec::new();
    for number in 0..EACH {
        // Every one at a time of its own, that is not the wanted one.
        let start = at("2026-05-02T18:00:00Z") + (30 * i64::try_from(number).unwrap()).minutes();
        let answer = servers[0].payload(&drive(&format!("early{number}"), &start.to_string()));
        assert_eq!(answer["data"]["appointment"]["status"], "confirmed", "{answer}");
        ids.push(answer["data"]["appointment"]["appointment_id"].as_str().unwrap().to_owned());
    }
    let (booked, moved) = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..EACH)
            .map(|number| {
                let server = &servers[number % servers.len()];
                scope.spawn(move || {
                    let answer = server.payload(&drive(&format!("late{number}"), WANTED));
                    answer["data"]["appointment"]["status"] == "confirmed"
                })
            })
            .collect();
        let staff: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(number, id)| {
                let store = &servers[number % servers.len()].store;
                let terms = &terms;
                scope.spawn(move || moved_to(store, terms, id, WANTED))
            })
            .collect();
        let booked = agents.into_iter().map(|agent| agent.join().unwrap());
        let booked = booked.filter(|is_booked| *is_booked).count();
        let moved: Vec<_> = staff.into_iter().map(|mover| mover.join().unwrap()).collect();
        (booked, moved)
    });
    let moved_there = moved.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(booked + moved_there, capacity, "{booked} booked, {moved:?}");
    for refusal in moved.into_iter().filter_map(Result::err) {
        assert!(
            matches!(&refusal, CalendarRefusal::Full { free } if free.len() == 3),
            "{refusal:?}"
        );
    }
    let calendar = servers[0].store.calendar(None, at(WANTED), at(WANTED) + 1.minute()).unwrap();
    assert_eq!(calendar.visits.len(), capacity);
    assert!(calendar.visits.iter().all(|visit| visit.is_current));
}

#[test]
fn racing_moves_and_bookings_never_exceed_capacity() {
    race(&[start_with(uncapped)]);
}

#[test]
fn racing_moves_and_bookings_on_postgresql_never_exceed_capacity() {
    let Some(scratch) = Scratch::new() else { return };
    let mut config = dealer::config();
    uncapped(&mut config);
    let store = scratch.store();
    dealer::stock(&store, &config);
    race(&[start_on(store, config.clone()), start_on(scratch.store(), config)]);
}

#[test]
fn two_moves_of_one_version_move_once() {
    let server = start_with(uncapped);
    let terms = server.config().dealers[0].terms.clone();
    let answer = server.payload(&drive("ada", WANTED));
    let id = answer["data"]["appointment"]["appointment_id"].as_str().unwrap();
    let store = Arc::clone(&server.store);
    let outcomes = std::thread::scope(|scope| {
        let movers: Vec<_> = ["2026-05-01T19:00:00Z", "2026-05-01T20:00:00Z"]
            .into_iter()
            .map(|to| {
                let store = &store;
                let terms = &terms;
                scope.spawn(move || {
                    let to = WantedTime::parse(to).unwrap();
                    let input = ChangeAppointment {
                        appointment_id: id.to_owned(),
                        seen_version: Some(1),
                        change: AppointmentChange::Move { to, outside_hours: false },
                    };
                    change(store, terms, input)
                })
            })
            .collect();
        movers.into_iter().map(|mover| mover.join().unwrap()).collect::<Vec<_>>()
    });
    let done: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
    let refused: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    let [done] = done.as_slice() else { panic!("{outcomes:?}") };
    let [refused] = refused.as_slice() else { panic!("{outcomes:?}") };
    let starts_at = done.appointment.starts_at;
    let expected = CalendarRefusal::ChangedMeanwhile {
        state: AppointmentState::Confirmed,
        starts_at,
        version: 2,
    };
    assert_eq!(**refused, expected);
}

#[test]
fn retention_frees_times_as_erasing_does() {
    let server = start_with(|config| {
        uncapped(config);
        config.dealers[0].terms.rooftops[0].appointments.capacity = 1;
    });
    let first = server.payload(&drive("ada", WANTED));
    assert_eq!(first["data"]["appointment"]["status"], "confirmed");
    let old = tradepost_store::OldLeadSelection {
        dealer_id: dealer::ID.to_owned(),
        unchanged_since: at(NOW) + SignedDuration::from_mins(1),
        with_undelivered: true,
        removed_by: None,
    };
    let now = at(NOW) + SignedDuration::from_mins(2);
    assert_eq!(server.store.erase_old_leads(old, now).unwrap(), 1);
    let history = server.history(&first["data"]["lead_id"]);
    assert_eq!(history.lead.appointment.unwrap().state, AppointmentState::Cancelled);
    let second = server.payload(&drive("grace", WANTED));
    assert_eq!(second["data"]["appointment"]["status"], "confirmed", "{second}");
}

#[test]
fn a_lost_lead_whose_agent_books_again_is_new() {
    let server = start_with(uncapped);
    let conversation = server.conversation();
    let first = server.payload_in(&conversation, &drive("ada", WANTED));
    let lead = server.history(&first["data"]["lead_id"]).lead;
    let id = lead.lead_id.clone();
    let now = at(NOW);
    let mark = move |tx: &tradepost_store::StoreTransaction<'_>| {
        let lost_reason = Some(LostReason::NoAnswer);
        let wanted = NewStage { stage: StaffStage::Lost, lost_reason };
        tx.set_stage(&lead, wanted, "dora", now)
    };
    assert!(server.store.write_blocking(mark).unwrap());
    let stage = || server.store.lead_work(&id).unwrap().0.stage;
    assert_eq!(stage(), StaffStage::Lost);
    // The same again is no new wish; another time is.
    let again = server.payload_in(&conversation, &drive("ada", WANTED));
    assert_eq!(again["data"]["appointment"]["status"], "rejected", "{again}");
    assert_eq!(stage(), StaffStage::Lost);
    let later = server.payload_in(&conversation, &drive("ada", "2026-05-01T20:00:00Z"));
    assert_eq!(later["data"]["lead_id"], id.as_str());
    assert_eq!(later["data"]["appointment"]["status"], "confirmed", "{later}");
    assert_eq!(stage(), StaffStage::New);
    assert_eq!(server.store.lead_work(&id).unwrap().0.lost_reason, None);
}

#[test]
fn an_event_tells_no_time_that_was_agreed_later() {
    let server = start_with(uncapped);
    let terms = server.config().dealers[0].terms.clone();
    let request = with(lead(), &[("/appointment", json!({"appointment_type": "sales"}))]);
    let answer = server.payload(&request);
    assert_eq!(answer["data"]["appointment"]["status"], "requested", "{answer}");
    let id = answer["data"]["appointment"]["appointment_id"].as_str().unwrap();
    let confirm = AppointmentChange::Confirm {
        at: WantedTime::parse(WANTED),
        minutes: None,
        outside_hours: false,
    };
    for wanted in [AppointmentChange::Cancel, confirm] {
        let input =
            ChangeAppointment { appointment_id: id.to_owned(), seen_version: None, change: wanted };
        change(&server.store, &terms, input).unwrap();
    }
    let events = server.history(&answer["data"]["lead_id"]).events;
    let notified: Vec<_> = events
        .into_iter()
        .map(|event| event.appointment.unwrap())
        .map(|then| (then.state, then.starts_at, then.ends_at.is_some()))
        .collect();
    let expected = [
        (AppointmentState::Requested, None, false),
        (AppointmentState::Cancelled, None, false),
        (AppointmentState::Confirmed, Some(at(WANTED)), true),
    ];
    assert_eq!(notified, expected);
}

/// A booking, and a process in whose configuration the case of the rooftop's name is another.
fn rename(store: Store, again: Store) {
    let mut config = dealer::config();
    uncapped(&mut config);
    let rooftop = &mut config.dealers[0].terms.rooftops[0];
    rooftop.appointments.capacity = 1;
    dealer::stock(&store, &config);
    let mut renamed = config.clone();
    let profile = &mut renamed.dealers[0].terms.rooftops[0].profile;
    profile.name = profile.name.to_uppercase();
    let first = start_on(store, config).payload(&drive("ada", WANTED));
    assert_eq!(first["data"]["appointment"]["status"], "confirmed", "{first}");

    let server = start_on(again, renamed);
    let second = server.payload(&drive("grace", WANTED));
    assert_eq!(second["data"]["appointment"]["status"], "proposed", "{second}");
    let third = server.payload(&drive("alan", "2026-05-01T20:00:00Z"));
    assert_eq!(third["data"]["appointment"]["status"], "confirmed", "{third}");
    let id = third["data"]["appointment"]["appointment_id"].as_str().unwrap();
    let terms = server.config().dealers[0].terms.clone();
    let refused = moved_to(&server.store, &terms, id, WANTED);
    assert!(matches!(refused, Err(CalendarRefusal::Full { .. })), "{refused:?}");
}

#[test]
fn bookings_count_when_the_rooftops_name_changes_case() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(folder.path()).unwrap();
    rename(open(), open());
}

#[test]
fn bookings_on_postgresql_count_when_the_name_changes_case() {
    let Some(scratch) = Scratch::new() else { return };
    rename(scratch.store(), scratch.store());
}

/// `tradepost appointments` with the demo's dealers, on the server's folder.
fn appointments(server: &TestServer, config: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.arg("appointments").args(arguments).arg("--data").arg(server.directory.path());
    if !config.is_empty() {
        command.args(["--config", config]);
    }
    command.output().unwrap()
}

/// The configuration of the server's dealer, as the command line reads it.
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"

[[dealers]]
id = "demo-auto-group"
name = "Demo Auto Group"
public_url = "https://demo-toyota.example.com"

[[dealers.rooftops]]
name = "Demo Toyota San Francisco"
timezone = "America/Los_Angeles"
phones = [{ name = "Sales", value = "+14155550100" }]
appointments = { types = ["sales", "test_drive"], capacity = 2 }
[dealers.rooftops.schedules.sales]
monday = "09:00-19:00"
tuesday = "09:00-19:00"
wednesday = "09:00-19:00"
thursday = "09:00-19:00"
friday = "09:00-19:00"
saturday = "10:00-18:00"
sunday = "11:00-16:00"
"#;

#[test]
fn the_command_line_changes_what_its_list_shows() {
    // Commands go by the clock of the machine.
    let now = Clock::system().now();
    let server = start_with(|config| {
        uncapped(config);
        config.dealers[0].terms.leads.consent_lifetime = None;
    });
    server.advance(now.duration_since(at(NOW)));
    let zone = jiff::tz::TimeZone::get("America/Los_Angeles").unwrap();
    let day = now.to_zoned(zone).date().checked_add(3.days()).unwrap();
    let local = |time: &str| format!("{day}T{time}");
    let moment = |time: &str| {
        WantedTime::parse(&local(time))
            .unwrap()
            .resolve(&jiff::tz::TimeZone::get("America/Los_Angeles").unwrap())
            .unwrap()
            .to_string()
    };
    let answer = server.payload(&drive("ada", &moment("12:00")));
    assert_eq!(answer["data"]["appointment"]["status"], "confirmed", "{answer}");
    let id = answer["data"]["appointment"]["appointment_id"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tradepost.toml");
    std::fs::write(&path, CONFIG).unwrap();
    let config = path.to_str().unwrap();
    let said = |output: &Output| {
        let out = &output.stdout;
        let err = &output.stderr;
        format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
    };
    let one = local("13:00");
    let two = local("14:00");

    let list = said(&appointments(&server, "", &["list"]));
    for shown in ["confirmed", "test_drive", id, "Ada Lovelace", "12:00 PM P", "VERSION"] {
        assert!(list.contains(shown), "{shown}: {list}");
    }
    let moved = appointments(&server, config, &["move", id, "--version", "1", "--to", &one]);
    assert_eq!(moved.status.code(), Some(0), "{}", said(&moved));
    assert!(said(&moved).contains(&format!("{id}: confirmed ")), "{}", said(&moved));
    let late = ["move", id, "--version", "1", "--to", &two, "--json"];
    let late = appointments(&server, config, &late);
    assert_eq!(late.status.code(), Some(2));
    let document: Value = tradepost_document::json::from_slice(&late.stdout).unwrap();
    assert_eq!(document["error"]["code"], "changed_meanwhile", "{document}");
    let current = &document["error"]["current"];
    assert_eq!(current["status"], "confirmed", "{document}");
    assert_eq!(current["starts_at"], moment("13:00").as_str(), "{document}");
    assert_eq!(current["version"], json!(2), "{document}");

    let from = local("14:00");
    let until = local("15:00");
    let rooftop = "demo toyota san francisco";
    let block = [
        "block",
        "--rooftop",
        rooftop,
        "--department",
        "sales",
        "--from",
        &from,
        "--until",
        &until,
        "--reason",
        "Training",
        "--json",
    ];
    let misspelled =
        block.map(|word| if word == rooftop { "demo toyota san fransisco" } else { word });
    let misspelled = appointments(&server, config, &misspelled[..misspelled.len() - 1]);
    assert_eq!(misspelled.status.code(), Some(2));
    assert!(
        said(&misspelled).contains("hint: did you mean Demo Toyota San Francisco? "),
        "{}",
        said(&misspelled)
    );
    let blocked = appointments(&server, config, &block);
    assert_eq!(blocked.status.code(), Some(0), "{}", said(&blocked));
    let document: Value = tradepost_document::json::from_slice(&blocked.stdout).unwrap();
    let block_id = document["blocked"]["block_id"].as_str().unwrap().to_owned();
    let full = ["move", id, "--version", "2", "--to", &two, "--json"];
    let full = appointments(&server, config, &full);
    assert_eq!(full.status.code(), Some(2));
    let document: Value = tradepost_document::json::from_slice(&full.stdout).unwrap();
    assert_eq!(document["error"]["code"], "full", "{document}");
    assert_eq!(document["error"]["free_times"].as_array().unwrap().len(), 3, "{document}");

    let unblocked = appointments(&server, "", &["unblock", &block_id]);
    assert_eq!(said(&unblocked), format!("unblocked {block_id}\n"));
    assert_eq!(appointments(&server, "", &["unblock", &block_id]).status.code(), Some(2));
    let missed = appointments(&server, "", &["no-show", id, "--json"]);
    let document: Value = tradepost_document::json::from_slice(&missed.stdout).unwrap();
    assert_eq!(document["error"]["code"], "not_started", "{document}");
    assert_eq!(appointments(&server, "", &["cancel", id]).status.code(), Some(0));
    assert_eq!(appointments(&server, "", &["cancel", id]).status.code(), Some(2));
    let confirm = ["confirm", id, "--at", &two];
    assert_eq!(appointments(&server, config, &confirm).status.code(), Some(0));

    let recorded = server.store.entries(dealer::ID, i64::MAX, 100).unwrap();
    let recorded: Vec<_> =
        recorded.iter().rev().map(|entry| entry.said.action.to_string()).collect();
    let expected = [
        "leads_listed",
        "appointment_moved",
        "time_blocked",
        "time_unblocked",
        "appointment_cancelled",
        "appointment_confirmed",
    ];
    assert_eq!(recorded, expected);
}
