//! `create_media_buy`.

use jiff::SignedDuration;
use tradepost_adcp::{AdcpTaskStatus, AdcpTool};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};

use super::draft::{self, BuyDraft};
use super::governance::{self, AskedPhase};
use super::{BuyContext, BuyQuestions, order_check};
use crate::account::Account;
use crate::buy::{MediaBuy, action, created};
use crate::catalogue::Product;
use crate::exclusive;
use crate::forms::buys::CreateMediaBuy;
use crate::inventory::InventoryContext;
use crate::money::MoneyAmount;
use crate::proposal::Proposal;
use crate::refusals::ToolError;
use crate::reply::{ToolReply, object};
use crate::task::SubmittedTask;
use crate::test_controller::forced_answer::{Arm, PreparedAnswer};
use crate::tool_context::{ToolContext, WriteContext};

/// Returns the questions for others, once the request has no other problem.
pub(super) fn questions(
    context: &BuyContext<'_>,
    form: &CreateMediaBuy,
) -> Result<BuyQuestions, ToolError> {
    let draft = draft::make(context, form)?;
    let order = order_check::of_purchase(context, form, &draft);
    let BuyDraft { buy, products } = draft;
    let token = form.governance_context.as_deref();
    let phase = AskedPhase::Purchase;
    let governance = governance::question(context, context.account, &buy, token, phase, &products)?;
    Ok(BuyQuestions { governance, order })
}

/// Handles `create_media_buy`.
pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &CreateMediaBuy,
) -> Result<ToolReply, ToolError> {
    let offer = work.publisher.products(work.reader)?;
    // Validated again, because the offer or the account may have changed since the governance agent
    // was asked.
    let mut draft = draft::make(&BuyContext::from_work(work, &offer), form)?;
    let account = work.account()?;
    let sent = form.governance_context.as_deref();
    let token = governance::decided(work, &account.thing, &draft.buy, sent, &form.sent)?;
    if token.is_some() {
        draft.buy.governance_context = token;
    }
    draft.buy.media_buy_id = work.publisher.services.fresh_id("mb");
    name_packages(work, &mut draft.buy);
    // Charged before the approval is known: two buys that wait must not count on the same money. A
    // buy that is not confirmed returns it.
    charge(work, &account.record.id, &draft.buy, draft.buy.total_budget)?;
    let arm = Arm::take(work.tx, &work.admitted.reach.tenant, AdcpTool::CreateMediaBuy)?;
    if arm.as_ref().is_some_and(|arm| arm.arm == PreparedAnswer::InputRequired) {
        return input_required(work, &draft.buy, arm.as_ref());
    }
    take_inventory(work, &draft, &offer)?;
    match arm {
        Some(arm) => submit(work, draft, Some(arm)),
        None if draft.products.iter().any(|product| product.terms.approval)
            || needs_two_persons(work, &draft.buy) =>
        {
            submit(work, draft, None)
        }
        None => book(work, draft),
    }
}

/// Marks the proposal of a buy as bought and books the days of exclusive products and the units of counted
/// ones. A buy that is not confirmed returns all of it.
fn take_inventory(
    work: &WriteContext<'_>,
    draft: &BuyDraft,
    offer: &[Product],
) -> Result<(), InternalError> {
    let tx = work.tx;
    let now = work.call.now;
    let buy = &draft.buy;
    let profile = &work.publisher.profile;
    let inventory = InventoryContext::new(profile, offer, work.is_for_tests(), now);
    if let Some(id) = &buy.proposal_id
        && let Some(mut proposal) = tx.find::<Proposal>(id)?
    {
        proposal.thing.bought_as = Some(buy.media_buy_id.clone());
        tx.change(&mut proposal, now)?;
        let products = proposal.thing.allocations.iter().map(|part| part.product_id.as_str());
        exclusive::release_days(tx, id, products, now)?;
        inventory.release_proposal(tx, &proposal.thing)?;
    }
    exclusive::rebook_buy(tx, buy, &draft.products, work.is_for_tests(), now)?;
    inventory.rebook_buy(tx, buy)
}

