//! Contents of an older database after the migration.

use jiff::Timestamp;
use rusqlite::Connection;
use tradepost_dealer::delivery::{DeliverySource, NewDelivery};
use tradepost_dealer::lead_store::{LeadStore as _, RepeatCriteria, ScopedKey};
use tradepost_dealer::record::{AppointmentState, LeadEventKind, LeadState};
use tradepost_dealer::staff::StaffStage;
use tradepost_document::json::json;

use super::*;
use crate::sqlite::Schema;
use crate::sqlite::schema::steps::LEAD_WORK;
use crate::sqlite::schema::{self, MIGRATIONS};
use crate::staff::{LeadCursor, LeadFilter, OwnerFilter, WaitingFor};

/// Number of migrations when a lead was the list of its submissions.
const EARLIER_MIGRATIONS: usize = 5;

fn old(path: &std::path::Path) {
    let database = Connection::open(path).unwrap();
    MIGRATIONS[..EARLIER_MIGRATIONS].iter().for_each(|step| database.execute_batch(step).unwrap());
    database.pragma_update(None, "user_version", EARLIER_MIGRATIONS as i64).unwrap();
    let payload = |email: &str, agent: tradepost_document::json::Value, key: &str| {
        let customer = json!({"email": email, "phone": "+14155550101"});
        json!({"customer": customer, "source_agent": agent, "idempotency_key": key}).to_string()
    };
    let ada = payload("ADA@example.com", json!({"name": "helper"}), "k-1");
    let again = payload("ada@example.com", json!("helper of v1.0"), "k-2");
    let grace = json!({"customer": {"email": "grace@example.com"}}).to_string();
    // A lead that was proposed a time and then booked one; one of a named caller, which has booked a time and then
    // asked for another in vain; and one of probably the same person as the first.
    database
        .execute_batch(&format!(
            "INSERT INTO leads VALUES
                 (1, 'lead_1', 'd', 1000, 0, '1.1', 'anonymous', '{ada}', 'Downtown', NULL),
                 (2, 'lead_2', 'd', 1500, 0, '1.1', 'acme', '{grace}', 'Downtown', '{{\"vin\": 1}}'),
                 (3, 'lead_1', 'd', 2000, 1, '1.0', 'anonymous', '{again}', 'Downtown', NULL),
                 (4, 'lead_2', 'd', 2500, 1, '1.1', 'acme', '{grace}', 'Downtown', NULL),
                 (5, 'lead_3', 'd', 3000, 0, '1.1', 'anonymous', '{ada}', NULL, NULL);
             INSERT INTO appointments VALUES
                 ('appt_1', 1, 'd', 'Downtown', 'sales', 'sales', 'proposed', 9, NULL, NULL, '[10, 20]'),
                 ('appt_2', 2, 'd', 'Downtown', 'sales', 'test_drive', 'confirmed', 10, 10, 20, '[]'),
                 ('appt_3', 3, 'd', 'Downtown', 'sales', 'sales', 'confirmed', 20, 20, 30, '[]'),
                 ('appt_4', 4, 'd', 'Downtown', 'sales', 'test_drive', 'proposed', 20, NULL, NULL, '[40]');
             INSERT INTO lead_subjects VALUES
                 ('d', 'email:ada@example.com', 'anonymous' || char(10) || 'vin:1' || char(10) || 'sales', 1000, 'lead_1'),
                 ('d', 'phone:+14155550101', 'anonymous' || char(10) || 'vin:1' || char(10) || 'sales', 1000, 'lead_1'),
                 ('d', 'phone:+14155550101', 'anonymous' || char(10) || char(10), 3000, 'lead_3'),
                 ('d', 'email:grace@example.com', 'acme' || char(10) || 'vin:2' || char(10) || 'test_drive', 1500, 'lead_2');
             INSERT INTO idempotency_keys VALUES
                 ('d', 'anonymous', 'k-1', x'01', '[{{\"lead_id\": \"lead_1\"}}, \"\"]', 1000),
                 ('d', 'anonymous', 'k-2', x'02', '[{{\"lead_id\": \"lead_1\"}}, \"\"]', 2000),
                 ('d', 'acme', 'k-1', x'03', '[{{\"lead_id\": \"lead_2\"}}, \"\"]', 1500);"
        ))
        .unwrap();
}

fn open(path: &std::path::Path) -> Database {
    let link = crate::sql::SqlBackend::Sqlite(schema::open(path, Schema::Migrate).unwrap());
    Database(crate::sql::Connection::new(link, std::sync::Arc::default()))
}

