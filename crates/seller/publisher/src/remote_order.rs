//! Media buys at the ad server: what has been made there for a buy, what is in doubt, and what waits. The buy
//! says what is wanted ([`wanted`]), this record what there is, and [`steps`] what has to be done about the
//! difference. A change of the buy or of a creative marks the record in its own transaction, so that no path
//! to a buy can leave the ad server out.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use crate::ad_server::{
    CreativeSize, DealAuction, ExternalId, LineItemSpec, OrderSpec, RemoteId, RemoteState,
};
use crate::store::{
    EntityRecord, FoundBy, IndexField, IndexTerm, New, Query, StoreTx, Stored, kept,
};

mod deal;
pub mod deals;
pub mod delivery;
pub mod progress;
pub mod reconcile;
pub mod seen;
mod step;
pub mod steps;
pub mod wanted;

pub use deal::{DealState, RemoteDeal};
pub use step::RemoteStep;

/// Number of steps that a record remembers.
const REMEMBERED_STEPS: usize = 60;

/// Time between two looks at an order that a person at the ad server has to approve.
pub const APPROVAL_POLL: SignedDuration = SignedDuration::from_mins(5);

kept! {
    /// A media buy at the ad server. Its record has the id, the owner and the account of the buy.
    pub struct RemoteOrder: RemoteOrder by found_by {
        /// The media buy.
        media_buy_id: String,
        /// Phase of the work on it.
        phase: RemotePhase,
        /// Number of changes of the buy and its creatives; work that began before the last is repeated.
        marks: u64,
        /// Time at which it is worked on next; `None` when nothing is to be done.
        due_at?: Option<Timestamp>,
        /// End of the buy's flight, after which nothing stays a draft.
        ends_at: Timestamp,
        /// Number of the order: grows when one is made in place of an order that was undone.
        generation: u32,
        /// Failed attempts since the last success.
        failures?: u32,
        /// Step that was begun and whose outcome is not stored yet.
        begun?: Option<BegunStep>,
        /// The order, once it was made.
        order?: Option<RemoteOrderObject>,
        /// The line items, by package.
        line_items?: BTreeMap<String, RemoteLineItem>,
        /// The creatives, by our id.
        creatives?: BTreeMap<String, RemoteCreative>,
        /// The deals, by package.
        deals?: BTreeMap<String, RemoteDeal>,
        /// True if something was done since it was last compared with the ad server.
        unverified?: bool,
        /// Number of comparisons in a row in which something was gone that the ad server had confirmed.
        vanished?: u32,
        /// True if the ad server has said that it does not have something: what there is is looked up first.
        lost?: bool,
        /// True while the order is being undone because a part of it was refused.
        undoing?: bool,
        /// What a person has to look at; nothing is done before that.
        problem?: Option<RemoteProblem>,
        /// Moment for which it was decided last that no step is left, or at which the step was begun whose refusal
        /// has stopped the work: what had ended by then is not looked at again by itself.
        #[serde(alias = "rested_at")]
        ends_handled_at?: Option<Timestamp>,
        /// Steps done, the oldest first.
        done?: Vec<DoneStep>,
        /// Ids of the creatives that the buy shows, by which it is found.
        shows?: BTreeSet<String>,
        /// Time at which its delivery is asked for next.
        report_due_at?: Option<Timestamp>,
        /// Time at which its delivery was last stored.
        reported_at?: Option<Timestamp>,
    }

    /// Step that was begun.
    pub struct BegunStep {
        /// The step, with what was sent.
        step: RemoteStep,
        /// Time at which it was begun.
        at: Timestamp,
        /// True if the request has ended without an answer that says what it did.
        ended?: bool,
    }

    /// Order at the ad server.
    pub struct RemoteOrderObject {
        /// Its id there.
        id: RemoteId,
        /// Its state, as it was last seen.
        state?: Option<RemoteState>,
        /// What was sent last.
        sent: OrderSpec,
        /// True once it was approved, or sent for approval.
        approved: bool,
    }

    /// Line item at the ad server.
    pub struct RemoteLineItem {
        /// Its id there.
        id: RemoteId,
        /// Its state, as it was last seen.
        state?: Option<RemoteState>,
        /// What was sent last.
        sent: LineItemSpec,
        /// True once it was approved, with its order or by itself.
        approved: bool,
        /// True once it was canceled.
        canceled?: bool,
        /// Our ids of the creatives that are associated with it.
        creatives?: BTreeSet<ExternalId>,
        /// Associations that the ad server has refused.
        refused?: BTreeSet<ExternalId>,
    }

    /// Creative at the ad server.
    pub struct RemoteCreative {
        /// Its id there; `None` when it was refused.
        id?: Option<RemoteId>,
        /// True once it was seen there.
        seen?: bool,
        /// Text of the ad server's refusal.
        refusal?: Option<String>,
    }

    /// What a person has to look at.
    #[derive(Eq)]
    pub struct RemoteProblem {
        /// Time.
        at: Timestamp,
        /// Kind of the problem.
        kind: ProblemKind,
        /// Name of the step that failed.
        step: String,
        /// What is wrong, in the words of the ad server where it has any.
        detail: String,
    }

    /// Step that was done.
    #[derive(Eq)]
    pub struct DoneStep {
        /// Time.
        at: Timestamp,
        /// Name of the step and of what it was done to.
        step: String,
    }

    /// Inventory of a package at the ad server, as its product had it when it was bought.
    #[derive(Eq)]
    pub struct PackageInventory {
        /// Ids at the ad server.
        inventory: Vec<String>,
        /// True if the product is guaranteed.
        is_guaranteed: bool,
        /// Ids of the product's formats.
        formats?: Vec<String>,
        /// Sizes that the product names with its formats.
        sizes?: Vec<CreativeSize>,
        /// The deal that the package becomes; a line item when `None`.
        deal?: Option<PackageDeal>,
    }

    /// Terms of the deal of a package, as its product had them when it was bought.
    #[derive(Eq)]
    pub struct PackageDeal {
        /// Its id. `None` before the package has one, and for deals that were sold before ids were noted.
        id?: Option<ExternalId>,
        /// Auction in which bids meet, where the product says it.
        auction?: Option<DealAuction>,
        /// Seats that may bid; all when empty.
        seats?: Vec<String>,
    }
}

