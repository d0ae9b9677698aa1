//! `tradepost feeds`: lists inventory feeds and their runs, and runs one at once. A running server
//! applies the result within a second.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use jiff::Timestamp;
use tokio::runtime::Builder;
use tradepost_admin::AdminError;
use tradepost_admin::feeds::{
    FeedHistory, FeedRefusal, FeedStanding, ListFeeds, RunFeed, ShowFeed, list_feeds, run_feed,
    show_feed,
};
use tradepost_demo::dealer as demo;
use tradepost_demo::dealer::feed::formats::DemoFormat;
use tradepost_document::json::{Value, json, object};
use tradepost_runtime::config::feeds::FeedOrigin;
use tradepost_runtime::config::feeds::Guard;
use tradepost_runtime::feeds::report::RunReport;
use tradepost_runtime::feeds::{FeedSource, folder, pull, run};
use tradepost_server::clock::Clock;
use tradepost_store::{FeedOutcome, FeedRun, FeedState, Store};

use super::context::runtime;
use super::operator::{admin, failure, operator};
use super::output::table::TableColumn::Text;
use super::output::table::{self, Cells, TableWidth};
use super::output::{CommandFailure, unreadable, word};
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers};

/// Maximum number of runs that are shown.
const MAX_RUNS: usize = 10;

/// Maximum number of skipped rows that people are shown.
const MAX_SHOWN_SKIPS: usize = 20;

/// Seed of generated inventories, which are the same everywhere.
const SEED: u64 = 20_260_401;

/// Feed of a dealer.
#[derive(Debug, clap::Args)]
pub(super) struct NamedFeed {
    /// Feed name.
    name: String,
    /// Dealer of the feed; not needed if only one dealer has a feed with this name.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    #[command(flatten)]
    dealers: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Subcommands of `tradepost feeds`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the feeds, with the time of the last import and the outcome of the last run.
    List {
        #[command(flatten)]
        dealers: dealers::ConfigSource,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Show the latest runs of a feed, and the report of the last run.
    Show {
        #[command(flatten)]
        which: NamedFeed,
        /// Show the report of this run instead of the last one.
        #[arg(long, value_name = "ID")]
        run: Option<String>,
    },
    /// Run a feed now, with the latest file of its folder, the file at its URL, or the given file.
    Run {
        #[command(flatten)]
        which: NamedFeed,
        /// Use this file instead of the feed's source.
        #[arg(long)]
        file: Option<PathBuf>,
        /// Hold the feed back if it would remove more than this percentage of the vehicles on
        /// offer.
        #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
        max_drop: Option<u8>,
        /// Import the feed even if it looks incomplete.
        #[arg(long)]
        force: bool,
    },
    /// Write the inventory of the fictional dealer in a common feed format, for tests.
    Demo {
        /// Feed format.
        #[arg(long, value_name = "NAME", value_parser = word::<DemoFormat>)]
        format: DemoFormat,
        /// Number of vehicles on offer.
        #[arg(long, value_name = "N", default_value_t = 300)]
        size: usize,
    },
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::List { dealers, place } => list(&dealers, &place, context),
        Command::Show { which, run } => show(&which, run.as_deref(), context),
        Command::Run { which, file, max_drop, force } => {
            let (source, store) = find(&which, context)?;
            let max_drop = max_drop.unwrap_or(source.feed.guard.max_drop);
            let guard = Guard { max_drop, force };
            let run = run_now(&source, &store, file, guard, context)?;
            report(&run, context)
        }
        Command::Demo { format, size } => {
            let listings = demo::listings(size, SEED, Clock::system().now());
            let bytes = format.write(&listings).map_err(CommandFailure::fault)?;
            let text = String::from_utf8(bytes).map_err(CommandFailure::fault)?;
            context.output.line(text.trim_end());
            Ok(())
        }
    }
}

fn sources(
    dealers: &[tradepost_runtime::config::DealerConfig],
) -> Result<Vec<FeedSource>, CommandFailure> {
    let mut all = Vec::new();
    for dealer in dealers {
        let found = FeedSource::open_all(&Arc::new(dealer.clone()));
        all.extend(
            found.map_err(|why| CommandFailure::usage(format!("{}: {why}", dealer.terms.id)))?,
        );
    }
    Ok(all)
}

