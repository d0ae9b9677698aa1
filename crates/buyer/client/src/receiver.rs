//! Receiver of push deliveries of A2A and AdCP: a router that accepts authentic ones, stores each once, and
//! answers 200 only after it is stored.
//!
//! [`authentic`] checks deliveries, [`delivery`] reads them and finds duplicates, an [`Inbox`] stores them,
//! and [`mod@poll`] asks for missing ones.
//!
//! | status | when |
//! |---|---|
//! | 200 | it is stored, now or before; or it was a challenge, which is answered |
//! | 400 | its body broke off, or it is authentic and no delivery; for an AdCP webhook the problems are listed |
//! | 401 | it is not authentic; only for AdCP's signatures the reason is given |
//! | 408 | its body did not arrive in time |
//! | 409 | its key was used for another webhook of the same sender |
//! | 413, 415 | it is too large, or of another media type |
//! | 503 | it could not be stored, or its signer cannot be determined at the moment: send it again |

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;
use tradepost_adcp::signing::{SignatureError, SignedKind};
use tradepost_document::fault::is_timeout;
use tradepost_document::http::MediaType;
use tradepost_document::json::json;

pub mod authentic;
pub mod delivery;
pub mod metrics;
pub mod poll;
mod signature;
pub mod webhooks;

use authentic::{Authenticity, DeliveryDenied, DeliveryEnvelope};
use delivery::{KnownTask, NoDelivery, PushDelivery, ReceivedDelivery};
use metrics::ReceiverMetrics;

/// Media type of a delivery (A2A §4.3.3).
pub const MEDIA_TYPE: &str = "application/a2a+json";

/// Default maximum size of a delivery, in bytes.
pub const MAX_BODY: usize = 1024 * 1024;

/// Stores deliveries. The functions may block on a disk; the receiver calls them on threads for blocking work.
pub trait Inbox: fmt::Debug + Send + Sync + 'static {
    /// Stores a delivery, unless those of its task that are stored already cover it. It is durable on return.
    ///
    /// # Errors
    /// When the delivery could not be stored.
    fn put(&self, delivery: &PushDelivery) -> Result<Put, DeliveryNotKept>;

    /// Returns what is stored of a sender's task.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn known(&self, sender: &str, task_id: &str) -> Result<KnownTask, DeliveryNotKept>;
}

/// Result of storing a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Put {
    /// New, and stored.
    New,
    /// Stored before, or covered by stored deliveries that say the same.
    Duplicate,
    /// Not stored: its sender has used its key for another delivery, which stays stored.
    Conflict,
}

/// Error of a delivery that could not be stored. The cause is for the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DeliveryNotKept(pub String);

/// Calls an inbox on a thread for blocking work.
async fn within<T: Send + 'static>(
    inbox: &Arc<dyn Inbox>,
    ask: impl FnOnce(&dyn Inbox) -> Result<T, DeliveryNotKept> + Send + 'static,
) -> Result<T, DeliveryNotKept> {
    let inbox = Arc::clone(inbox);
    let asked = tokio::task::spawn_blocking(move || ask(&*inbox)).await;
    asked.unwrap_or_else(|error| Err(DeliveryNotKept(error.to_string())))
}

