//! Reading inventories in batches of rows, however large they are.

use jiff::Timestamp;
use tradepost_aap::Version;
use tradepost_aap::vehicle::{Vehicle, Vocabularies};
use tradepost_dealer::compressed::Dictionary;
use tradepost_dealer::inventory::{InventoryBuilder, Tombstone};
use tradepost_document::fault::InternalError;
use tradepost_document::problem::{DocumentPlace, Problems};

use super::{Body, BodyPacking, InventoryState, packing, state};
use crate::sql::params;
use crate::tables::Database;

impl Database {
    pub(crate) fn inventory_state(&self, dealer_id: &str) -> Result<InventoryState, InternalError> {
        state(&self.0, dealer_id)
    }

    /// Returns the generations of all inventories.
    pub(crate) fn inventory_generations(&self) -> Result<Vec<(String, i64)>, InternalError> {
        let sql = "SELECT dealer_id, generation FROM inventories";
        self.0.all("reading the generations", sql, &[], |row| {
            Ok((row.get("dealer_id")?, row.get("generation")?))
        })
    }

    /// Returns the dealers that have snapshots, with the names of the snapshots.
    pub(crate) fn snapshot_names(&self) -> Result<Vec<(String, String)>, InternalError> {
        let sql = "SELECT dealer_id, snapshot FROM inventories WHERE snapshot IS NOT NULL";
        self.0.all("looking for snapshots", sql, &[], |row| {
            Ok((row.get("dealer_id")?, row.get("snapshot")?))
        })
    }

    /// Returns the bytes of a snapshot that is stored in the database.
    pub(crate) fn snapshot(&self, dealer_id: &str, name: &str) -> Result<Vec<u8>, InternalError> {
        const WHAT: &str = "opening a snapshot";
        const SQL: &str =
            "SELECT bytes FROM snapshots WHERE dealer_id = $1 AND name = $2 AND part = $3";
        let mut whole = Vec::new();
        for number in 0_usize.. {
            let part: Option<Vec<u8>> =
                self.0.first(WHAT, SQL, params![dealer_id, name, number], |row| row.only())?;
            let Some(part) = part else { break };
            whole.extend(part);
        }
        Ok(whole)
    }

    /// Returns the generation of an inventory, its rows as a builder, and its tombstones. The caller builds the
    /// inventory: indexing takes a while, and others wait for this connection.
    pub(crate) fn gather_inventory(
        &self,
        dealer_id: &str,
        oldest: Timestamp,
    ) -> Result<(i64, InventoryBuilder, Vec<Tombstone>), InternalError> {
        let mut gathered = Err(not_read());
        // A generation read apart from the rows might belong to other rows.
        self.0.snapshot(|| {
            // The generation first: a server ends a session that is silent in a transaction, and parsing takes a while.
            gathered = self.inventory_state(dealer_id).and_then(|state| {
                let tombstones = self.tombstones(dealer_id, oldest)?;
                let offered = self.0.one(
                    "counting listings",
                    "SELECT count(*) FROM listings WHERE dealer_id = $1 AND removed_at IS NULL",
                    params![dealer_id],
                    |row| row.only::<usize>(),
                )?;
                let mut builder =
                    InventoryBuilder::new(self.learn_dictionary(dealer_id, offered)?, offered);
                self.listings(dealer_id, |row| builder.push(&row.vehicle()?))?;
                Ok((state.generation, builder, tombstones))
            });
        })?;
        gathered
    }

    /// Learns a dictionary from a sample of the listings as they are sent.
    fn learn_dictionary(
        &self,
        dealer_id: &str,
        offered: usize,
    ) -> Result<Dictionary, InternalError> {
        let step = Dictionary::step(offered);
        let mut samples = Vec::new();
        let mut place = 0_usize;
        self.listings(dealer_id, |row| {
            if place.is_multiple_of(step) {
                let text = tradepost_document::json::to_string(&row.vehicle()?);
                samples.push(text.map_err(InternalError::on("writing a listing"))?);
            }
            place += 1;
            Ok(())
        })?;
        Ok(Dictionary::from_samples(offered, samples.iter()))
    }

