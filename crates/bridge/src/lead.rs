//! Sending a lead, which the user has agreed to: in a form of their client, or in two calls, of which the
//! first one answers with the text that the user has to agree to, and the second one brings back
//! the confirmation that came with it. No lead leaves without a text that this bridge wrote and the
//! user was shown (`R-LD-04`).

use std::sync::Arc;

use tradepost_buyer::failure::CallFailure;
use tradepost_buyer::refusal::RefusalForm;
use tradepost_buyer::text::plain;
use tradepost_wire::aap::lead::Channel;
use tradepost_wire::aap::{self, LeadSubmit, Skill, Vehicle, Version};
use tradepost_wire::canonical;
use tradepost_wire::catalog::{Open, Vocabulary as _};
use tradepost_wire::format::rfc3339;
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::mcp::AgreementForm;

use super::arguments::LeadArguments;
use super::asking::Person;
use super::clean::{Cleaner, is_plain_token, quoted};
use super::confirmation::{Confirmed, REPEATABLE};
use super::consent::{self, Agreement, ConsentSubject, FORM_UNANSWERED};
use super::dealers::{DealerAddress, DealerConnection, DealerRequest};
use super::trouble::{BridgeError, BridgeErrorCode};
use super::{Bridge, CallEnd, said, search, show};

/// How much of a dealer's own name the consent text repeats.
const MAX_NAME: usize = 60;

/// How many characters a conversation's id may have.
const MAX_CONVERSATION: usize = 200;

impl Bridge {
    pub(super) async fn lead(
        &self,
        dealer: Arc<DealerAddress>,
        arguments: LeadArguments,
        person: Person<'_>,
    ) -> Result<CallEnd, BridgeError> {
        // The card first: the text to agree to names the dealer as its card does.
        let connection = dealer.connect(self.call_end()).await;
        let connection = connection.map_err(|failure| dealer.trouble(&failure))?;
        let choice = connection.client.choice();
        if !choice.skills.contains(&Skill::LeadSubmit) {
            let message = "the dealer takes no leads from agents";
            return Err(BridgeError::new(BridgeErrorCode::SkillNotOffered, message).at(&dealer.id));
        }
        let consent_text = consent_text(&dealer.id, &connection, &arguments.lead);
        let version = choice.version;
        let subject = subject(&dealer, version, &arguments, &consent_text);
        let matter = ConsentSubject {
            subject: subject.clone(),
            form: form(&dealer.id, &consent_text, &arguments.parts),
        };
        let agreed = self.agreement(matter, person, arguments.confirmation.as_deref()).await;
        let confirmed = match agreed.map_err(|trouble| trouble.at(&dealer.id))? {
            Agreement::Given(confirmed) => self.first_of(&subject, confirmed),
            Agreement::ByClient { form, state } => return Ok(CallEnd::Ask { form, state }),
            Agreement::ByModel { confirmation, until, is_form_unanswered } => {
                let document = json!({
                    "status": "confirmation_required",
                    "dealer": dealer.id,
                    "consent_text": consent_text,
                    "lead": arguments.parts,
                    "allowed_channels": arguments.lead.consent.allowed_channels,
                    "confirmation": confirmation,
                    "confirmation_expires_at": rfc3339(until),
                    "form_unanswered"?: is_form_unanswered.then_some(true),
                });
                let mut text = show::confirmation(&consent_text, &arguments.parts, &confirmation);
                if is_form_unanswered {
                    text.insert_str(0, &format!("{FORM_UNANSWERED}\n\n"));
                }
                return Ok(CallEnd::Said(said(document, text)));
            }
        };
        let payload = self.payload(version, &arguments, &consent_text, &confirmed);
        let request = DealerRequest {
            connection,
            skill: Skill::LeadSubmit,
            payload,
            conversation: arguments.conversation.clone(),
        };
        // From the agreement on: however long the person took, the dealer has the whole time.
        let answer = dealer.send(request, self.call_end()).await;
        let answer = answer.map_err(|gave_up| {
            let failure = &gave_up.failure;
            let trouble = dealer.trouble(failure);
            if settles(failure) {
                self.unclear.forget(&subject);
            } else if gave_up.doubt.in_doubt() {
                self.unclear.remember(&subject, confirmed.clone());
            }
            let key = &confirmed.idempotency_key;
            if lacks_time(failure) {
                return trouble.received_without_appointment(key);
            }
            // Any other failure says nothing of what became of the lead before it.
            match (self.unclear.recall(&subject).is_some(), says_nothing_of_it(failure)) {
                (true, true) => trouble.in_doubt_for_good(Some(key.clone())),
                (true, false) => trouble.in_doubt(key),
                (false, _) => trouble,
            }
        })?;
        self.unclear.forget(&subject);
        let mut cleaner = Cleaner::full();
        let receipt = cleaner.clean(answer.data());
        let message = search::said(answer.message());
        // By this the dealer knows the customer again (C-19). One that would have to be changed is none.
        let conversation =
            answer.context_id.as_deref().filter(|id| is_plain_token(id, MAX_CONVERSATION));
        let document = json!({
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
            "conversation"?: conversation,
            "message"?: message,
        });
        let text = show::receipt(&dealer.id, &receipt, conversation, message.as_deref());
        Ok(CallEnd::Said(said(document, text)))
    }

