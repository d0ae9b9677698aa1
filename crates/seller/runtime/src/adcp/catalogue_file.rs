//! Catalogue file of a publisher: it is checked at intervals and read again when it has changed. A
//! file with mistakes changes nothing, and the log lists all of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use tradepost_publisher::catalogue::Catalogue;

/// Metadata by which a file that was rewritten or replaced is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileVersion {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// Catalogue file.
#[derive(Debug)]
pub struct CatalogueFile {
    path: PathBuf,
    /// Version at the last check; `None` when there was no readable file.
    seen: Mutex<Option<FileVersion>>,
}

/// Result of a check.
#[derive(Debug, PartialEq)]
pub enum CatalogueFileState {
    /// File is unchanged.
    Same,
    /// File was read again.
    Read(Box<Catalogue>),
    /// File cannot be used; every mistake, a line each.
    Unusable(Vec<String>),
}

impl CatalogueFile {
    /// Creates the state of a file that is read at the first check.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, seen: Mutex::default() }
    }

    /// Reads the file when it has changed. Blocks on the disk.
    #[must_use]
    pub fn look(&self) -> CatalogueFileState {
        // Before the file is read: a write in between is noticed at the next check.
        let now = trace(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Also when the file is still missing: that is reported only once.
        if *seen == now {
            return CatalogueFileState::Same;
        }
        *seen = now;
        drop(seen);
        read(&self.path)
    }

    /// Returns every mistake in the file as it is now, a line each. Blocks on the disk.
    #[must_use]
    pub fn mistakes(&self) -> Vec<String> {
        match read(&self.path) {
            CatalogueFileState::Unusable(mistakes) => mistakes,
            CatalogueFileState::Same | CatalogueFileState::Read(_) => Vec::new(),
        }
    }
}

fn trace(path: &Path) -> Option<FileVersion> {
    let metadata = fs::metadata(path).ok()?;
    Some(FileVersion { modified: metadata.modified().ok(), bytes: metadata.len() })
}

fn read(path: &Path) -> CatalogueFileState {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            return CatalogueFileState::Unusable(vec![format!("it cannot be read: {error}")]);
        }
    };
    match Catalogue::parse(&text) {
        Ok(catalogue) => CatalogueFileState::Read(Box::new(catalogue)),
        Err(mistakes) => {
            CatalogueFileState::Unusable(mistakes.iter().map(ToString::to_string).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Writes a file with a modification time `later` seconds after the first one, independent of
    /// the clock.
    fn write(path: &Path, text: &str, later: u64) {
        fs::write(path, text).unwrap();
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + later);
        fs::File::options().write(true).open(path).unwrap().set_modified(moment).unwrap();
    }

    #[test]
    fn a_changed_file_is_read_and_mistakes_are_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalogue.json");
        let file = CatalogueFile::new(path.clone());
        // The file was read at startup, and its absence was reported then.
        assert_eq!(file.look(), CatalogueFileState::Same);
        write(&path, r#"{"agent_url": "https://a.example"}"#, 0);
        assert!(matches!(file.look(), CatalogueFileState::Read(_)));
        assert_eq!(file.look(), CatalogueFileState::Same);
        write(&path, r#"{"prodcuts": [], "policies": 5}"#, 1);
        let CatalogueFileState::Unusable(lines) = file.look() else {
            unreachable!("it has mistakes")
        };
        let text = lines.join("\n");
        for place in ["/prodcuts: ", "/policies: ", "/agent_url: "] {
            assert!(text.contains(place), "{text}");
        }
        assert_eq!(file.look(), CatalogueFileState::Same);
        fs::remove_file(&path).unwrap();
        let CatalogueFileState::Unusable(lines) = file.look() else { unreachable!("it is gone") };
        assert!(lines[0].starts_with("it cannot be read: "), "{lines:?}");
        assert_eq!(file.look(), CatalogueFileState::Same);
        write(&path, r#"{"agent_url": "https://b.example"}"#, 2);
        assert!(matches!(file.look(), CatalogueFileState::Read(_)));
        // Same length as before, and newer.
        write(&path, r#"{"agent_url": "https://c.example"}"#, 3);
        assert!(matches!(file.look(), CatalogueFileState::Read(_)));
    }
}
