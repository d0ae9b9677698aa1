//! Counted inventory for the publisher's staff: what there is of each product on each day, what is booked and
//! held of it, and what is left.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;
use tradepost_document::json::{Value, json};

use super::{DecisionError, StaffView};
use crate::catalogue::Product;
use crate::inventory::{self, InventoryContext, PoolMonth, pool_capacity};
use crate::store::Stored;

/// Number of days that are listed where none are named.
const USUAL_DAYS: i64 = 30;

/// Maximum number of days that are listed at once.
const MAX_DAYS: i32 = 366;

/// Filter of the inventory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InventoryFilter {
    /// Only this product.
    pub product: Option<String>,
    /// The first day; today when `None`.
    pub from: Option<Date>,
    /// The day after the last one; 30 days are listed when `None`.
    pub until: Option<Date>,
    /// True for what test accounts have booked, in place of the live accounts.
    pub is_sandbox: bool,
}

/// Lists the inventory by product and day, in the order of the catalogue.
///
/// # Errors
/// The problems of the filter, or an error of the store.
pub fn list(view: StaffView<'_>, filter: &InventoryFilter) -> Result<Vec<Value>, DecisionError> {
    let StaffView { publisher, reader, now } = view;
    let offer = publisher.products(reader)?;
    let context = InventoryContext::new(&publisher.profile, &offer, filter.is_sandbox, now);
    let from = filter.from.unwrap_or_else(|| context.today());
    let usual = || from.checked_add(USUAL_DAYS.days()).unwrap_or(Date::MAX);
    let until = filter.until.unwrap_or_else(usual);
    let mut problems = Vec::new();
    let length = from.until(until).map_or(i32::MAX, |span| span.get_days());
    if length <= 0 {
        problems.push("the period ends before it begins".to_owned());
    } else if length > MAX_DAYS {
        problems.push(format!("name at most {MAX_DAYS} days"));
    }
    let is_wanted = |product: &&Product| {
        product.pool().is_some() && filter.product.as_ref().is_none_or(|id| id == product.id())
    };
    let products: Vec<&Product> = offer.iter().filter(is_wanted).collect();
    if let Some(id) = filter.product.as_ref().filter(|_| products.is_empty()) {
        problems.push(format!(
            "no product {id} is counted; `capacity` in its terms says how much there is"
        ));
    }
    if !problems.is_empty() {
        return Err(DecisionError::Invalid(problems));
    }
    let last = until.yesterday().unwrap_or(from);
    let mut ids = BTreeSet::new();
    for pool in products.iter().filter_map(|product| product.pool()) {
        let months = inventory::each_month(from, last);
        ids.extend(months.map(|day| inventory::month_id(pool, day, filter.is_sandbox)));
    }
    let found: Vec<Stored<PoolMonth>> = reader.find_many(&ids)?;
    let months: BTreeMap<String, PoolMonth> =
        found.into_iter().map(|stored| (stored.record.id, stored.thing)).collect();
    let mut rows = Vec::new();
    for product in products {
        let Some(pool) = product.pool() else { continue };
        let Some(capacity) = pool_capacity(&offer, pool) else { continue };
        for day in inventory::each_day(from, last) {
            let month = months.get(&inventory::month_id(pool, day, filter.is_sandbox));
            let booked = month.map_or(0, |month| month.booked_on(day));
            let held = month.map_or(0, |month| month.held_on(day, None, now));
            let delivered = month.and_then(|month| month.delivered.get(&day).copied());
            let total = capacity.on(day);
            let left = total.saturating_sub(booked).saturating_sub(held);
            let oversold = booked.saturating_add(held).saturating_sub(total);
            rows.push(json!({
                "publisher": publisher.profile.id, "product": product.id(), "pool": pool,
                "unit": capacity.unit(), "date": day, "capacity": total, "booked": booked,
                "held": held, "left": left, "oversold": oversold, "delivered": delivered,
                "sandbox": filter.is_sandbox,
            }));
        }
    }
    Ok(rows)
}
