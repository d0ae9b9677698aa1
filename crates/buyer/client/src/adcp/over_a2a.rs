//! AdCP tasks as A2A messages: one data part with the task's name and its arguments.

use tradepost_adcp as adcp;
use tradepost_document::json::{Map, Value, json};

use super::{AdcpClient, SellerAnswer, result_of};
use crate::binding::{A2aRelease, AgentBinding, BindingItem, MessageContext, Method};
use crate::client::uuid;
use crate::failure::{CallFailure, Defect};

impl AdcpClient {
    pub(super) async fn send_by_a2a(
        &self,
        binding: &AgentBinding,
        task: &str,
        arguments: Value,
    ) -> Result<SellerAnswer, CallFailure> {
        let id = uuid(&self.ids);
        // Name of the arguments' member in the AdCP of that time.
        let name = match binding.release {
            A2aRelease::V1_0 => "input",
            A2aRelease::V0_3 => "parameters",
        };
        let part = json!({"data": {"skill": task, name: arguments}});
        let message = binding.message(&uuid(&self.ids), vec![part], MessageContext::default());
        let mut params = Map::new();
        params.insert("message".into(), message);
        let modes = json!({"acceptedOutputModes": ["application/json"]});
        params.insert("configuration".into(), modes);
        let body = binding.request(&id, Method::Send, params);
        let headers = self.headers(binding.headers(Some(adcp::EXTENSION), None), &body)?;
        let response = self.transport.post(&self.endpoint, headers, body).await?;
        let result = result_of(&response, &id)?;
        read(result).map_err(|defect| CallFailure::garbled(defect, response.kept()))
    }
}

/// Reads a task or a message that is no failure.
fn read(result: Value) -> Result<SellerAnswer, Defect> {
    const NEITHER: Defect = Defect::NotAdcp("the result has neither a task nor a message");
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    match BindingItem::read(result).map_err(|_| NEITHER)? {
        BindingItem::Task(task) => {
            let state = task.pointer("/status/state").and_then(Value::as_str);
            let is_complete =
                state.and_then(adcp::payload::standing) == Some(adcp::AdcpTaskStatus::Completed);
            let found =
                adcp::payload::of_task(&task).map_err(|adcp::payload::WrappedPayload| {
                    Defect::NotAdcp("the task wraps its payload")
                })?;
            let payload = match found {
                Some(payload) => payload.clone(),
                None if is_complete => {
                    return Err(Defect::NotAdcp("the task has no data part with an object"));
                }
                None => Value::Null,
            };
            let mut answered = SellerAnswer::from_payload(payload).or_state(state);
            answered.context_id = text(&task, "contextId");
            answered.a2a_task_id = text(&task, "id");
            Ok(answered)
        }
        BindingItem::Message(message) => {
            let payload = data(&message).ok_or(Defect::NotAdcp("the message has no data part"))?;
            let mut answered = SellerAnswer::from_payload(payload.clone());
            answered.context_id = text(&message, "contextId");
            Ok(answered)
        }
        BindingItem::Status(_) | BindingItem::Artifact(_) => Err(NEITHER),
    }
}

/// Returns the last data part that is an object, which is the one that counts.
fn data(of: &Value) -> Option<&Value> {
    let parts = of.get("parts").and_then(Value::as_array)?;
    parts.iter().rev().filter_map(|part| part.get("data")).find(|data| data.is_object())
}
