//! Forms that change an appointment, on the page of a lead and in the calendar.

use tradepost_dealer::appointment::change::{AppointmentChange, WantedTime, check};
use tradepost_dealer::calendar::Visit;

use jiff::Timestamp;
use tradepost_dealer::settings::RooftopSettings;

use crate::calendar_place::{CalendarPlace, HiddenField};

/// Forms that an appointment's present state allows.
#[derive(Debug)]
pub(super) struct ChangeForms {
    pub(super) id: String,
    /// Version that the page shows, so that another person's change in the meantime is not overwritten.
    pub(super) version: i64,
    /// Time in the format of a field for local date and time.
    pub(super) at: String,
    /// IANA name of the time zone in which times are read.
    pub(super) zone: String,
    pub(super) may_confirm: bool,
    pub(super) may_move: bool,
    pub(super) may_cancel: bool,
    pub(super) may_miss: bool,
    /// Fields that lead back to the calendar; none on the page of a lead.
    pub(super) place: Vec<HiddenField>,
}

impl ChangeForms {
    /// Returns the forms for an appointment; `None` when no change is possible. Without a configured
    /// rooftop no time can be agreed on.
    pub(super) fn new(
        visit: &Visit,
        rooftop: Option<&RooftopSettings>,
        now: Timestamp,
    ) -> Option<Self> {
        let appointment = &visit.appointment;
        let may = |change: AppointmentChange| check(&change, visit, None, now).is_ok();
        let at = appointment.starts_at.or(appointment.requested_at);
        // Times of the forms are read in this zone.
        let zone = rooftop.map_or_else(|| visit.lead.zone(), |known| known.time_zone.clone());
        let local =
            |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M").to_string();
        let minutes = None;
        let outside_hours = false;
        let forms = Self {
            id: appointment.appointment_id.clone(),
            version: appointment.version,
            at: at.map(local).unwrap_or_default(),
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            may_confirm: rooftop.is_some()
                && may(AppointmentChange::Confirm { at: None, minutes, outside_hours }),
            may_move: rooftop.is_some()
                && may(AppointmentChange::Move { to: WantedTime::Exact(now), outside_hours }),
            may_cancel: may(AppointmentChange::Cancel),
            may_miss: may(AppointmentChange::NoShow),
            place: Vec::new(),
        };
        let is_empty =
            !forms.may_confirm && !forms.may_move && !forms.may_cancel && !forms.may_miss;
        (!is_empty).then_some(forms)
    }

    /// Adds the fields that lead back to the calendar.
    pub(super) fn with_place(self, place: &CalendarPlace) -> Self {
        Self { place: place.fields(), ..self }
    }
}
