//! Property tests of the index against a naive model, which examines every vehicle with a
//! comparator and has no data structures. The model shares only the folding of texts and the
//! interpretation of queries, which have their own tests.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use tradepost_aap::inventory::{FacetRange, FacetTerm, Sort, SortField, SortOrder, TermValue};
use tradepost_aap::vehicle::{AnyCondition, ListingStatus, VehicleCondition};
use tradepost_document::catalog::Vocabulary;

use super::*;
use crate::query::fold::{TextKind, fold, tidy};
use crate::query::{Attribute, vocabulary};
use meaning::means;

mod meaning;

const MAKES: &[&str] = &[
    "Chevrolet",
    "chevy",
    "Chevrolet ",
    "VW",
    "volkswagen",
    "Ford",
    "-",
    "Mercedes-Benz",
    "Mercedes",
];
const MODELS: &[&str] = &["F-150", "F150", "f 150", "CR-V", "ID.4", "Bolt EV", "C/K 1500"];
const TRIMS: &[&str] = &["SE", "SE+", "EX-L", "exl", "2.0T", "20T", ""];
const BODIES: &[&str] =
    &["SUV", "Sport Utility", "Pickup", "truck", "Sedan", "Cargo Van", "minivan"];
const COLOURS: &[&str] = &[
    "Grey",
    "gray",
    "Dark Grey",
    "dark  gray",
    "White",
    "Alpine White",
    "Black/White",
    "\u{c9}meraude",
];
const FUELS: &[&str] = &["Gas", "gasoline", "EV", "Electric", "Hybrid", "Gas/Electric Hybrid"];
const TRANSMISSIONS: &[&str] = &["A", "auto", "Automatic", "M", "stick"];
const DRIVELINES: &[&str] = &["4x4", "4WD", "AWD", "All-Wheel Drive", "Front-wheel drive", "fwd"];
const ROOFTOPS: &[&str] = &["North", "north ", "South"];
const FEATURES: &[&str] =
    &["Heated seats", "Four wheel drive", "Car Play", "CarPlay", "Rear camera"];
const STOCKS: &[&str] = &["N-17", "n-17 ", "N17", "U 200", "u200", " ", "A1"];
const VINS: &[&str] = &["1FTFW1E50NFA00001", "1FTFW1E50NFA00002", "2HGFE2F50NH000003"];
const QUERIES: &[&str] = &[
    "f150",
    "f 150",
    "f-150",
    "chevy",
    "grey suv",
    "4x4",
    "4wd 2020",
    "dark",
    "1ftfw",
    "vin 00001",
    "heat",
    "heated seats",
    "n17",
    "u200",
    "truck ford",
    "carplay",
    "car play",
    "se",
    "se+",
    "20t",
    "emer",
    "\u{e9}mer",
    "--",
    "volks",
    "c k 1500",
    "white",
    "white interior",
    "not white",
    "ford or chevy",
    "used van",
    "certified",
    "under 3",
    "over 4 miles",
    "2019 or newer",
    "from 2019 to 2021",
    "7 seater",
    "3rd row",
    "bolt electric",
    "hoonda",
    "vokswagen",
    "rear camera",
    "hybrid auto",
    "without heated seats",
    "mercedes 2020",
    "stock n-17",
    "gas or electric",
    "chevy f150 or vw id.4",
    "suv or under 3",
    "cheapest truck",
    "4x4 or awd suv",
    "like a ford",
    "spaceship ford",
    "camionetas 4x4",
    "backup camera",
    "no chevy trucks, cheapest",
];

fn text(texts: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    weighted(0.8, select(texts).prop_map(str::to_owned))
}

fn wanted(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        5 => Just(Vec::new()),
        1 => vec(select(texts).prop_map(str::to_owned), 1..3),
    ]
}

