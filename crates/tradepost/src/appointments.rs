//! Calendar operations of the dealer's staff, shared by the console and the command line. Each
//! operation has a typed input and a required permission, and is one transaction: the calendar is
//! read, checked and changed in it, with the audit entry and the event that is delivered.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::appointment::change::{
    AppointmentChange, CalendarRefusal, ChangeKind, DepartmentCalendar, WantedBlock, block_period,
    booked_at, check, check_block, period_around, released, wanted_start,
};
use tradepost_dealer::calendar::{BlockedTime, Department, Visit};
use tradepost_dealer::record::{AppointmentRecord, AppointmentState};
use tradepost_dealer::settings::{DealerSettings, RooftopSettings};
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_store::{Store, StoreTransaction, TransactionError};

use crate::console::route::Right;

/// Operation on the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarOperation {
    /// Changes an appointment.
    Change(ChangeKind),
    /// Blocks a time.
    Block,
    /// Removes a block.
    Unblock,
}

impl CalendarOperation {
    /// Returns the permission that it requires in the console. Appointments are daily work; closing
    /// a department is a manager's decision.
    #[must_use]
    pub const fn right(self) -> Right {
        match self {
            Self::Change(
                ChangeKind::Confirm | ChangeKind::Move | ChangeKind::Cancel | ChangeKind::NoShow,
            ) => Right::Customers,
            Self::Block | Self::Unblock => Right::Decide,
        }
    }
}

/// Person who changes the calendar, and the time of the change.
#[derive(Debug, Clone)]
pub struct CalendarActor {
    /// Name in the audit log.
    pub name: String,
    /// Dealer whose staff they are; all dealers when `None`.
    pub dealer_id: Option<String>,
    /// Time of the change.
    pub now: Timestamp,
}

impl CalendarActor {
    fn sees(&self, dealer_id: &str) -> bool {
        self.dealer_id.as_deref().is_none_or(|own| own == dealer_id)
    }

    fn entry(
        &self,
        dealer_id: &str,
        action: AuditAction,
        subject: &str,
        detail: String,
    ) -> NewAuditEntry {
        NewAuditEntry {
            chain: dealer_id.to_owned(),
            at: self.now,
            actor: self.name.clone(),
            action,
            subject: Some(subject.to_owned()),
            detail: Some(detail),
        }
    }
}

/// Refusal of an operation, with the time zone for its text.
#[derive(Debug, Clone)]
pub struct NotDone {
    /// Reason for the refusal.
    pub refusal: CalendarRefusal,
    /// Zone of the rooftop; UTC when it is unknown.
    pub zone: TimeZone,
}

/// Result of an operation.
pub type CalendarResult<T> = Result<T, TransactionError<NotDone>>;

impl NotDone {
    /// Returns the error of an operation that is refused for a rooftop in this zone.
    fn refused(refusal: CalendarRefusal, zone: TimeZone) -> TransactionError<Self> {
        TransactionError::Refused(Self { refusal, zone })
    }

    /// Returns a transaction's error, for a rooftop in this zone.
    fn in_zone(error: TransactionError<CalendarRefusal>, zone: TimeZone) -> TransactionError<Self> {
        match error {
            TransactionError::Refused(refusal) => Self::refused(refusal, zone),
            TransactionError::Broken(error) => TransactionError::Broken(error),
        }
    }
}

/// Change of an appointment.
#[derive(Debug, Clone)]
pub struct ChangeRequest {
    /// Id of the appointment.
    pub appointment_id: String,
    /// Version that the person has seen; any when `None`.
    pub seen_version: Option<i64>,
    /// Change to apply.
    pub change: AppointmentChange,
}

