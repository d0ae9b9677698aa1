//! Errors in the shape of google.rpc.Status (A2A §11.6), those of AAP v1.0 with the `aap.error`
//! object as a second detail (requirements aap.md §1.3).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value, json};
use tradepost_wire::a2a::error::{Refusal, StatusDetails};
use tradepost_wire::aap::error::{DOMAIN, ErrorObject, TYPE};
use tradepost_wire::catalog::Vocabulary as _;

use crate::desk::Binding;
use crate::http::answers::{self, Dialect, Parcel, unstamped};
use crate::http::json_response;
use crate::http::observe::Stamp;

/// Errors of this binding. `error.code` is the HTTP status (E-09).
pub(super) struct HttpJson;

impl Dialect for HttpJson {
    fn protocol(&self, refusal: &Refusal, status: Option<StatusCode>) -> Parcel {
        let mut response = json_response(code(refusal, status), body(refusal, status));
        come_back(&mut response);
        (response, Stamp { code: refusal.code.name(), ..unstamped() })
    }

    fn refused(&self, error: ErrorObject, status: Option<StatusCode>) -> Parcel {
        let code = error.refusal.code;
        let status = status.unwrap_or_else(|| status_of(code.http()));
        let mut object = Map::new();
        object.insert("@type".to_owned(), format!("type.googleapis.com/{TYPE}").into());
        if let Ok(Value::Object(members)) = serde_json::to_value(&error) {
            object.extend(members);
        }
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": code.name(),
            "domain": DOMAIN,
            // Its values are texts.
            "metadata": {"error_id": error.error_id, "retryable": code.retryable().to_string()},
        });
        let body = json!({"error": {
            "code": status.as_u16(),
            "status": grpc(status, code.grpc()),
            "message": error.refusal.message,
            "details": [info, object],
        }});
        let mut response = json_response(status, body.to_string());
        answers::retry_after(&mut response, &error.refusal);
        come_back(&mut response);
        let error_id = Some(error.error_id);
        (response, Stamp { code: code.name(), error_id, ..unstamped() })
    }

    fn binding(&self) -> Binding {
        Binding::HttpJson
    }

    fn unavailable(&self) -> Option<StatusCode> {
        Some(StatusCode::SERVICE_UNAVAILABLE)
    }
}

/// After how many seconds to ask again when we were unavailable.
const PAUSE: HeaderValue = HeaderValue::from_static("5");

/// Says when to ask again, where that helps (E-14).
fn come_back(response: &mut Response) {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, PAUSE);
    }
}

/// The name of the status. No row of a catalog is about faults that will be over soon.
fn grpc(status: StatusCode, usual: &'static str) -> &'static str {
    if status == StatusCode::SERVICE_UNAVAILABLE { "UNAVAILABLE" } else { usual }
}

/// The body of a protocol error.
pub(super) fn body(refusal: &Refusal, status: Option<StatusCode>) -> String {
    let status = code(refusal, status);
    let error = json!({
        "code": status.as_u16(),
        "status": grpc(status, refusal.code.grpc()),
        "message": refusal.message,
        "details": StatusDetails(refusal),
    });
    json!({"error": error}).to_string()
}

fn code(refusal: &Refusal, status: Option<StatusCode>) -> StatusCode {
    status.unwrap_or_else(|| status_of(refusal.code.http()))
}

fn status_of(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
