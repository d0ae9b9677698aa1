//! `lead.submit`: a lead with its consent. The type [`LeadSubmit`] guarantees that the consent is
//! complete, valid at the time of the request, and covers a channel on which the customer can be
//! reached.
// The rules are those of AAP 1.1 lead-submit and behavior-rules (R-LD-01 to R-LD-11).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::caps;
use crate::dealer::Address;
use crate::error::{AapRefusal, ConsentDefect};
use crate::vehicle::{Vehicle, Vocabularies};
use crate::{DealerTerms, Skill, Version};
use tradepost_document::canonical;
use tradepost_document::catalog::{Vocabulary, words};
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Keyword, Problems};

words! {
    /// Contact channels.
    pub enum Channel {
        /// E-mail.
        Email = "email",
        /// A call.
        Phone = "phone",
        /// A text message.
        Sms = "sms",
    }
}

words! {
    /// Contact preferences of a customer.
    pub enum PreferredContact {
        /// E-mail.
        Email = "email",
        /// Telephone call.
        Phone = "phone",
        /// Text message.
        Sms = "sms",
        /// No preference.
        Any = "any",
    }
}

words! {
    /// Purposes of a consent grant.
    pub enum Scope {
        /// Submitting one lead.
        LeadSubmission = "lead_submission",
    }
}

words! {
    /// Types of appointments.
    pub enum AppointmentType {
        /// A meeting with sales.
        Sales = "sales",
        /// A workshop visit.
        Service = "service",
        /// A test drive.
        TestDrive = "test_drive",
        /// An appraisal.
        TradeIn = "trade_in",
    }
}

/// A lead.
#[derive(Debug, Clone)]
pub struct LeadSubmit {
    /// Customer.
    pub customer: Customer,
    /// Consent grant.
    pub consent: ConsentGrant,
    /// Vehicle of interest.
    pub vehicle_of_interest: Option<Vehicle>,
    /// Trade-in.
    pub trade_in: Option<Vehicle>,
    /// Requested appointment.
    pub appointment: Option<AppointmentRequest>,
    /// Message in the customer's words.
    pub message: Option<String>,
    /// Agent that submits the lead.
    pub source_agent: SourceAgent,
    /// Time at which the agent sent it.
    pub submitted_at: Option<Timestamp>,
    /// Idempotency key.
    pub idempotency_key: Option<String>,
    /// AAP version of the request.
    pub version: Version,
    /// Payload as sent, for the record.
    pub payload: Value,
}

/// A customer; `email`, `phone` or both are present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// Given name; may be empty.
    // A lead without a name is accepted (C-42).
    pub first_name: String,
    /// Family name; may be empty.
    // A lead without a name is accepted (C-42).
    pub last_name: String,
    /// E-mail address.
    pub email: Option<String>,
    /// Telephone number in E.164.
    pub phone: Option<String>,
    /// Preferred channel.
    pub preferred_contact: Option<PreferredContact>,
    /// Postal address.
    pub address: Option<Address>,
}

/// A consent grant: the customer's permission to be contacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentGrant {
    /// Time at which it was given.
    pub granted_at: Timestamp,
    /// Permitted channels; at least one, without duplicates.
    pub allowed_channels: Vec<Channel>,
    /// Text that the customer agreed to, verbatim.
    pub consent_text: String,
    /// Time at which it expires.
    pub expires_at: Option<Timestamp>,
    /// Agent that the consent names, in 1.0.
    pub source_agent: Option<String>,
}

/// A request for an appointment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppointmentRequest {
    /// Type of appointment.
    pub kind: AppointmentType,
    /// Requested start.
    pub at: Option<Timestamp>,
    /// Length in minutes, at least 15.
    pub duration_minutes: Option<u32>,
    /// Notes.
    pub notes: Option<String>,
}

/// The agent that acts for the customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAgent {
    /// Name of the agent.
    pub name: String,
    /// Address of its website.
    pub url: Option<String>,
    /// Address of its agent card.
    pub agent_card_url: Option<String>,
}

