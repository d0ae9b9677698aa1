//! Public keys of a token issuer: a JSON Web Key Set (RFC 7517) from a file, read again when it
//! changes, or from the web, cached and fetched again when a token names an unknown key. Fetches
//! are rate-limited, because anyone can write such a token.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use reqwest::Url;
use tradepost_document::backoff::Backoff;
use tradepost_document::json;
use tradepost_document::json::Value;
use tradepost_document::stale::{StaleTerms, StaleValue};
use tradepost_keys::{Algorithm, PublicKey};

use super::{AuthDeps, KeySource};
use crate::clock::Clock;
use crate::fault::InternalError;

/// Time for which fetched keys count as current, so that withdrawn keys expire.
const FRESH_TIME: Duration = Duration::from_mins(60);

/// Minimum time between two fetches.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(30);

/// Terms of fetched keys. They are used until the issuer can be reached again, because without them each of its
/// callers would be refused.
const TERMS: StaleTerms = StaleTerms {
    fresh_for: FRESH_TIME,
    usable_for: Duration::MAX,
    pace: MIN_FETCH_INTERVAL,
    waits: Backoff::constant(MIN_FETCH_INTERVAL),
};

/// Fetches documents from the web.
pub trait Fetch: fmt::Debug + Send + Sync {
    /// Returns the body at an address, when the answer is a success.
    ///
    /// # Errors
    /// The reason why there is none. The implementation limits the time and the size of the answer.
    fn fetch(&self, url: Url) -> BoxFuture<'_, Result<Vec<u8>, String>>;
}

/// A client that fetches nothing.
#[derive(Debug)]
pub(super) struct NoFetch;

impl Fetch for NoFetch {
    fn fetch(&self, _url: Url) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        Box::pin(std::future::ready(Err("this process fetches no keys".to_owned())))
    }
}

/// A public key with its key id.
#[derive(Debug, Clone)]
pub struct IssuerKey {
    id: Option<String>,
    /// Public key.
    pub key: PublicKey,
}

impl IssuerKey {
    fn read(jwk: &Value) -> Option<Self> {
        let id = jwk.get("kid").and_then(Value::as_str).map(str::to_owned);
        PublicKey::from_issuer_jwk(jwk).map(|key| Self { id, key })
    }

    /// Returns true when a token with this key id and algorithm may be signed with it. A token
    /// without a key id matches every key.
    #[must_use]
    pub fn fits(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        self.key.algorithm() == algorithm && id.is_none_or(|id| self.id.as_deref() == Some(id))
    }
}

/// Reads the supported keys of a set. Others are ignored, as RFC 7517 §5 requires.
fn read_set(bytes: &[u8]) -> Result<Vec<IssuerKey>, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    let set = json::read(text).map_err(|_| "it is not JSON, or has a member twice")?;
    let list = set.get("keys").and_then(Value::as_array).ok_or("it has no list named keys")?;
    let keys: Vec<_> = list.iter().filter_map(IssuerKey::read).collect();
    if keys.is_empty() {
        return Err("no key in it is for RS256, ES256 or EdDSA");
    }
    Ok(keys)
}

/// Keys with the time of their fetch, by [`Clock::elapsed`].
type FetchedKeys = StaleValue<Arc<[IssuerKey]>>;

/// Public keys of an issuer.
#[derive(Debug)]
pub enum IssuerKeys {
    /// Keys from a file.
    File(FileKeys),
    /// Keys from the web.
    Web(Box<WebKeys>),
}

/// State of a file, by which changes are detected.
type FileState = (Option<SystemTime>, u64);

/// Keys from a file.
#[derive(Debug)]
pub struct FileKeys {
    path: PathBuf,
    held: RwLock<(FileState, Arc<[IssuerKey]>)>,
}

/// Keys from the web.
#[derive(Debug)]
pub struct WebKeys {
    url: Url,
    web: Arc<dyn Fetch>,
    clock: Clock,
    held: RwLock<FetchedKeys>,
    /// Held while fetching, so that concurrent callers fetch them once.
    fetching: tokio::sync::Mutex<()>,
}

impl IssuerKeys {
    /// Opens a source. A file is read now, a web address when the first token arrives.
    ///
    /// # Errors
    /// When the file cannot be read or is not a key set.
    pub fn open(source: &KeySource, deps: &AuthDeps) -> Result<Self, InternalError> {
        match source {
            KeySource::File(path) => FileKeys::open(path).map(Self::File),
            KeySource::Url(url) => WebKeys::open(url, deps).map(Box::new).map(Self::Web),
        }
    }

