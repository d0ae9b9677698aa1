//! A vehicle: the only open object of AAP, used for listings, vehicles of interest and trade-ins.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::Version;
use tradepost_document::catalog::{Vocabulary, words};
use tradepost_document::format;
use tradepost_document::json::{Map, Value};
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

words! {
    /// Conditions of a vehicle for sale.
    pub enum VehicleCondition {
        /// Never registered.
        New = "new",
        /// Pre-owned.
        Used = "used",
        /// Certified pre-owned.
        Cpo = "cpo",
    }
}

words! {
    /// Conditions of a trade-in.
    pub enum TradeInCondition {
        /// As new.
        Excellent = "excellent",
        /// Ordinary wear.
        Good = "good",
        /// Visible wear.
        Fair = "fair",
        /// Needs repair.
        Poor = "poor",
    }
}

words! {
    /// Conditions of both vocabularies, as the base schema accepts them.
    pub enum AnyCondition {
        /// Never registered.
        New = "new",
        /// Pre-owned.
        Used = "used",
        /// Certified pre-owned.
        Cpo = "cpo",
        /// As new.
        Excellent = "excellent",
        /// Ordinary wear.
        Good = "good",
        /// Visible wear.
        Fair = "fair",
        /// Needs repair.
        Poor = "poor",
    }
}

words! {
    /// Statuses of a listing.
    pub enum ListingStatus {
        /// At the dealer.
        Available = "available",
        /// In transit to the dealer.
        InTransit = "intransit",
        /// A sale is in progress.
        Pending = "pending",
    }
}

/// Returns true for a listing with a status that says that it is on sale.
// R-IS-14
#[must_use]
pub fn is_on_sale(listing: &Value) -> bool {
    let status = listing.get("status").and_then(Value::as_str);
    status.is_some_and(|status| ListingStatus::from_name(status).is_some())
}

/// Vocabulary of conditions that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabularies {
    /// A vehicle of interest or a listing: new, used, cpo.
    Sale,
    /// A trade-in: excellent, good, fair, poor.
    TradeIn,
}

/// A vehicle. Every member is optional in the schema; a listing always has `vehicle_id`, `status`
/// and `updated_at`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Vehicle {
    /// Id of the dealer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealer_id: Option<String>,
    /// The dealer's id of the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vehicle_id: Option<String>,
    /// VIN: 17 characters in upper case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vin: Option<String>,
    /// Stock number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stock: Option<String>,
    /// Name of the rooftop; the only member that may be `null`.
    // The name is the key that joins listings and rooftops (AAP 1.1 dealer-information, R-DI-06).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rooftop: Option<String>,
    /// Model year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year: Option<u16>,
    /// Make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub make: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Trim line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<String>,
    /// Body style.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<AnyCondition>,
    /// Status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ListingStatus>,
    /// Manufacturer's suggested price in whole US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msrp: Option<u32>,
    /// Advertised price before fees in whole US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<u32>,
    /// Out-the-door price in whole US dollars, with mandatory fees.
    // The price is final and omits nothing (AAP 1.1 pricing-and-ftc, R-PR-01).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<u32>,
    /// Mileage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mileage: Option<u32>,
    /// Transmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmission: Option<String>,
    /// Driven wheels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driveline: Option<String>,
    /// Engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Fuel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<String>,
    /// Miles per gallon in the city.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city_mpg: Option<u32>,
    /// Miles per gallon on the highway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highway_mpg: Option<u32>,
    /// Electric range in miles.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub electric_range_mi: Option<f64>,
    /// Exterior colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exterior_color: Option<String>,
    /// Interior colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interior_color: Option<String>,
    /// Features.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Absolute addresses of photos.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub photos: Vec<String>,
    /// Address of the vehicle's page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vdp_url: Option<String>,
    /// Description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Date since which it is in stock, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory_date: Option<String>,
    /// Time at which the listing was last confirmed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moment")]
    pub updated_at: Option<Timestamp>,
    /// Additional members, because the object is open.
    #[serde(flatten)]
    pub others: Map,
}

