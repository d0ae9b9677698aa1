//! Storage of units between feed and inventory: compressed in blocks, because a large feed has too
//! many units for memory. Only one block at a time is decompressed.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use zstd_safe::{CCtx, DCtx};

use super::FeedUnit;

mod codec;

/// Size of a block in bytes before compression, plus at most one unit.
const BLOCK: usize = 64 * 1024;

/// Compression level of zstd. Blocks are short-lived; less effort is hardly faster and takes a
/// third more memory.
const LEVEL: i32 = 1;

/// Units in their order. Cheap to clone.
#[derive(Clone, Default)]
pub struct Units {
    blocks: Vec<Arc<UnitBlock>>,
    open: OpenBlock,
    len: usize,
    sold: usize,
}

/// A compressed block of units.
struct UnitBlock {
    packed: Box<[u8]>,
    /// Decompressed size in bytes.
    size: usize,
    units: usize,
    sold: usize,
}

/// The last units, not compressed yet.
#[derive(Clone, Default)]
struct OpenBlock {
    bytes: Vec<u8>,
    units: usize,
    sold: usize,
}

thread_local! {
    /// Kept per thread, because creating a context takes longer than compressing a block.
    static PACKER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
}

impl Units {
    /// Returns the number of units.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true when there are no units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of units on offer.
    #[must_use]
    pub fn offered(&self) -> usize {
        self.len - self.sold
    }

    /// Appends a unit.
    pub fn push(&mut self, unit: &FeedUnit) {
        codec::write(unit, &mut self.open.bytes);
        let sold = usize::from(unit.sold);
        self.open.units += 1;
        self.open.sold += sold;
        self.len += 1;
        self.sold += sold;
        if self.open.bytes.len() >= BLOCK {
            self.pack();
        }
    }

    /// Iterates over the units.
    #[must_use]
    pub fn iter(&self) -> UnitIter<'_> {
        let unpacker = DCtx::create();
        UnitIter { units: self, next: 0, text: Vec::new(), at: 0, left: 0, unpacker }
    }

    /// Returns all units decompressed. For small numbers.
    #[must_use]
    pub fn to_vec(&self) -> Vec<FeedUnit> {
        self.iter().collect()
    }

    /// Appends other units.
    pub(super) fn append(&mut self, other: Self) {
        if !other.blocks.is_empty() {
            self.pack();
            self.blocks.extend(other.blocks);
        }
        self.open.bytes.extend_from_slice(&other.open.bytes);
        self.open.units += other.open.units;
        self.open.sold += other.open.sold;
        self.len += other.len;
        self.sold += other.sold;
        if self.open.bytes.len() >= BLOCK {
            self.pack();
        }
    }

    /// Compresses the open block too, unless it is the only one: the caller that appends a few
    /// units compresses them together.
    pub(super) fn settled(mut self) -> Self {
        if !self.blocks.is_empty() {
            self.pack();
        }
        self
    }

    /// Returns the units with changes: `change` is called for the units whose place `is_changed`,
    /// and removes a unit by returning `None`.
    pub(super) fn changed(
        &self,
        is_changed: impl Fn(usize) -> bool,
        mut change: impl FnMut(usize, FeedUnit) -> Option<FeedUnit>,
    ) -> Self {
        let mut out = Self::default();
        let mut rewrite = |out: &mut Self, places: std::ops::Range<usize>, mut bytes: &[u8]| {
            for place in places {
                let unit = codec::read(&mut bytes);
                let kept = if is_changed(place) { change(place, unit) } else { Some(unit) };
                kept.iter().for_each(|unit| out.push(unit));
            }
        };
        let mut begun = 0;
        let mut unpacker = DCtx::create();
        let mut bytes = Vec::new();
        for block in &self.blocks {
            let places = begun..begun + block.units;
            begun = places.end;
            if places.clone().any(&is_changed) {
                block.unpack(&mut unpacker, &mut bytes);
                rewrite(&mut out, places, &bytes);
            } else {
                out.pack();
                out.blocks.push(Arc::clone(block));
                out.len += block.units;
                out.sold += block.sold;
            }
        }
        rewrite(&mut out, begun..self.len, &self.open.bytes);
        out
    }

    fn pack(&mut self) {
        if self.open.units == 0 {
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
        let units = self.open.units;
        let sold = self.open.sold;
        self.blocks.push(Arc::new(UnitBlock { packed, size, units, sold }));
        self.open.bytes.clear();
        self.open.units = 0;
        self.open.sold = 0;
    }
}

impl UnitBlock {
    fn unpack(&self, unpacker: &mut DCtx<'static>, into: &mut Vec<u8>) {
        into.clear();
        into.reserve(self.size);
        let done = unpacker.decompress(into, &self.packed);
        done.expect("a block is unpacked as it was packed");
    }
}

/// Iterator over units.
pub struct UnitIter<'u> {
    units: &'u Units,
    /// Index of the next block.
    next: usize,
    text: Vec<u8>,
    at: usize,
    /// Number of units in the rest of the text.
    left: usize,
    unpacker: DCtx<'static>,
}

