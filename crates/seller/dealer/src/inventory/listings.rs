//! Listings as JSON, compressed one by one; recently requested ones are cached uncompressed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tradepost_aap::inventory::ListedVehicle;
use tradepost_aap::{AapReply, RawJson};

use super::answer_cache::{ANSWERS, AnswerCache, CacheKey};
use super::snapshot::SnapshotError;
use crate::compressed::{
    CompressionError, Compressor, DecompressScratch, Decompressor, Dictionary,
};

/// A dealer's listings by row.
#[derive(Debug)]
pub(super) struct Listings {
    pub(super) dictionary: Dictionary,
    unpacker: Decompressor,
    pub(super) packed: Vec<u8>,
    /// End of each row's listing in `packed`.
    pub(super) ends: Vec<u64>,
    recent: Arc<InventoryCache>,
    /// Name of these listings in the cache.
    name: u64,
}

impl Listings {
    /// Restores compressed listings; `None` when the data is inconsistent.
    pub(super) fn new(dictionary: Dictionary, packed: Vec<u8>, ends: Vec<u64>) -> Option<Self> {
        let is_ordered =
            ends.is_sorted() && ends.last().copied().unwrap_or(0) == packed.len() as u64;
        let unpacker = Decompressor::new(&dictionary).ok().filter(|_| is_ordered)?;
        let recent = Arc::new(InventoryCache::none());
        Some(Self { dictionary, unpacker, packed, ends, name: recent.name(), recent })
    }

    /// Returns the listings with a shared cache.
    pub(super) fn remembered_in(self, recent: &Arc<InventoryCache>) -> Self {
        Self { name: recent.name(), recent: Arc::clone(recent), ..self }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the listing of a row.
    pub(super) fn get(&self, row: u32) -> Result<ListedVehicle, SnapshotError> {
        if let Some(listing) = self.recent.get(self.name, row) {
            return Ok(listing);
        }
        let row_end = |row: usize| self.ends.get(row).copied();
        let start = (row as usize).checked_sub(1).map_or(Some(0), row_end);
        let end = row_end(row as usize);
        let packed = start.zip(end).and_then(|(start, end)| {
            self.packed.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
        });
        let text = self
            .recent
            .unpack(&self.unpacker, packed.unwrap_or_default())
            .map_err(|_| SnapshotError("a listing cannot be unpacked"))?;
        let listing =
            RawJson::from_text(text).map_err(|_| SnapshotError("a listing is no JSON"))?;
        let listing = ListedVehicle::new(listing);
        self.recent.put(self.name, row, &listing);
        Ok(listing)
    }

    /// Returns the cached answer, or the answer of `work`.
    pub(super) fn cached_or(
        &self,
        question: &CacheKey,
        work: impl FnOnce() -> Result<AapReply, SnapshotError>,
    ) -> Result<AapReply, SnapshotError> {
        self.recent.answers.answer(self.name, question, work)
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.packed.capacity()
            + self.ends.capacity() * size_of::<u64>()
            + self.dictionary.as_bytes().len()
            + self.unpacker.bytes()
    }
}

impl Default for Listings {
    fn default() -> Self {
        let none = Self::new(Dictionary::default(), Vec::new(), Vec::new());
        none.expect("the empty dictionary is one")
    }
}

/// Compresses listings one after another.
#[derive(Debug)]
pub(super) struct ListingCompressor {
    dictionary: Dictionary,
    packer: Compressor,
    packed: Vec<u8>,
    ends: Vec<u64>,
    /// Expected number of listings.
    expected: usize,
}

/// Number of listings after which the total size is estimated.
const ESTIMATED: usize = 256;

impl ListingCompressor {
    pub(super) fn new(dictionary: Dictionary, expected: usize) -> Self {
        let packer = Compressor::new(&dictionary);
        let packed = Vec::new();
        Self { packer, dictionary, packed, ends: Vec::with_capacity(expected), expected }
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), CompressionError> {
        self.packed.extend(self.packer.pack(text)?);
        self.ends.push(self.packed.len() as u64);
        if self.ends.len() == ESTIMATED {
            // Reserved at once, because growing briefly doubles the memory. A tenth more, because
            // listings differ in size.
            let all = self.packed.len() / ESTIMATED * self.expected;
            self.packed.reserve_exact((all + all / 10).saturating_sub(self.packed.len()));
        }
        Ok(())
    }

