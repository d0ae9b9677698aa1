//! Sending a lead, in two steps: the first call answers with the text that the user has to agree
//! to, and the second one, which brings back the confirmation that came with it, sends it. No
//! lead leaves without a text that this bridge wrote and the user was shown (`R-LD-04`).

use std::sync::Arc;

use tradepost_buyer::display::text;
use tradepost_buyer::text::{SENTENCE, plain};
use tradepost_wire::aap::lead::Channel;
use tradepost_wire::aap::{LeadSubmit, Skill, Vehicle, Version};
use tradepost_wire::canonical;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::format::rfc3339;
use tradepost_wire::json::{Map, Value, json};

use super::arguments::LeadArguments;
use super::clean::Cleaner;
use super::confirmation::{Confirmed, LIFETIME, Rejected};
use super::dealers::{Connection, Dealer};
use super::trouble::{Code, Trouble};
use super::{Bridge, Said, show};

/// How much of a dealer's own name the consent text repeats.
const MAX_NAME: usize = 60;

/// How long a conversation's id may be.
const MAX_CONVERSATION: usize = 200;

impl Bridge {
    pub(super) async fn lead(
        &self,
        dealer: Arc<Dealer>,
        arguments: LeadArguments,
    ) -> Result<Said, Trouble> {
        let connection = dealer.connect().await.map_err(|failure| dealer.trouble(&failure))?;
        let choice = connection.client.choice();
        if !choice.skills.contains(&Skill::LeadSubmit) {
            let message = "the dealer takes no leads from agents";
            return Err(Trouble::new(Code::SkillNotOffered, message).at(&dealer.id));
        }
        let consent_text = consent_text(&dealer.id, &connection, &arguments.lead);
        let subject = subject(&dealer, choice.version, &arguments, &consent_text);
        let now = (self.now)();
        let Some(token) = &arguments.confirmation else {
            let (token, until) = self.confirmations.issue(&subject, now);
            let document = json!({
                "status": "confirmation_required",
                "dealer": dealer.id,
                "consent_text": consent_text,
                "lead": arguments.parts,
                "allowed_channels": arguments.lead.consent.allowed_channels,
                "confirmation": token,
                "confirmation_expires_at": rfc3339(until),
            });
            let text = show::confirmation(&consent_text, &arguments.parts, &token);
            return Ok(Said { document, text });
        };
        let confirmed = self.confirmations.redeem(token, &subject, now).map_err(|why| {
            let trouble = match why {
                Rejected::Invalid => Trouble::new(
                    Code::ConfirmationInvalid,
                    "the confirmation does not belong to this lead: something has changed since \
                     the user was asked, or this bridge has started anew",
                ),
                Rejected::Expired => Trouble::new(
                    Code::ConfirmationExpired,
                    format!("the confirmation is older than {} minutes", LIFETIME.as_mins()),
                ),
            };
            trouble.at(&dealer.id)
        })?;
        let payload = self.payload(choice.version, &arguments, &consent_text, &confirmed);
        let conversation = arguments.conversation.as_deref();
        let answer = connection.client.call_within(conversation, Skill::LeadSubmit, payload).await;
        let answer = answer.map_err(|failure| {
            let trouble = dealer.trouble(&failure);
            if failure.may_have_acted() { trouble.in_doubt() } else { trouble }
        })?;
        let mut cleaner = Cleaner::full();
        let receipt = cleaner.clean(answer.data());
        let message = answer.message().map(|message| plain(message, 4 * SENTENCE));
        let mut document = json!({
            "type": Skill::LeadSubmit.response_type(),
            "status": "sent",
            "dealer": dealer.id,
            "data": receipt,
            "consent": {
                "granted_at": rfc3339(confirmed.granted_at),
                "allowed_channels": arguments.lead.consent.allowed_channels,
                "consent_text": consent_text,
            },
            "idempotency_key": confirmed.idempotency_key,
        });
        // By this the dealer knows the customer again (C-19).
        let conversation = answer.context_id.as_deref().map(|id| plain(id, MAX_CONVERSATION));
        let more = [("conversation", &conversation), ("message", &message)];
        if let Some(members) = document.as_object_mut() {
            let told = more.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
            members.extend(told.map(|(name, text)| (name.to_owned(), text.as_str().into())));
        }
        let text = show::receipt(&dealer.id, &receipt, (conversation, message));
        Ok(Said { document, text })
    }

    fn payload(
        &self,
        version: Version,
        arguments: &LeadArguments,
        consent_text: &str,
        confirmed: &Confirmed,
    ) -> Value {
        let mut payload = arguments.parts.clone();
        let mut consent = json!({
            "granted_at": rfc3339(confirmed.granted_at),
            "allowed_channels": arguments.lead.consent.allowed_channels,
            "consent_text": consent_text,
            "scope": ["lead_submission"],
        });
        let source = match version {
            Version::V1_1 => json!({"name": self.agent_name}),
            Version::V1_0 => {
                if let Some(members) = consent.as_object_mut() {
                    members.insert("source_agent".into(), self.agent_name.as_str().into());
                }
                self.agent_name.as_str().into()
            }
        };
        payload.insert("consent".into(), consent);
        payload.insert("source_agent".into(), source);
        payload.insert("submitted_at".into(), rfc3339((self.now)()).into());
        payload.insert("idempotency_key".into(), confirmed.idempotency_key.as_str().into());
        payload.into()
    }
}

/// Everything that the user is asked about, as one text.
fn subject(
    dealer: &Dealer,
    version: Version,
    arguments: &LeadArguments,
    consent_text: &str,
) -> String {
    canonical::to_string(&json!({
        "dealer": dealer.address,
        "version": version.name(),
        "lead": arguments.parts,
        "conversation": arguments.conversation,
        "allowed_channels": arguments.lead.consent.allowed_channels,
        "consent_text": consent_text,
    }))
}

/// What the user agrees to: who gets what, and may use it how.
fn consent_text(dealer: &str, connection: &Connection, lead: &LeadSubmit) -> String {
    let customer = &lead.customer;
    let name: String =
        connection.found.card.name.chars().filter(|c| !matches!(c, '"' | '“' | '”')).collect();
    let name = plain(&name, MAX_NAME);
    let dealer = if name.is_empty() {
        format!("the car dealer at {dealer}")
    } else {
        // The dealer chose the name: in quotation marks, it is not a sentence of ours.
        format!("the car dealer \"{name}\" at {dealer}")
    };
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

/// What a vehicle is called in a sentence.
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

/// `a, b and c`.
fn listed(mut items: Vec<String>, conjunction: &str) -> String {
    match (items.pop(), items.is_empty()) {
        (Some(last), false) => format!("{} {conjunction} {last}", items.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}

/// The members of a lead, for the user to see.
pub(super) fn members(parts: &Map) -> Vec<(String, String)> {
    fn walk(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
        match value.as_object() {
            Some(members) => {
                for (member, value) in members {
                    walk(&format!("{name}.{}", plain(member, 40)), value, out);
                }
            }
            None => out.push((name.to_owned(), text(Some(value)))),
        }
    }
    let mut out = Vec::new();
    for (name, value) in parts {
        walk(name, value, &mut out);
    }
    out
}
