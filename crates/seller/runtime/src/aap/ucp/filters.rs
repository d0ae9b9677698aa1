//! Filters of a catalog request, as filters of AAP. Beside those of UCP, the dealer's own filters are some of AAP's, under
//! the same names.

use tradepost_aap::{Filters, Skill};
use tradepost_document::json::{Map, Value};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Problems, clip};
use tradepost_ucp::error::json_path;
use tradepost_ucp::message::Message;
use tradepost_ucp::request::{BuyerContext, CatalogFilters, PriceFilter, custom_filters};

/// Filters of AAP that have no counterpart in UCP.
const OWN: [&str; 15] = [
    "make",
    "model",
    "trim",
    "condition",
    "transmission",
    "fuel",
    "driveline",
    "exterior_color",
    "interior_color",
    "rooftops",
    "year_min",
    "year_max",
    "mileage_max",
    "vin",
    "stock",
];

/// Currency of all prices.
pub(super) const CURRENCY: &str = "USD";

/// Minor units of a price of AAP, which is in whole dollars.
pub(super) const CENTS: u64 = 100;

/// Maximum number of warnings about unknown filters.
const MAX_WARNINGS: usize = 20;

/// Returns the schemas of the dealer's own filters.
pub(super) fn schema() -> Map {
    let search = tradepost_aap::schema::request(Skill::InventorySearch);
    let filters = search.get("properties").and_then(|all| all.pointer("/filters/properties"));
    let filters = filters.and_then(Value::as_object).into_iter().flatten();
    let own = filters.filter(|(name, _)| OWN.contains(&name.as_str()));
    own.map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

/// The dealer's own filters of a request, with warnings about those that nobody knows.
#[derive(Debug, Default)]
pub(super) struct OwnFilters {
    filters: Filters,
    pub(super) warnings: Vec<Message>,
}

impl OwnFilters {
    /// Reads the filters of a request at a place of a document.
    pub(super) fn read(
        request: &Value,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let at = at.key("filters");
        let mut own = Map::new();
        let mut warnings = Vec::new();
        for (name, value) in custom_filters(request) {
            if OWN.contains(&name.as_str()) {
                own.insert(name, value);
            } else if warnings.len() < MAX_WARNINGS {
                warnings.push(unknown(&name));
            }
        }
        let filters = Filters::read(&own.into(), &at, problems)?;
        Some(Self { filters, warnings })
    }

    /// Adds the filters of UCP. Vehicles without a price match none, because a product has one.
    pub(super) fn combined(self, ucp: &CatalogFilters, context: &BuyerContext) -> CombinedFilters {
        let Self { mut filters, mut warnings } = self;
        filters.body.clone_from(&ucp.categories);
        let currency = context.currency.as_deref().unwrap_or(CURRENCY);
        let price = ucp.price.unwrap_or_default();
        let is_foreign = ucp.price.is_some() && currency != CURRENCY;
        if is_foreign {
            let content = "the price filter was not applied: all prices here are in USD, and no other currency is converted";
            warnings
                .push(Message::warning("filter_ignored", content).at("$.filters.price".to_owned()));
        }
        let PriceFilter { min, max } = if is_foreign { PriceFilter::default() } else { price };
        filters.price_max = max.map(|max| dollars(max / CENTS));
        let asked = Filters { price_min: min.map(|min| dollars(min.div_ceil(CENTS))), ..filters };
        CombinedFilters { asked, warnings }
    }
}

/// Filters of AAP that say what a request of UCP asks for.
#[derive(Debug)]
pub(super) struct CombinedFilters {
    /// The filters as asked for.
    pub(super) asked: Filters,
    /// Warnings about what was not applied.
    pub(super) warnings: Vec<Message>,
}

impl CombinedFilters {
    /// Returns the filters of vehicles that a catalog can show: a product has a price.
    pub(super) fn shown(&self) -> Filters {
        let price_min = Some(self.asked.price_min.unwrap_or_default().max(1));
        Filters { price_min, ..self.asked.clone() }
    }
}

fn dollars(amount: u64) -> u32 {
    u32::try_from(amount).unwrap_or(u32::MAX)
}

/// Returns the warning about a filter. Its place is that in the request, whatever the binding has around it.
fn unknown(name: &str) -> Message {
    let filters = DocumentPlace::Root.key("filters");
    let place = filters.key(name).pointer();
    let known: Vec<_> = OWN.into_iter().chain(["categories", "price"]).collect();
    let guess = parse::did_you_mean(clip(name), &known);
    let guess = guess.map(|guess| format!("; did you mean \"{guess}\"?")).unwrap_or_default();
    let content = format!("this filter is not known here, and was not applied{guess}");
    Message::warning("filter_ignored", content).at(json_path(&place))
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    fn combined(filters: &Value, currency: Option<&str>) -> CombinedFilters {
        let request = json!({"filters": filters});
        let mut problems = Problems::new();
        let own = OwnFilters::read(&request, &DocumentPlace::Root, &mut problems).unwrap();
        let ucp = tradepost_ucp::request::SearchRequest::read(
            &request,
            &DocumentPlace::Root,
            &mut problems,
        );
        let context = BuyerContext { currency: currency.map(str::to_owned) };
        own.combined(&ucp.unwrap().filters, &context)
    }

    #[test]
    fn cents_become_whole_dollars_within_the_bounds() {
        for (min, max, expected) in [
            (json!(100), json!(200), (Some(1), Some(2))),
            (json!(101), json!(299), (Some(2), Some(2))),
            (json!(0), json!(0), (Some(0), Some(0))),
            (
                json!(99_999_999_999_999_i64),
                json!(99_999_999_999_999_i64),
                (Some(u32::MAX), Some(u32::MAX)),
            ),
        ] {
            let found = combined(&json!({"price": {"min": min, "max": max}}), None);
            assert_eq!((found.asked.price_min, found.asked.price_max), expected);
            assert!(found.shown().price_min >= Some(1));
        }
    }

    #[test]
    fn a_foreign_price_is_ignored_and_said_so() {
        let filters = json!({"price": {"max": 100}, "categories": ["suv"]});
        let found = combined(&filters, Some("EUR"));
        assert_eq!(found.asked.price_max, None);
        assert_eq!(found.asked.body, ["suv"]);
        assert_eq!(found.warnings.len(), 1);
        assert_eq!(combined(&filters, Some("USD")).asked.price_max, Some(1));
        assert!(combined(&json!({"categories": ["suv"]}), Some("EUR")).warnings.is_empty());
    }

    #[test]
    fn own_filters_are_those_of_aap() {
        assert_eq!(schema().len(), OWN.len());
        let found = combined(&json!({"make": ["Honda"], "maek": ["Honda"], "price_max": 3}), None);
        assert_eq!(found.asked.make, ["Honda"]);
        assert_eq!(found.asked.price_max, None);
        let warnings: Vec<_> =
            found.warnings.iter().map(|warning| warning.content.as_str()).collect();
        assert_eq!(
            warnings,
            [
                "this filter is not known here, and was not applied; did you mean \"make\"?",
                "this filter is not known here, and was not applied",
            ]
        );
    }
}
