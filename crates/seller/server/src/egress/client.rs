//! HTTP clients that connect only to addresses that the guard permits.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect};
use rustls::pki_types::CertificateDer;

use super::Egress;
use crate::fault::InternalError;

/// Maximum idle time of a connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Creates a client for addresses with TLS, or for those without. It follows no redirects and sends
/// each request once; a request takes at most `timeout`.
///
/// # Errors
/// When TLS cannot be set up.
pub fn build(egress: &Egress, timeout: Duration, secure: bool) -> Result<Client, InternalError> {
    finish(base(timeout).dns_resolver(CheckedResolver(egress.clone())), secure, &[])
}

/// Creates a client without the guard, for addresses that the operator has configured.
///
/// # Errors
/// When TLS cannot be set up.
pub fn without_guard(timeout: Duration, secure: bool) -> Result<Client, InternalError> {
    finish(base(timeout), secure, &[])
}

/// Creates a client without the guard that trusts additional certificates.
///
/// # Errors
/// When one of them is none.
pub fn trusting(
    timeout: Duration,
    secure: bool,
    roots: &[CertificateDer<'static>],
) -> Result<Client, InternalError> {
    finish(base(timeout), secure, roots)
}

/// Creates a builder for clients that use no redirects, retries, proxies or HTTP/2.
fn base(timeout: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("tradepost/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        // The caller decides about retries.
        .retry(reqwest::retry::never())
        .referer(false)
        // HTTP/2 is only needed for gRPC, which these clients do not use.
        .http1_only()
        // A proxy would resolve the name itself.
        .no_proxy()
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(2)
        .timeout(timeout)
        .connect_timeout(timeout)
}

/// Builds the client: a secure one sends requests by `https` only, another one trusts no authority and is for `http`.
fn finish(
    builder: ClientBuilder,
    secure: bool,
    roots: &[CertificateDer<'static>],
) -> Result<Client, InternalError> {
    let tls = match secure {
        true => tradepost_tls::client_config(roots),
        false => tradepost_tls::client_config_without_authorities(),
    };
    let mut tls = tls.map_err(InternalError::on("setting TLS up"))?;
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let builder = builder.https_only(secure).tls_backend_preconfigured(tls);
    builder.build().map_err(InternalError::on("making an HTTP client"))
}

/// Resolver of the client: it returns checked addresses, and the client connects to no others.
struct CheckedResolver(Egress);

impl reqwest::dns::Resolve for CheckedResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let egress = self.0.clone();
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let found = egress.resolve(&host).await?;
            // Port 0 stands for the address's own.
            let found = found.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(found) as reqwest::dns::Addrs)
        })
    }
}
