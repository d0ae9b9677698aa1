//! What is left for an update: days of exclusive products, and counted units.

use tradepost_adcp::error::AdcpError;
use tradepost_document::fault::InternalError;

use super::{UpdateContext, changed_field, moved_field};
use crate::buy::MediaBuy;
use crate::exclusive::{self, ExclusiveDays};
use crate::inventory::WantedUnits;

/// Returns a refusal for each exclusive product that is already taken on a day that the update adds.
pub(super) fn taken_days(
    amending: &UpdateContext<'_>,
    after: &MediaBuy,
) -> Result<Vec<AdcpError>, InternalError> {
    let context = &amending.buy_context;
    let is_sandbox = context.is_for_tests();
    let days_of = |buy: &MediaBuy| {
        ExclusiveDays::from_buy(buy, context.offer, is_sandbox, |index| {
            moved_field(amending, index)
        })
    };
    let before = days_of(amending.before);
    let mut added = days_of(after);
    added.retain(|days| !before.iter().any(|known| known.covers(days)));
    let own = [after.media_buy_id.as_str()];
    exclusive::taken_days(context.reader, &added, &own, context.now)
}

/// Returns a refusal for each package that the update makes want more than is left. What a package has it may
/// keep, and what does not change is not looked at.
pub(super) fn shortages(
    amending: &UpdateContext<'_>,
    after: &MediaBuy,
) -> Result<Vec<AdcpError>, InternalError> {
    let inventory = amending.buy_context.inventory();
    let wanted_by = |buy: &MediaBuy| {
        WantedUnits::from_buy(&inventory, buy, |index| changed_field(amending, index))
    };
    let before = wanted_by(amending.before);
    let mut wanted = wanted_by(after);
    if wanted.iter().all(|one| before.iter().any(|known| known.is_same(one))) {
        return Ok(Vec::new());
    }
    // Packages that stay as they are come first, because they have what they want.
    wanted.sort_by_key(|one| !before.iter().any(|known| known.is_same(one)));
    inventory.shortages(amending.buy_context.reader, &wanted, Some(amending.before), None)
}
