use tradepost_aap::inventory::{ListedVehicle, Sort, SortField, SortOrder};
use tradepost_aap::vehicle::VehicleCondition;
use tradepost_aap::vehicle::{AnyCondition, ListingStatus};
use tradepost_document::json::{Value, json};

use super::*;

const POLICY: SearchPolicy = SearchPolicy { default_limit: 20, max_limit: 100 };

/// A listing with an id, a make, a model and nothing else, confirmed `age` seconds before the
/// others.
fn car(id: &str, make: &str, model: &str, age: i64) -> Vehicle {
    Vehicle {
        vehicle_id: Some(id.into()),
        status: Some(ListingStatus::Available),
        make: Some(make.into()),
        model: Some(model.into()),
        updated_at: Some(Timestamp::from_second(1_700_000_000 - age).unwrap()),
        ..Vehicle::default()
    }
}

fn priced(id: &str, price: Option<u32>, list_price: Option<u32>) -> Vehicle {
    Vehicle { price, list_price, ..car(id, "Honda", "Civic", 0) }
}

fn tombstone(id: &str, vin: Option<&str>, stock: Option<&str>) -> Tombstone {
    Tombstone {
        vehicle_id: id.into(),
        vin: vin.map(Into::into),
        stock: stock.map(Into::into),
        make_model: Some(("Honda".into(), "Civic".into())),
        last_status: "sold".into(),
        removed_at: Timestamp::from_second(1_700_000_000).unwrap(),
    }
}

fn inventory(vehicles: Vec<Vehicle>) -> Inventory {
    Inventory::build(vehicles, Vec::new()).unwrap()
}

fn by(field: SortField, order: SortOrder) -> Option<Sort> {
    Some(Sort { field, order })
}

#[track_caller]
fn ids(page: &SearchPage) -> Vec<String> {
    let id = |raw: &ListedVehicle| {
        let vehicle: Value = tradepost_document::json::from_str(raw.as_json()).unwrap();
        vehicle["vehicle_id"].as_str().unwrap().to_owned()
    };
    page.vehicles.iter().map(id).collect()
}

#[track_caller]
fn found(inventory: &Inventory, filters: Filters) -> Vec<String> {
    let search = Search { filters, ..Search::default() };
    let mut ids = ids(&inventory.search(&search, POLICY, CurrentYear::TEST).unwrap().0);
    ids.sort();
    ids
}

#[track_caller]
fn asked(inventory: &Inventory, query: &str) -> Vec<String> {
    let query = Some(query.into());
    found(inventory, Filters { query, ..Filters::default() })
}

#[track_caller]
fn sorted(inventory: &Inventory, field: SortField, order: SortOrder) -> Vec<String> {
    let search = Search { sort: by(field, order), ..Search::default() };
    ids(&inventory.search(&search, POLICY, CurrentYear::TEST).unwrap().0)
}

#[test]
fn vehicles_are_told_whether_they_match() {
    let vehicles = vec![
        priced("a", Some(10), None),
        priced("b", Some(30), None),
        priced("c", None, None),
        car("d", "Toyota", "Camry", 0),
    ];
    let inventory = inventory(vehicles);
    let fitting = |filters: Filters| {
        let ids = ["d", "unknown", "c", "b", "a"];
        let fitting = inventory.fitting(&ids, &filters, CurrentYear::TEST);
        let fitting = ids.into_iter().zip(fitting).filter(|(_, fits)| *fits);
        fitting.map(|(id, _)| id).collect::<String>()
    };
    assert_eq!(fitting(Filters::default()), "dcba");
    assert_eq!(fitting(Filters { price_min: Some(1), ..Filters::default() }), "ba");
    assert_eq!(fitting(Filters { price_max: Some(20), ..Filters::default() }), "a");
    assert_eq!(fitting(Filters { make: vec!["honda".into()], ..Filters::default() }), "cba");
    assert_eq!(fitting(Filters { make: vec!["Fiat".into()], ..Filters::default() }), "");
}

