//! Data that must survive a crash: tasks with their webhooks, the keys of callers, and what dealers and publishers
//! store, such as listings, leads, appointments and media buys. Every query is named for its intent; SQL is only in
//! `tables` and in the modules that open a database.
//!
//! The data is kept in an SQLite file, which belongs to one process, or in PostgreSQL, which any number of processes
//! share. A job is one transaction on both; see `writer` for the threads that run it. What dealers and publishers store
//! is behind the feature `sellers`, which is on by default; the tables are the same without it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tradepost_server::prelude::*;
//! use tradepost_store::Store;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! // Or `Store::connect` with the address of a PostgreSQL.
//! let store = Arc::new(Store::open(folder)?);
//! let card = card::describe("Echo", "Says what it hears.", "http://127.0.0.1:8080");
//! let agent = AgentBuilder::new("echo", card)
//!     .with_store(store)
//!     .build(|call| Ok(MessagePlan::Answer(call.message.parts.clone())))?;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    not(feature = "sellers"),
    expect(dead_code, reason = "the queries of dealers and publishers use the rest")
)]

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

mod agents;
mod change_notice;
#[cfg(feature = "sellers")]
pub mod copies;
#[cfg(feature = "sellers")]
mod counts;
#[cfg(feature = "sellers")]
mod decide;
#[cfg(feature = "sellers")]
mod deliveries;
#[cfg(feature = "sellers")]
pub mod empty_searches;
#[cfg(feature = "sellers")]
mod erasure;
mod health;
#[cfg(feature = "sellers")]
mod hosting;
mod key_cache;
#[cfg(feature = "sellers")]
pub mod lost_key;
mod postgres;
pub mod privacy;
#[cfg(feature = "sellers")]
mod publishers;
mod readers;
#[cfg(feature = "sellers")]
pub mod refusals;
#[cfg(feature = "sellers")]
mod sellers;
#[cfg(feature = "sellers")]
pub mod sign_in;
#[cfg(feature = "sellers")]
mod snapshots;
mod sql;
mod sqlite;
#[cfg(feature = "sellers")]
pub mod staff;
#[cfg(feature = "sellers")]
pub mod staff_events;
#[cfg(feature = "sellers")]
pub mod step_results;
mod tables;
#[cfg(feature = "sellers")]
mod transaction_error;
#[cfg(feature = "sellers")]
mod transfer;
#[cfg(feature = "sellers")]
pub mod verification;
#[cfg(feature = "sellers")]
pub mod week;
mod writer;
mod writer_counts;

/// Examples of the server's README, which use a store.
#[cfg(doctest)]
#[doc = include_str!("../../server/README.md")]
mod server_readme {}

pub use change_notice::ChangeNotice;
#[cfg(feature = "sellers")]
pub use counts::{Counted, OpenProblems};
#[cfg(feature = "sellers")]
pub use erasure::{CustomerLeads, OldLeadSelection, Proof};
pub use health::{DiskRoom, NotReady, StoreFailure, StoreRemark, room};
#[cfg(feature = "sellers")]
pub use hosting::Hosted;
pub use postgres::DatabaseUrl;
use privacy::ColumnCipher;
#[cfg(feature = "sellers")]
pub use privacy::unlock::{Locked, Rekeyed, Sealing};
use readers::Readers;
use sql::{Connection, RowResult, SqlBackend, SqlRow, SqlValue};
use tables::Database;
pub use tables::StoreTransaction;
#[cfg(feature = "sellers")]
pub use tables::alerts::AlertNotice;
#[cfg(feature = "sellers")]
pub use tables::feeds::{FeedOutcome, FeedRun, FeedState};
#[cfg(feature = "sellers")]
pub use tables::hosting::{HostedDealer, HostedState, HostingConflict, NewHosted, TakenHost};
#[cfg(feature = "sellers")]
pub use tables::inventory::Replacement;
#[cfg(feature = "sellers")]
pub use tables::probes::ProbeReport;
pub use tradepost_server::auth::key::ApiKey;
pub use tradepost_server::card::CardIdentity;
use tradepost_server::limit::Permits;
use tradepost_server::private_file::{create_folder, restrict_database};
pub use tradepost_server::tasks::log::{
    BlockedPushes, EntryKind, LogEntry, PushPosition, PushStored, PushTarget, TaskFilter, TaskLog,
    TaskOwner, TaskRow,
};
#[cfg(feature = "sellers")]
pub use transaction_error::TransactionError;
#[cfg(feature = "sellers")]
pub use transfer::{MovedRows, NotMoved};

