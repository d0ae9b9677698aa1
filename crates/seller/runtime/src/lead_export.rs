//! Leads for other programs: JSON and CSV. ADF is in [`tradepost_dealer::adf`].
//!
//! Both are complete, including contact values that no consented channel covers: they are the
//! dealer's own record. Anyone who contacts customers from them must keep to `allowed_channels`.

use jiff::Timestamp;
use tradepost_dealer::adf::Prospect;
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::consent::hex;
use tradepost_dealer::record::{
    AppointmentRecord, LeadEvent, LeadHistory, LeadRecord, StoredConsent,
};
use tradepost_dealer::staff::NextStep;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};

use crate::evidence::is_direction;
use crate::spreadsheet::guarded;

/// Lead in its current state, or after one of its events.
#[derive(Debug, Clone)]
pub struct ExportedLead {
    lead: LeadRecord,
    event: Option<LeadEvent>,
    is_resent: bool,
    history: LeadHistory,
}

impl ExportedLead {
    /// Creates the export of the current state. The lead counts as sent before when it is older
    /// than `since`; without `since`, when it has changed.
    #[must_use]
    pub fn from_history(history: LeadHistory, since: Option<Timestamp>) -> Self {
        let lead = history.lead.clone();
        let is_resent = match since {
            Some(since) => lead.received_at < since,
            None => history.events.len() > 1,
        };
        Self { lead, event: history.events.last().cloned(), is_resent, history }
    }

    /// Returns the lead after each of its events since a moment.
    #[must_use]
    pub fn changes(self, since: Option<Timestamp>) -> Vec<Self> {
        let changes = self.history.changes().enumerate();
        let later = changes.filter(|(_, (event, _))| since.is_none_or(|since| event.at >= since));
        let changes = later.map(|(number, (event, lead))| Self {
            lead,
            event: Some(event.clone()),
            is_resent: number > 0,
            history: self.history.clone(),
        });
        changes.collect()
    }

    /// Returns true when the lead can be read.
    #[must_use]
    pub const fn is_readable(&self) -> bool {
        self.lead.submission.unreadable.is_none()
    }

    /// Returns the lead.
    #[must_use]
    pub const fn lead(&self) -> &LeadRecord {
        &self.lead
    }

    /// Returns the lead for ADF.
    #[must_use]
    pub fn prospect(&self) -> Prospect<'_> {
        let same_person = &self.history.same_person;
        Prospect { lead: &self.lead, is_resent: self.is_resent, same_person }
    }
}