fn listed(lookup: VehicleLookup<'_>) -> Option<String> {
    match lookup {
        VehicleLookup::Listed(found) => Some(found.vehicle_id),
        VehicleLookup::Gone(_) | VehicleLookup::Unknown => None,
    }
}

fn departed<'a>(lookup: &VehicleLookup<'a>) -> Option<&'a str> {
    match lookup {
        VehicleLookup::Gone(unit) => Some(&unit.vehicle_id),
        VehicleLookup::Listed(_) | VehicleLookup::Unknown => None,
    }
}

#[test]
fn the_default_order_is_latest_first_then_id_c_37() {
    let inventory = inventory(vec![
        car("c", "Ford", "F-150", 10),
        car("b", "Ford", "F-150", 0),
        car("d", "Ford", "F-150", 5),
        car("a", "Ford", "F-150", 10),
    ]);
    let page = inventory.search(&Search::default(), POLICY, CurrentYear::TEST).unwrap().0;
    assert_eq!(ids(&page), ["b", "d", "a", "c"]);
    assert_eq!(sorted(&inventory, SortField::UpdatedAt, SortOrder::Desc), ["b", "d", "a", "c"]);
    assert_eq!(sorted(&inventory, SortField::UpdatedAt, SortOrder::Asc), ["a", "c", "d", "b"]);
}

#[test]
fn filters_and_order_never_use_list_price_r_is_05() {
    let inventory = inventory(vec![
        priced("cheap", Some(10_000), Some(99_000)),
        priced("dear", Some(30_000), Some(1_000)),
        priced("listed", None, Some(15_000)),
    ]);
    let under = |price_max| Filters { price_max: Some(price_max), ..Filters::default() };
    assert_eq!(found(&inventory, under(20_000)), ["cheap"]);
    assert_eq!(found(&inventory, under(30_000)), ["cheap", "dear"], "inclusive, R-IS-07");
    assert_eq!(sorted(&inventory, SortField::Price, SortOrder::Asc), ["cheap", "dear", "listed"]);
    assert_eq!(
        sorted(&inventory, SortField::ListPrice, SortOrder::Asc),
        ["dear", "listed", "cheap"]
    );
}

#[test]
fn missing_values_match_no_range_and_come_last_c_38() {
    let inventory = inventory(vec![
        priced("none-b", None, None),
        priced("two", Some(2), None),
        priced("none-a", None, None),
        priced("one-b", Some(1), None),
        priced("one-a", Some(1), None),
    ]);
    let from_nothing = Filters { price_min: Some(0), ..Filters::default() };
    assert_eq!(found(&inventory, from_nothing), ["one-a", "one-b", "two"]);
    assert_eq!(
        sorted(&inventory, SortField::Price, SortOrder::Asc),
        ["one-a", "one-b", "two", "none-a", "none-b"]
    );
    assert_eq!(
        sorted(&inventory, SortField::Price, SortOrder::Desc),
        ["two", "one-a", "one-b", "none-a", "none-b"]
    );
}

#[test]
fn page_size_is_clamped_and_echoed_c_08_e_052() {
    let cars = (0..150).map(|n| car(&format!("{n:03}"), "Kia", "Soul", 0));
    let inventory = inventory(cars.collect());
    let page = |limit, skip| {
        let search = Search { limit, skip, ..Search::default() };
        let page = inventory.search(&search, POLICY, CurrentYear::TEST).unwrap().0;
        (page.total, page.skip, page.limit, page.vehicles.len())
    };
    assert_eq!(page(None, 0), (150, 0, 20, 20));
    assert_eq!(page(Some(500), 0), (150, 0, 100, 100));
    assert_eq!(page(Some(100), 100), (150, 100, 100, 50));
    assert_eq!(page(Some(5), 150), (150, 150, 5, 0), "past the end, E-057");
    assert_eq!(page(Some(5), u32::MAX), (150, u32::MAX, 5, 0));
}

