//! `/admin/v1`: API to add, change, suspend and remove dealers, and to report the delivery of publishers, on the
//! operators' listener. Its OpenAPI document is `docs/admin-openapi.json`.
//!
//! It requires an administrator's key: keys of dealers are not valid here, and administrators' keys are
//! not valid at a dealer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use tradepost_admin::Actor;
use tradepost_admin::keys::ADMINISTRATORS;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::{MediaType, RetryAfter};
use tradepost_document::json::{self, ReadLimits, Value, json};
use tradepost_document::problem::Problems;
use tradepost_server::auth::{AuthRefusal, AuthSettings, Authenticator, Principal};
use tradepost_server::background::piece;
use tradepost_server::fault::InternalError;
use tradepost_server::http::intake::{self, BodyError, BodyReader, FullBody};
use tradepost_server::http::{json_response, set_retry_after};
use tradepost_server::permission::Permission;
use tradepost_store::HostedState;

use super::{HostingApiRefusal, HostingError, HostingErrorCode};
use crate::config::ServerConfig;
use crate::delivery_table;
use crate::wiring::Wiring;

mod delivery;

pub use delivery::reported_document;

/// The OpenAPI document.
pub const OPENAPI: &str = include_str!("../../../../../docs/admin-openapi.json");

/// Path prefix of the API.
pub const BASE: &str = "/admin/v1";

/// Number of dealers on a page: default and maximum.
const PAGE: (u32, u32) = (100, 1_000);

/// Pause before a request is repeated that failed because of the store.
const RETRY_AFTER: RetryAfter = RetryAfter::new(Duration::from_secs(1));

/// Limits of a document's structure.
const DOCUMENT_LIMITS: ReadLimits =
    ReadLimits { depth: json::MAX_DEPTH, containers: 100_000, reserved: false };

tradepost_document::catalog! {
    /// Permission of an administrator's key.
    pub enum AdminScope {}
    /// List and read dealers.
    DealersRead = "dealers:read" {}
    /// Add, change, suspend and remove dealers.
    DealersWrite = "dealers:write" {}
    /// Report what the media buys of publishers have delivered.
    DeliveryWrite = "delivery:write" {}
}

impl From<AdminScope> for Permission {
    fn from(scope: AdminScope) -> Self {
        Self::new(scope.name())
    }
}

struct Api {
    wiring: Arc<Wiring>,
    authenticator: Authenticator,
    max_body_bytes: usize,
    bodies: BodyReader,
}

/// Returns the routes, if the configuration allows hosted dealers or has publishers.
pub fn router(wiring: &Arc<Wiring>, server: &ServerConfig) -> Option<Router> {
    if !wiring.hosts_dealers() && wiring.publishers.is_empty() {
        return None;
    }
    let policy = AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    let authenticator = Authenticator::open(ADMINISTRATORS, policy, wiring.means());
    let authenticator = authenticator.inspect_err(|fault| {
        tracing::error!(cause = %fault.chain(), "administrators cannot be let in");
    });
    let http = server.http();
    let api = Api {
        wiring: Arc::clone(wiring),
        authenticator: authenticator.ok()?,
        max_body_bytes: http.max_body_bytes,
        bodies: BodyReader::new(&http, http.max_body_bytes.max(delivery_table::MAX_BYTES)),
    };
    let mut router = Router::new().route("/admin/v1/openapi.json", any(openapi));
    if wiring.hosts_dealers() {
        router = router
            .route("/admin/v1/dealers", any(handle))
            .route("/admin/v1/dealers/{id}", any(handle))
            .route("/admin/v1/dealers/{id}/suspend", any(handle))
            .route("/admin/v1/dealers/{id}/resume", any(handle));
    }
    if !wiring.publishers.is_empty() {
        router = router.route("/admin/v1/publishers/{id}/delivery", any(delivery::handle));
    }
    Some(router.with_state(Arc::new(api)))
}

async fn openapi() -> Response {
    json_response(StatusCode::OK, OPENAPI)
}

async fn handle(State(api): State<Arc<Api>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match api.answer(&parts, body).await {
        Ok(answer) => answer.into_response(),
        Err(ApiError::Denied(denied)) => api.deny(&denied),
        Err(ApiError::Hosting(error)) => refuse(&error),
    }
}

/// Reason why a request is not answered.
enum ApiError {
    Denied(AuthRefusal),
    Hosting(HostingError),
}