    /// With what a lead is sent: one that may have arrived as it was, whichever yes it has now.
    fn first_of(&self, subject: &str, confirmed: Confirmed) -> Confirmed {
        match self.unclear.recall(subject) {
            Some(first) if self.now().duration_since(first.granted_at) < REPEATABLE => first,
            Some(_) | None => {
                self.unclear.forget(subject);
                confirmed
            }
        }
    }

    fn payload(
        &self,
        version: Version,
        arguments: &LeadArguments,
        consent_text: &str,
        confirmed: &Confirmed,
    ) -> Value {
        let mut payload = arguments.parts.clone();
        let name = self.options.agent_name.as_str();
        let (source, in_consent) = match version {
            Version::V1_1 => (json!({"name": name}), None),
            // There it is a text, and stands in the consent as well.
            Version::V1_0 => (name.into(), Some(name)),
        };
        let consent = json!({
            "granted_at": rfc3339(confirmed.granted_at),
            "allowed_channels": arguments.lead.consent.allowed_channels,
            "consent_text": consent_text,
            "scope": ["lead_submission"],
            "source_agent"?: in_consent,
        });
        payload.insert("consent".into(), consent);
        payload.insert("source_agent".into(), source);
        payload.insert("submitted_at".into(), rfc3339(self.now()).into());
        payload.insert("idempotency_key".into(), confirmed.idempotency_key.as_str().into());
        payload.into()
    }
}

/// Whether the dealer says of the lead itself that it has not taken it: one that had would have repeated
/// the receipt.
fn settles(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    matches!(refused.by, RefusalForm::Aap { .. })
        && !refused.is_retryable()
        && !says_nothing_of_it(failure)
        && !lacks_time(failure)
}

/// Whether the dealer says that it has no time for the appointment: it may have taken the lead all the same
/// (AAP 1.1, "Errors").
fn lacks_time(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    let RefusalForm::Aap { error, .. } = &refused.by else { return false };
    error.code == Open::Known(aap::AapCode::AppointmentTimeUnavailable)
}

/// Whether it is a refusal that a lead may get again and again which has arrived: its consent is looked at
/// before its key is, and a conflict is about a key that is known.
fn says_nothing_of_it(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    let RefusalForm::Aap { error, .. } = &refused.by else { return false };
    matches!(
        error.code,
        Open::Known(aap::AapCode::InvalidConsent | aap::AapCode::IdempotencyConflict)
    )
}

/// Everything that the user is asked about, as one text.
fn subject(
    dealer: &DealerAddress,
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

/// The form in which a client asks: the text to agree to, and what would be sent.
fn form(dealer: &str, consent_text: &str, parts: &Map) -> AgreementForm {
    let sent = consent::lines(parts);
    AgreementForm {
        message: format!("{consent_text}\n\nThis would be sent to {dealer}:\n{sent}"),
        title: "I agree",
    }
}

/// What the user agrees to: who gets what, and may use it how.
fn consent_text(dealer: &str, connection: &DealerConnection, lead: &LeadSubmit) -> String {
    let customer = &lead.customer;
    let name: String =
        connection.found.card.name.chars().filter(|c| !matches!(c, '"' | '“' | '”')).collect();
    // Without a link in it: the person is to read, and not to follow.
    let name = quoted(&name.replace("://", " "), MAX_NAME);
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
