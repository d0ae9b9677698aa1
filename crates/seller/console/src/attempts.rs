//! Limits on attempts to prove a password or a code. Only failures count.
//!
//! A browser in which the person has signed in before has a budget of its own, by a signed cookie, so
//! that an attacker elsewhere cannot lock the person out. All other attempts share the budgets of their
//! address, and one of the name over all addresses. The budgets of names and of known browsers are in the
//! store, where every process counts; each process has its own budgets of addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::{AuditAction, EVERYBODY, NewAuditEntry, SIGN_IN};
use tradepost_runtime::console_metrics::SignInOutcome;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::limit::network;
use tradepost_store::sign_in::AttemptBudget;
use tradepost_store::staff::StaffMember;

use super::Console;
use super::request::{ConsoleRequest, digest};

/// Limit on failures from one address, for any name.
const PER_ADDRESS: AttemptBudget =
    AttemptBudget { attempts: 20, window: SignedDuration::from_mins(5) };

/// Limit on failures of one name from one address; a person who forgot a password needs fewer attempts.
const PER_NAME_AT_ADDRESS: AttemptBudget =
    AttemptBudget { attempts: 10, window: SignedDuration::from_mins(5) };

/// Limit on failures of one name from all addresses together, in unknown browsers.
const PER_NAME: AttemptBudget =
    AttemptBudget { attempts: 30, window: SignedDuration::from_hours(6) };

/// Limit on failures of one name in a browser in which that person has signed in before.
const PER_BROWSER: AttemptBudget =
    AttemptBudget { attempts: 10, window: SignedDuration::from_hours(1) };

/// Limit on unknown addresses of calendar feeds from one address. Apart from sign-ins, so that a calendar program with a
/// revoked feed cannot lock out the people beside it.
const FEEDS_PER_ADDRESS: AttemptBudget =
    AttemptBudget { attempts: 20, window: SignedDuration::from_mins(5) };

/// Maximum number of addresses, and of names at addresses, whose failures a process remembers.
const MAX_REMEMBERED: usize = 20_000;

/// Number of bytes of a name's hash that choose its budget in the store. Names in attacks are arbitrary,
/// so the number of budgets is bounded: there are 65,536.
const NAME_BYTES: usize = 2;

/// Number of locks that the names share. While the store is slow, attempts at a name only delay the few
/// names with the same lock.
const NAME_LOCKS: usize = 64;

/// Counts failed attempts and enforces the limits.
#[derive(Debug)]
pub(super) struct SignInLimiter {
    by_address: LocalBudgets,
    by_name_at_address: LocalBudgets,
    feeds_by_address: LocalBudgets,
    /// Locks of names. A lock is held from reading the budgets until a failure is counted, so that
    /// concurrent attempts cannot share the last one.
    name_locks: [Mutex<()>; NAME_LOCKS],
}

/// Budgets in the memory of a process, by key.
#[derive(Debug)]
struct LocalBudgets {
    budget: AttemptBudget,
    clock: Clock,
    /// Time at which each budget is full again, by the monotonic clock. No cache: an attacker who fails at many
    /// names would push out the count of those that fail most.
    full_at: Mutex<BTreeMap<String, Timestamp>>,
}

impl LocalBudgets {
    fn new(budget: AttemptBudget, clock: &Clock) -> Self {
        Self { budget, clock: clock.clone(), full_at: Mutex::default() }
    }

    /// Returns the present time by the monotonic clock.
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.clock.elapsed()).unwrap_or(SignedDuration::MAX);
        Timestamp::UNIX_EPOCH.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    fn wait(&self, key: &str) -> SignedDuration {
        let full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let known = full_at.get(key).copied();
        known.map_or(SignedDuration::ZERO, |full_at| self.budget.wait(full_at, self.now()))
    }

    /// Uses one attempt. Returns true when none is left afterwards.
    fn charge(&self, key: &str) -> bool {
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        self.charge_locked(&mut all, key)
    }

    /// Uses one attempt if there is one. Returns true when none is left afterwards.
    ///
    /// # Errors
    /// The time until the next attempt, when none is left.
    fn try_charge(&self, key: &str) -> Result<bool, SignedDuration> {
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(key).copied();
        let wait =
            known.map_or(SignedDuration::ZERO, |full_at| self.budget.wait(full_at, self.now()));
        if wait > SignedDuration::ZERO {
            return Err(wait);
        }
        Ok(self.charge_locked(&mut all, key))
    }

    /// Gives back an attempt that did not fail.
    fn refund(&self, key: &str) {
        let now = self.now();
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = all.get(key).copied() else { return };
        match known.saturating_sub(self.budget.step()) {
            Ok(full_at) if full_at > now => drop(all.insert(key.to_owned(), full_at)),
            Ok(_) | Err(_) => drop(all.remove(key)),
        }
    }

    fn charge_locked(&self, all: &mut BTreeMap<String, Timestamp>, key: &str) -> bool {
        let now = self.now();
        if all.len() >= MAX_REMEMBERED && !all.contains_key(key) {
            all.retain(|_, full_at| *full_at > now);
            // The key with the fewest failures is forgotten first.
            let least = all.iter().min_by_key(|(_, full_at)| **full_at);
            let least = least.map(|(key, _)| key.clone()).filter(|_| all.len() >= MAX_REMEMBERED);
            least.map(|key| all.remove(&key));
        }
        let known = all.get(key).copied().unwrap_or(Timestamp::MIN);
        let full_at = self.budget.charged(known, now);
        all.insert(key.to_owned(), full_at);
        self.budget.wait(full_at, now) > SignedDuration::ZERO
    }
}

