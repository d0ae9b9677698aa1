//! Appointments by day and rooftop, with the free places. Occupied places come from the same store query
//! that the agent books by.

use askama::Template;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use tradepost_admin::AdminOperation;
use tradepost_admin::appointments::rooftop_of;
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::appointment::{most_at_once, open_on};
use tradepost_dealer::calendar::{BlockedTime, Calendar, Department, OccupiedPeriod, Visit};
use tradepost_dealer::record::{AppointmentState, LeadState};
use tradepost_dealer::settings::{DealerSettings, RooftopSettings};
use tradepost_dealer::staff::StaffStage;
use tradepost_document::catalog::Vocabulary as _;

use super::change_forms::ChangeForms;
use super::{
    Answer, Console, ConsoleReply, Local, PATH, PageFrame, ShownMoment, Visitor, counted, headed,
    inbox,
};

/// Number of days on a page.
const DAYS: i64 = 7;

/// Width of a slot in the drawing, with its gap.
const CELL: usize = 10;

#[derive(Debug, Template)]
#[template(path = "console/appointments.html")]
struct AppointmentsPage {
    frame: PageFrame,
    waiting: Vec<WaitingVisit>,
    days: Vec<CalendarDay>,
    /// Appointments at rooftops that the configuration does not have any more.
    elsewhere: Vec<Booked>,
    blocking: Vec<BlockForm>,
    week: String,
    earlier: String,
    later: String,
    today: String,
}

/// An appointment without an agreed time.
#[derive(Debug)]
struct WaitingVisit {
    href: String,
    name: String,
    about: String,
    state: &'static str,
    when: ShownMoment,
    forms: Option<ChangeForms>,
}

#[derive(Debug)]
struct CalendarDay {
    label: String,
    is_today: bool,
    rooftops: Vec<Roof>,
}

#[derive(Debug)]
struct Roof {
    name: String,
    /// IANA name of the time zone of its times.
    zone: String,
    strips: Vec<Strip>,
    visits: Vec<Booked>,
    blocks: Vec<ShownBlock>,
}

