//! The fields of a listing: which columns feed each, how full they are, and which ones a feed
//! cannot do without.

use tradepost_wire::aap::Vehicle;

use super::columns::Column;
use super::report::{ColumnUse, FieldUse};

/// The member of a listing that says how many persons have a seat. AAP has none, and is open to it.
pub(super) const SEATS: &str = "seats";

/// The member of a listing that says how many doors it has. AAP has none, and is open to it.
pub(super) const DOORS: &str = "doors";

/// A field of a listing.
pub(super) struct Field {
    name: &'static str,
    columns: &'static [Column],
    /// Whether a listing has it.
    has: fn(&Vehicle) -> bool,
    /// What it is called where no feed may lack it, and how many of its units may.
    key: Option<Key>,
}

/// A field that no feed may lack.
struct Key {
    /// What people call it.
    name: &'static str,
    may_lack: MayLack,
}

/// How many of the units of a feed may lack a field.
enum MayLack {
    /// Some: buyers search by it.
    Some,
    /// Most, as those that are new on the lot lack photos; but not all.
    Most,
}

macro_rules! fields {
    ($( $name:literal = [$($column:ident),+], $has:expr $(, $may_lack:ident may lack $key:literal)?; )*) => {
        /// Every field that a feed can fill.
        pub(super) const FIELDS: &[Field] = &[$(Field {
            name: $name,
            columns: &[$(Column::$column),+],
            has: $has,
            key: fields!(@key $($may_lack $key)?),
        }),*];
    };
    (@key $may_lack:ident $key:literal) => {
        Some(Key { name: $key, may_lack: MayLack::$may_lack })
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

/// What speaks against a feed.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Each field that it lacks.
    pub(super) all: Vec<String>,
    /// The one of them that is about photos.
    pub(super) of_photos: Option<String>,
}

/// What speaks against a feed: a field by which buyers search and which most of the units lack, or that
/// no unit has a photo. `without_price` of them have none for a reason that is no sign of a column that
/// is misread.
pub(super) fn doubts(uses: &[FieldUse], offered: usize, without_price: usize) -> Doubts {
    let mut doubts = Doubts::default();
    for (field, used) in FIELDS.iter().zip(uses) {
        let Some(Key { name: key, may_lack }) = &field.key else {
            continue;
        };
        let meant = if *key == "price" { without_price } else { 0 };
        let lacking = offered.saturating_sub(used.has + meant);
        let is_enough = match may_lack {
            // Some units lack something in every feed. Where most do, a heading was misunderstood.
            MayLack::Some => lacking * 2 <= offered,
            MayLack::Most => lacking < offered,
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
