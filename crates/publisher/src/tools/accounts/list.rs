//! `list_accounts`: the accounts that the caller may use, and what it may do with each.

use tradepost_wire::json::json;

use super::{Reply, Work, shown};
use crate::account::Account;
use crate::forms::accounts::ListAccounts;
use crate::refuse::{self, Stop};
use crate::resolve::{NaturalKey, Reference};
use crate::shelf::Kept;

/// How many accounts a page has when nothing is said.
const PAGE: usize = 50;

/// Replies.
pub(in crate::tools) fn perform(work: &Work<'_>, form: &ListAccounts) -> Result<Reply, Stop> {
    let reach = &work.admitted.reach;
    let mut accounts = reach.rights().accounts(&reach.tenant, work.shelf)?;
    accounts.retain(|Kept { thing: account, .. }| {
        form.status.is_none_or(|status| status == account.status)
            && form.account.as_ref().is_none_or(|reference| is(reference, account))
            && form.sandbox.is_none_or(|sandbox| sandbox == account.sandbox)
    });
    let total = accounts.len();
    let page = form.pagination.as_ref();
    if let Some(cursor) = page.and_then(|page| page.cursor.as_ref()) {
        // The last account of the page before. Only the caller's own list is looked at, so that
        // the ids of others do nothing here.
        let last = accounts.iter().position(|account| account.record.id == *cursor);
        let message = "this cursor is not one of this list; begin without a cursor";
        let last = last.ok_or_else(|| refuse::invalid("pagination.cursor", message))?;
        accounts.drain(..=last);
    }
    let size = page.and_then(|page| page.max_results);
    let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(PAGE);
    let has_more = accounts.len() > size;
    accounts.truncate(size);
    let cursor = accounts.last().filter(|_| has_more).map(|last| &last.record.id);
    let pagination = json!({"has_more": cursor.is_some(), "cursor"?: cursor, "total_count": total});
    let rows: Vec<_> = accounts.iter().map(|account| shown(work, &account.thing)).collect();
    let message = match rows.len() {
        1 => "1 account".to_owned(),
        count => format!("{count} accounts"),
    };
    Ok(Reply::completed(message, json!({"accounts": rows, "pagination": pagination})))
}

/// Whether a reference means an account.
fn is(reference: &Reference, account: &Account) -> bool {
    match &reference.account_id {
        Some(id) => *id == account.account_id,
        None => NaturalKey::of(reference).may_mean(account),
    }
}
