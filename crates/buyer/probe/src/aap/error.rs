//! Error objects of all refusals of AAP (R-ER).

use std::collections::BTreeMap;

use tradepost_aap::Version;
use tradepost_aap::error::{AapCode, Remedy};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use crate::check::{Check, CheckResult, checks};
use crate::run::{ProbeRun, SeenAapError};
use crate::shape::{self, ShapeProblems, text};

const WHY: &str = "Buyer agents act on this object alone; what it lacks they cannot know.";

pub(super) const CHECKS: &[Check] = checks![
    "aap.error.object", End, Must, ["R-ER-01"], "AAP errors, error payload",
    "Every refusal carries an aap.error object in error.data, with every required member", WHY,
    "send type, error_id, code, message, retryable and created_at" => object();
    "aap.error.closed", End, Must, ["R-ER-01"], "AAP error schema",
    "The object has no member that the schema does not have", "Buyers that validate refuse the whole answer.",
    "put everything else into details" => closed();
    "aap.error.code", End, Must, ["R-ER-01", "R-ER-09"], "AAP errors, error code reference",
    "The code is one of AAP's", WHY,
    "map your errors to AAP's" => code();
    "aap.error.jsonrpc-code", End, Should, ["R-ER-09"], "AAP errors, error code reference",
    "The JSON-RPC code is the one of the table", "Clients without AAP see this number alone.",
    "use the code of the table" => jsonrpc_code();
    "aap.error.retryable", End, Must, ["R-ER-04"], "AAP errors, retryable",
    "retryable is true only for what may succeed when sent again", "Buyers repeat what is retryable, for ever.",
    "set it to false for requests that are wrong in themselves" => retryable();
    "aap.error.created-at", End, Must, ["R-ER-01"], "AAP error schema",
    "created_at is a moment in RFC 3339", "Support finds the log line by it.",
    "write RFC 3339 with an offset" => created_at();
    "aap.error.id", End, Should, ["R-ER-06"], "AAP errors, error payload",
    "Every error has an id of its own", "Support finds the log line by it.",
    "make a new UUID for each error" => unique_id();
    "aap.error.problems", End, Must, ["R-ER-02"], "AAP errors, details.errors",
    "Every validation error lists its problems", "A buyer cannot fix what it does not know.",
    "fill in details.errors" => problems();
];

/// Checks every refusal of AAP, and shows those with problems.
fn each(run: &mut ProbeRun, look: impl Fn(&SeenAapError, &mut ShapeProblems)) -> CheckResult {
    let found = run
        .seen
        .iter()
        .map(|seen| (seen.exchange.clone(), shape::wrong(|wrong| look(seen, wrong))));
    let found = found.collect();
    run.check_refusals(found)
}

fn data(seen: &SeenAapError) -> &Value {
    seen.error.get("data").unwrap_or(&Value::Null)
}

/// Returns the code, when it is one of the catalog.
fn known(seen: &SeenAapError) -> Option<AapCode> {
    AapCode::from_name(text(data(seen), "code")?)
}

/// Returns true when the code is about an invalid request.
fn is_validation(code: AapCode) -> bool {
    code.remedy() == Remedy::Correct
}

async fn object(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let data = data(seen);
        if text(data, "type") != Some("aap.error") {
            // The answer has another shape altogether, so further missing members prove nothing.
            wrong.add("a refusal has no aap.error object in error.data");
            return;
        }
        for name in ["error_id", "code", "message"] {
            wrong.text(data, name, "the object");
        }
        let answer = data.get("retryable").is_some_and(Value::is_boolean);
        wrong.unless(answer, "the object has no retryable");
        let dated = data.get("created_at").is_some_and(Value::is_string);
        wrong.unless(dated, "the object has no created_at");
    })
}

async fn closed(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let known = ["type", "error_id", "code", "message", "retryable", "details", "created_at"];
        wrong.closed(data(seen), &known, "the object");
        let details = data(seen).get("details");
        let is_object = details.is_none_or(Value::is_object);
        wrong.unless(is_object, "details is no object");
    })
}

async fn code(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let name = text(data(seen), "code").unwrap_or_default();
        // A missing code is reported by `aap.error.object`.
        let known = name.is_empty() || AapCode::from_name(name).is_some();
        wrong.unless(known, format!("{name:?} is none of them"));
    })
}

async fn jsonrpc_code(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let Some(code) = known(seen) else { return };
        let number = seen.error.get("code").and_then(Value::as_i64);
        let expected = i64::from(code.jsonrpc());
        let holds = number == Some(expected);
        wrong.unless(holds, format!("{code} came with {number:?}, not {expected}"));
    })
}

async fn retryable(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let Some(code) = known(seen) else { return };
        let answer = data(seen).get("retryable").and_then(Value::as_bool);
        // A dealer may decide otherwise for temporary conditions; an invalid request stays invalid.
        let never =
            is_validation(code) || matches!(code.remedy(), Remedy::NotOffered | Remedy::NewKey);
        wrong.unless(!never || answer != Some(true), format!("{code} says that it is retryable"));
    })
}

async fn created_at(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        if let Some(moment) = text(data(seen), "created_at") {
            wrong.unless(shape::is_moment(moment), format!("created_at is {moment:?}"));
        }
    })
}

async fn unique_id(run: &mut ProbeRun) -> CheckResult {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for seen in &run.seen {
        if let Some(id) = text(data(seen), "error_id") {
            *counts.entry(id.to_owned()).or_default() += 1;
        }
    }
    each(run, |seen, wrong| {
        let id = text(data(seen), "error_id").unwrap_or_default();
        let count = counts.get(id).copied().unwrap_or_default();
        wrong.unless(count <= 1, format!("{count} errors have the id {id:?}"));
    })
}

async fn problems(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let wanted = known(seen).is_some_and(is_validation) && seen.version == Version::V1_1;
        let count =
            shape::items(data(seen).get("details").unwrap_or(&Value::Null), "errors").count();
        wrong.unless(!wanted || count > 0, "a validation error has no details.errors");
    })
}
