//! The person's agreement, without which nothing is sent. The client asks with a form where it can show one;
//! otherwise the model shows a text, in two calls. Some clients declare forms and never show one: a form without an
//! answer becomes a question in two calls, unless the operator allows forms only. A refusal is final: the same token
//! is rejected from then on.

use std::sync::atomic::Ordering;

use tradepost_document::json::Value;
use tradepost_mcp::{AgreementForm, FormAnswer, is_answer};

use super::confirmation::{Confirmed, LIFETIME, TokenRejected};
use super::failures::{BridgeError, BridgeErrorCode};
use super::person_form::{EventSender, LateRefusal, NoAnswer, Person};
use super::{AskMode, Bridge};

/// Subject of a question to the person.
pub(super) struct ConsentSubject {
    /// Canonical text of everything asked about: an agreement covers exactly this.
    pub(super) subject: String,
    /// Form, for a client that can show one.
    pub(super) form: AgreementForm,
}

/// State of an agreement.
pub(super) enum Agreement {
    /// The person has agreed.
    Given(Confirmed),
    /// The model has to ask and to return the confirmation.
    ByModel {
        /// Confirmation token to return.
        confirmation: String,
        /// Expiry of the token.
        until: jiff::Timestamp,
        /// True when a form was sent before and was not answered.
        is_form_unanswered: bool,
    },
    /// The client has to ask and to call again with the state.
    ByClient {
        /// Form to show.
        form: AgreementForm,
        /// State to return with the answer.
        state: String,
    },
}

impl Bridge {
    /// Asks the person, or evaluates the answer. `confirmation` is the token that the model returns.
    pub(super) async fn agreement(
        &self,
        consent: ConsentSubject,
        person: Person<'_>,
        confirmation: Option<&str>,
    ) -> Result<Agreement, BridgeError> {
        let ConsentSubject { subject, form } = consent;
        let now = self.now();
        let is_auto = self.options.ask == AskMode::Auto;
        let redeem = |token: &str, subject: &str| {
            self.confirmations.redeem(token, subject, self.now()).map_err(token_error)
        };
        let person = match self.options.ask {
            AskMode::Confirm => Person::ByModel,
            AskMode::Form | AskMode::Auto => person,
        };
        let returned = match (person, confirmation) {
            (Person::ByModel, _) if self.options.ask == AskMode::Form => {
                let message = "this bridge has a person asked by their client, and this client \
                               shows no forms";
                return Err(BridgeError::new(BridgeErrorCode::ElicitationRequired, message));
            }
            (Person::ByModel, None) => {
                let (confirmation, until) = self.confirmations.issue(&subject, now);
                return Ok(Agreement::ByModel { confirmation, until, is_form_unanswered: false });
            }
            (Person::ByModel, Some(token)) => {
                return Ok(Agreement::Given(redeem(token, &subject)?));
            }
            // Accepts only a confirmation issued after an unanswered form; the subject of any other differs.
            (Person::Asked(_) | Person::Returns { .. }, Some(confirmation)) if is_auto => {
                let (count, token) = split_number(confirmation)?;
                return Ok(Agreement::Given(redeem(token, &fallback_subject(count, &subject))?));
            }
            (Person::Asked(_) | Person::Returns { .. }, Some(_)) => {
                let message = "the person is asked by their client, and no confirmation of a model \
                               takes their place";
                return Err(BridgeError::new(BridgeErrorCode::ConfirmationInvalid, message));
            }
            (Person::Asked(client), None) => {
                let form_subject = form_subject(self.next_question_number(), &subject);
                // Issued before the question, so that a refusal can be recorded under the same token.
                let (token, _) = self.confirmations.issue(&form_subject, now);
                let asked = client.ask(&form).await;
                let answer = match asked.outcome {
                    Ok(answer) if is_auto && !is_answer(&answer) => {
                        return Ok(self.ask_in_two_calls(&subject));
                    }
                    Err(NoAnswer::Failed) if is_auto => return Ok(self.ask_in_two_calls(&subject)),
                    Err(NoAnswer::Late) if is_auto => {
                        let agreement = self.ask_in_two_calls(&subject);
                        self.apply_late_refusal(client, &asked.id, &agreement, &subject);
                        return Ok(agreement);
                    }
                    outcome => outcome.map_err(no_answer_error)?,
                };
                self.check_agreed(&form, &answer, &token, &form_subject)?;
                return Ok(Agreement::Given(redeem(&token, &form_subject)?));
            }
            (Person::Returns { state: None, .. }, None) => {
                let count = self.next_question_number();
                let (token, _) = self.confirmations.issue(&form_subject(count, &subject), now);
                return Ok(Agreement::ByClient { form, state: format!("{count}.{token}") });
            }
            (Person::Returns { state: Some(state), answer }, None) => (state, answer),
        };
        let (state, answer) = returned;
        let (count, token) = split_number(state)?;
        // The count is part of the subject, so a token fits only its own form.
        let form_subject = form_subject(count, &subject);
        if is_auto && !answer.is_some_and(is_answer) {
            // After a refusal of this form, a missing answer starts no new question.
            self.confirmations.check_open(token, &form_subject, now).map_err(token_error)?;
            return Ok(self.ask_in_two_calls(&subject));
        }
        let answer = answer.ok_or_else(mismatched_answer)?;
        // Evaluated first, so that a refusal is recorded before the token is redeemed.
        self.check_agreed(&form, answer, token, &form_subject)?;
        Ok(Agreement::Given(redeem(token, &form_subject)?))
    }

