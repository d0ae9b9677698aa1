#![doc = include_str!("../README.md")]

use std::env;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// Environment variables that name the machine's authorities.
const NAMES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Reason why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// An environment variable names authorities, and none of them can be read.
    #[error("{0} names no certificate that can be read")]
    Named(&'static str),
    /// The machine's authorities cannot be read.
    #[error("the machine's certificates cannot be read: {0}")]
    Unreadable(String),
    /// An added authority is not a certificate, or rustls refuses the configuration.
    #[error(transparent)]
    Refused(#[from] rustls::Error),
    /// No verifier can be made of the authorities.
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
}

/// Creates a configuration that trusts the machine's authorities and `added`. On a machine without any it trusts
/// Mozilla's, which are built into the program, and `added`.
///
/// # Errors
/// When the machine's authorities cannot be read, or an entry of `added` is not a certificate.
pub fn client_config(added: &[CertificateDer<'static>]) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(added, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        // rustls calls every verifier that is handed over dangerous: it is that of the platform, or rustls's own.
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

/// Creates a configuration that trusts nobody, for clients of addresses without TLS: reading the machine's authorities
/// takes time, and a machine without any can still talk to itself.
///
/// # Errors
/// When rustls refuses its own defaults.
pub fn client_config_without_authorities() -> Result<ClientConfig, TlsError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(config)
}

/// Creates a verifier with the authorities of the machine, or Mozilla's when it has none, and with `added`.
fn verifier(
    added: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    // Without `added`, because a machine without authorities would seem to have some.
    match Verifier::new(Arc::clone(provider)) {
        Ok(verifier) if added.is_empty() => return Ok(Arc::new(verifier)),
        Ok(_) => {
            let added = added.iter().cloned();
            return Ok(Arc::new(Verifier::new_with_extra_roots(added, Arc::clone(provider))?));
        }
        Err(_) => check_bundled_apply()?,
    }
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in added {
        roots.add(certificate.clone())?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
    Ok(verifier.build()?)
}

/// Checks that Mozilla's authorities may stand in for the machine's: nobody has named others, and the machine has none
/// that cannot be read.
///
/// # Errors
/// The variable that names authorities, or why the machine's cannot be read.
pub fn check_bundled_apply() -> Result<(), TlsError> {
    let named = NAMES.into_iter().find(|name| env::var_os(name).is_some_and(|set| !set.is_empty()));
    let unread = rustls_native_certs::load_native_certs().errors;
    check_sources(named, unread.first().map(ToString::to_string))
}

/// Refuses Mozilla's authorities when others are named or the machine's cannot be read.
fn check_sources(named: Option<&'static str>, unread: Option<String>) -> Result<(), TlsError> {
    match (named, unread) {
        (Some(name), _) => Err(TlsError::Named(name)),
        (None, Some(why)) => Err(TlsError::Unreadable(why)),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_that_somebody_has_named_are_not_replaced() {
        let checked = |named, unread: Option<&str>| {
            check_sources(named, unread.map(str::to_owned)).map_err(|error| error.to_string())
        };
        assert_eq!(checked(None, None), Ok(()));
        for (named, unread, why) in [
            (Some("SSL_CERT_FILE"), None, "SSL_CERT_FILE names no certificate that can be read"),
            (
                Some("SSL_CERT_DIR"),
                Some("denied"),
                "SSL_CERT_DIR names no certificate that can be read",
            ),
            (None, Some("denied"), "the machine's certificates cannot be read: denied"),
        ] {
            assert_eq!(checked(named, unread), Err(why.to_owned()));
        }
    }

    #[test]
    fn what_is_added_has_to_be_a_certificate() {
        let damaged = CertificateDer::from(b"no certificate".to_vec());
        assert!(client_config(&[damaged]).is_err());
    }
}
