//! Scenarios of media buys and tasks: forced statuses, simulated delivery and simulated spend.

use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};

use super::forced_answer::{Arm, PreparedAnswer};
use super::forced_buy::{self, Forced};
use super::{ScenarioContext, ScenarioFailed, invalid, moved, need, no_way_from, not_found, taken};
use crate::account::Account;
use crate::buy::report::first_moment;
use crate::buy::{MediaBuy, MediaBuyStatus};
use crate::inventory::InventoryContext;
use crate::store::{EntityKind, Stored};
use crate::task::SubmittedTask;
use crate::task::finish::record_id;

/// `force_media_buy_status`.
pub(super) fn status(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let id = need("media_buy_id", &at.params.media_buy_id)?;
    let next = MediaBuyStatus::from_name(need("status", &at.params.status)?);
    let next = next.ok_or_else(|| invalid("params.status is none of a media buy"))?;
    let reason = at.params.rejection_reason.as_deref();
    let mut buy = found(at, id)?;
    let before = match forced_buy::status(work.tx, &mut buy, next, reason, work.call.now)? {
        Forced::Impossible(from) => return Err(no_way_from(from)),
        Forced::Done(before) => before,
    };
    let offer = work.publisher.products(work.reader)?;
    let account = Account::find_for(&buy.record, work.reader)?;
    let is_sandbox = account.is_some_and(|account| account.thing.sandbox);
    let profile = &work.publisher.profile;
    let inventory = InventoryContext::new(profile, &offer, is_sandbox, work.call.now);
    inventory.rebook_buy(work.tx, &buy.thing)?;
    Ok(moved(before, next))
}

/// `force_create_media_buy_arm` and the like: prepares the caller's next request for a tool.
pub(super) fn arm(at: &ScenarioContext<'_>, tool: AdcpTool) -> Result<Value, ScenarioFailed> {
    let task_id = at.params.task_id.clone();
    let message = at.params.message.clone();
    let arm = PreparedAnswer::from_name(need("arm", &at.params.arm)?);
    let arm = arm.ok_or_else(|| invalid("params.arm is submitted or input-required"))?;
    if arm == PreparedAnswer::Submitted {
        need("task_id", &task_id)?;
    }
    let arm = Arm { arm, task_id, message };
    arm.set(at.work.tx, at.tenant(), tool, at.work.call.now)?;
    // Only a submitted task has an id.
    let task = arm.task_id.filter(|_| arm.arm == PreparedAnswer::Submitted);
    Ok(object!({"success": true, "forced": {"arm": arm.arm, "task_id"?: task}}))
}

/// `force_task_completion`.
pub(super) fn task(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let id = need("task_id", &at.params.task_id)?;
    let none = Map::new();
    let result = at.params.result.as_ref().and_then(Value::as_object).unwrap_or(&none);
    let place = record_id(at.tenant(), id);
    let before = work.find::<SubmittedTask>(&place)?.ok_or_else(not_found)?.thing.status;
    if !at.finisher().force(&place, result)?.ok_or_else(not_found)? {
        return Err(no_way_from(before));
    }
    // Read again, because the finisher changed the stored task and not our copy.
    let after = work.reader.find::<SubmittedTask>(&place)?.ok_or_else(not_found)?;
    Ok(moved(before, after.thing.status))
}

/// `simulate_delivery`: adds to the delivery so far.
pub(super) fn delivery(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let id = need("media_buy_id", &at.params.media_buy_id)?;
    let day = at.params.sent.get("delivery_date");
    if day.is_some_and(|day| day.as_str().and_then(first_moment).is_none()) {
        return Err(invalid("params.delivery_date is no day"));
    }
    let total = forced_buy::deliver(work.tx, &found(at, id)?, &at.params.sent, work.call.now)?;
    let mut simulated = at.params.sent.clone();
    simulated.swap_remove("media_buy_id");
    Ok(json!({"success": true, "simulated": simulated, "cumulative": total}))
}

/// `simulate_budget_spend`: replaces the amount spent so far.
pub(super) fn spend(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let now = work.call.now;
    let share = at.params.spend_percentage;
    let share = share.ok_or_else(|| invalid("params.spend_percentage is missing"))?;
    let (spent, budget) = if let Some(id) = &at.params.media_buy_id {
        forced_buy::spend(work.tx, &found(at, id)?, share, now)?
    } else {
        let id = need("account_id", &at.params.account_id)?;
        let mut account = work.find::<Account>(id)?.ok_or_else(not_found)?;
        let done = forced_buy::spend_account(work.tx, &mut account, share, now)?;
        done.ok_or_else(|| invalid("the account has no limit to spend"))?
    };
    let simulated = json!({
        "spend_percentage": share, "computed_spend": spent, "budget": budget,
    });
    Ok(json!({"success": true, "simulated": simulated}))
}

/// Returns the caller's media buy.
fn found(at: &ScenarioContext<'_>, id: &str) -> Result<Stored<MediaBuy>, ScenarioFailed> {
    at.work.find(id)?.ok_or_else(not_found)
}

/// `seed_media_buy`, on the named account.
pub(super) fn seed(at: &ScenarioContext<'_>, fixture: &Map) -> Result<(), ScenarioFailed> {
    let work = at.work;
    let id = need("media_buy_id", &at.params.media_buy_id)?;
    let account = at.account()?;
    if work.reader.owner_of(EntityKind::MediaBuy, id)?.is_some() {
        return Err(taken());
    }
    let owner = account.record.owner.as_str();
    let account_id = account.record.id.as_str();
    Ok(forced_buy::seed(work.tx, owner, account_id, id, fixture, work.call.now)?)
}
