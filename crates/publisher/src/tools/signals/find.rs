//! Finding signals: by reference, by description, or all of them.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::{Code, Error};
use tradepost_wire::canonical;

use super::{deployment, is_here};
use crate::catalogue::{Signal, maps, number, text, words};
use crate::refuse::{self, Stop};
use crate::supply::Outage;
use crate::tools::products::telling;
use crate::tools::{Reply, Work, page};

/// What is asked.
#[derive(Debug, Deserialize)]
struct Request {
    signal_spec: Option<String>,
    #[serde(default)]
    signal_refs: Vec<Map<String, Value>>,
    #[serde(default)]
    signal_ids: Vec<Map<String, Value>>,
    destinations: Option<Vec<Map<String, Value>>>,
    #[serde(default)]
    countries: Vec<String>,
    #[serde(default)]
    filters: Map<String, Value>,
    fields: Option<Vec<String>>,
    max_results: Option<u64>,
    if_wholesale_feed_version: Option<String>,
}

/// What a signal has to have to be one, whatever `fields` names.
const ALWAYS: [&str; 7] = [
    "signal_ref",
    "signal_agent_segment_id",
    "name",
    "description",
    "signal_type",
    "coverage_percentage",
    "deployments",
];

/// Replies.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    let request: Request = work.arguments()?;
    let (signals, unresolved) = wanted(work, &request)?;
    let mut shown = Vec::new();
    for signal in signals.into_iter().filter(|signal| fits(work, signal, &request)) {
        let mut members = signal.published.clone();
        let here = deployment(work, signal.handle())?;
        members.insert("deployments".to_owned(), json!([here]));
        shown.push(Value::Object(members));
    }
    let live =
        |signal: &Value| signal.pointer("/deployments/0/is_live") == Some(&Value::Bool(true));
    let account = work.admitted.account_id();
    let own = account.is_some() && shown.iter().any(live);
    let cache_scope = if own { "account" } else { "public" };
    let scope = page::scope(&work.ask.arguments, account.filter(|_| own));
    let version = page::mark(&format!("{scope}\n{}", canonical::to_string(&json!(shown))));
    if request.if_wholesale_feed_version.as_ref() == Some(&version) {
        let body = json!({
            "unchanged": true, "wholesale_feed_version": version, "cache_scope": cache_scope,
        });
        return Ok(Reply::completed("nothing has changed since that version", body));
    }
    let total = shown.len();
    let page = page::of(shown, &paged(work, &request), &scope)?;
    let signals: Vec<_> =
        page.items.into_iter().map(|signal| projected(signal, &request)).collect();
    let message = match total {
        0 => "no signal fits".to_owned(),
        1 => "1 signal fits".to_owned(),
        _ => format!("{total} signals fit"),
    };
    let body = json!({
        "signals": signals, "pagination": page.pagination, "cache_scope": cache_scope,
    });
    let mut reply = Reply::completed(message, body);
    reply.body.insert("wholesale_feed_version".to_owned(), version.into());
    if work.admitted.account.as_ref().is_some_and(|account| account.thing.sandbox) {
        reply.body.insert("sandbox".to_owned(), true.into());
    }
    reply.warnings = unresolved;
    let tenant = &work.admitted.reach.tenant;
    let outage = Outage::of(work.shelf, tenant, "get_signals", work.ask.now)?;
    reply.warnings.extend(outage.map(|outage| outage.warning(work.ask.now)));
    Ok(reply)
}

/// The signals that are meant, and a warning when not all references resolve. When none does, that
/// is a failure. What the references mean comes first, and then what the description finds.
fn wanted<'w>(
    work: &'w Work<'_>,
    request: &Request,
) -> Result<(Vec<&'w Signal>, Vec<Error>), Stop> {
    let all = &work.publisher.profile.catalogue.signals;
    let agent = &work.publisher.profile.catalogue.agent_url;
    let mut found: Vec<&Signal> = Vec::new();
    let mut unresolved = Vec::new();
    let lists = [("signal_refs", &request.signal_refs), ("signal_ids", &request.signal_ids)];
    for (field, references) in lists {
        let means = |reference: &Map<String, Value>| {
            all.iter().find(|signal| is_meant(signal, reference, agent))
        };
        let known: Vec<_> = references.iter().filter_map(means).collect();
        if known.len() < references.len() {
            unresolved.push(refuse::not_found(Code::SignalNotFound, Some(field)));
        }
        found.extend(known);
    }
    let described = request.signal_spec.as_deref().map(|spec| described(all, spec));
    let by_reference = !request.signal_refs.is_empty() || !request.signal_ids.is_empty();
    match (described, by_reference) {
        (None, false) => found.extend(all),
        (None, true) => {}
        (Some(described), _) => found.extend(described),
    }
    let mut handles = Vec::new();
    found.retain(|signal| {
        let new = !handles.contains(&signal.handle());
        handles.push(signal.handle());
        new
    });
    if by_reference && found.is_empty() {
        super::refused(std::mem::take(&mut unresolved))?;
    }
    for warning in &mut unresolved {
        warning.severity = Some("warning".to_owned());
    }
    Ok((found, unresolved))
}

