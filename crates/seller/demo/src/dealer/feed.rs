//! Listings written as feeds: clean for round trips and benchmarks, or with the defects of real
//! exports.

use std::collections::BTreeMap;
use std::io;

use fastrand::Rng;
use tradepost_aap::{Skill, Vehicle};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_document::words;

use tradepost_dealer::import::FeedListing;

pub mod formats;

use formats::{HOMENET, row};

words! {
    /// Defects of a row of a real feed.
    pub enum RowDefects {
        /// The VIN's check digit is wrong.
        CheckDigit = "check_digit",
        /// The VIN is in lower case.
        LowerCaseVin = "lower_case_vin",
        /// The VIN is too short; the stock number is right.
        ShortVin = "short_vin",
        /// The VIN is another manufacturer's.
        ForeignVin = "foreign_vin",
        /// No VIN and no stock number.
        Nameless = "nameless",
        /// `Not Priced`, `Call`, zero or a dash for a price.
        PriceWord = "price_word",
        /// A price with a dollar sign and a comma.
        PriceSign = "price_sign",
        /// A price that cannot be read.
        PriceGarbled = "price_garbled",
        /// `52,777 miles`.
        MileageUnit = "mileage_unit",
        /// A mileage in kilometres.
        Kilometres = "kilometres",
        /// `BMW Certified` for a type.
        BrandCertified = "brand_certified",
        /// `Front-wheel Drive` for `FWD`.
        LongDrivetrain = "long_drivetrain",
        /// Model and trim in one cell.
        ModelAndTrim = "model_and_trim",
        /// A vehicle that is not built yet.
        InProduction = "in_production",
        /// An unknown status.
        OddStatus = "odd_status",
        /// Photos with relative addresses among the others.
        RelativePhoto = "relative_photo",
        /// An unknown rooftop.
        ForeignRooftop = "foreign_rooftop",
        /// An invalid date.
        BadDate = "bad_date",
        /// An invalid model year.
        BadYear = "bad_year",
        /// An unquoted delimiter, which shifts the cells.
        Shifted = "shifted",
        /// The same row again, with fewer fields.
        Repeated = "repeated",
        /// Another vehicle with the same stock number and fewer fields.
        RepeatedStock = "repeated_stock",
    }
}

/// A feed with defects.
#[derive(Debug, Clone)]
pub struct DefectiveFeed {
    /// The feed, in Windows-1252 and separated by commas.
    pub bytes: Vec<u8>,
    /// Number of rows without the heading.
    pub rows: usize,
    /// Number of rows with each defect.
    pub dirt: BTreeMap<RowDefects, usize>,
}

/// Writes the listings as a HomeNet table in UTF-8, separated by `delimiter`. Sold listings are marked as
/// sold.
///
/// # Errors
/// Never in practice: writing to memory does not fail.
pub fn homenet(listings: &[FeedListing], delimiter: u8) -> io::Result<Vec<u8>> {
    formats::table(listings, HOMENET, delimiter, true)
}

/// Writes the listings as an `inventory.search` response of AAP, whose type tells the importer that
/// `price` is what the customer pays. Sold listings have the status `sold`.
///
/// # Errors
/// Never in practice: a vehicle always serialises.
pub fn aap_json(listings: &[FeedListing]) -> tradepost_document::json::Result<Vec<u8>> {
    let mut vehicles = Vec::with_capacity(listings.len());
    for listing in listings {
        let mut vehicle = tradepost_document::json::to_value(&listing.vehicle)?;
        if let Some(members) = vehicle.as_object_mut().filter(|_| listing.sold) {
            members.insert("status".to_owned(), Value::from("sold"));
        }
        vehicles.push(vehicle);
    }
    let total = vehicles.len();
    tradepost_document::json::to_vec(&json!({
        "type": Skill::InventorySearch.response_type(),
        "data": {"total": total, "skip": 0, "limit": total, "vehicles": vehicles},
    }))
}

/// Writes the listings as a table in which about every other row has one defect. A listing without a
/// price has none, so that the report counts each defect under its own name.
///
/// # Errors
/// Never in practice: writing to memory does not fail.
pub fn untidy(listings: &[FeedListing], seed: u64) -> io::Result<DefectiveFeed> {
    let mut rng = Rng::with_seed(seed);
    let mut dirt = BTreeMap::new();
    let mut rows = Vec::with_capacity(listings.len());
    let mut repeated = Vec::new();
    for listing in listings {
        let mut cells = row(listing, HOMENET);
        let spoilable = !listing.sold && listing.vehicle.price.is_some();
        if spoilable && rng.bool() {
            let kind = RowDefects::ALL
                .get(rng.usize(0..RowDefects::ALL.len()))
                .copied()
                .unwrap_or(RowDefects::Repeated);
            if spoil(&mut cells, &listing.vehicle, kind, &mut rng, &mut repeated) {
                *dirt.entry(kind).or_default() += 1;
            }
        }
        rows.push(cells);
    }
    rows.extend(repeated);
    let count = rows.len();
    let text = formats::written(HOMENET, rows, b',')?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode(&text);
    Ok(DefectiveFeed { bytes: bytes.into_owned(), rows: count, dirt })
}

