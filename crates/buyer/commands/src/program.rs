//! Table of the buyer's commands, and what both programs do with a command line.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use super::explain::ExplainedCode;
use super::output::{CommandFailure, Output};
use super::{Context, Outcome};
use super::{adcp, call, card, discover, explain, manual, mcp, probe, receive};

/// Commands that both programs have.
#[derive(Debug, Subcommand)]
pub enum BuyerCommand {
    /// Read a seller's agent card.
    Discover(discover::Arguments),
    /// Call a skill of a dealer, or send a message to an agent of any kind.
    Call(Box<call::Arguments>),
    /// List the tasks that an AdCP seller offers, and call them.
    #[command(subcommand)]
    Adcp(adcp::Command),
    /// Run an MCP server, through which a language model searches and contacts dealers.
    Mcp(mcp::Arguments),
    /// Check an agent for A2A, AAP and AdCP conformance, and grade it.
    Probe(Box<probe::Arguments>),
    /// Receive push deliveries of sellers, store each once, and pass them on.
    Receive(Box<receive::Arguments>),
    /// Sign or verify an agent card, or create a key for it.
    #[command(subcommand)]
    Card(card::Command),
    /// Explain an error code.
    Explain(explain::Arguments),
    /// Write the completion script of a shell to standard output, for installation in the shell's
    /// folder.
    Completions(manual::Completions),
    /// Write the manual pages to a folder.
    Man(manual::Man),
}

/// Facts about the program that runs a command.
#[derive(Debug)]
pub struct Program {
    /// Its command line, for manual pages and completions.
    pub command: clap::Command,
    /// Codes of its own, beside those of [`explain::codes`].
    pub codes: Vec<ExplainedCode>,
}

impl BuyerCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the failure with its exit code.
    pub fn run(self, program: Program, context: &Context) -> Outcome {
        match self {
            Self::Discover(arguments) => discover::run(arguments, context),
            Self::Call(arguments) => call::run(*arguments, context),
            Self::Adcp(command) => adcp::run(command, context),
            Self::Mcp(arguments) => mcp::run(arguments, context),
            Self::Probe(arguments) => probe::run(*arguments, context),
            Self::Receive(arguments) => receive::run(*arguments, context),
            Self::Card(command) => card::run(command, context),
            Self::Explain(arguments) => explain::run(arguments, program.codes, context),
            Self::Completions(arguments) => {
                manual::completions(&arguments, program.command, context.output)
            }
            Self::Man(arguments) => manual::man(&arguments, program.command),
        }
    }
}

/// Commands that only the full program has, by their names.
pub const FULL_ONLY: &[&str] = &[
    "serve",
    "init",
    "check-config",
    "doctor",
    "dealer",
    "import",
    "feeds",
    "leads",
    "appointments",
    "console",
    "audit",
    "week",
    "refusals",
    "privacy",
    "keys",
    "publisher",
    "migrate",
    "migrate-store",
    "backup",
    "restore",
    "push",
    "sandbox",
];

/// Find and call sellers that AI agents can buy from, and check them.
#[derive(Debug, Parser)]
#[command(
    name = "tradepost",
    version,
    after_help = "This is the buyer's program. The full tradepost also has: serve, sandbox, import, leads and more."
)]
pub struct BuyerCommandLine {
    /// Write JSON for programs instead of tables for people.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: BuyerCommand,
}

/// Runs the buyer's program: the command that the arguments name.
#[must_use]
pub fn run(
    arguments: impl Iterator<Item = OsString>,
    environment: Vec<(String, String)>,
) -> ExitCode {
    let command_line: BuyerCommandLine = match parse(arguments.collect(), FULL_ONLY) {
        Ok(command_line) => command_line,
        Err(exit) => return exit,
    };
    let context = Context { environment, output: Output::new(command_line.json) };
    let program = Program {
        command: <BuyerCommandLine as clap::CommandFactory>::command(),
        codes: Vec::new(),
    };
    exit(command_line.command.run(program, &context), context.output)
}

/// Reads a command line. `elsewhere` has the commands of which people are told that the full program
/// has them.
///
/// # Errors
/// Returns the exit code when there is nothing to run: help and the version were asked for and
/// shown, or a mistake was reported.
pub fn parse<P: Parser>(arguments: Vec<OsString>, elsewhere: &[&str]) -> Result<P, ExitCode> {
    // Looked for before parsing: a program gets JSON even for a command line that cannot be parsed.
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let is_command = |argument: &&OsString| !argument.to_string_lossy().starts_with('-');
    let first = arguments.iter().skip(1).find(is_command).cloned();
    P::try_parse_from(arguments).map_err(|error| {
        if let Some(command) = first.and_then(|first| missing_command(&error, &first, elsewhere)) {
            return Output::new(wants_json).fail(&only_in_full(command));
        }
        if wants_json && error.use_stderr() {
            return Output::new(true).fail(&usage_failure(&error));
        }
        // clap prints help and version to stdout with 0, mistakes to stderr with 2.
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Returns the exit code of a command, and reports its failure.
#[must_use]
pub fn exit(outcome: Outcome, output: Output) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.fail(&failure),
    }
}

/// Returns the command that this program lacks, if that is the mistake. `first` is the first argument
/// that is no option: `card serve` is another mistake.
fn missing_command<'e>(
    error: &clap::Error,
    first: &OsStr,
    elsewhere: &[&'e str],
) -> Option<&'e str> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    elsewhere.iter().copied().find(|name| first == *name)
}

fn only_in_full(command: &str) -> CommandFailure {
    CommandFailure::usage(format!("this program is for buyers and has no command {command}"))
        .hint("install the full tradepost: its archive, Debian package or container image has it")
        .data(tradepost_document::json::json!({"code": "full_program_only", "command": command}))
}

/// Converts a mistake on the command line to a failure for programs.
fn usage_failure(error: &clap::Error) -> CommandFailure {
    // The first paragraph is the message; usage follows.
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let message = first.split_whitespace().collect::<Vec<_>>().join(" ");
    CommandFailure::usage(message).hint("run tradepost --help, or --help after a command")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_command_of(arguments: &[&str]) -> Option<&'static str> {
        let words = ["tradepost"].iter().chain(arguments);
        let error = BuyerCommandLine::try_parse_from(words).unwrap_err();
        let first = arguments.iter().find(|argument| !argument.starts_with('-')).unwrap();
        missing_command(&error, OsStr::new(first), FULL_ONLY)
    }

    #[test]
    fn only_commands_of_the_full_program_are_named_as_missing() {
        for name in FULL_ONLY {
            assert_eq!(missing_command_of(&[name, "--demo"]), Some(*name));
            assert_eq!(missing_command_of(&["--json", name]), Some(*name));
        }
        for arguments in [&["discvoer"][..], &["discover", "--serve"], &["mcp"], &["card", "serve"]]
        {
            assert_eq!(missing_command_of(arguments), None, "{arguments:?}");
        }
        let failure = only_in_full("serve");
        assert_eq!(failure.exit, 2);
        assert!(failure.message.ends_with("has no command serve"), "{failure:?}");
        assert!(failure.hint.is_some_and(|hint| hint.contains("full tradepost")));
    }
}
