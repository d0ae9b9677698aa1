//! Listings and tombstones.

use std::collections::HashMap;
use std::sync::mpsc::sync_channel;
use std::thread;

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tradepost_aap::Vehicle;
use tradepost_dealer::compressed::{Compressor, DecompressScratch, Decompressor, Dictionary};
use tradepost_dealer::import::{FeedListing, PackedListings};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::change_notice::ChangeNotice;
use crate::sql::{Bind, Connection, RowResult, SqlCell, SqlColumn, SqlValue, params};

mod reading;

/// Status of a listing that is sold.
const SOLD: &str = "sold";

/// Result of replacing an inventory, or of a dry run. Its JSON form is read by programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Replacement {
    /// Listings on offer before.
    pub before: usize,
    /// Listings that are new on offer.
    pub added: usize,
    /// Listings whose content changed.
    pub changed: usize,
    /// Listings that did not change; their `updated_at` is confirmed.
    pub unchanged: usize,
    /// Listings that were on offer and are missing from the feed or sold: now tombstones.
    pub removed: usize,
}

/// Row of a listing. `updated_at` is a column beside the JSON, so that confirming an unchanged listing rewrites
/// no JSON.
pub(crate) struct ListingRow {
    vehicle_id: String,
    vin: Option<String>,
    stock: Option<String>,
    make: Option<String>,
    model: Option<String>,
    status: &'static str,
    body: String,
    updated_at: Timestamp,
}

impl ListingRow {
    /// Converts a listing into its row.
    pub(crate) fn new(listing: &FeedListing) -> Result<Self, InternalError> {
        let vehicle = &listing.vehicle;
        let lacks =
            || InternalError::new("storing a unit", "it lacks vehicle_id, status or updated_at");
        let vehicle_id = vehicle.vehicle_id.as_ref().ok_or_else(lacks)?;
        let status = vehicle.status.ok_or_else(lacks)?;
        let updated_at = vehicle.updated_at.ok_or_else(lacks)?;
        let bare = Vehicle { updated_at: None, ..vehicle.clone() };
        Ok(Self {
            vehicle_id: vehicle_id.clone(),
            vin: vehicle.vin.clone(),
            stock: vehicle.stock.clone(),
            make: vehicle.make.clone(),
            model: vehicle.model.clone(),
            status: if listing.sold { SOLD } else { status.name() },
            body: tradepost_document::json::to_string(&bare)
                .map_err(InternalError::on("writing a listing"))?,
            updated_at,
        })
    }
}

/// Reads the texts of bodies of several dealers; the packing is loaded once for consecutive bodies of one dealer.
pub(crate) struct Bodies<'c> {
    connection: &'c Connection,
    /// Dealer of the last body, with its packing.
    latest: Option<(String, Option<BodyPacking>)>,
}

impl<'c> Bodies<'c> {
    pub(crate) const fn new(connection: &'c Connection) -> Self {
        Self { connection, latest: None }
    }

    pub(crate) fn text(&mut self, dealer_id: &str, body: Body) -> Result<String, InternalError> {
        if self.latest.as_ref().is_none_or(|(latest, _)| latest != dealer_id) {
            self.latest = Some((dealer_id.to_owned(), packing(self.connection, dealer_id)?));
        }
        BodyPacking::text(self.latest.as_mut().map_or(&mut None, |(_, packing)| packing), body)
    }
}

/// Stored state of a listing before a replacement.
struct PreviousListing {
    body: BodyDigest,
    is_sold: bool,
    removed: bool,
    /// True when the feed contains it.
    seen: bool,
}

/// Hash by which bodies are compared, because all bodies of a large dealer take too much memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BodyDigest([u8; 16]);

impl BodyDigest {
    fn new(body: &str) -> Self {
        let hash: [u8; 32] = Sha256::digest(body).into();
        Self(*hash.first_chunk().expect("half of a hash is shorter than the hash"))
    }
}

/// JSON of a listing as stored. A file has it packed once there is a dictionary; PostgreSQL compresses long texts by
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Text(String),
    Packed(Vec<u8>),
}

impl Body {
    /// Body of a listing that is no longer on offer, and which is not returned any more.
    const NONE: &str = "";
}

