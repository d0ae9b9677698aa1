//! Proposals of media plans, as stored: drafts with indicative prices, and committed ones that can be bought
//! until they expire.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tradepost_adcp::error::AdcpCode;
use tradepost_document::canonical;
use tradepost_document::format::hex;
use tradepost_document::json::{Value, json, to_value};

use crate::catalogue::Product;
use crate::exclusive::ExclusiveDays;
use crate::money::MoneyAmount;
use crate::refusals::{self, ToolError};
use crate::reply::object;
use crate::resolve::CallerReach;
use crate::store::{FoundBy, IndexField, IndexTerm, StoreRead, Stored, kept};

kept! {
    /// A proposal. Its id is that of its record.
    pub struct Proposal: Proposal by found_by {
        /// Its id.
        proposal_id: String,
        /// Its name for people.
        name: String,
        /// Explanation of its composition.
        description: String,
        /// Status.
        status: ProposalStatus,
        /// End of its prices, or of the hold on its inventory.
        expires_at: Timestamp,
        /// Division of the budget; the percentages add up to 100.
        allocations: Vec<ProposalAllocation>,
        /// Limits against which it was priced.
        envelope: ProposalEnvelope,
        /// Id of the insertion order of a committed proposal; the buyer refers to it and need not sign it.
        io_id?: Option<String>,
        /// Media buy that it became; a proposal is bought once.
        bought_as?: Option<String>,
    }

    /// Share of a product in a proposal's budget.
    pub struct ProposalAllocation {
        /// The product.
        product_id: String,
        /// Pricing option.
        pricing_option_id: String,
        /// Share of the budget, in whole percent.
        percentage: u32,
        /// Reason for it.
        rationale: String,
    }
}

/// Status of a proposal (`enums/proposal-status.json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalStatus {
    /// Its prices are indicative.
    Draft,
    /// Its prices are firm and its inventory is held.
    Committed,
}

tradepost_document::words! {
    /// Status of a proposal for the publisher's staff, which counts ended ones apart.
    pub enum State {
        /// Its prices are indicative.
        Draft = "draft",
        /// Its prices are firm and its inventory is held.
        Committed = "committed",
        /// Ended: it can no longer be bought.
        Expired = "expired",
        /// A media buy has come of it, or waits for approval.
        Bought = "bought",
    }
}

/// Limits against which a proposal was priced; a purchase outside them has to be quoted anew
/// (`REQUOTE_REQUIRED`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProposalEnvelope {
    /// The currency of its prices (ISO 4217).
    pub currency: String,
    /// The budget that the brief named, in that currency.
    pub budget: Option<MoneyAmount>,
    /// Smallest budget with which every product gets its minimum.
    pub minimum: Option<MoneyAmount>,
    /// The first day of the flight, when one was named (`2026-07-01`).
    pub start_date: Option<String>,
    /// The last day of the flight, when one was named.
    pub end_date: Option<String>,
    /// Countries where it is to run, when they were named (ISO 3166-1 alpha-2).
    pub countries: Vec<String>,
}

/// Time for which an expired proposal is still known as expired.
const EXPIRED_RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Returns the index terms of a proposal: a draft is found by its content, until it is forgotten.
fn found_by(proposal: &Proposal, _: Timestamp) -> FoundBy {
    let is_draft = proposal.status == ProposalStatus::Draft;
    FoundBy {
        changes_at: is_draft.then(|| proposal.forgotten_at()),
        terms: proposal.content().filter(|_| is_draft).into_iter().collect(),
        ..FoundBy::default()
    }
}

/// Maximum budget that a proposal can carry, in percent of the one that it was priced against.
const MAX_BUDGET_PERCENT: MoneyAmount = MoneyAmount::whole(120);

/// True when insertion orders have to be signed.
pub(crate) const SIGNED: bool = false;

