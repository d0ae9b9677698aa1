//! Readers for rooftops: what `dealer.information` tells about one, its fees and its appointments.

use std::collections::HashSet;

use jiff::tz::TimeZone;
use tradepost_dealer::settings::{Appointments, Fee, Rooftop};
use tradepost_wire::aap::dealer::{
    self, Address, DayHours, Geo, NamedValue, Schedule, WeeklyHours,
};
use tradepost_wire::aap::lead::AppointmentType;
use tradepost_wire::format;
use tradepost_wire::json::Value;
use tradepost_wire::parse::{self, read_object};
use tradepost_wire::problem::{At, Problems};

use super::values::{
    self, duration, line, list, prose, read_over, read_table, reject, some, whole,
};

/// `[[dealers.rooftops]]`
pub(super) fn rooftops(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<Rooftop>> {
    let rooftops = parse::list(value, at, problems, (1, None), rooftop);
    let mut names = HashSet::new();
    for (index, rooftop) in value.as_array().into_iter().flatten().enumerate() {
        // Buyers' filters compare names without regard to case, so the names must differ in more.
        let name = rooftop.get("name").and_then(Value::as_str);
        if name.is_some_and(|name| !names.insert(name.trim().to_lowercase())) {
            let message = "another rooftop of this dealer has this name already";
            reject(&at.index(index).key("name"), problems, message);
        }
    }
    rooftops
}

fn rooftop(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Rooftop> {
    read_object!(value, at, problems, closed {
        required "name" => name: line(200),
        optional "feed_names" => feed_names: list((0, None), line(200)),
        optional "legal_name" => legal_name: line(200),
        optional "website" => website: values::web_page,
        optional "geo" => geo: read_geo,
        optional "emails" => emails: list((0, None), |v, at, p| contact(v, at, p, parse::email)),
        optional "phones" => phones: list((0, None), |v, at, p| contact(v, at, p, parse::phone)),
        optional "address" => address: read_address,
        optional "timezone" => timezone: values::time_zone,
        optional "notes" => notes: prose(2_000),
        optional "capabilities" => capabilities: list((0, None), line(100)),
        optional "schedules" => schedules: read_schedules,
        optional "fees" => fees: list((0, None), fee),
        optional "appointments" => appointments: read_appointments,
    });
    let has = |key| value.get(key).is_some();
    let appointments = appointments.unwrap_or_default();
    if !appointments.types.is_empty() {
        let at_appointments = at.key("appointments");
        let at_types = at_appointments.key("types");
        if !has("timezone") {
            let message = "offering appointments needs the rooftop's timezone";
            reject(&at_types, problems, message);
        }
        // A schedule that could not be read has its own mistakes.
        if schedules.is_some() || !has("schedules") {
            for department in departments(&appointments.types) {
                if !is_open(schedules.as_deref().unwrap_or_default(), department) {
                    let message = format!(
                        "offering these appointments needs a day on which schedules.{department} \
                         is open"
                    );
                    reject(&at_types, problems, message);
                }
            }
        }
    }
    let (timezone, time_zone) = timezone.unzip();
    Some(Rooftop {
        profile: dealer::Rooftop {
            name: name?,
            legal_name,
            website,
            geo,
            emails: emails.unwrap_or_default(),
            phones: phones.unwrap_or_default(),
            address: address.flatten(),
            schedules: schedules.unwrap_or_default(),
            timezone,
            notes,
            capabilities: capabilities.unwrap_or_default(),
        },
        feed_names: feed_names.unwrap_or_default(),
        time_zone: time_zone.unwrap_or(TimeZone::UTC),
        fees: fees.unwrap_or_default(),
        appointments,
    })
}

/// The departments that take these appointments.
fn departments(types: &[AppointmentType]) -> Vec<&'static str> {
    let mut departments: Vec<_> = types
        .iter()
        .map(|kind| match kind {
            AppointmentType::Sales | AppointmentType::TestDrive | AppointmentType::TradeIn => {
                "sales"
            }
            AppointmentType::Service => "service",
        })
        .collect();
    departments.sort_unstable();
    departments.dedup();
    departments
}

fn is_open(schedules: &[Schedule], department: &str) -> bool {
    schedules
        .iter()
        .filter(|schedule| schedule.name.as_deref() == Some(department))
        .any(|schedule| schedule.value != WeeklyHours::default())
}

fn read_geo(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Geo> {
    read_table!(value, at, problems, Geo {
        required "latitude" => latitude: |v: &Value, at: &At<'_>, p: &mut Problems| {
            parse::number(v, at, p, -90, Some(90))
        },
        required "longitude" => longitude: |v: &Value, at: &At<'_>, p: &mut Problems| {
            parse::number(v, at, p, -180, Some(180))
        },
    })
}

/// `{ name = "Sales", value = "…" }`, or the value alone.
fn contact(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
    read: fn(&Value, &At<'_>, &mut Problems) -> Option<String>,
) -> Option<NamedValue> {
    if value.is_string() {
        let value = read(value, at, problems)?;
        return Some(NamedValue { name: None, value });
    }
    read_object!(value, at, problems, closed {
        optional "name" => name: line(100),
        required "value" => contact: read,
    });
    Some(NamedValue { name, value: contact? })
}

/// `None` inside when the table is empty.
fn read_address(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Option<Address>> {
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

/// Hours by department; a department without a table has no schedule.
fn read_schedules(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Vec<Schedule>> {
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

fn week(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<WeeklyHours> {
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

/// `09:00-18:00`, or `closed`.
fn day(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Option<DayHours>> {
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
    // Both have the form HH:MM, so their texts are ordered like the times.
    if open >= close {
        reject(at, problems, "must open before it closes, on the same day");
        return None;
    }
    Some(Some(DayHours { open: open.to_owned(), close: close.to_owned() }))
}

fn fee(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Fee> {
    read_table!(value, at, problems, Fee {
        required "name" => name: line(100),
        required "amount" => amount: whole(0, 100_000),
    })
}

fn read_appointments(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Appointments> {
    fn read_types(
        value: &Value,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Vec<AppointmentType>> {
        let types = parse::list(value, at, problems, (0, None), parse::word);
        parse::unique(value, at, problems);
        types
    }
    Some(read_over!(value, at, problems, Appointments::default(), {
        "types" => types: read_types,
        "slot_minutes" => slot_minutes: whole(15, 480),
        "capacity" => capacity: whole(1, 1_000),
        "notice" => notice: duration("0s", "365d"),
        "horizon_days" => horizon_days: whole(1, 365),
        "closed_on" => closed_on: list((0, None), values::date),
    }))
}
