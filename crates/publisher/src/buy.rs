//! Media buys and their packages, as they are kept, and what follows from that: how a buy stands at a
//! moment, and what others may see of it.

use jiff::Timestamp;
use tradepost_wire::adcp::rules::typed::{self, LenientList};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::{form, kept_whole};

use crate::account::Account;
use crate::catalogue::{PricingOption, Product};
use crate::money::MoneyAmount;
use crate::reply::object;
use crate::shelf::{FoundBy, IndexField, IndexTerm, Stored, kept};

pub mod action;
pub mod force;
pub(crate) mod health;
pub mod report;

pub use action::{AvailableAction, BuyAction};

kept! {
    /// A media buy. Its id is that of its record, and so is its revision.
    pub struct MediaBuy: MediaBuy by found_by {
        /// Its id.
        media_buy_id: String,
        /// How it stands, apart from what the time and the buyer's pause decide; see
        /// [`MediaBuy::status_at`].
        status: MediaBuyStatus,
        /// Whether the buyer holds it.
        #[serde(default)]
        paused: bool,
        /// ISO 4217.
        currency: String,
        /// What all packages may cost.
        total_budget: MoneyAmount,
        /// When it begins.
        start_time: Timestamp,
        /// When it ends.
        end_time: Timestamp,
        /// When the publisher agreed; `None` until then.
        confirmed_at: Option<Timestamp>,
        /// The proposal that it executes.
        proposal_id?: Option<String>,
        /// The task in which the publisher approved it, where somebody had to.
        task_id?: Option<String>,
        /// What the proposal was priced for; changes beyond it need another quote.
        envelope?: Option<BuyEnvelope>,
        /// When and by whom it was canceled, and why.
        cancellation?: Option<Cancellation>,
        /// Why it was rejected.
        rejection_reason?: Option<String>,
        /// The governance plan that it belongs to.
        plan_id?: Option<String>,
        /// The token of the plan's governance agent, handed on as it came.
        governance_context?: Option<String>,
        /// Its packages, at least one.
        packages: Vec<Package>,
        /// Members of the request that are shown again as they came.
        shown?: Map,
        /// What became of it, the oldest first (`history` of `get_media_buys`).
        history?: Vec<BuyChange>,
    }

    /// A package.
    #[derive(Default)]
    pub struct Package {
        /// Its id.
        package_id: String,
        /// What is bought.
        product_id: String,
        /// At which price.
        pricing_option_id: String,
        /// What it may cost.
        budget: MoneyAmount,
        /// When it begins, when not with the buy.
        start_time?: Option<Timestamp>,
        /// When it ends, when not with the buy.
        end_time?: Option<Timestamp>,
        /// Whether it is paused.
        #[serde(default)]
        paused: bool,
        /// When and by whom it was canceled.
        cancellation?: Option<Cancellation>,
        /// The creatives that are assigned to it.
        creative_assignments?: Vec<Assigned>,
        /// Its price, as the pricing option had it.
        price?: PricingOption,
        /// Members of the request that are shown again as they came.
        shown?: ShownMembers,
    }

    /// When and by whom something was canceled, and why (`cancellation`).
    #[derive(Eq)]
    pub struct Cancellation {
        /// When.
        canceled_at: Timestamp,
        /// By whom.
        canceled_by: Party,
        /// Why, when that was said.
        reason?: Option<String>,
    }

    /// What was done to a buy.
    #[derive(Eq)]
    pub struct BuyChange {
        /// The revision that came of it.
        revision: u64,
        /// When.
        timestamp: Timestamp,
        /// What.
        action: String,
        /// The same for people.
        summary: String,
        /// Who did it, where that was kept: a tenant, or the name of one of the publisher's people. For
        /// the publisher alone.
        by?: Option<String>,
    }

    /// What a proposal was priced for.
    pub struct BuyEnvelope {
        /// The most that the buy may cost.
        total_budget: MoneyAmount,
        /// The earliest beginning.
        start_time: Timestamp,
        /// The latest end.
        end_time: Timestamp,
    }
}

