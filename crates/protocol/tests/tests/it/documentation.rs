//! The documentation of the crates that others can depend on stands by itself: ids of our own book of
//! requirements are for comments, which cite them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::published;
use crate::requirements::ids;

/// The crates that others can depend on.
const LIBRARIES: &[&str] = &[
    "protocol/document",
    "protocol/a2a",
    "protocol/mcp",
    "protocol/aap",
    "protocol/adcp",
    "protocol/ucp",
    "protocol/keys",
    "protocol/tls",
    "buyer/recovery",
    "buyer/client",
    "buyer/probe",
    "seller/server",
];

/// The sources below a folder, without those that are tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("tests.rs")
        {
            found.push(path);
        }
    }
}

/// The text of a source before its tests.
fn before_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// The lines of documentation before a source's tests.
fn documentation(text: &str) -> impl Iterator<Item = &str> {
    let lines = before_tests(text).lines().map(str::trim_start);
    lines.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")))
}

/// What a line says that only we can look up.
fn private(line: &str) -> Option<String> {
    let book = [
        concat!("requirements", " §"),
        "requirements a2a.md",
        "requirements aap.md",
        "requirements adcp.md",
    ];
    let book = book.iter().find(|name| line.contains(**name));
    ids(line).next().map(str::to_owned).or_else(|| book.map(|name| (*name).to_owned()))
}

#[test]
fn libraries_cite_nothing_that_only_we_can_look_up() {
    let mut lines = 0;
    for library in LIBRARIES {
        let folder = published::workspace().join("crates").join(library);
        let mut found = vec![folder.join("README.md")];
        sources(&folder.join("src"), &mut found);
        assert!(found.len() > 1, "the sources of {library} were not found");
        for path in found {
            let text = fs::read_to_string(&path).unwrap();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            let doc_lines: Vec<_> =
                if is_source { documentation(&text).collect() } else { text.lines().collect() };
            lines += doc_lines.len();
            let cited = doc_lines.into_iter().find_map(private);
            assert_eq!(cited, None, "{}", path.display());
        }
    }
    assert!(lines > 5_000, "only {lines} lines of documentation were found");
}

#[test]
fn citations_are_seen_in_documentation_and_not_in_comments() {
    let text = "/// What it is (`R-LD-03`).\n// E-042\npub fn it() {}\n";
    let cited: Vec<_> = documentation(text).filter_map(private).collect();
    assert_eq!(cited, ["R-LD-03"]);
    assert_eq!(private(" As A2A §5.4 has it, in SHA-256."), None);
    assert!(private(concat!(" its order (requirements", " §2.1)")).is_some());
}

#[test]
fn no_source_cites_a_section_that_the_repository_lacks() {
    let mut found = Vec::new();
    sources(&published::workspace().join("crates"), &mut found);
    assert!(found.len() > 500, "the sources were not found");
    // Written in two parts, so that this line is none of them.
    let sections =
        [concat!("requirements", " §"), concat!("aap.md", " §"), concat!("adcp.md", " §")];
    let cited = found.iter().filter(|path| {
        let text = fs::read_to_string(path).unwrap();
        sections.iter().any(|section| text.contains(section))
    });
    let cited: Vec<_> = cited.map(|path| path.display().to_string()).collect();
    assert_eq!(cited, [""; 0], "docs/requirements has headings and ids, and no numbered sections");
}

#[test]
fn every_library_says_what_a_registry_shows_of_it() {
    for library in LIBRARIES {
        let folder = published::workspace().join("crates").join(library);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.contains("```rust"), "{library}: the README has no example");
        let lib = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        // The examples of the server use a store, which it may not know, so the store's crate tests them.
        let elsewhere = published::workspace().join("crates/seller/store/src/lib.rs");
        let is_tested = lib.starts_with("#![doc = include_str!")
            || *library == "seller/server"
                && lib.contains("#![cfg_attr(not(doctest), doc = include_str!(\"../README.md\"))]")
                && fs::read_to_string(elsewhere)
                    .unwrap()
                    .contains("#[cfg(doctest)]\n#[doc = include_str!(\"../../server/README.md\")]");
        assert!(is_tested, "{library}: its examples are not tested");
        for member in ["description", "readme", "keywords", "categories", "license", "rust-version"]
        {
            let says = |line: &str| line.starts_with(member);
            assert!(manifest.lines().any(says), "{library}: {member}");
        }
        assert!(!manifest.contains("publish"), "{library} cannot be packaged");
    }
}

/// The texts between backticks.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_code_map_names_modules_that_exist() {
    let workspace = published::workspace();
    let text = fs::read_to_string(workspace.join("ARCHITECTURE.md")).unwrap();
    let map = text.split("\n## ").find(|part| part.starts_with("Code map\n")).unwrap();
    let mut modules = 0;
    for part in map.split("\n### ").skip(1) {
        let (crate_name, _) = part.split_once(':').unwrap();
        let sources = workspace.join("crates").join(crate_name).join("src");
        let rows = part.lines().filter_map(|line| line.strip_prefix("| `"));
        for names in rows.filter_map(|row| row.split(" | ").next()) {
            let names = format!("`{names}");
            for name in in_backticks(&names) {
                let module = sources.join(name);
                let exists = module.is_dir() || module.with_extension("rs").is_file();
                assert!(exists, "{crate_name} has no module {name}");
                modules += 1;
            }
        }
    }
    assert!(modules > 150, "only {modules} modules are in the code map");
}

#[test]
fn documented_log_lines_are_in_their_source() {
    let workspace = published::workspace();
    let text = fs::read_to_string(workspace.join("docs/scaling.md")).unwrap();
    let section =
        text.split("\n### ").find(|part| part.starts_with("What the log says\n")).unwrap();
    let table = section.lines().filter(|line| line.starts_with("| "));
    let mut lines = 0;
    for row in table.skip(1) {
        let [_, level, logged, _, source, _] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("a row with another number of cells: {row}");
        };
        let source = workspace.join("crates").join(source.trim().trim_matches('`'));
        let mut files = Vec::new();
        if source.is_dir() {
            sources(&source, &mut files);
        } else {
            files.push(source);
        }
        let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
        let code: String = texts.map(|text| before_tests(&text).to_owned()).collect();
        let level = format!("tracing::{}!(", level.trim());
        for line in in_backticks(logged) {
            // The rest of a longer line is left out in the table.
            let line = format!("\"{}", line.trim_end_matches("; …"));
            let is_logged = |(at, _): (usize, &str)| {
                let statement = code[..at].rfind("tracing::").map(|begin| &code[begin..at]);
                statement.is_some_and(|text| text.starts_with(&level) && !text.contains(';'))
            };
            assert!(code.match_indices(&line).any(is_logged), "{files:?}: no {level}{line}");
            lines += 1;
        }
    }
    assert!(lines > 15, "only {lines} lines are in the table");
}
