//! Pages of lists that are requested by a token. Only the issuer can check a token, so it is parsed
//! separately from the other parameters.

use super::{A2aRequest, ListTasks, Operation, read};
use tradepost_document::json::Value;

/// Parameters of lists that a page token is not bound to.
const NOT_BOUND: [&str; 6] = [
    "pageSize",
    "page_size",
    "historyLength",
    "history_length",
    "includeArtifacts",
    "include_artifacts",
];

/// A page that is requested by a token.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedPage {
    /// The token.
    pub token: String,
    /// The list that the token is bound to; `None` where that part of the request is wrong.
    pub list: Option<ListScope>,
}

/// The list that a page token is bound to.
#[derive(Debug, Clone, PartialEq)]
pub enum ListScope {
    /// Tasks that match a filter, with any page size.
    Tasks(ListTasks),
    /// Webhooks of a task.
    PushConfigs {
        /// Id of the task.
        task_id: String,
    },
}

/// Returns the page that the parameters of an operation request by a token, also where other
/// parameters are wrong.
#[must_use]
pub fn requested_page(operation: Operation, params: Option<&Value>) -> Option<RequestedPage> {
    let given = |name: &str| params?.get(name)?.as_str().filter(|text| !text.is_empty());
    let token = given("pageToken").or_else(|| given("page_token"))?.to_owned();
    let mut scope = params?.as_object()?.clone();
    // A token is valid for every page size, and checked even where the size is wrong.
    for name in NOT_BOUND {
        scope.shift_remove(name);
    }
    let list = match operation {
        Operation::ListTasks | Operation::ListTaskPushNotificationConfigs => {
            read(operation, Some(&Value::Object(scope))).ok()
        }
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => return None,
    };
    let list = list.and_then(|request| match request {
        A2aRequest::ListTasks(query) => Some(ListScope::Tasks(query)),
        A2aRequest::ListPushConfigs { task_id, .. } => Some(ListScope::PushConfigs { task_id }),
        A2aRequest::SendMessage(_)
        | A2aRequest::SendStreamingMessage(_)
        | A2aRequest::GetTask { .. }
        | A2aRequest::CancelTask { .. }
        | A2aRequest::SubscribeToTask { .. }
        | A2aRequest::CreatePushConfig(_)
        | A2aRequest::GetPushConfig { .. }
        | A2aRequest::DeletePushConfig { .. }
        | A2aRequest::GetExtendedAgentCard => None,
    });
    Some(RequestedPage { token, list })
}
