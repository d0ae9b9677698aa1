//! Where the publisher's people are told what was sold and what waits: a mail box, a webhook or a chat, with a message
//! on the spot that is marked as a test.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_document::words;
use tradepost_publisher::staff_event::StaffEvent;
use tradepost_runtime::delivery::channel::OutgoingMessage;
use tradepost_runtime::delivery::staff::StaffMessage;

use super::super::destination;
use super::super::draft::Draft;
use super::super::prompt::{Dialogue, Question};
use super::PUBLISHER;
use crate::cli::deliveries;
use crate::cli::output::CommandFailure;

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
            NoticeChannel::Mail => {
                let to = Question::new(
                    "Address that gets the messages",
                    "write one e-mail address, such as adops@gazette.example",
                );
                destination::ask_mail(dialogue, draft, &delivery, &to)?;
            }
            NoticeChannel::Webhook => {
                let url = Question::new(
                    "Address of your program that takes messages as JSON",
                    "write an address with https",
                );
                destination::ask_webhook(dialogue, draft, &delivery, &url)?;
            }
            NoticeChannel::Slack | NoticeChannel::Teams => {
                destination::ask_chat(dialogue, draft, &delivery, channel.name())?;
            }
            NoticeChannel::None => {}
        }
        if destination::is_kept(dialogue, || send_test(draft))? {
            return Ok(());
        }
        *draft = before;
    }
}

fn ask_channel(dialogue: &mut Dialogue) -> Result<NoticeChannel, CommandFailure> {
    let names = NoticeChannel::NAMES.join(", ");
    let text = format!("Messages about sales and approvals go by: {names}");
    let question = Question::new(&text, "").with_default(NoticeChannel::Mail.name());
    dialogue.until_accepted("", |dialogue| {
        let channel = NoticeChannel::from_name(&dialogue.ask(&question)?.to_lowercase());
        channel.ok_or_else(|| vec![format!("must be one of {names}")].into())
    })
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
