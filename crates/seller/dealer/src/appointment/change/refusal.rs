//! Refusals of changes to the calendar, as codes for programs and messages for people.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::ChangeKind;
use crate::local_time::spoken;
use crate::record::AppointmentState;

tradepost_document::catalog! {
    /// Codes of refused changes to the calendar, for programs.
    pub enum CalendarCode {
        /// Advice on what to do.
        hint: &'static str,
    }
    /// The appointment or blocked time does not exist, or it is another dealer's.
    NotFound = "not_found" { hint: "list the calendar and use an id from there" }
    /// The appointment was changed after it was read.
    ChangedMeanwhile = "changed_meanwhile" {
        hint: "read the appointment again, and repeat the change with its new version",
    }
    /// The state of the appointment does not permit the change.
    WrongState = "wrong_state" { hint: "check the state of the appointment" }
    /// The lead of the appointment is erased.
    LeadErased = "lead_erased" { hint: "an appointment of an erased lead cannot be changed" }
    /// The lead of the appointment is held back.
    LeadHeld = "lead_held" { hint: "let a manager release the lead first" }
    /// The lead of the appointment is marked lost.
    LeadLost = "lead_lost" { hint: "mark the lead as working first" }
    /// The customer has withdrawn the consent.
    ConsentWithdrawn = "consent_withdrawn" {
        hint: "cancel the appointment, or leave it; the customer may not be contacted",
    }
    /// The appointment has not begun, so it cannot be a no-show.
    NotStarted = "not_started" { hint: "cancel it if the customer will not come" }
    /// The customer requested no time, and the change names none.
    NoTimeNamed = "no_time_named" { hint: "name the time that was agreed on" }
    /// The requested time is in the past.
    InThePast = "in_the_past" { hint: "name a time in the future" }
    /// The appointment has the requested time already.
    SameTime = "same_time" { hint: "nothing to do: the appointment has this time" }
    /// The department is closed at that time, or none of its slots begins then.
    OutsideHours = "outside_hours" {
        hint: "choose one of the free times, or permit a time outside of the opening hours",
    }
    /// Every place is taken at that time.
    Full = "full" { hint: "choose one of the free times" }
    /// The configuration has no rooftop of this name.
    UnknownRooftop = "unknown_rooftop" { hint: "use a rooftop of the configuration" }
    /// A period to be blocked ends before it begins, has ended, or is longer than a year.
    UnusablePeriod = "unusable_period" {
        hint: "name a period of at most 366 days that ends in the future",
    }
    /// The department has fewer places.
    TooManyPlaces = "too_many_places" { hint: "block no more places than the department has" }
    /// The reason of a blocked time is missing, too long, or more than one line.
    UnusableReason = "unusable_reason" { hint: "give a reason of at most 200 characters" }
    /// Appointments or other blocked times leave too few places.
    InTheWay = "in_the_way" { hint: "move or cancel these appointments, unblock these times, or block fewer places" }
}

/// Reason why a change to the calendar is refused. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CalendarRefusal {
    /// No such appointment or block exists, or it is another dealer's.
    NotFound,
    /// The appointment was changed after the caller read it.
    ChangedMeanwhile {
        /// Current state.
        state: AppointmentState,
        /// Current start.
        starts_at: Option<Timestamp>,
        /// Current version.
        version: i64,
    },
    /// The state of the appointment does not allow the change.
    WrongState {
        /// The wanted change.
        change: ChangeKind,
        /// Current state.
        state: AppointmentState,
    },
    /// The lead is erased, and with it the customer of the appointment.
    LeadErased,
    /// The lead is held back; a manager has to release it first.
    LeadHeld,
    /// The lead is marked lost.
    LeadLost,
    /// The customer has withdrawn the consent, so no time can be agreed on.
    ConsentWithdrawn,
    /// The appointment has not begun, so it cannot be a no-show.
    NotStarted,
    /// No time was requested, and none is named.
    NoTimeNamed,
    /// The new time is not in the future.
    InThePast,
    /// The appointment is already at that time.
    SameTime,
    /// The department is closed then, or the time is not the start of a slot.
    OutsideHours {
        /// The nearest free times.
        free: Vec<Timestamp>,
    },
    /// Every place is taken then.
    Full {
        /// The nearest free times.
        free: Vec<Timestamp>,
    },
    /// The configuration has no rooftop of this name.
    UnknownRooftop,
    /// The block ends before it begins, is in the past, or is longer than a year.
    UnusablePeriod,
    /// The department has fewer places.
    TooManyPlaces {
        /// Number of places.
        capacity: u32,
    },
    /// The reason is missing or longer than 200 characters.
    UnusableReason,
    /// Appointments or other blocks take places in the period.
    InTheWay {
        /// Their ids.
        ids: Vec<String>,
    },
}

