//! Answers to an authority that validates a name (`tls-alpn-01`, RFC 8737): a self-signed
//! certificate on a connection for nothing else.
//!
//! Challenges are stored in files, so that every process with access to the folder can answer: the
//! authority connects to a name, and not to the process that ordered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ClientHello;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::{private_key, server};

/// The only protocol that an authority offers (RFC 8737 §6.2).
pub const PROTOCOL: &[u8] = b"acme-tls/1";

/// Pending challenges, in a folder.
#[derive(Debug)]
pub struct Challenges {
    folder: PathBuf,
    names: Vec<String>,
}

impl Challenges {
    /// Creates the challenges of these names in a folder. The names are in lower case.
    #[must_use]
    pub fn new(folder: PathBuf, names: Vec<String>) -> Self {
        Self { folder, names }
    }

    /// Returns the file with the certificate and the key for a name, in PEM; `None` for an unknown
    /// name, so that a client cannot choose a file.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let known = self.names.iter().find(|known| known.eq_ignore_ascii_case(name))?;
        Some(self.at(known))
    }

    /// Returns the files of all names.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.names.iter().map(|name| self.at(name))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(format!("challenge-{name}.pem"))
    }

    /// Returns the challenge file for a connection of an authority; `None` for other clients.
    #[must_use]
    pub(crate) fn asked_for(&self, hello: &ClientHello<'_>) -> Option<PathBuf> {
        let mut offered = hello.alpn()?;
        let only = offered.next() == Some(PROTOCOL) && offered.next().is_none();
        self.file(hello.server_name().filter(|_| only)?)
    }
}

/// Returns the configuration for an authority; `None` when nothing has been ordered for the name.
/// Reads from the disk.
pub(crate) fn answer(file: &Path) -> Option<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // Not read like other certificates, which do not know the critical extension with the digest
    // (RFC 8737 §3).
    let pem = std::fs::read(file).ok()?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>().ok()?;
    let key = private_key(file, &provider).ok()?;
    let shown = SingleCertAndKey::from(CertifiedKey::new(chain, key));
    let mut config = server(provider, Arc::new(shown), None).ok()?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Some(config.into())
}
