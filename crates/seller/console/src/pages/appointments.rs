//! The calendar as day, week and list. Occupied places come from the same store query that the agent books by.

use askama::Template;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use tradepost_admin::AdminOperation;
use tradepost_admin::appointments::rooftop_of;
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::calendar::{BlockedTime, Calendar, Department, Visit};
use tradepost_dealer::record::AppointmentState;
use tradepost_dealer::settings::{DealerSettings, RooftopSettings};
use tradepost_document::catalog::Vocabulary as _;

use self::day_list::{DayList, ListedRooftop, ListedVisit};
use self::grid::{CalendarGrid, GridSource};
use super::change_forms::ChangeForms;
use super::{
    Answer, Console, ConsoleReply, Local, PATH, PageError, PageFrame, ShownMoment, Visitor, headed,
    inbox,
};
use crate::calendar_place::{CalendarPlace, CalendarView, HiddenField};

mod day_list;
mod grid;

/// Number of days in the week and in the list.
const DAYS: i64 = 7;

#[derive(Debug, Template)]
#[template(path = "appointments.html")]
struct AppointmentsPage {
    frame: PageFrame,
    period: String,
    views: Vec<PlaceLink>,
    rooftops: Vec<PlaceLink>,
    departments: Vec<PlaceLink>,
    waiting: Vec<WaitingVisit>,
    grid: Option<CalendarGrid>,
    days: Vec<CalendarDay>,
    /// Appointments at rooftops that the configuration does not have any more.
    elsewhere: Vec<ListedVisit>,
    blocking: Vec<BlockForm>,
    feeds: Vec<FeedForm>,
    place: Vec<HiddenField>,
    /// The same for the field of the date, whose form is a query.
    query: Vec<HiddenField>,
    date: String,
    earlier: String,
    later: String,
    today: String,
}

/// The page with the address of a new calendar feed, which is shown once.
#[derive(Debug, Template)]
#[template(path = "calendar-feed.html")]
pub(crate) struct FeedPage {
    pub(crate) frame: PageFrame,
    pub(crate) rooftop: String,
    pub(crate) address: String,
    pub(crate) is_renewed: bool,
    pub(crate) back: String,
}

/// A link to another view, rooftop or department.
#[derive(Debug)]
struct PlaceLink {
    label: String,
    href: String,
    is_here: bool,
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
    rooftops: Vec<ListedRooftop>,
}

impl CalendarDay {
    /// Returns true for a day without appointments and blocked times.
    fn is_quiet(&self) -> bool {
        self.rooftops.iter().all(|one| one.visits.is_empty() && one.blocks.is_empty())
    }
}

/// The form that blocks a time of a dealer.
#[derive(Debug)]
struct BlockForm {
    dealer_id: String,
    dealer: String,
    rooftops: Vec<String>,
}

/// The forms for the calendar feed of a rooftop.
#[derive(Debug)]
struct FeedForm {
    dealer_id: String,
    rooftop: String,
    /// Time of its creation and the last day of its use, if there is a feed.
    since: Option<ShownMoment>,
    last_used: Option<String>,
}

/// A rooftop with its dealer.
#[derive(Debug, Clone, Copy)]
struct RooftopOf<'a> {
    dealer: &'a DealerSettings,
    rooftop: &'a RooftopSettings,
}

impl<'a> RooftopOf<'a> {
    /// Returns the rooftop's appointments.
    fn visits<'c>(&self, calendar: &'c Calendar) -> Vec<&'c Visit> {
        let is_here = |visit: &&Visit| {
            visit.lead.dealer_id == self.dealer.id
                && visit.rooftop.as_deref().is_some_and(|name| self.rooftop.is_named(name))
        };
        calendar.visits.iter().filter(is_here).collect()
    }

    /// Returns the rooftop's blocked times.
    fn blocks<'c>(&self, calendar: &'c Calendar) -> Vec<&'c BlockedTime> {
        let is_here = |block: &&BlockedTime| {
            block.dealer_id == self.dealer.id && self.rooftop.is_named(&block.rooftop)
        };
        calendar.blocks.iter().filter(is_here).collect()
    }

    /// Returns the rooftops that a place names: all when it names none.
    ///
    /// # Errors
    /// When it names one that the visitor does not see.
    fn choose(
        dealers: &[&'a DealerSettings],
        place: &CalendarPlace,
    ) -> Result<Vec<Self>, PageError> {
        let all = Self::all(dealers);
        let is_meant = |one: &&Self| {
            place.dealer_id.as_ref().is_none_or(|id| *id == one.dealer.id)
                && place.rooftop.as_ref().is_none_or(|name| one.rooftop.is_named(name))
        };
        let chosen: Vec<Self> = all.iter().filter(is_meant).copied().collect();
        let is_named = place.dealer_id.is_some() || place.rooftop.is_some();
        if chosen.is_empty() && is_named { Err(PageError::NotFound) } else { Ok(chosen) }
    }

    fn all(dealers: &[&'a DealerSettings]) -> Vec<Self> {
        let of = |dealer: &&'a DealerSettings| {
            let dealer: &'a DealerSettings = dealer;
            dealer.rooftops.iter().map(move |rooftop| Self { dealer, rooftop })
        };
        dealers.iter().flat_map(of).collect()
    }
}

