//! `tradepost explain` knows every code that documentation, hints and recorded answers mention.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use tradepost_dealer::appointment::change::CalendarCode;
use tradepost_dealer::import::{RowWarning, SkipReason};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use crate::beside;

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
    "NO_FORECAST_YET",
    "NO_PROXY",
    "PATH_OF_THE_KIT",
    "PRICE_PRIORITY",
    "REQUEST_METHOD",
    "ROLE_USER",
    "SELLER_URL",
    "SERVER_BUSY",
    "SOURCE_DATE_EPOCH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TASK_ID",
    "TASK_STATE_UNSPECIFIED",
    "UCP_SPECIFICATION",
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

/// What stands behind a backtick in a document, where that is a word in lower case.
fn quoted_word(rest: &str) -> Option<String> {
    let (word, _) = rest.split_once('`')?;
    let is_word = word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_word.then(|| word.to_owned())
}

/// Sentences of documents that name a reason or a warning.
const NAMING: &[&str] = &[
    "the warning `",
    "the reason `",
    "`/readyz` counts `",
    "`/readyz` has `",
    "`/readyz` reports `",
    "it also reports `",
];

/// The reasons and warnings that a document names: in its tables of warnings, and in the sentences
/// of [`NAMING`].
fn reasons(text: &str) -> BTreeSet<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let after = |mark: &&str| line.split(*mark).skip(1).filter_map(quoted_word).collect::<Vec<_>>();
    let mut found: BTreeSet<String> = NAMING.iter().flat_map(after).collect();
    for table in text.split("| warning |").skip(1) {
        let rows = table.lines().skip(2).map_while(|row| row.strip_prefix("| `"));
        found.extend(rows.filter_map(quoted_word));
    }
    found
}

#[test]
fn reasons_and_warnings_of_imports_readyz_and_alerts_can_be_explained() {
    let mut named: BTreeSet<String> = files(&beside::workspace().join("docs"), "md")
        .iter()
        .flat_map(|path| reasons(&std::fs::read_to_string(path).unwrap()))
        .collect();
    for expected in ["untyped_aap", "price_omits_fees", "certificate_ends_soon", "dead_deliveries"]
    {
        assert!(named.contains(expected), "{expected} is not found in {named:?}");
    }
    named.extend(SkipReason::NAMES.iter().chain(RowWarning::NAMES).map(|name| (*name).to_owned()));
    let source =
        std::fs::read_to_string(beside::workspace().join("crates/tradepost/tests/it/import.rs"))
            .unwrap();
    named.extend(
        source
            .split("\"kind\": \"")
            .skip(1)
            .filter_map(|rest| quoted_word(&rest.replacen('"', "`", 1))),
    );
    let known = explained();
    named.retain(|name| !known.contains(name));
    assert!(named.is_empty(), "explain does not know {named:?}");
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
    let pages = files(&beside::workspace().join("docs"), "md")
        .into_iter()
        .chain([beside::workspace().join("README.md")]);
    for path in pages
        .filter(|path| !path.components().any(|component| component.as_os_str() == "requirements"))
    {
        note(codes(&std::fs::read_to_string(&path).unwrap()), &path);
    }
    for path in files(&beside::workspace().join("crates"), "rs") {
        let source = std::fs::read_to_string(&path).unwrap();
        let is_test = path.components().any(|component| component.as_os_str() == "tests");
        if !is_test {
            note(codes(&hints(&source)), &path);
        }
    }
    for path in files(&beside::workspace().join("crates/tradepost/tests"), "rs") {
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
    let mut sources = files(&beside::workspace().join("crates/tradepost/src/cli"), "rs");
    sources.extend(files(&beside::workspace().join("crates/buyer/commands/src"), "rs"));
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
        ("another_dealer", "skipped row"),
        ("year from vin", "import warning"),
        ("stale_feeds", "readyz"),
        ("failed_certificate_orders", "readyz"),
        ("dead", "alert"),
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