impl Vehicle {
    /// Reads a vehicle, with conditions of one vocabulary. Members that AAP does not define are
    /// kept.
    pub fn read(
        value: &Value,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
        version: Version,
        vocabulary: Vocabularies,
    ) -> Option<Self> {
        let before = problems.total();
        let is_v1_0 = version == Version::V1_0;
        let mut others = Map::new();
        read_object!(value, at, problems, open(others) {
            optional "dealer_id" => dealer_id: parse::text,
            optional "vehicle_id" => vehicle_id: parse::text,
            optional "vin" => vin: parse::vin,
            optional "stock" => stock: parse::text,
            optional "rooftop" => rooftop: nullable_text,
            optional "year" => year: model_year,
            optional "make" => make: parse::text,
            optional "model" => model: parse::text,
            optional "trim" => trim: parse::text,
            optional "body" => body: parse::text,
            optional "condition" => condition: |v, at, p| condition_of(v, at, p, vocabulary),
            optional "status" => status: parse::word,
            optional "msrp" => msrp: parse::count,
            optional "list_price" => list_price: parse::count,
            optional "price" => price: parse::count,
            optional "mileage" => mileage: parse::count,
            optional "transmission" => transmission: parse::text,
            optional "driveline" => driveline: parse::text,
            optional "engine" => engine: parse::text,
            optional "fuel" => fuel: parse::text,
            optional "city_mpg" => city_mpg: parse::count,
            optional "highway_mpg" => highway_mpg: parse::count,
            optional "electric_range_mi" => electric_range_mi: |v, at, p| parse::number(v, at, p, 0, None),
            optional "exterior_color" => exterior_color: parse::text,
            optional "interior_color" => interior_color: parse::text,
            optional "features" => features: parse::texts,
            optional "photos" => photos: |v, at, p| parse::list(v, at, p, (0, None), parse::uri),
            optional "vdp_url" => vdp_url: parse::uri,
            optional "description" => description: parse::text,
            optional "notes" => notes: parse::text,
            optional "inventory_date" => inventory_date: parse::date,
            optional "updated_at" => updated_at: parse::timestamp,
            // 1.0 has these two; they are validated there, and no skill of ours needs them.
            optional "offered_price" => _offered: |v, at, p| is_v1_0.then(|| parse::count(v, at, p)),
            optional "zip" => _zip: |v, at, p| is_v1_0.then(|| zip_code(v, at, p)),
        });
        (problems.total() == before).then(|| Self {
            dealer_id,
            vehicle_id,
            vin,
            stock,
            rooftop: rooftop.flatten(),
            year,
            make,
            model,
            trim,
            body,
            condition,
            status,
            msrp,
            list_price,
            price,
            mileage,
            transmission,
            driveline,
            engine,
            fuel,
            city_mpg,
            highway_mpg,
            electric_range_mi,
            exterior_color,
            interior_color,
            features: features.unwrap_or_default(),
            photos: photos.unwrap_or_default(),
            vdp_url,
            description,
            notes,
            inventory_date,
            updated_at,
            others,
        })
    }

    /// Formats year, make, model and trim, as far as known: `2023 Honda CR-V EX`.
    #[must_use]
    pub fn title(&self) -> String {
        let year = self.year.map(|year| year.to_string());
        [year.as_deref(), self.make.as_deref(), self.model.as_deref(), self.trim.as_deref()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    // Whole numbers are written without a fraction.
    match *value {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            serializer.serialize_i64(number as i64)
        }
        Some(number) => serializer.serialize_f64(number),
        None => serializer.serialize_none(),
    }
}

fn moment<S: Serializer>(value: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(format::rfc3339).serialize(serializer)
}

fn model_year(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<u16> {
    let year = parse::integer(value, at, problems, 1900, Some(2100))?;
    u16::try_from(year).ok()
}

fn nullable_text(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Option<String>> {
    if value.is_null() {
        return Some(None);
    }
    if let Some(text) = value.as_str() {
        return Some(Some(text.to_owned()));
    }
    parse::wrong_type(at, problems, "string or null");
    None
}

/// Reads a US ZIP code (1.0 only).
fn zip_code(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    fn is_zip(text: &str) -> bool {
        let (five, four) = text.split_once('-').unwrap_or((text, "0000"));
        let digits =
            |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
        digits(five, 5) && digits(four, 4)
    }
    const HINT: &str = "must be a ZIP code such as 94103 or 94103-1234";
    parse::matching(value, at, problems, is_zip, r"^\d{5}(-\d{4})?$", HINT)
}

/// Reads a condition. The base schema accepts both vocabularies, each place only one: a value of
/// the wrong vocabulary is distinguished from an unknown one, and both are one `enum` problem.
// The two cases have different error codes (C-07), and JSON Schema's `if` problem is dropped
// (C-13).
fn condition_of(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    vocabulary: Vocabularies,
) -> Option<AnyCondition> {
    let here = match vocabulary {
        Vocabularies::Sale => VehicleCondition::NAMES,
        Vocabularies::TradeIn => TradeInCondition::NAMES,
    };
    let text = parse::str(value, at, problems);
    match text.and_then(AnyCondition::from_name) {
        Some(word) if here.contains(&word.name()) => Some(word),
        Some(_) => {
            let message = format!("must be one of {}", here.join(", "));
            parse::push(at, problems, Keyword::Enum, message, ProblemDetail::OtherVocabulary(here));
            None
        }
        None => {
            parse::not_one_of(at, problems, here);
            None
        }
    }
}