/// What a page shows: the days, and the place with everything chosen.
struct ShownPeriod {
    view: CalendarView,
    date: Date,
    today: Date,
    days: Vec<Date>,
}

impl ShownPeriod {
    fn new(asked: &CalendarPlace, zone: &TimeZone, now: Timestamp) -> Self {
        let today = now.to_zoned(zone.clone()).date();
        let date = asked.date.unwrap_or(today);
        let view = asked.view.unwrap_or(CalendarView::Week);
        let first = match view {
            CalendarView::Day | CalendarView::List => date,
            CalendarView::Week => {
                let days = i64::from(date.weekday().to_monday_zero_offset());
                date.checked_sub(days.days()).unwrap_or(date)
            }
        };
        let count = if view == CalendarView::Day { 1 } else { DAYS };
        let days = (0..count).filter_map(|days| first.checked_add(days.days()).ok()).collect();
        Self { view, date, today, days }
    }

    /// Returns the period in words.
    fn words(&self) -> String {
        let [first, .., last] = self.days.as_slice() else {
            return self.date.strftime("%A, %B %-d, %Y").to_string();
        };
        format!("{} – {}", first.strftime("%B %-d"), last.strftime("%B %-d, %Y"))
    }

    /// Returns the day by which the next page begins, or the one before it.
    fn moved(&self, direction: i64) -> Date {
        let days = if self.view == CalendarView::Day { 1 } else { DAYS };
        self.date.checked_add((direction * days).days()).unwrap_or(self.date)
    }
}

/// The table of a day or a week, and the place with everything chosen.
struct ShownTable {
    place: CalendarPlace,
    departments: Vec<PlaceLink>,
    grid: Option<CalendarGrid>,
}

impl ShownTable {
    /// Returns the place of a page without a table.
    fn none(period: &ShownPeriod, asked: &CalendarPlace) -> Self {
        let view = Some(period.view);
        let date = Some(period.date);
        let place = CalendarPlace { view, date, department: None, ..asked.clone() };
        Self { place, departments: Vec::new(), grid: None }
    }

    /// Returns the table of a rooftop.
    fn new(source: &GridSource<'_>, period: &ShownPeriod, asked: &CalendarPlace) -> Self {
        let place = CalendarPlace {
            dealer_id: Some(source.of.dealer.id.clone()),
            rooftop: Some(source.of.rooftop.profile.name.clone()),
            ..Self::none(period, asked).place
        };
        if period.view == CalendarView::Day {
            let grid = Some(source.day(period.date));
            return Self { place, departments: Vec::new(), grid };
        }
        let used = source.used_departments();
        let first = used.first().copied().unwrap_or(Department::Sales);
        let department = asked.department.unwrap_or(first);
        let place = CalendarPlace { department: Some(department), ..place };
        let departments = department_links(&place, &used);
        let grid = source.week(department, |date| address_of_day(&place, date));
        Self { departments, grid: Some(grid), place }
    }
}

