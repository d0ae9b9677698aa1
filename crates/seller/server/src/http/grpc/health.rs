//! The standard health service of gRPC (`grpc.health.v1.Health`), which balancers and orchestrators ask. It says what
//! `/readyz` says, of the process (no service named) or of the service of A2A, and asks for no credential either.
//!
//! On the host of an agent whose card does not list the gRPC binding, and on unknown hosts, the service is unknown.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use futures_util::stream;
use hyper::body::Frame;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::protobuf::{self, FieldDescriptor, FieldLabel, FieldType, MessageDescriptor};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::json::{Value, json};

use super::call::{self, Deadline, framed};
use super::errors::{self, GrpcFailure};
use super::stream::{one_message, response};
use super::{SERVICE, called_agent};
use crate::fault::InternalError;
use crate::registry::AgentRegistry;

/// Path prefix of the methods.
const HEALTH_SERVICE: &str = "/grpc.health.v1.Health/";

/// Path of the service, for the router.
pub(in crate::http) const HEALTH_ROUTE: &str = "/grpc.health.v1.Health/{method}";

/// Methods of the service.
const METHODS: [&str; 3] = ["Check", "List", "Watch"];

/// Interval at which the status is read for a caller that watches.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

static SERVING_STATUS: &[(i32, &str)] =
    &[(0, "UNKNOWN"), (1, "SERVING"), (2, "NOT_SERVING"), (3, "SERVICE_UNKNOWN")];

static REQUEST: MessageDescriptor = MessageDescriptor {
    name: "grpc.health.v1.HealthCheckRequest",
    fields: &[FieldDescriptor {
        number: 1,
        name: "service",
        kind: FieldType::Text,
        rule: FieldLabel::Implicit,
    }],
};

static RESPONSE: MessageDescriptor = MessageDescriptor {
    name: "grpc.health.v1.HealthCheckResponse",
    fields: &[FieldDescriptor {
        number: 1,
        name: "status",
        kind: FieldType::Enum(SERVING_STATUS),
        rule: FieldLabel::Implicit,
    }],
};

static LIST_RESPONSE: MessageDescriptor = MessageDescriptor {
    name: "grpc.health.v1.HealthListResponse",
    fields: &[FieldDescriptor {
        number: 1,
        name: "statuses",
        kind: FieldType::Message(&RESPONSE),
        rule: FieldLabel::Map,
    }],
};

/// Returns a path of this service for the log.
pub(super) fn template(path: &str) -> Option<String> {
    let method = path.strip_prefix(HEALTH_SERVICE)?;
    METHODS.contains(&method).then(|| path.to_owned())
}

/// Handles every method of the service.
pub(in crate::http) async fn handle(
    State(registry): State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refused) = called_agent(&registry, &parts).await {
        return *refused;
    }
    answer(&registry, &parts, body).await.unwrap_or_else(|failure| failure.into_logged_response().0)
}

/// Answers a request of the health service.
async fn answer(
    registry: &Arc<AgentRegistry>,
    parts: &Parts,
    body: Body,
) -> Result<Response, GrpcFailure> {
    let invalid =
        |message: &str| GrpcFailure::from(&A2aRefusal::new(A2aCode::InvalidRequest, message));
    let deadline = Deadline::from_headers(&parts.headers).map_err(invalid)?;
    let method = parts.uri.path().strip_prefix(HEALTH_SERVICE).unwrap_or_default();
    if !METHODS.contains(&method) {
        return Err(errors::unknown_service());
    }
    let bytes = call::receive(registry, parts, body).await?;
    let request = protobuf::read(&REQUEST, &bytes).map_err(|reject| invalid(reject.message))?;
    let service = request.get("service").and_then(Value::as_str).unwrap_or_default();
    let is_known = service.is_empty() || service == SERVICE.trim_matches('/');
    match method {
        "Watch" => Ok(watch(Arc::clone(registry), is_known, deadline)),
        "List" => {
            let status = json!({"status": status(registry).await});
            let services = json!({"": status, SERVICE.trim_matches('/'): status});
            Ok(one_message(encoded(&LIST_RESPONSE, &json!({"statuses": services}))))
        }
        _ if is_known => Ok(one_message(checked(status(registry).await))),
        _ => Err(invalid("no service has this name").with_status(RpcStatus::NotFound)),
    }
}

/// Returns the status of this process.
async fn status(registry: &AgentRegistry) -> &'static str {
    if registry.check().await.is_ok() { "SERVING" } else { "NOT_SERVING" }
}

/// Sends the status, and again whenever it has changed, until the process stops or the deadline passes.
fn watch(registry: Arc<AgentRegistry>, is_known: bool, deadline: Deadline) -> Response {
    /// Status that the caller received last; `None` before the first.
    struct LastStatus(Option<&'static str>);
    let next = async move |registry: &AgentRegistry, last_status: Option<&'static str>| loop {
        let now = if is_known { status(registry).await } else { "SERVICE_UNKNOWN" };
        if last_status != Some(now) {
            break Some(now);
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = registry.closing().cancelled() => break None,
        }
    };
    let first = Some((registry, LastStatus(None)));
    response(stream::unfold(first, move |state| async move {
        let (registry, LastStatus(last_status)) = state?;
        let found = deadline.limit(next(&registry, last_status)).await;
        let ended = match found {
            Some(Some(status)) => {
                let frame = Frame::data(framed(&checked(status)));
                return Some((Ok(frame), Some((registry, LastStatus(Some(status))))));
            }
            Some(None) => errors::stopping().into_trailers(),
            None => errors::deadline_exceeded().into_trailers(),
        };
        Some((Ok(Frame::trailers(ended)), None))
    }))
}

fn checked(status: &str) -> Vec<u8> {
    encoded(&RESPONSE, &json!({"status": status}))
}

fn encoded(message: &'static MessageDescriptor, document: &Value) -> Vec<u8> {
    let encoded = protobuf::write(message, document);
    encoded
        .map_err(InternalError::on("writing the health"))
        .unwrap_or_else(|_| unreachable!("a status fits its message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_methods_and_nothing_a_caller_made_up() {
        assert_eq!(
            template("/grpc.health.v1.Health/Check").as_deref(),
            Some("/grpc.health.v1.Health/Check")
        );
        assert_eq!(template("/grpc.health.v1.Health/ada@example.com"), None);
        assert!(HEALTH_ROUTE.starts_with(HEALTH_SERVICE));
    }
}
