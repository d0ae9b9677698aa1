//! Listings and tombstones.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::import::Unit;
use tradepost_dealer::inventory::Tombstone;
use tradepost_wire::aap::Version;
use tradepost_wire::aap::vehicle::{Vehicle, Vocabularies};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::problem::{At, Problems};

use super::{Database, Transaction};
use crate::sql::params;

/// What a unit that is sold has for a status.
const SOLD: &str = "sold";

/// What a replacement of the inventory did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replacement {
    /// Units that are new on offer.
    pub added: usize,
    /// Units whose listing changed.
    pub changed: usize,
    /// Units as they were; their `updated_at` is confirmed.
    pub unchanged: usize,
    /// Units that were on offer and are no longer in the feed, or are sold: now tombstones.
    pub removed: usize,
    /// Units on offer before.
    pub before: usize,
}

/// A unit as it is stored. `updated_at` stands beside the JSON, so that confirming a listing that
/// has not changed rewrites no JSON.
pub(crate) struct Row {
    vehicle_id: String,
    vin: Option<String>,
    stock: Option<String>,
    make: Option<String>,
    model: Option<String>,
    status: &'static str,
    body: String,
    updated_at: Timestamp,
}

impl Row {
    /// Writes a unit once.
    pub(crate) fn new(unit: &Unit) -> Result<Self, Fault> {
        let vehicle = &unit.vehicle;
        let (Some(vehicle_id), Some(status), Some(updated_at)) =
            (&vehicle.vehicle_id, vehicle.status, vehicle.updated_at)
        else {
            return Err(Fault::new("storing a unit", "it lacks vehicle_id, status or updated_at"));
        };
        let bare = Vehicle { updated_at: None, ..vehicle.clone() };
        Ok(Self {
            vehicle_id: vehicle_id.clone(),
            vin: vehicle.vin.clone(),
            stock: vehicle.stock.clone(),
            make: vehicle.make.clone(),
            model: vehicle.model.clone(),
            status: if unit.sold { SOLD } else { status.name() },
            body: tradepost_wire::json::to_string(&bare).map_err(Fault::on("writing a listing"))?,
            updated_at,
        })
    }
}

/// What is stored of a unit before a replacement.
struct Before {
    body: String,
    status: String,
    removed: bool,
}

impl Transaction<'_> {
    pub(crate) fn replace_inventory(
        &self,
        dealer_id: &str,
        rows: &[Row],
        now: Timestamp,
        dry_run: bool,
    ) -> Result<Replacement, Fault> {
        self.0.lock(dealer_id)?;
        let before = self.stored(dealer_id)?;
        let mut done = Replacement {
            before: before.values().filter(|unit| !unit.removed).count(),
            ..Replacement::default()
        };
        let mut seen = HashSet::with_capacity(rows.len());
        for row in rows {
            seen.insert(row.vehicle_id.as_str());
            let known = before.get(&row.vehicle_id);
            let on_offer = known.is_some_and(|unit| !unit.removed);
            let sold = row.status == SOLD;
            match (sold, known) {
                // It is a tombstone already, and stays as old as it is.
                (true, Some(unit)) if unit.removed && unit.status == SOLD => continue,
                (true, _) => done.removed += usize::from(on_offer),
                (false, Some(unit)) if on_offer && unit.body == row.body => {
                    done.unchanged += 1;
                    if !dry_run {
                        self.confirm_listing(dealer_id, row)?;
                    }
                    continue;
                }
                (false, _) if on_offer => done.changed += 1,
                (false, _) => done.added += 1,
            }
            if !dry_run {
                self.put_listing(dealer_id, row, sold.then_some(now))?;
            }
        }
        for (vehicle_id, _) in
            before.iter().filter(|(id, unit)| !unit.removed && !seen.contains(id.as_str()))
        {
            done.removed += 1;
            if !dry_run {
                self.0.execute(
                    "removing a listing",
                    "UPDATE listings SET removed_at = $3 WHERE dealer_id = $1 AND vehicle_id = $2",
                    params![dealer_id, vehicle_id, now],
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
        }
        Ok(done)
    }

    fn put_listing(
        &self,
        dealer_id: &str,
        row: &Row,
        removed_at: Option<Timestamp>,
    ) -> Result<(), Fault> {
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
                row.body,
                row.updated_at,
                removed_at,
            ],
        )?;
        Ok(())
    }

    fn confirm_listing(&self, dealer_id: &str, row: &Row) -> Result<(), Fault> {
        self.0.execute(
            "confirming a listing",
            "UPDATE listings SET updated_at = $3 WHERE dealer_id = $1 AND vehicle_id = $2",
            params![dealer_id, row.vehicle_id, row.updated_at],
        )?;
        Ok(())
    }

    fn stored(&self, dealer_id: &str) -> Result<HashMap<String, Before>, Fault> {
        let stored = self.0.all(
            "reading listings",
            "SELECT vehicle_id, body, status, removed_at IS NOT NULL FROM listings
             WHERE dealer_id = $1",
            params![dealer_id],
            |row| {
                let unit = Before { body: row.get(1)?, status: row.get(2)?, removed: row.get(3)? };
                Ok((row.get(0)?, unit))
            },
        )?;
        Ok(stored.into_iter().collect())
    }
}

impl Database {
    pub(crate) fn inventory_generation(&self, dealer_id: &str) -> Result<i64, Fault> {
        let generation = self.0.first(
            "reading the inventory's generation",
            "SELECT generation FROM inventories WHERE dealer_id = $1",
            params![dealer_id],
            |row| row.get(0),
        )?;
        Ok(generation.unwrap_or_default())
    }

    pub(crate) fn inventory(
        &self,
        dealer_id: &str,
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<(Vec<Vehicle>, Vec<Tombstone>), Fault> {
        let oldest = now.saturating_sub(lifetime).unwrap_or(Timestamp::MIN);
        let (mut listings, mut gone, mut broken) = (Vec::new(), Vec::new(), None);
        self.0.each(
            "reading the inventory",
            "SELECT vehicle_id, vin, stock, make, model, status, body, updated_at, removed_at
             FROM listings WHERE dealer_id = $1 AND (removed_at IS NULL OR removed_at > $2)",
            params![dealer_id, oldest],
            |row| {
                let make = row.get::<Option<String>>(3)?;
                match row.get(8)? {
                    None => match listing(&row.get::<String>(6)?, row.get(7)?) {
                        Ok(vehicle) => listings.push(vehicle),
                        Err(fault) => broken = Some(fault),
                    },
                    Some(removed_at) => gone.push(Tombstone {
                        vehicle_id: row.get(0)?,
                        vin: row.get(1)?,
                        stock: row.get(2)?,
                        make_model: make.zip(row.get(4)?),
                        last_status: row.get(5)?,
                        removed_at,
                    }),
                }
                Ok(broken.is_none())
            },
        )?;
        broken.map_or(Ok((listings, gone)), Err)
    }
}

fn listing(body: &str, updated_at: Timestamp) -> Result<Vehicle, Fault> {
    let value =
        tradepost_wire::json::from_str(body).map_err(Fault::on("reading a listing's JSON"))?;
    let mut problems = Problems::new();
    let version = Version::V1_1;
    let vehicle = Vehicle::read(&value, &At::Root, &mut problems, version, Vocabularies::Sale);
    let vehicle = problems.into_result(vehicle).map_err(|problems| {
        let first = problems.listed().first().map(|p| format!("{} {}", p.pointer, p.message));
        Fault::new("reading a listing", first.unwrap_or_default())
    })?;
    Ok(Vehicle { updated_at: Some(updated_at), ..vehicle })
}
