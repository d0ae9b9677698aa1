//! What operators can read of a running server: every number that is certain, and nothing of anybody.

use std::net::SocketAddr;

use expect_test::{Expect, expect};
use tradepost_document::json::json;

use crate::process::{self, DEALER, Process, fresh_lead};
use crate::support::client;
use crate::support::publisher::{message, older_message, start, start_with};

fn written(operators: SocketAddr) -> String {
    let response = client::request(operators, "GET", "/metrics", &[], b"");
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((response.status, response.header("content-type")), (200, Some(media_type)));
    String::from_utf8(response.body).unwrap()
}

/// The whole of it in a fixed order, without the numbers that depend on the clock or on what the
/// process does by itself.
fn certain(text: &str) -> String {
    let uncertain = ["_duration_seconds_sum", "tradepost_store_jobs", "tradepost_store_commit"];
    let mut series = Vec::new();
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.contains("_bucket{") || line.contains("+Inf")) {
        if line.starts_with('#') {
            series.sort_unstable();
            series.drain(..).for_each(|line: String| out.push_str(&line));
            out.push_str(&format!("{line}\n"));
        } else if uncertain.iter().any(|name| line.contains(name)) {
            series.push(format!("{} ~\n", line.rsplit_once(' ').unwrap().0));
        } else {
            series.push(format!("{line}\n"));
        }
    }
    out
}

#[track_caller]
fn check(operators: SocketAddr, expected: Expect) {
    expected.assert_eq(&certain(&written(operators)));
}

#[test]
fn without_its_rows_everything_else_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (process, operators) = dealer(folder.path());
    let database = process::data(folder.path()).join("tradepost.sqlite");
    let database = rusqlite::Connection::open(database).unwrap();
    assert!(written(operators).contains("tradepost_deliveries_pending"));
    database.execute_batch("ALTER TABLE tasks RENAME TO mislaid").unwrap();
    let text = written(operators);
    assert!(!text.contains("tradepost_deliveries_pending"), "{text}");
    assert!(text.contains("tradepost_requests_in_flight 0\n"), "{text}");
    assert!(text.contains("tradepost_store_queue 0\n") && text.ends_with("# EOF\n"), "{text}");
    database.execute_batch("ALTER TABLE mislaid RENAME TO tasks").unwrap();
    let is_back = || written(operators).contains("tradepost_deliveries_pending");
    process.until("it counts again", is_back);
}

/// The real binary with a dealer, and where its operators ask.
fn dealer(folder: &std::path::Path) -> (Process, SocketAddr) {
    let config = DEALER.replace("[server]", "[server]\noperator_listen = \"127.0.0.1:0\"");
    let process = Process::configured(folder, &config);
    let operators = process.operators();
    (process, operators)
}

