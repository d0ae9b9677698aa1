//! Calls of the ad server: the steps, and what is looked up about one in doubt.

use std::collections::BTreeSet;

use tradepost_ad_server::{AdServer, AdServerError, RefusalReason, RemoteStateChange};
use tradepost_publisher::ad_server::{RemoteId, RemoteState};
use tradepost_publisher::remote_order::progress::RemoteStepResult;
use tradepost_publisher::remote_order::seen::SeenOrder;
use tradepost_publisher::remote_order::{RemoteOrder, RemoteStep};

use super::RemoteOrders;

/// Result of a call.
type Called<T> = Result<T, AdServerError>;

impl RemoteOrders {
    /// Does a step at the ad server, within the time for it.
    pub(super) async fn execute(
        &self,
        remote: &RemoteOrder,
        step: &RemoteStep,
    ) -> Called<RemoteStepResult> {
        let called = tokio::time::timeout(self.timeout, self.call(remote, step)).await;
        called.unwrap_or(Err(AdServerError::Unanswered))
    }

    async fn call(&self, remote: &RemoteOrder, step: &RemoteStep) -> Called<RemoteStepResult> {
        let ad_server = self.ad_server.as_ref();
        match step {
            RemoteStep::CreateOrder { order } => {
                ad_server.create_order(order).await.map(RemoteStepResult::Object)
            }
            RemoteStep::ChangeOrder { order } => ad_server
                .change_order(order_id(remote)?, order)
                .await
                .map(|()| RemoteStepResult::Done),
            RemoteStep::CreateLineItem { line_item } => {
                let made = ad_server.create_line_item(order_id(remote)?, line_item).await;
                made.map(RemoteStepResult::Object)
            }
            RemoteStep::ChangeLineItem { line_item } => {
                let id = line_item_id(remote, &line_item.package_id)?;
                let changed = ad_server.change_line_item(order_id(remote)?, id, line_item).await;
                changed.map(RemoteStepResult::Object)
            }
            RemoteStep::CreateCreative { creative } => {
                let _making = self.making.lock().await;
                // Another buy may show it already.
                match ad_server.find_creative(&creative.external_id).await? {
                    Some(made) => Ok(RemoteStepResult::Object(made)),
                    None => ad_server.create_creative(creative).await.map(RemoteStepResult::Object),
                }
            }
            RemoteStep::Associate { package_id, creative } => {
                let id = line_item_id(remote, package_id)?;
                let creative = creative_id(remote, &creative.0)?;
                let done = ad_server.associate_creative(order_id(remote)?, id, creative).await;
                done.map(|()| RemoteStepResult::Done)
            }
            RemoteStep::Dissociate { package_id, creative } => {
                let id = line_item_id(remote, package_id)?;
                let creative = creative_id(remote, &creative.0)?;
                let done = ad_server.dissociate_creative(order_id(remote)?, id, creative).await;
                done.map(|()| RemoteStepResult::Done)
            }
            RemoteStep::ApproveOrder => self.order_state(remote, RemoteStateChange::Approve).await,
            RemoteStep::CancelOrder => self.order_state(remote, RemoteStateChange::Cancel).await,
            RemoteStep::ApproveLineItem { package_id } => {
                self.line_item_state(remote, package_id, RemoteStateChange::Approve).await
            }
            RemoteStep::PauseLineItem { package_id } => {
                self.line_item_state(remote, package_id, RemoteStateChange::Pause).await
            }
            RemoteStep::ResumeLineItem { package_id } => {
                self.line_item_state(remote, package_id, RemoteStateChange::Resume).await
            }
            RemoteStep::CancelLineItem { package_id } => {
                self.line_item_state(remote, package_id, RemoteStateChange::Cancel).await
            }
            RemoteStep::PutDeal { deal, .. } => {
                ad_server.put_deal(deal).await.map(RemoteStepResult::Object)
            }
            RemoteStep::CloseDeal { package_id } => {
                let deal = remote.deals.get(package_id).ok_or_else(absent)?;
                ad_server.close_deal(&deal.id).await.map(|()| RemoteStepResult::Done)
            }
            RemoteStep::ReadState => {
                ad_server.order_state(order_id(remote)?).await.map(RemoteStepResult::State)
            }
            RemoteStep::Verify => {
                let seen = see(ad_server, remote, false).await?;
                Ok(RemoteStepResult::Seen(Box::new(seen)))
            }
        }
    }

    async fn order_state(
        &self,
        remote: &RemoteOrder,
        change: RemoteStateChange,
    ) -> Called<RemoteStepResult> {
        let state = self.ad_server.change_order_state(order_id(remote)?, change).await;
        state.map(RemoteStepResult::State)
    }

