//! Deals that have spent their budgets and still run, as far as their delivery is reported: no exchange knows a budget, so
//! that people have to pause them.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::StaffView;
use crate::ad_server::ExternalId;
use crate::buy::report::{BuyDelivery, DEAL_SPENT};
use crate::buy::{MediaBuy, Package};
use crate::money::MoneyAmount;
use crate::store::{Order, Query};

/// Maximum number of media buys that are examined, the newest first. Those whose flight is over stay among them.
const MAX_LOOKED_AT: usize = 200;

/// A deal that has spent its budget.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningSpentDeal {
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
}

/// Returns the deals that have spent their budgets and are neither paused nor over, those of the newest media buys first.
///
/// # Errors
/// When the store fails.
pub fn running_spent_deals(view: StaffView<'_>) -> Result<Vec<RunningSpentDeal>, InternalError> {
    let states = vec![DEAL_SPENT.to_owned()];
    let query = Query { states, order: Order::Newest, limit: MAX_LOOKED_AT, ..Query::default() };
    let mut found = Vec::new();
    for delivery in view.reader.all::<BuyDelivery>(&query)? {
        let Some(buy) = view.reader.find::<MediaBuy>(&delivery.record.id)? else { continue };
        let buy = buy.thing;
        let is_over = buy.status_at(view.now).is_terminal();
        for package in buy.packages.iter().filter(|_| !is_over && !buy.is_paused()) {
            let reports = delivery.thing.reports.iter();
            let own =
                reports.filter(|report| report.package_id.as_ref() == Some(&package.package_id));
            let spent: MoneyAmount = own.map(|report| report.figure("spend")).sum();
            let is_running = is_running(&buy, package, view.now) && spent >= package.budget;
            found.extend(package.deal_id(&buy).filter(|_| is_running).map(|deal_id| {
                RunningSpentDeal {
                    media_buy_id: buy.media_buy_id.clone(),
                    package_id: package.package_id.clone(),
                    deal_id,
                    budget: package.budget,
                    spent,
                    currency: buy.currency.clone(),
                }
            }));
        }
    }
    Ok(found)
}

fn is_running(buy: &MediaBuy, package: &Package, now: Timestamp) -> bool {
    let end = package.end_time.unwrap_or(buy.end_time);
    package.is_live() && !package.paused && now < end
}
