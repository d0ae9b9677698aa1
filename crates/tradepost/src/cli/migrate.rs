//! `tradepost migrate`: bring a data folder up to date while no server runs on it.

use std::path::PathBuf;

use tradepost_wire::json::json;

use super::serve::lock::{lock, migrated};
use super::{Context, Outcome, dealers};

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The folder that holds all state.
    #[arg(long, value_name = "DIR", default_value = dealers::DATA)]
    data: PathBuf,
}

/// Runs it.
///
/// # Errors
/// When the folder cannot be used, or a server uses it.
pub fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let _lock = lock(&arguments.data)?;
    migrated(&arguments.data)?;
    if context.output.is_json() {
        context.output.document(&json!({"data": arguments.data, "up_to_date": true}));
    } else {
        context.output.line(format!("{} is up to date", arguments.data.display()));
    }
    Ok(())
}
