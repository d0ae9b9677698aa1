//! Indexes and queries: the indexed columns and the lookup table of the store, by which records are found and
//! counted without reading all of them.
//!
//! Some statuses change with time: a media buy starts and ends without any request. The status is stored as
//! of the last write, together with the moment at which it next changes. Records past that moment are few,
//! because [`Publisher::tick`](crate::publisher::Publisher::tick) rewrites them; a query for a status reads
//! those few and computes the current status of each.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::{Entity, EntityRecord, StoreRead, StoreTx, Stored};

tradepost_document::words! {
    /// Field of an index term, by its name in the store.
    pub enum IndexField {
        /// A package of a media buy, by its id.
        Package = "package",
        /// A creative that a media buy shows, by the id that the buyer chose.
        Creative = "creative",
        /// An id that the buyer chose; unique only within an account.
        ChosenId = "chosen_id",
        /// An account by its natural key.
        NaturalKey = "natural_key",
        /// The subject of a notification, by the id of its record.
        About = "about",
        /// The content of a draft proposal, by digest: the same brief is answered with the same draft.
        Content = "content",
        /// A line item at the ad server, by its id there.
        LineItem = "line_item",
    }
}

/// Value by which a record is found in addition to its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexTerm {
    /// Field that the value is of.
    pub field: IndexField,
    /// The value.
    pub value: String,
}

impl IndexTerm {
    /// Creates a term.
    #[must_use]
    pub fn new(field: IndexField, value: &str) -> Self {
        Self { field, value: value.to_owned() }
    }
}

/// Values of one field, by any of which records are found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexTerms {
    /// Field that the values are of.
    pub field: IndexField,
    /// The values.
    pub values: BTreeSet<String>,
}

impl IndexTerms {
    /// Returns true when a term is one of these.
    pub(crate) fn contain(&self, term: &IndexTerm) -> bool {
        term.field == self.field && self.values.contains(&term.value)
    }
}

impl From<IndexTerm> for IndexTerms {
    fn from(term: IndexTerm) -> Self {
        Self { field: term.field, values: BTreeSet::from([term.value]) }
    }
}

/// Index columns and terms of a record, in addition to its id, owner and account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundBy {
    /// Current status; `None` keeps the state of the record that it is written to.
    pub state: Option<&'static str>,
    /// Class by which records are counted.
    pub class: String,
    /// Moment at which the status next changes without a write.
    pub changes_at: Option<Timestamp>,
    /// Values by which the record is found; duplicates are dropped, the order has no meaning.
    pub terms: Vec<IndexTerm>,
}

impl FoundBy {
    /// Writes the columns and terms into a record.
    pub(crate) fn on(self, record: EntityRecord) -> EntityRecord {
        let state = self.state.map_or(record.state, ToOwned::to_owned);
        let mut terms = self.terms;
        terms.sort_unstable();
        terms.dedup();
        EntityRecord { state, class: self.class, changes_at: self.changes_at, terms, ..record }
    }
}

/// Order of a list by creation time, as shown to buyers; records of the same moment are in the order of storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Oldest first.
    #[default]
    Oldest,
    /// Newest first.
    Newest,
}

impl Order {
    /// Compares two records in this order.
    pub(crate) fn compare(self, one: &EntityRecord, other: &EntityRecord) -> Ordering {
        let by_creation =
            one.created_at.cmp(&other.created_at).then_with(|| one.place.cmp(&other.place));
        match self {
            Self::Oldest => by_creation,
            Self::Newest => by_creation.reverse(),
        }
    }
}

/// Filter on whether the stored state is still current.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Changes {
    /// Records whose state has changed by this moment without being rewritten.
    By(Timestamp),
    /// Records whose stored state is still current at this moment.
    After(Timestamp),
}

/// Query for records. Empty and `None` members do not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Query {
    /// Only records of this tenant.
    pub owner: Option<String>,
    /// Only records of this account.
    pub account: Option<String>,
    /// No records of these accounts.
    pub except_accounts: Vec<String>,
    /// Only records whose stored state is one of these. For a status that changes with time, see `page` of
    /// `dyn StoreRead`.
    pub states: Vec<String>,
    /// Only records of this class.
    pub class: Option<String>,
    /// Only records with one of these index terms.
    pub terms: Option<IndexTerms>,
    /// Only records whose stored state is outdated, or only those where it is current. Outdated ones are
    /// sorted by the moment of the change.
    pub changes: Option<Changes>,
    /// Order of the list.
    pub order: Order,
    /// Only records created at this moment or later in the order; `None` for all.
    pub from: Option<Timestamp>,
    /// Number of records to skip at the beginning. Skipped records are read as well, so that a later page is
    /// reached by [`Query::continue_behind`] and not by this number alone.
    pub skip: usize,
    /// Maximum number of records; 0 means no limit.
    pub limit: usize,
}

