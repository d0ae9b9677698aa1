//! `GET /`: shows people what the agent is and how to try it, and tells programs the address of the
//! card. Both get only what the card says. A directory shows its agents.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tradepost_a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};
use tradepost_document::json::{Value, object};

use super::head::{asks_for, host};
use super::plain::{json_response, not_found};
use crate::agent::Agent;
use crate::background::piece;
use crate::card::ENDPOINT_PATH;
use crate::directory::DirectoryEntry;
use crate::registry::AgentRegistry;

/// Content security policy of our pages: their own style, and nothing else.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

/// The page.
#[derive(Debug, Template)]
#[template(path = "home.html")]
struct HomePage<'c> {
    name: &'c str,
    description: &'c str,
    card: String,
    provider: Option<(&'c str, &'c str)>,
    documentation: Option<&'c str>,
    skills: Vec<(&'c str, &'c str)>,
    interfaces: Vec<(&'c str, &'c str, &'c str)>,
    /// Address and body of an example request.
    example: Option<(String, String)>,
    /// Address for assistants that speak MCP.
    mcp: Option<&'c str>,
    needs_credential: bool,
}

/// The page of a directory.
#[derive(Debug, Template)]
#[template(path = "directory.html")]
struct DirectoryPage<'c> {
    name: &'c str,
    description: &'c str,
    /// Address for assistants that speak MCP.
    mcp: &'c str,
    /// Path of the list of all cards.
    directory: &'c str,
    agents: Vec<DirectoryEntry>,
}

/// Answers with the home page of the host's agent or directory: HTML for people, JSON for programs.
pub(super) async fn get(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    let host = host(request.uri(), request.headers());
    let is_person = asks_for(request.headers(), "text/html");
    let agent = registry.agent(host);
    let mut response = if let Some(agent) = &agent {
        let card = card_of(&**agent);
        let page = HomePage::new(&**agent, &card);
        if is_person {
            render(&page)
        } else {
            let body = object!({"name": page.name, "card": page.card, "mcp"?: page.mcp});
            json_response(StatusCode::OK, body.to_string())
        }
    } else if let Some(agent) = registry.directory_agent(host) {
        let card = card_of(&*agent);
        let name = text(&card, "name");
        let mcp = agent.tools().and_then(|tools| tools.address()).unwrap_or_default();
        if is_person {
            let agents = registry.agents();
            // The first request builds the document, which takes too long for a thread that serves others.
            let listed = piece("reading the directory", move || agents.directory().entries());
            let agents = listed.await.unwrap_or_default();
            let description = text(&card, "description");
            render(&DirectoryPage { name, description, mcp, directory: DIRECTORY_PATH, agents })
        } else {
            let body = object!({"name": name, "directory": DIRECTORY_PATH, "mcp": mcp});
            json_response(StatusCode::OK, body.to_string())
        }
    } else {
        return not_found().await;
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

/// Returns the document of an agent's card.
fn card_of(agent: &dyn Agent) -> Value {
    tradepost_document::json::from_slice(&agent.card().body)
        .unwrap_or_else(|_| unreachable!("a card of ours is JSON"))
}

/// Answers with a page for people.
fn render(page: &impl Template) -> Response {
    let text = page.render().unwrap_or_else(|_| unreachable!("the page holds texts alone"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (headers, text).into_response()
}

impl<'c> HomePage<'c> {
    /// Creates the page of an agent from its card.
    fn new(agent: &'c dyn Agent, card: &'c Value) -> Self {
        let list = |name: &str| card.get(name).and_then(Value::as_array).into_iter().flatten();
        let skills: Vec<_> =
            list("skills").map(|skill| (text(skill, "id"), text(skill, "description"))).collect();
        let interfaces: Vec<_> = list("supportedInterfaces")
            .map(|one| {
                (text(one, "protocolBinding"), text(one, "protocolVersion"), text(one, "url"))
            })
            .collect();
        let endpoints = interfaces.iter().filter_map(|(.., url)| url.strip_suffix(ENDPOINT_PATH));
        let base = endpoints.into_iter().next().unwrap_or_default();
        let provider = card.get("provider");
        Self {
            name: text(card, "name"),
            description: text(card, "description"),
            card: format!("{base}{WELL_KNOWN_PATH}"),
            provider: provider.map(|one| (text(one, "organization"), text(one, "url"))),
            documentation: card.get("documentationUrl").and_then(Value::as_str),
            skills,
            interfaces,
            example: agent.example(base),
            mcp: agent.tools().and_then(|tools| tools.address()),
            needs_credential: card.get("securityRequirements").is_some(),
        }
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
