//! A stored lead as people see it. The payload was valid when it was received, but it is read here
//! member by member and without judgement: a record must be shown and delivered even when our
//! reading of it has changed since.

use jiff::Timestamp;
use tradepost_wire::json::Value;
use tradepost_wire::{format, parse};

use crate::record::{LeadRecord, LeadState};

/// A lead to look at.
#[derive(Debug, Clone, Copy)]
pub struct LeadView<'a> {
    record: &'a LeadRecord,
}

/// What a customer can be reached on, and what of it the consent covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach<'a> {
    /// The e-mail address.
    pub email: Option<&'a str>,
    /// The telephone number.
    pub phone: Option<&'a str>,
    /// Whether e-mail may be sent.
    pub may_email: bool,
    /// Whether the number may be called.
    pub may_call: bool,
    /// Whether text messages may be sent.
    pub may_text: bool,
}

impl<'a> LeadView<'a> {
    /// Looks at a record.
    #[must_use]
    pub fn new(record: &'a LeadRecord) -> Self {
        Self { record }
    }

    /// The record itself.
    #[must_use]
    pub fn record(self) -> &'a LeadRecord {
        self.record
    }

    /// A text of the payload.
    #[must_use]
    pub fn text(self, pointer: &str) -> Option<&'a str> {
        self.record.submission.payload.pointer(pointer)?.as_str()
    }

    /// The texts of a list of the payload.
    pub fn texts(self, pointer: &str) -> impl Iterator<Item = &'a str> {
        let list = self.record.submission.payload.pointer(pointer);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str)
    }

    /// A moment of the payload.
    #[must_use]
    pub fn moment(self, pointer: &str) -> Option<Timestamp> {
        format::timestamp(self.text(pointer)?)
    }

    /// A text, number or truth value of the payload, as text.
    #[must_use]
    pub fn scalar(self, pointer: &str) -> Option<String> {
        scalar(self.record.submission.payload.pointer(pointer)?)
    }

    /// First and last name, or that nobody can read it.
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

    /// The name of the agent that brought the lead: a text in v1.0, an object in v1.1.
    #[must_use]
    pub fn agent(self) -> Option<&'a str> {
        self.text("/source_agent/name")
            .or_else(|| self.text("/source_agent"))
            .or_else(|| self.text("/consent/source_agent"))
    }

    /// The channels that the consent permits, as it names them.
    #[must_use]
    pub fn channels(self) -> Vec<&'a str> {
        match self.record.state {
            LeadState::Received | LeadState::Held => {}
            // That there is no channel is enough: what none can use is left out everywhere.
            LeadState::Revoked | LeadState::Erased => return Vec::new(),
        }
        self.texts("/consent/allowed_channels").collect()
    }

    /// What the customer can be reached on.
    #[must_use]
    pub fn reach(self) -> Reach<'a> {
        let allowed = self.channels();
        let present = |text: &&str| !text.trim().is_empty();
        let email = self.text("/customer/email").filter(present);
        let phone = self.text("/customer/phone").filter(present);
        Reach {
            email,
            phone,
            may_email: email.is_some() && allowed.contains(&"email"),
            may_call: phone.is_some() && allowed.contains(&"phone"),
            may_text: phone.is_some() && allowed.contains(&"sms"),
        }
    }

    /// The vehicle of interest, from the listing first and the payload second.
    #[must_use]
    pub fn vehicle(self) -> Option<VehicleView<'a>> {
        let sent = self.member("vehicle_of_interest");
        let listing = self.record.submission.listing.as_ref();
        VehicleView::new(listing, sent)
    }

    /// The vehicle of interest, as the dealer's own listing has it and not as anybody wrote it.
    #[must_use]
    pub fn listed(self) -> Option<VehicleView<'a>> {
        VehicleView::new(self.record.submission.listing.as_ref(), None)
    }

    /// The vehicle in exchange.
    #[must_use]
    pub fn trade_in(self) -> Option<VehicleView<'a>> {
        VehicleView::new(None, self.member("trade_in"))
    }

    fn member(self, name: &str) -> Option<&'a Value> {
        self.record.submission.payload.get(name).filter(|v| v.is_object())
    }
}

/// A vehicle to look at.
#[derive(Debug, Clone, Copy)]
pub struct VehicleView<'a> {
    listing: Option<&'a Value>,
    sent: Option<&'a Value>,
}

impl<'a> VehicleView<'a> {
    fn new(listing: Option<&'a Value>, sent: Option<&'a Value>) -> Option<Self> {
        (listing.is_some() || sent.is_some()).then_some(Self { listing, sent })
    }

    /// A member as text: of the listing, or else of what was sent.
    #[must_use]
    pub fn get(self, name: &str) -> Option<String> {
        self.listing.and_then(|listing| scalar(listing.get(name)?)).or_else(|| self.sent(name))
    }

    /// A member as it was sent.
    #[must_use]
    pub fn sent(self, name: &str) -> Option<String> {
        scalar(self.sent?.get(name)?)
    }

    /// A list of texts as it was sent.
    pub fn sent_list(self, name: &str) -> impl Iterator<Item = &'a str> {
        let list = self.sent.and_then(|sent| sent.get(name)?.as_array());
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Year, make, model and trim, or else an identifier.
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
        // Clients that pass numbers through protobuf send 2023.0.
        Value::Number(number) => {
            Some(parse::whole(number).map_or_else(|| number.to_string(), |whole| whole.to_string()))
        }
        Value::Bool(boolean) => Some(boolean.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
