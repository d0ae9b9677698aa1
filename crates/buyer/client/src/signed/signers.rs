//! Keys of AdCP signers: for each known agent those in a configured file, or those that its operator
//! publishes. The `brand.json` of the operator, found from the agent's address, names the agent and the
//! address of its keys; a list beside it names the revoked ones.
//!
//! [`PublishedKeys`] decides which addresses may be fetched. The rate of fetching is bounded, because anyone
//! can send a signature with an unknown key.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, Stream, StreamExt as _};
use jiff::Timestamp;
use reqwest::Url;
use tokio::sync::Mutex;
use tradepost_adcp::signing::SignatureError;
use tradepost_document::backoff::Backoff;
use tradepost_document::json;
use tradepost_document::json::Value;
use tradepost_document::stale::{StaleTerms, StaleValue};

mod revocations;

use revocations::Revocations;

/// Time for which published keys count as current.
const FRESH: Duration = Duration::from_mins(10);

/// Time for which they are used when they cannot be fetched again: the longest interval between two fetches
/// that AdCP permits.
const STALE: Duration = Duration::from_mins(30);

/// Shortest time between two attempts to fetch.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(30);

/// Terms of published keys.
const TERMS: StaleTerms = StaleTerms {
    fresh_for: FRESH,
    usable_for: STALE,
    pace: MIN_FETCH_INTERVAL,
    waits: Backoff::constant(MIN_FETCH_INTERVAL),
};

/// Maximum number of keys that are read of one agent.
const MAX_KEYS: usize = 64;

/// Largest document that is read, in bytes.
pub const MAX_DOCUMENT: usize = 256 * 1024;

/// Fetch of a document under way.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, DocumentUnread>> + Send + 'a>>;

/// Fetches documents of agents and their operators. The addresses are untrusted: an implementation must not
/// connect to private networks, follows no redirect, and reads at most [`MAX_DOCUMENT`] bytes.
pub trait PublishedKeys: fmt::Debug + Send + Sync {
    /// Fetches the document at an address.
    fn get<'a>(&'a self, url: &'a str) -> Fetching<'a>;

    /// Returns the time since a fixed moment, unaffected by changes of the machine's clock.
    fn elapsed(&self) -> Duration;

    /// Logs that an agent's keys could not be fetched.
    fn failed(&self, agent: &str, why: SignatureError);
}

/// Reason why a document could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentUnread {
    /// The server did not send it.
    Unreached,
    /// The address must not be fetched.
    Forbidden,
    /// The document does not exist (404).
    Absent,
    /// The document is not plain JSON.
    Malformed,
}

/// Error of a key file that cannot be used. The cause is for the person who configured it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadFile(pub String);

/// Reads a text file; passed in, because this crate does not access the disk.
pub type ReadFile = fn(&Path) -> std::io::Result<String>;

/// Location of an agent's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLocation {
    /// Configured file with a JWK set.
    File(PathBuf),
    /// Address of the operator's `brand.json`; when `None`, that of the agent's own host.
    Published(Option<String>),
}

impl KeyLocation {
    /// Reads the key file, if there is one, to check it before the first signature.
    ///
    /// # Errors
    /// When a file cannot be read or is no key set.
    pub fn check(&self, read: ReadFile) -> Result<(), BadFile> {
        match self {
            Self::File(path) => keys_in(path, read).map(|_| ()),
            Self::Published(_) => Ok(()),
        }
    }
}

/// Settings of one agent's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKeys {
    /// Location of the keys.
    pub source: KeyLocation,
    /// Names of keys that must not be used any more.
    pub revoked: Vec<String>,
    /// Maximum number of signatures of one key that are accepted while they are valid.
    pub cap: usize,
}

/// Agent that may sign.
#[derive(Debug)]
pub struct SigningAgent<W> {
    /// Identity of the agent, for the caller.
    pub whose: W,
    /// Name of the agent in the log and for counting its signatures.
    pub id: String,
    /// Address of the agent, as in `brand.json`.
    pub url: Option<String>,
    /// Settings of its keys.
    pub keys: AgentKeys,
}

