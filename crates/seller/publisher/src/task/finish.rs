//! End of a submitted task: the publisher decides when it is due, or a sandbox forces it. The end is stored
//! with the task, has its effect, and is announced, all in one transaction.

use jiff::Timestamp;
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_adcp::release::translate;
use tradepost_adcp::{AdcpTaskStatus, AdcpTool};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json, to_value};

use super::{Decided, Decider, QueuedNotification, SubmittedTask, Verdict};
use crate::account::Account;
use crate::admit::gates;
use crate::buy::{self, MediaBuy, action};
use crate::catalogue::Product;
use crate::creative::Creative;
use crate::decision::{DecidedStep, DecisionEntry, DecisionStep, DecisionSubject, SCHEDULE};
use crate::exclusive::{self, ExclusiveDays};
use crate::inventory::{self, InventoryContext, WantedUnits};
use crate::notifications::CreativeChange;
use crate::proposal::{self, Proposal};
use crate::publisher::Publisher;
use crate::refusals;
use crate::reply::object;
use crate::staff_event::StaffEventRecorder;
use crate::store::{
    Changes, Entity, EntityKind, EntityRecord, New, Query, StoreRead, StoreTx, Stored, own_id,
};

/// First words of the message to a buyer whose buy was declined.
const DECLINED: &str = "the seller has declined the buy";

/// End of a task: the payload when it is done, or else the errors.
type End = Result<Map, Vec<AdcpError>>;

/// Context in which tasks are decided and ended.
#[derive(Clone, Copy)]
pub struct TaskFinisher<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Transaction of the store.
    pub tx: &'a dyn StoreTx,
    /// Current time.
    pub now: Timestamp,
}

/// Returns the record id of an owner's task: tests choose the ids of tasks, so that they are unique to the
/// owner only.
#[must_use]
pub fn record_id(owner: &str, task_id: &str) -> String {
    own_id(owner, "", task_id)
}

/// Returns the record ids of tasks that are due.
pub(crate) fn due(reader: &dyn StoreRead, now: Timestamp) -> Result<Vec<String>, InternalError> {
    let tasks = reader.all::<SubmittedTask>(&changed(now))?.into_iter();
    let due = tasks.filter(|task| task.thing.due_at.is_some_and(|due| due <= now));
    Ok(due.map(|task| task.record.id).collect())
}

/// Returns the record ids of creatives whose review has ended by itself.
pub(crate) fn reviewed(
    reader: &dyn StoreRead,
    now: Timestamp,
) -> Result<Vec<String>, InternalError> {
    let mut waiting = reader.all::<Creative>(&changed(now))?;
    waiting.retain(|stored| stored.thing.status_at(now) != stored.thing.status);
    Ok(waiting.into_iter().map(|stored| stored.record.id).collect())
}

/// Returns the query for what has changed by itself until a moment, and was not stored since.
fn changed(now: Timestamp) -> Query {
    Query { changes: Some(Changes::By(now)), ..Query::default() }
}

/// Stores the current status of up to `limit` entities of a type that have changed by themselves, where
/// nothing else has to be done about it. Returns true if there may be more.
pub(crate) fn settle<T: Entity>(
    tx: &dyn StoreTx,
    now: Timestamp,
    limit: usize,
) -> Result<bool, InternalError> {
    let found = tx.list(T::KIND, &Query { limit, ..changed(now) })?;
    let mut settled = 0;
    for record in &found {
        settled += usize::from(tx.settle::<T>(&record.id, now)?);
    }
    Ok(settled == limit)
}

/// Removes drafts of proposals that are to be forgotten, and stores the current status of the others, up to
/// `limit` in all. Returns true if there may be more.
pub(crate) fn forget_drafts(
    tx: &dyn StoreTx,
    now: Timestamp,
    limit: usize,
) -> Result<bool, InternalError> {
    let found = tx.all::<Proposal>(&Query { limit, ..changed(now) })?;
    let mut done = 0;
    for stored in &found {
        let is_draft = stored.thing.status == proposal::ProposalStatus::Draft;
        let is_done = if is_draft && stored.thing.forgotten_at() <= now {
            tx.remove(EntityKind::Proposal, &stored.record.id)?
        } else {
            tx.settle::<Proposal>(&stored.record.id, now)?
        };
        done += usize::from(is_done);
    }
    Ok(done == limit)
}

