//! What must survive a crash: listings, leads, appointments, idempotency keys and cards. Every
//! query is named for its intent; SQL is in `store/sqlite.rs` and below only.
//!
//! One thread writes. It takes the jobs that wait, runs each in a savepoint of one transaction,
//! commits once for all of them, and only then tells anybody that anything happened.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tradepost_publisher::shelf::Shelf;
use tradepost_wire::aap::{Vehicle, Version};

use crate::aap::import::Unit;
use crate::aap::inventory::Tombstone;
use crate::fault::Fault;
use crate::gate::Scope;

pub mod inbox;
mod sqlite;
mod writer;

pub use sqlite::Transaction;
pub use sqlite::leads::{ClaimedReply, NewLead};
pub use sqlite::push::{PushBusy, PushKept, PushPlace, PushTarget};
pub use sqlite::tasks::{Entry, EntryKind, Owner, TaskFilter, TaskRow};

/// The database's name in the data folder.
const FILE: &str = "tradepost.sqlite";

/// The store. One writer, any number of readers; cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Store {
    writer: writer::Writer,
    reader: Mutex<sqlite::Database>,
    /// Every request with a key reads it, and must not wait for somebody who reads an inventory.
    key_reader: Mutex<sqlite::Database>,
    /// Publishers read for each request, too.
    shelf_reader: Mutex<sqlite::Database>,
}

/// An API key, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its public part.
    pub id: String,
    /// Whose callers it lets in.
    pub dealer_id: String,
    /// The caller's name. Several keys may share it, and are the same caller then.
    pub name: String,
    /// SHA-256 of the whole key.
    pub hash: [u8; 32],
    /// What it permits; everything when `None`.
    pub scopes: Option<BTreeSet<Scope>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The day (UTC) on which it was used last.
    pub last_used_on: Option<Date>,
}

/// A lead as it was submitted. A lead submitted again as a duplicate is a further record with the
/// same `lead_id`, because every consent is kept (`R-LD-19`).
#[derive(Debug, Clone, PartialEq)]
pub struct LeadRecord {
    /// The lead.
    pub lead_id: String,
    /// Whose.
    pub dealer_id: String,
    /// When this submission was received.
    pub received_at: Timestamp,
    /// Whether this submission repeats an earlier one.
    pub duplicate: bool,
    /// The AAP version it came in.
    pub version: Version,
    /// Who sent it: the credential's name or `anonymous`.
    pub principal: String,
    /// The payload as it was sent (`lead.submit.request`), consent included.
    pub payload: Value,
    /// The rooftop that takes care of it.
    pub rooftop: Option<String>,
    /// The listing that the vehicle of interest matched, as it was then.
    pub listing: Option<Value>,
    /// The appointment that this submission asked for.
    pub appointment: Option<AppointmentRecord>,
}

/// An appointment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppointmentRecord {
    /// The dealer's id of it.
    pub appointment_id: String,
    /// What for: `sales`, `service`, `test_drive`, `trade_in`.
    pub kind: String,
    /// `requested`, `proposed`, `confirmed` or `rejected`; `superseded` when the customer has
    /// booked another time for the same lead since.
    pub status: String,
    /// When it was asked to start.
    pub requested_at: Option<Timestamp>,
    /// When it starts, exactly when confirmed.
    pub starts_at: Option<Timestamp>,
    /// When it ends, exactly when confirmed.
    pub ends_at: Option<Timestamp>,
    /// The times proposed instead.
    pub proposed: Vec<Timestamp>,
}

/// What a replacement of the inventory did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replacement {
    /// Units that are new on offer.
    pub added: usize,
    /// Units whose listing changed.
    pub changed: usize,
    /// Units as they were; their `updated_at` is confirmed.
    pub unchanged: usize,
    /// Units that were on offer and are no longer in the feed, or are sold: now tombstones.
    pub removed: usize,
    /// Units on offer before.
    pub before: usize,
}

/// Under which id a card is published, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardIdentity {
    /// The extension entries' `params.id` (`R-CARD-08`).
    pub id: String,
    /// When the card last changed.
    pub modified_at: Timestamp,
}

