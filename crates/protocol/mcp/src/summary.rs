//! Lines of results that all our tools write alike: counts, stores and receipts. Words of others are in quotation marks.

use tradepost_document::display::{MAX_ITEMS, dollars, label, member, text};
use tradepost_document::json::Value;
use tradepost_document::text::SENTENCE;

use crate::outline::{line, said};
use crate::sanitize::quoted;

/// Lists the counts of a set of vehicles: values with their number, and ranges.
pub fn counts(out: &mut String, data: &Value) {
    for (name, value) in data.as_object().into_iter().flatten() {
        let show = |value: Option<&Value>| {
            let is_price = value.is_some_and(Value::is_number) && name.contains("price");
            if is_price { dollars(value) } else { said(value) }
        };
        let shown = match value {
            Value::Array(terms) => {
                let term = |term: &Value| {
                    format!("{} ({})", said(term.get("value")), text(term.get("count")))
                };
                let mut shown: Vec<_> = terms.iter().take(MAX_ITEMS).map(term).collect();
                if terms.len() > MAX_ITEMS {
                    shown.push(format!("and {} more", terms.len() - MAX_ITEMS));
                }
                shown.join(", ")
            }
            Value::Object(_) => format!("{} to {}", show(value.get("min")), show(value.get("max"))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => said(Some(value)),
        };
        line(out, &label(name), &shown);
    }
}

/// Lists the stores of a dealer, each with its address and telephone numbers on one line.
pub fn rooftops(out: &mut String, data: &Value) {
    const PHONES: usize = 3;
    for rooftop in items(data, "rooftops").take(MAX_ITEMS) {
        let place = rooftop.get("address").unwrap_or(&Value::Null);
        let parts = ["address_line_1", "city", "state", "zip"].map(|name| member(place, name));
        let phones = items(rooftop, "phones").map(|phone| member(phone, "value"));
        let name = std::iter::once(member(rooftop, "name"));
        let mut facts: Vec<_> = name.chain(parts).chain(phones.take(PHONES)).collect();
        facts.retain(|fact| !fact.is_empty());
        line(out, "rooftop", &format!("\"{}\"", quoted(&facts.join(", "), SENTENCE)));
    }
}

/// Writes what became of a lead. `dealer` is its name as it is shown.
pub fn receipt(out: &mut String, dealer: &str, data: &Value, conversation: Option<&str>) {
    let status = said(data.get("status"));
    let lead = said(data.get("lead_id"));
    out.push_str(&format!("Sent to {dealer}: {status}, lead {lead}\n"));
    if let Some(appointment) = data.get("appointment").filter(|value| value.is_object()) {
        line(out, "appointment", &said(appointment.get("status")));
        for name in ["confirmed_at", "proposed_times"] {
            line(out, &label(name), &said(appointment.get(name)));
        }
        if appointment.get("proposed_times").is_some() {
            out.push_str(
                "Show the times to the user, and send the lead again with the chosen one and with this \
                 conversation.\n",
            );
        } else if member(appointment, "status") != "confirmed" {
            out.push_str("Tell the user that the appointment is not confirmed.\n");
        }
    }
    line(out, "conversation", conversation.unwrap_or_default());
    if let Some(contact) = data.get("dealer").filter(|value| value.is_object()) {
        let contact = format!("{} {}", said(contact.get("name")), said(contact.get("phone")));
        line(out, "contact", contact.trim());
    }
}

/// Returns the items of a list, and none where there is no list.
pub fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}
