//! `tradepost publisher inventory`: counted inventory by product and day, and the check and repair of
//! its books.

use std::path::PathBuf;

use clap::Subcommand;
use jiff::civil::Date;
use tradepost_admin::decisions::DecisionRefusal;
use tradepost_admin::inventory::{RepairInventory, repair_inventory};
use tradepost_document::format::is_date;
use tradepost_document::json::{Value, json};
use tradepost_publisher::inventory::audit::{self, BookDifference};
use tradepost_publisher::staff::StaffView;
use tradepost_publisher::staff::inventory::{self, InventoryFilter};
use tradepost_publisher::store::PublisherStore;
use tradepost_runtime::adcp::sales::{self, Format, INVENTORY_COLUMNS};
use tradepost_server::clock::Clock;

use super::PublisherOptions;
use super::decider::Decider;
use super::sales::{export_to, not_listed};
use crate::cli::operator::{admin, failure};
use crate::cli::output::table::{Cells, TableColumn};
use crate::cli::output::{AMISS, CommandFailure, explained};
use crate::cli::{Context, Outcome};

/// Columns of the table.
const COLUMNS: [&str; 9] =
    ["product", "pool", "unit", "date", "capacity", "booked", "held", "left", "delivered"];

/// Subcommands of `tradepost publisher inventory`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// List capacity and bookings by product and day.
    List {
        #[command(flatten)]
        choice: Choice,
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Export capacity and bookings by product and day for other programs.
    Export {
        #[command(flatten)]
        choice: Choice,
        /// Output format.
        #[arg(long, value_parser = explained::<Format>(), default_value = "csv")]
        format: Format,
        /// File to write, which must not exist; the default is standard output.
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Compare the books with the media buys, tasks and proposals.
    Check {
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Write the books anew, from the media buys, tasks and proposals. For example after a capacity
    /// was added to a product that is already sold.
    Repair {
        #[command(flatten)]
        decider: Decider,
        #[command(flatten)]
        place: PublisherOptions,
    },
}

/// Products and days.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Choice {
    /// Only this product.
    #[arg(long, value_name = "ID")]
    product: Option<String>,
    /// First day; the default is today.
    #[arg(long, value_name = "DATE", value_parser = day)]
    from: Option<Date>,
    /// Day after the last one; the default is 30 days after the first.
    #[arg(long, value_name = "DATE", value_parser = day)]
    until: Option<Date>,
    /// What test accounts have booked, instead of the live accounts.
    #[arg(long)]
    sandbox: bool,
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be used, the choice is invalid, or the books are wrong.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::List { choice, place } => {
            list(&read(choice, &place, context)?, context);
            Ok(())
        }
        Command::Export { choice, format, out, place } => {
            let rows = read(choice, &place, context)?;
            let file = sales::encode_documents(format, INVENTORY_COLUMNS, rows.iter(), true);
            let file = file.map_err(CommandFailure::fault)?;
            export_to(out, context, |take| take(&file))
        }
        Command::Check { place } => check(&place, context),
        Command::Repair { decider, place } => repair(&decider, &place, context),
    }
}

fn read(
    choice: Choice,
    place: &PublisherOptions,
    context: &Context,
) -> Result<Vec<Value>, CommandFailure> {
    let Choice { product, from, until, sandbox } = choice;
    let filter = InventoryFilter { product, from, until, is_sandbox: sandbox };
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_store: &dyn PublisherStore = &publisher_store;
    let now = Clock::system().now();
    let listed = publisher_store
        .look(|reader| inventory::list(StaffView { publisher: &publisher, reader, now }, &filter));
    listed.map_err(not_listed)
}

fn list(rows: &[Value], context: &Context) {
    let cells: Vec<_> = COLUMNS
        .iter()
        .map(|name| move |row: &Value| row.get(*name).map(sales::text).unwrap_or_default())
        .collect();
    let column = |name: &&'static str| match *name {
        "product" | "pool" | "unit" | "date" => TableColumn::Text(name),
        _ => TableColumn::Number(name),
    };
    let columns = COLUMNS.iter().map(column).zip(&cells);
    let columns: Vec<Cells<'_, Value>> =
        columns.map(|(column, cell)| (column, cell as _)).collect();
    context.output.list(rows, Value::clone, "no product is counted", &columns);
}

fn check(place: &PublisherOptions, context: &Context) -> Outcome {
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_store: &dyn PublisherStore = &publisher_store;
    let now = Clock::system().now();
    let differences = publisher_store.look(|reader| audit::check(&publisher, reader, now))?;
    if differences.is_empty() {
        context.output.answer(&json!({"differences": []}), "the books are right");
        return Ok(());
    }
    let message = format!("the books differ from the media buys in {} places", differences.len());
    let failure = CommandFailure::new(AMISS, message)
        .hint("`tradepost publisher inventory repair` writes them anew");
    let documents: Vec<Value> = differences.iter().map(document).collect();
    let lines = differences.iter().map(line).collect();
    Err(failure.data(json!({"differences": documents})).lines(lines))
}

fn repair(decider: &Decider, place: &PublisherOptions, context: &Context) -> Outcome {
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_id = publisher.profile.id.as_str();
    let actor = decider.actor(publisher_store.store(), publisher_id, context)?;
    let input = RepairInventory { publisher: &publisher };
    let done = repair_inventory(&admin(publisher_store.store(), &[]), &actor, input);
    let differences = done.map_err(|error| {
        failure(error, |refusal| match refusal {
            DecisionRefusal::Stranger => decider.unknown_member(publisher_id),
            DecisionRefusal::Undecided(denied) => not_listed(denied),
        })
    })?;
    let documents: Vec<Value> = differences.iter().map(document).collect();
    let summary = match differences.len() {
        0 => "the books were right".to_owned(),
        number => format!("the books differed in {number} places and are right now"),
    };
    context.output.note(&json!({"repaired": documents}), summary);
    Ok(())
}

fn document(difference: &BookDifference) -> Value {
    let BookDifference { subject, id, day, is_sandbox, counted, expected } = difference;
    json!({
        "subject": subject, "id": id, "date": day, "sandbox": is_sandbox, "counted": counted,
        "expected": expected,
    })
}

fn line(difference: &BookDifference) -> String {
    let BookDifference { subject, id, day, is_sandbox, counted, expected } = difference;
    let day = day.map(|day| format!(" on {day}")).unwrap_or_default();
    let kind = if *is_sandbox { " (sandbox)" } else { "" };
    format!("{subject} {id}{day}{kind}: {counted} in the books, {expected} expected")
}

fn day(text: &str) -> Result<Date, String> {
    let read = text.parse().ok().filter(|_| is_date(text));
    read.ok_or_else(|| "write a date such as 2026-05-03".to_owned())
}
