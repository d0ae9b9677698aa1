//! Command line: the table of commands, and the exit codes.
//!
//! Standard output is data, standard error is messages. Each command is a module with an
//! `Arguments` type and a `run` function; shared code is in [`output`].

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

pub mod adcp;
pub mod appointments;
mod attempts;
pub mod audit;
pub mod backup;
pub mod call;
pub mod card;
pub mod check_config;
pub mod console;
pub mod context;
pub mod dealer;
pub mod dealers;
mod deliveries;
pub mod discover;
pub mod doctor;
pub mod explain;
pub mod feeds;
pub mod import;
pub mod init;
pub mod keys;
pub mod leads;
pub mod manual;
pub mod mcp;
pub mod migrate;
pub mod migrate_store;
mod nearest;
pub mod network;
mod operator;
pub mod output;
pub mod privacy;
pub mod probe;
pub mod publisher;
pub mod push;
pub mod receive;
pub mod refusals;
pub mod report_file;
pub mod restore;
pub mod sandbox;
pub mod serve;
pub mod store_location;
mod token;
pub mod week;

pub use context::{Context, Outcome};
use output::{CommandFailure, Output};

/// Sell to AI agents, and buy from sellers that do.
#[derive(Debug, Parser)]
#[command(name = "tradepost", version)]
struct CommandLine {
    /// Write JSON for programs instead of tables for people.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server for one or more dealers and publishers.
    Serve(serve::Arguments),
    /// Write a configuration file that explains every key.
    Init(init::Arguments),
    /// Check a configuration file and report every mistake in it.
    CheckConfig(check_config::Arguments),
    /// Check the configuration against the running environment.
    Doctor(doctor::Arguments),
    /// Add, list, change, suspend and remove dealers while the server runs.
    #[command(subcommand)]
    Dealer(dealer::Command),
    /// Replace a dealer's inventory with a feed.
    Import(import::Arguments),
    /// List, show and run the configured feeds, which import inventories automatically.
    #[command(subcommand)]
    Feeds(feeds::Command),
    /// List, show and export the received leads.
    #[command(subcommand)]
    Leads(leads::Command),
    /// List, confirm, move and cancel appointments, and block times.
    #[command(subcommand)]
    Appointments(Box<appointments::Command>),
    /// Manage the users of the console, and read its audit log.
    #[command(subcommand)]
    Console(console::Command),
    /// List, verify and export the audit log of who read, changed and erased which data.
    #[command(subcommand)]
    Audit(audit::Command),
    /// Show a week of a dealer: leads by agent, times to the first answer, appointments, refusals,
    /// and searches that found nothing.
    Week(week::Arguments),
    /// List refused requests, and look up the error id that a buyer received.
    #[command(subcommand)]
    Refusals(refusals::Command),
    /// Encrypt personal data, and export or erase the data of a customer.
    #[command(subcommand)]
    Privacy(privacy::Command),
    /// Create, list and revoke the API keys that identify callers.
    #[command(subcommand)]
    Keys(keys::Command),
    /// List a publisher's media buys, and decide on accounts, creatives and media buys that wait
    /// for approval.
    #[command(subcommand)]
    Publisher(publisher::Command),
    /// Update a data folder or a database of an older version.
    Migrate(migrate::Arguments),
    /// Move the data of a data folder to a PostgreSQL database.
    MigrateStore(migrate_store::Arguments),
    /// Write the data of a data folder to one backup file, also while a server uses the folder.
    Backup(backup::Arguments),
    /// Restore a backup to a data folder, and verify the result.
    Restore(restore::Arguments),
    /// List failed webhooks and retry them.
    #[command(subcommand)]
    Push(push::Command),
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
    /// Run a scripted seller that grades the buyers that call it.
    Sandbox(sandbox::Arguments),
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

/// Runs the command that the arguments name.
#[must_use]
pub fn run(
    arguments: impl Iterator<Item = OsString>,
    environment: Vec<(String, String)>,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    // Looked for before parsing: a program gets JSON even for a command line that cannot be parsed.
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let command_line = match CommandLine::try_parse_from(arguments) {
        Ok(command_line) => command_line,
        Err(error) if wants_json && error.use_stderr() => {
            return Output::new(true).fail(&misread(&error));
        }
        Err(error) => {
            // clap prints help and version to stdout with 0, mistakes to stderr with 2.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let context = Context { environment, output: Output::new(command_line.json) };
    let outcome = match command_line.command {
        Command::Serve(arguments) => serve::run(arguments, &context),
        Command::Init(arguments) => init::run(arguments, &context),
        Command::CheckConfig(arguments) => check_config::run(arguments, &context),
        Command::Doctor(arguments) => doctor::run(&arguments, &context),
        Command::Dealer(command) => dealer::run(command, &context),
        Command::Import(arguments) => import::run(arguments, &context),
        Command::Feeds(command) => feeds::run(command, &context),
        Command::Leads(command) => leads::run(command, &context),
        Command::Appointments(command) => appointments::run(*command, &context),
        Command::Console(command) => console::run(command, &context),
        Command::Audit(command) => audit::run(command, &context),
        Command::Week(arguments) => week::run(&arguments, &context),
        Command::Refusals(command) => refusals::run(command, &context),
        Command::Privacy(command) => privacy::run(command, &context),
        Command::Keys(command) => keys::run(command, &context),
        Command::Publisher(command) => publisher::run(command, &context),
        Command::Migrate(arguments) => migrate::run(&arguments, &context),
        Command::MigrateStore(arguments) => migrate_store::run(&arguments, &context),
        Command::Backup(arguments) => backup::run(&arguments, &context),
        Command::Restore(arguments) => restore::run(&arguments, &context),
        Command::Push(command) => push::run(command, &context),
        Command::Discover(arguments) => discover::run(arguments, &context),
        Command::Call(arguments) => call::run(*arguments, &context),
        Command::Adcp(command) => adcp::run(command, &context),
        Command::Mcp(arguments) => mcp::run(arguments, &context),
        Command::Probe(arguments) => probe::run(*arguments, &context),
        Command::Receive(arguments) => receive::run(*arguments, &context),
        Command::Sandbox(arguments) => sandbox::run(arguments, &context),
        Command::Card(command) => card::run(command, &context),
        Command::Explain(arguments) => explain::run(arguments, &context),
        Command::Completions(arguments) => {
            manual::completions(&arguments, CommandLine::command(), context.output)
        }
        Command::Man(arguments) => manual::man(&arguments, CommandLine::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => context.output.fail(&failure),
    }
}

/// Converts a mistake on the command line to a failure for programs.
fn misread(error: &clap::Error) -> CommandFailure {
    // The first paragraph is the message; usage follows.
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let message = first.split_whitespace().collect::<Vec<_>>().join(" ");
    CommandFailure::usage(message).hint("run tradepost --help, or --help after a command")
}
