//! Connection check of a remote server: reachable, and with a trusted certificate. Nothing is sent
//! beyond the handshake.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::der;

/// Certificate of a trusted server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCertificate {
    /// End of the certificate, when it could be read.
    pub expires_at: Option<Timestamp>,
}

/// Reason why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerError {
    /// The connection failed; with the system's message.
    Unreachable(String),
    /// The certificate is not trusted; with the reason.
    Untrusted(String),
}

/// Connects, and with `secure` performs the handshake. There is no time limit; the caller sets one.
///
/// # Errors
/// The reason why the server cannot be used.
pub async fn look(
    host: &str,
    port: u16,
    secure: bool,
) -> Result<Option<PeerCertificate>, PeerError> {
    let bare_host = host.trim_matches(['[', ']']);
    let stream = TcpStream::connect((bare_host, port)).await;
    let stream = stream.map_err(|error| PeerError::Unreachable(error.to_string()))?;
    if !secure {
        return Ok(None);
    }
    let name = ServerName::try_from(bare_host.to_owned())
        .map_err(|_| PeerError::Untrusted("its name cannot be in a certificate".to_owned()))?;
    let config = tradepost_tls::client_config(&[])
        .map_err(|error| PeerError::Untrusted(error.to_string()))?;
    let connector = TlsConnector::from(Arc::new(config));
    let secured = connector.connect(name, stream).await;
    let secured = secured.map_err(|error| PeerError::Untrusted(error.to_string()))?;
    let (_, session) = secured.get_ref();
    let leaf = session.peer_certificates().and_then(<[_]>::first);
    Ok(Some(PeerCertificate { expires_at: leaf.and_then(|leaf| der::not_after(leaf)) }))
}

/// Returns true when a certificate is valid for a host.
#[must_use]
pub fn is_for(certificate: &CertificateDer<'_>, host: &str) -> bool {
    let Ok(name) = ServerName::try_from(host.trim_matches(['[', ']'])) else {
        return false;
    };
    let Ok(certificate) = webpki::EndEntityCert::try_from(certificate) else {
        return false;
    };
    certificate.verify_is_valid_for_subject_name(&name).is_ok()
}
