//! MCP in front of an agent that has tools and nothing else.

use std::sync::Arc;

use expect_test::{Expect, expect};
use hyper::Method;
use tokio::net::TcpListener;
use tradepost_document::json::{Value, json};
use tradepost_server::auth::{AuthDeps, AuthSettings, Principal};
use tradepost_server::memory::MemoryStore;
use tradepost_server::permission::{Permission, Scopes};
use tradepost_server::prelude::*;
use tradepost_server::tools::{
    Annotations, ListedTool, McpListing, Resource, ServerInfo, ToolCall, ToolOutcome, ToolResult,
    Tools,
};

use crate::client::{Client, without_ids};

const WRITES: Permission = Permission::new("notes:write");

#[derive(Debug)]
struct Adder {
    card: PublishedCard,
    auth: Authenticator,
    service: TaskService,
    listing: McpListing,
    origins: Vec<String>,
}

impl Agent for Adder {
    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        self.service
            .perform(incoming, |_, _| Ok(MessagePlan::Answer(vec![Part::text("use a tool")])))
    }

    fn tools(&self) -> Option<&dyn Tools> {
        Some(self)
    }
}

impl Tools for Adder {
    fn introduction(&self) -> ServerInfo {
        ServerInfo {
            name: "adder",
            title: "Adder".to_owned(),
            version: "1",
            instructions: "Adds, and takes notes.",
        }
    }

    fn listing(&self) -> &McpListing {
        &self.listing
    }

    fn required(&self, tool: &str) -> Option<Permission> {
        (tool == "note").then_some(WRITES)
    }

    fn origins(&self) -> &[String] {
        &self.origins
    }

    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            assert!(!call.arguments.contains_key("panic"), "expected by the test");
            let numbers = call.arguments.get("numbers").and_then(Value::as_array);
            let sum = numbers.map(|numbers| numbers.iter().filter_map(Value::as_i64).sum::<i64>());
            let text = sum.map_or("numbers is missing".to_owned(), |sum| sum.to_string());
            let document = json!({"sum": sum, "tool": call.tool}).to_string().into();
            ToolResult { document, is_shown: false, text, is_error: sum.is_none() }.into()
        })
    }
}

fn tool(name: &'static str) -> ListedTool {
    ListedTool {
        name: name.into(),
        title: name.to_uppercase(),
        description: format!("It can {name}."),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        annotations: Annotations { read_only: Some(name == "add"), ..Annotations::default() },
        meta: None,
    }
}

async fn start() -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut card = card::describe("Adder", "Adds.", &format!("http://{address}"));
    let resource = Resource {
        uri: "adder://manual".to_owned(),
        name: "manual".to_owned(),
        title: "Manual".to_owned(),
        description: "How to add.".to_owned(),
        mime_type: "text/plain",
        text: "One by one.".to_owned(),
        meta: None,
    };
    let known = |name: &str, scopes| Principal { name: name.to_owned(), scopes };
    let deps = AuthDeps::offline(Arc::new(MemoryStore::default()), Clock::system());
    let policy = AuthSettings { api_keys: true, ..AuthSettings::default() };
    let auth = Authenticator::open("adder", policy, &deps).unwrap();
    card.security_schemes = auth.schemes();
    let agent = Adder {
        card: PublishedCard::from_card(&card, Clock::system().now()),
        auth: auth.with_tokens(vec![
            ("writer", known("writer", Scopes::only([WRITES]))),
            ("reader", known("reader", Scopes::Reading)),
        ]),
        service: TaskService::new_in_memory("adder").unwrap(),
        listing: McpListing::new(&[tool("add"), tool("note")], vec![resource]),
        origins: vec!["https://app.example".to_owned()],
    };
    tokio::spawn(http::serve(listener, AgentRegistry::from_agent(Arc::new(agent)), pending()));
    Client::connect(address).await
}

/// The status and the body of an answer.
async fn post(client: &Client, headers: &[(&str, &str)], body: &str) -> String {
    let answer = client.send_as(headers, Method::POST, "/mcp", "application/json", body.to_owned());
    let (head, bytes, _) = answer.await;
    format!("{} {}", head.status().as_u16(), std::str::from_utf8(&bytes).unwrap())
}

fn rpc(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": "r", "method": method, "params": params}).to_string()
}

async fn check(client: &Client, headers: &[(&str, &str)], body: String, expected: Expect) {
    expected.assert_eq(&post(client, headers, &body).await);
}

