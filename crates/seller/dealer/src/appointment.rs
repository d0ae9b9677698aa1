//! Decides on requested appointments: confirms the requested time or proposes others, from the
//! opening hours in the rooftop's time zone. Pure: the occupied periods are an argument. Changes by
//! the dealer's staff are in [`change`].

use jiff::civil::{Date, Time, Weekday};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use tradepost_aap::dealer::{DayHours, WeeklyHours};
use tradepost_aap::lead::{AppointmentRequest, AppointmentType};

use crate::calendar::{OccupiedPeriod, TimePeriod};
use crate::settings::RooftopSettings;

pub mod change;

/// Outcome of an appointment request. A time that cannot be confirmed is no error: other times are
/// proposed, or a member of staff has to find one (AAP 1.1 `lead.submit`; `R-LD-21` to `R-LD-24`,
/// C-20).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppointmentDecision {
    /// Booked.
    Confirmed(TimePeriod),
    /// The requested time is not possible; these times are free, in ascending order.
    Proposed(Vec<Timestamp>),
    /// A member of staff has to find a time.
    Requested,
    /// The rooftop does not offer this type of appointment.
    Rejected,
}

/// Returns the department that an appointment occupies; its opening hours have the same name.
#[must_use]
pub fn department(kind: AppointmentType) -> &'static str {
    match kind {
        AppointmentType::Sales | AppointmentType::TestDrive | AppointmentType::TradeIn => "sales",
        AppointmentType::Service => "service",
    }
}

/// Returns the period in which existing bookings matter for a decision.
#[must_use]
pub fn horizon(rooftop: &RooftopSettings, now: Timestamp) -> TimePeriod {
    // One day more than is offered covers appointments that begin late on the last day.
    let days = i64::from(rooftop.appointments.horizon_days) + 2;
    let end = now.saturating_add(SignedDuration::from_hours(24 * days)).unwrap_or(Timestamp::MAX);
    TimePeriod { start: now, end }
}

/// Decides on a request. `occupied` holds the taken periods within the [`horizon`]. A rooftop
/// without configured appointment types leaves every request to its staff.
///
/// Days are divided into slots from the opening time on, and an appointment takes whole slots, so
/// that no unusable gap remains between two odd times.
#[must_use]
pub fn decide(
    rooftop: &RooftopSettings,
    request: &AppointmentRequest,
    now: Timestamp,
    occupied: &[OccupiedPeriod],
    proposals: usize,
) -> AppointmentDecision {
    let terms = &rooftop.appointments;
    if terms.types.is_empty() {
        return AppointmentDecision::Requested;
    }
    if !terms.types.contains(&request.kind) {
        return AppointmentDecision::Rejected;
    }
    let Some(requested) = request.at else {
        return AppointmentDecision::Requested;
    };
    let duration = whole_slots(rooftop, request.duration_minutes.unwrap_or(1));
    let step = SignedDuration::from_mins(slot_minutes(rooftop));
    let earliest = now.saturating_add(terms.notice).unwrap_or(Timestamp::MAX);
    let free = |period: TimePeriod| {
        period.start >= earliest && has_room(occupied, period, terms.capacity, 1)
    };
    let open = opening(rooftop, department(request.kind), now);
    let whole: Vec<TimePeriod> =
        open.into_iter().flat_map(|day| slots(day, duration, step)).collect();
    if let Some(&period) = whole.iter().find(|period| period.start == requested)
        && free(period)
    {
        return AppointmentDecision::Confirmed(period);
    }
    let free = whole.into_iter().filter(|&period| free(period));
    let times = nearest(free.map(|period| period.start).collect(), requested, proposals);
    if times.is_empty() {
        AppointmentDecision::Requested
    } else {
        AppointmentDecision::Proposed(times)
    }
}

/// Returns the `limit` times that are nearest to `wanted`, in ascending order.
fn nearest(mut times: Vec<Timestamp>, wanted: Timestamp, limit: usize) -> Vec<Timestamp> {
    times.sort_by_key(|time| (time.duration_since(wanted).abs(), *time));
    times.truncate(limit);
    times.sort_unstable();
    times
}

/// Returns the length of a rooftop's slots in minutes, at least one.
fn slot_minutes(rooftop: &RooftopSettings) -> i64 {
    i64::from(rooftop.appointments.slot_minutes.max(1))
}

