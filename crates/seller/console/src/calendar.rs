//! Handlers of the forms that change the calendar. The operations themselves are in [`tradepost_admin::appointments`];
//! here forms are read, and refusals become pages.

use jiff::Timestamp;
use tradepost_admin::appointments::{
    AppointmentRefusal, BlockTime, ChangeAppointment, UnblockTime, block_time, change_appointment,
    unblock_time,
};
use tradepost_dealer::appointment::change::{
    AppointmentChange, CalendarRefusal, WantedBlock, WantedTime,
};
use tradepost_dealer::calendar::Department;
use tradepost_document::catalog::Vocabulary as _;

use super::calendar_place::CalendarPlace;
use super::reply::ConsoleReply;
use super::sign_in::Visitor;
use super::{Answer, Console, PATH, PageError, dealer_scopes};

/// Answer to a form without a usable time.
const NO_TIME: &str = "Enter a date and a time, such as 2026-05-03T11:00.";

/// Answer to a time for an appointment whose rooftop was renamed or removed.
const NO_ROOFTOP: &str = "The configuration has no rooftop with the name in this appointment. The \
                          appointment can be cancelled, but not confirmed or moved.";

impl Console {
    pub(super) fn confirm_appointment(&self, visitor: &Visitor<'_>) -> Answer {
        let at = visitor.asked.filled_in("at").map(wanted_time).transpose()?;
        let outside_hours = is_ticked(visitor, "outside_hours");
        let wanted = AppointmentChange::Confirm { at, minutes: None, outside_hours };
        self.change_appointment(visitor, wanted, "confirmed")
    }

    pub(super) fn move_appointment(&self, visitor: &Visitor<'_>) -> Answer {
        let to = visitor.asked.filled_in("at").ok_or(PageError::Unusable(NO_TIME))?;
        let outside_hours = is_ticked(visitor, "outside_hours");
        let wanted = AppointmentChange::Move { to: wanted_time(to)?, outside_hours };
        self.change_appointment(visitor, wanted, "moved")
    }

    pub(super) fn cancel_appointment(&self, visitor: &Visitor<'_>) -> Answer {
        self.change_appointment(visitor, AppointmentChange::Cancel, "cancelled")
    }

    pub(super) fn miss_appointment(&self, visitor: &Visitor<'_>) -> Answer {
        self.change_appointment(visitor, AppointmentChange::NoShow, "missed")
    }

    fn change_appointment(
        &self,
        visitor: &Visitor<'_>,
        wanted: AppointmentChange,
        word: &str,
    ) -> Answer {
        // Each form of the console contains the version that it showed.
        let version = visitor.asked.filled_in("version").and_then(|text| text.parse().ok());
        let seen_version = version.ok_or(PageError::Unusable(
            "The form does not name the version of the appointment. Reload the page.",
        ))?;
        let sellers = self.sellers.all();
        let dealers = dealer_scopes(&sellers);
        let context = self.admin(&dealers);
        let actor = visitor.actor();
        let input = ChangeAppointment {
            appointment_id: visitor.id.to_owned(),
            seen_version: Some(seen_version),
            change: wanted,
        };
        let visit = change_appointment(&context, &actor, input).map_err(|error| {
            PageError::from_admin(error, |refused| {
                // The visitor may see the appointment, so the configuration is what lacks the rooftop.
                if refused.refusal == CalendarRefusal::UnknownRooftop {
                    return PageError::Conflict(NO_ROOFTOP.to_owned());
                }
                stop(refused, context.now)
            })
        })?;
        self.deliveries.wake();
        Ok(match CalendarPlace::from_form(visitor.asked) {
            Some(place) => ConsoleReply::see(place.address(Some(word))),
            None => ConsoleReply::see(format!("{PATH}/leads/{}?done={word}", visit.lead.lead_id)),
        })
    }

    pub(super) fn block_time(&self, visitor: &Visitor<'_>) -> Answer {
        let asked = visitor.asked;
        let needed = |name: &str, why| asked.filled_in(name).ok_or(PageError::Unusable(why));
        let department = asked.filled_in("department").and_then(Department::from_name);
        let places = match asked.filled_in("places").map(str::parse::<u32>) {
            Some(Ok(places)) => Some(places),
            Some(Err(_)) => {
                return Err(PageError::Unusable("The number of places must be a number."));
            }
            None => None,
        };
        let input = BlockTime {
            dealer_id: needed("dealer", "Choose a dealer.")?.to_owned(),
            rooftop: needed("rooftop", "Choose a rooftop.")?.to_owned(),
            department: department.ok_or(PageError::Unusable("Choose a department."))?,
            wanted: WantedBlock {
                from: wanted_time(needed("starts", NO_TIME)?)?,
                until: wanted_time(needed("ends", NO_TIME)?)?,
                places,
                reason: needed("reason", "Enter the reason why the time is blocked.")?.to_owned(),
            },
        };
        let sellers = self.sellers.all();
        let dealers = dealer_scopes(&sellers);
        let context = self.admin(&dealers);
        let actor = visitor.actor();
        block_time(&context, &actor, input)
            .map_err(|error| PageError::from_admin(error, |refused| stop(refused, context.now)))?;
        Ok(to_calendar(visitor, "blocked"))
    }

    pub(super) fn unblock_time(&self, visitor: &Visitor<'_>) -> Answer {
        let context = self.admin(&[]);
        let actor = visitor.actor();
        let input = UnblockTime { block_id: visitor.id.to_owned() };
        unblock_time(&context, &actor, input)
            .map_err(|error| PageError::from_admin(error, |refused| stop(refused, context.now)))?;
        Ok(to_calendar(visitor, "unblocked"))
    }
}

fn is_ticked(visitor: &Visitor<'_>, name: &str) -> bool {
    visitor.asked.filled_in(name) == Some("yes")
}

fn wanted_time(text: &str) -> Result<WantedTime, PageError> {
    WantedTime::parse(text).ok_or(PageError::Unusable(NO_TIME))
}

fn to_calendar(visitor: &Visitor<'_>, done: &str) -> ConsoleReply {
    let place = CalendarPlace::from_form(visitor.asked).unwrap_or_default();
    ConsoleReply::see(place.address(Some(done)))
}

/// Returns the page for a refusal.
fn stop(refused: AppointmentRefusal, now: Timestamp) -> PageError {
    let AppointmentRefusal { refusal, zone } = refused;
    match refusal {
        // Items of other dealers are answered as not found.
        CalendarRefusal::NotFound | CalendarRefusal::UnknownRooftop => PageError::NotFound,
        CalendarRefusal::UnusablePeriod => PageError::Unusable(
            "A blocked time has to end after it begins, in the future, and within 366 days.",
        ),
        CalendarRefusal::UnusableReason => PageError::Unusable(
            "A blocked time needs a reason, of at most 200 characters in one line.",
        ),
        CalendarRefusal::ChangedMeanwhile { .. }
        | CalendarRefusal::WrongState { .. }
        | CalendarRefusal::LeadErased
        | CalendarRefusal::LeadHeld
        | CalendarRefusal::LeadLost
        | CalendarRefusal::ConsentWithdrawn
        | CalendarRefusal::NotStarted
        | CalendarRefusal::NoTimeNamed
        | CalendarRefusal::InThePast
        | CalendarRefusal::SameTime
        | CalendarRefusal::OutsideHours { .. }
        | CalendarRefusal::Full { .. }
        | CalendarRefusal::TooManyPlaces { .. }
        | CalendarRefusal::InTheWay { .. } => PageError::Conflict(refusal.message(&zone, now)),
    }
}
