//! Days and departments of a rooftop as a table: a row for each slot, a column for each day or department.

use std::collections::BTreeMap;

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::appointment::{day_slots, most_at_once, open_on};
use tradepost_dealer::calendar::{
    BlockedTime, Calendar, Department, OccupiedPeriod, TimePeriod, Visit,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;

use super::super::change_forms::ChangeForms;
use super::super::{PATH, headed};
use super::day_list::occupied;
use super::{RooftopOf, clock_time};

/// Format of a time of day without its zone.
const TIME_FORMAT: &str = "%-I:%M %p";

/// The table.
#[derive(Debug)]
pub(super) struct CalendarGrid {
    pub(super) caption: String,
    /// IANA name of the time zone of its times.
    pub(super) zone: String,
    pub(super) columns: Vec<GridColumn>,
    pub(super) rows: Vec<GridRow>,
    /// True when the columns are departments. An appointment stays in its department.
    pub(super) is_by_department: bool,
}

/// A day, or a department on one day.
#[derive(Debug)]
pub(super) struct GridColumn {
    pub(super) label: String,
    /// Address of the day.
    pub(super) href: Option<String>,
    /// Opening hours, or why it is closed.
    pub(super) hours: String,
    pub(super) is_today: bool,
}

/// A time of day.
#[derive(Debug)]
pub(super) struct GridRow {
    pub(super) label: String,
    pub(super) cells: Vec<GridCell>,
}

/// A slot of a column, or a time at which it is closed.
#[derive(Debug)]
pub(super) struct GridCell {
    pub(super) class: &'static str,
    /// Start of the slot with its offset from UTC, when an appointment can be moved there.
    pub(super) at: Option<String>,
    /// The slot in words, for screen readers.
    pub(super) name: String,
    /// Booked places of the capacity.
    pub(super) load: String,
    /// Reasons of the blocked times that begin here.
    pub(super) blocks: Vec<String>,
    pub(super) visits: Vec<GridVisit>,
}

/// An appointment that begins in a cell.
#[derive(Debug)]
pub(super) struct GridVisit {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) iso: String,
    pub(super) time: String,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) mark: Option<&'static str>,
    pub(super) may_move: bool,
}

/// Time of day of a row, in the order of a day. Where clocks are set back, the repeated hour follows the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RowKey {
    /// The time itself, or the end of its hour for one that is repeated.
    order: Time,
    time: Time,
    is_repeated: bool,
}

impl RowKey {
    fn new(at: &Zoned) -> Self {
        let time = at.time();
        let offset = at.time_zone().to_ambiguous_timestamp(at.datetime()).offset();
        let is_repeated = match offset {
            AmbiguousOffset::Fold { after, .. } => after == at.offset(),
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => false,
        };
        let last = Time::new(time.hour(), 59, 59, 999_999_999).unwrap_or(time);
        Self { order: if is_repeated { last } else { time }, time, is_repeated }
    }

    fn label(self, at: &Zoned) -> String {
        let format = if self.is_repeated { "%-I:%M %p %Z" } else { TIME_FORMAT };
        at.strftime(format).to_string()
    }
}

/// An appointment in its row.
struct PlacedVisit<'a> {
    key: RowKey,
    visit: &'a Visit,
}

/// A column before it is drawn.
struct Lane<'a> {
    date: Date,
    department: Department,
    slots: BTreeMap<RowKey, TimePeriod>,
    occupied: Vec<OccupiedPeriod>,
    visits: Vec<PlacedVisit<'a>>,
    blocks: Vec<&'a BlockedTime>,
}

/// Days of a department.
struct DepartmentLanes<'a> {
    department: Department,
    /// A lane for each day.
    lanes: Vec<Lane<'a>>,
}

impl DepartmentLanes<'_> {
    /// Returns true when there are hours or appointments on one of the days.
    fn is_used(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.slots.is_empty() || !lane.visits.is_empty())
    }
}

/// A rooftop with its calendar on some days, from which tables are made.
pub(super) struct GridSource<'a> {
    pub(super) of: RooftopOf<'a>,
    now: Timestamp,
    /// In the order of [`Department::ALL`].
    departments: Vec<DepartmentLanes<'a>>,
}

