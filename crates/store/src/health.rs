//! Whether the store can be trusted with something new: whether its files are still those that were
//! opened, whether commits succeed, and whether there is room.
//!
//! A file that was deleted or replaced is still written to, without an error and for nothing: it is
//! gone with the process. So every commit is followed by a look at the files before anybody is told
//! of it, and what was found once holds until the process is started again.

use std::error::Error;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::ErrorCode;
use tokio::time::Instant;
use tradepost_server::background::piece;
use tradepost_wire::fault::InternalError;

use super::sqlite;
use super::writer::StoreWriter;

/// How long whoever asks may have to wait, whatever the store is doing.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// For how long an answer is as good as a new one: each costs a write.
const FRESH: Duration = Duration::from_secs(1);

/// How much is written to find out whether commits succeed again: more than a lead needs. A row alone
/// finds room in the database's log when nothing else does.
const ROOM: usize = 512 * 1024;

/// Why nothing new can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreTrouble {
    /// The files were deleted or replaced.
    Gone,
    /// What is in them cannot be read any more.
    Damaged,
    /// There is too little room.
    Full,
    /// The last commit failed.
    Failing,
    /// It does not answer.
    Silent,
}

impl StoreTrouble {
    /// What anybody may know.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Gone => "the database was deleted or replaced; nothing is taken until a restart",
            Self::Damaged => "the database is damaged; nothing is taken until a restart",
            Self::Full => "there is too little free space",
            Self::Failing => "the store cannot be written",
            Self::Silent => "the store does not answer",
        }
    }
}

/// Why nothing new can be taken, and the cause, which is for the log.
#[derive(Debug, Clone)]
pub struct NotReady {
    /// Why.
    pub trouble: StoreTrouble,
    /// The cause.
    pub cause: Arc<InternalError>,
}

impl NotReady {
    fn new(trouble: StoreTrouble, cause: impl Into<Arc<InternalError>>) -> Self {
        Self { trouble, cause: cause.into() }
    }
}

/// A file, whatever its name is by now: its device and its number there.
type Identity = (u64, u64);

/// What is known of the store.
#[derive(Debug)]
pub(super) struct StoreHealth {
    /// The file; a server looks after its own.
    database: Option<PathBuf>,
    files: Vec<(PathBuf, Identity)>,
    /// What holds until a restart.
    lost: OnceLock<StoreTrouble>,
    /// Why the last commit failed.
    failed: Mutex<Option<Arc<InternalError>>>,
    /// How much room has to be left, in bytes.
    least_free: AtomicU64,
    /// The last answer; whoever holds it is asking.
    asked: tokio::sync::Mutex<Option<(Instant, Result<(), NotReady>)>>,
}

