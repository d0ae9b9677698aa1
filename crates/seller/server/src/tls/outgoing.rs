//! TLS of the connections that this process makes: which authorities it trusts.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::fault::InternalError;

const WHAT: &str = "setting TLS up";

/// Creates a configuration that trusts the machine's authorities and `added`. On a machine without any,
/// such as a minimal container, it trusts Mozilla's authorities, which are built into the program, and
/// `added`.
///
/// # Errors
/// When a certificate of `added` is none.
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
    if let Ok(verifier) = Verifier::new(Arc::clone(provider)) {
        if added.is_empty() {
            return Ok(Arc::new(verifier));
        }
        let added = added.iter().cloned();
        let verifier = Verifier::new_with_extra_roots(added, Arc::clone(provider));
        return Ok(Arc::new(verifier.map_err(InternalError::on(WHAT))?));
    }
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in added {
        roots.add(certificate.clone()).map_err(InternalError::on(WHAT))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
    Ok(verifier.build().map_err(InternalError::on(WHAT))?)
}
