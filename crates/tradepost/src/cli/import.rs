//! `tradepost import`: replaces a dealer's inventory with a feed.
//!
//! All or nothing: the feed is read completely, its changes are computed first, and it is stored
//! only if they are plausible. A truncated upload must not empty the inventory.

use std::fs::File;
use std::io::{self, Read, Seek, Write as _};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tradepost_admin::feeds::{ImportInventory, import_inventory};
use tradepost_dealer::import::{
    self, DealerFeed, FeedReport, FeedTarget, Mapping, Preset, SortedFeed,
};
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::feeds::Guard;
use tradepost_runtime::config::{Config, DealerConfig};
use tradepost_runtime::feeds::guard::reasons;
use tradepost_runtime::feeds::run;
use tradepost_server::clock::Clock;
use tradepost_store::{Replacement, Store};

use super::operator::{admin, operator};
use super::output::table::{TableColumn, TableWidth, rows};
use super::output::{CommandFailure, Output, word};
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers, feeds, toml_file};

/// Maximum number of skipped rows that people are shown; programs get all in the report.
const MAX_SHOWN_SKIPS: usize = 20;

/// Arguments of `tradepost import`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Feed: a table, XML or JSON, uncompressed or compressed with gzip or zip; `-` reads standard
    /// input.
    file: PathBuf,
    /// Format of the feed; the default is detected from the headings.
    #[arg(long, value_name = "NAME", value_parser = word::<Preset>, conflicts_with = "mapping")]
    preset: Option<Preset>,
    /// File that maps the columns of the feed to fields.
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Write the mapping of the columns that was used to a file for --mapping.
    #[arg(long, value_name = "FILE")]
    save_mapping: Option<PathBuf>,
    /// Dealer of the inventory; not needed if the configuration has one dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Import a feed of several dealers: each dealer gets the rows that name it or one of its
    /// rooftops.
    #[arg(long, conflicts_with = "dealer")]
    split: bool,
    #[command(flatten)]
    dealers: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
    /// Refuse the feed if it would remove more than this percentage of the vehicles on offer.
    #[arg(long, value_name = "PERCENT", default_value_t = 25,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    max_drop: u8,
    /// Import the feed even if it looks incomplete, or most rows lack the fields that buyers search
    /// by.
    #[arg(long)]
    force: bool,
    /// Import vehicles whose price is not in US dollars, without a price.
    #[arg(long)]
    without_prices: bool,
    /// Show the source column of each field, and the percentage of rows that fill the field.
    #[arg(long)]
    explain: bool,
    /// Report the changes without making them.
    #[arg(long)]
    dry_run: bool,
}

/// Change of one dealer's inventory by an import.
struct InventoryChange<'a> {
    dealer_id: &'a str,
    feed: DealerFeed,
    replacement: Replacement,
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let config = arguments.dealers.load_with_hosted(&arguments.place, context)?;
    let dealers = if arguments.split {
        config.dealers.iter().collect()
    } else {
        vec![pick(&config, arguments.dealer.as_deref())?]
    };
    let targets: Vec<_> =
        dealers.into_iter().map(|dealer| FeedTarget::from_dealer(&dealer.terms)).collect();
    let mapping = match (&arguments.mapping, arguments.preset) {
        (Some(path), _) => Some(load_mapping(path)?),
        (None, preset) => preset.map(Mapping::from_preset),
    };
    let SortedFeed { feeds, unplaced, mapping } =
        parse(&arguments.file, &targets, mapping.as_ref())?;
    if let Some(path) = &arguments.save_mapping {
        save_mapping(path, &mapping)?;
        context.output.talk(format!("the mapping was written to {}", path.display()));
    }
    // With a file for many dealers, those without a row keep their inventory.
    let named = targets.iter().map(|target| target.dealer_id.as_str()).zip(feeds);
    let named = named.filter(|(_, feed)| !arguments.split || feed.report.rows > 0);
    let named: Vec<(&str, DealerFeed)> = named.collect();
    if arguments.explain && !context.output.is_json() {
        // Before a refusal, because its reason may be a column that was not recognised.
        for (dealer_id, feed) in &named {
            let tables = explanation(TableWidth::Terminal, &feed.report).join("\n\n");
            context.output.line(format!("{dealer_id}\n{tables}\n"));
        }
    }
    let changes = replace(named, &unplaced, &arguments, &config, context)?;
    if context.output.is_json() {
        context.output.document(&document(&changes, &unplaced, arguments.dry_run, arguments.split));
    } else {
        print(context.output, &changes, &unplaced, &arguments);
    }
    Ok(())
}

