//! `tradepost call`: call a skill of a seller.

use jiff::SignedDuration;
use tradepost_buyer::client::{Client, random_ids};
use tradepost_buyer::discover::discover;
use tradepost_buyer::failure::{self, Unsent};
use tradepost_wire::aap::{Skill, Terms, Version};
use tradepost_wire::catalog::Vocabulary;

use super::discover::{block_on, transport};
use super::output::Failure;
use super::output::table::Fit;
use super::{Context, Outcome};
use crate::clock::Clock;

mod payload;
mod retry;
mod show;

/// The environment variable of the bearer token.
pub(super) const TOKEN_VARIABLE: &str = "TRADEPOST_TOKEN";

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The seller's base address, or the address of its card.
    url: String,
    /// dealer.information, inventory.facets, inventory.search, inventory.vehicle or lead.submit;
    /// a word that only it has is enough.
    skill: String,
    #[command(flatten)]
    payload: payload::Request,
    /// A bearer token; better in the environment variable TRADEPOST_TOKEN, which other users of
    /// this machine cannot see.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Speak this version of AAP instead of the highest that both sides know.
    #[arg(long, value_name = "VERSION", value_parser = version)]
    aap_version: Option<Version>,
    /// How many seconds an answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Send the request even when the card does not list the skill or the seller would refuse it.
    #[arg(long)]
    no_check: bool,
    /// When the failure may pass, wait and send the same request again: at most four requests
    /// within five minutes, none earlier than the seller says. A lead gets an idempotency key, so
    /// that the dealer takes it once.
    #[arg(long)]
    retry: bool,
}

fn version(text: &str) -> Result<Version, String> {
    Version::from_name(text).ok_or_else(|| format!("must be one of {}", Version::NAMES.join(", ")))
}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let skill = skill(&arguments.skill)?;
    let mut payload = arguments.payload.build(skill, &mut std::io::stdin().lock())?;
    if arguments.retry {
        retry::give_key(skill, &mut payload);
    }
    let token = arguments.token.clone().or_else(|| token_variable(context));
    let answer = block_on(async {
        let transport = transport(arguments.timeout);
        let found = discover(&transport, &arguments.url, None).await?;
        let choice = found.card.choose(arguments.aap_version);
        let choice = choice.map_err(|why| failure::Failure::Unsent(Unsent::NotAap(why)))?;
        let mut client = Client::new(transport, &found, choice, random_ids())?;
        if let Some(token) = token {
            client = client.with_token(&token)?;
        }
        if !arguments.no_check {
            client = client.checking(terms);
        }
        if arguments.retry {
            return retry::call(&client, skill, payload, context.output).await;
        }
        client.call(skill, payload).await.map_err(|failure| of_call(skill, failure))
    })?;
    if context.output.is_json() {
        context.output.json_text(answer.raw.get());
    } else {
        context.output.line(show::answer(&answer, Fit::Terminal));
    }
    Ok(())
}

/// The bearer token of the environment, when there is one.
pub(super) fn token_variable(context: &Context) -> Option<String> {
    let mut variables = context.environment.iter();
    let variable = variables.find(|(name, value)| name == TOKEN_VARIABLE && !value.is_empty());
    variable.map(|(_, value)| value.clone())
}

/// The skill that is meant: by its id, or by a word of it that no other skill has.
fn skill(text: &str) -> Result<Skill, Failure> {
    let name = text.trim().to_ascii_lowercase();
    let has_word = |skill: &&Skill| skill.name().split('.').any(|word| word == name);
    let by_word = || {
        let mut found = Skill::ALL.iter().filter(has_word);
        found.next().copied().filter(|_| found.next().is_none())
    };
    Skill::from_name(&name).or_else(by_word).ok_or_else(|| {
        let hint = format!("the skills are {}", Skill::NAMES.join(", "));
        Failure::usage("no skill of AAP has this name").hint(hint)
    })
}

/// What is checked before sending. Where dealers differ, the most generous of them counts.
fn terms() -> Terms {
    Terms {
        now: Clock::system().now(),
        clock_skew: SignedDuration::from_mins(5),
        consent_lifetime: None,
    }
}

/// A failure of the call itself: a lead must not be sent twice by mistake.
fn of_call(skill: Skill, failure: failure::Failure) -> Failure {
    let in_doubt = failure.may_have_acted() && skill == Skill::LeadSubmit;
    let failure = Failure::from(failure);
    if in_doubt {
        failure.hint("the lead may have arrived; send it again only with the same idempotency_key")
    } else {
        failure
    }
}

#[cfg(test)]
mod tests;
