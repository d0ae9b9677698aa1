//! Readiness of the store for new data: its files are still those that were opened, commits succeed, and there is
//! enough disk space. On a database server a test commit alone decides.
//!
//! Writing to a file that was deleted or replaced succeeds without an error, but the data is lost when the process
//! ends. So the files are checked after every commit and before its outcome is reported, and a loss that was found once
//! holds until the process is restarted.

use std::error::Error;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::ErrorCode;
use tokio::time::Instant;
use tradepost_document::catalog;
use tradepost_document::fault::InternalError;
use tradepost_server::background::piece;
use tradepost_server::private_file::files_of_database;

use super::sqlite;
use super::writer::StoreWriter;

/// Longest time that a readiness check may take, whatever the store is doing.
const CHECK_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Time for which a result is reused, because each check costs a write.
const REUSE_TIME: Duration = Duration::from_secs(1);

/// Number of bytes written to test whether commits succeed again: more than a lead needs. A single row fits into the
/// database's log even when the disk is full.
const TEST_WRITE_BYTES: usize = 512 * 1024;

catalog! {
    /// Warning of `/readyz` about what the store contains.
    pub enum StoreRemark {
        /// Advice for operators.
        hint: &'static str,
    }
    /// Number of deliveries that were given up. The server stays ready.
    DeadDeliveries = "dead_deliveries" {
        hint: "correct the cause that `tradepost leads deliveries --dead` shows, then send them \
               again",
    }
    /// Number of feeds that were not imported for longer than their `stale_after`. The server stays
    /// ready.
    StaleFeeds = "stale_feeds" { hint: "see the last run of each feed with `tradepost feeds list`" }
}

/// Reason why nothing new can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFailure {
    /// The files were deleted or replaced (never of a database server).
    Replaced,
    /// Their content cannot be read any more.
    Damaged,
    /// There is too little disk space.
    Full,
    /// The last commit failed.
    Failing,
    /// No answer within the time limit.
    NoAnswer,
}

impl StoreFailure {
    /// Returns a message without internal details, which any caller may see.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Replaced => {
                "the database was deleted or replaced; nothing is taken until a restart"
            }
            Self::Damaged => "the database is damaged; nothing is taken until a restart",
            Self::Full => "there is too little free space",
            Self::Failing => "the store cannot be written",
            Self::NoAnswer => "the store does not answer",
        }
    }
}

/// Reason why nothing new can be stored, with the cause for the log.
#[derive(Debug, Clone)]
pub struct NotReady {
    /// The reason.
    pub failure: StoreFailure,
    /// The cause.
    pub cause: Arc<InternalError>,
}

impl NotReady {
    fn new(failure: StoreFailure, cause: impl Into<Arc<InternalError>>) -> Self {
        Self { failure, cause: cause.into() }
    }

    /// Logs the reason and its cause.
    fn log(&self) {
        tracing::error!(why = self.failure.message(), cause = %self.cause.chain(), "not ready");
    }
}

/// Identity of a file that does not depend on its name: device and inode.
type Identity = (u64, u64);

/// Known state of the store.
#[derive(Debug)]
pub(super) struct StoreHealth {
    /// Path of the database file; `None` for a database server, whose files are not ours to check.
    database: Option<PathBuf>,
    files: Vec<(PathBuf, Identity)>,
    /// Failure that lasts until a restart.
    permanent_failure: OnceLock<StoreFailure>,
    /// Cause why the last commit failed.
    commit_failure: Mutex<Option<Arc<InternalError>>>,
    /// Disk space to keep free, in bytes.
    least_free: AtomicU64,
    /// The last result; the lock is held while a check runs.
    last_check: tokio::sync::Mutex<Option<(Instant, Result<(), NotReady>)>>,
    /// When a check was logged last that had got no answer.
    last_unanswered: Mutex<Option<Instant>>,
}

