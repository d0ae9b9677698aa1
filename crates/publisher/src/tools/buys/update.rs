//! `update_media_buy`.

use tradepost_wire::adcp::error::AdcpCode;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use super::amend::{self, Amending, Change};
use super::governance::{self, Phase, Question};
use super::{Desk, account_of, create};
use crate::account::Account;
use crate::buy::report::Delivery;
use crate::buy::{self, MediaBuy, action, force};
use crate::catalogue::Product;
use crate::exclusive;
use crate::forms::buys::UpdateMediaBuy;
use crate::money::Amount;
use crate::refuse::{Stop, at};
use crate::reply::{Reply, object};
use crate::shelf::Kept;
use crate::work::Work;

/// The buy of an update with everything around it.
struct Found {
    kept: Kept<MediaBuy>,
    account: Option<Kept<Account>>,
    products: Vec<Product>,
    spent: Amount,
}

/// What the governance agent has to be asked, once nothing else speaks against the request.
pub(super) fn question(desk: &Desk<'_>, form: &UpdateMediaBuy) -> Result<Option<Question>, Stop> {
    let found = find(desk, form)?;
    let change = work_out(desk, form, &found)?;
    let account = found.account.as_ref().filter(|_| change.commits());
    let (token, products) = (form.governance_context.as_deref(), &found.products);
    governance::question(desk, account, &change.buy, token, Phase::Modification, products)
}

/// Does it.
pub(in crate::tools) fn perform(work: &Work<'_>, form: &UpdateMediaBuy) -> Result<Reply, Stop> {
    let (offer, now) = (work.publisher.products(work.shelf)?, work.ask.now);
    let desk = Desk::of(work, &offer);
    let found = find(&desk, form)?;
    let mut change = work_out(&desk, form, &found)?;
    let Found { mut kept, account, spent, .. } = found;
    let sandbox = account.as_ref().is_some_and(|account| account.thing.sandbox);
    if let Some(account) = &account {
        if change.commits() {
            let sent = form.governance_context.as_deref();
            let token = governance::decided(work, &account.thing, &change.buy, sent, &form.sent)?;
            change.buy.governance_context = token.or(change.buy.governance_context);
        }
        let (before, after) = (committed(&kept.thing, spent), committed(&change.buy, spent));
        create::charge(work, &account.record.id, &kept.thing, after - before)?;
    }
    create::name_packages(work, &mut change.buy);
    if change.changes {
        let revision = kept.record.revision + 1;
        let names: Vec<_> = change.actions.iter().map(|action| action.name()).collect();
        let first = names.first().copied().unwrap_or("updated");
        let summary = if names.is_empty() { "updated".to_owned() } else { names.join(", ") };
        let before = std::mem::replace(&mut kept.thing, change.buy);
        let by = work.ask.caller.tenant();
        kept.thing.note(revision, now, first, &summary, Some(&by));
        force::save(work.shelf, &mut kept, now)?;
        exclusive::rebook_buy(work.shelf, &kept.thing, &offer, sandbox, now)?;
        work.staff_events().note_changed(&before, &kept, &by)?;
    }
    let products = kept.thing.products(&offer);
    let actions = action::permitted(&kept.thing, &products, now);
    let mut body = buy::summary(&kept, &actions, now);
    let packages = &kept.thing.packages;
    let affected = change.affected.iter().filter_map(|position| packages.get(*position));
    let affected: Vec<_> = affected.map(|package| package.published(&kept.thing)).collect();
    body.extend(object([
        ("affected_packages", Some(affected.into())),
        ("implementation_date", Some(json!(now))),
        ("sandbox", sandbox.then(|| true.into())),
        ("governance_context", kept.thing.governance_context.map(Into::into)),
    ]));
    Ok(Reply::completed("the media buy has been updated", Value::Object(body)))
}

/// What an account is bound to by a buy: its budget, or what it has spent when it came to a stop.
fn committed(buy: &MediaBuy, spent: Amount) -> Amount {
    if buy.cancellation.is_some() { spent } else { buy.total_budget.max(spent) }
}

fn find(desk: &Desk<'_>, form: &UpdateMediaBuy) -> Result<Found, Stop> {
    let (id, field) = (&form.media_buy_id, Some("media_buy_id"));
    let kept: Kept<MediaBuy> =
        desk.reach.require(desk.shelf, id, AdcpCode::MediaBuyNotFound, field)?;
    // A buy is worked on with the account that it was bought for, whichever one the request names.
    let account = account_of(desk.shelf, &kept)?;
    let products = kept.thing.products(desk.offer);
    let delivery = desk.shelf.find::<Delivery>(&kept.record.id)?;
    let spent = delivery.map_or(Amount::ZERO, |delivery| delivery.thing.spent());
    Ok(Found { kept, account, products, spent })
}

fn work_out(desk: &Desk<'_>, form: &UpdateMediaBuy, found: &Found) -> Result<Change, Stop> {
    // Before anything is worked out: what speaks against a change of another state would mislead.
    let current = found.kept.record.revision;
    if let Some(expected) = form.revision
        && expected != current
    {
        // Somebody was faster (`Y-6`).
        let message = "the media buy has changed since that revision; read it again and send the \
                       change anew";
        let error = at(AdcpCode::Conflict, "revision", message);
        let error = error.with("resource_id", found.kept.record.id.as_str());
        let error = error.with("expected_version", expected).with("current_version", current);
        return Err(error.into());
    }
    amend::work_out(&Amending {
        desk: Desk { account: found.account.as_ref(), ..*desk },
        products: &found.products,
        before: &found.kept.thing,
        spent: found.spent,
        form,
    })
}
