//! The dependency list is the architecture (style point 2).

use std::fs;

use crate::published;

/// The crates that a manifest depends on outside of its tests.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_table = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']').replace(['"', '\''], "");
            let path: Vec<_> = header.split('.').collect();
            let table =
                path.iter().position(|part| matches!(*part, "dependencies" | "build-dependencies"));
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

fn of_crate(name: &str) -> Vec<String> {
    let manifest = published::workspace().join("crates").join(name).join("Cargo.toml");
    dependencies(&fs::read_to_string(manifest).unwrap())
}

#[test]
fn wire_knows_neither_network_nor_runtime_nor_database() {
    let forbidden = [
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
        "tradepost",
    ];
    let found = of_crate("wire");
    assert!(found.contains(&"serde_json".to_owned()), "the manifest was not understood");
    for name in &found {
        let is_kin = |kind: &&str| *name == **kind || name.starts_with(&format!("{kind}-"));
        let culprit = forbidden.iter().find(|kind| is_kin(kind));
        assert_eq!(culprit, None, "tradepost-wire does no I/O and must not depend on {name}");
    }
}

#[test]
fn buyer_has_never_heard_of_the_server() {
    let found = of_crate("buyer");
    assert!(found.contains(&"tradepost-wire".to_owned()), "the manifest was not understood");
    // It receives push deliveries (axum) and keeps nothing.
    for name in ["tradepost", "rusqlite", "sqlx"] {
        assert!(!found.contains(&name.to_owned()), "tradepost-buyer must not depend on {name}");
    }
}

#[test]
fn the_publisher_has_never_heard_of_a_transport_or_a_database() {
    let found = of_crate("publisher");
    assert!(found.contains(&"tradepost-wire".to_owned()), "the manifest was not understood");
    let forbidden = ["tokio", "axum", "hyper", "reqwest", "rmcp", "rusqlite", "tracing"];
    for name in forbidden.into_iter().chain(["tradepost", "tradepost-buyer"]) {
        assert!(!found.contains(&name.to_owned()), "tradepost-publisher must not depend on {name}");
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
    assert_eq!(dependencies(manifest), ["serde", "web", "axum", "tokio", "hyper"]);
}
