//! Network settings: proxies and trusted certificates.
//!
//! Nothing here reads the environment; the caller passes its variables. Addresses of this machine and of
//! private networks never go through a proxy, whatever the variables say: the proxy would resolve them in its
//! own network, and could read requests that are sent in clear text only because they stay local.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Proxy, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tradepost_tls::TlsError;

use super::{ExchangeNumber, TrafficLog};
use crate::discover::is_local;
use crate::failure::CertificateProblem;

/// Network settings of a program. The default has no proxy, trusts the machine's certificates, and has no traffic log.
#[derive(Debug, Clone, Default)]
pub struct Network {
    proxies: Option<Arc<Proxies>>,
    authorities: Vec<CertificateDer<'static>>,
    pub(super) traffic: Option<Arc<TrafficLog>>,
}

/// Proxies for addresses with and without TLS, and the rules for addresses without a proxy.
struct Proxies {
    matcher: Matcher,
    /// With credentials, which are never shown.
    plain: Option<Url>,
    secure: Option<Url>,
}

// The addresses may hold a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

/// Error of an environment variable that names no proxy. Its value is not repeated, because it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} {why}")]
pub struct BadProxy {
    /// Name of the variable.
    pub variable: &'static str,
    /// Defect of its value.
    pub why: &'static str,
}

/// Error of a certificate file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadAuthorities {
    /// The file has no PEM certificate.
    #[error("has no certificate (PEM, -----BEGIN CERTIFICATE-----)")]
    None,
    /// A certificate in the file cannot be read.
    #[error("has a certificate that cannot be read")]
    Damaged,
}

/// Variables for addresses without TLS, in order of precedence: the first that is not empty counts. By
/// convention lower-case names come first.
const PLAIN: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const SECURE: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const PAST: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Variable that is set for CGI programs. There `HTTP_PROXY` is a request header, which anyone can send.
const CGI: &str = "REQUEST_METHOD";

impl Network {
    /// Uses the proxies that these variables name: `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`. `NO_PROXY`
    /// lists exceptions (hosts with their subdomains, addresses, networks, or `*`).
    ///
    /// # Errors
    /// The variable that names no proxy.
    pub fn with_proxies<'v>(
        mut self,
        variable: impl Fn(&str) -> Option<&'v str>,
    ) -> Result<Self, BadProxy> {
        let filled = |name: &&'static str| {
            let is_forged = *name == "HTTP_PROXY" && variable(CGI).is_some();
            let value = variable(name).map(str::trim).filter(|value| !value.is_empty());
            value.filter(|_| !is_forged).map(|value| (*name, value))
        };
        let named = |names: &[&'static str]| match names.iter().find_map(filled) {
            Some((variable, value)) => proxy(variable, value).map(Some),
            None => Ok(None),
        };
        let plain = named(&PLAIN)?;
        let secure = named(&SECURE)?;
        if plain.is_none() && secure.is_none() {
            return Ok(self);
        }
        let past = PAST.iter().find_map(filled).map(|(_, value)| value).unwrap_or_default();
        let text = |url: &Option<Url>| url.as_ref().map(Url::to_string).unwrap_or_default();
        let matcher = Matcher::builder().http(text(&plain)).https(text(&secure)).no(past).build();
        self.proxies = Some(Arc::new(Proxies { matcher, plain, secure }));
        Ok(self)
    }

    /// Trusts the authorities in this PEM text, in addition to those of the machine.
    ///
    /// # Errors
    /// When it holds no certificate, or one that cannot be read.
    pub fn with_authorities(mut self, pem: &[u8]) -> Result<Self, BadAuthorities> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let found = found.map_err(|_| BadAuthorities::Damaged)?;
        if found.is_empty() {
            return Err(BadAuthorities::None);
        }
        let mut readable = RootCertStore::empty();
        for certificate in &found {
            readable.add(certificate.clone()).map_err(|_| BadAuthorities::Damaged)?;
        }
        self.authorities.extend(found);
        Ok(self)
    }

    /// Writes all requests and answers to this log.
    #[must_use]
    pub fn with_traffic_log(self, log: TrafficLog) -> Self {
        Self { traffic: Some(Arc::new(log)), ..self }
    }

    /// Returns the host and port of the proxy for an address, without its credentials.
    #[must_use]
    pub fn proxy_of(&self, url: &Url) -> Option<String> {
        let proxy = self.proxies.as_ref()?.for_url(url)?;
        let host = proxy.host_str().unwrap_or_default();
        let port = proxy.port_or_known_default().unwrap_or_default();
        Some(format!("{host}:{port}"))
    }

    /// Writes a body of this exchange to the traffic log, if there is one.
    pub(super) fn show_body(
        &self,
        number: Option<ExchangeNumber>,
        content_type: Option<&str>,
        body: &[u8],
    ) {
        if let Some((log, number)) = self.traffic.as_ref().zip(number) {
            log.body(number, content_type, body);
        }
    }

    /// Returns the proxies in the form of the HTTP client.
    pub(super) fn proxy(&self) -> Option<Proxy> {
        let proxies = Arc::clone(self.proxies.as_ref()?);
        Some(Proxy::custom(move |url| proxies.for_url(url).cloned()))
    }

    /// Returns true when the connection to the proxy for addresses without TLS uses TLS.
    pub(super) fn is_plain_proxy_secure(&self) -> bool {
        let proxy = self.proxies.as_ref().and_then(|proxies| proxies.plain.as_ref());
        proxy.is_some_and(|proxy| proxy.scheme() == "https")
    }

    /// Returns the TLS configuration, which trusts the machine's authorities and those that were added.
    ///
    /// # Errors
    /// When the machine's authorities cannot be read.
    pub(super) fn tls(&self) -> Result<ClientConfig, TlsError> {
        tradepost_tls::client_config(&self.authorities)
    }
}

