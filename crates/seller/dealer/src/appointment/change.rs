//! Changes of an appointment by the dealer's staff: confirm a time, move it, cancel it, record a
//! no-show, and block times. Pure: calendar and time are arguments, and the caller stores the
//! result in the transaction in which it read the calendar.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use tradepost_document::format;
use tradepost_document::words;

use super::{department, has_room, nearest, open_on, slot_minutes, slots, whole_slots};
use crate::calendar::{OccupiedPeriod, TimePeriod, Visit};
use crate::record::{AppointmentRecord, AppointmentState, LeadEventKind, LeadState};
use crate::settings::RooftopSettings;
use crate::staff::{AuditAction, StaffStage};

mod refusal;
#[cfg(test)]
mod tests;

pub use refusal::{CalendarCode, CalendarRefusal};

/// Number of free times that a refusal lists.
const NAMED_TIMES: usize = 3;

/// Number of days before and after a wanted time that are searched for free ones.
const DAYS_AROUND: i64 = 14;

/// Maximum length of a block in hours.
const LONGEST_BLOCK: i64 = 366 * 24;

/// Maximum length of a block's reason in characters.
const LONGEST_REASON: usize = 200;

words! {
    /// Kinds of changes.
    pub enum ChangeKind {
        /// Confirm a time.
        Confirm = "confirm",
        /// Move to another time.
        Move = "move",
        /// Cancel the appointment.
        Cancel = "cancel",
        /// Record that the customer did not come.
        NoShow = "no_show",
    }
}

impl ChangeKind {
    /// Returns the event of the lead that records the change.
    #[must_use]
    pub const fn event(self) -> LeadEventKind {
        match self {
            Self::Confirm => LeadEventKind::AppointmentConfirmed,
            Self::Move => LeadEventKind::AppointmentMoved,
            Self::Cancel => LeadEventKind::AppointmentCancelled,
            Self::NoShow => LeadEventKind::AppointmentNoShow,
        }
    }

    /// Returns the action that the audit log records.
    #[must_use]
    pub const fn action(self) -> AuditAction {
        match self {
            Self::Confirm => AuditAction::AppointmentConfirmed,
            Self::Move => AuditAction::AppointmentMoved,
            Self::Cancel => AuditAction::AppointmentCancelled,
            Self::NoShow => AuditAction::AppointmentNoShow,
        }
    }
}

/// A time as people write it: on the rooftop's clocks, or with an offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedTime {
    /// A date and time on the rooftop's clocks.
    Local(DateTime),
    /// An exact moment.
    Exact(Timestamp),
}

impl WantedTime {
    /// Reads `2026-05-01T11:00` as local time of the rooftop, and `2026-05-01T11:00:00-07:00` as a
    /// moment.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(moment) = format::timestamp(text) {
            return Some(Self::Exact(moment));
        }
        // A malformed offset must not be read as local time; `civil::DateTime` would ignore `-07:00`.
        let (date, time) = text.split_at_checked("2026-05-01".len())?;
        let is_clock_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | 'T' | ' ');
        let is_plain = time.len() >= "T11:00".len()
            && date.chars().all(|c| c.is_ascii_digit() || c == '-')
            && time.chars().all(is_clock_time);
        text.parse().ok().filter(|_| is_plain).map(Self::Local)
    }

    /// Converts it to a timestamp in a rooftop's zone. A time that the clocks skip moves forward by
    /// the gap; a time that occurs twice means the first. Returns `None` out of range.
    #[must_use]
    pub fn resolve(self, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Local(time) => time.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp()),
            Self::Exact(moment) => Some(moment),
        }
    }
}

/// A change that a member of staff asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppointmentChange {
    /// Confirm a time.
    Confirm {
        /// The time; the requested one when `None`.
        at: Option<WantedTime>,
        /// Length in minutes; the requested one when `None`.
        minutes: Option<u32>,
        /// Permits a time outside opening hours and slots.
        outside_hours: bool,
    },
    /// Move to another time.
    Move {
        /// The time.
        to: WantedTime,
        /// Permits a time outside opening hours and slots.
        outside_hours: bool,
    },
    /// Cancel the appointment.
    Cancel,
    /// Record that the customer did not come.
    NoShow,
}