#[tokio::test]
async fn tools_are_introduced_listed_and_called() {
    let client = start().await;
    let hello = rpc("initialize", json!({"protocolVersion": "2025-06-18"}));
    check(&client, &[], hello, expect![[r#"200 {"jsonrpc":"2.0","id":"r","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"adder","title":"Adder","version":"1"},"instructions":"Adds, and takes notes."}}"#]]).await;
    check(&client, &[], rpc("tools/list", json!({})), expect![[r#"200 {"jsonrpc":"2.0","id":"r","result":{"tools":[{"name":"add","title":"ADD","description":"It can add.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"note","title":"NOTE","description":"It can note.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}]}}"#]]).await;
    check(&client, &[], rpc("resources/list", json!({})), expect![[r#"200 {"jsonrpc":"2.0","id":"r","result":{"resources":[{"uri":"adder://manual","name":"manual","title":"Manual","description":"How to add.","mimeType":"text/plain","size":11}]}}"#]]).await;
    check(&client, &[], rpc("resources/read", json!({"uri": "adder://manual"})), expect![[r#"200 {"jsonrpc":"2.0","id":"r","result":{"contents":[{"uri":"adder://manual","mimeType":"text/plain","text":"One by one."}]}}"#]]).await;
    check(&client, &[], rpc("resources/read", json!({"uri": "adder://x"})), expect![[r#"200 {"jsonrpc":"2.0","id":"r","error":{"code":-32002,"message":"there is no such resource; resources/list names those there are"}}"#]]).await;
    let call = |arguments: Value| rpc("tools/call", json!({"name": "add", "arguments": arguments}));
    check(&client, &[], call(json!({"numbers": [1, 2]})), expect![[r#"200 {"jsonrpc":"2.0","id":"r","result":{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3,"tool":"add"},"isError":false}}"#]]).await;
    check(&client, &[], call(json!({})), expect![[r#"200 {"jsonrpc":"2.0","id":"r","result":{"content":[{"type":"text","text":"numbers is missing"}],"structuredContent":{"sum":null,"tool":"add"},"isError":true}}"#]]).await;
    check(&client, &[], call(json!(5)), expect![[r#"200 {"jsonrpc":"2.0","id":"r","error":{"code":-32602,"message":"arguments must be an object"}}"#]]).await;
    check(&client, &[], rpc("tools/call", json!({"name": "subtract"})), expect![[r#"200 {"jsonrpc":"2.0","id":"r","error":{"code":-32602,"message":"there is no tool of this name; tools/list names those there are"}}"#]]).await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    check(&client, &[], note.to_owned(), expect!["202 "]).await;
    check(&client, &[], "{".to_owned(), expect![[r#"400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not valid JSON"}}"#]]).await;
}

#[tokio::test]
async fn a_panicking_tool_is_an_error_of_its_call() {
    let client = start().await;
    let call = rpc("tools/call", json!({"name": "add", "arguments": {"panic": true}}));
    let answer = without_ids(&post(&client, &[], &call).await);
    expect![[r#"200 {"jsonrpc":"2.0","id":"r","error":{"code":-32603,"message":"the agent failed; quote the error id to whoever runs it","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]}}"#]].assert_eq(&answer);
    let call = rpc("tools/call", json!({"name": "add", "arguments": {"numbers": [1]}}));
    assert!(post(&client, &[], &call).await.contains(r#""sum":1"#), "the process goes on");
}

#[tokio::test]
async fn a_call_needs_the_permission_of_its_tool() {
    let client = start().await;
    let call = rpc("tools/call", json!({"name": "note", "arguments": {"numbers": [1]}}));
    for (token, status) in
        [("Bearer reader", "403"), ("Bearer writer", "200"), ("Bearer stranger", "401")]
    {
        let answer = post(&client, &[("authorization", token)], &call).await;
        assert!(answer.starts_with(status), "{token}: {answer}");
    }
}

#[tokio::test]
async fn the_later_release_names_itself_in_headers_and_body() {
    let client = start().await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let params = json!({"name": "add", "arguments": {"numbers": [4]}, "_meta": meta});
    let call = rpc("tools/call", params);
    let version = ("mcp-protocol-version", "2026-07-28");
    let whole = [version, ("mcp-method", "tools/call"), ("mcp-name", "add")];
    let answer = post(&client, &whole, &call).await;
    assert!(
        answer.starts_with("200 ") && answer.contains(r#""resultType":"complete""#),
        "{answer}"
    );
    let answer = post(&client, &[version], &call).await;
    assert!(answer.starts_with("400 ") && answer.contains("-32020"), "{answer}");
    let answer = post(&client, &[("mcp-protocol-version", "1999-01-01")], &call).await;
    assert!(answer.starts_with("400 ") && answer.contains("-32022"), "{answer}");
}

#[tokio::test]
async fn web_pages_methods_and_agents_without_tools_are_told_apart() {
    let client = start().await;
    let ping = rpc("ping", json!({}));
    for (origin, status) in [("https://app.example", "200"), ("https://evil.example", "403")] {
        let answer = post(&client, &[("origin", origin)], &ping).await;
        assert!(answer.starts_with(status), "{origin}: {answer}");
    }
    let (head, _, _) = client.send_as(&[], Method::GET, "/mcp", "application/json", "").await;
    assert_eq!((head.status().as_u16(), &head.headers()["allow"]), (405, &"POST".parse().unwrap()));
    let without = crate::echoed::start().await;
    let answer = post(&without, &[], &ping).await;
    assert!(answer.starts_with("404 "), "{answer}");
}
