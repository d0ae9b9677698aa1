//! Formats a dealer for people: each rooftop with address, contacts and opening hours.

use tradepost_document::json::Value;

use super::super::super::output::table::{self, TableWidth};
use super::{MAX_TERMS, member, text};

const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Formats the dealer and its rooftops.
pub(super) fn information(data: &Value, fit: TableWidth) -> String {
    let mut blocks = vec![member(data, "name")];
    let welcome = member(data, "welcome_message");
    if !welcome.is_empty() {
        blocks.push(welcome);
    }
    for rooftop in items(data, "rooftops").filter(|rooftop| rooftop.is_object()) {
        blocks.push(table::pairs(fit, &facts(rooftop)));
    }
    blocks.join("\n\n")
}

fn facts(rooftop: &Value) -> Vec<(&str, String)> {
    let mut facts = vec![("rooftop", member(rooftop, "name"))];
    let mut add = |name, value: String| {
        if !value.is_empty() {
            facts.push((name, value));
        }
    };
    add("legal name", member(rooftop, "legal_name"));
    add("address", rooftop.get("address").map(address).unwrap_or_default());
    for (name, label) in [("phones", "phone"), ("emails", "e-mail")] {
        for contact in items(rooftop, name) {
            let name = member(contact, "name");
            let value = member(contact, "value");
            add(label, if name.is_empty() { value } else { format!("{value} ({name})") });
        }
    }
    add("website", member(rooftop, "website"));
    for schedule in items(rooftop, "schedules") {
        let name = member(schedule, "name");
        let hours = hours(schedule.get("value"));
        let hours = if name.is_empty() { hours } else { format!("{name}: {hours}") };
        add("hours", hours);
    }
    add("time zone", member(rooftop, "timezone"));
    add("services", member(rooftop, "capabilities"));
    add("notes", member(rooftop, "notes"));
    facts
}

fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten().take(MAX_TERMS)
}

fn address(address: &Value) -> String {
    let region = [member(address, "state"), member(address, "zip")];
    let region: Vec<_> = region.into_iter().filter(|part| !part.is_empty()).collect();
    let parts = [
        member(address, "address_line_1"),
        member(address, "address_line_2"),
        member(address, "city"),
        region.join(" "),
        member(address, "country"),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Formats `Mon-Fri 09:00-20:00, Sat 09:00-18:00, Sun closed`; adjacent days with equal hours are
/// joined.
fn hours(week: Option<&Value>) -> String {
    let mut spans: Vec<(&str, &str, String)> = Vec::new();
    for day in DAYS {
        let short = day.get(..3).unwrap_or(day);
        let hours = match week.and_then(|week| week.get(day.to_lowercase().as_str())) {
            Some(Value::Null) => "closed".to_owned(),
            Some(day) if day.is_object() => {
                format!("{}-{}", text(day.get("open")), text(day.get("close")))
            }
            Some(_) | None => "unknown".to_owned(),
        };
        match spans.last_mut() {
            Some((_, last, same)) if *same == hours => *last = short,
            Some(_) | None => spans.push((short, short, hours)),
        }
    }
    let spans = spans.iter().map(|(first, last, hours)| {
        if first == last { format!("{first} {hours}") } else { format!("{first}-{last} {hours}") }
    });
    spans.collect::<Vec<_>>().join(", ")
}
