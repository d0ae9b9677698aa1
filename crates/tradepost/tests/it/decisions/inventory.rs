//! Payloads and the inventory skills: rows E-035 to E-064.

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};

use crate::support::dealer::{LISTED_VIN, SOLD_VIN, UNKNOWN_VIN};
use crate::support::{envelope, start, start_with};

fn search(members: Value) -> Value {
    let mut payload = json!({"type": "inventory.search.request"});
    payload.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    payload
}

fn filters(filters: Value) -> Value {
    search(json!({"filters": filters}))
}

fn vehicle(members: Value) -> Value {
    let mut payload = json!({"type": "inventory.vehicle.request"});
    payload.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    payload
}

#[test]
fn a_message_has_exactly_one_data_part() {
    let server = start();
    let parts = |parts: Value| {
        let mut body = envelope(&Value::Null);
        body["params"]["message"]["parts"] = parts;
        body.to_string()
    };
    let data = json!({"data": {"type": "dealer.information.request"}});
    server.check_body("E-035", parts(json!([{"text": "Which cars do you have?"}])), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,
            "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: the message has no data part; send exactly one with an AAP payload",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
              "message":"the request failed validation: the message has no data part; send exactly one with an AAP payload","retryable":false,
              "details":{"errors":[
                  {"instanceLocation":"","keyword":"required","error":"the message has no data part; send exactly one with an AAP payload","property":"data"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    server.check_body("E-036", parts(json!([data, data])), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,
            "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: the message has several data parts; send exactly one AAP payload",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
              "message":"the request failed validation: the message has several data parts; send exactly one AAP payload","retryable":false,
              "details":{"errors":[
                  {"instanceLocation":"","keyword":"maxItems","error":"the message has several data parts; send exactly one AAP payload","limit":1}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    let text_first =
        server.post(parts(json!([{"text": "hi"}, data, {"url": "https://x.example"}])));
    assert!(text_first.json().get("result").is_some(), "C-27");
}

#[test]
fn a_payload_says_what_it_is() {
    let server = start();
    let check =
        |row: &str, payload: Value, expected: Expect| server.check(row, &payload, &expected);
    check(
        "E-037",
        json!([1, 2]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: must be object",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED","message":"the request failed validation: must be object",
                  "retryable":false,"details":{"errors":[{"instanceLocation":"","keyword":"type","error":"must be object","expected":"object"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-037",
        json!("inventory.search.request"),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: must be object",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED","message":"the request failed validation: must be object",
                  "retryable":false,"details":{"errors":[{"instanceLocation":"","keyword":"type","error":"must be object","expected":"object"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-037",
        json!(5),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: must be object",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED","message":"the request failed validation: must be object",
                  "retryable":false,"details":{"errors":[{"instanceLocation":"","keyword":"type","error":"must be object","expected":"object"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-037",
        Value::Null,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: must be object",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED","message":"the request failed validation: must be object",
                  "retryable":false,"details":{"errors":[{"instanceLocation":"","keyword":"type","error":"must be object","expected":"object"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-038",
        json!({}),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: missing required property \"type\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: missing required property \"type\"","retryable":false,
                  "details":{"errors":[{"instanceLocation":"","keyword":"required","error":"missing required property \"type\"","property":"type"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-039",
        json!({"type": 5}),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /type: must be string",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /type: must be string","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/type","keyword":"type","error":"must be string","expected":"string"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-039",
        json!({"type": "Inventory Search"}),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /type: must be a payload type such as inventory.search.request",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /type: must be a payload type such as inventory.search.request","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/type","keyword":"pattern","error":"must be a payload type such as inventory.search.request",
                        "pattern":"^[a-z_]+(\\.[a-z_]+){1,2}$"}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-040",
        json!({"type": "inventory.search.response"}),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /type: must be one of dealer.information.request, inventory.facets.request, inventory.search.request, inventory.vehicle.request, lead.submit.request",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /type: must be one of dealer.information.request, inventory.facets.request, inventory.search.request, inventory.vehicle.request, lead.submit.request",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/type","keyword":"enum",
                        "error":"must be one of dealer.information.request, inventory.facets.request, inventory.search.request, inventory.vehicle.request, lead.submit.request",
                        "allowed":[
                          "dealer.information.request",
                          "inventory.facets.request",
                          "inventory.search.request",
                          "inventory.vehicle.request",
                          "lead.submit.request"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-040",
        json!({"type": "aap.error"}),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /type: must be one of dealer.information.request, inventory.facets.request, inventory.search.request, inventory.vehicle.request, lead.submit.request",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /type: must be one of dealer.information.request, inventory.facets.request, inventory.search.request, inventory.vehicle.request, lead.submit.request",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/type","keyword":"enum",
                        "error":"must be one of dealer.information.request, inventory.facets.request, inventory.search.request, inventory.vehicle.request, lead.submit.request",
                        "allowed":[
                          "dealer.information.request",
                          "inventory.facets.request",
                          "inventory.search.request",
                          "inventory.vehicle.request",
                          "lead.submit.request"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-041",
        json!({"type": "vehicle.reserve.request"}),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32601,"message":"UNSUPPORTED_SKILL: this agent does not implement vehicle.reserve.request",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"UNSUPPORTED_SKILL","message":"this agent does not implement vehicle.reserve.request",
              "retryable":false,
              "details":{"requested_type":"vehicle.reserve.request",
                "supported_types":[
                  "dealer.information.request",
                  "inventory.facets.request",
                  "inventory.search.request",
                  "inventory.vehicle.request",
                  "lead.submit.request"]},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
}

#[test]
fn a_skill_switched_off_is_unsupported_and_off_the_card() {
    use tradepost_aap::Skill;
    let server = start_with(|config| {
        config.dealers[0].terms.skills = vec![Skill::InventorySearch, Skill::LeadSubmit];
    });
    server.check("E-042", &json!({"type": "dealer.information.request"}), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32601,"message":"UNSUPPORTED_SKILL: this agent does not implement dealer.information.request",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"UNSUPPORTED_SKILL","message":"this agent does not implement dealer.information.request",
              "retryable":false,"details":{"requested_type":"dealer.information.request","supported_types":["inventory.search.request","lead.submit.request"]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    let card = server.card().json();
    let skills: Vec<_> =
        card["skills"].as_array().unwrap().iter().map(|s| s["id"].clone()).collect();
    assert_eq!(skills, ["inventory.search", "lead.submit"], "R-CARD-10");
    let params = &card["capabilities"]["extensions"][0]["params"]["skills"];
    assert_eq!(params.as_object().unwrap().len(), 2, "R-CARD-10");
}

#[test]
fn unknown_and_wrong_members_are_all_reported() {
    let server = start();
    let check =
        |row: &str, payload: Value, expected: Expect| server.check(row, &payload, &expected);
    let dealer = json!({"type": "dealer.information.request", "dealer_id": "x"});
    check(
        "E-043",
        dealer,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /dealer_id: unknown property \"dealer_id\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /dealer_id: unknown property \"dealer_id\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/dealer_id","keyword":"additionalProperties","error":"unknown property \"dealer_id\"","allowed":["type"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-044",
        filters(json!({"maek": ["Honda"]})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/maek: unknown property \"maek\"; did you mean \"make\"?",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/maek: unknown property \"maek\"; did you mean \"make\"?","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/filters/maek","keyword":"additionalProperties","error":"unknown property \"maek\"; did you mean \"make\"?",
                        "allowed":[
                          "make",
                          "model",
                          "trim",
                          "condition",
                          "transmission",
                          "fuel",
                          "driveline",
                          "body",
                          "exterior_color",
                          "interior_color",
                          "rooftops",
                          "year_min",
                          "year_max",
                          "price_min",
                          "price_max",
                          "mileage_max",
                          "vin",
                          "stock",
                          "query"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-045",
        filters(json!({"make": "Honda"})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/make: must be array",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/make: must be array","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/filters/make","keyword":"type","error":"must be array","expected":"array"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-046",
        filters(json!({"year_min": "2020"})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/year_min: must be integer",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/year_min: must be integer","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/filters/year_min","keyword":"type","error":"must be integer","expected":"integer"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-046",
        filters(json!({"year_min": 2020.5})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/year_min: must be integer",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/year_min: must be integer","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/filters/year_min","keyword":"type","error":"must be integer","expected":"integer"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-047",
        filters(json!({"year_min": 1800, "price_min": -1})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/year_min: must be >= 1900; /filters/price_min: must be >= 0",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/year_min: must be >= 1900; /filters/price_min: must be >= 0","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/filters/year_min","keyword":"minimum","error":"must be >= 1900","limit":1900},
                      {"instanceLocation":"/filters/price_min","keyword":"minimum","error":"must be >= 0","limit":0}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-048",
        filters(json!({"condition": ["good"]})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/condition/0: must be one of new, used, cpo",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/condition/0: must be one of new, used, cpo","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/filters/condition/0","keyword":"enum","error":"must be one of new, used, cpo","allowed":["new","used","cpo"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-049",
        search(json!({"filters": null})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters: must be object",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters: must be object","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/filters","keyword":"type","error":"must be object","expected":"object"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-050",
        filters(json!({"query": "é".repeat(201)})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/query: must have at most 200 characters",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/query: must have at most 200 characters","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/filters/query","keyword":"maxLength","error":"must have at most 200 characters","limit":200}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-051",
        search(json!({"pagination": {"limit": 0}})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /pagination/limit: must be >= 1",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /pagination/limit: must be >= 1","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/pagination/limit","keyword":"minimum","error":"must be >= 1","limit":1}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-051",
        search(json!({"pagination": {"limit": 1001}})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /pagination/limit: must be <= 1000",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /pagination/limit: must be <= 1000","retryable":false,
                  "details":{"errors":[{"instanceLocation":"/pagination/limit","keyword":"maximum","error":"must be <= 1000","limit":1000}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-053",
        search(json!({"sort": {"field": "price"}})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: /sort: missing required property \"order\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD","message":"/sort: missing required property \"order\"",
                  "retryable":false,
                  "details":{"errors":[{"instanceLocation":"/sort","keyword":"required","error":"missing required property \"order\"","property":"order"}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-055",
        search(json!({"pagination": {"page": 2}})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /pagination/page: unknown property \"page\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /pagination/page: unknown property \"page\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/pagination/page","keyword":"additionalProperties","error":"unknown property \"page\"","allowed":["skip","limit"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-056",
        search(json!({"customer": {"email": "ada@example.com"}})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /customer: unknown property \"customer\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /customer: unknown property \"customer\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/customer","keyword":"additionalProperties","error":"unknown property \"customer\"",
                        "allowed":["type","filters","pagination","sort","privacy"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let facets = json!({"type": "inventory.facets.request", "pagination": {}});
    check(
        "E-058",
        facets,
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /pagination: unknown property \"pagination\"",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /pagination: unknown property \"pagination\"","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/pagination","keyword":"additionalProperties","error":"unknown property \"pagination\"","allowed":["type","filters"]}]},
                  "created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let many = json!({
        "filters": {"year_min": "x", "make": [1, "Honda", 2], "colour": []},
        "pagination": {"skip": -1, "limit": 0.5},
        "sort": {},
        "privacy": {"anonymous": "yes"},
        "page": 1,
    });
    check(
        "E-046",
        search(many),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /filters/year_min: must be integer; /filters/make/0: must be string; /filters/make/2: must be string; /filters/colour: unknown property \"colour\"; /pagination/skip: must be >= 0; /pagination/limit: must be integer; /pagination/limit: must be >= 1; /sort: missing required property \"field\"; /sort: missing required property \"order\"; /privacy/anonymous: must be boolean; and 1 more",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /filters/year_min: must be integer; /filters/make/0: must be string; /filters/make/2: must be string; /filters/colour: unknown property \"colour\"; /pagination/skip: must be >= 0; /pagination/limit: must be integer; /pagination/limit: must be >= 1; /sort: missing required property \"field\"; /sort: missing required property \"order\"; /privacy/anonymous: must be boolean; and 1 more",
                  "retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/filters/year_min","keyword":"type","error":"must be integer","expected":"integer"},
                      {"instanceLocation":"/filters/make/0","keyword":"type","error":"must be string","expected":"string"},
                      {"instanceLocation":"/filters/make/2","keyword":"type","error":"must be string","expected":"string"},
                      {"instanceLocation":"/filters/colour","keyword":"additionalProperties","error":"unknown property \"colour\"",
                        "allowed":[
                          "make",
                          "model",
                          "trim",
                          "condition",
                          "transmission",
                          "fuel",
                          "driveline",
                          "body",
                          "exterior_color",
                          "interior_color",
                          "rooftops",
                          "year_min",
                          "year_max",
                          "price_min",
                          "price_max",
                          "mileage_max",
                          "vin",
                          "stock",
                          "query"]},
                      {"instanceLocation":"/pagination/skip","keyword":"minimum","error":"must be >= 0","limit":0},
                      {"instanceLocation":"/pagination/limit","keyword":"type","error":"must be integer","expected":"integer"},
                      {"instanceLocation":"/pagination/limit","keyword":"minimum","error":"must be >= 1","limit":1},
                      {"instanceLocation":"/sort","keyword":"required","error":"missing required property \"field\"","property":"field"},
                      {"instanceLocation":"/sort","keyword":"required","error":"missing required property \"order\"","property":"order"},
                      {"instanceLocation":"/privacy/anonymous","keyword":"type","error":"must be boolean","expected":"boolean"},
                      {"instanceLocation":"/page","keyword":"additionalProperties","error":"unknown property \"page\"",
                        "allowed":["type","filters","pagination","sort","privacy"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
}

#[test]
fn odd_but_valid_searches_are_answered() {
    let server = start();
    let total = |payload: &Value| server.payload(payload)["data"]["total"].clone();
    assert_eq!(total(&filters(json!({"year_min": 2023.0}))), 3, "E-046");
    assert_eq!(total(&filters(json!({"query": "é".repeat(200)}))), 0, "E-050");
    let clamped = server.payload(&search(json!({"pagination": {"limit": 500}})));
    assert_eq!(clamped["data"]["limit"], 100, "E-052");
    let row = "E-052";
    assert_eq!(clamped["data"]["skip"], 0, "{row} R-IS-08");
    let check =
        |row: &str, payload: Value, expected: Expect| server.check(row, &payload, &expected);
    check(
        "E-057",
        filters(json!({"year_min": 2025, "year_max": 2020})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
              "parts":[
                {"data":{"type":"inventory.search.response","data":{"total":0,"skip":0,"limit":20,"vehicles":[]},
                    "message":"No vehicle matches: year_min is greater than year_max."},"mediaType":"application/vnd.autoagent.inventory-search-response+json"}],
              "extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
    "#]],
    );
    check(
        "E-057",
        filters(json!({"price_min": 9, "price_max": 1})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
              "parts":[
                {"data":{"type":"inventory.search.response","data":{"total":0,"skip":0,"limit":20,"vehicles":[]},
                    "message":"No vehicle matches: price_min is greater than price_max."},
                  "mediaType":"application/vnd.autoagent.inventory-search-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
    "#]],
    );
    check(
        "E-057",
        search(json!({"pagination": {"skip": 1000}})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
              "parts":[
                {"data":{"type":"inventory.search.response","data":{"total":4,"skip":1000,"limit":20,"vehicles":[]},"message":"4 vehicles match."},
                  "mediaType":"application/vnd.autoagent.inventory-search-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
    "#]],
    );
    check(
        "E-057",
        filters(json!({"make": ["Duesenberg"]})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
                  "parts":[
                    {"data":{"type":"inventory.search.response","data":{"total":0,"skip":0,"limit":20,"vehicles":[]},
                        "message":"No vehicle matches. Without make Duesenberg 4 match; there is Honda (2), Chevrolet (1), Toyota (1)."},
                      "mediaType":"application/vnd.autoagent.inventory-search-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
        "#]],
    );
}

#[test]
fn a_vehicle_is_found_or_the_reason_is_told() {
    let server = start();
    let check =
        |row: &str, payload: Value, expected: Expect| server.check(row, &payload, &expected);
    check(
        "E-059",
        vehicle(json!({})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: at least one of vin, stock, vehicle_id is required",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD","message":"at least one of vin, stock, vehicle_id is required",
              "retryable":false,
              "details":{"errors":[
                  {"instanceLocation":"","keyword":"anyOf","error":"at least one of vin, stock, vehicle_id is required","anyOf":["vin","stock","vehicle_id"]}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        "E-060",
        vehicle(json!({"vin": &LISTED_VIN[1..]})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /vin: must be 17 characters A-Z and 0-9 without I, O and Q; use upper case",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
                  "message":"the request failed validation: /vin: must be 17 characters A-Z and 0-9 without I, O and Q; use upper case","retryable":false,
                  "details":{"errors":[
                      {"instanceLocation":"/vin","keyword":"pattern","error":"must be 17 characters A-Z and 0-9 without I, O and Q; use upper case",
                        "pattern":"^[A-HJ-NPR-Z0-9]{17}$"}]},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    for vin in [LISTED_VIN.to_lowercase(), LISTED_VIN.replace('1', "I")] {
        let error = server.error(&vehicle(json!({"vin": vin})));
        assert_eq!(error["code"], "SCHEMA_VALIDATION_FAILED", "E-060");
    }
    check(
        "E-062",
        vehicle(json!({"vin": UNKNOWN_VIN})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"VEHICLE_NOT_FOUND: no listing of this dealer matches",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"VEHICLE_NOT_FOUND","message":"no listing of this dealer matches","retryable":false,
              "details":{"vin":"1M8GDM9AXKP042788","dealer_id":"demo-auto-group","suggestion":"inventory.search"},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        "E-063",
        vehicle(json!({"vin": SOLD_VIN})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"VEHICLE_UNAVAILABLE: the vehicle is no longer on offer",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"VEHICLE_UNAVAILABLE","message":"the vehicle is no longer on offer","retryable":false,
                  "details":{"vin":"5YJ3E1EA7KF000316","stock":"DT-0316","last_status":"available","unavailable_since":"2026-04-30T09:00:00Z",
                    "similar_vehicle_ids":["veh_dt_2611","veh_dt_2451"],"suggestion":"inventory.search"},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    check(
        "E-064",
        vehicle(json!({"vin": UNKNOWN_VIN, "stock": "DT-2451"})),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
                  "parts":[
                    {"data":{"type":"inventory.vehicle.response",
                        "data":{"dealer_id":"demo-auto-group","vehicle_id":"veh_dt_2451","vin":"2HKRW2H89PH123456","stock":"DT-2451",
                          "rooftop":"Demo Toyota San Francisco","year":2023,"make":"Honda","model":"CR-V","trim":"EX","body":"suv","condition":"used",
                          "status":"available","msrp":32450,"list_price":27995,"price":29495,"mileage":28450,"transmission":"automatic","driveline":"awd",
                          "fuel":"gas","updated_at":"2026-04-30T07:15:00Z"}},"mediaType":"application/vnd.autoagent.vehicle-detail-response+json"}],
                  "extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
        "#]],
    );
}

#[test]
fn v1_0_members_are_unknown_to_a_v1_1_dealer() {
    use tradepost_aap::Version;
    let server = start_with(|config| config.dealers[0].terms.versions = vec![Version::V1_1]);
    server.check("E-061", &vehicle(json!({"vin": LISTED_VIN, "zip": "94107"})), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /zip: unknown property \"zip\"",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
              "message":"the request failed validation: /zip: unknown property \"zip\"","retryable":false,
              "details":{"errors":[
                  {"instanceLocation":"/zip","keyword":"additionalProperties","error":"unknown property \"zip\"","allowed":["type","vin","stock","vehicle_id"]}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    let sort = search(json!({"sort": {"field": "offered_price", "order": "asc"}}));
    server.check("E-054", &sort, &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,
            "message":"SCHEMA_VALIDATION_FAILED: the request failed validation: /sort/field: must be one of price, list_price, msrp, mileage, year, make, model, stock, updated_at",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"SCHEMA_VALIDATION_FAILED",
              "message":"the request failed validation: /sort/field: must be one of price, list_price, msrp, mileage, year, make, model, stock, updated_at",
              "retryable":false,
              "details":{"errors":[
                  {"instanceLocation":"/sort/field","keyword":"enum",
                    "error":"must be one of price, list_price, msrp, mileage, year, make, model, stock, updated_at",
                    "allowed":["price","list_price","msrp","mileage","year","make","model","stock","updated_at"]}]},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]]);
    // A dealer that speaks both serves the same requests as v1.0 (C-34).
    let both = start();
    for payload in [vehicle(json!({"vin": LISTED_VIN, "zip": "94107"})), sort] {
        let response = both.call(&payload);
        assert!(response.header("a2a-extensions").unwrap().ends_with("/v1.0"));
        assert!(response.json().get("result").is_some());
    }
}
