//! Leads as `aap.event` messages. AAP 1.1 defines the envelope (`event.schema.json`) and leaves
//! `payload` to the dealer; it does not define how events travel outside of A2A tasks, so that is
//! our own format.

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Map, Value, json};

use super::{DeliveryContent, kinds};
use crate::adf::view::{LeadView, VehicleView};
use crate::record::{AppointmentRecord, AppointmentState, LeadEventKind};

/// Writes the event: what has changed, and as `payload` the delivery and the lead after the event.
pub(super) fn write(content: &DeliveryContent<'_>) -> Value {
    let (kind, entity, status) = change(content);
    let mut delivery = json!({"id": content.id, "attempt": content.attempt,
        "resend": content.is_resent});
    if let Some(members) = delivery.as_object_mut().filter(|_| content.is_test) {
        members.insert("test".to_owned(), json!(true));
    }
    json!({
        "type": "aap.event",
        "event_kind": kind,
        "entity_id": entity,
        "status": status,
        "occurred_at": rfc3339(content.event.at),
        "payload": {"delivery": delivery, "lead": lead(content)},
    })
}

/// Returns AAP's event type, the id of the entity and its status. AAP has no status for a withdrawn consent: `lost` is
/// the one after which the customer is not called.
fn change<'a>(content: &'a DeliveryContent<'_>) -> (&'static str, &'a str, &'static str) {
    const LEAD: &str = "lead.status_changed";
    let lead = content.lead.lead_id.as_str();
    match (content.event.kind, &content.event.appointment) {
        (LeadEventKind::Received | LeadEventKind::Released, _) => (LEAD, lead, "received"),
        (LeadEventKind::Resubmitted, None) => (LEAD, lead, "duplicate"),
        (
            LeadEventKind::AppointmentConfirmed
            | LeadEventKind::AppointmentMoved
            | LeadEventKind::AppointmentCancelled
            | LeadEventKind::AppointmentNoShow,
            None,
        ) => (LEAD, lead, "received"),
        (
            LeadEventKind::Resubmitted
            | LeadEventKind::AppointmentConfirmed
            | LeadEventKind::AppointmentMoved
            | LeadEventKind::AppointmentCancelled
            | LeadEventKind::AppointmentNoShow,
            Some(current),
        ) => {
            let word = aap_status(current.state).name();
            ("appointment.status_changed", &current.appointment_id, word)
        }
        (LeadEventKind::ConsentRevoked | LeadEventKind::Erased, _) => (LEAD, lead, "lost"),
    }
}

/// Maps a state to AAP's vocabulary (`event.schema.json`), which has none for a cancelled or
/// superseded appointment.
const fn aap_status(state: AppointmentState) -> AppointmentState {
    match state {
        AppointmentState::Superseded | AppointmentState::Cancelled => AppointmentState::Rejected,
        AppointmentState::Requested
        | AppointmentState::Proposed
        | AppointmentState::Confirmed
        | AppointmentState::Rejected
        | AppointmentState::NoShow => state,
    }
}

fn lead(content: &DeliveryContent<'_>) -> Value {
    let record = content.lead;
    let view = LeadView::new(content.lead);
    let reach = view.reach();
    let customer = members([
        ("name", text(&view.customer_name())),
        ("email", reach.email.filter(|_| reach.may_email).map(Value::from)),
        ("phone", reach.phone.filter(|_| reach.may_call || reach.may_text).map(Value::from)),
    ]);
    let agent = members([
        ("name", view.agent().map(Value::from)),
        ("url", view.text("/source_agent/url").map(Value::from)),
    ]);
    let same_person = Some(json!(content.same_person)).filter(|_| !content.same_person.is_empty());
    Value::Object(members([
        ("lead_id", Some(json!(record.lead_id))),
        ("dealer_id", Some(json!(record.dealer_id))),
        ("rooftop", record.submission.rooftop.as_deref().map(Value::from)),
        ("event", Some(json!(content.event.kind))),
        ("state", Some(json!(record.state))),
        ("kinds", Some(json!(kinds(record)))),
        ("received_at", moment(record.received_at)),
        ("changed_at", moment(record.changed_at)),
        ("customer", Some(Value::Object(customer))),
        ("permitted", Some(json!(view.channels()))),
        ("consent_text", view.text("/consent/consent_text").map(Value::from)),
        ("vehicle_of_interest", view.vehicle().map(vehicle)),
        ("trade_in", view.trade_in().map(vehicle)),
        ("appointment", record.appointment.as_ref().map(appointment)),
        ("also_asked_for", record.asked_besides().map(appointment)),
        ("appointment_notes", view.text("/appointment/notes").map(Value::from)),
        ("message", view.text("/message").map(Value::from)),
        ("source_agent", Some(Value::Object(agent))),
        ("probably_same_person", same_person),
    ]))
}

fn vehicle(vehicle: VehicleView<'_>) -> Value {
    const NAMES: [&str; 10] = [
        "vehicle_id",
        "vin",
        "stock",
        "year",
        "make",
        "model",
        "trim",
        "condition",
        "mileage",
        "price",
    ];
    let value = |name: &str| {
        let text = vehicle.get(name)?;
        let number = matches!(name, "year" | "mileage" | "price").then(|| text.parse::<i64>());
        Some(number.and_then(Result::ok).map_or_else(|| Value::from(text), Value::from))
    };
    Value::Object(members(NAMES.map(|name| (name, value(name)))))
}

fn appointment(appointment: &AppointmentRecord) -> Value {
    let proposed: Vec<_> = appointment.proposed.iter().copied().map(rfc3339).collect();
    Value::Object(members([
        ("appointment_id", Some(json!(appointment.appointment_id))),
        ("type", Some(json!(appointment.kind))),
        ("status", Some(json!(appointment.state))),
        ("requested_at", appointment.requested_at.and_then(moment)),
        ("starts_at", appointment.starts_at.and_then(moment)),
        ("ends_at", appointment.ends_at.and_then(moment)),
        ("proposed", Some(json!(proposed)).filter(|_| !proposed.is_empty())),
    ]))
}

fn moment(at: Timestamp) -> Option<Value> {
    Some(Value::from(rfc3339(at)))
}

fn text(text: &str) -> Option<Value> {
    Some(Value::from(text)).filter(|_| !text.is_empty())
}

/// Builds an object of the members that have a value, in their order.
fn members<'n>(all: impl IntoIterator<Item = (&'n str, Option<Value>)>) -> Map {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