impl From<HostingApiRefusal> for ApiError {
    fn from(refusal: HostingApiRefusal) -> Self {
        Self::Hosting(refusal.into())
    }
}

struct ApiAnswer {
    status: StatusCode,
    body: Option<Value>,
    location: Option<String>,
}

impl ApiAnswer {
    fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body: Some(body), location: None }
    }

    /// Marks the answer of a change that is stored but not served yet.
    fn of_change(mut self, is_served: bool) -> Self {
        if is_served {
            return self;
        }
        self.status = StatusCode::ACCEPTED;
        if let Some(shown) = self.body.as_mut().and_then(Value::as_object_mut) {
            shown.insert("served".into(), false.into());
        }
        self
    }

    fn into_response(self) -> Response {
        let revision = self.body.as_ref().and_then(|body| body.get("revision")?.as_i64());
        let mut response = match self.body {
            Some(body) => json_response(self.status, body.to_string()),
            None => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = self.status;
                response
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let tag = revision.map(|revision| format!("\"{revision}\""));
        for (name, value) in [(header::ETAG, tag), (header::LOCATION, self.location)] {
            if let Some(value) = value.and_then(|text| HeaderValue::from_str(&text).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// Operation of a request.
#[derive(Debug, Clone, Copy)]
enum DealerRequest {
    List,
    Add,
    Show,
    Replace,
    Patch,
    Set(HostedState),
}

impl DealerRequest {
    fn from_request(method: &Method, rest: &[&str]) -> Option<Self> {
        Some(match (method.as_str(), rest) {
            ("GET", []) => Self::List,
            ("POST", []) => Self::Add,
            ("GET", [_]) => Self::Show,
            ("PUT", [_]) => Self::Replace,
            ("PATCH", [_]) => Self::Patch,
            ("DELETE", [_]) => Self::Set(HostedState::Removed),
            ("POST", [_, "suspend"]) => Self::Set(HostedState::Suspended),
            ("POST", [_, "resume"]) => Self::Set(HostedState::Serving),
            _ => return None,
        })
    }

    fn required(self) -> AdminScope {
        match self {
            Self::List | Self::Show => AdminScope::DealersRead,
            Self::Add | Self::Replace | Self::Patch | Self::Set(_) => AdminScope::DealersWrite,
        }
    }

    fn has_body(self) -> bool {
        matches!(self, Self::Add | Self::Replace | Self::Patch)
    }
}

/// Query parameters and the `If-Match` header.
#[derive(Debug, Default)]
struct RequestParameters {
    after: String,
    limit: Option<u32>,
    all: bool,
    reuse: bool,
    /// Revision that the change applies to.
    expected: Option<i64>,
}

impl Api {
    async fn answer(self: &Arc<Self>, parts: &Parts, body: Body) -> Result<ApiAnswer, ApiError> {
        // Before the path is read, so that callers without a key cannot tell paths apart.
        let principal = self.who(parts).await.map_err(ApiError::Denied)?;
        let path = parts.uri.path().strip_prefix(BASE).unwrap_or_default();
        let rest: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).skip(1).collect();
        let Some(operation) = DealerRequest::from_request(&parts.method, &rest) else {
            let message = "this address does not take that method";
            return Err(HostingApiRefusal::new(HostingErrorCode::MethodNotAllowed, message).into());
        };
        if !principal.scopes.permit(operation.required()) {
            let missing = operation.required().into();
            return Err(ApiError::Denied(AuthRefusal::Scope { missing }));
        }
        let parameters = request_parameters(parts)?;
        let document =
            if operation.has_body() { Some(self.receive(parts, body).await?) } else { None };
        let api = Arc::clone(self);
        let id = rest.first().map(|id| (*id).to_owned());
        let work =
            move || api.act(&principal, operation, id.as_deref(), document.as_ref(), &parameters);
        let acted = piece("changing dealers", work).await;
        let broken =
            || Err(HostingError::Broken(InternalError::new("changing dealers", "it ended early")));
        acted.unwrap_or_else(broken).map_err(ApiError::Hosting)
    }

    async fn who(&self, parts: &Parts) -> Result<Principal, AuthRefusal> {
        let address = intake::address_of(false, &parts.headers, &parts.extensions);
        let now = self.wiring.clock.now();
        self.authenticator.authenticate(address, &parts.headers, None, now).await
    }

    async fn receive(&self, parts: &Parts, body: Body) -> Result<Value, HostingApiRefusal> {
        if !media_type(parts).is_json() {
            let message = "the body has to be application/json";
            return Err(HostingApiRefusal::new(HostingErrorCode::UnsupportedMediaType, message));
        }
        let bytes = self.receive_bytes(parts, body, self.max_body_bytes).await?;
        read(&bytes)
    }

    /// Receives a body of at most `most` bytes.
    async fn receive_bytes(
        &self,
        parts: &Parts,
        mut body: Body,
        most: usize,
    ) -> Result<FullBody<'_>, HostingApiRefusal> {
        let read_whole = self.bodies.read(parts, &mut body, most).await;
        read_whole.map_err(|unread| match unread {
            BodyError::NoRoom => {
                let message = "too many bodies are under way; send it again in a moment";
                HostingApiRefusal::new(HostingErrorCode::Unavailable, message)
            }
            BodyError::Encoded | BodyError::OtherType => {
                let message = "encoded bodies are not read here; leave Content-Encoding out";
                HostingApiRefusal::new(HostingErrorCode::UnsupportedMediaType, message)
            }
            BodyError::TooLarge(_) | BodyError::Late(_) | BodyError::Slow | BodyError::Broken => {
                let message = format!("the body took too long, or is larger than {most} bytes");
                HostingApiRefusal::new(HostingErrorCode::TooLarge, message)
            }
        })
    }

    /// Performs the operation on a thread that may block. A change is served when this returns, or the
    /// answer says that it is not.
    fn act(
        &self,
        who: &Principal,
        operation: DealerRequest,
        id: Option<&str>,
        document: Option<&Value>,
        parameters: &RequestParameters,
    ) -> Result<ApiAnswer, HostingError> {
        let missing = || {
            HostingError::from(HostingApiRefusal::new(
                HostingErrorCode::NotFound,
                "nothing is here",
            ))
        };
        let hosted = self.wiring.hosted_dealers(administrator(who)).ok_or_else(missing)?;
        let nothing = Value::Null;
        let id = id.unwrap_or_default();
        let document = document.unwrap_or(&nothing);
        match operation {
            DealerRequest::List => {
                let limit = parameters.limit.unwrap_or(PAGE.0);
                let (dealers, next) = hosted.list(&parameters.after, limit, parameters.all)?;
                return Ok(ApiAnswer::ok(json!({"dealers": dealers, "next": next})));
            }
            DealerRequest::Show => return hosted.show(id).map(ApiAnswer::ok),
            DealerRequest::Add => {
                let added = hosted.add(std::slice::from_ref(document), parameters.reuse)?;
                let id = added.into_iter().next().unwrap_or_default();
                let is_served = self.changed(who, "added", &id);
                let location = Some(format!("{BASE}/dealers/{id}"));
                let body = Some(hosted.show(&id)?);
                let answer = ApiAnswer { status: StatusCode::CREATED, body, location };
                return Ok(answer.of_change(is_served));
            }
            DealerRequest::Replace => hosted.change(id, document, false, parameters.expected)?,
            DealerRequest::Patch => hosted.change(id, document, true, parameters.expected)?,
            DealerRequest::Set(state) => hosted.set_state(id, state, parameters.expected)?,
        }
        let is_served = self.changed(who, "changed", id);
        let answer = if matches!(operation, DealerRequest::Set(HostedState::Removed)) {
            ApiAnswer { status: StatusCode::NO_CONTENT, body: None, location: None }
        } else {
            ApiAnswer::ok(hosted.show(id)?)
        };
        Ok(answer.of_change(is_served))
    }

    /// Applies a change in this process at once; other processes read it within a second. Returns true
    /// when it is served here; a dealer that could not be opened is retried.
    fn changed(&self, who: &Principal, what: &str, id: &str) -> bool {
        tracing::info!(administrator = %who.name, dealer = %id, "a hosted dealer was {what}");
        // The change is stored all the same, and is applied at the next check.
        let followed = self.wiring.follow().inspect_err(|fault| {
            tracing::error!(cause = %fault.chain(), "a change of the hosted dealers waits");
        });
        followed.is_ok() && !self.wiring.waits(id)
    }

    fn deny(&self, denied: &AuthRefusal) -> Response {
        let (code, message) = match denied {
            AuthRefusal::Scope { missing } => {
                (HostingErrorCode::PermissionDenied, format!("the key lacks the scope {missing}"))
            }
            AuthRefusal::Limited(_) => (
                HostingErrorCode::RateLimited,
                "too many keys that are not valid came from here".to_owned(),
            ),
            AuthRefusal::Unavailable(fault) => {
                tracing::error!(cause = %fault.chain(), "who administers cannot be found out");
                (HostingErrorCode::Unavailable, "who asks cannot be found out".to_owned())
            }
            AuthRefusal::Expired => {
                (HostingErrorCode::Unauthenticated, "the key has expired".to_owned())
            }
            AuthRefusal::Missing | AuthRefusal::Invalid { .. } | AuthRefusal::Page => (
                HostingErrorCode::Unauthenticated,
                "a key of an administrator is required".to_owned(),
            ),
        };
        let mut response = refuse(&HostingApiRefusal::new(code, message).into());
        let headers = response.headers_mut();
        let challenge = self.authenticator.challenge(denied);
        if let Some(value) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(header::WWW_AUTHENTICATE, value);
        }
        if let AuthRefusal::Limited(exceeded) = denied {
            set_retry_after(headers, RetryAfter::new(exceeded.wait));
        }
        response
    }
}

/// Returns who acts with an administrators' key. The key's scopes were checked before the body was read;
/// within them, it does what the operator of the server does.
fn administrator(who: &Principal) -> Actor {
    Actor::operator(format!("key:{}", who.name))
}

fn media_type(parts: &Parts) -> MediaType<'_> {
    let named = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    MediaType::new(named.unwrap_or_default())
}