tradepost_wire::words! {
    /// Who cancels (`enums/canceled-by.json`).
    pub enum Party {
        /// Who bought.
        Buyer = "buyer",
        /// Who sold.
        Seller = "seller",
    }

    /// How a media buy stands (`media-buy-status`).
    pub enum MediaBuyStatus {
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

impl MediaBuyStatus {
    /// Whether nothing comes after it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Rejected | Self::Canceled)
    }
}

form! {
    /// A creative of a package (`core/creative-assignment.json`).
    pub struct Assigned {
        /// Its id; fixtures of tests may lack it.
        creative_id: Option<String>;
        /// As it was assigned.
        whole given
    }

    /// Members of a package that are shown as they came, as far as they are read.
    #[derive(Default)]
    pub struct ShownMembers {
        /// Until when its creatives can be changed.
        creative_deadline: Option<Timestamp>,
        /// What is bid for it.
        bid_price: Option<MoneyAmount>,
        /// At whom it is aimed (`core/targeting.json`).
        targeting_overlay: Option<Map>,
        /// What it is optimized for.
        optimization_goals: LenientList<PackageGoal>,
        /// What is to be reported of it.
        committed_metrics: Option<Vec<Value>>;
        /// All of them.
        whole members
    }

    /// What a package is optimized for.
    pub struct PackageGoal {
        /// In what its reach is counted.
        reach_unit: Option<Value>,
    }
}

kept_whole!(Assigned.given, ShownMembers.members);

impl Cancellation {
    /// At a moment, without a reason.
    #[must_use]
    pub fn by(canceled_by: Party, canceled_at: Timestamp) -> Self {
        Self { canceled_at, canceled_by, reason: None }
    }
}

impl Assigned {
    /// Whether it is of this creative.
    #[must_use]
    pub fn is(&self, creative_id: &str) -> bool {
        self.creative_id.as_deref() == Some(creative_id)
    }
}

impl ShownMembers {
    /// These members.
    #[must_use]
    pub fn of(members: Map) -> Self {
        typed::read(members).unwrap_or_default()
    }

    /// Puts a member there, in place of the one of its name.
    pub fn set(&mut self, name: &str, value: Value) {
        let mut members = std::mem::take(&mut self.members);
        members.insert(name.to_owned(), value);
        *self = Self::of(members);
    }
}

impl Package {
    /// Whether it still counts: not canceled.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.cancellation.is_none()
    }

    /// Until when its creatives can be changed.
    #[must_use]
    pub fn creative_deadline(&self) -> Option<Timestamp> {
        self.shown.creative_deadline
    }

    /// What others may see of it (`core/package.json`), within a buy.
    #[must_use]
    pub fn published(&self, buy: &MediaBuy) -> Value {
        let assigned = &self.creative_assignments;
        let cancellation = self.cancellation.as_ref();
        // Packages of older sellers have no such ids, and a sandbox can show such a one.
        let named = |id: &String| (!id.is_empty()).then(|| json!(id));
        let mut shown = object([
            ("package_id", Some(json!(self.package_id))),
            ("product_id", named(&self.product_id)),
            ("pricing_option_id", named(&self.pricing_option_id)),
            ("budget", Some(self.budget.into())),
            ("start_time", Some(json!(self.start_time.unwrap_or(buy.start_time)))),
            ("end_time", Some(json!(self.end_time.unwrap_or(buy.end_time)))),
            ("paused", Some(self.paused.into())),
            ("creative_assignments", (!assigned.is_empty()).then(|| json!(assigned))),
            ("canceled", cancellation.map(|_| true.into())),
            ("cancellation", cancellation.map(|it| json!(it))),
        ]);
        // What is kept as a type is the truth; a member of its name that
        // came with the request is older.
        for (name, value) in &self.shown.members {
            shown.entry(name.clone()).or_insert_with(|| value.clone());
        }
        shown.into()
    }
}

