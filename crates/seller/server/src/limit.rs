//! Rate limits: a token bucket per credential or address, and the wait (`Retry-After`) of a caller that exceeds it.
//!
//! ```
//! use std::net::IpAddr;
//! use jiff::SignedDuration;
//! use tradepost_server::clock::Clock;
//! use tradepost_server::limit::{LimitKey, Limiter, RateLimit};
//! let limit = RateLimit { requests: 2, window: SignedDuration::from_mins(1) };
//! let limiter = Limiter::new(limit, Clock::system());
//! let caller = LimitKey::address(IpAddr::from([192, 0, 2, 1]));
//! assert!(limiter.admit(&caller).is_ok());
//! assert!(limiter.admit(&caller).is_ok());
//! let exceeded = limiter.admit(&caller).unwrap_err();
//! assert!(exceeded.wait.as_secs() <= 30);
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use jiff::SignedDuration;
use tradepost_document::backoff::Backoff;
use tradepost_document::breaker::CircuitBreaker;

use crate::clock::Clock;
use crate::fault::InternalError;

/// Caller for the purpose of limits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitKey {
    /// A caller with this credential name.
    Credential(String),
    /// A caller without a credential, by address.
    Address(IpAddr),
}

impl LimitKey {
    /// Creates the key of an address.
    #[must_use]
    pub fn address(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

/// Returns the network that counts as one caller: of an IPv6 address its /64, otherwise the
/// address.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Subtracts from a count, and removes it at zero.
pub(crate) fn subtract_count<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K, count: usize) {
    if let Some(own) = counts.get_mut(key) {
        *own -= count;
        if *own == 0 {
            counts.remove(key);
        }
    }
}

/// A rate limit: `requests` in `window`, refilled evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Maximum number of requests at once; 0 disables the limit.
    pub requests: u32,
    /// Time in which the bucket refills.
    pub window: SignedDuration,
}

impl RateLimit {
    /// Returns the time after which a bucket that processes share has one permit more, in whole microseconds, as its
    /// source counts: at least one.
    #[must_use]
    pub fn shared_interval(self) -> Duration {
        let window = Duration::try_from(self.window).unwrap_or_default().as_micros();
        let interval = window / u128::from(self.requests.max(1));
        Duration::from_micros(u64::try_from(interval.max(1)).unwrap_or(u64::MAX))
    }

    /// Returns the time until an empty bucket that processes share has a permit again. `full_in` is the time until it is
    /// full, which the store computes. Where a process counts alone, [`governor`] computes the wait, in
    /// [`Limiter::admit`].
    #[must_use]
    pub fn shared_wait(self, full_in: Duration) -> Duration {
        // The bucket has one permit while `requests - 1` are missing, each of which takes an interval to return.
        full_in.saturating_sub(self.shared_interval() * self.requests.saturating_sub(1))
    }
}

/// Rate limit of failed authentications per address. Further failures are refused without a log entry. Valid
/// credentials from the same address still pass, so that an attacker cannot lock out a neighbour.
pub const FAILURES: RateLimit = RateLimit { requests: 10, window: SignedDuration::from_mins(1) };

/// An exceeded rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitExceeded {
    /// Time until the caller's next request will pass, which answers send as `Retry-After`.
    pub wait: Duration,
    /// The limit.
    pub limit: RateLimit,
}

/// Source of permits for processes that share their limits. It hands out several at a time, so that
/// few requests have to wait for it.
pub trait Permits: fmt::Debug + Send + Sync {
    /// Takes a part of the permits left in a bucket. May block for a short time.
    ///
    /// # Errors
    /// When the source is unavailable.
    fn lease(&self, bucket: &str, limit: RateLimit) -> Result<Lease, InternalError>;
}

/// Permits taken from a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Number of permits.
    pub permits: u32,
    /// Time until the bucket is full again. [`RateLimit::shared_wait`] is the wait of a caller that got no permit.
    pub full_in: Duration,
    /// Number of processes that share the bucket.
    pub processes: u32,
}