/// Adds a defect to a row; returns `false` when the row cannot have it.
fn spoil(
    cells: &mut Vec<String>,
    vehicle: &Vehicle,
    kind: RowDefects,
    rng: &mut Rng,
    repeated: &mut Vec<Vec<String>>,
) -> bool {
    let mut set = |column: &str, value: String| put(cells, column, value);
    let vin = vehicle.vin.clone().unwrap_or_default();
    let mileage = vehicle.mileage.unwrap_or_default();
    let price = vehicle.list_price.unwrap_or_default();
    match kind {
        RowDefects::CheckDigit => set("VIN", with_wrong_check_digit(&vin)),
        RowDefects::LowerCaseVin => set("VIN", vin.to_lowercase()),
        RowDefects::ShortVin => set("VIN", vin.get(..11).unwrap_or_default().to_owned()),
        RowDefects::ForeignVin => {
            let make = if vehicle.make.as_deref() == Some("Tesla") { "Ford" } else { "Tesla" };
            set("Make", make.to_owned());
        }
        RowDefects::Nameless => {
            set("VIN", String::new());
            set("Stock", " ".to_owned());
        }
        RowDefects::PriceWord => {
            let words = ["Not Priced", "Call", "0", "–", "$0.00"];
            let word = words.get(rng.usize(0..words.len())).copied();
            set("Internet_Price", word.unwrap_or_default().to_owned());
        }
        RowDefects::PriceSign => set("Internet_Price", format!("${} ", with_commas(price))),
        RowDefects::PriceGarbled => set("Internet_Price", format!("{price} or offer")),
        RowDefects::MileageUnit => set("Miles", format!("{} miles", with_commas(mileage))),
        RowDefects::Kilometres => {
            let kilometres = u64::from(mileage) * 1_609_344 / 1_000_000;
            set("Miles", format!("{kilometres} km"));
        }
        RowDefects::BrandCertified => {
            let make = vehicle.make.as_deref().unwrap_or_default();
            set("Type", format!("{make} Certified"));
            set("Certified", String::new());
        }
        RowDefects::LongDrivetrain => {
            let words = match vehicle.driveline.as_deref() {
                Some("fwd") => "Front-wheel Drive",
                Some("rwd") => "Rear-wheel Drive",
                Some("awd") => "All Wheel Drive",
                Some("4wd") => "Four-Wheel Drive",
                Some(_) | None => return false,
            };
            set("Drivetrain", words.to_owned());
        }
        RowDefects::ModelAndTrim => {
            let Some(model) = &vehicle.model else { return false };
            let Some(trim) = &vehicle.trim else { return false };
            set("Model", format!("{model} {trim}"));
            set("Trim", String::new());
        }
        RowDefects::InProduction => set("Status", "In Production".to_owned()),
        RowDefects::OddStatus => set("Status", "Zone 4".to_owned()),
        RowDefects::RelativePhoto => {
            let photos = format!("/img/front.jpg|{}", vehicle.photos.join("|"));
            set("ImageList", photos);
        }
        RowDefects::ForeignRooftop => set("Dealer Name", "Larkspur Café Motors".to_owned()),
        RowDefects::BadDate => set("DateInStock", "31/31/2026".to_owned()),
        RowDefects::BadYear => set("Year", "unknown".to_owned()),
        RowDefects::Shifted => {
            set("Description", "One owner".to_owned());
            cells.insert(0, "Well kept".to_owned());
        }
        RowDefects::Repeated => {
            set("Options", String::new());
            let poorer = std::mem::take(cells);
            *cells = with(&poorer, "Options", vehicle.features.join("|"));
            repeated.push(poorer);
        }
        RowDefects::RepeatedStock => {
            set("Options", String::new());
            let poorer = with(cells, "VIN", String::new());
            *cells = with(cells, "Options", vehicle.features.join("|"));
            repeated.push(poorer);
        }
    }
    true
}

fn with(cells: &[String], column: &str, value: String) -> Vec<String> {
    let mut cells = cells.to_vec();
    put(&mut cells, column, value);
    cells
}

fn put(cells: &mut [String], column: &str, value: String) {
    let place = HOMENET.iter().position(|(name, _)| *name == column);
    if let Some(cell) = place.and_then(|place| cells.get_mut(place)) {
        *cell = value;
    }
}

fn with_wrong_check_digit(vin: &str) -> String {
    let wrong = if vin.get(8..9) == Some("5") { "6" } else { "5" };
    let head = vin.get(..8).unwrap_or_default();
    let tail = vin.get(9..).unwrap_or_default();
    format!("{head}{wrong}{tail}")
}

fn with_commas(number: u32) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}
