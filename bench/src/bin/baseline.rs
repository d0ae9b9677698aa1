//! The handler that the server is compared with: axum and nothing else. It parses the body as
//! JSON and returns bytes that were captured from the server beforehand, chosen by the request's
//! `id`.
//!
//! `baseline ANSWER…` listens on a free loopback port and says which. Each file is one answer.

use std::collections::HashMap;
use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use bytes::Bytes;
use serde_json::Value;
use tokio::net::TcpListener;

type Answers = HashMap<String, Bytes>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut answers = Answers::new();
    for path in std::env::args_os().skip(1) {
        let bytes = Bytes::from(std::fs::read(path)?);
        answers.insert(id(&bytes).ok_or("an answer has no id")?, bytes);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "listening on http://{}", listener.local_addr()?)?;
    let router = Router::new().route("/a2a", post(answer)).with_state(Arc::new(answers));
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

async fn answer(State(answers): State<Arc<Answers>>, body: Bytes) -> Response {
    let Some(answer) = id(&body).and_then(|id| answers.get(&id)) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], answer.clone()).into_response()
}

/// Parses everything; the id is what keeps the compiler from leaving that out.
fn id(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    body.get("id")?.as_str().map(str::to_owned)
}
