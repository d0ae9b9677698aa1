//! Sends a lead to which the user has agreed, in a form of their client or in two calls. The first call returns the
//! text to agree to; the second returns the confirmation that came with it. A lead is sent only with a consent text
//! that this bridge wrote and that was shown to the user (`R-LD-04`).

use std::sync::Arc;

use tradepost_aap::consent_text::consent_text;
use tradepost_aap::{self as aap, Skill, Version};
use tradepost_client::failure::CallFailure;
use tradepost_client::refusal::RefusalForm;
use tradepost_dealer_tools::arguments::LeadArguments;
use tradepost_dealer_tools::search::clean_message;
use tradepost_document::canonical;
use tradepost_document::catalog::{Vocabulary as _, WireName};
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_mcp::outline::FORM_UNANSWERED;
use tradepost_mcp::{AgreementForm, outline};

use super::confirmation::{Confirmed, REPEATABLE};
use super::consent::{Agreement, ConsentSubject};
use super::dealers::{DealerAddress, DealerConnection, DealerRequest};
use super::failures::{BridgeError, BridgeErrorCode};
use super::person_form::Person;
use super::sanitize::{Cleaner, is_plain_token, quoted};
use super::{Bridge, CallEnd, show, success};

/// Maximum length of the dealer's name in the consent text, in characters.
const MAX_NAME: usize = 60;

/// Maximum length of a conversation id.
const MAX_CONVERSATION: usize = 200;

