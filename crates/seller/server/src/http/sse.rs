//! Task streams as server-sent events.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;

use crate::fault::InternalError;
use crate::panics;
use crate::tasks::{StreamItem, TaskStream};

/// Time of silence after which a comment keeps the connection open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Writer of stream events in the format of a binding.
pub(super) trait SseFrame: Send + 'static {
    /// Returns the data of an event; `is_last` is for bindings that mark the last one.
    fn event(&self, json: &str, is_last: bool) -> String;
    /// Returns a whole event for a failed stream; the cause is for the log.
    fn internal_error(&self, fault: &InternalError) -> String;
}

/// Creates a response with a task's events until it pauses or ends.
pub(super) fn task_events(events: TaskStream, frame: impl SseFrame) -> Response {
    let body = stream::unfold(Some((events, frame)), |state| async move {
        let (mut events, frame) = state?;
        // Cancelling is safe: `next` takes an entry only when it is about to return it.
        let next = panics::catch("following a task", events.next());
        let next = tokio::time::timeout(KEEP_ALIVE_INTERVAL, next).await.map(Result::flatten);
        let (text, more) = match next {
            Err(_) => (":\n\n".to_owned(), true),
            Ok(Ok(Some(StreamItem { seq, json }))) => {
                (format!("id: {seq}\ndata: {}\n\n", frame.event(&json, events.is_closed())), true)
            }
            Ok(Ok(None)) => return None,
            Ok(Err(fault)) => (frame.internal_error(&fault), false),
        };
        let state = more.then_some((events, frame));
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), state))
    });
    response(Body::from_stream(body))
}

/// Creates a response with one event.
pub(super) fn one_event(json: &str, frame: &impl SseFrame) -> Response {
    response(Body::from(format!("data: {}\n\n", frame.event(json, true))))
}

fn response(body: Body) -> Response {
    let stream = HeaderValue::from_static("text/event-stream");
    let no_store = HeaderValue::from_static("no-store");
    ([(header::CONTENT_TYPE, stream), (header::CACHE_CONTROL, no_store)], body).into_response()
}
