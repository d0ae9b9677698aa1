//! Going on after a key of personal data was lost: what it alone could read is erased, so that nothing
//! asks for it any more.

use std::collections::BTreeSet;

use tradepost_dealer::staff::NewAuditEntry;
use tradepost_wire::fault::InternalError;

use super::Store;
use super::privacy::OperatorKeys;
use super::privacy::unlock::Locked;
pub use super::tables::privacy::lost::OnlyBy;

/// How many leads are erased in one transaction.
const AT_ONCE: usize = 100;

impl Store {
    /// What lost keys alone can read, beside these, which are there.
    ///
    /// # Errors
    /// When the database fails.
    pub fn only_by(&self, lost: &[String], keys: &OperatorKeys) -> Result<OnlyBy, InternalError> {
        let others = self.privacy_keys()?;
        let given: BTreeSet<_> = keys.ids().into_iter().map(ToOwned::to_owned).collect();
        let (mut leads, mut all) = (BTreeSet::new(), OnlyBy::default());
        for key in lost {
            let found = self.read(|db| db.only_by(key))?;
            leads.extend(found.leads);
            all.notes += found.notes;
            all.replies += found.replies;
            all.second_factors += found.second_factors;
        }
        let is_last = !others.iter().any(|id| given.contains(id));
        Ok(OnlyBy { leads: leads.into_iter().collect(), is_last, ..all })
    }

    /// Gives keys up: erases every lead that they alone could read, and every other row, and forgets them.
    /// From then on the first of the keys that are there seals. What has ended it is done again by
    /// another call. `entry` says who did it, with the keys' names and what was erased.
    ///
    /// # Errors
    /// When the database fails, a server uses it, or the keys cannot be used.
    pub fn forget_keys(
        &self,
        lost: &[String],
        keys: &OperatorKeys,
        entry: NewAuditEntry,
    ) -> Result<OnlyBy, Locked> {
        let now = entry.at;
        // A server that still has a lost key would go on sealing with it.
        if self.is_shared() && self.write_blocking(|tx| tx.is_served())? {
            let cause = "a server uses the database: stop every one, and wait for half a minute";
            return Err(InternalError::new("forgetting a key", cause).into());
        }
        let found = self.only_by(lost, keys)?;
        self.begin(keys, lost, now)?;
        for some in found.leads.chunks(AT_ONCE) {
            self.erase_leads(some.to_vec(), &entry.actor, now)?;
        }
        let lost = lost.to_vec();
        self.write_blocking(move |tx| {
            for key in &lost {
                tx.erase_sealed_by(key, now)?;
                tx.forget_key(key)?;
            }
            tx.record(&entry)
        })?;
        // The log still has what stood there before.
        self.read(|db| db.0.empty_log())?;
        Ok(found)
    }
}