impl AppointmentChange {
    /// Returns the kind of the change.
    #[must_use]
    pub const fn kind(&self) -> ChangeKind {
        match self {
            Self::Confirm { .. } => ChangeKind::Confirm,
            Self::Move { .. } => ChangeKind::Move,
            Self::Cancel => ChangeKind::Cancel,
            Self::NoShow => ChangeKind::NoShow,
        }
    }
}

/// Calendar of a department, for a change of an appointment.
#[derive(Debug, Clone, Copy)]
pub struct DepartmentCalendar<'a> {
    /// The configured rooftop.
    pub rooftop: &'a RooftopSettings,
    /// Periods taken around the wanted time, without this appointment.
    pub occupied: &'a [OccupiedPeriod],
}

/// Returns the period that [`DepartmentCalendar::occupied`] has to cover for a change to `at`.
#[must_use]
pub fn period_around(at: Timestamp) -> TimePeriod {
    // One day more on both sides, because the rooftop's days differ from those of UTC.
    let span = SignedDuration::from_hours(24 * (DAYS_AROUND + 2));
    let start = at.saturating_sub(span).unwrap_or(Timestamp::MIN);
    TimePeriod { start, end: at.saturating_add(span).unwrap_or(Timestamp::MAX) }
}

/// Checks everything about a change that needs no calendar: the version that was seen, the state of
/// the lead, and the state of the appointment.
///
/// # Errors
/// The reason why the change is impossible.
pub fn check(
    change: &AppointmentChange,
    visit: &Visit,
    seen_version: Option<i64>,
    now: Timestamp,
) -> Result<(), CalendarRefusal> {
    use AppointmentState as State;
    let appointment = &visit.appointment;
    if seen_version.is_some_and(|seen| seen != appointment.version) {
        return Err(CalendarRefusal::ChangedMeanwhile {
            state: appointment.state,
            starts_at: appointment.starts_at,
            version: appointment.version,
        });
    }
    match visit.lead.state {
        LeadState::Erased => return Err(CalendarRefusal::LeadErased),
        LeadState::Held => return Err(CalendarRefusal::LeadHeld),
        LeadState::Received | LeadState::Revoked => {}
    }
    let kind = change.kind();
    // A superseded request has no effect until the agent chooses it.
    let state = if visit.is_current { appointment.state } else { State::Superseded };
    let is_possible = match (kind, state) {
        (_, State::Superseded) => false,
        (
            ChangeKind::Confirm,
            State::Requested | State::Proposed | State::Rejected | State::Cancelled | State::NoShow,
        ) => true,
        (ChangeKind::Confirm, State::Confirmed) => false,
        (ChangeKind::Cancel, State::Requested | State::Proposed | State::Confirmed) => true,
        (ChangeKind::Cancel, State::Rejected | State::Cancelled | State::NoShow) => false,
        (ChangeKind::Move | ChangeKind::NoShow, State::Confirmed) => true,
        (
            ChangeKind::Move | ChangeKind::NoShow,
            State::Requested | State::Proposed | State::Rejected | State::Cancelled | State::NoShow,
        ) => false,
    };
    if !is_possible {
        return Err(CalendarRefusal::WrongState { change: kind, state });
    }
    match kind {
        ChangeKind::Confirm if visit.lead.state == LeadState::Revoked => {
            Err(CalendarRefusal::ConsentWithdrawn)
        }
        ChangeKind::Confirm if visit.progress.stage == StaffStage::Lost => {
            Err(CalendarRefusal::LeadLost)
        }
        ChangeKind::NoShow if appointment.starts_at.is_none_or(|start| start > now) => {
            Err(CalendarRefusal::NotStarted)
        }
        ChangeKind::Confirm | ChangeKind::Move | ChangeKind::Cancel | ChangeKind::NoShow => Ok(()),
    }
}

