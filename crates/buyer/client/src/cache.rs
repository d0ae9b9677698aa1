//! Cache of agent cards (RFC 9111), so that a seller is asked again only when its card may have changed. It
//! is in memory and bounded, and the caller provides the clock.
// D-06

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use policy::{CacheTerms, CacheUse};
use reqwest::Url;
use tradepost_document::cache::BoundedCache;

use crate::discover::{Discovered, card_url, read};
use crate::failure::{CallFailure, Unsent};
use crate::refusal::RefusalForm;
use crate::transport::{HttpTransport, Response};

pub mod policy;

/// Size of a cache, and how stale a card may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheBounds {
    /// Maximum number of cards; beyond it, the one used longest ago is removed.
    pub cards: usize,
    /// Time for which a stale card is used when the seller cannot be asked. A seller may forbid it
    /// (`must-revalidate`, `no-cache`) or permit more (`stale-if-error`).
    pub patience: Duration,
}

impl Default for CacheBounds {
    /// Returns the default bounds: a hundred cards, and an hour for stale ones.
    fn default() -> Self {
        Self { cards: 100, patience: Duration::from_secs(3_600) }
    }
}

/// Card, and where it came from.
#[derive(Debug)]
#[non_exhaustive]
pub struct CachedCard {
    /// Card.
    pub discovered: Discovered,
    /// Source of the card.
    pub how: CardSource,
}

/// Source of a card.
#[derive(Debug)]
#[non_exhaustive]
pub enum CardSource {
    /// Sent by the seller.
    Fetched,
    /// From the cache and fresh; the seller was not asked.
    Kept,
    /// From the cache, confirmed by the seller.
    Confirmed,
    /// From the cache and stale; the seller could not be asked.
    Stale(Box<CallFailure>),
}

/// Cache of agent cards.
pub struct CardCache {
    bounds: CacheBounds,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    cards: Mutex<BoundedCache<String, CardEntry>>,
}

#[derive(Clone)]
struct CardEntry {
    discovered: Discovered,
    terms: CacheTerms,
}

impl fmt::Debug for CardCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardCache")
            .field("bounds", &self.bounds)
            .field("cards", &self.len())
            .finish_non_exhaustive()
    }
}

impl CardCache {
    /// Creates an empty cache with this clock.
    #[must_use]
    pub fn new(bounds: CacheBounds, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let cards = Mutex::new(BoundedCache::new(bounds.cards));
        Self { bounds, clock: Box::new(clock), cards }
    }

    /// Returns the card of the agent at `address`, as [`crate::discover()`] finds it: the cached one while it
    /// is fresh, else one that the seller confirms or sends. A stale card within the bounds is returned when
    /// the seller cannot be asked, or fails with HTTP 500, 502, 503 or 504.
    ///
    /// # Errors
    /// The failure to get a card.
    pub async fn discover(
        &self,
        transport: &HttpTransport,
        address: &str,
    ) -> Result<CachedCard, CallFailure> {
        let url = card_url(address)?;
        let now = (self.clock)();
        let cached = self.lock().get(url.as_str()).cloned();
        let Some(cached) = cached else {
            return self.fetch(transport, url).await;
        };
        let found = |how| CachedCard { discovered: cached.discovered.clone(), how };
        let usable = match cached.terms.at(now, self.bounds.patience) {
            CacheUse::Fresh => return Ok(found(CardSource::Kept)),
            CacheUse::Check { usable } => usable,
        };
        let requested_at = now;
        let (etag, changed) = cached.terms.validators();
        let is_conditional = etag.is_some() || changed.is_some();
        let fetched = match transport.get_unless(&url, etag, changed).await {
            // Only a conditional request can be confirmed; any other 304 is no card.
            Ok(response) if response.status == 304 && is_conditional => {
                // The tag in the answer is that of another card.
                if !cached.terms.is_confirmed_by(&response.headers) {
                    return self.fetch(transport, url).await;
                }
                let terms = cached.terms.renewed(&response.headers, requested_at, (self.clock)());
                let mut discovered = cached.discovered.clone();
                discovered.etag = terms.validators().0.map(str::to_owned);
                self.store(&url, &discovered, terms);
                return Ok(CachedCard { discovered, how: CardSource::Confirmed });
            }
            Ok(response) => self.store_response(url.clone(), response, requested_at),
            Err(failure) => Err(failure),
        };
        fetched.or_else(|failure| {
            let is_stale_better = usable && is_transient(&failure);
            if is_stale_better {
                Ok(found(CardSource::Stale(Box::new(failure))))
            } else {
                Err(failure)
            }
        })
    }

    /// Removes the card of the agent at `address`, for example after a call to its address failed.
    pub fn forget(&self, address: &str) {
        if let Ok(url) = card_url(address) {
            self.lock().remove(url.as_str());
        }
    }

    /// Returns the number of cards in the cache.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns true when the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Fetches the card by a request without validators, and caches it.
    async fn fetch(&self, transport: &HttpTransport, url: Url) -> Result<CachedCard, CallFailure> {
        let requested_at = (self.clock)();
        let response = transport.get(&url, None).await?;
        self.store_response(url, response, requested_at)
    }

    /// Reads an answer and caches the card in it if that is permitted. A broken answer leaves the cached
    /// card; a refusal that is not transient removes it.
    fn store_response(
        &self,
        url: Url,
        response: Response,
        requested_at: Timestamp,
    ) -> Result<CachedCard, CallFailure> {
        let terms = CacheTerms::read(&response.headers, requested_at, (self.clock)());
        match read(url.clone(), response) {
            Ok(discovered) => {
                self.store(&url, &discovered, terms);
                Ok(CachedCard { discovered, how: CardSource::Fetched })
            }
            Err(failure) => {
                if matches!(&failure, CallFailure::Refused(_)) && !is_transient(&failure) {
                    self.lock().remove(url.as_str());
                }
                Err(failure)
            }
        }
    }

    /// Caches a card, or removes the earlier one when caching is not permitted.
    fn store(&self, url: &Url, discovered: &Discovered, terms: CacheTerms) {
        let mut cards = self.lock();
        if !terms.may_be_kept() {
            // The seller no longer permits caching, so the earlier card is removed, too.
            cards.remove(url.as_str());
            return;
        }
        let entry = CardEntry { discovered: discovered.clone(), terms };
        cards.insert(url.as_str().to_owned(), entry);
    }

    fn lock(&self) -> MutexGuard<'_, BoundedCache<String, CardEntry>> {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true when the seller could not be asked or fails temporarily (RFC 5861 §4).
fn is_transient(failure: &CallFailure) -> bool {
    match failure {
        CallFailure::Unsent(Unsent::Unreachable(_) | Unsent::Proxy { .. })
        | CallFailure::Unanswered(_) => true,
        CallFailure::Refused(refused) => {
            matches!(refused.by, RefusalForm::Http(500 | 502 | 503 | 504))
        }
        CallFailure::Unsent(
            Unsent::Address(_)
            | Unsent::Certificate { .. }
            | Unsent::NotAap(_)
            | Unsent::NoInterface
            | Unsent::SkillNotOffered { .. }
            | Unsent::Invalid(_)
            | Unsent::Arguments(_)
            | Unsent::NotPermitted { .. }
            | Unsent::Credential(_)
            | Unsent::TokenForOther { .. }
            | Unsent::Setup(_),
        )
        | CallFailure::Garbled(_) => false,
    }
}

#[cfg(test)]
mod tests;
