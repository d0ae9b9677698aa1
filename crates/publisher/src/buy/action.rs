//! What a buyer can do with a media buy (`media-buy-valid-action`), and when.

use jiff::Timestamp;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use super::{MediaBuy, Status};
use crate::catalogue::Product;

tradepost_wire::words! {
    /// Something that a buyer can do with a media buy.
    pub enum Action {
        /// Hold the buy.
        Pause = "pause",
        /// Let it run again.
        Resume = "resume",
        /// End it for good.
        Cancel = "cancel",
        /// Let it end later.
        ExtendFlight = "extend_flight",
        /// Let it end earlier.
        ShortenFlight = "shorten_flight",
        /// Let it begin at another time.
        UpdateFlightDates = "update_flight_dates",
        /// Spend more.
        IncreaseBudget = "increase_budget",
        /// Spend less.
        DecreaseBudget = "decrease_budget",
        /// Spend the same on other packages.
        ReallocateBudget = "reallocate_budget",
        /// Aim at others.
        UpdateTargeting = "update_targeting",
        /// Spread the spending otherwise.
        UpdatePacing = "update_pacing",
        /// Show it to one person more or less often.
        UpdateFrequencyCaps = "update_frequency_caps",
        /// Say which creatives go where.
        UpdateCreativeAssignments = "update_creative_assignments",
        /// Take a creative out of a package.
        RemoveCreative = "remove_creative",
        /// Buy more packages.
        AddPackages = "add_packages",
        /// Cancel packages.
        RemovePackages = "remove_packages",
        /// Supply creatives: the older word for the two about creatives.
        SyncCreatives = "sync_creatives",
    }
}

impl Action {
    /// The older word that covers it, which a product may still use.
    const fn coarse(self) -> Option<&'static str> {
        match self {
            Self::IncreaseBudget | Self::DecreaseBudget | Self::ReallocateBudget => {
                Some("update_budget")
            }
            Self::ExtendFlight | Self::ShortenFlight | Self::UpdateFlightDates => {
                Some("update_dates")
            }
            Self::UpdateTargeting | Self::UpdatePacing | Self::UpdateFrequencyCaps => {
                Some("update_packages")
            }
            Self::UpdateCreativeAssignments | Self::RemoveCreative => Some("sync_creatives"),
            Self::Pause
            | Self::Resume
            | Self::Cancel
            | Self::AddPackages
            | Self::RemovePackages
            | Self::SyncCreatives => None,
        }
    }

    /// Whether a buy that stands like this permits it, whatever its products say.
    #[must_use]
    pub fn fits(self, buy: &MediaBuy, now: Timestamp) -> bool {
        let status = buy.status_at(now);
        if status.is_terminal() {
            return false;
        }
        match self {
            Self::Pause => !buy.paused,
            Self::Resume => buy.paused,
            // A flight that has begun has begun.
            Self::UpdateFlightDates => {
                matches!(status, Status::PendingCreatives | Status::PendingStart)
                    && now < buy.start_time
            }
            Self::Cancel
            | Self::ExtendFlight
            | Self::ShortenFlight
            | Self::IncreaseBudget
            | Self::DecreaseBudget
            | Self::ReallocateBudget
            | Self::UpdateTargeting
            | Self::UpdatePacing
            | Self::UpdateFrequencyCaps
            | Self::UpdateCreativeAssignments
            | Self::RemoveCreative
            | Self::AddPackages
            | Self::RemovePackages
            | Self::SyncCreatives => true,
        }
    }

    /// Whether a product permits it for a buy in this state; a product that says nothing permits
    /// everything (`allowed_actions`). What needs a person's approval is not offered: this seller
    /// carries changes out at once or not at all.
    #[must_use]
    pub fn permitted_by(self, product: &Product, status: Status) -> bool {
        let Some(allowed) = &product.published.allowed_actions else {
            return true;
        };
        let has = |words: &Option<Vec<Value>>, word: &str| {
            words.as_ref().is_none_or(|words| words.iter().any(|known| known == word))
        };
        allowed.iter().flatten().any(|entry| {
            let action = entry.action.as_deref();
            (action == Some(self.name()) || (action.is_some() && action == self.coarse()))
                && has(&entry.modes, "self_serve")
                && has(&entry.allowed_statuses, status.name())
        })
    }
}

/// Why something cannot be done with a buy (`action-not-allowed-reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Not as the buy stands.
    WrongStatus,
    /// One of its products never permits it.
    NotSupportedOnProduct,
}

impl Refused {
    /// The word on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrongStatus => "wrong_status",
            Self::NotSupportedOnProduct => "not_supported_on_product",
        }
    }
}

/// What can be done with a buy now, given the products of its packages.
#[must_use]
pub fn permitted(buy: &MediaBuy, products: &[Product], now: Timestamp) -> Vec<Action> {
    let can = |action: &Action| judge(*action, buy, products, now).is_ok();
    Action::ALL.iter().copied().filter(can).collect()
}

/// Whether something can be done with a buy now.
///
/// # Errors
/// Why not.
pub fn judge(
    action: Action,
    buy: &MediaBuy,
    products: &[Product],
    now: Timestamp,
) -> Result<(), Refused> {
    let status = buy.status_at(now);
    if !action.fits(buy, now) {
        return Err(Refused::WrongStatus);
    }
    if products.iter().all(|product| action.permitted_by(product, status)) {
        return Ok(());
    }
    let ever =
        |product: &Product| Status::ALL.iter().any(|status| action.permitted_by(product, *status));
    if products.iter().all(ever) {
        Err(Refused::WrongStatus)
    } else {
        Err(Refused::NotSupportedOnProduct)
    }
}

/// Actions as they are published (`core/media-buy-available-action.json`).
#[must_use]
pub fn available(actions: &[Action]) -> Value {
    let entry = |action: &Action| json!({"action": action.name(), "mode": "self_serve"});
    actions.iter().map(entry).collect()
}
