//! `tradepost import`: replace a dealer's inventory with a feed.
//!
//! All or nothing: the feed is read whole, what it would change is computed first, and only a
//! plausible one is stored. A truncated upload must not empty the shop window.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::output::table::{Column, Fit, rows};
use super::output::{Failure, Output};
use super::{Context, Outcome, dealers};
use crate::aap::import::{self, Feed, Report, Target};
use crate::clock::Clock;
use crate::config::{Config, Dealer};
use crate::store::{Replacement, Store};

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
    #[command(flatten)]
    dealers: dealers::Source,
    /// The folder in which `serve` keeps its data.
    #[arg(long, value_name = "DIR", default_value = dealers::DATA)]
    data: PathBuf,
    /// Refuse the feed when more than this share of the units on offer would vanish.
    #[arg(long, value_name = "PERCENT", default_value_t = 50,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    max_drop: u8,
    /// Report what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let config = arguments.dealers.load(&context.environment)?;
    let dealer = pick(&config, arguments.dealer.as_deref())?;
    let bytes = bytes_of(&arguments.file)?;
    let feed = parse(&bytes, &Target::of(dealer))?;
    let replacement = replace(&dealer.id, &feed, &arguments)?;
    let document = document(&dealer.id, arguments.dry_run, replacement, &feed.report);
    if context.output.is_json() {
        context.output.document(&document);
    } else {
        print(context.output, &dealer.id, arguments.dry_run, replacement, &feed.report);
    }
    Ok(())
}

/// Stores the feed, unless it looks like an accident.
fn replace(dealer_id: &str, feed: &Feed, arguments: &Arguments) -> Result<Replacement, Failure> {
    let now = Clock::system().now();
    // Opening creates, and a dry run leaves nothing behind.
    let has_store = !arguments.dry_run || Store::exists(&arguments.data);
    let store = has_store.then(|| dealers::open(&arguments.data)).transpose()?;
    let replace = |store: &Store, dry_run| {
        store
            .replace_inventory(dealer_id, &feed.units, now, dry_run)
            .map_err(|fault| Failure::fault(&fault))
    };
    let planned = match &store {
        Some(store) => replace(store, true)?,
        None => Replacement { added: feed.report.accepted, ..Replacement::default() },
    };
    if let Some(refused) = refusal(&planned, arguments.max_drop, &feed.report) {
        let document = document(dealer_id, true, planned, &feed.report);
        return Err(Failure { data: Some(document), ..refused });
    }
    match store {
        Some(store) if !arguments.dry_run => replace(&store, false),
        Some(_) | None => Ok(planned),
    }
}

/// Why a feed must not be stored, if so.
fn refusal(planned: &Replacement, max_drop: u8, report: &Report) -> Option<Failure> {
    let mut failure = if report.rows == 0 {
        Failure::usage("the feed has no rows; nothing was changed")
            .hint("look whether the right file was uploaded, and whether it was complete")
    } else if report.accepted == 0 {
        let message = "none of the feed's rows can be offered; nothing was changed";
        Failure::usage(message)
            .hint("correct the rows as described, or look whether the right file was uploaded")
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
    let rows = |count| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
    let sold = (report.accepted == 0 && report.sold > 0)
        .then(|| format!("{} marked as sold", rows(report.sold)));
    failure.lines =
        sold.into_iter()
            .chain(
                report.reasons.iter().map(|entry| {
                    format!("{} skipped: {}", rows(entry.count), entry.kind.summary())
                }),
            )
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

/// Whether more than `max_drop` percent of the units on offer would vanish.
fn is_too_much(planned: &Replacement, max_drop: u8) -> bool {
    planned.removed.saturating_mul(100) > planned.before.saturating_mul(usize::from(max_drop))
}

pub(super) fn pick<'c>(config: &'c Config, id: Option<&str>) -> Result<&'c Dealer, Failure> {
    let found = match (id, config.dealers.as_slice()) {
        (Some(id), dealers) => dealers.iter().find(|dealer| dealer.id == id),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        let ids: Vec<&str> = config.dealers.iter().map(|d| d.id.as_str()).collect();
        let message = match id {
            Some(_) => "the configuration has no dealer with this id",
            None => "the configuration has several dealers",
        };
        Failure::usage(message).hint(format!("use --dealer with one of: {}", ids.join(", ")))
    })
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    // One byte more than is permitted tells a large file from one that is too large.
    let limit = import::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| {
        Failure::usage(format!("cannot read the feed {}: {error}", path.display()))
            .hint("name a readable file, or - for standard input")
    })?;
    Ok(bytes)
}