impl<'a> GridSource<'a> {
    /// Reads these days of a rooftop from its calendar.
    pub(super) fn new(
        of: RooftopOf<'a>,
        calendar: &'a Calendar,
        days: &[Date],
        now: Timestamp,
    ) -> Self {
        let visits = of.visits(calendar);
        let blocks = of.blocks(calendar);
        let mut source = Self { of, now, departments: Vec::new() };
        for department in Department::ALL.iter().copied() {
            let lane = |date: &Date| source.lane(*date, department, &visits, &blocks);
            let lanes = days.iter().map(lane).collect();
            source.departments.push(DepartmentLanes { department, lanes });
        }
        source
    }

    /// Returns the departments with hours or appointments on the days.
    pub(super) fn used_departments(&self) -> Vec<Department> {
        self.used().map(|one| one.department).collect()
    }

    /// Returns the days of a department, with a column for each. `address` has the page of a day.
    pub(super) fn week(
        &self,
        department: Department,
        address: impl Fn(Date) -> String,
    ) -> CalendarGrid {
        let chosen = self.departments.iter().filter(|one| one.department == department);
        let lanes: Vec<_> = chosen.flat_map(|one| &one.lanes).collect();
        let columns = lanes.iter().map(|lane| GridColumn {
            label: lane.date.strftime("%a %b %-d").to_string(),
            href: Some(address(lane.date)),
            hours: self.hours(lane),
            is_today: lane.date == self.today(),
        });
        let name = &self.of.rooftop.profile.name;
        CalendarGrid {
            caption: format!("Week of {name}: {department}"),
            zone: self.zone().iana_name().unwrap_or("UTC").to_owned(),
            columns: columns.collect(),
            rows: self.rows(&lanes),
            is_by_department: false,
        }
    }

    /// Returns one of the days, with a column for each department that is used.
    pub(super) fn day(&self, date: Date) -> CalendarGrid {
        let lanes = self.used().flat_map(|one| &one.lanes).filter(|lane| lane.date == date);
        let lanes: Vec<_> = lanes.collect();
        let columns = lanes.iter().map(|lane| GridColumn {
            label: headed(lane.department.name()),
            href: None,
            hours: self.hours(lane),
            is_today: false,
        });
        let day = date.strftime("%A, %B %-d");
        CalendarGrid {
            caption: format!("{day} at {}", self.of.rooftop.profile.name),
            zone: self.zone().iana_name().unwrap_or("UTC").to_owned(),
            columns: columns.collect(),
            rows: self.rows(&lanes),
            is_by_department: true,
        }
    }

