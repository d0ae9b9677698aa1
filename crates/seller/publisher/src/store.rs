//! Store of the publisher. Entities of all owners are stored alike, by kind and id: looking up an absent one,
//! another tenant's and one's own is the same work (AdCP 3.1 `error-handling`; `U-7`, `U-9`).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use crate::decision::DecisionEntry;
use crate::services::BoxFuture;

pub mod index;
pub mod memory;
pub(crate) mod stale_reads;

pub use index::{
    Changes, CountedPage, FoundBy, IndexField, IndexTerm, IndexTerms, Order, Query, Tally,
};

tradepost_document::words! {
    /// Kind of a stored entity, by its name in the store.
    pub enum EntityKind {
        /// An advertiser's account.
        Account = "account",
        /// Rights of a tenant on an account.
        Grant = "grant",
        /// A product stored beside the catalogue.
        Product = "product",
        /// A creative format stored beside the catalogue.
        Format = "format",
        /// A proposal of a media plan.
        Proposal = "proposal",
        /// A media buy with its packages.
        MediaBuy = "media_buy",
        /// Delivery of a media buy.
        Delivery = "delivery",
        /// A creative of the library.
        Creative = "creative",
        /// An audience.
        Audience = "audience",
        /// A source of conversion events.
        EventSource = "event_source",
        /// A conversion event.
        Event = "event",
        /// A plan of the governance role.
        Plan = "plan",
        /// A decision about an action under a plan.
        Check = "check",
        /// Outcome of an action under a plan.
        Outcome = "outcome",
        /// An activated signal.
        Activation = "activation",
        /// A sponsored conversation.
        Session = "session",
        /// A list of properties.
        PropertyList = "property_list",
        /// A submitted task.
        Task = "task",
        /// A notification that has to be delivered.
        Notice = "notice",
        /// An event for the publisher's staff.
        StaffEvent = "staff_event",
        /// The bookings of an exclusive product.
        ExclusiveCalendar = "exclusive_calendar",
        /// The units of a pool that are booked in a month.
        InventoryMonth = "inventory_month",
        /// The units that a media buy has booked.
        InventoryBooking = "inventory_booking",
        /// An instruction of the test controller.
        Directive = "directive",
        /// A media buy at the ad server.
        RemoteOrder = "remote_order",
        /// Reports of a media buy that its buyer got by webhook.
        ReportSubscription = "report_subscription",
    }
}

/// Record of a stored entity.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityRecord {
    /// Kind of the entity.
    pub kind: EntityKind,
    /// Its id. Where callers choose ids (creatives, audiences), it contains the owner; see [`own_id`].
    pub id: String,
    /// Tenant that it belongs to; empty for the publisher's own.
    pub owner: String,
    /// The account that it belongs to, if any.
    pub account: Option<String>,
    /// Word by which it is found, such as `pending`; empty where it is not searched for. For an entity with a
    /// status it is the status at the time of writing.
    pub state: String,
    /// Second word by which entities are counted, such as the format of a creative; empty where they are not
    /// counted.
    pub class: String,
    /// Time from which the state is another one, without a change of the entity.
    pub changes_at: Option<Timestamp>,
    /// Further index terms; empty in a record that was read.
    pub terms: Vec<IndexTerm>,
    /// Number of the revision, from 1.
    pub revision: u64,
    /// The entity itself.
    pub body: Value,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
    /// Place in the order of creation, from 1, which the store assigns. 0 before that.
    pub place: u64,
}

/// Owner of an entity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityOwner {
    /// Tenant; empty for the publisher's own.
    pub owner: String,
    /// The account, if any.
    pub account: Option<String>,
}

/// Returns the record id of an entity whose own id a caller has chosen: unique to the tenant and the account.
#[must_use]
pub fn own_id(owner: &str, account: &str, chosen: &str) -> String {
    // The lengths make it unambiguous, whatever the parts contain.
    format!("{}:{}:{owner}{account}{chosen}", owner.len(), account.len())
}

/// Type of a stored entity.
pub trait Entity: Serialize + DeserializeOwned {
    /// Its kind.
    const KIND: EntityKind;

