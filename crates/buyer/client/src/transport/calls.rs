//! gRPC calls: sends one message, reads messages as they come, and reads the status from the trailers.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE};

use super::{ExchangeNumber, HttpTransport, Network, Response, challenges, cut, number_of};
use crate::failure::{CallFailure, Defect, KeptResponse, MAX_KEPT};
use crate::grpc::{GrpcEnd, NoMessage, framed, split};
use crate::response::{RawResponse, Via};

/// Media type of gRPC.
const GRPC: &str = "application/grpc";

/// Messages of a call, as they come.
#[derive(Debug)]
pub(crate) struct Messages {
    head: Response,
    number: Option<ExchangeNumber>,
    network: Arc<Network>,
    body: reqwest::Body,
    /// Received bytes that were not returned yet.
    rest: Vec<u8>,
    /// Beginning of the body.
    kept: Vec<u8>,
    length: usize,
    trailers: HeaderMap,
    max_body: usize,
    time: Duration,
}

impl HttpTransport {
    /// Calls a method; the answer may take this time.
    pub(crate) async fn call(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        message: &[u8],
        time: Duration,
    ) -> Result<Messages, CallFailure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
        // gRPC requires it, so that proxies which drop trailers can be detected.
        headers.insert(TE, HeaderValue::from_static("trailers"));
        let request = self.http2_client(url)?.post(url.clone()).headers(headers);
        let (head, response) = self.begin(request.body(framed(message)).timeout(time)).await?;
        let number = number_of(&response);
        Ok(Messages {
            head,
            number,
            network: Arc::clone(&self.network),
            body: response.into(),
            rest: Vec::new(),
            kept: Vec::new(),
            length: 0,
            trailers: HeaderMap::new(),
            max_body: self.limits.max_body,
            time,
        })
    }
}

impl Messages {
    /// Returns the next message; `None` when the call has ended with success. All messages together may be as
    /// large as one answer.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, CallFailure> {
        loop {
            let taken = split(&self.rest).map(|(message, rest)| (message.to_vec(), rest.len()));
            match taken {
                Ok((message, left)) => {
                    self.network.show_body(self.number, Some(GRPC), &message);
                    self.rest.drain(..self.rest.len() - left);
                    return Ok(Some(message));
                }
                Err(NoMessage::Compressed) => {
                    return Err(self.garbled(Defect::NotA2a("the message is compressed")));
                }
                Err(NoMessage::Cut) => {}
            }
            let frame = match self.body.frame().await {
                None => return self.ended(),
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Err(self.garbled(cut(&error, self.time))),
            };
            match frame.into_data() {
                Ok(chunk) => {
                    self.length += chunk.len();
                    if self.length > self.max_body {
                        return Err(self.garbled(Defect::TooLarge(self.max_body)));
                    }
                    let room = MAX_KEPT.saturating_sub(self.kept.len());
                    self.kept.extend(chunk.iter().take(room));
                    self.rest.extend_from_slice(&chunk);
                }
                Err(frame) => {
                    if let Ok(trailers) = frame.into_trailers() {
                        self.head.challenges.extend(challenges(&trailers));
                        self.trailers = trailers;
                    }
                }
            }
        }
    }

    /// Reads the status at the end of the call.
    fn ended<T>(&self) -> Result<Option<T>, CallFailure> {
        let stated = |name: &str| {
            // An answer with only a status has it in the headers.
            let value = self.trailers.get(name).or_else(|| self.head.headers.get(name));
            value.and_then(|value| value.to_str().ok())
        };
        match GrpcEnd::from_metadata(stated) {
            Some(end) if end.number == 0 && self.rest.is_empty() => Ok(None),
            Some(end) if end.number != 0 => Err(end.failure(&self.raw(&[]))),
            // A gateway has answered in the place of the server.
            None if !matches!(self.head.status, 200..=299) => {
                let by = crate::refusal::RefusalForm::Http(self.head.status);
                Err(self.raw(&self.kept).refused(by))
            }
            Some(_) | None => Err(self.garbled(Defect::Truncated)),
        }
    }

    fn raw<'a>(&'a self, body: &'a [u8]) -> RawResponse<'a> {
        let via = Via::HttpJson;
        let Response { status, retry_after, ref challenges, .. } = self.head;
        RawResponse { via, status, content_type: None, retry_after, challenges, body }
    }

    pub(crate) fn garbled(&self, defect: Defect) -> CallFailure {
        let length = self.length;
        CallFailure::garbled(defect, KeptResponse { length, ..self.head.kept_with(&self.kept) })
    }
}
