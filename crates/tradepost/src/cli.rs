//! Command line: the table of commands, and the exit codes.
//!
//! Standard output is data, standard error is messages. Each command is a module with an
//! `Arguments` type and a `run` function; those of buyers, and what all commands share, are in
//! [`tradepost_commands`].

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

pub mod appointments;
pub mod audit;
pub mod backup;
pub mod check_config;
pub mod console;
pub mod dealer;
pub mod dealers;
mod deliveries;
pub mod doctor;
pub mod feeds;
pub mod import;
pub mod init;
pub mod keys;
pub mod leads;
pub mod migrate;
pub mod migrate_store;
mod operator;
mod own_codes;
pub mod privacy;
pub mod publisher;
pub mod push;
pub mod refusals;
pub mod restore;
pub mod sandbox;
pub mod serve;
pub mod store_location;
pub mod week;

use output::Output;
use tradepost_commands::program::{self, BuyerCommand, Program};
pub use tradepost_commands::{Context, Outcome};
use tradepost_commands::{
    context, data_folder, discover, listening, nearest, output, report_file, token, toml_file,
};

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
    /// Run a scripted seller that grades the buyers that call it.
    Sandbox(sandbox::Arguments),
    #[command(flatten)]
    Buyer(BuyerCommand),
}

/// Runs the command that the arguments name.
#[must_use]
pub fn run(
    arguments: impl Iterator<Item = OsString>,
    environment: Vec<(String, String)>,
) -> ExitCode {
    let command_line: CommandLine = match program::parse(arguments.collect(), &[]) {
        Ok(command_line) => command_line,
        Err(exit) => return exit,
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
        Command::Sandbox(arguments) => sandbox::run(arguments, &context),
        Command::Buyer(command) => {
            let program = Program { command: CommandLine::command(), codes: own_codes::entries() };
            command.run(program, &context)
        }
    };
    program::exit(outcome, context.output)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Subcommand as _;
    use tradepost_commands::manual::{Man, man};
    use tradepost_commands::program::FULL_ONLY;

    use super::*;

    #[test]
    fn the_buyers_program_names_every_command_that_it_lacks() {
        let names = |command: &clap::Command| -> BTreeSet<String> {
            command.get_subcommands().map(|command| command.get_name().to_owned()).collect()
        };
        let buyer = names(&BuyerCommand::augment_subcommands(clap::Command::new("tradepost")));
        let lacking: BTreeSet<_> = FULL_ONLY.iter().map(|name| (*name).to_owned()).collect();
        let full = names(&CommandLine::command());
        assert_eq!(full.difference(&buyer).cloned().collect::<BTreeSet<_>>(), lacking);
        assert!(buyer.is_subset(&full), "{buyer:?}");
    }

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let folder = tempfile::tempdir().unwrap();
        man(&Man::into_folder(folder.path()), CommandLine::command()).unwrap();
        for command in CommandLine::command().get_subcommands() {
            let name = command.get_name();
            let page = folder.path().join(format!("tradepost-{name}.1"));
            let page = std::fs::read_to_string(page).unwrap();
            assert!(page.contains(r"\-\-json"), "{name}");
        }
    }
}
