//! The fields of a listing: which columns feed each, how full they are, and which ones a feed
//! cannot do without.

use tradepost_wire::aap::Vehicle;

use super::columns::Column;
use super::report::{ColumnUse, FieldUse};

/// A field of a listing.
pub(super) struct Field {
    name: &'static str,
    columns: &'static [Column],
    /// Whether a listing has it.
    has: fn(&Vehicle) -> bool,
    /// What it is called where no feed may lack it: buyers search by it.
    key: Option<&'static str>,
}

macro_rules! fields {
    ($( $name:literal = [$($column:ident),+], $has:expr $(, key $key:literal)?; )*) => {
        /// Every field that a feed can fill.
        pub(super) const FIELDS: &[Field] = &[$(Field {
            name: $name,
            columns: &[$(Column::$column),+],
            has: $has,
            key: fields!(@key $($key)?),
        }),*];
    };
    (@key $key:literal) => { Some($key) };
    (@key) => { None };
}

fields! {
    "vin" = [Vin], |v| v.vin.is_some(), key "VIN";
    "stock" = [Stock], |v| v.stock.is_some();
    "vehicle_id" = [VehicleId], |v| v.vehicle_id.is_some();
    "rooftop" = [Rooftop, DealerName, DealerId], |v| v.rooftop.is_some();
    "year" = [Year], |v| v.year.is_some();
    "make" = [Make], |v| v.make.is_some(), key "make";
    "model" = [Model], |v| v.model.is_some(), key "model";
    "trim" = [Trim], |v| v.trim.is_some();
    "body" = [Body], |v| v.body.is_some();
    "condition" = [Type, Certified, IsNew], |v| v.condition.is_some(), key "condition";
    "status" = [Status], |v| v.status.is_some();
    "price" = [OutTheDoor, InternetPrice, SellingPrice, Price, ListPrice, Fees, AddOns, Rebates, Currency],
        |v| v.price.is_some(), key "price";
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
    "features" = [Features, CategorizedOptions], |v| !v.features.is_empty();
    "photos" = [Photos], |v| !v.photos.is_empty();
    "vdp_url" = [Link], |v| v.vdp_url.is_some();
    "description" = [Description], |v| v.description.is_some();
    "notes" = [Notes], |v| v.notes.is_some();
    "inventory_date" = [InStockSince], |v| v.inventory_date.is_some();
}

/// Which of its fields a listing has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Set(u32);

// A bit for each.
const _: () = assert!(FIELDS.len() <= u32::BITS as usize);

impl Set {
    pub(super) fn of(vehicle: &Vehicle) -> Self {
        let bits =
            FIELDS.iter().zip(0..).map(|(field, bit)| u32::from((field.has)(vehicle)) << bit);
        Self(bits.sum())
    }

    /// How many they are.
    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The same, and the one that is called so.
    pub(super) fn with(self, name: &str) -> Self {
        let bit =
            FIELDS.iter().zip(0..).find(|(field, _)| field.name == name).map(|(_, bit)| 1 << bit);
        Self(self.0 | bit.unwrap_or_default())
    }
}

/// Which columns fed each field, and how many of the units on offer have it.
pub(super) fn uses(
    offered: impl Iterator<Item = Set>,
    columns: &[(ColumnUse, Option<Column>)],
) -> Vec<FieldUse> {
    let mut has = vec![0; FIELDS.len()];
    for Set(bits) in offered {
        for (count, bit) in has.iter_mut().zip(0..) {
            *count += usize::from(bits >> bit & 1 == 1);
        }
    }
    let of = |(field, has): (&Field, usize)| FieldUse {
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

/// What speaks against a feed: a field by which buyers search, and which most of the units lack.
/// `withheld` of them have a word such as `Call` for a price, which is the dealer's decision.
pub(super) fn doubts(uses: &[FieldUse], offered: usize, withheld: usize) -> Vec<String> {
    let mut doubts = Vec::new();
    for (field, used) in FIELDS.iter().zip(uses) {
        let Some(key) = field.key else {
            continue;
        };
        let meant = if key == "price" { withheld } else { 0 };
        let lacking = offered.saturating_sub(used.has + meant);
        // Some units lack something in every feed. Where most do, a heading was misunderstood.
        if lacking * 2 <= offered {
            continue;
        }
        let names: Vec<String> =
            used.columns.iter().map(|column| format!("\"{}\"", column.column)).collect();
        doubts.push(if names.is_empty() {
            format!("no column is understood as the {key}")
        } else {
            format!("{lacking} of {offered} units have no {key}, from {}", names.join(", "))
        });
    }
    doubts
}