impl LeadSubmit {
    /// Returns the text by which submissions are compared: the payload in canonical form, without
    /// the idempotency key and the time of sending.
    // A retry may have a new time of sending (C-17).
    #[must_use]
    pub fn canonical_payload(&self) -> String {
        let mut out = String::new();
        let members = self.payload.as_object().into_iter().flatten();
        let compared = members
            .filter(|(name, _)| !matches!(name.as_str(), "idempotency_key" | "submitted_at"))
            .collect();
        canonical::write_members(&mut out, compared);
        out
    }

    /// Returns the channels that the consent permits and on which the customer can be reached.
    #[must_use]
    pub fn usable_channels(&self) -> Vec<Channel> {
        usable_channels(&self.customer, &self.consent)
    }
}

fn usable_channels(customer: &Customer, consent: &ConsentGrant) -> Vec<Channel> {
    let reachable = |channel: &Channel| match channel {
        Channel::Email => customer.email.is_some(),
        Channel::Phone | Channel::Sms => customer.phone.is_some(),
    };
    consent.allowed_channels.iter().copied().filter(reachable).collect()
}

/// Reads a lead and applies the consent rules in their order.
// The order of checks is that of docs/requirements/aap.md, "Which code wins", 5 to 7.
pub(super) fn read(
    data: &Value,
    version: Version,
    terms: &DealerTerms,
) -> Result<LeadSubmit, AapRefusal> {
    // The consent's problems decide the code and are listed first (C-04).
    let mut of_consent = Problems::new();
    let mut problems = Problems::new();
    read_object!(data, &DocumentPlace::Root, &mut problems, closed {
        required "type" => kind: |v, at, p| Skill::LeadSubmit.read_type(v, at, p),
        required "customer" => customer: read_customer,
        required "consent" => consent: |v, at, _| read_consent(v, at, &mut of_consent, version),
        optional "vehicle_of_interest" => vehicle_of_interest:
            |v, at, p| Vehicle::read(v, at, p, version, Vocabularies::Sale),
        optional "trade_in" => trade_in:
            |v, at, p| Vehicle::read(v, at, p, version, Vocabularies::TradeIn),
        optional "appointment" => appointment: read_appointment,
        optional "message" => message: |v, at, p| parse::text_of(v, at, p, 0, Some(4000)),
        required "source_agent" => source_agent: |v, at, p| read_source_agent(v, at, p, version),
        optional "submitted_at" => submitted_at: parse::timestamp,
        optional "idempotency_key" => idempotency_key:
            |v, at, p| parse::text_of(v, at, p, 1, Some(128)),
    });
    if version == Version::V1_1 {
        // A buyer of 1.0 has the name of its agent in both places (C-35).
        of_consent.reword(
            "/consent/source_agent",
            Keyword::AdditionalProperties,
            "unknown property \"source_agent\"; in v1.1 it is an object at the top level",
        );
        problems.reword(
            "/source_agent",
            Keyword::Type,
            "must be object; in v1.1 it has a name and may have url and agent_card_url",
        );
    }
    // First, because without a consent no other correction would help.
    if data.as_object().is_some_and(|members| !members.contains_key("consent")) {
        return Err(AapRefusal::consent_missing(problems));
    }
    if !of_consent.is_empty() {
        of_consent.append(problems);
        return Err(AapRefusal::malformed_consent(of_consent));
    }
    if let Some(defect) = consent.as_ref().and_then(|consent| consent_defect(consent, terms)) {
        return Err(AapRefusal::unusable_consent(defect, problems));
    }
    let lead = (|| {
        kind?;
        Some(LeadSubmit {
            customer: customer?,
            consent: consent?,
            vehicle_of_interest,
            trade_in,
            appointment,
            message,
            source_agent: source_agent?,
            submitted_at,
            idempotency_key,
            version,
            payload: data.clone(),
        })
    })();
    let lead = problems.into_result(lead).map_err(AapRefusal::from_problems)?;
    check_channel(&lead)?;
    check_size(data)?;
    Ok(lead)
}

