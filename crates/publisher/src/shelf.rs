//! What is kept. Every thing lies on one shelf under its kind and id, whoever owns it: looking up
//! what is not there, what is another's and what is one's own is the same work (`U-7`, `U-9`).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tradepost_wire::fault::InternalError;
use tradepost_wire::json::Value;

use crate::decision::DecisionEntry;
use crate::world::BoxFuture;

pub mod index;
pub mod memory;
pub(crate) mod peek;
pub(crate) mod recent;

pub use index::{Changes, FoundBy, IndexField, IndexTerm, Order, Query, Tally};

tradepost_wire::words! {
    /// A kind of thing that is kept, by its name in the store.
    pub enum EntityKind {
        /// An advertiser's account.
        Account = "account",
        /// What a tenant may do with an account.
        Grant = "grant",
        /// A product that was put there beside the catalogue.
        Product = "product",
        /// A creative format that was put there beside the catalogue.
        Format = "format",
        /// A proposal of a media plan.
        Proposal = "proposal",
        /// A media buy with its packages.
        MediaBuy = "media_buy",
        /// What a media buy has delivered.
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
        /// What became of an action under a plan.
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
        /// What the publisher's people are told.
        StaffEvent = "staff_event",
        /// The bookings of an exclusive product.
        ExclusiveCalendar = "exclusive_calendar",
        /// What the test controller has prepared.
        Directive = "directive",
    }
}

/// A thing as it lies on the shelf.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityRecord {
    /// What it is.
    pub kind: EntityKind,
    /// Its id. Where callers choose ids (creatives, audiences), it begins with whose it is; see
    /// [`own_id`].
    pub id: String,
    /// The tenant that it belongs to; empty for what is the publisher's own.
    pub owner: String,
    /// The account that it belongs to, if any.
    pub account: Option<String>,
    /// A word by which it is found again, such as `pending`; empty where nobody looks. Of what has a status
    /// it is the status at the moment of writing.
    pub state: String,
    /// A second word by which things are counted, such as the format of a creative; empty where nobody
    /// counts.
    pub class: String,
    /// The moment from which on the state is another one, although nobody has changed the thing.
    pub changes_at: Option<Timestamp>,
    /// By what it is found besides; empty in what was read.
    pub terms: Vec<IndexTerm>,
    /// How often it has changed, from 1.
    pub revision: u64,
    /// The thing itself.
    pub body: Value,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Its place in the order of making, from 1; the shelf gives it. 0 before that.
    pub place: u64,
}

/// To whom a thing belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityOwner {
    /// The tenant; empty for what is the publisher's own.
    pub owner: String,
    /// The account, if any.
    pub account: Option<String>,
}

/// The id of a thing whose own id a caller has chosen: unique to the tenant and the account.
#[must_use]
pub fn own_id(owner: &str, account: &str, chosen: &str) -> String {
    // The lengths make it unambiguous, whatever the parts contain.
    format!("{}:{}:{owner}{account}{chosen}", owner.len(), account.len())
}

/// A thing of one type on the shelf.
pub trait Entity: Serialize + DeserializeOwned {
    /// Its kind.
    const KIND: EntityKind;

    /// By what it is found besides its id, its owner and its account, as it stands at a moment.
    fn found_by(&self, _: Timestamp) -> FoundBy {
        FoundBy::default()
    }
}

