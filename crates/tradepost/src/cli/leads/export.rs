//! Leads for other programs: JSON and CSV. ADF is in [`crate::aap::adf`].
//!
//! Both hold everything, also contact values that no consented channel covers: they are the
//! dealer's own record. Whoever contacts customers from them must keep to `allowed_channels`.

use serde_json::{Value, json};
use tradepost_wire::catalog::Vocabulary;
use tradepost_wire::format::{self, rfc3339};

use super::text::is_direction;
use crate::aap::adf::view::{LeadView, VehicleView};
use crate::store::LeadRecord;

/// An array of the records, as JSON text that is safe to look at: control characters beyond ASCII
/// and changes of writing direction are escaped, which leaves the values as they are.
#[must_use]
pub fn json(leads: &[LeadRecord]) -> String {
    let array = Value::Array(leads.iter().map(record).collect());
    let mut text = String::new();
    for c in format!("{array:#}\n").chars() {
        if c != '\n' && (c.is_control() || is_direction(c)) {
            // All of these are in the basic plane, and only texts can hold them.
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

fn record(lead: &LeadRecord) -> Value {
    json!({
        "lead_id": lead.lead_id,
        "dealer_id": lead.dealer_id,
        "received_at": rfc3339(lead.received_at),
        "duplicate": lead.duplicate,
        "version": lead.version.name(),
        "principal": lead.principal,
        "rooftop": lead.rooftop,
        "appointment": lead.appointment.as_ref().map(|appointment| json!({
            "appointment_id": appointment.appointment_id,
            "type": appointment.kind,
            "status": appointment.status,
            "requested_at": appointment.requested_at.map(rfc3339),
            "starts_at": appointment.starts_at.map(rfc3339),
            "ends_at": appointment.ends_at.map(rfc3339),
            "proposed": appointment.proposed.iter().copied().map(rfc3339).collect::<Vec<_>>(),
        })),
        "listing": lead.listing,
        "payload": lead.payload,
    })
}

type Cell = fn(LeadView<'_>) -> Option<String>;

fn of_vehicle(vehicle: Option<VehicleView<'_>>, name: &str) -> Option<String> {
    vehicle?.get(name)
}

/// The columns, by name.
const COLUMNS: &[(&str, Cell)] = &[
    ("lead_id", |lead| Some(lead.record().lead_id.clone())),
    ("dealer_id", |lead| Some(lead.record().dealer_id.clone())),
    ("received_at", |lead| Some(rfc3339(lead.record().received_at))),
    ("duplicate", |lead| Some(lead.record().duplicate.to_string())),
    ("version", |lead| Some(lead.record().version.to_string())),
    ("principal", |lead| Some(lead.record().principal.clone())),
    ("rooftop", |lead| lead.record().rooftop.clone()),
    ("first_name", |lead| lead.scalar("/customer/first_name")),
    ("last_name", |lead| lead.scalar("/customer/last_name")),
    ("email", |lead| lead.scalar("/customer/email")),
    ("phone", |lead| lead.scalar("/customer/phone")),
    ("preferred_contact", |lead| lead.scalar("/customer/preferred_contact")),
    ("allowed_channels", |lead| Some(lead.channels().join(" "))),
    ("address_line_1", |lead| lead.scalar("/customer/address/address_line_1")),
    ("address_line_2", |lead| lead.scalar("/customer/address/address_line_2")),
    ("city", |lead| lead.scalar("/customer/address/city")),
    ("state", |lead| lead.scalar("/customer/address/state")),
    ("zip", |lead| lead.scalar("/customer/address/zip")),
    ("country", |lead| lead.scalar("/customer/address/country")),
    ("vehicle_id", |lead| of_vehicle(lead.vehicle(), "vehicle_id")),
    ("vin", |lead| of_vehicle(lead.vehicle(), "vin")),
    ("stock", |lead| of_vehicle(lead.vehicle(), "stock")),
    ("year", |lead| of_vehicle(lead.vehicle(), "year")),
    ("make", |lead| of_vehicle(lead.vehicle(), "make")),
    ("model", |lead| of_vehicle(lead.vehicle(), "model")),
    ("trim", |lead| of_vehicle(lead.vehicle(), "trim")),
    ("condition", |lead| of_vehicle(lead.vehicle(), "condition")),
    ("price", |lead| of_vehicle(lead.vehicle(), "price")),
    ("trade_in_vin", |lead| of_vehicle(lead.trade_in(), "vin")),
    ("trade_in_year", |lead| of_vehicle(lead.trade_in(), "year")),
    ("trade_in_make", |lead| of_vehicle(lead.trade_in(), "make")),
    ("trade_in_model", |lead| of_vehicle(lead.trade_in(), "model")),
    ("trade_in_mileage", |lead| of_vehicle(lead.trade_in(), "mileage")),
    ("trade_in_condition", |lead| of_vehicle(lead.trade_in(), "condition")),
    ("appointment_id", |lead| Some(lead.record().appointment.as_ref()?.appointment_id.clone())),
    ("appointment_type", |lead| Some(lead.record().appointment.as_ref()?.kind.clone())),
    ("appointment_status", |lead| Some(lead.record().appointment.as_ref()?.status.clone())),
    ("appointment_requested_at", |lead| {
        lead.record().appointment.as_ref()?.requested_at.map(rfc3339)
    }),
    ("appointment_starts_at", |lead| lead.record().appointment.as_ref()?.starts_at.map(rfc3339)),
    ("appointment_ends_at", |lead| lead.record().appointment.as_ref()?.ends_at.map(rfc3339)),
    ("appointment_notes", |lead| lead.scalar("/appointment/notes")),
    ("message", |lead| lead.scalar("/message")),
    ("consent_granted_at", |lead| lead.scalar("/consent/granted_at")),
    ("consent_expires_at", |lead| lead.scalar("/consent/expires_at")),
    ("consent_scope", |lead| Some(lead.texts("/consent/scope").collect::<Vec<_>>().join(" "))),
    ("consent_text", |lead| lead.scalar("/consent/consent_text")),
    ("source_agent", |lead| lead.agent().map(str::to_owned)),
    ("source_agent_url", |lead| lead.scalar("/source_agent/url")),
    ("submitted_at", |lead| lead.scalar("/submitted_at")),
    ("idempotency_key", |lead| lead.scalar("/idempotency_key")),
];

/// CSV (RFC 4180) with a header.
///
/// # Errors
/// When a row cannot be written.
pub fn csv(leads: &[LeadRecord]) -> Result<Vec<u8>, csv::Error> {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(COLUMNS.iter().map(|(name, _)| *name))?;
    for record in leads {
        let lead = LeadView::new(record);
        let cells = COLUMNS.iter().map(|(_, cell)| cell(lead).unwrap_or_default());
        writer.write_record(cells.map(|text| guarded(&text)))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// A cell that spreadsheets take for text. One that starts with `=`, `+`, `-` or `@` would be
/// calculated, so it gets an apostrophe in front; a telephone number in E.164 is `+` and digits,
/// which calculates nothing, and stays as it is. Control characters other than line breaks and
/// tabs are left out.
fn guarded(text: &str) -> String {
    let kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    let text: String = text.chars().filter(kept).collect();
    // Spreadsheets skip leading white space before they look for a formula.
    if text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
        && !format::is_e164(&text)
    {
        return format!("'{text}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_and_telephone_numbers_stay() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1+1", "'\t=1+1"),
            ("\u{1b}=1+1", "'=1+1"),
            ("+14155550123", "+14155550123"),
            ("+14155550123+1", "'+14155550123+1"),
            ("Ada", "Ada"),
            ("", ""),
        ] {
            assert_eq!(guarded(text), cell, "{text:?}");
        }
    }
}