impl SqlColumn for Body {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        match cell {
            SqlCell::Blob(_) => Vec::from_cell(cell).map(Self::Packed),
            SqlCell::Empty | SqlCell::Integer(_) | SqlCell::Text(_) => {
                String::from_cell(cell).map(Self::Text)
            }
        }
    }
}

impl Bind for Body {
    const NONE: SqlValue<'static> = SqlValue::Text(None);

    fn bind(&self) -> SqlValue<'_> {
        match self {
            Self::Text(text) => text.bind(),
            Self::Packed(bytes) => bytes.bind(),
        }
    }
}

/// Compressor and decompressor for the bodies of a dealer.
struct BodyPacking {
    packer: Compressor,
    unpacker: Decompressor,
    bench: DecompressScratch,
}

impl BodyPacking {
    fn new(dictionary: &Dictionary) -> Result<Self, InternalError> {
        let unpacker =
            Decompressor::new(dictionary).map_err(InternalError::on("reading a dictionary"))?;
        Ok(Self {
            packer: Compressor::new(dictionary),
            unpacker,
            bench: DecompressScratch::default(),
        })
    }

    /// Returns the text of a body.
    fn text(packing: &mut Option<Self>, body: Body) -> Result<String, InternalError> {
        const WHAT: &str = "unpacking a listing";
        match (body, packing) {
            (Body::Text(text), _) => Ok(text),
            (Body::Packed(bytes), Some(packing)) => {
                let text = packing.unpacker.unpack(&mut packing.bench, &bytes);
                text.map_err(InternalError::on(WHAT))
            }
            (Body::Packed(_), None) => Err(InternalError::new(WHAT, "its dictionary is missing")),
        }
    }
}

/// Returns the packing of a dealer's bodies, where there is a dictionary.
fn packing(connection: &Connection, dealer_id: &str) -> Result<Option<BodyPacking>, InternalError> {
    if connection.is_shared() {
        return Ok(None);
    }
    let dictionary = connection.first(
        "reading a dictionary",
        "SELECT dictionary FROM inventories WHERE dealer_id = $1",
        params![dealer_id],
        |row| row.only::<Option<Vec<u8>>>(),
    )?;
    dictionary.flatten().map(|bytes| BodyPacking::new(&Dictionary::from_bytes(bytes))).transpose()
}

/// Number of bytes of a snapshot in one row of the database: one statement must not take long.
const SNAPSHOT_PART_BYTES: usize = 1024 * 1024;

/// State of a dealer's inventory as a whole.
#[derive(Debug, Default)]
pub(crate) struct InventoryState {
    /// Number that grows with each replacement; 0 before the first.
    pub(crate) generation: i64,
    /// Name of its snapshot, where there is one, and the generation that is in it.
    snapshot: Option<(String, i64)>,
}

impl InventoryState {
    /// Returns the snapshot of the current generation, where there is one.
    pub(crate) fn current(&self) -> Option<&str> {
        let (name, generation) = self.snapshot.as_ref()?;
        (*generation == self.generation).then_some(name)
    }

    /// Returns the snapshot of any generation.
    pub(crate) fn latest(&self) -> Option<&str> {
        self.snapshot.as_ref().map(|(name, _)| name.as_str())
    }
}

