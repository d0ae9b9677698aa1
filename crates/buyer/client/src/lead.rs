//! Leads, built from the consent: a contact can be set only if the customer has granted its channel. An
//! e-mail address needs the channel `email`; a telephone number needs `phone` or `sms`, because dealers'
//! systems dial any number they are given.

use std::fmt;

use jiff::Timestamp;
use tradepost_aap::dealer::Address;
use tradepost_aap::lead::{AppointmentRequest, Channel, PreferredContact, SourceAgent};
use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};

/// Customer's permission, with the text that the customer agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadConsent {
    granted_at: Timestamp,
    text: String,
    channels: Vec<Channel>,
    expires_at: Option<Timestamp>,
}

impl LeadConsent {
    /// Creates a permission given at this moment, by agreeing to this text verbatim, for these channels and
    /// for sending one lead.
    // R-LD-04
    #[must_use]
    pub fn new(
        granted_at: Timestamp,
        text: impl Into<String>,
        channels: impl IntoIterator<Item = Channel>,
    ) -> Self {
        let mut granted = Vec::new();
        for channel in channels {
            if !granted.contains(&channel) {
                granted.push(channel);
            }
        }
        Self { granted_at, text: text.into(), channels: granted, expires_at: None }
    }

    /// Sets the moment until which the permission is valid.
    #[must_use]
    pub fn until(mut self, expires_at: Timestamp) -> Self {
        self.expires_at = Some(expires_at);
        self
    }

    /// Returns the granted channels, each once.
    #[must_use]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn grants(&self, wanted: &'static [Channel]) -> Result<(), NotGranted> {
        if wanted.iter().any(|channel| self.channels.contains(channel)) {
            return Ok(());
        }
        Err(NotGranted { wanted, granted: self.channels.clone() })
    }
}

/// Error of a contact whose channel the customer has not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotGranted {
    /// Channels of which one has to be granted.
    pub wanted: &'static [Channel],
    /// Channels that were granted.
    pub granted: Vec<Channel>,
}

impl fmt::Display for NotGranted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |channels: &[Channel]| {
            let names: Vec<_> = channels.iter().map(|channel| channel.name()).collect();
            if names.is_empty() { "no channel".to_owned() } else { names.join(" or ") }
        };
        let wanted = names(self.wanted);
        let granted = names(&self.granted);
        write!(f, "the customer granted {granted}, which does not cover {wanted}; ask first")
    }
}

impl std::error::Error for NotGranted {}

/// Lead of one intent of a customer. It has one idempotency key, so that sending it again is sending the same
/// lead.
// R-LD-14
#[derive(Clone, PartialEq)]
pub struct Lead {
    key: String,
    submitted_at: Timestamp,
    agent: SourceAgent,
    consent: LeadConsent,
    /// Given and family name, which are required and may be empty.
    // C-42
    names: (String, String),
    email: Option<String>,
    phone: Option<String>,
    preferred: Option<PreferredContact>,
    address: Option<Address>,
    vehicle: Option<Value>,
    trade_in: Option<Value>,
    appointment: Option<AppointmentRequest>,
    message: Option<String>,
}

// A lead is personal data, which has no place in a log.
impl fmt::Debug for Lead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lead")
            .field("key", &self.key)
            .field("channels", &self.consent.channels)
            .finish_non_exhaustive()
    }
}

impl Lead {
    /// Creates a lead that this agent sends at this moment, with this key of 1 to 128 characters.
    /// [`crate::SkillClient::new_key`] makes keys. A caller that has to survive a restart stores the key
    /// before sending.
    #[must_use]
    pub fn new(
        key: impl Into<String>,
        agent: SourceAgent,
        consent: LeadConsent,
        submitted_at: Timestamp,
    ) -> Self {
        Self {
            key: key.into(),
            submitted_at,
            agent,
            consent,
            names: (String::new(), String::new()),
            email: None,
            phone: None,
            preferred: None,
            address: None,
            vehicle: None,
            trade_in: None,
            appointment: None,
            message: None,
        }
    }

    /// Sets the customer's given and family name.
    #[must_use]
    pub fn name(mut self, first: impl Into<String>, last: impl Into<String>) -> Self {
        self.names = (first.into(), last.into());
        self
    }