impl Query {
    /// Selects all records of a tenant.
    #[must_use]
    pub fn with_owner(owner: &str) -> Self {
        Self { owner: Some(owner.to_owned()), ..Self::default() }
    }

    /// Selects all records of an account.
    #[must_use]
    pub fn with_account(account: &str) -> Self {
        Self { account: Some(account.to_owned()), ..Self::default() }
    }

    /// Selects all records in a state.
    #[must_use]
    pub fn with_state(state: &str) -> Self {
        Self { states: vec![state.to_owned()], ..Self::default() }
    }

    /// Narrows the query to records with an index term.
    #[must_use]
    pub fn led_to_by(self, field: IndexField, value: &str) -> Self {
        self.led_to_by_any(field, std::iter::once(value))
    }

    /// Narrows the query to records with an index term of any of these values.
    #[must_use]
    pub fn led_to_by_any<'v>(
        self,
        field: IndexField,
        values: impl Iterator<Item = &'v str>,
    ) -> Self {
        let values = values.map(ToOwned::to_owned).collect();
        Self { terms: Some(IndexTerms { field, values }), ..self }
    }

    /// Returns the query with the skipped records included: for results that are merged with those
    /// of another query.
    pub(crate) fn whole_beginning(self) -> Self {
        let limit = if self.limit == 0 { 0 } else { self.limit.saturating_add(self.skip) };
        Self { skip: 0, limit, ..self }
    }

    /// Returns true when a record belongs into the list, wherever its pages begin and end: for a store that
    /// has no database to select and sort. The record has to have its index terms.
    #[must_use]
    pub fn matches(&self, record: &EntityRecord) -> bool {
        let has_term = |terms: &IndexTerms| record.terms.iter().any(|term| terms.contain(term));
        self.selects(record)
            && self.reaches(record)
            && self.terms.as_ref().is_none_or(has_term)
            && match self.changes {
                None => true,
                Some(Changes::By(now)) => record.changes_at.is_some_and(|at| at <= now),
                Some(Changes::After(now)) => record.changes_at.is_none_or(|at| at > now),
            }
    }

    /// Compares two records in the order of the list.
    #[must_use]
    pub fn compare(&self, one: &EntityRecord, other: &EntityRecord) -> Ordering {
        match self.changes {
            Some(Changes::By(_)) => {
                (one.changes_at, one.place).cmp(&(other.changes_at, other.place))
            }
            Some(Changes::After(_)) | None => self.order.compare(one, other),
        }
    }

    /// Returns true when a record matches by owner, account, state and class, as for
    /// [`StoreRead::count`]. Index term, start and limit are not checked.
    #[must_use]
    pub fn selects(&self, record: &EntityRecord) -> bool {
        let account = record.account.as_ref();
        self.owner.as_ref().is_none_or(|owner| record.owner == *owner)
            && self.account.as_ref().is_none_or(|wanted| account == Some(wanted))
            && !account.is_some_and(|account| self.except_accounts.contains(account))
            && (self.states.is_empty() || self.states.contains(&record.state))
            && self.class.as_ref().is_none_or(|class| record.class == *class)
    }

    /// Returns true when a record is at or after the start of the list.
    pub(crate) fn reaches(&self, record: &EntityRecord) -> bool {
        self.from.is_none_or(|from| match self.order {
            Order::Oldest => record.created_at >= from,
            Order::Newest => record.created_at <= from,
        })
    }

    /// Moves the start behind a page of the list. Only records of the same moment as the last one are skipped, so
    /// that a late page costs as much as the first.
    pub fn continue_behind<'r>(
        &mut self,
        page: impl DoubleEndedIterator<Item = &'r EntityRecord> + ExactSizeIterator,
    ) {
        let length = page.len();
        let mut backwards = page.rev().map(|record| record.created_at);
        let Some(last) = backwards.next() else { return };
        let same = 1 + backwards.take_while(|moment| *moment == last).count();
        let is_same_moment = self.from == Some(last) && same == length;
        self.skip = if is_same_moment { self.skip.saturating_add(same) } else { same };
        self.from = Some(last);
    }
}