/// Declares what is kept, as structs whose members are named once. After a colon stands the kind under
/// which a thing lies on the shelf, and behind `by` the function that says by what it is found; a struct
/// without a kind is a part of others. A member with a question mark behind its name is left out while there
/// is nothing in it.
macro_rules! kept {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $thing:ident $(: $kind:ident $(by $found_by:ident)?)? {
            $( $(#[$about:meta])* $field:ident $(? $(@ $never:tt)?)? : $ty:ty ),* $(,)?
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        $vis struct $thing {
            $(
                $(#[$about])*
                // `$never` is never there: it repeats what is said of members with a question mark.
                $( #[serde(default, skip_serializing_if = "crate::shelf::is_nothing")] $($never)? )?
                $vis $field: $ty,
            )*
        }

        $(impl $crate::shelf::Entity for $thing {
            const KIND: $crate::shelf::EntityKind = $crate::shelf::EntityKind::$kind;

            $(fn found_by(&self, now: ::jiff::Timestamp) -> $crate::shelf::FoundBy {
                $found_by(self, now)
            })?
        })?
    )+};
}
pub(crate) use kept;

/// Whether there is nothing in a member.
pub(crate) fn is_nothing<T: Default + PartialEq>(member: &T) -> bool {
    *member == T::default()
}

/// A thing with what the shelf knows about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<T> {
    /// The thing.
    pub thing: T,
    /// The record, without its body.
    pub record: EntityRecord,
}

/// An idempotency key and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRow {
    /// SHA-256 of the canonical request.
    pub hash: [u8; 32],
    /// The reply, as it was stored.
    pub reply: Value,
    /// When the key was used first.
    pub used_at: Timestamp,
}

/// Reading and writing, inside one transaction. One that is for reading alone says so by
/// [`check_writable`](Self::check_writable), and nothing about how to write.
pub trait StoreTx {
    /// To whom the thing with this id belongs. Nothing else is read, so that what is not there
    /// and what is another's cost the same.
    ///
    /// # Errors
    /// When the store fails.
    fn whose(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError>;

    /// The thing with this id, whoever owns it. To be asked for after [`whose`](Self::whose).
    ///
    /// # Errors
    /// When the store fails.
    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError>;

    /// Things, in the order that the query asks for.
    ///
    /// # Errors
    /// When the store fails.
    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError>;

    /// How many things there are in each state and class as it was written, without looking at them. Of the
    /// query, the owner and the accounts, the states and the class count.
    ///
    /// # Errors
    /// When the store fails.
    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError>;

    /// What is known of an idempotency key in a scope.
    ///
    /// # Errors
    /// When the store fails.
    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError>;

    /// That something can be put there: to be asked before an id is used up for it.
    ///
    /// # Errors
    /// When the shelf is open for reading alone.
    fn check_writable(&self) -> Result<(), InternalError>;

    /// Puts a thing there, in place of the one with its kind and id. The place of a new one is
    /// given here; that of a known one stays.
    ///
    /// # Errors
    /// When the store fails, or the shelf is open for reading alone.
    fn put(&self, _: EntityRecord) -> Result<(), InternalError> {
        Err(closed(self))
    }

    /// Takes a thing away. Whether it was there.
    ///
    /// # Errors
    /// When the store fails, or the shelf is open for reading alone.
    fn remove(&self, _: EntityKind, _: &str) -> Result<bool, InternalError> {
        Err(closed(self))
    }

    /// Remembers what a key's request came to.
    ///
    /// # Errors
    /// When the store fails, or the shelf is open for reading alone.
    fn remember(&self, _: &str, _: &str, _: KeyRow) -> Result<(), InternalError> {
        Err(closed(self))
    }

    /// Records what somebody has decided, beside what comes of it.
    ///
    /// # Errors
    /// When the store fails, or the shelf is open for reading alone.
    fn record(&self, _: DecisionEntry) -> Result<(), InternalError> {
        Err(closed(self))
    }

    /// Forgets the keys that were used before a moment.
    ///
    /// # Errors
    /// When the store fails, or the shelf is open for reading alone.
    fn forget_keys(&self, _: Timestamp) -> Result<(), InternalError> {
        Err(closed(self))
    }
}

/// Why nothing can be put on a shelf.
fn closed<S: StoreTx + ?Sized>(shelf: &S) -> InternalError {
    let lacks = || InternalError::new("writing to a shelf", "it does not say how");
    shelf.check_writable().err().unwrap_or_else(lacks)
}

impl dyn StoreTx + '_ {
    /// The thing with this id, typed.
    ///
    /// # Errors
    /// When the store fails, or what lies there is not of this type.
    pub fn find<T: Entity>(&self, id: &str) -> Result<Option<Stored<T>>, InternalError> {
        self.get(T::KIND, id)?.map(Stored::read).transpose()
    }

    /// Things of a type, in the order that the query asks for.
    ///
    /// # Errors
    /// When the store fails, or what lies there is not of this type.
    pub fn all<T: Entity>(&self, query: &Query) -> Result<Vec<Stored<T>>, InternalError> {
        self.list(T::KIND, query)?.into_iter().map(Stored::read).collect()
    }

    /// Puts a new thing there.
    ///
    /// # Errors
    /// When the store fails.
    pub fn add<T: Entity>(&self, new: New<'_>, thing: &T) -> Result<(), InternalError> {
        self.put(new.record(thing)?)
    }

    /// Puts a changed thing back: its revision grows by one.
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
        self.put(kept.indexed(now))
    }
}