impl StoreTransaction<'_> {
    /// Makes `listings` the whole inventory of a dealer, or with `dry_run` only returns what would change.
    ///
    /// # Errors
    /// When the database fails.
    pub fn replace_inventory(
        &self,
        dealer_id: &str,
        listings: &PackedListings,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<Replacement, InternalError> {
        self.0.lock(dealer_id)?;
        let mut packing = packing(self.0, dealer_id)?;
        let mut before = self.stored(dealer_id, &mut packing)?;
        // Learned once: listings packed with one dictionary cannot be read with another.
        let new_dictionary = match packing {
            Some(_) => None,
            None if dry_run || self.0.is_shared() => None,
            None => learn_dictionary(listings),
        };
        if let Some(dictionary) = &new_dictionary {
            packing = Some(BodyPacking::new(dictionary)?);
        }
        let mut done = Replacement {
            before: before.values().filter(|listing| !listing.removed).count(),
            ..Replacement::default()
        };
        each_row(listings, |row| {
            let row = &row;
            let mut known = before.get_mut(&row.vehicle_id);
            let on_offer = known.as_ref().is_some_and(|listing| !listing.removed);
            if let Some(known) = &mut known {
                known.seen = true;
            }
            let sold = row.status == SOLD;
            match (sold, known) {
                // The listing is a tombstone already, and keeps its age.
                (true, Some(listing)) if listing.removed && listing.is_sold => return Ok(()),
                (true, _) => done.removed += usize::from(on_offer),
                (false, Some(listing))
                    if on_offer && listing.body == BodyDigest::new(&row.body) =>
                {
                    done.unchanged += 1;
                    // Until there was a dictionary nothing was packed; with the first one everything is.
                    if !dry_run && new_dictionary.is_none() {
                        self.confirm_listing(dealer_id, row)?;
                    } else if !dry_run {
                        self.put_listing(dealer_id, row, None, &mut packing)?;
                    }
                    return Ok(());
                }
                (false, _) if on_offer => done.changed += 1,
                (false, _) => done.added += 1,
            }
            if !dry_run {
                self.put_listing(dealer_id, row, sold.then_some(now), &mut packing)?;
            }
            Ok(())
        })?;
        // The row stays: buyers are told that a listing is gone, and what a sold listing was.
        for (vehicle_id, _) in
            before.iter().filter(|(_, listing)| !listing.removed && !listing.seen)
        {
            done.removed += 1;
            if !dry_run {
                self.0.execute(
                    "removing a listing",
                    "UPDATE listings SET removed_at = $3, body = $4
                     WHERE dealer_id = $1 AND vehicle_id = $2",
                    params![dealer_id, vehicle_id, now, Body::NONE],
                )?;
            }
        }
        if !dry_run {
            self.0.execute(
                "counting the replacement",
                "INSERT INTO inventories (dealer_id, generation) VALUES ($1, 1)
                 ON CONFLICT (dealer_id) DO UPDATE SET generation = inventories.generation + 1",
                params![dealer_id],
            )?;
            self.0.notify(ChangeNotice::Changed);
        }
        if let Some(dictionary) = new_dictionary {
            self.0.execute(
                "keeping a dictionary",
                "UPDATE inventories SET dictionary = $2 WHERE dealer_id = $1",
                params![dealer_id, dictionary.as_bytes()],
            )?;
        }
        Ok(done)
    }

    /// Records the snapshot of a generation. Returns the state before; `None` when the inventory has been replaced
    /// meanwhile.
    pub(crate) fn note_snapshot(
        &self,
        dealer_id: &str,
        generation: i64,
        name: &str,
    ) -> Result<Option<InventoryState>, InternalError> {
        let before = state(self.0, dealer_id)?;
        let updated_rows = self.0.change(
            "noting a snapshot",
            "UPDATE inventories SET snapshot = $3, snapshot_of = $2
             WHERE dealer_id = $1 AND generation = $2",
            params![dealer_id, generation, name],
        )?;
        Ok((updated_rows > 0).then_some(before))
    }

    /// Stores a snapshot in the database in place of the former one: `parts` are its bytes.
    pub(crate) fn put_snapshot(
        &self,
        dealer_id: &str,
        name: &str,
        parts: &[&[u8]],
    ) -> Result<(), InternalError> {
        let delete = "DELETE FROM snapshots WHERE dealer_id = $1";
        self.0.execute("removing a snapshot", delete, params![dealer_id])?;
        let parts = parts.iter().flat_map(|part| part.chunks(SNAPSHOT_PART_BYTES));
        for (number, bytes) in parts.enumerate() {
            let sql =
                "INSERT INTO snapshots (dealer_id, name, part, bytes) VALUES ($1, $2, $3, $4)";
            self.0.execute("writing a snapshot", sql, params![dealer_id, name, number, bytes])?;
        }
        Ok(())
    }

    /// Writes a listing, without its body once it is removed.
    fn put_listing(
        &self,
        dealer_id: &str,
        row: &ListingRow,
        removed_at: Option<Timestamp>,
        packing: &mut Option<BodyPacking>,
    ) -> Result<(), InternalError> {
        let body = match (removed_at, packing) {
            (Some(_), _) => Body::Text(Body::NONE.to_owned()),
            (None, Some(packing)) => {
                let packed = packing.packer.pack(&row.body);
                Body::Packed(packed.map_err(InternalError::on("packing a listing"))?)
            }
            (None, None) => Body::Text(row.body.clone()),
        };
        self.0.execute(
            "writing a listing",
            "INSERT INTO listings (dealer_id, vehicle_id, vin, stock, make, model, status, body,
                                   updated_at, removed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (dealer_id, vehicle_id) DO UPDATE SET vin = excluded.vin,
                 stock = excluded.stock, make = excluded.make, model = excluded.model,
                 status = excluded.status, body = excluded.body,
                 updated_at = excluded.updated_at, removed_at = excluded.removed_at",
            params![
                dealer_id,
                row.vehicle_id,
                row.vin,
                row.stock,
                row.make,
                row.model,
                row.status,
                body,
                row.updated_at,
                removed_at,
            ],
        )
    }

    fn confirm_listing(&self, dealer_id: &str, row: &ListingRow) -> Result<(), InternalError> {
        self.0.execute(
            "confirming a listing",
            "UPDATE listings SET updated_at = $3 WHERE dealer_id = $1 AND vehicle_id = $2",
            params![dealer_id, row.vehicle_id, row.updated_at],
        )
    }

    /// Returns the stored listings of a dealer by vehicle id, with digests of their bodies.
    fn stored(
        &self,
        dealer_id: &str,
        packing: &mut Option<BodyPacking>,
    ) -> Result<HashMap<String, PreviousListing>, InternalError> {
        let mut stored = HashMap::new();
        self.0.each(
            "reading listings",
            "SELECT vehicle_id, body, status, removed_at IS NOT NULL AS is_removed FROM listings
             WHERE dealer_id = $1",
            params![dealer_id],
            |row| {
                let body = BodyDigest::new(&BodyPacking::text(packing, row.get("body")?)?);
                let is_sold = row.get::<String>("status")? == SOLD;
                let listing =
                    PreviousListing { body, is_sold, removed: row.get("is_removed")?, seen: false };
                stored.insert(row.get("vehicle_id")?, listing);
                Ok(true)
            },
        )?;
        Ok(stored)
    }
}

