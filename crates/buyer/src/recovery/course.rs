//! The nets, from the largest to the smallest, and the budget.

use std::time::Duration;

use tradepost_wire::a2a::error::A2aCode as A2a;
use tradepost_wire::aap::error::{AapCode as Aap, ReceivedRefusal, Remedy};
use tradepost_wire::catalog::Open;

use super::rules;
use super::{Advice, Attempt, Budget, Change, End, First, Retry, SCOPE_RETRIES, Spent, Wait, Why};
use crate::failure::{Defect, Failure, ProxyProblem, Unanswered, Unsent};
use crate::refusal::{By, ProtocolError, Refused, is_passing};
use crate::text::{WORD, plain};

/// How many fields an advice lists.
const MAX_FIELDS: usize = 100;

/// What a net says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Course {
    Again { pace: Pace, first: First },
    Fix { change: Change, fields: Vec<String>, suggestion: Option<String> },
    Ask(Why),
    Stop(End),
}

/// How fast to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// As told, else with growing pauses.
    Backoff,
    /// The same, by the rules of throttling.
    Throttled,
    /// A few seconds, a few times.
    //
    Scope,
    /// At once: the reason for the failure is gone.
    AtOnce,
}

impl Course {
    pub(super) const AGAIN: Self = Self::Again { pace: Pace::Backoff, first: First::Nothing };
    pub(super) const THROTTLED: Self = Self::Again { pace: Pace::Throttled, first: First::Nothing };
    pub(super) const SCOPE: Self = Self::Again { pace: Pace::Scope, first: First::Nothing };

    pub(super) fn fix(change: Change) -> Self {
        Self::Fix { change, fields: Vec::new(), suggestion: None }
    }

    fn is_again(&self) -> bool {
        matches!(self, Self::Again { .. })
    }
}

/// The course: each net overrides the one before where it knows something.
pub(super) fn of(attempt: &Attempt, failure: &Failure) -> Course {
    let Failure::Refused(refused) = failure else {
        return of_transport(failure);
    };
    let mut course = Course::Ask(Why::Unclear);
    let mut cast = |net: Option<Course>| course = net.unwrap_or(course.clone());
    cast(of_http(attempt, refused.kept.status));
    match &refused.by {
        // The rules of AdCP say all that there is to say, whatever the status.
        By::Adcp(adcp) => return rules::of_adcp(attempt, adcp),
        By::Aap { error, .. } => return of_aap(error, course),
        By::Protocol(error) => cast(of_protocol(attempt, error, refused)),
        By::Grpc { code, .. } => cast(of_grpc(attempt, *code)),
        By::Http(status) => cast(of_http(attempt, *status)),
        By::Words { .. } => {}
    }
    course
}

