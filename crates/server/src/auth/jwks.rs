//! An issuer's public keys: a JSON Web Key Set (RFC 7517) from a file, read again when it
//! changes, or from the web, kept for a while and fetched again when a token names a key that is
//! not in it. How often that happens is bounded, since anybody can write such a token.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use reqwest::Url;
use tradepost_keys::{Algorithm, PublicKey};
use tradepost_wire::json;
use tradepost_wire::json::Value;

use super::{KeySource, Means};
use crate::clock::Clock;
use crate::fault::Fault;

/// For how long keys from the web are taken for current, so that a withdrawn key goes.
const FRESH: Duration = Duration::from_mins(60);

/// The least time between two attempts to fetch.
const PAUSE: Duration = Duration::from_secs(30);

/// Gets documents from the web.
pub trait Fetch: fmt::Debug + Send + Sync {
    /// The body at an address, when the answer is a success.
    ///
    /// # Errors
    /// Why there is none. Whoever fetches sees to it that it does not take long, and that nothing
    /// large comes.
    fn fetch(&self, url: Url) -> BoxFuture<'_, Result<Vec<u8>, String>>;
}

/// Fetches nothing.
#[derive(Debug)]
pub(super) struct Nowhere;

impl Fetch for Nowhere {
    fn fetch(&self, _url: Url) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        Box::pin(std::future::ready(Err("this process fetches no keys".to_owned())))
    }
}

/// A public key, and the name under which tokens name it.
#[derive(Debug, Clone)]
pub struct IssuerKey {
    id: Option<String>,
    /// The key.
    pub key: PublicKey,
}

impl IssuerKey {
    fn read(jwk: &Value) -> Option<Self> {
        let id = jwk.get("kid").and_then(Value::as_str).map(str::to_owned);
        PublicKey::of_issuer(jwk).map(|key| Self { id, key })
    }

    /// Whether a token that names this key and algorithm can be signed with it. A token without
    /// a key's name fits every key.
    #[must_use]
    pub fn fits(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        self.key.algorithm() == algorithm && id.is_none_or(|id| self.id.as_deref() == Some(id))
    }
}

/// The keys of a set that we can use. Others are left out, as RFC 7517 §5 asks.
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

/// Keys, as they are now.
#[derive(Debug, Clone)]
struct Held {
    keys: Arc<[IssuerKey]>,
    /// When they were fetched, by the clock's running.
    since: Duration,
}

/// The keys of an issuer.
#[derive(Debug)]
pub enum KeySet {
    /// From a file.
    File(FromFile),
    /// From the web.
    Web(Box<FromWeb>),
}

/// What tells one state of a file from another.
type FileState = (Option<SystemTime>, u64);

/// Keys from a file.
#[derive(Debug)]
pub struct FromFile {
    path: PathBuf,
    held: RwLock<(FileState, Arc<[IssuerKey]>)>,
}

/// Keys from the web.
#[derive(Debug)]
pub struct FromWeb {
    url: Url,
    web: Arc<dyn Fetch>,
    clock: Clock,
    held: RwLock<Option<Held>>,
    /// When it was last attempted to fetch; whoever holds it is fetching.
    attempted: tokio::sync::Mutex<Option<Duration>>,
}

impl KeySet {
    /// The keys from a source. A file is read now, the web when the first token comes.
    ///
    /// # Errors
    /// When the file cannot be read or is no key set.
    pub fn open(source: &KeySource, means: &Means) -> Result<Self, Fault> {
        match source {
            KeySource::File(path) => FromFile::open(path).map(Self::File),
            KeySource::Url(url) => FromWeb::open(url, means).map(Box::new).map(Self::Web),
        }
    }

    /// The keys, among which one with this id should be.
    ///
    /// # Errors
    /// When there are none because the issuer cannot be reached.
    pub async fn find(&self, id: Option<&str>) -> Result<Arc<[IssuerKey]>, Fault> {
        match self {
            Self::File(file) => Ok(file.current()),
            Self::Web(web) => web.find(id).await,
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

    fn read(path: &Path) -> Result<(FileState, Arc<[IssuerKey]>), Fault> {
        const WHAT: &str = "reading the file with the keys of the tokens' issuer";
        // The state first: what is written in between is noticed the next time.
        let state = Self::state(path).map_err(Fault::on(WHAT))?;
        let bytes = std::fs::read(path).map_err(Fault::on(WHAT))?;
        Ok((state, read_set(&bytes).map_err(Fault::on(WHAT))?.into()))
    }

    /// The keys as the file has them now; while it is absent or broken, those from before.
    fn current(&self) -> Arc<[IssuerKey]> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner).clone();
        // A file that is being replaced may be gone for a moment.
        let Ok(state) = Self::state(&self.path) else {
            return held.1;
        };
        if state == held.0 {
            return held.1;
        }
        // Two that see the change at once both read the file: that costs little, and nobody waits
        // for a lock while a disk is read.
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
    fn open(url: &str, means: &Means) -> Result<Self, Fault> {
        let url = Url::parse(url).map_err(Fault::on("reading jwks_url"))?;
        let attempted = tokio::sync::Mutex::new(None);
        let (web, held) = (Arc::clone(&means.web), RwLock::new(None));
        Ok(Self { url, web, clock: means.clock.clone(), held, attempted })
    }

    fn held(&self) -> Option<Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn find(&self, id: Option<&str>) -> Result<Arc<[IssuerKey]>, Fault> {
        let now = self.clock.elapsed();
        let has = |held: &Held| {
            id.is_none_or(|id| held.keys.iter().any(|key| key.id.as_deref() == Some(id)))
        };
        let held = self.held();
        match &held {
            Some(held) if has(held) => {
                // Somebody has to look whether they are current, but not everybody has to wait.
                if now.saturating_sub(held.since) >= FRESH
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
        // Those from before when the attempt failed, or came too soon after the last one: keys that
        // were good are better than none.
        let keys = self.held().map(|held| held.keys);
        keys.ok_or_else(|| Fault::new("checking a token", "the issuer's keys cannot be fetched"))
    }

    async fn attempt(&self, attempted: &mut Option<Duration>, now: Duration) {
        if attempted.is_some_and(|last| now.saturating_sub(last) < PAUSE) {
            return;
        }
        // Noted before the attempt, so that it also counts when it fails or its caller goes away.
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

    async fn fetch(&self) -> Result<Vec<IssuerKey>, Fault> {
        const WHAT: &str = "fetching the keys of the tokens' issuer";
        let body = self.web.fetch(self.url.clone()).await.map_err(Fault::on(WHAT))?;
        read_set(&body).map_err(Fault::on(WHAT))
    }
}
