//! Unlocking a store with the operator's keys, reporting how much is encrypted, and encrypting it with another key.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::{KEY, KeyRow, OperatorKeys, UNLOCKING, Unlocked, missing, random, unwrap};
use crate::Store;
use crate::tables::privacy::{RowPosition, SealedTable};
use crate::verification::Unreadable;

/// Maximum number of rows encrypted again in one transaction.
const BATCH: u32 = 200;

/// Reason why a store was not unlocked.
#[derive(Debug, thiserror::Error)]
pub enum Locked {
    /// The data is encrypted with these keys, and none was given.
    #[error(
        "personal data is encrypted with the key {}, and no key was given",
        .0.join(" and ")
    )]
    NoKey(Vec<String>),
    /// The data is encrypted with these keys, which are not among those given.
    #[error(
        "personal data is encrypted with the key {}, which is not the one given",
        .0.join(" and ")
    )]
    OtherKey(Vec<String>),
    /// Unlocking failed.
    #[error("{}", .0.chain())]
    Broken(InternalError),
}

// By hand: `#[from]` would make it the source as well, and the text has the whole chain.
impl From<InternalError> for Locked {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}

/// Encryption state of personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealing {
    /// Number of rows by key; `None` for rows in clear.
    pub rows: Vec<(Option<String>, u64)>,
    /// Keys that are needed to read or look up everything.
    pub keys: Vec<String>,
}

/// Result of encrypting rows with another key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// Number of rows that were encrypted.
    pub rows: u64,
    /// Rows that no key decrypts and that stay as they are.
    pub unreadable: BTreeSet<Unreadable>,
}

impl Store {
    /// Takes the operator's keys: from now on personal data is encrypted with the first, and decrypted with the one
    /// that encrypted it. With `begin` a store in clear is encrypted from now on, and one that uses another key changes
    /// to the first; without, nothing changes in the store. Returns true when it is encrypted.
    ///
    /// # Errors
    /// When other keys are needed, or the database fails.
    pub fn unlock(&self, keys: &OperatorKeys, begin: bool, now: Timestamp) -> Result<bool, Locked> {
        let known = self.read(|db| db.privacy_keys())?;
        if keys.is_empty() {
            let ids: Vec<_> = known.into_iter().map(|(id, _)| id).collect();
            return if ids.is_empty() { Ok(false) } else { Err(Locked::NoKey(ids)) };
        }
        if begin {
            return self.begin(keys, &[], now).map(|()| true);
        }
        if known.is_empty() {
            return Ok(false);
        }
        refuse_lacking(keys, &known)?;
        let none = || InternalError::new(UNLOCKING, "there is no key of what is looked up");
        self.hold(Unlocked::new(keys, &unwrap(keys, &known)?.ok_or_else(none)?)?);
        Ok(true)
    }

    /// Encrypts with the first of these keys from now on, provided that all other known keys are among them or in
    /// `lost`. When keys are lost and no remaining one decrypts the key for look-ups, the hashed values can no longer
    /// be looked up and are removed.
    pub(crate) fn begin(
        &self,
        keys: &OperatorKeys,
        lost: &[String],
        now: Timestamp,
    ) -> Result<(), Locked> {
        let left = |mut known: Vec<KeyRow>, lost: &[String]| {
            known.retain(|(id, _)| !lost.contains(id));
            known
        };
        refuse_lacking(keys, &left(self.read(|db| db.privacy_keys())?, lost))?;
        let fresh = random::<KEY>()?;
        let keys = keys.clone();
        let lost = lost.to_vec();
        self.hold(self.write_blocking(move |tx| {
            // Read again inside the transaction: two processes that begin at once must agree on one key.
            let known = left(tx.privacy_keys()?, &lost);
            let index = unwrap(&keys, &known)?;
            if index.is_none() && !lost.is_empty() {
                tx.erase_hashed()?;
            }
            let unlocked = Unlocked::new(&keys, &index.unwrap_or(fresh))?;
            if let Some(first) = keys.0.first()
                && !known.iter().any(|(id, _)| *id == first.id)
            {
                tx.put_privacy_key(&first.id, &unlocked.sealed_index, now)?;
            }
            Ok(unlocked)
        })?);
        Ok(())
    }

    fn hold(&self, unlocked: Unlocked) {
        // An earlier caller has the same keys: they come from one place in a process.
        let _ = self.cipher.0.set(unlocked);
    }

    /// Returns how much personal data is encrypted, and with which keys.
    ///
    /// # Errors
    /// When the database fails.
    pub fn sealing(&self) -> Result<Sealing, InternalError> {
        let rows = self.read(|db| db.sealed_rows())?;
        Ok(Sealing { rows, keys: self.privacy_keys()? })
    }

    /// Returns the ids of the keys that are needed to read everything.
    ///
    /// # Errors
    /// When the database fails.
    pub fn privacy_keys(&self) -> Result<Vec<String>, InternalError> {
        Ok(self.read(|db| db.privacy_keys())?.into_iter().map(|(id, _)| id).collect())
    }

    /// Encrypts with the first key all rows that are in clear or encrypted with another, a limited number in a
    /// transaction, and forgets the other keys once no row needs them. If it is interrupted, everything can still be
    /// read with both keys, and another call continues. `progress` is called with the number of rows done.
    ///
    /// # Errors
    /// When there is no key, or the database fails.
    pub fn rekey(&self, mut progress: impl FnMut(u64)) -> Result<Rekeyed, InternalError> {
        let Some(key) = self.cipher.key().map(ToOwned::to_owned) else {
            return Err(InternalError::new("encrypting anew", "there is no key"));
        };
        let mut done = Rekeyed::default();
        for table in SealedTable::ALL {
            let mut place = RowPosition::default();
            loop {
                let batch = self.write_blocking(move |tx| tx.seal_anew(table, place, BATCH))?;
                if batch.is_empty() {
                    break;
                }
                place = batch.next(place);
                done.rows += batch.sealed;
                done.unreadable.extend(batch.unreadable);
                progress(done.rows);
            }
        }
        self.write_blocking(move |tx| tx.forget_other_keys(&key))?;
        // The log still has the former content of the rows.
        self.read(|db| db.0.empty_log())?;
        Ok(done)
    }
}

/// Returns an error when known keys are not given.
fn refuse_lacking(keys: &OperatorKeys, known: &[KeyRow]) -> Result<(), Locked> {
    let lacking = missing(keys, known);
    if lacking.is_empty() { Ok(()) } else { Err(Locked::OtherKey(lacking)) }
}
