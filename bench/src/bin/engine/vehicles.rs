//! The vehicles: those of the demo, but some models, colours and rooftops are more frequent than others, as at
//! every dealer.

use std::collections::HashMap;

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use tradepost_aap::Vehicle;
use tradepost_demo::dealer as demo;

/// Vehicles of which the others are made.
const PATTERNS: usize = 20_000;

const COLOURS: [&str; 16] = [
    "Alpine White",
    "Midnight Black",
    "Graphite Metallic",
    "Bright Silver",
    "Storm Blue",
    "Canyon Red",
    "Glacier Pearl",
    "Basalt Gray",
    "Blue Dusk",
    "Sandstone",
    "Deep Forest Green",
    "Copper Canyon",
    "Sunset Orange",
    "Lunar Rock",
    "Cactus Gray",
    "Velvet Purple",
];

/// The vehicles of a dealer.
pub struct BenchInventory {
    /// By vehicle id, ascending.
    pub vehicles: Vec<Vehicle>,
}

impl BenchInventory {
    /// So many vehicles, the same each time.
    pub fn new(size: usize) -> Self {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 20_780);
        let mut rng = Rng::with_seed(13);
        let mut trims = HashMap::new();
        let patterns = demo::listings(PATTERNS, 13, now).into_iter().map(|listing| {
            let trim = listing.vehicle.trim.map(|trim| {
                // The product counts spellings of a trim as one, and shows the first.
                let plain = trim.chars().filter(|character| character.is_alphanumeric());
                let plain = plain.collect::<String>();
                trims.entry(plain.to_lowercase()).or_insert(trim).clone()
            });
            Vehicle { trim, ..listing.vehicle }
        });
        let mut models: Vec<Vec<Vehicle>> = Vec::new();
        for vehicle in patterns {
            let same = |models: &Vec<Vehicle>| {
                models.first().is_some_and(|first| {
                    (&first.make, &first.model) == (&vehicle.make, &vehicle.model)
                })
            };
            match models.iter_mut().find(|known| same(known)) {
                Some(known) => known.push(vehicle),
                None => models.push(vec![vehicle]),
            }
        }
        rng.shuffle(&mut models);
        let of_model = |number: usize| {
            let pattern = rank(&mut rng, &models, 0.7).and_then(|model| {
                let place = rng.usize(0..model.len());
                model.get(place).cloned()
            });
            changed(pattern.unwrap_or_default(), number, &mut rng, now)
        };
        Self { vehicles: (0..size).map(of_model).collect() }
    }
}

/// What can be found by words.
pub fn words(vehicle: &Vehicle) -> String {
    let texts = [&vehicle.make, &vehicle.model, &vehicle.trim];
    let texts = texts.into_iter().flatten().chain(&vehicle.features);
    texts.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// One of these; those at the beginning more often.
fn rank<'a, T>(rng: &mut Rng, all: &'a [T], skew: f64) -> Option<&'a T> {
    let weight = |place: usize| (place as f64 + 1.0).powf(-skew);
    let total: f64 = (0..all.len()).map(weight).sum();
    let mut left = rng.f64() * total;
    let place = (0..all.len()).find(|place| {
        left -= weight(*place);
        left <= 0.0
    });
    place.and_then(|place| all.get(place)).or(all.last())
}

/// A pattern as a vehicle of its own.
fn changed(pattern: Vehicle, number: usize, rng: &mut Rng, now: Timestamp) -> Vehicle {
    const CHARACTERS: &[u8] = b"ABCDEFGHJKLMNPRSTUVWXYZ0123456789";
    let stock = format!("B{number:07}");
    let mut vin: String = pattern.vin.as_deref().unwrap_or_default().chars().take(10).collect();
    vin.push_str(&format!("{number:07}"));
    let colour = rank(rng, &COLOURS, 0.8).copied().unwrap_or_default();
    let rooftops: Vec<String> = (1..=8).map(|number| format!("Larkspur Motors {number}")).collect();
    let rooftop = rank(rng, &rooftops, 1.0).cloned();
    let cheaper = rng.u32(0..60) * 25;
    let price = |price: Option<u32>| price.map(|price| price.saturating_sub(cheaper).max(1_000));
    let photos = pattern.photos.iter().map(|_| {
        let name: String =
            (0..12).map(|_| char::from(*rng.choice(CHARACTERS).unwrap_or(&b'A'))).collect();
        format!("https://photos.larkspur-motors.example/{stock}/{name}.jpg")
    });
    Vehicle {
        vehicle_id: Some(format!("veh_{number:07}")),
        photos: photos.collect(),
        vdp_url: Some(format!("https://www.larkspur-motors.example/inventory/{stock}")),
        list_price: price(pattern.list_price.or(pattern.msrp)),
        price: price(pattern.price.or(pattern.msrp)),
        mileage: pattern.mileage.map(|miles| miles + rng.u32(0..50)),
        exterior_color: Some(colour.to_owned()),
        updated_at: Some(now - SignedDuration::from_secs(rng.i64(0..72_000))),
        vin: Some(vin),
        stock: Some(stock),
        rooftop,
        ..pattern
    }
}
