//! Warnings about a dealer's listings, computed once for each version of the inventory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tradepost_aap::Vehicle;
use tradepost_aap::vehicle::AnyCondition;
use tradepost_dealer::settings::DealerSettings;
use tradepost_dealer::{import, price};
use tradepost_server::fault::InternalError;
use tradepost_store::Store;

/// Warning about a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingWarning {
    /// No out-the-door price (AAP 1.1 `pricing-and-ftc`, `R-PR-01`).
    NoPrice,
    /// Out-the-door price without fees that every buyer pays (AAP 1.1 `pricing-and-ftc`,
    /// `R-PR-01`).
    WithoutFees,
    /// No photo.
    NoPhoto,
    /// No VIN.
    NoVin,
    /// Used vehicle without mileage.
    NoMileage,
}

impl ListingWarning {
    /// Returns the text of the warning.
    pub(super) const fn summary(self) -> &'static str {
        match self {
            Self::NoPrice => import::RowWarning::NotPriced.summary(),
            Self::WithoutFees => import::RowWarning::PriceOmitsFees.summary(),
            Self::NoPhoto => "no photo",
            Self::NoVin => "no VIN",
            Self::NoMileage => "no mileage",
        }
    }

    /// Returns true when the warning is about the price.
    pub(super) const fn is_price(self) -> bool {
        match self {
            Self::NoPrice | Self::WithoutFees => true,
            Self::NoPhoto | Self::NoVin | Self::NoMileage => false,
        }
    }
}

/// Summary of an inventory.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Number of listings.
    pub(super) listings: usize,
    /// Warnings by vehicle id, of the listings that have any.
    pub(super) warnings_by_vehicle: HashMap<String, Vec<ListingWarning>>,
    /// Time at which a listing was last confirmed.
    pub(super) latest: Option<Timestamp>,
}

impl Summary {
    /// Adds a listing.
    fn add(&mut self, vehicle: &Vehicle, dealer: &DealerSettings) {
        self.listings += 1;
        self.latest = self.latest.max(vehicle.updated_at);
        let found = warnings(vehicle, dealer);
        if !found.is_empty()
            && let Some(id) = &vehicle.vehicle_id
        {
            self.warnings_by_vehicle.insert(id.clone(), found);
        }
    }

    /// Counts the listings with such a warning.
    pub(super) fn count(&self, is_meant: impl Fn(ListingWarning) -> bool) -> usize {
        self.warnings_by_vehicle.values().filter(|all| all.iter().any(|one| is_meant(*one))).count()
    }
}

/// Summaries by dealer, each with the generation of its inventory.
#[derive(Debug, Default)]
pub(super) struct Offers(Mutex<HashMap<String, (i64, Arc<Summary>)>>);

impl Offers {
    /// Returns the summary of a dealer's inventory.
    pub(super) fn summary(
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
        // Without the lock: two concurrent requests do the work twice, but none waits for another dealer.
        let mut summary = Summary::default();
        store.each_listing(&dealer.id, |vehicle| summary.add(&vehicle, dealer))?;
        let summary = Arc::new(summary);
        known().insert(dealer.id.clone(), (generation, Arc::clone(&summary)));
        Ok(summary)
    }
}

fn warnings(vehicle: &Vehicle, dealer: &DealerSettings) -> Vec<ListingWarning> {
    let rooftop = vehicle.rooftop.as_deref();
    let rooftop = dealer.rooftops.iter().find(|known| Some(known.profile.name.as_str()) == rooftop);
    let fees: u32 =
        rooftop.map(|rooftop| rooftop.fees.iter().map(|fee| fee.amount).sum()).unwrap_or(0);
    let prices = vehicle.price.zip(vehicle.list_price);
    // Listings do not contain the discounts for all buyers.
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
    use tradepost_runtime::config::read;

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
