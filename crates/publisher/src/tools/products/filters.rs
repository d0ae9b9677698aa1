//! The filters of `get_products` (`core/product-filters.json`): what does not fit is left out, and
//! what this seller cannot decide is refused rather than ignored.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::{Code, Error};

use crate::account::Account;
use crate::catalogue::{Price, Product, currency, maps, number, same_format, text};
use crate::refuse;
use crate::tools::capabilities;

/// Filters that need data which products of this seller do not have.
const UNDECIDED: [&str; 11] = [
    "geo_proximity",
    "keywords",
    "metros",
    "postal_areas",
    "regions",
    "required_axe_integrations",
    "required_geo_targeting",
    "required_vendor_metrics",
    "signal_targeting",
    "standard_formats_only",
    "trusted_match",
];

/// The problems of filters that a schema does not see.
pub(super) fn problems(filters: &Map<String, Value>) -> Vec<Error> {
    let undecided = UNDECIDED.iter().filter(|name| {
        // A filter that is switched off asks for nothing.
        filters.get(**name).is_some_and(|value| *value != Value::Bool(false))
    });
    let mut problems: Vec<_> = undecided
        .map(|name| {
            let message = "this seller cannot filter by this; leave it out";
            refuse::at(Code::UnsupportedFeature, &format!("filters.{name}"), message)
        })
        .collect();
    let (first, last) = (text(filters, "start_date"), text(filters, "end_date"));
    if !first.is_empty() && !last.is_empty() && last < first {
        let message = "the campaign ends before it begins; end_date must not be before start_date";
        problems.push(refuse::invalid("filters.end_date", message));
    }
    if let Some(budget) = filters.get("budget_range").and_then(Value::as_object)
        && let (Some(least), Some(most)) = (number(budget, "min"), number(budget, "max"))
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
    filters: &Map<String, Value>,
    account: Option<&Account>,
) -> Filtered {
    let total = products.len();
    let mut excluded: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut fitting = Vec::new();
    for mut product in products {
        let against = against(&product, filters, account);
        for name in &against {
            *excluded.entry(name).or_default() += 1;
        }
        if against.is_empty() {
            let prices = product.prices_for(account).into_iter();
            let prices = prices.filter(|price| fits_price(price, filters));
            let prices = prices.cloned().map(Value::Object).collect();
            product.published.insert("pricing_options".to_owned(), prices);
            // They are in their place now.
            product.terms.rates.clear();
            fitting.push(product);
        }
    }
    let count = |(name, count): (&'static str, usize)| (name.to_owned(), json!({"count": count}));
    let diagnostics = (!excluded.is_empty()).then(|| {
        json!({
            "semantics": "any",
            "total_candidates": total,
            "excluded_by": excluded.into_iter().map(count).collect::<Map<_, _>>(),
        })
    });
    Filtered { products: fitting, diagnostics }
}

/// The filters that a product does not pass.
fn against(
    product: &Product,
    filters: &Map<String, Value>,
    account: Option<&Account>,
) -> Vec<&'static str> {
    let published = &product.published;
    let prices = product.prices_for(account);
    let fitting: Vec<_> = prices.iter().filter(|price| fits_price(price, filters)).collect();
    let mut against = Vec::new();
    let mut check = |name: &'static str, fits: &dyn Fn(&Value) -> bool| {
        if filters.get(name).is_some_and(|wanted| !fits(wanted)) {
            against.push(name);
        }
    };
    check("delivery_type", &|wanted| published.get("delivery_type") == Some(wanted));
    check("exclusivity", &|wanted| {
        published.get("exclusivity").and_then(Value::as_str).unwrap_or("none")
            == wanted.as_str().unwrap_or_default()
    });
    check("is_fixed_price", &|wanted| {
        prices.iter().any(|price| is_fixed(price) == wanted.as_bool().unwrap_or_default())
            && !fitting.is_empty()
    });
    check("pricing_currencies", &|wanted| {
        prices.iter().any(|price| lists(wanted, currency(price))) && !fitting.is_empty()
    });
    check("format_ids", &|wanted| {
        maps(Some(wanted)).any(|wanted| product.formats().any(|known| same_format(known, wanted)))
    });
    check("channels", &|wanted| product.channels().any(|channel| lists(wanted, channel)));
    for name in [
        "video_placement_types",
        "audio_distribution_types",
        "sponsored_placement_types",
        "social_placement_surfaces",
    ] {
        check(name, &|wanted| words(published.get(name)).any(|word| lists(wanted, word)));
    }
    check("countries", &|wanted| {
        let known = &product.terms.countries;
        known.is_empty() || known.iter().any(|country| lists(wanted, country))
    });
    check("start_date", &|wanted| {
        let first = wanted.as_str().unwrap_or_default();
        product.expires_at().is_none_or(|moment| moment.to_string().as_str() > first)
    });
    check("budget_range", &|wanted| {
        let wanted = wanted.as_object();
        let in_currency = |price: &&&Map<String, Value>| {
            wanted.is_some_and(|wanted| text(wanted, "currency") == currency(price))
        };
        let most = wanted.and_then(|wanted| number(wanted, "max"));
        fitting.iter().filter(|price| in_currency(price)).any(|price| {
            let least = product.minimum(price);
            most.zip(least).is_none_or(|(most, least)| least <= most)
        })
    });
    check("required_metrics", &|wanted| {
        let reporting = published.get("reporting_capabilities");
        let known = reporting.and_then(|reporting| reporting.get("available_metrics"));
        words(Some(wanted)).all(|metric| known.is_some_and(|known| lists(known, metric)))
    });
    check("required_performance_standards", &|wanted| {
        let mut wanted = maps(Some(wanted));
        wanted.all(|wanted| maps(published.get("performance_standards")).any(|s| meets(s, wanted)))
    });
    check("required_features", &|wanted| {
        let mut wanted = wanted.as_object().into_iter().flatten();
        wanted.all(|(name, value)| *value != Value::Bool(true) || capabilities::has_feature(name))
    });
    check("min_exposures", &|wanted| {
        let forecast = published.get("forecast").and_then(|forecast| forecast.get("points"));
        let most = maps(forecast)
            .filter_map(|point| point.get("metrics")?.get("impressions")?.get("mid")?.as_f64());
        most.fold(0.0, f64::max) >= wanted.as_f64().unwrap_or_default()
    });
    against
}

