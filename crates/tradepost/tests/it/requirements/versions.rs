//! Which version of the profile a message is read in (C-34, C-35), and both versions' answers.

use tradepost_aap::Version;
use tradepost_document::json::{Value, json};

use crate::support::dealer::LISTED_VIN;
use crate::support::{TestServer, envelope, lead, start, start_with, with};

const V1_0: &str = Version::V1_0.uri();
const V1_1: &str = Version::V1_1.uri();

/// The version that answers, by the header that says so.
fn version_of(server: &TestServer, headers: &[&str], extensions: &Value, payload: &Value) -> Value {
    let mut body = envelope(payload);
    if !extensions.is_null() {
        body["params"]["message"]["extensions"] = extensions.clone();
    }
    let mut all = vec![("Content-Type", "application/json")];
    all.extend(headers.iter().map(|value| ("A2A-Extensions", *value)));
    let response = server.post_with(&all, body.to_string());
    match response.header("a2a-extensions") {
        Some(uri) if uri == V1_0 => json!("1.0"),
        Some(uri) if uri == V1_1 => json!("1.1"),
        _ => response.json(),
    }
}

/// A lead as v1.0 has it.
fn old_lead() -> Value {
    with(lead(), &[("/source_agent", json!("agent")), ("/consent/source_agent", json!("agent"))])
}

#[test]
fn c_34_what_is_named_decides_transport_before_message() {
    let server = start();
    let info = json!({"type": "dealer.information.request"});
    let both = format!("{V1_0}, {V1_1}");
    let spaced = format!("https://other.example/x , {V1_0} ,");
    for (headers, extensions, expected) in [
        (vec![], Value::Null, "1.1"),
        (vec![V1_0], Value::Null, "1.0"),
        (vec![both.as_str()], Value::Null, "1.1"),
        (vec![V1_0, V1_1], Value::Null, "1.1"),
        (vec!["https://other.example/x", V1_0], Value::Null, "1.0"),
        (vec![spaced.as_str()], Value::Null, "1.0"),
        (vec![], json!([V1_0]), "1.0"),
        (vec![], json!([V1_0, V1_1]), "1.1"),
        // The header comes first.
        (vec![V1_0], json!([V1_1]), "1.0"),
        (vec![V1_1], json!([V1_0]), "1.1"),
        // What nobody here speaks counts for nothing, wherever it is named.
        (vec!["https://autoagentprotocol.org/extensions/aap/v1.2"], json!([V1_0]), "1.0"),
        (vec!["", ",,"], Value::Null, "1.1"),
    ] {
        let answered = version_of(&server, &headers, &extensions, &info);
        assert_eq!(answered, expected, "{headers:?} {extensions}");
    }
}

#[test]
fn c_34_the_shape_decides_between_versions_that_are_possible() {
    let server = start();
    let vehicle = json!({"type": "inventory.vehicle.request", "vin": LISTED_VIN, "zip": "94103"});
    let sort = json!({"field": "offered_price", "order": "asc"});
    let search = json!({"type": "inventory.search.request", "sort": sort});
    let both = format!("{V1_1},{V1_0}");
    for payload in [&vehicle, &search, &old_lead()] {
        for headers in [vec![], vec![V1_0], vec![both.as_str()]] {
            assert_eq!(version_of(&server, &headers, &Value::Null, payload), "1.0", "{payload}");
        }
        assert_eq!(version_of(&server, &[V1_1], &Value::Null, payload), "1.1");
    }
    // In its own version each is answered, and in v1.1 refused (E-054, E-061, E-073).
    assert_eq!(server.payload(&vehicle)["data"]["vin"], LISTED_VIN);
    assert_eq!(server.payload(&search)["data"]["total"], 4);
    assert!(server.payload(&old_lead())["data"]["lead_id"].is_string());
    let facets = json!({"type": "inventory.facets.request", "filters": {}});
    assert_eq!(version_of(&server, &[], &Value::Null, &facets), "1.1");
}

#[test]
fn c_34_a_v1_1_lead_stays_one_despite_vehicles() {
    let server = start();
    // §1.3: in v1.1 vehicles may have any member, these two included.
    let copied = json!({"vin": LISTED_VIN, "zip": "94103", "offered_price": 30000});
    let payload = with(
        lead(),
        &[("/vehicle_of_interest", copied), ("/trade_in", json!({"year": 2015, "zip": "x"}))],
    );
    assert_eq!(version_of(&server, &[], &Value::Null, &payload), "1.1");
    assert!(server.payload(&payload)["data"]["lead_id"].is_string());
}

#[test]
fn c_35_a_v1_1_consents_old_member_is_named() {
    // Also where v1.0 is spoken: the agent is an object, so this is v1.1.
    let server = start();
    let payload = with(lead(), &[("/consent/source_agent", json!("agent"))]);
    let error = server.error(&payload);
    assert_eq!(error["code"], "INVALID_CONSENT");
    assert_eq!(error["details"]["errors"][0]["instanceLocation"], "/consent/source_agent");
    assert_eq!(error["details"]["errors"][0]["keyword"], "additionalProperties");
}

