//! Fields of a listing: the columns that feed them, how many units have them, and the ones that a
//! feed must have.

use tradepost_aap::Vehicle;

use super::columns::CellMeaning;
use super::report::{ColumnUse, FieldUse};

/// Member of a listing with its number of seats. AAP defines none, but permits additional members.
pub(super) const SEATS: &str = "seats";

/// Member of a listing with its number of doors. AAP defines none, but permits additional members.
pub(super) const DOORS: &str = "doors";

/// A field of a listing.
pub(super) struct ListingField {
    name: &'static str,
    columns: &'static [CellMeaning],
    /// Returns true when a listing has the field.
    has: fn(&Vehicle) -> bool,
    /// Name and tolerance, for a field that every feed must have.
    key: Option<RequiredField>,
}

/// A field that every feed must have.
struct RequiredField {
    /// Name for people.
    name: &'static str,
    may_lack: LackTolerance,
}

/// Tolerance for units that lack a required field.
enum LackTolerance {
    /// Some may lack it: buyers search by it.
    Some,
    /// Most may lack it, as new arrivals lack photos, but not all.
    Most,
}

macro_rules! fields {
    ($( $name:literal = [$($column:ident),+], $has:expr $(, $may_lack:ident may lack $key:literal)?; )*) => {
        /// Every field that a feed can fill.
        pub(super) const FIELDS: &[ListingField] = &[$(ListingField {
            name: $name,
            columns: &[$(CellMeaning::$column),+],
            has: $has,
            key: fields!(@key $($may_lack $key)?),
        }),*];
    };
    (@key $may_lack:ident $key:literal) => {
        Some(RequiredField { name: $key, may_lack: LackTolerance::$may_lack })
    };
    (@key) => { None };
}

fields! {
    "vin" = [Vin], |v| v.vin.is_some(), Some may lack "VIN";
    "stock" = [Stock, OfferId], |v| v.stock.is_some();
    "vehicle_id" = [VehicleId, OfferId], |v| v.vehicle_id.is_some();
    "rooftop" = [Rooftop, DealerName, DealerId], |v| v.rooftop.is_some();
    "year" = [Year], |v| v.year.is_some(), Some may lack "model year";
    "make" = [Make], |v| v.make.is_some(), Some may lack "make";
    "model" = [Model], |v| v.model.is_some(), Some may lack "model";
    "trim" = [Trim], |v| v.trim.is_some();
    "body" = [Body], |v| v.body.is_some();
    "condition" = [Type, Certified, IsNew], |v| v.condition.is_some(), Some may lack "condition";
    "status" = [Status], |v| v.status.is_some();
    "price" = [OutTheDoor, InternetPrice, SellingPrice, Price, ListPrice, Fees, AddOns, Rebates, Currency],
        |v| v.price.is_some(), Some may lack "price";
    "msrp" = [Msrp], |v| v.msrp.is_some();
    "mileage" = [Mileage, MileageUnit], |v| v.mileage.is_some();
    "transmission" = [Transmission, TransmissionDescription], |v| v.transmission.is_some();
    "driveline" = [Drivetrain], |v| v.driveline.is_some();
    "engine" = [Engine, Displacement, Cylinders, Block, Aspiration], |v| v.engine.is_some();
    "fuel" = [Fuel], |v| v.fuel.is_some();
    "city_mpg" = [CityMpg], |v| v.city_mpg.is_some();
    "highway_mpg" = [HighwayMpg], |v| v.highway_mpg.is_some();
    "electric_range_mi" = [ElectricRange], |v| v.electric_range_mi.is_some();
    "exterior_color" = [ExteriorColor, ExteriorGeneric], |v| v.exterior_color.is_some();
    "interior_color" = [InteriorColor, InteriorGeneric], |v| v.interior_color.is_some();
    "seats" = [Seats], |v| v.others.contains_key(SEATS);
    "doors" = [Doors], |v| v.others.contains_key(DOORS);
    "features" = [Features, CategorizedOptions], |v| !v.features.is_empty();
    "photos" = [MainPhoto, Photos], |v| !v.photos.is_empty(), Most may lack "photo";
    "vdp_url" = [Link], |v| v.vdp_url.is_some();
    "description" = [Description], |v| v.description.is_some();
    "notes" = [Notes], |v| v.notes.is_some();
    "inventory_date" = [InStockSince], |v| v.inventory_date.is_some();
}

/// Set of the fields that a listing has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FieldSet(u32);

// One bit per field.
const _: () = assert!(FIELDS.len() <= u32::BITS as usize);

impl FieldSet {
    pub(super) fn from_vehicle(vehicle: &Vehicle) -> Self {
        let bits =
            FIELDS.iter().zip(0..).map(|(field, bit)| u32::from((field.has)(vehicle)) << bit);
        Self(bits.sum())
    }

    /// Returns the number of fields.
    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns the set with one more field.
    pub(super) fn with(self, name: &str) -> Self {
        let bit =
            FIELDS.iter().zip(0..).find(|(field, _)| field.name == name).map(|(_, bit)| 1 << bit);
        Self(self.0 | bit.unwrap_or_default())
    }
}

/// Returns for each field the columns that feed it, and how many of the units on offer have it.
pub(super) fn uses(
    offered: impl Iterator<Item = FieldSet>,
    columns: &[(ColumnUse, Option<CellMeaning>)],
) -> Vec<FieldUse> {
    let mut has = vec![0; FIELDS.len()];
    for FieldSet(bits) in offered {
        for (count, bit) in has.iter_mut().zip(0..) {
            *count += usize::from(bits >> bit & 1 == 1);
        }
    }
    let of = |(field, has): (&ListingField, usize)| FieldUse {
        field: field.name,
        has,
        columns: columns
            .iter()
            .filter(|(_, column)| column.is_some_and(|column| field.columns.contains(&column)))
            .map(|(column, _)| column.clone())
            .collect(),
    };
    FIELDS.iter().zip(has).map(of).collect()
}

/// Findings that speak against a feed.
#[derive(Debug, Default)]
pub(super) struct FeedDoubts {
    /// One text per missing field.
    pub(super) all: Vec<String>,
    /// The finding about photos.
    pub(super) of_photos: Option<String>,
}

/// Finds what speaks against a feed: most units lack a field by which buyers search, or no unit has
/// a photo. `without_price` units lack a price for a reason other than a misread column.
pub(super) fn doubts(uses: &[FieldUse], offered: usize, without_price: usize) -> FeedDoubts {
    let mut doubts = FeedDoubts::default();
    for (field, used) in FIELDS.iter().zip(uses) {
        let Some(RequiredField { name: key, may_lack }) = &field.key else {
            continue;
        };
        let meant = if *key == "price" { without_price } else { 0 };
        let lacking = offered.saturating_sub(used.has + meant);
        let is_enough = match may_lack {
            // Some units lack something in every feed. Where most do, a heading was misunderstood.
            LackTolerance::Some => lacking * 2 <= offered,
            LackTolerance::Most => lacking < offered,
        };
        if is_enough || offered == 0 {
            continue;
        }
        let names: Vec<String> =
            used.columns.iter().map(|column| format!("\"{}\"", column.column)).collect();
        let doubt = if names.is_empty() {
            format!("no column is understood as the {key}")
        } else {
            format!("{lacking} of {offered} units have no {key}, from {}", names.join(", "))
        };
        if field.name == "photos" {
            doubts.of_photos = Some(doubt.clone());
        }
        doubts.all.push(doubt);
    }
    doubts
}
