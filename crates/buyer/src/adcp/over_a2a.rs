//! An AdCP task as an A2A message: one data part with the task's name and its arguments.

use serde_json::{Map, Value, json};

use super::{AdcpClient, Answered, result_of};
use crate::client::uuid;
use crate::failure::{Defect, Failure};

impl AdcpClient {
    pub(super) async fn send_by_a2a(
        &self,
        tenant: Option<&str>,
        task: &str,
        arguments: Value,
    ) -> Result<Answered, Failure> {
        let id = uuid(&self.ids);
        let mut params = Map::new();
        if let Some(tenant) = tenant {
            params.insert("tenant".into(), tenant.into());
        }
        let part = json!({"data": {"skill": task, "input": arguments}});
        let message = json!({"messageId": uuid(&self.ids), "role": "ROLE_USER", "parts": [part]});
        params.insert("message".into(), message);
        let modes = json!({"acceptedOutputModes": ["application/json"]});
        params.insert("configuration".into(), modes);
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": "SendMessage", "params": params});
        let body = request.to_string().into_bytes();
        let response = self.transport.post(&self.endpoint, self.a2a_headers(), body).await?;
        let result = result_of(&response, &id)?;
        read(&result).map_err(|defect| Failure::garbled(defect, response.kept()))
    }
}

/// Reads a task or a message that is no failure.
fn read(result: &Value) -> Result<Answered, Defect> {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    if let Some(task) = result.get("task").filter(|task| task.is_object()) {
        let state = task.pointer("/status/state").and_then(Value::as_str);
        let is_complete = state == Some("TASK_STATE_COMPLETED");
        let artifacts = task.get("artifacts").and_then(Value::as_array);
        let last = artifacts.and_then(|artifacts| data(artifacts.last()?));
        let said = task.pointer("/status/message").and_then(data);
        // A task that goes on says so in its status; one that ended has its result in an artifact.
        let found = if is_complete { last.or(said) } else { said.or(last) };
        let payload = match found {
            Some(payload) => payload.clone(),
            None if is_complete => {
                return Err(Defect::NotAdcp("the task has no data part with an object"));
            }
            None => Value::Null,
        };
        let mut answered = Answered::of(payload).or_state(state);
        answered.context_id = text(task, "contextId");
        answered.a2a_task_id = text(task, "id");
        return Ok(answered);
    }
    let Some(message) = result.get("message") else {
        return Err(Defect::NotAdcp("the result has neither a task nor a message"));
    };
    let payload = data(message).ok_or(Defect::NotAdcp("the message has no data part"))?;
    let mut answered = Answered::of(payload.clone());
    answered.context_id = text(message, "contextId");
    Ok(answered)
}

/// The last data part that is an object: the one that counts.
fn data(of: &Value) -> Option<&Value> {
    let parts = of.get("parts").and_then(Value::as_array)?;
    parts.iter().rev().filter_map(|part| part.get("data")).find(|data| data.is_object())
}
