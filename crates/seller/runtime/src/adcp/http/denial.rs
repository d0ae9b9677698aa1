//! Refusals of requests to a publisher before they reach a tool: a JSON-RPC error with a number
//! that AdCP reserves and the error object in `data` (AdCP transport errors, "MCP Binding"), with
//! the matching HTTP status. Both bindings use the same form.

use std::time::Duration;

use axum::http::StatusCode;
use tradepost_a2a::jsonrpc::Id;
use tradepost_a2a::status::RpcStatus;
use tradepost_adcp::error::{AdcpCode, AdcpError, AdcpRelease};
use tradepost_adcp::signing;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, object};
use tradepost_publisher::refusals;
use tradepost_publisher::services::LimitWait;
use tradepost_publisher::{order, tool_call};
use tradepost_server::agent::{ErrorProperties, ProfileRefusal, ResponsibleParty};
use tradepost_server::auth::AuthRefusal;
use tradepost_server::http::LoggedResponse;
use tradepost_server::http::answers::ErrorWriter as _;
use tradepost_server::http::jsonrpc::RpcErrors;
use tradepost_server::limit::RateLimitExceeded;

use crate::adcp::field_errors;
use crate::adcp::identity::{self, SenderRefusal};
use crate::adcp::seller::PublisherAgent;

/// JSON-RPC error number of errors for which AdCP reserves none; the range is the server's.
const SERVER_ERROR: i32 = -32000;

/// Domain of the error codes.
const DOMAIN: &str = "adcontextprotocol.org";

/// Answer in place of a tool's.
pub(super) struct Denial {
    status: StatusCode,
    number: i32,
    error: AdcpError,
    challenge: Option<String>,
    error_id: Option<String>,
}

impl Denial {
    fn new(status: StatusCode, error: AdcpError) -> Self {
        let row = error.code.known();
        let number = row.and_then(AdcpCode::jsonrpc).unwrap_or(SERVER_ERROR);
        Self { status, number, error, challenge: None, error_id: None }
    }

    /// Refuses an unauthenticated caller.
    pub(super) fn refused(agent: &PublisherAgent, refused: SenderRefusal) -> Self {
        let challenge = match &refused {
            // Only the code, which is public.
            SenderRefusal::Signature(fault) => Some(identity::challenge(*fault)),
            SenderRefusal::Denied(denied) => agent.auth.challenge(denied),
        };
        let (code, message) = match refused {
            SenderRefusal::Signature(signing::SignatureError::Required) => (
                AdcpCode::AuthMissing,
                "this has to be signed (RFC 9421); sign it with a key that your operator publishes, \
                 or send another credential where one is enough",
            ),
            SenderRefusal::Signature(_) => (
                AdcpCode::AuthInvalid,
                "the request's signature is not believed; WWW-Authenticate says what is wrong: sign \
                 the request anew",
            ),
            SenderRefusal::Denied(AuthRefusal::Missing) => (
                AdcpCode::AuthMissing,
                "this needs a credential; send one in the Authorization header",
            ),
            SenderRefusal::Denied(AuthRefusal::Invalid { .. }) => (
                AdcpCode::AuthInvalid,
                "the credential is not accepted; ask the seller for a valid one",
            ),
            SenderRefusal::Denied(AuthRefusal::Expired) => {
                (AdcpCode::AuthInvalid, "the credential has expired; get a new one")
            }
            SenderRefusal::Denied(AuthRefusal::Scope { .. } | AuthRefusal::Page) => {
                let message = "the credential does not permit this";
                let error = refusals::error(AdcpCode::PermissionDenied, message);
                return Self::new(StatusCode::FORBIDDEN, error);
            }
            SenderRefusal::Denied(AuthRefusal::Limited(RateLimitExceeded { wait, .. })) => {
                let message = "too many attempts with credentials that are not accepted; wait and \
                               send a valid one";
                let error = refusals::error(AdcpCode::RateLimited, message).with_wait(wait);
                return Self::new(StatusCode::TOO_MANY_REQUESTS, error);
            }
            SenderRefusal::Denied(AuthRefusal::Unavailable(fault)) => {
                let broken = InternalError::new("finding out who calls", fault.chain());
                let error_id = agent.publisher().services.report(&broken);
                let error = refusals::internal_error().with("error_id", error_id.clone());
                let denial = Self::new(StatusCode::SERVICE_UNAVAILABLE, error);
                return Self { error_id: Some(error_id), ..denial };
            }
        };
        Self { challenge, ..Self::new(StatusCode::UNAUTHORIZED, refusals::error(code, message)) }
    }

    /// Refuses a caller that exceeds the rate limit of requests that reach no tool.
    pub(super) fn too_often(wait: LimitWait) -> Self {
        let error = refusals::rate_limited(wait, "account");
        Self::new(StatusCode::TOO_MANY_REQUESTS, error)
    }

    /// Answers the A2A request with this id and these arguments.
    pub(super) fn respond(self, id: &Id, arguments: Option<&Map>) -> LoggedResponse {
        RpcErrors(id).profile(*self.refusal(arguments))
    }

    /// Returns the refusal of a request with these arguments: with a code that exists in the named
    /// release and with the request's context (AdCP 3.1 `error-handling`; `D-6`, `X-2`).
    pub(super) fn refusal(mut self, arguments: Option<&Map>) -> Box<ProfileRefusal> {
        self.error.pin(arguments.map_or(AdcpRelease::V3_1, order::release));
        let context = arguments.and_then(|arguments| arguments.get("context"));
        let context = context.filter(|context| tool_call::may_be_repeated(context));
        let document = object!({"adcp_error": self.error, "context"?: context});
        let document = tradepost_document::json::to_raw_value(&document)
            .unwrap_or_else(|_| unreachable!("an object has text keys and no NaN"));
        let code = self.error.code.known();
        let row = ErrorProperties {
            name: code.map_or("OK", AdcpCode::name),
            domain: DOMAIN,
            jsonrpc: self.number,
            http: self.status.as_u16(),
            grpc: RpcStatus::Unknown,
        };
        let limited = code == Some(AdcpCode::RateLimited);
        Box::new(ProfileRefusal {
            row,
            skill: None,
            message: self.error.message.clone(),
            summary: self.error.message,
            document,
            document_type: "adcp_error",
            metadata: Vec::new(),
            error_id: self.error_id.or_else(|| Some(field_errors::fresh_id())),
            wait: self.error.retry_after.map(|seconds| Duration::from_secs(seconds.into())),
            jsonrpc_status: Some(self.status.as_u16()),
            challenge: self.challenge,
            extension: None,
            blame: if limited { ResponsibleParty::TooOften } else { ResponsibleParty::Caller },
            misfits: Vec::new(),
        })
    }
}
