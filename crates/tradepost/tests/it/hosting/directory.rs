//! The directory of a process, and those who read it.

use tradepost_document::json::json;

use super::{HostingFixture, dealer, stdout, tradepost};
use crate::support::{client, with};

const PATH: &str = "/.well-known/api-catalog";

#[test]
fn buyers_find_every_dealer_that_wants_to_be_found() {
    let fixture = HostingFixture::start();
    let shy = with(dealer("shy"), &[("/listed", json!(false))]);
    for document in [dealer("one"), shy, dealer("resting")] {
        assert_eq!(fixture.ask("POST", "/dealers", &[], &document.to_string()).status, 201);
    }
    assert_eq!(fixture.ask("POST", "/dealers/resting/suspend", &[], "").status, 200);
    let set = fixture.on("one.example", "GET", PATH, "");
    let media_type = set.header("content-type").unwrap();
    assert!(media_type.starts_with("application/linkset+json; profile="), "{media_type}");
    let card = |id: &str| {
        let name = if id == "fixed" { "Fixed Motors".to_owned() } else { format!("{id} Motors") };
        let href = format!("https://{id}.example/.well-known/agent-card.json");
        json!({"href": href, "type": "application/json", "title": name})
    };
    let items = json!([card("fixed"), card("one")]);
    assert_eq!(set.json(), json!({"linkset": [{"anchor": PATH, "item": items}]}));
    for host in ["shy.example", "fixed.example", "all.example"] {
        assert_eq!(fixture.on(host, "GET", PATH, "").body, set.body, "the same on every host");
    }
    for (method, path) in [("GET", "/.well-known/agent-card.json"), ("POST", "/a2a")] {
        assert_eq!(fixture.on("all.example", method, path, "{}").status, 404, "there is no agent");
    }
    let home = fixture.on("all.example", "GET", "/", "").json();
    assert_eq!(
        (&home["directory"], &home["mcp"]),
        (&json!(PATH), &json!("https://all.example/mcp"))
    );
    assert_eq!(fixture.on("resting.example", "GET", PATH, "").status, 404);
    let head = fixture.on("all.example", "HEAD", PATH, "");
    assert_eq!(head.header("link"), Some("</.well-known/api-catalog>; rel=\"api-catalog\""));
    assert!(head.body.is_empty());
    let tag = set.header("etag").unwrap();
    for tag in [tag.to_owned(), format!("W/{tag}")] {
        let headers = [("If-None-Match", tag.as_str())];
        let bytes = client::bytes("all.example", "GET", PATH, &headers, b"");
        assert_eq!(client::raw(fixture.process.address, &bytes).unwrap().status, 304, "{tag}");
    }
    assert_eq!(fixture.ask("DELETE", "/dealers/one", &[], "").status, 204);
    let fewer = fixture.on("all.example", "GET", PATH, "").json();
    assert_eq!(fewer["linkset"][0]["item"], json!([card("fixed")]));
    // The endpoint of the directory follows: of those that came and went, the one of the file is left.
    let names = json!({"name": "aap_dealer_information", "arguments": {"names_only": true}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": names});
    let named = fixture.on("all.example", "POST", "/mcp", &call.to_string()).json();
    let dealers = &named["result"]["structuredContent"]["dealers"];
    assert_eq!(dealers, &json!([{"dealer": "fixed.example"}]));
}

#[test]
fn discover_lists_a_directory_where_there_is_no_agent() {
    let fixture = HostingFixture::start();
    let address = fixture.process.address.to_string();
    // On this machine every name is the same place, and the card names its own host.
    let public = format!("http://{address}");
    let patch = json!({"hosts": [address.split(':').next().unwrap()], "public_url": public});
    let local = with(dealer("local"), &[("/hosts", patch["hosts"].clone())]);
    let mut local = local;
    local.as_object_mut().unwrap().insert("public_url".into(), patch["public_url"].clone());
    assert_eq!(fixture.ask("POST", "/dealers", &[], &local.to_string()).status, 201);
    let listed = tradepost(fixture.folder.path(), &["--json", "discover", &public, "--all"]);
    let listed: tradepost_document::json::Value =
        tradepost_document::json::from_str(&stdout(&listed)).unwrap();
    let urls: Vec<_> =
        listed["sellers"].as_array().unwrap().iter().map(|seller| &seller["url"]).collect();
    let card = format!("{public}/.well-known/agent-card.json");
    assert_eq!(urls, [&json!("https://fixed.example/.well-known/agent-card.json"), &json!(card)]);
    let agent = tradepost(fixture.folder.path(), &["discover", &public]);
    assert!(stdout(&agent).contains("local Motors"), "an agent is shown where there is one");
    let catalog = format!("{public}{PATH}");
    assert!(
        stdout(&tradepost(fixture.folder.path(), &["discover", &catalog])).contains("Fixed Motors")
    );
}
