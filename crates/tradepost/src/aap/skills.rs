//! The skills that only read: who the dealer is and what it offers.

use std::sync::Arc;

use jiff::Timestamp;
use tradepost_wire::aap::error::Gone;
use tradepost_wire::aap::{
    DealerInformation, Filters, Refusal, Reply, ReplyData, Search, Skill, VehicleQuery,
};

use super::inventory::{Inventory, Lookup, Tombstone};
use crate::config::{Dealer, SearchPolicy};

/// How many similar vehicles a refusal names.
const SIMILAR: usize = 3;

/// What `dealer.information` tells, from the configuration.
#[must_use]
pub fn profile(dealer: &Dealer) -> DealerInformation {
    DealerInformation {
        name: dealer.name.clone(),
        welcome_message: dealer.welcome_message.clone(),
        rooftops: dealer.rooftops.iter().map(|rooftop| rooftop.profile.clone()).collect(),
    }
}

/// `dealer.information`.
#[must_use]
pub fn dealer_information(profile: &Arc<DealerInformation>) -> Reply {
    let message = match profile.rooftops.len() {
        1 => format!("{} has one rooftop.", profile.name),
        n => format!("{} has {n} rooftops.", profile.name),
    };
    Reply {
        skill: Skill::DealerInformation,
        data: ReplyData::Dealer(Arc::clone(profile)),
        message: Some(message),
    }
}

/// `inventory.search`.
#[must_use]
pub fn search(inventory: &Inventory, search: &Search, policy: SearchPolicy) -> Reply {
    let page = inventory.search(search, policy);
    let message = sentence(page.total, &search.filters);
    Reply { skill: Skill::InventorySearch, data: ReplyData::Page(page), message: Some(message) }
}

/// `inventory.facets`.
#[must_use]
pub fn facets(inventory: &Inventory, filters: &Filters) -> Reply {
    let facets = inventory.facets(filters);
    let total = facets.statuses.iter().map(|term| term.count).sum();
    let message = sentence(total, filters);
    Reply {
        skill: Skill::InventoryFacets,
        data: ReplyData::Facets(Box::new(facets)),
        message: Some(message),
    }
}

/// How many match, with a hint where nothing can (C-40).
fn sentence(total: usize, filters: &Filters) -> String {
    let crossed = |min: Option<u32>, max: Option<u32>| min.zip(max).is_some_and(|(a, b)| a > b);
    match total {
        0 if crossed(filters.year_min, filters.year_max) => {
            "No vehicle matches: year_min is greater than year_max.".to_owned()
        }
        0 if crossed(filters.price_min, filters.price_max) => {
            "No vehicle matches: price_min is greater than price_max.".to_owned()
        }
        0 => "No vehicle matches; try fewer or wider filters.".to_owned(),
        1 => "1 vehicle matches.".to_owned(),
        n => format!("{n} vehicles match."),
    }
}

/// `inventory.vehicle`.
///
/// # Errors
/// `VEHICLE_NOT_FOUND` or `VEHICLE_UNAVAILABLE`.
pub fn vehicle(
    dealer: &Dealer,
    inventory: &Inventory,
    query: &VehicleQuery,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    match inventory.find(query, oldest_remembered(dealer, now)) {
        Lookup::Listed(found) => Ok(Reply {
            skill: Skill::InventoryVehicle,
            data: ReplyData::Vehicle(found.json),
            message: None,
        }),
        Lookup::Gone(tombstone) => Err(unavailable(inventory, tombstone)),
        Lookup::Unknown => Err(not_found(dealer, query)),
    }
}

/// What left then or before is no longer admitted to (C-23).
#[must_use]
pub fn oldest_remembered(dealer: &Dealer, now: Timestamp) -> Timestamp {
    now.saturating_sub(dealer.tombstone_lifetime).unwrap_or(Timestamp::MIN)
}

/// `VEHICLE_UNAVAILABLE`, with what is like it.
#[must_use]
pub fn unavailable(inventory: &Inventory, tombstone: &Tombstone) -> Refusal {
    let gone = Gone {
        vin: tombstone.vin.as_deref(),
        stock: tombstone.stock.as_deref(),
        last_status: &tombstone.last_status,
        since: tombstone.removed_at,
    };
    Refusal::vehicle_unavailable(&gone, &inventory.similar(tombstone, SIMILAR))
}

/// `VEHICLE_NOT_FOUND`, with the identifiers that were looked for.
#[must_use]
pub fn not_found(dealer: &Dealer, query: &VehicleQuery) -> Refusal {
    let identifiers: Vec<_> =
        [("vin", &query.vin), ("stock", &query.stock), ("vehicle_id", &query.vehicle_id)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect();
    Refusal::vehicle_not_found(&identifiers, &dealer.id)
}
