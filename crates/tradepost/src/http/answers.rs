//! What the HTTP bindings say alike.

use axum::http::HeaderValue;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json as value};
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::{self, PushConfig};

use crate::desk::Agent;
use crate::fault::Fault;
use crate::tasks::TaskPage;

/// JSON text of something of ours.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|_| unreachable!("our own documents have text keys and finite numbers"))
}

/// A page of tasks (O-06).
pub(super) fn page(page: &TaskPage) -> Value {
    value!({
        "tasks": page.tasks,
        "nextPageToken": page.next_page_token,
        "pageSize": page.page_size,
        "totalSize": page.total_size,
    })
}

/// The webhooks of a task.
pub(super) fn push_configs(configs: &[PushConfig]) -> Value {
    value!({"configs": configs, "nextPageToken": ""})
}

/// What a caller reads when we broke: an error id, under which the log has the cause.
pub(super) fn broken(agent: &Agent, fault: &Fault) -> (Refusal, String) {
    let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
    let cause = fault.chain();
    tracing::error!(agent = %agent.id(), %error_id, cause, "a request could not be performed");
    let refusal = Refusal::new(Code::InternalError, "the agent failed; try again later");
    (refusal.with("errorId", error_id.clone()), error_id)
}

/// Names the extensions in use, where the answer does not name them already.
pub(super) fn echo_extensions(response: &mut Response, agent: &Agent, activated: &[String]) {
    let known = agent.extensions();
    let used: Vec<_> =
        activated.iter().map(String::as_str).filter(|uri| known.contains(uri)).collect();
    if !used.is_empty()
        && !response.headers().contains_key(a2a::EXTENSIONS_HEADER)
        && let Ok(value) = HeaderValue::from_str(&used.join(", "))
    {
        response.headers_mut().insert(a2a::EXTENSIONS_HEADER, value);
    }
}
