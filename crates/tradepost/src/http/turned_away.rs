//! What a publisher's callers hear when a request is turned away before it reaches a tool: a
//! JSON-RPC error of the numbers that AdCP reserves, with the error object in `data` (AdCP transport
//! errors, "MCP Binding"), and the HTTP status that says the same. Both bindings say it alike.

use axum::http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use tradepost_publisher::publisher;
use tradepost_publisher::refuse;
use tradepost_publisher::shelf::Broken;
use tradepost_publisher::world::Wait;
use tradepost_wire::adcp::error::{Code, Error, Release};
use tradepost_wire::adcp::signing::Fault;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::jsonrpc::Id;

use super::answers::{self, Parcel, unstamped};
use super::json_response;
use super::observe::Stamp;
use crate::adcp::seller::PublisherAgent;
use crate::auth::Denied;

/// The number of an error for which AdCP reserves none: JSON-RPC leaves it to the server.
const SERVER_ERROR: i32 = -32000;

/// An answer in place of a tool's.
pub(super) struct TurnedAway {
    status: StatusCode,
    number: i32,
    error: Error,
    challenge: Option<String>,
    error_id: Option<String>,
}

impl TurnedAway {
    fn new(status: StatusCode, error: Error) -> Self {
        let row = error.code.known();
        let number = row.and_then(Code::jsonrpc).unwrap_or(SERVER_ERROR);
        Self { status, number, error, challenge: None, error_id: None }
    }

    /// Somebody who is not let in.
    pub(super) fn denied(agent: &PublisherAgent, denied: Denied) -> Self {
        let challenge = agent.auth.challenge(&denied);
        let unauthenticated = |code, message| Self {
            challenge,
            ..Self::new(StatusCode::UNAUTHORIZED, refuse::error(code, message))
        };
        match denied {
            Denied::Missing => {
                let message = "this needs a credential; send one in the Authorization header";
                unauthenticated(Code::AuthMissing, message)
            }
            Denied::Invalid { .. } => {
                let message = "the credential is not accepted; ask the seller for a valid one";
                unauthenticated(Code::AuthInvalid, message)
            }
            Denied::Expired => {
                let message = "the credential has expired; get a new one";
                unauthenticated(Code::AuthInvalid, message)
            }
            Denied::Signature(Fault::Required) => {
                let message = "this has to be signed (RFC 9421); sign it with a key that your \
                               operator publishes, or send another credential where one is enough";
                unauthenticated(Code::AuthMissing, message)
            }
            Denied::Signature(_) => {
                let message = "the request's signature is not believed; WWW-Authenticate says what \
                               is wrong: sign the request anew";
                unauthenticated(Code::AuthInvalid, message)
            }
            Denied::Scope { .. } => {
                let message = "the credential does not permit this";
                let error = refuse::error(Code::PermissionDenied, message);
                Self::new(StatusCode::FORBIDDEN, error)
            }
            Denied::Limited(refusal) => {
                let seconds = refusal.details.get("retry_after_seconds").and_then(Value::as_u64);
                let mut error = refuse::error(
                    Code::RateLimited,
                    "too many attempts with credentials that are not accepted; wait and send a \
                     valid one",
                );
                let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
                error.retry_after = Some(seconds.unwrap_or(60).clamp(1, 3600));
                Self::new(StatusCode::TOO_MANY_REQUESTS, error)
            }
            Denied::Unavailable(fault) => {
                let broken = Broken::new("finding out who calls", fault.chain());
                let error_id = agent.publisher.world.report(&broken);
                let error = refuse::with(refuse::broke(), "error_id", error_id.clone());
                Self {
                    error_id: Some(error_id),
                    ..Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
                }
            }
        }
    }

    /// Somebody who comes too often for what reaches no tool.
    pub(super) fn too_often(wait: Wait) -> Self {
        let error = refuse::rate_limited(wait, "account");
        Self::new(StatusCode::TOO_MANY_REQUESTS, error)
    }

    /// The answer to a request with this id and these arguments: the code is one that the named
    /// release has (`D-6`), and the context comes back (`X-2`).
    pub(super) fn respond(mut self, id: &Id, arguments: Option<&Map<String, Value>>) -> Parcel {
        self.error.pin(arguments.map_or(Release::V3_1, publisher::release));
        let context = arguments.and_then(|arguments| arguments.get("context"));
        let data = match context.filter(|context| publisher::may_be_repeated(context)) {
            None => json!({"adcp_error": self.error}),
            Some(context) => json!({"adcp_error": self.error, "context": context}),
        };
        let error = json!({"code": self.number, "message": self.error.message, "data": data});
        let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
        let mut response = json_response(self.status, answers::json(&body));
        let headers = response.headers_mut();
        let challenge = self.challenge.and_then(|text| HeaderValue::from_str(&text).ok());
        if let Some(value) = challenge {
            headers.insert(header::WWW_AUTHENTICATE, value);
        }
        if let Some(seconds) = self.error.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        let code = self.error.code.known().map_or("OK", Code::name);
        (response, Stamp { code, error_id: self.error_id, ..unstamped() })
    }
}