/// Assigns ids to new packages.
pub(super) fn name_packages(work: &ToolContext<'_>, buy: &mut MediaBuy) {
    let MediaBuy { media_buy_id, packages, .. } = buy;
    for package in packages.iter_mut().filter(|package| package.package_id.is_empty()) {
        package.name(media_buy_id, work.publisher.services.fresh_id("pkg"));
    }
}

/// Adds to the committed amount of an account; a negative amount reduces it.
pub(super) fn charge(
    work: &WriteContext<'_>,
    account: &str,
    buy: &MediaBuy,
    more: MoneyAmount,
) -> Result<(), InternalError> {
    let Some(mut account) = work.reader.find::<Account>(account)? else {
        return Ok(());
    };
    if account.thing.charge(&work.publisher.profile, buy, more, work.call.now) {
        work.tx.change(&mut account, work.call.now)?;
    }
    Ok(())
}

/// Confirms a buy at once.
fn book(work: &WriteContext<'_>, draft: BuyDraft) -> Result<ToolReply, ToolError> {
    let now = work.call.now;
    let mut thing = draft.buy;
    let account = work.account()?;
    thing.confirm(now);
    let by = work.call.caller.tenant();
    thing.note(1, now, "created", "the buyer created the buy", Some(&by));
    let id = &thing.media_buy_id;
    let whose = work.whose();
    work.add(id, whose, "", &thing)?;
    let absent = || InternalError::new("booking a buy", "it is not where it was put");
    let stored = work.reader.find::<MediaBuy>(id)?.ok_or_else(absent)?;
    work.staff_events().note_sold(&stored, &work.call.caller.tenant())?;
    let actions = action::permitted(&stored.thing, &draft.products, now);
    let mut body = created(&stored, &actions, Some(&account.thing), now);
    // The caller receives the governance agent's token.
    body.extend(object([("governance_context", stored.thing.governance_context.map(Into::into))]));
    Ok(ToolReply::completed("the media buy has been created", Value::Object(body)))
}

/// Returns true when two persons have to approve a buy.
fn needs_two_persons(work: &WriteContext<'_>, buy: &MediaBuy) -> bool {
    work.publisher.profile.needs_two_persons(&buy.currency, buy.total_budget)
}

/// Stores a buy that waits for approval; the reply contains only the task.
fn submit(
    work: &WriteContext<'_>,
    draft: BuyDraft,
    arm: Option<Arm>,
) -> Result<ToolReply, ToolError> {
    let seconds = |product: &Product| {
        product.terms.approval.then_some(product.terms.approval_seconds.map(i64::from))
    };
    // A product that needs a person makes the whole buy wait for that person.
    let waits = draft.products.iter().filter_map(seconds).collect::<Option<Vec<_>>>();
    // The time never decides what two persons have to approve.
    let waits = waits.filter(|_| !needs_two_persons(work, &draft.buy));
    let due_at = match (&arm, waits.and_then(|waits| waits.into_iter().max())) {
        (None, Some(seconds)) => Some(work.call.now + SignedDuration::from_secs(seconds)),
        (Some(_), _) | (None, None) => None,
    };
    // Tasks prepared by a test end by the test, and those with a due time end by themselves.
    let waits_for_person = arm.is_none() && due_at.is_none();
    let (forced, message) = arm.map_or((None, None), |arm| (arm.task_id, arm.message));
    let message = message.as_deref().unwrap_or("the media buy waits for the seller's approval");
    let with_draft = |task| SubmittedTask { draft: Some(draft.buy), due_at, ..task };
    let task = work.keep_task(forced, with_draft)?;
    if waits_for_person {
        work.staff_events().note_waiting_buy(&task, &work.call.caller.tenant())?;
    }
    Ok(work.submitted(&task.thing.task_id, message))
}

/// Asks the caller for input, as a sandbox was told to. Nothing is booked.
fn input_required(
    work: &WriteContext<'_>,
    buy: &MediaBuy,
    arm: Option<&Arm>,
) -> Result<ToolReply, ToolError> {
    charge(work, &work.account()?.record.id, buy, -buy.total_budget)?;
    let message = arm.and_then(|arm| arm.message.as_deref());
    let message = message.unwrap_or("the seller needs more to go on");
    Ok(ToolReply::new(
        AdcpTaskStatus::InputRequired,
        message,
        json!({"reason": "APPROVAL_REQUIRED"}),
    ))
}
