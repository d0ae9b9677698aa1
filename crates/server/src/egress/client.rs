//! HTTP clients that go where the guard lets them, and nowhere else.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, redirect};

use super::Egress;
use crate::fault::Fault;

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(30);

/// A client for addresses with TLS, or for those without. It follows no redirect and sends nothing
/// twice; a request takes at most `timeout`.
///
/// # Errors
/// When this machine has no certificates to trust.
pub fn build(egress: &Egress, timeout: Duration, secure: bool) -> Result<Client, Fault> {
    finish(base(timeout).dns_resolver(Guarded(egress.clone())), secure)
}

/// The same for an address that the operator has set, wherever it is: nobody else can name it.
///
/// # Errors
/// When this machine has no certificates to trust.
pub fn unguarded(timeout: Duration, secure: bool) -> Result<Client, Fault> {
    finish(base(timeout), secure)
}

/// The same for one whom the machine trusts, or these do.
///
/// # Errors
/// When neither has certificates to trust.
pub fn trusting(timeout: Duration, secure: bool, roots: Vec<Certificate>) -> Result<Client, Fault> {
    finish(base(timeout).tls_certs_merge(roots), secure)
}

fn base(timeout: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("tradepost/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        // Whoever sends knows when to send again.
        .retry(reqwest::retry::never())
        .referer(false)
        // HTTP/2 is for calls of gRPC, which nobody makes here.
        .http1_only()
        // A proxy would resolve the name for itself.
        .no_proxy()
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(2)
        .timeout(timeout)
        .connect_timeout(timeout)
}

fn finish(builder: ClientBuilder, secure: bool) -> Result<Client, Fault> {
    // When the process has a provider already, that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = if secure { builder.https_only(true) } else { without_tls(builder)? };
    builder.build().map_err(Fault::on("making an HTTP client"))
}

/// A machine without certificates can still call itself.
fn without_tls(builder: ClientBuilder) -> Result<ClientBuilder, Fault> {
    let provider = rustls::crypto::ring::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(Fault::on("setting TLS up"))?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(builder.tls_backend_preconfigured(tls))
}

/// Resolves for the client: what it gets has been judged, and it connects to nothing else.
struct Guarded(Egress);

impl reqwest::dns::Resolve for Guarded {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let (egress, host) = (self.0.clone(), name.as_str().to_owned());
        Box::pin(async move {
            let found = egress.resolve(&host).await?;
            // Port 0 stands for the address's own.
            let found = found.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(found) as reqwest::dns::Addrs)
        })
    }
}