tradepost_document::words! {
    /// Phase of the work on a media buy at the ad server.
    pub enum RemotePhase {
        /// Steps are to be done, or repeated.
        Due = "due",
        /// A person at the ad server has to approve the order.
        Waits = "waits",
        /// A person of the publisher has to act.
        Stopped = "stopped",
        /// The ad server has what was sold.
        Settled = "settled",
    }

    /// Kind of a problem, by what a person has to do.
    pub enum ProblemKind {
        /// The ad server does not accept our credential.
        Credential = "credential",
        /// The credential may not do this.
        Permission = "permission",
        /// The ad server has refused a part of the order for good.
        Refused = "refused",
        /// A person at the ad server has declined the order.
        Declined = "declined",
        /// The ad server confirms objects and does not have them.
        Vanished = "vanished",
        /// The sale cannot be described to the ad server.
        Untranslatable = "untranslatable",
        /// The flight was over before the order was made.
        TooLate = "too_late",
    }
}

impl ProblemKind {
    /// Returns what a person has to do, in a sentence.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Credential => {
                "check the credential in publishers.ad_server, then retry the order"
            }
            Self::Permission => {
                "give the credential the right at the ad server, or do the step there by hand, then retry \
                 the order"
            }
            Self::Refused => {
                "fix what the ad server has refused, then retry the order, or cancel the media buy"
            }
            Self::Declined => "clear it up with those who declined it, or cancel the media buy",
            Self::Vanished => {
                "ask the ad server's support why it loses objects, then retry the order"
            }
            Self::Untranslatable => {
                "set the media buy up by hand, or change the product's terms and sell it again"
            }
            Self::TooLate => "agree with the buyer on another flight, or cancel the media buy",
        }
    }
}

