//! What is left of counted products, for those who look for products: sold out, or a forecast of availability
//! (`core/delivery-forecast.json`).

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};

use super::InventoryContext;
use super::quantity::pool_capacity;
use super::record::{PoolMonth, each_day, each_month, month_id};
use crate::account::Account;
use crate::catalogue::{Product, ProductPrice};
use crate::forms::products::ProductFilters;
use crate::money::MoneyAmount;
use crate::reply::object;
use crate::store::{StoreRead, Stored};

/// Number of days that a forecast is for where none are asked for.
const USUAL_DAYS: i64 = 30;

/// Maximum number of days that a forecast is for.
const MAX_DAYS: i64 = 366;

/// Number of finished days whose delivery is compared with what was booked.
const HISTORY_DAYS: i64 = 28;

/// Metrics that a forecast can have (`enums/forecastable-metric.json`), as far as they are counted.
const METRICS: [&str; 9] = [
    "impressions",
    "clicks",
    "views",
    "completed_views",
    "grps",
    "engagements",
    "downloads",
    "plays",
    "measured_impressions",
];

/// Days for which availability is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AvailabilityDays {
    /// The first day.
    pub first: Date,
    /// The last day.
    pub last: Date,
    /// True when the request names a day.
    pub is_asked: bool,
}

impl AvailabilityDays {
    /// Returns the days that the filters of a request name, or else the coming ones.
    pub(crate) fn from_filters(filters: Option<&ProductFilters>, today: Date) -> Self {
        let day = |text: Option<&String>| text?.parse::<Date>().ok();
        let start = day(filters.and_then(|filters| filters.start_date.as_ref()));
        let end = day(filters.and_then(|filters| filters.end_date.as_ref()));
        let first = start.unwrap_or(today).max(today);
        let behind = |days: i64| first.checked_add((days - 1).days()).unwrap_or(first);
        let last = end.unwrap_or_else(|| behind(USUAL_DAYS)).clamp(first, behind(MAX_DAYS));
        Self { first, last, is_asked: start.is_some() || end.is_some() }
    }
}

/// Units that are left of pools.
#[derive(Debug, Default)]
pub(crate) struct PoolsLeft {
    pools: BTreeMap<String, PoolLeft>,
}

/// Units that are left of a pool.
#[derive(Debug, Default, Clone, Copy)]
struct PoolLeft {
    /// Units over all days.
    left: u64,
    /// Units that were booked on finished days with reports.
    booked: u64,
    /// Units that were delivered on these days.
    delivered: u64,
}

impl PoolsLeft {
    /// Reads what is left of the pools of products. `has_come` is told of each moment on which that depends.
    pub(crate) fn read(
        context: &InventoryContext<'_>,
        reader: &dyn StoreRead,
        days: AvailabilityDays,
        has_come: &dyn Fn(Timestamp) -> bool,
    ) -> Result<Self, InternalError> {
        let pools: BTreeSet<&str> = context.offer.iter().filter_map(Product::pool).collect();
        if pools.is_empty() {
            return Ok(Self::default());
        }
        let today = context.today();
        if let Some(midnight) =
            today.tomorrow().ok().and_then(|day| day.to_zoned(context.zone.clone()).ok())
        {
            has_come(midnight.timestamp());
        }
        let since = today.checked_sub(HISTORY_DAYS.days()).unwrap_or(today);
        let months = each_month(since, today).chain(each_month(days.first, days.last));
        let months: BTreeSet<Date> = months.collect();
        let ids = pools
            .iter()
            .flat_map(|pool| months.iter().map(|day| month_id(pool, *day, context.is_sandbox)));
        let found: Vec<Stored<PoolMonth>> = reader.find_many(&ids.collect())?;
        let found: BTreeMap<String, PoolMonth> =
            found.into_iter().map(|stored| (stored.record.id, stored.thing)).collect();
        for hold in found.values().flat_map(|month| &month.holds) {
            has_come(hold.expires_at);
        }
        let month_of = |pool: &str, day| found.get(&month_id(pool, day, context.is_sandbox));
        let mut left = BTreeMap::new();
        for pool in pools {
            let Some(capacity) = pool_capacity(context.offer, pool) else { continue };
            let mut sum = PoolLeft::default();
            for day in each_day(days.first, days.last) {
                let taken = month_of(pool, day).map_or(0, |month| {
                    month.booked_on(day).saturating_add(month.held_on(day, None, context.now))
                });
                sum.left = sum.left.saturating_add(capacity.on(day).saturating_sub(taken));
            }
            for day in each_day(since, today).take_while(|day| *day < today) {
                let Some(month) = month_of(pool, day) else { continue };
                if let Some(delivered) = month.delivered.get(&day) {
                    sum.booked = sum.booked.saturating_add(month.booked_on(day));
                    sum.delivered = sum.delivered.saturating_add(*delivered);
                }
            }
            left.insert(pool.to_owned(), sum);
        }
        Ok(Self { pools: left })
    }

    /// Returns true if nothing is left of a product on any of the days that were asked for.
    pub(crate) fn is_sold_out(&self, product: &Product, days: AvailabilityDays) -> bool {
        let pool = product.pool().and_then(|pool| self.pools.get(pool));
        days.is_asked && pool.is_some_and(|pool| pool.left == 0)
    }

    /// Returns a product with the forecast of what is left of it. A product that has a forecast in the
    /// catalogue keeps that one.
    pub(crate) fn forecasted(
        &self,
        context: &InventoryContext<'_>,
        product: Product,
        account: Option<&Account>,
        days: AvailabilityDays,
    ) -> Product {
        if product.published.forecast.is_some() {
            return product;
        }
        let Some(pool) = product.pool() else { return product };
        let Some(capacity) = pool_capacity(context.offer, pool) else { return product };
        let Some(left) = self.pools.get(pool) else { return product };
        let unit = capacity.unit();
        let Some(price) = product.prices_for(account).first() else { return product };
        if !METRICS.contains(&unit) {
            return product;
        }
        let mut metrics = Map::new();
        metrics.insert(unit.to_owned(), left.range());
        let counted = price.counted_unit().filter(|counted| counted.unit == unit);
        if let ProductPrice::Fixed(amount) = price.price()
            && let Some(counted) = counted
        {
            let units = MoneyAmount::from_count(left.expected());
            let cost = amount.portion(units, MoneyAmount::whole(counted.each), MoneyAmount::CENT);
            metrics.insert("spend".to_owned(), json!({"mid": cost}));
        }
        let label = format!("{} to {}", days.first, days.last);
        let point = json!({"label": label, "metrics": metrics});
        let forecast = object([
            ("points", Some(json!([point]))),
            ("forecast_range_unit", Some("availability".into())),
            ("method", Some("estimate".into())),
            ("currency", Some(price.currency().into())),
        ]);
        product.with("forecast", forecast)
    }
}

impl PoolLeft {
    /// Returns what can be expected to be delivered of what is left: all of it, or as much of it as was
    /// delivered of what was booked before.
    fn expected(self) -> u64 {
        if self.booked == 0 || self.delivered >= self.booked {
            return self.left;
        }
        let all = MoneyAmount::from_count(self.left);
        let delivered = MoneyAmount::from_count(self.delivered);
        all.portion(delivered, MoneyAmount::from_count(self.booked), MoneyAmount::whole(1))
            .to_count()
    }

    /// Returns the range of a forecast (`core/forecast-range.json`).
    fn range(self) -> Value {
        match self.booked {
            0 => json!({"mid": self.left}),
            _ => json!({"mid": self.expected(), "high": self.left}),
        }
    }
}
