//! Requests and answers of the three inventory skills.

use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

use crate::vehicle::VehicleCondition;
use crate::{RawJson, Skill, Version};
use tradepost_document::catalog::words;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};

/// Filters of vehicles: all have to match, and of a list at least one entry. An absent or empty
/// list matches everything.
// Bounds are inclusive, and several values of a filter are alternatives (AAP 1.1 inventory-search,
// R-IS-07).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filters {
    /// Makes.
    pub make: Vec<String>,
    /// Models.
    pub model: Vec<String>,
    /// Trim lines.
    pub trim: Vec<String>,
    /// Conditions.
    pub condition: Vec<VehicleCondition>,
    /// Transmissions.
    pub transmission: Vec<String>,
    /// Fuels.
    pub fuel: Vec<String>,
    /// Driven wheels.
    pub driveline: Vec<String>,
    /// Body styles.
    pub body: Vec<String>,
    /// Exterior colours, by name or by family.
    pub exterior_color: Vec<String>,
    /// Interior colours, by name or by family.
    pub interior_color: Vec<String>,
    /// Rooftop names.
    pub rooftops: Vec<String>,
    /// First model year.
    pub year_min: Option<u32>,
    /// Last model year.
    pub year_max: Option<u32>,
    /// Minimum `price` in whole US dollars.
    pub price_min: Option<u32>,
    /// Maximum `price` in whole US dollars.
    pub price_max: Option<u32>,
    /// Maximum mileage.
    pub mileage_max: Option<u32>,
    /// VIN.
    pub vin: Option<String>,
    /// Stock number.
    pub stock: Option<String>,
    /// Query in words.
    pub query: Option<String>,
}

impl Filters {
    /// Reads the filters of a request at a place of a document.
    pub fn read(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Self> {
        read_filters(value, at, problems)
    }
}

/// A search request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Search {
    /// Filters.
    pub filters: Filters,
    /// Number of matches to skip.
    pub skip: u32,
    /// Maximum number of vehicles, 1 to 1000; the dealer's default when `None`.
    pub limit: Option<u32>,
    /// Order; the dealer's default when `None`.
    pub sort: Option<Sort>,
}

/// Sort order of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sort {
    /// Field.
    pub field: SortField,
    /// Direction.
    pub order: SortOrder,
}

words! {
    /// Fields by which a search can be sorted.
    pub enum SortField {
        /// Out-the-door price.
        Price = "price",
        /// Advertised price.
        ListPrice = "list_price",
        /// Manufacturer's suggested price.
        Msrp = "msrp",
        /// Mileage.
        Mileage = "mileage",
        /// Model year.
        Year = "year",
        /// Make.
        Make = "make",
        /// Model.
        Model = "model",
        /// Stock number.
        Stock = "stock",
        /// Time at which the listing was last confirmed.
        UpdatedAt = "updated_at",
    }
}

words! {
    /// Directions of a sort order.
    pub enum SortOrder {
        /// Ascending.
        Asc = "asc",
        /// Descending.
        Desc = "desc",
    }
}

/// Identifiers of a requested vehicle; at least one is present.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VehicleQuery {
    /// VIN.
    pub vin: Option<String>,
    /// Stock number.
    pub stock: Option<String>,
    /// The dealer's id.
    pub vehicle_id: Option<String>,
}

pub(super) fn read_facets(data: &Value, problems: &mut Problems) -> Option<Filters> {
    read_object!(data, &DocumentPlace::Root, problems, closed {
        required "type" => kind: |v, at, p| Skill::InventoryFacets.read_type(v, at, p),
        optional "filters" => filters: read_filters,
    });
    kind.map(|()| filters.unwrap_or_default())
}

pub(super) fn read_search(
    data: &Value,
    version: Version,
    problems: &mut Problems,
) -> Option<Search> {
    read_object!(data, &DocumentPlace::Root, problems, closed {
        required "type" => kind: |v, at, p| Skill::InventorySearch.read_type(v, at, p),
        optional "filters" => filters: read_filters,
        optional "pagination" => pagination: read_pagination,
        optional "sort" => sort: |v, at, p| read_sort(v, at, p, version),
        optional "privacy" => _privacy: read_privacy,
    });
    let (skip, limit) = pagination.unwrap_or_default();
    kind.map(|()| Search {
        filters: filters.unwrap_or_default(),
        skip,
        limit,
        sort: sort.flatten(),
    })
}

