//! A store takes the operator's keys, says how far it is sealed, and is sealed anew.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use jiff::Timestamp;
use tradepost_wire::fault::InternalError;

use super::{KEY, KeyRow, OperatorKeys, UNLOCKING, Unlocked, missing, random, unwrap};
use crate::Store;
use crate::tables::privacy::{RowPosition, SealedTable, Unreadable};

/// How many rows are sealed anew in one transaction.
const BATCH: u32 = 200;

/// Why a store was not unlocked.
#[derive(Debug)]
pub enum Locked {
    /// What is in it is encrypted with these keys, and none was given.
    NoKey(Vec<String>),
    /// It is, and these are not among those given.
    OtherKey(Vec<String>),
    /// It broke.
    Broken(InternalError),
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKey(ids) => write!(
                f,
                "personal data is encrypted with the key {}, and no key was given",
                ids.join(" and ")
            ),
            Self::OtherKey(ids) => write!(
                f,
                "personal data is encrypted with the key {}, which is not the one given",
                ids.join(" and ")
            ),
            Self::Broken(fault) => f.write_str(&fault.chain()),
        }
    }
}

impl Error for Locked {}

impl From<InternalError> for Locked {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}

/// How far personal data is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealing {
    /// Each key with how many rows it has sealed; `None` for those in clear.
    pub rows: Vec<(Option<String>, u64)>,
    /// The keys without which something could not be read or looked up.
    pub keys: Vec<String>,
}

/// What became of rows that were to be sealed anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// How many were.
    pub rows: u64,
    /// Those that no key opens, and that stay as they are.
    pub unreadable: BTreeSet<Unreadable>,
}

impl Store {
    /// Takes the operator's keys: from now on everything personal is sealed by the first, and opened
    /// by whichever has sealed it. With `begin` a store that is in clear is sealed from now on, and one
    /// that another key seals goes over to the first; without, nothing changes in the store. Returns
    /// whether it is sealed.
    ///
    /// # Errors
    /// That other keys are needed, or the database fails.
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

    /// Has the first of these keys seal from now on, where all others that are known of are among them, or
    /// `lost`. Where keys are lost and none that is left has the one of what was hashed, nothing of that can
    /// be looked up again: it is removed.
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
        let (fresh, keys, lost) = (random::<KEY>()?, keys.clone(), lost.to_vec());
        self.hold(self.write_blocking(move |tx| {
            // Read again in here: two processes that begin at once must come to one key.
            let known = left(tx.privacy_keys()?, &lost);
            let index = unwrap(&keys, &known)?;
            if index.is_none() && !lost.is_empty() {
                tx.erase_hashed()?;
            }
            let unlocked = Unlocked::new(&keys, &index.unwrap_or(fresh))?;
            if let Some(first) = keys.0.first()
                && !known.iter().any(|(id, _)| *id == first.id)
            {
                tx.put_privacy_key((&first.id, &unlocked.sealed_index), now)?;
            }
            Ok(unlocked)
        })?);
        Ok(())
    }

    fn hold(&self, unlocked: Unlocked) {
        // Whoever was first has the same keys: they come from one place in a process.
        let _ = self.vault.0.set(unlocked);
    }

    /// How far personal data is encrypted.
    ///
    /// # Errors
    /// When the database fails.
    pub fn sealing(&self) -> Result<Sealing, InternalError> {
        let rows = self.read(|db| db.sealed_rows())?;
        Ok(Sealing { rows, keys: self.privacy_keys()? })
    }

    /// The ids of the keys without which something cannot be read.
    ///
    /// # Errors
    /// When the database fails.
    pub fn privacy_keys(&self) -> Result<Vec<String>, InternalError> {
        Ok(self.read(|db| db.privacy_keys())?.into_iter().map(|(id, _)| id).collect())
    }

    /// Seals anew by the first key what is in clear or sealed by another, a limited number of rows in
    /// a transaction, and forgets the other keys when nothing is theirs any more. Whatever ends it,
    /// everything can be read by those who have both keys, and another call goes on. `told` hears how
    /// many rows are done.
    ///
    /// # Errors
    /// When there is no key, or the database fails.
    pub fn rekey(&self, mut progress: impl FnMut(u64)) -> Result<Rekeyed, InternalError> {
        let Some(key) = self.vault.key().map(ToOwned::to_owned) else {
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
        // The log still has what stood there before.
        self.read(|db| db.0.empty_log())?;
        Ok(done)
    }
}

/// Refuses where keys that are known of are not given.
fn refuse_lacking(keys: &OperatorKeys, known: &[KeyRow]) -> Result<(), Locked> {
    let lacking = missing(keys, known);
    if lacking.is_empty() { Ok(()) } else { Err(Locked::OtherKey(lacking)) }
}
