//! Whose keys sign messages of AdCP: of each agent that is known, the keys that were handed over, or
//! those that its operator publishes. Those are found from the agent's address: its operator's
//! `brand.json` names the agent and where its keys are, and beside it stands which of them are
//! revoked.
//!
//! Where fetching may go is for [`PublishedKeys`] to say, and how often is bounded, because anybody can
//! name a key that does not exist.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, Stream, StreamExt as _};
use jiff::Timestamp;
use reqwest::Url;
use tokio::sync::Mutex;
use tradepost_wire::adcp::signing::SignatureError;
use tradepost_wire::json;
use tradepost_wire::json::Value;

mod revocations;

use revocations::Revocations;

/// For how long published keys are taken for current.
const FRESH: Duration = Duration::from_mins(10);

/// For how long they are used while nobody can say whether they are current: the longest time
/// between two looks that AdCP permits.
const STALE: Duration = Duration::from_mins(30);

/// The least time between two attempts to fetch.
const PAUSE: Duration = Duration::from_secs(30);

/// How many keys of one agent are read.
const MAX_KEYS: usize = 64;

/// The largest document that is read, in bytes.
pub const MAX_DOCUMENT: usize = 256 * 1024;

/// A document that is being fetched.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, DocumentUnread>> + Send + 'a>>;

/// Fetches what agents and their operators publish. The addresses come from strangers: it goes
/// nowhere where a stranger must not send us, follows no redirect, and reads no more than
/// [`MAX_DOCUMENT`].
pub trait PublishedKeys: fmt::Debug + Send + Sync {
    /// Fetches the document at an address.
    fn get<'a>(&'a self, url: &'a str) -> Fetching<'a>;

    /// How long it is since a moment that stays the same, and that no change of the machine's clock
    /// moves: what waits is measured by it.
    fn elapsed(&self) -> Duration;

    /// Notes for the log that an agent's keys could not be had.
    fn failed(&self, agent: &str, why: SignatureError);
}

/// Why a document could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentUnread {
    /// It did not come.
    Unreached,
    /// Nothing may be fetched from there.
    Forbidden,
    /// There is none (404).
    Absent,
    /// It is not plain JSON.
    Malformed,
}

/// A file with keys that cannot be used. The cause is for whoever named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFile(pub String);

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadFile {}

/// Reads a text file whole: this crate has no disk of its own.
pub type ReadFile = fn(&Path) -> std::io::Result<String>;

/// Where an agent's keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLocation {
    /// In a file that was handed over: a JWK set.
    File(PathBuf),
    /// Where its operator says. The address of the operator's `brand.json`; that of the agent's own
    /// host when `None`.
    Published(Option<String>),
}

impl KeyLocation {
    /// Reads what can be read before anybody signs.
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

/// What is said of one agent's keys besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKeys {
    /// Where they are.
    pub source: KeyLocation,
    /// Keys that must not be used any more, by name.
    pub revoked: Vec<String>,
    /// How many signatures of one key are taken while they hold.
    pub cap: usize,
}

/// An agent that may sign.
#[derive(Debug)]
pub struct SigningAgent<W> {
    /// Whose keys they are, for whoever asks.
    pub whose: W,
    /// Its name in the log, and under which its signatures are counted.
    pub id: String,
    /// Its address, as it stands in `brand.json`.
    pub url: Option<String>,
    /// What is said of its keys.
    pub keys: AgentKeys,
}

/// One agent with its keys.
#[derive(Debug)]
pub struct Signer<W> {
    /// The agent.
    pub agent: SigningAgent<W>,
    held: RwLock<HeldKeys>,
    /// When it was last attempted to fetch; whoever holds it is fetching.
    attempted: Mutex<Option<Duration>>,
}

/// The keys as they are now.
#[derive(Debug, Clone, Default)]
struct HeldKeys {
    keys: Arc<[Value]>,
    revocations: Option<Arc<Revocations>>,
    since: Option<Duration>,
    /// Why there are none.
    why: Option<SignatureError>,
}

/// A key by which something claims to be signed.
#[derive(Debug)]
pub struct ClaimedKey<W> {
    /// Whose.
    pub signer: Arc<Signer<W>>,
    /// The key.
    pub jwk: Value,
    /// Whether its owner, or whoever knows the agent, says that it must not be used any more.
    pub revoked: bool,
}

/// All that may sign.
#[derive(Debug)]
pub struct Signers<W> {
    published: Arc<dyn PublishedKeys>,
    all: Vec<Arc<Signer<W>>>,
}

