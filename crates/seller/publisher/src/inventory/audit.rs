//! Comparison of the books with the media buys, tasks and proposals from which everything in them comes, and
//! their repair. It reads every media buy, and is meant for operators.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::Date;
use tradepost_document::fault::InternalError;

use super::record::{InventoryBooking, PoolDay, PoolHold, PoolMonth};
use super::wanted::WantedUnits;
use super::{InventoryContext, ledger};
use crate::account::Account;
use crate::buy::MediaBuy;
use crate::proposal::{self, Proposal};
use crate::publisher::Publisher;
use crate::store::{Entity, EntityRecord, Query, StoreRead, StoreTx, Stored};
use crate::task::SubmittedTask;

/// Number of records that are read at once.
const READ_AT_ONCE: usize = 500;

tradepost_document::words! {
    /// Part of the books that differs.
    pub enum BookSubject {
        /// What a media buy has booked.
        MediaBuy = "media_buy",
        /// What is booked of a pool on a day.
        Booked = "booked",
        /// What is held of a pool on a day.
        Held = "held",
    }
}

/// Difference between the books and what they are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookDifference {
    /// The part of the books.
    pub subject: BookSubject,
    /// Id of the media buy, or the pool.
    pub id: String,
    /// The day; `None` for a media buy.
    pub day: Option<Date>,
    /// True for what is booked for tests.
    pub is_sandbox: bool,
    /// Units in the books.
    pub counted: u64,
    /// Units that there should be.
    pub expected: u64,
}

/// Books of a publisher.
#[derive(Debug, Default)]
struct Books {
    /// What each media buy has booked, by its id.
    bookings: BTreeMap<String, InventoryBooking>,
    /// What is booked of live pools, and of those for tests.
    live: BTreeMap<PoolDay, u64>,
    tests: BTreeMap<PoolDay, u64>,
    /// Holds of live pools, and of those for tests, by proposal.
    live_holds: BTreeMap<String, HeldUnits>,
    test_holds: BTreeMap<String, HeldUnits>,
}

/// Units that a proposal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HeldUnits {
    expires_at: Timestamp,
    days: BTreeMap<PoolDay, u64>,
}

/// Compares the books with what they are made from. Returns nothing when they are right.
///
/// # Errors
/// When the store fails.
pub fn check(
    publisher: &Publisher,
    reader: &dyn StoreRead,
    now: Timestamp,
) -> Result<Vec<BookDifference>, InternalError> {
    let counted = Books::read(reader, now)?;
    let expected = Books::work_out(publisher, reader, &counted, now)?;
    Ok(counted.differences(&expected))
}