    /// Sets the customer's e-mail address.
    ///
    /// # Errors
    /// When the channel `email` was not granted.
    pub fn email(mut self, address: impl Into<String>) -> Result<Self, NotGranted> {
        self.consent.grants(&[Channel::Email])?;
        self.email = Some(address.into());
        Ok(self)
    }

    /// Sets the customer's telephone number in E.164.
    ///
    /// # Errors
    /// When neither `phone` nor `sms` was granted.
    pub fn phone(mut self, number: impl Into<String>) -> Result<Self, NotGranted> {
        self.consent.grants(&[Channel::Phone, Channel::Sms])?;
        self.phone = Some(number.into());
        Ok(self)
    }

    /// Sets the preferred channel of contact.
    ///
    /// # Errors
    /// When that channel was not granted.
    // C-05
    pub fn prefers(mut self, preferred: PreferredContact) -> Result<Self, NotGranted> {
        match preferred {
            PreferredContact::Email => self.consent.grants(&[Channel::Email])?,
            PreferredContact::Phone => self.consent.grants(&[Channel::Phone])?,
            PreferredContact::Sms => self.consent.grants(&[Channel::Sms])?,
            PreferredContact::Any => {}
        }
        self.preferred = Some(preferred);
        Ok(self)
    }

    /// Sets the customer's postal address.
    #[must_use]
    pub fn address(mut self, address: Address) -> Self {
        self.address = Some(address);
        self
    }

    /// Sets the vehicle that the customer is interested in: an object from a search, or one with `vin`,
    /// `stock` or year, make and model.
    // R-LD-12
    #[must_use]
    pub fn about(mut self, vehicle: Value) -> Self {
        self.vehicle = Some(vehicle);
        self
    }

    /// Sets the vehicle that the customer trades in.
    #[must_use]
    pub fn trade_in(mut self, vehicle: Value) -> Self {
        self.trade_in = Some(vehicle);
        self
    }

    /// Sets the appointment that the customer asks for.
    #[must_use]
    pub fn appointment(mut self, appointment: AppointmentRequest) -> Self {
        self.appointment = Some(appointment);
        self
    }

    /// Sets the customer's message, at most 4,000 characters.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Returns the idempotency key of the lead.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the moment at which the lead was or will be first sent.
    #[must_use]
    pub fn submitted_at(&self) -> Timestamp {
        self.submitted_at
    }

    /// Returns the payload in a version of AAP. In v1.0 the agent is a name, in both places.
    // C-35
    #[must_use]
    pub fn payload(&self, version: Version) -> Value {
        let Self { agent, consent, names: (first_name, last_name), .. } = self;
        let channels: Vec<_> = consent.channels.iter().map(|channel| channel.name()).collect();
        let (own_agent, source_agent) = match version {
            Version::V1_0 => (Some(&agent.name), json!(agent.name)),
            Version::V1_1 => {
                let SourceAgent { name, url, agent_card_url } = agent;
                (None, object!({"name": name, "url"?: url, "agent_card_url"?: agent_card_url}))
            }
        };
        object!({
            "type": Skill::LeadSubmit.request_type(),
            "customer": {
                "first_name": first_name, "last_name": last_name,
                "email"?: self.email, "phone"?: self.phone,
                "preferred_contact"?: self.preferred.map(|preferred| preferred.name()),
                "address"?: self.address,
            },
            "consent": {
                "granted_at": moment(consent.granted_at), "allowed_channels": channels,
                "consent_text": consent.text, "source_agent"?: own_agent,
                "scope": ["lead_submission"], "expires_at"?: consent.expires_at.map(moment),
            },
            "vehicle_of_interest"?: self.vehicle, "trade_in"?: self.trade_in,
            "appointment"?: self.appointment.as_ref().map(appointment),
            "message"?: self.message, "source_agent": source_agent,
            "submitted_at": moment(self.submitted_at), "idempotency_key": self.key,
        })
    }
}

fn appointment(appointment: &AppointmentRequest) -> Value {
    object!({
        "appointment_type": appointment.kind.name(), "appointment_at"?: appointment.at.map(moment),
        "duration_minutes"?: appointment.duration_minutes, "notes"?: appointment.notes,
    })
}

fn moment(moment: Timestamp) -> String {
    moment.to_string()
}

#[cfg(test)]
mod tests;
