//! The demo inventory: plausible, fictional, and the same for the same seed. Models, engines and
//! fuel economy are real (`data/README.md`); vehicles, prices and addresses are not.

use fastrand::Rng;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_aap::Vehicle;
use tradepost_aap::vehicle::{AnyCondition, ListingStatus};
use tradepost_document::format;

use tradepost_dealer::import::{FeedListing, FeedRooftop, FeedTarget, PricePolicy};

pub mod feed;
mod models;

use models::DemoModel;

/// Id of the demo dealer.
pub const DEALER_ID: &str = "larkspur";

/// Name of the demo dealer.
pub const NAME: &str = "Larkspur Motors";

/// Names of the demo dealer's rooftops.
pub const ROOFTOPS: [&str; 2] = ["Larkspur Motors Fairview", "Larkspur Motors Ridgemont"];

/// Mandatory fees of each rooftop in whole US dollars, included in every `price`.
pub const FEES: [u32; 2] = [119, 499];

/// Returns the demo dealer as an import target.
#[must_use]
pub fn target() -> FeedTarget {
    FeedTarget {
        dealer_id: DEALER_ID.to_owned(),
        name: NAME.to_owned(),
        rooftops: ROOFTOPS
            .into_iter()
            .zip(FEES)
            .map(|(name, fees)| FeedRooftop { name: name.to_owned(), feed_names: Vec::new(), fees })
            .collect(),
        price_truth: PricePolicy::Warn,
    }
}

/// Generates `size` listings on offer, and about one in twelve more that are sold, for the demo
/// dealer's two rooftops. The same arguments give the same listings.
#[must_use]
pub fn listings(size: usize, seed: u64, now: Timestamp) -> Vec<FeedListing> {
    let models = models::all();
    let mut rng = Rng::with_seed(seed);
    let total = size + size / 12;
    (0..total)
        .map(|index| {
            // Sold listings are mixed in, as in a dealer's own records.
            let sold = index % 13 == 12;
            listing(&models, &mut rng, index, sold, now)
        })
        .collect()
}

const EXTERIOR: &[&str] = &[
    "Alpine White",
    "Basalt Gray",
    "Blue Dusk",
    "Bright Silver",
    "Canyon Red",
    "Deep Forest Green",
    "Glacier Pearl",
    "Graphite Metallic",
    "Midnight Black",
    "Sandstone",
    "Storm Blue",
];

const INTERIOR: &[&str] = &[
    "Black Cloth",
    "Black Leather",
    "Beige Leather",
    "Brown Leather",
    "Gray Cloth",
    "Gray Leather",
];

const FEATURES: &[&str] = &[
    "Adaptive Cruise Control",
    "Alloy Wheels",
    "Android Auto",
    "Apple CarPlay",
    "Backup Camera",
    "Blind Spot Monitor",
    "Bluetooth",
    "Heads-Up Display",
    "Heated Front Seats",
    "Heated Steering Wheel",
    "Keyless Entry",
    "Lane Keeping Assist",
    "LED Headlights",
    "Navigation",
    "Panoramic Roof",
    "Parking Sensors",
    "Power Liftgate",
    "Premium Audio",
    "Remote Start",
    "Third-Row Seats",
    "Tow Package",
    "Ventilated Front Seats",
    "Wireless Charging",
];