#[test]
fn impossible_bounds_and_makes_find_nothing_c_40_e_057() {
    let inventory = inventory(vec![priced("a", Some(10), None)]);
    let contradictory = Filters { price_min: Some(20), price_max: Some(5), ..Filters::default() };
    assert!(found(&inventory, contradictory).is_empty());
    let unknown = Filters { make: vec!["Tatra".into()], ..Filters::default() };
    assert!(found(&inventory, unknown.clone()).is_empty());
    assert_eq!(*inventory.facets(&unknown, CurrentYear::TEST).0, Facets::default(), "R-FA-04");
}

#[test]
fn lists_are_or_within_and_and_across_r_is_07() {
    let inventory = inventory(vec![
        Vehicle { condition: Some(AnyCondition::New), ..car("a", "Ford", "F-150", 0) },
        Vehicle { condition: Some(AnyCondition::Used), ..car("b", "Chevrolet", "Bolt EV", 0) },
        Vehicle { condition: Some(AnyCondition::Used), ..car("c", "Kia", "Soul", 0) },
    ]);
    let two_makes =
        Filters { make: vec!["Ford".into(), "CHEVY".into(), "Tatra".into()], ..Filters::default() };
    assert_eq!(found(&inventory, two_makes.clone()), ["a", "b"]);
    let used = Filters { condition: vec![VehicleCondition::Used], model: Vec::new(), ..two_makes };
    assert_eq!(found(&inventory, used), ["b"]);
}

#[test]
fn texts_match_whatever_their_case_space_and_synonym_c_39() {
    let inventory = inventory(vec![
        Vehicle {
            driveline: Some("4x4".into()),
            fuel: Some("Gas".into()),
            transmission: Some("A".into()),
            body: Some("Pickup".into()),
            exterior_color: Some("Dark Grey".into()),
            rooftop: Some("Lakeside  North".into()),
            ..car("truck", "Ford", "F150", 0)
        },
        Vehicle { driveline: Some("All-Wheel Drive".into()), ..car("other", "VW", "ID.4", 0) },
    ]);
    let one = |text: &str| vec![text.to_owned()];
    for filters in [
        Filters { model: one("f-150"), ..Filters::default() },
        Filters { driveline: one("4WD"), ..Filters::default() },
        Filters { fuel: one(" gasoline"), ..Filters::default() },
        Filters { transmission: one("Automatic"), ..Filters::default() },
        Filters { body: one("truck"), ..Filters::default() },
        Filters { exterior_color: one("dark gray"), ..Filters::default() },
        Filters { rooftops: one("lakeside north"), ..Filters::default() },
    ] {
        assert_eq!(found(&inventory, filters.clone()), ["truck"], "{filters:?}");
    }
    for filters in [
        Filters { driveline: one("AWD"), ..Filters::default() },
        Filters { make: one("Volkswagen"), ..Filters::default() },
    ] {
        assert_eq!(found(&inventory, filters.clone()), ["other"], "{filters:?}");
    }
}

#[test]
fn stock_numbers_match_whole_and_without_case() {
    let stocked =
        |id: &str, stock: &str| Vehicle { stock: Some(stock.into()), ..car(id, "Kia", "Soul", 0) };
    let inventory =
        inventory(vec![stocked("a", "N-17"), stocked("b", "N17"), stocked("c", "N-171")]);
    let stock = Some(" n-17 ".into());
    assert_eq!(found(&inventory, Filters { stock, ..Filters::default() }), ["a"]);
}

