//! Advice in words: a lower-case fragment, as in `hint:` lines. "The same request" has the same idempotency
//! key; "a new request" has a fresh key.

use std::fmt;
use std::time::Duration;

use super::{
    AskReason, CredentialStep, Fix, RecoveryAdvice, RequestChange, Retry, RetryWait, Spent,
    StopReason,
};

impl fmt::Display for RecoveryAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry(retry) => retry.fmt(f),
            Self::Fix(fix) => fix.fmt(f),
            Self::Ask(why) => why.fmt(f),
            Self::Stop(end) => end.fmt(f),
        }
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            CredentialStep::Nothing => {}
            CredentialStep::Supply => f.write_str("give a credential, then ")?,
            CredentialStep::Renew => f.write_str("renew the token, then ")?,
            CredentialStep::ReadCard => f.write_str("read the agent's card again, then ")?,
        }
        f.write_str("send the same request again, unchanged")?;
        if self.wait == RetryWait::default() { Ok(()) } else { write!(f, ", in {}", self.wait) }
    }
}

impl fmt::Display for RetryWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at_least == self.at_most {
            write!(f, "{}", Seconds(self.at_least))
        } else {
            write!(f, "{} to {}", self.at_least.as_secs_f64(), Seconds(self.at_most))
        }
    }
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields.iter().filter(|field| !field.is_empty());
        let fields = fields.map(String::as_str).collect::<Vec<_>>().join(", ");
        match &self.change {
            RequestChange::Request if fields.is_empty() => f.write_str("correct the request")?,
            RequestChange::Request => write!(f, "correct {fields}")?,
            RequestChange::Strip if fields.is_empty() => {
                f.write_str("leave out what is not permitted")?
            }
            RequestChange::Strip => write!(f, "leave out {fields}")?,
            RequestChange::SearchAgain => f.write_str("search again and tell the user")?,
            RequestChange::Reread => {
                f.write_str("read the resource again and change its present state")?;
            }
            RequestChange::Reconcile => {
                return f.write_str(
                    "find out whether the first request succeeded; only if not, send it as a new \
                     request, with a fresh idempotency key",
                );
            }
            RequestChange::NewKey => f.write_str("take a fresh idempotency key")?,
            RequestChange::DropContext => f.write_str("leave the context id out")?,
            RequestChange::Token => f.write_str("get a token with check_governance")?,
            RequestChange::Billing(billing) => write!(f, "set billing to {billing}")?,
            RequestChange::OtherBilling => f.write_str("choose another way of billing, or none")?,
            RequestChange::Versions(versions) => {
                write!(f, "speak one of the versions {}", versions.join(", "))?;
            }
            RequestChange::Account(_) => f.write_str("use the account that the details name")?,
        }
        f.write_str(" and send it as a new request")?;
        if self.wait != RetryWait::default() {
            write!(f, ", in {}", self.wait)?;
        }
        match &self.suggestion {
            Some(suggestion) => write!(f, "; the seller suggests: {suggestion}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for AskReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Terminal => "ask a person: no request of this agent can succeed",
            Self::InDoubt => {
                "ask a person: it may have had its effect, and without an idempotency key it might \
                 have it twice"
            }
            Self::Unpromised => {
                "ask a person: the seller does not promise to know the request again by its key; look \
                 whether it was done before it is sent again"
            }
            Self::CredentialsMissing => "give a credential and send again",
            Self::CredentialsRejected => {
                "have a person replace the credential; it was rejected and must not be sent again"
            }
            Self::CredentialInArguments(places) => {
                f.write_str("send the credential on the transport, not in the arguments")?;
                if !places.is_empty() {
                    write!(f, " ({})", places.join(", "))?;
                }
                "; have a person replace it if it was sent, it may have been logged"
            }
            Self::Permission => "ask the seller's operator for the permission",
            Self::Scope(0) => "ask the seller's operator for the scope",
            Self::Scope(retries) => {
                return write!(
                    f,
                    "ask the seller's operator for the scope; it was still missing after {retries} \
                     retries"
                );
            }
            Self::AgentGate => "have a person settle it with the seller; do not retry",
            Self::SellerMisconfigured => "tell the people who run the seller; do not retry",
            Self::SellerDefect => "tell the people who run the seller; the same would come back",
            Self::Advisory => "show it to a person; it is a note and needs no retry",
            Self::Throttled => {
                "tell the operator: the seller keeps limiting the rate, so ask for fewer requests \
                 or a higher limit"
            }
            Self::Spent(Spent::Attempts) => "give up for now: every attempt failed",
            Self::Spent(Spent::Time(delay)) => {
                return write!(
                    f,
                    "give up for now: the next attempt may come in {} at the earliest",
                    Seconds(*delay)
                );
            }
            Self::Spent(Spent::Tokens) => {
                "give up for now: too many requests to this seller were retried lately"
            }
            Self::Stopped => "send the same request again to go on",
            Self::Billing => "have a person arrange the billing with the seller",
            Self::Setup(Some(url)) => {
                return write!(f, "have a person complete the account's setup at {url}");
            }
            Self::Setup(None) => "have a person complete the account's setup with the seller",
            Self::Agreement => "have a person agree to or connect what the details name",
            Self::Consent => "ask the user for consent, and send with a fresh consent grant",
            Self::OtherTime => {
                "ask the user for another time, or call the dealer; the lead itself may have been \
                 received"
            }
            Self::InFlight => {
                "wait for the first request to end; do not use a fresh idempotency key"
            }
            Self::Done => "do not send it again: the write has happened",
            Self::NotRetryable => "do not retry: the seller says that it would not help",
            Self::Unclear => "show it to a person: what failed is not clear",
        };
        f.write_str(text)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "use another address; this one cannot be used",
            Self::NoAgent => "check the address; no agent answers there",
            Self::NotOffered => "choose another seller or another request; this one is not offered",
            Self::Certificate => {
                "have a person find out whose certificate that is; nothing is sent to a server that \
                 cannot say who it is"
            }
            Self::Proxy => "mend the setup of the proxy",
            Self::Local => "mend the setup of this machine",
            Self::Final => "let it be; there is nothing left to do",
        })
    }
}
