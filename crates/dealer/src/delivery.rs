//! Leads on their way to the dealer's people and systems: which destination is told of which lead,
//! and in which words. How something is sent, and when again, is somebody else's affair.
//!
//! The events of a lead are what is told. A destination is told of each in turn, as the lead was
//! after it; what is built is built when it is sent, so nothing of a customer is kept twice.

use std::borrow::Cow;

use jiff::Timestamp;
use tradepost_wire::aap::lead::AppointmentType;
use tradepost_wire::json::Value;
use tradepost_wire::words;

use crate::adf::view::LeadView;
use crate::adf::{self, Prospect};
use crate::record::{LeadEvent, LeadEventKind, LeadHistory, LeadRecord, LeadState};
use crate::settings::{Dealer, LeadPolicy};

pub mod chat;
mod event;
pub mod sample;
#[cfg(test)]
mod tests;

words! {
    /// What a lead is about. One that is about several things is of several kinds.
    pub enum LeadKind {
        /// A visit to the sales people.
        Sales = "sales",
        /// A visit to the workshop.
        Service = "service",
        /// A test drive.
        TestDrive = "test_drive",
        /// A vehicle in exchange.
        TradeIn = "trade_in",
        /// None of these: a question.
        Inquiry = "inquiry",
    }
}

words! {
    /// How a delivery stands.
    pub enum DeliveryState {
        /// It is to be sent, now or later.
        Due = "due",
        /// It is being sent, or was when the process ended.
        Sending = "sending",
        /// It was taken.
        Delivered = "delivered",
        /// It was given up; a person has to look.
        Dead = "dead",
        /// It is not to be sent any more: the lead was erased, or its consent withdrawn.
        Ended = "ended",
    }
}

words! {
    /// Whose messages a chat takes.
    pub enum ChatStyle {
        /// Slack's, and those of everybody who takes the same.
        Slack = "slack",
        /// Those of Microsoft Teams: a card.
        Teams = "teams",
    }
}

/// Somebody who is told of leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Its name, which the dealer has given it once.
    pub name: String,
    /// The rooftops whose leads it is told of; all when empty.
    pub rooftops: Vec<String>,
    /// The kinds of leads that it is told of; all when empty.
    pub kinds: Vec<LeadKind>,
    /// What it reads.
    pub form: Form,
}

/// What a destination reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// ADF 1.0.
    Adf(adf::Options),
    /// `aap.event`, as JSON.
    Event,
    /// A message to people, as JSON.
    Chat {
        /// Whose.
        style: ChatStyle,
        /// Whether it says who the customer is and how to reach them.
        contact: bool,
    },
}

/// A delivery as it is kept: what is to be sent is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Its number: later ones have larger ones, and none is given twice.
    pub key: i64,
    /// Whose lead it is.
    pub dealer_id: String,
    /// The lead.
    pub lead_id: String,
    /// The destination's name.
    pub destination: String,
    /// The number of the event that is told.
    pub event: i64,
    /// How it stands.
    pub state: DeliveryState,
    /// How often it was begun to be sent.
    pub attempts: u32,
    /// Whether the destination may have the lead already: it has taken an earlier delivery, or its
    /// answer to an attempt was lost.
    pub may_have: bool,
    /// What was last answered, in short, or why there was no answer.
    pub answer: Option<String>,
    /// Since when it is to be sent.
    pub created_at: Timestamp,
    /// When it is sent next; `None` when it is not.
    pub due_at: Option<Timestamp>,
    /// When it was taken, given up or ended.
    pub ended_at: Option<Timestamp>,
}

impl DeliveryRecord {
    /// By which the receiver knows it again, however often it comes.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}-{}", self.lead_id, self.key)
    }
}

/// A delivery that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Whose lead it is.
    pub dealer_id: String,
    /// The lead.
    pub lead_id: String,
    /// The destination's name.
    pub destination: String,
    /// The number of the event.
    pub event: i64,
}

/// Who is told of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Every destination that the lead is for.
    All,
    /// Those that may have the lead already.
    Informed,
    /// Nobody.
    Nobody,
}