#[test]
fn what_a_dealer_is_asked_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (process, operators) = dealer(folder.path());
    process.call(&json!({"type": "dealer.information.request"}));
    process.call(&json!({"type": "dealer.information.request"}));
    process.call(&json!({"type": "inventory.search.request", "filters": {"maek": ["Honda"]}}));
    process.call(&json!({"type": "inventory.vehicle.request", "vin": "1HGCV1F30NA123456"}));
    process.call(&json!({"type": "car.wash.request"}));
    client::request(process.address, "POST", "/a2a", &[("Content-Type", "application/json")], b"{");
    client::request(process.address, "GET", "/.well-known/agent-card.json", &[], b"");
    client::request(process.address, "GET", "/nowhere", &[], b"");
    check(
        operators,
        expect![[r##"
            # HELP tradepost_requests Requests that were answered, by how they ended.
            # TYPE tradepost_requests counter
            tradepost_requests_total{agent="",binding="http",operation="",caller="unproven",code="HTTP_ERROR"} 1
            tradepost_requests_total{agent="",binding="http",operation="",caller="unproven",code="OK"} 1
            tradepost_requests_total{agent="bare",binding="jsonrpc",operation="",caller="unproven",code="PARSE_ERROR"} 1
            tradepost_requests_total{agent="bare",binding="jsonrpc",operation="SendMessage",caller="anonymous",code="UNSUPPORTED_SKILL"} 1
            tradepost_requests_total{agent="bare",binding="jsonrpc",operation="dealer.information",caller="anonymous",code="OK"} 2
            tradepost_requests_total{agent="bare",binding="jsonrpc",operation="inventory.search",caller="anonymous",code="SCHEMA_VALIDATION_FAILED"} 1
            tradepost_requests_total{agent="bare",binding="jsonrpc",operation="inventory.vehicle",caller="anonymous",code="VEHICLE_NOT_FOUND"} 1
            # HELP tradepost_request_duration_seconds How long answers took until their head was there.
            # TYPE tradepost_request_duration_seconds histogram
            # UNIT tradepost_request_duration_seconds seconds
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="",binding="http",operation=""} 2
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="bare",binding="jsonrpc",operation=""} 1
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="bare",binding="jsonrpc",operation="SendMessage"} 1
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="bare",binding="jsonrpc",operation="dealer.information"} 2
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="bare",binding="jsonrpc",operation="inventory.search"} 1
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="bare",binding="jsonrpc",operation="inventory.vehicle"} 1
            tradepost_request_duration_seconds_count{agent="",binding="http",operation=""} 2
            tradepost_request_duration_seconds_count{agent="bare",binding="jsonrpc",operation=""} 1
            tradepost_request_duration_seconds_count{agent="bare",binding="jsonrpc",operation="SendMessage"} 1
            tradepost_request_duration_seconds_count{agent="bare",binding="jsonrpc",operation="dealer.information"} 2
            tradepost_request_duration_seconds_count{agent="bare",binding="jsonrpc",operation="inventory.search"} 1
            tradepost_request_duration_seconds_count{agent="bare",binding="jsonrpc",operation="inventory.vehicle"} 1
            tradepost_request_duration_seconds_sum{agent="",binding="http",operation=""} ~
            tradepost_request_duration_seconds_sum{agent="bare",binding="jsonrpc",operation=""} ~
            tradepost_request_duration_seconds_sum{agent="bare",binding="jsonrpc",operation="SendMessage"} ~
            tradepost_request_duration_seconds_sum{agent="bare",binding="jsonrpc",operation="dealer.information"} ~
            tradepost_request_duration_seconds_sum{agent="bare",binding="jsonrpc",operation="inventory.search"} ~
            tradepost_request_duration_seconds_sum{agent="bare",binding="jsonrpc",operation="inventory.vehicle"} ~
            # HELP tradepost_requests_in_flight Requests being answered.
            # TYPE tradepost_requests_in_flight gauge
            tradepost_requests_in_flight 0
            # HELP tradepost_store_queue Jobs that wait to be written.
            # TYPE tradepost_store_queue gauge
            tradepost_store_queue 0
            # HELP tradepost_store_jobs Jobs that were written.
            # TYPE tradepost_store_jobs counter
            tradepost_store_jobs_total ~
            # HELP tradepost_store_failed_commits Commits that failed.
            # TYPE tradepost_store_failed_commits counter
            tradepost_store_failed_commits_total 0
            # HELP tradepost_store_commit_duration_seconds How long commits took, each with the jobs in it.
            # TYPE tradepost_store_commit_duration_seconds histogram
            # UNIT tradepost_store_commit_duration_seconds seconds
            tradepost_store_commit_duration_seconds_bucket{le="+Inf"} ~
            tradepost_store_commit_duration_seconds_count ~
            tradepost_store_commit_duration_seconds_sum ~
            # HELP tradepost_deliveries_pending Leads, webhooks and notifications to deliver.
            # TYPE tradepost_deliveries_pending gauge
            tradepost_deliveries_pending{agent="bare"} 0
            # HELP tradepost_deliveries_dead Those that were given up and are kept.
            # TYPE tradepost_deliveries_dead gauge
            tradepost_deliveries_dead{agent="bare"} 0
            # EOF
        "##]],
    );
    // They are for operators alone.
    assert_eq!(client::request(process.address, "GET", "/metrics", &[], b"").status, 404);
}

