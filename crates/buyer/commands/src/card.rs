//! `tradepost card`: signs an agent card, verifies one, and generates the key for it.

use std::io::Read as _;
use std::path::Path;

use clap::Subcommand;
use tradepost_client::trust::describe;
use tradepost_document::json::json;
use tradepost_document::problem::Problems;

use super::output::{CommandFailure, unreadable};
use super::{Context, Outcome};

pub mod keygen;
pub mod sign;
pub mod trust;
pub mod verify;

/// Maximum size of a file in bytes, the same as for a fetched card.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// Subcommands of `tradepost card`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sign a card, and print it with its signatures.
    Sign(sign::Arguments),
    /// Verify the signatures of a card.
    Verify(verify::Arguments),
    /// Create a key pair: write the private key to a file, and print the public key.
    Keygen(keygen::Arguments),
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Sign(arguments) => sign::run(&arguments, context),
        Command::Verify(arguments) => verify::run(&arguments, context),
        Command::Keygen(arguments) => keygen::run(&arguments, context),
    }
}

/// Reads a text file.
fn read(path: &Path) -> Result<String, CommandFailure> {
    let mut text = String::new();
    let file = std::fs::File::open(path);
    file.and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text))
        .map_err(unreadable(path))?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_FILE) {
        let name = path.display();
        return Err(CommandFailure::usage(format!("{name} is larger than {MAX_FILE} bytes")));
    }
    Ok(text)
}

/// Adds every problem of a document.
fn with_problems(failure: CommandFailure, problems: &Problems) -> CommandFailure {
    let data = json!({"problems": problems.listed(), "total": problems.total()});
    failure.lines(describe(problems)).data(data)
}