impl StoreHealth {
    /// Of an open file, or of a server.
    pub(super) fn of(database: Option<&Path>) -> Self {
        let known = |path: PathBuf| identity(&path).ok().map(|identity| (path, identity));
        let files = database.map(files_of).into_iter().flatten().filter_map(known).collect();
        Self {
            database: database.map(Path::to_owned),
            files,
            lost: OnceLock::new(),
            failed: Mutex::default(),
            least_free: AtomicU64::new(0),
            asked: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn keep_free(&self, bytes: u64) {
        self.least_free.store(bytes, Ordering::Relaxed);
    }

    /// That the files are those that were opened.
    ///
    /// # Errors
    /// That they are not, or were not at some time, or are damaged.
    pub(super) fn intact(&self) -> Result<(), InternalError> {
        let changed =
            |(path, known): &(PathBuf, Identity)| !identity(path).is_ok_and(|i| i == *known);
        if self.lost.get().is_none() && self.files.iter().any(changed) {
            self.lose(StoreTrouble::Gone);
        }
        match self.lost.get() {
            None => Ok(()),
            Some(trouble) => Err(InternalError::new("using the store", trouble.message())),
        }
    }

    fn lose(&self, trouble: StoreTrouble) {
        if self.lost.set(trouble).is_ok() {
            tracing::error!(cause = trouble.message(), "the store is lost");
        }
    }

    /// That there is room for something new.
    ///
    /// # Errors
    /// That there is not.
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

    /// Remembers how a commit ended.
    pub(super) fn committed(&self, outcome: Result<(), &Arc<InternalError>>) {
        let failed = outcome.err().cloned();
        if let Some(fault) = &failed {
            self.note(fault);
            tracing::error!(cause = %fault.chain(), "the store could not commit");
        }
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }

    /// Remembers what a fault in the middle of a job says about the files.
    pub(super) fn note(&self, fault: &InternalError) {
        let is_one_of = |codes: &[ErrorCode]| code_of(fault).is_some_and(|c| codes.contains(&c));
        if is_one_of(&[ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase]) {
            self.lose(StoreTrouble::Damaged);
        } else if is_one_of(&[ErrorCode::DiskFull, ErrorCode::SystemIoFailure, ErrorCode::ReadOnly])
        {
            let failed = Arc::new(InternalError::new("writing", fault.chain()));
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
        }
    }

    fn lost_or_failed(&self) -> Result<(), NotReady> {
        if let Some(trouble) = self.lost.get() {
            return Err(NotReady::new(
                *trouble,
                InternalError::new("using the store", trouble.message()),
            ));
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        failed.map_or(Ok(()), |fault| Err(NotReady::new(StoreTrouble::Failing, fault)))
    }

    /// Whether something new can be taken: found out by writing, at most once a second.
    pub(super) async fn check(self: &Arc<Self>, writer: &StoreWriter) -> Result<(), NotReady> {
        let silent = |_| {
            let cause = format!("it has said nothing for {} ms", PATIENCE.as_millis());
            Err(NotReady::new(
                StoreTrouble::Silent,
                InternalError::new("asking the store", cause).transient(),
            ))
        };
        // With the time for which somebody else is asking already.
        tokio::time::timeout(PATIENCE, self.ask(writer)).await.unwrap_or_else(silent)
    }

    async fn ask(self: &Arc<Self>, writer: &StoreWriter) -> Result<(), NotReady> {
        let mut asked = self.asked.lock().await;
        // What has failed since it was found out counts more than that all was well.
        let is_current = |(at, answer): &&(Instant, Result<(), NotReady>)| {
            at.elapsed() < FRESH && (answer.is_err() || self.lost_or_failed().is_ok())
        };
        if let Some((_, answer)) = asked.as_ref().filter(is_current) {
            return answer.clone();
        }
        let answer = self.find_out(writer).await;
        if let Err(NotReady { trouble, cause }) = &answer {
            tracing::error!(why = trouble.message(), cause = %cause.chain(), "not ready");
        }
        *asked = Some((Instant::now(), answer.clone()));
        answer
    }

    async fn find_out(self: &Arc<Self>, writer: &StoreWriter) -> Result<(), NotReady> {
        let health = Arc::clone(self);
        let look = move || {
            if health.intact().is_ok()
                && let Some(database) = &health.database
                && let Err(fault) = sqlite::peek(database)
            {
                health.note(&fault);
            }
            health.has_room()
        };
        let room = piece("looking at the store", look).await.unwrap_or(Ok(()));
        self.lost_or_failed().or_else(|why| match why.trouble {
            // A commit that failed is no verdict: writing once more finds out whether it is over.
            StoreTrouble::Failing => Ok(()),
            StoreTrouble::Gone
            | StoreTrouble::Damaged
            | StoreTrouble::Full
            | StoreTrouble::Silent => Err(why),
        })?;
        room.map_err(|fault| NotReady::new(StoreTrouble::Full, fault))?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let bytes = if self.lost_or_failed().is_ok() { 0 } else { ROOM };
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
        written.map_err(|fault| match self.lost.get() {
            Some(trouble) => NotReady::new(*trouble, fault),
            None => NotReady::new(StoreTrouble::Failing, fault),
        })
    }
}

/// How much room there is on a disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskRoom {
    /// What may still be written.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

/// How much room there is where a folder is.
///
/// # Errors
/// When the folder cannot be looked at.
pub fn room(folder: &Path) -> std::io::Result<DiskRoom> {
    let space = rustix::fs::statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
    Ok(DiskRoom { free: bytes(space.f_bavail), total: bytes(space.f_blocks) })
}

/// What SQLite calls the cause of a fault.
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

/// A database's files: itself, its log and the index of its log.
pub(super) fn files_of(database: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| {
        let mut name = database.as_os_str().to_owned();
        name.push(end);
        name.into()
    })
}

fn identity(path: &Path) -> std::io::Result<Identity> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}
