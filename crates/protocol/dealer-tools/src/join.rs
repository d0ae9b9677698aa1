//! Joins the answers of several dealers, each with the dealer's name.

use tradepost_aap::Skill;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_mcp::sanitize::Cleaner;

use super::{doubtful, search, show};

/// Result of a tool: for programs, and as text for models and people.
#[derive(Debug, Clone)]
pub struct JoinedAnswer {
    /// Result for programs; always an object.
    pub document: Value,
    /// The same as text.
    pub text: String,
}

/// Dealers that are missing in an answer, because they failed.
#[derive(Debug, Clone, Default)]
pub struct FailedDealers {
    /// Error object of each, with its name.
    pub documents: Vec<Value>,
    /// The same as texts.
    pub texts: Vec<String>,
}

/// Answer of one dealer, as it was sent.
#[derive(Debug)]
pub struct DealerReply<'a> {
    /// Name of the dealer.
    pub dealer: &'a str,
    /// Data of the answer.
    pub data: &'a Value,
    /// Message of the answer.
    pub message: Option<&'a str>,
}

/// What a dealer says of itself, made fit for a model.
#[derive(Debug)]
pub struct DealerDescription {
    /// Members of the dealer's entry.
    pub document: Value,
    /// True when something was cut.
    pub cut: bool,
}

/// Lists the names of the dealers, without what they say.
#[must_use]
pub fn names(names: &[String], failed: FailedDealers) -> JoinedAnswer {
    let dealers: Vec<_> = names.iter().map(|name| json!({"dealer": name})).collect();
    let text = show::dealer_names(names, &failed.texts);
    let document = json!({"dealers": dealers, "errors": failed.documents, "truncated": false});
    JoinedAnswer { document, text }
}

/// Lists the dealers with what they say of themselves.
#[must_use]
pub fn descriptions(found: Vec<DealerDescription>, failed: FailedDealers) -> JoinedAnswer {
    let cut = found.iter().any(|about| about.cut);
    let dealers: Vec<_> = found.into_iter().map(|about| about.document).collect();
    let document = json!({"dealers": dealers, "errors": failed.documents, "truncated": cut});
    let text = show::dealers(&document, &failed.texts);
    JoinedAnswer { document, text }
}

/// Adds the counts of the dealers up. `payload` is the request.
#[must_use]
pub fn facets(found: &[DealerReply<'_>], payload: &Map, failed: FailedDealers) -> JoinedAnswer {
    let mut sum = Map::new();
    let mut cut = false;
    let mut dealers = Vec::new();
    for reply in found {
        let mut cleaner = Cleaner::share(found.len());
        let facets = cleaner.clean(reply.data);
        cut |= cleaner.cut;
        let speaks = facets.as_object().is_none_or(Map::is_empty) || search::asks_in_words(payload);
        let message = search::clean_message(reply.message).filter(|_| speaks);
        add_facets(&mut sum, &facets);
        dealers.push(object!({"dealer": reply.dealer, "message"?: message}));
    }
    let sum = Value::Object(sum);
    let text = show::facets(&sum, &dealers, &failed.texts);
    let document = json!({
        "type": Skill::InventoryFacets.response_type(), "data": sum, "dealers": dealers,
        "errors": failed.documents, "truncated": cut,
    });
    JoinedAnswer { document, text }
}

/// Returns one vehicle of one dealer.
#[must_use]
pub fn vehicle(reply: &DealerReply<'_>) -> JoinedAnswer {
    let mut cleaner = Cleaner::full();
    let mut data = cleaner.clean(reply.data);
    doubtful::mark_one(&mut data);
    let message = search::clean_message(reply.message);
    let document = object!({
        "type": Skill::InventoryVehicle.response_type(), "dealer": reply.dealer, "data": data,
        "truncated": cleaner.cut, "message"?: message,
    });
    let text = show::vehicle(reply.dealer, &data, message.as_deref());
    JoinedAnswer { document, text }
}

/// Adds facets to the sum: counts by value, and ranges widened to include both.
fn add_facets(sum: &mut Map, more: &Value) {
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
