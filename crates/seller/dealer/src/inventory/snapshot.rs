//! Snapshots: an inventory serialised to bytes that are named by their content, written once per
//! import and read as a whole. Data that one pass over the rows can compute, such as orders and
//! bitmaps, is left out, so that it cannot contradict the rest.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::{LazyLock, OnceLock};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::bitmap::Bitmap;
use super::bytes::{ByteReader, ByteSink, ByteWriter, FileSink};
use super::codes::Codes;
use super::column::{NumberColumn, TextColumn};
use super::columns::{ByNumber, ByText};
use super::features::Features;
use super::index::{SearchIndex, ranks};
use super::listings::Listings;
use super::tombstones::Tombstones;
use super::{Inventory, Tombstone, identifiers};
use crate::compressed::Dictionary;
use crate::query::Lexicon;
use crate::query::fold::TextKind;

/// Defect of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the inventory's snapshot is broken: {0}")]
pub struct SnapshotError(pub(super) &'static str);

const MAGIC: &[u8] = b"tradepost inventory 1\n";

/// Hash of the code that builds keys. A snapshot is valid only for the same code, because other
/// synonyms would produce other keys.
static MADE_BY: LazyLock<[u8; 32]> = LazyLock::new(|| {
    let sources = [
        include_str!("../query/fold.rs"),
        include_str!("../query/vocabulary.rs"),
        include_str!("../query/seats.rs"),
        include_str!("../query/stated.rs"),
        include_str!("../query/economy.rs"),
        include_str!("../../data/words/vocabulary.txt"),
        include_str!("../../data/words/colours.txt"),
        include_str!("../../data/words/models.txt"),
        include_str!("../../data/words/seats.txt"),
        include_str!("column.rs"),
        include_str!("columns.rs"),
        include_str!("gather.rs"),
        include_str!("index.rs"),
        include_str!("snapshot.rs"),
    ];
    let mut hash = Sha256::new();
    sources.iter().for_each(|source| hash.update(source));
    hash.finalize().into()
});

/// A snapshot with its checksum.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    sum: [u8; 32],
    payload: Vec<u8>,
}

impl Snapshot {
    /// Adds the checksum to a payload.
    #[must_use]
    pub fn seal(payload: Vec<u8>) -> Self {
        Self { sum: sum(&payload), payload }
    }

    /// Returns the name; equal names mean equal content.
    #[must_use]
    pub fn name(&self) -> String {
        tradepost_document::format::hex(&self.sum)
    }

    /// Returns the magic bytes, the checksum and the payload.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 3] {
        [MAGIC, &self.sum, &self.payload]
    }

    /// Returns the whole snapshot.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.parts().concat()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({}, {} bytes)", self.name(), self.payload.len())
    }
}

fn sum(payload: &[u8]) -> [u8; 32] {
    begun().chain_update(payload).finalize().into()
}

/// Starts a checksum.
fn begun() -> Sha256 {
    Sha256::new().chain_update(*MADE_BY)
}

