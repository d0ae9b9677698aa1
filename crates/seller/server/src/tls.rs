//! TLS of the server: its own certificate, and the accepted client certificates (A2A 1.0 §7.1).
//!
//! Versions 1.2 and 1.3 are supported, with the cipher suites of rustls and ring. A running server
//! has an [`ServerIdentity`], which follows the files.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::SystemTime;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    NoServerSessionStorage, ResolvesServerCert, ResolvesServerCertUsingSni, WebPkiClientVerifier,
};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{Error, InconsistentKeys, RootCertStore, ServerConfig, version};

use challenge::Challenges;

use crate::clock::Clock;
use crate::limit::{FAILURES, LimitKey, Limiter};

pub mod challenge;
pub mod client;
pub mod peer;

mod der;

/// Protocols for ALPN, preferred first (RFC 7301).
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

const CERTIFICATE: &str = "server.tls.certificate";
const KEY: &str = "server.tls.key";
const CLIENT_CA: &str = "server.tls.client_ca";

/// PEM files, which are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PemFiles {
    /// Certificate chain without the authority, beginning with the server's own.
    pub certificate: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
    /// Authorities of accepted client certificates; when `None`, clients are not asked for one.
    pub client_ca: Option<PathBuf>,
}

/// Reason why a file cannot be used, without any of its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct TlsFileError {
    /// Dotted configuration key of the file.
    pub key: &'static str,
    /// Message: what is wrong, and what is needed.
    pub message: String,
}

/// The files, read and checked.
#[derive(Debug)]
pub struct LoadedFiles {
    /// Configuration for rustls.
    pub config: Arc<ServerConfig>,
    /// End of our certificate, when it could be read.
    pub expires_at: Option<jiff::Timestamp>,
    /// Start of our certificate, when it could be read.
    pub begins_at: Option<jiff::Timestamp>,
    /// Our certificate.
    pub certificate: Option<CertificateDer<'static>>,
}

/// Reads the files.
///
/// # Errors
/// Every mistake in them.
pub fn load(files: &PemFiles) -> Result<LoadedFiles, Vec<TlsFileError>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = at(CERTIFICATE, &files.certificate, certificates(&files.certificate));
    let key = at(KEY, &files.key, private_key(&files.key, &provider));
    let clients = clients(files, &provider);
    // All files are read before the first mistake is returned, so that all mistakes are reported.
    let (chain, key, clients) = match (chain, key, clients.transpose()) {
        (Ok(chain), Ok(key), Ok(clients)) => (chain, key, clients),
        (chain, key, clients) => {
            return Err([chain.err(), key.err(), clients.err()].into_iter().flatten().collect());
        }
    };
    let validity = chain.first().and_then(|certificate| der::validity(certificate));
    let (begins_at, expires_at) = validity.unzip();
    let certificate = chain.first().cloned();
    let certified = CertifiedKey::new(chain, key);
    let certificate_path = files.certificate.display();
    let wrong = match certified.keys_match() {
        // Not every kind of key can be checked.
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => None,
        Err(Error::InconsistentKeys(_)) => {
            let path = files.key.display();
            Some((KEY, format!("{path} is not the key of the certificate in {certificate_path}")))
        }
        Err(_) => Some((CERTIFICATE, format!("{certificate_path} is damaged"))),
    };
    if let Some((key, message)) = wrong {
        return Err(vec![TlsFileError { key, message }]);
    }
    let shown = Arc::new(SingleCertAndKey::from(certified));
    let config = server(provider, shown, clients).map_err(config_error)?;
    Ok(LoadedFiles { config: config.into(), expires_at, begins_at, certificate })
}

/// Creates the configuration for the time without a certificate: connections end with an alert.
fn without(files: &PemFiles) -> Result<Arc<ServerConfig>, Vec<TlsFileError>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = clients(files, &provider).transpose().map_err(|error| vec![error])?;
    let no_certificates = Arc::new(ResolvesServerCertUsingSni::new());
    Ok(server(provider, no_certificates, clients).map_err(config_error)?.into())
}

fn config_error(error: Error) -> Vec<TlsFileError> {
    vec![TlsFileError { key: "server.tls", message: error.to_string() }]
}