pub(super) fn read_vehicle(
    data: &Value,
    version: Version,
    problems: &mut Problems,
) -> Option<VehicleQuery> {
    let (kind, vin, stock, vehicle_id) = match version {
        Version::V1_1 => {
            read_object!(data, &DocumentPlace::Root, problems, closed {
                required "type" => kind: |v, at, p| Skill::InventoryVehicle.read_type(v, at, p),
                optional "vin" => vin: parse::vin,
                optional "stock" => stock: parse::text,
                optional "vehicle_id" => vehicle_id: parse::text,
            });
            (kind, vin, stock, vehicle_id)
        }
        Version::V1_0 => {
            read_object!(data, &DocumentPlace::Root, problems, closed {
                required "type" => kind: |v, at, p| Skill::InventoryVehicle.read_type(v, at, p),
                optional "vin" => vin: parse::vin,
                optional "stock" => stock: parse::text,
                optional "vehicle_id" => vehicle_id: parse::text,
                // Any string: only a vehicle's ZIP code has a pattern. It is for desking, which
                // this dealer does not offer.
                optional "zip" => _zip: parse::text,
            });
            (kind, vin, stock, vehicle_id)
        }
    };
    let names = &["vin", "stock", "vehicle_id"];
    if data.as_object().is_some_and(|members| !names.iter().any(|n| members.contains_key(*n))) {
        parse::none_of(&DocumentPlace::Root, problems, names);
    }
    kind.map(|()| VehicleQuery { vin, stock, vehicle_id })
}