impl MediaBuy {
    /// How it stands at a moment (published state machine): what is over stays over, the end of the
    /// flight completes it, and missing creatives and a later beginning come before the buyer's pause.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> MediaBuyStatus {
        if self.status.is_terminal() {
            return self.status;
        }
        if now >= self.end_time {
            return MediaBuyStatus::Completed;
        }
        // Nothing runs when a flight begins: the status that is kept stays, and
        // the clock decides what it means.
        let waits = self.status == MediaBuyStatus::PendingStart && now < self.start_time;
        match (self.status == MediaBuyStatus::PendingCreatives, waits, self.paused) {
            (true, _, _) => MediaBuyStatus::PendingCreatives,
            (false, true, _) => MediaBuyStatus::PendingStart,
            (false, false, true) => MediaBuyStatus::Paused,
            (false, false, false) => MediaBuyStatus::Active,
        }
    }

    /// The next moment at which it stands otherwise by itself, if there is one after `now`.
    fn changes_after(&self, now: Timestamp) -> Option<Timestamp> {
        let waits = self.status == MediaBuyStatus::PendingStart && now < self.start_time;
        let next = if waits { self.start_time.min(self.end_time) } else { self.end_time };
        (!self.status.is_terminal() && now < next).then_some(next)
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
        if self.status == MediaBuyStatus::PendingCreatives && self.has_creatives() {
            self.status = MediaBuyStatus::PendingStart;
        }
    }

    /// The package with this id.
    #[must_use]
    pub fn package(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.package_id == id)
    }

    /// Whether a package that still counts is of this product.
    #[must_use]
    pub fn has(&self, product: &Product) -> bool {
        self.packages.iter().any(|one| one.is_live() && one.product_id == product.id())
    }

    /// The products of packages that still count.
    pub(crate) fn products(&self, offer: &[Product]) -> Vec<Product> {
        offer.iter().filter(|product| self.has(product)).cloned().collect()
    }

    /// The publisher agrees. A flight that should have begun by then begins now.
    pub fn confirm(&mut self, now: Timestamp) {
        self.confirmed_at = Some(now);
        self.start_time = self.start_time.max(now);
        for package in &mut self.packages {
            if let Some(mut metrics) = package.shown.committed_metrics.clone() {
                // A promise counts from the agreement, and not from when it was asked for.
                for metric in metrics.iter_mut().filter_map(Value::as_object_mut) {
                    metric.insert("committed_at".to_owned(), now.to_string().into());
                }
                package.shown.set("committed_metrics", metrics.into());
            }
        }
    }

    /// Adds to the history what was done to it, and who did it where that is known.
    pub fn note(
        &mut self,
        revision: u64,
        now: Timestamp,
        action: &str,
        summary: &str,
        by: Option<&str>,
    ) {
        self.history.push(BuyChange {
            revision,
            timestamp: now,
            action: action.to_owned(),
            summary: summary.to_owned(),
            by: by.map(ToOwned::to_owned),
        });
    }
}

impl BuyChange {
    /// What buyers may see of it (`history` of `get_media_buys`).
    #[must_use]
    pub fn published(&self) -> Value {
        json!({
            "revision": self.revision, "timestamp": self.timestamp, "action": self.action,
            "summary": self.summary,
        })
    }
}

/// By what a buy is found: its status, its packages, and the creatives in them.
fn found_by(buy: &MediaBuy, now: Timestamp) -> FoundBy {
    let mut terms = Vec::new();
    for package in &buy.packages {
        terms.push(IndexTerm::new(IndexField::Package, &package.package_id));
        let creatives = package.creative_assignments.iter();
        let creatives = creatives.filter_map(|assigned| assigned.creative_id.as_deref());
        terms.extend(creatives.map(|id| IndexTerm::new(IndexField::Creative, id)));
    }
    FoundBy {
        state: Some(buy.status_at(now).name()),
        class: String::new(),
        changes_at: buy.changes_after(now),
        terms,
    }
}

/// The payload about a media buy that has come about.
pub(crate) fn created(
    kept: &Stored<MediaBuy>,
    actions: &[AvailableAction],
    account: Option<&Account>,
    now: Timestamp,
) -> Map {
    let sandbox = account.is_some_and(|account| account.sandbox);
    let packages = kept.thing.packages.iter().map(|package| package.published(&kept.thing));
    let mut body = summary(kept, actions, now);
    body.extend(object([
        ("confirmed_at", Some(kept.thing.confirmed_at.map(|at| at.to_string()).into())),
        ("packages", Some(packages.collect())),
        ("proposal_id", kept.thing.proposal_id.clone().map(Into::into)),
        ("account", account.map(|account| account.published().into())),
        ("sandbox", sandbox.then(|| true.into())),
    ]));
    body
}

/// What every answer about one buy has: its standing, its money and what can be done with it.
pub(crate) fn summary(kept: &Stored<MediaBuy>, actions: &[AvailableAction], now: Timestamp) -> Map {
    let buy = &kept.thing;
    object([
        ("media_buy_id", Some(buy.media_buy_id.clone().into())),
        ("media_buy_status", Some(buy.status_at(now).name().into())),
        ("revision", Some(kept.record.revision.into())),
        ("currency", Some(buy.currency.clone().into())),
        ("total_budget", Some(buy.total_budget.into())),
        ("valid_actions", Some(action::valid(actions))),
        ("available_actions", Some(action::available(actions))),
    ])
}

#[cfg(test)]
mod tests;