/// Who is told of an event of a lead, as things stand now. What is held back is told when it is
/// released; what was withdrawn is told to those alone who could otherwise go on.
#[must_use]
pub fn audience(lead: &LeadRecord, event: &LeadEvent) -> Audience {
    use LeadEventKind as Kind;
    match (lead.state, event.kind) {
        // Its slot is free again, which systems that have the appointment must hear. Nothing of the
        // customer is left to be told.
        (LeadState::Erased, Kind::AppointmentCancelled) => Audience::Informed,
        (LeadState::Erased | LeadState::Held, _)
        | (_, Kind::Erased)
        | (LeadState::Revoked, Kind::Received | Kind::Resubmitted | Kind::Released) => {
            Audience::Nobody
        }
        (LeadState::Received | LeadState::Revoked, Kind::ConsentRevoked)
        | (
            LeadState::Revoked,
            Kind::AppointmentConfirmed
            | Kind::AppointmentMoved
            | Kind::AppointmentCancelled
            | Kind::AppointmentNoShow,
        ) => Audience::Informed,
        // What was held back when it came is told by its release.
        (
            LeadState::Received,
            Kind::Received
            | Kind::Resubmitted
            | Kind::Released
            | Kind::AppointmentConfirmed
            | Kind::AppointmentMoved
            | Kind::AppointmentCancelled
            | Kind::AppointmentNoShow,
        ) => match event.state {
            LeadState::Received => Audience::All,
            LeadState::Held | LeadState::Revoked | LeadState::Erased => Audience::Nobody,
        },
    }
}

impl Destination {
    /// Whether it is told of a lead.
    #[must_use]
    pub fn wants(&self, lead: &LeadRecord) -> bool {
        let rooftop = lead.submission.rooftop.as_deref().unwrap_or_default().to_lowercase();
        let here = self.rooftops.is_empty()
            || self.rooftops.iter().any(|name| name.to_lowercase() == rooftop);
        let kinds = kinds(lead);
        here && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kinds.contains(kind)))
    }
}

/// What a lead is about, as it stands: its current appointment, what was asked for besides, and a
/// vehicle in exchange.
#[must_use]
pub fn kinds(lead: &LeadRecord) -> Vec<LeadKind> {
    let appointments = lead.appointment.iter().chain(lead.asked_besides());
    let mut kinds: Vec<_> = appointments
        .map(|appointment| match appointment.kind {
            AppointmentType::Sales => LeadKind::Sales,
            AppointmentType::Service => LeadKind::Service,
            AppointmentType::TestDrive => LeadKind::TestDrive,
            AppointmentType::TradeIn => LeadKind::TradeIn,
        })
        .collect();
    kinds.extend(LeadView::new(lead).trade_in().map(|_| LeadKind::TradeIn));
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.is_empty() { vec![LeadKind::Inquiry] } else { kinds }
}

/// Something that is told to a destination.
#[derive(Debug, Clone)]
pub struct Parcel<'a> {
    /// The lead as it was after the event.
    pub lead: &'a LeadRecord,
    /// The event.
    pub event: &'a LeadEvent,
    /// Other leads of probably the same person.
    pub same_person: &'a [String],
    /// By which the receiver knows it again.
    pub id: &'a str,
    /// How often it was begun to be sent, this time included.
    pub attempt: u32,
    /// Whether the destination may have the lead already.
    pub is_resent: bool,
    /// Whether nothing of it is true.
    pub is_test: bool,
    /// What time it is, so that this year's dates need no year.
    pub now: Timestamp,
}

/// What is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Written {
    /// What it is about in one line, without anything that tells who the customer is.
    pub subject: String,
    /// All of it.
    pub body: String,
}

