//! `tradepost refusals`: lists refused requests, and shows one by its error id.

use clap::Subcommand;
use jiff::tz::TimeZone;
use tradepost_dealer::local_time::short;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;
use tradepost_store::refusals::RefusalRecord;

use super::output::CommandFailure;
use super::output::table::TableColumn::Text;
use super::output::table::{self, Cells, TableWidth};
use super::store_location::StoreOptions;
use super::{Context, Outcome};

/// Subcommands of `tradepost refusals`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List refused requests, newest first.
    List {
        /// Only refusals of this dealer or publisher.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Only refusals with this error code.
        #[arg(long)]
        code: Option<String>,
        /// Maximum number of refusals.
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: u32,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Show the refusal with the error id that a caller received, and the fields of the request
    /// that were wrong.
    Show {
        /// Error id, which begins with err_.
        error_id: String,
        #[command(flatten)]
        place: StoreOptions,
    },
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be read, or the id is unknown.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::List { agent, code, limit, place } => {
            let store = place.open(None, context)?;
            list(&store.refusals(agent.as_deref(), code.as_deref(), limit)?, context);
        }
        Command::Show { error_id, place } => {
            // Ids are copied from answers and letters, often with a space at an end.
            let found = place.open(None, context)?.refusal(error_id.trim())?;
            let refusal = found.ok_or_else(|| {
                CommandFailure::usage("no refusal with this id is stored").hint(
                    "refusals are stored for 30 days; in a flood of refusals, not all are stored",
                )
            })?;
            show(&refusal, context);
        }
    }
    Ok(())
}

fn list(found: &[RefusalRecord], context: &Context) {
    let now = Clock::system().now();
    let columns: [Cells<'_, RefusalRecord>; 6] = [
        (Text("WHEN"), &|one| short(one.at, &TimeZone::UTC, now)),
        (Text("AGENT"), &|one| one.agent_id.clone()),
        (Text("CODE"), &|one| one.code.clone()),
        (Text("OPERATION"), &|one| one.operation.clone().unwrap_or_default()),
        (Text("CALLER"), &|one| one.caller.clone()),
        (Text("ERROR ID"), &|one| one.error_id.clone()),
    ];
    let nothing = "no refusals in the last 30 days";
    context.output.list(found, document, nothing, &columns);
}

fn show(refusal: &RefusalRecord, context: &Context) {
    if context.output.is_json() {
        context.output.document(&document(refusal));
        return;
    }
    let mut pairs = vec![
        ("error id", refusal.error_id.clone()),
        ("at", rfc3339(refusal.at)),
        ("agent", refusal.agent_id.clone()),
        ("code", refusal.code.clone()),
        ("operation", refusal.operation.clone().unwrap_or_else(|| "not known".to_owned())),
        ("caller", refusal.caller.clone()),
    ];
    let misfits = refusal.misfits.iter();
    pairs.extend(misfits.map(|(pointer, keyword)| ("wrong", format!("{pointer} {keyword}"))));
    context.output.line(table::pairs(TableWidth::Terminal, &pairs));
    context.output.talk(format!("`tradepost explain {}` explains the code", refusal.code));
}

/// Returns a refusal as JSON.
fn document(refusal: &RefusalRecord) -> Value {
    let field_error =
        |(pointer, keyword): &(String, String)| json!({"pointer": pointer, "keyword": keyword});
    json!({
        "error_id": refusal.error_id,
        "agent": refusal.agent_id,
        "at": rfc3339(refusal.at),
        "code": refusal.code,
        "operation": refusal.operation,
        "caller": refusal.caller,
        "problems": refusal.misfits.iter().map(field_error).collect::<Vec<_>>(),
    })
}
