//! Units that a package takes.

use crate::catalogue::{MAX_UNITS, PoolCapacity, PricingOption, Product, ProductPrice};
use crate::money::MoneyAmount;

/// Units that a package takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageQuantity {
    /// None: it is not counted.
    Uncounted,
    /// This many over its whole flight.
    Total(u64),
    /// This many on each day.
    PerDay(u64),
}

/// Returns the capacity of a pool; `None` when no product declares it.
pub(crate) fn pool_capacity<'a>(offer: &'a [Product], pool: &str) -> Option<PoolCapacity<'a>> {
    PoolCapacity::find(offer.iter().filter_map(Product::declared_capacity), pool)
}

impl Product {
    /// Returns the units that a package takes of a pool that counts `unit`: the budget divided by the price,
    /// rounded up, where the price counts the unit, or else what the product declares.
    #[must_use]
    pub fn quantity(
        &self,
        unit: &str,
        price: &PricingOption,
        bid: Option<MoneyAmount>,
        budget: MoneyAmount,
    ) -> PackageQuantity {
        let Some(capacity) = &self.terms.capacity else { return PackageQuantity::Uncounted };
        let amount = match price.price() {
            ProductPrice::Fixed(fixed) => Some(fixed),
            ProductPrice::Auction(floor) if capacity.auctions => bid.or(floor),
            ProductPrice::Auction(_) => return PackageQuantity::Uncounted,
        };
        let amount = amount.filter(|amount| *amount > MoneyAmount::ZERO);
        let counted = price.counted_unit().filter(|counted| counted.unit == unit);
        if let Some(amount) = amount
            && let Some(counted) = counted
        {
            let units = budget.share(MoneyAmount::whole(counted.each), amount).ceil();
            return PackageQuantity::Total(units.to_count().min(MAX_UNITS));
        }
        capacity.units_per_day.map_or(PackageQuantity::Uncounted, PackageQuantity::PerDay)
    }
}
