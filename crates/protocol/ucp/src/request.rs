//! The three requests of a catalog. Schemas of UCP are open: members that are unknown are ignored.

use tradepost_document::json::{Map, Value};
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

/// Page size without a request for another one (UCP catalog, REST conformance 3).
pub const DEFAULT_LIMIT: u32 = 10;

/// Maximum number of identifiers of a lookup.
pub const MAX_IDS: usize = 50;

/// Maximum length of a query in characters.
const MAX_QUERY: usize = 200;

/// Maximum length of an identifier in characters.
const MAX_ID: usize = 200;

/// Filters that UCP defines; others belong to the business.
const FILTERS: [&str; 2] = ["categories", "price"];

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// Query in words.
    pub query: Option<String>,
    /// Filters.
    pub filters: CatalogFilters,
    /// Requested page.
    pub page: PageRequest,
    /// Context of the buyer.
    pub context: BuyerContext,
}

/// A lookup of several identifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupRequest {
    /// Identifiers, each once.
    pub ids: Vec<String>,
    /// Filters.
    pub filters: CatalogFilters,
    /// Context of the buyer.
    pub context: BuyerContext,
}

/// A request for one product. Selected options are checked and ignored, because no product here has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductRequest {
    /// Identifier.
    pub id: String,
    /// Filters.
    pub filters: CatalogFilters,
    /// Context of the buyer.
    pub context: BuyerContext,
}

/// Filters that UCP defines; all have to match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogFilters {
    /// Categories, of which one has to match.
    pub categories: Vec<String>,
    /// Price.
    pub price: Option<PriceFilter>,
}

/// Bounds of a price, inclusive, in minor units of the buyer's currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PriceFilter {
    /// Lowest price.
    pub min: Option<u64>,
    /// Highest price.
    pub max: Option<u64>,
}

/// A requested page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Cursor of an earlier answer.
    pub cursor: Option<String>,
    /// Maximum number of products.
    pub limit: u32,
}

/// What a platform says about its buyer, as far as it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuyerContext {
    /// Currency (ISO 4217), in upper case.
    pub currency: Option<String>,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { cursor: None, limit: DEFAULT_LIMIT }
    }
}