/// Opens the store if it exists or is about to: opening creates it, and a dry run leaves nothing
/// behind.
fn stored(
    arguments: &Arguments,
    config: &Config,
    context: &Context,
) -> Result<Option<Store>, CommandFailure> {
    let place = &arguments.place;
    let has_store = !arguments.dry_run
        || place.database(Some(config), context)?.is_some()
        || Store::exists(&place.data);
    has_store.then(|| place.create(Some(config), context)).transpose()
}

/// Stores the feeds, unless one of them looks like a mistake.
fn replace<'a>(
    feeds: Vec<(&'a str, DealerFeed)>,
    unplaced: &FeedReport,
    arguments: &Arguments,
    config: &Config,
    context: &Context,
) -> Result<Vec<InventoryChange<'a>>, CommandFailure> {
    if feeds.is_empty() {
        return Err(CommandFailure::usage("no row names a configured dealer; nothing was changed")
            .hint("add the name that the feed uses for a rooftop to its feed_names in the configuration")
            .lines(reasons(unplaced)));
    }
    let clock = Clock::system();
    let store = stored(arguments, config, context)?;
    let dealers: Vec<&str> = feeds.iter().map(|(dealer_id, _)| *dealer_id).collect();
    let work = || stored_unless_refused(feeds, unplaced, arguments, store.as_ref(), context);
    let changes = match &store {
        Some(store) if !arguments.dry_run => run::leased(store, &clock, &dealers, || Ok(work()))?
            .ok_or_else(|| {
                CommandFailure::new(
                    1,
                    "a feed of this dealer is being imported; nothing was changed",
                )
                .hint("try again in a moment")
            })??,
        Some(_) | None => work()?,
    };
    // Without the lease: it changes nothing that other processes could change, and takes a while.
    if let Some(store) = store.filter(|_| !arguments.dry_run) {
        for change in &changes {
            let dealer = config.dealers.iter().find(|dealer| dealer.terms.id == change.dealer_id);
            let lifetime = dealer.map(|dealer| dealer.terms.tombstone_lifetime).unwrap_or_default();
            store.ready_inventory(change.dealer_id, clock.now(), lifetime)?;
        }
    }
    Ok(changes)
}

/// Reports the changes of the feeds, and stores them if there is a store and no refusal.
fn stored_unless_refused<'a>(
    feeds: Vec<(&'a str, DealerFeed)>,
    unplaced: &FeedReport,
    arguments: &Arguments,
    store: Option<&Store>,
    context: &Context,
) -> Result<Vec<InventoryChange<'a>>, CommandFailure> {
    let mut changes = Vec::with_capacity(feeds.len());
    for (dealer_id, feed) in feeds {
        let replacement = match store {
            Some(store) => {
                let now = Clock::system().now();
                store.replace_inventory(dealer_id, &feed.listings, now, true)?
            }
            None => Replacement { added: feed.report.accepted, ..Replacement::default() },
        };
        changes.push(InventoryChange { dealer_id, feed, replacement });
    }
    for change in &changes {
        let report = &change.feed.report;
        if let Some(refused) = refusal(&change.replacement, arguments, report) {
            let message = if arguments.split {
                format!("{}: {}", change.dealer_id, refused.message)
            } else {
                refused.message
            };
            let data = Some(document(&changes, unplaced, true, arguments.split));
            return Err(CommandFailure { message, data, ..refused });
        }
    }
    if let Some(store) = store.filter(|_| !arguments.dry_run) {
        for change in &mut changes {
            let input = ImportInventory {
                dealer_id: change.dealer_id.to_owned(),
                file: file_name(&arguments.file),
                // They are read again for the search index, and both at once would need twice the
                // memory.
                listings: std::mem::take(&mut change.feed.listings),
            };
            let done = import_inventory(&admin(store, &[]), &operator(context), input);
            change.replacement = done.map_err(feeds::refused)?;
        }
    }
    Ok(changes)
}

/// Returns the name of a file without its folder.
fn file_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) if path != Path::new("-") => name.to_string_lossy().into_owned(),
        Some(_) | None => "standard input".to_owned(),
    }
}

