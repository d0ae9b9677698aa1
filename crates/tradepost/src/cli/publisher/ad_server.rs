//! `tradepost publisher ad-server`: shows the media buys at the ad server, compares them with what was sold,
//! and has them carried into it again.

use clap::Subcommand;
use tradepost_admin::remote_orders::{
    ListOrders, OrderRefusal, ReconcileOrders, RetryOrder, list_orders, orders_to_compare,
    retry_order,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_publisher::remote_order::reconcile::differences;
use tradepost_publisher::remote_order::{RemoteOrder, RemotePhase};
use tradepost_runtime::adcp::{ad_server, orders};
use tradepost_runtime::config::AdServerConfig;

use super::PublisherOptions;
use super::decider::Decider;
use crate::cli::discover::block_on;
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::table::{Cells, TableColumn};
use crate::cli::output::{CommandFailure, one_of};
use crate::cli::{Context, Outcome};

/// Subcommands of `tradepost publisher ad-server`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Test the connection: the address, the credential, and what the ad server can do.
    Check {
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// List the media buys at the ad server, with what they wait for.
    Status {
        /// Only media buys in this phase.
        #[arg(long, value_name = "PHASE", value_parser = one_of::<RemotePhase>())]
        phase: Option<RemotePhase>,
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Compare what was sold with what the ad server has. Nothing is changed.
    Reconcile {
        /// Only this media buy.
        #[arg(value_name = "ID")]
        media_buy: Option<String>,
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Retry a media buy at the ad server after its problem was fixed.
    Retry {
        /// Media buy id.
        #[arg(value_name = "ID")]
        media_buy: String,
        #[command(flatten)]
        decider: Decider,
        #[command(flatten)]
        place: PublisherOptions,
    },
}

/// Runs the command.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Check { place } => check(&place, context),
        Command::Status { phase, place } => status(phase, &place, context),
        Command::Reconcile { media_buy, place } => reconcile(media_buy.as_deref(), &place, context),
        Command::Retry { media_buy, decider, place } => retry(media_buy, &decider, &place, context),
    }
}

/// Returns the settings of the ad server of the named publisher, or of the only one.
fn settings(place: &PublisherOptions, context: &Context) -> Result<AdServerConfig, CommandFailure> {
    let config = place.config(context)?;
    let named = place.publisher.as_deref();
    let publishers = config.publishers.into_iter();
    let mut found: Vec<_> =
        publishers.filter(|one| named.is_none_or(|id| one.profile.id == id)).collect();
    let Some(publisher) = found.pop().filter(|_| found.is_empty()) else {
        return Err(super::several());
    };
    publisher.ad_server.ok_or_else(|| {
        CommandFailure::usage(format!("{} has no ad server", publisher.profile.id))
            .hint("configure one in [publishers.ad_server]")
    })
}

fn check(place: &PublisherOptions, context: &Context) -> Outcome {
    // Like every command it names the publisher first, and the store where it cannot be used.
    place.only(context)?;
    let connected = ad_server::connect(&settings(place, context)?);
    let connected = connected.map_err(|why| {
        CommandFailure::usage(format!("the ad server cannot be used: {why}"))
            .hint("correct [publishers.ad_server]")
    })?;
    let name = connected.name();
    let found = block_on(async {
        connected.check().await.map_err(|error| {
            CommandFailure::usage(format!("the ad server {name} cannot be used: {error}"))
                .hint("check url, credential and network in [publishers.ad_server]")
        })
    })?;
    context
        .output
        .note(&json!({"adapter": name, "answer": found}), format!("{name} answers: {found}"));
    Ok(())
}

fn status(phase: Option<RemotePhase>, place: &PublisherOptions, context: &Context) -> Outcome {
    let mut found = Vec::new();
    for (publisher_store, publisher) in place.publishers(context)? {
        let input = ListOrders { publisher: &publisher, phase, limit: 0 };
        let listed = list_orders(&admin(publisher_store.store(), &[]), &operator(context), input);
        let listed = listed.map_err(|error| failure(error, refused))?;
        let rows = listed.iter().map(|order| row(&publisher.profile.id, &order.thing));
        found.extend(rows);
    }
    let names =
        ["publisher", "media_buy_id", "phase", "order", "line_items", "deals", "problem", "remedy"];
    print(&found, &names, "no media buys at an ad server", context);
    Ok(())
}

fn row(publisher: &str, order: &RemoteOrder) -> Value {
    let problem = order.problem.as_ref();
    let state = order.order.as_ref().and_then(|order| order.state);
    json!({
        "publisher": publisher,
        "media_buy_id": order.media_buy_id,
        "phase": order.phase,
        "order": order.order.as_ref().map(|order| order.id.0.clone()),
        "state": state,
        "line_items": order.line_items.values().map(|item| item.id.0.clone()).collect::<Vec<_>>(),
        "deals": order.deals.iter().map(|(package_id, deal)| json!({
            "id": deal.id, "package_id": package_id, "state": deal.shown_state(),
            "refusal": deal.refusal,
        })).collect::<Vec<_>>(),
        "failures": order.failures,
        "next_at": order.next_at().map(rfc3339),
        "reported_at": order.reported_at.map(rfc3339),
        "problem": problem.map(|problem| format!("{}: {}", problem.step, problem.detail)),
        "remedy": problem.map(|problem| problem.kind.remedy()),
        "done": order.done,
    })
}

fn reconcile(media_buy: Option<&str>, place: &PublisherOptions, context: &Context) -> Outcome {
    let (publisher_store, publisher) = place.only(context)?;
    let wanted = settings(place, context)?;
    let terms = ad_server::order_terms(&wanted, &publisher.profile.catalogue);
    let input = ReconcileOrders { publisher: &publisher, terms: &terms, media_buy_id: media_buy };
    let compared =
        orders_to_compare(&admin(publisher_store.store(), &[]), &operator(context), input);
    let compared = compared.map_err(|error| failure(error, refused))?;
    let connected = ad_server::connect(&wanted).map_err(|why| {
        CommandFailure::usage(format!("the ad server cannot be used: {why}"))
            .hint("correct [publishers.ad_server]")
    })?;
    let mut found = Vec::new();
    for one in compared {
        let seen = block_on(async {
            let seen = orders::calls::see(connected.as_ref(), &one.remote, true).await;
            seen.map_err(|error| {
                CommandFailure::usage(format!("the ad server could not be compared: {error}"))
                    .hint("`tradepost publisher ad-server check` tests the connection")
            })
        })?;
        for difference in differences(&one.wanted, &one.remote, &seen) {
            found.push(json!({
                "media_buy_id": one.remote.media_buy_id,
                "difference": difference.kind.name(),
                "object": difference.object,
                "id": difference.id,
                "sold": difference.sold,
                "found": difference.found,
            }));
        }
    }
    let names = ["media_buy_id", "difference", "object", "id", "sold", "found"];
    print(&found, &names, "the ad server has what was sold", context);
    Ok(())
}

fn retry(
    media_buy: String,
    decider: &Decider,
    place: &PublisherOptions,
    context: &Context,
) -> Outcome {
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_id = publisher.profile.id.as_str();
    let actor = decider.actor(publisher_store.store(), publisher_id, context)?;
    let input = RetryOrder { publisher: &publisher, media_buy_id: media_buy.clone() };
    let retried = retry_order(&admin(publisher_store.store(), &[]), &actor, input);
    let before = retried.map_err(|error| {
        failure(error, |refusal| match refusal {
            OrderRefusal::Stranger => decider.unknown_member(publisher_id),
            OrderRefusal::Unknown => refused(refusal),
        })
    })?;
    let summary =
        format!("{media_buy} was {before}; the server carries it into the ad server again");
    context.output.note(&json!({"media_buy_id": media_buy, "before": before}), summary);
    Ok(())
}

/// Returns the failure of a refusal.
fn refused(refusal: OrderRefusal) -> CommandFailure {
    match refusal {
        OrderRefusal::Stranger => CommandFailure::usage("the publisher has no such user"),
        OrderRefusal::Unknown => {
            CommandFailure::usage("no media buy of this id is carried into the ad server")
                .hint("`tradepost publisher ad-server status` lists them")
        }
    }
}

/// Prints rows with these members as columns.
fn print(rows: &[Value], names: &[&'static str], none: &str, context: &Context) {
    let cells: Vec<_> = names
        .iter()
        .map(|name| move |row: &Value| row.get(*name).map(super::list::cell).unwrap_or_default())
        .collect();
    let columns = names.iter().map(|name| TableColumn::Text(name)).zip(&cells);
    let columns: Vec<Cells<'_, Value>> =
        columns.map(|(column, cell)| (column, cell as _)).collect();
    context.output.list(rows, Value::clone, none, &columns);
}
