//! Builds refusals with any code for any skill, complete in the version of the request, with the script's own words.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use bytes::Bytes;
use jiff::Timestamp;
use tradepost_a2a as a2a;
use tradepost_a2a::error::{
    A2aCode as ProtocolCode, A2aRefusal as ProtocolRefusal, FieldViolation,
};
use tradepost_aap::error::SampleRequest;
use tradepost_aap::{AapCode, AapRefusal};
use tradepost_adcp::AdcpAnswer;
use tradepost_adcp::error::{AdcpCode as TaskCode, AdcpError, Recovery};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json, object};
use tradepost_mcp::ToolResult;

use super::script::{BodyKind, RefusalWords};
use super::sent::SentRequest;

/// Default wait of a script's `RATE_LIMITED`.
const WAIT: Duration = Duration::from_secs(1);

/// Complete answer.
#[derive(Debug, Clone)]
pub struct WholeAnswer {
    /// HTTP status.
    pub status: StatusCode,
    /// Headers, without `Content-Length`.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl WholeAnswer {
    /// Creates an answer with a body of this type.
    #[must_use]
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self { status, headers, body: body.into() }
    }

    /// Creates a JSON answer.
    #[must_use]
    pub fn json(status: StatusCode, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// Adds a `Retry-After` header where the script has one.
    #[must_use]
    pub fn later(mut self, words: &RefusalWords) -> Self {
        let value = words.retry_after.as_deref().and_then(|text| HeaderValue::from_str(text).ok());
        if let Some(value) = value {
            self.headers.insert(header::RETRY_AFTER, value);
        }
        self
    }
}

/// Builds a refusal of AAP.
#[must_use]
pub fn profile(
    code: AapCode,
    words: &RefusalWords,
    sent: &SentRequest,
    now: Timestamp,
) -> WholeAnswer {
    let mut refusal = refusal(code, sent, now);
    if let Some(message) = &words.message {
        refusal.message.clone_from(message);
    }
    refusal.details.extend(words.details.clone());
    let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
    let error = refusal.stamp(sent.version, error_id, now);
    let message = error.jsonrpc_message();
    let mut data = tradepost_document::json::to_value(&error).unwrap_or_default();
    if let Some(members) = data.as_object_mut()
        && let Some(retryable) = words.retryable
    {
        members.insert("retryable".into(), retryable.into());
    }
    let body = json!({
        "jsonrpc": "2.0", "id": sent.id,
        "error": {"code": code.jsonrpc(), "message": message, "data": data},
    });
    let mut whole = WholeAnswer::json(status(words, StatusCode::OK), &body).later(words);
    let uri = HeaderValue::from_static(sent.version.uri());
    whole.headers.insert(HeaderName::from_static(a2a::EXTENSIONS_HEADER), uri);
    whole
}

/// Builds a refusal of a publisher, a failed task of AdCP.
#[must_use]
pub fn task(code: TaskCode, words: &RefusalWords, sent: &SentRequest) -> WholeAnswer {
    let message = words.message.clone().unwrap_or_else(|| code.docs().trim().to_owned());
    let mut error = AdcpError::new(code, message);
    error.details.clone_from(&words.details);
    if code.recovery() == Recovery::Transient {
        error = error.with_wait(WAIT);
    }
    let context = sent.data.as_ref().and_then(|data| data.get("context")).cloned();
    let answer = AdcpAnswer { context, ..AdcpAnswer::failed(error, Vec::new()) };
    let mut document = answer.document();
    // Copied from the script even where it makes no sense.
    if let Some(retry_after) = &words.retry_after {
        let retry_after =
            retry_after.parse::<i64>().map_or_else(|_| retry_after.as_str().into(), Value::from);
        for place in ["/adcp_error", "/errors/0"] {
            if let Some(error) = document.pointer_mut(place).and_then(Value::as_object_mut) {
                error.insert("retry_after".to_owned(), retry_after.clone());
            }
        }
    }
    let text = format!("{}: {}", code.name(), answer.message);
    let result =
        ToolResult { document: document.to_string().into(), is_shown: true, text, is_error: true };
    let body = String::from(result.body(&sent.id, sent.release));
    WholeAnswer::new(status(words, StatusCode::OK), "application/json", body)
}