    /// Returns its index terms, in addition to id, owner and account, as it is at a moment.
    fn found_by(&self, _: Timestamp) -> FoundBy {
        FoundBy::default()
    }

    /// Does what follows from storing it, in the same transaction.
    ///
    /// # Errors
    /// When the store fails.
    fn stored(&self, _: &EntityRecord, _: &dyn StoreTx) -> Result<(), InternalError> {
        Ok(())
    }
}

/// Declares stored entities, as structs whose members are named once. After a colon comes the kind under
/// which it is stored, after `by` the function that returns its index terms, and after `then` the function that
/// does what follows from storing it; a struct without a kind is a part of others. A member with a question mark
/// after its name is left out while it is empty.
macro_rules! kept {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $thing:ident $(: $kind:ident $(by $found_by:ident)? $(then $stored:path)?)? {
            $( $(#[$about:meta])* $field:ident $(? $(@ $never:tt)?)? : $ty:ty ),* $(,)?
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        $vis struct $thing {
            $(
                $(#[$about])*
                // `$never` never occurs: it repeats the attribute for members with a question mark.
                $( #[serde(default, skip_serializing_if = "crate::store::is_nothing")] $($never)? )?
                $vis $field: $ty,
            )*
        }

        $(impl $crate::store::Entity for $thing {
            const KIND: $crate::store::EntityKind = $crate::store::EntityKind::$kind;

            $(fn found_by(&self, now: ::jiff::Timestamp) -> $crate::store::FoundBy {
                $found_by(self, now)
            })?

            $(fn stored(
                &self,
                record: &$crate::store::EntityRecord,
                tx: &dyn $crate::store::StoreTx,
            ) -> Result<(), ::tradepost_document::fault::InternalError> {
                $stored(self, record, tx)
            })?
        })?
    )+};
}
pub(crate) use kept;

/// Returns true if a member is empty.
pub(crate) fn is_nothing<T: Default + PartialEq>(member: &T) -> bool {
    *member == T::default()
}

/// An entity with its record.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<T> {
    /// The entity.
    pub thing: T,
    /// The record, without its body.
    pub record: EntityRecord,
}

/// An idempotency key and the reply to its request.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRow {
    /// SHA-256 of the canonical request.
    pub hash: [u8; 32],
    /// The reply, as it was stored.
    pub reply: Value,
    /// Time of its first use.
    pub used_at: Timestamp,
}

/// Reading inside one transaction, in one consistent state.
pub trait StoreRead {
    /// Returns the owner of the entity with this id. Nothing else is read, so that an absent entity and
    /// another tenant's cost the same.
    ///
    /// # Errors
    /// When the store fails.
    fn owner_of(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError>;

    /// Returns the entity with this id, of any owner. To be called after [`owner_of`](Self::owner_of).
    ///
    /// # Errors
    /// When the store fails.
    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError>;

    /// Returns the entities with these ids, of any owner, in the order in which they were stored. Absent
    /// ones are left out. For ids from records that the caller reaches, and not for ids that a request
    /// names: the time it takes tells how many there are.
    ///
    /// # Errors
    /// When the store fails.
    fn get_many(
        &self,
        kind: EntityKind,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<EntityRecord>, InternalError>;

    /// Returns entities, in the order that the query asks for.
    ///
    /// # Errors
    /// When the store fails.
    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError>;

    /// Counts the entities in each state and class as written, without reading them. Of the query, the owner
    /// and the accounts, the states and the class apply.
    ///
    /// # Errors
    /// When the store fails.
    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError>;

    /// Returns the stored row of an idempotency key in a scope.
    ///
    /// # Errors
    /// When the store fails.
    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError>;
}

/// Reading and writing inside one transaction. What only reads asks for [`StoreRead`].
pub trait StoreTx: StoreRead {
    /// Stores an entity, in place of the one with its kind and id. The place of a new one is assigned here;
    /// that of a known one stays.
    ///
    /// # Errors
    /// When the store fails.
    fn put(&self, record: EntityRecord) -> Result<(), InternalError>;

    /// Removes an entity. Returns true if it was there.
    ///
    /// # Errors
    /// When the store fails.
    fn remove(&self, kind: EntityKind, id: &str) -> Result<bool, InternalError>;

    /// Stores the reply to a key's request.
    ///
    /// # Errors
    /// When the store fails.
    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), InternalError>;

    /// Records a decision, beside its effect.
    ///
    /// # Errors
    /// When the store fails.
    fn record(&self, entry: DecisionEntry) -> Result<(), InternalError>;

    /// Removes the keys that were used before a moment.
    ///
    /// # Errors
    /// When the store fails.
    fn forget_keys(&self, before: Timestamp) -> Result<(), InternalError>;
}

impl dyn StoreRead + '_ {
    /// Returns the entity with this id, typed.
    ///
    /// # Errors
    /// When the store fails, or the stored entity is not of this type.
    pub fn find<T: Entity>(&self, id: &str) -> Result<Option<Stored<T>>, InternalError> {
        self.get(T::KIND, id)?.map(Stored::read).transpose()
    }

    /// Returns the entities with these ids, typed; see [`get_many`](StoreRead::get_many).
    ///
    /// # Errors
    /// When the store fails, or a stored entity is not of this type.
    pub fn find_many<T: Entity>(
        &self,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.get_many(T::KIND, ids)?.into_iter().map(Stored::read).collect()
    }

    /// Returns entities of a type, in the order that the query asks for.
    ///
    /// # Errors
    /// When the store fails, or a stored entity is not of this type.
    pub fn all<T: Entity>(&self, query: &Query) -> Result<Vec<Stored<T>>, InternalError> {
        self.list(T::KIND, query)?.into_iter().map(Stored::read).collect()
    }
}

impl dyn StoreTx + '_ {
    /// Returns the entity with this id, typed.
    ///
    /// # Errors
    /// When the store fails, or the stored entity is not of this type.
    pub fn find<T: Entity>(&self, id: &str) -> Result<Option<Stored<T>>, InternalError> {
        let reader: &dyn StoreRead = self;
        reader.find(id)
    }

    /// Returns entities of a type, in the order that the query asks for.
    ///
    /// # Errors
    /// When the store fails, or a stored entity is not of this type.
    pub fn all<T: Entity>(&self, query: &Query) -> Result<Vec<Stored<T>>, InternalError> {
        let reader: &dyn StoreRead = self;
        reader.all(query)
    }

    /// Stores a new entity.
    ///
    /// # Errors
    /// When the store fails.
    pub fn add<T: Entity>(&self, new: New<'_>, thing: &T) -> Result<(), InternalError> {
        let record = new.record(thing)?;
        self.put(record.clone())?;
        thing.stored(&record, self)
    }

    /// Stores a changed entity: its revision grows by one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn change<T: Entity>(
        &self,
        kept: &mut Stored<T>,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        kept.record.body = json(&kept.thing)?;
        kept.record.revision += 1;
        kept.record.updated_at = now;
        self.put(kept.indexed(now))?;
        kept.thing.stored(&kept.record, self)
    }
}

