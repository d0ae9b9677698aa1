//! `tradepost import`: replace a dealer's inventory with a feed.
//!
//! All or nothing: the feed is read whole, what it would change is computed first, and only a
//! plausible one is stored. A truncated upload must not empty the shop window.

use std::fs::File;
use std::io::{self, Cursor, IsTerminal as _, Read, Seek};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use tradepost_dealer::import::{self, Feed, Report, Sorted, Target};
use tradepost_server::clock::Clock;
use tradepost_server::fault::Fault;
use tradepost_store::{Replacement, Store};
use tradepost_wire::json::{Value, json};

use super::output::table::{Column, Fit, rows};
use super::output::{Failure, Output};
use super::place::Place;
use super::{Context, Outcome, dealers};
use crate::config::{Config, Dealer};

/// How many skipped rows people are shown; programs get all that the report keeps.
const SHOWN: usize = 20;

/// How many skipped rows a refusal mentions.
const MENTIONED: usize = 5;

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The feed: AAP JSON, or a table with HomeNet's columns; `-` reads standard input.
    file: PathBuf,
    /// Whose inventory it is; not needed when the configuration has one dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// The feed is of several dealers: each gets the rows that name it or one of its rooftops.
    #[arg(long, conflicts_with = "dealer")]
    split: bool,
    #[command(flatten)]
    dealers: dealers::Source,
    #[command(flatten)]
    place: Place,
    /// Refuse the feed when more than this share of the units on offer would vanish.
    #[arg(long, value_name = "PERCENT", default_value_t = 25,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    max_drop: u8,
    /// Take a feed although it looks incomplete, or most rows lack what buyers search by.
    #[arg(long)]
    force: bool,
    /// Show which column fed each field, and how full it is.
    #[arg(long)]
    explain: bool,
    /// Report what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// What an import does to one dealer's inventory.
struct Change<'a> {
    dealer_id: &'a str,
    feed: Feed,
    replacement: Replacement,
}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let config = arguments.dealers.load(&context.environment)?;
    let dealers = if arguments.split {
        config.dealers.iter().collect()
    } else {
        vec![pick(&config, arguments.dealer.as_deref())?]
    };
    let targets: Vec<Target> =
        dealers.into_iter().map(|dealer| Target::of(&dealer.terms)).collect();
    let Sorted { feeds, unplaced } = parse(&arguments.file, &targets)?;
    // In a file of many dealers, those without a row keep what they have.
    let named = targets
        .iter()
        .zip(feeds)
        .filter(|(_, feed)| !arguments.split || feed.report.rows > 0)
        .map(|(target, feed)| (target.dealer_id.as_str(), feed));
    let named: Vec<(&str, Feed)> = named.collect();
    if arguments.explain && !context.output.is_json() {
        // Before anything is refused: who is refused wants to know which columns were understood.
        for (dealer_id, feed) in &named {
            let tables = explanation(Fit::Terminal, &feed.report).join("\n\n");
            context.output.line(format!("{dealer_id}\n{tables}\n"));
        }
    }
    let open = || stored(&arguments, &config, context);
    let changes = replace(named, &unplaced, &arguments, &config, open)?;
    if context.output.is_json() {
        context.output.document(&document(&changes, &unplaced, arguments.dry_run, arguments.split));
    } else {
        print(context.output, &changes, &unplaced, &arguments);
    }
    Ok(())
}

/// The store, if there is one or is to be one: opening creates, and a dry run leaves nothing behind.
fn stored(
    arguments: &Arguments,
    config: &Config,
    context: &Context,
) -> Result<Option<Store>, Failure> {
    let place = &arguments.place;
    let has_store = !arguments.dry_run
        || place.database(Some(config), context)?.is_some()
        || Store::exists(&place.data);
    has_store.then(|| place.create(Some(config), context)).transpose()
}

