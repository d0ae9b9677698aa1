//! A request at work: what a tool is handed.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_wire::adcp::AdcpTaskStatus;
use tradepost_wire::adcp::error::{AdcpCode, AdcpError, AdcpRelease};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::InternalError;
use tradepost_wire::json::{Map, json};

use crate::account::Account;
use crate::admit::Admitted;
use crate::ask::ToolCall;
use crate::creative::verdict::Looked;
use crate::publisher::Publisher;
use crate::refuse::{self, ToolError};
use crate::reply::ToolReply;
use crate::shelf::{Entity, New, Query, StoreTx, Stored};
use crate::staff_event::StaffEventRecorder;
use crate::supply::Outage;
use crate::task::SubmittedTask;
use crate::task::end::record_id;
use crate::world::Supply;

/// A request at work.
pub(crate) struct ToolContext<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// The request as it was sent; tools are handed its form.
    pub ask: &'a ToolCall,
    /// What was found out when it was admitted.
    pub admitted: Admitted,
    /// What was found out outside before.
    pub prepared: &'a Prepared,
    /// What is kept.
    pub shelf: &'a dyn StoreTx,
    /// Until when the moment plays no part in what was found.
    pub horizon: Horizon,
}

/// The first of the moments that are still to come and on which an answer depends.
#[derive(Debug)]
pub(crate) struct Horizon {
    now: Timestamp,
    next: Cell<Timestamp>,
}

impl Horizon {
    /// That of an answer at a moment, which depends on none so far.
    pub(crate) const fn of(now: Timestamp) -> Self {
        Self { now, next: Cell::new(Timestamp::MAX) }
    }

    /// Whether a moment has come.
    pub(crate) fn has_come(&self, moment: Timestamp) -> bool {
        let has_come = moment <= self.now;
        if !has_come {
            self.next.set(self.next.get().min(moment));
        }
        has_come
    }

    /// For an answer that is another one each moment.
    pub(crate) fn ends_now(&self) {
        self.next.set(self.now);
    }

    /// The moment before which nothing changes by itself.
    pub(crate) fn next(&self) -> Timestamp {
        self.next.get()
    }
}

