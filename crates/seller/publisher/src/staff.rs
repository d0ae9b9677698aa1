//! Decisions of the publisher's own staff: on accounts, creatives under review and media buys that wait for
//! approval, and on the rights of agents on accounts. All follow the published state machines, with the same
//! effects as when the time decides: an approved buy is booked, and the notification that was asked for is
//! queued.

use jiff::Timestamp;
use tradepost_adcp::error::AdcpError;
use tradepost_adcp::{AdcpTaskStatus, AdcpTool};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::fault::InternalError;

use crate::account::{self, Account, AccountGrant};
use crate::agent::AccountRights;
use crate::creative::{self, Creative};
use crate::decision::{DecidedStep, DecisionEntry};
use crate::notifications::CreativeChange;
use crate::publisher::Publisher;
use crate::store::{Entity, EntityRecord, IndexField, Query, StoreRead, Stored, own_id};
use crate::task::SubmittedTask;
use crate::task::finish::TaskFinisher;

pub mod inventory;
pub mod list;
mod pace;
pub mod reported;
mod row;
pub mod show;
mod sold;
pub mod spent_deals;
pub mod waiting;
pub use crate::decision::{DecisionStep, DecisionSubject, LastDecision, SeenVersion};
pub use crate::notifications::CreativeChangeReason;

/// Maximum length of a reason in characters: it becomes part of an error message.
const MAX_REASON: usize = 500;

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffDecision {
    /// Kind of the subject.
    pub matter: DecisionSubject,
    /// Id of the subject, as callers know it.
    pub id: String,
    /// Account of the subject, where several have one of this id.
    pub account: Option<String>,
    /// Step that is decided.
    pub step: DecisionStep,
    /// Reason, for the buyer.
    pub reason: Option<String>,
    /// Name of the person who decides, where known.
    pub by: Option<String>,
    /// Reason, for the publisher's own record; buyers do not read it.
    pub why: Option<String>,
    /// Name with which the person signs in who decides; `None` for an operator of the server, who is no
    /// named person where two of those have to approve.
    pub person: Option<String>,
    /// Code of the reason for which a creative is declined; the usual one when `None`.
    pub code: Option<CreativeChangeReason>,
    /// Version that the person had seen; a decision about another one is refused. `None` decides about
    /// whatever there is.
    pub seen: Option<SeenVersion>,
}

/// Change of an agent's rights on an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RightsChange {
    /// The account.
    pub account: String,
    /// The agent, by its id in the configuration.
    pub agent: String,
    /// Rights from now on, in place of earlier ones; `None` takes them away.
    pub rights: Option<AccountRights>,
    /// Name of the person who decides, where known.
    pub by: Option<String>,
    /// Reason, for the publisher's own record.
    pub why: Option<String>,
}

/// What people of the publisher look at, at a moment.
#[derive(Clone, Copy)]
pub struct StaffView<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Transaction of the store.
    pub reader: &'a dyn StoreRead,
    /// Current time.
    pub now: Timestamp,
}

/// Result of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// Status before.
    pub before: String,
    /// Status after.
    pub after: String,
    /// True when something has changed. A media buy may stand as before: a pause of one that has not begun
    /// counts from its start.
    pub is_changed: bool,
    /// True when a person has approved, and another one has to approve, too.
    pub awaits_second: bool,
    /// Decision that had been made before, where nothing has changed.
    pub decided: Option<LastDecision>,
}

/// Error of a decision that was not carried out; nothing has changed.
#[derive(Debug)]
pub enum DecisionError {
    /// There is no subject of that id.
    Absent,
    /// Several accounts have a subject of that id; these are their ids.
    Ambiguous(Vec<String>),
    /// No published transition leads there.
    Impossible {
        /// Current status.
        from: String,
        /// Steps that can be decided instead.
        possible: Vec<DecisionStep>,
        /// The latest decision, where there was one.
        decided: Option<LastDecision>,
    },
    /// It has changed since the person looked at it.
    Changed {
        /// Current status.
        from: String,
        /// The latest decision, where there was one.
        decided: Option<LastDecision>,
    },
    /// Another person has to approve, too: this one has approved already.
    SamePerson(LastDecision),
    /// The buy could not be made now, for these reasons, as its buyer would see them.
    Objections(Vec<AdcpError>),
    /// Problems of the decision itself, each in a sentence.
    Invalid(Vec<String>),
    /// Internal error.
    Broken(InternalError),
}

