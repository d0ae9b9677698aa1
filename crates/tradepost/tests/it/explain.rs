//! `tradepost explain` knows every code that documentation, hints and recorded answers mention.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use tradepost_dealer::appointment::change::CalendarCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

/// What is written like a code and is none: variables of the environment and of scripts, names of
/// bindings and roles, placeholders, and words of other programs.
const NOT_CODES: &[&str] = &[
    "ADCP_CHECKOUT",
    "ALL_PROXY",
    "CAP_NET_BIND_SERVICE",
    "DEALER_URL",
    "ERROR_ID",
    "GITHUB_STEP_SUMMARY",
    "GO_FOREVER",
    "HTTPS_PROXY",
    "HTTP_JSON",
    "HTTP_PROXY",
    "JWKS_FILE",
    "NO_PROXY",
    "PATH_OF_THE_KIT",
    "REQUEST_METHOD",
    "ROLE_USER",
    "SELLER_URL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TASK_ID",
    "TASK_STATE_UNSPECIFIED",
    "UPDATE_DOCS",
    "UPDATE_EXPECT",
    "UPDATE_PROTO",
];

/// Codes of one word, which cannot be told from other words in capitals.
const SHORT_CODES: &[&str] = &[
    "BUSY",
    "CONFLICT",
    "DECLINED",
    "FAILED",
    "OK",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found
}

/// The words of a text that are written like codes.
fn codes(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c: char| !is_part(c) && !c.is_ascii_lowercase() && c != '-');
    let is_code = |word: &&str| {
        let begins = word.starts_with(|c: char| c.is_ascii_uppercase());
        let is_whole = word.chars().all(is_part) && !word.ends_with('_');
        begins && is_whole && (word.contains('_') || SHORT_CODES.contains(word))
    };
    words.filter(is_code).map(str::to_owned).collect()
}

/// The texts of a source that people are shown as hints: behind `hint:` and in `.hint(…)`.
fn hints(source: &str) -> String {
    let mut found = String::new();
    for mark in ["hint: \"", ".hint(\"", "hint = \"", ".hint(format!(\""] {
        for rest in source.split(mark).skip(1) {
            let end = rest
                .char_indices()
                .find(|(at, c)| *c == '"' && !rest.get(..*at).unwrap_or_default().ends_with('\\'));
            found.push_str(rest.get(..end.map_or(0, |(at, _)| at)).unwrap_or_default());
            found.push(' ');
        }
    }
    found
}

/// The codes of errors in recorded answers: the values of members that are called `code`.
fn recorded(source: &str) -> BTreeSet<String> {
    let values = source.split("\"code\": \"").skip(1);
    let values = values.filter_map(|rest| rest.split('"').next());
    values.filter(|value| codes(value).contains(*value)).map(str::to_owned).collect()
}

/// Asks the program itself for all codes, and each code by its name.
fn explained() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost")).args(["explain", "--json"]).output();
    let all: Value = tradepost_document::json::from_slice(&output.unwrap().stdout).unwrap();
    let mut known = BTreeSet::new();
    for entry in all["codes"].as_array().unwrap() {
        for member in ["code", "grpc_status"] {
            known.extend(entry[member].as_str().map(str::to_owned));
        }
    }
    known
}

#[test]
fn every_code_that_is_mentioned_somewhere_can_be_explained() {
    let mut mentioned: BTreeMap<String, String> = BTreeMap::new();
    let mut note = |codes: BTreeSet<String>, path: &Path| {
        for code in codes {
            mentioned.entry(code).or_insert_with(|| path.display().to_string());
        }
    };
    let pages = files(&root().join("docs"), "md").into_iter().chain([root().join("README.md")]);
    for path in pages
        .filter(|path| !path.components().any(|component| component.as_os_str() == "requirements"))
    {
        note(codes(&std::fs::read_to_string(&path).unwrap()), &path);
    }
    for path in files(&root().join("crates"), "rs") {
        let source = std::fs::read_to_string(&path).unwrap();
        let is_test = path.components().any(|component| component.as_os_str() == "tests");
        if !is_test {
            note(codes(&hints(&source)), &path);
        }
    }
    for path in files(&root().join("crates/tradepost/tests"), "rs") {
        note(recorded(&std::fs::read_to_string(&path).unwrap()), &path);
    }
    assert!(mentioned.len() > 150, "{}", mentioned.len());
    let known = explained();
    mentioned.retain(|code, _| {
        !known.contains(code)
            && !NOT_CODES.contains(&code.as_str())
            && !code.starts_with("TRADEPOST_")
    });
    assert!(mentioned.is_empty(), "explain does not know {mentioned:#?}");
}

/// The lower-case codes that a source gives in the `error` of a command's JSON.
fn command_codes(source: &str) -> BTreeSet<String> {
    let values = source.split("\"code\": \"").skip(1);
    values.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[test]
fn codes_of_commands_can_be_explained() {
    let known = explained();
    let sources = files(&root().join("crates/tradepost/src/cli"), "rs");
    let mut codes: BTreeSet<String> = sources
        .iter()
        .flat_map(|path| command_codes(&std::fs::read_to_string(path).unwrap()))
        .filter(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        .collect();
    codes.extend(CalendarCode::ALL.iter().map(|code| code.name().to_owned()));
    assert!(codes.len() > 20, "{codes:?}");
    let unknown: Vec<_> = codes.iter().filter(|code| !known.contains(*code)).collect();
    assert!(unknown.is_empty(), "explain does not know {unknown:?}");
}

#[test]
fn our_codes_and_grpc_statuses_are_explained_by_name() {
    for (code, catalog) in [
        ("revision conflict", "operators' API"),
        ("PERSON_BUSY", "bridge"),
        ("ACME_TOO_SLOW", "certificates"),
        ("HTTP_ERROR", "metrics"),
        ("BUSY", "feed upload"),
        ("config_unreadable", "command line"),
        ("outside_hours", "calendar"),
        ("FAILED_PRECONDITION", "A2A"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tradepost")).args(["explain", code]).output();
        let output = output.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && said.contains(&format!("({catalog})")),
            "{code}: {said}"
        );
    }
}
