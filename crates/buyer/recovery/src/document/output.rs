//! Writes the failure and the advice.

use std::time::Duration;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Value, json, object};

use crate::advice::{
    AskReason, CredentialStep, FailedAttempt, Fix, RecoveryAdvice, RequestChange, RetryBudget,
    RetryWait, StopReason, advise, class,
};
use crate::challenge::Challenge;
use crate::failure::CallFailure;
use crate::refusal::{RefusalForm, SellerRefusal};
use crate::text::{WORD, plain};

pub(super) fn document(
    failure: Option<&CallFailure>,
    attempt: &FailedAttempt,
    budget: &RetryBudget,
) -> Value {
    let Some(failure) = failure else {
        return json!({"failure": null, "advice": null});
    };
    let advice = advise(attempt, failure, budget);
    json!({"failure": failed(failure, attempt), "advice": advised(&advice)})
}

fn failed(failure: &CallFailure, attempt: &FailedAttempt) -> Value {
    let refused = match failure {
        CallFailure::Refused(refused) => Some(&**refused),
        CallFailure::Unsent(_) | CallFailure::Unanswered(_) | CallFailure::Garbled(_) => None,
    };
    let code = refused.and_then(code);
    let retry_after = refused.and_then(|refused| refused.retry_after).map(milliseconds);
    let challenges = refused.map(SellerRefusal::challenges).filter(|listed| !listed.is_empty());
    let challenges =
        challenges.map(|listed| listed.iter().map(Challenge::document).collect::<Vec<_>>());
    // Of a request without an answer the caller knows more than was passed on.
    let message = match failure {
        CallFailure::Unsent(_) | CallFailure::Unanswered(_) => None,
        CallFailure::Garbled(_) | CallFailure::Refused(_) => Some(failure.to_string()),
    };
    let is_known = code.as_ref().map(|code| code.is_known);
    object!({
        "kind": kind(failure),
        "protocol"?: refused.map(|refused| protocol(&refused.by)),
        "code"?: code.map(|code| code.name),
        "is_known"?: is_known,
        "class": class(attempt, failure).name(),
        "in_doubt": failure.in_doubt(),
        "retry_after_ms"?: retry_after,
        "challenges"?: challenges,
        "message"?: message,
    })
}

fn kind(failure: &CallFailure) -> &'static str {
    match failure {
        CallFailure::Unsent(_) => "unsent",
        CallFailure::Unanswered(_) => "unanswered",
        CallFailure::Garbled(_) => "garbled",
        CallFailure::Refused(_) => "refused",
    }
}

fn protocol(form: &RefusalForm) -> &'static str {
    match form {
        RefusalForm::Adcp(_) => "adcp",
        RefusalForm::Aap { .. } => "aap",
        RefusalForm::Protocol(_) => "a2a",
        RefusalForm::Grpc { .. } => "grpc",
        RefusalForm::Http(_) => "http",
        RefusalForm::Words { .. } => "text",
    }
}

/// Code of a refusal.
struct RefusalCode {
    name: String,
    is_known: bool,
}

fn code(refused: &SellerRefusal) -> Option<RefusalCode> {
    let coded = |name: &str, is_known| Some(RefusalCode { name: plain(name, WORD), is_known });
    match &refused.by {
        RefusalForm::Adcp(adcp) => coded(adcp.error.code.name(), adcp.error.code.known().is_some()),
        RefusalForm::Aap { error, .. } => coded(error.code.name(), error.code.known().is_some()),
        RefusalForm::Protocol(error) => coded(error.code.name(), error.code.known().is_some()),
        RefusalForm::Grpc { code, .. } => coded(&code.to_string(), (1..=16).contains(code)),
        RefusalForm::Http(status) => coded(&status.to_string(), true),
        RefusalForm::Words { .. } => None,
    }
}

