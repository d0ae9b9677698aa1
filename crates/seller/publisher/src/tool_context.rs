//! Context of a tool: the request, its admission and the store.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use jiff::Timestamp;
use tradepost_adcp::AdcpTaskStatus;
use tradepost_adcp::error::{AdcpCode, AdcpError, AdcpRelease};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, json};

use crate::account::Account;
use crate::admit::Admitted;
use crate::availability::Outage;
use crate::creative::verdict::Verification;
use crate::publisher::Publisher;
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::services::Supply;
use crate::staff_event::StaffEventRecorder;
use crate::store::{Entity, New, Query, StoreRead, StoreTx, Stored};
use crate::task::SubmittedTask;
use crate::task::finish::record_id;
use crate::tool_call::AdcpToolCall;

/// Context in which a tool does a request.
pub(crate) struct ToolContext<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Request as it was sent; tools get it parsed.
    pub call: &'a AdcpToolCall,
    /// Result of its admission.
    pub admitted: Admitted,
    /// Results of earlier calls outside.
    pub prepared: &'a Prepared,
    /// Transaction of the store, to read in.
    pub reader: &'a dyn StoreRead,
    /// Moment until which the answer does not depend on the time.
    pub expiry: Expiry,
}

/// Context of a tool that changes something.
#[derive(Clone, Copy)]
pub(crate) struct WriteContext<'a> {
    /// The context, by which it reads.
    context: &'a ToolContext<'a>,
    /// Transaction of the store, to write in.
    pub tx: &'a dyn StoreTx,
}

impl<'a> WriteContext<'a> {
    /// Creates the context of a tool that changes something in this transaction.
    pub(crate) const fn new(context: &'a ToolContext<'a>, tx: &'a dyn StoreTx) -> Self {
        Self { context, tx }
    }
}

impl<'a> Deref for WriteContext<'a> {
    type Target = ToolContext<'a>;

    fn deref(&self) -> &Self::Target {
        self.context
    }
}

/// Context of a search, most of which change nothing and are done in a read-only transaction.
#[derive(Clone, Copy)]
pub(crate) struct SearchContext<'a> {
    context: &'a ToolContext<'a>,
    tx: Option<&'a dyn StoreTx>,
}

impl<'a> SearchContext<'a> {
    /// Creates the context of a search; without a transaction to write in, it can only read.
    pub(crate) const fn new(context: &'a ToolContext<'a>, tx: Option<&'a dyn StoreTx>) -> Self {
        Self { context, tx }
    }

    /// Returns the context in which it changes something.
    ///
    /// # Errors
    /// When the transaction is read-only: the search is then done again in one that is not.
    pub(crate) fn writing(&self) -> Result<WriteContext<'a>, WorkStop> {
        let tx = self.tx.ok_or(WorkStop::NeedsTransaction)?;
        Ok(WriteContext::new(self.context, tx))
    }
}

impl<'a> Deref for SearchContext<'a> {
    type Target = ToolContext<'a>;

    fn deref(&self) -> &Self::Target {
        self.context
    }
}

/// Reason for which work in a transaction has ended without a reply.
#[derive(Debug)]
pub(crate) enum WorkStop {
    /// It has to write, and the transaction is read-only.
    NeedsTransaction,
    /// The error of the tool.
    Failed(ToolError),
}

impl WorkStop {
    /// Returns the error of work that had a transaction to write in.
    pub(crate) fn in_transaction(self) -> ToolError {
        match self {
            Self::NeedsTransaction => {
                InternalError::new("doing a request", "it asks for the transaction that it has")
                    .into()
            }
            Self::Failed(error) => error,
        }
    }
}

impl<E: Into<ToolError>> From<E> for WorkStop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// First future moment on which an answer depends.
#[derive(Debug)]
pub(crate) struct Expiry {
    now: Timestamp,
    next: Cell<Timestamp>,
}

impl Expiry {
    /// Creates one for an answer at a moment, which depends on no other so far.
    pub(crate) const fn new(now: Timestamp) -> Self {
        Self { now, next: Cell::new(Timestamp::MAX) }
    }

    /// Returns true if a moment has come; otherwise the answer depends on it.
    pub(crate) fn has_come(&self, moment: Timestamp) -> bool {
        let has_come = moment <= self.now;
        if !has_come {
            self.next.set(self.next.get().min(moment));
        }
        has_come
    }

    /// Notes that the answer is another one each moment.
    pub(crate) fn ends_now(&self) {
        self.next.set(self.now);
    }

    /// Returns the moment before which nothing changes by itself.
    pub(crate) fn next(&self) -> Timestamp {
        self.next.get()
    }
}