fn consent_defect(consent: &ConsentGrant, terms: &DealerTerms) -> Option<ConsentDefect> {
    let &DealerTerms { now, clock_skew, consent_lifetime, .. } = terms;
    if consent.consent_text.trim().is_empty() {
        return Some(ConsentDefect::BlankText);
    }
    if consent.granted_at > now.saturating_add(clock_skew).unwrap_or(Timestamp::MAX) {
        return Some(ConsentDefect::GrantedInFuture);
    }
    let default = || consent.granted_at.checked_add(consent_lifetime?).ok();
    let expires_at = consent.expires_at.or_else(default)?;
    if expires_at <= now {
        return Some(ConsentDefect::Expired(expires_at));
    }
    (expires_at <= consent.granted_at).then_some(ConsentDefect::ExpiresBeforeGrant)
}

/// Checks the size of a valid lead.
// A lead that is too large to keep is refused in the schema's terms (C-51).
fn check_size(data: &Value) -> Result<(), AapRefusal> {
    let mut of_consent = Problems::new();
    let mut problems = Problems::new();
    for (name, value) in data.as_object().into_iter().flatten() {
        let problems = if name == "consent" { &mut of_consent } else { &mut problems };
        caps::check(name, value, &DocumentPlace::Root.key(name), problems);
    }
    if !of_consent.is_empty() {
        of_consent.append(problems);
        return Err(AapRefusal::malformed_consent(of_consent));
    }
    problems.into_result(Some(())).map_err(AapRefusal::from_problems)
}

/// Checks that the consent permits the preferred channel, and any usable one.
// The preferred channel must be permitted, and one permitted channel must be usable (C-05, E-082,
// E-083).
fn check_channel(lead: &LeadSubmit) -> Result<(), AapRefusal> {
    // The preference `any` names no channel.
    let preferred = lead.customer.preferred_contact;
    let wanted = preferred.and_then(|preferred| Channel::from_name(preferred.name()));
    let allowed: Vec<_> = lead.consent.allowed_channels.iter().map(|c| c.name()).collect();
    match wanted {
        Some(channel) if !lead.consent.allowed_channels.contains(&channel) => {
            Err(AapRefusal::channel_not_permitted(Some(channel.name()), &allowed))
        }
        Some(_) | None if lead.usable_channels().is_empty() => {
            Err(AapRefusal::channel_not_permitted(None, &allowed))
        }
        Some(_) | None => Ok(()),
    }
}