/// Agent with its keys.
#[derive(Debug)]
pub struct Signer<W> {
    /// Agent.
    pub agent: SigningAgent<W>,
    held: RwLock<HeldKeys>,
    /// Held while keys are fetched, so that concurrent callers fetch them once.
    fetching: Mutex<()>,
}

/// Keys of an agent at present, and why they could not be fetched since.
type HeldKeys = StaleValue<AgentKeySet, SignatureError>;

/// Keys of an agent, and those that its operator has revoked.
#[derive(Debug, Clone)]
struct AgentKeySet {
    keys: Arc<[Value]>,
    revocations: Option<Arc<Revocations>>,
}

/// Key that a signature names.
#[derive(Debug)]
pub struct ClaimedKey<W> {
    /// Agent of the key.
    pub signer: Arc<Signer<W>>,
    /// Key as a JWK.
    pub jwk: Value,
    /// True when the operator or the configuration has revoked the key.
    pub revoked: bool,
}

/// All agents that may sign.
#[derive(Debug)]
pub struct Signers<W> {
    published: Arc<dyn PublishedKeys>,
    all: Vec<Arc<Signer<W>>>,
}

impl<W: Send + Sync + 'static> Signers<W> {
    /// Creates the signers. Key files are read now, published keys at the first signature.
    ///
    /// # Errors
    /// When a file cannot be read or is no key set.
    pub fn open(
        published: Arc<dyn PublishedKeys>,
        agents: Vec<SigningAgent<W>>,
        read: ReadFile,
    ) -> Result<Self, BadFile> {
        let open = |agent: SigningAgent<W>| {
            let mut held = StaleValue::new(TERMS);
            match &agent.keys.source {
                KeyLocation::File(path) => {
                    let keys = keys_in(path, read)?;
                    held.succeeded(Duration::ZERO, AgentKeySet { keys, revocations: None });
                }
                KeyLocation::Published(_) => {}
            }
            let held = RwLock::new(held);
            Ok(Arc::new(Signer { agent, held, fetching: Mutex::new(()) }))
        };
        Ok(Self { published, all: agents.into_iter().map(open).collect::<Result<_, BadFile>>()? })
    }

    /// Returns the keys of this name that are known to be current. Several agents may use the same name.
    #[must_use]
    pub fn known(&self, kid: &str, now: Timestamp) -> Vec<ClaimedKey<W>> {
        let elapsed = self.elapsed();
        let known = self.all.iter().filter(|signer| !signer.is_needed(kid, now, elapsed));
        known.filter_map(|signer| signer.find(kid, elapsed)).collect()
    }

    /// Fetches the keys of this name of all other agents concurrently, and returns each as soon as its
    /// operator has answered. All fetches run to their end even if the stream is dropped, because each
    /// counts as an attempt, after which its agent is not asked again for a while.
    pub fn sought(&self, kid: &str, now: Timestamp) -> impl Stream<Item = ClaimedKey<W>> + use<W> {
        let elapsed = self.elapsed();
        let others = self.all.iter().filter(|signer| signer.is_needed(kid, now, elapsed));
        let asked: FuturesUnordered<_> = others
            .map(|signer| {
                let signer = Arc::clone(signer);
                let published = Arc::clone(&self.published);
                let kid = kid.to_owned();
                async move {
                    let refreshed = tokio::spawn(async move {
                        signer.refresh(&kid, &*published, now).await;
                        signer.find(&kid, published.elapsed())
                    });
                    refreshed.await.ok().flatten()
                }
            })
            .collect();
        asked.filter_map(std::future::ready)
    }

    /// Returns the reason why there is no key of a name. With several signers it is not known which of them
    /// should have had it.
    #[must_use]
    pub fn why(&self) -> SignatureError {
        match self.all.as_slice() {
            [only] => only.why().unwrap_or(SignatureError::KeyUnknown),
            _ => SignatureError::KeyUnknown,
        }
    }

    /// Returns true when all published keys were fetched after this moment. Keys are not fetched again for a
    /// while, although a new key may have been published.
    #[must_use]
    pub fn is_current(&self, since: Duration) -> bool {
        self.all.iter().all(|signer| {
            matches!(signer.agent.keys.source, KeyLocation::File(_))
                || signer.held().read_at().is_some_and(|read_at| read_at >= since)
        })
    }

    /// Returns the present moment, on the clock of [`Self::is_current`].
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.published.elapsed()
    }
}