/// Creates the verifier of client certificates, where they are accepted.
fn clients(
    files: &PemFiles,
    provider: &Arc<CryptoProvider>,
) -> Option<Result<Arc<dyn ClientCertVerifier>, TlsFileError>> {
    let path = files.client_ca.as_deref()?;
    let verifier = authorities(path).and_then(|roots| {
        let builder =
            WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
        // Agent cards are public, so a client without a certificate has to be able to make a
        // request.
        builder.allow_unauthenticated().build().map_err(|error| error.to_string())
    });
    Some(at(CLIENT_CA, path, verifier))
}

/// Creates the configuration of the server; client certificates are requested when there is a verifier.
fn server(
    provider: Arc<CryptoProvider>,
    shown: Arc<dyn ResolvesServerCert>,
    clients: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?;
    let asks = clients.is_some();
    let builder = match clients {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(shown);
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    if asks {
        // A resumed session would bring its certificate along without verification.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

fn at<T>(key: &'static str, path: &Path, read: Result<T, String>) -> Result<T, TlsFileError> {
    read.map_err(|why| TlsFileError { key, message: format!("{} {why}", path.display()) })
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))
}

/// Reads a certificate chain in PEM.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_slice_iter(&read(path)?).collect::<Result<Vec<_>, _>>();
    let chain = read.map_err(|_| "is not PEM")?;
    if chain.is_empty() {
        return Err("has no CERTIFICATE in PEM".to_owned());
    }
    let whole = |der: &CertificateDer<'_>| webpki::EndEntityCert::try_from(der).is_ok();
    match chain.iter().position(|certificate| !whole(certificate)) {
        None => Ok(chain),
        Some(index) => Err(format!("is damaged: its certificate {} cannot be read", index + 1)),
    }
}

/// Reads a private key in PEM.
fn private_key(path: &Path, provider: &CryptoProvider) -> Result<Arc<dyn SigningKey>, String> {
    let bytes = read(path)?;
    let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        // To the parser an encrypted key is an unknown one, but its owner has to be told what to
        // do.
        let encrypted = bytes.windows(9).any(|word| word == b"ENCRYPTED");
        if encrypted {
            "is encrypted; the server needs it unencrypted"
        } else if matches!(error, pem::Error::NoItemsFound) {
            "has no PRIVATE KEY in PEM"
        } else {
            "is not PEM"
        }
    })?;
    let loaded = provider.key_provider.load_private_key(key);
    loaded.map_err(|_| {
        "must be an RSA key of 2048 bits or more, or of P-256, P-384 or Ed25519".into()
    })
}

fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for (index, certificate) in certificates(path)?.into_iter().enumerate() {
        let added = roots.add(certificate);
        added.map_err(|_| format!("has no authority as its certificate {}", index + 1))?;
    }
    Ok(roots)
}

/// State of a file, by which changes are detected; `None` while it is missing.
type FileState = Option<(Option<SystemTime>, u64)>;

/// The server's certificate, which follows its files.
#[derive(Debug)]
pub struct ServerIdentity {
    files: PemFiles,
    held: RwLock<LoadedIdentity>,
    /// Challenges for authorities that validate our names.
    challenges: Option<Challenges>,
    clock: Clock,
    failures: Limiter,
}

/// Content of the files, with the state in which they were read.
#[derive(Debug)]
struct LoadedIdentity {
    state: [FileState; 3],
    config: Arc<ServerConfig>,
    /// Validity of the certificate, when it could be read.
    begins_at: Option<jiff::Timestamp>,
    expires_at: Option<jiff::Timestamp>,
}

impl LoadedIdentity {
    fn new(state: [FileState; 3], loaded: LoadedFiles, clock: &Clock) -> Self {
        let LoadedFiles { config, begins_at, expires_at, .. } = loaded;
        if let Some(expires_at) = expires_at.filter(|end| *end <= clock.now()) {
            tracing::warn!(%expires_at, "the certificate has expired");
        }
        Self { state, config, begins_at, expires_at }
    }
}

/// Maximum time before its end at which a certificate is reported; less for short-lived ones.
const MAX_WARNING_TIME: jiff::SignedDuration = jiff::SignedDuration::from_hours(14 * 24);