/// Number of records in a state and of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// State as stored.
    pub state: String,
    /// The class.
    pub class: String,
    /// Number of records.
    pub things: u64,
}

/// Sorts the merged results of several queries, skips the skipped ones and cuts at the limit.
pub(crate) fn arranged<T>(mut things: Vec<Stored<T>>, query: &Query) -> Vec<Stored<T>> {
    things.sort_by(|one, other| query.order.compare(&one.record, &other.record));
    let limit = if query.limit == 0 { usize::MAX } else { query.limit };
    things.into_iter().skip(query.skip).take(limit).collect()
}

/// Page of entities, with the number of entities in the whole list by state and class.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedPage<T> {
    /// Entities of the page.
    pub items: Vec<Stored<T>>,
    /// Counts of the whole list.
    pub tallies: Vec<Tally>,
}

impl dyn StoreRead + '_ {
    /// Returns a page of entities as of `now`, in the order of the query; the query's states are those at
    /// that moment. Reads only the page and the records whose state has changed without being rewritten yet.
    ///
    /// # Errors
    /// When the store fails, or a record is not of this type.
    pub fn page<T: Entity>(
        &self,
        query: &Query,
        now: Timestamp,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        let changed = self.changed::<T>(query, now)?;
        self.page_beside(query, now, changed)
    }

    /// Returns a page of entities and the counts of the whole list, both as of `now`.
    ///
    /// # Errors
    /// When the store fails, or a record is not of this type.
    pub fn counted_page<T: Entity>(
        &self,
        query: &Query,
        now: Timestamp,
    ) -> Result<CountedPage<T>, InternalError> {
        let changed = self.changed::<T>(query, now)?;
        let tallies = self.tallies_beside(query, now, &changed)?;
        let items = self.page_beside(query, now, changed)?;
        Ok(CountedPage { items, tallies })
    }

    /// Returns a page, where `changed` are the records whose state has changed without being rewritten since.
    fn page_beside<T: Entity>(
        &self,
        query: &Query,
        now: Timestamp,
        mut changed: Vec<Stored<T>>,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        let settled = Query { changes: Some(Changes::After(now)), ..query.clone() };
        changed.retain(|stored| {
            let settled = stored.indexed(now);
            query.reaches(&settled) && query.selects(&settled)
        });
        if changed.is_empty() {
            return self.all(&settled);
        }
        let mut found = self.all::<T>(&settled.whole_beginning())?;
        found.extend(changed);
        Ok(arranged(found, query))
    }

    /// Counts the entities of a type by state and class, where `changed` are the records whose state has changed
    /// without being rewritten since.
    fn tallies_beside<T: Entity>(
        &self,
        query: &Query,
        now: Timestamp,
        changed: &[Stored<T>],
    ) -> Result<Vec<Tally>, InternalError> {
        let any_state = Query { states: Vec::new(), class: None, ..query.clone() };
        let mut tallies = self.count(T::KIND, &any_state)?;
        for stored in changed {
            let before = &stored.record;
            if let Some(tally) = tallies
                .iter_mut()
                .find(|tally| tally.state == before.state && tally.class == before.class)
            {
                tally.things = tally.things.saturating_sub(1);
            }
            let EntityRecord { state, class, .. } = stored.indexed(now);
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

    /// Returns the records whose state has changed without being rewritten since, of any state.
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
}

impl dyn StoreTx + '_ {
    /// Rewrites the index columns and terms of a record whose state has changed with time; revision and
    /// timestamps stay. Returns false when nothing was rewritten, because nothing has changed or because a
    /// decision is needed first.
    ///
    /// # Errors
    /// When the store fails, or the record is not of this type.
    pub(crate) fn settle<T: Entity>(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        let Some(stored) = self.find::<T>(id)? else { return Ok(false) };
        if stored.record.changes_at.is_none_or(|moment| moment > now) {
            return Ok(false);
        }
        let settled = stored.indexed(now);
        let is_settled = settled.changes_at != stored.record.changes_at;
        if is_settled {
            self.put(settled)?;
        }
        Ok(is_settled)
    }
}