impl ToolContext<'_> {
    /// The release that the request is answered in.
    pub(crate) fn release(&self) -> AdcpRelease {
        self.publisher.release(&self.ask.arguments)
    }

    /// The version of a feed that the caller has, where its release knows such versions.
    pub(crate) fn feed_version<'v>(&self, named: Option<&'v String>) -> Option<&'v String> {
        named.filter(|_| self.release() > AdcpRelease::V3_0)
    }

    /// An id for something that is about to be kept: none is used up where nothing can be.
    pub(crate) fn fresh_id(&self, prefix: &'static str) -> Result<String, InternalError> {
        self.shelf.check_writable()?;
        Ok(self.publisher.world.fresh_id(prefix))
    }

    /// Keeps what people are told of.
    pub(crate) fn staff_events(&self) -> StaffEventRecorder<'_> {
        let is_sandbox = self.publisher.profile.sandbox;
        StaffEventRecorder { shelf: self.shelf, is_sandbox, now: self.ask.now }
    }

    /// Whether the request is for an account that is for tests.
    pub(crate) fn is_for_tests(&self) -> bool {
        self.admitted.account.as_ref().is_some_and(|account| account.thing.sandbox)
    }

    /// The caller's thing with this id, to look at.
    pub(crate) fn find<T: Entity>(&self, id: &str) -> Result<Option<Stored<T>>, InternalError> {
        self.admitted.reach.find(self.shelf, id)
    }

    /// The caller's thing with this id, to change it, or the code for what is not there; see
    /// [`require`](crate::resolve::CallerReach::require).
    pub(crate) fn require<T: Entity>(
        &self,
        id: &str,
        code: AdcpCode,
        field: Option<&str>,
    ) -> Result<Stored<T>, ToolError> {
        self.admitted.reach.require(self.shelf, id, code, field)
    }

    /// Everything of a type that the caller reaches, in the order of making.
    pub(crate) fn all<T: Entity>(&self) -> Result<Vec<Stored<T>>, InternalError> {
        self.admitted.reach.all(self.shelf, &Query::default())
    }

    /// The same, of the account alone that the request is for, when it names one.
    pub(crate) fn all_of_account<T: Entity>(&self) -> Result<Vec<Stored<T>>, InternalError> {
        let account = self.admitted.account_id();
        let mut all: Vec<Stored<T>> = self.all()?;
        all.retain(|kept| account.is_none() || kept.record.account.as_deref() == account);
        Ok(all)
    }

    /// The owner and the account of what the request makes.
    pub(crate) fn whose(&self) -> (&str, Option<&str>) {
        (self.admitted.owner(), self.admitted.account_id())
    }

    /// Puts a new thing there, of an owner and an account.
    pub(crate) fn add<T: Entity>(
        &self,
        id: &str,
        (owner, account): (&str, Option<&str>),
        state: &str,
        thing: &T,
    ) -> Result<(), InternalError> {
        self.shelf.add(New { id, owner, account, state, now: self.ask.now }, thing)
    }

    /// The request becomes a task that waits, under an id that a test may choose.
    pub(crate) fn submit(
        &self,
        task_id: Option<String>,
        message: &str,
        with: impl FnOnce(SubmittedTask) -> SubmittedTask,
    ) -> Result<ToolReply, InternalError> {
        let task = self.keep_task(task_id, with)?;
        Ok(self.submitted(&task.thing.task_id, message))
    }

    /// Keeps the task that the request becomes.
    pub(crate) fn keep_task(
        &self,
        task_id: Option<String>,
        with: impl FnOnce(SubmittedTask) -> SubmittedTask,
    ) -> Result<Stored<SubmittedTask>, InternalError> {
        let task_id = task_id.unwrap_or_else(|| self.publisher.world.fresh_id("task"));
        let thing = with(SubmittedTask::submitted(&task_id, self.ask));
        // A chosen one is the tenant's own.
        let id = record_id(self.admitted.owner(), &task_id);
        let (owner, account) = self.whose();
        let new = New { id: &id, owner, account, state: "", now: self.ask.now };
        let record = new.record(&thing)?;
        self.shelf.put(record.clone())?;
        Ok(Stored { thing, record })
    }

    /// The reply of a request that has become this task.
    pub(crate) fn submitted(&self, task_id: &str, message: &str) -> ToolReply {
        ToolReply::new(AdcpTaskStatus::Submitted, message, json!({"task_id": task_id}))
    }

    /// What the caller is told while something is feigned to be away.
    pub(crate) fn outage(&self) -> Result<Option<AdcpError>, InternalError> {
        let (tenant, tool, now) = (&self.admitted.reach.tenant, self.ask.tool, self.ask.now);
        let outage = Outage::of(self.shelf, tenant, tool.name(), now)?;
        // It says how old what is known is.
        outage.iter().for_each(|_| self.horizon.ends_now());
        Ok(outage.map(|outage| outage.warning(now)))
    }

    /// `sandbox` of an answer: whether the account that the request is for is for tests, if so.
    pub(crate) fn sandbox(&self) -> Option<bool> {
        self.admitted.account.as_ref().filter(|account| account.thing.sandbox).map(|_| true)
    }

    /// The account that the request is for.
    pub(crate) fn account(&self) -> Result<&Stored<Account>, ToolError> {
        let message = "name the account that this is for";
        let absent = || refuse::at(AdcpCode::InvalidRequest, "account", message).into();
        self.admitted.account.as_ref().ok_or_else(absent)
    }
}

/// What addresses of subscribers have shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proofs {
    /// The ids of accounts that are going to be opened, by the place of their row: a proof is for one
    /// account.
    pub opened: BTreeMap<usize, String>,
    /// The digests of what was shown.
    pub shown: BTreeSet<String>,
}

/// What a tool has to find out outside before it can work in a transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// What the ad server has on offer.
    pub supply: Option<Supply>,
    /// What the account's governance agent decided.
    pub governance: Option<Map>,
    /// What addresses of subscribers have shown.
    pub proofs: Proofs,
    /// What verifiers said of creatives.
    pub looked: Vec<Looked>,
}
