//! Responses of gRPC calls: one message, or a task's events, and the status.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use tradepost_a2a::protobuf::{self, schema};

use super::call::{Deadline, framed};
use super::errors;
use crate::agent::SharedAgent;
use crate::fault::InternalError;
use crate::panics;
use crate::tasks::{StreamItem, TaskStream};

/// Creates a response with one message.
pub(super) fn one_message(message: Vec<u8>) -> Response {
    let frames = [Frame::data(framed(&message)), Frame::trailers(errors::ok())];
    response(stream::iter(frames.map(Ok)))
}

/// Creates a response with a task's events until it pauses or ends, or the deadline passes. The next event is read when
/// the previous one has been sent, so a slow reader delays no other and takes no memory.
pub(super) fn task_events(events: TaskStream, agent: SharedAgent, deadline: Deadline) -> Response {
    response(stream::unfold(Some((events, agent)), move |state| async move {
        let (mut events, agent) = state?;
        let next = panics::catch("following a task", events.next());
        let next = deadline.limit(next).await.map(Result::flatten);
        let ended = match next {
            Some(Ok(Some(item))) => match event(&item) {
                Ok(message) => {
                    return Some((Ok(Frame::data(framed(&message))), Some((events, agent))));
                }
                Err(fault) => errors::internal_error(&*agent, &fault).into_trailers(),
            },
            Some(Ok(None)) if events.was_interrupted() => errors::stopping().into_trailers(),
            Some(Ok(None)) => errors::ok(),
            Some(Err(fault)) => errors::internal_error(&*agent, &fault).into_trailers(),
            None => errors::deadline_exceeded().into_trailers(),
        };
        Some((Ok(Frame::trailers(ended)), None))
    }))
}

fn event(item: &StreamItem) -> Result<Vec<u8>, InternalError> {
    // The event log stores JSON for the other bindings.
    let document = tradepost_document::json::from_str(&item.json)
        .map_err(InternalError::on("reading an event"))?;
    protobuf::write(&schema::STREAM_RESPONSE, &document)
        .map_err(InternalError::on("writing an event"))
}

pub(super) fn response(
    frames: impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static,
) -> Response {
    super::head(Body::new(StreamBody::new(frames)))
}
