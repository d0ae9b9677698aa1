//! Verified client certificates: the chain ends at an authority of `client_ca`, and the certificate
//! was valid when the connection began.

use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};

use super::der;

/// The verified certificate of a connection's client.
#[derive(Debug, Clone)]
pub struct ClientCertificate(Arc<CertificateFacts>);

#[derive(Debug)]
struct CertificateFacts {
    fingerprint: Fingerprint,
    dns: Vec<String>,
    uris: Vec<String>,
    expires_at: Option<Timestamp>,
}

impl ClientCertificate {
    /// Reads a certificate that has been verified.
    #[must_use]
    pub fn read(certificate: &CertificateDer<'_>) -> Self {
        let names = webpki::EndEntityCert::try_from(certificate);
        // A certificate whose names cannot be read can still be identified by its fingerprint.
        let (dns, uris) = names.map_or_else(
            |_| (Vec::new(), Vec::new()),
            |names| {
                let dns = names.valid_dns_names().map(str::to_ascii_lowercase);
                (dns.collect(), names.valid_uri_names().map(str::to_owned).collect())
            },
        );
        Self(Arc::new(CertificateFacts {
            fingerprint: Fingerprint(Sha256::digest(certificate).into()),
            dns,
            uris,
            expires_at: der::not_after(certificate),
        }))
    }

    /// Returns true when the certificate matches.
    #[must_use]
    pub fn is(&self, subject: &CertificateSubject) -> bool {
        match subject {
            CertificateSubject::Fingerprint(fingerprint) => self.0.fingerprint == *fingerprint,
            CertificateSubject::Dns(name) => self.0.dns.contains(name),
            CertificateSubject::Uri(uri) => self.0.uris.contains(uri),
        }
    }

    /// Returns true when it has expired, because connections may live longer than certificates.
    #[must_use]
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.0.expires_at.is_some_and(|end| end < now)
    }
}

/// Criterion for a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CertificateSubject {
    /// A single certificate.
    Fingerprint(Fingerprint),
    /// Every certificate with this DNS name, in lower case, among its alternative names.
    Dns(String),
    /// Every certificate with this URI among its alternative names, such as a SPIFFE id.
    Uri(String),
}

/// SHA-256 of a certificate in DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl FromStr for Fingerprint {
    type Err = ();

    /// Reads 64 hexadecimal digits, with or without the prefix `sha256:` and colons between the
    /// bytes, as tools write them.
    fn from_str(text: &str) -> Result<Self, ()> {
        let prefix = text.get(..7).filter(|start| start.eq_ignore_ascii_case("sha256:"));
        let digits = text.get(prefix.map_or(0, str::len)..).ok_or(())?;
        let pairs: Vec<&[u8]> = if digits.contains(':') {
            digits.split(':').map(str::as_bytes).collect()
        } else {
            digits.as_bytes().chunks(2).collect()
        };
        let byte = |pair: &&[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            let plain = text.len() == 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
            plain.then(|| u8::from_str_radix(text, 16).ok()).flatten()
        };
        let bytes: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>().ok_or(())?;
        bytes.try_into().map(Self).map_err(|_| ())
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", tradepost_document::format::hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_tools_write_them() {
        let plain = "0af1".repeat(16);
        let colons = ["0A:F1"; 16].join(":");
        let read = |text: &str| text.parse::<Fingerprint>();
        let expected = format!("sha256:{plain}");
        for text in [&plain, &colons, &expected, &format!("SHA256:{colons}")] {
            assert_eq!(read(text).unwrap().to_string(), expected, "{text}");
        }
        let short = &plain[..62];
        let odd = &plain[..63];
        let nearly = plain.replacen('a', "+", 1);
        for text in ["", "sha256:", "sha1:00", short, odd, &nearly, &format!("{plain}00"), "é"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