prop_compose! {
    fn vehicle()(
        (id, updated_at, year) in (0u32..500, weighted(0.95, 0i64..4), of(2018u16..2024)),
        (price, list_price, msrp, mileage) in (of(0u32..6), of(0u32..6), of(0u32..6), of(0u32..6)),
        (make, model, trim, body) in (text(MAKES), text(MODELS), text(TRIMS), text(BODIES)),
        (exterior_color, interior_color) in (text(COLOURS), text(COLOURS)),
        (fuel, transmission, driveline) in (text(FUELS), text(TRANSMISSIONS), text(DRIVELINES)),
        (rooftop, stock, vin) in (text(ROOFTOPS), text(STOCKS), text(VINS)),
        features in vec(select(FEATURES).prop_map(str::to_owned), 0..3),
        condition in of(select(vec![AnyCondition::New, AnyCondition::Used, AnyCondition::Cpo])),
        status in select(ListingStatus::ALL),
    ) -> Vehicle {
        let updated_at = updated_at.map(|second| Timestamp::from_second(second).unwrap());
        Vehicle {
            vehicle_id: Some(format!("v{id:03}")),
            status: Some(status),
            year, make, model, trim, body, exterior_color, interior_color, fuel, transmission,
            driveline, rooftop, stock, vin, features, condition, price, list_price, msrp, mileage,
            updated_at,
            ..Vehicle::default()
        }
    }
}

/// Small inventories have ties and rare values only, larger ones have bitmaps too.
fn vehicles() -> impl Strategy<Value = Vec<Vehicle>> {
    let vehicles = prop_oneof![vec(vehicle(), 0..12), vec(vehicle(), 100..300)];
    vehicles.prop_map(|mut vehicles| {
        vehicles.sort_by(|a, b| a.vehicle_id.cmp(&b.vehicle_id));
        vehicles.dedup_by(|a, b| a.vehicle_id == b.vehicle_id);
        vehicles
    })
}

prop_compose! {
    fn filters()(
        (make, model, trim, body) in (wanted(MAKES), wanted(MODELS), wanted(TRIMS), wanted(BODIES)),
        (exterior_color, interior_color) in (wanted(COLOURS), wanted(COLOURS)),
        (fuel, transmission, driveline) in (wanted(FUELS), wanted(TRANSMISSIONS), wanted(DRIVELINES)),
        rooftops in wanted(ROOFTOPS),
        condition in prop_oneof![4 => Just(Vec::new()), 1 => vec(select(VehicleCondition::ALL), 1..3)],
        (year_min, year_max) in (weighted(0.2, 2017u32..2025), weighted(0.2, 2017u32..2025)),
        (price_min, price_max) in (weighted(0.2, 0u32..7), weighted(0.2, 0u32..7)),
        mileage_max in weighted(0.2, 0u32..7),
        (vin, stock) in (weighted(0.05, select(VINS)), weighted(0.05, select(STOCKS))),
        query in weighted(0.2, prop_oneof![3 => select(QUERIES).prop_map(str::to_owned), 1 => "[a-f0-9 -]{0,6}"]),
    ) -> Filters {
        Filters {
            make, model, trim, body, exterior_color, interior_color, fuel, transmission, driveline,
            rooftops, condition, year_min, year_max, price_min, price_max, mileage_max, query,
            vin: vin.map(str::to_owned),
            stock: stock.map(str::to_owned),
        }
    }
}

fn sort() -> impl Strategy<Value = Option<Sort>> {
    let sort = (select(SortField::ALL), select(SortOrder::ALL));
    of(sort.prop_map(|(field, order)| Sort { field, order }))
}

/// Returns the key of a text; `None` when it folds to nothing.
fn key(field: TextKind, text: &Option<String>) -> Option<String> {
    let key = fold(field, text.as_deref()?);
    (!key.is_empty()).then_some(key)
}

fn any_of(field: TextKind, text: &Option<String>, wanted: &[String]) -> bool {
    let key = key(field, text);
    wanted.is_empty() || key.is_some_and(|key| wanted.iter().any(|text| fold(field, text) == key))
}

fn within(number: Option<u32>, min: Option<u32>, max: Option<u32>) -> bool {
    match number {
        Some(number) => min.is_none_or(|min| min <= number) && max.is_none_or(|max| number <= max),
        None => min.is_none() && max.is_none(),
    }
}

/// Returns true when a value folds like one of the texts, or belongs to the class or family that
/// one names.
fn classed(attribute: Attribute, text: &Option<String>, wanted: &[String]) -> bool {
    let field = attribute.field();
    let of_class = |wanted: &String| {
        let Some(text) = text else { return false };
        let wanted = fold(field, wanted);
        if field == TextKind::Colour {
            let families = vocabulary().families(text);
            return vocabulary().family(&wanted).is_some_and(|family| families.contains(&family));
        }
        vocabulary().class(field, text) == Some(wanted.as_str())
    };
    any_of(field, text, wanted) || key(field, text).is_some() && wanted.iter().any(of_class)
}

