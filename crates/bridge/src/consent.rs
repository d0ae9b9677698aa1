//! The person's yes, without which nothing is sent: by a form where the client can show one, and
//! otherwise by a text that the model shows, in two calls. Some clients declare forms and never show one: a form
//! without any answer becomes a question in two calls, unless the operator wants forms alone. A no is final: what was asked about is
//! not sent, whoever calls with it again.

use std::sync::atomic::Ordering;

use tradepost_buyer::display::MAX_ITEMS;
use tradepost_buyer::text::{WORD, plain};
use tradepost_wire::json::{Map, Value};
use tradepost_wire::mcp::{AgreementForm, FormAnswer};

use super::asking::{EventSender, LateRefusal, NoAnswer, Person};
use super::clean::quoted;
use super::confirmation::{Confirmed, LIFETIME, Rejected};
use super::trouble::{BridgeError, BridgeErrorCode};
use super::{AskMode, Bridge, show};

/// How many lines a form has at most for what would be sent.
const MAX_LINES: usize = 60;

/// How much of each text a form shows.
const MAX_SHOWN: usize = 300;

/// How much of the name of a member is shown.
pub(super) const MAX_MEMBER: usize = 40;

/// What a person is asked about.
pub(super) struct ConsentSubject {
    /// Everything of it, as one text: a yes is to this and to nothing else.
    pub(super) subject: String,
    /// The form, where the client can show one.
    pub(super) form: AgreementForm,
}

/// How a matter stands.
pub(super) enum Agreement {
    /// The person has agreed.
    Given(Confirmed),
    /// The model has to ask, and to bring this back.
    ByModel {
        /// What brings it back.
        confirmation: String,
        /// Until when.
        until: jiff::Timestamp,
        /// Whether a form was tried before, and nobody answered it.
        is_form_unanswered: bool,
    },
    /// The client has to ask, and to call again with this.
    ByClient {
        /// The form.
        form: AgreementForm,
        /// What comes back with the answer.
        state: String,
    },
}

impl Bridge {
    /// Asks the person, or takes what they have said. `confirmation` is what the model brings back.
    pub(super) async fn agreement(
        &self,
        matter: ConsentSubject,
        person: Person<'_>,
        confirmation: Option<&str>,
    ) -> Result<Agreement, BridgeError> {
        let ConsentSubject { subject, form } = matter;
        let now = self.now();
        let is_auto = self.options.ask == AskMode::Auto;
        let redeem = |token: &str, subject: &str| {
            self.confirmations.redeem(token, subject, self.now()).map_err(rejected)
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
            // Only one that was given because a form had no answer fits: another is that of a client without forms.
            (Person::Asked(_) | Person::Returns { .. }, Some(confirmation)) if is_auto => {
                let (count, token) = counted(confirmation)?;
                return Ok(Agreement::Given(redeem(token, &after_silence(count, &subject))?));
            }
            (Person::Asked(_) | Person::Returns { .. }, Some(_)) => {
                let message = "the person is asked by their client, and no confirmation of a model \
                               takes their place";
                return Err(BridgeError::new(BridgeErrorCode::ConfirmationInvalid, message));
            }
            (Person::Asked(line), None) => {
                let by_client = by_client(self.asked(), &subject);
                // Made before the question: a no to it is noted under the same token.
                let (token, _) = self.confirmations.issue(&by_client, now);
                let asked = line.ask(&form).await;
                let answer = match asked.outcome {
                    Ok(answer) if is_auto && !is_answer(&answer) => {
                        return Ok(self.without_form(&subject));
                    }
                    Err(NoAnswer::Failed) if is_auto => return Ok(self.without_form(&subject)),
                    Err(NoAnswer::Late) if is_auto => {
                        let agreement = self.without_form(&subject);
                        self.heed_late_refusal(line, &asked.id, &agreement, &subject);
                        return Ok(agreement);
                    }
                    outcome => outcome.map_err(silent)?,
                };
                self.heed(&form, &answer, &token, &by_client)?;
                return Ok(Agreement::Given(redeem(&token, &by_client)?));
            }
            (Person::Returns { state: None, .. }, None) => {
                let count = self.asked();
                let (token, _) = self.confirmations.issue(&by_client(count, &subject), now);
                return Ok(Agreement::ByClient { form, state: format!("{count}.{token}") });
            }
            (Person::Returns { state: Some(state), answer }, None) => (state, answer),
        };
        let (state, answer) = returned;
        let (count, token) = counted(state)?;
        // The count is in the subject, so a token does not fit another form than its own.
        let by_client = by_client(count, &subject);
        if is_auto && !answer.is_some_and(is_answer) {
            // After a no to this form, silence is no new question.
            self.confirmations.check_open(token, &by_client, now).map_err(rejected)?;
            return Ok(self.without_form(&subject));
        }
        let answer = answer.ok_or_else(misfit)?;
        // First, so that a no is noted before anything is made of the token.
        self.heed(&form, answer, token, &by_client)?;
        Ok(Agreement::Given(redeem(token, &by_client)?))
    }