#[test]
fn what_was_there_stays_and_has_one_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    old(&path);
    let database = open(&path);
    let shown: Vec<_> = database
        .leads(None)
        .unwrap()
        .into_iter()
        .map(|lead| {
            let current = lead.appointment.as_ref();
            assert_eq!((lead.state, lead.held_for), (LeadState::Received, None));
            (
                lead.lead_id,
                lead.received_at.as_millisecond(),
                lead.changed_at.as_millisecond(),
                lead.person,
                current.map(|current| (current.appointment_id.clone(), current.state)),
            )
        })
        .collect();
    let confirmed = |id: &str| Some((id.to_owned(), AppointmentState::Confirmed));
    let row = |id: &str, received, changed, person: &str, current| {
        (id.to_owned(), received, changed, person.to_owned(), current)
    };
    assert_eq!(
        shown,
        [
            row("lead_3", 3000, 3000, "lead_1", None),
            row("lead_2", 1500, 2500, "lead_2", confirmed("appt_2")),
            row("lead_1", 1000, 2000, "lead_1", confirmed("appt_3")),
        ]
    );
    let history = database.lead_history("lead_1").unwrap().unwrap();
    assert_eq!(history.submissions.len(), 2);
    assert_eq!(history.lead.submission.payload["source_agent"], "helper of v1.0");
    assert_eq!(history.same_person, ["lead_3"]);
    let events: Vec<_> = history
        .events
        .iter()
        .map(|event| {
            (event.seq, event.kind, event.submission, event.appointment.clone().unwrap().state)
        })
        .collect();
    assert_eq!(
        events,
        [
            (1, LeadEventKind::Received, 0, AppointmentState::Proposed),
            (3, LeadEventKind::Resubmitted, 1, AppointmentState::Confirmed),
        ]
    );
    let second = database.lead_history("lead_2").unwrap().unwrap().lead;
    assert_eq!(second.asked_besides().unwrap().appointment_id, "appt_4");
    assert!(database.lead_history("lead_9").unwrap().is_none());
}