impl TaskFinisher<'_> {
    /// Stores that the review of a creative has ended by itself, and announces it.
    pub(crate) fn settle(&self, record: &str) -> Result<(), InternalError> {
        // It may have been removed, or settled, since it was listed.
        let Some(mut stored) = self.tx.find::<Creative>(record)? else {
            return Ok(());
        };
        let from = stored.thing.status;
        let to = stored.thing.status_at(self.now);
        if from == to {
            return Ok(());
        }
        stored.thing.status = to;
        stored.thing.review_ends_at = None;
        self.tx.change(&mut stored, self.now)?;
        let turn = CreativeChange { from, reason: None, detail: None, by_itself: true };
        self.announce_creative(&stored, &turn)
    }

    /// Decides about a task, if it still waits for that. Returns true if it ended.
    pub(crate) fn decide(&self, record: &str) -> Result<bool, InternalError> {
        let Some(mut task) = self.tx.find::<SubmittedTask>(record)? else {
            return Ok(false);
        };
        let is_due = task.thing.due_at.is_some_and(|due| due <= self.now);
        // A person may have decided about it since it was listed.
        if task.thing.status != AdcpTaskStatus::Submitted || !is_due {
            return Ok(false);
        }
        let Some(draft) = task.thing.draft.take() else {
            return Ok(false);
        };
        if self.publisher.profile.needs_two_persons(&draft.currency, draft.total_budget) {
            // The limit is newer than the task.
            task.thing.draft = Some(draft);
            task.thing.due_at = None;
            self.tx.change(&mut task, self.now)?;
            let asked_by = task.thing.asked_by.clone().unwrap_or(task.record.owner.clone());
            let is_sandbox = self.publisher.profile.sandbox;
            let events = StaffEventRecorder { tx: self.tx, is_sandbox, now: self.now };
            events.note_waiting_buy(&task, &asked_by)?;
            return Ok(false);
        }
        let before = task.thing.status;
        let reasons = self.objections(&task, &draft)?;
        let why = reasons.first().map(|first| first.message.clone());
        let decided = |verdict| Decided {
            at: self.now,
            verdict,
            decider: Decider::Publisher,
            by: None,
            reason: why.clone(),
        };
        let step = if reasons.is_empty() {
            self.approve(&mut task, draft, decided(Verdict::Approved))?;
            DecisionStep::Approve
        } else {
            self.release(&task, &draft)?;
            task.thing.decided = Some(decided(Verdict::Declined));
            task.thing.asked = Some(draft);
            self.finish(&mut task, Err(reasons))?;
            DecisionStep::Decline
        };
        self.tx.record(DecisionEntry {
            at: self.now,
            by: SCHEDULE.to_owned(),
            step: DecidedStep::Step(step),
            matter: DecisionSubject::Task,
            id: task.thing.task_id.clone(),
            account: task.record.account.clone(),
            before: before.to_string(),
            after: task.thing.status.to_string(),
            outcome: self.outcome(&task)?,
            why,
        })?;
        Ok(true)
    }

    /// Approves a task that waits, for a person. Returns the objections; if there are any, nothing has
    /// changed. `by` is the person's name, where known.
    pub(crate) fn consent(
        &self,
        task: &mut Stored<SubmittedTask>,
        by: Option<&str>,
    ) -> Result<Vec<AdcpError>, InternalError> {
        let Some(draft) = task.thing.draft.take() else {
            let message = "the task has nothing that could be approved";
            return Ok(vec![refusals::error(AdcpCode::InvalidState, message)]);
        };
        let reasons = self.objections(task, &draft)?;
        // With objections the task is not stored, so that in the store it still has the draft that was taken
        // out of it here.
        if reasons.is_empty() {
            self.approve(task, draft, self.person(Verdict::Approved, by, None))?;
        }
        Ok(reasons)
    }

    /// Declines a task that waits, for a person, with the reason that the buyer is to read, and the person's
    /// name, where known.
    pub(crate) fn decline(
        &self,
        task: &mut Stored<SubmittedTask>,
        reason: Option<&str>,
        by: Option<&str>,
    ) -> Result<(), InternalError> {
        task.thing.decided = Some(self.person(Verdict::Declined, by, reason));
        if let Some(draft) = task.thing.draft.take() {
            self.release(task, &draft)?;
            task.thing.asked = Some(draft);
        }
        let message = match reason {
            Some(reason) => format!("{DECLINED}: {reason}"),
            None => format!("{DECLINED}; choose another product or ask the seller"),
        };
        self.finish(task, Err(vec![refusals::error(AdcpCode::PolicyViolation, &message)]))
    }

    /// Creates the decision of a person now.
    fn person(&self, verdict: Verdict, by: Option<&str>, reason: Option<&str>) -> Decided {
        Decided {
            at: self.now,
            verdict,
            decider: Decider::Person,
            by: by.map(ToOwned::to_owned),
            reason: reason.map(ToOwned::to_owned),
        }
    }

    /// Forces the end of a task (`force_task_completion`) with a payload that a test has made up. The media
    /// buy that waited is stored under the id that the payload gives it. Returns `None` when there is no such
    /// task, and `false` when it has ended with another payload.
    ///
    /// # Errors
    /// When the store fails.
    pub fn force(&self, record: &str, result: &Map) -> Result<Option<bool>, InternalError> {
        let Some(mut task) = self.tx.find::<SubmittedTask>(record)? else {
            return Ok(None);
        };
        if !task.thing.is_open() {
            return Ok(Some(task.thing.result.as_ref() == Some(result)));
        }
        let errors = result.get("errors").map(AdcpError::read_list).unwrap_or_default();
        let fails = !errors.is_empty();
        task.thing.decided = Some(Decided {
            at: self.now,
            verdict: if fails { Verdict::Declined } else { Verdict::Approved },
            decider: Decider::Test,
            by: None,
            reason: errors.first().map(|first| first.message.clone()),
        });
        if let Some(mut draft) = task.thing.draft.take() {
            let named = result.get("media_buy_id").and_then(Value::as_str);
            let id = named.unwrap_or(&draft.media_buy_id).to_owned();
            // The payload is a test's own invention and may name an existing buy, perhaps another tenant's;
            // that one is left alone, and the task ends all the same.
            if fails || self.tx.owner_of(EntityKind::MediaBuy, &id)?.is_some() {
                self.release(&task, &draft)?;
                task.thing.asked = Some(draft);
            } else {
                self.rename(&mut draft, id)?;
                let stored = self.book(&mut task, draft)?;
                let products = self.publisher.products(self.tx)?;
                let is_sandbox = self.is_for_tests(&task)?;
                self.inventory(&products, is_sandbox).rebook_buy(self.tx, &stored.thing)?;
            }
        }
        self.finish(&mut task, if fails { Err(errors) } else { Ok(result.clone()) })?;
        Ok(Some(true))
    }

    /// Gives a buy that waits another id, and updates it in its proposal and its bookings.
    fn rename(&self, draft: &mut MediaBuy, id: String) -> Result<(), InternalError> {
        if draft.media_buy_id == id {
            return Ok(());
        }
        exclusive::rename_holder(self.tx, draft, &id, self.now)?;
        inventory::rename_holder(self.tx, draft, &id, self.now)?;
        draft.media_buy_id = id;
        if let Some(proposal_id) = &draft.proposal_id
            && let Some(mut proposal) = self.tx.find::<Proposal>(proposal_id)?
        {
            proposal.thing.bought_as = Some(draft.media_buy_id.clone());
            self.tx.change(&mut proposal, self.now)?;
        }
        Ok(())
    }

    /// Returns the objections to a buy at the time of the decision.
    pub(crate) fn objections(
        &self,
        task: &Stored<SubmittedTask>,
        draft: &MediaBuy,
    ) -> Result<Vec<AdcpError>, InternalError> {
        let mut errors = Vec::new();
        if let Some(account) = Account::find_for(&task.record, self.tx)? {
            let need = AdcpTool::CreateMediaBuy.need();
            if let Err(stop) = gates::status(need, &account.thing, "account") {
                errors.extend(stop.reasons()?);
            }
        }
        if draft.end_time <= self.now {
            let message = "the flight ended before the seller had decided; ask for another one";
            errors.push(refusals::invalid("end_time", message));
        }
        let products = self.publisher.products(self.tx)?;
        for (index, package) in draft.packages.iter().enumerate() {
            let field = format!("packages[{index}].product_id");
            let product = products.iter().find(|product| product.id() == package.product_id);
            let is_unavailable = product
                .is_none_or(|product| product.terms.sold_out || product.is_expired(self.now));
            if is_unavailable {
                let message = "the product was no longer to be had when the seller decided";
                errors.push(refusals::at(AdcpCode::ProductUnavailable, &field, message));
            }
        }
        // A draft of an earlier version has no days booked yet.
        let field = |index| format!("packages[{index}].product_id");
        let is_sandbox = self.is_for_tests(task)?;
        let days = ExclusiveDays::from_buy(draft, &products, is_sandbox, field);
        let own = [draft.media_buy_id.as_str()];
        errors.extend(exclusive::taken_days(self.tx, &days, &own, self.now)?);
        let inventory = self.inventory(&products, is_sandbox);
        let wanted = WantedUnits::from_buy(&inventory, draft, field);
        errors.extend(inventory.shortages(self.tx, &wanted, Some(draft), None)?);
        if products.iter().any(|product| product.terms.declines && draft.has(product)) {
            let message = format!("{DECLINED}; choose another product or ask the seller");
            errors.push(refusals::error(AdcpCode::PolicyViolation, &message));
        }
        Ok(errors)
    }

    /// Returns what inventory is counted by.
    fn inventory<'i>(&'i self, offer: &'i [Product], is_sandbox: bool) -> InventoryContext<'i> {
        InventoryContext::new(&self.publisher.profile, offer, is_sandbox, self.now)
    }

    /// Returns true if a task is for a test account.
    fn is_for_tests(&self, task: &Stored<SubmittedTask>) -> Result<bool, InternalError> {
        let account = Account::find_for(&task.record, self.tx)?;
        Ok(account.is_some_and(|account| account.thing.sandbox))
    }

    fn approve(
        &self,
        task: &mut Stored<SubmittedTask>,
        draft: MediaBuy,
        decided: Decided,
    ) -> Result<(), InternalError> {
        task.thing.decided = Some(decided);
        let stored = self.book(task, draft)?;
        let mut products = self.publisher.products(self.tx)?;
        let is_sandbox = self.is_for_tests(task)?;
        exclusive::rebook_buy(self.tx, &stored.thing, &products, is_sandbox, self.now)?;
        self.inventory(&products, is_sandbox).rebook_buy(self.tx, &stored.thing)?;
        products.retain(|product| stored.thing.has(product));
        let actions = action::permitted(&stored.thing, &products, self.now);
        let account = Account::find_for(&task.record, self.tx)?;
        let account = account.as_ref().map(|account| &account.thing);
        let mut body = buy::created(&stored, &actions, account, self.now);
        body.insert("status".to_owned(), AdcpTaskStatus::Completed.name().into());
        self.finish(task, Ok(body))
    }

    /// Stores the buy that waited, confirmed.
    fn book(
        &self,
        task: &mut Stored<SubmittedTask>,
        mut draft: MediaBuy,
    ) -> Result<Stored<MediaBuy>, InternalError> {
        task.thing.asked = Some(draft.clone());
        draft.confirm(self.now);
        let id = draft.media_buy_id.clone();
        let by = task.thing.decided.as_ref().and_then(|decided| decided.by.as_deref());
        draft.note(1, self.now, "created", "the seller approved the buy", by);
        draft.task_id = Some(task.thing.task_id.clone());
        task.thing.subject = Some(id.clone());
        let EntityRecord { owner, account, .. } = &task.record;
        let new = New { id: &id, owner, account: account.as_deref(), state: "", now: self.now };
        self.tx.add(new, &draft)?;
        let missing = || InternalError::new("booking a buy", "it is not where it was put");
        let stored: Stored<MediaBuy> = self.tx.find(&id)?.ok_or_else(missing)?;
        // The tenant that asked may be another than the owner; older tasks do not say so.
        let asked_by = task.thing.asked_by.as_deref().unwrap_or(&task.record.owner);
        let is_sandbox = self.publisher.profile.sandbox;
        let events = StaffEventRecorder { tx: self.tx, is_sandbox, now: self.now };
        events.note_sold(&stored, asked_by)?;
        Ok(stored)
    }

    /// Describes the result of a task: the media buy that was booked, with its cost.
    pub(crate) fn outcome(
        &self,
        task: &Stored<SubmittedTask>,
    ) -> Result<Option<String>, InternalError> {
        let Some(id) = &task.thing.subject else { return Ok(None) };
        let buy = self.tx.find::<MediaBuy>(id)?;
        Ok(buy.map(|buy| {
            let MediaBuy { total_budget, currency, .. } = &buy.thing;
            format!("sold {id} for {total_budget} {currency}")
        }))
    }

    /// Releases what was taken for a buy that is not made: the account's money, the proposal, the days of
    /// exclusive products, and the units of counted ones.
    fn release(&self, task: &Stored<SubmittedTask>, draft: &MediaBuy) -> Result<(), InternalError> {
        exclusive::release_buy(self.tx, draft, self.now)?;
        inventory::release_buy(self.tx, draft, self.now)?;
        if let Some(id) = &draft.proposal_id
            && let Some(mut proposal) = self.tx.find::<Proposal>(id)?
            && proposal.thing.bought_as.as_ref() == Some(&draft.media_buy_id)
        {
            proposal.thing.bought_as = None;
            self.tx.change(&mut proposal, self.now)?;
            // Its hold was released when it was bought.
            let products = self.publisher.products(self.tx)?;
            let account = Account::find_for(&task.record, self.tx)?;
            let account = account.as_ref().map(|account| &account.thing);
            let is_sandbox = account.is_some_and(|account| account.sandbox);
            let days = proposal.thing.exclusive_days(&products, is_sandbox, "proposal_id");
            let expires_at = Some(proposal.thing.expires_at);
            exclusive::book_days(self.tx, id, &days, expires_at, self.now)?;
            let inventory = self.inventory(&products, is_sandbox);
            inventory.hold_proposal(self.tx, &proposal.thing, account)?;
        }
        if let Some(mut account) = Account::find_for(&task.record, self.tx)?
            && account.thing.charge(&self.publisher.profile, draft, -draft.total_budget, self.now)
        {
            self.tx.change(&mut account, self.now)?;
        }
        Ok(())
    }

    /// Stores the end of a task and queues the notification, if one was asked for.
    fn finish(&self, task: &mut Stored<SubmittedTask>, end: End) -> Result<(), InternalError> {
        let thing = &mut task.thing;
        let (status, message, result) = match end {
            Ok(result) => (AdcpTaskStatus::Completed, "the task is completed", result),
            Err(errors) => {
                let errors = to_value(&errors).map_err(InternalError::on("writing errors"))?;
                thing.errors = errors.as_array().cloned().unwrap_or_default();
                let first = thing.errors.first().cloned().unwrap_or_default();
                let failed = object([
                    ("status", Some(json!(AdcpTaskStatus::Failed))),
                    ("adcp_error", Some(first)),
                    ("errors", Some(errors)),
                ]);
                (AdcpTaskStatus::Failed, "the task has failed", failed)
            }
        };
        thing.status = status;
        thing.draft = None;
        thing.due_at = None;
        thing.completed_at = Some(self.now);
        let entry = json!({"timestamp": self.now, "type": "response", "data": result});
        thing.history.push(entry);
        thing.result = Some(result);
        if let Some(notice) = self.notice(thing, message) {
            self.queue(&task.record, &notice)?;
        }
        self.tx.change(task, self.now)
    }

    /// Creates the notification of an end (`core/mcp-webhook-payload.json`). Its key is made here, once, so
    /// that it is the same at every attempt (AdCP 3.1 `error-handling`, `W-4`).
    fn notice(&self, task: &SubmittedTask, message: &str) -> Option<QueuedNotification> {
        let push = task.push.as_ref()?;
        let url = push.url.as_ref()?;
        let mut result = task.result.clone().unwrap_or_default();
        if let Some(tool) = AdcpTool::from_any_name(&task.task_type) {
            translate(tool, task.release, &mut result);
        }
        if let Some(context) = &task.context {
            result.entry("context").or_insert_with(|| context.clone());
        }
        let payload = Value::Object(object([
            ("idempotency_key", Some(self.publisher.services.fresh_id("webhook-delivery").into())),
            ("operation_id", Some(json!(push.operation_id.as_ref().unwrap_or(&task.task_id)))),
            ("task_id", Some(json!(task.task_id))),
            ("task_type", Some(json!(task.task_type))),
            ("protocol", Some(task.protocol().into())),
            ("status", Some(json!(task.status))),
            ("timestamp", Some(json!(self.now))),
            ("message", Some(message.into())),
            ("token", push.token.clone()),
            ("context", task.context.clone()),
            ("result", Some(result.into())),
        ]));
        Some(QueuedNotification::new(url, push.authentication.as_ref(), payload, self.now))
    }
}
