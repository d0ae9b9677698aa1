//! `tradepost migrate`: migrates the store while no server runs on it.

use tradepost_document::json::json;

use super::serve::lock::lock;
use super::store_location::StoreOptions;
use super::{Context, Outcome};

/// Arguments of `tradepost migrate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: StoreOptions,
}

/// Runs the command.
///
/// # Errors
/// Fails when the folder or the database cannot be used, or a server uses the folder.
pub fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let place = &arguments.place;
    let database = place.database(None, context)?;
    // Only a folder has a lock file: servers share a database.
    let _lock = database.is_none().then(|| lock(place)).transpose()?;
    place.migrate(database.as_ref())?;
    let named = database.map_or_else(|| place.data.display().to_string(), |url| url.to_string());
    let document = json!({"data": named, "up_to_date": true});
    context.output.answer(&document, format!("{named} is up to date"));
    Ok(())
}