fn is_wanted(inventory: &Inventory, v: &Vehicle, f: &Filters) -> bool {
    let condition = v.condition.map(|condition| condition.name());
    classed(Attribute::Make, &v.make, &f.make)
        && any_of(TextKind::Plain, &v.model, &f.model)
        && any_of(TextKind::Plain, &v.trim, &f.trim)
        && classed(Attribute::Body, &v.body, &f.body)
        && classed(Attribute::ExteriorColor, &v.exterior_color, &f.exterior_color)
        && classed(Attribute::InteriorColor, &v.interior_color, &f.interior_color)
        && classed(Attribute::Fuel, &v.fuel, &f.fuel)
        && classed(Attribute::Transmission, &v.transmission, &f.transmission)
        && classed(Attribute::Driveline, &v.driveline, &f.driveline)
        && any_of(TextKind::Plain, &v.rooftop, &f.rooftops)
        && any_of(TextKind::Identifier, &v.vin, f.vin.as_slice())
        && any_of(TextKind::Identifier, &v.stock, f.stock.as_slice())
        && (f.condition.is_empty() || f.condition.iter().any(|c| Some(c.name()) == condition))
        && within(v.year.map(u32::from), f.year_min, f.year_max)
        && within(v.price, f.price_min, f.price_max)
        && within(v.mileage, None, f.mileage_max)
        && inventory.index.understand(f, CurrentYear::TEST).is_none_or(|query| {
            query
                .wants
                .iter()
                .all(|want| want.any.iter().any(|m| means(inventory, v, m)) != want.negated)
        })
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(i64),
    Text(String),
}

fn sort_key(v: &Vehicle, field: SortField) -> Option<Key> {
    let number = |number: Option<u32>| Some(Key::Number(i64::from(number?)));
    match field {
        SortField::Price => number(v.price),
        SortField::ListPrice => number(v.list_price),
        SortField::Msrp => number(v.msrp),
        SortField::Mileage => number(v.mileage),
        SortField::Year => number(v.year.map(u32::from)),
        SortField::Make => key(TextKind::Make, &v.make).map(Key::Text),
        SortField::Model => key(TextKind::Plain, &v.model).map(Key::Text),
        SortField::Stock => key(TextKind::Identifier, &v.stock).map(Key::Text),
        SortField::UpdatedAt => v.updated_at.map(|at| Key::Number(at.as_second())),
    }
}

fn compare(a: &Vehicle, b: &Vehicle, sort: Sort) -> Ordering {
    let by_key = match (sort_key(a, sort.field), sort_key(b, sort.field), sort.order) {
        (Some(a), Some(b), SortOrder::Asc) => a.cmp(&b),
        (Some(a), Some(b), SortOrder::Desc) => b.cmp(&a),
        (Some(_), None, SortOrder::Asc | SortOrder::Desc) => Ordering::Less,
        (None, Some(_), SortOrder::Asc | SortOrder::Desc) => Ordering::Greater,
        (None, None, SortOrder::Asc | SortOrder::Desc) => Ordering::Equal,
    };
    by_key.then_with(|| a.vehicle_id.cmp(&b.vehicle_id))
}

const DEFAULT_SORT: Sort = Sort { field: SortField::UpdatedAt, order: SortOrder::Desc };

fn naive_search<'a>(
    inventory: &Inventory,
    all: &'a [Vehicle],
    filters: &Filters,
    sort: Option<Sort>,
) -> Vec<&'a Vehicle> {
    let wanted = |v: &&Vehicle| is_wanted(inventory, v, filters);
    let mut found: Vec<&Vehicle> = all.iter().filter(wanted).collect();
    let order =
        inventory.index.understand(filters, CurrentYear::TEST).and_then(|query| query.order);
    found.sort_by(|a, b| compare(a, b, sort.or(order).unwrap_or(DEFAULT_SORT)));
    found
}

/// Returns the most frequent spelling of a folded value in the inventory.
fn spelling(
    all: &[Vehicle],
    field: TextKind,
    wanted: &str,
    get: fn(&Vehicle) -> &Option<String>,
) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for vehicle in all {
        if key(field, get(vehicle)).as_deref() == Some(wanted) {
            *counts.entry(tidy(get(vehicle).as_deref().unwrap())).or_default() += 1;
        }
    }
    let most = counts.values().copied().max().unwrap();
    let mut best = counts.into_iter().filter(|(_, count)| *count == most);
    best.next().unwrap().0
}