fn listing(
    models: &[DemoModel],
    rng: &mut Rng,
    index: usize,
    sold: bool,
    now: Timestamp,
) -> FeedListing {
    let today = now.to_zoned(TimeZone::UTC).date();
    let this_year = u16::try_from(today.year()).unwrap_or(models::LAST_YEAR);
    let model = choose(rng, models);
    let (year, condition, mileage) = age(rng, model, this_year);
    let status = match (sold, condition, rng.u8(0..100)) {
        (true, _, _) => ListingStatus::Pending,
        (false, AnyCondition::New, 0..=17) => ListingStatus::InTransit,
        (false, _, 92..) => ListingStatus::Pending,
        (false, _, _) => ListingStatus::Available,
    };
    let place = rng.usize(0..ROOFTOPS.len());
    let rooftop = ROOFTOPS.get(place).copied().unwrap_or_default();
    let fees = FEES.get(place).copied().unwrap_or_default();
    let (msrp, list_price) = prices(rng, model, condition, this_year.saturating_sub(year), mileage);
    // Some listings in transit have no price yet.
    let priced = status != ListingStatus::InTransit || rng.u8(0..8) > 0;
    let list_price = priced.then_some(list_price);
    let vin = vin(model, year, index, rng);
    let stock = format!("{}{}", ["F", "R"].get(place).unwrap_or(&"L"), 10_001 + index);
    let days_in_stock = i64::from(rng.u8(0..120));
    let since = now - SignedDuration::from_hours(24 * days_in_stock);
    let trim = model.trims.get(rng.usize(0..model.trims.len().max(1)));
    let mut vehicle = Vehicle {
        dealer_id: Some(DEALER_ID.to_owned()),
        vehicle_id: Some(format!("veh_{}", vin.to_ascii_lowercase())),
        vin: Some(vin),
        rooftop: Some(rooftop.to_owned()),
        year: Some(year),
        make: Some(model.make.to_owned()),
        model: Some(model.model.to_owned()),
        trim: trim.map(|trim| (*trim).to_owned()),
        body: Some(model.body.to_owned()),
        condition: Some(condition),
        status: Some(status),
        msrp: Some(msrp),
        list_price,
        price: list_price.map(|price| price + fees),
        mileage: Some(mileage),
        transmission: Some(model.transmission.to_owned()),
        driveline: Some(model.driveline.to_owned()),
        engine: Some(model.engine.to_owned()),
        fuel: Some(model.fuel.to_owned()),
        city_mpg: model.city_mpg,
        highway_mpg: model.highway_mpg,
        electric_range_mi: model.electric_range_mi.map(f64::from),
        exterior_color: Some((*choose(rng, EXTERIOR)).to_owned()),
        interior_color: Some((*choose(rng, INTERIOR)).to_owned()),
        features: features(rng),
        photos: (1..=rng.u8(3..=8))
            .map(|number| {
                let folder = stock.to_lowercase();
                format!("https://photos.larkspur-motors.example/{folder}/{number:02}.jpg")
            })
            .collect(),
        inventory_date: Some(since.to_zoned(TimeZone::UTC).date().to_string()),
        // Updated within one business day (AAP 1.1 `inventory.search`, `R-IS-04`).
        updated_at: Some(now - SignedDuration::from_mins(i64::from(rng.u16(0..1200)))),
        ..Vehicle::default()
    };
    let title = vehicle.title();
    vehicle.vdp_url = Some(format!(
        "https://www.larkspur-motors.example/inventory/{}",
        slug(&format!("{title} {stock}"))
    ));
    vehicle.description = Some(describe(&vehicle, &title, mileage));
    vehicle.stock = Some(stock);
    FeedListing { vehicle, sold }
}

fn choose<'a, T>(rng: &mut Rng, items: &'a [T]) -> &'a T {
    items.get(rng.usize(0..items.len().max(1))).expect("every table of the generator has an entry")
}

/// Returns model year, condition and mileage. New cars are of this model year or the next one.
fn age(rng: &mut Rng, model: &DemoModel, this_year: u16) -> (u16, AnyCondition, u32) {
    let newest = model.last_year.min(this_year + 1);
    let is_current = newest >= this_year.min(models::LAST_YEAR);
    if is_current && rng.u8(0..100) < 55 {
        let year = rng.u16(this_year.min(newest)..=newest);
        return (year, AnyCondition::New, rng.u32(4..=120));
    }
    let newest = newest.min(this_year.saturating_sub(1)).max(model.first_year);
    let oldest = newest.saturating_sub(8).max(model.first_year);
    let year = rng.u16(oldest..=newest);
    let years = u32::from(this_year.saturating_sub(year)).max(1);
    let mileage = years * rng.u32(7_000..14_500) + rng.u32(300..6_000);
    let certified = years <= 5 && mileage < 75_000 && rng.u8(0..100) < 35;
    let condition = if certified { AnyCondition::Cpo } else { AnyCondition::Used };
    (year, condition, mileage)
}

/// Returns sticker price and advertised price.
fn prices(
    rng: &mut Rng,
    model: &DemoModel,
    condition: AnyCondition,
    years: u16,
    mileage: u32,
) -> (u32, u32) {
    let sticker = model.msrp + rng.u32(0..=80) * 75;
    if condition == AnyCondition::New {
        return (sticker, sticker - sticker * rng.u32(0..=60) / 1000);
    }
    // Depreciation: a fifth in the first year, an eighth of the rest in each further year, and
    // wear.
    let mut value = sticker * 80 / 100;
    for _ in 1..years {
        value = value * 875 / 1000;
    }
    value = value.saturating_sub(mileage / 40) * rng.u32(96..=106) / 100;
    if condition == AnyCondition::Cpo {
        value += 900;
    }
    (sticker, value.max(3_995) / 50 * 50 + 45)
}

fn features(rng: &mut Rng) -> Vec<String> {
    let count = rng.usize(5..=12);
    let mut places: Vec<usize> = (0..FEATURES.len()).collect();
    rng.shuffle(&mut places);
    places.truncate(count);
    places.sort_unstable();
    places
        .into_iter()
        .filter_map(|place| FEATURES.get(place))
        .map(|feature| (*feature).to_owned())
        .collect()
}

fn describe(vehicle: &Vehicle, title: &str, mileage: u32) -> String {
    let kind = if vehicle.condition == Some(AnyCondition::New) {
        "New".to_owned()
    } else {
        let is_certified = vehicle.condition == Some(AnyCondition::Cpo);
        let kind = if is_certified { "Certified pre-owned" } else { "Pre-owned" };
        format!("{kind} with {mileage} miles")
    };
    let equipment = vehicle.features.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    format!("{title}. {kind}. Equipped with {equipment}. A fictional vehicle for demonstrations.")
}

