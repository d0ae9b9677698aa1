//! Leads for people at a terminal. What customers and agents wrote is shown without control
//! characters, so that no lead can repaint the screen.

use std::fmt::Write as _;

use serde_json::Value;
use tradepost_wire::catalog::Vocabulary;
use tradepost_wire::format::rfc3339;

use crate::aap::adf::view::LeadView;
use crate::cli::output::table::{Column, Fit, rows};
use crate::store::LeadRecord;

/// A table of leads, newest first.
#[must_use]
pub fn table(fit: Fit, leads: &[LeadRecord]) -> String {
    let mut leads: Vec<_> = leads.iter().collect();
    leads.sort_by_key(|lead| std::cmp::Reverse(lead.received_at));
    let columns =
        ["received", "id", "name", "vehicle", "appointment", "permitted"].map(Column::Text);
    let leads: Vec<_> = leads
        .into_iter()
        .map(|record| {
            let lead = LeadView::new(record);
            vec![
                rfc3339(record.received_at),
                record.lead_id.clone(),
                lead.customer_name(),
                lead.vehicle().map(|vehicle| vehicle.title()).unwrap_or_default(),
                appointment(record),
                lead.channels().join(", "),
            ]
        })
        .collect();
    rows(fit, &columns, &leads)
}

fn appointment(record: &LeadRecord) -> String {
    let Some(appointment) = &record.appointment else {
        return String::new();
    };
    let at = appointment.starts_at.or(appointment.requested_at);
    let at = at.map(|at| format!(" {}", rfc3339(at))).unwrap_or_default();
    one_line(&format!("{} {}{at}", appointment.kind, appointment.status))
}

/// Everything about the submissions of a lead.
#[must_use]
pub fn details(submissions: &[LeadRecord]) -> String {
    let mut out = String::new();
    for record in submissions {
        let lead = LeadView::new(record);
        if !out.is_empty() {
            out.push('\n');
        }
        let title = if record.duplicate { "submitted again" } else { "lead" };
        let _ = writeln!(out, "{title} {}", one_line(&record.lead_id));
        field(&mut out, "received", &rfc3339(record.received_at));
        field(&mut out, "dealer", &record.dealer_id);
        field(&mut out, "rooftop", record.rooftop.as_deref().unwrap_or("-"));
        field(&mut out, "sent by", &record.principal);
        field(&mut out, "version", record.version.name());
        if let Some(appointment) = &record.appointment {
            field(&mut out, "appointment", &appointment.appointment_id);
            field(&mut out, "  for", &appointment.kind);
            field(&mut out, "  status", &appointment.status);
            for (label, moment) in [
                ("  requested", appointment.requested_at),
                ("  starts", appointment.starts_at),
                ("  ends", appointment.ends_at),
            ] {
                if let Some(moment) = moment {
                    field(&mut out, label, &rfc3339(moment));
                }
            }
            for moment in &appointment.proposed {
                field(&mut out, "  proposed", &rfc3339(*moment));
            }
        }
        if let Some(listing) = &record.listing {
            let title = lead.vehicle().map(|v| v.title()).unwrap_or_default();
            field(&mut out, "listing", &title);
            tree(&mut out, "  ", listing);
        }
        // The payload holds the consent with its text.
        out.push_str("payload\n");
        tree(&mut out, "  ", &record.payload);
    }
    out
}

fn field(out: &mut String, label: &str, text: &str) {
    let _ = writeln!(out, "{label}: {}", one_line(text));
}

/// A JSON value as an outline.
fn tree(out: &mut String, indent: &str, value: &Value) {
    let deeper = format!("{indent}  ");
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(k, v)| (one_line(k), v)).collect(),
        Value::Array(items) => items.iter().map(|item| ("-".to_owned(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            vec![(String::new(), value)]
        }
    };
    for (label, value) in entries {
        match value {
            Value::Object(_) | Value::Array(_) => {
                let _ = writeln!(out, "{indent}{label}");
                tree(out, &deeper, value);
            }
            Value::String(text) => {
                // Line breaks are the customer's own; each further line stays inside the outline.
                let mut lines = text.lines().map(visible);
                let first = lines.next().unwrap_or_default();
                let _ = writeln!(out, "{indent}{label}: {first}");
                for line in lines {
                    let _ = writeln!(out, "{deeper}{line}");
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                let _ = writeln!(out, "{indent}{label}: {value}");
            }
        }
    }
}

fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\r', '\t'], " "))
}

/// Text without control characters and without those that change the direction of writing.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !is_direction(*c)).collect()
}

/// Whether a character turns the direction in which text is shown, which can make one text look
/// like another.
pub(super) fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
