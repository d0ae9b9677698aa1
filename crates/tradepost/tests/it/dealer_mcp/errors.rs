//! Every error of AAP is the same object over MCP and over A2A.

use std::collections::BTreeSet;

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_aap::{AapCode, Skill};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{Config, RateLimitConfig};

use super::{call, text};
use crate::support::dealer::{LISTED_VIN, SOLD_VIN, UNKNOWN_VIN};
use crate::support::{TestServer, envelope, lead, start, start_with, with};

/// The error object of the same request over A2A and over MCP, without what differs from call to call.
fn both(server: &TestServer, skill: Skill, payload: &Value) -> (Value, Value) {
    let over_a2a = server.error(payload);
    let over_mcp = over_mcp(server, skill, payload);
    let mut errors = [over_a2a, over_mcp];
    for error in &mut errors {
        error["error_id"] = Value::Null;
        if error["details"].get("lead_id").is_some() {
            error["details"]["lead_id"] = Value::Null;
        }
        for name in ["retry_after_ms", "retry_after_seconds"] {
            if error["details"].get(name).is_some() {
                error["details"][name] = Value::Null;
            }
        }
    }
    errors.into()
}

/// The error object of a tool call; a lead that is valid is confirmed first.
fn over_mcp(server: &TestServer, skill: Skill, payload: &Value) -> Value {
    let tool = skill.tool_name();
    let first = call(server, &tool, payload);
    let document = &first["structuredContent"];
    if first["isError"] == true {
        return document.clone();
    }
    let token = document["confirmation"].clone();
    let changes = [("/confirmation", token), ("/consent_shown_to_user", json!(true))];
    let second = call(server, &tool, &with(payload.clone(), &changes));
    assert_eq!(second["isError"], true, "{second}");
    second["structuredContent"].clone()
}

/// A request that is refused with a code, and what the dealer is like.
struct Refused {
    skill: Skill,
    payload: Value,
    change: fn(&mut Config),
    prepare: fn(&TestServer),
}

fn refused(code: AapCode) -> Refused {
    let usual =
        |skill: Skill, payload: Value| Refused { skill, payload, change: |_| {}, prepare: |_| {} };
    let search = json!({"type": "inventory.search.request"});
    let vehicle = |vin: &str| json!({"type": "inventory.vehicle.request", "vin": vin});
    let drive = |at: &str| json!({"appointment_type": "test_drive", "appointment_at": at});
    match code {
        AapCode::UnsupportedSkill => Refused {
            change: |config| config.dealers[0].terms.skills = vec![Skill::DealerInformation],
            ..usual(Skill::InventorySearch, search)
        },
        AapCode::SchemaValidationFailed => usual(
            Skill::InventorySearch,
            with(search, &[("/filters", json!({"maek": ["Honda"], "price_max": []}))]),
        ),
        AapCode::MissingRequiredField => {
            usual(Skill::LeadSubmit, with(lead(), &[("/customer/email", Value::Null)]))
        }
        AapCode::InvalidCondition => usual(
            Skill::LeadSubmit,
            with(lead(), &[("/vehicle_of_interest", json!({"condition": "good"}))]),
        ),
        AapCode::VehicleNotFound => usual(Skill::InventoryVehicle, vehicle(UNKNOWN_VIN)),
        AapCode::VehicleUnavailable => usual(Skill::InventoryVehicle, vehicle(SOLD_VIN)),
        AapCode::ContactConsentRequired => {
            usual(Skill::LeadSubmit, with(lead(), &[("/consent", Value::Null)]))
        }
        AapCode::InvalidConsent => usual(
            Skill::LeadSubmit,
            with(lead(), &[("/consent/expires_at", json!("2026-04-30T11:30:00Z"))]),
        ),
        AapCode::AppointmentTimeUnavailable => Refused {
            change: |config| {
                config.dealers[0].terms.leads.strict_appointments = true;
                for rooftop in &mut config.dealers[0].terms.rooftops {
                    rooftop.appointments.capacity = 0;
                }
            },
            ..usual(
                Skill::LeadSubmit,
                with(
                    lead(),
                    &[
                        ("/appointment", drive("2026-05-01T18:00:00Z")),
                        ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
                    ],
                ),
            )
        },
        AapCode::IdempotencyConflict => Refused {
            prepare: |server| {
                server.payload(&with(lead(), &[("/idempotency_key", json!("k-1"))]));
            },
            ..usual(
                Skill::LeadSubmit,
                with(lead(), &[("/idempotency_key", json!("k-1")), ("/message", json!("New."))]),
            )
        },
        AapCode::RateLimited => Refused {
            change: |config| {
                let window = SignedDuration::from_mins(1);
                config.dealers[0].rate_limit =
                    RateLimitConfig { requests: 1, window, http_429: false };
            },
            prepare: |server| {
                server.payload(&json!({"type": "dealer.information.request"}));
            },
            ..usual(Skill::InventorySearch, search)
        },
        AapCode::InternalError => Refused {
            prepare: |server| {
                let file = server.directory.path().join("tradepost.sqlite");
                let database = rusqlite::Connection::open(file).unwrap();
                let breaks = "CREATE TRIGGER broken BEFORE INSERT ON lead_submissions
                              BEGIN SELECT RAISE(ABORT, 'boom'); END";
                database.execute_batch(breaks).unwrap();
            },
            ..usual(Skill::LeadSubmit, lead())
        },
    }
}

