//! Checks of the capacities that products declare.

use super::CatalogueMistake;
use crate::catalogue::capacity::{MAX_UNITS, ProductCapacity};
use crate::catalogue::{PoolCapacity, PricingOption, Product, ProductPrice};
use crate::money::MoneyAmount;

/// Product of a catalogue and its JSON Pointer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedProduct<'a> {
    /// The product.
    pub product: &'a Product,
    /// Its JSON Pointer.
    pub pointer: &'a str,
}

/// Returns the mistakes in the capacities of a catalogue's products.
pub(super) fn mistakes(placed: &[PlacedProduct<'_>]) -> Vec<CatalogueMistake> {
    let products: Vec<Product> = placed.iter().map(|one| one.product.clone()).collect();
    let mut mistakes = Vec::new();
    for PlacedProduct { product, pointer } in placed {
        let Some(capacity) = &product.terms.capacity else { continue };
        let mut mistake = |member: &str, message: String| {
            let pointer = format!("{pointer}/terms/capacity{member}");
            mistakes.push(CatalogueMistake { pointer, message });
        };
        let is_name = |text: &String| {
            !text.is_empty() && text.len() <= 64 && !text.chars().any(char::is_control)
        };
        if capacity.pool.as_ref().is_some_and(|pool| !is_name(pool)) {
            mistake("/pool", "must be a name of 1 to 64 characters".to_owned());
        }
        if capacity.unit.as_ref().is_some_and(|unit| !is_metric(unit)) {
            let message = "must be the name of a metric such as impressions, plays or spots";
            mistake("/unit", message.to_owned());
        }
        for (member, units) in units_of(capacity) {
            if units > MAX_UNITS {
                mistake(&member, format!("must be at most {MAX_UNITS}"));
            }
        }
        if capacity.per_day.is_none() {
            let other = |name: &str| format!("is for the product of the pool that has {name}");
            for (member, is_there) in [
                ("/unit", capacity.unit.is_some()),
                ("/weekdays", !capacity.weekdays.is_empty()),
                ("/dates", !capacity.dates.is_empty()),
            ] {
                if is_there {
                    mistake(member, other("per_day"));
                }
            }
        }
        let pool = product.pool().unwrap_or_default();
        let Some(of_pool) = PoolCapacity::find(&products, pool) else {
            let message = match &capacity.pool {
                None => "must have per_day: the units on a day".to_owned(),
                Some(_) => {
                    "must have per_day, because no other product of the pool has it".to_owned()
                }
            };
            mistake("", message);
            continue;
        };
        if capacity.per_day.is_some() && !of_pool.says_the_same(capacity) {
            let message =
                "is not what another product of the pool says; name the capacity of a pool once";
            mistake("", message.to_owned());
        }
        if let Some(units) = capacity.units_per_day
            && units > of_pool.per_day()
        {
            mistake("/units_per_day", "is more than the pool has on a day".to_owned());
        }
        if let Some(price) = uncounted_price(product, of_pool.unit()) {
            let unit = of_pool.unit();
            let message =
                format!("must have units_per_day, because price {price} counts no {unit}");
            mistake("", message);
        }
    }
    mistakes
}

/// Returns true if a text can be the name of a metric.
fn is_metric(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

/// Returns the numbers of a capacity with their places in it.
fn units_of(capacity: &ProductCapacity) -> Vec<(String, u64)> {
    let mut units = Vec::new();
    units.extend(capacity.per_day.map(|per_day| ("/per_day".to_owned(), per_day)));
    units.extend(capacity.units_per_day.map(|each| ("/units_per_day".to_owned(), each)));
    units.extend(capacity.weekdays.iter().map(|(day, units)| (format!("/weekdays/{day}"), *units)));
    units.extend(capacity.dates.iter().map(|(day, units)| (format!("/dates/{day}"), *units)));
    units
}

/// Returns the first price of which it is not known how many units a package takes. An exclusive product
/// needs no number, because nobody else gets its days.
fn uncounted_price<'p>(product: &'p Product, unit: &str) -> Option<&'p str> {
    let capacity = product.terms.capacity.as_ref()?;
    if capacity.units_per_day.is_some() || product.is_exclusive() {
        return None;
    }
    let rates = product.terms.rates.iter().flat_map(|rate| &rate.pricing_options);
    let mut prices = product.prices().iter().chain(rates);
    let uncounted = prices.find(|price| {
        let is_counted = price.counted_unit().is_some_and(|counted| counted.unit == unit);
        match price.price() {
            ProductPrice::Fixed(amount) => !is_counted || amount <= MoneyAmount::ZERO,
            ProductPrice::Auction(_) => capacity.auctions && !is_counted,
        }
    });
    uncounted.map(PricingOption::id)
}
