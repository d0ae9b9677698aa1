//! How often one caller may call: a token bucket for each credential or address.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use jiff::SignedDuration;

use crate::clock::Clock;
use crate::fault::Fault;

/// Who calls, as far as limits are concerned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Somebody whose credential has this name.
    Credential(String),
    /// Nobody in particular, from this address.
    Address(IpAddr),
}

impl Key {
    /// The key of an address.
    #[must_use]
    pub fn address(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

/// Those who are one as far as limits are concerned: whoever has one IPv6 address has its whole
/// /64.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Takes so many away from a count of somebody, who is forgotten when there are none left.
pub(crate) fn give_back<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K, count: usize) {
    if let Some(own) = counts.get_mut(key) {
        *own -= count;
        if *own == 0 {
            counts.remove(key);
        }
    }
}

/// How often one caller may call: `requests` in `window`, refilled evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// How many at once; 0 switches the limit off.
    pub requests: u32,
    /// In how much time.
    pub window: SignedDuration,
}

/// How often an address may fail to say who it is: as many times at once, and again in each minute. Whoever fails
/// more often is put off, and fills no log. Good credentials from the same address still pass,
/// so that nobody can lock a neighbour out.
pub const FAILURES: RateLimit = RateLimit { requests: 10, window: SignedDuration::from_mins(1) };

/// A limit that a caller has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// The time until its next request will pass.
    pub wait: Duration,
    /// The limit.
    pub limit: RateLimit,
}

/// What processes that share their limits have permits from: some at a time, so that few requests
/// wait for it.
pub trait Permits: fmt::Debug + Send + Sync {
    /// Takes a part of what is left in a bucket. May wait, but not for long.
    ///
    /// # Errors
    /// When nobody can be asked.
    fn lease(&self, bucket: &str, limit: RateLimit) -> Result<Lease, Fault>;
}

/// What was taken of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// How many permits.
    pub permits: u32,
    /// When there are none: until there will be one.
    pub wait: Duration,
    /// How many processes share the bucket.
    pub processes: u32,
}

/// Counts the requests of callers.
pub struct Limiter {
    limit: RateLimit,
    buckets: Option<RateLimiter<Key, HashMapStateStore<Key>, Ticks, NoOpMiddleware<Nanos>>>,
    shared: Option<Shared>,
}

/// What a limiter knows that is not alone.
struct Shared {
    name: String,
    permits: Arc<dyn Permits>,
    held: Mutex<Holdings>,
}

#[derive(Default)]
struct Holdings {
    /// The permits of each caller, and when they were leased.
    callers: HashMap<Key, (u32, Nanos)>,
    /// Until when there is no permit for a caller anywhere: they come back with time alone, so that
    /// nobody need be asked until then.
    dry: HashMap<Key, Nanos>,
    /// How many processes share the limit, as far as is known.
    processes: u32,
    /// Until when nobody is asked, because nobody answered.
    alone_until: Option<Nanos>,
}

/// For how long a process goes by its share that could ask nobody.
const ALONE: Duration = Duration::from_secs(1);

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
        Self { limit, buckets, shared: None }
    }

    /// The same under a name that it has in every process that has permits from there.
    #[must_use]
    pub fn among(self, name: &str, permits: Option<Arc<dyn Permits>>) -> Self {
        let shared = |permits| Shared { name: name.to_owned(), permits, held: Mutex::default() };
        Self { shared: permits.map(shared), ..self }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The time until the next request will pass.
    pub fn admit(&self, key: &Key) -> Result<(), Exceeded> {
        let Some(buckets) = &self.buckets else {
            return Ok(());
        };
        let now = buckets.clock().now();
        // Each of several processes has a part of the bucket: what passes there takes the part of the
        // others, too.
        let alone = |processes: u32| {
            let cells = NonZeroU32::new(processes.min(self.limit.requests));
            buckets.check_key_n(key, cells.unwrap_or(NonZeroU32::MIN)).ok()?.err()
        };
        let refused = match &self.shared {
            None => alone(1).map(|refused| refused.wait_time_from(now)),
            Some(shared) => match shared.take(key, self.limit, now) {
                Ok((wait, processes)) => {
                    // What passes with a permit is counted here as well: the bucket must not be
                    // full when it is needed because the others cannot be asked.
                    let _ = wait.is_none().then(|| alone(processes));
                    wait
                }
                Err(processes) => alone(processes).map(|refused| refused.wait_time_from(now)),
            },
        };
        refused.map_or(Ok(()), |wait| Err(Exceeded { wait, limit: self.limit }))
    }

    /// Forgets callers whose buckets are full again, and permits that nobody used for so long.
    pub fn tidy(&self) {
        let Some(buckets) = &self.buckets else { return };
        buckets.retain_recent();
        buckets.shrink_to_fit();
        if let (Some(shared), Ok(window)) = (&self.shared, Duration::try_from(self.limit.window)) {
            let now = buckets.clock().now();
            let mut held = shared.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.callers.retain(|_, (_, since)| *since + window > now);
            held.dry.retain(|_, until| *until > now);
        }
    }
}