impl From<InternalError> for DecisionError {
    fn from(broken: InternalError) -> Self {
        Self::Broken(broken)
    }
}

/// Carries a decision out.
///
/// # Errors
/// The reason for which it cannot be carried out; nothing has changed then.
pub fn decide(
    finisher: TaskFinisher<'_>,
    decision: &StaffDecision,
) -> Result<StateChange, DecisionError> {
    let mut wrong = wrong_reason(decision);
    wrong.extend(decision.why.iter().flat_map(|why| wrong_text("why", why)));
    if decision.code.is_some()
        && (decision.matter != DecisionSubject::Creative || decision.step != DecisionStep::Decline)
    {
        wrong.push("a code belongs to a creative that is declined".to_owned());
    }
    if !wrong.is_empty() {
        return Err(DecisionError::Invalid(wrong));
    }
    match decision.matter {
        DecisionSubject::Account => account(finisher, decision),
        DecisionSubject::Creative => creative(finisher, decision),
        DecisionSubject::Task => task(finisher, decision),
        DecisionSubject::Buy => sold::decide_buy(finisher, decision),
    }
}

/// Refuses a decision about another version than the person has seen.
fn check_seen(
    decision: &StaffDecision,
    from: &str,
    record: &EntityRecord,
    decided: Option<&LastDecision>,
) -> Result<(), DecisionError> {
    let is_same = match &decision.seen {
        None => true,
        Some(SeenVersion::Status(status)) => status == from,
        Some(SeenVersion::Revision(revision)) => *revision == record.revision,
    };
    if is_same {
        return Ok(());
    }
    Err(DecisionError::Changed { from: from.to_owned(), decided: decided.cloned() })
}

/// Sets the rights of an agent on an account. Returns true if rights had been set before.
///
/// # Errors
/// The reason for which they cannot be set; nothing has changed then.
pub fn grant(finisher: TaskFinisher<'_>, change: &RightsChange) -> Result<bool, DecisionError> {
    let TaskFinisher { publisher, tx, now } = finisher;
    let RightsChange { account, agent, rights, by, why } = change;
    let found = tx.find::<Account>(account)?.ok_or(DecisionError::Absent)?;
    let mut wrong: Vec<String> = why.iter().flat_map(|why| wrong_text("why", why)).collect();
    // Rights of an agent that is no longer configured can still be taken away.
    if rights.is_some() && !publisher.profile.agents.iter().any(|known| known.id == *agent) {
        wrong.push("the configuration has no agent of this id".to_owned());
    }
    wrong.extend(rights.iter().flat_map(|rights| wrong_rights(publisher, rights)));
    if !wrong.is_empty() {
        return Err(DecisionError::Invalid(wrong));
    }
    let tenant = format!("agent:{agent}");
    let id = own_id(&tenant, "", account);
    let before = tx.find::<AccountGrant>(&id)?.map(|stored| stored.thing.authorization);
    match rights {
        Some(_) if found.thing.is_over() => {
            let from = found.thing.status.name().to_owned();
            let decided = found.thing.decision;
            return Err(DecisionError::Impossible { from, possible: Vec::new(), decided });
        }
        Some(authorization) => {
            let authorization = authorization.clone();
            let grant = AccountGrant { account_id: account.clone(), authorization };
            grant.put(tx, &tenant, now)?;
        }
        None => {
            tx.remove(AccountGrant::KIND, &id)?;
        }
    }
    if before != *rights {
        tx.record(DecisionEntry {
            at: now,
            by: DecisionEntry::decider(by.as_deref()),
            step: if rights.is_some() { DecidedStep::Grant } else { DecidedStep::Revoke },
            matter: DecisionSubject::Account,
            id: account.clone(),
            account: None,
            before: rights_text(before.as_ref()),
            after: rights_text(rights.as_ref()),
            outcome: Some(format!("agent {agent}")),
            why: why.clone(),
        })?;
    }
    Ok(before.is_some())
}

/// Describes the rights of an agent, for people who read the record.
fn rights_text(rights: Option<&AccountRights>) -> String {
    let Some(rights) = rights else { return "nothing special".to_owned() };
    let mut text = match &rights.allowed_tasks {
        Some(tasks) => tasks.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
        None => "all tasks".to_owned(),
    };
    for (task, fields) in &rights.field_scopes {
        let fields = fields.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        text.push_str(&format!(", of {task} only {fields}"));
    }
    if rights.read_only {
        text.push_str(", read only");
    }
    text
}