/// Returns the reason why a feed must not be stored, if there is one.
fn refusal(
    planned: &Replacement,
    arguments: &Arguments,
    report: &FeedReport,
) -> Option<CommandFailure> {
    let guard = Guard { max_drop: arguments.max_drop, force: arguments.force };
    let objection = match arguments.without_prices {
        true => guard.objection(planned, &FeedReport { currency_doubt: None, ..report.clone() }),
        false => guard.objection(planned, report),
    }?;
    let failure = CommandFailure::usage(format!("{}; nothing was changed", objection.message));
    Some(failure.hint(objection.hint).lines(objection.lines))
}

pub(super) fn pick<'c>(
    config: &'c Config,
    id: Option<&str>,
) -> Result<&'c DealerConfig, CommandFailure> {
    let found = match (id, config.dealers.as_slice()) {
        (Some(id), dealers) => dealers.iter().find(|dealer| dealer.terms.id == id),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        if let Some(id) = id {
            return dealers::unknown_dealer(id, &dealers::ids_of(config));
        }
        let ids: Vec<&str> = config.dealers.iter().map(|d| d.terms.id.as_str()).collect();
        CommandFailure::usage("the configuration has several dealers")
            .hint(format!("use --dealer with one of: {}", ids.join(", ")))
    })
}

/// Reads a mapping file.
///
/// # Errors
/// Lists every mistake in it.
pub(super) fn load_mapping(path: &Path) -> Result<Mapping, CommandFailure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        CommandFailure::usage(format!("cannot read the mapping {}: {error}", path.display()))
    })?;
    Mapping::parse(&text).map_err(|mistakes| {
        let hint =
            "write one with tradepost import FEED --dry-run --save-mapping FILE and change it";
        let failure = CommandFailure::usage("the mapping has mistakes").hint(hint);
        failure.lines(toml_file::lines(path, &mistakes))
    })
}

/// Writes a mapping to a new file.
fn save_mapping(path: &Path, mapping: &Mapping) -> Result<(), CommandFailure> {
    let mut file = File::options().write(true).create_new(true).open(path).map_err(|error| {
        CommandFailure::usage(format!("cannot write the mapping {}: {error}", path.display()))
            .hint("name a file that does not exist yet")
    })?;
    file.write_all(mapping.to_toml().as_bytes()).map_err(CommandFailure::fault)
}

fn parse(
    path: &Path,
    targets: &[FeedTarget],
    mapping: Option<&Mapping>,
) -> Result<SortedFeed, CommandFailure> {
    let failed = |error: io::Error| {
        CommandFailure::usage(format!("cannot read the feed {}: {error}", path.display()))
            .hint("name a readable file, or - for standard input")
    };
    if path == Path::new("-") {
        // A stream cannot be read twice, so it is copied to a file and not to memory.
        let unkept = |error: io::Error| {
            CommandFailure::usage(format!("cannot store standard input in a file: {error}"))
                .hint("set TMPDIR to a folder with enough free space")
        };
        let mut file = tempfile::tempfile().map_err(unkept)?;
        io::copy(&mut io::stdin().lock(), &mut file).map_err(failed)?;
        file.rewind().map_err(failed)?;
        return read(file, targets, mapping);
    }
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    // Nothing is drawn when standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(size), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message("reading");
    let sorted = read(bar.wrap_read(file), targets, mapping);
    bar.finish_and_clear();
    sorted
}

/// Reads a feed for its dealers, without storing it.
pub(super) fn read(
    source: impl Read + Seek,
    targets: &[FeedTarget],
    mapping: Option<&Mapping>,
) -> Result<SortedFeed, CommandFailure> {
    import::read_as(source, targets, mapping, Clock::system().now()).map_err(|unreadable| {
        let failure = CommandFailure::usage(unreadable.message).hint(unreadable.hint);
        failure.lines(unreadable.lines)
    })
}

fn document(
    changes: &[InventoryChange<'_>],
    unplaced: &FeedReport,
    dry_run: bool,
    split: bool,
) -> Value {
    let of = |change: &InventoryChange<'_>| {
        json!({
            "dealer": change.dealer_id,
            "dry_run": dry_run,
            "inventory": change.replacement,
            "report": change.feed.report,
        })
    };
    match changes {
        [only] if !split => of(only),
        _ => json!({
            "dealers": changes.iter().map(of).collect::<Vec<_>>(),
            "dry_run": dry_run,
            "unplaced": unplaced,
        }),
    }
}

