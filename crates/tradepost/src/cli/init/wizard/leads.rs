//! Where leads go: a mail box or CRM that takes ADF, a webhook or a chat, with a test message on the spot.

use tokio::runtime::Builder;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_document::words;
use tradepost_server::clock::Clock;

use super::draft::Draft;
use super::prompt::{Dialogue, Question};
use super::{DEALER, ask_checked, ask_checked_secret, ask_optional};
use crate::cli::context::runtime;
use crate::cli::output::CommandFailure;
use crate::console::password;
use crate::delivery::channel;

words! {
    /// Answers to the question where leads go.
    enum LeadChannel {
        /// A CRM or a person, by mail.
        Mail = "mail",
        /// A CRM, by POST.
        Crm = "crm",
        /// A program of the dealer's own.
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
        if channel == LeadChannel::None {
            dialogue.say("  leads wait in the console and in `tradepost leads list`");
            return Ok(());
        }
        let delivery = draft.add(DEALER, "deliveries");
        draft.set(&delivery, "name", json!(channel.name()));
        match channel {
            LeadChannel::Mail => ask_mail(dialogue, draft, &delivery)?,
            LeadChannel::Crm => ask_crm(dialogue, draft, &delivery)?,
            LeadChannel::Webhook => ask_webhook(dialogue, draft, &delivery)?,
            LeadChannel::Slack | LeadChannel::Teams => {
                ask_chat(dialogue, draft, &delivery, channel.name())?;
            }
            LeadChannel::None => {}
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

fn ask_channel(dialogue: &mut Dialogue) -> Result<LeadChannel, CommandFailure> {
    let names = LeadChannel::NAMES.join(", ");
    let text = format!("Leads go by: {names} (mail and crm send ADF, which CRMs read)");
    let question = Question::new(&text, "").with_default(LeadChannel::Mail.name());
    dialogue.until_accepted("", |dialogue| {
        let channel = LeadChannel::from_name(&dialogue.ask(&question)?.to_lowercase());
        channel.ok_or_else(|| vec![format!("must be one of {names}")].into())
    })
}

fn ask_mail(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("smtp"));
    let to = Question::new(
        "Address that gets the leads, which your CRM shows in its settings",
        "write one e-mail address, such as leads@crm.example.com",
    );
    super::ask_checked_list(dialogue, draft, delivery, "to", &to)?;
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
    super::ask_checked_number(dialogue, draft, delivery, "port", &port)?;
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

fn ask_crm(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("https"));
    let url =
        Question::new("Address of the CRM that takes ADF by POST", "write an address with https");
    ask_checked(dialogue, draft, delivery, "url", &url)?;
    let token = dialogue.ask_secret("Bearer token of the CRM (empty: none)")?;
    if !token.is_empty() {
        draft.set(delivery, "bearer", json!(token));
    }
    Ok(())
}

fn ask_webhook(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    delivery: &str,
) -> Result<(), CommandFailure> {
    draft.set(delivery, "by", json!("webhook"));
    let url = Question::new(
        "Address of your program that takes leads as JSON",
        "write an address with https",
    );
    ask_checked(dialogue, draft, delivery, "url", &url)?;
    let text = "Key that signs them, of 32 characters or more (empty: one is made)";
    let hint = "an empty line makes one, which you find in a file afterwards";
    dialogue.until_accepted(hint, |dialogue| {
        let key = match dialogue.ask_secret(text)? {
            key if key.is_empty() => password::token().map_err(CommandFailure::from)?,
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
    let dealer = draft.dealer()?;
    let delivery = dealer.deliveries.first().ok_or_else(Vec::new)?;
    let runtime = runtime(Builder::new_current_thread());
    let runtime = runtime.map_err(|failure| vec![failure.message])?;
    let clock = Clock::system();
    let sent = runtime.block_on(channel::send_sample(&dealer.terms, delivery, &clock));
    // An abandoned DNS lookup must not delay the next question.
    runtime.shutdown_timeout(std::time::Duration::ZERO);
    sent.map_err(|why| vec![why])
}
