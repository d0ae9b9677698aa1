//! Files and folders that only their owner can read from the start, such as keys, databases and
//! exports of personal data.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Creates a file that only its owner can read and write; nothing is ever overwritten.
///
/// # Errors
/// Fails when the file exists already, or cannot be created.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes data to a new file that only its owner can read from the start; nothing is ever
/// overwritten.
///
/// # Errors
/// Fails when the file exists already, or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_new(path)?;
    file.write_all(bytes)?;
    // A key that a power failure deletes after it encrypted something is lost for good.
    file.sync_all()
}

/// Creates a folder that only its owner can read: it holds personal data or keys.
///
/// # Errors
/// Fails when it cannot be created.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Returns the files of an SQLite database: the database, its log and the index of its log.
#[must_use]
pub fn files_of_database(database: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| {
        let mut name = database.as_os_str().to_owned();
        name.push(end);
        name.into()
    })
}

/// Creates a database file that only its owner can read, and removes the permissions of all other
/// users on existing files, whatever the folder permits. SQLite gives its other files the mode of
/// the first.
///
/// # Errors
/// Fails when the file cannot be created.
pub fn restrict_database(database: &Path) -> io::Result<()> {
    // An existing file must not be opened here: closing it again would release the locks that SQLite holds on it
    // (sqlite.org/howtocorrupt.html §2.2).
    match create_new(database) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Ok(_) | Err(_) => {}
    }
    for file in files_of_database(database) {
        let mode = fs::metadata(&file).map(|metadata| metadata.permissions().mode() & 0o777);
        // Only the owner of a file can change its mode.
        if mode.is_ok_and(|mode| mode != 0o600)
            && let Err(error) = fs::set_permissions(&file, Permissions::from_mode(0o600))
        {
            tracing::warn!(%error, "a file of the data folder can be read by others");
        }
    }
    Ok(())
}
