//! `tradepost publisher adagents`: writes and checks the file in which the publisher's domain names its agent.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use tokio::runtime::Builder;
use tradepost_commands::published::GuardedWeb;
use tradepost_document::json::{self, Value, json};
use tradepost_runtime::adagents::fetch::{self, FetchedFile};
use tradepost_runtime::adagents::{self, AdagentsInput, AdagentsProblem, ExpectedAgent};
use tradepost_runtime::config::{Config, PublisherConfig};
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, Resolver};

use super::{only, take_publishers};
use crate::cli::context::runtime;
use crate::cli::output::{AMISS, CommandFailure, read_text, save};
use crate::cli::{Context, Outcome, check_config, dealers};

/// Subcommands of `tradepost publisher adagents`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Write the file for a domain of the publisher.
    Write(Write),
    /// Check the file that a domain serves, or one on this machine.
    Check(Check),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Write {
    /// Domain that will serve the file; the default is the publisher's own.
    domain: Option<String>,
    /// E-mail address for questions about the file, which is public.
    #[arg(long, value_name = "ADDRESS")]
    contact_email: Option<String>,
    /// File to write, which must not exist; the default is standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    publisher: ChosenPublisher,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Check {
    /// Domain, address or file; the default is the publisher's own domain.
    #[arg(value_name = "DOMAIN|FILE")]
    place: Option<String>,
    #[command(flatten)]
    publisher: ChosenPublisher,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ChosenPublisher {
    /// Publisher id; not needed if the configuration has one publisher.
    #[arg(long, value_name = "ID")]
    publisher: Option<String>,
    /// Configuration file [default: tradepost.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Fails when the configuration has mistakes, a file cannot be read or written, or a check found a problem.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Write(arguments) => write(&arguments, context),
        Command::Check(arguments) => check(&arguments, context),
    }
}

impl ChosenPublisher {
    fn path(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(dealers::CONFIG))
    }

    fn of(&self, mut config: Config) -> Result<PublisherConfig, CommandFailure> {
        check_config::load_catalogues(&mut config)?;
        only(take_publishers(&mut config, self.publisher.as_deref())?)
    }
}

/// Returns the address at which buyers reach a publisher's agent, when the configuration says it.
pub(in crate::cli) fn public_address(publisher: &PublisherConfig) -> Option<String> {
    let at_host = || publisher.front.hosts.first().map(|host| format!("https://{host}"));
    publisher.public_url.clone().or_else(at_host)
}

fn write(arguments: &Write, context: &Context) -> Outcome {
    let config = check_config::load(arguments.publisher.path(), &context.environment)?;
    let publisher = arguments.publisher.of(config)?;
    let agent_url = public_address(&publisher).ok_or_else(|| {
        CommandFailure::usage("the configuration does not say where buyers reach the agent")
            .hint("set public_url in [[publishers]], such as https://ads.gazette.example")
    })?;
    let own = publisher.profile.domain.as_str();
    let domain = arguments.domain.as_deref().unwrap_or(own);
    let sold = adagents::sold(&publisher.profile.catalogue);
    if domain != own && !sold.contains_key(domain) {
        let known: Vec<&str> = sold.keys().map(String::as_str).chain([own]).collect();
        return Err(CommandFailure::usage(format!("no product is sold on {domain}"))
            .hint(format!("the domains of the catalogue are {}", known.join(", "))));
    }
    let input = AdagentsInput {
        profile: &publisher.profile,
        agent_url: &agent_url,
        domain,
        contact_email: arguments.contact_email.as_deref(),
        now: Clock::system().now(),
    };
    let file = adagents::document(&input);
    let text = json::to_string_pretty(&file).map_err(CommandFailure::fault)?;
    save(arguments.out.as_deref(), format!("{text}\n").as_bytes(), context.output)?;
    if context.output.is_json() {
        return Ok(());
    }
    context.output.talk(format!("publish it at https://{domain}{}", adagents::PATH));
    context.output.talk(format!("then check it: tradepost publisher adagents check {domain}"));
    for other in sold.keys().filter(|other| other.as_str() != domain) {
        context
            .output
            .talk(format!("the catalogue sells on {other}, too: it needs a file of its own"));
    }
    Ok(())
}