impl Inventory {
    /// Serialises the inventory.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut out = ByteWriter::default();
        self.write_payload(&mut out);
        Snapshot::seal(out.0)
    }

    /// Writes the snapshot as a stream; `sum` is its checksum.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_snapshot(&self, sum: &[u8; 32], to: impl io::Write) -> io::Result<()> {
        let mut to = io::BufWriter::with_capacity(64 * 1024, to);
        to.write_all(MAGIC)?;
        to.write_all(sum)?;
        let mut out = ByteWriter(FileSink { to, done: Ok(()) });
        self.write_payload(&mut out);
        let FileSink { mut to, done } = out.0;
        done.and_then(|()| to.flush())
    }

    /// Computes the checksum of its snapshot, which is its name and comes first, by serialising
    /// once without storing.
    #[must_use]
    pub fn snapshot_sum(&self) -> [u8; 32] {
        let mut out = ByteWriter(begun());
        self.write_payload(&mut out);
        out.0.finalize().into()
    }

    fn write_payload(&self, out: &mut ByteWriter<impl ByteSink>) {
        out.size(self.len());
        out.bytes(self.listings.dictionary.as_bytes());
        out.bytes(&self.listings.packed);
        self.listings.ends.iter().for_each(|end| out.u64(*end));
        write_index(&self.index, out);
        out.size(self.gone.units.len());
        self.gone.units.iter().for_each(|unit| write_unit(unit, out));
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// When it has another version, was truncated or was changed.
    pub fn read(snapshot: &[u8]) -> Result<Self, SnapshotError> {
        let rest = snapshot.strip_prefix(MAGIC).ok_or(SnapshotError("it begins otherwise"))?;
        let (expected, payload) = rest.split_first_chunk().ok_or(SnapshotError("it is cut off"))?;
        // The checksum covers the code that made it, so that the snapshot of another release is
        // rejected and made again.
        if *expected != sum(payload) {
            return Err(SnapshotError("it was cut off, changed, or made by another version"));
        }
        let mut from = ByteReader(payload);
        let rows = from.size()?;
        let dictionary = Dictionary::from_bytes(from.bytes()?.to_vec());
        let packed = from.bytes()?.to_vec();
        // Grown while bytes arrive, because a false number of rows would otherwise allocate its
        // memory before the end is noticed.
        let mut ends: Vec<u64> = (0..rows).map(|_| from.u64()).collect::<Result<_, _>>()?;
        ends.shrink_to_fit();
        let listings = Listings::new(dictionary, packed, ends);
        let listings = listings.ok_or(SnapshotError("listings end where they cannot"))?;
        let index = read_index(rows, &mut from)?;
        let count = from.size()?;
        let units = (0..count).map(|_| read_unit(&mut from)).collect::<Result<_, _>>()?;
        if !from.0.is_empty() {
            return Err(SnapshotError("there is something behind its end"));
        }
        Ok(Self::new(listings, index, Tombstones::new(units)))
    }
}

fn write_index(index: &SearchIndex, out: &mut ByteWriter<impl ByteSink>) {
    // In the order in which `read_index` reads them, because nothing in a snapshot names its
    // members.
    out.texts(&index.ids);
    out.u32s(&index.by_id);
    for column in index.texts.each().chain([&index.vin, &index.stock]) {
        out.texts(&column.keys);
        out.texts(&column.spellings);
        out.codes(&column.rows.codes);
    }
    for column in index.numbers.each() {
        out.u32s(&column.keys);
        out.codes(&column.rows.codes);
    }
    out.u32(index.updated_at.distinct());
    out.codes(&index.updated_at.codes);
    out.texts(&index.features.names);
    for (id, _) in index.features.names() {
        let mut rows = Vec::new();
        index.features.rows(id).append_to(&mut rows);
        write_rows(&rows, index.by_id.len(), out);
    }
    out.u32s(&index.order.stocks);
    out.u32s(&index.order.backwards);
}

/// Writes a list, or the words of a bitmap where that is shorter.
fn write_rows(rows: &[u32], all: usize, out: &mut ByteWriter<impl ByteSink>) {
    if super::codes::is_dense(rows.len(), all) {
        out.u8(1);
        Bitmap::from_rows(rows, all).words.iter().for_each(|word| out.u64(*word));
    } else {
        out.u8(0);
        out.u32s(rows);
    }
}

