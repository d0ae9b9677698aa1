//! The published examples: every example request of both versions is answered as the example
//! response beside it describes (`R-EX-01`).

use jiff::SignedDuration;
use tradepost_aap::vehicle::Vocabularies;
use tradepost_aap::{self as aap, AapRequest, DealerTerms, ReplyData, Skill, Vehicle, Version};
use tradepost_client::SellerCard;
use tradepost_dealer::inventory::{CurrentYear, Inventory};
use tradepost_dealer::settings::SearchPolicy;
use tradepost_dealer::skills;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_document::problem::{DocumentPlace, Problems};

use crate::beside::published;
use crate::support::schemas::example;
use crate::support::{TestServer, at, start};

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
fn the_published_cards_lack_nothing() {
    for version in ["1.0", "1.1"] {
        let Some(card) = example(version, "agent-card") else { return };
        let card = SellerCard::read(&card.to_string()).unwrap();
        assert!(card.missing().is_empty(), "{version}: {:?}", card.missing());
        assert_eq!(card.choose(None).unwrap().skills, Skill::ALL);
    }
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

/// Every example in the published schema of a request finds the car that it describes, and not the
/// one that it does not (`R-EX-01`).
#[test]
fn the_examples_of_the_request_schema_find_what_they_describe() {
    let name = "spec/aap/v1.1/schemas/inventory-search-request.schema.json";
    let Some(path) = published(name) else { return };
    let schema: Value =
        tradepost_document::json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let meant = json!({
        "vehicle_id": "meant", "year": 2024, "make": "Honda", "model": "CR-V", "trim": "EX-L",
        "condition": "new", "status": "available", "body": "Sport Utility", "price": 38000,
        "transmission": "Automatic", "fuel": "Gas/Electric Hybrid", "driveline": "All-Wheel Drive",
        "exterior_color": "Crystal Black Pearl", "interior_color": "Black Leather", "mileage": 12,
        "rooftop": "Demo Toyota San Francisco", "vin": "1HGCV1F30NA123456", "stock": "H12345",
        "updated_at": "2026-04-30T07:15:00Z",
    });
    let other = json!({
        "vehicle_id": "other", "year": 2019, "make": "Ford", "model": "F-150", "trim": "XLT",
        "condition": "used", "status": "available", "body": "truck", "price": 45000,
        "transmission": "manual", "fuel": "gas", "driveline": "rwd",
        "exterior_color": "Oxford White", "interior_color": "Tan", "mileage": 90000,
        "rooftop": "Demo Honda Oakland", "vin": "1FTFW1E50KFA00001", "stock": "F1",
        "updated_at": "2026-04-30T07:15:00Z",
    });
    let vehicles = [meant, other].map(|listing| {
        let mut problems = Problems::new();
        Vehicle::read(
            &listing,
            &DocumentPlace::Root,
            &mut problems,
            Version::V1_1,
            Vocabularies::Sale,
        )
        .unwrap()
    });
    let inventory = Inventory::build(vehicles.into(), Vec::new()).unwrap();
    let now = at("2026-04-30T12:00:00Z");
    let terms = DealerTerms { now, clock_skew: SignedDuration::ZERO, consent_lifetime: None };
    let found = |filters: &Value| {
        let request = json!({"type": "inventory.search.request", "filters": filters});
        let call = aap::parse(Skill::InventorySearch, Version::V1_1, &request, &terms).unwrap();
        let AapRequest::InventorySearch(search) = call else { panic!("{request}") };
        let policy = SearchPolicy { default_limit: 20, max_limit: 100 };
        let year = CurrentYear::from_timestamp(now);
        let ReplyData::Page(page) = skills::search(&inventory, &search, policy, year).unwrap().data
        else {
            panic!("a search is answered with a page");
        };
        page.vehicles.iter().map(|vehicle| vehicle.as_json().to_owned()).collect::<String>()
    };
    let whole = schema["examples"].as_array().unwrap().iter();
    let whole = whole.map(|example| example["filters"].clone());
    let filters = schema["$defs"]["filters"]["properties"].as_object().unwrap();
    let single = filters.iter().flat_map(|(name, rules)| {
        let examples = rules["examples"].as_array().into_iter().flatten();
        examples.map(move |example| json!({(name.as_str()): example}))
    });
    let asked: Vec<Value> = whole.chain(single).collect();
    assert!(asked.len() > 20);
    for filters in asked {
        let found = found(&filters);
        let is = (found.contains("\"meant\""), found.contains("\"other\""));
        let expected = match filters.to_string().as_str() {
            r#"{"condition":["used","cpo"]}"# => (false, true),
            // Bounds that both cars keep.
            r#"{"price_min":20000}"# | r#"{"year_max":2025}"# => (true, true),
            _ => (true, false),
        };
        assert_eq!(is, expected, "{filters}");
    }
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
            assert_eq!(stored[0].submission.payload, sent, "the whole grant is kept (R-LD-19)");
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
