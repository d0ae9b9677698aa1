//! Deliveries of leads to the dealer's staff and systems: which destination gets which lead, and in
//! which format. Sending and retrying are the caller's.
//!
//! Deliveries follow the events of a lead. Each destination gets every event in order, with the
//! lead as it was after it. The message is built when it is sent, so customer data is stored once.

use std::borrow::Cow;

use jiff::Timestamp;
use tradepost_aap::lead::AppointmentType;
use tradepost_document::json::Value;
use tradepost_document::words;

use crate::adf::view::LeadView;
use crate::adf::{self, Prospect};
use crate::record::{LeadEvent, LeadEventKind, LeadHistory, LeadRecord, LeadState};
use crate::settings::{DealerSettings, LeadPolicy};

pub mod chat;
mod event;
pub mod sample;
#[cfg(test)]
mod tests;

words! {
    /// Subjects of a lead. A lead about several things has several kinds.
    pub enum LeadKind {
        /// A visit to the sales department.
        Sales = "sales",
        /// A visit to the workshop.
        Service = "service",
        /// A test drive.
        TestDrive = "test_drive",
        /// A trade-in.
        TradeIn = "trade_in",
        /// None of these: a question.
        Inquiry = "inquiry",
    }
}

words! {
    /// States of a delivery.
    pub enum DeliveryState {
        /// Waiting to be sent, now or later.
        Due = "due",
        /// Being sent, or interrupted by the end of the process.
        Sending = "sending",
        /// Accepted by the destination.
        Delivered = "delivered",
        /// Given up; a person has to look at it.
        Dead = "dead",
        /// Not to be sent any more: the lead was erased, or its consent withdrawn.
        Ended = "ended",
    }
}

words! {
    /// Subjects of deliveries.
    pub enum DeliverySource {
        /// An event of a lead.
        Lead = "lead",
        /// An event for the people of a publisher.
        Publisher = "publisher",
    }
}

words! {
    /// Message formats of chats.
    pub enum ChatStyle {
        /// Slack's format, which other chats accept too.
        Slack = "slack",
        /// Microsoft Teams: an Adaptive Card.
        Teams = "teams",
    }
}

/// A receiver of leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadDestination {
    /// Unique name that the dealer has given it.
    pub name: String,
    /// Rooftops whose leads it receives; all when empty.
    pub rooftops: Vec<String>,
    /// Kinds of leads that it receives; all when empty.
    pub kinds: Vec<LeadKind>,
    /// Format of its messages.
    pub form: MessageFormat,
    /// True when people work with its leads there, as in a CRM: a lead that it has accepted waits no
    /// longer for the dealer's staff here.
    pub handles_leads: bool,
}

/// Format of a destination's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageFormat {
    /// ADF 1.0.
    Adf(adf::AdfOptions),
    /// `aap.event`, as JSON.
    Event,
    /// A message to people, as JSON.
    Chat {
        /// The chat's message format.
        style: ChatStyle,
        /// True when messages name the customer and their contact values.
        contact: bool,
    },
}

/// A stored delivery, without the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Sequence number; later deliveries have larger ones, and none is reused.
    pub key: i64,
    /// Kind of event that is delivered.
    pub source: DeliverySource,
    /// The dealer, or the publisher for its events.
    pub dealer_id: String,
    /// Id of the lead; of a publisher's event, the id of what it is about.
    pub lead_id: String,
    /// Name of the destination.
    pub destination: String,
    /// Sequence number of the event, among those of leads or of a publisher.
    pub event: i64,
    /// State of the delivery.
    pub state: DeliveryState,
    /// Number of attempts, including one in progress.
    pub attempts: u32,
    /// True when the destination may already have the lead: it accepted another delivery of it, or the
    /// answer to an attempt was lost.
    pub may_have_arrived: bool,
    /// Last answer in short, or the reason why there was none.
    pub answer: Option<String>,
    /// Moment at which it was created.
    pub created_at: Timestamp,
    /// Moment of the next attempt; `None` when there will be none.
    pub due_at: Option<Timestamp>,
    /// Moment at which it was delivered, given up or ended.
    pub ended_at: Option<Timestamp>,
}

impl DeliveryRecord {
    /// Returns the id that stays the same over all attempts, for deduplication by the receiver.
    #[must_use]
    pub fn id(&self) -> String {
        match self.source {
            DeliverySource::Lead => format!("{}-{}", self.lead_id, self.key),
            // What it is about may have an id that a buyer has chosen, which is none for a header.
            DeliverySource::Publisher => format!("{}-{}", self.dealer_id, self.key),
        }
    }
}

/// A delivery to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// The dealer.
    pub dealer_id: String,
    /// The lead.
    pub lead_id: String,
    /// Name of the destination.
    pub destination: String,
    /// Sequence number of the event.
    pub event: i64,
}

/// Destinations that an event goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryAudience {
    /// Every destination that the lead is for.
    All,
    /// Destinations that may already have the lead.
    Informed,
    /// No destination.
    Nobody,
}

