//! Searches several dealers as if they were one: each sends its matches up to the end of the requested page, and the
//! page is cut out of the merged matches.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;
use tradepost_aap::Skill;
use tradepost_aap::inventory::{Sort, SortField, SortOrder};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};

use super::arguments::SearchArguments;
use super::dealers::DealerAddress;
use super::failures::BridgeError;
use super::sanitize::{Cleaner, dealer_text};
use super::show::MAX_SAID;
use super::{documents, doubtful};

/// Maximum number of pages requested from one dealer; dealers may send fewer vehicles than requested.
const MAX_PAGES: usize = 10;

/// Matches of one dealer.
#[derive(Debug, Default)]
pub(super) struct DealerMatches {
    /// Number of all matches, when the dealer states it.
    total: Option<u64>,
    /// First matches, in the dealer's order and cleaned for a model.
    vehicles: Vec<Value>,
    /// Number of vehicles left out because no status says that they are on sale (`R-IS-14`).
    left_out: usize,
    /// True when the dealer has sent all matches.
    is_all: bool,
    /// True when something was cut.
    cut: bool,
    /// Dealer's message about an empty answer, or about how it understood a text query.
    message: Option<String>,
    /// How the dealer read a text query, as filters of a request.
    query_reading: Option<Value>,
}

/// Requests the first `wanted` matches of one dealer, until `end`.
pub(super) async fn gather(
    dealer: Arc<DealerAddress>,
    payload: Map,
    wanted: usize,
    end: Instant,
) -> Result<DealerMatches, BridgeError> {
    let mut found = DealerMatches::default();
    let mut seen = 0_usize;
    let in_words = asks_in_words(&payload);
    for _ in 0..MAX_PAGES {
        let mut payload = payload.clone();
        let room = wanted - found.vehicles.len();
        payload.insert("pagination".into(), json!({"skip": seen, "limit": room}));
        // The user has not been asked to identify themselves (`R-IS-13`).
        payload.insert("privacy".into(), json!({"anonymous": true}));
        let answer = dealer.call(Skill::InventorySearch, payload.into(), end).await?;
        let (vehicles, ignored) = answer.vehicles();
        let count = vehicles.len() + ignored;
        let overflows = vehicles.len() > room;
        found.left_out += ignored;
        for vehicle in vehicles.into_iter().take(room) {
            let mut cleaner = Cleaner::brief();
            found.vehicles.push(cleaner.clean(vehicle));
            found.cut |= cleaner.cut;
        }
        let number = |name: &str| answer.data().get(name).and_then(Value::as_u64);
        found.total = number("total");
        if seen == 0 && (in_words || count == 0) {
            found.message = said(answer.message());
        }
        if seen == 0 && in_words {
            found.query_reading =
                answer.query_reading.as_ref().map(|reading| Cleaner::brief().clean(reading));
        }
        let at_place = number("skip").is_none_or(|skip| skip == as_u64(seen));
        seen += count;
        let is_end = count == 0 || found.total.is_none_or(|total| total <= as_u64(seen));
        // A dealer may send more than requested; the surplus belongs to a later page.
        found.is_all = is_end && !overflows;
        // Vehicles that were left out are not counted, or the next page would begin too late. A dealer that begins at
        // another place than requested would send the same vehicles again.
        if is_end || found.vehicles.len() >= wanted || !at_place {
            break;
        }
    }
    Ok(found)
}

/// Returns true when a request has a text query, whose reading the dealer then explains.
pub(super) fn asks_in_words(payload: &Map) -> bool {
    payload.get("filters").is_some_and(|filters| filters.get("query").is_some())
}

/// Cleans a dealer's message for a model.
pub(super) fn said(message: Option<&str>) -> Option<String> {
    message.map(|message| dealer_text(message, MAX_SAID)).filter(|message| !message.is_empty())
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Merges the matches and returns the requested page.
pub(super) fn merge(
    found: Vec<(Arc<DealerAddress>, DealerMatches)>,
    arguments: &SearchArguments,
    errors: &[BridgeError],
) -> Value {
    let mut dealers = Vec::new();
    let mut lists = Vec::new();
    let mut total = Some(0_u64);
    let mut more = false;
    let mut cut = false;
    for (dealer, found) in found {
        dealers.push(object!({
            "dealer": dealer.id, "total": found.total,
            "left_out"?: Some(found.left_out).filter(|count| *count > 0),
            "message"?: found.message,
            "query_reading"?: found.query_reading,
        }));
        // Unknown as soon as one dealer does not state it.
        total = total.zip(found.total).map(|(sum, more)| sum.saturating_add(more));
        more |= !found.is_all;
        cut |= found.cut;
        let vehicles = found.vehicles.into_iter().map(|vehicle| with_dealer(&dealer.id, vehicle));
        lists.push(vehicles.collect::<Vec<_>>());
    }
    let mut merged = interleave(lists);
    if let Some(sort) = arguments.sort {
        // A stable sort keeps the dealers' turns among equal vehicles.
        merged.sort_by(|a, b| compare(a, b, sort));
    }
    let end = arguments.skip + arguments.limit;
    more |= merged.len() > end;
    doubtful::mark(&mut merged);
    let mut page: Vec<_> = merged.into_iter().skip(arguments.skip).take(arguments.limit).collect();
    // Sorted within the page, so that no vehicle is on two pages or on none. Equal vehicles keep their order.
    page.sort_by_key(doubtful::is_marked);
    object!({
        "type": Skill::InventorySearch.response_type(),
        "data": {
            "total": total, "skip": arguments.skip, "limit": arguments.limit, "vehicles": page,
        },
        "dealers": dealers,
        "errors": documents(errors),
        "truncated": cut,
        "next_skip"?: more.then_some(end),
    })
}

/// Puts the dealer first; a member of that name in the vehicle does not override it.
fn with_dealer(dealer: &str, vehicle: Value) -> Value {
    let mut out = Map::new();
    out.insert("dealer".into(), dealer.into());
    if let Value::Object(members) = vehicle {
        out.extend(members.into_iter().filter(|(name, _)| name != "dealer"));
    }
    out.into()
}

/// Takes one vehicle of each dealer in turn, so that none crowds out another.
fn interleave(lists: Vec<Vec<Value>>) -> Vec<Value> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut out = Vec::new();
    loop {
        let before = out.len();
        out.extend(lists.iter_mut().filter_map(Iterator::next));
        if out.len() == before {
            return out;
        }
    }
}

