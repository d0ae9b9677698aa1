//! `PUT /feeds/NAME`: upload of a feed with an API key. The key has to name the permission; a key that
//! permits everything was made for buyers.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::put;
use futures_util::StreamExt as _;
use tradepost_document::fault::is_timeout;
use tradepost_document::json::{Value, json};
use tradepost_server::agent::SharedAgent;
use tradepost_server::auth::AuthRefusal;
use tradepost_server::background::piece;
use tradepost_server::fault::InternalError;
use tradepost_server::http::{deny, host, intake, json_response, not_found};
use tradepost_server::permission::{Permission, Scopes};
use tradepost_server::registry::AgentRegistry;
use tradepost_store::{FeedOutcome, FeedRun};

use super::run::FeedResultSink;
use super::spool::{FeedNotKept, Spool};
use super::{FeedSource, Feeds, run};
use crate::config::feeds::FeedOrigin;
use crate::gate::KeyScope;

/// Maximum duration of an upload.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(10);

/// Returns the route.
pub fn routes(feeds: Arc<Feeds>) -> Router<Arc<AgentRegistry>> {
    let take = move |registry, path, request| take(Arc::clone(&feeds), registry, path, request);
    Router::new().route("/feeds/{name}", put(take))
}

/// Refusal of an upload: HTTP status, error name and message.
struct UploadRefused(StatusCode, &'static str, String);

async fn take(
    feeds: Arc<Feeds>,
    State(registry): State<Arc<AgentRegistry>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let Some(agent) = registry.agent(host(request.uri(), request.headers())) else {
        return not_found().await;
    };
    // The path must be unescaped, so that a proxy in front sees the feed's name.
    if request.uri().path() != format!("/feeds/{name}") {
        return not_found().await;
    }
    let (parts, body) = request.into_parts();
    // A host without feeds answers "not found" to all callers.
    let sources = feeds.sources();
    let of_agent = |source: &&Arc<FeedSource>| {
        source.id() == agent.id() && matches!(source.feed.from, FeedOrigin::Upload { .. })
    };
    if !sources.iter().any(|source| of_agent(&source)) {
        return not_found().await;
    }
    if let Err(denied) = permitted(&registry, &agent, &parts).await {
        return closed(deny(agent.as_ref(), denied));
    }
    // By name only after the permission check: others cannot find out which feeds there are.
    let found = sources.iter().find(|source| of_agent(source) && source.feed.name == name);
    let Some(source) = found.cloned() else {
        return not_found().await;
    };
    match upload(&feeds, &registry, source, &parts, body).await {
        Ok(run) => answer(&run),
        Err(UploadRefused(status, name, message)) => refusal(status, name, &message),
    }
}

async fn permitted(
    registry: &AgentRegistry,
    agent: &SharedAgent,
    parts: &Parts,
) -> Result<(), AuthRefusal> {
    let caller = intake::caller(registry, agent.as_ref(), parts).await?;
    if caller.principal.is_anonymous() {
        return Err(AuthRefusal::Missing);
    }
    let missing = Permission::from(KeyScope::FeedWrite);
    match &caller.principal.scopes {
        Scopes::Only(held) if held.contains(&missing) => Ok(()),
        Scopes::Only(_) | Scopes::All | Scopes::Reading => Err(AuthRefusal::Scope { missing }),
    }
}

async fn upload(
    feeds: &Arc<Feeds>,
    registry: &AgentRegistry,
    source: Arc<FeedSource>,
    parts: &Parts,
    body: Body,
) -> Result<FeedRun, UploadRefused> {
    let most = match source.feed.from {
        FeedOrigin::Upload { max_bytes } => max_bytes,
        FeedOrigin::Folder(_) | FeedOrigin::Pull(_) => 0,
    };
    let declared = parts.headers.get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: u64| length > most) {
        return Err(too_large(most));
    }
    // Two limits: one for a body that stops, one for a body that is slow.
    let received = receive(body, most, registry.settings.read_timeout);
    let late = |_| {
        UploadRefused(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", "the upload took too long".to_owned())
    };
    let file = tokio::time::timeout(UPLOAD_TIMEOUT, received).await.map_err(late)??;
    let worker = Arc::clone(feeds);
    let work = move || {
        let store = &worker.store;
        let clock = &worker.clock;
        let guard = source.feed.guard;
        let run = run::leased(store, clock, &[source.id()], || {
            FeedResultSink { store, clock, source: &source }.bytes(file, "upload", guard, None)
        })?;
        if let Some(run) = &run {
            worker.finished(run);
        }
        Ok::<_, InternalError>(run)
    };
    match piece("taking an upload", work).await {
        Some(Ok(Some(run))) => Ok(run),
        Some(Ok(None)) => {
            let message = "another feed of this dealer is being taken; send it again in a moment";
            Err(UploadRefused(StatusCode::CONFLICT, "BUSY", message.to_owned()))
        }
        Some(Err(fault)) => {
            tracing::error!(cause = %fault.chain(), "an uploaded feed could not be taken");
            Err(broken())
        }
        None => Err(broken()),
    }
}

/// Writes a body to the disk as it arrives.
async fn receive(body: Body, most: u64, timeout: Duration) -> Result<File, UploadRefused> {
    let unkept = |unkept: FeedNotKept| match unkept {
        FeedNotKept::TooLarge(most) => too_large(most),
        FeedNotKept::Disk(error) => {
            tracing::error!(cause = %error, "an uploaded feed could not be kept");
            broken()
        }
    };
    let mut spool = Spool::new(most).map_err(unkept)?;
    let mut stream = body.into_data_stream();
    let late = |_| {
        UploadRefused(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", "the body did not go on".to_owned())
    };
    while let Some(chunk) = tokio::time::timeout(timeout, stream.next()).await.map_err(late)? {
        let chunk = chunk.map_err(|error| match is_timeout(&error) {
            true => {
                let message = "the body came too slowly".to_owned();
                UploadRefused(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", message)
            }
            false => {
                let message = "the body ended early".to_owned();
                UploadRefused(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
            }
        })?;
        spool.take(&chunk).map_err(unkept)?;
    }
    spool.finish().map_err(unkept)
}

fn too_large(most: u64) -> UploadRefused {
    let message = format!("the feed is larger than the {most} bytes that are taken");
    UploadRefused(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message)
}

fn broken() -> UploadRefused {
    let message = "the feed could not be taken; send it again later".to_owned();
    UploadRefused(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
}

fn answer(run: &FeedRun) -> Response {
    let status = match run.outcome {
        FeedOutcome::Taken => StatusCode::OK,
        FeedOutcome::Held => StatusCode::CONFLICT,
        FeedOutcome::Unreadable => StatusCode::UNPROCESSABLE_ENTITY,
        FeedOutcome::Failed => StatusCode::SERVICE_UNAVAILABLE,
    };
    let report: Value = tradepost_document::json::from_str(&run.report).unwrap_or_default();
    let body = json!({
        "run_id": run.run_id,
        "outcome": run.outcome.to_string(),
        "message": run.message,
        "inventory": report.get("inventory"),
        "report": report.get("report"),
    });
    json_response(status, body.to_string())
}

fn refusal(status: StatusCode, name: &str, message: &str) -> Response {
    let error = json!({"code": status.as_u16(), "status": name, "message": message});
    closed(json_response(status, json!({"error": error}).to_string()))
}

/// Closes the connection, because the unread body would be read as the next request.
fn closed(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