/// Changes an appointment of one of these dealers. Returns the changed appointment.
///
/// # Errors
/// The refusal, or when the store fails.
pub fn change(
    store: &Store,
    dealers: &[&DealerSettings],
    actor: &CalendarActor,
    request: ChangeRequest,
) -> CalendarResult<Visit> {
    let seen = store.visit(&request.appointment_id)?;
    let Some(seen) = seen.filter(|visit| actor.sees(&visit.lead.dealer_id)) else {
        return Err(NotDone::refused(CalendarRefusal::NotFound, TimeZone::UTC));
    };
    let rooftop = rooftop_of(dealers, &seen).cloned();
    let zone = rooftop.as_ref().map_or_else(|| seen.lead.zone(), |known| known.time_zone.clone());
    let actor = actor.clone();
    // What was read above may have changed since: everything is decided in the transaction.
    let outcome = store.decide(move |tx| {
        let Some(visit) = tx.visit(&request.appointment_id)? else {
            return Err(TransactionError::Refused(CalendarRefusal::NotFound));
        };
        let changed = decide(tx, &visit, rooftop.as_ref(), &request, actor.now)?;
        let kind = request.change.kind();
        let lead = visit.lead.clone();
        let dealer_id = &visit.lead.dealer_id;
        tx.change_appointment(lead, changed.clone(), kind.event(), actor.now)?;
        let detail = change_detail(&visit.appointment, &changed);
        tx.record(&actor.entry(dealer_id, kind.action(), &visit.lead.lead_id, detail))?;
        Ok(Visit { appointment: changed, ..visit })
    });
    outcome.map_err(|error| NotDone::in_zone(error, zone))
}

/// Returns the appointment with the change applied, or the refusal.
fn decide(
    tx: &StoreTransaction<'_>,
    visit: &Visit,
    rooftop: Option<&RooftopSettings>,
    request: &ChangeRequest,
    now: Timestamp,
) -> Result<AppointmentRecord, TransactionError<CalendarRefusal>> {
    let change = &request.change;
    let appointment = &visit.appointment;
    check(change, visit, request.seen_version, now).map_err(TransactionError::Refused)?;
    match change.kind() {
        ChangeKind::Cancel => return Ok(released(appointment, AppointmentState::Cancelled)),
        ChangeKind::NoShow => return Ok(released(appointment, AppointmentState::NoShow)),
        ChangeKind::Confirm | ChangeKind::Move => {}
    }
    let Some(rooftop) = rooftop else {
        return Err(TransactionError::Refused(CalendarRefusal::UnknownRooftop));
    };
    let start = wanted_start(change, appointment, &rooftop.time_zone);
    let start = start.and_then(|start| start.ok_or(CalendarRefusal::NoTimeNamed));
    let start = start.map_err(TransactionError::Refused)?;
    let lead = &visit.lead;
    let occupied = tx.occupied_times(
        &lead.dealer_id,
        &rooftop.profile.name,
        &visit.department,
        period_around(start),
        Some(&lead.lead_id),
    )?;
    let calendar = DepartmentCalendar { rooftop, occupied: &occupied };
    booked_at(change, visit, start, &calendar, now).map_err(TransactionError::Refused)
}

/// Describes a change without personal data of the customer: `appt_1: 2026-05-01T18:00:00Z ->
/// 2026-05-01T21:00:00Z`.
fn change_detail(before: &AppointmentRecord, after: &AppointmentRecord) -> String {
    let shown = |appointment: &AppointmentRecord| match appointment.starts_at {
        Some(at) if appointment.state.occupies() => rfc3339(at),
        Some(_) | None => appointment.state.name().to_owned(),
    };
    format!("{}: {} -> {}", before.appointment_id, shown(before), shown(after))
}

/// Block to create.
#[derive(Debug, Clone)]
pub struct BlockRequest {
    /// Id of the dealer.
    pub dealer_id: String,
    /// Name of the rooftop, in any case.
    pub rooftop: String,
    /// Department of the rooftop.
    pub department: Department,
    /// Period, places and reason.
    pub wanted: WantedBlock,
}