impl SearchRequest {
    /// Reads a search at a place of a document.
    pub fn read(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Self> {
        let before = problems.total();
        read_object!(value, at, problems, open {
            optional "query" => query: |v, at, p| parse::text_of(v, at, p, 1, Some(MAX_QUERY)),
            optional "filters" => filters: read_filters,
            optional "pagination" => page: read_page,
            optional "context" => context: read_context,
            optional "signals" => _signals: read_signals,
            optional "attribution" => _attribution: read_attribution,
        });
        // A search without any input is refused (UCP catalog search, "Search Inputs").
        let has = |name: &str| match value.get(name) {
            Some(Value::Object(members)) => !members.is_empty(),
            Some(_) => true,
            None => false,
        };
        if value.is_object() && !has("query") && !has("filters") {
            parse::none_of(at, problems, &["query", "filters"]);
        }
        (problems.total() == before).then(|| Self {
            query,
            filters: filters.unwrap_or_default(),
            page: page.unwrap_or_default(),
            context: context.unwrap_or_default(),
        })
    }
}

impl LookupRequest {
    /// Reads a lookup at a place of a document.
    pub fn read(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Self> {
        let before = problems.total();
        read_object!(value, at, problems, open {
            required "ids" => ids: |v, at, p| parse::list(v, at, p, (1, Some(MAX_IDS)), read_id),
            optional "filters" => filters: read_filters,
            optional "context" => context: read_context,
            optional "signals" => _signals: read_signals,
            optional "attribution" => _attribution: read_attribution,
        });
        let mut once: Vec<String> = Vec::new();
        for id in ids.unwrap_or_default() {
            // Repeated identifiers count once (UCP catalog lookup, "Supported Identifiers").
            if !once.contains(&id) {
                once.push(id);
            }
        }
        (problems.total() == before).then(|| Self {
            ids: once,
            filters: filters.unwrap_or_default(),
            context: context.unwrap_or_default(),
        })
    }

    /// Returns true when a lookup names more identifiers than are looked up at once.
    #[must_use]
    pub fn is_too_large(value: &Value) -> bool {
        value.get("ids").and_then(Value::as_array).is_some_and(|ids| ids.len() > MAX_IDS)
    }
}

impl ProductRequest {
    /// Reads a request for a product at a place of a document.
    pub fn read(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Self> {
        let before = problems.total();
        read_object!(value, at, problems, open {
            required "id" => id: read_id,
            optional "selected" => _selected: read_selected,
            optional "preferences" => _preferences: parse::texts,
            optional "filters" => filters: read_filters,
            optional "context" => context: read_context,
            optional "signals" => _signals: read_signals,
            optional "attribution" => _attribution: read_attribution,
        });
        let id = id.filter(|_| problems.total() == before)?;
        let filters = filters.unwrap_or_default();
        Some(Self { id, filters, context: context.unwrap_or_default() })
    }
}

/// Returns the filters of a request that UCP does not define.
#[must_use]
pub fn custom_filters(request: &Value) -> Map {
    let filters = request.get("filters").and_then(Value::as_object);
    let custom =
        filters.into_iter().flatten().filter(|(name, _)| !FILTERS.contains(&name.as_str()));
    custom.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn read_id(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    parse::text_of(value, at, problems, 1, Some(MAX_ID))
}

fn read_filters(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<CatalogFilters> {
    let before = problems.total();
    read_object!(value, at, problems, open {
        optional "categories" => categories: parse::texts,
        optional "price" => price: read_price,
    });
    (problems.total() == before)
        .then(|| CatalogFilters { categories: categories.unwrap_or_default(), price })
}

fn read_price(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<PriceFilter> {
    let before = problems.total();
    read_object!(value, at, problems, open {
        optional "min" => min: read_amount,
        optional "max" => max: read_amount,
    });
    (problems.total() == before).then_some(PriceFilter { min, max })
}

fn read_amount(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<u64> {
    let amount = parse::integer(value, at, problems, 0, None)?;
    u64::try_from(amount).ok()
}

fn read_page(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<PageRequest> {
    let before = problems.total();
    read_object!(value, at, problems, open {
        optional "cursor" => cursor: parse::text,
        optional "limit" => limit: |v, at, p| parse::integer(v, at, p, 1, None),
    });
    let limit = limit.map_or(DEFAULT_LIMIT, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
    (problems.total() == before).then_some(PageRequest { cursor, limit })
}

fn read_context(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<BuyerContext> {
    let before = problems.total();
    read_object!(value, at, problems, open {
        optional "address_country" => _country: parse::str,
        optional "address_region" => _region: parse::str,
        optional "postal_code" => _postal_code: parse::str,
        optional "intent" => _intent: parse::str,
        optional "language" => _language: parse::str,
        optional "currency" => currency: parse::str,
        optional "eligibility" => _eligibility: read_eligibility,
    });
    let currency = currency.map(str::to_ascii_uppercase);
    (problems.total() == before).then_some(BuyerContext { currency })
}

fn read_eligibility(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<()> {
    parse::unique(value, at, problems);
    parse::list(value, at, problems, (0, None), |value, at, problems| {
        const HINT: &str = "must be a name such as com.example.member";
        parse::of_text((value, at, problems), HINT, |name| is_reverse_domain(name).then_some(()))
    })?;
    Some(())
}

/// Reads signals: the keys are names of reverse domains. Their values are not used, and not kept.
fn read_signals(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<()> {
    const PATTERN: &str = r"^[a-z][a-z0-9]*(?:\.[a-z][a-z0-9_]*)+$";
    read_object!(value, at, problems, open {
        optional "dev.ucp.buyer_ip" => _buyer_ip: parse::str,
        optional "dev.ucp.user_agent" => _user_agent: parse::str,
    });
    let names = value.as_object().into_iter().flatten().map(|(name, _)| name);
    for name in names.filter(|name| !is_reverse_domain(name)) {
        let message = "must have a name such as com.example.device_id";
        let extra = ProblemDetail::Pattern(PATTERN);
        parse::push(&at.key(name), problems, Keyword::Pattern, message, extra);
    }
    Some(())
}

fn read_attribution(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<()> {
    let Some(members) = value.as_object() else {
        parse::wrong_type(at, problems, "object");
        return None;
    };
    for (name, value) in members {
        parse::str(value, &at.key(name), problems);
    }
    Some(())
}

/// Reads selected options, each name at most once (UCP catalog lookup, "Option Selection").
fn read_selected(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<()> {
    let mut names: Vec<&str> = Vec::new();
    parse::list(value, at, problems, (0, None), |value, at, problems| {
        read_object!(value, at, problems, open {
            required "name" => name: parse::str,
            required "label" => _label: parse::str,
            optional "id" => _id: parse::str,
        });
        if name.is_some_and(|name| names.contains(&name)) {
            let message = "must not name an option twice";
            parse::push(at, problems, Keyword::UniqueItems, message, ProblemDetail::None);
        }
        names.extend(name);
        Some(())
    })?;
    Some(())
}

/// Returns true for at least two parts: letters and digits, and in all but the first one underscores.
fn is_reverse_domain(name: &str) -> bool {
    let fits = |part: &str, other: fn(u8) -> bool| {
        part.starts_with(|first: char| first.is_ascii_lowercase())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || other(byte))
    };
    let mut parts = name.split('.');
    let is_first = parts.next().is_some_and(|part| fits(part, |_| false));
    let rest: Vec<_> = parts.collect();
    is_first && !rest.is_empty() && rest.iter().all(|part| fits(part, |byte| byte == b'_'))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn names_of_reverse_domains_have_two_parts() {
        for (name, expected) in [
            ("com.example.device_id", true),
            ("dev.ucp", true),
            ("a1.b2_c", true),
            ("com", false),
            ("com.", false),
            (".com", false),
            ("com.Example", false),
            ("my_com.example", false),
            ("com.1a", false),
            ("", false),
        ] {
            assert_eq!(is_reverse_domain(name), expected, "{name}");
        }
    }

    #[test]
    fn every_problem_of_a_request_is_found() {
        let mut problems = Problems::new();
        let at = DocumentPlace::Root.key("catalog");
        let wrong = json!({
            "ids": ["a", 7, ""],
            "filters": {"categories": "suv", "price": {"min": 1.5, "max": -3}},
            "context": {"currency": 1, "eligibility": ["gold", "com.a.b", "com.a.b"]},
            "signals": {"buyer": 1, "dev.ucp.buyer_ip": 2},
            "attribution": {"gclid": 3},
        });
        assert_eq!(LookupRequest::read(&wrong, &at, &mut problems), None);
        expect![[r#"
            /catalog/ids/1: must be string
            /catalog/ids/2: must not be empty
            /catalog/filters/categories: must be array
            /catalog/filters/price/min: must be integer
            /catalog/filters/price/max: must be >= 0
            /catalog/context/currency: must be string
            /catalog/context/eligibility: must not repeat an item
            /catalog/context/eligibility/0: must be a name such as com.example.member
            /catalog/signals/dev.ucp.buyer_ip: must be string
            /catalog/signals/buyer: must have a name such as com.example.device_id
            /catalog/attribution/gclid: must be string"#]]
        .assert_eq(&problems.to_string().replace("; ", "\n"));
    }

    #[test]
    fn what_was_read_is_kept_once() {
        let mut problems = Problems::new();
        let right = json!({
            "ids": ["b", "a", "b"], "unknown": 1,
            "filters": {"categories": ["suv"], "price": {"max": 2_000_000}, "make": ["Honda"]},
            "context": {"currency": "usd", "intent": "a gift"},
        });
        let request = LookupRequest::read(&right, &DocumentPlace::Root, &mut problems).unwrap();
        assert_eq!(request.ids, ["b", "a"]);
        let price = PriceFilter { min: None, max: Some(2_000_000) };
        assert_eq!(request.filters.price, Some(price));
        assert_eq!(request.context.currency.as_deref(), Some("USD"));
        assert_eq!(Value::from(custom_filters(&right)), json!({"make": ["Honda"]}));
    }
}