/// Finds the named feed, and opens the store.
fn find(which: &NamedFeed, context: &Context) -> Result<(FeedSource, Store), CommandFailure> {
    let config = which.dealers.load_with_hosted(&which.place, context)?;
    dealers::check_configured(which.dealer.as_deref(), &config)?;
    let is_meant = |source: &FeedSource| {
        let of_dealer = which.dealer.as_ref().is_none_or(|id| *id == source.dealer.terms.id);
        source.feed.name == which.name && of_dealer
    };
    let mut found = sources(&config.dealers)?;
    found.retain(is_meant);
    let source =
        match found.len() {
            0 => Err(CommandFailure::usage("no such feed is configured")
                .hint("see tradepost feeds list")),
            1 => found.pop().ok_or_else(|| CommandFailure::usage("no such feed is configured")),
            _ => Err(CommandFailure::usage("several dealers have a feed of this name")
                .hint("name the dealer with --dealer")),
        }?;
    // A feed may be the first data in the folder.
    let store = which.place.create(Some(&config), context)?;
    Ok((source, store))
}

fn list(dealers: &dealers::ConfigSource, place: &StoreOptions, context: &Context) -> Outcome {
    let config = dealers.load_with_hosted(place, context)?;
    let store = place.create(Some(&config), context)?;
    let sources = sources(&config.dealers)?;
    let input = ListFeeds { feeds: sources.iter().map(FeedSource::name).collect() };
    let standings = list_feeds(&admin(&store, &[]), &operator(context), input);
    let standings = standings.map_err(refused)?;
    let found = sources.into_iter().zip(standings);
    let found: Vec<_> = found.map(|(source, standing)| KnownFeed { source, standing }).collect();
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let stale = |state: &FeedState| if state.stale_since.is_some() { "stale" } else { "" };
    let columns: [Cells<'_, KnownFeed>; 7] = [
        (Text("dealer"), &|known| known.source.dealer.terms.id.clone()),
        (Text("feed"), &|known| known.source.feed.name.clone()),
        (Text("from"), &|known| known.source.feed.from.name().to_owned()),
        (Text("taken at"), &|known| moment(known.standing.state.taken_at)),
        (Text(""), &|known| stale(&known.standing.state).to_owned()),
        (Text("last run"), &|known| moment(known.standing.last.as_ref().map(|run| run.ended_at))),
        (Text("outcome"), &|known| {
            known.standing.last.as_ref().map(|run| run.outcome.to_string()).unwrap_or_default()
        }),
    ];
    let nothing = "no feeds are configured; docs/feeds.md explains how to configure them";
    context.output.list(&found, about, nothing, &columns);
    Ok(())
}

/// Feed with its state and its last run.
struct KnownFeed {
    source: FeedSource,
    standing: FeedStanding,
}

fn about(known: &KnownFeed) -> Value {
    let KnownFeed { source, standing } = known;
    let FeedStanding { state, last } = standing;
    json!({
        "dealer": source.dealer.terms.id,
        "feed": source.feed.name,
        "from": source.feed.from.name(),
        "taken_at": state.taken_at.map(|at| at.to_string()),
        "stale_since": state.stale_since.map(|at| at.to_string()),
        "last_run": last.as_ref().map(|run| document(run, false)),
    })
}

/// Returns a run as JSON.
fn document(run: &FeedRun, with_report: bool) -> Value {
    let report: Value = tradepost_document::json::from_str(&run.report).unwrap_or_default();
    object!({
        "run_id": run.run_id,
        "began_at": run.began_at.to_string(),
        "ended_at": run.ended_at.to_string(),
        "source": run.source,
        "outcome": run.outcome.to_string(),
        "message": run.message,
        "inventory": report.get("inventory"),
        "report"?: with_report.then(|| report.get("report")),
    })
}

fn show(which: &NamedFeed, wanted: Option<&str>, context: &Context) -> Outcome {
    let (source, store) = find(which, context)?;
    let input = ShowFeed { name: source.name(), run_id: wanted.map(str::to_owned) };
    let history = show_feed(&admin(&store, &[]), &operator(context), input);
    let FeedHistory { runs, shown, state: _ } = history.map_err(refused)?;
    let listed: Vec<_> = runs.iter().take(MAX_RUNS).collect();
    if context.output.is_json() {
        let listed: Vec<_> = listed.iter().map(|run| document(run, false)).collect();
        let shown = shown.as_ref().map(|run| document(run, true));
        context.output.document(&json!({"runs": listed, "run": shown}));
        return Ok(());
    }
    let Some(shown) = shown else {
        context.output.talk("the feed has not run yet");
        return Ok(());
    };
    let columns: [Cells<'_, &FeedRun>; 4] = [
        (Text("run"), &|run| run.run_id.clone()),
        (Text("ended at"), &|run| run.ended_at.to_string()),
        (Text("source"), &|run| run.source.clone()),
        (Text("outcome"), &|run| run.outcome.to_string()),
    ];
    context.output.line(table::items(TableWidth::Terminal, &listed, &columns));
    context.output.line(format!("\n{}", described(&shown)));
    Ok(())
}