fn check(arguments: &Check, context: &Context) -> Outcome {
    let now = Clock::system().now();
    let chosen = &arguments.publisher;
    // A file can be checked without a configuration; one that is named has to be there.
    let is_wanted = chosen.config.is_some() || chosen.path().exists();
    let config = is_wanted.then(|| check_config::load(chosen.path(), &context.environment));
    let publisher = config.transpose()?.map(|config| chosen.of(config)).transpose()?;
    let own = publisher.as_ref().map(|publisher| publisher.profile.domain.clone());
    let place = arguments.place.clone().or(own).ok_or_else(|| {
        CommandFailure::usage("there is no configuration that says which domain is meant")
            .hint("name a domain or a file, or the configuration with --config")
    })?;
    let is_file = Path::new(&place).is_file();
    let FetchedFile { url, file } = match is_file {
        true => {
            let text = read_text(Path::new(&place))?;
            let file: Value = json::from_str(&text).map_err(|_| {
                CommandFailure::usage(format!("{place} is no JSON"))
                    .hint("publish what `tradepost publisher adagents write` prints")
            })?;
            FetchedFile { url: place.clone(), file }
        }
        false => fetched(&place, publisher.as_ref())?,
    };
    let expected = publisher.as_ref().and_then(|publisher| expected(publisher, &place, is_file));
    let problems = adagents::problems(&file, expected.as_ref(), now);
    let agent = expected.as_ref().map(|expected| expected.url.as_str());
    if problems.is_empty() {
        let document = json!({"place": url, "agent": agent, "problems": []});
        let what =
            agent.map_or_else(|| "is in order".to_owned(), |agent| format!("lets {agent} sell"));
        context.output.answer(&document, format!("{url} {what}"));
        if agent.is_none() && !context.output.is_json() {
            context.output.talk(
                "whether it names your agent was not checked: no configuration says its address",
            );
        }
        return Ok(());
    }
    let count = problems.len();
    let noun = if count == 1 { "problem" } else { "problems" };
    Err(CommandFailure::new(AMISS, format!("{url} has {count} {noun}"))
        .hint("correct the file and publish it again; buyers read it before they buy")
        .lines(problems.iter().map(line).collect())
        .data(json!({
            "code": "adagents_problems", "place": url, "agent": agent, "problems": problems,
        })))
}

fn line(problem: &AdagentsProblem) -> String {
    let AdagentsProblem { pointer, message, hint } = problem;
    let pointer = if pointer.is_empty() { "/" } else { pointer };
    format!("{pointer}: {message}; {hint}")
}

fn fetched(
    place: &str,
    publisher: Option<&PublisherConfig>,
) -> Result<FetchedFile, CommandFailure> {
    let url = fetch::address(place);
    let call_loopback = publisher.is_some_and(|publisher| publisher.call_loopback);
    let runtime = runtime(Builder::new_current_thread())?;
    let web = GuardedWeb::new(Egress::new(Resolver::system(), call_loopback), Clock::system());
    let fetched = runtime.block_on(fetch::fetch(&web, &url));
    // An abandoned DNS lookup must not delay the end.
    runtime.shutdown_timeout(std::time::Duration::ZERO);
    fetched.map_err(|unread| {
        CommandFailure::new(AMISS, unread.message)
            .hint(unread.hint)
            .data(json!({"code": "adagents_unread", "place": url}))
    })
}

/// Returns what a file has to name. A file on this machine is taken for that of the publisher's own domain.
fn expected(publisher: &PublisherConfig, place: &str, is_file: bool) -> Option<ExpectedAgent> {
    let url = public_address(publisher)?;
    let mut sold = adagents::sold(&publisher.profile.catalogue);
    let is_named = !is_file && sold.contains_key(place);
    let domain = if is_named { place } else { publisher.profile.domain.as_str() };
    let sold = sold.remove(domain).unwrap_or_default();
    Some(ExpectedAgent { url, domain: domain.to_owned(), sold })
}