impl Store {
    /// Opens or creates the store in a folder.
    ///
    /// # Errors
    /// When the folder or the database in it cannot be used.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        create_private(directory).map_err(Fault::on("creating the data folder"))?;
        let path = directory.join(FILE);
        let database = sqlite::Database::open(&path)?;
        let reader = Mutex::new(sqlite::Database::open(&path)?);
        let key_reader = Mutex::new(sqlite::Database::open(&path)?);
        let shelf_reader = Mutex::new(sqlite::Database::open(&path)?);
        Ok(Self { writer: writer::Writer::start(database)?, reader, key_reader, shelf_reader })
    }

    /// Whether a folder holds a store.
    #[must_use]
    pub fn exists(directory: &Path) -> bool {
        directory.join(FILE).is_file()
    }

    /// Runs `job` in a transaction and returns when it is on disk. When `job` fails or panics, or
    /// the commit fails, nothing has changed.
    ///
    /// # Errors
    /// What the job returned, or that the database failed.
    pub async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.writer.submit(job, move |outcome| {
            // The caller may have gone; its work is done all the same.
            let _ = sender.send(outcome);
        })?;
        receiver.await.map_err(Fault::on("waiting for the writer"))?
    }

    /// The same for callers without an executor.
    ///
    /// # Errors
    /// What the job returned, or that the database failed.
    pub fn write_blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.writer.submit(job, move |outcome| {
            let _ = sender.send(outcome);
        })?;
        receiver.recv().map_err(Fault::on("waiting for the writer"))?
    }

    fn read<T>(&self, job: impl FnOnce(&sqlite::Database) -> Result<T, Fault>) -> Result<T, Fault> {
        let reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        job(&reader)
    }

    /// Lets a job read what a publisher keeps, in one consistent state.
    ///
    /// # Errors
    /// When the database fails.
    pub fn read_shelf(
        &self,
        publisher: &str,
        job: &mut dyn FnMut(&dyn Shelf),
    ) -> Result<(), Fault> {
        let reader = self.shelf_reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        reader.read_shelf(publisher, job)
    }

    /// Makes `units` the whole inventory of a dealer, or with `dry_run` only says what would
    /// change. All or nothing.
    ///
    /// # Errors
    /// When the database fails; nothing has changed then.
    pub fn replace_inventory(
        &self,
        dealer_id: &str,
        units: &[Unit],
        now: Timestamp,
        dry_run: bool,
    ) -> Result<Replacement, Fault> {
        let dealer_id = dealer_id.to_owned();
        let rows = units.iter().map(sqlite::inventory::Row::new).collect::<Result<Vec<_>, _>>()?;
        self.write_blocking(move |tx| tx.replace_inventory(&dealer_id, &rows, now, dry_run))
    }

    /// A dealer's listings, and the tombstones that are younger than `lifetime`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn inventory(
        &self,
        dealer_id: &str,
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<(Vec<Vehicle>, Vec<Tombstone>), Fault> {
        self.read(|db| db.inventory(dealer_id, now, lifetime))
    }

    /// A number that grows whenever the dealer's inventory is replaced, by whatever process.
    ///
    /// # Errors
    /// When the database fails.
    pub fn inventory_generation(&self, dealer_id: &str) -> Result<i64, Fault> {
        self.read(|db| db.inventory_generation(dealer_id))
    }

    /// The identity of a dealer's card with this content hash: a new one exactly when the content
    /// differs from what was published last. `fresh_id` is taken for a new one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn card_identity(
        &self,
        dealer_id: &str,
        content_hash: &str,
        fresh_id: String,
        now: Timestamp,
    ) -> Result<CardIdentity, Fault> {
        let (dealer_id, content_hash) = (dealer_id.to_owned(), content_hash.to_owned());
        self.write_blocking(move |tx| tx.card_identity(&dealer_id, &content_hash, fresh_id, now))
    }

    /// The key with this id, of this dealer. It is read from the database each time, so that what
    /// other processes create or revoke holds from the next request on.
    ///
    /// # Errors
    /// When the database fails.
    pub fn api_key(&self, dealer_id: &str, id: &str) -> Result<Option<ApiKey>, Fault> {
        let reader = self.key_reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        reader.api_key(dealer_id, id)
    }

    /// Every key, the newest last; of one dealer when `dealer_id` is given.
    ///
    /// # Errors
    /// When the database fails.
    pub fn api_keys(&self, dealer_id: Option<&str>) -> Result<Vec<ApiKey>, Fault> {
        self.read(|db| db.api_keys(dealer_id))
    }

    /// Keeps a new key. Without `same_caller` its name must be new to the dealer, whatever became
    /// of other keys: who has a name owns what belongs to it. Returns whether it was kept.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_api_key(&self, key: ApiKey, same_caller: bool) -> Result<bool, Fault> {
        self.write_blocking(move |tx| tx.add_api_key(&key, same_caller))
    }

    /// Ends a key now. Returns it, as it was before; `None` when there is no such key.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_api_key(&self, id: &str, now: Timestamp) -> Result<Option<ApiKey>, Fault> {
        let id = id.to_owned();
        self.write_blocking(move |tx| tx.revoke_api_key(&id, now))
    }

    /// Notes the day on which a key was used, when there is time. Nobody waits for it, and a
    /// failure is no reason to turn a caller away.
    pub fn note_api_key_use(&self, id: &str, day: Date) {
        let id = id.to_owned();
        let submitted = self.writer.submit(
            move |tx| tx.note_api_key_use(&id, day),
            |outcome| {
                if let Err(fault) = outcome {
                    tracing::warn!(cause = %fault.chain(), "the use of a key was not noted");
                }
            },
        );
        if let Err(fault) = submitted {
            tracing::warn!(cause = %fault.chain(), "the use of a key was not noted");
        }
    }

    /// Whether the store can begin to write. That the disk is full shows only when something is
    /// written, and then nothing is acknowledged.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn check(&self) -> Result<(), Fault> {
        self.write(|_| Ok(())).await
    }

    /// Queues `job` and returns at once; `done` is called after the commit, in the order of the
    /// queue.
    ///
    /// # Errors
    /// When the writer is gone.
    pub fn submit<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
        done: impl FnOnce(Result<T, Fault>) + Send + 'static,
    ) -> Result<(), Fault> {
        self.writer.submit(job, done)
    }

    /// A secret of this store by name; `fresh` becomes it when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn secret(&self, name: &'static str, fresh: Vec<u8>) -> Result<Vec<u8>, Fault> {
        self.write_blocking(move |tx| tx.secret(name, &fresh))
    }

    /// The owner's task.
    ///
    /// # Errors
    /// When the database fails.
    pub fn task(&self, owner: &Owner, task_id: &str) -> Result<Option<TaskRow>, Fault> {
        self.read(|db| db.task(owner, task_id))
    }

    /// Entries of a task's log after one and up to another, at most `limit`; those of artifacts
    /// only when asked for.
    ///
    /// # Errors
    /// When the database fails.
    pub fn task_entries(
        &self,
        task_id: &str,
        range: (i64, i64),
        with_artifacts: bool,
        limit: usize,
    ) -> Result<Vec<Entry>, Fault> {
        self.read(|db| db.task_entries(task_id, range, with_artifacts, limit))
    }

    /// The owner's tasks, newest state first, after the one with this moment and id; and how many
    /// match in all.
    ///
    /// # Errors
    /// When the database fails.
    pub fn tasks(
        &self,
        owner: &Owner,
        filter: &TaskFilter,
        after: Option<(Timestamp, String)>,
        limit: usize,
    ) -> Result<(Vec<TaskRow>, usize), Fault> {
        self.read(|db| db.tasks(owner, filter, after, limit))
    }

    /// An agent's tasks that somebody was working on when the store was last used.
    ///
    /// # Errors
    /// When the database fails.
    pub fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, Fault> {
        self.read(|db| db.unfinished_tasks(agent_id))
    }

    /// The webhooks of the owner's task after one id, by id, at most `limit`; with `only` that one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_configs(
        &self,
        owner: &Owner,
        task_id: &str,
        only: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<PushPlace>, Fault> {
        self.read(|db| db.push_configs(owner, task_id, only, after, limit))
    }

    /// A webhook by its key, unless it was deleted, replaced or given up.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_place(&self, key: i64) -> Result<Option<PushPlace>, Fault> {
        self.read(|db| db.push_place(key))
    }

    /// An agent's webhooks that are due, the longest due first, without the busy ones.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_due(
        &self,
        agent_id: &str,
        now: Timestamp,
        busy: &PushBusy,
        limit: usize,
    ) -> Result<Vec<PushPlace>, Fault> {
        self.read(|db| db.push_due(agent_id, now, busy, limit))
    }

    /// When the next of an agent's webhooks becomes due after a moment.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_next_due(
        &self,
        agent_id: &str,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, Fault> {
        self.read(|db| db.push_next_due(agent_id, after))
    }

    /// Webhooks of all agents and owners that were given up, and with `waiting` also those whose
    /// last attempt failed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_troubled(&self, waiting: bool) -> Result<Vec<PushPlace>, Fault> {
        self.read(|db| db.push_troubled(waiting))
    }

    /// Takes webhooks that were given up on again, from where they were: all of them, those of a
    /// task, or one. Returns how many.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revive_push_configs(
        &self,
        task_id: Option<String>,
        config_id: Option<String>,
        now: Timestamp,
    ) -> Result<usize, Fault> {
        self.write_blocking(move |tx| {
            tx.revive_push_configs(task_id.as_deref(), config_id.as_deref(), now)
        })
    }

    /// Leads, newest first; of one dealer when `dealer_id` is given. Duplicates are left out.
    ///
    /// # Errors
    /// When the database fails.
    pub fn leads(&self, dealer_id: Option<&str>) -> Result<Vec<LeadRecord>, Fault> {
        self.read(|db| db.leads(dealer_id))
    }

    /// Every submission of a lead, the first one first; empty when there is no such lead.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead(&self, lead_id: &str) -> Result<Vec<LeadRecord>, Fault> {
        self.read(|db| db.lead(lead_id))
    }
}

/// Creates a folder that only its owner can read: it holds personal data.
fn create_private(directory: &Path) -> std::io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