impl Bridge {
    /// Submits a lead, or returns the question while the person has not agreed to the consent text. A lead in doubt is
    /// sent again with the consent and the key of its first attempt.
    pub(super) async fn lead(
        &self,
        dealer: Arc<DealerAddress>,
        arguments: LeadArguments,
        person: Person<'_>,
    ) -> Result<CallEnd, BridgeError> {
        // Read first, because the consent text names the dealer as its card does.
        let connection = dealer.connect(self.call_end()).await;
        let connection = connection.map_err(|failure| dealer.to_error(&failure))?;
        let choice = connection.client.choice();
        if !choice.skills.contains(&Skill::LeadSubmit) {
            let message = "the dealer takes no leads from agents";
            return Err(BridgeError::new(BridgeErrorCode::SkillNotOffered, message).at(&dealer.id));
        }
        let consent_text = consent_text(&recipient(&dealer.id, &connection), &arguments.lead);
        let version = choice.version;
        let subject = subject(&dealer, version, &arguments, &consent_text);
        let consent_subject = ConsentSubject {
            subject: subject.clone(),
            form: form(&dealer.id, &consent_text, &arguments.parts),
        };
        let agreed =
            self.agreement(consent_subject, person, arguments.confirmation.as_deref()).await;
        let confirmed = match agreed.map_err(|bridge_error| bridge_error.at(&dealer.id))? {
            Agreement::Given(confirmed) => self.first_of(&subject, confirmed),
            Agreement::ByClient { form, state } => return Ok(CallEnd::Ask { form, state }),
            Agreement::ByModel { confirmation, until, is_form_unanswered } => {
                let document = object!({
                    "status": "confirmation_required",
                    "dealer": dealer.id,
                    "consent_text": consent_text,
                    "lead": arguments.parts,
                    "allowed_channels": arguments.lead.consent.allowed_channels,
                    "confirmation": confirmation,
                    "confirmation_expires_at": rfc3339(until),
                    "form_unanswered"?: is_form_unanswered.then_some(true),
                });
                let tool = Skill::LeadSubmit.tool_name();
                let mut text =
                    outline::question(&tool, &consent_text, &arguments.parts, &confirmation);
                if is_form_unanswered {
                    text.insert_str(0, &format!("{FORM_UNANSWERED}\n\n"));
                }
                return Ok(CallEnd::Said(success(document, text)));
            }
        };
        let payload = self.payload(version, &arguments, &consent_text, &confirmed);
        let request = DealerRequest {
            connection,
            skill: Skill::LeadSubmit,
            payload,
            conversation: arguments.conversation.clone(),
        };
        // The time limit begins after the agreement, however long the person took.
        let answer = dealer.send(request, self.call_end()).await;
        let answer = answer.map_err(|gave_up| {
            let failure = &gave_up.failure;
            let bridge_error = dealer.to_error(failure);
            if was_not_stored(failure) {
                self.calls_in_doubt.forget(&subject);
            } else if gave_up.doubt.in_doubt() {
                self.calls_in_doubt.remember(&subject, confirmed.clone());
            }
            let key = &confirmed.idempotency_key;
            if lacks_appointment_time(failure) {
                return bridge_error.received_without_appointment(key);
            }
            // Other failures do not tell what happened to the earlier attempt.
            match (self.calls_in_doubt.recall(&subject).is_some(), leaves_outcome_open(failure)) {
                (true, true) => bridge_error.in_doubt_for_good(Some(key.clone())),
                (true, false) => bridge_error.in_doubt(key),
                (false, _) => bridge_error,
            }
        })?;
        self.calls_in_doubt.forget(&subject);
        let mut cleaner = Cleaner::full();
        let receipt = cleaner.clean(answer.data());
        let message = clean_message(answer.message());
        // The dealer recognises the caller by this id when a lead is sent again (docs/requirements, C-19). An id
        // that would have to be altered is left out.
        let conversation =
            answer.context_id.as_deref().filter(|id| is_plain_token(id, MAX_CONVERSATION));
        let document = object!({
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
        Ok(CallEnd::Said(success(document, text)))
    }

    /// Returns the consent and key for sending a lead: those of the first attempt, as long as it is in doubt and
    /// recent enough.
    fn first_of(&self, subject: &str, confirmed: Confirmed) -> Confirmed {
        match self.calls_in_doubt.recall(subject) {
            Some(first) if self.now().duration_since(first.granted_at) < REPEATABLE => first,
            Some(_) | None => {
                self.calls_in_doubt.forget(subject);
                confirmed
            }
        }
    }

    /// Builds the payload of a lead in the form of this version of AAP.
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
            // In 1.0 the source agent is a text, and is repeated in the consent.
            Version::V1_0 => (name.into(), Some(name)),
        };
        let consent = object!({
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

/// Returns true when the dealer says that it has not stored the lead; had it stored it, it would have repeated the
/// receipt.
fn was_not_stored(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    matches!(refused.by, RefusalForm::Aap { .. })
        && !refused.is_retryable()
        && !leaves_outcome_open(failure)
        && !lacks_appointment_time(failure)
}

/// Returns true when the dealer has no time for the appointment. It may have stored the lead nevertheless (AAP 1.1,
/// "Errors").
fn lacks_appointment_time(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    let RefusalForm::Aap { error, .. } = &refused.by else { return false };
    error.code == WireName::Known(aap::AapCode::AppointmentTimeUnavailable)
}

/// Returns true for a refusal that a repeated lead can get although the first one was stored: consent is checked
/// before the key, and a conflict is about a known key.
fn leaves_outcome_open(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    let RefusalForm::Aap { error, .. } = &refused.by else { return false };
    matches!(
        error.code,
        WireName::Known(aap::AapCode::InvalidConsent | aap::AapCode::IdempotencyConflict)
    )
}

/// Returns the canonical text of everything that the user is asked about.
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

/// Builds the form for the client: the consent text, and what would be sent.
fn form(dealer: &str, consent_text: &str, parts: &Map) -> AgreementForm {
    let sent = outline::lines(parts);
    AgreementForm {
        message: format!("{consent_text}\n\nThis would be sent to {dealer}:\n{sent}"),
        title: "I agree",
    }
}

/// Returns the name of the dealer in the consent text: as its card has it, in quotation marks, with its address.
fn recipient(dealer: &str, connection: &DealerConnection) -> String {
    let name: String =
        connection.found.card.name.chars().filter(|c| !matches!(c, '"' | '“' | '”')).collect();
    // Removes links, because the person should read the name and not follow it.
    let name = quoted(&name.replace("://", " "), MAX_NAME);
    if name.is_empty() {
        format!("the car dealer at {dealer}")
    } else {
        // Quoted, because the dealer chose the name: it must not read as part of our sentence.
        format!("the car dealer \"{name}\" at {dealer}")
    }
}
