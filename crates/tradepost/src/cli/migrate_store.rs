//! `tradepost migrate-store`: moves the data of a folder to a database.

use std::path::PathBuf;

use tradepost_document::json::{Value, json};
use tradepost_store::{DatabaseUrl, MovedRows, NotMoved, Store};

use super::output::CommandFailure;
use super::serve::lock::lock;
use super::store_location::{self, StoreOptions};
use super::{Context, Outcome, data_folder};

/// Arguments of `tradepost migrate-store`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Data folder of `serve`. The command does not change its data.
    #[arg(long, value_name = "DIR", default_value = data_folder::DATA)]
    data: PathBuf,
    /// Target PostgreSQL database: an empty one, or the target of an interrupted move. Other users
    /// of the machine can read a password in this option, but not in the environment variable
    /// TRADEPOST_SERVER__DATABASE.
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Configuration file whose server.database names the target, if neither --to nor the
    /// environment variable does [default: tradepost.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Fails when a server uses the folder, the database has other data, or one of them cannot be used.
pub fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let place = StoreOptions::folder(&arguments.data).with_config(arguments.config.clone());
    let output = context.output;
    let config = place.load_config_if_there(context)?;
    let named: Option<Result<DatabaseUrl, _>> = arguments.to.as_ref().map(|to| to.parse());
    let named = named.transpose().map_err(|why| CommandFailure::usage(format!("--to {why}")))?;
    let to = match named {
        Some(to) => Some(to),
        None => place.database(config.as_ref(), context)?,
    };
    let to = to.ok_or_else(|| {
        CommandFailure::usage("no target database is named").hint(format!(
            "name the database with --to, in {}, or as server.database of the configuration",
            store_location::VARIABLE
        ))
    })?;
    place.check_folder()?;
    // No server may write to it meanwhile.
    let _lock = lock(&place)?;
    let source = Store::attach(&place.data).map_err(|fault| place.unusable(&fault))?;
    let target = place.migrate(Some(&to))?;
    let on_progress =
        |MovedRows { table, done, of }: &MovedRows| output.talk(format!("{table}: {done} of {of}"));
    let moved = source.move_to(&target, on_progress).map_err(|why| refused(&to, &why))?;
    let rows: u64 = moved.iter().map(|table| table.of).sum();
    let row = |table: &MovedRows| json!({"table": table.table, "rows": table.of});
    let tables: Vec<Value> = moved.iter().map(row).collect();
    let document = json!({"to": to.to_string(), "rows": rows, "tables": tables});
    output.answer(&document, format!("{rows} rows are in {to}, the same as in the folder"));
    Ok(())
}

fn refused(to: &DatabaseUrl, why: &NotMoved) -> CommandFailure {
    let (exit, code, hint) = match why {
        NotMoved::Used(_) => (2, "database_used", "nothing was changed; name an empty database"),
        NotMoved::Other => (
            2,
            "other_source",
            "nothing was changed; name an empty database, or the unchanged folder of the earlier move",
        ),
        NotMoved::Served => (
            1,
            "database_served",
            "nothing was changed; stop the server, wait for half a minute and try again, or name \
             another database",
        ),
        NotMoved::Differs(_) => {
            (1, "differs", "another program has written to it; start with an empty one")
        }
        NotMoved::Broken(_) => (
            1,
            "failed",
            "run the command again to continue; rows that were moved are not moved twice",
        ),
    };
    let failure = CommandFailure::new(exit, format!("cannot move to {to}: {why}")).hint(hint);
    failure.data(json!({"code": code}))
}
