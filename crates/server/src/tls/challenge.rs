//! How an authority is shown that a name leads here (`tls-alpn-01`, RFC 8737): by a certificate that we
//! signed ourselves, on a connection that asks for nothing else.
//!
//! What is to be shown stands in files, so that any process that has the folder can show it: the authority
//! comes back to a name, and not to the process that ordered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ClientHello;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::{private_key, server};

/// What an authority offers to speak, and nothing besides (RFC 8737 §6.2).
pub const PROTOCOL: &[u8] = b"acme-tls/1";

/// The challenges that are open, and where they are.
#[derive(Debug)]
pub struct Challenges {
    folder: PathBuf,
    names: Vec<String>,
}

impl Challenges {
    /// Those of these names, in a folder. The names are in lower case.
    #[must_use]
    pub fn new(folder: PathBuf, names: Vec<String>) -> Self {
        Self { folder, names }
    }

    /// The file with the certificate and the key that are shown for a name, in PEM; `None` for a name that
    /// is not ours, so that nobody names a file by it.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let known = self.names.iter().find(|known| known.eq_ignore_ascii_case(name))?;
        Some(self.at(known))
    }

    /// The files of all names.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.names.iter().map(|name| self.at(name))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(format!("challenge-{name}.pem"))
    }

    /// The file for somebody who connects to look, when it is an authority that does.
    #[must_use]
    pub(crate) fn asked_for(&self, hello: &ClientHello<'_>) -> Option<PathBuf> {
        let mut offered = hello.alpn()?;
        let only = offered.next() == Some(PROTOCOL) && offered.next().is_none();
        self.file(hello.server_name().filter(|_| only)?)
    }
}

/// What is spoken with an authority; `None` when nothing has been ordered for the name. It reads from
/// the disk.
pub(crate) fn answer(file: &Path) -> Option<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // Not as other certificates are read: the digest in it is a critical extension that is of no use to
    // anybody else (RFC 8737 §3), and so not known there.
    let pem = std::fs::read(file).ok()?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>().ok()?;
    let key = private_key(file, &provider).ok()?;
    let shown = SingleCertAndKey::from(CertifiedKey::new(chain, key));
    let mut config = server(provider, Arc::new(shown), None).ok()?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Some(config.into())
}