impl Iterator for UnitIter<'_> {
    type Item = FeedUnit;

    fn next(&mut self) -> Option<FeedUnit> {
        while self.left == 0 {
            let blocks = &self.units.blocks;
            if let Some(block) = blocks.get(self.next) {
                block.unpack(&mut self.unpacker, &mut self.text);
                self.left = block.units;
            } else if self.next == blocks.len() {
                self.text.clone_from(&self.units.open.bytes);
                self.left = self.units.open.units;
            } else {
                return None;
            }
            self.next += 1;
            self.at = 0;
        }
        let mut rest = self.text.get(self.at..).unwrap_or_default();
        let unit = codec::read(&mut rest);
        self.at = self.text.len() - rest.len();
        self.left -= 1;
        Some(unit)
    }
}

impl<'u> IntoIterator for &'u Units {
    type Item = FeedUnit;
    type IntoIter = UnitIter<'u>;

    fn into_iter(self) -> UnitIter<'u> {
        self.iter()
    }
}

impl FromIterator<FeedUnit> for Units {
    fn from_iter<I: IntoIterator<Item = FeedUnit>>(units: I) -> Self {
        let mut this = Self::default();
        units.into_iter().for_each(|unit| this.push(&unit));
        this
    }
}

impl<T: AsRef<[FeedUnit]> + ?Sized> From<&T> for Units {
    fn from(units: &T) -> Self {
        let mut this = Self::default();
        units.as_ref().iter().for_each(|unit| this.push(unit));
        this
    }
}

impl From<&Self> for Units {
    fn from(units: &Self) -> Self {
        units.clone()
    }
}

impl PartialEq for Units {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other)
    }
}

impl PartialEq<Vec<FeedUnit>> for Units {
    fn eq(&self, other: &Vec<FeedUnit>) -> bool {
        self.len == other.len() && self.iter().eq(other.iter().cloned())
    }
}

impl fmt::Debug for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl fmt::Debug for UnitIter<'_> {
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

    fn units(count: usize) -> Vec<FeedUnit> {
        let now: Timestamp = "2026-11-20T17:00:00.123456789Z".parse().unwrap();
        // The demo crate is built with another copy of this one, whose types are not these.
        let generated = demo::units(count, 7, now).into_iter();
        let mut units: Vec<_> =
            generated.map(|unit| FeedUnit { vehicle: unit.vehicle, sold: unit.sold }).collect();
        for (unit, place) in units.iter_mut().zip(0..) {
            unit.vehicle.electric_range_mi = (place % 3 == 0).then_some(0.1 + f64::from(place));
            // Numbers keep their digits as written.
            let others: Value = json!({"seats": place, "odd": {"\u{e9}": [null, "x"]}});
            if place % 5 == 0 {
                unit.vehicle.others = others.as_object().unwrap().clone();
            }
        }
        units
    }

    #[test]
    fn units_come_back_as_they_were_in_their_order() {
        for count in [0, 1, 40, 700] {
            let expected = units(count);
            let packed = Units::from(&expected);
            assert_eq!(packed, expected);
            assert_eq!(packed.len(), expected.len());
            assert_eq!(packed.is_empty(), expected.is_empty());
            assert_eq!(packed.offered(), expected.iter().filter(|unit| !unit.sold).count());
            assert_eq!(packed.blocks.is_empty(), count < 100, "{count}");
        }
    }

    #[test]
    fn parts_are_put_together_wherever_they_were_cut() {
        let expected = units(700);
        for size in [1, 7, 50, 300, 1000] {
            let mut all = Units::default();
            for part in expected.chunks(size) {
                let mut part = Units::from(part);
                part = part.settled();
                all.append(part);
            }
            assert_eq!(all, expected, "{size}");
            assert_eq!(all.offered(), Units::from(&expected).offered());
        }
    }

    #[test]
    fn units_go_or_change_and_others_stay() {
        let all = units(700);
        let packed = Units::from(&all);
        for changed in [&[][..], &[0, 1, 299, 699], &(0..700).collect::<Vec<_>>()] {
            let mut expected = Vec::new();
            for (place, unit) in all.iter().enumerate() {
                let mut unit = unit.clone();
                if changed.contains(&place) {
                    unit.vehicle.trim = Some(place.to_string());
                    unit.sold ^= true;
                }
                if !changed.contains(&place) || place % 2 == 0 {
                    expected.push(unit);
                }
            }
            let found = packed.changed(
                |place| changed.contains(&place),
                |place, mut unit| {
                    unit.vehicle.trim = Some(place.to_string());
                    unit.sold ^= true;
                    (place % 2 == 0).then_some(unit)
                },
            );
            assert_eq!(found, expected);
            assert_eq!(found.offered(), Units::from(&expected).offered());
        }
    }

    #[test]
    fn a_large_feed_takes_a_fraction_of_its_bytes() {
        let packed = Units::from(&units(2_000));
        let taken: usize = packed.blocks.iter().map(|block| block.packed.len()).sum();
        let unpacked: usize = packed.blocks.iter().map(|block| block.size).sum();
        assert!(packed.open.bytes.len() < BLOCK && taken * 5 < unpacked, "{taken} of {unpacked}");
    }
}
