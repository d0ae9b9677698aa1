//! Checks that answers about forbidden ids equal those about absent ids: compares pairs of requests by their bytes,
//! headers, status and latency.
//!
//! With two callers, the second requests ids of the first. With one caller, two absent ids are compared, which is the
//! minimum requirement.
// Covers U-1 to U-9.

use std::time::Duration;

use tradepost_document::json::Value;

use super::answer::TaskAnswer;
use super::lookup::{IdLookup, LOOKUPS};
use super::pair::{Difference, Paired};
use super::seller::SellerBinding;
use super::statistics::{Compared, compare};
use crate::check::{Check, CheckResult, CheckVerdict, checks, not_applicable, verdict_of, warn};
use crate::run::{Caller, ProbeRun};
use crate::shape::ShapeProblems;

/// Number of pairs for each lookup.
const PAIRS: usize = 16;

/// Headers whose values differ between any two answers: only their presence is compared.
const VOLATILE: &[&str] = &[
    "age",
    "cf-ray",
    // Bodies are compared without their ids, whose lengths may differ.
    "content-length",
    "date",
    "mcp-session-id",
    "request-id",
    "retry-after",
    "server-timing",
    "traceparent",
    "x-amzn-trace-id",
    "x-correlation-id",
    "x-request-id",
    "x-response-time",
];

/// Members whose values differ between any two answers.
const VOLATILE_MEMBERS: &[&str] = &[
    "artifactId",
    "contextId",
    "context_id",
    "correlation_id",
    "id",
    "messageId",
    "operation_id",
    "request_id",
    "taskId",
    "timestamp",
    "trace_id",
];

const WHY: &str = "Whoever can tell the two apart can find out whose ids exist.";
const FIX: &str = "look up by id, then decide about access, and make one answer for both";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.uniform.error", Seller, Must, ["U-1"], "AdCP errors, uniform response",
    "Code, message, field and details are the same to the byte", WHY, FIX => differing(|pair| &pair.error);
    "adcp.uniform.body", Seller, Must, ["U-1"], "AdCP errors, uniform response",
    "The whole answers are the same to the byte, apart from ids and moments", WHY, FIX => differing(|pair| &pair.body);
    "adcp.uniform.status", Seller, Must, ["U-5"], "AdCP errors, uniform response",
    "HTTP status, and isError or the task's state, are the same", WHY, FIX => differing(|pair| &pair.status);
    "adcp.uniform.headers", Seller, Must, ["U-6"], "AdCP errors, uniform response",
    "The headers are the same, apart from dates and request ids", WHY,
    "send the same cache and rate limit headers, whatever was looked for" => differing(|pair| &pair.headers);
    "adcp.uniform.latency", Seller, Should, ["U-9"], "AdCP errors, uniform response",
    "The answers take equally long", WHY,
    "do the same work on both ways, also when there is nothing to authorize" => latency();
];

/// Returns an absent id of the same shape: a short prefix stays, and every other letter or digit is replaced by
/// another of its kind.
fn like(id: &str, seed: &str) -> String {
    let is_hex = id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let prefix = match id.find(['_', '-']) {
        Some(at) if !is_hex && at <= 8 => at + 1,
        Some(_) | None => 0,
    };
    // FNV-1a over the seed, then a step for each character: the id has to be new, not secret.
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in seed.bytes().chain(id.bytes()) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut pick = |base: u8, count: u8| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let step = u8::try_from((state >> 33) % u64::from(count)).unwrap_or_default();
        char::from(base + step)
    };
    let other = |(at, c): (usize, char)| match c {
        _ if at < prefix => c,
        'a'..='f' if is_hex => pick(b'a', 6),
        'a'..='z' => pick(b'a', 26),
        'A'..='Z' => pick(b'A', 26),
        '0'..='9' => pick(b'0', 10),
        other => other,
    };
    id.char_indices().map(other).collect()
}

/// Removes an id from a text.
fn without(text: &str, id: &str) -> String {
    text.replace(id, "<id>")
}