/// Returns the start of the appointment after a change; `None` for a change without a time.
///
/// # Errors
/// When no time is named and none was requested, or the time is out of range.
pub fn wanted_start(
    change: &AppointmentChange,
    appointment: &AppointmentRecord,
    zone: &TimeZone,
) -> Result<Option<Timestamp>, CalendarRefusal> {
    let start = match change {
        AppointmentChange::Confirm { at: Some(at), .. } => at.resolve(zone),
        AppointmentChange::Confirm { at: None, .. } => appointment.requested_at,
        AppointmentChange::Move { to, .. } => to.resolve(zone),
        AppointmentChange::Cancel | AppointmentChange::NoShow => return Ok(None),
    };
    start.map(Some).ok_or(CalendarRefusal::NoTimeNamed)
}

/// Returns the appointment after a change that frees its time: cancelled, or no-show.
#[must_use]
pub fn released(appointment: &AppointmentRecord, state: AppointmentState) -> AppointmentRecord {
    AppointmentRecord { state, version: appointment.version + 1, ..appointment.clone() }
}

/// Returns the appointment at another time, if a place is free: within opening hours and at one of
/// the slots, unless `outside_hours` permits any time.
///
/// # Errors
/// The reason why the time is impossible, with the nearest free times.
pub fn booked_at(
    change: &AppointmentChange,
    visit: &Visit,
    start: Timestamp,
    calendar: &DepartmentCalendar<'_>,
    now: Timestamp,
) -> Result<AppointmentRecord, CalendarRefusal> {
    let appointment = &visit.appointment;
    let (minutes, outside_hours) = match change {
        AppointmentChange::Confirm { minutes, outside_hours, .. } => (*minutes, *outside_hours),
        AppointmentChange::Move { outside_hours, .. } => (None, *outside_hours),
        AppointmentChange::Cancel | AppointmentChange::NoShow => (None, false),
    };
    let duration = match minutes {
        Some(minutes) => whole_slots(calendar.rooftop, minutes),
        None => duration(visit, calendar.rooftop),
    };
    if start < now {
        return Err(CalendarRefusal::InThePast);
    }
    let end = start.checked_add(duration).map_err(|_| CalendarRefusal::NoTimeNamed)?;
    let is_same = appointment.starts_at == Some(start) && appointment.ends_at == Some(end);
    if appointment.state.occupies() && is_same {
        return Err(CalendarRefusal::SameTime);
    }
    let free_times = || {
        let all = slots_around(visit, calendar.rooftop, start, duration);
        let free = all.into_iter().filter(|&period| {
            period.start >= now && period.start != start && is_free(calendar, period)
        });
        nearest(free.map(|period| period.start).collect(), start, NAMED_TIMES)
    };
    let is_slot = || {
        let all = slots_around(visit, calendar.rooftop, start, duration);
        all.iter().any(|slot| slot.start == start)
    };
    if !outside_hours && !is_slot() {
        return Err(CalendarRefusal::OutsideHours { free: free_times() });
    }
    if !is_free(calendar, TimePeriod { start, end }) {
        return Err(CalendarRefusal::Full { free: free_times() });
    }
    Ok(AppointmentRecord {
        state: AppointmentState::Confirmed,
        starts_at: Some(start),
        ends_at: Some(end),
        version: appointment.version + 1,
        ..appointment.clone()
    })
}

fn is_free(calendar: &DepartmentCalendar<'_>, period: TimePeriod) -> bool {
    has_room(calendar.occupied, period, calendar.rooftop.appointments.capacity, 1)
}