/// Number of rows that are prepared before the database takes them.
const CHANNEL_CAPACITY: usize = 64;

/// Passes the rows of listings to `take`, one after another. They are built on another thread, because everything else
/// waits for the writer.
fn each_row(
    listings: &PackedListings,
    mut take: impl FnMut(ListingRow) -> Result<(), InternalError>,
) -> Result<(), InternalError> {
    thread::scope(|scope| {
        let (sender, rows) = sync_channel(CHANNEL_CAPACITY);
        let producer = thread::Builder::new().spawn_scoped(scope, move || {
            for listing in listings {
                // The receiver is gone when the database has failed.
                if sender.send(ListingRow::new(&listing)).is_err() {
                    return;
                }
            }
        });
        producer.map_err(InternalError::on("making rows"))?;
        rows.into_iter().try_for_each(|row| take(row?))
    })
}

/// Learns a dictionary from the listings on offer, where they are enough.
fn learn_dictionary(listings: &PackedListings) -> Option<Dictionary> {
    let offered = listings.iter().filter(|listing| !listing.sold);
    // A listing that cannot be written is reported where it is stored.
    let body =
        |listing: FeedListing| ListingRow::new(&listing).map(|row| row.body).unwrap_or_default();
    let samples = offered.step_by(Dictionary::step(listings.offered())).map(body);
    let dictionary = Dictionary::from_samples(listings.offered(), samples);
    (!dictionary.as_bytes().is_empty()).then_some(dictionary)
}

fn state(connection: &Connection, dealer_id: &str) -> Result<InventoryState, InternalError> {
    const WHAT: &str = "reading the inventory's generation";
    let sql = "SELECT generation, snapshot, snapshot_of FROM inventories WHERE dealer_id = $1";
    let found = connection.first(WHAT, sql, params![dealer_id], |row| {
        let snapshot = row.get::<Option<String>>("snapshot")?.zip(row.get("snapshot_of")?);
        Ok(InventoryState { generation: row.get("generation")?, snapshot })
    });
    Ok(found?.unwrap_or_default())
}
