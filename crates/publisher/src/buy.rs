//! Media buys and their packages, as they are kept, and what follows from that: how a buy stands at a
//! moment, and what others may see of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};

use crate::account::Account;
use crate::catalogue::PricingOption;
use crate::money::Amount;
use crate::shelf::{Kept, Kind, Thing};

pub mod action;
pub mod force;
pub mod report;

pub use action::Action;

/// A media buy. Its id is that of its record, and so is its revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaBuy {
    /// Its id.
    pub media_buy_id: String,
    /// How it stands, apart from what the time and the buyer's pause decide; see
    /// [`MediaBuy::status_at`].
    pub status: Status,
    /// Whether the buyer holds it.
    #[serde(default)]
    pub paused: bool,
    /// ISO 4217.
    pub currency: String,
    /// What all packages may cost.
    pub total_budget: Amount,
    /// When it begins.
    pub start_time: Timestamp,
    /// When it ends.
    pub end_time: Timestamp,
    /// When the publisher agreed; `None` until then.
    pub confirmed_at: Option<Timestamp>,
    /// The proposal that it executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// What the proposal was priced for; changes beyond it need another quote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Envelope>,
    /// When and by whom it was canceled, and why (`cancellation`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Value>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection_reason: Option<String>,
    /// The governance plan that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The token of the plan's governance agent, handed on as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governance_context: Option<String>,
    /// Its packages, at least one.
    pub packages: Vec<Package>,
    /// Members of the request that are shown again as they came.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub shown: Map,
    /// What became of it, the oldest first (`history` of `get_media_buys`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Value>,
}

/// What a proposal was priced for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The most that the buy may cost.
    pub total_budget: Amount,
    /// The earliest beginning.
    pub start_time: Timestamp,
    /// The latest end.
    pub end_time: Timestamp,
}

tradepost_wire::words! {
    /// How a media buy stands (`media-buy-status`).
    pub enum Status {
        /// It waits for creatives.
        PendingCreatives = "pending_creatives",
        /// It waits for its beginning.
        PendingStart = "pending_start",
        /// It runs.
        Active = "active",
        /// Paused by the buyer.
        Paused = "paused",
        /// It ran to its end.
        Completed = "completed",
        /// The publisher declined it.
        Rejected = "rejected",
        /// It was canceled.
        Canceled = "canceled",
    }
}

impl Status {
    /// Whether nothing comes after it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Rejected | Self::Canceled)
    }
}

/// A package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// Its id.
    pub package_id: String,
    /// What is bought.
    pub product_id: String,
    /// At which price.
    pub pricing_option_id: String,
    /// What it may cost.
    pub budget: Amount,
    /// When it begins, when not with the buy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Timestamp>,
    /// When it ends, when not with the buy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
    /// Whether it is paused.
    #[serde(default)]
    pub paused: bool,
    /// When and by whom it was canceled (`cancellation`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Value>,
    /// The creatives that are assigned to it (`core/creative-assignment.json`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creative_assignments: Vec<Value>,
    /// Its price, as the pricing option had it.
    #[serde(default, skip_serializing_if = "PricingOption::is_empty")]
    pub price: PricingOption,
    /// Members of the request that are shown again as they came (`targeting_overlay`, `bid_price`).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub shown: Map,
}

