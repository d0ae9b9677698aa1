//! Storage of listings between feed and inventory: compressed in blocks, because a large feed has too
//! many listings for memory. Only one block at a time is decompressed.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use zstd_safe::{CCtx, DCtx};

use super::FeedListing;

mod codec;

/// Size of a block in bytes before compression, plus at most one listing.
const BLOCK: usize = 64 * 1024;

/// Compression level of zstd. Blocks are short-lived; less effort is hardly faster and takes a
/// third more memory.
const LEVEL: i32 = 1;

/// Listings in their order. Cheap to clone.
#[derive(Clone, Default)]
pub struct PackedListings {
    blocks: Vec<Arc<ListingBlock>>,
    open: OpenBlock,
    len: usize,
    sold: usize,
}

/// A compressed block of listings.
struct ListingBlock {
    packed: Box<[u8]>,
    /// Decompressed size in bytes.
    size: usize,
    listings: usize,
    sold: usize,
}

/// The last listings, not compressed yet.
#[derive(Clone, Default)]
struct OpenBlock {
    bytes: Vec<u8>,
    listings: usize,
    sold: usize,
}

thread_local! {
    /// Kept per thread, because creating a context takes longer than compressing a block.
    static PACKER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
}

impl PackedListings {
    /// Returns the number of listings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true when there are no listings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of listings on offer.
    #[must_use]
    pub fn offered(&self) -> usize {
        self.len - self.sold
    }

    /// Appends a listing.
    pub fn push(&mut self, listing: &FeedListing) {
        codec::write(listing, &mut self.open.bytes);
        let sold = usize::from(listing.sold);
        self.open.listings += 1;
        self.open.sold += sold;
        self.len += 1;
        self.sold += sold;
        if self.open.bytes.len() >= BLOCK {
            self.pack();
        }
    }

    /// Iterates over the listings.
    #[must_use]
    pub fn iter(&self) -> ListingIter<'_> {
        let unpacker = DCtx::create();
        ListingIter { listings: self, next: 0, text: Vec::new(), at: 0, left: 0, unpacker }
    }

    /// Returns all listings decompressed. For small numbers.
    #[must_use]
    pub fn to_vec(&self) -> Vec<FeedListing> {
        self.iter().collect()
    }

    /// Appends other listings.
    pub(super) fn append(&mut self, other: Self) {
        if !other.blocks.is_empty() {
            self.pack();
            self.blocks.extend(other.blocks);
        }
        self.open.bytes.extend_from_slice(&other.open.bytes);
        self.open.listings += other.open.listings;
        self.open.sold += other.open.sold;
        self.len += other.len;
        self.sold += other.sold;
        if self.open.bytes.len() >= BLOCK {
            self.pack();
        }
    }

    /// Compresses the open block too, unless it is the only one: the caller that appends a few
    /// listings compresses them together.
    pub(super) fn settled(mut self) -> Self {
        if !self.blocks.is_empty() {
            self.pack();
        }
        self
    }

    /// Returns the listings with changes: `change` is called for the listings whose place `is_changed`,
    /// and removes a listing by returning `None`.
    pub(super) fn changed(
        &self,
        is_changed: impl Fn(usize) -> bool,
        mut change: impl FnMut(usize, FeedListing) -> Option<FeedListing>,
    ) -> Self {
        let mut out = Self::default();
        let mut rewrite = |out: &mut Self, places: std::ops::Range<usize>, mut bytes: &[u8]| {
            for place in places {
                let listing = codec::read(&mut bytes);
                let kept = if is_changed(place) { change(place, listing) } else { Some(listing) };
                kept.iter().for_each(|listing| out.push(listing));
            }
        };
        let mut begun = 0;
        let mut unpacker = DCtx::create();
        let mut bytes = Vec::new();
        for block in &self.blocks {
            let places = begun..begun + block.listings;
            begun = places.end;
            if places.clone().any(&is_changed) {
                block.unpack(&mut unpacker, &mut bytes);
                rewrite(&mut out, places, &bytes);
            } else {
                out.pack();
                out.blocks.push(Arc::clone(block));
                out.len += block.listings;
                out.sold += block.sold;
            }
        }
        rewrite(&mut out, begun..self.len, &self.open.bytes);
        out
    }

    fn pack(&mut self) {
        if self.open.listings == 0 {
            return;
        }
        let bytes = &self.open.bytes;
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(bytes.len()));
        PACKER.with_borrow_mut(|packer| {
            let done = packer.compress(&mut packed, bytes, LEVEL);
            done.expect("there is as much room as zstd asks for");
        });
        // Copied, because the buffer that zstd needs is larger than the uncompressed bytes.
        let packed = packed.as_slice().into();
        let size = bytes.len();
        let listings = self.open.listings;
        let sold = self.open.sold;
        self.blocks.push(Arc::new(ListingBlock { packed, size, listings, sold }));
        self.open.bytes.clear();
        self.open.listings = 0;
        self.open.sold = 0;
    }
}

impl ListingBlock {
    fn unpack(&self, unpacker: &mut DCtx<'static>, into: &mut Vec<u8>) {
        into.clear();
        into.reserve(self.size);
        let done = unpacker.decompress(into, &self.packed);
        done.expect("a block is unpacked as it was packed");
    }
}

/// Iterator over listings.
pub struct ListingIter<'u> {
    listings: &'u PackedListings,
    /// Index of the next block.
    next: usize,
    text: Vec<u8>,
    at: usize,
    /// Number of listings in the rest of the text.
    left: usize,
    unpacker: DCtx<'static>,
}