fn naive_terms(
    all: &[Vehicle],
    found: &[&Vehicle],
    field: TextKind,
    get: fn(&Vehicle) -> &Option<String>,
) -> Vec<FacetTerm> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for key in found.iter().filter_map(|v| key(field, get(v))) {
        *counts.entry(key).or_default() += 1;
    }
    let terms = counts.into_iter().map(|(key, count)| FacetTerm {
        value: TermValue::Text(spelling(all, field, &key, get)),
        count,
    });
    by_count(terms.collect())
}

fn by_count(mut terms: Vec<FacetTerm>) -> Vec<FacetTerm> {
    terms.sort_by(|a, b| a.value.cmp(&b.value));
    terms.sort_by_key(|term| Reverse(term.count));
    terms
}

fn naive_names(found: &[&Vehicle], get: fn(&Vehicle) -> Option<&'static str>) -> Vec<FacetTerm> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in found.iter().filter_map(|v| get(v)) {
        *counts.entry(name).or_default() += 1;
    }
    let term =
        |(name, count): (&str, usize)| FacetTerm { value: TermValue::Text(name.to_owned()), count };
    by_count(counts.into_iter().map(term).collect())
}

fn naive_range(found: &[&Vehicle], get: fn(&Vehicle) -> Option<u32>) -> Option<FacetRange> {
    let numbers = || found.iter().filter_map(|v| get(v));
    let min = numbers().min()?;
    let max = numbers().max()?;
    Some(FacetRange { min, max })
}

fn naive_facets(inventory: &Inventory, all: &[Vehicle], filters: &Filters) -> Facets {
    let found = naive_search(inventory, all, filters, None);
    let terms = |field, get| naive_terms(all, &found, field, get);
    let mut years: BTreeMap<u32, usize> = BTreeMap::new();
    for year in found.iter().filter_map(|v| v.year) {
        *years.entry(year.into()).or_default() += 1;
    }
    let years = years
        .into_iter()
        .rev()
        .map(|(year, count)| FacetTerm { value: TermValue::Number(year), count });
    Facets {
        makes: terms(TextKind::Make, |v| &v.make),
        models: terms(TextKind::Plain, |v| &v.model),
        trims: terms(TextKind::Plain, |v| &v.trim),
        years: years.collect(),
        conditions: naive_names(&found, |v| v.condition.map(Vocabulary::name)),
        transmissions: terms(TextKind::Transmission, |v| &v.transmission),
        fuels: terms(TextKind::Fuel, |v| &v.fuel),
        drivelines: terms(TextKind::Driveline, |v| &v.driveline),
        bodies: terms(TextKind::Body, |v| &v.body),
        exterior_colors: terms(TextKind::Colour, |v| &v.exterior_color),
        interior_colors: terms(TextKind::Colour, |v| &v.interior_color),
        rooftops: terms(TextKind::Plain, |v| &v.rooftop),
        statuses: naive_names(&found, |v| v.status.map(Vocabulary::name)),
        price_range: naive_range(&found, |v| v.price),
        mileage_range: naive_range(&found, |v| v.mileage),
        year_range: naive_range(&found, |v| v.year.map(u32::from)),
    }
}

fn naive_find(
    inventory: &Inventory,
    all: &[Vehicle],
    tombstones: &[Tombstone],
    query: &VehicleQuery,
) -> Result<String, Option<String>> {
    let same = |wanted: &Option<String>, text: &Option<String>| {
        let wanted = key(TextKind::Identifier, wanted);
        wanted.is_some() && wanted == key(TextKind::Identifier, text)
    };
    let newest_first = naive_search(inventory, all, &Filters::default(), None);
    for identifier in 0..3 {
        let listed = newest_first.iter().find(|v| match identifier {
            0 => same(&query.vin, &v.vin),
            1 => query.vehicle_id.is_some() && query.vehicle_id == v.vehicle_id,
            _ => same(&query.stock, &v.stock),
        });
        if let Some(vehicle) = listed {
            return Ok(vehicle.vehicle_id.clone().unwrap());
        }
        let tombstone = tombstones.iter().find(|unit| match identifier {
            0 => same(&query.vin, &unit.vin),
            1 => query.vehicle_id.as_ref() == Some(&unit.vehicle_id),
            _ => same(&query.stock, &unit.stock),
        });
        if let Some(unit) = tombstone {
            return Err(Some(unit.vehicle_id.clone()));
        }
    }
    Err(None)
}