impl StoreHealth {
    /// Creates the health state of an open file, or of a database server.
    pub(super) fn new(database: Option<&Path>) -> Self {
        let known = |path: PathBuf| identity(&path).ok().map(|identity| (path, identity));
        let files =
            database.map(files_of_database).into_iter().flatten().filter_map(known).collect();
        Self {
            database: database.map(Path::to_owned),
            files,
            permanent_failure: OnceLock::new(),
            commit_failure: Mutex::default(),
            least_free: AtomicU64::new(0),
            last_check: tokio::sync::Mutex::default(),
            last_unanswered: Mutex::default(),
        }
    }

    pub(super) fn keep_free(&self, bytes: u64) {
        self.least_free.store(bytes, Ordering::Relaxed);
    }

    /// Checks that the files are those that were opened.
    ///
    /// # Errors
    /// When they are not, once were not, or are damaged.
    pub(super) fn intact(&self) -> Result<(), InternalError> {
        let changed =
            |(path, known): &(PathBuf, Identity)| !identity(path).is_ok_and(|i| i == *known);
        if self.permanent_failure.get().is_none() && self.files.iter().any(changed) {
            self.fail_permanently(StoreFailure::Replaced);
        }
        match self.permanent_failure.get() {
            None => Ok(()),
            Some(failure) => Err(InternalError::new("using the store", failure.message())),
        }
    }

    fn fail_permanently(&self, failure: StoreFailure) {
        if self.permanent_failure.set(failure).is_ok() {
            tracing::error!(cause = failure.message(), "the store is lost");
        }
    }

    /// Checks that there is enough disk space for new data.
    ///
    /// # Errors
    /// When there is not.
    pub(super) fn has_room(&self) -> Result<(), InternalError> {
        const WHAT: &str = "looking for free space";
        let least = self.least_free.load(Ordering::Relaxed);
        let Some(database) = &self.database else { return Ok(()) };
        let folder = database.parent().unwrap_or(Path::new("."));
        let DiskRoom { free, .. } = room(folder).map_err(InternalError::on(WHAT))?;
        if free < least {
            let cause = format!("{free} bytes are left, and server.min_free_space is {least}");
            return Err(InternalError::new(WHAT, cause).transient());
        }
        Ok(())
    }

    /// Remembers the outcome of a commit.
    pub(super) fn committed(&self, outcome: Result<(), &Arc<InternalError>>) {
        let commit_failure = outcome.err().cloned();
        if let Some(fault) = &commit_failure {
            self.note(fault);
            tracing::error!(cause = %fault.chain(), "the store could not commit");
        }
        *self.commit_failure.lock().unwrap_or_else(PoisonError::into_inner) = commit_failure;
    }

    /// Remembers what an internal error in the middle of a job says about the files.
    pub(super) fn note(&self, fault: &InternalError) {
        let is_one_of = |codes: &[ErrorCode]| code_of(fault).is_some_and(|c| codes.contains(&c));
        if is_one_of(&[ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase]) {
            self.fail_permanently(StoreFailure::Damaged);
        } else if is_one_of(&[ErrorCode::DiskFull, ErrorCode::SystemIoFailure, ErrorCode::ReadOnly])
        {
            let commit_failure = Arc::new(InternalError::new("writing", fault.chain()));
            *self.commit_failure.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(commit_failure);
        }
    }

    /// Fails when a failure is known without a new check: a permanent one, or that of the last commit.
    fn check_known_failure(&self) -> Result<(), NotReady> {
        if let Some(failure) = self.permanent_failure.get() {
            return Err(NotReady::new(
                *failure,
                InternalError::new("using the store", failure.message()),
            ));
        }
        let commit_failure =
            self.commit_failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        commit_failure.map_or(Ok(()), |fault| Err(NotReady::new(StoreFailure::Failing, fault)))
    }