#[test]
fn every_code_is_the_same_object_over_both_bindings() {
    let mut seen = BTreeSet::new();
    for code in AapCode::ALL {
        let Refused { skill, payload, change, prepare } = refused(*code);
        let server = start_with(change);
        prepare(&server);
        let (over_a2a, over_mcp) = both(&server, skill, &payload);
        assert_eq!(over_a2a["code"], code.name());
        assert_eq!(over_mcp, over_a2a, "{code}");
        seen.insert(code.name());
    }
    assert_eq!(seen.len(), AapCode::ALL.len());
}

#[test]
fn the_text_of_a_refusal_lists_every_problem() {
    let server = start();
    let wrong =
        json!({"filters": {"maek": ["Honda"], "price_max": []}, "pagination": {"limit": 0}});
    let result = call(&server, "aap_inventory_search", &wrong);
    let shown = text(&result);
    let (shown, error_id) = shown.rsplit_once('\n').unwrap();
    assert!(error_id.starts_with("error_id: err_"), "{error_id}");
    expect![[r#"
        SCHEMA_VALIDATION_FAILED: the request failed validation
        - /filters/maek: unknown property "maek"; did you mean "make"?
        - /filters/price_max: must be integer
        - /pagination/limit: must be >= 1
        retry: no, the same call would fail again
        hint: correct every entry of details.errors and send again"#]]
    .assert_eq(shown);
}

#[test]
fn a_tool_cannot_call_another_skill() {
    let server = start();
    let smuggled = lead();
    let result = call(&server, "aap_inventory_search", &smuggled);
    assert_eq!(result["structuredContent"]["code"], "SCHEMA_VALIDATION_FAILED");
    let problem = &result["structuredContent"]["details"]["errors"][0];
    assert_eq!(problem["instanceLocation"], "/type");
    assert!(server.store.leads(None).unwrap().is_empty());
    // The same lead without a tool between is taken.
    assert_eq!(server.post(envelope(&smuggled).to_string()).status, 200);
}

#[test]
fn what_leaves_no_doubt_is_read_as_it_was_meant() {
    let server = start();
    let meant = json!({"filters": {"make": ["Honda"], "price_max": 30000}});
    let written = json!({"filters": {"make": "Honda", "price_max": "30,000"}});
    let result = call(&server, "aap_inventory_search", &written);
    let expected = call(&server, "aap_inventory_search", &meant);
    assert_eq!(result["structuredContent"], expected["structuredContent"]);
    let notes = "\nnote: /filters/make: a single value was read as a list of one\n\
                 note: /filters/price_max: a text was read as a number";
    assert!(text(&result).ends_with(notes), "{result}");
    // Beside another mistake everything is refused as it was sent.
    let wrong = with(written, &[("/filters/maek", json!(1))]);
    let result = call(&server, "aap_inventory_search", &wrong);
    assert_eq!(result["structuredContent"]["details"]["errors"].as_array().unwrap().len(), 3);
}
