//! The published examples: every example request of both versions is answered as the example
//! response beside it describes (`R-EX-01`).

use serde_json::{Value, json};

use crate::support::schemas::example;
use crate::support::{TestServer, start};

/// An example's payload, whatever envelope it is printed in.
fn payload(example: &Value) -> Value {
    let wrapped = ["/params/message/parts/0/data", "/message/parts/0/data"];
    let found = wrapped.iter().find_map(|pointer| example.pointer(pointer));
    found.unwrap_or(example).clone()
}

fn answer(server: &TestServer, version: &str, name: &str) -> Option<Value> {
    let request = payload(&example(version, name)?);
    let uri = match version {
        "1.0" => "https://autoagentprotocol.org/extensions/a2a-automotive-retail/v1.0",
        _ => "https://autoagentprotocol.org/extensions/aap/v1.1",
    };
    let headers = [("Content-Type", "application/json"), ("A2A-Extensions", uri)];
    let body = crate::support::envelope(&request).to_string();
    let response = server.post_with(&headers, body);
    assert_eq!(response.header("a2a-extensions"), Some(uri), "{version} {name}");
    let answer = response.json();
    let data = answer.pointer("/result/message/parts/0/data");
    Some(data.unwrap_or_else(|| panic!("{version} {name}: {answer}")).clone())
}

#[test]
fn inventory_examples_find_the_vehicles_of_their_responses() {
    let server = start();
    for version in ["1.0", "1.1"] {
        for name in ["inventory-search-request", "inventory-search-request.jsonrpc"] {
            let Some(found) = answer(&server, version, name) else { return };
            let expected = payload(&example(version, "inventory-search-response").unwrap());
            for member in ["total", "skip", "limit"] {
                assert_eq!(found["data"][member], expected["data"][member], "{version} {member}");
            }
            let ids = |answer: &Value| -> Vec<Value> {
                let vehicles = answer["data"]["vehicles"].as_array().unwrap();
                vehicles.iter().map(|vehicle| vehicle["vehicle_id"].clone()).collect()
            };
            assert_eq!(ids(&found), ids(&expected), "{version} {name}");
        }
        let vehicle = answer(&server, version, "vehicle-detail-request").unwrap();
        let expected = example(version, "vehicle-detail-response").unwrap();
        for member in ["vehicle_id", "vin", "stock", "year", "make", "model", "price", "status"] {
            assert_eq!(vehicle["data"][member], expected["data"][member], "{version} {member}");
        }
        let facets = answer(&server, version, "inventory-facets-request").unwrap();
        assert_eq!(facets["data"]["conditions"], json!([{"value": "used", "count": 2}]));
        let dealer = answer(&server, version, "dealer-information-request").unwrap();
        let expected = example(version, "dealer-information-response").unwrap();
        assert_eq!(dealer["data"]["name"], expected["data"]["name"]);
        let names = |answer: &Value| -> Vec<Value> {
            let rooftops = answer["data"]["rooftops"].as_array().unwrap();
            rooftops.iter().map(|rooftop| rooftop["name"].clone()).collect()
        };
        assert_eq!(names(&dealer), names(&expected));
    }
    let Some(rest) = example("1.0", "inventory-search-request.rest") else { return };
    assert_eq!(server.payload(&payload(&rest))["data"]["total"], 2);
}

#[test]
fn lead_examples_are_received_and_their_appointments_confirmed() {
    for version in ["1.0", "1.1"] {
        for (name, has_appointment) in [
            ("lead-submit-request", true),
            ("lead-submit-request.appointment", true),
            ("lead-submit-request.minimal", false),
            ("lead-submit-request.vehicle-only", false),
        ] {
            let server = start();
            let Some(receipt) = answer(&server, version, name) else { return };
            assert_eq!(receipt["data"]["status"], "received", "{version} {name}");
            let phone = &receipt["data"]["dealer"]["phone"];
            let expected = example(version, "lead-submit-response").unwrap();
            assert_eq!(phone, &expected["data"]["dealer"]["phone"], "R-LD-26");
            let appointment = receipt["data"].get("appointment");
            assert_eq!(appointment.is_some(), has_appointment, "{version} {name}");
            if let Some(appointment) = appointment {
                assert_eq!(appointment["status"], "confirmed");
                assert_eq!(appointment["confirmed_at"], "2026-05-03T18:00:00Z");
            }
            let stored = server.store.leads(None).unwrap();
            let sent = payload(&example(version, name).unwrap());
            assert_eq!(stored[0].payload, sent, "the whole grant is kept (R-LD-19)");
        }
    }
}

#[test]
fn a_full_hour_is_answered_with_proposed_times() {
    let server = start();
    let Some(mut request) = example("1.1", "lead-submit-request.appointment") else { return };
    for (number, status) in [(1, "confirmed"), (2, "confirmed"), (3, "proposed")] {
        request["customer"]["email"] = json!(format!("customer{number}@example.com"));
        request["customer"]["phone"] = json!(format!("+1415555000{number}"));
        let receipt = server.payload(&request);
        assert_eq!(receipt["data"]["appointment"]["status"], status, "{receipt}");
    }
}