#[test]
fn every_word_of_a_query_must_occur_c_39() {
    let inventory = inventory(vec![
        Vehicle {
            year: Some(2022),
            trim: Some("XLT".into()),
            body: Some("Pickup".into()),
            exterior_color: Some("Oxford White".into()),
            stock: Some("T-1009".into()),
            vin: Some("1FTFW1E50NFA00001".into()),
            features: vec!["Heated seats".into(), "Rear camera".into()],
            description: Some("Garaged".into()),
            ..car("ford", "Ford", "F-150", 0)
        },
        Vehicle {
            year: Some(2020),
            features: vec!["Heated steering wheel".into()],
            ..car("chevy", "Chevrolet", "Bolt EV", 0)
        },
        car("honda", "Honda", "CR-V", 0),
    ]);
    for query in [
        "f150",
        "F-150",
        "f 150",
        "ford 2022",
        "white truck",
        "xlt heated",
        "t1009",
        "T-1009",
        "1ftfw1e50nfa00001",
        "1FTFW",
        "heat seat",
    ] {
        assert_eq!(asked(&inventory, query), ["ford"], "{query}");
    }
    for query in ["chevy", "chevrolet", "chev electric", "bolt"] {
        assert_eq!(asked(&inventory, query), ["chevy"], "{query}");
    }
    for query in ["crv", "cr-v", "CR V", "honda crv"] {
        assert_eq!(asked(&inventory, query), ["honda"], "{query}");
    }
    for query in ["ford bolt", "50", "garaged", "rwd", "tatra"] {
        assert!(asked(&inventory, query).is_empty(), "{query}");
    }
    assert_eq!(asked(&inventory, "heated"), ["chevy", "ford"]);
    assert!(asked(&inventory, " - ").is_empty(), "without a word nothing is meant");
    assert_eq!(asked(&inventory, "").len(), 3, "an empty query is none");
    assert_eq!(asked(&inventory, "any car").len(), 3, "words that constrain nothing");
}

#[test]
fn filters_find_classes_and_colour_families_c_39() {
    let inventory = inventory(vec![
        Vehicle {
            body: Some("Crew Cab Pickup".into()),
            fuel: Some("Gas/Electric Hybrid".into()),
            driveline: Some("Four-Wheel Drive".into()),
            transmission: Some("10-Speed Automatic".into()),
            exterior_color: Some("Alpine White".into()),
            interior_color: Some("Black Leather".into()),
            ..car("truck", "Ford", "F-150", 0)
        },
        Vehicle {
            body: Some("Cargo Van".into()),
            fuel: Some("Regular Unleaded".into()),
            exterior_color: Some("Agate Grey Metallic".into()),
            interior_color: Some("White".into()),
            ..car("van", "Ford", "Transit", 0)
        },
        Vehicle {
            body: Some("Estate".into()),
            fuel: Some("Plug-In Hybrid".into()),
            exterior_color: Some("Blueprint".into()),
            ..car("wagon", "Volvo", "V60", 0)
        },
    ]);
    let one = |text: &str| vec![text.to_owned()];
    for (filters, expected) in [
        (Filters { body: one("truck"), ..Filters::default() }, "truck"),
        (Filters { body: one("pickup"), ..Filters::default() }, "truck"),
        (Filters { body: one("van"), ..Filters::default() }, "van"),
        (Filters { body: one("station wagon"), ..Filters::default() }, "wagon"),
        (Filters { fuel: one("hybrid"), ..Filters::default() }, "truck"),
        (Filters { fuel: one("phev"), ..Filters::default() }, "wagon"),
        (Filters { fuel: one("gasoline"), ..Filters::default() }, "van"),
        (Filters { driveline: one("4x4"), ..Filters::default() }, "truck"),
        (Filters { transmission: one("automatic"), ..Filters::default() }, "truck"),
        (Filters { exterior_color: one("white"), ..Filters::default() }, "truck"),
        (Filters { exterior_color: one("gray"), ..Filters::default() }, "van"),
        (Filters { exterior_color: one("alpine white"), ..Filters::default() }, "truck"),
        (Filters { exterior_color: one("blue"), ..Filters::default() }, "wagon"),
        (Filters { interior_color: one("black"), ..Filters::default() }, "truck"),
    ] {
        assert_eq!(found(&inventory, filters.clone()), [expected], "{filters:?}");
    }
    for filters in [
        Filters { body: one("minivan"), ..Filters::default() },
        Filters { fuel: one("electric"), ..Filters::default() },
        Filters { driveline: one("awd"), ..Filters::default() },
        Filters { exterior_color: one("black"), ..Filters::default() },
    ] {
        assert!(found(&inventory, filters.clone()).is_empty(), "{filters:?}");
    }
}

