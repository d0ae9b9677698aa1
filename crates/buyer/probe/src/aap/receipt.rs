//! Leads that a dealer accepts; sent only when leads are allowed.
// Covers R-LD-14 to R-LD-26.

use tradepost_aap::error::AapCode;
use tradepost_document::format;
use tradepost_document::json::{Value, json};

use super::lead::changed;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, not_looked_at,
    not_looked_at_if, pass_if, verdict_of, warn,
};
use crate::run::ProbeRun;
use crate::shape::{self, ShapeProblems, items, text};

const WHY: &str = "The receipt is all that the customer has.";
const WHY_RETRY: &str =
    "A buyer whose answer got lost sends again, and must not make two leads of one.";
const WHY_BOOKING: &str = "Only a confirmed appointment is one; everything else is a hope.";

pub(super) const CHECKS: &[Check] = checks![
    "aap.receipt.answer", Version, Must, ["R-LD-20"], "AAP lead-submit schema",
    "A valid lead is taken, with an id and a status", WHY,
    "answer lead_id and received, duplicate or rejected" => answer();
    "aap.receipt.closed", Version, Must, ["R-LD-20"], "AAP lead-submit schema",
    "A receipt has no member that the schema does not have", "Buyers that validate refuse the whole answer.",
    "send lead_id, status, appointment and dealer" => closed();
    "aap.receipt.next-step", Version, Should, ["R-LD-18"], "AAP behavior rules",
    "A receipt says what happens next", "Buyers show it to their users.",
    "write a short message" => next_step();
    "aap.receipt.replay", Version, Must, ["R-LD-15", "E-104"], "AAP lead-submit schema",
    "The same lead with the same key gives the same id", WHY_RETRY,
    "remember keys for a day, and answer as the first time" => replay();
    "aap.receipt.replay-status", Version, Should, ["R-LD-15"], "AAP lead-submit schema",
    "The same lead with the same key gives the same status", WHY_RETRY,
    "answer as the first time" => replay_status();
    "aap.receipt.conflict", Version, Must, ["R-LD-16", "E-105"], "AAP errors, IDEMPOTENCY_CONFLICT",
    "Another lead with the same key is IDEMPOTENCY_CONFLICT", "One of the two would be lost.",
    "compare the payload with the remembered one" => conflict();
    "aap.receipt.duplicate", Version, Should, ["R-LD-17"], "AAP behavior rules",
    "The same lead in the same conversation, without a key, is a duplicate", "Two salespeople would call.",
    "look for an equal lead of the last day" => duplicate();
    "aap.receipt.requested", Version, Should, ["R-LD-24", "R-LD-22"], "AAP behavior rules",
    "An appointment without a time is requested", WHY_BOOKING,
    "answer requested, and call back" => requested();
    "aap.receipt.appointment", Version, Must, ["R-LD-21", "R-LD-23"], "AAP lead-submit schema",
    "confirmed_at comes with confirmed alone, and proposed_times with proposed alone", WHY_BOOKING,
    "write exactly what belongs to the status" => appointment();
    "aap.receipt.phone", Version, Should, ["R-LD-26"], "AAP behavior rules",
    "A receipt of an appointment has the dealer's telephone number", "Who is late wants to call.",
    "write dealer.phone in E.164" => phone();
];

/// Sends a lead, and returns the data and the payload of the answer.
async fn submit(
    run: &mut ProbeRun,
    changes: &[(&str, &str)],
) -> Result<(Value, Value), CheckVerdict> {
    run.may_send_leads()?;
    let lead = changed(run.valid_lead(), changes);
    let answer = run.send_payload(&lead).await?;
    Ok((answer.data()?, answer.payload.unwrap_or_default()))
}

/// Sends a lead for checks that need a receipt; another check reports that leads are not accepted.
async fn taken(
    run: &mut ProbeRun,
    changes: &[(&str, &str)],
) -> Result<(Value, Value), CheckVerdict> {
    match submit(run, changes).await {
        Err(CheckVerdict::Fail(why)) => {
            not_looked_at(format!("there is no receipt to look at: {why}"))
        }
        other => other,
    }
}

async fn answer(run: &mut ProbeRun) -> CheckResult {
    let (data, _) = submit(run, &[]).await?;
    let mut wrong = ShapeProblems::default();
    wrong.text(&data, "lead_id", "the receipt");
    let status = text(&data, "status").unwrap_or_default();
    let holds = matches!(status, "received" | "duplicate" | "rejected");
    wrong.unless(holds, format!("the status is {status:?}"));
    verdict_of(&wrong.0)
}

