//! Files that only their owner can read from the start, such as keys and exports of personal data.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

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
