//! A publisher over A2A, as JSON-RPC: in 1.0, and in 0.3 for the clients of AdCP that speak that
//! still. The version that a request names tells the two apart, and the method's name where it
//! names none, as clients of 0.3 do.

use axum::http::HeaderValue;
use axum::response::Response;
use tradepost_server::http::answers::{Dialect as _, Parcel};
use tradepost_server::http::jsonrpc::{self as binding, JsonRpc};
use tradepost_server::http::{Posted, Stamp, intake as shared};
use tradepost_wire::a2a::error::Refusal;
use tradepost_wire::a2a::{self, OLDER_VERSION, VERSION};
use tradepost_wire::adcp::{EXTENSION, Tool};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value};
use tradepost_wire::jsonrpc;

use super::intake;
use super::turned_away::TurnedAway;
use crate::adcp::seller::PublisherAgent;

mod older;

/// Answers a request on the endpoint.
pub(in crate::adcp) async fn answer(publisher: &PublisherAgent, posted: Posted<'_>) -> Parcel {
    let Posted { desk, parts, bytes, .. } = posted;
    // The envelope is read before the credential is judged: the refusal is in the release of AdCP
    // that the caller names (D-6).
    let envelope = match jsonrpc::read(bytes) {
        Ok(envelope) => envelope,
        // As over MCP: of a body that can be read in two ways a signature says nothing.
        Err(reject)
            if !reject.twice.is_empty()
                && let Err(refused) = intake::signed(desk, publisher, parts, bytes).await =>
        {
            return TurnedAway::refused(publisher, refused).respond(&reject.id, None);
        }
        Err(reject) => return binding::rejected(&reject),
    };
    let data = envelope.params.as_ref().and_then(sole_data);
    let skill = data.and_then(|data| data.get("skill")).and_then(Value::as_str);
    let tool = skill.and_then(|skill| publisher.tool(skill));
    let is_open = tool == Some(Tool::GetAdcpCapabilities);
    let arguments = data.and_then(arguments);
    let caller = intake::caller(desk, publisher, parts, bytes, is_open).await;
    let caller = match caller {
        Ok(caller) => caller,
        Err(refused) => {
            return TurnedAway::refused(publisher, refused).respond(&envelope.id, arguments);
        }
    };
    // What calls a tool is counted there.
    if tool.is_none()
        && let Err(wait) = publisher.admit(&caller)
    {
        return TurnedAway::too_often(wait).respond(&envelope.id, None);
    }
    let (response, stamp) = match release(&shared::versions(parts), &envelope.method) {
        Ok(Release::Older) => older::answer(publisher, &caller, envelope).await,
        Ok(Release::Current) => {
            let (mut response, stamp) = binding::answer(posted, &caller, envelope).await;
            if !publisher.front.require_extension {
                name_profile(&mut response);
            }
            (response, stamp)
        }
        Err(refusal) => JsonRpc(&envelope.id).protocol(&refusal, None),
    };
    let skill = stamp.skill.or(tool.map(Tool::name));
    (response, Stamp { skill, ..stamp.by(&caller) })
}

/// Says that the answer is the profile's, also to those who did not ask for it: there is no other way
/// of calling a task here (A2A extensions, "Activation").
fn name_profile(response: &mut Response) {
    let headers = response.headers_mut();
    headers.entry(a2a::EXTENSIONS_HEADER).or_insert(HeaderValue::from_static(EXTENSION));
}

/// Which A2A a request is in.
enum Release {
    Older,
    Current,
}

fn release(asked: &[String], method: &str) -> Result<Release, Refusal> {
    let all = |release| asked.iter().all(|version| a2a::is_release(version, release));
    if asked.is_empty() {
        Ok(if older::is_method(method) { Release::Older } else { Release::Current })
    } else if all(OLDER_VERSION) {
        Ok(Release::Older)
    } else if all(VERSION) {
        Ok(Release::Current)
    } else {
        Err(a2a::other_version(&[VERSION, OLDER_VERSION]))
    }
}

/// The data of a message with one data part, as an object.
fn sole_data(params: &Value) -> Option<&Map> {
    let parts = params.get("message")?.get("parts")?.as_array()?;
    let mut data = parts.iter().filter_map(|part| part.get("data"));
    let first = data.next()?.as_object()?;
    data.next().is_none().then_some(first)
}

fn arguments(data: &Map) -> Option<&Map> {
    data.get("input").or_else(|| data.get("parameters"))?.as_object()
}
