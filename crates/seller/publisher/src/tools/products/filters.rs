//! Filters of `get_products` (`core/product-filters.json`). Products that do not match are omitted;
//! filters that this seller cannot apply are refused, not ignored.

use std::collections::BTreeMap;

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::{Map, Value, json};

use crate::account::Account;
use crate::catalogue::{PricingOption, Product, ProductPrice};
use crate::forms::products::{
    BrandRef, BudgetRange, ProductFilters, RequiredStandard, VendorMetric,
};
use crate::money::MoneyAmount;
use crate::refusals;
use crate::tools::capabilities;

/// Returns the problems of filters beyond the schema.
pub(super) fn problems(filters: &ProductFilters) -> Vec<AdcpError> {
    // A filter set to false requests nothing.
    let undecided = filters.undecided.iter().filter(|(_, value)| **value != Value::Bool(false));
    let mut problems: Vec<_> = undecided
        .map(|(name, _)| {
            let message = "this seller cannot filter by this; leave it out";
            refusals::at(AdcpCode::UnsupportedFeature, &format!("filters.{name}"), message)
        })
        .collect();
    if let Some(first) = &filters.start_date
        && let Some(last) = &filters.end_date
        && last < first
    {
        let message = "the campaign ends before it begins; end_date must not be before start_date";
        problems.push(refusals::invalid("filters.end_date", message));
    }
    if let Some(BudgetRange { min: Some(least), max: Some(most), .. }) = &filters.budget_range
        && most < least
    {
        let message = "the most is less than the least; max must not be below min";
        problems.push(refusals::invalid("filters.budget_range.max", message));
    }
    problems
}

/// Returns the matching products with their matching prices, and `filter_diagnostics` when any product
/// was excluded.
pub(super) fn apply(
    products: Vec<Product>,
    filters: Option<&ProductFilters>,
    account: Option<&Account>,
) -> (Vec<Product>, Option<Value>) {
    let total = products.len();
    let mut excluded: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut fitting = Vec::new();
    for product in products {
        let against = filters.map(|filters| against(&product, filters, account));
        let against = against.unwrap_or_default();
        for name in &against {
            *excluded.entry(name).or_default() += 1;
        }
        if against.is_empty() {
            let prices = product.prices_for(account).iter();
            let fits =
                |price: &&PricingOption| filters.is_none_or(|filters| fits_price(price, filters));
            let prices: Vec<_> = prices.filter(fits).collect();
            // A product that keeps all its prices is reused, because one with other prices has to
            // be parsed again.
            let published = !account.is_some_and(|account| product.has_rate(account));
            let is_whole = published && prices.len() == product.prices().len();
            fitting.push(if is_whole { product } else { product.at(&prices) });
        }
    }
    let count = |(name, count): (&'static str, usize)| (name.to_owned(), json!({"count": count}));
    let diagnostics = (!excluded.is_empty()).then(|| {
        json!({
            "semantics": "any",
            "total_candidates": total,
            "excluded_by": excluded.into_iter().map(count).collect::<Map>(),
        })
    });
    (fitting, diagnostics)
}

/// Returns the names of the filters that a product fails.
fn against(
    product: &Product,
    filters: &ProductFilters,
    account: Option<&Account>,
) -> Vec<&'static str> {
    let mut failed = FailedFilters::default();
    failed.by_kind(product, filters);
    failed.by_price(product, filters, account);
    failed.by_measure(product, filters);
    failed.0
}

