//! `tradepost call`: calls a skill of a dealer, or sends a message to an agent of any kind.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_aap::{DealerTerms, Skill, Version};
use tradepost_client::client::{SkillClient, random_ids};
use tradepost_client::failure::{self, Unsent};
use tradepost_client::text::{WORD, plain};
use tradepost_document::catalog::Vocabulary;
use tradepost_server::clock::Clock;

use super::card::trust;
use super::discover::block_on;
use super::nearest;
use super::network::NetworkArguments;
use super::output::table::TableWidth;
use super::output::{CommandFailure, word};
use super::token::TokenArguments;
use super::{Context, Outcome};

mod agent;
mod attempts;
mod payload;
mod show;

/// Arguments of `tradepost call`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// URL of the agent: its base URL or its agent card.
    url: String,
    /// Skill: dealer.information, inventory.facets, inventory.search, inventory.vehicle or
    /// lead.submit. A word that only one skill contains is enough. Without a skill, --text is sent
    /// to an agent of any kind.
    #[arg(required_unless_present_any = ["text", "task"])]
    skill: Option<String>,
    #[command(flatten)]
    words: agent::MessageWords,
    #[command(flatten)]
    payload: payload::PayloadRequest,
    #[command(flatten)]
    token: TokenArguments,
    /// Use this version of AAP instead of the highest that both sides support.
    #[arg(long, value_name = "VERSION", value_parser = word::<Version>)]
    aap_version: Option<Version>,
    /// Timeout of an answer in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Send the request even if the card does not list the skill or the seller would refuse the
    /// request.
    #[arg(long)]
    no_check: bool,
    /// Trusted public keys, a JWK set or one JWK. One of them must have signed the card.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Continue the conversation with this id. By this id the dealer recognizes the customer who
    /// chooses one of the proposed times or moves a booking. `call` prints the id with the answer
    /// to a lead.
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Retry the same request after a temporary failure: at most four requests within the time of
    /// --overall, none earlier than the seller permits.
    #[arg(long)]
    retry: bool,
    /// With --retry: time limit in seconds for all requests and the pauses between them.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "retry",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    overall: u64,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let Some(name) = &arguments.skill else { return agent::run(&arguments, context) };
    let skill = skill(name)?;
    let mut payload = arguments.payload.build(skill, &mut std::io::stdin().lock())?;
    attempts::give_key(skill, &mut payload);
    let token = arguments.token.bearer(context);
    let answer = block_on(async {
        let transport = arguments.network.transport(context, arguments.timeout)?;
        let keys = arguments.keys.as_deref().map(trust::keys).transpose()?;
        let found = trust::discover(&transport, &arguments.url, keys.as_ref()).await?;
        let card = trust::reader(&transport, &found.url, keys.as_ref());
        let choice = found.card.choose(arguments.aap_version);
        let choice = choice.map_err(|why| failure::CallFailure::Unsent(Unsent::NotAap(why)))?;
        let mut client = SkillClient::new(transport, &found, choice, random_ids())?.rereading(card);
        if let Some(token) = token {
            client = client.with_token(token)?;
        }
        if let Some(conversation) = &arguments.conversation {
            client = client.within(conversation);
        }
        if !arguments.no_check {
            client = client.checking(terms);
        }
        let overall = arguments.retry.then(|| Duration::from_secs(arguments.overall));
        attempts::call(&client, skill, payload, overall, context.output).await
    })?;
    if let Some(departure) = answer.departure {
        context.output.talk(format!("warning: {departure}"));
    }
    if context.output.is_json() {
        context.output.json_text(answer.raw.get());
    } else {
        context.output.line(show::answer(&answer, TableWidth::Terminal));
    }
    if skill == Skill::LeadSubmit
        && let Some(id) = &answer.context_id
    {
        let id = plain(id, WORD);
        context.output.talk(format!("to change the request later: --conversation {id}"));
    }
    Ok(())
}

/// Finds a skill by its id, or by a word that no other skill has.
fn skill(text: &str) -> Result<Skill, CommandFailure> {
    let name = text.trim().to_ascii_lowercase();
    let has = |skill: &Skill, word: &str| skill.name().split('.').any(|own| own == word);
    let has_word = |skill: &&Skill| has(skill, &name);
    let by_word = || {
        let mut found = Skill::ALL.iter().filter(has_word);
        found.next().copied().filter(|_| found.next().is_none())
    };
    Skill::from_name(&name).or_else(by_word).ok_or_else(|| {
        let all = format!("the skills are {}", Skill::NAMES.join(", "));
        let words = Skill::NAMES.iter().flat_map(|name| name.split('.'));
        let is_of_one =
            |word: &&str| Skill::ALL.iter().filter(|skill| has(skill, word)).count() == 1;
        let names = Skill::NAMES.iter().copied().chain(words.filter(is_of_one));
        CommandFailure::usage("AAP has no skill with this name")
            .hint(nearest::hint(&name, names, all))
    })
}

/// Returns the terms for checks before sending. Where dealers differ, the most permissive counts.
fn terms() -> DealerTerms {
    DealerTerms {
        now: Clock::system().now(),
        clock_skew: SignedDuration::from_mins(5),
        consent_lifetime: None,
    }
}

#[cfg(test)]
mod tests;
