//! Operations on a store of their own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of this crate is tests, whose helpers the exceptions of clippy.toml do not reach"
)]

mod audit;
mod delivery;
mod feeds;
mod hosting;
mod keys;
mod own_account;
mod people;
mod privacy;
mod probes;
mod provider_members;
mod publisher;
mod resending;
mod roles;

use jiff::Timestamp;
use tradepost_admin::AdminContext;
use tradepost_dealer::staff::StaffRole;
use tradepost_store::Store;
use tradepost_store::staff::StaffMember;

/// Id of the dealer whose staff is tried.
const SHOP: &str = "shop";

/// A store in a folder of its own.
struct TestEnv {
    store: Store,
    _folder: tempfile::TempDir,
}

impl TestEnv {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        Self { store, _folder: folder }
    }

    fn context(&self) -> AdminContext<'_> {
        AdminContext { store: &self.store, dealers: &[], now: now() }
    }

    /// Returns the record of a chain, the oldest first: who did what, with what and how.
    fn record(&self, chain: &str) -> Vec<String> {
        let mut entries = self.store.entries(chain, i64::MAX, 100).unwrap();
        entries.reverse();
        let line = |entry: &tradepost_dealer::staff::AuditEntry| {
            let said = &entry.said;
            let subject = said.subject.as_deref().unwrap_or("-");
            let detail = said.detail.as_deref().and_then(tradepost_dealer::staff::readable_detail);
            let detail = detail.unwrap_or_default();
            format!("{} {} {subject} {detail}", said.actor, said.action).trim_end().to_owned()
        };
        entries.iter().map(line).collect()
    }
}

fn now() -> Timestamp {
    "2026-05-01T10:00:00Z".parse().unwrap()
}

fn member(name: &str, role: StaffRole, employer: Option<&str>) -> StaffMember {
    StaffMember {
        name: name.to_owned(),
        dealer_id: employer.map(str::to_owned),
        role,
        password: String::new(),
        created_at: now(),
    }
}
