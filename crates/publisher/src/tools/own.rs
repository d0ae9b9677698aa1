//! Things whose ids their buyers choose: audiences, sources of events and creatives.

use std::collections::BTreeMap;

use tradepost_wire::fault::Fault;

use crate::account::Account;
use crate::shelf::{Kept, Query, Shelf, Thing, own_id};
use crate::work::Work;

/// The things of an account, by the ids that its buyer chose.
pub(super) fn library<T: Thing>(
    account: &Kept<Account>,
    shelf: &dyn Shelf,
    chosen: fn(&T) -> &String,
) -> Result<BTreeMap<String, Kept<T>>, Fault> {
    let (owner, account) = (account.record.owner.clone(), account.record.id.clone());
    let query = Query { owner: Some(owner), account: Some(account), ..Query::default() };
    let all: Vec<Kept<T>> = shelf.all(&query)?;
    Ok(all.into_iter().map(|it| (chosen(&it.thing).clone(), it)).collect())
}

/// Puts a thing with a chosen id there, in place of the one that is known if there is one.
pub(super) fn put<T: Thing + Clone>(
    work: &Work<'_>,
    account: &Kept<Account>,
    chosen: &str,
    known: Option<&Kept<T>>,
    thing: &T,
) -> Result<(), Fault> {
    if let Some(known) = known {
        let mut kept = Kept { thing: thing.clone(), record: known.record.clone() };
        return work.shelf.change(&mut kept, work.ask.now);
    }
    let (owner, account) = (account.record.owner.as_str(), account.record.id.as_str());
    work.add(&own_id(owner, account, chosen), (owner, Some(account)), "", thing)
}
