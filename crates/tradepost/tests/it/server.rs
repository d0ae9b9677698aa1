//! The server around the skills: the card and its caching, health, and what the log does not say.

use tradepost_aap::Version;
use tradepost_document::json::json;

use crate::support::schemas::check;
use crate::support::{client, start, start_with};

const CARD: &str = "/.well-known/agent-card.json";

#[test]
fn the_card_satisfies_the_schemas_of_both_versions() {
    let server = start();
    let response = server.card();
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let card = response.json();
    check("1.1", "card", &card);
    check("1.0", "card", &card);
    let extensions = card["capabilities"]["extensions"].as_array().unwrap();
    let uris: Vec<_> = extensions.iter().map(|extension| extension["uri"].clone()).collect();
    assert_eq!(uris, [Version::V1_1.uri(), Version::V1_0.uri()], "R-CARD-09");
    assert_eq!(extensions[0]["params"]["version"], "1.1.0");
    assert_eq!(
        extensions[0]["params"]["skills"]["inventory.vehicle"]["request_schema"],
        "https://autoagentprotocol.org/v1.1/schemas/vehicle-detail-request.schema.json",
        "R-CARD-07"
    );
    assert!(extensions[1]["params"].get("skills").is_none(), "v1.0 lists no schemas");
    let interface = &card["supportedInterfaces"][0];
    assert_eq!(interface["url"], "https://demo-toyota.example.com/a2a");
    assert_eq!(interface["protocolBinding"], "JSONRPC");
    assert_eq!(interface["protocolVersion"], "1.0");
    assert_eq!(card["capabilities"]["streaming"], false);
}

#[test]
fn the_card_can_be_cached_and_revalidated() {
    let server = start();
    let first = server.card();
    let etag = first.header("etag").unwrap().to_owned();
    let modified = first.header("last-modified").unwrap().to_owned();
    assert_eq!(modified, "Thu, 30 Apr 2026 12:00:00 GMT");
    assert!(first.header("cache-control").unwrap().contains("max-age="));
    let get = |headers: &[(&str, &str)]| client::request(server.address, "GET", CARD, headers, b"");
    for headers in [
        vec![("If-None-Match", etag.as_str())],
        vec![("If-None-Match", "*")],
        vec![("If-None-Match", "\"other\", W/\"x\"")],
        vec![("If-Modified-Since", modified.as_str())],
        vec![("If-Modified-Since", "Thu, 30 Apr 2026 11:59:59 GMT")],
        vec![("If-Modified-Since", "nonsense")],
        // The tag decides, whatever the date says.
        vec![("If-None-Match", "\"other\""), ("If-Modified-Since", modified.as_str())],
    ] {
        let unchanged = headers[0].1 == etag || headers[0].1 == "*" || headers[0].1 == modified;
        let response = get(&headers);
        assert_eq!(response.status, if unchanged { 304 } else { 200 }, "{headers:?}");
        assert_eq!(response.header("etag"), Some(etag.as_str()));
        assert_eq!(response.body.is_empty(), unchanged);
    }
    let head = client::request(server.address, "HEAD", CARD, &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("etag"), Some(etag.as_str()));
    assert_eq!(client::request(server.address, "POST", CARD, &[], b"").status, 405);
}

#[test]
fn the_cards_id_changes_exactly_when_the_card_does() {
    use std::sync::Arc;

    use tradepost_runtime::aap::card::publish;
    use tradepost_store::Store;

    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(directory.path()).unwrap());
    let mut dealer = crate::support::dealer::config().dealers.remove(0);
    let mut calls = 0;
    let mut id_of = |dealer: &tradepost_runtime::config::DealerConfig, base: &str| {
        calls += 1;
        let now = format!("2026-04-30T12:00:0{calls}Z").parse().unwrap();
        publish(dealer, base, |hash| store.card_identity("d", hash, format!("id-{calls}"), now))
            .unwrap()
    };
    let first = id_of(&dealer, "https://a.example");
    let same = id_of(&dealer, "https://a.example");
    assert_eq!(first.identity, same.identity, "R-CARD-08");
    assert_eq!((first.etag, first.body), (same.etag.clone(), same.body));
    dealer.description.push('!');
    let changed = id_of(&dealer, "https://a.example");
    assert_eq!(changed.identity.id, "id-3");
    assert_ne!(changed.etag, same.etag);
    assert_eq!(id_of(&dealer, "https://b.example").identity.id, "id-4");
    // What is not on the card changes nothing.
    dealer.terms.leads.proposed_times = 9;
    assert_eq!(id_of(&dealer, "https://b.example").identity.id, "id-4");
}

#[test]
fn a_dealer_of_one_version_declares_and_speaks_only_that() {
    let server = start_with(|config| config.dealers[0].terms.versions = vec![Version::V1_0]);
    let card = server.card().json();
    check("1.0", "card", &card);
    assert_eq!(card["capabilities"]["extensions"].as_array().unwrap().len(), 1);
    let response = server.call(&json!({"type": "dealer.information.request"}));
    assert_eq!(response.header("a2a-extensions"), Some(Version::V1_0.uri()));
}

#[test]
fn health_tells_whether_leads_can_be_taken() {
    let server = start();
    let get = |path: &str| client::request(server.address, "GET", path, &[], b"");
    assert_eq!((get("/healthz").status, get("/readyz").status), (200, 200));
    assert_eq!(get("/readyz").json(), json!({"status": "ready"}));
}

#[test]
fn the_first_problem_has_v1_0s_name_too() {
    let server = start();
    let mut lead = crate::support::lead();
    lead["source_agent"] = json!("agent");
    lead["consent"]["source_agent"] = json!("agent");
    lead["customer"]["phone"] = json!("555");
    let details = server.error(&lead)["details"].clone();
    assert_eq!(details["instancePath"], "/customer/phone", "§1.3");
    assert_eq!(details["errors"][0]["instanceLocation"], "/customer/phone");
}
