//! `list_accounts`: the accounts that the caller may use, and what it may do with each.

use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::json;

use super::{Reply, Work, shown};
use crate::account::Account;
use crate::forms::accounts::ListAccounts;
use crate::refuse::{self, Stop};
use crate::resolve::{NaturalKey, Reference};
use crate::shelf::Query;

/// How many accounts a page has when nothing is said.
const PAGE: usize = 50;

/// Replies.
pub(in crate::tools) fn perform(work: &Work<'_>, form: &ListAccounts) -> Result<Reply, Stop> {
    let reach = &work.admitted.reach;
    let rights = reach.rights();
    let tenant = &reach.tenant;
    let now = work.ask.now;
    let asked = form.pagination.as_ref();
    let size = asked.and_then(|page| page.max_results).and_then(|size| usize::try_from(size).ok());
    let size = size.unwrap_or(PAGE);
    // The last account of the page before. Only the caller's own list is looked at, so that
    // the ids of others do nothing here.
    let mut after = 0;
    if let Some(cursor) = asked.and_then(|page| page.cursor.as_ref()) {
        let last = rights.account_by_id(tenant, cursor, work.shelf)?;
        let message = "this cursor is not one of this list; begin without a cursor";
        let last = last.filter(|last| fits(form, &last.thing));
        let last = last.ok_or_else(|| refuse::invalid("pagination.cursor", message))?;
        after = last.record.place;
    }
    // What was granted is a few accounts, and what the caller owns may be many.
    let mut others = rights.granted(tenant, work.shelf)?;
    others.retain(|account| fits(form, &account.thing));
    let mut total = others.len();
    let mut accounts = others;
    match &form.account {
        Some(reference) => {
            let mut own: Vec<_> = match &reference.account_id {
                Some(id) => rights.account_by_id(tenant, id, work.shelf)?.into_iter().collect(),
                None => {
                    rights.accounts_led_to_by(&NaturalKey::of(reference), tenant, work.shelf)?
                }
            };
            own.retain(|account| account.record.owner == *tenant && fits(form, &account.thing));
            total += own.len();
            accounts.extend(own);
        }
        None => {
            let query = own(form, tenant);
            for tally in work.shelf.tallies::<Account>(&query, now)? {
                total += usize::try_from(tally.things).unwrap_or(usize::MAX);
            }
            let query = Query { after, limit: size.saturating_add(1), ..query };
            accounts.extend(work.shelf.page::<Account>(&query, now)?);
        }
    }
    accounts.retain(|account| account.record.place > after);
    accounts.sort_by_key(|account| account.record.place);
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

/// The accounts of a tenant that are asked for, where none is named.
fn own(form: &ListAccounts, tenant: &str) -> Query {
    let states = form.status.iter().map(|status| status.name().to_owned()).collect();
    let class = form.sandbox.map(|sandbox| if sandbox { Account::SANDBOX } else { Account::LIVE });
    let class = class.map(ToOwned::to_owned);
    Query { states, class, ..Query::of_owner(tenant) }
}

/// Whether an account is among those that are asked for.
fn fits(form: &ListAccounts, account: &Account) -> bool {
    form.status.is_none_or(|status| status == account.status)
        && form.account.as_ref().is_none_or(|reference| is(reference, account))
        && form.sandbox.is_none_or(|sandbox| sandbox == account.sandbox)
}

/// Whether a reference means an account.
fn is(reference: &Reference, account: &Account) -> bool {
    match &reference.account_id {
        Some(id) => *id == account.account_id,
        None => NaturalKey::of(reference).may_mean(account),
    }
}
