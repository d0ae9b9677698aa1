//! Giving up a lost key of personal data: erases the rows that only this key could decrypt, so that the key is no
//! longer needed.

use std::collections::BTreeSet;

use tradepost_dealer::staff::NewAuditEntry;
use tradepost_document::fault::InternalError;

use super::Store;
use super::privacy::OperatorKeys;
use super::privacy::unlock::Locked;
pub use super::tables::privacy::lost::OnlyBy;

/// Maximum number of leads erased in one transaction.
const BATCH_SIZE: usize = 100;

impl Store {
    /// Returns the rows that only lost keys can decrypt; `keys` are the keys that are still there.
    ///
    /// # Errors
    /// When the database fails.
    pub fn only_by(&self, lost: &[String], keys: &OperatorKeys) -> Result<OnlyBy, InternalError> {
        let others = self.privacy_keys()?;
        let given: BTreeSet<_> = keys.ids().into_iter().map(ToOwned::to_owned).collect();
        let mut leads = BTreeSet::new();
        let mut all = OnlyBy::default();
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

    /// Gives keys up: erases every lead and every other row that only they could decrypt, and forgets the keys. From
    /// then on the first of the remaining keys encrypts. An interrupted call is completed by calling again. `entry`
    /// records who did it, with the keys' names and what was erased.
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
        // A server that still has a lost key would go on encrypting with it.
        if self.is_shared() && self.write_blocking(|tx| tx.is_served())? {
            let cause = "a server uses the database: stop every one, and wait for half a minute";
            return Err(InternalError::new("forgetting a key", cause).into());
        }
        let found = self.only_by(lost, keys)?;
        self.begin(keys, lost, now)?;
        for batch in found.leads.chunks(BATCH_SIZE) {
            self.erase_leads(batch.to_vec(), &entry.actor, now)?;
        }
        let lost = lost.to_vec();
        self.write_blocking(move |tx| {
            for key in &lost {
                tx.erase_sealed_by(key, now)?;
                tx.forget_key(key)?;
            }
            tx.record(&entry)
        })?;
        // The log still has the former content of the rows.
        self.read(|db| db.0.empty_log())?;
        Ok(found)
    }
}