fn of_transport(failure: &Failure) -> Course {
    match failure {
        Failure::Unsent(unsent) => match unsent {
            Unsent::Unreachable(_) => Course::AGAIN,
            Unsent::Certificate { .. } => Course::Stop(End::Certificate),
            Unsent::Proxy { why, .. } => match why {
                ProxyProblem::NoTunnel(_) => Course::AGAIN,
                ProxyProblem::Credentials | ProxyProblem::NoHttp2 => Course::Stop(End::Proxy),
            },
            Unsent::Address(_) | Unsent::TokenForOther { .. } => Course::Stop(End::Address),
            Unsent::NotAap(_) | Unsent::NoInterface => Course::Stop(End::NoAgent),
            Unsent::SkillNotOffered { .. } => Course::Stop(End::NotOffered),
            Unsent::Setup(_) => Course::Stop(End::Local),
            Unsent::Credential(places) => Course::Ask(Why::CredentialInArguments(places.clone())),
            Unsent::NotPermitted { .. } => Course::Ask(Why::Scope(0)),
            Unsent::Arguments(error) => {
                let issues = error.issues.iter().take(MAX_FIELDS);
                let fields = issues.map(|issue| issue.pointer.clone()).collect();
                Course::Fix { change: Change::Request, fields, suggestion: None }
            }
            Unsent::Invalid(refusal) => {
                let problems = refusal.problems.listed().iter().take(MAX_FIELDS);
                let fields = problems.map(|problem| problem.pointer.clone()).collect();
                Course::Fix { change: Change::Request, fields, suggestion: None }
            }
        },
        Failure::Unanswered(Unanswered::Stopped) => Course::Ask(Why::Stopped),
        Failure::Unanswered(Unanswered::TimedOut(_) | Unanswered::Broken(_)) => Course::AGAIN,
        Failure::Garbled(garbled) => match garbled.defect {
            // Most likely something on the way: the page of a gateway, or an answer that was cut.
            Defect::Empty
            | Defect::Truncated
            | Defect::Stalled(_)
            | Defect::NotUtf8
            | Defect::NotJson
            | Defect::NotJsonRpc(_)
            | Defect::WrongId => Course::AGAIN,
            // The next answer would be the same.
            Defect::TooLarge(_)
            | Defect::Redirect { .. }
            | Defect::NotACard(_)
            | Defect::NotADirectory(_)
            | Defect::NotAap(_)
            | Defect::NotAdcp(_)
            | Defect::NotA2a(_) => Course::Ask(Why::SellerDefect),
        },
        Failure::Refused(_) => Course::Ask(Why::Unclear),
    }
}

fn of_http(attempt: &Attempt, status: u16) -> Option<Course> {
    match status {
        401 | 407 => Some(credentials(attempt)),
        403 => Some(Course::Ask(Why::Permission)),
        404 | 405 | 410 => Some(no_agent(attempt)),
        429 => Some(Course::THROTTLED),
        status if is_passing(status) => Some(Course::AGAIN),
        _ => None,
    }
}

/// An agent that is not where its card said may have moved: the card is read again, once.
fn no_agent(attempt: &Attempt) -> Course {
    if attempt.has_card && !attempt.tried.card {
        Course::Again { pace: Pace::AtOnce, first: First::ReadCard }
    } else {
        Course::Stop(End::NoAgent)
    }
}

/// By the numbers of google.rpc.Code.
fn of_grpc(attempt: &Attempt, code: i32) -> Option<Course> {
    match code {
        16 => Some(credentials(attempt)),
        7 => Some(Course::Ask(Why::Permission)),
        12 => Some(Course::Stop(End::NotOffered)),
        8 => Some(Course::THROTTLED),
        4 | 10 | 14 => Some(Course::AGAIN),
        3 => Some(Course::fix(Change::Request)),
        _ => None,
    }
}

/// A credential is supplied once where there was none, and never presented again where it was
/// rejected.
//
pub(super) fn credentials(attempt: &Attempt) -> Course {
    if attempt.had_credentials || attempt.tried.credentials {
        Course::Ask(Why::CredentialsRejected)
    } else if attempt.has_supply {
        Course::Again { pace: Pace::AtOnce, first: First::Supply }
    } else {
        Course::Ask(Why::CredentialsMissing)
    }
}

/// A credential that has run out is renewed once.
pub(super) fn renewal(attempt: &Attempt) -> Course {
    if attempt.had_credentials && attempt.has_supply && !attempt.tried.credentials {
        Course::Again { pace: Pace::AtOnce, first: First::Renew }
    } else {
        Course::Ask(Why::CredentialsRejected)
    }
}

/// AAP: the row, then the seller's `retryable`, which the buyer must honour.
// R-ER-05
fn of_aap(error: &ReceivedRefusal, status: Course) -> Course {
    let row = match &error.code {
        Open::Known(code) => of_aap_row(*code, error),
        Open::Other(_) => status,
    };
    match (error.retryable, row.is_again()) {
        (true, true) | (false, false) => row,
        (true, false) => Course::AGAIN,
        (false, true) => Course::Ask(Why::NotRetryable),
    }
}

