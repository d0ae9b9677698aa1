//! Whose keys sign requests: for each buyer agent that the publisher knows, the keys that were
//! handed over when it was onboarded, or those that its operator publishes. Those are found from
//! the agent's address: its operator's `brand.json` names the agent and where its keys are.
//!
//! Fetching goes where the guard permits, and how often is bounded, because anybody can name a key
//! that does not exist.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tradepost_buyer::transport::{Limits, Transport};
use tradepost_publisher::profile::BuyerAgent;
use tradepost_wire::adcp::signing::Fault as No;
use tradepost_wire::strict;

use crate::egress::{Egress, client};
use crate::fault::Fault;

/// For how long published keys are taken for current.
const FRESH: SignedDuration = SignedDuration::from_mins(10);

/// For how long they are used while nobody can say whether they are current: the longest time
/// between two looks that AdCP permits.
const STALE: SignedDuration = SignedDuration::from_mins(30);

/// The least time between two attempts to fetch.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// What fetching may cost.
const PATIENCE: Duration = Duration::from_secs(5);
const MAX_BODY: usize = 256 * 1024;

/// How many keys of one agent are read.
const MAX_KEYS: usize = 64;

/// Where an agent's keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In a file that was handed over: a JWK set.
    File(PathBuf),
    /// Where its operator says. The address of the operator's `brand.json`; that of the agent's own
    /// host when `None`.
    Published(Option<String>),
}

impl Source {
    /// Reads what can be read before anybody signs.
    ///
    /// # Errors
    /// When a file cannot be read or is no key set.
    pub fn check(&self) -> Result<(), Fault> {
        match self {
            Self::File(path) => read_file(path).map(|_| ()),
            Self::Published(_) => Ok(()),
        }
    }
}

/// What is said of one agent's keys besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// Where they are.
    pub source: Source,
    /// Keys that must not be used any more, by name.
    pub revoked: Vec<String>,
    /// How many signatures of one key are taken while they hold.
    pub cap: usize,
}

/// One agent that may sign.
#[derive(Debug)]
pub struct Signer {
    /// The agent.
    pub agent: Arc<BuyerAgent>,
    /// What is said of its keys.
    pub keys: Keys,
    held: RwLock<Held>,
    /// When it was last attempted to fetch; whoever holds it is fetching.
    attempted: tokio::sync::Mutex<Option<Timestamp>>,
}

/// The keys as they are now.
#[derive(Debug, Clone, Default)]
struct Held {
    keys: Arc<[Value]>,
    since: Option<Timestamp>,
    /// Why there are none.
    why: Option<No>,
}

/// All that may sign.
#[derive(Debug)]
pub struct Signers {
    egress: Egress,
    all: Vec<Signer>,
}

impl Signers {
    /// Those of a publisher. Files are read now, the web when the first signature comes.
    ///
    /// # Errors
    /// When a file cannot be read or is no key set.
    pub fn open(egress: Egress, agents: Vec<(Arc<BuyerAgent>, Keys)>) -> Result<Self, Fault> {
        let open = |(agent, keys): (Arc<BuyerAgent>, Keys)| {
            let held = match &keys.source {
                Source::File(path) => Held { keys: read_file(path)?, ..Held::default() },
                Source::Published(_) => Held::default(),
            };
            let attempted = tokio::sync::Mutex::new(None);
            Ok(Signer { agent, keys, held: RwLock::new(held), attempted })
        };
        Ok(Self { egress, all: agents.into_iter().map(open).collect::<Result<_, Fault>>()? })
    }

    /// The keys of this name, each with whose it is. Names are the signers' own, so that several
    /// may use one.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn find(&self, kid: &str, now: Timestamp) -> Result<Vec<(&Signer, Value)>, No> {
        // What is fresh and known costs nothing; whoever is not is asked, all at once.
        let asked = self.all.iter().map(|signer| signer.refresh(kid, &self.egress, now));
        join_all(asked).await;
        let mut found = Vec::new();
        let mut why = No::KeyUnknown;
        for signer in &self.all {
            let held = signer.held();
            if let Some(reason) = held.why {
                why = reason;
            }
            let named = held.keys.iter().find(|key| named(key, kid)).cloned();
            found.extend(named.map(|key| (signer, key)));
        }
        // With several signers nobody can say whose keys it was that could not be had.
        if found.is_empty() {
            return Err(if self.all.len() == 1 { why } else { No::KeyUnknown });
        }
        Ok(found)
    }
}

