//! Common parts of every answer: the capabilities, the envelope, the context, the release.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::json::{Value, json};

use super::answer::{TaskAnswer, refused};
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable_if, not_looked_at,
    not_looked_at_if, pass_if, verdict_of, warn,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, items, text};

/// Tools that check the release of a request, with their other arguments.
const VERSIONED: &[(&str, &str)] = &[
    ("get_products", r#"{"buying_mode": "wholesale"}"#),
    ("get_signals", r#"{"signal_spec": "probe"}"#),
    ("get_media_buys", "{}"),
    ("list_creatives", "{}"),
    ("get_adcp_capabilities", "{}"),
];

const WHY_VERSION: &str = "A buyer that speaks another release has to learn which one is spoken.";
const WHY_CONTEXT: &str = "A buyer finds its own work again by the context.";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.capabilities.answered", Seller, Must, ["D-6"], "AdCP capabilities",
    "get_adcp_capabilities is offered and answers", "Everything a buyer asks depends on what it says.",
    "offer get_adcp_capabilities to everybody who may ask at all" => answered();
    "adcp.capabilities.versions", Seller, Must, ["D-6", "I-5"], "AdCP capabilities, adcp",
    "The capabilities list the releases spoken, as VERSION.RELEASE", WHY_VERSION,
    "list supported_versions such as 3.1, never 3 or 3.1.0" => versions();
    "adcp.capabilities.idempotency", Seller, Must, ["E-4"], "AdCP capabilities, adcp.idempotency",
    "The capabilities say whether a request may be sent again, and for how long",
    "Without it no buyer can repeat a purchase safely.",
    "declare adcp.idempotency with supported, and replay_ttl_seconds of 3600 to 604800" => idempotency();
    "adcp.envelope.status", Seller, Must, ["F-4"], "AdCP protocol envelope",
    "Every answer has a status", "Buyers switch on it before they look at anything else.",
    "send status with every answer" => status();
    "adcp.envelope.structured", Seller, Must, ["L-3"], "AdCP transports",
    "The answer is structured content, or a data part, and not text alone",
    "Buyers do not look for JSON in prose.",
    "fill in structuredContent, or send a data part" => structured();
    "adcp.envelope.flat", Mcp, Should, ["F-4"], "AdCP protocol envelope, transport serialization",
    "The payload's members stand beside the envelope's, not in a payload of their own",
    "Buyers look for products, not for payload.products.",
    "put the members of the payload beside status" => flat();
    "adcp.context.result", Seller, Must, ["X-2"], "AdCP context",
    "A result carries the request's context, unchanged", WHY_CONTEXT,
    "copy context to every answer" => context_of_result();
    "adcp.context.error", Seller, Must, ["X-2"], "AdCP context",
    "An error carries the request's context, unchanged", WHY_CONTEXT,
    "copy context to errors too" => context_of_error();
    "adcp.version.unsupported", Seller, Must, ["D-6"], "AdCP versioning",
    "A release of another major version is refused with VERSION_UNSUPPORTED", WHY_VERSION,
    "compare adcp_version before anything else" => unsupported();
    "adcp.version.details", Seller, Must, ["D-6"], "AdCP error details, version-unsupported",
    "VERSION_UNSUPPORTED lists the releases that are spoken", WHY_VERSION,
    "send details.supported_versions as in the capabilities" => unsupported_details();
    "adcp.version.minor", Seller, Must, ["D-6"], "AdCP versioning",
    "A later release of the same major version is answered in one that is spoken", WHY_VERSION,
    "downshift to the highest release that is not above the buyer's" => minor();
];

async fn answered(run: &mut ProbeRun) -> CheckResult {
    let answer = run.tool("get_adcp_capabilities", json!({})).await?;
    pass_if(answer.is_success(), format!("expected capabilities, and got {}", answer.describe()))
}

async fn versions(run: &mut ProbeRun) -> CheckResult {
    let answer = run.capabilities().await?;
    let adcp = answer.payload.get("adcp").cloned().unwrap_or_default();
    let Some(listed) = adcp.get("supported_versions") else {
        if items(&adcp, "major_versions").any(Value::is_u64) {
            return warn("only major_versions, which is retired");
        }
        return fail("adcp has neither supported_versions nor major_versions");
    };
    let mut wrong = ShapeProblems::default();
    releases(listed, "supported_versions", &mut wrong);
    verdict_of(&wrong.0)
}

/// Returns true for `VERSION.RELEASE`, with or without a pre-release tag: `3.1`, `3.2-beta`.
pub(super) fn is_release(release: &str) -> bool {
    let (numbers, tag) = match release.split_once('-') {
        Some((numbers, tag)) => (numbers, Some(tag)),
        None => (release, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let letters = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
    numbers.split_once('.').is_some_and(|(version, minor)| digits(version) && digits(minor))
        && tag.is_none_or(|tag| !tag.is_empty() && tag.bytes().all(letters))
}

/// Checks that a value is a non-empty list of releases.
pub(super) fn releases(listed: &Value, name: &str, wrong: &mut ShapeProblems) {
    let all = listed.as_array().map(Vec::as_slice).unwrap_or_default();
    wrong.unless(!all.is_empty(), format!("{name} lists nothing"));
    for release in all {
        let good = release.as_str().is_some_and(is_release);
        wrong.unless(good, format!("{name} has {release}, which is no VERSION.RELEASE"));
    }
}

async fn idempotency(run: &mut ProbeRun) -> CheckResult {
    const BOUNDS: std::ops::RangeInclusive<u64> = 3600..=604_800;
    let answer = run.capabilities().await?;
    let declared = answer.payload.pointer("/adcp/idempotency").cloned().unwrap_or_default();
    let lasts = declared.get("replay_ttl_seconds").and_then(Value::as_u64);
    match declared.get("supported").and_then(Value::as_bool) {
        Some(true) if lasts.is_some_and(|seconds| BOUNDS.contains(&seconds)) => {
            Ok(CheckVerdict::Pass)
        }
        Some(true) => fail(format!("replay_ttl_seconds is {lasts:?}, not 3600 to 604800")),
        Some(false) => Ok(CheckVerdict::Pass),
        None => fail("adcp.idempotency does not say whether it is supported"),
    }
}

async fn status(run: &mut ProbeRun) -> CheckResult {
    let answer = run.capabilities().await?;
    let body = answer.payload;
    pass_if(
        matches!(text(&body, "status"), Some(status) if !status.is_empty()),
        "the answer of get_adcp_capabilities has no status",
    )
}

async fn structured(run: &mut ProbeRun) -> CheckResult {
    let answer = run.capabilities().await?;
    pass_if(answer.is_structured, "the answer is text alone")
}

async fn flat(run: &mut ProbeRun) -> CheckResult {
    let answer = run.capabilities().await?;
    let nested = answer.payload.get("payload").is_some_and(Value::is_object);
    if nested { fail("the answer has a member payload") } else { Ok(CheckVerdict::Pass) }
}

fn echoes(answer: &TaskAnswer, sent: &Value) -> CheckResult {
    match answer.payload.get("context") {
        Some(context) if context == sent => Ok(CheckVerdict::Pass),
        Some(_) => fail("the context came back changed"),
        None => fail(format!("no context came back: {}", answer.describe())),
    }
}

/// Returns a context with values that a careless copy changes: order, numbers, null, letters beyond ASCII.
fn sample() -> Value {
    json!({"z": 1, "a": {"n": null, "f": 0.1, "text": "Zürich ✓", "list": []}})
}

async fn context_of_result(run: &mut ProbeRun) -> CheckResult {
    let answer = run.tool("get_adcp_capabilities", json!({"context": sample()})).await?;
    not_looked_at_if(
        answer.is_refusal(),
        format!("get_adcp_capabilities gives {}", answer.describe()),
    )?;
    echoes(&answer, &sample())
}

async fn refuse(run: &mut ProbeRun, context: Option<Value>) -> Result<TaskAnswer, CheckVerdict> {
    let (tool, mut arguments) = run.first_of(VERSIONED).await?;
    if let Some(members) = arguments.as_object_mut() {
        members.insert("adcp_version".to_owned(), "99.0".into());
        members.extend(context.map(|context| ("context".to_owned(), context)));
    }
    run.tool(tool, arguments).await
}

async fn context_of_error(run: &mut ProbeRun) -> CheckResult {
    let answer = refuse(run, Some(sample())).await?;
    if answer.is_success() {
        // The missing refusal is reported by `adcp.version.unsupported`.
        return not_looked_at("nothing was refused");
    }
    echoes(&answer, &sample())
}

async fn unsupported(run: &mut ProbeRun) -> CheckResult {
    let answer = refuse(run, None).await?;
    refused(&answer, &[AdcpCode::VersionUnsupported])
}

async fn unsupported_details(run: &mut ProbeRun) -> CheckResult {
    let answer = refuse(run, None).await?;
    let holds = refused(&answer, &[AdcpCode::VersionUnsupported]).is_err();
    not_looked_at_if(holds, "there is no VERSION_UNSUPPORTED")?;
    let details =
        answer.error().and_then(|error| error.get("details")).cloned().unwrap_or_default();
    let mut wrong = ShapeProblems::default();
    let listed = details.get("supported_versions").unwrap_or(&Value::Null);
    releases(listed, "details.supported_versions", &mut wrong);
    verdict_of(&wrong.0)
}

async fn minor(run: &mut ProbeRun) -> CheckResult {
    let holds = !run.releases().await?.iter().any(|release| release.starts_with("3."));
    not_applicable_if(holds, "the seller does not say that it speaks AdCP 3")?;
    let answer = run.tool("get_adcp_capabilities", json!({"adcp_version": "3.99"})).await?;
    pass_if(answer.is_success(), format!("adcp_version 3.99 gives {}", answer.describe()))
}