fn print(
    output: Output,
    changes: &[InventoryChange<'_>],
    unplaced: &FeedReport,
    arguments: &Arguments,
) {
    for change in changes {
        let report = &change.feed.report;
        output.line(tables(TableWidth::Terminal, change.replacement, report).join("\n\n"));
        if report.skipped > MAX_SHOWN_SKIPS {
            let more = report.skipped - MAX_SHOWN_SKIPS;
            output.talk(format!("{more} more skipped; --json lists them"));
        }
        if !report.ignored_columns.is_empty() {
            output.talk(format!("ignored columns: {}", report.ignored_columns.join(", ")));
        }
        if let Some(preset) = report.preset {
            let choice = if preset.guessed { "; select another with --preset" } else { "" };
            output.talk(format!("{preset} of its headings{choice}"));
        }
        if let Some(doubt) = &report.currency_doubt {
            output.talk(format!("imported without prices: {doubt}"));
        }
        for doubt in &report.doubts {
            output.talk(format!("imported because of --force: {doubt}"));
        }
        let done = if arguments.dry_run {
            "nothing was changed: this was a dry run"
        } else {
            "the inventory was replaced"
        };
        output.talk(format!("{}: {done}", change.dealer_id));
    }
    for reason in reasons(unplaced) {
        output.talk(format!("rows of no known dealer: {reason}"));
    }
}

/// Formats the columns that each field was read from, and the unused columns.
pub(super) fn explanation(fit: TableWidth, report: &FeedReport) -> Vec<String> {
    let fields = report.fields.iter().filter(|field| field.has > 0 || !field.columns.is_empty());
    let fields = fields.map(|field| {
        let columns = field.columns.iter();
        let columns = columns.map(|column| format!("{} ({})", column.column, column.filled));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let share = (field.has * 100).checked_div(report.accepted).unwrap_or_default();
        vec![field.field.to_owned(), format!("{share}%"), field.has.to_string(), columns]
    });
    let headings = [
        TableColumn::Text("field"),
        TableColumn::Number("full"),
        TableColumn::Number("units"),
        TableColumn::Text("from column (rows)"),
    ];
    let mut tables = vec![rows(fit, &headings, &fields.collect::<Vec<_>>())];
    let unused = report.unused_columns.iter().filter(|column| column.filled > 0);
    let unused: Vec<_> =
        unused.map(|column| vec![column.filled.to_string(), column.column.clone()]).collect();
    if !unused.is_empty() {
        let headings = [TableColumn::Number("rows"), TableColumn::Text("column that fed nothing")];
        tables.push(rows(fit, &headings, &unused));
    }
    tables
}

/// Formats the result of an import for people.
fn tables(fit: TableWidth, replacement: Replacement, report: &FeedReport) -> Vec<String> {
    let numbers = |columns: [(&'static str, usize); 5]| {
        let headings = columns.map(|(heading, _)| TableColumn::Number(heading));
        rows(fit, &headings, &[columns.map(|(_, count)| count.to_string()).to_vec()])
    };
    let mut tables = vec![
        numbers([
            ("rows", report.rows),
            ("on offer", report.accepted),
            ("sold", report.sold),
            ("skipped", report.skipped),
            ("warnings", report.warned()),
        ]),
        numbers([
            ("before", replacement.before),
            ("added", replacement.added),
            ("changed", replacement.changed),
            ("unchanged", replacement.unchanged),
            ("removed", replacement.removed),
        ]),
    ];
    if !report.skips.is_empty() {
        let columns = [
            TableColumn::Number(report.place()),
            TableColumn::Text("skipped because"),
            TableColumn::Text("details"),
        ];
        let skips = report.skips.iter().take(MAX_SHOWN_SKIPS);
        let skips = skips
            .map(|skip| vec![skip.line.to_string(), skip.reason.to_string(), skip.message.clone()]);
        tables.push(rows(fit, &columns, &skips.collect::<Vec<_>>()));
    }
    if !report.warnings.is_empty() {
        let columns = [
            TableColumn::Number("count"),
            TableColumn::Text("warning"),
            TableColumn::Text("first example"),
        ];
        let warnings = report.warnings.iter().map(|warning| {
            let example = warning.examples.first().map(|example| match example.line {
                Some(line) => format!("{} {line}: {}", report.place(), example.message),
                None => example.message.clone(),
            });
            let summary = warning.kind.summary().to_owned();
            vec![warning.count.to_string(), summary, example.unwrap_or_default()]
        });
        tables.push(rows(fit, &columns, &warnings.collect::<Vec<_>>()));
    }
    tables
}

#[cfg(test)]
mod tests;
