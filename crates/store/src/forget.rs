//! Going on after a key of personal data was lost: what it alone could read is erased, so that nothing
//! asks for it any more.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_dealer::staff::NewEntry;
use tradepost_wire::fault::Fault;

use super::Store;
use super::privacy::Keys;
use super::privacy::unlock::Locked;
pub use super::tables::privacy::lost::OnlyBy;

/// How many leads are erased in one transaction.
const AT_ONCE: usize = 100;

impl Store {
    /// What a key alone can read, beside these, which are there.
    ///
    /// # Errors
    /// When the database fails.
    pub fn only_by(&self, lost: &str, keys: &Keys) -> Result<OnlyBy, Fault> {
        let others = self.privacy_keys()?;
        let given: BTreeSet<_> = keys.ids().into_iter().map(ToOwned::to_owned).collect();
        let found = self.read(|db| db.only_by(lost))?;
        Ok(OnlyBy { is_last: !others.iter().any(|id| given.contains(id)), ..found })
    }

    /// Gives a key up: erases every lead that it alone could read, and every other row, and forgets it.
    /// From then on the first of the keys that are there seals. What has ended it is done again by
    /// another call. `entry` says who did it, with the key's name and what was erased.
    ///
    /// # Errors
    /// When the database fails, or the keys cannot be used.
    pub fn forget_key(&self, lost: &str, keys: &Keys, entry: NewEntry) -> Result<OnlyBy, Locked> {
        let now = entry.at;
        let found = self.only_by(lost, keys)?;
        self.begin_without(lost, keys, now)?;
        for some in found.leads.chunks(AT_ONCE) {
            self.erase_leads(some.to_vec(), &entry.actor, now)?;
        }
        let lost = lost.to_owned();
        self.write_blocking(move |tx| {
            tx.erase_sealed_by(&lost, now)?;
            tx.forget_key(&lost)?;
            tx.record(&entry)
        })?;
        // The log still has what stood there before.
        self.read(|db| db.0.empty_log())?;
        Ok(found)
    }

    /// Has the first of the keys seal from now on, although another one is missing.
    fn begin_without(&self, lost: &str, keys: &Keys, now: Timestamp) -> Result<(), Locked> {
        let known = self.read(|db| db.privacy_keys())?;
        let known: Vec<_> = known.into_iter().filter(|(id, _)| id != lost).collect();
        self.begin_with(keys, known, now)
    }
}