/// Decides which destinations get an event, by the current state of the lead. A held lead is sent
/// when it is released; a withdrawn consent goes only to destinations that may already act on the
/// lead.
#[must_use]
pub fn audience(lead: &LeadRecord, event: &LeadEvent) -> DeliveryAudience {
    use LeadEventKind as Kind;
    match (lead.state, event.kind) {
        // The slot is free again, which systems with the appointment must learn. No customer data
        // is left to send.
        (LeadState::Erased, Kind::AppointmentCancelled) => DeliveryAudience::Informed,
        (LeadState::Erased | LeadState::Held, _)
        | (_, Kind::Erased)
        | (LeadState::Revoked, Kind::Received | Kind::Resubmitted | Kind::Released) => {
            DeliveryAudience::Nobody
        }
        (LeadState::Received | LeadState::Revoked, Kind::ConsentRevoked)
        | (
            LeadState::Revoked,
            Kind::AppointmentConfirmed
            | Kind::AppointmentMoved
            | Kind::AppointmentCancelled
            | Kind::AppointmentNoShow,
        ) => DeliveryAudience::Informed,
        // A lead that was held is sent by its release.
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
            LeadState::Received => DeliveryAudience::All,
            LeadState::Held | LeadState::Revoked | LeadState::Erased => DeliveryAudience::Nobody,
        },
    }
}

impl LeadDestination {
    /// Returns true when the destination receives this lead.
    #[must_use]
    pub fn wants(&self, lead: &LeadRecord) -> bool {
        let rooftop = lead.submission.rooftop.as_deref().unwrap_or_default().to_lowercase();
        let is_for_rooftop = self.rooftops.is_empty()
            || self.rooftops.iter().any(|name| name.to_lowercase() == rooftop);
        let kinds = kinds(lead);
        is_for_rooftop
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kinds.contains(kind)))
    }
}

/// Returns the kinds of a lead: of its current appointment, of another one asked for, and of a
/// trade-in.
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

/// Content of a message to a destination.
#[derive(Debug, Clone)]
pub struct DeliveryContent<'a> {
    /// The lead as it was after the event.
    pub lead: &'a LeadRecord,
    /// The event.
    pub event: &'a LeadEvent,
    /// Other leads of probably the same person.
    pub same_person: &'a [String],
    /// Id for deduplication by the receiver.
    pub id: &'a str,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// True when the destination may already have the lead.
    pub is_resent: bool,
    /// True for a test message without a real lead. A lead that is itself a test is marked in any case.
    pub is_test: bool,
    /// Current time, so that dates of this year are written without the year.
    pub now: Timestamp,
}

/// A written message.
#[derive(Clone, PartialEq, Eq)]
pub struct WrittenMessage {
    /// Subject line, without anything that identifies the customer.
    pub subject: String,
    /// Body.
    pub body: String,
}

impl std::fmt::Debug for WrittenMessage {
    /// Leaves out the body, which has customer data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WrittenMessage").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// Writes a message in a destination's format. It never contains contact values that no consented
/// channel can use (AAP 1.1 `lead.submit`, `R-LD-03`), nor any after the consent has ended.
#[must_use]
pub fn write(
    form: &MessageFormat,
    content: &DeliveryContent<'_>,
    dealer: &DealerSettings,
) -> WrittenMessage {
    let lead = as_permitted(content.lead, &dealer.leads, content.now);
    let is_test = content.is_test || sample::is_self_test(&lead);
    let content = &DeliveryContent { lead: &lead, is_test, ..content.clone() };
    let subject = headline(content);
    let body = match form {
        MessageFormat::Adf(options) => {
            let prospect = Prospect {
                lead: content.lead,
                is_resent: content.is_resent,
                same_person: content.same_person,
            };
            let document = adf::write(&[prospect], std::slice::from_ref(dealer), options);
            document.unwrap_or_default()
        }
        MessageFormat::Event => event::write(content).to_string(),
        MessageFormat::Chat { style, contact } => {
            chat::write(*style, *contact, content).to_string()
        }
    };
    WrittenMessage { subject, body }
}

/// Removes the permitted channels when the consent has expired by its own end (`R-LD-06`) or by the
/// dealer's rule (`R-LD-07`). Days may pass before a destination accepts a delivery.
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
    // Without a channel, every format leaves the contact values out.
    let mut lead = lead.clone();
    if let Some(channels) = lead.submission.payload.pointer_mut("/consent/allowed_channels") {
        *channels = Value::Array(Vec::new());
    }
    Cow::Owned(lead)
}

/// Returns an event of a lead with the lead as it was after it.
#[must_use]
pub fn as_of(history: &LeadHistory, event: i64) -> Option<(&LeadEvent, LeadRecord)> {
    history.changes().find(|(known, _)| known.seq == event)
}

/// Returns a headline such as `New lead: test drive, 2024 Honda Accord EX, Demo Toyota San
/// Francisco`. The vehicle is named as in the dealer's listing, because a customer's text may
/// contain personal data.
fn headline(content: &DeliveryContent<'_>) -> String {
    let vehicle = LeadView::new(content.lead).listed().map(|vehicle| vehicle.title());
    let vehicle = vehicle.filter(|title| !title.is_empty());
    let about = match vehicle {
        Some(title) => format!("{}, {title}", subjects(content.lead)),
        None => subjects(content.lead),
    };
    let rooftop = content.lead.submission.rooftop.as_deref();
    let at = rooftop.map(|name| format!(", {name}")).unwrap_or_default();
    adf::one_line(&format!("{}: {about}{at}", content_kind(content)))
}

fn content_kind(content: &DeliveryContent<'_>) -> &'static str {
    // Checked first, because a test must not be acted on.
    if content.is_test {
        return "TEST, this is no lead";
    }
    match (content.lead.state, content.event.kind) {
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
            kind @ (LeadEventKind::Received
            | LeadEventKind::Resubmitted
            | LeadEventKind::Released
            | LeadEventKind::ConsentRevoked
            | LeadEventKind::Erased),
        ) => match (content.is_resent, kind) {
            (false, _) => "New lead",
            // Nothing has changed: the answer to an attempt was lost.
            (true, LeadEventKind::Received) => "Lead, sent again",
            (true, _) => "Changed lead",
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
