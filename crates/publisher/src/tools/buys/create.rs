//! `create_media_buy`.

use tradepost_wire::adcp::{Standing, Tool};
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value};

use super::Desk;
use super::draft::{self, Draft};
use super::governance::{self, Phase, Question};
use crate::arm::{Answer, Arm};
use crate::buy::created;
use crate::buy::{self, MediaBuy, action};
use crate::catalogue::Product;
use crate::forms::buys::CreateMediaBuy;
use crate::money::Amount;
use crate::refuse::Stop;
use crate::reply::Reply;
use crate::shelf::New;
use crate::task::Task;
use crate::task::end::record_id;
use crate::work::Work;

/// What the governance agent has to be asked, once nothing else speaks against the request.
pub(super) fn question(desk: &Desk<'_>, form: &CreateMediaBuy) -> Result<Option<Question>, Stop> {
    let offer = desk.offer()?;
    let draft = draft::make(desk, &offer, form)?;
    let Some(account) = desk.account else {
        return Ok(None);
    };
    governance::question(
        desk.profile(),
        &account.thing,
        &draft.buy,
        form.governance_context.as_deref(),
        Phase::Purchase,
        &draft.products,
    )
}

/// Does it.
pub(in crate::tools) fn perform(work: &Work<'_>, form: &CreateMediaBuy) -> Result<Reply, Stop> {
    let desk = Desk::of(work);
    let offer = desk.offer()?;
    // Worked out again: since the governance agent was asked, the offer
    // or the account may have changed.
    let draft = draft::make(&desk, &offer, form)?;
    let account = work.account()?;
    let token = governance::decided(
        work,
        &account.thing,
        &draft.buy,
        form.governance_context.as_deref(),
        &form.sent,
    )?;
    let mut draft = draft;
    if token.is_some() {
        draft.buy.governance_context = token;
    }
    name(work, &mut draft.buy);
    // Before it is known whether somebody has to approve: two buys that wait must not count on
    // the same money. What does not come about gives it back.
    commit(work, &draft.buy)?;
    let arm = Arm::take(work.shelf, &work.admitted.reach.tenant, Tool::CreateMediaBuy)?;
    match arm {
        Some(arm) if arm.arm == Answer::InputRequired => input_required(work, &draft.buy, &arm),
        Some(arm) => submit(work, draft, Some(arm)),
        None if draft.products.iter().any(|product| product.terms.approval) => {
            submit(work, draft, None)
        }
        None => book(work, draft),
    }
}

/// Gives the buy and its packages their ids.
fn name(work: &Work<'_>, buy: &mut MediaBuy) {
    let world = &work.publisher.world;
    buy.media_buy_id = world.fresh_id("mb");
    for package in &mut buy.packages {
        package.package_id = world.fresh_id("pkg");
    }
}

/// Commits what the buy costs to the account, where it has a limit.
fn commit(work: &Work<'_>, buy: &MediaBuy) -> Result<(), Stop> {
    let id = &work.account()?.record.id;
    charge(work, id, buy, buy.total_budget).map_err(Into::into)
}

/// Adds to what is committed of an account; takes away when it is negative.
pub(super) fn charge(
    work: &Work<'_>,
    account: &str,
    buy: &MediaBuy,
    more: Amount,
) -> Result<(), Fault> {
    let Some(mut account) = work.shelf.find::<crate::account::Account>(account)? else {
        return Ok(());
    };
    if account.thing.charge(&work.publisher.profile, buy, more, work.ask.now) {
        work.shelf.change(&mut account, work.ask.now)?;
    }
    Ok(())
}

/// The buy comes about at once.
fn book(work: &Work<'_>, draft: Draft) -> Result<Reply, Stop> {
    let (now, mut thing) = (work.ask.now, draft.buy);
    let account = work.account()?;
    thing.confirm(now);
    thing.note(1, now, "created", "the buyer created the buy");
    let id = thing.media_buy_id.clone();
    let new = New {
        id: &id,
        owner: work.admitted.owner(),
        account: Some(&account.record.id),
        state: buy::state(&thing),
        now,
    };
    work.shelf.add(new, &thing)?;
    let absent = || Fault::new("booking a buy", "it is not where it was put");
    let kept = work.shelf.find::<MediaBuy>(&id)?.ok_or_else(absent)?;
    let actions = action::permitted(&kept.thing, &draft.products, now);
    let mut body = created(&kept, &actions, Some(&account.thing), now);
    hand_on(&kept.thing, &mut body);
    Ok(Reply::completed("the media buy has been created", Value::Object(body)))
}

/// The token of the governance agent goes on to the caller.
pub(super) fn hand_on(buy: &MediaBuy, body: &mut Map) {
    if let Some(token) = &buy.governance_context {
        body.insert("governance_context".to_owned(), token.clone().into());
    }
}

/// The buy waits for approval; nothing of it is said before that.
fn submit(work: &Work<'_>, draft: Draft, arm: Option<Arm>) -> Result<Reply, Stop> {
    let now = work.ask.now;
    let account = work.account()?;
    let owner = work.admitted.owner();
    let forced = arm.as_ref().and_then(|arm| arm.task_id.clone());
    let task_id = forced.unwrap_or_else(|| work.publisher.world.fresh_id("task"));
    let seconds = |product: &Product| {
        product.terms.approval.then_some(product.terms.approval_seconds.map(i64::from))
    };
    // A product that a person decides about keeps the whole buy waiting for that person.
    let waits = draft.products.iter().filter_map(seconds).collect::<Option<Vec<_>>>();
    let due_at = match (&arm, waits.and_then(|waits| waits.into_iter().max())) {
        (None, Some(seconds)) => Some(now + jiff::SignedDuration::from_secs(seconds)),
        (Some(_), _) | (None, None) => None,
    };
    let message = arm.and_then(|arm| arm.message);
    let message =
        message.unwrap_or_else(|| "the media buy waits for the seller's approval".to_owned());
    let body = Map::from_iter([("task_id".to_owned(), task_id.clone().into())]);
    let task = Task { draft: Some(draft.buy), due_at, ..Task::submitted(&task_id, work.ask) };
    // A test may choose the id of a task, so that it is the tenant's own.
    let record = record_id(owner, &task_id);
    let new =
        New { id: &record, owner, account: Some(&account.record.id), state: "submitted", now };
    work.shelf.add(new, &task)?;
    let standing = Standing::Submitted;
    Ok(Reply::new(standing, message, body))
}

/// The request waits for something from the caller, as a sandbox was told to answer. Nothing is booked.
fn input_required(work: &Work<'_>, buy: &MediaBuy, arm: &Arm) -> Result<Reply, Stop> {
    charge(work, &work.account()?.record.id, buy, -buy.total_budget)?;
    let mut body = Map::new();
    body.insert("reason".to_owned(), "APPROVAL_REQUIRED".into());
    let message = arm.message.clone();
    let message = message.unwrap_or_else(|| "the seller needs more to go on".to_owned());
    let standing = Standing::InputRequired;
    Ok(Reply::new(standing, message, body))
}
