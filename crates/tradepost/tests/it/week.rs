//! Figures of a week, on both databases: which day is whose, and how long leads waited.

use std::cell::Cell;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::StaffStage;
use tradepost_dealer::week::CalendarWeek;
use tradepost_document::json::{Value, json};
use tradepost_store::Store;
use tradepost_store::refusals::RefusalCount;
use tradepost_store::staff::NewStage;
use tradepost_store::week::{WaitingTime, WeekFigures};

use crate::support::postgres::Scratch;
use crate::support::{NOW, TestServer, at, dealer, folder, lead, start_on, with};

/// A server with a clock that is set to the moments of its leads.
struct TimedServer {
    server: TestServer,
    now: Cell<Timestamp>,
}

fn server(store: Store) -> TimedServer {
    let config = dealer::config();
    dealer::stock(&store, &config);
    TimedServer { server: start_on(store, config), now: Cell::new(at(NOW)) }
}

fn figures(store: &Store, week: &str) -> WeekFigures {
    let zone = TimeZone::get("America/Los_Angeles").unwrap();
    let week: CalendarWeek = week.parse().unwrap();
    store.week_figures(dealer::ID, &week.moments(&zone)).unwrap()
}

fn customer(name: &str, agent: &str) -> Value {
    let email = format!("{name}@example.com");
    let agent = json!({"name": agent});
    with(lead(), &[("/customer/email", json!(email)), ("/source_agent", agent)])
}

/// Sends a lead at a moment, and returns its id.
fn send(timed: &TimedServer, moment: &str, payload: &Value) -> String {
    let moment = at(moment);
    timed.server.hand.set(moment.duration_since(timed.now.replace(moment)));
    let answer = timed.server.payload(payload);
    answer["data"]["lead_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn days_are_those_of_the_rooftop(store: Store) {
    let timed = server(store);
    for (moment, name) in [
        // Clocks are set back on Sunday, November 1: the day has 25 hours.
        ("2026-10-26T06:59:59Z", "sunday-before"),
        ("2026-10-26T07:00:00Z", "monday"),
        ("2026-11-01T06:59:59Z", "saturday"),
        ("2026-11-01T07:00:00Z", "sunday"),
        ("2026-11-02T07:59:59Z", "sunday-late"),
        ("2026-11-02T08:00:00Z", "monday-after"),
    ] {
        send(&timed, moment, &customer(name, "shopper"));
    }
    let leads = |week: &str| {
        let figures = figures(&timed.server.store, week);
        figures.leads.into_iter().map(|agent| agent.leads).collect::<Vec<_>>()
    };
    assert_eq!(leads("2026-W43"), [[0, 0, 0, 0, 0, 0, 1]]);
    assert_eq!(leads("2026-W44"), [[1, 0, 0, 0, 0, 1, 2]]);
    assert_eq!(leads("2026-W45"), [[1, 0, 0, 0, 0, 0, 0]]);
    assert_eq!(figures(&timed.server.store, "2026-W46"), WeekFigures::default());
}

#[test]
fn days_of_a_week_are_those_of_the_rooftop() {
    let folder = folder();
    days_are_those_of_the_rooftop(Store::open(folder.path()).unwrap());
}

#[test]
fn days_of_a_week_are_the_same_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    days_are_those_of_the_rooftop(scratch.store());
}

/// Has staff see a lead, and set its stage, some minutes after it arrived.
fn answer(store: &Store, id: &str, seen: i64, answered: i64, stage: StaffStage) {
    let lead = store.lead_history(id).unwrap().unwrap().lead;
    let after = |minutes| lead.received_at + SignedDuration::from_mins(minutes);
    let (seen, answered) = (after(seen), after(answered));
    let work = lead.clone();
    store.write_blocking(move |tx| tx.see_lead(&work, seen)).unwrap();
    let set = move |tx: &tradepost_store::StoreTransaction<'_>| {
        tx.set_stage(&lead, NewStage { stage, lost_reason: None }, "maria", answered)
    };
    assert!(store.write_blocking(set).unwrap());
}