#[test]
fn x_03_who_names_only_unspoken_versions_is_told_so() {
    let info = json!({"type": "dealer.information.request"});
    let future = "https://autoagentprotocol.org/extensions/aap/v9.9";
    for (spoken, named, in_message) in [
        (&[Version::V1_0, Version::V1_1][..], future, Value::Null),
        (&[Version::V1_0, Version::V1_1], "", json!([future])),
        (&[Version::V1_0], V1_1, Value::Null),
        (&[Version::V1_0], V1_1, json!([future])),
        (&[Version::V1_1], V1_0, Value::Null),
        (&[Version::V1_1], "", json!([V1_0])),
    ] {
        let server = start_with(|config| config.dealers[0].terms.versions = spoken.to_vec());
        let headers = [("Content-Type", "application/json"), ("A2A-Extensions", named)];
        let sent = with(envelope(&info), &[("/params/message/extensions", in_message)]);
        let answer = server.post_with(&headers, sent.to_string());
        let error = &answer.json()["error"];
        assert_eq!((answer.status, &error["code"]), (200, &json!(-32008)), "{named}");
        assert_eq!(error["data"][0]["reason"], "EXTENSION_SUPPORT_REQUIRED");
        let offered = error["data"][0]["metadata"]["supportedExtensions"].as_str().unwrap();
        let uris: Vec<_> = spoken.iter().map(|version| version.uri()).collect();
        assert_eq!(offered, uris.join(", "));
        assert!(error["message"].as_str().unwrap().ends_with(offered), "{error}");
        assert_eq!(answer.header("a2a-extensions"), None);
    }
    for (version, name) in [(Version::V1_0, "1.0"), (Version::V1_1, "1.1")] {
        let server = start_with(|config| config.dealers[0].terms.versions = vec![version]);
        for named in [vec![version.uri()], vec![], vec!["https://other.example/x/v9"]] {
            assert_eq!(version_of(&server, &named, &Value::Null, &info), name);
        }
    }
}

/// Covers R-ER-01 too.
#[test]
fn r_env_08_skills_and_refusals_satisfy_both_versions_schemas() {
    let server = start();
    for uri in [V1_0, V1_1] {
        let lead = if uri == V1_0 { old_lead() } else { lead() };
        for (payload, stem) in [
            (json!({"type": "dealer.information.request"}), "dealer-information"),
            (json!({"type": "inventory.facets.request"}), "inventory-facets"),
            (json!({"type": "inventory.search.request"}), "inventory-search"),
            (json!({"type": "inventory.vehicle.request", "vin": LISTED_VIN}), "vehicle-detail"),
            (lead, "lead-submit"),
        ] {
            let headers = [("Content-Type", "application/json"), ("A2A-Extensions", uri)];
            // The client checks every answer against the schema of the version it names.
            let answer = server.post_with(&headers, envelope(&payload).to_string());
            assert_eq!(answer.header("a2a-extensions"), Some(uri), "{payload}");
            let part = &answer.json()["result"]["message"]["parts"][0];
            let media_type = format!("application/vnd.autoagent.{stem}-response+json");
            assert_eq!(part["mediaType"], media_type);
            assert_eq!(
                part["data"]["type"],
                payload["type"].as_str().unwrap().replace("request", "response")
            );
            let wrong = with(payload, &[("/nonsense", json!(1))]);
            let refused = server.post_with(&headers, envelope(&wrong).to_string());
            assert_eq!(refused.header("a2a-extensions"), Some(uri));
            let details = refused.json()["error"]["data"]["details"].clone();
            assert_eq!(details["errors"][0]["instanceLocation"], "/nonsense");
            let old_name = details.get("instancePath").and_then(Value::as_str);
            assert_eq!(old_name, (uri == V1_0).then_some("/nonsense"), "§1.3");
        }
    }
}

#[test]
fn r_env_01_envelopes_may_be_written_for_protobuf_parsers() {
    let server = start();
    let parts = json!([{"text": "hello"}, {"data": {"type": "dealer.information.request"},
                       "media_type": "application/json"}]);
    let message = json!({"message_id": "m", "context_id": "c-9", "task_id": "", "role": 1,
                         "parts": parts, "extensions": [V1_0]});
    let configuration =
        json!({"accepted_output_modes": ["*/*"], "task_push_notification_config": null});
    let params = json!({"message": message, "configuration": configuration});
    let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let answer = server.post(body.to_string()).json();
    assert_eq!(answer["result"]["message"]["contextId"], "c-9", "{answer}");
    // The other spelling is read too, not only tolerated (E-031, E-032).
    body["params"]["message"]["task_id"] = json!("t");
    assert_eq!(server.post(body.to_string()).json()["error"]["code"], -32001);
    body["params"]["message"]["task_id"] = json!("");
    body["params"]["configuration"]["task_push_notification_config"] = json!({});
    assert_eq!(server.post(body.to_string()).json()["error"]["code"], -32003);
    // E-028: of the role's numbers only the user's.
    for role in [json!(0), json!(2), json!(-1), json!(1.5), json!("1"), json!(true), json!([1])] {
        let body = with(envelope(&json!({})), &[("/params/message/role", role.clone())]);
        assert_eq!(server.post(body.to_string()).json()["error"]["code"], -32602, "{role}");
    }
}
