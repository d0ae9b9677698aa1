//! Questions about a destination of messages that dealers and publishers share: a mail box, a webhook or a chat, and
//! the message with which it is tried.

use tradepost_document::json::json;
use tradepost_runtime::random;

use super::draft::Draft;
use super::prompt::{Dialogue, Question};
use super::{ask_checked, ask_checked_list, ask_checked_number, ask_checked_secret, ask_optional};
use crate::cli::output::CommandFailure;

/// Asks about a mail box and the server that sends to it. `to` asks for the address.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask_mail(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
    to: &Question<'_>,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("smtp"));
    ask_checked_list(dialogue, draft, delivery, "to", to)?;
    let host = Question::new(
        "Mail server that sends them, by its host name",
        "write a name such as smtp.example.com",
    );
    ask_checked(dialogue, draft, delivery, "host", &host)?;
    let tls = Question::new(
        "Protection of the connection: starttls, required or none",
        "starttls is usual (port 587); required speaks TLS from the first byte (465); none is for this machine",
    );
    ask_checked(dialogue, draft, delivery, "tls", &tls.with_default("starttls"))?;
    let usual = match draft.text_at(delivery, "tls") {
        Some("required") => "465",
        Some("none") => "25",
        _ => "587",
    };
    let port = Question::new("Port of the mail server", "write a number").with_default(usual);
    ask_checked_number(dialogue, draft, delivery, "port", &port)?;
    let user = Question::new("User name at the mail server (empty: none)", "");
    if ask_optional(dialogue, draft, delivery, "user", &user)? {
        let text = "Password at the mail server (goes to a file that only you can read)";
        ask_checked_secret(dialogue, draft, delivery, "password", text)?;
    }
    let sender = ["user", "to/0"].into_iter().filter_map(|key| draft.text_at(delivery, key));
    let sender = sender.map(str::to_owned).find(|text| text.contains('@')).unwrap_or_default();
    let from = Question::new(
        "Sender of these mails",
        "write an e-mail address that the mail server lets you use",
    );
    ask_checked(dialogue, draft, delivery, "from", &from.with_default(sender))
}

/// Asks about a program that takes messages as JSON. `url` asks for its address.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask_webhook(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
    url: &Question<'_>,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("webhook"));
    ask_checked(dialogue, draft, delivery, "url", url)?;
    let text = "Key that signs them, of 32 characters or more (empty: one is made)";
    let hint = "an empty line makes one, which you find in a file afterwards";
    dialogue.until_accepted(hint, |dialogue| {
        let key = match dialogue.ask_secret(text)? {
            key if key.is_empty() => random::token()?,
            key => key,
        };
        Ok(draft.set_accepted(delivery, "hmac_key", json!(key))?)
    })
}

/// Asks about a chat of a style (`slack` or `teams`).
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask_chat(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
    style: &str,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("chat"));
    draft.set(delivery, "style", json!(style));
    let url = Question::new(
        "Address of the chat's incoming webhook",
        "the chat shows it once, when you add an incoming webhook to a channel",
    );
    ask_checked(dialogue, draft, delivery, "url", &url)
}

/// Tries a destination by a message, where the person wants that. Returns true if the answers about it are kept.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn is_kept(
    dialogue: &mut Dialogue,
    send_test: impl FnOnce() -> Result<String, Vec<String>>,
) -> Result<bool, CommandFailure> {
    if !dialogue.confirm("Send a message there now that is marked as a test?", true)? {
        return Ok(true);
    }
    match send_test() {
        Ok(answer) => {
            dialogue.say(format!("  taken: {answer}"));
            Ok(true)
        }
        Err(reasons) => {
            let hint = "correct the answers, or keep them and correct the destination";
            dialogue.reject(&reasons, hint);
            Ok(!dialogue.confirm("Answer these questions again?", true)?)
        }
    }
}
