//! Searches several dealers as if they were one: each sends its matches up to the end of the requested page, and the
//! page is cut out of the merged matches.

use std::cmp::Ordering;

use jiff::Timestamp;
use tradepost_aap::Skill;
use tradepost_aap::inventory::{Sort, SortField, SortOrder};
use tradepost_aap::vehicle::is_on_sale;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_mcp::sanitize::{Cleaner, dealer_text};
use tradepost_mcp::summary::items;

use super::arguments::{MAX_SKIP, SearchArguments};
use super::doubtful;
use super::join::{FailedDealers, JoinedAnswer};
use super::show::{self, MAX_MESSAGE};

/// Maximum number of pages requested from one dealer; dealers may send fewer vehicles than requested.
const MAX_PAGES: usize = 10;

/// A page of one dealer.
#[derive(Debug, Clone, Copy)]
pub struct DealerPage<'a> {
    /// Data of the answer.
    pub data: &'a Value,
    /// Message of the answer.
    pub message: Option<&'a str>,
    /// How the dealer read a text query, as filters of a request.
    pub reading: Option<&'a Value>,
}

/// Matches of one dealer, which are requested page by page.
#[derive(Debug)]
pub struct DealerMatches {
    payload: Map,
    wanted: usize,
    in_words: bool,
    /// Number of pages that have come.
    pages: usize,
    /// Number of matches that have come, with those that were left out.
    seen: usize,
    /// Number of all matches, when the dealer states it.
    total: Option<u64>,
    /// First matches, in the dealer's order and cleaned for a model.
    vehicles: Vec<Value>,
    /// Number of vehicles left out because no status says that they are on sale (`R-IS-14`).
    left_out: usize,
    /// True when the dealer has sent all matches.
    is_all: bool,
    /// True when nothing more is requested.
    is_done: bool,
    /// True when something was cut.
    cut: bool,
    /// Dealer's message about an empty answer, or about how it understood a text query.
    message: Option<String>,
    /// How the dealer read a text query, as filters of a request.
    query_reading: Option<Value>,
}

impl DealerMatches {
    /// Begins without any match. The first matches up to the end of the requested page are wanted.
    #[must_use]
    pub fn new(arguments: &SearchArguments) -> Self {
        Self {
            payload: arguments.payload.clone(),
            wanted: arguments.skip + arguments.limit,
            in_words: asks_in_words(&arguments.payload),
            pages: 0,
            seen: 0,
            total: None,
            vehicles: Vec::new(),
            left_out: 0,
            is_all: false,
            is_done: false,
            cut: false,
            message: None,
            query_reading: None,
        }
    }

    /// Returns the request for the next page; `None` when no other is needed.
    #[must_use]
    pub fn next_request(&self) -> Option<Map> {
        if self.is_done || self.pages >= MAX_PAGES {
            return None;
        }
        let mut payload = self.payload.clone();
        payload.insert("pagination".into(), json!({"skip": self.seen, "limit": self.room()}));
        // The user has not been asked to identify themselves (`R-IS-13`).
        payload.insert("privacy".into(), json!({"anonymous": true}));
        Some(payload)
    }

    /// Adds the page that the dealer has sent.
    pub fn add(&mut self, page: DealerPage<'_>) {
        let DealerPage { data, message, reading } = page;
        let room = self.room();
        let sent: Vec<_> = items(data, "vehicles").collect();
        let count = sent.len();
        let listed: Vec<_> = sent.into_iter().filter(|vehicle| is_on_sale(vehicle)).collect();
        let overflows = listed.len() > room;
        self.left_out += count - listed.len();
        for vehicle in listed.into_iter().take(room) {
            let mut cleaner = Cleaner::brief();
            self.vehicles.push(cleaner.clean(vehicle));
            self.cut |= cleaner.cut;
        }
        let number = |name: &str| data.get(name).and_then(Value::as_u64);
        self.total = number("total");
        let is_first = self.seen == 0;
        if is_first && (self.in_words || count == 0) {
            self.message = clean_message(message);
        }
        if is_first && self.in_words {
            self.query_reading = reading.map(|reading| Cleaner::brief().clean(reading));
        }
        let at_place = number("skip").is_none_or(|skip| skip == as_u64(self.seen));
        self.pages += 1;
        self.seen += count;
        let is_end = count == 0 || self.total.is_none_or(|total| total <= as_u64(self.seen));
        // A dealer may send more than requested; the surplus belongs to a later page.
        self.is_all = is_end && !overflows;
        // Vehicles that were left out are not counted, or the next page would begin too late. A dealer that begins at
        // another place than requested would send the same vehicles again.
        self.is_done = is_end || self.vehicles.len() >= self.wanted || !at_place;
    }

