//! HTTP clients of a transport: with and without TLS, for HTTP/1.1 and for HTTP/2.

use std::sync::OnceLock;

use reqwest::{Client, ClientBuilder, Url, redirect};

use super::{HttpTransport, TransportLimits, innermost};
use crate::failure::{CallFailure, ProxyProblem, Unsent};

/// Clients, each created when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Clients {
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
    plain_http2: OnceLock<Client>,
    secure_http2: OnceLock<Client>,
}

impl Clients {
    /// Uses clients that the caller has set up, for HTTP/1.1.
    pub(super) fn new(plain: Client, secure: Client) -> Self {
        Self { plain: plain.into(), secure: secure.into(), ..Self::default() }
    }
}

/// Version of HTTP that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HttpVersion {
    One,
    Two,
}

impl HttpTransport {
    pub(super) fn client(&self, url: &Url) -> Result<&Client, CallFailure> {
        let Clients { plain, secure, .. } = &*self.clients;
        self.made(url, [plain, secure], HttpVersion::One)
    }

    /// Returns the client that uses HTTP/2 alone.
    pub(super) fn http2_client(&self, url: &Url) -> Result<&Client, CallFailure> {
        if url.scheme() == "http"
            && let Some(proxy) = self.network.proxy_of(url)
        {
            // The request would go to the proxy by HTTP/2, which proxies for clear text do not support.
            let why = ProxyProblem::NoHttp2;
            return Err(CallFailure::Unsent(Unsent::Proxy { proxy, why }));
        }
        let Clients { plain_http2, secure_http2, .. } = &*self.clients;
        self.made(url, [plain_http2, secure_http2], HttpVersion::Two)
    }

    /// Returns the client for an address, created if there is none.
    fn made<'c>(
        &self,
        url: &Url,
        [without_tls, with_tls]: [&'c OnceLock<Client>; 2],
        version: HttpVersion,
    ) -> Result<&'c Client, CallFailure> {
        let slot = match url.scheme() {
            "http" => without_tls,
            "https" => with_tls,
            _ => return Err(CallFailure::address(url.as_str(), "is neither http nor https")),
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let built = self.build(version, url.scheme() == "https");
        let client = built.map_err(|why| CallFailure::Unsent(Unsent::Setup(why)))?;
        Ok(slot.get_or_init(|| client))
    }

    fn build(&self, version: HttpVersion, is_secure: bool) -> Result<Client, String> {
        let needs_authorities = is_secure || self.network.is_plain_proxy_secure();
        let tls = match needs_authorities {
            true => self.network.tls(),
            false => tradepost_tls::client_config_without_authorities(),
        };
        let mut tls = tls.map_err(|error| error.to_string())?;
        let (builder, protocol) = match version {
            HttpVersion::One => (builder(self.limits).http1_only(), "http/1.1"),
            HttpVersion::Two => (builder(self.limits).http2_prior_knowledge(), "h2"),
        };
        tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let builder = match self.network.proxy() {
            Some(proxy) => builder.proxy(proxy),
            None => builder,
        };
        let client = builder.https_only(is_secure).tls_backend_preconfigured(tls).build();
        client.map_err(|error| innermost(&error))
    }
}

fn builder(limits: TransportLimits) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("tradepost/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        // Only the caller knows if a request may be sent twice.
        .retry(reqwest::retry::never())
        .referer(false)
        // A proxy that was not configured would read the requests and decide where they go.
        .no_proxy()
        .timeout(limits.timeout)
        .connect_timeout(limits.connect.min(limits.timeout))
}