impl Shared {
    /// Takes a permit: at best of those that are here. How long there is none, and how many processes
    /// there are; the latter alone where nobody can be asked.
    fn take(
        &self,
        key: &Key,
        limit: RateLimit,
        now: Nanos,
    ) -> Result<(Option<Duration>, u32), u32> {
        let lock = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut held = lock();
            if let Some((permits, _)) =
                held.callers.get_mut(key).filter(|(permits, _)| *permits > 0)
            {
                *permits -= 1;
                return Ok((None, held.processes));
            }
            if let Some(until) = held.dry.get(key).filter(|until| now < **until) {
                return Ok((Some(until.saturating_sub(now).into()), held.processes));
            }
            if held.alone_until.is_some_and(|until| now < until) {
                return Err(held.processes);
            }
        }
        // Nobody else waits for this.
        let leased = self.permits.lease(&format!("{} {key:?}", self.name), limit);
        let mut held = lock();
        match leased {
            Ok(Lease { permits, wait, processes }) => {
                (held.processes, held.alone_until) = (processes, None);
                let Some(left) = permits.checked_sub(1) else {
                    held.dry.insert(key.clone(), now + wait);
                    return Ok((Some(wait), processes));
                };
                let (known, since) = held.callers.entry(key.clone()).or_insert((0, now));
                (*known, *since) = (known.saturating_add(left), now);
                Ok((None, processes))
            }
            Err(fault) => {
                // Once, until somebody answers again.
                if held.alone_until.is_none() {
                    tracing::warn!(cause = %fault.chain(), "limits are held by shares for a while");
                }
                held.alone_until = Some(now + ALONE);
                Err(held.processes)
            }
        }
    }
}

/// Our clock, as the limiter reads it.
#[derive(Debug, Clone)]
struct Ticks(Clock);

impl governor::clock::Clock for Ticks {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_request_for_each_part_of_the_window() {
        let (clock, hand) = Clock::manual(Timestamp::UNIX_EPOCH);
        let limit = RateLimit { requests: 3, window: SignedDuration::from_secs(60) };
        let limiter = Limiter::new(limit, clock);
        let caller = Key::address([192, 0, 2, 1].into());
        for _ in 0..3 {
            limiter.admit(&caller).unwrap();
        }
        assert_eq!(limiter.admit(&caller).unwrap_err().wait, Duration::from_secs(20));
        assert!(limiter.admit(&Key::address([192, 0, 2, 2].into())).is_ok());
        hand.advance(SignedDuration::from_millis(19_999));
        assert!(limiter.admit(&caller).is_err());
        hand.advance(SignedDuration::from_millis(1));
        assert!(limiter.admit(&caller).is_ok());
        assert!(limiter.admit(&caller).is_err());
    }

    #[test]
    fn a_clock_that_was_set_to_another_day_for_a_moment_locks_nobody_out() {
        let (clock, hand) = Clock::manual(Timestamp::UNIX_EPOCH);
        let limit = RateLimit { requests: 1, window: SignedDuration::from_secs(60) };
        let limiter = Limiter::new(limit, clock);
        let caller = Key::Credential("acme".to_owned());
        hand.set(SignedDuration::from_hours(24));
        limiter.admit(&caller).unwrap();
        hand.set(SignedDuration::from_hours(-24));
        assert_eq!(limiter.admit(&caller).unwrap_err().wait, Duration::from_secs(60));
        hand.advance(SignedDuration::from_secs(60));
        assert!(limiter.admit(&caller).is_ok());
    }

    #[test]
    fn neighbours_in_an_ipv6_network_share_a_bucket() {
        let key = |text: &str| Key::address(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:2"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}
