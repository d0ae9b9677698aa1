//! Where the publisher's people are told what was sold and what waits: a mail box, a webhook or a chat, with a message
//! on the spot that is marked as a test.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_document::words;
use tradepost_publisher::staff_event::StaffEvent;

use super::super::draft::Draft;
use super::super::prompt::{Dialogue, Question};
use super::super::{
    ask_checked, ask_checked_list, ask_checked_number, ask_checked_secret, ask_optional,
};
use super::PUBLISHER;
use crate::cli::deliveries;
use crate::cli::output::CommandFailure;
use crate::console::password;
use crate::delivery::channel::OutgoingMessage;
use crate::delivery::staff::StaffMessage;

words! {
    /// Answers to the question where messages go.
    enum NoticeChannel {
        /// A mail box.
        Mail = "mail",
        /// A program of the publisher's own.
        Webhook = "webhook",
        /// A chat in Slack's format.
        Slack = "slack",
        /// Microsoft Teams.
        Teams = "teams",
        /// Only the console.
        None = "none",
    }
}

/// Asks for a destination until it takes a test, or is wanted as it is.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    loop {
        let before = draft.clone();
        let channel = ask_channel(dialogue)?;
        if channel == NoticeChannel::None {
            dialogue.say(
                "  what waits is shown in the console and by `tradepost publisher tasks list`",
            );
            return Ok(());
        }
        let delivery = draft.add(PUBLISHER, "deliveries");
        draft.set(&delivery, "name", json!(channel.name()));
        match channel {
            NoticeChannel::Mail => ask_mail(dialogue, draft, &delivery)?,
            NoticeChannel::Webhook => ask_webhook(dialogue, draft, &delivery)?,
            NoticeChannel::Slack | NoticeChannel::Teams => {
                ask_chat(dialogue, draft, &delivery, channel.name())?;
            }
            NoticeChannel::None => {}
        }
        if !dialogue.confirm("Send a message there now that is marked as a test?", true)? {
            return Ok(());
        }
        match send_test(draft) {
            Ok(answer) => {
                dialogue.say(format!("  taken: {answer}"));
                return Ok(());
            }
            Err(reasons) => {
                dialogue.reject(
                    &reasons,
                    "correct the answers, or keep them and correct the destination",
                );
                if !dialogue.confirm("Answer these questions again?", true)? {
                    return Ok(());
                }
                *draft = before;
            }
        }
    }
}

fn ask_channel(dialogue: &mut Dialogue) -> Result<NoticeChannel, CommandFailure> {
    let names = NoticeChannel::NAMES.join(", ");
    let text = format!("Messages about sales and approvals go by: {names}");
    let question = Question::new(&text, "").with_default(NoticeChannel::Mail.name());
    loop {
        let answer = dialogue.ask(&question)?;
        match NoticeChannel::from_name(&answer.to_lowercase()) {
            Some(channel) => return Ok(channel),
            None => dialogue.reject(&[format!("must be one of {names}")], ""),
        }
    }
}

fn ask_mail(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("smtp"));
    let to = Question::new(
        "Address that gets the messages",
        "write one e-mail address, such as adops@gazette.example",
    );
    ask_checked_list(dialogue, draft, delivery, "to", &to)?;
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

fn ask_webhook(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("webhook"));
    let url = Question::new(
        "Address of your program that takes messages as JSON",
        "write an address with https",
    );
    ask_checked(dialogue, draft, delivery, "url", &url)?;
    let hint = "an empty line makes one, which you find in a file afterwards";
    dialogue.until_accepted(hint, |dialogue| {
        let text = "Key that signs them, of 32 characters or more (empty: one is made)";
        let key = match dialogue.ask_secret(text)? {
            key if key.is_empty() => password::token()?,
            key => key,
        };
        Ok(draft.set_accepted(delivery, "hmac_key", json!(key))?)
    })
}

fn ask_chat(
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

/// Sends a test to the destination. Returns its answer.
fn send_test(draft: &Draft) -> Result<String, Vec<String>> {
    let publisher = draft.publisher()?;
    let wanted = publisher.deliveries.first().ok_or_else(Vec::new)?;
    let event = StaffEvent::sample();
    let sent = deliveries::send_test(&wanted.delivery, |id, at| {
        let message = StaffMessage {
            publisher: &publisher.profile.id,
            event: &event,
            at,
            id: &id,
            attempt: 1,
            is_resent: false,
        };
        let written = message.write(&wanted.delivery.destination.form);
        OutgoingMessage { id, attempt: 1, written }
    });
    sent.map_err(|failure| vec![failure.message])
}