/// A thing that is new on the shelf.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whose it is.
    pub owner: &'a str,
    /// The account that it belongs to.
    pub account: Option<&'a str>,
    /// The word by which it is found again, unless the thing itself says it.
    pub state: &'a str,
    /// The moment.
    pub now: Timestamp,
}

impl New<'_> {
    /// The record of a thing.
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
    /// Its record, with that by which it is found at a moment.
    fn indexed(&self, now: Timestamp) -> EntityRecord {
        self.thing.found_by(now).on(self.record.clone())
    }

    fn read(record: EntityRecord) -> Result<Self, InternalError> {
        let thing =
            T::deserialize(&record.body).map_err(InternalError::on("reading what was kept"))?;
        Ok(Self { thing, record })
    }
}

fn json<T: Serialize>(thing: &T) -> Result<Value, InternalError> {
    tradepost_wire::json::to_value(thing).map_err(InternalError::on("writing what is to be kept"))
}

/// What becomes of what a job did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxEnd {
    /// It is kept.
    Keep,
    /// It is undone.
    Undo,
}

/// What is done in one transaction. A store may run it again from the start when it could not keep
/// what it did: it must come to the same each time.
pub type Job = Box<dyn Fn(&dyn StoreTx) -> TxEnd + Send>;

/// What a store is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreWork {
    /// To read.
    Read,
    /// To write, and to wait until it is on disk.
    Write,
}

/// The turn of a caller, given back when it is dropped.
pub type StoreTurn<'a> = Box<dyn Send + 'a>;

/// Where the shelf is.
pub trait PublisherStore: Send + Sync + fmt::Debug {
    /// Lets a job read a consistent state.
    ///
    /// # Errors
    /// When the store fails.
    fn read(&self, job: &mut dyn FnMut(&dyn StoreTx)) -> Result<(), InternalError>;

    /// Runs a job in a transaction, and returns when what it did is on disk, or undone if it says so.
    ///
    /// # Errors
    /// When the store fails; nothing has changed then.
    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>>;

    /// Waits until it is a caller's turn to have the store work for it. At once where nobody takes turns.
    fn turn<'a>(&'a self, _: &'a str, _: StoreWork) -> BoxFuture<'a, StoreTurn<'a>> {
        Box::pin(std::future::ready(Box::new(()) as StoreTurn<'a>))
    }

    /// A number that is another one once anything here has changed, by whatever process: what was read
    /// since it was asked for still lies there as long as it is the same. `None` where nothing tells
    /// that for less than reading.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Whether it is somewhere else, and may not answer for a while: searches are answered from what they
    /// have read lately then.
    fn may_be_away(&self) -> bool {
        false
    }
}

impl dyn PublisherStore + '_ {
    /// Reads in one consistent state.
    ///
    /// # Errors
    /// What the job says, or that the store failed.
    pub fn look<T, E: From<InternalError>>(
        &self,
        job: impl FnOnce(&dyn StoreTx) -> Result<T, E>,
    ) -> Result<T, E> {
        let (mut job, mut seen) = (Some(job), None);
        // Reading is never run again, so that this job, unlike that
        // of `act`, may be used up by it.
        self.read(&mut |shelf| seen = job.take().map(|job| job(shelf)))?;
        seen.unwrap_or_else(|| Err(InternalError::new("reading", "the store ran no job").into()))
    }

    /// Does something in one transaction, and returns when it is on disk. When the job fails, nothing
    /// has changed.
    ///
    /// # Errors
    /// What the job says, or that the store failed.
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
        let run = move |shelf: &dyn StoreTx| {
            let done = job(shelf);
            let end = if done.is_ok() { TxEnd::Keep } else { TxEnd::Undo };
            // Of a job that was run again, the last run is the one whose changes are kept.
            *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            end
        };
        self.write(Box::new(run)).await?;
        let done = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        done.unwrap_or_else(|| Err(InternalError::new("writing", "the store ran no job").into()))
    }
}
