//! Appointments in the rooftop's own time (`R-LD-21` to `R-LD-24`, C-20), across the days on which
//! its clocks change.

use jiff::tz::TimeZone;
use tradepost_aap::lead::{AppointmentRequest, AppointmentType};
use tradepost_dealer::appointment::{AppointmentDecision, decide, has_room};
use tradepost_dealer::calendar::{OccupiedPeriod, TimePeriod};
use tradepost_dealer::settings::RooftopSettings;

use crate::support::{at, dealer};

fn rooftop() -> RooftopSettings {
    dealer::config().dealers.remove(0).terms.rooftops.remove(0)
}

fn request(start: &str) -> AppointmentRequest {
    AppointmentRequest {
        kind: AppointmentType::Sales,
        at: Some(at(start)),
        duration_minutes: None,
        notes: None,
    }
}

/// One appointment, from a moment to another.
fn taken(from: &str, to: &str) -> OccupiedPeriod {
    let starts_at = at(from);
    let ends_at = at(to);
    OccupiedPeriod { starts_at, ends_at, places: Some(1), held_by: "appt_1".to_owned() }
}

fn confirmed(decision: AppointmentDecision) -> Option<TimePeriod> {
    match decision {
        AppointmentDecision::Confirmed(period) => Some(period),
        AppointmentDecision::Proposed(_)
        | AppointmentDecision::Requested
        | AppointmentDecision::Rejected => None,
    }
}

fn proposed(decision: AppointmentDecision) -> Vec<String> {
    match decision {
        AppointmentDecision::Proposed(times) => times.iter().map(ToString::to_string).collect(),
        other @ (AppointmentDecision::Confirmed(_)
        | AppointmentDecision::Requested
        | AppointmentDecision::Rejected) => {
            panic!("{other:?}")
        }
    }
}

#[test]
fn what_fits_into_the_opening_hours_is_confirmed() {
    let now = at("2026-04-30T12:00:00Z");
    // Friday, 9:00 to 19:00 in California, seven hours behind.
    for (start, fits) in [
        ("2026-05-01T16:00:00Z", true),
        ("2026-05-01T15:59:00Z", false),
        ("2026-05-02T01:30:00Z", true),
        ("2026-05-02T01:31:00Z", false),
        // Inside the notice, in the past, on a closed day, beyond the horizon.
        ("2026-04-30T13:59:00Z", false),
        ("2026-04-29T18:00:00Z", false),
        ("2026-05-25T18:00:00Z", false),
        ("2026-05-29T18:00:00Z", false),
    ] {
        let decision = decide(&rooftop(), &request(start), now, &[], 3);
        assert_eq!(confirmed(decision).is_some(), fits, "{start}");
    }
}

#[test]
fn an_appointment_takes_whole_slots_from_the_opening_on() {
    let now = at("2026-04-30T12:00:00Z");
    let ask = |start: &str, minutes: u32| {
        let request = AppointmentRequest { duration_minutes: Some(minutes), ..request(start) };
        decide(&rooftop(), &request, now, &[], 1)
    };
    // Half hours from 9:00 on.
    for (start, nearest) in [
        ("2026-05-01T18:07:31Z", "2026-05-01T18:00:00Z"),
        ("2026-05-01T18:00:01Z", "2026-05-01T18:00:00Z"),
        ("2026-05-01T18:20:00Z", "2026-05-01T18:30:00Z"),
    ] {
        assert_eq!(proposed(ask(start, 30)), [nearest], "{start}");
    }
    for (minutes, end) in [(15, "18:30"), (30, "18:30"), (31, "19:00"), (45, "19:00")] {
        let start = "2026-05-01T18:00:00Z";
        let period = TimePeriod { start: at(start), end: at(&format!("2026-05-01T{end}:00Z")) };
        assert_eq!(confirmed(ask(start, minutes)), Some(period), "{minutes}");
    }
    // The last slot of the day has room for one, whatever is said of its length.
    assert!(confirmed(ask("2026-05-02T01:30:00Z", 30)).is_some());
    assert!(confirmed(ask("2026-05-02T01:30:00Z", 31)).is_none());
}

#[test]
fn opening_hours_move_with_the_clocks() {
    // In 2026 California changes to summer time on March 8 and back on November 1, both Sundays,
    // with hours from 11:00 to 16:00.
    for (now, first, last) in [
        ("2026-03-01T20:00:00Z", "2026-03-08T18:00:00Z", "2026-03-08T22:30:00Z"),
        ("2026-10-25T20:00:00Z", "2026-11-01T19:00:00Z", "2026-11-01T23:30:00Z"),
    ] {
        let minute = jiff::SignedDuration::from_mins(1);
        for (start, fits) in [
            (at(first), true),
            (at(first) - minute, false),
            (at(last), true),
            (at(last) + minute, false),
        ] {
            let decision = decide(&rooftop(), &request(&start.to_string()), at(now), &[], 3);
            assert_eq!(confirmed(decision).is_some(), fits, "{start}");
        }
    }
}

