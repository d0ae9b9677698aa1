//! `update_media_buy`.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::amend::{self, BuyUpdate, UpdateContext};
use super::governance::{self, AskedPhase};
use super::{BuyContext, BuyQuestions, create, order_check};
use crate::account::Account;
use crate::buy::report::BuyDelivery;
use crate::buy::save::save_buy;
use crate::buy::{self, MediaBuy, action};
use crate::catalogue::Product;
use crate::exclusive;
use crate::forms::buys::UpdateMediaBuy;
use crate::inventory::InventoryContext;
use crate::money::MoneyAmount;
use crate::refusals::{ToolError, at};
use crate::reply::{ToolReply, object};
use crate::staff::spent_deals::follow_deal_budgets;
use crate::store::Stored;
use crate::tool_context::WriteContext;

/// Media buy to be updated, with its account, products and spend.
struct FoundBuy {
    stored: Stored<MediaBuy>,
    account: Option<Stored<Account>>,
    products: Vec<Product>,
    spent: MoneyAmount,
}

/// Returns the questions for others, once the request has no other problem.
pub(super) fn questions(
    context: &BuyContext<'_>,
    form: &UpdateMediaBuy,
) -> Result<BuyQuestions, ToolError> {
    let found = find(context, form)?;
    let change = work_out(context, form, &found)?;
    let account = found.account.as_ref();
    let order = order_check::of_change(context, account, form, &found.stored.thing, &change.buy);
    let account = account.filter(|_| change.commits());
    let token = form.governance_context.as_deref();
    let products = &found.products;
    let phase = AskedPhase::Modification;
    let governance = governance::question(context, account, &change.buy, token, phase, products)?;
    Ok(BuyQuestions { governance, order })
}

/// Handles `update_media_buy`.
pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &UpdateMediaBuy,
) -> Result<ToolReply, ToolError> {
    let offer = work.publisher.products(work.reader)?;
    let now = work.call.now;
    let context = BuyContext::from_work(work, &offer);
    let found = find(&context, form)?;
    let mut change = work_out(&context, form, &found)?;
    let FoundBuy { mut stored, account, spent, .. } = found;
    let sandbox = account.as_ref().is_some_and(|account| account.thing.sandbox);
    if let Some(account) = &account {
        if change.commits() {
            let sent = form.governance_context.as_deref();
            let token = governance::decided(work, &account.thing, &change.buy, sent, &form.sent)?;
            change.buy.governance_context = token.or(change.buy.governance_context);
        }
        let before = stored.thing.committed(spent);
        let after = change.buy.committed(spent);
        create::charge(work, &account.record.id, &stored.thing, after - before)?;
    }
    create::name_packages(work, &mut change.buy);
    if change.changes {
        let revision = stored.record.revision + 1;
        let names: Vec<_> = change.actions.iter().map(|action| action.name()).collect();
        let first = names.first().copied().unwrap_or("updated");
        let summary = if names.is_empty() { "updated".to_owned() } else { names.join(", ") };
        let before = std::mem::replace(&mut stored.thing, change.buy);
        let by = work.call.caller.tenant();
        stored.thing.note(revision, now, first, &summary, Some(&by));
        save_buy(work.tx, &mut stored, now)?;
        exclusive::rebook_buy(work.tx, &stored.thing, &offer, sandbox, now)?;
        let profile = &work.publisher.profile;
        InventoryContext::new(profile, &offer, sandbox, now).rebook_buy(work.tx, &stored.thing)?;
        let events = work.staff_events();
        events.note_changed(&before, &stored, &by)?;
        follow_deal_budgets(&events, &stored)?;
    }
    let products = stored.thing.products(&offer);
    let actions = action::permitted(&stored.thing, &products, now);
    let mut body = buy::summary(&stored, &actions, now);
    let packages = &stored.thing.packages;
    let affected = change.affected.iter().filter_map(|position| packages.get(*position));
    let affected: Vec<_> = affected.map(|package| package.published(&stored.thing)).collect();
    body.extend(object([
        ("affected_packages", Some(affected.into())),
        ("implementation_date", Some(json!(now))),
        ("sandbox", sandbox.then(|| true.into())),
        ("governance_context", stored.thing.governance_context.map(Into::into)),
    ]));
    Ok(ToolReply::completed("the media buy has been updated", Value::Object(body)))
}

fn find(context: &BuyContext<'_>, form: &UpdateMediaBuy) -> Result<FoundBuy, ToolError> {
    let id = &form.media_buy_id;
    let field = Some("media_buy_id");
    let stored: Stored<MediaBuy> =
        context.reach.require(context.reader, id, AdcpCode::MediaBuyNotFound, field)?;
    // The account of the purchase applies, whichever one the request names.
    let account = Account::find_for(&stored.record, context.reader)?;
    let products = stored.thing.products(context.offer);
    let delivery = context.reader.find::<BuyDelivery>(&stored.record.id)?;
    let spent = delivery.map_or(MoneyAmount::ZERO, |delivery| delivery.thing.spent());
    Ok(FoundBuy { stored, account, products, spent })
}

fn work_out(
    context: &BuyContext<'_>,
    form: &UpdateMediaBuy,
    found: &FoundBuy,
) -> Result<BuyUpdate, ToolError> {
    // Checked first, because errors relative to another revision would mislead.
    let current = found.stored.record.revision;
    if let Some(expected) = form.revision
        && expected != current
    {
        // Somebody has changed the media buy since. `CONFLICT` tells the buyer to read it again and
        // repeat the change (AdCP 3.1 `error-handling`, `Y-6`).
        let message = "the media buy has changed since that revision; read it again and send the \
                       change anew";
        let error = at(AdcpCode::Conflict, "revision", message);
        let error = error.with("resource_id", found.stored.record.id.as_str());
        let error = error.with("expected_version", expected).with("current_version", current);
        return Err(error.into());
    }
    amend::work_out(&UpdateContext {
        buy_context: BuyContext { account: found.account.as_ref(), ..*context },
        products: &found.products,
        before: &found.stored.thing,
        spent: found.spent,
        form,
    })
}
