//! Small feeds in the structures of public exporters, each read without naming its format. All
//! contain the same car; members that a format lacks are missing in its listing.

use std::fmt::Write as _;
use std::io::Cursor;

use expect_test::{Expect, expect};

use crate::import::{FeedReport, Mapping, Preset, SortedFeed, read_as};

use super::{now, target};

fn read(feed: &[u8], mapping: Option<&Mapping>) -> SortedFeed {
    read_as(Cursor::new(feed), &[target()], mapping, now()).unwrap()
}

/// Reads a feed, and returns its listings, one on a line, and its report.
fn listings_and_report(feed: &[u8], mapping: Option<&Mapping>) -> String {
    let sorted = read(feed, mapping);
    let mut out = String::new();
    for unit in &sorted.feeds[0].listings {
        let listing = tradepost_document::json::to_string(&unit.vehicle).unwrap();
        let _ = writeln!(out, "{}", listing.replace(",\"", ", \""));
    }
    out + &report_text(&sorted.feeds[0].report)
}

fn report_text(report: &FeedReport) -> String {
    let mut out = String::new();
    let preset = report.preset.map(|preset| preset.name.to_string());
    let _ = writeln!(out, "{} {} {}", preset.unwrap_or_default(), report.format, report.encoding);
    for skip in &report.skips {
        let _ = writeln!(out, "skipped {}: {}", skip.line, skip.message);
    }
    for warning in &report.warnings {
        let example = warning.examples.first().map(|example| example.message.as_str());
        let _ = writeln!(out, "{}: {}", warning.kind, example.unwrap_or_default());
    }
    for column in &report.ignored_columns {
        let _ = writeln!(out, "ignored {column}");
    }
    for doubt in report.currency_doubt.iter().chain(&report.doubts) {
        let _ = writeln!(out, "doubt: {doubt}");
    }
    out
}

fn check(feed: &[u8], expected: &Expect) {
    expected.assert_eq(&listings_and_report(feed, None));
}

#[test]
fn cargurus_photos_stand_in_the_order_of_their_numbers() {
    check(
        include_bytes!("shapes/cargurus.xml"),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"veh_1hgcv1f33na000003", "vin":"1HGCV1F33NA000003", "stock":"L-1", "rooftop":"Acme North", "year":2022, "make":"Honda", "model":"Accord", "trim":"Sport", "body":"sedan", "condition":"used", "status":"available", "msrp":31005, "list_price":23995, "price":24495, "mileage":28450, "transmission":"cvt", "driveline":"fwd", "fuel":"gas", "city_mpg":29, "highway_mpg":37, "exterior_color":"Still Night Pearl", "interior_color":"Black", "features":["Moonroof", "Heated Seats"], "photos":["https://cdn.example/l1/front.jpg", "https://cdn.example/l1/side.jpg", "https://cdn.example/l1/seats.jpg"], "vdp_url":"https://acme.example/l-1", "description":"One owner & clean", "updated_at":"2026-11-20T17:00:00Z", "doors":4}
        cargurus xml UTF-8
    "#]],
    );
}

#[test]
fn google_nests_its_store_codes_and_unknown_stores_get_nothing() {
    check(
        include_bytes!("shapes/google_nested.xml"),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"L-1", "vin":"1HGCV1F33NA000003", "stock":"L-1", "rooftop":"Acme South", "year":2022, "make":"Honda", "model":"Accord", "trim":"Sport", "body":"sedan", "condition":"used", "status":"available", "list_price":23995, "price":24695, "mileage":28450, "driveline":"fwd", "fuel":"gas", "exterior_color":"Still Night Pearl", "features":["Moonroof", "Heated Seats"], "photos":["https://cdn.example/l1/front.jpg", "https://cdn.example/l1/side.jpg"], "vdp_url":"https://acme.example/l-1", "updated_at":"2026-11-20T17:00:00Z"}
        google-ads xml UTF-8
        skipped 2: "ELSEWHERE" is not a dealer or rooftop of ours; a rooftop's feed_names say what feeds call it
    "#]],
    );
}

#[test]
fn google_members_may_begin_with_vehicle() {
    check(
        include_bytes!("shapes/google_vehicle.xml"),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"L-1", "vin":"1HGCV1F33NA000003", "stock":"L-1", "rooftop":"Acme North", "year":2022, "make":"Honda", "model":"Accord", "trim":"Sport", "body":"sedan", "condition":"used", "status":"available", "list_price":23995, "price":24495, "mileage":28450, "transmission":"cvt", "exterior_color":"Still Night Pearl", "photos":["https://cdn.example/l1/front.jpg"], "vdp_url":"https://acme.example/l-1", "updated_at":"2026-11-20T17:00:00Z", "seats":5}
        google-ads xml UTF-8
    "#]],
    );
}

#[test]
fn marketcheck_nests_its_members() {
    check(
        include_bytes!("shapes/marketcheck.json"),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"veh_1hgcv1f33na000003", "vin":"1HGCV1F33NA000003", "stock":"L-1", "rooftop":"Acme South", "year":2022, "make":"Honda", "model":"Accord", "trim":"Sport", "body":"sedan", "condition":"cpo", "status":"available", "msrp":31005, "list_price":23995, "price":24695, "mileage":28450, "transmission":"cvt", "driveline":"fwd", "engine":"1.5L I4", "fuel":"gas", "city_mpg":29, "highway_mpg":37, "exterior_color":"Still Night Pearl", "features":["Moonroof", "Seats, heated"], "photos":["https://cdn.example/l1/a,1.jpg", "https://cdn.example/l1/b.jpg"], "vdp_url":"https://acme.example/l-1", "updated_at":"2026-11-20T17:00:00Z", "seats":5, "doors":4}
        marketcheck json UTF-8
    "#]],
    );
}

