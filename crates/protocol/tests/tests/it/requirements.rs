//! The book of requirements (`docs/requirements`) and what cites it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::published;

/// Look like ids and are something else: stock numbers in tests of the inventory.
const NO_IDS: &[&str] = &["A-17", "N-17"];

const ENDINGS: &[&str] = &["rs", "md", "toml", "rules", "txt", "js", "py", "mjs"];

/// `R-LD-03`, `E-042`, `CT-01`, `A-01`, `U-9`.
fn is_id(word: &str) -> bool {
    let parts: Vec<_> = word.split('-').collect();
    let letters = |text: &str, count: std::ops::RangeInclusive<usize>| {
        count.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let number = |text: &str, count: std::ops::RangeInclusive<usize>| {
        count.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    match parts.as_slice() {
        ["R", area, digits] => letters(area, 2..=4) && number(digits, 2..=2),
        ["CT", digits] => number(digits, 2..=2),
        ["E", digits] => number(digits, 1..=3),
        [letter, digits] => letters(letter, 1..=1) && number(digits, 1..=2),
        _ => false,
    }
}

/// The ids in a text.
pub(crate) fn ids(text: &str) -> impl Iterator<Item = &str> {
    let is_in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.split(move |c| !is_in_word(c)).filter(|word| is_id(word) && !NO_IDS.contains(word))
}

/// Every text of the workspace but the book: its ids, with a file that cites each.
fn cited(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if path.is_dir() {
            let is_left_out = name.starts_with('.')
                || matches!(name.as_str(), "target" | "node_modules")
                || path.ends_with("docs/requirements")
                // Models of cars are called alike.
                || path.ends_with("data/words");
            if !is_left_out {
                cited(&path, found);
            }
            continue;
        }
        let is_text = path.extension().is_none_or(|e| ENDINGS.iter().any(|known| e == *known));
        if let Some(text) = is_text.then(|| fs::read_to_string(&path).ok()).flatten() {
            for id in ids(&text) {
                found.entry(id.to_owned()).or_insert_with(|| path.display().to_string());
            }
        }
    }
}

#[test]
fn cited_requirements_and_those_in_the_book_are_the_same() {
    let root = published::workspace();
    let mut known = BTreeSet::new();
    for file in fs::read_dir(root.join("docs/requirements")).unwrap().flatten() {
        let text = fs::read_to_string(file.path()).unwrap();
        for row in published::rows(&text, is_id) {
            assert!(known.insert(row[0].clone()), "{} stands in the book twice", row[0]);
        }
    }
    assert!(known.len() > 350, "the book was not understood: {}", known.len());
    let mut found = BTreeMap::new();
    cited(&root, &mut found);
    let unknown: Vec<_> = found.iter().filter(|(id, _)| !known.contains(*id)).collect();
    assert!(unknown.is_empty(), "cited and not in the book: {unknown:#?}");
    let idle: Vec<_> = known.iter().filter(|id| !found.contains_key(*id)).collect();
    assert!(idle.is_empty(), "in the book and cited nowhere: {idle:?}");
}