    fn used(&self) -> impl Iterator<Item = &DepartmentLanes<'a>> {
        self.departments.iter().filter(|one| one.is_used())
    }

    fn zone(&self) -> &'a TimeZone {
        &self.of.rooftop.time_zone
    }

    fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone().clone())
    }

    fn today(&self) -> Date {
        self.local(self.now).date()
    }

    fn hours(&self, lane: &Lane<'_>) -> String {
        let rooftop = self.of.rooftop;
        match open_on(rooftop, lane.department.name(), lane.date) {
            Some(open) => {
                let clock = |at: Timestamp| self.local(at).strftime(TIME_FORMAT).to_string();
                format!("{} – {}", clock(open.start), clock(open.end))
            }
            None if rooftop.appointments.closed_on.contains(&lane.date) => {
                "Closed (holiday)".to_owned()
            }
            None => "Closed".to_owned(),
        }
    }

    fn lane(
        &self,
        date: Date,
        department: Department,
        visits: &[&'a Visit],
        blocks: &[&'a BlockedTime],
    ) -> Lane<'a> {
        let occupied = occupied(department, visits, blocks);
        let slots = day_slots(self.of.rooftop, department.name(), date);
        let slots: BTreeMap<RowKey, TimePeriod> =
            slots.into_iter().map(|slot| (RowKey::new(&self.local(slot.start)), slot)).collect();
        let of_department =
            visits.iter().copied().filter(|visit| visit.department == department.name());
        let placed = of_department.filter_map(|visit| {
            let starts_at = visit.appointment.starts_at?;
            let local = self.local(starts_at);
            let holds = |slot: &TimePeriod| slot.start <= starts_at && starts_at < slot.end;
            let slot = slots.iter().find(|(_, slot)| holds(slot));
            // A booking outside of the opening hours has a row of its own.
            let key = slot.map_or_else(|| RowKey::new(&local), |(key, _)| *key);
            (local.date() == date).then_some(PlacedVisit { key, visit })
        });
        let visits = placed.collect();
        let blocks = blocks.iter().copied().filter(|block| block.department == department);
        let blocks = blocks.collect();
        Lane { date, department, slots, occupied, visits, blocks }
    }

    fn rows(&self, lanes: &[&Lane<'a>]) -> Vec<GridRow> {
        let mut labels: BTreeMap<RowKey, String> = BTreeMap::new();
        for lane in lanes {
            for (key, slot) in &lane.slots {
                labels.entry(*key).or_insert_with(|| key.label(&self.local(slot.start)));
            }
            for placed in &lane.visits {
                let starts_at = placed.visit.appointment.starts_at.unwrap_or(self.now);
                let label = || placed.key.label(&self.local(starts_at));
                labels.entry(placed.key).or_insert_with(label);
            }
        }
        let row = |(key, label): (RowKey, String)| GridRow {
            label,
            cells: lanes.iter().map(|lane| self.cell(lane, key)).collect(),
        };
        labels.into_iter().map(row).collect()
    }

    fn cell(&self, lane: &Lane<'a>, key: RowKey) -> GridCell {
        let visits = lane.visits.iter().filter(|placed| placed.key == key);
        let visits = visits.map(|placed| self.visit(placed.visit)).collect();
        let Some(slot) = lane.slots.get(&key).copied() else {
            return GridCell {
                class: "closed",
                at: None,
                name: "closed".to_owned(),
                load: String::new(),
                blocks: Vec::new(),
                visits,
            };
        };
        let TimePeriod { start, end } = slot;
        let capacity = self.of.rooftop.appointments.capacity;
        let load = most_at_once(&lane.occupied, slot, capacity);
        let overlapping = || {
            lane.blocks.iter().filter(move |block| block.starts_at < end && block.ends_at > start)
        };
        let is_blocked =
            overlapping().any(|block| block.places.is_none_or(|places| places >= capacity));
        let words = match load {
            _ if is_blocked => "blocked".to_owned(),
            load if load >= capacity => format!("full, {load} of {capacity}"),
            load => format!("{load} of {capacity}"),
        };
        let is_past = start < self.now;
        let class = match load {
            _ if is_past => "past",
            _ if is_blocked => "blocked",
            0 => "free",
            load if load < capacity => "part",
            _ => "full",
        };
        // A block that has begun before is named in the first slot of the day.
        let first = lane.slots.values().map(|slot| slot.start).min().unwrap_or(start);
        let begins_here = |block: &&&BlockedTime| {
            let begins = block.starts_at.max(first);
            start <= begins && begins < end
        };
        let local = self.local(start);
        let name = local.strftime("%A %B %-d, %-I:%M %p").to_string();
        GridCell {
            class,
            at: (!is_past).then(|| local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()),
            name: format!("{name}: {words}"),
            load: words,
            blocks: overlapping().filter(begins_here).map(|block| block.reason.clone()).collect(),
            visits,
        }
    }

    fn visit(&self, visit: &Visit) -> GridVisit {
        let starts_at = visit.appointment.starts_at.unwrap_or(self.now);
        let forms = ChangeForms::new(visit, Some(self.of.rooftop), self.now);
        GridVisit {
            id: visit.appointment.appointment_id.clone(),
            href: format!("{PATH}/leads/{}", visit.lead.lead_id),
            iso: rfc3339(starts_at),
            time: clock_time(starts_at, self.zone()),
            name: LeadView::new(&visit.lead).customer_name(),
            kind: headed(visit.appointment.kind.name()),
            mark: visit.remark(),
            may_move: forms.is_some_and(|forms| forms.may_move),
        }
    }
}
