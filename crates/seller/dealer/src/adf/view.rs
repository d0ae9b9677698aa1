//! Read access to a stored lead for people and documents. The payload was valid when it was
//! received, but it is read here member by member without validation: a record must be shown and
//! delivered even after our schema has changed.

use jiff::Timestamp;
use tradepost_document::format;
use tradepost_document::json::Value;
use tradepost_document::parse;

use crate::record::{LeadRecord, LeadState};

/// A stored lead with accessors for its payload.
#[derive(Debug, Clone, Copy)]
pub struct LeadView<'a> {
    record: &'a LeadRecord,
}

/// Contact values of a customer, and the channels that the consent covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerContacts<'a> {
    /// The e-mail address.
    pub email: Option<&'a str>,
    /// The telephone number.
    pub phone: Option<&'a str>,
    /// True when e-mail may be sent.
    pub may_email: bool,
    /// True when the number may be called.
    pub may_call: bool,
    /// True when text messages may be sent.
    pub may_text: bool,
}

/// Returns the name that an agent gives itself in the payload of a lead: a text of the consent in v1.0, a member of
/// an object in v1.1.
#[must_use]
pub fn agent_name(payload: &Value) -> Option<&str> {
    let places = ["/source_agent/name", "/source_agent", "/consent/source_agent"];
    places.iter().find_map(|place| payload.pointer(place)?.as_str())
}

impl<'a> LeadView<'a> {
    /// Creates a view of a record.
    #[must_use]
    pub fn new(record: &'a LeadRecord) -> Self {
        Self { record }
    }

    /// Returns the record.
    #[must_use]
    pub fn record(self) -> &'a LeadRecord {
        self.record
    }

    /// Returns a string of the payload.
    #[must_use]
    pub fn text(self, pointer: &str) -> Option<&'a str> {
        self.record.submission.payload.pointer(pointer)?.as_str()
    }

    /// Returns the strings of an array of the payload.
    pub fn texts(self, pointer: &str) -> impl Iterator<Item = &'a str> {
        let list = self.record.submission.payload.pointer(pointer);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str)
    }

    /// Returns a timestamp of the payload.
    #[must_use]
    pub fn moment(self, pointer: &str) -> Option<Timestamp> {
        format::timestamp(self.text(pointer)?)
    }

    /// Returns a string, number or boolean of the payload as text.
    #[must_use]
    pub fn scalar(self, pointer: &str) -> Option<String> {
        scalar(self.record.submission.payload.pointer(pointer)?)
    }

    /// Returns first and last name, or `(unreadable)` when the payload cannot be decrypted.
    #[must_use]
    pub fn customer_name(self) -> String {
        if self.record.submission.unreadable.is_some() {
            return "(unreadable)".to_owned();
        }
        let names = ["/customer/first_name", "/customer/last_name"];
        let names = names.iter().filter_map(|name| self.text(name));
        let words = names.flat_map(str::split_whitespace);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns the name of the agent that sent the lead.
    #[must_use]
    pub fn agent(self) -> Option<&'a str> {
        agent_name(&self.record.submission.payload)
    }

    /// Returns the channels that the consent permits, as it names them; none after a revocation.
    #[must_use]
    pub fn channels(self) -> Vec<&'a str> {
        match self.record.state {
            LeadState::Received | LeadState::Held => {}
            // Without a channel, contact values are left out everywhere.
            LeadState::Revoked | LeadState::Erased => return Vec::new(),
        }
        self.texts("/consent/allowed_channels").collect()
    }

    /// Returns the contact values and what the consent permits.
    #[must_use]
    pub fn reach(self) -> CustomerContacts<'a> {
        let allowed = self.channels();
        let present = |text: &&str| !text.trim().is_empty();
        let email = self.text("/customer/email").filter(present);
        let phone = self.text("/customer/phone").filter(present);
        CustomerContacts {
            email,
            phone,
            may_email: email.is_some() && allowed.contains(&"email"),
            may_call: phone.is_some() && allowed.contains(&"phone"),
            may_text: phone.is_some() && allowed.contains(&"sms"),
        }
    }

    /// Returns the vehicle of interest, from the listing first and the payload second.
    #[must_use]
    pub fn vehicle(self) -> Option<VehicleView<'a>> {
        let sent = self.member("vehicle_of_interest");
        let listing = self.record.submission.listing.as_ref();
        VehicleView::new(listing, sent)
    }

    /// Returns the vehicle of interest from the dealer's listing alone, without the caller's text.
    #[must_use]
    pub fn listed(self) -> Option<VehicleView<'a>> {
        VehicleView::new(self.record.submission.listing.as_ref(), None)
    }

    /// Returns the trade-in.
    #[must_use]
    pub fn trade_in(self) -> Option<VehicleView<'a>> {
        VehicleView::new(None, self.member("trade_in"))
    }

    fn member(self, name: &str) -> Option<&'a Value> {
        self.record.submission.payload.get(name).filter(|v| v.is_object())
    }
}

/// A vehicle of a lead: the dealer's listing, the caller's payload, or both.
#[derive(Debug, Clone, Copy)]
pub struct VehicleView<'a> {
    listing: Option<&'a Value>,
    sent: Option<&'a Value>,
}

impl<'a> VehicleView<'a> {
    fn new(listing: Option<&'a Value>, sent: Option<&'a Value>) -> Option<Self> {
        (listing.is_some() || sent.is_some()).then_some(Self { listing, sent })
    }

    /// Returns a member as text, from the listing first and the payload second.
    #[must_use]
    pub fn get(self, name: &str) -> Option<String> {
        self.listing.and_then(|listing| scalar(listing.get(name)?)).or_else(|| self.sent(name))
    }

    /// Returns a member of the payload as text.
    #[must_use]
    pub fn sent(self, name: &str) -> Option<String> {
        scalar(self.sent?.get(name)?)
    }

    /// Returns the strings of an array of the payload.
    pub fn sent_list(self, name: &str) -> impl Iterator<Item = &'a str> {
        let list = self.sent.and_then(|sent| sent.get(name)?.as_array());
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns year, make, model and trim, or else an identifier.
    #[must_use]
    pub fn title(self) -> String {
        let join = |names: &[&str]| {
            let parts = names.iter().filter_map(|name| self.get(name));
            parts.collect::<Vec<_>>().join(" ")
        };
        let title = join(&["year", "make", "model", "trim"]);
        let identifiers = ["stock", "vehicle_id", "vin"];
        std::iter::once(title)
            .chain(identifiers.iter().map(|name| join(&[name])))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        // Clients that pass numbers through protobuf send 2023.0 for 2023.
        Value::Number(number) => Some(
            parse::whole_number(number)
                .map_or_else(|| number.to_string(), |whole| whole.to_string()),
        ),
        Value::Bool(boolean) => Some(boolean.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
