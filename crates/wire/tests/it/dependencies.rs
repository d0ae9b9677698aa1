//! The dependency list is the architecture (style point 1): each crate is a sentence about what it
//! may not know.

use std::fs;
use std::path::Path;

use crate::published;

/// What a crate may know, and what it has never heard of.
struct Sentence {
    /// Its folder.
    name: &'static str,
    /// Which of our own crates it knows, in its tests too.
    knows: &'static [&'static str],
    /// Libraries that it does not depend on, nor on what is built on them (`tokio-rustls`).
    without: &'static [&'static str],
    /// What its sources do not say, tests and comments aside.
    unsaid: &'static [&'static str],
}

const FILES: &[&str] = &["std::fs", "std::env::", "std::process"];
const IO_AND_CLOCK: &[&str] =
    &["std::fs", "std::env::", "std::process", "std::thread", "TcpStream", "UdpSocket", "::now()"];

const SENTENCES: &[Sentence] = &[
    // What both sides must agree on, with no I/O, no clock, no async.
    Sentence {
        name: "wire",
        knows: &[],
        without: &[
            "tokio",
            "async-std",
            "smol",
            "futures",
            "axum",
            "tower",
            "hyper",
            "reqwest",
            "ureq",
            "rustls",
            "rusqlite",
            "sqlx",
            "postgres",
            "tonic",
            "tracing",
        ],
        unsaid: IO_AND_CLOCK,
    },
    // JWK, JWT, JWS and signatures of HTTP: made and checked. Knows no server, and has neither clock nor
    // network.
    Sentence {
        name: "keys",
        knows: &["wire"],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "rmcp", "rusqlite", "sqlx",
            "postgres", "tonic", "tracing", "clap",
        ],
        unsaid: &["std::env::", "std::process", "std::thread", "TcpStream", "::now()"],
    },
    // Acts on the network for a buyer, and keeps nothing. It receives push deliveries (axum).
    Sentence {
        name: "buyer",
        knows: &["keys", "wire"],
        without: &["rusqlite", "sqlx", "postgres", "tonic", "rmcp", "clap"],
        unsaid: FILES,
    },
    // Judges agents. Has never heard of our server.
    Sentence {
        name: "probe",
        knows: &["buyer", "wire"],
        without: &["axum", "hyper", "tower", "rusqlite", "sqlx", "postgres", "tonic", "clap"],
        unsaid: FILES,
    },
    // Dealers and sellers of advertising as tools of a language model, by MCP over axum and standard input and output.
    Sentence {
        name: "bridge",
        knows: &["buyer", "wire"],
        without: &["rmcp", "rusqlite", "sqlx", "postgres", "tonic", "clap"],
        unsaid: FILES,
    },
    // What a dealer offers, answers and has taken. Has never heard of a transport, a database or a
    // clock.
    Sentence {
        name: "dealer",
        knows: &["wire"],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing", "clap",
        ],
        // Rows of a large feed are read by several threads (decision 16).
        unsaid: &["std::fs", "std::env::", "std::process", "TcpStream", "UdpSocket", "::now()"],
    },
    // What a publisher does with a request. Has never heard of a transport, a database or a clock.
    Sentence {
        name: "publisher",
        knows: &["wire"],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing",
        ],
        unsaid: IO_AND_CLOCK,
    },
    // A2A and MCP as a library: agents with tasks, streams, webhooks and tools. Has never heard of a
    // dealer, a publisher or a database.
    Sentence {
        name: "server",
        knows: &["keys", "wire"],
        without: &["rusqlite", "sqlx", "postgres", "tonic", "rmcp", "clap", "tracing-subscriber"],
        unsaid: &[
            "std::env::",
            "std::process",
            "wire::aap",
            "wire::adcp",
            "aap::",
            "adcp::",
            "Dealer",
            "dealer_id",
            "Publisher",
            "rusqlite",
            "SELECT ",
        ],
    },
    // What servers, dealers, publishers and receivers ask to be kept. SQL is here and nowhere else.
    Sentence {
        name: "store",
        knows: &["buyer", "dealer", "keys", "publisher", "server", "wire"],
        without: &["axum", "tower", "hyper", "reqwest", "tonic", "clap"],
        unsaid: &["std::env::", "std::process", "TcpStream", "Timestamp::now()"],
    },
    // The scripted seller, on dealer and server. Has never heard of a database.
    Sentence {
        name: "sandbox",
        knows: &["buyer", "dealer", "probe", "server", "wire"],
        without: &[
            "reqwest",
            "rustls",
            "rusqlite",
            "sqlx",
            "postgres",
            "tonic",
            "rmcp",
            "clap",
            "tracing-subscriber",
        ],
        unsaid: FILES,
    },
    // Everything that runs. Known by none.
    Sentence {
        name: "tradepost",
        knows: &[
            "bridge",
            "buyer",
            "dealer",
            "keys",
            "probe",
            "publisher",
            "sandbox",
            "server",
            "store",
            "wire",
        ],
        without: &["openssl", "native-tls", "rusqlite", "postgres", "sqlx"],
        unsaid: &["rusqlite", "SELECT "],
    },
];

