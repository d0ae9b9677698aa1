//! Certificates that are made for the test, and a client that shows and checks them.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tradepost_runtime::config::Tls;

use super::{Response, client};

/// How long to wait before something is looked at again.
pub const MOMENT: Duration = Duration::from_millis(20);

/// What the server's certificate is for.
pub const NAME: &str = "localhost";

/// Somebody who vouches.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// A certificate with its key, both in PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A server's certificate.
    pub fn server(&self) -> Pair {
        self.issue(|params| {
            *params = CertificateParams::new(vec![NAME.to_owned(), "127.0.0.1".into()]).unwrap();
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        })
    }

    /// A client's certificate, changed.
    pub fn client(&self, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        self.issue(|params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            change(params);
        })
    }

    /// A certificate, changed.
    pub fn issue(&self, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Pair {
    /// Writes it to a folder, where a server can be told to find it.
    pub fn write(&self, folder: &Path) -> Tls {
        let tls = Tls {
            certificate: folder.join("certificate.pem"),
            key: folder.join("key.pem"),
            client_ca: None,
        };
        std::fs::write(&tls.certificate, &self.certificate).unwrap();
        std::fs::write(&tls.key, &self.key).unwrap();
        tls
    }

    /// The certificate itself.
    pub fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }

    fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }
}

/// How a client speaks TLS.
pub fn config(trusted: &Authority, shown: Option<&Pair>, protocols: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match shown {
        Some(pair) => builder.with_client_auth_cert(vec![pair.der()], pair.private_key()).unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// A connection over TLS; the handshake is done with the first byte that is sent.
pub type Stream = StreamOwned<ClientConnection, TcpStream>;

/// Connects.
pub fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> Stream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), stream)
}

/// Sends a request in HTTP/1.1 on a connection of its own.
pub fn request(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<Response> {
    let bytes = client::bytes(NAME, method, target, headers, body);
    client::exchange(connect(address, config), &bytes)
}
