//! How many files of a crate hang together: a circle of files that name each other is read as one, so
//! none is larger than somebody keeps in mind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::dependencies::{crate_folders, sources};
use crate::published;

/// How many files a circle ties at most.
const MOST: usize = 20;

pub(crate) type Route = Vec<String>;

/// A file of a crate as far as it names others.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// What `use` calls by a name of this file.
    imported: BTreeMap<String, Route>,
    /// What `use` takes everything of.
    globs: Vec<Route>,
    /// What stands in the code with a path before it.
    inline: Vec<Route>,
    /// What is defined here.
    defined: BTreeSet<String>,
}

/// The words of code, with `::`, braces, commas and semicolons; texts, characters and comments left out.
fn words(code: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match c {
            '"' => text_length(rest),
            'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |at| at + 2),
            // A character, where it is no lifetime.
            '\'' if rest.starts_with("'\\") => 2 + rest[2..].find('\'').unwrap_or_default() + 1,
            '\'' if rest.chars().nth(2) == Some('\'') => {
                2 + rest.chars().nth(1).map_or(0, char::len_utf8)
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length.min(rest.len()));
        if word == "::" || is_word(c) && !word.contains('"') || "{},;*()".contains(word) {
            words.push(word.to_owned());
        }
        rest = after;
    }
    words
}

/// How long a text in quotation marks is, with them.
fn text_length(code: &str) -> usize {
    let mut escaped = false;
    let ends = |(_, c): &(usize, char)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    };
    code.char_indices().skip(1).find(ends).map_or(code.len(), |(at, _)| at + 1)
}

impl File {
    fn read(code: &str) -> Self {
        let mut file = Self::default();
        let words = words(code);
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let next = words.get(at + 1).map(String::as_str);
            match word.as_str() {
                "use" => at = file.tree(&words, at + 1, &[]),
                // `pub(in crate::tools)` says who sees it and not what it needs.
                "in" if next == Some("crate") && at > 1 && words[at - 1] == "(" => {
                    at += words[at..].iter().position(|word| word == ")").unwrap_or(1);
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    file.defined.extend(next.map(ToOwned::to_owned));
                    at += 1;
                }
                _ if next == Some("::") => {
                    let mut route = vec![word.clone()];
                    while words.get(at + 1).is_some_and(|word| word == "::")
                        && let Some(word) = words.get(at + 2).filter(|word| word.as_str() > "0")
                    {
                        route.push(word.clone());
                        at += 2;
                    }
                    file.inline.push(route);
                    at += 1;
                }
                _ => at += 1,
            }
        }
        file
    }

    /// Reads one branch of what is imported, and says where it ends.
    fn tree(&mut self, words: &[String], mut at: usize, before: &[String]) -> usize {
        let mut route = before.to_vec();
        let mut name = None;
        while let Some(word) = words.get(at) {
            match word.as_str() {
                "::" => {}
                "{" => {
                    while words.get(at).is_some_and(|word| word == "{" || word == ",") {
                        at = self.tree(words, at + 1, &route);
                    }
                    // Behind the brace.
                    return at + 1;
                }
                "," | ";" | "}" => break,
                "*" => {
                    self.globs.push(route);
                    return at + 1;
                }
                "as" => {
                    name = words.get(at + 1).cloned();
                    at += 1;
                }
                "self" if !route.is_empty() => {}
                _ => route.push(word.clone()),
            }
            at += 1;
        }
        if let Some(name) = name.or_else(|| route.last().cloned())
            && route.len() > before.len().min(1)
        {
            self.imported.insert(name, route);
        }
        at
    }
}

/// The files of a crate by their modules.
pub(crate) struct Crate(pub(crate) BTreeMap<Route, File>);

impl Crate {
    /// Reads the files of a crate, by their paths below its `src`.
    pub(crate) fn from_files(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let module = |path: &str| {
            let path = path.trim_end_matches(".rs");
            let is_root = path == "lib" || path == "main";
            let parts = path.split('/').map(ToOwned::to_owned);
            if is_root { Vec::new() } else { parts.collect() }
        };
        let files = files.into_iter();
        Self(files.map(|(path, code)| (module(&path), File::read(&code))).collect())
    }

    /// Reads the files of a crate of the workspace, by its folder.
    pub(crate) fn from_folder(folder: &str) -> Self {
        let source = published::workspace().join("crates").join(folder).join("src");
        let mut found = Vec::new();
        sources(&source, &mut found);
        let short = |path: String| {
            Path::new(&path).strip_prefix(&source).unwrap().to_str().unwrap().to_owned()
        };
        Self::from_files(found.into_iter().map(|(path, code)| (short(path), code)))
    }