/// Builds a refusal with this code that fits the request.
fn refusal(code: AapCode, sent: &SentRequest, now: Timestamp) -> AapRefusal {
    let data = sent.data.as_ref();
    let appointment_at = data.and_then(|data| data.pointer("/appointment/appointment_at"));
    let asked = SampleRequest {
        skill: sent.skill(),
        vehicle: &sent.vehicle(),
        appointment_at: appointment_at.and_then(Value::as_str).and_then(|text| text.parse().ok()),
        key: tradepost_document::problem::clip(sent.key.as_deref().unwrap_or("none")),
        lead_id: &format!("lead_{}", uuid::Uuid::now_v7()),
        dealer_id: tradepost_demo::dealer::DEALER_ID,
        wait: WAIT,
        now,
    };
    code.sample()(&asked)
}

/// Builds a refusal of A2A.
#[must_use]
pub fn protocol(code: ProtocolCode, words: &RefusalWords, sent: &SentRequest) -> WholeAnswer {
    let message = words.message.clone().unwrap_or_else(|| code.title().to_owned());
    let mut refusal = ProtocolRefusal::new(code, message);
    let mut usual = StatusCode::OK;
    let mut challenge = None;
    let mut wait = None;
    match code {
        ProtocolCode::InvalidParams => refusal.violations.push(FieldViolation {
            field: "message.parts[0]".to_owned(),
            description: "is not what it should be".to_owned(),
        }),
        // The specification gives these no number of their own: the reason identifies them (A2A §3.3.2).
        ProtocolCode::Unauthenticated => {
            (usual, challenge) = (StatusCode::UNAUTHORIZED, Some("Bearer"));
            refusal = refusal.with("scheme", "Bearer");
        }
        ProtocolCode::PermissionDenied => {
            usual = StatusCode::FORBIDDEN;
            challenge = Some("Bearer error=\"insufficient_scope\", scope=\"sandbox\"");
            refusal = refusal.with("scope", "sandbox");
        }
        ProtocolCode::Unavailable => {
            wait = Some("1");
        }
        ProtocolCode::ResourceExhausted => {
            (usual, wait) = (StatusCode::TOO_MANY_REQUESTS, Some("1"));
            refusal = refusal.with("window", "1s");
        }
        ProtocolCode::VersionNotSupported => {
            refusal = refusal.with("supportedVersions", "9.9");
        }
        ProtocolCode::ExtensionSupportRequired => {
            refusal = refusal.with("extensionUri", "urn:tradepost:sandbox");
        }
        ProtocolCode::ParseError
        | ProtocolCode::InvalidRequest
        | ProtocolCode::MethodNotFound
        | ProtocolCode::InternalError
        | ProtocolCode::TaskNotFound
        | ProtocolCode::TaskNotCancelable
        | ProtocolCode::PushNotificationNotSupported
        | ProtocolCode::UnsupportedOperation
        | ProtocolCode::ContentTypeNotSupported
        | ProtocolCode::InvalidAgentResponse
        | ProtocolCode::ExtendedAgentCardNotConfigured => {}
    }
    let data = refusal.has_details().then_some(&refusal);
    let error = object!({"code": code.jsonrpc(), "message": refusal.message, "data"?: data});
    let body = json!({"jsonrpc": "2.0", "id": sent.id, "error": error});
    let mut whole = WholeAnswer::json(status(words, usual), &body);
    if let Some(wait) = wait {
        whole.headers.insert(header::RETRY_AFTER, HeaderValue::from_static(wait));
    }
    // Set after the default wait, which the script's replaces.
    whole = whole.later(words);
    if let Some(challenge) = challenge {
        whole.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    whole
}

/// Builds a refusal of HTTP, or of a gateway in front of the dealer.
#[must_use]
pub fn http(status: u16, page: BodyKind, words: &RefusalWords) -> WholeAnswer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reason = status.canonical_reason().unwrap_or("Error");
    let mut whole = match page {
        BodyKind::Empty => WholeAnswer { status, headers: HeaderMap::new(), body: Bytes::new() },
        BodyKind::Html => {
            WholeAnswer::new(status, "text/html", html(&format!("{} {reason}", status.as_u16())))
        }
        BodyKind::Json => {
            WholeAnswer::json(status, &json!({"error": reason, "status": status.as_u16()}))
        }
    };
    if status == StatusCode::UNAUTHORIZED {
        whole.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    whole.later(words)
}

/// Returns a page like that of a proxy.
#[must_use]
pub fn html(title: &str) -> String {
    format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\
         \r\n<hr><center>gateway</center>\r\n</body>\r\n</html>\r\n"
    )
}

fn status(words: &RefusalWords, usual: StatusCode) -> StatusCode {
    words.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(usual)
}