impl RemoteOrder {
    /// States in which work may be due.
    pub const OPEN: [RemotePhase; 3] = [RemotePhase::Due, RemotePhase::Waits, RemotePhase::Stopped];

    fn new(media_buy_id: &str, ends_at: Timestamp, now: Timestamp) -> Self {
        Self {
            media_buy_id: media_buy_id.to_owned(),
            phase: RemotePhase::Due,
            marks: 0,
            due_at: Some(now),
            ends_at,
            generation: 1,
            failures: 0,
            begun: None,
            order: None,
            line_items: BTreeMap::new(),
            creatives: BTreeMap::new(),
            deals: BTreeMap::new(),
            unverified: false,
            vanished: 0,
            lost: false,
            undoing: false,
            problem: None,
            ends_handled_at: None,
            done: Vec::new(),
            shows: BTreeSet::new(),
            report_due_at: None,
            reported_at: None,
        }
    }

    /// Returns the name of the buy in our ids: an order that is made in place of one that was undone is
    /// another object.
    #[must_use]
    pub fn external_name(&self) -> String {
        match self.generation {
            0 | 1 => self.media_buy_id.clone(),
            later => format!("{}.{later}", self.media_buy_id),
        }
    }

    /// Returns true if a line item at the ad server has this creative.
    pub(crate) fn has_creative(&self, id: &ExternalId) -> bool {
        self.line_items.values().any(|item| item.creatives.contains(id))
    }

    /// Returns true if the order was made and is neither approved nor canceled: it must not stay so.
    #[must_use]
    pub fn is_draft(&self) -> bool {
        self.order.as_ref().is_some_and(|order| !order.approved && !order.is_over())
    }

    /// Returns the time at which something is to be done: a step, an end of a draft, or a report.
    #[must_use]
    pub fn next_at(&self) -> Option<Timestamp> {
        [self.step_at(), self.report_due_at].into_iter().flatten().min()
    }

    /// Returns the time at which a step is to be done.
    fn step_at(&self) -> Option<Timestamp> {
        match self.phase {
            RemotePhase::Due | RemotePhase::Waits => self.due_at,
            RemotePhase::Stopped | RemotePhase::Settled => self.ends_next_at(),
        }
    }

    /// Returns the time at which what is open has to be ended without a change of the buy: a draft or a deal
    /// whose flight is over. Where it was refused then, or nothing was to be done, it is not looked at again.
    fn ends_next_at(&self) -> Option<Timestamp> {
        let draft = self.is_draft().then_some(self.ends_at);
        let deals = self.deals.values().flat_map(|deal| deal.ends(self.ends_at));
        let is_ahead = |end: &Timestamp| self.ends_handled_at.is_none_or(|at| *end > at);
        draft.into_iter().chain(deals).filter(is_ahead).min()
    }

    /// Returns true if a step, and not only a report, is due.
    #[must_use]
    pub fn has_steps(&self, now: Timestamp) -> bool {
        self.step_at().is_some_and(|at| at <= now)
    }

    /// Has it worked on again, on behalf of a person: what was refused is asked for again, and an order that
    /// was undone is made anew.
    pub fn retry(&mut self, now: Timestamp) {
        let was_undone = self.undoing || self.order.as_ref().is_some_and(|order| order.is_over());
        if was_undone && self.begun.is_none() {
            self.generation += 1;
            self.order = None;
            self.line_items.clear();
        }
        self.undoing = false;
        self.problem = None;
        self.failures = 0;
        self.vanished = 0;
        // Deals alone leave nothing to be verified.
        self.unverified |= self.order.is_some();
        self.creatives.retain(|_, creative| creative.refusal.is_none());
        for line_item in self.line_items.values_mut() {
            line_item.refused.clear();
        }
        for deal in self.deals.values_mut() {
            deal.retry();
        }
        self.marks += 1;
        self.phase = RemotePhase::Due;
        self.due_at = Some(now);
    }