    /// Returns a dealer's listings on offer and the tombstones since `oldest`, as they are at one moment.
    pub(crate) fn inventory(
        &self,
        dealer_id: &str,
        oldest: Timestamp,
    ) -> Result<(Vec<Vehicle>, Vec<Tombstone>), InternalError> {
        let mut listings = Vec::new();
        let mut read = Err(not_read());
        self.0.snapshot(|| {
            let all = self.listings(dealer_id, |row| {
                listings.push(row.vehicle()?);
                Ok(())
            });
            read = all.and_then(|()| self.tombstones(dealer_id, oldest));
        })?;
        read.map(|tombstones| (listings, tombstones))
    }

    /// Passes the listings on offer to `take`, as they are at one moment.
    pub(crate) fn each_listing(
        &self,
        dealer_id: &str,
        mut take: impl FnMut(Vehicle),
    ) -> Result<(), InternalError> {
        let mut read = Err(not_read());
        self.0.snapshot(|| {
            read = self.listings(dealer_id, |row| row.vehicle().map(&mut take));
        })?;
        read
    }

    /// Passes the listings on offer to `take` in the order of their ids. They are read in batches, because all of them
    /// may take too much memory.
    fn listings(
        &self,
        dealer_id: &str,
        mut take: impl FnMut(StoredListing<'_>) -> Result<(), InternalError>,
    ) -> Result<(), InternalError> {
        let mut packing = packing(&self.0, dealer_id)?;
        let mut after = String::new();
        loop {
            let batch = self.0.all(
                "reading the inventory",
                "SELECT vehicle_id, body, updated_at FROM listings
                 WHERE dealer_id = $1 AND removed_at IS NULL AND vehicle_id > $2
                 ORDER BY vehicle_id LIMIT $3",
                params![dealer_id, after, BATCH_SIZE],
                |row| {
                    Ok((
                        row.get::<String>("vehicle_id")?,
                        row.get::<Body>("body")?,
                        row.get::<Timestamp>("updated_at")?,
                    ))
                },
            )?;
            let Some((last, _, _)) = batch.last() else { return Ok(()) };
            after.clone_from(last);
            for (_, body, updated_at) in batch {
                take(StoredListing { packing: &mut packing, body, updated_at })?;
            }
        }
    }

    /// Returns the units that left the offer after a moment.
    fn tombstones(
        &self,
        dealer_id: &str,
        oldest: Timestamp,
    ) -> Result<Vec<Tombstone>, InternalError> {
        self.0.all(
            "reading the inventory",
            "SELECT vehicle_id, vin, stock, make, model, status, removed_at
             FROM listings WHERE dealer_id = $1 AND removed_at > $2",
            params![dealer_id, oldest],
            |row| {
                let make = row.get::<Option<String>>("make")?;
                Ok(Tombstone {
                    vehicle_id: row.get("vehicle_id")?,
                    vin: row.get("vin")?,
                    stock: row.get("stock")?,
                    make_model: make.zip(row.get("model")?),
                    last_status: row.get("status")?,
                    removed_at: row.get("removed_at")?,
                })
            },
        )
    }
}

/// Number of listings read at once.
const BATCH_SIZE: usize = 256;

fn not_read() -> InternalError {
    InternalError::new("reading the inventory", "nobody reads")
}

/// Listing as stored.
struct StoredListing<'p> {
    packing: &'p mut Option<BodyPacking>,
    body: Body,
    updated_at: Timestamp,
}

impl StoredListing<'_> {
    /// Parses the listing.
    fn vehicle(self) -> Result<Vehicle, InternalError> {
        listing(&BodyPacking::text(self.packing, self.body)?, self.updated_at)
    }
}

/// Parses the stored body of a listing.
fn listing(body: &str, updated_at: Timestamp) -> Result<Vehicle, InternalError> {
    let value = tradepost_document::json::from_str(body)
        .map_err(InternalError::on("reading a listing's JSON"))?;
    let mut problems = Problems::new();
    let version = Version::V1_1;
    let vehicle =
        Vehicle::read(&value, &DocumentPlace::Root, &mut problems, version, Vocabularies::Sale);
    let vehicle = problems.into_result(vehicle).map_err(|problems| {
        let first = problems.listed().first().map(|p| format!("{} {}", p.pointer, p.message));
        InternalError::new("reading a listing", first.unwrap_or_default())
    })?;
    Ok(Vehicle { updated_at: Some(updated_at), ..vehicle })
}