impl Proxies {
    /// Returns the proxy for an address.
    fn for_url(&self, url: &Url) -> Option<&Url> {
        if is_local(url) {
            return None;
        }
        self.matcher.intercept(&url.as_str().parse().ok()?)?;
        if url.scheme() == "https" { self.secure.as_ref() } else { self.plain.as_ref() }
    }
}

/// Reads the proxy that a variable names: an address, or a host and port alone.
fn proxy(variable: &'static str, value: &str) -> Result<Url, BadProxy> {
    let bad = |why| BadProxy { variable, why };
    let address = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let url = Url::parse(&address).map_err(|_| bad("is no address of a proxy"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("is neither http nor https"));
    }
    if !url.has_host() {
        return Err(bad("has no host"));
    }
    Ok(url)
}

/// Returns the certificate problem that caused an error, if one did.
pub(super) fn certificate_problem(error: &(dyn StdError + 'static)) -> Option<CertificateProblem> {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(rustls::Error::InvalidCertificate(why)) = current.downcast_ref() {
            return Some(problem_of(why));
        }
        // `io::Error::source` skips the wrapped error, so it is read directly.
        let wrapped = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => current.source(),
        };
    }
    None
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "rustls adds variants, and its readers can act on none of the others"
)]
fn problem_of(why: &CertificateError) -> CertificateProblem {
    match why {
        CertificateError::UnknownIssuer => CertificateProblem::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            CertificateProblem::Expired
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            CertificateProblem::NotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            CertificateProblem::OtherName
        }
        CertificateError::Revoked => CertificateProblem::Revoked,
        _ => CertificateProblem::Unusable,
    }
}

/// Returns true when an error is the proxy's: it could not be reached, or refused the tunnel.
pub(super) fn is_of_tunnel(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if current.to_string().starts_with("tunnel error") {
            return true;
        }
        cause = current.source();
    }
    false
}

#[cfg(test)]
mod tests;