const TABLES: [&str; 2] = ["dependencies", "build-dependencies"];

/// What a manifest depends on in these tables.
fn dependencies(manifest: &str, tables: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_table = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']').replace(['"', '\''], "");
            let path: Vec<_> = header.split('.').collect();
            let table = path.iter().position(|part| tables.contains(part));
            // `[dependencies.tokio]` is an entry by itself.
            in_table = table.is_some_and(|n| n + 1 == path.len());
            found.extend(table.and_then(|n| path.get(n + 1)).map(|name| (*name).to_owned()));
        } else if in_table && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            found.push(name.trim_matches('"').to_owned());
            // `web = { package = "axum" }` is axum.
            let renamed = line.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
            found.extend(renamed.map(ToOwned::to_owned));
        }
    }
    found
}

fn manifest(name: &str) -> String {
    fs::read_to_string(published::workspace().join("crates").join(name).join("Cargo.toml")).unwrap()
}

/// Those of our own crates among these, by their folders.
fn kin(found: &[String]) -> Vec<&str> {
    let folder = |name: &str| {
        SENTENCES.iter().map(|sentence| sentence.name).find(|of| {
            name == *of && name == "tradepost" || name.strip_prefix("tradepost-") == Some(of)
        })
    };
    let mut kin: Vec<_> = found.iter().filter_map(|name| folder(name)).collect();
    kin.sort_unstable();
    kin.dedup();
    kin
}

/// The sources below a folder without their tests and comments, with their paths.
pub(crate) fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("tests.rs")
        {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            let code: Vec<_> = code.lines().filter(is_code).collect();
            found.push((path.display().to_string(), code.join("\n")));
        }
    }
}

#[test]
fn every_crate_has_a_sentence() {
    let mut folders: Vec<_> = fs::read_dir(published::workspace().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut known: Vec<_> = SENTENCES.iter().map(|sentence| sentence.name).collect();
    folders.sort_unstable();
    known.sort_unstable();
    assert_eq!(folders, known);
}

#[test]
fn no_crate_depends_on_what_it_has_never_heard_of() {
    for sentence in SENTENCES {
        let name = sentence.name;
        let manifest = manifest(sentence.name);
        let found = dependencies(&manifest, &TABLES);
        assert!(
            name == "wire" || found.contains(&"tradepost-wire".to_owned()),
            "{name}: the manifest was not understood"
        );
        // Everybody else reads and writes by `wire::json`.
        let by_itself = name == "wire";
        assert_eq!(found.contains(&"serde_json".to_owned()), by_itself, "{name} and serde_json");
        assert_eq!(kin(&found), sentence.knows, "what {name} knows of our own");
        for library in &found {
            let is_kin = |kind: &&str| library == kind || library.starts_with(&format!("{kind}-"));
            let culprit = sentence.without.iter().copied().find(|kind| is_kin(kind));
            assert_eq!(culprit, None, "{name} must not depend on {library}");
        }
        let in_tests = dependencies(&manifest, &["dev-dependencies"]);
        let strangers =
            kin(&in_tests).into_iter().find(|stranger| !sentence.knows.contains(stranger));
        assert_eq!(strangers, None, "the tests of {name} must not know it");
    }
}

#[test]
fn no_source_says_what_its_crate_has_never_heard_of() {
    for sentence in SENTENCES {
        let mut found = Vec::new();
        sources(&published::workspace().join("crates").join(sentence.name).join("src"), &mut found);
        assert!(found.len() > 3, "the sources of {} were not found", sentence.name);
        for (path, code) in found {
            let said = sentence.unsaid.iter().find(|word| code.contains(**word));
            assert_eq!(said, None, "{path}");
        }
    }
}

#[test]
fn every_spelling_of_a_dependency_is_seen() {
    let manifest = r#"
        [dependencies]
        serde.workspace = true
        web = { package = "axum", version = "0.8" }
        [dependencies.tokio]
        version = "1"
        [target.'cfg(unix)'.dependencies]
        hyper = "1"
        [dev-dependencies]
        proptest = "1"
        [lints]
        workspace = true
    "#;
    let found = ["serde", "web", "axum", "tokio", "hyper"];
    assert_eq!(dependencies(manifest, &TABLES), found);
    assert_eq!(dependencies(manifest, &["dev-dependencies"]), ["proptest"]);
}
