//! An issuer's public keys: a JSON Web Key Set (RFC 7517) from a file, read again when it
//! changes, or from the web, kept for a while and fetched again when a token names a key that is
//! not in it. How often that happens is bounded, since anybody can write such a token.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;
use tradepost_buyer::transport::Limits;
use tradepost_buyer::{Transport, Url};

use crate::config::KeySource;
use crate::fault::Fault;

/// For how long keys from the web are taken for current, so that a withdrawn key goes.
const FRESH: SignedDuration = SignedDuration::from_mins(60);

/// The least time between two attempts to fetch.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// What fetching may cost.
const LIMITS: Limits = Limits {
    timeout: Duration::from_secs(5),
    connect: Duration::from_secs(3),
    max_body: 256 * 1024,
};

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA, PKCS #1 v1.5, SHA-256.
    Rs256,
    /// ECDSA on P-256, SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// The algorithm of this name in the registry of RFC 7518.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            // RFC 9864 gives Ed25519 its own name.
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key.
#[derive(Debug, Clone)]
pub struct PublicKey {
    id: Option<String>,
    material: Material,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// A key of a set; `None` when it is not for our kinds of signatures.
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => Material::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                (x.len() == 32 && y.len() == 32).then_some(())?;
                Material::P256([&[4], x.as_slice(), &y].concat())
            }
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x")?),
            _ => return None,
        };
        let key = Self { id: text("kid").map(str::to_owned), material };
        let stated = text("alg").map(Algorithm::from_name);
        stated.is_none_or(|stated| stated == Some(key.algorithm())).then_some(key)
    }

    fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Rsa { .. } => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether a token that names this key and algorithm can be signed with it. A token without
    /// a key's name fits every key.
    #[must_use]
    pub fn fits(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        self.algorithm() == algorithm && id.is_none_or(|id| self.id.as_deref() == Some(id))
    }

    /// Whether this is its signature.
    #[must_use]
    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Material::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                    .verify(message, signature)
                    .is_ok()
            }
            Material::Ed25519(point) => UnparsedPublicKey::new(&signature::ED25519, point)
                .verify(message, signature)
                .is_ok(),
        }
    }
}

/// The keys of a set that we can use. Others are left out, as RFC 7517 §5 asks.
fn read_set(bytes: &[u8]) -> Result<Vec<PublicKey>, &'static str> {
    let set: Value = serde_json::from_slice(bytes).map_err(|_| "it is not JSON")?;
    let list = set.get("keys").and_then(Value::as_array).ok_or("it has no list named keys")?;
    let keys: Vec<_> = list.iter().filter_map(PublicKey::read).collect();
    if keys.is_empty() {
        return Err("no key in it is for RS256, ES256 or EdDSA");
    }
    Ok(keys)
}

/// Keys, as they are now.
#[derive(Debug, Clone)]
struct Held {
    keys: Arc<[PublicKey]>,
    since: Timestamp,
}

/// The keys of an issuer.
#[derive(Debug)]
pub enum KeySet {
    /// From a file.
    File(FromFile),
    /// From the web.
    Web(FromWeb),
}

/// What tells one state of a file from another.
type FileState = (Option<SystemTime>, u64);

/// Keys from a file.
#[derive(Debug)]
pub struct FromFile {
    path: PathBuf,
    held: RwLock<(FileState, Arc<[PublicKey]>)>,
}

/// Keys from the web.
#[derive(Debug)]
pub struct FromWeb {
    url: Url,
    transport: Transport,
    held: RwLock<Option<Held>>,
    /// When it was last attempted to fetch; whoever holds it is fetching.
    attempted: tokio::sync::Mutex<Option<Timestamp>>,
}

impl KeySet {
    /// The keys from a source. A file is read now, the web when the first token comes.
    ///
    /// # Errors
    /// When the file cannot be read or is no key set.
    pub fn open(source: &KeySource) -> Result<Self, Fault> {
        match source {
            KeySource::File(path) => FromFile::open(path).map(Self::File),
            KeySource::Url(url) => FromWeb::open(url).map(Self::Web),
        }
    }

