//! Paths that look almost like ours. A rule of a proxy in front holds for a path as it is written, so that
//! a second spelling of the same page would walk around it: there is none, but for the slash that clients
//! of A2A add to the endpoint.

use std::net::SocketAddr;

use expect_test::{Expect, expect};
use tradepost_document::json::json;

use crate::hosting::{admin_key, stdout, tradepost};
use crate::process::{Process, data};
use crate::support::{client, envelope};

/// A dealer with an upload feed, beside whom others may come.
const CONFIG: &str = r#"
    [server]
    listen = "127.0.0.1:0"
    operator_listen = "127.0.0.1:0"
    log_filter = "info"
    hosting = true
    [[dealers]]
    id = "bare"
    name = "Bare Motors"
    hosts = ["bare.example"]
    auth = { api_keys = true }
    [[dealers.feeds]]
    name = "changes"
    from = "upload"
    preset = "homenet"
    [[dealers.rooftops]]
    name = "Bare Motors Downtown"
"#;

/// Sends a request for each target as it is written, and compares the statuses.
fn check(
    address: SocketAddr,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
    targets: &[&str],
    expected: &Expect,
) {
    let mut table = String::new();
    for target in targets {
        let bytes = client::bytes("bare.example", method, target, headers, body.as_bytes());
        let status = client::raw(address, &bytes).unwrap().status;
        table += &format!("{status} {target}\n");
    }
    expected.assert_eq(&table);
}

