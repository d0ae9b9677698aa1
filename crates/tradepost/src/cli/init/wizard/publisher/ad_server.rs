//! The ad server: none, a list of what is sold out, or one that media buys are carried into. Each is asked on the spot.

use std::time::Duration;

use tokio::runtime::Builder;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_document::words;
use tradepost_publisher::services::Unavailable;
use tradepost_runtime::adcp::ad_server::connect;
use tradepost_runtime::adcp::upstream::SoldOutClient;
use tradepost_server::clock::Clock;

use super::super::draft::Draft;
use super::super::prompt::{Dialogue, Question};
use super::super::{ask_checked, ask_checked_number, ask_checked_secret, ask_optional};
use super::PUBLISHER;
use crate::cli::context::runtime;
use crate::cli::output::CommandFailure;

words! {
    /// Answers to the question for the ad server.
    enum AdServerAnswer {
        /// People set up what was sold.
        None = "none",
        /// An address that says what is sold out.
        Upstream = "upstream",
        /// Kevel, which media buys are carried into.
        Kevel = "kevel",
        /// Google Ad Manager, which media buys are carried into.
        GoogleAdManager = "google_ad_manager",
        /// An ad server with our contract (docs/ad-server.md).
        Http = "http",
    }
}

/// Table of the ad server that media buys are carried into.
const AD_SERVER: &str = "/publishers/0/ad_server";

/// Table of the address that says what is sold out.
const UPSTREAM: &str = "/publishers/0/upstream";

/// Asks for an ad server until it answers, or is wanted as it is.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    loop {
        let before = draft.clone();
        let checked = match ask_kind(dialogue)? {
            AdServerAnswer::None => {
                dialogue.say(
                    "  your people set up what was sold; the console and the messages say what",
                );
                return Ok(());
            }
            AdServerAnswer::Upstream => {
                ask_upstream(dialogue, draft)?;
                check_upstream(draft)
            }
            AdServerAnswer::Kevel => {
                ask_carried(dialogue, draft, "kevel", "https://api.kevel.co")?;
                check_carried(draft)
            }
            AdServerAnswer::GoogleAdManager => {
                ask_google(dialogue, draft)?;
                check_carried(draft)
            }
            AdServerAnswer::Http => {
                ask_carried(dialogue, draft, "http", "")?;
                check_carried(draft)
            }
        };
        match checked {
            Ok(answer) => {
                dialogue.say(format!("  it answers: {answer}"));
                return Ok(());
            }
            Err(reason) => {
                dialogue.reject(
                    &[reason],
                    "correct the answers, or keep them and correct the ad server",
                );
                if !dialogue.confirm("Answer these questions again?", true)? {
                    return Ok(());
                }
                *draft = before;
            }
        }
    }
}

fn ask_kind(dialogue: &mut Dialogue) -> Result<AdServerAnswer, CommandFailure> {
    let names = AdServerAnswer::NAMES.join(", ");
    let text = format!("Ad server: {names} (upstream only says what is sold out)");
    let question = Question::new(&text, "").with_default(AdServerAnswer::None.name());
    loop {
        let answer = dialogue.ask(&question)?;
        match AdServerAnswer::from_name(&answer.to_lowercase()) {
            Some(kind) => return Ok(kind),
            None => dialogue.reject(&[format!("must be one of {names}")], ""),
        }
    }
}

fn ask_upstream(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    draft.set(PUBLISHER, "upstream", json!({}));
    let url = Question::new(
        "Address that answers with the products that are sold out",
        "it answers {\"sold_out\": [\"product_id\"]} (docs/publisher.md)",
    );
    ask_checked(dialogue, draft, UPSTREAM, "url", &url)
}

fn ask_carried(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    adapter: &str,
    usual: &str,
) -> Result<(), CommandFailure> {
    draft.set(PUBLISHER, "ad_server", json!({"adapter": adapter}));
    let url =
        Question::new("Address of the ad server", "write it with https://").with_default(usual);
    ask_checked(dialogue, draft, AD_SERVER, "url", &url)?;
    let text = "Credential at the ad server (goes to a file that only you can read)";
    ask_checked_secret(dialogue, draft, AD_SERVER, "credential", text)?;
    let network = Question::new("Network at the ad server, by its id (empty: none)", "");
    ask_optional(dialogue, draft, AD_SERVER, "network", &network)?;
    if adapter == "kevel" {
        let hint = "Kevel shows the numbers of priorities in the channel's settings";
        let priority = Question::new("Priority at Kevel, by its number", hint);
        ask_checked_number(dialogue, draft, AD_SERVER, "priority", &priority)?;
    }
    let advertiser =
        Question::new("Advertiser there for accounts that name none, by its id (empty: none)", "");
    ask_optional(dialogue, draft, AD_SERVER, "advertiser", &advertiser)?;
    Ok(())
}

fn ask_google(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    draft.set(PUBLISHER, "ad_server", json!({"adapter": "google_ad_manager"}));
    let hint = "docs/ad-server.md says how to make a service account and its key file";
    let file = Question::new("Key file of the service account (JSON), with its whole path", hint);
    ask_checked(dialogue, draft, AD_SERVER, "credential_file", &file)?;
    let network = Question::new("Code of the network at Google", "it is a number");
    ask_checked(dialogue, draft, AD_SERVER, "network", &network)?;
    let trafficker = Question::new(
        "User at Google who is responsible for orders, by its number",
        "the address of the user's page at Google ends with it",
    );
    ask_checked(dialogue, draft, AD_SERVER, "trafficker", &trafficker)?;
    let advertiser =
        Question::new("Advertiser there for accounts that name none, by its id (empty: none)", "");
    ask_optional(dialogue, draft, AD_SERVER, "advertiser", &advertiser)?;
    Ok(())
}

fn check_upstream(draft: &Draft) -> Result<String, String> {
    let publisher = draft.publisher().map_err(|mistakes| mistakes.join("; "))?;
    let upstream = publisher.upstream.ok_or("no address is set")?;
    let clock = Clock::system();
    let client = SoldOutClient::new(upstream, &clock).map_err(|fault| fault.chain().to_string())?;
    let runtime = runtime(Builder::new_current_thread()).map_err(|failure| failure.message)?;
    let supply = runtime.block_on(client.supply());
    runtime.shutdown_timeout(Duration::ZERO);
    match supply {
        Ok(supply) => Ok(format!("products that are sold out there: {}", supply.sold_out.len())),
        Err(Unavailable::Down { .. }) => Err("it does not answer as it should".to_owned()),
        Err(Unavailable::Misconfigured { .. }) => Err("it refuses the request".to_owned()),
    }
}

fn check_carried(draft: &Draft) -> Result<String, String> {
    let publisher = draft.publisher().map_err(|mistakes| mistakes.join("; "))?;
    let wanted = publisher.ad_server.ok_or("no ad server is set")?;
    let ad_server = connect(&wanted)?;
    let runtime = runtime(Builder::new_current_thread()).map_err(|failure| failure.message)?;
    let checked = runtime.block_on(ad_server.check());
    runtime.shutdown_timeout(Duration::ZERO);
    checked.map_err(|error| error.to_string())
}