/// Returns the status of an account after a step, if the step is possible.
fn account_after(
    from: account::AccountStatus,
    step: DecisionStep,
) -> Option<account::AccountStatus> {
    use account::AccountStatus::{
        Active, Closed, PaymentRequired, PendingApproval, Rejected, Suspended,
    };
    let (starts, to) = match step {
        DecisionStep::Approve => (matches!(from, PendingApproval | Active), Active),
        DecisionStep::Resume => (matches!(from, Suspended | Active), Active),
        DecisionStep::PaymentSettled => (matches!(from, PaymentRequired | Active), Active),
        DecisionStep::Decline => (true, Rejected),
        DecisionStep::Suspend => (true, Suspended),
        DecisionStep::Close => (true, Closed),
        DecisionStep::PaymentDue => (true, PaymentRequired),
        DecisionStep::Pause | DecisionStep::Cancel => return None,
    };
    // Deciding the same again is no mistake, because commands are repeated.
    (starts && (from == to || from.may_become(to))).then_some(to)
}

/// Returns the status of a creative after a step, if the step is possible. Archived ones stay archived.
fn creative_after(
    from: creative::CreativeStatus,
    step: DecisionStep,
) -> Option<creative::CreativeStatus> {
    use creative::CreativeStatus::{Approved, Archived, PendingReview, Rejected, Suspended};
    let (starts, to) = match step {
        DecisionStep::Approve => (matches!(from, PendingReview | Approved), Approved),
        DecisionStep::Resume => (matches!(from, Suspended | Approved), Approved),
        DecisionStep::Decline => (!matches!(from, Archived), Rejected),
        DecisionStep::Suspend => (true, Suspended),
        DecisionStep::Close
        | DecisionStep::PaymentDue
        | DecisionStep::PaymentSettled
        | DecisionStep::Pause
        | DecisionStep::Cancel => return None,
    };
    (starts && (from == to || from.may_become(to))).then_some(to)
}

/// Returns the status of a task after a step, if the step is possible.
fn task_after(task: &SubmittedTask, step: DecisionStep) -> Option<AdcpTaskStatus> {
    use AdcpTaskStatus::{Completed, Failed, Submitted};
    let from = task.status;
    match step {
        DecisionStep::Approve => matches!(from, Submitted | Completed).then_some(Completed),
        DecisionStep::Decline => (task.is_open() || from == Failed).then_some(Failed),
        DecisionStep::Suspend
        | DecisionStep::Resume
        | DecisionStep::Close
        | DecisionStep::PaymentDue
        | DecisionStep::PaymentSettled
        | DecisionStep::Pause
        | DecisionStep::Cancel => None,
    }
}

/// Returns the status that a step leads to, or else an error with the steps that are possible.
fn led<S: Vocabulary + PartialEq>(
    from: S,
    step: DecisionStep,
    decided: Option<&LastDecision>,
    after: impl Fn(DecisionStep) -> Option<S>,
) -> Result<S, DecisionError> {
    after(step).ok_or_else(|| {
        let leads = |step: &DecisionStep| after(*step).is_some_and(|to| to != from);
        let possible = DecisionStep::ALL.iter().copied().filter(leads).collect();
        let from = from.name().to_owned();
        DecisionError::Impossible { from, possible, decided: decided.cloned() }
    })
}

/// Applies a decision about an account.
fn account(
    finisher: TaskFinisher<'_>,
    decision: &StaffDecision,
) -> Result<StateChange, DecisionError> {
    let mut stored = finisher.tx.find::<Account>(&decision.id)?.ok_or(DecisionError::Absent)?;
    let from = stored.thing.status;
    let before = stored.thing.decision.clone();
    check_seen(decision, from.name(), &stored.record, before.as_ref())?;
    let to = led(from, decision.step, before.as_ref(), |step| account_after(from, step))?;
    if from != to {
        stored.thing.status = to;
        stored.thing.decision = Some(last_decision(finisher, decision));
        // The required step has been taken, or does not matter any more.
        stored.thing.setup = None;
        // Before the account is stored: the request for a notification is taken out of it there, so that it
        // is sent once.
        finisher.announce_account(&mut stored)?;
        finisher.tx.change(&mut stored, finisher.now)?;
        let moved = moved(from.name(), to.name());
        finisher.tx.record(entry(finisher, decision, None, &moved, None))?;
        return Ok(moved);
    }
    Ok(unmoved(from.name(), before))
}

