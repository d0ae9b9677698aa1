//! Error objects of all refusals: their place, their members, and information that they must not reveal (L, T, O, Z).

use tradepost_adcp::error::{AdcpCode, ErrorSource, MAX_BYTES, MAX_CODE, RETRY_AFTER, Recovery};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use super::answer::TaskAnswer;
use super::seller::{SeenRefusal, SellerBinding};
use crate::check::{Check, CheckResult, CheckVerdict, checks, fail, skip_if};
use crate::leak;
use crate::run::ProbeRun;
use crate::shape::{self, ShapeProblems, member, text};

const WHY: &str = "Buyer agents act on this object alone; what it lacks they cannot know.";
const WHY_LAYERS: &str = "Some buyers read the envelope and some the payload.";
const WHY_LEAK: &str = "It tells attackers how the seller is built, and models take it for orders.";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.error.object", End, Must, ["L-1", "O-1", "T-6"], "AdCP errors, error structure",
    "Every refusal has an error object with a code and a message", WHY,
    "send adcp_error with code and message, also from what stands in front of the tools" => object();
    "adcp.error.layers", End, Should, ["T-1", "T-5", "R-3"], "AdCP errors, two layers",
    "A refusal stands both in adcp_error and in errors", WHY_LAYERS,
    "write the same object to both" => layers();
    "adcp.error.layers-agree", End, Must, ["T-1"], "AdCP errors, two layers",
    "The two say the same", WHY_LAYERS, "write the same object to both" => layers_agree();
    "adcp.error.layer-kinds", End, Must, ["T-3"], "AdCP errors, two layers",
    "adcp_error is one object, and errors is a list", WHY_LAYERS,
    "send an object and a list, also where there is one error" => layer_kinds();
    "adcp.error.marker", End, Must, ["T-2", "T-6"], "AdCP errors, transport binding",
    "Whatever carries adcp_error is marked as failed by the transport, and has the status failed",
    "A buyer takes a result for a result, whatever is in it.",
    "set isError, or fail the task, and set status to failed" => marker();
    "adcp.error.text", End, Should, ["L-3"], "MCP tools, structured content",
    "A refusal over MCP stands as JSON in the text too", "Older clients show the text to the model and nothing else.",
    "write the structured content to the first text as well" => text_layer();
    "adcp.error.text-agrees", End, Must, ["T-6"], "AdCP transport errors, detection order",
    "The JSON in the text says the same as the structured content", WHY_LAYERS,
    "write the text from the structured content" => text_agrees();
    "adcp.error.pre-dispatch", End, Must, ["A-6"], "AdCP transport errors, JSON-RPC codes",
    "An AdCP error in a JSON-RPC error has the number of its code",
    "Infrastructure sees the number alone.",
    "use -32027, -32028 and -32029 for SERVICE_UNAVAILABLE, AUTH_MISSING and RATE_LIMITED" => pre_dispatch();
    "adcp.error.code", End, Must, ["O-1", "D-7"], "AdCP errors, error codes",
    "Codes are text in UPPER_SNAKE_CASE, of 64 characters at most; own ones are X_VENDOR_CODE", WHY,
    "use the published codes, and a vendor's prefix for others" => code();
    "adcp.error.published", End, Should, ["D-6", "D-7"], "AdCP errors, error codes",
    "Codes are published ones, or a vendor's", "No buyer knows what to do about any other.",
    "use the published code that fits best" => published();
    "adcp.error.recovery", End, Must, ["O-2"], "AdCP errors, recovery classification",
    "Every error has a recovery, and it is one of the three", "A buyer that does not know the code goes by it.",
    "set recovery to transient, correctable or terminal" => recovery();
    "adcp.error.recovery-agrees", End, Should, ["D-2"], "AdCP errors, error-code enumMetadata",
    "The recovery is the one that is published for the code", "Buyers plan by the published one.",
    "use the published class" => recovery_agrees();
    "adcp.error.retry-after", End, Must, ["O-3"], "AdCP errors, retry_after",
    "retry_after is a number from 1 to 3600", "Buyers bring it into these bounds and so wait at another time.",
    "round up, then bring it into the bounds" => retry_after();
    "adcp.error.bytes", End, Must, ["T-6"], "AdCP transport errors, detection order",
    "An error object is at most 4096 bytes long", "Buyers have to discard larger ones.",
    "list fewer issues, and leave the schema's parts out of details" => bytes();
    "adcp.error.lengths", End, Should, ["Z-3"], "AdCP transport errors, security",
    "message is at most 256 bytes long, and suggestion 512", "Buyers cut off what is longer.",
    "say it shorter" => lengths();
    "adcp.error.source", End, Must, ["D-8"], "AdCP error object, source",
    "sdk_id is there exactly where source is sdk", "It says whose fault it is.",
    "leave both out of your own errors" => source();
    "adcp.error.leak", End, Must, ["Z-4", "Y-2"], "AdCP transport errors, security",
    "No error shows stacks, paths, SQL, addresses or secrets", WHY_LEAK,
    "answer with a generic text and log the rest" => leaks();
    "adcp.error.credential", End, Must, ["A-10"], "AdCP errors, authentication",
    "No answer repeats the caller's credential", "Answers are logged and shown to models.",
    "never echo headers" => credential();
];

