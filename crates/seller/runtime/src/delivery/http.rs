//! Delivery by HTTP POST. The address comes from the operator, so any host is allowed. Redirects are not
//! followed: they would send customer data to an address that the operator has not configured.

use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tradepost_client::receiver::authentic::{MIN_KEY, SIGNATURE};
use tradepost_document::http::trace::TRACEPARENT;
use tradepost_server::clock::Clock;
use tradepost_server::outbox::sender::{self, FailureReason, HttpSender};
use tradepost_server::tls::peer::{self, PeerError};
use tradepost_server::traces;

use super::channel::{AttemptFailed, AttemptVerdict, DeliveryCarrier, OutgoingMessage};
use crate::config::delivery::Http;
use tradepost_keys::hmac::SharedKey;

/// Header by which a receiver recognises a delivery that it has received before.
const ID_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// Header with the number of attempts, this one included.
const ATTEMPT_HEADER: HeaderName = HeaderName::from_static("tradepost-attempt");

/// Delivers messages by HTTP.
pub(super) struct HttpCarrier {
    url: String,
    media_type: &'static str,
    bearer: Option<HeaderValue>,
    hmac_key: Option<String>,
    sender: HttpSender,
    clock: Clock,
}

opaque!(HttpCarrier);

impl HttpCarrier {
    /// Creates the carrier for a URL, and reads its secrets.
    pub(super) fn open(http: &Http, timeout: Duration, clock: &Clock) -> Result<Self, String> {
        let read = |key: &str, secret: &crate::config::delivery::ConfigSecret| {
            secret.read().map_err(|why| format!("{key}: {why}"))
        };
        let bearer = http.bearer.as_ref().map(|secret| bearer(&read("bearer", secret)?));
        let hmac_key = http.hmac_key.as_ref().map(|secret| read("hmac_key", secret)).transpose()?;
        if hmac_key.as_ref().is_some_and(|key| key.chars().count() < MIN_KEY) {
            return Err(format!("hmac_key: must have {MIN_KEY} characters or more"));
        }
        Ok(Self {
            url: http.url.clone(),
            media_type: http.media_type,
            bearer: bearer.transpose()?,
            hmac_key,
            sender: HttpSender::without_guard(timeout),
            clock: clock.clone(),
        })
    }

    fn headers(&self, outgoing: &OutgoingMessage) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        headers.insert(ID_HEADER, HeaderValue::from_str(&outgoing.id).ok()?);
        headers.insert(ATTEMPT_HEADER, HeaderValue::from(outgoing.attempt));
        if let Some(trace) = traces::current() {
            let value = HeaderValue::from_str(&trace.to_string()).ok()?;
            headers.insert(HeaderName::from_static(TRACEPARENT), value);
        }
        if let Some(bearer) = &self.bearer {
            headers.insert(AUTHORIZATION, bearer.clone());
        }
        if let Some(key) = &self.hmac_key {
            let seconds = self.clock.now().as_second().to_string();
            let digits = SharedKey::new(key).sign(&seconds, outgoing.written.body.as_bytes());
            let value = HeaderValue::from_str(&format!("t={seconds},v1={digits}")).ok()?;
            headers.insert(HeaderName::from_static(SIGNATURE), value);
        }
        Some(headers)
    }

    async fn post(&self, outgoing: OutgoingMessage) -> Result<String, AttemptFailed> {
        let headers = self.headers(&outgoing);
        let sent = self.sender.post(&self.url, |_| headers, outgoing.written.body).await;
        sent.map(|()| "taken".to_owned()).map_err(judged)
    }

    /// Connects and closes the connection without a request, which a receiver could take for a delivery.
    async fn connect(&self) -> Result<&'static str, AttemptFailed> {
        let unusable = || AttemptVerdict::Refused.failure("the address is none");
        let url = Url::parse(&self.url).map_err(|_| unusable())?;
        let host = url.host_str().ok_or_else(unusable)?;
        let port = url.port_or_known_default().ok_or_else(unusable)?;
        let secure = url.scheme() == "https";
        match peer::look(host, port, secure).await {
            Ok(Some(_)) => Ok("accepts connections, with a trusted certificate"),
            Ok(None) => Ok("accepts connections"),
            Err(PeerError::Unreachable(_)) => Err(AttemptVerdict::Later.failure("no connection")),
            Err(PeerError::Untrusted(_)) => {
                Err(AttemptVerdict::Later.failure("no TLS that can be trusted"))
            }
        }
    }
}

