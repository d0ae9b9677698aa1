//! Status at the end of a gRPC call (A2A §10), read from its trailers.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Value, json, object};

use crate::failure::CallFailure;
use crate::response::{self, RawResponse, Via};

/// Status details that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrpcUnreadable;

/// Status at the end of a call.
#[derive(Debug, Clone)]
pub struct GrpcEnd {
    /// Number of the status, as sent.
    pub number: i64,
    /// Decoded `grpc-message`.
    pub message: String,
    /// `grpc-status-details-bin` as JSON, if it was sent; an error when it cannot be read.
    pub details: Option<Result<Value, GrpcUnreadable>>,
}

impl GrpcEnd {
    /// Reads the status from the trailers, or from the headers of an answer without a body; `None` where
    /// neither has one.
    #[must_use]
    pub fn from_metadata<'m>(metadata: impl Fn(&str) -> Option<&'m str>) -> Option<Self> {
        let number = metadata("grpc-status")?.trim().parse().ok()?;
        let message = decoded(metadata("grpc-message").unwrap_or_default());
        let details = metadata("grpc-status-details-bin").map(|text| {
            // Senders may leave out the padding.
            let bytes = STANDARD_NO_PAD
                .decode(text.trim().trim_end_matches('='))
                .map_err(|_| GrpcUnreadable)?;
            protobuf::read(&schema::STATUS, &bytes).map_err(|_| GrpcUnreadable)
        });
        Some(Self { number, message, details })
    }

    /// Returns the status, if its number is one of gRPC's.
    #[must_use]
    pub fn status(&self) -> Option<RpcStatus> {
        RpcStatus::ALL.iter().copied().find(|status| i64::from(status.number()) == self.number)
    }

    /// Returns the delay of a `RetryInfo`, which is a number of seconds followed by `s`.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        let delay = self
            .listed()?
            .as_array()?
            .iter()
            .find_map(|detail| detail.get("retryDelay")?.as_str())?;
        RetryAfter::from_protobuf(delay).map(RetryAfter::duration)
    }

    /// Returns the status in the form of the other bindings' errors: code, status, message and details.
    #[must_use]
    pub fn as_error(&self) -> Value {
        let status = self.status().map(RpcStatus::name);
        object!({"code": self.number, "status": status, "message": self.message,
            "details"?: self.listed()})
    }

    /// Returns the failure of a call that ended with this status, within this HTTP answer.
    #[must_use]
    pub fn failure(&self, carrier: &RawResponse<'_>) -> CallFailure {
        let details = self.listed().cloned().unwrap_or_else(|| json!([]));
        let body = details.to_string();
        let code = i32::try_from(self.number).unwrap_or(i32::MAX);
        let message = self.message.as_str();
        let via = Via::Grpc { code, message };
        let raw = RawResponse { via, content_type: None, body: body.as_bytes(), ..*carrier };
        response::of_call(&raw, code, message, &details)
    }

    /// Returns the list of typed details, if they can be read.
    #[must_use]
    pub fn listed(&self) -> Option<&Value> {
        self.details.as_ref()?.as_ref().ok()?.get("details")
    }
}

/// Decodes percent-encoded text, such as `grpc-message`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = (*first == b'%').then(|| after.split_first_chunk::<2>()).flatten();
        let read = pair.and_then(|(pair, after)| {
            let digits = std::str::from_utf8(pair).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        // An invalid escape stays as it is, because the text is for people.
        let (byte, after) = read.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_read_from_trailers_as_an_error() {
        let status = json!({"code": 5, "message": "50 % of it", "details": []});
        let details = STANDARD_NO_PAD.encode(protobuf::write(&schema::STATUS, &status).unwrap());
        let details = format!("{details}==");
        let end = GrpcEnd::from_metadata(|name| match name {
            "grpc-status" => Some("5"),
            "grpc-message" => Some("50 %25 of it%zz%"),
            "grpc-status-details-bin" => Some(&details),
            _ => None,
        });
        let end = end.unwrap();
        assert_eq!(end.status(), Some(RpcStatus::NotFound));
        assert_eq!(end.message, "50 % of it%zz%");
        assert_eq!(end.details.unwrap().unwrap()["message"], "50 % of it");
        assert!(GrpcEnd::from_metadata(|_| None).is_none());
    }
}
