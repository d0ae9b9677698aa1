//! Feed files in a folder. A file is complete when it has not changed for a configured time, because an
//! upload does not signal its end; a file that is renamed into place is complete at once. Files stay in
//! the folder after they were stored, and are recognised by the time of their last change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use tradepost_server::fault::InternalError;

use crate::config::feeds::{Extent, FeedFolder};

/// Maximum number of files of a folder that are read.
const MAX_FILES: usize = 10_000;

/// Suffixes of files that are still being uploaded.
const PARTIAL_SUFFIXES: &[&str] =
    &[".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".swp", "~"];

/// A file of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Time of its last change, its size and its name. A later file has a greater mark.
    pub mark: String,
}

/// Knowledge of the files of a folder.
#[derive(Debug, Default)]
pub struct FolderWatch {
    /// Files that may be incomplete: the mark of each, and the time since which it is unchanged.
    growing: BTreeMap<String, (String, Duration)>,
    /// Mark of the newest file that was processed.
    passed: Option<String>,
    /// True when the folder could not be read last time, so that the error is reported once.
    troubled: bool,
}

impl FolderWatch {
    /// Returns the complete new files, the oldest first. For a feed that is the whole inventory only the
    /// latest file counts, once it is complete.
    ///
    /// # Errors
    /// When the folder cannot be read, once until it can be read again.
    pub fn look(
        &mut self,
        folder: &FeedFolder,
        extent: Extent,
        elapsed: Duration,
    ) -> Result<Vec<FoundFile>, InternalError> {
        let files = match files(folder) {
            Ok(files) => files,
            Err(error) if !std::mem::replace(&mut self.troubled, true) => {
                return Err(InternalError::new(
                    "reading the folder of a feed",
                    error.kind().to_string(),
                ));
            }
            Err(_) => return Ok(Vec::new()),
        };
        self.troubled = false;
        let mut fresh: Vec<FoundFile> = files
            .into_iter()
            .filter(|found| self.passed.as_ref().is_none_or(|passed| *passed < found.mark))
            .collect();
        fresh.sort_by(|one, other| one.mark.cmp(&other.mark));
        if extent == Extent::Full {
            fresh = fresh.pop().into_iter().collect();
        }
        self.growing.retain(|name, _| fresh.iter().any(|found| found.name == *name));
        let mut complete = Vec::new();
        for found in fresh {
            let seen = self.growing.entry(found.name.clone());
            let (mark, since) = seen.or_insert_with(|| (found.mark.clone(), elapsed));
            if *mark != found.mark {
                (*mark, *since) = (found.mark.clone(), elapsed);
            }
            if elapsed.saturating_sub(*since) < folder.quiet {
                // Later files have to wait for this one.
                break;
            }
            complete.push(found);
        }
        Ok(complete)
    }

    /// Records that a file was processed.
    pub fn pass(&mut self, mark: String) {
        self.passed = self.passed.take().max(Some(mark));
    }
}

/// Lists the files of a feed in its folder.
///
/// # Errors
/// When the folder cannot be read.
pub fn files(folder: &FeedFolder) -> std::io::Result<Vec<FoundFile>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder.path)?.take(MAX_FILES) {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let unfinished =
            PARTIAL_SUFFIXES.iter().any(|end| name.to_ascii_lowercase().ends_with(end));
        if name.starts_with('.') || unfinished || !fits(&folder.files, &name) {
            continue;
        }
        // The file may have been deleted since.
        let Ok(about) = fs::metadata(entry.path()) else { continue };
        if about.is_file() {
            // The change time, because it cannot be set by a program, unlike the modification time.
            let seconds = about.ctime();
            let nanoseconds = about.ctime_nsec();
            let size = about.len();
            let mark = format!("{seconds:020}.{nanoseconds:09} {size} {name}");
            found.push(FoundFile { path: entry.path(), name, mark });
        }
    }
    Ok(found)
}

/// Returns true when a name matches a pattern in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = pattern.contains('*').then(|| parts.next_back().unwrap_or_default()) else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("*", "a.csv", true),
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("MP1*.csv*", "MP1_2026.csv.gz", true),
            ("MP1*.csv", "MP2.csv", false),
            ("a*a", "a", false),
            ("a.csv", "a.csv", true),
            ("a.csv", "a.csvx", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_quiet_file_is_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        let folder = FeedFolder {
            path: directory.path().to_owned(),
            files: "*.csv".to_owned(),
            quiet: Duration::from_millis(500),
        };
        let mut watch = FolderWatch::default();
        let look = |watch: &mut FolderWatch, milliseconds| {
            let found = watch.look(&folder, Extent::Full, Duration::from_millis(milliseconds));
            found.unwrap().into_iter().map(|found| found.name).collect::<Vec<_>>()
        };
        put("feed.csv.part", "x");
        put("readme.txt", "x");
        assert!(look(&mut watch, 0).is_empty());
        put("feed.csv", "one");
        assert!(look(&mut watch, 1_000).is_empty());
        put("feed.csv", "one and more");
        assert!(look(&mut watch, 1_499).is_empty());
        assert!(look(&mut watch, 1_998).is_empty());
        assert_eq!(look(&mut watch, 1_999), ["feed.csv"]);
        let mark = files(&folder).unwrap().pop().unwrap().mark;
        watch.pass(mark);
        assert!(look(&mut watch, 9_000).is_empty());
        // File times have a resolution of a few milliseconds; real uploads are further apart.
        let date =
            |name: &str| fs::metadata(directory.path().join(name)).unwrap().modified().unwrap();
        while date("feed.csv.part") <= date("feed.csv") {
            put("feed.csv.part", "x");
        }
        fs::rename(directory.path().join("feed.csv.part"), directory.path().join("new.csv"))
            .unwrap();
        assert!(look(&mut watch, 10_000).is_empty());
        assert_eq!(look(&mut watch, 10_500), ["new.csv"]);
    }

    #[test]
    fn parts_are_ordered_and_a_lost_folder_is_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let folder = FeedFolder {
            path: directory.path().join("in"),
            files: "*".to_owned(),
            quiet: Duration::ZERO,
        };
        let mut watch = FolderWatch::default();
        assert!(watch.look(&folder, Extent::Delta, Duration::ZERO).is_err());
        assert!(watch.look(&folder, Extent::Delta, Duration::ZERO).unwrap().is_empty());
        fs::create_dir(&folder.path).unwrap();
        fs::write(folder.path.join("b"), "1").unwrap();
        fs::write(folder.path.join("a"), "22").unwrap();
        let found = watch.look(&folder, Extent::Delta, Duration::ZERO).unwrap();
        let marks: Vec<_> = found.iter().map(|found| &found.mark).collect();
        assert_eq!(marks.len(), 2);
        assert!(marks.is_sorted());
    }
}