fn work_of_a_week_is_counted(store: Store) {
    let timed = server(store);
    let store = &timed.server.store;
    let minutes = SignedDuration::from_mins;
    // Monday to Wednesday of one week; the last one is sold in the next.
    let mut ids = Vec::new();
    for number in 0..10 {
        let moment = format!("2026-05-04T16:{number:02}:00Z");
        ids.push(send(&timed, &moment, &customer(&format!("c{number}"), "shopper")));
    }
    let booked = with(
        customer("ada", "planner"),
        &[(
            "/appointment",
            json!({"appointment_type": "sales", "appointment_at": "2026-05-08T18:00:00Z"}),
        )],
    );
    let booked = send(&timed, "2026-05-05T16:00:00Z", &booked);
    for (number, id) in ids.iter().enumerate() {
        let waited = i64::try_from(number).unwrap() + 1;
        answer(store, id, waited, waited * 10, StaffStage::Working);
    }
    answer(store, &booked, 60, 60 * 24 * 7, StaffStage::Lost);
    let counts = [("VEHICLE_NOT_FOUND", 3), ("INVALID_CONSENT", 5)].map(|(code, refused)| {
        let hour = at("2026-05-06T16:00:00Z");
        RefusalCount { agent_id: dealer::ID.to_owned(), hour, code: code.to_owned(), refused }
    });
    store.write_blocking(move |tx| tx.keep_refusals(&[], &counts)).unwrap();

    let week = figures(store, "2026-W19");
    let agents: Vec<_> = week.leads.iter().map(|of| (of.agent.as_deref(), of.leads)).collect();
    assert_eq!(
        agents,
        [(Some("shopper"), [10, 0, 0, 0, 0, 0, 0]), (Some("planner"), [0, 1, 0, 0, 0, 0, 0])]
    );
    assert_eq!(week.leads[0].principal, "anonymous");
    assert_eq!(week.unheld, [10, 1, 0, 0, 0, 0, 0]);
    let time = |leads, median, most| WaitingTime {
        leads,
        median: Some(minutes(median)),
        of_90_percent: Some(minutes(most)),
    };
    assert_eq!(week.first_look.days[0], time(10, 5, 9));
    assert_eq!(week.first_look.days[1], time(1, 60, 60));
    assert_eq!(week.first_look.days[2], WaitingTime::default());
    assert_eq!(week.first_look.week, time(11, 6, 10));
    assert_eq!(week.first_answer.days[0], time(10, 50, 90));
    assert_eq!((week.booked, week.moved), ([0, 1, 0, 0, 0, 0, 0], [0; 7]));
    let refused: Vec<_> = week.refusals.iter().map(|of| (of.code.as_str(), of.refused)).collect();
    assert_eq!(
        refused,
        [("INVALID_CONSENT", [0, 0, 5, 0, 0, 0, 0]), ("VEHICLE_NOT_FOUND", [0, 0, 3, 0, 0, 0, 0])]
    );
    assert_eq!((week.lost, week.cancelled), ([0; 7], [0; 7]));
    let next = figures(store, "2026-W20");
    assert_eq!(next.lost, [0, 1, 0, 0, 0, 0, 0], "on the day on which it was marked");
    assert!(next.leads.is_empty() && next.first_answer.week == WaitingTime::default());
}

#[test]
fn the_work_of_a_week_is_counted() {
    let folder = folder();
    work_of_a_week_is_counted(Store::open(folder.path()).unwrap());
}

#[test]
fn the_work_of_a_week_is_counted_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    work_of_a_week_is_counted(scratch.store());
}

#[test]
fn a_week_reads_its_own_rows_by_an_index() {
    let folder = folder();
    let file = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    for (index, table, column) in [
        ("leads_by_dealer", "leads", "received_at"),
        ("lead_events_by_time", "lead_events", "at"),
        ("lead_progress_by_change", "lead_progress", "changed_at"),
    ] {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT count(*) FROM {table}
             WHERE dealer_id = 'acme' AND {column} >= 1 AND {column} < 2"
        );
        let plan: String = file.query_row(&sql, [], |row| row.get("detail")).unwrap();
        assert!(plan.contains(index) && plan.contains(&format!("{column}>")), "{plan}");
    }
}