/// Sort key of a vehicle.
#[derive(Debug, PartialEq, PartialOrd)]
enum SortKey {
    Number(f64),
    Text(String),
    Moment(Timestamp),
}

fn key(vehicle: &Value, field: SortField) -> Option<SortKey> {
    let value = vehicle.get(field.name())?;
    match field {
        SortField::Price
        | SortField::ListPrice
        | SortField::Msrp
        | SortField::Mileage
        | SortField::Year => value.as_f64().map(SortKey::Number),
        SortField::Make | SortField::Model | SortField::Stock => {
            value.as_str().map(|text| SortKey::Text(text.to_lowercase()))
        }
        SortField::UpdatedAt => value.as_str()?.parse().ok().map(SortKey::Moment),
    }
}

/// Compares two vehicles; one without a value comes last in either direction.
fn compare(a: &Value, b: &Value, sort: Sort) -> Ordering {
    match (key(a, sort.field), key(b, sort.field)) {
        (Some(a), Some(b)) => {
            let order = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
            match sort.order {
                SortOrder::Asc => order,
                SortOrder::Desc => order.reverse(),
            }
        }
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// Adds facets to the sum: counts by value, and ranges widened to include both.
pub(super) fn add_facets(sum: &mut Map, more: &Value) {
    for (name, facet) in more.as_object().into_iter().flatten() {
        match (sum.get_mut(name), facet) {
            (None, facet) => {
                sum.insert(name.clone(), facet.clone());
            }
            (Some(Value::Array(terms)), Value::Array(more)) => {
                for term in more {
                    add_term(terms, term);
                }
            }
            (Some(Value::Object(range)), Value::Object(more)) => {
                widen(range, more, "min", |ours, theirs| theirs < ours);
                widen(range, more, "max", |ours, theirs| theirs > ours);
            }
            // The types differ, so the first dealer's facet stays.
            (Some(_), _) => {}
        }
    }
}

fn add_term(terms: &mut Vec<Value>, term: &Value) {
    let same = terms.iter_mut().find(|known| known.get("value") == term.get("value"));
    let count = |term: &Value| term.get("count").and_then(Value::as_u64).unwrap_or_default();
    match same.and_then(Value::as_object_mut) {
        Some(known) => {
            let before = known.get("count").and_then(Value::as_u64).unwrap_or_default();
            known.insert("count".into(), before.saturating_add(count(term)).into());
        }
        None => terms.push(term.clone()),
    }
}

fn widen(range: &mut Map, more: &Map, end: &str, beyond: fn(f64, f64) -> bool) {
    let ours = range.get(end).and_then(Value::as_f64);
    let theirs = more.get(end).and_then(Value::as_f64);
    if let Some(theirs) = theirs
        && ours.is_none_or(|ours| beyond(ours, theirs))
        && let Some(value) = more.get(end)
    {
        range.insert(end.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dealers_take_turns_and_an_order_spans_all_of_them() {
        let car = |name: &str, price: Option<u32>| json!({"stock": name, "price": price});
        let lists = vec![
            vec![car("a1", Some(3)), car("a2", None), car("a3", Some(9))],
            vec![car("b1", Some(4))],
        ];
        let names = |vehicles: &[Value]| {
            let names = vehicles.iter().map(|v| v["stock"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        let mut merged = interleave(lists);
        assert_eq!(names(&merged), "a1 b1 a2 a3");
        let sort = |field, order| Sort { field, order };
        merged.sort_by(|a, b| compare(a, b, sort(SortField::Price, SortOrder::Desc)));
        assert_eq!(names(&merged), "a3 b1 a1 a2");
        merged.sort_by(|a, b| compare(a, b, sort(SortField::Stock, SortOrder::Asc)));
        assert_eq!(names(&merged), "a1 a2 a3 b1");
    }

    #[test]
    fn facets_add_up() {
        let mut sum = Map::new();
        add_facets(
            &mut sum,
            &json!({"makes": [{"value": "Honda", "count": 2}],
            "price_range": {"min": 10, "max": 20}, "odd": 5}),
        );
        add_facets(
            &mut sum,
            &json!({"makes": [{"value": "Kia", "count": 1},
            {"value": "Honda", "count": 3}], "price_range": {"min": 15, "max": 30}, "odd": []}),
        );
        let expected = json!({"makes": [{"value": "Honda", "count": 5},
            {"value": "Kia", "count": 1}], "price_range": {"min": 10, "max": 30}, "odd": 5});
        assert_eq!(Value::Object(sum), expected);
    }
}
