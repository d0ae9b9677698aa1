//! The columns of an inventory: one table for text attributes and one for numeric ones. A struct
//! with one value per column has a named field for each, and iterates over them in the order of the
//! table.

use std::convert::identity;

use tradepost_aap::Vehicle;
use tradepost_document::catalog::Vocabulary;

use super::column::{NumberColumn, TextColumn};
use super::gather::InternedTexts;
use crate::query::economy::{combined_mpg, whole_miles};
use crate::query::fold::TextKind;
use crate::query::seats::Seats;
use crate::query::stated::StatedNumbers;

/// Declares a struct with one value per column. Each row says how the column is built, and which
/// value of a listing it takes.
macro_rules! columns {
    (
        $(#[doc = $doc:literal])+
        struct $name:ident, made by $made:ty, gathered in $gathered:ty, from ($($from:ident: $of:ty),+)
        $($member:ident = $how:expr, $said:expr;)+
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Default)]
        pub(super) struct $name<T> { $(pub(super) $member: T),+ }

        impl<T> $name<T> {
            /// Iterates over the values in the order of the table.
            pub(super) fn each(&self) -> impl Iterator<Item = &T> {
                [$(&self.$member),+].into_iter()
            }

            /// Iterates mutably over the values in the order of the table.
            pub(super) fn each_mut(&mut self) -> impl Iterator<Item = &mut T> {
                [$(&mut self.$member),+].into_iter()
            }

            /// Converts each value, dropping the old one before the next is converted.
            pub(super) fn map<U>(self, mut make: impl FnMut($made, T) -> U) -> $name<U> {
                $name { $($member: make($how, self.$member)),+ }
            }

            /// Converts each value, and stops at the first error.
            pub(super) fn try_map<U, E>(
                self,
                mut make: impl FnMut($made, T) -> Result<U, E>,
            ) -> Result<$name<U>, E> {
                Ok($name { $($member: make($how, self.$member)?),+ })
            }
        }

        impl $name<$gathered> {
            /// Adds the values of a listing.
            pub(super) fn push(&mut self, $($from: $of),+) {
                $(self.$member.push($said);)+
            }
        }
    };
}

columns! {
    /// One value per text attribute.
    struct ByText, made by (TextKind, fn(TextColumn) -> TextColumn), gathered in InternedTexts, from (vehicle: &Vehicle)
    make = (TextKind::Make, identity), vehicle.make.as_deref();
    model = (TextKind::Plain, identity), vehicle.model.as_deref();
    trim = (TextKind::Plain, TextColumn::for_filters), vehicle.trim.as_deref();
    condition = (TextKind::Condition, TextColumn::for_filters), vehicle.condition.map(Vocabulary::name);
    status = (TextKind::Plain, TextColumn::for_filters), vehicle.status.map(Vocabulary::name);
    transmission = (TextKind::Transmission, TextColumn::for_filters), vehicle.transmission.as_deref();
    fuel = (TextKind::Fuel, TextColumn::for_filters), vehicle.fuel.as_deref();
    driveline = (TextKind::Driveline, TextColumn::for_filters), vehicle.driveline.as_deref();
    body = (TextKind::Body, TextColumn::for_filters), vehicle.body.as_deref();
    exterior_color = (TextKind::Colour, TextColumn::for_filters), vehicle.exterior_color.as_deref();
    interior_color = (TextKind::Colour, TextColumn::for_filters), vehicle.interior_color.as_deref();
    rooftop = (TextKind::Plain, TextColumn::for_filters), vehicle.rooftop.as_deref();
    engine = (TextKind::Plain, TextColumn::for_filters), vehicle.engine.as_deref();
}

columns! {
    /// One value per numeric attribute.
    struct ByNumber, made by fn(NumberColumn) -> NumberColumn, gathered in Vec<Option<u32>>, from (vehicle: &Vehicle, room: Seats, stated: StatedNumbers)
    year = NumberColumn::for_ranges, vehicle.year.map(u32::from);
    price = NumberColumn::for_ranges, vehicle.price;
    list_price = identity, vehicle.list_price;
    msrp = identity, vehicle.msrp;
    mileage = NumberColumn::for_ranges, vehicle.mileage;
    seats = NumberColumn::for_filters, room.seats;
    rows_of_seats = NumberColumn::for_filters, room.rows;
    doors = NumberColumn::for_filters, stated.doors;
    city_mpg = NumberColumn::for_filters, vehicle.city_mpg;
    highway_mpg = NumberColumn::for_filters, vehicle.highway_mpg;
    combined_mpg = NumberColumn::for_filters, combined_mpg(vehicle.city_mpg, vehicle.highway_mpg);
    electric_range = NumberColumn::for_filters, whole_miles(vehicle.electric_range_mi);
    towing = NumberColumn::for_filters, stated.towing;
    horsepower = NumberColumn::for_filters, stated.horsepower;
    owners = NumberColumn::for_filters, stated.owners;
    accidents = NumberColumn::for_filters, stated.accidents;
}