/// Counts the requests of callers against a limit.
pub struct Limiter {
    limit: RateLimit,
    buckets: Option<
        RateLimiter<LimitKey, HashMapStateStore<LimitKey>, GovernorClock, NoOpMiddleware<Nanos>>,
    >,
    shared: Option<SharedPermits>,
}

/// Connection of a limiter to the shared source of permits.
struct SharedPermits {
    name: String,
    permits: Arc<dyn Permits>,
    leased_permits: Mutex<LeasedPermits>,
}

/// Permits that a caller has in this process.
struct CallerLease {
    /// Number of permits that are left.
    permits: u32,
    /// Time of the latest lease.
    since: Nanos,
}

/// Decision about a request by a limit that processes share: by permits leased before, or by asking the source.
struct SharedDecision {
    outcome: SharedOutcome,
    /// Number of processes that share the limit.
    processes: u32,
}

/// Outcome of such a decision.
enum SharedOutcome {
    Permitted,
    Refused {
        /// Time until the next request will pass.
        wait: Duration,
    },
    /// The source cannot be asked.
    Unavailable,
}

struct LeasedPermits {
    /// Leased permits of each caller.
    callers: HashMap<LimitKey, CallerLease>,
    /// Time until which a caller has no permits in any process. They return with time alone, so the
    /// source need not be asked before.
    exhausted_until: HashMap<LimitKey, Nanos>,
    /// Number of processes that share the limit, as last known.
    processes: u32,
    /// Decides whether the source is asked, or each process goes on alone.
    source: CircuitBreaker,
}

impl Default for LeasedPermits {
    fn default() -> Self {
        let source = CircuitBreaker::new(Backoff::constant(SOURCE_PAUSE));
        Self { callers: HashMap::new(), exhausted_until: HashMap::new(), processes: 0, source }
    }
}