/// Stores the feeds, unless one of them looks like an accident.
fn replace<'a>(
    feeds: Vec<(&'a str, Feed)>,
    unplaced: &Report,
    arguments: &Arguments,
    config: &Config,
    open: impl FnOnce() -> Result<Option<Store>, Failure>,
) -> Result<Vec<Change<'a>>, Failure> {
    let now = Clock::system().now();
    let store = open()?;
    let replace = |store: &Store, dealer_id: &str, feed: &Feed, dry_run| {
        store
            .replace_inventory(dealer_id, &feed.units, now, dry_run)
            .map_err(|fault| Failure::fault(&fault))
    };
    if feeds.is_empty() {
        let failure = Failure::usage("no row names a configured dealer; nothing was changed")
            .hint("list what the feed calls a rooftop in its feed_names in the configuration");
        return Err(Failure { lines: reasons(unplaced), ..failure });
    }
    let mut changes = Vec::with_capacity(feeds.len());
    for (dealer_id, feed) in feeds {
        let replacement = match &store {
            Some(store) => replace(store, dealer_id, &feed, true)?,
            None => Replacement { added: feed.report.accepted, ..Replacement::default() },
        };
        changes.push(Change { dealer_id, feed, replacement });
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
            return Err(Failure { message, data, ..refused });
        }
    }
    if let Some(store) = store.filter(|_| !arguments.dry_run) {
        for change in &mut changes {
            change.replacement = replace(&store, change.dealer_id, &change.feed, false)?;
        }
        let dealers = changes.iter().map(|change| change.dealer_id);
        prepare(&store, dealers, config, now).map_err(|fault| Failure::fault(&fault))?;
    }
    Ok(changes)
}

/// Makes what the server would have to make, and gives room back: the server finds all of it done.
fn prepare<'a>(
    store: &Store,
    dealers: impl Iterator<Item = &'a str>,
    config: &Config,
    now: Timestamp,
) -> Result<(), Fault> {
    if !store.reads_rows() {
        for dealer_id in dealers {
            let dealer = config.dealers.iter().find(|dealer| dealer.terms.id == dealer_id);
            let lifetime = dealer.map(|dealer| dealer.terms.tombstone_lifetime);
            store.load_inventory(dealer_id, now, lifetime.unwrap_or_default())?;
        }
    }
    store.cut_log()
}

/// Why a feed must not be stored, if so.
fn refusal(planned: &Replacement, arguments: &Arguments, report: &Report) -> Option<Failure> {
    let max_drop = arguments.max_drop;
    let mut failure = if report.rows == 0 {
        Failure::usage("the feed has no rows; nothing was changed")
            .hint("look whether the right file was uploaded, and whether it was complete")
    } else if report.accepted == 0 {
        let message = "none of the feed's rows can be offered; nothing was changed";
        Failure::usage(message)
            .hint("correct the rows as described, or look whether the right file was uploaded")
    } else if !arguments.force && !report.doubts.is_empty() {
        Failure::usage("the feed looks incomplete; nothing was changed").hint(
            "look whether the right file was uploaded to its end and see with --explain which \
             columns were understood; take it as it is with --force",
        )
    } else if is_too_much(planned, max_drop) {
        Failure::usage(format!(
            "{} of the {} units on offer would vanish, more than {max_drop} percent; nothing was \
             changed",
            planned.removed, planned.before
        ))
        .hint("check whether the feed is complete, or permit the loss with --max-drop PERCENT")
    } else {
        return None;
    };
    let sold = (report.accepted == 0 && report.sold > 0)
        .then(|| format!("{} marked as sold", count(report.sold)));
    failure.lines = report
        .doubts
        .iter()
        .cloned()
        .chain(sold)
        .chain(reasons(report))
        .chain(
            report
                .skips
                .iter()
                .take(MENTIONED)
                .map(|skip| format!("{} {}: {}", report.place(), skip.line, skip.message)),
        )
        .collect();
    Some(failure)
}

fn count(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}

fn reasons(report: &Report) -> Vec<String> {
    let line = |entry: &import::report::Count<import::Reason>| {
        format!("{} skipped: {}", count(entry.count), entry.kind.summary())
    };
    report.reasons.iter().map(line).collect()
}

/// Whether more than `max_drop` percent of the units on offer would vanish.
fn is_too_much(planned: &Replacement, max_drop: u8) -> bool {
    planned.removed.saturating_mul(100) > planned.before.saturating_mul(usize::from(max_drop))
}

