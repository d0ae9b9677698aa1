//! A2A binding of a publisher (JSON-RPC): refuses requests before they reach a tool, and converts
//! members of A2A 0.3 to AdCP's own.

use axum::http::HeaderValue;
use axum::response::Response;
use tradepost_a2a::jsonrpc;
use tradepost_a2a::{self as a2a, A2aRelease};
use tradepost_adcp::{AdcpTool, EXTENSION, rules};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};
use tradepost_server::http::jsonrpc as binding;
use tradepost_server::http::{LogFields, LoggedResponse, RawRequest, intake as shared};

use super::denial::Denial;
use super::intake;
use crate::adcp::field_errors;
use crate::adcp::seller::PublisherAgent;

/// AdCP's own argument for the webhook.
const PUSH: &str = "push_notification_config";

/// Answers a request on the endpoint.
pub(in crate::adcp) async fn answer(
    publisher: &PublisherAgent,
    posted: RawRequest<'_>,
) -> LoggedResponse {
    let RawRequest { registry, parts, bytes, .. } = posted;
    // The envelope is read before the credential is checked: the refusal has a code of the AdCP
    // release that the caller names (AdCP 3.1 `error-handling`, D-6).
    let mut envelope = match jsonrpc::read(bytes) {
        Ok(envelope) => envelope,
        // As over MCP: a signature proves nothing about a body that can be parsed in two ways.
        Err(reject)
            if !reject.duplicate_keys.is_empty()
                && let Err(refused) = intake::signed(registry, publisher, parts, bytes).await =>
        {
            return Denial::refused(publisher, refused).respond(&reject.id, None);
        }
        Err(reject) => return binding::rejected(&reject),
    };
    let data = envelope.params.as_ref().and_then(sole_data);
    let skill = data.and_then(|data| data.get("skill")).and_then(Value::as_str);
    let tool = skill.and_then(|skill| publisher.tool(skill));
    let is_open = tool == Some(AdcpTool::GetAdcpCapabilities);
    let arguments = data.and_then(arguments);
    let caller = intake::caller(registry, publisher, parts, bytes, is_open).await;
    let caller = match caller {
        Ok(caller) => caller,
        Err(refused) => {
            return Denial::refused(publisher, refused).respond(&envelope.id, arguments);
        }
    };
    // A tool call is counted by the tool.
    if tool.is_none()
        && let Err(wait) = publisher.admit(&caller)
    {
        return Denial::too_often(wait).respond(&envelope.id, None);
    }
    let release = shared::release(publisher, parts, &envelope.method);
    if release == Ok(A2aRelease::V0_3)
        && let Some(params) = &mut envelope.params
    {
        move_push(params);
    }
    let (mut response, stamp) = binding::answer(posted, &caller, envelope).await;
    if release == Ok(A2aRelease::V1_0) && !publisher.front.require_extension {
        name_profile(&mut response);
    }
    let skill = stamp.skill.or(tool.map(AdcpTool::name));
    // A refusal whose answer has no error id gets one for the log.
    let is_refusal = stamp.code != "OK";
    let error_id = stamp.error_id.or_else(|| is_refusal.then(field_errors::fresh_id));
    let stamp = LogFields { skill, error_id, ..stamp };
    (response, stamp.by(&caller))
}

/// Names the profile in the response, also for callers that did not ask for it: a task can be
/// called in no other way here (A2A extensions, "Activation").
fn name_profile(response: &mut Response) {
    let headers = response.headers_mut();
    headers.entry(a2a::EXTENSIONS_HEADER).or_insert(HeaderValue::from_static(EXTENSION));
}

/// Returns the data of a message with one data part, when it is an object.
fn sole_data(params: &Value) -> Option<&Map> {
    let parts = params.get("message")?.get("parts")?.as_array()?;
    let mut data = parts.iter().filter_map(|part| part.get("data"));
    let first = data.next()?.as_object()?;
    data.next().is_none().then_some(first)
}

/// Moves the webhook from the protocol's configuration, where A2A 0.3 has it, to AdCP's argument of
/// the tools that have one.
fn move_push(params: &mut Value) {
    let configuration = params.get_mut("configuration").and_then(Value::as_object_mut);
    let push = configuration.and_then(|given| given.swap_remove("pushNotificationConfig"));
    let parts = params.pointer_mut("/message/parts").and_then(Value::as_array_mut);
    let Some(push) = push else { return };
    let Some(parts) = parts else { return };
    for data in parts.iter_mut().filter_map(|part| part.get_mut("data")) {
        let tool = data.get("skill").and_then(Value::as_str).and_then(AdcpTool::from_any_name);
        let name = if data.get("input").is_some() { "input" } else { "parameters" };
        let input = data.get_mut(name).and_then(Value::as_object_mut);
        if let Some(input) = input
            && tool.is_some_and(takes_push)
        {
            // AdCP's own argument has precedence.
            input.entry(PUSH).or_insert_with(|| push.clone());
        }
    }
}

fn takes_push(tool: AdcpTool) -> bool {
    let schema = rules::json_schema(tool);
    schema.get("properties").is_some_and(|members| members.get(PUSH).is_some())
}

fn arguments(data: &Map) -> Option<&Map> {
    data.get("input").or_else(|| data.get("parameters"))?.as_object()
}