fn refuse(error: &HostingError) -> Response {
    let broken;
    let refusal = match error {
        HostingError::Refused(refusal) => refusal,
        HostingError::Broken(fault) => {
            tracing::error!(cause = %fault.chain(), "dealers could not be read or changed");
            broken = HostingApiRefusal::new(HostingErrorCode::Unavailable, "the store failed");
            &broken
        }
    };
    let status = StatusCode::from_u16(refusal.code.http()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = json_response(status, json!({"error": refusal.document()}).to_string());
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if refusal.code.closes() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if refusal.code == HostingErrorCode::Unavailable {
        set_retry_after(headers, RETRY_AFTER);
    }
    response
}

/// Parses one JSON document and refuses duplicate keys.
fn read(bytes: &[u8]) -> Result<Value, HostingApiRefusal> {
    let invalid = |message: &str, problems| {
        let refusal = HostingApiRefusal::new(HostingErrorCode::InvalidJson, message);
        HostingApiRefusal { problems, ..refusal }
    };
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| invalid("the body is not UTF-8", Problems::new()))?;
    let read = json::document(text, DOCUMENT_LIMITS);
    let (value, problems) =
        read.map_err(|_| invalid("the body is no JSON that can be read", Problems::new()))?;
    if !problems.is_empty() {
        return Err(invalid("the body can be read in two ways", problems));
    }
    Ok(value)
}