impl std::fmt::Debug for Written {
    /// Without the customer.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Written").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// Writes a parcel in the form that a destination reads. Contact values that no consented channel
/// can use are never in it (`R-LD-03`), nor any once the consent is over.
#[must_use]
pub fn write(form: &Form, parcel: &Parcel<'_>, dealer: &Dealer) -> Written {
    let lead = as_permitted(parcel.lead, &dealer.leads, parcel.now);
    let parcel = &Parcel { lead: &lead, ..parcel.clone() };
    let subject = headline(parcel);
    let body = match form {
        Form::Adf(options) => {
            let prospect = Prospect {
                lead: parcel.lead,
                is_resent: parcel.is_resent,
                same_person: parcel.same_person,
            };
            let document = adf::write(&[prospect], std::slice::from_ref(dealer), options);
            document.unwrap_or_default()
        }
        Form::Event => event::write(parcel).to_string(),
        Form::Chat { style, contact } => chat::write(*style, *contact, parcel).to_string(),
    };
    Written { subject, body }
}

/// The lead, without a permitted channel when its consent is over by now: by its own end (`R-LD-06`) or by
/// the dealer's rule (`R-LD-07`). Days may pass before a destination takes it.
fn as_permitted<'a>(
    lead: &'a LeadRecord,
    policy: &LeadPolicy,
    now: Timestamp,
) -> Cow<'a, LeadRecord> {
    let view = LeadView::new(lead);
    let granted_at = view.moment("/consent/granted_at");
    let by_rule = || granted_at?.checked_add(policy.consent_lifetime?).ok();
    let end = view.moment("/consent/expires_at").or_else(by_rule);
    if end.is_none_or(|end| now < end) {
        return Cow::Borrowed(lead);
    }
    // Without a channel every form leaves the contact out by itself.
    let mut lead = lead.clone();
    if let Some(channels) = lead.submission.payload.pointer_mut("/consent/allowed_channels") {
        *channels = Value::Array(Vec::new());
    }
    Cow::Owned(lead)
}

/// The lead in the state after one of its events, with the event.
#[must_use]
pub fn as_of(history: &LeadHistory, event: i64) -> Option<(&LeadEvent, LeadRecord)> {
    history.changes().find(|(known, _)| known.seq == event)
}

/// `New lead: test drive, 2024 Honda Accord EX, Demo Toyota San Francisco`. The vehicle is named
/// as the dealer's own listing names it: what customers write may be about themselves.
fn headline(parcel: &Parcel<'_>) -> String {
    let vehicle = LeadView::new(parcel.lead).listed().map(|vehicle| vehicle.title());
    let vehicle = vehicle.filter(|title| !title.is_empty());
    let about = match vehicle {
        Some(title) => format!("{}, {title}", subjects(parcel.lead)),
        None => subjects(parcel.lead),
    };
    let rooftop = parcel.lead.submission.rooftop.as_deref();
    let at = rooftop.map(|name| format!(", {name}")).unwrap_or_default();
    adf::one_line(&format!("{}: {about}{at}", kind_of_news(parcel)))
}

fn kind_of_news(parcel: &Parcel<'_>) -> &'static str {
    // First: whatever else holds, nobody must act on it.
    if parcel.is_test {
        return "TEST, this is no lead";
    }
    match (parcel.lead.state, parcel.event.kind) {
        (LeadState::Erased, LeadEventKind::AppointmentCancelled) => {
            "Appointment cancelled, customer erased"
        }
        (LeadState::Revoked | LeadState::Erased, _) => "Do not contact, consent withdrawn",
        (LeadState::Received | LeadState::Held, LeadEventKind::AppointmentConfirmed) => {
            "Appointment confirmed"
        }
        (LeadState::Received | LeadState::Held, LeadEventKind::AppointmentMoved) => {
            "Appointment moved"
        }
        (LeadState::Received | LeadState::Held, LeadEventKind::AppointmentCancelled) => {
            "Appointment cancelled"
        }
        (LeadState::Received | LeadState::Held, LeadEventKind::AppointmentNoShow) => {
            "Appointment missed"
        }
        (
            LeadState::Received | LeadState::Held,
            LeadEventKind::Received
            | LeadEventKind::Resubmitted
            | LeadEventKind::Released
            | LeadEventKind::ConsentRevoked
            | LeadEventKind::Erased,
        ) => match parcel.is_resent {
            true => "Changed lead",
            false => "New lead",
        },
    }
}

fn subjects(lead: &LeadRecord) -> String {
    let names: Vec<_> = kinds(lead)
        .into_iter()
        .map(|kind| match kind {
            LeadKind::Sales => "visit",
            LeadKind::Service => "service",
            LeadKind::TestDrive => "test drive",
            LeadKind::TradeIn => "trade-in",
            LeadKind::Inquiry => "inquiry",
        })
        .collect();
    names.join(" and ")
}
