//! `sync_governance`: the governance agent of an account, which is asked before money is committed.
//! Its credential is kept and never shown.

use tradepost_wire::adcp::error::Error;
use tradepost_wire::json::json;

use super::{Reply, Work, errors, reasons, tally};
use crate::account::{Account, Governance};
use crate::admit::{self, Phase, gates};
use crate::forms::accounts::{GovernanceRow, SyncGovernance};
use crate::refuse::{self, Stop};
use crate::shelf::Kept;

/// Replies.
pub(in crate::tools) fn perform(work: &Work<'_>, form: &SyncGovernance) -> Result<Reply, Stop> {
    let mut done: Vec<String> = Vec::new();
    let mut results = Vec::new();
    for row in &form.accounts {
        let reference = &row.account.sent;
        let result = match row_of(work, row, &mut done) {
            Ok(agent) => json!({
                "account": reference,
                "status": "synced",
                "governance_agents": [{"url": agent.url}],
            }),
            Err(stop) => {
                let errors = errors(work, reasons(stop)?)?;
                json!({"account": reference, "status": "failed", "errors": errors})
            }
        };
        results.push(result);
    }
    let message = tally(&results, "status");
    Ok(Reply::completed(message, json!({"accounts": results})))
}

/// Does one row.
fn row_of(
    work: &Work<'_>,
    row: &GovernanceRow,
    done: &mut Vec<String>,
) -> Result<Governance, Stop> {
    let rights = work.admitted.reach.rights();
    let find = |phase| {
        let (publisher, ask, shelf) = (work.publisher, work.ask, work.shelf);
        admit::account(publisher, ask, rights, &row.account, "account", shelf, phase)
    };
    // Nothing is opened for a row that is refused.
    let found = find(Phase::Look)?;
    gates::sandbox_only(rights.agent(), found.thing.sandbox)?;
    rights.permit(admit::known_id(&found))?;
    rights.usable(&found.thing, "account")?;
    let mut account = if admit::known_id(&found).is_some() { found } else { find(Phase::Act)? };
    if done.contains(&account.record.id) {
        return Err(twice().into());
    }
    done.push(account.record.id.clone());
    let agent = row.governance_agents.first();
    let agent = agent.unwrap_or_else(|| unreachable!("the schema demands one agent"));
    let credential = Some(agent.authentication.credentials.clone());
    let agent = Governance { url: agent.url.clone(), credential };
    keep(work, &mut account, &agent)?;
    Ok(agent)
}

fn keep(work: &Work<'_>, account: &mut Kept<Account>, agent: &Governance) -> Result<(), Stop> {
    if account.thing.governance.as_ref() != Some(agent) {
        account.thing.governance = Some(agent.clone());
        work.shelf.change(account, work.ask.now)?;
    }
    Ok(())
}

fn twice() -> Error {
    refuse::invalid("account", "this account stands in the request twice; name it once")
}
