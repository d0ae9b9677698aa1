//! `list_accounts`: the accounts that the caller may use, with the caller's permissions on each.

use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{json, object};

use super::{ToolContext, ToolReply, shown};
use crate::account::Account;
use crate::forms::accounts::ListAccounts;
use crate::refusals::ToolError;
use crate::resolve::{NaturalKey, Reference};
use crate::store::index::arranged;
use crate::store::{CountedPage, Query};
use crate::tools::page::{self, PageSize, PageWithCursor};

/// Page sizes of the account list.
const SIZE: PageSize = PageSize { usual: 50, most: page::MOST };

/// Handles `list_accounts`.
pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &ListAccounts,
) -> Result<ToolReply, ToolError> {
    let reach = &work.admitted.reach;
    let rights = reach.rights();
    let tenant = &reach.tenant;
    let now = work.call.now;
    let asked = form.pagination.as_ref();
    // The account is a filter of this list, so that it belongs to the cursor's scope like other
    // filters.
    let named = work.call.arguments.get("account").map(canonical::to_string);
    let scope = page::scope(&work.call.arguments, named.as_deref());
    let query = page::query_of_page(&own(form, tenant), asked, &scope, SIZE)?;
    // Accounts granted by others are few and are read whole; the caller's own may be many.
    let mut others = rights.granted(tenant, work.reader)?;
    others.retain(|account| fits(form, &account.thing));
    let mut total = others.len();
    let mut accounts = others;
    match &form.account {
        Some(reference) => {
            let mut own: Vec<_> = match &reference.account_id {
                Some(id) => rights.account_by_id(tenant, id, work.reader)?.into_iter().collect(),
                None => rights.accounts_led_to_by(
                    &NaturalKey::from_reference(reference),
                    tenant,
                    work.reader,
                )?,
            };
            own.retain(|account| account.record.owner == *tenant && fits(form, &account.thing));
            total += own.len();
            accounts.extend(own);
        }
        None => {
            let whole = query.clone().whole_beginning();
            let CountedPage { items, tallies } =
                work.reader.counted_page::<Account>(&whole, now)?;
            for tally in tallies {
                total += usize::try_from(tally.things).unwrap_or(usize::MAX);
            }
            accounts.extend(items);
        }
    }
    accounts.retain(|account| query.reaches(&account.record));
    let accounts = arranged(accounts, &query);
    let PageWithCursor { items: accounts, cursor } = PageWithCursor::new(accounts, query, &scope);
    let pagination =
        object!({"has_more": cursor.is_some(), "cursor"?: cursor, "total_count": total});
    let rows: Vec<_> = accounts.iter().map(|account| shown(work, &account.thing)).collect();
    let message = match rows.len() {
        1 => "1 account".to_owned(),
        count => format!("{count} accounts"),
    };
    Ok(ToolReply::completed(message, json!({"accounts": rows, "pagination": pagination})))
}

/// Returns the query for the tenant's accounts when the request names none.
fn own(form: &ListAccounts, tenant: &str) -> Query {
    let states = form.status.iter().map(|status| status.name().to_owned()).collect();
    let class = form.sandbox.map(|sandbox| if sandbox { Account::SANDBOX } else { Account::LIVE });
    let class = class.map(ToOwned::to_owned);
    Query { states, class, ..Query::with_owner(tenant) }
}

/// Returns true when an account matches the filters.
fn fits(form: &ListAccounts, account: &Account) -> bool {
    form.status.is_none_or(|status| status == account.status)
        && form.account.as_ref().is_none_or(|reference| is(reference, account))
        && form.sandbox.is_none_or(|sandbox| sandbox == account.sandbox)
}

/// Returns true when a reference means this account.
fn is(reference: &Reference, account: &Account) -> bool {
    match &reference.account_id {
        Some(id) => *id == account.account_id,
        None => NaturalKey::from_reference(reference).may_mean(account),
    }
}
