//! The filters of `get_products` (`core/product-filters.json`): what does not fit is left out, and
//! what this seller cannot decide is refused rather than ignored.

use std::collections::BTreeMap;

use tradepost_wire::adcp::error::{Code, Error};
use tradepost_wire::json::{Map, Value, json};

use crate::account::Account;
use crate::catalogue::{Price, PricingOption, Product};
use crate::forms::products::{Brand, BudgetRange, Filters, RequiredStandard, VendorMetric};
use crate::money::Amount;
use crate::refuse;
use crate::tools::capabilities;

/// The problems of filters that a schema does not see.
pub(super) fn problems(filters: &Filters) -> Vec<Error> {
    // A filter that is switched off asks for nothing.
    let undecided = filters.undecided.iter().filter(|(_, value)| **value != Value::Bool(false));
    let mut problems: Vec<_> = undecided
        .map(|(name, _)| {
            let message = "this seller cannot filter by this; leave it out";
            refuse::at(Code::UnsupportedFeature, &format!("filters.{name}"), message)
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

/// What is left of a list of products.
#[derive(Debug, Default)]
pub(super) struct Filtered {
    /// What fits, with the prices that fit.
    pub products: Vec<Product>,
    /// `filter_diagnostics`, when something does not fit.
    pub diagnostics: Option<Value>,
}

/// Leaves out what does not fit, and the prices that do not.
pub(super) fn apply(
    products: Vec<Product>,
    filters: Option<&Filters>,
    account: Option<&Account>,
) -> Filtered {
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
            let fits = |price: &&PricingOption| filters.is_none_or(|it| fits_price(price, it));
            let prices: Vec<_> = prices.filter(fits).collect();
            // What lost no price goes on as it is: a product with other
            // prices has to be read anew.
            let published = !account.is_some_and(|account| product.has_rate(account));
            if published && prices.len() == product.prices().len() {
                fitting.push(product);
            } else {
                fitting.push(product.at(&prices));
            }
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
    Filtered { products: fitting, diagnostics }
}

/// The filters that a product does not pass.
fn against(product: &Product, filters: &Filters, account: Option<&Account>) -> Vec<&'static str> {
    let published = &product.published;
    let prices = product.prices_for(account);
    let fitting: Vec<_> = prices.iter().filter(|price| fits_price(price, filters)).collect();
    let mut against = Vec::new();
    let mut check = |name: &'static str, fits: Option<bool>| {
        if fits == Some(false) {
            against.push(name);
        }
    };
    check(
        "delivery_type",
        filters
            .delivery_type
            .as_ref()
            .map(|wanted| published.delivery_type.as_ref() == Some(wanted)),
    );
    check(
        "exclusivity",
        filters
            .exclusivity
            .as_ref()
            .map(|wanted| published.exclusivity.as_deref().unwrap_or("none") == wanted),
    );
    check(
        "is_fixed_price",
        filters.is_fixed_price.map(|wanted| {
            // One price has to pass all filters about prices: it is not
            // enough that each filter finds some.
            prices.iter().any(|price| is_fixed(price) == wanted) && !fitting.is_empty()
        }),
    );
    check(
        "pricing_currencies",
        filters.pricing_currencies.as_ref().map(|wanted| {
            prices.iter().any(|price| lists(wanted, price.currency()))
                && !fitting.is_empty()
                && product.signals_cost(wanted)
        }),
    );
    check(
        "format_ids",
        filters.format_ids.as_ref().map(|wanted| {
            wanted.iter().any(|wanted| product.formats().iter().any(|known| known.means(wanted)))
        }),
    );
    check(
        "channels",
        filters
            .channels
            .as_ref()
            .map(|wanted| product.channels().iter().any(|channel| wanted.contains(channel))),
    );
    for (name, wanted, known) in [
        ("video_placement_types", &filters.video_placement_types, &published.video_placement_types),
        (
            "audio_distribution_types",
            &filters.audio_distribution_types,
            &published.audio_distribution_types,
        ),
        (
            "sponsored_placement_types",
            &filters.sponsored_placement_types,
            &published.sponsored_placement_types,
        ),
        (
            "social_placement_surfaces",
            &filters.social_placement_surfaces,
            &published.social_placement_surfaces,
        ),
    ] {
        let wanted = wanted.as_ref();
        check(name, wanted.map(|wanted| known.iter().any(|word| wanted.contains(word))));
    }
    check(
        "countries",
        filters.countries.as_ref().map(|wanted| {
            let known = &product.terms.countries;
            // A product that names no countries runs everywhere.
            known.is_empty() || known.iter().any(|country| wanted.contains(country))
        }),
    );
    check(
        "start_date",
        filters
            .start_date
            .as_ref()
            .map(|first| product.expires_at().is_none_or(|moment| moment.to_string() > *first)),
    );
    check(
        "budget_range",
        filters.budget_range.as_ref().map(|wanted| {
            let mut of_currency =
                fitting.iter().filter(|price| price.currency() == wanted.currency);
            of_currency.any(|price| {
                wanted.max.zip(product.minimum(price)).is_none_or(|(most, least)| least <= most)
            })
        }),
    );
    check(
        "required_metrics",
        filters.required_metrics.as_ref().map(|wanted| {
            let known = product.metrics();
            wanted.iter().all(|metric| known.iter().any(|known| known == metric))
        }),
    );
    let standards = filters.required_performance_standards.as_ref();
    check(
        "required_performance_standards",
        standards.map(|wanted| {
            let known = &published.performance_standards;
            wanted.iter().all(|wanted| known.iter().any(|known| meets(known, wanted)))
        }),
    );
    check(
        "required_vendor_metrics",
        filters.required_vendor_metrics.as_ref().map(|wanted| {
            let known = published.reporting_capabilities.iter();
            let known: Vec<_> = known.flat_map(|known| known.vendor_metrics.iter()).collect();
            wanted.iter().all(|wanted| known.iter().any(|known| covers(known, wanted)))
        }),
    );
    check(
        "required_features",
        filters.required_features.as_ref().map(|wanted| {
            let mut wanted = wanted.iter();
            // What is asked for with `false` is what the buyer can do without.
            wanted
                .all(|(name, value)| *value != Value::Bool(true) || capabilities::has_feature(name))
        }),
    );
    check(
        "min_exposures",
        filters.min_exposures.map(|wanted| {
            let points = published.forecast.iter().flat_map(|forecast| forecast.points.iter());
            let most = points.filter_map(|it| it.metrics.as_ref()?.impressions.as_ref()?.mid);
            most.fold(Amount::ZERO, Ord::max) >= wanted
        }),
    );
    against
}

/// Whether a price fits the filters on prices.
fn fits_price(price: &PricingOption, filters: &Filters) -> bool {
    let currencies = filters.pricing_currencies.as_ref();
    filters.is_fixed_price.is_none_or(|fixed| is_fixed(price) == fixed)
        && currencies.is_none_or(|known| lists(known, price.currency()))
}

fn is_fixed(price: &PricingOption) -> bool {
    match price.price() {
        Price::Fixed(_) => true,
        Price::Auction(_) => false,
    }
}

/// Whether a vendor's metric that a product reports is one that is wanted.
fn covers(known: &VendorMetric, wanted: &VendorMetric) -> bool {
    fn part(metric: &VendorMetric, of: fn(&Brand) -> Option<&String>) -> Option<&String> {
        metric.vendor.as_ref().and_then(of)
    }
    let agrees = |of: fn(&Brand) -> Option<&String>| {
        part(wanted, of).is_none_or(|wanted| part(known, of) == Some(wanted))
    };
    agrees(|brand| brand.domain.as_ref())
        && agrees(|brand| brand.brand_id.as_ref())
        && (wanted.metric_id.is_none() || wanted.metric_id == known.metric_id)
}

/// Whether what a product promises is at least what is wanted: a floor, or for invalid traffic a
/// ceiling.
fn meets(known: &RequiredStandard, wanted: &RequiredStandard) -> bool {
    fn agrees<T: PartialEq>(known: Option<&T>, wanted: Option<&T>) -> bool {
        wanted.is_none() || known == wanted
    }
    fn vendor(standard: &RequiredStandard) -> Option<&String> {
        standard.vendor.as_ref()?.domain.as_ref()
    }
    let enough = match (known.threshold, wanted.threshold) {
        (Some(known), Some(most)) if wanted.metric.as_deref() == Some("ivt") => known <= most,
        (Some(known), Some(least)) => known >= least,
        (_, None) => true,
        (None, Some(_)) => false,
    };
    agrees(vendor(known), vendor(wanted))
        && agrees(known.metric.as_ref(), wanted.metric.as_ref())
        && agrees(known.standard.as_ref(), wanted.standard.as_ref())
        && enough
}

fn lists(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}