/// Data of a new record.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// Its id.
    pub id: &'a str,
    /// Owner.
    pub owner: &'a str,
    /// The account that it belongs to.
    pub account: Option<&'a str>,
    /// Word by which it is found, unless the entity itself says it.
    pub state: &'a str,
    /// Time of its creation.
    pub now: Timestamp,
}

impl New<'_> {
    /// Creates the record of an entity.
    pub(crate) fn record<T: Entity>(self, thing: &T) -> Result<EntityRecord, InternalError> {
        let record = EntityRecord {
            kind: T::KIND,
            id: self.id.to_owned(),
            owner: self.owner.to_owned(),
            account: self.account.map(ToOwned::to_owned),
            state: self.state.to_owned(),
            class: String::new(),
            changes_at: None,
            terms: Vec::new(),
            revision: 1,
            body: json(thing)?,
            created_at: self.now,
            updated_at: self.now,
            place: 0,
        };
        Ok(thing.found_by(self.now).on(record))
    }
}

impl<T: Entity> Stored<T> {
    /// Returns its record, with its index terms at a moment.
    fn indexed(&self, now: Timestamp) -> EntityRecord {
        self.thing.found_by(now).on(self.record.clone())
    }

    /// Reads the entity of a record.
    pub(crate) fn read(record: EntityRecord) -> Result<Self, InternalError> {
        let thing =
            T::deserialize(&record.body).map_err(InternalError::on("reading what was kept"))?;
        Ok(Self { thing, record })
    }
}

