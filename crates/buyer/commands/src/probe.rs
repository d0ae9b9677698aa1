//! `tradepost probe`: checks an agent for A2A, AAP and AdCP conformance.

use std::path::PathBuf;
use std::time::Duration;

use progress::Bar;
use tradepost_probe::check::CheckProfile;
use tradepost_probe::grade::Grade;
use tradepost_probe::report::AgentReport;
use tradepost_probe::{
    MAX_TEXT, ProbeOptions, RunProgress, badge, github, html, junit, markdown, probe_until,
    rehearse, sarif,
};
use tradepost_server::clock::Clock;

use super::discover::block_on;
use super::listening::stop_signal;
use super::network::NetworkArguments;
use super::output::seller::NO_ANSWER;
use super::output::{CommandFailure, INTERRUPTED, Output, UNGRADED};
use super::report_file::{ReportFile, save};
use super::token::TokenArguments;
use super::{Context, Outcome};

mod progress;
mod text;
mod waivers;

/// Environment variable with a contact address of the person who probes.
const CONTACT_VARIABLE: &str = "TRADEPOST_PROBE_CONTACT";

/// Environment variable with another caller's bearer token.
const TOKEN_B_VARIABLE: &str = "TRADEPOST_TOKEN_B";

/// Specifications to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WantedProfiles {
    /// Those that the card names; AdCP if there is no card and an MCP server answers.
    Auto,
    /// A2A only.
    A2a,
    /// AAP only.
    Aap,
    /// AdCP only, over MCP at the URL, and over A2A if the card names it.
    Adcp,
}

/// Format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// For people, in a terminal.
    Text,
    /// For programs.
    Json,
    /// For continuous integration.
    Junit,
    /// For people, in a browser: one file that needs nothing else.
    Html,
    /// For people, as the summary of a job or as a comment.
    Markdown,
    /// Annotations of GitHub Actions: an error for each MUST, a warning for each SHOULD.
    Github,
    /// For code scanning: SARIF 2.1.0 with a result for each failure.
    Sarif,
    /// Badge with the grade, as an SVG.
    Badge,
    /// Badge with the grade, as the JSON of a shields.io endpoint.
    BadgeJson,
}

/// Worst grade that is good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum WorstGrade {
    /// Nothing failed.
    A,
    /// No MUST failed.
    B,
    /// A few MUSTs failed.
    C,
    /// Several MUSTs failed.
    D,
    /// Many MUSTs failed.
    E,
    /// Any grade.
    F,
}

impl From<WorstGrade> for Grade {
    fn from(worst: WorstGrade) -> Self {
        match worst {
            WorstGrade::A => Self::A,
            WorstGrade::B => Self::B,
            WorstGrade::C => Self::C,
            WorstGrade::D => Self::D,
            WorstGrade::E => Self::E,
            WorstGrade::F => Self::F,
        }
    }
}

/// Arguments of `tradepost probe`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// URL of the agent: its base URL, its agent card or its MCP endpoint.
    url: String,
    /// Specifications to check.
    #[arg(long, value_name = "PROFILE", default_value = "auto")]
    profile: WantedProfiles,
    /// Format of the report; --json is the same as --format json.
    #[arg(long, value_name = "FORMAT")]
    format: Option<ReportFormat>,
    /// Write the report to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write an additional report, such as junit=probe.xml. Repeatable.
    #[arg(long, value_name = "FORMAT=FILE")]
    also: Vec<ReportFile<ReportFormat>>,
    /// Write a badge with the grade to this file, as an SVG; the same as --also badge=FILE.
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Path, in the repository, of the file to which code scanning attaches the results of
    /// --format sarif. The default is the address of the agent.
    #[arg(long, value_name = "PATH")]
    sarif_file: Option<String>,
    /// Worst grade with which the command succeeds. By default every grade without a failed MUST is
    /// good enough.
    #[arg(long, value_name = "GRADE", ignore_case = true, default_value = "B")]
    worst_grade: WorstGrade,
    /// Read the card, send nothing else, and list the requests that would be sent.
    #[arg(long, conflicts_with_all = ["out", "also", "badge", "sarif_file", "worst_grade"])]
    dry_run: bool,
    /// Also send leads, including valid ones, marked as tests. The dealer stores them.
    #[arg(long)]
    allow_leads: bool,
    /// Ask an AdCP seller to set up an account in its sandbox, to check how it handles repeated
    /// requests.
    #[arg(long)]
    allow_writes: bool,
    /// Skip checks that send a message to a generic agent, which might act on it.
    #[arg(long)]
    no_messages: bool,
    /// Message to a generic agent. The default is a fixed sentence and, if that is refused, the
    /// examples of its card.
    #[arg(long, value_name = "TEXT", value_parser = sentence, conflicts_with = "no_messages")]
    text: Option<String>,
    #[command(flatten)]
    token: TokenArguments,
    /// Bearer token of another caller, to check that callers are kept apart; better in the
    /// environment variable TRADEPOST_TOKEN_B.
    #[arg(long, value_name = "TOKEN")]
    token_b: Option<String>,
    /// File (TOML) of known and accepted failures, each with its reason.
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
    /// Maximum number of requests per second; 0 is unlimited.
    #[arg(long, value_name = "N", default_value_t = 10)]
    rate: u32,
    /// Maximum number of requests in total.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    budget: u32,
    /// Time limit of the run in seconds. At the limit the results so far are reported, and the
    /// remaining checks as skipped.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    deadline: Option<u64>,
    /// Your contact, a URL or an e-mail address, for the User-Agent of every request; also in the
    /// environment variable TRADEPOST_PROBE_CONTACT.
    #[arg(long, value_name = "ADDRESS", value_parser = contact)]
    contact: Option<String>,
    /// Timeout of an answer in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Reads an address for the comment of `User-Agent`, which it must not end.
