//! How often one caller may call: a token bucket for each credential or address (`R-ER-07`).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use tradepost_wire::aap::Refusal;

use crate::clock::Clock;
use crate::config::RateLimit;

/// Who calls, as far as limits are concerned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// Somebody whose credential has this name.
    Credential(String),
    /// Nobody in particular, from this address.
    Address(IpAddr),
}

impl Key {
    /// The key of an address. Whoever has one IPv6 address has its whole /64.
    #[must_use]
    pub fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// A dealer's limit.
pub struct Limiter {
    limit: RateLimit,
    buckets: Option<RateLimiter<Key, HashMapStateStore<Key>, Ticks, NoOpMiddleware<Nanos>>>,
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Limiter {
    /// Every caller may make `limit.requests` requests at once, and as many in each
    /// `limit.window`.
    #[must_use]
    pub fn new(limit: RateLimit, clock: Clock) -> Self {
        let quota = NonZeroU32::new(limit.requests).and_then(|requests| {
            let window = Duration::try_from(limit.window).ok()?;
            Some(Quota::with_period(window / requests.get())?.allow_burst(requests))
        });
        let buckets =
            quota.map(|quota| RateLimiter::new(quota, HashMapStateStore::default(), Ticks(clock)));
        Self { limit, buckets }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// `RATE_LIMITED` with the time until the next request will pass.
    pub fn admit(&self, key: &Key) -> Result<(), Refusal> {
        self.count(key).map_err(|wait| {
            // Never early: a part of a millisecond counts as a whole one.
            let wait = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
            let window = u64::try_from(self.limit.window.as_millis()).unwrap_or(u64::MAX);
            Refusal::rate_limited(wait.max(1), self.limit.requests, window)
        })
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The time until the next request will pass.
    pub fn count(&self, key: &Key) -> Result<(), Duration> {
        let Some(buckets) = &self.buckets else {
            return Ok(());
        };
        let clock = buckets.clock();
        buckets.check_key(key).map_err(|refused| refused.wait_time_from(clock.now()))
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Forgets callers whose buckets are full again.
    pub fn tidy(&self) {
        if let Some(buckets) = &self.buckets {
            buckets.retain_recent();
            buckets.shrink_to_fit();
        }
    }
}

/// Our clock, as the limiter reads it.
#[derive(Debug, Clone)]
struct Ticks(Clock);

impl governor::clock::Clock for Ticks {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(u64::try_from(self.0.now().as_nanosecond()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn a_burst_passes_and_then_one_request_for_each_part_of_the_window() {
        let (clock, hand) = Clock::manual(Timestamp::UNIX_EPOCH);
        let limit =
            RateLimit { requests: 3, window: SignedDuration::from_secs(60), http_429: false };
        let limiter = Limiter::new(limit, clock);
        let caller = Key::address([192, 0, 2, 1].into());
        for _ in 0..3 {
            limiter.admit(&caller).unwrap();
        }
        let refusal = limiter.admit(&caller).unwrap_err();
        assert_eq!(refusal.details["retry_after_ms"], 20_000);
        assert!(limiter.admit(&Key::address([192, 0, 2, 2].into())).is_ok());
        hand.advance(SignedDuration::from_millis(19_999));
        assert!(limiter.admit(&caller).is_err());
        hand.advance(SignedDuration::from_millis(1));
        assert!(limiter.admit(&caller).is_ok());
        assert!(limiter.admit(&caller).is_err());
    }

    #[test]
    fn neighbours_in_an_ipv6_network_share_a_bucket() {
        let key = |text: &str| Key::address(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:2"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}