/// Time for which a process uses its own share while the source is unavailable.
const SOURCE_PAUSE: Duration = Duration::from_secs(1);

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Limiter {
    /// Creates a limiter: each caller may make `limit.requests` requests at once, and as many in
    /// each `limit.window`.
    #[must_use]
    pub fn new(limit: RateLimit, clock: Clock) -> Self {
        let quota = NonZeroU32::new(limit.requests).and_then(|requests| {
            let window = Duration::try_from(limit.window).ok()?;
            Some(Quota::with_period(window / requests.get())?.allow_burst(requests))
        });
        let buckets = quota.map(|quota| {
            RateLimiter::new(quota, HashMapStateStore::default(), GovernorClock(clock))
        });
        Self { limit, buckets, shared: None }
    }

    /// Shares the limit with other processes: `permits` is the source, and `name` is the same in
    /// all of them.
    #[must_use]
    pub fn among(self, name: &str, permits: Option<Arc<dyn Permits>>) -> Self {
        let shared = |permits| SharedPermits {
            name: name.to_owned(),
            permits,
            leased_permits: Mutex::default(),
        };
        Self { shared: permits.map(shared), ..self }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// When the limit is exceeded, with the time until the next request will pass.
    pub fn admit(&self, key: &LimitKey) -> Result<(), RateLimitExceeded> {
        let Some(buckets) = &self.buckets else {
            return Ok(());
        };
        let now = buckets.clock().now();
        // While the source is unavailable, each process admits its share of the bucket: a request
        // here takes the parts of the others too.
        let count_locally = |processes: u32| {
            let cells = NonZeroU32::new(processes.min(self.limit.requests));
            let refused = buckets.check_key_n(key, cells.unwrap_or(NonZeroU32::MIN)).ok()?.err()?;
            Some(refused.wait_time_from(now))
        };
        let wait = match &self.shared {
            None => count_locally(1),
            Some(shared) => {
                let SharedDecision { outcome, processes } = shared.take(key, self.limit, now);
                match outcome {
                    SharedOutcome::Permitted => {
                        // Counted locally, too, so that the bucket is not full when the source becomes
                        // unavailable. What the local bucket says does not matter meanwhile.
                        let _counted = count_locally(processes);
                        None
                    }
                    SharedOutcome::Refused { wait } => Some(wait),
                    SharedOutcome::Unavailable => count_locally(processes),
                }
            }
        };
        wait.map_or(Ok(()), |wait| Err(RateLimitExceeded { wait, limit: self.limit }))
    }

    /// Removes callers whose buckets are full again, and leased permits that were not used for a
    /// window.
    pub fn tidy(&self) {
        let Some(buckets) = &self.buckets else { return };
        buckets.retain_recent();
        buckets.shrink_to_fit();
        if let Some(shared) = &self.shared
            && let Ok(window) = Duration::try_from(self.limit.window)
        {
            let now = buckets.clock().now();
            let mut leased_permits =
                shared.leased_permits.lock().unwrap_or_else(PoisonError::into_inner);
            leased_permits.callers.retain(|_, lease| lease.since + window > now);
            leased_permits.exhausted_until.retain(|_, until| *until > now);
        }
    }
}

impl SharedPermits {
    /// Takes a permit, preferably one already leased.
    fn take(&self, key: &LimitKey, limit: RateLimit, now: Nanos) -> SharedDecision {
        let lock = || self.leased_permits.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut leased_permits = lock();
            let processes = leased_permits.processes;
            if let Some(lease) =
                leased_permits.callers.get_mut(key).filter(|lease| lease.permits > 0)
            {
                lease.permits -= 1;
                return SharedDecision { outcome: SharedOutcome::Permitted, processes };
            }
            if let Some(until) =
                leased_permits.exhausted_until.get(key).filter(|until| now < **until)
            {
                let wait = until.saturating_sub(now).into();
                return SharedDecision { outcome: SharedOutcome::Refused { wait }, processes };
            }
            if !leased_permits.source.try_ask(now.into()) {
                return SharedDecision { outcome: SharedOutcome::Unavailable, processes };
            }
        }
        // The lock is not held while waiting for the source.
        let leased = self.permits.lease(&format!("{} {key:?}", self.name), limit);
        let mut leased_permits = lock();
        match leased {
            Ok(Lease { permits, full_in, processes }) => {
                leased_permits.processes = processes;
                leased_permits.source.succeeded();
                let Some(left) = permits.checked_sub(1) else {
                    let wait = limit.shared_wait(full_in);
                    leased_permits.exhausted_until.insert(key.clone(), now + wait);
                    return SharedDecision { outcome: SharedOutcome::Refused { wait }, processes };
                };
                let none = CallerLease { permits: 0, since: now };
                let lease = leased_permits.callers.entry(key.clone()).or_insert(none);
                lease.permits = lease.permits.saturating_add(left);
                lease.since = now;
                SharedDecision { outcome: SharedOutcome::Permitted, processes }
            }
            Err(fault) => {
                // Logged once until the source answers again.
                if leased_permits.source.failed(now.into(), ()) {
                    tracing::warn!(cause = %fault.chain(), "limits are held by shares for a while");
                }
                let processes = leased_permits.processes;
                SharedDecision { outcome: SharedOutcome::Unavailable, processes }
            }
        }
    }
}

/// Callers that have used up a limit, until it lets them pass again. They can be refused before work that costs more
/// than a limiter, which only counts what has been done.
#[derive(Debug)]
pub struct ExhaustedCallers {
    clock: Clock,
    callers: Mutex<HashMap<LimitKey, ExhaustedCaller>>,
}

/// A caller that has used up a limit.
#[derive(Debug)]
struct ExhaustedCaller {
    /// Time of the clock from which it passes again.
    until: Duration,
    limit: RateLimit,
}

