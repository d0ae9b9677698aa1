//! What is kept of certificates that we order: the account, the certificate with its key, how orders
//! went, and for a moment what an authority is shown. Everything is its owner's alone.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_wire::json;

use super::trouble::{AcmeError, AcmeErrorCode};
use crate::cli::output::write_new;

/// How orders went.
const STANDING: &str = "orders.json";

/// What is locked by whoever orders: several processes may share the folder.
const LOCK: &str = "order.lock";

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct AcmeFolder(PathBuf);

/// How orders went, also before this process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderHistory {
    /// What was wanted: another one begins anew.
    pub wanted: String,
    /// Who has issued the certificate that is there: the address of its directory.
    pub issued_by: Option<String>,
    /// How many orders in a row have failed.
    pub failures: u32,
    /// Before when nothing is ordered.
    pub next_at: Option<Timestamp>,
    /// Why the last one failed.
    pub code: Option<AcmeErrorCode>,
    /// The same in words.
    pub says: Vec<String>,
}

impl AcmeFolder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Makes it, unless it is there, and closes it to everybody else.
    pub(super) fn prepare(&self) -> Result<(), AcmeError> {
        tradepost_store::create_private(&self.0)
            .map_err(|error| AcmeError::of_file("server.tls.acme.folder", error.kind()))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Keeps other processes from ordering, for as long as the file lives; `None` while another one
    /// does.
    pub(super) fn lock(&self) -> Result<Option<File>, AcmeError> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).mode(0o600);
        let file =
            file.open(self.path(LOCK)).map_err(|error| AcmeError::of_file(LOCK, error.kind()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some network file systems have no locks. Two orders at once take each other's challenges away,
            // and are tried again later.
            Err(TryLockError::Error(_)) => Ok(Some(file)),
        }
    }

    /// What a file says; `None` when there is none.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, AcmeError> {
        match std::fs::read(self.path(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(AcmeError::of_file(name, error.kind())),
        }
    }

    /// Writes a file whole, in the place of the one that is there.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), AcmeError> {
        let half = self.write_half(name, bytes)?;
        self.put_in_place(&half, name)
    }

    /// Writes it beside its place, to be looked at before it is put there.
    pub(super) fn write_half(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, AcmeError> {
        let half = self.path(&format!("{name}.new"));
        // What a process left behind that was killed.
        let _ = std::fs::remove_file(&half);
        write_new(&half, bytes).map_err(|error| AcmeError::of_file(name, error.kind()))?;
        Ok(half)
    }

    pub(super) fn put_in_place(&self, half: &Path, name: &str) -> Result<(), AcmeError> {
        let put = std::fs::rename(half, self.path(name)).and_then(|()| {
            // The name, too, has to outlive a power cut.
            File::open(&self.0)?.sync_all()
        });
        put.map_err(|error| AcmeError::of_file(name, error.kind()))
    }

    /// How orders of this went. What says nothing is as if nothing had been ordered; what cannot be read now
    /// may be read later.
    pub(super) fn standing(&self, wanted: &str) -> Result<OrderHistory, AcmeError> {
        let bytes = self.read(STANDING)?.unwrap_or_default();
        let known: OrderHistory = json::from_slice(&bytes).unwrap_or_default();
        if known.wanted == wanted {
            return Ok(known);
        }
        let (wanted, issued_by) = (wanted.to_owned(), known.issued_by);
        Ok(OrderHistory { wanted, issued_by, ..OrderHistory::default() })
    }

    pub(super) fn keep_standing(&self, standing: &OrderHistory) -> Result<(), AcmeError> {
        let bytes = json::to_vec(standing).unwrap_or_default();
        self.write(STANDING, &bytes)
    }
}
