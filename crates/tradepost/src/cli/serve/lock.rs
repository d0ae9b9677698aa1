//! Lock of a data folder, held by the one server that uses it or migrates its schema.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;

use tradepost_server::fault::InternalError;

use crate::cli::output::CommandFailure;
use crate::cli::store_location::StoreOptions;

/// Lock file of a server in its data folder.
const SERVER_LOCK_FILE: &str = "tradepost.lock";

/// Lock file of a backup or a restoration.
const COPY_LOCK_FILE: &str = "tradepost.copy.lock";

/// Prevents other backups and restorations.
pub(in crate::cli) fn lock_copies(place: &StoreOptions) -> Result<Option<File>, CommandFailure> {
    lock_file(place, COPY_LOCK_FILE, "another backup or restoration is running in")
}

/// Prevents other servers on the folder: each would have rate limits of its own, and one of a newer
/// version would change the schema under the other.
pub(in crate::cli) fn lock(place: &StoreOptions) -> Result<Option<File>, CommandFailure> {
    lock_file(place, SERVER_LOCK_FILE, "another server uses the data folder")
}

fn lock_file(
    place: &StoreOptions,
    name: &str,
    taken: &str,
) -> Result<Option<File>, CommandFailure> {
    let data = &place.data;
    let open = || {
        tradepost_server::private_file::create_folder(data)?;
        let mut options = File::options();
        options.create(true).truncate(false).write(true).mode(0o600).open(data.join(name))
    };
    let file = open().map_err(|error| place.unusable(&InternalError::new("locking", error)))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            let message = format!("{taken} {}", data.display());
            Err(CommandFailure::new(1, message).hint("stop it, or name another folder with --data"))
        }
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) => {
            tracing::warn!(%error, "the data folder could not be locked");
            Ok(None)
        }
    }
}