/// Slots of a department on one day.
#[derive(Debug)]
struct Strip {
    department: String,
    hours: String,
    summary: String,
    width: usize,
    cells: Vec<(usize, &'static str)>,
}

#[derive(Debug)]
struct Booked {
    time: String,
    iso: String,
    kind: String,
    name: String,
    about: String,
    href: String,
    /// Warning about the lead.
    mark: Option<&'static str>,
    forms: Option<ChangeForms>,
}

/// A blocked time.
#[derive(Debug)]
struct ShownBlock {
    id: String,
    time: String,
    what: String,
    may_remove: bool,
}

/// The form that blocks a time of a dealer.
#[derive(Debug)]
struct BlockForm {
    dealer_id: String,
    dealer: String,
    rooftops: Vec<String>,
}

impl Console {
    pub(in crate::console) fn appointments(&self, visitor: &Visitor<'_>) -> Answer {
        let now = self.clock.now();
        let sellers = self.dealers(visitor);
        let dealers: Vec<&DealerSettings> =
            sellers.iter().map(|seller| &seller.dealer.terms).collect();
        let first = dealers.iter().flat_map(|dealer| &dealer.rooftops).next();
        let zone = first.map_or(TimeZone::UTC, |rooftop| rooftop.time_zone.clone());
        let today = now.to_zoned(zone.clone()).date();
        let from =
            visitor.asked.asked_for("from").and_then(|text| text.parse().ok()).unwrap_or(today);
        let moved = |days: i64| from.checked_add(days.days()).unwrap_or(from);
        let start = from.to_zoned(zone).map(|at| at.timestamp()).unwrap_or(now);
        // One day more at both ends, because rooftops are in several time zones.
        let day = SignedDuration::from_hours(24);
        let reach = |at: Timestamp, days: i32| at.saturating_add(day * days).unwrap_or(at);
        let calendar =
            self.store.calendar(visitor.dealer_id(), reach(start, -1), reach(start, 8))?;
        let may_block = AdminOperation::BlockTime.permission().is_of(visitor.member.role);
        let days = (0..DAYS).map(moved).map(|date| {
            let view = DayView { calendar: &calendar, date, now, may_block };
            let rooftops = dealers.iter().flat_map(|dealer| {
                dealer.rooftops.iter().map(|rooftop| view.roof(&dealer.id, rooftop))
            });
            CalendarDay {
                label: date.strftime("%A, %B %-d").to_string(),
                is_today: date == today,
                rooftops: rooftops.collect(),
            }
        });
        let days = days.collect();
        let is_elsewhere = |visit: &&Visit| rooftop_of(dealers.iter().copied(), visit).is_none();
        let elsewhere = calendar.visits.iter().filter(is_elsewhere);
        let elsewhere = elsewhere.filter_map(|visit| booked(visit, None, now));
        let link = |date: Date| format!("{PATH}/appointments?from={date}");
        let waiting = self.store.waiting_visits(visitor.dealer_id())?;
        let blocking = dealers.iter().filter(|_| may_block).map(|dealer| BlockForm {
            dealer_id: dealer.id.clone(),
            dealer: dealer.name.clone(),
            rooftops: dealer.rooftops.iter().map(|roof| roof.profile.name.clone()).collect(),
        });
        let page = AppointmentsPage {
            frame: self.frame(visitor, "Appointments")?,
            waiting: waiting
                .iter()
                .filter_map(|visit| {
                    self::waiting(visit, rooftop_of(dealers.iter().copied(), visit), now)
                })
                .collect(),
            days,
            elsewhere: elsewhere.collect(),
            blocking: blocking.collect(),
            week: from.to_string(),
            earlier: link(moved(-DAYS)),
            later: link(moved(DAYS)),
            today: format!("{PATH}/appointments"),
        };
        Ok(ConsoleReply::page(&page))
    }
}

fn waiting(
    visit: &Visit,
    rooftop: Option<&RooftopSettings>,
    now: Timestamp,
) -> Option<WaitingVisit> {
    let state = match visit.appointment.state {
        AppointmentState::Requested => "no agreed time yet",
        AppointmentState::Proposed => "other times proposed",
        AppointmentState::Confirmed
        | AppointmentState::Rejected
        | AppointmentState::Superseded
        | AppointmentState::Cancelled
        | AppointmentState::NoShow => return None,
    };
    let lead = &visit.lead;
    let here = Local { zone: lead.zone(), now };
    Some(WaitingVisit {
        href: format!("{PATH}/leads/{}", lead.lead_id),
        name: LeadView::new(lead).customer_name(),
        about: inbox::about(lead),
        state,
        when: here.when(lead.received_at),
        forms: ChangeForms::new(visit, rooftop, now),
    })
}

/// Returns true when an appointment is at this rooftop of the dealer.
fn is_at(visit: &Visit, dealer_id: &str, rooftop: &RooftopSettings) -> bool {
    visit.lead.dealer_id == dealer_id
        && visit.rooftop.as_deref().is_some_and(|name| rooftop.is_named(name))
}

/// Formats a time of day: `11:00 AM PDT`.
fn clock_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%-I:%M %p %Z").to_string()
}

/// Returns an appointment as the calendar shows it; `None` without an agreed time. `rooftop` is `None`
/// when the configuration does not have it any more.
fn booked(visit: &Visit, rooftop: Option<&RooftopSettings>, now: Timestamp) -> Option<Booked> {
    let starts_at = visit.appointment.starts_at?;
    let zone = rooftop.map_or_else(|| visit.lead.zone(), |known| known.time_zone.clone());
    let lead = &visit.lead;
    let view = LeadView::new(lead);
    let mark = match (lead.state, visit.progress.stage) {
        (LeadState::Revoked, _) => Some("consent withdrawn"),
        (LeadState::Erased, _) => Some("customer erased"),
        (LeadState::Held, _) => Some("lead held back"),
        (LeadState::Received, StaffStage::Lost) => Some("lead lost"),
        (LeadState::Received, StaffStage::New | StaffStage::Working | StaffStage::Sold) => None,
    };
    Some(Booked {
        time: clock_time(starts_at, &zone),
        iso: tradepost_document::format::rfc3339(starts_at),
        kind: headed(visit.appointment.kind.name()),
        name: view.customer_name(),
        about: view.vehicle().map(|vehicle| vehicle.title()).unwrap_or_default(),
        href: format!("{PATH}/leads/{}", lead.lead_id),
        mark,
        forms: ChangeForms::new(visit, rooftop, now),
    })
}

/// A day of the calendar.
struct DayView<'a> {
    calendar: &'a Calendar,
    date: Date,
    now: Timestamp,
    /// True when the visitor may block times and release them.
    may_block: bool,
}