/// Writes the books anew. Returns what differed before.
///
/// # Errors
/// When the store fails.
pub fn repair(
    publisher: &Publisher,
    tx: &dyn StoreTx,
    now: Timestamp,
) -> Result<Vec<BookDifference>, InternalError> {
    let counted = Books::read(tx, now)?;
    let expected = Books::work_out(publisher, tx, &counted, now)?;
    let differences = counted.differences(&expected);
    let holders: BTreeSet<&String> =
        counted.bookings.keys().chain(expected.bookings.keys()).collect();
    for holder in holders {
        match (counted.bookings.get(holder), expected.bookings.get(holder)) {
            (before, Some(after)) if before != Some(after) => {
                ledger::keep(tx, holder, after, now)?;
            }
            (Some(_), None) => {
                tx.remove(InventoryBooking::KIND, holder)?;
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }
    for is_sandbox in [false, true] {
        let old = counted.booked(is_sandbox);
        let new = expected.booked(is_sandbox);
        for place in old.keys().chain(new.keys()).filter(|place| old.get(place) != new.get(place)) {
            let units = new.get(place).copied().unwrap_or_default();
            let key = ledger::MonthKey::new(place);
            ledger::change_month(tx, &key, is_sandbox, now, |month| {
                ledger::set(&mut month.booked, place, units);
            })?;
        }
        if counted.holds(is_sandbox) == expected.holds(is_sandbox) {
            continue;
        }
        for mut stored in all::<PoolMonth>(tx)? {
            if stored.thing.is_sandbox == is_sandbox && !stored.thing.holds.is_empty() {
                stored.thing.holds.clear();
                tx.change(&mut stored, now)?;
            }
        }
        for (holder, held) in expected.holds(is_sandbox) {
            ledger::hold(tx, holder, &held.days, held.expires_at, is_sandbox, now)?;
        }
    }
    Ok(differences)
}

impl Books {
    /// Reads the books as they are.
    fn read(reader: &dyn StoreRead, now: Timestamp) -> Result<Self, InternalError> {
        let mut books = Self::default();
        for stored in all::<InventoryBooking>(reader)? {
            books.bookings.insert(stored.record.id, stored.thing);
        }
        for stored in all::<PoolMonth>(reader)? {
            let month = stored.thing;
            for (day, units) in &month.booked {
                books.booked_mut(month.is_sandbox).insert(PoolDay::new(&month.pool, *day), *units);
            }
            for hold in month.holds.iter().filter(|hold| hold.expires_at > now) {
                let PoolHold { holder, expires_at, days } = hold;
                let held = HeldUnits { expires_at: *expires_at, days: BTreeMap::new() };
                let holds = books.holds_mut(month.is_sandbox);
                let held = holds.entry(holder.clone()).or_insert(held);
                let days =
                    days.iter().map(|(day, units)| (PoolDay::new(&month.pool, *day), *units));
                held.days.extend(days);
            }
        }
        Ok(books)
    }

    /// Works the books out from media buys, tasks and proposals. What has run of a buy is only in the books,
    /// and is taken from there.
    fn work_out(
        publisher: &Publisher,
        reader: &dyn StoreRead,
        counted: &Self,
        now: Timestamp,
    ) -> Result<Self, InternalError> {
        let offer = publisher.products(reader)?;
        let mut books = Self::default();
        let mut accounts = KnownAccounts { reader, known: BTreeMap::new() };
        let context =
            |is_sandbox| InventoryContext::new(&publisher.profile, &offer, is_sandbox, now);
        for stored in all::<MediaBuy>(reader)? {
            let is_sandbox = accounts.is_sandbox(&stored.record)?;
            books.add_buy(&context(is_sandbox), &stored.thing, counted);
        }
        for stored in all::<SubmittedTask>(reader)? {
            if let Some(draft) = stored.thing.draft.as_ref().filter(|_| stored.thing.is_open()) {
                let is_sandbox = accounts.is_sandbox(&stored.record)?;
                books.add_buy(&context(is_sandbox), draft, counted);
            }
        }
        let committed = proposal::ProposalStatus::Committed;
        for stored in all::<Proposal>(reader)? {
            let proposal = &stored.thing;
            let is_held = proposal.status == committed
                && proposal.bought_as.is_none()
                && !proposal.is_expired(now);
            if is_held {
                let account = accounts.find(&stored.record)?;
                let is_sandbox = account.is_some_and(|account| account.sandbox);
                books.add_hold(&context(is_sandbox), proposal, account);
            }
        }
        Ok(books)
    }

    /// Adds what a media buy should have booked.
    fn add_buy(&mut self, context: &InventoryContext<'_>, buy: &MediaBuy, counted: &Self) {
        let known = counted.bookings.get(&buy.media_buy_id);
        let packages = context.packages_of(buy, known);
        if packages.is_empty() {
            return;
        }
        let booking = InventoryBooking { is_sandbox: context.is_sandbox, packages };
        let booked = self.booked_mut(context.is_sandbox);
        for (place, units) in booking.days() {
            let sum = booked.entry(place).or_default();
            *sum = sum.saturating_add(units);
        }
        self.bookings.insert(buy.media_buy_id.clone(), booking);
    }

    /// Adds what a committed proposal should hold.
    fn add_hold(
        &mut self,
        context: &InventoryContext<'_>,
        proposal: &Proposal,
        account: Option<&Account>,
    ) {
        let wanted = WantedUnits::from_proposal(context, proposal, account, "");
        let mut days = context.days_of_wanted(&wanted);
        days.retain(|_, units| *units > 0);
        if !days.is_empty() {
            let held = HeldUnits { expires_at: proposal.expires_at, days };
            self.holds_mut(context.is_sandbox).insert(proposal.proposal_id.clone(), held);
        }
    }

    fn booked(&self, is_sandbox: bool) -> &BTreeMap<PoolDay, u64> {
        if is_sandbox { &self.tests } else { &self.live }
    }

    fn booked_mut(&mut self, is_sandbox: bool) -> &mut BTreeMap<PoolDay, u64> {
        if is_sandbox { &mut self.tests } else { &mut self.live }
    }

    fn holds(&self, is_sandbox: bool) -> &BTreeMap<String, HeldUnits> {
        if is_sandbox { &self.test_holds } else { &self.live_holds }
    }

    fn holds_mut(&mut self, is_sandbox: bool) -> &mut BTreeMap<String, HeldUnits> {
        if is_sandbox { &mut self.test_holds } else { &mut self.live_holds }
    }

    /// Returns the units of a pool and day that proposals hold.
    fn held(&self, is_sandbox: bool) -> BTreeMap<PoolDay, u64> {
        let mut sums = BTreeMap::new();
        for held in self.holds(is_sandbox).values() {
            for (place, units) in &held.days {
                *sums.entry(place.clone()).or_default() += units;
            }
        }
        sums
    }

    /// Returns the differences between these books and the expected ones.
    fn differences(&self, expected: &Self) -> Vec<BookDifference> {
        let mut differences = Vec::new();
        let holders: BTreeSet<&String> =
            self.bookings.keys().chain(expected.bookings.keys()).collect();
        for holder in holders {
            let counted = self.bookings.get(holder);
            let wanted = expected.bookings.get(holder);
            if counted == wanted {
                continue;
            }
            let units = |booking: Option<&InventoryBooking>| {
                booking.map_or(0, |booking| booking.days().values().sum())
            };
            differences.push(BookDifference {
                subject: BookSubject::MediaBuy,
                id: holder.clone(),
                day: None,
                is_sandbox: wanted.or(counted).is_some_and(|booking| booking.is_sandbox),
                counted: units(counted),
                expected: units(wanted),
            });
        }
        for is_sandbox in [false, true] {
            for (subject, old, new) in [
                (BookSubject::Booked, self.booked(is_sandbox), expected.booked(is_sandbox)),
                (BookSubject::Held, &self.held(is_sandbox), &expected.held(is_sandbox)),
            ] {
                let places: BTreeSet<&PoolDay> = old.keys().chain(new.keys()).collect();
                for place in places.into_iter().filter(|place| old.get(place) != new.get(place)) {
                    differences.push(BookDifference {
                        subject,
                        id: place.pool.clone(),
                        day: Some(place.day),
                        is_sandbox,
                        counted: old.get(place).copied().unwrap_or_default(),
                        expected: new.get(place).copied().unwrap_or_default(),
                    });
                }
            }
        }
        differences
    }
}

/// Accounts that were looked up.
struct KnownAccounts<'a> {
    reader: &'a dyn StoreRead,
    known: BTreeMap<String, Option<Account>>,
}

impl KnownAccounts<'_> {
    /// Returns the account of a record.
    fn find(&mut self, record: &EntityRecord) -> Result<Option<&Account>, InternalError> {
        let Some(id) = &record.account else { return Ok(None) };
        if !self.known.contains_key(id) {
            let found = self.reader.find::<Account>(id)?.map(|stored| stored.thing);
            self.known.insert(id.clone(), found);
        }
        Ok(self.known.get(id).and_then(Option::as_ref))
    }

    /// Returns true if a record is of a test account.
    fn is_sandbox(&mut self, record: &EntityRecord) -> Result<bool, InternalError> {
        Ok(self.find(record)?.is_some_and(|account| account.sandbox))
    }
}

/// Reads all entities of a type.
fn all<T: Entity>(reader: &(impl StoreRead + ?Sized)) -> Result<Vec<Stored<T>>, InternalError> {
    let mut query = Query { limit: READ_AT_ONCE, ..Query::default() };
    let mut found = Vec::new();
    loop {
        let page = reader.list(T::KIND, &query)?;
        let is_last = page.len() < READ_AT_ONCE;
        query.continue_behind(page.iter());
        for record in page {
            found.push(Stored::read(record)?);
        }
        if is_last {
            return Ok(found);
        }
    }
}
