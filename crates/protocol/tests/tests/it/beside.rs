//! What tests hold the code against and is no part of the repository: the published files beside it, and
//! programs of the machine. A test that has to do without says so, past the harness, which keeps to itself
//! what passing tests print; `check` counts those tests.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The folder of published files, from the workspace.
const FOLDER: &str = "../shared";

/// The workspace's root. This file is a module of the tests of several crates, at different depths.
pub(crate) fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(here)
}

/// Returns the path of a published file or folder; `None` when it is absent, which is reported once.
pub(crate) fn published(relative: &str) -> Option<PathBuf> {
    let path = workspace().join(FOLDER).join(relative);
    if path.exists() {
        return Some(path);
    }
    without(relative);
    None
}

/// Reports once that this test runs without a published file or a program of the machine.
pub(crate) fn without(what: &str) {
    static REPORTED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let thread = std::thread::current();
    let line = line(what, thread.name().unwrap_or("a thread of a test"));
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if reported.insert(line.clone()) {
        // A line that cannot be written is not counted, so that the test has to fail.
        io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

/// Formats the line that `check` counts. It begins with a line break, because the harness may have written before.
fn line(what: &str, test: &str) -> String {
    format!("\ndone without {what}: {test}\n")
}

#[test]
fn what_check_counts_is_what_is_said() {
    let check = workspace().join("check");
    let check = std::fs::read_to_string(check).unwrap();
    let begins = "^done without ";
    assert!(check.contains(begins), "`check` looks for something else");
    assert!(line("a file", "a::test").contains(&begins.replace('^', "\n")));
}