fn json(vehicles: &[&Vehicle]) -> Vec<String> {
    let json = |v: &&Vehicle| tradepost_document::json::to_string(v).unwrap();
    vehicles.iter().map(json).collect()
}

type Taken = (fn(&mut Filters), fn(&mut Filters, &Filters));

/// For each filter, in the order of the notes: how to remove it, and how to keep it alone.
const TAKEN: &[Taken] = &[
    (|f| f.make.clear(), |f, all| f.make.clone_from(&all.make)),
    (|f| f.model.clear(), |f, all| f.model.clone_from(&all.model)),
    (|f| f.trim.clear(), |f, all| f.trim.clone_from(&all.trim)),
    (|f| f.transmission.clear(), |f, all| f.transmission.clone_from(&all.transmission)),
    (|f| f.fuel.clear(), |f, all| f.fuel.clone_from(&all.fuel)),
    (|f| f.driveline.clear(), |f, all| f.driveline.clone_from(&all.driveline)),
    (|f| f.body.clear(), |f, all| f.body.clone_from(&all.body)),
    (|f| f.exterior_color.clear(), |f, all| f.exterior_color.clone_from(&all.exterior_color)),
    (|f| f.interior_color.clear(), |f, all| f.interior_color.clone_from(&all.interior_color)),
    (|f| f.rooftops.clear(), |f, all| f.rooftops.clone_from(&all.rooftops)),
    (|f| f.condition.clear(), |f, all| f.condition.clone_from(&all.condition)),
    (|f| f.vin = None, |f, all| f.vin.clone_from(&all.vin)),
    (|f| f.stock = None, |f, all| f.stock.clone_from(&all.stock)),
    (
        |f| (f.year_min, f.year_max) = (None, None),
        |f, all| (f.year_min, f.year_max) = (all.year_min, all.year_max),
    ),
    (
        |f| (f.price_min, f.price_max) = (None, None),
        |f, all| (f.price_min, f.price_max) = (all.price_min, all.price_max),
    ),
    (|f| f.mileage_max = None, |f, all| f.mileage_max = all.mileage_max),
    (|f| f.query = None, |f, all| f.query.clone_from(&all.query)),
];

/// Builds an inventory, and restores it from its snapshot.
fn reloaded(vehicles: &[Vehicle], tombstones: Vec<Tombstone>) -> Inventory {
    let snapshot = Inventory::build(vehicles.to_vec(), tombstones).unwrap().snapshot();
    let read = Inventory::read(&snapshot.to_bytes()).unwrap();
    assert_eq!(read.snapshot(), snapshot);
    read.remembered_in(&Arc::new(InventoryCache::new(7)))
}