/// Returns a decision as it is stored with its subject.
fn last_decision(finisher: TaskFinisher<'_>, decision: &StaffDecision) -> LastDecision {
    LastDecision {
        at: finisher.now,
        by: DecisionEntry::decider(decision.by.as_deref()),
        step: decision.step,
    }
}

/// Creates the record of a decision on a subject of this account.
fn entry(
    finisher: TaskFinisher<'_>,
    decision: &StaffDecision,
    account: Option<&str>,
    moved: &StateChange,
    outcome: Option<String>,
) -> DecisionEntry {
    DecisionEntry {
        at: finisher.now,
        by: DecisionEntry::decider(decision.by.as_deref()),
        step: DecidedStep::Step(decision.step),
        matter: decision.matter,
        id: decision.id.clone(),
        account: account.map(ToOwned::to_owned),
        before: moved.before.clone(),
        after: moved.after.clone(),
        outcome,
        // What the buyer is told is a reason, too.
        why: decision.why.clone().or_else(|| decision.reason.clone()),
    }
}

/// Applies a decision about a creative.
fn creative(
    finisher: TaskFinisher<'_>,
    decision: &StaffDecision,
) -> Result<StateChange, DecisionError> {
    let mut stored = find::<Creative>(finisher.tx, decision, |creative| &creative.creative_id)?;
    let from = stored.thing.status_at(finisher.now);
    let before = stored.thing.decision.clone();
    check_seen(decision, from.name(), &stored.record, before.as_ref())?;
    let to = led(from, decision.step, before.as_ref(), |step| creative_after(from, step))?;
    if from != to {
        if let Some(code) = decision.code
            && !CreativeChangeReason::of_decline(from).contains(&code)
        {
            let known = CreativeChangeReason::of_decline(from).iter().map(|code| code.name());
            let known = known.collect::<Vec<_>>().join(", ");
            let message = format!("the code of a creative that is {from} is one of: {known}");
            return Err(DecisionError::Invalid(vec![message]));
        }
        stored.thing.stand(to, decision.code.map(CreativeChangeReason::name), finisher.now);
        stored.thing.rejection_reason.clone_from(&decision.reason);
        stored.thing.decision = Some(last_decision(finisher, decision));
        finisher.tx.change(&mut stored, finisher.now)?;
        let detail = decision.reason.clone();
        finisher.announce_creative(
            &stored,
            &CreativeChange { from, reason: decision.code, detail, by_itself: false },
        )?;
        let account = stored.record.account.as_deref();
        let moved = moved(from.name(), to.name());
        finisher.tx.record(entry(finisher, decision, account, &moved, None))?;
        return Ok(moved);
    }
    Ok(unmoved(from.name(), before))
}

/// Applies a decision about a submitted task.
fn task(
    finisher: TaskFinisher<'_>,
    decision: &StaffDecision,
) -> Result<StateChange, DecisionError> {
    let mut stored = find::<SubmittedTask>(finisher.tx, decision, |task| &task.task_id)?;
    let from = stored.thing.status;
    let before = stored.thing.last_decision();
    check_seen(decision, from.name(), &stored.record, before.as_ref())?;
    let to = led(from, decision.step, before.as_ref(), |step| task_after(&stored.thing, step))?;
    if from != to
        && decision.step == DecisionStep::Approve
        && sold::is_first_of_two(finisher, &mut stored, decision)?
    {
        return Ok(StateChange { awaits_second: true, ..moved(from.name(), from.name()) });
    }
    if from != to && decision.step == DecisionStep::Approve {
        let objections = finisher.consent(&mut stored, decision.by.as_deref())?;
        if !objections.is_empty() {
            return Err(DecisionError::Objections(objections));
        }
    } else if from != to {
        finisher.decline(&mut stored, decision.reason.as_deref(), decision.by.as_deref())?;
    }
    if from == to {
        return Ok(unmoved(from.name(), before));
    }
    let moved = moved(from.name(), to.name());
    let outcome = finisher.outcome(&stored)?;
    let account = stored.record.account.as_deref();
    finisher.tx.record(entry(finisher, decision, account, &moved, outcome))?;
    Ok(moved)
}

