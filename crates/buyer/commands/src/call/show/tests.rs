use expect_test::{Expect, expect};
use tradepost_document::json::json;

use super::*;

fn check(skill: Skill, payload: &Value, expected: &Expect) {
    let raw = tradepost_document::json::to_raw_value(payload).unwrap();
    let shown = answer(
        &SkillAnswer {
            skill,
            payload: payload.clone(),
            raw,
            query_reading: None,
            context_id: None,
            departure: None,
        },
        TableWidth::Unbounded,
    );
    expected.assert_eq(&shown);
}

#[test]
fn a_page_of_vehicles_is_a_table_with_its_position() {
    let vehicles = json!([
        {"stock": "DT-2451", "year": 2023, "make": "Honda", "model": "CR-V", "trim": "EX",
         "condition": "used", "price": 29495.0, "mileage": 28450, "status": "available",
         "rooftop": "Demo Toyota San Francisco"},
        {"vehicle_id": "v2", "make": "Kia\u{1b}[31m", "price": "call\r\nus", "status": "pending",
         "mileage": 7, "rooftop": null},
        {"stock": "gone", "status": "sold"},
    ]);
    let payload = json!({"data": {"total": 117, "skip": 20, "limit": 3, "vehicles": vehicles},
        "message": "Three of\u{202e} many."});
    check(
        Skill::InventorySearch,
        &payload,
        &expect![[r#"
        ID       VEHICLE             CONDITION    PRICE   MILES  STATUS     ROOFTOP
        DT-2451  2023 Honda CR-V EX  used       $29,495  28,450  available  Demo Toyota San Francisco
        v2       Kia[31m                        call us       7  pending

        21 to 23 of 117 vehicles; the next page begins at --skip 23
        1 left out: their status does not say that they are on offer

        Three of many."#]],
    );
    let empty = json!({"data": {"total": 0, "vehicles": []}});
    check(Skill::InventorySearch, &empty, &expect!["no vehicle matches"]);
    let beyond = json!({"data": {"total": 3, "skip": 20, "vehicles": []}});
    check(Skill::InventorySearch, &beyond, &expect!["3 vehicles match, none of them on this page"]);
    check(
        Skill::InventorySearch,
        &json!({"data": {"vehicles": 5}}),
        &expect!["0 vehicles; the seller does not say how many match"],
    );
}

#[test]
fn facets_are_compact() {
    let payload = json!({"data": {
        "makes": [{"value": "Honda", "count": 12}, {"value": "Kia", "count": 3}],
        "years": [{"value": 2024, "count": 1}], "price_range": {"min": 9995, "max": 84200},
        "mileage_range": {"min": 5, "max": 120000}, "year_range": {"min": 2019, "max": 2024},
        "odd": "text"}});
    check(
        Skill::InventoryFacets,
        &payload,
        &expect![[r#"
        makes          Honda (12), Kia (3)
        years          2024 (1)
        price range    $9,995 to $84,200
        mileage range  5 to 120,000
        year range     2019 to 2024
        odd            text"#]],
    );
    check(Skill::InventoryFacets, &json!({"data": {}}), &expect!["no vehicle matches"]);
}

#[test]
fn a_long_facet_is_cut_and_counted() {
    let terms: Vec<_> =
        (0..100).map(|n| json!({"value": format!("Model number {n}"), "count": n})).collect();
    let payload = json!({"data": {"models": terms}});
    check(
        Skill::InventoryFacets,
        &payload,
        &expect![
            "models  Model number 0 (0), Model number 1 (1), Model number 2 (2), Model number 3 (3), Model number 4 (4), Model number 5 (5), Model number 6 (6), Model number 7 (7), Model number 8 (8), Model number 9 (9), Model number 10 (10), Model number 11 (11), Model number 12 (12), Model number 13 (13), Model number 14 (14), Model number 15 (15), Model number 16 (16), Model number 17 (17), Model number 18 (18), Model number 19 (19), Model number 20 (20), Model number 21 (21), Model number 22 (22), Model number 23 (23), Model number 24 (24), Model number 25 (25), Model number 26 (26), Model number 27 (27), Model number 28 (28), Model number 29 (29), and 70 more"
        ],
    );
}

#[test]
fn a_vehicle_is_shown_with_everything_known() {
    let payload = json!({"data": {
        "vin": "2HKRW2H89PH123456", "year": 2023, "make": "Honda", "model": "CR-V",
        "price": 29495, "mileage": 28450, "status": "available", "features": ["AWD", "CarPlay"],
        "electric_range_mi": 12.5, "certified": true, "rooftop": null, "x_more": {"a": [1]}}});
    check(
        Skill::InventoryVehicle,
        &payload,
        &expect![[r#"
            2023 Honda CR-V

            vin                2HKRW2H89PH123456
            year               2023
            make               Honda
            model              CR-V
            price              $29,495
            mileage            28,450
            status             available
            features           AWD, CarPlay
            electric range mi  12.5
            certified          yes
            x more             {"a":[1]}"#]],
    );
    check(
        Skill::InventoryVehicle,
        &json!({"data": {"status": "sold"}}),
        &expect![[r#"
        unnamed vehicle

        status  sold

        the status does not say that it is on offer: do not offer it to a user"#]],
    );
}

#[test]
fn a_dealer_is_shown_with_its_hours() {
    let day = json!({"open": "09:00", "close": "20:00"});
    let payload = json!({"data": {"name": "Demo Group", "welcome_message": "Welcome.", "rooftops": [
        {"name": "Demo Toyota", "website": "https://demo.example", "timezone": "America/Los_Angeles",
         "phones": [{"name": "Sales", "value": "+14155550100"}, {"value": "+14155550101"}],
         "emails": [{"value": "sales@demo.example"}],
         "address": {"country": "US", "state": "CA", "city": "San Francisco",
                     "address_line_1": "1450 Howard Street", "zip": "94103"},
         "schedules": [{"name": "sales", "value": {"monday": day, "tuesday": day, "wednesday": day,
             "thursday": day, "friday": day, "saturday": {"open": "10:00", "close": "16:00"},
             "sunday": null}}],
         "capabilities": ["sales", "service"]},
        5]}});
    check(
        Skill::DealerInformation,
        &payload,
        &expect![[r#"
            Demo Group

            Welcome.

            rooftop    Demo Toyota
            address    1450 Howard Street, San Francisco, CA 94103, US
            phone      +14155550100 (Sales)
            phone      +14155550101
            e-mail     sales@demo.example
            website    https://demo.example
            hours      sales: Mon-Fri 09:00-20:00, Sat 10:00-16:00, Sun closed
            time zone  America/Los_Angeles
            services   sales, service"#]],
    );
}

#[test]
fn a_receipt_shows_the_state_of_lead_and_appointment() {
    let payload = json!({"data": {"lead_id": "lead_1", "status": "received",
        "appointment": {"appointment_id": "a1", "status": "proposed",
            "proposed_times": ["2026-05-03T20:00:00Z", "2026-05-03T21:30:00Z"]},
        "dealer": {"name": "Demo Toyota", "phone": "+14155550100"}},
        "message": "Thanks."});
    check(
        Skill::LeadSubmit,
        &payload,
        &expect![[r#"
        lead id         lead_1
        status          received
        appointment     proposed
        appointment id  a1
        choose from     2026-05-03T20:00:00Z, 2026-05-03T21:30:00Z
        dealer          Demo Toyota +14155550100

        Thanks."#]],
    );
    let duplicate = json!({"data": {"lead_id": "lead_1", "status": "duplicate"}});
    check(
        Skill::LeadSubmit,
        &duplicate,
        &expect![[r#"
        lead id  lead_1
        status   duplicate"#]],
    );
}

#[test]
fn whole_numbers_are_grouped_and_everything_else_is_unchanged() {
    for (json, expected) in [
        ("0", "0"),
        ("999", "999"),
        ("1000", "1,000"),
        ("1234567.0", "1,234,567"),
        ("-1234", "-1,234"),
        ("12.5", "12.5"),
        ("1e400", "1e400"),
        ("\"x\"", "x"),
        ("null", ""),
    ] {
        let value: Value = tradepost_document::json::from_str(json).unwrap();
        assert_eq!(grouped(Some(&value)), expected, "{json}");
    }
}
