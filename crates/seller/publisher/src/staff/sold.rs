//! Decisions about media buys: pausing, resuming and canceling what was booked, and the approval of two persons
//! where the amount demands it.

use tradepost_document::catalog::Vocabulary as _;

use super::{DecisionError, StaffDecision, StateChange, check_seen, entry, moved, unmoved};
use crate::account::Account;
use crate::buy::report::BuyDelivery;
use crate::buy::save::save_buy;
use crate::buy::{Cancellation, MediaBuy, MediaBuyStatus, Party, SellerHold};
use crate::decision::{DecisionEntry, DecisionStep, LastDecision};
use crate::money::MoneyAmount;
use crate::store::Stored;
use crate::task::finish::TaskFinisher;
use crate::task::{PersonApproval, SubmittedTask};

/// Names of the changes in the history of a media buy.
const PAUSED: &str = "paused_by_seller";
const RESUMED: &str = "resumed_by_seller";
const CANCELED: &str = "canceled_by_seller";

/// Records the approval of the first of two persons. Returns false when this approval is enough.
pub(super) fn is_first_of_two(
    finisher: TaskFinisher<'_>,
    stored: &mut Stored<SubmittedTask>,
    decision: &StaffDecision,
) -> Result<bool, DecisionError> {
    let Some(draft) = &stored.thing.draft else { return Ok(false) };
    let profile = &finisher.publisher.profile;
    if !profile.needs_two_persons(&draft.currency, draft.total_budget) {
        return Ok(false);
    }
    let Some(person) = &decision.person else {
        let message = "two named persons approve a media buy of this budget: an approver approves \
                       it in the console, or name one";
        return Err(DecisionError::Invalid(vec![message.to_owned()]));
    };
    if let Some(own) = stored.thing.approvals.iter().find(|one| one.person == *person) {
        let step = DecisionStep::Approve;
        return Err(DecisionError::SamePerson(LastDecision {
            at: own.at,
            by: own.by.clone(),
            step,
        }));
    }
    if !stored.thing.approvals.is_empty() {
        return Ok(false);
    }
    // The first person learns of the objections, and not only the second.
    let objections = finisher.objections(stored, draft)?;
    if !objections.is_empty() {
        return Err(DecisionError::Objections(objections));
    }
    stored.thing.approvals.push(PersonApproval {
        at: finisher.now,
        person: person.clone(),
        by: DecisionEntry::decider(decision.by.as_deref()),
    });
    finisher.tx.change(stored, finisher.now)?;
    let status = stored.thing.status.name();
    let outcome = Some("the first of two approvals".to_owned());
    let account = stored.record.account.as_deref();
    finisher.tx.record(entry(finisher, decision, account, &moved(status, status), outcome))?;
    Ok(true)
}

/// Pauses, resumes or cancels a media buy. AdCP has no notification of it: its buyer reads status, cancellation
/// and history (`get_media_buys`), and a change that it sends for an earlier revision is refused.
pub(super) fn decide_buy(
    finisher: TaskFinisher<'_>,
    decision: &StaffDecision,
) -> Result<StateChange, DecisionError> {
    let TaskFinisher { publisher, tx, now } = finisher;
    let mut stored = tx.find::<MediaBuy>(&decision.id)?.ok_or(DecisionError::Absent)?;
    let account = stored.record.account.clone();
    if decision.account.is_some() && decision.account != account {
        return Err(DecisionError::Absent);
    }
    let from = stored.thing.status_at(now);
    let decided = last_decision(&stored.thing);
    check_seen(decision, from.name(), &stored.record, decided.as_ref())?;
    if is_done(&stored.thing, from, decision.step) {
        return Ok(unmoved(from.name(), decided));
    }
    if !is_possible(&stored.thing, from, decision.step) {
        let steps = DecisionStep::ALL.iter().copied();
        let possible = steps.filter(|step| is_possible(&stored.thing, from, *step)).collect();
        let from = from.name().to_owned();
        return Err(DecisionError::Impossible { from, possible, decided });
    }
    let delivery = tx.find::<BuyDelivery>(&stored.record.id)?;
    let spent = delivery.map_or(MoneyAmount::ZERO, |delivery| delivery.thing.spent());
    let committed = stored.thing.committed(spent);
    let reason = decision.reason.clone();
    let action = apply(&mut stored.thing, decision.step, reason, finisher);
    let given_back = stored.thing.committed(spent) - committed;
    if let Some(mut owner) = Account::find_for(&stored.record, tx)?
        && owner.thing.charge(&publisher.profile, &stored.thing, given_back, now)
    {
        tx.change(&mut owner, now)?;
    }
    let summary = match &decision.reason {
        Some(reason) => format!("the seller {action} the buy: {reason}"),
        None => format!("the seller {action} the buy"),
    };
    let revision = stored.record.revision + 1;
    let name = history_name(decision.step);
    stored.thing.note(revision, now, name, &summary, decision.by.as_deref());
    save_buy(tx, &mut stored, now)?;
    let moved = moved(from.name(), stored.thing.status_at(now).name());
    tx.record(entry(finisher, decision, account.as_deref(), &moved, None))?;
    Ok(moved)
}

