//! Memory of each seller over all intents: the retries that are left, and how often it has said that it is
//! misconfigured. Bounded in the number of sellers and in what is kept of each.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tradepost_adcp::error::RecoveryRule;
use tradepost_document::cache::BoundedCache;

use crate::failure::CallFailure;

/// Sizes of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Maximum number of retries and corrections at once for a seller.
    pub tokens: u32,
    /// Time after which one more is granted.
    pub refill: Duration,
    /// Number of misconfiguration errors that make an outage.
    pub outage_count: usize,
    /// Time within which they must occur.
    pub outage_window: Duration,
    /// Maximum number of sellers; beyond it, the one used longest ago is forgotten.
    pub sellers: usize,
}

impl Default for Sizes {
    /// Returns the default sizes: ten retries at once and one more every six seconds; three misconfiguration
    /// errors in five minutes; a thousand sellers.
    fn default() -> Self {
        Self {
            tokens: 10,
            refill: Duration::from_secs(6),
            outage_count: 3,
            outage_window: Duration::from_secs(300),
            sellers: 1_000,
        }
    }
}

/// Memory of sellers.
#[derive(Debug)]
pub struct SellerMemory {
    sizes: Sizes,
    known: Mutex<BoundedCache<String, RememberedSeller>>,
}

#[derive(Debug)]
struct RememberedSeller {
    /// Tokens at `counted`.
    tokens: u32,
    /// Moment up to which tokens have been granted.
    counted: Duration,
    /// Moments of the last misconfiguration errors, as many as make an outage.
    misconfigured: VecDeque<Duration>,
}

impl SellerMemory {
    /// Creates an empty memory.
    #[must_use]
    pub fn new(sizes: Sizes) -> Self {
        Self { sizes, known: Mutex::new(BoundedCache::new(sizes.sellers.max(1))) }
    }

    /// Returns the number of retries that the seller may have at this moment.
    #[must_use]
    pub fn tokens(&self, seller: &str, now: Duration) -> u32 {
        match self.lock().get(seller) {
            Some(seller) => self.granted(seller, now),
            None => self.sizes.tokens,
        }
    }

    /// Returns true when the seller repeatedly says that it is misconfigured.
    // Y-4
    #[must_use]
    pub fn is_out(&self, seller: &str, now: Duration) -> bool {
        let known = self.lock();
        known.peek(seller).is_some_and(|seller| self.is_outage(seller, now))
    }

    /// Returns the number of sellers in the memory.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns true when the memory is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes a token; `false` when there is none.
    pub(super) fn take(&self, seller: &str, now: Duration) -> bool {
        let mut known = self.lock();
        let seller = self.remembered(&mut known, seller, now);
        let tokens = self.granted(seller, now);
        seller.tokens = tokens.saturating_sub(1);
        tokens > 0
    }

    /// Records a failure. Returns true when the seller has an outage.
    pub(super) fn record_failure(
        &self,
        seller: &str,
        failure: &CallFailure,
        now: Duration,
    ) -> bool {
        let mut known = self.lock();
        let seller = self.remembered(&mut known, seller, now);
        if failure.adcp().is_none_or(|error| error.rule() != RecoveryRule::Misconfigured) {
            return false;
        }
        seller.misconfigured.push_back(now);
        while seller.misconfigured.len() > self.sizes.outage_count.max(1) {
            seller.misconfigured.pop_front();
        }
        self.is_outage(seller, now)
    }

    fn is_outage(&self, seller: &RememberedSeller, now: Duration) -> bool {
        let begun = now.saturating_sub(self.sizes.outage_window);
        let recent = seller.misconfigured.iter().filter(|moment| **moment >= begun);
        recent.count() >= self.sizes.outage_count.max(1)
    }

    /// Grants the tokens for the time since the last call, and returns their number.
    fn granted(&self, seller: &mut RememberedSeller, now: Duration) -> u32 {
        let passed = now.saturating_sub(seller.counted);
        // Without a refill time all tokens are granted at once.
        let grants = passed.as_nanos().checked_div(self.sizes.refill.as_nanos());
        let grants = u32::try_from(grants.unwrap_or(u128::MAX)).unwrap_or(u32::MAX);
        seller.tokens = seller.tokens.saturating_add(grants);
        if seller.tokens >= self.sizes.tokens {
            seller.tokens = self.sizes.tokens;
            seller.counted = now;
        } else {
            // Not set to `now`, so that the rest of a refill interval counts the next time. Below the
            // capacity the product cannot be large.
            seller.counted += self.sizes.refill.saturating_mul(grants);
        }
        seller.tokens
    }

    fn remembered<'k>(
        &self,
        known: &'k mut BoundedCache<String, RememberedSeller>,
        name: &str,
        now: Duration,
    ) -> &'k mut RememberedSeller {
        if known.peek(name).is_none() {
            let misconfigured = VecDeque::new();
            let fresh = RememberedSeller { tokens: self.sizes.tokens, counted: now, misconfigured };
            known.insert(name.to_owned(), fresh);
        }
        known.get(name).expect("it is stored, because there is room for one")
    }

    fn lock(&self) -> MutexGuard<'_, BoundedCache<String, RememberedSeller>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
