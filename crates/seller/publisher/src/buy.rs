//! Media buys and their packages, as stored, and what is derived from them: the status at a moment, and the
//! public view.

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::kept_whole;
use tradepost_document::typed::{self, LenientList};
use tradepost_document::typed_struct;

use crate::account::Account;
use crate::ad_server::ExternalId;
use crate::catalogue::{PricingOption, Product};
use crate::money::MoneyAmount;
use crate::remote_order::{self, PackageInventory, StoredBuy};
use crate::reply::object;
use crate::reporting::{self, BuyReporting};
use crate::store::{EntityRecord, FoundBy, IndexField, IndexTerm, StoreTx, Stored, kept};

pub mod action;
pub mod days;
pub(crate) mod health;
pub mod report;
pub(crate) mod save;

pub use action::{AvailableAction, BuyAction};

/// Name of what this server adds to the extensions of a package.
const OUR_EXTENSION: &str = "tradepost";

kept! {
    /// A media buy. Its id and its revision are those of its record.
    pub struct MediaBuy: MediaBuy by found_by then follow {
        /// Its id.
        media_buy_id: String,
        /// Status, apart from what the time and the buyer's pause decide; see [`MediaBuy::status_at`].
        status: MediaBuyStatus,
        /// True while the buyer has paused it.
        #[serde(default)]
        paused: bool,
        /// Pause by the publisher, which the buyer cannot end.
        hold?: Option<SellerHold>,
        /// Currency (ISO 4217).
        currency: String,
        /// Total budget of its packages.
        total_budget: MoneyAmount,
        /// Start of the flight.
        start_time: Timestamp,
        /// End of the flight.
        end_time: Timestamp,
        /// Time at which the publisher agreed; `None` until then.
        confirmed_at: Option<Timestamp>,
        /// Proposal that it executes.
        proposal_id?: Option<String>,
        /// Task in which the publisher approved it, if it had to be approved.
        task_id?: Option<String>,
        /// Limits for which the proposal was priced; changes beyond them need another quote.
        envelope?: Option<BuyEnvelope>,
        /// Time, party and reason of its cancellation.
        cancellation?: Option<Cancellation>,
        /// Reason for its rejection.
        rejection_reason?: Option<String>,
        /// The governance plan that it belongs to.
        plan_id?: Option<String>,
        /// The token of the plan's governance agent, handed on as it came.
        governance_context?: Option<String>,
        /// Its packages, at least one.
        packages: Vec<Package>,
        /// Members of the request that are shown again as they came.
        shown?: Map,
        /// Reports that the buyer wants by webhook.
        reporting?: Option<BuyReporting>,
        /// Changes made to it, the oldest first (`history` of `get_media_buys`).
        history?: Vec<BuyHistoryEntry>,
    }

    /// A package.
    #[derive(Default)]
    pub struct Package {
        /// Its id.
        package_id: String,
        /// Product that is bought.
        product_id: String,
        /// Pricing option.
        pricing_option_id: String,
        /// Budget.
        budget: MoneyAmount,
        /// Start, when it differs from that of the buy.
        start_time?: Option<Timestamp>,
        /// End, when it differs from that of the buy.
        end_time?: Option<Timestamp>,
        /// True while it is paused.
        #[serde(default)]
        paused: bool,
        /// Time, party and reason of its cancellation.
        cancellation?: Option<Cancellation>,
        /// The creatives that are assigned to it.
        creative_assignments?: Vec<Assigned>,
        /// Price, as the pricing option had it.
        price?: PricingOption,
        /// Where the ad server delivers it, as its product said when it was bought; `None` where people
        /// set it up by hand.
        ad_server?: Option<PackageInventory>,
        /// Members of the request that are shown again as they came.
        shown?: ShownMembers,
    }

    /// Time, party and reason of a cancellation (`cancellation`).
    #[derive(Eq)]
    pub struct Cancellation {
        /// Time.
        canceled_at: Timestamp,
        /// Party that canceled.
        canceled_by: Party,
        /// Reason, when one was given.
        reason?: Option<String>,
    }

    /// Pause of a buy by the publisher.
    #[derive(Eq)]
    pub struct SellerHold {
        /// Time.
        since: Timestamp,
        /// Reason, which the buyer reads.
        reason?: Option<String>,
    }

    /// Change made to a buy.
    #[derive(Eq)]
    pub struct BuyHistoryEntry {
        /// Revision that came of it.
        revision: u64,
        /// Time.
        timestamp: Timestamp,
        /// Action.
        action: String,
        /// Action in words for people.
        summary: String,
        /// Author, where that was stored: a tenant, or the name of a member of the publisher's staff. Only
        /// the publisher sees it.
        by?: Option<String>,
    }

    /// Limits for which a proposal was priced.
    pub struct BuyEnvelope {
        /// Maximum cost of the buy.
        total_budget: MoneyAmount,
        /// Earliest start.
        start_time: Timestamp,
        /// Latest end.
        end_time: Timestamp,
    }
}