impl Proposal {
    /// Returns true if it can no longer be refined, finalized or bought.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// Returns its status at a moment.
    #[must_use]
    pub fn state_at(&self, now: Timestamp) -> State {
        if self.bought_as.is_some() {
            return State::Bought;
        }
        if self.is_expired(now) {
            return State::Expired;
        }
        match self.status {
            ProposalStatus::Draft => State::Draft,
            ProposalStatus::Committed => State::Committed,
        }
    }

    /// Returns the time at which a draft is removed.
    pub(crate) fn forgotten_at(&self) -> Timestamp {
        self.expires_at.checked_add(EXPIRED_RETENTION).unwrap_or(Timestamp::MAX)
    }

    /// Returns the index term of proposals with the same content; `None` when it cannot be written.
    pub(crate) fn content(&self) -> Option<IndexTerm> {
        let Self { name, description, allocations, envelope, .. } = self;
        let content = to_value((name, description, allocations, envelope)).ok()?;
        let digest = hex(&Sha256::digest(canonical::to_string(&content)));
        Some(IndexTerm::new(IndexField::Content, &digest))
    }

    /// Returns true if it says the same as another, whatever their ids and their expiry.
    pub(crate) fn says_what(&self, other: &Self) -> bool {
        let Self { proposal_id: _, name, description, status, expires_at: _, .. } = self;
        (name, description, status) == (&other.name, &other.description, &other.status)
            && self.allocations == other.allocations
            && self.envelope == other.envelope
            && self.io_id == other.io_id
    }

    /// Returns the members of a purchase that are outside of what the proposal was priced against:
    /// `total_budget`, `start_time` or `end_time`. A budget in another currency is outside too.
    #[must_use]
    pub fn outside(
        &self,
        budget: MoneyAmount,
        currency: &str,
        start: Timestamp,
        end: Timestamp,
    ) -> Vec<&'static str> {
        let envelope = &self.envelope;
        let mut outside = Vec::new();
        let most = envelope.budget.map(|budget| budget.percent(MAX_BUDGET_PERCENT));
        let too_much = most.is_some_and(|most| budget > most);
        let too_little = envelope.minimum.is_some_and(|least| budget < least);
        if currency != envelope.currency || too_much || too_little {
            outside.push("total_budget");
        }
        // Compared as texts: both are dates of ISO 8601 in UTC, whose text sorts by time.
        let day = |moment: Timestamp| moment.to_string().chars().take(10).collect::<String>();
        if envelope.start_date.as_ref().is_some_and(|first| day(start) < *first) {
            outside.push("start_time");
        }
        // An end is not part of its flight: midnight counts as the day before.
        let end = end.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(end);
        if envelope.end_date.as_ref().is_some_and(|last| day(end) > *last) {
            outside.push("end_time");
        }
        outside
    }

    /// Returns the days of exclusive products that it wants; none while its flight is not known. `field`
    /// names the place in the request.
    pub(crate) fn exclusive_days(
        &self,
        products: &[Product],
        is_sandbox: bool,
        field: &str,
    ) -> Vec<ExclusiveDays> {
        let ProposalEnvelope { start_date, end_date, .. } = &self.envelope;
        let day = |text: &Option<String>| text.as_ref()?.parse::<Date>().ok();
        let Some(first_day) = day(start_date) else { return Vec::new() };
        let Some(last_day) = day(end_date) else { return Vec::new() };
        let ids = self.allocations.iter().map(|part| &part.product_id);
        let exclusive = ids.filter(|id| {
            products.iter().any(|product| product.id() == id.as_str() && product.is_exclusive())
        });
        let days = exclusive.map(|id| ExclusiveDays {
            product_id: id.clone(),
            is_sandbox,
            first_day,
            last_day,
            field: field.to_owned(),
        });
        days.collect()
    }

    /// Divides a budget, in the order of the allocations. The remainder of rounding to cents goes to the first.
    #[must_use]
    pub fn divide(&self, budget: MoneyAmount) -> Vec<(&ProposalAllocation, MoneyAmount)> {
        let share = |part: &ProposalAllocation| {
            budget.portion(
                MoneyAmount::whole(part.percentage),
                MoneyAmount::whole(100),
                MoneyAmount::CENT,
            )
        };
        let mut shares: Vec<_> = self.allocations.iter().map(|part| (part, share(part))).collect();
        let rest = budget - shares.iter().map(|(_, share)| *share).sum();
        if let Some((_, first)) = shares.first_mut() {
            *first += rest;
        }
        shares
    }

    /// Returns its published form (`core/proposal.json`).
    #[must_use]
    pub fn published(&self) -> Value {
        let allocations = self.allocations.iter().enumerate().map(|(index, part)| {
            json!({
                "product_id": part.product_id,
                "allocation_percentage": part.percentage,
                "pricing_option_id": part.pricing_option_id,
                "rationale": part.rationale,
                "sequence": index + 1,
            })
        });
        let order = |io_id| json!({"io_id": io_id, "requires_signature": SIGNED});
        let ProposalEnvelope { currency, minimum, budget, .. } = &self.envelope;
        let guidance = object([
            ("currency", Some(json!(currency))),
            ("min", minimum.map(Into::into)),
            ("recommended", budget.map(Into::into)),
            ("max", budget.map(|budget| budget.percent(MAX_BUDGET_PERCENT).into())),
        ]);
        Value::Object(object([
            ("proposal_id", Some(json!(self.proposal_id))),
            ("name", Some(json!(self.name))),
            ("description", Some(json!(self.description))),
            ("allocations", Some(allocations.collect())),
            ("proposal_status", Some(json!(self.status))),
            ("expires_at", Some(json!(self.expires_at))),
            ("total_budget_guidance", Some(guidance.into())),
            ("insertion_order", self.io_id.as_ref().map(order)),
        ]))
    }
}