fn moved(before: &str, after: &str) -> StateChange {
    StateChange {
        before: before.to_owned(),
        after: after.to_owned(),
        is_changed: true,
        awaits_second: false,
        decided: None,
    }
}

/// Returns the result of a decision that had been made before.
fn unmoved(status: &str, decided: Option<LastDecision>) -> StateChange {
    StateChange { decided, is_changed: false, ..moved(status, status) }
}

/// Finds the only entity of an id that was chosen, of any owner.
fn find<T: Entity>(
    reader: &dyn StoreRead,
    decision: &StaffDecision,
    id: impl Fn(&T) -> &str,
) -> Result<Stored<T>, DecisionError> {
    let query = Query { account: decision.account.clone(), ..Query::default() };
    let mut found = reader.all::<T>(&query.led_to_by(IndexField::ChosenId, &decision.id))?;
    found.retain(|stored| id(&stored.thing) == decision.id);
    let only = found.pop().ok_or(DecisionError::Absent)?;
    if found.is_empty() {
        return Ok(only);
    }
    found.push(only);
    let accounts = found.into_iter().map(|stored| stored.record.account.unwrap_or_default());
    Err(DecisionError::Ambiguous(accounts.collect()))
}

/// Returns the problems of a reason. A buyer reads why a creative or a buy was declined, paused or canceled; of
/// an account it reads only the status.
fn wrong_reason(decision: &StaffDecision) -> Vec<String> {
    let mut wrong = Vec::new();
    let declined = decision.step == DecisionStep::Decline;
    match (&decision.reason, decision.matter) {
        (None, DecisionSubject::Creative) if declined => {
            wrong.push("a creative is declined with a reason, which its buyer reads".to_owned());
        }
        (Some(_), DecisionSubject::Account) => {
            wrong.push("buyers are told no reason with an account; leave it out".to_owned());
        }
        (Some(reason), DecisionSubject::Creative | DecisionSubject::Task) => {
            if !declined {
                wrong.push("a reason belongs to what is declined".to_owned());
            }
            wrong.extend(wrong_text("a reason", reason));
        }
        (None, DecisionSubject::Buy) if decision.step == DecisionStep::Cancel => {
            wrong.push("a media buy is canceled with a reason, which its buyer reads".to_owned());
        }
        (Some(reason), DecisionSubject::Buy) => {
            if !matches!(decision.step, DecisionStep::Pause | DecisionStep::Cancel) {
                wrong.push("a reason belongs to what is paused or canceled".to_owned());
            }
            wrong.extend(wrong_text("a reason", reason));
        }
        (
            None,
            DecisionSubject::Account
            | DecisionSubject::Creative
            | DecisionSubject::Task
            | DecisionSubject::Buy,
        ) => {}
    }
    wrong
}

/// Returns the problems of a text of one line.
fn wrong_text(what: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.trim().is_empty() || text.chars().count() > MAX_REASON {
        wrong.push(format!("{what} has 1 to {MAX_REASON} characters"));
    }
    if text.chars().any(char::is_control) {
        wrong.push(format!("{what} is one line of text"));
    }
    wrong
}

/// Returns the problems of rights: unknown tasks, and fields of tasks that cannot be called.
fn wrong_rights(publisher: &Publisher, rights: &AccountRights) -> Vec<String> {
    let mut wrong = Vec::new();
    let tools = publisher.tools();
    let known = |name: &str| AdcpTool::from_name(name).is_some_and(|tool| tools.contains(&tool));
    let tasks = rights.allowed_tasks.as_ref();
    if tasks.is_some_and(|tasks| tasks.is_empty()) {
        wrong.push("no task is left to call".to_owned());
    }
    for task in tasks.into_iter().flatten().filter(|task| !known(task)) {
        wrong.push(format!("the publisher has no task {task:?}"));
    }
    for (task, fields) in &rights.field_scopes {
        if !known(task) {
            wrong.push(format!("the publisher has no task {task:?}"));
        } else if tasks.is_some_and(|tasks| !tasks.contains(task)) {
            wrong.push(format!("{task} has fields and is none of the tasks"));
        }
        for field in fields.iter().filter(|field| !is_field(field)) {
            wrong.push(format!("{field:?} is no field of a request"));
        }
    }
    wrong
}

/// Returns true if a text can name a member of a request, or a member of one (`packages.budget`).
fn is_field(text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    text.splitn(2, '.').all(is_name)
}