impl ExhaustedCallers {
    /// Creates an empty list.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, callers: Mutex::default() }
    }

    /// Notes a caller that a limiter has refused.
    pub fn note(&self, caller: LimitKey, exceeded: RateLimitExceeded) {
        let until = self.clock.elapsed().saturating_add(exceeded.wait);
        self.lock().insert(caller, ExhaustedCaller { until, limit: exceeded.limit });
    }

    /// Returns the exceeded limit of a caller that still has to wait.
    #[must_use]
    pub fn find(&self, caller: &LimitKey) -> Option<RateLimitExceeded> {
        let callers = self.lock();
        let exhausted = callers.get(caller)?;
        let wait = exhausted.until.checked_sub(self.clock.elapsed());
        let wait = wait.filter(|wait| !wait.is_zero())?;
        Some(RateLimitExceeded { wait, limit: exhausted.limit })
    }

    /// Removes callers that pass again.
    pub fn tidy(&self) {
        let now = self.clock.elapsed();
        self.lock().retain(|_, caller| caller.until > now);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LimitKey, ExhaustedCaller>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adapter of our clock for the rate limiter.
#[derive(Debug, Clone)]
struct GovernorClock(Clock);

impl governor::clock::Clock for GovernorClock {
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
    fn a_shared_bucket_has_a_permit_after_whole_microseconds() {
        let limit = RateLimit { requests: 7, window: SignedDuration::from_secs(1) };
        let interval = Duration::from_micros(142_857);
        assert_eq!(limit.shared_interval(), interval);
        // Empty: its source has counted seven intervals until it is full.
        assert_eq!(limit.shared_wait(interval * 7), interval);
        assert_eq!(limit.shared_wait(interval * 6), Duration::ZERO);
        assert_eq!(limit.shared_wait(Duration::ZERO), Duration::ZERO);
        let fast = RateLimit { requests: u32::MAX, window: SignedDuration::from_millis(1) };
        assert_eq!(fast.shared_interval(), Duration::from_micros(1));
    }

    #[test]
    fn after_a_burst_each_part_of_the_window_passes_one() {
        let (clock, manual_clock) = Clock::manual(Timestamp::UNIX_EPOCH);
        let limit = RateLimit { requests: 3, window: SignedDuration::from_secs(60) };
        let limiter = Limiter::new(limit, clock);
        let caller = LimitKey::address([192, 0, 2, 1].into());
        for _ in 0..3 {
            limiter.admit(&caller).unwrap();
        }
        assert_eq!(limiter.admit(&caller).unwrap_err().wait, Duration::from_secs(20));
        assert!(limiter.admit(&LimitKey::address([192, 0, 2, 2].into())).is_ok());
        manual_clock.advance(SignedDuration::from_millis(19_999));
        assert!(limiter.admit(&caller).is_err());
        manual_clock.advance(SignedDuration::from_millis(1));
        assert!(limiter.admit(&caller).is_ok());
        assert!(limiter.admit(&caller).is_err());
    }

    #[test]
    fn a_clock_set_wrong_for_a_moment_locks_nobody_out() {
        let (clock, manual_clock) = Clock::manual(Timestamp::UNIX_EPOCH);
        let limit = RateLimit { requests: 1, window: SignedDuration::from_secs(60) };
        let limiter = Limiter::new(limit, clock);
        let caller = LimitKey::Credential("acme".to_owned());
        manual_clock.set(SignedDuration::from_hours(24));
        limiter.admit(&caller).unwrap();
        manual_clock.set(SignedDuration::from_hours(-24));
        assert_eq!(limiter.admit(&caller).unwrap_err().wait, Duration::from_secs(60));
        manual_clock.advance(SignedDuration::from_secs(60));
        assert!(limiter.admit(&caller).is_ok());
    }

    #[test]
    fn neighbours_in_an_ipv6_network_share_a_bucket() {
        let key = |text: &str| LimitKey::address(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:2"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}
