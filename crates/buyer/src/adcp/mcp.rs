//! An AdCP task as an MCP tool call, over streamable HTTP. A server that keeps no sessions is
//! asked at once; one that wants to be greeted says so with a status of refusal, and is greeted.

use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::events::Finder;
use super::{AdcpClient, Answered, result_of};
use crate::client::uuid;
use crate::failure::{Defect, Failure};
use crate::transport::Response;

/// The versions of MCP whose tool results we read, the preferred one first.
const VERSIONS: &[&str] = &["2025-06-18", "2025-11-25", "2025-03-26"];

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// What was agreed on with the server.
#[derive(Debug, Default)]
pub(super) struct Session(Mutex<Agreed>);

#[derive(Debug, Clone, Default)]
struct Agreed {
    /// Whether the server was greeted.
    greeted: bool,
    version: Option<&'static str>,
    id: Option<HeaderValue>,
}

impl Session {
    fn agreed(&self) -> Agreed {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn agree(&self, agreed: Agreed) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = agreed;
    }
}

impl AdcpClient {
    pub(super) async fn send_by_mcp(
        &self,
        session: &Session,
        task: &str,
        arguments: &Value,
    ) -> Result<Answered, Failure> {
        let params = json!({"name": task, "arguments": arguments});
        let agreed = session.agreed();
        let (response, id) = self.post(&agreed, "tools/call", &params).await?;
        let result = match result_of(&response, &id) {
            Err(failure) if wants_greeting(&agreed, response.status, &failure) => {
                let agreed = self.greet().await?;
                session.agree(agreed.clone());
                // The server refused to look at the request: nothing happens twice.
                let (response, id) = self.post(&agreed, "tools/call", &params).await?;
                return payload(result_of(&response, &id)?, &response);
            }
            result => result?,
        };
        payload(result, &response)
    }

    /// `initialize`, and the notification that belongs to it.
    async fn greet(&self) -> Result<Agreed, Failure> {
        let client = json!({"name": "tradepost", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": VERSIONS.first(), "capabilities": {}, "clientInfo": client,
        });
        let (response, id) = self.post(&Agreed::default(), "initialize", &params).await?;
        let result = result_of(&response, &id)?;
        let named = result.get("protocolVersion").and_then(Value::as_str);
        let version = VERSIONS.iter().copied().find(|version| named == Some(*version));
        let Some(version) = version else {
            let defect = Defect::NotAdcp("the server speaks no version of MCP that we know");
            return Err(Failure::garbled(defect, response.kept()));
        };
        let id = response.headers.get(SESSION_HEADER).cloned();
        let agreed = Agreed { greeted: true, version: Some(version), id };
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let body = note.to_string().into_bytes();
        let headers = self.mcp_headers(&agreed);
        // Whatever comes back to a notification says nothing that the next call will not say.
        self.transport.post_for_events(&self.endpoint, headers, body, |_| true).await?;
        Ok(agreed)
    }

    /// Posts a request: the answer, as if it had come without events, and the request's id.
    async fn post(
        &self,
        agreed: &Agreed,
        method: &str,
        params: &Value,
    ) -> Result<(Response, String), Failure> {
        let id = uuid(&self.ids);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let body = request.to_string().into_bytes();
        let headers = self.mcp_headers(agreed);
        let mut finder = Finder::new(&id);
        let is_enough = |body: &[u8]| finder.feed(body);
        let endpoint = &self.endpoint;
        let sent = self.transport.post_for_events(endpoint, headers, body, is_enough).await;
        let mut response = sent?;
        if is_events(&response) {
            response.body = finder.into_found().ok_or_else(|| {
                let defect = Defect::NotJsonRpc("no event is the answer to the request");
                Failure::garbled(defect, response.kept())
            })?;
        }
        Ok((response, id))
    }

    fn mcp_headers(&self, agreed: &Agreed) -> HeaderMap {
        let mut headers = self.headers();
        let version = agreed.version.or(VERSIONS.first().copied()).unwrap_or_default();
        headers.insert(VERSION_HEADER, HeaderValue::from_static(version));
        if let Some(id) = &agreed.id {
            headers.insert(SESSION_HEADER, id.clone());
        }
        headers
    }
}

/// Whether a server refuses to look at a request before it was greeted, or has forgotten that it
/// was: an error of its own about the task is an answer, whatever the status.
fn wants_greeting(agreed: &Agreed, status: u16, failure: &Failure) -> bool {
    let refuses = if agreed.greeted {
        agreed.id.is_some() && status == 404
    } else {
        matches!(status, 400 | 404 | 422)
    };
    refuses && failure.adcp().is_none()
}

fn is_events(response: &Response) -> bool {
    let kind = response.content_type.as_deref().unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("text/event-stream")
}

/// The payload of a tool result that is no failure: its structured content, else the first text
/// that is an object.
fn payload(result: Value, response: &Response) -> Result<Answered, Failure> {
    if let Some(structured) = result.get("structuredContent").filter(|value| value.is_object()) {
        return Ok(Answered::of(structured.clone()));
    }
    let content = result.get("content").and_then(Value::as_array);
    let texts = content.into_iter().flatten().filter_map(|item| item.get("text")?.as_str());
    let mut objects = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    objects.find(Value::is_object).map(Answered::of).ok_or_else(|| {
        let defect = Defect::NotAdcp("the tool result has no structured content");
        Failure::garbled(defect, response.kept())
    })
}