impl SignInLimiter {
    pub(super) fn new(clock: &Clock) -> Self {
        Self {
            by_address: LocalBudgets::new(PER_ADDRESS, clock),
            by_name_at_address: LocalBudgets::new(PER_NAME_AT_ADDRESS, clock),
            feeds_by_address: LocalBudgets::new(FEEDS_PER_ADDRESS, clock),
            name_locks: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// Locks a name, by its bucket in the store.
    fn lock_name(&self, bucket: &[u8]) -> MutexGuard<'_, ()> {
        let [first, others @ ..] = &self.name_locks;
        let number = usize::from(bucket.first().copied().unwrap_or_default()) % NAME_LOCKS;
        let lock = number.checked_sub(1).and_then(|number| others.get(number)).unwrap_or(first);
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kind of proof in an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProofKind {
    Password,
    Code,
}

impl ProofKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Code => "code",
        }
    }

    const fn outcome(self) -> SignInOutcome {
        match self {
            Self::Password => SignInOutcome::WrongPassword,
            Self::Code => SignInOutcome::WrongCode,
        }
    }
}

/// An attempt to prove an identity.
#[derive(Debug)]
pub(super) struct SignInAttempt<'a> {
    pub(super) asked: &'a ConsoleRequest,
    /// Name as given, which may not exist.
    pub(super) name: &'a str,
    /// The person with that name, if any.
    pub(super) member: Option<&'a StaffMember>,
    pub(super) means: ProofKind,
}

/// Result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proven {
    Right,
    Wrong,
    /// Too many attempts have failed, and nothing was compared. The time until the next attempt.
    Limited(SignedDuration),
}

/// Budgets of an attempt.
#[derive(Debug)]
enum Budgets {
    /// Budget of a known browser, by its bucket in the store.
    OfBrowser(Vec<u8>),
    /// Budgets of all other attempts.
    OfOthers { address: String, name_at_address: String, name: Vec<u8> },
}

/// Returns the bucket of a name's budget in the store.
pub fn name_bucket(name: &str) -> Vec<u8> {
    digest("attempts of a name", name).into_iter().take(NAME_BYTES).collect()
}

/// Returns the network of an address, which is the only part that is recorded: the first 24 bits of IPv4,
/// 48 of IPv6.
pub(super) fn recorded_network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => format!("{}/24", Ipv4Addr::from_bits(v4.to_bits() >> 8 << 8)),
        IpAddr::V6(v6) => format!("{}/48", Ipv6Addr::from_bits(v6.to_bits() >> 80 << 80)),
    }
}

impl Console {
    fn budgets(&self, attempt: &SignInAttempt<'_>) -> Budgets {
        let SignInAttempt { asked, name, .. } = attempt;
        let known = attempt.member.and_then(|member| self.sign_in.known_browser(asked, member));
        if let Some(browser) = known {
            return Budgets::OfBrowser(digest("attempts of a browser", &browser).to_vec());
        }
        let address = network(asked.address).to_string();
        // A hash, because the name may be very long, or a mistyped password.
        let hash = tradepost_dealer::consent::hex(&digest("name at an address", name));
        let name_at_address = format!("{address} {hash}");
        Budgets::OfOthers { address, name_at_address, name: name_bucket(name) }
    }

