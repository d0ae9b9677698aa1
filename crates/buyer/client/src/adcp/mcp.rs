//! AdCP tasks as MCP tool calls, over streamable HTTP. A server is first asked which versions of MCP it
//! supports (`server/discover`). One that does not list the newest version, which has no sessions, gets the
//! handshake of the older versions. So nothing that could change something is sent before both sides have
//! agreed on a version.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tradepost_adcp as adcp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_mcp::{
    CALL, ClientInfo, DISCOVER, HEADER_MISMATCH, INITIALIZE, Lifecycle, UNSUPPORTED_VERSION,
    Version, offered_versions, param_headers,
};

use super::{AdcpClient, OfferedTask, SellerAnswer, result_of};
use crate::client::uuid;
use crate::failure::{CallFailure, Defect, Unsent};
use crate::transport::{OpenedResponse, Response};

/// Client information that is sent to servers.
const CLIENT: ClientInfo = ClientInfo { name: "tradepost", version: env!("CARGO_PKG_VERSION") };

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// Maximum number of tools that are listed.
const MAX_TOOLS: usize = 1_000;

/// Maximum number of pages of tools that are requested.
const MAX_PAGES: usize = 50;

/// Session of one caller with a server, and the version of MCP that it uses.
#[derive(Debug, Default)]
pub(super) struct McpSession {
    /// Version with which the session starts.
    initial: NegotiatedVersion,
    negotiated: Mutex<NegotiatedVersion>,
}

/// Version of MCP to use with a server.
#[derive(Debug, Clone, Default)]
enum NegotiatedVersion {
    /// Unknown: the server is asked first.
    #[default]
    Open,
    /// Unknown; the newest version is tried without asking.
    Presumed,
    /// The newest version.
    Newest,
    /// The version and session of the handshake.
    Handshake {
        version: Version,
        /// Session id, if the server sent one.
        id: Option<HeaderValue>,
    },
}

/// Remedy after a server has refused to process a request.
enum Remedy {
    Nothing,
    Handshake,
    /// Send the arguments that the tool requires in headers.
    ParamHeaders,
}

impl McpSession {
    fn with_version(initial: NegotiatedVersion) -> Self {
        Self { negotiated: Mutex::new(initial.clone()), initial }
    }

    /// Creates a session that presumes the newest version until the server refuses it.
    pub(super) fn with_presumed_version() -> Self {
        Self::with_version(NegotiatedVersion::Presumed)
    }

    /// Returns a new session that starts as this one did.
    pub(super) fn restarted(&self) -> Self {
        Self::with_version(self.initial.clone())
    }

    fn negotiated_version(&self) -> NegotiatedVersion {
        // A copy, so that no lock is held during a request.
        self.negotiated.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_negotiated_version(&self, negotiated: NegotiatedVersion) {
        *self.negotiated.lock().unwrap_or_else(PoisonError::into_inner) = negotiated;
    }
}

impl NegotiatedVersion {
    fn version(&self) -> Version {
        match self {
            Self::Open | Self::Presumed | Self::Newest => Version::NEWEST,
            Self::Handshake { version, .. } => *version,
        }
    }
}

impl AdcpClient {
    pub(super) async fn send_by_mcp(
        &self,
        session: &McpSession,
        task: &str,
        arguments: &Value,
    ) -> Result<SellerAnswer, CallFailure> {
        let params = members(json!({"name": task, "arguments": arguments}));
        let (result, response) = self.ask(session, CALL, &params).await?;
        payload(result, &response)
    }

