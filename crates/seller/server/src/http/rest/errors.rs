//! Errors in the format of `google.rpc.Status` (A2A 1.0 §11.6). A profile's refusal has its own
//! document as the second of the `details`.

use axum::http::{StatusCode, header};
use axum::response::Response;
use tradepost_a2a::error::{A2aRefusal, StatusDetails, retry_info};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Map, json};

use crate::agent::{Binding, INTERNAL_ERROR_RETRY_AFTER, ProfileRefusal, ResponsibleParty};
use crate::http::answers::{self, ErrorWriter};
use crate::http::exchange::LoggedResponse;
use crate::http::plain::{json_response, set_retry_after};

/// Writer of errors for this binding. `error.code` is the HTTP status.
// All errors have this format (A2A 1.0 §11.6, E-09).
pub(in crate::http) struct HttpJsonErrors;

impl ErrorWriter for HttpJsonErrors {
    fn protocol(&self, refusal: &A2aRefusal, status: Option<StatusCode>) -> LoggedResponse {
        let mut response = json_response(code(refusal, status), body(refusal, status));
        answers::mark_refusal(&mut response, refusal);
        set_default_retry_after(&mut response);
        (response, answers::stamp_of(refusal))
    }

    fn profile(&self, refusal: ProfileRefusal) -> LoggedResponse {
        let ProfileRefusal { row, document, document_type, .. } = &refusal;
        let status = match refusal.blame {
            ResponsibleParty::ServerTemporarily => StatusCode::SERVICE_UNAVAILABLE,
            ResponsibleParty::Caller | ResponsibleParty::TooOften | ResponsibleParty::Server => {
                status_of(row.http)
            }
        };
        let mut object = Map::new();
        object.insert("@type".to_owned(), format!("type.googleapis.com/{document_type}").into());
        let Ok(document) = tradepost_document::json::from_str::<Map>(document.get()) else {
            unreachable!("a profile's document is an object")
        };
        object.extend(document);
        let mut details = vec![answers::error_info(&refusal), object.into()];
        details.extend(refusal.wait.map(retry_info));
        let body = json!({"error": {
            "code": status.as_u16(),
            "status": grpc(status, row.grpc.name()),
            "message": refusal.message,
            "details": details,
        }});
        let mut response = json_response(status, body.to_string());
        answers::set_retry_headers(&mut response, &refusal);
        set_default_retry_after(&mut response);
        (response, answers::stamp(refusal))
    }

    fn binding(&self) -> Binding {
        Binding::HttpJson
    }
}

/// Sets `Retry-After` on temporary errors that have none.
// Temporary errors differ from permanent ones (A2A 1.0 §3.3.2, E-14).
fn set_default_retry_after(response: &mut Response) {
    let is_temporary = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    if is_temporary && !response.headers().contains_key(header::RETRY_AFTER) {
        set_retry_after(response.headers_mut(), RetryAfter::new(INTERNAL_ERROR_RETRY_AFTER));
    }
}

/// Returns the gRPC name of the status. AAP's catalog has no row for temporary errors.
fn grpc(status: StatusCode, usual: &'static str) -> &'static str {
    if status == StatusCode::SERVICE_UNAVAILABLE { "UNAVAILABLE" } else { usual }
}

/// Writes the body of a protocol error.
pub(super) fn body(refusal: &A2aRefusal, status: Option<StatusCode>) -> String {
    let status = code(refusal, status);
    let error = json!({
        "code": status.as_u16(),
        "status": grpc(status, refusal.code.grpc()),
        "message": refusal.message,
        "details": StatusDetails(refusal),
    });
    json!({"error": error}).to_string()
}

fn code(refusal: &A2aRefusal, status: Option<StatusCode>) -> StatusCode {
    status.unwrap_or_else(|| status_of(refusal.code.http()))
}

fn status_of(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
