//! `GET /.well-known/api-catalog` (RFC 9727): where the cards of all agents of the process are, as a set of
//! links (RFC 9264 §4.2). Agents can choose not to be among them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use sha2::{Digest as _, Sha256};
use tradepost_wire::a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};
use tradepost_wire::format::hex;
use tradepost_wire::json::{Value, json};

use super::card::{CACHE_CONTROL, names_tag};
use super::{cors, host, not_found};
use crate::agent::SharedAgent;
use crate::background::piece;
use crate::card::{ENDPOINT_PATH, PublishedCard};
use crate::desk::Desk;

/// What the document is (RFC 9727 §4).
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static(
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"",
);

/// What `HEAD` is for (RFC 9727 §2).
const LINK: HeaderValue =
    HeaderValue::from_static("</.well-known/api-catalog>; rel=\"api-catalog\"");

/// The document.
#[derive(Debug)]
pub(crate) struct Directory {
    body: bytes::Bytes,
    etag: HeaderValue,
}

impl Directory {
    /// That of these agents. The same bytes on every host: the anchor is relative.
    pub(crate) fn of(agents: &[SharedAgent]) -> Self {
        let listed = agents.iter().filter(|agent| agent.is_listed());
        let items: Vec<Value> = listed.filter_map(|agent| item(agent.card())).collect();
        let set = json!({"linkset": [{"anchor": DIRECTORY_PATH, "item": items}]});
        let body = set.to_string();
        let etag = format!("\"{}\"", hex(&Sha256::digest(&body)));
        let etag = HeaderValue::from_str(&etag);
        let etag = etag.unwrap_or_else(|_| unreachable!("digits and quotes are a header's value"));
        Self { body: body.into(), etag }
    }
}

/// Where a card is, and whose.
fn item(card: &PublishedCard) -> Option<Value> {
    let card: Value = tradepost_wire::json::from_slice(&card.body).ok()?;
    let interfaces = card.get("supportedInterfaces").and_then(Value::as_array);
    let urls = interfaces.into_iter().flatten().filter_map(|one| one.get("url")?.as_str());
    // Those of MCP and gRPC lead elsewhere, or nowhere in particular.
    let base = urls.filter_map(|url| url.strip_suffix(ENDPOINT_PATH)).next()?;
    let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
    let href = format!("{base}{WELL_KNOWN_PATH}");
    Some(json!({"href": href, "type": "application/json", "title": name}))
}

pub(super) async fn get(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    if !desk.has_directory(host(request.uri(), request.headers())) {
        return not_found().await;
    }
    let agents = desk.agents();
    let written = piece("writing the directory", move || {
        let directory = agents.directory();
        (directory.body.clone(), directory.etag.clone())
    });
    let Some((body, etag)) = written.await else {
        return not_found().await;
    };
    let is_known = names_tag(request.headers(), etag.to_str().unwrap_or_default());
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(body) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, MEDIA_TYPE);
    headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    headers.insert(header::LINK, LINK);
    headers.insert(header::ETAG, etag);
    cors::open(&desk, request.headers(), &mut response);
    response
}
