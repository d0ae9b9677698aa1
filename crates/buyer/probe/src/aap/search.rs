//! Answers of `inventory.search` (R-IS, R-PR).

use tradepost_aap::Skill;
use tradepost_document::format;
use tradepost_document::json::{Value, json};

use super::ask::{first, number};
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, not_applicable_if,
    or_not_applicable, pass_if, verdict_of, warn,
};
use crate::run::ProbeRun;
use crate::shape::{self, ShapeProblems, items, text};

const WHY: &str = "Buyer agents compare dealers by these answers, and show them to their users.";
const WHY_FILTER: &str = "A buyer that asked for one thing and got another buys elsewhere.";

/// Statuses of vehicles on offer.
// Defined by R-IS-02.
pub(super) const STATUSES: &[&str] = &["available", "intransit", "pending"];

pub(super) const CHECKS: &[Check] = checks![
    "aap.search.answer", Version, Must, ["R-IS-10"], "AAP inventory-search",
    "A page has vehicles, and the total over all pages", WHY,
    "send vehicles as a list and total as a number" => answer();
    "aap.search.closed", Version, Must, ["R-IS-10"], "AAP inventory-search-response schema",
    "A page has no member that the schema does not have", "Buyers that validate refuse the whole answer.",
    "send vehicles, total, skip, limit and facets" => closed();
    "aap.search.status", Version, Must, ["R-IS-02"], "AAP behavior rules",
    "Every vehicle is available, intransit or pending", "Buyers must ignore others.",
    "leave out what is sold, and write the status with each vehicle" => status();
    "aap.search.updated-at", Version, Must, ["R-IS-03"], "AAP behavior rules",
    "Every vehicle says when its listing was brought up to date", "An old listing is a wasted trip.",
    "write updated_at in RFC 3339" => updated_at();
    "aap.search.condition", Version, Must, ["R-IS-11"], "AAP vehicle schema",
    "The condition of a listing is new, used or cpo", WHY,
    "map your words to these three" => condition();
    "aap.search.money", Version, Must, ["R-PR-02"], "AAP behavior rules",
    "Prices are whole US dollars", "Numbers in other units are compared all the same.",
    "write msrp, list_price and price as integers of 0 or more" => money();
    "aap.search.prices-together", Version, Should, ["R-PR-03"], "AAP pricing",
    "A vehicle with a price has msrp and list_price too", "Buyers show what an offer is worth.",
    "publish all three" => prices_together();
    "aap.search.no-null", Version, Must, ["R-IS-10"], "AAP vehicle schema",
    "What is not known of a vehicle is left out, and not null", "Only rooftop may be null in the schema.",
    "omit absent members" => no_null();
    "aap.search.vehicle-form", Version, Must, ["R-IS-16"], "AAP vehicle schema",
    "VIN, year, mileage and photos have the form of the schema", "Buyers that validate refuse the whole answer.",
    "upper-case VINs of 17 characters, years as numbers, photos as addresses" => vehicle_form();
    "aap.search.rooftops", Version, Should, ["R-DI-06"], "AAP dealer-information",
    "Vehicles stand at rooftops that dealer.information names", "The name is the only way to find the place.",
    "use the rooftop's name" => rooftops();
    "aap.search.echo", Version, Should, ["R-IS-08"], "AAP behavior rules",
    "The page repeats skip and the limit that was used", "A buyer that asked for 500 has to know that it got 100.",
    "send skip and limit with the page" => echo();
    "aap.search.limit", Version, Must, ["R-IS-10"], "AAP inventory-search",
    "A page has no more vehicles than asked for", WHY,
    "apply pagination.limit" => limit();
    "aap.search.large-limit", Version, Must, ["R-IS-09"], "AAP inventory-search schema",
    "A limit of 500 is taken, and may be cut", "The schema permits up to 1,000.",
    "use your own maximum instead of refusing" => total_of(r#"{"pagination": {"limit": 500}}"#);
    "aap.search.float", Version, Must, ["R-IS-07"], "JSON Schema §6.1.1",
    "2000.0 is a whole number", "The official Python client sends every number like that.",
    "take numbers without a fraction as integers" => total_of(r#"{"filters": {"year_min": 1950.0}, "pagination": {"limit": 1.0}}"#);
    "aap.search.empty-list", Version, Must, ["R-IS-07"], "AAP inventory-search schema",
    "An empty list of makes is no constraint", "The schema permits it.",
    "treat it as if it were absent" => same_total(r#"{"filters": {"make": []}}"#);
    "aap.search.privacy", Version, Must, ["R-IS-13"], "AAP inventory-search",
    "privacy.anonymous is taken", "Buyers send it with every search.",
    "accept it, and store nothing" => same_total(r#"{"privacy": {"anonymous": true}}"#);
    "aap.search.pages", Version, Must, ["R-IS-10"], "AAP inventory-search",
    "The next page has other vehicles", WHY,
    "sort by something that is unique in the end" => pages();
    "aap.search.past-the-end", Version, Must, ["E-057"], "AAP inventory-search",
    "A page past the end is empty, with the same total", WHY,
    "answer an empty page" => past_the_end();
    "aap.search.no-match", Version, Must, ["E-057"], "AAP inventory-search",
    "A search that nothing matches is an empty page", WHY,
    "answer an empty page with total 0" => nothing(r#"{"filters": {"make": ["Tradepost Probe"]}}"#);
    "aap.search.upside-down", Version, Should, ["C-40"], "AAP inventory-search schema",
    "A minimum above the maximum is an empty page", "It is valid, and no code fits.",
    "answer an empty page" => nothing(r#"{"filters": {"year_min": 2100, "year_max": 1900}}"#);
    "aap.search.price-range", Version, Must, ["R-IS-05", "R-IS-07"], "AAP behavior rules",
    "price_min and price_max are inclusive, and about price", WHY_FILTER,
    "compare price, never list_price or msrp" => range("price");
    "aap.search.year-range", Version, Must, ["R-IS-07"], "AAP inventory-search",
    "year_min and year_max are inclusive", WHY_FILTER,
    "compare with >= and <=" => range("year");
    "aap.search.vin", Version, Must, ["R-IS-16"], "AAP inventory-search",
    "A search for a VIN finds that vehicle alone", WHY_FILTER,
    "filter by vin" => by_vin();
    "aap.search.rooftop", Version, Must, ["R-IS-17"], "AAP inventory-search",
    "A search for a rooftop finds its vehicles alone", WHY_FILTER,
    "compare with the rooftop's name" => by_rooftop();
    "aap.search.or-within", Version, Must, ["R-IS-07"], "AAP inventory-search",
    "Several makes are any of them", WHY_FILTER,
    "take values of one filter as alternatives" => or_within();
    "aap.search.and-across", Version, Must, ["R-IS-07"], "AAP inventory-search",
    "Several filters must all hold", WHY_FILTER,
    "take filters as conditions together" => and_across();
    "aap.search.sort-ascending", Version, Must, ["R-IS-05", "R-IS-10"], "AAP behavior rules",
    "Sorted by price, ascending, the cheapest comes first", WHY_FILTER,
    "sort by price, vehicles without one last" => sorted("asc");
    "aap.search.sort-descending", Version, Must, ["R-IS-05", "R-IS-10"], "AAP behavior rules",
    "Sorted by price, descending, the dearest comes first", WHY_FILTER,
    "sort by price, vehicles without one last" => sorted("desc");
    "aap.search.old-sort", Version, Must, ["E-054"], "AAP inventory-search schema",
    "offered_price can be sorted by in v1.0 alone", "A buyer of another version means another number.",
    "follow the schema of the version that the request activates" => old_sort();
];

async fn answer(run: &mut ProbeRun) -> CheckResult {
    let page = run.data(Skill::InventorySearch, "{}").await?;
    let mut wrong = ShapeProblems::default();
    wrong.list(&page, "vehicles", "the page");
    let total = page.get("total").and_then(Value::as_u64);
    wrong.unless(total.is_some(), "the page has no total");
    let count = items(&page, "vehicles").count() as u64;
    let holds = total.is_none_or(|total| count <= total);
    wrong.unless(holds, format!("the page has {count} vehicles of {total:?}"));
    verdict_of(&wrong.0)
}

async fn closed(run: &mut ProbeRun) -> CheckResult {
    let page = run.known(Skill::InventorySearch, "{}").await?;
    let mut wrong = ShapeProblems::default();
    wrong.closed(&page, &["vehicles", "total", "skip", "limit", "facets"], "the page");
    verdict_of(&wrong.0)
}

async fn each(run: &mut ProbeRun, look: impl Fn(&Value, &mut ShapeProblems) + Send) -> CheckResult {
    let vehicles = run.vehicles().await?;
    let mut wrong = ShapeProblems::default();
    for vehicle in &vehicles {
        look(vehicle, &mut wrong);
    }
    verdict_of(&wrong.0)
}

async fn status(run: &mut ProbeRun) -> CheckResult {
    each(run, |vehicle, wrong| {
        let status = text(vehicle, "status").unwrap_or_default();
        wrong.unless(STATUSES.contains(&status), format!("a vehicle has the status {status:?}"));
    })
    .await
}

async fn updated_at(run: &mut ProbeRun) -> CheckResult {
    each(run, |vehicle, wrong| {
        let moment = text(vehicle, "updated_at").unwrap_or_default();
        wrong.unless(shape::is_moment(moment), format!("a vehicle has updated_at {moment:?}"));
    })
    .await
}

async fn condition(run: &mut ProbeRun) -> CheckResult {
    each(run, |vehicle, wrong| {
        if let Some(condition) = vehicle.get("condition") {
            let known = matches!(condition.as_str(), Some("new" | "used" | "cpo"));
            wrong.unless(known, format!("a vehicle has the condition {condition}"));
        }
    })
    .await
}

async fn money(run: &mut ProbeRun) -> CheckResult {
    each(run, |vehicle, wrong| {
        for name in ["msrp", "list_price", "price"] {
            if let Some(value) = vehicle.get(name) {
                let whole = value.as_u64().is_some();
                wrong.unless(whole, format!("a vehicle has the {name} {value}"));
            }
        }
    })
    .await
}

async fn prices_together(run: &mut ProbeRun) -> CheckResult {
    let vehicles = run.vehicles().await?;
    let priced: Vec<_> = vehicles.iter().filter(|vehicle| vehicle.get("price").is_some()).collect();
    not_applicable_if(priced.is_empty(), "no vehicle has a price")?;
    let whole =
        |vehicle: &&&Value| vehicle.get("msrp").is_some() && vehicle.get("list_price").is_some();
    match priced.iter().filter(whole).count() {
        0 => fail("no vehicle with a price has msrp and list_price"),
        count if count == priced.len() => Ok(CheckVerdict::Pass),
        // Not every vehicle has a recommended price.
        count => warn(format!("{count} of {} vehicles have all three", priced.len())),
    }
}

async fn no_null(run: &mut ProbeRun) -> CheckResult {
    each(run, |vehicle, wrong| {
        for (name, value) in vehicle.as_object().into_iter().flatten() {
            wrong.unless(!value.is_null() || name == "rooftop", format!("{name} is null"));
        }
    })
    .await
}

async fn vehicle_form(run: &mut ProbeRun) -> CheckResult {
    each(run, |vehicle, wrong| {
        if let Some(vin) = vehicle.get("vin") {
            let good = vin.as_str().is_some_and(format::is_vin);
            wrong.unless(good, format!("a vehicle has the VIN {vin}"));
        }
        if let Some(year) = vehicle.get("year") {
            let good = year.as_i64().is_some_and(|year| (1900..=2100).contains(&year));
            wrong.unless(good, format!("a vehicle has the year {year}"));
        }
        if let Some(mileage) = vehicle.get("mileage") {
            wrong.unless(mileage.as_u64().is_some(), format!("a mileage is {mileage}"));
        }
        for photo in items(vehicle, "photos") {
            let good = photo.as_str().is_some_and(format::is_uri);
            wrong.unless(good, "a photo has no absolute address");
        }
    })
    .await
}

async fn rooftops(run: &mut ProbeRun) -> CheckResult {
    let profile = run.known(Skill::DealerInformation, "{}").await?;
    let names: Vec<_> =
        items(&profile, "rooftops").filter_map(|rooftop| text(rooftop, "name")).collect();
    let vehicles = run.vehicles().await?;
    let mut wrong = ShapeProblems::default();
    for rooftop in vehicles.iter().filter_map(|vehicle| text(vehicle, "rooftop")) {
        wrong.unless(names.contains(&rooftop), format!("no rooftop is called {rooftop:?}"));
    }
    verdict_of(&wrong.0)
}

async fn echo(run: &mut ProbeRun) -> CheckResult {
    let asked = r#"{"pagination": {"skip": 1, "limit": 2}}"#;
    let page = run.data(Skill::InventorySearch, asked).await?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(number(&page, "skip") == Some(1), format!("skip is {:?}", page.get("skip")));
    wrong.unless(number(&page, "limit").is_some(), "there is no limit");
    verdict_of(&wrong.0)
}

async fn limit(run: &mut ProbeRun) -> CheckResult {
    let page = run.data(Skill::InventorySearch, r#"{"pagination": {"limit": 1}}"#).await?;
    let count = items(&page, "vehicles").count();
    pass_if(matches!(count, 0 | 1), format!("the page has {count} vehicles, and 1 was asked for"))
}

async fn total_of(run: &mut ProbeRun, members: &str) -> CheckResult {
    run.total(members).await?;
    Ok(CheckVerdict::Pass)
}

async fn same_total(run: &mut ProbeRun, members: &str) -> CheckResult {
    let all = run.total("{}").await?;
    let these = run.total(members).await?;
    pass_if(all == these, format!("{these} of {all} are found"))
}

fn names(page: &Value) -> Vec<String> {
    let name = |vehicle: &Value| {
        let found = ["vehicle_id", "vin", "stock"].iter().find_map(|name| text(vehicle, name));
        found.map_or_else(|| vehicle.to_string(), str::to_owned)
    };
    items(page, "vehicles").map(name).collect()
}

async fn pages(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(run.vehicles().await?.len() < 2, "the dealer offers one vehicle only")?;
    let mut pages = Vec::new();
    for skip in [0, 1] {
        let asked = json!({"pagination": {"skip": skip, "limit": 1}}).to_string();
        pages.push(names(&run.data(Skill::InventorySearch, &asked).await?));
    }
    match pages.as_slice() {
        [first, second] if first == second => fail("both pages have the same vehicle"),
        _ => Ok(CheckVerdict::Pass),
    }
}

async fn past_the_end(run: &mut ProbeRun) -> CheckResult {
    let all = run.total("{}").await?;
    let asked = r#"{"pagination": {"skip": 1000000, "limit": 1}}"#;
    let page = run.data(Skill::InventorySearch, asked).await?;
    let mut wrong = ShapeProblems::default();
    let count = items(&page, "vehicles").count();
    wrong.unless(count == 0, format!("the page has {count} vehicles"));
    let total = page.get("total").and_then(Value::as_u64);
    wrong.unless(total == Some(all), format!("the total is {total:?} and not {all}"));
    verdict_of(&wrong.0)
}

async fn nothing(run: &mut ProbeRun, members: &str) -> CheckResult {
    let total = run.total(members).await?;
    pass_if(matches!(total, 0), format!("{total} vehicles are found"))
}

/// Searches for the number of one vehicle, as minimum and as maximum.
async fn range(run: &mut ProbeRun, name: &str) -> CheckResult {
    let vehicles = run.vehicles().await?;
    let number = vehicles.iter().find_map(|vehicle| number(vehicle, name));
    let value = or_not_applicable(number, format!("no vehicle has a {name}"))?;
    let least = format!("{name}_min");
    let most = format!("{name}_max");
    let asked = json!({"filters": {least: value, most: value}}).to_string();
    exactly(run, &asked, name, value).await
}

/// Checks that a search finds at least one vehicle, and only those with this number.
async fn exactly(run: &mut ProbeRun, asked: &str, name: &str, value: i64) -> CheckResult {
    let page = run.data(Skill::InventorySearch, asked).await?;
    let mut wrong = ShapeProblems::default();
    let holds = items(&page, "vehicles").count() > 0;
    wrong.unless(holds, format!("no vehicle is found, and one has the {name} {value}"));
    for other in items(&page, "vehicles").map(|vehicle| number(vehicle, name)) {
        wrong.unless(other == Some(value), format!("a vehicle has the {name} {other:?}"));
    }
    verdict_of(&wrong.0)
}

async fn by_vin(run: &mut ProbeRun) -> CheckResult {
    let vin = first(&run.vehicles().await?, "vin").cloned();
    let vin = or_not_applicable(vin, "no vehicle has a VIN")?;
    let (all, count) = only(run, json!({"vin": vin}), "vin", &vin).await?;
    pass_if(all, format!("{count} vehicles are found"))
}

async fn by_rooftop(run: &mut ProbeRun) -> CheckResult {
    let rooftop = first(&run.vehicles().await?, "rooftop").cloned();
    let rooftop = or_not_applicable(rooftop, "no vehicle names its rooftop")?;
    let (all, count) = only(run, json!({"rooftops": [rooftop]}), "rooftop", &rooftop).await?;
    pass_if(all, format!("{count} vehicles are found, or some of another rooftop"))
}

/// Returns true when these filters find at least one vehicle and only those with this member, and the number found.
async fn only(
    run: &mut ProbeRun,
    filters: Value,
    name: &str,
    value: &Value,
) -> Result<(bool, usize), CheckVerdict> {
    let asked = json!({"filters": filters}).to_string();
    let page = run.data(Skill::InventorySearch, &asked).await?;
    let fits = |vehicle: &Value| vehicle.get(name) == Some(value);
    let count = items(&page, "vehicles").count();
    Ok((count > 0 && items(&page, "vehicles").all(fits), count))
}

async fn or_within(run: &mut ProbeRun) -> CheckResult {
    let vehicles = run.vehicles().await?;
    // Filters ignore case: two spellings of one make would be counted twice.
    let mut makes: Vec<&str> =
        vehicles.iter().filter_map(|vehicle| text(vehicle, "make")).collect();
    makes.sort_unstable();
    makes.dedup_by_key(|make| make.to_lowercase());
    let [one, two, ..] = makes.as_slice() else {
        return not_applicable("the dealer offers one make only");
    };
    let of = |makes: &[&str]| json!({"filters": {"make": makes}}).to_string();
    let both = of(&[one, two]);
    let one = of(&[one]);
    let two = of(&[two]);
    // No vehicle has two makes, so the numbers add up.
    let sum = run.total(&one).await? + run.total(&two).await?;
    let total = run.total(&both).await?;
    pass_if(total == sum, format!("{total} are found, and {sum} one by one"))
}

async fn and_across(run: &mut ProbeRun) -> CheckResult {
    let vehicles = run.vehicles().await?;
    let both = vehicles
        .iter()
        .find_map(|vehicle| Some((text(vehicle, "make")?, number(vehicle, "year")?)));
    let Some((make, year)) = both else { return not_applicable("no vehicle has make and year") };
    let filters = json!({"make": [make], "year_min": year, "year_max": year});
    let asked = json!({"filters": filters}).to_string();
    let page = run.data(Skill::InventorySearch, &asked).await?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(items(&page, "vehicles").count() > 0, "no vehicle is found");
    for vehicle in items(&page, "vehicles") {
        wrong.unless(number(vehicle, "year") == Some(year), "a vehicle is of another year");
        let same =
            text(vehicle, "make").is_some_and(|own_make| own_make.eq_ignore_ascii_case(make));
        wrong.unless(same, "a vehicle is of another make");
    }
    verdict_of(&wrong.0)
}

async fn sorted(run: &mut ProbeRun, order: &str) -> CheckResult {
    let sort = json!({"field": "price", "order": order});
    let asked = json!({"sort": sort, "pagination": {"limit": 50}}).to_string();
    let page = run.data(Skill::InventorySearch, &asked).await?;
    let prices: Vec<_> =
        items(&page, "vehicles").filter_map(|vehicle| number(vehicle, "price")).collect();
    not_applicable_if(prices.len() < 2, "fewer than two vehicles have a price")?;
    let in_order = |pair: &[i64]| match order {
        "asc" => pair.first() <= pair.last(),
        _ => pair.first() >= pair.last(),
    };
    pass_if(prices.windows(2).all(in_order), "the prices are not in order")
}

async fn old_sort(run: &mut ProbeRun) -> CheckResult {
    let asked = r#"{"sort": {"field": "offered_price", "order": "asc"}}"#;
    let answer = run.skill(Skill::InventorySearch, asked).await?;
    match run.version {
        tradepost_aap::Version::V1_0 => answer.data().map(|_| CheckVerdict::Pass),
        tradepost_aap::Version::V1_1 => {
            answer.refused(&[tradepost_aap::error::AapCode::SchemaValidationFailed])
        }
    }
}
