//! An AdCP task as an MCP tool call, over streamable HTTP. A server that keeps no sessions is
//! asked at once; one that wants to be greeted says so with a status of refusal, and is greeted.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tradepost_wire::adcp;
use tradepost_wire::json::{Value, json};

use super::{AdcpClient, Answered, Offered, result_of};
use crate::client::uuid;
use crate::failure::{Defect, Failure};
use crate::transport::{Opened, Response};

/// The versions of MCP whose tool results we read, the preferred one first.
const VERSIONS: &[&str] = &["2025-06-18", "2025-11-25", "2025-03-26"];

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// How many tools are listed.
const MAX_TOOLS: usize = 1_000;

/// How many pages of tools are asked for.
const MAX_PAGES: usize = 50;

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
        // A copy, so that no lock is held while a request is under way.
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
        let (result, response) = self.ask(session, "tools/call", &params).await?;
        payload(result, &response)
    }

    /// The tools that the server lists, at most [`MAX_TOOLS`].
    pub(super) async fn list_by_mcp(&self, session: &Session) -> Result<Vec<Offered>, Failure> {
        let mut offered = Vec::new();
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let (result, response) = self.ask(session, "tools/list", &params).await?;
            let Some(tools) = result.get("tools").and_then(Value::as_array) else {
                let defect = Defect::NotAdcp("the list of tools is none");
                return Err(Failure::garbled(defect, response.kept()));
            };
            let text = |tool: &Value, name: &str| {
                tool.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let tools = tools.iter().take(MAX_TOOLS.saturating_sub(offered.len()));
            offered.extend(tools.map(|tool| Offered {
                name: text(tool, "name"),
                description: text(tool, "description"),
            }));
            match result.get("nextCursor").filter(|cursor| cursor.is_string()) {
                Some(cursor) if offered.len() < MAX_TOOLS => params = json!({"cursor": cursor}),
                Some(_) | None => break,
            }
        }
        Ok(offered)
    }

    /// The result of a request, and the answer that it came in. The server is greeted when it
    /// wants to be.
    async fn ask(
        &self,
        session: &Session,
        method: &str,
        params: &Value,
    ) -> Result<(Value, Response), Failure> {
        let agreed = session.agreed();
        let (response, id) = self.post(&agreed, method, params).await?;
        match result_of(&response, &id) {
            Err(failure) if wants_greeting(&agreed, response.status, &failure) => {
                let agreed = self.greet().await?;
                session.agree(agreed.clone());
                // The server refused to look at the request: nothing happens twice.
                let (response, id) = self.post(&agreed, method, params).await?;
                Ok((result_of(&response, &id)?, response))
            }
            result => Ok((result?, response)),
        }
    }

    /// `initialize`, and the notification that belongs to it.
    async fn greet(&self) -> Result<Agreed, Failure> {
        let client = json!({"name": "tradepost", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": VERSIONS.first(), "capabilities": {}, "clientInfo": client,
        });
        // Nothing of an earlier session goes along, which the server may have forgotten.
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
        let headers = self.headers(mcp_headers(&agreed), &body)?;
        // Whatever comes back to a notification says nothing that the next call will not say.
        self.post_for_events(headers, body).await?;
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
        let headers = self.headers(mcp_headers(agreed), &body)?;
        let mut events = match self.post_for_events(headers, body).await? {
            Opened::Whole(response) => return Ok((response, id)),
            Opened::Events(events) => events,
        };
        while let Some(data) = events.next().await? {
            if is_answer(&data, &id) {
                return Ok((events.response(data), id));
            }
        }
        Err(events.garbled(Defect::NotJsonRpc("no event is the answer to the request")))
    }

    async fn post_for_events(&self, headers: HeaderMap, body: Vec<u8>) -> Result<Opened, Failure> {
        let time = self.transport.limits().timeout;
        self.transport.post_for_events(&self.endpoint, headers, body, time).await
    }
}

fn mcp_headers(agreed: &Agreed) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // As long as nothing is agreed on the preferred one is named; a server that minds says so and
    // is greeted.
    let version = agreed.version.or(VERSIONS.first().copied()).unwrap_or_default();
    headers.insert(VERSION_HEADER, HeaderValue::from_static(version));
    if let Some(id) = &agreed.id {
        headers.insert(SESSION_HEADER, id.clone());
    }
    headers
}

/// Whether a server refuses to look at a request before it was greeted, or has forgotten that it
/// was: an error of its own about the task is an answer, whatever the status.
fn wants_greeting(agreed: &Agreed, status: u16, failure: &Failure) -> bool {
    let refuses = if agreed.greeted {
        // 404 to the id of a session says that the session has ended (MCP, "Session management").
        agreed.id.is_some() && status == 404
    } else {
        matches!(status, 400 | 404 | 422)
    };
    refuses && failure.adcp().is_none()
}

/// Whether an event is the answer to the request with this id: notifications and requests of the
/// server are passed over.
fn is_answer(data: &[u8], id: &str) -> bool {
    let Ok(message) = tradepost_wire::json::from_slice::<Value>(data) else {
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

/// The payload of a tool result that is no failure.
fn payload(result: Value, response: &Response) -> Result<Answered, Failure> {
    let payload = adcp::payload::of_tool(&result).map(Cow::into_owned);
    payload.map(Answered::of).ok_or_else(|| {
        let defect = Defect::NotAdcp("the tool result has no structured content");
        Failure::garbled(defect, response.kept())
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
