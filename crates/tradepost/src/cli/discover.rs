//! `tradepost discover`: read a seller's agent card.

use super::{Context, Outcome};

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code.
pub fn run(_arguments: Arguments, _context: &Context) -> Outcome {
    Ok(())
}