impl DeliveryCarrier for HttpCarrier {
    fn carry(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<String, AttemptFailed>> {
        Box::pin(self.post(outgoing))
    }

    fn test_connection(&self) -> BoxFuture<'_, Result<&'static str, AttemptFailed>> {
        Box::pin(self.connect())
    }
}

/// Writes the `Authorization` header for a bearer token.
///
/// # Errors
/// When the token cannot be sent in a header: the configuration key and the reason.
pub(crate) fn bearer(token: &str) -> Result<HeaderValue, String> {
    let value = HeaderValue::from_str(&format!("Bearer {token}"));
    let mut value = value.map_err(|_| "bearer: must be ASCII".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Chooses the verdict of a failure. A 4xx is final, except the three that are temporary (408, 425, 429)
/// and those of credentials (401, 403), which the operator can correct while leads wait. A redirect is
/// final, because the operator has not configured its target. After 502 and 504 from a gateway the
/// receiver behind it may have the lead.
fn judged(failed: sender::AttemptError) -> AttemptFailed {
    let verdict = match failed.why {
        FailureReason::Status(401 | 403 | 408 | 425 | 429) => AttemptVerdict::Later,
        FailureReason::Status(300..=499)
        | FailureReason::Gone
        | FailureReason::Unverified
        | FailureReason::NotPermitted => AttemptVerdict::Refused,
        FailureReason::Status(502 | 504) | FailureReason::TimedOut | FailureReason::Broken => {
            AttemptVerdict::InDoubt
        }
        FailureReason::Status(_) | FailureReason::Unreachable | FailureReason::Forbidden => {
            AttemptVerdict::Later
        }
    };
    AttemptFailed { answer: failed.why.to_string(), verdict, retry_after: failed.retry_after }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_failure_has_its_verdict() {
        for (why, verdict) in [
            (FailureReason::Status(301), AttemptVerdict::Refused),
            (FailureReason::Status(400), AttemptVerdict::Refused),
            (FailureReason::Status(401), AttemptVerdict::Later),
            (FailureReason::Status(403), AttemptVerdict::Later),
            (FailureReason::Status(404), AttemptVerdict::Refused),
            (FailureReason::Status(408), AttemptVerdict::Later),
            (FailureReason::Status(422), AttemptVerdict::Refused),
            (FailureReason::Status(425), AttemptVerdict::Later),
            (FailureReason::Status(429), AttemptVerdict::Later),
            (FailureReason::Status(500), AttemptVerdict::Later),
            (FailureReason::Status(502), AttemptVerdict::InDoubt),
            (FailureReason::Status(503), AttemptVerdict::Later),
            (FailureReason::Status(504), AttemptVerdict::InDoubt),
            (FailureReason::Gone, AttemptVerdict::Refused),
            (FailureReason::Unverified, AttemptVerdict::Refused),
            (FailureReason::NotPermitted, AttemptVerdict::Refused),
            (FailureReason::TimedOut, AttemptVerdict::InDoubt),
            (FailureReason::Broken, AttemptVerdict::InDoubt),
            (FailureReason::Unreachable, AttemptVerdict::Later),
            (FailureReason::Forbidden, AttemptVerdict::Later),
        ] {
            let failed = sender::AttemptError { why, retry_after: Some(Duration::from_secs(7)) };
            let judged = judged(failed);
            assert_eq!(judged.verdict, verdict, "{why}");
            assert_eq!(judged.retry_after, Some(Duration::from_secs(7)));
        }
    }
}
