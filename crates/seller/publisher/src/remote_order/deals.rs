//! Packages that are sold as deals: what is wanted of the receiver, what it was sent, the steps between, and what
//! follows from their outcome. A receiver cannot be asked what it has (IAB Tech Lab Deals API 1.0), so that a
//! deal whose fate is unknown is sent whole again: under the same id that changes nothing.

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;

use super::progress::{RemoteStepResult, cut};
use super::reconcile::{Difference, DifferenceKind};
use super::wanted::{Untranslatable, WantedOrder, short};
use super::{DealState, PackageDeal, ProblemKind, RemoteDeal, RemoteOrder, RemoteStep};
use crate::account::Account;
use crate::ad_server::{
    DealAuction, DealSpec, ExternalId, LineItemPricing, RemoteId, RemoteObject, RemoteState,
};
use crate::buy::{MediaBuy, Package};
use crate::catalogue::ProductPrice;

/// A deal as it is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedDeal {
    /// The package.
    pub package_id: String,
    /// The deal.
    pub spec: DealSpec,
    /// True while bids for it are wanted; it is closed otherwise.
    pub is_open: bool,
    /// True if its package or the buy was canceled.
    pub is_canceled: bool,
}

/// How deals stand for which no step is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DealsAtRest {
    /// True if a person of the publisher has to act.
    pub(super) is_stopped: bool,
    /// True if the buyer's side has to approve one.
    pub(super) is_pending: bool,
}

/// Returns the reason for which a package cannot be sent as a deal.
pub(super) fn check(package: &Package) -> Result<(), Untranslatable> {
    let package_id = &package.package_id;
    let model = package.price.pricing_model.as_deref().unwrap_or_default();
    if model != LineItemPricing::Cpm.name() {
        return Err(Untranslatable(format!(
            "package {package_id} is priced by {model:?}, which deals do not have"
        )));
    }
    Ok(())
}

/// Returns the deal of a package. Whether it can be sent like that is for [`check`].
pub(super) fn deal(
    buy: &MediaBuy,
    package: &Package,
    inventory: &[String],
    terms: &PackageDeal,
    account: Option<&Account>,
) -> DealSpec {
    let package_id = &package.package_id;
    let unnamed = |package_id: &str| ExternalId::from_unnamed_deal(&buy.media_buy_id, package_id);
    // The bid of the buyer's is the most that it pays; the deal has what the publisher asks for.
    let (price, usual) = match package.price.price() {
        ProductPrice::Fixed(price) => (price, DealAuction::FixedPrice),
        ProductPrice::Auction(floor) => (floor.unwrap_or_default(), DealAuction::FirstPrice),
    };
    let domain = account.and_then(|account| account.brand.as_ref()?.domain.clone());
    let advertiser = account.map(|account| account.name.as_str()).unwrap_or_default();
    DealSpec {
        external_id: terms.id.clone().unwrap_or_else(|| unnamed(package_id)),
        name: short(&format!("{advertiser} {} {package_id}", package.product_id)),
        inventory: inventory.to_vec(),
        price,
        currency: buy.currency.clone(),
        auction_type: terms.auction.unwrap_or(usual).code(),
        seats: terms.seats.clone(),
        advertiser_domains: domain.into_iter().collect(),
        start_time: package.start_time.unwrap_or(buy.start_time),
        end_time: package.end_time.unwrap_or(buy.end_time),
        is_paused: package.paused || buy.is_paused(),
    }
}

/// Adds the steps for deals, ends first. Each deal is its own: nothing of the others waits for it, or is undone
/// with it.
pub(super) fn add_steps(wanted: &WantedOrder, remote: &RemoteOrder, steps: &mut Vec<RemoteStep>) {
    for deal in wanted.deals.iter().filter(|deal| !deal.is_open) {
        let known = remote.deals.get(&deal.package_id);
        if known.is_some_and(RemoteDeal::has_to_be_closed) {
            steps.push(RemoteStep::CloseDeal { package_id: deal.package_id.clone() });
        }
    }
    if wanted.untranslatable.is_some() {
        return;
    }
    for deal in wanted.deals.iter().filter(|deal| deal.is_open) {
        let package_id = deal.package_id.clone();
        let known = remote.deals.get(&package_id);
        let is_done = known.is_some_and(|known| {
            let is_sent = known.sent.as_ref() == Some(&deal.spec) && !known.unsure;
            is_sent || known.closed || known.refused.as_ref() == Some(&deal.spec)
        });
        if !is_done {
            steps.push(RemoteStep::PutDeal { package_id, deal: deal.spec.clone() });
        }
    }
}