impl<W: Send + Sync + 'static> Signers<W> {
    /// These. Files are read now, the web when the first signature comes.
    ///
    /// # Errors
    /// When a file cannot be read or is no key set.
    pub fn open(
        published: Arc<dyn PublishedKeys>,
        agents: Vec<SigningAgent<W>>,
        read: ReadFile,
    ) -> Result<Self, BadFile> {
        let open = |agent: SigningAgent<W>| {
            let held = match &agent.keys.source {
                KeyLocation::File(path) => {
                    HeldKeys { keys: keys_in(path, read)?, ..HeldKeys::default() }
                }
                KeyLocation::Published(_) => HeldKeys::default(),
            };
            let held = RwLock::new(held);
            Ok(Arc::new(Signer { agent, held, attempted: Mutex::new(None) }))
        };
        Ok(Self { published, all: agents.into_iter().map(open).collect::<Result<_, BadFile>>()? })
    }

    /// The keys of this name that are known to be current, each with whose it is. Names are the
    /// signers' own, so that several may use one.
    #[must_use]
    pub fn known(&self, kid: &str, now: Timestamp) -> Vec<ClaimedKey<W>> {
        let elapsed = self.elapsed();
        let known = self.all.iter().filter(|signer| !signer.is_needed(kid, now, elapsed));
        known.filter_map(|signer| signer.find(kid)).collect()
    }

    /// The keys of this name of everybody else, who are asked for them all at once: each as soon as
    /// its operator has answered, so that nobody waits for another's. The others are asked to the
    /// end all the same, or whoever asks first would cost them their turn.
    pub fn sought(&self, kid: &str, now: Timestamp) -> impl Stream<Item = ClaimedKey<W>> + use<W> {
        let elapsed = self.elapsed();
        let others = self.all.iter().filter(|signer| signer.is_needed(kid, now, elapsed));
        let asked: FuturesUnordered<_> = others
            .map(|signer| {
                let (signer, published) = (Arc::clone(signer), Arc::clone(&self.published));
                let kid = kid.to_owned();
                async move {
                    let refreshed = tokio::spawn(async move {
                        signer.refresh(&kid, &*published, now).await;
                        signer.find(&kid)
                    });
                    refreshed.await.ok().flatten()
                }
            })
            .collect();
        asked.filter_map(std::future::ready)
    }

    /// Why there is no key of a name. With several signers nobody can say whose keys it was that
    /// could not be had.
    #[must_use]
    pub fn why(&self) -> SignatureError {
        match self.all.as_slice() {
            [only] => only.held().why.unwrap_or(SignatureError::KeyUnknown),
            _ => SignatureError::KeyUnknown,
        }
    }

    /// Whether it is known what is published since this moment: a while after a look nobody looks
    /// again, though a new key may be there.
    #[must_use]
    pub fn is_current(&self, since: Duration) -> bool {
        self.all.iter().all(|signer| {
            matches!(signer.agent.keys.source, KeyLocation::File(_))
                || signer.held().since.is_some_and(|held| held >= since)
        })
    }

    /// The moment, as [`Self::is_current`] counts.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.published.elapsed()
    }
}

impl<W> Signer<W> {
    fn held(&self) -> HeldKeys {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The key of this name, as it is known.
    fn find(self: &Arc<Self>, kid: &str) -> Option<ClaimedKey<W>> {
        let held = self.held();
        let jwk = held.keys.iter().find(|key| named(key, kid)).cloned()?;
        let by_owner = held.revocations.is_some_and(|list| list.names(kid));
        // Whatever stands there but `false` revokes: a mistake must not keep a key in use.
        let in_key = jwk.get("revoked").is_some_and(|revoked| revoked != false)
            || jwk.get("status").is_some_and(|status| status == "revoked");
        let by_us = self.agent.keys.revoked.iter().any(|revoked| revoked == kid);
        Some(ClaimedKey { signer: Arc::clone(self), jwk, revoked: by_owner || in_key || by_us })
    }

    /// Whether the operator has to be asked for a key of this name.
    fn is_needed(&self, kid: &str, now: Timestamp, elapsed: Duration) -> bool {
        let held = self.held();
        let fresh = held.since.is_some_and(|since| elapsed.saturating_sub(since) < FRESH)
            && held.revocations.as_ref().is_none_or(|list| now < list.next_update);
        matches!(self.agent.keys.source, KeyLocation::Published(_))
            && (!fresh || !held.keys.iter().any(|key| named(key, kid)))
    }

    /// Fetches, when there is need and it is time.
    async fn refresh(&self, kid: &str, published: &dyn PublishedKeys, now: Timestamp) {
        let KeyLocation::Published(brand_json) = &self.agent.keys.source else { return };
        let mut attempted = self.attempted.lock().await;
        let elapsed = published.elapsed();
        // Who waited may have been waiting for just this.
        let paused = attempted.is_some_and(|last| elapsed.saturating_sub(last) < PAUSE);
        if paused || !self.is_needed(kid, now, elapsed) {
            return;
        }
        // Before the attempt, so that one that fails counts, too.
        *attempted = Some(elapsed);
        let url = self.agent.url.as_deref();
        let fetched = fetch(published, url, brand_json.as_deref(), now).await;
        // Not held while fetching: others go on with what is known.
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        match fetched {
            Ok((keys, revocations)) => {
                let revocations = revocations.map(Arc::new);
                *held =
                    HeldKeys { keys: keys.into(), revocations, since: Some(elapsed), why: None };
            }
            Err(why) => {
                published.failed(&self.agent.id, why);
                held.why = Some(why);
                if held.since.is_none_or(|since| elapsed.saturating_sub(since) > STALE) {
                    held.keys = Arc::default();
                }
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

/// The keys of a set. A name that is there twice is nobody's.
fn read_set(set: &Value) -> Option<Vec<Value>> {
    let keys = set.get("keys")?.as_array()?;
    let name = |key: &Value| key.get("kid").and_then(Value::as_str).map(ToOwned::to_owned);
    let once = |key: &&Value| {
        let own = name(key);
        own.is_some() && keys.iter().filter(|other| name(other) == own).count() == 1
    };
    Some(keys.iter().take(MAX_KEYS).filter(once).cloned().collect())
}

/// The keys that an agent's operator publishes, and which of them are revoked.
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
    // One step, to where the brand says that it is described (AdCP, "JWKS discovery").
    let elsewhere = match (text(&brand, "authoritative_location"), text(&brand, "house")) {
        (Some(location), _) => Some(location.to_owned()),
        (None, Some(house)) => Some(format!("https://{house}/.well-known/brand.json")),
        (None, None) => None,
    };
    if let Some(location) = elsewhere {
        brand = get_brand(published, &location).await?;
        // What is revoked stands beside the description that counts.
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
        // An operator that has revoked nothing need not say so.
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

/// The agents that a `brand.json` names: of the brand itself, of its house and of the house's brands.
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
