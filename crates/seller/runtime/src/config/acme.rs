//! Certificates that the server orders by itself.

use std::path::PathBuf;

/// Order of a certificate, and its authority (ACME, RFC 8555).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acme {
    /// Host names of the certificate, in lower case.
    pub domains: Vec<String>,
    /// Contact addresses for the authority.
    pub contact: Vec<String>,
    /// Address of the authority's ACME directory.
    pub directory: String,
    /// Folder for the account, the certificate and its key.
    pub folder: PathBuf,
    /// Additional root certificates for the connection to the authority (PEM).
    pub ca_file: Option<PathBuf>,
}

/// Directory of Let's Encrypt, the default authority.
pub const DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// Name of the file with the certificate and its key.
pub const CERTIFICATE: &str = "certificate.pem";

impl Acme {
    /// Returns the path of the file with the certificate and its key: one file, so that the two
    /// always match.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join(CERTIFICATE)
    }
}
