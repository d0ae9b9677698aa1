//! Carriers, which send messages to destinations. A message is sent once, and a failure has one of three
//! verdicts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliveryContent, MessageFormat, WrittenMessage, sample, write};
use tradepost_dealer::settings::DealerSettings;
use tradepost_server::clock::Clock;

use super::http::HttpCarrier;
use super::smtp::SmtpCarrier;
use crate::config::delivery::{DeliveryConfig, DeliveryMethod};

/// A message to be sent.
#[derive(Clone)]
pub struct OutgoingMessage {
    /// Idempotency key, by which the receiver recognises a repeated message.
    pub id: String,
    /// Number of attempts, this one included.
    pub attempt: u32,
    /// Subject and body.
    pub written: WrittenMessage,
}

impl fmt::Debug for OutgoingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingMessage").field("id", &self.id).finish_non_exhaustive()
    }
}

impl OutgoingMessage {
    /// Writes a delivery in the format of its destination.
    #[must_use]
    pub fn new(
        content: &DeliveryContent<'_>,
        form: &MessageFormat,
        dealer: &DealerSettings,
    ) -> Self {
        let written = write(form, content, dealer);
        Self { id: content.id.to_owned(), attempt: content.attempt, written }
    }

    /// Writes a delivery of a sample lead, which is marked as a test everywhere.
    #[must_use]
    pub fn sample(id: &str, form: &MessageFormat, dealer: &DealerSettings, now: Timestamp) -> Self {
        let (lead, event) = sample::lead(dealer, id.to_owned(), now);
        let content = DeliveryContent {
            lead: &lead,
            event: &event,
            same_person: &[],
            id,
            attempt: 1,
            is_resent: false,
            is_test: true,
            now,
        };
        Self::new(&content, form, dealer)
    }
}

/// Consequence of a failed attempt for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// The receiver has refused the message for good.
    Refused,
    /// The receiver has not accepted the message, and may accept it later.
    Later,
    /// The receiver may have the message, or not.
    InDoubt,
}

/// A failed attempt, with the reason as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFailed {
    /// Short answer in our own words, or the reason why there was none.
    pub answer: String,
    /// Consequence for the next attempt.
    pub verdict: AttemptVerdict,
    /// Delay that the receiver asks for.
    pub retry_after: Option<Duration>,
}

impl AttemptVerdict {
    /// Creates a failure with this verdict.
    #[must_use]
    pub fn failure(self, answer: impl Into<String>) -> AttemptFailed {
        AttemptFailed { answer: answer.into(), verdict: self, retry_after: None }
    }
}

/// Sends messages to one destination.
pub trait DeliveryCarrier: Send + Sync + fmt::Debug {
    /// Sends a message once. Returns a short form of the answer.
    fn carry(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<String, AttemptFailed>>;

    /// Checks the connection without sending anything. Returns a description of the result.
    fn test_connection(&self) -> BoxFuture<'_, Result<&'static str, AttemptFailed>>;
}

/// Creates the carrier of a destination, and reads the secrets that it needs.
///
/// # Errors
/// When it cannot be used: the reason, with the key of the configuration and without any secret.
pub fn open(delivery: &DeliveryConfig, clock: &Clock) -> Result<Arc<dyn DeliveryCarrier>, String> {
    Ok(match &delivery.by {
        DeliveryMethod::Http(http) => Arc::new(HttpCarrier::open(http, delivery.timeout, clock)?),
        DeliveryMethod::Smtp(smtp) => Arc::new(SmtpCarrier::open(smtp, delivery.timeout, clock)?),
    })
}

/// Refusal of a test by a destination.
#[derive(Debug)]
pub enum TestRefused {
    /// The destination cannot be used: the reason, without any secret.
    Unusable(String),
    /// The destination did not accept the test: its answer.
    NotAccepted(String),
}

impl TestRefused {
    /// Returns the reason or the answer.
    #[must_use]
    pub fn into_text(self) -> String {
        match self {
            Self::Unusable(text) | Self::NotAccepted(text) => text,
        }
    }
}

/// Sends a test to a destination, once and at once. `outgoing` creates the message from an id and
/// the time. Returns the answer.
///
/// # Errors
/// When the destination cannot be used, or does not accept the test.
pub async fn send_test(
    delivery: &DeliveryConfig,
    clock: &Clock,
    outgoing: impl FnOnce(String, Timestamp) -> OutgoingMessage,
) -> Result<String, TestRefused> {
    let carrier = open(delivery, clock).map_err(TestRefused::Unusable)?;
    let id = format!("test_{}", uuid::Uuid::now_v7().simple());
    let outgoing = outgoing(id, clock.now());
    carrier.carry(outgoing).await.map_err(|failed| TestRefused::NotAccepted(failed.answer))
}

/// Sends a sample lead to a destination, once and at once. Returns its answer.
///
/// # Errors
/// The reason, without any secret, when the destination cannot be used or does not accept it.
pub async fn send_sample(
    dealer: &DealerSettings,
    delivery: &DeliveryConfig,
    clock: &Clock,
) -> Result<String, String> {
    let form = &delivery.destination.form;
    let sample = |id: String, now| OutgoingMessage::sample(&id, form, dealer, now);
    send_test(delivery, clock, sample).await.map_err(TestRefused::into_text)
}
