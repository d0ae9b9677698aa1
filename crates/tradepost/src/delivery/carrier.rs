//! Ways to destinations: a letter goes one, once, and what became of it is one of few things.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tradepost_dealer::delivery::{DeliveryContent, MessageFormat, WrittenMessage, write};
use tradepost_dealer::settings::DealerSettings;
use tradepost_server::clock::Clock;

use super::http::HttpCarrier;
use super::smtp::SmtpCarrier;
use crate::config::delivery::{DeliveryConfig, DeliveryMethod};

/// What is sent.
#[derive(Clone)]
pub struct Letter {
    /// By which the receiver knows it again.
    pub id: String,
    /// How often it was begun to be sent, this time included.
    pub attempt: u32,
    /// What it says.
    pub written: WrittenMessage,
}

impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Letter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Letter {
    /// Writes a parcel in the form that a destination reads.
    #[must_use]
    pub fn of(parcel: &DeliveryContent<'_>, form: &MessageFormat, dealer: &DealerSettings) -> Self {
        let written = write(form, parcel, dealer);
        Self { id: parcel.id.to_owned(), attempt: parcel.attempt, written }
    }
}

/// What a failed attempt means for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// The receiver has not taken it, and never will.
    Refused,
    /// It has not taken it, and may later.
    Later,
    /// It may have taken it: nobody knows.
    Doubtful,
}

/// Why a letter was not taken, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFailed {
    /// What was answered, in short and in our words, or why there was no answer.
    pub answer: String,
    /// What it means.
    pub verdict: AttemptVerdict,
    /// How long the receiver asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl AttemptVerdict {
    /// A failure that means this.
    #[must_use]
    pub fn of(self, answer: impl Into<String>) -> AttemptFailed {
        AttemptFailed { answer: answer.into(), verdict: self, retry_after: None }
    }
}

/// Carries letters.
pub trait DeliveryCarrier: Send + Sync + fmt::Debug {
    /// Carries one, once. Returns what was answered, in short.
    fn carry(&self, letter: Letter) -> BoxFuture<'_, Result<String, AttemptFailed>>;

    /// Goes as far on the way as can be gone without sending anything. Returns how far that was.
    fn knock(&self) -> BoxFuture<'_, Result<&'static str, AttemptFailed>>;
}

/// Sets a way up, and reads the secrets that it needs.
///
/// # Errors
/// Why it cannot be used, with the key of the configuration and without any secret.
pub fn open(delivery: &DeliveryConfig, clock: &Clock) -> Result<Arc<dyn DeliveryCarrier>, String> {
    Ok(match &delivery.by {
        DeliveryMethod::Http(http) => Arc::new(HttpCarrier::open(http, delivery.timeout, clock)?),
        DeliveryMethod::Smtp(smtp) => Arc::new(SmtpCarrier::open(smtp, delivery.timeout, clock)?),
    })
}