/// Formats the records as a JSON array that is safe to display: control characters beyond ASCII and
/// changes of text direction are escaped, which does not change the values.
#[must_use]
pub fn json(entries: &[ExportedLead]) -> String {
    let array = Value::Array(entries.iter().map(record).collect());
    let mut text = String::new();
    for c in format!("{array:#}\n").chars() {
        if c != '\n' && (c.is_control() || is_direction(c)) {
            // All of these are in the basic plane, and only strings can contain them.
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// Returns a lead as JSON.
#[must_use]
pub fn record(entry: &ExportedLead) -> Value {
    let lead = &entry.lead;
    let sent = &entry.lead.submission;
    let progress = &entry.history.progress;
    let consents = entry.history.consents.iter().map(consent);
    json!({
        "lead_id": lead.lead_id,
        "dealer_id": lead.dealer_id,
        "state": lead.state,
        "held_for": lead.held_for,
        "received_at": rfc3339(lead.received_at),
        "changed_at": rfc3339(lead.changed_at),
        "first_delivered_at": entry.history.delivered_at.map(rfc3339),
        "submitted_at": rfc3339(sent.received_at),
        "version": sent.version.name(),
        "principal": sent.principal,
        "address": sent.address,
        "rooftop": sent.rooftop,
        "time_zone": lead.time_zone,
        "stage": progress.stage,
        "lost_reason": progress.lost_reason,
        "owner": progress.owner,
        "next_step": progress.next_step.as_ref().map(next_step),
        "handled_by": progress.handled_by,
        "person": lead.person,
        "probably_same_person": entry.history.same_person,
        "appointment": lead.appointment.as_ref().map(appointment),
        "also_asked_for": lead.asked_besides().map(appointment),
        "event": entry.event.as_ref().map(event),
        "consent_log": consents.collect::<Vec<_>>(),
        "history": entry.history.events.iter().map(event).collect::<Vec<_>>(),
        "listing": sent.listing,
        "payload": sent.payload,
        "unreadable": sent.unreadable,
    })
}

fn next_step(step: &NextStep) -> Value {
    json!({"kind": step.kind, "at": rfc3339(step.at)})
}

fn appointment(appointment: &AppointmentRecord) -> Value {
    json!({
        "appointment_id": appointment.appointment_id,
        "type": appointment.kind,
        "status": appointment.state,
        "requested_at": appointment.requested_at.map(rfc3339),
        "starts_at": appointment.starts_at.map(rfc3339),
        "ends_at": appointment.ends_at.map(rfc3339),
        "proposed": appointment.proposed.iter().copied().map(rfc3339).collect::<Vec<_>>(),
    })
}

fn consent(stored: &StoredConsent) -> Value {
    let StoredConsent { record, hash, user_agent } = stored;
    json!({
        "seq": record.seq,
        "at": rfc3339(record.at),
        "event": record.kind,
        "user_agent": user_agent,
        "consent_sha256": record.consent.as_ref().map(hex),
        "body_sha256": record.body.as_ref().map(hex),
        "caller_sha256": record.caller.as_ref().map(hex),
        "hash": hex(hash),
    })
}

fn event(event: &LeadEvent) -> Value {
    let current = event.appointment.as_ref();
    json!({
        "seq": event.seq,
        "at": rfc3339(event.at),
        "event": event.kind,
        "state": event.state,
        "appointment_id": current.map(|current| &current.appointment_id),
        "appointment_status": current.map(|current| current.state),
    })
}

type Cell = fn(LeadView<'_>, &ExportedLead) -> Option<String>;

/// Columns by name.
const COLUMNS: &[(&str, Cell)] = &[
    ("lead_id", |lead, _| Some(lead.record().lead_id.clone())),
    ("dealer_id", |lead, _| Some(lead.record().dealer_id.clone())),
    ("lead_state", |lead, _| Some(lead.record().state.to_string())),
    ("held_for", |lead, _| lead.record().held_for.map(|why| why.to_string())),
    ("received_at", |lead, _| Some(rfc3339(lead.record().received_at))),
    ("changed_at", |lead, _| Some(rfc3339(lead.record().changed_at))),
    ("event", |_, entry| entry.event.as_ref().map(|event| event.kind.to_string())),
    ("version", |lead, _| Some(lead.record().submission.version.to_string())),
    ("principal", |lead, _| Some(lead.record().submission.principal.clone())),
    ("caller_address", |lead, _| lead.record().submission.address.clone()),
    ("rooftop", |lead, _| lead.record().submission.rooftop.clone()),
    ("person", |lead, _| Some(lead.record().person.clone())),
    ("probably_same_person", |_, entry| Some(entry.history.same_person.join(" "))),
    ("first_name", |lead, _| lead.scalar("/customer/first_name")),
    ("last_name", |lead, _| lead.scalar("/customer/last_name")),
    ("email", |lead, _| lead.scalar("/customer/email")),
    ("phone", |lead, _| lead.scalar("/customer/phone")),
    ("preferred_contact", |lead, _| lead.scalar("/customer/preferred_contact")),
    ("allowed_channels", |lead, _| Some(lead.channels().join(" "))),
    ("address_line_1", |lead, _| lead.scalar("/customer/address/address_line_1")),
    ("address_line_2", |lead, _| lead.scalar("/customer/address/address_line_2")),
    ("city", |lead, _| lead.scalar("/customer/address/city")),
    ("state", |lead, _| lead.scalar("/customer/address/state")),
    ("zip", |lead, _| lead.scalar("/customer/address/zip")),
    ("country", |lead, _| lead.scalar("/customer/address/country")),
    ("vehicle_id", |lead, _| lead.vehicle()?.get("vehicle_id")),
    ("vin", |lead, _| lead.vehicle()?.get("vin")),
    ("stock", |lead, _| lead.vehicle()?.get("stock")),
    ("year", |lead, _| lead.vehicle()?.get("year")),
    ("make", |lead, _| lead.vehicle()?.get("make")),
    ("model", |lead, _| lead.vehicle()?.get("model")),
    ("trim", |lead, _| lead.vehicle()?.get("trim")),
    ("condition", |lead, _| lead.vehicle()?.get("condition")),
    ("price", |lead, _| lead.vehicle()?.get("price")),
    ("trade_in_vin", |lead, _| lead.trade_in()?.get("vin")),
    ("trade_in_year", |lead, _| lead.trade_in()?.get("year")),
    ("trade_in_make", |lead, _| lead.trade_in()?.get("make")),
    ("trade_in_model", |lead, _| lead.trade_in()?.get("model")),
    ("trade_in_mileage", |lead, _| lead.trade_in()?.get("mileage")),
    ("trade_in_condition", |lead, _| lead.trade_in()?.get("condition")),
    ("appointment_id", |lead, _| Some(lead.record().appointment.as_ref()?.appointment_id.clone())),
    ("appointment_type", |lead, _| Some(lead.record().appointment.as_ref()?.kind.to_string())),
    ("appointment_status", |lead, _| Some(lead.record().appointment.as_ref()?.state.to_string())),
    ("appointment_requested_at", |lead, _| {
        lead.record().appointment.as_ref()?.requested_at.map(rfc3339)
    }),
    ("appointment_starts_at", |lead, _| lead.record().appointment.as_ref()?.starts_at.map(rfc3339)),
    ("appointment_ends_at", |lead, _| lead.record().appointment.as_ref()?.ends_at.map(rfc3339)),
    ("appointment_notes", |lead, _| lead.scalar("/appointment/notes")),
    ("message", |lead, _| lead.scalar("/message")),
    ("consent_granted_at", |lead, _| lead.scalar("/consent/granted_at")),
    ("consent_expires_at", |lead, _| lead.scalar("/consent/expires_at")),
    ("consent_scope", |lead, _| Some(lead.texts("/consent/scope").collect::<Vec<_>>().join(" "))),
    ("consent_text", |lead, _| lead.scalar("/consent/consent_text")),
    ("source_agent", |lead, _| lead.agent().map(str::to_owned)),
    ("source_agent_url", |lead, _| lead.scalar("/source_agent/url")),
    ("submitted_at", |lead, _| lead.scalar("/submitted_at")),
    ("idempotency_key", |lead, _| lead.scalar("/idempotency_key")),
    ("stage", |_, entry| Some(entry.history.progress.stage.to_string())),
    ("lost_reason", |_, entry| Some(entry.history.progress.lost_reason?.to_string())),
    ("owner", |_, entry| entry.history.progress.owner.clone()),
    ("next_step", |_, entry| Some(entry.history.progress.next_step?.kind.to_string())),
    ("next_step_at", |_, entry| Some(rfc3339(entry.history.progress.next_step?.at))),
    ("handled_by", |_, entry| entry.history.progress.handled_by.clone()),
];

/// Formats the leads as CSV (RFC 4180) with a header.
///
/// # Errors
/// Fails when a row cannot be written.
pub fn csv(entries: &[ExportedLead]) -> Result<Vec<u8>, csv::Error> {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(COLUMNS.iter().map(|(name, _)| *name))?;
    for entry in entries {
        let lead = LeadView::new(&entry.lead);
        let cells = COLUMNS.iter().map(|(_, cell)| cell(lead, entry).unwrap_or_default());
        writer.write_record(cells.map(|text| guarded(&text)))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}
