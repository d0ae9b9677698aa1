//! Requests to the reading skills with a single mistake.
// Covers E-043 to E-061.

use tradepost_aap::Skill::{
    self, DealerInformation as DEALER, InventoryFacets as FACETS, InventorySearch as SEARCH,
};
use tradepost_aap::Version;
use tradepost_aap::error::AapCode::{
    self, InvalidCondition as CONDITION, MissingRequiredField as MISSING,
    SchemaValidationFailed as SCHEMA,
};

use super::ask::DealerAnswer;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, not_applicable_if, not_looked_at_if, pass_if,
    verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, text};

const WHY: &str = "A mistake that is passed over gives the user what was not asked for.";
const FIX: &str = "validate against the skill's schema, and name the place in details.errors";

pub(super) const CHECKS: &[Check] = checks![
    "aap.input.dealer-extra", Version, Must, ["R-DI-01", "E-043"], "AAP dealer-information schema",
    "dealer.information takes nothing besides its type", WHY, FIX => refused(DEALER, r#"{"dealer_id": "x"}"#, &[SCHEMA], "/dealer_id");
    "aap.input.facets-filter", Version, Must, ["R-FA-01", "E-044"], "AAP inventory-facets schema",
    "Facets refuse a filter that does not exist", WHY, FIX => refused(FACETS, r#"{"filters": {"maek": ["Honda"]}}"#, &[SCHEMA], "/filters/maek");
    "aap.input.facets-pagination", Version, Must, ["R-FA-01", "E-058"], "AAP inventory-facets schema",
    "Facets refuse pagination", WHY, FIX => refused(FACETS, r#"{"pagination": {"limit": 5}}"#, &[SCHEMA], "/pagination");
    "aap.input.filter-unknown", Version, Must, ["R-IS-06", "E-044"], "AAP inventory-search schema",
    "A filter that does not exist is refused", "A misspelt filter that is ignored finds everything.", FIX => refused(SEARCH, r#"{"filters": {"maek": ["Honda"]}}"#, &[SCHEMA], "/filters/maek");
    "aap.input.filter-type", Version, Must, ["E-045"], "AAP inventory-search schema",
    "A make that is no list is refused", WHY, FIX => refused(SEARCH, r#"{"filters": {"make": "Honda"}}"#, &[SCHEMA], "/filters/make");
    "aap.input.year-text", Version, Must, ["E-046"], "AAP inventory-search schema",
    "A year that is text is refused", WHY, FIX => refused(SEARCH, r#"{"filters": {"year_min": "2020"}}"#, &[SCHEMA], "/filters/year_min");
    "aap.input.year-fraction", Version, Must, ["E-046"], "AAP inventory-search schema",
    "A year with a fraction is refused", WHY, FIX => refused(SEARCH, r#"{"filters": {"year_min": 2020.5}}"#, &[SCHEMA], "/filters/year_min");
    "aap.input.year-early", Version, Must, ["E-047"], "AAP inventory-search schema",
    "A year before 1900 is refused", WHY, FIX => refused(SEARCH, r#"{"filters": {"year_min": 1800}}"#, &[SCHEMA], "/filters/year_min");
    "aap.input.price-negative", Version, Must, ["E-047"], "AAP inventory-search schema",
    "A negative price is refused", WHY, FIX => refused(SEARCH, r#"{"filters": {"price_max": -1}}"#, &[SCHEMA], "/filters/price_max");
    "aap.input.condition-word", Version, Must, ["E-048", "R-IS-11"], "AAP inventory-search schema",
    "A condition of the trade-in vocabulary is refused", WHY, FIX => refused(SEARCH, r#"{"filters": {"condition": ["good"]}}"#, &[SCHEMA, CONDITION], "/filters/condition");
    "aap.input.filters-null", Version, Must, ["E-049"], "AAP inventory-search schema",
    "Filters that are null are refused", WHY, FIX => refused(SEARCH, r#"{"filters": null}"#, &[SCHEMA], "/filters");
    "aap.input.query-long", Version, Must, ["E-050", "R-IS-16"], "AAP inventory-search schema",
    "A query of more than 200 characters is refused", WHY, FIX => long_query();
    "aap.input.vin-form", Version, Must, ["R-IS-16", "C-43"], "AAP inventory-search schema",
    "A VIN in lower case is refused", WHY, FIX => refused(SEARCH, r#"{"filters": {"vin": "1hgcy2f57ra000001"}}"#, &[SCHEMA], "/filters/vin");
    "aap.input.limit-zero", Version, Must, ["E-051"], "AAP inventory-search schema",
    "A limit of 0 is refused", WHY, FIX => refused(SEARCH, r#"{"pagination": {"limit": 0}}"#, &[SCHEMA], "/pagination/limit");
    "aap.input.limit-huge", Version, Must, ["E-051"], "AAP inventory-search schema",
    "A limit above 1,000 is refused", WHY, FIX => refused(SEARCH, r#"{"pagination": {"limit": 1001}}"#, &[SCHEMA], "/pagination/limit");
    "aap.input.skip-negative", Version, Must, ["E-051"], "AAP inventory-search schema",
    "A negative skip is refused", WHY, FIX => refused(SEARCH, r#"{"pagination": {"skip": -1}}"#, &[SCHEMA], "/pagination/skip");
    "aap.input.pagination-unknown", Version, Must, ["R-IS-06", "E-055"], "AAP inventory-search schema",
    "A member of pagination that does not exist is refused", WHY, FIX => refused(SEARCH, r#"{"pagination": {"page": 2}}"#, &[SCHEMA], "/pagination/page");
    "aap.input.sort-half", Version, Must, ["R-IS-12", "E-053"], "AAP inventory-search schema",
    "A sort without its order is refused", WHY, FIX => refused(SEARCH, r#"{"sort": {"field": "price"}}"#, &[MISSING, SCHEMA], "/sort/order");
    "aap.input.sort-unknown", Version, Must, ["R-IS-12", "E-054"], "AAP inventory-search schema",
    "A field that cannot be sorted by is refused", WHY, FIX => refused(SEARCH, r#"{"sort": {"field": "horsepower", "order": "asc"}}"#, &[SCHEMA], "/sort/field");
    "aap.input.customer-in-search", Version, Must, ["R-IS-06", "E-056"], "AAP inventory-search schema",
    "A search refuses a customer", "Personal data has no place in a search.", FIX => refused(SEARCH, r#"{"customer": {}}"#, &[SCHEMA], "/customer");
    "aap.input.privacy-type", Version, Must, ["R-IS-06"], "AAP inventory-search schema",
    "privacy.anonymous that is no boolean is refused", WHY, FIX => refused(SEARCH, r#"{"privacy": {"anonymous": "yes"}}"#, &[SCHEMA], "/privacy/anonymous");
    "aap.input.all-listed", Version, Must, ["R-ER-02"], "AAP errors, details.errors",
    "Every problem of a request is listed at once", "A buyer that hears of one mistake at a time needs six attempts for six.",
    "collect every problem before answering" => all_listed();
    "aap.input.list-form", Version, Must, ["R-ER-02"], "AAP errors, details.errors",
    "Each problem has instanceLocation, keyword and error", "Programs fix requests by the first two, and people by the last.",
    "write the standard output unit of JSON Schema" => list_form();
];

async fn refused(
    run: &mut ProbeRun,
    skill: Skill,
    members: &str,
    codes: &[AapCode],
    pointer: &str,
) -> CheckResult {
    let answer = run.skill(skill, members).await?;
    check_refusal(run.version, &answer, codes, pointer)
}

/// Checks the code, and from v1.1 on also that the place is named.
pub(super) fn check_refusal(
    version: Version,
    answer: &DealerAnswer,
    codes: &[AapCode],
    pointer: &str,
) -> CheckResult {
    answer.refused(codes)?;
    let names_places = match version {
        // v1.0 has one place, under another name.
        Version::V1_0 => false,
        Version::V1_1 => true,
    };
    pass_if(
        !names_places || answer.lists(pointer),
        format!("details.errors does not name {pointer:?}"),
    )
}

async fn long_query(run: &mut ProbeRun) -> CheckResult {
    let members = format!(r#"{{"filters": {{"query": "{}"}}}}"#, "x".repeat(201));
    refused(run, SEARCH, &members, &[SCHEMA], "/filters/query").await
}

/// Filters, page and order with six mistakes.
// Payload S23 of aap.md.
const SIX_PROBLEMS: &str = r#"{"filters": {"maek": ["Honda"], "condition": ["good"], "year_min": "2020"},
    "pagination": {"skip": -1, "limit": 5000}, "sort": {"field": "horsepower", "order": "asc"}}"#;

async fn many(run: &mut ProbeRun) -> Result<DealerAnswer, CheckVerdict> {
    not_applicable_if(run.version == Version::V1_0, "v1.0 lists one problem (its error schema)")?;
    let answer = run.skill(SEARCH, SIX_PROBLEMS).await?;
    let holds = answer.refusal.is_none();
    not_looked_at_if(holds, format!("there is no refusal to look at: {}", answer.describe()))?;
    Ok(answer)
}

async fn all_listed(run: &mut ProbeRun) -> CheckResult {
    let answer = many(run).await?;
    let mut wrong = ShapeProblems::default();
    for pointer in [
        "/filters/maek",
        "/filters/condition",
        "/filters/year_min",
        "/pagination/skip",
        "/pagination/limit",
        "/sort/field",
    ] {
        wrong.unless(answer.lists(pointer), format!("{pointer} is not listed"));
    }
    verdict_of(&wrong.0)
}

async fn list_form(run: &mut ProbeRun) -> CheckResult {
    let answer = many(run).await?;
    let problems = answer.problems();
    let mut wrong = ShapeProblems::default();
    wrong.unless(!problems.is_empty(), "details.errors is missing or empty");
    for problem in problems {
        for name in ["keyword", "error"] {
            wrong.text(problem, name, "an entry");
        }
        let place = text(problem, "instanceLocation");
        let good = place.is_some_and(|place| place.is_empty() || place.starts_with('/'));
        wrong.unless(good, format!("instanceLocation {place:?} is no JSON Pointer"));
    }
    verdict_of(&wrong.0)
}
