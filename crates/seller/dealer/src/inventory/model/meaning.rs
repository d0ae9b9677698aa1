//! Evaluation of a query's predicate on a listing.

use super::*;
use crate::query::economy::{combined_mpg, whole_miles};
use crate::query::fold::phrase_key;
use crate::query::seats::seats;
use crate::query::stated::stated_numbers;
use crate::query::{NumericAttribute, Predicate};

/// Returns true when a vehicle satisfies a predicate.
pub(super) fn means(inventory: &Inventory, v: &Vehicle, meaning: &Predicate) -> bool {
    let has = |attribute: Attribute, id: u32| {
        let text = match attribute {
            Attribute::Make => &v.make,
            Attribute::Model => &v.model,
            Attribute::Trim => &v.trim,
            Attribute::Condition => &v.condition.map(|condition| condition.name().to_owned()),
            Attribute::Transmission => &v.transmission,
            Attribute::Fuel => &v.fuel,
            Attribute::Driveline => &v.driveline,
            Attribute::Body => &v.body,
            Attribute::ExteriorColor => &v.exterior_color,
            Attribute::InteriorColor => &v.interior_color,
            Attribute::Rooftop => &v.rooftop,
            Attribute::Engine => &v.engine,
            Attribute::Feature => {
                let wanted = inventory.index.features.names().nth(id as usize).unwrap().1;
                return v.features.iter().any(|feature| tidy(feature) == wanted);
            }
        };
        let keys = &inventory.index.text(attribute).unwrap().keys;
        key(attribute.field(), text).as_deref() == Some(keys.get(id as usize))
    };
    match meaning {
        Predicate::All(groups) => {
            groups.iter().all(|group| group.iter().any(|m| means(inventory, v, m)))
        }
        Predicate::Values(values) => values.iter().any(|value| has(value.attribute, value.id)),
        Predicate::Pair { make, model } => {
            has(Attribute::Make, *make) && has(Attribute::Model, *model)
        }
        Predicate::Number(number, (min, max)) => {
            let value = match number {
                NumericAttribute::Price => v.price,
                NumericAttribute::Mileage => v.mileage,
                NumericAttribute::Year => v.year.map(u32::from),
                NumericAttribute::Seats => seats(v).seats,
                NumericAttribute::Rows => seats(v).rows,
                NumericAttribute::Doors => stated_numbers(v).doors,
                NumericAttribute::CityMpg => v.city_mpg,
                NumericAttribute::HighwayMpg => v.highway_mpg,
                NumericAttribute::CombinedMpg => combined_mpg(v.city_mpg, v.highway_mpg),
                NumericAttribute::ElectricRange => whole_miles(v.electric_range_mi),
                NumericAttribute::Towing => stated_numbers(v).towing,
                NumericAttribute::Horsepower => stated_numbers(v).horsepower,
                NumericAttribute::Owners => stated_numbers(v).owners,
                NumericAttribute::Accidents => stated_numbers(v).accidents,
            };
            value.is_some_and(|value| within(Some(value), *min, *max))
        }
        Predicate::Stock(wanted) => {
            v.stock.as_ref().is_some_and(|stock| phrase_key(stock) == *wanted)
        }
        Predicate::VinEnd(end) => {
            v.vin.as_ref().is_some_and(|vin| vin.to_lowercase().ends_with(end))
        }
        Predicate::VinStart(start) => {
            v.vin.as_ref().is_some_and(|vin| vin.to_lowercase().starts_with(start))
        }
    }
}
