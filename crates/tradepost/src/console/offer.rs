//! What is amiss with a dealer's offer, as far as its listings show it: worked out once for each
//! inventory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::settings::DealerSettings;
use tradepost_dealer::{import, price};
use tradepost_server::fault::InternalError;
use tradepost_store::Store;
use tradepost_wire::aap::Vehicle;
use tradepost_wire::aap::vehicle::AnyCondition;

use crate::feeds::FeedStatus;

/// How old the latest news of an inventory may be before somebody should look at its feed.
pub(super) const STALE: SignedDuration = SignedDuration::from_hours(72);

/// What is amiss with a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingWarning {
    /// It has no price out of the door (`R-PR-01`).
    NoPrice,
    /// Its price out of the door lacks fees that every buyer pays (`R-PR-01`).
    WithoutFees,
    /// It has no photo.
    NoPhoto,
    /// It has no VIN.
    NoVin,
    /// It was driven, and nobody says how far.
    NoMileage,
}

impl ListingWarning {
    /// What to say of it.
    pub(super) const fn summary(self) -> &'static str {
        match self {
            Self::NoPrice => import::RowWarning::NotPriced.summary(),
            Self::WithoutFees => import::RowWarning::PriceOmitsFees.summary(),
            Self::NoPhoto => "no photo",
            Self::NoVin => "no VIN",
            Self::NoMileage => "no mileage",
        }
    }

    /// Whether it is about what the customer pays.
    pub(super) const fn is_price(self) -> bool {
        match self {
            Self::NoPrice | Self::WithoutFees => true,
            Self::NoPhoto | Self::NoVin | Self::NoMileage => false,
        }
    }
}

/// What there is to say about an inventory.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// How many listings there are.
    pub(super) listings: usize,
    /// Those with something amiss, by vehicle id.
    pub(super) amiss: HashMap<String, Vec<ListingWarning>>,
    /// When a listing was last confirmed.
    pub(super) latest: Option<Timestamp>,
}

impl Summary {
    /// Looks at a listing.
    fn add(&mut self, vehicle: &Vehicle, dealer: &DealerSettings) {
        self.listings += 1;
        self.latest = self.latest.max(vehicle.updated_at);
        let found = warnings(vehicle, dealer);
        if let (Some(id), false) = (&vehicle.vehicle_id, found.is_empty()) {
            self.amiss.insert(id.clone(), found);
        }
    }

    /// How many listings have a warning.
    pub(super) fn count(&self, is_meant: impl Fn(ListingWarning) -> bool) -> usize {
        self.amiss.values().filter(|all| all.iter().any(|one| is_meant(*one))).count()
    }

    /// For how long nothing has come, when that is too long. Where a feed says when it is stale, its word
    /// counts and not ours.
    pub(super) fn stale_for(
        &self,
        feeds: &[FeedStatus<'_>],
        now: Timestamp,
    ) -> Option<SignedDuration> {
        if feeds.iter().any(|standing| standing.feed.stale_after.is_some()) {
            return None;
        }
        self.latest.map(|latest| now.duration_since(latest)).filter(|age| *age > STALE)
    }
}

/// Summaries, by dealer, each with the inventory that it is of.
#[derive(Debug, Default)]
pub(super) struct Offers(Mutex<HashMap<String, (i64, Arc<Summary>)>>);

impl Offers {
    /// What there is to say about a dealer's inventory.
    pub(super) fn of(
        &self,
        store: &Store,
        dealer: &DealerSettings,
    ) -> Result<Arc<Summary>, InternalError> {
        let generation = store.inventory_generation(&dealer.id)?;
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, summary)) = known().get(&dealer.id)
            && *of == generation
        {
            return Ok(Arc::clone(summary));
        }
        // Without the lock: two who come at once work twice, and nobody waits
        // for a dealer of somebody else.
        let mut summary = Summary::default();
        store.each_listing(&dealer.id, |vehicle| summary.add(&vehicle, dealer))?;
        let summary = Arc::new(summary);
        known().insert(dealer.id.clone(), (generation, Arc::clone(&summary)));
        Ok(summary)
    }
}

fn warnings(vehicle: &Vehicle, dealer: &DealerSettings) -> Vec<ListingWarning> {
    let rooftop = vehicle.rooftop.as_deref();
    let rooftop = dealer.rooftops.iter().find(|it| Some(it.profile.name.as_str()) == rooftop);
    let fees: u32 = rooftop.map(|it| it.fees.iter().map(|fee| fee.amount).sum()).unwrap_or(0);
    let prices = vehicle.price.zip(vehicle.list_price);
    // Listings do not say what everybody gets off.
    let lacks_fees = prices.is_some_and(|(price, list)| price::omits_fees(price, list, None, fees));
    let was_driven = matches!(vehicle.condition, Some(AnyCondition::Used | AnyCondition::Cpo));
    [
        (vehicle.price.is_none(), ListingWarning::NoPrice),
        (lacks_fees, ListingWarning::WithoutFees),
        (vehicle.photos.is_empty(), ListingWarning::NoPhoto),
        (vehicle.vin.is_none(), ListingWarning::NoVin),
        (was_driven && vehicle.mileage.is_none(), ListingWarning::NoMileage),
    ]
    .into_iter()
    .filter_map(|(is_so, warning)| is_so.then_some(warning))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    #[test]
    fn a_price_has_to_hold_the_fees_of_its_rooftop() {
        let dealer = &read::demo().dealers[0].terms;
        let rooftop = Some("Larkspur Motors Ridgemont".to_owned());
        let vehicle = |list_price, price| Vehicle {
            rooftop: rooftop.clone(),
            list_price,
            price,
            vin: Some("1HGCM82633A004352".into()),
            photos: vec!["https://photos.example/1.jpg".into()],
            ..Vehicle::default()
        };
        // The rooftop's fees are 499.
        for (list_price, price, expected) in [
            (Some(20_000), Some(20_499), vec![]),
            (Some(20_000), Some(20_498), vec![ListingWarning::WithoutFees]),
            (Some(20_000), Some(20_000), vec![ListingWarning::WithoutFees]),
            // A rebate may be larger than the fees.
            (Some(20_000), Some(19_000), vec![]),
            (Some(20_000), None, vec![ListingWarning::NoPrice]),
            (None, Some(20_000), vec![]),
        ] {
            assert_eq!(warnings(&vehicle(list_price, price), dealer), expected, "{price:?}");
        }
    }
}
