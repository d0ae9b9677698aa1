//! Things whose ids their buyers choose: audiences, sources of events and creatives.

use std::collections::{BTreeMap, BTreeSet};

use tradepost_wire::fault::InternalError;

use crate::account::Account;
use crate::shelf::{Kept, Query, Shelf, Thing, own_id};
use crate::work::Work;

/// Which things of an account are needed.
pub(super) enum Wanted<'a> {
    /// All of them.
    All,
    /// Those with these ids.
    Named(BTreeSet<&'a str>),
}

/// The things of an account that are needed, by the ids that its buyer chose.
pub(super) fn library<T: Thing>(
    account: &Kept<Account>,
    shelf: &dyn Shelf,
    wanted: Wanted<'_>,
    chosen: fn(&T) -> &String,
) -> Result<BTreeMap<String, Kept<T>>, InternalError> {
    let owner = &account.record.owner;
    let account = &account.record.id;
    let found: Vec<Kept<T>> = match wanted {
        Wanted::All => {
            let query = Query { account: Some(account.clone()), ..Query::of_owner(owner) };
            shelf.all(&query)?
        }
        Wanted::Named(ids) => {
            let mut found = Vec::new();
            for id in ids {
                found.extend(shelf.find::<T>(&own_id(owner, account, id))?);
            }
            found
        }
    };
    Ok(found.into_iter().map(|it| (chosen(&it.thing).clone(), it)).collect())
}

/// Puts a thing with a chosen id there, in place of the one that is known if there is one.
pub(super) fn put<T: Thing + Clone>(
    work: &Work<'_>,
    account: &Kept<Account>,
    chosen: &str,
    known: Option<&Kept<T>>,
    thing: &T,
) -> Result<(), InternalError> {
    if let Some(known) = known {
        let mut kept = Kept { thing: thing.clone(), record: known.record.clone() };
        return work.shelf.change(&mut kept, work.ask.now);
    }
    let (owner, account) = (account.record.owner.as_str(), account.record.id.as_str());
    work.add(&own_id(owner, account, chosen), (owner, Some(account)), "", thing)
}