impl Iterator for ListingIter<'_> {
    type Item = FeedListing;

    fn next(&mut self) -> Option<FeedListing> {
        while self.left == 0 {
            let blocks = &self.listings.blocks;
            if let Some(block) = blocks.get(self.next) {
                block.unpack(&mut self.unpacker, &mut self.text);
                self.left = block.listings;
            } else if self.next == blocks.len() {
                self.text.clone_from(&self.listings.open.bytes);
                self.left = self.listings.open.listings;
            } else {
                return None;
            }
            self.next += 1;
            self.at = 0;
        }
        let mut rest = self.text.get(self.at..).unwrap_or_default();
        let listing = codec::read(&mut rest);
        self.at = self.text.len() - rest.len();
        self.left -= 1;
        Some(listing)
    }
}

impl<'u> IntoIterator for &'u PackedListings {
    type Item = FeedListing;
    type IntoIter = ListingIter<'u>;

    fn into_iter(self) -> ListingIter<'u> {
        self.iter()
    }
}

impl FromIterator<FeedListing> for PackedListings {
    fn from_iter<I: IntoIterator<Item = FeedListing>>(listings: I) -> Self {
        let mut this = Self::default();
        listings.into_iter().for_each(|listing| this.push(&listing));
        this
    }
}

impl<T: AsRef<[FeedListing]> + ?Sized> From<&T> for PackedListings {
    fn from(listings: &T) -> Self {
        let mut this = Self::default();
        listings.as_ref().iter().for_each(|listing| this.push(listing));
        this
    }
}

impl From<&Self> for PackedListings {
    fn from(listings: &Self) -> Self {
        listings.clone()
    }
}

impl PartialEq for PackedListings {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other)
    }
}

impl PartialEq<Vec<FeedListing>> for PackedListings {
    fn eq(&self, other: &Vec<FeedListing>) -> bool {
        self.len == other.len() && self.iter().eq(other.iter().cloned())
    }
}

impl fmt::Debug for PackedListings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl fmt::Debug for ListingIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("next", &self.next).field("left", &self.left).finish()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tradepost_demo::dealer as demo;
    use tradepost_document::json::{Value, json};

    use super::*;

    fn listings(count: usize) -> Vec<FeedListing> {
        let now: Timestamp = "2026-11-20T17:00:00.123456789Z".parse().unwrap();
        // The demo crate is built with another copy of this one, whose types are not these.
        let generated = demo::listings(count, 7, now).into_iter();
        let mut listings: Vec<_> = generated
            .map(|listing| FeedListing { vehicle: listing.vehicle, sold: listing.sold })
            .collect();
        for (listing, place) in listings.iter_mut().zip(0..) {
            listing.vehicle.electric_range_mi = (place % 3 == 0).then_some(0.1 + f64::from(place));
            // Numbers keep their digits as written.
            let others: Value = json!({"seats": place, "odd": {"\u{e9}": [null, "x"]}});
            if place % 5 == 0 {
                listing.vehicle.others = others.as_object().unwrap().clone();
            }
        }
        listings
    }

    #[test]
    fn units_come_back_as_they_were_in_their_order() {
        for count in [0, 1, 40, 700] {
            let expected = listings(count);
            let packed = PackedListings::from(&expected);
            assert_eq!(packed, expected);
            assert_eq!(packed.len(), expected.len());
            assert_eq!(packed.is_empty(), expected.is_empty());
            assert_eq!(packed.offered(), expected.iter().filter(|listing| !listing.sold).count());
            assert_eq!(packed.blocks.is_empty(), count < 100, "{count}");
        }
    }

    #[test]
    fn parts_are_put_together_wherever_they_were_cut() {
        let expected = listings(700);
        for size in [1, 7, 50, 300, 1000] {
            let mut all = PackedListings::default();
            for part in expected.chunks(size) {
                let mut part = PackedListings::from(part);
                part = part.settled();
                all.append(part);
            }
            assert_eq!(all, expected, "{size}");
            assert_eq!(all.offered(), PackedListings::from(&expected).offered());
        }
    }

    #[test]
    fn units_go_or_change_and_others_stay() {
        let all = listings(700);
        let packed = PackedListings::from(&all);
        for changed in [&[][..], &[0, 1, 299, 699], &(0..700).collect::<Vec<_>>()] {
            let mut expected = Vec::new();
            for (place, listing) in all.iter().enumerate() {
                let mut listing = listing.clone();
                if changed.contains(&place) {
                    listing.vehicle.trim = Some(place.to_string());
                    listing.sold ^= true;
                }
                if !changed.contains(&place) || place % 2 == 0 {
                    expected.push(listing);
                }
            }
            let found = packed.changed(
                |place| changed.contains(&place),
                |place, mut listing| {
                    listing.vehicle.trim = Some(place.to_string());
                    listing.sold ^= true;
                    (place % 2 == 0).then_some(listing)
                },
            );
            assert_eq!(found, expected);
            assert_eq!(found.offered(), PackedListings::from(&expected).offered());
        }
    }

    #[test]
    fn a_large_feed_takes_a_fraction_of_its_bytes() {
        let packed = PackedListings::from(&listings(2_000));
        let taken: usize = packed.blocks.iter().map(|block| block.packed.len()).sum();
        let unpacked: usize = packed.blocks.iter().map(|block| block.size).sum();
        assert!(packed.open.bytes.len() < BLOCK && taken * 5 < unpacked, "{taken} of {unpacked}");
    }
}
