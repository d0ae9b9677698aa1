//! Readers for rooftops: the data of `dealer.information`, fees and appointments.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use tradepost_aap::dealer::{
    Address, DayHours, Geo, NamedValue, Rooftop as Profile, Schedule, WeeklyHours,
};
use tradepost_aap::lead::AppointmentType;
use tradepost_dealer::appointment::department;
use tradepost_dealer::settings::{AppointmentPolicy, Fee, RooftopSettings};
use tradepost_document::format;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};

use super::values::{
    self, duration, line, list, prose, read_over, read_table, reject, some, whole,
};

/// Reads `[[dealers.rooftops]]`.
pub(super) fn rooftop(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<RooftopSettings> {
    read_table!(value, at, problems, RooftopSettings { profile: Profile, time_zone } {
        required "name" => .name: line(200),
        optional "feed_names" => feed_names: list(0, None, line(200)) => Vec::new(),
        optional "legal_name" => .legal_name: line(200),
        optional "website" => .website: values::web_page,
        optional "geo" => .geo: read_geo,
        optional "emails" => .emails: contacts(parse::email) => Vec::new(),
        optional "phones" => .phones: contacts(parse::phone) => Vec::new(),
        optional "address" => .address: read_address => None,
        optional "timezone" => .timezone: values::time_zone,
        optional "notes" => .notes: prose(2_000),
        optional "capabilities" => .capabilities: list(0, None, line(100)) => Vec::new(),
        optional "schedules" => .schedules: read_schedules => Vec::new(),
        optional "fees" => fees: list(0, None, fee) => Vec::new(),
        optional "appointments" => appointments: read_appointments => AppointmentPolicy::default(),
    } then {
        if let Some(AppointmentPolicy { types, .. }) = &appointments
            && !types.is_empty()
        {
            check_appointments(types, schedules.as_deref(), value, at, problems);
        }
        let (timezone, time_zone) = timezone.unzip();
        let time_zone = time_zone.unwrap_or(TimeZone::UTC);
    })
}

/// Checks that a rooftop with appointments has opening hours and a time zone.
fn check_appointments(
    types: &[AppointmentType],
    schedules: Option<&[Schedule]>,
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) {
    let has = |key| value.get(key).is_some();
    let at = at.key("appointments");
    let at = at.key("types");
    if !has("timezone") {
        reject(&at, problems, "offering appointments needs the rooftop's timezone");
    }
    // A schedule that could not be read has its own mistake.
    if schedules.is_none() && has("schedules") {
        return;
    }
    let closed = WeeklyHours::default();
    for department in BTreeSet::from_iter(types.iter().map(|kind| department(*kind))) {
        let is_open = |schedule: &Schedule| {
            schedule.name.as_deref() == Some(department) && schedule.value != closed
        };
        if !schedules.unwrap_or_default().iter().any(is_open) {
            let message = format!(
                "offering these appointments needs a day on which schedules.{department} is open"
            );
            reject(&at, problems, message);
        }
    }
}

fn read_geo(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Geo> {
    read_table!(value, at, problems, Geo {
        required "latitude" => latitude: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            parse::number(v, at, p, -90, Some(90))
        },
        required "longitude" => longitude: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            parse::number(v, at, p, -180, Some(180))
        },
    })
}

/// Reads contacts: each is `{ name = "Sales", value = "…" }`, or the value alone.
fn contacts(
    read: fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<String>,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<Vec<NamedValue>> {
    list(0, None, move |value, at, problems| {
        if value.is_string() {
            let value = read(value, at, problems)?;
            return Some(NamedValue { name: None, value });
        }
        read_object!(value, at, problems, closed {
            optional "name" => name: line(100),
            required "value" => contact: read,
        });
        Some(NamedValue { name, value: contact? })
    })
}

/// Reads an address; the inner `None` is an empty table.
fn read_address(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Option<Address>> {
    let address = read_over!(value, at, problems, Address::default(), {
        "address_line_1" => address_line_1: some(line(200)),
        "address_line_2" => address_line_2: some(line(200)),
        "city" => city: some(line(100)),
        "state" => state: some(line(100)),
        "zip" => zip: some(line(20)),
        "country" => country: some(line(100)),
    });
    Some(Some(address).filter(|address| *address != Address::default()))
}

/// Reads hours by department; a department without a table has no schedule.
fn read_schedules(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<Schedule>> {
    let before = problems.total();
    read_object!(value, at, problems, closed {
        optional "sales" => sales: week,
        optional "service" => service: week,
        optional "parts" => parts: week,
    });
    if problems.total() > before {
        return None;
    }
    let departments = [("sales", sales), ("service", service), ("parts", parts)];
    let named = departments
        .into_iter()
        .filter_map(|(name, hours)| Some(Schedule { name: Some(name.to_owned()), value: hours? }));
    Some(named.collect())
}

fn week(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<WeeklyHours> {
    Some(read_over!(value, at, problems, WeeklyHours::default(), {
        "monday" => monday: day,
        "tuesday" => tuesday: day,
        "wednesday" => wednesday: day,
        "thursday" => thursday: day,
        "friday" => friday: day,
        "saturday" => saturday: day,
        "sunday" => sunday: day,
    }))
}

/// Reads `09:00-18:00`, or `closed`.
fn day(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Option<DayHours>> {
    let text = parse::str(value, at, problems)?;
    if text == "closed" {
        return Some(None);
    }
    let hours = text
        .split_once('-')
        .map(|(open, close)| (open.trim(), close.trim()))
        .filter(|(open, close)| format::is_time_of_day(open) && format::is_time_of_day(close));
    let Some((open, close)) = hours else {
        reject(at, problems, "must be hours such as \"09:00-18:00\", or \"closed\"");
        return None;
    };
    // Both have the form HH:MM, so their texts sort like the times.
    if open >= close {
        reject(at, problems, "must open before it closes, on the same day");
        return None;
    }
    Some(Some(DayHours { open: open.to_owned(), close: close.to_owned() }))
}

fn fee(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Fee> {
    read_table!(value, at, problems, Fee {
        required "name" => name: line(100),
        required "amount" => amount: whole(0, 100_000),
    })
}

fn read_appointments(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AppointmentPolicy> {
    fn read_types(
        value: &Value,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
    ) -> Option<Vec<AppointmentType>> {
        let types = parse::list(value, at, problems, (0, None), parse::word);
        parse::unique(value, at, problems);
        types
    }
    Some(read_over!(value, at, problems, AppointmentPolicy::default(), {
        "types" => types: read_types,
        "slot_minutes" => slot_minutes: whole(15, 480),
        "capacity" => capacity: whole(1, 1_000),
        "notice" => notice: duration("0s", "365d"),
        "horizon_days" => horizon_days: whole(1, 365),
        "closed_on" => closed_on: list(0, None, values::date),
        "calendar_feed" => calendar_feed: parse::word,
    }))
}