    /// Returns the keys, fetching them again when none has this id.
    ///
    /// # Errors
    /// When there are none because the issuer cannot be reached.
    pub async fn find(&self, id: Option<&str>) -> Result<Arc<[IssuerKey]>, InternalError> {
        match self {
            Self::File(file) => Ok(file.current()),
            Self::Web(web) => web.find(id).await,
        }
    }
}

impl FileKeys {
    fn open(path: &Path) -> Result<Self, InternalError> {
        let held = Self::read(path)?;
        Ok(Self { path: path.to_owned(), held: RwLock::new(held) })
    }

    fn state(path: &Path) -> std::io::Result<FileState> {
        let metadata = std::fs::metadata(path)?;
        Ok((metadata.modified().ok(), metadata.len()))
    }

    fn read(path: &Path) -> Result<(FileState, Arc<[IssuerKey]>), InternalError> {
        const WHAT: &str = "reading the file with the keys of the tokens' issuer";
        // The state is read first, so that a change during the read is noticed next time.
        let state = Self::state(path).map_err(InternalError::on(WHAT))?;
        let bytes = std::fs::read(path).map_err(InternalError::on(WHAT))?;
        Ok((state, read_set(&bytes).map_err(InternalError::on(WHAT))?.into()))
    }

    /// Returns the keys in the file; while it is missing or invalid, the previous ones.
    fn current(&self) -> Arc<[IssuerKey]> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner).clone();
        // A file that is being replaced may be missing for a moment.
        let Ok(state) = Self::state(&self.path) else {
            return held.1;
        };
        if state == held.0 {
            return held.1;
        }
        // Two threads that see a change may both read the file, so that none waits for a lock while
        // a disk is read.
        let fresh = Self::read(&self.path).unwrap_or_else(|fault| {
            tracing::error!(cause = %fault.chain(), "the issuer's keys stay as they were");
            // Logged once per state of the file.
            (state, held.1)
        });
        let keys = Arc::clone(&fresh.1);
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        keys
    }
}

impl WebKeys {
    fn open(url: &str, deps: &AuthDeps) -> Result<Self, InternalError> {
        let url = Url::parse(url).map_err(InternalError::on("reading jwks_url"))?;
        let web = Arc::clone(&deps.web);
        let held = RwLock::new(StaleValue::new(TERMS));
        let fetching = tokio::sync::Mutex::default();
        Ok(Self { url, web, clock: deps.clock.clone(), held, fetching })
    }

    fn held(&self) -> RwLockReadGuard<'_, FetchedKeys> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_mut(&self) -> RwLockWriteGuard<'_, FetchedKeys> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the issuer's keys, fetching them when they are stale or lack the key `id`.
    async fn find(&self, id: Option<&str>) -> Result<Arc<[IssuerKey]>, InternalError> {
        let now = self.clock.elapsed();
        let has = |keys: &Arc<[IssuerKey]>| {
            id.is_none_or(|id| keys.iter().any(|key| key.id.as_deref() == Some(id)))
        };
        let has_key = self.held().latest().is_some_and(has);
        let is_fresh = self.held().fresh(now).is_some();
        if !has_key {
            let _fetching = self.fetching.lock().await;
            // Another caller may have fetched the key while this one waited.
            let has_key = self.held().latest().is_some_and(has);
            if !has_key {
                self.attempt(now).await;
            }
        } else if !is_fresh && let Ok(_fetching) = self.fetching.try_lock() {
            // One caller refreshes the keys, and the others continue with the current ones.
            self.attempt(now).await;
        }
        // Previous keys remain in use after a failed or postponed fetch.
        let keys = self.held().latest().cloned();
        keys.ok_or_else(|| {
            InternalError::new("checking a token", "the issuer's keys cannot be fetched")
        })
    }

    /// Fetches the keys, unless the last attempt was too recent. A failure is logged.
    async fn attempt(&self, now: Duration) {
        if !self.claim(now) {
            return;
        }
        match self.fetch().await {
            Ok(keys) => self.held_mut().succeeded(now, keys.into()),
            Err(fault) => {
                tracing::error!(cause = %fault.chain(), "the issuer's keys could not be fetched");
                self.held_mut().failed(now, ());
            }
        }
    }

    /// Returns true when the keys may be fetched now, which counts as an attempt also when its caller disconnects.
    fn claim(&self, now: Duration) -> bool {
        let mut held = self.held_mut();
        let may_ask = held.may_ask(now);
        if may_ask {
            held.begin(now);
        }
        may_ask
    }

    async fn fetch(&self) -> Result<Vec<IssuerKey>, InternalError> {
        const WHAT: &str = "fetching the keys of the tokens' issuer";
        let body = self.web.fetch(self.url.clone()).await.map_err(InternalError::on(WHAT))?;
        read_set(&body).map_err(InternalError::on(WHAT))
    }
}
