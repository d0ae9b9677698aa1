//! Answers for people. A seller may send anything: a value of an unexpected type is shown as it is,
//! and everything goes through [`plain`].

use tradepost_aap::Skill;
use tradepost_aap::vehicle::ListingStatus;
use tradepost_client::SkillAnswer;
use tradepost_client::display::{
    MAX_ITEMS as MAX_TERMS, dollars, first_of, grouped, label, member, of_vehicle, text, title,
};
use tradepost_client::text::{SENTENCE, plain};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::Value;

use super::super::output::table::TableColumn::{Number, Text};
use super::super::output::table::{self, Cells, TableWidth};

mod dealer;

/// Formats an answer, with the seller's sentence at the end.
#[must_use]
pub(super) fn answer(answer: &SkillAnswer, fit: TableWidth) -> String {
    let data = answer.data();
    let mut out = match answer.skill {
        Skill::DealerInformation => dealer::information(data, fit),
        Skill::InventoryFacets => facets(data, fit),
        Skill::InventorySearch => page(answer, fit),
        Skill::InventoryVehicle => vehicle(data, fit),
        Skill::LeadSubmit => receipt(data, fit),
    };
    if let Some(message) = answer.message().map(|message| plain(message, 4 * SENTENCE))
        && !message.is_empty()
    {
        out.push_str("\n\n");
        out.push_str(&message);
    }
    out
}

fn page(answer: &SkillAnswer, fit: TableWidth) -> String {
    let (vehicles, ignored) = answer.vehicles();
    let columns: [Cells<'_, &Value>; 7] = [
        (Text("id"), &|vehicle| first_of(vehicle, &["stock", "vehicle_id", "vin"])),
        (Text("vehicle"), &|vehicle| title(vehicle)),
        (Text("condition"), &|vehicle| member(vehicle, "condition")),
        (Number("price"), &|vehicle| dollars(vehicle.get("price"))),
        (Number("miles"), &|vehicle| grouped(vehicle.get("mileage"))),
        (Text("status"), &|vehicle| member(vehicle, "status")),
        (Text("rooftop"), &|vehicle| member(vehicle, "rooftop")),
    ];
    let mut out = String::new();
    if !vehicles.is_empty() {
        out.push_str(&table::items(fit, &vehicles, &columns));
        out.push_str("\n\n");
    }
    out.push_str(&position(answer.data(), vehicles.len() + ignored));
    if ignored > 0 {
        let text =
            format!("\n{ignored} left out: their status does not say that they are on offer");
        out.push_str(&text);
    }
    out
}

/// Describes the position of a page in all matches, and how to get the next one.
fn position(data: &Value, count: usize) -> String {
    let number = |name: &str| data.get(name).and_then(Value::as_u64);
    let skip = number("skip").unwrap_or_default();
    let end = skip.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    match number("total") {
        Some(0) => "no vehicle matches".to_owned(),
        Some(total) if count == 0 => format!("{total} vehicles match, none of them on this page"),
        Some(total) if end < total => {
            format!("{}; the next page begins at --skip {end}", part(skip + 1, end, total))
        }
        Some(total) => part(skip + 1, end, total),
        None => format!("{count} vehicles; the seller does not say how many match"),
    }
}

fn part(start: u64, end: u64, total: u64) -> String {
    match (start == end, total) {
        (true, 1) => "1 vehicle".to_owned(),
        (true, _) => format!("{start} of {total} vehicles"),
        (false, _) => format!("{start} to {end} of {total} vehicles"),
    }
}

fn facets(data: &Value, fit: TableWidth) -> String {
    let mut pairs = Vec::new();
    for (name, value) in data.as_object().into_iter().flatten() {
        let show = |value: Option<&Value>| {
            if name.contains("price") {
                dollars(value)
            } else if name.contains("mileage") {
                grouped(value)
            } else {
                text(value)
            }
        };
        let shown = if let Some(terms) = value.as_array() {
            let shown = terms
                .iter()
                .take(MAX_TERMS)
                .map(|term| format!("{} ({})", text(term.get("value")), text(term.get("count"))));
            let mut shown: Vec<_> = shown.collect();
            if terms.len() > MAX_TERMS {
                shown.push(format!("and {} more", terms.len() - MAX_TERMS));
            }
            shown.join(", ")
        } else if value.get("min").is_some() || value.get("max").is_some() {
            format!("{} to {}", show(value.get("min")), show(value.get("max")))
        } else {
            text(Some(value))
        };
        pairs.push((label(name), shown));
    }
    if pairs.is_empty() {
        return "no vehicle matches".to_owned();
    }
    table::pairs(fit, &pairs)
}

fn vehicle(data: &Value, fit: TableWidth) -> String {
    let members = data.as_object().into_iter().flatten();
    let pairs = members.map(|(name, value)| (label(name), of_vehicle(name, value)));
    let pairs: Vec<_> = pairs.filter(|(_, shown)| !shown.is_empty()).collect();
    let mut out = format!("{}\n\n{}", title(data), table::pairs(fit, &pairs));
    let status = data.get("status").and_then(Value::as_str);
    if status.and_then(ListingStatus::from_name).is_none() {
        out.push_str("\n\nthe status does not say that it is on offer: do not offer it to a user");
    }
    out
}

fn receipt(data: &Value, fit: TableWidth) -> String {
    let mut pairs = vec![("lead id", member(data, "lead_id")), ("status", member(data, "status"))];
    if let Some(appointment) = data.get("appointment").filter(|a| a.is_object()) {
        pairs.push(("appointment", member(appointment, "status")));
        pairs.push(("appointment id", member(appointment, "appointment_id")));
        for (name, key) in [("confirmed for", "confirmed_at"), ("choose from", "proposed_times")] {
            pairs.extend(appointment.get(key).map(|_| (name, member(appointment, key))));
        }
    }
    if let Some(dealer) = data.get("dealer").filter(|dealer| dealer.is_object()) {
        let contact = [member(dealer, "name"), member(dealer, "phone")].join(" ");
        pairs.push(("dealer", contact));
    }
    table::pairs(fit, &pairs)
}

#[cfg(test)]
mod tests;