#[test]
fn a_publishers_requests_are_counted_alike_on_every_binding() {
    let publisher = start_with(&|config| config.publishers[0].rates.read.requests = 8);
    for who in ["acme", "nobody", "no-such-token"] {
        publisher.mcp(who, "tools/list", &json!({}));
        publisher.mcp(who, "tools/call", &json!({"name": "list_accounts", "arguments": {}}));
    }
    let wrong = json!({"buying_mode": "barter"});
    publisher.mcp("acme", "tools/call", &json!({"name": "get_products", "arguments": wrong}));
    publisher.mcp("acme", "dance", &json!({}));
    publisher.a2a("acme", "SendMessage", &message("get_products", &wrong));
    publisher.a2a("acme", "SendMessage", &message("list_accounts", &json!({})));
    publisher.a2a("acme", "GetTask", &json!({"id": "x"}));
    publisher.older("acme", "message/send", &older_message("get_products", &wrong));
    publisher.older("acme", "message/send", &older_message("list_accounts", &json!({})));
    for _ in 0..4 {
        publisher.mcp("acme", "tools/call", &json!({"name": "list_accounts", "arguments": {}}));
    }
    publisher.damage(
        "INSERT INTO publisher_things
             (publisher, kind, id, owner, state, revision, created_at, updated_at, body)
         VALUES ('gazette', 'task', 't1', 'acme', 'submitted', 1, 0, 0, '{}'),
                ('gazette', 'task', 't2', 'acme', 'completed', 1, 0, 0, '{}'),
                ('gazette', 'task', 't3', 'nova', 'completed', 1, 0, 0, '{}'),
                ('another', 'task', 't4', 'nova', 'completed', 1, 0, 0, '{}'),
                ('gazette', 'notice', 'n1', 'acme', 'due', 1, 0, 0, '{}'),
                ('gazette', 'notice', 'n2', 'acme', 'dead', 1, 0, 0, '{}'),
                ('gazette', 'notice', 'n3', 'nova', 'dead', 1, 0, 0, '{}'),
                ('gazette', 'notice', 'n4', 'nova', 'done', 1, 0, 0, '{}');",
    );
    check(
        publisher.operators,
        expect![[r##"
            # HELP tradepost_requests Requests that were answered, by how they ended.
            # TYPE tradepost_requests counter
            tradepost_requests_total{agent="gazette",binding="jsonrpc",operation="GetTask",caller="key",code="TASK_NOT_FOUND"} 1
            tradepost_requests_total{agent="gazette",binding="jsonrpc",operation="get_products",caller="key",code="VALIDATION_ERROR"} 2
            tradepost_requests_total{agent="gazette",binding="jsonrpc",operation="list_accounts",caller="key",code="OK"} 2
            tradepost_requests_total{agent="gazette",binding="mcp",operation="",caller="key",code="METHOD_NOT_FOUND"} 1
            tradepost_requests_total{agent="gazette",binding="mcp",operation="",caller="unproven",code="AUTH_INVALID"} 2
            tradepost_requests_total{agent="gazette",binding="mcp",operation="",caller="unproven",code="AUTH_MISSING"} 1
            tradepost_requests_total{agent="gazette",binding="mcp",operation="get_products",caller="key",code="VALIDATION_ERROR"} 1
            tradepost_requests_total{agent="gazette",binding="mcp",operation="list_accounts",caller="key",code="OK"} 3
            tradepost_requests_total{agent="gazette",binding="mcp",operation="list_accounts",caller="key",code="RATE_LIMITED"} 2
            tradepost_requests_total{agent="gazette",binding="mcp",operation="tools/list",caller="anonymous",code="OK"} 1
            tradepost_requests_total{agent="gazette",binding="mcp",operation="tools/list",caller="key",code="OK"} 1
            # HELP tradepost_rate_limited_requests Requests that were refused because their sender comes too often.
            # TYPE tradepost_rate_limited_requests counter
            tradepost_rate_limited_requests_total{agent="gazette",binding="mcp",operation="list_accounts"} 2
            # HELP tradepost_request_duration_seconds How long answers took until their head was there.
            # TYPE tradepost_request_duration_seconds histogram
            # UNIT tradepost_request_duration_seconds seconds
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="gazette",binding="jsonrpc",operation="GetTask"} 1
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="gazette",binding="jsonrpc",operation="get_products"} 2
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="gazette",binding="jsonrpc",operation="list_accounts"} 2
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="gazette",binding="mcp",operation=""} 4
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="gazette",binding="mcp",operation="get_products"} 1
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="gazette",binding="mcp",operation="list_accounts"} 5
            tradepost_request_duration_seconds_bucket{le="+Inf",agent="gazette",binding="mcp",operation="tools/list"} 2
            tradepost_request_duration_seconds_count{agent="gazette",binding="jsonrpc",operation="GetTask"} 1
            tradepost_request_duration_seconds_count{agent="gazette",binding="jsonrpc",operation="get_products"} 2
            tradepost_request_duration_seconds_count{agent="gazette",binding="jsonrpc",operation="list_accounts"} 2
            tradepost_request_duration_seconds_count{agent="gazette",binding="mcp",operation=""} 4
            tradepost_request_duration_seconds_count{agent="gazette",binding="mcp",operation="get_products"} 1
            tradepost_request_duration_seconds_count{agent="gazette",binding="mcp",operation="list_accounts"} 5
            tradepost_request_duration_seconds_count{agent="gazette",binding="mcp",operation="tools/list"} 2
            tradepost_request_duration_seconds_sum{agent="gazette",binding="jsonrpc",operation="GetTask"} ~
            tradepost_request_duration_seconds_sum{agent="gazette",binding="jsonrpc",operation="get_products"} ~
            tradepost_request_duration_seconds_sum{agent="gazette",binding="jsonrpc",operation="list_accounts"} ~
            tradepost_request_duration_seconds_sum{agent="gazette",binding="mcp",operation=""} ~
            tradepost_request_duration_seconds_sum{agent="gazette",binding="mcp",operation="get_products"} ~
            tradepost_request_duration_seconds_sum{agent="gazette",binding="mcp",operation="list_accounts"} ~
            tradepost_request_duration_seconds_sum{agent="gazette",binding="mcp",operation="tools/list"} ~
            # HELP tradepost_requests_in_flight Requests being answered.
            # TYPE tradepost_requests_in_flight gauge
            tradepost_requests_in_flight 0
            # HELP tradepost_store_queue Jobs that wait to be written.
            # TYPE tradepost_store_queue gauge
            tradepost_store_queue 0
            # HELP tradepost_store_jobs Jobs that were written.
            # TYPE tradepost_store_jobs counter
            tradepost_store_jobs_total ~
            # HELP tradepost_store_failed_commits Commits that failed.
            # TYPE tradepost_store_failed_commits counter
            tradepost_store_failed_commits_total 0
            # HELP tradepost_store_commit_duration_seconds How long commits took, each with the jobs in it.
            # TYPE tradepost_store_commit_duration_seconds histogram
            # UNIT tradepost_store_commit_duration_seconds seconds
            tradepost_store_commit_duration_seconds_bucket{le="+Inf"} ~
            tradepost_store_commit_duration_seconds_count ~
            tradepost_store_commit_duration_seconds_sum ~
            # HELP tradepost_tasks Tasks that are kept.
            # TYPE tradepost_tasks gauge
            tradepost_tasks{agent="gazette",state="completed"} 2
            tradepost_tasks{agent="gazette",state="submitted"} 1
            # HELP tradepost_deliveries_pending Leads, webhooks and notifications to deliver.
            # TYPE tradepost_deliveries_pending gauge
            tradepost_deliveries_pending{agent="gazette"} 1
            # HELP tradepost_deliveries_dead Those that were given up and are kept.
            # TYPE tradepost_deliveries_dead gauge
            tradepost_deliveries_dead{agent="gazette"} 2
            # EOF
        "##]],
    );
}

