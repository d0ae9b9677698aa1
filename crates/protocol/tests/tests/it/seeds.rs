//! Valid requests to start from: the published examples, and ours that use every optional member.

use std::fs;

use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json};

use crate::published;

/// A valid request.
#[derive(Debug, Clone)]
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) skill: Skill,
    pub(crate) data: Value,
}

/// The published examples of both versions, unwrapped, and the rich ones.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = rich();
    for version in Version::ALL.iter().copied() {
        let folder = format!("spec/aap/v{}/examples", version.name());
        let Some(folder) = published::path(&folder) else {
            continue;
        };
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if !name.contains("request") {
                continue;
            }
            let document: Value =
                tradepost_document::json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            let data = ["/params/message/parts/0/data", "/message/parts/0/data", ""]
                .iter()
                .find_map(|pointer| document.pointer(pointer))
                .unwrap()
                .clone();
            seeds.push(seed(name, version, data));
        }
    }
    seeds
}

fn seed(name: impl Into<String>, version: Version, data: Value) -> Seed {
    let kind = data["type"].as_str().unwrap();
    let skill = Skill::from_request_type(kind).unwrap();
    Seed { name: name.into(), version, skill, data }
}

/// Requests of our own, for each skill and version, in which every known member is present.
pub(crate) fn rich() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for version in Version::ALL.iter().copied() {
        seeds.push(seed("rich search", version, search()));
        let facets = json!({"type": "inventory.facets.request", "filters": search()["filters"]});
        seeds.push(seed("rich facets", version, facets));
        let mut vehicle = json!({"type": "inventory.vehicle.request",
            "vin": "1HGCV1F30NA123456", "stock": "H1", "vehicle_id": "v-1"});
        if version == Version::V1_0 {
            vehicle["zip"] = json!("any text");
        }
        seeds.push(seed("rich vehicle", version, vehicle));
        seeds.push(seed("rich lead", version, lead(version)));
    }
    seeds
}

fn search() -> Value {
    json!({
        "type": "inventory.search.request",
        "filters": {
            "make": ["Honda"], "model": ["CR-V"], "trim": ["EX"], "condition": ["new", "used", "cpo"],
            "transmission": ["automatic"], "fuel": ["hybrid"], "driveline": ["awd"], "body": ["suv"],
            "exterior_color": ["black"], "interior_color": [], "rooftops": ["Downtown"],
            "year_min": 1900, "year_max": 2100.0, "price_min": 0, "price_max": 40000,
            "mileage_max": 6e4, "vin": "1HGCV1F30NA123456", "stock": "", "query": "hybrid",
        },
        "pagination": {"skip": 0, "limit": 1000},
        "sort": {"field": "updated_at", "order": "desc"},
        "privacy": {"anonymous": false},
    })
}

fn vehicle(condition: &str) -> Value {
    json!({
        "dealer_id": "d", "vehicle_id": "v", "vin": "1HGCV1F30NA123456", "stock": "S",
        "rooftop": null, "year": 2024, "make": "Honda", "model": "CR-V", "trim": "EX",
        "body": "suv", "condition": condition, "status": "intransit", "msrp": 40000,
        "list_price": 39000, "price": 38500.0, "mileage": 12, "transmission": "cvt",
        "driveline": "awd", "engine": "2.0", "fuel": "hybrid", "city_mpg": 40, "highway_mpg": 35,
        "electric_range_mi": 1.5, "exterior_color": "black", "interior_color": "grey",
        "features": ["roof"], "photos": ["https://example.com/1.jpg"],
        "vdp_url": "https://example.com/v", "description": "x", "notes": "y",
        "inventory_date": "2026-04-01", "updated_at": "2026-04-30T11:05:00Z",
        "offered_price": 38000, "zip": "94107-1234", "colour_of_the_key": {"unknown": [true]},
    })
}

fn lead(version: Version) -> Value {
    let mut lead = json!({
        "type": "lead.submit.request",
        "customer": {
            "first_name": "Ada", "last_name": "", "email": "ada@example.com",
            "phone": "+14155550123", "preferred_contact": "any",
            "address": {"country": "US", "state": "CA", "city": "San Francisco",
                "address_line_1": "1 First Street", "address_line_2": "2", "zip": "94103"},
        },
        "consent": {
            "granted_at": "2026-04-30T11:05:00Z", "allowed_channels": ["email", "phone", "sms"],
            "consent_text": "I agree.", "scope": ["lead_submission"],
            "expires_at": "2027-04-30T11:05:00Z",
        },
        "vehicle_of_interest": vehicle("cpo"),
        "trade_in": vehicle("fair"),
        "appointment": {"appointment_type": "test_drive", "appointment_at": "2026-05-03T11:00:00-07:00",
            "duration_minutes": 15, "notes": ""},
        "message": "hello",
        "source_agent": {"name": "shopper", "url": "https://example.com",
            "agent_card_url": "https://example.com/card.json"},
        "submitted_at": "2026-04-30T11:05:08Z",
        "idempotency_key": "k",
    });
    if version == Version::V1_0 {
        lead["source_agent"] = json!("shopper");
        lead["consent"]["source_agent"] = json!("shopper");
    }
    lead
}
