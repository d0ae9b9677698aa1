//! Rows that failed although the request did not. Those that may succeed on their own are sent again alone:
//! after a pause when the failure is transient, and once with the way of billing that the seller suggested.
//! Other corrections are left to the caller.
// B-8, B-5

use std::time::Duration;

use tradepost_adcp::task::AdcpTask;
use tradepost_document::json::{Map, Value};

use crate::outcome::FailedRow;
use crate::recovery::{
    FailedAttempt, Fix, RecoveryAdvice, RequestChange, Retry, RetryBudget, RetryWait,
};

/// Member that is removed, because it would delete the rows that are not sent again.
const DELETE_MISSING: &str = "delete_missing";

/// Members that refer to rows of the list; a request with one of them is not cut down.
const COMPANIONS: [&str; 3] = ["assignments", "creative_ids", "catalog_ids"];

/// Tasks with independent rows: the list, and the members that identify a row. A row of the answer is matched
/// to an entry of the request only if these members are equal.
const LISTS: &[(AdcpTask, &str, &[&str])] = &[
    (AdcpTask::SyncAccounts, "accounts", &["/brand/domain", "/operator", "/account/account_id"]),
    (AdcpTask::SyncCreatives, "creatives", &["/creative_id"]),
    (AdcpTask::SyncAudiences, "audiences", &["/audience_id"]),
    (AdcpTask::SyncCatalogs, "catalogs", &["/catalog_id"]),
    (AdcpTask::SyncEventSources, "event_sources", &["/event_source_id"]),
];

/// Request for the rows that are sent again.
#[derive(Debug, PartialEq)]
pub(super) struct RowsRetry {
    pub(super) arguments: Map,
    /// Time to wait first.
    pub(super) wait: RetryWait,
    /// True when a row is billed in another way.
    pub(super) billing: bool,
}

/// Builds the request that sends failed rows again, and marks these rows; `None` when no row may be sent again.
pub(super) fn plan_retry(
    task: AdcpTask,
    arguments: &Map,
    payload: &Value,
    rows: &mut [FailedRow],
    attempt: &FailedAttempt,
    budget: &RetryBudget,
) -> Option<RowsRetry> {
    let (_, name, keys) = *LISTS.iter().find(|(known, _, _)| *known == task)?;
    let spent = budget.attempts == 0 || budget.tokens == 0 || budget.time.is_zero();
    if spent || COMPANIONS.iter().any(|name| arguments.contains_key(*name)) {
        return None;
    }
    let sent = arguments.get(name)?.as_array()?;
    let mut list = Vec::new();
    let mut wait = RetryWait::default();
    let mut billing = false;
    for row in rows {
        let answered = payload.pointer(&row.pointer);
        let Some(entry) = answered.and_then(|answered| entry_of(answered, sent, keys)) else {
            continue;
        };
        let entry = match row.advise(attempt, budget) {
            Some(RecoveryAdvice::Retry(Retry { wait: pause, .. })) => {
                // All rows go in one request, so the longest of their pauses counts.
                let longest = |one: Duration, other: Duration| one.max(other);
                wait.at_least = longest(wait.at_least, pause.at_least);
                wait.at_most = longest(wait.at_most, pause.at_most);
                entry.clone()
            }
            Some(RecoveryAdvice::Fix(fix)) => match billed(entry, &fix) {
                Some(entry) => {
                    billing = true;
                    entry
                }
                None => continue,
            },
            Some(RecoveryAdvice::Ask(_) | RecoveryAdvice::Stop(_)) | None => continue,
        };
        row.again = true;
        list.push(entry);
    }
    if list.is_empty() {
        return None;
    }
    let mut arguments = arguments.clone();
    arguments.insert(name.to_owned(), list.into());
    arguments.shift_remove(DELETE_MISSING);
    Some(RowsRetry { arguments, wait, billing })
}

/// Returns the entry billed as the seller suggests; `None` for any other correction.
fn billed(entry: &Value, fix: &Fix) -> Option<Value> {
    let RequestChange::Billing(billing) = &fix.change else { return None };
    let mut entry = entry.clone();
    let member = entry.as_object_mut()?.get_mut("billing")?;
    *member = billing.as_str().into();
    Some(entry)
}