    /// Notes that a step was done.
    fn note(&mut self, step: &RemoteStep, now: Timestamp) {
        self.done.push(DoneStep { at: now, step: step.describe() });
        if self.done.len() > REMEMBERED_STEPS {
            self.done.remove(0);
        }
    }

    /// Has it worked on because the buy or a creative of it has changed.
    fn mark(&mut self, now: Timestamp) {
        self.marks += 1;
        // What was undone stays so until a person has fixed it, or the buy is canceled. Its deals go on.
        if !self.undoing || !self.deals.is_empty() {
            self.phase = RemotePhase::Due;
            self.due_at = Some(now);
        }
    }
}

impl RemoteOrderObject {
    /// Returns true if nothing more can become of it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state, Some(RemoteState::Canceled | RemoteState::Rejected))
    }
}

/// Returns the index terms of a media buy at the ad server: its phase, the creatives that it shows, and its line
/// items, by which the ad server's exports name it.
fn found_by(order: &RemoteOrder, _: Timestamp) -> FoundBy {
    let shown = order.shows.iter().map(|id| IndexTerm::new(IndexField::Creative, id));
    let line_items = order.line_items.values();
    let line_items = line_items.map(|item| IndexTerm::new(IndexField::LineItem, &item.id.0));
    FoundBy {
        state: Some(order.phase.name()),
        class: order
            .problem
            .as_ref()
            .map(|problem| problem.kind.name().to_owned())
            .unwrap_or_default(),
        changes_at: order.next_at(),
        terms: shown.chain(line_items).collect(),
    }
}

/// Media buy that was stored, as far as its record here depends on it.
#[derive(Debug)]
pub(crate) struct StoredBuy<'a> {
    /// Its id.
    pub media_buy_id: &'a str,
    /// End of its flight.
    pub ends_at: Timestamp,
    /// True if an ad server delivers a package of it.
    pub is_carried: bool,
    /// True if its status is final.
    pub is_over: bool,
    /// Ids of the creatives that it shows.
    pub shows: BTreeSet<String>,
}

/// Has the ad server follow a media buy that was stored. Nothing is read for a buy of which it delivers nothing, or
/// that is new: packages keep what their product said when they were bought, so that there is no record of such a
/// buy. Whether an ad server is configured does not count: one that is configured later makes what was sold before.
pub(crate) fn mark_buy(
    buy: StoredBuy<'_>,
    record: &EntityRecord,
    tx: &dyn StoreTx,
) -> Result<(), InternalError> {
    if !buy.is_carried {
        return Ok(());
    }
    let now = record.updated_at;
    let known = match record.revision {
        1 => None,
        _ => tx.find::<RemoteOrder>(&record.id)?,
    };
    match known {
        None => {
            let order = RemoteOrder::new(buy.media_buy_id, buy.ends_at, now);
            let order = RemoteOrder { shows: buy.shows, ..order };
            let account = record.account.as_deref();
            let new = New { id: &record.id, owner: &record.owner, account, state: "", now };
            tx.add(new, &order)
        }
        Some(mut known) => {
            known.thing.mark(now);
            known.thing.ends_at = buy.ends_at;
            known.thing.shows = buy.shows;
            if buy.is_over {
                known.thing.phase = RemotePhase::Due;
                known.thing.due_at = Some(now);
            }
            tx.change(&mut known, now)
        }
    }
}

/// Returns the records of the media buys that show a creative.
pub(crate) fn orders_showing(
    creative_id: &str,
    record: &EntityRecord,
    tx: &dyn StoreTx,
) -> Result<Vec<Stored<RemoteOrder>>, InternalError> {
    let query = Query {
        owner: Some(record.owner.clone()),
        account: record.account.clone(),
        ..Query::default()
    };
    tx.all(&query.led_to_by(IndexField::Creative, creative_id))
}

/// Has the ad server follow a creative of these orders that was stored.
pub(crate) fn mark_orders(
    orders: Vec<Stored<RemoteOrder>>,
    tx: &dyn StoreTx,
    now: Timestamp,
) -> Result<(), InternalError> {
    for mut order in orders {
        order.thing.mark(now);
        tx.change(&mut order, now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
