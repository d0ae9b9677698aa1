//! The HTTP client for token issuers, whose addresses the operator has configured.

use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::{Client, RequestBuilder, Url};

use crate::auth::jwks::Fetch;
use crate::egress::client;
use crate::fault::InternalError;

/// Longest time for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Calls a token issuer.
#[derive(Debug, Clone)]
pub(super) struct IssuerClient(Client);

impl IssuerClient {
    /// Creates a client for an address: over TLS, except on this machine.
    ///
    /// # Errors
    /// When the address may not be called, or TLS cannot be set up.
    pub(super) fn from_url(url: &Url) -> Result<Self, InternalError> {
        let is_secure = url.scheme() == "https";
        let is_here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if !is_secure && !is_here {
            let cause = "the address of a token issuer must begin with https://";
            return Err(InternalError::new("opening authentication", cause));
        }
        client::without_guard(TIMEOUT, is_secure).map(Self)
    }

    /// Sends a form, and returns the body of a successful answer.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(super) async fn post(
        &self,
        url: Url,
        form: String,
        authorization: &str,
    ) -> Result<Vec<u8>, String> {
        let request = self
            .0
            .post(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .header("authorization", authorization)
            .body(form);
        body(request).await
    }
}

impl Fetch for IssuerClient {
    fn fetch(&self, url: Url) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        Box::pin(body(self.0.get(url)))
    }
}

/// Sends a request and returns the body of a successful answer of at most [`MAX_ANSWER_BYTES`].
async fn body(request: RequestBuilder) -> Result<Vec<u8>, String> {
    // Without its address, which is for the configuration and not for the log.
    let describe = |error: reqwest::Error| error.without_url().to_string();
    let mut response = request.send().await.map_err(describe)?;
    if !response.status().is_success() {
        return Err(format!("the answer has the status {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(describe)? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err(format!("the answer has more than {MAX_ANSWER_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
