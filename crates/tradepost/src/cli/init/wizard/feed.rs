//! The inventory feed: where it is, and a trial that reads it as an import would and says what was understood.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tokio::runtime::Builder;
use tradepost_dealer::import::{FeedReport, FeedTarget, Mapping, Preset, SkipReason, SortedFeed};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::feeds::{FeedConfig, FeedOrigin, MappingSource};
use tradepost_runtime::feeds::pull::{self, PullAnswer};
use tradepost_server::clock::Clock;
use tradepost_store::{FeedState, Replacement};

use super::draft::Draft;
use super::prompt::{Dialogue, Question};
use super::{DEALER, ROOFTOPS, ask_checked, ask_optional};
use crate::cli::context::runtime;
use crate::cli::import;
use crate::cli::output::CommandFailure;
use crate::cli::output::table::TableWidth;

/// Maximum number of skipped rows that are shown.
const MAX_SHOWN_SKIPS: usize = 5;

/// Asks for a feed until one is read as wanted, or left out.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    loop {
        let before = draft.clone();
        if !ask_place(dialogue, draft)? {
            dialogue.say("  no feed yet: `tradepost import FILE` reads one by hand");
            return Ok(());
        }
        if let Some(report) = tried(dialogue, draft)?
            && dialogue.confirm("Use this feed?", report.accepted > 0)?
        {
            return Ok(());
        }
        *draft = before;
    }
}

/// Asks where the feed is. Returns false when there is none yet.
fn ask_place(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<bool, CommandFailure> {
    let question = Question::new(
        "Feed: a file, a folder, or an address with https or sftp (empty: later)",
        "name a file or folder of this machine, or an address such as https://feeds.example.com/cars.csv",
    );
    let feed = draft.add(DEALER, "feeds");
    draft.set(&feed, "name", json!("inventory"));
    let has_feed = dialogue.until_accepted(question.hint, |dialogue| {
        let answer = dialogue.ask(&question)?;
        if answer.is_empty() {
            return Ok(false);
        }
        let mut candidate = draft.clone();
        let keys = set_place(&mut candidate, &feed, &answer).map_err(|reason| vec![reason])?;
        let pointers: Vec<String> = keys.iter().map(|key| format!("{feed}/{key}")).collect();
        draft.accept(candidate, &pointers)?;
        Ok(true)
    })?;
    if !has_feed {
        draft.remove(DEALER, "feeds");
        return Ok(false);
    }
    ask_sftp_files(dialogue, draft, &feed)?;
    let presets = Preset::NAMES.join(", ");
    let text = format!("Format: {presets} (empty: recognised by its headings)");
    ask_optional(dialogue, draft, &feed, "preset", &Question::new(&text, "name one of them"))?;
    Ok(true)
}

/// Sets the keys of a place, and returns those that the answer decides.
fn set_place(
    draft: &mut Draft,
    feed: &str,
    answer: &str,
) -> Result<&'static [&'static str], String> {
    if answer.contains("://") {
        draft.set(feed, "from", json!("pull"));
        draft.set(feed, "url", json!(answer));
        return Ok(&["from", "url"]);
    }
    let path = std::fs::canonicalize(answer).map_err(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            return format!("cannot read {answer}: {}", error.kind());
        }
        match std::env::current_dir() {
            Ok(folder) => format!("{} does not exist", folder.join(answer).display()),
            Err(_) => format!("{answer} does not exist"),
        }
    })?;
    let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
    let folder = folder.unwrap_or(Path::new("/")).display().to_string();
    draft.set(feed, "from", json!("folder"));
    draft.set(feed, "folder", json!(folder));
    if let Some(name) = path.file_name().filter(|_| !path.is_dir()) {
        draft.set(feed, "files", Value::from(name.to_string_lossy()));
    }
    Ok(&["from", "folder", "files"])
}

/// Asks for the two files that SFTP needs.
fn ask_sftp_files(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    feed: &str,
) -> Result<(), CommandFailure> {
    if !draft.text_at(feed, "url").is_some_and(|url| url.starts_with("sftp://")) {
        return Ok(());
    }
    let key = Question::new(
        "File with our private key for it",
        "name the file, for which `ssh-keygen` makes a key without a passphrase",
    );
    ask_checked(dialogue, draft, feed, "key_file", &key)?;
    let hosts = Question::new(
        "File with the server's host keys",
        "write it with `ssh-keyscan HOST > FILE`, and compare the keys with those of the provider",
    );
    ask_checked(dialogue, draft, feed, "known_hosts", &hosts)
}

