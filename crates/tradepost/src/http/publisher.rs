//! A publisher over A2A, as JSON-RPC: in 1.0, and in 0.3 for the clients of AdCP that speak that
//! still. The method's name tells the two apart.

use axum::http::request::Parts;
use serde_json::{Map, Value};
use tradepost_wire::adcp::Tool;
use tradepost_wire::jsonrpc;

use super::answers::Parcel;
use super::turned_away::TurnedAway;
use super::{intake, jsonrpc as binding};
use crate::adcp::seller::PublisherAgent;
use crate::desk::{Agent, Desk};

mod older;

/// Answers a request on the endpoint.
pub(super) async fn answer(
    desk: &Desk,
    agent: &Agent,
    publisher: &PublisherAgent,
    parts: &Parts,
    bytes: &[u8],
) -> Parcel {
    // The envelope is read before the credential is judged: the refusal is in the release of AdCP
    // that the caller names (D-6).
    let envelope = match jsonrpc::read(bytes) {
        Ok(envelope) => envelope,
        Err(reject) => return binding::rejected(&reject),
    };
    let data = envelope.params.as_ref().and_then(sole_data);
    let skill = data.and_then(|data| data.get("skill")).and_then(Value::as_str);
    let tool = skill.and_then(|skill| publisher.tool(skill));
    let is_open = tool == Some(Tool::GetAdcpCapabilities);
    let arguments = data.and_then(arguments);
    let caller = intake::publisher_caller(desk, agent, publisher, parts, bytes, is_open).await;
    let caller = match caller {
        Ok(caller) => caller,
        Err(denied) => {
            return TurnedAway::denied(publisher, denied).respond(&envelope.id, arguments);
        }
    };
    // What calls a tool is counted there.
    if tool.is_none()
        && let Err(wait) = publisher.admit(&caller)
    {
        return TurnedAway::too_often(wait).respond(&envelope.id, None);
    }
    if older::is_method(&envelope.method) {
        return older::answer(publisher, &caller, envelope).await;
    }
    binding::answer(desk, agent, &caller, parts, envelope).await
}

/// The data of a message with one data part, as an object.
fn sole_data(params: &Value) -> Option<&Map<String, Value>> {
    let parts = params.get("message")?.get("parts")?.as_array()?;
    let mut data = parts.iter().filter_map(|part| part.get("data"));
    let first = data.next()?.as_object()?;
    data.next().is_none().then_some(first)
}

fn arguments(data: &Map<String, Value>) -> Option<&Map<String, Value>> {
    data.get("input").or_else(|| data.get("parameters"))?.as_object()
}