    /// Compares a proof, unless too many attempts have failed, and counts a failure.
    ///
    /// # Errors
    /// When the store fails; then the attempt does not succeed.
    pub(super) fn prove(
        &self,
        attempt: &SignInAttempt<'_>,
        is_right: impl FnOnce() -> Result<bool, InternalError>,
    ) -> Result<Proven, InternalError> {
        let limiter = &self.sign_in.limiter;
        let _name = limiter.lock_name(&name_bucket(attempt.name));
        let budgets = self.budgets(attempt);
        let now = self.clock.now();
        let wait = match &budgets {
            Budgets::OfBrowser(bucket) => self.store.attempt_wait(bucket, PER_BROWSER, now)?,
            Budgets::OfOthers { address, name_at_address, name } => limiter
                .by_address
                .wait(address)
                .max(limiter.by_name_at_address.wait(name_at_address))
                .max(self.store.attempt_wait(name, PER_NAME, now)?),
        };
        if wait > SignedDuration::ZERO {
            return Ok(self.limited(wait));
        }
        // Concurrent attempts of one address at several names use different locks: the attempt is charged
        // before the comparison, and refunded when it does not fail.
        let mut is_last_of_address = false;
        if let Budgets::OfOthers { address, .. } = &budgets {
            match limiter.by_address.try_charge(address) {
                Ok(is_last) => is_last_of_address = is_last,
                Err(wait) => return Ok(self.limited(wait)),
            }
        }
        let compared = is_right();
        if !matches!(compared, Ok(false)) {
            if let Budgets::OfOthers { address, .. } = &budgets {
                limiter.by_address.refund(address);
            }
            return compared.map(|_| Proven::Right);
        }
        self.metrics.count_sign_in(attempt.means.outcome());
        // Without the name: people type passwords into that field by mistake.
        tracing::info!("somebody could not sign in");
        self.count_failure(attempt, budgets, is_last_of_address, now)?;
        Ok(Proven::Wrong)
    }

    /// Counts an attempt that was refused without a comparison.
    fn limited(&self, wait: SignedDuration) -> Proven {
        self.metrics.count_sign_in(SignInOutcome::Limited);
        tracing::debug!("somebody tries to sign in too often");
        Proven::Limited(wait)
    }

    /// Returns the time until an address may try a name again, as far as this process knows without the
    /// store. A browser with a cookie for the name may have its own budget, and is checked later.
    pub(super) fn early_wait(&self, asked: &ConsoleRequest, name: &str) -> Option<SignedDuration> {
        if self.sign_in.shows_browser_cookie(asked, name) {
            return None;
        }
        let wait = self.address_wait(asked);
        if wait <= SignedDuration::ZERO {
            return None;
        }
        self.metrics.count_sign_in(SignInOutcome::Limited);
        Some(wait)
    }

    fn count_failure(
        &self,
        attempt: &SignInAttempt<'_>,
        budgets: Budgets,
        is_last_of_address: bool,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        let limiter = &self.sign_in.limiter;
        let from = recorded_network(attempt.asked.address);
        let mut locked = Vec::new();
        if is_last_of_address {
            locked.push("this address");
        }
        if let Budgets::OfOthers { name_at_address, .. } = &budgets
            && limiter.by_name_at_address.charge(name_at_address)
        {
            locked.push("this name at this address");
        }
        let entry = |action, detail| NewAuditEntry {
            chain: attempt
                .member
                .and_then(|member| member.dealer_id.clone())
                .unwrap_or_else(|| EVERYBODY.to_owned()),
            at: now,
            actor: SIGN_IN.to_owned(),
            action,
            subject: attempt.member.map(|member| member.name.clone()),
            detail: Some(detail),
        };
        let failed =
            entry(AuditAction::SignInFailed, format!("{} from {from}", attempt.means.name()));
        let lock = entry(AuditAction::SignInLocked, String::new());
        self.store.write_blocking(move |tx| {
            let mut locked = locked.clone();
            match &budgets {
                Budgets::OfBrowser(bucket) => {
                    if tx.charge_attempt(bucket, PER_BROWSER, now)? {
                        locked.push("this browser");
                    }
                }
                Budgets::OfOthers { name, .. } => {
                    if tx.charge_attempt(name, PER_NAME, now)? {
                        locked.push("this name in browsers that are not known");
                    }
                }
            }
            tx.record_failure(&failed)?;
            if locked.is_empty() {
                return Ok(());
            }
            let detail = Some(format!("{}, from {from}", locked.join(", ")));
            tx.record_failure(&NewAuditEntry { detail, ..lock.clone() })
        })
    }

    /// Returns the time until an unknown browser at this address may try to sign in again.
    pub(super) fn address_wait(&self, asked: &ConsoleRequest) -> SignedDuration {
        self.sign_in.limiter.by_address.wait(&network(asked.address).to_string())
    }