    /// The file in which a path ends that stands in `from`.
    fn defining_file(&self, from: &Route, path: &[String], steps: u8) -> Option<Route> {
        let mut at = from.clone();
        let mut rest = path;
        while let Some((first, after)) = rest.split_first() {
            let mut below = at.clone();
            below.push(first.clone());
            match first.as_str() {
                "crate" => at = Vec::new(),
                "super" => {
                    at.pop();
                }
                "self" => {}
                _ if self.0.contains_key(&below) => at = below,
                name => {
                    let file = self.0.get(&at)?;
                    let is_start = rest.len() == path.len();
                    if file.defined.contains(name) || steps == 0 {
                        return Some(at);
                    }
                    if let Some(route) = file.imported.get(name).filter(|route| *route != path) {
                        let route: Route = route.iter().chain(after).cloned().collect();
                        return self.defining_file(&at, &route, steps - 1);
                    }
                    let behind = |glob: &Route| {
                        let route: Route = glob.iter().chain(rest).cloned().collect();
                        self.defining_file(&at, &route, steps - 1)
                            .filter(|definition| *definition != at)
                    };
                    // A path that begins with a word nobody knows here is of another crate.
                    return file.globs.iter().find_map(behind).or((!is_start).then_some(at));
                }
            }
            rest = after;
        }
        self.0.contains_key(&at).then_some(at)
    }

    /// Returns the files that a file names.
    pub(crate) fn named_by(&self, module: &Route) -> BTreeSet<Route> {
        let file = &self.0[module];
        let routes = file.imported.values().chain(&file.globs).chain(&file.inline);
        let mut definitions: BTreeSet<_> =
            routes.filter_map(|route| self.defining_file(module, route, 8)).collect();
        definitions.remove(module);
        definitions
    }

    /// The largest set of files each of which leads to each other.
    fn largest_circle(&self) -> Vec<String> {
        let arrows: BTreeMap<_, _> =
            self.0.keys().map(|module| (module, self.named_by(module))).collect();
        let reached = |from: &Route| {
            let mut seen = BTreeSet::new();
            let mut open = vec![from.clone()];
            while let Some(module) = open.pop() {
                let next = arrows.get(&module).into_iter().flatten();
                open.extend(next.filter(|named| seen.insert((*named).clone())).cloned());
            }
            seen
        };
        let reached: BTreeMap<_, _> =
            self.0.keys().map(|module| (module, reached(module))).collect();
        let circle = |of: &Route| -> Vec<String> {
            let others = reached[of].iter().filter(|other| reached[*other].contains(of));
            others.map(|other| other.join("/")).collect()
        };
        self.0.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
    }
}

#[test]
fn no_circle_of_files_is_larger_than_permitted() {
    for folder in crate_folders() {
        let files = Crate::from_folder(&folder);
        let arrows: usize = files.0.keys().map(|file| files.named_by(file).len()).sum();
        // One file names no other.
        if files.0.len() == 1 {
            continue;
        }
        // The files of a small crate may have no use of each other but their parents'.
        let is_small = files.0.len() < 10;
        assert!(
            arrows > files.0.len() || is_small && arrows > 0,
            "the imports of {folder} were not found"
        );
        let circle = files.largest_circle();
        assert!(circle.len() <= MOST, "{folder}: {} in {circle:?}", circle.len());
    }
}

#[test]
fn every_way_to_name_a_file_is_seen() {
    let circle = |files: &[(&str, &str)]| {
        let owned = files.iter().map(|(path, code)| ((*path).to_owned(), (*code).to_owned()));
        Crate::from_files(owned).largest_circle()
    };
    let b = ("b.rs", "pub struct B;\nuse crate::a::A;");
    let a_and_b = ["a", "b"];
    for a in [
        "pub struct A;\nuse super::b::B;",
        "pub struct A;\nuse crate::{b::{self, B as C}, c};",
        "pub struct A;\nfn f() -> crate::b::B { '\"' }",
        "pub struct A;\nfn f() { super::b::g(\"use\") }",
        // What the parent hands on.
        "pub struct A;\nuse crate::B;",
    ] {
        assert_eq!(
            circle(&[("lib.rs", "mod a; mod b; pub use b::B;"), ("a.rs", a), b, ("c.rs", "")]),
            a_and_b,
            "{a}"
        );
    }
    for a in [
        "pub struct A; // crate::b::B",
        "pub struct A(&'static str); const T: A = A(\"crate::b::B\");",
        "pub(in crate::b) struct A;",
        "pub struct A; use b::B;",
    ] {
        assert_eq!(circle(&[("lib.rs", ""), ("a.rs", a), b]), [""; 0], "{a}");
    }
    // Who takes everything of a file names it, too.
    let glob = ("a.rs", "pub struct A;\nuse super::*;\nfn f() { b::g() }");
    assert_eq!(circle(&[("lib.rs", "mod a; pub mod b; pub use b::B;"), glob, b]), ["", "a", "b"]);
    let parent = ("a.rs", "mod c;\npub struct A;\nfn f() { c::g() }");
    let files = [("lib.rs", ""), parent, ("a/c.rs", "use super::A;\npub fn g() {}")];
    assert_eq!(circle(&files), ["a", "a/c"]);
}