const SEED: u64 = 20; // The same cases on every run.

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(SEED), ..ProptestConfig::default() })]

    /// Searches equal those of the model, and pages partition the result (C-37 to C-39).
    #[test]
    fn searches_equal_the_model_and_pages_partition_them(
        vehicles in vehicles(),
        searches in vec((filters(), sort(), 1u32..40), 12),
    ) {
        let inventory = reloaded(&vehicles, Vec::new());
        for (filters, sort, size) in searches {
            let expected = json(&naive_search(&inventory, &vehicles, &filters, sort));
            let mut search = Search { filters, skip: 0, limit: Some(size), sort };
            let mut paged = Vec::new();
            loop {
                let policy = SearchPolicy { default_limit: 20, max_limit: 30 };
                let (page, _) = inventory.search(&search, policy, CurrentYear::TEST).unwrap();
                prop_assert_eq!(page.total, expected.len(), "{:?}", search);
                prop_assert_eq!((page.skip, page.limit), (search.skip, size.min(30)));
                prop_assert!(page.vehicles.len() <= page.limit as usize);
                if page.vehicles.is_empty() {
                    break;
                }
                search.skip += size_of_page(&page);
                paged.extend(page.vehicles.iter().map(|raw| raw.as_json().to_owned()));
            }
            prop_assert_eq!(&paged, &expected, "{:?}", search);
            let reading = inventory.reading(&search, CurrentYear::TEST);
            let again = Search { filters: reading.to_filters(), skip: 0, limit: None, sort: reading.sort };
            let policy = SearchPolicy { default_limit: 1000, max_limit: 1000 };
            let (page, _) = inventory.search(&again, policy, CurrentYear::TEST).unwrap();
            let resent: Vec<String> =
                page.vehicles.iter().map(|raw| raw.as_json().to_owned()).collect();
            prop_assert_eq!(resent, expected, "{:?} was read as {:?}", search, reading);
        }
    }

    /// The notes about each filter of an empty answer equal those of the model.
    #[test]
    fn reasons_for_an_empty_answer_equal_the_model(vehicles in vehicles(), filters in vec(filters(), 24)) {
        let inventory = reloaded(&vehicles, Vec::new());
        let count = |filters: &Filters| naive_search(&inventory, &vehicles, filters, None).len();
        for mut filters in filters {
            // An empty query is no query.
            filters.query = filters.query.filter(|query| !query.is_empty());
            let (page, notes) = inventory.search(&Search { filters: filters.clone(), ..Search::default() }, SearchPolicy { default_limit: 1, max_limit: 1 }, CurrentYear::TEST).unwrap();
            prop_assert_eq!(notes.total, page.total);
            if page.total > 0 {
                prop_assert!(notes.reasons.is_empty());
                continue;
            }
            // Each filter is removed, and kept alone, by setting members of the request.
            let mut expected = Vec::new();
            for (take, keep) in TAKEN {
                let mut without = filters.clone();
                let mut alone = Filters::default();
                take(&mut without);
                keep(&mut alone, &filters);
                if without != filters {
                    expected.push((count(&alone), count(&without)));
                }
            }
            let found: Vec<_> = notes.reasons.iter().map(|reason| (reason.alone, reason.without)).collect();
            // A query of several phrases has several reasons.
            let of_filters = expected.len() - usize::from(filters.query.is_some());
            prop_assert_eq!(&found[..of_filters], &expected[..of_filters], "{:?}", filters);
            let phrases = inventory.index.understand(&filters, CurrentYear::TEST).map_or(0, |query| query.wants.len());
            prop_assert_eq!(found.len() - of_filters, phrases);
            if phrases == 1 {
                prop_assert_eq!(found.last(), expected.last(), "{:?}", filters);
            }
        }
    }

    #[test]
    fn facets_equal_the_model(vehicles in vehicles(), filters in vec(filters(), 8)) {
        let inventory = reloaded(&vehicles, Vec::new());
        for filters in filters {
            let expected = naive_facets(&inventory, &vehicles, &filters);
            prop_assert_eq!(&*inventory.facets(&filters, CurrentYear::TEST).0, &expected, "{:?}", filters);
        }
    }

    #[test]
    fn lookups_equal_the_model(
        vehicles in vec(vehicle(), 0..6),
        tombstones in vec((0u32..10, text(VINS), text(STOCKS)), 0..4),
        queries in vec((text(VINS), text(STOCKS), of(0u32..10)), 10),
    ) {
        let mut vehicles = vehicles;
        for (vehicle, id) in vehicles.iter_mut().zip(0..) {
            vehicle.vehicle_id = Some(format!("v{id}"));
        }
        // The model takes the first one: the latest removal.
        let tombstones: Vec<Tombstone> = tombstones.into_iter().zip(0..).map(|((id, vin, stock), age)| Tombstone {
            vehicle_id: format!("v{id}"),
            vin,
            stock,
            make_model: None,
            last_status: "sold".into(),
            removed_at: Timestamp::from_second(-age).unwrap(),
        }).collect();
        let inventory = reloaded(&vehicles, tombstones.iter().rev().cloned().collect());
        for (vin, stock, id) in queries {
            let query = VehicleQuery { vin, stock, vehicle_id: id.map(|id| format!("v{id}")) };
            let found = match inventory.find(&query, Timestamp::MIN).unwrap() {
                VehicleLookup::Listed(found) => Ok(found.vehicle_id),
                VehicleLookup::Gone(unit) => Err(Some(unit.vehicle_id.clone())),
                VehicleLookup::Unknown => Err(None),
            };
            prop_assert_eq!(found, naive_find(&inventory, &vehicles, &tombstones, &query), "{:?}", query);
        }
    }
}

/// Returns the number of vehicles on a page.
fn size_of_page(page: &SearchPage) -> u32 {
    u32::try_from(page.vehicles.len()).unwrap()
}
