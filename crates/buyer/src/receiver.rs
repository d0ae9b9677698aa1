//! Receiving push deliveries: a router that lets authentic ones in, keeps each once, and says yes
//! only when it is kept.
//!
//! What is authentic is in [`authentic`], what a delivery is and which ones say the same in
//! [`delivery`], where they are kept is an [`Inbox`], and [`mod@poll`] asks for what never came.
//!
//! | status | when |
//! |---|---|
//! | 200 | it is kept, now or since before |
//! | 400 | it is authentic and no StreamResponse |
//! | 401 | it is not authentic; nothing says why |
//! | 408 | its body did not arrive in time |
//! | 413, 415 | it is too large, or of another media type |
//! | 503 | it could not be kept: send it again |

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use jiff::Timestamp;

pub mod authentic;
pub mod delivery;
pub mod metrics;
pub mod poll;
mod signature;

use authentic::{Authenticity, Envelope};
use delivery::{Delivery, Known, Source};
use metrics::Metrics;

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
    fn put(&self, delivery: &Delivery) -> Result<Put, Unkept>;

    /// What is kept of a task.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn known(&self, task_id: &str) -> Result<Known, Unkept>;
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is kept.
    New,
    /// It was kept before, or others that say the same.
    Duplicate,
}

/// A delivery could not be kept. The cause is for the log.
#[derive(Debug)]
pub struct Unkept(pub String);

impl fmt::Display for Unkept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unkept {}

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
    pub metrics: Arc<Metrics>,
    /// Told when a delivery has been kept.
    pub kept: Box<dyn Fn() + Send + Sync>,
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
    let (outcome, count) = match receiver.take(request).await {
        Ok(Put::New) => (StatusCode::OK, &receiver.metrics.kept),
        Ok(Put::Duplicate) => (StatusCode::OK, &receiver.metrics.duplicates),
        Err(No::Unauthentic) => (StatusCode::UNAUTHORIZED, &receiver.metrics.unauthentic),
        Err(No::Slow) => (StatusCode::REQUEST_TIMEOUT, &receiver.metrics.unreadable),
        Err(No::TooLarge) => (StatusCode::PAYLOAD_TOO_LARGE, &receiver.metrics.unreadable),
        Err(No::MediaType) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, &receiver.metrics.unreadable),
        Err(No::Unreadable) => (StatusCode::BAD_REQUEST, &receiver.metrics.unreadable),
        Err(No::Unkept) => (StatusCode::SERVICE_UNAVAILABLE, &receiver.metrics.unkept),
    };
    count.add();
    let mut response = status(outcome);
    if outcome == StatusCode::UNAUTHORIZED {
        let bearer = header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
    }
    response
}

/// Why a delivery is not taken.
enum No {
    Unauthentic,
    Slow,
    TooLarge,
    MediaType,
    Unreadable,
    Unkept,
}

impl Receiver {
    async fn take(&self, request: Request) -> Result<Put, No> {
        let (parts, body) = request.into_parts();
        // Whoever has no token does not get to send a body.
        if !self.authenticity.may_send(&parts.headers) {
            return Err(No::Unauthentic);
        }
        let body = tokio::time::timeout(self.patience, to_bytes(body, self.max_body)).await;
        let body = body.map_err(|_| No::Slow)?.map_err(|_| No::TooLarge)?;
        let now = (self.now)();
        let envelope = Envelope {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
            body: &body,
        };
        let Some(pass) = self.authenticity.check(&envelope, now) else {
            return Err(No::Unauthentic);
        };
        if !is_delivery(&parts.headers) {
            return Err(No::MediaType);
        }
        let delivery = Delivery::read(&body, Source::Push, now).map_err(|_| No::Unreadable)?;
        let inbox = Arc::clone(&self.inbox);
        let put = tokio::task::spawn_blocking(move || inbox.put(&delivery)).await;
        let put = put.map_err(|_| No::Unkept)?.map_err(|_| No::Unkept)?;
        // A sender that was not told repeats itself; only what is kept is never heard again.
        self.authenticity.spend(pass, now);
        if put == Put::New {
            (self.kept)();
        }
        Ok(put)
    }
}

/// Whether the media type is that of a delivery; A2A before 1.0 said `application/json`.
fn is_delivery(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(MEDIA_TYPE) || essence.eq_ignore_ascii_case("application/json")
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
