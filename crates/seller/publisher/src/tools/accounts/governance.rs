//! `sync_governance`: stores the governance agent of an account, which is asked before money is
//! committed. Its credential is stored and never shown.

use std::collections::BTreeSet;

use tradepost_document::json::json;

use super::{ToolReply, WriteContext, errors, tally};
use crate::account::AccountGovernance;
use crate::admit::{self, StorePhase, gates};
use crate::forms::accounts::{GovernanceRow, SyncGovernance};
use crate::refusals::{self, ToolError};

/// Handles `sync_governance`.
pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &SyncGovernance,
) -> Result<ToolReply, ToolError> {
    let mut done = BTreeSet::new();
    let mut results = Vec::new();
    for row in &form.accounts {
        let reference = &row.account.sent;
        results.push(match row_of(work, row, &mut done) {
            Ok(url) => {
                json!({"account": reference, "status": "synced", "governance_agents": [{"url": url}]})
            }
            Err(stop) => {
                json!({"account": reference, "status": "failed", "errors": errors(work, stop)?})
            }
        });
    }
    let message = tally(&results, "status");
    Ok(ToolReply::completed(message, json!({"accounts": results})))
}

/// Stores the governance agent of one row. Returns the agent's URL.
fn row_of<'r>(
    work: &WriteContext<'_>,
    row: &'r GovernanceRow,
    done: &mut BTreeSet<String>,
) -> Result<&'r str, ToolError> {
    let rights = work.admitted.reach.rights();
    let find =
        |phase| admit::account(work.publisher, work.call, rights, &row.account, "account", phase);
    // A refused row must not create an account.
    let found = find(StorePhase::Look(work.reader))?;
    gates::sandbox_only(rights.agent(), found.thing.sandbox)?;
    rights.permit(admit::known_id(&found))?;
    rights.usable(&found.thing, "account")?;
    let mut account =
        if admit::known_id(&found).is_some() { found } else { find(StorePhase::Act(work.tx))? };
    if !done.insert(account.record.id.clone()) {
        let message = "this account stands in the request twice; name it once";
        return Err(refusals::invalid("account", message).into());
    }
    let agent = row.governance_agents.first();
    let agent = agent.unwrap_or_else(|| unreachable!("the schema demands one agent"));
    let credential = Some(agent.authentication.credentials.clone());
    let governance = Some(AccountGovernance { url: agent.url.clone(), credential });
    if account.thing.governance != governance {
        account.thing.governance = governance;
        work.tx.change(&mut account, work.call.now)?;
    }
    Ok(&agent.url)
}
