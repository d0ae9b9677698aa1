//! Paths of the operations on the HTTP+JSON binding (A2A §11.3).

use reqwest::{Method, Url};
use tradepost_a2a::Operation;
use tradepost_document::json::Value;

/// Request of the binding.
#[derive(Debug)]
pub(super) struct RestRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Vec<u8>,
}

/// Returns the requests for an operation, in the order in which they are tried. The specification defines two for a
/// subscription: POST in §11.3, GET in the protobuf file.
pub(super) fn routes(
    base: &Url,
    tenant: Option<&str>,
    operation: Operation,
    params: &Value,
) -> Vec<RestRequest> {
    let text = |name: &str| match params.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let get = |path: &[&str], taken: &[&str]| {
        let mut url = join(base, tenant, path);
        let members = params.as_object().into_iter().flatten();
        for (name, value) in members.filter(|(name, _)| !taken.contains(&name.as_str())) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            url.query_pairs_mut().append_pair(name, &value);
        }
        RestRequest { method: Method::GET, url, body: Vec::new() }
    };
    let post = |path: &[&str], taken: &[&str]| {
        let mut body = params.clone();
        if let Some(members) = body.as_object_mut() {
            members.retain(|name, _| !taken.contains(&name.as_str()));
        }
        let url = join(base, tenant, path);
        RestRequest { method: Method::POST, url, body: body.to_string().into_bytes() }
    };
    let configs = "pushNotificationConfigs";
    let id = text("id");
    let task = text("taskId");
    match operation {
        Operation::SendMessage => vec![post(&["message:send"], &[])],
        Operation::SendStreamingMessage => vec![post(&["message:stream"], &[])],
        Operation::GetTask => vec![get(&["tasks", &id], &["id"])],
        Operation::ListTasks => vec![get(&["tasks"], &[])],
        Operation::CancelTask => vec![post(&["tasks", &format!("{id}:cancel")], &["id"])],
        Operation::SubscribeToTask => {
            let verb = format!("{id}:subscribe");
            let path = ["tasks", verb.as_str()];
            vec![post(&path, &["id"]), get(&path, &["id"])]
        }
        Operation::CreateTaskPushNotificationConfig => {
            vec![post(&["tasks", &task, configs], &["taskId"])]
        }
        Operation::GetTaskPushNotificationConfig => {
            vec![get(&["tasks", &task, configs, &id], &["taskId", "id"])]
        }
        Operation::ListTaskPushNotificationConfigs => {
            vec![get(&["tasks", &task, configs], &["taskId"])]
        }
        Operation::DeleteTaskPushNotificationConfig => {
            let route = get(&["tasks", &task, configs, &id], &["taskId", "id"]);
            vec![RestRequest { method: Method::DELETE, ..route }]
        }
        Operation::GetExtendedAgentCard => vec![get(&["extendedAgentCard"], &[])],
    }
}

/// Appends a tenant and a path to the base address.
pub(super) fn join(base: &Url, tenant: Option<&str>, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(tenant).extend(path);
    }
    url
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn operations_have_their_published_paths() {
        let base = Url::parse("https://a.example/rest/").unwrap();
        let shown = |operation, params: Value, tenant| {
            let routes = routes(&base, tenant, operation, &params);
            let route = routes.first().unwrap();
            let body = String::from_utf8_lossy(&route.body).into_owned();
            format!("{} {} {body}", route.method, &route.url.as_str()[17..])
        };
        assert_eq!(
            shown(Operation::SendMessage, json!({"message": {}}), None),
            "POST /rest/message:send {\"message\":{}}"
        );
        assert_eq!(
            shown(Operation::GetTask, json!({"id": "a/b", "historyLength": 2}), Some("t")),
            "GET /rest/t/tasks/a%2Fb?historyLength=2 "
        );
        assert_eq!(
            shown(Operation::CancelTask, json!({"id": "x", "metadata": {}}), None),
            "POST /rest/tasks/x:cancel {\"metadata\":{}}"
        );
        assert_eq!(
            shown(
                Operation::DeleteTaskPushNotificationConfig,
                json!({"taskId": "x", "id": "y"}),
                None
            ),
            "DELETE /rest/tasks/x/pushNotificationConfigs/y "
        );
    }
}