#[test]
fn schema_org_lists_cars_whose_kilometres_are_converted() {
    check(
        include_bytes!("shapes/schema_org.json"),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"veh_1hgcv1f33na000003", "vin":"1HGCV1F33NA000003", "stock":"L-1", "rooftop":"Acme South", "year":2022, "make":"Honda", "model":"Accord", "trim":"Sport", "body":"sedan", "condition":"used", "status":"available", "list_price":23995, "price":24695, "mileage":28450, "transmission":"cvt", "driveline":"fwd", "fuel":"gas", "exterior_color":"Still Night Pearl", "photos":["https://cdn.example/l1/front.jpg"], "vdp_url":"https://acme.example/l-1", "updated_at":"2026-11-20T17:00:00Z", "seats":5, "doors":4}
        schema-org json UTF-8
        kilometres: "45786" is converted
    "#]],
    );
}

#[test]
fn schema_org_graphs_have_other_things_beside_cars() {
    let feed = r#"{"@context": "https://schema.org", "@graph": [
        {"@type": "AutoDealer", "name": "Acme"},
        {"@type": ["Product", "Car"], "vehicleIdentificationNumber": "1HGCV1F33NA000003", "sku": "L-1",
         "manufacturer": "Honda", "model": {"@type": "ProductModel", "name": "Accord"},
         "offers": {"@type": "Offer", "price": 23995, "priceCurrency": "USD",
                    "availability": "http://schema.org/SoldOut"}}]}"#;
    check(
        feed.as_bytes(),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"veh_1hgcv1f33na000003", "vin":"1HGCV1F33NA000003", "stock":"L-1", "rooftop":"Acme North", "year":2022, "make":"Honda", "model":"Accord", "status":"pending", "list_price":23995, "price":24495, "updated_at":"2026-11-20T17:00:00Z"}
        schema-org json UTF-8
        year_from_vin: 2022, by the tenth character of the VIN
        no_rooftop: the row names none of the dealer's rooftops
    "#]],
    );
}

#[test]
fn foreign_prices_are_left_out_and_the_report_shows_one() {
    check(
        include_bytes!("shapes/meta_cad.xml"),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"ACME-1", "vin":"1HGCV1F33NA000003", "rooftop":"Acme North", "year":2022, "make":"Honda", "model":"Accord", "body":"sedan", "condition":"cpo", "status":"available", "mileage":28450, "exterior_color":"Still Night Pearl", "photos":["https://cdn.example/l1/front.jpg"], "vdp_url":"https://acme.example/l-1", "updated_at":"2026-11-20T17:00:00Z"}
        meta xml UTF-8
        other_currency: "23995 CAD" is in CAD
        kilometres: "45786" is converted
        no_rooftop: the row names none of the dealer's rooftops
        doubt: 1 of 1 units have a price in CAD, such as "23995 CAD", and AAP's prices are US dollars
    "#]],
    );
}

#[test]
fn german_numbers_dates_and_words_are_read() {
    check(
        include_bytes!("shapes/mobile_de.csv"),
        &expect![[r#"
        {"dealer_id":"acme", "vehicle_id":"veh_wvwab5c84la200004", "vin":"WVWAB5C84LA200004", "stock":"L-1", "rooftop":"Acme North", "year":2018, "make":"Volkswagen", "model":"Golf", "trim":"GTI", "body":"hatchback", "condition":"used", "status":"available", "mileage":28450, "transmission":"manual", "fuel":"gas", "exterior_color":"White", "features":["Sitzheizung", "Navigationssystem"], "photos":["https://cdn.example/l1/front.jpg", "https://cdn.example/l1/side.jpg"], "updated_at":"2026-11-20T17:00:00Z", "doors":5}
        mobile-de table windows-1252
        other_currency: "23.995,50" is in EUR
        kilometres: "45.786" is converted
        no_rooftop: the row names none of the dealer's rooftops
        doubt: 1 of 1 units have a price in EUR, such as "23.995,50", and AAP's prices are US dollars
    "#]],
    );
}

#[test]
fn a_mapping_takes_units_of_another_currency_without_prices() {
    let mapping = Mapping::parse("preset = \"meta\"\nwithout_prices = true").unwrap();
    let report = &read(include_bytes!("shapes/meta_cad.xml"), Some(&mapping)).feeds[0].report;
    assert_eq!((report.accepted, &report.currency_doubt), (1, &None));
    assert!(report.doubts.is_empty(), "{:?}", report.doubts);
}

#[test]
fn every_shape_is_read_alike_by_naming_its_preset() {
    for (preset, feed) in [
        (Preset::CarGurus, &include_bytes!("shapes/cargurus.xml")[..]),
        (Preset::GoogleAds, include_bytes!("shapes/google_nested.xml")),
        (Preset::GoogleAds, include_bytes!("shapes/google_vehicle.xml")),
        (Preset::MarketCheck, include_bytes!("shapes/marketcheck.json")),
        (Preset::SchemaOrg, include_bytes!("shapes/schema_org.json")),
        (Preset::Meta, include_bytes!("shapes/meta_cad.xml")),
        (Preset::MobileDe, include_bytes!("shapes/mobile_de.csv")),
    ] {
        assert_eq!(
            listings_and_report(feed, Some(&Mapping::from_preset(preset))),
            listings_and_report(feed, None),
            "{preset}"
        );
        // The mapping written from the report reads the feed in the same way.
        let saved = read(feed, None).mapping.to_toml();
        let saved = Mapping::parse(&saved).unwrap_or_else(|wrong| panic!("{wrong:?}\n{saved}"));
        assert_eq!(
            listings_and_report(feed, Some(&saved)),
            listings_and_report(feed, None),
            "{preset}"
        );
    }
}