    /// The question in two calls of a client that declares forms and has given no answer to one.
    fn without_form(&self, subject: &str) -> Agreement {
        let count = self.asked();
        let (token, until) = self.confirmations.issue(&after_silence(count, subject), self.now());
        let confirmation = format!("{count}.{token}");
        Agreement::ByModel { confirmation, until, is_form_unanswered: true }
    }

    /// Has a no to a form that comes late be one to the question that has taken its place, too.
    fn heed_late_refusal(
        &self,
        line: &EventSender<'_>,
        form: &str,
        agreement: &Agreement,
        subject: &str,
    ) {
        let Agreement::ByModel { confirmation, .. } = agreement else { return };
        let Ok((count, token)) = counted(confirmation) else { return };
        let (confirmation, subject) = (token.to_owned(), after_silence(count, subject));
        let refusal = LateRefusal { confirmation, subject };
        // It may have come in this moment.
        if let Some(refusal) = line.questions.await_refusal(form, refusal) {
            self.refuse_late(&refusal);
        }
    }

    /// Notes a no to a form that came when nobody waited for it any longer.
    pub(super) fn refuse_late(&self, refusal: &LateRefusal) {
        self.confirmations.decline(&refusal.confirmation, &refusal.subject, self.now());
    }

    /// How many forms there were before this one.
    fn asked(&self) -> u64 {
        self.forms.fetch_add(1, Ordering::Relaxed)
    }

    /// Goes on when the person has agreed.
    fn heed(
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
            None => return Err(misfit()),
        };
        // To close the form is no yes, either: whatever comes back with this token is refused from
        // now on.
        self.confirmations.decline(token, subject, self.now());
        Err(BridgeError::new(BridgeErrorCode::Declined, message))
    }
}

/// What a form is about: a yes to it is none that a model could have brought, and a no is one to
/// this form alone.
fn by_client(count: u64, subject: &str) -> String {
    format!("client\0{count}\0{subject}")
}

/// What a question in two calls is about whose form had no answer: a yes or no to it is none to another question.
fn after_silence(count: u64, subject: &str) -> String {
    format!("silence\0{count}\0{subject}")
}

/// The number of a question and the token that belongs to it.
fn counted(text: &str) -> Result<(u64, &str), BridgeError> {
    let read = text.split_once('.').and_then(|(count, token)| Some((count.parse().ok()?, token)));
    read.ok_or_else(|| rejected(Rejected::Invalid))
}

/// Whether a client says at all what the person did with the form.
fn is_answer(answer: &Value) -> bool {
    let action = answer.get("action").and_then(Value::as_str);
    matches!(action, Some("accept" | "decline" | "cancel"))
}