/// Blocks a time of one of these dealers.
///
/// # Errors
/// The refusal, or when the store fails.
pub fn block(
    store: &Store,
    dealers: &[&DealerSettings],
    actor: &CalendarActor,
    request: BlockRequest,
) -> CalendarResult<BlockedTime> {
    let found = find_rooftop(dealers, &request.dealer_id, &request.rooftop);
    let Some(rooftop) = found.filter(|_| actor.sees(&request.dealer_id)).cloned() else {
        return Err(NotDone::refused(CalendarRefusal::UnknownRooftop, TimeZone::UTC));
    };
    let zone = rooftop.time_zone.clone();
    let period = match block_period(&request.wanted, &rooftop, actor.now) {
        Ok(period) => period,
        Err(refusal) => return Err(NotDone::refused(refusal, zone)),
    };
    let (starts_at, ends_at) = period;
    let block = BlockedTime {
        block_id: format!("block_{}", uuid::Uuid::now_v7().simple()),
        dealer_id: request.dealer_id,
        rooftop: rooftop.profile.name.clone(),
        department: request.department,
        starts_at,
        ends_at,
        places: request.wanted.places,
        time_zone: rooftop.profile.timezone.clone(),
        reason: request.wanted.reason.trim().to_owned(),
        created_at: actor.now,
        created_by: actor.name.clone(),
    };
    let actor = actor.clone();
    let outcome = store.decide(move |tx| {
        let department = block.department.name();
        let dealer_id = &block.dealer_id;
        let occupied = tx.occupied_times(dealer_id, &block.rooftop, department, period, None)?;
        let calendar = DepartmentCalendar { rooftop: &rooftop, occupied: &occupied };
        check_block(period, block.places, &calendar).map_err(TransactionError::Refused)?;
        tx.add_block(&block)?;
        let detail = block_detail(&block);
        tx.record(&actor.entry(dealer_id, AuditAction::TimeBlocked, &block.block_id, detail))?;
        Ok(block.clone())
    });
    outcome.map_err(|error| NotDone::in_zone(error, zone))
}

/// Removes a block. Returns the removed block.
///
/// # Errors
/// The refusal, or when the store fails.
pub fn unblock(
    store: &Store,
    actor: &CalendarActor,
    block_id: String,
) -> CalendarResult<BlockedTime> {
    let actor = actor.clone();
    let outcome = store.decide(move |tx| {
        let found = tx.block(&block_id)?.filter(|block| actor.sees(&block.dealer_id));
        let Some(block) = found else {
            return Err(TransactionError::Refused(CalendarRefusal::NotFound));
        };
        tx.remove_block(&block_id)?;
        let detail = block_detail(&block);
        tx.record(&actor.entry(&block.dealer_id, AuditAction::TimeUnblocked, &block_id, detail))?;
        Ok(block)
    });
    outcome.map_err(|error| NotDone::in_zone(error, TimeZone::UTC))
}

/// Describes a block without its reason, in which staff may have named a customer.
fn block_detail(block: &BlockedTime) -> String {
    let from = rfc3339(block.starts_at);
    let until = rfc3339(block.ends_at);
    format!("{}, {}: {from} to {until}", block.rooftop, block.department)
}

/// Finds a rooftop of a dealer by its name.
fn find_rooftop<'a>(
    dealers: &[&'a DealerSettings],
    dealer_id: &str,
    name: &str,
) -> Option<&'a RooftopSettings> {
    let dealer = dealers.iter().find(|dealer| dealer.id == dealer_id)?;
    dealer.rooftops.iter().find(|rooftop| rooftop.is_named(name))
}

/// Returns the rooftop of an appointment, if it is one of these dealers'; `None` when the
/// configuration no longer has it.
pub(crate) fn rooftop_of<'a>(
    dealers: &[&'a DealerSettings],
    visit: &Visit,
) -> Option<&'a RooftopSettings> {
    find_rooftop(dealers, &visit.lead.dealer_id, visit.rooftop.as_deref()?)
}
