//! gRPC calls: the single request message, its framing, and the deadline.

use std::future::Future;
use std::ops::Deref;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::Either;
use tokio::time::Instant;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::status::RpcStatus;

use super::errors::{self, GrpcFailure};
use crate::http::intake::{self, BodyError, FullBody};
use crate::registry::AgentRegistry;

/// Length in bytes of the prefix of a message: compression flag and length.
pub(super) const PREFIX: usize = 5;

/// Returns true when the content type is gRPC with protobuf.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = intake::media_type(headers);
    kind.is("application/grpc") || kind.is("application/grpc+proto")
}

/// Reads the single message of a call, within the limits.
pub(super) async fn receive<'d>(
    registry: &'d AgentRegistry,
    parts: &Parts,
    mut body: Body,
) -> Result<GrpcMessage<'d>, GrpcFailure> {
    let limit = registry.settings.max_body_bytes;
    let invalid =
        |message: &str| GrpcFailure::from(&A2aRefusal::new(A2aCode::InvalidRequest, message));
    // The limit is for the message without its prefix.
    let body = intake::collect(registry, parts, &mut body, limit.saturating_add(PREFIX)).await;
    let whole = body.map_err(|unread| match unread {
        BodyError::TooLarge(_) => {
            let message =
                format!("the message is larger than the {limit} bytes that this agent accepts");
            let refusal = A2aRefusal::new(A2aCode::InvalidRequest, message)
                .with("maxBytes", limit.to_string());
            GrpcFailure::from(&refusal).with_status(RpcStatus::ResourceExhausted)
        }
        BodyError::Late(_) | BodyError::Slow => {
            GrpcFailure::from(&unread.refusal()).with_status(RpcStatus::DeadlineExceeded)
        }
        BodyError::OtherType | BodyError::Encoded | BodyError::Broken | BodyError::NoRoom => {
            GrpcFailure::from(&unread.refusal())
        }
    })?;
    let Some((prefix, message)) = whole.split_first_chunk::<PREFIX>() else {
        return Err(invalid("send exactly one message"));
    };
    let [flag, length @ ..] = *prefix;
    match flag {
        0 => {}
        1 => return Err(errors::compressed()),
        _ => return Err(invalid("the message has an unknown flag")),
    }
    match usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX).cmp(&message.len()) {
        std::cmp::Ordering::Equal => Ok(GrpcMessage(whole)),
        // Further bytes would be a second message.
        std::cmp::Ordering::Less => Err(invalid("send exactly one message")),
        std::cmp::Ordering::Greater => Err(invalid("the message ended early")),
    }
}

/// The single message of a call.
pub(super) struct GrpcMessage<'d>(FullBody<'d>);

impl Deref for GrpcMessage<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.get(PREFIX..).unwrap_or_default()
    }
}

/// Adds the prefix to a message.
pub(super) fn framed(message: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(PREFIX + message.len());
    out.push(0);
    let length = u32::try_from(message.len())
        .unwrap_or_else(|_| unreachable!("no answer of ours has four gigabytes"));
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
    out.into()
}

/// Deadline of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    /// Reads the deadline from `grpc-timeout`: at most eight digits and a unit.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(super) fn from_headers(headers: &HeaderMap) -> Result<Self, &'static str> {
        let Some(value) = headers.get("grpc-timeout") else { return Ok(Self(None)) };
        let timeout = value.to_str().ok().and_then(duration);
        let timeout = timeout.ok_or("grpc-timeout must be up to eight digits and a unit")?;
        // A time beyond the range of the clock is no deadline.
        Ok(Self(Instant::now().checked_add(timeout)))
    }

    /// Runs work until the deadline; `None` when it passes.
    pub(super) fn limit<T>(self, work: impl Future<Output = T>) -> impl Future<Output = Option<T>> {
        match self.0 {
            Some(until) => Either::Left(tokio::time::timeout_at(until, work).map(Result::ok)),
            None => Either::Right(work.map(Some)),
        }
    }
}

/// Parses the value of a `grpc-timeout` header.
fn duration(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u32 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(3_600) * number,
        "M" => Duration::from_secs(60) * number,
        "S" => Duration::from_secs(number.into()),
        "m" => Duration::from_millis(number.into()),
        "u" => Duration::from_micros(number.into()),
        "n" => Duration::from_nanos(number.into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    #[test]
    fn timeouts_are_digits_and_a_unit() {
        assert_eq!(duration("5S"), Some(Duration::from_secs(5)));
        assert_eq!(duration("99999999H"), Some(Duration::from_secs(359_999_996_400)));
        assert_eq!(duration("1n"), Some(Duration::from_nanos(1)));
        for bad in ["", "S", "5", "5s", "-5S", "123456789S", "5 S", "5é"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn content_types_of_grpc_are_told_from_similar_ones() {
        let is = |value: &str| {
            is_grpc(&HeaderMap::from_iter([(header::CONTENT_TYPE, value.parse().unwrap())]))
        };
        for good in ["application/grpc", "application/grpc+proto", "Application/gRPC; x=y"] {
            assert!(is(good), "{good}");
        }
        for bad in ["application/grpc-web", "application/grpc+json", "application/json", ""] {
            assert!(!is(bad), "{bad}");
        }
    }
}
