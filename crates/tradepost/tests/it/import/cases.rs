//! Feeds in the shape of public exporters that lie beside the repository, and what each car in them is.

use std::fs;
use std::io::Cursor;

use jiff::Timestamp;
use tradepost_aap::Vehicle;
use tradepost_dealer::import::{
    self, DealerFeed, FeedRooftop, FeedTarget, Mapping, Preset, PricePolicy,
};
use tradepost_document::json::{Value, json};

use crate::beside;

const FOLDER: &str = "cases/feeds";

/// A file of the cases, and what the cars are.
struct Case {
    bytes: Vec<u8>,
    cars: Vec<Value>,
}

impl Case {
    /// `None` where nothing lies beside the repository, which has been said then.
    fn read(name: &str) -> Option<Self> {
        let folder = beside::published(FOLDER)?;
        let cars = fs::read(folder.join("expected.json")).unwrap();
        let cars: Value = tradepost_document::json::from_slice(&cars).unwrap();
        let bytes = fs::read(folder.join(name)).unwrap();
        Some(Self { bytes, cars: cars.as_array().unwrap().clone() })
    }

    fn feed(&self, mapping: Option<&Mapping>, feed_names: &[&str]) -> DealerFeed {
        let now: Timestamp = "2026-11-20T17:00:00Z".parse().unwrap();
        let feed_names = feed_names.iter().map(|name| (*name).to_owned()).collect();
        let target = FeedTarget {
            dealer_id: "acme".to_owned(),
            name: "Acme Motors".to_owned(),
            rooftops: vec![FeedRooftop { name: "Sacramento".to_owned(), feed_names, fees: 0 }],
            price_truth: PricePolicy::Warn,
        };
        let read = import::read_as(Cursor::new(&self.bytes), &[target], mapping, now);
        read.unwrap().feeds.into_iter().next().unwrap()
    }

    /// Compares the listings with the cars, apart from the members in which the file differs.
    fn check(&self, feed: &DealerFeed, preset: Preset, apart_from: &[&str]) -> Vec<Vehicle> {
        assert_eq!(feed.report.preset.map(|used| used.name), Some(preset));
        assert_eq!(feed.report.preset.map(|used| used.guessed), Some(true));
        let vehicles: Vec<Vehicle> = feed.listings.iter().map(|listing| listing.vehicle).collect();
        assert_eq!(vehicles.len(), self.cars.len(), "{:?}", feed.report.skips);
        for (vehicle, car) in vehicles.iter().zip(&self.cars) {
            let listing = tradepost_document::json::to_value(vehicle).unwrap();
            for (member, expected) in car.as_object().unwrap() {
                if apart_from.contains(&member.as_str()) {
                    continue;
                }
                let found = match member.as_str() {
                    "photos" => json!(vehicle.photos.len()),
                    _ => listing[member.as_str()].clone(),
                };
                assert_eq!(found, *expected, "{member} of {listing}");
            }
        }
        vehicles
    }

    /// What a car has that was driven as many kilometres as it should have miles.
    fn in_kilometres(&self, place: usize) -> Option<u32> {
        let kilometres = self.cars[place]["mileage"].as_f64()?;
        let miles = (kilometres / 1.609_344).round();
        (0..100_000).find(|whole| f64::from(*whole) == miles)
    }
}

#[test]
fn cargurus() {
    let Some(case) = Case::read("cargurus.xml") else { return };
    let feed = case.feed(None, &[]);
    for vehicle in case.check(&feed, Preset::CarGurus, &[]) {
        assert_eq!((vehicle.city_mpg, vehicle.highway_mpg), (Some(24), Some(31)));
        assert_eq!(vehicle.others.get("doors"), Some(&json!(4)));
        assert_eq!(vehicle.features.len(), 3);
        assert_eq!(vehicle.description.as_deref(), Some("Nice car & clean"));
    }
    assert_eq!(feed.report.ignored_columns, Vec::<String>::new());
    assert_eq!(feed.report.doubts, Vec::<String>::new());
}

#[test]
fn google_with_nested_stores() {
    let Some(case) = Case::read("g_nested.xml") else { return };
    let feed = case.feed(None, &["ACME1"]);
    for vehicle in case.check(&feed, Preset::GoogleAds, &[]) {
        assert_eq!(vehicle.rooftop.as_deref(), Some("Sacramento"));
        assert_eq!(vehicle.features, ["Heated Front Seats", "Apple CarPlay"]);
    }
    assert_eq!(feed.report.ignored_columns, Vec::<String>::new());
    // No rooftop has the store: no vehicle is offered, and the report says why.
    let feed = case.feed(None, &[]);
    assert_eq!((feed.listings.len(), feed.report.skipped), (0, case.cars.len()));
    assert!(feed.report.skips[0].message.contains("\"ACME1\""), "{:?}", feed.report.skips);
}