#[test]
fn keys_and_equivalent_leads_stay_known_to_identifiable_callers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    old(&path);
    let database = open(&path);
    let since = Timestamp::UNIX_EPOCH;
    database
        .transaction(|tx| {
            for (scope, key, hash) in [
                ("agent:helper\nemail:ada@example.com", "k-1", Some(1)),
                ("agent:helper\nphone:+14155550101", "k-1", Some(1)),
                ("agent:helper of v1.0\nemail:ada@example.com", "k-2", Some(2)),
                ("agent:helper\nemail:ada@example.com", "k-2", None),
                ("caller:acme", "k-1", Some(3)),
                ("caller:acme", "k-2", None),
                ("anonymous", "k-1", None),
            ] {
                let scopes = [scope.to_owned()];
                let claim = ScopedKey { dealer_id: "d", scopes: &scopes, key, since };
                let replies = tx.claimed_replies(&claim)?;
                let found = replies.first().map(|reply| reply.payload_hash[0]);
                assert_eq!(found, hash, "{scope} {key}");
            }
            for (proof, contact, subject, expected) in [
                ("caller:acme", "email:grace@example.com", "vin:2\ntest_drive", Some("lead_2")),
                ("caller:anonymous", "email:ada@example.com", "vin:1\nsales", None),
            ] {
                let proofs = [proof.to_owned()];
                let contacts = [contact.to_owned()];
                let proofs = proofs.as_slice();
                let contacts = contacts.as_slice();
                let known = RepeatCriteria { dealer_id: "d", proofs, contacts, subject, since };
                let found = tx.known_lead(&known)?.map(|lead| lead.lead_id);
                assert_eq!(found.as_deref(), expected, "{proof}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_dealer_is_told_from_when_it_names_a_destination() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    old(&path);
    let database = open(&path);
    let unplanned = |dealer: &str| database.unplanned_events(dealer, 10).unwrap();
    let place = |has_destinations| {
        database.transaction(|tx| tx.place_deliveries("d", has_destinations)).unwrap();
    };
    assert_eq!(unplanned("d"), [], "without a place nothing is to be told");
    place(true);
    assert_eq!(unplanned("d"), [], "the past is not told");
    let withdraw = |lead_id: &str| {
        let now = moment(9_000).unwrap();
        assert!(database.transaction(|tx| tx.revoke_consent(lead_id, now)).unwrap());
    };
    withdraw("lead_1");
    assert_eq!(unplanned("d"), [(6, "lead_1".to_owned())]);
    assert_eq!(unplanned("e"), []);
    place(true);
    assert_eq!(unplanned("d").len(), 1, "a place is kept");
    let plan = |event| {
        let now = moment(9_500).unwrap();
        let planned = NewDelivery {
            dealer_id: "d".into(),
            lead_id: "lead_1".into(),
            destination: "crm".into(),
            event,
        };
        database
            .transaction(|tx| tx.plan_deliveries("d", event, std::slice::from_ref(&planned), now))
            .unwrap();
    };
    plan(6);
    plan(6);
    assert_eq!(unplanned("d"), []);
    assert_eq!(
        database.deliveries(DeliverySource::Lead, None, None, None).unwrap().len(),
        1,
        "planned once"
    );
    withdraw("lead_2");
    place(false);
    place(true);
    assert_eq!(unplanned("d"), [], "what came while there was none is the past, too");
}

#[test]
fn processes_that_overlap_plan_each_delivery_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    old(&path);
    let database = open(&path);
    let now = moment(9_000).unwrap();
    database.transaction(|tx| tx.place_deliveries("d", true)).unwrap();
    for lead_id in ["lead_1", "lead_2"] {
        assert!(database.transaction(|tx| tx.revoke_consent(lead_id, now)).unwrap());
    }
    let delivery = |(event, lead_id): &(i64, String)| NewDelivery {
        dealer_id: "d".into(),
        lead_id: lead_id.clone(),
        destination: "crm".into(),
        event: *event,
    };
    let seen = database.unplanned_events("d", 10).unwrap();
    let all: Vec<NewDelivery> = seen.iter().map(delivery).collect();
    let [first, last] = all.as_slice() else { panic!("{all:?}") };
    let plan = |event: i64, planned: &[NewDelivery]| {
        database.transaction(|tx| tx.plan_deliveries("d", event, planned, now)).unwrap();
    };
    // One process has seen the first event alone, another one both, before either has planned.
    plan(first.event, std::slice::from_ref(first));
    plan(last.event, &all);
    let deliveries = database.deliveries(DeliverySource::Lead, None, None, None).unwrap();
    assert_eq!(deliveries.len(), 2, "{deliveries:?}");
}

#[test]
fn look_ups_for_each_lead_read_by_a_whole_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    schema::open(&path, Schema::Migrate).unwrap();
    let database = Connection::open(path).unwrap();
    for (sql, key) in [
        (storing::CLAIMED_REPLY, "scope=? AND key=?"),
        (storing::PERSON, "contact=?"),
        (storing::TALLIED, "subject=?"),
        (storing::KNOWN_LEAD, "proof=? AND contact=? AND subject=? AND received_at>?"),
    ] {
        let mut plan = database.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let values = vec![rusqlite::types::Null; plan.parameter_count()];
        let steps = plan.query_map(rusqlite::params_from_iter(values), |row| row.get(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        let (searches, others): (Vec<_>, Vec<_>) =
            steps.iter().partition(|step| step.starts_with("SEARCH") || step.starts_with("SCAN"));
        assert!(!searches.is_empty(), "{others:?}");
        // The rows found are counted by a scan.
        for search in searches.into_iter().filter(|search| *search != "SCAN counted") {
            assert!(
                search.ends_with(&format!("USING PRIMARY KEY (dealer_id=? AND {key})")),
                "{search}"
            );
        }
    }
}

#[test]
fn a_search_says_when_older_leads_were_not_searched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    old(&path);
    let database = open(&path);
    let filter = LeadFilter { limit: 50, ..LeadFilter::default() };
    // The latest first: lead_3, lead_2 and lead_1.
    for (text, most_searched, expected, is_cut) in [
        ("grace@example.com", 1, vec![], true),
        ("grace@example.com", 2, vec!["lead_2"], true),
        ("grace@example.com", 3, vec!["lead_2"], false),
        ("(415) 555-0101", 3, vec!["lead_3", "lead_1"], false),
        (" - ", 3, vec![], false),
        // Ids are random, and a few characters of one are a chance.
        ("lead_2", 3, vec![], false),
    ] {
        let found = database.find_leads(&filter, text, most_searched).unwrap();
        let ids: Vec<&str> = found.leads.iter().map(|one| one.lead.lead_id.as_str()).collect();
        assert_eq!((ids, found.is_cut), (expected, is_cut), "{text} {most_searched}");
    }
}

#[test]
fn stages_and_places_of_older_leads_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let before = MIGRATIONS.iter().position(|step| *step == LEAD_WORK).unwrap();
    let file = Connection::open(&path).unwrap();
    MIGRATIONS[..before].iter().for_each(|step| file.execute_batch(step).unwrap());
    file.pragma_update(None, "user_version", before as i64).unwrap();
    for (number, listing, stage) in [
        (1, "'{\"vehicle_id\": \"fv-77\"}'", Some("sold")),
        (2, "NULL", Some("lost")),
        (3, "NULL", None),
    ] {
        file.execute_batch(&format!(
            "INSERT INTO lead_submissions (seq, lead_id, dealer_id, received_at, duplicate, version,
                 principal, payload, rooftop, listing)
             VALUES ({number}, 'lead_{number}', 'd', {number}, 0, '1.1', 'anonymous', '{{}}',
                 'Downtown École', {listing});
             INSERT INTO leads (lead_id, dealer_id, received_at, changed_at, state, person, submission)
             VALUES ('lead_{number}', 'd', {number}, {number}, 'received', 'p', {number});"
        ))
        .unwrap();
        if let Some(stage) = stage {
            file.execute_batch(&format!(
                "INSERT INTO lead_progress (lead_id, dealer_id, stage, changed_at, changed_by)
                 VALUES ('lead_{number}', 'd', '{stage}', 9, 'dora');"
            ))
            .unwrap();
        }
    }
    drop(file);
    let database = open(&path);
    let filter = LeadFilter { limit: 9, oldest_first: true, ..LeadFilter::default() };
    let listed = database.lead_list(&filter).unwrap();
    let stages: Vec<_> = listed
        .iter()
        .map(|one| (one.progress.stage, one.progress.changed.is_some(), one.progress.lost_reason))
        .collect();
    let expected = [
        (StaffStage::Sold, true, None),
        (StaffStage::Lost, true, None),
        (StaffStage::New, false, None),
    ];
    assert_eq!(stages, expected);
    let ids = |filter: LeadFilter<'_>| database.lead_ids(&filter).unwrap();
    assert_eq!(ids(LeadFilter { vehicle_id: Some("fv-77"), ..filter }), ["lead_1"]);
    assert_eq!(ids(LeadFilter { rooftop: Some("DOWNTOWN ÉCOLE"), ..filter }).len(), 3);
}