pub(super) fn pick<'c>(config: &'c Config, id: Option<&str>) -> Result<&'c Dealer, Failure> {
    let found = match (id, config.dealers.as_slice()) {
        (Some(id), dealers) => dealers.iter().find(|dealer| dealer.terms.id == id),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        let ids: Vec<&str> = config.dealers.iter().map(|d| d.terms.id.as_str()).collect();
        let message = match id {
            Some(_) => "the configuration has no dealer with this id",
            None => "the configuration has several dealers",
        };
        Failure::usage(message).hint(format!("use --dealer with one of: {}", ids.join(", ")))
    })
}

fn parse(path: &Path, targets: &[Target]) -> Result<Sorted, Failure> {
    let failed = |error: io::Error| {
        Failure::usage(format!("cannot read the feed {}: {error}", path.display()))
            .hint("name a readable file, or - for standard input")
    };
    if path == Path::new("-") {
        // What flows cannot be read a second time, so it is kept.
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        return read(Cursor::new(bytes), targets);
    }
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let bar = ProgressBar::with_draw_target(Some(size), draw_target());
    let template = "{msg} {wide_bar} {bytes}/{total_bytes}";
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message("reading");
    let sorted = read(bar.wrap_read(file), targets);
    bar.finish_and_clear();
    sorted
}

fn read(source: impl Read + Seek, targets: &[Target]) -> Result<Sorted, Failure> {
    import::read(source, targets, Clock::system().now())
        .map_err(|unreadable| Failure::usage(unreadable.message).hint(unreadable.hint))
}