/// Checks every refusal, and shows those with problems.
pub(super) fn each(
    run: &mut ProbeRun,
    look: impl Fn(&SeenRefusal, &mut ShapeProblems),
) -> CheckResult {
    let found = run
        .seller
        .seen
        .iter()
        .map(|seen| (seen.exchange.clone(), shape::wrong(|wrong| look(seen, wrong))));
    let found = found.collect();
    run.check_refusals(found)
}

/// Checks every error object; `place` names it.
pub(super) fn each_error(
    run: &mut ProbeRun,
    look: impl Fn(&Value, &str, &mut ShapeProblems),
) -> CheckResult {
    each(run, |seen, wrong| {
        for error in seen.answer.errors() {
            let code = member(error, "code");
            let place = if code.is_empty() { "an error" } else { code };
            look(error, place, wrong);
        }
    })
}

async fn object(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let Some(error) = seen.answer.error() else {
            wrong.add(format!("{} gives {}", seen.tool, seen.answer.describe()));
            return;
        };
        wrong.text(error, "code", "an error");
        wrong.text(error, "message", "an error");
    })
}

/// Returns true when the task ran and failed, so that there is a payload beside the envelope.
fn has_payload(answer: &TaskAnswer) -> bool {
    answer.protocol.is_none()
        && answer.payload.is_object()
        && (200..300).contains(&answer.response.status)
}

async fn layers(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        if !has_payload(&seen.answer) || seen.answer.error().is_none() {
            return;
        }
        let in_envelope = seen.answer.envelope_error().is_some();
        wrong.unless(in_envelope, format!("{} gives no adcp_error", seen.tool));
        let listed = !seen.answer.listed().is_empty();
        wrong.unless(listed, format!("{} gives no errors", seen.tool));
    })
}

async fn layers_agree(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let listed = seen.answer.listed();
        let Some(error) = seen.answer.envelope_error() else {
            return;
        };
        let Some(first) = listed.first() else {
            return;
        };
        for name in ["code", "message", "recovery", "field", "retry_after", "details"] {
            let same = error.get(name) == first.get(name);
            wrong.unless(same, format!("{}: adcp_error and errors[0] differ in {name}", seen.tool));
        }
    })
}

async fn layer_kinds(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let payload = &seen.answer.payload;
        let fine = seen.answer.envelope_error().is_none_or(Value::is_object);
        wrong.unless(fine, format!("{}: adcp_error is no object", seen.tool));
        let fine = payload.get("errors").is_none_or(Value::is_array);
        wrong.unless(fine, format!("{}: errors is no list", seen.tool));
    })
}