fn json<T: Serialize>(thing: &T) -> Result<Value, InternalError> {
    tradepost_document::json::to_value(thing)
        .map_err(InternalError::on("writing what is to be kept"))
}

/// End of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxEnd {
    /// Commit.
    Keep,
    /// Rollback.
    Undo,
}

/// Work of one transaction. A store may run it again from the start when it could not commit: it must come to
/// the same each time.
pub type Job = Box<dyn Fn(&dyn StoreTx) -> TxEnd + Send>;

/// Kind of work for a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreWork {
    /// Reading.
    Read,
    /// Writing, which waits until it is on disk.
    Write,
}

/// How much a job reads, which decides whether it may stay on a thread that serves other requests, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadExtent {
    /// A few records by their keys: microseconds in a local database, less than moving to another thread takes.
    Records,
    /// Possibly a whole page, or several.
    Pages,
}

/// Turn of a caller, given back when it is dropped.
pub type StoreTurn<'a> = Box<dyn Send + 'a>;

/// Store of a publisher.
pub trait PublisherStore: Send + Sync + fmt::Debug {
    /// Lets a job read a consistent state.
    ///
    /// # Errors
    /// When the store fails.
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError>;

    /// Runs a job in a transaction, and returns when its changes are on disk, or rolled back if it says so.
    ///
    /// # Errors
    /// When the store fails; nothing has changed then.
    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>>;

    /// Waits for a caller's turn to use the store (fair scheduling). Returns at once in a store without turns.
    fn turn<'a>(&'a self, _: &'a str, _: StoreWork) -> BoxFuture<'a, StoreTurn<'a>> {
        Box::pin(std::future::ready(Box::new(()) as StoreTurn<'a>))
    }

    /// Returns a number that differs once anything here has changed, by whatever process: what was read after
    /// it was asked for is current as long as it is the same. `None` where only reading could tell that.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Returns true if the store is elsewhere, and may be unavailable for a while: searches are then answered
    /// from recent reads.
    fn may_be_unavailable(&self) -> bool {
        false
    }
}

impl dyn PublisherStore + '_ {
    /// Reads as much as a job wants in one consistent state.
    ///
    /// # Errors
    /// The error of the job, or that of the store.
    pub fn look<T, E: From<InternalError>>(
        &self,
        job: impl FnOnce(&dyn StoreRead) -> Result<T, E>,
    ) -> Result<T, E> {
        self.look_within(ReadExtent::Pages, job)
    }

    /// Reads in one consistent state, no more than an extent.
    ///
    /// # Errors
    /// The error of the job, or that of the store.
    pub fn look_within<T, E: From<InternalError>>(
        &self,
        extent: ReadExtent,
        job: impl FnOnce(&dyn StoreRead) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut job = Some(job);
        let mut seen = None;
        // A read is never run again, so that this job, unlike that of `act`, can be consumed.
        self.read(extent, &mut |reader| seen = job.take().map(|job| job(reader)))?;
        seen.unwrap_or_else(|| Err(InternalError::new("reading", "the store ran no job").into()))
    }

    /// Runs a job in one transaction, and returns when it is on disk. When the job fails, nothing has changed.
    ///
    /// # Errors
    /// The error of the job, or that of the store.
    pub async fn act<T, E>(
        &self,
        job: impl Fn(&dyn StoreTx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<InternalError> + Send + 'static,
    {
        let outcome = Arc::new(Mutex::new(None));
        let note = Arc::clone(&outcome);
        let run = move |tx: &dyn StoreTx| {
            let done = job(tx);
            let end = if done.is_ok() { TxEnd::Keep } else { TxEnd::Undo };
            // When the job was run again, the last run is the one whose changes are kept.
            *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            end
        };
        self.write(Box::new(run)).await?;
        let done = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        done.unwrap_or_else(|| Err(InternalError::new("writing", "the store ran no job").into()))
    }
}
