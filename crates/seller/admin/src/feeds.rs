//! Operations on inventory feeds: how they stand, their runs, runs that a person starts, and files that a person
//! imports.

use tradepost_dealer::import::PackedListings;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::fault::InternalError;
use tradepost_document::text::plain;
use tradepost_store::{FeedRun, FeedState, Replacement, Store, StoreTransaction};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Maximum length in characters of the name of a file in the audit log.
const LONGEST_FILE_NAME: usize = 200;

/// Refusal of an operation on feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedRefusal {
    /// The actor may not see the dealer of this id.
    UnknownDealer(String),
    /// No run of this id is stored for the feed.
    UnknownRun(String),
    /// Another feed of the dealer is being imported.
    Busy,
}

impl From<FeedRefusal> for AdminError<FeedRefusal> {
    fn from(refusal: FeedRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on feeds.
pub type FeedResult<T> = Result<T, AdminError<FeedRefusal>>;

/// Name of a feed of a dealer. The configuration says which feeds there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedName {
    /// Id of the dealer.
    pub dealer_id: String,
    /// Name of the feed.
    pub feed: String,
}

/// State of a feed, and its last run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedStanding {
    /// Its state.
    pub state: FeedState,
    /// Its last run, if there was one.
    pub last: Option<FeedRun>,
}

impl FeedStanding {
    /// Reads how a feed stands, for pages that show it among other things.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub fn read(store: &Store, dealer_id: &str, feed: &str) -> Result<Self, InternalError> {
        let state = store.feed_state(dealer_id, feed)?;
        let last = store.feed_runs(dealer_id, feed, 1)?.into_iter().next();
        Ok(Self { state, last })
    }
}

/// Feeds to list.
#[derive(Debug, Clone)]
pub struct ListFeeds {
    /// The feeds that are configured.
    pub feeds: Vec<FeedName>,
}

/// Returns how feeds stand, in the order of the input.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see a dealer, or the store fails.
pub fn list_feeds(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ListFeeds,
) -> FeedResult<Vec<FeedStanding>> {
    context.permit(actor, AdminOperation::ListFeeds)?;
    let mut standings = Vec::with_capacity(input.feeds.len());
    for FeedName { dealer_id, feed } in input.feeds {
        check_dealer(actor, &dealer_id)?;
        standings.push(FeedStanding::read(context.store, &dealer_id, &feed)?);
    }
    Ok(standings)
}

/// Feed to show.
#[derive(Debug, Clone)]
pub struct ShowFeed {
    /// The feed.
    pub name: FeedName,
    /// Id of the run whose report is shown; the last one when `None`.
    pub run_id: Option<String>,
}

/// A feed with all its stored runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedHistory {
    /// Its state.
    pub state: FeedState,
    /// Its runs, the latest first.
    pub runs: Vec<FeedRun>,
    /// The run whose report is shown; `None` when the feed has not run yet.
    pub shown: Option<FeedRun>,
}

/// Returns a feed with its runs.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, there is no such run, or the
/// store fails.
pub fn show_feed(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ShowFeed,
) -> FeedResult<FeedHistory> {
    context.permit(actor, AdminOperation::ShowFeed)?;
    let ShowFeed { name, run_id } = input;
    let FeedName { dealer_id, feed } = name;
    check_dealer(actor, &dealer_id)?;
    let state = context.store.feed_state(&dealer_id, &feed)?;
    // All stored runs, so that a named one is found.
    let runs = context.store.feed_runs(&dealer_id, &feed, u32::MAX)?;
    let shown = match run_id {
        Some(id) => {
            let found = runs.iter().find(|run| run.run_id == id).cloned();
            Some(found.ok_or(FeedRefusal::UnknownRun(id))?)
        }
        None => runs.first().cloned(),
    };
    Ok(FeedHistory { state, runs, shown })
}

/// Feed to run.
#[derive(Debug, Clone)]
pub struct RunFeed {
    /// The feed.
    pub name: FeedName,
}

/// Record of a run that a person starts, for the transaction that stores the run.
#[derive(Debug, Clone)]
pub struct FeedRunRecord {
    entry: NewAuditEntry,
}

impl FeedRunRecord {
    /// Records the run with its id and its outcome.
    ///
    /// # Errors
    /// Fails when the database fails.
    pub fn write(&self, tx: &StoreTransaction<'_>, run: &FeedRun) -> Result<(), InternalError> {
        let detail = Some(format!("{} {}", run.run_id, run.outcome));
        tx.record(&NewAuditEntry { at: run.ended_at, detail, ..self.entry.clone() })
    }
}

/// Runs a feed now. `import` reads its file and changes the inventory, which needs more than the
/// store: it returns the stored run, which it has recorded in the same transaction, or `None` when
/// another run has the lease on the inventory.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, another feed of the dealer is
/// being imported, or the store fails.
pub fn run_feed(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RunFeed,
    import: impl FnOnce(FeedRunRecord) -> Result<Option<FeedRun>, InternalError>,
) -> FeedResult<FeedRun> {
    context.permit(actor, AdminOperation::RunFeed)?;
    let FeedName { dealer_id, feed } = input.name;
    check_dealer(actor, &dealer_id)?;
    let entry = context.entry(actor, &dealer_id, AuditAction::FeedRun, Some(&feed));
    let run = import(FeedRunRecord { entry })?;
    run.ok_or_else(|| FeedRefusal::Busy.into())
}

/// Inventory from a file.
#[derive(Debug, Clone)]
pub struct ImportInventory {
    /// Id of the dealer.
    pub dealer_id: String,
    /// Name of the file for the audit log, without its folder.
    pub file: String,
    /// All listings of the inventory.
    pub listings: PackedListings,
}

/// Makes the listings of a file the whole inventory of a dealer, and records what changed. All or nothing.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, or the store fails.
pub fn import_inventory(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ImportInventory,
) -> FeedResult<Replacement> {
    context.permit(actor, AdminOperation::ImportInventory)?;
    let ImportInventory { dealer_id, file, listings } = input;
    check_dealer(actor, &dealer_id)?;
    let now = context.now;
    let file = plain(&file, LONGEST_FILE_NAME);
    let entry = context.entry(actor, &dealer_id, AuditAction::InventoryImported, Some(&file));
    Ok(context.store.write_blocking(move |tx| {
        let done = tx.replace_inventory(&dealer_id, &listings, now, false)?;
        let Replacement { before: _, added, changed, unchanged, removed } = done;
        let detail =
            format!("{added} added, {changed} changed, {removed} removed, {unchanged} unchanged");
        tx.record(&NewAuditEntry { detail: Some(detail), ..entry.clone() })?;
        Ok(done)
    })?)
}

/// Checks that the actor may see a dealer.
fn check_dealer(actor: &Actor, dealer_id: &str) -> Result<(), FeedRefusal> {
    if actor.sees_dealer(dealer_id) {
        return Ok(());
    }
    Err(FeedRefusal::UnknownDealer(dealer_id.to_owned()))
}
