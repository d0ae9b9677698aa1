//! `tradepost publisher delivery`: lists, shows and exports the delivery of media buys, and imports what an ad server
//! has exported.

use std::path::PathBuf;

use clap::Subcommand;
use tradepost_admin::delivery::{DeliveryRefusal, ReportDelivery, report_delivery};
use tradepost_document::json::object;
use tradepost_publisher::staff::list::Subject;
use tradepost_publisher::staff::reported::{ReportedBuy, RowProblem};
use tradepost_runtime::delivery_table::{
    self, DeliveryTable, FieldColumn, HeadingChoice, MAX_BYTES, problem_documents, problem_line,
    problems_not_listed,
};
use tradepost_runtime::hosting::api::reported_document;
use tradepost_runtime::text_table::ColumnMapping;

use super::catalogue::contents;
use super::decider::Decider;
use super::{PublisherOptions, sales};
use crate::cli::operator::{admin, failure};
use crate::cli::output::CommandFailure;
use crate::cli::{Context, Outcome};

/// Subcommands of `tradepost publisher delivery`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    #[command(flatten)]
    Sales(sales::Command),
    /// Report delivery from a CSV file, as ad servers export it: all rows or none.
    Import(Import),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Import {
    /// Table with a row for each package and day: CSV, separated by comma, semicolon, tab or bar;
    /// `-` reads standard input.
    file: PathBuf,
    /// Heading of the column that holds a field, such as "spend=Net revenue". Repeatable.
    #[arg(long = "column", value_name = "FIELD=HEADING")]
    columns: Vec<HeadingChoice>,
    /// Declare the figures of all rows final.
    #[arg(long = "final")]
    is_final: bool,
    /// Mark all rows as corrections, which may change figures that are final.
    #[arg(long = "correction")]
    is_correction: bool,
    #[command(flatten)]
    decider: Decider,
    #[command(flatten)]
    place: PublisherOptions,
}

/// Runs the command.
///
/// # Errors
/// Fails when the file is no table, a row has a problem, or the store cannot be used.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Sales(command) => sales::run(Subject::Delivery, command, context),
        Command::Import(arguments) => import(&arguments, context),
    }
}

fn import(arguments: &Import, context: &Context) -> Outcome {
    let Import { file, columns: choices, is_final, is_correction, decider, place } = arguments;
    let bytes = contents(file, MAX_BYTES)?;
    let table = delivery_table::read_file(&bytes, choices, ColumnMapping::CommandLine);
    let table = table.map_err(|unread| {
        CommandFailure::usage(format!("{}; nothing was stored", unread.message)).hint(unread.hint)
    })?;
    let DeliveryTable { mut days, problems, columns, ignored_columns, total_rows } = table;
    for day in &mut days {
        day.is_final |= is_final;
        day.is_correction |= is_correction;
    }
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_id = publisher.profile.id.as_str();
    let actor = decider.actor(publisher_store.store(), publisher_id, context)?;
    let input = ReportDelivery { publisher: &publisher, days, problems };
    let reported = report_delivery(&admin(publisher_store.store(), &[]), &actor, input);
    let reported = reported.map_err(|error| {
        failure(error, |refusal| match refusal {
            DeliveryRefusal::Stranger => decider.unknown_member(publisher_id),
            DeliveryRefusal::Problems(problems) => refused(&problems, &columns),
        })
    })?;
    if !ignored_columns.is_empty() {
        context.output.talk(format!("columns without a meaning: {}", ignored_columns.join(", ")));
    }
    if total_rows > 0 {
        context.output.talk(format!("rows with totals, left out: {total_rows}"));
    }
    let lines: Vec<String> = reported.iter().map(line).collect();
    context.output.answer(&reported_document(&reported), lines.join("\n"));
    Ok(())
}

/// Returns the failure with every problem.
fn refused(problems: &[RowProblem], columns: &[FieldColumn]) -> CommandFailure {
    let count = problems.len();
    let noun = if count == 1 { "problem" } else { "problems" };
    CommandFailure::usage(format!("the rows have {count} {noun}; nothing was stored"))
        .hint("correct them, and import the whole file again")
        .data(object!({
            "code": "INVALID_DELIVERY",
            "problems": problem_documents(problems, columns),
            "problems_not_listed"?: problems_not_listed(problems),
        }))
        .lines(problems.iter().map(|problem| problem_line(problem, columns)).collect())
}

fn line(buy: &ReportedBuy) -> String {
    let ReportedBuy {
        media_buy_id,
        rows,
        changed,
        added,
        finalized,
        corrected,
        impressions,
        spend,
        currency,
    } = buy;
    let corrected = match corrected {
        0 => String::new(),
        count => format!(", {count} final ones corrected"),
    };
    format!(
        "{media_buy_id}: {rows} rows, {changed} days changed ({added} new), {finalized} made final{corrected}; \
         {impressions} impressions and {spend} {currency} in all"
    )
}
