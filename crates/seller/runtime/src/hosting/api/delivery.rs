//! `POST /admin/v1/publishers/{id}/delivery`: delivery of a publisher's media buys, pushed by its own programs as rows
//! of JSON or as a table.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use tradepost_admin::delivery::{DeliveryRefusal, ReportDelivery, report_delivery};
use tradepost_admin::{AdminContext, AdminError};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};
use tradepost_publisher::staff::reported::{ReportedBuy, RowProblem};
use tradepost_server::auth::{AuthRefusal, Principal};
use tradepost_server::background::piece;
use tradepost_server::fault::InternalError;
use tradepost_server::http::json_response;

use super::{
    AdminScope, Api, ApiAnswer, ApiError, BASE, HostingApiRefusal, HostingError, HostingErrorCode,
    administrator, media_type, read, refuse,
};
use crate::adcp::seller::PublisherAgent;
use crate::delivery_table::{
    self, DeliveryTable, FieldColumn, MAX_BYTES, document, problem_documents, problems_not_listed,
};
use crate::text_table::ColumnMapping;

/// Handles the address.
pub(super) async fn handle(State(api): State<Arc<Api>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match api.take_delivery(&parts, body).await {
        Ok(answer) => answer.into_response(),
        Err(DeliveryError::Api(ApiError::Denied(denied))) => api.deny(&denied),
        Err(DeliveryError::Api(ApiError::Hosting(error))) => refuse(&error),
        Err(DeliveryError::Rows(refused)) => refused.into_response(),
    }
}

/// Reason why nothing is stored.
enum DeliveryError {
    Api(ApiError),
    Rows(RefusedRows),
}

impl DeliveryError {
    fn lacking_scope() -> Self {
        let missing = AdminScope::DeliveryWrite.into();
        Self::Api(ApiError::Denied(AuthRefusal::Scope { missing }))
    }
}

impl From<ApiError> for DeliveryError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl From<HostingApiRefusal> for DeliveryError {
    fn from(refusal: HostingApiRefusal) -> Self {
        Self::Api(refusal.into())
    }
}

/// Rows with problems.
struct RefusedRows {
    problems: Vec<RowProblem>,
    columns: Vec<FieldColumn>,
}

impl RefusedRows {
    fn into_response(self) -> Response {
        let code = HostingErrorCode::InvalidDelivery;
        let count = self.problems.len();
        let noun = if count == 1 { "problem" } else { "problems" };
        let error = object!({
            "code": code.name(),
            "message": format!("the rows have {count} {noun}; nothing was stored"),
            "hint": code.hint(),
            "problems": problem_documents(&self.problems, &self.columns),
            "problems_not_listed"?: problems_not_listed(&self.problems),
        });
        let status = StatusCode::from_u16(code.http()).unwrap_or(StatusCode::BAD_REQUEST);
        json_response(status, json!({"error": error}).to_string())
    }
}

impl Api {
    async fn take_delivery(
        self: &Arc<Self>,
        parts: &Parts,
        body: Body,
    ) -> Result<ApiAnswer, DeliveryError> {
        // Before the id is looked up, so that callers without a key cannot tell publishers apart.
        let principal = self.who(parts).await.map_err(ApiError::Denied)?;
        if parts.method != Method::POST {
            let message = "this address takes POST";
            return Err(HostingApiRefusal::new(HostingErrorCode::MethodNotAllowed, message).into());
        }
        if !principal.scopes.permit(AdminScope::DeliveryWrite) {
            return Err(DeliveryError::lacking_scope());
        }
        let path = parts.uri.path().strip_prefix(BASE).unwrap_or_default();
        let id = path.split('/').filter(|part| !part.is_empty()).nth(1).unwrap_or_default();
        let found = self.wiring.publishers.iter().find(|agent| agent.profile.id == id).cloned();
        let Some(agent) = found else {
            let message = "there is no such publisher";
            return Err(HostingApiRefusal::new(HostingErrorCode::NotFound, message).into());
        };
        let media_type = media_type(parts);
        let is_table = media_type.is("text/csv");
        if !is_table && !media_type.is_json() {
            let message = "the body has to be application/json or text/csv";
            let code = HostingErrorCode::UnsupportedMediaType;
            return Err(HostingApiRefusal::new(code, message).into());
        }
        // Held until the rows are stored, because bodies are limited in all.
        let received = self.receive_bytes(parts, body, MAX_BYTES).await?;
        let bytes = received.to_vec();
        let api = Arc::clone(self);
        let work = move || {
            let table = rows_of(&bytes, is_table)?;
            api.store_rows(&principal, &agent, table)
        };
        let stored = piece("storing delivery", work).await.unwrap_or_else(|| {
            let fault = InternalError::new("storing delivery", "it ended early");
            Err(ApiError::Hosting(HostingError::Broken(fault)).into())
        });
        drop(received);
        Ok(ApiAnswer::ok(stored?))
    }

    /// Stores rows on a thread that may block. Returns what was reported.
    fn store_rows(
        &self,
        who: &Principal,
        agent: &PublisherAgent,
        table: DeliveryTable,
    ) -> Result<Value, DeliveryError> {
        let now = self.wiring.clock.now();
        let context = AdminContext { store: &self.wiring.store, dealers: &[], now };
        let publisher = agent.publisher();
        let DeliveryTable { days, problems, columns, ignored_columns, total_rows } = table;
        let input = ReportDelivery { publisher: &publisher, days, problems };
        let reported = match report_delivery(&context, &administrator(who), input) {
            Ok(reported) => reported,
            Err(AdminError::Refused(DeliveryRefusal::Problems(problems))) => {
                return Err(DeliveryError::Rows(RefusedRows { problems, columns }));
            }
            Err(AdminError::Refused(DeliveryRefusal::Stranger) | AdminError::Forbidden(_)) => {
                return Err(DeliveryError::lacking_scope());
            }
            Err(AdminError::Broken(fault)) => {
                return Err(ApiError::Hosting(HostingError::Broken(fault)).into());
            }
        };
        // Buyers are told of corrections at once.
        agent.notices.wake();
        let mut answer = reported_document(&reported);
        if let Some(members) = answer.as_object_mut().filter(|_| !columns.is_empty()) {
            members.insert("ignored_columns".to_owned(), json!(ignored_columns));
            members.insert("total_rows".to_owned(), json!(total_rows));
        }
        Ok(answer)
    }
}

/// Reads rows of JSON or of a table.
fn rows_of(bytes: &[u8], is_table: bool) -> Result<DeliveryTable, HostingApiRefusal> {
    let invalid = |message| HostingApiRefusal::new(HostingErrorCode::InvalidDelivery, message);
    if is_table {
        return delivery_table::read(bytes, &[], ColumnMapping::Headings)
            .map_err(|unread| invalid(format!("{}; {}", unread.message, unread.hint)));
    }
    document::read(&read(bytes)?).map_err(invalid)
}

/// Returns what was reported, as JSON.
pub fn reported_document(reported: &[ReportedBuy]) -> Value {
    let sum = |count: fn(&ReportedBuy) -> usize| reported.iter().map(count).sum::<usize>();
    json!({
        "rows": sum(|buy| buy.rows),
        "changed": sum(|buy| buy.changed),
        "media_buys": reported,
    })
}