#[test]
fn facets_count_what_matches_r_fa() {
    let coloured = |id: &str, make: &str, year, price, mileage| Vehicle {
        year: Some(year),
        price,
        list_price: Some(1),
        mileage,
        ..car(id, make, "Model", 0)
    };
    let inventory = inventory(vec![
        coloured("a", "Chevy", 2020, Some(20_000), None),
        coloured("b", "Chevrolet", 2022, Some(30_000), Some(10)),
        coloured("c", "Chevrolet", 2022, None, Some(50)),
        coloured("d", "Audi", 2021, None, None),
        coloured("e", "BMW", 2019, None, None),
    ]);
    let all = tradepost_document::json::to_value(
        inventory.facets(&Filters::default(), CurrentYear::TEST).0,
    )
    .unwrap();
    assert_eq!(
        all,
        json!({
            "makes": [
                {"value": "Chevrolet", "count": 3},
                {"value": "Audi", "count": 1},
                {"value": "BMW", "count": 1},
            ],
            "models": [{"value": "Model", "count": 5}],
            "years": [
                {"value": 2022, "count": 2},
                {"value": 2021, "count": 1},
                {"value": 2020, "count": 1},
                {"value": 2019, "count": 1},
            ],
            "statuses": [{"value": "available", "count": 5}],
            "price_range": {"min": 20_000, "max": 30_000},
            "mileage_range": {"min": 10, "max": 50},
            "year_range": {"min": 2019, "max": 2022},
        })
    );
    let audi = Filters { make: vec!["audi".into()], ..Filters::default() };
    assert_eq!(
        tradepost_document::json::to_value(inventory.facets(&audi, CurrentYear::TEST).0).unwrap(),
        json!({
            "makes": [{"value": "Audi", "count": 1}],
            "models": [{"value": "Model", "count": 1}],
            "years": [{"value": 2021, "count": 1}],
            "statuses": [{"value": "available", "count": 1}],
            "year_range": {"min": 2021, "max": 2021},
        })
    );
}

#[test]
fn the_most_specific_identifier_decides_r_iv_02() {
    let vehicle = |id: &str, vin: &str, stock: &str| Vehicle {
        vin: Some(vin.into()),
        stock: Some(stock.into()),
        rooftop: Some("North".into()),
        year: Some(2023),
        ..car(id, "Honda", "CR-V", 0)
    };
    let inventory = Inventory::build(
        vec![vehicle("1", "VIN1", "S1"), vehicle("2", "VIN2", "S2")],
        vec![tombstone("3", Some("VIN3"), Some("S3")), tombstone("4", Some("VIN1"), Some("S2"))],
    )
    .unwrap();
    let find = |vin: Option<&str>, id: Option<&str>, stock: Option<&str>| {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let query = VehicleQuery { vin: text(vin), vehicle_id: text(id), stock: text(stock) };
        inventory.find(&query, Timestamp::MIN).unwrap()
    };
    assert_eq!(listed(find(Some("VIN1"), Some("2"), Some("S2"))).as_deref(), Some("1"));
    assert_eq!(listed(find(None, Some("2"), Some("S1"))).as_deref(), Some("2"));
    assert_eq!(listed(find(None, None, Some(" s2 "))).as_deref(), Some("2"));
    // The VIN is unknown, the stock number is not (AAP 1.1 `inventory.vehicle`, E-064).
    assert_eq!(listed(find(Some("VIN9"), None, Some("S2"))).as_deref(), Some("2"));
    // The unit was sold (E-063).
    assert_eq!(departed(&find(Some("VIN3"), None, None)), Some("3"));
    assert_eq!(departed(&find(None, Some("3"), None)), Some("3"));
    assert_eq!(departed(&find(None, None, Some("s3"))), Some("3"));
    // A VIN identifies one unit, so a stock number that is in use again is ignored.
    assert_eq!(departed(&find(Some("VIN3"), None, Some("S1"))), Some("3"));
    // No identifier matches (E-062).
    assert!(matches!(find(Some("VIN9"), Some("9"), Some("S9")), VehicleLookup::Unknown));
    assert!(matches!(find(None, None, None), VehicleLookup::Unknown));
    assert!(matches!(find(None, None, Some(" ")), VehicleLookup::Unknown));

    let VehicleLookup::Listed(found) = find(Some("VIN1"), None, None) else {
        panic!("it is on offer");
    };
    let json: Value = tradepost_document::json::from_str(found.json.as_json()).unwrap();
    assert_eq!((&json["stock"], &json["rooftop"]), (&json!("S1"), &json!("North")));
}