impl DayView<'_> {
    fn roof(&self, dealer_id: &str, rooftop: &RooftopSettings) -> Roof {
        let zone = &rooftop.time_zone;
        let date_of = |at: Timestamp| at.to_zoned(zone.clone()).date();
        let visits = self.calendar.visits.iter().filter(|visit| is_at(visit, dealer_id, rooftop));
        let visits: Vec<&Visit> = visits.collect();
        let blocks = self
            .calendar
            .blocks
            .iter()
            .filter(|block| block.dealer_id == dealer_id && rooftop.is_named(&block.rooftop));
        let blocks: Vec<&BlockedTime> = blocks.collect();
        let strips = Department::ALL.iter().filter_map(|department| {
            let occupied = occupied(*department, &visits, &blocks);
            strip(rooftop, *department, self.date, &occupied)
        });
        let strips = strips.collect();
        let today = visits
            .iter()
            .filter(|visit| visit.appointment.starts_at.is_some_and(|at| date_of(at) == self.date));
        let today = today.filter_map(|visit| booked(visit, Some(rooftop), self.now));
        // A period of several days is shown on each of them.
        let last_moment = |block: &BlockedTime| {
            block.ends_at.saturating_sub(SignedDuration::from_millis(1)).unwrap_or(block.ends_at)
        };
        let blocked = blocks.iter().filter(|block| {
            (date_of(block.starts_at)..=date_of(last_moment(block))).contains(&self.date)
        });
        let blocked = blocked.map(|block| self.block(block, zone));
        Roof {
            name: rooftop.profile.name.clone(),
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            strips,
            visits: today.collect(),
            blocks: blocked.collect(),
        }
    }

    fn block(&self, block: &BlockedTime, zone: &TimeZone) -> ShownBlock {
        let short = |at: Timestamp| tradepost_dealer::local_time::short(at, zone, self.now);
        let places = match block.places {
            Some(places) => counted(places as usize, "place", "places"),
            None => "all places".to_owned(),
        };
        let department = headed(block.department.name());
        ShownBlock {
            id: block.block_id.clone(),
            time: format!("{} – {}", short(block.starts_at), short(block.ends_at)),
            what: format!("{department}, {places}: {}", block.reason),
            may_remove: self.may_block,
        }
    }
}

/// Returns the occupied periods of a department at a rooftop.
fn occupied(
    department: Department,
    visits: &[&Visit],
    blocks: &[&BlockedTime],
) -> Vec<OccupiedPeriod> {
    let visits = visits.iter().filter(|visit| visit.department == department.name());
    let booked = visits.filter_map(|visit| {
        Some(OccupiedPeriod {
            starts_at: visit.appointment.starts_at?,
            ends_at: visit.appointment.ends_at?,
            places: Some(1),
            held_by: visit.appointment.appointment_id.clone(),
        })
    });
    let blocks = blocks.iter().filter(|block| block.department == department);
    let blocked = blocks.map(|block| OccupiedPeriod {
        starts_at: block.starts_at,
        ends_at: block.ends_at,
        places: block.places,
        held_by: block.block_id.clone(),
    });
    booked.chain(blocked).collect()
}

fn strip(
    rooftop: &RooftopSettings,
    department: Department,
    date: Date,
    occupied: &[OccupiedPeriod],
) -> Option<Strip> {
    let (open, close) = open_on(rooftop, department.name(), date)?;
    // A step of zero would never reach the end of the day.
    let step = SignedDuration::from_mins(i64::from(rooftop.appointments.slot_minutes.max(1)));
    let starts = std::iter::successors(Some(open), |start| start.checked_add(step).ok());
    let capacity = rooftop.appointments.capacity;
    let load = |start: Timestamp| {
        let end = start.saturating_add(step).unwrap_or(close);
        most_at_once(occupied, (start, end), capacity) as usize
    };
    let loads: Vec<usize> = starts.take_while(|start| *start < close).map(load).collect();
    let capacity = capacity as usize;
    let class = |load: usize| match load {
        0 => "free",
        load if load < capacity => "part",
        _ => "full",
    };
    let cells = loads.iter().enumerate().map(|(place, load)| (place * CELL, class(*load)));
    let full = loads.iter().filter(|load| **load >= capacity).count();
    let taken: usize = loads.iter().sum();
    let room = loads.len() * capacity;
    let time = |at: Timestamp| clock_time(at, &rooftop.time_zone);
    Some(Strip {
        department: headed(department.name()),
        hours: format!("{} – {}", time(open), time(close)),
        summary: match (taken, full) {
            (0, _) => "free all day".to_owned(),
            (taken, 0) => format!("{taken} of {room} places taken"),
            (taken, full) => format!(
                "{taken} of {room} places taken, full at {}",
                counted(full, "time", "times")
            ),
        },
        width: loads.len() * CELL,
        cells: cells.collect(),
    })
}