impl ToolContext<'_> {
    /// Returns the release in which the request is answered.
    pub(crate) fn release(&self) -> AdcpRelease {
        self.publisher.release(&self.call.arguments)
    }

    /// Returns the version of a feed that the caller has, where its release knows such versions.
    pub(crate) fn feed_version<'v>(&self, named: Option<&'v String>) -> Option<&'v String> {
        named.filter(|_| self.release() > AdcpRelease::V3_0)
    }

    /// Returns true if the request is for a test account.
    pub(crate) fn is_for_tests(&self) -> bool {
        self.admitted.account.as_ref().is_some_and(|account| account.thing.sandbox)
    }

    /// Finds the caller's entity with this id, to read it.
    pub(crate) fn find<T: Entity>(&self, id: &str) -> Result<Option<Stored<T>>, InternalError> {
        self.admitted.reach.find(self.reader, id)
    }

    /// Finds the caller's entities with these ids, to read them, by one look into the store. For ids from
    /// records that the caller reaches, and not for ids that the request names.
    pub(crate) fn find_many<T: Entity>(
        &self,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        self.admitted.reach.find_many(self.reader, ids)
    }

    /// Returns the accounts of these entities by id.
    pub(crate) fn accounts_of<T>(
        &self,
        entities: &[Stored<T>],
    ) -> Result<BTreeMap<String, Account>, InternalError> {
        let ids = entities.iter().filter_map(|stored| stored.record.account.clone()).collect();
        let found = self.reader.find_many::<Account>(&ids)?;
        Ok(found.into_iter().map(|stored| (stored.record.id, stored.thing)).collect())
    }

    /// Finds the caller's entity with this id, to change it, or refuses with this code; see
    /// [`require`](crate::resolve::CallerReach::require).
    pub(crate) fn require<T: Entity>(
        &self,
        id: &str,
        code: AdcpCode,
        field: Option<&str>,
    ) -> Result<Stored<T>, ToolError> {
        self.admitted.reach.require(self.reader, id, code, field)
    }

    /// Returns all entities of a type that the caller reaches, in the order of creation.
    pub(crate) fn all<T: Entity>(&self) -> Result<Vec<Stored<T>>, InternalError> {
        self.admitted.reach.all(self.reader, &Query::default())
    }

    /// Returns the same, limited to the account of the request when it names one.
    pub(crate) fn all_of_account<T: Entity>(&self) -> Result<Vec<Stored<T>>, InternalError> {
        let account = self.admitted.account_id();
        let mut all: Vec<Stored<T>> = self.all()?;
        all.retain(|stored| account.is_none() || stored.record.account.as_deref() == account);
        Ok(all)
    }

    /// Returns the owner and the account of what the request makes.
    pub(crate) fn whose(&self) -> (&str, Option<&str>) {
        (self.admitted.owner(), self.admitted.account_id())
    }

    /// Returns the reply of a request that has become this task.
    pub(crate) fn submitted(&self, task_id: &str, message: &str) -> ToolReply {
        ToolReply::new(AdcpTaskStatus::Submitted, message, json!({"task_id": task_id}))
    }

    /// Returns the warning to the caller while an outage is simulated.
    pub(crate) fn outage(&self) -> Result<Option<AdcpError>, InternalError> {
        let tenant = &self.admitted.reach.tenant;
        let tool = self.call.tool;
        let now = self.call.now;
        let outage = Outage::find(self.reader, tenant, tool.name(), now)?;
        // The warning says how old the data is, which changes each moment.
        outage.iter().for_each(|_| self.expiry.ends_now());
        Ok(outage.map(|outage| outage.warning(now)))
    }

    /// Returns `sandbox` of an answer: true if the request is for a test account, else `None`.
    pub(crate) fn sandbox(&self) -> Option<bool> {
        self.admitted.account.as_ref().filter(|account| account.thing.sandbox).map(|_| true)
    }

    /// Returns the account that the request is for, or refuses a request that names none.
    pub(crate) fn account(&self) -> Result<&Stored<Account>, ToolError> {
        let message = "name the account that this is for";
        let absent = || refusals::at(AdcpCode::InvalidRequest, "account", message).into();
        self.admitted.account.as_ref().ok_or_else(absent)
    }
}

impl WriteContext<'_> {
    /// Returns the recorder of events for the publisher's staff.
    pub(crate) fn staff_events(&self) -> StaffEventRecorder<'_> {
        let is_sandbox = self.publisher.profile.sandbox;
        StaffEventRecorder { tx: self.tx, is_sandbox, now: self.call.now }
    }

    /// Stores a new entity of an owner and an account.
    pub(crate) fn add<T: Entity>(
        &self,
        id: &str,
        (owner, account): (&str, Option<&str>),
        state: &str,
        thing: &T,
    ) -> Result<(), InternalError> {
        self.tx.add(New { id, owner, account, state, now: self.call.now }, thing)
    }

    /// Turns the request into a task that waits, under an id that a test may choose.
    pub(crate) fn submit(
        &self,
        task_id: Option<String>,
        message: &str,
        with: impl FnOnce(SubmittedTask) -> SubmittedTask,
    ) -> Result<ToolReply, InternalError> {
        let task = self.keep_task(task_id, with)?;
        Ok(self.submitted(&task.thing.task_id, message))
    }

    /// Stores the task that the request becomes.
    pub(crate) fn keep_task(
        &self,
        task_id: Option<String>,
        with: impl FnOnce(SubmittedTask) -> SubmittedTask,
    ) -> Result<Stored<SubmittedTask>, InternalError> {
        let task_id = task_id.unwrap_or_else(|| self.publisher.services.fresh_id("task"));
        let thing = with(SubmittedTask::from_call(&task_id, self.call));
        // A chosen id is unique to its owner only.
        let id = record_id(self.admitted.owner(), &task_id);
        let (owner, account) = self.whose();
        let new = New { id: &id, owner, account, state: "", now: self.call.now };
        let record = new.record(&thing)?;
        self.tx.put(record.clone())?;
        Ok(Stored { thing, record })
    }
}

/// Proofs that addresses of subscribers have given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proofs {
    /// Ids of accounts that are going to be opened, by the place of their row: a proof is for one account.
    pub opened: BTreeMap<usize, String>,
    /// Digests of what was proven.
    pub shown: BTreeSet<String>,
}

/// Results from outside that a tool needs before it can work in a transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// Availability at the ad server.
    pub supply: Option<Supply>,
    /// Decision of the account's governance agent.
    pub governance: Option<Map>,
    /// Proofs of subscribers' addresses.
    pub proofs: Proofs,
    /// Answers of verifiers about creatives.
    pub verifications: Vec<Verification>,
}