/// Returns the length of the appointment: the current one, or the one that the lead asked for.
fn duration(visit: &Visit, rooftop: &RooftopSettings) -> SignedDuration {
    let appointment = &visit.appointment;
    if let Some((start, end)) = appointment.starts_at.zip(appointment.ends_at) {
        return end.duration_since(start);
    }
    let asked = visit.lead.submission.payload.pointer("/appointment/duration_minutes");
    let minutes = asked.and_then(|minutes| u32::try_from(minutes.as_i64()?).ok());
    whole_slots(rooftop, minutes.unwrap_or(1))
}

/// Returns the periods of this length within opening hours on the days around a moment.
fn slots_around(
    visit: &Visit,
    rooftop: &RooftopSettings,
    at: Timestamp,
    duration: SignedDuration,
) -> Vec<TimePeriod> {
    let step = SignedDuration::from_mins(slot_minutes(rooftop));
    let department = department(visit.appointment.kind);
    let date = at.to_zoned(rooftop.time_zone.clone()).date();
    (-DAYS_AROUND..=DAYS_AROUND)
        .filter_map(|days| date.checked_add(days.days()).ok())
        .filter_map(|date| open_on(rooftop, department, date))
        .flat_map(|day| slots(day, duration, step))
        .collect()
}

/// A block to be made: a period that staff take out of a department's calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedBlock {
    /// Start.
    pub from: WantedTime,
    /// End, exclusive.
    pub until: WantedTime,
    /// Number of places it takes; all when `None`.
    pub places: Option<u32>,
    /// Reason, on one line.
    pub reason: String,
}

/// Returns the period of a block.
///
/// # Errors
/// When the period, the number of places or the reason is invalid.
pub fn block_period(
    wanted: &WantedBlock,
    rooftop: &RooftopSettings,
    now: Timestamp,
) -> Result<TimePeriod, CalendarRefusal> {
    let start = wanted.from.resolve(&rooftop.time_zone).ok_or(CalendarRefusal::UnusablePeriod)?;
    let end = wanted.until.resolve(&rooftop.time_zone).ok_or(CalendarRefusal::UnusablePeriod)?;
    let is_too_long = end.duration_since(start) > SignedDuration::from_hours(LONGEST_BLOCK);
    if end <= start || end <= now || is_too_long {
        return Err(CalendarRefusal::UnusablePeriod);
    }
    let capacity = rooftop.appointments.capacity;
    if wanted.places.is_some_and(|places| places == 0 || places > capacity) {
        return Err(CalendarRefusal::TooManyPlaces { capacity });
    }
    let reason = wanted.reason.trim();
    let is_usable = (1..=LONGEST_REASON).contains(&reason.chars().count());
    if !is_usable || reason.chars().any(char::is_control) {
        return Err(CalendarRefusal::UnusableReason);
    }
    Ok(TimePeriod { start, end })
}

/// Checks that a block does not collide with confirmed appointments.
///
/// # Errors
/// The appointments and blocks in the way.
pub fn check_block(
    period: TimePeriod,
    places: Option<u32>,
    calendar: &DepartmentCalendar<'_>,
) -> Result<(), CalendarRefusal> {
    let capacity = calendar.rooftop.appointments.capacity;
    if has_room(calendar.occupied, period, capacity, places.unwrap_or(capacity)) {
        return Ok(());
    }
    let TimePeriod { start, end } = period;
    let overlapping =
        calendar.occupied.iter().filter(|one| one.starts_at < end && one.ends_at > start);
    Err(CalendarRefusal::InTheWay { ids: overlapping.map(|one| one.held_by.clone()).collect() })
}

/// Returns true for an appointment that ends with its lead (erased, or marked lost): it has no
/// confirmed time yet, or takes place in the future. A past appointment keeps its state.
#[must_use]
pub fn ends_with_lead(appointment: &AppointmentRecord, now: Timestamp) -> bool {
    match appointment.state {
        AppointmentState::Requested | AppointmentState::Proposed => true,
        AppointmentState::Confirmed => appointment.ends_at.is_none_or(|end| end > now),
        AppointmentState::Rejected
        | AppointmentState::Superseded
        | AppointmentState::Cancelled
        | AppointmentState::NoShow => false,
    }
}