/// Returns the one entry of the request that a row of the answer is about.
fn entry_of<'s>(answered: &Value, sent: &'s [Value], keys: &[&str]) -> Option<&'s Value> {
    let is_it = |entry: &&Value| {
        let mut known = keys.iter().filter_map(|key| {
            // An account named by its id is answered with the id alone.
            let short = key.strip_prefix("/account").unwrap_or(key);
            Some((entry.pointer(key)?, answered.pointer(key).or_else(|| answered.pointer(short))?))
        });
        let mut any = false;
        known.all(|(sent, answered)| {
            any = true;
            sent == answered
        }) && any
    };
    // Where two entries match, neither is sent again.
    let mut found = sent.iter().filter(is_it);
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;
    use crate::outcome::PayloadOutcome;

    fn account(brand: &str, billing: &str) -> Value {
        json!({"brand": {"domain": brand}, "operator": "o.example", "billing": billing})
    }

    fn row(brand: &str, code: &str, details: Value) -> Value {
        json!({"brand": {"domain": brand}, "operator": "o.example", "action": "failed",
            "errors": [{"code": code, "message": "m", "details": details}]})
    }

    fn budget() -> RetryBudget {
        RetryBudget { attempts: 3, time: Duration::from_secs(300), tokens: 10 }
    }

    fn plan(
        arguments: &Value,
        payload: &Value,
        attempt: &FailedAttempt,
    ) -> (Option<RowsRetry>, Vec<bool>) {
        let mut rows = PayloadOutcome::read(payload).rows;
        let arguments = arguments.as_object().unwrap();
        let task = AdcpTask::SyncAccounts;
        let planned = plan_retry(task, arguments, payload, &mut rows, attempt, &budget());
        (planned, rows.iter().map(|row| row.again).collect())
    }

    #[test]
    fn b_8_rows_that_may_succeed_are_sent_again_alone() {
        let arguments = json!({"delete_missing": true, "accounts": [
            account("a.example", "agent"), account("b.example", "agent"),
            account("c.example", "agent"), account("d.example", "agent")]});
        let suggested = json!({"rejected_billing": "agent", "suggested_billing": "operator"});
        let payload = json!({"accounts": [
            {"brand": {"domain": "a.example"}, "action": "created"},
            row("b.example", "BILLING_NOT_PERMITTED_FOR_AGENT", suggested),
            row("c.example", "SERVICE_UNAVAILABLE", json!({})),
            row("d.example", "BRAND_REQUIRED", json!({}))]});
        let (planned, marked) = plan(&arguments, &payload, &FailedAttempt::default());
        let planned = planned.unwrap();
        let accounts = json!([account("b.example", "operator"), account("c.example", "agent")]);
        assert_eq!(Value::Object(planned.arguments), json!({"accounts": accounts}));
        assert_eq!((marked, planned.billing), (vec![true, true, false], true));
        assert!(planned.wait.at_least >= Duration::from_secs(1));
    }

    #[test]
    fn b_5_a_suggested_way_of_billing_is_taken_once() {
        let arguments = json!({"accounts": [account("b.example", "agent")]});
        let suggested = json!({"rejected_billing": "agent", "suggested_billing": "operator"});
        let code = "BILLING_NOT_PERMITTED_FOR_AGENT";
        let payload = json!({"accounts": [row("b.example", code, suggested)]});
        let mut attempt = FailedAttempt::default();
        assert!(plan(&arguments, &payload, &attempt).0.is_some());
        attempt.tried.billing = true;
        assert!(plan(&arguments, &payload, &attempt).0.is_none());
        let silent = json!({"accounts": [row("b.example", code, json!({}))]});
        assert!(plan(&arguments, &silent, &FailedAttempt::default()).0.is_none());
    }

    #[test]
    fn what_cannot_be_told_apart_or_cut_is_the_callers() {
        let passing = || json!({"accounts": [row("b.example", "SERVICE_UNAVAILABLE", json!({}))]});
        let twice =
            json!({"accounts": [account("b.example", "agent"), account("b.example", "operator")]});
        let other = json!({"accounts": [account("x.example", "agent")]});
        let mut bound = json!({"accounts": [account("b.example", "agent")]});
        bound["assignments"] = json!([]);
        for arguments in [twice, other, bound, json!({}), json!({"accounts": 5})] {
            assert!(
                plan(&arguments, &passing(), &FailedAttempt::default()).0.is_none(),
                "{arguments}"
            );
        }
        let by_id = json!({"accounts": [{"account": {"account_id": "a1"}, "billing": "agent"}]});
        let mut answered = row("b.example", "SERVICE_UNAVAILABLE", json!({}));
        answered["account_id"] = "a1".into();
        assert!(
            plan(&by_id, &json!({"accounts": [answered]}), &FailedAttempt::default()).0.is_some()
        );
    }
}
