//! Where the published material is, and reading it.

use std::fs;
use std::path::{Path, PathBuf};

use tradepost_document::json::Value;

use crate::beside;

/// The workspace's root.
pub(crate) fn workspace() -> PathBuf {
    beside::workspace().to_owned()
}

/// A published file or folder; says so when it is absent.
pub(crate) fn path(relative: &str) -> Option<PathBuf> {
    beside::published(relative)
}

/// A published text.
pub(crate) fn text(relative: &str) -> Option<String> {
    path(relative).map(|path| fs::read_to_string(path).unwrap())
}

/// A published JSON document.
pub(crate) fn json(relative: &str) -> Option<Value> {
    text(relative).map(|text| tradepost_document::json::from_str(&text).unwrap())
}

/// The cells of the rows of Markdown tables whose first cell satisfies `wanted`. A pipe behind a
/// backslash belongs to its cell.
pub(crate) fn rows(markdown: &str, wanted: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
        let cells = line.split('|').map(|cell| cell.replace('\u{1}', "|").trim().to_owned());
        cells.collect::<Vec<_>>()
    };
    let rows = markdown.lines().filter(|line| line.contains('|')).map(cells);
    rows.filter(|row| wanted(&row[0])).collect()
}

/// The sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_one_file_looks_beside_the_workspace() {
    let mut found = Vec::new();
    sources(&workspace().join("crates"), &mut found);
    let quote = '"';
    let looks = |line: &str| line.contains(&format!("..{}shared", '/')) && line.contains(quote);
    let mut looking = Vec::new();
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        if text.lines().any(|line| !line.trim_start().starts_with("//") && looks(line)) {
            looking.push(path.file_name().unwrap().to_owned());
        }
    }
    assert_eq!(looking, ["beside.rs"]);
}
