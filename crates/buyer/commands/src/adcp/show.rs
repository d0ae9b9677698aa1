//! Answer of an AdCP seller: the payload unchanged on standard output, and on standard error the
//! task's state, warnings, and failed rows with advice.

use tradepost_adcp::error::AdcpError;
use tradepost_client::adcp::SellerAnswer;
use tradepost_client::outcome::{AdcpTaskStatus, FailedRow};
use tradepost_client::record::of_code;
use tradepost_client::recovery::{FailedAttempt, RetryBudget};
use tradepost_client::retry::{Recovered, RetryLimits};
use tradepost_client::text::{SENTENCE, WORD, bounded, plain};
use tradepost_document::catalog::WireName;
use tradepost_document::json::{Value, json};

use super::super::Outcome;
use super::super::attempts::{KEY, gave_up};
use super::super::output::{CommandFailure, GOES_ON, Output, WAITS, in_doubt};

/// Exit code when rows failed.
const ROWS: u8 = 9;

/// Maximum length of a seller's message in bytes (AdCP `Z-3`).
const MESSAGE: usize = 256;

/// Prints the answer and the next step; fails with an exit code when there is one.
pub(super) fn answered(
    recovered: Recovered<SellerAnswer>,
    retries: bool,
    output: Output,
) -> Outcome {
    let Recovered { mut answer, key, doubt, .. } = recovered;
    let lost = answer.gave_up.take();
    let failed: Vec<_> = answer.failed_rows().map(row).collect();
    let next = next(&answer);
    if !output.is_json() {
        // The payload is data, whatever the result is.
        output.document(&answer.payload);
        for again in &answer.again {
            output.document(&again.payload);
        }
        for warning in &answer.outcome.warnings {
            output.talk(format!("warning: {}", said(warning)));
        }
    }
    let again: Vec<_> = answer.again.iter().map(|again| &again.payload).collect();
    let mut facts = json!({
        "payload": answer.payload,
        "again": again,
        "status": standing(&answer),
        "failed_rows": answer.failed_rows().map(document).collect::<Vec<_>>(),
        "warnings": answer.outcome.warnings,
        "a2a_task_id": answer.a2a_task_id,
        "context_id": answer.context_id,
        KEY: key,
    });
    if let Some(facts) = facts.as_object_mut()
        && let Value::Object(doubt) = in_doubt(doubt.in_doubt())
    {
        facts.extend(doubt);
    }
    // Doubt about an earlier request is part of the failure, when there is one.
    let left = (lost.is_none() && doubt.in_doubt()).then(|| doubt.to_string());
    let failure = match (lost, next, failed.is_empty()) {
        (Some(lost), _, _) => Some(gave_up(retries, *lost)),
        (None, Some(next), _) => Some(next),
        (None, None, false) => {
            let message = match failed.len() {
                1 => "1 row failed".to_owned(),
                count => format!("{count} rows failed"),
            };
            Some(
                CommandFailure::new(ROWS, message)
                    .hint("act on each failed row; the others were accepted"),
            )
        }
        (None, None, true) => None,
    };
    match failure {
        Some(mut failure) => {
            failure.lines.extend(failed);
            if let Some(left) = left {
                let hint = failure.hint.clone().map(|hint| format!("{hint}; ")).unwrap_or_default();
                failure = failure.hint(format!("{hint}{left}"));
            }
            Err(failure.with_facts(facts))
        }
        None => {
            if output.is_json() {
                output.document(&facts);
            } else if let Some(left) = left {
                output.talk(format!("warning: {left}"));
            }
            Ok(())
        }
    }
}

fn standing(answered: &SellerAnswer) -> Option<&str> {
    answered.outcome.standing.as_ref().map(WireName::name)
}

/// Returns the reason why the task is not done, if it is not.
fn next(answered: &SellerAnswer) -> Option<CommandFailure> {
    let (exit, message, hint) = match &answered.outcome.standing {
        None | Some(WireName::Known(AdcpTaskStatus::Completed)) => return None,
        Some(WireName::Known(AdcpTaskStatus::Submitted | AdcpTaskStatus::Working)) => {
            let hint = match answered.task_id() {
                Some(id) => format!("call get_task_status for the task {}", plain(id, WORD)),
                None => "ask the seller for the status of the task".to_owned(),
            };
            (GOES_ON, "the task is still running".to_owned(), hint)
        }
        Some(WireName::Known(AdcpTaskStatus::InputRequired)) => {
            let hint = "send the task again with the input that the payload asks for".to_owned();
            (WAITS, "the seller requires more input".to_owned(), hint)
        }
        Some(WireName::Known(AdcpTaskStatus::AuthRequired)) => {
            let hint = "follow the payload, or give a token with --token".to_owned();
            (WAITS, "the seller requires a credential".to_owned(), hint)
        }
        Some(
            standing @ (WireName::Known(
                AdcpTaskStatus::Canceled
                | AdcpTaskStatus::Failed
                | AdcpTaskStatus::Rejected
                | AdcpTaskStatus::Unknown,
            )
            | WireName::Other(_)),
        ) => {
            let hint = "read the payload for the reason".to_owned();
            (ROWS, format!("the task is {}", plain(standing.name(), WORD)), hint)
        }
    };
    Some(CommandFailure::new(exit, message).hint(hint))
}

/// Formats an error for people: the code with the seller's message, and its meaning.
fn said(error: &AdcpError) -> String {
    let code = plain(error.code.name(), WORD);
    format!("{code}: {} ({})", bounded(&error.message, MESSAGE), of_code(error))
}

/// Returns the general advice for a failed row.
fn advice(row: &FailedRow) -> Option<String> {
    let limits = RetryLimits::default();
    let budget = RetryBudget { attempts: limits.attempts, time: limits.elapsed, tokens: 1 };
    row.advise(&FailedAttempt::default(), &budget).map(|advice| advice.to_string())
}

fn row(row: &FailedRow) -> String {
    let errors: Vec<_> = row.errors.iter().map(said).collect();
    let advice = advice(row).map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{}: {}{}", plain(&row.pointer, 2 * WORD), errors.join("; "), plain(&advice, SENTENCE))
}

fn document(row: &FailedRow) -> Value {
    json!({"pointer": row.pointer, "errors": row.errors, "advice": advice(row)})
}
