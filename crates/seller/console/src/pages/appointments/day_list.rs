//! Days as a list: each rooftop with the hours and places of its departments, its appointments with their forms, and
//! its blocked times.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::appointment::{most_at_once, open_on};
use tradepost_dealer::calendar::{
    BlockedTime, Calendar, Department, OccupiedPeriod, TimePeriod, Visit,
};
use tradepost_dealer::settings::RooftopSettings;
use tradepost_document::catalog::Vocabulary as _;

use super::super::change_forms::ChangeForms;
use super::super::{PATH, counted, headed};
use super::{RooftopOf, clock_time};
use crate::calendar_place::CalendarPlace;

/// Width of a slot in the drawing, with its gap.
const SLOT_WIDTH: usize = 10;

/// A rooftop on one day.
#[derive(Debug)]
pub(super) struct ListedRooftop {
    pub(super) name: String,
    /// IANA name of the time zone of its times.
    pub(super) zone: String,
    /// True when the rooftop is closed on this date although its department is open on this day of the week.
    pub(super) is_holiday: bool,
    pub(super) strips: Vec<CapacityStrip>,
    pub(super) visits: Vec<ListedVisit>,
    pub(super) blocks: Vec<ListedBlock>,
}

/// Slots of a department on one day.
#[derive(Debug)]
pub(super) struct CapacityStrip {
    pub(super) department: String,
    pub(super) hours: String,
    pub(super) summary: String,
    pub(super) width: usize,
    pub(super) cells: Vec<(usize, &'static str)>,
}

/// An appointment with its forms.
#[derive(Debug)]
pub(super) struct ListedVisit {
    pub(super) id: String,
    pub(super) time: String,
    pub(super) iso: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) href: String,
    /// Warning about the lead.
    pub(super) mark: Option<&'static str>,
    pub(super) forms: Option<ChangeForms>,
}

/// A blocked time.
#[derive(Debug)]
pub(super) struct ListedBlock {
    pub(super) id: String,
    pub(super) time: String,
    pub(super) what: String,
    pub(super) may_remove: bool,
}

/// What the days of a page have in common.
pub(super) struct DayList<'a> {
    pub(super) calendar: &'a Calendar,
    pub(super) place: &'a CalendarPlace,
    pub(super) now: Timestamp,
    /// True when the visitor may block times and release them.
    pub(super) may_block: bool,
}

impl ListedVisit {
    /// Returns an appointment as the calendar shows it; `None` without an agreed time. `rooftop` is `None`
    /// when the configuration does not have it any more.
    pub(super) fn new(
        visit: &Visit,
        rooftop: Option<&RooftopSettings>,
        place: &CalendarPlace,
        now: Timestamp,
    ) -> Option<Self> {
        let starts_at = visit.appointment.starts_at?;
        let zone = rooftop.map_or_else(|| visit.lead.zone(), |known| known.time_zone.clone());
        let lead = &visit.lead;
        let view = LeadView::new(lead);
        let forms = ChangeForms::new(visit, rooftop, now);
        Some(Self {
            id: visit.appointment.appointment_id.clone(),
            time: clock_time(starts_at, &zone),
            iso: tradepost_document::format::rfc3339(starts_at),
            kind: headed(visit.appointment.kind.name()),
            name: view.customer_name(),
            about: view.vehicle().map(|vehicle| vehicle.title()).unwrap_or_default(),
            href: format!("{PATH}/leads/{}", lead.lead_id),
            mark: visit.remark(),
            forms: forms.map(|forms| forms.with_place(place)),
        })
    }
}

impl DayList<'_> {
    /// Returns a rooftop on a day.
    pub(super) fn rooftop(&self, of: RooftopOf<'_>, date: Date) -> ListedRooftop {
        let rooftop = of.rooftop;
        let zone = &rooftop.time_zone;
        let date_of = |at: Timestamp| at.to_zoned(zone.clone()).date();
        let visits = of.visits(self.calendar);
        let blocks = of.blocks(self.calendar);
        let strips = Department::ALL.iter().filter_map(|department| {
            let occupied = occupied(*department, &visits, &blocks);
            strip(rooftop, *department, date, &occupied)
        });
        let strips = strips.collect();
        let today = visits
            .iter()
            .filter(|visit| visit.appointment.starts_at.is_some_and(|at| date_of(at) == date));
        let today =
            today.filter_map(|visit| ListedVisit::new(visit, Some(rooftop), self.place, self.now));
        // A period of several days is shown on each of them.
        let last_moment = |block: &BlockedTime| {
            block.ends_at.saturating_sub(SignedDuration::from_millis(1)).unwrap_or(block.ends_at)
        };
        let blocked = blocks.iter().filter(|block| {
            (date_of(block.starts_at)..=date_of(last_moment(block))).contains(&date)
        });
        let blocked = blocked.map(|block| self.block(block, zone));
        ListedRooftop {
            name: rooftop.profile.name.clone(),
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            is_holiday: rooftop.appointments.closed_on.contains(&date),
            strips,
            visits: today.collect(),
            blocks: blocked.collect(),
        }
    }

    fn block(&self, block: &BlockedTime, zone: &TimeZone) -> ListedBlock {
        let short = |at: Timestamp| tradepost_dealer::local_time::short(at, zone, self.now);
        let places = match block.places {
            Some(places) => counted(places as usize, "place", "places"),
            None => "all places".to_owned(),
        };
        let department = headed(block.department.name());
        ListedBlock {
            id: block.block_id.clone(),
            time: format!("{} – {}", short(block.starts_at), short(block.ends_at)),
            what: format!("{department}, {places}: {}", block.reason),
            may_remove: self.may_block,
        }
    }
}

/// Returns the occupied periods of a department at a rooftop.
pub(super) fn occupied(
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
) -> Option<CapacityStrip> {
    let open = open_on(rooftop, department.name(), date)?;
    // A step of zero would never reach the end of the day.
    let step = SignedDuration::from_mins(i64::from(rooftop.appointments.slot_minutes.max(1)));
    let starts = std::iter::successors(Some(open.start), |start| start.checked_add(step).ok());
    let capacity = rooftop.appointments.capacity;
    let load = |start: Timestamp| {
        let end = start.saturating_add(step).unwrap_or(open.end);
        most_at_once(occupied, TimePeriod { start, end }, capacity) as usize
    };
    let loads: Vec<usize> = starts.take_while(|start| *start < open.end).map(load).collect();
    let capacity = capacity as usize;
    let class = |load: usize| match load {
        0 => "free",
        load if load < capacity => "part",
        _ => "full",
    };
    let cells = loads.iter().enumerate().map(|(place, load)| (place * SLOT_WIDTH, class(*load)));
    let full = loads.iter().filter(|load| **load >= capacity).count();
    let taken: usize = loads.iter().sum();
    let room = loads.len() * capacity;
    let time = |at: Timestamp| clock_time(at, &rooftop.time_zone);
    Some(CapacityStrip {
        department: headed(department.name()),
        hours: format!("{} – {}", time(open.start), time(open.end)),
        summary: match (taken, full) {
            (0, _) => "free all day".to_owned(),
            (taken, 0) => format!("{taken} of {room} places taken"),
            (taken, full) => format!(
                "{taken} of {room} places taken, full at {}",
                counted(full, "time", "times")
            ),
        },
        width: loads.len() * SLOT_WIDTH,
        cells: cells.collect(),
    })
}