/// Rounds a length in minutes up to whole slots.
fn whole_slots(rooftop: &RooftopSettings, minutes: u32) -> SignedDuration {
    let slot = slot_minutes(rooftop);
    // Nothing longer than a day fits into opening hours.
    let minutes = i64::from(minutes).clamp(1, 24 * 60 + slot);
    SignedDuration::from_mins((minutes + slot - 1) / slot * slot)
}

/// Returns the periods of this length within opening hours, starting every `step`.
fn slots(hours: TimePeriod, duration: SignedDuration, step: SignedDuration) -> Vec<TimePeriod> {
    // The iterator is endless; `take_while` ends it at the first period that closes too late.
    let starts = std::iter::successors(Some(hours.start), |start| start.checked_add(step).ok());
    let periods = starts.map_while(|start| {
        let end = start.checked_add(duration).ok()?;
        Some(TimePeriod { start, end })
    });
    periods.take_while(|period| period.end <= hours.end).collect()
}

/// Returns the periods in which a department is open, from today to the horizon.
fn opening(rooftop: &RooftopSettings, department: &str, now: Timestamp) -> Vec<TimePeriod> {
    let today = now.to_zoned(rooftop.time_zone.clone()).date();
    (0..=i64::from(rooftop.appointments.horizon_days))
        .map_while(|days| today.checked_add(days.days()).ok())
        .filter_map(|date| open_on(rooftop, department, date))
        .collect()
}

/// Returns the slots of a department on a day, in order; none when it is closed.
#[must_use]
pub fn day_slots(rooftop: &RooftopSettings, department: &str, date: Date) -> Vec<TimePeriod> {
    let step = SignedDuration::from_mins(slot_minutes(rooftop));
    open_on(rooftop, department, date).map(|day| slots(day, step, step)).unwrap_or_default()
}

/// Returns the opening hours of a department on a day; `None` when it is closed.
#[must_use]
pub fn open_on(rooftop: &RooftopSettings, department: &str, date: Date) -> Option<TimePeriod> {
    let schedule = rooftop.profile.schedules.iter().find(|schedule| {
        schedule.name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(department))
    });
    let hours = hours_on(&schedule?.value, date.weekday())?;
    let is_closed = rooftop.appointments.closed_on.contains(&date);
    let start = at(rooftop, date, &hours.open)?;
    let end = at(rooftop, date, &hours.close)?;
    (!is_closed).then_some(TimePeriod { start, end })
}

fn hours_on(week: &WeeklyHours, day: Weekday) -> Option<&DayHours> {
    match day {
        Weekday::Monday => &week.monday,
        Weekday::Tuesday => &week.tuesday,
        Weekday::Wednesday => &week.wednesday,
        Weekday::Thursday => &week.thursday,
        Weekday::Friday => &week.friday,
        Weekday::Saturday => &week.saturday,
        Weekday::Sunday => &week.sunday,
    }
    .as_ref()
}

/// Converts a local time to a timestamp. A time that the clocks skip moves forward by the gap; a
/// time that occurs twice means the first.
fn at(rooftop: &RooftopSettings, date: Date, time: &str) -> Option<Timestamp> {
    let (hour, minute) = time.split_once(':')?;
    let time = Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()?;
    date.to_datetime(time).to_zoned(rooftop.time_zone.clone()).ok().map(|at| at.timestamp())
}

/// Returns the largest number of places taken at the same moment within a period. An entry that
/// takes all places counts as `capacity`.
#[must_use]
pub fn most_at_once(occupied: &[OccupiedPeriod], period: TimePeriod, capacity: u32) -> u32 {
    let TimePeriod { start, end } = period;
    let overlapping = || occupied.iter().filter(|one| one.starts_at < end && one.ends_at > start);
    let taken_at = |moment: Timestamp| {
        let running = overlapping().filter(|one| one.starts_at <= moment && one.ends_at > moment);
        let places = running.map(|one| one.places.unwrap_or(capacity));
        places.fold(0, u32::saturating_add)
    };
    // The number only grows where an entry begins.
    overlapping().map(|one| taken_at(one.starts_at.max(start))).max().unwrap_or(0)
}

/// Returns true when `places` more places are free during the whole period.
#[must_use]
pub fn has_room(
    occupied: &[OccupiedPeriod],
    period: TimePeriod,
    capacity: u32,
    places: u32,
) -> bool {
    most_at_once(occupied, period, capacity).saturating_add(places) <= capacity
}