impl Console {
    pub(crate) fn appointments(&self, visitor: &Visitor<'_>) -> Answer {
        let now = self.clock.now();
        let sellers = self.dealers(visitor);
        let dealers: Vec<&DealerSettings> =
            sellers.iter().map(|seller| &seller.dealer.terms).collect();
        let asked = CalendarPlace::from_query(visitor.asked)?;
        let chosen = RooftopOf::choose(&dealers, &asked)?;
        let zone = chosen.first().map_or(TimeZone::UTC, |one| one.rooftop.time_zone.clone());
        let period = ShownPeriod::new(&asked, &zone, now);
        let calendar = self.calendar_of(visitor, &period, &zone)?;
        // The table is of one rooftop, the list of all.
        let shown = match period.view {
            CalendarView::Day | CalendarView::Week => chosen.get(..1).unwrap_or_default(),
            CalendarView::List => &chosen,
        };
        let table = match (shown, period.view) {
            ([of], CalendarView::Day | CalendarView::Week) => {
                let source = GridSource::new(*of, &calendar, &period.days, now);
                ShownTable::new(&source, &period, &asked)
            }
            (_, CalendarView::Day | CalendarView::Week | CalendarView::List) => {
                ShownTable::none(&period, &asked)
            }
        };
        let ShownTable { place, departments, grid } = table;
        let may_block = AdminOperation::BlockTime.permission().is_of(visitor.member.role);
        let list = DayList { calendar: &calendar, place: &place, now, may_block };
        let days = period.days.iter().map(|date| CalendarDay {
            label: date.strftime("%A, %B %-d").to_string(),
            is_today: *date == period.today,
            rooftops: shown.iter().map(|of| list.rooftop(*of, *date)).collect(),
        });
        let days = days.collect();
        let is_elsewhere = |visit: &&Visit| rooftop_of(dealers.iter().copied(), visit).is_none();
        let elsewhere = calendar.visits.iter().filter(is_elsewhere);
        let elsewhere =
            elsewhere.filter_map(|visit| ListedVisit::new(visit, None, &place, now)).collect();
        let waiting = self.store.waiting_visits(visitor.dealer_id())?;
        let waiting = waiting.iter().filter_map(|visit| {
            waiting_visit(visit, rooftop_of(dealers.iter().copied(), visit), &place, now)
        });
        let waiting = waiting.collect();
        let blocking = dealers.iter().filter(|_| may_block).map(|dealer| BlockForm {
            dealer_id: dealer.id.clone(),
            dealer: dealer.name.clone(),
            rooftops: dealer.rooftops.iter().map(|roof| roof.profile.name.clone()).collect(),
        });
        let at = |date: Option<Date>| CalendarPlace { date, ..place.clone() }.address(None);
        let page = AppointmentsPage {
            frame: self.frame(visitor, "Appointments")?,
            period: period.words(),
            views: view_links(&place),
            rooftops: rooftop_links(&place, &RooftopOf::all(&dealers)),
            departments,
            waiting,
            grid,
            days,
            elsewhere,
            blocking: blocking.collect(),
            feeds: self.feed_forms(visitor, shown)?,
            query: query_fields(&place),
            date: period.date.to_string(),
            earlier: at(Some(period.moved(-1))),
            later: at(Some(period.moved(1))),
            today: at(None),
            place: place.fields(),
        };
        Ok(ConsoleReply::page(&page))
    }

    fn calendar_of(
        &self,
        visitor: &Visitor<'_>,
        period: &ShownPeriod,
        zone: &TimeZone,
    ) -> Result<Calendar, PageError> {
        let now = self.clock.now();
        let first = period.days.first().copied().unwrap_or(period.date);
        let start = first.to_zoned(zone.clone()).map(|at| at.timestamp()).unwrap_or(now);
        // One day more at both ends, because rooftops are in several time zones.
        let day = SignedDuration::from_hours(24);
        let reach = |days: i32| start.saturating_add(day * days).unwrap_or(start);
        Ok(self.store.calendar(visitor.dealer_id(), reach(-1), reach(8))?)
    }

    /// Returns the forms for the calendar feeds of these rooftops, where the visitor may use them.
    fn feed_forms(
        &self,
        visitor: &Visitor<'_>,
        shown: &[RooftopOf<'_>],
    ) -> Result<Vec<FeedForm>, PageError> {
        if !AdminOperation::CreateCalendarFeed.permission().is_of(visitor.member.role) {
            return Ok(Vec::new());
        }
        let mut feeds = self.store.calendar_feeds(visitor.dealer_id())?;
        feeds.retain(|feed| feed.revoked_at.is_none());
        let form = |of: &RooftopOf<'_>| {
            let here = Local { zone: of.rooftop.time_zone.clone(), now: self.clock.now() };
            let feed = feeds
                .iter()
                .find(|feed| feed.dealer_id == of.dealer.id && of.rooftop.is_named(&feed.rooftop));
            FeedForm {
                dealer_id: of.dealer.id.clone(),
                rooftop: of.rooftop.profile.name.clone(),
                since: feed.map(|feed| here.when(feed.created_at)),
                last_used: feed.and_then(|feed| feed.last_used_on).map(|day| day.to_string()),
            }
        };
        Ok(shown.iter().map(form).collect())
    }

