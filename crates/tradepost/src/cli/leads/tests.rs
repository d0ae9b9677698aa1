//! Tests of the output about leads for people and programs.

use std::collections::BTreeMap;

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_aap::Version;
use tradepost_aap::lead::AppointmentType;
use tradepost_dealer::record::{
    AppointmentRecord, AppointmentState, HeldFor, LeadEvent, LeadEventKind, LeadState,
    SubmissionRecord,
};
use tradepost_dealer::staff::StaffProgress;
use tradepost_document::json::{Value, json};
use tradepost_store::staff::ListedLead;

use super::*;
use crate::cli::output::table::TableWidth;

const NOW: &str = "2026-05-02T12:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn lead(id: &str, received: &str, payload: Value) -> LeadRecord {
    LeadRecord {
        lead_id: id.into(),
        dealer_id: "larkspur".into(),
        received_at: at(received),
        changed_at: at(received),
        state: LeadState::Received,
        held_for: None,
        person: id.into(),
        time_zone: Some("America/Los_Angeles".into()),
        appointment: None,
        submission: SubmissionRecord {
            received_at: at(received),
            version: Version::V1_1,
            principal: "anonymous".into(),
            address: Some("192.0.2.1".into()),
            payload,
            unreadable: None,
            rooftop: None,
            listing: None,
            appointment: None,
        },
    }
}

fn appointment(id: &str, state: AppointmentState, starts: &str) -> AppointmentRecord {
    AppointmentRecord {
        appointment_id: id.into(),
        kind: AppointmentType::TestDrive,
        state,
        requested_at: Some(at(starts)),
        starts_at: Some(at(starts)),
        ends_at: Some(at(starts) + SignedDuration::from_mins(30)),
        proposed: Vec::new(),
        version: 1,
    }
}

fn plain() -> LeadRecord {
    let payload = json!({
        "customer": {"first_name": "Ada", "last_name": "Byron", "phone": "+14155550123"},
        "vehicle_of_interest": {"year": 2023, "make": "Honda", "model": "CR-V"},
        "consent": {
            "allowed_channels": ["phone", "sms"], "granted_at": "2026-04-30T03:14:00-07:00",
            "consent_text": "Call me,\nor text me.", "scope": ["lead_submission"],
        },
        "source_agent": {"name": "Helper"},
    });
    let mut lead = lead("lead-1", "2026-04-30T10:15:11Z", payload);
    let booked = appointment("appointment-1", AppointmentState::Confirmed, "2026-05-03T18:00:00Z");
    lead.submission.appointment = Some(booked.clone());
    lead.appointment = Some(booked);
    lead
}

fn hostile() -> LeadRecord {
    let payload = json!({
        "customer": {
            "first_name": "\u{1b}[2J=Eve", "last_name": "\u{202e}X\nY",
            "email": "eve@example.com",
        },
        "consent": {"allowed_channels": ["email"], "consent_text": "yes\u{9b}31m\r\n  no"},
        "message": "=HYPERLINK(\"https://example.com\")",
        "source_agent": "Helper",
    });
    let mut lead = lead("lead-2", "2025-12-31T10:15:11Z", payload);
    lead.state = LeadState::Held;
    lead.held_for = Some(HeldFor::Velocity);
    lead.person = "lead-1".into();
    lead.time_zone = None;
    lead
}

/// Returns a lead as it is listed, with the work of staff on it.
fn listed(lead: LeadRecord) -> ListedLead {
    ListedLead { seq: 1, lead, progress: StaffProgress::default() }
}

/// Returns the history of a lead without further events.
fn unchanged(lead: LeadRecord) -> LeadHistory {
    let event = LeadEvent {
        seq: 1,
        at: lead.received_at,
        kind: LeadEventKind::Received,
        state: lead.state,
        appointment: lead.appointment.clone(),
        submission: 0,
    };
    let submissions = vec![lead.submission.clone()];
    LeadHistory {
        lead,
        submissions,
        events: vec![event],
        same_person: Vec::new(),
        consents: Vec::new(),
        delivered_at: None,
        progress: StaffProgress::default(),
    }
}

