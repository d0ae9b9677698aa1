//! By what things are found and counted without reading all of them: the columns and the lookup table of the
//! store, and how a query uses them.
//!
//! A status that changes with the time (a media buy begins and ends by itself) is written down as it is at
//! the moment of writing, with the moment from which on it is another one. Things whose moment has come are
//! few, because [`Publisher::tick`](crate::publisher::Publisher::tick) writes them anew; a query for a status
//! reads those few and judges each by itself.

use std::cmp::Ordering;

use jiff::Timestamp;
use tradepost_wire::fault::InternalError;

use super::{Entity, EntityRecord, StoreTx, Stored};

tradepost_wire::words! {
    /// What an index term is about, by its name in the store.
    pub enum IndexField {
        /// A package of a media buy, by its id.
        Package = "package",
        /// A creative that a media buy shows, by the id that the buyer chose.
        Creative = "creative",
        /// The id that the buyer chose, which is unique to an account alone.
        ChosenId = "chosen_id",
        /// An account by its natural key.
        NaturalKey = "natural_key",
        /// What a notification tells of, by the id of its record.
        About = "about",
        /// What a draft of a proposal says, by a digest: a brief that comes to the same is answered with it again.
        Content = "content",
    }
}

/// A value by which a thing is found besides its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexTerm {
    /// What the value is.
    pub field: IndexField,
    /// The value.
    pub value: String,
}

impl IndexTerm {
    /// One.
    #[must_use]
    pub fn new(field: IndexField, value: &str) -> Self {
        Self { field, value: value.to_owned() }
    }
}

/// By what a thing is found besides its id, owner and account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundBy {
    /// Its status at the moment; `None` where whoever keeps it says the state.
    pub state: Option<&'static str>,
    /// The class by which it is counted.
    pub class: String,
    /// From when on the status is another one by itself.
    pub changes_at: Option<Timestamp>,
    /// The values that lead to it; each once, in any order.
    pub terms: Vec<IndexTerm>,
}

impl FoundBy {
    /// Writes it into a record.
    pub(crate) fn on(self, record: EntityRecord) -> EntityRecord {
        let state = self.state.map_or(record.state, ToOwned::to_owned);
        let mut terms = self.terms;
        terms.sort_unstable();
        terms.dedup();
        EntityRecord { state, class: self.class, changes_at: self.changes_at, terms, ..record }
    }
}

/// The order of a list: by creation, as buyers are told it; things of the same moment in the order in which they were
/// stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The first created comes first.
    #[default]
    Oldest,
    /// The last created comes first.
    Newest,
}

impl Order {
    /// Compares two records by it.
    pub(crate) fn compare(self, one: &EntityRecord, other: &EntityRecord) -> Ordering {
        let by_creation =
            one.created_at.cmp(&other.created_at).then_with(|| one.place.cmp(&other.place));
        match self {
            Self::Oldest => by_creation,
            Self::Newest => by_creation.reverse(),
        }
    }
}

/// Whether the state that was written still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Changes {
    /// It has become another one by this moment.
    By(Timestamp),
    /// It still holds at this moment.
    After(Timestamp),
}

/// What to list. Empty and `None` narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Query {
    /// Only what belongs to this tenant.
    pub owner: Option<String>,
    /// Only what belongs to this account.
    pub account: Option<String>,
    /// Nothing that belongs to one of these accounts.
    pub except_accounts: Vec<String>,
    /// Only what is in one of these states, as they were written. For a status that changes with the time, see
    /// `page` of `dyn StoreTx`.
    pub states: Vec<String>,
    /// Only what is of this class.
    pub class: Option<String>,
    /// Only what this leads to.
    pub term: Option<IndexTerm>,
    /// Only what has changed its state by itself, or has not. What has comes in the order in which it did.
    pub changes: Option<Changes>,
    /// The order of the list.
    pub order: Order,
    /// Only what was created at this moment or comes behind it in the order; `None` for everything.
    pub from: Option<Timestamp>,
    /// How many of the first are passed over. To go on behind a page, see [`Query::continue_behind`]: what is
    /// passed over is read, so that a page must not be found by this number alone.
    pub skip: usize,
    /// At most so many; all when 0.
    pub limit: usize,
}

impl Query {
    /// Everything that belongs to a tenant.
    #[must_use]
    pub fn of_owner(owner: &str) -> Self {
        Self { owner: Some(owner.to_owned()), ..Self::default() }
    }

    /// Everything that belongs to an account.
    #[must_use]
    pub fn of_account(account: &str) -> Self {
        Self { account: Some(account.to_owned()), ..Self::default() }
    }

    /// Everything in a state.
    #[must_use]
    pub fn in_state(state: &str) -> Self {
        Self { states: vec![state.to_owned()], ..Self::default() }
    }

    /// The same, of it only what a value leads to.
    #[must_use]
    pub fn led_to_by(self, field: IndexField, value: &str) -> Self {
        Self { term: Some(IndexTerm::new(field, value)), ..self }
    }

    /// The same with what it passes over: for what is put in order with the finds of another query.
    pub(crate) fn whole_beginning(self) -> Self {
        let limit = if self.limit == 0 { 0 } else { self.limit.saturating_add(self.skip) };
        Self { skip: 0, limit, ..self }
    }

