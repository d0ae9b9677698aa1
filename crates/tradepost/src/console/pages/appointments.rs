//! Appointments by day and rooftop, with how much room there is.

use askama::Template;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::appointment::{Period, department, most_at_once, open_on};
use tradepost_dealer::record::{AppointmentState, LeadRecord};
use tradepost_dealer::settings::Rooftop;
use tradepost_wire::catalog::Vocabulary as _;

use super::{Answer, Console, Frame, Local, PATH, Reply, Visitor, When, counted, headed, inbox};

/// How many days are on a page.
const DAYS: i64 = 7;

/// How wide a slot is drawn, its gap included.
const CELL: usize = 10;

#[derive(Debug, Template)]
#[template(path = "console/appointments.html")]
struct Page {
    frame: Frame,
    waiting: Vec<Waiting>,
    days: Vec<Day>,
    earlier: String,
    later: String,
    today: String,
}

/// A visit for which a time has to be found.
#[derive(Debug)]
struct Waiting {
    href: String,
    name: String,
    about: String,
    state: &'static str,
    when: When,
}

#[derive(Debug)]
struct Day {
    label: String,
    is_today: bool,
    rooftops: Vec<Roof>,
}

#[derive(Debug)]
struct Roof {
    name: String,
    strips: Vec<Strip>,
    visits: Vec<Booked>,
}

/// A department's day, slot by slot.
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
}

impl Console {
    pub(in crate::console) fn appointments(&self, visitor: &Visitor<'_>) -> Answer {
        let now = self.clock.now();
        let dealers = self.dealers(visitor);
        let rooftops: Vec<_> = dealers
            .iter()
            .flat_map(|seller| seller.dealer.terms.rooftops.iter().map(move |it| (seller, it)))
            .collect();
        let zone = rooftops.first().map_or(TimeZone::UTC, |(_, it)| it.time_zone.clone());
        let today = now.to_zoned(zone.clone()).date();
        let from =
            visitor.asked.asked_for("from").and_then(|text| text.parse().ok()).unwrap_or(today);
        let moved = |days: i64| from.checked_add(days.days()).unwrap_or(from);
        let start = from.to_zoned(zone).map(|at| at.timestamp()).unwrap_or(now);
        // A day more at both ends, because rooftops are in several zones.
        let day = SignedDuration::from_hours(24);
        let reach = |at: Timestamp, days: i32| at.saturating_add(day * days).unwrap_or(at);
        let (first, last) = (reach(start, -1), reach(start, 8));
        let found = self.store.visits(visitor.dealer_id(), first, last)?;
        let leads: Vec<_> = found.into_iter().map(|(lead, _)| lead).collect();
        let days = (0..DAYS).map(moved).map(|date| Day {
            label: date.strftime("%A, %B %-d").to_string(),
            is_today: date == today,
            rooftops: rooftops
                .iter()
                .map(|(seller, rooftop)| {
                    let own = |lead: &&LeadRecord| {
                        lead.dealer_id == seller.dealer.terms.id
                            && lead.submission.rooftop.as_ref() == Some(&rooftop.profile.name)
                    };
                    roof(rooftop, &leads.iter().filter(own).collect::<Vec<_>>(), date)
                })
                .collect(),
        });
        let link = |date: Date| format!("{PATH}/appointments?from={date}");
        let page = Page {
            frame: self.frame(visitor, "Appointments")?,
            waiting: leads.iter().filter_map(|lead| waiting(lead, now)).collect(),
            days: days.collect(),
            earlier: link(moved(-DAYS)),
            later: link(moved(DAYS)),
            today: format!("{PATH}/appointments"),
        };
        Ok(Reply::page(&page))
    }
}

fn waiting(lead: &LeadRecord, now: Timestamp) -> Option<Waiting> {
    let state = match lead.appointment.as_ref()?.state {
        AppointmentState::Requested => "a time has to be found",
        AppointmentState::Proposed => "other times were proposed",
        AppointmentState::Confirmed | AppointmentState::Rejected | AppointmentState::Superseded => {
            return None;
        }
    };
    Some(Waiting {
        href: format!("{PATH}/leads/{}", lead.lead_id),
        name: LeadView::new(lead).customer_name(),
        about: inbox::about(lead),
        state,
        when: Local { zone: lead.zone(), now }.when(lead.received_at),
    })
}

fn roof(rooftop: &Rooftop, leads: &[&LeadRecord], date: Date) -> Roof {
    let zone = &rooftop.time_zone;
    let on_the_day = |at: Timestamp| at.to_zoned(zone.clone()).date() == date;
    let booked: Vec<_> = leads
        .iter()
        .filter_map(|lead| {
            let it = lead.appointment.as_ref()?;
            let period = (it.starts_at?, it.ends_at?);
            on_the_day(period.0).then_some((*lead, it, period))
        })
        .collect();
    let strips = ["sales", "service"].into_iter().filter_map(|name| {
        let periods = booked.iter().filter(|(_, it, _)| department(it.kind) == name);
        let periods: Vec<Period> = periods.map(|(.., period)| *period).collect();
        strip(rooftop, name, date, &periods)
    });
    let visits = booked.iter().map(|(lead, it, period)| Booked {
        time: period.0.to_zoned(zone.clone()).strftime("%-I:%M %p").to_string(),
        iso: tradepost_wire::format::rfc3339(period.0),
        kind: headed(it.kind.name()),
        name: LeadView::new(lead).customer_name(),
        about: LeadView::new(lead).vehicle().map(|it| it.title()).unwrap_or_default(),
        href: format!("{PATH}/leads/{}", lead.lead_id),
    });
    Roof { name: rooftop.profile.name.clone(), strips: strips.collect(), visits: visits.collect() }
}

fn strip(rooftop: &Rooftop, name: &str, date: Date, booked: &[Period]) -> Option<Strip> {
    let (open, close) = open_on(rooftop, name, date)?;
    // With a step of nothing the day would never end.
    let step = SignedDuration::from_mins(i64::from(rooftop.appointments.slot_minutes.max(1)));
    let starts = std::iter::successors(Some(open), |start| start.checked_add(step).ok());
    let capacity = rooftop.appointments.capacity as usize;
    let loads: Vec<usize> = starts
        .take_while(|start| *start < close)
        .map(|start| most_at_once(booked, (start, start.saturating_add(step).unwrap_or(close))))
        .collect();
    let class = |load: usize| match load {
        0 => "free",
        load if load < capacity => "part",
        _ => "full",
    };
    let cells = loads.iter().enumerate().map(|(place, load)| (place * CELL, class(*load)));
    let full = loads.iter().filter(|load| **load >= capacity).count();
    let taken: usize = loads.iter().sum();
    let room = loads.len() * capacity;
    let time =
        |at: Timestamp| at.to_zoned(rooftop.time_zone.clone()).strftime("%-I:%M %p").to_string();
    Some(Strip {
        department: headed(name),
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