fn contact(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'(' | b')' | b'\\' | b';');
    let is_address =
        text.starts_with("https://") || text.starts_with("http://") || text.contains('@');
    if !text.is_empty() && text.len() <= 200 && text.bytes().all(fits) && is_address {
        Ok(text.to_owned())
    } else {
        Err("give a URL or an e-mail address, without spaces and parentheses".to_owned())
    }
}

/// Reads a message to an agent: not blank, and short enough for reports to show completely.
fn sentence(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > MAX_TEXT {
        return Err(format!("give a sentence of at most {MAX_TEXT} bytes"));
    }
    Ok(text.to_owned())
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code; also when a MUST is broken, too few checks were
/// possible, or a signal ended the run.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let options = options(&arguments, context)?;
    let transport = arguments.network.transport(context, arguments.timeout)?;
    if arguments.dry_run {
        let is_json = match arguments.format {
            None => context.output.is_json(),
            Some(ReportFormat::Json) => true,
            Some(ReportFormat::Text) => false,
            Some(
                ReportFormat::Junit
                | ReportFormat::Html
                | ReportFormat::Markdown
                | ReportFormat::Github
                | ReportFormat::Sarif
                | ReportFormat::Badge
                | ReportFormat::BadgeJson,
            ) => {
                let failure = CommandFailure::usage("a dry run does not support this format");
                return Err(failure.hint("use --format text or json"));
            }
        };
        let rehearsal = block_on(rehearse(transport, &arguments.url, options))?;
        if is_json {
            context.output.document(&rehearsal);
        } else {
            context.output.line(text::rehearsal(&rehearsal).trim_end());
        }
        return Ok(());
    }
    let waived: Vec<_> = options.waivers.iter().map(|waiver| waiver.check.clone()).collect();
    let bar = Bar::new();
    let mut progress = |progress: &RunProgress<'_>| bar.show(progress);
    let mut is_stopped = false;
    let report = block_on(async {
        let stop = stop_signal()?;
        let stop = async {
            stop.await;
            is_stopped = true;
        };
        let probed = probe_until(transport, &arguments.url, options, &mut progress, stop).await;
        probed.map_err(CommandFailure::from)
    });
    bar.clear();
    let report = report?;
    for check in waived {
        // A run that was stopped may not have reached the check of a waiver.
        let used = report
            .findings
            .iter()
            .any(|finding| finding.check.id == check && finding.waived.is_some());
        if !used && report.stopped.is_none() {
            context.output.talk(format!("the waiver of {check} is not needed"));
        }
    }
    write(&report, &arguments, context.output)?;
    // The rest was skipped, so neither a grade nor its absence says anything about the agent.
    if is_stopped {
        Err(CommandFailure::already_shown(INTERRUPTED, "stopped by a signal"))
    } else if report.no_agent.is_some() {
        context.output.talk(format!("no grade: {}", report.meaning()));
        context.output.talk("hint: give the URL of the agent, of its card, or of an MCP endpoint");
        Err(CommandFailure::already_shown(NO_ANSWER, "there is no agent"))
    } else if let Some(grade) = report.grade {
        let worst = Grade::from(arguments.worst_grade);
        // Grades are in order, the best first.
        if grade <= worst {
            return Ok(());
        }
        let asked = worst.letter();
        context.output.talk(format!("{}, and --worst-grade is {asked}", report.verdict()));
        Err(CommandFailure::already_shown(NO_ANSWER, "the grade is not good enough"))
    } else if report.breaks_a_must() {
        Err(CommandFailure::already_shown(NO_ANSWER, "the agent violates a MUST"))
    } else {
        context.output.talk(format!("no grade: {}", report.meaning()));
        Err(CommandFailure::already_shown(UNGRADED, "too few checks were possible"))
    }
}