#[test]
fn a_path_has_one_spelling_on_every_listener() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::configured(folder.path(), CONFIG);
    let operators = process.operators();
    let kept = data(folder.path());
    let create = ["keys", "create", "--dealer", "bare", "--name", "provider"];
    let scope = ["--scope", "feed:write", "--data", kept.to_str().unwrap()];
    let provider = stdout(&tradepost(folder.path(), &[&create[..], &scope].concat()));
    let provider = format!("Bearer {}", provider.trim());
    let administrator = format!("Bearer {}", admin_key(folder.path(), "ops", &[]));
    let json = ("Content-Type", "application/json");
    let question = envelope(&json!({"type": "dealer.information.request"})).to_string();

    check(
        process.address,
        "POST",
        &[json],
        &question,
        &[
            "/a2a",
            "/a2a/",
            "/a2a//",
            "//a2a",
            "/A2A",
            "/a2a%2F",
            "/%612a",
            "/a2ax",
            "/a2a/x",
            "/a2a;a=b",
            "/./a2a",
            "/x/../a2a",
            "/a2a/.",
            "/a2a/..",
        ],
        &expect![[r#"
            200 /a2a
            200 /a2a/
            404 /a2a//
            404 //a2a
            404 /A2A
            404 /a2a%2F
            404 /%612a
            404 /a2ax
            404 /a2a/x
            404 /a2a;a=b
            404 /./a2a
            404 /x/../a2a
            404 /a2a/.
            404 /a2a/..
        "#]],
    );
    check(
        process.address,
        "GET",
        &[],
        "",
        &[
            "/.well-known/agent-card.json",
            "/.well-known/agent-card.json/",
            "/.well-known//agent-card.json",
            "//.well-known/agent-card.json",
            "/.well-known/./agent-card.json",
            "/x/../.well-known/agent-card.json",
            "/.well-known/Agent-Card.json",
            "/.Well-Known/agent-card.json",
            "/.well-known/agent%2Dcard.json",
            "/.well-known%2Fagent-card.json",
            "/.well-known/agent-card.jsonx",
            "/.well-known/api-catalog",
            "/.well-known/api-catalog/",
            "/.well-known/api%2Dcatalog",
            "/.well-known/API-catalog",
            "/healthz/",
            "//readyz",
            "/metrics",
        ],
        &expect![[r#"
            200 /.well-known/agent-card.json
            404 /.well-known/agent-card.json/
            404 /.well-known//agent-card.json
            404 //.well-known/agent-card.json
            404 /.well-known/./agent-card.json
            404 /x/../.well-known/agent-card.json
            404 /.well-known/Agent-Card.json
            404 /.Well-Known/agent-card.json
            404 /.well-known/agent%2Dcard.json
            404 /.well-known%2Fagent-card.json
            404 /.well-known/agent-card.jsonx
            200 /.well-known/api-catalog
            404 /.well-known/api-catalog/
            404 /.well-known/api%2Dcatalog
            404 /.well-known/API-catalog
            404 /healthz/
            404 //readyz
            404 /metrics
        "#]],
    );
    // What is found there cannot be read as a feed.
    check(
        process.address,
        "PUT",
        &[("Authorization", &provider)],
        "nonsense",
        &[
            "/feeds/changes",
            "/feeds/changes/",
            "/feeds//changes",
            "//feeds/changes",
            "/feeds/Changes",
            "/Feeds/changes",
            "/feeds/%63hanges",
            "/feeds/change%73",
            "/feeds%2Fchanges",
            "/feeds/changes%2F",
            "/feeds/changes%20",
            "/feeds/./changes",
            "/feeds/x/../changes",
            "/feedschanges",
        ],
        &expect![[r#"
            422 /feeds/changes
            404 /feeds/changes/
            404 /feeds//changes
            404 //feeds/changes
            404 /feeds/Changes
            404 /Feeds/changes
            404 /feeds/%63hanges
            404 /feeds/change%73
            404 /feeds%2Fchanges
            404 /feeds/changes%2F
            404 /feeds/changes%20
            404 /feeds/./changes
            404 /feeds/x/../changes
            404 /feedschanges
        "#]],
    );
    let added = json!({
        "id": "acme", "name": "Acme Motors", "hosts": ["acme.example"],
        "rooftops": [{"name": "Downtown"}],
    });
    let credential = ("Authorization", administrator.as_str());
    let body = added.to_string();
    let bytes =
        client::bytes("x", "POST", "/admin/v1/dealers", &[credential, json], body.as_bytes());
    assert_eq!(client::raw(operators, &bytes).unwrap().status, 201);
    check(
        operators,
        "GET",
        &[credential],
        "",
        &[
            "/admin/v1/dealers",
            "/admin/v1/dealers/",
            "/admin/v1//dealers",
            "//admin/v1/dealers",
            "/admin/V1/dealers",
            "/ADMIN/v1/dealers",
            "/admin/v1dealers",
            "/admin/v1/dealersx",
            "/admin%2Fv1/dealers",
            "/admin/v1/%64ealers",
            "/admin/./v1/dealers",
            "/admin/v1/x/../dealers",
            "/admin/v1/dealers/acme",
            "/admin/v1/dealers/acme/",
            "/admin/v1/dealers//acme",
            "/admin/v1/dealers/%61cme",
            "/admin/v1/dealers/ACME",
            "/admin/v1/dealers/acme%2F",
            "/metrics",
            "/metrics/",
            "//metrics",
            "/Metrics",
            "/%6detrics",
        ],
        &expect![[r#"
            200 /admin/v1/dealers
            404 /admin/v1/dealers/
            404 /admin/v1//dealers
            404 //admin/v1/dealers
            404 /admin/V1/dealers
            404 /ADMIN/v1/dealers
            404 /admin/v1dealers
            404 /admin/v1/dealersx
            404 /admin%2Fv1/dealers
            404 /admin/v1/%64ealers
            404 /admin/./v1/dealers
            404 /admin/v1/x/../dealers
            200 /admin/v1/dealers/acme
            404 /admin/v1/dealers/acme/
            404 /admin/v1/dealers//acme
            404 /admin/v1/dealers/%61cme
            404 /admin/v1/dealers/ACME
            404 /admin/v1/dealers/acme%2F
            200 /metrics
            404 /metrics/
            404 //metrics
            404 /Metrics
            404 /%6detrics
        "#]],
    );
}
