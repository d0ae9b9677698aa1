//! MCP over HTTP: who may come in, and what is said to whom may not.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use expect_test::expect;
use tradepost_client::CallFailure;
use tradepost_client::transport::TransportLimits;
use tradepost_document::json::{Value, json};

use super::Demo;
use crate::support::client::{self, Response};

struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["mcp", "--http", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|rest| rest.strip_suffix("/mcp")).unwrap().parse().unwrap();
        Self { child, address }
    }

    fn post(&self, headers: &[(&str, &str)], body: &str) -> Response {
        let usual = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let given = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let headers: Vec<_> =
            usual.into_iter().filter(|(name, _)| !given(name)).chain(headers.to_vec()).collect();
        client::request(self.address, "POST", "/mcp", &headers, body.as_bytes())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rpc(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

#[test]
fn search_and_a_lead_work_without_a_session() {
    let demo = Demo::start();
    let served = Served::start(&[&demo.name()]);
    let tool = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        let mut answer = served.post(&[], &rpc("tools/call", &params)).json();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].take()
    };
    let page = tool("aap_inventory_search", json!({"pagination": {"limit": 1}}));
    assert_eq!(page["data"]["vehicles"].as_array().unwrap().len(), 1);
    let first = tool("aap_lead_submit", super::lead());
    let second = tool("aap_lead_submit", super::confirmed(super::lead(), &first));
    assert_eq!(second["data"]["status"], "received");
}

#[test]
fn a_client_of_adcp_calls_tools_of_a_real_server() {
    let demo = Demo::start();
    let served = Served::start(&[&demo.name()]);
    let transport = tradepost_client::HttpTransport::new(TransportLimits::default());
    let address = format!("http://{}/mcp", served.address);
    let ids = fastrand::Rng::with_seed(7);
    let client = tradepost_client::AdcpClient::mcp(transport, &address, ids).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = |name: &'static str, arguments: Value| {
        runtime.block_on(client.call(name, arguments.as_object().unwrap().clone()))
    };
    let page = call("aap_inventory_search", json!({"pagination": {"limit": 1}})).unwrap();
    assert_eq!(page.payload["data"]["vehicles"].as_array().unwrap().len(), 1);
    let failure = call("aap_inventory_search", json!({"pagination": {"limit": 0}})).unwrap_err();
    assert!(matches!(failure, CallFailure::Refused(_)), "{failure:?}");
    let failure = call("nothing", json!({})).unwrap_err();
    assert!(matches!(failure, CallFailure::Refused(_)), "{failure:?}");
}

#[test]
fn only_who_is_meant_to_call_may_call() {
    let allowed =
        ["one.example", "--allow-host", "mcp.example", "--allow-origin", "https://app.example"];
    let served = Served::start(&allowed);
    let list = rpc("tools/list", &json!({}));
    for (headers, status) in [
        (vec![], 200),
        (vec![("Host", "localhost:1")], 200),
        (vec![("Host", "[::1]:80")], 200),
        (vec![("Host", "MCP.example")], 200),
        (vec![("Origin", "https://app.example")], 200),
        (vec![("Host", "evil.example")], 403),
        (vec![("Host", "localhost.evil.example")], 403),
        (vec![("Host", "evil.example:127.0.0.1")], 403),
        (vec![("Host", "localhost:8090"), ("Origin", "http://localhost:8090")], 200),
        (vec![("Host", "[::1]:8090"), ("Origin", "http://[::1]:8090")], 200),
        (vec![("Host", "localhost:8090"), ("Origin", "http://localhost:3000")], 403),
        (vec![("Host", "127.0.0.1:8090"), ("Origin", "http://localhost:8090")], 403),
        (vec![("Host", "mcp.example"), ("Origin", "http://mcp.example")], 403),
        (vec![("Host", "evil.example:8090"), ("Origin", "http://evil.example:8090")], 403),
        (vec![("Origin", "http://localhost:3000")], 403),
        (vec![("Origin", "https://app.example.evil.example")], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Origin", "https://app.example"), ("Origin", "https://evil.example")], 403),
    ] {
        let answer = served.post(&headers, &list);
        assert_eq!(answer.status, status, "{headers:?}");
        assert_eq!(answer.json().get("error").is_some(), status == 403, "{headers:?}");
    }
}

#[test]
fn what_is_refused_is_refused_in_json_rpc() {
    let served = Served::start(&["one.example"]);
    let mut out = String::new();
    let mut row = |name: &str, answer: Response| {
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        assert_eq!(kind, "application/json", "{name}");
        out.push_str(&format!("{name}: {} {}\n", answer.status, answer.json()));
    };
    for (name, body) in [
        ("no JSON", "{"),
        ("too deep", &"[".repeat(100_000)),
        (
            "a member twice",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}"#,
        ),
        ("a batch", "[]"),
        ("a text", "\"x\""),
        ("another version", r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#),
        ("no method", r#"{"jsonrpc":"2.0","id":1}"#),
        ("a number as method", r#"{"jsonrpc":"2.0","id":1,"method":5}"#),
        ("an object as id", r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#),
        ("a list as params", r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#),
        ("another method", r#"{"jsonrpc":"2.0","id":1,"method":"tools/buy"}"#),
        ("no such tool", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#),
        ("a tool without name", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#),
    ] {
        row(name, served.post(&[], body));
    }
    let list = rpc("tools/list", &json!({}));
    row("plain text", served.post(&[("Content-Type", "text/plain")], &list));
    row("gzip", served.post(&[("Content-Encoding", "gzip")], &list));
    row("no event stream", served.post(&[("Accept", "application/json")], &list));
    row("version of MCP", served.post(&[("MCP-Protocol-Version", "1.0")], &list));
    row("too large", served.post(&[], &" ".repeat(2 * 1024 * 1024)));
    let get = client::request(served.address, "GET", "/mcp", &[], b"");
    assert_eq!(get.header("allow"), Some("POST"));
    row("GET", get);
    row("elsewhere", client::request(served.address, "POST", "/", &[], b""));
    expect![[r#"
        no JSON: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not valid JSON"}}
        too deep: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body nests deeper than 64 levels"}}
        a member twice: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the body has members twice; send each once","data":{"issues":[{"pointer":"/params/a/b","message":"is there twice; readers differ in which they take"}]}}}
        a batch: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"MCP has no batches; send one message"}}
        a text: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON object"}}
        another version: 400 {"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}
        no method: 400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"method is missing"}}
        a number as method: 400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"method must be a string"}}
        an object as id: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a number"}}
        a list as params: 400 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params must be an object"}}
        another method: 200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"this server has tools/list, tools/call, resources/list and resources/read"}}
        no such tool: 200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool; there are aap_dealer_information, aap_inventory_facets, aap_inventory_search, aap_inventory_vehicle, aap_lead_submit","data":{"tools":["aap_dealer_information","aap_inventory_facets","aap_inventory_search","aap_inventory_vehicle","aap_lead_submit"]}}}
        a tool without name: 200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params must be {\"name\": a tool, \"arguments\": an object}"}}
        plain text: 415 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Content-Type must be application/json"}}
        gzip: 415 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"encoded bodies are not read here; leave Content-Encoding out"}}
        no event stream: 406 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Accept header must name application/json and text/event-stream"}}
        version of MCP: 400 {"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"the MCP-Protocol-Version header names a version unknown here","data":{"supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"requested":"1.0"}}}
        too large: 413 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the body is larger than this bridge accepts"}}
        GET: 405 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"send messages with POST; nothing is said here unasked"}}
        elsewhere: 404 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"MCP is at /mcp"}}
    "#]].assert_eq(&out);
}