tradepost_document::words! {
    /// Party that cancels (`enums/canceled-by.json`).
    pub enum Party {
        /// The buyer.
        Buyer = "buyer",
        /// The seller.
        Seller = "seller",
    }

    /// Status of a media buy (`media-buy-status`).
    pub enum MediaBuyStatus {
        /// Waiting for creatives.
        PendingCreatives = "pending_creatives",
        /// Waiting for its start.
        PendingStart = "pending_start",
        /// Running.
        Active = "active",
        /// Paused by the buyer or the publisher.
        Paused = "paused",
        /// Ended with its flight.
        Completed = "completed",
        /// Declined by the publisher.
        Rejected = "rejected",
        /// Canceled.
        Canceled = "canceled",
    }
}

impl MediaBuyStatus {
    /// Returns true for a final status.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Rejected | Self::Canceled)
    }
}

typed_struct! {
    /// Assignment of a creative to a package (`core/creative-assignment.json`).
    pub struct Assigned {
        /// Id of the creative; test fixtures may lack it.
        creative_id: Option<String>;
        /// As it was assigned.
        whole given
    }

    /// Members of a package that are shown as they came, as far as they are parsed.
    #[derive(Default)]
    pub struct ShownMembers {
        /// Time until which its creatives can be changed.
        creative_deadline: Option<Timestamp>,
        /// Bid.
        bid_price: Option<MoneyAmount>,
        /// Targeting (`core/targeting.json`).
        targeting_overlay: Option<Map>,
        /// Goals that it is optimized for.
        optimization_goals: LenientList<PackageGoal>,
        /// Metrics that are to be reported.
        committed_metrics: Option<Vec<Value>>;
        /// All members.
        whole members
    }

    /// Goal that a package is optimized for.
    pub struct PackageGoal {
        /// Unit in which its reach is counted.
        reach_unit: Option<Value>,
    }
}

kept_whole!(Assigned.given, ShownMembers.members);

impl Cancellation {
    /// Creates a cancellation at a moment, without a reason.
    #[must_use]
    pub fn new(canceled_by: Party, canceled_at: Timestamp) -> Self {
        Self { canceled_at, canceled_by, reason: None }
    }
}

impl Assigned {
    /// Returns true if it assigns this creative.
    #[must_use]
    pub fn is(&self, creative_id: &str) -> bool {
        self.creative_id.as_deref() == Some(creative_id)
    }
}

impl ShownMembers {
    /// Reads these members.
    #[must_use]
    pub fn from_members(members: Map) -> Self {
        typed::read(members).unwrap_or_default()
    }

    /// Sets a member, in place of one with the same name.
    pub fn set(&mut self, name: &str, value: Value) {
        let mut members = std::mem::take(&mut self.members);
        members.insert(name.to_owned(), value);
        *self = Self::from_members(members);
    }
}