/// Returns the caller's proposal with this id, when it has not expired. `field` is the member that named it.
///
/// # Errors
/// `PROPOSAL_NOT_FOUND` and `PROPOSAL_EXPIRED`.
pub(crate) fn current(
    reach: &CallerReach,
    reader: &dyn StoreRead,
    id: &str,
    field: &str,
    now: Timestamp,
) -> Result<Stored<Proposal>, ToolError> {
    let stored: Stored<Proposal> =
        reach.require(reader, id, AdcpCode::ProposalNotFound, Some(field))?;
    if stored.thing.is_expired(now) {
        let message = "the proposal was good until a moment that has passed; ask for another";
        return Err(refusals::at(AdcpCode::ProposalExpired, field, message).into());
    }
    Ok(stored)
}

/// Returns the caller's proposal with this id, when it can be bought.
///
/// # Errors
/// `PROPOSAL_NOT_FOUND`, `PROPOSAL_EXPIRED`, `PROPOSAL_NOT_COMMITTED`, and `INVALID_STATE` if it was bought.
pub(crate) fn committed(
    reach: &CallerReach,
    reader: &dyn StoreRead,
    id: &str,
    field: &str,
    now: Timestamp,
) -> Result<Stored<Proposal>, ToolError> {
    let stored = current(reach, reader, id, field, now)?;
    match stored.thing.status {
        ProposalStatus::Committed => match &stored.thing.bought_as {
            None => Ok(stored),
            Some(media_buy_id) => {
                let message = "the proposal was bought already, as details.media_buy_id; ask for \
                               another one with get_products";
                let error = refusals::at(AdcpCode::InvalidState, field, message);
                Err(error.with("media_buy_id", media_buy_id.as_str()).into())
            }
        },
        ProposalStatus::Draft => {
            let message = "the proposal is a draft; finalize it with get_products before buying";
            Err(refusals::at(AdcpCode::ProposalNotCommitted, field, message).into())
        }
    }
}