impl Signer {
    fn held(&self) -> Held {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fetches, when there is need and it is time.
    async fn refresh(&self, kid: &str, egress: &Egress, now: Timestamp) {
        let Source::Published(brand_json) = &self.keys.source else { return };
        let is_needed = |held: &Held| {
            let fresh = held.since.is_some_and(|since| now.duration_since(since) < FRESH);
            !fresh || !held.keys.iter().any(|key| named(key, kid))
        };
        if !is_needed(&self.held()) {
            return;
        }
        let mut attempted = self.attempted.lock().await;
        // Who waited may have been waiting for just this.
        let paused = attempted.is_some_and(|last| now.duration_since(last) < PAUSE);
        if paused || !is_needed(&self.held()) {
            return;
        }
        *attempted = Some(now);
        let fetched = fetch(egress, &self.agent, brand_json.as_deref()).await;
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        match fetched {
            Ok(keys) => *held = Held { keys: keys.into(), since: Some(now), why: None },
            Err(why) => {
                tracing::warn!(agent = %self.agent.id, %why, "a signer's keys could not be fetched");
                held.why = Some(why);
                if held.since.is_none_or(|since| now.duration_since(since) > STALE) {
                    held.keys = Arc::default();
                }
            }
        }
    }
}

fn named(key: &Value, kid: &str) -> bool {
    key.get("kid").and_then(Value::as_str) == Some(kid)
}

fn read_file(path: &Path) -> Result<Arc<[Value]>, Fault> {
    const WHAT: &str = "reading the file with a buyer agent's keys";
    let text = std::fs::read_to_string(path).map_err(Fault::on(WHAT))?;
    let read = strict::read(&text).map_err(|_| Fault::new(WHAT, "it is not plain JSON"))?;
    let keys = read_set(&read).ok_or_else(|| Fault::new(WHAT, "it has no list named keys"))?;
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

/// The keys that an agent's operator publishes.
async fn fetch(
    egress: &Egress,
    agent: &BuyerAgent,
    brand_json: Option<&str>,
) -> Result<Vec<Value>, No> {
    let url = agent.url.as_deref().ok_or(No::KeyUnknown)?;
    let own = |path: &str| {
        let base = egress.read(url).map_err(|_| No::JwksUntrusted)?.url;
        base.join(path).map(String::from).map_err(|_| No::JwksUntrusted)
    };
    let brand_json = match brand_json {
        Some(configured) => configured.to_owned(),
        None => own("/.well-known/brand.json")?,
    };
    let brand = match get(egress, &brand_json).await {
        Ok(brand) => brand,
        Err(Unread::Unreached | Unread::Forbidden) => return Err(No::BrandJsonUnreachable),
        Err(Unread::Malformed) => return Err(No::BrandJsonMalformed),
    };
    let mut entries = entries(&brand).into_iter().filter(|entry| text(entry, "url") == Some(url));
    let entry = entries.next().ok_or(No::AgentNotInBrandJson)?;
    if entries.next().is_some() {
        return Err(No::BrandJsonAmbiguous);
    }
    let jwks = match text(entry, "jwks_uri") {
        Some(jwks) => jwks.to_owned(),
        None => own("/.well-known/jwks.json")?,
    };
    match get(egress, &jwks).await {
        Ok(set) => read_set(&set).ok_or(No::JwksUnavailable),
        Err(Unread::Unreached | Unread::Malformed) => Err(No::JwksUnavailable),
        Err(Unread::Forbidden) => Err(No::JwksUntrusted),
    }
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

/// Why a document could not be read.
enum Unread {
    Unreached,
    Forbidden,
    Malformed,
}

async fn get(egress: &Egress, url: &str) -> Result<Value, Unread> {
    let destination = egress.read(url).map_err(|_| Unread::Forbidden)?;
    let plain = client::build(egress, PATIENCE, false).map_err(|_| Unread::Unreached)?;
    let secure = if destination.url.scheme() == "https" {
        client::build(egress, PATIENCE, true).map_err(|_| Unread::Unreached)?
    } else {
        plain.clone()
    };
    let limits = Limits { timeout: PATIENCE, connect: PATIENCE, max_body: MAX_BODY };
    let transport = Transport::over(plain, secure, limits);
    let response = transport.get(&destination.url, None).await.map_err(|_| Unread::Unreached)?;
    if !response.is_success() {
        return Err(Unread::Unreached);
    }
    let text = std::str::from_utf8(&response.body).map_err(|_| Unread::Malformed)?;
    strict::read(text).map_err(|_| Unread::Malformed)
}