impl Package {
    /// Returns true if it is live: not canceled.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.cancellation.is_none()
    }

    /// Returns true if it is sold as a deal: the buyer's side shows its creatives.
    #[must_use]
    pub fn is_deal(&self) -> bool {
        self.ad_server.as_ref().is_some_and(|inventory| inventory.deal.is_some())
    }

    /// Returns the deal id of a package of this buy that is sold as a deal.
    #[must_use]
    pub fn deal_id(&self, buy: &MediaBuy) -> Option<ExternalId> {
        let deal = self.ad_server.as_ref()?.deal.as_ref()?;
        let unnamed = || ExternalId::from_unnamed_deal(&buy.media_buy_id, &self.package_id);
        Some(deal.id.clone().unwrap_or_else(unnamed))
    }

    /// Gives the package its id within a buy, and its deal the deal id, if it is sold as one.
    pub fn name(&mut self, media_buy_id: &str, package_id: String) {
        if let Some(deal) = self.ad_server.as_mut().and_then(|inventory| inventory.deal.as_mut()) {
            deal.id = Some(ExternalId::from_deal(media_buy_id, &package_id));
        }
        self.package_id = package_id;
    }

    /// Returns the time until which its creatives can be changed.
    #[must_use]
    pub fn creative_deadline(&self) -> Option<Timestamp> {
        self.shown.creative_deadline
    }

    /// Returns its public view within a buy (`core/package.json`).
    #[must_use]
    pub fn published(&self, buy: &MediaBuy) -> Value {
        let assigned = &self.creative_assignments;
        let cancellation = self.cancellation.as_ref();
        // Packages of older sellers have no such ids, and a sandbox can show one of those.
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
            ("cancellation", cancellation.map(|cancellation| json!(cancellation))),
            ("ext", self.shown_ext(buy)),
        ]);
        // A typed field is current; a member of its name that came with the request is older.
        for (name, value) in self.shown.members.iter().filter(|(name, _)| *name != "ext") {
            shown.entry(name.clone()).or_insert_with(|| value.clone());
        }
        shown.into()
    }

    /// Returns its extensions (`core/ext.json`): the buyer's own, and ours in place of what anybody else says under
    /// our name. AdCP has no other place for a deal id.
    fn shown_ext(&self, buy: &MediaBuy) -> Option<Value> {
        let sent = self.shown.members.get("ext");
        let mut members = sent.and_then(Value::as_object).cloned().unwrap_or_default();
        members.shift_remove(OUR_EXTENSION);
        if let Some(id) = self.deal_id(buy) {
            members.insert(OUR_EXTENSION.to_owned(), json!({"deal_id": id}));
        }
        (!members.is_empty()).then(|| members.into())
    }
}

impl MediaBuy {
    /// Returns true while the buyer has paused it, or the publisher holds it back.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused || self.hold.is_some()
    }

    /// Returns its status at a moment (published state machine): a final status stays, the end of the flight
    /// completes it, and missing creatives and a later start come before a pause.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> MediaBuyStatus {
        if self.status.is_terminal() {
            return self.status;
        }
        if now >= self.end_time {
            return MediaBuyStatus::Completed;
        }
        // Nothing runs when a flight begins: the stored status stays, and the clock decides what it means.
        let waits = self.status == MediaBuyStatus::PendingStart && now < self.start_time;
        match (self.status == MediaBuyStatus::PendingCreatives, waits, self.is_paused()) {
            (true, _, _) => MediaBuyStatus::PendingCreatives,
            (false, true, _) => MediaBuyStatus::PendingStart,
            (false, false, true) => MediaBuyStatus::Paused,
            (false, false, false) => MediaBuyStatus::Active,
        }
    }

    /// Returns the next moment at which its status changes by itself, if there is one after `now`.
    fn changes_after(&self, now: Timestamp) -> Option<Timestamp> {
        let waits = self.status == MediaBuyStatus::PendingStart && now < self.start_time;
        let next = if waits { self.start_time.min(self.end_time) } else { self.end_time };
        (!self.status.is_terminal() && now < next).then_some(next)
    }

    /// Returns true if every live package has a creative, or needs none here.
    #[must_use]
    pub fn has_creatives(&self) -> bool {
        let mut live = self.packages.iter().filter(|package| package.is_live());
        live.all(|package| package.is_deal() || !package.creative_assignments.is_empty())
    }

    /// Updates what follows from the packages: the budget, and whether creatives are missing. A buy that runs
    /// does not go back to waiting for creatives.
    pub fn settle(&mut self) {
        let live = self.packages.iter().filter(|package| package.is_live());
        self.total_budget = live.map(|package| package.budget).sum();
        if self.status == MediaBuyStatus::PendingCreatives && self.has_creatives() {
            self.status = MediaBuyStatus::PendingStart;
        }
    }

    /// Returns the amount that it commits: its budget, or what it has spent once it is canceled.
    #[must_use]
    pub fn committed(&self, spent: MoneyAmount) -> MoneyAmount {
        if self.cancellation.is_some() { spent } else { self.total_budget.max(spent) }
    }

    /// Returns the package with this id.
    #[must_use]
    pub fn package(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.package_id == id)
    }

    /// Returns true if a live package is of this product.
    #[must_use]
    pub fn has(&self, product: &Product) -> bool {
        self.packages.iter().any(|one| one.is_live() && one.product_id == product.id())
    }

    /// Returns the products of live packages.
    pub(crate) fn products(&self, offer: &[Product]) -> Vec<Product> {
        offer.iter().filter(|product| self.has(product)).cloned().collect()
    }

    /// Confirms the buy. A flight that should have begun by then begins now.
    pub fn confirm(&mut self, now: Timestamp) {
        self.confirmed_at = Some(now);
        self.start_time = self.start_time.max(now);
        for package in &mut self.packages {
            if let Some(mut metrics) = package.shown.committed_metrics.clone() {
                // A promise counts from the agreement, and not from the request.
                for metric in metrics.iter_mut().filter_map(Value::as_object_mut) {
                    metric.insert("committed_at".to_owned(), now.to_string().into());
                }
                package.shown.set("committed_metrics", metrics.into());
            }
        }
    }

    /// Adds a change to the history, with its author where known.
    pub fn note(
        &mut self,
        revision: u64,
        now: Timestamp,
        action: &str,
        summary: &str,
        by: Option<&str>,
    ) {
        self.history.push(BuyHistoryEntry {
            revision,
            timestamp: now,
            action: action.to_owned(),
            summary: summary.to_owned(),
            by: by.map(ToOwned::to_owned),
        });
    }
}

