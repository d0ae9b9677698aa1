//! How the server gets its certificate by itself.

use std::path::PathBuf;

/// What is ordered, and where (ACME, RFC 8555).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acme {
    /// The names that the certificate is for, in lower case.
    pub domains: Vec<String>,
    /// Whom the authority may write to.
    pub contact: Vec<String>,
    /// Where the authority says what it offers.
    pub directory: String,
    /// Where the account, the certificate and its key are kept.
    pub folder: PathBuf,
    /// Who vouches for the authority's own address, beyond those whom the machine trusts.
    pub ca_file: Option<PathBuf>,
}

/// Let's Encrypt, unless another one is named.
pub const DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// The name of the file with the certificate and its key.
pub const CERTIFICATE: &str = "certificate.pem";

impl Acme {
    /// The file with the certificate and its key: one, so that they cannot be of two ages.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join(CERTIFICATE)
    }
}