#[test]
fn of_several_units_that_are_gone_the_latest_is_meant() {
    let mut later = tombstone("b", Some("VIN"), Some("S"));
    later.removed_at = Timestamp::from_second(1_800_000_000).unwrap();
    let units = vec![tombstone("a", Some("VIN"), Some("S")), later, tombstone("c", None, None)];
    let inventory = Inventory::build(Vec::new(), units).unwrap();
    for query in [
        VehicleQuery { vin: Some("VIN".into()), ..VehicleQuery::default() },
        VehicleQuery { stock: Some("s".into()), ..VehicleQuery::default() },
    ] {
        assert_eq!(departed(&inventory.find(&query, Timestamp::MIN).unwrap()), Some("b"));
    }
}

#[test]
fn similar_units_share_model_first_then_make_e_099() {
    let inventory = inventory(vec![
        car("accord", "Honda", "Accord", 0),
        car("civic-old", "HONDA", "civic", 9),
        car("civic-new", "Honda", "Civic", 1),
        car("focus", "Ford", "Civic", 0),
    ]);
    let unit = tombstone("x", None, None);
    assert_eq!(inventory.similar(&unit, 3), ["civic-new", "civic-old", "accord"]);
    assert_eq!(inventory.similar(&unit, 1), ["civic-new"]);
    let unknown = Tombstone { make_model: None, ..unit };
    assert!(inventory.similar(&unknown, 3).is_empty());
}

#[test]
fn an_empty_inventory_answers_everything() {
    for inventory in [Inventory::default(), inventory(Vec::new())] {
        assert!(inventory.is_empty());
        for filters in [
            Filters::default(),
            Filters { query: Some("a".into()), ..Filters::default() },
            Filters { price_max: Some(1), ..Filters::default() },
        ] {
            let search = Search {
                filters,
                sort: by(SortField::Price, SortOrder::Desc),
                ..Search::default()
            };
            let page = inventory.search(&search, POLICY, CurrentYear::TEST).unwrap().0;
            assert_eq!((page.total, page.vehicles.len()), (0, 0));
            assert_eq!(*inventory.facets(&search.filters, CurrentYear::TEST).0, Facets::default());
        }
        assert!(inventory.similar(&tombstone("x", None, None), 3).is_empty());
    }
}

#[test]
fn an_order_is_found_by_walking_and_by_sorting_alike() {
    // The expensive half has the rarer make, so walking from the cheap end gives up.
    let cars = (0..2_000u32).map(|n| {
        let make = if n >= 1_800 { "Porsche" } else { "Kia" };
        let car = car(&format!("{n:04}"), make, "Model", i64::from(n * 7 % 13));
        Vehicle { price: Some(n), mileage: Some(n % 7), ..car }
    });
    let inventory = inventory(cars.collect());
    for (make, first) in [("porsche", 1_800), ("kia", 0)] {
        let search = Search {
            filters: Filters { make: vec![make.into()], ..Filters::default() },
            sort: by(SortField::Price, SortOrder::Asc),
            ..Search::default()
        };
        let expected: Vec<String> = (first..first + 20).map(|n| format!("{n:04}")).collect();
        assert_eq!(ids(&inventory.search(&search, POLICY, CurrentYear::TEST).unwrap().0), expected);
    }
}
