//! Deals that have spent their budgets and still run, as far as their delivery is reported: no exchange knows a budget, so
//! that people have to pause them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::StaffView;
use crate::ad_server::ExternalId;
use crate::buy::report::{BuyDelivery, DEAL_SPENT};
use crate::buy::{MediaBuy, Package};
use crate::money::MoneyAmount;
use crate::staff_event::StaffEventRecorder;
use crate::store::{Changes, Order, Query, Stored};

/// Maximum number of media buys that are listed, the newest first.
const MAX_LISTED: usize = 200;

/// A deal that has spent its budget, and is neither paused nor over.
#[derive(Debug, Clone, PartialEq)]
pub struct SpentDeal {
    /// The media buy.
    pub media_buy_id: String,
    /// The package.
    pub package_id: String,
    /// The deal id.
    pub deal_id: ExternalId,
    /// Budget of the package.
    pub budget: MoneyAmount,
    /// What the deal has spent.
    pub spent: MoneyAmount,
    /// Currency of both.
    pub currency: String,
    /// End of its flight.
    pub end: Timestamp,
}

/// Returns the deals that have spent their budgets, those of the newest media buys first.
///
/// # Errors
/// When the store fails.
pub fn list_spent_deals(view: StaffView<'_>) -> Result<Vec<SpentDeal>, InternalError> {
    let query = Query {
        states: vec![DEAL_SPENT.to_owned()],
        // Those whose flight is over are not read, however many there are.
        changes: Some(Changes::After(view.now)),
        order: Order::Newest,
        limit: MAX_LISTED,
        ..Query::default()
    };
    let deliveries = view.reader.all::<BuyDelivery>(&query)?;
    let ids: BTreeSet<String> =
        deliveries.iter().map(|delivery| delivery.record.id.clone()).collect();
    let buys = view.reader.find_many::<MediaBuy>(&ids)?.into_iter();
    let buys: BTreeMap<String, MediaBuy> =
        buys.map(|buy| (buy.record.id.clone(), buy.thing)).collect();
    let mut found = Vec::new();
    for delivery in deliveries {
        let Some(buy) = buys.get(&delivery.record.id) else { continue };
        found.extend(spent_deals(buy, &delivery.thing, view.now));
    }
    Ok(found)
}

/// Compares the deals of a media buy with their budgets, after its delivery or the buy itself was changed: notes which have
/// spent them, and tells people of those that had not before.
///
/// # Errors
/// When the store fails.
pub(crate) fn follow_deal_budgets(
    events: &StaffEventRecorder<'_>,
    buy: &Stored<MediaBuy>,
) -> Result<(), InternalError> {
    if !buy.thing.packages.iter().any(Package::is_deal) {
        return Ok(());
    }
    let Some(mut delivery) = events.tx.find::<BuyDelivery>(&buy.record.id)? else { return Ok(()) };
    let spent = spent_deals(&buy.thing, &delivery.thing, events.now);
    let known = &delivery.thing.spent_deals;
    for deal in spent.iter().filter(|deal| !known.contains(&deal.package_id)) {
        events.note_spent_deal(buy, deal)?;
    }
    let packages: Vec<String> = spent.iter().map(|deal| deal.package_id.clone()).collect();
    let until = spent.iter().map(|deal| deal.end).max();
    if delivery.thing.spent_deals != packages || delivery.thing.spent_until != until {
        delivery.thing.spent_deals = packages;
        delivery.thing.spent_until = until;
        events.tx.change(&mut delivery, events.now)?;
    }
    Ok(())
}

/// Returns the deals of a media buy that have spent their budgets.
fn spent_deals(buy: &MediaBuy, delivery: &BuyDelivery, now: Timestamp) -> Vec<SpentDeal> {
    if buy.is_paused() || buy.status_at(now).is_terminal() {
        return Vec::new();
    }
    let running = buy.packages.iter().filter(|package| package.is_live() && !package.paused);
    let spent = running.filter_map(|package| {
        let end = package.end_time.unwrap_or(buy.end_time);
        let deal_id = package.deal_id(buy).filter(|_| now < end)?;
        let spent = delivery.package_total(&package.package_id, "spend");
        (spent >= package.budget).then(|| SpentDeal {
            media_buy_id: buy.media_buy_id.clone(),
            package_id: package.package_id.clone(),
            deal_id,
            budget: package.budget,
            spent,
            currency: buy.currency.clone(),
            end,
        })
    });
    spent.collect()
}