    /// Whether a record is among what is asked for, whatever leads to it and however many there may be.
    pub(crate) fn selects(&self, record: &EntityRecord) -> bool {
        let account = record.account.as_ref();
        self.owner.as_ref().is_none_or(|owner| record.owner == *owner)
            && self.account.as_ref().is_none_or(|wanted| account == Some(wanted))
            && !account.is_some_and(|account| self.except_accounts.contains(account))
            && (self.states.is_empty() || self.states.contains(&record.state))
            && self.class.as_ref().is_none_or(|class| record.class == *class)
    }

    /// Whether a record stands where the list begins, or behind it.
    pub(crate) fn reaches(&self, record: &EntityRecord) -> bool {
        self.from.is_none_or(|from| match self.order {
            Order::Oldest => record.created_at >= from,
            Order::Newest => record.created_at <= from,
        })
    }

    /// Moves the beginning behind a page of the list. What was created at the same moment as the last of the page is
    /// all that is passed over, so that a late page costs what the first one does.
    pub fn continue_behind<'r>(
        &mut self,
        page: impl DoubleEndedIterator<Item = &'r EntityRecord> + ExactSizeIterator,
    ) {
        let length = page.len();
        let mut backwards = page.rev().map(|record| record.created_at);
        let Some(last) = backwards.next() else { return };
        let same = 1 + backwards.take_while(|moment| *moment == last).count();
        let goes_on = self.from == Some(last) && same == length;
        self.skip = if goes_on { self.skip.saturating_add(same) } else { same };
        self.from = Some(last);
    }
}

/// How many things are in a state and of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The state, as it was written.
    pub state: String,
    /// The class.
    pub class: String,
    /// How many.
    pub things: u64,
}

/// Puts what several queries have found in order, passes over what is to be passed over, and leaves away what is
/// beyond the limit.
pub(crate) fn arranged<T>(mut things: Vec<Stored<T>>, query: &Query) -> Vec<Stored<T>> {
    things.sort_by(|one, other| query.order.compare(&one.record, &other.record));
    let limit = if query.limit == 0 { usize::MAX } else { query.limit };
    things.into_iter().skip(query.skip).take(limit).collect()
}

impl dyn StoreTx + '_ {
    /// Things of a type as they stand at a moment, in the order that the query asks for; its states are those
    /// at that moment. Reads no more than the page, and what has changed by itself and was not written anew
    /// yet.
    ///
    /// # Errors
    /// When the store fails, or what lies there is not of this type.
    pub fn page<T: Entity>(
        &self,
        query: &Query,
        now: Timestamp,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        let settled = Query { changes: Some(Changes::After(now)), ..query.clone() };
        let mut changed = self.changed::<T>(query, now)?;
        changed.retain(|kept| {
            let settled = kept.indexed(now);
            query.reaches(&settled) && query.selects(&settled)
        });
        if changed.is_empty() {
            return self.all(&settled);
        }
        let mut found = self.all::<T>(&settled.whole_beginning())?;
        found.extend(changed);
        Ok(arranged(found, query))
    }

    /// How many things of a type are in each state and of each class at a moment.
    ///
    /// # Errors
    /// When the store fails, or what lies there is not of this type.
    pub fn tallies<T: Entity>(
        &self,
        query: &Query,
        now: Timestamp,
    ) -> Result<Vec<Tally>, InternalError> {
        let any_state = Query { states: Vec::new(), class: None, ..query.clone() };
        let mut tallies = self.count(T::KIND, &any_state)?;
        for kept in self.changed::<T>(query, now)? {
            let before = &kept.record;
            if let Some(tally) = tallies
                .iter_mut()
                .find(|tally| tally.state == before.state && tally.class == before.class)
            {
                tally.things = tally.things.saturating_sub(1);
            }
            let EntityRecord { state, class, .. } = kept.indexed(now);
            match tallies.iter_mut().find(|tally| tally.state == state && tally.class == class) {
                Some(tally) => tally.things += 1,
                None => tallies.push(Tally { state, class, things: 1 }),
            }
        }
        tallies.retain(|tally| {
            tally.things > 0
                && (query.states.is_empty() || query.states.contains(&tally.state))
                && query.class.as_ref().is_none_or(|class| tally.class == *class)
        });
        Ok(tallies)
    }

    /// What has changed its state by itself and was not written anew since, whatever its state.
    fn changed<T: Entity>(
        &self,
        query: &Query,
        now: Timestamp,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        self.all::<T>(&Query {
            changes: Some(Changes::By(now)),
            states: Vec::new(),
            class: None,
            from: None,
            skip: 0,
            limit: 0,
            ..query.clone()
        })
    }

    /// Writes down anew by what a thing is found, when its state has changed by itself; its revision and its
    /// moments stay. Whether that was all there was to do: what somebody has to decide about stays as it is.
    ///
    /// # Errors
    /// When the store fails, or what lies there is not of this type.
    pub(crate) fn settle<T: Entity>(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        let Some(kept) = self.find::<T>(id)? else { return Ok(false) };
        if kept.record.changes_at.is_none_or(|moment| moment > now) {
            return Ok(false);
        }
        let settled = kept.indexed(now);
        let is_settled = settled.changes_at != kept.record.changes_at;
        if is_settled {
            self.put(settled)?;
        }
        Ok(is_settled)
    }
}
