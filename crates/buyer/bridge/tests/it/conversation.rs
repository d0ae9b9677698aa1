//! The bridge on lines of text: in front of a client of MCP that is not ours, and of one that makes
//! mistakes.

use std::sync::Arc;

use expect_test::expect;
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use tokio::io::AsyncWriteExt as _;
use tradepost_bridge::server::converse;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::{CLOSED_ADDRESS, bridge};

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

#[test]
fn the_versions_are_those_that_the_official_library_knows() {
    let known: Vec<_> = ProtocolVersion::KNOWN_VERSIONS.iter().map(|v| v.as_str()).collect();
    assert_eq!(tradepost_mcp::Version::NAMES, known);
    assert!(!ProtocolVersion::V_2026_07_28.has_initialize());
}

#[test]
fn the_official_client_is_greeted_lists_tools_and_calls_one() {
    let (bridge, _) = bridge(&[CLOSED_ADDRESS]);
    run(async {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (input, output) = tokio::io::split(ours);
        let serving = tokio::spawn(converse(Arc::new(bridge), input, output));
        let client = ().serve(theirs).await.unwrap();
        let server = client.peer_info().unwrap();
        assert_eq!(server.server_info.as_ref().unwrap().name, "tradepost");
        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names.first(), Some(&"aap_dealer_information"));
        assert!(tools.iter().all(|tool| tool.output_schema.is_some() && tool.meta.is_some()));
        let call = CallToolRequestParams::new("aap_inventory_facets");
        let result = client.call_tool(call).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        let document = result.structured_content.unwrap();
        assert_eq!(document["code"], "DEALER_UNREACHABLE");
        client.cancel().await.unwrap();
        serving.await.unwrap().unwrap();
    });
}

#[test]
fn each_line_is_answered_alone_and_other_text_is_skipped() {
    let (bridge, _) = bridge(&[CLOSED_ADDRESS]);
    let lines = [
        "{\"jsonrpc\":",
        "\u{fffd}",
        "",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/sell"}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","id":"5","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"server/discover"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":
            {"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    ];
    let input: String = lines.map(|line| line.replace('\n', "") + "\n").concat();
    let mut output = Vec::new();
    run(converse(Arc::new(bridge), input.as_bytes(), &mut output)).unwrap();
    let output = String::from_utf8(output).unwrap();
    let mut answers: Vec<_> = output.lines().collect();
    // Whichever is done first is answered first.
    answers.sort_unstable();
    expect![[r#"
        {"jsonrpc":"2.0","id":"5","result":{}}
        {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}
        {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"params must be an object"}}
        {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"this server has tools/list, tools/call, resources/list and resources/read"}}
        {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"params must be {\"name\": a tool, \"arguments\": an object}"}}
        {"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"this server has tools/list, tools/call, resources/list and resources/read"}}
        {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete"}}"#]].assert_eq(&answers.join("\n"));
}

#[test]
fn open_questions_are_answered_after_the_clients_last_words() {
    let (bridge, _) = bridge(&[CLOSED_ADDRESS]);
    run(async {
        let (mut theirs, ours) = tokio::io::duplex(64);
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "aap_inventory_facets"}});
        let mut output = Vec::new();
        let said = async {
            // The last line has no end.
            theirs.write_all(call.to_string().as_bytes()).await.unwrap();
            theirs.shutdown().await.unwrap();
        };
        let (ended, ()) = tokio::join!(converse(Arc::new(bridge), ours, &mut output), said);
        ended.unwrap();
        let answer: Value = tradepost_document::json::from_slice(&output).unwrap();
        assert_eq!(answer["result"]["structuredContent"]["code"], "DEALER_UNREACHABLE");
    });
}
