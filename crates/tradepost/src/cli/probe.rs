//! `tradepost probe`: find out how well an agent keeps to its specifications.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tradepost_buyer::probe::check::Profile;
use tradepost_buyer::probe::report::Report;
use tradepost_buyer::probe::{self, Options, Progress, html, junit};

use super::discover::{block_on, transport};
use super::output::seller::NO_ANSWER;
use super::output::{Failure, Output};
use super::{Context, Outcome};
use crate::clock::Clock;

mod text;
mod waivers;

/// The environment variables of the bearer tokens.
const TOKEN_VARIABLE: &str = "TRADEPOST_TOKEN";
const TOKEN_B_VARIABLE: &str = "TRADEPOST_TOKEN_B";

/// The specifications to judge by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Wanted {
    /// Those that the card names; AdCP where there is no card and MCP answers.
    Auto,
    /// A2A alone.
    A2a,
    /// AAP alone.
    Aap,
    /// AdCP alone, over MCP at the address, and over A2A where the card names it.
    Adcp,
}

/// How the report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people, in a terminal.
    Text,
    /// For programs.
    Json,
    /// For continuous integration.
    Junit,
    /// For people, in a browser: one file that needs nothing else.
    Html,
}

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The agent's base address, the address of its card, or of its MCP endpoint.
    url: String,
    /// The specifications to judge by.
    #[arg(long, value_name = "PROFILE", default_value = "auto")]
    profile: Wanted,
    /// How to write the report; --json is --format json.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write the report to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Send leads too, valid ones among them, marked as tests. The dealer keeps them.
    #[arg(long)]
    allow_leads: bool,
    /// Ask an AdCP seller to set up an account in its sandbox, to see how it takes repetitions.
    #[arg(long)]
    allow_writes: bool,
    /// Send a generic agent no message that it would work on.
    #[arg(long)]
    no_messages: bool,
    /// A bearer token; better in the environment variable TRADEPOST_TOKEN.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Another caller's bearer token, to see whether callers are kept apart; better in
    /// TRADEPOST_TOKEN_B.
    #[arg(long, value_name = "TOKEN")]
    token_b: Option<String>,
    /// Failures that are known and accepted, each with its reason (TOML).
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
    /// Requests in a second at most; 0 is as many as can be.
    #[arg(long, value_name = "N", default_value_t = 10)]
    rate: u32,
    /// Requests in all at most.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    budget: u32,
    /// How many seconds an answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code; that a MUST is broken.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let waivers = arguments.waivers.as_deref().map(waivers::read).transpose()?.unwrap_or_default();
    let variable = |name: &str| {
        let mut variables = context.environment.iter();
        let found = variables.find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.clone())
    };
    let options = Options {
        profile: match arguments.profile {
            Wanted::Auto => None,
            Wanted::A2a => Some(Profile::A2a),
            Wanted::Aap => Some(Profile::Aap),
            Wanted::Adcp => Some(Profile::Adcp),
        },
        token: arguments.token.clone().or_else(|| variable(TOKEN_VARIABLE)),
        token_b: arguments.token_b.clone().or_else(|| variable(TOKEN_B_VARIABLE)),
        allow_leads: arguments.allow_leads,
        allow_messages: !arguments.no_messages,
        allow_writes: arguments.allow_writes,
        rate: arguments.rate,
        budget: arguments.budget,
        now: Clock::system().now(),
        run_id: uuid::Uuid::now_v7().simple().to_string(),
        waivers,
    };
    let waived: Vec<_> = options.waivers.iter().map(|waiver| waiver.check.clone()).collect();
    let bar = bar();
    let mut progress = |progress: &Progress<'_>| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.finding.check.id);
    };
    let transport = transport(arguments.timeout);
    let report = block_on(probe::probe(transport, &arguments.url, options, &mut progress))?;
    bar.finish_and_clear();
    for check in waived {
        let used = report.findings.iter().any(|it| it.check.id == check && it.waived.is_some());
        if !used {
            context.output.talk(format!("the waiver of {check} is not needed"));
        }
    }
    write(&report, &arguments, context.output)?;
    if report.breaks_a_must() {
        return Err(Failure::told(NO_ANSWER, "a MUST is broken"));
    }
    Ok(())
}

fn write(report: &Report, arguments: &Arguments, output: Output) -> Outcome {
    let usual = if output.is_json() { Format::Json } else { Format::Text };
    let format = arguments.format.unwrap_or(usual);
    let document = match format {
        Format::Text => text::summary(report),
        Format::Json => {
            let json = serde_json::to_string_pretty(report);
            json.map_err(|error| Failure::fault(&error))?
        }
        Format::Junit => junit::write(report),
        Format::Html => html::write(report),
    };
    match &arguments.out {
        Some(path) => {
            std::fs::write(path, document.as_bytes()).map_err(|error| {
                Failure::new(1, format!("cannot write {}: {error}", path.display()))
            })?;
            output.talk(format!("grade {}; see {}", report.grade.letter(), path.display()));
        }
        None if format == Format::Json => output.json_text(&document),
        None => output.line(document.trim_end()),
    }
    Ok(())
}

/// The progress, where somebody looks at it.
fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg:32!}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
