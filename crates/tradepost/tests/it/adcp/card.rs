//! The card, which clients of A2A 1.0 and of 0.3 read.

use expect_test::expect;
use tradepost_document::json::Value;

use crate::support::{client, layout, publisher};

#[test]
fn the_card_is_whole_for_both_releases() {
    let publisher = publisher::start();
    let path = "/.well-known/agent-card.json";
    let card = client::request(publisher.address, "GET", path, &[], b"");
    assert_eq!(card.status, 200);
    let mut card = card.json();
    let skills = card["skills"].as_array_mut().unwrap();
    let ids: Vec<_> = skills.iter().map(|skill| skill["id"].as_str().unwrap().to_owned()).collect();
    let listed = publisher.mcp("nobody", "tools/list", &tradepost_document::json::json!({})).json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(ids, names, "N-4: the skills are the tools");
    skills.truncate(1);
    expect![[r#"
        {"name":"The Gazette","description":"The Gazette, a fictional newspaper: display, video and newsletters, with guaranteed and other placements.",
          "version":"1.0.0",
          "supportedInterfaces":[
            {"url":"http://127.0.0.1:8080/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
            {"url":"http://127.0.0.1:8080/a2a","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],
          "capabilities":{"streaming":false,"pushNotifications":false,
            "extensions":[
              {"uri":"https://adcontextprotocol.org/extensions/adcp/v3","description":"AdCP structured task invocation profile","required":true,"params":{}}]},
          "defaultInputModes":["application/json","text/plain"],"defaultOutputModes":["application/json","text/plain"],
          "skills":[
            {"id":"get_adcp_capabilities","name":"Capabilities","description":"What this seller can do, and which releases it speaks.",
              "tags":["adcp","advertising"],"inputModes":["application/json","text/plain"],"outputModes":["application/json","text/plain"]}],
          "securitySchemes":{"apiKey":{"httpAuthSecurityScheme":{"description":"A key that the seller has issued, as a bearer token.","scheme":"Bearer"},
              "type":"http","scheme":"bearer","description":"A key that the seller has issued, as a bearer token."}},
          "securityRequirements":[{"schemes":{"apiKey":{"list":[]}}}],"url":"http://127.0.0.1:8080/a2a","protocolVersion":"0.3.0",
          "preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"http://127.0.0.1:8080/a2a","transport":"JSONRPC"}],
          "supportsAuthenticatedExtendedCard":false,"security":[{"apiKey":[]}]}"#]].assert_eq(&layout::lay_out(&card));
}

#[test]
fn our_buyer_reads_the_card_and_calls_by_it() {
    let publisher = publisher::start();
    // The card of the usual publisher names another address.
    let card = client::request(publisher.address, "GET", "/.well-known/agent-card.json", &[], b"");
    let card: Value = card.json();
    let older = ["url", "protocolVersion", "preferredTransport", "security"];
    assert!(older.iter().all(|name| card.get(*name).is_some()));
}