/// Changes a buy. Returns what was done to it, as a verb.
fn apply(
    buy: &mut MediaBuy,
    step: DecisionStep,
    reason: Option<String>,
    finisher: TaskFinisher<'_>,
) -> &'static str {
    match step {
        DecisionStep::Pause => {
            buy.hold = Some(SellerHold { since: finisher.now, reason });
            "paused"
        }
        DecisionStep::Cancel => {
            buy.status = MediaBuyStatus::Canceled;
            buy.hold = None;
            let cancellation = Cancellation::new(Party::Seller, finisher.now);
            buy.cancellation = Some(Cancellation { reason, ..cancellation });
            "canceled"
        }
        DecisionStep::Approve
        | DecisionStep::Decline
        | DecisionStep::Suspend
        | DecisionStep::Resume
        | DecisionStep::Close
        | DecisionStep::PaymentDue
        | DecisionStep::PaymentSettled => {
            buy.hold = None;
            "resumed"
        }
    }
}

/// Returns true when a buy stands as a step would leave it.
fn is_done(buy: &MediaBuy, status: MediaBuyStatus, step: DecisionStep) -> bool {
    match step {
        DecisionStep::Pause => !status.is_terminal() && buy.hold.is_some(),
        DecisionStep::Resume => status == MediaBuyStatus::Active,
        DecisionStep::Cancel => status == MediaBuyStatus::Canceled,
        DecisionStep::Approve
        | DecisionStep::Decline
        | DecisionStep::Suspend
        | DecisionStep::Close
        | DecisionStep::PaymentDue
        | DecisionStep::PaymentSettled => false,
    }
}

/// Returns true when a step changes a buy. What the buyer has paused, the buyer resumes.
fn is_possible(buy: &MediaBuy, status: MediaBuyStatus, step: DecisionStep) -> bool {
    match step {
        DecisionStep::Pause => !status.is_terminal() && buy.hold.is_none(),
        DecisionStep::Resume => !status.is_terminal() && buy.hold.is_some(),
        DecisionStep::Cancel => !status.is_terminal(),
        DecisionStep::Approve
        | DecisionStep::Decline
        | DecisionStep::Suspend
        | DecisionStep::Close
        | DecisionStep::PaymentDue
        | DecisionStep::PaymentSettled => false,
    }
}

const fn history_name(step: DecisionStep) -> &'static str {
    match step {
        DecisionStep::Pause => PAUSED,
        DecisionStep::Cancel => CANCELED,
        DecisionStep::Approve
        | DecisionStep::Decline
        | DecisionStep::Suspend
        | DecisionStep::Resume
        | DecisionStep::Close
        | DecisionStep::PaymentDue
        | DecisionStep::PaymentSettled => RESUMED,
    }
}

/// Returns the latest decision of the publisher's staff about a buy, from its history.
fn last_decision(buy: &MediaBuy) -> Option<LastDecision> {
    let mut changes = buy.history.iter().rev();
    changes.find_map(|change| {
        let step = match change.action.as_str() {
            PAUSED => DecisionStep::Pause,
            RESUMED => DecisionStep::Resume,
            CANCELED => DecisionStep::Cancel,
            _ => return None,
        };
        let by = DecisionEntry::decider(change.by.as_deref());
        Some(LastDecision { at: change.timestamp, by, step })
    })
}
