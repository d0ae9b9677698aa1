//! The dependency list is the architecture (style point 1): each crate is a sentence about what it
//! may not know.

use std::fs;
use std::path::Path;

use crate::published;

/// What a crate may know, and what it has never heard of.
struct Sentence {
    /// Its folder below `crates`; the last part is its name.
    folder: &'static str,
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

/// Libraries that wait for somebody else, or open files and sockets.
const NETWORK: &[&str] = &[
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
];

const SENTENCES: &[Sentence] = &[
    // Documents and readers. Knows no protocol.
    Sentence { folder: "protocol/document", knows: &[], without: NETWORK, unsaid: IO_AND_CLOCK },
    // One protocol each, with no I/O, no clock, no async.
    Sentence {
        folder: "protocol/a2a",
        knows: &["document"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // MCP takes the envelope of JSON-RPC from A2A.
    Sentence {
        folder: "protocol/mcp",
        knows: &["a2a", "document"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // The dealer's profile.
    Sentence {
        folder: "protocol/aap",
        knows: &["document"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // AAP as tools over several dealers. Whoever has the answers joins them: it has never heard of buyers or servers.
    Sentence {
        folder: "protocol/dealer-tools",
        knows: &["aap", "document", "mcp"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // Advertising.
    Sentence {
        folder: "protocol/adcp",
        knows: &["document"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // Catalogs of any goods.
    Sentence {
        folder: "protocol/ucp",
        knows: &["document"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // JWK, JWT, JWS and signatures of HTTP: made and checked. Knows no server, and has neither clock nor
    // network.
    Sentence {
        folder: "protocol/keys",
        knows: &["a2a", "adcp", "document"],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "rmcp", "rusqlite", "sqlx",
            "postgres", "tonic", "tracing", "clap",
        ],
        unsaid: &["std::env::", "std::process", "std::thread", "TcpStream", "::now()"],
    },
    // Which authorities a connection trusts.
    Sentence {
        folder: "protocol/tls",
        knows: &[],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rmcp", "rusqlite", "sqlx", "postgres",
            "tonic", "tracing", "clap",
        ],
        unsaid: &["std::process", "std::thread", "TcpStream", "::now()"],
    },
    // What failed in an answer, and what to do about it. Has neither network nor clock, so that it runs anywhere.
    Sentence {
        folder: "buyer/recovery",
        knows: &["a2a", "aap", "adcp", "document"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // Acts on the network for a buyer, and keeps nothing. It receives push deliveries (axum).
    Sentence {
        folder: "buyer/client",
        knows: &["a2a", "aap", "adcp", "document", "keys", "mcp", "recovery", "tls"],
        without: &["rusqlite", "sqlx", "postgres", "tonic", "rmcp", "clap"],
        unsaid: FILES,
    },
    // Judges agents. Has never heard of our server.
    Sentence {
        folder: "buyer/probe",
        knows: &["a2a", "aap", "adcp", "client", "document", "mcp"],
        without: &["axum", "hyper", "tower", "rusqlite", "sqlx", "postgres", "tonic", "clap"],
        unsaid: FILES,
    },
    // Dealers and sellers of advertising as tools of a language model, by MCP over axum and standard input and output.
    Sentence {
        folder: "buyer/bridge",
        knows: &["a2a", "aap", "adcp", "client", "dealer-tools", "document", "mcp"],
        without: &["rmcp", "rusqlite", "sqlx", "postgres", "tonic", "clap"],
        unsaid: FILES,
    },
    // What a dealer offers, answers and has taken. Has never heard of a transport, a database or a
    // clock.
    Sentence {
        folder: "seller/dealer",
        knows: &["aap", "document"],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing", "clap",
        ],
        // Rows of a large feed are read by several threads (decision 16).
        unsaid: &["std::fs", "std::env::", "std::process", "TcpStream", "UdpSocket", "::now()"],
    },
    // What a publisher does with a request. Has never heard of a transport, a database or a clock.
    Sentence {
        folder: "seller/publisher",
        knows: &["adcp", "document"],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing",
        ],
        unsaid: IO_AND_CLOCK,
    },
    // The port to the ad servers of publishers, and its adapters, on the server's HTTP client. Has never heard of
    // a store or a clock.
    Sentence {
        folder: "seller/ad-server",
        knows: &["document", "publisher", "server"],
        without: &["hyper", "rustls", "rusqlite", "sqlx", "postgres", "tonic", "rmcp", "clap"],
        unsaid: &["std::fs", "std::process", "TcpStream", "::now()"],
    },
    // A2A and MCP as a library: agents with tasks, streams, webhooks and tools. Has never heard of a
    // dealer, a publisher or a database.
    Sentence {
        folder: "seller/server",
        knows: &["a2a", "document", "keys", "mcp", "tls"],
        without: &["rusqlite", "sqlx", "postgres", "tonic", "rmcp", "clap", "tracing-subscriber"],
        unsaid: &[
            "std::env::",
            "std::process",
            "tradepost_aap",
            "tradepost_adcp",
            "aap::",
            "adcp::",
            "Dealer",
            "dealer_id",
            "Publisher",
            "rusqlite",
            "SELECT ",
        ],
    },
    // What servers, dealers and publishers ask to be kept. Their SQL is here and nowhere else.
    Sentence {
        folder: "seller/store",
        knows: &["a2a", "aap", "dealer", "document", "keys", "publisher", "server", "tls"],
        without: &["axum", "tower", "hyper", "reqwest", "tonic", "clap"],
        unsaid: &["std::env::", "std::process", "TcpStream", "Timestamp::now()"],
    },
    // Demo data, which `serve --demo`, the sandbox, tests and benchmarks use.
    Sentence {
        folder: "seller/demo",
        knows: &["aap", "dealer", "document", "publisher"],
        without: NETWORK,
        unsaid: IO_AND_CLOCK,
    },
    // Operations of a seller's staff, each implemented once. Knows no command line, page or HTTP.
    Sentence {
        folder: "seller/admin",
        knows: &["dealer", "document", "publisher", "store"],
        without: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing", "clap", "anstream", "askama",
        ],
        unsaid: &["std::fs", "std::env::", "std::process", "TcpStream", "Timestamp::now()"],
    },
    // The commands of a buyer and the program that has only those. It listens by the server's library, and keeps an
    // inbox of pushed deliveries; it has never heard of what sellers do or keep.
    Sentence {
        folder: "buyer/commands",
        knows: &["a2a", "aap", "adcp", "bridge", "client", "document", "keys", "probe", "server"],
        without: &["openssl", "native-tls", "sqlx", "postgres", "tonic", "rmcp", "askama"],
        unsaid: &["tradepost_dealer", "tradepost_publisher", "tradepost_store", "tradepost_demo"],
    },
    // The scripted seller, on dealer and server. Has never heard of a database.
    Sentence {
        folder: "buyer/sandbox",
        knows: &[
            "a2a", "aap", "adcp", "client", "dealer", "demo", "document", "mcp", "probe", "server",
        ],
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
        folder: "tradepost",
        knows: &[
            "a2a",
            "aap",
            "ad-server",
            "adcp",
            "admin",
            "client",
            "commands",
            "dealer",
            "dealer-tools",
            "demo",
            "document",
            "keys",
            "mcp",
            "probe",
            "publisher",
            "sandbox",
            "server",
            "store",
            "tls",
            "ucp",
        ],
        without: &["openssl", "native-tls", "rusqlite", "postgres", "sqlx"],
        unsaid: &["rusqlite", "SELECT "],
    },
];

/// Crate of demo data, which any test may use: it is built on the domain crates, whose tests need examples.
const DEMO: &str = "demo";

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

fn manifest(folder: &str) -> String {
    let crates = published::workspace().join("crates");
    fs::read_to_string(crates.join(folder).join("Cargo.toml")).unwrap()
}

/// Name of the crate in a folder.
fn name_of(folder: &'static str) -> &'static str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Folders of all crates below `crates`, except the one that has tests alone, which need every protocol.
pub(crate) fn crate_folders() -> Vec<String> {
    let crates = published::workspace().join("crates");
    let mut found = Vec::new();
    let mut open = vec![crates.clone()];
    while let Some(folder) = open.pop() {
        if folder.join("Cargo.toml").is_file() {
            let below = folder.strip_prefix(&crates).unwrap();
            found.push(below.to_str().unwrap().to_owned());
        } else {
            let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            open.extend(entries.filter(|path| path.is_dir()));
        }
    }
    found.retain(|folder| folder != "protocol/tests");
    found.sort_unstable();
    found
}

/// Those of our own crates among these, by their folders.
fn kin(found: &[String]) -> Vec<&str> {
    let folder = |name: &str| {
        SENTENCES.iter().map(|sentence| name_of(sentence.folder)).find(|of| {
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
    let folders = crate_folders();
    let mut known: Vec<_> = SENTENCES.iter().map(|sentence| sentence.folder).collect();
    known.sort_unstable();
    assert_eq!(folders, known);
}

#[test]
fn cargo_run_starts_the_full_program_alone() {
    // The README's first command names no program, so that cargo takes the only default of the workspace.
    let mut defaults = crate_folders();
    defaults.retain(|folder| manifest(folder).contains("default-run"));
    assert_eq!(defaults, ["tradepost"]);
}

#[test]
fn no_crate_depends_on_what_it_has_never_heard_of() {
    for sentence in SENTENCES {
        let name = name_of(sentence.folder);
        let manifest = manifest(sentence.folder);
        let found = dependencies(&manifest, &TABLES);
        // What each of them needs: `tls` reads no JSON.
        let marker = if name == "tls" { "rustls" } else { "tradepost-document" };
        assert!(
            name == "document" || found.contains(&marker.to_owned()),
            "{name}: the manifest was not understood"
        );
        // Everybody else reads and writes by `tradepost_document::json`.
        let by_itself = name == "document";
        assert_eq!(found.contains(&"serde_json".to_owned()), by_itself, "{name} and serde_json");
        assert_eq!(kin(&found), sentence.knows, "what {name} knows of our own");
        for library in &found {
            let is_kin = |kind: &&str| library == kind || library.starts_with(&format!("{kind}-"));
            let culprit = sentence.without.iter().copied().find(|kind| is_kin(kind));
            assert_eq!(culprit, None, "{name} must not depend on {library}");
        }
        let in_tests = dependencies(&manifest, &["dev-dependencies"]);
        let strangers =
            kin(&in_tests).into_iter().find(|name| *name != DEMO && !sentence.knows.contains(name));
        assert_eq!(strangers, None, "the tests of {name} must not know it");
    }
}

#[test]
fn no_source_says_what_its_crate_has_never_heard_of() {
    for sentence in SENTENCES {
        let mut found = Vec::new();
        sources(
            &published::workspace().join("crates").join(sentence.folder).join("src"),
            &mut found,
        );
        assert!(!found.is_empty(), "the sources of {} were not found", sentence.folder);
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