impl CalendarRefusal {
    /// Returns the code for programs.
    #[must_use]
    pub const fn code(&self) -> CalendarCode {
        match self {
            Self::NotFound => CalendarCode::NotFound,
            Self::ChangedMeanwhile { .. } => CalendarCode::ChangedMeanwhile,
            Self::WrongState { .. } => CalendarCode::WrongState,
            Self::LeadErased => CalendarCode::LeadErased,
            Self::LeadHeld => CalendarCode::LeadHeld,
            Self::LeadLost => CalendarCode::LeadLost,
            Self::ConsentWithdrawn => CalendarCode::ConsentWithdrawn,
            Self::NotStarted => CalendarCode::NotStarted,
            Self::NoTimeNamed => CalendarCode::NoTimeNamed,
            Self::InThePast => CalendarCode::InThePast,
            Self::SameTime => CalendarCode::SameTime,
            Self::OutsideHours { .. } => CalendarCode::OutsideHours,
            Self::Full { .. } => CalendarCode::Full,
            Self::UnknownRooftop => CalendarCode::UnknownRooftop,
            Self::UnusablePeriod => CalendarCode::UnusablePeriod,
            Self::TooManyPlaces { .. } => CalendarCode::TooManyPlaces,
            Self::UnusableReason => CalendarCode::UnusableReason,
            Self::InTheWay { .. } => CalendarCode::InTheWay,
        }
    }

    /// Returns the nearest free times, where the refusal lists any.
    #[must_use]
    pub fn free(&self) -> &[Timestamp] {
        match self {
            Self::OutsideHours { free } | Self::Full { free } => free,
            Self::NotFound
            | Self::ChangedMeanwhile { .. }
            | Self::WrongState { .. }
            | Self::LeadErased
            | Self::LeadHeld
            | Self::LeadLost
            | Self::ConsentWithdrawn
            | Self::NotStarted
            | Self::NoTimeNamed
            | Self::InThePast
            | Self::SameTime
            | Self::UnknownRooftop
            | Self::UnusablePeriod
            | Self::TooManyPlaces { .. }
            | Self::UnusableReason
            | Self::InTheWay { .. } => &[],
        }
    }

    /// Returns the message for people, with times in this zone.
    #[must_use]
    pub fn message(&self, zone: &TimeZone, now: Timestamp) -> String {
        let local = |at: Timestamp| spoken(at, zone, now);
        let named = |free: &[Timestamp]| match free {
            [] => "No time near it is free.".to_owned(),
            free => {
                let times: Vec<_> = free.iter().copied().map(local).collect();
                format!("Free near it: {}.", times.join("; "))
            }
        };
        match self {
            Self::NotFound => "There is no such appointment or blocked time.".to_owned(),
            Self::ChangedMeanwhile { state, starts_at, .. } => {
                let time = starts_at.filter(|_| state.occupies());
                let time = time.map(|at| format!(" for {}", local(at))).unwrap_or_default();
                format!(
                    "Somebody else has changed this appointment meanwhile: it is {}{time} now. \
                     Look at it again before you change it.",
                    InWords(*state)
                )
            }
            Self::WrongState { change, state } => {
                let done = match change {
                    ChangeKind::Confirm => "confirmed",
                    ChangeKind::Move => "moved",
                    ChangeKind::Cancel => "cancelled",
                    ChangeKind::NoShow => "marked as a no-show",
                };
                format!("The appointment is {}, and cannot be {done}.", InWords(*state))
            }
            Self::LeadErased => "The lead of this appointment is erased.".to_owned(),
            Self::LeadHeld => {
                "The lead is held back. A manager has to release it before its appointment can be \
                 changed."
                    .to_owned()
            }
            Self::LeadLost => {
                "The lead is marked lost. Mark it as working before you agree on a time.".to_owned()
            }
            Self::ConsentWithdrawn => {
                "The customer has withdrawn the consent, so that nobody may contact them to agree \
                 on a time."
                    .to_owned()
            }
            Self::NotStarted => {
                "The appointment has not begun yet. Cancel it if the customer will not come."
                    .to_owned()
            }
            Self::NoTimeNamed => {
                "The customer has asked for no time. Name the time that was agreed on.".to_owned()
            }
            Self::InThePast => "That time is in the past.".to_owned(),
            Self::SameTime => "The appointment is at that time already.".to_owned(),
            Self::OutsideHours { free } => format!(
                "The department is closed then, or none of its slots begins then. {} To book it all \
                 the same, say that it may be outside of the hours.",
                named(free)
            ),
            Self::Full { free } => format!("Every place is taken then. {}", named(free)),
            Self::UnknownRooftop => "The configuration has no rooftop of this name.".to_owned(),
            Self::UnusablePeriod => {
                "A blocked time has to end after it begins, in the future, and within 366 days."
                    .to_owned()
            }
            Self::TooManyPlaces { capacity } => {
                format!("The department has {capacity} places at the same time.")
            }
            Self::UnusableReason => {
                "A blocked time needs a reason, of at most 200 characters in one line.".to_owned()
            }
            Self::InTheWay { ids } => format!(
                "Appointments or blocked times stand there that leave too few places: {}. Move or \
                 cancel them first, or block fewer places.",
                ids.join(", ")
            ),
        }
    }
}

/// Displays a state for people.
struct InWords(AppointmentState);

impl fmt::Display for InWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            AppointmentState::Requested => "requested",
            AppointmentState::Proposed => "proposed",
            AppointmentState::Confirmed => "confirmed",
            AppointmentState::Rejected => "rejected",
            AppointmentState::Superseded => "replaced by another one of the same lead",
            AppointmentState::Cancelled => "cancelled",
            AppointmentState::NoShow => "marked as a no-show",
        })
    }
}