fn draw_target() -> ProgressDrawTarget {
    if io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

fn document(changes: &[Change<'_>], unplaced: &Report, dry_run: bool, split: bool) -> Value {
    let of = |change: &Change<'_>| {
        let replacement = change.replacement;
        json!({
            "dealer": change.dealer_id,
            "dry_run": dry_run,
            "inventory": {
                "before": replacement.before,
                "added": replacement.added,
                "changed": replacement.changed,
                "unchanged": replacement.unchanged,
                "removed": replacement.removed,
            },
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

fn print(output: Output, changes: &[Change<'_>], unplaced: &Report, arguments: &Arguments) {
    for change in changes {
        let report = &change.feed.report;
        output.line(tables(Fit::Terminal, change.replacement, report).join("\n\n"));
        if report.skipped > SHOWN {
            let more = report.skipped - SHOWN;
            output.talk(format!("{more} more skipped; --json lists them"));
        }
        if !report.ignored_columns.is_empty() {
            output.talk(format!("ignored columns: {}", report.ignored_columns.join(", ")));
        }
        for doubt in &report.doubts {
            output.talk(format!("taken by --force: {doubt}"));
        }
        let done = if arguments.dry_run {
            "nothing was changed: this was a dry run"
        } else {
            "the inventory was replaced"
        };
        output.talk(format!("{}: {done}", change.dealer_id));
    }
    for reason in reasons(unplaced) {
        output.talk(format!("of no dealer that is known: {reason}"));
    }
}

/// Which column fed each field, and what fed nothing.
fn explanation(fit: Fit, report: &Report) -> Vec<String> {
    let fields: Vec<_> = report
        .fields
        .iter()
        .filter(|field| field.has > 0 || !field.columns.is_empty())
        .map(|field| {
            let columns: Vec<String> = field
                .columns
                .iter()
                .map(|column| format!("{} ({})", column.column, column.filled))
                .collect();
            let share = (field.has * 100).checked_div(report.accepted).unwrap_or_default();
            vec![
                field.field.to_owned(),
                format!("{share}%"),
                field.has.to_string(),
                columns.join(", "),
            ]
        })
        .collect();
    let headings = [
        Column::Text("field"),
        Column::Number("full"),
        Column::Number("units"),
        Column::Text("from column (rows)"),
    ];
    let mut tables = vec![rows(fit, &headings, &fields)];
    let unused: Vec<_> = report
        .unused_columns
        .iter()
        .filter(|column| column.filled > 0)
        .map(|column| vec![column.filled.to_string(), column.column.clone()])
        .collect();
    if !unused.is_empty() {
        let headings = [Column::Number("rows"), Column::Text("column that fed nothing")];
        tables.push(rows(fit, &headings, &unused));
    }
    tables
}

/// What people read about an import.
fn tables(fit: Fit, replacement: Replacement, report: &Report) -> Vec<String> {
    let numbers = |columns: [(&'static str, usize); 5]| {
        let headings = columns.map(|(heading, _)| Column::Number(heading));
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
            Column::Number(report.place()),
            Column::Text("skipped because"),
            Column::Text("details"),
        ];
        let skips: Vec<_> = report
            .skips
            .iter()
            .take(SHOWN)
            .map(|skip| vec![skip.line.to_string(), skip.reason.to_string(), skip.message.clone()])
            .collect();
        tables.push(rows(fit, &columns, &skips));
    }
    if !report.warnings.is_empty() {
        let columns =
            [Column::Number("count"), Column::Text("warning"), Column::Text("first example")];
        let warnings: Vec<_> = report
            .warnings
            .iter()
            .map(|warning| {
                let example = warning.examples.first().map(|example| match example.line {
                    Some(line) => format!("{} {line}: {}", report.place(), example.message),
                    None => example.message.clone(),
                });
                let summary = warning.kind.summary().to_owned();
                vec![warning.count.to_string(), summary, example.unwrap_or_default()]
            })
            .collect();
        tables.push(rows(fit, &columns, &warnings));
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(before: usize, removed: usize) -> Replacement {
        Replacement { before, removed, ..Replacement::default() }
    }

    fn report(rows: usize, accepted: usize) -> Report {
        Report { rows, accepted, ..Report::default() }
    }

    /// The arguments with which a feed is imported, after those that name it.
    fn arguments(more: &[&str]) -> Arguments {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: Arguments,
        }
        let line = ["import", "feed.csv"].iter().chain(more);
        <Line as clap::Parser>::try_parse_from(line).unwrap().arguments
    }

    fn target() -> Target {
        let rooftop = import::Rooftop { name: "Acme".into(), feed_names: Vec::new(), fees: 0 };
        Target { dealer_id: "acme".into(), name: "Acme".into(), rooftops: vec![rooftop] }
    }

    fn feed(text: &str) -> Feed {
        let now = "2026-11-20T17:00:00Z".parse().unwrap();
        let sorted = import::read(Cursor::new(text), &[target()], now).unwrap();
        sorted.feeds.into_iter().next().unwrap()
    }

    #[test]
    fn a_feed_is_refused_only_when_more_than_the_permitted_share_vanishes() {
        for (before, removed, max_drop, refused) in [
            (0, 0, Some(0), false),
            (100, 25, None, false),
            (100, 26, None, true),
            (100, 50, Some(50), false),
            (100, 51, Some(50), true),
            (3, 2, Some(50), true),
            (100, 1, Some(0), true),
            (100, 100, Some(100), false),
        ] {
            let planned = planned(before, removed);
            let option = max_drop.map(|percent: u8| format!("--max-drop={percent}"));
            let arguments = arguments(&option.iter().map(String::as_str).collect::<Vec<_>>());
            let failure = refusal(&planned, &arguments, &report(9, 9));
            assert_eq!(failure.is_some(), refused, "{planned:?} {max_drop:?}");
            if let Some(failure) = failure {
                assert_eq!(failure.exit, 2);
                assert!(failure.hint.unwrap().contains("--max-drop"));
            }
        }
    }

    #[test]
    fn a_feed_without_an_offer_is_refused_whatever_may_vanish() {
        let arguments = arguments(&["--max-drop=100", "--force"]);
        let failure = refusal(&planned(0, 0), &arguments, &report(9, 0)).unwrap();
        assert_eq!(failure.exit, 2);
        assert!(failure.message.contains("none of the feed's rows"));
        let sold = Report { sold: 9, ..report(9, 0) };
        let failure = refusal(&planned(0, 0), &arguments, &sold).unwrap();
        assert_eq!(failure.lines, ["9 rows marked as sold"]);
        let failure = refusal(&planned(0, 0), &arguments, &report(0, 0)).unwrap();
        assert_eq!(failure.message, "the feed has no rows; nothing was changed");
    }

    #[test]
    fn a_feed_that_looks_incomplete_is_refused_with_what_was_found_and_taken_by_force() {
        const HEADING: &str = "Stock,VIN,Make,Model,Type,Price\n";
        const ROW: &str = "A1,1HGCV1F33NA000003,Honda,Accord,Used,20000\n";
        const OTHER: &str = "A2,1HGCV1F35NA000004,Honda,Accord,Used,20000\n";
        for (text, found) in [
            (format!("{HEADING}{ROW}"), ""),
            (format!("{HEADING}{ROW}A2,1HGCV1F35NA000004,Hon"), "ends in the middle of line 3"),
            (
                format!("{HEADING}{ROW}A2,,Honda,\"Accord,Used,1\n"),
                "opens in line 3 is never closed",
            ),
            (format!("{}{}", HEADING.replace("Type", "Kind"), ROW), "understood as the condition"),
            (format!("{}{}", HEADING.replace("VIN", "Frame"), ROW), "understood as the VIN"),
            (
                format!("{HEADING}{}{}", ROW.replace("Honda", ""), OTHER.replace("Honda", "")),
                "2 of 2 units have no make, from \"Make\"",
            ),
            (format!("{HEADING}{}{OTHER}", ROW.replace("Honda", "")), ""),
            (format!("{HEADING}{}", ROW.replace("Accord", " - ")), "1 of 1 units have no model"),
            (format!("{HEADING}{}", ROW.replace("20000", "0")), "1 of 1 units have no price"),
            (format!("{HEADING}{}", ROW.replace("20000", "20000 EUR")), "have no price"),
            (format!("{HEADING}{}", ROW.replace("20000", "Call us")), ""),
            (
                r#"[{"stock":"A1","vin":"1HGCV1F33NA000003","make":"Honda","model":"Accord",
                    "condition":"used","price":1000},{"stock":"A2""#
                    .to_owned(),
                "middle of the JSON, at line 2",
            ),
        ] {
            let feed = feed(&text);
            let failure = refusal(&planned(0, 0), &arguments(&[]), &feed.report);
            let lines = failure.map(|failure| failure.lines).unwrap_or_default();
            assert_eq!(lines.is_empty(), found.is_empty(), "{text}: {lines:?}");
            let first = lines.first().cloned().unwrap_or_default();
            assert!(first.contains(found), "{text}: {first}");
            let forced = refusal(&planned(0, 0), &arguments(&["--force"]), &feed.report);
            assert!(forced.is_none(), "{text}");
        }
    }

    #[test]
    fn people_read_the_counts_the_first_skipped_rows_and_every_kind_of_warning() {
        let mut text = String::from("Stock,Status,Year,Price\nA1,,soon,20000\n");
        for index in 0..SHOWN + 5 {
            text.push_str(&format!("B{index},In Production,,\n"));
        }
        let text = tables(Fit::Unbounded, planned(7, 3), &feed(&text).report);
        let [summary, changes, skips, warnings] = text.as_slice() else { panic!("{text:?}") };
        assert!(summary.contains("26") && summary.contains("25"), "{summary}");
        assert!(changes.contains('7') && changes.contains('3'), "{changes}");
        assert_eq!(skips.matches("in_production").count(), SHOWN, "{skips}");
        assert!(warnings.contains("line 2") && warnings.contains("model year"), "{warnings}");
    }

    #[test]
    fn an_explanation_shows_what_fed_each_field_and_what_fed_nothing() {
        let feed = feed(
            "Stock,Type,Internet_Price,SellingPrice,Invoice,Paint,Image[0].URL,Photo 2\n\
             A1,Used,,20000,1,Red,https://a.example/1.jpg,https://a.example/2.jpg\n\
             A2,N/A,NULL,21000,2,,,\n",
        );
        assert_eq!(feed.units[0].vehicle.photos.len(), 2);
        let text = explanation(Fit::Unbounded, &feed.report).join("\n\n");
        expect_test::expect![[r#"
            FIELD       FULL  UNITS  FROM COLUMN (ROWS)
            stock       100%      2  Stock (2)
            vehicle_id  100%      2
            rooftop     100%      2
            condition    50%      1  Type (1)
            status      100%      2
            price       100%      2  Internet_Price (0), SellingPrice (2)
            photos       50%      1  Image[0].URL (1), Photo 2 (1)

            ROWS  COLUMN THAT FED NOTHING
               2  Invoice
               1  Paint"#]]
        .assert_eq(&text);
    }
}