    /// Returns the time until this address may try an address of a calendar feed again.
    pub(super) fn feed_wait(&self, asked: &ConsoleRequest) -> SignedDuration {
        self.sign_in.limiter.feeds_by_address.wait(&network(asked.address).to_string())
    }

    /// Counts an unknown address of a calendar feed. Only reaching the limit is recorded: a calendar program goes on asking
    /// for a revoked feed.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn count_unknown_feed(&self, asked: &ConsoleRequest) -> Result<(), InternalError> {
        let address = network(asked.address).to_string();
        if !self.sign_in.limiter.feeds_by_address.charge(&address) {
            return Ok(());
        }
        tracing::info!("somebody asks for calendar feeds that do not exist");
        let from = recorded_network(asked.address);
        let entry = NewAuditEntry {
            chain: EVERYBODY.to_owned(),
            at: self.clock.now(),
            actor: SIGN_IN.to_owned(),
            action: AuditAction::SignInLocked,
            subject: None,
            detail: Some(format!("calendar feeds of this address, from {from}")),
        };
        self.store.write_blocking(move |tx| tx.record_failure(&entry))
    }

    /// Counts a sign-in that the provider did not confirm.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn count_provider_failure(
        &self,
        asked: &ConsoleRequest,
    ) -> Result<(), InternalError> {
        self.metrics.count_sign_in(SignInOutcome::ProviderFailed);
        let is_locked = self.sign_in.limiter.by_address.charge(&network(asked.address).to_string());
        let from = recorded_network(asked.address);
        let entry = |action, detail| NewAuditEntry {
            chain: EVERYBODY.to_owned(),
            at: self.clock.now(),
            actor: SIGN_IN.to_owned(),
            action,
            subject: None,
            detail: Some(detail),
        };
        let failed = entry(AuditAction::SignInFailed, format!("provider from {from}"));
        let lock = entry(AuditAction::SignInLocked, format!("this address, from {from}"));
        self.store.write_blocking(move |tx| {
            tx.record_failure(&failed)?;
            if is_locked { tx.record_failure(&lock) } else { Ok(()) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_recorded_as_networks() {
        for (address, recorded) in [
            ("203.0.113.77", "203.0.113.0/24"),
            ("::ffff:203.0.113.77", "203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
        ] {
            assert_eq!(recorded_network(address.parse().unwrap()), recorded);
        }
    }

    #[test]
    fn attempts_under_way_are_taken_and_right_ones_given_back() {
        let (clock, _hand) = Clock::manual(Timestamp::UNIX_EPOCH);
        let budgets = LocalBudgets::new(PER_ADDRESS, &clock);
        let taken = || budgets.try_charge("office");
        for number in 1..=PER_ADDRESS.attempts {
            assert_eq!(taken(), Ok(number == PER_ADDRESS.attempts), "{number}");
        }
        assert_eq!(taken(), Err(PER_ADDRESS.step()), "none is left while all are under way");
        budgets.refund("office");
        assert_eq!(taken(), Ok(true));
        for _ in 0..PER_ADDRESS.attempts {
            budgets.refund("office");
        }
        assert!(budgets.full_at.lock().unwrap().is_empty(), "a full budget is not remembered");
    }

    #[test]
    fn names_share_locks_by_their_bucket() {
        let (clock, _hand) = Clock::manual(Timestamp::UNIX_EPOCH);
        let limiter = SignInLimiter::new(&clock);
        let held = limiter.lock_name(&[5, 0]);
        let is_free = |number: usize| limiter.name_locks[number].try_lock().is_ok();
        assert!(!is_free(5) && is_free(0) && is_free(6));
        drop(held);
        assert!(is_free(5));
        drop(limiter.lock_name(&[255, 9]));
    }

    #[test]
    fn a_process_remembers_a_bounded_number_of_addresses() {
        let (clock, hand) = Clock::manual(Timestamp::UNIX_EPOCH);
        let budgets = LocalBudgets::new(PER_ADDRESS, &clock);
        for _ in 0..PER_ADDRESS.attempts {
            budgets.charge("attacker");
        }
        for number in 0..MAX_REMEMBERED + 10 {
            budgets.charge(&number.to_string());
        }
        assert_eq!(budgets.full_at.lock().unwrap().len(), MAX_REMEMBERED);
        assert!(budgets.wait("attacker") > SignedDuration::ZERO, "who fails most is remembered");
        hand.advance(PER_ADDRESS.window);
        budgets.charge("later");
        assert_eq!(budgets.full_at.lock().unwrap().len(), 1, "what is over is forgotten");
    }
}