/// Generates a VIN with a real manufacturer's code, the model year's letter and a valid check
/// digit. The serial number is unique per index, because the factor shares no divisor with a
/// million.
fn vin(model: &DemoModel, year: u16, index: usize, rng: &mut Rng) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPRSTUVWXYZ";
    const YEARS: &[u8] = b"ABCDEFGHJKLMNPRSTVWXY";
    let mut vin = model.wmi.as_bytes().to_vec();
    for position in 0..5 {
        vin.push(match position {
            1 | 3 => b'0' + rng.u8(0..10),
            _ => *choose(rng, LETTERS),
        });
    }
    vin.push(b'0');
    let letter = YEARS.get(usize::from(year.saturating_sub(2010)) % YEARS.len());
    vin.push(letter.copied().unwrap_or(b'A'));
    let plant = LETTERS.get((index / 1_000_000) % LETTERS.len());
    vin.push(plant.copied().unwrap_or(b'A'));
    let serial = (index % 1_000_000) * 7_919 % 1_000_000;
    vin.extend(format!("{serial:06}").bytes());
    let mut vin = String::from_utf8(vin).expect("the characters of a VIN are ASCII");
    if let Some(digit) = format::vin_check_digit(&vin) {
        vin.replace_range(8..9, &char::from(digit).to_string());
    }
    vin
}

fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            out.push(character);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tradepost_aap::Version;
    use tradepost_aap::vehicle::Vocabularies;
    use tradepost_document::problem::{DocumentPlace, Problems};

    use super::*;

    fn now() -> Timestamp {
        "2026-11-20T17:00:00Z".parse().unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_units_and_another_others() {
        assert_eq!(listings(40, 7, now()), listings(40, 7, now()));
        assert_ne!(listings(40, 7, now()), listings(40, 8, now()));
    }

    #[test]
    fn every_size_has_that_many_units_on_offer() {
        for size in [0, 1, 11, 12, 13, 300, 1_000] {
            let listings = listings(size, 1, now());
            let offered = listings.iter().filter(|listing| !listing.sold).count();
            assert_eq!(offered, size, "of {}", listings.len());
        }
    }

    #[test]
    fn identifiers_are_unique_and_check_digits_right() {
        let listings = listings(3_000, 3, now());
        let mut seen = HashSet::new();
        for listing in &listings {
            let vehicle = &listing.vehicle;
            let vin = vehicle.vin.clone().unwrap();
            assert!(format::has_vin_check_digit(&vin), "{vin}");
            assert!(seen.insert(vin));
            assert!(seen.insert(vehicle.stock.clone().unwrap()));
            assert!(seen.insert(vehicle.vehicle_id.clone().unwrap()));
        }
    }

    #[test]
    fn listings_satisfy_the_schema_and_are_plausible() {
        for listing in listings(2_000, 5, now()) {
            let vehicle = listing.vehicle;
            let json = tradepost_document::json::to_value(&vehicle).unwrap();
            let mut problems = Problems::new();
            let read = Vehicle::read(
                &json,
                &DocumentPlace::Root,
                &mut problems,
                Version::V1_1,
                Vocabularies::Sale,
            );
            assert!(read.is_some(), "{problems:?}");
            let fees = FEES[ROOFTOPS
                .iter()
                .position(|name| Some(*name) == vehicle.rooftop.as_deref())
                .unwrap()];
            assert_eq!(vehicle.price, vehicle.list_price.map(|price| price + fees));
            if let Some(price) = vehicle.list_price {
                assert!((3_000..200_000).contains(&price), "{price} {}", vehicle.title());
                assert!(price <= vehicle.msrp.unwrap() + 2_000);
            }
            assert!((2015..=2027).contains(&vehicle.year.unwrap()));
            let is_new = vehicle.condition == Some(AnyCondition::New);
            assert_eq!(is_new, vehicle.mileage.unwrap() < 200);
            assert!(vehicle.updated_at.unwrap() <= now());
        }
    }

    #[test]
    fn every_condition_status_fuel_and_rooftop_occurs() {
        let listings = listings(300, 1, now());
        let kinds = |read: fn(&Vehicle) -> Option<String>| {
            let offered = listings.iter().filter(|listing| !listing.sold);
            offered.filter_map(|listing| read(&listing.vehicle)).collect::<HashSet<_>>().len()
        };
        assert_eq!(kinds(|v| v.condition.map(|c| c.to_string())), 3);
        assert_eq!(kinds(|v| v.status.map(|s| s.to_string())), 3);
        assert_eq!(kinds(|v| v.fuel.clone()), 5);
        assert_eq!(kinds(|v| v.driveline.clone()), 4);
        assert_eq!(kinds(|v| v.transmission.clone()), 3);
        assert_eq!(kinds(|v| v.rooftop.clone()), 2);
        assert!(kinds(|v| v.make.clone()) > 20);
    }
}
