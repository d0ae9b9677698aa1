//! The read-only skills of AAP: `dealer.information`, `inventory.facets`, `inventory.search` and
//! `inventory.vehicle`.

use std::sync::Arc;

use jiff::Timestamp;
use tradepost_aap::error::RemovedUnit;
use tradepost_aap::{
    AapRefusal, AapReply, DealerInformation, Filters, ReplyData, Search, Skill, VehicleQuery,
};
use tradepost_document::fault::InternalError;

use self::messages::AnswerMessage;
use crate::inventory::{CacheKey, CurrentYear, Inventory, SnapshotError, Tombstone, VehicleLookup};
use crate::settings::{DealerSettings, SearchPolicy};

mod messages;

/// Activity that internal errors name while a skill reads.
pub const LOOKING: &str = "looking at the inventory";

/// Error of a skill.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The request is refused.
    #[error(transparent)]
    Refused(#[from] AapRefusal),
    /// An internal error.
    #[error(transparent)]
    Broken(#[from] InternalError),
}

/// Maximum number of similar vehicles in a refusal.
const MAX_SIMILAR: usize = 3;

/// Builds the data of `dealer.information` from the settings.
#[must_use]
pub fn profile(dealer: &DealerSettings) -> DealerInformation {
    DealerInformation {
        name: dealer.name.clone(),
        welcome_message: dealer.welcome_message.clone(),
        rooftops: dealer.rooftops.iter().map(|rooftop| rooftop.profile.clone()).collect(),
    }
}

/// Answers `dealer.information`.
#[must_use]
pub fn dealer_information(profile: &Arc<DealerInformation>) -> AapReply {
    let message = match profile.rooftops.len() {
        1 => format!("{} has one rooftop.", profile.name),
        n => format!("{} has {n} rooftops.", profile.name),
    };
    AapReply {
        skill: Skill::DealerInformation,
        data: ReplyData::Dealer(Arc::clone(profile)),
        message: Some(message),
        reading: None,
        nothing_found: None,
        summary: None,
    }
}

/// Answers `inventory.facets` and `inventory.search`, from the cache where possible.
///
/// # Errors
/// When the inventory's snapshot is damaged.
pub fn repeat(inventory: &Inventory, question: &CacheKey) -> Result<AapReply, SnapshotError> {
    inventory.cached_or(question, || answer(inventory, question))
}

/// Answers a question without the cache.
pub(super) fn answer(
    inventory: &Inventory,
    question: &CacheKey,
) -> Result<AapReply, SnapshotError> {
    match question {
        CacheKey::Facets(filters, this_year) => Ok(facets(inventory, filters, *this_year)),
        CacheKey::Search(wanted, policy, this_year) => {
            search(inventory, wanted, *policy, *this_year)
        }
    }
}

/// Answers `inventory.search`.
///
/// # Errors
/// When the inventory's snapshot is damaged.
pub fn search(
    inventory: &Inventory,
    search: &Search,
    policy: SearchPolicy,
    this_year: CurrentYear,
) -> Result<AapReply, SnapshotError> {
    let (page, notes) = inventory.search(search, policy, this_year)?;
    let AnswerMessage { text, nothing_found } = AnswerMessage::new(&notes, &search.filters);
    let reading = inventory.reading_of(&search.filters, search.sort, &notes, this_year);
    Ok(AapReply {
        skill: Skill::InventorySearch,
        data: ReplyData::Page(page),
        message: Some(text),
        reading: reading.map(|reading| reading.to_request()),
        nothing_found,
        summary: None,
    })
}

/// Answers `inventory.facets`.
#[must_use]
pub fn facets(inventory: &Inventory, filters: &Filters, this_year: CurrentYear) -> AapReply {
    let (facets, notes) = inventory.facets(filters, this_year);
    let AnswerMessage { text, nothing_found: _ } = AnswerMessage::new(&notes, filters);
    let reading = inventory.reading_of(filters, None, &notes, this_year);
    AapReply {
        skill: Skill::InventoryFacets,
        data: ReplyData::Facets(facets),
        message: Some(text),
        reading: reading.map(|reading| reading.to_request()),
        nothing_found: None,
        summary: None,
    }
}

/// Answers `inventory.vehicle`, or refuses with `VEHICLE_NOT_FOUND` or `VEHICLE_UNAVAILABLE`.
///
/// # Errors
/// The refusal, or when the inventory's snapshot is damaged.
pub fn vehicle(
    dealer: &DealerSettings,
    inventory: &Inventory,
    query: &VehicleQuery,
    now: Timestamp,
) -> Result<AapReply, SkillError> {
    match inventory
        .find(query, tombstone_horizon(dealer, now))
        .map_err(InternalError::on(LOOKING))?
    {
        VehicleLookup::Listed(found) => Ok(AapReply {
            skill: Skill::InventoryVehicle,
            data: ReplyData::Vehicle(found.json),
            message: None,
            reading: None,
            nothing_found: None,
            summary: None,
        }),
        VehicleLookup::Gone(tombstone) => Err(unavailable(inventory, tombstone).into()),
        VehicleLookup::Unknown => Err(not_found(dealer, query).into()),
    }
}

/// Returns the moment at or before which removed units count as unknown (AAP 1.1
/// `inventory.vehicle`, C-23).
#[must_use]
pub fn tombstone_horizon(dealer: &DealerSettings, now: Timestamp) -> Timestamp {
    now.saturating_sub(dealer.tombstone_lifetime).unwrap_or(Timestamp::MIN)
}

/// Refuses with `VEHICLE_UNAVAILABLE`, and names similar vehicles.
#[must_use]
pub fn unavailable(inventory: &Inventory, tombstone: &Tombstone) -> AapRefusal {
    let removed = RemovedUnit {
        vin: tombstone.vin.as_deref(),
        stock: tombstone.stock.as_deref(),
        last_status: &tombstone.last_status,
        since: tombstone.removed_at,
    };
    AapRefusal::vehicle_unavailable(&removed, &inventory.similar(tombstone, MAX_SIMILAR))
}

/// Refuses with `VEHICLE_NOT_FOUND`, and names the identifiers of the request.
#[must_use]
pub fn not_found(dealer: &DealerSettings, query: &VehicleQuery) -> AapRefusal {
    let identifiers: Vec<_> =
        [("vin", &query.vin), ("stock", &query.stock), ("vehicle_id", &query.vehicle_id)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect();
    AapRefusal::vehicle_not_found(&identifiers, &dealer.id)
}
