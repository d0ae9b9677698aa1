//! Receiving push deliveries, of A2A and of AdCP: a router that lets authentic ones in, keeps each
//! once, and says yes only when it is kept.
//!
//! What is authentic is in [`authentic`], what a delivery is and which ones say the same in
//! [`delivery`], where they are kept is an [`Inbox`], and [`mod@poll`] asks for what never came.
//!
//! | status | when |
//! |---|---|
//! | 200 | it is kept, now or since before; or it was a challenge, which is answered |
//! | 400 | its body broke off, or it is authentic and no delivery; what is wrong with a webhook of AdCP is said |
//! | 401 | it is not authentic; only of AdCP's signatures is said what is wrong |
//! | 408 | its body did not arrive in time |
//! | 409 | its key was used for another webhook of the same sender |
//! | 413, 415 | it is too large, or of another media type |
//! | 503 | it could not be kept, or nobody knows yet whose signature it has: send it again |

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
use tradepost_wire::adcp::signing::{SignatureError, SignedKind};
use tradepost_wire::fault::is_timeout;
use tradepost_wire::http::MediaType;
use tradepost_wire::json::json;

pub mod authentic;
pub mod delivery;
pub mod metrics;
pub mod poll;
mod signature;
pub mod webhooks;

use authentic::{Authenticity, DeliveryDenied, DeliveryEnvelope};
use delivery::{KnownTask, NoDelivery, PushDelivery, ReceivedDelivery};
use metrics::ReceiverMetrics;

/// The media type of a delivery (A2A §4.3.3).
pub const MEDIA_TYPE: &str = "application/a2a+json";

/// The largest delivery, in bytes, unless another limit is set.
pub const MAX_BODY: usize = 1024 * 1024;

/// Keeps deliveries. Its functions may wait for a disk; the receiver calls them where that
/// disturbs nobody.
pub trait Inbox: fmt::Debug + Send + Sync + 'static {
    /// Keeps a delivery, unless what is kept of its task covers it. When this returns it is safe.
    ///
    /// # Errors
    /// When it could not be kept.
    fn put(&self, delivery: &PushDelivery) -> Result<Put, DeliveryNotKept>;

    /// What is kept of a sender's task.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn known(&self, sender: &str, task_id: &str) -> Result<KnownTask, DeliveryNotKept>;
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Put {
    /// It is kept.
    New,
    /// It was kept before, or others that say the same.
    Duplicate,
    /// Its sender has used its key for something else, which stays as it was kept.
    Conflict,
}

/// A delivery could not be kept. The cause is for the log.
#[derive(Debug)]
pub struct DeliveryNotKept(pub String);

impl fmt::Display for DeliveryNotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeliveryNotKept {}

/// Asks an inbox where waiting for a disk disturbs nobody.
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
    /// Where they are kept.
    pub inbox: Arc<dyn Inbox>,
    /// Which ones are believed.
    pub authenticity: Authenticity,
    /// The largest one, in bytes.
    pub max_body: usize,
    /// How long a body may take to arrive.
    pub patience: Duration,
    /// The time.
    pub now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// What happened.
    pub metrics: Arc<ReceiverMetrics>,
    /// Told when a delivery has been kept.
    pub kept: Box<dyn Fn() + Send + Sync>,
    /// Told in one word why a delivery was not taken, where there is one; for the log.
    pub refused: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

/// A router that takes deliveries at `path` (beginning with a slash) and nothing else.
pub fn router(path: &str, receiver: Arc<Receiver>) -> Router {
    Router::new()
        .route(path, post(receive))
        .fallback(async || status(StatusCode::NOT_FOUND))
        .with_state(receiver)
}

