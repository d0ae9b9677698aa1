//! What a buyer can do with a media buy (`media-buy-valid-action`), and when.

use jiff::Timestamp;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;

use super::{MediaBuy, MediaBuyStatus};
use crate::catalogue::{AllowedAction, Product};
use crate::reply::object;

tradepost_wire::catalog! {
    /// Something that a buyer can do with a media buy.
    pub enum BuyAction {
        /// The older word that covers it, which a product may still use.
        coarse: Option<&'static str>;
        /// Whether a buy that is not over lets it be done.
        permits: fn(&MediaBuy, Timestamp) -> bool = |_, _| true,
        /// Whether it changes what money is committed to: a governance agent has a say in that.
        commits: bool = true
    }
    /// Hold the buy.
    Pause = "pause" { coarse: None; permits: |buy, _| !buy.paused, commits: false }
    /// Let it run again.
    Resume = "resume" { coarse: None; permits: |buy, _| buy.paused, commits: false }
    /// End it for good.
    Cancel = "cancel" { coarse: None; commits: false }
    /// Let it end later.
    ExtendFlight = "extend_flight" { coarse: Some("update_dates") }
    /// Let it end earlier.
    ShortenFlight = "shorten_flight" { coarse: Some("update_dates") }
    /// Let it begin at another time.
    UpdateFlightDates = "update_flight_dates" {
        coarse: Some("update_dates");
        // A flight that has begun has begun.
        permits: |buy, now| {
            matches!(buy.status_at(now), MediaBuyStatus::PendingCreatives | MediaBuyStatus::PendingStart)
                && now < buy.start_time
        }
    }
    /// Spend more.
    IncreaseBudget = "increase_budget" { coarse: Some("update_budget") }
    /// Spend less.
    DecreaseBudget = "decrease_budget" { coarse: Some("update_budget") }
    /// Spend the same on other packages.
    ReallocateBudget = "reallocate_budget" { coarse: Some("update_budget") }
    /// Aim at others.
    UpdateTargeting = "update_targeting" { coarse: Some("update_packages") }
    /// Spread the spending otherwise.
    UpdatePacing = "update_pacing" { coarse: Some("update_packages"); commits: false }
    /// Show it to one person more or less often.
    UpdateFrequencyCaps = "update_frequency_caps" {
        coarse: Some("update_packages"); commits: false
    }
    /// Say which creatives go where.
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
    /// Whether a buy that stands like this permits it, whatever its products say.
    #[must_use]
    pub fn fits(self, buy: &MediaBuy, now: Timestamp) -> bool {
        !buy.status_at(now).is_terminal() && self.permits()(buy, now)
    }

    /// How a product lets it be done to a buy in this state; a product that says nothing permits
    /// everything (`allowed_actions`).
    fn offered_by(self, product: &Product, status: MediaBuyStatus) -> Option<AvailableAction> {
        let Some(allowed) = &product.published.allowed_actions else {
            return Some(AvailableAction::freely(self));
        };
        let has = |words: &Option<Vec<Value>>, word: &str| {
            words.as_ref().is_none_or(|words| words.iter().any(|known| known == word))
        };
        let about = |entry: &&AllowedAction| {
            let action = entry.action.as_deref();
            // Most actions have no older word: without the second half, an entry that names no
            // action would be about all of those.
            (action == Some(self.name()) || (action.is_some() && action == self.coarse()))
                && has(&entry.allowed_statuses, status.name())
        };
        let entries: Vec<_> = allowed.iter().flatten().filter(about).collect();
        // Several entries may be about one action; the easiest way
        // that one of them opens is open.
        ActionMode::ALL.iter().find_map(|mode| {
            let entry = entries.iter().find(|entry| has(&entry.modes, mode.name()))?;
            let (sla, terms_ref) = (entry.sla.clone(), entry.terms_ref.clone());
            Some(AvailableAction { action: self, mode: *mode, sla, terms_ref })
        })
    }
}

tradepost_wire::words! {
    /// How an action can be had, the easier way first.
    pub enum ActionMode {
        /// The buyer does it.
        SelfServe = "self_serve",
        /// A person of the seller has to agree, who is asked outside of this protocol.
        RequiresApproval = "requires_approval",
    }
}

/// An action that a buy offers now (`core/media-buy-available-action.json`).
#[derive(Debug, Clone, PartialEq)]
pub struct AvailableAction {
    /// What.
    pub action: BuyAction,
    /// How it can be had.
    pub mode: ActionMode,
    /// How soon.
    sla: Option<Value>,
    /// On which terms.
    terms_ref: Option<Value>,
}

impl AvailableAction {
    /// An action of which no product says anything.
    const fn freely(action: BuyAction) -> Self {
        Self { action, mode: ActionMode::SelfServe, sla: None, terms_ref: None }
    }
}

tradepost_wire::words! {
    /// Why something cannot be done with a buy (`action-not-allowed-reason`).
    pub enum ActionRefused {
        /// Not as the buy stands.
        WrongStatus = "wrong_status",
        /// One of its products never permits it.
        NotSupportedOnProduct = "not_supported_on_product",
        /// A person of the seller has to agree first.
        ModeMismatch = "mode_mismatch",
    }
}

/// What a buy offers now, given the products of its packages.
#[must_use]
pub fn permitted(buy: &MediaBuy, products: &[Product], now: Timestamp) -> Vec<AvailableAction> {
    let offered = |action: &BuyAction| offered(*action, buy, products, now).ok();
    BuyAction::ALL.iter().filter_map(offered).collect()
}

/// Whether the buyer can do something with a buy now.
///
/// # Errors
/// Why not.
pub fn judge(
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

/// How something can be done with a buy now: in the hardest way that one of its products wants.
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
        return Ok(hardest.unwrap_or_else(|| AvailableAction::freely(action)));
    }
    // Whether waiting can help is what the buyer has to know.
    let ever = |product: &Product| {
        MediaBuyStatus::ALL.iter().any(|status| action.offered_by(product, *status).is_some())
    };
    if products.iter().all(ever) {
        Err(ActionRefused::WrongStatus)
    } else {
        Err(ActionRefused::NotSupportedOnProduct)
    }
}

/// Actions as they are published.
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

/// The names of those that a buyer can do alone (`valid_actions`).
pub(crate) fn valid(offered: &[AvailableAction]) -> Value {
    let alone = offered.iter().filter(|one| one.mode == ActionMode::SelfServe);
    alone.map(|one| Value::from(one.action.name())).collect()
}
