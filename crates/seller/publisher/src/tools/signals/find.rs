//! Search for signals: by reference, by description, or all.

use std::collections::BTreeSet;

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::canonical;
use tradepost_document::json::{Value, json, object};
use tradepost_document::typed::Typed as _;

use super::{deployment, is_here};
use crate::catalogue::{Catalogue, Signal, SignalPrice, words};
use crate::forms::signals::{GetSignals, SignalId, SignalRef, SignalSource};
use crate::money::MoneyAmount;
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::tool_context::ToolContext;
use crate::tools::page;
use crate::tools::products::meaningful_words;

/// Members that a signal always has, whatever `fields` says.
const ALWAYS: &[&str] = &[
    "signal_ref",
    "signal_agent_segment_id",
    "name",
    "description",
    "signal_type",
    "coverage_percentage",
    "deployments",
];

/// Handles `get_signals`.
pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &GetSignals,
) -> Result<ToolReply, ToolError> {
    let (signals, unresolved) = wanted(work, form)?;
    let mut shown = Vec::new();
    for signal in signals.into_iter().filter(|signal| fits(work, signal, form)) {
        let mut members = signal.published.document.clone();
        let own_deployment = deployment(work, signal.handle())?;
        members.insert("deployments".to_owned(), json!([own_deployment]));
        shown.push(Value::Object(members));
    }
    let live =
        |signal: &Value| signal.pointer("/deployments/0/is_live") == Some(&Value::Bool(true));
    let account = work.admitted.account_id();
    // An account without activations sees the public result and can share its cache.
    let own = account.is_some() && shown.iter().any(live);
    let cache_scope = if own { "account" } else { "public" };
    let scope = page::scope(&work.call.arguments, account.filter(|_| own));
    // The version covers all matches, before paging and the selection of fields, so that it is the
    // same for all of them.
    let version = page::mark(format!("{scope}\n{}", canonical::to_string(&json!(shown))));
    if work.feed_version(form.if_wholesale_feed_version.as_ref()) == Some(&version) {
        return Ok(page::unchanged(&version, cache_scope));
    }
    let total = shown.len();
    let page = page::requested(shown, form.page().as_ref(), &scope)?;
    let signals: Vec<_> = page.items.into_iter().map(|signal| projected(signal, form)).collect();
    let body = object!({
        "signals": signals,
        "pagination": page.pagination,
        "cache_scope": cache_scope,
        "wholesale_feed_version": version,
        "sandbox"?: work.sandbox(),
    });
    let mut reply = ToolReply::completed(page::fitting(total, "signal"), body);
    reply.warnings = unresolved;
    reply.warnings.extend(work.outage()?);
    Ok(reply)
}

/// Returns the requested signals and a warning when some references do not resolve; it is an error
/// when none does. Referenced signals come first, then those that match the description.
fn wanted<'w>(
    work: &'w ToolContext<'_>,
    form: &GetSignals,
) -> Result<(Vec<&'w Signal>, Vec<AdcpError>), ToolError> {
    let Catalogue { signals: all, agent_url: agent, .. } = &work.publisher.profile.catalogue;
    let mut found: Vec<&Signal> = Vec::new();
    let mut unresolved = Vec::new();
    let by_ref = form.signal_refs.iter().map(|one| all.iter().find(|signal| is_meant(signal, one)));
    let by_id =
        form.signal_ids.iter().map(|one| all.iter().find(|signal| is_named(signal, one, agent)));
    let lists: [(_, Vec<_>); 2] =
        [("signal_refs", by_ref.collect()), ("signal_ids", by_id.collect())];
    for (field, references) in lists {
        if references.iter().any(Option::is_none) {
            unresolved.push(refusals::not_found(AdcpCode::SignalNotFound, Some(field)));
        }
        found.extend(references.into_iter().flatten());
    }
    let by_reference = !form.signal_refs.is_empty() || !form.signal_ids.is_empty();
    match &form.signal_spec {
        Some(spec) => found.extend(described(all, spec)),
        None if by_reference => {}
        None => found.extend(all),
    }
    let mut handles = BTreeSet::new();
    found.retain(|signal| handles.insert(signal.handle()));
    if by_reference && found.is_empty() {
        AdcpRefusal::of_all(std::mem::take(&mut unresolved))?;
    }
    Ok((found, unresolved.into_iter().map(refusals::warning).collect()))
}