    /// The keys, among which one with this id should be.
    ///
    /// # Errors
    /// When there are none because the issuer cannot be reached.
    pub async fn find(&self, id: Option<&str>, now: Timestamp) -> Result<Arc<[PublicKey]>, Fault> {
        match self {
            Self::File(file) => Ok(file.current()),
            Self::Web(web) => web.find(id, now).await,
        }
    }
}

impl FromFile {
    fn open(path: &Path) -> Result<Self, Fault> {
        let held = Self::read(path)?;
        Ok(Self { path: path.to_owned(), held: RwLock::new(held) })
    }

    fn state(path: &Path) -> std::io::Result<FileState> {
        let metadata = std::fs::metadata(path)?;
        Ok((metadata.modified().ok(), metadata.len()))
    }

    fn read(path: &Path) -> Result<(FileState, Arc<[PublicKey]>), Fault> {
        const WHAT: &str = "reading the file with the keys of the tokens' issuer";
        // The state first: what is written in between is noticed the next time.
        let state = Self::state(path).map_err(Fault::on(WHAT))?;
        let bytes = std::fs::read(path).map_err(Fault::on(WHAT))?;
        Ok((state, read_set(&bytes).map_err(Fault::on(WHAT))?.into()))
    }

    /// The keys as the file has them now; while it is absent or broken, those from before.
    fn current(&self) -> Arc<[PublicKey]> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Ok(state) = Self::state(&self.path) else {
            return held.1;
        };
        if state == held.0 {
            return held.1;
        }
        let fresh = Self::read(&self.path).unwrap_or_else(|fault| {
            tracing::error!(cause = %fault.chain(), "the issuer's keys stay as they were");
            // Said once for each state of the file.
            (state, held.1)
        });
        let keys = Arc::clone(&fresh.1);
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        keys
    }
}

impl FromWeb {
    fn open(url: &str) -> Result<Self, Fault> {
        let url = Url::parse(url).map_err(Fault::on("reading jwks_url"))?;
        let attempted = tokio::sync::Mutex::new(None);
        Ok(Self { url, transport: Transport::new(LIMITS), held: RwLock::new(None), attempted })
    }

    fn held(&self) -> Option<Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn find(&self, id: Option<&str>, now: Timestamp) -> Result<Arc<[PublicKey]>, Fault> {
        let has = |held: &Held| {
            id.is_none_or(|id| held.keys.iter().any(|key| key.id.as_deref() == Some(id)))
        };
        let held = self.held();
        match &held {
            Some(held) if has(held) => {
                // Somebody has to look whether they are current, but not everybody has to wait.
                if now.duration_since(held.since) >= FRESH
                    && let Ok(mut attempted) = self.attempted.try_lock()
                {
                    self.attempt(&mut attempted, now).await;
                }
            }
            Some(_) | None => {
                let mut attempted = self.attempted.lock().await;
                // Who waited may have been waiting for just this.
                if !self.held().as_ref().is_some_and(has) {
                    self.attempt(&mut attempted, now).await;
                }
            }
        }
        let keys = self.held().map(|held| held.keys);
        keys.ok_or_else(|| Fault::new("checking a token", "the issuer's keys cannot be fetched"))
    }

    async fn attempt(&self, attempted: &mut Option<Timestamp>, now: Timestamp) {
        if attempted.is_some_and(|last| now.duration_since(last) < PAUSE) {
            return;
        }
        *attempted = Some(now);
        match self.fetch().await {
            Ok(keys) => {
                let held = Held { keys: keys.into(), since: now };
                *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
            }
            Err(fault) => {
                tracing::error!(cause = %fault.chain(), "the issuer's keys could not be fetched");
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<PublicKey>, Fault> {
        const WHAT: &str = "fetching the keys of the tokens' issuer";
        let fetched = self.transport.get(&self.url, None).await;
        let response = fetched.map_err(|failure| Fault::new(WHAT, failure.to_string()))?;
        if !response.is_success() {
            return Err(Fault::new(WHAT, format!("the answer has the status {}", response.status)));
        }
        read_set(&response.body).map_err(Fault::on(WHAT))
    }
}
