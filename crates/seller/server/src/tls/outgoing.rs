//! TLS of the connections that this process makes: which authorities it trusts.

use std::env;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::fault::InternalError;

const WHAT: &str = "setting TLS up";

/// Environment variables that name the machine's authorities.
const NAMES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Creates a configuration that trusts the machine's authorities and `added`. On a machine without any,
/// such as a minimal container, it trusts Mozilla's authorities, which are built into the program, and
/// `added`.
///
/// # Errors
/// When the machine's authorities cannot be read, or an entry of `added` is not a certificate.
pub fn config(added: &[CertificateDer<'static>]) -> Result<ClientConfig, InternalError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(added, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(InternalError::on(WHAT))?
        // rustls calls every verifier that is handed over dangerous: it is that of the platform, or rustls's own.
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

fn verifier(
    added: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, InternalError> {
    // With `added` it would take a machine without authorities for one with these alone.
    match Verifier::new(Arc::clone(provider)) {
        Ok(verifier) if added.is_empty() => return Ok(Arc::new(verifier)),
        Ok(_) => {
            let added = added.iter().cloned();
            let verifier = Verifier::new_with_extra_roots(added, Arc::clone(provider));
            return Ok(Arc::new(verifier.map_err(InternalError::on(WHAT))?));
        }
        Err(_) => check_for_none()?,
    }
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in added {
        roots.add(certificate.clone()).map_err(InternalError::on(WHAT))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
    Ok(verifier.build().map_err(InternalError::on(WHAT))?)
}

/// Checks that the machine has no authorities because nobody has given it any.
///
/// # Errors
/// When somebody has named them, or some cannot be read: to trust Mozilla's in their place would be to trust more than the
/// operator wants.
pub fn check_for_none() -> Result<(), InternalError> {
    let named = NAMES.into_iter().find(|name| env::var_os(name).is_some_and(|set| !set.is_empty()));
    let unread = rustls_native_certs::load_native_certs().errors;
    judge(named, unread.first().map(ToString::to_string))
}

fn judge(named: Option<&str>, unread: Option<String>) -> Result<(), InternalError> {
    let cause = match (named, unread) {
        (Some(name), _) => format!("{name} names no certificate that can be read"),
        (None, Some(why)) => format!("the machine's certificates cannot be read: {why}"),
        (None, None) => return Ok(()),
    };
    Err(InternalError::new(WHAT, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_that_somebody_has_named_are_not_replaced() {
        let judged = |named: Option<&str>, unread: Option<&str>| {
            judge(named, unread.map(str::to_owned)).map_err(|fault| fault.chain())
        };
        assert_eq!(judged(None, None), Ok(()));
        for (named, unread, why) in [
            (Some("SSL_CERT_FILE"), None, "SSL_CERT_FILE names no certificate that can be read"),
            (Some("SSL_CERT_DIR"), Some("denied"), "SSL_CERT_DIR names no certificate that can be"),
            (None, Some("denied"), "the machine's certificates cannot be read: denied"),
        ] {
            let said = judged(named, unread).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