fn advised(advice: &RecoveryAdvice) -> Value {
    let action = advice.name();
    let text = advice.to_string();
    match advice {
        RecoveryAdvice::Retry(retry) => object!({
            "action": action, "key": "same", "first"?: first(retry.first),
            "wait_ms": wait(retry.wait), "text": text,
        }),
        RecoveryAdvice::Fix(fix) => fixed(action, fix, text),
        RecoveryAdvice::Ask(reason) => asked(action, reason, text),
        RecoveryAdvice::Stop(reason) => {
            json!({"action": action, "key": "none", "reason": reason.name(), "text": text})
        }
    }
}

fn fixed(action: &str, fix: &Fix, text: String) -> Value {
    let value = match &fix.change {
        RequestChange::Billing(billing) => Some(json!(billing)),
        RequestChange::Versions(versions) => Some(json!(versions)),
        RequestChange::Account(account) => Some(account.clone()),
        RequestChange::Request
        | RequestChange::Strip
        | RequestChange::SearchAgain
        | RequestChange::Reread
        | RequestChange::Reconcile
        | RequestChange::NewKey
        | RequestChange::DropContext
        | RequestChange::Token
        | RequestChange::OtherBilling => None,
    };
    let fields = (!fix.fields.is_empty()).then_some(&fix.fields);
    object!({
        "action": action, "key": "fresh", "change": fix.change.name(), "value"?: value,
        "fields"?: fields, "suggestion"?: fix.suggestion.as_ref(), "wait_ms": wait(fix.wait),
        "text": text,
    })
}

fn asked(action: &str, reason: &AskReason, text: String) -> Value {
    let address = if let AskReason::Setup(address) = reason { address.as_ref() } else { None };
    object!({
        "action": action, "key": "none", "reason": reason.name(), "address"?: address,
        "text": text,
    })
}

fn first(step: CredentialStep) -> Option<&'static str> {
    match step {
        CredentialStep::Nothing => None,
        CredentialStep::Supply => Some("supply_credential"),
        CredentialStep::Renew => Some("renew_credential"),
        CredentialStep::ReadCard => Some("read_card"),
    }
}

fn wait(wait: RetryWait) -> Value {
    json!({"at_least": milliseconds(wait.at_least), "at_most": milliseconds(wait.at_most)})
}

/// Returns whole milliseconds, rounded up.
fn milliseconds(time: Duration) -> u64 {
    RetryAfter::new(time).milliseconds()
}

impl RequestChange {
    /// Returns the change in one word, without its value.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Strip => "strip",
            Self::SearchAgain => "search_again",
            Self::Reread => "reread",
            Self::Reconcile => "reconcile",
            Self::NewKey => "new_key",
            Self::DropContext => "drop_context",
            Self::Token => "token",
            Self::Billing(_) => "billing",
            Self::OtherBilling => "other_billing",
            Self::Versions(_) => "versions",
            Self::Account(_) => "account",
        }
    }
}

impl AskReason {
    /// Returns the reason in one word, without its value.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::InDoubt => "in_doubt",
            Self::Unpromised => "unpromised",
            Self::CredentialsMissing => "credentials_missing",
            Self::CredentialsRejected => "credentials_rejected",
            Self::CredentialInArguments(_) => "credential_in_arguments",
            Self::Permission => "permission",
            Self::Scope(_) => "scope",
            Self::AgentGate => "agent_gate",
            Self::SellerMisconfigured => "seller_misconfigured",
            Self::SellerDefect => "seller_defect",
            Self::Advisory => "advisory",
            Self::Throttled => "throttled",
            Self::Spent(_) => "spent",
            Self::Stopped => "stopped",
            Self::Billing => "billing",
            Self::Setup(_) => "setup",
            Self::Agreement => "agreement",
            Self::Consent => "consent",
            Self::OtherTime => "other_time",
            Self::InFlight => "in_flight",
            Self::Done => "done",
            Self::NotRetryable => "not_retryable",
            Self::Unclear => "unclear",
        }
    }
}

impl StopReason {
    /// Returns the reason in one word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::NoAgent => "no_agent",
            Self::NotOffered => "not_offered",
            Self::Certificate => "certificate",
            Self::Proxy => "proxy",
            Self::Local => "local",
            Self::Final => "final",
        }
    }
}