/// Removes ids and times from a value, also within texts that are JSON.
fn without_volatile(value: &Value, id: &str) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| {
                    let volatile = VOLATILE_MEMBERS.contains(&name.as_str());
                    let member = if volatile { Value::Null } else { without_volatile(member, id) };
                    (name.clone(), member)
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(|item| without_volatile(item, id)).collect(),
        Value::String(text) => match tradepost_document::json::from_str::<Value>(text) {
            Ok(inner) if inner.is_object() => without_volatile(&inner, id),
            Ok(_) | Err(_) => Value::String(without(text, id)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn body(answer: &TaskAnswer, id: &str) -> String {
    let event = || {
        answer
            .response
            .events()
            .last()
            .and_then(|data| tradepost_document::json::from_str(data).ok())
    };
    match answer.response.json().or_else(event) {
        Some(body) => without_volatile(&body, id).to_string(),
        None => without(&answer.response.text(), id),
    }
}

fn headers(answer: &TaskAnswer) -> Vec<(String, String)> {
    let mut headers: Vec<_> = answer
        .response
        .headers
        .iter()
        .map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            // A counter over all requests changes between the two.
            let counts = name.contains("ratelimit") || name.contains("rate-limit");
            let volatile = counts || VOLATILE.contains(&name.as_str());
            let value = if volatile { String::new() } else { value.clone() };
            (name, value)
        })
        .collect();
    headers.sort_unstable();
    headers
}

fn errors(answer: &TaskAnswer, id: &str) -> Vec<String> {
    answer.errors().iter().map(|error| without(&error.to_string(), id)).collect()
}

/// Compares the answers for two ids.
fn difference(
    tool: &str,
    first: &TaskAnswer,
    first_id: &str,
    second: &TaskAnswer,
    second_id: &str,
) -> Difference {
    let differs = |is: bool, what: &str| is.then(|| format!("{tool}: {what}"));
    let status =
        |answer: &TaskAnswer| (answer.response.status, answer.is_failed, answer.protocol.is_some());
    let one = headers(first);
    let other = headers(second);
    let odd =
        one.iter().chain(&other).find(|header| !one.contains(header) || !other.contains(header));
    Difference {
        error: differs(
            errors(first, first_id) != errors(second, second_id),
            &format!("the errors differ: {} and {}", first.describe(), second.describe()),
        ),
        body: differs(
            body(first, first_id) != body(second, second_id),
            &format!(
                "the bodies of {} and {} bytes differ",
                first.response.body.len(),
                second.response.body.len()
            ),
        ),
        status: differs(
            status(first) != status(second),
            &format!("{} and {}", first.describe(), second.describe()),
        ),
        headers: odd.map(|(name, _)| format!("{tool}: {name} differs")),
        exchanges: Vec::new(),
    }
}

/// Measures one lookup.
async fn measure(run: &mut ProbeRun, lookup: &'static IdLookup) -> Result<Paired, CheckVerdict> {
    let two = run.options.token.is_some() && run.options.token_b.is_some();
    let foreign = if two { lookup.foreign_id(run).await? } else { None };
    let caller = if foreign.is_some() { Caller::Second } else { Caller::First };
    let mut differences = Vec::new();
    let mut known_took = Vec::new();
    let mut unknown_took = Vec::new();
    for round in 0..PAIRS {
        let fresh = run.unknown_id();
        let known = foreign.clone().unwrap_or_else(|| like(&fresh, "known"));
        let seeds = (0..8).map(|attempt| format!("{fresh} {attempt}"));
        let mut candidates = seeds.map(|seed| like(&known, &seed));
        let unknown = candidates.find(|id| *id != known).unwrap_or(fresh);
        let mut pair = [None, None];
        // The order alternates, so that neither is always the first.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for side in order {
            let id = if side == 0 { &known } else { &unknown };
            let answer = run.tool_as(caller, lookup.tool, lookup.arguments(id)).await?;
            let took: &mut Vec<Duration> =
                if side == 0 { &mut known_took } else { &mut unknown_took };
            took.push(run.took);
            if let Some(place) = pair.get_mut(side) {
                *place = Some((answer, run.last().cloned()));
            }
        }
        if let [Some((first, one)), Some((second, other))] = pair {
            let mut found = difference(lookup.tool, &first, &known, &second, &unknown);
            found.exchanges.extend(one.into_iter().chain(other));
            differences.push(found);
        }
        // A pair keeps its own exchanges, and only those that differ are shown.
        run.take_recorded();
    }
    // The first request opens the connection, so its latency is excluded.
    let warm = |took: &[Duration]| took.get(1..).unwrap_or_default().to_vec();
    let compared = compare(&warm(&known_took), &warm(&unknown_took));
    Ok(Paired { tool: lookup.tool, is_full: foreign.is_some(), differences, compared })
}

