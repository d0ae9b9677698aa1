//! Envelope of an answer (R-ENV).

use tradepost_aap::Skill;
use tradepost_document::json::{Value, json};

use super::ask::{DealerAnswer, request};
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, not_applicable_if,
    or_not_looked_at, pass_if, verdict_of, warn,
};
use crate::run::{Caller, ProbeRun, RequestOverrides};
use crate::shape::{ShapeProblems, items, set, text};

const WHY: &str = "A buyer agent reads the first data part of one message, and nothing else.";

pub(super) const CHECKS: &[Check] = checks![
    "aap.answer.message", Version, Must, ["R-ENV-04"], "AAP json-rpc binding",
    "The result is {\"message\": …}", "Both official clients fail on a bare message.",
    "wrap the message" => message();
    "aap.answer.role", Version, Must, ["R-ENV-01"], "AAP A2A profile",
    "The message has the role ROLE_AGENT", "The official JavaScript client does not recognise others.",
    "write enums with their full names" => role();
    "aap.answer.message-id", Version, Must, ["R-ENV-03"], "AAP json-rpc binding",
    "Each answer has a messageId of its own", "Two messages with one id are one message to a client.",
    "make a new messageId for each answer" => message_id();
    "aap.answer.data-part", Version, Must, ["R-ENV-05", "R-ENV-10"], "AAP json-rpc binding",
    "The answer has one data part, of the response type of the skill", WHY,
    "answer with exactly one part that has data" => data_part();
    "aap.answer.closed", Version, Must, ["R-ENV-10"], "AAP aap-message schema",
    "The payload has type, data and message, and nothing else", WHY,
    "move everything else into data, where the schema has it" => closed();
    "aap.answer.media-type", Version, Should, ["R-ENV-08"], "AAP skills.yaml",
    "The part names AAP's media type of the answer", "Routers decide by it without reading the payload.",
    "set mediaType to application/vnd.autoagent.…-response+json" => media_type();
    "aap.answer.sentence", Version, Must, ["R-ENV-10"], "AAP aap-message schema",
    "The sentence for people has 2,000 characters at most", "Buyer agents show it as it is.",
    "keep message short" => sentence();
    "aap.answer.context", Version, Should, ["R-ENV-01"], "A2A §3.4.1",
    "The answer names a context", "Without it a conversation cannot go on.",
    "return the contextId of the request, or make one" => context();
    "aap.ask.text-ignored", Version, Must, ["R-ENV-06"], "AAP A2A profile",
    "Text beside the data part changes nothing", "People's words must not override what was agreed in data.",
    "derive nothing from text parts" => text_ignored();
    "aap.ask.no-extension-header", Version, Should, ["R-ENV-02"], "AAP json-rpc binding",
    "A request without A2A-Extensions is answered", "AAP's own examples send none.",
    "take the highest version where none is named" => no_extension_header();
    "aap.ask.anonymous", Version, Must, ["R-IS-01", "R-DI-04"], "AAP behavior rules",
    "Reading needs neither customer nor consent nor credential", "Buyers look around before they say who they are.",
    "ask for credentials only when the card declares them" => anonymous();
    "aap.ask.unknown-members", Version, Should, ["R-ENV-01"], "A2A §5.7",
    "Members of the envelope that A2A has and AAP does not use are ignored", "Clients add metadata.",
    "ignore metadata and extensions of the message" => unknown_members();
];

/// Calls a skill that only reads, and returns it with the message of the answer.
async fn answer(run: &mut ProbeRun) -> Result<(Skill, Value), CheckVerdict> {
    let (skill, answer) = read(run).await?;
    let message = answer.reply.result().ok().and_then(|result| result.get("message")).cloned();
    let message = or_not_looked_at(
        message,
        format!("there is no message to look at: {}", answer.describe()),
    )?;
    Ok((skill, message))
}

fn reader(run: &ProbeRun) -> Result<Skill, CheckVerdict> {
    let skills = [Skill::DealerInformation, Skill::InventoryFacets, Skill::InventorySearch];
    let offered = skills.into_iter().find(|skill| run.offers(*skill).is_ok());
    or_not_looked_at(
        offered,
        "the dealer offers no skill that only reads, and nothing else was sent",
    )
}

async fn read(run: &mut ProbeRun) -> Result<(Skill, DealerAnswer), CheckVerdict> {
    let skill = reader(run)?;
    Ok((skill, run.skill(skill, "{}").await?))
}

async fn message(run: &mut ProbeRun) -> CheckResult {
    let (_, answer) = read(run).await?;
    let result = answer.reply.result()?;
    pass_if(result.get("message").is_some_and(Value::is_object), "the result has no message")
}

async fn role(run: &mut ProbeRun) -> CheckResult {
    let (_, message) = answer(run).await?;
    let given = text(&message, "role");
    pass_if(matches!(given, Some("ROLE_AGENT")), format!("the role is {given:?}"))
}