#[test]
fn every_list_of_leads_is_read_from_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let file = schema::open(&folder.path().join("database"), Schema::Migrate).unwrap();
    let cursor = LeadCursor { received_at: Timestamp::UNIX_EPOCH, seq: 1 };
    let any = LeadFilter { limit: 9, after: Some(cursor), ..LeadFilter::default() };
    let of = LeadFilter { dealer_id: Some("d"), ..any };
    for (filter, index) in [
        (any, "leads_by_time"),
        (of, "leads_by_dealer"),
        (LeadFilter { stage: Some(StaffStage::Sold), ..of }, "leads_by_stage"),
        (
            LeadFilter { state: Some(LeadState::Received), stage: Some(StaffStage::Sold), ..of },
            "leads_by_stage",
        ),
        (LeadFilter { owner: Some(OwnerFilter::Member("dora")), ..of }, "leads_by_owner"),
        (LeadFilter { owner: Some(OwnerFilter::Nobody), ..of }, "leads_by_owner"),
        (LeadFilter { agent: Some("Buyer"), ..of }, "leads_by_agent"),
        (LeadFilter { rooftop: Some("Downtown"), ..of }, "leads_by_rooftop"),
        (LeadFilter { vehicle_id: Some("fv-77"), ..of }, "leads_by_vehicle"),
        (LeadFilter { waiting: Some(WaitingFor::Anything), ..of }, "leads_to_do"),
        (LeadFilter { waiting: Some(WaitingFor::Answer), ..of }, "leads_to_do"),
    ] {
        for oldest_first in [false, true] {
            let filter = LeadFilter { oldest_first, ..filter };
            let sql = listing::page(&filter, &crate::privacy::ColumnCipher::default()).sql;
            let mut plan = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let values = vec![None::<i64>; plan.parameter_count()];
            let values = rusqlite::params_from_iter(values);
            let rows = plan.query_map(values, |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<_> = rows.map(Result::unwrap).collect();
            assert!(steps.iter().any(|step| step.contains(index)), "{index}: {steps:?}");
        }
    }
}