/// What shares words with a description, the best first; everything when nothing does.
fn described<'s>(all: &'s [Signal], spec: &str) -> Vec<&'s Signal> {
    let wanted = telling(spec);
    let score = |signal: &Signal| {
        let own: Vec<String> =
            [text(&signal.published, "name"), text(&signal.published, "description")]
                .into_iter()
                .chain(signal.terms.keywords.iter().map(String::as_str))
                .flat_map(words)
                .collect();
        wanted.iter().filter(|word| own.contains(word)).count()
    };
    let mut scored: Vec<_> = all.iter().map(|signal| (score(signal), signal)).collect();
    if scored.iter().any(|(score, _)| *score > 0) {
        scored.retain(|(score, _)| *score > 0);
    }
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, signal)| signal).collect()
}

/// Whether a reference (`core/signal-ref.json`, or the older `core/signal-id.json`) means a signal.
fn is_meant(signal: &Signal, reference: &Map<String, Value>, agent: &str) -> bool {
    let trimmed = |address: &str| address.trim_end_matches('/').to_ascii_lowercase();
    let known = signal.published.get("signal_ref").and_then(Value::as_object);
    let same = |name: &str| {
        let of = |members: &Map<String, Value>| trimmed(text(members, name));
        known.is_some_and(|known| of(known) == of(reference))
    };
    match text(reference, "source") {
        "" => ["scope", "signal_id", "signal_source_url", "data_provider_domain"]
            .into_iter()
            .all(same),
        "agent" => {
            text(reference, "id") == signal.handle()
                && trimmed(text(reference, "agent_url")) == trimmed(agent)
        }
        _ => false,
    }
}

fn fits(work: &Work<'_>, signal: &Signal, request: &Request) -> bool {
    let published = &signal.published;
    let filters = &request.filters;
    let lists = |name: &str, word: &str| {
        let list = filters.get(name).and_then(Value::as_array);
        list.is_none_or(|list| list.iter().any(|known| known.as_str() == Some(word)))
    };
    let prices = || maps(published.get("pricing_options"));
    // A limit on one model of prices says nothing about the others.
    let within = |model: &str, member: &str, most: Option<f64>| {
        let mut of_model = prices().filter(|price| text(price, "model") == model).peekable();
        let none = of_model.peek().is_none();
        most.is_none_or(|most| {
            none || of_model.any(|price| number(price, member).is_some_and(|own| own <= most))
        })
    };
    let countries = &signal.terms.countries;
    let everywhere = countries.is_empty() || request.countries.is_empty();
    (everywhere || countries.iter().any(|country| request.countries.contains(country)))
        && request.destinations.as_ref().is_none_or(|all| all.iter().any(|one| is_here(work, one)))
        && lists("catalog_types", text(published, "signal_type"))
        && lists("data_providers", text(published, "data_provider"))
        && within("cpm", "cpm", number(filters, "max_cpm"))
        && within("percent_of_media", "percent", number(filters, "max_percent"))
        && number(filters, "min_coverage_percentage")
            .is_none_or(|least| number(published, "coverage_percentage") >= Some(least))
}

fn projected(mut signal: Value, request: &Request) -> Value {
    if let (Some(fields), Some(members)) = (&request.fields, signal.as_object_mut()) {
        members.retain(|name, _| ALWAYS.contains(&name.as_str()) || fields.contains(name));
    }
    signal
}

/// The arguments with the older `max_results` as the size of a page.
fn paged(work: &Work<'_>, request: &Request) -> Map<String, Value> {
    let mut arguments = work.ask.arguments.clone();
    if let (Some(size), false) = (request.max_results, arguments.contains_key("pagination")) {
        arguments.insert("pagination".to_owned(), json!({"max_results": size}));
    }
    arguments
}