impl Package {
    /// Whether it still counts: not canceled.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.cancellation.is_none()
    }

    /// Until when its creatives can be changed (`creative_deadline` of what is shown).
    #[must_use]
    pub fn creative_deadline(&self) -> Option<Timestamp> {
        self.shown.get("creative_deadline").and_then(Value::as_str)?.parse().ok()
    }

    /// What others may see of it (`core/package.json`), within a buy.
    #[must_use]
    pub fn published(&self, buy: &MediaBuy) -> Value {
        let mut shown = json!({
            "package_id": self.package_id,
            "product_id": self.product_id,
            "pricing_option_id": self.pricing_option_id,
            "budget": Value::from(self.budget),
            "start_time": self.start_time.unwrap_or(buy.start_time),
            "end_time": self.end_time.unwrap_or(buy.end_time),
            "paused": self.paused,
        });
        if let Some(members) = shown.as_object_mut() {
            if !self.creative_assignments.is_empty() {
                let assigned = self.creative_assignments.clone().into();
                members.insert("creative_assignments".to_owned(), assigned);
            }
            if let Some(cancellation) = &self.cancellation {
                members.insert("canceled".to_owned(), true.into());
                members.insert("cancellation".to_owned(), cancellation.clone());
            }
            for (name, value) in &self.shown {
                members.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        shown
    }
}

impl MediaBuy {
    /// How it stands at a moment (published state machine): what is over stays over, the end of the
    /// flight completes it, and missing creatives and a later beginning come before the buyer's pause.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> Status {
        match self.status {
            Status::Completed | Status::Rejected | Status::Canceled => return self.status,
            Status::PendingCreatives | Status::PendingStart | Status::Active | Status::Paused => {}
        }
        if now >= self.end_time {
            return Status::Completed;
        }
        let waits = self.status == Status::PendingStart && now < self.start_time;
        match (self.status == Status::PendingCreatives, waits, self.paused) {
            (true, _, _) => Status::PendingCreatives,
            (false, true, _) => Status::PendingStart,
            (false, false, true) => Status::Paused,
            (false, false, false) => Status::Active,
        }
    }

    /// Whether every package that still counts has a creative.
    #[must_use]
    pub fn has_creatives(&self) -> bool {
        let mut live = self.packages.iter().filter(|package| package.is_live());
        live.all(|package| !package.creative_assignments.is_empty())
    }

    /// Brings what follows from the packages up to date: the budget, and whether creatives are missing.
    /// A buy that runs does not go back to waiting for creatives.
    pub fn settle(&mut self) {
        let live = self.packages.iter().filter(|package| package.is_live());
        self.total_budget = live.map(|package| package.budget).sum();
        if self.status == Status::PendingCreatives && self.has_creatives() {
            self.status = Status::PendingStart;
        }
    }

    /// The package with this id.
    #[must_use]
    pub fn package(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.package_id == id)
    }

    /// Whether a package that still counts is of this product.
    #[must_use]
    pub fn has(&self, product: &crate::catalogue::Product) -> bool {
        self.packages.iter().any(|one| one.is_live() && one.product_id == product.id())
    }

    /// The publisher agrees. A flight that should have begun by then begins now.
    pub fn confirm(&mut self, now: Timestamp) {
        self.confirmed_at = Some(now);
        self.start_time = self.start_time.max(now);
        for package in &mut self.packages {
            let metrics = package.shown.get_mut("committed_metrics").and_then(Value::as_array_mut);
            for metric in metrics.into_iter().flatten().filter_map(Value::as_object_mut) {
                metric.insert("committed_at".to_owned(), now.to_string().into());
            }
        }
    }

    /// Adds to the history what was done to it.
    pub fn note(&mut self, revision: u64, now: Timestamp, action: &str, summary: &str) {
        self.history.push(json!({
            "revision": revision, "timestamp": now, "action": action, "summary": summary,
        }));
    }

    /// The packages as others may see them.
    #[must_use]
    pub fn published_packages(&self) -> Vec<Value> {
        self.packages.iter().map(|package| package.published(self)).collect()
    }
}

impl Thing for MediaBuy {
    const KIND: Kind = Kind::MediaBuy;
}

/// The word under which a buy lies on the shelf.
pub(crate) fn state(buy: &MediaBuy) -> &'static str {
    buy.status.name()
}

/// The payload about a media buy that has come about.
pub(crate) fn created(
    kept: &Kept<MediaBuy>,
    actions: &[Action],
    account: Option<&Account>,
    now: Timestamp,
) -> Map {
    let mut body = summary(kept, actions, now);
    let confirmed = kept.thing.confirmed_at.map(|at| at.to_string());
    body.insert("confirmed_at".to_owned(), confirmed.into());
    body.insert("packages".to_owned(), kept.thing.published_packages().into());
    if let Some(proposal) = &kept.thing.proposal_id {
        body.insert("proposal_id".to_owned(), proposal.clone().into());
    }
    if let Some(account) = account {
        body.insert("account".to_owned(), account.published().into());
        if account.sandbox {
            body.insert("sandbox".to_owned(), true.into());
        }
    }
    body
}

/// What every answer about one buy has: its standing, its money and what can be done with it.
pub(crate) fn summary(kept: &Kept<MediaBuy>, actions: &[Action], now: Timestamp) -> Map {
    let buy = &kept.thing;
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| {
        shown.insert(name.to_owned(), value);
    };
    put("media_buy_id", buy.media_buy_id.clone().into());
    put("media_buy_status", buy.status_at(now).name().into());
    put("revision", kept.record.revision.into());
    put("currency", buy.currency.clone().into());
    put("total_budget", buy.total_budget.into());
    put("valid_actions", actions.iter().map(|action| Value::from(action.name())).collect());
    put("available_actions", action::available(actions));
    shown
}

#[cfg(test)]
mod tests;