impl<W> Signer<W> {
    fn held(&self) -> RwLockReadGuard<'_, HeldKeys> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_mut(&self) -> RwLockWriteGuard<'_, HeldKeys> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the keys could not be fetched.
    fn why(&self) -> Option<SignatureError> {
        self.held().breaker().error().copied()
    }

    /// Returns the key of this name, as it is known now.
    fn find(self: &Arc<Self>, kid: &str, elapsed: Duration) -> Option<ClaimedKey<W>> {
        let held = self.held();
        let keys = match &self.agent.keys.source {
            KeyLocation::File(_) => held.latest(),
            // Keys of exactly this age still serve.
            KeyLocation::Published(_) => held
                .latest()
                .filter(|_| held.age(elapsed).is_some_and(|age| age <= TERMS.usable_for)),
        };
        let held = keys.cloned()?;
        let jwk = held.keys.iter().find(|key| named(key, kid)).cloned()?;
        let by_owner = held.revocations.is_some_and(|list| list.names(kid));
        // Any value but `false` revokes, so that a mistake does not keep a key in use.
        let in_key = jwk.get("revoked").is_some_and(|revoked| revoked != false)
            || jwk.get("status").is_some_and(|status| status == "revoked");
        let by_us = self.agent.keys.revoked.iter().any(|revoked| revoked == kid);
        Some(ClaimedKey { signer: Arc::clone(self), jwk, revoked: by_owner || in_key || by_us })
    }

    /// Returns true when the operator has to be asked for a key of this name.
    fn is_needed(&self, kid: &str, now: Timestamp, elapsed: Duration) -> bool {
        let has_key = self.held().fresh(elapsed).is_some_and(|held| {
            held.revocations.as_ref().is_none_or(|list| now < list.next_update)
                && held.keys.iter().any(|key| named(key, kid))
        });
        matches!(self.agent.keys.source, KeyLocation::Published(_)) && !has_key
    }

    /// Fetches the keys, if necessary and if the pause is over.
    async fn refresh(&self, kid: &str, published: &dyn PublishedKeys, now: Timestamp) {
        let KeyLocation::Published(brand_json) = &self.agent.keys.source else { return };
        let _fetching = self.fetching.lock().await;
        let elapsed = published.elapsed();
        // Another caller may have fetched them while this one waited for the lock.
        let may_ask = self.held().may_ask(elapsed);
        if !may_ask || !self.is_needed(kid, now, elapsed) {
            return;
        }
        // Set before the attempt, so that one that does not end counts, too.
        self.held_mut().begin(elapsed);
        let url = self.agent.url.as_deref();
        let fetched = fetch(published, url, brand_json.as_deref(), now).await;
        // Locked only after fetching, so that others can use the known keys meanwhile.
        let mut held = self.held_mut();
        match fetched {
            Ok((keys, revocations)) => {
                let keys = keys.into();
                let revocations = revocations.map(Arc::new);
                held.succeeded(elapsed, AgentKeySet { keys, revocations });
            }
            Err(why) => {
                published.failed(&self.agent.id, why);
                held.failed(elapsed, why);
            }
        }
    }
}

fn named(key: &Value, kid: &str) -> bool {
    key.get("kid").and_then(Value::as_str) == Some(kid)
}

fn keys_in(path: &Path, read: ReadFile) -> Result<Arc<[Value]>, BadFile> {
    let text =
        read(path).map_err(|error| BadFile(format!("it cannot be read: {}", error.kind())))?;
    let read = json::read(&text).map_err(|_| BadFile("it is not plain JSON".to_owned()))?;
    let keys = read_set(&read).ok_or_else(|| BadFile("it has no list named keys".to_owned()))?;
    Ok(keys.into())
}

/// Returns the keys of a set, without those whose name is repeated.
fn read_set(set: &Value) -> Option<Vec<Value>> {
    let keys = set.get("keys")?.as_array()?;
    let name = |key: &Value| key.get("kid").and_then(Value::as_str).map(ToOwned::to_owned);
    let once = |key: &&Value| {
        let own = name(key);
        own.is_some() && keys.iter().filter(|other| name(other) == own).count() == 1
    };
    Some(keys.iter().take(MAX_KEYS).filter(once).cloned().collect())
}