    async fn line_item_state(
        &self,
        remote: &RemoteOrder,
        package_id: &str,
        change: RemoteStateChange,
    ) -> Called<RemoteStepResult> {
        let id = line_item_id(remote, package_id)?;
        let order = order_id(remote)?;
        self.ad_server.change_line_item_state(order, id, change).await.map(RemoteStepResult::State)
    }

    /// Looks up what a step in doubt has come to; `None` when it has to be repeated.
    pub(super) async fn look_up(
        &self,
        remote: &RemoteOrder,
        step: &RemoteStep,
    ) -> Called<Option<RemoteStepResult>> {
        let looked = tokio::time::timeout(self.timeout, self.find(remote, step)).await;
        looked.unwrap_or(Err(AdServerError::Unanswered))
    }

    async fn find(
        &self,
        remote: &RemoteOrder,
        step: &RemoteStep,
    ) -> Called<Option<RemoteStepResult>> {
        let ad_server = self.ad_server.as_ref();
        match step {
            RemoteStep::CreateOrder { order } => {
                let found = ad_server.find_order(&order.external_id).await?;
                Ok(found.map(RemoteStepResult::Object))
            }
            RemoteStep::CreateLineItem { line_item } => {
                let found = ad_server.line_items(order_id(remote)?).await?;
                let wanted = Some(&line_item.external_id);
                let found = found.into_iter().find(|one| one.external_id.as_ref() == wanted);
                Ok(found.map(RemoteStepResult::Object))
            }
            RemoteStep::CreateCreative { creative } => {
                let found = ad_server.find_creative(&creative.external_id).await?;
                Ok(found.map(RemoteStepResult::Object))
            }
            RemoteStep::ApproveOrder => {
                let state = ad_server.order_state(order_id(remote)?).await?;
                Ok((state != RemoteState::Draft).then_some(RemoteStepResult::State(state)))
            }
            // Repeating these changes nothing.
            RemoteStep::ChangeOrder { .. }
            | RemoteStep::ChangeLineItem { .. }
            | RemoteStep::Associate { .. }
            | RemoteStep::Dissociate { .. }
            | RemoteStep::ApproveLineItem { .. }
            | RemoteStep::PauseLineItem { .. }
            | RemoteStep::ResumeLineItem { .. }
            | RemoteStep::CancelLineItem { .. }
            | RemoteStep::CancelOrder
            | RemoteStep::PutDeal { .. }
            | RemoteStep::CloseDeal { .. }
            | RemoteStep::ReadState
            | RemoteStep::Verify => Ok(None),
        }
    }
}

/// Reads what an ad server has of an order. Creatives that were seen before are looked for again only with
/// `all_creatives`.
///
/// # Errors
/// The error of the ad server.
pub async fn see(
    ad_server: &dyn AdServer,
    remote: &RemoteOrder,
    all_creatives: bool,
) -> Called<SeenOrder> {
    let known = remote.order.as_ref();
    let mut seen = SeenOrder {
        order: None,
        state: None,
        line_items: Vec::new(),
        missing_creatives: BTreeSet::new(),
    };
    if let Some(known) = known {
        seen.order = ad_server.find_order(&known.sent.external_id).await?;
        if let Some(order) = &seen.order {
            let state = match order.state {
                Some(state) => state,
                None => ad_server.order_state(&order.id).await?,
            };
            seen.state = Some(state);
            seen.line_items = ad_server.inspect(&order.id).await?;
        }
    }
    for (id, creative) in &remote.creatives {
        if creative.id.is_none() || (creative.seen && !all_creatives) {
            continue;
        }
        let id = tradepost_publisher::ad_server::ExternalId(id.clone());
        if ad_server.find_creative(&id).await?.is_none() {
            seen.missing_creatives.insert(id.0);
        }
    }
    Ok(seen)
}

fn order_id(remote: &RemoteOrder) -> Called<&RemoteId> {
    remote.order.as_ref().map(|order| &order.id).ok_or_else(absent)
}

fn line_item_id<'r>(remote: &'r RemoteOrder, package_id: &str) -> Called<&'r RemoteId> {
    remote.line_items.get(package_id).map(|item| &item.id).ok_or_else(absent)
}

fn creative_id<'r>(remote: &'r RemoteOrder, id: &str) -> Called<&'r RemoteId> {
    remote.creatives.get(id).and_then(|creative| creative.id.as_ref()).ok_or_else(absent)
}

/// Returns the error for an object that was not made yet.
fn absent() -> AdServerError {
    let detail = "what it is to be done to was not made yet".to_owned();
    AdServerError::Refused { reason: RefusalReason::Missing, detail }
}