/// Returns the plain lead after its appointment was moved.
fn moved() -> LeadHistory {
    let mut history = unchanged(plain());
    let mut again = history.lead.submission.clone();
    again.received_at = at("2026-05-01T10:15:11Z");
    again.listing = Some(json!({"vehicle_id": "fv-77", "year": 2023, "make": "Honda"}));
    let booked = appointment("appointment-2", AppointmentState::Confirmed, "2027-01-04T19:00:00Z");
    again.appointment = Some(booked.clone());
    if let Some(first) = &mut history.submissions[0].appointment {
        first.state = AppointmentState::Superseded;
    }
    history.events.push(LeadEvent {
        seq: 4,
        at: again.received_at,
        kind: LeadEventKind::Resubmitted,
        appointment: Some(booked.clone()),
        submission: 1,
        ..history.events[0].clone()
    });
    history.lead.changed_at = again.received_at;
    history.lead.appointment = Some(booked);
    history.lead.submission = again.clone();
    history.submissions.push(again);
    history.same_person = vec!["lead-2".to_owned()];
    history
}

fn now(leads: &[LeadRecord]) -> Vec<ExportedLead> {
    leads.iter().map(|lead| ExportedLead::from_history(unchanged(lead.clone()), None)).collect()
}

#[test]
fn the_table_shows_the_newest_first_and_no_control_characters() {
    let other = LeadRecord { dealer_id: "bravo".into(), ..plain() };
    let table = text::table(
        TableWidth::Unbounded,
        &[listed(plain()), listed(other)],
        &BTreeMap::new(),
        at(NOW),
    );
    assert!(table.contains("DEALER") && table.contains("bravo"), "{table}");
    assert!(
        !text::table(TableWidth::Unbounded, &[listed(plain())], &BTreeMap::new(), at(NOW))
            .contains("SAME PERSON")
    );
    let table = text::table(
        TableWidth::Unbounded,
        &[listed(hostile()), listed(plain())],
        &BTreeMap::new(),
        at(NOW),
    );
    assert!(!table.contains("DEALER"), "{table}");
    let lines: Vec<_> = table.lines().map(str::trim_end).collect();
    expect![[r#"
        RECEIVED                    ID      STATE           NAME         TELEPHONE     E-MAIL           VEHICLE          APPOINTMENT                               PERMITTED   SAME PERSON
        Apr 30, 3:15 AM PDT         lead-1  received        Ada Byron    +14155550123                   2023 Honda CR-V  test_drive confirmed May 3, 11:00 AM PDT  phone, sms  lead-1
        Dec 31, 2025, 10:15 AM UTC  lead-2  held: velocity  [2J=Eve X Y                eve@example.com                                                             email       lead-1"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn the_details_have_everything_and_the_unchanged_consent_text() {
    expect![[r#"
        lead lead-1
        state: received
        received: Apr 30, 3:15 AM PDT
        changed: May 1, 3:15 AM PDT
        dealer: larkspur
        rooftop: -
        stage: new
        probably the same person as in: lead-2
        appointment: appointment-2
          for: test_drive
          status: confirmed
          requested: Jan 4, 2027, 11:00 AM PST
          starts: Jan 4, 2027, 11:00 AM PST
          ends: Jan 4, 2027, 11:30 AM PST
        history
          Apr 30, 3:15 AM PDT: received; test_drive confirmed May 3, 11:00 AM PDT
          May 1, 3:15 AM PDT: resubmitted; test_drive confirmed Jan 4, 2027, 11:00 AM PST

        submission 1
        received: Apr 30, 3:15 AM PDT
        sent by: anonymous
        from: 192.0.2.1
        version: 1.1
        asked for: appointment-1
          for: test_drive
          status: superseded
          requested: May 3, 11:00 AM PDT
          starts: May 3, 11:00 AM PDT
          ends: May 3, 11:30 AM PDT
        payload
          customer
            first_name: Ada
            last_name: Byron
            phone: +14155550123
          vehicle_of_interest
            year: 2023
            make: Honda
            model: CR-V
          consent
            allowed_channels
              -: phone
              -: sms
            granted_at: 2026-04-30T03:14:00-07:00
            consent_text: Call me,
              or text me.
            scope
              -: lead_submission
          source_agent
            name: Helper

        submission 2
        received: May 1, 3:15 AM PDT
        sent by: anonymous
        from: 192.0.2.1
        version: 1.1
        asked for: appointment-2
          for: test_drive
          status: confirmed
          requested: Jan 4, 2027, 11:00 AM PST
          starts: Jan 4, 2027, 11:00 AM PST
          ends: Jan 4, 2027, 11:30 AM PST
        listing: 2023 Honda CR-V
          vehicle_id: fv-77
          year: 2023
          make: Honda
        payload
          customer
            first_name: Ada
            last_name: Byron
            phone: +14155550123
          vehicle_of_interest
            year: 2023
            make: Honda
            model: CR-V
          consent
            allowed_channels
              -: phone
              -: sms
            granted_at: 2026-04-30T03:14:00-07:00
            consent_text: Call me,
              or text me.
            scope
              -: lead_submission
          source_agent
            name: Helper
    "#]]
    .assert_eq(&text::details(&moved(), at(NOW)));
}

#[test]
fn a_lead_is_exported_now_and_after_each_change() {
    let shown = |entries: &[ExportedLead]| {
        let status = |entry: &ExportedLead| entry.prospect().is_resent;
        let resent: Vec<_> = entries.iter().map(status).collect();
        let read: Value = tradepost_document::json::from_str(&export::json(entries)).unwrap();
        let of = |entry: &Value| {
            let pointers = [
                "/event/event",
                "/event/seq",
                "/appointment/appointment_id",
                "/appointment/status",
                "/listing/vehicle_id",
            ];
            pointers.map(|pointer| entry.pointer(pointer).cloned().unwrap_or_default())
        };
        let read: Vec<_> = read.as_array().unwrap().iter().map(of).collect();
        (resent, json!(read))
    };
    let first = json!(["received", 1, "appointment-1", "confirmed", null]);
    let second = json!(["resubmitted", 4, "appointment-2", "confirmed", "fv-77"]);
    let before = Some(at("2026-04-30T00:00:00Z"));
    let between = Some(at("2026-05-01T00:00:00Z"));
    for (since, resent) in [(None, true), (before, false), (between, true)] {
        let entry = ExportedLead::from_history(moved(), since);
        assert_eq!(shown(&[entry]), (vec![resent], json!([second])), "{since:?}");
    }
    let changes = |since| shown(&ExportedLead::from_history(moved(), since).changes(since));
    assert_eq!(changes(None), (vec![false, true], json!([first, second])));
    assert_eq!(changes(before), (vec![false, true], json!([first, second])));
    assert_eq!(changes(between), (vec![true], json!([second])));
    assert!(!ExportedLead::from_history(unchanged(plain()), None).prospect().is_resent);
}

#[test]
fn no_lead_can_repaint_the_screen() {
    let shown = text::details(&unchanged(hostile()), at(NOW));
    let kept = |c: char| !c.is_control() || c == '\n';
    assert!(shown.chars().all(kept) && !shown.contains('\u{202e}'), "{shown:?}");
    assert!(shown.contains("consent_text: yes31m\n        no\n"), "{shown}");
    let exported = export::json(&now(&[hostile()]));
    assert!(exported.chars().all(kept) && !exported.contains('\u{202e}'), "{exported:?}");
}

#[test]
fn json_gives_the_payload_back_unchanged() {
    let leads = [plain(), hostile()];
    let read: Value = tradepost_document::json::from_str(&export::json(&now(&leads))).unwrap();
    for (index, lead) in leads.iter().enumerate() {
        assert_eq!(read.pointer(&format!("/{index}/payload")), Some(&lead.submission.payload));
    }
    assert_eq!(read.pointer("/0/appointment/starts_at"), Some(&json!("2026-05-03T18:00:00Z")));
    assert_eq!(export::json(&[]), "[]\n");
}

#[test]
fn csv_has_a_header_and_safe_cells() {
    let csv = export::csv(&now(&[plain(), hostile()])).unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_slice());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        let column = header.iter().position(|column| column == name).unwrap();
        rows[row][column].to_owned()
    };
    assert_eq!(rows.len(), 2);
    assert_eq!(cell(0, "phone"), "+14155550123");
    assert_eq!(cell(0, "allowed_channels"), "phone sms");
    assert_eq!(cell(0, "consent_text"), "Call me,\nor text me.");
    assert_eq!(cell(0, "appointment_status"), "confirmed");
    assert_eq!(cell(0, "make"), "Honda");
    assert_eq!(cell(1, "first_name"), "[2J=Eve");
    assert_eq!(cell(1, "message"), "'=HYPERLINK(\"https://example.com\")");
    assert_eq!(cell(1, "source_agent"), "Helper");
    assert_eq!([cell(0, "lead_state"), cell(0, "held_for")], ["received", ""]);
    assert_eq!([cell(1, "lead_state"), cell(1, "held_for")], ["held", "velocity"]);
    assert_eq!([cell(1, "person"), cell(1, "caller_address")], ["lead-1", "192.0.2.1"]);
    assert!(csv.ends_with(b"\r\n"));
}

#[test]
fn since_takes_dates_and_moments() {
    let text = |text: &str| since(text).map(|moment| moment.to_string());
    assert_eq!(text("2026-05-03").unwrap(), "2026-05-03T00:00:00Z");
    assert_eq!(text("2026-05-03T11:00:00-07:00").unwrap(), "2026-05-03T18:00:00Z");
    assert!(text("yesterday").is_err() && text("2026-02-30").is_err());
}