    /// Tests by writing, at most once a second, that new data can be stored.
    pub(super) async fn check(self: &Arc<Self>, writer: &StoreWriter) -> Result<(), NotReady> {
        // The limit includes waiting for a check that already runs.
        match tokio::time::timeout(CHECK_TIMEOUT, self.cached_check(writer)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.no_answer()),
        }
    }

    /// Returns the reason of a check that got no answer, and logs it, at most once for each [`REUSE_TIME`]: such a check
    /// leaves no result that others could reuse.
    fn no_answer(&self) -> NotReady {
        let cause = format!("it has said nothing for {} ms", CHECK_TIMEOUT.as_millis());
        let cause = InternalError::new("asking the store", cause).transient();
        let why = NotReady::new(StoreFailure::NoAnswer, cause);
        let mut last = self.last_unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|at| at.elapsed() >= REUSE_TIME) {
            *last = Some(Instant::now());
            why.log();
        }
        why
    }

    /// Returns the last result while it is current, and checks otherwise. One check runs at a time.
    async fn cached_check(self: &Arc<Self>, writer: &StoreWriter) -> Result<(), NotReady> {
        let mut last_check = self.last_check.lock().await;
        // A failure since the last result makes that result outdated.
        let is_current = |(at, answer): &&(Instant, Result<(), NotReady>)| {
            at.elapsed() < REUSE_TIME && (answer.is_err() || self.check_known_failure().is_ok())
        };
        if let Some((_, answer)) = last_check.as_ref().filter(is_current) {
            return answer.clone();
        }
        let answer = self.run_check(writer).await;
        if let Err(why) = &answer {
            why.log();
        }
        *last_check = Some((Instant::now(), answer.clone()));
        answer
    }

    /// Checks the files and the free space, and then that a commit succeeds.
    async fn run_check(self: &Arc<Self>, writer: &StoreWriter) -> Result<(), NotReady> {
        let health = Arc::clone(self);
        let check_files = move || {
            if health.intact().is_ok()
                && let Some(database) = &health.database
                && let Err(fault) = sqlite::peek(database)
            {
                health.note(&fault);
            }
            health.has_room()
        };
        let room = piece("looking at the store", check_files).await.unwrap_or(Ok(()));
        self.check_known_failure().or_else(|why| match why.failure {
            // A failed commit may have been temporary: writing once more shows whether it was.
            StoreFailure::Failing => Ok(()),
            StoreFailure::Replaced
            | StoreFailure::Damaged
            | StoreFailure::Full
            | StoreFailure::NoAnswer => Err(why),
        })?;
        room.map_err(|fault| NotReady::new(StoreFailure::Full, fault))?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let bytes = if self.check_known_failure().is_ok() { 0 } else { TEST_WRITE_BYTES };
        let written = writer.submit(
            move |tx| tx.touch(bytes),
            move |outcome| {
                let _ = sender.send(outcome);
            },
        );
        let written = match written {
            Ok(()) => receiver
                .await
                .unwrap_or_else(|error| Err(InternalError::new("waiting for the writer", error))),
            Err(fault) => Err(fault),
        };
        written.map_err(|fault| match self.permanent_failure.get() {
            Some(failure) => NotReady::new(*failure, fault),
            None => NotReady::new(StoreFailure::Failing, fault),
        })
    }
}

/// Disk space in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskRoom {
    /// Free bytes that may still be written.
    pub free: u64,
    /// Total size.
    pub total: u64,
}

/// Returns the disk space of the file system that a folder is on.
///
/// # Errors
/// When the file system cannot be queried.
pub fn room(folder: &Path) -> std::io::Result<DiskRoom> {
    let space = rustix::fs::statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
    Ok(DiskRoom { free: bytes(space.f_bavail), total: bytes(space.f_blocks) })
}

/// Returns SQLite's code for the cause of an internal error.
pub(super) fn code_of(fault: &InternalError) -> Option<ErrorCode> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(fault);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
            return error.sqlite_error_code();
        }
        cause = error.source();
    }
    None
}

fn identity(path: &Path) -> std::io::Result<Identity> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}
