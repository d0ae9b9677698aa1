//! Permission of the actions that an update consists of.

use tradepost_adcp::error::{AdcpCode, Recovery};
use tradepost_document::catalog::{Vocabulary as _, WireName};

use super::{UpdateContext, UpdateDraft};
use crate::buy::action::{self, ActionRefused, BuyAction};
use crate::refusals::at;

/// Checks that the media buy and its products permit the actions.
pub(super) fn check_actions(amending: &UpdateContext<'_>, found: &mut UpdateDraft) {
    let UpdateContext { before, products, .. } = *amending;
    let now = amending.buy_context.now;
    let open = || action::available(&action::permitted(before, products, now));
    let mut seen = Vec::new();
    for (action, field) in &found.actions {
        // Permissions depend on the state before the update, not on its result.
        let Err(reason) = action::check(*action, before, products, now) else {
            continue;
        };
        // One error per action, at the first member that causes it.
        if seen.contains(action) {
            continue;
        }
        seen.push(*action);
        let ends = matches!(action, BuyAction::Cancel | BuyAction::RemovePackages);
        if ends && reason == ActionRefused::NotSupportedOnProduct {
            let message = "the terms of what was bought have no cancellation; ask the seller";
            found.problems.push(at(AdcpCode::NotCancellable, field, message));
            continue;
        }
        let message =
            "the media buy does not permit this now; details say why, and what it permits";
        let mut error = at(AdcpCode::ActionNotAllowed, field, message);
        if reason == ActionRefused::NotSupportedOnProduct {
            // No other state or request would make the action permitted.
            error.recovery = Some(WireName::Known(Recovery::Terminal));
        }
        let error = error.with("attempted_action", action.name()).with("reason", reason.name());
        found.problems.push(error.with("currently_available_actions", open()));
    }
}

/// Checks that a larger budget does not exceed what is sold without the approval of two persons: otherwise a
/// small buy that nobody has approved could be raised at will.
pub(super) fn check_two_persons(amending: &UpdateContext<'_>, found: &mut UpdateDraft) {
    let UpdateContext { before, products, .. } = *amending;
    let after = found.buy.total_budget;
    let profile = amending.buy_context.profile();
    if after <= before.total_budget || !profile.needs_two_persons(&before.currency, after) {
        return;
    }
    let raises = |action: &BuyAction| {
        matches!(
            action,
            BuyAction::IncreaseBudget | BuyAction::ReallocateBudget | BuyAction::AddPackages
        )
    };
    let raised = found.actions.iter().find(|(action, _)| raises(action));
    let (action, field) = match raised {
        Some((action, field)) => (*action, field.as_str()),
        None => (BuyAction::IncreaseBudget, "packages"),
    };
    let message = "the seller's people approve budgets of this size, which they cannot do for a \
                   change; buy the difference in a media buy of its own";
    let error = at(AdcpCode::ActionNotAllowed, field, message);
    let error = error.with("attempted_action", action.name());
    let error = error.with("reason", ActionRefused::ModeMismatch.name());
    let open = action::available(&action::permitted(before, products, amending.buy_context.now));
    found.problems.push(error.with("currently_available_actions", open));
}