/// Fetches the keys that an agent's operator publishes, and the list of revoked ones.
async fn fetch(
    published: &dyn PublishedKeys,
    url: Option<&str>,
    brand_json: Option<&str>,
    now: Timestamp,
) -> Result<(Vec<Value>, Option<Revocations>), SignatureError> {
    let url = url.ok_or(SignatureError::KeyUnknown)?;
    let beside = |url: &str, path: &str| {
        let url = Url::parse(url).and_then(|url| url.join(path));
        url.map(String::from).map_err(|_| SignatureError::JwksUntrusted)
    };
    let mut at = match brand_json {
        Some(configured) => configured.to_owned(),
        None => beside(url, "/.well-known/brand.json")?,
    };
    let mut brand = get_brand(published, &at).await?;
    // One redirection, to the place that the brand names (AdCP, "JWKS discovery").
    let elsewhere = match (text(&brand, "authoritative_location"), text(&brand, "house")) {
        (Some(location), _) => Some(location.to_owned()),
        (None, Some(house)) => Some(format!("https://{house}/.well-known/brand.json")),
        (None, None) => None,
    };
    if let Some(location) = elsewhere {
        brand = get_brand(published, &location).await?;
        // The list of revoked keys is beside the `brand.json` that counts.
        at = location;
    }
    let mut entries = entries(&brand).into_iter().filter(|entry| text(entry, "url") == Some(url));
    let entry = entries.next().ok_or(SignatureError::AgentNotInBrandJson)?;
    if entries.next().is_some() {
        return Err(SignatureError::BrandJsonAmbiguous);
    }
    let jwks = match text(entry, "jwks_uri") {
        Some(jwks) => jwks.to_owned(),
        None => beside(url, "/.well-known/jwks.json")?,
    };
    let keys = match get(published, &jwks).await {
        Ok(set) => read_set(&set).ok_or(SignatureError::JwksUnavailable)?,
        Err(DocumentUnread::Unreached | DocumentUnread::Absent | DocumentUnread::Malformed) => {
            return Err(SignatureError::JwksUnavailable);
        }
        Err(DocumentUnread::Forbidden) => return Err(SignatureError::JwksUntrusted),
    };
    let list = beside(&at, revocations::PATH)?;
    let revocations = match get(published, &list).await {
        // An operator without revoked keys need not publish a list.
        Err(DocumentUnread::Absent) => None,
        Ok(list) => {
            Some(Revocations::read(&list, &at, &keys, now).ok_or(SignatureError::RevocationStale)?)
        }
        Err(DocumentUnread::Unreached | DocumentUnread::Forbidden | DocumentUnread::Malformed) => {
            return Err(SignatureError::RevocationStale);
        }
    };
    Ok((keys, revocations))
}

async fn get_brand(published: &dyn PublishedKeys, url: &str) -> Result<Value, SignatureError> {
    get(published, url).await.map_err(|unread| match unread {
        DocumentUnread::Unreached | DocumentUnread::Absent | DocumentUnread::Forbidden => {
            SignatureError::BrandJsonUnreachable
        }
        DocumentUnread::Malformed => SignatureError::BrandJsonMalformed,
    })
}

/// Returns the agents in a `brand.json`: of the brand itself, of its house and of the house's brands.
fn entries(brand: &Value) -> Vec<&Value> {
    let brands = brand.get("brands").and_then(Value::as_array);
    let mut owners = vec![brand];
    owners.extend(brand.get("house"));
    owners.extend(brands.into_iter().flatten());
    let agents = owners.into_iter().filter_map(|owner| owner.get("agents")?.as_array());
    agents.flatten().collect()
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

async fn get(published: &dyn PublishedKeys, url: &str) -> Result<Value, DocumentUnread> {
    let body = published.get(url).await?;
    let text = std::str::from_utf8(&body).map_err(|_| DocumentUnread::Malformed)?;
    json::read(text).map_err(|_| DocumentUnread::Malformed)
}

#[cfg(test)]
mod tests;