/// Names of failed filters.
#[derive(Default)]
struct FailedFilters(Vec<&'static str>);

impl FailedFilters {
    /// Checks a filter, if it is set.
    fn check<T>(&mut self, name: &'static str, wanted: &Option<T>, fits: impl FnOnce(&T) -> bool) {
        if wanted.as_ref().is_some_and(|wanted| !fits(wanted)) {
            self.0.push(name);
        }
    }

    /// Checks the filters on kind and place of a product.
    fn by_kind(&mut self, product: &Product, filters: &ProductFilters) {
        let published = &product.published;
        self.check("delivery_type", &filters.delivery_type, |wanted| {
            published.delivery_type.as_ref() == Some(wanted)
        });
        self.check("exclusivity", &filters.exclusivity, |wanted| {
            published.exclusivity.as_deref().unwrap_or("none") == wanted
        });
        self.check("format_ids", &filters.format_ids, |wanted| {
            wanted.iter().any(|wanted| product.formats().iter().any(|known| known.means(wanted)))
        });
        self.check("channels", &filters.channels, |wanted| {
            product.channels().iter().any(|channel| wanted.contains(channel))
        });
        let ProductFilters {
            video_placement_types: video, audio_distribution_types: audio, ..
        } = filters;
        let ProductFilters { sponsored_placement_types: sponsored, .. } = filters;
        let ProductFilters { social_placement_surfaces: social, .. } = filters;
        for (name, wanted, known) in [
            ("video_placement_types", video, &published.video_placement_types),
            ("audio_distribution_types", audio, &published.audio_distribution_types),
            ("sponsored_placement_types", sponsored, &published.sponsored_placement_types),
            ("social_placement_surfaces", social, &published.social_placement_surfaces),
        ] {
            self.check(name, wanted, |wanted| known.iter().any(|word| wanted.contains(word)));
        }
        self.check("countries", &filters.countries, |wanted| {
            let known = &product.terms.countries;
            // A product without countries runs everywhere.
            known.is_empty() || known.iter().any(|country| wanted.contains(country))
        });
        self.check("start_date", &filters.start_date, |first| {
            product.expires_at().is_none_or(|moment| moment.to_string() > *first)
        });
        self.check("required_features", &filters.required_features, |wanted| {
            // A feature requested as `false` is not required.
            let mut needed = wanted.iter().filter(|(_, value)| **value == Value::Bool(true));
            needed.all(|(name, _)| capabilities::has_feature(name))
        });
    }

    /// Checks the filters on prices. A single price has to pass all of them.
    fn by_price(&mut self, product: &Product, filters: &ProductFilters, account: Option<&Account>) {
        let prices = product.prices_for(account);
        let fitting: Vec<_> = prices.iter().filter(|price| fits_price(price, filters)).collect();
        self.check("is_fixed_price", &filters.is_fixed_price, |wanted| {
            prices.iter().any(|price| is_fixed(price) == *wanted) && !fitting.is_empty()
        });
        self.check("pricing_currencies", &filters.pricing_currencies, |wanted| {
            prices.iter().any(|price| lists(wanted, price.currency()))
                && !fitting.is_empty()
                && product.signals_cost(wanted)
        });
        self.check("budget_range", &filters.budget_range, |wanted| {
            fitting.iter().filter(|price| price.currency() == wanted.currency).any(|price| {
                wanted.max.zip(product.minimum(price)).is_none_or(|(most, least)| least <= most)
            })
        });
    }

    /// Checks the filters on measurement and performance.
    fn by_measure(&mut self, product: &Product, filters: &ProductFilters) {
        let published = &product.published;
        self.check("required_metrics", &filters.required_metrics, |wanted| {
            let known = product.metrics();
            wanted.iter().all(|metric| known.iter().any(|known| known == metric))
        });
        let standards = &filters.required_performance_standards;
        self.check("required_performance_standards", standards, |wanted| {
            let known = &published.performance_standards;
            wanted.iter().all(|wanted| known.iter().any(|known| meets(known, wanted)))
        });
        self.check("required_vendor_metrics", &filters.required_vendor_metrics, |wanted| {
            let known = published.reporting_capabilities.iter();
            let known: Vec<_> = known.flat_map(|known| known.vendor_metrics.iter()).collect();
            wanted.iter().all(|wanted| known.iter().any(|known| covers(known, wanted)))
        });
        self.check("min_exposures", &filters.min_exposures, |wanted| {
            let points = published.forecast.iter().flat_map(|forecast| forecast.points.iter());
            let most = points.filter_map(|point| point.metrics.as_ref()?.impressions.as_ref()?.mid);
            most.fold(MoneyAmount::ZERO, Ord::max) >= *wanted
        });
    }
}

/// Returns true when a price passes the filters on prices.
fn fits_price(price: &PricingOption, filters: &ProductFilters) -> bool {
    let currencies = filters.pricing_currencies.as_ref();
    filters.is_fixed_price.is_none_or(|fixed| is_fixed(price) == fixed)
        && currencies.is_none_or(|known| lists(known, price.currency()))
}

fn is_fixed(price: &PricingOption) -> bool {
    matches!(price.price(), ProductPrice::Fixed(_))
}

/// Returns true when a reported vendor metric is the wanted one.
fn covers(known: &VendorMetric, wanted: &VendorMetric) -> bool {
    agrees(&domain(&known.vendor), &domain(&wanted.vendor))
        && agrees(&brand_id(&known.vendor), &brand_id(&wanted.vendor))
        && agrees(&known.metric_id, &wanted.metric_id)
}

fn domain(vendor: &Option<BrandRef>) -> Option<&String> {
    vendor.as_ref()?.domain.as_ref()
}

fn brand_id(vendor: &Option<BrandRef>) -> Option<&String> {
    vendor.as_ref()?.brand_id.as_ref()
}

/// Returns true when a value is the wanted one, or none is wanted.
fn agrees<T: PartialEq>(known: &Option<T>, wanted: &Option<T>) -> bool {
    wanted.is_none() || known == wanted
}

/// Returns true when a promised standard is at least the wanted one; for invalid traffic, at most.
fn meets(known: &RequiredStandard, wanted: &RequiredStandard) -> bool {
    let enough = match (known.threshold, wanted.threshold) {
        (Some(known), Some(most)) if wanted.metric.as_deref() == Some("ivt") => known <= most,
        (Some(known), Some(least)) => known >= least,
        (_, None) => true,
        (None, Some(_)) => false,
    };
    agrees(&domain(&known.vendor), &domain(&wanted.vendor))
        && agrees(&known.metric, &wanted.metric)
        && agrees(&known.standard, &wanted.standard)
        && enough
}

fn lists(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}