fn parse(bytes: &[u8], target: &Target) -> Result<Feed, Failure> {
    let bar = ProgressBar::with_draw_target(None, draw_target());
    let template = "{msg} {wide_bar} {bytes}/{total_bytes}";
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message("reading");
    let feed = import::read_with(bytes, target, Clock::system().now(), &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    feed.map_err(|unreadable| Failure::usage(unreadable.message).hint(unreadable.hint))
}

fn draw_target() -> ProgressDrawTarget {
    if io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

fn document(dealer_id: &str, dry_run: bool, replacement: Replacement, report: &Report) -> Value {
    json!({
        "dealer": dealer_id,
        "dry_run": dry_run,
        "inventory": {
            "before": replacement.before,
            "added": replacement.added,
            "changed": replacement.changed,
            "unchanged": replacement.unchanged,
            "removed": replacement.removed,
        },
        "report": report,
    })
}

fn print(
    output: Output,
    dealer_id: &str,
    dry_run: bool,
    replacement: Replacement,
    report: &Report,
) {
    output.line(tables(Fit::Terminal, replacement, report).join("\n\n"));
    if report.skipped > SHOWN {
        let more = report.skipped - SHOWN;
        output.talk(format!("{more} more skipped; --json lists them"));
    }
    if !report.ignored_columns.is_empty() {
        output.talk(format!("ignored columns: {}", report.ignored_columns.join(", ")));
    }
    let done = if dry_run {
        "nothing was changed: this was a dry run"
    } else {
        "the inventory was replaced"
    };
    output.talk(format!("{dealer_id}: {done}"));
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

    #[test]
    fn a_feed_is_refused_only_when_more_than_the_permitted_share_vanishes() {
        for (before, removed, max_drop, refused) in [
            (0, 0, 0, false),
            (100, 50, 50, false),
            (100, 51, 50, true),
            (3, 2, 50, true),
            (100, 1, 0, true),
            (100, 100, 100, false),
        ] {
            let planned = planned(before, removed);
            let failure = refusal(&planned, max_drop, &report(9, 9));
            assert_eq!(failure.is_some(), refused, "{planned:?} {max_drop}");
            if let Some(failure) = failure {
                assert_eq!(failure.exit, 2);
                assert!(failure.hint.unwrap().contains("--max-drop"));
            }
        }
    }

    #[test]
    fn a_feed_without_an_offer_is_refused_whatever_may_vanish() {
        let failure = refusal(&planned(0, 0), 100, &report(9, 0)).unwrap();
        assert_eq!(failure.exit, 2);
        assert!(failure.message.contains("none of the feed's rows"));
        let sold = Report { sold: 9, ..report(9, 0) };
        let failure = refusal(&planned(0, 0), 100, &sold).unwrap();
        assert_eq!(failure.lines, ["9 rows marked as sold"]);
        let failure = refusal(&planned(0, 0), 100, &report(0, 0)).unwrap();
        assert_eq!(failure.message, "the feed has no rows; nothing was changed");
    }

    #[test]
    fn people_read_the_counts_the_first_skipped_rows_and_every_kind_of_warning() {
        let target = Target { dealer_id: "acme".into(), rooftops: vec![("Acme".into(), 0)] };
        let mut text = String::from("Stock,Status,Year,Price\nA1,,soon,20000\n");
        for index in 0..SHOWN + 5 {
            text.push_str(&format!("B{index},In Production,,\n"));
        }
        let now = "2026-11-20T17:00:00Z".parse().unwrap();
        let report = import::read(text.as_bytes(), &target, now).unwrap().report;
        let text = tables(Fit::Unbounded, planned(7, 3), &report);
        let [summary, changes, skips, warnings] = text.as_slice() else { panic!("{text:?}") };
        assert!(summary.contains("26") && summary.contains("25"), "{summary}");
        assert!(changes.contains('7') && changes.contains('3'), "{changes}");
        assert_eq!(skips.matches("in_production").count(), SHOWN, "{skips}");
        assert!(warnings.contains("line 2") && warnings.contains("model year"), "{warnings}");
    }
}