/// Reads the feed as an import would, and shows what was understood. Returns `None` when it cannot be read.
fn tried(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<Option<FeedReport>, CommandFailure> {
    loop {
        let report = match trial(draft) {
            Ok(report) => report,
            Err(failure) => {
                let reasons = [vec![failure.message], failure.lines].concat();
                dialogue.reject(&reasons, failure.hint.as_deref().unwrap_or_default());
                return Ok(None);
            }
        };
        show(dialogue, &report);
        if report.skipped_for(SkipReason::AnotherDealer) == 0 {
            return Ok(Some(report));
        }
        let question = Question::new(
            "Name or number of the first rooftop in the feed (empty: leave these rows out)",
            "write it as the feed does",
        );
        let answer = dialogue.ask(&question)?;
        if answer.is_empty() {
            return Ok(Some(report));
        }
        draft.set(&format!("{ROOFTOPS}/0"), "feed_names", json!([answer]));
    }
}

/// Reads the feed without storing anything.
fn trial(draft: &Draft) -> Result<FeedReport, CommandFailure> {
    let dealer = draft
        .dealer()
        .map_err(|mistakes| CommandFailure::usage("the feed cannot be read yet").lines(mistakes))?;
    let feed = dealer.feeds.first();
    let feed = feed.ok_or_else(|| CommandFailure::usage("there is no feed"))?;
    let mapping = match &feed.mapping {
        Some(MappingSource::Preset(preset)) => Some(Mapping::from_preset(*preset)),
        Some(MappingSource::File(_)) | None => None,
    };
    let target = FeedTarget::from_dealer(&dealer.terms);
    let SortedFeed { feeds, .. } =
        import::read(source(feed)?, std::slice::from_ref(&target), mapping.as_ref())?;
    let read = feeds.into_iter().next();
    let report = read.map(|feed| feed.report);
    report.ok_or_else(|| CommandFailure::usage("no row of the feed names the dealer"))
}

/// Opens the newest file of a folder, or fetches the address.
fn source(feed: &FeedConfig) -> Result<File, CommandFailure> {
    match &feed.from {
        FeedOrigin::Folder(folder) => {
            let found = tradepost_runtime::feeds::folder::files(folder);
            let found = found.map_err(|error| {
                CommandFailure::usage(format!("cannot read the folder: {}", error.kind()))
            })?;
            let newest = found.into_iter().max_by(|one, other| one.mark.cmp(&other.mark));
            let path: PathBuf = newest.map(|file| file.path).ok_or_else(|| {
                CommandFailure::usage("the folder has no file yet")
                    .hint("put a feed into it first, or set the feed up later")
            })?;
            File::open(&path).map_err(|error| {
                CommandFailure::usage(format!("cannot read {}: {}", path.display(), error.kind()))
            })
        }
        FeedOrigin::Pull(place) => {
            let runtime = runtime(Builder::new_current_thread())?;
            let now = Clock::system().now();
            let fetched = runtime.block_on(pull::fetch(place, &FeedState::default(), now));
            match fetched {
                Ok(PullAnswer::Feed(file, _)) => Ok(file),
                Ok(PullAnswer::Unchanged) => Err(CommandFailure::usage("the answer has no feed")),
                Err(why) => Err(CommandFailure::usage(why)
                    .hint("check the address, and that this machine may connect to it")),
            }
        }
        FeedOrigin::Upload { .. } => {
            Err(CommandFailure::usage("an upload cannot be read in advance"))
        }
    }
}

/// Shows how many vehicles were read, the columns of each field, and what was refused.
fn show(dialogue: &Dialogue, report: &FeedReport) {
    let FeedReport { rows, accepted, sold, skipped, .. } = report;
    dialogue.say(format!(
        "  read {rows} rows: {accepted} vehicles on offer, {sold} sold, {skipped} refused"
    ));
    if let Some(preset) = report.preset {
        dialogue.say(format!("  {preset} of its headings"));
    }
    // Of no vehicle, every field is empty.
    if *accepted > 0 {
        for table in import::explanation(TableWidth::Terminal, report) {
            dialogue.say(table);
        }
    }
    for warning in &report.warnings {
        dialogue.say(format!("  warning: {} of {rows}: {}", warning.count, warning.kind.summary()));
    }
    for skip in report.skips.iter().take(MAX_SHOWN_SKIPS) {
        let place = report.place();
        dialogue
            .say(format!("  refused: {place} {}: {}: {}", skip.line, skip.reason, skip.message));
    }
    if report.skips.len() > MAX_SHOWN_SKIPS {
        dialogue.say("  and more; `tradepost import FILE --dry-run --explain` lists them");
    }
    let guard = tradepost_runtime::config::feeds::Guard { max_drop: 100, force: false };
    let planned = Replacement { added: *accepted, ..Replacement::default() };
    if let Some(objection) = guard.objection(&planned, report) {
        dialogue.say(format!("  would be held back: {}", objection.message));
        dialogue.say(format!("  hint: {}", objection.hint));
    }
}
