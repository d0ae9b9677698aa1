//! Where leads go: a mail box or CRM that takes ADF, a webhook or a chat, with a test message on the spot.

use tokio::runtime::Builder;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_document::words;
use tradepost_runtime::delivery::channel;
use tradepost_server::clock::Clock;

use super::draft::Draft;
use super::prompt::{Dialogue, Question};
use super::{DEALER, ask_checked, destination};
use crate::cli::context::runtime;
use crate::cli::output::CommandFailure;

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
            LeadChannel::Mail => {
                let to = Question::new(
                    "Address that gets the leads, which your CRM shows in its settings",
                    "write one e-mail address, such as leads@crm.example.com",
                );
                destination::ask_mail(dialogue, draft, &delivery, &to)?;
            }
            LeadChannel::Crm => ask_crm(dialogue, draft, &delivery)?,
            LeadChannel::Webhook => {
                let url = Question::new(
                    "Address of your program that takes leads as JSON",
                    "write an address with https",
                );
                destination::ask_webhook(dialogue, draft, &delivery, &url)?;
            }
            LeadChannel::Slack | LeadChannel::Teams => {
                destination::ask_chat(dialogue, draft, &delivery, channel.name())?;
            }
            LeadChannel::None => {}
        }
        if destination::is_kept(dialogue, || send_test(draft))? {
            return Ok(());
        }
        *draft = before;
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
