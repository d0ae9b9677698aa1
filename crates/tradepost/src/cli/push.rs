//! `tradepost push`: lists failed webhooks and retries them. A running server applies changes
//! within a second.

use clap::Subcommand;
use jiff::Timestamp;
use tradepost_admin::webhooks::{RetryWebhooks, retry_webhooks};
use tradepost_document::json::{Value, json};
use tradepost_store::PushPosition;

use super::operator::{admin, failure, operator};
use super::output::CommandFailure;
use super::output::table::Cells;
use super::output::table::TableColumn::Text;
use super::store_location::StoreOptions;
use super::{Context, Outcome};

/// Subcommands of `tradepost push`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the webhooks that were given up, without their credentials.
    List {
        /// Also list webhooks that are still retried.
        #[arg(long)]
        failing: bool,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Retry webhooks that were given up, starting with the entry that they did not accept.
    Retry {
        /// Task id.
        #[arg(required_unless_present = "all")]
        task: Option<String>,
        /// Webhook id; the default is all webhooks of the task.
        webhook: Option<String>,
        /// Retry all webhooks that were given up.
        #[arg(long, conflicts_with_all = ["task", "webhook"])]
        all: bool,
        #[command(flatten)]
        place: StoreOptions,
    },
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be used, or there is no such webhook.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::List { failing, place } => {
            list(&place.open(None, context)?.push_troubled(failing)?, context);
            Ok(())
        }
        Command::Retry { task, webhook, all, place } => {
            let store = place.open(None, context)?;
            let input = RetryWebhooks { task_id: task, webhook_id: webhook };
            let count = retry_webhooks(&admin(&store, &[]), &operator(context), input);
            let count = count.map_err(|error| failure(error, |never| match never {}))?;
            retried(count, all, context)
        }
    }
}

fn list(places: &[PushPosition], context: &Context) {
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let columns: [Cells<'_, PushPosition>; 8] = [
        (Text("task"), &|place| place.task_id.clone()),
        (Text("webhook"), &|place| place.target.config_id.clone()),
        (Text("caller"), &|place| place.owner.clone()),
        (Text("host"), &|place| place.target.host.clone()),
        (Text("state"), &|place| state(place).to_owned()),
        (Text("failures"), &|place| place.failures.to_string()),
        (Text("last failure"), &|place| place.failure.clone().unwrap_or_default()),
        (Text("since or next"), &|place| moment(place.off_at.or(place.due_at))),
    ];
    context.output.list(places, document, "no webhooks to list", &columns);
}

fn retried(count: usize, all: bool, context: &Context) -> Outcome {
    if count == 0 && !all {
        return Err(CommandFailure::usage("there is no such webhook that was given up")
            .hint("`tradepost push list` lists them"));
    }
    let s = if count == 1 { "webhook is" } else { "webhooks are" };
    context.output.note(&json!({"retried": count}), format!("{count} {s} tried again"));
    Ok(())
}

/// Returns a webhook as JSON, without its address's path and query, which may contain a secret.
fn document(place: &PushPosition) -> Value {
    json!({
        "task": place.task_id,
        "webhook": place.target.config_id,
        "caller": place.owner,
        "host": place.target.host,
        "state": state(place),
        "failures": place.failures,
        "last_failure": place.failure,
        "given_up_at": place.off_at.map(|at| at.to_string()),
        "next_attempt_at": place.due_at.map(|at| at.to_string()),
        "delivered_seq": place.sent_seq,
        "last_seq": place.last_seq,
    })
}

fn state(place: &PushPosition) -> &'static str {
    if place.off_at.is_some() { "given up" } else { "failing" }
}