fn options(arguments: &Arguments, context: &Context) -> Result<ProbeOptions, CommandFailure> {
    let waivers = arguments.waivers.as_deref().map(waivers::read).transpose()?.unwrap_or_default();
    let variable = |name: &str| context.filled(name).map(str::to_owned);
    let run_id = uuid::Uuid::now_v7().simple().to_string();
    let mut options = ProbeOptions::new(Clock::system().now(), run_id);
    options.profile = match arguments.profile {
        WantedProfiles::Auto => None,
        WantedProfiles::A2a => Some(CheckProfile::A2a),
        WantedProfiles::Aap => Some(CheckProfile::Aap),
        WantedProfiles::Adcp => Some(CheckProfile::Adcp),
    };
    options.token = arguments.token.given(context);
    options.token_for = arguments.token.origins();
    options.token_b = arguments.token_b.clone().or_else(|| variable(TOKEN_B_VARIABLE));
    options.contact = match (&arguments.contact, variable(CONTACT_VARIABLE)) {
        (Some(given), _) => Some(given.clone()),
        (None, Some(text)) => {
            let mistake = |why| CommandFailure::usage(format!("{CONTACT_VARIABLE}: {why}"));
            Some(contact(&text).map_err(mistake)?)
        }
        (None, None) => None,
    };
    options.allow_leads = arguments.allow_leads;
    options.allow_messages = !arguments.no_messages;
    options.text.clone_from(&arguments.text);
    options.allow_writes = arguments.allow_writes;
    options.rate = arguments.rate;
    options.budget = arguments.budget;
    options.deadline = arguments.deadline.map(Duration::from_secs);
    options.waivers = waivers;
    Ok(options)
}

fn write(report: &AgentReport, arguments: &Arguments, output: Output) -> Outcome {
    let usual = if output.is_json() { ReportFormat::Json } else { ReportFormat::Text };
    let format = arguments.format.unwrap_or(usual);
    // First, so that nothing is on standard output yet when one of them cannot be written.
    let written = |format| written(report, format, arguments.sarif_file.as_deref());
    for also in &arguments.also {
        save(&also.path, &written(also.format)?)?;
    }
    if let Some(path) = &arguments.badge {
        save(path, &written(ReportFormat::Badge)?)?;
    }
    let document = written(format)?;
    match &arguments.out {
        Some(path) => {
            save(path, &document)?;
            output.talk(format!("{}; see {}", report.verdict(), path.display()));
        }
        None if format == ReportFormat::Json => output.json_text(&document),
        None => output.line(document.trim_end()),
    }
    Ok(())
}

fn written(
    report: &AgentReport,
    format: ReportFormat,
    sarif_file: Option<&str>,
) -> Result<String, CommandFailure> {
    Ok(match format {
        ReportFormat::Text => text::summary(report),
        ReportFormat::Json => {
            let json = tradepost_document::json::to_string_pretty(report);
            json.map_err(CommandFailure::fault)?
        }
        ReportFormat::Junit => junit::write(report),
        ReportFormat::Html => html::write(report),
        ReportFormat::Markdown => markdown::write(report),
        ReportFormat::Github => github::write(report),
        ReportFormat::Sarif => sarif::write(report, sarif_file),
        ReportFormat::Badge => badge::svg(report),
        ReportFormat::BadgeJson => badge::endpoint(report),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_an_address_that_fits_the_header() {
        for address in ["https://dealer.example/bots", "ops@dealer.example"] {
            assert_eq!(contact(address).as_deref(), Ok(address));
        }
        for text in ["", "dealer", "https://a.example/ x", "a@b)", "https://a.example/\u{e9}"] {
            assert!(contact(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_further_report_is_a_form_and_a_file() {
        let also: ReportFile<ReportFormat> = "junit=a=b.xml".parse().unwrap();
        assert_eq!((also.format, also.path), (ReportFormat::Junit, PathBuf::from("a=b.xml")));
        for text in ["junit", "junit=", "pdf=a"] {
            assert!(text.parse::<ReportFile<ReportFormat>>().is_err(), "{text}");
        }
    }
}
