//! Changes that are possible in each state of an appointment, and at which times.

use expect_test::expect;
use tradepost_aap::Version;
use tradepost_aap::lead::AppointmentType;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{from_value, json};

use super::*;
use crate::record::{LeadRecord, SubmissionRecord};
use crate::settings::AppointmentPolicy;
use crate::staff::StaffProgress;

const NOW: &str = "2026-04-30T12:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A rooftop that is open from 9 to 19 o'clock every day but Sunday, with slots of half an hour and
/// two places.
fn rooftop() -> RooftopSettings {
    let day = json!({"open": "09:00", "close": "19:00"});
    let week = json!({
        "monday": day, "tuesday": day, "wednesday": day, "thursday": day, "friday": day,
        "saturday": day, "sunday": null,
    });
    let profile = json!({
        "name": "Downtown", "timezone": "America/Los_Angeles",
        "schedules": [{"name": "sales", "value": week}],
    });
    RooftopSettings {
        profile: from_value(profile).unwrap(),
        feed_names: Vec::new(),
        time_zone: TimeZone::get("America/Los_Angeles").unwrap(),
        fees: Vec::new(),
        appointments: AppointmentPolicy { capacity: 2, ..AppointmentPolicy::default() },
    }
}

/// An appointment in a state. Confirmed and formerly confirmed ones are on Friday, May 1 at 11:00.
fn visit(state: AppointmentState) -> Visit {
    let starts_at = match state {
        AppointmentState::Requested | AppointmentState::Proposed | AppointmentState::Rejected => {
            None
        }
        AppointmentState::Confirmed
        | AppointmentState::Superseded
        | AppointmentState::Cancelled
        | AppointmentState::NoShow => Some(at("2026-05-01T18:00:00Z")),
    };
    let appointment = AppointmentRecord {
        appointment_id: "appt_1".into(),
        kind: AppointmentType::TestDrive,
        state,
        requested_at: Some(at("2026-05-01T18:00:00Z")),
        starts_at,
        ends_at: starts_at.map(|start| start + SignedDuration::from_mins(60)),
        proposed: Vec::new(),
        version: 3,
    };
    let lead = LeadRecord {
        lead_id: "lead_1".into(),
        dealer_id: "larkspur".into(),
        received_at: at(NOW),
        changed_at: at(NOW),
        state: LeadState::Received,
        held_for: None,
        person: "lead_1".into(),
        time_zone: Some("America/Los_Angeles".into()),
        appointment: Some(appointment.clone()),
        submission: SubmissionRecord {
            received_at: at(NOW),
            version: Version::V1_1,
            principal: "anonymous".into(),
            address: None,
            payload: json!({"appointment": {"duration_minutes": 45}}),
            unreadable: None,
            rooftop: Some("Downtown".into()),
            listing: None,
            appointment: None,
        },
    };
    Visit {
        appointment,
        rooftop: Some("Downtown".into()),
        department: "sales".into(),
        is_current: true,
        lead,
        progress: StaffProgress::default(),
    }
}

fn wanted(text: &str) -> WantedTime {
    WantedTime::parse(text).unwrap()
}

/// One change of each kind, to a time that is open and free.
fn each_change() -> [AppointmentChange; 4] {
    let to = wanted("2026-05-01T14:00");
    [
        AppointmentChange::Confirm { at: Some(to), minutes: None, outside_hours: false },
        AppointmentChange::Move { to, outside_hours: false },
        AppointmentChange::Cancel,
        AppointmentChange::NoShow,
    ]
}

fn code(outcome: &Result<(), CalendarRefusal>) -> &'static str {
    outcome.as_ref().map_or_else(|refusal| refusal.code().name(), |()| "yes")
}

