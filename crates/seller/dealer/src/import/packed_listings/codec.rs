//! Serialisation of a listing to bytes and back. Nothing is left out, because these bytes are the only
//! copy. They never leave the process, so they are read without validation.

use jiff::Timestamp;
use tradepost_aap::Vehicle;
use tradepost_aap::vehicle::{AnyCondition, ListingStatus};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{self, Map};

use crate::import::FeedListing;

/// Invariant: the bytes were written by this module in this process.
const WRITTEN: &str = "a unit is read as it was written";

/// Appends a listing.
pub(super) fn write(listing: &FeedListing, out: &mut Vec<u8>) {
    out.push(u8::from(listing.sold));
    write_vehicle(&listing.vehicle, out);
}

/// Reads the next listing.
pub(super) fn read(from: &mut &[u8]) -> FeedListing {
    let [sold] = array(from);
    FeedListing { vehicle: read_vehicle(from), sold: sold == 1 }
}

/// Declares how a listing is written and read: member after member, in the order of this list.
macro_rules! listing_codec {
    ($($member:ident),+ $(,)?) => {
        fn write_vehicle(vehicle: &Vehicle, out: &mut Vec<u8>) {
            // Without `..`, so that a new member of listings cannot be forgotten here.
            let Vehicle { $($member),+ } = vehicle;
            $($member.write(out);)+
        }

        fn read_vehicle(from: &mut &[u8]) -> Vehicle {
            Vehicle { $($member: ListingMember::read(from)),+ }
        }
    };
}

listing_codec! {
    dealer_id, vehicle_id, vin, stock, rooftop, year, make, model, trim, body, condition, status, msrp,
    list_price, price, mileage, transmission, driveline, engine, fuel, city_mpg, highway_mpg,
    electric_range_mi, exterior_color, interior_color, features, photos, vdp_url, description, notes,
    inventory_date, updated_at, others,
}

/// A member of a listing.
trait ListingMember: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn read(from: &mut &[u8]) -> Self;
}

impl<T: ListingMember> ListingMember for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(member) = self {
            member.write(out);
        }
    }

    fn read(from: &mut &[u8]) -> Self {
        (array(from) == [1]).then(|| T::read(from))
    }
}

impl ListingMember for String {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.len().to_le_bytes());
        out.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut &[u8]) -> Self {
        let size = usize::from_le_bytes(array(from));
        let (text, rest) = from.split_at_checked(size).expect(WRITTEN);
        *from = rest;
        Self::from_utf8(text.to_vec()).expect(WRITTEN)
    }
}

impl ListingMember for Vec<String> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.len().to_le_bytes());
        self.iter().for_each(|text| text.write(out));
    }

    fn read(from: &mut &[u8]) -> Self {
        (0..usize::from_le_bytes(array(from))).map(|_| String::read(from)).collect()
    }
}

impl ListingMember for u16 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(from: &mut &[u8]) -> Self {
        Self::from_le_bytes(array(from))
    }
}

impl ListingMember for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(from: &mut &[u8]) -> Self {
        Self::from_le_bytes(array(from))
    }
}

impl ListingMember for f64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(from: &mut &[u8]) -> Self {
        Self::from_le_bytes(array(from))
    }
}

impl ListingMember for AnyCondition {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn read(from: &mut &[u8]) -> Self {
        row(Self::ALL, from)
    }
}

impl ListingMember for ListingStatus {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn read(from: &mut &[u8]) -> Self {
        row(Self::ALL, from)
    }
}

/// Reads a row of a vocabulary.
fn row<T: Copy>(all: &[T], from: &mut &[u8]) -> T {
    let [row] = array(from);
    *all.get(usize::from(row)).expect(WRITTEN)
}

impl ListingMember for Timestamp {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.as_second().to_le_bytes());
        out.extend_from_slice(&self.subsec_nanosecond().to_le_bytes());
    }

    fn read(from: &mut &[u8]) -> Self {
        let second = i64::from_le_bytes(array(from));
        let nanosecond = i32::from_le_bytes(array(from));
        Self::new(second, nanosecond).expect(WRITTEN)
    }
}

impl ListingMember for Map {
    fn write(&self, out: &mut Vec<u8>) {
        // Few listings of a feed have additional members.
        let text = (!self.is_empty()).then(|| json::to_string(self).unwrap_or_default());
        text.write(out);
    }

    fn read(from: &mut &[u8]) -> Self {
        let text = Option::<String>::read(from);
        text.map_or_else(Self::new, |text| json::from_str(&text).expect(WRITTEN))
    }
}

fn array<const N: usize>(from: &mut &[u8]) -> [u8; N] {
    let (array, rest) = from.split_first_chunk().expect(WRITTEN);
    *from = rest;
    *array
}
