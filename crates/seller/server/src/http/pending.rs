//! Limit on the memory of pending requests. Callers are not authenticated before a body is read, so
//! without a common limit a few connections with a hundred requests each could fill the memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::limit::{LimitKey, subtract_count};

/// Divisor for the share of one address, and of the requests for one agent among several.
const SHARES: usize = 4;

/// Memory of pending requests, in total and by address.
#[derive(Debug)]
pub(crate) struct PendingMemory {
    limit: usize,
    share: usize,
    usage: Mutex<MemoryUsage>,
}

#[derive(Debug, Default)]
struct MemoryUsage {
    total: usize,
    /// Ordered, because hashing an address takes longer than finding it among few.
    by_address: BTreeMap<LimitKey, usize>,
    by_agent: BTreeMap<String, usize>,
}

impl PendingMemory {
    /// Creates a limit of `limit` bytes in total; one address may use a quarter of them, and so may
    /// the requests for one agent among several, each at least `largest`.
    #[must_use]
    pub(crate) fn new(limit: usize, largest: usize) -> Self {
        // A head counts with its body.
        const HEAD: usize = 64 * 1024;
        let share = (limit / SHARES).max(largest.saturating_add(HEAD));
        // The largest permitted body always fits, however small the setting.
        Self { limit: limit.max(share), share, usage: Mutex::default() }
    }

    /// Starts counting a request from an address, for one agent among several.
    pub(super) fn hold(&self, address: LimitKey, agent: Option<String>) -> RequestMemory<'_> {
        RequestMemory { pending: self, address, agent, bytes: 0 }
    }
}

/// Memory of one request.
#[derive(Debug)]
pub(super) struct RequestMemory<'p> {
    pending: &'p PendingMemory,
    address: LimitKey,
    agent: Option<String>,
    bytes: usize,
}

impl RequestMemory<'_> {
    /// Counts `more` bytes; `false` when they exceed a limit.
    pub(super) fn grow(&mut self, more: usize) -> bool {
        let mut usage = self.pending.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let MemoryUsage { total, by_address, by_agent } = &mut *usage;
        let own = by_address.get_mut(&self.address);
        let agents = self.agent.as_ref();
        let agents = agents.map(|agent| (agent, by_agent.get_mut(agent)));
        let limit = self.pending.limit;
        let share = self.pending.share;
        let fits = |used: Option<&usize>, limit: usize| {
            used.copied().unwrap_or_default().saturating_add(more) <= limit
        };
        let of_agent = agents.as_ref().and_then(|(_, used)| used.as_deref());
        if !fits(Some(&*total), limit) || !fits(own.as_deref(), share) || !fits(of_agent, share) {
            return false;
        }
        *total += more;
        match own {
            Some(own) => *own += more,
            None => drop(by_address.insert(self.address.clone(), more)),
        }
        match agents {
            Some((_, Some(used))) => *used += more,
            Some((agent, None)) => drop(by_agent.insert(agent.clone(), more)),
            None => {}
        }
        self.bytes += more;
        true
    }
}

impl Drop for RequestMemory<'_> {
    fn drop(&mut self) {
        let mut usage = self.pending.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.total -= self.bytes;
        subtract_count(&mut usage.by_address, &self.address, self.bytes);
        if let Some(agent) = &self.agent {
            subtract_count(&mut usage.by_agent, agent, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> LimitKey {
        LimitKey::address([192, 0, 2, last].into())
    }

    #[test]
    fn an_address_has_a_share_and_all_have_the_whole() {
        let pending = PendingMemory::new(400_000, 10);
        let mut first = pending.hold(address(1), None);
        assert!(first.grow(60_000) && first.grow(40_000));
        assert!(!first.grow(1), "a quarter is enough for one");
        assert!(!pending.hold(address(1), None).grow(1), "in however many requests");
        let others: Vec<_> = (2..5)
            .map(|last| {
                let mut other = pending.hold(address(last), None);
                assert!(other.grow(100_000));
                other
            })
            .collect();
        assert!(!pending.hold(address(9), None).grow(1));
        drop(others);
        assert!(pending.hold(address(9), None).grow(100_000));
        drop(first);
        assert!(pending.usage.lock().unwrap().by_address.is_empty());
        assert_eq!(pending.usage.lock().unwrap().total, 0);
    }

    #[test]
    fn one_agent_has_a_share_whoever_sends() {
        let pending = PendingMemory::new(400_000, 10);
        let hold = |last, agent: &str| pending.hold(address(last), Some(agent.to_owned()));
        let mut requests: Vec<_> = (0..10).map(|last| hold(last, "noisy")).collect();
        assert_eq!(
            requests.iter_mut().map(|held| held.grow(20_000)).filter(|fits| *fits).count(),
            5
        );
        assert!(hold(20, "quiet").grow(100_000), "others have their own");
        drop(requests);
        assert!(pending.usage.lock().unwrap().by_agent.is_empty());
    }

    #[test]
    fn the_largest_body_always_fits() {
        assert!(PendingMemory::new(1, 1_000_000).hold(address(1), None).grow(1_000_000));
    }
}