async fn marker(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let answer = &seen.answer;
        if !has_payload(answer) || answer.payload.get("adcp_error").is_none() {
            return;
        }
        let how = match answer.binding {
            SellerBinding::Mcp => "without isError",
            SellerBinding::A2a => "in a task that did not fail",
        };
        wrong.unless(answer.is_failed, format!("{}: adcp_error {how}", seen.tool));
        let status = text(&answer.payload, "status");
        let holds = status == Some("failed");
        wrong.unless(holds, format!("{}: adcp_error with the status {status:?}", seen.tool));
    })
}

fn is_structured_mcp(answer: &TaskAnswer) -> bool {
    answer.binding == SellerBinding::Mcp
        && answer.is_structured
        && answer.envelope_error().is_some()
}

async fn text_layer(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let fine = !is_structured_mcp(&seen.answer) || seen.answer.text_layer().is_some();
        wrong.unless(fine, format!("{} gives no JSON in its text", seen.tool));
    })
}

async fn text_agrees(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let answer = &seen.answer;
        let Some(layer) = answer.text_layer().filter(|_| is_structured_mcp(answer)) else { return };
        let same = layer.get("adcp_error") == answer.payload.get("adcp_error");
        wrong.unless(
            same,
            format!("{}: the text's adcp_error is not that of structuredContent", seen.tool),
        );
    })
}

async fn pre_dispatch(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let Some(protocol) = &seen.answer.protocol else { return };
        let number = protocol.get("code").and_then(Value::as_i64);
        let name = seen.answer.code().unwrap_or_default();
        let row = AdcpCode::from_name(name).and_then(|code| code.jsonrpc());
        if let Some(expected) = row.filter(|_| seen.answer.binding == SellerBinding::Mcp) {
            let holds = number == Some(expected.into());
            wrong.unless(holds, format!("{name} came with {number:?}, not {expected}"));
        }
        let own = AdcpCode::ALL.iter().find(|code| code.jsonrpc().map(i64::from) == number);
        if let Some(code) = own.filter(|_| number.is_some()) {
            // A request pinned to an older release gets the older name (`D-6`).
            let older = code.before().is_some_and(|before| before.name() == name);
            let holds = older || name == code.name();
            wrong.unless(holds, format!("{number:?} came with {name:?}, not {code}"));
        }
    })
}

/// Returns true for `UPPER_SNAKE_CASE`.
fn is_code(code: &str) -> bool {
    code.starts_with(|c: char| c.is_ascii_uppercase())
        && code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Returns true for `X_{VENDOR}_{CODE}`.
// The form is that of D-7.
fn is_vendors(code: &str) -> bool {
    let Some((vendor, name)) = code.strip_prefix("X_").and_then(|rest| rest.split_once('_')) else {
        return false;
    };
    let starts = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
    let vendor_fits = (2..=20).contains(&vendor.len()) && is_code(vendor);
    vendor_fits && starts(name) && (2..=40).contains(&name.len()) && is_code(name)
}

async fn code(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, _, wrong| {
        let Some(given) = error.get("code") else { return };
        let Some(code) = given.as_str() else {
            wrong.add(format!("the code {given} is no text"));
            return;
        };
        wrong.unless(code.chars().count() <= MAX_CODE, format!("{code} is too long"));
        wrong.unless(is_code(code), format!("{code:?} is not in upper snake case"));
        let vendors = !code.starts_with("X_") || is_vendors(code);
        wrong.unless(vendors, format!("{code} is no X_VENDOR_CODE"));
    })
}

async fn published(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, _, wrong| {
        let code = member(error, "code");
        let known = code.is_empty() || AdcpCode::from_name(code).is_some() || is_vendors(code);
        wrong.unless(known, format!("{code:?} is not published"));
    })
}