fn read_filters(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Filters> {
    fn year(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<u32> {
        let year = parse::integer(value, at, problems, 1900, Some(2100))?;
        u32::try_from(year).ok()
    }
    let before = problems.total();
    read_object!(value, at, problems, closed {
        optional "make" => make: parse::texts,
        optional "model" => model: parse::texts,
        optional "trim" => trim: parse::texts,
        optional "condition" => condition: |v, at, p| parse::list(v, at, p, (0, None), parse::word),
        optional "transmission" => transmission: parse::texts,
        optional "fuel" => fuel: parse::texts,
        optional "driveline" => driveline: parse::texts,
        optional "body" => body: parse::texts,
        optional "exterior_color" => exterior_color: parse::texts,
        optional "interior_color" => interior_color: parse::texts,
        optional "rooftops" => rooftops: parse::texts,
        optional "year_min" => year_min: year,
        optional "year_max" => year_max: year,
        optional "price_min" => price_min: parse::count,
        optional "price_max" => price_max: parse::count,
        optional "mileage_max" => mileage_max: parse::count,
        optional "vin" => vin: parse::vin,
        optional "stock" => stock: parse::text,
        optional "query" => query: |v, at, p| parse::text_of(v, at, p, 0, Some(200)),
    });
    (problems.total() == before).then(|| Filters {
        make: make.unwrap_or_default(),
        model: model.unwrap_or_default(),
        trim: trim.unwrap_or_default(),
        condition: condition.unwrap_or_default(),
        transmission: transmission.unwrap_or_default(),
        fuel: fuel.unwrap_or_default(),
        driveline: driveline.unwrap_or_default(),
        body: body.unwrap_or_default(),
        exterior_color: exterior_color.unwrap_or_default(),
        interior_color: interior_color.unwrap_or_default(),
        rooftops: rooftops.unwrap_or_default(),
        year_min,
        year_max,
        price_min,
        price_max,
        mileage_max,
        vin,
        stock,
        query,
    })
}

fn read_pagination(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<(u32, Option<u32>)> {
    read_object!(value, at, problems, closed {
        optional "skip" => skip: parse::count,
        optional "limit" => limit: |v, at, p| {
            parse::integer(v, at, p, 1, Some(1000)).and_then(|n| u32::try_from(n).ok())
        },
    });
    Some((skip.unwrap_or_default(), limit))
}

/// Reads a sort order. `Some(None)` is an order that 1.0 permits and that has no effect: without
/// desking no vehicle has an `offered_price`.
fn read_sort(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    version: Version,
) -> Option<Option<Sort>> {
    read_object!(value, at, problems, closed {
        required "field" => field: |v, at, p| match version {
            Version::V1_0 if v.as_str() == Some("offered_price") => Some(None),
            Version::V1_0 | Version::V1_1 => parse::word(v, at, p).map(Some),
        },
        required "order" => order: parse::word,
    });
    let order = order?;
    Some(field?.map(|field| Sort { field, order }))
}

fn read_privacy(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<()> {
    read_object!(value, at, problems, closed {
        // Every inventory request is served anonymously, whatever the buyer asks (AAP 1.1
        // inventory-search, `R-IS-01`).
        optional "anonymous" => _anonymous: parse::boolean,
    });
    Some(())
}

/// A page of matches.
#[derive(Debug, Clone, Serialize)]
pub struct SearchPage {
    /// Number of all matches.
    pub total: usize,
    /// Number of skipped matches.
    pub skip: u32,
    /// Maximum number of vehicles on the page.
    pub limit: u32,
    /// Vehicles in the requested order.
    pub vehicles: Vec<ListedVehicle>,
}

/// A vehicle of a page: its listing, and its row in a table, once somebody has written that. Clones share both.
#[derive(Debug, Clone)]
pub struct ListedVehicle(Arc<VehicleTexts>);

/// The texts of a vehicle.
#[derive(Debug)]
struct VehicleTexts {
    json: RawJson,
    row: OnceLock<String>,
}

impl ListedVehicle {
    /// Creates a vehicle without a row.
    #[must_use]
    pub fn new(json: RawJson) -> Self {
        Self(Arc::new(VehicleTexts { json, row: OnceLock::new() }))
    }

    /// Returns the listing.
    #[must_use]
    pub fn json(&self) -> &RawJson {
        &self.0.json
    }

    /// Returns the listing as JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.json.as_json()
    }

    /// Returns the row of the vehicle in a table, which `write` makes of the JSON text at the first call.
    pub fn row(&self, write: impl FnOnce(&str) -> String) -> &str {
        self.0.row.get_or_init(|| write(self.as_json()))
    }
}

impl Serialize for ListedVehicle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// Counts over the inventory or a part of it. Facets without entries are omitted.
// The keys are the same with any filter (AAP 1.1 inventory-facets, R-FA-03).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Facets {
    /// Counts by make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub makes: Vec<FacetTerm>,
    /// Counts by model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<FacetTerm>,
    /// Counts by trim line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trims: Vec<FacetTerm>,
    /// Counts by model year; the values are numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub years: Vec<FacetTerm>,
    /// Counts by condition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<FacetTerm>,
    /// Counts by transmission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transmissions: Vec<FacetTerm>,
    /// Counts by fuel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fuels: Vec<FacetTerm>,
    /// Counts by driven wheels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drivelines: Vec<FacetTerm>,
    /// Counts by body style.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<FacetTerm>,
    /// Counts by exterior colour.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exterior_colors: Vec<FacetTerm>,
    /// Counts by interior colour.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interior_colors: Vec<FacetTerm>,
    /// Counts by rooftop.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rooftops: Vec<FacetTerm>,
    /// Counts by status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<FacetTerm>,
    /// Lowest and highest `price`.
    // The range is of `price`, not of `list_price` (AAP 1.1 pricing-and-ftc, R-FA-05).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_range: Option<FacetRange>,
    /// Lowest and highest mileage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mileage_range: Option<FacetRange>,
    /// Earliest and latest model year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year_range: Option<FacetRange>,
}

/// A value with the number of vehicles that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FacetTerm {
    /// The value.
    pub value: TermValue,
    /// Number of vehicles.
    pub count: usize,
}

/// Value of a facet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum TermValue {
    /// A number, for years.
    Number(u32),
    /// A string, for everything else.
    Text(String),
}

/// Lowest and highest value of a number over some vehicles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FacetRange {
    /// Lowest value.
    pub min: u32,
    /// Highest value.
    pub max: u32,
}