/// Whether a price fits the filters on prices.
fn fits_price(price: &Map<String, Value>, filters: &Map<String, Value>) -> bool {
    let fixed = filters.get("is_fixed_price").and_then(Value::as_bool);
    let currencies = filters.get("pricing_currencies");
    fixed.is_none_or(|fixed| is_fixed(price) == fixed)
        && currencies.is_none_or(|known| lists(known, currency(price)))
}

fn is_fixed(price: &Map<String, Value>) -> bool {
    match Price::of(price) {
        Price::Fixed(_) => true,
        Price::Auction(_) => false,
    }
}

/// Whether what a product promises is at least what is wanted: a floor, or for invalid traffic a
/// ceiling.
fn meets(known: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    let agrees = |name: &str| match (known.get(name), wanted.get(name)) {
        (_, None) => true,
        (known, wanted) => known == wanted,
    };
    let vendor = |standard: &Map<String, Value>| {
        standard.get("vendor").and_then(|vendor| vendor.get("domain")).cloned()
    };
    let enough = match (number(known, "threshold"), number(wanted, "threshold")) {
        (Some(known), Some(most)) if text(wanted, "metric") == "ivt" => known <= most,
        (Some(known), Some(least)) => known >= least,
        (_, None) => true,
        (None, Some(_)) => false,
    };
    let vendor_fits = vendor(wanted).is_none() || vendor(wanted) == vendor(known);
    agrees("metric") && agrees("standard") && enough && vendor_fits
}

/// The words of a list.
fn words(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn lists(list: &Value, word: &str) -> bool {
    words(Some(list)).any(|known| known == word)
}
