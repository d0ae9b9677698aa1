//! MCP over HTTP: the protocol itself, and who is turned away before a tool is reached.

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};

use crate::support::client;
use crate::support::publisher::{Binding, Publisher, start, start_with};

/// The status, the headers that matter, and the whole body.
fn whole(response: &crate::support::Response) -> String {
    let named = ["www-authenticate", "retry-after", "allow", "connection"];
    let headers = named.iter().filter_map(|name| {
        let value =
            response.header(name).filter(|value| *name != "connection" || *value != "close");
        value.map(|value| format!("{name}: {value}\n"))
    });
    let headers: String = headers.collect();
    format!("{headers}{}", response.snapshot())
}

#[track_caller]
fn check(publisher: &Publisher, who: &str, headers: &[(&str, &str)], body: &str, expected: Expect) {
    expected.assert_eq(&whole(&publisher.post(who, "/mcp", headers, body)));
}

fn rpc(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params}).to_string()
}

fn hello(version: &str) -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    rpc("initialize", params)
}

const LATER: [(&str, &str); 1] = [("MCP-Protocol-Version", "2026-07-28")];

/// A request of the release without a greeting.
fn later(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    rpc(method, params)
}

#[test]
fn every_release_is_greeted_in_kind_others_with_the_newest() {
    let publisher = start();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let answer = publisher.post("nobody", "/mcp", &[], &hello(asked)).json();
        assert_eq!(answer["result"]["protocolVersion"], spoken, "{asked}");
    }
    check(
        &publisher,
        "nobody",
        &[],
        &hello("2025-06-18"),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":"r-1",
              "result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},
                "serverInfo":{"name":"tradepost","title":"The Gazette","version":"0.2.0"},
                "instructions":"An AdCP seller. Call get_adcp_capabilities first; every failed call says in adcp_error what to do. The list of tools names what most calls need; all that a tool takes is in its resource, tradepost://schemas/ and its name."}}
        "#]],
    );
    check(
        &publisher,
        "nobody",
        &[],
        &rpc("initialize", json!({})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":"r-1","error":{"code":-32602,"message":"protocolVersion must be a version of MCP such as 2025-11-25"}}
    "#]],
    );
    check(
        &publisher,
        "nobody",
        &[],
        &rpc("ping", json!({})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":"r-1","result":{}}
    "#]],
    );
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    check(
        &publisher,
        "nobody",
        &[],
        note,
        expect![[r#"
        202

    "#]],
    );
}

#[test]
fn a_client_that_does_not_say_hello_discovers_the_server() {
    let publisher = start();
    let with = |more: &[(&'static str, &'static str)]| [&LATER, more].concat();
    let discover = later("server/discover", json!({}));
    check(
        &publisher,
        "acme",
        &with(&[("Mcp-Method", "server/discover")]),
        &discover,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":"r-1",
              "result":{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],
                "capabilities":{"tools":{},"resources":{}},
                "instructions":"An AdCP seller. Call get_adcp_capabilities first; every failed call says in adcp_error what to do. The list of tools names what most calls need; all that a tool takes is in its resource, tradepost://schemas/ and its name.",
                "ttlMs":300000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tradepost","title":"The Gazette","version":"0.2.0"}}}}
        "#]],
    );
    let call = later("tools/call", json!({"name": "get_products", "arguments": {}}));
    let headers = with(&[("Mcp-Method", "tools/call"), ("Mcp-Name", "get_products")]);
    let answer = publisher.post("acme", "/mcp", &headers, &call).json();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["isError"], true);
    // What the headers say and the body does not is refused.
    check(
        &publisher,
        "acme",
        &with(&[]),
        &discover,
        expect![[r#"
        400
        {"jsonrpc":"2.0","id":"r-1","error":{"code":-32020,"message":"the Mcp-Method header must be the method of the body"}}
    "#]],
    );
    let headers = with(&[("Mcp-Method", "tools/call"), ("Mcp-Name", "get_signals")]);
    check(
        &publisher,
        "acme",
        &headers,
        &call,
        expect![[r#"
        400
        {"jsonrpc":"2.0","id":"r-1","error":{"code":-32020,"message":"the Mcp-Name header must be the name of the tool in the body"}}
    "#]],
    );
    let headers = with(&[("Mcp-Method", "ping")]);
    check(
        &publisher,
        "acme",
        &headers,
        &rpc("ping", json!({})),
        expect![[r#"
        400
        {"jsonrpc":"2.0","id":"r-1","error":{"code":-32602,"message":"params._meta must have io.modelcontextprotocol/protocolVersion"}}
    "#]],
    );
    check(
        &publisher,
        "acme",
        &with(&[("Mcp-Method", "a/b")]),
        &later("a/b", json!({})),
        expect![[r#"
            404
            {"jsonrpc":"2.0","id":"r-1","error":{"code":-32601,"message":"method not found; there are tools/list, tools/call, resources/list and resources/read"}}
        "#]],
    );
    // Without the header it is a method that nobody has.
    check(
        &publisher,
        "acme",
        &[],
        &discover,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":"r-1","error":{"code":-32601,"message":"method not found; there are tools/list, tools/call, resources/list and resources/read"}}
        "#]],
    );
    check(
        &publisher,
        "acme",
        &[("MCP-Protocol-Version", "2020-01-01")],
        &discover,
        expect![[r#"
        400
        {"jsonrpc":"2.0","id":"r-1",
          "error":{"code":-32022,"message":"the MCP-Protocol-Version header names a version unknown here",
            "data":{"supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"requested":"2020-01-01"}}}
    "#]],
    );
}

#[test]
fn tools_are_listed_in_the_same_bytes_to_every_caller() {
    let publisher = start();
    let list = rpc("tools/list", json!({}));
    let bodies: Vec<_> = ["acme", "nova", "paused", "banned", "stranger", "nobody"]
        .map(|who| publisher.post(who, "/mcp", &[], &list))
        .into_iter()
        .map(|response| (response.status, response.headers.len(), response.body))
        .collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "N-4");
    let body: Value = tradepost_document::json::from_slice(&bodies[0].2).unwrap();
    let tools = body["result"]["tools"].as_array().unwrap();
    let summary: String = tools
        .iter()
        .map(|tool| {
            let hint = |name: &str| tool["annotations"][name].as_bool();
            assert!(jsonschema::validator_for(&(&tool["inputSchema"]).into()).is_ok(), "{tool}");
            let read_only = hint("readOnlyHint").unwrap();
            // MCP gives it a meaning for what is not read-only.
            let idempotent = hint("idempotentHint").unwrap_or(read_only);
            format!("{} {read_only} {idempotent}\n", tool["name"].as_str().unwrap())
        })
        .collect();
    expect![[r#"
        get_adcp_capabilities true true
        get_products true true
        list_creative_formats true true
        create_media_buy false true
        update_media_buy false true
        get_media_buys true true
        get_media_buy_delivery true true
        sync_creatives false true
        list_creatives true true
        sync_audiences false true
        sync_event_sources false true
        log_event false true
        sync_accounts false true
        list_accounts true true
        sync_governance false true
        sync_plans false true
        check_governance true true
        report_plan_outcome false true
        get_plan_audit_logs true true
        get_signals true true
        activate_signal false true
        si_get_offering true true
        si_initiate_session false true
        si_send_message false true
        si_terminate_session false false
        create_property_list false true
        get_property_list true true
        list_property_lists true true
        update_property_list false true
        delete_property_list false true
        validate_property_delivery true true
        get_task_status true true
        list_tasks true true
        comply_test_controller false false
    "#]]
    .assert_eq(&summary);
    let production = start_with(&|config| config.publishers[0].profile.sandbox = false);
    let listed = String::from_utf8(production.post("acme", "/mcp", &[], &list).body).unwrap();
    assert!(!listed.contains("comply_test_controller"));
    let unknown = |publisher: &Publisher, name: &str| {
        publisher.mcp("acme", "tools/call", &json!({"name": name, "arguments": {}})).snapshot()
    };
    let controller = unknown(&production, "comply_test_controller");
    assert_eq!(controller, unknown(&production, "no_such_tool"));
    expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is no tool of this name; tools/list names those there are"}}
    "#]].assert_eq(&controller);
    let next = rpc("tools/list", json!({"cursor": "x"}));
    check(
        &publisher,
        "acme",
        &[],
        &next,
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":"r-1","error":{"code":-32602,"message":"cursor is none that this server has given; the list has one page"}}
    "#]],
    );
}

#[test]
fn what_is_no_message_is_refused_in_json_rpc() {
    let publisher = start();
    for (body, expected) in [
        (
            "",
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is empty; send a JSON-RPC request"}}
        "#]],
        ),
        (
            "{",
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not valid JSON"}}
        "#]],
        ),
        (
            "\u{feff}{}",
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not valid JSON"}}
        "#]],
        ),
        (
            "[]",
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one JSON-RPC request object"}}
        "#]],
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one JSON-RPC request object"}}
        "#]],
        ),
        (
            "1",
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the body must be a JSON-RPC request object"}}
        "#]],
        ),
        (
            r#"{"id":1,"method":"ping"}"#,
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}
        "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"method must be a string"}}
        "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a number"}}
        "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            expect![[r#"
            400
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string, a number or null"}}
        "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params must be an object"}}
        "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#,
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found; there are tools/list, tools/call, resources/list and resources/read"}}
            "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"name must be the name of a tool"}}
        "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
            expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"name must be the name of a tool"}}
        "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_products","arguments":[]}}"#,
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"arguments must be an object"}}
            "#]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_products","arguments":"x"}}"#,
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"arguments must be an object"}}
            "#]],
        ),
    ] {
        check(&publisher, "acme", &[], body, expected);
    }
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_products","arguments":{"brief":"a","brief":"b"}}}"#;
    check(
        &publisher,
        "acme",
        &[],
        twice,
        expect![[r#"
        400
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32600,"message":"the body has members twice; send each once",
            "data":{"issues":[{"pointer":"/params/arguments/brief","message":"is there twice; readers differ in which they take"}]}}}
    "#]],
    );
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    check(
        &publisher,
        "acme",
        &[],
        &deep,
        expect![[r#"
        400
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body nests deeper than 64 levels"}}
    "#]],
    );
}

#[test]
fn the_transport_refuses_in_json_rpc_too() {
    let publisher = start();
    let list = rpc("ping", json!({}));
    check(
        &publisher,
        "acme",
        &[("Content-Type", "text/plain")],
        &list,
        expect![[r#"
        415
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Content-Type must be application/json"}}
    "#]],
    );
    check(
        &publisher,
        "acme",
        &[("Accept", "text/event-stream")],
        &list,
        expect![[r#"
        406
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Accept header must permit application/json"}}
    "#]],
    );
    check(
        &publisher,
        "acme",
        &[("Accept", "text/html, */*;q=0.1")],
        &list,
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":"r-1","result":{}}
    "#]],
    );
    check(
        &publisher,
        "acme",
        &[("Origin", "https://evil.example")],
        &list,
        expect![[r#"
        403
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"web pages of this origin are not allowed here"}}
    "#]],
    );
    let huge = rpc("ping", json!({"x": "y".repeat(300_000)}));
    check(
        &publisher,
        "acme",
        &[],
        &huge,
        expect![[r#"
            413
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the body is larger than the 262144 bytes that this agent accepts"}}
        "#]],
    );
    for method in ["GET", "DELETE", "PUT"] {
        let response = client::request(publisher.address, method, "/mcp", &[], b"");
        assert_eq!(response.status, 405);
        assert_eq!(response.header("allow"), Some("POST"));
        assert_eq!(response.json()["error"]["code"], -32600);
    }
    let friendly = start_with(&|config| {
        config.publishers[0].front.origins = vec!["https://app.example".to_owned()];
    });
    // A page that this very machine has served under the name that is called, and others.
    let own = publisher.address.to_string();
    for (host, origin, status) in [
        (own.as_str(), format!("http://{own}"), 200),
        (own.as_str(), "http://127.0.0.1:1".to_owned(), 403),
        ("evil.example", "http://evil.example".to_owned(), 403),
    ] {
        let headers = [("Host", host), ("Origin", origin.as_str())];
        let answer = publisher.post("acme", "/mcp", &headers, &list);
        assert_eq!(answer.status, status, "{headers:?}");
    }
    let origin = [("Origin", "https://APP.example")];
    assert_eq!(friendly.post("acme", "/mcp", &origin, &list).status, 200);
    let hosted = start_with(&|config| {
        config.publishers[0].front.hosts = vec!["ads.example".to_owned()];
    });
    assert_eq!(hosted.post("acme", "/mcp", &[], &list).status, 404);
    assert_eq!(hosted.post("acme", "/mcp", &[("Host", "ads.example:8080")], &list).status, 200);
}

#[test]
fn a_call_needs_a_credential_and_an_introduction_does_not() {
    for (who, tool, status) in [
        ("acme", "list_creatives", 200),
        ("nobody", "list_creatives", 401),
        ("no-such-token", "list_creatives", 401),
        ("nobody", "get_adcp_capabilities", 200),
        ("no-such-token", "get_adcp_capabilities", 401),
        ("nobody", "no_such_tool", 401),
    ] {
        let publisher = start();
        for binding in [Binding::Mcp, Binding::A2a, Binding::Older] {
            let response = publisher.call(binding, who, tool, &json!({}));
            assert_eq!(response.status, status, "{binding:?} {who} {tool}");
            assert_eq!(response.header("www-authenticate").is_some(), status == 401);
        }
    }
    let publisher = start();
    let call = rpc("tools/call", json!({"name": "list_creatives", "arguments": {}}));
    check(
        &publisher,
        "nobody",
        &[],
        &call,
        expect![[r#"
        www-authenticate: Bearer realm="gazette"
        401
        {"jsonrpc":"2.0","id":"r-1",
          "error":{"code":-32028,"message":"this needs a credential; send one in the Authorization header",
            "data":{"adcp_error":{"code":"AUTH_MISSING","message":"this needs a credential; send one in the Authorization header","recovery":"correctable",
                "suggestion":"send a credential in the Authorization header"}}}}
    "#]],
    );
    check(
        &publisher,
        "no-such-token",
        &[],
        &call,
        expect![[r#"
            www-authenticate: Bearer realm="gazette", error="invalid_token"
            401
            {"jsonrpc":"2.0","id":"r-1",
              "error":{"code":-32000,"message":"the credential is not accepted; ask the seller for a valid one",
                "data":{"adcp_error":{"code":"AUTH_INVALID","message":"the credential is not accepted; ask the seller for a valid one","recovery":"terminal",
                    "suggestion":"renew an expired token once; otherwise have the credential replaced by a person"}}}}
        "#]],
    );
    // Whoever shows a bad credential hears it wherever it is shown.
    check(
        &publisher,
        "no-such-token",
        &[],
        &hello("2025-06-18"),
        expect![[r#"
            www-authenticate: Bearer realm="gazette", error="invalid_token"
            401
            {"jsonrpc":"2.0","id":"r-1",
              "error":{"code":-32000,"message":"the credential is not accepted; ask the seller for a valid one",
                "data":{"adcp_error":{"code":"AUTH_INVALID","message":"the credential is not accepted; ask the seller for a valid one","recovery":"terminal",
                    "suggestion":"renew an expired token once; otherwise have the credential replaced by a person"}}}}
        "#]],
    );
}

#[test]
fn failures_are_put_off_and_good_credentials_still_pass() {
    let publisher = start();
    let call = rpc("tools/call", json!({"name": "list_creatives", "arguments": {}}));
    for _ in 0..10 {
        assert_eq!(publisher.post("no-such-token", "/mcp", &[], &call).status, 401);
    }
    check(
        &publisher,
        "no-such-token",
        &[],
        &call,
        expect![[r#"
        retry-after: 6
        429
        {"jsonrpc":"2.0","id":"r-1",
          "error":{"code":-32029,"message":"too many attempts with credentials that are not accepted; wait and send a valid one",
            "data":{"adcp_error":{"code":"RATE_LIMITED","message":"too many attempts with credentials that are not accepted; wait and send a valid one",
                "recovery":"transient","suggestion":"wait for retry_after seconds and send the same request again","retry_after":6}}}}
    "#]],
    );
    assert_eq!(publisher.post("acme", "/mcp", &[], &call).status, 200);
}

#[test]
fn too_many_unknown_tools_are_refused_before_any_is_reached() {
    let publisher = start_with(&|config| config.publishers[0].rates.read.requests = 2);
    for _ in 0..2 {
        assert_eq!(publisher.post("acme", "/mcp", &[], &rpc("ping", json!({}))).status, 200);
    }
    check(
        &publisher,
        "acme",
        &[],
        &rpc("tools/list", json!({})),
        expect![[r#"
        retry-after: 30
        429
        {"jsonrpc":"2.0","id":"r-1",
          "error":{"code":-32029,"message":"too many requests; wait and send the same again",
            "data":{"adcp_error":{"code":"RATE_LIMITED","message":"too many requests; wait and send the same again","recovery":"transient",
                "suggestion":"wait for retry_after seconds and send the same request again","retry_after":30,
                "details":{"limit":2,"remaining":0,"window_seconds":60,"scope":"account"}}}}}
    "#]],
    );
    // A2A says it alike.
    let task = publisher.a2a("acme", "GetTask", &json!({"id": "x"}));
    expect![[r#"
        retry-after: 30
        429
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32029,"message":"too many requests; wait and send the same again",
            "data":{"adcp_error":{"code":"RATE_LIMITED","message":"too many requests; wait and send the same again","recovery":"transient",
                "suggestion":"wait for retry_after seconds and send the same request again","retry_after":30,
                "details":{"limit":2,"remaining":0,"window_seconds":60,"scope":"account"}}}}}
    "#]].assert_eq(&whole(&task));
    assert_eq!(publisher.post("nova", "/mcp", &[], &rpc("ping", json!({}))).status, 200);
}

#[test]
fn the_adcp_auth_header_is_read_as_a_bearer_token() {
    let publisher = start();
    let call = rpc("tools/call", json!({"name": "list_creatives", "arguments": {}}));
    let code = |who: &str, headers: &[(&str, &str)]| {
        let answer = publisher.post(who, "/mcp", headers, &call).json();
        let error = answer["error"]["data"]["adcp_error"]["code"].as_str().map(str::to_owned);
        error.or_else(|| {
            let code = answer["result"]["structuredContent"]["adcp_error"]["code"].as_str();
            Some(code.unwrap_or("none").to_owned())
        })
    };
    let missing = code("nobody", &[]);
    assert_eq!(missing.as_deref(), Some("AUTH_MISSING"));
    for value in ["token-of-acme", "Bearer token-of-acme", "bearer token-of-acme"] {
        let found = code("nobody", &[("x-adcp-auth", value)]);
        assert_eq!(found, code("acme", &[]), "{value}");
    }
    assert_ne!(code("nobody", &[("x-adcp-auth", "token-of-nobody")]), code("acme", &[]));
    // The header that every proxy knows counts where both are sent.
    let both = code("a-token-of-nobody", &[("x-adcp-auth", "token-of-acme")]);
    assert_eq!(both, code("a-token-of-nobody", &[]));
}
