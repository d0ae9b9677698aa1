//! Requests to Google Ad Manager: REST with JSON, and SOAP with XML. Each is sent once, with a token of the service
//! account.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, StatusCode};
use tradepost_document::json::Value;
use tradepost_document::text;

use super::credentials::{AccessToken, TokenSource};
use super::errors::{self, ErrorMeaning};
use super::soap::{self, XmlElement};
use crate::client::{AdServerRequest, RawAnswer, by_status, exchange, garbled, plain, segment};
use crate::port::{AdServerError, RefusalReason};
use crate::settings::AdServerSettings;

/// Maximum size of an answer of SOAP in bytes.
const MAX_XML: usize = 1024 * 1024;

/// Namespaces of SOAP begin with this; the version follows.
const NAMESPACE: &str = "https://www.google.com/apis/ads/publisher/";

/// Client of one network.
pub(super) struct GoogleClient {
    client: Client,
    rest: String,
    soap: String,
    network: String,
    tokens: TokenSource,
    timeout: Duration,
    report_timeout: Duration,
}

impl GoogleClient {
    /// Creates a client. The last part of the SOAP address is the version of that interface.
    pub(super) fn new(
        settings: &AdServerSettings,
        client: Client,
        network: String,
        tokens: TokenSource,
    ) -> Self {
        let base = |url: &str| url.trim_end_matches('/').to_owned();
        Self {
            client,
            rest: base(&settings.url),
            soap: base(&settings.soap_url),
            network,
            tokens,
            timeout: settings.timeout,
            report_timeout: settings.report_timeout,
        }
    }

    /// Returns the path of something of the network: `orders` is `/v1/networks/N/orders`.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/v1/{}{rest}", self.name(""))
    }

    /// Returns the resource name of something of the network, such as `orders/5`.
    pub(super) fn name(&self, rest: &str) -> String {
        format!("networks/{}/{rest}", segment(&self.network))
    }

    /// Sends a request of REST.
    pub(super) async fn rest(&self, request: AdServerRequest) -> Result<Value, AdServerError> {
        let limit = request.limit();
        let timeout = if request.is_report() { self.report_timeout } else { self.timeout };
        let prepared = request.prepare(&self.client, &self.rest).timeout(timeout);
        let prepared = prepared.header(ACCEPT, "application/json");
        let token = self.tokens.token(&self.client, self.timeout).await?;
        let answer = self.sent(prepared, &token, limit).await?;
        if answer.status.is_success() {
            return answer.success();
        }
        let body = answer.document();
        let failed = errors::of_rest(answer.status, answer.retry_after, body.as_ref(), &token.text);
        Err(failed)
    }

    /// Calls a service of SOAP, and returns the element around what it has returned.
    pub(super) async fn soap(
        &self,
        service: &str,
        call: XmlElement,
    ) -> Result<XmlElement, AdServerError> {
        let version = self.soap.rsplit('/').next().unwrap_or_default();
        let document = soap::envelope(&format!("{NAMESPACE}{version}"), &self.network, call)?;
        let action = HeaderName::from_static("soapaction");
        let request = self
            .client
            .post(format!("{}/{service}", self.soap))
            .header(CONTENT_TYPE, "text/xml; charset=utf-8")
            .header(action, HeaderValue::from_static("\"\""))
            .body(document)
            .timeout(self.timeout);
        let token = self.tokens.token(&self.client, self.timeout).await?;
        let answer = self.sent(request, &token, MAX_XML).await?;
        let body = text::decoded(&answer.body).map(XmlElement::read);
        // A fault has the status 500 (SOAP 1.1 §6.2), and says what it means by its errors.
        if let Some(Ok(body)) = &body
            && let Some(fault) = soap::fault(body)
        {
            let explanation = match fault.names.as_slice() {
                [] => fault.text,
                names => names.join(", "),
            };
            let detail = plain(&explanation, &token.text, answer.status);
            let meaning = errors::of_names(fault.names.iter().map(String::as_str));
            let meaning = match meaning {
                Some(meaning) => meaning,
                None if answer.status.is_client_error() => {
                    return Err(by_status(answer.status, answer.retry_after, detail));
                }
                None if fault.is_of_client => ErrorMeaning::Refused(RefusalReason::Invalid),
                None => ErrorMeaning::Unknown,
            };
            if meaning == ErrorMeaning::Refused(RefusalReason::Credential) {
                self.refused(&token)?;
            }
            return Err(meaning.with(detail, answer.retry_after));
        }
        if !answer.status.is_success() {
            let detail = plain("", "", answer.status);
            return Err(by_status(answer.status, answer.retry_after, detail));
        }
        let body = body.ok_or_else(|| garbled("it is not UTF-8"))??;
        soap::returned(&body).cloned()
    }

    async fn sent(
        &self,
        request: RequestBuilder,
        token: &AccessToken,
        limit: usize,
    ) -> Result<RawAnswer, AdServerError> {
        let answer = exchange(request.bearer_auth(&token.text), limit).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            self.refused(token)?;
        }
        Ok(answer)
    }

    /// Forgets a token that was refused. A cached one may have ended early, so that the next request makes
    /// another one.
    fn refused(&self, token: &AccessToken) -> Result<(), AdServerError> {
        self.tokens.forget(token);
        if token.is_new { Ok(()) } else { Err(AdServerError::NotYet { retry_after: None }) }
    }
}

#[cfg(test)]
mod tests;
