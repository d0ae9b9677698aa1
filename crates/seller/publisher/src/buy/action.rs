//! Actions of a buyer on a media buy (`media-buy-valid-action`), and when they are permitted.

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use super::{MediaBuy, MediaBuyStatus};
use crate::catalogue::{AllowedAction, Product};
use crate::reply::object;

tradepost_document::catalog! {
    /// An action of a buyer on a media buy.
    pub enum BuyAction {
        /// Returns the older word that covers it, which a product may still use.
        coarse: Option<&'static str>;
        /// Returns the check of whether a buy that has not ended permits it.
        permits: fn(&MediaBuy, Timestamp) -> bool = |_, _| true,
        /// Returns true if it changes committed money, so that a governance agent has a say in it.
        commits: bool = true
    }
    /// Pause the buy.
    Pause = "pause" { coarse: None; permits: |buy, _| !buy.paused, commits: false }
    /// Resume the buy.
    Resume = "resume" { coarse: None; permits: |buy, _| buy.paused, commits: false }
    /// Cancel the buy for good.
    Cancel = "cancel" { coarse: None; commits: false }
    /// Move the end of the flight to a later time.
    ExtendFlight = "extend_flight" { coarse: Some("update_dates") }
    /// Move the end of the flight to an earlier time.
    ShortenFlight = "shorten_flight" { coarse: Some("update_dates") }
    /// Move the start of the flight.
    UpdateFlightDates = "update_flight_dates" {
        coarse: Some("update_dates");
        // The start of a flight that has begun cannot be moved.
        permits: |buy, now| {
            matches!(buy.status_at(now), MediaBuyStatus::PendingCreatives | MediaBuyStatus::PendingStart)
                && now < buy.start_time
        }
    }
    /// Raise the budget.
    IncreaseBudget = "increase_budget" { coarse: Some("update_budget") }
    /// Lower the budget.
    DecreaseBudget = "decrease_budget" { coarse: Some("update_budget") }
    /// Move budget between packages.
    ReallocateBudget = "reallocate_budget" { coarse: Some("update_budget") }
    /// Change the targeting.
    UpdateTargeting = "update_targeting" { coarse: Some("update_packages") }
    /// Change the pacing of the spending.
    UpdatePacing = "update_pacing" { coarse: Some("update_packages"); commits: false }
    /// Change how often one person sees it.
    UpdateFrequencyCaps = "update_frequency_caps" {
        coarse: Some("update_packages"); commits: false
    }
    /// Assign creatives to packages.
    UpdateCreativeAssignments = "update_creative_assignments" {
        coarse: Some("sync_creatives"); commits: false
    }
    /// Take a creative out of a package.
    RemoveCreative = "remove_creative" { coarse: Some("sync_creatives"); commits: false }
    /// Buy more packages.
    AddPackages = "add_packages" { coarse: None }
    /// Cancel packages.
    RemovePackages = "remove_packages" { coarse: None; commits: false }
    /// Supply creatives: the older word for the two about creatives.
    SyncCreatives = "sync_creatives" { coarse: None; commits: false }
}

impl BuyAction {
    /// Returns true if a buy permits it in its current status, whatever its products say.
    #[must_use]
    pub fn fits(self, buy: &MediaBuy, now: Timestamp) -> bool {
        !buy.status_at(now).is_terminal() && self.permits()(buy, now)
    }

    /// Returns how a product permits it on a buy in this status; a product that says nothing permits
    /// everything (`allowed_actions`).
    fn offered_by(self, product: &Product, status: MediaBuyStatus) -> Option<AvailableAction> {
        let Some(allowed) = &product.published.allowed_actions else {
            return Some(AvailableAction::new_unrestricted(self));
        };
        let has = |words: &Option<Vec<Value>>, word: &str| {
            words.as_ref().is_none_or(|words| words.iter().any(|known| known == word))
        };
        let about = |entry: &&AllowedAction| {
            let action = entry.action.as_deref();
            // Most actions have no older word: without `is_some`, an entry without an action would match all
            // of those.
            (action == Some(self.name()) || (action.is_some() && action == self.coarse()))
                && has(&entry.allowed_statuses, status.name())
        };
        let entries: Vec<_> = allowed.iter().flatten().filter(about).collect();
        // Several entries may be about one action; the easiest mode of any of them holds.
        ActionMode::ALL.iter().find_map(|mode| {
            let entry = entries.iter().find(|entry| has(&entry.modes, mode.name()))?;
            let sla = entry.sla.clone();
            let terms_ref = entry.terms_ref.clone();
            Some(AvailableAction { action: self, mode: *mode, sla, terms_ref })
        })
    }
}