    pub(crate) fn help(&self, visitor: &Visitor<'_>) -> Answer {
        let page = HelpPage { frame: self.frame(visitor, "Keyboard shortcuts")? };
        Ok(ConsoleReply::page(&page))
    }
}

/// The page with the keyboard shortcuts, for browsers without scripts.
#[derive(Debug, Template)]
#[template(path = "help.html")]
struct HelpPage {
    frame: PageFrame,
}

fn view_links(place: &CalendarPlace) -> Vec<PlaceLink> {
    let link = |view: &CalendarView| PlaceLink {
        label: headed(view.name()),
        href: CalendarPlace { view: Some(*view), ..place.clone() }.address(None),
        is_here: place.view == Some(*view),
    };
    CalendarView::ALL.iter().map(link).collect()
}

/// Returns links to all rooftops when there are several, and in the list one to all together.
fn rooftop_links(place: &CalendarPlace, all: &[RooftopOf<'_>]) -> Vec<PlaceLink> {
    if all.len() < 2 {
        return Vec::new();
    }
    let together = PlaceLink {
        label: "All rooftops".to_owned(),
        href: CalendarPlace { dealer_id: None, rooftop: None, ..place.clone() }.address(None),
        is_here: place.rooftop.is_none(),
    };
    let together = (place.view == Some(CalendarView::List)).then_some(together);
    let link = |of: &RooftopOf<'_>| {
        let dealer_id = Some(of.dealer.id.clone());
        let rooftop = Some(of.rooftop.profile.name.clone());
        let is_here = place.rooftop.as_ref().is_some_and(|name| of.rooftop.is_named(name))
            && place.dealer_id == dealer_id;
        let place = CalendarPlace { dealer_id, rooftop, department: None, ..place.clone() };
        let label = of.rooftop.profile.name.clone();
        PlaceLink { label, href: place.address(None), is_here }
    };
    together.into_iter().chain(all.iter().map(link)).collect()
}

/// Returns links to the departments when there are several.
fn department_links(place: &CalendarPlace, used: &[Department]) -> Vec<PlaceLink> {
    let link = |department: &Department| PlaceLink {
        label: headed(department.name()),
        href: CalendarPlace { department: Some(*department), ..place.clone() }.address(None),
        is_here: place.department == Some(*department),
    };
    if used.len() < 2 { Vec::new() } else { used.iter().map(link).collect() }
}

fn address_of_day(place: &CalendarPlace, date: Date) -> String {
    let view = Some(CalendarView::Day);
    let day = CalendarPlace { view, date: Some(date), department: None, ..place.clone() };
    day.address(None)
}

/// Returns the fields of the form that chooses a date, without the date.
fn query_fields(place: &CalendarPlace) -> Vec<HiddenField> {
    let field = |name, value: Option<String>| value.map(|value| HiddenField { name, value });
    let fields = [
        field("view", place.view.map(|view| view.name().to_owned())),
        field("dealer", place.dealer_id.clone()),
        field("rooftop", place.rooftop.clone()),
        field("department", place.department.map(|department| department.name().to_owned())),
    ];
    fields.into_iter().flatten().collect()
}

fn waiting_visit(
    visit: &Visit,
    rooftop: Option<&RooftopSettings>,
    place: &CalendarPlace,
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
    let forms = ChangeForms::new(visit, rooftop, now);
    Some(WaitingVisit {
        href: format!("{PATH}/leads/{}", lead.lead_id),
        name: LeadView::new(lead).customer_name(),
        about: inbox::about(lead),
        state,
        when: here.when(lead.received_at),
        forms: forms.map(|forms| forms.with_place(place)),
    })
}

/// Formats a time of day: `11:00 AM PDT`.
fn clock_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%-I:%M %p %Z").to_string()
}
