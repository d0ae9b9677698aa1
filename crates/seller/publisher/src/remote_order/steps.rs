//! Steps that lead from what an ad server has to what was sold.

use super::deals;
use super::wanted::{WantedLineItem, WantedOrder, WantedState};
use super::{RemoteLineItem, RemoteOrder, RemoteOrderObject, RemoteStep};
use crate::ad_server::{LineItemSpec, RemoteState};

/// Returns the steps from what the ad server has to what is wanted, in the order in which they have to be
/// done. None are left when both are the same.
#[must_use]
pub fn next_steps(wanted: &WantedOrder, remote: &RemoteOrder) -> Vec<RemoteStep> {
    let mut steps = Vec::new();
    let state = if remote.undoing { WantedState::Canceled } else { wanted.state };
    // An order can wait for a person, or stay refused, for as long as it likes: deals do not wait for it.
    deals::add_steps(wanted, remote, &mut steps);
    match state {
        WantedState::None => return steps,
        _ if wanted.untranslatable.is_some() => {}
        _ if remote.lost && remote.order.is_some() => {}
        WantedState::Canceled => cancel(remote.order.as_ref(), &mut steps),
        // What was approved ends by its dates.
        WantedState::Over if remote.is_draft() => cancel(remote.order.as_ref(), &mut steps),
        WantedState::Over => {}
        WantedState::Live => live(wanted, remote, &mut steps),
    }
    let is_unsure = (remote.unverified || remote.lost) && wanted.untranslatable.is_none();
    if steps.is_empty() && is_unsure && remote.order.is_some() {
        steps.push(RemoteStep::Verify);
    }
    steps
}

fn cancel(order: Option<&RemoteOrderObject>, steps: &mut Vec<RemoteStep>) {
    if order.is_some_and(|order| !order.is_over()) {
        steps.push(RemoteStep::CancelOrder);
    }
}

/// Adds the steps for a buy whose flight is ahead or running.
fn live(wanted: &WantedOrder, remote: &RemoteOrder, steps: &mut Vec<RemoteStep>) {
    if !wanted.needs_order {
        return;
    }
    match &remote.order {
        None => steps.push(RemoteStep::CreateOrder { order: wanted.order.clone() }),
        Some(order) if order.is_over() => return,
        Some(order) if order.sent != wanted.order => {
            steps.push(RemoteStep::ChangeOrder { order: wanted.order.clone() });
        }
        Some(_) => {}
    }
    let line_items = &remote.line_items;
    for item in &wanted.line_items {
        line_item(item, line_items.get(&item.spec.package_id), steps);
    }
    for item in wanted.line_items.iter().filter(|item| !item.is_canceled) {
        creatives(wanted, item, remote, steps);
    }
    let is_approved = remote.order.as_ref().is_some_and(|order| order.approved);
    if is_approved {
        let added = wanted.line_items.iter().filter(|item| {
            let known = line_items.get(&item.spec.package_id);
            !item.is_canceled && known.is_none_or(|known| !known.approved)
        });
        steps.extend(
            added.map(|item| RemoteStep::ApproveLineItem {
                package_id: item.spec.package_id.clone(),
            }),
        );
    } else {
        steps.push(RemoteStep::ApproveOrder);
    }
    if remote.order.as_ref().is_some_and(|order| order.state == Some(RemoteState::PendingApproval))
    {
        steps.push(RemoteStep::ReadState);
    }
}

/// Adds the steps for a line item, apart from its creatives.
fn line_item(item: &WantedLineItem, known: Option<&RemoteLineItem>, steps: &mut Vec<RemoteStep>) {
    let package_id = || item.spec.package_id.clone();
    match known {
        None if item.is_canceled => {}
        None => steps.push(RemoteStep::CreateLineItem { line_item: item.spec.clone() }),
        Some(known) if known.canceled => {}
        Some(_) if item.is_canceled => {
            steps.push(RemoteStep::CancelLineItem { package_id: package_id() });
        }
        Some(known) => {
            let is_paused = known.sent.is_paused;
            let sent = LineItemSpec { is_paused: item.spec.is_paused, ..known.sent.clone() };
            if sent != item.spec {
                // Whether it is paused is a step of its own.
                let line_item = LineItemSpec { is_paused, ..item.spec.clone() };
                steps.push(RemoteStep::ChangeLineItem { line_item });
            }
            match (is_paused, item.spec.is_paused) {
                (false, true) => {
                    steps.push(RemoteStep::PauseLineItem { package_id: package_id() });
                }
                (true, false) => {
                    steps.push(RemoteStep::ResumeLineItem { package_id: package_id() });
                }
                (true, true) | (false, false) => {}
            }
        }
    }
}

/// Adds the steps for the creatives of a line item.
fn creatives(
    wanted: &WantedOrder,
    item: &WantedLineItem,
    remote: &RemoteOrder,
    steps: &mut Vec<RemoteStep>,
) {
    let package_id = &item.spec.package_id;
    let known = remote.line_items.get(package_id);
    for id in &item.creatives {
        let is_refused = known.is_some_and(|known| known.refused.contains(id));
        let is_shown = known.is_some_and(|known| known.creatives.contains(id));
        if is_refused || is_shown {
            continue;
        }
        let made = remote.creatives.get(&id.0);
        if made.is_some_and(|made| made.refusal.is_some()) {
            continue;
        }
        if made.is_none()
            && let Some(creative) = wanted.creatives.get(id)
        {
            let step = RemoteStep::CreateCreative { creative: creative.clone() };
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
        let creative = id.clone();
        steps.push(RemoteStep::Associate { package_id: package_id.clone(), creative });
    }
    let removed = known.into_iter().flat_map(|known| known.creatives.difference(&item.creatives));
    steps.extend(removed.map(|creative| RemoteStep::Dissociate {
        package_id: package_id.clone(),
        creative: creative.clone(),
    }));
}