async fn message_id(run: &mut ProbeRun) -> CheckResult {
    let (_, first) = answer(run).await?;
    // Read now, because the next call replaces the last exchange.
    let sent = run.last().map(|exchange| exchange.request.body.clone()).unwrap_or_default();
    let (_, second) = answer(run).await?;
    let id = |message: &Value| text(message, "messageId").unwrap_or_default().to_owned();
    let mut wrong = ShapeProblems::default();
    wrong.unless(!id(&first).is_empty(), "there is no messageId");
    wrong.unless(id(&first) != id(&second), "two answers have one messageId");
    let ours = format!("\"messageId\":\"{}\"", id(&first));
    let holds = id(&first).is_empty() || !sent.contains(&ours);
    wrong.unless(holds, "the answer has the id of the question");
    verdict_of(&wrong.0)
}

async fn data_part(run: &mut ProbeRun) -> CheckResult {
    let (skill, message) = answer(run).await?;
    let parts: Vec<_> = items(&message, "parts").filter_map(|part| part.get("data")).collect();
    let mut wrong = ShapeProblems::default();
    wrong.unless(parts.len() == 1, format!("there are {} data parts", parts.len()));
    for data in parts {
        let kind = text(data, "type").unwrap_or_default();
        wrong.unless(kind == skill.response_type(), format!("its type is {kind:?}"));
        wrong.unless(data.get("data").is_some_and(Value::is_object), "it has no data");
    }
    let old = items(&message, "parts").any(|part| part.get("kind").is_some());
    wrong.unless(!old, "a part has kind, as in A2A 0.3");
    verdict_of(&wrong.0)
}

async fn closed(run: &mut ProbeRun) -> CheckResult {
    let (_, message) = answer(run).await?;
    let mut wrong = ShapeProblems::default();
    for data in items(&message, "parts").filter_map(|part| part.get("data")) {
        wrong.closed(data, &["type", "data", "message"], "the payload");
    }
    verdict_of(&wrong.0)
}

async fn media_type(run: &mut ProbeRun) -> CheckResult {
    let (skill, message) = answer(run).await?;
    let mut parts = items(&message, "parts").filter(|part| part.get("data").is_some());
    let kind = parts.find_map(|part| text(part, "mediaType")).unwrap_or_default().to_owned();
    match kind.as_str() {
        kind if kind == skill.response_media_type() => Ok(CheckVerdict::Pass),
        "application/json" => warn("it is application/json"),
        other => fail(format!("it is {other:?}")),
    }
}

async fn sentence(run: &mut ProbeRun) -> CheckResult {
    let (_, message) = answer(run).await?;
    let mut payloads = items(&message, "parts").filter_map(|part| part.get("data"));
    match payloads.find_map(|payload| payload.get("message")) {
        None => not_applicable("the answer has no sentence"),
        Some(Value::String(text)) if text.chars().count() <= 2000 => Ok(CheckVerdict::Pass),
        Some(_) => fail("message is no text of 2,000 characters at most"),
    }
}

async fn context(run: &mut ProbeRun) -> CheckResult {
    let (_, message) = answer(run).await?;
    pass_if(
        matches!(text(&message, "contextId"), Some(id) if !id.is_empty()),
        "there is no contextId",
    )
}

async fn text_ignored(run: &mut ProbeRun) -> CheckResult {
    run.offers(Skill::InventorySearch)?;
    let total = |answer: &DealerAnswer| Ok::<_, CheckVerdict>(answer.data()?.get("total").cloned());
    let payload = request(Skill::InventorySearch, r#"{"pagination": {"limit": 1}}"#);
    let plain = total(&run.send_payload(&payload).await?)?;
    let parts = json!([
        run.part(&payload),
        {"text": "Only show vehicles of the make Edsel, and none below 900000 dollars."},
    ]);
    let with_text = total(&run.send_parts(parts, Caller::First).await?)?;
    pass_if(plain == with_text, "the text changed the result")
}

async fn no_extension_header(run: &mut ProbeRun) -> CheckResult {
    let skill = reader(run)?;
    let parts = json!([run.part(&request(skill, "{}"))]);
    run.send_with_overrides(RequestOverrides::default(), None, parts).await?.data()?;
    Ok(CheckVerdict::Pass)
}

async fn anonymous(run: &mut ProbeRun) -> CheckResult {
    let secured = items(&run.card_json, "securityRequirements").count() > 0;
    not_applicable_if(secured, "the card requires a credential")?;
    let skill = reader(run)?;
    let parts = json!([run.part(&request(skill, "{}"))]);
    run.send_parts(parts, Caller::Anonymous).await?.data()?;
    Ok(CheckVerdict::Pass)
}

async fn unknown_members(run: &mut ProbeRun) -> CheckResult {
    let skill = reader(run)?;
    let mut part = run.part(&request(skill, "{}"));
    set(&mut part, "/metadata", json!({"probe": true}));
    set(&mut part, "/filename", json!("probe.json"));
    run.send_parts(json!([part]), Caller::First).await?.data()?;
    Ok(CheckVerdict::Pass)
}
