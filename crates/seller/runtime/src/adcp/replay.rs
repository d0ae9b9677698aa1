//! Persistent replay protection: a used signature is on disk before it is accepted, so that a
//! restart forgets none.

use std::sync::Arc;

use jiff::Timestamp;
use tradepost_keys::replay::{ReplayCache, UsedSignature};
use tradepost_server::fault::InternalError;
use tradepost_store::Store;

/// Used signatures of one publisher, on disk.
#[derive(Debug)]
pub struct StoredSignatures {
    store: Arc<Store>,
    publisher: String,
}

impl StoredSignatures {
    /// Loads the used signatures of a publisher, also those from before this process.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub fn open(
        store: &Arc<Store>,
        publisher: &str,
        now: Timestamp,
    ) -> Result<(Self, ReplayCache), InternalError> {
        let replay = store.used_signatures(publisher, now)?.into_iter().collect();
        Ok((Self { store: Arc::clone(store), publisher: publisher.to_owned() }, replay))
    }

    /// Stores a used signature. Returns `false` when another process that shares the store used it
    /// before.
    ///
    /// # Errors
    /// Fails when the store fails. The signature stays used in this process.
    pub async fn keep(&self, used: &UsedSignature, now: Timestamp) -> Result<bool, InternalError> {
        let publisher = self.publisher.clone();
        let used = used.clone();
        self.store.write(move |tx| tx.use_signature(&publisher, &used, now)).await
    }
}

#[cfg(test)]
mod tests {
    use tradepost_keys::replay::ReplayRefusal;

    use super::*;

    #[test]
    fn used_signatures_outlive_the_process_for_their_publisher_only() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let keep = |nonce, now| {
            let (stored, replay) = StoredSignatures::open(&store, "p", at(now)).unwrap();
            let used = replay.take("k", nonce, 9, at(now), at(now + 10)).unwrap();
            assert!(runtime.block_on(stored.keep(&used, at(now))).unwrap());
            let elsewhere = runtime.block_on(stored.keep(&used, at(now)));
            assert!(!elsewhere.unwrap(), "another process that has not heard of it is told");
        };
        keep("a", 0);
        let take = |publisher, now| {
            let (_, next) = StoredSignatures::open(&store, publisher, at(now)).unwrap();
            next.take("k", "a", 9, at(now), at(now + 10)).map(drop)
        };
        assert_eq!(take("p", 9), Err(ReplayRefusal::Replayed));
        assert_eq!(take("other", 9), Ok(()));
        assert_eq!(take("p", 10), Ok(()));
        keep("b", 20);
        let left = store.used_signatures("p", at(0)).unwrap();
        assert_eq!(left.len(), 1, "what no longer holds has gone from the store, too");
    }
}
