//! What a buyer can do with a media buy (`media-buy-valid-action`), and when.

use jiff::Timestamp;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use super::{MediaBuy, Status};
use crate::catalogue::{AllowedAction, Product};

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

    /// How a product lets it be done to a buy in this state; a product that says nothing permits
    /// everything (`allowed_actions`).
    fn offered_by(self, product: &Product, status: Status) -> Option<Offered> {
        let Some(allowed) = &product.published.allowed_actions else {
            return Some(Offered::freely(self));
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
        Mode::ALL.iter().find_map(|mode| {
            let entry = entries.iter().find(|entry| has(&entry.modes, mode.name()))?;
            let (sla, terms_ref) = (entry.sla.clone(), entry.terms_ref.clone());
            Some(Offered { action: self, mode: *mode, sla, terms_ref })
        })
    }
}

tradepost_wire::words! {
    /// How an action can be had, the easier way first.
    pub enum Mode {
        /// The buyer does it.
        SelfServe = "self_serve",
        /// A person of the seller has to agree, who is asked outside of this protocol.
        RequiresApproval = "requires_approval",
    }
}

/// An action that a buy offers now (`core/media-buy-available-action.json`).
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// What.
    pub action: Action,
    /// How it can be had.
    pub mode: Mode,
    /// How soon.
    sla: Option<Value>,
    /// On which terms.
    terms_ref: Option<Value>,
}

impl Offered {
    /// An action of which no product says anything.
    const fn freely(action: Action) -> Self {
        Self { action, mode: Mode::SelfServe, sla: None, terms_ref: None }
    }
}

/// Why something cannot be done with a buy (`action-not-allowed-reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Not as the buy stands.
    WrongStatus,
    /// One of its products never permits it.
    NotSupportedOnProduct,
    /// A person of the seller has to agree first.
    ModeMismatch,
}

impl Refused {
    /// The word on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrongStatus => "wrong_status",
            Self::NotSupportedOnProduct => "not_supported_on_product",
            Self::ModeMismatch => "mode_mismatch",
        }
    }
}

/// What a buy offers now, given the products of its packages.
#[must_use]
pub fn permitted(buy: &MediaBuy, products: &[Product], now: Timestamp) -> Vec<Offered> {
    let offered = |action: &Action| offered(*action, buy, products, now).ok();
    Action::ALL.iter().filter_map(offered).collect()
}

/// Whether the buyer can do something with a buy now.
///
/// # Errors
/// Why not.
pub fn judge(
    action: Action,
    buy: &MediaBuy,
    products: &[Product],
    now: Timestamp,
) -> Result<(), Refused> {
    match offered(action, buy, products, now)?.mode {
        Mode::SelfServe => Ok(()),
        Mode::RequiresApproval => Err(Refused::ModeMismatch),
    }
}

/// How something can be done with a buy now: in the hardest way that one of its products wants.
fn offered(
    action: Action,
    buy: &MediaBuy,
    products: &[Product],
    now: Timestamp,
) -> Result<Offered, Refused> {
    let status = buy.status_at(now);
    if !action.fits(buy, now) {
        return Err(Refused::WrongStatus);
    }
    let by_all: Option<Vec<_>> =
        products.iter().map(|product| action.offered_by(product, status)).collect();
    if let Some(by_all) = by_all {
        let hardest = by_all
            // Products that have left the offer are not here, and forbid nothing.
            .into_iter()
            .max_by_key(|one| (one.mode == Mode::RequiresApproval, one.sla.is_some()));
        return Ok(hardest.unwrap_or_else(|| Offered::freely(action)));
    }
    // Whether waiting can help is what the buyer has to know.
    let ever = |product: &Product| {
        Status::ALL.iter().any(|status| action.offered_by(product, *status).is_some())
    };
    if products.iter().all(ever) {
        Err(Refused::WrongStatus)
    } else {
        Err(Refused::NotSupportedOnProduct)
    }
}

/// Actions as they are published.
#[must_use]
pub fn available(offered: &[Offered]) -> Value {
    let entry = |one: &Offered| {
        let mut entry = json!({"action": one.action.name(), "mode": one.mode.name()});
        if let Some(members) = entry.as_object_mut() {
            for (name, value) in [("sla", &one.sla), ("terms_ref", &one.terms_ref)] {
                if let Some(value) = value {
                    members.insert(name.to_owned(), value.clone());
                }
            }
        }
        entry
    };
    offered.iter().map(entry).collect()
}

/// The names of those that a buyer can do alone (`valid_actions`).
pub(crate) fn valid(offered: &[Offered]) -> Value {
    let alone = offered.iter().filter(|one| one.mode == Mode::SelfServe);
    alone.map(|one| Value::from(one.action.name())).collect()
}