/// Reads the query parameters and `If-Match`.
fn request_parameters(parts: &Parts) -> Result<RequestParameters, HostingApiRefusal> {
    let unusable = |what: &str| HostingApiRefusal::new(HostingErrorCode::InvalidParameter, what);
    let truth = |text: &str| match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(unusable("a parameter is neither true nor false")),
    };
    let mut parameters =
        RequestParameters { expected: expected(&parts.headers)?, ..RequestParameters::default() };
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    for (name, value) in form_urlencoded::parse(query) {
        match &*name {
            "after" => parameters.after = value.into_owned(),
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=PAGE.1).contains(limit));
                let message = "limit must be from 1 to 1000";
                parameters.limit = Some(limit.ok_or_else(|| unusable(message))?);
            }
            "all" => parameters.all = truth(&value)?,
            "reuse" => parameters.reuse = truth(&value)?,
            _ => return Err(unusable("there are the parameters after, limit, all and reuse")),
        }
    }
    Ok(parameters)
}

/// Reads `If-Match`: the revision in quotes, as in `ETag`.
fn expected(headers: &HeaderMap) -> Result<Option<i64>, HostingApiRefusal> {
    let Some(tag) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let tag = tag.to_str().unwrap_or_default().trim();
    if tag == "*" {
        return Ok(None);
    }
    let revision = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')?.parse().ok());
    let message = "If-Match must be a revision in quotes, as ETag has it";
    revision
        .map(Some)
        .ok_or_else(|| HostingApiRefusal::new(HostingErrorCode::InvalidParameter, message))
}