async fn recovery(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        match error.get("recovery") {
            None => wrong.add(format!("{place} has no recovery")),
            Some(given) => {
                let known = given.as_str().and_then(Recovery::from_name).is_some();
                wrong.unless(known, format!("{place} has the recovery {given}"));
            }
        };
    })
}

async fn recovery_agrees(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let row = AdcpCode::from_name(member(error, "code")).map(AdcpCode::recovery);
        let given = Recovery::from_name(member(error, "recovery"));
        if let Some(row) = row
            && let Some(given) = given
        {
            wrong.unless(row == given, format!("{place} is {given}, and published as {row}"));
        }
    })
}

async fn retry_after(run: &mut ProbeRun) -> CheckResult {
    let least = f64::from(*RETRY_AFTER.start());
    let most = f64::from(*RETRY_AFTER.end());
    each_error(run, |error, place, wrong| {
        let Some(given) = error.get("retry_after") else { return };
        let fits = given.as_f64().is_some_and(|seconds| (least..=most).contains(&seconds));
        wrong.unless(fits, format!("{place} has the retry_after {given}"));
    })
}

async fn bytes(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let length = error.to_string().len();
        wrong.unless(length <= MAX_BYTES, format!("{place} is {length} bytes long"));
    })
}

async fn lengths(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        for (name, most) in [("message", 256), ("suggestion", 512)] {
            let length = member(error, name).len();
            wrong.unless(length <= most, format!("the {name} of {place} has {length} bytes"));
        }
    })
}

async fn source(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let by_sdk = member(error, "source") == ErrorSource::Sdk.name();
        let named = error.get("sdk_id").is_some();
        wrong.unless(by_sdk == named, format!("{place} has only one of source sdk and sdk_id"));
    })
}

/// Further texts that an error object must not contain, each with its meaning.
const SIGNS: &[(&str, &str)] = &[
    ("SELECT ", "SQL"),
    ("INSERT INTO ", "SQL"),
    ("postgres://", "a connection string"),
    ("postgresql://", "a connection string"),
    ("mysql://", "a connection string"),
    ("mongodb", "a connection string"),
    ("redis://", "a connection string"),
    ("ECONNREFUSED", "an address within"),
    ("127.0.0.1:", "an address within"),
    ("localhost:", "an address within"),
    (".internal", "an address within"),
    ("\n    at ", "a stack"),
    ("Bearer ey", "a token"),
];

async fn leaks(run: &mut ProbeRun) -> CheckResult {
    each(run, |seen, wrong| {
        let texts = seen.answer.texts.iter().map(String::as_str);
        let protocol = seen.answer.protocol.as_ref();
        let errors = seen.answer.errors().into_iter().chain(protocol);
        let shown: Vec<String> = errors.flat_map(strings).collect();
        for text in texts.chain(shown.iter().map(String::as_str)) {
            let more = SIGNS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, what)| *what);
            if let Some(what) = leak::sign(text).or(more) {
                wrong.add(format!("{} shows {what}", seen.tool));
            }
        }
    })
}

/// Returns every text in a value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

async fn credential(run: &mut ProbeRun) -> CheckResult {
    skip_if(run.options.token.is_none(), "no credential was sent; give one with --token")?;
    let echoes = run.seller.echoes.clone();
    if echoes.is_empty() {
        return Ok(CheckVerdict::Pass);
    }
    for exchange in echoes.into_iter().take(3) {
        run.cite(exchange);
    }
    fail("an answer has the bearer token in it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_from_what_is_none() {
        for (code, is, vendors) in [
            ("RATE_LIMITED", true, false),
            ("X_ACME_NO_STOCK", true, true),
            ("X_ACME", true, false),
            ("X_A_B", true, false),
            ("rate_limited", false, false),
            ("RATE-LIMITED", false, false),
            ("_RATE", false, false),
            ("", false, false),
        ] {
            assert_eq!((is_code(code), is_vendors(code)), (is, vendors), "{code}");
        }
    }
}