#[test]
fn what_can_be_done_in_each_state() {
    // After its start, so that it can be a no-show.
    let later = at("2026-05-01T18:10:00Z");
    let mut table = String::from("state        confirm move cancel no_show\n");
    for state in AppointmentState::ALL {
        let codes = each_change().map(|change| code(&check(&change, &visit(*state), None, later)));
        table += &format!("{state:12} {}\n", codes.join(" "));
    }
    expect![[r#"
        state        confirm move cancel no_show
        requested yes wrong_state yes wrong_state
        proposed yes wrong_state yes wrong_state
        confirmed wrong_state yes yes yes
        rejected yes wrong_state wrong_state wrong_state
        superseded wrong_state wrong_state wrong_state wrong_state
        cancelled yes wrong_state wrong_state wrong_state
        no_show yes wrong_state wrong_state wrong_state
    "#]]
    .assert_eq(&table);
}

#[test]
fn what_the_state_of_the_lead_permits() {
    let later = at("2026-05-01T18:10:00Z");
    let mut table = String::from("lead                 confirm move cancel no_show\n");
    let mut row = |name: &str, change_visit: &dyn Fn(&mut Visit)| {
        let codes = each_change().map(|change| {
            let state = match change.kind() {
                ChangeKind::Confirm => AppointmentState::Requested,
                ChangeKind::Move | ChangeKind::Cancel | ChangeKind::NoShow => {
                    AppointmentState::Confirmed
                }
            };
            let mut visit = visit(state);
            change_visit(&mut visit);
            code(&check(&change, &visit, Some(3), later))
        });
        table += &format!("{name:20} {}\n", codes.join(" "));
    };
    for state in LeadState::ALL {
        row(state.name(), &|visit| visit.lead.state = *state);
    }
    for stage in StaffStage::ALL {
        row(stage.name(), &|visit| visit.progress.stage = *stage);
    }
    row("another is current", &|visit| visit.is_current = false);
    row("another version", &|visit| visit.appointment.version = 4);
    expect![[r#"
        lead                 confirm move cancel no_show
        received             yes yes yes yes
        held                 lead_held lead_held lead_held lead_held
        revoked              consent_withdrawn yes yes yes
        erased               lead_erased lead_erased lead_erased lead_erased
        new                  yes yes yes yes
        working              yes yes yes yes
        sold                 yes yes yes yes
        lost                 lead_lost yes yes yes
        another is current   wrong_state wrong_state wrong_state wrong_state
        another version      changed_meanwhile changed_meanwhile changed_meanwhile changed_meanwhile
    "#]]
    .assert_eq(&table);
    let early =
        check(&AppointmentChange::NoShow, &visit(AppointmentState::Confirmed), None, at(NOW));
    assert_eq!(early, Err(CalendarRefusal::NotStarted));
}

#[test]
fn at_which_times_an_appointment_can_be() {
    let taken = |from: &str, until: &str, places| OccupiedPeriod {
        starts_at: at(from),
        ends_at: at(until),
        places,
        held_by: "appt_2".into(),
    };
    // Friday from 15:00 to 16:00 is full, from 16:00 to 17:00 half full, Saturday is blocked.
    let occupied = [
        taken("2026-05-01T22:00:00Z", "2026-05-01T23:00:00Z", Some(2)),
        taken("2026-05-01T23:00:00Z", "2026-05-02T00:00:00Z", Some(1)),
        taken("2026-05-02T07:00:00Z", "2026-05-03T07:00:00Z", None),
    ];
    let rooftop = rooftop();
    let calendar = DepartmentCalendar { rooftop: &rooftop, occupied: &occupied };
    let mut table = String::new();
    for (to, outside_hours) in [
        ("2026-05-01T14:00", false),
        ("2026-05-01T21:00:00Z", false),
        ("2026-05-01T11:00", false),
        ("2026-05-01T11:00", true),
        ("2026-05-01T14:30", false),
        ("2026-05-01T15:00", false),
        ("2026-05-01T15:00", true),
        ("2026-05-01T16:00", false),
        ("2026-05-01T14:10", false),
        ("2026-05-01T13:40", true),
        ("2026-05-01T18:00", false),
        ("2026-05-01T18:30", false),
        ("2026-05-01T20:00", false),
        ("2026-05-01T20:00", true),
        ("2026-05-02T11:00", true),
        ("2026-05-03T11:00", false),
        ("2026-04-30T04:59", true),
        ("2026-04-30T05:00", true),
        ("9999-12-30T11:00", false),
    ] {
        let change = AppointmentChange::Move { to: wanted(to), outside_hours };
        let visit = visit(AppointmentState::Confirmed);
        let start = wanted_start(&change, &visit.appointment, &rooftop.time_zone).unwrap().unwrap();
        let outcome = match booked_at(&change, &visit, start, &calendar, at(NOW)) {
            Ok(booked) => {
                assert_eq!((booked.version, booked.state), (4, AppointmentState::Confirmed));
                format!("until {}", booked.ends_at.unwrap())
            }
            Err(refusal) => {
                let free: Vec<_> = refusal.free().iter().map(ToString::to_string).collect();
                format!("{} {}", refusal.code().name(), free.join(" "))
            }
        };
        let flag = if outside_hours { "anyway" } else { "" };
        table += &format!("{to:20} {flag:6} {outcome}\n");
    }
    expect![[r#"
        2026-05-01T14:00            until 2026-05-01T22:00:00Z
        2026-05-01T21:00:00Z        until 2026-05-01T22:00:00Z
        2026-05-01T11:00            same_time 
        2026-05-01T11:00     anyway same_time 
        2026-05-01T14:30            full 2026-05-01T20:00:00Z 2026-05-01T20:30:00Z 2026-05-01T21:00:00Z
        2026-05-01T15:00            full 2026-05-01T20:30:00Z 2026-05-01T21:00:00Z 2026-05-01T23:00:00Z
        2026-05-01T15:00     anyway full 2026-05-01T20:30:00Z 2026-05-01T21:00:00Z 2026-05-01T23:00:00Z
        2026-05-01T16:00            until 2026-05-02T00:00:00Z
        2026-05-01T14:10            outside_hours 2026-05-01T20:00:00Z 2026-05-01T20:30:00Z 2026-05-01T21:00:00Z
        2026-05-01T13:40     anyway until 2026-05-01T21:40:00Z
        2026-05-01T18:00            until 2026-05-02T02:00:00Z
        2026-05-01T18:30            outside_hours 2026-05-02T00:00:00Z 2026-05-02T00:30:00Z 2026-05-02T01:00:00Z
        2026-05-01T20:00            outside_hours 2026-05-02T00:00:00Z 2026-05-02T00:30:00Z 2026-05-02T01:00:00Z
        2026-05-01T20:00     anyway until 2026-05-02T04:00:00Z
        2026-05-02T11:00     anyway full 2026-05-02T00:00:00Z 2026-05-02T00:30:00Z 2026-05-02T01:00:00Z
        2026-05-03T11:00            outside_hours 2026-05-04T16:00:00Z 2026-05-04T16:30:00Z 2026-05-04T17:00:00Z
        2026-04-30T04:59     anyway in_the_past 
        2026-04-30T05:00     anyway until 2026-04-30T13:00:00Z
        9999-12-30T11:00            outside_hours 9999-12-30T01:00:00Z 9999-12-30T01:30:00Z 9999-12-30T02:00:00Z
    "#]]
    .assert_eq(&table);
    // A requested appointment takes the requested length, in whole slots.
    let asked = visit(AppointmentState::Requested);
    let confirm = AppointmentChange::Confirm { at: None, minutes: None, outside_hours: false };
    let start = wanted_start(&confirm, &asked.appointment, &rooftop.time_zone).unwrap().unwrap();
    let booked = booked_at(&confirm, &asked, start, &calendar, at(NOW)).unwrap();
    assert_eq!(booked.ends_at, Some(at("2026-05-01T19:00:00Z")), "45 minutes are two slots");
}

#[test]
fn what_can_be_blocked() {
    let rooftop = rooftop();
    let taken = OccupiedPeriod {
        starts_at: at("2026-05-01T18:00:00Z"),
        ends_at: at("2026-05-01T18:30:00Z"),
        places: Some(1),
        held_by: "appt_2".into(),
    };
    let calendar = DepartmentCalendar { rooftop: &rooftop, occupied: &[taken] };
    let long = "x".repeat(201);
    for (from, until, places, reason, expected) in [
        ("2026-05-01T09:00", "2026-05-01T11:00", None, "Training", "yes"),
        ("2026-05-01T09:00", "2026-05-01T11:30", None, "Training", "in_the_way"),
        ("2026-05-01T09:00", "2026-05-01T11:30", Some(1), "Training", "yes"),
        ("2026-05-01T09:00", "2026-05-01T11:30", Some(2), "Training", "in_the_way"),
        ("2026-05-01T11:30", "2026-05-08T11:30", None, "Training", "yes"),
        ("2026-05-01T11:30", "2026-05-01T11:30", None, "Training", "unusable_period"),
        ("2026-05-01T11:30", "2026-05-01T11:00", None, "Training", "unusable_period"),
        ("2026-04-29T11:30", "2026-04-29T12:00", None, "Training", "unusable_period"),
        ("2026-05-01T11:30", "2027-05-03T11:30", None, "Training", "unusable_period"),
        ("2026-05-01T12:00", "2026-05-01T13:00", Some(0), "Training", "too_many_places"),
        ("2026-05-01T12:00", "2026-05-01T13:00", Some(3), "Training", "too_many_places"),
        ("2026-05-01T12:00", "2026-05-01T13:00", None, "  ", "unusable_reason"),
        ("2026-05-01T12:00", "2026-05-01T13:00", None, "two\nlines", "unusable_reason"),
        ("2026-05-01T12:00", "2026-05-01T13:00", None, long.as_str(), "unusable_reason"),
    ] {
        let wanted = WantedBlock {
            from: wanted(from),
            until: wanted(until),
            places,
            reason: reason.to_owned(),
        };
        let outcome = block_period(&wanted, &rooftop, at(NOW))
            .and_then(|period| check_block(period, places, &calendar));
        assert_eq!(code(&outcome), expected, "{from} {until} {places:?} {reason}");
    }
}

#[test]
fn times_are_of_the_rooftop_unless_they_have_an_offset() {
    let zone = TimeZone::get("America/Los_Angeles").unwrap();
    for (text, expected) in [
        ("2026-05-01T11:00", Some("2026-05-01T18:00:00Z")),
        ("2026-05-01 11:00", Some("2026-05-01T18:00:00Z")),
        ("2026-05-01T11:00:30", Some("2026-05-01T18:00:30Z")),
        ("2026-05-01T11:00:00+02:00", Some("2026-05-01T09:00:00Z")),
        ("2026-05-01T11:00:00Z", Some("2026-05-01T11:00:00Z")),
        // The clocks skip the first of these times, and show the second twice.
        ("2026-03-08T02:30", Some("2026-03-08T10:30:00Z")),
        ("2026-11-01T01:30", Some("2026-11-01T08:30:00Z")),
        ("2026-05-01T11:00Z", None),
        // An offset needs seconds and a T before it.
        ("2026-05-01T11:00-05:00", None),
        ("2026-05-01T11:00+05:00", None),
        ("2026-05-01T11:00-05", None),
        ("2026-05-01 11:00:00-05:00", None),
        ("2026-05-01", None),
        ("tomorrow", None),
        ("", None),
    ] {
        let resolved = WantedTime::parse(text).and_then(|time| time.resolve(&zone));
        assert_eq!(resolved.map(|at| at.to_string()).as_deref(), expected, "{text}");
    }
}

#[test]
fn every_refusal_has_its_own_code_and_advice() {
    let state = AppointmentState::Confirmed;
    let refusals = [
        CalendarRefusal::NotFound,
        CalendarRefusal::ChangedMeanwhile { state, starts_at: Some(at(NOW)), version: 2 },
        CalendarRefusal::WrongState { change: ChangeKind::Move, state },
        CalendarRefusal::LeadErased,
        CalendarRefusal::LeadHeld,
        CalendarRefusal::LeadLost,
        CalendarRefusal::ConsentWithdrawn,
        CalendarRefusal::NotStarted,
        CalendarRefusal::NoTimeNamed,
        CalendarRefusal::InThePast,
        CalendarRefusal::SameTime,
        CalendarRefusal::OutsideHours { free: Vec::new() },
        CalendarRefusal::Full { free: vec![at(NOW)] },
        CalendarRefusal::UnknownRooftop,
        CalendarRefusal::UnusablePeriod,
        CalendarRefusal::TooManyPlaces { capacity: 2 },
        CalendarRefusal::UnusableReason,
        CalendarRefusal::InTheWay { ids: vec!["appt_1".into()] },
    ];
    let codes: std::collections::BTreeSet<_> =
        refusals.iter().map(|refusal| refusal.code().name()).collect();
    assert_eq!(codes.len(), refusals.len());
    for refusal in refusals {
        let message = refusal.message(&TimeZone::UTC, at(NOW));
        assert!(message.ends_with('.') && message.len() > 20, "{message}");
    }
}
