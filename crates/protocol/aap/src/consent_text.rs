//! The text to which a person agrees before a lead is sent: the data, their recipient, and the permitted use.

use tradepost_document::text::plain;

use crate::lead::{Channel, LeadSubmit};
use crate::vehicle::Vehicle;

/// Returns the consent text of a lead. `dealer` names its recipient, such as `the car dealer "Demo" at demo.example`.
#[must_use]
pub fn consent_text(dealer: &str, lead: &LeadSubmit) -> String {
    let customer = &lead.customer;
    let mut given = vec!["my name".to_owned()];
    given.extend(customer.email.as_ref().map(|email| format!("my e-mail address {email}")));
    given.extend(customer.phone.as_ref().map(|phone| format!("my telephone number {phone}")));
    given.extend(customer.address.as_ref().map(|_| "my postal address".to_owned()));
    given.extend(lead.trade_in.as_ref().map(|_| "what I said about my trade-in".to_owned()));
    given.extend(lead.message.as_ref().map(|_| "my message".to_owned()));
    let channels = lead.consent.allowed_channels.iter().map(|channel| {
        match channel {
            Channel::Email => "e-mail",
            Channel::Phone => "telephone",
            Channel::Sms => "text message",
        }
        .to_owned()
    });
    let about = lead.vehicle_of_interest.as_ref().map(name_of).filter(|name| !name.is_empty());
    let about =
        about.map_or_else(|| "my request".to_owned(), |name| format!("my request ({name})"));
    format!(
        "I agree that {dealer} receives {} and may contact me by {} about {about}. \
         I permit nothing else.",
        listed(given, "and"),
        listed(channels.collect(), "or"),
    )
}

/// Returns the name of a vehicle for use in a sentence.
fn name_of(vehicle: &Vehicle) -> String {
    let number = |kind: &str, number: &Option<String>| {
        number.as_ref().map(|number| format!("{kind} {}", plain(number, 40)))
    };
    let identified = number("VIN", &vehicle.vin)
        .or_else(|| number("stock", &vehicle.stock))
        .or_else(|| number("vehicle", &vehicle.vehicle_id));
    let title = plain(&vehicle.title(), 80);
    let parts = [Some(title).filter(|title| !title.is_empty()), identified];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Joins items like `a, b and c`.
fn listed(mut items: Vec<String>, conjunction: &str) -> String {
    match (items.pop(), items.is_empty()) {
        (Some(last), false) => format!("{} {conjunction} {last}", items.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}