    /// Returns the listings, reordered if an order is given.
    pub(super) fn finish(mut self, order: Option<&[u32]>) -> Option<Listings> {
        if let Some(order) = order {
            let end = |row: usize| self.ends.get(row).copied().unwrap_or_default();
            let mut packed = Vec::with_capacity(self.packed.len());
            let mut ends = Vec::new();
            for row in order {
                let row = *row as usize;
                let start = row.checked_sub(1).map_or(0, end);
                let place = usize::try_from(start).ok()?..usize::try_from(end(row)).ok()?;
                packed.extend_from_slice(self.packed.get(place)?);
                ends.push(packed.len() as u64);
            }
            self.packed = packed;
            self.ends = ends;
        }
        self.packed.shrink_to_fit();
        self.ends.shrink_to_fit();
        Listings::new(self.dictionary, self.packed, self.ends)
    }
}

/// Cache of recent listings and answers, shared by all inventories of a process, so that frequent
/// ones are not decompressed or computed each time. Each listing has one slot, where it displaces
/// the previous one.
#[derive(Debug)]
pub struct InventoryCache {
    places: Vec<Mutex<Option<CacheEntry>>>,
    buffers: Mutex<Vec<DecompressScratch>>,
    names: AtomicU64,
    answers: AnswerCache,
}

#[derive(Debug)]
struct CacheEntry {
    inventory: u64,
    row: u32,
    listing: ListedVehicle,
}

/// Number of pooled decompression buffers.
const MAX_POOLED_BUFFERS: usize = 8;

impl InventoryCache {
    /// Creates a cache of this many listings, of a kilobyte or two each, and of answers up to 32
    /// MB.
    #[must_use]
    pub fn new(listings: usize) -> Self {
        let places = (0..listings).map(|_| Mutex::default()).collect();
        Self { places, answers: AnswerCache::new(ANSWERS), ..Self::none() }
    }

    fn none() -> Self {
        Self {
            places: Vec::new(),
            buffers: Mutex::default(),
            names: AtomicU64::default(),
            answers: AnswerCache::new(0),
        }
    }

    /// Returns a new name for an inventory.
    fn name(&self) -> u64 {
        self.names.fetch_add(1, Ordering::Relaxed)
    }

    fn place(&self, inventory: u64, row: u32) -> Option<&Mutex<Option<CacheEntry>>> {
        // Neighbouring rows have neighbouring slots; each inventory starts at a different one.
        let start = inventory.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = start.wrapping_add(u64::from(row)).checked_rem(self.places.len() as u64)?;
        self.places.get(usize::try_from(place).ok()?)
    }

    fn get(&self, inventory: u64, row: u32) -> Option<ListedVehicle> {
        let cached = self.place(inventory, row)?.lock().unwrap_or_else(PoisonError::into_inner);
        let cached =
            cached.as_ref().filter(|cached| (cached.inventory, cached.row) == (inventory, row));
        cached.map(|cached| cached.listing.clone())
    }

    fn put(&self, inventory: u64, row: u32, listing: &ListedVehicle) {
        if let Some(place) = self.place(inventory, row) {
            let cached = CacheEntry { inventory, row, listing: listing.clone() };
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        }
    }

    fn unpack(&self, unpacker: &Decompressor, packed: &[u8]) -> Result<String, CompressionError> {
        let buffers = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = buffers().pop().unwrap_or_default();
        let text = unpacker.unpack(&mut buffer, packed);
        let mut idle = buffers();
        if idle.len() < MAX_POOLED_BUFFERS {
            idle.push(buffer);
        }
        text
    }
}
