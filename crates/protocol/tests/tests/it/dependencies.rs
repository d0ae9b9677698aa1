//! Checks the dependencies of each crate against a table of what it may know (style point 1).

use std::fs;
use std::path::Path;

use crate::published;

/// Rule for the dependencies and the sources of a crate.
struct CrateRule {
    /// Its folder below `crates`; the last part is its name.
    folder: &'static str,
    /// Own crates that it depends on; its tests may use no others, except [`DEMO`]. Those of the binary may use all.
    own_crates: &'static [&'static str],
    /// Libraries that it does not depend on, nor on what is built on them (`tokio-rustls`).
    forbidden_libraries: &'static [&'static str],
    /// Words that its sources do not contain, tests and comments aside.
    forbidden_words: &'static [&'static str],
}

const FILES_AND_PROCESSES: &[&str] = &["std::fs", "std::env::", "std::process"];
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

const CRATE_RULES: &[CrateRule] = &[
    // Documents and readers. Knows no protocol.
    CrateRule {
        folder: "protocol/document",
        own_crates: &[],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // One protocol each, with no I/O, no clock, no async.
    CrateRule {
        folder: "protocol/a2a",
        own_crates: &["document"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // MCP takes the envelope of JSON-RPC from A2A.
    CrateRule {
        folder: "protocol/mcp",
        own_crates: &["a2a", "document"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // The dealer's profile.
    CrateRule {
        folder: "protocol/aap",
        own_crates: &["document"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // AAP as tools over several dealers. Whoever has the answers joins them: it has never heard of buyers or servers.
    CrateRule {
        folder: "protocol/dealer-tools",
        own_crates: &["aap", "document", "mcp"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // Advertising.
    CrateRule {
        folder: "protocol/adcp",
        own_crates: &["document"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // Catalogs of any goods.
    CrateRule {
        folder: "protocol/ucp",
        own_crates: &["document"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // JWK, JWT, JWS and signatures of HTTP: made and checked. Knows no server, and has neither clock nor
    // network.
    CrateRule {
        folder: "protocol/keys",
        own_crates: &["a2a", "adcp", "document"],
        forbidden_libraries: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "rmcp", "rusqlite", "sqlx",
            "postgres", "tonic", "tracing", "clap",
        ],
        forbidden_words: &["std::env::", "std::process", "std::thread", "TcpStream", "::now()"],
    },
    // Which authorities a connection trusts.
    CrateRule {
        folder: "protocol/tls",
        own_crates: &[],
        forbidden_libraries: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rmcp", "rusqlite", "sqlx", "postgres",
            "tonic", "tracing", "clap",
        ],
        forbidden_words: &["std::process", "std::thread", "TcpStream", "::now()"],
    },
    // What failed in an answer, and what to do about it. Has neither network nor clock, so that it runs anywhere.
    CrateRule {
        folder: "buyer/recovery",
        own_crates: &["a2a", "aap", "adcp", "document"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // Acts on the network for a buyer, and keeps nothing. It receives push deliveries (axum).
    CrateRule {
        folder: "buyer/client",
        own_crates: &["a2a", "aap", "adcp", "document", "keys", "mcp", "recovery", "tls"],
        forbidden_libraries: &["rusqlite", "sqlx", "postgres", "tonic", "rmcp", "clap"],
        forbidden_words: FILES_AND_PROCESSES,
    },
    // Judges agents. Has never heard of our server.
    CrateRule {
        folder: "buyer/probe",
        own_crates: &["a2a", "aap", "adcp", "client", "document", "mcp"],
        forbidden_libraries: &[
            "axum", "hyper", "tower", "rusqlite", "sqlx", "postgres", "tonic", "clap",
        ],
        forbidden_words: FILES_AND_PROCESSES,
    },
    // Dealers and sellers of advertising as tools of a language model, by MCP over axum and standard input and output.
    CrateRule {
        folder: "buyer/bridge",
        own_crates: &["a2a", "aap", "adcp", "client", "dealer-tools", "document", "mcp"],
        forbidden_libraries: &["rmcp", "rusqlite", "sqlx", "postgres", "tonic", "clap"],
        forbidden_words: FILES_AND_PROCESSES,
    },
    // What a dealer offers, answers and has taken. Has never heard of a transport, a database or a
    // clock.
    CrateRule {
        folder: "seller/dealer",
        own_crates: &["aap", "document"],
        forbidden_libraries: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing", "clap",
        ],
        // Rows of a large feed are read by several threads (decision 16).
        forbidden_words: &[
            "std::fs",
            "std::env::",
            "std::process",
            "TcpStream",
            "UdpSocket",
            "::now()",
        ],
    },
    // What a publisher does with a request. Has never heard of a transport, a database or a clock.
    CrateRule {
        folder: "seller/publisher",
        own_crates: &["adcp", "document"],
        forbidden_libraries: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing",
        ],
        forbidden_words: IO_AND_CLOCK,
    },
    // The port to the ad servers of publishers, and its adapters, on the server's HTTP client. Has never heard of
    // a store or a clock.
    CrateRule {
        folder: "seller/ad-server",
        own_crates: &["document", "publisher", "server"],
        forbidden_libraries: &[
            "hyper", "rustls", "rusqlite", "sqlx", "postgres", "tonic", "rmcp", "clap",
        ],
        forbidden_words: &["std::fs", "std::process", "TcpStream", "::now()"],
    },
    // A2A and MCP as a library: agents with tasks, streams, webhooks and tools. Has never heard of a
    // dealer, a publisher or a database.
    CrateRule {
        folder: "seller/server",
        own_crates: &["a2a", "document", "keys", "mcp", "tls"],
        forbidden_libraries: &[
            "rusqlite",
            "sqlx",
            "postgres",
            "tonic",
            "rmcp",
            "clap",
            "tracing-subscriber",
        ],
        forbidden_words: &[
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
    CrateRule {
        folder: "seller/store",
        own_crates: &["a2a", "aap", "dealer", "document", "keys", "publisher", "server", "tls"],
        forbidden_libraries: &["axum", "tower", "hyper", "reqwest", "tonic", "clap"],
        forbidden_words: &["std::env::", "std::process", "TcpStream", "Timestamp::now()"],
    },
    // Demo data, which `serve --demo`, the sandbox, tests and benchmarks use.
    CrateRule {
        folder: "seller/demo",
        own_crates: &["aap", "dealer", "document", "publisher"],
        forbidden_libraries: NETWORK,
        forbidden_words: IO_AND_CLOCK,
    },
    // Operations of a seller's staff, each implemented once. Knows no command line, page or HTTP.
    CrateRule {
        folder: "seller/admin",
        own_crates: &["dealer", "document", "publisher", "store"],
        forbidden_libraries: &[
            "tokio", "axum", "tower", "hyper", "reqwest", "rustls", "ring", "rmcp", "rusqlite",
            "sqlx", "postgres", "tonic", "tracing", "clap", "anstream", "askama",
        ],
        forbidden_words: &[
            "std::fs",
            "std::env::",
            "std::process",
            "TcpStream",
            "Timestamp::now()",
        ],
    },
    // The commands of a buyer and the program that has only those. It listens by the server's library, and keeps an
    // inbox of pushed deliveries; it has never heard of what sellers do or keep.
    CrateRule {
        folder: "buyer/commands",
        own_crates: &[
            "a2a", "aap", "adcp", "bridge", "client", "document", "keys", "probe", "server",
        ],
        forbidden_libraries: &[
            "openssl",
            "native-tls",
            "sqlx",
            "postgres",
            "tonic",
            "rmcp",
            "askama",
        ],
        forbidden_words: &[
            "tradepost_dealer",
            "tradepost_publisher",
            "tradepost_store",
            "tradepost_demo",
        ],
    },
    // The scripted seller, on dealer and server. Has never heard of a database.
    CrateRule {
        folder: "buyer/sandbox",
        own_crates: &[
            "a2a", "aap", "adcp", "client", "dealer", "demo", "document", "mcp", "probe", "server",
        ],
        forbidden_libraries: &[
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
        forbidden_words: FILES_AND_PROCESSES,
    },
    // Agents on a store, and what happens without a request. A seller calls others, too, so that it uses the buyer's
    // client, and fetches published keys as the buyer's commands do. Knows no page and no command of a seller.
    CrateRule {
        folder: "seller/runtime",
        own_crates: &[
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
            "publisher",
            "server",
            "store",
            "tls",
            "ucp",
        ],
        forbidden_libraries: &[
            "openssl",
            "native-tls",
            "rusqlite",
            "postgres",
            "sqlx",
            "clap",
            "askama",
        ],
        forbidden_words: &["rusqlite", "SELECT "],
    },
    // Web pages for the staff. Knows no command line.
    CrateRule {
        folder: "seller/console",
        own_crates: &[
            "a2a",
            "aap",
            "adcp",
            "admin",
            "client",
            "dealer",
            "document",
            "keys",
            "probe",
            "publisher",
            "runtime",
            "server",
            "store",
        ],
        forbidden_libraries: &["openssl", "native-tls", "rusqlite", "postgres", "sqlx", "clap"],
        forbidden_words: &["rusqlite", "SELECT ", "std::fs", "std::env::", "std::process"],
    },
    // Everything that runs. Known by none. Its tests send requests of every protocol.
    CrateRule {
        folder: "tradepost",
        own_crates: &[
            "aap",
            "ad-server",
            "adcp",
            "admin",
            "client",
            "commands",
            "console",
            "dealer",
            "demo",
            "document",
            "keys",
            "publisher",
            "runtime",
            "sandbox",
            "server",
            "store",
            "tls",
        ],
        forbidden_libraries: &["openssl", "native-tls", "rusqlite", "postgres", "sqlx"],
        forbidden_words: &["rusqlite", "SELECT "],
    },
];

/// Folder of the binary.
const BINARY: &str = "tradepost";

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

/// Returns the names of the own crates among these dependencies, without the prefix `tradepost-`.
fn own_crates_in(found: &[String]) -> Vec<&str> {
    let own_name = |name: &str| {
        CRATE_RULES.iter().map(|rule| name_of(rule.folder)).find(|of| {
            name == *of && name == "tradepost" || name.strip_prefix("tradepost-") == Some(of)
        })
    };
    let mut crates: Vec<_> = found.iter().filter_map(|name| own_name(name)).collect();
    crates.sort_unstable();
    crates.dedup();
    crates
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
fn every_crate_has_a_rule() {
    let folders = crate_folders();
    let mut known: Vec<_> = CRATE_RULES.iter().map(|rule| rule.folder).collect();
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
fn the_binary_is_linked_at_the_level_of_the_release_profile() {
    // Link-time optimisation of all crates runs at the level of the last one, so that "s" there would slow down each
    // request, whatever the other crates say.
    let workspace = fs::read_to_string(published::workspace().join("Cargo.toml")).unwrap();
    let mut tables = workspace.split("\n[");
    let table = tables.find(|table| table.starts_with("profile.release.package.tradepost]"));
    let table = table.expect("the table is there because of `strip`");
    assert!(!table.contains("opt-level"), "{table}");
}

#[test]
fn no_crate_depends_on_what_it_has_never_heard_of() {
    for rule in CRATE_RULES {
        let name = name_of(rule.folder);
        let manifest = manifest(rule.folder);
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
        assert_eq!(own_crates_in(&found), rule.own_crates, "what {name} knows of our own");
        for library in &found {
            let is_of_family =
                |kind: &&str| library == kind || library.starts_with(&format!("{kind}-"));
            let forbidden =
                rule.forbidden_libraries.iter().copied().find(|kind| is_of_family(kind));
            assert_eq!(forbidden, None, "{name} must not depend on {library}");
        }
        let in_tests = dependencies(&manifest, &["dev-dependencies"]);
        let unexpected = own_crates_in(&in_tests)
            .into_iter()
            .find(|name| *name != DEMO && rule.folder != BINARY && !rule.own_crates.contains(name));
        assert_eq!(unexpected, None, "the tests of {name} must not know it");
    }
}

#[test]
fn no_source_says_what_its_crate_has_never_heard_of() {
    for rule in CRATE_RULES {
        let mut found = Vec::new();
        sources(&published::workspace().join("crates").join(rule.folder).join("src"), &mut found);
        assert!(!found.is_empty(), "the sources of {} were not found", rule.folder);
        for (path, code) in found {
            let found_word = rule.forbidden_words.iter().find(|word| code.contains(**word));
            assert_eq!(found_word, None, "{path}");
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
