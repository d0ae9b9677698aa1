//! Files of ordered certificates: the account, the certificate with its key, the history of orders, and
//! during an order the challenge certificates. Only their owner can read them.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_document::json;
use tradepost_server::private_file::{create_folder, write_new};

use super::failure::{AcmeError, AcmeErrorCode};

/// File with the history of orders.
const HISTORY_FILE: &str = "orders.json";

/// File that is locked during an order, because several processes may share the folder.
const LOCK_FILE: &str = "order.lock";

/// The folder of the files.
#[derive(Debug, Clone)]
pub(super) struct AcmeFolder(PathBuf);

/// History of orders, including those of earlier processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderHistory {
    /// Description of the wanted certificate; another one starts a new history.
    pub wanted: String,
    /// Directory URL of the authority that issued the current certificate.
    pub issued_by: Option<String>,
    /// Number of failed orders in a row.
    pub failures: u32,
    /// Time before which nothing is ordered.
    pub next_at: Option<Timestamp>,
    /// Error code of the last order, if it failed.
    pub code: Option<AcmeErrorCode>,
    /// Error messages of the last order.
    pub says: Vec<String>,
}

impl AcmeFolder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Creates the folder unless it exists, and denies other users access.
    pub(super) fn prepare(&self) -> Result<(), AcmeError> {
        create_folder(&self.0)
            .map_err(|error| AcmeError::from_file("server.tls.acme.folder", error.kind()))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Locks the folder against other processes, until the file is dropped. Returns `None` while another
    /// process has the lock.
    pub(super) fn lock(&self) -> Result<Option<File>, AcmeError> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).mode(0o600);
        let file = file
            .open(self.path(LOCK_FILE))
            .map_err(|error| AcmeError::from_file(LOCK_FILE, error.kind()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some network file systems have no locks. Two concurrent orders replace each other's
            // challenges, and are retried later.
            Err(TryLockError::Error(_)) => Ok(Some(file)),
        }
    }

    /// Reads a file; `None` when there is none.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, AcmeError> {
        match std::fs::read(self.path(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(AcmeError::from_file(name, error.kind())),
        }
    }

    /// Replaces a file atomically.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), AcmeError> {
        let half = self.write_half(name, bytes)?;
        self.put_in_place(&half, name)
    }

    /// Writes a new version beside the file, to be checked before it replaces the file.
    pub(super) fn write_half(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, AcmeError> {
        let half = self.path(&format!("{name}.new"));
        // A process that was killed may have left one.
        let _ = std::fs::remove_file(&half);
        write_new(&half, bytes).map_err(|error| AcmeError::from_file(name, error.kind()))?;
        Ok(half)
    }

    pub(super) fn put_in_place(&self, half: &Path, name: &str) -> Result<(), AcmeError> {
        let put = std::fs::rename(half, self.path(name)).and_then(|()| {
            // The new name has to survive a power cut, too.
            File::open(&self.0)?.sync_all()
        });
        put.map_err(|error| AcmeError::from_file(name, error.kind()))
    }

    /// Reads the history of orders of `wanted`. A file with invalid content counts as an empty history;
    /// one that cannot be read now may be readable later.
    pub(super) fn history(&self, wanted: &str) -> Result<OrderHistory, AcmeError> {
        let bytes = self.read(HISTORY_FILE)?.unwrap_or_default();
        let known: OrderHistory = json::from_slice(&bytes).unwrap_or_default();
        if known.wanted == wanted {
            return Ok(known);
        }
        let wanted = wanted.to_owned();
        let issued_by = known.issued_by;
        Ok(OrderHistory { wanted, issued_by, ..OrderHistory::default() })
    }

    pub(super) fn store_history(&self, history: &OrderHistory) -> Result<(), AcmeError> {
        let bytes = json::to_vec(history).unwrap_or_default();
        self.write(HISTORY_FILE, &bytes)
    }
}
