//! Pools of units that are counted here: the units of a pool on each day, and those that a package takes.

use jiff::civil::Date;

use super::capacity::{DayOfWeek, IMPRESSIONS, MAX_UNITS, ProductCapacity};
use super::{PricingOption, Product, ProductPrice};
use crate::money::MoneyAmount;

/// Capacity of a pool, as one of its products declares it.
#[derive(Debug, Clone, Copy)]
pub struct PoolCapacity<'a>(&'a ProductCapacity);

impl<'a> PoolCapacity<'a> {
    /// Finds the capacity of a pool; `None` when no product declares it.
    #[must_use]
    pub fn find(products: &'a [Product], pool: &str) -> Option<Self> {
        let mut of_pool = products.iter().filter(|product| product.pool() == Some(pool));
        of_pool.find_map(|product| {
            product.terms.capacity.as_ref().filter(|known| known.per_day.is_some()).map(Self)
        })
    }

    /// Returns the unit that is counted.
    #[must_use]
    pub fn unit(self) -> &'a str {
        self.0.unit.as_deref().unwrap_or(IMPRESSIONS)
    }

    /// Returns the units on a day that nothing else is said about.
    #[must_use]
    pub fn per_day(self) -> u64 {
        self.0.per_day.unwrap_or_default()
    }

    /// Returns the units on a day.
    #[must_use]
    pub fn on(self, day: Date) -> u64 {
        let weekday = || self.0.weekdays.get(&DayOfWeek::from(day.weekday()));
        let special = self.0.dates.get(&day).or_else(weekday).copied();
        special.or(self.0.per_day).unwrap_or_default()
    }
}

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

impl PricingOption {
    /// Returns the unit that the price counts and the number of them that it is for; `None` where it counts
    /// none, such as a flat rate.
    #[must_use]
    pub fn counted_unit(&self) -> Option<CountedUnit> {
        let unit = |unit, each| Some(CountedUnit { unit, each });
        match self.pricing_model.as_deref()? {
            "cpm" | "vcpm" => unit(IMPRESSIONS, 1000),
            "cpc" => unit("clicks", 1),
            "cpcv" => unit("completed_views", 1),
            "cpv" => unit("views", 1),
            "cpp" => unit("grps", 1),
            "cpa" => unit("conversions", 1),
            _ => None,
        }
    }
}

/// Unit of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedUnit {
    /// The unit, by the name of its metric.
    pub unit: &'static str,
    /// Number of units that the price is for.
    pub each: u32,
}

impl Product {
    /// Returns the pool of which its packages take units; `None` when it is not counted.
    #[must_use]
    pub fn pool(&self) -> Option<&str> {
        let capacity = self.terms.capacity.as_ref()?;
        Some(capacity.pool.as_deref().unwrap_or_else(|| self.id()))
    }

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

impl PoolCapacity<'_> {
    /// Returns true if another product declares the same capacity.
    #[must_use]
    pub fn says_the_same(self, other: &ProductCapacity) -> bool {
        self.0.per_day == other.per_day
            && self.unit() == PoolCapacity(other).unit()
            && self.0.weekdays == other.weekdays
            && self.0.dates == other.dates
    }
}