fn of_aap_row(code: Aap, error: &ReceivedRefusal) -> Course {
    match code.remedy() {
        Remedy::NotOffered => Course::Stop(End::NotOffered),
        Remedy::Correct => {
            let problems = error.problems().take(MAX_FIELDS);
            let fields = problems.map(|(pointer, ..)| plain(pointer, 2 * WORD)).collect();
            Course::Fix { change: Change::Request, fields, suggestion: None }
        }
        Remedy::SearchAgain => Course::fix(Change::SearchAgain),
        Remedy::AskConsent => Course::Ask(Why::Consent),
        Remedy::AskTime => Course::Ask(Why::OtherTime),
        Remedy::NewKey => Course::fix(Change::NewKey),
        Remedy::SlowDown => Course::THROTTLED,
        Remedy::TryAgain => Course::AGAIN,
    }
}

fn of_protocol(attempt: &Attempt, error: &ProtocolError, refused: &Refused) -> Option<Course> {
    let code = match &error.code {
        Open::Known(code) => *code,
        // A seller that says when to come back means it.
        Open::Other(_) => return refused.retry_after.map(|_| Course::AGAIN),
    };
    Some(match code {
        A2a::InvalidRequest | A2a::InvalidParams => {
            let violations = error.violations.iter().take(MAX_FIELDS);
            let fields = violations.map(|v| plain(&v.field, 2 * WORD)).collect();
            Course::Fix { change: Change::Request, fields, suggestion: None }
        }
        A2a::TaskNotFound => Course::fix(Change::Request),
        A2a::InternalError | A2a::Unavailable => Course::AGAIN,
        A2a::ResourceExhausted => Course::THROTTLED,
        A2a::TaskNotCancelable => Course::Stop(End::Final),
        A2a::ParseError | A2a::InvalidAgentResponse => Course::Ask(Why::SellerDefect),
        A2a::MethodNotFound
        | A2a::PushNotificationNotSupported
        | A2a::UnsupportedOperation
        | A2a::ContentTypeNotSupported
        | A2a::ExtendedAgentCardNotConfigured
        | A2a::ExtensionSupportRequired
        | A2a::VersionNotSupported => Course::Stop(End::NotOffered),
        A2a::Unauthenticated => credentials(attempt),
        A2a::PermissionDenied => Course::Ask(Why::Permission),
    })
}

fn sellers_wait(failure: &Failure) -> Option<Duration> {
    match failure {
        Failure::Refused(refused) => refused.retry_after,
        Failure::Unsent(_) | Failure::Unanswered(_) | Failure::Garbled(_) => None,
    }
}

/// The pause that was asked for, else one that grows with the retries.
pub(super) fn pause(attempt: &Attempt, failure: &Failure) -> Wait {
    sellers_wait(failure).map_or_else(|| Wait::backoff(attempt.tried.retries), Wait::of_seller)
}

/// A retry, if the budget has one.
pub(super) fn retry(
    pace: Pace,
    first: First,
    attempt: &Attempt,
    failure: &Failure,
    budget: &Budget,
) -> Advice {
    let retries = attempt.tried.retries;
    let wait = match pace {
        Pace::Backoff | Pace::Throttled => pause(attempt, failure),
        Pace::AtOnce => sellers_wait(failure).map_or_else(Wait::default, Wait::of_seller),
        Pace::Scope => {
            let (least, most) = (Duration::from_secs(1), Duration::from_secs(5));
            let at_least = sellers_wait(failure).unwrap_or(least).max(least);
            if retries >= SCOPE_RETRIES || at_least > most {
                return Advice::Ask(Why::Scope(retries));
            }
            Wait { at_least, at_most: most }
        }
    };
    // The request to where nobody is was none to the agent.
    let has_attempt = budget.attempts > 0 || first == First::ReadCard;
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
        return Advice::Retry(Retry { wait: wait.within(budget.time), first });
    };
    if first == First::ReadCard {
        return Advice::Stop(End::NoAgent);
    }
    Advice::Ask(match pace {
        Pace::Throttled => Why::Throttled,
        Pace::Scope => Why::Scope(retries),
        Pace::Backoff | Pace::AtOnce => Why::Spent(spent),
    })
}
