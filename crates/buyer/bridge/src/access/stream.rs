//! Calls over HTTP that may send messages before the answer: a question to the person, or progress. The answer is
//! then a stream of events that ends with the result. The person's answer comes with a separate request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tradepost_mcp::McpRequest;

use super::{AccessState, status_response};
use crate::person_form::EventSender;

/// Maximum number of events that wait to be written.
const MAX_QUEUED_EVENTS: usize = 4;

/// Silence after which a comment is written, so that no proxy takes the stream for dead.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Answers a request. With a session, the person of its client can be asked.
pub(super) async fn answer(
    state: Arc<AccessState>,
    request: McpRequest,
    session: Option<String>,
) -> Response {
    let (out, mut events) = mpsc::channel(MAX_QUEUED_EVENTS);
    let call = StreamedCall { state, session, id: request.id.as_json().to_owned() };
    let mut work = work(&call, request, out);
    // The first event decides: without a message before the result, the answer is plain JSON.
    tokio::select! {
        biased;
        Some(first) = events.recv() => respond(CallStream { first: Some(first), events, work, call }),
        done = &mut work => match done {
            Ok((status, body)) => status_response(status, body),
            Err(_) => status_response(500, fault(&call.id)),
        },
    }
}

/// Processes the request even if its client disconnects: an action to which a person has agreed must not be
/// interrupted.
fn work(
    call: &StreamedCall,
    request: McpRequest,
    out: mpsc::Sender<String>,
) -> JoinHandle<(u16, String)> {
    let state = Arc::clone(&call.state);
    let session = call.session.clone();
    let id = call.id.clone();
    tokio::spawn(async move {
        let handler = &state.handler;
        let questions = &handler.questions;
        let line =
            session.map(|session| EventSender { questions, session, call: id, out: out.clone() });
        handler.answer(request, line.as_ref(), Some(&out)).await
    })
}

/// Returns the answer for a call whose task panicked.
fn fault(id: &str) -> String {
    let message = "the bridge failed at this call; it may have been sent all the same";
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"{message}"}}}}"#)
}

/// Call of a client. Its open questions are cancelled when the client no longer reads the answer.
struct StreamedCall {
    state: Arc<AccessState>,
    session: Option<String>,
    id: String,
}

impl Drop for StreamedCall {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            self.state.handler.questions.cancelled(session, &self.id);
        }
    }
}

struct CallStream {
    first: Option<String>,
    events: mpsc::Receiver<String>,
    work: JoinHandle<(u16, String)>,
    call: StreamedCall,
}

fn respond(stream: CallStream) -> Response {
    let events = futures_util::stream::unfold(Some(stream), |stream| async move {
        let mut stream = stream?;
        let (event, goes_on) = stream.next().await;
        Some((Ok::<_, Infallible>(Bytes::from(event)), goes_on.then_some(stream)))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        // Proxies that buffer answers would hold back the question.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(events)).into_response()
}

impl CallStream {
    /// Returns the next event, and true when others follow.
    async fn next(&mut self) -> (String, bool) {
        if let Some(first) = self.first.take() {
            return (event(&first), true);
        }
        tokio::select! {
            biased;
            Some(message) = self.events.recv() => (event(&message), true),
            done = &mut self.work => {
                // Messages sent meanwhile precede the answer.
                let messages = std::iter::from_fn(|| self.events.try_recv().ok());
                let mut last: String = messages.map(|message| event(&message)).collect();
                last.push_str(&match done {
                    Ok((_, body)) => event(&body),
                    Err(_) => event(&fault(&self.call.id)),
                });
                (last, false)
            }
            () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => {
                (": the call goes on\n\n".to_owned(), true)
            }
        }
    }
}

/// Formats an event. Our JSON has no line breaks, so one `data` line is enough.
fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}