tradepost_document::words! {
    /// Way in which an action is available, the easier one first.
    pub enum ActionMode {
        /// Done by the buyer alone.
        SelfServe = "self_serve",
        /// Done after a person of the seller has agreed, who is asked outside of this protocol.
        RequiresApproval = "requires_approval",
    }
}

/// An action that a buy offers now (`core/media-buy-available-action.json`).
#[derive(Debug, Clone, PartialEq)]
pub struct AvailableAction {
    /// Action.
    pub action: BuyAction,
    /// Way in which it is available.
    pub mode: ActionMode,
    /// Service level: how soon it is done.
    sla: Option<Value>,
    /// Terms that apply.
    terms_ref: Option<Value>,
}

impl AvailableAction {
    /// Creates an action that no product restricts.
    const fn new_unrestricted(action: BuyAction) -> Self {
        Self { action, mode: ActionMode::SelfServe, sla: None, terms_ref: None }
    }
}

tradepost_document::words! {
    /// Reason for which an action is not permitted (`action-not-allowed-reason`).
    pub enum ActionRefused {
        /// Not permitted in the current status of the buy.
        WrongStatus = "wrong_status",
        /// Never permitted by one of its products.
        NotSupportedOnProduct = "not_supported_on_product",
        /// Permitted only after a person of the seller has agreed.
        ModeMismatch = "mode_mismatch",
    }
}

/// Returns the actions that a buy permits now, given the products of its packages.
#[must_use]
pub fn permitted(buy: &MediaBuy, products: &[Product], now: Timestamp) -> Vec<AvailableAction> {
    let offered = |action: &BuyAction| offered(*action, buy, products, now).ok();
    BuyAction::ALL.iter().filter_map(offered).collect()
}

/// Checks that the buyer can do an action on a buy now, without asking the seller.
///
/// # Errors
/// The reason for which it cannot.
pub fn check(
    action: BuyAction,
    buy: &MediaBuy,
    products: &[Product],
    now: Timestamp,
) -> Result<(), ActionRefused> {
    match offered(action, buy, products, now)?.mode {
        ActionMode::SelfServe => Ok(()),
        ActionMode::RequiresApproval => Err(ActionRefused::ModeMismatch),
    }
}

/// Returns how an action is available on a buy now: in the strictest way of all its products.
fn offered(
    action: BuyAction,
    buy: &MediaBuy,
    products: &[Product],
    now: Timestamp,
) -> Result<AvailableAction, ActionRefused> {
    let status = buy.status_at(now);
    if !action.fits(buy, now) {
        return Err(ActionRefused::WrongStatus);
    }
    let by_all: Option<Vec<_>> =
        products.iter().map(|product| action.offered_by(product, status)).collect();
    if let Some(by_all) = by_all {
        let hardest = by_all
            // Products that have left the offer are not here, and forbid nothing.
            .into_iter()
            .max_by_key(|one| (one.mode == ActionMode::RequiresApproval, one.sla.is_some()));
        return Ok(hardest.unwrap_or_else(|| AvailableAction::new_unrestricted(action)));
    }
    // The buyer has to know whether waiting can help.
    let ever = |product: &Product| {
        MediaBuyStatus::ALL.iter().any(|status| action.offered_by(product, *status).is_some())
    };
    if products.iter().all(ever) {
        Err(ActionRefused::WrongStatus)
    } else {
        Err(ActionRefused::NotSupportedOnProduct)
    }
}

/// Returns actions in their published form.
#[must_use]
pub fn available(offered: &[AvailableAction]) -> Value {
    let entry = |one: &AvailableAction| {
        Value::Object(object([
            ("action", Some(one.action.name().into())),
            ("mode", Some(one.mode.name().into())),
            ("sla", one.sla.clone()),
            ("terms_ref", one.terms_ref.clone()),
        ]))
    };
    offered.iter().map(entry).collect()
}

/// Returns the names of the actions that a buyer can do alone (`valid_actions`).
pub(crate) fn valid(offered: &[AvailableAction]) -> Value {
    let alone = offered.iter().filter(|one| one.mode == ActionMode::SelfServe);
    alone.map(|one| Value::from(one.action.name())).collect()
}