impl BuyHistoryEntry {
    /// Returns the public view of a change (`history` of `get_media_buys`).
    #[must_use]
    pub fn published(&self) -> Value {
        json!({
            "revision": self.revision, "timestamp": self.timestamp, "action": self.action,
            "summary": self.summary,
        })
    }
}

/// Has the ad server and the reports follow a media buy that was stored.
fn follow(buy: &MediaBuy, record: &EntityRecord, tx: &dyn StoreTx) -> Result<(), InternalError> {
    let assigned = buy.packages.iter().flat_map(|package| package.creative_assignments.iter());
    let stored = StoredBuy {
        media_buy_id: &buy.media_buy_id,
        ends_at: buy.end_time,
        is_carried: buy.packages.iter().any(|package| package.ad_server.is_some()),
        is_over: buy.status.is_terminal(),
        shows: assigned.filter_map(|one| one.creative_id.clone()).collect(),
    };
    remote_order::mark_buy(stored, record, tx)?;
    match buy.reporting {
        Some(_) => reporting::follow_buy(&buy.media_buy_id, record, tx),
        None => Ok(()),
    }
}

/// Returns the index terms of a buy: its status, its packages, and their creatives.
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

/// Returns the payload about a media buy that was made.
pub(crate) fn created(
    stored: &Stored<MediaBuy>,
    actions: &[AvailableAction],
    account: Option<&Account>,
    now: Timestamp,
) -> Map {
    let sandbox = account.is_some_and(|account| account.sandbox);
    let packages = stored.thing.packages.iter().map(|package| package.published(&stored.thing));
    let mut body = summary(stored, actions, now);
    body.extend(object([
        ("confirmed_at", Some(stored.thing.confirmed_at.map(|at| at.to_string()).into())),
        ("packages", Some(packages.collect())),
        ("proposal_id", stored.thing.proposal_id.clone().map(Into::into)),
        ("account", account.map(|account| account.published().into())),
        ("sandbox", sandbox.then(|| true.into())),
    ]));
    body
}

/// Returns the members that every answer about one buy has: status, money and available actions.
pub(crate) fn summary(
    stored: &Stored<MediaBuy>,
    actions: &[AvailableAction],
    now: Timestamp,
) -> Map {
    let buy = &stored.thing;
    object([
        ("media_buy_id", Some(buy.media_buy_id.clone().into())),
        ("media_buy_status", Some(buy.status_at(now).name().into())),
        ("revision", Some(stored.record.revision.into())),
        ("currency", Some(buy.currency.clone().into())),
        ("total_budget", Some(buy.total_budget.into())),
        ("valid_actions", Some(action::valid(actions))),
        ("available_actions", Some(action::available(actions))),
    ])
}

#[cfg(test)]
mod tests;
