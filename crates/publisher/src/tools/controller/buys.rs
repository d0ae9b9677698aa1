//! Media buys and tasks made to stand as a test wants them, delivery that nobody delivered and money
//! that nobody spent.

use tradepost_wire::adcp::Tool;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};

use super::{At, Done, Failed, need, taken};
use crate::account::Account;
use crate::arm::{Answer, Arm};
use crate::buy::force::{self, Forced};
use crate::buy::{MediaBuy, Status};
use crate::shelf::{Kept, Kind};
use crate::task::Task;
use crate::task::end::{Office, record_id};

/// `force_media_buy_status`.
pub(super) fn status(at: &At<'_>) -> Result<Done, Failed> {
    let (work, id) = (at.work, need("media_buy_id", &at.params.media_buy_id)?);
    let next = Status::from_name(need("status", &at.params.status)?);
    let next = next.ok_or(Failed::InvalidParams("params.status is none of a media buy".into()))?;
    let reason = at.params.rejection_reason.as_deref();
    let mut buy = found(at, id)?;
    match force::status(work.shelf, &mut buy, next, reason, work.ask.now)? {
        Forced::Impossible { from } => Err(Failed::InvalidTransition(from.name().to_owned())),
        Forced::Done { before } => {
            Ok(Done::Moved { before: before.name().to_owned(), after: next.name().to_owned() })
        }
    }
}

/// `force_create_media_buy_arm` and its like: for the caller's next request for a tool.
pub(super) fn arm(at: &At<'_>, tool: Tool) -> Result<Done, Failed> {
    let (task_id, message) = (at.params.task_id.clone(), at.params.message.clone());
    let arm = Answer::from_name(need("arm", &at.params.arm)?);
    let arm =
        arm.ok_or(Failed::InvalidParams("params.arm is submitted or input-required".into()))?;
    let arm = Arm { arm, task_id, message };
    if arm.arm == Answer::Submitted && arm.task_id.is_none() {
        return Err(Failed::InvalidParams("params.task_id is missing".into()));
    }
    arm.set(at.work.shelf, at.tenant(), tool, at.work.ask.now)?;
    let mut forced = json!({"arm": arm.arm});
    // A task is named only where one is made.
    let task = arm.task_id.filter(|_| arm.arm == Answer::Submitted);
    if let (Some(task), Some(members)) = (task, forced.as_object_mut()) {
        members.insert("task_id".to_owned(), task.into());
    }
    Ok(Done::Forced(forced))
}

/// `force_task_completion`.
pub(super) fn task(at: &At<'_>) -> Result<Done, Failed> {
    let (work, id) = (at.work, need("task_id", &at.params.task_id)?);
    let none = Map::new();
    let result = at.params.result.as_ref().and_then(Value::as_object).unwrap_or(&none);
    let place = record_id(at.tenant(), id);
    let task = work.admitted.reach.find::<Task>(work.shelf, &place)?.ok_or(Failed::NotFound)?;
    let before = task.thing.status.to_string();
    let office = Office { publisher: work.publisher, shelf: work.shelf, now: work.ask.now };
    match office.force(&place, result)? {
        None => Err(Failed::NotFound),
        Some(false) => Err(Failed::InvalidTransition(before)),
        Some(true) => {
            // Read again: the office changed the task on the shelf, and not the one in hand.
            let after = work.shelf.find::<Task>(&place)?.ok_or(Failed::NotFound)?;
            Ok(Done::Moved { before, after: after.thing.status.to_string() })
        }
    }
}

/// `simulate_delivery`: adds to what was delivered.
pub(super) fn delivery(at: &At<'_>) -> Result<Done, Failed> {
    let (work, id) = (at.work, need("media_buy_id", &at.params.media_buy_id)?);
    let total = force::deliver(work.shelf, &found(at, id)?, &at.params.sent, work.ask.now)?;
    let mut simulated = at.params.sent.clone();
    simulated.swap_remove("media_buy_id");
    Ok(Done::Simulated { simulated: simulated.into(), cumulative: Some(total.into()) })
}

/// `simulate_budget_spend`: in place of what was spent.
pub(super) fn spend(at: &At<'_>) -> Result<Done, Failed> {
    let (work, reach, now) = (at.work, &at.work.admitted.reach, at.work.ask.now);
    let share = at
        .params
        .spend_percentage
        .ok_or(Failed::InvalidParams("params.spend_percentage is missing".into()))?;
    let (spent, budget) = if at.params.media_buy_id.is_some() {
        let buy = found(at, need("media_buy_id", &at.params.media_buy_id)?)?;
        force::spend(work.shelf, &buy, share, now)?
    } else {
        let id = need("account_id", &at.params.account_id)?;
        let account = reach.find::<Account>(work.shelf, id)?;
        let mut account = account.ok_or(Failed::NotFound)?;
        let done = force::spend_account(work.shelf, &mut account, share, now)?;
        done.ok_or(Failed::InvalidParams("the account has no limit to spend".into()))?
    };
    let simulated = json!({
        "spend_percentage": share,
        "computed_spend": spent,
        "budget": budget,
    });
    Ok(Done::Simulated { simulated, cumulative: None })
}

/// The caller's media buy.
fn found(at: &At<'_>, id: &str) -> Result<Kept<MediaBuy>, Failed> {
    at.work.admitted.reach.find(at.work.shelf, id)?.ok_or(Failed::NotFound)
}

/// `seed_media_buy`, on the named account.
pub(super) fn seed(at: &At<'_>, fixture: &Map) -> Result<(), Failed> {
    let (work, id) = (at.work, need("media_buy_id", &at.params.media_buy_id)?);
    let account = work.admitted.account.as_ref();
    let account =
        account.ok_or(Failed::InvalidParams("account has to name one for tests".into()))?;
    if work.shelf.whose(Kind::MediaBuy, id)?.is_some() {
        return Err(taken());
    }
    let (owner, of) = (account.record.owner.as_str(), account.record.id.as_str());
    force::seed(work.shelf, owner, of, id, fixture, work.ask.now)?;
    Ok(())
}
