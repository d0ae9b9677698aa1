//! Rules of recovery, from the most general to the most specific, and the budgets.

use std::time::Duration;

use tradepost_a2a::error::A2aCode as A2a;
use tradepost_aap::error::{AapCode as Aap, ReceivedRefusal, Remedy};
use tradepost_document::catalog::WireName;

use super::rules;
use super::{
    AskReason, CredentialStep, FailedAttempt, RecoveryAdvice, RequestChange, Retry, RetryBudget,
    RetryWait, SCOPE_RETRIES, Spent, StopReason,
};
use crate::failure::{CallFailure, Defect, ProxyProblem, Unanswered, Unsent};
use crate::refusal::{ProtocolError, RefusalForm, SellerRefusal, is_transient};
use crate::text::{WORD, plain};

/// Maximum number of fields that an advice lists.
const MAX_FIELDS: usize = 100;

/// Strategy of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Strategy {
    Again { pace: RetryPace, first: CredentialStep },
    Fix { change: RequestChange, fields: Vec<String>, suggestion: Option<String> },
    Ask(AskReason),
    Stop(StopReason),
}

/// Pace of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryPace {
    /// The seller's delay, else growing pauses.
    Backoff,
    /// As `Backoff`; when a budget is spent, the rate limit is reported.
    Throttled,
    /// A few retries, a few seconds apart, for a missing scope.
    //
    Scope,
    /// At once, because the reason for the failure is gone.
    AtOnce,
}

impl Strategy {
    pub(super) const AGAIN: Self =
        Self::Again { pace: RetryPace::Backoff, first: CredentialStep::Nothing };
    pub(super) const THROTTLED: Self =
        Self::Again { pace: RetryPace::Throttled, first: CredentialStep::Nothing };
    pub(super) const SCOPE: Self =
        Self::Again { pace: RetryPace::Scope, first: CredentialStep::Nothing };

    pub(super) fn fix(change: RequestChange) -> Self {
        Self::Fix { change, fields: Vec::new(), suggestion: None }
    }

    fn is_again(&self) -> bool {
        matches!(self, Self::Again { .. })
    }
}

/// Chooses the strategy: each rule overrides the one before if it applies.
pub(super) fn choose(attempt: &FailedAttempt, failure: &CallFailure) -> Strategy {
    let CallFailure::Refused(refused) = failure else {
        return of_transport(failure);
    };
    let mut course = Strategy::Ask(AskReason::Unclear);
    let mut cast = |net: Option<Strategy>| course = net.unwrap_or(course.clone());
    cast(of_http(attempt, refused.kept.status));
    match &refused.by {
        // The rules of AdCP are complete, whatever the status.
        RefusalForm::Adcp(adcp) => return rules::of_adcp(attempt, adcp),
        RefusalForm::Aap { error, .. } => return of_aap(error, course),
        RefusalForm::Protocol(error) => cast(of_protocol(attempt, error, refused)),
        RefusalForm::Grpc { code, .. } => cast(of_grpc(attempt, *code)),
        RefusalForm::Http(status) => cast(of_http(attempt, *status)),
        RefusalForm::Words { .. } => {}
    }
    course
}

fn of_transport(failure: &CallFailure) -> Strategy {
    match failure {
        CallFailure::Unsent(unsent) => match unsent {
            Unsent::Unreachable(_) => Strategy::AGAIN,
            Unsent::Certificate { .. } => Strategy::Stop(StopReason::Certificate),
            Unsent::Proxy { why, .. } => match why {
                ProxyProblem::NoTunnel(_) => Strategy::AGAIN,
                ProxyProblem::Credentials | ProxyProblem::NoHttp2 => {
                    Strategy::Stop(StopReason::Proxy)
                }
            },
            Unsent::Address(_) | Unsent::TokenForOther { .. } => {
                Strategy::Stop(StopReason::Address)
            }
            Unsent::NotAap(_) | Unsent::NoInterface => Strategy::Stop(StopReason::NoAgent),
            Unsent::SkillNotOffered { .. } => Strategy::Stop(StopReason::NotOffered),
            Unsent::Setup(_) => Strategy::Stop(StopReason::Local),
            Unsent::Credential(places) => {
                Strategy::Ask(AskReason::CredentialInArguments(places.clone()))
            }
            Unsent::NotPermitted { .. } => Strategy::Ask(AskReason::Scope(0)),
            Unsent::Arguments(error) => {
                let issues = error.issues.iter().take(MAX_FIELDS);
                let fields = issues.map(|issue| issue.pointer.clone()).collect();
                Strategy::Fix { change: RequestChange::Request, fields, suggestion: None }
            }
            Unsent::Invalid(refusal) => {
                let problems = refusal.problems.listed().iter().take(MAX_FIELDS);
                let fields = problems.map(|problem| problem.pointer.clone()).collect();
                Strategy::Fix { change: RequestChange::Request, fields, suggestion: None }
            }
        },
        CallFailure::Unanswered(Unanswered::Stopped) => Strategy::Ask(AskReason::Stopped),
        CallFailure::Unanswered(Unanswered::TimedOut(_) | Unanswered::Broken(_)) => Strategy::AGAIN,
        CallFailure::Garbled(garbled) => match garbled.defect {
            // Most likely a problem on the way, such as the page of a gateway or an answer that was cut.
            Defect::Empty
            | Defect::Truncated
            | Defect::Stalled(_)
            | Defect::NotUtf8
            | Defect::NotJson
            | Defect::NotJsonRpc(_)
            | Defect::WrongId => Strategy::AGAIN,
            // The next answer would be the same.
            Defect::TooLarge(_)
            | Defect::Redirect { .. }
            | Defect::NotACard(_)
            | Defect::NotADirectory(_)
            | Defect::NotAap(_)
            | Defect::NotAdcp(_)
            | Defect::NotA2a(_) => Strategy::Ask(AskReason::SellerDefect),
        },
        CallFailure::Refused(_) => Strategy::Ask(AskReason::Unclear),
    }
}