async fn receive(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let metrics = &receiver.metrics;
    let no = match receiver.take(request).await {
        Ok(response) => return response,
        Err(no) => no,
    };
    if let Some(code) = no.code() {
        (receiver.refused)(&code);
    }
    let (outcome, count) = match &no {
        NotTaken::Denied(DeliveryDenied::Unproven | DeliveryDenied::Signature(_)) => {
            (StatusCode::UNAUTHORIZED, &metrics.unauthentic)
        }
        NotTaken::Denied(DeliveryDenied::Later(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, &metrics.unkept)
        }
        NotTaken::Slow => (StatusCode::REQUEST_TIMEOUT, &metrics.unreadable),
        NotTaken::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, &metrics.unreadable),
        NotTaken::Broken => (StatusCode::BAD_REQUEST, &metrics.unreadable),
        NotTaken::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, &metrics.unreadable),
        // Whoever signs what can be read in two ways is to give up, as with a wrong signature.
        NotTaken::Unreadable(NoDelivery::Ambiguous) => {
            (StatusCode::UNAUTHORIZED, &metrics.unreadable)
        }
        NotTaken::Unreadable(_) => (StatusCode::BAD_REQUEST, &metrics.unreadable),
        NotTaken::Conflict => (StatusCode::CONFLICT, &metrics.conflicts),
        NotTaken::Unkept => (StatusCode::SERVICE_UNAVAILABLE, &metrics.unkept),
    };
    count.add();
    let mut response = if let NotTaken::Unreadable(NoDelivery::Webhook(webhook)) = &no {
        let problems = webhook.problems.listed();
        with_body(outcome, &json!({"code": webhook.code(), "problems": problems}))
    } else {
        status(outcome)
    };
    if outcome == StatusCode::UNAUTHORIZED {
        let challenge = no.code().map(|code| format!("Signature error=\"{code}\""));
        let challenge = challenge.and_then(|text| HeaderValue::from_str(&text).ok());
        let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Why a delivery is not taken.
enum NotTaken {
    Denied(DeliveryDenied),
    Slow,
    TooLarge,
    /// The body broke off, or was written wrongly.
    Broken,
    MediaType,
    Unreadable(NoDelivery),
    Conflict,
    Unkept,
}

impl NotTaken {
    /// In one word, where AdCP has one.
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
    async fn take(&self, request: Request) -> Result<Response, NotTaken> {
        let (parts, body) = request.into_parts();
        // Whoever has no token does not get to send a body.
        if !self.authenticity.may_send(&parts.headers) {
            return Err(NotTaken::Denied(DeliveryDenied::Unproven));
        }
        if !is_delivery(&parts.headers) {
            return Err(NotTaken::MediaType);
        }
        let body = Limited::new(body, self.max_body).collect();
        let body = tokio::time::timeout(self.patience, body).await.map_err(|_| NotTaken::Slow)?;
        let body = match body {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(NotTaken::TooLarge),
            Err(error) if is_timeout(&*error) => return Err(NotTaken::Slow),
            Err(_) => return Err(NotTaken::Broken),
        };
        let now = (self.now)();
        let envelope = DeliveryEnvelope {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
            body: &body,
        };
        let pass = self.authenticity.check(&envelope, now).await.map_err(NotTaken::Denied)?;
        let delivery =
            match ReceivedDelivery::read(&body, &pass.sender, now).map_err(NotTaken::Unreadable)? {
                ReceivedDelivery::Delivery(delivery) => delivery,
                ReceivedDelivery::Challenge(challenge) => {
                    return Ok(with_body(StatusCode::OK, &json!({"challenge": challenge})));
                }
            };
        let put = within(&self.inbox, move |inbox| inbox.put(&delivery)).await;
        let put = put.map_err(|_| {
            // A sender that was not told repeats itself, perhaps with the same signature.
            self.authenticity.release(&pass);
            NotTaken::Unkept
        })?;
        match put {
            Put::New => {
                (self.kept)();
                self.metrics.kept.add();
            }
            Put::Duplicate => self.metrics.duplicates.add(),
            Put::Conflict => return Err(NotTaken::Conflict),
        }
        Ok(status(StatusCode::OK))
    }
}

/// Whether the media type is that of a delivery; A2A before 1.0 said `application/json`.
fn is_delivery(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = MediaType::of(value.unwrap_or_default());
    kind.is(MEDIA_TYPE) || kind.is("application/json")
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn with_body(outcome: StatusCode, document: &tradepost_wire::json::Value) -> Response {
    let mut response = status(outcome);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    *response.body_mut() = document.to_string().into();
    response
}