/// Measures every lookup that the seller offers, once for each binding.
async fn all(run: &mut ProbeRun) -> Result<(), CheckVerdict> {
    let key = format!("adcp pairs {}", run.seller.binding.name());
    if let Some(known) = run.cache.get(&key) {
        return known.clone().map(|_| ());
    }
    let done = measure_all(run).await;
    run.cache.insert(key, done.clone().map(|()| Value::Null));
    done
}

async fn measure_all(run: &mut ProbeRun) -> Result<(), CheckVerdict> {
    let offered = run.tools().await?;
    let binding = run.seller.binding;
    for lookup in LOOKUPS.iter().filter(|lookup| offered.iter().any(|name| name == lookup.tool)) {
        match measure(run, lookup).await {
            Ok(paired) => run.seller.pairs.push((binding, paired)),
            Err(CheckVerdict::NotApplicable(_)) => {}
            Err(other) => return Err(other),
        }
    }
    let any = run.seller.pairs.iter().any(|(known, _)| *known == binding);
    if any { Ok(()) } else { not_applicable("the seller offers no lookup that can be compared") }
}

fn measured_pairs(run: &ProbeRun, binding: SellerBinding) -> impl Iterator<Item = &Paired> {
    run.seller.pairs.iter().filter(move |(known, _)| *known == binding).map(|(_, paired)| paired)
}

async fn differing(run: &mut ProbeRun, what: fn(&Difference) -> &Option<String>) -> CheckResult {
    all(run).await?;
    let mut wrong = ShapeProblems::default();
    let mut cited = Vec::new();
    for paired in measured_pairs(run, run.seller.binding) {
        if let Some(found) = paired.differences.iter().find(|difference| what(difference).is_some())
        {
            wrong.0.extend(what(found).clone());
            cited.extend(found.exchanges.clone());
        }
    }
    for exchange in cited {
        run.cite(exchange);
    }
    verdict_of(&wrong.0)
}

/// Only warns, because network latency cannot be excluded.
async fn latency(run: &mut ProbeRun) -> CheckResult {
    all(run).await?;
    let slow: Vec<String> = measured_pairs(run, run.seller.binding)
        .filter_map(|paired| {
            let compared = paired.compared.filter(Compared::differs)?;
            let (known, unknown) = compared.medians;
            Some(format!(
                "{}: medians of {known} and {unknown} µs, z = {:.1}",
                paired.tool, compared.z
            ))
        })
        .collect();
    if slow.is_empty() { Ok(CheckVerdict::Pass) } else { warn(slow.join("; ")) }
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn an_id_like_another_has_its_shape_and_is_another() {
        for id in ["mb_8F3k-20", "0196865e-7b00-7000-8000-000000000001", "acc-17", "x", ""] {
            let other = like(id, "seed");
            let shape = |id: &str| {
                let kind = |c: char| match c {
                    'a'..='z' => 'a',
                    'A'..='Z' => 'A',
                    '0'..='9' => '0',
                    other => other,
                };
                id.chars().map(kind).collect::<String>()
            };
            assert_eq!(shape(&other), shape(id), "{id} and {other}");
        }
        assert!(like("mb_8F3k-20", "seed").starts_with("mb_"));
        assert_ne!(like("acc-17171717", "a"), like("acc-17171717", "b"));
        let hex = like("0196865e-7b00-7000-8000-00000000000f", "seed");
        assert!(hex.chars().all(|c| c.is_ascii_hexdigit() || c == '-'), "{hex}");
    }

    #[test]
    fn only_ids_and_moments_are_no_differences() {
        let answer = |id: &str, moment: u32, message: &str| {
            let inner = json!({"timestamp": moment, "adcp_error": {"message": message}});
            json!({"id": moment, "result": {"content": [{"text": inner.to_string()}], "of": id}})
        };
        let first = without_volatile(&answer("mb_1", 1, "none"), "mb_1");
        assert_eq!(first, without_volatile(&answer("mb_2", 2, "none"), "mb_2"));
        assert_ne!(first, without_volatile(&answer("mb_2", 2, "no access"), "mb_2"));
    }
}
