//! The engine of the product, through the skills that answer requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tradepost_aap::{Facets, Filters, ReplyData, Search, VehicleQuery};
use tradepost_dealer::inventory::{
    CurrentYear, Inventory, InventoryCache, MemoryUse, VehicleLookup,
};
use tradepost_dealer::settings::SearchPolicy;
use tradepost_dealer::skills;

use crate::vehicles::BenchInventory;
use crate::{Engine, Fallible, PAGE, Page};

/// As many as a process keeps.
const RECENT: usize = 4096;

pub struct Ours(Inventory);

/// The year from which ages are counted back, which no measured question names.
fn this_year() -> CurrentYear {
    CurrentYear::from_timestamp(Timestamp::UNIX_EPOCH)
}

/// What an inventory takes.
pub struct Room {
    pub memory: MemoryUse,
    pub snapshot: usize,
    pub built: Duration,
    pub loaded: Duration,
}

impl Ours {
    pub fn from_inventory(source: &BenchInventory) -> Fallible<(Self, Room)> {
        let begun = Instant::now();
        let built = Inventory::build(source.vehicles.clone(), Vec::new())?;
        let took = begun.elapsed();
        let snapshot = built.snapshot().to_bytes();
        drop(built);
        let mut loads = Vec::new();
        for _ in 0..5 {
            let begun = Instant::now();
            drop(Inventory::read(&snapshot)?);
            loads.push(begun.elapsed());
        }
        loads.sort_unstable();
        let inventory = Inventory::read(&snapshot)?;
        let room = Room {
            memory: inventory.memory(),
            snapshot: snapshot.len(),
            built: took,
            loaded: loads.get(loads.len() / 2).copied().unwrap_or_default(),
        };
        Ok((Self(inventory.remembered_in(&Arc::new(InventoryCache::new(RECENT)))), room))
    }
}

impl Engine for Ours {
    fn name(&self) -> &'static str {
        "tradepost"
    }

    fn page(&self, search: &Search) -> Fallible<Page> {
        let policy = SearchPolicy { default_limit: PAGE, max_limit: 100 };
        let ReplyData::Page(page) = skills::search(&self.0, search, policy, this_year())?.data
        else {
            return Err("a search is answered otherwise".into());
        };
        let listings = page.vehicles.iter().map(|vehicle| vehicle.as_json().to_owned());
        Ok(Page { total: page.total, listings: listings.collect() })
    }

    fn facets(&self, filters: &Filters) -> Fallible<Arc<Facets>> {
        match skills::facets(&self.0, filters, this_year()).data {
            ReplyData::Facets(facets) => Ok(facets),
            _ => Err("facets are answered otherwise".into()),
        }
    }

    fn vehicle(&self, vin: &str) -> Fallible<String> {
        let query = VehicleQuery { vin: Some(vin.to_owned()), ..VehicleQuery::default() };
        match self.0.find(&query, Timestamp::MIN)? {
            VehicleLookup::Listed(found) => Ok(found.json.as_json().to_owned()),
            VehicleLookup::Gone(_) | VehicleLookup::Unknown => {
                Err(format!("{vin} is not there").into())
            }
        }
    }
}