    /// Returns the tools that the server lists, at most [`MAX_TOOLS`].
    pub(super) async fn list_by_mcp(
        &self,
        session: &McpSession,
    ) -> Result<Vec<OfferedTask>, CallFailure> {
        let text = |tool: &Value, name: &str| {
            tool.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let tools = Box::pin(self.list_tools(session)).await.map_err(without_effect)?;
        let offered = |tool: &Value| OfferedTask {
            name: text(tool, "name"),
            description: text(tool, "description"),
        };
        Ok(tools.iter().map(offered).collect())
    }

    /// Returns the tools as the server sent them, with their schemas.
    async fn list_tools(&self, session: &McpSession) -> Result<Vec<Value>, CallFailure> {
        let mut listed = Vec::new();
        let mut params = Map::new();
        let max_body = self.transport.limits().max_body;
        let mut length = 0;
        for _ in 0..MAX_PAGES {
            let (mut result, response) = self.ask(session, "tools/list", &params).await?;
            // All pages together are bounded as one answer is, because tools are kept with their schemas.
            length += response.body.len();
            if length > max_body {
                return Err(CallFailure::garbled(Defect::TooLarge(max_body), response.kept()));
            }
            let Some(Value::Array(tools)) = result.get_mut("tools").map(Value::take) else {
                let defect = Defect::NotAdcp("the list of tools is none");
                return Err(CallFailure::garbled(defect, response.kept()));
            };
            let room = MAX_TOOLS.saturating_sub(listed.len());
            listed.extend(tools.into_iter().take(room));
            match result.get("nextCursor").filter(|cursor| cursor.is_string()) {
                Some(cursor) if listed.len() < MAX_TOOLS => {
                    params = members(json!({"cursor": cursor}));
                }
                Some(_) | None => break,
            }
        }
        Ok(listed)
    }

    /// Sends a request and returns its result with the response. When the server refuses to process the
    /// request, it is sent once more with the [`Remedy`]; nothing is carried out twice.
    async fn ask(
        &self,
        session: &McpSession,
        method: &str,
        params: &Map,
    ) -> Result<(Value, Response), CallFailure> {
        let mut negotiated = session.negotiated_version();
        if let NegotiatedVersion::Open = negotiated {
            negotiated = self.negotiate().await?;
            session.set_negotiated_version(negotiated.clone());
        }
        let (response, id) = self.post(&negotiated, method, params, Vec::new()).await?;
        let failure = match result_of(&response, &id) {
            Ok(result) => {
                if let NegotiatedVersion::Presumed = negotiated {
                    session.set_negotiated_version(NegotiatedVersion::Newest);
                }
                return Ok((result, response));
            }
            Err(failure) => failure,
        };
        let (negotiated, headers) = match remedy(&negotiated, &failure) {
            Remedy::Nothing => return Err(failure),
            Remedy::Handshake => {
                let negotiated = match self.handshake().await {
                    Ok(negotiated) => negotiated,
                    // A server without a handshake: its first refusal says what is wrong.
                    Err(refused) if refuses_to_look(&refused) => return Err(failure),
                    Err(failure) => return Err(without_effect(failure)),
                };
                session.set_negotiated_version(negotiated.clone());
                (negotiated, Vec::new())
            }
            Remedy::ParamHeaders if method == CALL => {
                session.set_negotiated_version(NegotiatedVersion::Newest);
                let negotiated = NegotiatedVersion::Newest;
                let tools = Box::pin(self.list_tools(session)).await?;
                let is_called = |tool: &&Value| tool.get("name") == params.get("name");
                let schema = tools.iter().find(is_called).and_then(|tool| tool.get("inputSchema"));
                let arguments = params.get("arguments").and_then(Value::as_object);
                let headers = match (schema, arguments) {
                    (Some(schema), Some(arguments)) => param_headers(schema, arguments),
                    (_, None) | (None, _) => Vec::new(),
                };
                if headers.is_empty() {
                    return Err(failure);
                }
                (negotiated, headers)
            }
            Remedy::ParamHeaders => return Err(failure),
        };
        let (response, id) = self.post(&negotiated, method, params, headers).await?;
        Ok((result_of(&response, &id)?, response))
    }

    /// Finds out which version of MCP the server supports.
    async fn negotiate(&self) -> Result<NegotiatedVersion, CallFailure> {
        let asked = self.post(&NegotiatedVersion::Newest, DISCOVER, &Map::new(), Vec::new()).await;
        let (response, id) = asked.map_err(without_effect)?;
        match result_of(&response, &id) {
            Ok(result) => {
                let named = result.get("supportedVersions").and_then(Value::as_array);
                let newest = Version::NEWEST.name();
                if named.is_some_and(|named| named.iter().any(|version| version == newest)) {
                    return Ok(NegotiatedVersion::Newest);
                }
            }
            // Any other failure means that the server does not know the newest version.
            Err(failure) if is_about_the_caller(&failure) || is_of_unknown_versions(&failure) => {
                return Err(without_effect(failure));
            }
            Err(_) => {}
        }
        self.handshake().await.map_err(without_effect)
    }

    /// Sends `initialize`, and the notification that follows it.
    async fn handshake(&self) -> Result<NegotiatedVersion, CallFailure> {
        let id = uuid(&self.ids);
        // Without session id, which the server may have forgotten, and without version header, because none
        // is agreed on yet.
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": INITIALIZE, "params": CLIENT.handshake()});
        let response = self.exchange(HeaderMap::new(), request, &id).await?;
        let result = result_of(&response, &id)?;
        let named = result.get("protocolVersion").and_then(Value::as_str);
        let version = named.and_then(Version::from_name);
        let Some(version) = version.filter(|version| version.lifecycle() == Lifecycle::Handshake)
        else {
            let defect = Defect::NotAdcp("the server speaks no version of MCP that we know");
            return Err(CallFailure::garbled(defect, response.kept()));
        };
        let id = response.headers.get(SESSION_HEADER).cloned();
        let negotiated = NegotiatedVersion::Handshake { version, id };
        let method = "notifications/initialized";
        let request = CLIENT.request(version, method, Map::new());
        let headers = mcp_headers(&negotiated, request.headers, Vec::new());
        let body = json!({"jsonrpc": "2.0", "method": method}).to_string().into_bytes();
        let headers = self.headers(headers, &body)?;
        // The answer to the notification is ignored: a problem shows at the next call.
        self.post_for_events(headers, body).await?;
        Ok(negotiated)
    }

    /// Posts a request and returns the response, taken out of its event stream if it came in one, and the request's id.
    async fn post(
        &self,
        negotiated: &NegotiatedVersion,
        method: &str,
        params: &Map,
        arguments: Vec<(String, String)>,
    ) -> Result<(Response, String), CallFailure> {
        let id = uuid(&self.ids);
        let request = CLIENT.request(negotiated.version(), method, params.clone());
        let headers = mcp_headers(negotiated, request.headers, arguments);
        let message =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": request.params});
        Ok((self.exchange(headers, message, &id).await?, id))
    }

    /// Posts the request with this id and returns its answer.
    async fn exchange(
        &self,
        headers: HeaderMap,
        request: Value,
        id: &str,
    ) -> Result<Response, CallFailure> {
        let body = request.to_string().into_bytes();
        let headers = self.headers(headers, &body)?;
        let mut events = match self.post_for_events(headers, body).await? {
            OpenedResponse::Whole(response) => return Ok(*response),
            OpenedResponse::Events(events) => events,
        };
        while let Some(data) = events.next().await? {
            if is_answer(&data, id) {
                return Ok(events.response(data));
            }
        }
        Err(events.garbled(Defect::NotJsonRpc("no event is the answer to the request")))
    }

    async fn post_for_events(
        &self,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<OpenedResponse, CallFailure> {
        let time = self.transport.limits().timeout;
        self.transport.post_for_events(&self.endpoint, headers, body, time).await
    }
}

fn members(value: Value) -> Map {
    let Value::Object(members) = value else { return Map::new() };
    members
}

/// Builds the MCP headers, with the agreed session and the arguments that the tool requires in headers.
fn mcp_headers(
    negotiated: &NegotiatedVersion,
    named: Vec<(&'static str, String)>,
    arguments: Vec<(String, String)>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    for (name, value) in arguments {
        if let Ok(name) = HeaderName::try_from(name)
            && let Ok(value) = HeaderValue::try_from(value)
        {
            headers.insert(name, value);
        }
    }
    if let NegotiatedVersion::Handshake { id: Some(id), .. } = negotiated {
        headers.insert(SESSION_HEADER, id.clone());
    }
    headers
}

/// Returns the code and the data of a JSON-RPC error.
fn rpc_error(failure: &CallFailure) -> Option<(i32, Value)> {
    let CallFailure::Refused(refused) = failure else { return None };
    let mut body: Value = tradepost_document::json::from_slice(&refused.kept.body).ok()?;
    let error = body.get_mut("error")?;
    let code = i32::try_from(error.get("code")?.as_i64()?).ok()?;
    Some((code, error.get_mut("data").map(Value::take).unwrap_or_default()))
}

/// Returns true when a server refused to process a request. An AdCP error is an answer, whatever the status.
fn refuses_to_look(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    matches!(refused.kept.status, 400 | 404 | 405 | 406 | 422) && failure.adcp().is_none()
}

/// Chooses the remedy after a failure.
fn remedy(negotiated: &NegotiatedVersion, failure: &CallFailure) -> Remedy {
    let is_newest = match negotiated {
        // HTTP 404 to a session id says that the session has ended (MCP, "Session management").
        NegotiatedVersion::Handshake { id: Some(_), .. } if is_gone(failure) => {
            return Remedy::Handshake;
        }
        NegotiatedVersion::Handshake { .. } => return Remedy::Nothing,
        NegotiatedVersion::Open | NegotiatedVersion::Presumed => false,
        NegotiatedVersion::Newest => true,
    };
    match rpc_error(failure) {
        Some((UNSUPPORTED_VERSION, _)) if is_of_unknown_versions(failure) => Remedy::Nothing,
        Some((UNSUPPORTED_VERSION, _)) => Remedy::Handshake,
        Some((HEADER_MISMATCH, _)) => Remedy::ParamHeaders,
        Some(_) | None if !is_newest && refuses_to_look(failure) => Remedy::Handshake,
        Some(_) | None => Remedy::Nothing,
    }
}

/// Returns true when a server lists the versions that it supports, and none of them has a handshake known here.
fn is_of_unknown_versions(failure: &CallFailure) -> bool {
    let Some((UNSUPPORTED_VERSION, data)) = rpc_error(failure) else { return false };
    let has_handshake = |version: &Version| version.lifecycle() == Lifecycle::Handshake;
    offered_versions(&data).is_some_and(|offered| !offered.iter().any(has_handshake))
}

/// Returns true when a refusal is about the caller or the rate of its requests, or comes from a gateway.
fn is_about_the_caller(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    let status = refused.kept.status;
    matches!(status, 401 | 403 | 429)
        || failure.adcp().is_some()
        || status >= 500 && rpc_error(failure).is_none()
}

/// Marks a failure as one before the request was sent, so that the request cannot have had an effect.
fn without_effect(mut failure: CallFailure) -> CallFailure {
    match &mut failure {
        CallFailure::Unanswered(_) => {
            return CallFailure::Unsent(Unsent::Unreachable(failure.to_string()));
        }
        CallFailure::Refused(refused) => refused.kept.is_before_request = true,
        CallFailure::Garbled(garbled) => garbled.kept.is_before_request = true,
        CallFailure::Unsent(_) => {}
    }
    failure
}

fn is_gone(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    refused.kept.status == 404 && failure.adcp().is_none()
}

/// Returns true when an event is the answer to the request with this id, not a notification or a request of the server.
fn is_answer(data: &[u8], id: &str) -> bool {
    let Ok(message) = tradepost_document::json::from_slice::<Value>(data) else {
        return false;
    };
    match message.get("id").filter(|id| !id.is_null()) {
        Some(found) => {
            found == id && (message.get("result").is_some() || message.get("error").is_some())
        }
        // An error about a request whose id could not be read has none.
        None => message.get("error").is_some(),
    }
}

/// Returns the payload of a tool result that is no failure.
fn payload(result: Value, response: &Response) -> Result<SellerAnswer, CallFailure> {
    let kind = result.get("resultType").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "complete") {
        let defect =
            Defect::NotAdcp("the server wants to ask the person, which this client cannot");
        return Err(CallFailure::garbled(defect, response.kept()));
    }
    let payload = adcp::payload::of_tool(&result).map(Cow::into_owned);
    payload.map(SellerAnswer::from_payload).ok_or_else(|| {
        let defect = Defect::NotAdcp("the tool result has no structured content");
        CallFailure::garbled(defect, response.kept())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_told_from_what_else_a_server_says() {
        let answers = |data: &str| is_answer(data.as_bytes(), "7");
        assert!(answers(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#));
        assert!(answers(r#"{"jsonrpc":"2.0","id":"7","error":{"code":1}}"#));
        assert!(answers(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#));
        for other in [
            "",
            "x",
            r#"{"id":"8","result":{}}"#,
            r#"{"id":"7","method":"ping"}"#,
            r#"{"method":"notifications/progress"}"#,
        ] {
            assert!(!answers(other), "{other}");
        }
    }
}