#[test]
fn google_with_a_prefix() {
    let Some(case) = Case::read("g_vehicle.xml") else { return };
    let feed = case.feed(None, &["ACME1"]);
    let vehicles = case.check(&feed, Preset::GoogleAds, &["driveline", "photos"]);
    assert!(vehicles.iter().all(|vehicle| vehicle.transmission.is_some()));
    assert!(vehicles.iter().all(|vehicle| vehicle.photos.len() == 2));
    assert_eq!(feed.report.ignored_columns, Vec::<String>::new());
    assert_eq!(case.feed(None, &[]).listings.len(), 0);
}

#[test]
fn marketcheck() {
    let Some(case) = Case::read("marketcheck.json") else { return };
    let feed = case.feed(None, &[]);
    for vehicle in case.check(&feed, Preset::MarketCheck, &[]) {
        assert_eq!(vehicle.features.len(), 3);
    }
    let make = feed.report.fields.iter().find(|used| used.field == "make").unwrap();
    assert_eq!(make.columns[0].column, "build.make");
    assert_eq!(feed.report.ignored_columns, Vec::<String>::new());
}

#[test]
fn schema_org() {
    let Some(case) = Case::read("jsonld.json") else { return };
    let feed = case.feed(None, &[]);
    let apart_from = ["price", "mileage", "driveline"];
    for (place, vehicle) in case.check(&feed, Preset::SchemaOrg, &apart_from).iter().enumerate() {
        assert_eq!((vehicle.price, vehicle.driveline.as_deref()), (None, Some("awd")));
        assert_eq!(vehicle.mileage, case.in_kilometres(place));
    }
    let doubt = feed.report.currency_doubt.clone().unwrap();
    assert!(doubt.contains("in CAD, such as \"9000\""), "{doubt}");
    assert_eq!(feed.report.doubts, Vec::<String>::new());
}

#[test]
fn meta_in_canada() {
    let Some(case) = Case::read("meta_items.xml") else { return };
    let feed = case.feed(None, &[]);
    let apart_from = ["price", "mileage", "stock", "trim", "driveline", "photos"];
    let vehicles = case.check(&feed, Preset::Meta, &apart_from);
    assert!(vehicles.iter().all(|vehicle| vehicle.price.is_none() && vehicle.photos.len() == 2));
    // Whole kilometres are nearly the miles of the cars.
    let miles: Vec<Option<u32>> = vehicles.iter().map(|vehicle| vehicle.mileage).collect();
    assert_eq!(miles, [3_999, 6_709, 9_419, 12_130, 14_840, 17_551].map(Some));
    let doubt = feed.report.currency_doubt.clone().unwrap();
    assert!(doubt.contains("in CAD, such as \"8500 CAD\""), "{doubt}");
}

#[test]
fn a_german_table() {
    let Some(case) = Case::read("de.csv") else { return };
    let feed = case.feed(None, &[]);
    let apart_from = ["price", "mileage", "exterior_color", "body", "driveline"];
    let vehicles = case.check(&feed, Preset::MobileDe, &apart_from);
    for (place, vehicle) in vehicles.iter().enumerate() {
        assert_eq!(vehicle.mileage, case.in_kilometres(place));
        assert_eq!(vehicle.features, ["Sitzheizung", "Navigationssystem"]);
    }
    assert_eq!(vehicles[0].exterior_color.as_deref(), Some("White"));
    let doubt = feed.report.currency_doubt.clone().unwrap();
    assert!(doubt.contains("in EUR, such as \"9.000,00\""), "{doubt}");
}

#[test]
fn a_german_table_by_a_mapping_of_its_own() {
    let Some(case) = Case::read("de.csv") else { return };
    let mapping = r#"
        without_prices = true
        [format]
        decimal = "comma"
        distance = "km"
        [constants]
        currency = "EUR"
        condition = "used"
        [columns]
        interne_nummer = "stock"
        fahrgestellnummer = "vin"
        marke = "make"
        modell = "model"
        ez = { field = "year", date = "MM.YYYY" }
        kilometer = "mileage"
        preis = "price"
        bilder = "photos"
    "#;
    let mapping = Mapping::parse(mapping).unwrap();
    let feed = case.feed(Some(&mapping), &[]);
    let years: Vec<u16> = feed.listings.iter().filter_map(|listing| listing.vehicle.year).collect();
    assert_eq!(years, [2016, 2017, 2018, 2019, 2020, 2021]);
    assert_eq!((feed.report.accepted, &feed.report.currency_doubt), (6, &None));
    assert_eq!(feed.report.doubts, Vec::<String>::new());
}