fn read_customer(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Customer> {
    let before = problems.total();
    read_object!(value, at, problems, closed {
        required "first_name" => first_name: parse::text,
        required "last_name" => last_name: parse::text,
        optional "email" => email: parse::email,
        optional "phone" => phone: parse::phone,
        optional "preferred_contact" => preferred_contact: parse::word,
        optional "address" => address: read_address,
    });
    let names = &["email", "phone"];
    if value.as_object().is_some_and(|members| !names.iter().any(|n| members.contains_key(*n))) {
        parse::none_of(at, problems, names);
    }
    if problems.total() > before {
        return None;
    }
    let first_name = first_name?;
    let last_name = last_name?;
    Some(Customer { first_name, last_name, email, phone, preferred_contact, address })
}

fn read_address(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Address> {
    read_object!(value, at, problems, closed {
        optional "country" => country: parse::text,
        optional "state" => state: parse::text,
        optional "city" => city: parse::text,
        optional "address_line_1" => address_line_1: parse::text,
        optional "address_line_2" => address_line_2: parse::text,
        optional "zip" => zip: parse::text,
    });
    Some(Address { country, state, city, address_line_1, address_line_2, zip })
}

fn read_consent(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    version: Version,
) -> Option<ConsentGrant> {
    fn channels(
        value: &Value,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
    ) -> Option<Vec<Channel>> {
        let before = problems.total();
        let channels = parse::list(value, at, problems, (1, None), parse::word);
        parse::unique(value, at, problems);
        channels.filter(|_| problems.total() == before)
    }
    fn lead_scope(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<()> {
        let scope = parse::list(value, at, problems, (1, Some(1)), parse::word::<Scope>);
        parse::unique(value, at, problems);
        scope.map(|_| ())
    }
    fn text(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
        parse::text_of(value, at, problems, 1, None)
    }
    let (granted_at, allowed_channels, consent_text, scope, expires_at, source_agent) =
        match version {
            Version::V1_1 => {
                read_object!(value, at, problems, closed {
                    required "granted_at" => granted_at: parse::timestamp,
                    required "allowed_channels" => allowed_channels: channels,
                    required "consent_text" => consent_text: text,
                    required "scope" => scope: lead_scope,
                    optional "expires_at" => expires_at: parse::timestamp,
                });
                (granted_at, allowed_channels, consent_text, scope, expires_at, None)
            }
            Version::V1_0 => {
                read_object!(value, at, problems, closed {
                    required "granted_at" => granted_at: parse::timestamp,
                    required "allowed_channels" => allowed_channels: channels,
                    required "consent_text" => consent_text: text,
                    required "source_agent" => source_agent: text,
                    required "scope" => scope: lead_scope,
                    optional "expires_at" => expires_at: parse::timestamp,
                });
                (granted_at, allowed_channels, consent_text, scope, expires_at, source_agent)
            }
        };
    scope?;
    Some(ConsentGrant {
        granted_at: granted_at?,
        allowed_channels: allowed_channels?,
        consent_text: consent_text?,
        expires_at,
        source_agent,
    })
}

fn read_appointment(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AppointmentRequest> {
    read_object!(value, at, problems, closed {
        required "appointment_type" => kind: parse::word,
        optional "appointment_at" => start: parse::timestamp,
        optional "duration_minutes" => duration_minutes: |v, at, p| {
            parse::integer(v, at, p, 15, None).map(|n| u32::try_from(n).unwrap_or(u32::MAX))
        },
        optional "notes" => notes: |v, at, p| parse::text_of(v, at, p, 0, Some(2000)),
    });
    Some(AppointmentRequest { kind: kind?, at: start, duration_minutes, notes })
}

fn read_source_agent(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    version: Version,
) -> Option<SourceAgent> {
    match version {
        Version::V1_0 => {
            let name = parse::text_of(value, at, problems, 1, None)?;
            Some(SourceAgent { name, url: None, agent_card_url: None })
        }
        Version::V1_1 => {
            read_object!(value, at, problems, closed {
                required "name" => name: |v, at, p| parse::text_of(v, at, p, 1, None),
                optional "url" => url: parse::uri,
                optional "agent_card_url" => agent_card_url: parse::uri,
            });
            Some(SourceAgent { name: name?, url, agent_card_url })
        }
    }
}

words! {
    /// Statuses of a lead.
    pub enum LeadStatus {
        /// The dealer has received it.
        Received = "received",
        /// The dealer already had it.
        Duplicate = "duplicate",
        /// The dealer does not accept it.
        Rejected = "rejected",
    }
}

words! {
    /// Statuses of an appointment.
    pub enum AppointmentStatus {
        /// A member of staff has to find a time.
        Requested = "requested",
        /// The requested time is not possible; others are proposed.
        Proposed = "proposed",
        /// Booked.
        Confirmed = "confirmed",
        /// The dealer does not offer it.
        Rejected = "rejected",
    }
}

/// Receipt of a lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadReceipt {
    /// Id of the lead.
    pub lead_id: String,
    /// Status of the lead.
    pub status: LeadStatus,
    /// Receipt of the appointment, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appointment: Option<AppointmentReceipt>,
    /// Contact at the dealer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealer: Option<DealerContact>,
}

/// Receipt of an appointment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppointmentReceipt {
    /// Id of the appointment.
    pub appointment_id: String,
    /// Status of the appointment.
    pub status: AppointmentStatus,
    /// Booked time, present exactly when confirmed.
    // Each of the two times belongs to one status (AAP 1.1 lead-submit, R-LD-23).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<String>,
    /// Proposed times, present exactly when proposed.
    // Each of the two times belongs to one status (AAP 1.1 lead-submit, R-LD-23).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_times: Option<Vec<String>>,
}

/// Contact at the dealer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DealerContact {
    /// Name of the rooftop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Telephone number in E.164.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}
