//! Records whose ids buyers choose: audiences, event sources and creatives.

use std::collections::{BTreeMap, BTreeSet};

use tradepost_document::fault::InternalError;

use crate::account::Account;
use crate::store::{Entity, Query, StoreRead, Stored, own_id};
use crate::tool_context::WriteContext;

/// Selection of an account's records.
pub(super) enum Wanted<'a> {
    /// All records.
    All,
    /// Records with these ids.
    Named(BTreeSet<&'a str>),
}

/// Returns the selected records of an account, by the ids that its buyer chose.
pub(super) fn library<T: Entity>(
    account: &Stored<Account>,
    reader: &dyn StoreRead,
    wanted: Wanted<'_>,
    chosen: fn(&T) -> &String,
) -> Result<BTreeMap<String, Stored<T>>, InternalError> {
    let owner = &account.record.owner;
    let account = &account.record.id;
    let found: Vec<Stored<T>> = match wanted {
        Wanted::All => {
            let query = Query { account: Some(account.clone()), ..Query::with_owner(owner) };
            reader.all(&query)?
        }
        Wanted::Named(ids) => {
            reader.find_many::<T>(&ids.iter().map(|id| own_id(owner, account, id)).collect())?
        }
    };
    Ok(found.into_iter().map(|stored| (chosen(&stored.thing).clone(), stored)).collect())
}

/// Stores an entity under a chosen id; replaces the known one, if any.
pub(super) fn put<T: Entity + Clone>(
    work: &WriteContext<'_>,
    account: &Stored<Account>,
    chosen: &str,
    known: Option<&Stored<T>>,
    thing: &T,
) -> Result<(), InternalError> {
    if let Some(known) = known {
        let mut stored = Stored { thing: thing.clone(), record: known.record.clone() };
        return work.tx.change(&mut stored, work.call.now);
    }
    let owner = account.record.owner.as_str();
    let account = account.record.id.as_str();
    work.add(&own_id(owner, account, chosen), (owner, Some(account)), "", thing)
}