    /// Returns the question in two calls, for a client that declares forms and has not answered one.
    fn ask_in_two_calls(&self, subject: &str) -> Agreement {
        let count = self.next_question_number();
        let (token, until) =
            self.confirmations.issue(&fallback_subject(count, subject), self.now());
        let confirmation = format!("{count}.{token}");
        Agreement::ByModel { confirmation, until, is_form_unanswered: true }
    }

    /// Lets a late refusal of a form apply also to the question that replaced it.
    fn apply_late_refusal(
        &self,
        client: &EventSender<'_>,
        form: &str,
        agreement: &Agreement,
        subject: &str,
    ) {
        let Agreement::ByModel { confirmation, .. } = agreement else { return };
        let Ok((count, token)) = split_number(confirmation) else { return };
        let confirmation = token.to_owned();
        let subject = fallback_subject(count, subject);
        let refusal = LateRefusal { confirmation, subject };
        // The refusal may have arrived at this moment.
        if let Some(refusal) = client.questions.await_refusal(form, refusal) {
            self.refuse_late(&refusal);
        }
    }

    /// Records a refusal of a form that arrived after the form had expired.
    pub(super) fn refuse_late(&self, refusal: &LateRefusal) {
        self.confirmations.decline(&refusal.confirmation, &refusal.subject, self.now());
    }

    /// Returns the number of earlier questions and counts this one.
    fn next_question_number(&self) -> u64 {
        self.question_count.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns `Ok` when the person has agreed.
    fn check_agreed(
        &self,
        form: &AgreementForm,
        answer: &Value,
        token: &str,
        subject: &str,
    ) -> Result<(), BridgeError> {
        let message = match form.read(answer) {
            Some(FormAnswer::Agreed) => return Ok(()),
            Some(FormAnswer::Declined) => "the person has said no",
            Some(FormAnswer::Cancelled) => "the person has closed the form without an answer",
            None => return Err(mismatched_answer()),
        };
        // Closing the form is not an agreement either: this token is rejected from now on.
        self.confirmations.decline(token, subject, self.now());
        Err(BridgeError::new(BridgeErrorCode::Declined, message))
    }
}

/// Returns the subject of a form. It differs from that of a question through the model, and between forms, so that an
/// answer applies to this form alone.
fn form_subject(count: u64, subject: &str) -> String {
    format!("client\0{count}\0{subject}")
}

/// Returns the subject of a question in two calls that follows an unanswered form; an answer applies to it alone.
fn fallback_subject(count: u64, subject: &str) -> String {
    format!("silence\0{count}\0{subject}")
}

/// Splits a text into the number of a question and its token.
fn split_number(text: &str) -> Result<(u64, &str), BridgeError> {
    let read = text.split_once('.').and_then(|(count, token)| Some((count.parse().ok()?, token)));
    read.ok_or_else(|| token_error(TokenRejected::Invalid))
}

fn mismatched_answer() -> BridgeError {
    let message = "what the client says that the person answered does not fit the form";
    BridgeError::new(BridgeErrorCode::AnswerInvalid, message)
}

fn no_answer_error(why: NoAnswer) -> BridgeError {
    let (code, message) = match why {
        NoAnswer::Late => (BridgeErrorCode::PersonSilent, "the person did not answer in time"),
        NoAnswer::Gone => {
            (BridgeErrorCode::PersonSilent, "the client does not wait for this call any longer")
        }
        NoAnswer::Failed => (BridgeErrorCode::AnswerInvalid, "the client could not ask the person"),
        NoAnswer::Busy => {
            (BridgeErrorCode::PersonBusy, "the person has other questions to answer first")
        }
    };
    BridgeError::new(code, message)
}

fn token_error(why: TokenRejected) -> BridgeError {
    match why {
        TokenRejected::Invalid => BridgeError::new(
            BridgeErrorCode::ConfirmationInvalid,
            "the confirmation does not belong to this call: something has changed since the user \
             was asked, or this bridge has started anew",
        ),
        TokenRejected::Expired => BridgeError::new(
            BridgeErrorCode::ConfirmationExpired,
            format!("the confirmation is older than {} minutes", LIFETIME.as_mins()),
        ),
        TokenRejected::Declined => {
            BridgeError::new(BridgeErrorCode::Declined, "the person has said no")
        }
    }
}