/// The database's name in the data folder.
const FILE: &str = "tradepost.sqlite";

/// Number of server sessions that write, in addition to the one for jobs that keep their order.
const WRITERS: usize = 4;

/// Number of server sessions in each group of readers; groups do not wait for each other.
const READERS: usize = 3;

/// A store in a file or on a database server. Cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Store {
    writer: writer::StoreWriter,
    readers: Readers,
    /// Used by every request with a key, so it must not wait for a long read of an inventory.
    key_readers: Readers,
    key_lookups: key_cache::KeyLookupCache,
    /// Separate because publishers read for each request, too.
    #[cfg(feature = "sellers")]
    publishers: publishers::PublisherAccess,
    /// Reads pending deliveries where only one of several processes delivers.
    delivery_reader: Option<Readers>,
    /// Database server, where the store is shared.
    server: Option<Arc<postgres::PgServer>>,
    health: Arc<health::StoreHealth>,
    /// Snapshot files beside a database file; a server keeps snapshots in the database.
    #[cfg(feature = "sellers")]
    snapshots: Option<snapshots::Snapshots>,
    /// Encrypts personal data.
    cipher: Arc<ColumnCipher>,
}

impl Store {
    /// Opens or creates the store in a folder, and migrates it when it is of an older version. The caller must have
    /// locked other servers out first.
    ///
    /// # Errors
    /// When the folder or the database in it cannot be used.
    pub fn open(directory: &Path) -> Result<Self, InternalError> {
        Self::open_as(directory, sqlite::Schema::Migrate)
    }

    /// Opens or creates the store in a folder, also while a server is using it.
    ///
    /// # Errors
    /// When the folder or the database in it cannot be used, or it is of another version.
    pub fn attach(directory: &Path) -> Result<Self, InternalError> {
        Self::open_as(directory, sqlite::Schema::Keep)
    }