/// Returns the signals that share words with a description, best first; all when none does.
fn described<'s>(all: &'s [Signal], spec: &str) -> Vec<&'s Signal> {
    let wanted = meaningful_words(spec);
    let score = |signal: &Signal| {
        let texts = [&signal.published.name, &signal.published.description].into_iter().flatten();
        let own: Vec<_> =
            texts.chain(&signal.terms.keywords).flat_map(|text| words(text)).collect();
        wanted.iter().filter(|word| own.contains(word)).count()
    };
    let mut scored: Vec<_> = all.iter().map(|signal| (score(signal), signal)).collect();
    if scored.iter().any(|(score, _)| *score > 0) {
        scored.retain(|(score, _)| *score > 0);
    }
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, signal)| signal).collect()
}

/// Returns an address for comparison: in lower case, without a trailing slash.
fn trimmed(address: &str) -> String {
    address.trim_end_matches('/').to_ascii_lowercase()
}

/// Returns true when a reference means this signal.
fn is_meant(signal: &Signal, reference: &SignalRef) -> bool {
    let parts = |of: &SignalRef| {
        let url = of.signal_source_url.as_deref().unwrap_or_default();
        let domain = of.data_provider_domain.as_deref().unwrap_or_default();
        [&of.scope, &of.signal_id, url, domain].map(trimmed)
    };
    let own = signal.published.signal_ref.as_ref().and_then(SignalRef::read);
    own.is_some_and(|own| parts(&own) == parts(reference))
}

/// Returns true when an older reference means this signal; `agent` is the address of its seller.
fn is_named(signal: &Signal, reference: &SignalId, agent: &str) -> bool {
    let address = reference.agent_url.as_deref().unwrap_or_default();
    reference.source == SignalSource::Agent
        && reference.id == signal.handle()
        && trimmed(address) == trimmed(agent)
}

/// Returns true when a signal fits the countries, the destinations and the filters of a request.
fn fits(work: &ToolContext<'_>, signal: &Signal, form: &GetSignals) -> bool {
    let published = &signal.published;
    let filters = form.filters.as_ref();
    let lists = |list: &Option<Vec<String>>, word: &Option<String>| {
        list.as_ref().is_none_or(|list| word.as_ref().is_some_and(|word| list.contains(word)))
    };
    // A limit on one pricing model does not restrict the others.
    type Price = fn(&SignalPrice) -> Option<MoneyAmount>;
    let within = |model: &str, price: Price, most: Option<MoneyAmount>| {
        let prices = published.pricing_options.iter();
        let of_model = prices.filter(|option| option.model.as_deref() == Some(model));
        let mut of_model = of_model.peekable();
        let none = of_model.peek().is_none();
        most.is_none_or(|most| {
            none || of_model.any(|option| price(option).is_some_and(|own| own <= most))
        })
    };
    let countries = &signal.terms.countries;
    let everywhere = countries.is_empty() || form.countries.is_empty();
    (everywhere || countries.iter().any(|country| form.countries.contains(country)))
        && form.destinations.as_ref().is_none_or(|all| all.iter().any(|one| is_here(work, one)))
        && filters.is_none_or(|filters| {
            lists(&filters.catalog_types, &published.signal_type)
                && lists(&filters.data_providers, &published.data_provider)
                && within("cpm", |price| price.cpm, filters.max_cpm)
                && within("percent_of_media", |price| price.percent, filters.max_percent)
                && filters
                    .min_coverage_percentage
                    .is_none_or(|least| published.coverage_percentage >= Some(least))
        })
}

fn projected(mut signal: Value, form: &GetSignals) -> Value {
    if let Some(fields) = &form.fields
        && let Some(members) = signal.as_object_mut()
    {
        let always = |name: &str| ALWAYS.contains(&name);
        members.retain(|name, _| always(name) || fields.contains(name));
    }
    signal
}
