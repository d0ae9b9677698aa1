//! The filters of `get_products` (`core/product-filters.json`): what does not fit is left out, and
//! what this seller cannot decide is refused rather than ignored.

use std::collections::BTreeMap;

use tradepost_wire::adcp::error::{AdcpCode, AdcpError};
use tradepost_wire::json::{Map, Value, json};

use crate::account::Account;
use crate::catalogue::{PricingOption, Product, ProductPrice};
use crate::forms::products::{
    BrandRef, BudgetRange, ProductFilters, RequiredStandard, VendorMetric,
};
use crate::money::MoneyAmount;
use crate::refuse;
use crate::tools::capabilities;

/// The problems of filters that a schema does not see.
pub(super) fn problems(filters: &ProductFilters) -> Vec<AdcpError> {
    // A filter that is switched off asks for nothing.
    let undecided = filters.undecided.iter().filter(|(_, value)| **value != Value::Bool(false));
    let mut problems: Vec<_> = undecided
        .map(|(name, _)| {
            let message = "this seller cannot filter by this; leave it out";
            refuse::at(AdcpCode::UnsupportedFeature, &format!("filters.{name}"), message)
        })
        .collect();
    if let (Some(first), Some(last)) = (&filters.start_date, &filters.end_date)
        && last < first
    {
        let message = "the campaign ends before it begins; end_date must not be before start_date";
        problems.push(refuse::invalid("filters.end_date", message));
    }
    if let Some(BudgetRange { min: Some(least), max: Some(most), .. }) = &filters.budget_range
        && most < least
    {
        let message = "the most is less than the least; max must not be below min";
        problems.push(refuse::invalid("filters.budget_range.max", message));
    }
    problems
}

/// What fits of a list of products, with the prices that fit; and `filter_diagnostics`, when something
/// does not.
pub(super) fn apply(
    products: Vec<Product>,
    filters: Option<&ProductFilters>,
    account: Option<&Account>,
) -> (Vec<Product>, Option<Value>) {
    let total = products.len();
    let mut excluded: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut fitting = Vec::new();
    for product in products {
        let against = filters.map(|it| against(&product, it, account)).unwrap_or_default();
        for name in &against {
            *excluded.entry(name).or_default() += 1;
        }
        if against.is_empty() {
            let prices = product.prices_for(account).iter();
            let fits = |price: &&PricingOption| filters.is_none_or(|it| fits_price(price, it));
            let prices: Vec<_> = prices.filter(fits).collect();
            // What lost no price goes on as it is: a product with other
            // prices has to be read anew.
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

/// The filters that a product does not pass.
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

/// Names of filters that are not passed.
#[derive(Default)]
struct FailedFilters(Vec<&'static str>);

impl FailedFilters {
    /// Checks a filter that is set.
    fn check<T>(&mut self, name: &'static str, wanted: &Option<T>, fits: impl FnOnce(&T) -> bool) {
        if wanted.as_ref().is_some_and(|wanted| !fits(wanted)) {
            self.0.push(name);
        }
    }

    /// By what a product is, and where it runs.
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
            // A product that names no countries runs everywhere.
            known.is_empty() || known.iter().any(|country| wanted.contains(country))
        });
        self.check("start_date", &filters.start_date, |first| {
            product.expires_at().is_none_or(|moment| moment.to_string() > *first)
        });
        self.check("required_features", &filters.required_features, |wanted| {
            // What is asked for with `false` is what the buyer can do without.
            let mut needed = wanted.iter().filter(|(_, value)| **value == Value::Bool(true));
            needed.all(|(name, _)| capabilities::has_feature(name))
        });
    }

    /// By what it costs. One price has to pass all filters about prices: it is not enough that each filter
    /// finds some.
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

    /// By what is measured and promised.
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
            let most = points.filter_map(|it| it.metrics.as_ref()?.impressions.as_ref()?.mid);
            most.fold(MoneyAmount::ZERO, Ord::max) >= *wanted
        });
    }
}

/// Whether a price fits the filters on prices.
fn fits_price(price: &PricingOption, filters: &ProductFilters) -> bool {
    let currencies = filters.pricing_currencies.as_ref();
    filters.is_fixed_price.is_none_or(|fixed| is_fixed(price) == fixed)
        && currencies.is_none_or(|known| lists(known, price.currency()))
}

fn is_fixed(price: &PricingOption) -> bool {
    matches!(price.price(), ProductPrice::Fixed(_))
}

/// Whether a vendor's metric that a product reports is one that is wanted.
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

/// Whether something is as it is wanted, where anything is.
fn agrees<T: PartialEq>(known: &Option<T>, wanted: &Option<T>) -> bool {
    wanted.is_none() || known == wanted
}

/// Whether what a product promises is at least what is wanted: a floor, or for invalid traffic a
/// ceiling.
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
