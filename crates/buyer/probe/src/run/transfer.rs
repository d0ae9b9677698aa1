//! Transfer of a single request over HTTP or gRPC: sends it unchanged and reads the whole answer.

use std::time::Duration;

use http_body_util::BodyExt as _;
use reqwest::Request;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::Value;

use super::{OutgoingRequest, ProbeRun};
use crate::exchange::HttpResponse;
use crate::grpc;
use crate::reply::streams;

/// Maximum size of an answer that is read, in bytes.
const MAX_BODY: usize = 8 * 1024 * 1024;
/// Maximum time without any data on a stream.
const STREAM_TIMEOUT: Duration = Duration::from_secs(10);

impl ProbeRun {
    /// Sends a request and reads its answer, or its first `leave_after` events. Fails with a sentence for the report.
    pub(super) async fn transfer(
        &self,
        out: &OutgoingRequest,
        leave_after: Option<usize>,
    ) -> Result<HttpResponse, String> {
        let mut request = Request::new(out.method.clone(), out.url.clone());
        let mut headers = HeaderMap::new();
        for (name, value) in &out.headers {
            let value = HeaderValue::from_bytes(value.as_bytes());
            let value = value.map_err(|_| format!("{name} cannot be sent"))?;
            headers.append(HeaderName::from_static(name), value);
        }
        if let Ok(agent) = HeaderValue::from_str(&self.options.user_agent()) {
            headers.append(USER_AGENT, agent);
        }
        *request.headers_mut() = headers;
        if !out.body.is_empty() {
            *request.body_mut() = Some(out.body.clone().into());
        }
        let call = out.call.as_ref();
        let opened = match call {
            Some(_) => self.transport.open_http2(request).await,
            None => self.transport.open(request).await,
        };
        let opened_response = opened.map_err(|failure| failure.to_string())?;
        let status = opened_response.status().as_u16();
        let headers = listed(opened_response.headers());
        let mut response = HttpResponse { status, headers, ..HttpResponse::default() };
        let number = opened_response.extensions().get().copied();
        let mut body = std::pin::pin!(reqwest::Body::from(opened_response));
        let streams = match call {
            Some(call) => call.operation.is_some_and(streams),
            None => response.media_type() == "text/event-stream",
        };
        let timeout = if streams { STREAM_TIMEOUT } else { self.transport.limits().timeout };
        loop {
            let frame = match tokio::time::timeout(timeout, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => {
                    response.ended = true;
                    break;
                }
                // The part of a stream that arrived can be checked.
                Ok(Some(Err(_))) | Err(_) if streams => break,
                Ok(Some(Err(_))) => return Err("the answer broke off".to_owned()),
                Err(_) => return Err("the answer did not end in time".to_owned()),
            };
            match frame.into_data() {
                Ok(chunk) => response.body.extend_from_slice(&chunk),
                Err(frame) => {
                    let trailers = frame.into_trailers().ok().filter(|_| call.is_some());
                    response.trailers =
                        trailers.map(|trailers| listed(&trailers)).unwrap_or_default();
                }
            }
            if response.body.len() > MAX_BODY {
                return Err(format!("the answer is larger than {MAX_BODY} bytes"));
            }
            let count_events = || match call {
                Some(_) => grpc::count(&response.body),
                None => response.events().len(),
            };
            if leave_after.is_some_and(|events| count_events() >= events) {
                break;
            }
        }
        self.transport.show_body(number, Some(&response.media_type()), &response.body);
        response.readable = call.map(|call| grpc::readable(call.operation, &response));
        Ok(response)
    }
}

fn listed(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

/// Returns the pause that the agent requests when it reports too many requests.
pub(super) fn requested_wait(response: &HttpResponse) -> Option<Duration> {
    const DEFAULT: Duration = Duration::from_secs(2);
    if let Some(end) = grpc::end(response) {
        // Without RetryInfo, the status means that the request itself is too large.
        return end.retry_delay().filter(|_| end.status() == Some(RpcStatus::ResourceExhausted));
    }
    let body = response.json();
    let data = body.as_ref().and_then(|body| body.pointer("/error/data"));
    let of_tool = body.as_ref().and_then(|body| body.pointer("/result/structuredContent"));
    let of_adcp = data.into_iter().chain(of_tool).find_map(|object| object.get("adcp_error"));
    let code = |error: &Value| error.get("code").and_then(Value::as_str) == Some("RATE_LIMITED");
    let limited = data.is_some_and(code) || of_adcp.is_some_and(code);
    if response.status != 429 && !limited {
        return None;
    }
    let header = RetryAfter::from_headers(|name| response.header(name));
    let details = data.and_then(|data| data.get("details"));
    let in_body = details.and_then(|details| details.get("retry_after_ms")?.as_f64());
    let in_body = in_body.and_then(RetryAfter::from_milliseconds);
    let seconds = of_adcp.and_then(|error| error.get("retry_after")?.as_f64());
    let seconds = seconds.and_then(|seconds| RetryAfter::from_seconds(seconds.ceil()));
    // The longest requested pause counts, wherever it is stated.
    let wait = in_body.max(seconds).max(header).map(RetryAfter::duration);
    // A requested pause of zero is raised to 50 ms.
    Some(wait.unwrap_or(DEFAULT).max(Duration::from_millis(50)))
}