/// Whatever somebody puts into a request becomes no label, and makes no series.
#[test]
fn nothing_of_anybody_is_in_the_numbers() {
    const PLANTED: [&str; 9] = [
        "Ada",
        "Lovelace",
        "ada@buyer.example",
        "+14155550123",
        "planted-token",
        "planted-path",
        "planted-host",
        "planted-header",
        "planted-word",
    ];
    let folder = tempfile::tempdir().unwrap();
    let (process, operators) = dealer(folder.path());
    let lead = fresh_lead(&[
        ("/customer/first_name", json!("Ada")),
        ("/customer/last_name", json!("Lovelace")),
        ("/customer/email", json!("ada@buyer.example")),
        ("/message", json!("planted-word")),
    ]);
    process.call(&lead);
    let ask = |number: usize| {
        let path = format!("/rest/planted-path/{number}/ada@buyer.example?q=planted-word");
        let host = format!("planted-host-{number}");
        let headers = [
            ("Authorization", "Bearer planted-token"),
            ("User-Agent", "planted-header"),
            ("A2A-Extensions", "planted-header"),
            ("Content-Type", "application/json"),
        ];
        let body = json!({"jsonrpc": "2.0", "id": "planted-word", "method": format!("planted-word/{number}"),
            "params": {"customer": {"phone": "+14155550123"}}}).to_string();
        client::request(process.address, "GET", &path, &headers, b"");
        client::request(process.address, "POST", "/a2a", &headers, body.as_bytes());
        let strange = [("Host", host.as_str()), headers[0], headers[1]];
        client::request(process.address, "POST", "/mcp", &strange, body.as_bytes());
    };
    ask(0);
    let before = written(operators);
    (1..20).for_each(ask);
    let after = written(operators);
    assert_eq!(before.lines().count(), after.lines().count(), "{after}");
    for planted in PLANTED {
        assert!(!after.contains(planted), "{planted}: {after}");
    }
    // A publisher's callers, their accounts and what they name.
    let publisher = start();
    let arguments =
        json!({"account": {"account_id": "planted-word"}, "context": {"a": "planted-word"}});
    for name in ["list_creatives", "planted-word"] {
        publisher.mcp("acme", "tools/call", &json!({"name": name, "arguments": arguments}));
        publisher.a2a("planted-token", "SendMessage", &message(name, &arguments));
    }
    let text = written(publisher.operators);
    assert!(text.contains("list_creatives"), "{text}");
    for hidden in PLANTED.into_iter().chain(["acme", "token-of"]) {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}