async fn closed(run: &mut ProbeRun) -> CheckResult {
    let (data, _) = taken(run, &[("/appointment", r#"{"appointment_type": "sales"}"#)]).await?;
    let mut wrong = ShapeProblems::default();
    wrong.closed(&data, &["lead_id", "status", "appointment", "dealer"], "the receipt");
    let part = |name| data.get(name).cloned().unwrap_or_default();
    let known = ["appointment_id", "status", "confirmed_at", "proposed_times"];
    wrong.closed(&part("appointment"), &known, "the appointment");
    verdict_of(&wrong.0)
}

async fn next_step(run: &mut ProbeRun) -> CheckResult {
    let (_, payload) = taken(run, &[]).await?;
    pass_if(
        matches!(text(&payload, "message"), Some(sentence) if !sentence.is_empty()),
        "there is no message",
    )
}

/// Sends one lead twice with one key, and returns both receipts.
async fn twice(run: &mut ProbeRun) -> Result<(Value, Value), CheckVerdict> {
    run.may_send_leads()?;
    let mut lead = run.valid_lead();
    shape::set(&mut lead, "/idempotency_key", json!(run.unique_id("key")));
    let first = run.send_payload(&lead).await?;
    let Ok(first) = first.data() else {
        return not_looked_at(format!("there is no receipt to look at: {}", first.describe()));
    };
    Ok((first, run.send_payload(&lead).await?.data()?))
}

async fn replay(run: &mut ProbeRun) -> CheckResult {
    let (first, second) = twice(run).await?;
    let holds = text(&first, "lead_id") == text(&second, "lead_id");
    pass_if(holds, "the second answer has another lead_id")
}

async fn replay_status(run: &mut ProbeRun) -> CheckResult {
    let (first, second) = twice(run).await?;
    match (text(&first, "status"), text(&second, "status")) {
        (one, other) if one == other => Ok(CheckVerdict::Pass),
        // errors.md gives this as an example (its contradiction is C-16).
        (_, Some("duplicate")) => warn("the second answer says duplicate"),
        (_, other) => fail(format!("the second answer says {other:?}")),
    }
}

async fn conflict(run: &mut ProbeRun) -> CheckResult {
    run.may_send_leads()?;
    let mut lead = run.valid_lead();
    shape::set(&mut lead, "/idempotency_key", json!(run.unique_id("key")));
    let first = run.send_payload(&lead).await?;
    let holds = first.data().is_err();
    not_looked_at_if(holds, format!("there is no receipt to look at: {}", first.describe()))?;
    shape::set(
        &mut lead,
        "/message",
        json!("Another automated conformance test. Please ignore it."),
    );
    run.send_payload(&lead).await?.refused(&[AapCode::IdempotencyConflict])
}

async fn duplicate(run: &mut ProbeRun) -> CheckResult {
    run.may_send_leads()?;
    let lead = run.valid_lead();
    let first = run.send_payload(&lead).await?;
    let holds = first.data().is_err();
    not_looked_at_if(holds, format!("there is no receipt to look at: {}", first.describe()))?;
    // An anonymous caller is recognised by its conversation, and by nothing that others know too.
    let second = run.send_follow_up(&first, &lead).await?.data()?;
    let given = text(&second, "status");
    pass_if(matches!(given, Some("duplicate")), format!("the status is {given:?}"))
}

/// Sends a lead with an appointment, and returns the receipt if it mentions the appointment.
async fn booked(run: &mut ProbeRun, appointment: &str) -> Result<Value, CheckVerdict> {
    let (data, _) = taken(run, &[("/appointment", appointment)]).await?;
    match data.get("appointment") {
        Some(_) => Ok(data),
        None => not_applicable("the dealer says nothing of the appointment"),
    }
}

async fn requested(run: &mut ProbeRun) -> CheckResult {
    let data = booked(run, r#"{"appointment_type": "sales"}"#).await?;
    let given = data.pointer("/appointment/status").and_then(Value::as_str);
    pass_if(
        matches!(given, Some("requested" | "proposed")),
        format!("the appointment is {given:?}"),
    )
}

async fn appointment(run: &mut ProbeRun) -> CheckResult {
    // At night at the dealer's, so that no one waits for a visitor.
    let at = run.options.now + jiff::SignedDuration::from_hours(24 * 3);
    let at = at.to_string().get(..10).map(|day| format!("{day}T09:30:00Z")).unwrap_or_default();
    let asked = json!({"appointment_type": "sales", "appointment_at": at}).to_string();
    let mut wrong = ShapeProblems::default();
    for asked in [asked.as_str(), r#"{"appointment_type": "sales"}"#] {
        let data = booked(run, asked).await?;
        let appointment = data.get("appointment").cloned().unwrap_or_default();
        let status = text(&appointment, "status").unwrap_or_default();
        let known = ["requested", "proposed", "confirmed", "rejected"];
        wrong.unless(known.contains(&status), format!("the appointment is {status:?}"));
        let confirmed = appointment.get("confirmed_at").is_some();
        wrong.unless(
            confirmed == (status == "confirmed"),
            format!("an appointment that is {status} has confirmed_at: {confirmed}"),
        );
        let times = items(&appointment, "proposed_times").count();
        let holds = (times > 0) == (status == "proposed");
        wrong.unless(holds, format!("an appointment that is {status} has {times} proposed times"));
        let good = |time: &Value| time.as_str().is_some_and(shape::is_moment);
        let all = items(&appointment, "proposed_times").all(good);
        wrong.unless(all, "a proposed time is no moment");
    }
    verdict_of(&wrong.0)
}

async fn phone(run: &mut ProbeRun) -> CheckResult {
    let data = booked(run, r#"{"appointment_type": "sales"}"#).await?;
    let given = data.pointer("/dealer/phone").and_then(Value::as_str);
    pass_if(
        matches!(given, Some(phone) if format::is_e164(phone)),
        format!("dealer.phone is {given:?}"),
    )
}