    /// Opens the store in a PostgreSQL database, creates its tables when it has none, and migrates them when they are
    /// of an older version. Other processes may be using it.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn connect(url: &DatabaseUrl) -> Result<Self, InternalError> {
        Self::connect_as(url, sqlite::Schema::Migrate)
    }

    /// Opens the store in a PostgreSQL database like [`Store::connect`], but does not migrate tables of an older
    /// version.
    ///
    /// # Errors
    /// When the database cannot be used, or is of another version.
    pub fn join(url: &DatabaseUrl) -> Result<Self, InternalError> {
        Self::connect_as(url, sqlite::Schema::Keep)
    }

    /// Opens or creates the database file in a folder; `schema` says whether an existing one may be migrated.
    fn open_as(directory: &Path, schema: sqlite::Schema) -> Result<Self, InternalError> {
        create_folder(directory).map_err(InternalError::on("creating the data folder"))?;
        let path = directory.join(FILE);
        restrict_database(&path).map_err(InternalError::on("creating the database"))?;
        let connection = sqlite::schema::open(&path, schema)?;
        let cipher = Arc::new(ColumnCipher::default());
        let reading = |count: usize| {
            let mut connections = Vec::with_capacity(count);
            for _ in 0..count {
                let link = SqlBackend::Sqlite(sqlite::schema::open(&path, sqlite::Schema::Keep)?);
                connections.push(Connection::new(link, Arc::clone(&cipher)));
            }
            Ok::<_, InternalError>(Readers::new(connections))
        };
        let readers = reading(1)?;
        let key_readers = reading(1)?;
        #[cfg(feature = "sellers")]
        let publishers =
            publishers::PublisherAccess::new(reading(publishers::READERS)?, reading(1)?);
        let health = Arc::new(health::StoreHealth::new(Some(&path)));
        let writer =
            writer::StoreWriter::with_connection(connection, Arc::clone(&health), &cipher)?;
        Ok(Self {
            writer,
            readers,
            key_readers,
            key_lookups: key_cache::KeyLookupCache::default(),
            #[cfg(feature = "sellers")]
            publishers,
            delivery_reader: None,
            server: None,
            health,
            #[cfg(feature = "sellers")]
            snapshots: Some(snapshots::Snapshots::new(directory)),
            cipher,
        })
    }

    /// Connects to a database server and creates missing tables; `schema` says whether existing ones may be migrated.
    fn connect_as(url: &DatabaseUrl, schema: sqlite::Schema) -> Result<Self, InternalError> {
        let server = postgres::PgServer::from_url(url.clone())?;
        let session = server.session();
        postgres::check_locks(&session, &server.session())?;
        postgres::prepare(&session, schema)?;
        drop(session);
        let cipher = Arc::new(ColumnCipher::default());
        let session =
            |_| Connection::new(SqlBackend::Postgres(server.session()), Arc::clone(&cipher));
        let sessions = |count| (0..count).map(session).collect::<Vec<_>>();
        let health = Arc::new(health::StoreHealth::new(None));
        let writer = writer::StoreWriter::with_connections(session(0), sessions(WRITERS), &health)?;
        let readers = |count| Readers::new(sessions(count));
        Ok(Self {
            writer,
            readers: readers(READERS),
            key_readers: readers(READERS),
            key_lookups: key_cache::KeyLookupCache::default(),
            #[cfg(feature = "sellers")]
            publishers: publishers::PublisherAccess::new(readers(publishers::READERS), readers(1)),
            delivery_reader: Some(readers(1)),
            server: Some(Arc::clone(&server)),
            health,
            #[cfg(feature = "sellers")]
            snapshots: None,
            cipher: Arc::clone(&cipher),
        })
    }

    /// Sets the disk space in bytes to keep free: with less, nothing new is stored from now on.
    pub fn keep_free(&self, bytes: u64) {
        self.health.keep_free(bytes);
    }

    /// Returns true when a folder holds a store.
    #[must_use]
    pub fn exists(directory: &Path) -> bool {
        directory.join(FILE).is_file()
    }

    /// Runs `job` in a transaction and returns when it is on disk. When `job` fails or panics, or the commit fails,
    /// nothing has changed. A server may abort the transaction because of others; then `job` is run again from the
    /// start.
    ///
    /// # Errors
    /// The error of the job, or that of the database.
    pub async fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send + 'static,
    ) -> Result<T, InternalError> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.writer.submit(job, move |outcome| {
            // The caller may have gone; the job is done all the same.
            let _ = sender.send(outcome);
        })?;
        receiver.await.map_err(InternalError::on("waiting for the writer"))?
    }

    /// Does the same as [`Store::write`] for callers without an executor.
    ///
    /// # Errors
    /// The error of the job, or that of the database.
    pub fn write_blocking<T: Send + 'static>(
        &self,
        job: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send + 'static,
    ) -> Result<T, InternalError> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.writer.submit(job, move |outcome| {
            let _ = sender.send(outcome);
        })?;
        receiver.recv().map_err(InternalError::on("waiting for the writer"))?
    }

    /// Does the same as [`Store::write`] for new data that takes disk space: with too little space, the job is not run.
    ///
    /// # Errors
    /// The error of the job or of the database, or that there is too little disk space.
    pub async fn take<T: Send + 'static>(
        &self,
        mut job: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send + 'static,
    ) -> Result<T, InternalError> {
        let health = Arc::clone(&self.health);
        // Checked inside the job, where waiting for the disk blocks no request, and as late as possible.
        self.write(move |tx| health.has_room().and_then(|()| job(tx))).await
    }

    /// Registers `callback` to be called with changes made by other processes on the database, on a thread that may
    /// wait for the database. Does nothing for a file, which has no other processes.
    ///
    /// # Errors
    /// When the database fails.
    pub fn on_change(
        &self,
        callback: impl Fn(&ChangeNotice) + Send + Sync + 'static,
    ) -> Result<(), InternalError> {
        let Some(server) = &self.server else { return Ok(()) };
        self.write_blocking(|tx| tx.beat())?;
        server.on_change(callback)
    }

    /// Registers this process with the others before it writes anything, where there can be others.
    ///
    /// # Errors
    /// When the database fails, or rows are being moved into it.
    pub fn enter(&self) -> Result<(), InternalError> {
        self.write_blocking(|tx| tx.beat())
    }

    /// Returns true for a database server, which other processes may use and which may be unreachable for a while.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.server.is_some()
    }

    /// Returns the source of permits for rate limits that several processes share; `None` for a file.
    #[must_use]
    pub fn permits(self: &Arc<Self>) -> Option<Arc<dyn Permits>> {
        self.server.as_ref().map(|_| Arc::clone(self) as _)
    }

    fn read<T>(
        &self,
        job: impl FnOnce(&Database) -> Result<T, InternalError>,
    ) -> Result<T, InternalError> {
        self.readers.any(job).inspect_err(|fault| self.health.note(fault))
    }

    /// Reads every row of a query.
    fn read_all<T>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&SqlRow<'_>) -> RowResult<T>,
    ) -> Result<Vec<T>, InternalError> {
        self.read(|db| db.0.all(what, sql, values, read))
    }

    /// Reads the first row, if there is one.
    fn read_first<T>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&SqlRow<'_>) -> RowResult<T>,
    ) -> Result<Option<T>, InternalError> {
        self.read(|db| db.0.first(what, sql, values, read))
    }

    /// Reads the row of a query that always has one.
    fn read_one<T>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&SqlRow<'_>) -> RowResult<T>,
    ) -> Result<T, InternalError> {
        self.read(|db| db.0.one(what, sql, values, read))
    }

    /// Reads pending deliveries; returns nothing where another process delivers.
    fn read_due<T: Default>(
        &self,
        job: impl FnOnce(&Database) -> Result<T, InternalError>,
    ) -> Result<T, InternalError> {
        let Some(delivery_reader) = &self.delivery_reader else { return self.read(job) };
        delivery_reader.any(|database| match &database.0.link {
            SqlBackend::Postgres(session) if !session.is_chosen()? => Ok(T::default()),
            SqlBackend::Postgres(_) | SqlBackend::Sqlite(_) => job(database),
        })
    }

    /// Returns true when this process delivers. Of several that share a database one is chosen, until it ends or loses
    /// the database.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_courier(&self) -> Result<bool, InternalError> {
        self.read_due(|_| Ok(true))
    }

    /// Frees the disk space that a large change took for the database's log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn cut_log(&self) -> Result<(), InternalError> {
        self.read(|db| db.0.empty_log())
    }

    /// Returns the identity of a dealer's card with this content hash: a new one exactly when the content differs from
    /// the one published last. `fresh_id` is the id of a new one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn card_identity(
        &self,
        dealer_id: &str,
        content_hash: &str,
        fresh_id: String,
        now: Timestamp,
    ) -> Result<CardIdentity, InternalError> {
        // The identity is nearly always known, and thousands of dealers must not wait for a commit each.
        if let Some(known) = self.read(|db| db.known_card(dealer_id, content_hash))? {
            return Ok(known);
        }
        let dealer_id = dealer_id.to_owned();
        let content_hash = content_hash.to_owned();
        self.write_blocking(move |tx| tx.card_identity(&dealer_id, &content_hash, &fresh_id, now))
    }

    /// Stores a new key. Without `same_caller` its name must never have been used by another key of the dealer, because
    /// data belongs to the name of a caller. Returns true when it was stored.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_api_key(&self, key: ApiKey, same_caller: bool) -> Result<bool, InternalError> {
        self.write_blocking(move |tx| tx.add_api_key(&key, same_caller))
    }

    /// Revokes a key now. Returns the key as it was before; `None` when there is no such key.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_api_key(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<ApiKey>, InternalError> {
        let id = id.to_owned();
        self.write_blocking(move |tx| tx.revoke_api_key(&id, now))
    }

    /// Queues `job` and returns at once; `done` is called after the commit, in the order of the queue.
    ///
    /// # Errors
    /// When the writer has stopped, or when too many jobs wait (transient).
    pub fn submit<T: Send + 'static>(
        &self,
        job: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send + 'static,
        done: impl FnOnce(Result<T, InternalError>) + Send + 'static,
    ) -> Result<(), InternalError> {
        self.writer.submit_in_order(job, done)
    }
}