#[test]
fn an_opening_time_that_clocks_skip_is_as_much_later() {
    let mut night = rooftop();
    night.profile.schedules.iter_mut().for_each(|schedule| {
        let hours = schedule.value.sunday.as_mut();
        hours.into_iter().for_each(|hours| hours.open = "02:30".to_owned());
    });
    // 2:30 does not exist on March 8; the clocks show 3:30 instead, at 10:30 UTC.
    let now = at("2026-03-07T00:00:00Z");
    let decision = decide(&night, &request("2026-03-08T10:30:00Z"), now, &[], 3);
    assert!(confirmed(decision).is_some());
    let decision = decide(&night, &request("2026-03-08T10:00:00Z"), now, &[], 1);
    assert_eq!(proposed(decision), ["2026-03-08T10:30:00Z"]);
}

#[test]
fn the_nearest_free_times_are_proposed_in_order() {
    let now = at("2026-04-30T12:00:00Z");
    // Friday 8:00: before opening.
    let decision = decide(&rooftop(), &request("2026-05-01T15:00:00Z"), now, &[], 3);
    assert_eq!(
        proposed(decision),
        ["2026-05-01T16:00:00Z", "2026-05-01T16:30:00Z", "2026-05-01T17:00:00Z"]
    );
    // The middle of a day of which an hour is taken: what is on either side.
    let hour = taken("2026-05-01T20:00:00Z", "2026-05-01T21:00:00Z");
    let hours = [hour.clone(), hour];
    let decision = decide(&rooftop(), &request("2026-05-01T20:15:00Z"), now, &hours, 3);
    assert_eq!(
        proposed(decision),
        ["2026-05-01T19:00:00Z", "2026-05-01T19:30:00Z", "2026-05-01T21:00:00Z"]
    );
}

#[test]
fn capacity_counts_what_runs_at_the_same_moment() {
    let now = at("2026-04-30T12:00:00Z");
    let hour = AppointmentRequest { duration_minutes: Some(60), ..request("2026-05-01T18:00:00Z") };
    // Two that follow each other take one place, and there are two.
    let in_turn = [
        taken("2026-05-01T18:00:00Z", "2026-05-01T18:30:00Z"),
        taken("2026-05-01T18:30:00Z", "2026-05-01T19:00:00Z"),
    ];
    assert!(confirmed(decide(&rooftop(), &hour, now, &in_turn, 3)).is_some());
    let at_once = [
        taken("2026-05-01T17:00:00Z", "2026-05-01T18:30:00Z"),
        taken("2026-05-01T18:15:00Z", "2026-05-01T20:00:00Z"),
    ];
    assert!(confirmed(decide(&rooftop(), &hour, now, &at_once, 3)).is_none());
    // A blocked time takes as many places as it says, or all of them.
    let blocked = |places: Option<u32>| {
        let one = taken("2026-05-01T18:00:00Z", "2026-05-01T19:00:00Z");
        [OccupiedPeriod { places, ..one }]
    };
    let slot = TimePeriod { start: at("2026-05-01T18:30:00Z"), end: at("2026-05-01T19:00:00Z") };
    for (places, wanted, fits) in [
        (Some(1), 1, true),
        (Some(1), 2, false),
        (Some(2), 1, false),
        (None, 1, false),
        (Some(u32::MAX), 1, false),
    ] {
        assert_eq!(has_room(&blocked(places), slot, 2, wanted), fits, "{places:?} {wanted}");
    }
}

#[test]
fn not_offered_is_rejected_and_without_time_is_requested() {
    let now = at("2026-04-30T12:00:00Z");
    let mut rooftop = rooftop();
    let untimed = AppointmentRequest { at: None, ..request("2026-05-01T18:00:00Z") };
    assert_eq!(decide(&rooftop, &untimed, now, &[], 3), AppointmentDecision::Requested);
    let endless =
        AppointmentRequest { duration_minutes: Some(u32::MAX), ..request("2026-05-01T18:00:00Z") };
    assert_eq!(decide(&rooftop, &endless, now, &[], 3), AppointmentDecision::Requested);
    rooftop.appointments.types.clear();
    let anything = decide(&rooftop, &request("2026-05-01T18:00:00Z"), now, &[], 3);
    assert_eq!(anything, AppointmentDecision::Requested, "who says nothing refuses nothing");
    rooftop.appointments.types = vec![AppointmentType::Service];
    let decision = decide(&rooftop, &request("2026-05-01T18:00:00Z"), now, &[], 3);
    assert_eq!(decision, AppointmentDecision::Rejected);
    rooftop.appointments.types = vec![AppointmentType::Sales];
    rooftop.profile.schedules.clear();
    let decision = decide(&rooftop, &request("2026-05-01T18:00:00Z"), now, &[], 3);
    assert_eq!(
        decision,
        AppointmentDecision::Requested,
        "without opening hours a person has to find a time"
    );
}

#[test]
fn a_rooftop_across_the_world_has_its_own_day() {
    let mut auckland = rooftop();
    auckland.time_zone = TimeZone::get("Pacific/Auckland").unwrap();
    // Saturday 10:00 in Auckland is still Friday in UTC.
    let now = at("2026-04-30T12:00:00Z");
    let decision = decide(&auckland, &request("2026-05-01T22:00:00Z"), now, &[], 3);
    assert!(confirmed(decision).is_some());
}