/// Describes a run for people.
fn described(run: &FeedRun) -> String {
    let report = RunReport::from_run(run);
    let mut lines = vec![format!("{} {}", run.run_id, run.outcome)];
    lines.extend(run.message.clone());
    let listed = |numbers: &[(&str, u64)]| {
        let parts = numbers.iter().map(|(name, number)| format!("{number} {name}"));
        parts.collect::<Vec<_>>().join(", ")
    };
    let numbers = [listed(&report.rows), listed(&report.changes)];
    lines.extend(numbers.into_iter().filter(|line| !line.is_empty()));
    for skip in report.skips.iter().take(MAX_SHOWN_SKIPS) {
        lines.push(format!("row {} skipped, {}: {}", skip.line, skip.reason, skip.message));
    }
    for warning in &report.warnings {
        lines.push(format!("{} warned of: {}", warning.count, warning.kind));
    }
    lines.join("\n")
}

fn run_now(
    source: &FeedSource,
    store: &Store,
    file: Option<PathBuf>,
    guard: Guard,
    context: &Context,
) -> Result<FeedRun, CommandFailure> {
    let clock = Clock::system();
    let (bytes, name) = match (&file, &source.feed.from) {
        (Some(path), _) => {
            (File::open(path).map_err(unreadable(path))?, path.display().to_string())
        }
        (None, FeedOrigin::Folder(wanted)) => {
            let files = folder::files(wanted).map_err(unreadable(&wanted.path))?;
            let latest = files.into_iter().max_by(|one, other| one.mark.cmp(&other.mark));
            let latest = latest
                .ok_or_else(|| CommandFailure::usage("the folder of the feed contains no file"))?;
            (File::open(&latest.path).map_err(unreadable(&latest.path))?, latest.name)
        }
        (None, FeedOrigin::Pull(address)) => (fetched(address, &clock)?, "pull".to_owned()),
        (None, FeedOrigin::Upload { .. }) => {
            let message = "this feed is uploaded, and its files are not stored";
            return Err(CommandFailure::usage(message).hint("name a file with --file"));
        }
    };
    let input = RunFeed { name: source.name() };
    let done = run_feed(&admin(store, &[]), &operator(context), input, |record| {
        // A running server takes the same lease: two runs never replace one inventory at once.
        run::leased(store, &clock, &[&source.dealer.terms.id], || {
            let sink = run::FeedResultSink { store, clock: &clock, source };
            sink.bytes(bytes, &name, guard, Some(record))
        })
    });
    done.map_err(refused)
}

/// Returns the failure of an operation on feeds that was not done.
pub(super) fn refused(error: AdminError<FeedRefusal>) -> CommandFailure {
    failure(error, |refusal| match refusal {
        FeedRefusal::UnknownDealer(_) => {
            CommandFailure::usage("no such feed is configured").hint("see tradepost feeds list")
        }
        FeedRefusal::UnknownRun(_) => {
            CommandFailure::usage("no such run is stored").hint("see tradepost feeds show NAME")
        }
        FeedRefusal::Busy => {
            CommandFailure::new(1, "another feed of this dealer is being imported")
                .hint("try again in a moment")
        }
    })
}

/// Fetches the file at an address, whether or not it has changed.
fn fetched(
    address: &tradepost_runtime::config::feeds::Pull,
    clock: &Clock,
) -> Result<File, CommandFailure> {
    let runtime = runtime(Builder::new_current_thread())?;
    // An empty state makes the request unconditional: the user wants the feed run now.
    let answer = runtime.block_on(pull::fetch(address, &FeedState::default(), clock.now()));
    match answer.map_err(|why| CommandFailure::new(1, why))? {
        pull::PullAnswer::Feed(file, _) => Ok(file),
        pull::PullAnswer::Unchanged => {
            Err(CommandFailure::new(1, "the file at the URL has not changed"))
        }
    }
}

/// Reports the result of a run that the user started.
fn report(run: &FeedRun, context: &Context) -> Outcome {
    context.output.answer(&document(run, true), described(run));
    if run.outcome == FeedOutcome::Taken {
        return Ok(());
    }
    let why = run.message.clone().unwrap_or_default();
    Err(CommandFailure::usage(format!("the feed was not imported: {why}")))
}
