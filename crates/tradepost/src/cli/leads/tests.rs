//! What people and programs read of leads.

use expect_test::expect;
use serde_json::{Value, json};
use tradepost_wire::aap::Version;

use super::*;
use crate::cli::output::table::Fit;
use crate::store::AppointmentRecord;

fn lead(id: &str, received: &str, payload: Value) -> LeadRecord {
    LeadRecord {
        lead_id: id.into(),
        dealer_id: "larkspur".into(),
        received_at: received.parse().unwrap(),
        duplicate: false,
        version: Version::V1_1,
        principal: "anonymous".into(),
        payload,
        rooftop: None,
        listing: None,
        appointment: None,
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
    lead.appointment = Some(AppointmentRecord {
        appointment_id: "appointment-1".into(),
        kind: "test_drive".into(),
        status: "confirmed".into(),
        requested_at: Some("2026-05-03T18:00:00Z".parse().unwrap()),
        starts_at: Some("2026-05-03T18:00:00Z".parse().unwrap()),
        ends_at: Some("2026-05-03T18:30:00Z".parse().unwrap()),
        proposed: Vec::new(),
    });
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
    lead("lead-2", "2026-05-01T10:15:11Z", payload)
}

#[test]
fn the_table_shows_the_newest_first_and_no_control_characters() {
    let table = text::table(Fit::Unbounded, &[plain(), hostile()]);
    let lines: Vec<_> = table.lines().map(str::trim_end).collect();
    expect![[r#"
        RECEIVED              ID      NAME         VEHICLE          APPOINTMENT                                PERMITTED
        2026-05-01T10:15:11Z  lead-2  [2J=Eve X Y                                                              email
        2026-04-30T10:15:11Z  lead-1  Ada Byron    2023 Honda CR-V  test_drive confirmed 2026-05-03T18:00:00Z  phone, sms"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn the_details_have_everything_and_the_consent_text_as_it_was() {
    let mut again = plain();
    again.duplicate = true;
    again.appointment = None;
    again.listing = Some(json!({"vehicle_id": "fv-77", "year": 2023, "make": "Honda"}));
    expect![[r#"
        lead lead-1
        received: 2026-04-30T10:15:11Z
        dealer: larkspur
        rooftop: -
        sent by: anonymous
        version: 1.1
        appointment: appointment-1
          for: test_drive
          status: confirmed
          requested: 2026-05-03T18:00:00Z
          starts: 2026-05-03T18:00:00Z
          ends: 2026-05-03T18:30:00Z
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

        submitted again lead-1
        received: 2026-04-30T10:15:11Z
        dealer: larkspur
        rooftop: -
        sent by: anonymous
        version: 1.1
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
    .assert_eq(&text::details(&[plain(), again]));
}

#[test]
fn no_lead_can_repaint_the_screen() {
    let shown = text::details(&[hostile()]);
    let kept = |c: char| !c.is_control() || c == '\n';
    assert!(shown.chars().all(kept) && !shown.contains('\u{202e}'), "{shown:?}");
    assert!(shown.contains("consent_text: yes31m\n        no\n"), "{shown}");
    let exported = export::json(&[hostile()]);
    assert!(exported.chars().all(kept) && !exported.contains('\u{202e}'), "{exported:?}");
}

#[test]
fn json_gives_the_payload_back_unchanged() {
    let leads = [plain(), hostile()];
    let read: Value = serde_json::from_str(&export::json(&leads)).unwrap();
    for (index, lead) in leads.iter().enumerate() {
        assert_eq!(read.pointer(&format!("/{index}/payload")), Some(&lead.payload));
    }
    assert_eq!(read.pointer("/0/appointment/starts_at"), Some(&json!("2026-05-03T18:00:00Z")));
    assert_eq!(export::json(&[]), "[]\n");
}

#[test]
fn csv_has_a_header_and_safe_cells() {
    let csv = export::csv(&[plain(), hostile()]).unwrap();
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
    assert!(csv.ends_with(b"\r\n"));
}

#[test]
fn since_takes_dates_and_moments() {
    let text = |text: &str| since(text).map(|moment| moment.to_string());
    assert_eq!(text("2026-05-03").unwrap(), "2026-05-03T00:00:00Z");
    assert_eq!(text("2026-05-03T11:00:00-07:00").unwrap(), "2026-05-03T18:00:00Z");
    assert!(text("yesterday").is_err() && text("2026-02-30").is_err());
}