/// What a text of the first call says about a form that nobody answered.
pub(super) const FORM_UNANSWERED: &str = "The client said that it can show a form, and gave no answer to one: the \
                                          person is asked by you instead, in two calls.";

fn misfit() -> BridgeError {
    let message = "what the client says that the person answered does not fit the form";
    BridgeError::new(BridgeErrorCode::AnswerInvalid, message)
}

fn silent(why: NoAnswer) -> BridgeError {
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

fn rejected(why: Rejected) -> BridgeError {
    match why {
        Rejected::Invalid => BridgeError::new(
            BridgeErrorCode::ConfirmationInvalid,
            "the confirmation does not belong to this call: something has changed since the user \
             was asked, or this bridge has started anew",
        ),
        Rejected::Expired => BridgeError::new(
            BridgeErrorCode::ConfirmationExpired,
            format!("the confirmation is older than {} minutes", LIFETIME.as_mins()),
        ),
        Rejected::Declined => BridgeError::new(BridgeErrorCode::Declined, "the person has said no"),
    }
}

/// What would be sent, a line for each member, for a form that says so where it is not all of it.
pub(super) fn lines(parts: &Map) -> String {
    let members = show::members(parts);
    let mut out = String::new();
    for (name, value) in members.iter().take(MAX_LINES) {
        let (name, value) = (quoted(name, MAX_SHOWN), quoted(value, MAX_SHOWN));
        out.push_str(&format!("- {name}: \"{value}\"\n"));
    }
    if let Some(more) = members.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        out.push_str(&format!("- and {more} more\n"));
    }
    if !is_whole(parts) {
        out.push_str("Not all of what would be sent is shown here.\n");
    }
    out
}

/// Whether [`lines`] shows all of this, from the first to the last character.
pub(super) fn is_whole(parts: &Map) -> bool {
    parts.iter().all(|(name, value)| is_legible(name, MAX_MEMBER) && is_shown(value))
        && show::members(parts).len() <= MAX_LINES
}

fn is_shown(value: &Value) -> bool {
    let is_short = |text: &str| is_legible(text, MAX_SHOWN);
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number.text().len() <= WORD,
        Value::String(text) => is_short(text),
        // These are one line.
        Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.len() <= MAX_ITEMS && is_short(&value.to_string())
        }
        Value::Array(items) => items.iter().all(is_shown),
        Value::Object(members) => {
            let mut members = members.iter();
            members.all(|(name, value)| is_legible(name, MAX_MEMBER) && is_shown(value))
        }
    }
}

/// Whether a text is shown with each of its characters; how much white space there is between them
/// does not matter.
fn is_legible(text: &str, max: usize) -> bool {
    let shown = plain(text, max);
    text.chars().count() <= max && text.split_whitespace().eq(shown.split_whitespace())
}

#[cfg(test)]
mod tests {
    use tradepost_wire::json::json;

    use super::*;

    #[test]
    fn what_a_form_cuts_is_told() {
        let is_cut = |value: Value| {
            let parts = Map::from_iter([("it".to_owned(), value)]);
            let says = lines(&parts).contains("Not all of what would be sent is shown");
            assert_eq!(says, !is_whole(&parts), "{parts:?}");
            says
        };
        assert!(!is_cut(json!({"a": "x".repeat(MAX_SHOWN), "b": vec!["yes"; MAX_ITEMS], "c": 5})));
        assert!(!is_cut(json!(vec![json!({"a": 1}); MAX_LINES])));
        for cut in [
            json!([{"a": "x".repeat(MAX_SHOWN + 1)}]),
            json!(vec!["no"; MAX_ITEMS + 1]),
            json!("to\u{200b}tal"),
            json!(["x".repeat(200), "y".repeat(200)]),
            json!({"x".repeat(MAX_MEMBER + 1): 1}),
            json!(vec![json!({"a": 1}); MAX_LINES + 1]),
        ] {
            assert!(is_cut(cut));
        }
    }
}
