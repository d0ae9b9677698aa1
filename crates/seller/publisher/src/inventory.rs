//! Inventory that is counted here, without an ad server: units of pools by day. Each pool has one record for
//! each month with the sum of what is booked, which a purchase reads and writes in its own transaction, so that
//! of two buyers of the last units only one gets them. Each media buy has one record with what it has booked,
//! so that exactly that is released, whatever the catalogue says by then.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tradepost_adcp::error::AdcpError;
use tradepost_document::fault::InternalError;

use crate::account::Account;
use crate::buy::MediaBuy;
use crate::catalogue::Product;
use crate::profile::PublisherProfile;
use crate::proposal::Proposal;
use crate::store::{StoreRead, StoreTx};

pub mod audit;
mod delivered;
mod forecast;
mod ledger;
mod quantity;
mod record;
mod shortage;
mod wanted;

pub(crate) use self::delivered::count_delivery;
pub(crate) use self::forecast::{AvailabilityDays, PoolsLeft};
pub use self::quantity::PackageQuantity;
pub(crate) use self::quantity::pool_capacity;
pub use self::record::{BookedPackage, InventoryBooking, PoolHold, PoolMonth, UnitRun};
pub(crate) use self::record::{PoolDay, each_day, each_month, month_id};
pub(crate) use self::wanted::WantedUnits;

/// What inventory is counted by: the offer, the days of the publisher, and the moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InventoryContext<'a> {
    /// Products on offer.
    pub offer: &'a [Product],
    /// Time zone in which days begin.
    pub zone: &'a TimeZone,
    /// True for a test account, which takes nothing from live ones.
    pub is_sandbox: bool,
    /// Current time.
    pub now: Timestamp,
}

impl<'a> InventoryContext<'a> {
    /// Creates the context of live or test accounts at a moment.
    pub(crate) fn new(
        profile: &'a PublisherProfile,
        offer: &'a [Product],
        is_sandbox: bool,
        now: Timestamp,
    ) -> Self {
        Self { offer, zone: &profile.catalogue.inventory.time_zone, is_sandbox, now }
    }
}

impl InventoryContext<'_> {
    /// Returns the current day of the publisher.
    pub(crate) fn today(&self) -> Date {
        self.day_of(self.now)
    }

    fn day_of(&self, moment: Timestamp) -> Date {
        moment.to_zoned(self.zone.clone()).date()
    }

    /// Returns a refusal for each package for whose units too little is left. `holder` is the media buy that is
    /// changed, and `held_by` the proposal that is bought: what they have does not stand in their way.
    pub(crate) fn shortages(
        &self,
        reader: &dyn StoreRead,
        wanted: &[WantedUnits],
        holder: Option<&MediaBuy>,
        held_by: Option<&str>,
    ) -> Result<Vec<AdcpError>, InternalError> {
        shortage::find(self, reader, wanted, holder, held_by)
    }

    /// Books the units that a buy has after it was made or changed, in place of what it had before. Nothing is
    /// refused here: what there is was checked in the same transaction.
    pub(crate) fn rebook_buy(&self, tx: &dyn StoreTx, buy: &MediaBuy) -> Result<(), InternalError> {
        let id = &buy.media_buy_id;
        let known = tx.find::<InventoryBooking>(id)?.map(|stored| stored.thing);
        let is_counted = self.counts_any(buy);
        if known.is_none() && !is_counted {
            return Ok(());
        }
        let packages = self.packages_of(buy, known.as_ref());
        let booking = InventoryBooking { is_sandbox: self.is_sandbox, packages };
        ledger::replace(tx, id, known.as_ref(), Some(&booking), self.now)
    }

    /// Holds the units of a proposal until it expires.
    pub(crate) fn hold_proposal(
        &self,
        tx: &dyn StoreTx,
        proposal: &Proposal,
        account: Option<&Account>,
    ) -> Result<(), InternalError> {
        let wanted = WantedUnits::from_proposal(self, proposal, account, "proposal_id");
        let days = self.days_of_wanted(&wanted);
        let until = proposal.expires_at;
        ledger::hold(tx, &proposal.proposal_id, &days, until, self.is_sandbox, self.now)
    }

    /// Releases the units that a proposal holds.
    pub(crate) fn release_proposal(
        &self,
        tx: &dyn StoreTx,
        proposal: &Proposal,
    ) -> Result<(), InternalError> {
        let ids = proposal.allocations.iter().map(|part| part.product_id.as_str());
        let products = self.offer.iter().filter(|product| ids.clone().any(|id| id == product.id()));
        let pools: BTreeSet<&str> = products.filter_map(Product::pool).collect();
        let Some(days) = wanted::proposal_days(proposal) else { return Ok(()) };
        ledger::release_holds(tx, &proposal.proposal_id, &pools, days, self.is_sandbox, self.now)
    }

    /// Returns the units of each pool and day that packages want which have nothing yet.
    pub(crate) fn days_of_wanted(&self, wanted: &[WantedUnits]) -> BTreeMap<PoolDay, u64> {
        let mut days = BTreeMap::new();
        for one in wanted {
            for (day, units) in one.spread(self.offer, one.first_day, 0) {
                *days.entry(PoolDay::new(&one.pool, day)).or_default() += units;
            }
        }
        days
    }
}

/// Moves what a buy that waits has booked to the id under which it is made.
pub(crate) fn rename_holder(
    tx: &dyn StoreTx,
    buy: &MediaBuy,
    new_id: &str,
    now: Timestamp,
) -> Result<(), InternalError> {
    let Some(stored) = tx.find::<InventoryBooking>(&buy.media_buy_id)? else { return Ok(()) };
    tx.remove(stored.record.kind, &stored.record.id)?;
    ledger::keep(tx, new_id, &stored.thing, now)
}

/// Releases everything that a buy has booked which is not made.
pub(crate) fn release_buy(
    tx: &dyn StoreTx,
    buy: &MediaBuy,
    now: Timestamp,
) -> Result<(), InternalError> {
    let known = tx.find::<InventoryBooking>(&buy.media_buy_id)?.map(|stored| stored.thing);
    ledger::replace(tx, &buy.media_buy_id, known.as_ref(), None, now)
}
