//! Messages to the buyer: one short text with the next step for each accepted lead (AAP 1.1
//! `lead.submit`, `R-LD-18`).

use jiff::Timestamp;

use super::{SubmitOutcome, is_booked};
use crate::local_time::spoken;
use crate::record::{AppointmentRecord, AppointmentState, HeldFor};
use crate::settings::RooftopSettings;

/// Writes the next step after a submission.
pub(super) fn message(taken: &SubmitOutcome<'_>, now: Timestamp) -> String {
    let name = &taken.rooftop.profile.name;
    let received = match taken.held_for() {
        Some(HeldFor::DeniedAgent) => format!(
            "{name} takes no leads from this agent. Nobody will follow up on this one unless a \
             person there decides otherwise; the customer can call."
        ),
        Some(HeldFor::UnlistedAgent | HeldFor::Velocity | HeldFor::Quota) => format!(
            "{name} received the lead and keeps it for a person to look at before anybody follows \
             up; to be sure, the customer can call."
        ),
        None if taken.is_resubmitted => {
            format!("{name} already has this lead and will follow up on it.")
        }
        None => format!("{name} received the lead and will follow up on a permitted channel."),
    };
    let sentences = [Some(received), appointment(taken, now), taken.remark.map(str::to_owned)];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Describes what became of the requested appointment, in the time zone of the rooftop.
fn appointment(taken: &SubmitOutcome<'_>, now: Timestamp) -> Option<String> {
    let asked = taken.answered_appointment()?;
    let local = |at: Timestamp| spoken(at, &taken.rooftop.time_zone, now);
    let of_asked = match asked.state {
        AppointmentState::Confirmed | AppointmentState::Cancelled | AppointmentState::NoShow => {
            settled(taken.rooftop, asked, now)?
        }
        AppointmentState::Proposed => {
            let times: Vec<_> = asked.proposed.iter().copied().map(local).collect();
            format!(
                "That time is not available. Choose one of these and submit the lead again with \
                 it: {}.",
                times.join("; ")
            )
        }
        AppointmentState::Requested => {
            "No time is booked yet; an advisor will arrange one.".to_owned()
        }
        // A held lead's appointment is rejected with it, whatever the rooftop offers.
        AppointmentState::Rejected if taken.held_for().is_some() => {
            "No appointment is booked.".to_owned()
        }
        AppointmentState::Rejected => {
            "This rooftop does not offer that kind of appointment.".to_owned()
        }
        AppointmentState::Superseded => return None,
    };
    // After a request for another time, the message confirms that the first one stands.
    let standing = taken.lead.appointment.as_ref().filter(|current| is_booked(current));
    let standing = standing.filter(|current| current.appointment_id != asked.appointment_id);
    let standing = standing.and_then(|current| current.starts_at);
    Some(match standing {
        Some(at) => format!("{of_asked} What was booked before stands: {}.", local(at)),
        None => of_asked,
    })
}

/// Describes the current appointment to a caller that repeats a request from before staff changed
/// it.
pub(super) fn standing(
    rooftop: &RooftopSettings,
    current: &AppointmentRecord,
    now: Timestamp,
) -> String {
    let name = &rooftop.profile.name;
    let received = format!("{name} already has this lead.");
    match settled(rooftop, current, now) {
        Some(sentence) => format!("{received} {sentence}"),
        None => received,
    }
}

/// Describes an appointment that is booked, cancelled or missed; `None` for others.
fn settled(
    rooftop: &RooftopSettings,
    current: &AppointmentRecord,
    now: Timestamp,
) -> Option<String> {
    let local = |at: Timestamp| spoken(at, &rooftop.time_zone, now);
    match current.state {
        AppointmentState::Confirmed => {
            let booked = format!("The appointment is booked for {}", local(current.starts_at?));
            let asked = current.requested_at.filter(|asked| current.starts_at != Some(*asked));
            Some(match asked {
                Some(asked) => format!("{booked}, not for {}.", local(asked)),
                None => format!("{booked}."),
            })
        }
        AppointmentState::Cancelled => Some(
            "The dealer has cancelled this appointment, and nobody is expected. Submit the lead \
             again with another time, or have the customer call."
                .to_owned(),
        ),
        AppointmentState::NoShow => Some(
            "The dealer has noted that the customer did not come to this appointment. Submit the \
             lead again with another time to arrange a new one."
                .to_owned(),
        ),
        AppointmentState::Requested
        | AppointmentState::Proposed
        | AppointmentState::Rejected
        | AppointmentState::Superseded => None,
    }
}