/// Receives deliveries.
pub struct Receiver {
    /// Store of deliveries.
    pub inbox: Arc<dyn Inbox>,
    /// Checks of deliveries.
    pub authenticity: Authenticity,
    /// Maximum size of a delivery, in bytes.
    pub max_body: usize,
    /// Time within which a body must arrive.
    pub patience: Duration,
    /// Clock.
    pub now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// Counters.
    pub metrics: Arc<ReceiverMetrics>,
    /// Called when a delivery has been stored.
    pub kept: Box<dyn Fn() + Send + Sync>,
    /// Called with the code of a delivery that was not accepted, if AdCP has one; for the log.
    pub refused: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

/// Creates a router that accepts deliveries at `path` (beginning with a slash) and nothing else.
pub fn router(path: &str, receiver: Arc<Receiver>) -> Router {
    Router::new()
        .route(path, post(receive))
        .fallback(async || status(StatusCode::NOT_FOUND))
        .with_state(receiver)
}

async fn receive(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let metrics = &receiver.metrics;
    let rejection = match receiver.accept(request).await {
        Ok(response) => return response,
        Err(rejection) => rejection,
    };
    if let Some(code) = rejection.code() {
        (receiver.refused)(&code);
    }
    let (outcome, count) = match &rejection {
        DeliveryRejection::Denied(DeliveryDenied::Unproven | DeliveryDenied::Signature(_)) => {
            (StatusCode::UNAUTHORIZED, &metrics.unauthentic)
        }
        DeliveryRejection::Denied(DeliveryDenied::Later(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, &metrics.unkept)
        }
        DeliveryRejection::Slow => (StatusCode::REQUEST_TIMEOUT, &metrics.unreadable),
        DeliveryRejection::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, &metrics.unreadable),
        DeliveryRejection::Broken => (StatusCode::BAD_REQUEST, &metrics.unreadable),
        DeliveryRejection::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, &metrics.unreadable),
        // The sender must not retry a signed body that can be read in two ways, as with a wrong signature.
        DeliveryRejection::Unreadable(NoDelivery::Ambiguous) => {
            (StatusCode::UNAUTHORIZED, &metrics.unreadable)
        }
        DeliveryRejection::Unreadable(_) => (StatusCode::BAD_REQUEST, &metrics.unreadable),
        DeliveryRejection::Conflict => (StatusCode::CONFLICT, &metrics.conflicts),
        DeliveryRejection::Unkept => (StatusCode::SERVICE_UNAVAILABLE, &metrics.unkept),
    };
    count.add();
    let mut response =
        if let DeliveryRejection::Unreadable(NoDelivery::Webhook(webhook)) = &rejection {
            let problems = webhook.problems.listed();
            with_body(outcome, &json!({"code": webhook.code(), "problems": problems}))
        } else {
            status(outcome)
        };
    if outcome == StatusCode::UNAUTHORIZED {
        let challenge = rejection.code().map(|code| format!("Signature error=\"{code}\""));
        let challenge = challenge.and_then(|text| HeaderValue::from_str(&text).ok());
        let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Reason why a delivery is not accepted.
enum DeliveryRejection {
    Denied(DeliveryDenied),
    Slow,
    TooLarge,
    /// The body broke off, or could not be read.
    Broken,
    MediaType,
    Unreadable(NoDelivery),
    Conflict,
    Unkept,
}

impl DeliveryRejection {
    /// Returns AdCP's code for the reason, if there is one.
    fn code(&self) -> Option<String> {
        match self {
            Self::Denied(denied) => denied.code(),
            Self::Unreadable(NoDelivery::Ambiguous) => {
                Some(SignatureError::BodyMalformed.code(SignedKind::Webhook))
            }
            Self::Unreadable(NoDelivery::Webhook(webhook)) => Some(webhook.code().to_owned()),
            Self::Conflict => Some("idempotency_conflict".to_owned()),
            Self::Unreadable(NoDelivery::Other(_))
            | Self::Slow
            | Self::TooLarge
            | Self::Broken
            | Self::MediaType
            | Self::Unkept => None,
        }
    }
}

impl Receiver {
    /// Checks a delivery and stores it, or answers a challenge. Returns the response, or the reason for a refusal.
    async fn accept(&self, request: Request) -> Result<Response, DeliveryRejection> {
        let (parts, body) = request.into_parts();
        // Checked before the body is read.
        if !self.authenticity.may_send(&parts.headers) {
            return Err(DeliveryRejection::Denied(DeliveryDenied::Unproven));
        }
        if !is_delivery(&parts.headers) {
            return Err(DeliveryRejection::MediaType);
        }
        let body = Limited::new(body, self.max_body).collect();
        let body =
            tokio::time::timeout(self.patience, body).await.map_err(|_| DeliveryRejection::Slow)?;
        let body = match body {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(DeliveryRejection::TooLarge);
            }
            Err(error) if is_timeout(&*error) => return Err(DeliveryRejection::Slow),
            Err(_) => return Err(DeliveryRejection::Broken),
        };
        let now = (self.now)();
        let envelope = DeliveryEnvelope {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
            body: &body,
        };
        let pass =
            self.authenticity.check(&envelope, now).await.map_err(DeliveryRejection::Denied)?;
        let delivery = match ReceivedDelivery::read(&body, &pass.sender, now)
            .map_err(DeliveryRejection::Unreadable)?
        {
            ReceivedDelivery::Delivery(delivery) => delivery,
            ReceivedDelivery::Challenge(challenge) => {
                return Ok(with_body(StatusCode::OK, &json!({"challenge": challenge})));
            }
        };
        let put = within(&self.inbox, move |inbox| inbox.put(&delivery)).await;
        let put = put.map_err(|_| {
            // A sender without an answer sends the delivery again, perhaps with the same signature.
            self.authenticity.release(&pass);
            DeliveryRejection::Unkept
        })?;
        match put {
            Put::New => {
                (self.kept)();
                self.metrics.kept.add();
            }
            Put::Duplicate => self.metrics.duplicates.add(),
            Put::Conflict => return Err(DeliveryRejection::Conflict),
        }
        Ok(status(StatusCode::OK))
    }
}

/// Returns true for the media type of a delivery; A2A before 1.0 used `application/json`.
fn is_delivery(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = MediaType::new(value.unwrap_or_default());
    kind.is(MEDIA_TYPE) || kind.is("application/json")
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn with_body(outcome: StatusCode, document: &tradepost_document::json::Value) -> Response {
    let mut response = status(outcome);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    *response.body_mut() = document.to_string().into();
    response
}
