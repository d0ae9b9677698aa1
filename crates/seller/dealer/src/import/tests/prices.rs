//! Prices of the same vehicle in every notation.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// Returns the out-the-door price and the advertised one, with fees of 500.
fn prices(text: &str) -> (Option<u32>, Option<u32>) {
    let feed = feed(text);
    let [listing] = &feed.listings.to_vec()[..] else { panic!("{:?}", feed.report) };
    (listing.vehicle.list_price, listing.vehicle.price)
}

#[test]
fn a_car_costs_the_same_in_xml_csv_and_json() {
    for (price, expected) in [
        ("20124", (Some(20_124), Some(20_624))),
        ("20124.50", (Some(20_125), Some(20_625))),
        ("$20,124", (Some(20_124), Some(20_624))),
        ("Call", (None, None)),
        ("20124 CAD", (None, None)),
    ] {
        for text in [
            format!("stock,rooftop,price\nA1,Acme North,\"{price}\"\n"),
            format!(
                "<cars><car><stock>A1</stock><rooftop>Acme North</rooftop><price>{price}</price></car></cars>"
            ),
            format!(r#"[{{"stock": "A1", "rooftop": "Acme North", "price": "{price}"}}]"#),
            format!(
                r#"{{"vehicles": [{{"stock": "A1", "rooftop": "Acme North", "price": "{price}"}}]}}"#
            ),
            format!(
                r#"{{"listings": [{{"stock": "A1", "rooftop": "Acme North", "price": {{"value": "{price}"}}}}]}}"#
            ),
        ] {
            assert_eq!(prices(&text), expected, "{text}");
        }
    }
}

#[test]
fn only_aaps_type_makes_price_the_out_the_door_one() {
    let vehicle = r#"{"stock": "A1", "rooftop": "Acme North", "price": 20495}"#;
    let typed = r#""type": "inventory.search.response""#;
    for (text, price) in [
        (format!(r#"{{{typed}, "data": {{"vehicles": [{vehicle}]}}}}"#), 20_495),
        (format!(r#"{{"data": {{"vehicles": [{vehicle}]}}, {typed}}}"#), 20_495),
        (format!(r#"{{{typed}, "vehicles": [{vehicle}]}}"#), 20_495),
        (format!(r#"{{"type": "inventory", "vehicles": [{vehicle}]}}"#), 20_995),
        (format!(r#"{{"vehicles": [{vehicle}]}}"#), 20_995),
        (format!("[{vehicle}]"), 20_995),
    ] {
        assert_eq!(prices(&text).1, Some(price), "{text}");
    }
    // A preset that the caller names is used without checks.
    let mapping = Mapping::from_preset(Preset::AapJson);
    let text = format!("[{vehicle}]");
    let sorted = read_as(Cursor::new(&text), &[target()], Some(&mapping), now()).unwrap();
    assert_eq!(sorted.feeds[0].listings.to_vec()[0].vehicle.price, Some(20_495));
}

#[test]
fn aap_vehicles_without_the_type_are_taken_with_a_warning() {
    let vehicle = r#"{"vehicle_id": "v1", "stock": "A1", "list_price": 20000, "price": 20500}"#;
    let plain = r#"{"stock": "A1", "price": 20500}"#;
    let typed = r#""type": "inventory.search.response""#;
    for (text, expected) in [
        (format!("[{vehicle}]"), 1),
        (format!(r#"{{"type": "inventory.search.response", "vehicles": [{vehicle}]}}"#), 0),
        (r#"[{"stock": "A1", "price": 20500}]"#.to_owned(), 0),
        (format!(r#"{{"data": {{{typed}, "vehicles": [{vehicle}]}}}}"#), 1),
        (format!(r#"{{"data": {{{typed}, "vehicles": [{plain}]}}}}"#), 1),
        (format!(r#"{{"data": {{"vehicles": [{plain}], {typed}}}}}"#), 1),
        (format!(r#"{{{typed}, "data": {{{typed}, "vehicles": [{plain}]}}}}"#), 0),
        (format!(r#"{{"data": {{"type": "inventory", "vehicles": [{plain}]}}}}"#), 0),
    ] {
        assert_eq!(feed(&text).report.warned_of(RowWarning::UntypedAap), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_price_is_the_same_in_xml_csv_and_json(price in 100u32..4_000_000, cents in 0u32..100) {
        let price = format!("{price}.{cents:02}");
        let csv = prices(&format!("stock,rooftop,price\nA1,Acme South,{price}\n"));
        let xml = prices(&format!(
            "<a><car><stock>A1</stock><rooftop>Acme South</rooftop><price>{price}</price></car></a>"
        ));
        let json = prices(&format!(
            r#"[{{"stock": "A1", "rooftop": "Acme South", "price": {price}}}]"#
        ));
        prop_assert_eq!(csv, xml);
        prop_assert_eq!(csv, json);
    }
}