fn of_http(attempt: &FailedAttempt, status: u16) -> Option<Strategy> {
    match status {
        401 | 407 => Some(credentials(attempt)),
        403 => Some(Strategy::Ask(AskReason::Permission)),
        404 | 405 | 410 => Some(no_agent(attempt)),
        429 => Some(Strategy::THROTTLED),
        status if is_transient(status) => Some(Strategy::AGAIN),
        _ => None,
    }
}

/// Advises to read the card again, once, because an agent that is not at the address in its card may have moved.
fn no_agent(attempt: &FailedAttempt) -> Strategy {
    if attempt.has_card && !attempt.tried.card {
        Strategy::Again { pace: RetryPace::AtOnce, first: CredentialStep::ReadCard }
    } else {
        Strategy::Stop(StopReason::NoAgent)
    }
}

/// Chooses by the number of google.rpc.Code.
fn of_grpc(attempt: &FailedAttempt, code: i32) -> Option<Strategy> {
    match code {
        16 => Some(credentials(attempt)),
        7 => Some(Strategy::Ask(AskReason::Permission)),
        12 => Some(Strategy::Stop(StopReason::NotOffered)),
        8 => Some(Strategy::THROTTLED),
        4 | 10 | 14 => Some(Strategy::AGAIN),
        3 => Some(Strategy::fix(RequestChange::Request)),
        _ => None,
    }
}

/// Advises to supply a credential once if there was none. A rejected credential is never sent again.
//
pub(super) fn credentials(attempt: &FailedAttempt) -> Strategy {
    if attempt.had_credentials || attempt.tried.credentials {
        Strategy::Ask(AskReason::CredentialsRejected)
    } else if attempt.has_supply {
        Strategy::Again { pace: RetryPace::AtOnce, first: CredentialStep::Supply }
    } else {
        Strategy::Ask(AskReason::CredentialsMissing)
    }
}

/// Advises to renew an expired credential once.
pub(super) fn renewal(attempt: &FailedAttempt) -> Strategy {
    if attempt.had_credentials && attempt.has_supply && !attempt.tried.credentials {
        Strategy::Again { pace: RetryPace::AtOnce, first: CredentialStep::Renew }
    } else {
        Strategy::Ask(AskReason::CredentialsRejected)
    }
}

/// Chooses by AAP's row, then by the seller's `retryable`, which the buyer must honour.
// R-ER-05
fn of_aap(error: &ReceivedRefusal, status: Strategy) -> Strategy {
    let row = match &error.code {
        WireName::Known(code) => of_aap_row(*code, error),
        WireName::Other(_) => status,
    };
    match (error.retryable, row.is_again()) {
        (true, true) | (false, false) => row,
        (true, false) => Strategy::AGAIN,
        (false, true) => Strategy::Ask(AskReason::NotRetryable),
    }
}