fn read_index(rows: usize, from: &mut ByteReader<'_>) -> Result<SearchIndex, SnapshotError> {
    let ids = ascending(from)?;
    let by_id = from.u32s()?;
    let seen = Bitmap::from_rows(&by_id, by_id.len());
    // A duplicate or invalid row makes the set of seen rows too small, and then another row would
    // have no id.
    if [ids.len(), by_id.len(), seen.len()] != [rows; 3] {
        return Err(SnapshotError("its rows are not those of its ids"));
    }
    let mut text = |field| {
        let keys = ascending(from)?;
        let spellings = from.texts()?;
        let codes = from.codes(rows, keys.len())?;
        let rows = Codes::from_row_codes(codes, keys.len(), &by_id);
        Ok(TextColumn { field, keys, rows, spellings })
    };
    let texts = ByText::default();
    let texts = texts.try_map(|(field, prepared), ()| text(field).map(prepared))?;
    let vin = text(TextKind::Identifier)?;
    let stock = text(TextKind::Identifier)?;
    let numbers = ByNumber::default().try_map(|prepared, ()| {
        let keys = from.u32s()?;
        let rows = Codes::from_row_codes(from.codes(rows, keys.len())?, keys.len(), &by_id);
        match keys.is_sorted() {
            true => Ok(prepared(NumberColumn { keys, rows })),
            false => Err(SnapshotError("the values of a number are in disorder")),
        }
    })?;
    let moments = from.u32()? as usize;
    let updated_at = Codes::from_row_codes(from.codes(rows, moments)?, moments, &by_id);
    let features = read_features(rows, from)?;
    let within = |codes: Vec<u32>, column: &TextColumn| {
        let last = codes.iter().max().is_none_or(|code| (*code as usize) < column.keys.len());
        if last {
            Ok(codes)
        } else {
            Err(SnapshotError("an order has something that is not there"))
        }
    };
    let order = identifiers::IdentifierOrders {
        stocks: within(from.u32s()?, &stock)?,
        backwards: within(from.u32s()?, &vin)?,
    };
    let index = SearchIndex {
        ids,
        id_ranks: ranks(&by_id),
        by_id,
        texts,
        vin,
        stock,
        numbers,
        updated_at,
        features,
        order,
        lexicon: Lexicon::default(),
        groups: OnceLock::new(),
    };
    Ok(SearchIndex { lexicon: index.words(), ..index })
}

fn ascending(from: &mut ByteReader<'_>) -> Result<super::texts::Texts, SnapshotError> {
    let texts = from.texts()?;
    if texts.is_ascending() { Ok(texts) } else { Err(SnapshotError("texts are in disorder")) }
}

fn read_features(all: usize, from: &mut ByteReader<'_>) -> Result<Features, SnapshotError> {
    let names = from.texts()?;
    let mut features = Vec::new();
    for _ in 0..names.len() {
        let rows = match from.kind()? {
            0 => from.u32s()?,
            _ => {
                let words = (0..all.div_ceil(64)).map(|_| from.u64());
                Bitmap { words: words.collect::<Result<_, _>>()? }.rows().collect()
            }
        };
        if !rows.is_sorted() || rows.last().is_some_and(|row| *row as usize >= all) {
            return Err(SnapshotError("a feature is that of rows that are not there"));
        }
        features.push(rows);
    }
    Ok(Features::from_rows(names, features.into_iter(), all))
}

fn write_unit(unit: &Tombstone, out: &mut ByteWriter<impl ByteSink>) {
    out.text(&unit.vehicle_id);
    out.maybe_text(unit.vin.as_deref());
    out.maybe_text(unit.stock.as_deref());
    out.maybe_text(unit.make_model.as_ref().map(|(make, _)| make.as_str()));
    out.maybe_text(unit.make_model.as_ref().map(|(_, model)| model.as_str()));
    out.text(&unit.last_status);
    out.0.put(&unit.removed_at.as_second().to_le_bytes());
    out.0.put(&unit.removed_at.subsec_nanosecond().to_le_bytes());
}

fn read_unit(from: &mut ByteReader<'_>) -> Result<Tombstone, SnapshotError> {
    let vehicle_id = from.text()?.to_owned();
    let vin = from.maybe_text()?;
    let stock = from.maybe_text()?;
    let make = from.maybe_text()?;
    let model = from.maybe_text()?;
    let last_status = from.text()?.to_owned();
    let second = from.i64()?;
    let nanosecond = from.u32()?;
    let removed_at = Timestamp::new(second, nanosecond.cast_signed());
    Ok(Tombstone {
        vehicle_id,
        vin: vin.map(str::to_owned),
        stock: stock.map(str::to_owned),
        make_model: make.map(str::to_owned).zip(model.map(str::to_owned)),
        last_status,
        removed_at: removed_at.map_err(|_| SnapshotError("a moment is none"))?,
    })
}
