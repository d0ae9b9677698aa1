//! HTTP client for an authority, with limits of time and size.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use reqwest::Client;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tradepost_document::http::RetryAfter;
use tradepost_server::egress::client;

use super::failure::{AcmeError, AcmeErrorCode};
use crate::config::acme::Acme;

/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of an answer in bytes; a certificate chain has a few thousand.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// HTTP client for an authority.
#[derive(Debug, Clone)]
pub(super) struct AcmeClient {
    client: Client,
    /// Delay that the authority asked for last.
    wait: Arc<Mutex<Option<Duration>>>,
}

impl AcmeClient {
    pub(super) fn open(settings: &Acme) -> Result<Self, AcmeError> {
        let read = |path: &PathBuf| {
            let read = std::fs::read(path).map_err(|error| error.kind().to_string());
            let roots = read.and_then(|pem| {
                let of_pem = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
                of_pem.ok().filter(|roots| !roots.is_empty()).ok_or("has no certificate".into())
            });
            roots.map_err(|why| AcmeError::from_file("server.tls.acme.ca_file", why))
        };
        let roots = settings.ca_file.as_ref().map(read).transpose()?.unwrap_or_default();
        let secure = settings.directory.starts_with("https://");
        let client = client::trusting(REQUEST_TIMEOUT, secure, &roots);
        let client =
            client.map_err(|fault| AcmeError::new(AcmeErrorCode::Unreachable, fault.chain()))?;
        Ok(Self { client, wait: Arc::default() })
    }

    /// Returns the delay that the authority asks for.
    pub(super) fn wait(&self) -> Option<Duration> {
        *self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(self, request: Request<BodyWrapper<Bytes>>) -> Result<BytesResponse, Error> {
        let (head, body) = request.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(never) => match never {},
        };
        let request = reqwest::Request::try_from(Request::from_parts(head, body)).map_err(other)?;
        let mut answer = self.client.execute(request).await.map_err(other)?;
        let mut response = Response::new(());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        self.note_wait(&response);
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(other)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(Error::Other("the answer is too large".into()));
            }
            body.extend_from_slice(&chunk);
        }
        let status = response.status();
        let whole = status.is_success() || body.first() == Some(&b'{');
        if !whole {
            // An HTML page, for example of a proxy, is no problem document.
            return Err(Error::Other(
                format!("the answer has the status {}", status.as_u16()).into(),
            ));
        }
        Ok(BytesResponse::from(response.map(|()| Full::new(Bytes::from(body)))))
    }

    /// Stores the delay of an error answer; in other answers `Retry-After` is for the library, which polls.
    fn note_wait(&self, response: &Response<()>) {
        let header = |name: &str| response.headers().get(name)?.to_str().ok();
        let wait = RetryAfter::from_headers(header).map(RetryAfter::duration);
        if response.status().is_client_error() || response.status().is_server_error() {
            *self.wait.lock().unwrap_or_else(PoisonError::into_inner) = wait;
        }
    }
}

impl HttpClient for AcmeClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        Box::pin(self.clone().ask(request))
    }
}

fn other(error: reqwest::Error) -> Error {
    Error::Other(Box::new(error.without_url()))
}