/// Adds what differs between the deals that were sold and those that the receiver has confirmed.
pub(super) fn differences(
    wanted: &WantedOrder,
    remote: &RemoteOrder,
    differences: &mut Vec<Difference>,
) {
    for deal in &wanted.deals {
        let spec = &deal.spec;
        let mut differ = |kind, sold: String, found: Option<String>| {
            let id = spec.external_id.0.clone();
            differences.push(Difference { kind, object: "deal", id, sold: Some(sold), found });
        };
        let known = remote.deals.get(&deal.package_id);
        if !deal.is_open {
            if let Some(known) = known.filter(|known| known.may_be_open()) {
                let found = Some(known.shown_state().name().to_owned());
                differ(DifferenceKind::State, DealState::Closed.name().to_owned(), found);
            }
            continue;
        }
        let Some((known, sent)) = known.and_then(|known| Some((known, known.sent.as_ref()?)))
        else {
            differ(DifferenceKind::Missing, "a deal".to_owned(), None);
            continue;
        };
        let state = known.shown_state();
        let is_lost = known.closed
            || matches!(state, DealState::Rejected | DealState::Refused | DealState::Completed);
        if is_lost || sent.is_paused != spec.is_paused {
            let sold = if spec.is_paused { "paused" } else { "open" };
            differ(DifferenceKind::State, sold.to_owned(), Some(state.name().to_owned()));
        }
        let dates = |spec: &DealSpec| format!("{} to {}", spec.start_time, spec.end_time);
        if dates(sent) != dates(spec) {
            differ(DifferenceKind::Dates, dates(spec), Some(dates(sent)));
        }
        let price = |spec: &DealSpec| format!("{} {}", spec.price, spec.currency);
        if price(sent) != price(spec) {
            differ(DifferenceKind::Price, price(spec), Some(price(sent)));
        }
    }
}

impl RemoteOrder {
    /// Stores that a deal was sent.
    pub(super) fn sent_deal(
        &mut self,
        package_id: &str,
        deal: &DealSpec,
        object: RemoteObject,
        now: Timestamp,
    ) {
        let RemoteObject { id, state, .. } = object;
        let sent = Some(deal.clone());
        let known = RemoteDeal { state, sent, ..RemoteDeal::new_unsent(id) };
        self.deals.insert(package_id.to_owned(), known);
        if matches!(state, Some(RemoteState::Rejected | RemoteState::Canceled)) {
            let detail =
                format!("the deal of package {package_id} was declined by the buyer's side");
            self.raise(ProblemKind::Declined, "put_deal", detail, now);
        }
    }

    /// Returns true if a step has only asked for the state of a deal, and nothing has come of it.
    pub(super) fn is_question(&self, step: &RemoteStep, result: &RemoteStepResult) -> bool {
        let RemoteStep::PutDeal { package_id, deal } = step else { return false };
        let RemoteStepResult::Object(object) = result else { return false };
        let known = self.deals.get(package_id);
        known.is_some_and(|known| known.sent.as_ref() == Some(deal) && known.state == object.state)
    }

    /// Stores that a deal was closed.
    pub(super) fn closed_deal(&mut self, package_id: &str) {
        if let Some(deal) = self.deals.get_mut(package_id) {
            deal.closed = true;
            deal.unsure = false;
        }
    }

    /// Stores that the receiver may have a deal that was begun: it has to be sent again, or closed.
    pub(super) fn doubt_deal(&mut self, step: &RemoteStep) {
        if let RemoteStep::PutDeal { package_id, deal } = step {
            let id = RemoteId(deal.external_id.0.clone());
            let known = self.deals.entry(package_id.clone());
            known.or_insert_with(|| RemoteDeal::new_unsent(id)).unsure = true;
        }
    }

    /// Stores that the receiver has refused a deal, or to close it.
    pub(super) fn refuse_deal(&mut self, step: &RemoteStep, detail: &str) {
        if let RemoteStep::PutDeal { package_id, deal } = step {
            let id = RemoteId(deal.external_id.0.clone());
            let known = self.deals.entry(package_id.clone());
            let known = known.or_insert_with(|| RemoteDeal::new_unsent(id));
            known.refused = Some(deal.clone());
            known.refusal = Some(cut(detail));
        } else if let RemoteStep::CloseDeal { package_id } = step
            && let Some(known) = self.deals.get_mut(package_id)
        {
            known.close_refused = true;
            known.refusal = Some(cut(detail));
        }
    }

    /// Stores that no step is left for the deals.
    pub(super) fn rest_deals(&mut self, wanted: &WantedOrder, now: Timestamp) -> DealsAtRest {
        let mut is_stopped = false;
        let mut is_pending = false;
        let mut obstacle = None;
        for deal in &wanted.deals {
            let package_id = &deal.package_id;
            let known = self.deals.get_mut(package_id);
            if !deal.is_open && known.as_ref().is_some_and(|known| known.close_refused) {
                is_stopped = true;
                continue;
            }
            let Some(known) = known.filter(|known| known.sent.is_some() || known.refused.is_some())
            else {
                // Before its end it would have been sent, so that it is too late now.
                if !deal.is_canceled {
                    obstacle =
                        Some(format!("the deal of package {package_id} was not made in time"));
                }
                continue;
            };
            if !deal.is_open {
                continue;
            }
            if known.sent.as_ref() == Some(&deal.spec) && !known.unsure {
                // What was refused is not wanted any more.
                known.forget_refusal();
            }
            if known.closed {
                obstacle = Some(format!(
                    "the deal of package {package_id} was closed, and cannot be opened again"
                ));
            }
            match known.shown_state() {
                DealState::Refused | DealState::Rejected => is_stopped = true,
                DealState::PendingApproval => is_pending = true,
                DealState::Unsent
                | DealState::Sent
                | DealState::Ready
                | DealState::Delivering
                | DealState::Paused
                | DealState::Completed
                | DealState::Closed => {}
            }
        }
        if let Some(detail) = obstacle {
            let is_known = self.problem.as_ref().is_some_and(|problem| problem.detail == detail);
            if !is_known {
                self.raise(ProblemKind::TooLate, "put_deal", detail, now);
            }
            is_stopped = true;
        }
        DealsAtRest { is_stopped, is_pending }
    }
}

#[cfg(test)]
mod tests;