fn of_aap_row(code: Aap, error: &ReceivedRefusal) -> Strategy {
    match code.remedy() {
        Remedy::NotOffered => Strategy::Stop(StopReason::NotOffered),
        Remedy::Correct => {
            let problems = error.problems().take(MAX_FIELDS);
            let fields = problems.map(|(pointer, ..)| plain(pointer, 2 * WORD)).collect();
            Strategy::Fix { change: RequestChange::Request, fields, suggestion: None }
        }
        Remedy::SearchAgain => Strategy::fix(RequestChange::SearchAgain),
        Remedy::AskConsent => Strategy::Ask(AskReason::Consent),
        Remedy::AskTime => Strategy::Ask(AskReason::OtherTime),
        Remedy::NewKey => Strategy::fix(RequestChange::NewKey),
        Remedy::SlowDown => Strategy::THROTTLED,
        Remedy::TryAgain => Strategy::AGAIN,
    }
}

fn of_protocol(
    attempt: &FailedAttempt,
    error: &ProtocolError,
    refused: &SellerRefusal,
) -> Option<Strategy> {
    let code = match &error.code {
        WireName::Known(code) => *code,
        // A seller that names a delay expects a retry.
        WireName::Other(_) => return refused.retry_after.map(|_| Strategy::AGAIN),
    };
    Some(match code {
        A2a::InvalidRequest | A2a::InvalidParams => {
            let violations = error.violations.iter().take(MAX_FIELDS);
            let fields = violations.map(|v| plain(&v.field, 2 * WORD)).collect();
            Strategy::Fix { change: RequestChange::Request, fields, suggestion: None }
        }
        A2a::TaskNotFound => Strategy::fix(RequestChange::Request),
        A2a::InternalError | A2a::Unavailable => Strategy::AGAIN,
        A2a::ResourceExhausted => Strategy::THROTTLED,
        A2a::TaskNotCancelable => Strategy::Stop(StopReason::Final),
        A2a::ParseError | A2a::InvalidAgentResponse => Strategy::Ask(AskReason::SellerDefect),
        A2a::MethodNotFound
        | A2a::PushNotificationNotSupported
        | A2a::UnsupportedOperation
        | A2a::ContentTypeNotSupported
        | A2a::ExtendedAgentCardNotConfigured
        | A2a::ExtensionSupportRequired
        | A2a::VersionNotSupported => Strategy::Stop(StopReason::NotOffered),
        A2a::Unauthenticated => credentials(attempt),
        A2a::PermissionDenied => Strategy::Ask(AskReason::Permission),
    })
}

fn sellers_wait(failure: &CallFailure) -> Option<Duration> {
    match failure {
        CallFailure::Refused(refused) => refused.retry_after,
        CallFailure::Unsent(_) | CallFailure::Unanswered(_) | CallFailure::Garbled(_) => None,
    }
}

/// Returns the delay that the seller asked for, else a pause that grows with the retries.
pub(super) fn pause(attempt: &FailedAttempt, failure: &CallFailure) -> RetryWait {
    sellers_wait(failure)
        .map_or_else(|| RetryWait::backoff(attempt.tried.retries), RetryWait::from_delay)
}

/// Returns a retry, if the budgets permit it.
pub(super) fn retry(
    pace: RetryPace,
    first: CredentialStep,
    attempt: &FailedAttempt,
    failure: &CallFailure,
    budget: &RetryBudget,
) -> RecoveryAdvice {
    let retries = attempt.tried.retries;
    let wait = match pace {
        RetryPace::Backoff | RetryPace::Throttled => pause(attempt, failure),
        RetryPace::AtOnce => {
            sellers_wait(failure).map_or_else(RetryWait::default, RetryWait::from_delay)
        }
        RetryPace::Scope => {
            let least = Duration::from_secs(1);
            let most = Duration::from_secs(5);
            let at_least = sellers_wait(failure).unwrap_or(least).max(least);
            if retries >= SCOPE_RETRIES || at_least > most {
                return RecoveryAdvice::Ask(AskReason::Scope(retries));
            }
            RetryWait { at_least, at_most: most }
        }
    };
    // A request to an address without an agent does not count as an attempt.
    let has_attempt = budget.attempts > 0 || first == CredentialStep::ReadCard;
    let spent = if !has_attempt {
        Some(Spent::Attempts)
    } else if budget.tokens == 0 {
        Some(Spent::Tokens)
    } else if budget.time.is_zero() || wait.at_least > budget.time {
        Some(Spent::Time(wait.at_least))
    } else {
        None
    };
    let Some(spent) = spent else {
        return RecoveryAdvice::Retry(Retry { wait: wait.within(budget.time), first });
    };
    if first == CredentialStep::ReadCard {
        return RecoveryAdvice::Stop(StopReason::NoAgent);
    }
    RecoveryAdvice::Ask(match pace {
        RetryPace::Throttled => AskReason::Throttled,
        RetryPace::Scope => AskReason::Scope(retries),
        RetryPace::Backoff | RetryPace::AtOnce => AskReason::Spent(spent),
    })
}
