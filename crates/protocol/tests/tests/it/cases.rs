//! 82 payloads: what two schema validators say, and what we emit.

use tradepost_aap::{Skill, Version};
use tradepost_document::json::{Value, json};

use crate::oracle;
use crate::published;

/// What a case starts from.
#[derive(Clone, Copy)]
enum Base {
    Search,
    Facets,
    Dealer,
    Vehicle,
    Lead,
}
use Base::{Dealer, Facets, Lead, Search, Vehicle};

/// A member that a case takes away.
const ABSENT: &str = "<absent>";

/// A case: its id, the request it starts from, what it changes by JSON Pointer, and the units
/// emitted, as `pointer keyword` with `(root)` for the document.
type Case = (&'static str, Base, Value, &'static [&'static str]);

fn document(from: Base) -> (Skill, Value) {
    match from {
        Search => (
            Skill::InventorySearch,
            json!({"type": "inventory.search.request",
                "filters": {"make": ["Honda"], "year_min": 2020},
                "pagination": {"skip": 0, "limit": 20}, "sort": {"field": "price", "order": "asc"}}),
        ),
        Facets => (Skill::InventoryFacets, json!({"type": "inventory.facets.request"})),
        Dealer => (Skill::DealerInformation, json!({"type": "dealer.information.request"})),
        Vehicle => (
            Skill::InventoryVehicle,
            json!({"type": "inventory.vehicle.request", "vin": "1HGCV1F30NA123456"}),
        ),
        Lead => (
            Skill::LeadSubmit,
            json!({
                "type": "lead.submit.request",
                "customer": {"first_name": "Anna", "last_name": "Lee", "email": "anna@example.com"},
                "consent": {"granted_at": "2026-04-30T10:16:00Z", "allowed_channels": ["email"],
                    "consent_text": "I agree.", "scope": ["lead_submission"]},
                "source_agent": {"name": "shopper"},
            }),
        ),
    }
}

fn changed(mut document: Value, changes: &Value) -> Value {
    for (pointer, value) in changes.as_object().unwrap() {
        if pointer.is_empty() {
            document = value.clone();
            continue;
        }
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap();
        if *value == ABSENT {
            parent.as_object_mut().unwrap().shift_remove(key);
        } else {
            parent[key] = value.clone();
        }
    }
    document
}

fn text(length: usize) -> String {
    "x".repeat(length)
}

fn cases() -> Vec<Case> {
    let mut cases = of_inventory();
    cases.extend(of_lead_customer_and_consent());
    cases.extend(of_lead_vehicles_and_rest());
    cases
}

fn of_inventory() -> Vec<Case> {
    vec![
        ("S01", Search, json!({"/type": ABSENT}), &["(root) required"]),
        ("S02", Search, json!({"": []}), &["(root) type"]),
        ("S03", Search, json!({"": null}), &["(root) type"]),
        ("S04", Search, json!({"/type": "inventory.facets.request"}), &["/type const"]),
        ("S05", Search, json!({"/page": 1}), &["/page additionalProperties"]),
        ("S06", Search, json!({"/filters/maek": []}), &["/filters/maek additionalProperties"]),
        ("S07", Search, json!({"/filters/make": "Honda"}), &["/filters/make type"]),
        ("S08", Search, json!({"/filters/year_min": "2020"}), &["/filters/year_min type"]),
        ("S09", Search, json!({"/filters/year_min": 2020.5}), &["/filters/year_min type"]),
        ("S10", Search, json!({"/filters/year_min": 2020.0}), &[]),
        ("S11", Search, json!({"/filters/year_min": 1800}), &["/filters/year_min minimum"]),
        ("S12", Search, json!({"/filters/price_max": -1}), &["/filters/price_max minimum"]),
        ("S13", Search, json!({"/filters/condition": ["good"]}), &["/filters/condition/0 enum"]),
        ("S14", Search, json!({"/filters/vin": "SHORT"}), &["/filters/vin pattern"]),
        ("S15", Search, json!({"/filters/query": text(201)}), &["/filters/query maxLength"]),
        ("S16", Search, json!({"/pagination/limit": 0}), &["/pagination/limit minimum"]),
        ("S17", Search, json!({"/pagination/limit": 1001}), &["/pagination/limit maximum"]),
        ("S18", Search, json!({"/pagination/skip": -1}), &["/pagination/skip minimum"]),
        ("S19", Search, json!({"/pagination/page": 2}), &["/pagination/page additionalProperties"]),
        ("S20", Search, json!({"/sort/order": ABSENT}), &["/sort required"]),
        ("S21", Search, json!({"/sort/field": "offered_price"}), &["/sort/field enum"]),
        ("S22", Search, json!({"/privacy": {"anonymous": "yes"}}), &["/privacy/anonymous type"]),
        (
            "S23",
            Search,
            json!({"/filters": {"maek": 1, "condition": ["good", "fair"], "year_min": "2020"},
                "/pagination": {"skip": -1, "limit": 0}}),
            &[
                "/filters/maek additionalProperties",
                "/filters/condition/0 enum",
                "/filters/condition/1 enum",
                "/filters/year_min type",
                "/pagination/skip minimum",
                "/pagination/limit minimum",
            ],
        ),
        ("S24", Search, json!({"/filters": null}), &["/filters type"]),
        ("F01", Facets, json!({"/pagination": {}}), &["/pagination additionalProperties"]),
        ("D01", Dealer, json!({"/dealer_id": "d"}), &["/dealer_id additionalProperties"]),
        ("V01", Vehicle, json!({"/vin": ABSENT}), &["(root) anyOf"]),
        (
            "V02",
            Vehicle,
            json!({"/vin": "1HGCV1F30NA12345", "/zip": "94103"}),
            &["/vin pattern", "/zip additionalProperties"],
        ),
        ("V03", Vehicle, json!({"/vin": null}), &["/vin type"]),
    ]
}

fn of_lead_customer_and_consent() -> Vec<Case> {
    let granted_at = |text: &str| json!({"/consent/granted_at": text});
    vec![
        (
            "L01",
            Lead,
            json!({"": {"type": "lead.submit.request"}}),
            &["(root) required", "(root) required", "(root) required"],
        ),
        ("L02", Lead, json!({"/consent": ABSENT}), &["(root) required"]),
        ("L03", Lead, json!({"/customer": ABSENT}), &["(root) required"]),
        ("L04", Lead, json!({"/source_agent": ABSENT}), &["(root) required"]),
        ("L05", Lead, json!({"/source_agent": "shopper"}), &["/source_agent type"]),
        ("L06", Lead, json!({"/source_agent": {}}), &["/source_agent required"]),
        ("L07", Lead, json!({"/source_agent/name": ""}), &["/source_agent/name minLength"]),
        ("L08", Lead, json!({"/source_agent/url": "shopper"}), &["/source_agent/url format"]),
        (
            "L09",
            Lead,
            json!({"/consent/source_agent": "shopper"}),
            &["/consent/source_agent additionalProperties"],
        ),
        (
            "L10",
            Lead,
            json!({"/customer/first_name": ABSENT, "/customer/last_name": ABSENT}),
            &["/customer required", "/customer required"],
        ),
        ("L11", Lead, json!({"/customer/email": ABSENT}), &["/customer anyOf"]),
        ("L12", Lead, json!({"/customer/email": "anna"}), &["/customer/email format"]),
        ("L13", Lead, json!({"/customer/email": "é@b.com"}), &["/customer/email format"]),
        ("L14", Lead, json!({"/customer/phone": "(415) 555-0123"}), &["/customer/phone pattern"]),
        (
            "L15",
            Lead,
            json!({"/customer/preferred_contact": "fax"}),
            &["/customer/preferred_contact enum"],
        ),
        (
            "L16",
            Lead,
            json!({"/customer/address": {"street": "x"}}),
            &["/customer/address/street additionalProperties"],
        ),
        ("L17", Lead, json!({"/consent/scope": ["marketing"]}), &["/consent/scope/0 enum"]),
        ("L18", Lead, json!({"/consent/scope": []}), &["/consent/scope minItems"]),
        (
            "L19",
            Lead,
            json!({"/consent/scope": ["lead_submission", "marketing"]}),
            &["/consent/scope maxItems", "/consent/scope/1 enum"],
        ),
        ("L20", Lead, json!({"/consent/scope": "lead_submission"}), &["/consent/scope type"]),
        (
            "L21",
            Lead,
            json!({"/consent/allowed_channels": []}),
            &["/consent/allowed_channels minItems"],
        ),
        (
            "L22",
            Lead,
            json!({"/consent/allowed_channels": ["email", "email"]}),
            &["/consent/allowed_channels uniqueItems"],
        ),
        (
            "L23",
            Lead,
            json!({"/consent/allowed_channels": ["fax"]}),
            &["/consent/allowed_channels/0 enum"],
        ),
        ("L24", Lead, json!({"/consent/consent_text": ""}), &["/consent/consent_text minLength"]),
        ("L25", Lead, granted_at("2026-04-30T10:16:00"), &["/consent/granted_at format"]),
        ("L26", Lead, granted_at("2026-04-30"), &["/consent/granted_at format"]),
        ("L27", Lead, json!({"/consent/granted_at": 1_777_544_160}), &["/consent/granted_at type"]),
        ("L42", Lead, granted_at("2016-12-31T23:59:60Z"), &[]),
        ("L43", Lead, granted_at("2026-04-30 10:16:00Z"), &["/consent/granted_at format"]),
        ("L44", Lead, granted_at("2026-04-30t10:16:00z"), &[]),
        ("L45", Lead, granted_at("2026-04-30T10:16:00+0530"), &["/consent/granted_at format"]),
        ("L46", Lead, json!({"/customer": null}), &["/customer type"]),
        ("L47", Lead, json!({"/consent": null}), &["/consent type"]),
    ]
}

fn of_lead_vehicles_and_rest() -> Vec<Case> {
    let voi = |member: &str, value: Value| json!({"/vehicle_of_interest": {member: value}});
    let appointment = |changes: Value| {
        let mut appointment = json!({"appointment_type": "sales"});
        appointment.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        json!({"/appointment": appointment})
    };
    vec![
        ("L28", Lead, voi("condition", json!("good")), &["/vehicle_of_interest/condition enum"]),
        ("L29", Lead, voi("condition", json!("mint")), &["/vehicle_of_interest/condition enum"]),
        ("L30", Lead, json!({"/trade_in": {"condition": "used"}}), &["/trade_in/condition enum"]),
        ("L31", Lead, voi("vin", json!("1HGCV1F30NA12345")), &["/vehicle_of_interest/vin pattern"]),
        ("L32", Lead, voi("year", json!("2022")), &["/vehicle_of_interest/year type"]),
        ("L33", Lead, json!({"/appointment": {}}), &["/appointment required"]),
        (
            "L34",
            Lead,
            appointment(json!({"appointment_type": "visit"})),
            &["/appointment/appointment_type enum"],
        ),
        (
            "L35",
            Lead,
            appointment(json!({"appointment_at": "2026-05-03T11:00:00"})),
            &["/appointment/appointment_at format"],
        ),
        (
            "L36",
            Lead,
            appointment(json!({"duration_minutes": 10})),
            &["/appointment/duration_minutes minimum"],
        ),
        ("L37", Lead, appointment(json!({"notes": text(2001)})), &["/appointment/notes maxLength"]),
        ("L38", Lead, json!({"/message": text(4001)}), &["/message maxLength"]),
        ("L39", Lead, json!({"/idempotency_key": ""}), &["/idempotency_key minLength"]),
        ("L40", Lead, json!({"/idempotency_key": text(129)}), &["/idempotency_key maxLength"]),
        ("L41", Lead, json!({"/budget": 5}), &["/budget additionalProperties"]),
        ("L48", Lead, voi("photos", json!(["x"])), &["/vehicle_of_interest/photos/0 format"]),
        (
            "L49",
            Lead,
            voi("inventory_date", json!("2026-02-29")),
            &["/vehicle_of_interest/inventory_date format"],
        ),
        (
            "L50",
            Lead,
            json!({"/source_agent/url": "https://exa mple.com"}),
            &["/source_agent/url format"],
        ),
        ("L51", Lead, json!({"/appointment": {"appointment_type": "test_drive"}}), &[]),
        ("L52", Lead, json!({"/vehicle_of_interest": {}}), &[]),
        ("L53", Lead, json!({}), &[]),
    ]
}

/// What we emit, as `pointer keyword`, sorted. The rules of ours that no schema states add
/// nothing.
fn emitted(from: Base, changes: &Value) -> Vec<String> {
    let (skill, document) = document(from);
    let Err(refusal) = oracle::parse(Version::V1_1, skill, &changed(document, changes)) else {
        return Vec::new();
    };
    let unit = |problem: &tradepost_document::problem::Problem| {
        let pointer = match problem.pointer.as_str() {
            "" => "(root)",
            pointer => pointer,
        };
        format!("{pointer} {}", problem.keyword)
    };
    let mut units: Vec<_> = refusal.problems.listed().iter().map(unit).collect();
    units.sort();
    units
}

#[test]
fn the_82_payloads_have_the_units_of_the_table() {
    let cases = cases();
    assert_eq!(cases.len(), 82);
    for (id, from, changes, expected) in cases {
        let mut expected: Vec<_> = expected.iter().map(|unit| (*unit).to_owned()).collect();
        expected.sort();
        assert_eq!(emitted(from, &changes), expected, "{id}");
    }
}

/// The table here against the table there: same cases, and where the last column is empty, the
/// units of the two validators.
#[test]
fn the_table_is_the_one_of_the_requirements() {
    let Some(requirements) = published::text("requirements/aap.md") else {
        return;
    };
    let (_, section) = requirements.split_once("## 2.4").unwrap();
    let is_case = |cell: &str| {
        let id = cell.split(' ').next().unwrap_or_default();
        id.len() == 3 && id[1..].bytes().all(|b| b.is_ascii_digit())
    };
    let rows = published::rows(section, is_case);
    let cases = cases();
    assert_eq!(rows.len(), cases.len());
    for (id, _, _, expected) in cases {
        let row = rows.iter().find(|row| row[0].starts_with(id)).unwrap();
        let ajv = row[1].as_str();
        let ours = row.get(3).map_or("", String::as_str);
        if !ours.is_empty() {
            continue;
        }
        let mut theirs: Vec<_> = ajv
            .split("; ")
            .filter(|unit| *unit != "valid")
            .map(|unit| unit.replace('`', ""))
            .collect();
        let mut expected: Vec<_> = expected.iter().map(|unit| (*unit).to_owned()).collect();
        theirs.sort();
        expected.sort();
        assert_eq!(theirs, expected, "{id}");
    }
}