    fn room(&self) -> usize {
        self.wanted - self.vehicles.len()
    }
}

/// Returns true when a request has a text query, whose reading the dealer then explains.
#[must_use]
pub fn asks_in_words(payload: &Map) -> bool {
    payload.get("filters").is_some_and(|filters| filters.get("query").is_some())
}

/// Cleans a dealer's message for a model.
#[must_use]
pub fn clean_message(message: Option<&str>) -> Option<String> {
    message.map(|message| dealer_text(message, MAX_MESSAGE)).filter(|message| !message.is_empty())
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// All matches of one dealer, with its name.
#[derive(Debug)]
pub struct NamedMatches {
    /// Name of the dealer.
    pub dealer: String,
    /// Its matches.
    pub matches: DealerMatches,
}

/// Merges the matches and returns the requested page.
#[must_use]
pub fn merge(
    found: Vec<NamedMatches>,
    arguments: &SearchArguments,
    failed: FailedDealers,
) -> JoinedAnswer {
    let mut dealers = Vec::new();
    let mut lists = Vec::new();
    let mut total = Some(0_u64);
    let mut more = false;
    let mut cut = false;
    for NamedMatches { dealer, matches: found } in found {
        dealers.push(object!({
            "dealer": dealer, "total": found.total,
            "left_out"?: Some(found.left_out).filter(|count| *count > 0),
            "message"?: found.message,
            "query_reading"?: found.query_reading,
        }));
        // Unknown as soon as one dealer does not state it.
        total = total.zip(found.total).map(|(sum, more)| sum.saturating_add(more));
        more |= !found.is_all;
        cut |= found.cut;
        let vehicles = found.vehicles.into_iter().map(|vehicle| with_dealer(&dealer, vehicle));
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
    let document = object!({
        "type": Skill::InventorySearch.response_type(),
        "data": {
            "total": total, "skip": arguments.skip, "limit": arguments.limit, "vehicles": page,
        },
        "dealers": dealers,
        "errors": failed.documents,
        "truncated": cut,
        // No page begins beyond the maximum.
        "next_skip"?: Some(end).filter(|end| more && *end <= MAX_SKIP),
    });
    let mut text = show::page(&document, &failed.texts);
    if more && end > MAX_SKIP {
        text.push_str("\n\nthere are more, which no page reaches: narrow the filters");
    }
    JoinedAnswer { document, text }
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
    fn a_page_that_cannot_be_asked_for_is_not_named() {
        let page = |skip| {
            let asked = SearchArguments { payload: Map::new(), sort: None, skip, limit: 50 };
            let dealer = "one.example".to_owned();
            let found = NamedMatches { dealer, matches: DealerMatches::new(&asked) };
            merge(vec![found], &asked, FailedDealers::default())
        };
        let last = page(MAX_SKIP - 50);
        assert_eq!(last.document["next_skip"], MAX_SKIP);
        assert!(!last.text.contains("narrow the filters"), "{}", last.text);
        let beyond = page(MAX_SKIP);
        assert_eq!(beyond.document.get("next_skip"), None);
        assert!(beyond.text.contains("narrow the filters"), "{}", beyond.text);
    }
}
