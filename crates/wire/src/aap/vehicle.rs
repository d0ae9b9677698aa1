//! A vehicle: the one open object of AAP, used for listings, vehicles of interest and trade-ins.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::aap::Version;
use crate::catalog::{Vocabulary, words};
use crate::format;
use crate::json::{Map, Value};
use crate::parse::{self, read_object};
use crate::problem::{At, Extra, Keyword, Problems};

words! {
    /// The condition of a vehicle for sale.
    pub enum Condition {
        /// Never registered.
        New = "new",
        /// Pre-owned.
        Used = "used",
        /// Certified pre-owned.
        Cpo = "cpo",
    }
}

words! {
    /// The condition of a trade-in.
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
    /// Either vocabulary: what the base schema accepts.
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
    /// Whether a listing can be bought.
    pub enum Status {
        /// On the lot.
        Available = "available",
        /// On its way to the dealer.
        InTransit = "intransit",
        /// Somebody is buying it.
        Pending = "pending",
    }
}

/// Which conditions a vehicle may have where it stands.
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
    /// The dealer's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealer_id: Option<String>,
    /// The dealer's id of the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vehicle_id: Option<String>,
    /// 17 characters, upper case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vin: Option<String>,
    /// The stock number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stock: Option<String>,
    /// The rooftop's name; the one member that may be `null`.
    // R-DI-06
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rooftop: Option<String>,
    /// Model year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year: Option<u16>,
    /// The make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub make: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The trim line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<String>,
    /// The body style.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<AnyCondition>,
    /// Whether it can be bought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Manufacturer's suggested price, whole US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msrp: Option<u32>,
    /// The advertised price before fees, whole US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<u32>,
    /// The price out of the door: mandatory fees included, whole US dollars.
    // R-PR-01
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<u32>,
    /// Miles driven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mileage: Option<u32>,
    /// The transmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmission: Option<String>,
    /// The driven wheels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driveline: Option<String>,
    /// The engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The fuel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<String>,
    /// Miles per gallon in town.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city_mpg: Option<u32>,
    /// Miles per gallon on the road.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highway_mpg: Option<u32>,
    /// Electric range in miles.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub electric_range_mi: Option<f64>,
    /// The colour outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exterior_color: Option<String>,
    /// The colour inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interior_color: Option<String>,
    /// Equipment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Absolute addresses of pictures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub photos: Vec<String>,
    /// The address of the vehicle's page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vdp_url: Option<String>,
    /// Text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Remarks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Since when it is in stock, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory_date: Option<String>,
    /// When the listing was last confirmed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moment")]
    pub updated_at: Option<Timestamp>,
    /// What the dealer tells besides: the object is open.
    #[serde(flatten)]
    pub others: Map,
}

impl Vehicle {
    /// Reads a vehicle where a condition of `vocabulary` is expected. Members that AAP
    /// does not know are kept as they are.
    pub fn read(
        value: &Value,
        at: &At<'_>,
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
            // v1.0 knows these two; they are checked there, and no skill of ours needs them.
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

    /// `2023 Honda CR-V EX`: year, make, model and trim, as far as known.
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
    // Whole numbers are written as such.
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

fn model_year(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<u16> {
    let year = parse::integer(value, at, problems, 1900, Some(2100))?;
    u16::try_from(year).ok()
}

fn nullable_text(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Option<String>> {
    if value.is_null() {
        return Some(None);
    }
    if let Some(text) = value.as_str() {
        return Some(Some(text.to_owned()));
    }
    parse::wrong_type(at, problems, "string or null");
    None
}

/// A US ZIP code (v1.0 only).
fn zip_code(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    fn is_zip(text: &str) -> bool {
        let (five, four) = text.split_once('-').unwrap_or((text, "0000"));
        let digits =
            |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
        digits(five, 5) && digits(four, 4)
    }
    const HINT: &str = "must be a ZIP code such as 94103 or 94103-1234";
    parse::matching(value, at, problems, is_zip, r"^\d{5}(-\d{4})?$", HINT)
}

/// Reads a condition. The base schema takes either vocabulary, the place only one: a word of the
/// other one is told apart from no word at all, and both are one `enum` problem.
// C-07, C-13
fn condition_of(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
    vocabulary: Vocabularies,
) -> Option<AnyCondition> {
    let here = match vocabulary {
        Vocabularies::Sale => Condition::NAMES,
        Vocabularies::TradeIn => TradeInCondition::NAMES,
    };
    let text = parse::str(value, at, problems);
    match text.and_then(AnyCondition::from_name) {
        Some(word) if here.contains(&word.name()) => Some(word),
        Some(_) => {
            let message = format!("must be one of {}", here.join(", "));
            parse::push(at, problems, Keyword::Enum, message, Extra::OtherVocabulary(here));
            None
        }
        None => {
            parse::not_one_of(at, problems, here);
            None
        }
    }
}