impl ServerIdentity {
    /// Reads the files.
    ///
    /// # Errors
    /// Every mistake in them.
    pub fn open(files: PemFiles, clock: &Clock) -> Result<Self, Vec<TlsFileError>> {
        // The state is read first, so that a change during the read is noticed next time.
        let state = state(&files);
        let held = LoadedIdentity::new(state, load(&files)?, clock);
        Ok(Self::from_loaded(files, held, None, clock))
    }

    /// Reads files that are ordered from an authority: they may not exist yet, and connections are
    /// refused until they do. Challenges of the authority are answered.
    ///
    /// # Errors
    /// Every mistake in the file of client authorities.
    pub fn open_ordered(
        files: PemFiles,
        challenges: Challenges,
        clock: &Clock,
    ) -> Result<Self, Vec<TlsFileError>> {
        let state = state(&files);
        let config = without(&files)?;
        let held = match load(&files) {
            Ok(loaded) => LoadedIdentity::new(state, loaded, clock),
            Err(errors) => {
                if files.certificate.exists() {
                    tracing::error!(cause = joined(&errors), "there is no certificate to use");
                }
                LoadedIdentity { state, config, begins_at: None, expires_at: None }
            }
        };
        Ok(Self::from_loaded(files, held, Some(challenges), clock))
    }

    fn from_loaded(
        files: PemFiles,
        held: LoadedIdentity,
        challenges: Option<Challenges>,
        clock: &Clock,
    ) -> Self {
        let failures = Limiter::new(FAILURES, clock.clone());
        Self { files, held: RwLock::new(held), challenges, clock: clock.clone(), failures }
    }

    fn held(&self) -> RwLockReadGuard<'_, LoadedIdentity> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the challenges; `None` when certificates are not ordered.
    #[must_use]
    pub fn challenges(&self) -> Option<&Challenges> {
        self.challenges.as_ref()
    }

    /// Returns the configuration for a new connection.
    #[must_use]
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.held().config)
    }

    /// Returns the end of the current certificate, when it could be read.
    #[must_use]
    pub fn expires_at(&self) -> Option<jiff::Timestamp> {
        self.held().expires_at
    }

    /// Returns the end of the certificate when operators should be warned: in the last two weeks,
    /// or in the last quarter of a short life.
    #[must_use]
    pub fn expiry_warning(&self, now: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let held = self.held();
        let end = held.expires_at?;
        let quarter =
            held.begins_at.map_or(MAX_WARNING_TIME, |begin| end.duration_since(begin) / 4);
        (end.duration_since(now) < MAX_WARNING_TIME.min(quarter)).then_some(end)
    }

    /// Reads the files again when they have changed, for new connections; while they cannot be
    /// used, the previous ones stay in use. Call it periodically on a thread that may block.
    pub fn refresh(&self) {
        self.failures.tidy();
        if state(&self.files) != self.held().state {
            self.reload();
        }
    }

    /// Reads the files again, whether or not they have changed.
    pub fn reload(&self) {
        // The state is read first, so that a change during the read is noticed next time.
        let state = state(&self.files);
        // Before the lock is taken, so that new connections do not wait for a disk.
        let loaded = load(&self.files);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        match loaded {
            Ok(loaded) => {
                tracing::info!("certificate replaced");
                *held = LoadedIdentity::new(state, loaded, &self.clock);
            }
            Err(errors) => {
                // Logged once per state of the files.
                held.state = state;
                tracing::error!(cause = joined(&errors), "the certificate stays as it was");
            }
        }
    }

    /// Logs a client whose certificate is rejected, rate-limited per address.
    pub fn record_failure(&self, address: IpAddr, reason: &str) {
        if self.failures.admit(&LimitKey::address(address)).is_ok() {
            tracing::warn!(reason, "authentication failed");
        }
    }
}

fn joined(errors: &[TlsFileError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn state(files: &PemFiles) -> [FileState; 3] {
    let paths = [Some(&files.certificate), Some(&files.key), files.client_ca.as_ref()];
    paths.map(|path| {
        let metadata = std::fs::metadata(path?).ok()?;
        Some((metadata.modified().ok(), metadata.len()))
    })
}
