//! Cache of API keys: frequent callers are not looked up again as long as the database has not changed. Unknown keys
//! are remembered, too, so that both take the same time.

use std::sync::{Mutex, PoisonError};

use tradepost_document::cache::BoundedCache;
use tradepost_document::fault::InternalError;

use super::ApiKey;

/// Maximum number of remembered keys.
const MAX_KEYS: usize = 10_000;

/// The keys of one version of the database.
#[derive(Debug)]
pub(super) struct KeyLookupCache(Mutex<LookupState>);

#[derive(Debug)]
struct LookupState {
    version: u64,
    /// Keys by id, each with the agent that was asked for.
    found: BoundedCache<String, (String, Option<ApiKey>)>,
}

impl Default for KeyLookupCache {
    fn default() -> Self {
        Self(Mutex::new(LookupState { version: 0, found: BoundedCache::new(MAX_KEYS) }))
    }
}

impl KeyLookupCache {
    /// Returns the key of an agent. `version` was read just now on the connection on which `read_key` reads the key.
    pub(super) fn find(
        &self,
        version: u64,
        agent_id: &str,
        id: &str,
        read_key: impl FnOnce() -> Result<Option<ApiKey>, InternalError>,
    ) -> Result<Option<ApiKey>, InternalError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.version != version {
            state.version = version;
            state.found.clear();
        }
        if let Some((_, key)) = state.found.get(id).filter(|(agent, _)| agent == agent_id) {
            return Ok(key.clone());
        }
        let key = read_key()?;
        state.found.insert(id.to_owned(), (agent_id.to_owned(), key.clone()));
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use jiff::Timestamp;
    use tradepost_server::auth::key::KeyLookup as _;

    use super::*;
    use crate::Store;

    fn key(id: &str) -> ApiKey {
        ApiKey {
            id: id.to_owned(),
            agent_id: "shop".to_owned(),
            name: "acme".to_owned(),
            hash: [7; 32],
            scopes: None,
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            last_used_on: None,
        }
    }

    #[test]
    fn a_key_is_looked_up_once_per_version_and_agent() {
        let known = KeyLookupCache::default();
        let reads = Cell::new(0);
        let find = |version, agent: &str, id: &str| {
            let read_key = || {
                reads.set(reads.get() + 1);
                Ok((agent == "shop" && id == "one").then(|| key(id)))
            };
            known.find(version, agent, id, read_key).unwrap().is_some()
        };
        assert!(find(1, "shop", "one") && find(1, "shop", "one"));
        assert!(!find(1, "shop", "two") && !find(1, "shop", "two"));
        assert_eq!(reads.take(), 2, "also what is not there");
        assert!(!find(1, "other shop", "one") && find(1, "shop", "one"));
        assert_eq!(reads.take(), 2, "a key lets into one agent");
        assert!(find(2, "shop", "one") && find(1, "shop", "one"));
        assert_eq!(reads.take(), 2, "another version is another one");
        let failed = known.find(1, "shop", "three", || Err(InternalError::new("reading", "no")));
        assert!(failed.is_err() && !find(1, "shop", "three"));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let known = KeyLookupCache::default();
        for number in 0..MAX_KEYS + 5 {
            known.find(1, "shop", &number.to_string(), || Ok(None)).unwrap();
            assert!(known.0.lock().unwrap().found.len() <= MAX_KEYS);
        }
    }

    #[test]
    fn whatever_anybody_commits_makes_another_version_and_holds_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let process = Store::attach(folder.path()).unwrap();
        let find = |agent: &str| store.find(agent, "one").unwrap();
        let version = || store.publisher_version().unwrap().unwrap();
        let mut versions = vec![version()];
        let mut changed = || {
            let now = version();
            assert_eq!(version(), now, "asking changes nothing");
            assert!(!versions.contains(&now), "{now} after {versions:?}");
            versions.push(now);
        };
        assert_eq!((find("shop"), find("shop")), (None, None));
        process.add_api_key(key("one"), false).unwrap();
        changed();
        assert_eq!((find("shop"), find("other shop")), (Some(key("one")), None));
        process.revoke_api_key("one", Timestamp::MAX).unwrap();
        changed();
        assert!(find("shop").unwrap().revoked_at.is_some());
        store.add_api_key(key("two"), true).unwrap();
        changed();
    }
}
